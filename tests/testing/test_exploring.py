"""Applications in simulated runs: planted bugs are found, correct applications pass, and runs can be replayed."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

import workbench as wb
from tests.testing.applications import (
    PLANTED,
    PLANTED_IN_TILLS,
    ChecksThenActs,
    CommitsTheBooksFirst,
    LosesATimer,
    Shop,
    Till,
    TillOfTwoCommits,
    bonuses_are_paid,
)
from workbench import testing
from workbench.base.errors import UsageError
from workbench.sandbox import Sandbox
from workbench.testing import Universe
from workbench.testing.exploring import Exploration
from workbench.testing.loop import NotSimulated

BEHAVIOR = {"behavior": "observed", "refund_event_id": "transaction"}
SANDBOX = Sandbox(behavior=BEHAVIOR)
INVARIANTS = (*testing.MONEY, bonuses_are_paid)
QUICK = (ChecksThenActs, CommitsTheBooksFirst, LosesATimer, TillOfTwoCommits)


def explored(application: Any, **options: Any) -> Exploration:
    return testing.explore(application, **{"invariants": INVARIANTS, "sandbox": SANDBOX, "universes": 500, **options})


@cache
def found(application: Any) -> Exploration:
    return explored(application)


@pytest.mark.parametrize(
    "application",
    [
        pytest.param(
            application,
            id=application.__name__,
            marks=() if application in QUICK else pytest.mark.soak if number % 12 else pytest.mark.slow,
        )
        for number, application in enumerate((*PLANTED, *PLANTED_IN_TILLS))
    ],
)
def test_a_planted_bug_is_found(application: Any) -> None:
    """The failure has few decisions and a short story. `python -m tests.testing.planted` prints the processor time."""
    result = found(application)

    assert result.failure is not None
    assert result.failure.breach.invariant in {**PLANTED, **PLANTED_IN_TILLS}[application], str(result)
    assert len(result.failure.decisions) <= 6, str(result)
    assert len(result.failure.story) <= 50, str(result)


class TillWithAFailingJob(Till):
    """An application whose job fails each time."""

    def main(self) -> None:
        raise sqlite3.OperationalError("database is locked")


@pytest.mark.slow
def test_a_job_that_fails_is_a_line_of_the_story() -> None:
    """The universe continues after a failed job, and the story has the job's error."""
    result = explored(TillWithAFailingJob, universes=300)

    assert result.failure is not None
    assert any("main failed: OperationalError: database is locked" in str(line) for line in result.failure.story)


def test_a_failure_that_does_not_happen_again_is_reported_as_it_was() -> None:
    """A failure that does not recur is reported without reducing its universe."""
    broken = iter([False, False, False, True])

    def breaks_once(universe: Universe) -> None:
        assert not next(broken, False), "only the fourth time"

    result = explored(Shop, invariants=[breaks_once], universes=5)

    assert result.failure is not None
    assert result.failure.breach.invariant == "breaks once"


