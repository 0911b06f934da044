"""Files of tasks: what the page shows is a task, each mistake is named, and the judge looks at what changed."""

import re
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.base.errors import UsageError
from workbench.course.task_files import TASKS, read_task

PAGE = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
GOOD = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    return tmp_path


def test_the_task_of_the_page_is_done_by_its_answer_and_by_nothing_else(folder: Path) -> None:
    (folder / "lost-card.toml").write_text(GOOD, encoding="utf-8")
    wb.course.add(folder / "lost-card.toml")
    with wb.connect(seed=7) as api:
        wb.course.task("lost-card", api)
        first, second = api.sandbox.guide()["cards"]["active"][:2]
        api.sandbox.cards.cancel(first)
        canceled = wb.course.check("lost-card").missing
    with wb.connect(seed=7) as api:
        wb.course.task("lost-card", api)
        exec(re.search(r'answer = """\n(.*?)"""', GOOD, re.DOTALL)[1], {"wb": wb, "api": api})
        done = wb.course.check("lost-card").missing
        api.sandbox.cards.lock(second)
        further = wb.course.check("lost-card").missing

    assert "A canceled card cannot be used again; lock it" in canceled[0]
    assert done == ()
    assert len(further) == 1
    assert further[0].startswith("something else changed, card")


@pytest.mark.parametrize(
    "change, said",
    [
        (("title =", "tittle ="), "unknown member 'tittle'"),
        (('equals = "card"', 'equals = "cards"'), "expect 1: equals must be one of card.*did you mean card"),
        (('answer = "last4"\n', 'not_called = "lock"\n'), "expect 2: not_called must be one of"),
        (('name = "card"', 'named = "card"'), "expect 1: unknown member 'named'"),
        (("[[expect]]", "[[expected]]"), "needs at least one criterion"),
        (('equals = "card"', 'equals = "card"\nevent = "user.updated"'), "expect 1: needs one of equals, called"),
        (('that = "the first', "that = the first"), "not TOML"),
        (('task = "The', 'world = 3\ntask = "The'), "world must be a list"),
        (("hints = [", "hints = 3\nnear = ["), "hints must be a list"),
    ],
)
def test_a_mistake_in_a_file_is_named(change: tuple[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_task("lost-card", GOOD.replace(*change))


@pytest.mark.parametrize("name", ["Lost Card", "../lost", "", "x" * 99])
def test_the_name_of_a_file_is_plain(name: str) -> None:
    with pytest.raises(UsageError, match="lower-case letters"):
        read_task(name, GOOD)


def test_every_task_says_what_it_asks_for() -> None:
    assert [
        task.name for task in TASKS.values() for each in task.expect if each.verb != "function" and not each.that
    ] == []
    others = [task for task in TASKS.values() if task.kind != "quiz"]
    assert [task.name for task in others if not task.answer or not (task.notebook or task.debrief)] == []


@pytest.mark.parametrize(
    "expected, amount, ok",
    [
        ("{ authorized = 420 }", 420, True),
        ("{ authorized = 420 }", 421, False),
        ("{ authorized = [420, 421] }", 421, True),
        ("{ authorized = { not = 420 } }", 420, False),
        ("{ merchant_name = 'EXAMPLE   coffee' }", 420, True),
        ("{ merchant_name = { matches = '^Example' } }", 420, True),
        ("{ held = { same_as = 'authorized' } }", 420, True),
        ("{ settled = { same_as = 'authorized' } }", 420, False),
        ("{ card = '$cards.active.0' }", 420, True),
        ("{ card = '$cards.active.1' }", 420, False),
        ("{ nothing = 1 }", 420, False),
    ],
)  # fmt: skip
def test_members_are_compared(folder: Path, expected: str, amount: int, ok: bool) -> None:
    task: Any = f'title = "x"\ntask = "x"\nnotebook = "01-start-here"\n[[expect]]\nequals = "transaction"\nthat = "x"\nwith = {expected}\n'
    (folder / "one.toml").write_text(task)
    wb.course.add(folder / "one.toml")
    with wb.connect(seed=7) as api:
        wb.course.task("one", api)
        card = api.sandbox.guide()["cards"]["active"][0]
        api.simulate_authorization(
            card_id=card, amount=amount, currency="USD", merchant_name="Example Coffee", merchant_category_code="5814"
        )

        assert wb.course.check("one").ok is ok
