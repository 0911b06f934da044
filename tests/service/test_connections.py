"""Many connections to a served sandbox under faults: each purchase happens once, or not at all if it was not sent."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import workbench as wb
from tests.client.doubles import PURCHASE
from workbench.sandbox import Sandbox

FAULTS = ("status", "reset", "closed", "lost", "malformed", "cut")


def buy(url: str, name: str, count: int) -> Counter[tuple[str, str]]:
    """Make purchases with unique names over one client; return each name with its outcome."""
    chance, outcomes = random.Random(name), Counter[tuple[str, str]]()
    with wb.connect(url) as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        for number in range(count):
            merchant = f"{name}-{number}"
            if chance.random() < 0.05:
                api.sandbox.add_fault(chance.choice(FAULTS), of="simulate_authorization", times=1)
            try:
                api.simulate_authorization(**{**PURCHASE, "card_id": card, "merchant_name": merchant})
            except wb.OutcomeUnknown as error:
                outcomes[merchant, str(api.journal[error.attempt.id].outcome)] += 1
            except wb.errors.NotSent:
                outcomes[merchant, "not_sent"] += 1
            else:
                outcomes[merchant, "done"] += 1
    return outcomes


@pytest.mark.parametrize(
    "purchases",
    [
        pytest.param(2, marks=pytest.mark.slow),
        pytest.param(400, marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_64_connections(purchases: int, tmp_path: Path) -> None:
    """Purchases that are done exist once, unsent ones do not exist, and unknown ones exist once or not at all."""
    outcomes: Counter[tuple[str, str]] = Counter()
    with Sandbox(path=tmp_path / "sandbox.db", seed=7).serve() as url:
        with ThreadPoolExecutor(64) as pool:
            for part in pool.map(lambda number: buy(url, f"c{number}", purchases), range(64)):
                outcomes.update(part)
        with wb.connect(url) as api:
            there = Counter(str(record["merchant_name"]) for record in api.sandbox.records("transaction"))
            counts = Counter(outcome for _, outcome in outcomes)
            unknown = [merchant for merchant, outcome in outcomes if outcome == "unknown"]
            happened = sum(there[merchant] for merchant in unknown)
    print(f"64 connections: {dict(counts)}, {happened} of the unknown ones happened")

    assert {1} == {there[merchant] for merchant, outcome in outcomes if outcome == "done"}
    assert not [merchant for merchant, outcome in outcomes if outcome == "not_sent" and there[merchant]]
    assert not [merchant for merchant in unknown if there[merchant] > 1]
    assert 64 * purchases == sum(counts.values())
    assert unknown
