"""Cards with their simulated transactions and disputes, and the card's money after each hold, settlement and refund.

Invariant of each card: available + held + posted - refunded = limit (assumed: card_money). A reversal never releases
more than was authorized, and refunds never exceed what settled.
"""

from collections.abc import Mapping

from workbench.base.schema.rules import FULL, UUID, Full
from workbench.base.schema.walk import snake
from workbench.sandbox import rewards
from workbench.sandbox.context import RequestContext, refuse_empty
from workbench.sandbox.control_records import from_json
from workbench.sandbox.extensions import SettleTransaction
from workbench.sandbox.store import Record, Store
from workbench.service.interface import table
from workbench.service.interface.formats import TEXT_EVIDENCE
from workbench.service.interface.transactions import (
    Dispute,
    SimulateAuthorization,
    SimulatedTransaction,
    SimulateRefund,
    SimulateReversal,
    UpdateDispute,
)
from workbench.service.interface.transitions import CARD, DISPUTE, TRANSACTION, Table, Transition
from workbench.service.interface.vocabulary import DeclineReason

_CHANGING = ("status", "held", "settled", "cleared", "posted_at")
"""Members of a transaction that can change and that appear in its events."""


def authorize(context: RequestContext, request: SimulateAuthorization) -> SimulatedTransaction:
    """Authorize a transaction and place a hold, or decline it: on request, or because of the card's status or limit."""
    card = context.get_for_tenant("card", request.card_id)
    is_active = card["status"] == "active"
    if not is_active and context.settings["card_not_active"] != "declined":  # assumed: card_not_active, inactive_user
        raise context.error(table.CARD_NOT_ACTIVE, "card_not_active", card=card["id"])
    if request.currency not in context.settings["currency"]:
        raise context.bad_request(f"currency must be one of {', '.join(context.settings['currency'])}", "currency")
    reason = request.decline_reason
    if not is_active:
        context.assumed.append("card_not_active")
        reason = DeclineReason(f"card_{snake(card['status'])}")
    elif reason is not None:
        context.assumed.append("simulate_authorization.decline_reason")
    elif request.amount > card["available"]:
        context.assumed.append("over_limit")
        if context.settings["over_limit"] != "authorized":
            reason = DeclineReason(context.settings["over_limit"])
    step = TRANSACTION["", "authorize" if reason is None else "decline"]
    transaction = new_transaction(
        context.new_id("transaction"),
        card,
        at=context.clock.ms,
        status=step.to,
        authorized=request.amount,
        held=request.amount if reason is None else 0,
        currency=request.currency,
        merchant_name=request.merchant_name,
        merchant_category_code=request.merchant_category_code,
        declined_reason=None if reason is None else str(reason),
    )
    context.store.save("transaction", transaction)
    if reason is None:
        _move(context, transaction, available=-request.amount, held=request.amount)
        by_clock = context.settings.get("settle_by_clock")
        if by_clock is not None:  # assumed: settle_by_clock
            context.schedule(by_clock, "settle", transaction["id"])
    # assumed: transaction_events, declined_events
    requested = context.settings["transaction_events" if reason is None else "declined_events"]
    _emit(context, transaction, *(("transaction.requested",) if requested else ()), step.emits)
    return SimulatedTransaction(transaction_id=transaction["id"], status=transaction["status"], declined_reason=reason)


def new_transaction(key: str, card: Record, at: int, **members: object) -> Record:
    """Return the stored form of a card's new transaction."""
    nothing = {"settled": 0, "refunded": 0, "held": 0, "currency": "USD", "declined_reason": None, "posted_at": None}
    of = {"id": key, "tenant": card["tenant"], "card": card["id"], "user": card["user"], "authorized_at": at}
    return {**of, **nothing, **members}


def new_card(key: str, user: Record, number: int, limit: int, status: str = "active") -> Record:
    """Return the stored form of a new card."""
    of = {"id": key, "tenant": user["tenant"], "user": user["id"], "status": status, "last4": f"{number % 10_000:04d}"}
    money = {"limit": limit, "available": limit, "held": 0, "posted": 0, "refunded": 0}
    return {**of, **money, "expiration_month": "12", "expiration_year": "2029"}


