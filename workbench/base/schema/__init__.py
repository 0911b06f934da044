"""Declaration of records: fields, rules, checks, masks and readers; and strict JSON."""
