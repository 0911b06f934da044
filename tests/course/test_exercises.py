"""Exercises: open at first, done by the code of the last hint and by other ways, and not done by wrong attempts."""

from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest

from tests.course.lessons import World, scene, shortcuts
from tests.course.right_tries import RIGHT
from tests.course.wrong_tries import WRONG
from workbench import course
from workbench.course.task_files import EXERCISES

pytestmark = pytest.mark.slow  # each test attempts an exercise in a separate sandbox
SOAK = pytest.mark.soak


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_pauses: None) -> Iterator[None]:
    """Store progress in a folder of the test."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    return


@pytest.mark.parametrize("name", EXERCISES)
def test_exercise_is_not_done_at_first_and_its_answer_is_hidden(name: str) -> None:
    """A check names what is missing. Neither check nor task shows the code of the last hint."""
    with scene(name) as names:
        checked = course.check(name, names["api"])
        shown = f"{course.task(name)} {checked} {EXERCISES[name]!r}"

        assert not checked.ok
        assert all(what.endswith(".") for what in checked.missing)
        assert EXERCISES[name].answer not in shown
        assert 3 == len(EXERCISES[name].all_hints)


@pytest.mark.parametrize("name", EXERCISES)
def test_last_hint_solves_the_exercise_and_can_be_pasted(name: str) -> None:
    """The last hint's code solves the exercise. Its HTML keeps the lines and the indentation."""
    with scene(name) as names:
        hints = [course.hint(name) for _ in EXERCISES[name].all_hints]
        exec(compile(hints[-1].hints[-1], f"<hint of {name}>", "exec"), names)
        checked = course.check(name, names["api"])

        assert () == checked.missing
        assert name in course.progress().done
        lines = "<br>".join(escape(line) for line in EXERCISES[name].answer.split("\n"))
        assert f"{lines}</div>" in hints[-1]._repr_html_()


def test_run_all_of_what_nobody_tried_counts_no_try() -> None:
    """A check counts as a try only if something was done since the last check."""
    with scene("start-1") as names:
        api: Any = names["api"]
        for _ in range(3):
            course.check("start-1", api)
        untried = course.progress().results["start-1"].tries
        api.simulate_authorization(**shortcuts(names)["COFFEE"])
        for _ in range(3):
            course.check("start-1", api)

    assert (untried, course.progress().results["start-1"].tries) == (0, 1)


def test_what_was_done_before_a_task_is_not_judged_with_it() -> None:
    """Only changes after the task is shown are judged, so cells before it may change records."""
    with scene("start-1") as names:
        api: Any = names["api"]
        api.sandbox.cards.lock(names["guide"]["cards"]["active"][5])
        disturbed = course.check("start-1", api).missing
        course.task("start-1", api)
        undisturbed = course.check("start-1", api).missing

    assert any("something else changed: card" in what for what in disturbed)
    assert not any("something else" in what for what in undisturbed)


LONG = "rewards-2"
"""An exercise that reads ten thousand items: once in `make test`, in all ways in `make soak`."""


def ids(tries: list[Any]) -> list[str]:
    return [f"{name}-{way.replace(' ', '-')}-{number}" for number, (name, way, *_) in enumerate(tries)]


def parameters(tries: list[Any]) -> list[Any]:
    """Return name and code of each attempt: a third of each exercise in `make test`, all in `make soak`."""
    made, seen = [], Counter[str]()
    for name, _, code in tries:
        is_soaked = seen[name] % 3 > 0 or (name == LONG and tries is RIGHT)
        made.append(pytest.param(name, code, marks=SOAK if is_soaked else ()))
        seen[name] += 1
    return made


@pytest.mark.parametrize("name, tried", parameters(WRONG), ids=ids(WRONG))
def test_a_wrong_attempt_is_not_done(name: str, tried: str) -> None:
    """An almost right attempt, or a right one with another change, is not accepted."""
    with scene(name) as names:
        attempt(tried, names)

        assert not course.check(name, names["api"]).ok


