"""Generate sequences of seeded random purchases."""

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Listed
from datetime import timedelta
from itertools import count, product
from random import Random
from typing import Any

from workbench.base.errors import Problem, UsageError
from workbench.base.schema.rules import FULL
from workbench.runs.sequences.sequence import NOTHING, Expect, Ref, Sequence, Step, ref
from workbench.service.interface.vocabulary import DeclineReason

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
"""Fictitious merchants: name, category code, minimum and maximum amount in cents."""


MAX_PURCHASES = 200_000


_FATES = {"declined": 0.05, "reversed": 0.05, "reduced": 0.08, "open": 0.03, "settled": 0.79}
"""Shares of purchases by outcome. A reduced purchase is partly reversed, then settled."""
_REFUNDED, _REFUNDED_IN_PART = 0.04, 0.04  # shares of settled purchases that are refunded in full, and in part


def traffic(
    *,
    seed: int,
    cards: int | Listed[str] = 10,
    days: int = 30,
    a_day: float = 1.0,
) -> Sequence:
    """Return random purchases with many cards over days of sandbox time, as a sequence.

    Args:
        seed: Random seed; the same seed and arguments give the same sequence.
        cards: Ids of active cards, or the number of active cards to take from the guide.
        days: Days of sandbox time.
        a_day: Average number of purchases per card and day.

    Returns:
        Steps in chronological order, with `advance` steps between them.

    Raises:
        UsageError: A number is out of range.
    """
    number = cards if isinstance(cards, int) else len(cards)
    if days < 1 or not a_day >= 0 or max(number, days, a_day) > MAX_PURCHASES or number * days * a_day > MAX_PURCHASES:
        limits = f"days must be at least 1, a_day at least 0, and cards × days × a_day at most {MAX_PURCHASES:,}"
        raise UsageError([Problem("cards", "maximum", limits)], of="traffic")
    listed: list[Any] = [ref(f"guide.cards.active.{i}") for i in range(cards)] if isinstance(cards, int) else [*cards]
    random = Random(seed)
    timed: list[tuple[int, Step]] = []  # steps, each with its time in seconds
    numbers = count(1)
    for card, day in product(listed, range(days)):
        for _ in range(int(a_day) + (random.random() < a_day % 1)):
            timed += _purchase(random, next(numbers), card, day * 86400 + random.randrange(6 * 3600, 23 * 3600))
    timed.sort(key=lambda timed: timed[0])
    steps: list[Step] = []
    now = 0
    for index, (when, step) in enumerate(timed, 1):
        if when > now:
            steps.append(Step(name=f"later {index}", do="advance", arguments={"by": timedelta(seconds=when - now)}))
            now = when
        steps.append(step)
    doc = f"Random purchases on {len(listed)} cards over {days} days, seed {seed}."
    return Sequence(name=f"traffic-{seed}", doc=doc, steps=tuple(steps))


def _purchase(random: Random, number: int, card: object, begins: int) -> Iterator[tuple[int, Step]]:
    """Yield the steps of one purchase, each with its time in seconds."""

    def step(action: str, do: str, arguments: Mapping[str, Any], expect: Expect = NOTHING) -> Step:
        return Step(name=f"{action} {number}", do=do, arguments=arguments, expect=expect)

    shop, code, least, most = random.choice(MERCHANTS)
    amount = random.randint(least, most)
    purchase = {
        "card_id": card,
        "amount": amount,
        "currency": "USD",
        "merchant_name": shop,
        "merchant_category_code": code,
    }
    fate = random.choices([*_FATES], [*_FATES.values()])[0]
    if fate == "declined":
        purchase["decline_reason"] = random.choice([str(reason) for reason in DeclineReason])
    expect = Expect(result={"status": "declined" if fate == "declined" else "authorized"})
    yield begins, step("buy", "simulate_authorization", purchase, expect)
    transaction = {"transaction_id": Ref(f"buy {number}.transaction_id")}
    later = begins + random.randrange(600, 2 * 86400)
    if fate == "reversed":
        yield later, step("release", "simulate_reversal", {**transaction, "new_amount": FULL})
    if fate == "reduced":
        amount = random.randint(max(1, amount // 2), amount)
        yield begins + 300, step("reduce", "simulate_reversal", {**transaction, "new_amount": amount})
    if fate not in ("reduced", "settled"):
        return
    yield later, step("settle", "settle", transaction)
    back = random.random()
    if back < _REFUNDED + _REFUNDED_IN_PART:
        cents = amount if back < _REFUNDED else random.randint(1, amount)
        after = later + random.randrange(3600, 5 * 86400)
        yield after, step("refund", "simulate_refund", {**transaction, "amount": cents})
