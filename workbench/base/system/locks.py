"""Locks between processes."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeVar

from workbench.base.errors import FileBusy, UnusableFile
from workbench.base.system.files import make_folder


class Closable(Protocol):
    """Object that can be closed."""

    def close(self) -> None:
        """Close the object."""


C = TypeVar("C", bound=Closable)


class FileLock:
    """Lock file next to a file. One process holds the lock; when it ends, the operating system releases the lock."""

    def __init__(self, path: Path) -> None:
        """Prepare the lock of a file. The lock file is next to it (links resolved), with `.lock` added to the name."""
        path = path.resolve()
        self._name = path.name
        self._path = path.with_name(path.name + ".lock")
        import filelock  # imported late, because reads need no lock

        self._lock = filelock.FileLock(self._path, timeout=0, mode=0o600, thread_local=False)

    def acquire(self, seconds: float = 0.0) -> bool:
        """Acquire the lock within a number of seconds; return False if another process still holds it.

        Raises:
            UnusableFile: The lock file cannot be created.
        """
        from filelock import Timeout

        try:
            make_folder(self._path.parent)
            self._lock.acquire(timeout=seconds)
        except Timeout:
            return False
        except OSError as error:
            raise UnusableFile(f"{self._path} cannot be created: {error.strerror}") from None
        return True

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()

    def remove(self) -> None:
        """Remove the lock file and release the lock. The caller must not use this name again."""
        with suppress(OSError):  # another process may remove the file first
            self._path.unlink(missing_ok=True)
        self._lock.release()

    def __enter__(self) -> Self:
        """Acquire the lock.

        Raises:
            FileBusy: Another process holds the lock. The message names the process and the time.
            UnusableFile: The lock file cannot be created.
        """
        if self.acquire():
            import socket

            holder = f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
            with suppress(OSError):
                self._path.write_text(holder, encoding="utf-8")
            return self
        try:
            holder = self._path.read_text(encoding="utf-8", errors="replace")[:200]
        except OSError:
            holder = ""
        raise FileBusy(f"{self._name} is held by {holder or 'another process'}. Nothing was sent.")

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.release()


@contextmanager
def locked(path: Path, open_file: Callable[[], C]) -> Iterator[C]:
    """Open a file, yield it while holding its lock, and close it. If the file is unusable, the lock file is removed.

    Raises:
        FileBusy: Another process holds the lock.
        UnusableFile: `open_file` refused the file, or the lock file cannot be created.
    """
    with FileLock(path) as lock:
        try:
            file = open_file()
        except UnusableFile:
            lock.remove()
            raise
        with closing(file):
            yield file
