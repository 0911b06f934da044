"""Random texts that a person checks against the language rules."""
