"""The service's interface, declared as data: operations, records, events, errors and assumptions."""
