"""What a person typed, read exactly, and said back in words."""

from datetime import date
from typing import Any

from workbench import rendering
from workbench.errors import visible
from workbench.interface.rules import FULL, ISO_DAY
from workbench.interface.walk import Boolean, Date, Integer, Member, Text
from workbench.withdrawals.sheets import grouped

EMPTY = '""'
"""What is typed for a text that is given, and empty. An empty box is left out."""

_MOST_DIGITS = 400


def value_of(one: Member, text: str) -> Any:
    """Return what was typed as the value its kind wants, None for an empty box; text that does not fit stays text."""
    if text == "":
        return None
    if isinstance(one.kind, Integer):
        digits = text.removeprefix("-")
        if one.kind.full and text == "FULL":
            return FULL
        return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS else text
    return "" if text == EMPTY and isinstance(one.kind, Text) else text


def text_of(value: Any) -> str:
    """Return a value as it is typed."""
    if value is None:
        return ""
    if value == "":
        return EMPTY
    return value.isoformat() if isinstance(value, date) else str(value)


def in_words(one: Member, value: Any, record: Any) -> str:
    """Say how a value is read: money in its currency, a day by its month's name, an address in groups of four."""
    if value is FULL:
        return "all of it"
    if value == "":
        return "sent as empty text"
    unit = one.about.rule.unit or ""
    if "native token units" in unit:
        return _amount(value, record.is_amount_native)
    if unit == "cents":
        return _cents(value, getattr(record, "currency", None))
    if isinstance(one.kind, Date):
        return _day(value)
    if isinstance(value, str) and not isinstance(one.kind, Boolean):
        return _text(one, value)
    return ""


def _cents(value: Any, currency: str | None) -> str:
    if type(value) is int:
        return f"{value:,} cents = {rendering.money(value, currency)}"
    whole, dot, part = str(value).partition(".")
    if dot and whole.isdigit() and part.isdigit() and len(part) <= 2 and value.isascii() and len(whole) < 20:
        return f"the unit is cents: {whole}.{part.ljust(2, '0')} of the currency is {int(whole + part.ljust(2, '0'))}"
    return ""


def _amount(value: Any, native: Any) -> str:
    if not (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 78):
        return ""
    units, cents = f"{int(value):,} native units of the token", f"{int(value):,} cents = {rendering.money(int(value))}"
    return {True: units, False: cents}.get(native, f"either {units}, or {cents}: say which below")


def _day(value: Any) -> str:
    if isinstance(value, str):
        if ISO_DAY.fullmatch(value) is None:
            return ""
        try:
            value = date.fromisoformat(value)
        except ValueError:
            return ""
    return f"{value.day} {value:%B} {value.year:04d}"


def _text(one: Member, value: str) -> str:
    rule = one.about.rule
    if rule.pattern and len(value) >= 32:
        return grouped(visible(value, 100))
    if rule.max_length is not None and rule.max_length >= 20 and len(value) > rule.max_length * 0.8:
        return f"{len(value):,} of {rule.max_length:,} characters"
    return ""
