"""Course functions for learners: begin, task, check, hint, answer, progress, reset, notes."""

import getpass
import os
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, overload

from workbench.base.errors import UsageError, WorkbenchError, WrongEnvironment, not_allowed, visible
from workbench.base.system.progress import notebook_shell
from workbench.client import session
from workbench.client.calls.client import refuse_async
from workbench.course import membership, stored
from workbench.course.attempt import Attempt
from workbench.course.display import DONE, OPEN, RIGHT, WRONG, Display
from workbench.course.evidence import Facts, Record
from workbench.course.task_files import EXERCISES, QUIZZES, TASKS, Task, read_file
from workbench.course.task_result import TaskResult, read_result
from workbench.sandbox.internals import internals
from workbench.sandbox.remote import RemoteSandbox
from workbench.screens import PANES
from workbench.service.rendering.show import mapping_grid
from workbench.service.rendering.text import Cell, Row, Sheet

_tasks = dict(TASKS)
_bound: dict[str, "weakref.ref[Any]"] = {}
_ended = threading.Event()  # tests set this to end live traffic
PLACES = tuple(dict.fromkeys(task.place for task in TASKS.values()))
"""Names that `begin` accepts: numbers of notebooks, and names of drills."""


class Asked(Display):
    """A sheet that a notebook shows as widgets. `view` is the name of the widgets' class in `ask_view`."""

    view = "ChooserView"

    def _ipython_display_(self) -> None:
        if notebook_shell() is None or not find_spec("ipywidgets"):
            raise NotImplementedError  # IPython then shows the sheet as HTML or text
        from workbench.course import ask_view

        getattr(ask_view, self.view)(self)._ipython_display_()


class TaskShown(Asked):
    """A task with its facts and questions. A notebook shows fields and buttons for the task.

    Attributes:
        facts: Facts that the task states, such as ids.
    """

    view = "AskView"

    def __init__(self, reply: Record) -> None:
        self.task = task = reply["about"]
        self.facts = dict(reply.get("facts", {}))
        notes = _notes(reply)
        rows = tuple(Row(name, Cell((visible(str(value), 2_000),))) for name, value in self.facts.items())
        if rows:
            notes = (f'In code: facts = wb.course.task("{task["name"]}").facts', *notes)
        elif task["kind"] == "quiz":
            notes = (f'In code: wb.course.answer("{task["name"]}", …)', *notes)
        super().__init__(Sheet(title=task["heading"], words=tuple(task["lines"]), rows=rows, notes=notes))


class TaskList(Asked):
    """List of all tasks. A notebook offers to start a task."""

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self.titles = {name: task.title for name, task in tasks.items() if task.kind != "quiz"}
        rows = [tasks[name].row for name in self.titles]
        super().__init__(mapping_grid(rows, None, len(rows), "Tasks, each begun with wb.course.task(NAME)"))


def _pane(api: object) -> Any:
    from workbench.course.ask_view import ChooserView

    return ChooserView(task(), api)


PANES["Tasks"] = _pane


class Feedback(Display):
    """Feedback on a check, a quiz or a request for a hint.

    Attributes:
        missing: The unmet criteria. `ok` is true if there are none.
        hints: The hints so far.
    """

    def __init__(self, reply: Record) -> None:
        task = reply["about"]
        self.missing = tuple(visible(what, 400) for what in reply.get("missing", ()))
        self.ok = not self.missing
        self.hints = tuple(map(str, reply.get("hints", ())))
        of = task["hints"]
        if self.hints:
            code = tuple("\n".join(self.hints[of - 1 :]).splitlines())
            title = f"Hint {len(self.hints)} of {of} for {task['name']}"
            sheet = Sheet(title=title, words=self.hints[: of - 1], code=code, notes=_notes(reply))
        else:
            right, wrong = (RIGHT, WRONG) if task["kind"] == "quiz" else (DONE, OPEN)
            lines = [reply["comment"]] if reply.get("comment") else [f"Missing: {what}" for what in self.missing]
            lines += [f"Hints: {of}. The last one contains the code."] if of and self.missing else []
            status = right if self.ok else wrong
            sheet = Sheet(title=task["heading"], status=status, words=tuple(lines), notes=_notes(reply))
        super().__init__(sheet)


