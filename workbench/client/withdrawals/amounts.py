"""Withdrawal amounts in cents or native units, never converted silently."""

import operator
import re
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

from workbench.base.errors import Problem, UsageError
from workbench.base.frozen import frozen
from workbench.base.remedies import Remedy, declare
from workbench.service.chains.values import refuse_private_key
from workbench.service.rendering import money

declare(
    "amount",
    python=(
        'write wb.withdrawals.usd("25.00") for 25 dollars, or wb.withdrawals.native_units(25_000_000) for native '
        "units of the token"
    ),
    other="state the amount in dollars, or in native units of the token",
)

_DOLLARS = re.compile(r"(0|[1-9][0-9]{0,29})\.([0-9]{2})")
_UNITS = re.compile(r"[1-9][0-9]{0,77}")
_BALANCE = re.compile(r"[0-9]{1,90}(?:\.[0-9]{1,90})?")
_MAX_DECIMALS = 36
_MAX_DIGITS = 400  # more than any balance or amount has


@frozen
class Cents:
    """An amount in US cents."""

    cents: int

    def __str__(self) -> str:
        return money(self.cents)


@frozen
class NativeUnits:
    """An amount in native units: the smallest units of a token."""

    units: int

    def __str__(self) -> str:
        return _count(self.units, "native unit")


Amount = Cents | NativeUnits


def usd(dollars: str | Decimal) -> Cents:
    """Return an amount in US dollars: `usd("25.00")` is 25 dollars.

    Args:
        dollars: Dollars with two decimals, as text or Decimal.

    Raises:
        UsageError: The amount is a float, does not have two decimals, or is not above zero.
    """
    refuse_private_key(dollars, "amount")
    if isinstance(dollars, NativeUnits):
        raise _invalid("type", "is in native units, not in cents; cents and native units cannot be mixed")
    text = format(dollars, "f") if isinstance(dollars, Decimal) else dollars
    if not isinstance(text, str):
        raise _invalid("type", f'must be dollars and cents as text, such as "25.00", not {_type_name(text)}')
    match = _DOLLARS.fullmatch(text)
    if match is None:
        raise _invalid("pattern", 'must be dollars with exactly two decimals, such as "25.00"')
    number = int(match[1] + match[2])
    if number < 1:
        raise _invalid("minimum", "must be at least 0.01")
    return Cents(number)


def native_units(units: int | str) -> NativeUnits:
    """Return an amount in native units of the token: `native_units(25_000_000)`.

    Args:
        units: Whole number, as int or digits.

    Raises:
        UsageError: The amount is a float, has characters other than digits, is not above zero, or exceeds 256 bits.
    """
    refuse_private_key(units, "amount")
    if isinstance(units, Cents):
        raise _invalid("type", "is in cents, not in native units; cents and native units cannot be mixed")
    if isinstance(units, str):
        if not _UNITS.fullmatch(units):
            raise _invalid("pattern", "must be a whole number of native units above zero, such as 25000000")
        number = int(units)
    elif isinstance(units, bool) or not hasattr(units, "__index__"):
        raise _invalid("type", f"must be a whole number of native units, such as 25_000_000, not {_type_name(units)}")
    else:
        number = operator.index(units)
    if number < 1:
        raise _invalid("minimum", "must be at least one native unit")
    if number >> 256:
        raise _invalid("maximum", "does not fit into 256 bits")
    return NativeUnits(number)


def amount_problems(amount: object, decimals: object) -> Iterator[Problem]:
    """Yield problems with an amount and its number of decimals."""
    if not isinstance(amount, Cents | NativeUnits):
        yield Problem("amount", "type", "has no unit", Remedy("amount"))
    if decimals is not None and (type(decimals) is not int or not 0 <= decimals <= _MAX_DECIMALS):
        text = f"must be a whole number from 0 to {_MAX_DECIMALS}; omit it if it is unknown"
        yield Problem("decimals", "range", text)


def tokens_of(amount: Amount, decimals: int | None, rate: Decimal | None) -> Fraction | None:
    """Return an unrounded amount in tokens, or None if decimals or rate are required but unknown."""
    if isinstance(amount, NativeUnits):
        return None if decimals is None else Fraction(amount.units, 10**decimals)
    return None if not rate else Fraction(amount.cents, 100) / Fraction(rate)


