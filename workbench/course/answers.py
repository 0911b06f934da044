"""Answers to the questions of tasks: text, the letter of an option, or an amount."""

import re
from typing import TYPE_CHECKING

from workbench.base.errors import UsageError, visible

if TYPE_CHECKING:
    from workbench.course.task_files import Expectation

MAX_ANSWER = 2_000
_AMOUNT = re.compile(r"(-?)(usd|\$)? ?(\d[\d,]{0,14})(?:\.(\d{1,2}))? ?(usd|dollars|cents)?", re.ASCII)


def allowed_answers(question: "Expectation") -> str:
    """Return the allowed answers as a phrase; empty if any text is allowed."""
    if question.unit:
        return "an amount: 45.90, $45, or 4590 in cents"
    return f"one letter of {', '.join(question.options)}" if question.options else ""


def read_answer(question: "Expectation", text: str) -> str:
    """Normalize an answer for comparison: letters in lower case, amounts in cents, other text unchanged.

    Raises:
        UsageError: The text is not an allowed answer to the question.
    """
    read = text.strip()[:MAX_ANSWER]
    if question.unit:
        read = _cents(read.lower())
    elif question.options:
        read = read.lower() if read.lower() in question.options else ""
    allowed = allowed_answers(question)
    if allowed and not read:
        raise UsageError(f"answer {visible(text, 20)!r}: must be {allowed}", of="course.answer")
    return read


def _cents(text: str) -> str:
    """Return an amount such as "45.90", "$45.90" or "4590" in cents; empty for any other text."""
    match = _AMOUNT.fullmatch(" ".join(text.split()))
    sign, unit, number, cents, after = match.groups("") if match else ("", "", "", "", "")
    if after == "cents" and (unit or cents):
        return ""
    is_dollars = cents or unit or after in ("usd", "dollars")
    return f"{sign}{number.replace(',', '')}{cents.ljust(2, '0') if is_dollars else ''}"


def comment(question: "Expectation", answer: str) -> str:
    """Return the feedback on a right or wrong answer; empty if the question has no feedback for the answer."""
    return question.near.get(answer, question.near.get("", ""))
