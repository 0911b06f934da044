"""Reflection on records: members and their kinds, construction of records from values, and dotted paths."""

import types
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import attrs

from workbench.base.frozen import frozen
from workbench.base.schema.fields import ABOUT, RECORD, About, Reason
from workbench.base.schema.rules import CrossRule, Full


@frozen
class Kind:
    """Kind of a member's values. Each subclass is one kind.

    Attributes:
        of: Enum of a `Choice`, record of a `Nested`, or kind of the items of an `Array`.
        full: Whether `FULL` omits an `Integer`.
        text: Whether a number is sent as text instead of a JSON number.
    """

    of: Any = None
    full: bool = False
    text: bool = False


class Text(Kind):
    """A `str`."""


class Integer(Kind):
    """An `int`."""


class Boolean(Kind):
    """A `bool`."""


class DecimalNumber(Kind):
    """A `Decimal`."""


class Numeric(Kind):
    """An `int` or a `Decimal`, depending on the JSON number."""


class DateTime(Kind):
    """An aware `datetime` in UTC."""


class Date(Kind):
    """A `date`, or its ISO text."""


class Choice(Kind):
    """A member of an enum. In an answer, the value may also be unknown text."""


class Nested(Kind):
    """Another record."""


class Array(Kind):
    """A tuple of values of one kind."""


class Untyped(Kind):
    """Any JSON value."""


@frozen(kw_only=True)
class Member:
    """One field of a record, with names, metadata and kind."""

    name: str
    wire: str
    about: About
    kind: Kind
    default: Any  # attrs.NOTHING if the member is required

    @property
    def required(self) -> bool:
        """Whether a request must contain the member."""
        return self.default is attrs.NOTHING


