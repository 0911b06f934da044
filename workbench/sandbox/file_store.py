"""A sandbox's state in one file: a log of what each transaction changed, read by every process that shares it.

A commit is one row, so it costs one write to the disk. A row that holds the whole state takes the place of all before it,
once they have grown to twice its size. A commit survives a kill; it does not wait for the disk, as an inbox does, since
the people and the money of a sandbox are made up.
"""

import os
from collections.abc import Iterable
from typing import Any

import orjson

from workbench.durable import File
from workbench.sandbox.store import Change, Store

APPLICATION = 0x57425358  # "WBSX"
SCHEMA = "CREATE TABLE log(version INTEGER PRIMARY KEY, whole INTEGER NOT NULL, changes BLOB NOT NULL)"
_SMALL = 256 * 1024  # bytes of log that are not worth rewriting


class FileBackend:
    """Keeps what a store holds in a file, and brings in what other processes wrote."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file, or make it.

        Raises:
            UnusableFile: It is not a sandbox's, newer, damaged, or cannot be opened.
        """
        self.file = File(path, application=APPLICATION, schema=SCHEMA, survives_power_loss=False)
        self._version = 0
        self._size = 0  # bytes of log since the whole state was written
        self._whole = 0  # bytes of that
        self._open: Any = None

    def begin(self, store: Store) -> None:
        """Take the file for a transaction, and read what is new in it."""
        self._open = self.file.write()
        db = self._open.__enter__()
        try:
            rows = db.execute(
                "SELECT version, whole, changes FROM log WHERE version > ? ORDER BY version", (self._version,)
            ).fetchall()
            for version, whole, changes in rows:
                if whole:
                    store.clear()
                store.load(orjson.loads(changes))
                self._count(version, whole, len(changes))
        except BaseException as error:
            self._end(error)
            raise
        self._store = store

    def commit(self, changes: Iterable[Change]) -> None:
        """Write the changes as one row; when this returns, they are on the disk."""
        listed = list(changes)
        if not listed:
            self._end(None)
            return
        try:
            self._write(orjson.dumps(listed), whole=False)
            if self._size > max(2 * self._whole, _SMALL):
                state = self._store.copy()
                everything = [(kind, key, value) for kind, values in state.items() for key, value in values.items()]
                self._write(orjson.dumps(everything), whole=True)
                self.file.connection.execute("DELETE FROM log WHERE version < ?", (self._version,))
        except BaseException as error:
            self._end(error)
            raise
        self._end(None)

    def rollback(self) -> None:
        """Give the file back as it was."""
        self._end(_Undone())

    def _write(self, changes: bytes, whole: bool) -> None:
        version = self._version + 1
        self.file.connection.execute("INSERT INTO log VALUES (?, ?, ?)", (version, whole, changes))
        self._count(version, whole, len(changes))

    def _count(self, version: int, whole: int, size: int) -> None:
        self._version = version
        if whole:
            self._whole, self._size = size, 0
        else:
            self._size += size

    def _end(self, error: BaseException | None) -> None:
        transaction, self._open = self._open, None
        if error is None:
            transaction.__exit__(None, None, None)
        else:
            try:
                transaction.__exit__(type(error), error, error.__traceback__)
            except _Undone:
                return


class _Undone(Exception):
    """Ends a transaction without changes. It never leaves this module."""
