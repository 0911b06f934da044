"""The exercises: not done at first, checks that name what is missing, done by the call of the last hint."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.course.lessons import scene
from tests.course.right_tries import RIGHT
from tests.course.wrong_tries import WRONG
from workbench import course
from workbench.course.learner import EXERCISES


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep progress in a folder of the test's own, with no session chosen."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    return


@pytest.mark.parametrize("name", EXERCISES)
def test_exercise_is_not_done_at_first(name: str) -> None:
    """A check on a new session names what is missing."""
    with scene(name) as names:
        checked = course.check(name, names["api"])

        assert not checked.done
        assert all(what.endswith(".") for what in checked.missing)
        assert "Missing" in str(checked)


@pytest.mark.parametrize("name", EXERCISES)
def test_last_hint_solves_the_exercise(name: str) -> None:
    """Its call, run in the notebook, is a solution."""
    with scene(name) as names:
        exec(compile(EXERCISES[name].hints[-1], f"<hint of {name}>", "exec"), names)
        checked = course.check(name, names["api"])

        assert () == checked.missing
        assert name in course.progress().done


@pytest.mark.parametrize("name", EXERCISES)
def test_answers_are_hidden(name: str) -> None:
    """Neither the task, nor a check, nor the repr of an exercise shows the hints."""
    with scene(name) as names:
        shown = f"{course.task(name)} {course.check(name, names['api'])} {EXERCISES[name]!r}"

    assert EXERCISES[name].hints[-1] not in shown
    assert 3 == len(EXERCISES[name].hints)


def test_a_half_done_exercise_names_the_other_half() -> None:
    """What is done is not listed."""
    with scene("start-1") as names:
        api: Any = names["api"]
        api.simulate_authorization(
            card_id=names["guide"]["cards"]["active"][1], amount=420, currency="USD", merchant_name="Example Coffee",
            merchant_category_code="5814",
        )  # fmt: skip

        assert ("the authorization is not settled yet.",) == course.check("start-1", api).missing


def test_variables_do_not_count() -> None:
    """A record made by hand was not received by the service."""
    with scene("start-1") as names:
        names["api"].coffee = names["api"].from_wire("simulate_authorization", {"amount": 420})

        assert not course.check("start-1", names["api"]).done


@pytest.mark.parametrize("name", EXERCISES)
def test_last_hint_can_be_pasted(name: str) -> None:
    """A notebook shows it line by line, with its indentation."""
    shown = [course.hint(name) for _ in EXERCISES[name].hints][-1]._repr_html_()
    lines = "<br>".join(escape(line) for line in EXERCISES[name].hints[-1].split("\n"))

    assert f"{lines}</div>" in shown
    assert "white-space:pre" in shown


@pytest.mark.parametrize("name, tried, said", WRONG, ids=[f"{name}-{n}" for n, (name, _, _) in enumerate(WRONG)])
def test_a_wrong_attempt_names_what_is_missing(name: str, tried: str, said: str) -> None:
    """What is nearly right does not count, and the check says why."""
    with scene(name) as names:
        exec(compile(tried, f"<a wrong try of {name}>", "exec"), names | shortcuts(names))

        assert said in " ".join(course.check(name, names["api"]).missing)


@pytest.mark.parametrize("name, tried", RIGHT, ids=[f"{name}-{n}" for n, (name, _) in enumerate(RIGHT)])
def test_another_way_counts_too(name: str, tried: str) -> None:
    """A form, a sequence, native units, any page size and ids in any case are as right as the last hint."""
    with scene(name) as names:
        exec(compile(tried, f"<a right try of {name}>", "exec"), names | shortcuts(names))

        assert () == course.check(name, names["api"]).missing


def shortcuts(names: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that tries share."""
    card = names["api"].guide()["cards"]["active"][1]
    token = {"chain_id": names["contract"].chain_id, "token": names["contract"].tokens[1].address}
    return {
        "COFFEE": {"card_id": card, "amount": 420, "currency": "USD", "merchant_name": "Example Coffee",
                   "merchant_category_code": "5814"},
        "GOLD": {**token, "amount": "1000000", "is_amount_native": True},
        "PLAN": lambda: wb.withdrawals.plan(
            names["api"], names["contract"], token=names["token"], amount=wb.withdrawals.usd("11.00"),
            admin=names["admin"], to=names["to"], decimals=6,
        ),
    }  # fmt: skip
