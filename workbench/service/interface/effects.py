"""Metadata of operations with an effect: journal label, confirmation text, and the events that prove a call.

Each operation with an effect has one `Effect`. Labels and confirmations are made from the request record. Traces read
event bodies and the journal's masked data about a call.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Protocol

from workbench.base.errors import visible
from workbench.base.frozen import frozen
from workbench.base.schema import walk
from workbench.base.schema.rules import FULL
from workbench.service.interface.formats import minor_digits

Stored = Mapping[str, Any]
"""Masked request or answer of a call, by wire names, as the journal stores it."""
Key = tuple[object, ...]
"""Values that match an event to the call that caused it. Equal calls have equal keys."""
UNCLEAR: Key = ()
"""Key of a call whose events cannot be distinguished from the events of other calls."""


@frozen(kw_only=True)
class Confirmation:
    """What a person must type before an irreversible call in production (`types`), and its meaning (`says`)."""

    says: str
    types: str


class Records(Protocol):
    """Data about records, taken from events and from answered calls."""

    def bodies(self, record_id: str) -> list[Any]:
        """Return the bodies of the events about a record."""

    def request(self, record_id: str) -> Stored | None:
        """Return the request that created a record, or None if the journal does not contain it."""


@frozen(kw_only=True)
class Trace:
    """Events that only the calls of one operation cause.

    Attributes:
        kind: Kind of the events.
        of_call: Function that returns the key of a call's events, `UNCLEAR`, or None if the call causes no event.
        of_event: Function that returns the key of an event's body, or None if the event has another cause.
        record: Member of the answer with the id of the record that the events concern; None without such a member.
        identity: Function that returns private values of a request as the key. The journal stores only their keyed
            hash.
        also: Member of other operations' requests with the id of a record. Calls with this id may cause events with the
            same key.
        every: Whether each successful call causes an event.
    """

    kind: str
    of_event: Callable[[Any], Key | None]
    of_call: Callable[[Stored, Records], Key | None] = lambda request, records: UNCLEAR
    record: str | None = None
    identity: Callable[[Any], Key | None] | None = None
    also: str | None = None
    every: bool = True


@frozen(kw_only=True)
class Effect:
    """Metadata of an operation with an effect.

    Attributes:
        label: Function that returns a description of the call without private values.
        confirm: Function that returns the text to type before the call in production, or None if the call is
            reversible.
        next_step: Advice for an unknown outcome.
        evidence: Events that prove the call, or None if no event shows the call.
        repeats: Status and message of a refusal which suggests that an earlier, equal call was carried out.
    """

    label: Callable[[Any], str]
    confirm: Callable[[Any], Confirmation | None]
    next_step: str
    evidence: Trace | None
    repeats: tuple[int, str] | None = None

    def is_repeat(self, status: int | None, text: str | None) -> bool:
        """Return whether a refusal says that the effect already exists. Another call may have caused the effect."""
        return self.repeats is not None and status == self.repeats[0] and (text or "").endswith(self.repeats[1])


def reversible(request: object) -> None:
    """Return no confirmation text, because the call can be reversed or exists only in sandboxes."""


def _irreversible(says: str, record_id: str) -> Confirmation:
    return Confirmation(says=says.format(record_id), types=str(record_id)[-8:])


def _money(cents: object, currency: object = "USD") -> str:
    """Return an amount as text without its currency, or "an amount" if it is not a whole number of the minor unit."""
    return f"{Decimal(f'{cents}e-{minor_digits(str(currency))}'):,}" if type(cents) is int else "an amount"


def _changed(request: object, *ids: str) -> str:
    wires = {member.name: member.wire for member in walk.members(type(request))}
    return ", ".join(wires[name] for name in walk.given(request) if name not in ids) or "nothing"


# withdrawals


def _withdrawal_label(r: Any) -> str:
    unit = "native units" if r.is_amount_native else "cents"
    return f"GET withdrawal signature for {r.amount} {unit} of token {r.token} to {r.recipient_address}"


def _withdrawal_confirmation(r: Any) -> Confirmation:
    unit = "native units" if r.is_amount_native else "cents"
    says = f"{r.amount} {unit} to {r.recipient_address}"
    return Confirmation(says=says, types=f"{r.amount} {str(r.recipient_address)[-8:]}")


SIGN_WITHDRAWAL = Effect(
    label=_withdrawal_label,
    confirm=_withdrawal_confirmation,
    next_step=(
        "No call of the service shows whether a signature was issued, or whether a second signature voids the first. "
        "Treat the withdrawal as possibly authorized until the signature would have expired; then ask again once."
    ),
    evidence=None,
)

# simulations


def _purchase_label(r: Any) -> str:
    amount = _money(r.amount, r.currency)
    return f"POST authorization of {amount} {visible(str(r.currency), 8)} on card {r.card_id}"


def _text(value: object) -> str:
    return str(value or "").strip().lower()


def _purchase_of_call(request: Stored, records: Records) -> Key:
    place = (request.get("cardId"), _text(request.get("merchantName")), _text(request.get("merchantCategoryCode")))
    return (*place, _text(request.get("currency")), request.get("amount"))


def _purchase_of_event(body: Any) -> Key | None:
    spend = body.spend
    if spend is None or spend.local_amount is None or spend.local_amount < 0:
        return None
    place = (spend.card_id, _text(spend.merchant_name), _text(spend.merchant_category_code))
    return (*place, _text(spend.local_currency), spend.local_amount)


SIMULATE_AUTHORIZATION = Effect(
    label=_purchase_label,
    confirm=reversible,
    next_step=(
        "Look for a transaction event with this card, amount and merchant. Sending the call again may place a second "
        "hold."
    ),
    evidence=Trace(
        kind="transaction.created",
        of_call=_purchase_of_call,
        of_event=_purchase_of_event,
        record="transactionId",
    ),
)


def _reversal_label(r: Any) -> str:
    down = "in full" if r.new_amount is FULL else f"down to {_money(r.new_amount)}"
    return f"POST reversal of transaction {r.transaction_id} {down}"


def _reversal_of_call(request: Stored, records: Records) -> Key | None:
    transaction, remaining = request["transactionId"], request.get("newAmount", 0)
    spends = [body.spend for body in records.bodies(transaction) if body.spend is not None]
    # If the hold is at or below this amount, nothing changes, and the service sends no event.
    unchanged = any(spend.amount == remaining and not spend.authorization_update_amount for spend in spends)
    return None if remaining and unchanged else (transaction, remaining)


def _reversal_of_event(body: Any) -> Key | None:
    lowered = body.spend is not None and (body.spend.authorization_update_amount or 0) < 0
    return (body.id, body.spend.amount) if lowered else None


SIMULATE_REVERSAL = Effect(
    label=_reversal_label,
    confirm=reversible,
    next_step=(
        "Look for a transaction.updated event of this transaction. Sending a reversal with the same new amount again "
        "sets the same value; a full reversal may be refused the second time."
    ),
    evidence=Trace(kind="transaction.updated", of_call=_reversal_of_call, of_event=_reversal_of_event, every=False),
)


def _refund_label(r: Any) -> str:
    amount = "the full amount" if r.amount is FULL else _money(r.amount)
    return f"POST refund of {amount} on transaction {r.transaction_id}"


def _refund_of_call(request: Stored, records: Records) -> Key | None:
    """Return the card, merchant and amount of a refund, since the refund's events may have a separate id."""
    amount, transaction = request.get("amount"), request["transactionId"]
    if amount == 0:
        return None
    created = records.request(transaction)
    bodies = records.bodies(transaction)
    purchases = [_purchase_of_call(created, records)] if created else [*filter(None, map(_purchase_of_event, bodies))]
    if amount is None:  # a full refund returns the settled amount
        settled = {spend.amount for spend in (body.spend for body in bodies) if spend and spend.status == "completed"}
        amounts = [cents for cents in settled if cents and cents > 0]
        amount = amounts[0] if len(amounts) == 1 else None
    if not purchases or amount is None:
        return UNCLEAR
    return (*purchases[0][:3], amount)


