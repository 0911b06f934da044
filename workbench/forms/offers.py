"""The actions offered from a tab, an opened row or an answer: operations as forms, with the ids that are known."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import attrs

from workbench.interface.rules import EventApplicationStatus
from workbench.interface.table import OPERATIONS

_ANY: Mapping[str, Any] = MappingProxyType({})


@attrs.frozen
class Offer:
    """An operation, a control of the sandbox, or a thing to open, and the label of its button.

    Args:
        do: The operation or control, or the list that has the thing.
        takes: For each argument the column of the row, or the path in the answer or request ("request.id").
        only: For each column the values for which it is offered; an unknown value is allowed.
        extra: Further arguments of a control.
        asks: Further arguments of a control, each with its choices, or "money" or "text", which may be left empty.
    """

    do: str
    label: str
    takes: Mapping[str, str] = _ANY
    only: Mapping[str, frozenset[str]] = _ANY
    extra: Mapping[str, str] = _ANY
    asks: Mapping[str, tuple[str, ...] | str] = _ANY
    opens: bool = False

    @property
    def control(self) -> bool:
        """Whether it is a control that only a sandbox has."""
        return self.do not in OPERATIONS and not self.opens

    def arguments(self, facts: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the arguments for a row, or None if it is not offered."""
        given = {argument: facts.get(fact) for argument, fact in self.takes.items()}
        return given if self.fits(facts.get) and None not in given.values() else None

    def fits(self, value: Callable[[str], Any]) -> bool:
        """Return whether it is offered, given what returns the value of a column."""
        return all(value(fact) is None or str(value(fact)) in values for fact, values in self.only.items())


def _only(fact: str, *values: str) -> Mapping[str, frozenset[str]]:
    return {fact: frozenset(values)}


_ADD_ACCOUNT = "Add payment account"
_USER, _APPROVED = frozenset({"user"}), frozenset({"approved"})
_OPEN, _DECISIONS = ("pending", "inReview"), ("inReview", "accepted", "rejected")
_STATUSES = tuple(str(one) for one in EventApplicationStatus)
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
    "contracts": (Offer("sign_withdrawal", "Withdraw this token", {"chain_id": "chain_id", "token": "token"}),),
    "users": (
        Offer("update_user", "Edit user", {"user_id": "id"}, _only("kind", "user")),
        Offer("list_rewards_activity", "Show rewards", {"user_id": "id"}, _only("kind", "user")),
        Offer("create_payment_account", _ADD_ACCOUNT, {"user_id": "id"}, _only("kind", "user")),
        Offer("update_ubo", "Edit owner", {"company_id": "company_id", "ubo_id": "id"}, _only("kind", "owner")),
        Offer("accept_terms", "Accept terms", {"user_id": "id"}, _only("application_status", "tosNotAccepted")),
        Offer("review", "Review", {"user_or_owner_id": "id"}, asks={"status": _STATUSES}),
        Offer(
            "issue_card",
            "Issue card",
            {"user_id": "id"},
            {"kind": _USER, "application_status": _APPROVED},
            asks={"limit": "money"},
        ),
    ),
    "companies": (
        Offer("create_payment_account", _ADD_ACCOUNT, {"company_id": "id"}),
        Offer("review", "Review", {"user_or_owner_id": "id"}, asks={"status": _STATUSES}),
    ),
    "cards": (
        Offer("simulate_authorization", "Simulate purchase", {"card_id": "id"}, _only("status", "active")),
        Offer("activate_card", "Activate card", {"card_id": "id"}, _only("status", "notActivated")),
        Offer("lock_card", "Lock card", {"card_id": "id"}, _only("status", "active")),
        Offer("unlock_card", "Unlock card", {"card_id": "id"}, _only("status", "locked")),
        Offer("cancel_card", "Cancel card", {"card_id": "id"}, _only("status", "active", "locked", "notActivated")),
    ),
    "payment accounts": (Offer("delete_payment_account", "Delete account", {"payment_account_id": "id"}),),
    "disputes": (
        Offer("update_dispute", "Edit dispute", {"dispute_id": "id"}),
        Offer(
            "resolve_dispute",
            "Decide dispute",
            {"dispute_id": "id"},
            _only("status", *_OPEN),
            asks={"status": _DECISIONS},
        ),
    ),
    "transactions": (
        Offer("simulate_reversal", "Reverse", {"transaction_id": "id"}, _only("status", "authorized")),
        Offer("settle", "Settle", {"transaction_id": "id"}, _only("status", "authorized"), asks={"amount": "money"}),
        Offer("simulate_refund", "Refund", {"transaction_id": "id"}, _only("status", "settled")),
        Offer(
            "open_dispute",
            "Dispute",
            {"transaction_id": "id"},
            _only("status", "settled"),
            asks={"text_evidence": "text"},
        ),
    ),
    "events": (Offer("resend", "Redeliver", {"event_id": "id"}),),
    "deliveries": (Offer("resend", "Redeliver", {"event_id": "event_id"}),),
}
"""Offered for an opened row."""
_FINAL = {"payment accounts": "deleted"}  # tab → the column that, once it has a value, ends all actions


