"""Attempts at a task: its world, live traffic, answers, check and debrief, in an embedded, served or class sandbox."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from workbench.base.errors import UsageError, WorkbenchError, allowed_names, visible
from workbench.client.calls.client import Client
from workbench.course.answers import read_answer
from workbench.course.evidence import (
    PURCHASE,
    Evidence,
    Facts,
    digest,
    first_guide,
    first_mark,
    mark,
    operator,
    signature,
)
from workbench.course.judge import judge, look_up
from workbench.course.set_ups import SET_UPS
from workbench.course.task_files import Task
from workbench.sandbox.internals import internals
from workbench.service.interface.table import OPERATIONS
from workbench.service.rendering import money

if TYPE_CHECKING:
    from workbench.sandbox.embedded import Sandbox

_NOTHING = hashlib.sha256(json.dumps([{}, [], {}]).encode()).hexdigest()[:16]
"""Of an attempt in which nothing was done yet."""


def now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)


class Attempt:
    """An attempt at a task in a sandbox.

    Args:
        task: The task.
        sandbox: The sandbox, or the controls of a served one.
        state: What `begin` stored, as JSON values; empty before.
        base: Mark that a task begins with which nobody has begun; default: the sandbox in its initial state.
        ca_file: Certificates for a served sandbox.
    """

    def __init__(
        self, task: Task, sandbox: "Sandbox", state: Facts | None = None, ca_file: str | None = None, base: Any = None
    ) -> None:
        self.task = task
        self.sandbox = sandbox
        self.state = state if state is not None else {}
        self.tried = False
        self._ca_file = ca_file
        self._base = base

    @property
    def is_begun(self) -> bool:
        """Whether the attempt was begun in this sandbox, which was not reset since."""
        return bool(self.state.get("world") == internals(self.sandbox).world_id())

    def begin(self) -> None:
        """Create the world of the task, and remember what is there."""
        task, facts = self.task, Facts()
        with operator(self.sandbox, self._ca_file) as client:
            guide = first_guide(self.sandbox.seed)
            cards = guide["cards"]["active"]
            facts["bought"] = [self._buy(client, cards[card], *purchase) for card, *purchase in task.purchases]
            names = {**guide, **facts}
            for step in task.world:
                _run(client, self.sandbox, names, dict(step))
            if task.set_up:
                facts |= SET_UPS[task.set_up](client, self.sandbox, facts)
        self._remember(mark(self.sandbox), facts)

    def require(self, *, as_made: bool) -> None:
        """Begin with the initial state of the sandbox if nobody has begun the task, and that is possible.

        Raises:
            UsageError: The task has to be begun.
        """
        if self.is_begun:
            return
        if self.task.minutes or not as_made:
            name = self.task.name
            raise UsageError(f'{name} was not begun in this sandbox: wb.course.task("{name}") begins it', of="course")
        is_base = isinstance(self._base, dict) and self._base.get("world") == internals(self.sandbox).world_id()
        self._remember(self._base if is_base else first_mark(self.sandbox), {})

    def _remember(self, first: Facts, facts: Facts) -> None:
        begun = {"begun": now().isoformat(timespec="seconds"), "played": 0, "live": [], "facts": facts, "answers": {}}
        self.state.clear()
        self.state.update(first, **begun)

    def _buy(self, client: Client, card: str, cents: int, merchant: str = "Example Market", settle: bool = True) -> str:
        """Make a purchase, settle it unless it was declined, and return its id."""
        bought = client.simulate_authorization(card_id=card, amount=cents, merchant_name=merchant, **PURCHASE)
        if settle and bought.status == "authorized":
            self.sandbox.settle(bought.transaction_id)
        return str(bought.transaction_id)

    @property
    def minutes(self) -> float:
        """Minutes since the beginning."""
        seconds = (now() - datetime.fromisoformat(self.state["begun"])).total_seconds()
        return round(max(seconds, 0) / 60, 1)

    def catch_up(self) -> bool:
        """Make the purchases of the live traffic that are due, and return whether there were any."""
        traffic, state = self.task.traffic, self.state
        due = int(min(self.minutes, self.task.minutes) * 60) // traffic["every"] if traffic else 0
        if state["played"] >= due or state.get("done"):
            return False
        card = first_guide(self.sandbox.seed)["cards"]["active"][traffic["card"]]
        with operator(self.sandbox, self._ca_file) as client:
            while state["played"] < due:
                state["played"] += 1
                try:
                    settle = traffic.get("settle", True)
                    bought = self._buy(client, card, traffic["cents"], traffic["merchant"], settle)
                except WorkbenchError:  # the card was stopped
                    continue
                Evidence(self.sandbox, state).add_live(bought)
        return True

    def facts(self) -> Facts:
        """Return the facts shown to the learner, by name."""
        names = {**first_guide(self.sandbox.seed), **self.state.get("facts", {})}
        return {name: _filled(names, value) for name, value in self.task.show.items()}

    def answer(self, values: Mapping[str, Any]) -> None:
        """Store answers.

        Raises:
            UsageError: The task asks for no such answer, or it cannot be one.
        """
        questions = self.task.questions
        if len(questions) == 1:
            values = {name or next(iter(questions)): value for name, value in values.items()}
        if not values or not values.keys() <= questions.keys():
            asked = allowed_names(questions) if questions else "nothing"
            raise UsageError(f"{self.task.name} asks for {asked}", of="course.answer")
        read = {name: read_answer(questions[name], str(value)) for name, value in values.items()}
        self.state["answers"].update(read)

    def check(self, fetched: Collection[str] = (), elsewhere: Iterable[Any] = ()) -> tuple[str, ...]:
        """Return what is missing. `tried` says whether the learner did anything since the last check."""
        self.catch_up()
        seen = Evidence(self.sandbox, self.state, fetched, elsewhere)
        changed = {id_: digest(record) for id_, record in seen.changed.items()}
        done = [changed, [signature(call.entry) for call in seen.calls], self.state["answers"]]
        print_ = hashlib.sha256(json.dumps(done, sort_keys=True).encode()).hexdigest()[:16]
        self.tried = print_ != self.state.get("seen", _NOTHING)
        self.state["seen"] = print_
        return judge(self.task, seen)

    def debrief(self) -> list[tuple[str, str, str]]:
        """Return what was done since the beginning: who, what, and how it ended."""
        seen = Evidence(self.sandbox, self.state)
        rows = [("you", _summary(call), f"{call.status}{f', {call.fault}' * bool(call.fault)}") for call in seen.calls]
        controls = {event.request_id: event for event in self.sandbox.events(since=self.state["event"])}
        caused = {call.entry.request_id for call in seen.calls}
        live = set(self.state["live"])
        for event in controls.values():
            record = str(event.payload["body"].get("id", ""))
            if event.request_id not in caused and record not in live:
                rows.append(("you", f"{event.cause} {record[:8]}", str(event.payload["body"].get("status", ""))))
        if live:
            rows.append(("traffic", f"{len(live)} purchases meanwhile", ""))
        rows += [("you", f"answer {name}", visible(value, 60)) for name, value in self.state["answers"].items()]
        return rows


def _run(client: Client, sandbox: object, names: Facts, step: Facts) -> None:
    """Make one call or control of a world."""
    do, name = step.pop("do"), step.pop("as", "")
    target: Any = client if do in OPERATIONS else sandbox
    for part in do.split("."):
        target = getattr(target, part)
    result = target(**{argument: _filled(names, value) for argument, value in step.items()})
    if name:
        names[name] = getattr(result, "transaction_id", None) or result.id


def _filled(names: Mapping[str, Any], value: object) -> Any:
    if isinstance(value, Mapping):
        return {name: _filled(names, inner) for name, inner in value.items()}
    return look_up(names, value[1:]) if isinstance(value, str) and value.startswith("$") else value


def _summary(call: Any) -> str:
    amount = call.arguments.get("amount", call.arguments.get("new_amount"))
    ids = [str(value)[:8] for name, value in call.arguments.items() if name.endswith("_id")]
    parts: Iterator[Any] = iter((call.operation, money(amount) if isinstance(amount, int) else "", *ids))
    return " ".join(part for part in parts if part)
