"""What is wrong with a request before it leaves or when it arrives, and what is odd about an answer.

`problems` holds the interface's own rules, the same for client, sandbox and forms. `cautions` holds what only a
careful client refuses or warns of: masked values, invisible characters, halves of addresses.
"""

import ipaddress
import re
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from workbench.errors import Problem, hidden_characters
from workbench.interface import masks
from workbench.interface.cross_rules import AnyOf, CrossRule, OneOf, When
from workbench.interface.fields import Rule
from workbench.interface.rules import EMAIL_ADDRESS, ISO_DAY, UUID, Full
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
    cross_rules,
    is_record,
    members,
    record_of,
)

Check = Callable[[Any, str, list[Problem]], None]


def problems(record: Any, *, partial: bool = False) -> tuple[Problem, ...]:
    """Return all that is wrong with a request by the rules of the interface, each with its wire path; empty if nothing.

    Args:
        partial: Take nested records that the service is taken to accept in part as they are.
    """
    found: list[Problem] = []
    _check_record(record, "", found, False, partial)
    return tuple(found)


def _check_record(record: Any, prefix: str, found: list[Problem], in_part: bool, partial: bool) -> None:
    plan, rules = _plan(type(record))
    for name, wire, needed, inner, check, takes_part, absent in plan:
        value = getattr(record, name)
        if value is None:
            if needed and not (in_part and partial):
                found.append(Problem(prefix + wire, "required", absent))
        elif inner is not None and type(value) is inner:
            _check_record(value, f"{prefix}{wire}.", found, takes_part, partial)
        else:
            check(value, prefix + wire, found)
    for rule in rules:
        found.extend(_cross(record, rule, prefix))


def _absent(kind: Kind) -> str:
    if isinstance(kind, Integer) and kind.full:
        return "is empty; write FULL for the whole amount"
    return "is not said; it is True or False" if isinstance(kind, Boolean) else "is missing"


_Planned = tuple[str, str, bool, type[Any] | None, Check, bool, str]


_PLANS: dict[type[Any], tuple[tuple[_Planned, ...], tuple[CrossRule, ...]]] = {}


def _plan(cls: type[Any]) -> tuple[tuple[_Planned, ...], tuple[CrossRule, ...]]:
    made = _PLANS.get(cls)
    if made is None:
        made = _PLANS[cls] = _planned(cls)
    return made


def _planned(cls: type[Any]) -> tuple[tuple[_Planned, ...], tuple[CrossRule, ...]]:
    return (
        tuple(
            (
                one.name,
                one.wire,
                one.required,
                one.kind.of if isinstance(one.kind, Nested) else None,
                checker(one.kind, one.about.rule),
                one.about.partial,
                _absent(one.kind),
            )
            for one in members(cls)
        ),
        cross_rules(cls),
    )


def checker(kind: Kind, rule: Rule) -> Check:
    """Return the check of a value by its kind and rule.

    Raises:
        TypeError: No check is known for the kind.
    """
    for known, make in _CHECKS:
        if isinstance(kind, known):
            return make(kind, rule)
    raise TypeError(f"no check is known for {kind}")


def _text(_: Kind, rule: Rule) -> Check:
    pattern = re.compile(rule.pattern) if rule.pattern else None
    words = rule.says or f"must match {rule.pattern}"
    low, high = rule.min_length, rule.max_length
    special = _FORMATS.get(rule.format or "")

    def check(value: Any, path: str, found: list[Problem]) -> None:
        if not isinstance(value, str):
            found.append(Problem(path, "type", f"must be text, not {_named(value)}"))
            return
        if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
            found.append(Problem(path, "text", "holds half of a surrogate pair, which cannot be sent"))
        elif "\0" in value:
            found.append(Problem(path, "text", "holds a NUL character, which cannot be sent"))
        if high is not None and len(value) > high:
            found.append(Problem(path, "max_length", f"has {len(value):,} characters; at most {high:,} are allowed"))
        if low is not None and len(value) < low:
            found.append(
                Problem(path, "min_length", f"is too short; at least {low} {'character' if low == 1 else 'characters'}")
            )
        elif pattern is not None and pattern.fullmatch(value) is None:
            found.append(Problem(path, "pattern", f"must be {words}" if rule.says else words))
        if special is not None:
            special(value, path, found)

    return check


def _uuid(value: str, path: str, found: list[Problem]) -> None:
    if UUID.fullmatch(value) is None:
        found.append(Problem(path, "uuid", "must be a UUID (8-4-4-4-12 hexadecimal digits)"))


