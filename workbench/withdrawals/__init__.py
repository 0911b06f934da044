"""What a withdrawal's signature allows: planned and checked, asked for once, said in plain words, carried to the wallet.

    plan = withdrawals.plan(api, contract, token=…, amount=cents("25.00"), admin=…, to=…)
    withdrawal = plan.sign()

Nothing here asks for, reads or keeps a private key.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.withdrawals.admin import AdminMessage as AdminMessage
    from workbench.withdrawals.admin import AdminSignature as AdminSignature
    from workbench.withdrawals.amounts import Cents as Cents
    from workbench.withdrawals.amounts import Native as Native
    from workbench.withdrawals.amounts import cents as cents
    from workbench.withdrawals.amounts import native as native
    from workbench.withdrawals.calls import CallData as CallData
    from workbench.withdrawals.calls import Explanation as Explanation
    from workbench.withdrawals.calls import Transaction as Transaction
    from workbench.withdrawals.calls import explain as explain
    from workbench.withdrawals.planning import Plan as Plan
    from workbench.withdrawals.planning import plan as plan
    from workbench.withdrawals.secret import Revealed as Revealed
    from workbench.withdrawals.withdrawal import Withdrawal as Withdrawal

_HOMES = {
    "admin": ("AdminMessage", "AdminSignature"),
    "amounts": ("Cents", "Native", "cents", "native"),
    "calls": ("CallData", "Explanation", "Transaction", "explain"),
    "planning": ("Plan", "plan"),
    "secret": ("Revealed",),
    "withdrawal": ("Withdrawal",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOME))
