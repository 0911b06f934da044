"""The learner's attempts (`state:TASK`) and results (`result:TASK`), stored in a file in the user's state folder."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from workbench.base.errors import CannotRecord, UnusableFile, advise
from workbench.base.system.files import write_file
from workbench.base.system.locks import FileLock
from workbench.client.calls.keys import state_folder, state_path

FILE = "course.json"
_unsaved: dict[Path, dict[str, Any]] = {}
"""Values of this process that could not be written, by the state folder."""
_of_threads = threading.RLock()
_MAX_WAIT = 10.0  # seconds to wait for the lock


@contextmanager
def exclusive() -> Iterator[None]:
    """Hold the lock of the file, so that no other thread or kernel changes values between a read and a write.

    After ten seconds of waiting for another process, which may be suspended, this process warns and continues without
    the lock.
    """
    with _of_threads:
        lock = FileLock(state_path() / FILE)
        with suppress(UnusableFile):  # without a writable folder, no other process sees the values
            if not lock.acquire(_MAX_WAIT):
                advise(f"Another process holds {FILE}: results that both store at the same time can be lost.")
        try:
            yield
        finally:
            lock.release()


def read_stored() -> dict[str, Any]:
    """Return the stored values by name; empty if the file is missing or damaged."""
    path = state_path() / FILE
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        stored = _unsaved.get(path)
    return stored if isinstance(stored, dict) else {}


def get(name: str) -> Any:
    """Return a stored value; None if there is no such value."""
    return read_stored().get(name)


def set(name: str, value: object) -> None:  # noqa: A001 - as the store of a class
    """Store a JSON value."""
    write({**read_stored(), name: value})


def write(stored: dict[str, Any]) -> None:
    """Replace the stored values. If the folder is not writable, the values last as long as the process."""
    try:
        write_file(state_folder() / FILE, f"{json.dumps(stored, indent=1, sort_keys=True, default=float)}\n".encode())
    except (CannotRecord, OSError):
        _unsaved[state_path() / FILE] = stored
