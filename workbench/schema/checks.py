"""What is wrong with a request before it is sent or when it arrives, and what is unusual about an answer.

`problems` holds the interface's own rules, the same for client, sandbox and forms. `cautions` holds what only a
careful client refuses or warns of: masked values, invisible characters, implausible numbers. `flags` looks at answers.
"""

import ipaddress
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

from workbench.errors import Problem, hidden_characters
from workbench.schema import walk
from workbench.schema.fields import MASK, About, Rule
from workbench.schema.readers import is_empty
from workbench.schema.rules import EMAIL_ADDRESS, FULL, ISO_DAY, UUID, CrossRule, OneOf, When, iso_day
from workbench.schema.walk import Kind, Member, cross_rules, members, record_of, values


def problems(record: Any, *, partial: bool = False) -> tuple[Problem, ...]:
    """Return all that is wrong with a request by the rules of the interface, each with its wire path; empty if nothing.

    Args:
        partial: Accept a nested record in part where the service is taken to accept one, as an address to update.
    """
    return tuple(_problems(record, "", partial, False))


def _problems(record: Any, prefix: str, partial: bool, in_part: bool) -> Iterator[Problem]:
    for one in members(type(record)):
        value, path = getattr(record, one.name), prefix + one.wire
        if value is not None:
            yield from _value_problems(one.kind, one.about, value, path, partial)
        elif one.required and not in_part:
            yield Problem(path, "required", _missing(one.kind))
    for rule in cross_rules(type(record)):
        yield from _cross_problems(record, rule, prefix)


def _missing(kind: Kind) -> str:
    if isinstance(kind, walk.Integer) and kind.full:
        return "is empty; write FULL for the full amount"
    return "is not given; it is True or False" if isinstance(kind, walk.Boolean) else "is missing"


def _value_problems(kind: Kind, about: About, value: Any, path: str, partial: bool = False) -> Iterator[Problem]:
    if isinstance(kind, walk.Array) and isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from _value_problems(kind.of, about, item, f"{path}[{i}]")
    elif isinstance(kind, walk.Nested) and type(value) is kind.of:
        yield from _problems(value, f"{path}.", partial, partial and about.partial)
    else:
        for name, message in _broken(kind, about.rule, value):
            yield Problem(path, name, message)


