"""The course as a learner calls it: task, check, hint, progress, reset. Progress is kept in a file of the user's state."""

import json
import os
import tomllib
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench import session
from workbench.client.state import state_folder
from workbench.course import checks
from workbench.course.exercise import Exercise, SandboxEvidence
from workbench.errors import CannotRecord, InvalidRequest, visible
from workbench.rendering import markup, text
from workbench.rendering.layout import Cell, Grid, Sheet
from workbench.sandbox.remote import RemoteSandbox

EXERCISES: Mapping[str, Exercise] = {
    id_: Exercise(id=id_, check=getattr(checks, id_.replace("-", "_")), **{**texts, "hints": tuple(texts["hints"])})
    for id_, texts in tomllib.loads(Path(__file__).with_name("exercises.toml").read_text(encoding="utf-8")).items()
}
"""All exercises by their id, in the order of the notebooks."""
FILE = "course.json"
Stored = dict[str, dict[str, Any]]

_DONE = Cell(("✓ done",), "status:done")
_OPEN = Cell(("○ not done",), "status:planned")
_chosen: list["weakref.ref[Any]"] = []


class Display:
    """A sheet, shown as plain text and as HTML."""

    def __init__(self, sheet: Sheet | Grid) -> None:
        self.sheet = sheet

    def __str__(self) -> str:
        return text.write(self.sheet)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return markup.write(self.sheet)


class CheckResult(Display):
    """The result of a check: `done`, or what is `missing`."""

    def __init__(self, exercise: Exercise, missing: tuple[str, ...]) -> None:
        self.exercise = exercise
        self.missing = missing
        self.done = not missing
        title = f"Exercise {exercise.id}: {exercise.title}"
        if self.done:
            super().__init__(
                Sheet(title=title, status=_DONE, words=("The sandbox received everything that the exercise asks for.",))
            )
            return
        words = tuple(f"Missing: {visible(what)}" for what in missing)
        note = f'wb.course.hint("{exercise.id}") shows a hint; the last of {len(exercise.hints)} contains the code.'
        super().__init__(Sheet(title=title, status=_OPEN, words=words, notes=(note,)))


class Hint(Display):
    """One hint: number `number` of `of`."""

    def __init__(self, exercise: Exercise, number: int) -> None:
        self.exercise = exercise
        self.number = number
        self.of = len(exercise.hints)
        self.text = exercise.hints[number - 1]
        title, lines = f"Hint {number} of {self.of} for {exercise.id}", tuple(self.text.split("\n"))
        if number < self.of:
            super().__init__(
                Sheet(title=title, words=lines, notes=(f'wb.course.hint("{exercise.id}") shows the next hint.',))
            )
        else:
            super().__init__(Sheet(title=title, code=lines, notes=("This is the last hint.",)))


class CourseProgress(Display):
    """The exercises done and left, and the hints shown."""

    def __init__(self, stored: Stored) -> None:
        self.done = tuple(name for name in EXERCISES if stored.get(name, {}).get("done") is True)
        self.left = tuple(name for name in EXERCISES if name not in self.done)
        rows = tuple(
            (
                Cell((one.notebook.replace("-", " "),)),
                Cell((one.id,)),
                Cell((one.title,)),
                _DONE if one.id in self.done else _OPEN,
                Cell((str(stored.get(one.id, {}).get("hints") or ""),), "number"),
            )
            for one in EXERCISES.values()
        )
        super().__init__(
            Grid(
                title=f"The course: {len(self.done)} of {len(EXERCISES)} exercises done",
                columns=("notebook", "exercise", "title", "status", "hints"),
                rows=rows,
                total=len(rows),
            )
        )


def exercises(notebook: str | None = None) -> tuple[Exercise, ...]:
    """Return all exercises, or those of one notebook, such as "contracts"."""
    return tuple(one for one in EXERCISES.values() if notebook is None or notebook in one.notebook)


def task(exercise: str) -> Display:
    """Return the task of an exercise."""
    one = _exercise(exercise)
    return Display(Sheet(title=f"Exercise {one.id}: {one.title}", words=(one.task,)))


def use(api: Any) -> None:
    """Check exercises on this session instead of the newest one; None restores the default."""
    _chosen[:] = [] if api is None else [weakref.ref(api)]


def check(exercise: str, api: Any = None) -> CheckResult:
    """Check an exercise by what the service received and holds, and return whether it is done, or what is missing.

    Args:
        exercise: Its id.
        api: The session to look at; by default that of `use`, else the one that was made last.

    Raises:
        InvalidRequest: There is no such exercise, or no session yet.
        WrongEnvironment: The session is on a real service.
    """
    found = _exercise(exercise)
    api = _session() if api is None else api
    in_class = _class_of(api)
    _require_open(found, in_class)
    checked = CheckResult(found, tuple(found.check(SandboxEvidence(api))))
    if checked.done:
        _keep(found.id, done=True)
    if in_class is not None:
        in_class.class_report("check", found.id, missing=checked.missing)
    return checked


