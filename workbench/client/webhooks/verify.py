"""Verify, parse and match deliveries, and create signed samples. Unknown members of an event are preserved.

Signing is undocumented. Assumed: the header `Signature` is the HMAC-SHA256 of the raw body in hex, case-insensitive.
During a rotation, `Secondary-Signature` is the HMAC with the other key.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any, Generic, TypeVar, overload
from uuid import uuid4

import attrs

from workbench.base.errors import InvalidWebhook, Problem, UsageError, not_allowed, unknown_name
from workbench.base.frozen import frozen
from workbench.base.keys import Key
from workbench.base.schema import strict_json
from workbench.base.schema.walk import build, change, get_path, given, is_record, members
from workbench.base.system.messages import HeaderDict
from workbench.service.interface.convert import Unreadable, converter
from workbench.service.interface.events import (
    EVENT_KINDS,
    MINIMUM_DEPOSIT,
    AnyEvent,
    CardEvent,
    CardKind,
    DepositEvent,
    DepositKind,
    Event,
    MicroDepositReceived,
    TransactionEvent,
    TransactionKind,
    UserEvent,
    UserKind,
    UserUpdated,
)
from workbench.service.interface.examples import TIME, event_body

SIGNATURE = "signature"
SECONDARY = "secondary-signature"

Headers = Mapping[str, str] | Mapping[bytes, bytes] | Iterable[tuple[str, str]] | Iterable[tuple[bytes, bytes]]

Scheme = Callable[[Mapping[str, str], bytes, Sequence[bytes]], bool | None]
"""Function of headers (lower-case names), raw body and keys. True: valid signature, False: invalid, None: unsigned."""


class SignatureRefused(InvalidWebhook):
    """The signature is missing or invalid. The message is the same for all reasons."""

    def __init__(self) -> None:
        super().__init__("Missing or wrong signature.")


def sign(body: bytes, key: str | bytes | Key) -> str:
    """Return the signature of a raw body, which is its HMAC-SHA256 in hex."""
    return hmac.new(Key.of(key, "keys").header(), body, hashlib.sha256).hexdigest()


def hmac_signature(headers: Mapping[str, str], body: bytes, keys: Sequence[bytes]) -> bool | None:
    """Return whether a signature header matches a key, compared in constant time; None without such a header."""
    signatures = [headers[name] for name in (SIGNATURE, SECONDARY) if name in headers]
    if not signatures:
        return None
    expected = [sign(body, key).encode() for key in keys]
    # `lower` of bytes changes only ASCII letters
    read = [signature.encode("utf-8", "replace").lower() for signature in signatures]
    same = [hmac.compare_digest(right, signature) for right in expected for signature in read]
    return any(same)


def lower_headers(headers: Headers) -> dict[str, str]:
    """Return headers by lower-case name. Repeated headers are joined, so a repeated signature is invalid."""
    # the headers of http.server, an email.message.Message, have items() but are not a Mapping
    pairs: Any = headers.items() if hasattr(headers, "items") else headers
    lowered: dict[str, str] = {}
    for name, value in pairs:
        key = (name.decode("latin-1") if isinstance(name, bytes) else str(name)).lower()
        text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
        lowered[key] = f"{lowered[key]}, {text}" if key in lowered else text
    return lowered


MAX_BODY = 2**20

Where = Callable[[Any], Any] | Mapping[str, Any]
"""Condition on an event: a function, or values by dotted attribute path of the event or its body."""


class TooLarge(InvalidWebhook):
    """The body is larger than the limit, so it was not parsed."""


def read_delivery(body: bytes, max_body: int = MAX_BODY) -> AnyEvent:
    """Parse raw bytes as an event in its envelope. A text that was truncated inside a character is repaired and marked.

    Raises:
        InvalidWebhook: The body is too large, is nested too deeply, is invalid or ambiguous JSON, or lacks id,
            resource or action.
    """
    if len(body) > max_body:
        raise TooLarge(f"The body has {len(body):,} bytes; the limit is {max_body:,}.")
    try:
        raw = strict_json.loads(body, repair=True)
    except strict_json.NotJson as error:
        raise InvalidWebhook(f"Invalid or ambiguous JSON: {error}.") from None
    if not isinstance(raw, Mapping):
        raise InvalidWebhook("The delivery is not a JSON object.")
    for name in ("id", "resource", "action"):
        if not isinstance(raw.get(name), str) or not raw[name]:
            raise InvalidWebhook(f"The delivery has no `{name}`.")
    if raw.get("body") is not None and not isinstance(raw["body"], Mapping | list):
        raise InvalidWebhook("`body` is not a JSON object.")
    try:
        event = converter().structure(raw, Event)
    except Unreadable as error:  # members of an unexpected type are moved to `extra`, so that the event is not lost
        unreadable = {problem.path for problem in error.problems}
        event = converter().structure({name: value for name, value in raw.items() if name not in unreadable}, Event)
        event.extra.update({name: raw[name] for name in raw if name in unreadable})
    deposit = event.body.amount if isinstance(event.body, MicroDepositReceived) else None
    if isinstance(deposit, Decimal) and not 0 < deposit < MINIMUM_DEPOSIT:  # Source: Limits
        problem = Problem("body.amount", "range", f"is not between 0 and {MINIMUM_DEPOSIT} USD")
        object.__setattr__(event, "marks", (*event.marks, problem))
    return event


def state_digest(event: Event) -> bytes:
    """Return a digest of an event's state: the body without links, which differ in every event."""
    body = converter().unstructure(event.body)
    if isinstance(body, Mapping):
        body = {name: value for name, value in body.items() if not str(name).endswith("Link")}
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=str).encode()).digest()


