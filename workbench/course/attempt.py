"""Attempts at a task: its world, live traffic, answers and check. The sandbox is embedded, served or in a class."""

import hashlib
import json
import secrets
from collections import ChainMap
from collections.abc import Collection, Mapping, MutableMapping
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from workbench.base.errors import UsageError, WorkbenchError, allowed_names
from workbench.client.calls.client import Client
from workbench.course.answers import read_answer
from workbench.course.evidence import (
    PURCHASE,
    SIGNATURE,
    Evidence,
    Facts,
    digest,
    first_guide,
    mark,
    operator,
)
from workbench.course.judge import filled, judge
from workbench.course.task_files import Task
from workbench.sandbox.internals import internals
from workbench.service.interface.table import OPERATIONS

if TYPE_CHECKING:
    from workbench.sandbox.embedded import Sandbox

_NOTHING = hashlib.sha256(json.dumps([{}, [], {}]).encode()).hexdigest()[:16]
"""Hash of an attempt without any action."""


def now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)


class Attempt:
    """An attempt at a task in a sandbox.

    Args:
        task: The task.
        sandbox: The sandbox, or the controls of a served sandbox.
        state: The values that `begin` stored, as JSON; empty before.
        fetched: Ids of the events that the learner's inbox has read.
        ca_file: Certificates for a served sandbox.
    """

    def __init__(
        self,
        task: Task,
        sandbox: "Sandbox",
        state: Facts | None = None,
        fetched: Collection[str] = (),
        ca_file: str | None = None,
    ) -> None:
        self.task = task
        self.sandbox = sandbox
        self.state = state if state is not None else {}
        self._fetched = fetched
        self._ca_file = ca_file

    @property
    def is_begun(self) -> bool:
        """Whether the attempt was begun in this sandbox, and the sandbox was not reset since."""
        return bool(self.state.get("world") == internals(self.sandbox).world_id())

    @property
    def is_on(self) -> bool:
        """Whether the attempt is not done, and its planned time is not over."""
        return self.is_begun and not self.state.get("done") and self.minutes <= self.task.minutes

    def begin(self) -> None:
        """Create the world of the task, and store its initial state."""
        task, port = self.task, 20_000 + secrets.randbelow(20_000)
        facts = {
            "port": port,
            "url": f"http://127.0.0.1:{port}/webhooks",
            **task.values,
        }  # the address of the learner's webhook receiver
        names = ChainMap(facts, dict(first_guide(self.sandbox.seed)))
        with operator(self.sandbox, self._ca_file) as client:
            cards = names["cards"]["active"]
            facts["bought"] = [self._buy(client, cards[card], *purchase) for card, *purchase in task.purchases]
            for step in task.world:
                run(client, self.sandbox, names, step)
        facts.update({name: filled(names, value) for name, value in task.values.items()})
        begun = {"begun": now().isoformat(timespec="seconds"), "played": 0, "live": [], "facts": facts, "answers": {}}
        self.state.clear()
        self.state.update(mark(self.sandbox), **begun)

    def start(self) -> Facts:
        """Begin the task, unless it is an active drill or a completed exercise. Return the facts of the task."""
        if not self.is_begun or not (self.task.minutes or self.check()["missing"] == []):
            self.begin()
        names = {**first_guide(self.sandbox.seed), **self.state["facts"]}
        return {"facts": filled(names, self.task.show)}

    def _require(self) -> None:
        if not self.is_begun:
            name = self.task.name
            raise UsageError(f'{name} was not begun in this sandbox: wb.course.task("{name}") begins it', of="course")

    def _buy(self, client: Client, card: str, cents: int, merchant: str = "Example Market", settle: bool = True) -> str:
        """Make a purchase and return its id. It is settled if `settle` is set, unless it was declined."""
        bought = client.simulate_authorization(card_id=card, amount=cents, merchant_name=merchant, **PURCHASE)
        if settle and bought.status == "authorized":
            self.sandbox.settle(bought.transaction_id)
        return str(bought.transaction_id)

    @property
    def minutes(self) -> float:
        """Minutes since the attempt began."""
        seconds = (now() - datetime.fromisoformat(self.state["begun"])).total_seconds()
        return round(max(seconds, 0) / 60, 1)

    def catch_up(self) -> bool:
        """Make the purchases of the live traffic that are due. Return whether there were any."""
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
                except WorkbenchError:  # the card was stopped, so the purchase fails
                    continue
                Evidence(self.sandbox, state).add_live(bought)
        return True

    def answer(self, values: Mapping[str, Any]) -> Facts:
        """Store the learner's answers.

        Raises:
            UsageError: The task was not begun, or the answer is not allowed.
        """
        self._require()
        questions = self.task.questions
        if len(questions) == 1:
            values = {name or next(iter(questions)): value for name, value in values.items()}
        if not values or not values.keys() <= questions.keys():
            asked = allowed_names(questions) if questions else "nothing"
            raise UsageError(f"{self.task.name} asks for {asked}", of="course.answer")
        read = {name: read_answer(questions[name], str(value)) for name, value in values.items()}
        self.state["answers"].update(read)
        return {}

    def check(self) -> Facts:
        """Return the unmet criteria, and whether the learner did anything since the last check.

        Raises:
            UsageError: The task was not begun.
        """
        self._require()
        self.catch_up()
        seen = Evidence(self.sandbox, self.state, self._fetched)
        changed = {id_: digest(record) for id_, record in seen.changed.items()}
        done = [changed, [call[SIGNATURE] for call in seen.calls], self.state["answers"]]
        print_ = hashlib.sha256(json.dumps(done, sort_keys=True).encode()).hexdigest()[:16]
        tried = print_ != self.state.get("seen", _NOTHING)
        missing = list(judge(self.task, seen))
        self.state.update(seen=print_, done=not missing)
        good = f"A good answer: {' '.join(self.task.debrief.split())}" if self.task.debrief else ""
        comment = f"The sandbox shows everything that the task asks for, and nothing else.\n{good}".strip()
        return {"missing": missing, "tried": tried, "comment": "" if missing else comment}


def run(client: Client, sandbox: object, names: MutableMapping[str, Any], step: Mapping[str, Any]) -> None:
    """Run one call or control of a world. A step has `do`, its arguments, and `as`, the name for the resulting id.

    Raises:
        LookupError: An argument refers to a record that the sandbox does not hold.
    """
    target: Any = client if step["do"] in OPERATIONS else sandbox
    arguments = {name: filled(names, value) for name, value in step.items() if name not in ("do", "as")}
    result = attrgetter(step["do"])(target)(**arguments)
    if "as" in step:
        names[step["as"]] = getattr(result, "transaction_id", None) or result.id
