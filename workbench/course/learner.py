"""Course functions for learners: begin, task, check, hint, answer, debrief, progress, reset, notes."""

import getpass
import os
import threading
import weakref
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workbench.base.errors import UsageError, WorkbenchError, WrongEnvironment, not_allowed, visible
from workbench.client import session
from workbench.client.calls.client import Client, refuse_async
from workbench.client.calls.guards import READONLY, readonly
from workbench.course import membership
from workbench.course.desk import Act, Desk
from workbench.course.display import DONE, OPEN, Display, require_widgets
from workbench.course.quizzes import QUIZZES
from workbench.course.stored import FILE, read_stored, update, write_stored
from workbench.course.stored import QUIZZES as QUIZ_FILE
from workbench.course.task_files import EXERCISES, TASKS, Expectation, Task, read_file
from workbench.sandbox.internals import internals
from workbench.sandbox.remote import RemoteSandbox
from workbench.service.rendering.text import Cell, Grid, Sheet

_ABOUT = "learner"
"""Key of the learner's name in the progress file, next to the tasks."""
_ADDED: dict[str, Task] = {}
_bound: dict[str, "weakref.ref[Any]"] = {}
_traffic: dict[str, threading.Event] = {}
_lock = threading.RLock()
PLACES = tuple(dict.fromkeys(task.place for task in TASKS.values()))
"""Names of the sandboxes of a class: numbers of the notebooks, and drills."""


class TaskShown(Display):
    """A task with its facts and questions; a notebook shows fields and buttons for it.

    Attributes:
        facts: What the task states, such as ids.
        questions: What is to be answered, by name.
    """

    def __init__(self, task: Task, facts: Mapping[str, Any], notes: tuple[str, ...] = ()) -> None:
        self.task = task
        self.facts = dict(facts)
        self.questions = task.questions
        asked = tuple(f"Answer {name}: {that}." for name, that in self.questions.items())
        code = tuple(line for name, value in self.facts.items() for line in _lines(name, value))
        kind = "Exercise" if task.notebook else "Drill"
        planned = (f"Planned time: {task.minutes} minutes.",) if task.minutes else ()
        paragraphs = (" ".join(task.task.split()), *asked, *planned)
        super().__init__(Sheet(title=f"{kind} {task.name}: {task.title}", words=paragraphs, code=code, notes=notes))

    def _ipython_display_(self) -> None:
        require_widgets()
        from workbench.course.ask_view import AskView

        def checked(values: dict[str, str]) -> Display:
            if values:
                answer(self.task.name, **values)
            return check(self.task.name)

        buttons = {"Check": checked, "Hint": lambda _: hint(self.task.name)}
        AskView(self, self.questions, buttons)._ipython_display_()


