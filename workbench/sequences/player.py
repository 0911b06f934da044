"""How a sequence is run: what each step needs, its result, and how that compares with what was expected."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import attrs

from workbench.client.effects import Outcome
from workbench.errors import ApiError, EventTimeout, InvalidRequest, NotSent, OutcomeUnknown, WorkbenchError, visible
from workbench.interface import masks, walk
from workbench.interface.rules import FULL
from workbench.interface.walk import get_path
from workbench.sequences.audit import SCRIPTED
from workbench.sequences.ledger import Ledger
from workbench.sequences.sequence import (
    NOTHING,
    Expect,
    ExpectedEvent,
    Guide,
    Param,
    Ref,
    Sequence,
    Step,
    duration,
    references,
)
from workbench.sequences.targets import Target

BLOCKED, FAILED = "blocked", "failed"  # outcomes of steps besides those of calls
_OUTCOMES: tuple[tuple[Any, Outcome], ...] = (
    (ApiError, Outcome.REFUSED),
    (OutcomeUnknown, Outcome.UNKNOWN),
    ((NotSent, InvalidRequest), Outcome.NOT_SENT),
)


@attrs.frozen
class Mismatch:
    """One expectation that was not met."""

    what: str
    expected: str
    actual: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, got {self.actual}"


@attrs.define
class StepResult:
    """The outcome of one step, its answer, its events and what differs from the expectation."""

    step: Step
    outcome: str  # "done", "refused", "not_sent", "unknown", "failed" or "blocked"; "sending" while it is under way
    at: datetime
    arguments: Mapping[str, Any] = attrs.field(repr=False)
    answer: Any = attrs.field(default=None, repr=False)
    error: WorkbenchError | None = None
    before: int = 0  # cursor of events before and after
    after: int = 0
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it met its expectations: done where none are given, refused where a refusal is expected."""
        expected = Outcome.REFUSED if self.step.expect.refusal else Outcome.DONE
        return not self.mismatches and self.outcome == expected

    @property
    def message(self) -> str | None:
        """What went wrong, or None."""
        return "; ".join(map(str, self.mismatches)) or (str(self.error) if self.error else None)


