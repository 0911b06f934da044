"""Evidence of calls with an unknown outcome: events that only such calls cause, less those of the calls that are known.

An event shows that one of the equal calls was carried out, and not which one. So events are counted: more of them than
the other calls can have caused are proof. A missing event is proof only if all events are known.

Assumed: no other program makes equal calls whose journal is not this one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Literal, Protocol

import attrs

from workbench.base.schema.walk import is_record
from workbench.client.calls.effects import RESEND, Entry, Outcome
from workbench.service.interface.effects import UNCLEAR, Key, Stored, Trace
from workbench.service.interface.table import OPERATIONS


class Verdict(StrEnum):
    """What the events say about a call with an unknown outcome."""

    DONE = "done"
    NOT_FOUND = "not_found"
    OPEN = "open"
    NO_EVENT = "no_event"


class EventSource(Protocol):
    """Events that a journal counts as evidence. A mark is the id of a sandbox's world, a colon and a position."""

    def mark(self) -> str:
        """Return the current position, before a call is sent."""

    def since(self, marks: Iterable[str]) -> tuple[list[Any], str]:
        """Return the events after the earliest mark, and the world whose events these all are; "" if some may lack."""


@attrs.frozen(kw_only=True, repr=False)
class Evidence:
    """What the received events say about a call with an unknown outcome. It is not a truth value.

    Attributes:
        attempt: Id of the call in the journal.
        verdict: "done": there are more events than the other calls can have caused. "not_found": none shows it.
            "open": equal calls share the events. "no_event": no event shows calls of this operation.
        events: The events that equal calls caused.
        equal: Ids of the calls with an unknown outcome that may have caused them, this one included.
        complete: Whether these are all events up to now.
        reason: The verdict as text.
        next_step: What to do if the outcome is still unknown.
    """

    attempt: str
    verdict: Verdict
    events: tuple[Any, ...] = ()
    equal: tuple[str, ...] = ()
    complete: bool = False
    reason: str = ""
    next_step: str = ""

    @property
    def outcome(self) -> Literal["done", "not_sent"] | None:
        """The proven outcome, as `journal.resolve` takes it; None if the events prove none."""
        if self.verdict is Verdict.DONE:
            return "done"
        return "not_sent" if self.verdict is Verdict.NOT_FOUND and self.complete else None

    def __bool__(self) -> bool:
        raise TypeError("evidence is no truth value; read its verdict or its outcome")

    def __str__(self) -> str:
        return self.reason if self.outcome else f"{self.reason}\n{self.next_step}"

    def __repr__(self) -> str:
        return f"<evidence on {self.attempt}: {self.verdict}; {self.reason}>"


@attrs.frozen
class _Call:
    """A call of the journal, with the key of its events and the least and most events that it caused."""

    entry: Entry
    key: Key
    least: int
    most: int


