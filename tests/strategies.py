"""Strategies for requests with exactly one broken rule."""

from collections.abc import Iterator
from typing import Any

import attrs
from hypothesis import strategies as st

from tests.record_strategies import ANY_TEXT as ANY_TEXT
from tests.record_strategies import JSON as JSON
from tests.record_strategies import answers as answers
from tests.record_strategies import arguments
from tests.record_strategies import requests as requests
from workbench.base.schema.fields import Rule
from workbench.base.schema.walk import (
    Boolean,
    Choice,
    Date,
    Integer,
    Member,
    Nested,
    Text,
    members,
)
from workbench.service.interface.table import Operation

# records with one broken rule


@attrs.frozen(kw_only=True)
class Break:
    """A way to break one rule: the member, the reported rule, and the wrong value (`...`: the member is missing)."""

    at: tuple[str, ...]
    wire: str
    rule: str
    value: Any

    def __str__(self) -> str:
        kind = f"-{type(self.value).__name__}" if self.rule == "type" else ""
        return f"{self.wire}-{self.rule}{kind}"


def breaks(cls: type[Any], at: tuple[str, ...] = (), wire: str = "") -> Iterator[Break]:
    """Yield every rule of a request that the value of a single member can break."""
    for one in members(cls):
        where, path = (*at, one.name), wire + one.wire
        for rule, value in _broken(one):
            yield Break(at=where, wire=path, rule=rule, value=value)
        if isinstance(one.kind, Nested):
            yield from breaks(one.kind.of, where, f"{path}.")


def _broken(one: Member) -> Iterator[tuple[str, Any]]:
    rule = one.about.rule
    if one.required:
        yield "required", ...
    match one.kind:
        case Text():
            yield "type", 5
            yield from _broken_text(rule)
        case Integer():
            yield "type", "10"
            yield "type", 10.99
            if rule.minimum is not None:
                yield "minimum", rule.minimum - 1
            if rule.maximum is not None:
                yield "maximum", rule.maximum + 1
        case Boolean():
            yield "type", "yes"
        case Choice():
            yield "enum", "brandNew"
        case Date():
            yield "date", "01/02/1990"
        case Nested():
            yield "type", "text"


def _broken_text(rule: Rule) -> Iterator[tuple[str, Any]]:
    if rule.max_length is not None:
        yield "max_length", "1" * (rule.max_length + 1)
    if rule.min_length:
        yield "min_length", "1" * (rule.min_length - 1)
    if rule.pattern is not None:
        yield "pattern", "x"
    if rule.format in {"uuid", "email", "ip"}:
        yield rule.format, "x"
    if (
        rule.pattern is None
        and rule.format not in {"uuid", "email", "ip", "password"}
        and rule.min_length in {None, 0, 1}
    ):
        yield "text", "a\0"


def broken(operation: Operation[..., Any], how: Break) -> st.SearchStrategy[Any]:
    """Return arguments of an operation that satisfy every rule except one."""

    def broke(given: dict[str, Any], at: tuple[str, ...]) -> dict[str, Any]:
        name, *rest = at
        if rest:
            return {**given, name: broke(given[name], tuple(rest))}
        kept = {key: value for key, value in given.items() if key != name}
        return kept if how.value is ... else {**kept, name: how.value}

    return arguments(operation.request, having=how.at[0]).flatmap(
        lambda given: _with_inner(operation.request, given, how.at).map(lambda whole: broke(whole, how.at))
    )


def _with_inner(cls: type[Any], given: dict[str, Any], at: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw the nested record that contains the member to break, so that the member exists."""
    if len(at) == 1:
        return st.just(given)
    inner = next(one for one in members(cls) if one.name == at[0]).kind
    assert isinstance(inner, Nested)
    return arguments(inner.of, having=at[1]).flatmap(
        lambda part: _with_inner(inner.of, part, at[1:]).map(lambda drawn: {**given, at[0]: drawn})
    )
