"""The actions offered from a tab, an opened row or an answer: operations as forms, with the ids that are known."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import attrs

from workbench.interface.rules import EventApplicationStatus
from workbench.interface.table import OPERATIONS

_ANY: Mapping[str, Any] = MappingProxyType({})


@attrs.frozen
class Offer:
    """An operation, or a control of the sandbox, and the label of its button.

    Args:
        takes: For each argument the column of the row, or the path in the answer or request ("request.id").
        only: For each column the values for which it is offered; an unknown value is allowed.
        extra: Further arguments of a control.
        asks: Further arguments of a control, each with its choices; without choices it is optional and typed.
    """

    do: str
    label: str
    takes: Mapping[str, str] = _ANY
    only: Mapping[str, frozenset[str]] = _ANY
    extra: Mapping[str, str] = _ANY
    asks: Mapping[str, tuple[str, ...]] = _ANY

    @property
    def control(self) -> bool:
        """Whether it is a control that only a sandbox has."""
        return self.do not in OPERATIONS

    def arguments(self, facts: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the arguments for a row, or None if it is not offered."""
        given = {argument: facts.get(fact) for argument, fact in self.takes.items()}
        fits = all(facts.get(fact) is None or str(facts[fact]) in values for fact, values in self.only.items())
        return given if fits and None not in given.values() else None


def _only(fact: str, *values: str) -> Mapping[str, frozenset[str]]:
    return {fact: frozenset(values)}


_ADD_ACCOUNT = "Add payment account"
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
        Offer("review", "Decide review", {"user_or_owner_id": "id"}, asks={"status": _STATUSES}),
    ),
    "companies": (
        Offer("create_payment_account", _ADD_ACCOUNT, {"company_id": "id"}),
        Offer("review", "Decide review", {"user_or_owner_id": "id"}, asks={"status": _STATUSES}),
    ),
    "cards": (
        Offer("simulate_authorization", "Simulate purchase", {"card_id": "id"}, _only("status", "active")),
        Offer("activate_card", "Activate card", {"card_id": "id"}, _only("status", "notActivated")),
        Offer("lock_card", "Lock card", {"card_id": "id"}, _only("status", "active")),
        Offer("unlock_card", "Unlock card", {"card_id": "id"}, _only("status", "locked")),
        Offer("cancel_card", "Cancel card", {"card_id": "id"}, _only("status", "active", "locked", "notActivated")),
    ),
    "payment accounts": (Offer("delete_payment_account", "Delete account", {"payment_account_id": "id"}),),
    "disputes": (Offer("update_dispute", "Edit dispute", {"dispute_id": "id"}),),
    "transactions": (
        Offer("simulate_reversal", "Reverse authorization", {"transaction_id": "id"}, _only("status", "authorized")),
        Offer("settle", "Settle", {"transaction_id": "id"}, _only("status", "authorized"), asks={"amount": ()}),
        Offer("simulate_refund", "Refund", {"transaction_id": "id"}, _only("status", "settled")),
    ),
    "events": (Offer("resend", "Redeliver", {"event_id": "id"}),),
    "deliveries": (Offer("resend", "Redeliver", {"event_id": "event_id"}),),
}
"""Offered for an opened row."""
_FINAL = {"payment accounts": "deleted"}  # tab → the column that, once it has a value, ends all actions

_EDIT_USER = (
    Offer("update_user", "edit user", {"user_id": "id"}),
    Offer("create_payment_account", "add payment account", {"user_id": "id"}),
)
_TRANSACTION = {"transaction_id": "transaction_id"}
AFTER: Mapping[str, tuple[Offer, ...]] = {
    "create_user_application": (
        Offer("review", "approve in the sandbox", {"user_or_owner_id": "id"}, extra={"status": "approved"}),
        *_EDIT_USER,
    ),
    "update_user": _EDIT_USER,
    "update_ubo": (
        Offer("update_ubo", "edit owner again", {"company_id": "request.company_id", "ubo_id": "request.ubo_id"}),
    ),
    "create_payment_account": (
        Offer("delete_payment_account", "delete payment account", {"payment_account_id": "id"}),
    ),
    "simulate_authorization": (
        Offer("simulate_reversal", "reverse authorization", _TRANSACTION),
        Offer("settle", "settle", _TRANSACTION),
    ),
    "simulate_reversal": (Offer("settle", "settle the remaining amount", _TRANSACTION),),
    "settle": (Offer("simulate_refund", "refund", _TRANSACTION),),
    "simulate_refund": (Offer("simulate_refund", "refund more", {"transaction_id": "request.transaction_id"}),),
    "update_dispute": (Offer("update_dispute", "add evidence", {"dispute_id": "request.dispute_id"}),),
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

    found = [(one, {argument: value(path) for argument, path in one.takes.items()}) for one in AFTER.get(name, ())]
    return [(one, given) for one, given in found if None not in given.values()]


def _available(one: Offer, environment: str) -> bool:
    return environment == "sandbox" or not (one.control or OPERATIONS[one.do].sandbox_only)
