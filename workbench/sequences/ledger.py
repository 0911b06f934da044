"""The money of simulated transactions in double entry: every entry leaves one account and enters another.

Per card there are four accounts, in cents. A hold moves money from available to held; a release moves it back; a
settlement moves what was held to posted; a refund gives posted money back to available, and is counted as refunded.
So `available + held + posted - refunded` never changes, and every change has an entry.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import attrs

from workbench.errors import WorkbenchError

ACCOUNTS = ("available", "held", "posted", "refunded")


class Unbalanced(WorkbenchError):
    """The ledger does not balance: a defect of the sandbox or of this package."""


@attrs.frozen
class Entry:
    """A ledger entry: an amount in cents, moved from one account of a card to another."""

    step: str
    transaction_id: str
    card_id: str
    source: str
    target: str
    amount: int
    kind: str  # "hold", "release", "settlement", "above the hold" or "refund"
    at: datetime | None = None
    currency: str | None = None  # of the amount


@attrs.frozen(kw_only=True)
class LedgerRow(Entry):
    """One entry as a row of a table, with the card's balance after it; all amounts are in cents."""

    available: int
    held: int
    posted: int
    refunded: int


class Ledger:
    """All entries of a run, in order, with the balances they make. Amounts are cents, relative to the start of the run."""

    row_type = LedgerRow

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._balances: defaultdict[str, Counter[str]] = defaultdict(Counter)  # by card
        self._open: dict[str, tuple[str, int]] = {}  # transaction -> card, amount held
        self._settled: dict[str, tuple[str, int]] = {}  # transaction -> card, amount not yet refunded
        self._currency: dict[str, str | None] = {}  # by transaction
        self.at: datetime | None = None  # when what is booked next happened

    def balance(self, card_id: str) -> dict[str, int]:
        """Return the change of each account of a card, in cents."""
        return {name: self._balances[card_id][name] for name in ACCOUNTS}

    def total(self) -> dict[str, int]:
        """Return the change of each account over all cards, in cents."""
        return {name: sum(one[name] for one in self._balances.values()) for name in ACCOUNTS}

    def hold(self, step: str, transaction_id: str, card_id: str, amount: int, currency: str | None = None) -> None:
        """Book an authorization."""
        self._currency[transaction_id] = currency
        self._open[transaction_id] = (card_id, amount)
        self._move(step, transaction_id, card_id, "available", "held", amount, "hold")

    def reduce(self, step: str, transaction_id: str, remaining: int) -> None:
        """Book a reversal down to the amount that remains."""
        card, held = self._open.pop(transaction_id, ("", 0))
        if card:
            self._move(step, transaction_id, card, "held", "available", held - remaining, "release")
        if card and remaining:
            self._open[transaction_id] = (card, remaining)

    def settle(self, step: str, transaction_id: str, amount: int | None) -> None:
        """Book a settlement; of the amount held if none is given."""
        card, held = self._open.pop(transaction_id, ("", 0))
        if not card:
            return
        settled = held if amount is None else amount
        if settled > held:
            self._move(step, transaction_id, card, "available", "held", settled - held, "above the hold")
        elif settled < held:
            self._move(step, transaction_id, card, "held", "available", held - settled, "release")
        self._move(step, transaction_id, card, "held", "posted", settled, "settlement")
        self._settled[transaction_id] = (card, settled)

    def refund(self, step: str, transaction_id: str, amount: int | None) -> None:
        """Book a refund; of all that is left if no amount is given."""
        card, left = self._settled.get(transaction_id, ("", 0))
        if not card:
            return
        refunded = left if amount is None else amount
        self._settled[transaction_id] = (card, left - refunded)
        self._move(step, transaction_id, card, "refunded", "available", refunded, "refund")

    def _move(self, step: str, transaction: str, card: str, source: str, target: str, amount: int, kind: str) -> None:
        if not amount:
            return
        if amount < 0:
            raise Unbalanced(f"{step}: a {kind} of {amount} cents on transaction {transaction}")
        currency = self._currency.get(transaction)
        self._post(Entry(step, transaction, card, source, target, amount, kind, self.at, currency))
        balance = self._balances[card]
        if balance["available"] + balance["held"] + balance["posted"] - balance["refunded"]:
            raise Unbalanced(f"{step}: the accounts of card {card} do not add up to 0: {dict(balance)}")

    def _post(self, entry: Entry) -> None:
        """Add an entry. `refunded` counts what was given back, so it grows by what leaves it."""
        self.entries.append(entry)
        balance = self._balances[entry.card_id]
        balance[entry.source] -= entry.amount if entry.source != "refunded" else -entry.amount
        balance[entry.target] += entry.amount

    def differences(
        self, card_id: str, before: Mapping[str, int], after: Mapping[str, int], since: Mapping[str, int] | None = None
    ) -> Iterator[str]:
        """Yield how the sandbox's balance of a card moved otherwise than this ledger.

        Args:
            card_id: The card.
            before: The sandbox's balance at the start.
            after: Its balance now.
            since: The balance of this ledger at `before`; zero if left out.
        """
        ours = self.balance(card_id)
        for name in ACCOUNTS:
            moved, booked = after[name] - before[name], ours[name] - (since[name] if since else 0)
            if moved != booked:
                yield f"{name} of card {card_id} moved by {moved} cents, the ledger by {booked}"

    def rows(self) -> list[LedgerRow]:
        """Return the entries as rows, with the balance of their card after each; amounts in cents."""
        rows, again = [], Ledger()
        for one in self.entries:
            again._post(one)
            columns: dict[str, Any] = attrs.asdict(one) | again.balance(one.card_id)
            rows.append(LedgerRow(**columns))
        return rows

    def add(self, other: "Ledger") -> None:
        """Add the entries of another ledger after those of this one."""
        for one in other.entries:
            self._post(one)

    def __repr__(self) -> str:
        total = ", ".join(f"{name} {cents:+}" for name, cents in self.total().items())
        return f"<ledger: {len(self.entries)} entries, {total} cents>"
