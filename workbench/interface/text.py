"""Values as text and text as values, by the kind of the field: table cells, form inputs, command options, files."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from workbench.interface.rules import FULL, ISO_DAY
from workbench.interface.walk import (
    Array,
    Boolean,
    Choice,
    Date,
    DateTime,
    DecimalNumber,
    Integer,
    Kind,
    Member,
    Nested,
    Numeric,
)

DECIMAL = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
MAX_DIGITS = 400
_DIGITS = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}")
_DOLLARS = re.compile(r"[0-9]{1,15}\.[0-9]{1,2}")
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


def is_empty(value: Any) -> bool:
    """Return whether a value is what a file or a table has in an empty cell: nothing, blank text, or not a number."""
    if value is None or isinstance(value, str):
        return not (value and value.strip())
    if isinstance(value, Decimal):
        return value.is_nan()
    name = type(value).__name__
    return name in {"NAType", "NaTType"} or (name.startswith(("float", "datetime64")) and bool(value != value))


def value_of(member: Member, text: str) -> Any:
    """Return text as the value that the kind of a member wants.

    Args:
        member: The member, from `walk.members`.
        text: What was typed, or stands in a cell; `FULL` where leaving an amount out has a meaning.

    Raises:
        ValueError: It does not fit. The message says what is allowed, and holds nothing private.
    """
    return _value(member.kind, member.about.rule.unit, text)


def _value(kind: Kind, unit: str | None, text: str) -> Any:
    match kind:
        case Integer(full=full):
            if full and text == "FULL":
                return FULL
            if _DIGITS.fullmatch(text):
                return int(text)
            if unit == "cents" and _DOLLARS.fullmatch(text):
                whole, _, part = text.partition(".")
                raise ValueError(
                    f"{text} is not a whole number of cents ({text} USD is {int(whole + part.ljust(2, '0'))})"
                )
            raise ValueError(f"must be a whole number{f' of {unit}' if unit else ''}{', or FULL' if full else ''}")
        case Boolean():
            if text.lower() in _BOOLEANS:
                return _BOOLEANS[text.lower()]
            raise ValueError("must be true or false")
        case Choice(of=words):
            if text in frozenset(words):
                return words(text)
            raise ValueError(f"must be one of {', '.join(words)}")
        case Date():
            if ISO_DAY.fullmatch(text):
                try:
                    return date.fromisoformat(text)
                except ValueError:
                    raise ValueError("is not a day of the calendar") from None
            raise ValueError("must be a date written YYYY-MM-DD, as 1990-02-01")
        case DateTime():
            try:
                moment = datetime.fromisoformat(text)
            except ValueError:
                moment = None
            if moment is None or moment.tzinfo is None:
                raise ValueError("must be a time with a zone, as 2026-01-02T03:04:05Z")
            return moment.astimezone(UTC)
        case DecimalNumber() | Numeric():
            if len(text) > MAX_DIGITS or not DECIMAL.fullmatch(text):
                raise ValueError("must be a decimal number, as 0.10")
            return int(text) if isinstance(kind, Numeric) and _DIGITS.fullmatch(text) else Decimal(text)
        case Array(of=inner):
            return tuple(_value(inner, unit, part.strip()) for part in text.split(",") if part.strip())
        case Nested():
            raise ValueError("cannot be given as text; give its members")
    return text


def text_of(member: Member, value: Any) -> str:
    """Return a value of a member as text that `value_of` reads again; None is the empty text."""
    if value is None:
        return ""
    if isinstance(value, tuple | list):
        return ", ".join(text_of(member, item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return write_time(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    return "FULL" if value is FULL else str(value)


def write_time(value: datetime) -> str:
    """Return a time as ISO 8601 in UTC with milliseconds and `Z`, or with microseconds where it has them."""
    utc = value.astimezone(UTC).replace(tzinfo=None)
    return utc.isoformat(timespec="microseconds" if utc.microsecond % 1000 else "milliseconds") + "Z"
