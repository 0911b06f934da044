"""Reading, checking, masking and storing of values, for all other packages."""
