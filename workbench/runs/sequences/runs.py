"""Results of runs: steps, verdict, ledger, rows for a table, hash, and the file that records a run."""

import hashlib
import hmac
import json
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from workbench.base.errors import Problem, UnusableFile
from workbench.base.schema import strict_json, walk
from workbench.base.schema.fields import Privacy
from workbench.base.schema.rules import FULL, UUID
from workbench.base.schema.walk import get_path
from workbench.base.system.database import Database
from workbench.client.calls.effects import Outcome
from workbench.client.calls.keys import installation_secret
from workbench.runs.bulk.outcomes import check_resolved
from workbench.runs.sequences.ledger import Ledger
from workbench.runs.sequences.player import BLOCKED, Mismatch, Player, StepResult
from workbench.runs.sequences.sequence import InvalidSequence, Ref, Sequence
from workbench.service import rendering
from workbench.service.interface.convert import converter
from workbench.service.interface.events import AnyEvent, Event
from workbench.service.interface.table import OPERATIONS
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Cell, Row, Sheet

SHOWN = 20  # maximum number of steps of a run to show; `rows()` returns all


@attrs.frozen(kw_only=True)
class StepRow:
    """One step of a run as a table row. `amount` is in cents; private values are omitted."""

    run: int
    number: int
    step: str
    do: str
    outcome: str
    ok: bool
    at: datetime
    amount: int | None
    status: str | None
    transaction_id: str | None
    events: int  # number of events of all tenants during the step
    message: str | None


def _row(number: int, result: StepResult) -> StepRow:
    arguments, answer = result.arguments, result.answer
    status = get_path(answer, "status") or get_path(answer, "application_status")
    transaction = get_path(answer, "transaction_id") or arguments.get("transaction_id")
    amounts = (arguments.get("amount"), arguments.get("new_amount"))
    return StepRow(
        run=0,
        number=number,
        step=result.step.name,
        do=result.step.do,
        outcome=result.outcome,
        ok=result.ok,
        at=result.at,
        amount=next((amount for amount in amounts if type(amount) is int), None),
        events=result.after - result.before,
        status=None if status is None else str(status),
        transaction_id=None if transaction is None else str(transaction),
        message=result.message,
    )


