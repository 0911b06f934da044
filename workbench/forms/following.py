"""What one may do after a call: the operations and controls that go on from its answer."""

from collections.abc import Mapping
from typing import Any

import attrs

from workbench.interface.table import OPERATIONS


@attrs.frozen
class Next:
    """A next step: an operation, or a control of the sandbox, with arguments from the answer or the request."""

    do: str
    says: str
    takes: Mapping[str, str]  # argument → attribute of the answer, or of the request after "request."

    @property
    def control(self) -> bool:
        """Whether only a sandbox has it."""
        return self.do not in OPERATIONS


_USER = (
    Next("review", "decide the review as the provider would", {"user_or_owner_id": "id"}),
    Next("update_user", "change the user", {"user_id": "id"}),
    Next("create_payment_account", "give the user a payment account", {"user_id": "id"}),
)
_SPEND = {"transaction_id": "transaction_id"}
AFTER: Mapping[str, tuple[Next, ...]] = {
    "create_user_application": _USER,
    "update_user": _USER[1:],
    "update_ubo": (
        Next("update_ubo", "file the owner again", {"company_id": "request.company_id", "ubo_id": "request.ubo_id"}),
    ),
    "create_payment_account": (
        Next("delete_payment_account", "delete the payment account", {"payment_account_id": "id"}),
    ),
    "simulate_authorization": (
        Next("simulate_reversal", "release the hold", _SPEND),
        Next("settle", "settle it as the network would", _SPEND),
    ),
    "simulate_reversal": (Next("settle", "settle what remains", _SPEND),),
    "simulate_refund": (Next("simulate_refund", "refund more of it", {"transaction_id": "request.transaction_id"}),),
    "update_dispute": (Next("update_dispute", "add evidence", {"dispute_id": "request.dispute_id"}),),
}


def steps(name: str, request: Any, answer: Any) -> list[tuple[Next, dict[str, Any]]]:
    """Return the next steps after a call, each with its arguments; those whose arguments are not known are left out."""
    found = []
    for one in AFTER.get(name, ()):
        given = {argument: _taken(path, request, answer) for argument, path in one.takes.items()}
        if None not in given.values():
            found.append((one, given))
    return found


def _taken(path: str, request: Any, answer: Any) -> Any:
    holder, _, name = path.rpartition(".")
    return getattr(request if holder else answer, name, None)
