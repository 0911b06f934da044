"""Transactions as events: the newest row of each transaction, and the events that would produce this row."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.reports.facts import DTYPES, NUMBER, PARTIES, TIME, mask
from workbench.analysis.reports.source_columns import typed
from workbench.analysis.tables.rows import TEXT
from workbench.base.errors import UsageError, visible


def newest_rows(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the newest row of each transaction, and the older rows.

    Raises:
        UsageError: Two rows of a transaction differ and have the same update time.
    """
    frame = frame.drop(columns="net_cents", errors="ignore")  # net_cents follows from posted_cents and refunded_cents
    table = typed(frame, {**_COLUMNS, **{name: DTYPES[name] for name in (*PARTIES, *_TEXTS)}})
    if not mask(table["transaction_id"].notna() & table[NUMBER].duplicated()).any():
        return table, table.iloc[:0]
    newest = table.sort_values("updated_at", kind="stable", na_position="first")
    repeated = mask(newest["transaction_id"].duplicated(keep="last") & newest["transaction_id"].notna())
    if repeated.any():
        rows = newest[mask(newest["transaction_id"].duplicated(keep=False) & newest["transaction_id"].notna())]
        amounts = ["transaction_id", "updated_at", "currency", *_AMOUNTS]
        differing = rows[amounts].drop_duplicates()
        same_time = differing[differing.duplicated(["transaction_id", "updated_at"])]
        if len(same_time):
            first = visible(str(same_time["transaction_id"].iloc[0]), 80)
            raise UsageError(
                f"transactions with different rows of the same updated_at: {same_time['transaction_id'].nunique():,} "
                f"(first: {first}); keep one row per transaction",
                of="history",
            )
    return newest[~repeated].sort_index().reset_index(drop=True), newest[repeated]


_AMOUNTS = ("authorized_cents", "held_cents", "posted_cents", "refunded_cents")
_COUNTS = ("increases", "settlements", "refunds")
TIMES = ("authorized_at", "updated_at", "posted_at", "refunded_at")
_TEXTS = ("declined_reason", "local_currency", "local_amount_cents")
_COLUMNS: Mapping[str, Any] = {
    "transaction_id": TEXT,
    "status": TEXT,
    **dict.fromkeys((*_AMOUNTS, *_COUNTS), "Int64"),
    **dict.fromkeys(TIMES, TIME),
}


def events_of_transactions(table: pd.DataFrame, now: datetime | None) -> pd.DataFrame:
    """Return events that would produce the transactions. An event that replaces several has only bounds of its time."""
    authorized, held, posted, refunded = (table[name] for name in _AMOUNTS)
    begun = mask(authorized.notna())
    declined = mask(table["status"] == "declined") | mask(table["status"].isna() & table["declined_reason"].notna())
    only_requested = mask(table["status"] == "requested")
    settled = mask(posted > 0) | mask(table["settlements"] > 0)
    kept = posted.where(settled, held).fillna(0)
    change = (kept - authorized).clip(upper=0).where(begun & ~declined & ~only_requested, 0)
    change = change.mask(~settled & mask(refunded > 0), 0)
    end = table["updated_at"] if now is None else table["updated_at"].fillna(pd.Timestamp(now))
    several = {name: mask(table[name] > 1) for name in ("settlements", "refunds")}
    refund_known = mask(table["refunds"].fillna(2) <= 1)
    raised = mask(table["increases"].fillna(0) > 0)
    zero, never = pd.Series(0, table.index, dtype="Int64"), pd.Series(pd.NaT, table.index, dtype=TIME)
    at, posted_at, refunded_at = table["authorized_at"], table["posted_at"], table["refunded_at"]
    parts: tuple[tuple[Any, ...], ...] = (  # action, rows, amount, change, time, earliest time and latest time
        ("requested", begun & only_requested, authorized, zero, at, never, never),
        ("created", begun & ~only_requested, authorized, zero, at.mask(raised), at, end),
        (
            "updated",
            mask(change < 0) | (~begun & ~settled & ~mask(refunded > 0)),
            zero,
            change,
            never,
            at,
            posted_at.fillna(end),
        ),
        ("completed", settled, posted, zero, posted_at.mask(several["settlements"]), at, posted_at),
        (
            "completed",
            mask(refunded > 0),
            -refunded,
            zero,
            refunded_at.where(refund_known),
            posted_at.fillna(at),
            refunded_at.fillna(end),
        ),
    )
    places = [np.flatnonzero(part[1]) for part in parts]
    order = np.concatenate(places).argsort(kind="stable")
    places_of = np.concatenate(places)[order]
    actions = np.repeat(np.arange(len(parts)), [*map(len, places)])[order]
    events = pd.DataFrame({name: table[name].array.take(places_of) for name in table if name not in _MADE}, copy=False)
    for place, name in enumerate(("amount", "change", "at", "earliest", "latest"), 2):
        values = [part[place].array[rows] for part, rows in zip(parts, places, strict=True)]
        events[name] = pd.concat(map(pd.Series, values), ignore_index=True).array.take(order)
    untimed = events["at"].isna()
    return events.assign(
        action=pd.Categorical.from_codes(np.minimum(actions, 3), pd.Index([part[0] for part in parts[:4]])),
        status=pd.Categorical.from_codes(declined.astype("int8")[places_of], pd.Index(["", "declined"])),
        known_at=events["at"],
        clock=pd.Categorical.from_codes(np.zeros(len(events), "int8"), pd.Index(["event"])),
        earliest=events["earliest"].where(untimed),
        latest=events["latest"].where(untimed),
        authorized_amount=pd.Series(index=events.index, dtype="Int64"),
        id=pd.Series(index=events.index, dtype=TEXT),
    )


_MADE = frozenset({*_AMOUNTS, *_COUNTS, "updated_at", "refunded_at", "status"})
"""Columns of transactions that are computed from events, and are therefore not columns of events."""
