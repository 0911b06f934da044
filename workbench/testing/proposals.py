"""Values that a recorded step suggests for a setting; a replay decides which of them agrees."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from workbench.base.schema.walk import get_path
from workbench.sandbox.extensions import LATER
from workbench.service.interface.assumptions import ANY, BEHAVIORS, STATUS, Behavior
from workbench.service.interface.table import OPERATIONS
from workbench.service.interface.vocabulary import EventApplicationStatus
from workbench.testing.facts import NAME, VERSION, declared, is_word
from workbench.testing.twin import Attempt, Step

Values = Iterator[Any]
Proposal = Callable[[Step, Attempt, Any], Values]
_CARD_REASONS = frozenset({"card_locked", "card_canceled", "card_not_activated"})
_LABELS = re.compile(r"[A-Z_]{2,40}(, ?[A-Z_]{2,40})*")
PARTS = frozenset(
    {
        "account_currency", "account_defaults", "currency", "error_bodies", "extra_members", "null_values",
        "status_links", "status_reasons", "success_codes", "tightened_roles", "unknown_values",
    }
)  # fmt: skip
"""Settings that are collections; each step shows a part of them."""


def proposed(name: str, step: Step, attempt: Attempt, current: object) -> list[Any]:
    """Return the values of a setting that a step suggests, other than the current one."""
    row = BEHAVIORS.get(name)
    if row is None or not row.settable:
        return []
    values = [*_BY_SETTING.get(name, _recorded)(step, attempt, current)]
    values += [] if name in PARTS else _listed(row, str(step.status))
    return _different([value for value in values if row.accepts(value)], current)


def alternatives(name: str, current: object) -> list[Any]:
    """Return other values of a setting; a step that shows it must differ under them."""
    row = BEHAVIORS.get(name)
    if row is None or not row.settable:
        return []
    return _different([*_listed(row, "422"), *(["400"] if STATUS in row.others else [])], current)


def _different(values: list[Any], current: object) -> list[Any]:
    return [value for i, value in enumerate(values) if value not in (current, *values[:i])]


def _listed(row: Behavior, status: str) -> list[Any]:
    values = (row.documented, row.observed, *row.others)
    return [status if value == STATUS else value for value in values if value != ANY]


def _recorded(step: Step, attempt: Attempt, current: object) -> Values:
    """Propose the words and numbers in which the step differs."""
    for path in sorted(attempt.differences):
        fact = attempt.recorded.get(path)
        if (is_word(fact) or type(fact) is int or VERSION.fullmatch(str(fact))) and fact not in _CARD_REASONS:
            yield fact


def _currency_of(path: str, pattern: str) -> Proposal:
    def propose(step: Step, attempt: Attempt, current: object) -> Values:
        currency = get_path(step.exchange.members, path) if step.exchange is not None else None
        if isinstance(currency, str) and re.fullmatch(pattern, currency):
            yield _toggled(current, currency)

    return propose


def _toggled(current: Any, item: str) -> tuple[str, ...]:
    kept = tuple(other for other in current if other != item)
    return kept if item in current else (*kept, item)


def _bodies(step: Step) -> Iterator[Mapping[str, Any]]:
    if step.exchange is not None:
        yield step.exchange.answered
        for owner in step.exchange.answered.get("ultimateBeneficialOwners") or ():
            yield owner if isinstance(owner, dict) else {}
    for event in (step.events or ())[:2]:
        yield event.get("body") or {}


def _links(step: Step, attempt: Attempt, current: object) -> Values:
    for body in _bodies(step):
        if body.get("applicationStatus") in tuple(EventApplicationStatus):  # external data: may be unhashable
            yield _toggled(current, body["applicationStatus"])


def _reasons(step: Step, attempt: Attempt, current: Any) -> Values:
    for body in _bodies(step):
        status, labels = body.get("applicationStatus"), body.get("applicationReason")
        if status in frozenset(EventApplicationStatus) and isinstance(labels, str):
            rest = {name: value for name, value in current.items() if name != status}
            if _LABELS.fullmatch(labels) and is_word(labels):
                yield {**rest, status: labels}
            elif not labels:
                yield rest


def _success(step: Step, attempt: Attempt, current: Any) -> Values:
    if step.name in OPERATIONS and step.status < 300:
        rest = {name: value for name, value in current.items() if name != step.name}
        yield rest if step.status == OPERATIONS[step.name].success else {**rest, step.name: step.status}


def _example(value: object) -> Any:
    """Return a fictitious value of the same JSON type, other than null."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return 0
    return "text" if isinstance(value, str) else type(value)()


