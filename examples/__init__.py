"""Applications that use the workbench; docs/service.md explains them, and a test runs each."""
