"""The events of the sandbox: their wire form, made from what was stored when they happened, and how they print."""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Any

from workbench.interface import strict_json
from workbench.interface.events import (
    CardUpdated,
    Event,
    MicroDepositReceived,
    TransactionChanged,
    UserUpdated,
)
from workbench.interface.readers import write_time
from workbench.interface.walk import build
from workbench.sandbox.context import Environment, moment_of
from workbench.sandbox.extensions import rehearse
from workbench.sandbox.people import holder_of, links
from workbench.sandbox.results import ListedEvent
from workbench.sandbox.rewards import CATEGORIES, OTHER

Record = dict[str, Any]


class Delivered(bytes):
    """The body of a delivery; its repr shows the length only."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"


def wire_event(environment: Environment, kept: Record) -> Record:
    """Return an event as it is sent, in its envelope."""
    resource, _, action = kept["kind"].partition(".")
    event: Record = {
        "id": environment.seeds.uuid(f"event:{kept['sequence']}"),
        "resource": resource,
        "action": action,
        "version": environment.settings["event_version"]  # assumed: event_version
        or ("1.1.0" if kept.get("why") or _completion_reason(environment, kept) else "1.0.0"),
        "body": _BODIES[resource](environment, kept),
    }
    if kept["kind"] == "user.updated":  # "eventReceivedAt … (present on user.updated)"
        event["event_received_at"] = moment_of(kept["at"])
    made: Record = environment.converter.unstructure(build(Event, event))
    return {**made, "body": rehearse(environment.settings, made["body"])}


def listed(environment: Environment, kept: Record) -> ListedEvent:
    """Return an event as the sandbox lists it: the wire form, and what caused it."""
    return ListedEvent(
        {
            "sequence": kept["sequence"],
            "event": wire_event(environment, kept),
            "request_id": environment.seeds.uuid(f"request:{kept['request']}"),
            "cause": kept["cause"],
            "tenant": kept["tenant"],
            "at": write_time(moment_of(kept["at"])),
        }
    )


def signed(environment: Environment, kept: Record, keys: tuple[str, ...]) -> tuple[dict[str, str], bytes]:
    """Return the headers and the body of a delivery. assumed: event_signing"""
    body = Delivered(strict_json.dumps(wire_event(environment, kept)))
    headers = {"content-type": "application/json"}
    for name, key in zip(("signature", "secondary-signature"), keys, strict=False):
        headers[name] = hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
    return headers, body


def _user(environment: Environment, kept: Record) -> Any:
    one = kept["applicant"]
    return build(
        UserUpdated,
        {
            **{name: one.get(name) for name in ("id", "first_name", "last_name", "email", "company_id")},
            "is_active": one.get("is_active", True),
            "is_terms_of_service_accepted": one.get("terms", True)
            and one["status"] != "tosNotAccepted",  # assumed: user_event_terms
            "application_status": one["status"],
            "application_reason": one["reason"],
            "status_change_reason": kept["why"],
            **links(one, lambda page, key: environment.seeds.octets(f"link:{page}:{key}", 16).hex()),
        },
    )


def _transaction(environment: Environment, kept: Record) -> Any:
    kind = kept["kind"]
    spend = {**environment.store.get("transaction", kept["transaction"]), **kept["state"]}
    user = holder_of(environment.store, spend["user"], kept["names"])
    refund, change = kept.get("refund"), kept.get("change")
    status = {"authorized": "pending", "settled": "completed"}.get(spend["status"], spend["status"])
    amount = spend["settled"] if spend["status"] == "settled" else spend["held"]
    authorized = spend["held"]
    if spend["status"] in {"declined", "settled"}:  # assumed: event_authorized_amount
        reduced = environment.settings["event_authorized_amount"] == "reduced" and spend["status"] == "settled"
        authorized = spend["cleared"] if reduced else spend["authorized"]
    if kind == "transaction.requested" or status == "declined":
        amount = authorized = spend["authorized"]
    if kind == "transaction.requested":  # assumed: declined_events
        status = "pending"
    elif kind == "transaction.completed":
        status = "completed"
    elif change is not None:
        status = "reversed"  # assumed: reversal_events
    if refund:  # assumed: refund_events
        amount = -refund
    padded = environment.settings["merchant_padding"]
    return build(
        TransactionChanged,
        {
            "id": spend["id"],
            "type": "spend",
            "spend": {
                "amount": amount,
                "authorized_amount": authorized,
                "authorization_update_amount": change,
                "currency": "usd",
                "local_amount": amount,
                "local_currency": spend["currency"].lower(),
                "authorization_method": "online",  # assumed: event_merchant
                "merchant_name": spend["merchant_name"].ljust(25 if padded else 0),  # assumed: merchant_padding
                "merchant_category": CATEGORIES.get(spend["merchant_category_code"], OTHER).description,
                "merchant_category_code": spend["merchant_category_code"],
                "merchant_city": "Springfield".ljust(13 if padded else 0),
                "merchant_country": "US",
                "card_id": spend["card"],
                "card_type": "virtual",
                "user_id": user["id"],
                "user_first_name": user.get("first_name"),
                "user_last_name": user.get("last_name"),
                "user_email": user.get("email"),
                "status": status,
                "declined_reason": _words(spend["declined_reason"]) if kind != "transaction.requested" else None,
                "completion_reason": _completion_reason(environment, kept),
                "authorized_at": moment_of(spend["authorized_at"]),
                "posted_at": None if spend["posted_at"] is None else moment_of(spend["posted_at"]),
            },
        },
    )


def _completion_reason(environment: Environment, kept: Record) -> str | None:
    settings = environment.settings
    sent = settings["event_completion_reason"]  # assumed: event_completion_reason
    if kept["kind"] != "transaction.completed" or not sent:
        return None
    if kept["state"]["status"] != "settled":
        reversal: str | None = settings["full_reversal_reason"]
        return reversal
    reason = "REFUND" if kept.get("refund") else "SETTLEMENT"
    return reason if settings["completion_reason_case"] == "upper" else reason.lower()


def _words(reason: str | None) -> str | None:
    return None if reason is None else reason.replace("_", " ")  # assumed: event_declined_reason


def _card(environment: Environment, kept: Record) -> Any:
    card = kept["card"]
    same = {name: card[name] for name in ("id", "status", "last4", "expiration_month", "expiration_year")}
    limit = {"amount": card["limit"], "frequency": "allTime"}
    return build(CardUpdated, {**same, "user_id": card["user"], "type": "virtual", "limit": limit})


def _deposit(environment: Environment, kept: Record) -> Any:
    deposit = {name: value for name, value in kept["deposit"].items() if name != "tenant"}
    return build(MicroDepositReceived, {**deposit, "received_at": moment_of(deposit["received_at"])})


# assumed: transaction_events, card_events
_BODIES: Mapping[str, Callable[[Environment, Record], Any]] = {
    "user": _user,
    "transaction": _transaction,
    "card": _card,
    "microDeposit": _deposit,
}
