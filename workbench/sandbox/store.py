"""State of a sandbox in memory or in a file: JSON values by kind and id, changed in transactions.

Stored values are immutable, and a changed record is stored as a new value. A copy of a store therefore copies only the
outer dictionaries.

A file is a SQLite table of all values, each with a checksum. Values are read on demand, and a cache holds the most
recently used values. Memory use and restart time therefore do not grow with the history. Several processes may share
the file. A commit survives a killed process, but is not synced to disk, because the data of a sandbox is fictitious.
"""

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from operator import itemgetter
from secrets import token_hex
from threading import RLock
from types import TracebackType
from typing import Any
from weakref import WeakSet

import orjson

from workbench.base.errors import FileBusy, UnusableFile, advise
from workbench.base.schema import strict_json
from workbench.base.system.change_log import ChangeLog
from workbench.base.system.database import OF_PARENTS, Database
from workbench.base.system.interrupts import uninterrupted
from workbench.base.system.messages import ACTOR
from workbench.base.system.seconds import monotonic

Record = dict[str, Any]
"""A stored record: JSON values by attribute name."""
Members = Mapping[str, Any]
"""Values by name."""
Texts = Mapping[str, str]

APPLICATION = 0x57425358  # "WBSX"
SCHEMA = """CREATE TABLE value(o INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, data BLOB NOT NULL,
UNIQUE(kind, id));
CREATE INDEX value_of ON value(kind);
CREATE TABLE request(n INTEGER PRIMARY KEY, data BLOB NOT NULL)"""
APART = frozenset({"snapshot", "endpoint", "delivery", "waiting", "held", "fault", "changes"})
"""Kinds of values that are not part of the world and survive a reset."""
COUNTERS_APART = ("event", "request", "endpoint", "fault")
"""Counters that survive a reset, so that no number is used twice."""
_PUT = "INSERT INTO value(kind, id, data) VALUES (?, ?, ?) ON CONFLICT(kind, id) DO UPDATE SET data = excluded.data"
_ABSENT = object()
_STORES: WeakSet["Store"] = WeakSet()
_RECENT = 8_192  # maximum number of values in the cache


def open_store(path: str | os.PathLike[str] | None) -> "Store":
    """Open the store in a file, or create one in memory.

    Raises:
        UnusableFile: The file does not belong to a sandbox, has an older or newer version, is damaged, or cannot be
            opened.
    """
    return Store() if path is None else FileStore(path)


def in_world(kind: str) -> bool:
    """Return whether a kind is part of the world."""
    return kind.partition("/")[0] not in APART


