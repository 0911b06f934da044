"""Play the steps of a sequence on a target, and compare each result with the step's expectations."""

import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from inspect import isawaitable
from typing import Any, Literal, TypeVar

import attrs

from workbench.base.errors import (
    ApiError,
    EventTimeout,
    InvalidRequest,
    NotSent,
    OutcomeUnknown,
    UnreadableEffect,
    UsageError,
    WorkbenchError,
    WrongEnvironment,
    visible,
)
from workbench.base.remedies import Remedy, declare
from workbench.base.schema import masks, strict_json, walk
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import get_path
from workbench.base.system.seconds import monotonic
from workbench.client.calls.client import Client, refuse_async
from workbench.client.calls.effects import Outcome
from workbench.client.session import behaviors_of
from workbench.runs.sequences.ledger import Ledger
from workbench.runs.sequences.reading import SCRIPTED
from workbench.runs.sequences.sequence import (
    NOTHING,
    Expect,
    ExpectedEvent,
    Guide,
    Param,
    Ref,
    Reference,
    Sequence,
    Step,
    duration,
    replaced,
)
from workbench.sandbox import Sandbox
from workbench.sandbox.controls import perform
from workbench.sandbox.extensions import ROWS
from workbench.sandbox.internals import internals
from workbench.service.interface.table import Async

declare(
    "behavior",
    python='wb.connect(behavior="{behavior}")',
    other="behavior {behavior}",
)