def reverse(context: RequestContext, request: SimulateReversal) -> SimulatedTransaction:
    """Reverse an authorization in full or in part."""
    transaction = context.get_for_tenant("transaction", request.transaction_id)
    remains = 0 if request.new_amount is FULL else int(request.new_amount)
    step = _step(context, "transaction", transaction, "reduce" if remains else "reverse")
    freed = transaction["held"] - remains
    if freed < 0:
        reason = f"newAmount is above the {transaction['held']} cents that are held"
        raise context.error(table.WRONG_STATE, "reversal_bounds", reason=reason)
    if freed or not remains:
        _move(context, transaction, available=freed, held=-freed)
        transaction = context.store.save("transaction", transaction, status=step.to, held=remains)
        _emit(context, transaction, step.emits, change=-freed)  # assumed: reversal_events
    if remains:
        context.assumed.append("partial_reversal")
        return SimulatedTransaction(transaction_id=transaction["id"], status=context.settings["partial_reversal"])
    context.cancel(f"settle:{transaction['id']}")
    if context.settings["full_reversal_completed"]:  # assumed: full_reversal_completed
        _emit(context, {**transaction, "posted_at": context.clock.ms}, "transaction.completed")
    context.assumed += ("full_reversal_status", "full_reversal_reason")
    return SimulatedTransaction(
        transaction_id=transaction["id"],
        status=context.settings["full_reversal_status"],
        completion_reason=context.settings["full_reversal_reason"],
    )


def settle(context: RequestContext, request: SettleTransaction) -> SimulatedTransaction:
    """Settle an authorization in full or in part, and release the remaining hold."""
    transaction = context.get_for_tenant("transaction", request.transaction_id)
    _require_amount(context, request.amount)
    step = _step(context, "transaction", transaction, "settle")
    amount = transaction["held"] if request.amount is FULL else int(request.amount)
    if amount > transaction["held"] and context.settings["settle_bounds"] != "posted":
        reason = f"amount is above the {transaction['held']} cents that are held"
        raise context.error(table.WRONG_STATE, "settle_bounds", reason=reason)
    context.cancel(f"settle:{transaction['id']}")
    held = transaction["held"]
    _move(context, transaction, available=held - amount, held=-held, posted=amount)
    settled = {"held": 0, "cleared": held, "settled": amount, "posted_at": context.clock.ms}
    transaction = context.store.save("transaction", transaction, status=step.to, **settled)
    rewards.earn(context, transaction, 0, amount)
    _emit(context, transaction, step.emits)
    return _completed(context, transaction, "SETTLEMENT")


def refund(context: RequestContext, request: SimulateRefund) -> SimulatedTransaction:
    """Refund a settled transaction in full or in part."""
    transaction = context.get_for_tenant("transaction", request.transaction_id)
    _require_amount(context, request.amount)
    step = _step(context, "transaction", transaction, "refund")
    left = transaction["settled"] - transaction["refunded"]
    # "the full settlement amount is refunded"
    amount = transaction["settled"] if request.amount is FULL else int(request.amount)
    if amount > left:
        reason = f"amount is above the {left} cents left to refund"
        raise context.error(table.WRONG_STATE, "refund_bounds", reason=reason)
    if amount:
        _move(context, transaction, available=amount, refunded=amount)
        rewards.earn(context, transaction, left, left - amount)
        refunded = transaction["refunded"] + amount
        transaction = context.store.save("transaction", transaction, status=step.to, refunded=refunded)
        shown: Record = {"refund": amount}
        if context.settings["refund_event_id"] == "own":  # assumed: refund_event_id
            shown |= {"refund_id": context.new_id("transaction"), "refunded_at": context.clock.ms}
        # Refunds recorded from the service have both events. assumed: refund_event_created
        created = ("transaction.created",) if context.settings["refund_event_created"] else ()
        _emit(context, transaction, *created, step.emits, **shown)
    return _completed(context, transaction, "REFUND")


def set_card(context: RequestContext, card: Record, action: str) -> Record:
    """Activate, lock, unlock or cancel a card."""
    step = _step(context, "card", card, action)
    assert step.emits is not None
    card = context.store.save("card", card, status=step.to)
    context.emit(step.emits, card["tenant"], card=card)
    return card


def issue(context: RequestContext, user: Record, limit: int) -> Record:
    """Issue a new, active card to a user."""
    card = context.store.save("card", new_card(context.new_id("card"), user, context.store.count("card"), limit))
    context.emit("card.updated", card["tenant"], card=card)
    return card


