"""Results of learners in tasks."""

import attrs

from workbench.course.evidence import Facts, Record


@attrs.frozen(kw_only=True)
class TaskResult:
    """A learner's result in a task. A completed task stays completed, with its tries, hints and minutes."""

    task: str
    done: bool = False
    tries: int = 0
    hints: int = 0
    last_hint: bool = False  # whether the learner saw the hint with the code
    # minutes of work until the task was done, or until the last try; converted, because stored numbers are decimals
    minutes: float | None = attrs.field(default=None, converter=attrs.converters.optional(float))
    last_problem: str = ""
    begun_active: float = attrs.field(default=0.0, converter=float)  # the learner's active seconds when the task began

    def minutes_by(self, active: float) -> float:
        """Return the minutes worked on this task; `active` is the learner's total active time in seconds."""
        return round(max(active - self.begun_active, 0) / 60, 1)

    @property
    def row(self) -> Facts:
        """Result as a table row. Cells with zero are empty."""
        return {
            "status": "✓ done" if self.done else "○ not done",
            "tries": self.tries or None,
            "hints": self.hints or None,
            "minutes": self.minutes or None,
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
        missing = reply.get("missing")
        if missing is None or (missing and not reply["tried"]):
            return self
        return attrs.evolve(
            self,
            tries=self.tries + 1,
            done=not missing,
            minutes=self.minutes_by(active),
            last_problem=missing[0] if missing else "",
        )


def read_result(content: object) -> TaskResult | None:
    """Return a result from JSON values; None if the values are not a result."""
    try:
        return TaskResult(**content)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
