"""How a withdrawal looks: who, how much, from where, to where, until when, and what comes next."""

from typing import TYPE_CHECKING

from workbench.chains.families import Family
from workbench.interface.masks import DOTS
from workbench.rendering import moment
from workbench.rendering.layout import Cell, Sheet
from workbench.withdrawals.amounts import Native, readings
from workbench.withdrawals.sheets import grouped, sheet_of

if TYPE_CHECKING:
    from workbench.withdrawals.withdrawal import Withdrawal

_SERVICE_HALF = (
    "This is the service's half. Next: typed_data(nonce=…) gives the message an admin's own wallet signs, accept(…) checks "
    "what comes back, transaction(…) gives the call that anybody can then send."
)


def withdrawal_sheet(it: "Withdrawal") -> Sheet:
    """Put a withdrawal on a sheet; its signature is masked, and missing once it has expired."""
    plan = it.plan
    lives = it.answered and not it.expired
    return sheet_of(
        "withdrawal",
        {
            "amount": _amount(it),
            "token": plan.token.address,
            "from contract": plan.contract.proxy_address,
            "chain": str(plan.chain),
            "by admin": plan.admin,
            "to": (plan.recipient, grouped(plan.recipient)),
            "until": moment(it.expires_at) if it.expires_at else None,
            "time": it.countdown() if it.expires_at else None,
            "signature": Cell((DOTS,), "private") if lives else None,
        },
        status="expired" if it.answered and it.expired else it.status or None,
        words=(it.says,),
        notes=(
            *(f"Do not use it: {problem}." for problem in it.problems),
            *(f"Note: {one}." for one in it.notes),
            *_next(it),
        ),
    )


def _amount(it: "Withdrawal") -> str:
    plan = it.plan
    if not it.answered or isinstance(plan.amount, Native) or it.units is None:
        return plan.reading
    return f"{plan.amount}, which the service counts as {readings(it.units, plan.decimals, plan.rate)}"


def _next(it: "Withdrawal") -> tuple[str, ...]:
    if not it.ready:
        return ()
    if it.plan.chain.family is not Family.EVM:
        return ("Next: parameters() gives the arguments of the call, for the admin's own wallet to send.",)
    if it.plan.contract.contract_version == 1:
        return ("Next: transaction() gives the call, which the contract's owner sends from their own wallet.",)
    return (_SERVICE_HALF,)
