"""Conversion between records and wire values, with a cattrs converter whose hooks are generated from the declarations.

Answers are structured tolerantly. A member may be missing, unknown, null or outside its rule, and only a value of the
wrong type makes an answer unreadable. Requests are structured strictly. Null values and undocumented members are
problems.
"""

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from functools import cache, lru_cache, partial
from typing import Any, TypeVar, get_args

import cattrs

from workbench.base.errors import MAX_PROBLEMS, InvalidRequest, Problem, first_problems, visible
from workbench.base.schema import checks, strict_json, walk
from workbench.base.schema.fields import Answer
from workbench.base.schema.readers import (
    READERS,
    REPAIRED,
    Reader,
    Unusual,
    array_reader,
    choice_reader,
    mismatch,
    write_time,
)
from workbench.base.schema.readers import Unreadable as Unreadable
from workbench.base.schema.readers import read_time as read_time
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import Kind, Member, is_record, members, snake
from workbench.service.interface.events import EVENT_KINDS, Event
from workbench.service.interface.table import Operation

T = TypeVar("T")
MAX_BODY = 4_000_000
"""Maximum size of a request file in bytes."""
Hook = Callable[..., Any]
"""Function that takes a value and a class, and structures the value as the class."""
Names = Mapping[str, str]
"""Wire names that differ from the declared names, by key such as `simulate_authorization.decline_reason`."""