def units_of(amount: Amount, decimals: int | None, rate: Decimal | None) -> Fraction | None:
    """Return an unrounded amount in native units, or None if decimals or rate are required but unknown."""
    if isinstance(amount, NativeUnits):
        return Fraction(amount.units)
    tokens = tokens_of(amount, decimals, rate)
    return None if tokens is None or decimals is None else tokens * 10**decimals


def dollars_of(amount: Amount, decimals: int | None, rate: Decimal | None) -> Fraction | None:
    """Return the unrounded value of an amount in US dollars, or None if decimals or rate are required but unknown."""
    if isinstance(amount, Cents):
        return Fraction(amount.cents, 100)
    tokens = tokens_of(amount, decimals, rate)
    return None if tokens is None or rate is None else tokens * Fraction(rate)


def in_both_units(amount: Amount, decimals: int | None, rate: Decimal | None) -> str:
    """Return an amount as text in dollars and in native units, where known."""
    if decimals is None:
        other = "native units" if isinstance(amount, Cents) else "value in dollars"
        return f"{amount}; {other} unknown without the token's decimals (decimals=…)"
    at = "" if rate == 1 else f", at {rate:f} USD a token" if rate else ""
    token = f"of a token with {_count(decimals, 'decimal')}"
    units, worth = units_of(amount, decimals, rate), dollars_of(amount, decimals, rate)
    if isinstance(amount, Cents):
        if units is None:
            return f"{amount}; native units {token} unknown: the contract states no rate"
        if units.denominator == 1 and rate == 1:
            return f"{amount} = {_count(int(units), 'unit')} {token}"
        return (
            f"{amount} = about {_count(int(units), 'unit')} {token}{at}; the service's answer states the exact number"
        )
    tokens = Fraction(amount.units, 10**decimals)
    text = f"{_count(amount.units, 'unit')} {token} = {decimal_text(tokens)} token{'' if tokens == 1 else 's'}"
    if worth is None:
        return f"{text}; the contract states no rate, so the value in dollars is unknown"
    return f"{text} = {dollars_text(worth)}{at}"


def in_sentence(amount: Amount, decimals: int | None, rate: Decimal | None, counted: NativeUnits | None = None) -> str:
    """Return an amount as text for a sentence, in both units where known.

    Args:
        counted: Native units that the service computed from cents.
    """
    if isinstance(amount, NativeUnits):
        worth = dollars_of(amount, decimals, rate)
        return str(amount) if worth is None else f"{amount} ({dollars_text(worth)})"
    if counted is not None:
        return f"{amount} ({counted}, as the service counts)"
    units = units_of(amount, decimals, rate)
    return str(amount) if units is None else f"{amount} ({'' if rate == 1 else 'about '}{NativeUnits(int(units))})"


def named_amount(amount: Amount, decimals: int | None, rate: Decimal | None, token: str) -> str:
    """Return an amount with its token symbol: `25.00 USDC`, or `25.00 USD in XAUT (about 0.00943)`."""
    tokens = tokens_of(amount, decimals, rate)
    if isinstance(amount, NativeUnits):
        return f"{amount} of {token}" if tokens is None else f"{tokens_text(tokens)} {token}"
    if rate == 1:
        return f"{money(amount.cents).removesuffix(' USD')} {token}"
    return f"{amount} in {token}" + ("" if tokens is None else f" ({tokens_text(tokens)})")


def tokens_text(tokens: Fraction) -> str:
    """Return a number of tokens as text. "about" marks a number that is rounded to 18 decimals."""
    if (tokens * 10**18).denominator == 1:
        return decimal_text(tokens)
    return f"about {float(tokens):,.6g}"


def dollars_text(worth: Fraction) -> str:
    """Return a value in dollars as text. "about" marks a value that is rounded down to a cent."""
    exact = worth * 100
    if 0 < exact < 1:
        return "less than 0.01 USD"
    return ("" if exact.denominator == 1 else "about ") + money(int(exact))


def decimal_text(number: Fraction) -> str:
    """Return a fraction as decimal text with thousands separators and no exponent."""
    with localcontext(prec=_MAX_DIGITS):
        return f"{Decimal(number.numerator) / number.denominator:,f}"


def read_balance(text: object) -> Fraction | None:
    """Parse a balance in tokens, in the service's format. Return None for text that is not a number."""
    return Fraction(text) if isinstance(text, str) and _BALANCE.fullmatch(text) else None


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _type_name(value: object) -> str:
    return "true or false" if isinstance(value, bool) else f"a {type(value).__name__}"


def _invalid(rule: str, message: str) -> UsageError:
    return UsageError([Problem("amount", rule, message)])
