"""What the service is, as data and nothing else. Every other package reads it."""
