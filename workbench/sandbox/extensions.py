"""What the sandbox serves beyond the twelve operations, each assumed: settling by a call, and the lists of routes."""

from collections.abc import Mapping
from typing import Any

from workbench.interface import table
from workbench.interface.fields import LIVE, Answer, Reason, about, record
from workbench.interface.operation import Operation
from workbench.interface.rules import CENTS, ID, Full
from workbench.interface.simulations import SimulatedTransaction

SETTLE_REASON = Reason(
    "the document has no call that settles, and refunds need one; public clients call this one", LIVE
)
ROUTES_REASON = Reason("the endpoints for payment routes are not shown")


@record
class SettleTransaction:
    """Settle an authorization. Assumed throughout."""

    transaction_id: str = about("Transaction to settle", ID)
    amount: int | Full = about("Amount that settles; FULL settles all that is held", CENTS, minimum=1)


@record
class ListPaymentRoutes:
    """Ask for the payment routes. Assumed throughout."""


@record
class PaymentRoute(Answer):
    """A payment route; nothing of it is served."""


_ALL: tuple[Operation[..., Any], ...] = (
    Operation(
        name="settle",
        doc="Settle an authorization.",
        method="POST",
        path="/simulate/transactions/{transactionId}/settle",
        takes=SettleTransaction,
        returns=SimulatedTransaction,
        effect=True,
        sandbox_only=True,
        failures=table.SIMULATE_REFUND.failures,
        source="assumed",
        assumed=SETTLE_REASON,
    ),
    *(
        Operation(
            name=name,
            doc="List payment routes: an empty list.",
            method="GET",
            path=path,
            takes=ListPaymentRoutes,
            returns=list[PaymentRoute],
            effect=False,
            failures=(table.UNAUTHORIZED,),
            source="Versioning",
            assumed=ROUTES_REASON,
        )
        for name, path in (("list_payment_routes", "/payment-routes"), ("list_automations", "/automations"))
    ),
)

ROWS: Mapping[str, Operation[..., Any]] = {row.name: row for row in _ALL}

ASSUMED: Mapping[str, str] = {
    "settle": "settle_route",
    "list_payment_routes": "payment_routes",
    "list_automations": "payment_routes",
}
"""Their ids among the assumptions."""
