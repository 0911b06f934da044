"""A sandbox's state in one file: a log of what each transaction changed, read by every process that shares it.

A commit is one row, so it costs one write to the disk. A row that holds the whole state takes the place of all before it,
once they have grown to twice its size. A commit survives a kill; it does not wait for the disk, as an inbox does, since
the people and the money of a sandbox are made up.
"""

import os
from collections.abc import Iterable

import orjson

from workbench.sandbox.store import Change, Store
from workbench.storage import Database

APPLICATION = 0x57425358  # "WBSX"
SCHEMA = "CREATE TABLE log(version INTEGER PRIMARY KEY, whole INTEGER NOT NULL, changes BLOB NOT NULL)"
_SMALL = 256 * 1024  # bytes of log that are not worth rewriting
_NEW = "SELECT version, whole, changes FROM log WHERE version > ? ORDER BY version"


class FileBackend:
    """Keeps what a store holds in a file, and brings in what other processes wrote."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file, or make it.

        Raises:
            UnusableFile: It is not a sandbox's, newer, damaged, or cannot be opened.
        """
        self.file = Database(path, application=APPLICATION, schema=SCHEMA, survives_power_loss=False)
        self._version = 0
        self._size = 0  # bytes of log since the whole state was written
        self._whole = 0  # bytes of that
        self._store = Store()

    def begin(self, store: Store) -> None:
        """Take the file for a transaction, and read what is new in it."""
        self._store = store
        self.file.begin()
        try:
            for version, whole, changes in self.file.run(_NEW, (self._version,)):
                if whole:
                    store.clear()
                store.load(orjson.loads(changes))
                self._count(version, whole, len(changes))
        except BaseException:
            self.file.rollback()
            raise

    def commit(self, changes: Iterable[Change]) -> None:
        """Write the changes as one row; when this returns, they survive a kill."""
        listed = list(changes)
        if not listed:
            self.file.rollback()  # cheaper than a commit
            return
        before = self._version, self._size, self._whole
        try:
            self._write(orjson.dumps(listed), whole=False)
            if self._size > max(2 * self._whole, _SMALL):
                state = self._store.copy()
                everything = [(kind, key, value) for kind, values in state.items() for key, value in values.items()]
                self._write(orjson.dumps(everything), whole=True)
                self.file.run("DELETE FROM log WHERE version < ?", (self._version,))
        except BaseException:
            self._version, self._size, self._whole = before
            self.file.rollback()
            raise
        try:
            self.file.commit()
        except BaseException:
            self._version, self._size, self._whole = before
            raise

    def rollback(self) -> None:
        """Return the file back as it was."""
        self.file.rollback()

    def _write(self, changes: bytes, whole: bool) -> None:
        version = self._version + 1
        self.file.run("INSERT INTO log VALUES (?, ?, ?)", (version, whole, changes))
        self._count(version, whole, len(changes))

    def _count(self, version: int, whole: int, size: int) -> None:
        self._version = version
        if whole:
            self._whole, self._size = size, 0
        else:
            self._size += size
