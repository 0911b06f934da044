"""Draw every chart of docs/charts.md, and the diagrams of states: `python docs/make_charts.py [FOLDER [SIZE]]`.

The data come from the embedded sandbox and are the same in each run. No key or network is needed. Rewards and deliveries are
invented here, because the sandbox's own are too uniform for a picture.
"""

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

import workbench as wb
from workbench import charts, sequences
from workbench.service.interface.transactions import RewardsItem

FOLDER = Path(__file__).parent / "images" / "charts"
PATHS = (
    ("pending", "approved"),
    ("pending", "needsVerification", "pending", "approved"),
    ("pending", "needsInformation", "manualReview", "approved"),
    ("pending", "manualReview", "denied"),
    ("tosNotAccepted", "approved"),
    ("pending", "needsInformation"),
)
SHOPS = (
    ("Corner Grocery", "groceries", 2), ("Harbor Fuel", "gas", 1), ("Blue Gate Cafe", "dining", 3),
    ("Old Mill Bakery", "dining", 3), ("Northern Air", "travel", 5), ("Paper & Ink Books", "shopping", 1),
    ("City Transit", "transit", 2), ("Lantern Cinema", "entertainment", 1),
)  # fmt: skip
"""Merchants, with their category and how many points a dollar earns there."""
DECLINES = (("card-locked", 2), ("blocked-mcc", 5), ("invalid-pin", 3), ("account-credit-limit-exceeded", 8))


def rewards(chance: Random) -> pd.DataFrame:
    """Invent a year of rewards activity, because the sandbox mints all points after a day at one rate."""
    items = []
    for n in range(2_400):
        created = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=chance.randint(0, 360 * 1_440))
        if chance.random() < 0.012:
            points = Decimal(500 * chance.randint(2, 14))
            items.append(RewardsItem(type="redeemed", id=f"r{n}", points=points, created_at=created))
            continue
        name, category, rate = chance.choices(SHOPS, (9, 5, 7, 3, 1, 3, 6, 2))[0]
        cents = chance.randint(200, 9_000) * (4 if category == "travel" else 1)
        posted = created + timedelta(hours=chance.randint(4, 40))
        waited = timedelta(hours=chance.gammavariate(3, 14))
        shop: dict[str, Any] = {"merchant_name": name, "spend_category": category, "transaction_amount_cents": cents}
        points = Decimal(cents * rate) / 100
        if chance.random() < 0.02:
            shop, points = {}, Decimal(-chance.randint(1, 90))  # an adjustment has no merchant
        items.append(
            RewardsItem(
                type="earned", id=f"e{n}", points=points, reason="CARD_SPEND", created_at=created, posted_at=posted,
                minted_at=posted + waited if chance.random() < 0.97 else None, **shop,
            )
        )  # fmt: skip
    return wb.to_frame(items)


def applications(api: Any, chance: Random) -> Any:
    """File applications whose reviews take different times, and return their events."""
    made = sequences.catalogue["application-pending"]
    people = [sequences.run(api, made)["apply"].answer.id for _ in range(24)]
    ways = {person: list(chance.choice(PATHS)) for person in people}
    while any(ways.values()):
        person = chance.choice([one for one in people if ways[one]])
        api.sandbox.advance(hours=chance.randint(1, 30))
        api.sandbox.review(person, ways[person].pop(0))
    return [event for event in api.inbox.events() if event.kind == "user.updated" and event.body.id in people]


def declines(api: Any) -> Any:
    """Make a few declined authorizations."""
    for name, times in DECLINES:
        sequences.run_many(api, sequences.catalogue[f"decline-{name}"], times=times)
    sequences.run_many(api, sequences.catalogue["settle"], times=20)
    return [event for event in api.inbox.events() if event.kind.startswith("transaction.")]


