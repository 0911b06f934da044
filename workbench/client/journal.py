"""The journal: the history of calls with an effect, recorded before they leave, and their outcome.

It is kept in memory for an embedded sandbox, and in a file for a real service. What it holds is masked.
"""

import getpass
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Literal

from workbench.client.effects import NEAR, Outcome, may_be_evidence, next_step
from workbench.client.effects import Entry as Entry  # of the journal, for whoever reads one
from workbench.client.effects import Note as Note
from workbench.client.pace import Clock
from workbench.client.recorder import Recorder
from workbench.errors import CannotRecord, InvalidRequest, visible
from workbench.interface.table import OPERATIONS

Entries = list[Entry]
Events = list[Any]
Rows = list[dict[str, Any]]


class Journal:
    """The history of calls with an effect: iterate it, filter it with `list`, resolve what is unknown."""

    def __init__(self, path: str | os.PathLike[str] | None = None, *, clock: Clock | None = None) -> None:
        """Open the journal.

        Args:
            path: File of the journal, for its owner only; None keeps it in memory.
            clock: Clock of its entries; default: the system clock.

        Raises:
            UnusableFile: The file is not a journal, is damaged, or cannot be written, as on a read-only file system.
        """
        self._recorder = Recorder(path, clock or Clock())

    @property
    def place(self) -> str:
        """Where it is kept: "memory" or a path."""
        return self._recorder.place

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the client itself, for example when it was armed."""
        return tuple(self._recorder.notes())

    @property
    def damaged(self) -> tuple[int, ...]:
        """Numbers of the calls, counted from 1, whose record in the file is damaged or missing; they are left out."""
        return self._recorder.damaged()

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._recorder.entries())

    def __bool__(self) -> bool:
        return True  # an empty journal is a journal

    def __len__(self) -> int:
        return self._recorder.count()

    def __getitem__(self, attempt: str) -> Entry:
        return self._recorder.entry(attempt)

    def get(self, attempt: str) -> Entry | None:
        """Return the entry of an attempt's id; None where there is none."""
        try:
            return self._recorder.entry(attempt)
        except KeyError:
            return None

    def list(
        self, *, operation: Any = None, outcome: str | None = None, since: datetime | None = None,
        until: datetime | None = None, text: str | None = None,
    ) -> Entries:  # fmt: skip
        """Return the entries that match, oldest first; all of them without arguments.

        Args:
            operation: Name of the operation, or the operation itself as `api.update_user`.
            outcome: "done", "refused", "not_sent", "unknown" or "sending", as resolved by a person where one did.
            since: Earliest start of the call.
            until: Latest start of the call.
            text: Part of the description of the call, such as an id.
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
        """Return the calls with an unknown outcome."""
        return self._recorder.unresolved()

    def export(self) -> Rows:
        """Return all entries as plain data for JSON, private values masked, as they are kept."""
        return [
            {
                "started": entry.started.isoformat(), "id": entry.id, "outcome": str(entry.final_outcome),
                "resolved_by": entry.resolution and entry.resolution.by, "operation": entry.operation, "what": entry.what,
                "status": entry.status, "error": entry.error, "environment": entry.environment,
                "request": dict(entry.request), "answer": entry.answer,
            }
            for entry in self
        ]  # fmt: skip

    def resolve(self, attempt: str, outcome: Literal["done", "not_sent", "not sent"], *, note: str = "") -> Entry:
        """Record the outcome of a call that had an unknown one, with the person and the time. It can be corrected later."""
        entry, said = self[attempt], _outcome(outcome)
        if said not in {Outcome.DONE, Outcome.NOT_SENT}:
            raise InvalidRequest('an unknown outcome is resolved as "done" or "not_sent"', of="journal.resolve")
        if entry.outcome is not Outcome.UNKNOWN:
            raise InvalidRequest(f"entry {attempt} is not unknown but {entry.outcome.shown}", of="journal.resolve")
        if entry.resolution is not None:
            self._recorder.note("resolved again", f"{attempt} was {entry.resolution}")
        self._recorder.resolve(attempt, Outcome(said), note, _person())
        return self[attempt]

    def resend(self, attempt: str, request: Any, *, accept_double: bool = False) -> Any:
        """Send a call with an unknown outcome again; its effect may then happen twice.

        The journal keeps no bodies, so the request is given again and has to be the same one. A deletion that is
        answered with "not found" is done.

        Args:
            request: The arguments of the call as a dict, or the request record.
            accept_double: Has to be True.
        """
        entry = self[attempt]
        if accept_double is not True:
            raise InvalidRequest(f"pass accept_double=True: {next_step(entry.operation)}", of="journal.resend")
        if not entry.is_unknown:
            now = f"was resolved as {entry.resolution}" if entry.resolution else f"is {entry.outcome.shown}"
            raise InvalidRequest(f"entry {attempt} is not unknown: it {now}", of="journal.resend")
        if self._recorder.send_again is None:
            raise InvalidRequest("this journal belongs to no client; open it as api.journal", of="journal.resend")
        return self._recorder.send_again(request, attempt)

    def evidence(self, attempt: str) -> Events:
        """Return the events received that may be the effect of a call. They prove nothing by themselves."""
        entry, recorder = self[attempt], self._recorder
        ahead = (recorder.skew() if recorder.skew else None) or 0.0
        earliest = entry.started - NEAR - timedelta(seconds=ahead)
        return [one for one in (recorder.events() if recorder.events else ()) if may_be_evidence(entry, one, earliest)]

    def close(self) -> None:
        """Close the file."""
        self._recorder.close()

    def __repr__(self) -> str:
        try:
            held = f"{len(self)} calls, {len(self.unknown())} unknown"
        except CannotRecord:  # what prints a list of things must not fail over one of them
            held = "cannot be read"
        return f"<journal in {self.place}: {held}>"


def recorder_of(journal: Journal) -> Recorder:
    """Return what a client records its calls with."""
    return journal._recorder


def _outcome(words: str) -> Outcome | None:
    """Return an outcome by its name, or as it is shown."""
    name = str(words).replace(" ", "_")
    return Outcome(name) if name in list(Outcome) else None


def _person() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "somebody"
