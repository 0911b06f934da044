"""The controls of a sandbox: applications, cards, money, withdrawals, time, snapshots and reading its state.

`CONTROLS` lists them by name, for servers, commands and documentation; arguments are JSON values, results mostly
records.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from workbench.errors import Problem, hide_arguments
from workbench.interface.events import EVENT_KINDS
from workbench.interface.transactions import Dispute, SimulatedTransaction
from workbench.interface.vocabulary import (
    CompletionReason,
    EventApplicationStatus,
    MicroDepositRail,
    StatusChangeReason,
    TransactionStatus,
)
from workbench.renamed import renamed
from workbench.sandbox import cards, chain, contracts, people, rewards
from workbench.sandbox.context import error_of, not_found, usage_error, wrong_argument
from workbench.sandbox.control import Between, Control, Record, control
from workbench.sandbox.control_records import (
    ApplicationState,
    CardBalance,
    CardState,
    DepositReceived,
    ExecutedWithdrawal,
    ListedEvent,
    PendingSignatures,
    Redemption,
    RequestEntry,
    SandboxTime,
    Snapshots,
    StoredRecord,
    WalletAddress,
    WalletSignature,
)
from workbench.sandbox.creation import CreationControls, application_state
from workbench.sandbox.delivery import listed
from workbench.sandbox.extensions import ROWS, SettleTransaction
from workbench.sandbox.store import in_world
from workbench.sandbox.timeline import WithTimeline
from workbench.sandbox.webhook_controls import WebhookControls
from workbench.sandbox.world import guide, new_world, world
from workbench.schema.rules import FULL
from workbench.schema.walk import build, change

_CENTS = Between(1, 10**12, "cents")
_RESOLVE = {"inReview": "review", "accepted": "accept", "rejected": "reject"}
_REDEEMED = ("COMPLETED", "PENDING", "FAILED")
_MONEY = ("limit", "available", "held", "posted", "refunded")
RECORD_KINDS = (
    "card",
    "transaction",
    "user",
    "company",
    "owner",
    "dispute",
    "payment_account",
    "payment_route",
    "contract",
    "deposit",
)


class Controls(CreationControls, WebhookControls, WithTimeline):
    """All controls, as methods of a sandbox."""

    base_url: str

    @hide_arguments
    def wallet(self, admin: str) -> chain.TeachingWallet:
        """Return the teaching wallet of an admin of the sandbox's contracts; its key, made from the seed, stays there.

        Raises:
            ApiError: The address is not one that the sandbox made.
        """
        return chain.TeachingWallet(self, admin)

    if not TYPE_CHECKING:  # a type checker would accept any name

        def __getattr__(self, name):
            raise AttributeError(f"a sandbox has no {name}{renamed(f'sandbox.{name}')}")

    @property
    def create(self) -> "Create":
        """Create tenants, keys, users, companies, cards, contracts and payment routes."""
        return Create(self)

    @property
    def cards(self) -> "Cards":
        """Activate, lock, unlock and cancel cards."""
        return Cards(self)

    # reading the state

    @control(changes=False)
    def guide(self, api_key: str | None = None) -> Record:
        """Return the base URL, the keys by what they may do, and example ids of every kind and state.

        Args:
            api_key: A key of the tenant whose examples come first; default: the session's.
        """
        full = self._engine.store.get("key", self._engine.full_key)["tenant"]
        return guide(self._engine.environment, self.base_url, self._tenant_id(api_key) or full)

    @control(changes=False)
    def events(
        self,
        kind: Annotated[str | None, EVENT_KINDS] = None,
        since: int | None = None,
        api_key: str | None = None,
        all_tenants: bool = False,
    ) -> list[ListedEvent]:
        """Return the events of the tenant in order, each with the request that caused it. They print masked.

        Args:
            kind: Only events of this kind, as "user.updated".
            since: Only events after this sequence number.
            api_key: A key of the tenant; default: the session's.
            all_tenants: Whether to return those of every tenant.
        """
        rows = (row for row in self._engine.events(since or 0) if kind in (None, row["kind"]))
        return self._collect(listed(self._engine.environment, row) for row in self._theirs(rows, api_key, all_tenants))

    @control(changes=False)
    def _last_event(self) -> int:
        """Return the sequence number of the last event, 0 without events."""
        return self._engine.last_event

    @control(changes=False)
    def _world_id(self) -> str:
        """Return the id of this world, which changes with a reset or a restart of a sandbox in memory."""
        return str(self._engine.store.get("meta", "made").get("world", ""))

    @control(changes=False)
    def requests(
        self, api_key: str | None = None, all_tenants: bool = False, reveal: bool = False
    ) -> list[RequestEntry]:
        """Return the last requests of the tenant and their responses, oldest first, with private values masked.

        Args:
            api_key: A key of the tenant; default: the session's.
            all_tenants: Whether to return those of every tenant.
            reveal: Whether private values of bodies and responses are returned, and paths that are not served; never
                keys.
        """
        tenant = None if all_tenants else self._tenant_id(api_key)
        return self._collect(build(RequestEntry, entry) for entry in self._engine.log.entries(tenant, reveal=reveal))

    @control(changes=False)
    def balance(self, card_id: str) -> CardBalance:
        """Return the money of a card in cents: limit, available, held, posted, refunded."""
        card = self._record("card", card_id)
        return CardBalance(**{name: card[name] for name in _MONEY})

    @control(changes=False)
    def state(self, record_id: str, api_key: str | None = None, all_tenants: bool = False) -> StoredRecord:
        """Return a record of the tenant as the sandbox stores it, with its kind. It prints masked.

        Args:
            record_id: Id of the record, of any kind.
            api_key: A key of the tenant; default: the session's.
            all_tenants: Whether it may be the record of any tenant.
        """
        for kind in RECORD_KINDS:
            record = self._engine.store.get(kind, record_id.lower())
            if record is not None and any(self._theirs([record], api_key, all_tenants)):
                return StoredRecord({"kind": kind, **record})
        raise not_found("Record")

    @control(changes=False)
    def records(
        self, kind: Annotated[str, RECORD_KINDS], api_key: str | None = None, all_tenants: bool = False
    ) -> list[StoredRecord]:
        """Return all records of a kind that the tenant has, as the sandbox stores them, oldest first. They print
        masked.

        Args:
            kind: card, transaction, user, company, owner, dispute, payment_account, payment_route, contract or deposit.
            api_key: A key of the tenant; default: the session's.
            all_tenants: Whether to return those of every tenant.
        """
        records = self._theirs(self._engine.store.all(kind), api_key, all_tenants)
        return self._collect(StoredRecord({"kind": kind, **row}) for row in records)

    # applications

    @control(changes=True)
    def review(
        self,
        user_or_owner_id: str,
        status: Annotated[str, EventApplicationStatus],
        reason: str | None = None,
        status_change_reason: Annotated[str | None, StatusChangeReason] = None,
    ) -> ApplicationState:
        """Move the application of a user, an owner or a company to a status, and send the event.

        Args:
            user_or_owner_id: Id of the user, owner or company.
            status: Any status of events, as "needsInformation".
            reason: Rejection labels, separated by commas; default: those usual with the status.
            status_change_reason: "provider_initiated", or nothing.
        """
        return self._decide("review", user_or_owner_id, status, reason=reason, cause=status_change_reason)

    @control(changes=True)
    def accept_terms(self, user_id: str) -> ApplicationState:
        """Accept the program's terms for a user: `tosNotAccepted` becomes `approved`."""
        return self._decide("accept_terms", user_id, "approved", action="accept_terms")

    def _decide(self, name: str, key: str, status: str, **how: Any) -> ApplicationState:
        store = self._engine.store
        kind = next((kind for kind in ("user", "owner", "company") if store.get(kind, key.lower())), "user")
        context = self._engine.context(name, self._record(kind, key))
        return application_state(people.decide(context, kind, key.lower(), status, **how))

    # cards and money

    @control(changes=True)
    def _create_card(self, user_id: str, limit: Annotated[int, _CENTS] = 1_000_000) -> CardState:
        """Issue a new, active card to a user.

        Args:
            user_id: Card holder.
            limit: Credit limit in cents.
        """
        user = self._record("user", user_id)
        card = cards.issue(self._engine.context("create_card", user), user, limit)
        return CardState(id=card["id"], status=card["status"])

    @control(changes=True)
    def _activate_card(self, card_id: str) -> CardState:
        """Activate a card that was not activated."""
        return self._change_card(card_id, "activate")

    @control(changes=True)
    def _lock_card(self, card_id: str) -> CardState:
        """Lock an active card."""
        return self._change_card(card_id, "lock")

    @control(changes=True)
    def _unlock_card(self, card_id: str) -> CardState:
        """Unlock a locked card."""
        return self._change_card(card_id, "unlock")

    @control(changes=True)
    def _cancel_card(self, card_id: str) -> CardState:
        """Cancel a card permanently."""
        return self._change_card(card_id, "cancel")

    def _change_card(self, card_id: str, action: str) -> CardState:
        card = self._record("card", card_id)
        card = cards.set_card(self._engine.context(f"{action}_card", card), card, action)
        return CardState(id=card["id"], status=card["status"])

    @control(changes=True)
    def settle(self, transaction_id: str, amount: Annotated[int | None, _CENTS] = None) -> SimulatedTransaction:
        """Settle an authorization, in full or in part; the rest is released.

        Args:
            transaction_id: Authorized transaction.
            amount: Amount in cents; default: all that is held.
        """
        transaction = self._record("transaction", transaction_id)
        context = self._engine.context("settle", transaction)
        context.operation = ROWS["settle"]
        request = SettleTransaction(transaction_id=transaction["id"], amount=amount or transaction["held"] or FULL)
        answer = cards.settle(context, request)
        reason = CompletionReason(answer.completion_reason or "")
        settled: SimulatedTransaction = change(answer, status=TransactionStatus.SETTLED, completion_reason=reason)
        return settled

    @control(changes=True)
    def deposit(
        self,
        payment_route_id: str | None = None,
        amount: str = "0.37",
        rail: Annotated[str, MicroDepositRail] = "ach",
        description: str | None = "ACCTVERIFY",
        originator_name: str | None = "Example Verification",
        reference_id: str | None = None,
    ) -> DepositReceived:
        """Receive a deposit in USD on a payment route; one below 2.00 sends `microDeposit.received`.

        Args:
            payment_route_id: Payment route; default: the tenant's first with a fiat deposit address.
            amount: Dollars and cents as text.
            rail: ach, rtp or wire.
            description: Text of the transfer.
            originator_name: Name of the sender.
            reference_id: Reference of the transfer.
        """
        if not re.fullmatch(r"\d{1,9}(\.\d\d?)?", amount, re.ASCII) or not Decimal(amount):
            raise wrong_argument(Problem("amount", "format", "must be dollars and cents as text, above 0.00"))
        routes = self._theirs(self._engine.store.all("payment_route"), None, False)
        first = next((route["id"] for route in routes if route["fiat_deposit"] is not None), "")
        route = self._record("payment_route", payment_route_id or first)
        texts = {"description": description, "originator_name": originator_name, "reference_id": reference_id}
        memo = {name: text for name, text in texts.items() if text is not None}
        return contracts.receive_deposit(self._engine.context("deposit", route), route, Decimal(amount), rail, memo)

    @control(changes=True)
    def open_dispute(self, transaction_id: str, text_evidence: str | None = None) -> Dispute:
        """Open a dispute about a settled transaction.

        Args:
            transaction_id: Settled transaction.
            text_evidence: Text evidence.
        """
        transaction = self._record("transaction", transaction_id)
        context = self._engine.context("open_dispute", transaction)
        return cards.open_dispute(context, transaction, text_evidence)

    @control(changes=True)
    def resolve_dispute(self, dispute_id: str, status: Annotated[str, tuple(_RESOLVE)] = "accepted") -> Dispute:
        """Move a dispute to a status that only the service gives it.

        Args:
            dispute_id: Dispute.
            status: inReview, accepted or rejected.
        """
        dispute = self._record("dispute", dispute_id)
        context = self._engine.context("resolve_dispute", dispute)
        return cards.move_dispute(context, dispute, _RESOLVE[status])

    @control(changes=True)
    def redeem(
        self, user_id: str, points: Annotated[int, Between(1, 10**9)], status: Annotated[str, _REDEEMED] = "COMPLETED"
    ) -> Redemption:
        """Redeem minted points of a user. A travel booking that is PENDING or FAILED is not listed.

        Args:
            user_id: User.
            points: Number of points.
            status: COMPLETED, PENDING or FAILED.
        """
        user = self._record("user", user_id)
        left = rewards.points_of(self._engine.environment, user)
        if points > left:
            raise usage_error(f"the user has {left:,} minted points")
        row = rewards.redeem(self._engine.context("redeem", user), user, points, status)
        left = rewards.points_of(self._engine.environment, user)
        return Redemption(id=row["id"], points=points, status=status, left=left)

    # withdrawals

    @control(changes=True)
    def pending_first(
        self,
        times: Annotated[int, Between(0, 1_000)] = 1,
        retry_after: Annotated[int, Between(0, 86_400)] = 3,
        contract_id: str | None = None,
    ) -> PendingSignatures:
        """Return `pending` for the next requests for a new withdrawal signature.

        Args:
            times: Number of requests, 0 to 1,000.
            retry_after: Seconds in the response's `retryAfter`, at most a day.
            contract_id: Contract of the tenant; default: the session's tenant.
        """
        tenant = self._record("contract", contract_id)["tenant"] if contract_id else self._tenant_id()
        self._engine.store.put("pending", tenant, {"times": times, "retry_after": retry_after})
        return PendingSignatures(times=times, retry_after=retry_after)

    @control(changes=False)
    def _wallet_address(self, admin: str) -> WalletAddress:
        """Return the address of an admin's teaching wallet.

        Args:
            admin: Address of an admin of one of the sandbox's EVM contracts.
        """
        return WalletAddress(address=chain.admin_secret(self._engine.environment, admin)[0])

    @control(changes=False)
    def _wallet_sign(self, admin: str, typed_data: Mapping[str, Any]) -> WalletSignature:
        """Sign EIP-712 typed data with an admin's teaching wallet.

        Args:
            admin: Address of an admin of one of the sandbox's EVM contracts.
            typed_data: EIP-712 typed data.
        """
        return chain.sign_as(self._engine.environment, admin, typed_data)

    @control(changes=True)
    def execute(self, transaction: Mapping[str, Any]) -> ExecutedWithdrawal:
        """Execute a withdrawal on the sandbox's chain: both signatures are checked, and the balance moves.

        Args:
            transaction: `to`, `data`, `chainId`, and `from` for contracts of version 1.
        """
        return chain.execute(self._engine.environment, transaction)

    # time

    @control(changes=True, transaction=False)
    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> SandboxTime:
        """Move the clock forward; scheduled changes on the way happen at their own times."""
        try:
            return SandboxTime(now=self._engine.clock.advance(days=days, hours=hours, minutes=minutes, seconds=seconds))
        except (ValueError, OverflowError):
            raise wrong_argument(
                Problem("", "minimum", "the clock can only move forward: give positive numbers")
            ) from None

    # copies

    @control(changes=True)
    def reset(self) -> SandboxTime:
        """Reset the sandbox to its initial state, with an empty log of requests; fault rules and endpoints stay."""
        store = self._engine.store
        self._engine.log.clear()
        settings, speed = store.get("meta", "made"), self._engine.clock.speed
        start = settings["start"] if speed is None else int(time.time() * 1000)
        fresh = world({**settings, "start": start}).copy()
        with self._replacing(start=start):
            for kind, values in fresh.items():
                store.fill(kind, values)
        self._engine.clock.set(start, speed)
        return SandboxTime(now=self._engine.clock.now())

    @control(changes=True)
    def snapshot(self, name: str) -> Snapshots:
        """Save the state under a name."""
        store, prefix = self._engine.store, _prefix(name)
        for kind in store.kinds():
            if kind.startswith(prefix):
                store.fill(kind, {})
        for kind in store.kinds():
            if in_world(kind):
                store.copy_kind(kind, prefix + kind)
        store.put("snapshot", name, True)
        return Snapshots(names=tuple(known for known, _ in store.items("snapshot")))

    @control(changes=True)
    def restore(self, name: str) -> SandboxTime:
        """Restore the state saved under a name."""
        store, prefix = self._engine.store, _prefix(name)
        if store.get("snapshot", name) is None:
            raise not_found("Snapshot")
        saved = [kind for kind in store.kinds() if kind.startswith(prefix)]
        with self._replacing():
            for kind in saved:
                store.copy_kind(kind, kind.removeprefix(prefix))
        return SandboxTime(now=self._engine.clock.now())

    @contextmanager
    def _replacing(self, **settings: object) -> Iterator[None]:
        """Replace the state, but keep the settings; event and request numbers are never reused."""
        store = self._engine.store
        settings = {**store.get("meta", "made"), **settings, "world": new_world()}
        counters = {name: store.get("counter", name) for name in ("event", "request", "endpoint", "fault")}
        for kind in store.kinds():
            if in_world(kind):
                store.fill(kind, {})
        yield
        store.put("meta", "made", settings)
        for name, number in counters.items():
            if number is not None:
                store.put("counter", name, number)


