"""Attempts at a task: its world, live traffic, answers and check. The sandbox is embedded, served or in a class."""

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from operator import attrgetter
from typing import Any

import attrs

from workbench.base.errors import UsageError, WorkbenchError, allowed_names
from workbench.client.calls.client import Client
from workbench.course.evidence import Evidence, Facts, Record, digest, first_guide, mark, operator
from workbench.course.judge import filled, judge, same
from workbench.course.task_files import Task
from workbench.course.task_result import TaskResult, read_result
from workbench.sandbox.internals import internals
from workbench.service.interface.table import OPERATIONS

_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors that occur if a sandbox lacks records that the task expects."""
KINDS = frozenset({"start", "check", "answer", "hint"})
"""Kinds of a learner's actions."""
_PURCHASE: Record = {"currency": "USD", "merchant_category_code": "5411"}


@attrs.frozen(kw_only=True)
class Attempt:
    """A learner's attempt at a task in one sandbox, with the attempt's stored state and result.

    Attributes:
        task: The task.
        sandbox_in: Function that returns the sandbox of an environment, or the controls of a served sandbox.
        store: Stored JSON values by name, with the functions `get` and `set`.
        attempts: Prefix of the names of stored attempts.
        results: Prefix of the names of stored results.
        active: Seconds that the learner has worked. The default counts all time as work.
        ca_file: PEM file with the certificates that are trusted for a served sandbox.
    """

    task: Task
    sandbox_in: Callable[[Any], Any]
    store: Any
    attempts: str = "state:"
    results: str = "result:"
    active: float = attrs.field(factory=time.time)
    ca_file: str | None = None

    @cached_property
    def sandbox(self) -> Any:
        """Sandbox in the environment of the task."""
        return self.sandbox_in(self.task.environment)

    @cached_property
    def state(self) -> Facts:
        """JSON values that `begin` stored; empty before the task begins."""
        return self.store.get(f"{self.attempts}{self.task.name}") or {}

    def do(self, kind: str, values: Record) -> Facts:
        """Carry out an action, store the result, and return the answer to the learner as JSON values.

        Args:
            kind: One of `KINDS`.
            values: Answers, for the kind "answer".

        Raises:
            UsageError: The task was not begun, does not ask for this answer, or has no hints.
        """
        task, name = self.task, f"{self.results}{self.task.name}"
        before = read_result(self.store.get(name))
        result = before or TaskResult(task=task.name, begun_active=self.active)
        if kind == "hint":
            hints = task.all_hints if result.done else task.all_hints[: result.hints + 1]
            if not hints:
                raise UsageError(f"{task.name} has no hints", of="course.hint")
            reply = {"hints": hints}
        elif task.kind == "quiz":
            reply = self._ask_quiz(kind, values)
        else:
            reply = self._attempted(kind, values)
        after = result.after(reply, len(task.all_hints), self.active)
        if after != before:
            self.store.set(name, attrs.asdict(after))
        return {"about": task.about, "result": attrs.asdict(after), **reply}

    def _ask_quiz(self, kind: str, values: Record) -> Facts:
        """Return the feedback on the answer to a quiz, which needs no sandbox."""
        (question,) = self.task.expect
        if kind == "start":
            return {}
        if kind != "answer" or not values:
            return {"missing": [f"not answered yet: {question.that}."], "tried": False}
        answer = question.read(next(iter(values.values())))
        feedback = question.comment(answer)
        return {"missing": [] if same(answer, question.value) else [feedback], "comment": feedback, "tried": True}

    def _attempted(self, kind: str, values: Record) -> Facts:
        name = self.task.name
        if kind != "start" and not self.is_begun:
            raise UsageError(f'{name} was not begun in this sandbox: wb.course.task("{name}") begins it', of="course")
        try:
            reply = self.answer(values) if kind == "answer" else self.start() if kind == "start" else self.check()
        except WorkbenchError:
            raise
        except _UNREADABLE as error:
            what = f"the sandbox lacks records that the task needs ({type(error).__name__})"
            raise UsageError(f"{what}: reset the sandbox, and begin the task again", of="course") from None
        self._save()
        return reply

    def _save(self) -> None:
        self.store.set(f"{self.attempts}{self.task.name}", self.state)

    def play(self) -> bool:
        """Make the purchases of live traffic that are due. Return whether the drill is still running."""
        is_on = self.is_begun and not self.state["done"] and self.minutes <= self.task.minutes
        if is_on:
            self.catch_up()
        return is_on

    @property
    def is_begun(self) -> bool:
        """Whether the attempt was begun in this sandbox, and the sandbox was not reset since."""
        return bool(self.state.get("world") == internals(self.sandbox).world_id())

    @property
    def minutes(self) -> float:
        """Minutes since the attempt began."""
        return (time.time() - float(self.state["begun"])) / 60

    def begin(self) -> None:
        """Create the world of the task, and store its initial state."""
        task, port = self.task, 20_000 + secrets.randbelow(20_000)  # `port` is for the learner's webhook receiver
        facts = {"port": port, "url": f"http://127.0.0.1:{port}/webhooks", **task.values}
        with operator(self.sandbox, self.ca_file) as client:
            facts["bought"] = [self._buy(client, *purchase) for purchase in task.purchases]
            for step in task.world:
                facts |= run(client, self.sandbox, {**first_guide(self.sandbox.seed), **facts}, step)
        self.state.clear()
        self.state.update(mark(self.sandbox), facts=facts, answers={}, begun=time.time(), played=0, done=False)
        self.state["seen"] = Evidence(self.sandbox, self.state).actions

    def _buy(self, client: Client, card: int, cents: int, merchant: str = "Example Market", settle: bool = True) -> str:
        """Make a purchase, settle it if requested and not declined, and return its id.

        Args:
            client: Client that injected faults do not affect.
            card: Index in the guide's list of active cards.
            cents: Amount in US cents.
            merchant: Name of the merchant.
            settle: Whether to settle the purchase if it was not declined.
        """
        id_ = first_guide(self.sandbox.seed)["cards"]["active"][card]
        bought = client.simulate_authorization(card_id=id_, amount=cents, merchant_name=merchant, **_PURCHASE)
        if settle and bought.status == "authorized":
            self.sandbox.settle(bought.transaction_id)
        return str(bought.transaction_id)

    def catch_up(self) -> None:
        """Make the purchases of the live traffic that are due."""
        traffic, state = self.task.traffic, self.state
        due = int(min(self.minutes, self.task.minutes) * 60) // traffic["every"] if traffic else 0
        if state["played"] >= due or state["done"]:
            return
        with operator(self.sandbox, self.ca_file) as client:
            for _ in range(due - state["played"]):
                with suppress(WorkbenchError):  # a purchase fails if the learner locked or canceled the card
                    bought = self._buy(client, *traffic["purchase"])
                    state["others"].append(bought)
                    state["records"][bought] = digest(self.sandbox.state(bought))
        state["played"] = due
        self._save()

    def start(self) -> Facts:
        """Begin the task, unless it is a drill that was begun or an exercise that is done. Return the stated facts."""
        if not self.is_begun or not (self.task.minutes or not self.check()["missing"]):
            self.begin()
        return {"facts": filled(Evidence(self.sandbox, self.state).names, self.task.show)}

    def answer(self, values: Record) -> Facts:
        """Store the learner's answers.

        Raises:
            UsageError: The answer is not allowed.
        """
        questions = self.task.questions
        if len(questions) == 1:
            values = {name or next(iter(questions)): value for name, value in values.items()}
        if not values or not values.keys() <= questions.keys():
            raise UsageError(f"{self.task.name} asks for {allowed_names(questions) or 'nothing'}", of="course.answer")
        read = {name: questions[name].read(str(value)) for name, value in values.items()}
        self.state["answers"].update(read)
        return {"answers": read}

    def check(self) -> Facts:
        """Return the unmet criteria, and whether the learner did anything since the last check."""
        self.catch_up()
        seen = Evidence(self.sandbox, self.state)
        missing, tried = list(judge(self.task, seen)), seen.actions != self.state["seen"]
        self.state.update(seen=seen.actions, done=not missing)
        good = f"A good answer: {' '.join(self.task.debrief.split())}" if self.task.debrief else ""
        comment = f"The sandbox shows everything that the task asks for, and nothing else.\n{good}".strip()
        return {"missing": missing, "tried": tried, "comment": "" if missing else comment}


def run(client: Client, sandbox: object, names: Record, step: Record) -> Facts:
    """Run one step of a task's world. Return the id of the result by the name in `as`; empty without `as`.

    A step has `do` (an operation or a control), the arguments, and optionally `as`, a name for the id of the result.

    Raises:
        LookupError: An argument refers to a record that the sandbox does not hold.
    """
    target: Any = client if step["do"] in OPERATIONS else sandbox
    arguments = {name: filled(names, value) for name, value in step.items() if name not in ("do", "as")}
    result = attrgetter(step["do"])(target)(**arguments)
    return {step["as"]: getattr(result, "transaction_id", None) or result.id} if "as" in step else {}
