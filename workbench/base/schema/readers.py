"""Strict parsers for single values of each kind, and conversion between values and text.

The parsers mark unusual values. Texts come from table cells, form inputs, command options and files.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import attrs

from workbench.base.errors import MAX_PROBLEMS, Problem, WorkbenchError
from workbench.base.frozen import frozen
from workbench.base.schema import walk
from workbench.base.schema.rules import FULL, ISO_DAY, iso_day
from workbench.base.schema.strict_json import Repaired
from workbench.base.schema.walk import Kind, Member

DECIMAL = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
MAX_DIGITS = 400
_DIGITS = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}")
_DOLLARS = re.compile(r"[0-9]{1,15}\.[0-9]{1,2}")
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


def is_empty(value: object) -> bool:
    """Return whether a value is an empty cell of a file or table: None, blank text, or NaN."""
    if value is None or isinstance(value, str):
        return not (value and value.strip())
    if isinstance(value, Decimal):
        return value.is_nan()
    name = type(value).__name__
    return name in {"NAType", "NaTType"} or (name.startswith(("float", "datetime64")) and bool(value != value))


def value_of(member: Member, text: str) -> Any:
    """Convert text to the type of a member.

    Args:
        member: The member, from `walk.members`.
        text: Text of an input or a cell; `FULL` for amounts that can be omitted.

    Raises:
        ValueError: The text does not fit the member. The message states what is allowed, and contains nothing private.
    """
    unit = member.about.rule.unit
    match member.kind:
        case walk.Integer(full=full):
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
        case walk.Boolean():
            if text.lower() in _BOOLEANS:
                return _BOOLEANS[text.lower()]
            raise ValueError("must be true or false")
        case walk.Choice(of=enum):
            if text in frozenset(enum):
                return enum(text)
            raise ValueError(f"must be one of {', '.join(enum)}")
        case walk.Date():
            if day := iso_day(text):
                return day
            like = "is not a day of the calendar", "must be a date written YYYY-MM-DD, such as 1990-02-01"
            raise ValueError(like[ISO_DAY.fullmatch(text) is None])
        case walk.DateTime():
            try:
                moment = datetime.fromisoformat(text)
            except ValueError:
                moment = None
            if moment is None or moment.tzinfo is None:
                raise ValueError("must be a time with a zone, such as 2026-01-02T03:04:05Z")
            return moment.astimezone(UTC)
        case walk.DecimalNumber() | walk.Numeric():
            if len(text) > MAX_DIGITS or not DECIMAL.fullmatch(text):
                raise ValueError("must be a decimal number, such as 0.10")
            return int(text) if isinstance(member.kind, walk.Numeric) and _DIGITS.fullmatch(text) else Decimal(text)
        case walk.Array(of=inner):
            item = attrs.evolve(member, kind=inner)
            return tuple(value_of(item, part.strip()) for part in text.split(",") if part.strip())
        case walk.Nested():
            raise ValueError("cannot be passed as text; pass its members")
    return text


def text_of(member: Member, value: object) -> str:
    """Return a value of a member as text that `value_of` parses back. None becomes empty text."""
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
    """Return a time as ISO 8601 in UTC with `Z` and milliseconds, or with microseconds if the time has any."""
    utc = value.astimezone(UTC).replace(tzinfo=None)
    return utc.isoformat(timespec="microseconds" if utc.microsecond % 1000 else "milliseconds") + "Z"


Reader = Callable[[Any], Any]
"""Function that reads a wire value, and raises `Unreadable` for the wrong type."""


class Unreadable(WorkbenchError, ValueError):
    """A wire body cannot be read as a record. `problems` has the path, rule and message of each problem."""

    def __init__(self, problems: tuple[Problem, ...], partial: object = None) -> None:
        self.problems = problems
        self.partial = partial  # the part of a request that could be read
        super().__init__("; ".join(map(str, problems)))

    def inside(self, place: str) -> Iterator[Problem]:
        """Yield the problems, each path prefixed with the path of the parent: a member name or `[index]`."""
        for problem in self.problems:
            dot = "." if place and problem.path and not problem.path.startswith("[") else ""
            yield Problem(f"{place}{dot}{problem.path}", problem.rule, problem.message)


def mismatch(message: str) -> Unreadable:
    """Return the error for a value of the wrong type."""
    return Unreadable((Problem("", "type", message),))


@frozen
class Unusual:
    """An unusual value that could be read. The record gets the value and a mark."""

    value: Any
    rule: str
    message: str


REPAIRED = "text", "was cut inside a character; the rest of that character is read as U+FFFD"
"""Rule and message for a text with an unpaired surrogate."""


def plain_text(value: object) -> Any:
    """Return a repaired text as plain text. Any other value is returned unchanged."""
    return str(value) if value.__class__ is Repaired else value


def _typed(expected: str, *classes: type[Any]) -> Reader:
    """Return a reader that accepts None and values of the given classes."""

    def read(value: object) -> Any:
        if value.__class__ in classes or value is None:
            return value
        if value.__class__ is float and Decimal in classes:
            raise mismatch("is a float, which is not exact; read the JSON with json.loads(…, parse_float=Decimal)")
        raise mismatch(f"must be {expected}")

    return read


_read_text = _typed("text", str)
_read_number = _typed("a number", int, Decimal)
_read_boolean = _typed("true or false", bool)
_read_date_text = _typed("a date text", str)


def _read_integer(value: object) -> int:
    if value.__class__ is int:
        return value
    if isinstance(value, Decimal) and value == value.to_integral_value() and abs(value) < _LARGEST:
        return int(value)  # In JSON, 1250.0 and 1.25e3 are whole numbers. assumed: whole_number_spelling
    raise mismatch("must be a whole number")


_LARGEST = Decimal(10) ** 30


def _read_integer_text(value: Any) -> int:
    digits = isinstance(value, str) and _DIGITS.fullmatch(value)
    return int(value) if digits else _read_integer(value)


def _read_decimal_text(value: object) -> Any:
    if value.__class__ is str:
        if len(value) <= MAX_DIGITS and DECIMAL.fullmatch(value):
            return Decimal(value)
        return Unusual(value, "decimal", "is not a decimal number; kept as text")
    if value.__class__ is int or value.__class__ is Decimal:
        return Unusual(Decimal(value), "type", "was sent as a number, not as text")
    raise mismatch("must be a decimal number as text")


_UNIX = {9: 0, 10: 0, 11: 0, 12: 3, 13: 3, 16: 6, 19: 9}
"""Decimal places of a Unix time, by its number of digits: up to 11 for seconds, and 19 for nanoseconds."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_ON_A_CLOCK = ((":60", ":59", timedelta(0)), ("T24:00", "T00:00", timedelta(days=1)))
"""Texts of leap seconds and of 24:00, each with a replacement that can be parsed, and the time to add."""


