"""Applications that use the workbench. docs/service.md explains each, and tests run each."""
