"""Sums of a session's transactions for the overview, over columns of numbers that change with the list."""

from array import array
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.client.session import sandbox_of
from workbench.screens.panel.cells import Rows, stored_cells

_NEVER = -(2**62)
"""Instead of a time in milliseconds that is not known."""
_CODED = ("user_id", "currency", "status")
_TIMES = ("authorized_at", "posted_at")
_AMOUNTS = ("amount_cents", "held_cents", "posted_cents", "refunded_cents")


def milliseconds(at: datetime) -> int:
    """Return a time in milliseconds since 1970."""
    return int(at.timestamp() * 1000)


class _WithEvents:
    """Transactions of a sandbox that have events, as the source of a history."""

    def __init__(self, sandbox: Any, events: list[Any], ids: Sequence[str]) -> None:
        self._sandbox, self._events, self._ids = sandbox, events, ids

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    def events(self) -> list[Any]:
        return self._events

    def _columns(self, _: str, names: str) -> list[list[Any]]:
        records = [self._sandbox.state(key) for key in self._ids]
        return [[record[name] for record in records] for name in names.split()]


class Sums:
    """Totals over a session's transactions; only changed transactions are read again.

    Money moves when it is settled or refunded: of transactions with events a history says when, and a stored one
    without events was settled at its posting, and refunded between then and now.
    """

    def __init__(self, api: Any) -> None:
        self._api = api
        self._rows: Rows | None = None
        self._number = self._last = 0  # number of changes, and of the last event
        self._events: list[Any] = []
        self._numbers: dict[str, array[int]] = {}
        self._codes: dict[Any, int] = {None: 0}
        self._apart: list[int] = []  # positions of transactions with movements in a history
        self._facts: dict[str, NDArray[np.int64]] = {}

    def read(self, rows: Rows) -> None:
        """Apply the changes in the list of transactions."""
        if rows is self._rows:
            changed: Sequence[int] = rows.log.since(self._number)
        else:
            self._rows, self._events, self._last, changed = rows, [], 0, range(len(rows.ids))
            self._numbers = {name: array("q") for name in (*_CODED, *_TIMES, *_AMOUNTS)}
        self._number = rows.log.number
        for name, numbers in self._numbers.items():
            cells = stored_cells(rows.column(name))
            encoded = self._encoded(name, cells if len(changed) == len(cells) else [cells[place] for place in changed])
            if len(encoded) == len(cells):
                self._numbers[name] = encoded
                continue
            for place, position in enumerate(changed):
                numbers[position : position + 1] = encoded[place : place + 1]
        if changed or self._apart:
            self._read_facts(rows)

    def _encoded(self, name: str, values: Sequence[Any]) -> "array[int]":
        """Return values as numbers: codes of texts, milliseconds of times, cents."""
        if name in _CODED:
            for value in dict.fromkeys(values):
                self._codes.setdefault(value, len(self._codes))
            return array("q", map(self._codes.__getitem__, values))
        missing = 0 if name in _AMOUNTS[1:] else _NEVER
        if datetime in {*map(type, values)}:
            values = [milliseconds(value) if isinstance(value, datetime) else value for value in values]
        return array("q", [missing if value is None else value for value in values])

    def _read_facts(self, rows: Rows) -> None:
        """Read the movements of transactions with events."""
        from workbench.analysis.reports.history import history

        source, sandbox = self._api, sandbox_of(self._api)
        ids: set[str] = {*rows.ids}
        if sandbox is not None:
            new = sandbox.events(since=self._last)
            self._events += [event for event in new if event.payload["resource"] == "transaction"]
            self._last = new[-1].sequence if new else self._last
            refunded = {
                str(request.path).split("/")[-2]
                for request in sandbox.requests()
                if request.operation == "simulate_refund"
            }
            ids = {event.payload["body"]["id"] for event in self._events} | refunded
            source = _WithEvents(sandbox, self._events, [key for key in ids if key in rows.positions])
        self._apart = [rows.positions[key] for key in ids if key in rows.positions]
        facts = history(source).facts if self._apart else None
        self._facts = {}
        if facts is None:
            return
        for name in ("at", "earliest", "latest"):
            times = facts[name].astype("datetime64[ms, UTC]").astype("int64").to_numpy("int64")
            self._facts[name] = np.where(facts[name].isna(), np.int64(_NEVER), times)
        for name in ("net_cents", "held_cents"):
            self._facts[name] = facts[name].to_numpy("int64", na_value=0)
        for name in ("user_id", "currency"):
            texts = facts[name].astype(object).where(facts[name].notna(), None)
            self._facts[name] = np.array(self._encoded(name, texts.tolist()), "int64")

    def currencies(self) -> list[str]:
        """Return the currencies of the transactions, the most frequent first."""
        codes, counts = np.unique(self._column("currency"), return_counts=True)
        names = {code: name for name, code in self._codes.items()}
        found = [names[codes[place]] for place in np.argsort(-counts, kind="stable")]
        return [name for name in found if name is not None]

    def _column(self, name: str) -> NDArray[np.int64]:
        return np.array(self._numbers[name], "int64")

    def part(self, currency: str, users: Sequence[str] | None, now: datetime) -> "Part":
        """Return the numbers of a currency and of some users, or of all."""
        codes = None if users is None else [self._codes[user] for user in users if user in self._codes]

        def own(columns: dict[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
            chosen = columns["currency"] == self._codes.get(currency, -1)
            if codes is not None:
                chosen &= np.isin(columns["user_id"], codes)
            return {name: values[chosen] for name, values in columns.items()}

        columns = {name: self._column(name) for name in self._numbers}
        columns["plain"] = np.ones(len(columns["currency"]), "int64")
        columns["plain"][self._apart] = 0
        columns["declined"] = (columns["status"] == self._codes.get("declined", -1)).astype("int64")
        return Part(own(columns), own(self._facts) if self._facts else {}, milliseconds(now))


class Part:
    """The transactions of a currency and of some users, and the movements of their money.

    Ranges are given by the milliseconds of their first moment and of their end.
    """

    def __init__(self, rows: dict[str, NDArray[np.int64]], facts: dict[str, NDArray[np.int64]], now: int) -> None:
        self.rows = rows
        plain = rows["plain"] == 1
        posted_at, authorized_at = rows["posted_at"][plain], rows["authorized_at"][plain]
        posted, refunded, held, amount = (
            rows[f"{name}_cents"][plain] for name in ("posted", "refunded", "held", "amount")
        )
        begun = np.where(posted_at == _NEVER, authorized_at, posted_at)
        none = np.zeros(0, "int64")
        known = facts.get("at", none)
        timed = known != _NEVER
        first, last = (np.where(timed, known, facts.get(name, none)) for name in ("earliest", "latest"))
        first = np.where(last == _NEVER, _NEVER, first)
        self._first = np.concatenate([posted_at, begun, first])
        self._last = np.concatenate([posted_at, np.full(len(begun), now), last])
        self._net = np.concatenate([posted, -refunded, facts.get("net_cents", none)])
        settled = (posted_at != _NEVER) & (posted > 0)
        opened = np.where(settled, amount, held)
        self._moved_at = np.concatenate([authorized_at, posted_at[settled], known[timed]])
        self._held = np.concatenate([opened, -amount[settled], facts.get("held_cents", none)[timed]])

    def net(self, since: int, end: int) -> int:
        """Return settlements less refunds in a range, without what `unplaced` returns."""
        return int(self._net[(self._first >= since) & (self._last < end)].sum())

    def unplaced(self, since: int, end: int) -> tuple[int, int]:
        """Return the cents and the number of settlements and refunds that may be in a range or outside it."""
        may_be = (self._first < end) & ((self._last >= since) | (self._last == _NEVER))
        left = may_be & ~((self._first >= since) & (self._last < end)) & (self._net != 0)
        return int(self._net[left].sum()), int(left.sum())

    def posted(self, since: int, end: int) -> tuple[int, int]:
        """Return the cents and the number of the transactions that were last settled in a range."""
        within = self._within("posted_at", since, end)
        return int(self.rows["posted_cents"][within].sum()), int(within.sum())

    def asked(self, since: int, end: int) -> tuple[int, int]:
        """Return the number of authorizations in a range, and how many were declined."""
        amount, _, posted, refunded = (self.rows[name] for name in _AMOUNTS)
        only_refund = (amount == 0) & (refunded > 0) & (posted == 0)
        chosen = self._within("authorized_at", since, end) & (amount != _NEVER) & ~only_refund
        return int(chosen.sum()), int(self.rows["declined"][chosen].sum())

    def held(self) -> tuple[int, int]:
        """Return the cents and the number of open holds."""
        held = self.rows["held_cents"]
        return int(held.sum()), int((held > 0).sum())

    def held_before(self, moment: int) -> int:
        """Return the cents of the holds that were open at a time, as far as their times are known."""
        return int(self._held[self._moved_at < moment].sum())

    def _within(self, name: str, since: int, end: int) -> NDArray[np.bool_]:
        at = self.rows[name]
        return (at >= since) & (at < end)
