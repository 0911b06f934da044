"""Random traffic as a sequence like any other: seeded, so the same seed gives the same script."""

from collections.abc import Mapping
from collections.abc import Sequence as Listed
from datetime import timedelta
from random import Random
from typing import Any

import attrs

from workbench.errors import InvalidRequest, Problem
from workbench.interface.rules import FULL, DeclineReason
from workbench.sequences.steps import Expect, Guide, Ref, Sequence, Step

MERCHANTS: tuple[tuple[str, str, int, int], ...] = (
    ("Corner Grocery", "5411", 400, 12000),
    ("Coffee Corner", "5814", 250, 1800),
    ("Soup Kitchen", "5812", 900, 6500),
    ("Highway Fuel", "5542", 1500, 9000),
    ("City Transit", "4111", 150, 900),
    ("Pharmacy Example", "5912", 500, 8000),
    ("Coats and More", "5651", 2500, 30000),
    ("Streaming Example", "4899", 799, 1999),
    ("Harbour Hotel", "7011", 9000, 60000),
    ("Book Cellar", "5942", 800, 5000),
)
"""Merchant, category code, least and largest amount in cents. All are made up."""


@attrs.frozen(kw_only=True)
class Mix:
    """What share of purchases goes which way. The rest settles whole and stays."""

    declined: float = 0.05
    reversed: float = 0.05
    reduced: float = 0.08  # partly reversed, then settled
    open: float = 0.03  # neither settled nor reversed
    refunded: float = 0.04  # of the settled ones, whole
    refunded_in_part: float = 0.04  # of the settled ones


def traffic(
    *,
    seed: int,
    cards: int | Listed[str] = 10,
    days: int = 30,
    a_day: float = 1.0,
    mix: Mix | None = None,
    merchants: Listed[tuple[str, str, int, int]] = MERCHANTS,
) -> Sequence:
    """Make random purchases on many cards over days of sandbox time.

    Args:
        seed: The same seed and arguments give the same sequence.
        cards: Ids of active cards, or how many of the guide's active ones.
        days: Days of sandbox time.
        a_day: Purchases on each card and day, on average.
        mix: Shares of declines, reversals and refunds.
        merchants: Merchant, category code, least and largest amount in cents.

    Returns:
        A sequence in order of time, with `advance` steps between.

    Raises:
        InvalidRequest: A number makes no sense.
    """
    mix = mix or Mix()
    shares = attrs.asdict(mix)
    wrong = [Problem(name, "share", "must be between 0 and 1") for name, share in shares.items() if not 0 <= share <= 1]
    if mix.declined + mix.reversed + mix.reduced + mix.open > 1:
        wrong.append(Problem("mix", "share", "declined, reversed, reduced and open add up to more than 1"))
    if days < 1 or a_day < 0 or not merchants:
        wrong.append(Problem("days", "minimum", "days must be at least 1, a_day at least 0, merchants not empty"))
    if wrong:
        raise InvalidRequest(wrong, of="traffic")
    listed: list[Any] = [Guide(f"cards.active.{i}") for i in range(cards)] if isinstance(cards, int) else list(cards)
    timed: list[tuple[int, int, Step]] = []
    random = Random(seed)
    count = 0
    for card in listed:
        for day in range(days):
            for _ in range(_how_many(random, a_day)):
                count += 1
                begins = day * 86400 + random.randrange(6 * 3600, 23 * 3600)
                timed += _purchase(random, count, card, begins, mix, merchants)
    timed.sort(key=lambda one: one[:2])
    steps: list[Step] = []
    now = 0
    for number, (when, _, one) in enumerate(timed):
        if when > now:
            steps.append(
                Step(name=f"later {number + 1}", do="advance", arguments={"by": timedelta(seconds=when - now)})
            )
            now = when
        steps.append(one)
    return Sequence(
        name=f"traffic-{seed}",
        doc=f"Random purchases on {len(listed)} cards over {days} days, seed {seed}.",
        steps=tuple(steps),
    )


def _how_many(random: Random, mean: float) -> int:
    whole = int(mean)
    return whole + (random.random() < mean - whole)


_AUTHORIZED = Expect(result={"status": "authorized"})
_DECLINED = Expect(result={"status": "declined"})
_DECLINES = tuple(str(reason) for reason in DeclineReason)


def _purchase(
    random: Random, number: int, card: Any, begins: int, mix: Mix, merchants: Listed[tuple[str, str, int, int]]
) -> list[tuple[int, int, Step]]:
    merchant, code, least, most = merchants[random.randrange(len(merchants))]
    amount = random.randint(least, most)
    name = f"buy {number}"
    asked: dict[str, Any] = {
        "card_id": card,
        "amount": amount,
        "currency": "USD",
        "merchant_name": merchant,
        "merchant_category_code": code,
    }
    way = random.random()
    if way < mix.declined:
        asked["decline_reason"] = random.choice(_DECLINES)
        return [(begins, number, Step(name=name, do="simulate_authorization", arguments=asked, expect=_DECLINED))]
    made = [(begins, number, Step(name=name, do="simulate_authorization", arguments=asked, expect=_AUTHORIZED))]
    transaction: Mapping[str, Any] = {"transaction_id": Ref(f"{name}.transaction_id")}
    way -= mix.declined
    later = begins + random.randrange(600, 2 * 86400)
    if way < mix.reversed:
        made.append((later, number, _then("release", number, "simulate_reversal", {**transaction, "new_amount": FULL})))
        return made
    way -= mix.reversed
    if way < mix.reduced:
        amount = random.randint(max(1, amount // 2), amount)
        reduced = {**transaction, "new_amount": amount}
        made.append((begins + 300, number, _then("reduce", number, "simulate_reversal", reduced)))
    elif way < mix.reduced + mix.open:
        return made
    made.append((later, number, _then("settle", number, "settle", dict(transaction))))
    back = random.random()
    if back < mix.refunded + mix.refunded_in_part:
        given = amount if back < mix.refunded else random.randint(1, amount)
        after = later + random.randrange(3600, 5 * 86400)
        made.append((after, number, _then("refund", number, "simulate_refund", {**transaction, "amount": given})))
    return made


def _then(word: str, number: int, do: str, arguments: Mapping[str, Any]) -> Step:
    return Step(name=f"{word} {number}", do=do, arguments=arguments)
