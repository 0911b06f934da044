"""Controls that move records along their lifecycles: applications, cards, money and withdrawals."""

import re
from decimal import Decimal
from typing import Annotated, Any

from workbench.base.arguments import Between
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import change
from workbench.sandbox import cards, chain, contracts, people, rewards
from workbench.sandbox.context import usage_error, wrong_argument
from workbench.sandbox.control_records import (
    ApplicationState,
    CardState,
    DepositReceived,
    ExecutedWithdrawal,
    PendingSignatures,
    Redemption,
    WalletAddress,
    WalletSignature,
    from_json,
)
from workbench.sandbox.controls.creation import application_state
from workbench.sandbox.controls.declaration import CENTS, ControlGroup, control
from workbench.sandbox.extensions import ROWS, SettleTransaction
from workbench.sandbox.store import Members
from workbench.service.interface.transactions import Dispute, SimulatedTransaction
from workbench.service.interface.vocabulary import (
    CompletionReason,
    EventApplicationStatus,
    MicroDepositRail,
    StatusChangeReason,
    TransactionStatus,
)

_RESOLVE = {"inReview": "review", "accepted": "accept", "rejected": "reject"}
_REDEEMED = ("COMPLETED", "PENDING", "FAILED")


class LifecycleControls(ControlGroup):
    """Change applications, cards, money and disputes, and sign and execute withdrawals."""

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
            status: Application status as in events, such as "needsInformation".
            reason: Rejection labels, separated by commas; default: the usual labels of the status.
            status_change_reason: "provider_initiated"; default: none.
        """
        return self._decide("review", user_or_owner_id, status, reason=reason, cause=status_change_reason)

    @control(changes=True)
    def accept_terms(self, user_id: str) -> ApplicationState:
        """Accept the program's terms for a user: `tosNotAccepted` becomes `approved`.

        Args:
            user_id: Id of the user.
        """
        return self._decide("accept_terms", user_id, "approved", action="accept_terms")

    def _decide(self, name: str, key: str, status: str, **how: Any) -> ApplicationState:
        store = self._engine.store
        kind = next((kind for kind in ("user", "owner", "company") if store.get(kind, key.lower())), "user")
        context = self._engine.context(name, self._record(kind, key))
        return application_state(people.decide(context, kind, key.lower(), status, **how))

    # cards and money

    @control(changes=True)
    def _activate_card(self, card_id: str) -> CardState:
        """Activate a card.

        Args:
            card_id: Id of the card.
        """
        return self._change_card(card_id, "activate")

    @control(changes=True)
    def _lock_card(self, card_id: str) -> CardState:
        """Lock an active card.

        Args:
            card_id: Id of the card.
        """
        return self._change_card(card_id, "lock")

    @control(changes=True)
    def _unlock_card(self, card_id: str) -> CardState:
        """Unlock a locked card.

        Args:
            card_id: Id of the card.
        """
        return self._change_card(card_id, "unlock")

    @control(changes=True)
    def _cancel_card(self, card_id: str) -> CardState:
        """Cancel a card permanently.

        Args:
            card_id: Id of the card.
        """
        return self._change_card(card_id, "cancel")

    def _change_card(self, card_id: str, action: str) -> CardState:
        card = self._record("card", card_id)
        card = cards.set_card(self._engine.context(f"{action}_card", card), card, action)
        return from_json(CardState, card)

    @control(changes=True)
    def settle(self, transaction_id: str, amount: Annotated[int | None, CENTS] = None) -> SimulatedTransaction:
        """Settle an authorization in full or in part, and release the remaining hold.

        Args:
            transaction_id: Id of the authorized transaction.
            amount: Amount to settle in cents; default: the entire hold.
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
        """Receive a deposit in USD on a payment route. A deposit below 2.00 sends `microDeposit.received`.

        Args:
            payment_route_id: Payment route; default: the tenant's first route with a fiat deposit address.
            amount: Amount in dollars as decimal text.
            rail: Rail of the transfer: ach or wire.
            description: Text of the transfer.
            originator_name: Name of the sender.
            reference_id: Reference of the transfer.
        """
        if not re.fullmatch(r"\d{1,9}(\.\d\d?)?", amount, re.ASCII) or not Decimal(amount):
            raise wrong_argument("amount", "format", "must be dollars and cents as text, above 0.00")
        routes = self._theirs(self._engine.store.all("payment_route"))
        first = next((route["id"] for route in routes if route["fiat_deposit"] is not None), "")
        route = self._record("payment_route", payment_route_id or first)
        texts = {"description": description, "originator_name": originator_name, "reference_id": reference_id}
        memo = {name: text for name, text in texts.items() if text is not None}
        return contracts.receive_deposit(self._engine.context("deposit", route), route, Decimal(amount), rail, memo)

    @control(changes=True)
    def open_dispute(self, transaction_id: str, text_evidence: str | None = None) -> Dispute:
        """Open a dispute about a settled transaction.

        Args:
            transaction_id: Id of the settled transaction.
            text_evidence: Text evidence.
        """
        transaction = self._record("transaction", transaction_id)
        context = self._engine.context("open_dispute", transaction)
        return cards.open_dispute(context, transaction, text_evidence)

    @control(changes=True)
    def resolve_dispute(self, dispute_id: str, status: Annotated[str, tuple(_RESOLVE)] = "accepted") -> Dispute:
        """Move a dispute to a status that only the service can set.

        Args:
            dispute_id: Id of the dispute.
            status: New status: inReview, accepted or rejected.
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
            user_id: Id of the user.
            points: Number of points.
            status: Status of the redemption: COMPLETED, PENDING or FAILED.
        """
        user = self._record("user", user_id)
        left = rewards.points_of(self._engine.environment, user)
        if points > left:
            raise usage_error(f"the user has {left:,} minted points")
        row = rewards.redeem(self._engine.context("redeem", user), user, points, status)
        left = rewards.points_of(self._engine.environment, user)
        return from_json(Redemption, {**row, "left": left})

    # withdrawals

    @control(changes=True)
    def pending_first(
        self,
        times: Annotated[int, Between(0, 1_000)] = 1,
        retry_after: Annotated[int, Between(0, 86_400)] = 3,
    ) -> PendingSignatures:
        """Return `pending` for the next requests for a new withdrawal signature.

        Args:
            times: Number of requests to answer with `pending`, 0 to 1,000.
            retry_after: Value of `retryAfter` in the response, in seconds, at most one day.
        """
        self._engine.store.put("pending", self._tenant_id(), {"times": times, "retry_after": retry_after})
        return PendingSignatures(times=times, retry_after=retry_after)

    @control(changes=False)
    def _wallet_address(self, admin: str) -> WalletAddress:
        """Return the address of an admin's teaching wallet.

        Args:
            admin: Admin address of one of the sandbox's EVM contracts.
        """
        return WalletAddress(address=chain.admin_secret(self._engine.environment, admin)[0])

    @control(changes=False)
    def _wallet_sign(self, admin: str, typed_data: Members) -> WalletSignature:
        """Sign EIP-712 typed data with an admin's teaching wallet.

        Args:
            admin: Admin address of one of the sandbox's EVM contracts.
            typed_data: EIP-712 typed data.
        """
        return chain.sign_as(self._engine.environment, admin, typed_data)

    @control(changes=True)
    def execute(self, transaction: Members) -> ExecutedWithdrawal:
        """Execute a withdrawal on the sandbox's chain: check both signatures and debit the balance.

        Args:
            transaction: `to`, `chainId` and `data`, or `parameters` instead of `data` on Solana and Stellar. `from` is
                also required, except for EVM contracts of version 2.
        """
        return chain.execute(self._engine.environment, transaction)