@pytest.mark.slow
@pytest.mark.parametrize("application", [Shop, Till])
@pytest.mark.parametrize(
    "universes",
    [
        30,
        pytest.param(10_000, marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_a_right_application_passes(application: type[Any], universes: int) -> None:
    result = explored(application, universes=universes)

    print(result)
    result.check()
    assert result.universes == universes
    assert result.counts["crashes"] >= universes // 20


@pytest.mark.slow
def test_the_same_seed_gives_the_same_trace_in_30_runs() -> None:
    failure = found(LosesATimer).failure
    assert failure is not None
    again = (explored(LosesATimer, decisions=failure.decisions).failure for _ in range(30))
    traces = {failure.trace, *(one.trace for one in again if one is not None)}

    assert len(traces) == 1


@pytest.mark.slow
def test_the_same_seed_gives_the_same_trace_in_two_processes() -> None:
    program = (
        "from tests.testing.test_exploring import *; print(explored(LosesATimer, universe=21).failure.found_trace)"
    )
    traces = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout for _ in "12"
    }

    assert len(traces) == 1
    assert len(traces.pop().strip()) == 16


def test_a_universe_replays_by_its_number_and_its_decisions() -> None:
    failure = found(ChecksThenActs).failure
    assert failure is not None
    again = explored(ChecksThenActs, universe=failure.universe).failure
    small = explored(ChecksThenActs, decisions=failure.decisions).failure

    assert again is not None
    assert small is not None
    assert (again.trace, small.trace) == (failure.found_trace, failure.trace)
    assert f"decisions={dict(failure.decisions)}" in str(found(ChecksThenActs))


def test_an_invariant_is_a_plain_function() -> None:
    def books_are_empty(universe: Universe) -> None:
        assert not universe.books, "there are books"

    failure = explored(Shop, invariants=(books_are_empty,)).failure

    assert failure is not None
    assert failure.breach.invariant == "books are empty"
    assert failure.breach.found.startswith("there are books")


def test_a_scenario_plans_the_traffic() -> None:
    def scenario(universe: Universe) -> None:
        universe.purchase("1")
        universe.after(600, lambda: universe.request("pay", universe.posted[0][0]))

    result = explored(Shop, universes=1, scenario=scenario, invariants=testing.MONEY[:1])
    assert result.failure is None
    assert result.counts["calls"] == 1


class UsesAThread(Shop):
    """An application that waits for a thread, and hides the error."""

    async def take(self, event: dict[str, Any]) -> int:
        try:
            await asyncio.to_thread(print)
        except wb.WorkbenchError:
            return 200
        return 200


class StartsAThread(Shop):
    """An application that starts a thread, which continues."""

    def start(self) -> None:
        super().start()
        self.ended = self.universe.ended = threading.Event()  # type: ignore[attr-defined]
        threading.Thread(target=self.ended.wait, args=(2,), daemon=True).start()


class OpensASocket(Shop):
    """An application that opens a network connection."""

    async def take(self, event: dict[str, Any]) -> int:
        await asyncio.open_connection("127.0.0.1", 9)
        return 200


@pytest.mark.parametrize(
    "application, what", [(UsesAThread, "a thread"), (StartsAThread, "a thread"), (OpensASocket, "a socket")]
)
def test_what_cannot_be_simulated_is_refused(application: type[Shop], what: str) -> None:
    with pytest.raises(NotSimulated, match=what):
        explored(application)


def test_exploring_within_an_event_loop_is_refused() -> None:
    async def within() -> None:
        explored(Shop)

    with pytest.raises(NotSimulated, match="another event loop"):
        asyncio.run(within())


@pytest.mark.slow
@pytest.mark.workbench(universes=20, behavior=BEHAVIOR)
def test_the_fixture_explores_as_the_marker_says(explore: Any) -> None:
    assert explore(Shop).universes == 20

    with pytest.raises(AssertionError, match="The shortest story"):
        explore(ChecksThenActs, universes=60)


class Idle:
    """An application that accepts everything, and books nothing."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe

    def receive(self, headers: Any, body: bytes) -> Any:
        return 200

    def books(self) -> Any:
        return {}


def test_a_job_that_fails_is_counted_in_a_result_without_a_failure() -> None:
    """The result counts failed jobs, even if the books are correct."""

    class Failing(Idle):
        def main(self) -> None:
            raise RuntimeError("no configuration")

    class Awaited(Idle):
        async def main(self) -> None:
            raise RuntimeError("no configuration")

    for application, label in ((Failing, "main"), (Awaited, "a task")):
        result = explored(application, invariants=(), universes=1)

        assert result.failure is None
        assert f"failures of {label} (RuntimeError)" in str(result)


def test_a_status_that_is_text_is_shown_as_text() -> None:
    """The story shows a status returned as text in quotes, which explains why it is not accepted."""

    class Text(Idle):
        def receive(self, headers: Any, body: bytes) -> Any:
            return "200"

    result = explored(Text, universes=1)

    assert result.failure is not None
    assert any("'200' to transaction" in str(line) for line in result.failure.story)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"universes": 0}, "universes must be a whole number, at least 1"),
        ({"universes": "5"}, "universes must be a whole number, at least 1"),
        ({"fresh_modules": "shop"}, "fresh_modules must be a list of module names, not text"),
        ({"fresh_modules": ["no_such_module"]}, "fresh_modules there is no module no_such_module"),
        ({"invariants": [lambda universe: False]}, "invariants must raise AssertionError, not return a bool"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_exploration_that_would_find_nothing_is_refused(options: dict[str, Any], words: str) -> None:
    """Options with which no failure can be found are refused, such as no universe."""
    with pytest.raises(UsageError, match=words):
        testing.explore(Idle, **options)


@pytest.mark.parametrize("books, words", [(None, "None"), (3, "an int"), ([["a"]], "a list")])
def test_books_of_another_type_are_named(books: Any, words: str) -> None:
    """The error names the method of the application, not an argument of the same type."""

    class Odd(Idle):
        def books(self) -> Any:
            return books

    with pytest.raises(UsageError, match=rf"application\.books must return a mapping, not {words}"):
        testing.explore(Odd, universes=3)


def test_an_error_of_the_application_is_not_blamed_on_an_argument() -> None:
    """A TypeError of the application keeps its text, also if an argument has the type that it names."""

    class Broken(Idle):
        def books(self) -> Any:
            return len(3)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="object of type 'int' has no len"):
        testing.explore(Broken, universes=3)


def test_an_application_without_a_method_is_named() -> None:
    with pytest.raises(UsageError, match=r"application\.books is missing"):
        testing.explore(lambda universe: SimpleNamespace(receive=print))


def test_an_application_that_exits_does_not_end_the_exploration() -> None:
    """`sys.exit` in a handler is named, and does not end the process of the tests."""

    class Exits(Idle):
        def receive(self, headers: Any, body: bytes) -> Any:
            sys.exit(3)

    with pytest.raises(NotSimulated, match=r"the application called sys\.exit\(3\)"):
        testing.explore(Exits, universes=2)