def check_kind(kind: str | None, of: str) -> None:
    """Raise UsageError for a kind or pattern that no documented event has; `*` matches undocumented kinds too."""
    if kind is not None and not any(fnmatchcase(known, str(kind)) for known in EVENT_KINDS):
        raise UsageError([not_allowed("kind", kind, (*EVENT_KINDS, "a pattern such as card.*"))], of=of)


def matches(event: Event, kind: str | None, where: Where | None) -> bool:
    """Return whether an event has a kind and meets a condition."""
    if kind is not None and not fnmatchcase(event.kind, kind):
        return False
    if where is None or not isinstance(where, Mapping):
        return where is None or bool(where(event))
    return all(_meets(event, path, wanted) for path, wanted in where.items())


def _meets(event: Event, path: str, wanted: object) -> bool:
    values = [value for value in (get_path(event, path), get_path(event.body, path)) if value is not None]
    if wanted is None:
        return not values
    return any(wanted(value) if callable(wanted) else value == wanted for value in values)


def describe_mismatch(events: Sequence[Event], kind: str | None, where: Where | None) -> str:
    """Describe the events that did not match: their number, and the conditions that none meets, without any values."""
    of_kind = [event for event in events if matches(event, kind, None)]
    if not of_kind:
        kinds = sorted({event.kind for event in events})
        return f"{len(events)} events stored" + (f" ({', '.join(kinds[:8])})." if kinds else ".")
    conditions = where.items() if isinstance(where, Mapping) else ()
    unmet = [path for path, wanted in conditions if not any(_meets(event, path, wanted) for event in of_kind)]
    return f"{len(of_kind)} of that kind stored, none of which matches" + (
        f"; none has the expected {', '.join(unmet)}." if unmet else "."
    )


E = TypeVar("E", bound=AnyEvent, covariant=True)


@frozen(kw_only=True)
class Sample(Generic[E]):
    """A sample delivery: headers and body to send, and the parsed event."""

    headers: Mapping[str, str] = attrs.field(repr=False)
    body: bytes = attrs.field(repr=False)
    event: E


@overload
def sample(
    kind: UserKind,
    key: str | bytes | None = None,
    *,
    event_id: str | None = None,
    version: str | None = None,
    event_received_at: datetime | None = TIME,
    **overrides: object,
) -> Sample[UserEvent]: ...
@overload
def sample(
    kind: DepositKind,
    key: str | bytes | None = None,
    *,
    event_id: str | None = None,
    version: str | None = None,
    event_received_at: datetime | None = TIME,
    **overrides: object,
) -> Sample[DepositEvent]: ...
@overload
def sample(
    kind: TransactionKind,
    key: str | bytes | None = None,
    *,
    event_id: str | None = None,
    version: str | None = None,
    event_received_at: datetime | None = TIME,
    **overrides: object,
) -> Sample[TransactionEvent]: ...
@overload
def sample(
    kind: CardKind,
    key: str | bytes | None = None,
    *,
    event_id: str | None = None,
    version: str | None = None,
    event_received_at: datetime | None = TIME,
    **overrides: object,
) -> Sample[CardEvent]: ...
def sample(
    kind: str,
    key: str | bytes | None = None,
    *,
    event_id: str | None = None,
    version: str | None = None,
    event_received_at: datetime | None = TIME,
    **overrides: object,
) -> Sample[Any]:
    """Return a sample delivery of an event kind, signed if a key is passed.

    Args:
        kind: Kind of event, such as `user.updated`.
        key: Key to sign with.
        event_id: Id of the envelope (default: a new id for each sample).
        version: Version of the payload (default: the documented version).
        event_received_at: Time of the event (default: as in the examples, if the kind has a time).
        overrides: Members of the body by attribute name, such as `application_status="denied"`; mappings for records.

    Raises:
        UsageError: The kind or a member does not exist.
    """
    row = EVENT_KINDS.get(kind)
    if row is None:
        raise UsageError([not_allowed("kind", kind, EVENT_KINDS)], of="events.sample")
    names = [member.name for member in members(row.body)]
    if unknown := [unknown_name(name, names, f"a member of {kind}") for name in overrides if name not in names]:
        raise UsageError(unknown, of="events.sample")
    for name, text in (("key", key), ("event_id", event_id), ("version", version)):
        if isinstance(text, str) and not text.isascii():
            problem = Problem(name, "text", "must be ASCII")
            raise UsageError([problem], of="events.sample")
    # assumed: version is 1.1.0 where statusChangeReason is present
    usual_version = "1.1.0" if overrides.get("status_change_reason") is not None else row.version
    also = {"spend.completionReason"} if version not in (None, row.version) else set()
    if event_received_at is TIME and row.body is not UserUpdated:  # the document: "present on user.updated"
        event_received_at = None
    event = build(
        Event,
        {
            "id": event_id or str(uuid4()),
            "resource": row.resource,
            "action": row.action,
            "version": version or usual_version,
            "event_received_at": event_received_at,
            "body": build(row.body, {**given(_with_ids(event_body(row, also=also))), **overrides}),
        },
    )
    raw = strict_json.dumps(converter().unstructure(event))
    headers = {"content-type": "application/json"}
    if key is not None:
        headers["signature"] = sign(raw, key)
    return Sample(headers=HeaderDict(headers), body=raw, event=read_delivery(raw))


def _with_ids(body: object) -> Any:
    """Return a body with new ids, including nested records."""
    new = {}
    for name, value in given(body).items():
        if is_record(value):
            new[name] = _with_ids(value)
        elif name == "id" or (name.endswith("_id") and name != "reference_id"):
            new[name] = str(uuid4())
    return change(body, **new)
