"""Plans of a class allow enough time for their notebooks and drills."""

import re
from pathlib import Path

from tests.each import each
from workbench.course.classroom.exports import PLANS, plan
from workbench.course.task_files import DRILLS, EXERCISES

DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| (\d\d) \| [^|]*\| (\d+) ", re.MULTILINE)
MINUTES = {name: int(number) for name, number in ROW.findall((DOCS / "notebooks.md").read_text(encoding="utf-8"))}
FACTOR = 1.25


def needed(text: str) -> float:
    """Return the minutes that the notebooks and drills of a row take."""
    notebooks = sum(MINUTES[number] for number in re.findall(r"(?:^|, )(\d\d)(?=-| [A-Z])", text))
    drill = next((drill.minutes for name, drill in DRILLS.items() if name in text), 0)
    return notebooks * FACTOR + drill


@each("role", PLANS)
def test_a_plan_keeps_its_times(role: str) -> None:
    rows = PLANS[role]["rows"]

    assert [what for minutes, what, _ in rows if minutes < int(needed(what))] == []
    shortest, longest = {"two-hours": (120, 120), "day": (420, 480)}.get(role, (180, 240))
    assert shortest <= sum(minutes for minutes, *_ in rows) <= longest


@each("role", PLANS)
def test_a_plan_names_notebooks_and_drills_that_exist(role: str) -> None:
    known = {exercise.notebook for exercise in EXERCISES.values()} | {f"drill {name}" for name in DRILLS}
    named = {what for _, what, _ in PLANS[role]["rows"] if re.match(r"\d\d-|drill ", what)}

    assert named
    assert named <= known
    assert all(what in plan(role) for what in named)
