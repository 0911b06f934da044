"""State machine of one API call, independent of I/O. The functions that send and wait are passed in.

A call ends in an answer or an error. A call with an effect also ends in one of four outcomes (`effects.Outcome`). Reads
are tried up to three times by default. A call with an effect is sent again only if it provably never left this machine,
if it was refused with a 401 and another key is available, or after a 429 if the caller allowed a resend.
"""

import sys
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextvars import ContextVar
from functools import cached_property
from typing import Any, NoReturn
from urllib.parse import urlsplit

import attrs

from workbench.base import errors
from workbench.base.errors import Attempt, Problem, advise, logger, visible
from workbench.base.schema import checks, strict_json
from workbench.base.system.messages import ACTOR, ACTOR_HEADER
from workbench.client.calls import messages
from workbench.client.calls.cleaning import Cleaner
from workbench.client.calls.effects import RESEND, JournalEntry, Outcome, outcome_of, unknown_text
from workbench.client.calls.guards import ClientContext
from workbench.client.calls.journal import what
from workbench.client.calls.messages import Broken, ErrorBody, HttpRequest, HttpResponse
from workbench.client.calls.pace import LONGEST_WAIT, delay, retry_after
from workbench.client.calls.request_checks import has_open_ids, request_problems
from workbench.service.interface.convert import Unreadable, written
from workbench.service.interface.table import Operation, Operations

_IN_SPANS = {
    "method": "http.request.method",
    "path": "url.template",
    "status": "http.response.status_code",
    "try": "workbench.try",
    "operation": "workbench.operation",
    "environment": "workbench.environment",
    "attempt": "workbench.attempt",
    "request_id": "workbench.request_id",
}
"""Span attribute of each log record member, named by the OpenTelemetry conventions where they define one."""


def _trace(traces: Any, call: Mapping[str, Any], *, failed: bool) -> None:
    """Add an OpenTelemetry span for one attempt of a call, ending now."""
    attributes = {_IN_SPANS[name]: value for name, value in call.items() if name in _IN_SPANS and value is not None}
    server = urlsplit(f"//{call['host']}")  # a host without a port uses HTTPS
    attributes |= {"server.address": server.hostname, "server.port": server.port or 443}
    if failed:
        attributes["error.type"] = str(call["status"] or "no_answer")
    now = time.time_ns()
    span = traces.get_tracer("workbench").start_span(
        call["operation"],
        kind=traces.SpanKind.CLIENT,
        attributes=attributes,
        start_time=now - int(call["seconds"] * 1e9),
    )
    if failed:
        span.set_status(traces.StatusCode.ERROR)
    span.end(now)


RESPONSES: ContextVar[tuple[tuple[Any, list[HttpResponse]], ...]] = ContextVar("responses", default=())
"""Lists that collect the responses of a client's calls in this thread or task."""
IDEMPOTENCY: ContextVar[tuple[tuple[Any, str], ...]] = ContextVar("idempotency", default=())
"""Idempotency keys set for a client's calls in this thread or task. The last key applies."""
IDEMPOTENCY_HEADER = "Idempotency-Key"  # used if the caller gives a key, unless the profile names another header