class Run(Shown):
    """Result of running a sequence: `ok`, `verdict`, steps with answers and events, ledger, and hash."""

    row_type = StepRow

    def __init__(self, player: Player) -> None:
        self.sequence = player.sequence
        self.values = dict(player.values)
        played = (player.results.get(step.name) for step in self.sequence.steps)
        self.steps: tuple[StepResult, ...] = tuple(step for step in played if step is not None)
        self.started = player.started
        self.differences = player.differences()
        self._ledger = player.ledger
        self._target = player.target

    def __getitem__(self, name: str) -> StepResult:
        return {result.step.name: result for result in self.steps}[name]

    def ledger(self) -> Ledger:
        """Return the double-entry ledger of the run."""
        return self._ledger

    @property
    def ok(self) -> bool:
        """Whether every step was run and met its expectations, and the sandbox's balances agree with the ledger."""
        complete = len(self.steps) == len(self.sequence.steps)
        return complete and not self.differences and all(result.ok for result in self.steps)

    @property
    def failures(self) -> tuple[StepResult, ...]:
        """The steps that did not meet their expectations."""
        return tuple(result for result in self.steps if not result.ok)

    @property
    def verdict(self) -> str:
        """The result as text: each failed step with its expected and actual result."""
        count, total = len(self.steps), len(self.sequence.steps)
        if self.ok:
            return f"{self.sequence.name}: {count} step{'s' if count != 1 else ''}, all as expected"
        lines = [f"{self.sequence.name}: {count} of {total} steps run"]
        for result in self.failures:
            texts = list(map(str, result.mismatches)) or [f"was {result.outcome}, but a refusal was expected"]
            lines += [f"  {result.step.name} ({result.step.do}) {text}" for text in texts]
        lines += [f"  money: {difference}" for difference in self.differences]
        if count < total:
            left = total - count
            lines.append(f"  {left} step{'s were' if left != 1 else ' was'} not run")
        return "\n".join(lines)

    def events(self, name: str | None = None) -> list[AnyEvent]:
        """Return the events of one step, or of the run, in order of arrival."""
        return [converter().structure(payload, Event) for payload in self._payloads(name)]

    def _payloads(self, name: str | None = None) -> list[Mapping[str, Any]]:
        """Return the events of one step, or of the run, in wire format."""
        if not self.steps:
            return []
        first, last = (self.steps[0], self.steps[-1]) if name is None else (self[name], self[name])
        return self._target.events(first.before, last.after)

    @property
    def hash(self) -> str:
        """SHA-256 of the sequence and its results, with ids numbered and times relative to the start.

        Runs with equal seeds and parameters have equal hashes.
        """
        steps = [
            [
                step.step.name,
                step.outcome,
                step.at.isoformat(),
                converter().unstructure(step.answer),
                getattr(step.error, "status", None),
                getattr(step.error, "error", None),
                len(step.mismatches),
            ]
            for step in self.steps
        ]
        ledger = [[entry.step, entry.source, entry.target, entry.amount, entry.kind] for entry in self._ledger.entries]
        content = {
            "sequence": self.sequence.to_toml(),
            "steps": steps,
            "events": self._payloads(),
            "ledger": ledger,
            "ok": self.ok,
        }
        ids: dict[str, str] = {}
        text = json.dumps(content, sort_keys=True, default=str)
        text = UUID.sub(lambda match: ids.setdefault(match[0], f"id-{len(ids) + 1}"), text)
        text = TIME.sub(lambda match: f"{(datetime.fromisoformat(match[0]) - self.started).total_seconds():+.3f}", text)
        return hashlib.sha256(text.encode()).hexdigest()

    def rows(self) -> list[StepRow]:
        """Return one row per step."""
        return [_row(number, result) for number, result in enumerate(self.steps, 1)]

    def sheet(self) -> Sheet:
        """Return the verdict, the money that moved, and the first steps."""
        moved = ", ".join(f"{name} {rendering.money(cents)}" for name, cents in self._ledger.total().items() if cents)
        columns = ("step", "do", "outcome", "amount", "status", "events", "message")
        steps = [{name: getattr(row, name) for name in columns} for row in self.rows()]
        for step in steps:
            step["amount"] = None if step["amount"] is None else rendering.money(step["amount"])
        about = {"sequence": self.sequence.name, "verdict": self.verdict, "money": moved or "nothing moved"}
        rows = [Row(name, Cell(tuple(text.split("\n")))) for name, text in about.items()]
        return Sheet(title="", rows=(*rows, Row("", rendering.describe(steps, rows=SHOWN))))

    def __repr__(self) -> str:
        return f"<run of {self.sequence.name}: {'ok' if self.ok else 'not ok'}, {len(self.steps)} steps>"


class Runs(tuple[Run, ...]):
    """The results of several runs of one sequence, in the order of the rows."""

    __slots__ = ()
    row_type = StepRow

    @property
    def ok(self) -> bool:
        """Whether every run is `ok`."""
        return all(run.ok for run in self)

    @property
    def verdict(self) -> str:
        """The number of successful runs, and the verdicts of the first twenty failed runs."""
        failed = [f"run {number}: {run.verdict}" for number, run in enumerate(self, 1) if not run.ok]
        return "\n".join([f"{len(self) - len(failed)} of {len(self)} runs as expected", *failed[:20]])

    def ledger(self) -> Ledger:
        """Return the ledgers of all runs as one."""
        ledger = Ledger()
        for run in self:
            ledger.add(run.ledger())
        return ledger

    def rows(self) -> list[StepRow]:
        """Return one row per step of every run, with the number of the run."""
        return [attrs.evolve(row, run=number) for number, run in enumerate(self, 1) for row in run.rows()]

    def __repr__(self) -> str:
        return f"<{len(self)} runs: {sum(run.ok for run in self)} as expected>"


TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")

APPLICATION = 0x57425351  # "WBSQ"
SCHEMA = """
CREATE TABLE run (id INTEGER PRIMARY KEY CHECK (id = 1), sequence TEXT NOT NULL, began TEXT NOT NULL, \
given TEXT NOT NULL);
CREATE TABLE step (name TEXT PRIMARY KEY, state TEXT NOT NULL, at TEXT NOT NULL, before INTEGER NOT NULL,
  after INTEGER NOT NULL, arguments TEXT NOT NULL, answer TEXT NOT NULL, misses TEXT NOT NULL)
"""


