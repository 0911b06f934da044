"""Course functions for learners: task, check, hint, quiz, progress, reset. Progress is stored in the user's state
folder.

Exercises and quizzes are data; their texts are in files of this folder.
"""

import getpass
import json
import os
import re
import tomllib
import weakref
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeVar

import attrs

from workbench.base.errors import CannotRecord, UsageError, not_allowed, visible
from workbench.base.system.files import write_file
from workbench.base.system.progress import notebook_shell
from workbench.client import session
from workbench.client.calls.guards import READONLY, readonly
from workbench.client.calls.keys import state_folder
from workbench.course import checks, membership
from workbench.course.checks import Check, SandboxEvidence
from workbench.sandbox.remote import RemoteSandbox
from workbench.service.rendering import money
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.markup import write as html
from workbench.service.rendering.text import Cell, Grid, Sheet

T = TypeVar("T")
FILE = "course.json"
_QUIZZES = "quizzes.json"
_ABOUT = "learner"
"""Key of the learner's name in the progress file, next to the exercises."""
Stored = dict[str, dict[str, Any]]

_DONE = Cell(("✓ done",), "status:done")
_RIGHT = Cell(("✓ right",), "status:done")
_WRONG = Cell(("✗ try again",), "status:planned")
_OPEN = Cell(("○ not done",), "status:planned")
_chosen: list["weakref.ref[Any]"] = []


@attrs.frozen(kw_only=True)
class Exercise:
    """A task of a notebook, its check, and up to three hints, the last of which contains the code."""

    id: str
    notebook: str
    title: str
    task: str
    hints: tuple[str, ...] = attrs.field(converter=tuple, repr=False)
    check: Check = attrs.field(repr=False)


EXERCISES: Mapping[str, Exercise] = {
    id_: Exercise(id=id_, check=getattr(checks, id_.replace("-", "_")), **texts)
    for id_, texts in tomllib.loads(Path(__file__).with_name("exercises.toml").read_text(encoding="utf-8")).items()
}
"""All exercises by id, in the order of the notebooks."""


@attrs.frozen(kw_only=True)
class Quiz:
    """A question with one right answer: a letter, the letters of steps in order, or an amount in cents."""

    id: str
    notebook: str
    question: str
    right: str = attrs.field(repr=False)
    options: Mapping[str, str] = attrs.field(factory=dict)
    feedback: Mapping[str, str] = attrs.field(repr=False)
    otherwise: str = attrs.field(default="", repr=False)

    @property
    def kind(self) -> Literal["choice", "order", "amount"]:
        """Return "choice", "order" or "amount"."""
        return "choice" if len(self.right) == 1 else "order" if self.options else "amount"

    def comment(self, answer: str) -> str:
        """Return the feedback on an answer, right or wrong.

        Raises:
            UsageError: The answer is not a possible one.
        """
        fits, allowed = {
            "choice": (answer in self.options, f"one letter of {', '.join(self.options)}"),
            "amount": (re.fullmatch(r"-?[0-9]{1,15}", answer), "a whole number of cents, such as 1250"),
            "order": (sorted(answer) == sorted(self.options), f"each letter of {', '.join(self.options)} once"),
        }[self.kind]
        if not fits:
            raise UsageError(f"answer {visible(answer, 20)!r}: {allowed}", of="course.quiz")
        if self.kind == "order":
            index = next(
                (n for n, (letter, other) in enumerate(zip(answer, self.right, strict=True)) if letter != other), -1
            )
            if index >= 0:
                given, due = answer[index], self.right[index]
                return f"Step {index + 1} is not “{self.options[given]}”. {self.feedback[due]}"
            return " ".join(self.feedback[letter] for letter in self.right)
        return self.feedback.get(answer, self.otherwise)


QUIZZES: Mapping[str, Quiz] = {
    id_: Quiz(id=id_, **facts)
    for id_, facts in tomllib.loads(Path(__file__).with_name("quizzes.toml").read_text(encoding="utf-8")).items()
}
"""All quizzes by id, in the order of the notebooks."""


