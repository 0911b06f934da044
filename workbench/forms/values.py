"""Text that a person types as values, values as text, and values in words."""

from datetime import date
from typing import Any

from workbench import rendering
from workbench.errors import visible
from workbench.interface import text
from workbench.interface.rules import FULL, ISO_DAY
from workbench.interface.walk import Boolean, Date, Member, Text
from workbench.withdrawals.sheets import grouped

EMPTY = '""'
"""What is typed to send empty text. An empty box is omitted."""


def value_of(member: Member, typed: str) -> Any:
    """Return typed text as a value of its kind, None for an empty box; text that does not fit stays text."""
    if typed == "":
        return None
    if typed == EMPTY and isinstance(member.kind, Text):
        return ""
    try:
        return text.value_of(member, typed)
    except ValueError:
        return typed


def text_of(member: Member, value: Any) -> str:
    """Return a value as it would be typed."""
    return EMPTY if value == "" else text.text_of(member, value)


def explained(member: Member, value: Any, record: Any) -> str:
    """Return how a value is understood: money in its currency, a date in words, an address in groups of four."""
    unit = member.about.rule.unit or ""
    if value is FULL:
        return "the entire amount"
    if value == "":
        return "sent as empty text"
    if "native token units" in unit:
        return _native(value, record.is_amount_native)
    if unit == "cents":
        return _cents(value, getattr(record, "currency", None))
    if isinstance(member.kind, Date):
        return _day(value)
    if isinstance(value, str) and not isinstance(member.kind, Boolean):
        return _text(member, value)
    return ""


def _cents(value: Any, currency: str | None) -> str:
    if type(value) is int:
        return f"{value:,} cents = {rendering.money(value, currency)}"
    whole, dot, part = str(value).partition(".")
    if dot and whole.isdigit() and part.isdigit() and len(part) <= 2 and value.isascii() and len(whole) < 20:
        return f"the unit is cents: {whole}.{part.ljust(2, '0')} of the currency is {int(whole + part.ljust(2, '0'))}"
    return ""


def _native(value: Any, native: Any) -> str:
    if not (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 78):
        return ""
    units, cents = f"{int(value):,} native units of the token", f"{int(value):,} cents = {rendering.money(int(value))}"
    return {True: units, False: cents}.get(native, f"either {units} or {cents}: choose below")


def _day(value: Any) -> str:
    if isinstance(value, str):
        if ISO_DAY.fullmatch(value) is None:
            return ""
        try:
            value = date.fromisoformat(value)
        except ValueError:
            return ""
    return f"{value.day} {value:%B} {value.year:04d}"


def _text(member: Member, value: str) -> str:
    rule = member.about.rule
    if rule.pattern and len(value) >= 32:
        return grouped(visible(value, 100))
    if rule.max_length is not None and rule.max_length >= 20 and len(value) > rule.max_length * 0.8:
        return f"{len(value):,} of {rule.max_length:,} characters"
    return ""
