"""The state of a sandbox: JSON values by kind and id, changed in transactions, in memory or in a file.

A stored value is never changed in place; whoever changes a record puts a new one. A copy of the store is therefore a copy of
its outer dictionaries.

A file has a log with the values that each transaction put, in compressed rows with checksums, and the place in the log of each
value. Values are read when they are asked for, and those used last stay in memory, so that neither the memory nor the time of
a restart grows with the history. Places are written for some hundred transactions at once. Several processes may share the file.
A commit survives a killed process; it does not wait for the disk, since the people and the money of a sandbox are made up.
"""

import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any

import orjson

from workbench.errors import FileBusy, UnusableFile, advise
from workbench.storage import Database, uninterrupted

APPLICATION = 0x57425358  # "WBSX"
SCHEMA = """CREATE TABLE log(n INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE kind(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE place(o INTEGER PRIMARY KEY, kind INTEGER NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, UNIQUE(kind, id));
CREATE INDEX in_order ON place(kind);
CREATE TABLE event(o INTEGER PRIMARY KEY, at INTEGER NOT NULL);
CREATE TABLE request(n INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE head(placed INTEGER NOT NULL, epoch INTEGER NOT NULL);
INSERT INTO head VALUES (0, 1)"""
APART = frozenset({"snapshot", "endpoint", "delivery", "waiting", "held", "fault"})
"""Kinds that are not part of the world: a reset leaves them."""
_WHOLE = frozenset({"meta", "counter", "key", "tenant", "endpoint", "fault"})
"""Kinds with few values, which are in memory as a whole."""
_SLOTS = 16  # values in a row of the log; the place of a value is 16 times its row and its number there
_MAX_BEHIND = 10_000  # rows of other processes that are read one by one
_PUT = "INSERT INTO place(kind, id, at) VALUES (?, ?, ?) ON CONFLICT(kind, id) DO UPDATE SET at = excluded.at"
_UNREAD = object()
_REMEDY = "To start anew, delete it; `workbench sandbox reset` resets the sandbox that commands act on."
_TYPICAL = (
    b'"declined","posted_at":"reversed","cleared":"settled","type":"redeemed","status":"COMPLETED","points":{"id":"rwd_","type":'
    b'"earned","at":17684892,"points":,"posted":17684892,"minted":17684892,"merchant_name":"","transaction_amount_cents":,'
    b'"spend_category":"groceries"}{"id":"","tenant":"","user":"","status":"active","last4":"0001","limit":2500000,"available":24,'
    b'"held":0,"posted":0,"refunded":0,"expiration_month":"12","expiration_year":"2029"}{"id":"-4-a","tenant":"","card":"","user":"'
    b'","authorized_at":1768489200000,"settled":0,"refunded":0,"held":1,"currency":"USD","declined_reason":null,"posted_at":null,'
    b'"status":"authorized","authorized":1,"merchant_name":"Corner Grocery","merchant_category_code":"5411"}{"sequence":1,"kind":'
    b'"transaction.completed","request":"cause":"settle""kind":"transaction.requested","kind":"transaction.created","tenant":"",'
    b'"at":1768489200000,"request":1,"cause":"simulate_authorization","transaction":"","state":{"status":"authorized","held":1,'
    b'"settled":0,"posted_at":null}}'
)
"""Text of which values consist, for their compression: part of the format of the file."""
_WINDOW = -11  # 2 kB, enough for a value, and quickly set up
_COMPRESSION = zlib.compressobj(1, zlib.DEFLATED, _WINDOW, 4, zlib.Z_DEFAULT_STRATEGY, _TYPICAL)


def open_store(path: str | os.PathLike[str] | None) -> "Store":
    """Return the store of a file, or one in memory.

    Raises:
        UnusableFile: The file is not a sandbox's, is older or newer than this program, is damaged, or cannot be opened.
    """
    return Store() if path is None else FileStore(path)


