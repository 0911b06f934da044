"""Record the outcome of each row of a bulk run before and after its call, in memory or in a file."""

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import attrs

from workbench.base.errors import CannotRecord, Problem, UnusableFile, UsageError, WorkbenchError, allowed_names
from workbench.base.remedies import Remedy, declare
from workbench.base.system.database import Database
from workbench.client.calls.base import journal_of
from workbench.client.calls.effects import Outcome, next_step
from workbench.runs.bulk.plan import BulkPlan, PlannedRow, listed
from workbench.service import rendering
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Row, Sheet

declare(
    "investigate",
    python=(
        "look up the outcome, for example with wb.bulk.investigate(api, run), then resume with "
        'resolved={{row: "done"}} or {{row: "not_sent"}}'
    ),
    other="look up the outcome, then resume with the outcome of each row",
)
declare(
    "resume",
    python="resume(api, path, rows) sends the remaining rows",
    other="resume the run to send the remaining rows",
)

APPLICATION = 0x57425255  # "WBRU"
SCHEMA = """
CREATE TABLE run (id INTEGER PRIMARY KEY CHECK (id = 1), operation TEXT NOT NULL, host TEXT NOT NULL,
  environment TEXT NOT NULL, world TEXT NOT NULL, began TEXT NOT NULL, key TEXT);
CREATE TABLE row (number INTEGER PRIMARY KEY, digest TEXT NOT NULL, state TEXT NOT NULL,
  at TEXT, status INTEGER, attempt TEXT, said TEXT, answer TEXT, answer_status TEXT, key TEXT)
"""
PLANNED = "planned"
STATES = ("done", "refused", "not_sent", "unknown", "sending", PLANNED)
_SHOWN = 50  # maximum number of incomplete rows to show
_REJECTED = "rejected"  # stored state of a row with problems; its outcome is "not_sent"
_FAILED = (Outcome.REFUSED, Outcome.UNKNOWN)
_NO_EFFECT = (PLANNED, _REJECTED, Outcome.NOT_SENT, Outcome.REFUSED)


@attrs.frozen(kw_only=True)
class RowResult:
    """The result of one row of the input."""

    row: int  # row number in the input, from 1
    outcome: str  # "planned" or "sending" until the call has ended, then "done", "refused", "not_sent" or "unknown"
    key: str | None = None  # value of the key column in this row
    id: str | None = None  # id of the created record, if the response has an id
    answer_status: str | None = None  # application status in the response, or else its status
    status: int | None = None  # HTTP status
    attempt: str | None = None  # id of the entry in the client's journal, if the outcome is unknown
    message: str | None = None
    at: datetime | None = None


class RunChanged(WorkbenchError):
    """The rows or the target service have changed since the run started. Nothing was sent.

    `problems` lists the differences.
    """

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        listed = "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"the rows or the target have changed since this run started:{listed}\nNothing was sent.")


