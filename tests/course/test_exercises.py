"""The exercises: not done at first, checks that name what is missing, done by the call of the last hint."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest

from tests.course.lessons import World, scene, shortcuts
from tests.course.right_tries import RIGHT
from tests.course.tries import PAGE, page
from tests.course.wrong_tries import WRONG
from workbench import course
from workbench.course.learner import EXERCISES

pytestmark = pytest.mark.slow  # each attempts an exercise in a world of its own


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_pauses: None) -> Iterator[None]:
    """Keep progress in a folder of the test's own, with no session chosen."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    return


@pytest.mark.parametrize("name", EXERCISES)
def test_exercise_is_not_done_at_first(name: str) -> None:
    """A check on a new session names what is missing."""
    with scene(name) as names:
        checked = course.check(name, names["api"])

        assert not checked.ok
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

        assert not course.check("start-1", names["api"]).ok


@pytest.mark.parametrize("name", EXERCISES)
def test_last_hint_can_be_pasted(name: str) -> None:
    """A notebook shows it line by line, with its indentation."""
    shown = [course.hint(name) for _ in EXERCISES[name].hints][-1]._repr_html_()
    lines = "<br>".join(escape(line) for line in EXERCISES[name].hints[-1].split("\n"))

    assert f"{lines}</div>" in shown
    assert "white-space:pre" in shown


@pytest.mark.parametrize(
    "name, tried, said",
    [(name, tried, said) for name, _, tried, said in WRONG],
    ids=[f"{name}-{what.replace(' ', '-')}" for name, what, _, _ in WRONG],
)
def test_a_wrong_attempt_names_what_is_missing(name: str, tried: str, said: str) -> None:
    """What is nearly right does not count, and the check says why."""
    with scene(name) as names:
        attempt(tried, names)

        assert said in " ".join(course.check(name, names["api"]).missing)


SLOW, SOAK = pytest.mark.slow, pytest.mark.soak
HINTS = [(name, "last hint", one.hints[-1]) for name, one in EXERCISES.items()]


def ways(tries: list[tuple[str, str, str]], mark: Any, heavy: Any) -> list[Any]:
    """Return tries as parameters with a mark; heavy ones get another."""
    return [
        pytest.param(
            name, tried, id=f"{name}-{way.replace(' ', '-')}-{number}",
            marks=heavy if name == "rewards-2" or "timeout=60" in tried else mark,  # thousands of items, or real seconds
        )
        for number, (name, way, tried) in enumerate(tries)
    ]  # fmt: skip


@pytest.mark.parametrize("name, tried", ways(RIGHT, (), SOAK))
def test_another_way_counts_too(name: str, tried: str) -> None:
    """A form, a sequence, a bulk run, the terminal, native units, any page size and ids in any case are as right as the last hint."""
    with scene(name) as names:
        attempt(tried, names)

        assert () == course.check(name, names["api"]).missing


@pytest.mark.parametrize("world", ["served", "class"])
@pytest.mark.parametrize("name, tried", [*ways(HINTS, SLOW, SOAK), *ways(RIGHT, SOAK, SOAK)])
def test_right_elsewhere_too(name: str, tried: str, world: World) -> None:
    """What is right in an embedded sandbox is right in a served one and in a class."""
    with scene(name, world) as names:
        before = course.check(name, names["api"]).ok
        attempt(tried, names)

        assert not before
        assert () == course.check(name, names["api"]).missing


@SOAK
@pytest.mark.parametrize("world", ["served", "class"])
@pytest.mark.parametrize(
    "name, tried, said",
    [(name, tried, said) for name, _, tried, said in WRONG],
    ids=[f"{name}-{what.replace(' ', '-')}" for name, what, _, _ in WRONG],
)
def test_wrong_elsewhere_too(name: str, tried: str, said: str, world: World) -> None:
    """What is wrong in an embedded sandbox is wrong in a served one and in a class, for the same reason."""
    with scene(name, world) as names:
        attempt(tried, names)

        assert said in " ".join(course.check(name, names["api"]).missing)


@pytest.mark.parametrize("name", EXERCISES)
def test_each_exercise_is_tried_often_enough(name: str) -> None:
    """Four right attempts beside the last hint and five wrong ones, at least; the right ones in two ways or more."""
    right = [way for one, way, _ in RIGHT if one == name]

    assert 4 <= len(right)
    assert 2 <= len({*right, "last hint"} - {"method"})
    assert 5 <= sum(one == name for one, _, _, _ in WRONG)


def test_the_page_lists_all_tries() -> None:
    """`python -m tests.course.tries` writes it."""
    assert page() == PAGE.read_text(encoding="utf-8")


def attempt(tried: str, names: dict[str, Any]) -> None:
    """Run the code of a try with what the notebook has made."""
    names.update(shortcuts(names))
    exec(compile(tried, "<a try>", "exec"), names)
