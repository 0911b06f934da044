"""Declared records and their readers: fields, rules, checks, masks, strict JSON."""