def _email(value: str, path: str, found: list[Problem]) -> None:
    if EMAIL_ADDRESS.fullmatch(value) is None:
        found.append(Problem(path, "email", "must be an email address"))


def _ip(value: str, path: str, found: list[Problem]) -> None:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        pass
    else:
        if "%" not in value:  # a zone means something on one machine only
            return
    found.append(Problem(path, "ip", "must be an IP address"))


_FORMATS: dict[str, Check] = {"uuid": _uuid, "email": _email, "ip": _ip}


def _whole(kind: Kind, rule: Rule) -> Check:
    low, high = rule.minimum, rule.maximum
    unit, in_unit = (f" of {rule.unit}", f", in {rule.unit}") if rule.unit else ("", "")
    takes_full = isinstance(kind, Integer) and kind.full

    def check(value: Any, path: str, found: list[Problem]) -> None:
        if type(value) is not int:
            if takes_full and value is Full.FULL:
                return
            if takes_full and _empty(value):
                found.append(Problem(path, "required", _absent(kind)))
                return
            found.append(Problem(path, "type", f"must be a whole number{unit}, not {_named(value)}"))
        elif low is not None and value < low:
            found.append(Problem(path, "minimum", f"must be at least {low:,}{in_unit}"))
        elif high is not None and value > high:
            found.append(Problem(path, "maximum", f"must be at most {high:,}{in_unit}"))

    return check


def _flag(_: Kind, __: Rule) -> Check:
    def check(value: Any, path: str, found: list[Problem]) -> None:
        if type(value) is not bool:
            found.append(Problem(path, "type", f"must be True or False, not {_named(value)}"))

    return check


def _number(_: Kind, __: Rule) -> Check:
    def check(value: Any, path: str, found: list[Problem]) -> None:
        if type(value) is not int and not (isinstance(value, Decimal) and value.is_finite()):
            found.append(Problem(path, "type", f"must be an exact number, not {_named(value)}"))

    return check


def _moment(_: Kind, __: Rule) -> Check:
    def check(value: Any, path: str, found: list[Problem]) -> None:
        if not isinstance(value, datetime) or value.tzinfo is None:
            found.append(Problem(path, "type", "must be a datetime with a time zone"))

    return check


def _day(_: Kind, __: Rule) -> Check:
    def check(value: Any, path: str, found: list[Problem]) -> None:
        if isinstance(value, str) and ISO_DAY.fullmatch(value):
            try:
                date.fromisoformat(value)
                return
            except ValueError:
                found.append(Problem(path, "date", "is not a day of the calendar"))
                return
        if isinstance(value, datetime) or not isinstance(value, date):
            found.append(Problem(path, "date", "must be a date written YYYY-MM-DD, as 1990-02-01"))

    return check


def _choice(kind: Kind, _: Rule) -> Check:
    assert isinstance(kind, Choice)
    values = frozenset(kind.of)

    def check(value: Any, path: str, found: list[Problem]) -> None:
        if not isinstance(value, str) or value not in values:
            found.append(Problem(path, "enum", f"must be one of {', '.join(kind.of)}"))

    return check


def _part(kind: Kind, _: Rule) -> Check:
    def check(value: Any, path: str, found: list[Problem]) -> None:
        found.append(Problem(path, "type", f"must be an object, not {_named(value)}"))

    return check


def _many(kind: Kind, rule: Rule) -> Check:
    assert isinstance(kind, Array)
    inner = checker(kind.of, rule)

    def check(value: Any, path: str, found: list[Problem]) -> None:
        if not isinstance(value, list | tuple):
            found.append(Problem(path, "type", f"must be a list, not {_named(value)}"))
            return
        for i, item in enumerate(value):
            if is_record(item):
                _check_record(item, f"{path}[{i}].", found, False, False)
            else:
                inner(item, f"{path}[{i}]", found)

    return check


def _loose(_: Kind, __: Rule) -> Check:
    return lambda value, path, found: None


_CHECKS: tuple[tuple[type[Kind] | tuple[type[Kind], ...], Callable[[Kind, Rule], Check]], ...] = (
    (Text, _text),
    (Integer, _whole),
    (Boolean, _flag),
    ((DecimalNumber, Numeric), _number),
    (DateTime, _moment),
    (Date, _day),
    (Choice, _choice),
    (Nested, _part),
    (Array, _many),
    (Untyped, _loose),
)


def _empty(value: Any) -> bool:
    """Whether a value is how a table, in text or of pandas, says that a cell is empty."""
    return (
        value is None
        or (isinstance(value, str) and not value.strip())
        or (isinstance(value, float) and value != value)
        or (isinstance(value, Decimal) and value.is_nan())
        or type(value).__name__ in {"NAType", "NaTType"}
    )


