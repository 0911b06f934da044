"""Criteria that members alone cannot say, by the name that a task's file gives them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.course.evidence import PURCHASE, Call, Evidence, as_number, operator
from workbench.sandbox.internals import internals
from workbench.service.interface.transactions import MAX_OFFSET

Function = Callable[[Evidence, Mapping[str, Any]], Iterator[str]]
"""Criterion: yields what is missing, from the evidence and the names that a file can refer to."""
_REFUSED_SIGNATURE = (401, 403)


def all_rewards_read(seen: Evidence, names: Mapping[str, Any]) -> Iterator[str]:
    user = _long_user(names)
    pages = [call.arguments for call in seen.calls if call.operation == "list_rewards_activity" and call.status == 200]
    own = [page for page in pages if str(page.get("user_id", "")).lower() == user]
    for kind in ("earned", "redeemed"):
        spans = sorted(_span(page) for page in own if page.get("type") == kind)
        reached = 0
        for begin, end in spans:
            reached = max(reached, end) if begin <= reached else reached
        if not reached:
            near = "; pages of both types together end at the largest offset" if own else ""
            yield f"no page of {kind} items of the user whose activity goes beyond the largest offset{near}."
        elif _has_item(seen, user, kind, reached):
            yield f"the {kind} items were read up to number {reached:,}, and there are more."


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


def _span(page: Mapping[str, Any]) -> tuple[int, int]:
    begin = int(page.get("offset", 0))
    return begin, begin + int(page.get("limit", 20))


def _has_item(seen: Evidence, user: str, kind: Any, offset: int) -> bool:
    """Return whether a user has an item of a kind at an offset, counted from 0."""
    if not 0 <= offset <= MAX_OFFSET:
        return False
    return bool(seen.first.list_rewards_activity(user_id=user, type=kind, limit=1, offset=offset).items)


def forgery_refused(seen: Evidence, _: Mapping[str, Any]) -> Iterator[str]:
    attempts = [attempt for delivery in seen.sandbox.deliveries() for attempt in delivery.attempts]
    refused = [attempt for attempt in attempts if attempt.status in _REFUSED_SIGNATURE]
    if any(attempt.fault == "bad_signature" for attempt in refused):
        return
    rules = [rule for rule in seen.sandbox.list_faults() if rule.kind == "bad_signature"]
    if any(rule.applied for rule in rules):
        yield "a delivery with a wrong signature was made, but no inbox refused it: serve one that has keys."
    elif rules:
        yield "the fault rule is active, but no event was delivered since: cause one while the inbox is served."
    elif refused:
        yield "a delivery with a right signature was refused: does the inbox have the key of the sandbox?"
    else:
        yield "no delivery was refused for its signature, and no fault rule for wrong signatures is active."


def pending_twice(seen: Evidence, names: Mapping[str, Any]) -> Iterator[str]:
    token = names["contracts"][0]["tokens"][0]
    asked = [call for call in seen.calls if call.operation == "sign_withdrawal" and _tokens(call, token) == 11]
    waited = ["withdrawal_pending" in call.assumptions for call in asked]
    same = all(call.arguments == asked[-1].arguments for call in asked[-3:])
    if not asked:
        yield "no request for a signature over 11.00 USD of the first token."
    elif waited[-1]:
        yield "the service answered `pending`, and the request was not repeated until the signature was ready."
    elif waited[-3:] != [True, True, False] or not same:
        yield (
            f"the service answered `pending` {sum(waited)} of two times before it signed one and the same request. "
            "It returns the same signature until it expires: advance the clock by eleven minutes, set up two "
            "`pending` answers, and request it again."
        )


def _tokens(call: Call, token: Mapping[str, Any]) -> object:
    if str(call.arguments.get("token", "")).lower() != token["address"].lower():
        return None
    unit = 10 ** token["decimals"] if str(call.arguments.get("is_amount_native")).lower() == "true" else 100
    amount = as_number(call.arguments.get("amount"))
    return None if amount is None else amount / unit


def backlog_delivered(seen: Evidence, names: Mapping[str, Any]) -> Iterator[str]:
    done = {delivery.event_id for delivery in seen.sandbox.deliveries(state="delivered")}
    due = names["_due"]
    left = sum(event not in done for event in due)
    if left:
        yield f"{left} of {len(due)} events have not been delivered."


def endpoint_removed(seen: Evidence, names: Mapping[str, Any]) -> Iterator[str]:
    if any(endpoint.id == names["endpoint"] for endpoint in seen.sandbox.endpoints()):
        yield "the lost endpoint is still registered."


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
    function.__name__: function
    for function in (
        all_rewards_read,
        rewards_counted,
        forgery_refused,
        pending_twice,
        backlog_delivered,
        endpoint_removed,
        receiver_refuses_forgeries,
    )
}
"""Functions of the verb `function`."""
