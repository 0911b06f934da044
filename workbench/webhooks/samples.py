"""Signed sample events of every kind, to develop handlers with. All people in them are fictitious."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

import attrs

from workbench.interface import strict_json
from workbench.interface.convert import converter
from workbench.interface.events import EVENT_KINDS, Event, Spend
from workbench.interface.walk import build, members
from workbench.webhooks.reading import read_delivery
from workbench.webhooks.verify import sign

_TIME = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
_BODIES: Mapping[str, Mapping[str, Any]] = {
    "user": {
        "first_name": "Ada",
        "last_name": "Example",
        "email": "ada@example.com",
        "is_active": True,
        "is_terms_of_service_accepted": True,
        "application_status": "approved",
        "application_reason": "",
    },
    "microDeposit": {
        "amount": Decimal("0.32"),
        "currency": "usd",
        "rail": "ach",
        "description": "ACCTVERIFY",
        "originator_name": "Example Bank",
        "reference_id": "021000020000001",
        "received_at": _TIME,
    },
    "transaction": {
        "type": "spend",
        "spend": {
            "amount": 1250,
            "authorized_amount": 1250,
            "currency": "usd",
            "local_amount": 1250,
            "local_currency": "usd",
            "authorization_method": "Online",
            "merchant_name": "Example Books",
            "merchant_category": "Book stores",
            "merchant_category_code": "5942",
            "merchant_city": "Springfield",
            "merchant_country": "US",
            "card_type": "virtual",
            "user_first_name": "Ada",
            "user_last_name": "Example",
            "user_email": "ada@example.com",
            "status": "pending",
            "authorized_at": _TIME,
        },
    },
    "card": {
        "type": "virtual",
        "status": "active",
        "limit": {"amount": 100_000, "frequency": "perMonth"},
        "last4": "4242",
        "expiration_month": "12",
        "expiration_year": "2030",
    },
}
"""Sample bodies by resource. Ids are new in each sample."""


@attrs.frozen(kw_only=True)
class Sample:
    """A sample delivery: what to send, and the event it is read as."""

    headers: Mapping[str, str] = attrs.field(repr=False)
    body: bytes = attrs.field(repr=False)
    event: Event


def sample(
    kind: str,
    key: str | bytes | None = None,
    *,
    event_id: str | None = None,
    version: str | None = None,
    event_received_at: datetime | None = _TIME,
    **overrides: Any,
) -> Sample:
    """Return a sample delivery of a kind of event, signed if a key is given.

    Args:
        kind: Kind of event, as `user.updated`.
        key: Key to sign with.
        event_id: Id of the envelope; a new one each time by default.
        version: Version of the payload; as documented for the kind by default.
        event_received_at: Time of the event.
        overrides: Members of the body by attribute name, as `application_status="denied"`; nested ones as mappings.

    Raises:
        ValueError: The kind or a member does not exist.
    """
    row = EVENT_KINDS.get(kind)
    if row is None:
        raise ValueError(f"unknown kind of event {kind!r} (known: {', '.join(EVENT_KINDS)})")
    # assumed: version is 1.1.0 where statusChangeReason is present
    usual_version = "1.1.0" if overrides.get("status_change_reason") is not None else row.version
    event = build(
        Event,
        {
            "id": event_id or str(uuid4()),
            "resource": row.resource,
            "action": row.action,
            "version": version or usual_version,
            "event_received_at": event_received_at,
            "body": build(row.body, {**_with_ids(row.body, _BODIES[row.resource]), **overrides}),
        },
    )
    raw = strict_json.dumps(converter().unstructure(event))
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Signature"] = sign(raw, key)
    return Sample(headers=headers, body=raw, event=read_delivery(raw))


def _with_ids(cls: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with a new id for each id that the record has; the people in them belong to no company."""
    names = {one.name for one in members(cls)} - {"company_id", "reference_id"}
    ids = {name: str(uuid4()) for name in names if name == "id" or name.endswith("_id")}
    inner = {"spend": _with_ids(Spend, values["spend"])} if "spend" in values else {}
    return {**values, **ids, **inner}
