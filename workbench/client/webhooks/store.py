"""Store of an inbox, with each event once, conflicting deliveries, and the position of each handler."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs

from workbench.base.errors import InvalidWebhook, Problem
from workbench.base.frozen import frozen
from workbench.base.system.database import Database
from workbench.base.system.forks import INHERITING
from workbench.client.webhooks.verify import read_delivery, state_digest
from workbench.service.interface.events import AnyEvent

APPLICATION = 0x57424958  # "WBIX"
SCHEMA = """
CREATE TABLE events(
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  about TEXT,
  happened TEXT,
  arrived TEXT NOT NULL,
  verified INTEGER NOT NULL,
  digest BLOB NOT NULL,
  state BLOB NOT NULL,
  repeat_of TEXT,
  times INTEGER NOT NULL DEFAULT 1,
  body BLOB NOT NULL
);
CREATE INDEX events_of ON events(about, kind);
CREATE INDEX events_by_kind ON events(kind);
CREATE TABLE conflicts(
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  arrived TEXT NOT NULL,
  verified INTEGER NOT NULL,
  digest BLOB NOT NULL,
  body BLOB NOT NULL,
  UNIQUE(id, digest)
);
CREATE TABLE unreadable(
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  arrived TEXT NOT NULL,
  reason TEXT NOT NULL,
  times INTEGER NOT NULL DEFAULT 1,
  body BLOB NOT NULL
);
CREATE TABLE forgotten(id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE effects(
  handler TEXT NOT NULL,
  sequence INTEGER NOT NULL REFERENCES events ON DELETE CASCADE,
  state TEXT NOT NULL,
  tries INTEGER NOT NULL,
  due REAL NOT NULL,
  error TEXT,
  PRIMARY KEY(handler, sequence)
) WITHOUT ROWID;
CREATE INDEX effects_of ON effects(sequence);
CREATE INDEX effects_waiting ON effects(handler, state, sequence);
CREATE TABLE handlers(name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID
"""
MAX_PARSED = 4 * 2**20  # maximum total bytes of bodies whose records are cached: about 11,000 events in 13 MB
_TABLES = ("events", "conflicts", "unreadable")
_COLUMNS = "sequence, arrived, verified, times, repeat_of, body, id IN (SELECT id FROM conflicts)"


@frozen(kw_only=True)
class StoredEvent:
    """An event as the inbox stores it."""

    sequence: int  # 1, 2, 3 … in order of arrival
    event: AnyEvent
    raw: bytes = attrs.field(repr=False)  # the bytes as they arrived
    arrived: datetime
    verified: bool
    times: int  # number of deliveries of the same bytes
    repeat_of: str | None  # id of an earlier event that reported the same state of the same resource
    conflicting: bool  # whether a delivery with the same id had other bytes


@frozen(kw_only=True)
class ConflictingDelivery:
    """A delivery with the id of a stored event but other bytes; the first delivery remains the event."""

    id: str
    arrived: datetime
    verified: bool
    event: AnyEvent
    raw: bytes = attrs.field(repr=False)


@frozen(kw_only=True)
class UnreadableDelivery:
    """A correctly signed delivery that could not be read as an event, stored as it arrived."""

    sequence: int  # 1, 2, 3 … in order of arrival
    arrived: datetime
    reason: str
    raw: bytes = attrs.field(repr=False)
    times: int  # number of deliveries of the same bytes


@frozen(kw_only=True)
class Receipt:
    """The result of an accepted delivery: its event, and whether the event is verified, repeated or in conflict."""

    # event of this delivery, or None if it is unreadable; `inbox.stored(…)` returns the stored event
    event: AnyEvent | None
    verified: bool  # whether a key of the inbox verified the signature
    duplicate: bool  # whether the id was already stored
    conflict: bool = False  # whether the id was already stored with other bytes
    repeat_of: str | None = None  # id of an earlier event that reported the same state of the same resource
    sequence: int | None = None  # None if the event was purged earlier or is unreadable
    unreadable: str | None = None  # reason why a signed delivery could not be read; see `inbox.unreadable()`


def marked(event: AnyEvent, verified: bool) -> AnyEvent:
    """Mark an event that was accepted without a signature. Return the event."""
    if not verified:
        unsigned = Problem("", "unsigned", "was accepted without a signature; anyone may have sent it")
        object.__setattr__(event, "marks", (*event.marks, unsigned))
    return event


class ParsedEvents:
    """Cache of a store's newest events as parsed records. The total size of their bodies is limited."""

    def __init__(self) -> None:
        self._events: dict[int, AnyEvent] = {}  # by sequence number, oldest first
        self._sizes: dict[int, int] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._events)

    def get(self, sequence: int, body: bytes, verified: bool) -> AnyEvent:
        """Return the event of a body, parsed if it is not in the cache."""
        known = self.known(sequence)
        return known or self.put(sequence, body, marked(read_delivery(body, len(body)), verified))

    def known(self, sequence: int) -> AnyEvent | None:
        """Return an event that is in the cache, or None."""
        return self._events.get(sequence)

    def put(self, sequence: int, body: bytes, event: AnyEvent) -> AnyEvent:
        """Add an event to the cache, unless it is older than all cached events and the cache is full; return it."""
        with INHERITING:
            if sequence in self._events or (
                self._size + len(body) > MAX_PARSED and sequence < next(iter(self._events), 0)
            ):
                return self._events.get(sequence, event)
            self._events[sequence], self._sizes[sequence] = event, len(body)
            self._size += len(body)
            while self._size > MAX_PARSED:
                oldest = next(iter(self._events))
                del self._events[oldest]
                self._size -= self._sizes.pop(oldest)
        return event

    def clear(self) -> None:
        """Empty the cache."""
        with INHERITING:
            self._events, self._sizes, self._size = {}, {}, 0


class EventStore:
    """Event store of one inbox, in a file or in memory."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        checked = ["events", "conflicts", "unreadable"]
        self.file = Database(path, application=APPLICATION, schema=SCHEMA, checked=checked, version=4)
        self.parsed = ParsedEvents()

    def keep(self, event: AnyEvent, raw: bytes, verified: bool, arrived: datetime) -> Receipt:
        """Store a delivery. Each event is stored only once."""
        digest = hashlib.sha256(raw).digest()
        at = arrived.astimezone(UTC).isoformat()
        receipt = Receipt(event=event, verified=verified, duplicate=True)
        with self.file.write() as db:
            stored = db.execute("SELECT sequence, digest, repeat_of FROM events WHERE id = ?", (event.id,)).fetchone()
            if stored is not None:
                sequence, first, repeat_of = stored
                if first == digest:
                    db.execute(
                        "UPDATE events SET times = times + 1, verified = max(verified, ?) WHERE sequence = ?",
                        (verified, sequence),
                    )
                else:
                    db.execute(
                        "INSERT OR IGNORE INTO conflicts(id, arrived, verified, digest, body) VALUES (?, ?, ?, ?, ?)",
                        (event.id, at, verified, digest, raw),
                    )
                return attrs.evolve(receipt, conflict=first != digest, repeat_of=repeat_of, sequence=sequence)
            if db.execute("SELECT 1 FROM forgotten WHERE id = ?", (event.id,)).fetchone():
                return receipt
            body, reported = event.body, state_digest(event)
            about = body.get("id") if isinstance(body, Mapping) else getattr(body, "id", None)
            about = None if about is None else str(about)
            happened = event.event_received_at.isoformat() if isinstance(event.event_received_at, datetime) else None
            repeat_of = self._repeated(db, about, event.kind, reported, happened)
            sequence = db.execute(
                "INSERT INTO events(id, kind, about, happened, arrived, verified, digest, state, repeat_of, body)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (event.id, event.kind, about, happened, at, verified, digest, reported, repeat_of, raw),
            ).lastrowid
        if sequence is not None:
            self.parsed.put(sequence, raw, marked(event, verified))
        return attrs.evolve(receipt, duplicate=False, repeat_of=repeat_of, sequence=sequence)

    def keep_unreadable(self, raw: bytes, reason: str, arrived: datetime) -> Receipt:
        """Store a signed delivery that could not be read. Deliveries of the same bytes are stored once."""
        digest = hashlib.sha256(raw).hexdigest()
        with self.file.write() as db:
            is_known = db.execute("UPDATE unreadable SET times = times + 1 WHERE id = ?", (digest,)).rowcount > 0
            is_known = is_known or db.execute("SELECT 1 FROM forgotten WHERE id = ?", (digest,)).fetchone() is not None
            if not is_known:
                row = digest, arrived.astimezone(UTC).isoformat(), reason, raw
                db.execute("INSERT INTO unreadable(id, arrived, reason, body) VALUES (?, ?, ?, ?)", row)
        return Receipt(event=None, verified=True, duplicate=is_known, unreadable=reason)

    def unreadable(self, after: int = 0) -> list[UnreadableDelivery]:
        """Return the signed deliveries that could not be read, in order of arrival."""
        query = (
            "SELECT sequence, arrived, reason, body, times FROM unreadable "
            f"WHERE sequence > ? AND {self.file.undamaged('unreadable')} ORDER BY sequence"
        )
        return [
            UnreadableDelivery(
                sequence=sequence, arrived=datetime.fromisoformat(arrived), reason=reason, raw=body, times=times
            )
            for sequence, arrived, reason, body, times in self.file.run(query, (after,))
        ]

    def read_again(self) -> int:
        """Store the events of unreadable deliveries that this version can read; return their number."""
        read = 0
        for delivery in self.unreadable():
            try:
                event = read_delivery(delivery.raw, len(delivery.raw))
            except InvalidWebhook:
                continue
            self.keep(event, delivery.raw, True, delivery.arrived)
            self.file.run("DELETE FROM unreadable WHERE sequence = ?", (delivery.sequence,))
            read += 1
        return read

    @staticmethod
    def _repeated(db: Any, about: str | None, kind: str, reported: bytes, happened: str | None) -> str | None:
        """Return the id of the stored event that a delivery repeats, or None.

        assumed: event_repeats. The envelope id may differ between retries. So a delivery also repeats the latest event
        of this kind about the resource if their states are equal. A state may recur, so the delivery repeats an older
        event only if their times are equal, too.
        """
        row = db.execute(
            "SELECT id FROM events WHERE about = :about AND kind = :kind AND state = :state"
            " AND (happened = :happened OR sequence = (SELECT max(sequence) FROM events WHERE about = :about AND "
            "kind = :kind))"
            " ORDER BY sequence DESC LIMIT 1",
            {"about": about, "kind": kind, "state": reported, "happened": happened},
        ).fetchone()
        return row[0] if row else None

    def events(
        self,
        kind: str | None = None,
        after: int = 0,
        since: datetime | None = None,
        about: str | None = None,
    ) -> list[StoredEvent]:
        """Return the stored events, in order of arrival."""
        tests, values = ["sequence > ?", self.file.undamaged("events")], [after]  # type: tuple[list[str], list[Any]]
        for column, value in (("kind", kind), ("about", about)):
            if value is not None:
                tests.append(f"{column} {'GLOB' if column == 'kind' and '*' in value else '='} ?")
                values.append(value)
        if since is not None:
            tests.append("arrived >= ?")
            values.append(since.astimezone(UTC).isoformat())
        query = f"SELECT {_COLUMNS} FROM events WHERE {' AND '.join(tests)} ORDER BY sequence"
        return [
            StoredEvent(
                sequence=sequence,
                event=self.parsed.get(sequence, body, bool(verified)),
                raw=body,
                arrived=datetime.fromisoformat(arrived),
                verified=bool(verified),
                times=times,
                repeat_of=repeat_of,
                conflicting=bool(conflicting),
            )
            for sequence, arrived, verified, times, repeat_of, body, conflicting in self.file.run(query, values)
        ]

    def event(self, sequence: int) -> AnyEvent | None:
        """Return an event from the cache or the database, or None if the event was purged."""
        if (known := self.parsed.known(sequence)) is not None:
            return known
        rows = self.file.run("SELECT body, verified FROM events WHERE sequence = ?", (sequence,))
        return self.parsed.get(sequence, rows[0][0], bool(rows[0][1])) if rows else None

    def conflicts(self, event_id: str | None = None) -> list[ConflictingDelivery]:
        """Return deliveries with a known id but different bytes."""
        rows = self.file.run(
            "SELECT id, arrived, verified, body FROM conflicts WHERE ? IN (id, '') "
            f"AND {self.file.undamaged('conflicts')} ORDER BY sequence",
            (event_id or "",),
        )
        return [
            ConflictingDelivery(
                id=event_id,
                arrived=datetime.fromisoformat(arrived),
                verified=bool(verified),
                event=read_delivery(body, len(body)),
                raw=body,
            )
            for event_id, arrived, verified, body in rows
        ]

    def count(self) -> int:
        """Return the number of events."""
        return int(self.file.run("SELECT count(*) FROM events")[0][0])

    def last(self) -> int:
        """Return the sequence number of the newest event."""
        return int(self.file.run("SELECT coalesce(max(sequence), 0) FROM events")[0][0])

    def purge_old(self, now: datetime, keep_for: timedelta) -> int:
        """Delete events that are older than `keep_for`, both by this machine's clock and by event time.

        Event time is relative to the newest event, so a clock that is ahead does not purge events. An event without a
        time takes the time of its predecessor or successor; if no event has a time, arrival counts.
        """
        arrived = (now - keep_for).astimezone(UTC).isoformat()
        tests: list[tuple[str, str, tuple[Any, ...]]] = [("unreadable", "arrived < ?", (arrived,))]
        timed = bool(self.file.run("SELECT 1 FROM events WHERE happened IS NOT NULL LIMIT 1"))
        column = "happened" if timed else "arrived"
        newest = self.file.run(f"SELECT {column} FROM events WHERE {column} IS NOT NULL ORDER BY sequence DESC LIMIT 1")
        if not newest:
            return self._delete(tests)
        own = (datetime.fromisoformat(newest[0][0]) - keep_for).isoformat()
        near = f"SELECT {column} FROM events AS near WHERE {column} IS NOT NULL AND near.sequence"
        before = f"({near} <= events.sequence ORDER BY near.sequence DESC LIMIT 1)"
        after = f"({near} > events.sequence ORDER BY near.sequence LIMIT 1)"
        tests.append(("events", f"arrived < ? AND coalesce({before}, {after}) < ?", (arrived, own)))
        return self._delete(tests)

    def purge(self, naming: Sequence[str], before: datetime | None) -> int:
        """Delete events that contain an id or arrived before a time, and erase their bytes from the file.

        The envelope ids remain, so that a redelivery does not count as a new event.
        """
        tests: list[tuple[str, Any]] = [("instr(body, ?)", name.encode()) for name in naming]
        if before is not None:
            tests.append(("arrived < ?", before.astimezone(UTC).isoformat()))
        return self._delete([(table, test, (value,)) for table in _TABLES for test, value in tests])

    def _delete(self, tests: Sequence[tuple[str, str, tuple[Any, ...]]]) -> int:
        with self.file.write() as db:
            doomed = {
                row
                for table, test, values in tests
                for row in db.execute(f"SELECT id FROM {table} WHERE {test}", values)
            }
            db.executemany("INSERT OR IGNORE INTO forgotten(id) VALUES (?)", doomed)
            for table in _TABLES:
                db.executemany(f"DELETE FROM {table} WHERE id = ?", doomed)
        if doomed:
            self.parsed.clear()
            self.file.forget_deleted()
        return len(doomed)