def update_dispute(context: RequestContext, request: UpdateDispute) -> Dispute:
    """Cancel a dispute, add evidence, or both. assumed: dispute_both"""
    if UUID.fullmatch(request.dispute_id) is None:
        raise context.error("Dispute not found", "dispute_ids")
    dispute = context.get_for_tenant("dispute", request.dispute_id)
    if request.text_evidence is not None and request.status is not None:
        context.assumed.append("dispute_both")
        if context.settings["dispute_both"] != "accepted":
            raise context.bad_request("status and textEvidence cannot be given together", "dispute_both")
    refuse_empty(context, request.status is None and request.text_evidence is None)
    if request.text_evidence is not None:
        step = _step(context, "dispute", dispute, "add_evidence")
        # The document does not say that evidence is appended. assumed: evidence_appended
        context.assumed.append("evidence_appended")
        before = dispute["text_evidence"] if context.settings["evidence_appended"] == "appended" else None
        text = "\n".join(filter(None, (before, request.text_evidence)))
        if len(text) > (TEXT_EVIDENCE.max_length or 0):
            raise context.bad_request("textEvidence and the existing evidence are too long together", "evidence_total")
        dispute = {**dispute, "status": step.to, "text_evidence": text}
    if request.status is not None:
        step = _step(context, "dispute", dispute, "cancel")
        dispute = {**dispute, "status": step.to, "resolved_at": context.clock.ms}
    return shown_dispute(context.store.save("dispute", dispute))


def open_dispute(context: RequestContext, transaction: Record, text: str | None) -> Dispute:
    """Dispute a settled transaction. A dispute moves no money. assumed: dispute_money"""
    if transaction["status"] != "settled":
        reason = f"a transaction that is {transaction['status']} cannot be disputed"
        raise context.error(table.WRONG_STATE, reason=reason)
    if context.store.get("disputed", transaction["id"]) is not None:
        raise context.error(table.WRONG_STATE, reason="the transaction is already disputed")
    status = DISPUTE["", "open"].to or ""
    key, at = context.new_id("dispute"), context.clock.ms
    return shown_dispute(add_dispute(context.store, key, transaction, at, status, text=text))


def move_dispute(context: RequestContext, dispute: Record, action: str) -> Dispute:
    """Move a dispute by an action of the service: review, accept or reject."""
    status = _step(context, "dispute", dispute, action).to
    resolved = None if status == "inReview" else context.clock.ms
    return shown_dispute(context.store.save("dispute", dispute, status=status, resolved_at=resolved))


def shown_dispute(dispute: Record) -> Dispute:
    """Return a dispute as responses show it."""
    return from_json(Dispute, {**dispute, "transaction_id": dispute["transaction"]})


def add_dispute(
    store: Store,
    key: str,
    transaction: Record,
    at: int,
    status: str,
    resolved_at: int | None = None,
    text: str | None = None,
) -> Record:
    """Store a new dispute, and index it by its transaction."""
    of = {"id": key, "tenant": transaction["tenant"], "transaction": transaction["id"], "created_at": at}
    store.put("disputed", transaction["id"], key)
    return store.save("dispute", of, status=status, text_evidence=text, resolved_at=resolved_at)


def _step(context: RequestContext, what: str, record: Record, action: str) -> Transition:
    status = record["status"]
    transition = _TABLES[what].get((status, action))
    if transition is None:
        assumed = "wrong_state"
        if what == "dispute":
            assumed = "dispute_cancel_twice" if status == "canceled" else "disputes_closed"
        done = _DONE.get(action, f"{action.removesuffix('e')}ed")
        reason = f"the {what} is already {status}" if status == done else f"a {what} that is {status} cannot be {done}"
        raise context.error(table.WRONG_STATE, assumed, reason=reason)
    return transition


_TABLES: Mapping[str, Table] = {"transaction": TRANSACTION, "card": CARD, "dispute": DISPUTE}
_DONE = {"reduce": "reversed", "add_evidence": "given evidence"}
"""Past participles of actions, for error messages."""


def _require_amount(context: RequestContext, amount: int | Full) -> None:
    if amount is FULL and context.settings["refund_amount_omitted"] != "full":
        raise context.bad_request("body must have required property 'amount'", "refund_amount_omitted")


def _move(context: RequestContext, transaction: Record, **by: int) -> None:
    """Update the balances of a transaction's card."""
    card = context.store.get("card", transaction["card"])
    context.store.save("card", card, **{name: card[name] + cents for name, cents in by.items()})


def _emit(context: RequestContext, transaction: Record, *kinds: str | None, **more: object) -> None:
    names = context.store.get("user", transaction["user"]).get("names", 0)
    state = {name: transaction[name] for name in _CHANGING if name in transaction}
    for kind in kinds:
        assert kind is not None
        context.emit(kind, transaction["tenant"], transaction=transaction["id"], state=state, names=names, **more)


def _completed(context: RequestContext, transaction: Record, reason: str) -> SimulatedTransaction:
    # The document does not state the casing. assumed: completion_reason_case
    shown = reason if context.settings["completion_reason_case"] == "upper" else reason.lower()
    return SimulatedTransaction(transaction_id=transaction["id"], status="settled", completion_reason=shown)