def _refund_of_event(body: Any) -> Key | None:
    spend = body.spend
    if spend is None or spend.amount is None or spend.amount >= 0:
        return None
    place = (spend.card_id, _text(spend.merchant_name), _text(spend.merchant_category_code))
    return (*place, -spend.amount)


SIMULATE_REFUND = Effect(
    label=_refund_label,
    confirm=reversible,
    next_step=(
        "Look for a transaction.completed event with a negative amount, of this transaction or, if refunds have "
        "separate ids, of its card. Sending the call again may credit the cardholder twice."
    ),
    evidence=Trace(kind="transaction.completed", of_call=_refund_of_call, of_event=_refund_of_event),
)

# payment accounts


def _account_label(r: Any) -> str:
    named = f" {visible(str(r.nickname), 64)!r}" if r.nickname else ""
    return f"POST payment account{named} for {f'user {r.user_id}' if r.user_id else f'company {r.company_id}'}"


CREATE_PAYMENT_ACCOUNT = Effect(
    label=_account_label,
    confirm=reversible,
    next_step=(
        "The service lists no payment accounts. Look for the nickname in its dashboard, or among the payment accounts "
        "of a sandbox. Sending the call again may create a duplicate."
    ),
    evidence=None,
)


def _deletion_confirmation(r: Any) -> Confirmation:
    return _irreversible("payment account {} is permanently deleted", r.payment_account_id)