class Converter(cattrs.Converter):
    """A `cattrs.Converter` for records, with the wire names of a profile. `converter()` returns an instance.

    `structure(raw, cls)` reads wire members as a record, and `unstructure(record)` writes a record as wire members.
    Types composed of records and standard types work too, such as `structure(raw, list[User])`. Members use the hook of
    their type. A hook from `register_structure_hook(Decimal, …)` therefore reads the decimals of all records.
    """

    def __init__(self, names: Names) -> None:
        super().__init__()
        self.names = dict(names)
        self._ours: set[Any] = set()  # hooks that this converter registered; all others are the user's
        for cls, kind in _SCALARS.items():
            self.register_structure_hook(cls, self._our(partial(_read_scalar, kind)))
        self.register_structure_hook_factory(is_record, self._record_hook)
        self.register_structure_hook_factory(lambda cls: getattr(cls, "__origin__", None) is list, self._list_hook)
        self.register_unstructure_hook_factory(is_record, lambda cls: self._writer(cls, extra=issubclass(cls, Answer)))
        self.register_unstructure_hook(datetime, write_time)
        self.register_unstructure_hook(date, date.isoformat)
        self.register_unstructure_hook(StrEnum, str)

    def wire_name(self, cls: type[Any], member: Member) -> str:
        """Return the wire name of a member."""
        return self.names.get(f"{snake(cls.__name__)}.{member.name}", member.wire) if self.names else member.wire

    def structure(self, obj: object, cl: type[T]) -> T:
        """Return wire members as a record, or as any type composed of records and standard types.

        Raises:
            Unreadable: A value has the wrong type. `problems` lists the first hundred problems.
        """
        try:
            return super().structure(obj, cl)
        except (Unreadable, cattrs.BaseValidationError) as error:
            problems = first_problems(_problems(error, ""))
        # raised outside the handler, since the frames of the caught error contain the values
        raise Unreadable(problems) from None

    # reading

    def _our(self, hook: Hook) -> Hook:
        self._ours.add(hook)
        return hook

    def _record_hook(self, cls: type[Any]) -> Hook:
        read = self._reader(cls, strict=not issubclass(cls, Answer))
        return self._our(read if cls is not Event else lambda raw, _: self._with_body(read(raw)))

    def _list_hook(self, cls: object) -> Callable[[Any, Any], list[Any]]:
        (inner,) = get_args(cls)
        hook = self.get_structure_hook(inner)
        read = array_reader(lambda value: hook(value, inner))
        return lambda raw, _: [*read(raw)]

    def _reader(self, cls: type[Any], strict: bool) -> Reader:
        """Return a function that reads an object as a record.

        Args:
            strict: Whether to read a request: report nulls and unknown members as problems, and keep values of the
                wrong type so that their rule reports them. Otherwise nulls count as missing, `extra` has the unknown
                members, and `marks` lists unusual values.
        """
        fields = []
        for member in members(cls):
            kind, absent = member.kind, None if member.required else member.default
            if strict and kind == walk.Integer(full=True):
                absent = FULL
            elif not strict and isinstance(kind, walk.Array):
                absent = ()
            # keep a value of the wrong type, so that its rule reports it
            stays = strict and not isinstance(kind, walk.Nested)
            usual, read_value = self._value_reader(kind, strict)
            # the default `()` would hide that the list is missing
            missed = not strict and isinstance(kind, walk.Array) and member.about.needed
            fields.append(
                (
                    getattr(cls, member.name).__set__,
                    self.wire_name(cls, member),
                    usual,
                    read_value,
                    stays,
                    missed,
                    absent,
                )
            )
        known = frozenset(wire for _, wire, *_ in fields)
        is_answer = issubclass(cls, Answer)  # such a record may also occur in a request, as an address does
        new, put_extra, put_marks = object.__new__, vars(Answer)["extra"].__set__, vars(Answer)["marks"].__set__

        def read(raw: object, _: object = None) -> Any:
            if not isinstance(raw, (dict, Mapping)):
                raise mismatch("must be an object")
            record = new(cls)  # filling the slots directly takes half the time of the constructor
            problems: list[Problem] = []
            marks: list[Problem] = []
            get = raw.get
            for fill, wire, usual, read_value, stays, missed, absent in fields:
                value = get(wire)
                if value.__class__ is usual:
                    fill(record, value)
                    continue
                if value is None:
                    value = absent
                    if strict and wire in raw:
                        # a null member is a problem. assumed: null_members
                        problems.append(Problem(wire, "type", "must not be null"))
                    if missed:
                        marks.append(Problem(wire, "required", "is missing"))
                else:
                    if value.__class__ is strict_json.Repaired:
                        marks.append(Problem(wire, *REPAIRED))
                        value = str(value)
                    try:
                        value = read_value(value)
                        if value.__class__ is Unusual:
                            marks.append(Problem(wire, value.rule, value.message))
                            value = value.value
                    except Unreadable as error:
                        if not stays:
                            problems += error.inside(wire)
                            value = absent if error.partial is None else error.partial
                fill(record, value)
            extra = {} if known.issuperset(raw) else {name: raw[name] for name in raw if name not in known}
            if is_answer:
                cut = [name for name, value in extra.items() if value.__class__ is strict_json.Repaired]
                marks += (Problem(name, *REPAIRED) for name in cut)
                put_extra(record, {} if strict else extra)
                put_marks(record, () if strict else tuple(marks))
            if strict:
                problems += (Problem(str(name), "unknown", "is not a member") for name in extra)
            if problems:
                raise Unreadable(tuple(problems), record if strict else None)
            return record

        return read

    def _value_reader(self, kind: Kind, strict: bool) -> tuple[type[Any] | None, Reader]:
        """Return the class of values that need no conversion, and the hook that reads all other values of the type."""
        match kind:
            case walk.Array(of=inner):
                return None, array_reader(self._value_reader(inner, strict)[1])
            case walk.Nested(of=cls) | walk.Choice(of=cls):
                hook: Hook = self.get_structure_hook(cls)
            case _:
                cls = _TYPES.get(type(kind), Any)
                hook = self.get_structure_hook(cls)
        if cls is not Any and hook not in self._ours:
            return None, _users_reader(hook, cls)
        if isinstance(kind, walk.Nested):
            return None, self._reader(cls, strict) if strict else hook
        return _USUAL.get(type(kind)), choice_reader(cls) if isinstance(kind, walk.Choice) else READERS[kind]

    def _with_body(self, event: Event) -> Event:
        """Return the event, with its body as a record if the kind is known and the body can be read."""
        kind = EVENT_KINDS.get(f"{event.resource}.{event.action}")
        if kind is not None and isinstance(event.body, Mapping):
            body: Any = event.body
            try:
                object.__setattr__(event, "body", self.structure(body, kind.body))
            except Unreadable as error:
                object.__setattr__(event, "marks", (*event.marks, *error.inside("body")))
                with suppress(Unreadable):  # if some members are unreadable, the readable members still become a record
                    paths = [problem.path for problem in error.problems]
                    readable = _without_odd(body, paths, partial(self._is_readable, cls=kind.body))
                    object.__setattr__(event, "body", self.structure(readable, kind.body))
        return event

    def _is_readable(self, body: object, cls: type[Any]) -> bool:
        try:
            self.structure(body, cls)
        except Unreadable:
            return False
        return True

    def read_answer(self, operation: Operation[..., Any], raw: Any) -> Any:
        """Return the wire body of an operation's answer as records. A missing body gives an empty record or list.

        Raises:
            Unreadable: The body has an unexpected structure, or none of the documented members.
        """
        if raw is None:
            return self.structure([] if operation.many else {}, operation.returns)
        answer = self.structure(raw, operation.returns)
        cls = operation.answer
        known = [member for member in members(cls) if not member.about.assumed]
        for place, item in enumerate(raw if operation.many else [raw]):
            if known and all(item.get(self.wire_name(cls, name)) is None for name in known):
                names = ", ".join(self.wire_name(cls, name) for name in known)
                text = f"has none of the members that the document names: {names}"
                raise Unreadable((Problem(f"[{place}]" if operation.many else "", "required", text),))
        return answer

    # writing

    def _writer(self, cls: type[Any], extra: bool) -> Callable[[Any], dict[str, Any]]:
        """Return a function that writes a record, with or without the unknown members of answers."""
        fields = [
            (member.name, self.wire_name(cls, member), self.kind_writer(member.kind, extra), member.default)
            for member in members(cls)
        ]

        def write(record: Any) -> dict[str, Any]:
            written: dict[str, Any] = {}
            for name, wire, write_value, default in fields:
                value = getattr(record, name)
                if value is None or value is FULL or (value == () and default == ()):
                    continue
                written[wire] = write_value(value) if write_value else value
            return {**written, **record.extra} if extra and record.extra else written

        return write

    def kind_writer(self, kind: Kind, extra: bool) -> Callable[[Any], Any] | None:
        """Return a function that writes a value of a kind, or None if values are written unchanged."""
        match kind:
            case walk.Nested(of=cls):
                write_record = self._writer(cls, extra)
                return lambda value: write_record(value) if is_record(value) else value
            case walk.Untyped():
                return lambda value: self.unstructure(value) if is_record(value) else value
            case walk.Array(of=inner):
                write = self.kind_writer(inner, extra)
                return lambda value: [*map(write, value)] if write else [*value]
            case walk.DecimalNumber(text=True):
                return lambda value: format(value, "f") if isinstance(value, Decimal) else value
            case walk.Integer(text=True):
                return str
            case walk.Text() | walk.Integer() | walk.Boolean() | walk.Numeric() | walk.DecimalNumber():
                return None
        return self.unstructure

    # requests

    def write_request(self, operation: Operation[..., Any], request: object) -> tuple[dict[str, str], dict[str, Any]]:
        """Return the path parameters of a request, and the members of its query or body.

        Only documented members are sent. An address from an answer is sent without its `extra`.
        """
        return written(operation, checks.survey(request, self))

    def read_request(
        self,
        operation: Operation[..., Any],
        body: object,
        path: Mapping[str, str] | None = None,
        *,
        from_query: bool = False,
    ) -> tuple[Any, tuple[Problem, ...], tuple[str, ...]]:
        """Read wire members as the request of an operation, as a service does.

        Args:
            body: The wire object. With `from_query`, members are strings from the query.
            path: The path parameters by wire name.

        Returns:
            The request, the type problems, and the paths of undocumented members. Members with a type problem and
            undocumented members are omitted from the request. Other members may break rules (see `checks.problems`).
        """
        if not isinstance(body, Mapping):
            return None, (Problem("", "type", "the body must be an object"),), ()
        path = path or {}
        in_path = [name for name in placeholders(operation.path) if name in body and name not in path]
        raw = {name: value for name, value in body.items() if name not in in_path} | dict(path)
        if from_query:
            raw = self._from_query(operation.request, raw)
        problems: tuple[Problem, ...] = ()
        try:
            request = super().structure(raw, operation.request)
        except Unreadable as error:
            request, problems = error.partial, error.problems
        unknown = [problem.path for problem in problems if problem.rule == "unknown"] + in_path
        return (
            request,
            first_problems(problem for problem in problems if problem.rule != "unknown"),
            tuple(unknown[:MAX_PROBLEMS]),
        )

    def read_file(self, operation: Operation[..., Any], data: bytes, name: str) -> tuple[Any, Mapping[str, Any]]:
        """Return the request from a JSON file, and the wire members that the file contains.

        Args:
            name: Name of the file, for messages.

        Raises:
            InvalidRequest: The file is not JSON, has undocumented members, or has members of the wrong type.
        """
        try:
            raw = strict_json.loads(data)
        except strict_json.NotJson as error:
            raise InvalidRequest(
                f"{visible(name, 200)} is not JSON: {str(error).removeprefix('not JSON: ')}", of=operation.name
            ) from None
        in_path = placeholders(operation.path)
        path = {member: raw[member] for member in in_path if isinstance(raw, Mapping) and member in raw}
        request, problems, unknown = self.read_request(operation, raw, path)
        undocumented = [member for member in unknown if member not in in_path]
        problems += tuple(
            Problem(visible(member, 100), "unknown", "is not a member of this operation") for member in undocumented
        )
        if problems:
            raise InvalidRequest(problems, of=operation.name)
        return request, raw

    def _from_query(self, cls: type[Any], raw: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the strings of a query to JSON values. An unreadable string is unchanged, so a rule reports it."""
        parsed = dict(raw)
        for member in members(cls):
            wire = self.wire_name(cls, member)
            text = parsed.get(wire)
            if isinstance(member.kind, walk.Boolean) and text in ("true", "false"):
                parsed[wire] = text == "true"
            elif (
                isinstance(member.kind, walk.Integer)
                and isinstance(text, str)
                and re.fullmatch(r"-?[0-9]{1,400}", text)
            ):
                parsed[wire] = int(text)
            elif text is None and member.required and member.about.otherwise is not None:
                parsed[wire] = member.about.otherwise  # assumed: withdrawal_unit_default
        return parsed


def _without_odd(body: Mapping[str, Any], paths: Iterable[str], is_readable: Callable[[Any], bool]) -> Any:
    """Return a copy of an object in which the unreadable members at some paths are converted, or else removed.

    A number becomes text. Text that spells an integer, true or false becomes this value.

    Args:
        is_readable: Function that returns whether the object can be read after a member was converted.
    """
    body, removed = copy.deepcopy(dict(body)), []
    for path in paths:
        *parents, name = path.split(".")
        inside: object = body
        for parent in parents:
            inside = inside.get(parent) if isinstance(inside, dict) else None
        if isinstance(inside, dict) and name in inside:
            removed.append((inside, name, inside.pop(name)))
    for inside, name, value in removed:
        meant: object = str(value) if type(value) is int else None
        if isinstance(value, str):
            is_whole = re.fullmatch(r"-?[0-9]{1,18}", value)
            meant = int(value) if is_whole else {"true": True, "false": False}.get(value.lower())
        if meant is not None:
            inside[name] = meant
            if not is_readable(body):
                del inside[name]
    return body


def _problems(error: BaseException, path: str) -> Iterator[Problem]:
    """Yield the problems that a workbench or cattrs error reports, each with its wire path."""
    if isinstance(error, Unreadable):
        yield from error.inside(path)
    elif isinstance(error, cattrs.BaseValidationError):
        for inner in error.exceptions:
            for note in getattr(inner, "__notes__", ("",)):
                place = f"[{note.index}]" if hasattr(note, "index") else getattr(note, "name", "")
                yield from _problems(inner, f"{path}.{place}" if path and place[:1] not in ("", "[") else path + place)
    else:
        raise error


_USUAL: Mapping[type[Kind], type[Any]] = {
    walk.Text: str,
    walk.Integer: int,
    walk.Boolean: bool,
    walk.Untyped: strict_json.JsonObject,
}
"""Class of each kind's usual values, which need no conversion."""
_SCALARS: Mapping[Any, Kind] = {
    str: walk.Text(), int: walk.Integer(), bool: walk.Boolean(), Decimal: walk.DecimalNumber(text=False),
    datetime: walk.DateTime(), date: walk.Date(),
}  # fmt: skip


_TYPES: Mapping[type[Kind], type[Any]] = {type(kind): cls for cls, kind in _SCALARS.items()}
"""Type whose registered hook reads the values of a kind."""


def _users_reader(hook: Hook, cls: type[Any]) -> Reader:
    """Return a reader that uses a hook registered by the user. An error of the hook makes the value unreadable."""

    def read(value: object) -> Any:
        try:
            return hook(value, cls)
        except (ValueError, TypeError, LookupError, ArithmeticError, cattrs.BaseValidationError) as error:
            raise mismatch(f"was rejected by the hook for {cls.__name__} ({type(error).__name__})") from None

    return read


def _read_scalar(kind: Kind, value: object, _: object) -> Any:
    read = READERS[kind](value)
    return read.value if isinstance(read, Unusual) else read


def written(operation: Operation[..., Any], seen: checks.Survey) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the path parameters of a surveyed request, and the members of its query or body."""
    body = dict(seen.body)
    path = {name: body.pop(name) for name in placeholders(operation.path) if name in body}
    return path, body


@cache
def placeholders(path: str) -> tuple[str, ...]:
    """Return the parameter names of a path template."""
    return tuple(re.findall(r"\{(\w+)\}", path))


@lru_cache(maxsize=64)
def _converter(names: frozenset[tuple[str, str]]) -> Converter:
    return Converter(dict(names))


def converter(names: Names | None = None) -> Converter:
    """Return the converter for wire names. Equal wire names share one converter."""
    return _converter(frozenset((names or {}).items()))
