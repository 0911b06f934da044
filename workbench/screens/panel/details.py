"""Details of a record in the panel: fields, timeline, related items and available actions."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
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
from workbench.service import rendering
from workbench.service.rendering.design import word
from workbench.service.rendering.markup import Kind, state_diagram
from workbench.service.rendering.show import describe
from workbench.service.rendering.text import Sheet, sentence

_MAX_RELATED = 20
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

_CENTS = frozenset({"limit", "available", "held", "posted", "refunded", "settled", "authorized", "amount"})


def fields(thing: object, *, reveal: bool = False) -> dict[str, Any] | None:
    """Return the fields of a record as plain values, private ones masked or revealed; None if its row shows
    everything.
    """
    if isinstance(thing, StoredRecord):
        return plain(dict(_readable(dict(thing) if reveal else thing.shown())))
    return None if thing is None or thing == {} else plain(thing, private(thing) if reveal else ())


def plain(thing: object, reveal: Collection[str] = ()) -> dict[str, Any]:
    """Return the displayed members of a record as plain, printable values."""
    block = Sheet(title="", code=(thing.to_toml(),)) if isinstance(thing, Sequence) else describe(thing, reveal=reveal)
    return attr.asdict(block, retain_collection_types=False)


def _readable(stored: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the members of a stored record, with money and times formatted for people."""
    for name, value in stored.items():
        if value is None or value == "" or name == "tenant":
            continue
        if name.endswith("_at") and isinstance(value, int):
            yield name, datetime.fromtimestamp(value / 1000, UTC)
        elif name in _CENTS and type(value) is int:
            yield name, rendering.money(value, stored.get("currency"))
        else:
            yield name, value


def related(api: object, key: str) -> dict[str, Any]:
    """Return the timeline of an id, and its newest events, deliveries and requests."""
    known_events = [kept for kept in things.received(api) if key and things.mentions(kept.event.body, key)]
    sandbox = sandbox_of(api)
    caused = (
        []
        if sandbox is None or not key
        else [event for event in sandbox.events() if things.mentions([event.payload, event.request_id], key)]
    )
    ids = {kept.event.id for kept in known_events} | {event.payload["id"] for event in caused} | {key}
    delivered = [] if sandbox is None else [delivery for delivery in sandbox.deliveries() if delivery.event_id in ids]
    called = [
        entry for entry in things.entries(api) if key and things.mentions([entry.id, entry.request, entry.answer], key)
    ]

    def entry(key: object, title: str, at: object, **more: object) -> dict[str, Any]:
        return {"id": key, "title": visible(title, 200), "at": things.iso(at), **more}

    written = partial(json.dumps, indent=2, ensure_ascii=False, default=str)
    events = [
        entry(event.event.id, event.event.kind, event.arrived, json=written(masks.masked(event.event)))
        for event in reversed(known_events[-_MAX_RELATED:])
    ]
    deliveries = [
        entry(
            delivery.id,
            f"{delivery.kind}: {delivery.state}",
            delivery.attempts[-1].at if delivery.attempts else delivery.due,
            fields=plain(delivery),
        )
        for delivery in delivered[-_MAX_RELATED:]
    ]
    evidence = things.evidence_of(api)
    requests = [
        entry(call.id, f"{call.outcome}: {call.what}", call.started, fields=plain(things.call_facts(call, evidence)))
        for call in reversed(called[-_MAX_RELATED:])
    ]
    timeline = list(_timeline(key, caused, known_events))
    return {"timeline": timeline, "events": events, "deliveries": deliveries, "requests": requests}


_HAPPENED = {"requested": "Authorization requested", "created": "Authorized", "completed": "Posted"}


