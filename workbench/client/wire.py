"""One call as a generator that performs no I/O: what to send is yielded, what came back is sent in.

A call ends in an answer or an error, and a call with an effect in one of four ends (`effects.End`). Reads are tried up
to three times; a call with an effect is sent again only where it provably never left.
"""

import re
import zlib
from collections.abc import Collection, Generator, Mapping
from typing import Any, NoReturn
from urllib.parse import quote, urlencode

from workbench.client.advice import LOG, advise
from workbench.client.effects import End, unknown_text, what
from workbench.client.guards import Guards
from workbench.client.journal import Entry, Journal
from workbench.client.pace import ATTEMPTS, LONGEST_WAIT, Budget, Clock, Pace, delay, retry_after
from workbench.errors import (
    ApiError,
    Attempt,
    CannotRecord,
    InvalidRequest,
    NoAnswer,
    NotSent,
    OutcomeUnknown,
    Problem,
    RateLimited,
    ResponseTooLarge,
    UnexpectedAnswer,
    UnexpectedRedirect,
    visible,
)
from workbench.interface import checks, strict_json
from workbench.interface.convert import Unreadable, Wires
from workbench.interface.operation import Operation
from workbench.interface.rules import Role
from workbench.interface.table import (
    DELETE_PAYMENT_ACCOUNT,
    LIST_REWARDS_ACTIVITY,
    SIGN_WITHDRAWAL,
    UPDATE_DISPUTE,
)
from workbench.interface.walk import Member, member, members

CAP = 10_000_000  # bytes of an answer, unpacked
WRITTEN = 2  # the phase from which the service may have acted

# "Success body: not shown" (Endpoints 7 and 10): for these an empty body is an answer.
_MAY_BE_EMPTY = frozenset({DELETE_PAYMENT_ACCOUNT.name, UPDATE_DISPUTE.name})
_NO_BODY = frozenset({204, 205})


class Request:
    """What to send. The driver notes in it how far it got."""

    __slots__ = ("body", "deadline", "headers", "method", "phase", "status", "target", "traced", "where")

    def __init__(
        self, method: str, where: str, target: str, headers: list[tuple[bytes, bytes]], body: bytes | None
    ) -> None:
        self.method = method
        self.where = where  # the path template, which is harmless to show
        self.target = target  # path and query, after the base URL
        self.headers = headers  # all but the key
        self.body = body
        self.deadline = 0.0
        self.phase = 0  # 1: the head is being written, 2: it was
        self.traced = False  # whether the driver sees the phase
        self.status: int | None = None

    @property
    def surely_not_sent(self) -> bool:
        """Whether not a byte of it was written."""
        return self.traced and self.phase == 0

    def __repr__(self) -> str:
        return f"<request {self.method} {self.where}>"


class Response:
    """What came back: a whole status, and the body as far as it could be read."""

    __slots__ = ("body", "broken", "headers", "status")

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes, broken: "Broken | None" = None) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.broken = broken  # why the body is not whole

    def __repr__(self) -> str:
        return f"<response {self.status}, {len(self.body)} bytes>"


class Broken:
    """No answer: what happened, whether the request may have been acted on, and the transport's error without more."""

    __slots__ = ("cause", "left", "timeout", "too_large", "why")

    def __init__(
        self, why: str, *, left: bool, timeout: bool = False, too_large: bool = False, cause: Exception | None = None
    ) -> None:
        self.why = why
        self.left = left
        self.timeout = timeout
        self.too_large = too_large
        self.cause = cause

    def __repr__(self) -> str:
        return f"<broken: {self.why}>"


