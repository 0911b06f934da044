"""Rewards points: settled purchases earn points by category rate, refunds claw points back, and redemptions spend them.

Points are posted and minted some days after the purchase, by the sandbox's clock. Users of the seeded world also have a
history, which is generated from the seed on first use. As in live services, merchant names are padded with blanks,
adjustments have the reason CARD_SPEND, and travel redemptions that are PENDING or FAILED are hidden before paging.

assumed: rewards_order, rewards_members, rewards_adjustments, rewards_words, rewards_earning
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from workbench.sandbox.context import DAY, Environment, RequestContext, Seeds
from workbench.sandbox.control_records import from_json
from workbench.sandbox.store import Members, Record, Store
from workbench.service.interface.transactions import ListRewardsActivity, RewardsActivity, RewardsItem

DEFAULT_LIMIT = 20
BEYOND_PAGING = 10_450
_HIDDEN = frozenset({"PENDING", "FAILED"})


class Category(NamedTuple):
    """A merchant category: description, spending category and points per dollar."""

    description: str
    spending: str
    rate: int


CATEGORIES: Mapping[str, Category] = {
    "5411": Category("Grocery Stores", "groceries", 2),
    "5541": Category("Service Stations", "gas", 2),
    "5812": Category("Restaurants", "dining", 3),
    "5814": Category("Fast Food Restaurants", "dining", 3),
    "4511": Category("Airlines", "travel", 4),
    "7011": Category("Hotels", "travel", 4),
    "4111": Category("Commuter Transport", "transit", 2),
    "5942": Category("Book Stores", "shopping", 1),
    "5732": Category("Electronics Stores", "shopping", 1),
    "7832": Category("Motion Picture Theaters", "entertainment", 2),
    "5912": Category("Drug Stores", "health", 1),
    "4900": Category("Utilities", "utilities", 1),
}
OTHER = Category("Other", "other", 1)
_MEMBERS = ("description", "spending", "points")
"""Member names of a category in a program file."""
_MERCHANTS = (
    ("Corner Grocery", "5411"),
    ("  Harbor Fuel  ", "5541"),
    ("Blue Door Cafe", "5812"),
    ("NORTHERN AIR ", "4511"),
    ("Paper & Ink Books", "5942"),
    ("City Transit", "4111"),
    ("Lantern Cinema", "7832"),
    ("   Old Mill Bakery", "5814"),
)


def categories_of(program: Members) -> dict[str, Category]:
    """Return the merchant categories of a program that differ from `CATEGORIES`, by code."""
    own = {}
    for row in program["categories"]:
        usual = CATEGORIES.get(row["code"], OTHER)
        category = Category(*(row.get(name, value) for name, value in zip(_MEMBERS, usual, strict=True)))
        if category != usual:
            own[row["code"]] = category
    return own


def category_of(store: Store, code: str) -> Category:
    """Return the category of a merchant category code in this world."""
    own = store.get("meta", "categories")
    return Category(*own[code]) if own and code in own else CATEGORIES.get(code, OTHER)


def earned(seeds: Seeds, key: str, transaction: Record, category: Category, at: int, before: int, after: int) -> Record:
    """Return the row of a purchase, or of a refund that claws points back. The points are posted and minted later.

    Args:
        category: Category of the merchant.
        before: Settled less refunded cents of the transaction before this change.
        after: Settled less refunded cents of the transaction after this change.
    """
    posted = at + seeds.number(f"posted:{key}", DAY // 2, 3 * DAY)
    points = after * category.rate // 100 - before * category.rate // 100
    return {
        "id": f"rwd_{key}",
        "type": "earned",
        "at": at,
        "points": points,
        "posted": posted,
        "minted": posted + seeds.number(f"minted:{key}", DAY // 4, 9 * DAY),
        "merchant_name": transaction["merchant_name"],
        "transaction_amount_cents": after - before,
        "spend_category": category.spending,
    }


def redeemed(key: str, at: int, points: int, status: str) -> Record:
    """Return the row of a redemption."""
    return {"id": f"rwd_{key}", "type": "redeemed", "at": at, "points": points, "status": status}


def earn(context: RequestContext, transaction: Record, before: int, after: int) -> None:
    """Record the points of a settled purchase, or claw back points for a refund. `earned` documents the arguments."""
    key = context.seeds.octets(f"reward:{context.store.next('reward')}", 16).hex()
    category = category_of(context.store, transaction["merchant_category_code"])
    row = earned(context.seeds, key, transaction, category, context.clock.ms, before, after)
    put(context.store, transaction["user"], row)


def redeem(context: RequestContext, user: Record, points: int, status: str) -> Record:
    """Redeem points of a user, and return the stored row."""
    key = context.seeds.octets(f"redemption:{context.store.next('redemption')}", 16).hex()
    row = redeemed(key, context.clock.ms, points, status)
    put(context.store, user["id"], row)
    return row


def put(store: Store, user: str, row: Record) -> None:
    """Store a user's row, and update the count of hidden rows."""
    store.save(kept_in(user), row)
    if row.get("status") in _HIDDEN:
        store.put("hidden", user, (store.get("hidden", user) or 0) + 1)


