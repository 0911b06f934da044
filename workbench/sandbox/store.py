"""State of a sandbox: JSON values by kind and id, changed in transactions, in memory or in a file.

Stored values are immutable: a changed record is stored as a new value, so copying a store copies only its outer
dictionaries.

A file has a log of the last transactions and a compressed table of all other values, both with checksums. Changes move
from the log to the table in batches of some hundred transactions. Values are read on demand, and a cache holds the most
recently used, so neither memory nor restart time grows with the history. Several processes may share the file. A commit
survives a killed process, but is not synced to disk, because the data of a sandbox is fictitious.
"""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from operator import itemgetter
from threading import RLock
from types import TracebackType
from typing import Any

import orjson

from workbench.base.errors import FileBusy, UnusableFile, advise
from workbench.base.system.database import Database
from workbench.base.system.interrupts import uninterrupted
from workbench.base.system.seconds import monotonic

APPLICATION = 0x57425358  # "WBSX"
SCHEMA = """CREATE TABLE log(n INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE kind(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE value(kind INTEGER NOT NULL, o INTEGER NOT NULL, id TEXT NOT NULL, data BLOB NOT NULL,
PRIMARY KEY(kind, o), UNIQUE(kind, id)) WITHOUT ROWID;
CREATE TABLE request(n INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE head(placed INTEGER NOT NULL);
INSERT INTO head VALUES (0)"""
APART = frozenset({"snapshot", "endpoint", "delivery", "waiting", "held", "fault", "changes"})
"""Kinds that are not part of the world and survive a reset."""
COUNTERS_APART = ("event", "request", "endpoint", "fault")
"""Counters that survive a reset, so that their numbers are never reused."""
_WHOLE = frozenset({"meta", "counter", "key", "tenant", "endpoint", "fault", "changes"})
"""Kinds with few values, all held in memory."""
_PUT = "INSERT INTO value VALUES (?, ?, ?, ?) ON CONFLICT(kind, id) DO UPDATE SET data = excluded.data"
_DELETE = "DELETE FROM value WHERE kind = ? AND id = ?"
_ABSENT = object()
_MAX_LOGGED = 300  # transactions that are only in the log
_TYPICAL = (
    b'"declined","posted_at":"reversed","cleared":"settled","type":"redeemed","status":"COMPLETED","points'
    b'":{"id":"rwd_","type":"earned","at":17684892,"points":,"posted":17684892,"minted":17684892,"merchant'
    b'_name":"","transaction_amount_cents":,"spend_category":"groceries"}{"id":"","tenant":"","user":"","s'
    b'tatus":"active","last4":"0001","limit":2500000,"available":24,"held":0,"posted":0,"refunded":0,"expi'
    b'ration_month":"12","expiration_year":"2029"}{"id":"-4-a","tenant":"","card":"","user":"","authorized'
    b'_at":1768489200000,"settled":0,"refunded":0,"held":1,"currency":"USD","declined_reason":null,"posted'
    b'_at":null,"status":"authorized","authorized":1,"merchant_name":"Corner Grocery","merchant_category_c'
    b'ode":"5411"}{"sequence":1,"kind":"transaction.completed","request":"cause":"settle""kind":"transacti'
    b'on.requested","kind":"transaction.created","tenant":"","at":1768489200000,"request":1,"cause":"simul'
    b'ate_authorization","transaction":"","state":{"status":"authorized","held":1,"settled":0,"posted_at":'
    b"null}}"
)
"""Preset dictionary for the compression of values: part of the file format."""
_WINDOW = -11  # 2 kB: enough for a value, and fast to set up
_COMPRESSION = zlib.compressobj(1, zlib.DEFLATED, _WINDOW, 4, zlib.Z_DEFAULT_STRATEGY, _TYPICAL)


def open_store(path: str | os.PathLike[str] | None) -> "Store":
    """Open the store in a file, or create one in memory.

    Raises:
        UnusableFile: The file is not a sandbox, has an older or newer version, is damaged, or cannot be opened.
    """
    return Store() if path is None else FileStore(path)


def in_world(kind: str) -> bool:
    """Return whether a kind is part of the world."""
    return kind.partition("/")[0] not in APART


