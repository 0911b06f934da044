"""Checks of requests before sending or on arrival, and a search for unusual values in answers.

`survey` visits a request once and records its doubtful values. `problems` checks them against the interface's rules,
for client, sandbox and forms alike. `cautions` reports values that a careful client refuses or warns about, such as
masked values, invisible characters and implausible numbers. `flags` reports unusual values of answers.
"""

import ipaddress
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Protocol

import attrs

from workbench.base.arguments import UTF_8, a_type
from workbench.base.errors import Problem, hidden_characters
from workbench.base.frozen import frozen
from workbench.base.remedies import Remedy, declare
from workbench.base.schema import masks, walk
from workbench.base.schema.fields import MASK, OPEN, About, Rule
from workbench.base.schema.readers import is_empty
from workbench.base.schema.rules import EMAIL_ADDRESS, FULL, ISO_DAY, UUID, CrossRule, OneOf, When, iso_day
from workbench.base.schema.walk import Kind, Member, cross_rules, is_record, members, record_of

declare(
    "allow",
    python="allowing({name}=True) sends it",
    other="a person must allow it",
)


class Writer(Protocol):
    """Converter that writes the values of records under wire names."""

    def __hash__(self) -> int: ...
    def wire_name(self, cls: type[Any], member: Member) -> str: ...
    def kind_writer(self, kind: Kind, keep: bool, /) -> Callable[[Any], Any] | None: ...


@frozen
class Doubtful:
    """A value that is missing or may break a rule, or a record with rules over several members."""

    path: str  # path of declared wire names; for a record with rules, the prefix of its members' paths
    member: Member | None  # None if the doubtful item is a record with rules; then `holder` is that record
    kind: Kind | None  # kind of the value; if the member is a list, kind of its items
    value: Any
    holder: Any  # record that contains the member
    in_part: bool  # whether the service is assumed to accept a partial record here


@attrs.define(eq=False, repr=False)
class Survey:
    """Result of one pass over a request."""

    record: Any
    body: dict[str, Any] = attrs.field(factory=dict)  # request body with the converter's wire names
    shown: dict[str, Any] = attrs.field(factory=dict)  # the body with declared wire names and masked private values
    doubtful: list[Doubtful] = attrs.field(factory=list)  # values that may break a rule, in declaration order

    def values(self) -> Iterator[tuple[str, Member, Any, Any]]:
        """Yield each scalar that may be unusual, as wire path, member, value and record."""
        for member in self.doubtful:
            if is_record(member.value):
                yield from walk.values(member.value, f"{member.path}.")
            elif member.member is not None and member.value is not None:
                yield member.path, member.member, member.value, member.holder


def survey(record: object, by: Writer | None = None) -> Survey:
    """Visit a request once to write its body, mask it, and record doubtful values.

    Args:
        by: Converter that writes the body. Without a converter, the body has declared names and unconverted values.
    """
    survey = Survey(record)
    visit(record, by, survey.body, survey.shown, survey.doubtful, "", False)
    return survey


def visit(
    record: object,
    by: Writer | None,
    body: dict[str, Any],
    shown: dict[str, Any],
    doubtful: list[Doubtful],
    prefix: str,
    in_part: bool,
) -> None:
    cls: object = type(record)
    fields, has_rules = _fields(by, cls)
    for name, wire, usual, is_plain, mask, write, member in fields:
        value = getattr(record, name)
        if value.__class__ is usual and is_plain(value):
            body[wire] = written = value if write is None else write(value)
            shown[member.wire] = mask(value) if mask is not None else written
        elif value is None:
            if member.required:
                doubtful.append(Doubtful(prefix + member.wire, member, member.kind, None, record, in_part))
        elif isinstance(member.kind, walk.Nested) and type(value) is member.kind.of:
            body[wire], shown[member.wire] = {}, {}
            visit(value, by, body[wire], shown[member.wire], doubtful, f"{prefix}{member.wire}.", member.about.partial)
        elif value is not FULL or not isinstance(member.kind, walk.Integer) or not member.kind.full:
            items = [("", member.kind, value)]
            if isinstance(member.kind, walk.Array) and isinstance(value, list | tuple):
                if value == () == member.default:
                    continue
                items = [(f"[{index}]", member.kind.of, item) for index, item in enumerate(value)]
            doubtful.extend(
                Doubtful(prefix + member.wire + at, member, kind, item, record, in_part) for at, kind, item in items
            )
            body[wire] = written = _written(write, value)
            is_plain_value = mask is None and record_of(member.kind) is None
            shown[member.wire] = masks.shown(member, written if is_plain_value else value)
    if has_rules:
        doubtful.append(Doubtful(prefix, None, None, None, record, in_part))
    if extra := getattr(record, "extra", None):
        shown.update(dict.fromkeys(map(str, extra), masks.DOTS))


