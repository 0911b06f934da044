"""Tasks with fields and buttons: each kind is begun, answered and checked without code."""

from pathlib import Path

import pytest

import workbench as wb
from workbench import course
from workbench.course.ask_view import AskView, ChooserView
from workbench.course.learner import TaskShown
from workbench.course.task_files import DRILLS, EXERCISES, QUIZZES, TASKS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep progress in a folder of the test's own."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))


def view(name: str) -> AskView:
    shown = course.task(name)
    assert isinstance(shown, TaskShown)
    return AskView(shown, shown.task)


def test_a_drill_is_started_from_the_list_and_answered_with_dollars() -> None:
    """By the choice, three fields and a button, with amounts as people write them."""
    with wb.connect(seed=7) as api:
        chooser = ChooserView(course.task(), course.task().titles)
        chooser.names.value = "read-a-card"
        chooser.start.click()
        assert len(chooser.begun.children) == 1
        asked = view("read-a-card")  # continues the drill that was begun
        balance = api.sandbox.balance(api.sandbox.guide()["cards"]["active"][9])
        asked.buttons["Check"].click()
        untried = asked.feedback.value
        for name, cents in {"held": balance.held, "refunded": balance.refunded, "available": balance.available}.items():
            asked.fields[name].value = f"${cents / 100:,.2f}"
        asked.buttons["Check"].click()

        assert "not answered yet" in untried
        assert "✓ done" in asked.feedback.value
        assert "A good answer" in asked.feedback.value


def test_the_list_offers_each_exercise_and_drill() -> None:
    """Quizzes belong to their place in a notebook."""
    assert {*course.task().titles} == {*EXERCISES, *DRILLS} == {*TASKS} - {*QUIZZES}


@pytest.mark.parametrize("name", TASKS)
def test_each_task_has_a_button_to_check_or_one_for_each_answer(name: str) -> None:
    """Hints where there are some, and a field for each question without options."""
    task = TASKS[name]
    where = {"environment": "production"} if task.environment == "production" else {}
    with wb.connect(seed=7, **where):  # type: ignore[arg-type]
        asked = view(name)
    letters = [*task.expect[0].options] if task.kind == "quiz" and len(str(task.expect[0].value)) == 1 else []

    assert [*asked.buttons] == (letters or ["Check", *(["Hint"] if task.all_hints else [])])
    assert [*asked.fields] == ([] if letters else [*task.questions])


def test_a_wrong_answer_is_said_below_and_not_raised() -> None:
    asked = view("start-held")
    asked.fields["answer"].value = "many"
    asked.buttons["Check"].click()

    assert "must be an amount" in asked.feedback.value
    asked.fields["answer"].value = "45.90"
    asked.buttons["Check"].click()
    assert "✓ right" in asked.feedback.value
