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
from workbench.interface.walk import get_path

MAX_BODY = 2**20
_MAX_DEPTH = 64

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
    try:
        raw = strict_json.loads(body, max_depth=_MAX_DEPTH)
    except strict_json.NotJson as error:
        raise InvalidWebhook(f"Invalid or ambiguous JSON: {error}.") from None
    if not isinstance(raw, Mapping):
        raise InvalidWebhook("The delivery is not a JSON object.")
    for name in ("id", "resource", "action"):
        if not isinstance(raw.get(name), str) or not raw[name]:
            raise InvalidWebhook(f"The delivery has no `{name}`.")
    if raw.get("body") is not None and not isinstance(raw["body"], Mapping | list):
        raise InvalidWebhook("`body` is not a JSON object.")
    try:
        event = converter().structure(raw, Event)
    except Unreadable as error:  # a member of an unknown type must not lose the event: it is kept in `extra`
        unreadable = {problem.path for problem in error.problems}
        event = converter().structure({name: value for name, value in raw.items() if name not in unreadable}, Event)
        object.__setattr__(event, "extra", {**event.extra, **{name: raw[name] for name in raw if name in unreadable}})
    deposit = event.body.amount if isinstance(event.body, MicroDepositReceived) else None
    if isinstance(deposit, Decimal) and not 0 < deposit < MINIMUM_DEPOSIT:  # Source: Limits
        problem = Problem("body.amount", "range", f"is not between 0 and {MINIMUM_DEPOSIT} USD")
        object.__setattr__(event, "marks", (*event.marks, problem))
    return event


def state_digest(event: Event) -> bytes:
    """Return a digest of the state that an event reports: its body without links, which differ each time."""
    body = converter().unstructure(event.body)
    if isinstance(body, Mapping):
        body = {name: value for name, value in body.items() if not str(name).endswith("Link")}
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=str).encode()).digest()


def matches(event: Event, kind: str | None, where: Where | None) -> bool:
    """Whether an event is of a kind and meets a condition."""
    if kind is not None and not fnmatchcase(event.kind, kind):
        return False
    if where is None or not isinstance(where, Mapping):
        return where is None or bool(where(event))
    return all(_meets(event, path, wanted) for path, wanted in where.items())


def _meets(event: Event, path: str, wanted: Any) -> bool:
    found = [value for value in (get_path(event, path), get_path(event.body, path)) if value is not None]
    if wanted is None:
        return not found
    return any(wanted(value) if callable(wanted) else value == wanted for value in found)


def describe_mismatch(events: list[Event], kind: str | None, where: Where | None) -> str:
    """Describe the events that did not match: how many there are, and which conditions none meets. Never a value."""
    of_kind = [event for event in events if matches(event, kind, None)]
    if not of_kind:
        kinds = sorted({event.kind for event in events})
        return f"{len(events)} events stored" + (f" ({', '.join(kinds[:8])})." if kinds else ".")
    conditions = where.items() if isinstance(where, Mapping) else ()
    unmet = [path for path, wanted in conditions if not any(_meets(one, path, wanted) for one in of_kind)]
    return f"{len(of_kind)} of that kind stored, none of which matches" + (
        f"; none has the expected {', '.join(unmet)}." if unmet else "."
    )