class Player:
    """One run of a sequence: the results so far, the ledger, and the steps that are left.

    A driver plays each of `pending()` with `play`, or with `begin` and `finish` around a call of its own.

    Args:
        sequence: The sequence, which was checked.
        target: What it runs against.
        values: The parameters.
        check_balances: Compare the target's balances with the ledger; not where runs go on side by side.
    """

    def __init__(
        self, sequence: Sequence, target: Target, values: Mapping[str, Any], *, check_balances: bool = True
    ) -> None:
        self.sequence = sequence
        self.target = target
        self.started = target.now()
        self.results: dict[str, StepResult] = {}
        self.ledger = Ledger()
        self.values = {one.name: self._parameter(one.default, values.get(one.name)) for one in sequence.parameters}
        self.record: Callable[[StepResult], object] = lambda _: None  # called before a step's call leaves, and after it
        self._check_balances = check_balances
        self._balances: dict[str, tuple[Mapping[str, int], Mapping[str, int]]] = {}  # the target's and ours, at first
        self._changed: dict[str, Mapping[str, Any]] = {}

    def _parameter(self, default: Any, value: Any) -> Any:
        value = default if value is None else value
        return self.target.example(value.path) if isinstance(value, Guide) else value

    def restore(self, results: Iterable[StepResult]) -> None:
        """Take up the results of an earlier run."""
        for result in results:
            self.results[result.step.name] = result
            if result.outcome == Outcome.DONE:
                self._book(result)

    def change(self, step: str, arguments: Mapping[str, Any]) -> None:
        """Change arguments of a step that was not played yet."""
        self._changed[step] = {**self._changed.get(step, {}), **arguments}

    @property
    def left(self) -> tuple[str, ...]:
        """Names of the steps without a result."""
        return tuple(step.name for step in self.sequence.steps if step.name not in self.results)

    def pending(self) -> Iterator[Step]:
        """Yield the steps that are left, up to one with an unknown outcome: nothing that follows can be trusted."""
        for step in self.sequence.steps:
            if step.name not in self.results:
                yield step
            result = self.results.get(step.name)
            if result is None or result.outcome == Outcome.UNKNOWN:  # without a result: its call was interrupted
                return

    def play(self, step: Step) -> StepResult:
        """Play one step."""
        result = self.begin(step)
        return result if result.outcome == BLOCKED else self.finish(result, self.perform(result))

    def begin(self, step: Step) -> StepResult:
        """Return the result of a step that is about to be sent; it is blocked if a reference cannot be resolved."""
        at, before = self.target.now(), self.target.cursor()
        try:
            arguments = self._resolve({**step.arguments, **self._changed.get(step.name, {})})
        except _Blocked as blocked:
            missing = (Mismatch("step", "its references", str(blocked)),)
            result = StepResult(step, BLOCKED, at, {}, before=before, after=before, mismatches=missing)
            self.results[step.name] = result
            return result
        card = arguments.get("card_id")
        if self._check_balances and step.do == "simulate_authorization" and card not in self._balances:
            balance = self.target.look("balance", card)
            if balance is not None:
                self._balances[card] = (walk.given(balance), self.ledger.balance(card))
        result = StepResult(step, Outcome.SENDING.value, at, arguments, before=before)
        self.record(result)
        return result

    def perform(self, result: StepResult) -> Any:
        """Call the operation or control of a step; return the answer, or the WorkbenchError it raised."""
        do, arguments = result.step.do, result.arguments
        try:
            if do in SCRIPTED:
                return getattr(self.target.api, do)(**arguments)
            if do == "advance":
                return self.target.advance(duration(arguments["by"]))
            if do == "wait":
                return self._wait(arguments, result.before)
            return self.target.control(do, arguments)
        except WorkbenchError as error:
            return error

    def finish(self, result: StepResult, answer: Any) -> StepResult:
        """Record the answer of a step, or the WorkbenchError its call raised."""
        step = result.step
        if isinstance(answer, WorkbenchError):
            result.error = answer
            result.outcome = next((str(outcome) for kind, outcome in _OUTCOMES if isinstance(answer, kind)), FAILED)
        else:
            result.answer, result.outcome = answer, Outcome.DONE.value
        self.results[step.name] = result
        self.record(result)  # before anything else can fail, and below with its mismatches
        if result.error is None:
            self._book(result)
        if step.expect != NOTHING:
            result.mismatches = tuple(self._mismatches(step.expect, result))
        elif result.error is not None:
            result.mismatches = (Mismatch("outcome", "done", f"{result.outcome}: {result.error}"),)
        result.after = self.target.cursor()
        self.record(result)
        return result

    def _wait(self, arguments: Mapping[str, Any], before: int) -> None:
        event = ExpectedEvent(**{**arguments, "within": duration(arguments.get("within", "0s"))})
        since = max((result.before for result in self.results.values()), default=before)
        missing = self._await_events((event,), since)
        if missing:
            raise EventTimeout("; ".join(map(str, missing)))

    def _await_events(self, events: tuple[ExpectedEvent, ...], since: int) -> list[Mismatch]:
        expected = tuple(attrs.evolve(one, where=self._resolve(one.where)) for one in events)

        def missing() -> list[Mismatch]:
            return _missing_events(expected, self.target.events(since))

        span = max((one.within for one in expected), default=timedelta(0))
        if span and missing():
            self.target.advance(span, lambda: not missing())
        return missing()

    def _mismatches(self, expect: Expect, result: StepResult) -> Iterator[Mismatch]:
        error = result.error
        text = result.outcome if error is None else f"{result.outcome}: {error}"
        if expect.refusal and isinstance(error, ApiError):
            given = {name: _refusal(error, name, wanted) for name, wanted in expect.error.items()}
            yield from _differences("error", expect.error, given)
        elif expect.refusal or error is not None:
            yield Mismatch("outcome", "a refusal" if expect.refusal else "done", text)
        else:
            yield from _differences("result", self._resolve(expect.result), result.answer)
        if expect.events:
            yield from self._await_events(expect.events, result.before)
        if expect.state:
            expected = dict(self._resolve(expect.state))
            record = expected.pop("of")
            state = self.target.look("state", record)
            if state is None:
                missing = "no such record, or a service that does not show it"
                yield Mismatch("state", f"the record {_shown(record)}", missing)
            else:
                yield from _differences("state", expected, state)
        total = self.ledger.total()
        for name, amount in expect.money.items():
            if total[name] != amount:
                yield Mismatch(f"money.{name}", f"{amount:+} cents", f"{total[name]:+} cents")

    def _resolve(self, value: Any) -> Any:
        """Return a value with its references filled in.

        Raises:
            _Blocked: A reference names a step without a result.
        """
        match value:
            case Ref():
                return self._result_of(value)
            case Param(name=name):
                return self.values[name]
            case Guide(path=path):
                return self.target.example(path)
        if not any(True for _ in references(value)):
            return value
        if isinstance(value, Mapping):
            return {key: self._resolve(one) for key, one in value.items()}
        return [self._resolve(one) for one in value]

    def _result_of(self, reference: Ref) -> Any:
        result = self.results.get(reference.step)
        if result is None or result.answer is None:
            outcome = result.outcome if result else "not played"
            raise _Blocked(f"{reference.path} cannot be read: step {reference.step} is {outcome}")
        value = get_path(result.answer, reference.attribute) if reference.attribute else result.answer
        if value is None:
            raise _Blocked(f"{reference.path} cannot be read: the answer does not have it")
        return value

    def _book(self, result: StepResult) -> None:
        step, arguments = result.step.name, result.arguments
        self.ledger.at = result.at
        match result.step.do:
            case "simulate_authorization":
                if get_path(result.answer, "status") == "authorized":
                    transaction = get_path(result.answer, "transaction_id")
                    currency = arguments.get("currency")
                    self.ledger.hold(step, transaction, arguments["card_id"], arguments["amount"], currency)
            case "simulate_reversal":
                remaining = arguments["new_amount"]
                self.ledger.reduce(step, arguments["transaction_id"], 0 if remaining is FULL else remaining)
            case "simulate_refund":
                amount = arguments["amount"]
                self.ledger.refund(step, arguments["transaction_id"], None if amount is FULL else amount)
            case "settle":
                self.ledger.settle(step, arguments["transaction_id"], arguments.get("amount"))

    def differences(self) -> list[str]:
        """Return where the target's balances moved otherwise than the ledger; empty if they agree or are not shown."""
        found: list[str] = []
        for card, (theirs, ours) in self._balances.items():
            after = self.target.look("balance", card)
            if after is not None:
                found += self.ledger.differences(card, theirs, walk.given(after), ours)
        return found