T = TypeVar("T")
BLOCKED, FAILED = "blocked", "failed"  # outcomes that only steps have, in addition to the outcomes of calls
_OUTCOMES: tuple[tuple[Any, Outcome], ...] = (
    (ApiError, Outcome.REFUSED),
    (UnreadableEffect, Outcome.DONE),
    (OutcomeUnknown, Outcome.UNKNOWN),
    ((NotSent, InvalidRequest, UsageError), Outcome.NOT_SENT),
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
    """Outcome of one step, with the response, the events, and the expectations that were not met."""

    step: Step
    # "done", "refused", "not_sent", "unknown", "failed" or "blocked", and "sending" while the call is in flight
    outcome: str
    at: datetime
    arguments: Mapping[str, Any] = attrs.field(repr=False)
    answer: object = attrs.field(default=None, repr=False)
    error: WorkbenchError | None = None
    before: int = 0  # cursors of the event list before and after the step
    after: int = 0
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the step was done, or refused if an error is expected, and met all other expectations."""
        expected = Outcome.REFUSED if self.step.expect.error else Outcome.DONE
        return not self.mismatches and self.outcome == expected

    @property
    def message(self) -> str | None:
        """What went wrong, or None."""
        return "; ".join(map(str, self.mismatches)) or (str(self.error) if self.error else None)


_POLL_INTERVAL = 0.1  # seconds between reads of the inbox, with a real service


class Target:
    """Target of a sequence: a sandbox, a session or a client.

    With an embedded or served sandbox, steps can use the sandbox's controls, clock and records. Without a sandbox, the
    target uses the wall clock and the received events.

    Raises:
        WrongEnvironment: The target is a production service, or does not offer what the sequence needs.
    """

    def __init__(self, api: Any, sequence: Sequence) -> None:
        if getattr(api, "environment", "sandbox") == "production":
            raise WrongEnvironment("sequences run in sandboxes only; this is production, and nothing was sent")
        self.api = api
        self._sandbox: Any = None
        if isinstance(api, Sandbox):
            self.api = Client(
                base_url=api.base_url, api_key=api.full_key, transport=internals(api).direct(), journal=False
            )
            self._sandbox = api
        else:
            with suppress(WrongEnvironment, AttributeError):
                self._sandbox = api.sandbox
        if self._sandbox is not None:
            self._check(sequence)

    def _check(self, sequence: Sequence) -> None:
        """Raise WrongEnvironment if the sandbox lacks the behavior, team or example ids that the sequence needs."""
        behavior, team = self._guide["behavior"], self._guide["tenant"]["team"]
        missing = None
        if sequence.profile not in (None, behavior):
            way = Remedy("behavior", behavior=sequence.profile)
            missing = f'a sandbox with behavior "{sequence.profile}", such as {way}'
        elif sequence.team not in (None, team):
            missing = f"a tenant with {sequence.team} teams"
        if missing:
            text = f'this sandbox has behavior "{behavior}" and {team} teams'
            raise WrongEnvironment(f"the sequence {sequence.name} needs {missing}; {text}. Nothing was sent.")
        for reference in (
            reference for step in sequence.steps for reference in step.references() if isinstance(reference, Guide)
        ):
            self.example(reference.example)

    @cached_property
    def _guide(self) -> Any:
        return self._sandbox.guide()

    @property
    def has_clock(self) -> bool:
        """Whether the target's clock can be advanced, which requires a sandbox."""
        return self._sandbox is not None

    def now(self) -> datetime:
        """Return the time of the target."""
        now: datetime = datetime.now(UTC) if self._sandbox is None else self._sandbox.clock.now()
        return now

    def cursor(self) -> int:
        """Return the number of events so far."""
        return len(self.events(0)) if self._sandbox is None else int(internals(self._sandbox).last_event())

    def events(self, after: int, until: int | None = None) -> list[Mapping[str, Any]]:
        """Return the events between two cursors, in wire format."""
        if self._sandbox is not None:
            events = self._sandbox.events(since=after)
            return [event.payload for event in events if until is None or event.sequence <= until]
        inbox: Any = getattr(self.api, "inbox", None)
        listed = () if inbox is None else inbox.stored()[after:until]
        return [strict_json.loads(stored.raw) for stored in listed]

    def control(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a control of the sandbox.

        Raises:
            WrongEnvironment: The target has no such control.
        """
        if self._sandbox is not None:
            return perform(self._sandbox, name, arguments)
        if name != "settle":
            raise WrongEnvironment(f"{name} is a sandbox control; a real service does not have it")
        # assumed: settle_route, the route that public clients call
        if not behaviors_of(self.api).get("settle_route"):
            raise WrongEnvironment(
                "settle is a sandbox control, and the document has no call for it. A real sandbox may serve "
                "POST /simulate/transactions/{transactionId}/settle; to use it, set sandbox.settle_route = true in "
                "its profile"
            )
        return self.api.call(ROWS["settle"], {"amount": FULL, **arguments})

    def advance(self, span: timedelta, until: Callable[[], bool] | None = None) -> None:
        """Advance the sandbox's clock; without a sandbox, wait until `until` is true or the span has passed."""
        if self._sandbox is not None:
            self._sandbox.advance(seconds=span.total_seconds())
        elif until is None:
            raise WrongEnvironment("the clock of a real service cannot be moved; a `wait` step waits for an event")
        else:
            deadline = monotonic() + span.total_seconds()
            while not until() and monotonic() < deadline:
                time.sleep(_POLL_INTERVAL)

    def look(self, control: Literal["balance", "state"], record_id: str) -> Any:
        """Return the balance of a card in cents, or a stored record; None if it is not accessible."""
        try:
            return None if self._sandbox is None else getattr(self._sandbox, control)(record_id)
        except ApiError:
            return None

    def example(self, path: str) -> Any:
        """Return an example id of the sandbox's guide.

        Raises:
            WrongEnvironment: The guide has no example at that path.
        """
        if self._sandbox is None:
            raise WrongEnvironment(
                f"{path} is an example of the sandbox; pass the parameter with an id of this service"
            )
        value = walk.get_path(self._guide, path)
        value = value[0] if isinstance(value, list) and value else value
        if not value:
            tenant = visible(self._guide["tenant"]["name"], 80)
            raise WrongEnvironment(
                f"the guide has no {path} for the tenant {tenant}; pass the parameter. Nothing was sent."
            )
        return value["id"] if isinstance(value, Mapping) and "id" in value else value


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, because its client is synchronous, and return the result."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    raise AssertionError("a synchronous call waited for an event loop")


class Player:
    """One run of a sequence: the results so far, the ledger, and the remaining steps.

    Args:
        sequence: The validated sequence.
        target: Target of the run.
        values: The parameters.
        check_balances: Compare the target's balances with the ledger; false for concurrent runs.
    """

    def __init__(
        self, sequence: Sequence, target: Target, values: Mapping[str, Any], *, check_balances: bool = True
    ) -> None:
        self.sequence = sequence
        self.target = target
        self.started = target.now()
        self.results: dict[str, StepResult] = {}
        self.ledger = Ledger()
        defaults = {parameter.name: parameter.default for parameter in sequence.parameters}
        self.values = {
            name: self._resolve(default if values.get(name) is None else values[name])
            for name, default in defaults.items()
        }
        self.record: Callable[[StepResult], object] = lambda _: None  # called before and after the call of a step
        self._check_balances = check_balances
        self._balances: dict[str, Mapping[str, int]] = {}  # the target's balance before the first entry, by card

    def restore(self, result: StepResult) -> None:
        """Restore a result of an earlier run."""
        self.results[result.step.name] = result
        if result.outcome == Outcome.DONE:
            self.ledger.book(result.step.name, result.step.do, result.arguments, result.answer, result.at)

    def pending(self) -> Iterator[Step]:
        """Yield the remaining steps; stop at an unknown outcome, because later results would be unreliable."""
        for index in range(len(self.sequence.steps)):
            step = self.sequence.steps[index]  # read late, since a stepper may have changed the step
            if step.name not in self.results:
                yield step
            result = self.results.get(step.name)
            if result is None or result.outcome == Outcome.UNKNOWN:  # without a result, the call was interrupted
                return

    def play(self, step: Step) -> StepResult:
        """Play one step with a synchronous client, whose calls do not wait for an event loop."""
        refuse_async(self.target.api, "sequences")
        return at_once(self.play_async(step))

    async def play_async(self, step: Step) -> StepResult:
        """Play one step. The outcome is "blocked" if a reference cannot be resolved."""
        at, before = self.target.now(), self.target.cursor()
        try:
            arguments = self._resolve(step.arguments)
        except _Blocked as blocked:
            missing = (Mismatch("step", "its references", str(blocked)),)
            result = StepResult(step, BLOCKED, at, {}, before=before, after=before, mismatches=missing)
            self.results[step.name] = result
            return result
        card = arguments.get("card_id")
        if self._check_balances and step.do == "simulate_authorization" and card not in self._balances:
            balance = self.target.look("balance", card)
            if balance is not None:
                at_first = walk.given(balance)
                self._balances[card] = {name: at_first[name] - ours for name, ours in self.ledger.balance(card).items()}
        result = StepResult(step, Outcome.SENDING.value, at, arguments, before=before)
        self.record(result)
        try:
            if step.do == "advance":
                await self._advance(duration(arguments["by"]))
            elif step.do == "wait":
                await self._wait(arguments, before)
            else:
                answer = (
                    getattr(self.target.api, step.do)(**arguments)
                    if step.do in SCRIPTED
                    else self.target.control(step.do, arguments)
                )
                result.answer = await answer if isawaitable(answer) else answer
            result.outcome = Outcome.DONE.value
        except WorkbenchError as error:
            result.error = error
            result.outcome = next((str(outcome) for kind, outcome in _OUTCOMES if isinstance(error, kind)), FAILED)
        self.results[step.name] = result
        self.record(result)  # recorded before anything else can fail, and again below with its mismatches
        if result.error is None:
            self.ledger.book(step.name, step.do, arguments, result.answer, at)
        if step.expect != NOTHING:
            unmet = await self._await_events(step.expect.events, before) if step.expect.events else []
            result.mismatches = (*self._mismatches(step.expect, result), *unmet)
        elif result.error is not None:
            result.mismatches = (Mismatch("outcome", "done", f"{result.outcome}: {result.error}"),)
        result.after = self.target.cursor()
        self.record(result)
        return result

    async def _advance(self, span: timedelta, until: Callable[[], bool] | None = None) -> None:
        """Advance the target's clock. With an async client of a real service, wait without blocking the event loop."""
        if isinstance(self.target.api, Async) and not self.target.has_clock:
            import asyncio

            await asyncio.to_thread(self.target.advance, span, until)
        else:
            self.target.advance(span, until)

    async def _wait(self, arguments: Mapping[str, Any], before: int) -> None:
        event = ExpectedEvent(**{**arguments, "timeout": duration(arguments.get("timeout", "0s"))})
        since = max((result.before for result in self.results.values()), default=before)
        missing = await self._await_events((event,), since)
        if missing:
            raise EventTimeout("; ".join(map(str, missing)))

    async def _await_events(self, events: tuple[ExpectedEvent, ...], since: int) -> list[Mismatch]:
        expected = tuple(attrs.evolve(event, where=self._resolve(event.where)) for event in events)

        def missing() -> list[Mismatch]:
            return _missing_events(expected, self.target.events(since))

        span = max((pattern.timeout for pattern in expected), default=timedelta(0))
        if span and missing():
            await self._advance(span, lambda: not missing())
        return missing()

    def _mismatches(self, expect: Expect, result: StepResult) -> Iterator[Mismatch]:
        error = result.error
        text = result.outcome if error is None else f"{result.outcome}: {error}"
        if expect.error and isinstance(error, ApiError):
            answer = {name: _refusal(error, name, wanted) for name, wanted in expect.error.items()}
            yield from _differences("error", expect.error, answer)
        elif expect.error or error is not None:
            yield Mismatch("outcome", "a refusal" if expect.error else "done", text)
        else:
            yield from _differences("result", self._resolve(expect.result), result.answer)
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

    def _resolve(self, value: object) -> Any:
        """Return a value with its references resolved.

        Raises:
            _Blocked: A reference names a step without a result.
        """
        return replaced(value, self._read)

    def _read(self, reference: Reference) -> Any:
        if isinstance(reference, Param):
            return self.values[reference.path]
        if isinstance(reference, Guide):
            return self.target.example(reference.example)
        assert isinstance(reference, Ref)
        result = self.results.get(reference.step)
        if result is None or result.answer is None:
            outcome = result.outcome if result else "not played"
            raise _Blocked(f"{reference.path} cannot be read: step {reference.step} is {outcome}")
        value = get_path(result.answer, reference.attribute) if reference.attribute else result.answer
        if value is None:
            raise _Blocked(f"{reference.path} cannot be read: the answer does not have it")
        return value

    def differences(self) -> list[str]:
        """Return how the target's balances differ from the ledger; empty if they agree or no balance is available."""
        differences: list[str] = []
        for card, before in self._balances.items():
            after = self.target.look("balance", card)
            if after is not None:
                differences += self.ledger.differences(card, before, walk.given(after))
        return differences


class _Blocked(Exception):
    """A step cannot be played because an earlier step has no result."""


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    return visible(str(value) if isinstance(value, str) else repr(value), 120)


def _differences(what: str, expected: Mapping[str, Any], actual: object) -> Iterator[Mismatch]:
    for path, wanted in expected.items():
        actual_value = get_path(actual, path)
        if actual_value != wanted:
            text = (
                _shown(actual_value) if isinstance(actual_value, str | int | bool | None) else masks.DOTS
            )  # other values may be private
            yield Mismatch(f"{what}.{path}", _shown(wanted), text)


def _refusal(error: ApiError, name: str, wanted: object) -> Any:
    """Return an attribute of an error. For `message`, return the expected text if the message contains it."""
    actual = getattr(error, name)
    return wanted if name == "message" and wanted in (actual or "") else actual


def _missing_events(expected: Iterable[ExpectedEvent], events: Iterable[Mapping[str, Any]]) -> list[Mismatch]:
    """Return the expected events that are missing. Each event, in wire format, satisfies at most one expectation."""
    left = list(events)
    missing = []
    for pattern in expected:
        received = next(
            (
                event
                for event in left
                if event_kind(event) == pattern.kind
                and all(get_path(event.get("body"), path) == value for path, value in pattern.where.items())
            ),
            None,
        )
        if received is not None:
            left.remove(received)
            continue
        actual = ", ".join(map(event_kind, left[:5])) or "no event"
        where = " with " + ", ".join(pattern.where) if pattern.where else ""
        missing.append(Mismatch("event", f"{pattern.kind}{where}", visible(actual, 200)))
    return missing


def event_kind(event: Mapping[str, Any]) -> str:
    """Return the kind of an event in wire format, such as `transaction.created`."""
    return f"{event.get('resource')}.{event.get('action')}"
