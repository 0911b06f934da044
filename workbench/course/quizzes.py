"""Quizzes: a question of a notebook, and feedback for each answer. The questions are data, in `quizzes.toml`."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from workbench.errors import InvalidRequest, visible


@attrs.frozen(kw_only=True)
class Quiz:
    """A question with one right answer: a letter, the letters of steps in their order, or an amount in cents."""

    id: str
    notebook: str
    question: str
    right: str = attrs.field(repr=False)
    options: Mapping[str, str]
    feedback: Mapping[str, str] = attrs.field(repr=False)
    otherwise: str = attrs.field(default="", repr=False)

    @property
    def kind(self) -> str:
        """Return "choice", "order" or "amount"."""
        return "choice" if len(self.right) == 1 else "order" if self.options else "amount"

    def comment(self, answer: str) -> str:
        """Return what there is to say to an answer, right or wrong.

        Raises:
            InvalidRequest: It is none of the possible answers.
        """
        if self.kind == "choice" and answer not in self.options:
            raise InvalidRequest(
                f"answer {visible(answer, 20)!r}: one letter of {_listed(self.options)}", of="course.quiz"
            )
        if self.kind == "amount" and not re.fullmatch(r"-?\d+", answer):
            raise InvalidRequest(
                f"answer {visible(answer, 20)!r}: a whole number of cents, such as 1250", of="course.quiz"
            )
        if self.kind == "order":
            if sorted(answer) != sorted(self.options):
                raise InvalidRequest(
                    f"answer {visible(answer, 20)!r}: each letter of {_listed(self.options)} once", of="course.quiz"
                )
            place = next((n for n, (one, other) in enumerate(zip(answer, self.right, strict=True)) if one != other), -1)
            if place >= 0:
                given, due = answer[place], self.right[place]
                return f"Step {place + 1} is not “{self.options[given]}”. {self.feedback[due]}"
            return " ".join(self.feedback[letter] for letter in self.right)
        return self.feedback.get(answer, self.otherwise)


def _listed(options: Mapping[str, str]) -> str:
    return ", ".join(options)


def _quiz(id_: str, facts: Mapping[str, Any]) -> Quiz:
    """Return a quiz from its facts: `options`, `steps` in their order, or an `amount`."""
    shared = {"id": id_, "notebook": facts["notebook"], "question": facts["question"]}
    if steps := facts.get("steps"):  # shown in the order of the alphabet
        letters = dict(zip(sorted((text for text, _ in steps), key=str.lower), "abcdefgh", strict=False))
        return Quiz(
            **shared, right="".join(letters[text] for text, _ in steps),
            options={letter: text for text, letter in letters.items()},
            feedback={letters[text]: why for text, why in steps},
        )  # fmt: skip
    if "amount" in facts:
        right = str(facts["amount"])
        return Quiz(
            **shared, right=right, options={}, feedback={**facts["wrong"], right: facts["why"]}, otherwise=facts["hint"]
        )
    options = facts["options"]
    return Quiz(
        **shared, right=facts["right"], options={letter: text for letter, (text, _) in options.items()},
        feedback={letter: why for letter, (_, why) in options.items()},
    )  # fmt: skip


QUIZZES: Mapping[str, Quiz] = {
    id_: _quiz(id_, facts)
    for id_, facts in tomllib.loads(Path(__file__).with_name("quizzes.toml").read_text(encoding="utf-8")).items()
}
"""All quizzes by their id, in the order of the notebooks."""
