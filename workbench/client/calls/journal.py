"""Journal of calls with an effect, recorded before they are sent, with their outcomes.

The journal is a SQLite database, in memory for an embedded sandbox and in an owner-only file for a real service. A call
is on disk before it is sent. Requests and answers are stored masked, and bodies only as keyed hashes.
"""

import hashlib
import hmac
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

import attrs
import orjson

from workbench.base.arguments import hide_arguments_of_methods
from workbench.base.errors import CannotRecord, InvalidRequest, UnusableFile, UsageError, not_allowed, visible
from workbench.base.schema import strict_json
from workbench.base.schema.masks import masked
from workbench.base.schema.walk import is_record
from workbench.base.system.database import Database
from workbench.base.system.files import check_place
from workbench.base.system.forks import INHERITING
from workbench.base.system.interrupts import uninterrupted
from workbench.client.calls.effects import JournalEntry as JournalEntry  # re-exported for code that reads journals
from workbench.client.calls.effects import Note as Note
from workbench.client.calls.effects import Outcome, Resolution
from workbench.client.calls.keys import installation_secret
from workbench.client.calls.pace import Clock
from workbench.service.chains.values import refuse_private_key
from workbench.service.interface.effects import Key
from workbench.service.interface.table import OPERATIONS, Operation

if TYPE_CHECKING:  # imported on first use, since few commands ask for evidence
    from workbench.client.calls.evidence import EventSource, Evidence

APPLICATION = 0x43495257  # "CIRW"
SAME_WITHIN = timedelta(days=1)
_SCHEMA = """
CREATE TABLE calls (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, operation TEXT NOT NULL, what TEXT NOT NULL,
  environment TEXT NOT NULL, started TEXT NOT NULL, ending TEXT NOT NULL, ended TEXT, status INTEGER, error TEXT,
  request TEXT NOT NULL, answer TEXT, digest TEXT NOT NULL, process TEXT NOT NULL, resend_of TEXT, said TEXT,
  trace TEXT NOT NULL, mark TEXT NOT NULL
) STRICT;
CREATE INDEX calls_digest ON calls (digest, started);
CREATE TABLE notes (number INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE TABLE keys (number INTEGER PRIMARY KEY, call TEXT NOT NULL UNIQUE, key TEXT NOT NULL) STRICT;
CREATE INDEX keys_key ON keys (key)
"""
_VERSION = 3
_COLUMNS = (
    "id, operation, what, environment, started, ending, ended, status, error, request, answer, digest, process, "
    "resend_of, said, trace, mark"
)
_NAMES = _COLUMNS.split(", ")
_INSERT = f"INSERT INTO calls ({_COLUMNS}) VALUES ({', '.join('?' * len(_NAMES))})"
_ENDING, _REQUEST = _NAMES.index("ending"), _NAMES.index("request")
_MAX_UNWRITTEN = 1000
_KEY = "(SELECT key FROM keys WHERE call = calls.id AND {undamaged})"
_any_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def _json(value: object) -> str:
    try:
        return orjson.dumps(value, default=str).decode()
    except TypeError:  # the value may be an integer of more than 64 bits
        return _any_json(value)


