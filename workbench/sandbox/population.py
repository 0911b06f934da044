"""A year of a card program: people who join month by month, buy by season and habit, and sometimes leave.

Their purchases are declined, reversed, refunded and disputed now and then, and earn and spend points. Everything comes from
the seed, and nothing lies after the present of the sandbox.
"""

import math
from random import Random
from typing import Any

from workbench.interface.rules import DeclineReason, DisputeStatus
from workbench.sandbox import rewards
from workbench.sandbox.cards import add_dispute, new_card, new_transaction
from workbench.sandbox.context import Seeds
from workbench.sandbox.people import new_user
from workbench.sandbox.rewards import CATEGORIES, DAY
from workbench.sandbox.store import Store

Record = dict[str, Any]
SIZES = {"small": 0, "program": 240, "large": 1_000}
"""Number of people by size of the world."""
_SEASON = (0.9, 0.85, 0.95, 1.0, 1.0, 1.05, 1.1, 1.05, 0.95, 1.0, 1.15, 1.4)  # January to December
_WEEKDAY = (0.85, 0.85, 0.9, 1.0, 1.25, 1.3, 0.95)  # Monday to Sunday
_TICKET = {
    "groceries": 42,
    "gas": 38,
    "dining": 24,
    "travel": 310,
    "transit": 4,
    "shopping": 65,
    "utilities": 88,
}  # dollars
_ADJECTIVES = ("Blue", "Green", "Old", "New", "Little", "Grand", "Silver", "Golden", "North", "South", "East", "West", "Happy", "Quiet", "Sunny", "Royal")  # fmt: skip
_NOUNS = ("Harbor", "Garden", "Corner", "Bridge", "Market", "Lantern", "Meadow", "Station", "River", "Hill", "Mill", "Square", "Anchor", "Maple", "Falcon", "Orchard")  # fmt: skip


def populate(store: Store, seeds: Seeds, tenant: str, start: int, size: str) -> None:
    """Add people and their year to a tenant.

    Args:
        tenant: Id of the tenant.
        start: The present, in milliseconds since 1970.
        size: Size of the world, as in `SIZES`.
    """
    count = SIZES[size]
    for number in range(count):
        _Person(store, seeds, tenant, start, number, count).live()


