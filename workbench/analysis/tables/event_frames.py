"""Frames of webhook events with their times, and of card transactions built from their events."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any

import attrs
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.tables.columns import MOMENT_TYPE, OPEN, Column, FrameLayout, layout_of
from workbench.analysis.tables.rows import Notes, Table, arrow_table, table_frame
from workbench.base.arguments import a_type
from workbench.base.errors import UsageError, visible
from workbench.base.schema import strict_json
from workbench.base.schema.walk import DateTime, Text
from workbench.client.session import sandbox_times
from workbench.client.webhooks.inbox import Inbox
from workbench.client.webhooks.store import StoredEvent
from workbench.sandbox.control_records import SandboxEvent
from workbench.service.interface.convert import converter, read_time
from workbench.service.interface.events import EVENT_KINDS, Event

DELIVERY = "delivery"
"""`at_source` if the time is not from the event, but stated by its delivery or recorded by the sandbox."""

ARRIVAL = "arrival"
"""`at_source` if the time is when this machine received the delivery, by the machine's clock."""

UNREAD_TIME = "a delivery time that cannot be read"
"""Remark on a delivery whose stated time is not ISO 8601 or Unix time."""

COMPUTED = ("kind", "at", "at_source")
"""Columns of event frames that are not members of the event."""

_COMPLETED = EVENT_KINDS["transaction.completed"].name


def has_events(x: object) -> bool:
    """Return whether x is an event, an inbox, a session, or a list of events from an inbox, a sandbox or a run."""
    if isinstance(x, list | tuple):
        return bool(x) and all(map(_is_event, x))
    return isinstance(x, Inbox) or _is_event(x) or _is_session(x)


def _is_session(x: object) -> bool:
    return isinstance(getattr(type(x), "inbox", None), property)


def _is_event(x: object) -> bool:
    return isinstance(x, Event | StoredEvent | SandboxEvent) or (
        isinstance(x, Mapping) and envelope_of(x)[0].keys() >= {"resource", "action"}
    )


def envelope_of(x: Mapping[str, Any]) -> tuple[Mapping[str, Any], object]:
    """Return the event in a delivery or log line, and the time that the delivery or line states for the event."""
    if {"resource", "action"} <= x.keys():
        return x, x.get("at")
    for name in ("event", "payload", "body", "data"):
        inner: object = x.get(name)
        if isinstance(inner, str) and inner.lstrip()[:1] == "{":
            with suppress(strict_json.NotJson):
                inner = strict_json.loads(inner.encode())
        if isinstance(inner, Mapping) and inner.keys() >= {"resource", "action"}:
            return inner, next((x[time] for time in ("at", "received_at", "receivedAt") if x.get(time)), None)
    return x, x.get("at")


def delivered_events(x: Any) -> list[tuple[Event, object, str]]:
    """Return events, each with the stated time of its delivery or occurrence, if any, and the clock of that time.

    Args:
        x: Events, an inbox, a run of a sequence, a list from one of these, or a session (with a sandbox, the sandbox's
            times are used).
    """
    happened: dict[str, datetime] = {}
    if _is_session(x):
        happened, x = sandbox_times(x), x.inbox
    if isinstance(x, Inbox):
        x = x.stored()
    elif callable(getattr(x, "events", None)):
        x = x.events()
    events = []
    is_item = _is_event(x) or isinstance(x, Mapping | str) or not isinstance(x, Iterable)
    for item in [x] if is_item else x:
        event: Event = item
        at: object = None
        clock = DELIVERY
        if isinstance(item, StoredEvent):
            event, at, clock = item.event, item.arrived, ARRIVAL
        elif isinstance(item, SandboxEvent):
            event, at = item.event, item.at
        elif isinstance(item, Mapping):
            inner, at = envelope_of(item)
            event = converter().structure(inner, Event)
        elif not _is_event(item):
            raise UsageError(f"expected events, a log, an inbox, a session, a run or a frame, not {a_type(item)}")
        if event.id in happened:
            at, clock = happened[event.id], DELIVERY
        events.append((event, at, clock))
    return events


def time_of(at: object, notes: Notes) -> datetime | None:
    """Parse the time stated for an event; None without a readable time. An unreadable time is noted."""
    if isinstance(at, int | float | Decimal):
        at = str(int(at))
    elif isinstance(at, datetime) and at.tzinfo is None:
        at = at.isoformat()
    read = read_time(at)[0] if isinstance(at, str) else at
    if isinstance(read, datetime) and read.tzinfo:
        return read
    if at not in (None, ""):
        notes.unusual["at", UNREAD_TIME] += 1
    return None


