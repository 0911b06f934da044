"""Questions with one right answer: a letter, the letters of steps in order, or an amount in cents."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import attrs

from workbench.base.errors import UsageError, not_allowed, visible
from workbench.course.display import RIGHT, WRONG, Display, require_widgets
from workbench.course.stored import QUIZZES as FILE
from workbench.course.stored import read_stored, update
from workbench.service.rendering import money
from workbench.service.rendering.text import Sheet


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
        status = RIGHT if self.right else WRONG
        super().__init__(Sheet(title=f"Quiz: {shown}", status=status, words=(feedback,)))

    def _ipython_display_(self) -> None:
        """Show buttons or a field for a question where a notebook has them."""
        if self.right is not None or self.problem:
            raise NotImplementedError  # IPython shows the sheet then
        require_widgets()
        from workbench.course.ask_view import AskView

        name, field = self.quiz.id, "Answer"
        lines = (self.quiz.question, *(f"{letter})  {text}" for letter, text in self.quiz.options.items()))
        asked = Display(Sheet(title="Quiz", words=lines, notes=(f"Answer with {self.allowed}.",)))
        if self.quiz.kind == "choice":
            buttons = {letter: lambda _, letter=letter: quiz(name, letter) for letter in self.quiz.options}
            AskView(asked, (), buttons)._ipython_display_()
        else:
            AskView(asked, (field,), {"Check": lambda values: quiz(name, values.get(field, ""))})._ipython_display_()


def quiz(name: str, answer: object = None) -> QuizResult:
    """Show a question of a notebook, or return the feedback on your answer.

    Args:
        name: Id of the quiz, such as "purchases-order".
        answer: A letter, the letters of steps in order, or an amount, such as 4590, "45.90" or "$45.90"; None shows the
            question. An invalid answer gets a list of the allowed ones, and does not count as a try.

    Raises:
        UsageError: The quiz does not exist.
    """
    if name not in QUIZZES:
        raise UsageError([not_allowed("quiz", name, QUIZZES)], of="course.quiz")
    named_quiz = QUIZZES[name]
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
    facts = read_stored(FILE).get(name, {})
    if not facts.get("right"):
        update(FILE, name, tries=facts.get("tries", 0) + 1, right=checked.right)
    return checked


_AMOUNT = re.compile(
    r"(?P<sign>-?)(?P<unit>usd|\$)?\s*(?P<whole>\d[\d,]*)(?:\.(?P<cents>\d{1,2}))?\s*(?P<after>usd|dollars|cents)?"
)


def _cents(text: str) -> str:
    """Convert an amount such as "45.90" or "$45.90" to cents; other text is unchanged."""
    match = _AMOUNT.fullmatch(text)
    if match is None or (match["after"] == "cents" and (match["unit"] or match["cents"])):
        return text
    digits = match["whole"].replace(",", "")
    is_dollars = match["cents"] is not None or match["unit"] or match["after"] in ("usd", "dollars")
    return f"{match['sign']}{digits}{(match['cents'] or '').ljust(2, '0') if is_dollars else ''}"
