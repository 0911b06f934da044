"""How a sequence is played: a generator that asks for one call after another and performs no I/O of its own."""

from collections.abc import Callable, Generator, Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

import attrs

from workbench.errors import ApiError, InvalidRequest, NotSent, OutcomeUnknown, WorkbenchError
from workbench.interface.rules import FULL
from workbench.sequences.audit import SCRIPTED
from workbench.sequences.expectations import Mismatch, missed_events, missed_money, missed_result, missed_state
from workbench.sequences.ledger import Ledger
from workbench.sequences.steps import (
    NOTHING,
    EventWanted,
    Guide,
    Param,
    Ref,
    Sequence,
    Step,
    duration,
    references,
)


class Target(Protocol):
    """Where a sequence is played: an embedded sandbox, a served one, or a service behind a client."""

    controlled: bool  # whether it has the controls and the clock of a sandbox

    def call(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Do an operation of the interface; raise the error of its end."""

    def now(self) -> datetime:
        """Return the time there."""

    def cursor(self) -> int:
        """Return how many events there are so far."""

    def events(self, after: int) -> list[Mapping[str, Any]]:
        """Return the events after a cursor, as wire members."""

    def control(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Do a control of the sandbox."""

    def advance(self, span: timedelta, until: Callable[[], bool] | None = None) -> None:
        """Move the clock on; a real one is waited at until something is there, or the span is over."""

    def balance(self, card_id: str) -> Mapping[str, int] | None:
        """Return the money of a card, in cents, where the venue knows it."""

    def state(self, record_id: str) -> Mapping[str, Any] | None:
        """Return a record as the venue holds it, where it shows it."""

    def example(self, path: str) -> Any:
        """Return an id of the guide."""


@attrs.frozen
class Ask:
    """A call the driver has to make; it sends back the answer, or the error that came."""

    step: Step
    operation: str
    arguments: Mapping[str, Any] = attrs.field(repr=lambda given: f"<{len(given)}>")  # they may be private

    def given(self) -> Mapping[str, Any]:
        """Return the arguments; a traceback that reads attributes on its own reads no method."""
        return self.arguments


@attrs.define
class Done:
    """What came of one step."""

    step: Step
    end: str  # "done", "refused", "not sent", "unknown", "failed", "blocked"
    at: datetime
    arguments: Mapping[str, Any] = attrs.field(repr=False)
    answer: Any = None
    error: WorkbenchError | None = None
    before: int = 0  # cursor of events before and after
    after: int = 0
    misses: tuple[Mismatch, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it came to what was expected: done where nothing was said, refused where a refusal was."""
        return not self.misses and (self.end == "refused" if self.step.expect.refusal else self.end == "done")


def ends(error: WorkbenchError) -> str:
    """Return the end that an error of a call means."""
    if isinstance(error, ApiError):
        return "refused"
    if isinstance(error, OutcomeUnknown):
        return "unknown"
    return "not sent" if isinstance(error, NotSent | InvalidRequest) else "failed"


class Player:
    """Plays one sequence at one venue. `steps()` is the generator; `done` and `ledger` grow while it goes on."""

    def __init__(self, sequence: Sequence, venue: Target, values: Mapping[str, Any], *, lean: bool = False) -> None:
        self.sequence = sequence
        self.venue = venue
        self.done: dict[str, Done] = {}
        self.ledger = Ledger()
        self.values = self._filled(values)
        self.lean = lean  # keep balances and events out of the way where nothing asks for them
        self.before: Callable[[Step, Mapping[str, Any]], None] | None = None  # called before a step leaves
        self.watch: Callable[[Done], None] | None = None  # called when it came to its end
        self._balances: dict[
            str, tuple[Mapping[str, int], Mapping[str, int]]
        ] = {}  # the venue's and ours, at first sight
        self._changed: dict[str, Mapping[str, Any]] = {}

    def _filled(self, values: Mapping[str, Any]) -> dict[str, Any]:
        filled = {}
        for one in self.sequence.parameters:
            value = values.get(one.name)
            value = one.default if value is None else value
            filled[one.name] = self.venue.example(value.path) if isinstance(value, Guide) else value
        return filled

    def change(self, step: str, **arguments: Any) -> None:
        """Change arguments of a step that was not played yet."""
        self._changed[step] = {**self._changed.get(step, {}), **arguments}

    def steps(self) -> Generator[Ask | None, Any, None]:
        """Play step by step; each `Ask` is answered by what `send` brings: an answer, or a WorkbenchError.

        After each step it yields None, so that a driver can stop there.
        """
        for one in self.sequence.steps:
            resumed = self.done.get(one.name)
            if resumed is not None:
                if resumed.end == "done":
                    self._book(one, resumed.arguments, resumed.answer)
                elif resumed.end == "unknown":
                    return
                continue
            yield from self._play(one)
            if self.done[one.name].end == "unknown":
                return  # nothing that follows can be trusted; the step stays unknown
            yield None

    def _play(self, one: Step) -> Generator[Ask | None, Any, None]:
        venue = self.venue
        at, before = venue.now(), venue.cursor()
        try:
            arguments = self._arguments(one)
        except Blocked as blocked:
            said = Mismatch("step", "its references", str(blocked))
            self.done[one.name] = Done(one, "blocked", at, {}, before=before, after=before, misses=(said,))
            return
        answer: Any = None
        error: WorkbenchError | None = None
        if self.before is not None:
            self.before(one, arguments)
        if one.do in SCRIPTED:
            self._open(one, arguments)
            came = yield Ask(one, one.do, arguments)
            if isinstance(came, WorkbenchError):
                error = came
            else:
                answer = came
        else:
            try:
                answer = self._own(one, arguments, before)
            except WorkbenchError as refused:
                error = refused
        done = Done(one, ends(error) if error else "done", at, arguments, answer, error, before)
        self.done[one.name] = done
        if self.watch is not None:
            self.watch(done)
        if error is None:
            self._book(one, arguments, answer)
        if one.expect is not NOTHING:
            done.misses = tuple(self._misses(one, done))
        elif error is not None:
            done.misses = (Mismatch("end", "done", f"{done.end}: {error}"),)
        done.after = venue.cursor()

    def _own(self, one: Step, arguments: Mapping[str, Any], before: int) -> Any:
        if one.do == "advance":
            self.venue.advance(_span(arguments["by"]))
            return None
        if one.do == "wait":
            wanted = EventWanted(
                kind=arguments["kind"], within=_span(arguments.get("within", "0s")), where=arguments.get("where", {})
            )
            since = max((done.before for done in self.done.values()), default=before)
            missing = self._awaited((wanted,), since)
            if missing:
                raise WaitedInVain("; ".join(str(one) for one in missing))
            return None
        return self.venue.control(one.do, arguments)

    def _awaited(self, wanted: tuple[EventWanted, ...], since: int) -> list[Mismatch]:
        resolved = tuple(attrs.evolve(one, where=self.resolved(one.where)) for one in wanted)
        missing = missed_events(resolved, self.venue.events(since))
        left = max((one.within for one in resolved), default=timedelta(0))
        if missing and left:
            self.venue.advance(left, lambda: not missed_events(resolved, self.venue.events(since)))
            missing = missed_events(resolved, self.venue.events(since))
        return missing

    def _misses(self, one: Step, done: Done) -> list[Mismatch]:
        expect = one.expect
        missing = missed_result(expect, done.end, done.answer, done.error, self.resolved(expect.result))
        if expect.events:
            missing += self._awaited(expect.events, done.before)
        if expect.state:
            wanted = dict(self.resolved(expect.state))
            record = wanted.pop("of")
            missing += missed_state(record, wanted, self.venue.state(record))
        if expect.money:
            missing += missed_money(expect.money, self.ledger.total())
        return missing

    def _arguments(self, one: Step) -> Mapping[str, Any]:
        changed = self._changed.get(one.name)
        if changed is not None:
            return self.resolved({**one.arguments, **changed})  # type: ignore[no-any-return]
        if not one.refers:
            return one.arguments
        filled = dict(one.arguments)
        for name in one.refers:
            filled[name] = self._filled_in(filled[name])
        return filled

    def resolved(self, value: Any) -> Any:
        """Return a value with its references filled in.

        Raises:
            Blocked: A reference names a step that came to no result.
        """
        return self._filled_in(value) if any(True for _ in references(value)) else value

    def _filled_in(self, value: Any) -> Any:
        kind = type(value)
        if kind is Ref:
            return self._result(value)
        if kind is Param:
            return self.values[value.name]
        if kind is Guide:
            return self.venue.example(value.path)
        if isinstance(value, Mapping):
            return {key: self.resolved(one) for key, one in value.items()}
        return [self.resolved(one) for one in value]

    def _result(self, reference: Ref) -> Any:
        done = self.done.get(reference.step)
        if done is None or done.answer is None:
            end = done.end if done else "not played"
            raise Blocked(f"{reference.path} cannot be read: step {reference.step} is {end}")
        value = done.answer
        for part in filter(None, reference.attribute.split(".")):
            value = _member(value, part)
            if value is None:
                raise Blocked(f"{reference.path} cannot be read: the answer has no {part}")
        return value

    # money

    def _open(self, one: Step, arguments: Mapping[str, Any]) -> None:
        if self.lean or one.do != "simulate_authorization":
            return
        card = arguments.get("card_id")
        if isinstance(card, str) and card not in self._balances:
            balance = self.venue.balance(card)
            if balance is not None:
                self._balances[card] = (dict(balance), self.ledger.balance(card))

    def _book(self, one: Step, arguments: Mapping[str, Any], answer: Any) -> None:
        match one.do:
            case "simulate_authorization":
                if _member(answer, "status") == "authorized":
                    transaction = _member(answer, "transaction_id")
                    self.ledger.hold(one.name, transaction, arguments["card_id"], arguments["amount"])
            case "simulate_reversal":
                remaining = arguments["new_amount"]
                self.ledger.reduce(one.name, arguments["transaction_id"], 0 if remaining is FULL else remaining)
            case "simulate_refund":
                amount = arguments["amount"]
                self.ledger.refund(one.name, arguments["transaction_id"], None if amount is FULL else amount)
            case "settle":
                self.ledger.settle(one.name, arguments["transaction_id"], arguments.get("amount"))

    def differences(self) -> list[str]:
        """Say where the venue's balances moved otherwise than the ledger; empty where they agree or are not shown."""
        found: list[str] = []
        for card, (theirs, ours) in self._balances.items():
            after = self.venue.balance(card)
            if after is not None:
                found += self.ledger.differences(card, theirs, after, ours)
        return found


class Blocked(Exception):
    """A step cannot be played since one before it came to no result. It never leaves this module."""


class WaitedInVain(WorkbenchError):
    """The event did not come in time."""


def _member(value: Any, part: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(part)
    if isinstance(value, list | tuple):
        return value[int(part)] if part.isdigit() and int(part) < len(value) else None
    return getattr(value, part, None)


def _span(value: Any) -> timedelta:
    return value if isinstance(value, timedelta) else duration(value)
