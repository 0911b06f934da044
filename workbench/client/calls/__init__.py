"""HTTP client: validated requests, retries, journal, and parsing of answers obtained elsewhere."""