def _written(write: Callable[[Any], Any] | None, value: object) -> Any:
    try:
        return write(value) if write is not None else value
    except (TypeError, ValueError, AttributeError, OverflowError):
        return value  # `broken` reports the wrong type later


@lru_cache(maxsize=256)
def _fields(by: Any, cls: Any) -> tuple[list[tuple[Any, ...]], bool]:
    """Return the data for visiting each member of a record, and whether the record has rules over several members."""
    fields = []
    for member in members(cls):
        usual, is_plain = plain(member)
        mask = None if member.about.privacy is OPEN else member.about.mask
        wire = by.wire_name(cls, member) if by else member.wire
        write = by.kind_writer(member.kind, False) if by else None
        fields.append((member.name, wire, usual, is_plain, mask, write, member))
    return fields, bool(cross_rules(cls))


_LONGEST_PLAIN = 46  # in characters; private keys and seed phrases are longer


def plain(member: Member) -> tuple[type[Any] | None, Callable[[Any], Any]]:
    """Return the usual class of a member's values, and a quick test for valid values; (None, bool) without a test."""
    rule = member.about.rule
    match member.kind:
        case walk.Integer():
            return int, range(
                _LEAST if rule.minimum is None else rule.minimum, (rule.maximum or -_LEAST) + 1
            ).__contains__
        case walk.Boolean():
            return bool, (True, False).__contains__
        case walk.Text() if rule.format in (None, "uuid", "name", "phone", "email", "password", "account-number"):
            if member.name in _LOOKED_AT or rule.chain_address:
                return None, bool
            longest = min(rule.max_length or _LONGEST_PLAIN, _LONGEST_PLAIN)
            patterns = (
                rule.pattern,
                _PLAUSIBLE.get(member.name, (None, ""))[0],
                PATTERNS.get(rule.format or ""),
                f"[ -~]{{{rule.min_length or 0},{longest}}}",
            )
            return str, re.compile("".join(rf"(?=(?:{pattern})\Z)" for pattern in patterns if pattern)).match
    return None, bool


_LEAST = -(10**30)
PATTERNS = {"uuid": UUID.pattern, "email": EMAIL_ADDRESS.pattern}


def problems(request: object, *, partial: bool = False) -> tuple[Problem, ...]:
    """Return a problem for each rule of the interface that a request breaks, with wire paths; empty if it breaks none.

    Args:
        request: The record, or its survey.
        partial: Accept partial nested records that the service is assumed to accept, such as an address to update.
    """
    return tuple(_problems(surveyed(request), partial))


def surveyed(request: object) -> Survey:
    """Return the survey of a request. A survey is returned unchanged."""
    return request if isinstance(request, Survey) else survey(request)


def _problems(seen: Survey, partial: bool) -> Iterator[Problem]:
    for member in seen.doubtful:
        if member.member is None or member.kind is None:
            for rule in cross_rules(type(member.holder)):
                yield from _cross_problems(member.holder, rule, member.path)
        elif member.value is not None:
            yield from _value_problems(member.kind, member.member.about, member.value, member.path)
        elif not (partial and member.in_part):
            yield Problem(member.path, "required", _missing(member.kind))