class RunRecord:
    """Results of a run so far. A record has one writer. A row is stored as `sending` before its call is sent."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._file = Database(path, application=APPLICATION, schema=SCHEMA, checked=["run", "row"], version=3)
        self._began: str | None = None
        self._rows: dict[int, RowResult] = {}
        self._counts: Counter[str] = Counter()
        self._failed: dict[int, None] = {}  # numbers of refused and unknown rows, in order of completion

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def started(self) -> tuple[str | None, str | None]:
        """Operation and key column of the run in the file. Both are None if the run was killed before it started."""
        if self._file.damaged("run"):
            raise UnusableFile(f"{self._file.path}: the header of the run is damaged; file left unchanged.")
        rows = self._file.run("SELECT operation, key FROM run")
        return rows[0] if rows else (None, None)

    def start(
        self, plan: BulkPlan, target: Mapping[str, str], *, key: str | None = None, accept_changes: bool = False
    ) -> None:
        """Start a run with a plan, or continue the run in the file.

        Args:
            plan: The planned rows. Rows with problems are recorded as rejected.
            target: The host, environment and world to send to.
            key: Column whose values name the rows.
            accept_changes: Accept changes to rows that were never sent.

        Raises:
            RunChanged: The file contains a run with other rows or another target.
        """
        run = {"operation": plan.name, **target}
        started = self._file.run("SELECT operation, host, environment, world FROM run") if self.started[0] else []
        lost = set(self._file.damaged("row"))  # rows with damaged records, which may have been sent
        with self._file.write() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO row (number, digest, state, said, key) "
                "VALUES (?, ?, 'unknown', ?, (SELECT key FROM row WHERE number = ?))",
                [
                    (row.number, row.digest, "the record of this row was damaged", row.number)
                    for row in plan.rows
                    if row.number in lost
                ],
            )
        earlier = {number: rest for number, *rest in self._file.run("SELECT number, digest, state FROM row")}
        rows = {row.number: row for row in plan.rows}
        changed = {number for number in earlier if number in rows and earlier[number][0] != rows[number].digest}
        removed, added = earlier.keys() - rows.keys(), rows.keys() - earlier.keys()
        # Corrected rows had no effect before: rejected rows, and refused or unsent rows that a rejects file corrects.
        corrected = {n for n in changed if earlier[n][1] == _REJECTED or (plan.partial and earlier[n][1] in _NO_EFFECT)}
        sent = {n for n in (changed | removed) - corrected if earlier[n][1] not in (PLANNED, _REJECTED)}
        if plan.partial:  # a rejects file contains only some of the rows
            removed, sent = set(), sent & changed
        if started:
            was = dict(zip(run, started[0], strict=True))
            moved = {name: _moved(name, was[name], run[name]) for name in run if was[name] != run[name]}
            problems = [Problem(name, "changed", message) for name, message in moved.items()]
            for numbers, message, allowed in (
                (sent & changed, "changed after sending", False),
                (sent - changed, "removed after sending", False),
                (changed - corrected - sent, "changed", accept_changes),
                (removed - sent, "removed", accept_changes),
                (added, "added", accept_changes),
            ):
                if numbers and not allowed:
                    which = "row" if len(numbers) == 1 else "rows"
                    problems.append(Problem(f"{which} {listed(sorted(numbers), 10)}", "changed", message))
            if problems:
                raise RunChanged(tuple(problems))
        written = added | changed
        written |= {n for n in earlier if n in rows and rows[n].problems and earlier[n][1] in _NO_EFFECT}
        with self._file.write() as connection:
            if not started:
                began = datetime.now(UTC).isoformat()
                connection.execute("INSERT INTO run VALUES (1, ?, ?, ?, ?, ?, ?)", (*run.values(), began, key))
            connection.executemany("DELETE FROM row WHERE number = ?", [(number,) for number in removed])
            states = {number: _REJECTED if rows[number].problems else PLANNED for number in written}
            connection.executemany(
                "INSERT OR REPLACE INTO row (number, digest, state, said, key) "
                "VALUES (?, ?, ?, ?, (SELECT key FROM row WHERE number = ?))",
                [(n, rows[n].digest, state, rows[n].reasons, n) for n, state in states.items()],
            )
            keys = [(row.key, row.number) for row in plan.rows if row.key is not None]
            connection.executemany("UPDATE row SET key = ? WHERE number = ?", keys)
            said = "the run ended while this call was in flight"
            connection.execute("UPDATE row SET state = 'unknown', said = ? WHERE state = 'sending'", (said,))
        for row in self._file.run("SELECT * FROM row ORDER BY number"):
            number, _, state, at, status, attempt, message, id_, answer_status, named = row
            self._keep(
                RowResult(
                    row=number,
                    outcome=Outcome.NOT_SENT.value if state == _REJECTED else state,
                    id=id_,
                    status=status,
                    attempt=attempt,
                    message=message,
                    at=None if at is None else datetime.fromisoformat(at),
                    answer_status=answer_status,
                    key=named,
                )
            )

    def idempotency_key(self, row: PlannedRow) -> str:
        """Return the idempotency key of a row, stable for the same run, row and request."""
        if self._began is None:
            ((self._began,),) = self._file.run("SELECT began FROM run")
        return hashlib.sha256(f"{self._began} {row.number} {row.digest}".encode()).hexdigest()[:32]

    def sending(self, number: int) -> None:
        """Record that a row is about to be sent.

        Raises:
            CannotRecord: The row cannot be recorded, so it must not be sent.
        """
        try:
            self.record(RowResult(row=number, outcome=Outcome.SENDING.value, at=datetime.now(UTC)))
        except (UnusableFile, OSError) as error:
            raise CannotRecord(f"row {number} cannot be recorded, so it was not sent: {error}") from None

    def record(self, result: RowResult) -> None:
        """Record the result of a row.

        Raises:
            UnusableFile: The file cannot be written. The row remains `sending` there, which a resume treats as unknown.
        """
        with self._file.write() as connection:
            connection.execute(
                "UPDATE row SET state = ?, at = ?, status = ?, attempt = ?, said = ?, answer = ?, answer_status = ? "
                "WHERE number = ?",
                (
                    result.outcome,
                    result.at and result.at.isoformat(),
                    result.status,
                    result.attempt,
                    result.message,
                    result.id,
                    result.answer_status,
                    result.row,
                ),
            )
        self._keep(result)

    def record_or_keep(self, result: RowResult) -> Exception | None:
        """Record a result. If the file cannot be written, store it in memory and return the error."""
        try:
            self.record(result)
        except (UnusableFile, OSError) as error:
            note = f"{result.message or result.outcome}; this outcome could not be recorded"
            self._keep(attrs.evolve(result, message=note))
            return error
        return None

    def _keep(self, result: RowResult) -> None:
        before = self._rows.get(result.row)
        if before is not None:
            self._counts[before.outcome] -= 1
            self._failed.pop(result.row, None)
            result = attrs.evolve(result, key=before.key)
        self._rows[result.row] = result
        self._counts[result.outcome] += 1
        if result.outcome in _FAILED:
            self._failed[result.row] = None

    @property
    def counts_text(self) -> str:
        """Number of rows with each outcome, and the numbers of the first five failed rows, as text."""
        return _counts_text(self._counts) + (f" (row {listed([*self._failed], 5)})" if self._failed else "")

    def resolve(self, resolved: Mapping[int, str]) -> None:
        """Set the outcome of unknown rows: "done", or "not_sent" to send them again.

        Raises:
            UsageError: The outcome of a row is not unknown, or the new outcome is not an allowed value.
        """
        unknown = {number for number, row in self._rows.items() if row.outcome == Outcome.UNKNOWN}
        check_resolved("row", resolved, unknown, of="resume")
        for number, outcome in resolved.items():
            message = f"{Outcome(outcome).shown}, resolved by a person"
            self.record(attrs.evolve(self._rows[number], outcome=Outcome(outcome).value, message=message))

    def all(self) -> list[RowResult]:
        """Return the result of every row, in the order of the input."""
        return [self._rows[number] for number in sorted(self._rows)]


def check_resolved(noun: str, resolved: Mapping[Any, str], unknown: Collection[Any], *, of: str) -> None:
    """Raise UsageError unless each resolved row or step has an unknown outcome, and becomes "done" or "not_sent"."""
    problems, known = [], allowed_names(sorted(unknown)) or "none"
    for name, outcome in resolved.items():
        if name not in unknown:
            problems.append(Problem(f"{noun} {name}", "state", f"has no unknown outcome (unknown: {known})"))
        elif outcome not in (Outcome.DONE, Outcome.NOT_SENT):
            problems.append(Problem(f"{noun} {name}", "enum", 'can be resolved as "done" or "not_sent"'))
    if problems:
        raise UsageError(problems, of=of)


def _moved(name: str, was: str, now: str) -> str:
    if name != "world":
        return f"was {was}, is now {now}"
    return f"was sandbox {was}, is now sandbox {now}, which does not contain the run's records"


def _counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[state]:,} {state.replace('_', ' ')}" for state in STATES if counts.get(state))


@attrs.frozen(repr=False, eq=False)
class BulkResult(Shown):
    """Result of a bulk run, with one `RowResult` for each row of the input.

    `ok` is true if all rows are done. `counts` has the number of rows by outcome. If the run ended early, `stopped` is
    the reason.
    """

    row_type: ClassVar = RowResult

    plan: BulkPlan
    _results: list[RowResult]
    stopped: str | None
    path: Path | None

    @property
    def operation(self) -> str:
        """The name of the operation."""
        return self.plan.name

    def rows(self) -> list[RowResult]:
        """Return the result of every row, in the order of the input."""
        return self._results

    def __iter__(self) -> Iterator[RowResult]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows by outcome."""
        counts = Counter(result.outcome for result in self._results)
        return {state: counts[state] for state in STATES if counts[state]}

    @property
    def ok(self) -> bool:
        """Whether every row is done."""
        return all(result.outcome == Outcome.DONE for result in self._results)

    def unknown(self) -> list[RowResult]:
        """Return the rows with an unknown outcome. They are not sent again until a person resolves them."""
        return [result for result in self._results if result.outcome == Outcome.UNKNOWN]

    @property
    def verdict(self) -> str:
        """Counts, reason for a stop, and next step, as text."""
        lines = [f"{self.operation}: {len(self):,} {'row' if len(self) == 1 else 'rows'}: {_counts_text(self.counts)}"]
        if self.stopped:
            lines.append(f"stopped: {self.stopped}")
        if unknown := self.unknown():
            rows, were = ("row", "was") if len(unknown) == 1 else ("rows", "were")
            numbers = listed([result.row for result in unknown], 10)
            lines.append(
                f"{rows} {numbers} may have been carried out and {were} not sent again; {Remedy('investigate')}"
            )
        elif self.counts.get(PLANNED) and self.path is not None:
            lines.append(str(Remedy("resume")))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.verdict

    __str__ = __repr__

    def sheet(self) -> Sheet:
        """Return the verdict and the first rows that are not done."""
        columns = ("row", "outcome", "status", "message")
        others = [result for result in self._results if result.outcome != Outcome.DONE]
        rows = [{name: getattr(result, name) or "" for name in columns} for result in others[:_SHOWN]]
        grid = rendering.describe(rows)
        return Sheet(title=f"bulk run {self.operation}", words=(self.verdict,), rows=(Row("", grid),) if rows else ())


