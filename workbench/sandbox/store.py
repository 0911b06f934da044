"""The state of a sandbox: JSON values by kind and id, changed in transactions, in memory or in a file as well.

A stored value is never changed in place; whoever changes a record puts a new one. A copy of the store is therefore a copy of
its outer dictionaries, and an event can hold a record as it was.

A file is a log with one row per transaction, read by every process that shares it. Once the log has grown to twice the size of
the state, rows with the state replace it, written by a thread. A commit survives a killed process; it does not wait for the
disk, since the people and the money of a sandbox are made up.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice, repeat
from threading import RLock, Thread
from types import TracebackType
from typing import Any

import orjson

from workbench.errors import FileBusy, UnusableFile
from workbench.storage import Database, uninterrupted

Change = tuple[str, str, Any]
"""Kind, id, and the new value; None where it was deleted."""
APPLICATION = 0x57425358  # "WBSX"
SCHEMA = "CREATE TABLE log(version INTEGER PRIMARY KEY, whole INTEGER NOT NULL, changes BLOB NOT NULL)"
_MIN_REWRITE = 256 * 1024  # bytes of log below which it is not rewritten
_CHUNK = 1_000  # values in a row of the state
_CHANGES, _FIRST, _MORE = range(3)
"""What a row holds: the changes of a transaction, the beginning of the state, or more of it."""
_NEW = "SELECT version, whole, changes FROM log WHERE version > ? ORDER BY version"


class Store:
    """Values by kind and id.

    `with store:` is one transaction; an exception undoes it, and an interrupt waits for its end. A nested transaction that fails is undone alone.

    Args:
        path: A file that keeps the state; in memory only by default.

    Raises:
        UnusableFile: The file is not a sandbox's, is newer than this program, is damaged, or cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._kinds: dict[str, dict[str, Any]] = {}
        self._undo: list[Change] = []
        self._lock = RLock()
        self._begun: list[int] = []  # for each open transaction, the length of the undo list when it began
        self._log = None if path is None else _FileLog(path)
        self._rewriting = Thread()

    @property
    def shared(self) -> bool:
        """Whether other processes may change the state."""
        return self._log is not None

    @property
    def version(self) -> int:
        """The number of the last row of the file that was read or written; 0 without a file."""
        return 0 if self._log is None else self._log.version

    def lease(self, work: str) -> bool:
        """Return whether this process is the one that does some work; of several on one file, only one is."""
        return self._log is None or self._log.file.lease(work)

    def close(self) -> None:
        """Close the file."""
        if self._rewriting.is_alive():
            self._rewriting.join()
        if self._log is not None:
            self._log.file.close()

    def __enter__(self) -> "Store":
        uninterrupted.__enter__()
        self._lock.acquire()
        self._begin(wait=True)
        return self

    @contextmanager
    def immediate(self) -> Iterator[bool]:
        """Enter a transaction unless another thread or process holds the state; yield whether it was entered."""
        if not self._enter_now():
            yield False
            return
        try:
            yield True
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        self.__exit__(None, None, None)

    def _enter_now(self) -> bool:
        uninterrupted.__enter__()
        if not self._lock.acquire(blocking=False):
            uninterrupted.__exit__()
            return False
        try:
            self._begin(wait=False)
        except FileBusy:
            return False
        return True

    def _begin(self, *, wait: bool) -> None:
        if not self._begun and self._log is not None:
            try:
                self._log.begin(self, wait=wait)
            except BaseException:
                self._lock.release()
                uninterrupted.__exit__()
                raise
        self._begun.append(len(self._undo))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        begun = self._begun.pop()
        try:
            if not self._begun:
                self._end(keep=kind is None)
            elif kind is not None:
                self._undo_since(begun)
        finally:
            self._lock.release()
            uninterrupted.__exit__()
        if self._log is not None and not self._begun and self._log.has_grown and not self._rewriting.is_alive():
            self._rewriting = Thread(target=self._rewrite, name="workbench-store", daemon=True)
            self._rewriting.start()

    def _rewrite(self) -> None:
        """Replace the log by the state, while requests wait in their threads."""
        assert self._log is not None
        with suppress(UnusableFile), self._lock:  # a busy or full file: the next transaction tries again
            self._log.begin(self)
            self._log.rewrite(self.copy())

    def _end(self, keep: bool) -> None:
        if keep and self._log is not None:
            try:
                touched = {(kind, key): None for kind, key, _ in self._undo}
                self._log.commit(self, [(kind, key, self.get(kind, key)) for kind, key in touched])
            except BaseException:
                self._undo_since(0)
                raise
        elif not keep:
            self._undo_since(0)
            if self._log is not None:
                self._log.file.rollback()
        self._undo.clear()

    def _undo_since(self, begun: int) -> None:
        for kind, key, before in reversed(self._undo[begun:]):
            if before is None:
                self._kinds[kind].pop(key, None)
            else:
                self._kinds[kind][key] = before
        del self._undo[begun:]

    def get(self, kind: str, key: str) -> Any:
        """Return a value, or None."""
        values = self._kinds.get(kind)
        return None if values is None else values.get(key)

    def all(self, kind: str) -> Iterator[Any]:
        """Iterate over the values of a kind, in the order they were first put."""
        return iter(tuple(self._kinds.get(kind, {}).values()))

    def count(self, kind: str) -> int:
        """Return the number of values of a kind."""
        return len(self._kinds.get(kind, ()))

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that have values."""
        return tuple(self._kinds)

    def items(self, kind: str) -> Iterator[tuple[str, Any]]:
        """Iterate over the ids and values of a kind."""
        return iter(tuple(self._kinds.get(kind, {}).items()))

    def put(self, kind: str, key: str, value: Any) -> None:
        """Store a value; it must not be changed afterwards."""
        values = self._kinds.get(kind)
        if values is None:
            values = self._kinds[kind] = {}
        self._undo.append((kind, key, values.get(key)))
        values[key] = value

    def delete(self, kind: str, key: str) -> None:
        """Delete a value."""
        values = self._kinds[kind]
        self._undo.append((kind, key, values.pop(key)))

    def next(self, counter: str) -> int:
        """Return the next number of a counter, from 1."""
        number: int = (self.get("counter", counter) or 0) + 1
        self.put("counter", counter, number)
        return number

    def load(self, changes: Iterable[Change]) -> None:
        """Load values without a transaction."""
        for kind, key, value in changes:
            if value is None:
                self._kinds.get(kind, {}).pop(key, None)
            else:
                self._kinds.setdefault(kind, {})[key] = value

    def clear(self) -> None:
        """Delete everything; another state is about to be loaded."""
        self._kinds.clear()

    def copy(self) -> dict[str, dict[str, Any]]:
        """Return a copy of the contents; cheap, since values are never changed in place."""
        with self._lock:
            return {kind: dict(values) for kind, values in self._kinds.items() if values}

    def replace(self, contents: dict[str, dict[str, Any]]) -> None:
        """Replace the contents within a transaction."""
        for kind in self.kinds():
            for key in tuple(self._kinds[kind]):
                if key not in contents.get(kind, {}):
                    self.delete(kind, key)
        for kind, values in contents.items():
            for key, value in values.items():
                if self.get(kind, key) is not value:
                    self.put(kind, key, value)


class _FileLog:
    """The file of a store."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = Database(path, application=APPLICATION, schema=SCHEMA, survives_power_loss=False)
        self.version = 0
        self._size = 0  # bytes of log since the state was written
        self._whole = 0  # bytes of that state

    @property
    def has_grown(self) -> bool:
        """Whether the log is so much larger than the state that it should be replaced."""
        return self._size > max(2 * self._whole, _MIN_REWRITE)

    def begin(self, store: Store, *, wait: bool = True) -> None:
        """Begin a transaction, and load what other processes wrote."""
        self.file.begin(wait=wait)
        try:
            for version, holds, changes in self.file.run(_NEW, (self.version,)):
                if holds == _FIRST:
                    store.clear()
                store.load(orjson.loads(changes))
                self._count(version, holds, len(changes))
        except BaseException:
            self.file.rollback()
            raise

    def commit(self, store: Store, changes: list[Change]) -> None:
        """Write the changes as one row; when this returns, they survive a killed process."""
        if changes:
            self._commit([(_CHANGES, changes)])
        else:
            self.file.rollback()  # cheaper than a commit

    def rewrite(self, state: dict[str, dict[str, Any]]) -> None:
        """Replace all rows by the state, in rows of a thousand values: none holds up what else this process does."""
        values = ((kind, key, value) for kind, values in state.items() for key, value in values.items())
        chunks = iter(lambda: list(islice(values, _CHUNK)), [])
        self._commit(zip(chain([_FIRST], repeat(_MORE)), chunks), clear=True)  # noqa: B905 - one is endless

    def _commit(self, rows: Iterable[tuple[int, list[Change]]], *, clear: bool = False) -> None:
        before = self.version, self._size, self._whole
        try:
            if clear:
                self.file.run("DELETE FROM log")
            for holds, changes in rows:
                data = orjson.dumps(changes)
                version = self.version + 1
                self.file.run("INSERT INTO log VALUES (?, ?, ?)", (version, holds, data))
                self._count(version, holds, len(data))
        except BaseException:
            self.version, self._size, self._whole = before
            self.file.rollback()
            raise
        try:
            self.file.commit()  # ends the transaction, whether it fails or not
        except BaseException:
            self.version, self._size, self._whole = before
            raise

    def _count(self, version: int, holds: int, size: int) -> None:
        self.version = version
        if holds == _FIRST:
            self._whole = self._size = 0
        if holds == _CHANGES:
            self._size += size
        else:
            self._whole += size
