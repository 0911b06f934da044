"""Ledgers in universes: bugs with clocks, holds, crashes, signatures and state are found, and correct ledgers pass."""

import gc
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.testing.ledgers import ONCE, OUTLIVES, RIGHT, WRONG, Ledger, LedgerOfModuleIds, forget, has_books
from workbench import testing
from workbench.service.interface.events import EVENT_KINDS
from workbench.testing import Universe
from workbench.testing.exploring import InvariantBroken, transactions_agree


@pytest.mark.slow
@pytest.mark.parametrize(
    "application",
    [
        pytest.param(application, id=application.__name__, marks=[pytest.mark.soak] * bool(number % 5))
        for number, application in enumerate(WRONG)
    ],
)
def test_a_planted_bug_is_found(application: type[Ledger]) -> None:
    forget()
    result = testing.explore(application, universes=500)

    assert result.failure is not None
    assert result.failure.breach.invariant in WRONG[application], str(result)


@pytest.mark.parametrize("application", RIGHT, ids=lambda application: application.__name__)
@pytest.mark.parametrize(
    "universes",
    [pytest.param(25, marks=pytest.mark.slow), pytest.param(10_000, marks=[pytest.mark.soak, pytest.mark.timeout(0)])],
)
def test_a_right_ledger_passes(application: type[Ledger], universes: int) -> None:
    result = testing.explore(application, universes=universes, invariants=(*testing.MONEY, has_books))

    result.check()
    assert result.universes == universes


def test_the_machines_clock_is_that_of_the_universe_and_comes_back() -> None:
    """While an application runs, clocks show the universe's time. Afterwards they are restored."""
    seen = []

    class Clocks(Ledger):
        def handle(self, event: dict[str, Any]) -> None:
            super().handle(event)
            wall = self.universe.wall.timestamp()
            seen.append((time.time() - wall, datetime.now().astimezone().timestamp() - wall, time.monotonic() - wall))

    before, zone = time.time(), time.tzname
    testing.explore(Clocks, universes=5)

    assert seen
    assert all(abs(difference) < 0.001 for row in seen for difference in row)
    assert 0 <= time.time() - before < 60
    assert time.tzname == zone


class LedgerOfManyClocks(Ledger):
    """A ledger that reads five clocks for each event."""

    def is_new(self, event: dict[str, Any]) -> bool:
        self.read = time.time(), time.monotonic(), datetime.now().astimezone(), monotonic(), time.perf_counter()
        self.universe.counts["read"] += 1
        return super().is_new(event)


@pytest.fixture
def frequent_collections() -> Iterator[None]:
    """Collect garbage often, and read a clock at each collection, as Hypothesis does."""
    before, callback = gc.get_threshold(), lambda phase, info: time.perf_counter()
    gc.callbacks.append(callback)
    gc.set_threshold(100)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(callback)


@pytest.mark.usefixtures("frequent_collections")
def test_reads_of_the_machines_clock_are_counted() -> None:
    """Clock reads of the application are counted in the first universe, by whether they are simulated."""
    result = testing.explore(LedgerOfManyClocks, universes=1)
    times = result.counts["read"]

    assert times > 1
    assert {what: count for what, count in result.counts.items() if what.startswith("reads")} == {
        "reads of the machine's clock, in the first universe": 3 * times,
        "reads of time.monotonic, which is not simulated, in the first universe": times,
        "reads of time.perf_counter, which is not simulated, in the first universe": times,
    }
    assert not any(what.startswith("reads") for what in testing.explore(Ledger, universes=1).counts)


@pytest.mark.slow
def test_the_traffic_has_every_event_of_cards_and_users() -> None:
    """The traffic has all kinds of events except micro deposits."""
    kinds: set[str] = set()

    class Recorder(Ledger):
        def handle(self, event: dict[str, Any]) -> None:
            kinds.add(f"{event['resource']}.{event['action']}")
            super().handle(event)

    testing.explore(Recorder, universes=40)

    assert set(EVENT_KINDS) - kinds == {"microDeposit.received"}


class FinishedUniverse(Universe):
    """A finished universe with the given postings and books."""

    def __init__(self, posted: list[int], booked: int) -> None:
        self.posted, self.books = [("t", cents) for cents in posted], {"t": booked}
        self.service = {"t": sum(posted)}  # type: ignore[assignment]


@pytest.mark.parametrize(
    "posted, booked, rule",
    [
        ([1000, -200], 1000, "no event is lost"),
        ([1000, -200], 600, ONCE),
        ([1000], 2000, ONCE),
        ([1000, -200, -200], 800, "no event is lost"),
        ([1000, -200], 799, "the books agree with the service"),
    ],
)
def test_the_explanation_with_the_fewest_events_is_given(posted: list[int], booked: int, rule: str) -> None:
    """A wrong balance is explained by the smallest number of lost or repeated events."""
    with pytest.raises(InvariantBroken) as broken:
        transactions_agree(FinishedUniverse(posted, booked))

    assert broken.value.breach.invariant == rule


def test_several_explanations_are_all_named() -> None:
    with pytest.raises(InvariantBroken, match="no event is lost"):
        transactions_agree(FinishedUniverse([1000, -1000], 1000))


SHOP = """
from tests.testing.ledgers import Ledger

IDS = set()


class Application(Ledger):
    def is_new(self, event):
        is_new = event["id"] not in IDS and super().is_new(event)
        IDS.add(event["id"])
        return is_new
"""


def test_modules_are_loaded_afresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `fresh_modules` each universe reloads the module. Without it, module state is reported."""
    (tmp_path / "fresh_shop.py").write_text(SHOP)
    monkeypatch.syspath_prepend(tmp_path)
    import fresh_shop  # type: ignore[import-not-found]

    stale = testing.explore(fresh_shop.Application, universes=20)
    fresh = testing.explore(fresh_shop.Application, universes=20, fresh_modules=["fresh_shop"])
    sys.modules.pop("fresh_shop", None)

    assert stale.failure is not None
    assert stale.failure.breach.invariant == OUTLIVES
    assert fresh.failure is None


def test_what_outlives_a_universe_is_named_without_a_story() -> None:
    forget()
    failure = testing.explore(LedgerOfModuleIds, universes=20).failure

    assert failure is not None
    assert failure.breach.found.startswith("module-level state, a file")
    assert failure.story == ()


def test_an_invariant_reads_the_application_and_its_database() -> None:
    """An invariant can read the application's database, but not write to it."""
    read = []

    def rows(universe: Universe) -> None:
        database = universe.application.database
        read.append(database.execute("SELECT count(*) FROM seen").fetchone()[0])
        with pytest.raises(Exception, match="readonly"):
            database.execute("DELETE FROM seen")

    testing.explore(Ledger, universes=1, invariants=[rows]).check()

    assert read[0] > 0


@pytest.mark.slow
def test_deliveries_differ_in_form_and_not_in_content() -> None:
    """Deliveries have several JSON notations, each correctly signed."""
    forms: set[tuple[bool, ...]] = set()

    class Notes(Ledger):
        async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
            forms.add((b'": ' in body, b"\n" in body, b"\\/" in body))
            return await super().receive(headers, body)

    testing.explore(Notes, universes=60).check()

    assert len(forms) >= 3