def _timeline(key: str, caused: list[Any], known_events: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield what happened to a transaction or an application, oldest first, by the sandbox's clock if there is one.

    A title is `Posted (settle)`, or `updated: approved (review)`.
    """
    if caused:
        moments = [
            (things.iso(event.at), event.payload["action"], event.payload["body"], event.cause) for event in caused
        ]
    else:
        moments = [
            (things.iso(kept.arrived), kept.event.kind.partition(".")[2], masks.masked(kept.event.body), None)
            for kept in known_events
        ]
    for at, action, body, cause in moments:
        if not isinstance(body, Mapping) or body.get("id") != key:
            continue
        held = body.get("spend") or body
        status, cents = held.get("status") or held.get("applicationStatus"), held.get("amount")
        if type(cents) is int:
            refunded = action == "completed" and cents < 0
            title = "Refunded" if refunded else "Declined" if status == "declined" else _HAPPENED.get(action, action)
        else:
            title = f"{action}: {word(str(status))}" if status else action
        title += f" ({rendering.label(cause)})" if cause else ""
        amount = rendering.money(cents, held.get("currency")) if type(cents) is int else None
        yield {"at": at, "title": visible(title, 120), "amount": amount}


_STATES: Mapping[str, tuple[Kind, str]] = {
    "transactions": ("transaction", "status"), "disputes": ("dispute", "status"), "cards": ("card", "status"),
    "users": ("application", "application_status"), "companies": ("application", "application_status"),
}  # fmt: skip
"""State diagram of each list's records, and the column of their current state."""


def states(name: str, facts: Mapping[str, Any]) -> list[Any] | None:
    """Return the state diagram of a record as an element of `sections`; None if it has no states."""
    if name not in _STATES:
        return None
    kind, column = _STATES[name]
    return svg(state_diagram(kind, facts.get(column)))


def svg(text: str) -> list[Any]:
    """Return an image made by the workbench as an element that the page draws."""
    return _svg(ET.fromstring(text))  # noqa: S314


def _svg(element: ET.Element) -> list[Any]:
    text = [element.text] if element.text and element.text.strip() else []
    return [element.tag.rpartition("}")[2], dict(element.attrib), *text, *map(_svg, element)]


# Elements for the page: lists of tag, attributes and content (texts and elements).


def sections(shown: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield the parts of the details below the facts, as elements that the page draws.

    Args:
        shown: The details, as of `panel.show`.
    """
    if shown["timeline"]:
        happened = [
            [
                "li",
                {},
                ["span", {}, entry["title"]],
                _div("amount", entry["amount"]),
                ["time", {"datetime": entry["at"] or ""}],
            ]
            for entry in shown["timeline"]
        ]
        yield _section("Timeline", ["ol", {"class": "timeline"}, *happened])
    if shown["states"]:
        yield _section("States", shown["states"], tabindex=0, role="region", aria_label="States")
    if shown["links"]:
        buttons = (
            [
                "button",
                {"class": "link", "data-list": link["list"], "data-filter": link["filter"]},
                sentence(link["list"]),
            ]
            for link in shown["links"]
        )
        yield _section("Related", _div("actions", *buttons))
    for title in ("Events", "Deliveries", "Requests"):
        listed, kind = shown[title.lower()], {"Deliveries": "delivery"}.get(title, title[:-1].lower())
        if listed:
            yield _section(
                title, *(_folded(item, title.lower(), kind, shown["id"]) for item in listed), count=len(listed)
            )
    if shown["fields"]:
        is_file = bool(shown["fields"].get("code"))
        content = ["div", {"class": "record"}, element(shown["fields"], shown["id"])]
        summary = ["summary", {}, "File" if is_file else "All fields"]
        yield ["section", {}, ["details", {"open": is_file}, summary, content]]


def element(block: Mapping[str, Any], key: str = "") -> list[Any] | str:
    """Return the fields of a record as an element; ids of other records than `key` are links."""
    if "lines" in block:
        text = "\n".join(block["lines"])
        if _UUID.fullmatch(text) and text != key:
            return _link(text, "any", text, "link mono")
        return ["span", {"class": "pill other"}, text] if block["role"].startswith("status") else text
    if "columns" in block:
        body: Iterator[Any] = (["tr", {}, *(["td", {}, element(cell, key)] for cell in row)] for row in block["rows"])
        heads = ["thead", {}, ["tr", {}, *(["th", {}, name] for name in block["columns"])]]
        return ["table", {}, heads, ["tbody", {}, *body]]
    rows: list[Any] = []
    for row in block["rows"]:
        warning = _div("warn", row["warning"]) if row["warning"] else ""
        assumed = ["details", {"class": "quiet"}, ["summary", {}, "assumed"], row["assumed"]] if row["assumed"] else ""
        rows += [["dt", {}, sentence(row["label"])], ["dd", {}, element(row["value"], key), warning, assumed]]
    texts = [_div("quiet", text) for text in (*block["words"], *block["notes"])]
    return ["div", {}, *texts, *(["pre", {"tabindex": 0}, code] for code in block["code"]), ["dl", {}, *rows]]


def _folded(item: Mapping[str, Any], to: str, kind: str, key: str) -> list[Any]:
    content = ["pre", {"tabindex": 0}, item["json"]] if "json" in item else element(item["fields"], key)
    at = (item["at"] or "")[:19].replace("T", " ")
    summary = ["summary", {}, item["title"], " ", ["span", {"class": "quiet"}, at and f"{at} UTC"]]
    return ["details", {}, summary, "" if item["id"] == key else _link(item["id"], to, f"Open {kind}"), content]


def _section(title: str, *content: object, count: int | None = None, **attributes: object) -> list[Any]:
    of = {name.replace("_", "-"): value for name, value in attributes.items()}
    shown = title if count is None else f"{title} ({count})"
    return ["section", {"class": f"related-{title.lower()}", **of}, ["h3", {}, shown], *content]


def _link(key: str, to: str, text: str, look: str = "link") -> list[Any]:
    return ["button", {"class": look, "data-id": key, "data-to": to}, text]


def _div(look: str, *content: object) -> list[Any]:
    return ["div", {"class": look}, *content]
