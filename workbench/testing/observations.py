"""Evidence of exchanges and events on assumptions: one small function for each.

A function receives the state of earlier traffic and one exchange or event. It returns the matching value of the
setting,
a `Part` of a setting that is a mapping or a list, or None without evidence. Only traffic counts: the sandbox's header
of
assumptions is not read.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import attrs

from workbench.base.schema import walk
from workbench.base.schema.checks import problems
from workbench.base.schema.rules import EMAIL_ADDRESS, UUID
from workbench.sandbox.extensions import LATER
from workbench.sandbox.people import LATER_STATUSES, outcome_in
from workbench.sandbox.service import MAX_BODY, MAX_WHOLE, assumed_rule
from workbench.service.chains import same_address
from workbench.service.chains.addresses import family_of_address
from workbench.service.interface import table
from workbench.service.interface.assumptions import BEHAVIORS
from workbench.service.interface.convert import converter
from workbench.service.interface.people import PERSON
from workbench.service.interface.table import OPERATIONS
from workbench.service.interface.vocabulary import EventApplicationStatus
from workbench.testing.evidence_files import Delivery, Exchange, Json

_MAX_SIGNATURES = 1_000  # remembered of traffic without times, where none is known to have expired
MAX_REMEMBERED = 50_000
"""Maximum number of remembered records of each kind, to bound memory; the oldest are dropped."""
CODE = re.compile(r"[A-Za-z][A-Za-z _-]{0,39}")
"""Text that may be shown: words without digits or an @. Other values never leave the reader."""
V = TypeVar("V")


class Recent(dict[Any, V]):
    """A mapping limited to its newest entries."""

    def __setitem__(self, key: object, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > MAX_REMEMBERED:
            del self[next(iter(self))]


@attrs.frozen
class Part:
    """Key and value of one part of a setting that is a mapping or a list."""

    key: Json
    value: Json


@attrs.define
class Transaction:
    """State of a transaction after its calls."""

    authorized: int
    card: str
    status: str
    held: int = 0
    settled: int = 0
    refunded: int = 0


@attrs.define
class Signature:
    """A withdrawal signature that has not expired."""

    expires: float
    contract: str
    question: tuple[str, ...]
    data: str


@attrs.define
class State:
    """State of earlier traffic."""

    transactions: Recent[Transaction] = attrs.field(factory=lambda: Recent())
    spends: Recent[dict[str, Any]] = attrs.field(factory=lambda: Recent())  # transactions as their events showed them
    users: Recent[dict[str, Any]] = attrs.field(factory=lambda: Recent())
    external_ids: Recent[str] = attrs.field(factory=lambda: Recent())
    disputes: Recent[dict[str, Any]] = attrs.field(factory=lambda: Recent())
    contracts: Recent[dict[str, Any]] = attrs.field(factory=lambda: Recent())  # by proxy address, in the listed order
    signatures: list[Signature] = attrs.field(factory=list)
    limits: Recent[int] = attrs.field(factory=lambda: Recent())  # of cards
    largest: Recent[tuple[int, str]] = attrs.field(factory=lambda: Recent())  # authorization of a card, and its place
    owners: Recent[str] = attrs.field(factory=lambda: Recent())  # updated owners, and the place
    seen_events: Recent[tuple[str, str]] = attrs.field(factory=lambda: Recent())  # by content: the id and the place
    attempts: Recent[list[float]] = attrs.field(factory=lambda: Recent())  # times of the deliveries of an event
    deliveries: int = 0
    last: float = 0.0  # the time of the last delivery


Observer = Callable[[State, Any], Any]
BY_OPERATION: dict[str, list[tuple[str, Observer]]] = {}
"""Observers of exchanges by operation; "" for all."""
BY_KIND: dict[str, list[tuple[str, Observer]]] = {}
"""Observers of events by resource; "" for all."""


def observed(assumption: str, *operations: str, events: str | None = None) -> Callable[[Observer], Observer]:
    """Register an observer of an assumption, for exchanges of operations or events of a resource."""
    assert BEHAVIORS[assumption].settable, assumption

    def register(function: Observer) -> Observer:
        for name in operations:
            BY_OPERATION.setdefault(name, []).append((assumption, function))
        if events is not None:
            BY_KIND.setdefault(events, []).append((assumption, function))
        return function

    return register


def _refused(x: Exchange) -> str | None:
    """Return the status of a refusal as text."""
    return str(x.status) if 400 <= x.status < 500 and x.status not in (401, 403, 429) else None


def _accepted(x: Exchange) -> str | None:
    """Return "accepted", or the status of a refusal."""
    return "accepted" if x.ok else _refused(x)


def _member(x: Exchange, name: str) -> Any:
    return x.answer.get(name) if isinstance(x.answer, dict) else None


def _message(x: Exchange) -> str:
    return str(_member(x, "message") or "")


# requests in general


def _broken(x: Exchange) -> list[str]:
    """Return the ids of the assumptions that a refused request breaks, in order of checking."""
    if "broken" in x.notes:
        known_broken: list[str] = x.notes["broken"]
        return known_broken
    operation, broken = x.operation, []
    if (
        operation is not None
        and operation.name in OPERATIONS
        and _refused(x)
        and (x.body is not None or operation.in_query)
    ):
        raw = dict(x.query) if operation.in_query else x.body
        request, mistyped, _ = converter().read_request(operation, raw, x.path_members, from_query=operation.in_query)
        faults = [*mistyped, *(problems(request, partial=True) if request is not None else ())]
        broken = [assumed_rule(problem) for problem in faults]
    x.notes["broken"] = broken
    return broken


@observed("validation_errors", "*")
def _validation_errors(state: State, x: Exchange) -> str | None:
    return _refused(x) if _broken(x)[:1] == ["validation_errors"] and not _earlier(x) else None


@observed("null_members", "*")
def _null_members(state: State, x: Exchange) -> str | None:
    if not isinstance(x.body, dict) or None not in x.body.values() or _earlier(x):
        return None
    if all(value is None for value in x.body.values()):  # without its nulls it is empty, which may be refused as well
        return "accepted" if x.ok else None
    return "accepted" if x.ok else _refused(x) if set(_broken(x)) == {"null_members"} else None


@observed("email_format", "create_user_application", "update_user", "update_ubo")
def _email_format(state: State, x: Exchange) -> str | None:
    email = x.members.get("email")
    if not isinstance(email, str) or re.fullmatch(EMAIL_ADDRESS.pattern, email):
        return None
    return "accepted" if x.ok else _refused(x) if set(_broken(x)) == {"email_format"} else None


@observed("ip_format", "create_user_application")
def _ip_format(state: State, x: Exchange) -> str | None:
    if x.ok:
        text = x.members.get("ipAddress")
        return (
            "accepted"
            if isinstance(text, str) and not re.fullmatch(r"[0-9.]{7,15}|[0-9a-fA-F:.]{2,45}", text)
            else None
        )
    return _refused(x) if set(_broken(x)) == {"ip_format"} else None


@observed("id_case", "*")
def _id_case(state: State, x: Exchange) -> str | None:
    return _refused(x) if _wrong_ids(x) else None


def _wrong_ids(x: Exchange) -> bool:
    return bool(x.path_members) and any(
        name in _ids_of(x.operation.request) and UUID.fullmatch(value) is None for name, value in x.path_members.items()
    )


@cache
def _ids_of(request: type[Any]) -> frozenset[str]:
    """Return the wire names of the members of a request that are UUIDs."""
    return frozenset(member.wire for member in walk.members(request) if member.about.rule.format == "uuid")


def _earlier(x: Exchange) -> bool:
    """Return whether the request fails a check that comes before the body's members."""
    return (
        (_refused(x) is not None and _wrong_ids(x))
        or _wrong_type(x)
        or len(x.sent) > MAX_BODY
        or len({name for name, _ in x.query}) < len(x.query)
    )


