"""Amounts of the listed transactions for the overview, each with its earliest and latest possible time."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.reports.facts import mask, whole
from workbench.analysis.reports.history import history
from workbench.client.session import sandbox_of
from workbench.screens.panel.cells import Rows, milliseconds


def facts_of(api: object, known: Collection[str]) -> tuple[pd.DataFrame | None, set[str]]:
    """Return the facts of the listed transactions that have events or refunds, and the ids of these transactions.

    The facts are None if no listed transaction has events or refunds.

    Args:
        known: Ids of the listed transactions. For a real service, all of these ids are returned.
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

    def changed(_: str, names: str) -> list[Any]:
        records = [sandbox.state(key) for key in moved]
        return ["", True, *([record[name] for record in records] for name in names.split())]

    members = {name: getattr(sandbox, name) for name in ("clock", "deliveries", "records", "requests")}
    source = SimpleNamespace(**members, events=lambda: events, _changed=changed)
    return history(source).facts, moved


def amounts(first: Any, last: Any, cents: Any) -> list[Any]:
    """Return three columns: first and last possible time in milliseconds, and amount. Zero amounts are omitted."""
    columns = np.nan_to_num(first, nan=-np.inf), np.nan_to_num(last, nan=np.inf), cents
    return [column[cents != 0] for column in columns]


def money_of(api: object, rows: Rows, currency: str, now: datetime) -> Mapping[str, Sequence[Any]]:
    """Return the amounts of transactions in a currency: net changes, changes of holds, open holds and settled amounts.

    A transaction without events counts as settled at its posting time, and as refunded at an unknown later time.
    "asked" contains 1 for each approved and -1 for each declined authorization. "possible" contains the net changes
    with exchanged bounds, so that a range includes every change that may belong to it.
    """
    own = np.array(rows.column("currency"), "object") == currency

    def numbers(name: str) -> Any:
        return np.array(rows.column(name), "float64")[own]

    def cents(name: str) -> Any:
        return np.array([value or 0 for value in rows.column(name)], "int64")[own]  # floats would lose digits

    amount, held, posted, refunded = map(cents, ("amount_cents", "held_cents", "posted_cents", "refunded_cents"))
    asked_at, posted_at = numbers("authorized_at"), numbers("posted_at")
    is_asked = ~np.isnan(numbers("amount_cents")) & ((amount > 0) | (refunded == 0) | (posted > 0))
    declined = np.array(rows.column("status"), "object")[own] == "declined"
    facts, moved = facts_of(api, rows.ids)
    plain = np.array([key not in moved for key in rows.ids], "bool")[own]
    begun, end = np.where(np.isnan(posted_at), asked_at, posted_at), np.full(len(amount), milliseconds(now))
    net = [amounts(posted_at, posted_at, posted * plain), amounts(begun, end, -refunded * plain)]
    holds = [
        amounts(asked_at, asked_at, np.where(posted > 0, amount, held) * plain),
        amounts(posted_at, posted_at, -amount * (posted > 0) * plain),
    ]
    if facts is not None:
        facts = facts[mask(facts["currency"] == currency)]
        first, last = (
            ((facts["at"].fillna(facts[name]) - pd.Timestamp(0, tz=UTC)) / pd.Timedelta(milliseconds=1)).to_numpy()
            for name in ("earliest", "latest")
        )
        net.append(amounts(first, last, whole(facts["net_cents"])))
        holds.append(amounts(last, last, whole(facts["held_cents"])))
    first, last, changes = map(np.concatenate, zip(*net, strict=True))
    return {
        "net": (first, last, changes),
        "possible": (last, first, changes),
        "holds": [*map(np.concatenate, zip(*holds, strict=True))],
        "held": amounts(asked_at, asked_at, held),
        "posted": amounts(posted_at, posted_at, posted),
        "asked": amounts(asked_at, asked_at, np.where(declined, -1, 1) * is_asked),
    }
