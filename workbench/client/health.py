"""Health of a session: unknown outcomes, failing handlers and endpoints, and failed requests by cause."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol

import attrs

from workbench.base.errors import visible
from workbench.base.frozen import frozen
from workbench.base.remedies import Remedy
from workbench.base.schema.fields import UNCONFIRMED
from workbench.base.schema.walk import members
from workbench.client.calls.effects import Outcome
from workbench.client.calls.journal import Journal
from workbench.client.webhooks.inbox import Inbox
from workbench.sandbox.control_records import Delivery
from workbench.sandbox.embedded import Sandbox
from workbench.service.interface.assumptions import assumptions
from workbench.service.interface.table import OPERATIONS

_FIXES: Mapping[int, str] = {
    400: "Correct {member}.",
    401: "Check that the key is valid and belongs to this service.",
    403: "Use a key with the role that the operation requires, or ask the provider for the permission.",
    404: "Check the id, and that it belongs to this tenant and environment.",
    409: "Wait until the other request has ended, or use its id.",
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


@frozen(kw_only=True)
class Trouble:
    """One cause of trouble, the number of its occurrences, and its remedy."""

    kind: str
    what: str
    count: int
    fix: str
    last: datetime | None = None
    operation: str | None = None
    status: int | None = None
    rule: str | None = None  # documented reason of the error response
    member: str | None = None  # member of the request that the error response names
    # ids of journal entries, requests or events, oldest first
    ids: tuple[str, ...] = attrs.field(default=(), repr=False)


@frozen(kw_only=True)
class Health:
    """Problems of a session, most urgent first, the unconfirmed assumptions in use, and the versions."""

    troubles: tuple[Trouble, ...]
    assumptions: Mapping[str, int]
    versions: Mapping[str, str]

    @property
    def ok(self) -> bool:
        """Whether the session has no troubles."""
        return not self.troubles

    def __iter__(self) -> Iterator[Trouble]:
        return iter(self.troubles)

    def __len__(self) -> int:
        return len(self.troubles)

    def __str__(self) -> str:
        lines = [f"{trouble.count:,} × {trouble.what} {trouble.fix}" for trouble in self.troubles]
        used = f"{len(self.assumptions)} unconfirmed assumptions in use" if self.assumptions else ""
        return "\n".join([*(lines or ["No trouble."]), *([used] if used else [])])


@frozen
class _Sign:
    """One occurrence of a trouble. Occurrences with the same cause form one trouble, worded as the last occurrence."""

    what: str
    id: str | None = None
    at: datetime | None = None
    fix: str = ""
    cause: object = None  # defaults to `what`
    facts: Mapping[str, Any] = attrs.field(factory=dict)


@frozen
class _Check:
    """Search for one kind of trouble in the journal, inbox, sandbox or session, and its remedy."""

    kind: str
    source: str
    signs: Callable[[Any], Iterable[_Sign]]
    fix: str = ""

    def troubles(self, source: object) -> list[Trouble]:
        """Return the troubles of this kind, the most frequent first."""
        causes: dict[object, list[_Sign]] = {}
        for sign in self.signs(source) if source is not None else ():
            causes.setdefault(sign.cause or sign.what, []).append(sign)
        return sorted(map(self._trouble, causes.values()), key=lambda trouble: -trouble.count)

    def _trouble(self, signs: list[_Sign]) -> Trouble:
        last = signs[-1]
        ids = dict.fromkeys(sign.id for sign in signs if sign.id)
        latest = max((sign.at for sign in signs if sign.at is not None), default=None)
        return Trouble(
            kind=self.kind,
            what=last.what,
            fix=last.fix or self.fix,
            count=len(signs),
            ids=tuple(ids),
            last=latest,
            **last.facts,
        )


def examine(session: Examined) -> Health:
    """Return the health of a session."""
    sandbox = session.sandbox if session._sandbox is not None else None
    sources = {"journal": session._journal, "inbox": session.inbox, "sandbox": sandbox, "session": session}
    used = Counter(name for request in (sandbox.requests() if sandbox else ()) for name in request.assumptions)
    unconfirmed = {assumption.id for assumption in assumptions() if assumption.confidence == UNCONFIRMED}
    info = session.info()
    return Health(
        troubles=tuple(trouble for check in _CHECKS for trouble in check.troubles(sources[check.source])),
        assumptions={name: count for name, count in used.most_common() if name in unconfirmed},
        versions={name: info[name] for name in ("workbench", "interface", "python", "httpx")},
    )


def _unknown(journal: Journal) -> Iterator[_Sign]:
    for call in journal:
        if call.is_unknown:
            what, facts = f"{call.operation}: the outcome is unknown.", {"operation": call.operation}
            yield _Sign(what, call.id, call.started, f"{call.next_step} {Remedy('resolve', id=call.id)}", facts=facts)


def _not_sent(journal: Journal) -> Iterator[_Sign]:
    for call in journal:
        if call.final_outcome is Outcome.NOT_SENT:
            reason = visible(call.error or "stopped before it was sent", 120)
            what, facts = f"{call.operation}: not sent ({reason}).", {"operation": call.operation}
            yield _Sign(what, call.id, call.started, facts=facts)


def _damaged(journal: Journal) -> Iterator[_Sign]:
    return (_Sign("Records of calls are damaged or missing.", str(number)) for number in journal.damaged)


def _unreadable(inbox: Inbox) -> Iterator[_Sign]:
    for delivery in inbox.unreadable():
        what = f"Signed deliveries could not be read: {visible(delivery.reason, 120)}"
        yield _Sign(what, at=delivery.arrived, cause=True)


def _conflicting(inbox: Inbox) -> Iterator[_Sign]:
    what = "A delivery has the id of a stored event, but different content."
    return (_Sign(what, conflict.id, conflict.arrived) for conflict in inbox.conflicts())


def _refused(inbox: Inbox) -> Iterator[_Sign]:
    for refusal in inbox.refusals:
        if not refusal.repeated:
            yield _Sign(f"Delivery refused: {visible(refusal.reason, 120)}", at=refusal.at)


def _handlers(inbox: Inbox) -> Iterator[_Sign]:
    for failure in inbox.failures():
        state = "given up" if failure.given_up else "retried"
        yield _Sign(f"Handler {visible(failure.handler, 60)} failed ({state}).", failure.event_id)


def _failed_endpoints(sandbox: Sandbox) -> Iterator[_Sign]:
    for url, delivery in _attempted(sandbox):
        if delivery.state != "delivered":
            attempt = delivery.attempts[-1]
            outcome = f"answered {attempt.status}" if attempt.status else f"did not answer ({attempt.error})"
            yield _Sign(f"{url} {outcome}.", delivery.event_id, attempt.at)


def _slow_endpoints(sandbox: Sandbox) -> Iterator[_Sign]:
    for url, delivery in _attempted(sandbox):
        for attempt in delivery.attempts:
            if attempt.milliseconds is not None and attempt.status is not None:
                yield _Sign(f"{url} took a second or more to respond.", delivery.event_id, attempt.at)


def _attempted(sandbox: Sandbox) -> Iterator[tuple[str, Delivery]]:
    """Yield the attempted deliveries, each with the URL of its endpoint."""
    urls = {endpoint.id: f"Endpoint {visible(endpoint.url, 120)}" for endpoint in sandbox.endpoints()}
    for delivery in sandbox.deliveries():
        if delivery.attempts:
            yield urls.get(delivery.endpoint, "A removed endpoint"), delivery


def _disabled_endpoints(sandbox: Sandbox) -> Iterator[_Sign]:
    for endpoint in sandbox.endpoints():
        if not endpoint.enabled:
            yield _Sign(f"Endpoint {visible(endpoint.url, 120)} is disabled.", endpoint.id)


def _faults(sandbox: Sandbox) -> Iterator[_Sign]:
    for rule in sandbox.list_faults():
        if not rule.used_up:
            subject = f" of {rule.of}" if rule.of else ""
            yield _Sign(f"Fault rule {rule.id} ({rule.kind}{subject}) is active.", str(rule.id))


def _failed_requests(session: Examined) -> Iterator[_Sign]:
    """Yield failed requests: from the log of a sandbox, or the refused writes in the journal of a real service."""
    if session._sandbox is not None:
        for number, request in enumerate(session.sandbox.requests()):
            if request.status >= 400:
                message = request.answer.get("message") if isinstance(request.answer, Mapping) else request.answer
                sign = _failed(request.operation, request.status, str(message or ""), request.fault)
                yield attrs.evolve(sign, id=request.request_id or f"request-{number}", at=request.at)
        return
    for entry in session._journal or ():
        if entry.outcome is Outcome.REFUSED and entry.status is not None:
            sign = _failed(entry.operation, entry.status, (entry.error or "").partition(": ")[2])
            yield attrs.evolve(sign, id=entry.id, at=entry.started)


def _failed(operation: str | None, status: int, message: str, fault: str | None = None) -> _Sign:
    """Return a failed request as a sign. Messages that differ only in ids and numbers have the same cause."""
    member = _member(operation, message)
    rule = _rule(operation, status, message, member)
    reason = f", {rule}" if rule else ""
    quoted = f" ({visible(message, 160)})" if message else ""
    injected = f" Fault rule: {fault}." if fault else ""
    fix = _FIXES.get(status, _SERVER_FIX).format(member=member or "the request")
    if status == 400 and member is None:
        fix = "Read the record, and check whether its state allows the request."
    shape = re.sub(r"0x[0-9a-fA-F]+|[0-9a-fA-F-]{32,36}|\d[\d.,]*", "…", message)
    return _Sign(
        f"{operation or 'A path that is not served'}: {status}{reason}{quoted}.{injected}",
        fix=fix,
        cause=(operation, status, rule, member, shape, fault),
        facts={"operation": operation, "status": status, "rule": rule, "member": member},
    )


def _member(operation: str | None, message: str) -> str | None:
    """Return the member of the request that a message names."""
    names = (field.wire for field in members(OPERATIONS[operation].request)) if operation else ()
    return max(
        (name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message)), key=len, default=None
    )


def _rule(operation: str | None, status: int, message: str, member: str | None) -> str | None:
    """Return the documented reason for a status and message, preferably a validation failure if a member is named."""
    general = {"{problems}": 1, "{reason}": 2} if member else {"{reason}": 1, "{problems}": 2}
    failures = OPERATIONS[operation].failures if operation else ()
    for failure in sorted(failures, key=lambda failure: general.get(failure.message, 0)):
        if failure.status == status and re.fullmatch(_pattern(failure.message), message, re.DOTALL):
            return failure.when
    return None


def _pattern(template: str) -> str:
    return "".join(".+" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{\w+\})", template))


_CHECKS = (
    _Check("unknown outcome", "journal", _unknown),
    _Check(
        "damaged journal",
        "journal",
        _damaged,
        "Restore the journal's file from a backup; until then these calls are not shown.",
    ),
    _Check(
        "unreadable delivery",
        "inbox",
        _unreadable,
        "Look at their bytes in inbox.unreadable(); a later version of the workbench may be able to read them.",
    ),
    _Check(
        "conflicting delivery",
        "inbox",
        _conflicting,
        "Compare both with the provider; the first one is stored.",
    ),
    _Check("refused delivery", "inbox", _refused, "Check the signing keys; during a rotation pass both."),
    _Check("failed handler", "inbox", _handlers, "Repair the handler, then retry its events."),
    _Check("failed endpoint", "sandbox", _failed_endpoints, "Repair the endpoint, then resend the deliveries."),
    _Check("disabled endpoint", "sandbox", _disabled_endpoints, "Enable it when it can receive deliveries."),
    _Check(
        "slow endpoint",
        "sandbox",
        _slow_endpoints,
        "Store the event and respond, then process it: a delivery fails after 5 s.",
    ),
    _Check("not sent", "journal", _not_sent, "Send it again when the service can be reached."),
    _Check("failed request", "session", _failed_requests),
    _Check("active fault", "sandbox", _faults, "Clear the fault rules when they are no longer needed."),
)
"""Checks by kind of problem, most urgent first."""