def begin(place: str) -> None:
    """Begin a notebook or a drill in a separate sandbox. Call this function before `wb.connect()`.

    In a class, the sandbox is new, and no other notebook or drill uses it. Outside a class, no call is needed: each
    `wb.connect()` creates a separate sandbox.

    Args:
        place: Number of the notebook or beginning of its name, such as "06", or the name of a drill.

    Raises:
        UsageError: There is no such notebook or drill.
    """
    name = str(place)
    name = name[:2] if name[:2].isdigit() else name
    if name not in PLACES:
        raise UsageError([not_allowed("place", str(place), PLACES)], of="course.begin")
    _bound.clear()
    membership.begin(name)


def add(path: str | os.PathLike[str]) -> TaskShown:
    """Add a task from a file to this process, and show it without starting it.

    Raises:
        UsageError: The file is not a valid task. The message lists the problems.
    """
    added = read_file(Path(path))
    _tasks[added.name] = added
    return TaskShown({"about": added.about})


@overload
def task(name: str, api: object = None) -> TaskShown: ...
@overload
def task() -> TaskList: ...
def task(name: str | None = None, api: object = None) -> Any:
    """Show a task and start it. The check compares later states of the sandbox with the state at the start.

    A drill creates its incident, or continues if it was begun before. To restart an exercise, call this function again.
    A quiz needs no session. Without a name, all exercises and drills are shown, and a notebook offers to start one.

    Args:
        name: Name of the task, such as "start-1" or "fraud-burst".
        api: The session for the task; default: the most recent session.

    Raises:
        UsageError: There is no such task, or no session yet.
        WrongEnvironment: The session is connected to a real service.
    """
    if name is None:
        return TaskList(_tasks)
    chosen = api or session.latest()
    reply = _do("start", name, chosen)
    if chosen is not None:
        _bound[name] = weakref.ref(chosen)
        if not _class_url(chosen):
            _play(name, chosen)
    return TaskShown(reply)


def check(name: str, api: object = None) -> Feedback:
    """Check your solution of a task. Return whether the task is done, or the unmet criteria.

    The check reads the sandbox's requests and records. In a class, the server runs the check on its own data.

    Args:
        name: Name of the task.
        api: The session to check; default: the session of `task`, otherwise the most recent session.

    Raises:
        UsageError: There is no such task, or no session yet.
        WrongEnvironment: The session is connected to a real service.
    """
    return Feedback(_do("check", name, api))


def answer(name: str, value: object = None, /, api: object = None, **values: object) -> Display:
    """Answer a quiz, such as `answer("start-who", "c")`, or the questions of a task, such as `answer("read-a-card",
    held=4500)`.

    A quiz returns the feedback; the answers of other tasks are judged by `check`.

    Args:
        name: Name of the task.
        value: The answer, if the task has a single question.
        api: The session of the task; default: the session passed to `task`, otherwise the most recent session.
        values: Answers by name.

    Raises:
        UsageError: The task does not ask for this answer, or was not begun.
    """
    answers = {key: str(each) for key, each in values.items()}
    if value is not None:
        answers[""] = str(value)
    reply = _do("answer", name, api, answers)
    if "missing" in reply:
        return Feedback(reply)
    text = ", ".join(f"{key} = {visible(each, 60)}" for key, each in reply["answers"].items())
    notes = (f'wb.course.check("{name}") checks the answer.',)
    return Display(Sheet(title=f"Answer to {name}", words=(text,), notes=notes))


def hint(name: str, api: object = None) -> Feedback:
    """Return the next hint of a task. The last hint contains the code.

    Raises:
        UsageError: There is no such task, or the task has no hints.
    """
    return Feedback(_do("hint", name, api))