def _error(step: Step, attempt: Attempt, current: Any) -> Values:
    answer = step.exchange.answered if step.exchange is not None else {}
    changes = {}
    for path in attempt.differences:
        name = path.removeprefix("error/")
        is_member = path.startswith("error/") and answer.get(name) is not None and name != "statusCode"
        if is_member and not name.isdecimal() and _is_open(step, name, 1):
            changes[name] = answer[name] if is_word(answer[name]) else _example(answer[name])
    if changes:
        status = str(step.status)
        yield {**current, status: {**current.get(status, {}), **changes}}


def _extra(step: Step, attempt: Attempt, current: Any) -> Values:
    """Propose members that the document does not name."""
    known = declared()
    places: dict[str, dict[str, Any]] = {name: dict(members) for name, members in current.items()}
    changed = False
    for path in attempt.differences:
        above, _, name = path.rpartition("/")
        place = _place(step, above)
        if path in attempt.shown or not place or name in known or name == LATER or not NAME.fullmatch(name):
            continue
        if attempt.recorded[path] is None:
            continue  # TOML has no null
        if above in attempt.shown and not _is_value(step, name):
            places.setdefault(place, {})[name] = _kind_of(attempt.recorded[path])
            changed = True
    if changed:
        yield places


def _place(step: Step, path: str) -> str:
    """Return the place of an object in an answer or event, as `extra_members` names it."""
    parts = [part for part in path.split("/") if not part.isdecimal()]
    if parts[0] == "answer":
        return "/".join([step.name, *parts[1:]]) if step.name in OPERATIONS else ""
    number = parts[0].removeprefix("event ")
    if not step.events or not number.isdecimal() or int(number) >= len(step.events) or parts[1:2] != ["body"]:
        return ""
    event = step.events[int(number)]
    return "/".join([f"{event.get('resource')}.{event.get('action')}", *parts[2:]])


def _kind_of(fact: object) -> Any:
    if fact == "object":
        return {}
    return [] if isinstance(fact, str) and fact.startswith("list of") else _example(fact)


def shown_path(step: Step, path: str) -> str:
    """Return the path of a fact, without names of members that may be private."""
    parts = path.split("/")
    return "/".join(part if _is_open(step, part, number) else "…" for number, part in enumerate(parts))


def _is_open(step: Step, part: str, number: int) -> bool:
    known = not number or (part.isdecimal() and len(part) < 6) or part in declared()
    return known or (NAME.fullmatch(part) is not None and not _is_value(step, part))


def _is_value(step: Step, name: str) -> bool:
    """Return whether a member's name also occurs as a value, and so may be private."""
    texts = [orjson.dumps([*(step.events or ())[:2]], default=str)]
    texts += [] if step.exchange is None else [step.exchange.sent, step.exchange.received, step.exchange.path.encode()]
    pattern = rb'["/]' + re.escape(name.encode()) + rb'(?:["/?](?!\s*:)|$)'
    return any(re.search(pattern, text, re.IGNORECASE) for text in texts)


def _later(step: Step, attempt: Attempt, current: object) -> Values:
    yield from _added(current, (path for path, fact in attempt.recorded.items() if fact == LATER))


def _nulls(step: Step, attempt: Attempt, current: object) -> Values:
    yield from _added(current, (path for path in attempt.differences if attempt.recorded.get(path, 0) is None))


def _added(current: Any, paths: Iterator[str]) -> Values:
    names = {path.rpartition("/")[2] for path in paths} - set(current)
    if names and names <= declared():
        yield (*current, *sorted(names))


def _defaults(step: Step, attempt: Attempt, current: Any) -> Values:
    account = step.exchange.answered.get("externalFiatAccount") if step.exchange is not None else None
    if isinstance(account, dict):
        shown = {name: account.get(name, value) for name, value in current.items()}
        yield {name: value if is_word(value) or type(value) is bool else current[name] for name, value in shown.items()}


def _roles(step: Step, attempt: Attempt, current: Any) -> Values:
    if step.name in OPERATIONS and not OPERATIONS[step.name].roles:
        rest = {name: role for name, role in current.items() if name != step.name}
        yield {**rest, step.name: "newRole"} if step.status == 403 else rest


_BY_SETTING: Mapping[str, Proposal] = {
    "currency": _currency_of("currency", "[A-Z]{3}"),
    "account_currency": _currency_of("externalFiatAccount.currency", "[a-z]{3}"),
    "status_links": _links,
    "status_reasons": _reasons,
    "success_codes": _success,
    "error_bodies": _error,
    "extra_members": _extra,
    "unknown_values": _later,
    "null_values": _nulls,
    "account_defaults": _defaults,
    "tightened_roles": _roles,
}
