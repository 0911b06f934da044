"""Cards and their simulated transactions: holds, settlements, refunds, and the money at each step.

Of each card, at any time: available + held + posted - refunded = limit. A reversal never frees more than was authorized,
and refunds never exceed what settled.
"""

from typing import Any

from workbench.interface import table
from workbench.interface.rules import FULL, DeclineReason, Full
from workbench.interface.simulations import (
    SimulateAuthorization,
    SimulatedTransaction,
    SimulateRefund,
    SimulateReversal,
)
from workbench.sandbox.extensions import SettleTransaction
from workbench.sandbox.lifecycle import CARD, TRANSACTION, Table, Transition
from workbench.sandbox.turn import RequestContext

Record = dict[str, Any]
_HOLDER = ("id", "first_name", "last_name", "email")


def authorize(turn: RequestContext, asked: SimulateAuthorization) -> SimulatedTransaction:
    """Place a hold, or decline where a decline is asked for."""
    card = turn.mine("card", asked.card_id.lower(), "Card")
    if card["status"] != "active":  # assumed: card_not_active
        raise turn.refusal(table.CARD_NOT_ACTIVE, card=card["id"])
    if asked.currency not in turn.settings["currency"]:  # assumed: currency
        turn.assumed.append("currency")
        raise turn.wrong(f"currency must be one of {', '.join(turn.settings['currency'])}")
    reason = asked.decline_reason
    if reason is not None:
        turn.assumed.append("simulate_authorization.decline_reason")
    if reason is None and asked.amount > card["available"]:  # assumed: over_limit
        turn.assumed.append("over_limit")
        if turn.settings["over_limit"] != "authorized":
            reason = DeclineReason(turn.settings["over_limit"])
    step = TRANSACTION["", "authorize" if reason is None else "decline"]
    status = step.to
    spend: Record = {
        "id": turn.new_id("transaction"),
        "tenant": card["tenant"],
        "card": card["id"],
        "user": card["user"],
        "status": status,
        "authorized": asked.amount,
        "held": asked.amount if reason is None else 0,
        "settled": 0,
        "refunded": 0,
        "currency": asked.currency,
        "merchant_name": asked.merchant_name,
        "merchant_category_code": asked.merchant_category_code,
        "declined_reason": None if reason is None else str(reason),
        "authorized_at": turn.clock.at,
        "posted_at": None,
    }
    turn.store.put("transaction", spend["id"], spend)
    if reason is None:
        _move(turn, card, available=-asked.amount, held=asked.amount)
        by_clock = turn.store.get("meta", "settle_by_clock") or turn.settings.get("settle_by_clock")
        if by_clock is not None:  # assumed: settle_by_clock
            turn.later(by_clock, "settle", spend["id"])
    _tell(turn, spend, "transaction.requested", step.emits)
    return SimulatedTransaction(transaction_id=spend["id"], status=status or "", declined_reason=reason)


def reverse(turn: RequestContext, asked: SimulateReversal) -> SimulatedTransaction:
    """Release a hold, or a part of it."""
    spend = _spend(turn, asked.transaction_id)
    remains = 0 if asked.new_amount is FULL else asked.new_amount
    assert not isinstance(remains, Full)
    step = _step(turn, TRANSACTION, spend["status"], "reduce" if remains else "reverse", "transaction")
    freed = spend["held"] - remains
    if freed < 0:  # assumed: reversal_bounds
        raise turn.refusal(table.WRONG_STATE, reason=f"newAmount is above the {spend['held']} cents that are held")
    if remains:
        turn.assumed.append("partial_reversal")
        if not freed:
            return SimulatedTransaction(transaction_id=spend["id"], status=spend["status"])
    if not remains:
        turn.forget(f"settle:{spend['id']}")
    _move(turn, turn.store.get("card", spend["card"]), available=freed, held=-freed)
    spend = _change(turn, spend, status=step.to, held=remains)
    _tell(turn, spend, step.emits, change=-freed)
    if remains:
        return SimulatedTransaction(transaction_id=spend["id"], status=spend["status"])
    turn.assumed += ("full_reversal_status", "full_reversal_reason")
    return SimulatedTransaction(
        transaction_id=spend["id"],
        status=turn.settings["full_reversal_status"],
        completion_reason=turn.settings["full_reversal_reason"],
    )


