"""Tasks with fields and buttons: each kind is started, answered and checked without code."""

from pathlib import Path

import pytest
from ipywidgets.widgets.widget import _instances

import workbench as wb
from workbench import course
from workbench.course.ask_view import AskView, ChooserView
from workbench.course.learner import TaskShown
from workbench.course.task_files import DRILLS, EXERCISES, QUIZZES, TASKS
from workbench.screens.panel.panel import Panel


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store progress in a folder of the test."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))


def view(name: str) -> AskView:
    shown = course.task(name)
    assert isinstance(shown, TaskShown)
    return AskView(shown)


def test_a_drill_is_started_from_the_list_and_answered_with_dollars() -> None:
    """A drill is chosen from a list, answered in three fields with amounts in dollars, and checked by a button."""
    with wb.connect(seed=7) as api:
        chooser = ChooserView(course.task())
        chooser.names.value = "read-a-card"
        chooser.start.click()
        assert len(chooser.begun.children) == 1
        asked = view("read-a-card")  # the view resumes the drill that was started
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
    """The list leaves out quizzes, which are asked in their notebooks."""
    assert {*course.task().titles} == {*EXERCISES, *DRILLS} == {*TASKS} - {*QUIZZES}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if i % 4 else []) for i, name in enumerate(TASKS)]
)
def test_each_task_has_a_button_to_check_or_one_for_each_answer(name: str) -> None:
    """A question without options has a field, and a task with hints has a Hint button."""
    task = TASKS[name]
    where = {"environment": "production"} if task.environment == "production" else {}
    with wb.connect(seed=7, **where):  # type: ignore[arg-type]
        asked = view(name)
    letters = [*task.expect[0].options] if task.kind == "quiz" else []

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


def test_a_task_is_done_from_the_panel() -> None:
    """The Tasks button of a list opens a drill that is answered in the panel. Closing it leaves no widget."""
    with wb.connect(seed=7) as other, wb.connect(seed=7) as api:
        panel = wb.browse(other)
        before = len(_instances)
        actions = panel.answer({"do": "rows", "list": "cards"})["actions"]
        opened = panel.answer({"do": "form", "do_what": "Tasks", "label": "Tasks", "list": "cards"})
        chooser = panel.pane
        chooser.names.value = "read-a-card"
        chooser.start.click()
        balance = other.sandbox.balance(other.sandbox.guide()["cards"]["active"][9])
        for name, cents in {"held": balance.held, "refunded": balance.refunded, "available": balance.available}.items():
            chooser.asked.fields[name].value = f"{cents / 100:.2f}"
        chooser.asked.buttons["Check"].click()

        assert {"do": "Tasks", "label": "Tasks"} in actions
        assert opened["model"] == chooser.widget.model_id
        assert "✓ done" in chooser.asked.feedback.value
        panel.answer({"do": "close_form"})
        assert panel.pane is None
        assert len(_instances) == before
        assert other.sandbox.events() != api.sandbox.events()  # the action ran in the panel's session, not in this one


def test_a_panel_of_a_real_service_offers_no_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Panel, "sandbox", None)
    with wb.connect(seed=7) as api:
        panel = wb.browse(api)
        actions = panel.answer({"do": "rows", "list": "cards"})["actions"]
        refused = panel.answer({"do": "form", "do_what": "Tasks", "label": "Tasks", "list": "cards"})

    assert {"do": "Tasks", "label": "Tasks"} not in actions
    assert "not offered" in refused["error"]
