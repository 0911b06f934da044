"""Hypothesis strategies derived from the rules of the interface: requests, answers and deliveries of events.

Strategies are cached, because creating one takes longer than drawing from it.
"""

import string
from collections.abc import Mapping
from datetime import UTC, date
from functools import cache
from typing import Any

from hypothesis import strategies as st

from workbench.base.schema import strict_json
from workbench.base.schema.fields import Rule
from workbench.base.schema.rules import FULL, OneOf, When
from workbench.base.schema.walk import (
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
    build,
    cross_rules,
    members,
)
from workbench.base.system.messages import HeaderDict
from workbench.client.webhooks.verify import SIGNATURE, Sample, read_delivery, sign
from workbench.service.interface.convert import converter
from workbench.service.interface.events import EVENT_KINDS, AnyEvent, Event, EventKind, UserUpdated
from workbench.service.interface.table import Operation

PLAIN = st.text(st.sampled_from(string.ascii_letters + string.digits + " .,-'éßøж東"), min_size=1, max_size=20)
"""Text without unusual characters, sent without a warning."""

_CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0")
ANY_TEXT = st.text(_CHARACTERS, max_size=20)
"""Any text without NUL that UTF-8 can encode."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)

_FORMATS: Mapping[str, st.SearchStrategy[str]] = {
    "uuid": st.uuids().map(str),
    "email": st.from_regex(r"[a-z]{1,10}@example\.(com|org|net)", fullmatch=True),
    "ip": st.integers(1, 254).map("203.0.113.{}".format) | st.integers(1, 0xFFFF).map("2001:db8::{:x}".format),
    "password": st.from_regex(r"9[0-9]{8}", fullmatch=True),  # no US social security number begins with 9
    "account-number": st.from_regex(r"[0-9]{6,17}", fullmatch=True),
    "phone": st.from_regex(r"55501[0-9]{2}", fullmatch=True),
}
_NAMED: Mapping[str, st.SearchStrategy[Any]] = {
    "merchant_category_code": st.from_regex(r"[0-9]{4}", fullmatch=True),
    "currency": st.just("USD"),
    "country_of_issue": st.sampled_from(("US", "DE", "JP")),
    "chain_id": st.integers(1, 2**32),
}
_MOMENTS = st.datetimes(timezones=st.just(UTC))


@cache
def texts(rule: Rule, plain: bool = True) -> st.SearchStrategy[str]:
    """Return texts that satisfy a rule."""
    if rule.format is not None and rule.format in _FORMATS:
        return _FORMATS[rule.format]
    if rule.pattern is not None:
        low, high = rule.min_length or 1, min(rule.max_length or 40, 40)
        if rule.pattern == "^[0-9]+$":
            return st.from_regex(rf"[1-9][0-9]{{{low - 1},{high - 1}}}", fullmatch=True)
        return st.from_regex(rule.pattern[1:-1], fullmatch=True)
    low, high = rule.min_length or 0, min(rule.max_length or 20, 20)
    return (
        PLAIN.map(lambda text: text.ljust(low, "x")[:high])
        if plain
        else st.text(_CHARACTERS, min_size=low, max_size=high)
    )


@cache
def values(member: Member, kind: Kind | None = None, plain: bool = True) -> st.SearchStrategy[Any]:
    """Return values of a request member that satisfy its rule; nested records as mappings of attribute names."""
    kind, rule = kind or member.kind, member.about.rule
    if plain and member.name == "currency" and rule.pattern is not None:  # currency of a payment account
        return st.just("usd")
    if plain and member.name in _NAMED:
        return _NAMED[member.name]
    match kind:
        case Text():
            return texts(rule, plain)
        case Integer(full=full):
            high = rule.maximum if rule.maximum is not None else 10**9
            numbers = st.integers(rule.minimum or 0, high)
            return numbers | st.just(FULL) if full else numbers
        case Boolean():
            return st.booleans()
        case Choice(of=words):
            return st.sampled_from(list(words))
        case Date():
            return st.dates(date(1900, 1, 1), date(2008, 1, 1))
        case Nested(of=cls):
            return arguments(cls, plain=plain)  # type: ignore[arg-type]
    raise TypeError(f"no values are declared for {member.name}: {kind}")


@cache
@st.composite
def arguments(draw: st.DrawFn, cls: type[Any], *, whole: bool = False, plain: bool = True, having: str = "") -> Any:
    """Return arguments of a request by attribute name that satisfy every rule.

    Args:
        whole: Whether to include every member that the rules allow together.
        having: Name of a member that is always included.
    """
    by_name = {member.name: member for member in members(cls)}
    chosen = {
        name: draw(values(member, plain=plain))
        for name, member in by_name.items()
        if member.required or whole or name == having or draw(st.booleans())
    }
    for rule in cross_rules(cls):
        match rule:
            case OneOf(groups=groups):
                fitting = [group for group in groups if having in group] or list(groups)
                keep = draw(st.sampled_from(fitting))
                for name in {name for group in groups for name in group}:
                    chosen.pop(name, None)
                chosen |= {name: draw(values(by_name[name], plain=plain)) for name in keep}
            case When(name=name, value=value):
                if chosen.get(name) != value:
                    continue
                for needed in rule.needs:
                    chosen.setdefault(needed, draw(values(by_name[needed], plain=plain)))
                if rule.pattern is not None and rule.pattern[0] in chosen:
                    chosen[rule.pattern[0]] = draw(_FORMATS["password"])
    return chosen


def requests(operation: Operation[..., Any], **how: object) -> st.SearchStrategy[Any]:
    """Return requests of an operation that satisfy every rule. `how` is passed to `arguments`."""
    values = arguments(operation.request, **how)  # type: ignore[arg-type]
    return values.map(lambda given: build(operation.request, given))


@cache
def _answered(member: Member, kind: Kind, missing: bool) -> st.SearchStrategy[Any]:
    match kind:
        case Text():
            return ANY_TEXT | texts(member.about.rule)
        case Integer():
            return st.integers(-(2**63), 2**256)
        case Boolean():
            return st.booleans()
        case DecimalNumber(text=text):
            return st.decimals(
                allow_nan=False, allow_infinity=False, places=8 if text else 3, min_value=-(10**6), max_value=10**6
            )
        case Numeric():
            return st.integers(0, 9) | st.decimals(0, 9, places=1)
        case DateTime():
            return _MOMENTS
        case Choice(of=words):
            return st.sampled_from(list(words)) | ANY_TEXT.map("brandNew{}".format)
        case Nested(of=cls):
            return answers(cls, missing=missing)  # type: ignore[arg-type]
        case Array(of=inner):
            return st.lists(_answered(member, inner, missing), max_size=3).map(tuple)
        case Untyped():
            return JSON.filter(lambda value: value is not None)
    raise TypeError(f"no answers are declared for {member.name}: {kind}")


@cache
@st.composite
def answers(draw: st.DrawFn, cls: type[Any], *, missing: bool = True) -> Any:
    """Return possible answers: with missing members, texts outside their patterns, and unknown enum values."""
    chosen: dict[str, Any] = {}
    for member in members(cls):
        empty = () if isinstance(member.kind, Array) else None
        absent = (missing or not member.about.needed) and draw(st.booleans())
        chosen[member.name] = empty if absent else draw(_answered(member, member.kind, missing))
    return cls(**{**chosen, **({"status": chosen.get("status") or ""} if _status_is_text(cls) else {})})


def _status_is_text(cls: type[Any]) -> bool:
    return any(member.name == "status" and member.default == "" for member in members(cls))


@st.composite
def _event_bodies(draw: st.DrawFn, row: EventKind, cls: type[Any], prefix: str, missing: bool) -> Any:
    """Return bodies of a kind of event, with the common members and optionally members that only some have."""
    chosen: dict[str, Any] = {}
    for member in members(cls):
        path = f"{prefix}{member.wire}"
        may_lack = path in row.optional or (missing and not member.about.needed)
        if path in row.never or (may_lack and draw(st.booleans())):
            continue
        if isinstance(member.kind, Nested):
            chosen[member.name] = draw(_event_bodies(row, member.kind.of, f"{path}.", missing))
        else:
            chosen[member.name] = draw(_answered(member, member.kind, missing))
    return build(cls, chosen)


@cache
@st.composite
def deliveries(draw: st.DrawFn, kind: str | None = None, *, key: str, missing: bool = False) -> Sample[AnyEvent]:
    """Return signed deliveries of events that a service may send.

    Args:
        kind: Kind of event, such as "transaction.completed"; default: any.
        key: Key that signs the deliveries.
        missing: Whether members of the body may be missing.
    """
    row = EVENT_KINDS[kind or draw(st.sampled_from(sorted(EVENT_KINDS)))]
    envelope = {
        "id": str(draw(st.uuids())),
        "resource": row.resource,
        "action": row.action,
        "version": row.version,
        "event_received_at": draw(_MOMENTS) if row.body is UserUpdated else None,
        "body": draw(_event_bodies(row, row.body, "", missing)),
    }
    body = strict_json.dumps(converter().unstructure(build(Event, envelope)))
    headers = {"content-type": "application/json", SIGNATURE: sign(body, key)}
    return Sample(headers=HeaderDict(headers), body=body, event=read_delivery(body))