def _named(value: Any) -> str:
    if _empty(value):
        return "empty"
    if isinstance(value, float | Decimal):
        return f"a {'float' if isinstance(value, float) else 'decimal'}"
    return {"bool": "True or False", "int": "a number", "str": "text", "dict": "an object", "list": "a list"}.get(
        type(value).__name__, f"a {type(value).__name__}"
    )


def _cross(record: Any, rule: CrossRule, prefix: str) -> Iterator[Problem]:
    wires = {one.name: one.wire for one in members(type(record))}

    def has(name: str) -> bool:
        return getattr(record, name) is not None

    def spelled(names: Collection[str]) -> str:
        return ", ".join(wires[name] for name in names)

    match rule:
        case OneOf(groups=groups):
            begun = [group for group in groups if any(has(name) for name in group)]
            if len(begun) > 1:
                yield Problem(
                    prefix.rstrip("."),
                    "one_of",
                    f"{rule.doc}; given are {' and '.join(spelled([n for n in g if has(n)]) for g in begun)}",
                )
            elif not begun:
                said = len(groups) == 2 and all(wires[name] in rule.doc for group in groups for name in group)
                ways = "neither is given" if said else f"give {' or '.join(spelled(group) for group in groups)}"
                yield Problem(prefix.rstrip("."), "one_of", f"{rule.doc}; {ways}")
            else:
                for name in begun[0]:
                    if not has(name):
                        yield Problem(prefix + wires[name], "required", f"is missing; {spelled(begun[0])} go together")
        case AnyOf(names=names):
            if not any(has(name) for name in names):
                yield Problem(prefix.rstrip("."), "any_of", f"{rule.doc}; give one of {spelled(names)}")
        case When(name=name, value=value):
            if getattr(record, name) != value:
                return
            for needed in rule.needs:
                if not has(needed):
                    yield Problem(
                        prefix + wires[needed], "required", f"is missing; {rule.doc[0].lower()}{rule.doc[1:]}"
                    )
            if rule.pattern is not None:
                field, pattern, words = rule.pattern
                text = getattr(record, field)
                if isinstance(text, str) and re.fullmatch(pattern, text) is None:
                    yield Problem(prefix + wires[field], "pattern", f"must be {words}")


