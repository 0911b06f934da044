"""Card programs as TOML files, with the parameters of a seeded world, and listed users with their cards.

The built-in worlds are program files in `worlds/`. Values that a file omits come from `worlds/program.toml`, which
explains each name. Quantiles are evenly spaced, from the smallest value to the largest.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from itertools import islice, pairwise, starmap
from pathlib import Path
from typing import Any, Literal, get_args

from workbench.base.errors import Problem, UsageError, not_allowed, visible
from workbench.base.schema import checks, walk
from workbench.base.schema.fields import OPEN, Rule, about, record
from workbench.base.system import toml
from workbench.sandbox.store import Members, Record
from workbench.service.interface.formats import CENTS, EMAIL, EXTERNAL_ID, PERSON_NAME, Number
from workbench.service.interface.vocabulary import DeclineReason, DisputeStatus, EventApplicationStatus

WorldSize = Literal["small", "program", "large"]
World = WorldSize | str | os.PathLike[str]
"""Accepted values of `world=`: a world name, or the path of a TOML file."""

MAX_PURCHASES = 500_000
STAYED = 0.85
"""A user is still active if the active share of the time since joining is at least this."""
_MAX_PROBLEMS = 50  # maximum number of problems to report
_MAX_KNOTS = 1_000
_COUNT = Rule(minimum=0, maximum=10_000)
_SHARE = Rule(minimum=0, maximum=1)
_WEIGHT = Rule(minimum=0, maximum=1_000_000)
_DAYS = Rule(minimum=0, maximum=3_650)
_CODE = Rule(pattern=r"^[0-9]{4}$", says="four digits as text")
_WORDS = Rule(min_length=1, max_length=60)
_LIMIT = Rule(minimum=0, maximum=10**10, unit="cents")


@record
class Cohort:
    """Users who joined in the same period."""

    share: Number = about("Share of all users", _SHARE)
    joined: tuple[Number, ...] = about("Days since they joined, as quantiles", _DAYS)
    active: tuple[Number, ...] = about(
        "Share of the time since joining that passed before the last purchase, as quantiles",
        _SHARE,
    )
    purchases: tuple[Number, ...] = about("Purchases of a user, as quantiles", _COUNT)


@record
class MerchantCategory:
    """A merchant category: code, share of purchases, and distribution of purchase amounts."""

    code: str = about("Merchant category code", _CODE)
    share: Number = about("Share of purchases", _WEIGHT)
    ticket: tuple[int, ...] = about("Amount of a purchase, as quantiles", _LIMIT)
    description: str | None = about("Name in events", _WORDS, default=None)
    spending: str | None = about("Spending category of rewards", _WORDS, default=None)
    points: int | None = about("Points per dollar", Rule(minimum=0, maximum=1_000), default=None)


@record
class Decline:
    """A decline reason and its share."""

    reason: DeclineReason | str = about("Reason")
    share: Number = about("Share of declines", _WEIGHT)


@record
class CastCard:
    """A card of a listed user."""

    status: str = about("Status", Rule(pattern="^(active|notActivated|locked|canceled)$", says="a status of a card"))
    limit: int = about("Credit limit", _LIMIT)


@record
class CastContract:
    """A collateral contract of a listed user."""

    chain_id: int = about("Chain", Rule(minimum=1, maximum=10**12))
    version: int = about("Contract version", Rule(minimum=1, maximum=2), default=2)
    balances: tuple[str, ...] = about(
        "Balances of the contract's two tokens",
        Rule(pattern=r"^[0-9]{1,15}(\.[0-9]{1,6})?$", says='a number as text, such as "250.50"'),
    )


@record
class CastDispute:
    """A dispute of a listed user about a settled purchase on the first card."""

    status: DisputeStatus | str = about("Status")
    amount: int = about("Amount of the purchase", CENTS, minimum=1, maximum=10**9)


@record
class CastMember:
    """A listed user. The user's ids depend only on the seed and `external_id`."""

    name: str = about(
        "First and last name", Rule(pattern=r"^\S+( \S+)+$", says="a first and a last name", max_length=99)
    )
    status: EventApplicationStatus | str = about("Application status", default="approved")
    email: str | None = about("Email; derived from the name if omitted", EMAIL, default=None, privacy=OPEN)
    external_id: str | None = about("External id; derived from the name if omitted", EXTERNAL_ID, default=None)
    cards: tuple[CastCard, ...] = about("Cards", default=())
    contracts: tuple[CastContract, ...] = about("Contracts with the user's collateral", default=())
    disputes: tuple[CastDispute, ...] = about("Disputes about settled purchases on the first card", default=())


