"""Reconciliation of a ledger with the postings finds exactly the planted differences, which add up."""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.each import across
from workbench.analysis.reports.reconciliation import _PAIRED, BREAKS
from workbench.base.errors import UsageError
from workbench.service.rendering.text import money

PLANTED = 7  # planted differences of each kind
KINDS = [kind for kind in BREAKS if kind != "no id"]
OTHER = {"usd": "eur", "eur": "jpy", "jpy": "usd"}


def theirs(rows: int, seed: int) -> pd.DataFrame:
    """Return settlements of three months, and a refund of every tenth."""
    chance = np.random.default_rng(seed)
    cents = chance.integers(200, 90_000, rows) * 2 + 1
    at = pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(chance.integers(0, 89 * 24, rows), unit="h")
    frame = pd.DataFrame({"transaction_id": [f"t{n:07}" for n in range(rows)], "net_cents": cents, "at": at})
    refunds = frame.iloc[::10].assign(net_cents=lambda part: -(part["net_cents"] // 3))
    return pd.concat([frame, refunds], ignore_index=True).assign(currency="usd")


def plant(
    frame: pd.DataFrame, seed: int, chosen: Sequence[str] = KINDS, each: int = PLANTED
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Return a ledger and a service that differ in ten ways, and the kind of difference by transaction id."""
    chance = random.Random(seed)
    mine, other = frame.copy(), frame.copy()
    keys = chance.sample([key for key in frame["transaction_id"].unique() if int(key[1:]) % 10], each * len(chosen))
    kinds = dict(zip(keys, [kind for kind in chosen for _ in range(each)], strict=True))
    of = {
        kind: mine["transaction_id"].isin([key for key, planted in kinds.items() if planted == kind]) for kind in KINDS
    }
    mine.loc[of["sign reversed"], "net_cents"] *= -1
    mine.loc[of["hundredfold"], "net_cents"] *= 100
    mine.loc[of["amount differs"], "net_cents"] += 1
    mine.loc[of["currency differs"], "currency"] = OTHER[frame["currency"].iloc[0]]
    mine.loc[of["late"], "at"] += pd.Timedelta(days=45)
    mine.loc[of["orphan refund"], "net_cents"] *= -1
    other = other[~of["missing there"] & ~of["orphan refund"]]
    doubled = [mine[of["doubled here"]], other[of["doubled there"].reindex(other.index)]]
    mine = pd.concat([mine[~of["missing here"]], doubled[0]]).sample(frac=1, random_state=seed)
    return mine, pd.concat([other, doubled[1]]).sample(frac=1, random_state=seed + 1), kinds


@pytest.mark.slow
@pytest.mark.parametrize("rows,seed", [pytest.param(91_000, 0, marks=pytest.mark.soak), (5_000, 1), (5_000, 2)])
def test_all_planted_differences_and_only_these(rows: int, seed: int) -> None:
    """Each planted break is found with its kind. Together they explain the difference of the totals."""
    mine, other, kinds = plant(theirs(rows, seed), seed)
    breaks = wb.history(other).reconcile(mine, signed_by="Ada Example")

    assert dict(zip(breaks["transaction_id"], breaks["break"], strict=True)) == kinds
    assert Counter(breaks["break"]) == {kind: PLANTED * (1 + (kind == "currency differs")) for kind in KINDS}
    assert breaks["difference_cents"].sum() == mine["net_cents"].sum() - other["net_cents"].sum()
    pairs = breaks[breaks["break"].isin(["sign reversed", "hundredfold", "amount differs"])]
    assert breaks.attrs["unexplained"] == {"eur": 0, "usd": pairs["difference_cents"].sum()}
    assert "Signed off by Ada Example." in breaks.attrs["statement"]
    assert breaks[["cause", "next_step"]].notna().all(axis=None)
    assert breaks.index.equals(pd.RangeIndex(len(breaks)))


@pytest.mark.parametrize("kind, code", across(KINDS, OTHER))
def test_each_kind_of_break_in_each_currency(kind: str, code: str) -> None:
    """A single planted break is found and stated with its amount."""
    frame = theirs(60, 1).assign(currency=code)
    mine, other, kinds = plant(frame, 3, [kind], 1)
    breaks = wb.history(other).reconcile(mine)
    difference = mine["net_cents"].sum() - other["net_cents"].sum()
    statement = " ".join(breaks.attrs["statement"])

    assert dict(zip(breaks["transaction_id"], breaks["break"], strict=True)) == kinds
    assert breaks["difference_cents"].sum() == difference
    assert breaks.attrs["unexplained"][code] == (difference if kind in _PAIRED else 0)
    assert (f"Explained ({kind}): 1 row, " in statement) == (kind not in _PAIRED)


@pytest.mark.parametrize("cents, code", across([1, -7, 250_000], OTHER))
def test_an_amount_inside_a_matched_pair_is_the_rest(cents: int, code: str) -> None:
    """A different amount in a matched pair is the unexplained rest, whatever other breaks exist."""
    frame = theirs(200, 2).assign(currency=code)
    mine, other, kinds = plant(frame, 4, [kind for kind in KINDS if kind not in _PAIRED], 2)
    pair = next(key for key in frame["transaction_id"] if key not in kinds and int(key[1:]) % 10)
    mine.loc[mine["transaction_id"] == pair, "net_cents"] += cents
    breaks = wb.history(other).reconcile(mine)

    assert breaks.attrs["unexplained"][code] == cents
    assert f"Not explained: {money(cents, code)}, in 1 pair of different amounts." in breaks.attrs["statement"]


def _ledger(*rows: tuple[str, int, str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["transaction_id", "net_cents", "at"])
    return frame.assign(at=pd.to_datetime(frame["at"], utc=True), currency="usd")


@pytest.mark.slow
def test_a_ledger_without_currency_is_compared_with_a_remark() -> None:
    """If the ledger has no currency, the statement begins with a remark."""
    ledger = _ledger(("a", 500, "2026-03-02"))
    remark = "The ledger states no currency; it is compared as USD."
    bare, stated = (wb.history(ledger).reconcile(mine) for mine in (ledger.drop(columns="currency"), ledger))

    assert bare.attrs["statement"] == [remark, *stated.attrs["statement"]]
    assert remark not in stated.attrs["statement"]


def test_refunds_without_their_purchase_are_not_doubled() -> None:
    """Two equal refunds without their purchase are two missing rows, not a duplicate."""
    refunds = _ledger(("a", -300, "2026-03-02"), ("a", -300, "2026-03-03"), ("b", 500, "2026-03-02"))
    breaks = wb.history(refunds).reconcile(refunds.iloc[2:])

    assert breaks["break"].tolist() == ["missing here", "missing here"]


@pytest.mark.parametrize("kept", ["mine", "theirs"])
def test_a_refund_with_an_id_of_its_own_is_missing_on_the_other_side(kept: str) -> None:
    """Refunds with their own ids are reported as missing, not as orphans."""
    with wb.connect(seed=11) as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        for cents in (900, 1_200):
            bought = api.simulate_authorization(
                card_id=card, amount=cents, currency="USD", merchant_name="Shop", merchant_category_code="5411"
            )
            api.sandbox.settle(bought.transaction_id)
            api.simulate_refund(transaction_id=bought.transaction_id, amount=50)
        postings = wb.history(api).postings()
    moved = postings[postings["net_cents"] != 0]
    ledger = moved[["transaction_id", "net_cents", "at", "currency"]]
    purchases = ledger[ledger["net_cents"] > 0]
    mine, other = (ledger, purchases) if kept == "mine" else (purchases, ledger)
    breaks = wb.history(other).reconcile(mine)

    assert breaks["break"].tolist() == ["missing there" if kept == "mine" else "missing here"] * 2


HONEST = {
    "ids in another notation": (
        _ledger(("AB-12 cd", 500, "2026-03-02")), _ledger(("ab12CD", 500, "2026-03-02")), "2026-03",
    ),
    "one net row of a purchase and its refund": (
        _ledger(("a", 300, "2026-03-02")), _ledger(("a", 500, "2026-03-02"), ("a", -200, "2026-03-09")), "2026-03",
    ),
    "two equal partial refunds": (
        _ledger(("a", 500, "2026-03-02"), ("a", -100, "2026-03-05"), ("a", -100, "2026-03-06")),
        _ledger(("a", 500, "2026-03-02"), ("a", -100, "2026-03-05"), ("a", -100, "2026-03-06")), "2026-03",
    ),
    "a refund of a purchase of a former month": (
        _ledger(("a", 500, "2026-02-02"), ("a", -100, "2026-03-05")),
        _ledger(("a", 500, "2026-02-02"), ("a", -100, "2026-03-05")), "2026-03",
    ),
    "a ledger of a year against a month": (
        _ledger(*((f"t{n}", 100 + n, f"2026-{n:02}-03") for n in range(1, 13))),
        _ledger(*((f"t{n}", 100 + n, f"2026-{n:02}-03") for n in range(1, 13))), "2026-03",
    ),
    "the last hour of a month, in its zone": (
        _ledger(("a", 500, "2026-04-01T03:30:00Z")), _ledger(("a", 500, "2026-03-31T16:00:00Z")), "2026-03",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HONEST)
def test_what_an_honest_ledger_has_is_not_a_break(case: str) -> None:
    """Usual differences of form are matched, and nothing remains unexplained."""
    mine, other, period = HONEST[case]
    breaks = wb.history(other).filter(period, tz="America/New_York").reconcile(mine)

    assert breaks[["transaction_id", "break"]].values.tolist() == []
    assert breaks.attrs["unexplained"] == {"usd": 0}


def test_a_net_row_that_crosses_the_end_of_a_month_is_late() -> None:
    """A net row whose refund is in the next month is a late break, and explains the difference."""
    other = _ledger(("a", 500, "2026-03-02"), ("a", -200, "2026-04-09"))
    breaks = wb.history(other).filter("2026-03").reconcile(_ledger(("a", 300, "2026-03-02")))

    assert breaks[["break", "mine_cents", "theirs_cents", "difference_cents"]].values.tolist() == [
        ["late", 300, 500, -200]
    ]
    assert breaks.attrs["unexplained"] == {"usd": 0}


def test_a_row_without_an_id_is_never_matched() -> None:
    """A row without an id and the equal posting are two breaks."""
    mine = _ledger(("a", 500, "2026-03-02")).assign(transaction_id=None)
    breaks = wb.history(_ledger(("a", 500, "2026-03-02"))).reconcile(mine)

    assert sorted(breaks["break"]) == ["missing here", "no id"]


@pytest.mark.parametrize("column, value", [("at", "2026-13-01"), ("at", "x"), ("net_cents", 1e300)])
def test_a_ledger_of_values_out_of_range_is_refused(column: str, value: object) -> None:
    ledger = pd.DataFrame({"transaction_id": ["a"], "net_cents": [1], column: [value]})
    with pytest.raises(UsageError, match="must be"):
        wb.history(ledger).reconcile(ledger)


@pytest.mark.slow
def test_equal_books_end_in_zero(tmp_path: Path) -> None:
    """A CSV ledger with each settlement and refund of a session has no break."""
    with wb.connect() as api:
        wb.sequences.run(api, wb.sequences.catalogue["a-cardholders-month"], progress=False)
        booked = wb.history(api).postings()
        booked[booked["net_cents"] != 0].to_csv(tmp_path / "ledger.csv", index=False)
        breaks = wb.history(api).reconcile(tmp_path / "ledger.csv")

    assert len(breaks) == 0
    assert breaks.attrs["statement"][2:] == [
        "Difference: 0.00 USD.",
        "Not explained: 0.00 USD, in 0 pairs of different amounts.",
        "Not signed off.",
    ]


@pytest.mark.parametrize("mine,how", [
    (pd.DataFrame({"id": ["a"], "net_cents": [1]}), {}), (pd.DataFrame({"transaction_id": ["a"], "net": [1]}), {}),
    (pd.DataFrame({"transaction_id": ["a"], "net_cents": [1.5]}), {}), (5, {}),
    (pd.DataFrame({"transaction_id": ["a"], "net_cents": ["x"]}), {}),
], ids=range(5))  # fmt: skip
def test_what_cannot_be_compared_is_said(mine: Any, how: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="must be"):
        wb.history(theirs(10, 1)).reconcile(mine, **how)


def test_a_ledger_without_times_is_compared() -> None:
    """The column `at` is optional on both sides."""
    ledger = pd.DataFrame({"transaction_id": ["a", "b"], "net_cents": [100, 200]})

    assert wb.history(ledger).reconcile(ledger).empty
    assert len(wb.history(ledger.iloc[:1]).reconcile(ledger)) == 1


def test_an_empty_ledger_states_its_currency_if_it_has_the_column() -> None:
    """All postings are missing in an empty ledger. Without a currency column, the currency is requested."""
    both = pd.concat(
        [theirs(10, 1), theirs(10, 2).assign(currency="eur", transaction_id=lambda f: "e" + f["transaction_id"])]
    )
    breaks = wb.history(both).reconcile(both.iloc[:0])

    assert set(breaks["break"]) == {"missing here"}
    assert len(breaks) == len(both)
    with pytest.raises(UsageError, match="the history has eur, usd"):
        wb.history(both).reconcile(both.iloc[:0].drop(columns="currency"))
