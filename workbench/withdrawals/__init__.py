"""Withdrawals: plan and check, request the signature once, and prepare what a wallet signs and sends.

    plan = withdrawals.plan(api, contract, token=…, amount=usd("25.00"), admin=…, to=…)
    withdrawal = plan.sign()

Nothing here asks for, reads or stores a private key.
"""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.withdrawals.amounts import Cents as Cents
    from workbench.withdrawals.amounts import NativeUnits as NativeUnits
    from workbench.withdrawals.amounts import native_units as native_units
    from workbench.withdrawals.amounts import usd as usd
    from workbench.withdrawals.planning import Plan as Plan
    from workbench.withdrawals.planning import plan as plan
    from workbench.withdrawals.wallet import AdminMessage as AdminMessage
    from workbench.withdrawals.wallet import AdminSignature as AdminSignature
    from workbench.withdrawals.wallet import CallData as CallData
    from workbench.withdrawals.wallet import Explanation as Explanation
    from workbench.withdrawals.wallet import Revealed as Revealed
    from workbench.withdrawals.wallet import Transaction as Transaction
    from workbench.withdrawals.wallet import explain as explain
    from workbench.withdrawals.withdrawal import Withdrawal as Withdrawal

_NAMES = {
    "AdminMessage": "workbench.withdrawals.wallet",
    "AdminSignature": "workbench.withdrawals.wallet",
    "CallData": "workbench.withdrawals.wallet",
    "Cents": "workbench.withdrawals.amounts",
    "Explanation": "workbench.withdrawals.wallet",
    "NativeUnits": "workbench.withdrawals.amounts",
    "Plan": "workbench.withdrawals.planning",
    "Revealed": "workbench.withdrawals.wallet",
    "Transaction": "workbench.withdrawals.wallet",
    "Withdrawal": "workbench.withdrawals.withdrawal",
    "explain": "workbench.withdrawals.wallet",
    "native_units": "workbench.withdrawals.amounts",
    "plan": "workbench.withdrawals.planning",
    "usd": "workbench.withdrawals.amounts",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