class Store:
    """Values by kind and id, in memory. A kind may have parts, such as "reward/USER".

    `with store:` is one transaction. An exception rolls it back; an interrupt waits for its end. A nested transaction
    that fails is rolled back alone.
    """

    shared = False
    """Whether other processes may change the state."""
    version = 0
    """Number that changes when another process changes the state."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, Any]] = {}
        self._undo: list[
            tuple[str, str | None, Any]
        ] = []  # kind, id and previous value; without an id, all values of the kind
        self._lock = RLock()
        self._replaced = False  # whether the transaction changed the world in a way that is not in the undo list
        self._begun: list[int] = []  # for each open transaction, the length of the undo list at its start

    def lease(self, work: str) -> bool:
        """Acquire the lease for a task and return whether this process holds it; only one process on a file can."""
        return True

    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> "Store":
        self.enter(wait=True)
        return self

    def enter(self, *, wait: bool) -> bool:
        """Begin a transaction and return True. Without waiting, return False if another thread or process holds the
        lock.
        """
        asked = monotonic()
        uninterrupted.__enter__()
        locked = entered = False
        try:
            locked = self._lock.acquire(blocking=wait)
            if locked:
                self._begin(wait, asked)
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
            if kind is None and len(self._begun) == 1 and (self._replaced or self._in_world()):
                self.put("changes", "world", self.changes + 1)
            self._end(keep=kind is None)
        finally:
            self._replaced = self._replaced and bool(self._begun)
            self._lock.release()
            uninterrupted.__exit__()

    def _in_world(self) -> bool:
        """Whether the transaction changed the world, as far as it can be undone."""
        changed = ((kind, key) for kind, key, _ in self._undo if in_world(kind))
        return any(kind != "counter" or key not in COUNTERS_APART for kind, key in changed)

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
        values = self._kinds.get(kind)
        return None if values is None else values.get(key)

    def readable(self, kind: str, key: str) -> Any:
        """Return a value; None if it is missing or damaged."""
        with suppress(UnusableFile):
            return self.get(kind, key)

    def items(self, kind: str, *, newest: bool = False) -> Iterator[tuple[str, Any]]:
        """Iterate over the ids and values of a kind, in insertion order or newest first."""
        items = tuple(self._kinds.get(kind, {}).items())
        return iter(items[::-1] if newest else items)

    def all(self, kind: str, *, newest: bool = False) -> Iterator[Any]:
        """Iterate over the values of a kind in the same order."""
        return map(itemgetter(1), self.items(kind, newest=newest))

    def numbered(self, kind: str, after: int) -> Iterator[Any]:
        """Iterate in order over the values of a kind whose ids are numbers of its counter, after a given number."""
        last = self.get("counter", kind) or 0
        if after < last and self.readable(kind, str(after + 1)) is None:  # a reset deletes them
            after = next((int(key) - 1 for key, _ in self.items(kind) if int(key) > after), last)
        numbers = range(after + 1, last + 1)
        return (value for number in numbers if (value := self.readable(kind, str(number))) is not None)

    def until(self, kind: str, key: str, limit: int = 1_000) -> list[tuple[str, Any]]:
        """Return the first ids and values of a kind with ids up to `key`, in order."""
        values = self._kinds.get(kind, {})
        return [(value, values[value]) for value in sorted(value for value in values if value <= key)[:limit]]

    def count(self, kind: str) -> int:
        """Return the number of values of a kind."""
        return len(self._kinds.get(kind, ()))

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that have or had values."""
        return tuple(self._kinds)

    def put(self, kind: str, key: str, value: object) -> None:
        """Store a value; it must not be changed afterwards."""
        values = self._kinds.get(kind)
        if values is None:
            values = self._kinds[kind] = {}
        self._undo.append((kind, key, values.get(key, _ABSENT)))
        values[key] = value

    def save(self, kind: str, record: Mapping[str, Any], **changes: object) -> dict[str, Any]:
        """Store a record under its id with some members changed, and return it."""
        changed = {**record, **changes}
        self.put(kind, changed["id"], changed)
        return changed

    def delete(self, kind: str, key: str) -> None:
        """Delete a value."""
        self._undo.append((kind, key, self._kinds[kind].pop(key)))

    def fill(self, kind: str, values: Mapping[str, Any]) -> None:
        """Replace all values of a kind."""
        self._undo.append((kind, None, self._kinds.pop(kind, _ABSENT)))
        self._kinds[kind] = dict(values)

    def copy_kind(self, kind: str, to: str) -> None:
        """Replace all values of a kind with those of another kind."""
        self.fill(to, self._kinds.get(kind, {}))

    def next(self, counter: str) -> int:
        """Return the next number of a counter, from 1."""
        number: int = (self.get("counter", counter) or 0) + 1
        self.put("counter", counter, number)
        return number

    def copy(self) -> dict[str, dict[str, Any]]:
        """Return a copy of the contents; cheap in memory, since values are never changed in place."""
        with self._lock:
            return {kind: records for kind in self.kinds() if (records := dict(self.items(kind)))}


