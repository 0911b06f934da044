"""Ports on which nobody listens."""

import secrets
import socket


def free_port() -> int:
    """Return a port that nobody listens on, below those that the system hands out, so that nobody gets it before it is used."""
    while True:
        # `random` is not used, because Hypothesis seeds it identically in each process
        port = 10_000 + secrets.randbelow(20_000)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