class Pause:
    """Wait, then go on."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class TooLarge(Exception):
    """The body passed the cap; it is not read on."""


class Body:
    """A body while it arrives: unpacked by ourselves, so that it never grows beyond the cap."""

    __slots__ = ("_left", "_parts", "_unpack")

    def __init__(self, encoding: str | None, cap: int = CAP) -> None:
        packed = (encoding or "").strip().lower()
        # 47: gzip or zlib, told by the first bytes. Others were not asked for and stay as they are.
        self._unpack = zlib.decompressobj(47) if packed in {"gzip", "x-gzip", "deflate"} else None
        self._parts: list[bytes] = []
        self._left = cap

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes.

        Raises:
            TooLarge: Unpacked they pass the cap.
            zlib.error: They are not what their encoding says.
        """
        if self._unpack is not None:
            chunk = self._unpack.decompress(chunk, self._left + 1)
        self._left -= len(chunk)
        if self._left < 0:
            raise TooLarge
        self._parts.append(chunk)

    def whole(self) -> bytes:
        """Give the body."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)


class Line:
    """What one client and its views hold for all their calls."""

    __slots__ = (
        "budget", "check", "clock", "environment", "guards", "heard", "host", "idempotency_header", "journal",
        "noticed", "pace", "read_headers", "timeout", "wires", "write_headers",
    )  # fmt: skip

    def __init__(
        self, *, host: str, environment: str, timeout: float | None, check: bool, wires: Wires, clock: Clock,
        guards: Guards, pace: Pace, journal: Journal | None, agent: str, idempotency_header: str | None = None,
    ) -> None:  # fmt: skip
        self.host = host
        self.environment = environment
        self.timeout = timeout
        self.check = check
        self.wires = wires
        self.clock = clock
        self.guards = guards
        self.pace = pace
        self.journal = journal
        self.budget = Budget()
        self.idempotency_header = idempotency_header
        self.heard: tuple[str, float] | None = None  # the newest Date header, and our time of day when it came
        self.noticed: dict[str, str] = {}
        self.read_headers = [
            (b"Host", host.encode()),
            (b"Accept", b"application/json"),
            (b"Accept-Encoding", b"gzip, deflate"),
            (b"User-Agent", agent.encode()),
        ]
        self.write_headers = [*self.read_headers, (b"Content-Type", b"application/json")]


Exchange = Generator[Request | Pause, Any, Any]


def checked(operation: Operation[..., Any], request: Any, line: Line, allowing: Collection[str]) -> None:
    """Refuse a request that breaks a rule, and warn of what looks wrong.

    Raises:
        InvalidRequest: With all problems.
    """
    __tracebackhide__ = True
    refused, warned = checks.cautions(request, allowing)
    if line.check:
        problems = (*checks.problems(request, partial="partial_address" in allowing), *refused)
    else:  # what the service says to a wrong request may be seen, but an id still has to fit into a path
        problems = (*_unsendable(operation, request), *refused)
    if problems:
        raise InvalidRequest(problems, of=operation.name)
    for problem in warned:
        if not line.guards.real and problem.path.endswith("nationalId"):
            continue  # a number that was never issued is what a sandbox should get
        advise(f"{operation.name}: {problem}")


def _unsendable(operation: Operation[..., Any], request: Any) -> tuple[Problem, ...]:
    fields = {one.wire for one in members(type(request)) if "{" + one.wire + "}" in operation.path}
    return tuple(problem for problem in checks.problems(request) if problem.rule == "text" or problem.path in fields)


def encode(operation: Operation[..., Any], request: Any, line: Line) -> Request:
    """Give what to send for a request that was checked."""
    __tracebackhide__ = True
    failure: Problem
    try:
        path, body = line.wires.write_request(operation, request)
        target = operation.path
        for name, value in path.items():
            target = target.replace("{" + name + "}", quote(str(value), safe=""))
        if operation.in_query:
            if body:
                target += "?" + urlencode({name: _query(value) for name, value in body.items()}, quote_via=quote)
            content, headers = None, line.read_headers
        elif operation.method == "DELETE":
            content, headers = None, line.read_headers
        else:
            content, headers = strict_json.dumps(body), line.write_headers
            headers = [*headers, (b"Content-Length", b"%d" % len(content))]
        if operation.name == SIGN_WITHDRAWAL.name:
            headers = [*headers, (b"Cache-Control", b"no-store")]  # an authorization is not kept by anybody on the way
        return Request(operation.method, operation.path, target, headers, content)
    except (TypeError, ValueError, OverflowError):
        failure = Problem("", "type", "holds a value that cannot be written as JSON")
    raise InvalidRequest((failure,), of=operation.name)  # outside the block: the chain would hold the values


def _query(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def exchange(
    operation: Operation[..., Any], request: Any, line: Line, allowing: Collection[str], resend_of: str | None = None
) -> Exchange:
    """Check, record, send, retry reads, read the answer."""
    __tracebackhide__ = True
    checked(operation, request, line, allowing)
    line.guards.check(operation, request)
    outgoing = encode(operation, request, line)
    call = _Call(operation, request, line, allowing, resend_of)
    if operation.effect:
        call.record(outgoing)
    clock, pace, effect = line.clock, line.pace, operation.effect
    begun = clock.monotonic()
    deadline = begun + line.timeout if line.timeout is not None else float("inf")
    outgoing.deadline = call.deadline = deadline
    while True:
        now = clock.monotonic()
        longest = min(deadline - now, LONGEST_WAIT)
        wait = pace.wait(effect, now, longest)
        if wait > longest:
            call.not_sent(f"the service asked for a pause; try again in {wait:.0f} s")
        if wait > 0:
            try:
                yield Pause(wait)
            except BaseException:
                call.end(End.NOT_SENT, error="interrupted before it was sent")
                raise
        call.tries += 1
        outgoing.phase, outgoing.status = 0, None
        try:
            outcome = yield outgoing
        except BaseException as error:
            call.interrupted(error, outgoing)
            raise
        pause = call.failed(outcome) if outcome.__class__ is Broken else call.answered(outcome)
        if pause is None:
            return call.answer
        if pause == 0:  # the pace has the pause
            continue
        if clock.monotonic() + pause > deadline:
            call.give_up(outcome)
        try:
            yield Pause(pause)
        except BaseException:
            call.end(End.NOT_SENT, error="interrupted before it was sent again")
            raise


class _Call:
    """One call under way: what it met, and whether it may go on."""

    def __init__(
        self, operation: Operation[..., Any], request: Any, line: Line, allowing: Collection[str], resend_of: str | None
    ) -> None:
        self.operation = operation
        self.request = request
        self.line = line
        self.allowing = allowing
        self.resend_of = resend_of
        self.tries = 0
        self.deadline = float("inf")
        self.answer: Any = None
        self.attempt: Attempt | Entry | None = None

    def __repr__(self) -> str:
        return f"<call {self.operation.name}>"

    # the journal

    def record(self, outgoing: Request) -> None:
        """Record a call with an effect before it leaves; refuse the same one within a day."""
        __tracebackhide__ = True
        line, operation = self.line, self.operation
        said = what(operation, self.request)
        new_id, started = line.clock.new_id(), line.clock.now()
        if line.idempotency_header is not None:
            outgoing.headers = [*outgoing.headers, (line.idempotency_header.encode(), new_id.encode())]
        journal = line.journal
        if journal is None:
            self.attempt = Attempt(
                id=new_id, operation=operation.name, what=said, started=started, environment=line.environment
            )
            return
        digest = ""
        if line.guards.real:
            digest = journal.digest(operation, f"{outgoing.target}\0".encode() + (outgoing.body or b""))
        if self.resend_of is not None:
            journal.hold_against(self.resend_of, operation.name, self.request, digest)
        elif digest:
            earlier = journal.earlier(digest)
            if earlier is not None:
                line.guards.duplicate(said, earlier, "again" in self.allowing)
        self.attempt = journal.begin(
            attempt=new_id, operation=operation.name, request=self.request, what=said, environment=line.environment,
            started=started, digest=digest, resend_of=self.resend_of,
        )  # fmt: skip

    def end(self, end: End, *, status: int | None = None, error: str | None = None) -> None:
        """Record how it ended. The call is over, so a journal that fails now is only told."""
        journal = self.line.journal
        if journal is None or not isinstance(self.attempt, Entry):
            return
        try:
            journal.finish(self.attempt.id, end, status=status, answer=self.answer, error=error)
            if self.resend_of is not None and end is End.DONE:
                journal.resent(self.resend_of, self.attempt.id)
        except CannotRecord as failure:
            advise(
                f"{self.attempt.what} is {end.replace('_', ' ')}, but that could not be recorded; "
                f"the journal will show {self.attempt.id} as unknown ({failure})"
            )

    @property
    def named(self) -> Attempt:
        """The call as errors name it."""
        attempt = self.attempt
        assert attempt is not None
        return attempt.attempt if isinstance(attempt, Entry) else attempt

    @property
    def said(self) -> str:
        """What it does, in words."""
        return self.attempt.what if self.attempt is not None else self.operation.name

    # what can happen

    def interrupted(self, error: BaseException, outgoing: Request) -> None:
        """Note what is known of a call that was stopped while in the air."""
        if not self.operation.effect:
            return
        if outgoing.surely_not_sent:
            self.end(End.NOT_SENT, error=type(error).__name__)
            error.add_note(f"{self.said}: never left this machine.")
            return
        status = outgoing.status
        if status is not None and (200 <= status < 300 or (400 <= status < 500 and status != 408)):
            end = End.DONE if status < 300 else End.REFUSED
            self.end(end, status=status, error=type(error).__name__)
            error.add_note(f"{self.said}: {end} ({status}); its answer was not read.")
            return
        self.end(End.UNKNOWN, error=type(error).__name__)
        error.add_note(unknown_text(self.named, f"interrupted by {type(error).__name__}"))

    def not_sent(self, why: str, cause: Exception | None = None) -> NoReturn:
        """End: it never left."""
        __tracebackhide__ = True
        self.end(End.NOT_SENT, error=why)
        raise NotSent(f"{self.said}: never left this machine ({why}). It is safe to try again.") from cause

    def unknown(self, known: str, status: int | None = None) -> NoReturn:
        """End: it left, and nobody knows."""
        __tracebackhide__ = True
        self.end(End.UNKNOWN, status=status, error=known)
        raise OutcomeUnknown(unknown_text(self.named, known), attempt=self.named)

    def may_retry(self, *, timeout: bool = False) -> bool:
        """Whether the attempts and the shared budget allow another try."""
        return self.tries < ATTEMPTS and self.line.budget.spend(timeout=timeout)

    def failed(self, broken: Broken) -> float:
        """No answer came: give how long to wait before the next try."""
        __tracebackhide__ = True
        if broken.left and self.operation.effect:
            self.unknown(broken.why)
        if not self.may_retry(timeout=broken.timeout):
            self.give_up(broken)
        return delay(self.tries, self.line.clock.random())

    def give_up(self, outcome: Broken | Response) -> NoReturn:
        """End without another try."""
        __tracebackhide__ = True
        if isinstance(outcome, Response):
            if outcome.broken is not None and 200 <= outcome.status < 300:
                self.no_answer(outcome.broken)
            self.refused(outcome)
        if not outcome.left:
            self.not_sent(outcome.why, outcome.cause)
        self.no_answer(outcome)

    def no_answer(self, broken: Broken) -> NoReturn:
        """End of a read."""
        __tracebackhide__ = True
        tired = ""
        if self.tries < ATTEMPTS and self.line.budget.left < 10:
            tired = " Too many calls failed, so none is tried twice until some go well again."
        raise NoAnswer(
            f"{self.operation.name}: {self.line.host} gave no answer ({broken.why}), asked {_times(self.tries)}.{tired}"
        ) from broken.cause

    def answered(self, response: Response) -> float | None:
        """Read an answer: give how long to wait before the next try, None where it is the answer."""
        __tracebackhide__ = True
        self.listen(response)
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
        if 400 <= status < 500 and status != 408:
            if status == 404 and self.resend_of is not None and self.operation is DELETE_PAYMENT_ACCOUNT:
                self.answer = self.line.wires.read_answer(self.operation, None)
                self.end(End.DONE, status=status)  # the first deletion, or this one: it is gone
                return None
            self.refused(response)
        if effect:
            self.unknown(f"answered with {status} only" if status >= 200 else f"answered with {status}", status)
        if not self.may_retry():
            self.give_up(response)
        return self.asked_pause(response) or delay(self.tries, self.line.clock.random())

    def limited(self, response: Response) -> float:
        """429: it was not carried out. Reads wait as asked; a call with an effect only where the caller said so."""
        __tracebackhide__ = True
        clock = self.line.clock
        asked = self.asked_pause(response)
        if asked is None:  # said, but not to be waited for
            self.refused(response)
        until = clock.monotonic() + asked
        if asked > 0:
            self.line.pace.hold(until)  # for all threads
        may = not self.operation.effect or "resend" in self.allowing
        if not may or until > self.deadline or not self.may_retry():
            self.refused(response)
        # Where a time was said, the pace makes every call wait for it, this one too.
        return 0.0 if asked > 0 else delay(self.tries, clock.random())

    def asked_pause(self, response: Response) -> float | None:
        """Give the seconds of a Retry-After: 0 where there is none, None where it is not to be waited for."""
        value = response.headers.get("retry-after")
        if value is None:
            return 0.0
        asked = retry_after(value, response.headers.get("date"), self.line.clock.now())
        return asked if asked is not None and 0 < asked <= LONGEST_WAIT else None

    def redirected(self, response: Response) -> NoReturn:
        """3xx: never followed, since the key would go along."""
        __tracebackhide__ = True
        host = _host(response.headers.get("location", ""))
        text = (
            f"{self.said}: {self.line.host} answered with {response.status} and points to {host}. "
            "Redirects are never followed, since the key would go along; put the right base URL into the profile."
        )
        if self.operation.effect:
            self.end(End.UNKNOWN, status=response.status, error="redirected")
            text += f" Whether it was carried out is unknown (journal {self.named.id})."
        raise UnexpectedRedirect(text)

    def refused(self, response: Response) -> NoReturn:
        """The service said no, in its own words."""
        __tracebackhide__ = True
        status = response.status
        body, error, message = _words(response)
        kind = ApiError.of(status)
        headers = response.headers
        asked = retry_after(headers.get("retry-after"), headers.get("date"), self.line.clock.now())
        hint = self.hint(status)
        if kind is RateLimited:
            hint = f"Try again after {asked:.0f} s" if asked is not None and asked > 0 else "Try again later"
        refusal = kind(operation=self.operation.name, status=status, error=error, message=message, body=body, hint=hint)
        if isinstance(refusal, RateLimited) and asked is not None and asked > 0:
            refusal.retry_after = asked
        self.end(End.REFUSED, status=status, error=visible(message or error or "", 200) or None)
        if status == 409 and self.resend_of is not None and getattr(self.request, "external_id", None):
            self._exists()
        raise refusal

    def _exists(self) -> None:
        journal = self.line.journal
        if journal is not None and self.resend_of is not None:
            journal.resent(self.resend_of, self.named.id, "sent again, and its external id exists already")

    def hint(self, status: int) -> str | None:
        """Give what a person can do about a refusal, where the document or the environment tells."""
        operation = self.operation
        if status == 401:
            return "Check the key of this profile and its environment"
        if status == 403 and operation.roles:
            role = ", ".join(sorted(operation.roles))
            more = " (read is not enough)" if Role.CONTRACTS_AND_SIGNATURES_WRITE in operation.roles else ""
            return f"This key may lack the role {role}{more}"
        if status == 404 and operation.sandbox_only:
            return (
                f"Either {self.line.host} is a production base URL, where simulations do not exist, "
                "or no such card or transaction is known here"
            )
        if status == 409 and self.resend_of is not None and getattr(self.request, "external_id", None):
            return "Probably created by the earlier attempt"
        return None

    def done(self, response: Response) -> None:
        """The service said yes: read what it says."""
        __tracebackhide__ = True
        self.line.budget.earn()
        problems, why, raw = self.read(response)
        if why is None:
            if self.operation.effect:
                self.end(End.DONE, status=response.status)
            self.look_at(self.answer)
            return
        if self.operation.effect:
            self.end(End.DONE, status=response.status, error=f"result unreadable: {why}")
        broken = response.broken
        if broken is not None and broken.too_large:
            raise ResponseTooLarge(
                f"{self.said}: accepted ({response.status}), but the answer is larger than {CAP // 1_000_000} MB and was "
                "not read to its end."
            )
        raise UnexpectedAnswer(
            f"{self.said}: accepted ({response.status}), but the answer could not be read: {why}.",
            problems=problems, body=raw, status=response.status,
        )  # fmt: skip

    def read(self, response: Response) -> tuple[tuple[Problem, ...], str | None, Any]:
        """Read the body into `answer`: give problems, why it cannot be read, and what was read of it."""
        if response.broken is not None:
            return (), response.broken.why, None
        operation, wires = self.operation, self.line.wires
        if not response.body.strip():
            empty_is_one = operation.effect and (response.status in _NO_BODY or operation.name in _MAY_BE_EMPTY)
            if not empty_is_one:
                return (), "it is empty", None
            self.answer = wires.read_answer(operation, None)
            return (), None, None
        raw = None
        try:
            raw = strict_json.loads(response.body)
            if operation is LIST_REWARDS_ACTIVITY and not _has_items(raw, wires):
                # A page without items is not a page of zero items.
                return (Problem("items", "required", "is missing or no list"),), "it is no page", raw
            if raw is None or (operation.many is False and not isinstance(raw, dict)):
                return (), "it is not an object", None
            self.answer = wires.read_answer(operation, raw)
        except strict_json.NotJson as error:
            return (), str(error), None
        except Unreadable as error:
            return error.problems, "it has another shape", raw
        return (), None, raw

    # what an answer tells besides

    def listen(self, response: Response) -> None:
        """Keep the server's time, and what it says about itself, once."""
        headers, line = response.headers, self.line
        date = headers.get("date")
        if date is not None:
            line.heard = (date, line.clock.now().timestamp())
        for name, words in _TOLD:
            value = headers.get(name)
            if value is not None:
                key = f"{name} {self.operation.name}"
                if key not in line.noticed:
                    line.noticed[key] = text = f"{self.operation.name}: {words} ({visible(value, 120)})"
                    if name == "workbench-fault":
                        LOG.warning(text)
                    else:
                        advise(text)

    def look_at(self, answer: Any) -> None:
        """Note members that the document does not name, once."""
        extra = getattr(answer, "extra", None)
        if extra:
            key = f"extra {self.operation.name}"
            if key not in self.line.noticed:
                names = visible(", ".join(sorted(map(str, extra))), 120)
                self.line.noticed[key] = text = f"{self.operation.name}: members the document does not name ({names})"
                LOG.info(text)


