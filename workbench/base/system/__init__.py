"""System services, such as databases, files, locks, HTTP, progress and threads."""
