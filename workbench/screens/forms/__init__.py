"""Forms and panels for notebooks, generated from the interface."""