@record
class Program:
    """A card program."""

    size: int = about("Number of users, without listed users", _COUNT)
    merchants: int = about("Number of merchants", Rule(minimum=1, maximum=256))
    habit: Number = about("Share of purchases in three favorite categories of the user", _SHARE)
    months: tuple[Number, ...] = about("Relative number of purchases in each month, January to December", _WEIGHT)
    weekdays: tuple[Number, ...] = about("Relative number of purchases on each weekday, Monday to Sunday", _WEIGHT)
    hours: tuple[Number, ...] = about("Relative number of purchases in each hour of the day (UTC)", _WEIGHT)
    settle_hours: tuple[Number, ...] = about("Hours to the settlement, as quantiles", Rule(minimum=0, maximum=2_400))
    declined: Number = about("Share of purchases that are declined", _SHARE)
    reversed: Number = about("Share of purchases that are reversed", _SHARE)
    refunded: Number = about("Share of settled purchases that are refunded", _SHARE)
    refund_parts: tuple[Number, ...] = about("Refunded share of the amount, as quantiles", _SHARE)
    refund_days: tuple[Number, ...] = about("Days from the settlement to the refund, as quantiles", _DAYS)
    disputed: Number = about("Share of settled purchases that are disputed", _SHARE)
    redeeming: Number = about("Share of users who redeem points", _SHARE)
    redeem_above: int = about("Number of points above which half are redeemed", Rule(minimum=50, maximum=10_000_000))
    cohorts: tuple[Cohort, ...] = about("Users by the period in which they joined")
    categories: tuple[MerchantCategory, ...] = about("Merchant categories")
    declines: tuple[Decline, ...] = about("Reasons of declines")
    users: tuple[CastMember, ...] = about("Listed users with their cards, contracts and disputes", default=())


_LENGTHS = {"months": 12, "weekdays": 7, "hours": 24}


def read_world(world: World | None) -> Record | None:
    """Return the card program of a world, or None for the small world, which has no program.

    Raises:
        UsageError: The value is neither a world nor a file, or the file has problems. The message lists all problems.
    """
    if world is None or world == "small":
        return None
    if world in get_args(WorldSize):
        return _checked(toml.read(Path(__file__).parent / "worlds" / f"{world}.toml", "world"))
    if str(world).endswith(".toml"):
        return _checked(toml.read(Path(world), "world"))
    raise UsageError([not_allowed("world", world, (*get_args(WorldSize), "the path of a .toml file"))])


@lru_cache(maxsize=1)
def defaults() -> Members:
    """Return the values of the built-in program file."""
    return toml.read(Path(__file__).parent / "worlds" / "program.toml", "world")


def _checked(table: Members) -> Record:
    """Return a program with defaults for the values that its file omits.

    Raises:
        UsageError: The program has problems.
    """
    table = {**defaults(), "size": 0, **table}
    unknown: list[walk.UnknownMember] = []
    program = walk.build(Program, _exact(table), unknown)
    names = (f"{error.prefix}{name}" for error in unknown for name in error.names)
    problems = [Problem(visible(name, 60), "unknown", "is not a name in a program file") for name in names]
    broken = checks.problems(program)
    problems += [Problem(walk.snake(problem.path), problem.rule, problem.message) for problem in broken]
    if not problems:
        problems += starmap(Problem, islice(_conflicts(table), 10 * _MAX_PROBLEMS))
    if problems:
        kept = [Problem(f"world.{problem.path}", problem.rule, problem.message) for problem in problems[:_MAX_PROBLEMS]]
        more = len(problems) - len(kept)
        raise UsageError([*kept, *([Problem("world", "count", f"has {more:,} more problems")] if more else [])])
    return table