class _Undone(Exception):
    """Internal: rolls back the transaction of the file; the caller propagates the original error."""


class FileStore(Store):
    """Values by kind and id, in a file.

    Args:
        recent: Maximum number of cached values.
        unplaced: Approximate number of values that are only in the log; they are read again on open.
    """

    shared = True

    def __init__(self, path: str | os.PathLike[str], *, recent: int = 8_192, unplaced: int = 1_000) -> None:
        super().__init__()  # also the values in the log (None: deleted), and all values of some kinds
        self._max_recent, self._max_unplaced = recent, unplaced
        self._file = Database(path, application=APPLICATION, schema=SCHEMA, version=3, survives_power_loss=False)
        self._run = self._file.run
        self._wrote = False  # whether the transaction wrote to the file
        self._last = self._placed = -1  # last transaction and last move to the table known to this process
        self._unplaced: dict[tuple[str, str], Any] = {}
        self._recent: dict[tuple[str, str], Any] = {}
        self._numbers: dict[str, int] = {}  # of kinds

    def lease(self, work: str) -> bool:
        """Acquire the lease for a task and return whether this process holds it; only one process on a file can."""
        return self._file.lease(work)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    # transactions

    def _begin(self, wait: bool, asked: float) -> None:
        if not self._begun:
            with ExitStack() as stack:
                stack.enter_context(self._file.write(wait=wait, asked=asked))
                ((version,),) = self._run("PRAGMA data_version")
                if version != self.version:
                    self._follow()
                    self.version = version
                self._transaction = stack.pop_all()
        super()._begin(wait, asked)

    def _end(self, *, keep: bool) -> None:
        if len(self._begun) > 1:
            super()._end(keep=keep)
            return
        try:
            with suppress(_Undone), self._transaction:
                if not keep:
                    raise _Undone
                self._save()
        except BaseException:
            keep = False
            raise
        finally:
            super()._end(keep=keep)
            lost, self._wrote = self._wrote and not keep, False
            if lost:  # memory and file may differ
                self._placed, self.version, self._numbers = -1, 0, {}
                with suppress(UnusableFile):  # the next transaction tries again
                    self._follow()

    def _save(self) -> None:
        """Write the changes of the transaction."""
        many = len(self._unplaced) + len(self._undo) > self._max_unplaced
        if many or self._last - self._placed >= _MAX_LOGGED:
            self._place()
        elif changed := self._changed():
            self._wrote = True
            self._last += 1
            row = orjson.dumps([(*at, value) for at, value in changed.items()])
            self._run("INSERT INTO log VALUES (?, ?)", (self._last, _summed(row)))
            self._unplaced |= changed

    def _changed(self) -> dict[tuple[str, str], Any]:
        """Return the values that the transaction stored; None for deleted ones."""
        return {(kind, key): self._kinds[kind].get(key) for kind, key, _ in self._undo if key is not None}

    def _follow(self) -> None:
        """Apply the changes of other processes; reload the cached values if changes moved to the table."""
        ((placed,),) = self._run("SELECT placed FROM head")
        if placed != self._placed:
            self._last = self._placed = placed
            self._unplaced, self._recent, self._kinds = {}, {}, {}
            self._kinds = {kind: dict(self._scan(kind)) for kind in _WHOLE}
        for n, data in self._run("SELECT n, data FROM log WHERE n > ? ORDER BY n", (self._last,)):
            self._last = n
            for kind, key, value in self._read(data, orjson.loads) or ():
                self._unplaced[kind, key] = self._kinds.setdefault(kind, {})[key] = value
                if value is None and kind in _WHOLE:
                    del self._kinds[kind][key]

    def _place(self) -> None:
        """Move the changes of this transaction and of those in the log to the table."""
        self._wrote = True
        values = self._unplaced | self._changed()
        self._last += 1
        self._placed = self._last
        put, delete = [], []
        for o, (at, value) in enumerate(
            values.items(), self._last << 32
        ):  # in the order in which they were first stored
            number = self._number(at[0])
            if value is None:
                delete.append((number, at[1]))
            else:
                put.append((number, o, at[1], _packed(value)))
            self._remember(at, value)
        self._file.run_many(_PUT, put)
        self._file.run_many(_DELETE, delete)
        self._run("DELETE FROM log")
        self._run("UPDATE head SET placed = ?", (self._placed,))
        self._unplaced = {}
        self._replaced = self._replaced or self._in_world()
        self._undo.clear()  # if the transaction fails, everything is read again
        self._kinds = {kind: held for kind, held in self._kinds.items() if kind in _WHOLE}

    def _number(self, kind: str) -> int:
        """Return the number of a kind; a transaction that writes assigns one."""
        number = self._numbers.get(kind)
        if number is None:
            if self._wrote:
                self._run("INSERT OR IGNORE INTO kind(name) VALUES (?)", (kind,))
            row = self._run("SELECT number FROM kind WHERE name = ?", (kind,))
            if not row:
                return -1
            if len(self._numbers) > self._max_recent:
                self._numbers = {}
            number = self._numbers[kind] = row[0][0]
        return number

    # values

    def _remember(self, at: tuple[str, str], value: object) -> None:
        if len(self._recent) >= self._max_recent:
            self._recent = {}
        self._recent[at] = value

    def _read(self, data: bytes, load: Callable[[bytes], Any]) -> Any:
        """Return the value of a row; None, with a warning, if it is damaged."""
        if data == _summed(data[4:]):
            return load(data[4:])
        advise(f"{self._file.path}: a damaged record is set aside; the others can be read")
        return None

    def get(self, kind: str, key: str) -> Any:
        """Return a value, or None.

        Raises:
            UnusableFile: The value is damaged.
        """
        values = self._kinds.get(kind)
        if values is not None and key in values:
            return values[key]
        if kind in _WHOLE:
            return None
        at = kind, key
        with self._lock:  # so that the cache gets no newer value meanwhile
            if at not in self._recent:
                query = "SELECT data FROM value WHERE kind = ? AND id = ?"
                rows = self._run(query, (self._number(kind), key))
                value = self._read(rows[0][0], _unpacked) if rows else None
                if rows and value is None:
                    raise UnusableFile(f"{self._file.path}: {kind} {key} is damaged")
                self._remember(at, value)
            return self._recent[at]

    def items(self, kind: str, *, newest: bool = False) -> Iterator[tuple[str, Any]]:
        """Iterate over the ids and values of a kind, in insertion order or newest first.

        A damaged value is skipped with a warning.
        """
        return super().items(kind, newest=newest) if kind in _WHOLE else self._scan(kind, newest=newest)

    def _scan(self, kind: str, *, newest: bool = False) -> Iterator[tuple[str, Any]]:
        with self._lock:
            held = dict(self._kinds.get(kind, {}))
            placed = self._placed_of(kind, held)
        added = [(key, value) for key, value in held.items() if key not in placed and value is not None]
        if newest:
            yield from reversed(added)
        end, order, sign = (2**63 - 1, "DESC", "<") if newest else (0, "ASC", ">")
        query = f"SELECT o, id, data FROM value WHERE kind = ? AND o {sign} ? ORDER BY o {order} LIMIT ?"
        limit = 50
        while True:  # in batches, so that no statement stays open
            rows = self._run(query, (self._number(kind), end, limit))
            for _, key, data in rows:
                if key not in held:
                    value = self._read(data, _unpacked)
                else:
                    value = held[key] if key in placed else None
                if value is not None:
                    yield key, value
            if len(rows) < limit:
                break
            end, limit = rows[-1][0], min(2 * limit, 1_000)
        if not newest:
            yield from added

    def _placed_of(self, kind: str, ids: Iterable[str]) -> set[str]:
        """Return the ids stored in the value table."""
        query = "SELECT id FROM value WHERE kind = ? AND id IN (SELECT value FROM json_each(?))"
        values = self._number(kind), orjson.dumps(list(ids)).decode()
        return {key for (key,) in self._run(query, values)} if ids else set()

    def until(self, kind: str, key: str, limit: int = 1_000) -> list[tuple[str, Any]]:
        """Return the first ids and values of a kind with ids up to `key`, in order."""
        with self._lock:
            held = dict(self._kinds.get(kind, {}))
        query = "SELECT id FROM value WHERE kind = ? AND id <= ? ORDER BY id LIMIT ?"
        keys = {row_key for (row_key,) in self._run(query, (self._number(kind), key, limit + len(held)))} - held.keys()
        keys |= {held_key for held_key, value in held.items() if held_key <= key and value is not None}
        return [(found_key, self.get(kind, found_key)) for found_key in sorted(keys)[:limit]]

    def count(self, kind: str) -> int:
        """Return the number of values of a kind."""
        if kind in _WHOLE:
            return super().count(kind)
        with self._lock:
            held = dict(self._kinds.get(kind, {}))
            placed = self._placed_of(kind, held)
        total = self._run("SELECT count(*) FROM value WHERE kind = ?", (self._number(kind),))[0][0]
        return int(total) - len(placed) + sum(value is not None for value in held.values())

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that have or had values."""
        return tuple(
            dict.fromkeys([*(kind for (kind,) in self._run("SELECT name FROM kind ORDER BY number")), *self._kinds])
        )

    def delete(self, kind: str, key: str) -> None:
        """Delete a value."""
        super().delete(kind, key) if kind in _WHOLE else self.put(kind, key, None)

    def fill(self, kind: str, values: Mapping[str, Any]) -> None:
        """Replace all values of a kind."""
        self._clear(kind)
        for key, value in values.items():
            self.put(kind, key, value)
            if len(self._undo) > self._max_unplaced and len(self._begun) == 1:
                self._place()

    def copy_kind(self, kind: str, to: str) -> None:
        """Replace all values of a kind with those of another kind."""
        self._clear(to)
        if len(self._begun) > 1:  # which may fail alone
            for key, value in self.items(kind):
                self.put(to, key, value)
            return
        query = "INSERT INTO value SELECT ?, o, id, data FROM value WHERE kind = ?"
        self._run(query, (self._number(to), self._number(kind)))
        if to in _WHOLE:
            self._kinds[to] = dict(self._scan(to))

    def _clear(self, kind: str) -> None:
        """Delete all values of a kind."""
        if len(self._begun) > 1:
            for key, _ in tuple(self.items(kind)):
                self.delete(kind, key)
            return
        self._place()
        self._replaced = self._replaced or in_world(kind)
        self._run("DELETE FROM value WHERE kind = ?", (self._number(kind),))
        self._kinds.pop(kind, None)
        self._recent = {}

    def keep_requests(self, entries: Iterable[Any], most: int) -> None:
        """Store requests in the log, and delete the oldest beyond a maximum number."""
        with self:
            self._wrote = True
            self._file.run_many("INSERT INTO request(data) VALUES (?)", [(orjson.dumps(entry),) for entry in entries])
            self._run("DELETE FROM request WHERE n <= (SELECT max(n) FROM request) - ?", (most,))

    def remove_requests(self) -> None:
        """Delete the log of requests."""
        with self:
            self._wrote = True
            self._run("DELETE FROM request")

    def requests(self) -> list[Any]:
        """Return the logged requests, oldest first."""
        return [orjson.loads(data) for (data,) in self._run("SELECT data FROM request ORDER BY n")]


def _packed(value: object) -> bytes:
    compress = _COMPRESSION.copy()
    return _summed(compress.compress(orjson.dumps(value)) + compress.flush())


def _unpacked(data: bytes) -> Any:
    return orjson.loads(zlib.decompressobj(_WINDOW, _TYPICAL).decompress(data))


def _summed(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "big") + data