class Evidences:
    """The calls of a journal and the received events, read once for any number of questions.

    Args:
        entries: All entries of the journal.
        hashed: Returns the keyed hash of private values, as in the entries.
    """

    def __init__(self, entries: Sequence[Entry], source: EventSource | None, hashed: Callable[[Key], str]) -> None:
        self._hashed = hashed
        events, self._world = source.since(entry.mark for entry in entries) if source is not None else ([], "")
        self._entries = entries
        self._events = [event for event in events if is_record(event.body)]
        self._bodies: defaultdict[str, list[Any]] = defaultdict(list)
        for event in self._events:
            self._bodies[event.body.id].append(event.body)
        created = ((_created_by(entry), entry.request) for entry in entries)
        self._created = {record_id: request for record_id, request in created if record_id is not None}
        self._attempts = Counter(entry.idempotency_key or entry.id for entry in entries)
        self._calls: dict[str, list[_Call]] = {}

    def bodies(self, record_id: str) -> list[Any]:
        """Return the bodies of the events of a record."""
        return self._bodies.get(record_id, [])

    def request(self, record_id: str) -> Stored | None:
        """Return the request that created a record; None if it is not in the journal."""
        return self._created.get(record_id)

    def of(self, entry: Entry) -> Evidence:
        """Return the evidence on a call."""
        effect = OPERATIONS[entry.operation].effect
        assert effect is not None
        trace = effect.evidence
        key = None if trace is None else self._key(entry, trace)
        complete = bool(self._world) and _world(entry) == self._world
        evidence = partial(Evidence, attempt=entry.id, complete=complete, next_step=effect.next_step, equal=(entry.id,))
        repeated = self._repeated(entry)
        if trace is None or key is None:
            reason = f"no event shows whether this call was carried out{repeated}"
            return evidence(verdict=Verdict.NO_EVENT, reason=reason)
        events = tuple(event for event in self._events if self._shows(event, trace, key))
        calls = [
            call
            for call in self._calls_of(entry.operation, trace)
            if call.entry.id != entry.id
            and (call.key == key or UNCLEAR in (call.key, key))
            and (not complete or _world(call.entry) == self._world)
        ]
        evidence = partial(
            evidence, events=events, equal=(entry.id, *(call.entry.id for call in calls if not call.least))
        )
        changed = {other.request.get(trace.also) for other in self._entries} if trace.also else set()
        records = {event.body.id for event in events} - changed
        others = f"{_counted(len(calls), 'other call')} that may have caused one"
        if len(records) > sum(call.most for call in calls):
            return evidence(verdict=Verdict.DONE, reason=f"{_counted(len(records), 'event')}, {others}: carried out")
        if len({event.id for event in events}) > sum(call.least for call in calls):
            reason = f"{_counted(len(records), 'event')}, {others}: this call or another{repeated}"
            return evidence(verdict=Verdict.OPEN, reason=reason)
        reason = "no event shows this call, and all events are here: not carried out"
        if not complete:
            reason = f"no event shows this call; events may be late or missing{repeated}"
        return evidence(verdict=Verdict.NOT_FOUND, reason=reason)

    def _key(self, entry: Entry, trace: Trace) -> Key | None:
        if trace.identity is not None:
            return (entry.trace,) if entry.trace else None
        return trace.of_call(entry.request, self)

    def _shows(self, event: Any, trace: Trace, key: Key) -> bool:
        """Return whether an event shows a key, and no call is known to have created its record."""
        shown = trace.of_event(event.body) if event.kind == trace.kind else None
        if shown is None or (trace.record is not None and event.body.id in self._created):
            return False
        return key in (UNCLEAR, (self._hashed(shown),) if trace.identity is not None else shown)

    def _calls_of(self, operation: str, trace: Trace) -> list[_Call]:
        """Return the calls that may have caused events, except those whose answer names the record."""
        if operation not in self._calls:
            calls = self._calls[operation] = []
            for entry in self._entries:
                outcome = entry.outcome if _is_superseded(entry) else entry.final_outcome
                never = outcome in (Outcome.REFUSED, Outcome.NOT_SENT)
                if entry.operation != operation or never or (trace.record and _created_by(entry)):
                    continue
                if (key := self._key(entry, trace)) is not None:
                    # A repeated call may have been answered from the first one, without an effect.
                    alone = self._attempts[entry.idempotency_key or entry.id] < 2
                    surely = outcome is Outcome.DONE and trace.every and key != UNCLEAR and alone
                    calls.append(_Call(entry, key, int(surely), 1))
        return self._calls[operation]

    def _repeated(self, entry: Entry) -> str:
        """Return what the refusal of a repeated call makes probable, as text."""
        for other in self._entries:
            effect = OPERATIONS[other.operation].effect
            if other.resend_of == entry.id and effect is not None and effect.is_repeat(other.status, other.error):
                return f"; probably done: {other.id} sent it again and was refused ({other.error})"
        return ""


def _created_by(entry: Entry) -> str | None:
    """Return the id of the record that a call created, as its answer has it."""
    effect = OPERATIONS[entry.operation].effect
    name = effect.evidence.record if effect is not None and effect.evidence is not None else None
    created = entry.answer.get(name) if name and isinstance(entry.answer, Mapping) else None
    return created if isinstance(created, str) else None


def _is_superseded(entry: Entry) -> bool:
    """Return whether a call counts as done since it was sent again, which does not show that it was carried out."""
    return entry.resolution is not None and entry.resolution.by == RESEND


def _world(entry: Entry) -> str:
    """Return the id of the sandbox's world that a call was sent to; empty for a service."""
    return entry.mark.partition(":")[0]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
