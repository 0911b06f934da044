"""Withdrawals: plan and check, request the signature once, and prepare what a wallet signs and sends.

    plan = withdrawals.plan(api, contract, token=…, amount=usd("25.00"), admin=…, to=…)
    withdrawal = plan.sign()

No function asks for, reads or stores a private key.
"""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.client.withdrawals.amounts import native_units as native_units
    from workbench.client.withdrawals.amounts import usd as usd
    from workbench.client.withdrawals.planning import plan as plan
    from workbench.client.withdrawals.wallet import explain as explain

_NAMES = {
    "explain": "workbench.client.withdrawals.wallet",
    "native_units": "workbench.client.withdrawals.amounts",
    "plan": "workbench.client.withdrawals.planning",
    "usd": "workbench.client.withdrawals.amounts",
}

if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
