"""What the interface does not have: moving applications on, settling, deposits, the clock, copies.

`CONTROLS` lists them by name, for whoever serves or documents them; arguments and results are JSON values.
"""

import inspect
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from types import UnionType
from typing import Any, get_args, get_origin

from workbench.interface.rules import FULL, EventApplicationStatus, MicroDepositRail, StatusChangeReason
from workbench.sandbox import accounts, cards, chain, people
from workbench.sandbox.delivery import KINDS as DELIVERY_KINDS
from workbench.sandbox.delivery import DeliveryControls
from workbench.sandbox.extensions import ROWS, SettleTransaction
from workbench.sandbox.faults import FaultControls
from workbench.sandbox.inspection import Control, Inspection, bad, control, unknown
from workbench.sandbox.store import Store
from workbench.sandbox.world import populate

Record = dict[str, Any]
_STATUSES = frozenset(EventApplicationStatus)
_MOST_CREDIT = 10**12  # cents
_NO_WORLD = ("snapshot", *DELIVERY_KINDS)


class Controls(DeliveryControls, FaultControls, Inspection):
    """The controls as methods of a sandbox."""

    # applications

    @control(changes=True)
    def review(
        self, user_or_owner_id: str, status: str, reason: str | None = None, status_change_reason: str | None = None
    ) -> Record:
        """Move the application of a user, an owner or a company to a status, and tell of it.

        Args:
            status: Any status of events, as "needsInformation".
            reason: Rejection labels, separated by commas; those usual with the status where left out.
            status_change_reason: "provider_initiated", or nothing.
        """
        if status not in _STATUSES:
            raise bad("review", f"status must be one of {', '.join(EventApplicationStatus)}")
        if status_change_reason is not None and status_change_reason not in frozenset(StatusChangeReason):
            raise bad("review", f"status_change_reason must be one of {', '.join(StatusChangeReason)}")
        return self._decide("review", user_or_owner_id, status, reason=reason, cause=status_change_reason)

    @control(changes=True)
    def accept_terms(self, user_id: str) -> Record:
        """Have a user accept the program's terms: `tosNotAccepted` becomes `approved`."""
        return self._decide("accept_terms", user_id, "approved", action="accept_terms")

    # cards and money

    @control(changes=True)
    def issue_card(self, user_id: str, limit: int = 1_000_000) -> Record:
        """Return a user a new, active card with a limit in cents."""
        if type(limit) is not int or not 1 <= limit <= _MOST_CREDIT:
            raise bad("issue_card", f"limit must be a whole number of cents, 1 to {_MOST_CREDIT}")
        with self.store:
            user = self._record("issue_card", "user", user_id)
            card = cards.issue(self._for(user, "issue_card"), user, limit)
        self.tell()
        return {"id": card["id"], "status": card["status"]}

    @control(changes=True)
    def activate_card(self, card_id: str) -> Record:
        """Activate a card that was not activated."""
        return self._card(card_id, "activate")

    @control(changes=True)
    def lock_card(self, card_id: str) -> Record:
        """Lock an active card."""
        return self._card(card_id, "lock")

    @control(changes=True)
    def unlock_card(self, card_id: str) -> Record:
        """Unlock a locked card."""
        return self._card(card_id, "unlock")

    @control(changes=True)
    def cancel_card(self, card_id: str) -> Record:
        """Cancel a card, for good."""
        return self._card(card_id, "cancel")

    @control(changes=True)
    def settle(self, transaction_id: str, amount: int | None = None) -> Record:
        """Settle an authorization, wholly or in part; what is not settled is released."""
        if amount is not None and (type(amount) is not int or amount < 1):
            raise bad("settle", "amount must be a whole number of cents, at least 1")
        with self.store:
            spend = self._record("settle", "transaction", transaction_id)
            turn = self._for(spend, "settle")
            turn.operation = ROWS["settle"]
            asked = SettleTransaction(transaction_id=spend["id"], amount=amount or spend["held"] or FULL)
            answer = turn.converter.write(cards.settle(turn, asked))
        self.tell()
        return answer

    @control(changes=True)
    def deposit(
        self,
        payment_route_id: str | None = None,
        amount: str = "0.37",
        rail: str = "ach",
        description: str | None = "ACCTVERIFY",
        originator_name: str | None = "Example Verification",
        reference_id: str | None = None,
    ) -> Record:
        """Have a deposit in USD arrive on a payment route; one below 2.00 raises `microDeposit.received`.

        Args:
            payment_route_id: The first with a fiat deposit address where left out.
        """
        if rail not in frozenset(MicroDepositRail):
            raise bad("deposit", f"rail must be one of {', '.join(MicroDepositRail)}")
        dollars = _dollars(amount)
        memo = {"description": description, "originator_name": originator_name, "reference_id": reference_id}
        with self.store:
            route = self._record("deposit", "payment_route", payment_route_id or self._first_route())
            turn = self._for(route, "deposit")
            given = {name: text for name, text in memo.items() if text is not None}
            answer = accounts.arrive(turn, route, dollars, rail, given)
        self.tell()
        return answer

    @control(changes=True)
    def pending_first(self, times: int = 1, retry_after: int = 3, contract_id: str | None = None) -> Record:
        """Have the next questions for a new withdrawal signature answered with `pending`.

        Args:
            contract_id: A contract of the tenant that is meant; the tenant of the full key where left out.
        """
        if not 0 <= times <= 1_000 or not 0 <= retry_after <= 86_400:
            raise bad("pending_first", "times goes from 0 to 1,000, and retry_after from 0 to a day of seconds")
        with self.store:
            if contract_id is None:
                tenant = self.store.get("key", self.full_key)["tenant"]
            else:
                tenant = self._record("pending_first", "contract", contract_id)["tenant"]
            state = {"times": times, "retry_after": retry_after}
            self.store.put("pending", tenant, state)
        return state

    @control(changes=False)
    def wallet_address(self, admin: str) -> Record:
        """Return the address of an admin's teaching wallet, where the sandbox has one."""
        with self.store:
            return {"address": chain.admin_secret(self.ground, admin)[0]}

    @control(changes=False)
    def wallet_sign(self, admin: str, typed_data: Mapping[str, Any]) -> Record:
        """Sign EIP-712 typed data with the teaching wallet of an admin of the sandbox's contracts."""
        with self.store:
            return chain.sign_as(self.ground, admin, typed_data)

    @control(changes=True)
    def execute(self, transaction: Mapping[str, Any]) -> Record:
        """Send a withdrawal's transaction to the sandbox's chain: both halves are checked, and the balance moves.

        Args:
            transaction: `to`, `data`, `chainId`, and `from` where the contract has version 1.
        """
        with self.store:
            return chain.execute(self.ground, transaction)

    # time

    @control(changes=True)
    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> Record:
        """Move the clock forward; what falls due on the way happens at its own time."""
        try:
            self.clock.advance(days=days, hours=hours, minutes=minutes, seconds=seconds)
        except (ValueError, OverflowError, TypeError):
            raise bad("advance", "the clock goes forward, by numbers") from None
        return {"now": self.clock.text()}

    def move_clock(self, by: int) -> None:
        """Move the clock by milliseconds, doing on the way what falls due."""
        with self.store:
            end = self.clock.at + by
            while True:
                due = sorted(
                    ((one["at"], name, one) for name, one in self.store.items("due") if one["at"] <= end),
                    key=lambda entry: entry[:2],
                )
                if not due:
                    break
                for at, name, one in due:
                    if self.store.get("due", name) is one:
                        self.store.put("meta", "clock", max(at, self.clock.at))
                        self.store.delete("due", name)
                        self._fall_due(one["do"], one["of"])
            self.store.put("meta", "clock", end)
        self.tell()

    @control(changes=True)
    def settle_after(self, seconds: float | None) -> Record:
        """Have authorizations settle by themselves after some time of the clock from now on; None: only when told."""
        if seconds is not None and not (type(seconds) in (int, float) and 0 < seconds < 10**9):
            raise bad("settle_after", "seconds must be a number above 0, or null")
        with self.store:
            self.store.put("meta", "settle_by_clock", seconds)
        return {"seconds": seconds}

    # copies

    @control(changes=True)
    def reset(self) -> Record:
        """Put the world back to where it began."""
        fresh = Store()
        with fresh:
            populate(fresh, self.ground.seeds)
            fresh.put("meta", "made", self.store.get("meta", "made"))
        with self.store:
            self._replace(fresh.copy())
        return {"now": self.clock.text()}

    @control(changes=True)
    def snapshot(self, name: str) -> Record:
        """Remember the world under a name, where the state is kept."""
        with self.store:
            world = {kind: values for kind, values in self.store.copy().items() if kind not in _NO_WORLD}
            self.store.put("snapshot", name, world)
            return {"snapshots": [known for known, _ in self.store.items("snapshot")]}

    @control(changes=True)
    def restore(self, name: str) -> Record:
        """Put the state back to a snapshot."""
        with self.store:
            world = self.store.get("snapshot", name)
            if world is None:
                raise unknown("restore", "Snapshot")
            self._replace(world)
        return {"now": self.clock.text()}

    # inside

    def _replace(self, contents: dict[str, dict[str, Any]]) -> None:
        """Put other contents in place, but never give the number of an event or a request twice."""
        counters = {name: self.store.get("counter", name) for name in ("event", "request", "endpoint")}
        beside = {kind: dict(self.store.items(kind)) for kind in _NO_WORLD}
        self.store.replace({**contents, **beside})
        for name, number in counters.items():
            if number is not None:
                self.store.put("counter", name, number)

    def _card(self, card_id: str, action: str) -> Record:
        name = f"{action}_card"
        with self.store:
            card = self._record(name, "card", card_id)
            card = cards.set_card(self._for(card, name), card, action)
        self.tell()
        return {"id": card["id"], "status": card["status"]}

    def _decide(self, name: str, key: str, status: str, **how: Any) -> Record:
        with self.store:
            kind = next((kind for kind in ("user", "owner", "company") if self.store.get(kind, key.lower())), "user")
            turn = self._for(self._record(name, kind, key), name)
            applicant = people.decide(turn, kind, key.lower(), status, **how)
        self.tell()
        return {"id": applicant["id"], "status": applicant["status"], "reason": applicant["reason"]}

    def _fall_due(self, action: str, key: str) -> None:
        if action == "settle":
            spend = self.store.get("transaction", key)
            cards.settle(self._for(spend, "clock"), SettleTransaction(transaction_id=key, amount=spend["held"]))
        else:
            kind = "user" if self.store.get("user", key) is not None else "owner"
            people.decide(self._for(self.store.get(kind, key), "clock"), kind, key, "approved", action="conclude")

    def _first_route(self) -> str:
        return str(next(route["id"] for route in self.store.all("payment_route") if route["fiat_deposit"] is not None))


