"""One call, sent: the checked client, its journal, and reads of answers that came elsewhere."""
