"""What happened in a sandbox, in one order: requests, the events they caused, and each attempt to deliver those.

api.sandbox.timeline()            # everything, the oldest first
api.sandbox.why(event_id)         # the request behind an event, the event, and its deliveries
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from html import escape
from typing import Any

import attrs

from workbench.errors import UsageError, visible
from workbench.rendering import money
from workbench.rendering.markup import Shown
from workbench.rendering.text import Cell, Grid
from workbench.sandbox.control_records import to_json
from workbench.schema.walk import get_path

LANES = {"request": "→", "event": "•", "delivery": "⇢", "journal": "✎"}
"""What happens, with the sign of its lane; an entry of the caller's journal stands after its request."""
_MOST_DRAWN = 40  # happenings; more would stand on each other


@attrs.frozen(kw_only=True)
class Happening:
    """One thing that happened: a request, an event or an attempt to deliver one.

    Attributes:
        key: Tells it from others; the same at each look.
        at: When, by the sandbox's clock.
        lane: "request", "event", "delivery" or "journal".
        title: Operation, kind of event, or kind and endpoint.
        status: HTTP status, the event's status, or why a delivery failed.
        request_id: The request it came from, where one is known.
        event_id: The event, of events and deliveries.
        subject: Id of the resource that changed.
        failed: Whether it was refused or not delivered.
        details: Everything known of it, masked, as JSON values.
        record: The record it was made from.
    """

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
        """Return it as JSON values."""
        shown = attrs.asdict(self, recurse=False, filter=lambda field, _: field.name not in ("at", "key", "record"))
        return shown | {"at": f"{self.at:%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"}