def counts(environment: Environment, user: Record) -> tuple[int, int]:
    """Return the numbers of a user's listed rows and hidden redemptions."""
    generated, kept = user.get("rewards", 0), environment.store.count(kept_in(user["id"]))
    hidden = (environment.store.get("hidden", user["id"]) or 0) + _hidden_in_history(
        environment.seeds, user["id"], generated
    )
    return generated + kept - hidden, hidden


def kept_in(user: str) -> str:
    """Return the store kind of a user's rows."""
    return f"reward/{user}"


def points_of(environment: Environment, user: Record) -> int:
    """Return the points that a user can redeem: minted minus redeemed points."""
    now = environment.clock.ms
    return sum(
        -row["points"] if row["type"] == "redeemed" else row["points"]
        for row in _rows(environment, user)
        if row.get("minted", 0) <= now and row.get("status") != "FAILED"
    )


def list_rewards_activity(context: RequestContext, request: ListRewardsActivity) -> RewardsActivity:
    """Return one page of a user's activity, newest first unless the behavior reverses the order."""
    user = context.get_for_tenant("user", request.user_id)
    # "Redemption rows for travel-portal bookings with status PENDING or FAILED are hidden from the list."
    rows: Iterable[Record] = (
        row
        for row in _rows(context.environment, user)
        if row.get("status") not in _HIDDEN and request.type in (None, row["type"])
    )
    if context.settings["rewards_order"] == "oldest":
        rows = reversed(list(rows))  # assumed: rewards_order
    skip = request.offset or 0
    if skip and context.settings["rewards_beyond"] != "empty":
        rows = list(rows)
        if skip >= len(rows):
            raise context.bad_request("offset is beyond the last item", "rewards_beyond")
    page = islice(rows, skip, skip + (DEFAULT_LIMIT if request.limit is None else request.limit))
    return RewardsActivity(items=tuple(_item(row, context.clock.ms) for row in page))  # assumed: rewards_beyond


def _item(row: Record, now: int) -> RewardsItem:
    """Return a row in its wire format. The times of posting and minting are present once they have passed."""
    item = {**row, "created_at": row["at"]}
    item |= {f"{name}_at": row[name] for name in ("posted", "minted") if row.get(name, now + 1) <= now}
    if row["type"] == "earned":
        item["reason"] = "CARD_SPEND"  # documented for all earned rows, including non-card adjustments
    return from_json(RewardsItem, item)


def _rows(environment: Environment, user: Record) -> Iterator[Record]:
    """Iterate over all rows of a user, newest first."""
    yield from environment.store.all(kept_in(user["id"]), newest=True)
    count, months = user.get("rewards", 0), user.get("rewards_months", 12)
    yield from _history(environment.seeds, user["id"], count, months, environment.store.get("meta", "made")["start"])


def _dice(seeds: Seeds, user: str, number: int) -> bytes:
    return seeds.octets(f"reward:{user}:{number}", 24)


def _redemption(dice: bytes) -> str | None:
    """Return the status of a redemption in the generated history; None for an earned item."""
    if dice[1] >= 20:
        return None
    return "PENDING" if dice[2] < 40 else "FAILED" if dice[2] < 64 else "COMPLETED"


@lru_cache(maxsize=1_024)
def _hidden_in_history(seeds: Seeds, user: str, count: int) -> int:
    return sum(_redemption(_dice(seeds, user, i)) in _HIDDEN for i in range(count))


@lru_cache(maxsize=256)
def _history(seeds: Seeds, user: str, count: int, months: int, start: int) -> tuple[Record, ...]:
    """Generate the history of a seeded user, newest first, spread evenly over the months since the user joined."""
    rows: list[Record] = []
    span = int(365 * DAY * months / 12)
    for i in range(count):
        dice = _dice(seeds, user, i)
        at = start - (span * (2 * i + 1) // (2 * count) + dice[0] * 1000)
        key = dice[8:24].hex()
        status = _redemption(dice)
        if status is not None:
            rows.append(redeemed(key, at, 25 * (1 + dice[3] % 40), status))
            continue
        name, code = _MERCHANTS[dice[2] % len(_MERCHANTS)]
        purchase = {"merchant_name": name, "merchant_category_code": code}
        row = earned(seeds, key, purchase, CATEGORIES[code], at, 0, 150 + int.from_bytes(dice[3:5]) % 20_000)
        if dice[1] < 26:  # an adjustment has no merchant
            row = {name: row[name] for name in ("id", "type", "at", "posted", "minted")} | {
                "points": -(1 + dice[5] % 50)
            }
        rows.append(row)
    return tuple(rows)