def camel(name: str) -> str:
    """Return the wire name of an attribute: `new_amount` becomes `newAmount`."""
    head, *rest = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def snake(name: str) -> str:
    """Return the attribute or operation name of a class or wire name: `SimulateRefund` becomes `simulate_refund`."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def is_record(value: object) -> bool:
    """Return whether a class, or the class of a value, was declared with `record`."""
    return RECORD in (value if isinstance(value, type) else type(value)).__dict__


_SCALARS: Mapping[frozenset[Any], Kind] = {
    frozenset((str,)): Text(), frozenset((bool,)): Boolean(), frozenset((datetime,)): DateTime(),
    frozenset((Any,)): Untyped(), frozenset((int, Full)): Integer(full=True), frozenset((int, Decimal)): Numeric(),
    frozenset((date, str)): Date(),
}  # fmt: skip
"""Kinds of scalar members, by the classes in the annotation."""


def _kind(hint: Any, about: About, where: str) -> Kind:
    union, as_text = get_origin(hint) in (Union, types.UnionType), about.rule.format == "decimal"
    first, *others = [argument for argument in get_args(hint) if argument is not types.NoneType] if union else [hint]
    if get_origin(first) is tuple:
        return Array(_kind(get_args(first)[0], about, where))
    if is_record(first):
        return Nested(first) if [get_origin(other) for other in others] in ([], [Mapping]) else Untyped()
    if (others == [str] or [get_origin(other) for other in others] == [Literal]) and issubclass(first, StrEnum):
        return Choice(first)
    if not others and first in (int, Decimal):
        return Integer(text=as_text) if first is int else DecimalNumber(text=as_text)
    if frozenset((first, *others)) not in _SCALARS:
        raise TypeError(f"{where}: unsupported type for {hint}")
    return _SCALARS[frozenset((first, *others))]


_MEMBERS: dict[type[Any], tuple[Member, ...]] = {}


def members(cls: type[Any]) -> tuple[Member, ...]:
    """Return the members of a record that a caller can set, in order of declaration.

    Raises:
        TypeError: A field has no `about`, or an unsupported type.
    """
    if cls not in _MEMBERS:
        _MEMBERS[cls] = tuple(_resolved(cls))
    return _MEMBERS[cls]


def _resolved(cls: type[Any]) -> Iterator[Member]:
    hints = get_type_hints(cls)
    everything: Reason | None = getattr(cls, "assumed", None)
    for field in attrs.fields(cls):
        where = f"{cls.__name__}.{field.name}"
        if ABOUT not in field.metadata:
            raise TypeError(f"{where} is not declared by about()")
        about: About = field.metadata[ABOUT]
        if everything and not about.assumed:
            about = attrs.evolve(about, assumed=everything)
        if field.init:
            kind, wire = _kind(hints[field.name], about, where), about.wire or camel(field.name)
            yield Member(name=field.name, wire=wire, about=about, kind=kind, default=field.default)


def member(cls: type[Any], name: str) -> Member:
    """Return one member of a record by its attribute name."""
    declared = next((member for member in members(cls) if member.name == name), None)
    if declared is None:
        raise KeyError(f"{cls.__name__} has no member {name}")
    return declared


def cross_rules(cls: type[Any]) -> tuple[CrossRule, ...]:
    """Return the rules over several members of a record."""
    rules: tuple[CrossRule, ...] = getattr(cls, "rules", ())
    return rules


def record_of(kind: Kind) -> type[Any] | None:
    """Return the record class of a kind, for one record or a list; None for scalars."""
    while isinstance(kind, Array):
        kind = kind.of
    return kind.of if isinstance(kind, Nested) else None


def leaves(cls: type[Any], prefix: str = "") -> Iterator[tuple[str, Member]]:
    """Yield each member of a record with its dotted attribute path, at any depth, parents before their members."""
    for member in members(cls):
        inner = record_of(member.kind)
        yield prefix + member.name, member
        if inner is not None:
            yield from leaves(inner, f"{prefix}{member.name}.")


def wire_path(cls: type[Any], path: str) -> str:
    """Return the wire path of a dotted attribute path of a record."""
    name, _, rest = path.partition(".")
    field = member(cls, name)
    return f"{field.wire}.{wire_path(record_of(field.kind) or cls, rest)}" if rest else field.wire


def records(cls: type[Any]) -> Iterator[type[Any]]:
    """Yield a record class and every record class nested in it, without duplicates."""
    nested = (inner for _, leaf in leaves(cls) if (inner := record_of(leaf.kind)) is not None)
    yield from dict.fromkeys((cls, *nested))


def values(record: object, prefix: str = "") -> Iterator[tuple[str, Member, Any, Any]]:
    """Yield each scalar of a record, as wire path, member, value and the record that contains it."""
    for member in members(type(record)):
        value, path = getattr(record, member.name), prefix + member.wire
        for number, item in enumerate(value) if isinstance(value, list | tuple) else ((None, value),):
            full_path = path if number is None else f"{path}[{number}]"
            if is_record(item):
                yield from values(item, f"{full_path}.")
            elif item is not None:
                yield full_path, member, item, record


def get_path(x: object, path: str) -> Any:
    """Return the value at a dotted path, such as `body.amount` or `tokens.0.balance`; None for a missing path.

    Args:
        x: A record, a mapping or a list, nested to any depth.
        path: Attribute or wire names, and list positions from 0.
    """
    for name in path.split("."):
        if isinstance(x, Mapping):
            x = next((x[key] for key in (name, camel(name), snake(name)) if key in x), None)
        elif isinstance(x, list | tuple):
            x = x[int(name)] if name.isdecimal() and int(name) < len(x) else None
        elif is_record(x):
            extra = getattr(x, "extra", None) if name == "extra" else None
            x = next(
                (getattr(x, member.name) for member in members(type(x)) if name in (member.name, member.wire)), extra
            )
        else:
            return None
    return x


def given(record: object) -> dict[str, Any]:
    """Return the members of a record other than None, by attribute name. Nested records stay records."""
    return {
        member.name: value for member in members(type(record)) if (value := getattr(record, member.name)) is not None
    }


def change(record: Any, **changes: object) -> Any:
    """Return a copy of a record with some members changed."""
    return attrs.evolve(record, **changes)


def build(
    cls: type[Any], values: Mapping[str, Any], unknown: "list[UnknownMember] | None" = None, prefix: str = ""
) -> Any:
    """Build a record from a mapping of attribute names, including nested mappings. Missing members become None.

    Integers of other libraries become `int`. Only names are checked here; `checks.problems` checks values.

    Args:
        unknown: List that collects an error for each record with unknown names, which are then ignored. With None,
            the first error is raised.
        prefix: Path of the record, with a trailing dot.

    Raises:
        UnknownMember: A name is not an attribute of the record, at any depth.
    """
    fields = members(cls)
    if strange := values.keys() - {field.name for field in fields}:
        error = UnknownMember(cls, tuple(name for name in values if name in strange), prefix)
        if unknown is None:
            raise error
        unknown.append(error)
    return cls(
        **{
            field.name: _converted(field.kind, value, unknown, prefix + field.name)
            for field in fields
            if (value := values.get(field.name)) is not None or field.required
        }
    )


def _converted(kind: Kind, value: object, unknown: "list[UnknownMember] | None", path: str) -> Any:
    if isinstance(kind, Nested) and isinstance(value, Mapping):
        return build(kind.of, value, unknown, f"{path}.")
    if isinstance(kind, Array) and isinstance(value, list | tuple):
        return tuple(_converted(kind.of, item, unknown, f"{path}[{index}]") for index, item in enumerate(value))
    if isinstance(kind, Integer | Numeric) and hasattr(value, "__index__") and not isinstance(value, int):
        return int(value.__index__())  # the value is an integer of another library
    if isinstance(kind, Boolean) and type(value).__module__ == "numpy":
        return bool(value) if type(value).__name__ in {"bool_", "bool"} else value
    return value


class UnknownMember(ValueError):
    """Names that are not members of a record. The names come from the caller. The error contains no values."""

    def __init__(self, of: type[Any], names: tuple[Any, ...], prefix: str = "") -> None:
        self.of, self.names, self.prefix = of, names, prefix
        super().__init__(f"{of.__name__} has no member {', '.join(str(name) for name in names)}")


def described(member: Member) -> str:
    """Return a one-line description of a member: meaning, unit, rule, and whether it is required or assumed."""
    assumed = f"assumed: {member.about.assumed}" if member.about.assumed else ""
    return "; ".join(filter(None, (*_facts(member), "required" if member.required else "", assumed))) + "."


def option_help(member: Member, parent: Member | None) -> str:
    """Return the help of an option: meaning, rule, and whether it is required or assumed.

    Args:
        parent: Object that contains the member, or None for a member of the request.
    """
    required = "[required]" if member.required else ""
    if required and parent is not None and not parent.required:
        required = f"[required if {parent.name.replace('_', ' ')} is given]"
    assumed = "[assumed]" if member.about.assumed else ""
    return " ".join(filter(None, ("; ".join(filter(None, _facts(member))) + ".", required, assumed)))


def value_name(member: Member) -> str:
    """Return the placeholder of a member's value in help: UUID, CENTS, DATE, INT and the like."""
    kind, rule = member.kind, member.about.rule
    if isinstance(kind, Array):
        return f"{value_name(attrs.evolve(member, kind=kind.of))}..."
    if isinstance(kind, Integer):
        return ("CENTS" if rule.unit == "cents" else "INT") + ("|FULL" if kind.full else "")
    by_kind = {Boolean: "true|false", Choice: "CHOICE", Date: "DATE", DateTime: "TIME", DecimalNumber: "DECIMAL"}
    by_format = {"uuid": "UUID", "email": "EMAIL", "decimal": "DECIMAL", "date": "DATE", "date-time": "TIME"}
    if name := by_kind.get(type(kind)) or by_format.get(rule.format or ""):
        return name
    return "ADDRESS" if " address" in (rule.says or "") else "TEXT"


