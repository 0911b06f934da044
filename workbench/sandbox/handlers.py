"""Who answers which operation: one function each."""

from collections.abc import Callable, Mapping
from typing import Any

from workbench.sandbox import accounts, cards, contracts, disputes, people, rewards
from workbench.sandbox.turn import RequestContext

Handler = Callable[[RequestContext, Any], Any]
"""Takes the turn and the request, checked; gives an answer's record, a list of them, bytes, or None for no body."""

HANDLERS: Mapping[str, Handler] = {
    "list_contracts": contracts.list_contracts,
    "sign_withdrawal": contracts.sign_withdrawal,
    "simulate_authorization": cards.authorize,
    "simulate_reversal": cards.reverse,
    "simulate_refund": cards.refund,
    "create_payment_account": accounts.create_payment_account,
    "delete_payment_account": accounts.delete_payment_account,
    "update_user": people.update_user,
    "update_ubo": people.update_ubo,
    "update_dispute": disputes.update_dispute,
    "create_user_application": people.create_user_application,
    "list_rewards_activity": rewards.list_rewards_activity,
    "settle": cards.settle,
    "list_payment_routes": accounts.list_payment_routes,
    "list_automations": accounts.list_automations,
}