def _broken(kind: Kind, rule: Rule, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the names of the rules that a value breaks, each with a message."""
    match kind:
        case walk.Integer(full=True) if value is FULL:
            return
        case walk.Choice(of=words):
            if not isinstance(value, str) or value not in frozenset(words):
                yield "enum", f"{'must be one of' if len(words) > 1 else 'can only be'} {', '.join(words)}"
        case walk.Date():
            text = value.isoformat() if type(value) is date else value
            if not isinstance(text, str) or not ISO_DAY.fullmatch(text):
                yield "date", "must be a date written YYYY-MM-DD, as 1990-02-01"
            elif iso_day(text) is None:
                yield "date", "is not a day of the calendar"
        case _:
            fits, noun = _TYPES[type(kind)]
            if not fits(value) and isinstance(kind, walk.Integer) and kind.full and is_empty(value):
                yield "required", _missing(kind)
            elif not fits(value):
                unit = f" of {rule.unit}" if rule.unit and isinstance(kind, walk.Integer) else ""
                yield "type", f"must be {noun}{unit}, not {_named(value)}"
            elif isinstance(value, str):
                yield from _broken_by_text(rule, value)
            elif rule.minimum is not None and value < rule.minimum:
                yield "minimum", f"must be at least {rule.minimum:,}{f', in {rule.unit}' if rule.unit else ''}"
            elif rule.maximum is not None and value > rule.maximum:
                yield "maximum", f"must be at most {rule.maximum:,}{f', in {rule.unit}' if rule.unit else ''}"


def _broken_by_text(rule: Rule, value: str) -> Iterator[tuple[str, str]]:
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        yield "text", "contains half of a surrogate pair, which cannot be sent"
    elif "\0" in value:
        yield "text", "contains a NUL character, which cannot be sent"
    if rule.max_length is not None and len(value) > rule.max_length:  # assumed: lengths_elsewhere
        yield "max_length", f"has {len(value):,} characters; at most {rule.max_length:,} are allowed"
    if rule.min_length is not None and len(value) < rule.min_length:
        yield "min_length", f"is too short; at least {rule.min_length} character{'s' if rule.min_length > 1 else ''}"
    elif rule.pattern and not re.fullmatch(rule.pattern, value):
        yield "pattern", f"must be {rule.says}" if rule.says else f"must match {rule.pattern}"
    fits, words = _FORMATS.get(rule.format or "", (bool, ""))
    if words and not fits(value):
        yield rule.format or "", f"must be {words}"


def _is_ip(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return "%" not in value  # a zone means something on one machine only


def _is_number(value: Any) -> bool:
    return type(value) is int or (isinstance(value, Decimal) and value.is_finite())


# assumed: email_format, ip_format, id_case
_FORMATS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "uuid": (UUID.fullmatch, "a UUID (8-4-4-4-12 hexadecimal digits)"),
    "email": (EMAIL_ADDRESS.fullmatch, "an email address"),
    "ip": (_is_ip, "an IP address"),
}
_TYPES: Mapping[type[Kind], tuple[Callable[[Any], bool], str]] = {
    walk.Text: (lambda value: isinstance(value, str), "text"),
    walk.Integer: (lambda value: type(value) is int, "a whole number"),
    walk.Boolean: (lambda value: type(value) is bool, "True or False"),
    walk.DecimalNumber: (_is_number, "an exact number"),
    walk.Numeric: (_is_number, "an exact number"),
    walk.DateTime: (lambda value: isinstance(value, datetime) and bool(value.tzinfo), "a datetime with a time zone"),
    walk.Nested: (lambda value: False, "an object"),
    walk.Array: (lambda value: False, "a list"),
    walk.Untyped: (lambda value: True, ""),
}
"""What fits a kind, and what that is called; a nested record and the items of a list are checked by themselves."""
_NAMES = {
    "bool": "True or False", "int": "a number", "str": "text", "dict": "an object", "list": "a list", "Decimal": "a decimal",
}  # fmt: skip


def _named(value: Any) -> str:
    if is_empty(value):
        return "empty"
    return "a float" if isinstance(value, float) else _NAMES.get(type(value).__name__, f"a {type(value).__name__}")


def _cross_problems(record: Any, rule: CrossRule, prefix: str) -> Iterator[Problem]:
    wires = {one.name: one.wire for one in members(type(record))}

    def has(name: str) -> bool:
        return getattr(record, name) is not None

    def spelled(names: Collection[str]) -> str:
        return ", ".join(wires[name] for name in names)

    match rule:
        case OneOf(groups=groups):
            begun = [group for group in groups if any(map(has, group))]
            if len(begun) > 1:
                given = " and ".join(spelled([*filter(has, group)]) for group in begun)
                yield Problem(prefix.rstrip("."), "one_of", f"{rule.doc}; given are {given}")
            elif not begun:
                named = len(groups) == 2 and all(wires[name] in rule.doc for group in groups for name in group)
                ways = "neither is given" if named else f"give {' or '.join(map(spelled, groups))}"
                yield Problem(prefix.rstrip("."), "one_of", f"{rule.doc}; {ways}")
            else:
                for name in begun[0]:
                    if not has(name):
                        yield Problem(prefix + wires[name], "required", f"is missing; {spelled(begun[0])} go together")
        case When(name=name, value=value):
            if getattr(record, name) != value:
                return
            for needed in rule.needs:
                if not has(needed):
                    message = f"is missing; {rule.doc[0].lower()}{rule.doc[1:]}"
                    yield Problem(prefix + wires[needed], "required", message)
            if rule.pattern is not None:
                field, pattern, words = rule.pattern
                text = getattr(record, field)
                if isinstance(text, str) and re.fullmatch(pattern, text) is None:
                    yield Problem(prefix + wires[field], "pattern", f"must be {words}")


# what a careful client adds


def cautions(record: Any, allowing: Collection[str] = ()) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return what a careful client refuses, and what it only warns of, beyond the interface's rules.

    Args:
        allowing: Rules that are waived: "masked_value", "unusual_text".
    """
    found = [*_cautions(record)]
    refused = tuple(one for one in found if one.rule in {"masked_value", "unusual_text"} and one.rule not in allowing)
    return refused, tuple(one for one in found if one.rule in {"max_length", "advice"})


def _cautions(record: Any) -> Iterator[Problem]:
    for path, one, value, holder in values(record):
        if isinstance(value, str | date) and (words := _advice(one.name, value, holder)):
            yield Problem(path, "advice", words)
        if type(value) is not str or (value.isascii() and value.isprintable()):
            continue
        if MASK in value:
            words = f"is a masked value, not the real one (it contains {MASK}); allowing(masked_value=True) sends it"
            yield Problem(path, "masked_value", words)
        # half a surrogate pair and NUL cannot be sent at all: `problems` has them
        hidden = [name for name in hidden_characters(value) if not re.fullmatch(r"U\+(0000|D[89A-F]..)", name)]
        if hidden:
            words = f"contains invisible characters ({', '.join(hidden[:5])}); allowing(unusual_text=True) sends them"
            yield Problem(path, "unusual_text", words)
        limit, units = one.about.rule.max_length, len(value.encode("utf-16-le", "surrogatepass")) // 2
        if limit is not None and len(value) <= limit < units:
            words = f"has {units} UTF-16 units, over {limit}; how the service counts is not shown"
            yield Problem(path, "max_length", words)


_NEVER_AN_SSN = re.compile(r"(?=[0-9]{9}\Z)(?:000|666|9|...00|.....0000)")
_EXAMPLE_ADDRESSES = ("192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:")


def _advice(name: str, value: str | date, record: Any) -> str | None:
    """Return what is implausible about the value of a member; None where nothing is."""
    text = value if isinstance(value, str) else value.isoformat()
    match name:
        case "birth_date" if ISO_DAY.fullmatch(text) and not "1900" <= text <= str(datetime.now(UTC).date()):
            return "is not a plausible date of birth (1900 to today)"
        case "national_id" if getattr(record, "country_of_issue", None) == "US" and _NEVER_AN_SSN.match(text):
            return "is in a range that is never issued as an SSN"
        case "country_of_issue" if len(text) == 2 and text != text.upper():
            return f"is usually written in capitals, {text.upper()}"
        case "country_code" if not re.fullmatch(r"[A-Z]{2}", text):
            return "is usually two capital letters, as US"
        case "ip_address" if _is_ip(text) and not text.startswith(_EXAMPLE_ADDRESSES):
            public = ipaddress.ip_address(text).is_global
            return None if public else "is not a public address; it must be the applicant's own"
        case "merchant_category_code" if not re.fullmatch(r"[0-9]{4}", text):
            return "is usually four digits, as 0742"
        case "currency" if not re.fullmatch(r"[A-Za-z]{3}", text):
            return "is usually three letters, as USD"
    return None


# what is unusual about an answer


def flags(answer: Any) -> tuple[Problem, ...]:
    """Return all that is unusual about an answer that was read all the same: missing, unknown, or beside its rule."""
    return tuple(_flags(answer, ""))


def _flags(answer: Any, prefix: str) -> Iterator[Problem]:
    for mark in answer.marks:
        yield Problem(prefix + mark.path, mark.rule, mark.message)
    for name in answer.extra:
        yield Problem(f"{prefix}{name}", "unknown", "is a member the document does not name")
    for one, limited in _limited(answer.__class__):
        value, path = getattr(answer, one.name), prefix + one.wire
        if value is None:
            if one.about.needed:
                yield Problem(path, "required", "is missing")
        elif isinstance(one.kind, walk.Choice):
            if type(value) is not one.kind.of:
                yield Problem(path, "enum", f"is not one of {', '.join(one.kind.of)}")
        elif limited:
            yield from _value_problems(one.kind, one.about, value, path)
        elif isinstance(one.kind, walk.Nested):
            yield from _flags(value, f"{path}.")
        elif record_of(one.kind):
            for i, item in enumerate(value):
                yield from _flags(item, f"{path}[{i}].")


@cache
def _limited(cls: Any) -> tuple[tuple[Member, bool], ...]:
    """Return the members of an answer, each with whether its values can be beside a rule."""

    def is_limited(one: Member) -> bool:
        rule = one.about.rule
        limits = (rule.pattern, rule.min_length, rule.max_length, rule.minimum, rule.maximum)
        if isinstance(one.kind, walk.Text | walk.Integer | walk.Array) and record_of(one.kind) is None:
            return rule.format in _FORMATS or any(limit is not None for limit in limits)
        return isinstance(one.kind, walk.Date)

    return tuple((one, is_limited(one)) for one in members(cls))
