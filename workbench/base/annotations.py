"""What the annotation of an argument allows: one reader for functions, controls of the sandbox, and options.

The annotation is a type, and with `Annotated` a `Between`, a `Fits`, or the allowed values.
"""

import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any

import attrs

from workbench.base.errors import Problem, not_allowed


@attrs.frozen
class Between:
    """Minimum and maximum of a number."""

    low: float
    high: float
    unit: str = ""


@attrs.frozen
class Fits:
    """Any other rule: a function of the value, and the rule as text."""

    test: Callable[[Any], object]
    says: str


def limits_of(hint: object) -> tuple[Any, Any]:
    """Return the type of an annotation and the limits of its values."""
    return typing.get_args(hint)[:2] if typing.get_origin(hint) is Annotated else (hint, None)


def kinds_of(declared: object) -> tuple[Any, ...]:
    """Return the types of which an annotation allows any."""
    is_union = typing.get_origin(declared) in (typing.Union, UnionType)
    return typing.get_args(declared) if is_union else (declared,)


def argument_problem(name: str, value: object, hint: object) -> Problem | None:
    """Return the problem of an argument, if its annotation does not allow the value."""
    declared, limit = limits_of(hint)
    if value is None and NoneType in kinds_of(declared):
        return None
    if isinstance(limit, Fits):
        return None if limit.test(value) else Problem(name, "type", limit.says)
    literals = [part for part in kinds_of(declared) if typing.get_origin(part) is typing.Literal]
    choices = [*typing.get_args(literals[0])] if literals else [] if isinstance(limit, Between) else [*(limit or ())]
    fits = _fits(value, declared)
    if limit is not None and choices:
        fits = fits and value in choices
    if fits and isinstance(limit, Between):
        fits = isinstance(value, int | float) and limit.low <= value <= limit.high
    if fits:
        return None
    if choices and isinstance(value, str):
        return not_allowed(name, value, choices)
    if isinstance(limit, Between):
        unit = f" of {limit.unit}" if limit.unit else ""
        return Problem(name, "type", f"must be {_named(declared)}{unit} from {limit.low:,} to {limit.high:,}")
    item = ", or an item has another type" if items_of(value) else ""
    return Problem(name, "type", f"must be {_named(declared)}, not {a_type(value)}{item}")


def _fits(value: object, hint: object) -> bool:
    """Return whether a value matches an annotation, with the items of a list, tuple or set."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _fits(value, typing.get_args(hint)[0])
    if origin in (typing.Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is typing.Literal:
        return isinstance(value, str | int | None) and value in typing.get_args(hint)
    kind = origin or (type(None) if hint is None else hint)
    if kind is Any:
        return True
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is tuple and parts and parts[-1] is not ...:
        return isinstance(value, tuple) and len(value) == len(parts) and all(map(_fits, value, parts))
    if kind in (Sequence, Iterable, Collection):
        return (
            isinstance(value, kind) and not isinstance(value, str) and all(_fits(x, parts[0]) for x in items_of(value))
        )
    return isinstance(value, kind) if isinstance(kind, type) and not getattr(kind, "_is_protocol", False) else True


def items_of(value: object) -> Iterable[object]:
    """Return the items of a container that can be read twice; of anything else none."""
    return value if isinstance(value, list | tuple | dict | set | frozenset | bytes) else ()


_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "None",
    datetime: "a datetime",
    Mapping: "a mapping",
    Iterable: "an iterable",
    Sequence: "a list",
    Collection: "a collection",
    Callable: "a function",
}


def _named(hint: object) -> str:
    """Return the types that an annotation allows, as text."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _named(parts[0])
    if origin in (typing.Union, UnionType):
        return " or ".join(dict.fromkeys(_named(part) for part in parts if part is not type(None)))
    if origin is typing.Literal:
        return " or ".join(repr(part) for part in parts)
    kind = origin or hint
    return _NAMES.get(kind) or f"a {getattr(kind, '__name__', str(kind))}"


def a_type(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
