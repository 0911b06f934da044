"""Simulated card transactions (sandbox only), disputes, and rewards points.

Source: Endpoints 3-5, 10 and 12.
"""

from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from workbench.base.schema.fields import PERSONAL, WIDELY, Answer, Reason, about, record
from workbench.base.schema.rules import Full
from workbench.service.interface.formats import CENTS, ID, MOMENT, TEXT_EVIDENCE
from workbench.service.interface.vocabulary import (
    CompletionReason,
    DeclineReason,
    DeclineReasonText,
    DisputeStatus,
    DisputeUpdateStatus,
    DisputeUpdateStatusText,
    RewardType,
    RewardTypeText,
    TransactionStatus,
)

__all__ = [
    "Dispute",
    "RewardsActivity",
    "SimulatedTransaction",
]
"""Public names of this module in `workbench.records`: answers, event bodies, and their enums."""

REQUIRED = Reason("the document does not show which body fields are required", WIDELY, "need")
NAME = Reason("the document does not name the field that requests a decline", WIDELY)


@record
class SimulateAuthorization:
    """Simulate a merchant's authorization request. Source: Endpoints 3."""

    card_id: str = about("Card to authorize against; it belongs to the calling tenant", ID, assumed=REQUIRED)
    amount: int = about("Amount in the merchant's currency", CENTS, minimum=1, assumed=REQUIRED)
    currency: str = about("Merchant currency code, for example USD", assumed=REQUIRED)
    merchant_name: str = about("Merchant name", assumed=REQUIRED)
    merchant_category_code: str = about("Merchant category code (MCC), four digits as text", assumed=REQUIRED)
    decline_reason: DeclineReason | DeclineReasonText | None = about(
        "Reason for which the authorization is declined", default=None, assumed=NAME
    )


@record
class SimulateReversal:
    """Reverse an open authorization, in full or down to a remaining amount. Source: Endpoints 4."""

    transaction_id: str = about("Transaction to reverse", ID)
    new_amount: int | Full = about(
        "Authorized amount that remains after the reversal; FULL (field omitted) reverses the entire authorization",
        CENTS,
    )


@record
class SimulateRefund:
    """Refund a settled transaction, in full or in part. Source: Endpoints 5."""

    transaction_id: str = about("Transaction to refund", ID)
    amount: int | Full = about(
        "Amount in the merchant's currency; FULL (field omitted) refunds the full settled amount", CENTS
    )


@record
class SimulatedTransaction(Answer):
    """Result of a simulation. Source: Resources, "Simulated transaction result"."""

    transaction_id: str = about("The transaction id", ID, needed=False)
    status: TransactionStatus | str = about("Status of the transaction", needed=False)
    declined_reason: DeclineReason | str | None = about("Reason for the decline", default=None)
    completion_reason: CompletionReason | str | None = about("Reason for the completion", default=None)


FIELDS = Reason("the document shows no fields of the dispute record", WIDELY)


@record
class UpdateDispute:
    """Cancel a dispute, or add text evidence to it. Source: Endpoints 10."""

    dispute_id: str = about("Dispute to update; the format of its id is not documented", min_length=1)
    status: DisputeUpdateStatus | DisputeUpdateStatusText | None = about(
        "New status; only canceled is allowed", default=None
    )
    text_evidence: str | None = about(
        "Text evidence added to the dispute", TEXT_EVIDENCE, default=None, privacy=PERSONAL
    )


@record
class Dispute(Answer):
    """A dispute. The document shows no success body, so any member may be absent. Source: Resources, "Dispute"."""

    assumed: ClassVar = FIELDS

    id: str | None = about("Dispute's unique identifier", ID, default=None)
    transaction_id: str | None = about("Id of the disputed transaction", ID, default=None)
    status: DisputeStatus | str | None = about("Status of the dispute", default=None)
    text_evidence: str | None = about("Text evidence", TEXT_EVIDENCE, default=None, privacy=PERSONAL)
    created_at: datetime | None = about("Opening time", MOMENT, default=None)
    resolved_at: datetime | None = about("Resolution time", MOMENT, default=None)


PARAMETER = Reason("the document does not name the query parameters")
MAX_LIMIT = 100
MAX_OFFSET = 10_000


@record
class ListRewardsActivity:
    """Request for one page of a user's rewards activity. Source: Endpoints 12."""

    user_id: str = about("User whose activity to list", ID, assumed=PARAMETER)
    type: RewardType | RewardTypeText | None = about(
        "Type of the items: earned or redeemed", default=None, assumed=PARAMETER
    )
    limit: int | None = about(
        "Maximum number of items",
        minimum=1,
        maximum=MAX_LIMIT,
        default=None,
        otherwise=20,
        assumed=PARAMETER,
    )
    offset: int | None = about(
        "Number of items to skip",
        minimum=0,
        maximum=MAX_OFFSET,
        default=None,
        otherwise=0,
        assumed=PARAMETER,
    )


@record
class RewardsItem(Answer):
    """One earned or redeemed item. The document does not state which fields belong to which type.

    Source: Resources, "Rewards activity item".
    """

    type: RewardType | str | None = about("Type of the item", default=None)
    id: str | None = about("Id of the item", default=None)
    points: Decimal | None = about("Amount of points", format="decimal", unit="points", default=None)
    reason: str | None = about(
        "For earned items, currently CARD_SPEND in all rows, also for non-card adjustments", default=None
    )
    status: str | None = about("Item status", default=None)
    merchant_name: str | None = about("Merchant name", default=None)
    transaction_amount_cents: int | None = about("Amount of the transaction", unit="cents", default=None)
    spend_category: str | None = about("Spend category", default=None)
    posted_at: datetime | None = about("Posting time", MOMENT, default=None)
    minted_at: datetime | None = about("Minting time", MOMENT, default=None)
    created_at: datetime | None = about("Creation time", MOMENT, default=None)


@record
class RewardsActivity(Answer):
    """One page of rewards activity. A page has no total, hasMore or cursor.

    Source: Resources, "Rewards activity item".
    """

    items: tuple[RewardsItem, ...] = about("The items of the page")