CONTROLS: Mapping[str, Control] = {
    name: Control(name, inspect.getdoc(method) or "", inspect.signature(method), method.changes)
    for room in (Inspection, Controls, DeliveryControls, FaultControls)
    for name, method in vars(room).items()
    if hasattr(method, "changes")
}
"""The controls, those that look first."""


def perform(sandbox: Controls, name: str, arguments: Mapping[str, Any]) -> Any:
    """Carry a control out by name.

    Raises:
        ApiError: There is no such control, its arguments do not fit, or the state does not allow it.
    """
    row = CONTROLS.get(name)
    if row is None:
        raise unknown(name, "Control")
    try:
        row.signature.bind(sandbox, **arguments)
    except TypeError as error:
        raise bad(name, str(error)) from None
    exact = {argument: _exact(name, argument, row, value) for argument, value in arguments.items()}
    return getattr(sandbox, name)(**exact)


def _exact(name: str, argument: str, row: Control, value: Any) -> Any:
    """Return a JSON value as the control takes it: its type is the one it is declared with."""
    declared = row.signature.parameters[argument].annotation
    for hint in get_args(declared) if get_origin(declared) is UnionType else (declared,):
        if hint is float and type(value) in (int, float, Decimal):
            return float(value)
        if hint is type(value) or (get_origin(hint) is Mapping and isinstance(value, Mapping)):
            return value
    raise bad(name, f"{argument} has the wrong type")


def _dollars(text: object) -> Decimal:
    try:
        amount = Decimal(text) if isinstance(text, str) else Decimal("NaN")
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 < amount < 10**9 or amount != round(amount, 2):
        raise bad("deposit", "amount must be dollars and cents as text, above 0.00")
    return amount
