"""One process at a time: a lock beside a file, let go of by the system when its holder dies."""

import fcntl
import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from workbench.errors import WorkbenchError


class Held(WorkbenchError):
    """Another process holds the run; nothing was sent."""


class FileLock:
    """The lock of a run: `with Hold(path): …`.

    Raises:
        Held: Another process has it; the text says which, and since when.
    """

    def __init__(self, path: Path) -> None:
        self._run = path.name
        self._path = path.with_name(path.name + ".lock")
        self._file = -1

    def __enter__(self) -> Self:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(self._file, 200).decode(errors="replace")
            os.close(self._file)
            raise Held(f"the run {self._run} is held by {holder or 'another process'}; nothing was sent") from None
        os.ftruncate(self._file, 0)
        text = f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
        os.write(self._file, text.encode())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        os.close(self._file)
