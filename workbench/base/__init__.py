"""Basic services for all other packages: reading, checking, masking and storing values."""
