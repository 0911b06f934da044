"""Databases, files, locks, HTTP, progress and threads."""