def _prefix(name: str) -> str:
    """Return the prefix of the kinds of a snapshot."""
    return f"snapshot/{name.encode(errors='surrogatepass').hex()}/"


class Create:
    """Controls that create records: `sandbox.create.user(status="denied")`."""

    def __init__(self, sandbox: Controls) -> None:
        self.tenant = sandbox._create_tenant
        self.key = sandbox._create_key
        self.user = sandbox._create_user
        self.company = sandbox._create_company
        self.card = sandbox._create_card
        self.contract = sandbox._create_contract
        self.payment_route = sandbox._create_payment_route


class Cards:
    """Controls that change a card's status: `sandbox.cards.lock(card_id)`."""

    def __init__(self, sandbox: Controls) -> None:
        self.activate = sandbox._activate_card
        self.lock = sandbox._lock_card
        self.unlock = sandbox._unlock_card
        self.cancel = sandbox._cancel_card


CONTROLS: Mapping[str, Control] = {
    method.control.name: method.control
    for group in Controls.__mro__
    for method in vars(group).values()
    if hasattr(method, "control")
}
"""The controls by name."""


def perform(sandbox: Controls, name: str, arguments: Mapping[str, Any]) -> Any:
    """Run a control by name, with arguments from JSON.

    Raises:
        ApiError: Unknown control, wrong arguments, or the state does not allow it.
    """
    row = CONTROLS.get(name)
    if row is None:
        raise error_of(name, not_found("Control"))
    return getattr(sandbox, row.method.__name__)(**arguments)
