"""Declaration of the service as data, read by all other packages."""
