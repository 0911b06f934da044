"""The details of a thing in the panel: its fields, its timeline, what is about it, and the actions that are offered for it."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from types import NoneType
from typing import Any
from xml.etree import ElementTree as ET

import attr
import attrs

from workbench import rendering
from workbench.errors import visible
from workbench.forms import things
from workbench.interface import masks, walk
from workbench.interface.fields import OPEN
from workbench.interface.rules import EventApplicationStatus
from workbench.interface.table import OPERATIONS
from workbench.rendering.design import word
from workbench.rendering.markup import Kind, state_diagram
from workbench.rendering.show import describe
from workbench.rendering.text import Sheet
from workbench.sandbox.results import StoredRecord
from workbench.sequences import Sequence
from workbench.session import sandbox_of

_MAX_RELATED = 20
_CENTS = frozenset({"limit", "available", "held", "posted", "refunded", "settled", "authorized", "amount"})


def private(thing: Any) -> set[str]:
    """Return the (dotted) names of the private values of a thing, which are masked until they are revealed."""
    if isinstance(thing, StoredRecord):
        shown = thing.shown()
        return {name for name, value in thing.items() if shown.get(name) != value}
    found = walk.leaves(type(thing)) if walk.is_record(thing) else ()
    paths = (path for path, one in found if one.about.privacy is not OPEN)
    return {path for path in paths if not isinstance(walk.get_path(thing, path), tuple | NoneType)}


def fields(thing: Any, *, reveal: bool = False) -> dict[str, Any] | None:
    """Return the fields of a thing as plain values for a page, private ones masked or not; None if its row says all."""
    if isinstance(thing, StoredRecord):
        return plain(dict(_readable(dict(thing) if reveal else thing.shown())))
    return None if thing is None or thing == {} else plain(thing, private(thing) if reveal else ())


def plain(thing: Any, reveal: Collection[str] = ()) -> dict[str, Any]:
    """Return what is to be shown of a thing as plain values for a page; every text in it is safe to print."""
    block = Sheet(title="", code=(thing.to_toml(),)) if isinstance(thing, Sequence) else describe(thing, reveal=reveal)
    return attr.asdict(block, retain_collection_types=False)


def _readable(stored: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the members of a stored record with money and times as people read them."""
    for name, value in stored.items():
        if value is None or value == "" or name == "tenant":
            continue
        if name.endswith("_at") and isinstance(value, int):
            yield name, datetime.fromtimestamp(value / 1000, UTC)
        elif name in _CENTS and type(value) is int:
            yield name, rendering.money(value, stored.get("currency"))
        else:
            yield name, value


def related(api: Any, key: str) -> dict[str, Any]:
    """Return the timeline, and the events, deliveries and requests about an id; the newest of each."""
    known_events = [kept for kept in things.received(api) if key and things.mentions(kept.event.body, key)]
    sandbox = sandbox_of(api)
    caused = [] if sandbox is None or not key else [one for one in sandbox.events() if things.mentions(dict(one), key)]
    ids = {kept.event.id for kept in known_events} | {one["event"]["id"] for one in caused} | {key}
    delivered = [] if sandbox is None else [one for one in sandbox.deliveries() if one.event_id in ids]
    called = [one for one in things.entries(api) if key and things.mentions([one.id, one.request, one.answer], key)]

    def entry(key: Any, title: str, at: Any, **more: Any) -> dict[str, Any]:
        return {"id": key, "title": visible(title, 200), "at": things.iso(at), **more}

    written = partial(json.dumps, indent=2, ensure_ascii=False, default=str)
    events = [
        entry(one.event.id, one.event.kind, one.arrived, json=written(masks.masked(one.event)))
        for one in reversed(known_events[-_MAX_RELATED:])
    ]
    deliveries = [
        entry(one.id, f"{one.kind}: {one.state}", one.attempts[-1].at if one.attempts else one.due, fields=plain(one))
        for one in delivered[-_MAX_RELATED:]
    ]
    requests = [
        entry(one.id, f"{one.outcome}: {one.what}", one.started, fields=plain(things.call_facts(one)))
        for one in reversed(called[-_MAX_RELATED:])
    ]
    timeline = list(_timeline(key, caused, known_events))
    return {"timeline": timeline, "events": events, "deliveries": deliveries, "requests": requests}


_HAPPENED = {"requested": "Authorization requested", "created": "Authorized", "completed": "Posted"}


