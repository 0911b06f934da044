"""Reading a delivery as an event, and matching events. Size, form and depth are checked first; unknown members are kept."""

import hashlib
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any

from workbench.errors import InvalidWebhook, Problem
from workbench.interface import strict_json
from workbench.interface.convert import Unreadable, converter
from workbench.interface.events import MINIMUM_DEPOSIT, Event, MicroDepositReceived

MAX_BODY = 2**20
_MAX_DEPTH = 64
_REQUIRED = ("id", "resource", "action")
_NOTHING = object()

Where = Callable[[Event], Any] | Mapping[str, Any]
"""A function of the event, or values by dotted attribute paths of the event or of its body."""


class TooLarge(InvalidWebhook):
    """The body is larger than the limit; it was not parsed."""


def read_delivery(body: bytes, max_body: int = MAX_BODY) -> Event:
    """Read raw bytes as an event in its envelope.

    Raises:
        InvalidWebhook: Too large or deep, invalid or ambiguous JSON, or without id, resource or action.
    """
    if len(body) > max_body:
        raise TooLarge(f"The body has {len(body):,} bytes; the limit is {max_body:,}.")
    problem = None
    try:
        raw = strict_json.loads(body)
    except strict_json.NotJson as error:
        problem = f"Invalid or ambiguous JSON: {error}."
    if problem:
        body = b""  # a traceback that prints locals would show it
        raise InvalidWebhook(problem)
    if not isinstance(raw, Mapping):
        raise InvalidWebhook("The delivery is not a JSON object.")
    if _deeper_than(raw, _MAX_DEPTH):
        raise InvalidWebhook(f"The delivery is nested more than {_MAX_DEPTH} levels deep.")
    for name in _REQUIRED:
        if not isinstance(raw.get(name), str) or not raw[name]:
            raise InvalidWebhook(f"The delivery has no `{name}`.")
    if raw.get("body") is not None and not isinstance(raw["body"], Mapping | list):
        raise InvalidWebhook("`body` is not a JSON object.")
    try:
        event = converter().structure(raw, Event)
        _mark_deposit(event)
        return event
    except Unreadable as error:
        unreadable = {problem.path for problem in error.problems}
    # A member of an unknown type must not lose the event: it is kept in `extra`.
    event = converter().structure({name: value for name, value in raw.items() if name not in unreadable}, Event)
    object.__setattr__(event, "extra", {**event.extra, **{name: raw[name] for name in raw if name in unreadable}})
    return event


def _mark_deposit(event: Event) -> None:
    """Mark an amount that no micro deposit has: above zero and below 2.00 USD. Source: Limits."""
    amount = getattr(event.body, "amount", None)
    if (
        isinstance(event.body, MicroDepositReceived)
        and isinstance(amount, Decimal)
        and not 0 < amount < MINIMUM_DEPOSIT
    ):
        problem = Problem("body.amount", "range", f"is not between 0 and {MINIMUM_DEPOSIT} USD")
        object.__setattr__(event, "marks", (*event.marks, problem))


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
            if isinstance(inner, Mapping | list)
        ]
        if not level:
            return False
    return True


def resource_id(event: Event) -> str | None:
    """Return the id of the resource that the event is about."""
    found = event.body.get("id") if isinstance(event.body, Mapping) else getattr(event.body, "id", None)
    return None if found is None else str(found)


def state_digest(event: Event) -> bytes:
    """Return a digest of the state that an event reports: its body without links, which differ each time."""
    body = (
        event.body
        if isinstance(event.body, Mapping | list)
        else converter().unstructure(event.body)
        if event.body
        else None
    )
    if isinstance(body, Mapping):
        body = {name: value for name, value in body.items() if not str(name).endswith("Link")}
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=str).encode()).digest()


def matches(event: Event, kind: str | None, where: Where | None) -> bool:
    """Whether an event is of a kind and meets a condition."""
    if kind is not None and not fnmatchcase(event.kind, kind):
        return False
    if where is None:
        return True
    if not isinstance(where, Mapping):
        return bool(where(event))
    return all(_has(event, path, wanted) or _has(event.body, path, wanted) for path, wanted in where.items())


def _has(start: Any, path: str, wanted: Any) -> bool:
    value = start
    for name in path.split("."):
        value = value.get(name, _NOTHING) if isinstance(value, Mapping) else getattr(value, name, _NOTHING)
        if value is _NOTHING:
            return False
    return bool(wanted(value) if callable(wanted) else value == wanted)


def describe_mismatch(events: list[Event], kind: str | None, where: Where | None) -> str:
    """Describe the events that did not match: how many there are, and which conditions none meets. Never a value."""
    of_kind = [event for event in events if matches(event, kind, None)]
    if not of_kind:
        kinds = sorted({event.kind for event in events})
        return f"{len(events)} events stored" + (f" ({', '.join(kinds[:8])})." if kinds else ".")
    text = f"{len(of_kind)} of that kind stored, none of which matches"
    if isinstance(where, Mapping):
        unmet = [
            path for path, wanted in where.items() if not any(matches(one, kind, {path: wanted}) for one in of_kind)
        ]
        if unmet:
            text += f"; none has the expected {', '.join(unmet)}"
    return text + "."
