"""The wire form of the sandbox's events, made from what was kept when they happened."""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Any

from workbench.interface import strict_json
from workbench.interface.convert import write_moment
from workbench.interface.events import CardUpdated, Event, MicroDepositReceived, TransactionChanged, UserUpdated
from workbench.interface.walk import build
from workbench.sandbox.clock import moment_of
from workbench.sandbox.people import links
from workbench.sandbox.told import Delivered, envelope
from workbench.sandbox.turn import Environment

Record = dict[str, Any]
_MERCHANT_CATEGORIES = {"5411": "Grocery Stores", "5812": "Restaurants", "4511": "Airlines", "5541": "Service Stations"}


def wire_event(ground: Environment, sequence: int, kept: Record) -> Record:
    """Return an event as it is sent, in its envelope."""
    resource, _, action = kept["kind"].partition(".")
    event = {
        "id": ground.seeds.uuid(f"event:{sequence}"),
        "resource": resource,
        "action": action,
        # the version is assumed: event_version
        "version": "1.1.0" if kept.get("why") else "1.0.0",
    }
    if kept["kind"] == "user.updated":  # "eventReceivedAt … (present on user.updated)"
        event["event_received_at"] = moment_of(kept["at"])
    return ground.converter.write(build(Event, {**event, "body": _BODIES[resource](ground, kept)}))


def listed(ground: Environment, sequence: int, kept: Record) -> Record:
    """Return an event as the sandbox lists it: the wire form, and what caused it."""
    return {
        "sequence": sequence,
        "event": envelope(wire_event(ground, sequence, kept)),
        "request_id": ground.seeds.uuid(f"request:{kept['request']}"),
        "cause": kept["cause"],
        "tenant": kept["tenant"],
        "at": write_moment(moment_of(kept["at"])),
    }


def signed(ground: Environment, sequence: int, kept: Record, keys: tuple[str, ...]) -> tuple[dict[str, str], bytes]:
    """Return the headers and the body of a delivery. assumed: event_signing"""
    body = Delivered(strict_json.dumps(wire_event(ground, sequence, kept)))
    headers = {"content-type": "application/json"}
    for name, key in zip(("signature", "secondary-signature"), keys, strict=False):
        headers[name] = hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
    return headers, body


def _user(ground: Environment, kept: Record) -> Any:
    one = kept["applicant"]
    return build(
        UserUpdated,
        {
            **{name: one.get(name) for name in ("id", "first_name", "last_name", "email", "company_id")},
            "is_active": one.get("is_active", True),
            "is_terms_of_service_accepted": one.get("terms", True) and one["status"] != "tosNotAccepted",
            "application_status": one["status"],
            "application_reason": one["reason"],
            "status_change_reason": kept["why"],
            **links(one, lambda page, key: ground.seeds.octets(f"link:{page}:{key}", 16).hex()),
        },
    )


def _spend(ground: Environment, kept: Record) -> Any:
    spend, user, kind = kept["spend"], kept["user"], kept["kind"]
    refund = kept.get("refund")
    status = {"authorized": "pending", "settled": "completed"}.get(spend["status"], spend["status"])
    amount = spend["settled"] if spend["status"] == "settled" else spend["held"]
    if kind == "transaction.requested" or status == "declined":
        amount = spend["authorized"]
    held = {"authorized_amount": spend["authorized"] if spend["status"] in {"declined", "settled"} else spend["held"]}
    if kind == "transaction.requested":
        status, held = "pending", {"authorized_amount": spend["authorized"]}
    return build(
        TransactionChanged,
        {
            "id": spend["id"],
            "type": "spend",
            "spend": {
                "amount": -refund if refund else amount,
                **held,
                "authorization_update_amount": kept.get("change"),
                "currency": "usd",
                "local_amount": -refund if refund else amount,
                "local_currency": spend["currency"].lower(),
                "authorization_method": "online",
                "merchant_name": spend["merchant_name"],
                "merchant_category": _MERCHANT_CATEGORIES.get(spend["merchant_category_code"], "Other"),
                "merchant_category_code": spend["merchant_category_code"],
                "merchant_city": "Springfield",
                "merchant_country": "US",
                "card_id": spend["card"],
                "card_type": "virtual",
                "user_id": user["id"],
                "user_first_name": user.get("first_name"),
                "user_last_name": user.get("last_name"),
                "user_email": user.get("email"),
                "status": status,
                "declined_reason": _words(spend["declined_reason"]) if kind != "transaction.requested" else None,
                "authorized_at": moment_of(spend["authorized_at"]),
                "posted_at": None if spend["posted_at"] is None else moment_of(spend["posted_at"]),
            },
        },
    )


def _words(reason: str | None) -> str | None:
    return None if reason is None else reason.replace("_", " ").capitalize()


def _card(ground: Environment, kept: Record) -> Any:
    card = kept["card"]
    return build(
        CardUpdated,
        {
            "id": card["id"],
            "user_id": card["user"],
            "type": "virtual",
            "status": card["status"],
            "limit": {"amount": card["limit"], "frequency": "allTime"},
            "last4": card["last4"],
            "expiration_month": card["expiration_month"],
            "expiration_year": card["expiration_year"],
        },
    )


def _deposit(ground: Environment, kept: Record) -> Any:
    one = dict(kept["deposit"])
    del one["tenant"]
    return build(MicroDepositReceived, {**one, "received_at": moment_of(one["received_at"])})


_BODIES: Mapping[str, Callable[[Environment, Record], Any]] = {
    "user": _user,
    "transaction": _spend,
    "card": _card,
    "microDeposit": _deposit,
}