def kinds_of(of: str | None) -> frozenset[str] | None:
    """Return the event kinds that match a name or a pattern such as "transaction.*"; None for all, even unknown kinds.

    Raises:
        UsageError: No kind matches; the message lists the known kinds.
    """
    if of is None:
        return None
    kinds = frozenset(kind for kind in EVENT_KINDS if fnmatchcase(kind, of))
    if not kinds:
        names = ", ".join(EVENT_KINDS)
        raise UsageError(
            f"unknown event kind {visible(of, 80)} (known: {names}; patterns such as transaction.*)", of="events"
        )
    return kinds


def events_frame(
    x: object, of: str | None = None, reveal: Collection[str] = (), *, nameless: bool = False
) -> pd.DataFrame:
    """Return a frame of events: the envelope, `at`, then the `body.…` columns of each kind that occurs.

    Args:
        x: The events; see `delivered_events`.
        of: Keep only events whose kind, known or unknown, matches this name or pattern. The columns of the matching
            kinds exist even in an empty frame.
        reveal: Names of masked columns to show.
        nameless: Whether to keep objects without resource and action too.
    """
    kinds = kinds_of(of)
    rows = [
        row
        for row in delivered_events(x)
        if of is None or fnmatchcase(row[0].kind or "", of) or (nameless and not row[0].resource)
    ]
    columns = events_layout({event.kind for event, *_ in rows} if kinds is None else kinds)
    revealed = columns.shown(reveal)
    table = arrow_table(columns, [event for event, *_ in rows], revealed)
    inbox = getattr(x, "inbox", None) if _is_session(x) else x
    if isinstance(inbox, Inbox) and (unreadable := inbox.unreadable()):
        table.notes.notes.append(
            f"{len(unreadable):,} signed deliveries could not be read and are missing here; see inbox.unreadable()."
        )
    delivered = pa.array([time_of(at, table.notes) for _, at, _ in rows], MOMENT_TYPE)
    clocks = pa.array([clock for *_, clock in rows], pa.large_string())
    return table_frame(columns, [with_times(table, delivered, clocks)], revealed)


def with_times(table: Table, delivered: object = None, clocks: object = None) -> Table:
    """Add the columns `at` and `at_source`: the time of each event, and the column or clock that it comes from.

    The time is `event_received_at`, else the time of the delivery, else a time in the body. The body has the posting
    time of a completed transaction, the authorization time of any other transaction, and the arrival time of a micro
    deposit.

    Args:
        table: The events.
        delivered: The delivery time of each event.
        clocks: Name of each delivery's clock; default `DELIVERY`.
    """
    columns = table.columns
    completed = pc.equal(columns["kind"], _COMPLETED)
    sources = {"event_received_at": columns["event_received_at"], DELIVERY: delivered}
    for name in ("body.spend.posted_at", "body.spend.authorized_at", "body.received_at"):
        sources[name] = columns.get(name)
    if sources["body.spend.posted_at"] is not None:
        sources["body.spend.posted_at"] = pc.if_else(completed, sources["body.spend.posted_at"], None)
    times = {name: values for name, values in sources.items() if values is not None}
    names = [
        pc.if_else(
            pc.is_valid(values),
            clocks if name == DELIVERY and clocks is not None else pa.scalar(name, pa.large_string()),
            None,
        )
        for name, values in times.items()
    ]
    return Table({**columns, "at": pc.coalesce(*times.values()), "at_source": pc.coalesce(*names)}, table.notes)


def events_layout(kinds: Collection[str]) -> FrameLayout:
    """Return the columns of events of the given kinds, in the interface's order."""
    envelope = layout_of(Event)
    columns = [column for column in envelope.columns if column.name != "body"]
    for name in COMPUTED:
        kind = DateTime() if name == "at" else Text()
        columns.insert(3 if name == "kind" else len(columns), Column(name=name, wire="", kind=kind, about=OPEN))
    answers = [*envelope.answers, ("body.", "body.")]
    for row in EVENT_KINDS.values():
        if row.name in kinds:
            body = layout_of(row.body)  # type: ignore[arg-type]  # records are compared by value, their classes are not
            columns += [attrs.evolve(c, name=f"body.{c.name}", wire=f"body.{c.wire}") for c in body.columns]
            answers += [(f"body.{path}", f"body.{wire}") for path, wire in body.answers]
    by_name = {column.name: column for column in columns}
    return attrs.evolve(envelope, columns=tuple(by_name.values()), answers=tuple(dict.fromkeys(answers)))