DELETE_PAYMENT_ACCOUNT = Effect(
    label=lambda r: f"DELETE payment account {r.payment_account_id}",
    confirm=_deletion_confirmation,
    next_step=(
        "If you are sure of the id, send the call again: a 404 means that the account is deleted, probably by "
        "this call."
    ),
    evidence=None,
    repeats=(404, "Payment account not found"),
)

# people


def _user_confirmation(r: Any) -> Confirmation | None:
    wallets = [address for address in (r.wallet_address, r.solana_address, r.stellar_address) if address]
    if r.is_active is False:
        return _irreversible("user {} is deactivated", r.user_id)
    if wallets:
        return _irreversible(f"user {{}} gets the wallet {', '.join(map(visible, wallets))}", r.user_id)
    return None


UPDATE_USER = Effect(
    label=lambda r: f"PATCH user {r.user_id} ({_changed(r, 'user_id')})",
    confirm=_user_confirmation,
    next_step=(
        "Sending the call again sets the same values, overwrites later changes, and shows the user. If the call "
        "changes the wallet, the email or isActive, look at the user first."
    ),
    evidence=None,
)
UPDATE_UBO = Effect(
    label=lambda r: f"PATCH owner {r.ubo_id} of company {r.company_id} ({_changed(r, 'ubo_id', 'company_id')})",
    confirm=reversible,
    next_step="Look for the company's status or its events. Sending the call again may start a second review.",
    evidence=None,
)


def _application_label(r: Any) -> str:
    named = f" with external id {visible(str(r.external_id), 64)!r}" if r.external_id else ""
    return f"POST consumer application{named}"


def _person_of_request(r: Any) -> Key | None:
    """Return the person of a new application; None if the user already exists, or if a name or the email is missing."""
    person = (r.email, r.first_name, r.last_name)
    return None if r.id is not None or not all(person) else tuple(map(_text, person))


def _person_of_event(body: Any) -> Key | None:
    is_owner = body.company_id is not None
    return None if is_owner else tuple(map(_text, (body.email, body.first_name, body.last_name)))


CREATE_USER_APPLICATION = Effect(
    label=_application_label,
    confirm=reversible,
    next_step=(
        "Look for a user.updated event with this email and name. With an external id the call may be sent again once: "
        "a conflict then means that the user probably exists."
    ),
    evidence=Trace(
        kind="user.updated",
        identity=_person_of_request,
        of_event=_person_of_event,
        record="id",
        also="userId",
    ),
    repeats=(409, "External id already in use"),
)

# disputes


def _dispute_label(r: Any) -> str:
    parts = (["cancel"] if r.status else []) + (["text evidence"] if r.text_evidence is not None else [])
    return f"PATCH dispute {r.dispute_id} ({' and '.join(parts) or 'nothing'})"


def _dispute_confirmation(r: Any) -> Confirmation | None:
    return _irreversible("dispute {} is canceled, which cannot be undone", r.dispute_id) if r.status else None


UPDATE_DISPUTE = Effect(
    label=_dispute_label,
    confirm=_dispute_confirmation,
    next_step=(
        "A cancellation may be sent again; text evidence would be added twice. Look at the dispute first, in the "
        "dashboard or with the sandbox's control."
    ),
    evidence=None,
)
