"""Double-entry ledger of simulated transactions. Every entry debits one account and credits another account.

Each card has four accounts, in cents. A hold moves money from available to held, a release moves it back, a settlement
moves it from held to posted, and a refund adds the same amount to available and to refunded. Therefore
`available + held + posted - refunded` never changes, and every change has an entry.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import attrs

from workbench.base.errors import WorkbenchError
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import get_path

ACCOUNTS = ("available", "held", "posted", "refunded")


class Unbalanced(WorkbenchError):
    """The ledger does not balance, because of a defect in the sandbox or in this package."""


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
    currency: str | None = None  # currency of the authorization


@attrs.frozen(kw_only=True)
class LedgerRow(Entry):
    """A ledger entry as a table row, with the card's balance after it, in cents."""

    available: int
    held: int
    posted: int
    refunded: int


class Ledger:
    """All entries of a run in order, with the resulting balances in cents, relative to the start of the run."""

    row_type = LedgerRow

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._balances: defaultdict[str, Counter[str]] = defaultdict(Counter)  # balances by card
        self._moved: defaultdict[str, Counter[str]] = defaultdict(Counter)  # moved amounts by transaction
        self._holds: dict[str, Entry] = {}  # first entry of each transaction

    def balance(self, card_id: str) -> dict[str, int]:
        """Return the change in each account of a card, in cents."""
        return {name: self._balances[card_id][name] for name in ACCOUNTS}

    def total(self) -> dict[str, int]:
        """Return the change of each account over all cards, in cents."""
        return {name: sum(balance[name] for balance in self._balances.values()) for name in ACCOUNTS}

    def book(
        self, step: str, do: str, arguments: Mapping[str, Any], answer: object = None, at: datetime | None = None
    ) -> None:
        """Book a completed step: an authorization, or the reversal, settlement or refund of a booked one.

        With FULL or without an amount, a reversal or settlement applies to the entire hold, and a refund to the amount
        that is not yet refunded.
        """
        transaction: Any = arguments.get("transaction_id")
        amount = arguments.get("amount")
        if do == "simulate_authorization":
            transaction, currency = get_path(answer, "transaction_id"), arguments.get("currency")
            hold = Entry(
                step, transaction, arguments["card_id"], "available", "held", amount or 0, "hold", at, currency
            )
            if get_path(answer, "status") == "authorized":
                self._holds[transaction] = hold
                self._post(hold)
            return
        moved = self._moved[transaction] if transaction in self._holds else Counter[str]()
        moves: tuple[tuple[str, str, int, str], ...] = ()
        if do == "simulate_reversal" and moved["held"]:
            remaining = arguments["new_amount"]
            released = moved["held"] - (0 if remaining is FULL else remaining)
            moves = (("held", "available", released, "release"),)
        elif do == "settle" and moved["held"]:
            above = 0 if amount in (None, FULL) else amount - moved["held"]
            moves = (
                ("available", "held", max(above, 0), "above the hold"),
                ("held", "available", max(-above, 0), "release"),
                ("held", "posted", moved["held"] + above, "settlement"),
            )
        elif do == "simulate_refund" and moved["posted"]:
            left = moved["posted"] - moved["refunded"]
            moves = (("refunded", "available", left if amount in (None, FULL) else amount, "refund"),)
        for source, target, cents, kind in moves:
            hold = self._holds[transaction]
            self._post(Entry(step, transaction, hold.card_id, source, target, cents, kind, at, hold.currency))

    def _post(self, entry: Entry) -> None:
        """Add an entry, unless its amount is 0. A debit increases the account `refunded`, but decreases all others."""
        if not entry.amount:
            return
        if entry.amount < 0:
            raise Unbalanced(
                f"{entry.step}: a {entry.kind} of {entry.amount} cents on transaction {entry.transaction_id}"
            )
        self.entries.append(entry)
        balance = self._balances[entry.card_id]
        for account in (balance, self._moved[entry.transaction_id]):
            account[entry.source] -= entry.amount if entry.source != "refunded" else -entry.amount
            account[entry.target] += entry.amount
        if balance["available"] + balance["held"] + balance["posted"] - balance["refunded"]:
            raise Unbalanced(f"{entry.step}: the accounts of card {entry.card_id} do not add up to 0: {dict(balance)}")

    def differences(self, card_id: str, before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[str]:
        """Yield a sentence for each account of a card that changed differently in the sandbox than in this ledger.

        Args:
            card_id: The card.
            before: The sandbox's balance at the start.
            after: The sandbox's current balance.
        """
        ours = self.balance(card_id)
        for name in ACCOUNTS:
            if (moved := after[name] - before[name]) != ours[name]:
                yield f"{name} of card {card_id} changed by {moved} cents, but by {ours[name]} cents in the ledger"

    def rows(self) -> list[LedgerRow]:
        """Return the entries as rows, with the card's balance after each; amounts in cents."""
        rows, again = [], Ledger()
        for entry in self.entries:
            again._post(entry)
            columns: dict[str, Any] = attrs.asdict(entry) | again.balance(entry.card_id)
            rows.append(LedgerRow(**columns))
        return rows

    def add(self, other: "Ledger") -> None:
        """Append the entries of another ledger."""
        for entry in other.entries:
            self._post(entry)

    def __repr__(self) -> str:
        total = ", ".join(f"{name} {cents:+}" for name, cents in self.total().items())
        return f"<ledger: {len(self.entries)} entries, {total} cents>"
