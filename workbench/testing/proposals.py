"""Values that a recorded step suggests for a setting. A replay decides which value agrees with the step."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.base.schema.walk import get_path
from workbench.service.interface.assumptions import ANY, BEHAVIORS, STATUS
from workbench.service.interface.table import OPERATIONS
from workbench.testing.facts import VERSION, is_word
from workbench.testing.twin import Attempt, Step

Values = Iterator[Any]
Proposal = Callable[[Step, Attempt, Any], Values]
_NOT_PROPOSED = frozenset({"card_locked", "card_canceled", "card_not_activated", "text"})
"""Reasons that a card's status explains, and the fact that replaces undocumented text."""
_CURRENCY = re.compile("[A-Z]{3}|[a-z]{3}")
PARTS = frozenset(
    {
        "account_currency", "account_defaults", "currency", "error_bodies", "null_values", "status_links",
        "success_codes",
    }
)  # fmt: skip
"""Settings that are collections. Each step shows only some items."""
_NOT_LEARNED = frozenset({"extra_members", "status_reasons", "tightened_roles", "unknown_members", "unknown_values"})
"""Settings about members that are not compared, and settings that rehearse a change with invented words."""


def proposed(name: str, step: Step, attempt: Attempt, current: object) -> list[Any]:
    """Return the values that a step suggests for a setting, other than the current value."""
    if name in _NOT_LEARNED:
        return []
    if name not in BEHAVIORS:
        return alternatives(name, current)
    values = _BY_SETTING.get(name, _recorded)(step, attempt, current)
    listed = [] if name in PARTS else alternatives(name, current, str(step.status))
    return _different([*filter(BEHAVIORS[name].accepts, (*values, *listed))], current)


def alternatives(name: str, current: object, status: str = "422") -> list[Any]:
    """Return other values of a setting. A step that shows the setting must differ under these values."""
    if name not in BEHAVIORS:
        return [not current]  # true or false: whether the service reads a name in a query
    row = BEHAVIORS[name]
    values = [status if value == STATUS else value for value in (row.documented, row.observed, *row.others)]
    return _different([value for value in values if value != ANY], current)


def _different(values: list[Any], current: object) -> list[Any]:
    return [value for i, value in enumerate(values) if value not in (current, *values[:i])]


def _recorded(step: Step, attempt: Attempt, current: object) -> Values:
    """Propose the documented words and the numbers that were recorded where the step differs."""
    for path in sorted(attempt.differences):
        fact = attempt.recorded.get(path)
        if (is_word(fact) or type(fact) is int or VERSION.fullmatch(str(fact))) and fact not in _NOT_PROPOSED:
            yield fact


def _toggled(path: str) -> Proposal:
    """Return a proposal that adds or removes the word at a path in a call, an answer or an event."""

    def propose(step: Step, attempt: Attempt, current: Any) -> Values:
        x, events = step.exchange, step.events or ()
        bodies = [] if x is None else [x.members, x.answered, *(x.answered.get("ultimateBeneficialOwners") or ())]
        for body in [*bodies, *(event.get("body") for event in events[:2])]:
            word = get_path(body, path)
            if isinstance(word, str) and (is_word(word) or _CURRENCY.fullmatch(word)):
                rest = tuple(other for other in current if other != word)
                yield rest if word in current else (*rest, word)

    return propose


def _success(step: Step, attempt: Attempt, current: Any) -> Values:
    if step.name in OPERATIONS and step.status < 300:
        rest = {name: value for name, value in current.items() if name != step.name}
        yield rest if step.status == OPERATIONS[step.name].success else {**rest, step.name: step.status}


def _error(step: Step, attempt: Attempt, current: Any) -> Values:
    status, fact = str(step.status), attempt.recorded.get("error/error")
    if isinstance(fact, str):
        yield {**current, status: {**current.get(status, {}), "error": fact}}


def _nulls(step: Step, attempt: Attempt, current: Any) -> Values:
    paths = [path for path in attempt.differences if attempt.recorded.get(path, 0) is None]
    names = {path.rpartition("/")[2] for path in paths} - set(current)
    if names:
        yield (*current, *sorted(names))


def _defaults(step: Step, attempt: Attempt, current: Any) -> Values:
    facts = {path.rpartition("/")[2]: attempt.recorded.get(path) for path in attempt.differences}
    known = {name: fact for name, fact in facts.items() if is_word(fact) or type(fact) is bool}
    yield {name: known.get(name, value) for name, value in current.items()}


_BY_SETTING: Mapping[str, Proposal] = {
    "currency": _toggled("currency"),
    "account_currency": _toggled("externalFiatAccount.currency"),
    "status_links": _toggled("applicationStatus"),
    "success_codes": _success,
    "error_bodies": _error,
    "null_values": _nulls,
    "account_defaults": _defaults,
}
