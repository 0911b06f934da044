"""A workbench for a card issuing service."""
