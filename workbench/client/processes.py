"""Which process a call is in the air in, and whether that one still runs."""

import os
import socket


def this_process() -> str:
    """Name this process on this machine, so that a later one can tell whether it still runs."""
    return f"{socket.gethostname()}:{os.getpid()}:{_began(os.getpid())}"


def _began(pid: int) -> str:
    try:  # a process id may be used again; the moment it began tells the two apart
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - no Path in a hot start
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""


def is_running(process: str) -> bool:
    """Whether a process named by `this_process` may still run; one of another machine may."""
    host, _, rest = process.rpartition(":")[0].rpartition(":")
    began = process.rpartition(":")[2]
    if host != socket.gethostname() or not rest.isdigit():
        return bool(process)
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _began(int(rest)) == began
