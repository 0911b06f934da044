"""Ports that are not in use."""

import secrets
import socket


def free_port() -> int:
    """Return an unused port below the ephemeral ports, so that the system does not assign it to another process before its use."""
    while True:
        # `random` is not used, because Hypothesis seeds it identically in each process
        port = 10_000 + secrets.randbelow(20_000)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
