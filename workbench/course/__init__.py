"""Exercises that check themselves by what the service saw and holds, never by variables.

wb.course.check("contracts-2")     # done, or what is missing
wb.course.hint("contracts-2")      # up to three; the last one shows the call
wb.course.progress()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.course.exercise import Exercise as Exercise
    from workbench.course.room import Banner as Banner
    from workbench.course.room import Checked as Checked
    from workbench.course.room import Hint as Hint
    from workbench.course.room import Progress as Progress
    from workbench.course.room import check as check
    from workbench.course.room import exercises as exercises
    from workbench.course.room import hint as hint
    from workbench.course.room import in_class as in_class
    from workbench.course.room import progress as progress
    from workbench.course.room import reset as reset
    from workbench.course.room import task as task
    from workbench.course.room import use as use

_WHERE = {
    "Exercise": "exercise",
    **dict.fromkeys(
        ("Banner", "Checked", "Hint", "Progress", "check", "exercises", "hint", "in_class", "progress", "reset", "task", "use"),
        "room",
    ),
}  # fmt: skip
__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{where}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_WHERE]
