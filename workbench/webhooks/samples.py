"""Signed sample events of every kind, to develop handlers with. All people in them are fictitious."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import uuid4

import attrs

from workbench.interface import strict_json
from workbench.interface.convert import converter
from workbench.interface.events import EVENT_KINDS, Event
from workbench.interface.examples import TIME, example
from workbench.interface.walk import build, change, given, is_record
from workbench.webhooks.verify import read_delivery, sign


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
    event_received_at: datetime | None = TIME,
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
            "body": build(row.body, {**given(_with_ids(example(row.body))), **overrides}),
        },
    )
    raw = strict_json.dumps(converter().unstructure(event))
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Signature"] = sign(raw, key)
    return Sample(headers=headers, body=raw, event=read_delivery(raw))


def _with_ids(body: Any) -> Any:
    """Return a body with new ids, also in records within it."""
    new = {}
    for name, value in given(body).items():
        if is_record(value):
            new[name] = _with_ids(value)
        elif name == "id" or (name.endswith("_id") and name != "reference_id"):
            new[name] = str(uuid4())
    return change(body, **new)
