"""The money of listed transactions for the overview: their amounts in one currency, and the times of its movements."""

from collections.abc import Collection
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.reports.facts import mask, whole
from workbench.analysis.reports.history import history
from workbench.client.session import sandbox_of
from workbench.screens.panel.cells import Rows, milliseconds, stored_cells


def facts_of(api: object, known: Collection[str]) -> tuple[pd.DataFrame | None, set[str]]:
    """Return the facts of the transactions with events or refunds, if there are any, and the ids of these transactions.

    Args:
        known: Ids of the listed transactions.
    """
    sandbox = sandbox_of(api)
    if sandbox is None:
        return history(getattr(api, "inbox", None) or []).facts, {*known}
    events = [event for event in sandbox.events() if event.payload["resource"] == "transaction"]
    refunds = (request.path for request in sandbox.requests() if request.operation == "simulate_refund")
    ids = {event.payload["body"]["id"] for event in events} | {str(path).split("/")[-2] for path in refunds}
    moved = ids.intersection(known)
    if not moved:
        return None, moved

    def columns(_: str, names: str) -> list[list[Any]]:
        records = [sandbox.state(key) for key in moved]
        return [[record[name] for record in records] for name in names.split()]

    members = {name: getattr(sandbox, name) for name in ("clock", "deliveries", "records", "requests")}
    source = SimpleNamespace(**members, events=lambda: events, _columns=columns)
    return history(source).facts, moved


class Money:
    """The transactions in one currency, and the movements of their money.

    A transaction without events counts as settled at its posting time, and as refunded at an unknown time since. The
    start and the end of a range are in milliseconds.
    """

    def __init__(self, api: object, rows: Rows, currency: str, now: datetime) -> None:
        own = np.array([code == currency for code in rows.column("currency")], "bool")

        def numbers(name: str) -> Any:
            return np.array(stored_cells(rows.column(name)), "float64")[own]

        def cents(name: str) -> Any:
            return np.array([value or 0 for value in rows.column(name)], "int64")[own]  # floats would lose digits

        amount, self._held, self._posted = cents("amount_cents"), cents("held_cents"), cents("posted_cents")
        self._at, self._posted_at, refunded = numbers("authorized_at"), numbers("posted_at"), cents("refunded_cents")
        is_request = (amount > 0) | (refunded == 0) | (self._posted > 0)
        self._is_asked = ~np.isnan(numbers("amount_cents")) & is_request
        self._is_declined = np.array([status == "declined" for status in rows.column("status")], "bool")[own]
        facts, moved = facts_of(api, rows.ids)
        plain = np.array([key not in moved for key in rows.ids], "bool")[own]
        begun = np.where(np.isnan(self._posted_at), self._at, self._posted_at)
        end, is_settled = np.full(len(amount), milliseconds(now)), self._posted > 0
        nets = [(self._posted_at, self._posted_at, self._posted), (begun, end, -refunded)]
        holds = [
            (self._at, np.where(is_settled, amount, self._held)),
            (self._posted_at, np.where(is_settled, -amount, 0)),
        ]
        nets, holds = ([tuple(values[plain] for values in part) for part in parts] for parts in (nets, holds))
        if facts is not None:
            facts = facts[mask(facts["currency"] == currency)]
            first, last = (_milliseconds(facts["at"].fillna(facts[name])) for name in ("earliest", "latest"))
            nets.append((first, last, whole(facts["net_cents"])))
            holds.append((last, whole(facts["held_cents"])))
        first, last, self._net = _moved(nets)
        self._first, self._last = np.nan_to_num(first, nan=-np.inf), np.nan_to_num(last, nan=np.inf)
        self._held_at, self._hold = _moved(holds)

    def net(self, since: int, end: int) -> int:
        """Return settlements less refunds in a range, without the amounts that `unplaced` returns."""
        return int(self._net[(self._first >= since) & (self._last < end)].sum())

    def unplaced(self, since: int, end: int) -> tuple[int, int]:
        """Return the cents and number of the settlements and refunds that may or may not be in a range."""
        is_open = (self._first < end) & (self._last >= since) & ((self._first < since) | (self._last >= end))
        left = self._net[is_open]
        return int(left.sum()), len(left)

    def posted(self, since: int, end: int) -> tuple[int, int]:
        """Return the cents and number of the transactions whose last settlement is in a range."""
        cents = self._posted[(self._posted_at >= since) & (self._posted_at < end)]
        return int(cents.sum()), len(cents)

    def asked(self, since: int, end: int) -> tuple[int, int]:
        """Return the number of authorizations in a range, and the number of declined authorizations."""
        chosen = (self._at >= since) & (self._at < end) & self._is_asked
        return int(chosen.sum()), int(self._is_declined[chosen].sum())

    def held(self) -> tuple[int, int]:
        """Return the cents and number of open holds."""
        return int(self._held.sum()), int((self._held > 0).sum())

    def held_before(self, moment: int) -> int:
        """Return the cents of the holds that were open at a time, as far as the times of holds are known."""
        return int(self._hold[self._held_at < moment].sum())


def _moved(parts: list[Any]) -> list[Any]:
    """Join movements, whose last column is an amount, and leave out movements of nothing."""
    columns = [np.concatenate(values) for values in zip(*parts, strict=True)]
    return [column[columns[-1] != 0] for column in columns]


def _milliseconds(times: "pd.Series[Any]") -> Any:
    """Return times in milliseconds since 1970, or NaN for missing times."""
    return ((times - pd.Timestamp(0, tz=UTC)) / pd.Timedelta(milliseconds=1)).to_numpy()
