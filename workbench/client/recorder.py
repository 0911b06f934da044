"""Where calls with an effect are recorded: one SQLite database, in memory or in a file for its owner only.

A call is on disk before anything is sent. Requests and answers are kept masked; of a body only a keyed hash is kept.
"""

import hashlib
import hmac
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakValueDictionary

import attrs

from workbench.client.effects import Entry, Note, Outcome, Resolution
from workbench.client.keys import installation_secret
from workbench.client.pace import Clock
from workbench.errors import CannotRecord, InvalidRequest, UnusableFile
from workbench.interface.masks import masked
from workbench.interface.operation import Operation
from workbench.interface.walk import is_record
from workbench.storage import Database, check_place

APPLICATION = 0x43495257  # "CIRW"
SAME_WITHIN = timedelta(days=1)
_SCHEMA = """
CREATE TABLE calls (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, operation TEXT NOT NULL, what TEXT NOT NULL,
  environment TEXT NOT NULL, started TEXT NOT NULL, ending TEXT NOT NULL, ended TEXT, status INTEGER, error TEXT,
  request TEXT NOT NULL, answer TEXT, digest TEXT NOT NULL, process TEXT NOT NULL, resend_of TEXT, said TEXT
) STRICT;
CREATE INDEX calls_digest ON calls (digest, started);
CREATE TABLE notes (number INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL) STRICT
"""
_COLUMNS = (
    "id, operation, what, environment, started, ending, ended, status, error, request, answer, digest, process, "
    "resend_of, said"
)
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


class Call(Protocol):
    """A call that is being recorded. Once it is over, without a recorded outcome, its outcome is unknown."""

    active: bool


