"""Between records and the wire: a cattrs converter with hooks for our records, made from their declarations.

Answers are structured tolerantly: a member may be missing, unknown, null or beside its rule, and is kept; only a value of
another type than the agreed one makes an answer unreadable. Requests are structured strictly: null is not a value, and
members that the interface does not know are problems.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Set
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, TypeVar, get_args, get_origin

import attrs
import cattrs

from workbench.errors import MAX_PROBLEMS, Problem, first_problems
from workbench.interface import strict_json
from workbench.interface.events import EVENT_KINDS, Event
from workbench.interface.fields import Answer
from workbench.interface.operation import Operation
from workbench.interface.rules import FULL, ISO_DAY
from workbench.interface.text import DECIMAL, MAX_DIGITS, write_time
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
    change,
    is_record,
    members,
    snake,
)

T = TypeVar("T")
Names = Mapping[str, str]
"""Wire names that differ from the declared ones, by `record.attribute`, as `simulate_authorization.decline_reason`."""
Hook = Callable[[Any, Any], Any]

_LARGEST = Decimal(10) ** 30


class Unreadable(ValueError):
    """A wire body that cannot be read as the record; `problems` says where."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))

    def inside(self, place: str) -> Iterator[Problem]:
        """Yield the problems with their paths continued from a place, a member or `[index]`."""
        for one in self.problems:
            dot = "." if place and one.path and not one.path.startswith("[") else ""
            yield Problem(f"{place}{dot}{one.path}", one.rule, one.message)


def _mismatch(message: str) -> Unreadable:
    return Unreadable((Problem("", "type", message),))


@attrs.frozen
class _Unusual:
    """A value that was read although it is unusual; the record gets the value, and a mark."""

    value: Any
    rule: str
    message: str