def _timeline(key: str, caused: list[Any], known_events: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield what happened to a transaction or an application, oldest first, by the sandbox's clock where there is one.

    A title is `Posted (settle)`, or `updated: approved (review)`.
    """
    if caused:
        found = [(one["at"], one["event"]["action"], one["event"]["body"], one["cause"]) for one in caused]
    else:
        found = [
            (things.iso(kept.arrived), kept.event.kind.partition(".")[2], masks.masked(kept.event.body), None)
            for kept in known_events
        ]
    for at, action, body, cause in found:
        if not isinstance(body, Mapping) or body.get("id") != key:
            continue
        held = body.get("spend") or body
        status, cents = held.get("status") or held.get("applicationStatus"), held.get("amount")
        if type(cents) is int:
            refunded = action == "completed" and cents < 0
            title = "Refunded" if refunded else "Declined" if status == "declined" else _HAPPENED.get(action, action)
        else:
            title = f"{action}: {word(str(status))}" if status else action
        title += f" ({rendering.label(cause)})" if cause else ""
        amount = rendering.money(cents, held.get("currency")) if type(cents) is int else None
        yield {"at": at, "title": visible(title, 120), "amount": amount}


_STATES: Mapping[str, tuple[Kind, str]] = {
    "transactions": ("transaction", "status"), "disputes": ("dispute", "status"), "cards": ("card", "status"),
    "users": ("application", "application_status"), "companies": ("application", "application_status"),
}  # fmt: skip
"""The diagram of a list's things, and the column of their present state."""


def states(name: str, facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the diagram of states of a thing as elements of SVG and their name space; None for what has no states.

    An element is its tag, its attributes, its text and the elements in it; no foreign text is in any.
    """
    if name not in _STATES:
        return None
    kind, column = _STATES[name]
    root = ET.fromstring(state_diagram(kind, facts.get(column)))  # noqa: S314 - of our own making
    return {"space": "http://www.w3.org/2000/svg", "drawing": _elements(root)}


def _elements(one: ET.Element) -> list[Any]:
    return [one.tag, dict(one.attrib), one.text or "", [_elements(inner) for inner in one]]


def _takes(text: str) -> Mapping[str, str]:
    pairs = (one.partition("=") for one in text.split())
    return {argument: fact or argument for argument, _, fact in pairs}


def _only(text: str) -> Mapping[str, frozenset[str]]:
    return {fact: frozenset(values.split(",")) for fact, values in _takes(text).items()}


@attrs.frozen
class Offer:
    """An operation, a control of the sandbox, or a thing to open, and the label of its button.

    Args:
        do: The operation or control, or the list that has the thing.
        takes: Each argument as `name`, or as `name=column` of the row; after a call the path in the answer or request.
        only: Each column with the values for which it is offered, as `status=active,locked`; an unknown value is allowed.
        extra: Further arguments of a control.
        asks: Further arguments of a control, each with its choices, or "money" or "text", which may be left empty.
    """

    do: str
    label: str
    takes: Mapping[str, str] = attrs.field(default="", converter=_takes)
    only: Mapping[str, frozenset[str]] = attrs.field(default="", converter=_only)
    extra: Mapping[str, str] = attrs.field(factory=dict)
    asks: Mapping[str, list[str] | str] = attrs.field(factory=dict)
    opens: bool = False

    @property
    def control(self) -> bool:
        """Whether it is a control that only a sandbox has."""
        return self.do not in OPERATIONS and not self.opens

    def arguments(self, facts: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the arguments for a row, or None if it is not offered."""
        given = {argument: facts.get(fact) for argument, fact in self.takes.items()}
        fits = all(facts.get(fact) is None or str(facts[fact]) in values for fact, values in self.only.items())
        return given if fits and None not in given.values() else None


_ADD_ACCOUNT = "Add payment account"
_STATUSES = [str(one) for one in EventApplicationStatus]
_REVIEW = Offer("review", "Review", "user_or_owner_id=id", asks={"status": _STATUSES})
_DECISIONS = ["inReview", "accepted", "rejected"]
OF_TABS: Mapping[str, tuple[Offer, ...]] = {
    "users": (
        Offer("create_user_application", "Create application"),
        Offer("update_user", "Edit user by ID"),
        Offer("update_ubo", "Edit owner by ID"),
    ),
    "payment accounts": (
        Offer("create_payment_account", _ADD_ACCOUNT),
        Offer("delete_payment_account", "Delete account by ID"),
    ),
    "disputes": (Offer("update_dispute", "Edit dispute by ID"),),
    "transactions": (
        Offer("simulate_authorization", "Simulate purchase"),
        Offer("simulate_reversal", "Reverse by ID"),
        Offer("simulate_refund", "Refund by ID"),
    ),
}
"""Offered whatever is opened: the service lists little, so a person may know an id that the panel does not."""
OF_ROWS: Mapping[str, tuple[Offer, ...]] = {
    "contracts": (Offer("sign_withdrawal", "Withdraw this token", "chain_id token"),),
    "users": (
        Offer("update_user", "Edit user", "user_id=id", "kind=user"),
        Offer("list_rewards_activity", "Show rewards", "user_id=id", "kind=user"),
        Offer("create_payment_account", _ADD_ACCOUNT, "user_id=id", "kind=user"),
        Offer("update_ubo", "Edit owner", "company_id ubo_id=id", "kind=owner"),
        Offer("accept_terms", "Accept terms", "user_id=id", "application_status=tosNotAccepted"),
        _REVIEW,
        Offer(
            "create_card", "Issue card", "user_id=id", "kind=user application_status=approved", asks={"limit": "money"}
        ),
    ),
    "companies": (Offer("create_payment_account", _ADD_ACCOUNT, "company_id=id"), _REVIEW),
    "cards": (
        Offer("simulate_authorization", "Simulate purchase", "card_id=id", "status=active"),
        Offer("activate_card", "Activate card", "card_id=id", "status=notActivated"),
        Offer("lock_card", "Lock card", "card_id=id", "status=active"),
        Offer("unlock_card", "Unlock card", "card_id=id", "status=locked"),
        Offer("cancel_card", "Cancel card", "card_id=id", "status=active,locked,notActivated"),
    ),
    "payment accounts": (Offer("delete_payment_account", "Delete account", "payment_account_id=id"),),
    "disputes": (
        Offer("update_dispute", "Edit dispute", "dispute_id=id"),
        Offer(
            "resolve_dispute", "Decide dispute", "dispute_id=id", "status=pending,inReview", asks={"status": _DECISIONS}
        ),
    ),
    "transactions": (
        Offer("simulate_reversal", "Reverse", "transaction_id=id", "status=authorized"),
        Offer("settle", "Settle", "transaction_id=id", "status=authorized", asks={"amount": "money"}),
        Offer("simulate_refund", "Refund", "transaction_id=id", "status=settled"),
        Offer("open_dispute", "Dispute", "transaction_id=id", "status=settled", asks={"text_evidence": "text"}),
    ),
    "events": (Offer("resend", "Redeliver", "event_id=id"),),
    "deliveries": (Offer("resend", "Redeliver", "event_id"),),
}
"""Offered for an opened row."""
_FINAL = {"payment accounts": "deleted"}  # tab → the column that, once it has a value, ends all actions
_APPROVE = Offer("review", "Approve in the sandbox", "user_or_owner_id=id", extra={"status": "approved"})
AFTER: Mapping[str, tuple[str, str, Mapping[str, str], tuple[Offer, ...]]] = {
    "create_user_application": ("users", "id application_status", {"kind": "user"}, (_APPROVE,)),
    "update_user": ("users", "id application_status", {"kind": "user"}, ()),
    "update_ubo": ("users", "id=request.ubo_id company_id=request.company_id", {"kind": "owner"}, ()),
    "create_payment_account": ("payment accounts", "id", {}, ()),
    "simulate_authorization": ("transactions", "id=transaction_id status", {}, ()),
    "simulate_reversal": ("transactions", "id=transaction_id status", {}, ()),
    "settle": ("transactions", "id=transaction_id", {"status": "settled"}, ()),
    "simulate_refund": ("transactions", "id=request.transaction_id", {"status": "settled"}, ()),
    "update_dispute": ("disputes", "id=request.dispute_id", {}, ()),
}
"""The thing that a call made or changed: its list, what is known of it from answer and request, and what is offered first."""


def of_tab(name: str, api: Any) -> list[Offer]:
    """Return what a tab offers."""
    return [one for one in OF_TABS.get(name, ()) if _available(one, api)]


def of_row(name: str, facts: Mapping[str, Any], api: Any) -> list[tuple[Offer, dict[str, Any]]]:
    """Return what an opened row of a tab offers, each with its arguments; none where those are unknown."""
    over = facts.get(_FINAL.get(name, "")) is not None
    return [] if over else _with_arguments(OF_ROWS.get(name, ()), facts, api)


def after_call(name: str, request: Any, answer: Any, api: Any) -> list[tuple[Offer, dict[str, Any]]]:
    """Return the next steps after a call, each with its arguments: those of the thing that it made or changed."""
    if name not in AFTER:
        return []
    of, takes, known, first = AFTER[name]
    facts: dict[str, Any] = dict(known)
    for fact, path in _takes(takes).items():
        holder, _, member = path.rpartition(".")
        facts[fact] = getattr(request if holder else answer, member, None)
    noun = facts.get("kind") or of.removesuffix("s").rpartition(" ")[2]
    offered = [one for one in OF_ROWS[of] if not any(isinstance(asked, list) for asked in one.asks.values())]
    return _with_arguments((*first, *offered, Offer(of, f"Open {noun}", "id", opens=True)), facts, api)


def _with_arguments(found: Iterable[Offer], facts: Mapping[str, Any], api: Any) -> list[tuple[Offer, dict[str, Any]]]:
    offered = [(one, one.arguments(facts)) for one in found if _available(one, api)]
    return [(one, given) for one, given in offered if given is not None]


def _available(one: Offer, api: Any) -> bool:
    if one.opens or not (one.control or OPERATIONS[one.do].sandbox_only):
        return True
    return api.environment == "sandbox" and (sandbox_of(api) is not None or not one.control)
