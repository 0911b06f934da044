"""The panel of a session: lists, overview, and export to a file."""
