"""One call under way: what it met, whether it may go on, and how it ended."""

from collections.abc import Collection
from typing import Any, NoReturn

from workbench.client.advice import LOG, advise
from workbench.client.answers import TOLD, about, hint, host_of, read, refusal, without_private
from workbench.client.effects import Outcome, unknown_text, what
from workbench.client.entries import Entry
from workbench.client.line import ClientContext
from workbench.client.messages import CAP, Broken, Request, Response
from workbench.client.pace import ATTEMPTS, LONGEST_WAIT, delay, retry_after
from workbench.errors import (
    ApiError,
    Attempt,
    CannotRecord,
    NoAnswer,
    NotSent,
    OutcomeUnknown,
    RateLimited,
    RedirectedEffect,
    ResponseTooLarge,
    UnexpectedAnswer,
    UnexpectedRedirect,
    visible,
)
from workbench.interface.operation import Operation
from workbench.interface.table import DELETE_PAYMENT_ACCOUNT


class Call:
    """One call under way: what it met, and whether it may go on."""

    def __init__(
        self,
        operation: Operation[..., Any],
        request: Any,
        line: ClientContext,
        allowing: Collection[str],
        resend_of: str | None,
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
        self.recorded: str | None = None  # its id, from before it is recorded until its end is
        self.news: list[str] = []  # what an answer told besides, for when the end is recorded

    def __repr__(self) -> str:
        return f"<call {self.operation.name}>"

    def clean(self, words: str) -> str:
        """Return words about this call with what they repeat of its private values masked."""
        return without_private(words, self.request, self.line.key.header())

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
        self.recorded = new_id
        self.attempt = journal.begin(
            attempt=new_id, operation=operation.name, request=self.request, what=said, environment=line.environment,
            started=started, digest=digest, resend_of=self.resend_of,
        )  # fmt: skip

    def end(self, end: Outcome, *, status: int | None = None, error: str | None = None) -> None:
        """Record how it ended. The call is over, so a journal that fails now is only told."""
        journal = self.line.journal
        if journal is None or not isinstance(self.attempt, Entry):
            return
        self.recorded = None
        try:
            journal.finish(self.attempt.id, end, status=status, answer=self.answer, error=error)
            if self.resend_of is not None and end is Outcome.DONE:
                journal.resent(self.resend_of, self.attempt.id)
        except CannotRecord as failure:
            advise(
                f"{self.attempt.what} is {end.replace('_', ' ')}, but that could not be recorded; "
                f"the journal will show {self.attempt.id} as unknown ({failure})"
            )

    def let_go(self) -> None:
        """The call is over, whatever stopped it: without a recorded end it counts as unknown from now on."""
        if self.recorded is not None and self.line.journal is not None:
            self.line.journal.let_go(self.recorded)
        for words in self.news:
            advise(words)

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
            self.end(Outcome.NOT_SENT, error=type(error).__name__)
            error.add_note(f"{self.said}: never left this machine.")
            return
        status = outgoing.status
        if status is not None and (200 <= status < 300 or (400 <= status < 500 and status != 408)):
            end = Outcome.DONE if status < 300 else Outcome.REFUSED
            self.end(end, status=status, error=type(error).__name__)
            error.add_note(f"{self.said}: {end} ({status}); its answer was not read.")
            return
        self.end(Outcome.UNKNOWN, error=type(error).__name__)
        error.add_note(unknown_text(self.named, f"interrupted by {type(error).__name__}"))

    def not_sent(self, why: str, cause: Exception | None = None) -> NoReturn:
        """End: it never left."""
        __tracebackhide__ = True
        self.end(Outcome.NOT_SENT, error=why)
        raise NotSent(f"{self.said}: never left this machine ({why}). It is safe to try again.{self.tired}") from cause

    def unknown(self, known: str, status: int | None = None) -> NoReturn:
        """End: it left, and nobody knows."""
        __tracebackhide__ = True
        self.end(Outcome.UNKNOWN, status=status, error=known)
        raise OutcomeUnknown(unknown_text(self.named, known), attempt=self.named)

    def may_retry(self, *, timeout: bool = False) -> bool:
        """Whether the attempts and the shared budget allow another try."""
        return self.tries < ATTEMPTS and self.line.budget.spend(timeout=timeout)

    @property
    def tired(self) -> str:
        """Say that the budget for retries is used up, where it is."""
        if 0 < self.tries < ATTEMPTS and self.line.budget.left < 10:
            return " Too many calls failed, so none is tried twice until some go well again."
        return ""

    def failed(self, broken: Broken) -> float:
        """No answer came: give how long to wait before the next try."""
        __tracebackhide__ = True
        if broken.left and self.operation.effect:
            late = broken.timeout and self.line.timeout is not None
            self.unknown(f"no answer within {self.line.timeout:g} s" if late else broken.why)
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
        raise NoAnswer(
            f"{self.operation.name}: {self.line.host} gave no answer ({broken.why}), "
            f"asked {_times(self.tries)}.{self.tired}"
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
                self.answer = self.line.converter.read_answer(self.operation, None)
                self.end(Outcome.DONE, status=status)  # the first deletion, or this one: it is gone
                return None
            self.refused(response)
        if effect:
            self.unknown(f"answered with {status}", status)
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
        """Return the seconds of a Retry-After: 0 where there is none, None where it is not to be waited for."""
        value = response.headers.get("retry-after")
        if value is None:
            return 0.0
        asked = retry_after(value, response.headers.get("date"), self.line.clock.now())
        return asked if asked is not None and 0 < asked <= LONGEST_WAIT else None

    def redirected(self, response: Response) -> NoReturn:
        """3xx: never followed, since the key would go along."""
        __tracebackhide__ = True
        host = host_of(response.headers.get("location", ""))
        never = "redirects are never followed, since the key would go along"
        right = "Put the right base URL into the profile."
        if self.operation.effect:
            self.end(Outcome.UNKNOWN, status=response.status, error="redirected")
            known = f"{self.line.host} answered with {response.status} and points to {host}; {never}"
            raise RedirectedEffect(f"{unknown_text(self.named, known)}\n{right}", attempt=self.named)
        raise UnexpectedRedirect(
            f"{self.said}: {self.line.host} answered with {response.status} and points to {host}; {never}. {right}"
        )

    def refused(self, response: Response) -> NoReturn:
        """The service said no, in its own words."""
        __tracebackhide__ = True
        status = response.status
        told = refusal(response, self.request, self.line.key.header())
        kind = ApiError.of(status)
        asked = retry_after(response.headers.get("retry-after"), response.headers.get("date"), self.line.clock.now())
        advice = None if about(told, self.request) else hint(self.operation, status, self.line.host)
        if kind is RateLimited:
            advice = f"Try again after {asked:.0f} s" if asked is not None and asked > 0 else "Try again later"
        exists = status == 409 and self.resend_of is not None and bool(getattr(self.request, "external_id", None))
        if exists:
            advice = "Probably created by the earlier attempt"
        error = kind(
            operation=self.operation.name, status=status, error=told.error, message=told.message, body=told.body,
            hint=advice,
        )  # fmt: skip
        if isinstance(error, RateLimited) and asked is not None and asked > 0:
            error.retry_after = asked
        words = ": ".join(part for part in (told.error, told.message) if part)
        self.end(Outcome.REFUSED, status=status, error=visible(words, 200) or None)
        journal = self.line.journal
        if exists and journal is not None and self.resend_of is not None:
            journal.resent(self.resend_of, self.named.id, "sent again, and its external id exists already")
        raise error

    def done(self, response: Response) -> None:
        """The service said yes: read what it says."""
        __tracebackhide__ = True
        self.line.budget.earn()
        found = read(self.operation, response, self.line.converter)
        self.answer, why = found.answer, found.why
        if why is None:
            if self.operation.effect:
                self.end(Outcome.DONE, status=response.status)
            self.look_at(self.answer)
            return
        if self.operation.effect:
            self.end(Outcome.DONE, status=response.status, error=f"result unreadable: {why}")
        broken = response.broken
        if broken is not None and broken.too_large:
            raise ResponseTooLarge(
                f"{self.said}: accepted ({response.status}), but the answer is larger than {CAP // 1_000_000} MB and was "
                "not read to its end.",
                status=response.status,
            )
        raise UnexpectedAnswer(
            f"{self.said}: accepted ({response.status}), but the answer could not be read: {why}.",
            problems=found.problems, body=found.raw, status=response.status,
        )  # fmt: skip

    # what an answer tells besides

    def listen(self, response: Response) -> None:
        """Keep the server's time, and what it says about itself, once."""
        headers, line = response.headers, self.line
        date = headers.get("date")
        if date is not None:
            line.heard = (date, line.clock.now().timestamp())
        for name, words in TOLD:
            value = headers.get(name)
            if value is not None:
                key = f"{name} {self.operation.name}"
                if key not in line.noticed:
                    line.noticed[key] = text = f"{self.operation.name}: {words} ({visible(value, 120)})"
                    if name == "workbench-fault":
                        LOG.warning(text)
                    else:
                        self.news.append(text)

    def look_at(self, answer: Any) -> None:
        """Note members that the document does not name, once."""
        extra = getattr(answer, "extra", None)
        if extra:
            key = f"extra {self.operation.name}"
            if key not in self.line.noticed:
                names = visible(", ".join(sorted(map(str, extra))), 120)
                self.line.noticed[key] = text = f"{self.operation.name}: members the document does not name ({names})"
                LOG.info(text)


def _times(tries: int) -> str:
    return {1: "once", 2: "twice"}.get(tries, f"{tries} times")