@attrs.frozen(kw_only=True)
class Finding:
    """Evidence from the events for one row with an unknown outcome."""

    row: int
    key: str | None
    attempt: str | None  # id of the attempt's entry in the journal
    found: str  # verdict that the events support
    events: int
    proposal: str  # the proven outcome, "done" or "not_sent", or else "look it up"
    next_step: str


class Findings(tuple[Finding, ...]):
    """Evidence from the events for each row with an unknown outcome, in input order."""

    __slots__ = ()
    row_type = Finding

    def rows(self) -> list[Finding]:
        """Return one row per finding."""
        return list(self)

    def __repr__(self) -> str:
        return (
            "\n".join(f"row {finding.row}: {finding.found}; proposal: {finding.proposal}" for finding in self)
            or "no unknown rows"
        )


def investigate(api: Any, run: BulkResult) -> Findings:
    """Return what the received events show about each row with an unknown outcome. See also `api.journal.evidence`.

    Record your decision with `resume(…, resolved={row: "done"})`.

    Args:
        run: The result of `run` or `resume`.
        api: The session that sent the run, or a session with the same journal and inbox.

    Raises:
        UsageError: The client has no journal.
    """
    journal = journal_of(api)
    if journal is None:
        raise UsageError("investigate needs a journal, but this client has none", of="bulk.investigate")
    unknown = run.unknown()
    entries = [None if result.attempt is None else journal.get(result.attempt) for result in unknown]
    asked = [entry for entry in entries if entry is not None and entry.outcome is Outcome.UNKNOWN]
    evidence = {seen.attempt: seen for seen in journal.evidence_of(asked)}
    findings = []
    for result, entry in zip(unknown, entries, strict=True):
        seen = None if entry is None else evidence.get(entry.id)
        proven: str | None = None if seen is None else seen.outcome
        text = "no entry in this journal" if seen is None else seen.reason
        if entry is not None and (seen is None or entry.resolution is not None):
            proven, text = str(entry.final_outcome), f"the journal says {entry.final_outcome.shown}"
        findings.append(
            Finding(
                row=result.row,
                key=result.key,
                attempt=result.attempt,
                found=text,
                events=0 if seen is None else len(seen.events),
                proposal=proven or "look it up",
                next_step=next_step(run.operation),
            )
        )
    return Findings(findings)
