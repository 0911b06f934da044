"""Webhooks: receive, verify, store and handle events."""