_TOLD = (
    ("deprecation", "the service calls this deprecated"),
    ("sunset", "the service will take this away"),
    ("workbench-fault", "the sandbox makes faults on purpose"),
)


def _host(location: str) -> str:
    """Give the host that a Location names, and nothing else of it."""
    _, slashes, rest = location.partition("//")
    host = re.split(r"[/?#\\]", rest, maxsplit=1)[0].rpartition("@")[2]
    return visible(host, 80) if slashes and host else "another path"


def _times(tries: int) -> str:
    return {1: "once", 2: "twice"}.get(tries, f"{tries} times")


def _has_items(raw: Any, wires: Wires) -> bool:
    items: Member = member(LIST_REWARDS_ACTIVITY.answer, "items")
    return isinstance(raw, dict) and isinstance(raw.get(wires.wire(LIST_REWARDS_ACTIVITY.answer, items)), list)


def _words(response: Response) -> tuple[Any, str | None, str | None]:
    """Give the body of a refusal as far as it can be read, its error and its message, whatever their form."""
    try:
        raw = strict_json.loads(response.body)
    except strict_json.NotJson:
        plain = response.body[:2000].decode("utf-8", "replace").strip()
        return None, None, _plain(plain, response.headers.get("content-type", ""))
    if not isinstance(raw, dict):
        return raw, None, visible(raw, 500) if isinstance(raw, str) else None
    error, message = raw.get("error"), raw.get("message", raw.get("msg"))
    return (
        raw,
        error if isinstance(error, str) else raw["code"] if isinstance(raw.get("code"), str) else None,
        message if isinstance(message, str) else None,
    )


def _plain(text: str, kind: str) -> str | None:
    if not text:
        return None
    return "a page of HTML" if "html" in kind.lower() or text[:1] == "<" else visible(text, 500)