def hint(exercise: str, number: int | None = None) -> Hint:
    """Return the next hint of an exercise, or an earlier one by its number; the last shows the call.

    Raises:
        InvalidRequest: There is no such hint, or the one before it was not shown yet.
    """
    found = _exercise(exercise)
    shown = read_stored(FILE).get(found.id, {}).get("hints", 0)
    wanted = min(shown + 1, len(found.hints)) if number is None else number
    if not 1 <= wanted <= len(found.hints):
        raise InvalidRequest(f"hints are numbered from 1 to {len(found.hints)}", of="course.hint")
    if wanted > shown + 1:
        raise InvalidRequest(f"hint {wanted} follows hint {shown + 1}, which was not shown yet", of="course.hint")
    in_class = _class_of(_chosen[0]() if _chosen else session.latest())
    _require_open(found, in_class)
    _keep(found.id, hints=max(shown, wanted))
    if in_class is not None:
        in_class.class_report("hint", found.id, number=wanted)
    return Hint(found, wanted)


def progress() -> CourseProgress:
    """Return your progress in the course, in this and earlier kernels."""
    return CourseProgress(read_stored(FILE))


def reset(exercise: str | None = None) -> CourseProgress:
    """Delete your own progress, of one exercise or of all. Sandboxes are left unchanged.

    The first cell of a notebook makes a new sandbox from the same seed.
    """
    gone = EXERCISES if exercise is None else (_exercise(exercise).id,)
    write_stored(FILE, {id_: facts for id_, facts in read_stored(FILE).items() if id_ not in gone})
    return progress()


def in_class(on: bool = True) -> Display:
    """Turn class mode on or off: it refuses calls with an effect on a real service, and arming."""
    os.environ["WORKBENCH_READONLY"] = "1" if on else "0"
    if not on:
        return Display(Sheet(title="CLASS", status=Cell(("○ off",), "status:planned")))
    words = (
        "This kernel sends nothing with an effect to a real service, and nothing can be armed. "
        "All people in the sandbox are fictitious; do not enter real ones."
    )
    return Display(Sheet(title="CLASS", status=Cell(("■ real services: reads only",), "status:locked"), words=(words,)))


def notes(api: Any = None) -> tuple[str, ...]:
    """Return the notes of your trainer, oldest first; empty outside a class."""
    in_class = _class_of(_session() if api is None else api)
    return () if in_class is None else tuple(visible(note["text"]) for note in in_class.class_status()["notes"])


def _class_of(api: Any) -> RemoteSandbox | None:
    """Return the learner's sandbox on a class server, None outside a class."""
    sandbox: Any = session.sandbox_of(api)
    return sandbox if isinstance(sandbox, RemoteSandbox) and sandbox.in_class else None


def _require_open(exercise: Exercise, in_class: RemoteSandbox | None) -> None:
    if in_class is not None and exercise.notebook in in_class.class_status()["locked"]:
        raise InvalidRequest(f"the lesson {exercise.notebook} is locked by your trainer", of="course")


def _exercise(name: str) -> Exercise:
    found = EXERCISES.get(name)
    if found is None:
        raise InvalidRequest(
            f"there is no exercise {visible(str(name), 60)!r}; there are {', '.join(EXERCISES)}", of="course"
        )
    return found


def _session() -> Any:
    api = _chosen[0]() if _chosen else None
    if api is None:
        api = session.latest()
    if api is None:
        raise InvalidRequest("there is no session yet: run the first cell of the notebook", of="course.check")
    return api


def _keep(exercise: str, **values: Any) -> None:
    """Store something of an exercise."""
    stored = read_stored(FILE)
    write_stored(FILE, {**stored, exercise: {**stored.get(exercise, {}), **values}})


def read_stored(name: str) -> Stored:
    """Return what a file of the user's state holds: facts by the id of an exercise or drill."""
    try:
        found = json.loads((state_folder() / name).read_text(encoding="utf-8"))
    except (CannotRecord, OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {id_: facts for id_, facts in found.items() if isinstance(facts, dict)}


def write_stored(name: str, stored: Mapping[str, Mapping[str, Any]]) -> None:
    """Replace a file of the user's state. Where the folder cannot be written, the course works without."""
    try:
        file = state_folder() / name
        temporary = file.with_name(f".{name}.{os.getpid()}")
        temporary.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        temporary.replace(file)
    except (CannotRecord, OSError):
        return
