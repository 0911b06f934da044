"""Files of tasks: the page's examples work, each mistake is named, and records that changed are judged."""

import re
from pathlib import Path
from typing import Any

import attrs
import pytest

import workbench as wb
from workbench.base.errors import UsageError
from workbench.base.system import toml
from workbench.course import learner
from workbench.course.task_files import TASKS, VERBS, Expectation, Task, read_file, read_task

PAGE = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
GOOD, QUIZ = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(learner, "_tasks", dict(TASKS))  # other tests do not see tasks added here
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
    assert further[0].startswith("something else changed: card")


DRILL = """
title = "A charge too much"
minutes = 5
task = "A cardholder paid 12.50 USD at `Example Market` and was charged twice. Give one of them back, and answer with the amount."
debrief = "Two transactions of the same amount: refund one of them, in full."
answer = '''
api.simulate_refund(transaction_id=facts["second"], amount=wb.FULL)
wb.course.answer("a-charge-too-much", returned="12.50")'''
purchases = [[3, 1250, "Example Market"], [3, 1250, "Example Market"], [3, 480]]
traffic = { every = 30, purchase = [8, 1540, "Example Fuel"] }
show = { first = "$bought.0", second = "$bought.1" }

[[expect]]
equals = "transaction"
that = "one of the two purchases, refunded in full"
where = { id = ["$bought.0", "$bought.1"], status = "settled" }
with = { refunded = 1250 }
count = 1

[[expect]]
not_called = "simulate_reversal"
that = "no reversal"

[[expect]]
answer = "returned"
that = "what was given back"
unit = "cents"
is = 1250
"""
"""A drill that was written by following the page, and nothing else."""


def test_a_drill_that_was_written_from_the_page_works(folder: Path) -> None:
    """Either of two refunds solves the drill. Half a refund, both refunds or none do not."""
    (folder / "a-charge-too-much.toml").write_text(DRILL, encoding="utf-8")
    wb.course.add(folder / "a-charge-too-much.toml")
    name, verdicts = "a-charge-too-much", {}
    for way, transactions, amount in (
        ("the second", ["second"], wb.FULL), ("the first", ["first"], 1250), ("half", ["second"], 625),
        ("both", ["first", "second"], wb.FULL), ("none", [], 0),
    ):  # fmt: skip
        with wb.connect(seed=7) as api:
            facts = wb.course.task(name, api).facts
            for transaction in transactions:
                api.simulate_refund(transaction_id=facts[transaction], amount=amount)
            wb.course.answer(name, "$12.50")
            verdicts[way] = wb.course.check(name, api).ok

    assert verdicts == {"the second": True, "the first": True, "half": False, "both": False, "none": False}


def test_the_quiz_of_the_page_works(folder: Path) -> None:
    (folder / "who-unlocks.toml").write_text(QUIZ, encoding="utf-8")
    wb.course.add(folder / "who-unlocks.toml")
    wrong, right = (wb.course.answer("who-unlocks", letter) for letter in "ab")

    assert "A cardholder cannot change" in str(wrong)
    assert "✓ right" in str(right)


def test_the_page_names_whatever_a_file_may_have() -> None:
    """The page names each member of a task and of a criterion, and each verb."""
    members = {field.name for record in (Task, Expectation) for field in attrs.fields(record)} - {"verb", "subject"}
    written = {"members": "with", "value": "is"}
    names = {written.get(name, name) for name in members} | {*VERBS}

    assert sorted(name for name in names if not re.search(rf"(?<![\w-]){name}(?![\w-])", PAGE)) == []


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
        (("hints = [", "hints = 3\nalso = ["), "hints must be a list"),
    ],
)
def test_a_mistake_in_a_file_is_named(folder: Path, change: tuple[str, str], said: str) -> None:
    (folder / "lost-card.toml").write_text(GOOD.replace(*change), encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        read_file(folder / "lost-card.toml")


@pytest.mark.parametrize("name", ["Lost Card", "../lost", "", "x" * 99])
def test_the_name_of_a_file_is_plain(name: str) -> None:
    with pytest.raises(UsageError, match="lower-case letters"):
        read_task(name, toml.loads(GOOD))


def test_every_task_says_what_it_asks_for() -> None:
    assert [task.name for task in TASKS.values() for each in task.expect if not each.that] == []
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