class CourseProgress(Display):
    """Your progress: your name, and for each exercise its status, tries, hints and minutes."""

    def __init__(self, name: str, results: Record) -> None:
        self.name = name
        read = {task: read_result(results.get(task)) or TaskResult(task=task) for task in (*EXERCISES, *QUIZZES)}
        self.results = {exercise: read[exercise] for exercise in EXERCISES}
        self.done = tuple(exercise for exercise, result in self.results.items() if result.done)
        rows = [{**EXERCISES[name].row, **result.row} for name, result in self.results.items()]
        title = f"The course of {visible(name, 60)}: {len(self.done)} of {len(EXERCISES)} exercises done"
        right = sum(read[quiz].done for quiz in QUIZZES)
        super().__init__(mapping_grid(rows, None, len(rows), f"{title}, {right} of {len(QUIZZES)} quizzes right"))


def progress() -> CourseProgress:
    """Return your progress in the course, with tries, hints and minutes. In a class, the server stores the progress."""
    own = {name.removeprefix("result:"): content for name, content in stored.read_stored().items()}
    status = membership.status() or {"learner": _account(), "results": own}
    # quiz results are from this user's file, because a class stores none; exercise results are from the class
    return CourseProgress(str(status["learner"]), {**own, **dict.fromkeys(EXERCISES), **status["results"]})


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the account has no name, as in some containers
        return "this account"


def reset() -> CourseProgress:
    """Delete your progress in all tasks. Sandboxes and results of a class remain."""
    stored.write({})
    return progress()


def notes() -> tuple[str, ...]:
    """Return your trainer's notes, oldest first; empty outside a class."""
    return tuple(visible(note) for note in (membership.status() or {}).get("notes", ()))


def _class_url(api: object) -> str:
    """Return the URL of the learner's sandbox on a class server; empty outside a class."""
    sandbox: object = session.sandbox_of(api)
    return internals(sandbox).url if isinstance(sandbox, RemoteSandbox) and internals(sandbox).hosted else ""


def _do(kind: str, name: str, api: object, values: Record = MappingProxyType({})) -> Facts:
    """Carry out an action on the class server, or in this process. Return the answer to the learner."""
    chosen: Any = api or (_bound[name]() if name in _bound else None) or session.latest()
    refuse_async(chosen, "course")
    is_quiz = name in _tasks and _tasks[name].kind == "quiz"
    if url := "" if is_quiz else _class_url(chosen):
        entry = {"kind": kind, "task": name, "values": {**values}}
        reply = membership.ask(url, getattr(chosen, "_ca_file", None), entry)
        with stored.exclusive():
            stored.set(f"result:{name}", reply["result"])  # stored here as well, so that progress outlives the class
    elif name not in _tasks:
        raise UsageError([not_allowed("task", name, _tasks)], of="course")
    else:
        with stored.exclusive():
            reply = _attempt(name, chosen).do(kind, values)
    return reply


def _attempt(name: str, api: Any) -> Attempt:
    """Return the attempt at a task in a session's sandbox. Attempts and results are stored in the learner's file."""
    ca_file = getattr(api, "_ca_file", None)
    return Attempt(task=_tasks[name], sandbox_in=partial(_sandbox, api), store=stored, ca_file=ca_file)


def _sandbox(api: Any, environment: str) -> Any:
    """Return the sandbox of a session for a task that is done in an environment."""
    if api is None:
        raise UsageError("there is no session yet: run the first cell of the notebook", of="course")
    sandbox = session.sandbox_of(api)
    if sandbox is None:
        raise WrongEnvironment("Tasks are done in a sandbox; this session is connected to a real service.")
    if api.environment != environment:
        raise UsageError(f"the task needs the {environment} session: pass it as the second argument", of="course")
    return sandbox


def _notes(reply: Record) -> tuple[str, ...]:
    return tuple(f"Note from your trainer: {note}" for note in reply.get("notes", ()))


def _play(name: str, api: object) -> None:
    """Make the purchases of a drill's live traffic until the drill is done or over, or the session is closed."""
    every: float = _tasks[name].traffic.get("every", 0)

    def play() -> None:
        with suppress(WorkbenchError, RuntimeError):  # the session was closed, or its service has stopped
            while not _ended.wait(every / 4):
                with stored.exclusive():
                    if not _attempt(name, api).play():
                        return

    if every:
        _ended.clear()
        threading.Thread(target=play, name=f"task-{name}", daemon=True).start()
