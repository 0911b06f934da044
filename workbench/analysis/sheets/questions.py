"""Questions about a file that can be read in several ways. Each question names the argument that answers it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import attrs

from workbench.base.errors import Problem, UsageError
from workbench.base.system.limits import LimitExceeded


@attrs.frozen(kw_only=True)
class FileQuestion:
    """A fact that a file does not state.

    `readings` maps each possible answer, as written in Python, to the meaning that the file then has.
    """

    argument: str
    about: str
    readings: Mapping[str, str]
    proposed: str | None = None  # the answer with which the file matches another table

    def __str__(self) -> str:
        answers = [f"{self.argument}={answer} ({meaning})" for answer, meaning in self.readings.items()]
        hint = f"; {self.argument}={self.proposed} matches the other table" if self.proposed else ""
        return f"can be read in several ways: pass {' or '.join(answers)}{hint}"


class UnclearTable(UsageError):
    """A file has several valid readings with different values. `questions` name the arguments that select a reading."""

    def __init__(self, questions: Iterable[FileQuestion], name: str = "") -> None:
        self.questions = tuple(questions)
        where = f"{name}, " if name else ""
        problems = [Problem(f"{where}{question.about}", "unclear", str(question)) for question in self.questions]
        super().__init__(problems, of="read_table")  # which has the arguments, whatever function reads the file

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.questions,), self.__dict__


Values = TypeVar("Values", bound=Sequence[object])


class BadSheet(LimitExceeded):
    """The file cannot be read as rows; the message says where."""


def distinct(readings: Mapping[str, Values]) -> dict[str, Values]:
    """Return one reading for each distinct text or list of values."""
    unlike: dict[str, Values] = {}
    for answer, values in readings.items():
        if not any(values == other for other in unlike.values()):
            unlike[answer] = values
    return unlike
