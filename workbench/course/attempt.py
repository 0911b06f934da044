"""Attempts at a task: its world, live traffic, answers and check. The sandbox is embedded, served or in a class."""

import secrets
from collections import ChainMap
from collections.abc import MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

import attrs

from workbench.base.errors import UsageError, WorkbenchError, allowed_names
from workbench.client.calls.client import Client
from workbench.course.answers import read_answer
from workbench.course.evidence import Evidence, Facts, Record, digest, first_guide, mark, names_of, operator, signature
from workbench.course.judge import filled, judge
from workbench.course.task_files import Task
from workbench.sandbox.internals import internals
from workbench.service.interface.table import OPERATIONS

_PURCHASE: Record = {"currency": "USD", "merchant_category_code": "5411"}


def now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)


@attrs.frozen
class Attempt:
    """An attempt at a task in a sandbox.

    Attributes:
        task: The task.
        sandbox: The sandbox, or the controls of a served sandbox.
        state: The values that `begin` stored, as JSON; empty before.
        ca_file: Certificates for a served sandbox.
    """

    task: Task
    sandbox: Any
    state: Facts
    ca_file: str | None = None

    @property
    def is_begun(self) -> bool:
        """Whether the attempt was begun in this sandbox, and the sandbox was not reset since."""
        return bool(self.state.get("world") == internals(self.sandbox).world_id())

    @property
    def is_on(self) -> bool:
        """Whether the attempt is not done, and its planned time is not over."""
        return self.is_begun and not self.state["done"] and self.minutes <= self.task.minutes

    @property
    def minutes(self) -> float:
        """Minutes since the attempt began."""
        return (now() - datetime.fromisoformat(self.state["begun"])).total_seconds() / 60

    def begin(self) -> None:
        """Create the world of the task, and store its initial state."""
        task, port = self.task, 20_000 + secrets.randbelow(20_000)  # the port of the learner's webhook receiver
        facts = {"port": port, "url": f"http://127.0.0.1:{port}/webhooks", **task.values}
        names = ChainMap(facts, dict(first_guide(self.sandbox.seed)))
        with operator(self.sandbox, self.ca_file) as client:
            facts["bought"] = [self._buy(client, *purchase) for purchase in task.purchases]
            for step in task.world:
                run(client, self.sandbox, names, step)
        begun = {"begun": now().isoformat(timespec="seconds"), "played": 0, "done": False}
        self.state.clear()
        self.state.update(mark(self.sandbox), facts=facts, answers={}, **begun)
        self.state["seen"] = self._actions(Evidence(self.sandbox, self.state))

    def _buy(self, client: Client, card: int, cents: int, merchant: str = "Example Market", settle: bool = True) -> str:
        """Make a purchase and return its id. It is settled if `settle` is set, unless it was declined.

        Args:
            client: The client of the operator.
            card: Number of the active card.
            cents: Amount.
            merchant: Name of the merchant.
            settle: Whether to settle the purchase.
        """
        id_ = first_guide(self.sandbox.seed)["cards"]["active"][card]
        bought = client.simulate_authorization(card_id=id_, amount=cents, merchant_name=merchant, **_PURCHASE)
        if settle and bought.status == "authorized":
            self.sandbox.settle(bought.transaction_id)
        return str(bought.transaction_id)

    def _actions(self, seen: Evidence) -> str:
        """Return a hash of what the learner did since the task began."""
        changed, requests = map(digest, seen.changed.values()), map(signature, seen.requests)
        return digest({"changed": [*changed], "requests": [*requests], "answers": self.state["answers"]})

    def catch_up(self) -> bool:
        """Make the purchases of the live traffic that are due. Return whether there were any."""
        traffic, state = self.task.traffic, self.state
        due = int(min(self.minutes, self.task.minutes) * 60) // traffic["every"] if traffic else 0
        if state["played"] >= due or state["done"]:
            return False
        purchase = {name: value for name, value in traffic.items() if name != "every"}
        with operator(self.sandbox, self.ca_file) as client:
            for _ in range(due - state["played"]):
                with suppress(WorkbenchError):  # the card was stopped, so the purchase fails
                    bought = self._buy(client, **purchase)
                    state["others"].append(bought)
                    state["records"][bought] = digest(self.sandbox.state(bought))
        state["played"] = due
        return True

    def start(self) -> Facts:
        """Begin the task, unless it is an active drill or a completed exercise. Return the facts of the task."""
        if not self.is_begun or not (self.task.minutes or self.check()["missing"] == []):
            self.begin()
        return {"facts": filled(names_of(self.sandbox, self.state), self.task.show)}

    def answer(self, values: Record) -> Facts:
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
        return {"answers": read}

    def check(self) -> Facts:
        """Return the unmet criteria, and whether the learner did anything since the last check.

        Raises:
            UsageError: The task was not begun.
        """
        self._require()
        self.catch_up()
        seen = Evidence(self.sandbox, self.state)
        actions, missing = self._actions(seen), list(judge(self.task, seen))
        tried = actions != self.state["seen"]
        self.state.update(seen=actions, done=not missing)
        good = f"A good answer: {' '.join(self.task.debrief.split())}" if self.task.debrief else ""
        comment = f"The sandbox shows everything that the task asks for, and nothing else.\n{good}".strip()
        return {"missing": missing, "tried": tried, "comment": "" if missing else comment}

    def _require(self) -> None:
        if not self.is_begun:
            name = self.task.name
            raise UsageError(f'{name} was not begun in this sandbox: wb.course.task("{name}") begins it', of="course")


def run(client: Client, sandbox: object, names: MutableMapping[str, Any], step: Record) -> None:
    """Run one call or control of a world. A step has `do`, its arguments, and `as`, the name for the resulting id.

    Raises:
        LookupError: An argument refers to a record that the sandbox does not hold.
    """
    target: Any = client if step["do"] in OPERATIONS else sandbox
    arguments = {name: filled(names, value) for name, value in step.items() if name not in ("do", "as")}
    result = attrgetter(step["do"])(target)(**arguments)
    if "as" in step:
        names[step["as"]] = getattr(result, "transaction_id", None) or result.id