def named(known: Mapping[str, T], name: str, noun: str, of: str) -> T:
    """Return the object with a name.

    Raises:
        UsageError: The name is unknown.
    """
    if name not in known:
        raise UsageError([not_allowed(noun, name, known)], of=of)
    return known[name]


class Display(Shown):
    """A sheet, displayed as plain text and as HTML."""

    def __init__(self, sheet: Sheet | Grid) -> None:
        self._sheet = sheet

    def sheet(self) -> Sheet | Grid:
        """Return the sheet."""
        return self._sheet

    __repr__ = Shown.__str__


class CheckResult(Display):
    """The result of a check: `ok`, or what is `missing`."""

    def __init__(
        self, exercise: Exercise, missing: tuple[str, ...], looked_at: str = "", notes: tuple[str, ...] = ()
    ) -> None:
        self.exercise = exercise
        self.missing = missing
        self.ok = not missing
        self.looked_at = looked_at
        title = f"Exercise {exercise.id}: {exercise.title}"
        lines = [f"Missing: {visible(what)}" for what in missing]
        advice = [f"Checked: {looked_at}."] if looked_at else []
        count = len(exercise.hints)
        advice.append(f'wb.course.hint("{exercise.id}") shows a hint; the last of {count} contains the code.')
        if self.ok:
            lines, advice = ["The sandbox received everything that the exercise asks for."], []
        status = _DONE if self.ok else _OPEN
        super().__init__(Sheet(title=title, status=status, words=tuple(lines), notes=(*advice, *notes)))


class Hint(Display):
    """One hint: number `number` of `of`."""

    def __init__(self, exercise: Exercise, number: int, notes: tuple[str, ...] = ()) -> None:
        self.exercise = exercise
        self.number = number
        self.of = len(exercise.hints)
        self.text = exercise.hints[number - 1]
        title, lines = f"Hint {number} of {self.of} for {exercise.id}", tuple(self.text.split("\n"))
        if number < self.of:
            note = f'wb.course.hint("{exercise.id}") shows the next hint.'
            super().__init__(Sheet(title=title, words=lines, notes=(note, *notes)))
        else:
            super().__init__(Sheet(title=title, code=lines, notes=("This is the last hint.", *notes)))


class CourseProgress(Display):
    """Your name, and for each exercise whether it is done, with tries, hints and minutes."""

    def __init__(self, stored: Stored, name: str, quizzes: str = "") -> None:
        self.name = name
        self.done = tuple(exercise for exercise in EXERCISES if stored.get(exercise, {}).get("done") is True)
        self.left = tuple(exercise for exercise in EXERCISES if exercise not in self.done)
        self.results = {exercise: dict(stored.get(exercise, {})) for exercise in EXERCISES}
        numbers = ("tries", "hints", "minutes")
        rows = tuple(
            (
                *(Cell((text,)) for text in (exercise.notebook.replace("-", " "), exercise.id, exercise.title)),
                _DONE if exercise.id in self.done else _OPEN,
                *(Cell((_number(self.results[exercise.id].get(kept)),), "number") for kept in numbers),
            )
            for exercise in EXERCISES.values()
        )
        title = f"The course of {visible(name, 60)}: {len(self.done)} of {len(EXERCISES)} exercises done"
        columns, notes = ("notebook", "exercise", "title", "status", *numbers), (quizzes,) if quizzes else ()
        super().__init__(Grid(title=title, columns=columns, rows=rows, total=len(rows), notes=notes))


def _number(value: object) -> str:
    """Return a number of tries, hints or minutes as text; empty for an exercise that was not begun."""
    return "" if not isinstance(value, int | float) else str(round(value)) if value == 0 or value >= 1 else "< 1"


