"""Whether an event received may be the effect of a call. It proves nothing by itself."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from workbench.client.entries import Entry
from workbench.interface.masks import masked
from workbench.interface.walk import is_record

NEAR = timedelta(minutes=15)  # how far before a call an event may lie and still be its evidence


def fits(entry: Entry, event: Any, earliest: datetime) -> bool:
    """Whether an event may be the effect of a call: its ids, its amount or its masked person, near in time."""
    body = event.body
    if not is_record(body):
        return False
    at = event.event_received_at
    if isinstance(at, datetime) and at < earliest:
        return False
    seen, asked = masked(body), entry.request
    for name in ("transactionId", "userId", "uboId"):
        if name in asked and asked[name] == seen.get("id"):
            return True
    spend = seen.get("spend")
    if entry.operation == "simulate_authorization" and isinstance(spend, Mapping):
        return all(
            spend.get(theirs) == asked.get(ours)
            for theirs, ours in (("cardId", "cardId"), ("localAmount", "amount"))
            if spend.get(theirs) is not None
        ) and spend.get("cardId") == asked.get("cardId")
    if entry.operation == "create_user_application" and event.kind == "user.updated":
        return "email" in asked and all(
            asked.get(name) == seen.get(name) for name in ("email", "firstName", "lastName") if name in asked
        )
    return False
