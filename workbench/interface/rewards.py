"""Rewards (points) activity. Source: Resources, "Rewards activity item"; Endpoints 12."""

from datetime import datetime
from decimal import Decimal

from workbench.interface.fields import Answer, Reason, about, record
from workbench.interface.rules import ID, MOMENT, RewardType

NAME = Reason("the names of the query parameters are not shown")
MAX_LIMIT = 100
MAX_OFFSET = 10_000


@record
class ListRewardsActivity:
    """Ask for one page of a user's rewards activity. Source: Endpoints 12."""

    user_id: str = about("User whose activity is asked for", ID, assumed=NAME)
    type: RewardType | str | None = about("Only earned, or only redeemed items", default=None, assumed=NAME)
    limit: int | None = about(
        "Maximum number of items (default 20)", minimum=1, maximum=MAX_LIMIT, default=None, otherwise=20, assumed=NAME
    )
    offset: int | None = about(
        "Number of items to skip (default 0)", minimum=0, maximum=MAX_OFFSET, default=None, otherwise=0, assumed=NAME
    )


@record
class RewardsItem(Answer):
    """One earned or redeemed item. Which fields belong to which type is not shown. Source: Resources."""

    type: RewardType | str | None = about("earned or redeemed", default=None)
    id: str | None = about("Item id", default=None)
    points: Decimal | None = about("Points amount", format="decimal", unit="points", default=None)
    reason: str | None = about(
        "For earned items currently CARD_SPEND in all rows, also for non-card adjustments", default=None
    )
    status: str | None = about("Item status", default=None)
    merchant_name: str | None = about("Merchant name", default=None)
    transaction_amount_cents: int | None = about("Amount of the transaction", unit="cents", default=None)
    spend_category: str | None = about("Spend category", default=None)
    posted_at: datetime | None = about("When posted", MOMENT, default=None)
    minted_at: datetime | None = about("When minted", MOMENT, default=None)
    created_at: datetime | None = about("When created", MOMENT, default=None)


@record
class RewardsActivity(Answer):
    """One page of rewards activity; it carries no total, hasMore or cursor. Source: Endpoints 12."""

    items: tuple[RewardsItem, ...] = about("The items of the page")