class QuizResult(Display):
    """A question, or the feedback on an answer; `right` is None before an answer."""

    def __init__(self, quiz: Quiz, answer: str | None, feedback: str, problem: str = "") -> None:
        self.quiz = quiz
        self.right = None if answer is None else answer == quiz.right
        self.feedback = feedback
        self.problem = problem
        if answer is None:
            self.allowed = {
                "choice": "a letter",
                "order": f"the letters in their order, such as {''.join(quiz.options)!r}",
                "amount": "dollars as 45.90, or cents as 4590",
            }[quiz.kind]
            lines = (quiz.question, *(f"{letter})  {text}" for letter, text in quiz.options.items()))
            note = f"Put your answer in place of None ({self.allowed}), and run the cell again."
            super().__init__(Sheet(title="Quiz", words=lines, notes=(problem, note) if problem else (note,)))
            return
        shown = f"{money(int(answer))}" if quiz.kind == "amount" else answer
        status = _RIGHT if self.right else _WRONG
        super().__init__(Sheet(title=f"Quiz: {shown}", status=status, words=(feedback,)))

    def _ipython_display_(self) -> None:
        """Show buttons or a field for a question where a notebook has them."""
        if self.right is not None or self.problem or notebook_shell() is None or not find_spec("ipywidgets"):
            raise NotImplementedError  # IPython shows the sheet then
        from workbench.course.quiz_view import QuizView

        asked = self.quiz
        QuizView(
            html(Sheet(title="Quiz", words=(asked.question,))),
            asked.kind,
            asked.options,
            self.allowed,
            lambda answer: quiz(asked.id, answer)._repr_html_(),
            asked.id,
        )._ipython_display_()


def begin(notebook: str, *sessions: object) -> None:
    """Begin or restart a notebook; in a class, reset the sandboxes of its sessions to their initial state.

    Fault rules, endpoints and the request log are cleared too, so that cells and checks see only what follows. An
    embedded sandbox is new with each `connect` and is not reset.

    Args:
        notebook: Its number or the beginning of its name, such as "06".
        sessions: The sessions of its first cell; `check` uses the first of them, even if others are opened later.

    Raises:
        UsageError: The notebook does not exist.
    """
    full_name = next(
        (exercise.notebook for exercise in EXERCISES.values() if exercise.notebook.startswith(notebook)), None
    )
    if full_name is None or not notebook:
        raise UsageError(
            [not_allowed("notebook", notebook, {exercise.notebook: exercise for exercise in EXERCISES.values()})],
            of="course",
        )
    use(sessions[0] if sessions else None)
    for api in sessions:
        if (sandbox := _class_of(api)) is not None:
            sandbox.clear_faults()
            for endpoint in sandbox.endpoints():
                sandbox.remove_endpoint(endpoint.id)
            sandbox.reset()


def exercises(notebook: str | None = None) -> tuple[Exercise, ...]:
    """Return all exercises, or those of one notebook, such as "contracts"."""
    return tuple(exercise for exercise in EXERCISES.values() if notebook is None or notebook in exercise.notebook)


def task(exercise: str) -> Display:
    """Return the task of an exercise; its time counts from the first call."""
    chosen = _exercise(exercise)
    _keep(chosen.id)
    _, notes = report(_used() or session.latest(), "start", chosen.id)
    return Display(Sheet(title=f"Exercise {chosen.id}: {chosen.title}", words=(chosen.task,), notes=notes))


def use(api: object) -> None:
    """Check exercises on this session instead of the newest one; None restores the default."""
    _chosen[:] = [] if api is None else [weakref.ref(api)]


def check(exercise: str, api: object = None) -> CheckResult:
    """Check an exercise by what the service received and stored; return whether it is done, or what is missing.

    In a class the server runs the check on its own data.

    Args:
        exercise: Its id.
        api: The session to check; default: that of `begin`, otherwise the most recent one.

    Raises:
        UsageError: The exercise does not exist, or there is no session yet.
        WrongEnvironment: The session is connected to a real service.
    """
    checked_exercise = _exercise(exercise)
    chosen = "the session you named"
    if api is None:
        chosen, api = "the session of wb.course.begin" if _used() else "the session made last", _session()
    _require_open(checked_exercise, api)
    seen = SandboxEvidence(api)
    in_class = _class_of(api) is not None
    missing = () if in_class else tuple(checked_exercise.check(seen))
    missing, notes = report(api, "check", checked_exercise.id, missing=missing)
    checked = CheckResult(checked_exercise, missing, f"{chosen}, {seen.where}", notes)
    _keep(checked_exercise.id, tried=True, done=checked.ok)
    return checked


