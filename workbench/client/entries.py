"""What the journal keeps of a call, and where: a store in memory here, one in a file in `journal_file`."""

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Protocol

import attrs

from workbench.client.effects import Outcome, next_step
from workbench.errors import Attempt
from workbench.interface.masks import masked
from workbench.interface.walk import is_record


@attrs.frozen(kw_only=True)
class Resolution:
    """What a person said about a call whose end was unknown."""

    outcome: Outcome
    note: str
    by: str
    at: datetime


@attrs.frozen(kw_only=True, repr=False)
class Entry:
    """One call with an effect, as it is kept: its request and its answer masked."""

    id: str
    operation: str
    what: str
    environment: str
    started: datetime
    outcome: Outcome
    ended: datetime | None = None
    status: int | None = None
    error: str | None = None
    request: Mapping[str, Any] = attrs.field(factory=dict, repr=False)  # not shown, and no columns of a frame
    answer: Any = attrs.field(default=None, repr=False)
    digest: str = attrs.field(default="", repr=False)
    process: str = attrs.field(default="", repr=False)
    resend_of: str | None = None
    resolution: Resolution | None = None

    @property
    def attempt(self) -> Attempt:
        """The call as errors name it."""
        return Attempt(
            id=self.id,
            operation=self.operation,
            what=self.what,
            started=self.started,
            environment=self.environment,
        )

    @property
    def final_outcome(self) -> Outcome:
        """The outcome, as a person resolved it where one did."""
        return self.resolution.outcome if self.resolution else self.outcome

    @property
    def next_step(self) -> str | None:
        """What to do about it, while its end is unknown."""
        return next_step(self.operation) if self.is_unknown else None

    @property
    def is_unknown(self) -> bool:
        """Whether nobody has said how it ended."""
        return self.outcome is Outcome.UNKNOWN and self.resolution is None

    def __str__(self) -> str:
        resolved = f" (said by {self.resolution.by})" if self.resolution else ""
        return f"{self.started:%Y-%m-%d %H:%M:%S} {self.id} {self.final_outcome.shown}{resolved}: {self.what}"

    def __repr__(self) -> str:
        return f"<{self}>"


@attrs.frozen(kw_only=True)
class Note:
    """Something about the client itself that belongs in its history, as that it was armed."""

    at: datetime
    kind: str
    text: str


class Store(Protocol):
    """Where entries are kept."""

    place: str

    @property
    def secret(self) -> bytes:
        """What keys the hashes of bodies."""

    def add(self, entry: Entry, request: Any) -> None:
        """Keep an entry before its call leaves."""

    def close_entry(self, attempt: str, changes: Mapping[str, Any]) -> None:
        """Keep how it ended."""

    def get(self, attempt: str) -> Entry | None:
        """Return one entry."""

    def all(self) -> Iterable[Entry]:
        """Return all entries, oldest first."""

    def undecided(self) -> Iterable[Entry]:
        """Return the entries that are in the air or unknown, and of which nobody said how they ended."""

    def count(self) -> int:
        """Return how many entries there are."""

    def since(self, digest: str, moment: datetime) -> Entry | None:
        """Return the newest entry with the digest that started after a moment and may have had its effect."""

    def note(self, note: Note) -> None:
        """Keep a note."""

    def notes(self) -> Iterable[Note]:
        """Return all notes."""

    def close(self) -> None:
        """Let go of files."""


class _Row:
    """An entry in memory: what is costly to make is made when it is looked at."""

    __slots__ = ("begun", "changes", "request")

    def __init__(self, begun: Entry, request: Any) -> None:
        self.begun = begun
        self.request = request
        self.changes: Mapping[str, Any] = {}

    def whole(self) -> Entry:
        changes = {**self.changes, "answer": masked_answer(self.changes.get("answer"))}
        return attrs.evolve(self.begun, request=masked_request(self.request), **changes)


class Memory:
    """Keeps entries as long as the process lives."""

    place = "memory"

    def __init__(self) -> None:
        self.secret = secrets.token_bytes(32)
        self._rows: dict[str, _Row] = {}
        self._notes: list[Note] = []

    def add(self, entry: Entry, request: Any) -> None:
        """Keep an entry before its call leaves."""
        self._rows[entry.id] = _Row(entry, request)

    def close_entry(self, attempt: str, changes: Mapping[str, Any]) -> None:
        """Keep how it ended."""
        row = self._rows[attempt]
        row.changes = {**row.changes, **changes} if row.changes else changes

    def get(self, attempt: str) -> Entry | None:
        """Return one entry."""
        row = self._rows.get(attempt)
        return None if row is None else row.whole()

    def all(self) -> Iterable[Entry]:
        """Return all entries, oldest first."""
        return [row.whole() for row in tuple(self._rows.values())]

    def undecided(self) -> Iterable[Entry]:
        """Return the entries that are in the air or unknown, and of which nobody said how they ended."""
        rows = tuple(self._rows.values())
        open_ones = [
            row for row in rows if row.changes.get("outcome", Outcome.SENDING) in {Outcome.SENDING, Outcome.UNKNOWN}
        ]
        return [entry for entry in (row.whole() for row in open_ones) if entry.resolution is None]

    def count(self) -> int:
        """Return how many entries there are."""
        return len(self._rows)

    def since(self, digest: str, moment: datetime) -> Entry | None:
        """Return the newest entry with the digest that started after a moment and may have had its effect."""
        for row in reversed(tuple(self._rows.values())):
            if row.begun.started < moment:
                return None
            if row.begun.digest == digest and may_have_happened(whole := row.whole()):
                return whole
        return None

    def note(self, note: Note) -> None:
        """Keep a note."""
        self._notes.append(note)

    def notes(self) -> Iterable[Note]:
        """Return all notes."""
        return tuple(self._notes)

    def close(self) -> None:
        """Nothing is open."""


def masked_request(request: Any) -> dict[str, Any]:
    """Return a request as it is shown and kept."""
    return masked(request) if request is not None else {}


def masked_answer(answer: Any) -> Any:
    """Return an answer as it is shown and kept."""
    if isinstance(answer, list):
        return [masked_answer(item) for item in answer]
    return masked(answer) if is_record(answer) else None


def may_have_happened(entry: Entry) -> bool:
    """Whether an entry's effect may be there: not where it was refused or never left."""
    return entry.final_outcome not in {Outcome.REFUSED, Outcome.NOT_SENT}