class Converter(cattrs.Converter):
    """A `cattrs.Converter` that knows our records, with the wire names of a profile; get it from `converter()`.

    `structure(raw, cls)` reads wire members as a record, `unstructure(record)` writes them. What is built of records and
    standard types works too, as `structure(raw, list[User])`.
    """

    def __init__(self, names: Names) -> None:
        super().__init__()
        self.names = dict(names)
        for cls, hook in _SCALARS.items():
            self.register_structure_hook(cls, hook)
        self.register_structure_hook_factory(is_record, self._structure_hook)
        self.register_structure_hook_factory(_is_list, self._list_hook)
        self.register_unstructure_hook_factory(is_record, self._unstructure_hook)

    def wire_name(self, cls: type[Any], member: Member) -> str:
        """Return the wire name of a member."""
        return self.names.get(f"{snake(cls.__name__)}.{member.name}", member.wire) if self.names else member.wire

    def structure(self, obj: Any, cl: type[T]) -> T:
        """Return wire members as a record, or as anything made of records and standard types.

        Raises:
            Unreadable: A value has another type than the agreed one; `problems` names the first hundred of them.
        """
        try:
            return self._structure(obj, cl)
        except Unreadable as error:
            problems = first_problems(error.problems)
        raise Unreadable(problems) from None

    def _structure(self, obj: Any, cl: type[T]) -> T:
        """Structure as `structure` does, and name every problem."""
        try:
            return super().structure(obj, cl)
        except (Unreadable, cattrs.BaseValidationError) as error:
            problems = tuple(_problems(error, ""))
        raise Unreadable(problems) from None  # out of the handler: the frames of the error hold the values

    # reading

    def _structure_hook(self, cls: type[Any]) -> Hook:
        hook = self._record_hook(cls, strict=not issubclass(cls, Answer))
        return self._event_hook(hook) if cls is Event else hook

    def _record_hook(self, cls: type[Any], strict: bool) -> Hook:
        """Return the hook that reads an object as a record.

        Args:
            strict: Name nulls and unknown members as problems, as in a request; else take nulls for missing members,
                keep unknown members in `extra`, and name what is unusual in `marks`.
        """
        fields = [self._field(cls, one, strict) for one in members(cls)]
        known = frozenset(wire for _, wire, *_ in fields)
        unread = [(getattr(cls, one.name).__set__, one.default) for one in attrs.fields(cls) if not one.init]
        new, put = object.__new__, object.__setattr__

        def read(raw: Any, _: Any) -> Any:
            if not isinstance(raw, (dict, Mapping)):
                raise _mismatch("must be an object")
            record = new(cls)  # filled through its slots: half the time of its constructor
            problems: tuple[Problem, ...] = ()
            marks: tuple[Problem, ...] = ()
            get = raw.get
            for fill, wire, usual, hook, absent in fields:
                value = get(wire)
                if value.__class__ is usual:
                    fill(record, value)
                elif value is None:
                    fill(record, absent)
                    if strict and wire in raw:
                        problems += (Problem(wire, "type", "must not be null"),)
                else:
                    try:
                        value = hook(value, None)
                    except Unreadable as error:
                        problems += tuple(error.inside(wire))
                    if value.__class__ is _Unusual:
                        marks += (Problem(wire, value.rule, value.message),)
                        value = value.value
                    fill(record, value)
            for fill, default in unread:
                fill(record, default)
            if not known.issuperset(raw):
                extra = {name: raw[name] for name in raw if name not in known}
                if strict:
                    problems += tuple(Problem(str(name), "unknown", "is not a member") for name in extra)
                else:
                    put(record, "extra", extra)
            if problems:
                raise Unreadable(problems)
            if marks:
                put(record, "marks", marks)
            return record

        return read

    def _field(self, cls: type[Any], one: Member, strict: bool) -> tuple[Any, str, type[Any] | None, Hook, Any]:
        """Return how a member is read: its slot, its wire name, the class kept as it is, the hook, and what absent is."""
        kind = one.kind
        absent = None if one.required else one.default
        if strict and isinstance(kind, Integer) and kind.full:
            absent = FULL
        elif not strict and isinstance(kind, Array):
            absent = ()
        hook = self._request_kind_hook(kind) if strict else self._kind_hook(kind)
        return getattr(cls, one.name).__set__, self.wire_name(cls, one), _USUAL.get(type(kind)), hook, absent

    def _kind_hook(self, kind: Kind) -> Hook:
        """Return the hook that reads a value of a kind in an answer.

        Raises:
            TypeError: No hook is known for the kind.
        """
        match kind:
            case Nested(of=cls):
                return self.get_structure_hook(cls)
            case Array(of=inner):
                return _array_hook(self._kind_hook(inner))
            case Choice(of=words):
                return _choice_hook(words)
            case DecimalNumber(text=True):
                return _read_decimal_text
        if type(kind) not in _HOOKS:
            raise TypeError(f"no hook is known for {kind}")
        return _HOOKS[type(kind)]

    def _list_hook(self, cls: Any) -> Hook:
        inner = get_args(cls)[0]
        hook = self.get_structure_hook(inner)
        read_all = _array_hook(lambda value, _: hook(value, inner))
        return lambda value, _: list(read_all(value, cls))

    def _event_hook(self, structure: Hook) -> Hook:
        """Return the hook of events: the body becomes a record where the kind is known and the body fits it."""

        def read(raw: Any, cls: Any) -> Event:
            event: Event = structure(raw, cls)
            kind = EVENT_KINDS.get(f"{event.resource}.{event.action}")
            if kind is not None and isinstance(event.body, Mapping):
                try:
                    object.__setattr__(event, "body", self.structure(event.body, kind.body))
                except Unreadable as error:
                    marks = (Problem(f"body.{one.path}", one.rule, one.message) for one in error.problems)
                    object.__setattr__(event, "marks", (*event.marks, *marks))
            return event

        return read

    def read_answer(self, operation: Operation[..., Any], raw: Any) -> Any:
        """Return the wire body of an operation's answer as its records; no body gives an empty record, or no records.

        Raises:
            Unreadable: It is not of the agreed shape.
        """
        if not operation.many:
            return self.structure({} if raw is None else raw, operation.answer)
        if raw is not None and not isinstance(raw, list):
            raise Unreadable((Problem("", "type", "must be a list"),))
        return self.structure(raw or [], operation.returns)

    def read_body(self, operation: Operation[..., Any], body: bytes) -> Any:
        """Return the bytes of an operation's answer as its records.

        Raises:
            NotJson: See `strict_json.loads`.
            Unreadable: It is not of the agreed shape.
        """
        return self.read_answer(operation, strict_json.loads(body))

    # writing

    def _unstructure_hook(self, cls: type[Any]) -> Callable[[Any], dict[str, Any]]:
        fields = [(one.name, self.wire_name(cls, one), self._write_hook(one.kind)) for one in members(cls)]
        optional_arrays = {one.name for one in members(cls) if isinstance(one.kind, Array) and one.default == ()}

        def write(record: Any) -> dict[str, Any]:
            made: dict[str, Any] = {}
            for name, wire, hook in fields:
                value = getattr(record, name)
                if value is None or value is FULL or (value == () and name in optional_arrays):
                    continue
                made[wire] = hook(value) if hook else value
            extra = getattr(record, "extra", None)
            return {**made, **extra} if extra else made

        return write

    def _write_hook(self, kind: Kind) -> Callable[[Any], Any] | None:
        """Return the hook that writes a value of a kind; None where it is written as it is."""
        match kind:
            case Nested() | Untyped():
                return lambda value: self.unstructure(value) if is_record(value) else value
            case Array(of=inner):
                write = self._write_hook(inner)
                return lambda value: [*map(write, value)] if write else [*value]
            case DateTime():
                return lambda value: write_time(value) if isinstance(value, datetime) else value
            case Date():
                return lambda value: value.isoformat() if isinstance(value, date) else value
            case DecimalNumber(text=True):
                return lambda value: format(value, "f") if isinstance(value, Decimal) else value
            case Choice():
                return lambda value: str(value) if isinstance(value, str) else value
        return None

    def write_request(self, operation: Operation[..., Any], request: Any) -> tuple[dict[str, str], dict[str, Any]]:
        """Return a request as the members of its path, and those of its query or body.

        An address taken from an answer is sent without its `extra`: only what the interface names is sent.
        """
        body = self.unstructure(_without_extra(request))
        path = {name: body.pop(name) for name in placeholders(operation.path) if name in body}
        return path, body

    # requests

    def read_request(
        self,
        operation: Operation[..., Any],
        body: Any,
        path: Mapping[str, str] | None = None,
        *,
        from_query: bool = False,
    ) -> tuple[Any, tuple[Problem, ...], tuple[str, ...]]:
        """Return wire members as the request of an operation, as a service does.

        Args:
            body: The wire object; for operations with a query, its members as text where `from_query`.
            path: The members of the path, by wire name.

        Returns:
            The request (its members may break rules; see `checks.problems`), the problems of its types, and the paths
            of members that the interface does not know; both kinds are left out of the request.
        """
        if not isinstance(body, Mapping):
            return None, (Problem("", "type", "must be an object"),), ()
        path = path or {}
        in_path = set(placeholders(operation.path))
        raw = {**{name: value for name, value in body.items() if name not in in_path}, **path}
        if from_query:
            raw = self._from_query(operation.request, raw)
        problems: tuple[Problem, ...] = ()
        try:
            request = self._structure(raw, operation.request)
        except Unreadable as error:
            problems = error.problems
            raw = _without(raw, {problem.path for problem in problems})
            request = self._structure(raw, operation.request)
        unknown = [problem.path for problem in problems if problem.rule == "unknown"]
        unknown += [str(name) for name in body if name in in_path and name not in path]
        return request, first_problems(one for one in problems if one.rule != "unknown"), tuple(unknown[:MAX_PROBLEMS])

    def _from_query(self, cls: type[Any], raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the texts of a query as JSON values; text that is none stays, and breaks a rule."""
        made = dict(raw)
        for one in members(cls):
            wire = self.wire_name(cls, one)
            text = made.get(wire)
            if isinstance(one.kind, Boolean):
                if text in ("true", "false"):
                    made[wire] = text == "true"
                elif one.required and wire not in made:
                    made[wire] = False  # assumed: see the behavior `withdrawal_unit_default`
            elif isinstance(one.kind, Integer) and isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,400}", text):
                made[wire] = int(text)
        return made

    def _request_kind_hook(self, kind: Kind) -> Hook:
        """Return the hook that reads a value in a request; one of another type stays, and breaks a rule."""
        match kind:
            case Nested(of=cls):
                return self._record_hook(cls, strict=True)
            case Integer():
                return lambda value, _: int(value) if isinstance(value, Decimal) and _is_whole(value) else value
            case Date():
                return lambda value, _: _read_date(value, _) if isinstance(value, str) else value
            case Choice(of=words):
                known = {one.value: one for one in words}
                return lambda value, _: known.get(value, value) if isinstance(value, str) else value
        return _as_it_is


def _problems(error: BaseException, path: str) -> Iterator[Problem]:
    """Yield the problems of an error of our hooks or of cattrs, each with its wire path."""
    if isinstance(error, Unreadable):
        yield from error.inside(path)
    elif isinstance(error, cattrs.IterableValidationError):
        for inner, place in error.group_exceptions()[0]:
            yield from _problems(inner, f"{path}[{place.index}]")
    elif isinstance(error, cattrs.ClassValidationError):
        with_notes, without = error.group_exceptions()
        for inner, note in with_notes:
            yield from _problems(inner, f"{path}.{note.name}" if path else note.name)
        for inner in without:
            yield from _problems(inner, path)
    else:
        raise error


def _is_list(cls: Any) -> bool:
    origin: Any = get_origin(cls)
    return origin is list


def _without_extra(record: Any) -> Any:
    """Return a record without the unknown members of the answers in it."""
    inner = [(one.name, getattr(record, one.name)) for one in members(type(record))]
    nested = {name: _without_extra(value) for name, value in inner if is_record(value)}
    return change(record, **nested) if nested or isinstance(record, Answer) else record


def _without(raw: Mapping[str, Any], paths: Set[str], prefix: str = "") -> dict[str, Any]:
    """Return wire members without those at some paths, in one pass. Records in requests are few levels deep."""
    deep = prefix.count(".") >= 8
    return {
        name: value if deep or not isinstance(value, Mapping) else _without(value, paths, f"{prefix}{name}.")
        for name, value in raw.items()
        if f"{prefix}{name}" not in paths
    }


# hooks of single values


def _as_it_is(value: Any, _: Any = None) -> Any:
    return value


def _read_text(value: Any, _: Any) -> Any:
    if value.__class__ is str or value is None:
        return value
    raise _mismatch("must be text")


def _read_boolean(value: Any, _: Any) -> Any:
    if value.__class__ is bool or value is None:
        return value
    raise _mismatch("must be true or false")


def _is_whole(value: Decimal) -> bool:
    return value == value.to_integral_value() and abs(value) < _LARGEST


def _read_integer(value: Any, _: Any) -> int:
    if value.__class__ is int:
        return value
    if isinstance(value, Decimal) and _is_whole(value):
        return int(value)  # 1250.0 and 1.25e3 are whole numbers of JSON
    raise _mismatch("must be a whole number")


def _read_number(value: Any, _: Any) -> Any:
    if value.__class__ is int or value.__class__ is Decimal:
        return value
    raise _mismatch("must be a number")


def _read_decimal(value: Any, _: Any) -> Decimal:
    return Decimal(_read_number(value, _))


def _read_decimal_text(value: Any, _: Any) -> Any:
    if value.__class__ is str:
        if len(value) <= MAX_DIGITS and DECIMAL.fullmatch(value):
            return Decimal(value)
        return _Unusual(value, "decimal", "is not a decimal number; it is kept as text")
    if value.__class__ is int or value.__class__ is Decimal:
        return _Unusual(Decimal(value), "type", "came as a number, not as text")
    raise _mismatch("must be a decimal number as text")


def _read_date(value: Any, _: Any) -> Any:
    if value.__class__ is not str:
        raise _mismatch("must be a date text")
    try:
        return date.fromisoformat(value) if ISO_DAY.fullmatch(value) else value
    except ValueError:
        return value


_UNIX = re.compile(r"[0-9]{9,13}")
_LEAP_SECOND = re.compile(r"(.*T[0-9]{2}:[0-9]{2}):60(?:\.[0-9]+)?(.*)")
_MIDNIGHT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T24:00(?::00(?:\.0+)?)?(.*)")


def _read_time(value: Any, _: Any) -> Any:
    """Read a time as aware UTC: ISO 8601, or unix seconds or milliseconds. Text that is neither stays text."""
    if value.__class__ is int or value.__class__ is Decimal:
        read = _read_time(str(int(value)), _)
        return _Unusual(
            read.value if isinstance(read, _Unusual) else read,
            "date-time",
            "came as a number; it is read as unix seconds",
        )
    if value.__class__ is not str:
        raise _mismatch("must be a date-time text")
    try:
        if value.isdigit() and _UNIX.fullmatch(value):
            return datetime.fromtimestamp(int(value) / (1000 if len(value) > 11 else 1), UTC)
        time = datetime.fromisoformat(value)
        if time.tzinfo is None:
            return _Unusual(time.replace(tzinfo=UTC), "date-time", "has no zone; UTC is assumed")
        return time if time.tzinfo is UTC else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return _read_unusual_time(value)


def _read_unusual_time(value: str) -> _Unusual:
    for pattern, usual, later in (
        (_LEAP_SECOND, r"\1:59\2", timedelta(0)),
        (_MIDNIGHT, r"\1T00:00:00\2", timedelta(days=1)),
    ):
        if pattern.fullmatch(value):
            try:
                time = datetime.fromisoformat(pattern.sub(usual, value)) + later
                time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
            except (ValueError, OverflowError):
                break
            return _Unusual(time, "date-time", "does not exist on a clock; the nearest time is used")
    return _Unusual(value, "date-time", "is not a time that can be read; it is kept as text")


def read_time(value: Any) -> tuple[Any, Problem | None]:
    """Return a wire time as aware UTC, or as it is where it cannot be read, and what is unusual about it."""
    read = _read_time(value, None)
    return (read.value, Problem("", read.rule, read.message)) if isinstance(read, _Unusual) else (read, None)


def _choice_hook(words: type[Any]) -> Hook:
    known: dict[Any, Any] = {one.value: one for one in words}

    def read(value: Any, _: Any) -> Any:
        if value.__class__ is not str:
            raise _mismatch("must be text")
        if value not in known:
            try:
                return words(value)  # an enum that reads any casing
            except ValueError:
                return value
        return known[value]

    return read


def _array_hook(read: Hook) -> Hook:
    def read_all(value: Any, _: Any) -> tuple[Any, ...]:
        if value.__class__ is not list:
            raise _mismatch("must be a list")
        items: list[Any] = []
        problems: list[Problem] = []
        for place, item in enumerate(value):
            try:
                items.append(read(item, None))
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


_HOOKS: Mapping[type[Kind], Hook] = {
    Text: _read_text, Integer: _read_integer, Boolean: _read_boolean, Numeric: _read_number, DecimalNumber: _read_decimal,
    DateTime: _read_time, Date: _read_date, Untyped: _as_it_is,
}  # fmt: skip
_USUAL: Mapping[type[Kind], type[Any]] = {Text: str, Integer: int, Boolean: bool}
"""The class that a value of a kind usually has; such a value is kept as it is."""
_SCALARS: Mapping[Any, Hook] = {
    str: _read_text, int: _read_integer, bool: _read_boolean, Decimal: _read_decimal,
    datetime: lambda value, _: read_time(value)[0], date: _read_date,
}  # fmt: skip


@cache
def placeholders(path: str) -> tuple[str, ...]:
    """Return the names in braces of a path template."""
    return tuple(re.findall(r"\{(\w+)\}", path))


@lru_cache(maxsize=64)
def _converter(names: frozenset[tuple[str, str]]) -> Converter:
    return Converter(dict(names))


def converter(names: Names | None = None) -> Converter:
    """Return the converter for wire names; the same names give the same one."""
    return _converter(frozenset((names or {}).items()))