def hint(exercise: str, number: int | None = None) -> Hint:
    """Return the next hint of an exercise, or an earlier one by its number; the last shows the call.

    Raises:
        UsageError: The hint does not exist, or the previous one was not shown yet.
    """
    chosen = _exercise(exercise)
    shown = read_stored(FILE).get(chosen.id, {}).get("hints", 0)
    wanted = min(shown + 1, len(chosen.hints)) if number is None else number
    if not 1 <= wanted <= len(chosen.hints):
        raise UsageError(f"hints are numbered from 1 to {len(chosen.hints)}", of="course.hint")
    if wanted > shown + 1:
        raise UsageError(f"hint {wanted} follows hint {shown + 1}, which was not shown yet", of="course.hint")
    api = _used() or session.latest()
    _require_open(chosen, api)
    _keep(chosen.id, hint=wanted)
    _, notes = report(api, "hint", chosen.id, number=wanted)
    return Hint(chosen, wanted, notes)


def quiz(name: str, answer: object = None) -> QuizResult:
    """Show a question of a notebook, or return the feedback on your answer.

    Args:
        name: Id of the quiz, such as "purchases-order".
        answer: A letter, the letters of steps in order, or an amount, such as 4590, "45.90" or "$45.90"; None shows the
            question. An invalid answer gets a list of the allowed ones, and does not count as a try.

    Raises:
        UsageError: The quiz does not exist.
    """
    named_quiz = named(QUIZZES, name, "quiz", "course.quiz")
    if answer is None:
        return QuizResult(named_quiz, None, "")
    text = str(answer).strip().lower()
    if named_quiz.kind == "order":
        text = re.sub(r"[\s,>→-]", "", text)
    if named_quiz.kind == "amount":
        text = _cents(text)
    try:
        checked = QuizResult(named_quiz, text, named_quiz.comment(text))
    except UsageError as error:
        return QuizResult(named_quiz, None, "", f"Invalid {str(error).partition(': ')[2]}.")
    facts = read_stored(_QUIZZES).get(name, {})
    if not facts.get("right"):
        _write(_QUIZZES, name, tries=facts.get("tries", 0) + 1, right=checked.right)
    return checked


_AMOUNT = re.compile(
    r"(?P<sign>-?)(?P<unit>usd|\$)?\s*(?P<whole>\d[\d,]*)(?:\.(?P<cents>\d{1,2}))?\s*(?P<after>usd|dollars|cents)?"
)


def _cents(text: str) -> str:
    """Convert an amount such as "45.90" or "$45.90" to cents; other text is unchanged."""
    found = _AMOUNT.fullmatch(text)
    if found is None or (found["after"] == "cents" and (found["unit"] or found["cents"])):
        return text
    digits = found["whole"].replace(",", "")
    is_dollars = found["cents"] is not None or found["unit"] or found["after"] in ("usd", "dollars")
    return f"{found['sign']}{digits}{(found['cents'] or '').ljust(2, '0') if is_dollars else ''}"


def progress(name: str | None = None) -> CourseProgress:
    """Return your progress in the course, in this and earlier kernels, with tries, hints and minutes.

    Args:
        name: Your name, stored for later calls; default: your account name on this machine.
    """
    if name is not None:
        _write(FILE, _ABOUT, name=visible(name.strip(), 60))
    answered = [result for id_, result in read_stored(_QUIZZES).items() if id_ in QUIZZES]
    right, tries = (
        sum(result.get("right") is True for result in answered),
        sum(result.get("tries", 0) for result in answered),
    )
    text = f"{right} of {len(QUIZZES)} quizzes answered correctly, with {tries} answer{'' if tries == 1 else 's'}."
    stored = read_stored(FILE)
    return CourseProgress(stored, str(stored.get(_ABOUT, {}).get("name") or _account()), text)


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        return "this account"


