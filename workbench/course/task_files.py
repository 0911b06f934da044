"""Tasks as files, with the instructions, the world, and the criteria.

Each file in the folder `tasks` is an exercise or a quiz of a notebook, or a drill. The task has the name of the file.
`judge` decides whether a task is done.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs

from workbench.base.arguments import argument_problems
from workbench.base.errors import UsageError, not_allowed, visible
from workbench.base.system import toml
from workbench.course.evidence import KINDS, LISTED, Facts, Record
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import OPERATIONS

FOLDER = Path(__file__).with_name("tasks")
MAX_ANSWER = 2_000
_AMOUNT = re.compile(r"(-?)(usd|\$)? ?(\d[\d,]{0,14})(?:\.(\d{1,2}))? ?(usd|dollars|cents)?", re.ASCII)
_NOTHING: Record = {}


@attrs.frozen(kw_only=True)
class Expectation:
    """One criterion of a task.

    Attributes:
        verb: "equals" (records), "called" and "not_called" (requests), "event" or "answer".
        subject: Kind of record, operation, kind of event, or name of the answer.
        that: Description of the criterion as a noun phrase, which is shown while the criterion is not met.
        where: Members that select records, requests or events. Only created and changed records can be selected,
            unless an `id` is given.
        members: Members that the selected records, requests or events must have. The key in a file is `with`.
        others: Whether other requests of the operation are allowed.
        count: Required number of matches: a number, "2+" for at least two, or "all" for everything selected.
        distinct: Member that must differ among the matches.
        status: Status of the requests; 200 by default.
        fault: Whether a fault was injected into the request.
        everything: Whether to examine unchanged records, and events from before the task began, too.
        name: Name for `$name.member` in later criteria.
        value: The right answer. The key in a file is `is`.
        options: Possible answers by letter.
        unit: "cents" if the answer is an amount. People may write the amount in dollars.
        near: Advice by member, which is shown if the nearest record or request differs in the member. For answers,
            feedback by answer.
    """

    verb: str
    subject: str
    that: str = ""
    where: Record = _NOTHING
    members: Record = _NOTHING
    others: bool = False
    count: Any = None
    distinct: str = ""
    status: int = 200
    fault: bool = False
    everything: bool = False
    name: str = ""
    value: Any = None
    options: Mapping[str, str] = _NOTHING
    unit: Literal["", "cents"] = ""
    near: Mapping[str, str] = _NOTHING

    @property
    def allowed(self) -> str:
        """Return the allowed answers as a phrase; empty if any text is allowed."""
        if self.unit:
            return "an amount: 45.90, $45, or 4590 in cents"
        return f"one letter of {', '.join(self.options)}" if self.options else ""

    def read(self, text: str) -> str:
        """Normalize an answer for comparison: letters in lower case, amounts in cents, other text unchanged.

        Raises:
            UsageError: The text is not an allowed answer.
        """
        read = text.strip()[:MAX_ANSWER]
        if self.unit:
            read = _cents(read.lower())
        elif self.options:
            read = read.lower() if read.lower() in self.options else ""
        if self.allowed and not read:
            raise UsageError(f"answer {visible(text, 20)!r}: must be {self.allowed}", of="course.answer")
        return read

    def comment(self, answer: str) -> str:
        """Return the feedback on a right or wrong answer; empty if the question has no feedback for the answer."""
        return self.near.get(answer, self.near.get("", ""))


def _cents(text: str) -> str:
    """Return an amount such as "45.90", "$45.90" or "4590" in cents; empty for any other text."""
    match = _AMOUNT.fullmatch(" ".join(text.split()))
    sign, unit, number, cents, after = match.groups("") if match else ("", "", "", "", "")
    if after == "cents" and (unit or cents):
        return ""
    is_dollars = cents or unit or after in ("usd", "dollars")
    return f"{sign}{number.replace(',', '')}{cents.ljust(2, '0') if is_dollars else ''}"


_RENAMED = {"with": "members", "is": "value"}


@attrs.frozen(kw_only=True, repr=False)
class Task:
    """An exercise or a quiz of a notebook, or a drill. A drill is an incident with purchases, faults and live traffic.

    A quiz is a question with a known answer. It needs no sandbox.

    Attributes:
        title: Title of the task. A quiz needs no title.
        task: Instructions for the learner.
        notebook: Notebook of the task; empty for a drill.
        minutes: Planned minutes of a drill.
        environment: "production" if the task is done in the learner's production environment.
        also: Kinds of records that may change in addition to the expected changes. Records of all other kinds must not
            change.
        hints: Up to two hints that precede the answer.
        answer: Code of a good answer, which is the last hint of an exercise.
        debrief: A good answer as text.
        purchases: Purchases at the start: number of the active card, cents, merchant, and whether the purchase is
            settled.
        world: Calls and controls at the start, each with `do`, arguments, and `as`, the name of its result.
        values: Further facts by name, to which `world`, `show` and `expect` can refer.
        traffic: Live traffic while a drill is active: a `purchase`, made every `every` seconds.
        show: Facts shown to the learner, by name.
        expect: The criteria at the end.
    """

    name: str
    title: str = "Quiz"
    task: str
    notebook: str = ""
    minutes: int = 0
    environment: Literal["sandbox", "production"] = "sandbox"
    also: Sequence[str] = ()
    hints: Sequence[str] = ()
    answer: str = ""
    debrief: str = ""
    purchases: Sequence[Sequence[Any]] = ()
    world: Sequence[Record] = ()
    values: Record = _NOTHING
    traffic: Record = _NOTHING
    show: Record = _NOTHING
    expect: Sequence[Expectation] = ()

    def __repr__(self) -> str:  # the default would show the answer to learners
        return f"Task({self.name!r})"

    @property
    def all_hints(self) -> tuple[str, ...]:
        """Return the hints in order. The last hint is the answer."""
        return (*self.hints, self.answer) if self.answer else tuple(self.hints)

    @property
    def questions(self) -> dict[str, Expectation]:
        """Return the questions to the learner, by the name of the answer."""
        return {each.subject: each for each in self.expect if each.verb == "answer"}

    @property
    def kind(self) -> str:
        """Return "exercise", "quiz" or "drill"."""
        if not self.notebook:
            return "drill"
        return "quiz" if all(each.options or each.unit for each in self.expect) else "exercise"

    @property
    def about(self) -> Facts:
        """Return the task as learners see it, as JSON values: without criteria, hints and answers."""
        lines = [" ".join(self.task.split())]
        lines += [f"Planned time: {self.minutes} minutes."] if self.minutes else []
        is_quiz, heading = self.kind == "quiz", f"{self.kind} {self.name}: {self.title}"
        for name, question in self.questions.items():
            allowed = question.allowed
            lines += [f"{letter})  {text}" for letter, text in question.options.items()]
            asked = f"Answer {name}: {question.that}{f' ({allowed})' if allowed else ''}."
            lines.append(f"Answer with {allowed}." if is_quiz else asked)
        return {
            "name": self.name,
            "kind": self.kind,
            "heading": self.title if is_quiz else heading,
            "hints": len(self.all_hints),
            "lines": lines,
            "questions": list(self.questions),
            "options": self.expect[0].options if is_quiz else {},
        }

    @property
    def row(self) -> Facts:
        """Return the row of the task in a table of tasks."""
        return {
            "task": self.name,
            "where": self.notebook or "drill",
            "minutes": self.minutes or None,
            "title": self.title,
        }

    @property
    def place(self) -> str:
        """Name of the task's sandbox in a class: the number of the notebook, or the name of the drill."""
        return self.notebook[:2] or self.name


