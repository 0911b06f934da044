"""Next steps for a record: operations and sandbox controls, with their button labels."""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from workbench.base.errors import WorkbenchError
from workbench.base.schema.rules import FULL
from workbench.client.session import sandbox_of
from workbench.service import rendering
from workbench.service.interface.table import OPERATIONS
from workbench.service.interface.vocabulary import EventApplicationStatus
from workbench.service.rendering.text import sentence


def _takes(text: str) -> Mapping[str, str]:
    pairs = (part.partition("=") for part in text.split())
    return {argument: fact or argument for argument, _, fact in pairs}


def _only(text: str) -> Mapping[str, frozenset[str]]:
    return {fact: frozenset(values.split(",")) for fact, values in _takes(text).items()}


@attrs.frozen
class Offer:
    """An action that a button offers: an operation, a sandbox control, or opening a record.

    Args:
        do: The operation or control, or the list that contains the record.
        takes: Each argument as `name`, or as `name=column` of the row; after a call, the column is a path in the answer
            or in the request.
        only: Columns, each with the values for which the action is offered: `status=active,locked`. An unknown value
            does not prevent the offer.
        extra: Further arguments of a control.
        asks: Arguments of a control that a person enters, each with its choices, or "money" or "text". They may be left
            empty.
        fills: Initial values of the form in a sandbox.
        card: Status of the example card with which the form begins in a sandbox.
    """

    do: str
    label: str
    takes: Mapping[str, str] = attrs.field(default="", converter=_takes)
    only: Mapping[str, frozenset[str]] = attrs.field(default="", converter=_only)
    extra: Mapping[str, str] = attrs.field(factory=dict)
    asks: Mapping[str, list[str] | str] = attrs.field(factory=dict)
    opens: bool = False
    fills: Mapping[str, Any] = attrs.field(factory=dict)
    card: str = ""

    @property
    def control(self) -> bool:
        """Whether the action is a sandbox control."""
        return self.do not in OPERATIONS and not self.opens

    def arguments(self, facts: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the arguments for a row; None if the action is not offered for the row."""
        given = {argument: facts.get(fact) for argument, fact in self.takes.items()}
        fits = all(facts.get(fact) is None or str(facts[fact]) in values for fact, values in self.only.items())
        return given if fits and None not in given.values() else None


_PURCHASE = {"amount": 1250, "currency": "USD", "merchant_name": "Example Books", "merchant_category_code": "5942"}
_TOO_MUCH = 100_000_000  # an amount in cents above the limit of every example card

_ADD_ACCOUNT = "Add payment account"

_STATUSES = [str(status) for status in EventApplicationStatus]

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
        Offer("simulate_authorization", "Simulate purchase", fills=_PURCHASE, card="active"),
        Offer("simulate_authorization", "Simulate decline", fills={**_PURCHASE, "amount": _TOO_MUCH}, card="active"),
        Offer("simulate_reversal", "Reverse by ID"),
        Offer("simulate_refund", "Refund by ID"),
    ),
}
"""Actions of a list that need no open record, because a person may know ids that are not listed."""

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
        Offer("simulate_authorization", "Simulate purchase", "card_id=id", "status=active", fills=_PURCHASE),
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
        Offer("simulate_refund", "Refund", "transaction_id=id", "status=settled", fills={"amount": FULL}),
        Offer("open_dispute", "Dispute", "transaction_id=id", "status=settled", asks={"text_evidence": "text"}),
    ),
    "events": (Offer("resend", "Redeliver", "event_id=id"),),
    "deliveries": (Offer("resend", "Redeliver", "event_id"),),
}
"""Actions of an opened row."""


_FINAL = {"payment accounts": "deleted"}  # the column whose value rules out further actions, by list

_APPROVE = Offer(
    "review",
    "Approve in the sandbox",
    "user_or_owner_id=id",
    f"application_status={','.join(status for status in _STATUSES if status != 'approved')}",
    extra={"status": "approved"},
)

AFTER: Mapping[str, tuple[str, str, Mapping[str, str], tuple[Offer, ...]]] = {
    "create_user_application": ("users", "id application_status", {"kind": "user"}, (_APPROVE,)),
    "update_user": ("users", "id application_status", {"kind": "user"}, ()),
    "update_ubo": ("users", "id=request.ubo_id company_id=request.company_id", {"kind": "owner"}, ()),
    "create_payment_account": ("payment accounts", "id", {}, ()),
    "simulate_authorization": ("transactions", "id=transaction_id status", {}, ()),
    "simulate_reversal": ("transactions", "id=transaction_id status", {}, ()),
    "simulate_refund": ("transactions", "id=request.transaction_id", {"status": "settled"}, ()),
    "update_dispute": ("disputes", "id=request.dispute_id", {}, ()),
}
"""Record that each operation creates or changes: its list, its values from the answer or request, further values
that are known, and the first actions to offer."""


DONE: Mapping[str, str] = {
    "create_user_application": "Application created", "review": "Application reviewed",
    "accept_terms": "Terms accepted",
    "update_user": "User edited", "update_ubo": "Owner edited",
    "create_payment_account": "Payment account added", "delete_payment_account": "Payment account deleted",
    "create_card": "Card issued", "activate_card": "Card activated", "lock_card": "Card locked",
    "unlock_card": "Card unlocked", "cancel_card": "Card canceled",
    "simulate_authorization": "Purchase {status}", "simulate_reversal": "Hold reversed", "settle": "Purchase settled",
    "simulate_refund": "Purchase refunded", "open_dispute": "Dispute opened", "update_dispute": "Dispute edited",
    "resolve_dispute": "Dispute decided", "resend": "Event redelivered", "sign_withdrawal": "Withdrawal checked",
    "list_rewards_activity": "Rewards read",
}  # fmt: skip
"""Text shown after each action."""


def done(do: str, answer: object = None) -> str:
    """Describe the result of an action, such as `Purchase declined`."""
    text = DONE.get(do) or f"{sentence(rendering.label(do))}: done"
    return text.format(status=rendering.label(str(getattr(answer, "status", None) or "sent")))


def of_tab(name: str, api: object) -> list[Offer]:
    """Return the actions of a list that need no open row."""
    return [offer for offer in OF_TABS.get(name, ()) if _available(offer, api)]


def prefilled(offer: Offer, api: Any) -> dict[str, Any]:
    """Return the initial values of a form in addition to the values of its row; empty for a real service."""
    sandbox = sandbox_of(api) if offer.fills and api.environment == "sandbox" else None
    if sandbox is None:
        return {}
    cards = sandbox.guide()["cards"].get(offer.card, ()) if offer.card else ()
    return {**offer.fills, **({"card_id": cards[0]} if cards else {})}


def of_row(name: str, facts: Mapping[str, Any], api: object) -> list[tuple[Offer, dict[str, Any]]]:
    """Return the actions for an opened row, with their arguments. Actions that need a missing value are omitted."""
    over = facts.get(_FINAL.get(name, "")) is not None
    return [] if over else _with_arguments(OF_ROWS.get(name, ()), facts, api)


def after_call(name: str, request: object, answer: object, api: object) -> list[tuple[Offer, dict[str, Any]]]:
    """Return the next steps after a call: the actions for the record that it created or changed, with arguments."""
    if name not in AFTER:
        return []
    of, takes, known, first = AFTER[name]
    facts: dict[str, Any] = dict(known)
    for fact, path in _takes(takes).items():
        holder, _, member = path.rpartition(".")
        facts[fact] = getattr(request if holder else answer, member, None)
    facts |= _now(of, facts["id"], api)
    noun = facts.get("kind") or of.removesuffix("s").rpartition(" ")[2]
    offered = [row for row in OF_ROWS[of] if not any(isinstance(asked, list) for asked in row.asks.values())]
    return _with_arguments((*first, *offered, Offer(of, f"Open {noun}", "id", opens=True)), facts, api)


def _with_arguments(
    offers: Iterable[Offer], facts: Mapping[str, Any], api: object
) -> list[tuple[Offer, dict[str, Any]]]:
    offered = [(offer, offer.arguments(facts)) for offer in offers if _available(offer, api)]
    return [
        (offer, given)
        for offer, given in offered
        if given is not None and not (offer.do == "open_dispute" and _disputed(given["transaction_id"], api))
    ]


def _now(of: str, key: str, api: object) -> dict[str, Any]:
    """Return the current status of a sandbox's user or transaction, by member; empty if no sandbox has the record."""
    sandbox, status = sandbox_of(api), "application_status" if of == "users" else "status"
    if sandbox is None or of not in ("users", "transactions"):
        return {}
    try:
        record = sandbox.state(key)
    except WorkbenchError:  # the record was removed meanwhile
        return {}
    refunded = of == "transactions" and 0 < record["settled"] <= record["refunded"]
    return {status: "refunded" if refunded else str(record["status"])}


def _disputed(key: object, api: object) -> bool:
    sandbox = sandbox_of(api)
    return sandbox is not None and any(record["transaction"] == key for record in sandbox.records("dispute"))


def _available(offer: Offer, api: Any) -> bool:
    if offer.opens or not (offer.control or OPERATIONS[offer.do].sandbox_only):
        return True
    return api.environment == "sandbox" and (sandbox_of(api) is not None or not offer.control)
