"""Health of a session: unknown outcomes, failing handlers and endpoints, and failed requests by cause."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol, TypeVar

import attrs

from workbench.base.errors import visible
from workbench.base.remedies import Remedy
from workbench.base.schema.fields import UNCONFIRMED
from workbench.base.schema.walk import members
from workbench.client.calls.effects import Outcome
from workbench.client.calls.journal import Journal
from workbench.client.webhooks.inbox import Inbox
from workbench.sandbox.embedded import Sandbox
from workbench.service.interface.assumptions import assumptions
from workbench.service.interface.table import OPERATIONS

Item = TypeVar("Item")

_ORDER = (
    "unknown outcome", "damaged journal", "unreadable delivery", "conflicting delivery", "refused delivery",
    "failed handler", "failed endpoint", "disabled endpoint", "slow endpoint", "not sent",
    "failed request", "active fault",
)  # fmt: skip
"""Kinds of trouble, most urgent first."""
_FIXES: Mapping[int, str] = {
    400: "Correct {member}.",
    401: "Check that the key is valid and belongs to this service.",
    403: "Use a key with the role that the operation requires, or ask the provider for the permission.",
    404: "Check the id, and that it belongs to this tenant and environment.",
    409: "Wait until the other one has ended, or use its id.",
    422: "Correct {member}.",
    429: "Send fewer requests: set a rate in the limits.",
}
_SERVER_FIX = "Ask the provider, with the ids of the requests."


class Examined(Protocol):
    """The members of a session that `examine` reads."""

    _journal: Journal | None
    _sandbox: object

    @property
    def inbox(self) -> Inbox: ...
    @property
    def sandbox(self) -> Sandbox: ...
    def info(self) -> dict[str, Any]: ...


@attrs.frozen(kw_only=True)
class Trouble:
    """One cause of trouble, how often it occurred, and its remedy."""

    kind: str
    what: str
    count: int
    fix: str
    last: datetime | None = None
    operation: str | None = None
    status: int | None = None
    rule: str | None = None  # the documented reason of a refusal
    member: str | None = None  # the member of the request that the refusal names
    ids: tuple[str, ...] = attrs.field(default=(), repr=False)  # journal entries, requests or events, oldest first


@attrs.frozen(kw_only=True)
class Health:
    """Problems of a session, most urgent first, with the unconfirmed assumptions in use and the versions."""

    troubles: tuple[Trouble, ...]
    assumptions: Mapping[str, int]
    versions: Mapping[str, str]

    @property
    def ok(self) -> bool:
        """Whether there are no troubles."""
        return not self.troubles

    def __iter__(self) -> Iterator[Trouble]:
        return iter(self.troubles)

    def __len__(self) -> int:
        return len(self.troubles)

    def __str__(self) -> str:
        lines = [f"{trouble.count:,} × {trouble.what} {trouble.fix}" for trouble in self.troubles]
        used = f"{len(self.assumptions)} unconfirmed assumptions in use" if self.assumptions else ""
        return "\n".join([*(lines or ["No trouble."]), *([used] if used else [])])


@attrs.frozen
class _Failed:
    """A failed request: operation, status, message, and where it is recorded."""

    operation: str | None
    status: int
    message: str
    at: datetime
    id: str
    fault: str | None = None

    @property
    def rule(self) -> str | None:
        """Documented reason for this status and message; a message that names a member means a broken rule."""
        failures = OPERATIONS[self.operation].failures if self.operation else ()
        fitting = [
            failure
            for failure in failures
            if failure.status == self.status and re.fullmatch(_pattern(failure.message), self.message, re.DOTALL)
        ]
        order = ["{problems}", "{reason}"] if self.member else ["{reason}", "{problems}"]
        fitting.sort(key=lambda failure: order.index(failure.message) + 1 if failure.message in order else 0)
        return fitting[0].when if fitting else None

    @property
    def member(self) -> str | None:
        """Member of the request that the message names."""
        if self.operation is None:
            return None
        names = sorted((field.wire for field in members(OPERATIONS[self.operation].request)), key=len, reverse=True)
        return next((name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.message)), None)

    @property
    def fix(self) -> str:
        """Remedy for this failure."""
        if self.status == 400 and self.member is None:
            return "Read the record's state, and compare the request with what it allows."
        return _FIXES.get(self.status, _SERVER_FIX).format(member=self.member or "the request")

    @property
    def cause(self) -> tuple[object, ...]:
        """Key that failures with the same cause share; ids and numbers in messages are ignored."""
        shape = re.sub(r"0x[0-9a-fA-F]+|[0-9a-fA-F-]{32,36}|\d[\d.,]*", "…", self.message)
        return self.operation, self.status, self.rule, self.member, shape, self.fault


def _pattern(template: str) -> str:
    return "".join(".+" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{\w+\})", template))


def examine(session: Examined) -> Health:
    """Return the health of a session."""
    troubles = [*_of_journal(session), *_of_inbox(session), *_of_endpoints(session), *_failed_requests(session)]
    requests = [] if session._sandbox is None else session.sandbox.requests()
    used = Counter(name for request in requests for name in request.assumptions)
    unconfirmed = {assumption.id for assumption in assumptions() if assumption.confidence == UNCONFIRMED}
    info = session.info()
    return Health(
        troubles=tuple(sorted(troubles, key=lambda trouble: (_ORDER.index(trouble.kind), -trouble.count))),
        assumptions={name: count for name, count in used.most_common() if name in unconfirmed},
        versions={name: info[name] for name in ("workbench", "interface", "python", "httpx")},
    )


def _trouble(
    kind: str, what: str, fix: str, occurred: Iterable[tuple[str, datetime | None]], **more: str | int | None
) -> Trouble:
    """Return one trouble from its occurrences, each an id and a time."""
    occurrences = list(occurred)
    times = [at for _, at in occurrences if at is not None]
    ids = tuple(dict.fromkeys(key for key, _ in occurrences if key))
    return Trouble(
        kind=kind,
        what=what,
        fix=fix,
        count=len(occurrences),
        ids=ids,
        last=max(times, default=None),
        **more,  # type: ignore[arg-type]
    )


def _grouped(items: Iterable[Item], key: Callable[[Item], Any]) -> dict[Any, list[Item]]:
    groups: dict[Any, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _of_journal(session: Examined) -> Iterator[Trouble]:
    """Yield unknown outcomes, calls that were not sent, and damaged journal entries."""
    journal = session._journal
    entries = [] if journal is None else list(journal)
    unknown = [entry for entry in entries if entry.is_unknown]
    for operation, calls in _grouped(unknown, lambda entry: entry.operation).items():
        yield _trouble(
            "unknown outcome",
            f"{operation}: the outcome is unknown.",
            f"{calls[-1].next_step} {Remedy('resolve', id=calls[-1].id)}",
            [(entry.id, entry.started) for entry in calls],
            operation=operation,
        )
    unsent = [entry for entry in entries if entry.final_outcome is Outcome.NOT_SENT]
    for (operation, error), calls in _grouped(unsent, lambda entry: (entry.operation, entry.error)).items():
        yield _trouble(
            "not sent",
            f"{operation}: not sent ({visible(error or 'stopped before it was sent', 120)}).",
            "Send it again when the service can be reached.",
            [(entry.id, entry.started) for entry in calls],
            operation=operation,
        )
    if journal is not None and journal.damaged:
        fix = "Restore the journal's file from a backup; the calls are not shown."
        damaged = [(str(number), None) for number in journal.damaged]
        yield _trouble("damaged journal", "Records of calls are damaged or missing.", fix, damaged)


def _of_inbox(session: Examined) -> Iterator[Trouble]:
    """Yield failing handlers, rejected deliveries, and deliveries that contradict a stored event."""
    inbox = session.inbox
    conflicts = inbox.conflicts()
    if conflicts:
        yield _trouble(
            "conflicting delivery",
            "A delivery has the id of a stored event and other content.",
            "Compare both with the provider; the first one is stored.",
            [(conflict.id, conflict.arrived) for conflict in conflicts],
        )
    if unreadable := inbox.unreadable():
        yield _trouble(
            "unreadable delivery",
            f"Signed deliveries could not be read: {visible(unreadable[-1].reason, 120)}",
            "Look at their bytes in inbox.unreadable(); a later version of the workbench may read them.",
            [("", delivery.arrived) for delivery in unreadable],
        )
    refused = [refusal for refusal in inbox.refusals if not refusal.repeated]
    for reason, refusals in _grouped(refused, lambda refusal: refusal.reason).items():
        yield _trouble(
            "refused delivery",
            f"Delivery refused: {visible(reason, 120)}",
            "Check the signing keys; during a rotation pass both.",
            [("", refusal.at) for refusal in refusals],
        )
    for (handler, given_up), failures in _grouped(
        inbox.failures(), lambda failure: (failure.handler, failure.given_up)
    ).items():
        state = "given up" if given_up else "retried"
        yield _trouble(
            "failed handler",
            f"Handler {visible(handler, 60)} failed ({state}).",
            "Repair the handler, then retry its events.",
            [(failure.event_id or "", None) for failure in failures],
        )


def _of_endpoints(session: Examined) -> Iterator[Trouble]:
    """Yield sandbox endpoints that reject, do not answer or delay deliveries, and active fault rules."""
    if session._sandbox is None:
        return
    sandbox = session.sandbox
    endpoints = {endpoint.id: endpoint for endpoint in sandbox.endpoints()}
    attempted = [delivery for delivery in sandbox.deliveries() if delivery.attempts]
    failing = [delivery for delivery in attempted if delivery.state != "delivered"]
    for (endpoint, answer), deliveries in _grouped(
        failing, lambda delivery: (delivery.endpoint, delivery.attempts[-1].status or delivery.attempts[-1].error)
    ).items():
        url = visible(endpoints[endpoint].url, 120) if endpoint in endpoints else "A removed endpoint"
        yield _trouble(
            "failed endpoint",
            f"{url} answered {answer}." if isinstance(answer, int) else f"{url} did not answer ({answer}).",
            "Repair the endpoint, then resend the deliveries.",
            [(delivery.event_id, delivery.attempts[-1].at) for delivery in deliveries],
        )
    slow = [
        (delivery, attempt)
        for delivery in attempted
        for attempt in delivery.attempts
        if attempt.milliseconds is not None and attempt.status is not None
    ]
    for endpoint, slow_attempts in _grouped(slow, lambda pair: pair[0].endpoint).items():
        url = visible(endpoints[endpoint].url, 120) if endpoint in endpoints else "A removed endpoint"
        longest = max(attempt.milliseconds or 0 for _, attempt in slow_attempts)
        yield _trouble(
            "slow endpoint",
            f"{url} took up to {longest / 1000:.1f} s to respond.",
            "Store the event and respond, then process it: a delivery fails after 5 s.",
            [(delivery.event_id, attempt.at) for delivery, attempt in slow_attempts],
        )
    for endpoint in endpoints.values():
        if not endpoint.enabled:
            fix = "Enable it when it can receive deliveries."
            yield _trouble(
                "disabled endpoint", f"{visible(endpoint.url, 120)} is disabled.", fix, [(endpoint.id, None)]
            )
    for rule in sandbox.list_faults():
        if rule.used_up:
            continue
        of = f" of {rule.of}" if rule.of else ""
        what, number = f"Fault rule {rule.id} ({rule.kind}{of}) is active.", (str(rule.id), None)
        yield _trouble("active fault", what, "Clear the fault rules when they are no longer needed.", [number])


def _requests(session: Examined) -> Iterator[_Failed]:
    """Yield failed requests: from the log of a sandbox, or the refused writes in the journal of a real service."""
    if session._sandbox is not None:
        for number, request in enumerate(session.sandbox.requests()):
            if request.status >= 400:
                message = request.answer.get("message") if isinstance(request.answer, Mapping) else request.answer
                key = request.request_id or f"request-{number}"
                yield _Failed(request.operation, request.status, str(message or ""), request.at, key, request.fault)
        return
    for entry in session._journal or ():
        if entry.outcome is Outcome.REFUSED and entry.status is not None:
            _, _, message = (entry.error or "").partition(": ")
            yield _Failed(entry.operation, entry.status, message, entry.started, entry.id)


def _failed_requests(session: Examined) -> Iterator[Trouble]:
    """Yield failed requests grouped by cause."""
    for failures in _grouped(_requests(session), lambda failed: failed.cause).values():
        first = failures[0]
        name = first.operation or "A path that is not served"
        message = f" ({visible(first.message, 160)})" if first.message else ""
        injected = f" Fault rule: {first.fault}." if first.fault else ""
        yield _trouble(
            "failed request",
            f"{name}: {first.status}{', ' + first.rule if first.rule else ''}{message}.{injected}",
            first.fix,
            [(failed.id, failed.at) for failed in failures],
            operation=first.operation,
            status=first.status,
            rule=first.rule,
            member=first.member,
        )
