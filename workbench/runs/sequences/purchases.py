"""Generate sequences of seeded random purchases."""

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Listed
from datetime import timedelta
from functools import lru_cache
from itertools import count, product
from pathlib import Path
from typing import Any

from workbench.base.errors import Problem, UsageError
from workbench.base.schema.rules import FULL
from workbench.runs.sequences.sequence import NOTHING, Expect, Ref, Sequence, Step, ref
from workbench.sandbox.draws import Dice, Lists, draw, read_lists

MAX_PURCHASES = 200_000


def traffic(
    *,
    seed: int,
    cards: int | Listed[str] = 10,
    days: int = 30,
    a_day: float = 1.0,
) -> Sequence:
    """Return a sequence of random purchases with many cards, spread over days of sandbox time.

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
    dice = Dice(seed)
    timed: list[tuple[int, Step]] = []  # steps, each with its time in seconds
    numbers = count(1)
    for card, day in product(listed, range(days)):
        for _ in range(int(a_day) + (dice.random() < a_day % 1)):
            timed += _purchase(dice, next(numbers), card, day * 86400 + dice.randrange(6 * 3600, 23 * 3600))
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


@lru_cache(maxsize=1)
def _lists() -> Lists:
    return read_lists(Path(__file__).with_name("traffic.toml"))


def _purchase(dice: Dice, number: int, card: object, begins: int) -> Iterator[tuple[int, Step]]:
    """Yield the steps of one purchase, each with its time in seconds."""

    def step(action: str, do: str, arguments: Mapping[str, Any], expect: Expect = NOTHING) -> Step:
        return Step(name=f"{action} {number}", do=do, arguments=arguments, expect=expect)

    lists = _lists()
    drawn = draw(dice, lists)
    amount, outcome = drawn.amount, drawn.outcome
    purchase = {"card_id": card, "amount": amount, "currency": "USD", **drawn.merchant}
    if drawn.decline_reason is not None:
        purchase["decline_reason"] = drawn.decline_reason
    expect = Expect(result={"status": "declined" if outcome == "declined" else "authorized"})
    yield begins, step("buy", "simulate_authorization", purchase, expect)
    transaction = {"transaction_id": Ref(f"buy {number}.transaction_id")}
    later = begins + int(3600 * drawn.settle_hours)
    if outcome == "reversed":
        yield later, step("release", "simulate_reversal", {**transaction, "new_amount": FULL})
    if outcome == "reduced":
        amount = dice.randint(max(1, amount // 2), amount)
        yield begins + 300, step("reduce", "simulate_reversal", {**transaction, "new_amount": amount})
    if outcome not in ("reduced", "settled"):
        return
    yield later, step("settle", "settle", transaction)
    if dice.pick("refund", lists.refunds) == "refunded":
        cents = max(1, int(amount * dice.between("part", lists.refund_parts)))
        after = later + int(86400 * dice.between("days", lists.refund_days))
        yield after, step("refund", "simulate_refund", {**transaction, "amount": cents})
