"""The ends of rows, kept in memory or in a file: recorded before a call leaves, and after it."""

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import attrs

from workbench.bulk.plan import Plan
from workbench.errors import CannotRecord, InvalidRequest, Problem, UnusableFile, WorkbenchError
from workbench.storage import Database

APPLICATION = 0x57425255  # "WBRU"
SCHEMA = """
CREATE TABLE run (id INTEGER PRIMARY KEY CHECK (id = 1), operation TEXT NOT NULL, host TEXT NOT NULL,
  environment TEXT NOT NULL, began TEXT NOT NULL);
CREATE TABLE row (number INTEGER PRIMARY KEY, place INTEGER NOT NULL, digest TEXT NOT NULL, state TEXT NOT NULL,
  at TEXT, status INTEGER, attempt TEXT, said TEXT, answer TEXT)
"""

State = Literal["planned", "sending", "done", "refused", "not sent", "unknown"]
_RESOLVED: Mapping[str, tuple[State, str]] = {
    "done": ("done", "done"), "not sent": ("planned", "not sent"), "not_sent": ("planned", "not sent"),
}  # fmt: skip
ENDED: tuple[State, ...] = ("done", "refused", "unknown")


@attrs.frozen(kw_only=True)
class Outcome:
    """How one row of the input stands."""

    row: int
    end: str  # a State
    id: str | None = None  # of what was made, where the answer names one
    status: int | None = None
    attempt: str | None = None  # its entry in the client's journal, where that is unknown
    said: str | None = None
    at: datetime | None = None


