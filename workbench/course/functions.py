"""Criteria that members alone cannot say, by the name that a task's file gives them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.course.evidence import PURCHASE, Evidence, as_number, operator
from workbench.sandbox.internals import internals
from workbench.service.interface.transactions import MAX_OFFSET

Function = Callable[[Evidence, Mapping[str, Any]], Iterator[str]]
"""Criterion: yields what is missing, from the evidence and the names that a file can refer to."""
_REFUSED_SIGNATURE = (401, 403)


def rewards_counted(seen: Evidence, names: Mapping[str, Any]) -> Iterator[str]:
    user = _long_user(names)
    for kind in ("earned", "redeemed"):
        number = as_number(names["answers"].get(kind))
        count = None if number is None or number != int(number) else int(number)
        if count is None or count < 1:
            yield f"the number of {kind} items is not answered yet."
        elif _has_item(seen, user, kind, count) or not _has_item(seen, user, kind, count - 1):
            yield f"{count} is not the number of {kind} items."


def _long_user(names: Mapping[str, Any]) -> str:
    return str(next(user["id"] for user in names["rewards_users"] if user["beyond_paging"]))


def _has_item(seen: Evidence, user: str, kind: Any, offset: int) -> bool:
    """Return whether a user has an item of a kind at an offset, counted from 0."""
    if not 0 <= offset <= MAX_OFFSET:
        return False
    return bool(seen.first.list_rewards_activity(user_id=user, type=kind, limit=1, offset=offset).items)


def receiver_refuses_forgeries(seen: Evidence, names: Mapping[str, Any]) -> Iterator[str]:
    """Make one more purchase, whose event is delivered with a wrong signature: a receiver that checks it refuses."""
    sandbox, endpoint = seen.sandbox, names["endpoint"]
    last = internals(sandbox).last_event()
    sandbox.add_fault("bad_signature", of="transaction.created", times=1)
    with operator(sandbox) as client:
        bought = client.simulate_authorization(
            card_id=names["cards"]["active"][5], amount=100, merchant_name="Example Coffee", **PURCHASE
        )
    seen.add_live(str(bought.transaction_id))
    sandbox.flush(timeout=5)
    attempts = [
        attempt
        for delivery in sandbox.deliveries()
        if delivery.endpoint == endpoint and delivery.sequence > last
        for attempt in delivery.attempts
        if attempt.fault == "bad_signature"
    ]
    if not attempts or attempts[-1].status is None:
        yield "the endpoint does not answer: keep the receiver running while you check."
    elif attempts[-1].status not in _REFUSED_SIGNATURE:
        yield "the receiver accepted a forged delivery."


FUNCTIONS: Mapping[str, Function] = {
    function.__name__: function for function in (rewards_counted, receiver_refuses_forgeries)
}
"""Functions of the verb `function`."""