def _wrong_type(x: Exchange) -> bool:
    kind = x.sent_headers.get("content-type")
    return bool(x.sent) and kind is not None and kind.partition(";")[0].strip().lower() != "application/json"


@observed("content_type", "*")
def _content_type(state: State, x: Exchange) -> str | None:
    return _accepted(x) if _wrong_type(x) and len(x.sent) <= MAX_BODY else None


@observed("body_size", "*")
def _body_size(state: State, x: Exchange) -> str | None:
    return _refused(x) if len(x.sent) > MAX_BODY else None


@observed("duplicate_members", "*")
def _duplicate_members(state: State, x: Exchange) -> str | None:
    return _refused(x) if len({name for name, _ in x.query}) < len(x.query) else None


@observed("unknown_body_members", "*")
def _unknown_body_members(state: State, x: Exchange) -> str | None:
    if not isinstance(x.body, dict) or x.body.keys() <= known(x.operation.request):
        return None
    return "dropped" if x.ok else _refused(x) if not _broken(x) and "not allowed" in _message(x) else None


@observed("whole_numbers", "*")
def _whole_numbers(state: State, x: Exchange) -> str | None:
    if not isinstance(x.body, dict):
        return None
    if not any(type(value) is int and value > MAX_WHOLE for value in x.body.values()):
        return None
    return "accepted" if x.ok else _refused(x) if not _broken(x) else None


@observed("unknown_paths", "")
def _unknown_paths(state: State, x: Exchange) -> str | None:
    return _refused(x) if x.operation is None and x.status != 405 else None


@observed("empty_body", "simulate_reversal")
def _empty_body(state: State, x: Exchange) -> str | None:
    transaction = state.transactions.get(_transaction_id(x))
    if x.sent or x.body or transaction is None or transaction.status != "authorized":
        return None
    return "object" if x.ok else _refused(x)


@observed("empty_patch", "update_user", "update_ubo", "update_dispute")
def _empty_patch(state: State, x: Exchange) -> str | None:
    return _accepted(x) if x.body == {} and x.status != 404 else None


@observed("bearer_keys", "")
def _bearer_keys(state: State, x: Exchange) -> bool | None:
    scheme = x.sent_headers.get("authorization", "").partition(" ")[0].lower()
    return x.status != 401 if scheme == "bearer" and "api-key" not in x.sent_headers else None


@observed("idempotency_keys", "")
def _idempotency_keys(state: State, x: Exchange) -> bool | None:
    if not x.sent_headers.get("idempotency-key") or x.method == "GET" or not x.ok:
        return None
    return "idempotency-key" in x.headers or "idempotency-cached" in x.headers


