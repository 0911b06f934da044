"""Evidence of calls with an unknown outcome: events that only equal calls cause, minus the events of other calls.

An event shows that one of several equal calls was carried out, but not which call. Events are therefore counted. More
events than the other calls can have caused are proof. A missing event is proof only if all events are known. Assumed:
no program with another journal makes equal calls.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, Protocol

import attrs

from workbench.base.frozen import frozen
from workbench.base.schema.walk import is_record
from workbench.client.calls.effects import RESEND, JournalEntry, Outcome
from workbench.service.interface.effects import UNCLEAR, Effect, Key, Stored, Trace
from workbench.service.interface.table import OPERATIONS


class Verdict(StrEnum):
    """Verdict of the events on a call with an unknown outcome."""

    DONE = "done"
    NOT_FOUND = "not_found"
    OPEN = "open"
    NO_EVENT = "no_event"


class EventSource(Protocol):
    """Source of events that a journal counts as evidence. A mark is a sandbox's world id, a colon and a position."""

    def mark(self) -> str:
        """Return the current position, before a call is sent."""

    def since(self, marks: Iterable[str]) -> tuple[list[Any], str]:
        """Return the events after the earliest mark, and their world id if the events are complete, otherwise ""."""


@frozen(kw_only=True)
class Evidence:
    """Verdict of the received events on a call with an unknown outcome, with its reason. It has no truth value.

    Attributes:
        attempt: Id of the call in the journal.
        verdict: "done" if the other calls cannot have caused all events, "not_found" if no event shows the call, "open"
            if the events may belong to this call or to an equal one, "no_event" if no event shows calls of this
            operation.
        events: The events that equal calls caused.
        equal: Ids of the calls with an unknown outcome that may have caused the events, including this call.
        complete: Whether `events` has all events up to now.
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
        """The proven outcome, as `journal.resolve` takes it, or None if the events prove no outcome."""
        if self.verdict is Verdict.DONE:
            return "done"
        return "not_sent" if self.verdict is Verdict.NOT_FOUND and self.complete else None

    def __bool__(self) -> bool:
        raise TypeError("evidence has no truth value; read its verdict or its outcome")

    def __str__(self) -> str:
        return self.reason if self.outcome else f"{self.reason}\n{self.next_step}"

    def __repr__(self) -> str:
        return f"<evidence on {self.attempt}: {self.verdict}; {self.reason}>"


@frozen
class _Call:
    """A call that may have caused an event with this key. `surely`: whether the call certainly caused one."""

    entry: JournalEntry
    key: Key
    surely: bool


class Evidences:
    """Journal calls and received events, loaded once for repeated evidence lookups.

    Args:
        entries: All entries of the journal.
        hashed: Function that returns the keyed hash of a private value, as used in the entries.
    """

    def __init__(
        self, entries: Sequence[JournalEntry], source: EventSource | None, hashed: Callable[[Key], str]
    ) -> None:
        self._hashed = hashed
        self._entries = entries
        events, self._world = ([], "") if source is None else source.since(entry.mark for entry in entries)
        self._is_read = source is not None
        self._events = [event for event in events if is_record(event.body)]
        self._bodies: defaultdict[str, list[Any]] = defaultdict(list)
        for event in self._events:
            self._bodies[event.body.id].append(event.body)
        # Of several calls with one idempotency key, only one may have been carried out, so none is certain.
        attempts = Counter(entry.idempotency_key or entry.id for entry in entries)
        self._alone = {entry.id for entry in entries if attempts[entry.idempotency_key or entry.id] == 1}
        self._created: dict[str, JournalEntry] = {}
        for entry in entries:
            record_id = _created_by(entry)
            if record_id is not None:
                self._created[record_id] = entry
        self._calls: dict[str, list[_Call]] = {}
        self._shown: dict[str, list[tuple[Key, Any]]] = {}

    def bodies(self, record_id: str) -> list[Any]:
        """Return the bodies of the received events about a record."""
        return self._bodies.get(record_id, [])

    def request(self, record_id: str) -> Stored | None:
        """Return the request that created a record, or None if the journal does not contain it."""
        created = self._created.get(record_id)
        return None if created is None else created.request

    def of(self, entry: JournalEntry) -> Evidence:
        """Return the evidence for a call."""
        effect = _effect(entry)
        assert effect is not None
        trace = effect.evidence
        key = None if trace is None else self._key(entry, trace)
        complete = bool(self._world) and _world(entry) == self._world
        evidence = Evidence(
            attempt=entry.id,
            verdict=Verdict.NO_EVENT,
            equal=(entry.id,),
            complete=complete,
            reason="no event shows whether this call was carried out",
            next_step=effect.next_step,
        )
        if trace is not None and key is not None:
            evidence = self._counted(evidence, entry, trace, key)
        if evidence.outcome is None:
            evidence = attrs.evolve(evidence, reason=evidence.reason + self._repeated(entry))
        return evidence

    def _counted(self, evidence: Evidence, entry: JournalEntry, trace: Trace, key: Key) -> Evidence:
        """Add a verdict, which compares the number of events with the number of calls that may have caused them."""
        alike = {key, UNCLEAR}
        events = [event for shown, event in self._shown_by(entry.operation, trace) if key in (shown, UNCLEAR)]
        calls = [
            call
            for call in self._calls_of(entry.operation, trace)
            if call.entry.id != entry.id
            and (key == UNCLEAR or call.key in alike)
            and (not evidence.complete or _world(call.entry) == self._world)
        ]
        changed = {other.request.get(trace.also) for other in self._entries} if trace.also else set()
        records = {event.body.id for event in events} - changed
        most, least = len(calls), sum(call.surely for call in calls)
        counts = f"{_number(len(records), 'event')}, {_number(most, 'other call')} that may have caused one"
        if len(records) > most:
            verdict, reason = Verdict.DONE, f"{counts}: this call was carried out"
        elif len({event.id for event in events}) > least:
            verdict, reason = Verdict.OPEN, f"{counts}: it is unknown whether this call caused one"
        else:
            verdict, reason = Verdict.NOT_FOUND, "no event shows this call; events may be late or missing"
            if not self._is_read:
                reason = "no event shows this call, but this journal has no events of its service"
            elif evidence.complete:
                reason = "no event shows this call, and no event is missing, so it was not carried out"
        unsure = [call.entry.id for call in calls if not call.surely]
        return attrs.evolve(
            evidence,
            verdict=verdict,
            reason=reason,
            events=tuple(events),
            equal=(entry.id, *unsure),
        )

    def _key(self, entry: JournalEntry, trace: Trace) -> Key | None:
        if trace.identity is not None:
            return (entry.trace,) if entry.trace else None
        return trace.of_call(entry.request, self)

    def _shown_by(self, operation: str, trace: Trace) -> list[tuple[Key, Any]]:
        """Return the events that calls of an operation may have caused, each with its key.

        Events of a record are omitted if the journal shows which call created the record.
        """
        if operation not in self._shown:
            keyed = self._shown[operation] = []
            for event in self._events:
                key = trace.of_event(event.body) if event.kind == trace.kind else None
                created = self._created.get(event.body.id) if trace.record else None
                if key is None or (created is not None and created.id in self._alone):
                    continue
                keyed.append(((self._hashed(key),) if trace.identity is not None else key, event))
        return self._shown[operation]

    def _calls_of(self, operation: str, trace: Trace) -> list[_Call]:
        """Return the calls that may have caused events. A call whose answer names the created record is omitted."""
        if operation not in self._calls:
            calls = self._calls[operation] = []
            for entry in self._entries:
                outcome = entry.outcome if _is_superseded(entry) else entry.final_outcome
                if entry.operation != operation or outcome in (Outcome.REFUSED, Outcome.NOT_SENT):
                    continue
                is_alone = entry.id in self._alone
                key = self._key(entry, trace)
                if key is None or (is_alone and trace.record is not None and _created_by(entry) is not None):
                    continue
                is_certain = outcome is Outcome.DONE and trace.every and key != UNCLEAR
                calls.append(_Call(entry, key, is_alone and is_certain))
        return self._calls[operation]

    def _repeated(self, entry: JournalEntry) -> str:
        """Return a remark if a resend of the call was refused as a repetition, otherwise an empty text."""
        for other in self._entries:
            effect = _effect(other)
            if other.resend_of == entry.id and effect is not None and effect.is_repeat(other.status, other.error):
                return f"; probably done: {other.id} sent it again and was refused ({other.error})"
        return ""


def _effect(entry: JournalEntry) -> Effect | None:
    operation = OPERATIONS.get(entry.operation)
    return None if operation is None else operation.effect


def _created_by(entry: JournalEntry) -> str | None:
    """Return the id of the record that a call created, from its answer; None if the answer names no record."""
    effect = _effect(entry)
    trace = None if effect is None else effect.evidence
    if trace is None or trace.record is None or not isinstance(entry.answer, Mapping):
        return None
    created = entry.answer.get(trace.record)
    return created if isinstance(created, str) else None


def _is_superseded(entry: JournalEntry) -> bool:
    """Return whether a call counts as done only because its resend succeeded, which proves nothing about the call."""
    return entry.resolution is not None and entry.resolution.by == RESEND


def _world(entry: JournalEntry) -> str:
    """Return the id of the sandbox world that a call was sent to. For a service, the id is empty."""
    return entry.mark.partition(":")[0]


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