class Record:
    """The file that stores the results of one run so far.

    Raises:
        InvalidSequence: The file holds a run of another sequence, or with other parameters.
    """

    def __init__(self, path: Path, sequence: Sequence, values: Mapping[str, Any], now: datetime) -> None:
        self.started = now
        self._file = Database(path, application=APPLICATION, schema=SCHEMA, checked=["run", "step"], version=2)
        if self._file.damaged("run") or self._file.damaged("step"):
            self._file.close()
            raise UnusableFile(f"{path}: records of the run are damaged; file left unchanged.")
        self._read_later: defaultdict[str, set[str]] = defaultdict(set)  # members that later steps read, by step
        for later in (
            reference
            for step in sequence.steps
            for reference in step.references()
            if isinstance(reference, Ref) and reference.attribute
        ):
            self._read_later[later.step].add(later.attribute.partition(".")[0])
        text = sequence.to_toml()
        run = self._file.run("SELECT sequence, began, given FROM run")
        if not run:
            salt = os.urandom(16).hex()
            row = (text, now.isoformat(), salt + _digest(salt, values))
            with self._file.write() as connection:
                connection.execute("INSERT INTO run VALUES (1, ?, ?, ?)", row)
            return
        earlier, started, given = run[0]
        self.started = datetime.fromisoformat(started)
        problems = []
        if text != earlier:
            problems.append(Problem("sequence", "changed", f"differs from the run in {path}; use another file"))
        if given[32:] != _digest(given[:32], values):
            problems.append(Problem("parameters", "changed", f"differ from the run in {path}; use another file"))
        if problems:
            self._file.close()
            raise InvalidSequence(tuple(problems), sequence.name)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def restore(self, player: Player, resolved: Mapping[str, str]) -> None:
        """Load the file's results into a player, and apply manually resolved outcomes.

        Raises:
            UsageError: A resolved step's outcome was already known, or the new outcome is not allowed.
        """
        rows = {name: row for name, *row in self._file.run("SELECT * FROM step")}
        unknown = {name for name, row in rows.items() if row[0] in (Outcome.SENDING, Outcome.UNKNOWN)}
        check_resolved("step", resolved, unknown, of="sequences.run")
        player.started = self.started
        for step in player.sequence.steps:
            if step.name not in rows:
                continue
            state, at, before, after, arguments, answer, mismatches = rows[step.name]
            mismatched = tuple(Mismatch(*load) for load in strict_json.stored(mismatches))
            if state == Outcome.SENDING:
                state = Outcome.UNKNOWN.value
                mismatched = (Mismatch("outcome", "done", "unknown: the run was killed while the call was in flight"),)
            if step.name in resolved:
                state, mismatched = resolved[step.name], ()
            if state not in (Outcome.NOT_SENT, BLOCKED):
                given = {
                    name: FULL if value == "FULL" else value for name, value in strict_json.stored(arguments).items()
                }
                moment, answered = datetime.fromisoformat(at), strict_json.stored(answer)
                player.restore(StepResult(step, state, moment, given, answered, None, before, after, mismatched))

    def put(self, result: StepResult) -> None:
        """Store a step before its call, or its result, with ids, amounts and the members that later steps read."""
        operation, step = OPERATIONS.get(result.step.do), result.step.name
        sent = {"transaction_id", "card_id", "amount"} if operation is None else _open_members(operation.request)
        read = self._read_later[step] | {"transaction_id", "status"}
        if operation is not None and not operation.many:
            read &= _open_members(operation.answer)
        answer = None if result.answer is None else {name: walk.get_path(result.answer, name) for name in sorted(read)}
        written = (
            {name: result.arguments[name] for name in result.arguments if name in sent},
            answer,
            [attrs.astuple(mismatch) for mismatch in result.mismatches],
        )
        row = (step, result.outcome, result.at.isoformat(), result.before, result.after, *map(_to_json, written))
        with self._file.write() as connection:
            connection.execute("INSERT OR REPLACE INTO step VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def _digest(salt: str, values: Mapping[str, Any]) -> str:
    """Return a digest of parameters, keyed with the installation's secret so that the file does not reveal them."""
    text = json.dumps(dict(sorted(values.items())), default=str)
    return hmac.new(installation_secret(), f"{salt}\0{text}".encode(), hashlib.sha256).hexdigest()


def _open_members(cls: type[Any]) -> set[str]:
    return {member.name for member in walk.members(cls) if member.about.privacy is Privacy.OPEN}


def _to_json(value: object) -> str:
    """Return a value as JSON. A mapping loses all values except texts and numbers, and FULL becomes text."""
    if isinstance(value, dict):
        members = {name: "FULL" if member is FULL else member for name, member in value.items()}
        value = {name: member for name, member in members.items() if isinstance(member, str | int)}
    return json.dumps(value)