class Timeline(Shown):
    """Happenings in order; it shows as a table."""

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
                Cell((f"{one.at:%H:%M:%S.%f}"[:-3],)), Cell((LANES[one.lane],)), Cell((visible(one.title, 60),)),
                Cell((visible(one.status, 60),)), Cell((one.subject[:8],)), Cell(((one.request_id or "")[:8],)),
            )
            for one in self.happenings
        )  # fmt: skip
        columns = ("at", "", "what", "status", "id", "request")
        return Grid(title=self.title, columns=columns, rows=rows, total=len(rows))

    __repr__ = Shown.__str__

    def _repr_html_(self) -> str:
        drawn = self.swimlanes() if 0 < len(self) <= _MOST_DRAWN else ""
        return drawn + super()._repr_html_()

    def swimlanes(self) -> str:
        """Return an SVG picture: a lane for each kind of happening, from left to right, causes joined to what they caused."""
        lanes = [lane for lane in LANES if any(one.lane == lane for one in self)]
        step, first = max(16, min(110, 600 // max(len(self), 1))), 90
        place = {one.key: (first + step * i, 96 + 56 * lanes.index(one.lane)) for i, one in enumerate(self)}
        parts = [f'<text x="4" y="{100 + 56 * i}">{LANES[lane]} {lane}</text>' for i, lane in enumerate(lanes)]
        for one in self:
            x, y = place[one.key]
            cause = next((other for other in self if _caused(other, one)), None)
            if cause is not None:
                parts.append(
                    '<path d="M {} {} L {} {}" stroke="currentColor" opacity="0.4"/>'.format(*place[cause.key], x, y)
                )
            said = escape(f"{one.title}, {one.status}")
            mark = f'<path d="M {x - 5} {y - 5} l 10 10 m 0 -10 l -10 10" stroke="#c62828" stroke-width="3"/>'
            mark = mark if one.failed else f'<circle cx="{x}" cy="{y}" r="5" fill="#1976d2"/>'
            parts.append(f"<g><title>{said}</title>{mark}</g>")
            if step > 40:
                words = escape(visible(one.title)[:24])
                parts.append(f'<text x="{x}" y="{y - 10}" transform="rotate(-20 {x} {y - 10})">{words}</text>')
        width, height = first + step * len(self) + 120, 96 + 56 * len(lanes)
        return (
            f'<svg role="img" aria-label="{escape(self.title)}" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'fill="currentColor" font-family="sans-serif" font-size="11" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
        )


def _caused(cause: Happening, one: Happening) -> bool:
    """Whether a happening is what brought another one about: a request its events and entries, an event its deliveries."""
    if one.lane == "delivery":
        return cause.lane == "event" and cause.event_id == one.event_id
    return one.lane != "request" and cause.lane == "request" and None is not one.request_id == cause.request_id


def _merged(requests: list[Happening], events: list[Happening]) -> Iterator[Happening]:
    """Yield requests, each followed by its events, and the events of controls where they happened."""
    place: dict[str | None, list[int]] = {}
    for number, one in enumerate(events):
        place.setdefault(one.request_id, []).append(number)
    done = 0
    for request in requests:
        caused = place.get(request.request_id) if request.request_id else None
        if caused:  # before them lie those of controls, of the clock, of requests long ago
            yield from events[done : caused[0]]
            done = caused[-1] + 1
        yield request
        yield from events[done - len(caused or ()) : done]
    yield from events[done:]


def _entries(requests: list[Happening], journal: Iterable[Any]) -> dict[str, list[Happening]]:
    """Return the journal's entries by the key of their request: the first one with its operation, status and subject."""
    waiting = list(journal)
    found: dict[str, list[Happening]] = {}
    for request in requests:
        what = (request.record.operation, request.record.status, request.subject)
        entry = next((one for one in waiting if (one.operation, one.status, _subject(one.answer)) == what), None)
        if entry is not None:
            waiting.remove(entry)
            found[request.key] = [attrs.evolve(
                request, key=f"journal:{entry.id}", lane="journal", title=entry.operation, status=str(entry.outcome),
                failed=str(entry.outcome) != "done", details={"id": entry.id, "what": entry.what, "request": dict(entry.request)}, record=entry,
            )]  # fmt: skip
    return found


def _request(number: int, one: Any) -> Happening:
    seconds = f" in {float(one.seconds) * 1e3:.1f} ms" if one.seconds is not None else ""
    fault = f", fault {one.fault}" if one.fault else ""
    return Happening(
        key=f"request:{number}:{one.request_id}", at=one.at, lane="request", title=one.operation or f"{one.method} {one.path or '(not served)'}",
        status=f"{one.status}{seconds}{fault}", request_id=one.request_id, subject=_subject(one.answer), failed=one.status >= 400 or bool(one.fault),
        details=to_json(one), record=one,
    )  # fmt: skip


def _subject(answer: Any) -> str:
    """Return the id of what an answer is about."""
    known = answer if isinstance(answer, Mapping) else {}
    return str(get_path(known, "transactionId") or get_path(known, "id") or "")


def _event(one: Any) -> Happening:
    event = one["event"]
    body = event["body"]
    amount = get_path(body, "spend.amount")
    status = get_path(body, "spend.status") or get_path(body, "applicationStatus") or get_path(body, "status") or ""
    shown = f"{status} {money(amount)}" if isinstance(amount, int) else str(status)
    at = datetime.fromisoformat(one["at"])
    return Happening(
        key=f"event:{one['sequence']}", at=at, lane="event", title=f"{event['resource']}.{event['action']}", status=shown.strip(),
        request_id=one.get("request_id"), event_id=event["id"], subject=str(body.get("id", "")), details=one.shown(),
    )  # fmt: skip


def _delivery(one: Any, number: int, attempt: Any, known: dict[str | None, str | None]) -> Happening:
    accepted = attempt.status is not None and 200 <= attempt.status < 300
    return Happening(
        key=f"delivery:{one.id}:{number}", at=attempt.at, lane="delivery", title=f"{one.kind} to {one.endpoint[:8]}",
        status=str(attempt.status or attempt.error) + ("" if accepted else f", attempt {number + 1}"), request_id=known.get(one.event_id),
        event_id=one.event_id, failed=not accepted, details=to_json(one),
    )  # fmt: skip


class WithTimeline:
    """What embedded and served sandboxes tell of themselves in the order in which it happened."""

    def timeline(self, journal: Iterable[Any] = ()) -> Timeline:
        """Return the requests and events of the session's tenant, and the attempts to deliver those.

        Args:
            journal: The caller's journal: each entry stands after the request that it is of.
        """
        sandbox: Any = self
        requests = [_request(number, one) for number, one in enumerate(sandbox.requests())]
        events = [_event(one) for one in sandbox.events()]
        causes = {one.event_id: one.request_id for one in events}
        attempts: dict[str | None, list[Happening]] = {}
        for one in sandbox.deliveries():
            tried = [_delivery(one, number, attempt, causes) for number, attempt in enumerate(one.attempts)]
            attempts.setdefault(one.event_id, []).extend(tried)
        entries = _entries(requests, journal)
        found = [
            one
            for happening in _merged(requests, events)
            for one in (happening, *entries.get(happening.key, ()), *attempts.get(happening.event_id, ()))
        ]
        return Timeline(sorted(found, key=lambda one: one.at))  # stable: what happened at one time keeps its order

    def why(self, event_id: str, journal: Iterable[Any] = ()) -> Timeline:
        """Return the request that caused an event, all events of that request, and the attempts to deliver this one.

        Args:
            event_id: Id of the event.
            journal: The caller's journal.

        Raises:
            UsageError: The sandbox has no such event.
        """
        found = self.timeline(journal)
        event = next((one for one in found if one.lane == "event" and one.event_id == event_id), None)
        if event is None:
            raise UsageError(f"there is no event {visible(event_id, 60)!r}", of="why")
        chain = [
            one
            for one in found
            if (one.request_id is not None and one.request_id == event.request_id and one.lane != "delivery")
            or one.event_id == event_id
        ]
        return Timeline(chain, f"Why {event.title} {event_id[:8]}")