def _lines(name: str, value: object) -> list[str]:
    """Return a fact as lines; a list or mapping has one line per entry."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None or not value:
        return [f"facts[{name!r}] = {visible(str(value), 200)}"]
    return [f"facts[{name!r}][{key!r}] = {visible(str(inner), 200)}" for key, inner in items]


class CheckResult(Display):
    """The result of a check: `ok`, or what is `missing`."""

    def __init__(self, task: Task, missing: tuple[str, ...], notes: tuple[str, ...] = ()) -> None:
        self.task = task
        self.missing = missing
        self.ok = not missing
        lines = [f"Missing: {visible(what, 400)}" for what in missing]
        advice = [f'wb.course.hint("{task.name}") shows a hint; the last of {len(task.all_hints)} contains the code.']
        if not task.all_hints:
            advice = []
        if self.ok:
            lines, advice = ["The sandbox shows everything that is asked for, and nothing else."], []
            advice += [f'wb.course.debrief("{task.name}") shows what was done, and a good answer.'] * bool(task.minutes)
        title = f"{task.title} ({task.name})"
        status = DONE if self.ok else OPEN
        super().__init__(Sheet(title=title, status=status, words=tuple(lines), notes=(*advice, *notes)))


class Hint(Display):
    """One hint: number `number` of `of`."""

    def __init__(self, task: Task, number: int, text: str, notes: tuple[str, ...] = ()) -> None:
        self.task = task
        self.number = number
        self.of = len(task.all_hints)
        self.text = text
        title, lines = f"Hint {number} of {self.of} for {task.name}", tuple(text.split("\n"))
        if number < self.of:
            note = f'wb.course.hint("{task.name}") shows the next hint.'
            super().__init__(Sheet(title=title, words=lines, notes=(note, *notes)))
        else:
            super().__init__(Sheet(title=title, code=lines, notes=("This is the last hint.", *notes)))


def begin(place: str) -> None:
    """Begin a notebook or a drill in a sandbox of its own; call it before `wb.connect()`.

    In a class the sandbox is new, and no other notebook or drill uses it. Outside a class each `wb.connect()` makes a
    sandbox, and nothing is shared.

    Args:
        place: Number of the notebook or beginning of its name, such as "06", or the name of a drill.

    Raises:
        UsageError: There is no such notebook or drill.
    """
    name = str(place)
    chosen = next((folder for folder in PLACES if folder == name or (folder.isdigit() and name[:2] == folder)), None)
    if chosen is None:
        raise UsageError([not_allowed("place", name, PLACES)], of="course.begin")
    _bound.clear()
    membership.begin(chosen)


def add(path: str | os.PathLike[str]) -> TaskShown:
    """Add a task from a file to those of this process, and show it without beginning it.

    Raises:
        UsageError: The file is not a task; the message lists what is wrong.
    """
    task = read_file(Path(path))
    _ADDED[task.name] = task
    return TaskShown(task, {})


def task(name: str, api: object = None) -> TaskShown:
    """Show a task and begin it: what the sandbox holds now is what only the task may change.

    A drill creates its incident, and goes on if it was begun before. To begin an exercise again, call this again.

    Args:
        name: Its name, such as "start-1" or "fraud-burst".
        api: The session to do it in; default: the most recent one.

    Raises:
        UsageError: There is no such task, or no session yet.
        WrongEnvironment: The session is connected to a real service.
    """
    api = _session(name, api)
    _bound[name] = weakref.ref(api)
    result = _do(api, Act(kind="start", task=name))
    update(FILE, name, begun=_begun(name))
    if _class_of(api) is None:
        _play(name, api)
    return TaskShown(_described(name, result), result["facts"], _notes(result))


def check(name: str, api: object = None) -> CheckResult:
    """Check a task by what the sandbox received and stores; return whether it is done, or what is missing.

    In a class the server runs the check on its own data.

    Args:
        name: Name of the task.
        api: The session to check; default: that of `task`, otherwise the most recent one.

    Raises:
        UsageError: There is no such task, or no session yet.
        WrongEnvironment: The session is connected to a real service.
    """
    result = _do(_session(name, api), Act(kind="check", task=name))
    missing = tuple(visible(what, 400) for what in result["missing"])
    _keep(name, tried=result["tried"], done=not missing)
    return CheckResult(_described(name, result), missing, _notes(result))


def answer(name: str, api: object = None, /, **values: object) -> Display:
    """Answer the questions of a task, such as `answer("read-a-card", held=4500)`; `check` judges them.

    Raises:
        UsageError: The task does not ask for that, or was not begun.
    """
    answers = {key: str(value) for key, value in values.items()}
    _do(_session(name, api), Act(kind="answer", task=name, values=answers))
    text = ", ".join(f"{key} = {visible(value, 60)}" for key, value in answers.items())
    note = f'wb.course.check("{name}") judges it.'
    return Display(Sheet(title=f"Answer to {name}", words=(text,), notes=(note,)))


def hint(name: str, number: int | None = None, api: object = None) -> Hint:
    """Return the next hint of a task, or an earlier one by its number; the last one contains the code.

    Raises:
        UsageError: The hint does not exist, or the previous one was not shown yet.
    """
    api = api or _bound_session(name) or session.latest()
    refuse_async(api, "course")
    shown = read_stored(FILE).get(name, {}).get("hints", 0)
    count = len(_described(name, _do(api, Act(kind="about", task=name))).all_hints)
    wanted = min(shown + 1, count) if number is None else number
    if not 1 <= wanted <= count:
        raise UsageError(f"hints are numbered from 1 to {count}", of="course.hint")
    if wanted > shown + 1:
        raise UsageError(f"hint {wanted} follows hint {shown + 1}, which was not shown yet", of="course.hint")
    result = _do(api, Act(kind="hint", task=name, number=wanted))
    update(FILE, name, begun=_begun(name), hints=max(wanted, shown))
    text = "\n".join(visible(line, 400) for line in str(result["hint"]).split("\n"))
    return Hint(_described(name, result), wanted, text, _notes(result))


def debrief(name: str, api: object = None) -> Display:
    """Show what was done since a task began, and a good answer.

    Raises:
        UsageError: There is no such task, or it was not begun.
    """
    debriefing = _do(_session(name, api), Act(kind="debrief", task=name))
    wording, code = debriefing["good"]
    cells = tuple(tuple(Cell((visible(str(part), 120),)) for part in row) for row in debriefing["rows"])
    advice = [f"A good answer: {' '.join(wording.split())}"] if wording else []
    columns, notes = ("who", "what", "status"), (*advice, *code.split("\n"))
    return Display(Grid(title=f"What was done ({name})", columns=columns, rows=cells, total=len(cells), notes=notes))


class CourseProgress(Display):
    """Your name, and for each exercise whether it is done, with tries, hints and minutes."""

    def __init__(self, stored: Mapping[str, Mapping[str, Any]], name: str, notes: tuple[str, ...] = ()) -> None:
        self.name = name
        self.done = tuple(exercise for exercise in EXERCISES if stored.get(exercise, {}).get("done") is True)
        self.left = tuple(exercise for exercise in EXERCISES if exercise not in self.done)
        numbers = ("tries", "hints", "minutes")
        shown = ("done", "begun", *numbers)
        self.results = {
            exercise: {key: value for key, value in stored.get(exercise, {}).items() if key in shown}
            for exercise in EXERCISES
        }
        rows = tuple(
            (
                *(Cell((text,)) for text in (exercise.notebook.replace("-", " "), exercise.name, exercise.title)),
                DONE if exercise.name in self.done else OPEN,
                *(Cell((_number(self.results[exercise.name].get(number)),), "number") for number in numbers),
            )
            for exercise in EXERCISES.values()
        )
        title = f"The course of {visible(name, 60)}: {len(self.done)} of {len(EXERCISES)} exercises done"
        columns = ("notebook", "exercise", "title", "status", *numbers)
        super().__init__(Grid(title=title, columns=columns, rows=rows, total=len(rows), notes=notes))


def _number(value: object) -> str:
    """Return a number of tries, hints or minutes as text; empty for an exercise that was not begun."""
    return "" if not isinstance(value, int | float) else str(round(value)) if value == 0 or value >= 1 else "< 1"


def progress(name: str | None = None) -> CourseProgress:
    """Return your progress in the course, with tries, hints and minutes; in a class that of its server.

    Args:
        name: Your name outside a class, stored for later calls; default: your account name on this machine.
    """
    if name is not None:
        update(FILE, _ABOUT, name=visible(name.strip(), 60))
    answered = [result for id_, result in read_stored(QUIZ_FILE).items() if id_ in QUIZZES]
    right = sum(result.get("right") is True for result in answered)
    tries = sum(result.get("tries", 0) for result in answered)
    text = f"{right} of {len(QUIZZES)} quizzes answered correctly, with {tries} answer{'' if tries == 1 else 's'}."
    status = membership.status()
    if status is not None:
        return CourseProgress(status["results"], str(status["learner"]), (text,))
    stored = read_stored(FILE)
    return CourseProgress(stored, str(stored.get(_ABOUT, {}).get("name") or _account()), (text,))


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        return "this account"


def reset(name: str | None = None) -> CourseProgress:
    """Delete your progress in one task, or in all tasks and quizzes. Sandboxes and results of a class stay."""
    gone = (*TASKS, *_ADDED) if name is None else (_named(name).name,)
    write_stored(FILE, {id_: facts for id_, facts in read_stored(FILE).items() if id_ not in gone})
    if name is None:
        write_stored(QUIZ_FILE, {})
    return progress()


def in_class(on: bool = True) -> Display:
    """Turn class mode on or off. It refuses calls with an effect on a real service, and arming.

    It cannot be turned off while you are in a class, or if WORKBENCH_READONLY=1 was set before this kernel started.
    """
    os.environ[READONLY] = "1" if on else "0"
    text = (
        "This kernel sends nothing with an effect to a real service, and nothing can be armed. "
        "All people in the sandbox are fictitious; do not enter real ones."
    )
    if not on and not readonly() and not membership.joined():
        return Display(Sheet(title="CLASS", status=Cell(("○ off",), "status:planned")))
    if not on:
        lock = "you are in a class" if membership.joined() else "WORKBENCH_READONLY=1 was set before this kernel began"
        text = f"Class mode stays on: {lock}, and no cell can lift that. Ask your trainer."
    return Display(Sheet(title="CLASS", status=Cell(("■ real services: reads only",), "status:locked"), words=(text,)))


def notes(api: object = None) -> tuple[str, ...]:
    """Return the notes of your trainer, oldest first; empty outside a class."""
    in_class = _class_of(api or session.latest())
    status = membership.status(in_class)
    return () if status is None else tuple(visible(note["text"]) for note in status["notes"])


# sessions, and the class


def _class_of(api: object) -> RemoteSandbox | None:
    """Return the learner's sandbox on a class server; None outside a class."""
    sandbox: object = session.sandbox_of(api)
    return sandbox if isinstance(sandbox, RemoteSandbox) and internals(sandbox).hosted else None


