"""Small frames for charts, with known sums."""

from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from functools import cache
from typing import Any

import pandas as pd

import workbench as wb
from workbench.service.interface.transactions import RewardsItem

EXACT = Context(prec=1000)
JANUARY = datetime(2026, 1, 10, 12, tzinfo=UTC)
MARCH = datetime(2026, 3, 3, 12, tzinfo=UTC)


def rewards_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return a frame of rewards activity. The default type of a row is "earned"."""
    items = [RewardsItem(**{"type": "earned", "id": str(n), **row}) for n, row in enumerate(rows)]
    return wb.to_frame(items, of="list_rewards_activity")


def _spent(points: str, cents: int, merchant: str, category: str, at: datetime, days: int) -> dict[str, Any]:
    return {
        "points": Decimal(points), "transaction_amount_cents": cents, "merchant_name": merchant,
        "spend_category": category, "created_at": at, "posted_at": at, "minted_at": at + timedelta(days=days),
        "reason": "CARD_SPEND",
    }  # fmt: skip


def rewards() -> pd.DataFrame:
    """Return seven rows of rewards activity over three months: 42.75 points earned, 25 redeemed."""
    return rewards_of(
        [
            _spent("2.5", 250, "Blue Door", "dining", JANUARY, 1),
            _spent("10", 500, "Harbor Fuel", "gas", JANUARY, 2),
            _spent("13", 1300, "  Blue Door ", "dining", MARCH, 2),
            _spent("20", 2000, "Blue Door", "dining", MARCH, 5),
            {"points": Decimal("-2.75"), "reason": "CARD_SPEND", "created_at": MARCH, "posted_at": MARCH},
            {"type": "redeemed", "points": Decimal(5), "created_at": JANUARY, "minted_at": JANUARY},
            {"type": "redeemed", "points": Decimal(20), "created_at": MARCH},
        ]
    )


def no_rewards() -> pd.DataFrame:
    """Return an empty frame of rewards activity."""
    return rewards_of([])


@cache
def contracts() -> Any:
    """Return the contracts of a sandbox."""
    with wb.connect() as api:
        return api.list_contracts()


def history() -> pd.DataFrame:
    """Return the statuses of three users: one approved after two days, one after `needsInformation`, one still pending."""
    rows = [
        ("a", 1, "pending"), ("a", 3, "approved"),
        ("b", 1, "pending"), ("b", 2, "needsInformation"), ("b", 7, "pending"), ("b", 11, "approved"),
        ("c", 4, "pending"),
    ]  # fmt: skip
    made = pd.DataFrame(
        {
            "user_id": [row[0] for row in rows],
            "at": pd.to_datetime([datetime(2026, 1, row[1], tzinfo=UTC) for row in rows], utc=True),
            "status": [row[2] for row in rows],
        }
    )
    made.attrs.update(kind="status_history", notes=[])
    return made


def stays() -> pd.DataFrame:
    """Return the days that the three users spent in each status; missing for a status that has not ended."""
    rows = [("pending", 2.0), ("pending", 1.0), ("needsInformation", 5.0), ("pending", 4.0), ("approved", None)]
    made = pd.DataFrame(rows, columns=["status", "days"]).astype({"days": "Float64"})
    made.attrs.update(kind="time_in_status", notes=[])
    return made


DELIVERIES = [
    {"kind": "transaction.created", "state": "delivered", "attempts": [{"status": 200}]},
    {"kind": "transaction.created", "state": "failed", "attempts": [{}, {}, {}]},
    {"kind": "transaction.created", "state": "waiting", "attempts": []},
    {"kind": "user.updated", "state": "delivered", "attempts": [{}, {}]},
]


@cache
def _purchases() -> pd.DataFrame:
    with wb.connect() as api:
        wb.sequences.run(api, wb.sequences.traffic(seed=2, cards=3, days=40), progress=False)
        return wb.history(api).transactions()


def spent() -> pd.DataFrame:
    """Return the transactions of forty days."""
    return _purchases().copy()


def declined() -> pd.DataFrame:
    """Return the transactions of forty days, declined ones first."""
    return spent().sort_values("status", key=lambda statuses: statuses != "declined", kind="stable")


def nothing_spent() -> pd.DataFrame:
    """Return an empty frame of transactions."""
    return wb.history([]).transactions()


def disputes() -> pd.DataFrame:
    """Return the disputes of a sandbox."""
    with wb.connect() as api:
        return wb.history(api.sandbox.records("dispute")).filter(at="2026-06-01").disputes()


def balances() -> pd.DataFrame:
    """Return the balances of one chain on two days."""
    at = pd.to_datetime([datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2)], utc=True)
    made = pd.DataFrame({"at": at, "chain": ["Base Sepolia"] * 2, "value_usd": [Decimal(5), Decimal(7)]})
    made.attrs.update(kind="balances", notes=[])
    return made
