"""The interface of the service as data, chains, and how values are shown."""