@observed("rate_limit", "")
def _rate_limit(state: State, x: Exchange) -> int | str | None:
    text = x.headers.get("x-ratelimit-limit", "")
    return int(text) if text.isdigit() and len(text) < 12 else NONE if x.headers and x.status != 401 else None


NONE = "none"
"""Placeholder for an observed setting value of None."""


@observed("success_codes", "*")
def _success_codes(state: State, x: Exchange) -> Part | None:
    return Part(x.operation.name, x.status) if x.ok and x.operation.name in OPERATIONS else None


@observed("tightened_roles", "*")
def _tightened_roles(state: State, x: Exchange) -> Part | None:
    if x.operation.roles or x.operation.name not in OPERATIONS or not (x.ok or x.status == 403):
        return None
    return Part(x.operation.name, "newRole" if x.status == 403 and _message(x) == table.MISSING_ROLE.message else None)


@observed("payment_routes", "list_payment_routes", "list_automations")
def _payment_routes(state: State, x: Exchange) -> str | None:
    return ("list" if isinstance(x.answer, list) else "object") if x.ok and x.answer is not None else None


@observed("deprecated_alias", "list_automations")
def _deprecated_alias(state: State, x: Exchange) -> bool | None:
    return True if x.ok else False if x.status == 404 else None


@observed("unknown_members", "*")
def _unknown_members(state: State, x: Exchange) -> bool | None:
    answers = x.answer if isinstance(x.answer, list) else [x.answer]
    return any(answer.get("addedLater") is True for answer in answers[:1]) if x.ok and _objects(answers) else None


def _objects(answers: list[Any]) -> bool:
    return bool(answers) and isinstance(answers[0], dict) and bool(answers[0])


# simulations


def _transaction_id(x: Exchange) -> str:
    return x.path_members.get("transactionId", "").lower()


def _transaction(state: State, x: Exchange, *statuses: str) -> Transaction | None:
    """Return the transaction of a well-formed call, if it has one of the statuses."""
    transaction = state.transactions.get(_transaction_id(x))
    if transaction is None or transaction.status not in statuses or not isinstance(x.body, dict) or _broken(x):
        return None
    return None if _wrong_type(x) or None in x.body.values() else transaction


@observed("settle_route", "settle")
def _settle_route(state: State, x: Exchange) -> bool | None:
    if x.ok or x.status == 400:
        return True
    return False if x.status == 404 and _transaction_id(x) in state.transactions else None


@observed("wrong_state", "simulate_reversal", "simulate_refund", "settle")
def _wrong_state(state: State, x: Exchange) -> str | None:
    wrong = (
        ("authorized", "declined", "reversed")
        if x.operation.name == "simulate_refund"
        else ("settled", "declined", "reversed")
    )
    if x.operation.name != "simulate_reversal" and "amount" not in x.members:
        return None
    return _refused(x) if _transaction(state, x, *wrong) and not _no_settle_route(x) else None


def _no_settle_route(x: Exchange) -> bool:
    return x.operation.name == "settle" and x.status == 404


@observed("reversal_bounds", "simulate_reversal")
def _reversal_bounds(state: State, x: Exchange) -> str | None:
    transaction, amount = _transaction(state, x, "authorized"), x.members.get("newAmount")
    return _refused(x) if transaction and isinstance(amount, int) and amount > transaction.held else None


@observed("settle_bounds", "settle")
def _settle_bounds(state: State, x: Exchange) -> str | None:
    transaction, amount = _transaction(state, x, "authorized"), x.members.get("amount")
    if transaction is None or not isinstance(amount, int) or amount <= transaction.held:
        return None
    return "posted" if x.ok else None if _no_settle_route(x) else _refused(x)


@observed("refund_bounds", "simulate_refund")
def _refund_bounds(state: State, x: Exchange) -> str | None:
    transaction, amount = _transaction(state, x, "settled"), x.members.get("amount")
    if transaction is None or not isinstance(amount, int):
        return None
    return _refused(x) if amount > transaction.settled - transaction.refunded else None


@observed("refund_amount_omitted", "simulate_refund", "settle")
def _refund_amount_omitted(state: State, x: Exchange) -> str | None:
    expected = "settled" if x.operation.name == "simulate_refund" else "authorized"
    transaction = _transaction(state, x, expected)
    if transaction is None or "amount" in x.members or (transaction.refunded and not x.ok) or _no_settle_route(x):
        return None
    return "full" if x.ok else _refused(x) if x.sent or not x.headers else None


def _reversed_in_full(x: Exchange) -> bool:
    return x.ok and isinstance(x.answer, dict) and not x.members.get("newAmount")


@observed("full_reversal_status", "simulate_reversal")
def _full_reversal_status(state: State, x: Exchange) -> Any:
    status = _member(x, "status")
    return shown(status) if _reversed_in_full(x) else None


@observed("full_reversal_reason", "simulate_reversal")
def _full_reversal_reason(state: State, x: Exchange) -> Any:
    return (shown(_member(x, "completionReason")) or NONE) if _reversed_in_full(x) else None


@observed("partial_reversal", "simulate_reversal")
def _partial_reversal(state: State, x: Exchange) -> Any:
    return shown(_member(x, "status")) if x.ok and x.members.get("newAmount") else None


@observed("completion_reason_case", "settle", "simulate_refund")
def _completion_reason_case(state: State, x: Exchange) -> str | None:
    reason = _member(x, "completionReason")
    if not isinstance(reason, str) or not reason:
        return None
    return "upper" if reason.isupper() else "lower" if reason.islower() else None


