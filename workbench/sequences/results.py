"""The result of runs: each step, the verdict, the ledger, rows for a table, and a hash."""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs

from workbench import rendering
from workbench.errors import WorkbenchError
from workbench.interface import walk
from workbench.interface.rules import UUID
from workbench.interface.walk import get_path
from workbench.sequences.ledger import Ledger
from workbench.sequences.player import Player, StepResult

SHOWN = 20  # steps of a run that are shown; `rows()` has all


@attrs.frozen(kw_only=True)
class StepRow:
    """One step of a run as a row of a table. `amount` is in cents; private values are left out."""

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
    events: int  # of all tenants, while the step ran
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
        status=None if status is None else str(status),
        transaction_id=None if transaction is None else str(transaction),
        events=result.after - result.before,
        message=result.message,
    )


class Run:
    """The result of running a sequence: `ok`, `verdict`, the steps with their answers and events, the ledger, the hash."""

    row_type = StepRow

    def __init__(self, player: Player) -> None:
        self.sequence = player.sequence
        self.values = dict(player.values)
        self.steps: tuple[StepResult, ...] = tuple(
            player.results[step.name] for step in self.sequence.steps if step.name in player.results
        )
        self.started = player.started
        self.differences = player.differences()
        self._ledger = player.ledger
        self._target = player.target

    def __getitem__(self, name: str) -> StepResult:
        for result in self.steps:
            if result.step.name == name:
                return result
        raise KeyError(name)

    def ledger(self) -> Ledger:
        """Return the money in double entry."""
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
        """The result as text: each failed step with what was expected and what it got."""
        count, total = len(self.steps), len(self.sequence.steps)
        if self.ok:
            return f"{self.sequence.name}: {count} step{'s' if count != 1 else ''}, all as expected"
        lines = [f"{self.sequence.name}: {count} of {total} steps run"]
        for result in self.failures:
            texts = list(map(str, result.mismatches)) or [f"was {result.outcome}, a refusal was expected"]
            lines += [f"  {result.step.name} ({result.step.do}) {text}" for text in texts]
        lines += [f"  money: {difference}" for difference in self.differences]
        if count < total:
            left = total - count
            lines.append(f"  {left} step{'s were' if left != 1 else ' was'} not run")
        return "\n".join(lines)

    def events(self, name: str | None = None) -> list[Mapping[str, Any]]:
        """Return the events of one step, or of the run, as wire members in the order they came."""
        if not self.steps:
            return []
        first, last = (self.steps[0], self.steps[-1]) if name is None else (self[name], self[name])
        return self._target.events(first.before, last.after)

    @property
    def hash(self) -> str:
        """SHA-256 of the file, the parameters and all results, without ids and times: equal for equal seed and file."""
        content = {
            "sequence": self.sequence.to_toml(),
            "steps": [
                [one.step.name, one.outcome, one.at, one.answer, one.error, len(one.mismatches)] for one in self.steps
            ],
            "events": self.events(),
            "ledger": [[one.step, one.source, one.target, one.amount, one.kind] for one in self._ledger.entries],
            "ok": self.ok,
        }
        ids: dict[str, str] = {}
        text = json.dumps(content, sort_keys=True, default=_plain)
        text = UUID.sub(lambda found: ids.setdefault(found[0], f"id-{len(ids) + 1}"), text)
        text = TIME.sub(lambda found: f"{(datetime.fromisoformat(found[0]) - self.started).total_seconds():+.3f}", text)
        return hashlib.sha256(text.encode()).hexdigest()

    def rows(self) -> list[StepRow]:
        """Return one row per step."""
        return [_row(number, result) for number, result in enumerate(self.steps, 1)]

    def _summary(self) -> dict[str, Any]:
        moved = ", ".join(f"{name} {rendering.money(cents)}" for name, cents in self._ledger.total().items() if cents)
        return {"sequence": self.sequence.name, "verdict": self.verdict, "money": moved or "nothing moved"}

    def _steps(self) -> list[dict[str, Any]]:
        columns = ("step", "do", "outcome", "amount", "status", "events", "message")
        rows = [{name: getattr(row, name) for name in columns} for row in self.rows()]
        for row in rows:
            row["outcome"] = row["outcome"].replace("_", " ")
            row["amount"] = None if row["amount"] is None else rendering.money(row["amount"])
        return rows

    def _repr_html_(self) -> str:
        return rendering.html(self._summary()) + rendering.html_table(self._steps(), limit=SHOWN)

    def __str__(self) -> str:
        return "\n".join((rendering.plain(self._summary()), rendering.table(self._steps(), limit=SHOWN)))

    def __repr__(self) -> str:
        return f"<run of {self.sequence.name}: {'ok' if self.ok else 'not ok'}, {len(self.steps)} steps>"


class Runs(tuple[Run, ...]):
    """The results of several runs of one sequence, in the order of the rows."""

    __slots__ = ()
    row_type = StepRow

    @property
    def ok(self) -> bool:
        """Whether every run is as expected."""
        return all(run.ok for run in self)

    @property
    def verdict(self) -> str:
        """The number of runs as expected, and the verdicts of the first twenty others."""
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


def _plain(value: Any) -> Any:
    """Return what JSON has no form for as something it has one for."""
    if walk.is_record(value):
        return {one.wire: getattr(value, one.name) for one in walk.members(type(value))}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, WorkbenchError):
        return [getattr(value, "status", None), getattr(value, "error", None)]
    return dict(value) if isinstance(value, Mapping) else str(value)
