"""Signed sample events of every kind, to develop handlers with. All people in them are fictitious."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

import attrs

from workbench.interface import strict_json
from workbench.interface.convert import converter
from workbench.interface.events import EVENT_KINDS, Event, EventKind
from workbench.interface.walk import (
    Array,
    Boolean,
    Choice,
    DateTime,
    DecimalNumber,
    Integer,
    Kind,
    Member,
    Nested,
    build,
    members,
)
from workbench.webhooks.reading import read_delivery
from workbench.webhooks.verify import sign

_TIME = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)

_VALUES: Mapping[str, Any] = {
    "first_name": "Ada",
    "last_name": "Example",
    "email": "ada@example.com",
    "user_first_name": "Ada",
    "user_last_name": "Example",
    "user_email": "ada@example.com",
    "is_active": True,
    "is_terms_of_service_accepted": True,
    "application_status": "approved",
    "application_reason": "",
    "url": "https://example.com/complete",
    "signature": "0" * 64,
    "amount": 1250,
    "authorized_amount": 1250,
    "local_amount": 1250,
    "currency": "usd",
    "local_currency": "usd",
    "merchant_name": "Example Books",
    "merchant_category": "Book stores",
    "merchant_category_code": "5942",
    "merchant_city": "Springfield",
    "merchant_country": "US",
    "authorization_method": "Online",
    "status": "pending",
    "type": "spend",
    "card_type": "virtual",
    "description": "ACCTVERIFY",
    "originator_name": "Example Bank",
    "reference_id": "021000020000001",
    "frequency": "perMonth",
    "last4": "4242",
    "expiration_month": "12",
    "expiration_year": "2030",
}
"""Sample values by member name; other members get a value by their kind."""

_LEFT_OUT = frozenset(
    {"company_id", "status_change_reason", "application_external_verification_link", "application_completion_link",
     "declined_reason", "posted_at", "authorization_update_amount"}
)  # fmt: skip
_OF_KIND: Mapping[str, Mapping[str, Any]] = {
    "microDeposit.received": {"amount": Decimal("0.32")},
    "card.updated": {"type": "virtual", "status": "active", "limit": {"amount": 100_000, "frequency": "perMonth"}},
}


@attrs.frozen(kw_only=True, repr=False)
class Sample:
    """A sample delivery: what to send, and the event it is read as."""

    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)
    event: Event

    def __repr__(self) -> str:
        return f"<sample of {self.event.kind}, {len(self.body)} bytes>"


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
    body = build(row.body, {**_example(row.body), **_OF_KIND.get(kind, {}), **overrides})
    event = build(
        Event,
        {
            "id": event_id or str(uuid4()),
            "resource": row.resource,
            "action": row.action,
            "version": version or _version(row, overrides),
            "event_received_at": event_received_at,
            "body": body,
        },
    )
    raw = strict_json.dumps(converter().unstructure(event))
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Signature"] = sign(raw, key)
    return Sample(headers=headers, body=raw, event=read_delivery(raw))


def _version(row: EventKind, overrides: Mapping[str, Any]) -> str:
    # assumed: version is 1.1.0 where statusChangeReason is present
    return "1.1.0" if overrides.get("status_change_reason") is not None else row.version


def _example(cls: type[Any]) -> dict[str, Any]:
    return {one.name: _value(one, one.kind) for one in members(cls) if one.name not in _LEFT_OUT}


def _value(one: Member, kind: Kind) -> Any:
    if isinstance(kind, Nested):
        return _example(kind.of)
    if one.name in _VALUES:
        return _VALUES[one.name]
    for known, value in _BY_KIND:
        if isinstance(kind, known):
            return next(iter(kind.of)) if isinstance(kind, Choice) else value
    return str(uuid4()) if one.name == "id" or one.name.endswith("_id") else one.name


_BY_KIND: tuple[tuple[type[Kind], Any], ...] = (
    (Choice, None), (DateTime, _TIME), (DecimalNumber, Decimal("1.00")), (Boolean, True), (Integer, 1), (Array, ()),
)  # fmt: skip
