"""Single wire values: what reads those of each kind, exactly, and what is unusual about them."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import attrs

from workbench.errors import MAX_PROBLEMS, Problem
from workbench.interface.rules import ISO_DAY
from workbench.interface.text import DECIMAL, MAX_DIGITS
from workbench.interface.walk import (
    Boolean,
    Date,
    DateTime,
    DecimalNumber,
    Integer,
    Kind,
    Numeric,
    Text,
    Untyped,
)

Reader = Callable[[Any], Any]
"""Reads a wire value; raises `Unreadable` for one of another type."""


class Unreadable(ValueError):
    """A wire body that cannot be read as the record; `problems` says where."""

    def __init__(self, problems: tuple[Problem, ...], partial: Any = None) -> None:
        self.problems = problems
        self.partial = partial  # what could be read of a request
        super().__init__("; ".join(map(str, problems)))

    def inside(self, place: str) -> Iterator[Problem]:
        """Yield the problems with their paths continued from a place, a member or `[index]`."""
        for one in self.problems:
            dot = "." if place and one.path and not one.path.startswith("[") else ""
            yield Problem(f"{place}{dot}{one.path}", one.rule, one.message)


def mismatch(message: str) -> Unreadable:
    """Return the error of a value of another type."""
    return Unreadable((Problem("", "type", message),))


@attrs.frozen
class Unusual:
    """A value that was read although it is unusual; the record gets the value, and a mark."""

    value: Any
    rule: str
    message: str


def _typed(words: str, *classes: type[Any]) -> Reader:
    """Return a reader of the values of some classes, and None."""

    def read(value: Any) -> Any:
        if value.__class__ in classes or value is None:
            return value
        raise mismatch(f"must be {words}")

    return read


_read_text = _typed("text", str)
_read_number = _typed("a number", int, Decimal)
_read_boolean = _typed("true or false", bool)


def _read_integer(value: Any) -> int:
    if value.__class__ is int:
        return value
    if isinstance(value, Decimal) and value == value.to_integral_value() and abs(value) < _LARGEST:
        return int(value)  # 1250.0 and 1.25e3 are whole numbers of JSON. assumed: whole_number_spelling
    raise mismatch("must be a whole number")


_LARGEST = Decimal(10) ** 30


def _read_integer_text(value: Any) -> int:
    digits = isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,400}", value)
    return int(value) if digits else _read_integer(value)


def _read_decimal(value: Any) -> Decimal:
    return Decimal(_read_number(value))


def _read_decimal_text(value: Any) -> Any:
    if value.__class__ is str:
        if len(value) <= MAX_DIGITS and DECIMAL.fullmatch(value):
            return Decimal(value)
        return Unusual(value, "decimal", "is not a decimal number; it is kept as text")
    if value.__class__ is int or value.__class__ is Decimal:
        return Unusual(Decimal(value), "type", "came as a number, not as text")
    raise mismatch("must be a decimal number as text")


def _read_date(value: Any) -> Any:
    if value.__class__ is not str:
        raise mismatch("must be a date text")
    try:
        return date.fromisoformat(value) if ISO_DAY.fullmatch(value) else value
    except ValueError:
        return value


_UNIX = re.compile(r"[0-9]{9,13}")
_NOT_ON_A_CLOCK = ((":60", ":59", timedelta(0)), ("T24:00", "T00:00", timedelta(days=1)))
"""Leap seconds, and midnight as the end of a day: what is read in their place, and what is added to it."""


def _read_time(value: Any) -> Any:
    """Read a time as aware UTC: ISO 8601, or unix seconds or milliseconds. Text that is neither stays text."""
    if value.__class__ is int or value.__class__ is Decimal:
        made = _read_time(str(int(value)))
        made = made.value if isinstance(made, Unusual) else made
        return Unusual(made, "date-time", "came as a number; it is read as unix seconds")
    if value.__class__ is not str:
        raise mismatch("must be a date-time text")
    with suppress(ValueError, OverflowError):
        if value.isdigit() and _UNIX.fullmatch(value):
            return datetime.fromtimestamp(int(value) / (1000 if len(value) > 11 else 1), UTC)
        time = datetime.fromisoformat(value)
        if time.tzinfo is None:
            return Unusual(time.replace(tzinfo=UTC), "date-time", "has no zone; UTC is assumed")
        return time if time.tzinfo is UTC else time.astimezone(UTC)
    for end, usual, later in (one for one in _NOT_ON_A_CLOCK if one[0] in value):
        with suppress(ValueError, OverflowError):
            time = datetime.fromisoformat(value.replace(end, usual)).replace(microsecond=0) + later
            time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
            return Unusual(time, "date-time", "does not exist on a clock; the nearest time is used")
    return Unusual(value, "date-time", "is not a time that can be read; it is kept as text")


def read_time(value: Any) -> tuple[Any, Problem | None]:
    """Return a wire time as aware UTC, or as it is where it cannot be read, and what is unusual about it."""
    read = _read_time(value)
    return (read.value, Problem("", read.rule, read.message)) if isinstance(read, Unusual) else (read, None)


def choice_reader(words: type[Any]) -> Reader:
    """Return a reader of the words of an enum; another text stays text."""
    known: dict[Any, Any] = {one.value: one for one in words}

    def read(value: Any) -> Any:
        if _read_text(value) not in known:
            try:
                return words(value)  # an enum that reads any casing
            except ValueError:
                return value
        return known[value]

    return read


def array_reader(read: Reader) -> Reader:
    """Return a reader of lists whose items one reader reads."""

    def read_all(value: Any) -> tuple[Any, ...]:
        if value.__class__ is not list:
            raise mismatch("must be a list")
        items: list[Any] = []
        problems: list[Problem] = []
        for place, item in enumerate(value):
            try:
                items.append(read(item))
            except Unreadable as error:
                problems += error.inside(f"[{place}]")
                if len(problems) >= MAX_PROBLEMS and place + 1 < len(value):
                    rest = f"has {len(value) - place - 1:,} further items, which were not read"
                    problems.insert(0, Problem("", "type", rest))
                    break
        if problems:
            raise Unreadable(tuple(problems))
        return tuple(items)

    return read_all


READERS: Mapping[Kind, Reader] = {
    Text(): _read_text, Integer(): _read_integer, Integer(full=True): _read_integer,
    Integer(text=True): _read_integer_text, Boolean(): _read_boolean,
    Numeric(): _read_number, DecimalNumber(text=False): _read_decimal, DecimalNumber(text=True): _read_decimal_text,
    DateTime(): _read_time, Date(): _read_date, Untyped(): lambda value: value,
}  # fmt: skip
"""What reads the values of a kind that holds single values."""
