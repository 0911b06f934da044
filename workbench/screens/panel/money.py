"""The money of a session for the overview: its transactions as numbers, and the times of their money movements."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.reports.facts import whole
from workbench.analysis.reports.history import history
from workbench.client.session import sandbox_of
from workbench.sandbox.internals import internals
from workbench.screens.panel.cells import cells_of_frame, milliseconds, uncollected

_STORED = {
    "id": "transaction_id", "currency": "currency", "status": "status",
    "authorized_at": "authorized_at", "posted_at": "posted_at", "authorized": "authorized_cents", "held": "held_cents",
    "settled": "posted_cents", "refunded": "refunded_cents",
}  # fmt: skip
"""Members of a stored transaction, each with its column in `history.transactions`."""
_TIMES = ("authorized_at", "posted_at")
_UNKNOWN = -1  # stands for an amount that the source lacks
Columns = dict[str, NDArray[Any]]
_CENTS = ("authorized_cents", "held_cents", "posted_cents", "refunded_cents")


class _WithEvents:
    """Transactions of a sandbox that have events, as a source for a history."""

    def __init__(self, sandbox: Any, events: list[Any], ids: Sequence[str]) -> None:
        self._sandbox, self._events, self._ids = sandbox, events, ids

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    def events(self) -> list[Any]:
        return self._events

    def _columns(self, _: str, names: str) -> list[list[Any]]:
        records = [self._sandbox.state(key) for key in self._ids]
        return [[record[name] for record in records] for name in names.split()]


class Money:
    """Transactions of a session, and the facts of transactions with events. Only changed transactions are read again.

    A stored transaction without events counts as settled at its posting time, and as refunded at an unknown time since.
    """

    def __init__(self, api: object) -> None:
        self._api, self._mark = api, ""
        self._ids: Sequence[str] = ()
        self._positions: dict[str, int] = {}
        self._rows: Columns = {}
        self._facts: Columns = {}
        self.currencies: list[str] = []
        """Currencies of the transactions, the most frequent first."""

    def read(self) -> None:
        """Read the transactions, or only the changes since the last read."""
        sandbox, is_all = sandbox_of(self._api), True
        if sandbox is None:
            past = history(getattr(self._api, "inbox", None) or [])
            columns = cells_of_frame(past.transactions())
            for name in _TIMES:
                columns[name] = [at and milliseconds(at) for at in columns[name]]
            for name in _CENTS:
                missing = _UNKNOWN if name == "authorized_cents" else 0
                columns[name] = [missing if cents is None else cents for cents in columns[name]]
            self._facts = _facts(past.facts)
        else:
            with uncollected():
                read = internals(sandbox).changed("transaction", " ".join(_STORED), self._mark)
            self._mark, is_all, *stored = read
            columns = dict(zip(_STORED.values(), stored, strict=True))
        ids, fresh = columns["transaction_id"], _numbers(columns)
        if is_all:
            self._ids, self._positions, self._rows = ids, {}, fresh
        else:
            known = self._known
            at = [known.setdefault(key, len(known)) for key in ids]
            for name, values in fresh.items():
                grown = np.concatenate([self._rows[name], values])[: len(known)]
                grown[at] = values
                self._rows[name] = grown
        moved = {*ids} if sandbox is None else self._moved(sandbox)
        self._rows["plain"] = np.ones(len(self._rows["asked"]), "bool")
        self._rows["plain"][[self._known[key] for key in moved]] = False
        self.currencies = [code for code, _ in Counter(self._rows["currency"].tolist()).most_common() if code]

    @property
    def _known(self) -> dict[str, int]:
        """Return the position of each transaction by id."""
        if not self._positions:
            self._positions = dict(zip(self._ids, count()))
        return self._positions

    def _moved(self, sandbox: Any) -> set[str]:
        """Read the facts of a sandbox's transactions with events or refunds; return the ids of these transactions."""
        events = [event for event in sandbox.events() if event.payload["resource"] == "transaction"]
        refunds = (request.path for request in sandbox.requests() if request.operation == "simulate_refund")
        ids = {event.payload["body"]["id"] for event in events} | {str(path).split("/")[-2] for path in refunds}
        moved = {key for key in ids if key in self._known}
        self._facts = _facts(history(_WithEvents(sandbox, events, [*moved])).facts) if moved else {}
        return moved

    def part(self, currency: str, now: datetime) -> "Part":
        """Return the transactions and movements in one currency."""

        def own(columns: Columns) -> Columns:
            return {name: values[columns["currency"] == currency] for name, values in columns.items()}

        return Part(own(self._rows), own(self._facts), now)