class Recorder:
    """Write side of the journal, used by the client. The database is opened on first use."""

    def __init__(self, path: str | os.PathLike[str] | None, clock: Clock) -> None:
        self.place = "memory" if path is None else str(path)
        self.clock = clock
        self.send_again: Callable[[Any, str], Any] | None = None
        """Set by the client: send a request again, as the resend of an entry."""
        self.events: EventSource | None = None
        """Set by the session: the events received, as evidence."""
        self.keys_honored: Callable[[], bool] = lambda: False
        """Set by the session: whether the service answers a repeated idempotency key without a second effect."""
        self._path = None if path is None else Path(path)
        self._random = os.urandom(32)
        self._database: Database | None = None
        self._pid = 0
        self._process = ""
        self._opening = threading.Lock()
        self._calls: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._unwritten: dict[str, list[Any]] = {}  # calls not yet in the database, by id; only for a journal in memory

        if self._path is not None:
            if self.is_file:
                self.opened()
            else:
                check_place(self._path)

    @property
    def is_file(self) -> bool:
        """Whether the file exists. A journal without entries creates no file."""
        return self._path is not None and self._path.exists()

    def _here(self) -> str:
        """Return the name of this process in journal entries, which is also the name of its lock.

        The lock shows other processes whether this process is running. After a fork, calls in flight belong to the
        parent.
        """
        if self._pid != os.getpid():
            with INHERITING:
                if self._pid != os.getpid():
                    self._opening, self._calls = threading.Lock(), WeakValueDictionary()
                    self._process, self._pid = os.urandom(8).hex(), os.getpid()
        return self._process

    def opened(self) -> Database:
        """Return the database with all calls so far. It is opened on first use."""
        self._here()
        with self._opening:
            if self._database is None:
                self._database = Database(
                    self._path,
                    application=APPLICATION,
                    schema=_SCHEMA,
                    checked=["calls", "notes", "keys"],
                    version=_VERSION,
                )
                self._database.remove_ended_leases()
            if self._unwritten:
                with uninterrupted:  # an interrupt after the commit would cause a second write
                    with self._database.write():
                        self._database.run_many(_INSERT, [[*map(_column, row)] for row in self._unwritten.values()])
                    self._unwritten.clear()
            return self._database

    def _write(self, statement: str, values: tuple[Any, ...]) -> None:
        with _usable("written, so nothing is sent"):
            self.opened().run(statement, values)

    def rows(self, table: str, columns: str, test: str = "1", values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the undamaged rows that match a filter, in insertion order."""
        if self._path is not None and self._database is None and not self.is_file:
            return []
        with _usable("read"):
            file = self.opened()
            whole = file.undamaged(table)
            return file.run(f"SELECT {columns} FROM {table} WHERE {test} AND {whole} ORDER BY number", values)

    # for the client

    def digest(self, operation: Operation[..., Any], body: bytes) -> str:
        """Return the keyed hash of a body. Without the key, hashing candidates cannot recover the values."""
        secret = self._random if self._path is None else installation_secret()
        return hmac.new(secret, operation.name.encode() + b"\0" + body, hashlib.sha256).hexdigest()

    def hashed(self, key: Key) -> str:
        """Return the keyed hash of the values that identify a call's events."""
        secret = self._random if self._path is None else installation_secret()
        return hmac.new(secret, _json(key).encode(), hashlib.sha256).hexdigest()

    def traced(
        self, entry: JournalEntry, operation: Operation[..., Any], request: object, *, direct: bool
    ) -> JournalEntry:
        """Return an entry with the data for evidence: a hash of private values, and the position among the events.

        Args:
            direct: Whether a sandbox in this process answers, so that all events exist when the call ends.
        """
        trace = operation.effect.evidence if operation.effect is not None else None
        identity = trace.identity(request) if trace is not None and trace.identity is not None else None
        mark = self.events.mark() if self.events is not None else ""
        if not direct:
            mark = f":{mark.rpartition(':')[2]}" if mark else ""
        return attrs.evolve(entry, trace="" if identity is None else self.hashed(identity), mark=mark)

    def begin(self, entry: JournalEntry, shown: dict[str, Any], call: object) -> None:
        """Record a call with its masked request before it is sent. The outcome is unknown if `call` ends without one.

        Raises:
            CannotRecord: The call cannot be recorded, so it must not be sent.
        """
        other = {"ending": entry.outcome.value, "request": shown, "process": self._here()}
        row = [other.get(name, getattr(entry, name, None)) for name in _NAMES]
        self._calls[entry.id] = call
        # a journal in memory ends with its process, so the write can wait
        if self._path is None and entry.idempotency_key is None:
            with self._opening:
                self._unwritten[entry.id] = row
            if len(self._unwritten) >= _MAX_UNWRITTEN:
                self.opened()
            return
        with _usable("written, so nothing is sent"):
            # The lease shows other processes that calls of this process may be in flight.
            database = self.opened()
            with self._opening:
                # another process may hold the lock for an instant, to see whether this process runs
                if not database.lease(self._process, 2.0):
                    raise UnusableFile(f"the lock of {self.place} cannot be taken")
        if entry.idempotency_key is not None:  # written before the call, because a resend needs the same key
            self._write("INSERT INTO keys (call, key) VALUES (?, ?)", (entry.id, entry.idempotency_key))
        self._write(_INSERT, tuple(map(_column, row)))

    def finish(
        self,
        attempt: str,
        outcome: Outcome,
        *,
        status: int | None = None,
        answer: object = None,
        error: str | None = None,
    ) -> None:
        """Record the outcome of a call.

        Raises:
            CannotRecord: The outcome cannot be recorded, and the journal shows it as unknown.
        """
        ending = (outcome.value, self.clock.now(), status, error)
        masked_answer = _masked(answer)
        with self._opening:
            if (row := self._unwritten.get(attempt)) is not None:
                if row[_ENDING] == Outcome.SENDING:
                    row[_ENDING:_REQUEST], row[_REQUEST + 1] = ending, masked_answer
                return
        self._write(
            "UPDATE calls SET ending = ?, ended = ?, status = ?, error = ?, answer = ? WHERE id = ? AND ending = "
            "'sending'",
            (*map(_column, (*ending, masked_answer)), attempt),
        )

    def earlier(self, digest: str) -> JournalEntry | None:
        """Return the newest entry of the last 24 hours with the same body, unless it was refused or not sent."""
        test = (
            "digest = ? AND started > ? AND coalesce(json_extract(said, '$.end'), ending) NOT IN ('refused', "
            "'not_sent')"
        )
        entries = self.entries(test, (digest, _stored(self.clock.now() - SAME_WITHIN)))
        return entries[-1] if entries else None

    def check_same(self, attempt: str, operation: str, shown: object, digest: str) -> None:
        """Check that a request matches an entry.

        Raises:
            UsageError: The request is different.
        """
        (entry,) = self.entries("id = ?", (attempt,))
        if not _is_same(entry, operation, shown, digest):
            raise UsageError(
                f"the request differs from the request of entry {attempt}: {entry.what}", of="journal.resend"
            )

    def idempotency_key(self, attempt: str) -> str | None:
        """Return the idempotency key that an attempt was sent with."""
        (entry,) = self.entries("id = ?", (attempt,))
        return entry.idempotency_key

    def check_key(self, key: str, operation: str, shown: object, digest: str) -> None:
        """Check that an idempotency key was not sent with another request.

        Raises:
            InvalidRequest: The key was sent with another request.
        """
        for entry in self.entries("id IN (SELECT call FROM keys WHERE key = ?)", (key,)):
            if not _is_same(entry, operation, shown, digest):
                raise InvalidRequest(
                    f"the key {key!r} belongs to another call: {entry.what} (journal {entry.id})", of="idempotency"
                )

    def resolve(self, attempt: str, outcome: Outcome, note: str, by: str) -> None:
        """Record how a call with an unknown outcome ended, and who resolved it."""
        chosen = {"end": outcome.value, "note": note, "by": by, "at": _stored(self.clock.now())}
        self._write("UPDATE calls SET ending = 'unknown', said = ? WHERE id = ?", (_json(chosen), attempt))

    def note(self, kind: str, text: str) -> None:
        """Record a note about the client."""
        now = _stored(self.clock.now())
        self._write("INSERT INTO notes (at, kind, text) VALUES (?, ?, ?)", (now, kind, text))

    # for the journal

    def entries(self, test: str = "1", values: tuple[Any, ...] = ()) -> list[JournalEntry]:
        """Return entries, oldest first. A call that ended without a recorded outcome has an unknown outcome."""
        here = self._here()
        if self._path is not None and self._database is None and not self.is_file:
            return []
        with _usable("read"):
            key = _KEY.format(undamaged=self.opened().undamaged("keys"))
        entries = [_entry(row) for row in self.rows("calls", f"{_COLUMNS}, {key}", test, values)]
        return [self._lost(entry, here) if entry.outcome is Outcome.SENDING else entry for entry in entries]

    def _lost(self, entry: JournalEntry, here: str) -> JournalEntry:
        call = self._calls.get(entry.id)
        if (call is not None and call.active) or (entry.process != here and self.opened().is_leased(entry.process)):
            return entry
        return attrs.evolve(entry, outcome=Outcome.UNKNOWN, error=entry.error or "the outcome was not recorded")

    def close(self) -> None:
        """Close the file. The next use reopens the file. A journal in memory is not lost."""
        self._here()
        with self._opening:
            if self._database is not None and self._path is not None:
                self._database.end_lease(self._process, forever=True)
                self._database.close()
                self._database = None


@contextmanager
def _usable(how: str) -> Iterator[None]:
    """Raise CannotRecord if the journal's file fails within a `with` block."""
    try:
        yield
    except (UnusableFile, sqlite3.Error, OSError) as error:
        reason = str(error) if isinstance(error, UnusableFile) else type(error).__name__
        raise CannotRecord(f"The journal cannot be {how}: {reason}") from None


def _masked(value: object) -> Any:
    """Return a masked request or answer, for display and storage."""
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return masked(value) if is_record(value) else None


def _is_same(entry: JournalEntry, operation: str, shown: object, digest: str) -> bool:
    """Return whether a request matches an entry, by digest or, without a digest, by its masked values."""
    if entry.operation != operation:
        return False
    if digest and entry.digest:
        return digest == entry.digest
    return bool(strict_json.stored(_json(shown)) == entry.request)


def _column(value: object) -> Any:
    """Convert a value for its journal column: times to UTC text, masked records and lists to JSON."""
    if value is None or value.__class__ is str:
        return value
    if isinstance(value, datetime):
        return _stored(value)
    return _json(value) if isinstance(value, dict | list) else value


def _stored(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _entry(row: tuple[Any, ...]) -> JournalEntry:
    fields: dict[str, Any] = dict(zip([*_NAMES, "idempotency_key"], row, strict=True))
    resolution: Mapping[str, Any] | None = strict_json.stored(fields.pop("said") or "null")
    outcome, ended, answer = Outcome(fields.pop("ending")), fields.pop("ended"), fields.pop("answer")
    fields["request"] = strict_json.stored(fields["request"])
    fields["started"] = datetime.fromisoformat(fields["started"])
    return JournalEntry(
        **fields,
        outcome=outcome,
        ended=None if ended is None else datetime.fromisoformat(ended),
        answer=None if answer is None else strict_json.stored(answer),
        resolution=None
        if resolution is None
        else Resolution(
            outcome=Outcome(resolution["end"]),
            note=resolution["note"],
            by=resolution["by"],
            at=datetime.fromisoformat(resolution["at"]),
        ),
    )


OutcomeName = Literal["done", "refused", "not_sent", "not sent", "unknown", "sending"]
Entries = list[JournalEntry]


@hide_arguments_of_methods
class Journal:
    """History of calls with an effect, with methods to filter entries and to resolve unknown outcomes."""

    def __init__(self, path: str | os.PathLike[str] | None = None, *, clock: Clock | None = None) -> None:
        """Open the journal.

        Args:
            path: File of the journal, readable only by its owner, or None to store the journal in memory.
            clock: Clock for its entries (default: the system clock).

        Raises:
            UnusableFile: The file is not a journal, is damaged, or cannot be written, as on a read-only file system.
        """
        self._recorder = Recorder(path, clock or Clock())

    @property
    def _place(self) -> str:
        """Location of the journal: "memory" or a path."""
        return self._recorder.place

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the client itself, for example when it was armed."""
        rows = self._recorder.rows("notes", "at, kind, text")
        return tuple(Note(at=datetime.fromisoformat(at), kind=kind, text=text) for at, kind, text in rows)

    @property
    def damaged(self) -> tuple[int, ...]:
        """Numbers, counted from 1, of calls whose record in the file is damaged or missing. These calls are omitted."""
        recorder = self._recorder
        return tuple(recorder.opened().damaged("calls")) if recorder.is_file else ()

    def __iter__(self) -> Iterator[JournalEntry]:
        return iter(self._recorder.entries())

    def __bool__(self) -> bool:
        return True  # otherwise an empty journal would be falsy

    def __len__(self) -> int:
        return len(self._recorder.rows("calls", "number"))

    def __getitem__(self, attempt: str) -> JournalEntry:
        if (entry := self.get(attempt)) is None:
            raise UsageError(f"the journal has no entry {visible(str(attempt), 60)!r}", of="journal")
        return entry

    def get(self, attempt: str) -> JournalEntry | None:
        """Return the entry with an attempt's id, or None if it does not exist."""
        return next(iter(self._recorder.entries("id = ?", (attempt,))), None)

    def list(
        self,
        *,
        operation: object = None,
        outcome: OutcomeName | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        text: str | None = None,
    ) -> Entries:
        """Return the matching entries, oldest first. Without arguments, return all entries.

        Args:
            operation: Name of the operation, or the operation itself as `api.update_user`.
            outcome: "done", "refused", "not_sent", "unknown" or "sending"; a later resolution takes precedence.
            since: Earliest start of the call.
            until: Latest start of the call.
            text: Part of the description of the call, such as an id.
        """
        operation = getattr(getattr(operation, "operation", operation), "name", operation)
        if operation is not None and operation not in OPERATIONS:
            raise UsageError([not_allowed("operation", operation, OPERATIONS)], of="journal.list")
        wanted = None if outcome is None else _outcome(outcome)
        if outcome is not None and wanted is None:
            raise UsageError([not_allowed("outcome", outcome, (*Outcome, "sending"))], of="journal.list")
        return [
            entry
            for entry in self
            if (operation is None or entry.operation == operation)
            and (wanted is None or entry.final_outcome is wanted)
            and (since is None or entry.started >= since)
            and (until is None or entry.started <= until)
            and (text is None or text in entry.what)
        ]

    def unknown(self) -> Entries:
        """Return the calls with an unknown outcome."""
        entries = self._recorder.entries("ending IN ('sending', 'unknown') AND said IS NULL")
        return [entry for entry in entries if entry.is_unknown]

    def resolve(
        self, attempt: str, outcome: Literal["done", "not_sent", "not sent"], *, note: str = ""
    ) -> JournalEntry:
        """Record the actual outcome of a call whose outcome was unknown, with person and time.

        The outcome can be corrected later. Resolving a call that is done as `done` has no effect.
        """
        entry, said = self[attempt], _outcome(outcome)
        if said is None or said not in {Outcome.DONE, Outcome.NOT_SENT}:
            raise UsageError('an unknown outcome can only be resolved as "done" or "not_sent"', of="journal.resolve")
        refuse_private_key(note, "note")
        if entry.outcome is Outcome.DONE is said:
            return entry
        if entry.outcome is not Outcome.UNKNOWN:
            raise UsageError(
                f"the outcome of entry {attempt} is {entry.outcome.shown}; only an unknown outcome can be resolved",
                of="journal.resolve",
            )
        if entry.resolution is not None:
            self._recorder.note("resolved again", f"{attempt} was {entry.resolution}")
        self._recorder.resolve(attempt, said, note, _person())
        return self[attempt]

    def resend(self, attempt: str, request: object, *, accept_double: bool = False) -> Any:
        """Send a call with an unknown outcome again, with the first attempt's idempotency key, if any.

        The journal stores no bodies, so pass the same request again. If the sandbox's behavior or the profile states
        `idempotency_keys`, a call with a key takes effect once. Otherwise the effect may happen twice.

        Args:
            request: The arguments of the call as a dict, or the request record.
            accept_double: Confirms that the effect may happen twice if no honored key prevents it.
        """
        entry, recorder = self[attempt], self._recorder
        if not entry.is_unknown:
            now = f"was resolved as {entry.resolution}" if entry.resolution else f"is {entry.outcome.shown}"
            raise UsageError(
                f"the outcome of entry {attempt} {now}; only a call with an unknown outcome can be sent again",
                of="journal.resend",
            )
        key = entry.idempotency_key
        if accept_double is not True and (key is None or not recorder.keys_honored()):
            why = "the call has no idempotency key"
            if key is not None:
                why = f"nothing states that the service honors the idempotency key {key!r}"
            message = (
                f"{why}, so the effect may happen twice; pass accept_double=True to accept that. {entry.next_step}"
            )
            raise UsageError(message, of="journal.resend")
        if recorder.send_again is None:
            raise UsageError("this journal has no client; use api.journal", of="journal.resend")
        return recorder.send_again(request, attempt)

    def evidence(self, attempt: str) -> "Evidence":
        """Return what the received events show about a call, with a verdict: done, not found, open, or no event.

        The events that only equal calls cause are counted, minus the events of other calls in this journal. The counts
        assume that no program with another journal makes equal calls. A call that the service accepted is done without
        any events, even if its answer was unreadable.
        """
        from workbench.client.calls.evidence import Evidence, Verdict

        entry = self[attempt]
        if entry.outcome is Outcome.DONE:
            return Evidence(attempt=entry.id, verdict=Verdict.DONE, reason="the service accepted this call")
        if entry.outcome is not Outcome.UNKNOWN:
            raise UsageError(
                f"the outcome of entry {attempt} is {entry.outcome.shown}; evidence exists only for unknown outcomes",
                of="journal.evidence",
            )
        return next(self.evidence_of([entry]))

    def evidence_of(self, entries: Iterable[JournalEntry]) -> "Iterator[Evidence]":
        """Return the evidence for several calls. The events are read only once."""
        from workbench.client.calls.evidence import Evidences

        recorder = self._recorder
        evidences = Evidences(recorder.entries(), recorder.events, recorder.hashed)
        return map(evidences.of, entries)

    def close(self) -> None:
        """Close the file."""
        self._recorder.close()

    def __repr__(self) -> str:
        try:
            state = f"{len(self)} calls, {len(self.unknown())} unknown"
        except CannotRecord:  # a repr must not raise an error
            state = "cannot be read"
        return f"<journal in {self._place}: {state}>"


def what(operation: Operation[..., Any], request: object) -> str:
    """Return a one-line description of a call, without private values, as recorded in the journal."""
    effect = operation.effect
    return visible(f"{operation.method} {operation.path}" if effect is None else effect.label(request), 300)


def recorder_of(journal: Journal) -> Recorder:
    """Return the recorder of a client's journal."""
    return journal._recorder


def _outcome(text: str) -> Outcome | None:
    """Return an outcome by its name or its displayed text; None for other texts."""
    name = str(text).replace(" ", "_")
    return Outcome(name) if name in list(Outcome) else None


def _person() -> str:
    import getpass  # imported late, since only a resolution needs it

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "somebody"