@observed("over_limit", "simulate_authorization")
def _over_limit(state: State, x: Exchange) -> Any:
    reason = _member(x, "declinedReason")
    if not x.ok or x.members.get("declineReason") is not None or not isinstance(reason, str):
        return None
    return None if reason in CARD_REASONS else shown(reason)


CARD_REASONS = frozenset({"card_locked", "card_canceled", "card_not_activated"})


@observed("card_not_active", "simulate_authorization")
def _card_not_active(state: State, x: Exchange) -> str | None:
    if x.ok and x.members.get("declineReason") is None and _member(x, "declinedReason") in CARD_REASONS:
        return "declined"
    return _refused(x) if "is not active" in _message(x) else None


@observed("currency", "simulate_authorization")
def _currency(state: State, x: Exchange) -> Part | None:
    currency = x.members.get("currency")
    if not isinstance(currency, str) or not re.fullmatch("[A-Z]{3}", currency):
        return None
    if not x.ok and not (_refused(x) and "currency" in _message(x)):
        return None
    return Part(currency, x.ok)


def shown(value: object) -> str | None:
    """Return a text that may be shown, otherwise None."""
    return value if isinstance(value, str) and CODE.fullmatch(value) and value != LATER else None


# people


@observed("outcome_by_name", "create_user_application")
def _outcome_by_name(state: State, x: Exchange) -> bool | None:
    last_name = x.members.get("lastName")
    outcome = outcome_in(last_name) if isinstance(last_name, str) else None
    status = _member(x, "applicationStatus")
    if not x.ok or outcome is None or outcome in LATER_STATUSES or outcome == "pending" or status is None:
        return None
    if outcome == "approved" and x.members.get("isTermsOfServiceAccepted") is False:
        return None
    return bool(status == outcome)


@observed("terms_not_accepted", "create_user_application")
def _terms_not_accepted(state: State, x: Exchange) -> str | None:
    last_name, status = x.members.get("lastName"), _member(x, "applicationStatus")
    if not x.ok or x.members.get("isTermsOfServiceAccepted") is not False or not isinstance(last_name, str):
        return None
    if outcome_in(last_name) != "approved":
        return None
    if status == "tosNotAccepted" or (status == "pending" and _member(x, "applicationCompletionLink")):
        return "tosNotAccepted"
    return "approved" if status == "approved" else None


@observed("event_statuses_shown", "create_user_application", "update_user")
def _event_statuses_shown(state: State, x: Exchange) -> str | None:
    status = _member(x, "applicationStatus")
    if not x.ok or not isinstance(status, str):
        return None
    if status in LATER_STATUSES:
        return "raw"
    asked = outcome_in(str(x.members.get("lastName", "")))
    shown = {"notStarted": "pending", "exempt": "approved"}.get(asked or "")
    waits = status == "pending" and _member(x, "applicationCompletionLink") is not None
    return "mapped" if (shown is not None and status == shown) or waits else None


@observed("status_links", "create_user_application", "update_user")
def _status_links(state: State, x: Exchange) -> Part | None:
    status = _member(x, "applicationStatus")
    if (
        not x.ok
        or not isinstance(status, str)
        or status not in frozenset(EventApplicationStatus)
        or status == "pending"
    ):
        return None
    return Part(status, _member(x, "applicationCompletionLink") is not None)


@observed("status_links", events="user")
def _event_status_links(state: State, x: Delivery) -> Part | None:
    status = x.body.get("applicationStatus")
    return (
        None if status not in frozenset(EventApplicationStatus) else Part(status, "applicationCompletionLink" in x.body)
    )


@observed("status_reasons", "create_user_application")
def _status_reasons(state: State, x: Exchange) -> Part | None:
    return _labels(x.answer) if x.ok and isinstance(x.answer, dict) else None


@observed("status_reasons", events="user")
def _event_status_reasons(state: State, x: Delivery) -> Part | None:
    return _labels(x.body)


def _labels(raw: Mapping[str, Any]) -> Part | None:
    status, labels = raw.get("applicationStatus"), raw.get("applicationReason")
    if status in frozenset(EventApplicationStatus) and isinstance(labels, str):
        if re.fullmatch(r"[A-Z_]{2,40}(, ?[A-Z_]{2,40})*", labels):
            return Part(status, labels)
        return Part(status, None) if labels == "" else None
    return None


@observed("user_terms_shown", "create_user_application", "update_user")
def _user_terms_shown(state: State, x: Exchange) -> bool | None:
    return "isTermsOfServiceAccepted" in x.answer if x.ok and isinstance(x.answer, dict) and "id" in x.answer else None


@observed("wallet_required", "create_user_application")
def _wallet_required(state: State, x: Exchange) -> str | None:
    return _refused(x) if "walletAddress" in _message(x) and "required" in _message(x) and not _broken(x) else None


@observed("duplicate_external_id", "create_user_application", "update_user")
def _duplicate_external_id(state: State, x: Exchange) -> str | None:
    external_id = x.members.get("externalId")
    holder = state.external_ids.get(external_id) if isinstance(external_id, str) else None
    user = x.path_members.get("userId") or x.members.get("id")
    return _accepted(x) if holder is not None and holder != user and not _broken(x) else None


