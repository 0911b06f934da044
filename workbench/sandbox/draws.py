"""Draw purchases from the lists of a program file: category, amount, outcome, time to the settlement, merchant.

Users of a card program, sequences of random purchases, and universes draw their purchases here.
"""

from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Protocol

import attrs

from workbench.base.system import toml
from workbench.sandbox.programs import defaults
from workbench.sandbox.store import Members, Texts

Options = tuple[Sequence[str], Sequence[float]]
"""Options and the running totals of their weights."""


class Choices(Protocol):
    """Source of the random choices for a purchase. `what` is the name of a choice."""

    def pick(self, what: str, options: Options) -> str: ...
    def between(self, what: str, knots: Sequence[float]) -> float: ...


class Dice(Random):
    """Choices drawn from a seeded generator of random numbers."""

    def pick(self, what: str, options: Options) -> str:
        """Return an option, drawn at random by its weight."""
        names, totals = options
        return names[bisect(totals, self.random() * totals[-1], 0, len(totals) - 1)]

    def between(self, what: str, knots: Sequence[float]) -> float:
        """Return a random value from the distribution with the quantiles `knots`."""
        return quantile(knots, self.random())


class Lists:
    """Lists from which purchases are drawn.

    Args:
        program: Members of a program file. In addition, `outcomes` may list outcomes with their shares, and a category
            may list the names of its merchants.
        names: Names of merchants for categories that list none, and the running totals of the names' weights.
    """

    def __init__(self, program: Members, names: Options = ((), ())) -> None:
        rows = program["categories"]
        shares = {name: program[name] for name in ("declined", "reversed")}
        refunds = {name: program[name] for name in ("refunded", "disputed")}
        self.categories = _weighted((row["code"], row["share"]) for row in rows)
        self.amounts = {row["code"]: row["ticket"] for row in rows}
        self.merchants = {
            row["code"]: _weighted((name, 1) for name in row["merchants"]) if "merchants" in row else names
            for row in rows
        }
        outcomes = program.get("outcomes", {**shares, "settled": 1 - sum(shares.values())})
        self.outcomes = _weighted(outcomes.items())
        self.reasons = _weighted((row["reason"], row["share"]) for row in program["declines"])
        self.settle_hours = program["settle_hours"]
        self.refunds = _weighted({**refunds, "": 1 - sum(refunds.values())}.items())
        self.refund_days = program["refund_days"]
        self.refund_parts = program["refund_parts"]


@attrs.frozen
class Purchase:
    """A drawn purchase.

    Args:
        amount: Amount in cents.
        merchant: Name and category code of the merchant, as members of an authorization.
        outcome: Name of the outcome, such as "settled".
        settle_hours: Hours from the authorization to the settlement.
        decline_reason: Reason of the outcome "declined".
    """

    amount: int
    merchant: Texts
    outcome: str
    settle_hours: float
    decline_reason: str | None


def draw(choices: Choices, lists: Lists, code: str | None = None) -> Purchase:
    """Draw a purchase in the category with this code. Without a code, draw the category too."""
    code = code or choices.pick("category", lists.categories)
    amount = max(1, int(choices.between("amount", lists.amounts[code])))
    outcome = choices.pick("fate", lists.outcomes)
    hours = choices.between("hours", lists.settle_hours)
    reason = choices.pick("reason", lists.reasons) if outcome == "declined" else None
    merchant = {"merchant_name": choices.pick("merchant", lists.merchants[code]), "merchant_category_code": code}
    return Purchase(amount, merchant, outcome, hours, reason)


def read_lists(path: Path) -> Lists:
    """Return the lists in a TOML file. Values that the file omits come from the built-in program file."""
    return Lists({**defaults(), **toml.read(path, "lists")})


def quantile(knots: Sequence[float], share: float) -> float:
    """Return the value at a share from 0 to 1, interpolated between evenly spaced quantiles."""
    position = share * (len(knots) - 1)
    index = int(position)
    if index >= len(knots) - 1:
        return knots[-1]
    return knots[index] + (knots[index + 1] - knots[index]) * (position - index)


def _weighted(options: Iterable[tuple[str, float]]) -> Options:
    names, weights = zip(*options, strict=True)
    return names, [*accumulate(weights)]
