"""Learner's actions on tasks in a place, and their results. Kernels, commands and class servers share this code."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from workbench.base.errors import UsageError, WorkbenchError
from workbench.course.answers import allowed_answers, comment, read_answer
from workbench.course.attempt import Attempt
from workbench.course.evidence import Facts, Record
from workbench.course.judge import same
from workbench.course.task_files import Expectation, Task

_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors if a sandbox lacks records that the task expects."""
KINDS = frozenset({"start", "check", "answer", "hint"})
"""Kinds of actions."""


@attrs.frozen(kw_only=True)
class Act:
    """A learner's action on a task.

    Attributes:
        kind: "start", "check", "hint" or "answer".
        task: Name of the task.
        values: Answers, for the kind "answer".
    """

    kind: str
    task: str
    values: Mapping[str, str] = attrs.field(factory=dict)


def about(task: Task) -> Facts:
    """Return a task as learners see it, as JSON values: without criteria, hints and answers."""
    questions = task.questions
    only = next(iter(questions.values())) if len(questions) == 1 else None
    return {
        **{name: getattr(task, name) for name in ("name", "kind", "task", "minutes")},
        "heading": task.title if task.kind == "quiz" else f"{task.kind} {task.name}: {task.title}",
        "hints": len(task.all_hints),
        "questions": {name: _asked(question) for name, question in questions.items()},
        "options": only.options if only else {},
        "allowed": allowed_answers(only) if only else "",
    }


def _asked(question: Expectation) -> str:
    allowed = allowed_answers(question)
    return f"{question.that} ({allowed})" if allowed else question.that


@attrs.frozen(kw_only=True)
class TaskResult:
    """A learner's result in a task. A completed task stays completed, with its tries, hints and minutes."""

    task: str
    done: bool = False
    tries: int = 0
    hints: int = 0
    last_hint: bool = False  # whether the learner saw the hint with the code
    # minutes of work until the task was done, or until the last try; JSON results contain decimals
    minutes: float | None = attrs.field(default=None, converter=attrs.converters.optional(float))
    last_problem: str = ""
    begun_active: float = attrs.field(default=0.0, converter=float)  # the learner's active seconds when the task began

    def minutes_by(self, active: float) -> float:
        """Return the minutes worked on this task; `active` is the learner's total active time in seconds."""
        return round(max(active - self.begun_active, 0) / 60, 1)

    @property
    def row(self) -> Facts:
        """Row of a table, without the numbers that are zero."""
        numbers = {"tries": self.tries, "hints": self.hints, "minutes": self.minutes}
        return {
            "status": "✓ done" if self.done else "○ not done",
            **{name: number or None for name, number in numbers.items()},
        }

    def after(self, reply: Record, hints: int, active: float) -> "TaskResult":
        """Return the result after an action such as a hint or a check. A completed task stays completed.

        Args:
            reply: The answer to the learner.
            hints: Number of hints that the task has.
            active: Seconds that the learner has worked.
        """
        if self.done:
            return self
        if "hints" in reply:
            shown = len(reply["hints"])
            return attrs.evolve(self, hints=shown, last_hint=shown == hints)
        missing = reply.get("missing", ())
        if not reply.get("tried") and (missing or "missing" not in reply):
            return self
        problem = missing[0] if missing else ""
        minutes = self.minutes_by(active)
        return attrs.evolve(self, tries=self.tries + 1, done=not missing, minutes=minutes, last_problem=problem)


class Store(Protocol):
    """Store of JSON values by name: the learner's file, or the results of a class."""

    def get(self, name: str, default: object = None) -> Any:
        """Return a value."""

    def set(self, name: str, value: object) -> None:
        """Store a value."""


@attrs.frozen(kw_only=True)
class Desk:
    """Tasks in a place, with the state of the learner's attempts and results.

    Attributes:
        tasks: The tasks by name.
        sandbox: Function that returns the sandbox of an environment.
        store: The store of attempts and results.
        attempts: Prefix of the names of the attempts in `store`.
        results: Prefix of the names of the results in `store`.
        active: Seconds that the learner has worked.
        ca_file: Certificates for a served sandbox.
    """

    tasks: Mapping[str, Task]
    sandbox: Callable[[str], Any]
    store: Store
    attempts: str = "state:"
    results: str = "result:"
    active: float = attrs.field(factory=time.time)
    ca_file: str | None = None

    def play(self, name: str) -> bool:
        """Make the purchases of live traffic that are due. Return whether the drill is still running."""
        attempt = self._attempt(name)
        if not attempt.is_on:
            return False
        if attempt.catch_up():
            self.store.set(f"{self.attempts}{name}", attempt.state)
        return True

    def _attempt(self, name: str) -> Attempt:
        task, state = self.tasks[name], self.store.get(f"{self.attempts}{name}", {})
        return Attempt(task, self.sandbox(task.environment), state, self.ca_file)

    def do(self, act: Act) -> Facts:
        """Perform an action, store the result, and return the answer to the learner as JSON values.

        Raises:
            UsageError: The task was not begun, does not ask for this answer, or has no further hint.
        """
        task, name = self.tasks[act.task], f"{self.results}{act.task}"
        before = read_result(self.store.get(name))
        result = before or TaskResult(task=task.name, begun_active=self.active)
        if act.kind == "hint":
            reply = _hint(task, result)
        elif task.kind == "quiz":
            reply = _quiz(task, act)
        else:
            reply = self._attempted(act)
        after = result.after(reply, len(task.all_hints), self.active)
        if after != before:
            self.store.set(name, attrs.asdict(after))
        return {"about": about(task), "result": attrs.asdict(after), **reply}

    def _attempted(self, act: Act) -> Facts:
        try:
            attempt = self._attempt(act.task)
            reply = attempt.answer(act.values) if act.kind == "answer" else getattr(attempt, act.kind)()
        except WorkbenchError:
            raise
        except _UNREADABLE as error:
            what = f"the sandbox lacks records that the task needs ({type(error).__name__})"
            raise UsageError(f"{what}: reset it, and begin the task again", of="course") from None
        self.store.set(f"{self.attempts}{act.task}", attempt.state)
        return reply


def read_result(content: object) -> TaskResult | None:
    """Return a result from JSON values; None if the values are not a result."""
    try:
        return TaskResult(**content)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _hint(task: Task, result: TaskResult) -> Facts:
    """Return the next hint, or all hints once the task is done."""
    hints = task.all_hints if result.done else task.all_hints[: result.hints + 1]
    if not hints:
        raise UsageError(f"{task.name} has no hints", of="course.hint")
    return {"hints": hints}


def _quiz(task: Task, act: Act) -> Facts:
    """Return the feedback on the answer to a quiz, which needs no sandbox."""
    (question,) = task.expect
    if act.kind == "start":
        return {"facts": {}}
    if act.kind != "answer" or not act.values:
        return {"missing": [f"not answered yet: {question.that}."], "tried": False}
    answer = read_answer(question, next(iter(act.values.values())))
    feedback = comment(question, answer)
    return {"missing": [] if same(answer, question.value) else [feedback], "comment": feedback, "tried": True}