def _do(api: object, act: Act) -> Any:
    """Carry out an act on the class server, or here, and return the answer to the learner."""
    if (in_class := _class_of(api)) is not None:
        return membership.report(in_class, act)
    _named(act.task)
    with _lock:
        return _desk(api).do(act)


def _desk(api: Any) -> Desk:
    """Return the tasks in the sandbox of a session; the state of attempts is in the learner's file."""
    began = datetime.now(UTC)
    stored = api.inbox.stored() if api is not None else ()
    return Desk(
        tasks={**TASKS, **_ADDED},
        sandbox=lambda environment: _sandbox(api, environment),
        load=lambda name: read_stored(FILE).get(name, {}).get("state"),
        save=lambda name, state: update(FILE, name, state=state),
        fetched={event.event.id for event in stored if event.arrived < began},
        elsewhere=_elsewhere(api),
        ca_file=getattr(api, "_ca_file", None),
    )


def _sandbox(api: Any, environment: str) -> Any:
    if api.environment != environment:
        raise UsageError(f"this is done in the {environment} session; pass it as the second argument", of="course")
    return session.sandbox_of(api)


def _notes(answer: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"Note from your trainer: {visible(note)}" for note in answer.get("notes", ()))


def _described(name: str, answer: Mapping[str, Any]) -> Task:
    """Return a task as a learner sees it: without criteria and hints."""
    about = answer["about"]
    asked = tuple(Expectation(verb="answer", subject=key, that=that) for key, that in about["questions"].items())
    return Task(
        name=name,
        title=visible(str(about["title"]), 200),
        task=visible(str(about["task"]), 4_000),
        notebook=str(about["notebook"]),
        minutes=int(about["minutes"]),
        hints=("",) * int(about["hints"]),
        expect=asked,
    )


