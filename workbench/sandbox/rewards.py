"""A year of rewards activity for a user, made when first asked for and the same for the same seed.

In the rows, as in practice: merchant names padded with blanks, adjustments that read CARD_SPEND all the same, and travel
redemptions that are PENDING or FAILED, which are hidden before paging. assumed: rewards_order, rewards_members, rewards_adjustments, rewards_words
"""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from workbench.interface import strict_json
from workbench.interface.rewards import ListRewardsActivity, RewardsActivity, RewardsItem
from workbench.interface.walk import build
from workbench.sandbox.context import START, Environment, RequestContext

DEFAULT_LIMIT = 20
BEYOND_PAGING = 10_450
_YEAR = 365 * 24 * 60 * 60
_MERCHANTS = (
    ("Corner Grocery", "groceries"),
    ("  Harbor Fuel  ", "gas"),
    ("Blue Door Cafe", "dining"),
    ("NORTHERN AIR ", "travel"),
    ("Paper & Ink Books", "shopping"),
    ("City Transit", "transit"),
    ("Lantern Cinema", "entertainment"),
    ("   Old Mill Bakery", "dining"),
)

Row = tuple[str, bytes]
"""The type, and the item as it is sent."""


def list_rewards_activity(context: RequestContext, request: ListRewardsActivity) -> bytes:
    """Return one page of a user's activity, the newest first."""
    user = context.get_for_tenant("user", request.user_id.lower(), "User")
    rows = context.environment.rewards.get(user["id"])
    if rows is None:
        rows = context.environment.rewards[user["id"]] = visible_rows(context.environment, user)
    if request.type is not None:
        rows = [row for row in rows if row[0] == request.type]
    skip = request.offset or 0
    limit = DEFAULT_LIMIT if request.limit is None else request.limit
    return b'{"%s":[%s]}' % (
        context.environment.wire_name(RewardsActivity, "items").encode(),
        b",".join([item for _, item in rows[skip : skip + limit]]),  # assumed: rewards_beyond
    )


def visible_rows(environment: Environment, user: dict[str, Any]) -> list[Row]:
    """Make the rows of a user that are shown, the newest first."""
    count = user.get("rewards", 0)
    rows: list[Row] = []
    for i in range(count):
        row = _row(environment, user["id"], i, count)
        if row is not None:
            rows.append(row)
    return rows


def _row(environment: Environment, user: str, i: int, count: int) -> Row | None:
    """Make the i-th newest row; None where it is hidden."""
    dice = environment.seeds.octets(f"reward:{user}:{i}", 24)
    age = _YEAR * (2 * i + 1) // (2 * count) + dice[0]
    created = START - timedelta(seconds=age)
    key = dice[8:24].hex()
    item: dict[str, Any] = {"id": f"rwd_{key}", "created_at": created}
    if dice[1] < 20:
        # "Redemption rows for travel-portal bookings with status PENDING or FAILED are hidden from the list."
        status = "PENDING" if dice[2] < 40 else "FAILED" if dice[2] < 64 else "COMPLETED"
        if status != "COMPLETED":
            return None
        points = 25 * (1 + dice[3] % 40)
        item |= {"type": "redeemed", "points": Decimal(points), "status": status}
    else:
        name, category = _MERCHANTS[dice[2] % len(_MERCHANTS)]
        cents = 150 + int.from_bytes(dice[3:5]) % 20_000
        item |= {
            "type": "earned",
            # "CARD_SPEND for all rows, including non-card adjustments"
            "reason": "CARD_SPEND",
            "points": Decimal(-(1 + dice[5] % 50) if dice[1] < 26 else max(1, cents // 100)),
            "posted_at": created + timedelta(days=1),
            "minted_at": created + timedelta(days=2),
        }
        if dice[1] >= 26:  # an adjustment has no merchant
            item |= {"merchant_name": name, "transaction_amount_cents": cents, "spend_category": category}
    return item["type"], strict_json.dumps(environment.converter.unstructure(build(RewardsItem, item)))
