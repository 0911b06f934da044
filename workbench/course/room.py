"""The course as a learner meets it: check, hint, progress, reset."""

import os
import weakref
from typing import Any

from workbench import session
from workbench.course import record
from workbench.course.catalogue import EXERCISES
from workbench.course.exercise import Exercise, Seen
from workbench.errors import InvalidRequest, visible
from workbench.rendering import markup, text
from workbench.rendering.layout import Cell, Grid, Sheet

_DONE = Cell(("✓ done",), "status:done")
_OPEN = Cell(("○ not yet",), "status:planned")
_chosen: list["weakref.ref[Any]"] = []


class Shown:
    """What has a face in plain text and in HTML."""

    def sheet(self) -> Sheet | Grid:
        """Return what is to be shown."""
        raise TypeError(type(self).__name__)

    def __str__(self) -> str:
        return text.write(self.sheet())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return markup.write(self.sheet())


class Checked(Shown):
    """How an exercise stands: `done`, or what is `missing`."""

    def __init__(self, exercise: Exercise, missing: tuple[str, ...]) -> None:
        self.exercise = exercise
        self.missing = missing

    @property
    def done(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing

    def sheet(self) -> Sheet:
        """Return what is to be shown."""
        one = self.exercise
        if self.done:
            return Sheet(
                title=f"Exercise {one.id}: {one.title}", status=_DONE, words=("Well done: the service agrees.",)
            )
        return Sheet(
            title=f"Exercise {one.id}: {one.title}",
            status=_OPEN,
            words=tuple(f"Missing: {visible(what)}" for what in self.missing),
            notes=(f'Stuck? wb.course.hint("{one.id}") gives a hint; the last of {len(one.hints)} shows the call.',),
        )


class Hint(Shown):
    """One hint; `number` of `of`."""

    def __init__(self, exercise: Exercise, number: int) -> None:
        self.exercise = exercise
        self.number = number
        self.of = len(exercise.hints)
        self.words = exercise.hints[number - 1]

    def sheet(self) -> Sheet:
        """Return what is to be shown."""
        title, lines = f"Hint {self.number} of {self.of} for {self.exercise.id}", tuple(self.words.split("\n"))
        if self.number < self.of:
            return Sheet(title=title, words=lines, notes=("Ask again for the next one.",))
        return Sheet(title=title, code=lines, notes=("That was the last one.",))


class Progress(Shown):
    """What one has done of the course."""

    def __init__(self, kept: record.Kept) -> None:
        self.done = tuple(one.id for one in EXERCISES.values() if kept.get(one.id, {}).get("done") is True)
        self.left = tuple(name for name in EXERCISES if name not in self.done)
        self._hints = {name: kept.get(name, {}).get("hints", 0) for name in EXERCISES}

    def sheet(self) -> Grid:
        """Return what is to be shown."""
        rows = tuple(
            (
                Cell((one.notebook.replace("-", " "),)),
                Cell((one.id,)),
                Cell((one.title,)),
                _DONE if one.id in self.done else _OPEN,
                Cell((str(self._hints[one.id] or ""),), "number"),
            )
            for one in EXERCISES.values()
        )
        return Grid(
            title=f"The course: {len(self.done)} of {len(EXERCISES)} exercises done",
            columns=("notebook", "exercise", "what", "how it stands", "hints"),
            rows=rows,
            total=len(rows),
        )


class Task(Shown):
    """What an exercise asks for."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise

    def sheet(self) -> Sheet:
        """Return what is to be shown."""
        one = self.exercise
        return Sheet(title=f"Exercise {one.id}: {one.title}", words=(one.task,))


class Banner(Shown):
    """Says whether a class is on."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def sheet(self) -> Sheet:
        """Return what is to be shown."""
        if not self.on:
            return Sheet(title="CLASS", status=Cell(("○ over",), "status:planned"))
        return Sheet(
            title="CLASS",
            status=Cell(("■ real services: reads only",), "status:locked"),
            words=(
                (
                    "From here on this kernel sends nothing with an effect to a real service, and nothing can be armed. "
                    "The people of the sandbox are all made up; put no real ones into it."
                ),
            ),
        )


def exercises(notebook: str | None = None) -> tuple[Exercise, ...]:
    """Return the exercises, all of them or those of one notebook, as "contracts"."""
    return tuple(one for one in EXERCISES.values() if notebook is None or notebook in one.notebook)


def task(exercise: str) -> Task:
    """Return what an exercise asks for."""
    return Task(_exercise(exercise))


def use(api: Any) -> None:
    """Have `check` look at this session, where the one that was made last is not meant."""
    _chosen[:] = [weakref.ref(api)]


def check(exercise: str, api: Any = None) -> Checked:
    """Look at what the service saw and holds, and say whether an exercise is done, or what is missing.

    Args:
        api: The session meant: that of `use`, else the one that was made last, where left out.

    Raises:
        InvalidRequest: There is no such exercise, or no session yet.
        WrongEnvironment: The session is on a real service.
    """
    found = _exercise(exercise)
    checked = Checked(found, tuple(found.check(Seen(_session() if api is None else api))))
    if checked.done:
        record.keep(found.id, done=True)
    return checked


def hint(exercise: str, number: int | None = None) -> Hint:
    """Return the next hint of an exercise, or one by its number; the last shows the call."""
    found = _exercise(exercise)
    shown = record.read().get(found.id, {}).get("hints", 0)
    wanted = min(shown + 1 if number is None else number, len(found.hints))
    if wanted < 1:
        raise InvalidRequest(f"hints are numbered from 1 to {len(found.hints)}", of="course.hint")
    record.keep(found.id, hints=max(shown, wanted))
    return Hint(found, wanted)


def progress() -> Progress:
    """Return what you have done of the course, in this and earlier kernels."""
    return Progress(record.read())


def reset(exercise: str | None = None) -> Progress:
    """Forget your own progress, of one exercise or of all. No sandbox is touched, yours or another's.

    A new sandbox comes with the first cell of a notebook, where `connect` makes it anew from the same seed.
    """
    record.forget(*EXERCISES if exercise is None else (_exercise(exercise).id,))
    return progress()


def in_class(on: bool = True) -> Banner:
    """Make this kernel safe for a class: nothing with an effect goes to a real service, and nothing can be armed."""
    os.environ["WORKBENCH_READONLY"] = "1" if on else "0"
    return Banner(on)


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
