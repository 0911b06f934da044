"""The service's interface as data, blockchain formats, and rendering of values."""