def _missing(kind: Kind) -> str:
    if isinstance(kind, walk.Integer) and kind.full:
        return "is empty; write FULL (in code wb.FULL) for the full amount"
    return "is missing; pass true or false" if isinstance(kind, walk.Boolean) else "is missing"


def _value_problems(kind: Kind, about: About, value: object, path: str) -> Iterator[Problem]:
    if isinstance(kind, walk.Array) and isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from _value_problems(kind.of, about, item, f"{path}[{i}]")
    elif isinstance(kind, walk.Nested) and type(value) is kind.of:  # the value is an item of a list
        yield from (Problem(f"{path}.{problem.path}", problem.rule, problem.message) for problem in problems(value))
    else:
        for name, message in broken(kind, about.rule, value):
            yield Problem(path, name, message)


def broken(kind: Kind, rule: Rule, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the rules that a value breaks, each with a message."""
    match kind:
        case walk.Integer(full=True) if value is FULL:
            return
        case walk.Choice(of=enum):
            if not isinstance(value, str) or value not in frozenset(enum):
                yield "enum", f"{'must be one of' if len(enum) > 1 else 'can only be'} {', '.join(enum)}"
        case walk.Date():
            text = value.isoformat() if type(value) is date else value
            if not isinstance(text, str) or not ISO_DAY.fullmatch(text):
                yield "date", "must be a date written YYYY-MM-DD, such as 1990-02-01"
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
            elif isinstance(value, int) and value.bit_length() > 1024:  # Python cannot write such a number
                yield "maximum", "is too large"
            elif rule.minimum is not None and value < rule.minimum:
                yield "minimum", f"must be at least {rule.minimum:,}{f', in {rule.unit}' if rule.unit else ''}"
            elif rule.maximum is not None and value > rule.maximum:
                yield "maximum", f"must be at most {rule.maximum:,}{f', in {rule.unit}' if rule.unit else ''}"


def _why_no_text(value: str) -> str:
    if sys.getfilesystemencoding() != "utf-8" and any("\udc80" <= character <= "\udcff" for character in value):
        return f"was not read as text by this locale ({sys.getfilesystemencoding()}); {UTF_8}"
    return "contains half of a surrogate pair, which is not allowed"


def _broken_by_text(rule: Rule, value: str) -> Iterator[tuple[str, str]]:
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        yield "text", _why_no_text(value)
    elif "\0" in value:
        yield "text", "contains a NUL character, which is not allowed"
    if rule.max_length is not None and len(value) > rule.max_length:  # assumed: lengths_elsewhere
        yield "max_length", f"has {len(value):,} characters; at most {rule.max_length:,} are allowed"
    if rule.min_length is not None and len(value) < rule.min_length:
        yield "min_length", f"is too short; at least {rule.min_length} character{'s' if rule.min_length > 1 else ''}"
    elif rule.pattern and not re.fullmatch(rule.pattern, value):
        yield "pattern", f"must be {rule.says}" if rule.says else f"must match {rule.pattern}"
    fits, message = _FORMATS.get(rule.format or "", (bool, ""))
    if message and not fits(value):
        yield rule.format or "", f"must be {message}"


def _is_ip(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return "%" not in value  # a scoped address is meaningful only on one machine


def _is_number(value: object) -> bool:
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
    walk.Boolean: (lambda value: type(value) is bool, "true or false"),
    walk.DecimalNumber: (_is_number, "an exact number"),
    walk.Numeric: (_is_number, "an exact number"),
    walk.DateTime: (lambda value: isinstance(value, datetime) and bool(value.tzinfo), "a datetime with a time zone"),
    walk.Nested: (lambda value: False, "an object"),
    walk.Array: (lambda value: False, "a list"),
    walk.Untyped: (lambda value: True, ""),
}
"""Test for the values of each kind, and their name in messages. Nested records and list items are tested separately."""
_NAMES = {
    "bool": "true or false",
    "int": "a number",
    "str": "text",
    "dict": "an object",
    "JsonObject": "an object",
    "list": "a list",
    "Decimal": "a decimal",
}


def _named(value: object) -> str:
    if is_empty(value):
        return "empty"
    return "a float" if isinstance(value, float) else _NAMES.get(type(value).__name__) or a_type(value)


def _cross_problems(record: object, rule: CrossRule, prefix: str) -> Iterator[Problem]:
    wires = {member.name: member.wire for member in members(type(record))}

    def has(name: str) -> bool:
        return getattr(record, name) is not None

    def spelled(names: Collection[str]) -> str:
        return ", ".join(wires[name] for name in names)

    match rule:
        case OneOf(groups=groups):
            begun = [group for group in groups if any(map(has, group))]
            if len(begun) > 1:
                given = " and ".join(spelled([*filter(has, group)]) for group in begun)
                yield Problem(prefix.rstrip("."), "one_of", f"{rule.doc}; both {given} are given")
            elif not begun:
                named = len(groups) == 2 and all(wires[name] in rule.doc for group in groups for name in group)
                ways = "neither is given" if named else f"give {' or '.join(map(spelled, groups))}"
                yield Problem(prefix.rstrip("."), "one_of", f"{rule.doc}; {ways}")
            else:
                for name in begun[0]:
                    if not has(name):
                        yield Problem(
                            prefix + wires[name], "required", f"is missing; {spelled(begun[0])} must be given together"
                        )
        case When(name=name, value=value):
            if getattr(record, name) != value:
                return
            for needed in rule.needs:
                if not has(needed):
                    message = f"is missing; {rule.doc[0].lower()}{rule.doc[1:]}"
                    yield Problem(prefix + wires[needed], "required", message)
            if rule.pattern is not None:
                field, pattern, description = rule.pattern
                text = getattr(record, field)
                if isinstance(text, str) and re.fullmatch(pattern, text) is None:
                    yield Problem(prefix + wires[field], "pattern", f"must be {description}")


# additional checks of requests


def cautions(request: object, allowing: Collection[str] = ()) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return problems to refuse and problems to warn about, beyond the rules of the interface.

    Args:
        request: The record, or its survey.
        allowing: Rules that are waived: "masked_value", "unusual_text".
    """
    problems = [*_cautions(surveyed(request))]
    refused = tuple(
        problem
        for problem in problems
        if problem.rule in {"masked_value", "unusual_text"} and problem.rule not in allowing
    )
    return refused, tuple(problem for problem in problems if problem.rule in {"max_length", "advice"})


def allow(name: str) -> Remedy:
    """Return the remedy for a value that can be sent with `allowing`."""
    return Remedy("allow", name=name, option=name.replace("_", "-"))


def _cautions(seen: Survey) -> Iterator[Problem]:
    for path, field, value, holder in seen.values():
        if isinstance(value, str | date) and (text := advice(field.name, value, holder)):
            yield Problem(path, "advice", text)
        if type(value) is not str or (value.isascii() and value.isprintable()):
            continue
        if MASK in value:
            text = f"is a masked value, not the real one (it contains {MASK})"
            yield Problem(path, "masked_value", text, allow("masked_value"))
        # `problems` reports unpaired surrogates and NUL, which cannot be sent
        hidden = [name for name in hidden_characters(value) if not re.fullmatch(r"U\+(0000|D[89A-F]..)", name)]
        if hidden:
            text = f"contains invisible characters ({', '.join(hidden[:5])})"
            yield Problem(path, "unusual_text", text, allow("unusual_text"))
        limit, units = field.about.rule.max_length, len(value.encode("utf-16-le", "surrogatepass")) // 2
        if limit is not None and len(value) <= limit < units:
            text = f"has {units} UTF-16 units (maximum {limit}); the service may count characters or units"
            yield Problem(path, "max_length", text)


_NEVER_AN_SSN = r"(?=[0-9]{9}\Z)(?:000|666|9|...00|.....0000)"
_EXAMPLE_ADDRESSES = ("192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:")


def advice(name: str, value: str | date, record: object) -> str | None:
    """Return the reason why the value of a member is implausible, or None for a plausible value."""
    text = value if isinstance(value, str) else value.isoformat()
    match name:
        case "birth_date" if ISO_DAY.fullmatch(text) and not "1900" <= text <= str(datetime.now(UTC).date()):
            return "is not a plausible date of birth (1900 to today)"
        case "national_id" if getattr(record, "country_of_issue", None) == "US" and re.match(_NEVER_AN_SSN, text):
            return "is in a range that is never issued as an SSN"
        case "country_of_issue" if len(text) == 2 and text != text.upper():
            return f"is usually written in capitals, {text.upper()}"
        case "routing_number" if str(getattr(record, "currency", "")).lower() == "usd" and not _is_routing_number(text):
            return "is not a routing number for usd (nine digits, the last a check digit)"
        case "postal_code" if getattr(record, "country_code", None) == "US" and not re.fullmatch(_US_POSTAL_CODE, text):
            return "is not a US postal code: five digits, such as 02134"
        case "ip_address" if _is_ip(text) and not text.startswith(_EXAMPLE_ADDRESSES):
            public = ipaddress.ip_address(text).is_global
            return None if public else "is not a public address; pass the applicant's own address"
    pattern, advice = _PLAUSIBLE.get(name, ("", ""))
    return advice if pattern and not re.fullmatch(pattern, text) else None


def _is_routing_number(text: str) -> bool:
    weighted = (weight * int(digit) for weight, digit in zip((3, 7, 1) * 3, text, strict=False))
    return re.fullmatch("[0-9]{9}", text) is not None and sum(weighted) % 10 == 0


# the second alternative accepts foreign codes that contain letters
_US_POSTAL_CODE = "[0-9]{5}(?:-[0-9]{4})?|.*[A-Za-z].*"
_PLAUSIBLE = {
    "country_code": ("[A-Z]{2}", "is usually two capital letters, such as US"),
    "merchant_category_code": ("[0-9]{4}", "is usually four digits, such as 0742"),
    "currency": ("[A-Za-z]{3}", "is usually three letters, such as USD"),
}
_LOOKED_AT = frozenset({"birth_date", "national_id", "country_of_issue", "ip_address", "routing_number", "postal_code"})
"""Members whose values can be implausible even if they match their pattern."""


# unusual content of responses


def flags(answer: object) -> tuple[Problem, ...]:
    """Return the unusual members of an answer: missing members, unknown members, and values that break their rule."""
    return tuple(_flags(answer, ""))


def _flags(answer: Any, prefix: str) -> Iterator[Problem]:
    for mark in answer.marks:
        yield Problem(prefix + mark.path, mark.rule, mark.message)
    for name in answer.extra:
        yield Problem(f"{prefix}{name}", "unknown", "is not a documented member")
    for field, limited in _limited(answer.__class__):
        value, path = getattr(answer, field.name), prefix + field.wire
        if value is None:
            if field.about.needed:
                yield Problem(path, "required", "is missing")
        elif isinstance(field.kind, walk.Choice):
            if type(value) is not field.kind.of:
                yield Problem(path, "enum", f"is not one of {', '.join(field.kind.of)}")
        elif limited:
            yield from _value_problems(field.kind, field.about, value, path)
        elif isinstance(field.kind, walk.Nested):
            yield from _flags(value, f"{path}.")
        elif record_of(field.kind):
            for i, item in enumerate(value):
                yield from _flags(item, f"{path}[{i}].")


@cache
def _limited(cls: Any) -> tuple[tuple[Member, bool], ...]:
    """Return each member of an answer, and whether a rule applies to its values."""

    def is_limited(member: Member) -> bool:
        rule = member.about.rule
        limits = (rule.pattern, rule.min_length, rule.max_length, rule.minimum, rule.maximum)
        if isinstance(member.kind, walk.Text | walk.Integer | walk.Array) and record_of(member.kind) is None:
            return rule.format in _FORMATS or any(limit is not None for limit in limits)
        return isinstance(member.kind, walk.Date)

    return tuple((member, is_limited(member)) for member in members(cls))
