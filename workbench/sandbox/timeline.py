"""Timeline of a sandbox: requests, the events they caused, and the attempts to deliver them.

api.sandbox.timeline()     # everything, oldest first
api.sandbox.why(event_id)  # the request behind an event, the event, and its deliveries
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from html import escape
from typing import Any

import attrs

from workbench.base.errors import UsageError, visible
from workbench.base.schema.walk import get_path
from workbench.sandbox.control_records import SandboxEvent, to_json
from workbench.service.rendering import money
from workbench.service.rendering.design import BAD, OPEN
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Cell, Grid

LANES = {"request": "→", "event": "•", "delivery": "⇢", "journal": "✎"}
"""Lanes and their symbols; a journal entry follows its request."""
_MOST_DRAWN = 40  # maximum number of happenings; more would overlap


@attrs.frozen(kw_only=True)
class Happening:
    """One row of a timeline: a request, an event or a delivery attempt."""

    key: str
    at: datetime
    lane: str
    title: str
    status: str
    request_id: str | None = None
    event_id: str | None = None
    subject: str = ""
    failed: bool = False
    details: Any = attrs.field(default=None, repr=False)
    record: Any = attrs.field(default=None, repr=False)

    def line(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        shown = attrs.asdict(self, recurse=False, filter=lambda field, _: field.name not in ("at", "key", "record"))
        return shown | {"at": f"{self.at:%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"}


class Timeline(Shown):
    """Rows in chronological order; displayed as a table."""

    def __init__(self, happenings: Iterable[Happening], title: str = "Timeline") -> None:
        self.happenings = tuple(happenings)
        self.title = title

    def __len__(self) -> int:
        return len(self.happenings)

    def __iter__(self) -> Iterator[Happening]:
        return iter(self.happenings)

    def sheet(self) -> Grid:
        """Return the table."""
        rows = tuple(
            (
                Cell((f"{happening.at:%H:%M:%S.%f}"[:-3],)),
                Cell((LANES[happening.lane],)),
                Cell((visible(happening.title, 60),)),
                Cell((visible(happening.status, 60),)),
                Cell((happening.subject[:8],)),
                Cell(((happening.request_id or "")[:8],)),
            )
            for happening in self.happenings
        )
        columns = ("at", "", "what", "status", "id", "request")
        return Grid(title=self.title, columns=columns, rows=rows, total=len(rows))

    __repr__ = Shown.__str__

    def _repr_html_(self) -> str:
        drawn = self.swimlanes() if 0 < len(self) <= _MOST_DRAWN else ""
        return drawn + super()._repr_html_()

    def swimlanes(self) -> str:
        """Return an SVG drawing with one lane for each kind of row. Lines connect causes and effects."""
        lanes = [lane for lane in LANES if any(happening.lane == lane for happening in self)]
        step, first = max(16, min(110, 600 // max(len(self), 1))), 90
        place = {
            happening.key: (first + step * i, 96 + 56 * lanes.index(happening.lane)) for i, happening in enumerate(self)
        }
        parts = [f'<text x="4" y="{100 + 56 * i}">{LANES[lane]} {lane}</text>' for i, lane in enumerate(lanes)]
        for entry in self:
            x, y = place[entry.key]
            cause = next((other for other in self if _caused(other, entry)), None)
            if cause is not None:
                parts.append(
                    '<path d="M {} {} L {} {}" stroke="currentColor" opacity="0.4"/>'.format(*place[cause.key], x, y)
                )
            said = escape(f"{entry.title}, {entry.status}")
            mark = f'<path d="M {x - 5} {y - 5} l 10 10 m 0 -10 l -10 10" stroke="{BAD.color}" stroke-width="3"/>'
            mark = mark if entry.failed else f'<circle cx="{x}" cy="{y}" r="5" fill="{OPEN.color}"/>'
            parts.append(f"<g><title>{said}</title>{mark}</g>")
            if step > 40:
                label = escape(visible(entry.title)[:24])
                parts.append(f'<text x="{x}" y="{y - 10}" transform="rotate(-20 {x} {y - 10})">{label}</text>')
        width, height = first + step * len(self) + 120, 96 + 56 * len(lanes)
        return (
            f'<svg role="img" aria-label="{escape(self.title)}" width="{width}" height="{height}" viewBox="0 0 '
            f'{width} {height}" '
            'fill="currentColor" font-family="sans-serif" font-size="11" '
            f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
        )


def _caused(cause: Happening, happening: Happening) -> bool:
    """Return whether one row caused another: a request its events and entries, an event its deliveries."""
    if happening.lane == "delivery":
        return cause.lane == "event" and cause.event_id == happening.event_id
    return (
        happening.lane != "request" and cause.lane == "request" and None is not happening.request_id == cause.request_id
    )


def _merged(requests: list[Happening], events: list[Happening]) -> Iterator[Happening]:
    """Yield each request followed by its events, and the events of controls in order of time."""
    place: dict[str | None, list[int]] = {}
    for number, event in enumerate(events):
        place.setdefault(event.request_id, []).append(number)
    done = 0
    for request in requests:
        caused = place.get(request.request_id) if request.request_id else None
        if caused:  # events of controls, of the clock and of older requests come first
            yield from events[done : caused[0]]
            done = caused[-1] + 1
        yield request
        yield from events[done - len(caused or ()) : done]
    yield from events[done:]


def _entries(requests: list[Happening], journal: Iterable[Any]) -> dict[str, list[Happening]]:
    """Return the journal's entries by the key of their request: the first request with the same operation, status and
    subject.
    """
    waiting = list(journal)
    by_request: dict[str, list[Happening]] = {}
    for request in requests:
        what = (request.record.operation, request.record.status, request.subject)
        entry = next(
            (entry for entry in waiting if (entry.operation, entry.status, _subject(entry.answer)) == what), None
        )
        if entry is not None:
            waiting.remove(entry)
            by_request[request.key] = [
                attrs.evolve(
                    request,
                    key=f"journal:{entry.id}",
                    lane="journal",
                    title=entry.operation,
                    status=str(entry.outcome),
                    failed=str(entry.outcome) != "done",
                    details={"id": entry.id, "what": entry.what, "request": dict(entry.request)},
                    record=entry,
                )
            ]
    return by_request


def _request(number: int, request: Any) -> Happening:
    seconds = f" in {float(request.seconds) * 1e3:.1f} ms" if request.seconds is not None else ""
    fault = f", fault {request.fault}" if request.fault else ""
    return Happening(
        key=f"request:{number}:{request.request_id}",
        at=request.at,
        lane="request",
        title=request.operation or f"{request.method} {request.path or '(not served)'}",
        status=f"{request.status}{seconds}{fault}",
        request_id=request.request_id,
        subject=_subject(request.answer),
        failed=request.status >= 400 or bool(request.fault),
        details=to_json(request),
        record=request,
    )


def _subject(answer: object) -> str:
    """Return the id of the resource in a response."""
    known = answer if isinstance(answer, Mapping) else {}
    return str(get_path(known, "transactionId") or get_path(known, "id") or "")


def _event(stored: SandboxEvent) -> Happening:
    event = stored.payload
    body = event["body"]
    amount = get_path(body, "spend.amount")
    status = get_path(body, "spend.status") or get_path(body, "applicationStatus") or get_path(body, "status") or ""
    shown = f"{status} {money(amount)}" if isinstance(amount, int) else str(status)
    return Happening(
        key=f"event:{stored.sequence}",
        at=stored.at,
        lane="event",
        title=f"{event['resource']}.{event['action']}",
        status=shown.strip(),
        request_id=stored.request_id,
        event_id=event["id"],
        subject=str(body.get("id", "")),
        details={**to_json(stored), "payload": stored.payload.shown()},
    )


def _delivery(delivery: Any, number: int, attempt: Any, known: dict[str | None, str | None]) -> Happening:
    accepted = attempt.status is not None and 200 <= attempt.status < 300
    return Happening(
        key=f"delivery:{delivery.id}:{number}",
        at=attempt.at,
        lane="delivery",
        title=f"{delivery.kind} to {delivery.endpoint[:8]}",
        status=str(attempt.status or attempt.error) + ("" if accepted else f", attempt {number + 1}"),
        request_id=known.get(delivery.event_id),
        event_id=delivery.event_id,
        failed=not accepted,
        details=to_json(delivery),
    )


class WithTimeline:
    """Timeline methods of embedded and served sandboxes."""

    def timeline(self, journal: Iterable[Any] = ()) -> Timeline:
        """Return the requests and events of the session's tenant, and the delivery attempts, in order.

        Args:
            journal: Journal of the caller, whose entries are placed after their requests.
        """
        sandbox: Any = self
        requests = [_request(number, request) for number, request in enumerate(sandbox.requests())]
        events = [_event(event) for event in sandbox.events()]
        causes = {event.event_id: event.request_id for event in events}
        attempts: dict[str | None, list[Happening]] = {}
        for delivery in sandbox.deliveries():
            tried = [_delivery(delivery, number, attempt, causes) for number, attempt in enumerate(delivery.attempts)]
            attempts.setdefault(delivery.event_id, []).extend(tried)
        entries = _entries(requests, journal)
        happenings = [
            entry
            for happening in _merged(requests, events)
            for entry in (happening, *entries.get(happening.key, ()), *attempts.get(happening.event_id, ()))
        ]
        return Timeline(
            sorted(happenings, key=lambda happening: happening.at)
        )  # stable: entries with the same time keep their order

    def why(self, event_id: str, journal: Iterable[Any] = ()) -> Timeline:
        """Return the request that caused an event, all events of that request, and the attempts to deliver this one.

        Args:
            event_id: Id of the event.
            journal: The caller's journal.

        Raises:
            UsageError: The sandbox has no such event.
        """
        happenings = self.timeline(journal)
        event = next(
            (happening for happening in happenings if happening.lane == "event" and happening.event_id == event_id),
            None,
        )
        if event is None:
            raise UsageError(f"there is no event {visible(event_id, 60)!r}", of="why")
        chain = [
            happening
            for happening in happenings
            if (
                happening.request_id is not None
                and happening.request_id == event.request_id
                and happening.lane != "delivery"
            )
            or happening.event_id == event_id
        ]
        return Timeline(chain, f"Why {event.title} {event_id[:8]}")
