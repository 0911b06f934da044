"""Card transactions from their events: one row each, with what was authorized, is held, posted and refunded."""

from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd

from workbench.interface.events import EVENT_KINDS
from workbench.tables.events import DELIVERY, events_frame
from workbench.tables.rows import TEXT

PATTERN = "transaction.*"
KINDS = tuple(kind for kind in EVENT_KINDS if fnmatchcase(kind, PATTERN))
_REQUESTED, _CREATED, _UPDATED, _COMPLETED = KINDS
ASSUMED = "Assumed: the kinds and members of transaction events are not documented."
STATUSES = ("requested", "authorized", "reversed", "declined", "settled", "refunded")
MONEY = ("authorized", "held", "posted", "refunded", "net")
"""The columns of amounts, in cents."""
_TEXTS = {
    "card_id": "card_id", "user_id": "user_id", "merchant_name": "merchant_name",
    "merchant_category": "merchant_category", "merchant_category_code": "merchant_category_code",
    "currency": "currency",
}  # fmt: skip


def transactions(events: Any) -> pd.DataFrame:
    """Return one row per card transaction: its amounts, parties, status and times, from its events in any order.

    An event that came twice counts once. Money is in cents: `authorized` is what was asked for, `held` what an open
    authorization holds, `posted` what settled, `refunded` what came back, and `net` is posted minus refunded.

    Args:
        events: A session, an inbox, events, a log of events, a run of a sequence, or a frame of events.

    Returns:
        Columns transaction_id, card_id, user_id, merchant_name, merchant_category, merchant_category_code, currency,
        status (requested, authorized, reversed, declined, settled or refunded), declined_reason, authorized, held,
        posted, refunded, net (Int64), version, authorized_at, updated_at, posted_at, refunded_at; in the order in which
        the transactions first occur. `refunded_at` is known where the events have a time of delivery.
    """
    data, notes = _events(events)
    data = data[data["kind"].isin(KINDS) & data["body.id"].notna()]
    data = data[~data["id"].duplicated()].reset_index(drop=True)
    codes, ids = pd.factorize(data["body.id"])
    groups = _Groups(np.asarray(codes), len(ids))
    spend = {name.removeprefix("body.spend."): data[name] for name in data.columns if name.startswith("body.spend.")}
    kind = data["kind"].to_numpy(dtype=object)
    amount, change = (
        spend[name].fillna(0).to_numpy(dtype="int64") for name in ("amount", "authorization_update_amount")
    )
    completed, created, updated = (kind == _COMPLETED), (kind == _CREATED), (kind == _UPDATED)

    # The first event of the best kind says what was asked for; later ones say it together with their own change.
    first = groups.first(np.select([created, kind == _REQUESTED], [0, 1], 2))
    base = spend["authorized_amount"].fillna(spend["amount"]).fillna(0).to_numpy(dtype="int64")[first] - change[first]
    declined = groups.any((spend["status"] == "declined").to_numpy(dtype=bool, na_value=False))
    is_completed = groups.any(completed)
    posted = groups.sum(np.where(completed & (amount > 0), amount, 0))
    refunded = groups.sum(np.where(completed & (amount < 0), -amount, 0))
    open_amount = base + groups.sum(np.where(updated, change, 0))
    open_now = ~declined & ~is_completed & groups.any(created | updated)
    reversed_ = ~declined & (posted == 0) & (refunded == 0) & (open_amount <= 0) & groups.any(updated)
    status = np.select(
        [declined, reversed_, is_completed & (refunded >= posted) & (refunded > 0), is_completed, open_now],
        ["declined", "reversed", "refunded", "settled", "authorized"], "requested",
    )  # fmt: skip

    made = pd.DataFrame({"transaction_id": pd.array(ids, dtype=TEXT)})
    for name, member in _TEXTS.items():
        made[name] = spend[member].iloc[first].to_numpy()
        made[name] = made[name].astype(TEXT)
    made["status"] = pd.Categorical(status, STATUSES)
    made["declined_reason"] = groups.last(spend["declined_reason"]).astype(TEXT)
    held = np.where(open_now, np.maximum(open_amount, 0), 0)
    asked = base + groups.sum(np.where(updated & (change > 0), change, 0))
    for name, values in zip(MONEY, (asked, held, posted, refunded, posted - refunded), strict=True):
        made[name] = pd.array(values, dtype="Int64")
    made["version"] = groups.last(data["version"]).astype(TEXT)
    delivered = data["at"].where(data["at_source"].isin(["event_received_at", DELIVERY]))
    times = {
        "authorized_at": spend["authorized_at"], "updated_at": data["at"],
        "posted_at": spend["posted_at"].where(completed & (amount >= 0)), "refunded_at": delivered.where(amount < 0),
    }  # fmt: skip
    for name, moments in times.items():
        made[name] = groups.first_time(moments) if name == "authorized_at" else groups.last_time(moments)
    made["posted_at"] = made["posted_at"].where(~reversed_)
    if unknown := int(((refunded > 0) & made["refunded_at"].isna().to_numpy()).sum()):
        notes.append(f"{unknown:,} refunded transactions have no time of the refund: their events hold none.")
    made.attrs.update(kind="transactions", notes=[ASSUMED, *notes], revealed=[], unknown={}, cents=list(MONEY))
    return made


def _events(events: Any) -> tuple[pd.DataFrame, list[str]]:
    """Return the frame of transaction events, with all their columns, and its notes but those on unknown members."""
    if isinstance(events, pd.DataFrame):
        frame = events
    elif callable(getattr(events, "frame", None)):
        frame = events.frame(of=PATTERN)  # a log
    else:
        frame = events_frame(events, PATTERN)
    empty = events_frame([], PATTERN)
    missing = [name for name in empty.columns if name not in frame]
    for name in missing:
        frame = frame.assign(**{name: pd.Series(index=frame.index, dtype=empty[name].dtype)})
    complete = frame.attrs.get("complete", True)
    return frame, [] if complete else ["Not complete: events are missing."]


class _Groups:
    """The rows of each transaction: exact sums, the first and the last of them."""

    def __init__(self, codes: Any, count: int) -> None:
        self._codes, self._count = codes, count
        self._order = np.argsort(codes, kind="stable")
        self._starts = np.searchsorted(codes[self._order], np.arange(count))

    def sum(self, values: Any) -> Any:
        """Return the sums of whole numbers."""
        return np.add.reduceat(values[self._order], self._starts) if self._count else values[:0]

    def any(self, values: Any) -> Any:
        """Return which transactions have a row that is true."""
        return self.sum(values.astype("int64")) > 0

    def first(self, rank: Any) -> Any:
        """Return the place of the row of the lowest rank, the first of these."""
        order = np.lexsort((np.arange(len(rank)), rank, self._codes))
        return order[self._starts] if self._count else order

    def last(self, values: "pd.Series[Any]") -> "pd.Series[Any]":
        """Return the last value that is not missing."""
        return values.groupby(self._codes).last().reindex(range(self._count))

    def first_time(self, values: "pd.Series[Any]") -> "pd.Series[Any]":
        """Return the earliest time."""
        return values.groupby(self._codes).min().reindex(range(self._count))

    def last_time(self, values: "pd.Series[Any]") -> "pd.Series[Any]":
        """Return the latest time."""
        return values.groupby(self._codes).max().reindex(range(self._count))