class Store:
    """Store of values by kind and id, in memory. A kind may have parts, such as "reward/USER".

    `with store:` is one transaction. An exception rolls the transaction back, and an interrupt takes effect only after
    the transaction ends. If a nested transaction fails, only the nested transaction is rolled back.
    """

    shared = False
    """Whether other processes may change the state."""
    version: object = None
    """Value that changes when another process changes the state."""

    def __init__(self) -> None:
        self._kinds: dict[str, Record] = {}
        self._undo: list[
            tuple[str, str | None, Any]
        ] = []  # kind, id and previous value; without an id, all values of the kind
        self._lock = RLock()
        self._begun: list[int] = []  # length of the undo list at the start of each open transaction
        self._changed: list[bool] = []  # whether each open transaction has changed the world
        _STORES.add(self)
        self._logs: dict[str, tuple[str, ChangeLog[str]]] = {}  # log id and change log of each watched kind

    def after_fork(self) -> None:
        """In a forked process, roll back the transaction of a thread that does not exist there."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
            return
        self._lock, self._changed = RLock(), []
        self._abandon()

    def _abandon(self) -> None:
        while self._begun:
            self._end(keep=False)

    def lease(self, work: str) -> bool:
        """Acquire the lease for a task, and return whether this process holds it. One process per file can hold it."""
        return True

    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> "Store":
        self.enter(wait=True)
        return self

    def enter(self, *, wait: bool) -> bool:
        """Begin a transaction and return True. Without `wait`, return False if the lock is not free."""
        asked = monotonic()
        uninterrupted.__enter__()
        locked = entered = False
        try:
            locked = self._lock.acquire(blocking=wait)
            if locked:
                self._begin(wait, asked)
                self._changed.append(False)
                entered = True
        except FileBusy:
            if wait:
                raise
        finally:
            if not entered:
                if locked:
                    self._lock.release()
                uninterrupted.__exit__()
        return entered

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            if kind is None and self._changed == [True]:
                self.put("changes", "world", self.changes + 1)
                if actor := ACTOR.get():
                    self.put("changes", "last", [self.changes, actor])
            changed = self._changed.pop()
            if changed and kind is None and self._changed:
                self._changed[-1] = True
            self._end(keep=kind is None)
        finally:
            self._lock.release()
            uninterrupted.__exit__()

    def changed(self, kind: str, mark: str = "") -> tuple[str, list[str] | None]:
        """Return a mark of the current values of a kind, and the ids of values that changed since an earlier mark.

        The ids are None without an earlier mark, and after all values were replaced.
        """
        with self._lock:
            known = kind in self._logs
            name, log = self._logs.setdefault(kind, (token_hex(8), ChangeLog[str]()))
            former, _, number = mark.partition(":")
            return f"{name}:{log.number}", log.since(int(number)) if known and former == name else None

    def _note(self, kind: str, key: str | None = None) -> None:
        """Record a change in the log of the value's kind, and record whether the change affects the world."""
        if kind in self._logs:
            if key is None:
                del self._logs[kind]
            else:
                self._logs[kind][1].note(key)
        if self._changed and in_world(kind) and (kind != "counter" or key not in COUNTERS_APART):
            self._changed[-1] = True

    @property
    def changes(self) -> int:
        """Number of transactions that changed the world."""
        return self.get("changes", "world") or 0

    def _begin(self, wait: bool, asked: float) -> None:
        self._begun.append(len(self._undo))

    def _end(self, *, keep: bool) -> None:
        begun = self._begun.pop()
        if not keep:
            for kind, key, before in reversed(self._undo[begun:]):
                values, at = (self._kinds, kind) if key is None else (self._kinds[kind], key)
                if before is _ABSENT:
                    values.pop(at, None)
                else:
                    values[at] = before
            del self._undo[begun:]
        if not self._begun:
            self._undo.clear()

    def get(self, kind: str, key: str) -> Any:
        """Return a value, or None.

        Raises:
            UnusableFile: The value is damaged.
        """
        with self._lock:  # other threads never read uncommitted values
            values = self._kinds.get(kind)
            return None if values is None else values.get(key)

    def readable(self, kind: str, key: str) -> Any:
        """Return a value, or None if the value is missing or damaged."""
        with suppress(UnusableFile):
            return self.get(kind, key)

    def items(self, kind: str, *, newest: bool = False) -> Iterator[tuple[str, Any]]:
        """Iterate over the ids and values of a kind, in insertion order or newest first."""
        with self._lock:
            items = tuple(self._kinds.get(kind, {}).items())
        return iter(items[::-1] if newest else items)

    def all(self, kind: str, *, newest: bool = False) -> Iterator[Any]:
        """Iterate over the values of a kind, in insertion order or newest first."""
        return map(itemgetter(1), self.items(kind, newest=newest))

    def numbered(self, kind: str, after: int) -> Iterator[Any]:
        """Iterate over the values of a kind with numeric ids above `after`, in order."""
        last = self.get("counter", kind) or 0
        if after < last and self.readable(kind, str(after + 1)) is None:  # a reset deletes values, which leaves a gap
            after = next((int(key) - 1 for key, _ in self.items(kind) if int(key) > after), last)
        numbers = range(after + 1, last + 1)
        return (value for number in numbers if (value := self.readable(kind, str(number))) is not None)

    def until(self, kind: str, key: str, limit: int = 1_000) -> list[tuple[str, Any]]:
        """Return the ids and values of a kind with ids up to `key`, in order of id, at most `limit`."""
        return sorted(item for item in self.items(kind) if item[0] <= key)[:limit]

    def count(self, kind: str) -> int:
        """Return the number of values of a kind."""
        with self._lock:
            return len(self._kinds.get(kind, ()))

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that have or had values."""
        with self._lock:
            return tuple(self._kinds)

    def put(self, kind: str, key: str, value: object) -> None:
        """Store a value. The caller must not change the value afterwards."""
        self._note(kind, key)
        values = self._kinds.get(kind)
        if values is None:
            values = self._kinds[kind] = {}
        self._undo.append((kind, key, values.get(key, _ABSENT)))
        values[key] = value

    def save(self, kind: str, record: Members, **changes: object) -> Record:
        """Store a record under its id with some members changed, and return it."""
        changed = {**record, **changes}
        self.put(kind, changed["id"], changed)
        return changed

    def delete(self, kind: str, key: str) -> None:
        """Delete a value."""
        self._note(kind, key)
        self._undo.append((kind, key, self._kinds[kind].pop(key)))

    def fill(self, kind: str, values: Members) -> None:
        """Replace all values of a kind."""
        self._note(kind)
        self._undo.append((kind, None, self._kinds.pop(kind, _ABSENT)))
        self._kinds[kind] = dict(values)

    def copy_kind(self, kind: str, to: str) -> None:
        """Replace all values of a kind with the values of another kind."""
        self.fill(to, self._kinds.get(kind, {}))

    def next(self, counter: str) -> int:
        """Return the next number of a counter, starting at 1."""
        number: int = (self.get("counter", counter) or 0) + 1
        self.put("counter", counter, number)
        return number

    def copy(self) -> dict[str, Record]:
        """Return a copy of the contents. The copy needs little memory, since values are never changed in place."""
        with self._lock:
            return {kind: records for kind in self.kinds() if (records := dict(self.items(kind)))}


def _after_fork() -> None:
    for store in tuple(_STORES):
        store.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class _Undone(Exception):
    """Internal exception that rolls back the file's transaction. The caller propagates the original error."""


