"""Calls, events and withdrawals, and the session that combines them."""
