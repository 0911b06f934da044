"""Details of a record in the panel: its fields, timeline, related items and available actions."""

import json
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree as ET

import attr

from workbench.base.errors import visible
from workbench.base.schema import masks
from workbench.client.session import sandbox_of
from workbench.runs.sequences import Sequence
from workbench.sandbox.control_records import StoredRecord
from workbench.screens.forms.answers import private
from workbench.screens.panel import lists as things
from workbench.screens.panel.cells import Facts, Message
from workbench.service import rendering
from workbench.service.rendering.design import word
from workbench.service.rendering.markup import Kind, state_diagram
from workbench.service.rendering.show import describe
from workbench.service.rendering.text import Sheet, sentence

_NEWEST = slice(None, -21, -1)
"""Slice of the last twenty related items, newest first."""

_CENTS = ["limit", "available", "held", "posted", "refunded", "settled", "authorized", "amount"]


def fields(thing: object, *, reveal: bool = False) -> Message | None:
    """Return the fields of a record as plain values, with private values masked or revealed.

    The result is None if the record's row shows all of its fields.
    """
    if isinstance(thing, StoredRecord):
        return plain(dict(_readable(dict(thing) if reveal else thing.shown())))
    return plain(thing, private(thing) if reveal else ()) if thing else None


def plain(thing: object, reveal: Collection[str] = ()) -> Message:
    """Return the displayed members of a record as plain, printable values."""
    block = Sheet(title="", code=(thing.to_toml(),)) if isinstance(thing, Sequence) else describe(thing, reveal=reveal)

    def labeled(_: object, attribute: Any, value: Any) -> Any:
        return sentence(value) if attribute is not None and attribute.name == "label" else value

    return attr.asdict(block, retain_collection_types=False, value_serializer=labeled)


def _readable(stored: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the members of a stored record, with money and times formatted for people."""
    for name, value in stored.items():
        if value in (None, "") or name == "tenant":
            continue
        if name.endswith("_at") and isinstance(value, int):
            yield name, datetime.fromtimestamp(value / 1000, UTC)
        elif name in _CENTS and type(value) is int:
            yield name, rendering.money(value, stored.get("currency"))
        else:
            yield name, value


def related(api: object, key: str) -> Message:
    """Return the timeline of an id, with its newest events, deliveries and requests."""
    known_events = [kept for kept in things.received(api) if things.mentions(kept.event.body, key)]
    sandbox = sandbox_of(api)
    sent = [] if sandbox is None else sandbox.events()
    caused = [event for event in sent if things.mentions([event.payload, event.request_id], key)]
    ids = {kept.event.id for kept in known_events} | {event.payload["id"] for event in caused} | {key}
    delivered = [] if sandbox is None else [delivery for delivery in sandbox.deliveries() if delivery.event_id in ids]
    called = [call for call in things.entries(api) if things.mentions([call.id, call.request, call.answer], key)]

    def entry(key: object, title: str, at: object, **more: object) -> Message:
        return {"id": key, "title": visible(title, 200), "at": things.iso(at), **more}

    def written(event: object) -> str:
        return json.dumps(masks.masked(event), indent=2, ensure_ascii=False, default=str)

    events = [
        entry(kept.event.id, kept.event.kind, kept.arrived, json=written(kept.event)) for kept in known_events[_NEWEST]
    ]
    deliveries = [
        entry(
            delivery.id,
            f"{delivery.kind}: {delivery.state}",
            delivery.attempts[-1].at if delivery.attempts else delivery.due,
            fields=plain(delivery),
        )
        for delivery in delivered[_NEWEST]
    ]
    evidence = things.evidence_of(api)
    requests = [
        entry(call.id, f"{call.outcome}: {call.what}", call.started, fields=plain(things.call_facts(call, evidence)))
        for call in called[_NEWEST]
    ]
    timeline = list(_timeline(key, caused, known_events))
    return {"timeline": timeline, "events": events, "deliveries": deliveries, "requests": requests}


_HAPPENED = {"requested": "Authorization requested", "created": "Authorized", "completed": "Posted"}


def _timeline(key: str, caused: list[Any], known_events: list[Any]) -> Iterator[Message]:
    """Yield the history of a transaction or application, oldest first, on the sandbox's clock if there is one.

    A title is `Posted (settle)`, or `updated: approved (review)`.
    """
    moments = [(event.at, event.payload["action"], event.payload["body"], event.cause) for event in caused] or [
        (kept.arrived, kept.event.kind.partition(".")[2], masks.masked(kept.event.body), "") for kept in known_events
    ]
    for at, action, body, cause in moments:
        if not isinstance(body, Mapping) or body.get("id") != key:
            continue
        held = body.get("spend") or body
        status, cents = held.get("status") or held.get("applicationStatus"), held.get("amount")
        title, amount = f"{action}: {word(str(status))}" if status else action, None
        if type(cents) is int:
            refunded = action == "completed" and cents < 0
            title = "Refunded" if refunded else "Declined" if status == "declined" else _HAPPENED.get(action, action)
            amount = rendering.money(cents, held.get("currency"))
        title += f" ({rendering.label(cause)})" if cause else ""
        yield {"at": things.iso(at), "title": visible(title, 120), "amount": amount}


_STATES: Mapping[str, Kind] = {
    "transactions": "transaction", "disputes": "dispute", "cards": "card", "users": "application",
    "companies": "application",
}  # fmt: skip
"""State diagram of each list's records."""


def states(name: str, facts: Facts) -> list[Any] | None:
    """Return the state diagram of a record, which the page draws; None if the record has no states."""
    if name not in _STATES:
        return None
    return svg(state_diagram(_STATES[name], facts.get("status") or facts.get("application_status")))


def svg(text: str) -> list[Any]:
    """Convert an SVG image to nested lists of tag, attributes and contents, from which the page draws the image."""
    return _svg(ET.fromstring(text))  # noqa: S314


def _svg(element: ET.Element) -> list[Any]:
    text = [element.text] if element.text and element.text.strip() else []
    return [element.tag.rpartition("}")[2], dict(element.attrib), *text, *map(_svg, element)]