class _Person:
    """Makes one person, a card, and what happened on it."""

    def __init__(self, store: Store, seeds: Seeds, tenant: str, start: int, number: int, count: int) -> None:
        self.store, self.seeds, self.start = store, seeds, start
        self.label = f"{tenant}:{number}"
        self.dice = Random(int.from_bytes(seeds.octets(f"person:{self.label}", 16)))
        # more join each month than in the month before
        self.joined = start - int(DAY * (360 - 350 * math.sqrt(number / count)))
        stays = self.dice.random() > 0.25
        self.end = start if stays else self.joined + int((start - self.joined) * self.dice.random())
        self.habit = {code: self.dice.random() ** 3 for code in CATEGORIES}
        self.weekly = 0.5 + 5 * self.dice.random() ** 2
        self.user: Record = new_user(
            seeds.uuid(f"member:{self.label}"), tenant, self.joined, status="approved", source_key="workbench",
            first_name=f"Member {number + 1}", last_name="Example", email=f"member.{number + 1}@example.com",
            external_id=f"member-{number + 1:05d}", is_active=stays,
        )  # fmt: skip
        self.card = new_card(seeds.uuid(f"member card:{self.label}"), self.user, number, 0)
        self.made = 0

    def live(self) -> None:
        """Put the person, the card and its transactions into the store."""
        rows: list[Record] = []
        at = self.joined + int(DAY * self.dice.random())
        while at < self.end:
            day = at // DAY
            busy = _SEASON[int(day / 30.4375) % 12] * _WEEKDAY[(day + 3) % 7]  # day 0 was a Thursday
            self._purchase(at, rows)
            at += int(7 * DAY / (self.weekly * busy) * -math.log(1 - self.dice.random()))
        rows += self._redemptions(rows)
        spent = self.card["posted"] - self.card["refunded"] + self.card["held"]
        self.card["limit"] = limit = (spent // 50_000 + 10) * 50_000
        self.card["available"] = limit - spent
        self.store.save("user", self.user)
        self.store.save("card", self.card)
        self.store.put("external_id", f"{self.user['tenant']}:{self.user['external_id']}", self.user["id"])
        for row in sorted(rows, key=lambda row: row["at"]):
            rewards.put(self.store, self.user["id"], row)

    def _purchase(self, at: int, rows: list[Record]) -> None:
        dice, self.made = self.dice, self.made + 1
        (code,) = dice.choices(tuple(self.habit), tuple(self.habit.values()))
        cents = max(150, int(100 * _TICKET.get(CATEGORIES[code].spending, 20) * math.exp(0.6 * dice.gauss(0, 1))))
        luck, cleared = dice.random(), at + int(DAY * (1 + 2 * dice.random()))
        state: Record = {"status": "settled", "settled": cents, "cleared": cents, "posted_at": cleared}
        if luck < 0.05:
            state = {"status": "declined", "declined_reason": str(dice.choice(tuple(DeclineReason)))}
        elif luck < 0.07:
            state = {"status": "reversed"}
        elif cleared > self.start:
            state = {"status": "authorized", "held": cents}
        transaction = new_transaction(
            self.seeds.uuid(f"purchase:{self.label}:{self.made}"), self.card, at, authorized=cents,
            merchant_name=_merchant(dice), merchant_category_code=code, **state,
        )  # fmt: skip
        self.card["held"] += transaction["held"]
        if state["status"] == "settled":
            self.card["posted"] += cents
            transaction = self._afterwards(transaction, rows)
        self.store.save("transaction", transaction)

    def _afterwards(self, transaction: Record, rows: list[Record]) -> Record:
        """Earn points, and sometimes refund or dispute a settled purchase."""
        cents, at, dice = transaction["settled"], transaction["posted_at"], self.dice
        rows.append(self._row(transaction, at, 0, cents))
        later, luck = at + int(20 * DAY * dice.random()), dice.random()
        if later < self.start and luck < 0.03:
            back = cents if luck < 0.02 else cents // 2
            transaction = {**transaction, "refunded": back}
            self.card["refunded"] += back
            rows.append(self._row(transaction, later, cents, cents - back))
        elif later < self.start and luck < 0.036:
            status = str(dice.choice(tuple(DisputeStatus)))
            resolved = None if status in {"pending", "inReview"} else min(self.start, later + 30 * DAY)
            key = self.seeds.uuid(f"dispute:{self.label}:{self.made}")
            add_dispute(self.store, key, transaction, later, status, resolved)
        return transaction

    def _row(self, transaction: Record, at: int, before: int, after: int) -> Record:
        key = self.seeds.octets(f"member reward:{self.label}:{self.made}:{after - before}", 16).hex()
        return rewards.earned(self.seeds, key, transaction, at, before, after)

    def _redemptions(self, rows: list[Record]) -> list[Record]:
        """Spend half of the minted points now and then."""
        found: list[Record] = []
        left, steady = 0, self.dice.random() < 0.4
        for number, row in enumerate(sorted(rows, key=lambda row: row["minted"])):
            left += row["points"]
            at = row["minted"] + DAY // 3
            if steady and left > 1_500 and at < self.end:
                key = self.seeds.octets(f"member redemption:{self.label}:{number}", 16).hex()
                points, status = left // 50 * 25, self.dice.choice(("COMPLETED",) * 8 + ("PENDING", "FAILED"))
                found.append(rewards.redeemed(key, at, points, status))
                left -= points if status != "FAILED" else 0
        return found


def _merchant(dice: Random) -> str:
    """Return the name of a merchant: few are met often, and many once."""
    rank = int(len(_ADJECTIVES) * len(_NOUNS) * dice.random() ** 4)
    return f"{_ADJECTIVES[rank % len(_ADJECTIVES)]} {_NOUNS[rank // len(_ADJECTIVES)]}"
