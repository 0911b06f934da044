"""Course functions for learners: begin, task, check, hint, answer, progress, reset, notes."""

import getpass
import os
import threading
import weakref
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, overload

import attrs

from workbench.base.errors import UsageError, WorkbenchError, WrongEnvironment, not_allowed, visible
from workbench.client import session
from workbench.client.calls.client import refuse_async
from workbench.course import membership, stored
from workbench.course.desk import Act, Desk, TaskResult, about
from workbench.course.display import DONE, OPEN, RIGHT, WRONG, Display, require_widgets
from workbench.course.task_files import EXERCISES, QUIZZES, TASKS, Task, read_file
from workbench.sandbox.internals import internals
from workbench.sandbox.remote import RemoteSandbox
from workbench.screens import PANES
from workbench.service.rendering.show import mapping_grid
from workbench.service.rendering.text import Cell, Row, Sheet, label

_ADDED: dict[str, Task] = {}
_bound: dict[str, "weakref.ref[Any]"] = {}
_ended = threading.Event()  # live traffic ends when this is set
_lock = threading.RLock()
PLACES = tuple(dict.fromkeys(task.place for task in TASKS.values()))
"""Names of the sandboxes of a class: numbers of the notebooks, and drills."""


class TaskShown(Display):
    """A task with its facts and questions. A notebook shows fields and buttons for the task.

    Attributes:
        facts: Facts that the task states, such as ids.
        questions: The questions, by name of the answer.
    """

    def __init__(self, task: Mapping[str, Any], facts: Mapping[str, Any], notes: tuple[str, ...] = ()) -> None:
        self.task = task
        self.facts = dict(facts)
        self.questions: Mapping[str, str] = task["questions"]
        lines = [" ".join(task["task"].split()), *(f"{letter})  {text}" for letter, text in task["options"].items())]
        planned = [f"Planned time: {task['minutes']} minutes."] if task["minutes"] else []
        values = {name: visible(str(value), 2_000) for name, value in self.facts.items()}
        rows = tuple(Row(label(name), Cell((value,))) for name, value in values.items())
        brief = Sheet(title=task["heading"], words=(*lines, *planned), rows=rows, notes=notes)
        if task["kind"] == "quiz":
            lines.append(f"Answer with {task['allowed']}.")
            notes = (f'In code: wb.course.answer("{task["name"]}", …)', *notes)
        else:
            lines += [f"Answer {name}: {that}." for name, that in self.questions.items()]
        code = tuple(f"facts[{name!r}] = {value}" for name, value in values.items())
        super().__init__(Sheet(title=task["heading"], words=(*lines, *planned), code=code, notes=notes), brief)

    def _ipython_display_(self) -> None:
        require_widgets()
        from workbench.course.ask_view import AskView

        AskView(self, self.task)._ipython_display_()


class TaskList(Display):
    """List of all tasks. A notebook offers to start a task."""

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self.titles = {name: task.title for name, task in tasks.items() if task.kind != "quiz"}
        rows = [tasks[name].row for name in self.titles]
        super().__init__(mapping_grid(rows, None, len(rows), "Tasks, each begun with wb.course.task(NAME)"))

    def _ipython_display_(self) -> None:
        require_widgets()
        from workbench.course.ask_view import ChooserView

        ChooserView(self, self.titles)._ipython_display_()


def _pane(api: object) -> Any:
    from workbench.course.ask_view import ChooserView

    listed = task()
    return ChooserView(listed, listed.titles, api)


PANES["Tasks"] = _pane


