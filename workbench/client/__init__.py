"""Calls, events and withdrawals, and the session that joins them."""