def settle(turn: RequestContext, asked: SettleTransaction) -> SimulatedTransaction:
    """Post an authorization, wholly or in part; what is not posted is released."""
    spend = _spend(turn, asked.transaction_id)
    _amount_said(turn, asked.amount)
    step = _step(turn, TRANSACTION, spend["status"], "settle", "transaction")
    amount = spend["held"] if asked.amount is FULL else asked.amount
    assert not isinstance(amount, Full)
    if amount > spend["held"]:  # assumed: settle_bounds
        raise turn.refusal(table.WRONG_STATE, reason=f"amount is above the {spend['held']} cents that are held")
    turn.forget(f"settle:{spend['id']}")
    card = turn.store.get("card", spend["card"])
    _move(turn, card, available=spend["held"] - amount, held=-spend["held"], posted=amount)
    spend = _change(turn, spend, status=step.to, held=0, settled=amount, posted_at=turn.clock.at)
    _tell(turn, spend, step.emits)
    return _completed(turn, spend, "SETTLEMENT")


def refund(turn: RequestContext, asked: SimulateRefund) -> SimulatedTransaction:
    """Credit a settled transaction back, wholly or in part."""
    spend = _spend(turn, asked.transaction_id)
    _amount_said(turn, asked.amount)
    step = _step(turn, TRANSACTION, spend["status"], "refund", "transaction")
    left = spend["settled"] - spend["refunded"]
    amount = spend["settled"] if asked.amount is FULL else asked.amount  # "the full settlement amount is refunded"
    assert not isinstance(amount, Full)
    if amount > left:  # assumed: refund_bounds
        turn.assumed.append("refund_bounds")
        raise turn.refusal(table.WRONG_STATE, reason=f"amount is above the {left} cents left to refund")
    if amount:
        _move(turn, turn.store.get("card", spend["card"]), available=amount, refunded=amount)
        spend = _change(turn, spend, status=step.to, refunded=spend["refunded"] + amount)
        _tell(turn, spend, step.emits, refund=amount)
    return _completed(turn, spend, "REFUND")


def set_card(turn: RequestContext, card: Record, action: str) -> Record:
    """Activate, lock, unlock or cancel a card."""
    step = _step(turn, CARD, card["status"], action, "card")
    card = {**card, "status": step.to}
    turn.store.put("card", card["id"], card)
    assert step.emits is not None
    turn.emit(step.emits, card["tenant"], card=card)
    return card


def issue(turn: RequestContext, user: Record, limit: int) -> Record:
    """Return a user a new, active card."""
    card = {
        "id": turn.new_id("card"),
        "tenant": user["tenant"],
        "user": user["id"],
        "status": "active",
        "limit": limit,
        "available": limit,
        "held": 0,
        "posted": 0,
        "refunded": 0,
        "last4": f"{turn.store.count('card') % 10_000:04d}",
        "expiration_month": "12",
        "expiration_year": "2029",
    }
    turn.store.put("card", card["id"], card)
    turn.emit("card.updated", card["tenant"], card=card)
    return card


def _spend(turn: RequestContext, key: str) -> Record:
    found: Record = turn.mine("transaction", key.lower(), "Transaction")
    return found


def _step(turn: RequestContext, of: Table, status: str, action: str, what: str) -> Transition:
    found = of.get((status, action))
    if found is None:  # assumed: wrong_state
        raise turn.refusal(table.WRONG_STATE, reason=f"a {what} that is {status} cannot be {_DONE[action]}")
    return found


_DONE = {
    "reduce": "reversed",
    "reverse": "reversed",
    "settle": "settled",
    "refund": "refunded",
    "activate": "activated",
    "lock": "locked",
    "unlock": "unlocked",
    "cancel": "canceled",
}


def _amount_said(turn: RequestContext, amount: int | Full) -> None:
    if amount is FULL and turn.settings["refund_amount_omitted"] == "400":  # assumed: refund_amount_omitted
        turn.assumed.append("refund_amount_omitted")
        raise turn.wrong("body must have required property 'amount'")


def _move(turn: RequestContext, card: Record, **by: int) -> None:
    changed = dict(card)
    for name, amount in by.items():
        changed[name] += amount
    turn.store.put("card", changed["id"], changed)


def _change(turn: RequestContext, spend: Record, **to: Any) -> Record:
    changed = {**spend, **to}
    turn.store.put("transaction", changed["id"], changed)
    return changed


def _tell(turn: RequestContext, spend: Record, *kinds: str | None, **more: int) -> None:
    user = turn.store.get("user", spend["user"])
    holder = {name: user.get(name) for name in _HOLDER}
    for kind in kinds:
        assert kind is not None
        turn.emit(kind, spend["tenant"], spend=spend, user=holder, **more)


def _completed(turn: RequestContext, spend: Record, reason: str) -> SimulatedTransaction:
    # The casing is assumed: completion_reason_case
    shown = reason if turn.settings["completion_reason_case"] == "upper" else reason.lower()
    return SimulatedTransaction(transaction_id=spend["id"], status="settled", completion_reason=shown)
