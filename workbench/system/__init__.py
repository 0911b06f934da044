"""This machine: databases, files, locks, HTTP, progress and threads."""