class Exchange:
    """State of one API call: request, attempts and outcome."""

    def __init__(
        self,
        operation: Operation[..., Any],
        request: object,
        context: ClientContext,
        allowing: Collection[str],
        resend_of: str | None = None,
    ) -> None:
        self.operation = operation
        self.request = request
        self.seen = checks.Survey(request)  # replaced later by the survey of the checked request
        self.context = context
        self.allowing = allowing
        self.resend_of = resend_of
        self.tries = 0
        self.key_renewed = False  # the key is renewed at most once, after a 401
        self.deadline = float("inf")
        self.answer: Any = None
        self.attempt: Attempt | None = None
        self.ending: tuple[Outcome, int | None, str | None] | None = None  # None until the outcome is known
        self.is_recorded = False  # whether the outcome is in the journal
        self.active = True  # False after the coroutine has ended
        self.notices: list[str] = []  # notices from responses, which are reported after the outcome is recorded

    def __repr__(self) -> str:
        return f"<exchange {self.operation.name}>"

    async def run(
        self,
        transmit: Callable[[HttpRequest], Awaitable[Any]],
        pause: Callable[[float], Awaitable[None]],
        renew_key: Callable[[int], Awaitable[bool]],
    ) -> Any:
        """Check and record the request, send it, retry reads, and return the parsed answer.

        Args:
            transmit: Function that sends a request and returns an `HttpResponse` or a `Broken`.
            pause: Function that waits for a number of seconds.
            renew_key: Function that fetches the key again if it still has this version, and returns whether the key
                changed.
        """
        try:
            return await self._run(transmit, pause, renew_key)
        finally:
            self.active = False  # no interrupt can prevent this, since an assignment calls no function

    async def _run(self, transmit: Callable[..., Any], pause: Callable[..., Any], renew_key: Callable[..., Any]) -> Any:
        operation, context = self.operation, self.context
        self.seen = seen = checks.survey(self.request, context.converter)
        if seen.doubtful or context.limits.caps or has_open_ids(operation):
            problems = request_problems(
                operation, seen, self.allowing, check=context.check, real=context.real, limits=context.limits
            )
            if problems:
                raise errors.InvalidRequest(problems, of=operation.name)
        context.check_operation(operation)
        outgoing = self.encode()
        outgoing.clean = lambda value: self.clean(value)  # the cleaner is built only when a value must be masked
        try:
            if operation.effect:
                self.record(outgoing)
            await self.send(outgoing, transmit, pause, renew_key)
            return self.answer
        except BaseException as error:
            self.interrupted(error, outgoing)
            raise
        finally:
            try:
                self.record_end()
            finally:  # try again, since an interrupt may have prevented the first attempt
                self.record_end()
            for notice in self.notices:
                advise(notice)

    async def send(
        self,
        outgoing: HttpRequest,
        transmit: Callable[..., Any],
        pause: Callable[..., Any],
        renew_key: Callable[..., Any],
    ) -> None:
        """Send the request, with the allowed retries, until an answer or an error is final."""
        clock, timeout = self.context.clock, self.context.timeout
        self.deadline = outgoing.deadline = float("inf") if timeout is None else clock.monotonic() + timeout
        while True:
            now = clock.monotonic()
            longest = min(self.deadline - now, LONGEST_WAIT)
            wait = self.context.pace.wait(self.operation.effect is not None, now, longest)
            if wait > longest:
                self.not_sent(f"the service asked for a pause; try again in {wait:.0f} s")
            if wait > 0:
                await pause(wait)
            self.tries += 1
            outgoing.phase, outgoing.status = 0, None
            begun = clock.monotonic()
            outcome = await transmit(outgoing)
            self.log(outcome, clock.monotonic() - begun)
            if isinstance(outcome, HttpResponse) and outcome.status == 401 and not self.key_renewed:
                self.key_renewed = await renew_key(outgoing.key_version)
                if self.key_renewed:  # sending again is safe: a 401 means that the service carried out nothing
                    self.__dict__.pop("clean", None)  # the cached function masks the earlier key
                    continue
            again = self.failed(outcome) if isinstance(outcome, Broken) else self.answered(outcome)
            if again is None:
                return
            outgoing.phase, outgoing.status = -1, None
            if again > 0:  # with 0, the rate limiter makes the pause
                if clock.monotonic() + again > self.deadline:
                    self.give_up(outcome)
                await pause(again)

    @cached_property
    def clean(self) -> Cleaner:
        """Cleaner that masks private values in all output about this call."""
        return Cleaner(self.operation, self.request, self.context.key.header)

    def encode(self) -> HttpRequest:
        """Return the wire message of a checked request."""
        operation, headers = self.operation, self.context.headers
        path, body = written(operation, self.seen)
        try:
            content = None if operation.in_query or operation.method == "DELETE" else strict_json.encode(body).encode()
            target = operation.target(path, body if operation.in_query else {})
        except (TypeError, ValueError, OverflowError):
            problem = Problem("", "type", "contains a value that cannot be written as JSON")
            raise errors.InvalidRequest((problem,), of=operation.name) from None
        if content is not None:
            headers = [*headers, (b"Content-Type", b"application/json"), (b"Content-Length", b"%d" % len(content))]
        if operation.name == Operations.sign_withdrawal.name:
            headers = [*headers, (b"Cache-Control", b"no-store")]  # caches must not store the response
        return HttpRequest(operation, target, headers, content)

    # the journal

    def record(self, outgoing: HttpRequest) -> None:
        """Record a call with an effect before it is sent, and refuse a duplicate within a day."""
        context, operation, recorder = self.context, self.operation, self.context.recorder
        digest = ""
        if recorder is not None and context.real:
            digest = recorder.digest(operation, f"{outgoing.target}\0".encode() + (outgoing.body or b""))
        entry = JournalEntry(
            id=context.clock.new_id(),
            operation=operation.name,
            what=what(operation, self.request),
            started=context.clock.now(),
            environment=context.environment,
            outcome=Outcome.SENDING,
            digest=digest,
            resend_of=self.resend_of,
        )
        if recorder is not None:
            entry = recorder.traced(entry, operation, self.request, direct=context.is_embedded)
        if (key := self.idempotency_key(entry.id, digest)) is not None:  # assumed: idempotency
            entry = attrs.evolve(entry, idempotency_key=key)
            header = context.idempotency_header or IDEMPOTENCY_HEADER
            outgoing.headers = [*outgoing.headers, (header.encode(), key.encode())]
        if (actor := ACTOR.get()) and context.is_sandbox and not context.is_embedded:
            outgoing.headers = [*outgoing.headers, (ACTOR_HEADER.encode(), actor.encode())]
        if recorder is not None and self.resend_of is not None:
            recorder.check_same(self.resend_of, operation.name, self.seen.shown, digest)
        elif recorder is not None and digest and "again" not in self.allowing and (earlier := recorder.earlier(digest)):
            context.check_duplicate(entry.what, earlier)
        self.attempt = entry.attempt
        if recorder is None:
            return
        try:
            recorder.begin(entry, self.seen.shown, self)
        except errors.CannotRecord:
            self.attempt = None  # the call has no journal entry, so its outcome cannot be recorded
            raise

    def idempotency_key(self, attempt: str, digest: str) -> str | None:
        """Return the idempotency key: the first attempt's, else the caller's, else the call id if a header is set.

        Raises:
            InvalidRequest: The caller's key belongs to another call, or differs from the key of the first attempt.
        """
        context, recorder = self.context, self.context.recorder
        keys = [key for client, key in IDEMPOTENCY.get() if client is context]
        first = None
        if recorder is not None and self.resend_of is not None:
            first = recorder.idempotency_key(self.resend_of)
        if keys and first is None:
            if recorder is not None:
                recorder.check_key(keys[-1], self.operation.name, self.seen.shown, digest)
            return keys[-1]
        if keys and first != keys[-1]:
            message = f"a resend keeps the key of its first attempt, {first or self.resend_of!r}, not {keys[-1]!r}"
            raise errors.InvalidRequest(message, of="idempotency")
        return first or (None if context.idempotency_header is None else self.resend_of or attempt)

    def end(self, outcome: Outcome, *, status: int | None = None, error: str | None = None) -> None:
        """Set the outcome of the call, which `record_end` records."""
        self.ending = (outcome, status, error)
        self.record_end()

    def record_end(self) -> None:
        """Record the outcome once. The call is over, so an error of the journal only causes a warning."""
        recorder, attempt = self.context.recorder, self.attempt
        if self.ending is None or self.is_recorded or recorder is None or attempt is None:
            return
        outcome, status, error = self.ending
        try:
            recorder.finish(attempt.id, outcome, status=status, answer=self.answer, error=error)
            if self.resend_of is not None and outcome is Outcome.DONE:
                note = f"sent again as {attempt.id}, which is done"
                recorder.resolve(self.resend_of, Outcome.DONE, note, RESEND)
        except errors.CannotRecord as failure:
            advise(
                f"{attempt.what}: the outcome ({outcome.shown}) could not be recorded; "
                f"the journal will show {attempt.id} as unknown ({failure})"
            )
        self.is_recorded = True

    @property
    def named(self) -> Attempt:
        """The call as an `Attempt`, for errors."""
        assert self.attempt is not None
        return self.attempt

    @property
    def described(self) -> str:
        """Description of the call in the journal; for a call without an entry, the name of the operation."""
        return self.attempt.what if self.attempt is not None else self.operation.name

    # outcomes

    def interrupted(self, error: BaseException, outgoing: HttpRequest) -> None:
        """Record what is known about a write that was interrupted."""
        if self.attempt is None or self.ending is not None:
            return
        status, kind = outgoing.status, type(error).__name__
        if isinstance(error, errors.NotSent):  # a transport raised the error, with its own message
            self.ending = (Outcome.NOT_SENT, None, kind)
        elif outgoing.surely_not_sent:
            self.ending = (Outcome.NOT_SENT, None, kind)
            error.add_note(f"{self.described}: never left this machine.")
        elif status is not None and outcome_of(status) is not Outcome.UNKNOWN:
            self.ending = (outcome_of(status), status, kind)
            error.add_note(f"{self.described}: {self.ending[0]} ({status}); its answer was not read.")
        else:
            self.ending = (Outcome.UNKNOWN, None, kind)
            error.add_note(unknown_text(self.named, f"interrupted by {kind}"))

    def not_sent(self, why: str, cause: Exception | None = None) -> NoReturn:
        """Record that a request was not sent, and raise the error."""
        self.end(Outcome.NOT_SENT, error=why)
        raise errors.NotSent(
            f"{self.described}: never left this machine ({why}). It is safe to try again.{self.retry_budget_note}"
        ) from cause

    def outcome_unknown(self, known: str, response: HttpResponse | None = None) -> NoReturn:
        """Record the unknown outcome of a write that was sent, and raise the error."""
        refusal, status = ErrorBody(), None
        if response is not None:
            status, refusal = response.status, messages.refusal(response, self.clean)
            if not isinstance(refusal.body, dict):  # the error page of a proxy may contain data of other users
                refusal = ErrorBody(message=messages.without_values(refusal.message or "") or None)
        message = f"{known} ({refusal.summary})" if refusal.summary else known
        self.end(Outcome.UNKNOWN, status=status, error=message)
        raise errors.OutcomeUnknown(
            unknown_text(self.named, message),
            attempt=self.named,
            status=status,
            error=refusal.error,
            message=refusal.message,
            correlation_id=refusal.correlation_id,
        )

    @property
    def retry_budget_note(self) -> str:
        """Sentence for errors if the retry budget is used up, otherwise empty."""
        if 0 < self.tries < self.context.attempts and self.context.budget.left < 10:
            return " Too many calls failed, so no call is retried until some succeed."
        return ""

    def failed(self, broken: Broken) -> float:
        """Return the delay before the next attempt of a call without an answer. Raise if a write may have been sent."""
        if broken.left and self.operation.effect:
            late = broken.timeout and self.context.timeout is not None
            self.outcome_unknown(f"no answer within {self.context.timeout:g} s" if late else broken.why)
        return self.again(broken)

    def again(self, outcome: Broken | HttpResponse) -> float:
        """Return the delay before the next attempt. Raise the last error if attempts or retry budget are used up."""
        timeout = isinstance(outcome, Broken) and outcome.timeout
        if isinstance(outcome, Broken) and outcome.final:
            self.give_up(outcome)
        if self.tries >= self.context.attempts or not self.context.budget.spend(timeout=timeout):
            self.give_up(outcome)
        return delay(self.tries, self.context.clock.random())

    def give_up(self, outcome: Broken | HttpResponse) -> NoReturn:
        """Raise the error of the last attempt."""
        broken = outcome if isinstance(outcome, Broken) else outcome.broken
        if isinstance(outcome, HttpResponse) and (broken is None or outcome.status >= 300):
            self.refused(outcome)
        assert broken is not None
        if not broken.left:
            self.not_sent(broken.why, broken.cause)
        times = {1: "once", 2: "twice"}.get(self.tries, f"{self.tries} times")
        raise errors.NoAnswer(
            f"{self.operation.name}: {self.context.host} did not answer ({broken.why}), tried {times}."
            f"{self.retry_budget_note}"
        ) from broken.cause

    def answered(self, response: HttpResponse) -> float | None:
        """Process an answer, and return the delay before the next attempt, or None if the answer is final."""
        self.read_notices(response)
        status, effect = response.status, self.operation.effect
        if 200 <= status < 300:
            if response.broken is not None and not effect and not response.broken.too_large:
                return self.failed(response.broken)
            self.done(response)
            return None
        if status == 429:
            return self.limited(response)
        if 300 <= status < 400:
            self.redirected(response)
        if outcome_of(status) is Outcome.REFUSED and (effect or status != 425):
            self.refused(response)
        if effect:
            self.pause_as_asked(response)
            self.outcome_unknown(f"answered with {status}", response)
        return self.again_as_asked(response)

    def limited(self, response: HttpResponse) -> float:
        """Return the delay after a 429. A call with an effect is retried only if the caller allowed a resend."""
        self.context.on_rate_limit()
        if self.operation.effect and "resend" not in self.allowing:
            self.pause_as_asked(response)
            self.refused(response)
        return self.again_as_asked(response)

    def again_as_asked(self, response: HttpResponse) -> float:
        """Return the delay before the next attempt: 0 if the service requested a pause, which applies to all calls."""
        asked = self.pause_as_asked(response)
        if asked > LONGEST_WAIT or self.context.clock.monotonic() + asked > self.deadline:
            self.refused(response)
        pause = self.again(response)
        return 0.0 if asked else pause

    def pause_as_asked(self, response: HttpResponse) -> float:
        """Pause all calls for the time in Retry-After, unless it is too long. Return this time in seconds, or 0."""
        asked = retry_after(response.headers, self.context.clock.now()) or 0.0
        if 0 < asked <= LONGEST_WAIT:
            self.context.pace.pause(self.context.clock.monotonic() + asked)
        return asked

    def redirected(self, response: HttpResponse) -> NoReturn:
        """Raise an error for a redirect, which is never followed because the key would be sent along."""
        where = messages.host_of(response.headers.get("location", ""))
        text = (
            f"{self.context.host} answered with {response.status} and points to {where}; redirects are never followed, "
            "because the key would be sent along"
        )
        advice = "Correct the base URL of the profile."
        if self.operation.effect:
            self.end(Outcome.UNKNOWN, status=response.status, error="redirected")
            raise errors.RedirectedEffect(f"{unknown_text(self.named, text)}\n{advice}", attempt=self.named)
        raise errors.UnexpectedRedirect(f"{self.described}: {text}. {advice}")

    def refused(self, response: HttpResponse) -> NoReturn:
        """Raise the error for a refusal, with the service's message."""
        status = response.status
        refusal = messages.refusal(response, self.clean)
        kind, asked = errors.ApiError.of(status), retry_after(response.headers, self.context.clock.now()) or 0.0
        advice = None
        if kind is errors.RateLimited:
            advice = f"Try again after {asked:.0f} s" if asked > 0 else "Try again later"
        elif not messages.names_value(refusal, self.request):
            advice = messages.hint(self.operation, status, self.context.host)
        effect = self.operation.effect
        if self.resend_of is not None and effect is not None and effect.is_repeat(status, refusal.message):
            advice = f"Probably carried out by the earlier attempt, {self.resend_of}, whose outcome stays unknown"
        error = kind(
            operation=self.operation.name,
            status=status,
            error=refusal.error,
            message=refusal.message,
            body=refusal.body,
            hint=advice,
        )
        if isinstance(error, errors.RateLimited) and asked > 0:
            error.retry_after = asked
        error.correlation_id = refusal.correlation_id
        self.end(Outcome.REFUSED, status=status, error=refusal.summary or None)
        raise error

    def done(self, response: HttpResponse) -> None:
        """Parse the answer of a successful call. assumed: success_codes"""
        context, operation, broken = self.context, self.operation, response.broken
        context.budget.earn()
        if context.as_bytes and broken is None:
            self.answer = response.body
            return
        raw: object = None
        why: str | None = None
        problems: tuple[Problem, ...] = ()
        try:
            if broken is not None:
                why = broken.why
            elif response.body.strip():
                raw = strict_json.loads(response.body, repair=True)
                if raw is None:
                    why = "it is null"
                elif not operation.many and not isinstance(raw, dict):
                    why = "it is not an object"
            elif not operation.effect:  # an empty list from a read would claim that no records exist
                why = "it is empty"
            if why is None:
                self.answer = context.converter.read_answer(operation, raw)
        except strict_json.NotJson as error:
            why = str(error)
        except Unreadable as error:
            why, problems = "it has an unexpected structure", error.problems
        if operation.effect:
            self.end(Outcome.DONE, status=response.status, error=None if why is None else f"result unreadable: {why}")
        if why is None:
            if extra := getattr(self.answer, "extra", None):
                names = visible(", ".join(sorted(map(str, extra))), 120)
                self.once("extra", f"undocumented members ({names})", logger().info)
            return
        accepted = f"{self.described}: accepted ({response.status}), but the answer"
        text = f"{accepted} could not be read: {why}."
        too_large = broken is not None and broken.too_large
        if too_large:
            text = f"{accepted} is larger than {messages.CAP // 1_000_000} MB and was not read to its end."
        # a dict is not cleaned, since its repr in the error hides its values
        body = raw if isinstance(raw, dict) else self.clean(raw)
        if operation.effect:
            raise errors.UnreadableEffect(
                text, attempt=self.named, problems=problems, body=body, status=response.status
            )
        kind = errors.ResponseTooLarge if too_large else errors.UnexpectedAnswer
        raise kind(text, problems=problems, body=body, status=response.status)

    # notices and logs of answers

    def log(self, outcome: HttpResponse | Broken, seconds: float) -> None:
        """Log the response to one attempt without private values. The record's attribute `call` has the data."""
        if isinstance(outcome, HttpResponse):
            for context, collected in RESPONSES.get():
                if context is self.context:
                    collected.append(outcome)
        # a program that uses tracing or logging has imported its module
        traces, logging = sys.modules.get("opentelemetry.trace"), sys.modules.get("logging")
        if traces is None and (logging is None or not logger().isEnabledFor(logging.INFO)):
            return
        name, status, request_id = self.operation.name, None, None
        if isinstance(outcome, HttpResponse):
            status, request_id = outcome.status, visible(self.clean(outcome.request_id or ""), 80) or None
        call = {
            "operation": name,
            "method": self.operation.method,
            "path": self.operation.path,
            "host": self.context.host,
            "environment": self.context.environment,
            "try": self.tries,
            "status": status,
            "seconds": round(seconds, 6),
            "attempt": self.attempt and self.attempt.id,
            "request_id": request_id,
        }
        logger().info("%s: %s, %.3f s, try %d", name, status or "no answer", seconds, self.tries, extra={"call": call})
        if traces is not None:
            _trace(traces, call, failed=status is None or status >= 400)

    def read_notices(self, response: HttpResponse) -> None:
        """Store the service's time and the notices in a response."""
        date = response.headers.get("date")
        if date is not None:
            self.context.newest_date = (date, self.context.clock.now().timestamp())
        for name, notice in messages.NOTICES.items():
            if (value := response.headers.get(name)) is not None:
                say = logger().warning if name == "workbench-fault" else self.notices.append
                self.once(name, f"{notice} ({visible(value, 120)})", say)

    def once(self, kind: str, note: str, say: Callable[[str], object]) -> None:
        """Store a notice about an operation, and report it if it is new."""
        of_all = kind == "workbench-ignored"  # a sandbox ignores the header for all operations, so one notice is enough
        key, text = kind if of_all else f"{kind} {self.operation.name}", f"{self.operation.name}: {note}"
        if key not in self.context.noticed:
            self.context.noticed[key] = text
            say(text)
