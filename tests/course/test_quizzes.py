"""Quizzes: every answer has feedback, expected amounts equal the sandbox's, and results are stored."""

from pathlib import Path

import pytest

from tests.course.lessons import scene
from tests.course.predicted import PREDICTED
from tests.each import each
from workbench import course
from workbench.base.errors import UsageError
from workbench.course.learner import Feedback
from workbench.course.task_files import EXERCISES, QUIZZES, Task

each_quiz = pytest.mark.parametrize("quiz", QUIZZES.values(), ids=QUIZZES)
AMOUNTS = [quiz for quiz in QUIZZES.values() if quiz.expect[0].unit]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store progress in a folder of the test."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))


def answered(name: str, answer: object) -> Feedback:
    result = course.answer(name, answer)
    assert isinstance(result, Feedback)
    return result


@each_quiz
def test_every_wrong_answer_has_feedback(quiz: Task) -> None:
    """Feedback is a sentence with a reason. Only the right answer is called right."""
    (question,) = quiz.expect
    right = str(question.value)
    for answer in [*filter(None, question.near), "123456789"] if question.unit else question.options:
        result = answered(quiz.name, answer)
        feedback = str(result).partition("\n")[2]

        assert (answer == right) is result.ok
        assert feedback.rstrip().endswith((".", ")"))
        assert len(feedback) > 30
        assert ("✓ right" in str(result)) is result.ok


@each_quiz
def test_a_question_does_not_show_its_answer(quiz: Task) -> None:
    """Neither the displayed task nor the repr of its data contains the answer or the feedback."""
    shown = f"{course.task(quiz.name)} {quiz!r}"

    assert not any(words in shown for words in quiz.expect[0].near.values())
    assert "value" not in shown
    assert quiz.notebook in {one.notebook for one in EXERCISES.values()}


@pytest.mark.parametrize("notebook", sorted({one.notebook for one in EXERCISES.values()}))
def test_each_notebook_asks_why(notebook: str) -> None:
    """At least one quiz of each notebook asks why."""
    assert any("Why" in quiz.task for quiz in QUIZZES.values() if quiz.notebook == notebook)


@pytest.mark.parametrize("quiz", AMOUNTS, ids=lambda quiz: quiz.name)
def test_an_amount_is_what_the_sandbox_computes(quiz: Task) -> None:
    """The expected amount is the one that the notebook's calls give."""
    with scene(f"{quiz.name.partition('-')[0]}-1") as names:
        exec(compile(PREDICTED[quiz.name], f"<{quiz.name}>", "exec"), names)

        assert quiz.expect[0].value == names["amount"]


@pytest.mark.parametrize("quiz", AMOUNTS, ids=lambda quiz: quiz.name)
def test_an_amount_is_read_as_people_write_it(quiz: Task) -> None:
    cents = int(quiz.expect[0].value)
    dollars = f"{cents / 100:,.2f}"

    for answer in (
        cents,
        str(cents),
        f"{cents:,}",
        f"{cents} cents",
        dollars,
        f"${dollars}",
        f"{dollars} USD",
        f" $ {dollars} ",
    ):
        assert answered(quiz.name, answer).ok, answer


@pytest.mark.parametrize("name", ["start-who", "purchases-order", *(quiz.name for quiz in AMOUNTS)])
@each("answer", ["", "zz", "aa", 3.14159, "1.2.3", "$", b"a", ["a"], object(), "-", "1" * 5_000, "４５"])
def test_a_strange_answer_is_refused_with_what_is_allowed_and_not_counted(name: str, answer: object) -> None:
    """The error names the allowed answers."""
    with pytest.raises(UsageError, match=r"must be (one letter of|an amount: )"):
        course.answer(name, answer)

    assert course.progress().done == ()
    assert "0 of" in str(course.progress())


def test_a_letter_is_read_in_any_case() -> None:
    assert answered("start-who", " C ").ok


def test_an_unknown_quiz_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean start-who"):
        course.task("start-whom")


def test_a_quiz_is_not_right_before_it_is_answered() -> None:
    """A check before an answer is not ok."""
    assert not course.check("start-who").ok
    assert answered("start-who", "c").ok


def test_progress_counts_quizzes() -> None:
    """A right answer stays right after a wrong one, and a reset deletes it."""
    for answer in "abca":
        course.answer("start-who", answer)

    assert f"1 of {len(QUIZZES)} quizzes right" in str(course.progress())
    assert f"0 of {len(QUIZZES)} quizzes" in str(course.reset())