def _read_time(value: object) -> Any:
    """Read ISO 8601 text, or a Unix time, as an aware time in UTC. Other text stays text."""
    if value.__class__ is int or value.__class__ is Decimal:
        moment = _read_time(str(int(value)))
        moment = moment.value if isinstance(moment, Unusual) else moment
        return Unusual(moment, "date-time", "was sent as a number; read as a Unix time")
    if value.__class__ is not str:
        raise mismatch("must be a date-time text")
    with suppress(ValueError, OverflowError):
        if value.isascii() and value.isdigit() and len(value) in _UNIX:
            return _EPOCH + timedelta(microseconds=int(value) * 10**6 // 10 ** _UNIX[len(value)])
        time = datetime.fromisoformat(value)
        if time.tzinfo is None:
            return Unusual(time.replace(tzinfo=UTC), "date-time", "has no zone; UTC is assumed")
        return time if time.tzinfo is UTC else time.astimezone(UTC)
    for end, usual, later in (character for character in _NOT_ON_A_CLOCK if character[0] in value):
        with suppress(ValueError, OverflowError):
            time = datetime.fromisoformat(value.replace(end, usual)).replace(microsecond=0) + later
            time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
            return Unusual(time, "date-time", "does not exist on a clock; the nearest time is used")
    return Unusual(value, "date-time", "is not a readable time; kept as text")


def read_time(value: object) -> tuple[Any, Problem | None]:
    """Return a wire time as an aware time in UTC, or unchanged if unreadable, with a problem if it is unusual."""
    read = _read_time(value)
    return (read.value, Problem("", read.rule, read.message)) if isinstance(read, Unusual) else (read, None)


def choice_reader(enum: type[Any]) -> Reader:
    """Return a reader of enum values. Unknown text stays text."""
    known: dict[Any, Any] = {member.value: member for member in enum}

    def read(value: object) -> Any:
        if _read_text(value) not in known:
            try:
                return enum(value)  # the enum is case-insensitive
            except ValueError:
                return value
        return known[value]

    return read


def array_reader(read: Reader) -> Reader:
    """Return a reader of lists that applies one reader to each item."""

    def read_all(value: object) -> Any:
        if value.__class__ is not list:
            raise mismatch("must be a list")
        if any(item.__class__ is Repaired for item in value):
            return Unusual(read_all([plain_text(item) for item in value]), *REPAIRED)
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
    walk.Text(): _read_text,
    walk.Integer(): _read_integer,
    walk.Integer(full=True): _read_integer,
    walk.Integer(text=True): _read_integer_text,
    walk.Boolean(): _read_boolean,
    walk.Numeric(): _read_number,
    walk.DecimalNumber(text=False): lambda value: Decimal(_read_number(value)),
    walk.DecimalNumber(text=True): _read_decimal_text,
    walk.DateTime(): _read_time,
    walk.Date(): lambda value: iso_day(_read_date_text(value)) or value,
    walk.Untyped(): lambda value: value,
}
"""Readers of scalar kinds."""