def cautions(record: Any, allowing: Collection[str] = ()) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return what a careful client refuses, and what it only warns of, beyond the interface's rules.

    Args:
        allowing: Names of refusals that are waived: "masked_value", "unusual_text".
    """
    refused: list[Problem] = []
    warned: list[Problem] = []
    _caution(record, "", frozenset(allowing), refused, warned)
    return tuple(refused), tuple(warned)


def _caution(
    record: Any, prefix: str, allowing: Collection[str], refused: list[Problem], warned: list[Problem]
) -> None:
    for one in members(type(record)):
        value = getattr(record, one.name)
        path = prefix + one.wire
        if value is None:
            continue
        if is_record(value):
            _caution(value, f"{path}.", allowing, refused, warned)
        elif type(value) is str:
            if not value.isascii():
                _unusual(one, value, path, allowing, refused, warned)
            elif "unusual_text" not in allowing and (hidden := _hidden(value)):
                refused.append(_invisible(hidden, path))
        advice = _ADVICE.get(one.name)
        if advice is not None and isinstance(value, str | date) and (words := advice(value, record)):
            warned.append(Problem(path, "advice", words))


def _hidden(value: str) -> tuple[str, ...]:
    """Return the names of the characters that nobody can see, without those that cannot be sent at all."""
    if value.isascii() and value.isprintable():
        return ()
    return tuple(name for name in hidden_characters(value) if name != "U+0000" and not name.startswith(_SURROGATES))


_SURROGATES = ("U+D8", "U+D9", "U+DA", "U+DB", "U+DC", "U+DD", "U+DE", "U+DF")


def _invisible(hidden: tuple[str, ...], path: str) -> Problem:
    return Problem(
        path,
        "unusual_text",
        f"holds characters nobody can see ({', '.join(hidden[:5])}); allowing(unusual_text=True) sends them",
    )


def _unusual(
    one: Member, value: str, path: str, allowing: Collection[str], refused: list[Problem], warned: list[Problem]
) -> None:
    if masks.MASK in value and "masked_value" not in allowing:
        refused.append(
            Problem(
                path,
                "masked_value",
                "is a masked value, not the real one (it holds •); allowing(masked_value=True) sends it",
            )
        )
    if "unusual_text" not in allowing and (hidden := _hidden(value)):
        refused.append(_invisible(hidden, path))
    limit = one.about.rule.max_length
    units = len(value) + sum(ord(c) > 0xFFFF for c in value)
    if limit is not None and len(value) <= limit < units:
        warned.append(
            Problem(path, "max_length", f"has {units} UTF-16 units, over {limit}; how the service counts is not shown")
        )


def _national_id(value: str, record: Any) -> str | None:
    if getattr(record, "country_of_issue", None) != "US" or not re.fullmatch(r"[0-9]{9}", value):
        return None
    if value[:3] in {"000", "666"} or value[0] == "9" or value[3:5] == "00" or value[5:] == "0000":
        return "is in a range that is never issued as an SSN"
    return None


def _country(value: str, _: Any) -> str | None:
    return f"is usually written in capitals, {value.upper()}" if len(value) == 2 and value != value.upper() else None


def _address(value: str, _: Any) -> str | None:
    try:
        if not ipaddress.ip_address(value).is_global and not _documentation(value):
            return "is not a public address; it has to be the applicant's own"
    except ValueError:
        return None
    return None


def _documentation(value: str) -> bool:
    return value.startswith(("192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:"))


def _birth(value: date | str, _: Any) -> str | None:
    day = value.isoformat() if isinstance(value, date) else value
    if ISO_DAY.fullmatch(day) is None or (day[:4] >= "1900" and day <= datetime.now(UTC).date().isoformat()):
        return None
    return "is hardly a date of birth: it lies in the future, or before 1900"


def _mcc(value: str, _: Any) -> str | None:
    return None if re.fullmatch(r"[0-9]{4}", value) else "is usually four digits, as 0742"


def _currency(value: str, _: Any) -> str | None:
    return None if re.fullmatch(r"[A-Za-z]{3}", value) else "is usually three letters, as USD"


_ADVICE: dict[str, Callable[[Any, Any], str | None]] = {
    "birth_date": _birth,
    "national_id": _national_id,
    "country_of_issue": _country,
    "ip_address": _address,
    "merchant_category_code": _mcc,
    "currency": _currency,
}


def flags(answer: Any) -> tuple[Problem, ...]:
    """Return all that is odd about an answer that was read all the same: missing, unknown, or beside its rule."""
    found: list[Problem] = []
    _flag_record(answer, "", found)
    return tuple(found)


def _flag_record(answer: Any, prefix: str, found: list[Problem]) -> None:
    if answer.marks:
        found.extend(Problem(prefix + mark.path, mark.rule, mark.message) for mark in answer.marks)
    if answer.extra:
        found.extend(
            Problem(prefix + str(name), "unknown", "is a member the document does not name") for name in answer.extra
        )
    for name, wire, needed, inner, check, many in _answer_plan(type(answer)):
        value = getattr(answer, name)
        if value is None:
            if needed:
                found.append(Problem(prefix + wire, "required", "is missing"))
        elif inner is None:
            if check is not None:
                check(value, prefix + wire, found)
        elif not many:
            _flag_record(value, f"{prefix}{wire}.", found)
        else:
            for i, item in enumerate(value):
                if item is not None:
                    _flag_record(item, f"{prefix}{wire}[{i}].", found)


_AnswerPlan = tuple[tuple[str, str, bool, type[Any] | None, Check | None, bool], ...]

_ANSWER_PLANS: dict[type[Any], _AnswerPlan] = {}


def _answer_plan(cls: type[Any]) -> _AnswerPlan:
    made = _ANSWER_PLANS.get(cls)
    if made is None:
        made = _ANSWER_PLANS[cls] = tuple(
            (one.name, one.wire, one.about.needed, record_of(one.kind), _flagging(one), isinstance(one.kind, Array))
            for one in members(cls)
        )
    return made


def _flagging(one: Member) -> Check | None:
    """Return the check of an answer's member, or None where what was read cannot be beside its rule."""
    kind, rule = one.kind, one.about.rule
    if isinstance(kind, DateTime | Untyped | Boolean | DecimalNumber | Numeric):
        return None  # a time that could not be read is among the marks
    if isinstance(kind, Text | Integer) and not any((rule.pattern, rule.format in _FORMATS, rule.min_length,
                                                   rule.max_length, rule.minimum, rule.maximum)):  # fmt: skip
        return None
    if isinstance(kind, Choice):
        return _flag_choice(kind)
    return checker(kind, rule)


def _flag_choice(kind: Choice) -> Check:
    def check(value: Any, path: str, found: list[Problem]) -> None:
        if type(value) is not kind.of:
            found.append(Problem(path, "enum", f"is none of {', '.join(kind.of)}"))

    return check