def _open(name: str, label: str, fact: str = "id") -> Offer:
    return Offer(name, label, {"id": fact}, opens=True)


_EDIT_USER = (
    Offer("update_user", "Edit user", {"user_id": "id"}),
    Offer("create_payment_account", _ADD_ACCOUNT, {"user_id": "id"}),
    _open("users", "Open user"),
)
_TRANSACTION = {"transaction_id": "transaction_id"}
_OPEN_TRANSACTION = _open("transactions", "Open transaction", "transaction_id")
AFTER: Mapping[str, tuple[Offer, ...]] = {
    "create_user_application": (
        Offer("review", "Approve in the sandbox", {"user_or_owner_id": "id"}, extra={"status": "approved"}),
        *_EDIT_USER,
    ),
    "update_user": _EDIT_USER,
    "update_ubo": (
        Offer("update_ubo", "Edit owner again", {"company_id": "request.company_id", "ubo_id": "request.ubo_id"}),
        _open("users", "Open owner", "request.ubo_id"),
    ),
    "create_payment_account": (
        Offer("delete_payment_account", "Delete account", {"payment_account_id": "id"}),
        _open("payment accounts", "Open account"),
    ),
    "simulate_authorization": (
        Offer("settle", "Settle", _TRANSACTION, _only("status", "authorized")),
        Offer("simulate_reversal", "Reverse", _TRANSACTION, _only("status", "authorized")),
        _OPEN_TRANSACTION,
    ),
    "simulate_reversal": (
        Offer("settle", "Settle the remaining amount", _TRANSACTION, _only("status", "authorized")),
        _OPEN_TRANSACTION,
    ),
    "settle": (Offer("simulate_refund", "Refund", _TRANSACTION),),
    "simulate_refund": (
        Offer("simulate_refund", "Refund more", {"transaction_id": "request.transaction_id"}),
        _open("transactions", "Open transaction", "request.transaction_id"),
    ),
    "update_dispute": (
        Offer("update_dispute", "Add evidence", {"dispute_id": "request.dispute_id"}),
        _open("disputes", "Open dispute", "request.dispute_id"),
    ),
}
"""Offered after a call."""


def of_tab(name: str, environment: str) -> tuple[Offer, ...]:
    """Return what a tab offers."""
    return tuple(one for one in OF_TABS.get(name, ()) if _available(one, environment))


def of_row(name: str, facts: Mapping[str, Any], environment: str) -> list[tuple[Offer, dict[str, Any]]]:
    """Return what an opened row of a tab offers, each with its arguments."""
    if facts.get(_FINAL.get(name, "")) is not None:
        return []
    found = [(one, one.arguments(facts)) for one in OF_ROWS.get(name, ()) if _available(one, environment)]
    return [(one, given) for one, given in found if given is not None]


def after_call(name: str, request: Any, answer: Any) -> list[tuple[Offer, dict[str, Any]]]:
    """Return the next steps after a call, each with its arguments; those with unknown arguments are omitted."""

    def value(path: str) -> Any:
        holder, _, member = path.rpartition(".")
        return getattr(request if holder else answer, member, None)

    offered = [one for one in AFTER.get(name, ()) if one.fits(value)]
    found = [(one, {argument: value(path) for argument, path in one.takes.items()}) for one in offered]
    return [(one, given) for one, given in found if None not in given.values()]


def _available(one: Offer, environment: str) -> bool:
    return environment == "sandbox" or not (one.control or OPERATIONS[one.do].sandbox_only)
