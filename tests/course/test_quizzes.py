"""Quizzes: every answer has feedback, amounts are what the sandbox computes, and results are kept."""

from itertools import permutations
from pathlib import Path

import pytest

from tests.course.lessons import scene
from tests.course.predicted import PREDICTED
from workbench import course
from workbench.base.errors import UsageError
from workbench.course.quizzes import QUIZZES, Quiz
from workbench.course.task_files import EXERCISES

each = pytest.mark.parametrize("quiz", QUIZZES.values(), ids=QUIZZES)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep progress in a folder of the test's own."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))


@each
def test_every_wrong_answer_has_feedback(quiz: Quiz) -> None:
    """It says why, in a sentence, and never praises; the right one begins with a reason too."""
    answers = {
        "choice": list(quiz.options),
        "order": ["".join(one) for one in list(permutations(quiz.options))[:24]],
        "amount": [*quiz.feedback, "123456789"],
    }[quiz.kind]
    for answer in answers:
        result = course.quiz(quiz.id, answer)

        assert (answer == quiz.right) is result.right
        assert result.feedback.endswith((".", "”", ")"))
        assert len(result.feedback) > 30
        assert ("✓ right" in str(result)) is result.right


@each
def test_a_question_does_not_show_its_answer(quiz: Quiz) -> None:
    """Neither shown, nor in the repr of the data."""
    shown = f"{course.quiz(quiz.id)} {quiz!r}"

    assert course.quiz(quiz.id).right is None
    assert not any(words in shown for words in quiz.feedback.values())
    assert quiz.notebook in {one.notebook for one in EXERCISES.values()}


@pytest.mark.parametrize("notebook", sorted({one.notebook for one in EXERCISES.values()}))
def test_each_notebook_asks_why(notebook: str) -> None:
    """A question asks for a reason, not only for the cell above with other numbers."""
    assert any("Why" in quiz.question for quiz in QUIZZES.values() if quiz.notebook == notebook)


@pytest.mark.parametrize("name", [one.id for one in QUIZZES.values() if one.kind == "amount"])
def test_an_amount_is_what_the_sandbox_computes(name: str) -> None:
    """The predicted amount is the one that the calls of the notebook lead to."""
    with scene(f"{name.partition('-')[0]}-1") as names:
        exec(compile(PREDICTED[name], f"<{name}>", "exec"), names)

        assert QUIZZES[name].right == str(names["amount"])


@pytest.mark.parametrize("quiz", [one for one in QUIZZES.values() if one.kind == "amount"], ids=lambda one: one.id)
def test_an_amount_is_read_as_people_write_it(quiz: Quiz) -> None:
    cents = int(quiz.right)
    dollars = f"{cents / 100:,.2f}"

    for answer in (
        cents,
        quiz.right,
        f"{cents:,}",
        f"{cents} cents",
        dollars,
        f"${dollars}",
        f"{dollars} USD",
        f" $ {dollars} ",
    ):
        assert course.quiz(quiz.id, answer).right, answer


@pytest.mark.parametrize(
    "name", ["start-who", "purchases-order", *(one.id for one in QUIZZES.values() if one.kind == "amount")]
)
@pytest.mark.parametrize(
    "answer", ["", "zz", "aa", 3.14159, "1.2.3", "$", b"a", ["a"], object(), "-", "1" * 5_000, "４５"]
)
def test_a_strange_answer_is_explained_and_not_counted(name: str, answer: object) -> None:
    """Never a traceback for an answer."""
    shown = course.quiz(name, answer)

    assert shown.right is not True
    assert "Invalid answer" in str(shown) or shown.right is False


def test_a_letter_is_read_in_any_case() -> None:
    assert course.quiz("start-who", " C ").right


def test_an_unknown_quiz_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="quiz must be one of start-who"):
        course.quiz("start-when")


def test_progress_counts_quizzes() -> None:
    """Right ones, and all answers until then; a reset deletes them."""
    for answer in "abcc":
        course.quiz("start-who", answer)

    assert f"1 of {len(QUIZZES)} quizzes answered correctly, with 3 answers." in str(course.progress())
    assert f"0 of {len(QUIZZES)} quizzes" in str(course.reset())
