"""One call, sent: what is checked before, how it can end, and what is kept of it."""
