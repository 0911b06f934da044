"""System services: databases, files, locks, HTTP, progress and threads."""