@pytest.mark.parametrize("name, tried", parameters(RIGHT), ids=ids(RIGHT))
def test_another_way_counts_too(name: str, tried: str) -> None:
    """An exercise can also be done by a form, sequence, bulk run or command, and with other notations."""
    with scene(name) as names:
        attempt(tried, names)

        assert () == course.check(name, names["api"]).missing


BESIDE = {
    "a card is locked": "api.sandbox.cards.lock(GUIDE['cards']['active'][7])",
    "a purchase is made": "api.simulate_authorization(card_id=GUIDE['cards']['active'][8], amount=100, currency='USD', "
    "merchant_name='Example Shop', merchant_category_code='5411')",
    "a phone number is changed": "api.update_user(user_id=GUIDE['users']['approved'][3], phone_country_code='1', "
    "phone_number='5550177')",
    "an application is denied": "api.sandbox.review(GUIDE['users']['manualReview'][0], 'denied')",
    "a dispute is canceled": "api.update_dispute(dispute_id=GUIDE['disputes']['inReview'][0], status='canceled')",
}
"""Writes that no exercise asks for."""
FURTHER = [
    pytest.param(name, what, marks=() if (number + other) % len(BESIDE) == 0 and name != LONG else SOAK)
    for number, name in enumerate(EXERCISES)
    for other, what in enumerate(BESIDE)
    if (name, what) != ("webhooks-2", "a purchase is made")
]
"""Each exercise with each write, one of them in `make test`; a purchase is a way to cause what `webhooks-2` asks for."""


@pytest.mark.parametrize("name, what", FURTHER)
def test_a_right_answer_with_a_further_write_is_not_done(name: str, what: str) -> None:
    """After an additional change, the check says that something else changed."""
    code = BESIDE[what]
    if EXERCISES[name].environment == "production" and not code.startswith("api.sandbox"):
        # in production these calls are not armed, so a control makes the unwanted change instead
        code = "api.sandbox.cards.unlock(GUIDE['cards']['locked'][0])"
    with scene(name) as names:
        names["GUIDE"] = names["api"].sandbox.guide()
        attempt(EXERCISES[name].answer, names)
        exec(compile(code, "<beside>", "exec"), names)
        missing = course.check(name, names["api"]).missing

        assert any("something else changed" in sentence or "not what is asked for" in sentence for sentence in missing)


HINTS = [(name, "last hint", task.answer) for name, task in EXERCISES.items()]


@pytest.mark.parametrize(
    "name, tried, world",
    [
        pytest.param(
            name, code, world, id=f"{name}-{world}", marks=SOAK if name == LONG or (number + 2 * other) % 4 else ()
        )
        for number, (name, _, code) in enumerate(HINTS)
        for other, world in enumerate(("served", "class"))
    ],
)
def test_the_last_hint_is_right_elsewhere_too(name: str, tried: str, world: World) -> None:
    """The code of the last hint also solves the exercise in a served sandbox and in a class."""
    with scene(name, world) as names:
        before = course.check(name, names["api"]).ok
        attempt(tried, names)

        assert not before
        assert () == course.check(name, names["api"]).missing


@SOAK
@pytest.mark.parametrize("world", ["served", "class"])
@pytest.mark.parametrize("tried", [*RIGHT, *WRONG], ids=ids([*RIGHT, *WRONG]))
def test_each_attempt_is_judged_alike_elsewhere(tried: tuple[str, str, str], world: World) -> None:
    """Attempts have the same verdict in a served sandbox and in a class."""
    name, _, code = tried
    with scene(name, world) as names:
        attempt(code, names)

        assert course.check(name, names["api"]).ok is (tried in RIGHT)


@pytest.mark.parametrize("name", EXERCISES)
def test_each_exercise_is_tried_often_enough(name: str) -> None:
    """Each exercise has at least four right attempts, in two ways, and five wrong ones."""
    right = [way for task, way, _ in RIGHT if task == name]

    assert 4 <= len(right)
    assert 2 <= len({*right, "last hint"} - {"method"})
    assert 5 <= sum(task == name for task, _, _ in WRONG)


def attempt(tried: str, names: dict[str, Any]) -> None:
    """Run the code of an attempt with the variables of the notebook."""
    names.update(shortcuts(names))
    exec(compile(tried, "<a try>", "exec"), names)