class _Blocked(Exception):
    """A step cannot be played because one before it has no result."""


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    return visible(str(value) if isinstance(value, str) else repr(value), 120)


def _differences(what: str, expected: Mapping[str, Any], actual: Any) -> Iterator[Mismatch]:
    for path, wanted in expected.items():
        found = get_path(actual, path)
        if found != wanted:
            shown = _shown(found) if isinstance(found, str | int | bool | None) else masks.DOTS  # may be private
            yield Mismatch(f"{what}.{path}", _shown(wanted), shown)


def _refusal(error: ApiError, name: str, wanted: Any) -> Any:
    """Return a member of a refusal; of its message, the part that is wanted where it has it."""
    found = getattr(error, name)
    return wanted if name == "message" and wanted in (found or "") else found


def _missing_events(expected: Iterable[ExpectedEvent], events: Iterable[Mapping[str, Any]]) -> list[Mismatch]:
    """Return the expected events that are not there. Each event, as wire members, meets one expectation."""
    left = list(events)
    missing = []
    for one in expected:
        found = next((event for event in left if _fits(event, one)), None)
        if found is not None:
            left.remove(found)
            continue
        actual = ", ".join(map(event_kind, left[:5])) or "no event"
        where = " with " + ", ".join(one.where) if one.where else ""
        missing.append(Mismatch("event", f"{one.kind}{where}", visible(actual, 200)))
    return missing


def event_kind(event: Mapping[str, Any]) -> str:
    """Return the kind of an event of wire members: `transaction.created`."""
    return f"{event.get('resource')}.{event.get('action')}"


def _fits(event: Mapping[str, Any], expected: ExpectedEvent) -> bool:
    members = expected.where.items()
    return event_kind(event) == expected.kind and all(
        get_path(event.get("body"), path) == value for path, value in members
    )
