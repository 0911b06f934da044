"""What a client did that may have had an effect: recorded before it leaves, and how it ended after it.

Each call is in one of four ends: done, refused, not sent, unknown. In memory for the embedded sandbox, in a file for a
real service (`journal_file`). What is shown and what is written to disk is masked, with a keyed hash of the body.
"""

import getpass
import hashlib
import hmac
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Literal

import attrs

from workbench.client.effects import Outcome, next_step
from workbench.client.entries import Entry as Entry  # of the journal, for whoever reads one
from workbench.client.entries import Memory, Note, Resolution, Store, masked_request
from workbench.client.evidence import NEAR, fits
from workbench.client.journal_file import JournalFile
from workbench.client.pace import Clock
from workbench.client.processes import is_running, this_process
from workbench.errors import CannotRecord, InvalidRequest, visible
from workbench.interface.operation import Operation
from workbench.interface.table import OPERATIONS

SAME_WITHIN = timedelta(days=1)


Entries = list[Entry]
Events = list[Any]


class Journal:
    """The history of calls with an effect: iterate it, ask for one by id, filter it, resolve what is unknown."""

    def __init__(self, path: str | os.PathLike[str] | None = None, *, clock: Clock | None = None) -> None:
        """Open the journal.

        Args:
            path: A file for its owner alone; None keeps everything in memory.
            clock: Clock of the entries.
        """
        self._store: Store = Memory() if path is None else JournalFile(path)
        self._clock = clock or Clock()
        self._flying: set[str] = set()
        self._process = ("", 0)
        self._lock = threading.Lock()
        self.send_again: Callable[[Any, str], Any] | None = None
        """Set by the client: sends a request again, as the resend of an entry."""
        self.events: Callable[[], Iterable[Any]] | None = None
        """Set by the session: gives the events received, as evidence."""
        self.skew: Callable[[], float | None] | None = None
        """Set by the client: how many seconds our clock is ahead of the service's, in whose time events are."""

    # for the client

    def digest(self, operation: Operation[..., Any], body: bytes) -> str:
        """Return the keyed hash of what is sent."""
        return hmac.new(self._store.secret, operation.name.encode() + b"\0" + body, hashlib.sha256).hexdigest()

    def begin(
        self, *, attempt: str, operation: str, request: Any, what: str, environment: str, started: datetime,
        digest: str = "", resend_of: str | None = None,
    ) -> Entry:  # fmt: skip
        """Record a call before it leaves.

        Raises:
            CannotRecord: It cannot be recorded, so it must not leave.
        """
        entry = Entry(
            id=attempt, operation=operation, what=what, environment=environment, started=started, outcome=Outcome.SENDING,
            digest=digest, process=self._me(), resend_of=resend_of,
        )  # fmt: skip
        self._flying.add(attempt)
        try:
            self._store.add(entry, request)
        except BaseException:
            self._flying.discard(attempt)
            raise
        return entry

    def finish(
        self, attempt: str, outcome: Outcome, *, status: int | None = None, answer: Any = None, error: str | None = None
    ) -> None:
        """Record how a call ended.

        Raises:
            CannotRecord: It cannot be recorded; the entry then counts as unknown.
        """
        self._flying.discard(attempt)
        self._store.close_entry(
            attempt,
            {"outcome": outcome, "ended": self._clock.now(), "status": status, "answer": answer, "error": error},
        )

    def let_go(self, attempt: str) -> None:
        """Take a call for no longer in the air; without a recorded end it is unknown."""
        self._flying.discard(attempt)

    def earlier(self, digest: str) -> Entry | None:
        """Return an entry with the same body within a day that may have had its effect."""
        return self._store.since(digest, self._clock.now() - SAME_WITHIN)

    def note(self, kind: str, text: str) -> None:
        """Record something about the client itself."""
        self._store.note(Note(at=self._clock.now(), kind=kind, text=text))

    def _me(self) -> str:
        pid = os.getpid()
        if self._process[1] != pid:
            self._process = (this_process(), pid)
            self._flying = set()  # what flies in a parent process is not ours
        return self._process[0]

    # for people

    @property
    def place(self) -> str:
        """Where it is kept: "memory" or a path."""
        return self._store.place

    @property
    def notes(self) -> tuple[Note, ...]:
        """What happened to the client itself, as arming."""
        return tuple(self._store.notes())

    def _seen(self, entry: Entry) -> Entry:
        """An entry in the air whose process is gone, or that this process lost track of, is unknown."""
        if entry.outcome is not Outcome.SENDING or entry.id in self._flying:
            return entry
        if entry.process != self._me() and is_running(entry.process):
            return entry
        return attrs.evolve(entry, outcome=Outcome.UNKNOWN, error=entry.error or "its end was not recorded")

    def __iter__(self) -> Iterator[Entry]:
        return map(self._seen, self._store.all())

    def __bool__(self) -> bool:
        return True  # an empty journal is one all the same

    def __len__(self) -> int:
        return self._store.count()

    def __getitem__(self, attempt: str) -> Entry:
        entry = self._store.get(attempt)
        if entry is None:
            raise KeyError(f"the journal has no entry {attempt!r}")
        return self._seen(entry)

    def list(
        self, *, operation: Any = None, outcome: str | None = None, since: datetime | None = None,
        until: datetime | None = None, text: str | None = None,
    ) -> Entries:  # fmt: skip
        """Return the entries that fit all that is said, oldest first.

        Args:
            operation: Its name, or itself as `api.update_user`.
            outcome: "done", "refused", "not_sent", "unknown" or "sending"; what a person said counts.
            text: A part of what the call says of itself, as an id.
        """
        operation = getattr(getattr(operation, "operation", operation), "name", operation)
        if operation is not None and operation not in OPERATIONS:
            raise InvalidRequest(f"there is no operation {visible(str(operation), 60)!r}", of="journal.list")
        wanted = None if outcome is None else _outcome(outcome)
        if outcome is not None and wanted is None:
            raise InvalidRequest("outcome is one of done, refused, not_sent, unknown, sending", of="journal.list")
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
        """Return the calls of which nobody knows how they ended."""
        return [entry for entry in map(self._seen, self._store.undecided()) if entry.is_unknown]

    def resolve(self, attempt: str, outcome: Literal["done", "not_sent", "not sent"], *, note: str = "") -> Entry:
        """Say how a call with an unknown end ended; who said it, and when, is kept. It may be said again."""
        entry, said = self[attempt], _outcome(outcome)
        if said not in {Outcome.DONE, Outcome.NOT_SENT}:
            raise InvalidRequest('an unknown end is resolved as "done" or "not_sent"', of="journal.resolve")
        if entry.outcome is not Outcome.UNKNOWN:
            raise InvalidRequest(f"entry {attempt} is not unknown but {entry.outcome.shown}", of="journal.resolve")
        if entry.resolution is not None:
            self.note("resolved again", f"{attempt} was {_resolved(entry.resolution)}")
        self._settle(attempt, Outcome(said), note, _person())
        return self[attempt]

    def _settle(self, attempt: str, outcome: Outcome, note: str, by: str) -> None:
        said = Resolution(outcome=outcome, note=note, by=by, at=self._clock.now())
        self._store.close_entry(attempt, {"outcome": Outcome.UNKNOWN, "resolution": said})

    def resend(self, attempt: str, request: Any, *, accept_double: bool = False) -> Any:
        """Send a call with an unknown end again, knowing that its effect may then be there twice.

        The journal keeps no bodies, so the request is given again, and it has to be the same one. A deletion that is
        answered with "not found" is done.

        Args:
            request: The arguments of the call as a dict, or the request record.
            accept_double: Has to be True.
        """
        entry = self[attempt]
        if accept_double is not True:
            raise InvalidRequest(f"say accept_double=True: {next_step(entry.operation)}", of="journal.resend")
        if not entry.is_unknown:
            now = f"was resolved as {_resolved(entry.resolution)}" if entry.resolution else f"is {entry.outcome.shown}"
            raise InvalidRequest(f"entry {attempt} is not unknown: it {now}", of="journal.resend")
        if self.send_again is None:
            raise InvalidRequest("this journal belongs to no client; open it as api.journal", of="journal.resend")
        return self.send_again(request, attempt)

    def hold_against(self, attempt: str, operation: str, request: Any, digest: str) -> None:
        """Refuse a request that is not the one of an entry.

        Raises:
            InvalidRequest: It is another one.
        """
        entry = self[attempt]
        same = digest == entry.digest if digest and entry.digest else masked_request(request) == entry.request
        if entry.operation != operation or not same:
            raise InvalidRequest(f"entry {attempt} is another request: {entry.what}", of="journal.resend")

    def resent(self, attempt: str, new: str, note: str = "it was sent again and is done") -> None:
        """Record that a resend settled an unknown entry."""
        self._settle(attempt, Outcome.DONE, f"{note} ({new})", "resend")

    def evidence(self, attempt: str) -> Events:
        """Return the events received that may be the effect of a call. They prove nothing by themselves."""
        entry = self[attempt]
        ahead = (self.skew() if self.skew else None) or 0.0
        earliest = entry.started - NEAR - timedelta(seconds=ahead)
        return [event for event in (self.events() if self.events else ()) if fits(entry, event, earliest)]

    def close(self) -> None:
        """Let go of the file."""
        self._store.close()

    def __repr__(self) -> str:
        try:
            held = f"{len(self)} calls, {len(self.unknown())} unknown"
        except CannotRecord:  # what prints a list of things must not fail over one of them
            held = "cannot be read"
        return f"<journal in {self.place}: {held}>"


def _outcome(words: str) -> Outcome | None:
    """Return an outcome by its name, or as it is shown."""
    name = str(words).replace(" ", "_")
    return Outcome(name) if name in list(Outcome) else None


def _resolved(said: Resolution) -> str:
    return f"{said.outcome.shown} by {said.by} at {said.at:%Y-%m-%d %H:%M:%S} UTC"


def _person() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "somebody"