def _facts(member: Member) -> tuple[str, str]:
    return member.about.doc, rule_words(member)


def rule_words(member: Member) -> str:
    """Return the rule of a member as text, unit first; empty for a member without a rule."""
    rule, kind = member.about.rule, member.kind
    limits = [f"in {rule.unit}" if rule.unit else ""]
    if isinstance(kind, Integer):
        limits.append("whole number or FULL" if kind.full else "whole number")
    if isinstance(kind, Choice):
        limits.append(("one of " if len(kind.of) > 1 else "only ") + ", ".join(kind.of))
    limits.append(rule.says or (f"matches {rule.pattern}" if rule.pattern else ""))
    limits += [_span(rule.minimum, rule.maximum, ""), _span(rule.min_length, rule.max_length, " characters")]
    if not rule.says:
        limits.append({"uuid": "a UUID", "date": "a date, YYYY-MM-DD"}.get(rule.format or "", ""))
    return ", ".join(filter(None, limits))


def _span(low: int | None, high: int | None, unit: str) -> str:
    if low is not None and high is not None:
        return f"{low} to {high:,}{unit}" if low != high else f"exactly {low}{unit}"
    if low is not None:
        return f"at least {low}{unit.removesuffix('s') if low == 1 else unit}"
    return f"at most {high:,}{unit}" if high is not None else ""


def flat(value: object, path: str = "", *, items: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a record or mapping with their dotted paths. Lists are leaves.

    Args:
        items: Whether the items of a list of mappings or lists have paths too, such as `tokens[0].balance`.
    """
    if is_record(value) and not isinstance(value, type):
        value = given(value)
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from flat(inner, f"{path}.{name}" if path else str(name), items=items)
    elif items and isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        for number, inner in enumerate(value):
            yield from flat(inner, f"{path}[{number}]", items=True)
    else:
        yield path, value
