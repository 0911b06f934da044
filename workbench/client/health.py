"""Health of a session: unknown outcomes, failing handlers and endpoints, and failed requests by cause."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Any

import attrs

from workbench.base.errors import visible
from workbench.base.frozen import frozen
from workbench.base.remedies import Remedy
from workbench.base.schema.fields import UNCONFIRMED
from workbench.base.schema.walk import members
from workbench.client.calls.effects import JournalEntry, Outcome
from workbench.client.calls.journal import Journal
from workbench.client.webhooks.inbox import Inbox
from workbench.sandbox.control_records import RequestEntry
from workbench.sandbox.embedded import Sandbox
from workbench.service.interface.assumptions import assumptions
from workbench.service.interface.table import OPERATIONS

_FIXES: Mapping[str, str] = {
    "unknown outcome": "",
    "damaged journal": "Restore the journal's file from a backup; until then these calls are not shown.",
    "unreadable delivery": (
        "Look at the bytes in inbox.unreadable(); a later version of the workbench may be able to read them."
    ),
    "conflicting delivery": "Compare both versions with the provider; the first version is stored.",
    "refused delivery": "Check the signing keys; during a rotation pass both.",
    "failed handler": "Repair the handler, then retry its events.",
    "failed endpoint": "Repair the endpoint, then resend the deliveries.",
    "disabled endpoint": "Enable it when it can receive deliveries.",
    "slow endpoint": "Store the event and respond, then process it: a delivery fails after 5 s.",
    "not sent": "Send it again when the service can be reached.",
    "failed request": "",
    "active fault": "Clear the fault rules when they are no longer needed.",
}
"""Fix for each kind of trouble, most urgent first; empty if the fix depends on the occurrence."""
_FIXES_OF_STATUS: Mapping[int, str] = {
    400: "Correct {member}.",
    401: "Check that the key is valid and belongs to this service.",
    403: "Use a key with the role that the operation requires, or ask the provider for the permission.",
    404: "Check the id, and that it belongs to this tenant and environment.",
    409: "Wait until the other request has ended, or use its id.",
    422: "Correct {member}.",
    429: "Send fewer requests: set a rate in the limits.",
}
_SERVER_FIX = "Ask the provider, and name the ids of the requests."


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


def examine(journal: Journal | None, inbox: Inbox, sandbox: Sandbox | None, info: Mapping[str, Any]) -> Health:
    """Return the health of a session, from its journal, inbox and sandbox. `info` contains the versions."""
    requests = sandbox.requests() if sandbox is not None else ()
    signs = [
        *(_of_journal(journal) if journal is not None else ()),
        *_of_inbox(inbox),
        *(_of_sandbox(sandbox) if sandbox is not None else ()),
        *(_of_requests(requests) if sandbox is not None else _of_refusals(journal or ())),
    ]
    causes: dict[object, list[Trouble]] = {}
    for sign in signs:
        causes.setdefault(_cause(sign), []).append(sign)
    urgency = list(_FIXES)
    troubles = map(_merged, causes.values())
    used = Counter(name for request in requests for name in request.assumptions)
    unconfirmed = {assumption.id for assumption in assumptions() if assumption.confidence == UNCONFIRMED}
    return Health(
        troubles=tuple(sorted(troubles, key=lambda trouble: (urgency.index(trouble.kind), -trouble.count))),
        assumptions={name: count for name, count in used.most_common() if name in unconfirmed},
        versions={name: info[name] for name in ("workbench", "interface", "python", "httpx")},
    )


def _sign(kind: str, what: str, *ids: str | None, last: datetime | None = None, **facts: Any) -> Trouble:
    """Return a trouble that occurred once."""
    facts = {"fix": _FIXES[kind], **facts}
    return Trouble(kind=kind, what=what, count=1, last=last, ids=tuple(filter(None, ids)), **facts)


def _cause(sign: Trouble) -> object:
    """Return the value by which occurrences are grouped into troubles. Some kinds ignore ids and numbers in texts."""
    what = sign.what
    if sign.kind in ("failed request", "unreadable delivery"):
        what = re.sub(r"0x[0-9a-fA-F]+|[0-9a-fA-F-]{32,36}|\d[\d.,]*", "…", what)
    return sign.kind, sign.operation, sign.status, sign.member, what


def _merged(signs: list[Trouble]) -> Trouble:
    """Merge occurrences with the same cause into one trouble, with the text of the last occurrence."""
    ids = dict.fromkeys(chain.from_iterable(sign.ids for sign in signs))
    latest = max((sign.last for sign in signs if sign.last is not None), default=None)
    return attrs.evolve(signs[-1], count=len(signs), ids=tuple(ids), last=latest)


def _of_journal(journal: Journal) -> Iterator[Trouble]:
    for call in journal:
        name = call.operation
        if call.is_unknown:
            fix, what = f"{call.next_step} {Remedy('resolve', id=call.id)}", f"{name}: the outcome is unknown."
            yield _sign("unknown outcome", what, call.id, last=call.started, fix=fix, operation=name)
        elif call.final_outcome is Outcome.NOT_SENT:
            what = f"{name}: not sent ({visible(call.error or 'stopped before it was sent', 120)})."
            yield _sign("not sent", what, call.id, last=call.started, operation=name)
    for number in journal.damaged:
        yield _sign("damaged journal", "Records of calls are damaged or missing.", str(number))


def _of_inbox(inbox: Inbox) -> Iterator[Trouble]:
    for delivery in inbox.unreadable():
        what = f"Signed deliveries could not be read: {visible(delivery.reason, 120)}"
        yield _sign("unreadable delivery", what, last=delivery.arrived)
    for conflict in inbox.conflicts():
        what = "A delivery has the id of a stored event, but different content."
        yield _sign("conflicting delivery", what, conflict.id, last=conflict.arrived)
    for refusal in inbox.refusals:
        if not refusal.repeated:
            yield _sign("refused delivery", f"Delivery refused: {visible(refusal.reason, 120)}", last=refusal.at)
    for failure in inbox.failures():
        state = "given up" if failure.given_up else "retried"
        yield _sign("failed handler", f"Handler {visible(failure.handler, 60)} failed ({state}).", failure.event_id)


def _of_sandbox(sandbox: Sandbox) -> Iterator[Trouble]:
    names: dict[str, str] = {}
    for endpoint in sandbox.endpoints():
        name = names[endpoint.id] = f"Endpoint {visible(endpoint.url, 120)}"
        if not endpoint.enabled:
            yield _sign("disabled endpoint", f"{name} is disabled.", endpoint.id)
    for delivery in sandbox.deliveries():
        name = names.get(delivery.endpoint, "A removed endpoint")
        for attempt in delivery.attempts:
            if attempt.milliseconds is not None and attempt.status is not None:
                what = f"{name} took a second or more to respond."
                yield _sign("slow endpoint", what, delivery.event_id, last=attempt.at)
        if delivery.attempts and delivery.state != "delivered":
            attempt = delivery.attempts[-1]
            outcome = f"answered {attempt.status}" if attempt.status else f"did not answer ({attempt.error})"
            yield _sign("failed endpoint", f"{name} {outcome}.", delivery.event_id, last=attempt.at)
    for rule in sandbox.list_faults():
        if not rule.used_up:
            subject = f" of {rule.of}" if rule.of else ""
            yield _sign("active fault", f"Fault rule {rule.id} ({rule.kind}{subject}) is active.", str(rule.id))


def _of_requests(requests: Iterable[RequestEntry]) -> Iterator[Trouble]:
    """Yield the failed requests in the log of a sandbox."""
    for number, request in enumerate(requests):
        if request.status >= 400:
            message = request.answer.get("message") if isinstance(request.answer, Mapping) else request.answer
            trouble = _failed(request.operation, request.status, str(message or ""), request.fault)
            yield attrs.evolve(trouble, ids=(request.request_id or f"request-{number}",), last=request.at)


def _of_refusals(journal: Iterable[JournalEntry]) -> Iterator[Trouble]:
    """Yield the refused writes in the journal of a real service."""
    for entry in journal:
        if entry.outcome is Outcome.REFUSED and entry.status is not None:
            trouble = _failed(entry.operation, entry.status, (entry.error or "").partition(": ")[2])
            yield attrs.evolve(trouble, ids=(entry.id,), last=entry.started)


def _failed(operation: str | None, status: int, message: str, fault: str | None = None) -> Trouble:
    member = _member(operation, message)
    rule = _rule(operation, status, message, member)
    reason = f", {rule}" if rule else ""
    quoted = f" ({visible(message, 160)})" if message else ""
    injected = f" Fault rule: {fault}." if fault else ""
    fix = _FIXES_OF_STATUS.get(status, _SERVER_FIX).format(member=member or "the request")
    if status == 400 and member is None:
        fix = "Read the record, and check whether its state allows the request."
    what = f"{operation or 'A path that is not served'}: {status}{reason}{quoted}.{injected}"
    return _sign("failed request", what, fix=fix, operation=operation, status=status, rule=rule, member=member)


def _member(operation: str | None, message: str) -> str | None:
    """Return the member of the request that a message names, or None."""
    names = (field.wire for field in members(OPERATIONS[operation].request)) if operation else ()
    return max(
        (name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message)), key=len, default=None
    )


def _rule(operation: str | None, status: int, message: str, member: str | None) -> str | None:
    """Return the documented reason for a status and message, or None. With `member`, prefer a validation failure."""
    general = {"{problems}": 1, "{reason}": 2} if member else {"{reason}": 1, "{problems}": 2}
    failures = OPERATIONS[operation].failures if operation else ()
    for failure in sorted(failures, key=lambda failure: general.get(failure.message, 0)):
        if failure.status == status and re.fullmatch(_pattern(failure.message), message, re.DOTALL):
            return failure.when
    return None


def _pattern(template: str) -> str:
    return "".join(".+" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{\w+\})", template))
