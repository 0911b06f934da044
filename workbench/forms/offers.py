"""What one may do from a panel: for a tab and for an opened row, operations as forms, with the ids that are known."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import attrs

from workbench.interface.table import OPERATIONS

_ANY: Mapping[str, frozenset[str]] = MappingProxyType({})


@attrs.frozen
class Offer:
    """An operation, in the words of its button."""

    do: str
    says: str
    takes: Mapping[str, str] = _ANY  # type: ignore[assignment]  # argument → fact of the row
    only: Mapping[str, frozenset[str]] = _ANY  # fact → the values it is offered for; a fact that is not known fits

    def values(self, facts: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the arguments for a row, or None where it is not offered."""
        given = {argument: facts.get(fact) for argument, fact in self.takes.items()}
        fits = all(facts.get(fact) is None or str(facts[fact]) in values for fact, values in self.only.items())
        return given if fits and None not in given.values() else None


def _kind(*kinds: str) -> Mapping[str, frozenset[str]]:
    return {"kind": frozenset(kinds)}


def _status(*statuses: str) -> Mapping[str, frozenset[str]]:
    return {"status": frozenset(statuses)}


_ACCOUNT = "Add a payment account"
OF_TABS: Mapping[str, tuple[Offer, ...]] = {
    "users": (
        Offer("create_user_application", "File an application"),
        Offer("update_user", "Change a user by id"),
        Offer("update_ubo", "Change an owner by id"),
    ),
    "payment accounts": (
        Offer("create_payment_account", _ACCOUNT),
        Offer("delete_payment_account", "Delete an account by id"),
    ),
    "disputes": (Offer("update_dispute", "Change a dispute by id"),),
    "transactions": (
        Offer("simulate_authorization", "Simulate a purchase"),
        Offer("simulate_reversal", "Release a hold by id"),
        Offer("simulate_refund", "Refund by id"),
    ),
}
"""What is offered whatever is opened: the service lists little, so an id may be known that the panel does not know."""
OF_ROWS: Mapping[str, tuple[Offer, ...]] = {
    "contracts": (Offer("sign_withdrawal", "Withdraw this token", {"chain_id": "chain_id", "token": "token"}),),
    "users": (
        Offer("update_user", "Change the user", {"user_id": "id"}, _kind("user")),
        Offer("list_rewards_activity", "Read the rewards", {"user_id": "id"}, _kind("user")),
        Offer("create_payment_account", _ACCOUNT, {"user_id": "id"}, _kind("user")),
        Offer("create_payment_account", _ACCOUNT, {"company_id": "id"}, _kind("company")),
        Offer("update_ubo", "Change the owner", {"company_id": "company_id", "ubo_id": "id"}, _kind("owner")),
    ),
    "payment accounts": (Offer("delete_payment_account", "Delete the account", {"payment_account_id": "id"}),),
    "disputes": (Offer("update_dispute", "Change the dispute", {"dispute_id": "id"}),),
    "transactions": (
        Offer("simulate_reversal", "Release the hold", {"transaction_id": "id"}, _status("pending")),
        Offer("simulate_refund", "Refund it", {"transaction_id": "id"}, _status("completed")),
    ),
}
"""What is offered for an opened row."""
_OVER = {"payment accounts": "deleted"}  # tab → the fact after which nothing more is to be done with a row


def of_tab(name: str, environment: str) -> tuple[Offer, ...]:
    """Return what a tab offers."""
    return tuple(one for one in OF_TABS.get(name, ()) if _there(one, environment))


def of_row(name: str, facts: Mapping[str, Any], environment: str) -> list[tuple[Offer, dict[str, Any]]]:
    """Return what the opened row of a tab offers, each with its arguments."""
    if facts.get(_OVER.get(name, "")) is not None:
        return []
    found = [(one, one.values(facts)) for one in OF_ROWS.get(name, ()) if _there(one, environment)]
    return [(one, given) for one, given in found if given is not None]


def _there(one: Offer, environment: str) -> bool:
    return environment == "sandbox" or not OPERATIONS[one.do].sandbox_only
