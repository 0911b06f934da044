"""A delivery's bytes as an event. Guards first: size, form, depth. What is unknown is kept as it came."""

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from workbench.errors import InvalidWebhook, Problem
from workbench.interface import strict_json
from workbench.interface.convert import Unreadable, converter
from workbench.interface.events import MINIMUM_DEPOSIT, Event, MicroDepositReceived

MAX_BODY = 2**20
_MAX_DEPTH = 64
_NEEDED = ("id", "resource", "action")


class TooLarge(InvalidWebhook):
    """The body is larger than the cap; it was not parsed."""


def read_delivery(body: bytes, max_body: int = MAX_BODY) -> Event:
    """Read raw bytes as an event in its envelope.

    Raises:
        InvalidWebhook: Too large or deep, not JSON of one meaning, or without id, resource or action.
    """
    if len(body) > max_body:
        raise TooLarge(f"The body has {len(body):,} bytes; at most {max_body:,} are taken.")
    problem = None
    try:
        raw = strict_json.loads(body)
    except strict_json.NotJson as error:
        problem = f"The body is not JSON of one meaning: {error}."
    if problem:
        body = b""  # a traceback that prints locals would show it
        raise InvalidWebhook(problem)
    if not isinstance(raw, Mapping):
        raise InvalidWebhook("The body is not an object.")
    if _deeper_than(raw, _MAX_DEPTH):
        raise InvalidWebhook(f"The body is nested more than {_MAX_DEPTH} deep.")
    for name in _NEEDED:
        if not isinstance(raw.get(name), str) or not raw[name]:
            raise InvalidWebhook(f"The envelope has no {name}.")
    try:
        event = converter().structure(raw, Event)
        _mark_deposit(event)
        return event
    except Unreadable as error:
        odd = {problem.path for problem in error.problems}
    # An envelope member of an unknown type must not lose the event: it is kept beside the known ones.
    event = converter().structure({name: value for name, value in raw.items() if name not in odd}, Event)
    object.__setattr__(event, "extra", {**event.extra, **{name: raw[name] for name in raw if name in odd}})
    return event


def _mark_deposit(event: Event) -> None:
    """Mark an amount that no micro deposit has: they are above nothing and below 2.00 USD. Source: Limits."""
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
    """Return the id of what the event is about."""
    found = event.body.get("id") if isinstance(event.body, Mapping) else getattr(event.body, "id", None)
    return None if found is None else str(found)


def state(event: Event) -> bytes:
    """Return a digest of the state that an event reports: its body, but for links, which are made anew each time."""
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
