"""Declared records and their readers, with fields, rules, checks, masks and strict JSON."""
