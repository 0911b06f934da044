"""The panel of a session: its lists, the overview, and the file that contains them."""