class Recorder:
    """Records calls for the client, and reads them for the journal. The database is opened at its first use."""

    def __init__(self, path: str | os.PathLike[str] | None, clock: Clock) -> None:
        self.place = "memory" if path is None else str(path)
        self.clock = clock
        self.send_again: Callable[[Any, str], Any] | None = None
        """Set by the client: send a request again, as the resend of an entry."""
        self.events: Callable[[], Iterable[Any]] | None = None
        """Set by the session: the events received, as evidence."""
        self.skew: Callable[[], float | None] | None = None
        """Set by the client: seconds that our clock is ahead of the service's, in whose time events are."""
        self._path = None if path is None else Path(path)
        self._random = os.urandom(32)
        self._database: Database | None = None
        self._pid = 0
        self._process = ""
        self._opening = threading.Lock()
        self._calls: WeakValueDictionary[str, Call] = WeakValueDictionary()

        if self._path is not None:
            if self._path.exists():
                self._opened()
            else:  # a journal that nothing is written to leaves no file
                check_place(self._path)

    def _here(self) -> str:
        """Return the name of this process in its entries; a lock of that name tells others that it runs.

        After a fork nothing in flight is ours.
        """
        if self._pid != os.getpid():
            self._opening, self._calls = threading.Lock(), WeakValueDictionary()
            self._process, self._pid = os.urandom(8).hex(), os.getpid()
        return self._process

    def _opened(self) -> Database:
        self._here()
        with self._opening:
            if self._database is None:
                self._database = Database(
                    self._path, application=APPLICATION, schema=_SCHEMA, checked=["calls", "notes"]
                )
                self._database.remove_ended_leases()
            return self._database

    def _write(self, statement: str, values: tuple[Any, ...]) -> None:
        try:
            self._opened().run(statement, values)
        except _FAILURES as error:
            raise CannotRecord(f"The journal cannot be written, so nothing is sent: {_reason(error)}") from None

    def _rows(self, table: str, columns: str, test: str = "1", values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the undamaged rows that pass a test, in the order in which they were written."""
        if self._path is not None and self._database is None and not self._path.exists():
            return []
        try:
            file = self._opened()
            whole = file.undamaged(table)
            return file.run(f"SELECT {columns} FROM {table} WHERE {test} AND {whole} ORDER BY number", values)  # noqa: S608 - our own names
        except _FAILURES as error:
            raise CannotRecord(f"The journal cannot be read: {_reason(error)}") from None

    def damaged(self) -> tuple[int, ...]:
        """Return the numbers of the calls whose record is damaged or missing."""
        return () if self._path is None or not self._path.exists() else tuple(self._opened().damaged("calls"))

    # for the client

    def digest(self, operation: Operation[..., Any], body: bytes) -> str:
        """Return the keyed hash of what is sent; the key keeps values from being found by hashing."""
        secret = self._random if self._path is None else installation_secret()
        return hmac.new(secret, operation.name.encode() + b"\0" + body, hashlib.sha256).hexdigest()

    def begin(self, entry: Entry, request: Any, call: Call) -> None:
        """Record a call before it leaves.

        Raises:
            CannotRecord: It cannot be recorded, so it must not leave.
        """
        self._hold_lease()
        row = (
            entry.id, entry.operation, entry.what, entry.environment, _stored(entry.started), entry.outcome.value, None,
            None, None, _json(_masked(request) or {}), None, entry.digest, self._here(), entry.resend_of, None,
        )  # fmt: skip
        self._calls[entry.id] = call
        self._write(f"INSERT INTO calls ({_COLUMNS}) VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - our own names

    def _hold_lease(self) -> None:
        """Hold the lock that tells other processes that calls of this one may be in flight."""
        try:
            database = self._opened()
            with self._opening:
                if not database.lease(self._process):
                    raise UnusableFile(f"the lock of {self.place} cannot be taken")
        except _FAILURES as error:
            raise CannotRecord(f"The journal cannot be written, so nothing is sent: {_reason(error)}") from None

    def finish(
        self, attempt: str, outcome: Outcome, *, status: int | None = None, answer: Any = None, error: str | None = None
    ) -> None:
        """Record the outcome of a call.

        Raises:
            CannotRecord: It cannot be recorded; the entry then counts as unknown.
        """
        kept = _masked(answer)
        self._write(
            "UPDATE calls SET ending = ?, ended = ?, status = ?, answer = ?, error = ? WHERE id = ? AND ending = 'sending'",
            (outcome.value, _stored(self.clock.now()), status, None if kept is None else _json(kept), error, attempt),
        )

    def earlier(self, digest: str) -> Entry | None:
        """Return the newest entry with the same body within a day that may have had its effect."""
        test = "digest = ? AND started > ? AND coalesce(json_extract(said, '$.end'), ending) NOT IN ('refused', 'not_sent')"
        found = self.entries(test, (digest, _stored(self.clock.now() - SAME_WITHIN)))
        return found[-1] if found else None

    def check_same(self, attempt: str, operation: str, request: Any, digest: str) -> None:
        """Refuse a request that is not the one of an entry.

        Raises:
            InvalidRequest: It is another one.
        """
        entry = self.entry(attempt)
        same = (
            digest == entry.digest if digest and entry.digest else json.loads(_json(_masked(request))) == entry.request
        )
        if entry.operation != operation or not same:
            raise InvalidRequest(f"entry {attempt} is another request: {entry.what}", of="journal.resend")

    def resolve(self, attempt: str, outcome: Outcome, note: str, by: str) -> None:
        """Record how a call with an unknown outcome ended, and who said so."""
        said = {"end": outcome.value, "note": note, "by": by, "at": _stored(self.clock.now())}
        self._write("UPDATE calls SET ending = 'unknown', said = ? WHERE id = ?", (_json(said), attempt))

    def note(self, kind: str, text: str) -> None:
        """Record something about the client itself."""
        now = _stored(self.clock.now())
        self._write("INSERT INTO notes (at, kind, text) VALUES (?, ?, ?)", (now, kind, text))

    # for the journal

    def entries(self, test: str = "1", values: tuple[Any, ...] = ()) -> list[Entry]:
        """Return entries, oldest first. One in flight whose process is gone, or lost track of it, is unknown."""
        here = self._here()
        found = [_entry(row) for row in self._rows("calls", _COLUMNS, test, values)]
        return [self._lost(entry, here) if entry.outcome is Outcome.SENDING else entry for entry in found]

    def _lost(self, entry: Entry, here: str) -> Entry:
        call = self._calls.get(entry.id)
        if (call is not None and call.active) or (entry.process != here and self._opened().is_leased(entry.process)):
            return entry
        return attrs.evolve(entry, outcome=Outcome.UNKNOWN, error=entry.error or "its outcome was not recorded")

    def entry(self, attempt: str) -> Entry:
        """Return one entry.

        Raises:
            KeyError: There is none of that id.
        """
        found = self.entries("id = ?", (attempt,))
        if not found:
            raise KeyError(f"the journal has no entry {attempt!r}")
        return found[0]

    def unresolved(self) -> list[Entry]:
        """Return the entries with an unknown outcome that nobody has resolved."""
        found = self.entries("ending IN ('sending', 'unknown') AND said IS NULL")
        return [entry for entry in found if entry.is_unknown]

    def count(self) -> int:
        """Return how many entries there are."""
        return len(self._rows("calls", "number"))

    def notes(self) -> list[Note]:
        """Return all notes."""
        rows = self._rows("notes", "at, kind, text")
        return [Note(at=datetime.fromisoformat(at), kind=kind, text=text) for at, kind, text in rows]

    def close(self) -> None:
        """Close the file; the next use opens it again. What is in memory stays."""
        if self._database is not None and self._path is not None:
            self._database.end_lease(self._process, forever=True)
            self._database.close()
            self._database = None


_FAILURES = (UnusableFile, sqlite3.Error, OSError)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, UnusableFile) else type(error).__name__


def _masked(value: Any) -> Any:
    """Return a request or an answer as it is shown and kept."""
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return masked(value) if is_record(value) else None


def _stored(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _entry(row: tuple[Any, ...]) -> Entry:
    kept: dict[str, Any] = dict(zip(_COLUMNS.split(", "), row, strict=True))
    said: Mapping[str, Any] | None = json.loads(kept.pop("said") or "null")
    outcome, ended, answer = Outcome(kept.pop("ending")), kept.pop("ended"), kept.pop("answer")
    return Entry(
        **kept | {"request": json.loads(kept["request"]), "started": datetime.fromisoformat(kept["started"])},
        outcome=outcome,
        ended=None if ended is None else datetime.fromisoformat(ended),
        answer=None if answer is None else json.loads(answer),
        resolution=None if said is None else Resolution(
            outcome=Outcome(said["end"]), note=said["note"], by=said["by"], at=datetime.fromisoformat(said["at"])
        ),
    )  # fmt: skip