class Feedback(Display):
    """Feedback on a check, a quiz or a request for a hint.

    Attributes:
        missing: The unmet criteria. `ok` is true if there are none.
        hints: The hints so far.
    """

    def __init__(self, task: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        self.missing = tuple(visible(what, 400) for what in reply.get("missing", ()))
        self.ok = not self.missing
        self.hints = tuple(map(str, reply.get("hints", ())))
        number, of, name = len(self.hints), task["hints"], task["name"]
        if self.hints:
            is_last = number == of
            words, code = (self.hints[:-1], tuple(self.hints[-1].split("\n"))) if is_last else (self.hints, ())
            sheet = Sheet(title=f"Hint {number} of {of} for {name}", words=words, code=code, notes=_notes(reply))
        else:
            right, wrong = (RIGHT, WRONG) if task["kind"] == "quiz" else (DONE, OPEN)
            words = (reply["comment"],) if reply.get("comment") else tuple(f"Missing: {what}" for what in self.missing)
            advice = (f'wb.course.hint("{name}") shows a hint; the last of {of} contains the code.',) if of else ()
            status = right if self.ok else wrong
            sheet = Sheet(title=task["heading"], status=status, words=words, notes=(*advice, *_notes(reply)))
        # the buttons of a notebook replace the code in the advice
        super().__init__(sheet, attrs.evolve(sheet, notes=_notes(reply)))


def begin(place: str) -> None:
    """Begin a notebook or a drill in a separate sandbox. Call this function before `wb.connect()`.

    In a class, the sandbox is new, and no other notebook or drill uses it. Outside a class, each `wb.connect()` creates
    a separate sandbox.

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
    """Add a task from a file to this process, and show it without starting it.

    Raises:
        UsageError: The file is not a valid task. The message lists the problems.
    """
    task = read_file(Path(path))
    _ADDED[task.name] = task
    return TaskShown(about(task), {})


@overload
def task(name: str, api: object = None) -> TaskShown: ...
@overload
def task() -> TaskList: ...
def task(name: str | None = None, api: object = None) -> TaskShown | TaskList:
    """Show a task and start it. The check compares later states of the sandbox with the state at the start.

    A drill creates its incident, or continues if it was begun before. To restart an exercise, call this function again.
    A quiz needs no session. Without a name, all exercises and drills are shown, and a notebook offers to start one of
    them.

    Args:
        name: Name of the task, such as "start-1" or "fraud-burst".
        api: The session for the task; default: the most recent session.

    Raises:
        UsageError: There is no such task, or no session yet.
        WrongEnvironment: The session is connected to a real service.
    """
    if name is None:
        return TaskList({**TASKS, **_ADDED})
    chosen = api or session.latest()
    begun, reply = _do(Act(kind="start", task=name), chosen)
    if chosen is not None and begun["kind"] != "quiz":
        _bound[name] = weakref.ref(chosen)
        if _class_of(chosen) is None:
            _play(name, chosen)
    return TaskShown(begun, reply["facts"], _notes(reply))


def check(name: str, api: object = None) -> Feedback:
    """Check a task against what the sandbox received and stores. Return whether it is done, or the unmet criteria.

    In a class, the server runs the check on its own data.

    Args:
        name: Name of the task.
        api: The session to check; default: the session of `task`, otherwise the most recent session.

    Raises:
        UsageError: There is no such task, or no session yet.
        WrongEnvironment: The session is connected to a real service.
    """
    return Feedback(*_do(Act(kind="check", task=name), api))


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
    asked, reply = _do(Act(kind="answer", task=name, values=answers), api)
    if "missing" in reply:
        return Feedback(asked, reply)
    text = ", ".join(f"{key or next(iter(asked['questions']))} = {visible(each, 60)}" for key, each in answers.items())
    note = f'wb.course.check("{name}") judges it.'
    return Display(Sheet(title=f"Answer to {name}", words=(text,), notes=(note,)))


def hint(name: str, api: object = None) -> Feedback:
    """Return the next hint of a task. The last hint contains the code.

    Raises:
        UsageError: There is no such task, or the task has no hints.
    """
    return Feedback(*_do(Act(kind="hint", task=name), api))


class CourseProgress(Display):
    """Your name, and for each exercise whether it is done, with your tries, hints and minutes."""

    def __init__(self, name: str, results: Mapping[str, TaskResult]) -> None:
        self.name = name
        self.results = {exercise: results.get(exercise) or TaskResult(task=exercise) for exercise in EXERCISES}
        self.done = tuple(exercise for exercise, result in self.results.items() if result.done)
        rows = [{**EXERCISES[name].row, **result.row} for name, result in self.results.items()]
        right = sum(quiz in results and results[quiz].done for quiz in QUIZZES)
        title = f"The course of {visible(name, 60)}: {len(self.done)} of {len(EXERCISES)} exercises done"
        super().__init__(mapping_grid(rows, None, len(rows), f"{title}, {right} of {len(QUIZZES)} quizzes right"))


def progress() -> CourseProgress:
    """Return your progress in the course, with tries, hints and minutes. In a class, the server stores the progress."""
    results = {name: stored.get(f"result:{name}") for name in TASKS}
    name, status = _account(), membership.status()
    if status is not None:  # without a class, quizzes still work
        name = str(status["learner"])
        results = {**{name: results[name] for name in QUIZZES}, **status["results"]}
    read = {name: TaskResult.read(result) for name, result in results.items()}
    return CourseProgress(name, {name: result for name, result in read.items() if result is not None})


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the account has no name, as in some containers
        return "this account"


def reset() -> CourseProgress:
    """Delete your progress in all tasks. Sandboxes and results of a class remain."""
    stored.write({})
    return progress()


def notes(api: object = None) -> tuple[str, ...]:
    """Return your trainer's notes, oldest first; empty outside a class."""
    status = membership.status(_class_of(api or session.latest()))
    return () if status is None else tuple(visible(note["text"]) for note in status["notes"])


# sessions and the class


def _class_of(api: object) -> RemoteSandbox | None:
    """Return the learner's sandbox on a class server; None outside a class."""
    sandbox: object = session.sandbox_of(api)
    return sandbox if isinstance(sandbox, RemoteSandbox) and internals(sandbox).hosted else None


def _do(act: Act, api: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Perform an action on the class server, or in this process. Return the task and the answer to the learner."""
    chosen: Any = api or (_bound[act.task]() if act.task in _bound else None) or session.latest()
    refuse_async(chosen, "course")
    tasks = {**TASKS, **_ADDED}
    is_quiz = act.task in tasks and tasks[act.task].kind == "quiz"
    in_class = None if is_quiz else _class_of(chosen)
    if in_class is not None:
        reply = membership.report(in_class, act)
        stored.set(f"result:{act.task}", reply["result"])  # stored locally as well, so that progress outlives the class
    elif act.task not in tasks:
        raise UsageError([not_allowed("task", act.task, tasks)], of="course")
    else:
        needs_sandbox = not is_quiz and act.kind != "hint"
        if needs_sandbox:
            _require_sandbox(chosen)
        with _lock:
            reply = _desk(chosen if needs_sandbox else None).do(act)
    return reply["about"], reply


def _require_sandbox(api: object) -> None:
    if api is None:
        raise UsageError("there is no session yet: run the first cell of the notebook", of="course")
    if session.sandbox_of(api) is None:
        raise WrongEnvironment("Tasks are done in a sandbox; this session is connected to a real service.")


def _desk(api: Any) -> Desk:
    """Return the tasks in a session's sandbox. Attempts and results are stored in the learner's file."""
    began = datetime.now(UTC)
    received = api.inbox.stored() if api is not None else ()
    return Desk(
        tasks={**TASKS, **_ADDED},
        sandbox=lambda environment: _sandbox(api, environment),
        store=stored,
        fetched={event.event.id for event in received if event.arrived < began},
        ca_file=getattr(api, "_ca_file", None),
    )


def _sandbox(api: Any, environment: str) -> Any:
    if api.environment != environment:
        raise UsageError(f"this is done in the {environment} session; pass it as the second argument", of="course")
    return session.sandbox_of(api)


def _notes(reply: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"Note from your trainer: {note}" for note in reply.get("notes", ()))


def _play(name: str, api: object) -> None:
    """Make the purchases of a drill's live traffic until it is done, it is over, or its session is closed."""
    every: float = {**TASKS, **_ADDED}[name].traffic.get("every", 0)

    def play() -> None:
        while not _ended.wait(every / 4):
            try:
                with _lock:
                    if not _desk(api).play(name):
                        return
            except (WorkbenchError, RuntimeError):  # the session was closed, or its service has stopped
                return

    if every:
        _ended.clear()
        threading.Thread(target=play, name=f"task-{name}", daemon=True).start()