class RunChanged(WorkbenchError):
    """The rows, or the place they go to, are not those the run was begun with. `problems` names them; nothing was sent."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__(
            "this run was begun with other rows:" + "".join(f"\n  - {one}" for one in problems) + "\nNothing was sent."
        )


class Ends:
    """How the rows of one run stand. One writer at a time; a row is `sending` on disk before its call leaves."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self._file = None if path is None else Database(path, application=APPLICATION, schema=SCHEMA)
        self._rows: dict[int, Outcome] = {}

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    @property
    def operation(self) -> str | None:
        """The operation of the run in the file; None where it was killed before it began."""
        kept = [] if self._file is None else self._file.run("SELECT operation FROM run")
        return kept[0][0] if kept else None

    def begin(self, plan: Plan, host: str, environment: str, *, accept_changes: bool = False) -> None:
        """Take up a plan: a new one, or the one the file holds.

        Raises:
            RunChanged: The file holds another one.
        """
        planned = {one.number: Outcome(row=one.number, end="planned") for one in plan.rows}
        if self._file is None:
            self._rows = planned
            return
        kept = self._file.run("SELECT operation, host, environment FROM run")
        if not kept:
            with self._file.write() as connection:
                now = datetime.now(UTC).isoformat()
                connection.execute("INSERT INTO run VALUES (1, ?, ?, ?, ?)", (plan.name, host, environment, now))
                connection.executemany(
                    "INSERT INTO row (number, place, digest, state) VALUES (?, ?, ?, 'planned')",
                    [(one.number, place, one.digest) for place, one in enumerate(plan.rows)],
                )
            self._rows = planned
            return
        self._take_up(plan, kept[0], (host, environment), accept_changes)

    def _take_up(self, plan: Plan, kept: tuple[Any, ...], where: tuple[str, str], accept_changes: bool) -> None:
        assert self._file is not None
        operation, host, environment = kept
        problems = []
        if operation != plan.name:
            problems.append(Problem("operation", "changed", f"was {operation}, and is {plan.name}"))
        if (host, environment) != where:
            problems.append(
                Problem("place", "changed", f"was {environment} at {host}, and is {where[1]} at {where[0]}")
            )
        if problems:
            raise RunChanged(tuple(problems))
        rows = {
            row[0]: row[1:]
            for row in self._file.run("SELECT number, digest, state, at, status, attempt, said, answer FROM row")
        }
        digests = {one.number: one.digest for one in plan.rows}
        changed = [n for n in rows if n in digests and rows[n][0] != digests[n]]
        gone = [n for n in rows if n not in digests]
        new = [n for n in digests if n not in rows]
        fixed = [n for n in (*changed, *gone) if rows[n][1] != "planned"]
        for numbers, words in (
            (fixed, "were sent already, and have changed since"),
            (() if accept_changes else [n for n in changed if n not in fixed], "have changed"),
            (() if accept_changes else [n for n in gone if n not in fixed], "are gone"),
            (() if accept_changes else new, "are new"),
        ):
            if numbers:
                problems.append(Problem(f"rows {_listed(numbers)}", "changed", words))
        if problems:
            raise RunChanged(tuple(problems))
        with self._file.write() as connection:
            connection.executemany("DELETE FROM row WHERE number = ?", [(n,) for n in gone])
            connection.executemany("UPDATE row SET digest = ? WHERE number = ?", [(digests[n], n) for n in changed])
            connection.executemany(
                "INSERT INTO row (number, place, digest, state) VALUES (?, ?, ?, 'planned')",
                [(n, place, digests[n]) for place, n in enumerate(digests) if n in new],
            )
            connection.execute(
                "UPDATE row SET state = 'unknown', said = 'the run ended while this call was in the air' "
                "WHERE state = 'sending'"
            )
        for number, _, state, at, status, attempt, said, answer in self._file.run(
            "SELECT number, digest, state, at, status, attempt, said, answer FROM row ORDER BY number"
        ):
            self._rows[number] = Outcome(
                row=number, end=state, id=answer, status=status, attempt=attempt, said=said,
                at=None if at is None else datetime.fromisoformat(at),
            )  # fmt: skip

    def sending(self, number: int) -> None:
        """Record that a row leaves.

        Raises:
            CannotRecord: It cannot be recorded, so it must not leave.
        """
        try:
            self._put(Outcome(row=number, end="sending", at=datetime.now(UTC)))
        except (UnusableFile, OSError) as error:
            reason = str(error)
        else:
            return
        raise CannotRecord(f"cannot record row {number}, so not sending: {reason}")

    def ended(self, outcome: Outcome) -> None:
        """Record how a row ended."""
        self._put(outcome)

    def lost(self, one: Outcome) -> None:
        """Keep in memory what could not be recorded; the file says `sending`, which a resume reads as unknown."""
        self._rows[one.row] = attrs.evolve(one, said=f"{one.said or one.end}; this could not be recorded")

    def _put(self, one: Outcome) -> None:
        if self._file is not None:
            with self._file.write() as connection:
                connection.execute(
                    "UPDATE row SET state = ?, at = ?, status = ?, attempt = ?, said = ?, answer = ? WHERE number = ?",
                    (one.end, one.at and one.at.isoformat(), one.status, one.attempt, one.said, one.id, one.row),
                )
        self._rows[one.row] = one

    def resolve(self, said: Mapping[int, str]) -> None:
        """Say how rows that are unknown ended: "done", or "not sent", which sends them again.

        Raises:
            InvalidRequest: A row is not unknown, or the end is another one.
        """
        slips = []
        for number, end in said.items():
            one = self._rows.get(number)
            if one is None or one.end != "unknown":
                slips.append(Problem(f"row {number}", "state", "is not unknown, so there is nothing to resolve"))
            elif end not in _RESOLVED:
                slips.append(Problem(f"row {number}", "enum", 'is resolved as "done" or "not sent"'))
        if slips:
            raise InvalidRequest(slips, of="resume")
        for number, end in said.items():
            state, words = _RESOLVED[end]
            self._put(attrs.evolve(self._rows[number], end=state, said=f"{words}, as a person said"))

    def all(self) -> list[Outcome]:
        """Return every row once, in the order of the input."""
        return [self._rows[number] for number in sorted(self._rows)]

    def of(self, number: int) -> Outcome:
        """Return one row."""
        return self._rows[number]


def _listed(numbers: Iterable[int]) -> str:
    shown = sorted(numbers)
    return ", ".join(map(str, shown[:10])) + (f" and {len(shown) - 10:,} more" if len(shown) > 10 else "")