def deliveries(chance: Random) -> list[dict[str, Any]]:
    """Return deliveries in the format of `sandbox.deliveries()`, some with several attempts."""
    kinds = ["user.updated"] * 4 + ["transaction.created"] * 6 + ["transaction.completed"] * 3 + ["card.updated"]
    tried = {"delivered": (1, 1, 1, 1, 1, 2, 3), "waiting": (0, 2), "failed": (5,)}
    states = ["delivered"] * 15 + ["waiting", "failed"]
    picked = [(chance.choice(kinds), chance.choice(states)) for _ in range(140)]
    return [{"kind": kind, "state": state, "attempts": [{}] * chance.choice(tried[state])} for kind, state in picked]


def balances(api: Any, folder: str) -> pd.DataFrame:
    """Record the balances of contracts for some weeks, with invented exchange rates."""
    made = wb.history(api).record_balances(f"{folder}/balances.parquet")
    for _ in range(7):
        api.sandbox.advance(days=7)
        made = wb.history(api).record_balances(f"{folder}/balances.parquet")
    rates = [Decimal(100 + (place * 37 % 23)) / 100 for place in range(len(made))]
    values = [value * rate for value, rate in zip(made["value_usd"], rates, strict=True)]
    return made.assign(value_usd=pd.Series(values, dtype=made["value_usd"].dtype))


Draw = Callable[..., Any]


def pictures() -> Iterator[tuple[str, Draw]]:
    """Yield each chart's name and the function that draws it at a size."""
    chance = Random(6)
    activity, tried = rewards(chance), deliveries(chance)
    with wb.connect() as api:
        contracts = api.list_contracts()
        events = applications(api, chance)
        transactions = declines(api)
    with wb.connect() as api, TemporaryDirectory() as folder:
        sequences.run(api, sequences.traffic(seed=4, cards=6, days=120, a_day=0.7), progress=False)
        spent, held = wb.history(api).transactions(), balances(api, folder)
        disputes = wb.history(api.sandbox.records("dispute")).filter(at=api.sandbox.clock.now()).disputes()
    yield "states-transaction", lambda size: charts.state_diagram("transaction", "authorized")
    yield "states-application", lambda size: charts.state_diagram("application", "pending")
    yield "states-card", lambda size: charts.state_diagram("card", "active")
    yield "states-dispute", lambda size: charts.state_diagram("dispute", "inReview")
    yield "points", lambda size: charts.points_chart(activity, size=size)
    history = wb.history(spent)
    yield "categories", lambda size: charts.rewards_chart(activity, size=size)
    yield "merchants", lambda size: charts.rewards_chart(activity, by="merchant_name", top=5, size=size)
    yield "liability", lambda size: charts.liability_chart(activity, size=size)
    yield "collateral", lambda size: charts.collateral_chart(contracts, size=size)
    yield "balances", lambda size: charts.collateral_chart(held, size=size)
    yield "funnel", lambda size: charts.funnel_chart(events, size=size)
    yield "declines", lambda size: charts.declines_chart(transactions, size=size)
    yield "deliveries", lambda size: charts.deliveries_chart(tried, size=size)
    yield "approvals", lambda size: charts.approvals_chart(history.approvals(freq="week"), size=size)
    yield "spend", lambda size: charts.spend_chart(history.spend("merchant_name"), size=size)
    yield "spend-by-month", lambda size: charts.spend_chart(history.spend(freq="month"), size=size)
    yield "spend-funnel", lambda size: charts.spend_chart(history.funnel(), size=size)
    yield "posting-times", lambda size: charts.times_chart(history.posting_times("merchant_name"), size=size)
    yield "cohorts", lambda size: charts.cohorts_chart(spent, size=size)
    yield "disputes", lambda size: charts.disputes_chart(disputes, size=size)


def main(folder: Path = FOLDER, size: str = "notebook") -> None:
    """Draw all charts at "notebook" or "slide" size."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in pictures():
        (folder / f"{name}.svg").write_text(draw(size=size)._repr_html_().standalone(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER, *sys.argv[2:3])
