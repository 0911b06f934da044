"""A ledger against the postings: all planted differences are found, and only these, and they add up."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.analysis.reports.reconciliation import BREAKS
from workbench.base.errors import UsageError

PLANTED = 7  # of each kind
KINDS = [kind for kind in BREAKS if kind != "no id"]


def theirs(rows: int, seed: int) -> pd.DataFrame:
    """Return settlements in dollars of January to March, and refunds of every tenth."""
    chance = np.random.default_rng(seed)
    cents = chance.integers(200, 90_000, rows) * 2 + 1
    at = pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(chance.integers(0, 89 * 24, rows), unit="h")
    frame = pd.DataFrame({"transaction_id": [f"t{n:07}" for n in range(rows)], "net_cents": cents, "at": at})
    refunds = frame.iloc[::10].assign(net_cents=lambda part: -(part["net_cents"] // 3))
    return pd.concat([frame, refunds], ignore_index=True).assign(currency="usd")


def plant(frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Return a ledger and a service that differ in ten ways, and the kind of difference of each key."""
    chance = random.Random(seed)
    mine, other = frame.copy(), frame.copy()
    keys = chance.sample([key for key in frame["transaction_id"].unique() if int(key[1:]) % 10], PLANTED * len(KINDS))
    kinds = dict(zip(keys, [kind for kind in KINDS for _ in range(PLANTED)], strict=True))
    of = {
        kind: mine["transaction_id"].isin([key for key, planted in kinds.items() if planted == kind]) for kind in KINDS
    }
    mine.loc[of["sign reversed"], "net_cents"] *= -1
    mine.loc[of["hundredfold"], "net_cents"] *= 100
    mine.loc[of["amount differs"], "net_cents"] += 1
    mine.loc[of["currency differs"], "currency"] = "eur"
    mine.loc[of["late"], "at"] += pd.Timedelta(days=45)
    mine.loc[of["orphan refund"], "net_cents"] *= -1
    other = other[~of["missing there"] & ~of["orphan refund"]]
    doubled = [mine[of["doubled here"]], other[of["doubled there"].reindex(other.index)]]
    mine = pd.concat([mine[~of["missing here"]], doubled[0]]).sample(frac=1, random_state=seed)
    return mine, pd.concat([other, doubled[1]]).sample(frac=1, random_state=seed + 1), kinds


@pytest.mark.parametrize("rows,seed", [(91_000, 0), (5_000, 1), (5_000, 2)])
def test_all_planted_differences_and_only_these(rows: int, seed: int) -> None:
    """100,000 rows, ten kinds of breaks: each key has its kind, the breaks explain the difference of the totals."""
    mine, other, kinds = plant(theirs(rows, seed), seed)
    breaks = wb.history(other).reconcile(mine, signed_by="Ada Example")

    assert dict(zip(breaks["transaction_id"], breaks["break"], strict=True)) == kinds
    assert Counter(breaks["break"]) == {kind: PLANTED * (1 + (kind == "currency differs")) for kind in KINDS}
    assert breaks["difference_cents"].sum() == mine["net_cents"].sum() - other["net_cents"].sum()
    pairs = breaks[breaks["break"].isin(["sign reversed", "hundredfold", "amount differs"])]
    assert breaks.attrs["unexplained"] == {"eur": 0, "usd": pairs["difference_cents"].sum()}
    assert "Signed off by Ada Example." in breaks.attrs["statement"]
    assert breaks[["cause", "next_step"]].notna().all(axis=None)


@pytest.mark.parametrize("column, value", [("at", "2026-13-01"), ("at", "x"), ("net_cents", 1e300)])
def test_a_ledger_of_values_out_of_range_is_refused(column: str, value: object) -> None:
    ledger = pd.DataFrame({"transaction_id": ["a"], "net_cents": [1], column: [value]})
    with pytest.raises(UsageError, match="must be"):
        wb.history(ledger).reconcile(ledger)


def test_equal_books_end_in_zero(tmp_path: Path) -> None:
    """A ledger that booked each settlement and refund of a session, from a CSV file, has no break."""
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