@observed("initiated_application", "create_user_application")
def _initiated_application(state: State, x: Exchange) -> str | None:
    user = state.users.get(str(x.members.get("id")))
    return _refused(x) if user and user.get("applicationStatus") and x.status != 404 and not _broken(x) else None


@observed("partial_address", "update_user")
def _partial_address(state: State, x: Exchange) -> str | None:
    given, answered = x.members.get("address"), _member(x, "address")
    before = (state.users.get(x.path_members.get("userId", "")) or {}).get("address")
    if not x.ok or not all(isinstance(address, dict) for address in (given, answered, before)):
        return None
    assert isinstance(before, dict)
    assert isinstance(given, dict)
    assert isinstance(answered, dict)
    left = before.keys() - given.keys()
    if not left or not given:
        return None
    return "merged" if left <= answered.keys() else "replaced" if not left & answered.keys() else None


# disputes


@observed("dispute_ids", "update_dispute")
def _dispute_ids(state: State, x: Exchange) -> str | None:
    return _refused(x) if UUID.fullmatch(x.path_members["disputeId"]) is None and not _broken(x) else None


@observed("dispute_both", "update_dispute")
def _dispute_both(state: State, x: Exchange) -> str | None:
    both = {"status", "textEvidence"} <= x.members.keys()
    dispute = state.disputes.get(x.path_members["disputeId"])
    return (
        _accepted(x) if both and dispute and dispute["status"] in ("pending", "inReview") and not _broken(x) else None
    )


def _dispute_in(state: State, x: Exchange, *statuses: str) -> bool:
    dispute = state.disputes.get(x.path_members["disputeId"])
    both = {"status", "textEvidence"} <= x.members.keys()
    return bool(dispute and dispute["status"] in statuses and x.body and not _broken(x) and not both)


@observed("dispute_cancel_twice", "update_dispute")
def _dispute_cancel_twice(state: State, x: Exchange) -> str | None:
    return _refused(x) if _dispute_in(state, x, "canceled") else None


@observed("disputes_closed", "update_dispute")
def _disputes_closed(state: State, x: Exchange) -> str | None:
    return _refused(x) if _dispute_in(state, x, "accepted", "rejected") else None


@observed("evidence_appended", "update_dispute")
def _evidence_appended(state: State, x: Exchange) -> str | None:
    dispute, given, text = (
        state.disputes.get(x.path_members["disputeId"]),
        x.members.get("textEvidence"),
        _member(x, "textEvidence"),
    )
    if not x.ok or not dispute or not dispute["evidence"] or not isinstance(given, str) or not isinstance(text, str):
        return None
    return "replaced" if len(text) == len(given) else "appended" if len(text) > dispute["evidence"] else None


@observed("evidence_total", "update_dispute")
def _evidence_total(state: State, x: Exchange) -> str | None:
    dispute, given = state.disputes.get(x.path_members["disputeId"]), x.members.get("textEvidence")
    if not dispute or not isinstance(given, str) or len(given) + dispute["evidence"] < 65_535 or _broken(x):
        return None
    return _refused(x)


# rewards, payment accounts, contracts