class FileStore(Store):
    """Store of values by kind and id, in a file.

    Args:
        recent: Maximum number of cached values.
    """

    shared = True

    def __init__(self, path: str | os.PathLike[str], *, recent: int = _RECENT) -> None:
        super().__init__()
        self._max_recent = recent
        self._recent: dict[tuple[str, str], Any] = {}  # cached values; None for an id without a value
        self._file = Database(path, application=APPLICATION, schema=SCHEMA, version=4, survives_power_loss=False)
        self._run = self._file.run

    def lease(self, work: str) -> bool:
        """Acquire the lease for a task, and return whether this process holds it. One process per file can hold it."""
        return self._file.lease(work)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    # transactions; nested transactions are savepoints

    def _begin(self, wait: bool, asked: float) -> None:
        if self._begun:
            self._run("SAVEPOINT inner")
        else:
            with ExitStack() as stack:
                stack.enter_context(self._file.write(wait=wait, asked=asked))
                # SQLite counts this version per connection, and a forked process has a new connection
                version = self._file.connection, self._run("PRAGMA data_version")
                if version != self.version:  # another process has written to the file
                    self._recent, self._logs, self.version = {}, {}, version
                self._transaction = stack.pop_all()
        super()._begin(wait, asked)

    def _end(self, *, keep: bool) -> None:
        self._begun.pop()
        if not keep:
            self._recent = {}
        if self._begun:
            if not keep:
                self._run("ROLLBACK TO inner")
            self._run("RELEASE inner")
            return
        try:
            with suppress(_Undone), self._transaction:
                if not keep:
                    raise _Undone
        except BaseException:
            self._recent = {}
            raise

    def _abandon(self) -> None:
        self._begun, self._recent = [], {}
        OF_PARENTS.append(getattr(self, "_transaction", None))  # deleting it would end a transaction of this process

    # values

    def _remember(self, at: tuple[str, str], value: object) -> None:
        if len(self._recent) >= self._max_recent:
            self._recent = {}
        self._recent[at] = value

    def _read(self, data: bytes) -> Any:
        """Return the value of a row. If the value is damaged, warn and return None."""
        if data == _summed(data[4:]):
            with suppress(ValueError):
                return orjson.loads(data[4:])
        advise(f"{self._file.path}: a damaged record is set aside; all other records can be read")
        return None

    def get(self, kind: str, key: str) -> Any:
        """Return a value, or None.

        Raises:
            UnusableFile: The value is damaged.
        """
        at = kind, key
        with self._lock:  # otherwise an older value could replace a newer value in the cache
            if at not in self._recent:
                rows = self._run("SELECT data FROM value WHERE kind = ? AND id = ?", at)
                value = self._read(rows[0][0]) if rows else None
                if rows and value is None:
                    raise UnusableFile(f"{self._file.path}: {kind} {key} is damaged")
                self._remember(at, value)
            return self._recent[at]

    def items(self, kind: str, *, newest: bool = False) -> Iterator[tuple[str, Any]]:
        """Iterate over the ids and values of a kind, in insertion order or newest first.

        A damaged value is skipped with a warning.
        """
        end, order, sign = (2**63 - 1, "DESC", "<") if newest else (0, "ASC", ">")
        query = f"SELECT o, id, data FROM value WHERE kind = ? AND o {sign} ? ORDER BY o {order} LIMIT ?"
        limit = 50
        while True:  # read in batches, so that no statement stays open
            rows = self._run(query, (kind, end, limit))
            for _, key, data in rows:
                value = self._read(data)
                if value is not None:
                    yield key, value
            if len(rows) < limit:
                return
            end, limit = rows[-1][0], min(2 * limit, 1_000)

    def until(self, kind: str, key: str, limit: int = 1_000) -> list[tuple[str, Any]]:
        """Return the ids and values of a kind with ids up to `key`, in order of id, at most `limit`."""
        query = "SELECT id FROM value WHERE kind = ? AND id <= ? ORDER BY id LIMIT ?"
        return [(id_, self.get(kind, id_)) for (id_,) in self._run(query, (kind, key, limit))]

    def count(self, kind: str) -> int:
        """Return the number of values of a kind."""
        return int(self._run("SELECT count(*) FROM value WHERE kind = ?", (kind,))[0][0])

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that have values."""
        return tuple(kind for (kind,) in self._run("SELECT kind FROM value GROUP BY kind ORDER BY min(o)"))

    def put(self, kind: str, key: str, value: object) -> None:
        """Store a value. The caller must not change the value afterwards."""
        self._note(kind, key)
        self._run(_PUT, (kind, key, _summed(orjson.dumps(value))))
        self._remember((kind, key), value)

    def delete(self, kind: str, key: str) -> None:
        """Delete a value."""
        self._note(kind, key)
        self._run("DELETE FROM value WHERE kind = ? AND id = ?", (kind, key))
        self._remember((kind, key), None)

    def fill(self, kind: str, values: Members) -> None:
        """Replace all values of a kind."""
        self._clear(kind)
        rows = ((kind, key, _summed(orjson.dumps(value))) for key, value in values.items())
        self._file.run_many(_PUT, rows)

    def copy_kind(self, kind: str, to: str) -> None:
        """Replace all values of a kind with the values of another kind."""
        self._clear(to)
        copied = "INSERT INTO value(kind, id, data) SELECT ?, id, data FROM value WHERE kind = ? ORDER BY o"
        self._run(copied, (to, kind))

    def _clear(self, kind: str) -> None:
        self._note(kind)
        self._run("DELETE FROM value WHERE kind = ?", (kind,))
        self._recent = {}

    # the log of requests

    def keep_requests(self, entries: Iterable[Any], most: int) -> None:
        """Store requests in the log, and delete the oldest requests beyond a maximum number."""
        with self:
            self._file.run_many("INSERT INTO request(data) VALUES (?)", [(orjson.dumps(entry),) for entry in entries])
            self._run("DELETE FROM request WHERE n <= (SELECT max(n) FROM request) - ?", (most,))

    def remove_requests(self) -> None:
        """Delete the log of requests."""
        with self:
            self._run("DELETE FROM request")

    def requests(self) -> list[Any]:
        """Return the logged requests, oldest first."""
        return [strict_json.stored(data) for (data,) in self._run("SELECT data FROM request ORDER BY n")]


def _summed(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "big") + data