def _numbers(columns: Mapping[str, Sequence[Any]]) -> Columns:
    """Return columns of transactions as arrays."""
    codes = {code: code and code.lower() for code in {*columns["currency"]}}
    table: Columns = {"currency": np.array([codes[code] for code in columns["currency"]], "object")}
    table |= {name: np.array(columns[name], "float64") for name in _TIMES}
    table |= {name: np.array(columns[name], "int64") for name in _CENTS}
    amounts, _, posted, refunded = (table[name] for name in _CENTS)
    table["asked"] = (amounts != _UNKNOWN) & ((amounts > 0) | (refunded == 0) | (posted > 0))
    table["declined"] = np.array([status == "declined" for status in columns["status"]], "bool")
    return table


def _facts(facts: pd.DataFrame) -> Columns:
    """Return facts as arrays: the earliest and latest possible time, the net amount and the change of the hold."""
    at, first, last = (
        ((facts[name] - pd.Timestamp(0, tz=UTC)) / pd.Timedelta(milliseconds=1)).to_numpy()
        for name in ("at", "earliest", "latest")
    )
    codes = np.array(facts["currency"].where(facts["currency"].notna(), ""), "object")
    bounds = {"first": np.where(np.isnan(at), first, at), "last": np.where(np.isnan(at), last, at)}
    return {"currency": codes} | bounds | {"net": whole(facts["net_cents"]), "held": whole(facts["held_cents"])}


class Part:
    """The transactions in one currency, and the movements of their money.

    A range is given by its start and its end, in milliseconds.
    """

    def __init__(self, rows: Columns, facts: Columns, now: datetime) -> None:
        self._rows = rows
        authorized_at, posted_at, amount, held, posted, refunded = (
            rows[name][rows["plain"]] for name in (*_TIMES, *_CENTS)
        )
        settled, begun = posted > 0, np.where(np.isnan(posted_at), authorized_at, posted_at)
        nothing, end = np.zeros(len(amount), "int64"), np.full(len(amount), milliseconds(now))
        moves = [  # first time, last time, net amount, and change of the hold
            (authorized_at, authorized_at, nothing, np.where(settled, amount, held)),
            (posted_at, posted_at, posted, np.where(settled, -amount, 0)),
            (begun, end, -refunded, nothing),
        ]
        if facts:
            moves.append((facts["first"], facts["last"], facts["net"], facts["held"]))
        first, last, net, held = map(np.concatenate, zip(*moves, strict=True))
        first, last = np.where(np.isnan(first), -np.inf, first), np.where(np.isnan(last), np.inf, last)
        self._first, self._last, self._net = first[net != 0], last[net != 0], net[net != 0]
        self._held_at, self._held = last[held != 0], held[held != 0]

    def net(self, since: int, end: int) -> int:
        """Return settlements less refunds in a range, without the amounts that `unplaced` returns."""
        return int(self._net[(self._first >= since) & (self._last < end)].sum())

    def unplaced(self, since: int, end: int) -> tuple[int, int]:
        """Return the cents and number of the settlements and refunds that may or may not be in a range."""
        may_be = (self._first < end) & (self._last >= since)
        left = may_be & ~((self._first >= since) & (self._last < end))
        return int(self._net[left].sum()), int(left.sum())

    def posted(self, since: int, end: int) -> tuple[int, int]:
        """Return the cents and number of the transactions whose last settlement is in a range."""
        within = self._within("posted_at", since, end)
        return int(self._rows["posted_cents"][within].sum()), int(within.sum())

    def asked(self, since: int, end: int) -> tuple[int, int]:
        """Return the number of authorizations in a range, and the number of declined authorizations."""
        chosen = self._within("authorized_at", since, end) & self._rows["asked"]
        return int(chosen.sum()), int(self._rows["declined"][chosen].sum())

    def held(self) -> tuple[int, int]:
        """Return the cents and number of open holds."""
        held = self._rows["held_cents"]
        return int(held.sum()), int((held > 0).sum())

    def held_before(self, moment: int) -> int:
        """Return the cents of the holds that were open at a time, as far as the times of holds are known."""
        return int(self._held[self._held_at < moment].sum())

    def _within(self, name: str, since: int, end: int) -> Any:
        at = self._rows[name]
        return (at >= since) & (at < end)
