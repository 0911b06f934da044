"""Declared records, and what reads them: fields, rules, checks, masks, strict JSON."""