def _named(name: str) -> Task:
    tasks = {**TASKS, **_ADDED}
    if name not in tasks:
        raise UsageError([not_allowed("task", name, tasks)], of="course")
    return tasks[name]


def _bound_session(name: str) -> Any:
    return _bound[name]() if name in _bound else None


def _session(name: str, api: object) -> Any:
    chosen = api or _bound_session(name) or session.latest()
    if chosen is None:
        raise UsageError("there is no session yet: run the first cell of the notebook", of="course")
    refuse_async(chosen, "course")
    if session.sandbox_of(chosen) is None:
        raise WrongEnvironment("Tasks are done in a sandbox; this session is connected to a real service.")
    if _class_of(chosen) is None:
        _named(name)
    return chosen


def _elsewhere(api: object) -> list[Any]:
    """Return the requests of the newest session if it has another embedded sandbox, as from `connect(tenant=)`."""
    newest = session.latest() if isinstance(api, Client) else None
    own: Any = session.sandbox_of(api)
    other: Any = None if newest is None else session.sandbox_of(newest)
    if other is None or isinstance(other, RemoteSandbox) or internals(own).world_id() == internals(other).world_id():
        return []
    return list(other.requests(all_tenants=True, reveal=True))


def _play(name: str, api: object) -> None:
    """Make the purchases of a drill's live traffic while its session is open."""
    task = _named(name)
    if not task.traffic:
        return
    if name in _traffic:
        _traffic[name].set()
    stopped = _traffic[name] = threading.Event()

    def play() -> None:
        while not stopped.wait(task.traffic["every"] / 4):
            try:
                with _lock:
                    attempt = _desk(api).attempt(name)
                    if not attempt.is_begun or attempt.state.get("done"):
                        return
                    if attempt.catch_up():
                        update(FILE, name, state=attempt.state)
            except (WorkbenchError, RuntimeError):  # the session was closed, or its service has ended
                return

    threading.Thread(target=play, name=f"task-{name}", daemon=True).start()


# progress


def _begun(name: str) -> str:
    return str(read_stored(FILE).get(name, {}).get("begun") or datetime.now(UTC).isoformat(timespec="seconds"))


def _keep(name: str, *, tried: bool, done: bool) -> None:
    """Store a check; one after the solution, or without anything done since the last one, does not count as a try."""
    facts = read_stored(FILE).get(name, {})
    if facts.get("done") is True:
        return
    values: dict[str, Any] = {"begun": _begun(name), "tries": facts.get("tries", 0) + (tried or done)}
    if done:
        seconds = (datetime.now(UTC) - datetime.fromisoformat(values["begun"])).total_seconds()
        values |= {"done": True, "minutes": round(max(seconds, 0) / 60, 1)}
    update(FILE, name, **values)
