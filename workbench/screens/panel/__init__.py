"""The panel of a session, with its lists, its overview, and the file to which it can be written."""
