"""Records: their declaration, rules, checks, masks and readers. Also strict JSON."""
