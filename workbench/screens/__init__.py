"""Forms and the panel."""
