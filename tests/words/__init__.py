"""Texts drawn at random, for a person to read against the rules of language."""