def _exact(value: object) -> Any:
    """Return a value with exact numbers in place of floats."""
    if isinstance(value, Mapping):
        return {key: _exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    return Decimal(repr(value)) if isinstance(value, float) else value


def _conflicts(table: Members) -> Iterator[tuple[str, str, str]]:
    for name, length in _LENGTHS.items():
        if len(table[name]) != length:
            yield name, "length", f"must have {length} numbers"
        elif not any(table[name]):
            yield name, "sum", "must not all be 0"
    quantiles = [(name, table[name]) for name in ("settle_hours", "refund_parts", "refund_days")]
    for kind, names in (("cohorts", ("joined", "active", "purchases")), ("categories", ("ticket",)), ("declines", ())):
        quantiles += [(f"{kind}[{i}].{name}", row[name]) for i, row in enumerate(table[kind]) for name in names]
        if not any(row["share"] for row in table[kind]):
            yield kind, "sum", "must have a share above 0"
        key = {"categories": "code", "declines": "reason"}.get(kind)
        if key and len({row[key] for row in table[kind]}) < len(table[kind]):
            yield kind, "unique", f"must not contain a {key} twice"
    for path, values in quantiles:
        if not 1 <= len(values) <= _MAX_KNOTS:
            yield path, "length", f"must have 1 to {_MAX_KNOTS:,} numbers"
        elif any(low > high for low, high in pairwise(values)):
            yield path, "order", "must be in ascending order"
    if table["declined"] + table["reversed"] > 1:
        yield "declined", "sum", "must be at most 1 together with reversed"
    if table["refunded"] + table["disputed"] > 1:
        yield "refunded", "sum", "must be at most 1 together with disputed"
    total = sum(row["share"] for row in table["cohorts"]) or 1
    mean = sum(row["share"] * sum(row["purchases"]) / (len(row["purchases"]) or 1) for row in table["cohorts"]) / total
    if (purchases := table["size"] * mean) > MAX_PURCHASES:
        yield "size", "maximum", f"makes about {purchases:,.0f} purchases; at most {MAX_PURCHASES:,} are allowed"
    yield from _cast_conflicts(table.get("users", ()))


def _cast_conflicts(users: Iterable[Members]) -> Iterator[tuple[str, str, str]]:
    taken: set[str] = set()
    for i, user in enumerate(users):
        names = user["name"].split()
        for part in (names[0], " ".join(names[1:])):
            if len(part) > (PERSON_NAME.max_length or 0):
                yield f"users[{i}].name", "max_length", f"a name has at most {PERSON_NAME.max_length} characters"
        if (external_id := external_id_of(user)) in taken:
            yield f"users[{i}].external_id", "unique", "must be unique; without an external id, the name must be unique"
        taken.add(external_id)
        for j, contract in enumerate(user.get("contracts", ())):
            if len(contract["balances"]) != 2:
                yield f"users[{i}].contracts[{j}].balances", "length", "must be a list of two balances"
        cards = user.get("cards", ())
        needed = sum(dispute["amount"] for dispute in user.get("disputes", ()))
        if needed and (not cards or cards[0]["limit"] < needed):
            yield f"users[{i}].disputes", "limit", "the first card needs a limit of at least the disputed amounts"
    if len(taken) > (_COUNT.maximum or 0):
        yield "users", "maximum", f"at most {_COUNT.maximum:,} users can be listed"


def external_id_of(user: Members) -> str:
    """Return the external id of a listed user."""
    return str(user.get("external_id") or "-".join(user["name"].lower().split()))
