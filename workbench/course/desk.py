"""What a learner does with tasks in a place: the same for a kernel, a command and a class server."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import attrs

from workbench.course.attempt import Attempt
from workbench.course.evidence import Facts
from workbench.course.task_files import Task

BASE = ""


@attrs.frozen(kw_only=True)
class Act:
    """One thing that a learner does with a task.

    Attributes:
        kind: "about", "start", "check", "hint", "answer" or "debrief".
        task: Name of the task.
        values: Answers, of the kind "answer".
        number: Number of the hint, of the kind "hint".
    """

    kind: str
    task: str
    values: Mapping[str, str] = attrs.field(factory=dict)
    number: int = 0


@attrs.frozen(kw_only=True)
class Desk:
    """Tasks in a place, with the state of the attempts at them.

    Attributes:
        tasks: The tasks by name.
        sandbox: Function that returns the sandbox of an environment.
        load: Function that returns the stored state of an attempt by name; None before. That of `BASE` is the mark of
            tasks that nobody has begun.
        save: Function that stores it.
        fetched: Ids of the events that the learner's inbox has read.
        elsewhere: Requests of another sandbox of the same session.
        ca_file: Certificates for a served sandbox.
    """

    tasks: Mapping[str, Task]
    sandbox: Callable[[str], Any]
    load: Callable[[str], Any]
    save: Callable[[str, Facts], object]
    fetched: Collection[str] = ()
    elsewhere: Iterable[Any] = ()
    ca_file: str | None = None

    def attempt(self, name: str) -> Attempt:
        """Return the attempt at a task."""
        task = self.tasks[name]
        state = self.load(name)
        stored = state if isinstance(state, dict) else None
        return Attempt(task, self.sandbox(task.environment), stored, self.ca_file, base=self.load(BASE))

    def do(self, act: Act) -> dict[str, Any]:
        """Carry out an act, and return the answer to the learner as JSON values.

        Raises:
            UsageError: The task was not begun, or asks for no such answer.
        """
        task = self.tasks[act.task]
        told: dict[str, Any] = {"about": _about(task)}
        if act.kind == "hint":
            told["hint"] = task.all_hints[act.number - 1]
        elif act.kind != "about":
            attempt = self.attempt(act.task)
            told |= _ACTS[act.kind](self, attempt, act)
            self.save(act.task, attempt.state)
        return told

    def _start(self, attempt: Attempt, _: Act) -> dict[str, Any]:
        goes_on = attempt.is_begun and (attempt.task.minutes or not attempt.check(self.fetched, self.elsewhere))
        if not goes_on:
            attempt.begin()
        return {"facts": attempt.facts()}

    def _check(self, attempt: Attempt, _: Act) -> dict[str, Any]:
        attempt.require(as_made=True)
        missing = attempt.check(self.fetched, self.elsewhere)
        attempt.state["done"] = not missing
        return {"missing": list(missing), "tried": attempt.tried}

    def _answer(self, attempt: Attempt, act: Act) -> dict[str, Any]:
        attempt.require(as_made=True)
        attempt.answer(act.values)
        return {}

    def _debrief(self, attempt: Attempt, _: Act) -> dict[str, Any]:
        attempt.require(as_made=False)
        return {"rows": attempt.debrief(), "good": [attempt.task.debrief, attempt.task.answer.strip()]}


_ACTS: Mapping[str, Callable[[Desk, Attempt, Act], dict[str, Any]]] = {
    "start": Desk._start,
    "check": Desk._check,
    "answer": Desk._answer,
    "debrief": Desk._debrief,
}
KINDS = frozenset({"about", "hint", *_ACTS})
"""Kinds of acts."""


def _about(task: Task) -> dict[str, Any]:
    described = {"title": task.title, "task": task.task, "notebook": task.notebook, "minutes": task.minutes}
    return {**described, "hints": len(task.all_hints), "questions": task.questions}