@observed("rewards_order", "list_rewards_activity")
def _rewards_order(state: State, x: Exchange) -> str | None:
    items = _member(x, "items")
    times = [item.get("createdAt") for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    texts = [time for time in times if isinstance(time, str)]
    if len(set(texts)) < 2 or len(texts) < len(times):
        return None
    return "newest" if texts == sorted(texts, reverse=True) else "oldest" if texts == sorted(texts) else None


@observed("rewards_beyond", "list_rewards_activity")
def _rewards_beyond(state: State, x: Exchange) -> str | None:
    offset = str(x.members.get("offset", ""))
    if not offset.isdigit() or offset == "0" or _broken(x) or x.status == 404:
        return None
    return _refused(x) or ("empty" if _member(x, "items") == [] and x.members.get("limit") != "0" else None)


@observed("account_owner_kind", "create_payment_account")
def _account_owner_kind(state: State, x: Exchange) -> str | None:
    return _refused(x) if _message(x).startswith("Team not found") and not _broken(x) else None


def _accounts(x: Exchange) -> tuple[dict[str, Any], dict[str, Any]] | None:
    given, answered = x.members.get("externalFiatAccount"), _member(x, "externalFiatAccount")
    return (given, answered) if x.ok and isinstance(given, dict) and isinstance(answered, dict) else None


@observed("account_defaults", "create_payment_account")
def _account_defaults(state: State, x: Exchange) -> list[Part] | None:
    if (accounts := _accounts(x)) is None:
        return None
    given, answered = accounts
    names = [name for name in BEHAVIORS["account_defaults"].documented if name not in given]
    return [
        Part(name, answered[name])
        for name in names
        if isinstance(answered.get(name), bool) or shown(answered.get(name))
    ]


@observed("account_business_name", "create_payment_account")
def _account_business_name(state: State, x: Exchange) -> bool | None:
    if (accounts := _accounts(x)) is None or accounts[0].get("beneficiaryType") != "individual":
        return None
    return "beneficiaryBusinessName" in accounts[1] if "beneficiaryBusinessName" not in accounts[0] else None


@observed("account_other_variant", "create_payment_account")
def _account_other_variant(state: State, x: Exchange) -> str | None:
    if (accounts := _accounts(x)) is None:
        return None
    given, answered = accounts
    others = {"beneficiaryBusinessName"} if given.get("beneficiaryType") == "individual" else _PERSON
    sent = others & given.keys()
    if not sent:
        return None
    return "kept" if all(answered.get(name) for name in sent) else "dropped"


_PERSON = {
    "".join(word.capitalize() if number else word for number, word in enumerate(name.split("_"))) for name in PERSON
}


@observed("stellar_contracts", "list_contracts")
def _stellar_contracts(state: State, x: Exchange) -> bool | None:
    if not x.ok or not isinstance(x.answer, list):
        return None
    return True if any(isinstance(item, dict) and item.get("chainId") in (1500, 1501) for item in x.answer) else None


# withdrawals


def question(x: Exchange) -> tuple[str, ...]:
    """Return the subject of a signature request."""
    asked = x.members
    return tuple(str(asked.get(name, "")).lower() for name in _ASKED)


_ASKED = (
    "chainId",
    "token",
    "amount",
    "adminAddress",
    "recipientAddress",
    "isAmountNative",
    "rainCollateralContractId",
)


def contract_of(state: State, x: Exchange) -> str:
    """Return the proxy address of a request's contract if known, otherwise the members that select the contract."""
    parameters = _member(x, "parameters")
    if isinstance(parameters, list) and parameters and isinstance(parameters[0], str):
        return parameters[0].lower()
    fitting = [proxy for proxy, contract in state.contracts.items() if _fits(contract, x)]
    return fitting[0].lower() if fitting else "/".join(question(x)[:2])


def _fits(contract: Mapping[str, Any], x: Exchange) -> bool:
    asked = x.members
    wanted, chain = asked.get("rainCollateralContractId"), asked.get("chainId")
    return (
        wanted in (None, contract["id"])
        and chain in (None, str(contract["chain"]))
        and any(same_address(token, str(asked.get("token"))) for token in contract["tokens"])
        and any(same_address(admin, str(asked.get("adminAddress"))) for admin in contract["admins"])
    )


def active(state: State, x: Exchange) -> list[Signature]:
    """Return the signatures that are unexpired at the time of a request."""
    return [signature for signature in state.signatures if x.at is not None and signature.expires > x.at]


def expiry(x: Exchange) -> float | None:
    """Return the expiry of an answer's signature in Unix seconds."""
    text = _member(x, "expiresAt")
    if isinstance(text, str) and text.isdigit():
        return float(text)
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except ValueError:
        return None


def _data(x: Exchange) -> str:
    signature = _member(x, "signature")
    return str(signature.get("data")) if isinstance(signature, dict) else ""


@observed("withdrawal_lifetime", "sign_withdrawal")
def _withdrawal_lifetime(state: State, x: Exchange) -> int | None:
    expires = expiry(x)
    if expires is None or x.at is None or not x.ok or any(signature.data == _data(x) for signature in state.signatures):
        return None
    seconds = round(expires - x.at)
    usual = next((value for value in (600, 300) if abs(value - seconds) <= 2), seconds)
    return usual if seconds > 0 else None


@observed("withdrawal_same_again", "sign_withdrawal")
def _withdrawal_same_again(state: State, x: Exchange) -> str | None:
    same = [signature for signature in active(state, x) if signature.question == question(x)]
    return None if not same or not x.ok or not _data(x) else "same" if same[-1].data == _data(x) else "new"


@observed("withdrawal_other_while_active", "sign_withdrawal")
def _withdrawal_other_while_active(state: State, x: Exchange) -> str | None:
    signatures = active(state, x)
    if not signatures or any(signature.question == question(x) for signature in signatures):
        return None
    if not x.ok:
        return _refused(x) if x.status == 409 or "active" in _message(x) else None
    contract = contract_of(state, x)
    return "new" if _data(x) and any(signature.contract == contract for signature in signatures) else None


@observed("withdrawal_scope", "sign_withdrawal")
def _withdrawal_scope(state: State, x: Exchange) -> str | None:
    """Return the scope; "contract" counts only if a second signature for one contract was refused."""
    signatures, contract = active(state, x), contract_of(state, x)
    if not signatures or any(signature.contract == contract for signature in signatures):
        return None
    if not x.ok:
        return "tenant" if x.status == 409 or "active" in _message(x) else None
    return "contract" if _data(x) else None


@observed("withdrawal_unit_default", "sign_withdrawal")
def _withdrawal_unit_default(state: State, x: Exchange) -> str | None:
    parameters, asked = _member(x, "parameters"), x.members
    if not x.ok or "isAmountNative" in asked or not isinstance(parameters, list) or len(parameters) < 3:
        return None
    return "native" if str(parameters[2]) == str(asked.get("amount")) else "cents"


@observed("withdrawal_contract_choice", "sign_withdrawal")
def _withdrawal_contract_choice(state: State, x: Exchange) -> str | None:
    fitting = [proxy for proxy, contract in state.contracts.items() if _fits(contract, x)]
    if len(fitting) < 2:
        return None
    parameters = _member(x, "parameters")
    text = str(parameters[0]) if isinstance(parameters, list) and parameters else _message(x)
    named = [proxy for proxy in fitting if proxy.lower() in text.lower()]
    return {fitting[0]: "first", fitting[-1]: "last"}.get(named[0]) if len(named) == 1 else None


@observed("withdrawal_smallest_amount", "sign_withdrawal")
def _withdrawal_smallest_amount(state: State, x: Exchange) -> str | None:
    amount = x.members.get("amount")
    return _refused(x) if amount == "0" and not _broken(x) and x.status not in (404, 409) else None


@observed("recipient_family", "sign_withdrawal")
def _recipient_family(state: State, x: Exchange) -> str | None:
    admin, recipient = str(x.members.get("adminAddress")), str(x.members.get("recipientAddress"))
    if x.status in (404, 409) or _broken(x) or family_of_address(admin) is family_of_address(recipient):
        return None
    return _refused(x)


# events


@observed("user_event_terms", events="user")
def _user_event_terms(state: State, x: Delivery) -> bool | None:
    value = x.body.get("isTermsOfServiceAccepted")
    return value if x.body.get("applicationStatus") == "tosNotAccepted" and isinstance(value, bool) else None


@observed("review_seconds", events="user")
def _review_seconds(state: State, x: Delivery) -> int | None:
    user, received = state.users.get(x.resource_id), _time(x.event.get("eventReceivedAt"))
    if user is None or received is None or not user.get("waiting") or x.body.get("applicationStatus") == "pending":
        return None
    seconds = received - user["waiting"]
    user["waiting"] = None
    return round(seconds) if seconds > 0 else None


def _time(text: object) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except ValueError:
        return None


def event_time(x: Delivery) -> float | None:
    """Return the time of an event's occurrence by the service's clock; None if it is not stated."""
    spend = _spend(x)
    times = (x.event.get("eventReceivedAt"), spend.get("postedAt"), spend.get("authorizedAt"))
    return next((at for at in map(_time, times) if at is not None), None)


def _spend(x: Delivery) -> dict[str, Any]:
    spend = x.body.get("spend")
    return spend if isinstance(spend, dict) else {}


def _is(x: Delivery, action: str) -> bool:
    return x.event.get("action") == action


@observed("previously_authorized", events="transaction")
def _previously_authorized(state: State, x: Delivery) -> bool | None:
    return "previouslyAuthorizedAmount" in _spend(x) if _is(x, "requested") else None


@observed("transaction_events", events="transaction")
def _transaction_events(state: State, x: Delivery) -> bool | None:
    created = _is(x, "created") and _spend(x).get("status") == "pending" and _amount(x) > 0
    return bool(state.spends.get(x.resource_id, {}).get("requested")) if created else None


@observed("declined_events", events="transaction")
def _declined_events(state: State, x: Delivery) -> bool | None:
    created = _is(x, "created") and _spend(x).get("status") == "declined"
    return bool(state.spends.get(x.resource_id, {}).get("requested")) if created else None


@observed("reversal_events", events="transaction")
def _reversal_events(state: State, x: Delivery) -> str | None:
    change = _spend(x).get("authorizationUpdateAmount")
    return shown(_spend(x).get("status")) if _is(x, "updated") and isinstance(change, int) and change < 0 else None


@observed("event_declined_reason", events="transaction")
def _event_declined_reason(state: State, x: Delivery) -> str | None:
    reason = _spend(x).get("declinedReason")
    return None if not isinstance(reason, str) else "code" if "_" in reason else "words" if " " in reason else None


@observed("merchant_padding", events="transaction")
def _merchant_padding(state: State, x: Delivery) -> bool | None:
    city = _spend(x).get("merchantCity")
    return (city != city.rstrip() and len(city) == 13) if isinstance(city, str) and len(city.rstrip()) < 13 else None


@observed("event_completion_reason", events="transaction")
def _event_completion_reason(state: State, x: Delivery) -> bool | None:
    return "completionReason" in _spend(x) if _is(x, "completed") and _amount(x) else None


@observed("completion_reason_case", events="transaction")
def _event_completion_reason_case(state: State, x: Delivery) -> str | None:
    reason = _spend(x).get("completionReason")
    if not isinstance(reason, str) or not _amount(x):
        return None
    return "upper" if reason.isupper() else "lower" if reason.islower() else None


@observed("event_authorized_amount", events="transaction")
def _event_authorized_amount(state: State, x: Delivery) -> str | None:
    spend = state.spends.get(x.resource_id, {})
    original, reduced, value = spend.get("created"), spend.get("reduced"), _spend(x).get("authorizedAmount")
    if not _is(x, "completed") or _amount(x) <= 0 or not reduced or original is None or reduced == original:
        return None
    return {reduced: "reduced", original: "original"}.get(value)


@observed("refund_event_id", events="transaction")
def _refund_event_id(state: State, x: Delivery) -> str | None:
    if not _is(x, "completed") or _amount(x) >= 0:
        return None
    return "transaction" if state.spends.get(x.resource_id, {}).get("created") else "own"


@observed("refund_event_created", events="transaction")
def _refund_event_created(state: State, x: Delivery) -> bool | None:
    if not _is(x, "completed") or _amount(x) >= 0:
        return None
    return bool(state.spends.get(x.resource_id, {}).get("refund_created"))


@observed("settle_by_clock", events="transaction")
def _settle_by_clock(state: State, x: Delivery) -> int | None:
    if not _is(x, "completed") or _amount(x) <= 0:
        return None
    transaction = state.transactions.get(x.resource_id)
    if transaction is None or transaction.settled:
        return None
    authorized, posted = (_time(_spend(x).get(name)) for name in ("authorizedAt", "postedAt"))
    if authorized is None or posted is None or posted <= authorized:
        return None
    return round(posted - authorized)


def _amount(x: Delivery) -> int:
    amount = _spend(x).get("amount")
    return amount if isinstance(amount, int) else 0


@observed("owner_events", events="user")
def _owner_events(state: State, x: Delivery) -> bool | None:
    return True if x.resource_id in state.owners else None


@observed("event_ids", events="")
def _event_ids(state: State, x: Delivery) -> str | None:
    earlier = state.seen_events.get(x.content)
    if LATER in (x.body.get("status"), x.body.get("applicationStatus")):
        return None  # two states may look alike
    return None if earlier is None else "same" if earlier[0] == x.event.get("id") else "new"


# what later observations need


def remember(state: State, x: Exchange) -> None:
    """Update the state with an exchange."""
    name = "" if x.operation is None else x.operation.name
    if not x.ok or not isinstance(x.answer, dict | list):
        return
    answer: Json = x.answer
    if name == "simulate_authorization":
        amount = x.members.get("amount")
        if isinstance(key := answer.get("transactionId"), str) and isinstance(amount, int):
            is_declined = answer.get("status") == "declined" or answer.get("declinedReason") is not None
            card, held = str(x.members.get("cardId")), 0 if is_declined else amount
            status = "declined" if is_declined else "authorized"
            state.transactions[key.lower()] = Transaction(amount, card, status, held)
            if held > state.largest.get(card, (0, ""))[0]:
                state.largest[card] = (held, x.place)
    elif transaction := state.transactions.get(_transaction_id(x)):
        if name == "simulate_reversal":
            transaction.held = x.members.get("newAmount") or 0
            transaction.status = "authorized" if transaction.held else "reversed"
        elif name == "settle":
            transaction.settled = x.members.get("amount") or transaction.held
            transaction.held, transaction.status = 0, "settled"
        elif name == "simulate_refund":
            transaction.refunded += x.members.get("amount", transaction.settled)
    elif name in ("create_user_application", "update_user") and isinstance(answer, dict):
        key, external_id = str(answer.get("id")), x.members.get("externalId")
        known_user = state.users.get(key, {})
        created = _time(answer.get("createdAt")) if name == "create_user_application" else None
        waits = answer.get("applicationStatus") == "pending" and "applicationCompletionLink" not in answer
        state.users[key] = {
            "applicationStatus": answer.get("applicationStatus"),
            "address": dict.fromkeys(answer["address"], "") if isinstance(answer.get("address"), dict) else None,
            "waiting": created if waits else known_user.get("waiting"),
        }
        if isinstance(external_id, str):
            state.external_ids.setdefault(external_id, key)
    elif name == "update_ubo":
        if len(x.members) > 2:
            state.owners[x.path_members.get("uboId", "")] = x.place
    elif name == "update_dispute" and isinstance(answer, dict):
        evidence = answer.get("textEvidence")
        state.disputes[x.path_members["disputeId"]] = {
            "status": answer.get("status"),
            "evidence": len(evidence) if isinstance(evidence, str) else 0,
        }
    elif name == "list_contracts" and isinstance(answer, list):
        for item in answer:
            if isinstance(item, dict) and isinstance(item.get("proxyAddress"), str):
                state.contracts[item["proxyAddress"]] = {
                    "id": item.get("id"),
                    "chain": item.get("chainId"),
                    "admins": item.get("adminAddresses") or [],
                    "tokens": [str(token.get("address")) for token in item.get("tokens") or []],
                }
    elif name == "sign_withdrawal":
        expires, data = expiry(x), _data(x)
        if expires is not None and data and all(signature.data != data for signature in state.signatures):
            if x.at is not None:
                state.signatures = [signature for signature in state.signatures if signature.expires > x.at]
            del state.signatures[:-_MAX_SIGNATURES]
            state.signatures.append(Signature(expires, contract_of(state, x), question(x), data))


def remember_event(state: State, x: Delivery) -> None:
    """Update the state with an event."""
    state.seen_events.setdefault(x.content, (str(x.event.get("id")), x.place))
    if x.event.get("resource") == "transaction" and x.resource_id:
        spend = state.spends.get(x.resource_id)
        if spend is None:
            spend = state.spends[x.resource_id] = {}
        amount, action = _amount(x), x.event.get("action")
        if action == "requested":
            spend["requested"] = True
        elif action == "created":
            spend["created" if amount > 0 else "refund_created"] = amount
        elif action == "updated":
            spend["reduced" if amount else "reversed"] = amount or x.place
        elif action == "completed" and not amount:
            spend["completed"] = True
    elif x.event.get("resource") == "card":
        limit = x.body.get("limit")
        if isinstance(limit, dict) and isinstance(limit.get("amount"), int):
            state.limits[x.resource_id] = limit["amount"]
    elif x.event.get("resource") == "user":
        state.owners.pop(x.resource_id, None)


_KNOWN: dict[type[Any], frozenset[str]] = {}


def known(cls: type[Any]) -> frozenset[str]:
    """Return the wire names of a record's members."""
    if cls not in _KNOWN:
        _KNOWN[cls] = frozenset(member.wire for member in walk.members(cls))
    return _KNOWN[cls]
