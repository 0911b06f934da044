"""Amounts of a withdrawal: in cents or in native units, and never one for the other."""

import operator
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs

from workbench.chains import refuse_private_key
from workbench.errors import InvalidRequest, Problem, hide_arguments
from workbench.rendering import money

_DOLLARS = re.compile(r"(0|[1-9][0-9]{0,29})\.([0-9]{2})")
_UNITS = re.compile(r"[1-9][0-9]{0,77}")
_MOST_DECIMALS = 36
_HOW = 'write wb.withdrawals.usd("25.00") for 25 dollars, or wb.withdrawals.native_units(25_000_000) for native units of the token'


@attrs.frozen
class Cents:
    """An amount in cents of a US dollar."""

    cents: int

    def __str__(self) -> str:
        return money(self.cents)


@attrs.frozen
class Native:
    """An amount in native units of a token: its smallest parts."""

    units: int

    def __str__(self) -> str:
        return _count(self.units, "native unit")


Amount = Cents | Native


@hide_arguments
def usd(dollars: str | Decimal) -> Cents:
    """Return an amount in cents, from dollars with both digits of the cents: `cents("25.00")` is 25 dollars.

    Raises:
        InvalidRequest: It is a float, has another number of decimals, or is not above zero.
    """
    refuse_private_key(dollars, "amount")
    if isinstance(dollars, Native):
        raise _wrong("type", "is in native units, and cents are asked for; the two are never turned into each other")
    if isinstance(dollars, Decimal):
        dollars = format(dollars, "f")
    if not isinstance(dollars, str):
        raise _wrong("type", f'is dollars and cents as text, as "25.00", not {_named(dollars)}')
    found = _DOLLARS.fullmatch(dollars)
    if found is None:
        raise _wrong("pattern", 'is dollars with a point and both digits of the cents, as "25.00", and nothing else')
    number = int(found[1]) * 100 + int(found[2])
    if number < 1:
        raise _wrong("minimum", "is at least 0.01")
    return Cents(number)


@hide_arguments
def native_units(units: int | str) -> Native:
    """Return an amount in native units of the token, a whole number: `native(25_000_000)`; digits as text pass as well.

    Raises:
        InvalidRequest: It is a float, not digits alone, not above zero, or beyond 256 bits.
    """
    refuse_private_key(units, "amount")
    if isinstance(units, Cents):
        raise _wrong("type", "is in cents, and native units are asked for; the two are never turned into each other")
    if isinstance(units, str):
        if not _UNITS.fullmatch(units):
            raise _wrong("pattern", "is a whole number of native units above zero: digits alone, as 25000000")
        number = int(units)
    elif isinstance(units, bool) or not hasattr(units, "__index__"):
        raise _wrong("type", f"is a whole number of native units, as 25_000_000, not {_named(units)}")
    else:
        number = operator.index(units)
    if number < 1:
        raise _wrong("minimum", "is at least one native unit")
    if number >> 256:
        raise _wrong("maximum", "does not fit into 256 bits")
    return Native(number)


def amount_problem(amount: object) -> Problem | None:
    """Return what is wrong with what was given as an amount."""
    if isinstance(amount, Cents | Native):
        return None
    return Problem("amount", "type", f"does not say its unit: {_HOW}")


def decimals_problem(decimals: object) -> Problem | None:
    """Return what is wrong with a number of decimals."""
    if decimals is None or (type(decimals) is int and 0 <= decimals <= _MOST_DECIMALS):
        return None
    return Problem(
        "decimals", "range", f"is a whole number from 0 to {_MOST_DECIMALS}, or is left out where it is unknown"
    )


def units_of(amount: Amount, decimals: int | None, rate: Decimal | None) -> Fraction | None:
    """Return an amount in native units as far as it can be told here, not rounded; None where it cannot."""
    if isinstance(amount, Native):
        return Fraction(amount.units)
    if decimals is None or not rate:
        return None
    units: Fraction = Fraction(amount.cents, 100) / Fraction(rate) * 10**decimals
    return units


def dollars_of(amount: Amount, decimals: int | None, rate: Decimal | None) -> Fraction | None:
    """Return what an amount is worth in US dollars, not rounded; None where it cannot be told."""
    if isinstance(amount, Cents):
        return Fraction(amount.cents, 100)
    if decimals is None or rate is None:
        return None
    return Fraction(amount.units, 10**decimals) * Fraction(rate)


def readings(amount: Amount, decimals: int | None, rate: Decimal | None) -> str:
    """Say an amount both ways, in dollars and in native units, as far as each is known."""
    if decimals is None:
        other = "how many native units that is" if isinstance(amount, Cents) else "what they are worth"
        return f"{amount}; {other} cannot be told here: the token's decimals are unknown (decimals=…)"
    at = "" if rate == 1 else f", at {rate:f} USD a token" if rate else ""
    of_token = f"of a token with {_count(decimals, 'decimal')}"
    if isinstance(amount, Cents):
        if not rate:
            return f"{amount}; how many native units {of_token} that is cannot be told: the contract states no rate"
        units = units_of(amount, decimals, rate)
        assert units is not None
        about = "" if units.denominator == 1 and rate == 1 else "about "
        more = "; the service does the counting, and its answer says exactly" if about else ""
        return f"{amount} = {about}{_count(int(units), 'unit')} {of_token}{at}{more}"
    tokens = Fraction(amount.units, 10**decimals)
    whole = f"{plain(tokens)} token{'' if tokens == 1 else 's'}"
    units_here = f"{_count(amount.units, 'unit')} {of_token}"
    worth = dollars_of(amount, decimals, rate)
    if worth is None:
        return f"{units_here} = {whole}; the contract states no rate, so no dollars"
    return f"{units_here} = {whole} = {said_dollars(worth)}{at}"


def brief(amount: Amount, decimals: int | None, rate: Decimal | None, counted: Native | None = None) -> str:
    """Say an amount within a sentence, both ways where both are known; `counted` is how the service counted it."""
    if isinstance(amount, Cents):
        if counted is not None:
            return f"{amount} ({counted}, as the service counts)"
        units = units_of(amount, decimals, rate)
        return str(amount) if units is None else f"{amount} ({'' if rate == 1 else 'about '}{Native(int(units))})"
    worth = dollars_of(amount, decimals, rate)
    return str(amount) if worth is None else f"{amount} ({said_dollars(worth)})"


def said_dollars(worth: Fraction) -> str:
    """Say a worth in dollars; `about` where it had to be rounded down to a cent."""
    exact = worth * 100
    if 0 < exact < 1:
        return "less than 0.01 USD"
    return ("" if exact.denominator == 1 else "about ") + money(int(exact))


def plain(number: Fraction) -> str:
    """Write a decimal fraction without exponent, its thousands apart."""
    digits = 0
    while (number * 10**digits).denominator != 1:
        digits += 1
    whole, part = divmod(int(number * 10**digits), 10**digits)
    return f"{whole:,}" + (f".{part:0{digits}d}" if digits else "")


def exact_balance(text: object) -> Fraction | None:
    """Read a balance as the service writes it, in whole tokens; None where it is none."""
    if isinstance(text, str) and re.fullmatch(r"[0-9]{1,90}(?:\.[0-9]{1,90})?", text):
        return Fraction(text)
    return None


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _named(value: Any) -> str:
    return "True or False" if isinstance(value, bool) else f"a {type(value).__name__}"


def _wrong(rule: str, message: str) -> InvalidRequest:
    return InvalidRequest([Problem("amount", rule, message)])