def reset(exercise: str | None = None) -> CourseProgress:
    """Delete your progress in one exercise, or in all exercises and quizzes. Sandboxes are not changed.

    The first cell of a notebook creates a new sandbox from the same seed.
    """
    gone = EXERCISES if exercise is None else (_exercise(exercise).id,)
    write_stored(FILE, {id_: facts for id_, facts in read_stored(FILE).items() if id_ not in gone})
    if exercise is None:
        write_stored(_QUIZZES, {})
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
    in_class = _class_of(_session() if api is None else api)
    return () if in_class is None else tuple(visible(note["text"]) for note in membership.status(in_class)["notes"])


def report(
    api: object, kind: str, exercise: str, missing: tuple[str, ...] = (), **detail: object
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Report an action of the learner to the class, if in one; return what is missing, and new notes of the trainer."""
    if (in_class := _class_of(api)) is None:
        return missing, ()
    answer = membership.report(in_class, kind, exercise, missing=missing, **detail)
    notes = tuple(f"Note from your trainer: {visible(note)}" for note in answer["notes"])
    return tuple(visible(what) for what in answer["missing"]), notes


def _class_of(api: object) -> RemoteSandbox | None:
    """Return the learner's sandbox on a class server; None outside a class."""
    sandbox: Any = session.sandbox_of(api)
    return sandbox if isinstance(sandbox, RemoteSandbox) and sandbox._hosted else None


def _require_open(exercise: Exercise, api: object) -> None:
    if (in_class := _class_of(api)) is not None and exercise.notebook in membership.status(in_class)["locked"]:
        raise UsageError(f"the lesson {exercise.notebook} is locked by your trainer", of="course")


def _exercise(name: str) -> Exercise:
    return named(EXERCISES, name, "exercise", "course")


def _used() -> Any:
    """Return the session set by `use`, if it still exists."""
    return _chosen[0]() if _chosen else None


def _session() -> Any:
    api = _used() or session.latest()
    if api is None:
        raise UsageError("there is no session yet: run the first cell of the notebook", of="course.check")
    return api


def _keep(exercise: str, *, tried: bool = False, done: bool = False, hint: int = 0) -> None:
    """Store a try or a hint of an exercise; a try after its solution does not count."""
    facts = read_stored(FILE).get(exercise, {})
    now = datetime.now(UTC)
    begun = facts.get("begun") or now.isoformat(timespec="seconds")
    values: dict[str, Any] = {"begun": begun}
    if hint > facts.get("hints", 0):
        values["hints"] = hint
    if tried and facts.get("done") is not True:
        values["tries"] = facts.get("tries", 0) + 1
    if done and facts.get("done") is not True:
        seconds = (now - datetime.fromisoformat(begun)).total_seconds()
        values |= {"done": True, "minutes": round(max(seconds, 0) / 60, 1)}
    _write(FILE, exercise, **values)


def _write(file: str, id_: str, /, **values: object) -> None:
    """Add facts about an exercise or a quiz to a file of the user's state."""
    stored = read_stored(file)
    write_stored(file, {**stored, id_: {**stored.get(id_, {}), **values}})


def read_stored(name: str) -> Stored:
    """Return the content of a file in the user's state folder: facts by id of an exercise or drill."""
    try:
        stored = json.loads((state_folder() / name).read_text(encoding="utf-8"))
    except (CannotRecord, OSError, ValueError):
        return {}
    items = stored.items() if isinstance(stored, dict) else ()
    return {id_: facts for id_, facts in items if isinstance(facts, dict)}


def write_stored(name: str, stored: Mapping[str, Mapping[str, Any]]) -> None:
    """Replace a file in the user's state folder. If the folder is not writable, the course works without it."""
    try:
        write_file(state_folder() / name, f"{json.dumps(stored, indent=1, sort_keys=True)}\n".encode())
    except (CannotRecord, OSError):
        return
