"""The journal in one SQLite file: on disk before anything is sent, for its owner only, masked, without bodies."""

import contextlib
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workbench.client.effects import Outcome
from workbench.client.entries import Entry, Note, Resolution, masked_answer, masked_request
from workbench.client.state import state_folder
from workbench.errors import CannotRecord, UnusableFile
from workbench.storage import Database

APPLICATION = 0x43495257  # "CIRW"
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


class JournalFile:
    """Keeps entries in a file, opened at the first call that is to be recorded or looked up."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.place = str(path)
        self._file: Database | None = None
        self._owner = 0
        self._opening = threading.Lock()
        self._of_parents: list[Database | None] = []  # never closed here: they belong to another process

    @property
    def secret(self) -> bytes:
        """What keys the hashes of bodies: one per installation, so that nobody can guess a value by hashing."""
        return installation_secret()

    def _opened(self) -> Database:
        if self._owner not in {0, os.getpid()}:
            # A forked process opens the file anew: SQLite's connections do not survive a fork.
            self._of_parents.append(self._file)
            self._file, self._owner, self._opening = None, 0, threading.Lock()
        with self._opening:
            if self._file is None:
                self._file, self._owner = Database(self.path, application=APPLICATION, schema=_SCHEMA), os.getpid()
            return self._file

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        __tracebackhide__ = True
        try:
            with self._opened().write() as run:
                yield run
                return
        except (UnusableFile, sqlite3.Error, OSError) as error:
            reason = str(error) if isinstance(error, UnusableFile) else type(error).__name__
        raise CannotRecord(f"The journal cannot be written, so nothing is sent: {reason}")

    def add(self, entry: Entry, request: Any) -> None:
        """Keep an entry before its call leaves."""
        row = (
            entry.id, entry.operation, entry.what, entry.environment, _stored(entry.started), entry.outcome.value, None,
            None, None, _json(masked_request(request)), None, entry.digest, entry.process, entry.resend_of, None,
        )  # fmt: skip
        with self._writing() as run:
            run.execute(f"INSERT INTO calls ({_COLUMNS}) VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - our own names

    def close_entry(self, attempt: str, changes: Mapping[str, Any]) -> None:
        """Keep how it ended."""
        sets, values = [], []
        for name, value in changes.items():
            column, stored = _STORED[name](value)
            sets.append(f"{column} = ?")
            values.append(stored)
        with self._writing() as run:
            run.execute(f"UPDATE calls SET {', '.join(sets)} WHERE id = ?", (*values, attempt))  # noqa: S608 - our own names

    def get(self, attempt: str) -> Entry | None:
        """Return one entry."""
        return next(iter(self._read("WHERE id = ?", (attempt,))), None)

    def all(self) -> Iterable[Entry]:
        """Return all entries, oldest first."""
        return self._read("ORDER BY number", ()) if self.path.exists() else []

    def undecided(self) -> Iterable[Entry]:
        """Return the entries that are in the air or unknown, and of which nobody said how they ended."""
        where = "WHERE ending IN ('sending', 'unknown') AND said IS NULL ORDER BY number"
        return self._read(where, ()) if self.path.exists() else []

    def count(self) -> int:
        """Return how many entries there are."""
        return int(self._rows("SELECT count(*) FROM calls", ())[0][0]) if self.path.exists() else 0

    def since(self, digest: str, moment: datetime) -> Entry | None:
        """Return the newest entry with the digest that started after a moment and may have had its effect."""
        where = (
            "WHERE digest = ? AND started > ? AND coalesce(json_extract(said, '$.end'), ending) "
            "NOT IN ('refused', 'not_sent') ORDER BY number DESC LIMIT 1"
        )
        return next(iter(self._read(where, (digest, _stored(moment)))), None)

    def _read(self, where: str, values: tuple[Any, ...]) -> list[Entry]:
        return [_entry(row) for row in self._rows(f"SELECT {_COLUMNS} FROM calls {where}", values)]  # noqa: S608 - our own names

    def _rows(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        __tracebackhide__ = True
        try:
            file = self._opened()
            with file.lock:
                return file.connection.execute(query, values).fetchall()
        except (UnusableFile, sqlite3.Error, OSError) as error:
            reason = str(error) if isinstance(error, UnusableFile) else type(error).__name__
        raise CannotRecord(f"The journal cannot be read: {reason}")

    def note(self, note: Note) -> None:
        """Keep a note."""
        with self._writing() as run:
            run.execute("INSERT INTO notes (at, kind, text) VALUES (?, ?, ?)", (_stored(note.at), note.kind, note.text))

    def notes(self) -> Iterable[Note]:
        """Return all notes."""
        if not self.path.exists():
            return []
        rows = self._rows("SELECT at, kind, text FROM notes ORDER BY number", ())
        return [Note(at=_moment(at), kind=kind, text=text) for at, kind, text in rows]

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        if self._file is not None and self._owner == os.getpid():
            self._file.close()
            self._file = None


def _stored(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _said(said: Resolution | None) -> str | None:
    if said is None:
        return None
    return _json({"end": said.outcome.value, "note": said.note, "by": said.by, "at": _stored(said.at)})


_STORED: Mapping[str, Callable[[Any], tuple[str, Any]]] = {
    "outcome": lambda outcome: ("ending", outcome.value),
    "ended": lambda moment: ("ended", _stored(moment)),
    "status": lambda status: ("status", status),
    "error": lambda error: ("error", error),
    "answer": lambda answer: ("answer", None if answer is None else _json(masked_answer(answer))),
    "resolution": lambda said: ("said", _said(said)),
}


def _entry(row: tuple[Any, ...]) -> Entry:
    (
        attempt, operation, what, environment, started, end, ended, status, error, request, answer, digest, process,
        resend_of, said,
    ) = row  # fmt: skip
    read = None if said is None else json.loads(said)
    return Entry(
        id=attempt, operation=operation, what=what, environment=environment, started=_moment(started), outcome=Outcome(end),
        ended=None if ended is None else _moment(ended), status=status, error=error, request=json.loads(request),
        answer=None if answer is None else json.loads(answer), digest=digest, process=process, resend_of=resend_of,
        resolution=None if read is None else Resolution(
            outcome=Outcome(read["end"]), note=read["note"], by=read["by"], at=_moment(read["at"])
        ),
    )  # fmt: skip


def installation_secret() -> bytes:
    """Return this installation's secret, made at its first use.

    Raises:
        CannotRecord: It can neither be read nor made.
    """
    path = state_folder() / "secret"
    for _ in range(2):
        try:
            found = path.read_bytes()
            if len(found) == 32:
                return found
            reason = "it is damaged; remove it to have a new one made"
            break
        except FileNotFoundError:
            reason = "it vanished"
        except OSError as error:
            reason = error.strerror or type(error).__name__
            break
        try:
            _make_secret(path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            break
    raise CannotRecord(f"The secret of this installation, {path}, cannot be used ({reason}); nothing was sent.")


def _make_secret(path: Path) -> None:
    """Put a whole secret there, or leave the one that another process put there first."""
    fresh = path.with_name(f".secret-{secrets.token_hex(8)}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(32))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        fresh.unlink()