def read_task(name: str, content: Record) -> Task:
    """Return the task of a file.

    Args:
        name: Name of the task, which is the file name.
        content: Content of the file.

    Raises:
        UsageError: The content is not a valid task. The message lists the problems.
    """
    rows = content.get("expect")
    problems = []
    if not re.fullmatch("[a-z][a-z0-9-]{0,40}", name):
        problems.append("the file name must consist of lower-case letters, digits and dashes")
    if not (isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)):
        problems.append("[[expect]] is missing: a task needs at least one criterion")
        rows = []
    criteria = [_criterion(row) for row in rows]
    for number, (_, wrong) in enumerate(criteria, 1):
        problems += [f"expect {number}: {problem}" for problem in wrong]
    members = {**content, "name": name, "expect": ()}
    problems += _wrong(Task, members)
    if not problems:
        members["expect"] = tuple(Expectation(**criterion) for criterion, _ in criteria)
        task = Task(**members)
        if task.kind == "quiz" or "title" in content:
            return task
        problems.append("title is missing")
    raise UsageError(f"{visible(name, 60)}: {'; '.join(problems)}", of="task")


def _criterion(row: Record) -> tuple[Facts, list[str]]:
    """Return the members of an expectation and their problems. In a file, the verb is the key of the subject."""
    verbs = [verb for verb in VERBS if verb in row]
    if len(verbs) != 1:
        return {}, [f"needs one of {', '.join(VERBS)}"]
    (verb,), subject = verbs, row[verbs[0]]
    members = {_RENAMED.get(member, member): value for member, value in row.items() if member != verb}
    members |= {"verb": verb, "subject": subject}
    allowed = _SUBJECTS.get(verb, [subject])
    return members, _wrong(Expectation, members) if subject in allowed else [str(not_allowed(verb, subject, allowed))]


def _wrong(record: type[Any], members: Record) -> list[str]:
    unknown = members.keys() - attrs.fields_dict(record).keys()
    if unknown:
        return [f"unknown member {visible(name, 40)!r}" for name in sorted(unknown)]
    return [str(problem) for problem in argument_problems(record, (), members)]


_SUBJECTS: Mapping[str, Collection[str]] = {
    "equals": (*KINDS, *LISTED),
    "called": OPERATIONS,
    "not_called": OPERATIONS,
    "event": EVENT_KINDS,
}
VERBS = (*_SUBJECTS, "answer")


def read_file(path: Path) -> Task:
    """Return the task of a file.

    Raises:
        UsageError: The file cannot be read, or is not a task.
    """
    return read_task(path.stem, toml.read(path, "task"))


def _order(task: Task) -> tuple[str, int, str]:
    return task.notebook or "~", task.minutes, task.name


def _of_kind(kind: str) -> dict[str, Task]:
    return {name: task for name, task in TASKS.items() if task.kind == kind}


TASKS = {task.name: task for task in sorted(map(read_file, FOLDER.glob("*.toml")), key=_order)}
"""All tasks by name: exercises and quizzes in the order of the notebooks, then drills from short to long."""
EXERCISES, QUIZZES, DRILLS = map(_of_kind, ("exercise", "quiz", "drill"))