def made_earlier(path: Path) -> dict[str, Any] | None:
    """Return what the world of a file of an earlier version was made with; None for another file."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            header = [file.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
            rows = file.execute("SELECT changes FROM log").fetchall() if header == [APPLICATION, 1] else []
    except sqlite3.Error:
        return None
    changes = (change for (row,) in rows for change in orjson.loads(row))
    return next((value for kind, key, value in changes if (kind, key) == ("meta", "made")), None)


def in_world(kind: str) -> bool:
    """Return whether a kind is part of the world."""
    return kind.partition("/")[0] not in APART


class Store:
    """Values by kind and id, in memory. A kind may have parts, as "reward/USER".

    `with store:` is one transaction; an exception undoes it, and an interrupt waits for its end. A nested transaction that fails is
    undone alone.
    """

    shared = False
    """Whether other processes may change the state."""
    version = 0
    """Another number after another process changed the state."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, Any]] = {}
        self._undo: list[tuple[str, str | None, Any]] = []  # kind, id and value before; all of a kind without an id
        self._lock = RLock()
        self._begun: list[int] = []  # for each open transaction, the length of the undo list when it began

    def lease(self, work: str) -> bool:
        """Return whether this process is the one that does some work; of several on one file, only one is."""
        return True

    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> "Store":
        self._enter(wait=True)
        return self

    @contextmanager
    def immediate(self) -> Iterator[bool]:
        """Enter a transaction unless another thread or process holds the state; yield whether it was entered."""
        with ExitStack() as stack:
            entered = self._enter(wait=False)
            if entered:
                stack.push(self)
            yield entered

    def _enter(self, *, wait: bool) -> bool:
        uninterrupted.__enter__()
        locked = entered = False
        try:
            locked = self._lock.acquire(blocking=wait)
            if locked:
                self._begin(wait=wait)
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
            self._end(keep=kind is None)
        finally:
            self._lock.release()
            uninterrupted.__exit__()

    def _begin(self, *, wait: bool) -> None:
        self._begun.append(len(self._undo))

    def _end(self, *, keep: bool) -> None:
        begun = self._begun.pop()
        if not keep:
            for kind, key, before in reversed(self._undo[begun:]):
                values, at = (self._kinds, kind) if key is None else (self._kinds[kind], key)
                if before is None:
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

    def items(self, kind: str, *, newest: bool = False) -> Iterator[tuple[str, Any]]:
        """Iterate over the ids and values of a kind, in the order they were first put, or the newest first."""
        found = tuple(self._kinds.get(kind, {}).items())
        return iter(found[::-1] if newest else found)

    def all(self, kind: str, *, newest: bool = False) -> Iterator[Any]:
        """Iterate over the values of a kind in the same order."""
        return (value for _, value in self.items(kind, newest=newest))

    def numbered(self, kind: str, after: int) -> Iterator[Any]:
        """Iterate over the values of a kind whose ids are the numbers of its counter, those after a number, in order."""
        last = self.get("counter", kind) or 0
        if last - after > self.count(kind):
            return (value for key, value in self.items(kind) if int(key) > after)
        return (value for number in range(after + 1, last + 1) if (value := self.get(kind, str(number))) is not None)

    def until(self, kind: str, key: str, limit: int = 1_000) -> list[tuple[str, Any]]:
        """Return the first ids and values of a kind, by their ids, which are at most `key`."""
        values = self._kinds.get(kind, {})
        return [(one, values[one]) for one in sorted(one for one in values if one <= key)[:limit]]

    def count(self, kind: str) -> int:
        """Return the number of values of a kind."""
        return len(self._kinds.get(kind, ()))

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that have values, or had some."""
        return tuple(self._kinds)

    def put(self, kind: str, key: str, value: Any) -> None:
        """Store a value; it must not be changed afterwards."""
        values = self._kinds.get(kind)
        if values is None:
            values = self._kinds[kind] = {}
        self._undo.append((kind, key, values.get(key)))
        values[key] = value

    def save(self, kind: str, record: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
        """Store a record under its id with some members changed, and return it."""
        changed = {**record, **changes}
        self.put(kind, changed["id"], changed)
        return changed

    def delete(self, kind: str, key: str) -> None:
        """Delete a value."""
        self._undo.append((kind, key, self._kinds[kind].pop(key)))

    def fill(self, kind: str, values: Mapping[str, Any]) -> None:
        """Replace all values of a kind."""
        self._undo.append((kind, None, self._kinds.pop(kind, None)))
        self._kinds[kind] = dict(values)

    def copy_kind(self, kind: str, to: str) -> None:
        """Replace all values of a kind by those of another one."""
        self.fill(to, self._kinds.get(kind, {}))

    def sweep(self) -> None:
        """Free the place in the file of what was deleted."""

    def next(self, counter: str) -> int:
        """Return the next number of a counter, from 1."""
        number: int = (self.get("counter", counter) or 0) + 1
        self.put("counter", counter, number)
        return number

    def copy(self) -> dict[str, dict[str, Any]]:
        """Return a copy of the contents; cheap in memory, since values are never changed in place."""
        with self._lock:
            return {kind: found for kind in self.kinds() if (found := dict(self.items(kind)))}


class FileStore(Store):
    """Values by kind and id, in a file.

    Args:
        recent: Values that stay in memory after they were used, at least; at most twice as many.
        unwritten: Places of values that are in memory alone, at most; at a start they are read from the log again.
    """

    shared = True

    def __init__(self, path: str | os.PathLike[str], *, recent: int = 8_192, unwritten: int = 1_000) -> None:
        super().__init__()
        self._max_recent, self._max_places = recent, unwritten
        self._file = Database(
            path, application=APPLICATION, schema=SCHEMA, version=2, oldest=2, remedy=_REMEDY, survives_power_loss=False
        )
        self._run = self._file.run
        self._saved: list[bool] = []  # for each open transaction, whether it has a savepoint
        self._new: dict[tuple[str, str], Any] = {}  # what was put and is not in the log yet; None where deleted
        self._wrote = False  # whether the transaction wrote into the file
        self._places: dict[tuple[str, str], int | None] = {}  # those that are not written yet; None where deleted
        self._last = self._epoch = 0  # row of the log, and number of the last change beside it, that are known here
        self._recent: dict[tuple[str, str], Any] = {}
        self._older: dict[tuple[str, str], Any] = {}
        self._numbers: dict[str, int] = {}  # of kinds
        self._rows: dict[int, list[Any]] = {}  # of the log, read last

    def lease(self, work: str) -> bool:
        """Return whether this process is the one that does some work; of several on one file, only one is."""
        return self._file.lease(work)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    # transactions

    def _begin(self, *, wait: bool) -> None:
        if self._begun:
            self._flush()
        else:
            self._file.begin(wait=wait)
            try:
                ((version,),) = self._run("PRAGMA data_version")
                if version != self.version:
                    self._follow()
                    self.version = version
            except BaseException:
                self._file.rollback()
                raise
        self._saved.append(False)
        super()._begin(wait=wait)

    def _end(self, *, keep: bool) -> None:
        saved, wrote = self._saved.pop(), self._wrote
        try:
            if self._saved:
                point = f"transaction{len(self._saved)}"
                wrote = saved
                if saved and not keep:
                    self._run(f"ROLLBACK TO {point}")
                if saved:
                    self._run(f"RELEASE {point}")
            else:
                self._wrote = False
                if keep and (wrote or self._new):
                    wrote = True
                    self._commit()
                else:
                    self._file.rollback()
        except BaseException:
            keep = False
            raise
        finally:
            super()._end(keep=keep)
            if not keep:
                self._new = {}
                if wrote:  # what is in memory may not be in the file
                    self._epoch = self.version = 0
                    with suppress(UnusableFile):  # the next transaction tries again
                        self._follow()

    def _commit(self) -> None:
        try:
            self._flush()
            if len(self._places) > self._max_places:
                self._write_places()
        except BaseException:
            self._file.rollback()
            raise
        finally:
            self._wrote = False
        self._file.commit()  # ends the transaction, whether it fails or not

    def _follow(self) -> None:
        """Learn what other processes did, or all that is held in memory anew."""
        ((placed, epoch),) = self._run("SELECT placed, epoch FROM head")
        if epoch != self._epoch or placed > self._last + _MAX_BEHIND:
            self._recent, self._older, self._numbers, self._rows, self._places = {}, {}, {}, {}, {}
            self._last, self._epoch = placed, epoch
            self._kinds = {kind: found for kind in _WHOLE if (found := dict(self._scan(kind)))}
        self._places = {key: at for key, at in self._places.items() if at is None or at // _SLOTS > placed}
        for n, data in self._run("SELECT n, data FROM log WHERE n > ? ORDER BY n", (self._last,)):
            for slot, (kind, key, value) in enumerate(self._values(n, data)):
                self._places[kind, key] = None if value is None else n * _SLOTS + slot
                if kind not in _WHOLE:
                    self._remember((kind, key), value)
                elif value is None:
                    self._kinds.get(kind, {}).pop(key, None)
                else:
                    self._kinds.setdefault(kind, {})[key] = value
            self._last = n

    def _flush(self) -> None:
        """Write what was put into the log."""
        if not self._new:
            return
        self._write()
        changes = [(*at, value) for at, value in self._new.items()]
        for start in range(0, len(changes), _SLOTS):
            part = changes[start : start + _SLOTS]
            compress = _COMPRESSION.copy()
            data = compress.compress(orjson.dumps(part)) + compress.flush()
            n = self._last + 1
            self._run("INSERT INTO log VALUES (?, ?)", (n, _checksum(n, data) + data))
            self._last = n
            at = n * _SLOTS
            for kind, key, value in part:
                self._places[kind, key] = None if value is None else at
                at += 1
        for one, value in self._new.items():
            if one[0] not in _WHOLE:
                self._remember(one, value)
        self._new = {}

    def _write(self) -> None:
        """Prepare for a change of the file in the innermost transaction."""
        self._wrote = True
        for level in range(1, len(self._saved)):
            if not self._saved[level]:
                self._run(f"SAVEPOINT transaction{level}")
                self._saved[level] = True

    def _write_places(self) -> None:
        """Write the places of values, so that they are found by queries."""
        self._flush()
        if not self._places:
            return
        self._write()
        places = [(self._number(kind), kind, key, at) for (kind, key), at in self._places.items()]
        many = self._file.run_many
        many("INSERT OR REPLACE INTO event VALUES (?, ?)", [row[2:] for row in places if row[1] == "event" and row[3]])
        many(_PUT, [(number, key, at) for number, kind, key, at in places if kind != "event" and at])
        many("DELETE FROM place WHERE kind = ? AND id = ?", [(row[0], row[2]) for row in places if row[3] is None])
        self._run("UPDATE head SET placed = ?", (self._last,))
        self._places = {}

    def _prepare(self) -> None:
        """Write the places, in a transaction; a query follows."""
        if self._new or self._places:
            with self:
                self._write_places()

    def _number(self, kind: str) -> int:
        """Return the number of a kind; it is given one in a transaction that writes."""
        number = self._numbers.get(kind)
        if number is None:
            if self._wrote:
                self._run("INSERT OR IGNORE INTO kind(name) VALUES (?)", (kind,))
            found = self._run("SELECT number FROM kind WHERE name = ?", (kind,))
            if not found:
                return -1
            if len(self._numbers) > self._max_recent:
                self._numbers = {}
            number = self._numbers[kind] = found[0][0]
        return number

    # values

    def _remember(self, at: tuple[str, str], value: Any) -> None:
        self._recent[at] = value
        if len(self._recent) >= self._max_recent:
            self._recent, self._older = {}, self._recent

    def get(self, kind: str, key: str) -> Any:
        """Return a value, or None.

        Raises:
            UnusableFile: The value is damaged.
        """
        if kind in _WHOLE:
            values = self._kinds.get(kind)
            return None if values is None else values.get(key)
        at = kind, key
        for known in (self._new, self._recent):
            value = known.get(at, _UNREAD)
            if value is not _UNREAD:
                return value
        with self._lock:  # so that no newer value is remembered meanwhile
            value = self._older[at] if at in self._older else self._read(kind, key)
            self._remember(at, value)
        return value

    def _read(self, kind: str, key: str) -> Any:
        at = self._places.get((kind, key))
        if at is None and (kind, key) not in self._places:
            table, column, of = _place(kind)
            query = f"SELECT at FROM {table} WHERE {of} AND {column} = ?"  # noqa: S608 - our own names
            at = next((at for (at,) in self._run(query, (self._number(kind), key))), None)
        return None if at is None else self._value(at, key)

    def _value(self, at: int, key: str, data: bytes | None = None) -> Any:
        """Return the value at a place; `data` is what its row holds, if it was read already."""
        n, slot = divmod(at, _SLOTS)
        if n not in self._rows:
            if data is None:
                data = next((data for (data,) in self._run("SELECT data FROM log WHERE n = ?", (n,))), b"")
            if len(self._rows) > _SLOTS:
                self._rows = {}
            self._rows[n] = self._values(n, data)
        values = self._rows[n]
        if slot >= len(values) or values[slot][1] != key:
            raise UnusableFile(f"{self._file.path}: record {n} is damaged")
        return values[slot][2]

    def _values(self, n: int, data: bytes) -> list[Any]:
        """Return the kind, id and value of each value in a row; none, with a warning, where it is damaged."""
        if data[:4] != _checksum(n, data[4:]):
            advise(f"{self._file.path}: a damaged record is set aside ({n}); the others can be read")
            return []
        found: list[Any] = orjson.loads(zlib.decompressobj(_WINDOW, _TYPICAL).decompress(data[4:]))
        return found

    def items(self, kind: str, *, newest: bool = False) -> Iterator[tuple[str, Any]]:
        """Iterate over the ids and values of a kind, in the order they were first put, or the newest first.

        A damaged value is left out, with a warning.
        """
        if kind in _WHOLE:
            return super().items(kind, newest=newest)
        self._prepare()
        return self._scan(kind, newest=newest)

    def _scan(self, kind: str, *, newest: bool = False, after: int = 0) -> Iterator[tuple[str, Any]]:
        table, column, of = _place(kind)
        end, order, sign = (2**62, "DESC", "<") if newest else (after, "ASC", ">")
        query = (
            f"SELECT o, {column}, at, data FROM {table} JOIN log ON n = at / {_SLOTS} "  # noqa: S608 - our own names
            f"WHERE {of} AND o {sign} ? ORDER BY o {order} LIMIT ?"
        )
        limit = 50
        while True:  # in parts, so that no statement is open meanwhile
            rows = self._run(query, (self._number(kind), end, limit))
            for _, key, at, data in rows:
                try:
                    with self._lock:
                        value = self._value(at, str(key), data)
                except UnusableFile:
                    continue
                yield str(key), value
            if len(rows) < limit:
                return
            end, limit = rows[-1][0], min(2 * limit, 1_000)

    def numbered(self, kind: str, after: int) -> Iterator[Any]:
        """Iterate over the values of a kind whose ids are the numbers of its counter, those after a number, in order."""
        assert kind == "event"
        if (kind, str(after + 1)) in self._places or after >= (self.get("counter", kind) or 0):
            return super().numbered(kind, after)  # so are all that follow
        self._prepare()
        return (value for _, value in self._scan(kind, after=after))

    def until(self, kind: str, key: str, limit: int = 1_000) -> list[tuple[str, Any]]:
        """Return the first ids and values of a kind, by their ids, which are at most `key`."""
        self._prepare()
        query = "SELECT id FROM place WHERE kind = ? AND id <= ? ORDER BY id LIMIT ?"
        return [(one, self.get(kind, one)) for (one,) in self._run(query, (self._number(kind), key, limit))]

    def count(self, kind: str) -> int:
        """Return the number of values of a kind."""
        if kind in _WHOLE:
            return super().count(kind)
        self._prepare()
        table, _, of = _place(kind)
        return int(self._run(f"SELECT count(*) FROM {table} WHERE {of}", (self._number(kind),))[0][0])  # noqa: S608

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that have values, or had some."""
        self._prepare()
        return tuple(name for (name,) in self._run("SELECT name FROM kind ORDER BY number"))

    def put(self, kind: str, key: str, value: Any) -> None:
        """Store a value; it must not be changed afterwards."""
        if kind in _WHOLE:
            super().put(kind, key, value)
        self._new[kind, key] = value
        if len(self._new) > self._max_places:
            self._write_places()

    def delete(self, kind: str, key: str) -> None:
        """Delete a value."""
        if kind in _WHOLE:
            super().delete(kind, key)
        self._new[kind, key] = None

    def fill(self, kind: str, values: Mapping[str, Any]) -> None:
        """Replace all values of a kind."""
        self._clear(kind)
        for key, value in values.items():
            self.put(kind, key, value)

    def copy_kind(self, kind: str, to: str) -> None:
        """Replace all values of a kind by those of another one."""
        self._clear(to)
        source, column, of = _place(kind)
        query = f"{column}, at FROM {source} WHERE {of} ORDER BY o"
        if to == "event":
            self._run(f"INSERT INTO event SELECT {query}", (self._number(kind),))
        else:
            values = (self._number(to), self._number(kind))
            self._run(f"INSERT INTO place(kind, id, at) SELECT ?, {query}", values)
        if to in _WHOLE:
            self._kinds[to] = dict(self._scan(to))

    def _clear(self, kind: str) -> None:
        """Delete all values of a kind, and let all processes read the file anew."""
        self._write_places()
        self._write()
        self._number(kind)
        self._recent, self._older = {}, {}
        table, _, of = _place(kind)
        self._run(f"DELETE FROM {table} WHERE {of}", (self._number(kind),))  # noqa: S608 - our own names
        self._run("UPDATE head SET epoch = epoch + 1")
        self._epoch += 1
        if kind in _WHOLE:
            super().fill(kind, {})

    def keep_requests(self, entries: Iterable[Any], most: int) -> None:
        """Keep what requests were, and of all at most a number; the oldest are deleted."""
        with self:
            self._write()
            self._file.run_many("INSERT INTO request(data) VALUES (?)", [(orjson.dumps(one),) for one in entries])
            self._run("DELETE FROM request WHERE n <= (SELECT max(n) FROM request) - ?", (most,))

    def requests(self) -> list[Any]:
        """Return what requests were, the oldest first."""
        return [orjson.loads(data) for (data,) in self._run("SELECT data FROM request ORDER BY n")]

    def sweep(self) -> None:
        """Delete what is in the log without a place."""
        self._write_places()
        self._run(
            f"DELETE FROM log WHERE n NOT IN (SELECT at / {_SLOTS} FROM place UNION SELECT at / {_SLOTS} FROM event)"  # noqa: S608
        )


def _place(kind: str) -> tuple[str, str, str]:
    """Return the table, the column of the ids and the condition of a kind."""
    return ("event", "o", "? IS NOT NULL") if kind == "event" else ("place", "id", "kind = ?")


def _checksum(n: int, data: bytes) -> bytes:
    return zlib.crc32(data, n).to_bytes(4, "big")
