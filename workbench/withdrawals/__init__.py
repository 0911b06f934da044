"""What a withdrawal's signature allows: planned and checked, asked for once, said in plain words, carried to the wallet.

    plan = withdrawals.plan(api, contract, token=…, amount=cents("25.00"), admin=…, to=…)
    withdrawal = plan.sign()

Nothing here asks for, reads or keeps a private key.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.forms.countdown import countdown as countdown
    from workbench.withdrawals.admin import AdminMessage as AdminMessage
    from workbench.withdrawals.admin import AdminSignature as AdminSignature
    from workbench.withdrawals.amounts import Cents as Cents
    from workbench.withdrawals.amounts import Native as Native
    from workbench.withdrawals.amounts import native_units as native_units
    from workbench.withdrawals.amounts import usd as usd
    from workbench.withdrawals.calls import CallData as CallData
    from workbench.withdrawals.calls import Explanation as Explanation
    from workbench.withdrawals.calls import Transaction as Transaction
    from workbench.withdrawals.calls import explain as explain
    from workbench.withdrawals.planning import Plan as Plan
    from workbench.withdrawals.planning import plan as plan
    from workbench.withdrawals.secret import Revealed as Revealed
    from workbench.withdrawals.withdrawal import Withdrawal as Withdrawal

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
