"""Between records and the wire: cattrs with exact hooks, and one structuring function made for each record.

Requests are read strictly, answers tolerantly: a member may be missing, unknown, null or beside its rule, and is kept;
only a value of another type than the agreed one makes an answer unreadable.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import attrs
import cattrs

from workbench.errors import Problem
from workbench.interface import strict_json
from workbench.interface.events import EVENT_KINDS, Event
from workbench.interface.fields import NOTHING_MORE, Answer
from workbench.interface.operation import Operation
from workbench.interface.rules import FULL, ISO_DAY
from workbench.interface.strict_json import JsonObject
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
    Text,
    Untyped,
    is_record,
    members,
    snake,
)

Names = Mapping[str, str]
"""Wire names that differ from the declared ones, by `record.attribute`, as `simulate_authorization.decline_reason`."""


class Mismatch(Exception):
    """A value of another type than the agreed one, while reading. It never leaves this module."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__()


class Unreadable(ValueError):
    """A wire body that cannot be read as the record; `problems` says where."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))


Reader = Callable[[Any, list[Problem]], Any]

_MISSING = object()


def _mismatch(what: str) -> Mismatch:
    return Mismatch(Problem("", "type", f"must be {what}"))


def _read_text(value: Any, _: list[Problem]) -> str:
    if value.__class__ is not str:
        raise _mismatch("text")
    return value


def _read_whole(value: Any, _: list[Problem]) -> int:
    if value.__class__ is not int:
        if isinstance(value, Decimal) and value == value.to_integral_value() and abs(value) < Decimal(10) ** 30:
            return int(value)  # 1250.0 and 1.25e3 are whole numbers of JSON
        raise _mismatch("a whole number")
    return value


def _read_flag(value: Any, _: list[Problem]) -> bool:
    if value.__class__ is not bool:
        raise _mismatch("true or false")
    return value


def _read_number(value: Any, _: list[Problem]) -> Any:
    if value.__class__ is not int and value.__class__ is not Decimal:
        raise _mismatch("a number")
    return value


def _read_decimal(value: Any, _: list[Problem]) -> Decimal:
    if value.__class__ is int:
        return Decimal(value)
    if value.__class__ is not Decimal:
        raise _mismatch("a number")
    return value


_DECIMAL = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def _read_decimal_text(value: Any, marks: list[Problem]) -> Any:
    if value.__class__ is str:
        if len(value) <= 400 and _DECIMAL.fullmatch(value):
            return Decimal(value)  # the pattern admits decimals alone
        marks.append(Problem("", "decimal", "is not a decimal number; it is kept as text"))
        return value
    if value.__class__ is int or value.__class__ is Decimal:
        marks.append(Problem("", "type", "came as a number, not as text"))
        return Decimal(value)
    raise _mismatch("a decimal number as text")


_UNIX = re.compile(r"[0-9]{9,13}")


def read_moment(value: Any, marks: list[Problem]) -> Any:
    """Read a time as aware UTC: ISO 8601, or unix seconds or milliseconds as text. Text that is neither stays text."""
    if value.__class__ is int or value.__class__ is Decimal:
        marks.append(Problem("", "date-time", "came as a number; it is read as unix seconds"))
        value = str(int(value))
    if value.__class__ is not str:
        raise _mismatch("a date-time text")
    try:
        if value.isdigit() and _UNIX.fullmatch(value):
            return datetime.fromtimestamp(int(value) / (1000 if len(value) > 11 else 1), UTC)
        moment = datetime.fromisoformat(value)
    except (ValueError, OverflowError):
        return _odd_moment(value, marks)
    if moment.tzinfo is UTC:
        return moment
    if moment.tzinfo is None:
        marks.append(Problem("", "date-time", "has no zone; UTC is assumed"))
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return _odd_moment(value, marks)


_LEAP = re.compile(r"(.*T[0-9]{2}:[0-9]{2}):60(?:\.[0-9]+)?(.*)")
_MIDNIGHT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T24:00(?::00(?:\.0+)?)?(.*)")


def _odd_moment(value: str, marks: list[Problem]) -> Any:
    for pattern, mend, later in ((_LEAP, r"\1:59\2", timedelta(0)), (_MIDNIGHT, r"\1T00:00:00\2", timedelta(days=1))):
        if pattern.fullmatch(value):
            try:
                moment = datetime.fromisoformat(pattern.sub(mend, value)) + later
                moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
            except (ValueError, OverflowError):
                break
            marks.append(Problem("", "date-time", "is not a time of the clock; the nearest one is taken"))
            return moment
    marks.append(Problem("", "date-time", "is not a time that can be read; it is kept as text"))
    return value


def write_moment(value: datetime) -> str:
    """Write a time as ISO 8601 in UTC with milliseconds and `Z`, or with microseconds where it has them."""
    utc = value.astimezone(UTC).replace(tzinfo=None)
    return utc.isoformat(timespec="microseconds" if utc.microsecond % 1000 else "milliseconds") + "Z"


def _read_loose(value: Any, _: list[Problem]) -> Any:
    return value


def _read_day(value: Any, _: list[Problem]) -> Any:
    if value.__class__ is not str:
        raise _mismatch("a date text")
    try:
        return date.fromisoformat(value) if ISO_DAY.fullmatch(value) else value
    except ValueError:
        return value


def _reader_of_choice(kind: Choice) -> Reader:
    known: dict[Any, Any] = {one.value: one for one in kind.of}

    def read(value: Any, _: list[Problem]) -> Any:
        if value.__class__ is not str:
            raise _mismatch("text")
        found = known.get(value)
        if found is not None:
            return found
        try:
            return kind.of(value)  # an enum that reads any casing
        except ValueError:
            return value

    return read


class Converter:
    """Reads and writes records with the wire names of a profile.

    One instance holds the functions made for each record; get it from `converter()`.
    """

    def __init__(self, names: Names, *, canonical: bool = False) -> None:
        self.names = dict(names)
        self.canonical = (
            canonical  # reads what `strict_json.canonical` gave, and refuses what only the long way may read
        )
        self._sooner: Converter | None = None
        self.cattrs = cattrs.Converter()
        for scalar, read in _SCALARS:
            self.cattrs.register_structure_hook(scalar, _hook(read))
        self.cattrs.register_structure_hook_factory(is_record, self._structure)
        self.cattrs.register_unstructure_hook_factory(is_record, self._unstructure)
        self._readers: dict[type[Any], Reader] = {}
        self._writers: dict[tuple[type[Any], bool], Callable[[Any], dict[str, Any]]] = {}

    def wire_name(self, cls: type[Any], one: Member) -> str:
        """Return the wire name of a member."""
        return self.names.get(f"{snake(cls.__name__)}.{one.name}", one.wire) if self.names else one.wire

    # reading answers

    def read(self, cls: type[Any], raw: Any) -> Any:
        """Read a wire object as an answer.

        Raises:
            Unreadable: A value has another type than the agreed one.
        """
        try:
            return self.reader(cls)(raw, [])
        except Mismatch:
            pass
        raise Unreadable(tuple(self._all_mismatches(cls, raw, ""))) from None

    def reader(self, cls: type[Any]) -> Reader:
        """Return the function that reads one record; made once."""
        made = self._readers.get(cls)
        if made is None:
            made = self._readers[cls] = _compile_reader(self, cls)
        return made

    def reader_of(self, kind: Kind, member: Member) -> Reader:
        """Return the reader of a kind.

        Raises:
            TypeError: No reader is known for the kind.
        """
        match kind:
            case Nested(of=cls):
                return self.reader(cls)
            case Array(of=inner):
                return _reader_of_many(self.reader_of(inner, member))
            case Choice():
                return _reader_of_choice(kind)
            case DecimalNumber(text=True):
                return _read_decimal_text
            case DecimalNumber() | Numeric() | Untyped() if self.canonical:
                return _read_canonical[type(kind)]
            case DecimalNumber():
                return _read_decimal
        for known, read in _READERS:
            if isinstance(kind, known):
                return read
        raise TypeError(f"no reader is known for {kind}")

    def _all_mismatches(self, cls: type[Any], raw: Any, prefix: str) -> list[Problem]:
        if not isinstance(raw, Mapping):
            return [Problem(prefix.rstrip("."), "type", "must be an object")]
        found: list[Problem] = []
        for one in members(cls):
            wire = self.wire_name(cls, one)
            value = raw.get(wire)
            if value is None:
                continue
            found += self._mismatches(one.kind, one, value, prefix + wire)
        return found

    def _mismatches(self, kind: Kind, one: Member, value: Any, path: str) -> list[Problem]:
        if isinstance(kind, Nested):
            return self._all_mismatches(kind.of, value, f"{path}.")
        if isinstance(kind, Array) and isinstance(value, list):
            return [p for i, item in enumerate(value) for p in self._mismatches(kind.of, one, item, f"{path}[{i}]")]
        try:
            self.reader_of(kind, one)(value, [])
        except Mismatch as mismatch:
            return [Problem(path, mismatch.problem.rule, mismatch.problem.message)]
        return []

    def read_answer(self, operation: Operation[..., Any], raw: Any) -> Any:
        """Read the wire body of an operation's answer; no body gives an empty record, or no records.

        Raises:
            Unreadable: It is not of the agreed shape.
        """
        if operation.many:
            if raw is None:
                return []
            if not isinstance(raw, list):
                raise Unreadable((Problem("", "type", "must be a list"),))
            cls = operation.answer
            try:
                read = self.reader(cls)
                return [read(item, []) for item in raw]
            except Mismatch:
                pass
            raise Unreadable(
                tuple(p for i, item in enumerate(raw) for p in self._all_mismatches(cls, item, f"[{i}]."))
            ) from None
        return self.read(operation.answer, {} if raw is None else raw)

    def read_body(self, operation: Operation[..., Any], body: bytes) -> Any:
        """Read the bytes of an operation's answer, as `read_answer(operation, strict_json.loads(body))` does, but sooner.

        Raises:
            NotJson: See `strict_json.loads`.
            Unreadable: It is not of the agreed shape.
        """
        raw = strict_json.canonical(body)
        if raw is not None:
            if self._sooner is None:
                self._sooner = Converter(self.names, canonical=True)
            read = self._sooner.reader(operation.answer)
            try:
                return [read(one, []) for one in raw] if operation.many else read(raw, [])
            except (Mismatch, TypeError):
                pass  # unknown members, odd shapes: the long way says what they are
        return self.read_answer(operation, strict_json.loads(body))

    def read_event(self, raw: Any) -> Event:
        """Read a webhook event; the body becomes a record where the kind is known and the body fits it.

        Raises:
            Unreadable: The envelope is not of the agreed shape.
        """
        event: Event = self.read(Event, raw)
        kind = EVENT_KINDS.get(f"{event.resource}.{event.action}")
        if kind is None or not isinstance(event.body, Mapping):
            return event
        try:
            object.__setattr__(event, "body", self.reader(kind.body)(event.body, []))
        except Mismatch:
            problems = self._all_mismatches(kind.body, event.body, "body.")
            object.__setattr__(event, "marks", (*event.marks, *problems))
        return event

    # writing

    def write(self, record: Any) -> dict[str, Any]:
        """Write a record as a wire object: what is None or FULL is left out, `extra` is put back."""
        return self._write(record, True)

    def _write(self, record: Any, extras: bool) -> dict[str, Any]:
        key = type(record), extras
        made = self._writers.get(key)
        if made is None:
            made = self._writers[key] = self._writer(*key)
        return made(record)

    def write_request(self, operation: Operation[..., Any], request: Any) -> tuple[dict[str, str], dict[str, Any]]:
        """Write a request as the members of its path, and those of its query or body.

        An address taken from an answer is sent without its `extra`: nothing goes out that the interface does not name.
        """
        body = self._write(request, False)
        path = {name: body.pop(name) for name in placeholders(operation.path) if name in body}
        return path, body

    def _writer(self, cls: type[Any], extras: bool) -> Callable[[Any], dict[str, Any]]:
        plan = tuple(
            (one.name, self.wire_name(cls, one), self._writer_of(one.kind, extras), one.default == ())
            for one in members(cls)
        )
        puts_back = extras and issubclass(cls, Answer)

        def write(record: Any) -> dict[str, Any]:
            made = {}
            for name, wire, out, may_be_empty in plan:
                value = getattr(record, name)
                if value is None or value is FULL or (may_be_empty and value == ()):
                    continue
                made[wire] = value if out is None or type(value) is str else out(value)
            if puts_back and record.extra:
                made.update(record.extra)
            return made

        return write

    def _writer_of(self, kind: Kind, extras: bool) -> Callable[[Any], Any] | None:
        match kind:
            case Nested() | Untyped():
                return lambda value: self._write(value, extras) if is_record(value) else value
            case Array(of=inner):
                write = self._writer_of(inner, extras)
                return lambda value: [item if write is None else write(item) for item in value]
            case DateTime():
                return lambda value: write_moment(value) if isinstance(value, datetime) else value
            case Date():
                return lambda value: value.isoformat() if isinstance(value, date) else value
            case DecimalNumber(text=True):
                return lambda value: format(value, "f") if isinstance(value, Decimal) else value
            case Choice():
                return lambda value: str(value) if isinstance(value, str) else value
        return None

    # reading requests

    def read_request(
        self,
        operation: Operation[..., Any],
        body: Any,
        path: Mapping[str, str] = NOTHING_MORE,
        *,
        from_query: bool = False,
    ) -> tuple[Any, tuple[Problem, ...], tuple[str, ...]]:
        """Read wire members as the request of an operation.

        Args:
            body: The wire object; for operations with a query, its members as text where `from_query`.
            path: The members of the path, by wire name.

        Returns:
            The request (its members may break rules; see `checks.problems`), the problems of its types, and the paths
            of members that the interface does not know, which are left out.
        """
        problems: list[Problem] = []
        unknown: list[str] = []
        if not isinstance(body, Mapping):
            return None, (Problem("", "type", "must be an object"),), ()
        in_path = placeholders(operation.path)
        whole = {**{name: value for name, value in body.items() if name not in in_path}, **path}
        unknown += [str(name) for name in body if name in in_path and name not in path]
        request = self._request(operation.request, whole, "", problems, unknown, from_query)
        return request, tuple(problems), tuple(unknown)

    def _request(
        self,
        cls: type[Any],
        raw: Mapping[str, Any],
        prefix: str,
        problems: list[Problem],
        unknown: list[str],
        text: bool,
    ) -> Any:
        made = object.__new__(cls)
        put = object.__setattr__
        if issubclass(cls, Answer):
            put(made, "extra", NOTHING_MORE)
            put(made, "marks", ())
        known = 0
        for one in members(cls):
            wire = self.wire_name(cls, one)
            value = raw.get(wire, _MISSING)
            if value is _MISSING:
                put(made, one.name, _absent(one, text))
                continue
            known += 1
            path = prefix + wire
            if value is None:
                problems.append(Problem(path, "type", "must not be null"))
            elif isinstance(one.kind, Nested):
                if isinstance(value, Mapping):
                    value = self._request(one.kind.of, value, f"{path}.", problems, unknown, text)
                else:
                    problems.append(Problem(path, "type", "must be an object"))
                    value = None
            elif text and isinstance(one.kind, Integer | Boolean):
                value = _from_text(one.kind, value)
            elif isinstance(one.kind, Date):
                value = _read_day(value, []) if isinstance(value, str) else value
            elif isinstance(one.kind, Integer) and isinstance(value, Decimal) and value == value.to_integral_value():
                value = int(value) if abs(value) < Decimal(10) ** 30 else value
            elif isinstance(one.kind, Choice) and isinstance(value, str) and value in frozenset(one.kind.of):
                value = one.kind.of(value)
            put(made, one.name, value)
        if known < len(raw):
            converter = {self.wire_name(cls, one) for one in members(cls)}
            unknown += [prefix + str(name) for name in raw if name not in converter]
        return made

    # for cattrs, so that a converter of one's own takes our records

    def _structure(self, cls: type[Any], *_: Any) -> Callable[[Any, Any], Any]:
        return lambda raw, __: self.read(cls, raw)

    def _unstructure(self, cls: type[Any], *_: Any) -> Callable[[Any], dict[str, Any]]:
        return self.write


def _hook(read: Reader) -> Callable[[Any, Any], Any]:
    def structure(value: Any, _: Any) -> Any:
        try:
            return read(value, [])
        except Mismatch as mismatch:
            problem = mismatch.problem
        raise Unreadable((problem,)) from None

    return structure


def _canonical_decimal(value: Any, _: list[Problem]) -> Decimal:
    return Decimal(repr(value)) if value.__class__ is float else _read_decimal(value, _)


def _canonical_number(value: Any, _: list[Problem]) -> Any:
    return Decimal(repr(value)) if value.__class__ is float else _read_number(value, _)


def _not_canonical(_: Any, __: list[Problem]) -> Any:
    raise _mismatch("read the long way")


_read_canonical: Mapping[type[Kind], Reader] = {
    DecimalNumber: _canonical_decimal, Numeric: _canonical_number, Untyped: _not_canonical,
}  # fmt: skip

_SCALARS: tuple[tuple[Any, Reader], ...] = (
    (str, _read_text),
    (int, _read_whole),
    (bool, _read_flag),
    (Decimal, _read_decimal),
    (datetime, read_moment),
)

_READERS: tuple[tuple[type[Kind], Reader], ...] = (
    (Text, _read_text),
    (Integer, _read_whole),
    (Boolean, _read_flag),
    (Numeric, _read_number),
    (DateTime, read_moment),
    (Date, _read_day),
    (Untyped, _read_loose),
)


def _absent(one: Member, in_query: bool) -> Any:
    """Return what leaving a member out of a request means to the service: all of it, and cents."""
    if isinstance(one.kind, Integer) and one.kind.full:
        return FULL
    if isinstance(one.kind, Boolean) and one.required and in_query:
        return False  # assumed: see the behavior `withdrawal_unit_default`
    return None if one.default is attrs.NOTHING else one.default


def _from_text(kind: Kind, value: Any) -> Any:
    if isinstance(kind, Boolean):
        return {"true": True, "false": False}.get(value, value)
    return int(value) if re.fullmatch(r"-?[0-9]{1,400}", value) else value


def _reader_of_many(read: Reader) -> Reader:
    def read_many(value: Any, marks: list[Problem]) -> tuple[Any, ...]:
        if value.__class__ is not list:
            raise _mismatch("a list")
        return tuple([read(item, marks) for item in value])

    return read_many


_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@cache
def placeholders(path: str) -> tuple[str, ...]:
    """Return the names in braces of a path template."""
    return tuple(_PLACEHOLDER.findall(path))


def _compile_reader(converter: Converter, cls: type[Any]) -> Reader:
    """Make the function that reads one record: straight-line code with each member named once, as attrs does."""
    space: dict[str, Any] = {
        "new": object.__new__, "cls": cls, "thawed": _thawed(cls), "none": NOTHING_MORE, "Mapping": Mapping, "Wire": JsonObject, "bad": _mismatch,
        "marked": _marked, "surplus": _surplus, "refuse": _not_canonical,
    }  # fmt: skip
    fields = members(cls)
    plans = [(f"_{i}", one, converter.wire_name(cls, one)) for i, one in enumerate(fields)]
    wary = any(isinstance(one.kind, _MARKING) for one in fields)
    lines = [
        "def read(raw, marks):",
        f"    if raw.__class__ is not {'dict' if converter.canonical else 'Wire'} and not isinstance(raw, Mapping): raise bad('an object')",
        "    made = new(thawed)",
        "    get = raw.get",
        *(["    odd = []"] if wary else []),
    ]
    for i, one, wire in plans:
        space[f"read{i}"] = converter.reader_of(one.kind, one)
        lines.append(f"    value = get({wire!r})")
        lines += [f"    {line}" for line in _reading(i, one, wire, space)]
        lines.append(f"    made.{one.name} = value")
    if issubclass(cls, Answer):
        space["wires"] = named = frozenset(wire for _, _, wire in plans)
        space["covers"] = named.issuperset
        lines += [
            f"    made.extra = none if covers(raw) else {'refuse(raw, None)' if converter.canonical else 'surplus(raw, wires)'}",
            f"    made.marks = {'tuple(odd) if odd else ()' if wary else '()'}",
        ]
    lines += ["    made.__class__ = cls", "    return made"]
    exec(compile("\n".join(lines), f"<reader of {cls.__name__}>", "exec"), space)  # noqa: S102 - our own text, made from the declarations
    made: Reader = space["read"]
    return made


def _thawed(cls: type[Any]) -> type[Any]:
    """Return a class of the same layout whose instances can be written to, until they are given their real class.

    A plain store costs half of a call of the slot's `__set__`, and a record has up to twenty members.
    """
    return type(cls.__name__, cls.__bases__, {"__slots__": cls.__dict__["__slots__"]})


_MARKING = DateTime | DecimalNumber  # what can be odd and is read all the same
_PLAIN = {Text: ("str", "text"), Boolean: ("bool", "true or false")}


def _reading(i: str, one: Member, wire: str, space: dict[str, Any]) -> list[str]:
    """Return the lines that turn the wire value of one member, None where it is absent, into what the record holds."""
    plain = _PLAIN.get(type(one.kind))
    if plain is not None:
        lines = [f"if value.__class__ is not {plain[0]} and value is not None: raise bad({plain[1]!r})"]
    elif isinstance(one.kind, Choice):
        space[f"known{i}"] = {known.value: known for known in one.kind.of}
        lines = [
            f"if value is not None: value = value.__class__ is str and known{i}.get(value) or read{i}(value, None)"
        ]
    elif isinstance(one.kind, _MARKING):
        lines = [
            "if value is not None:",
            "    before = len(odd)",
            f"    value = read{i}(value, odd)",
            f"    if len(odd) != before: marked(odd, before, {wire!r})",
        ]
    else:
        lines = [f"if value is not None: value = read{i}(value, None)"]
    if (one.default is not attrs.NOTHING and one.default is not None) or isinstance(one.kind, Array):
        space[f"default{i}"] = () if one.default is attrs.NOTHING else one.default
        lines += [f"if value is None: value = default{i}"]
    return lines


def _marked(odd: list[Problem], start: int, wire: str) -> None:
    odd[start:] = [Problem(wire, mark.rule, mark.message) for mark in odd[start:]]


def _surplus(raw: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name not in known}


_NO_NAMES: Names = {}
_MADE: dict[frozenset[tuple[str, str]], Converter] = {}


def converter(names: Names = _NO_NAMES) -> Converter:
    """Return the converter for wire names; the same names give the same one."""
    key = frozenset(names.items())
    made = _MADE.get(key)
    if made is None:
        made = _MADE[key] = Converter(names)
    return made
