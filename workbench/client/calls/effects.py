"""Calls with an effect: outcome, description, journal entry, and advice for an unknown outcome."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import attrs

from workbench.base.errors import Attempt
from workbench.base.remedies import Remedy
from workbench.base.schema.masks import masked
from workbench.base.schema.walk import is_record


class Outcome(StrEnum):
    """Outcome of a call with an effect. `SENDING` means in flight, or that its process ended."""

    SENDING = "sending"
    DONE = "done"
    REFUSED = "refused"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"

    @property
    def shown(self) -> str:
        """The outcome as displayed, for example "not sent"."""
        return self.value.replace("_", " ")


_NEXT: Mapping[str, str] = {
    "sign_withdrawal": (
        "No call of the service shows whether a signature was issued, or whether a second one voids the first. "
        "Treat the withdrawal as possibly authorized until the signature would have expired; then ask again once."
    ),
    "simulate_authorization": (
        "Look for a transaction event with this card, amount and merchant; sending it again may place a second hold."
    ),
    "simulate_reversal": (
        "Look for a transaction.updated event of this transaction. Sending a reversal with its new amount again sets "
        "the same value; a full one may be refused the second time."
    ),
    "simulate_refund": (
        "Look for a transaction.completed event with a negative amount, of this transaction or, where refunds have "
        "an id "
        "of their own, of its card; sending it again may credit the cardholder twice."
    ),
    "create_payment_account": (
        "The service lists no payment accounts: look in its dashboard for the nickname; sending it again may create "
        "a duplicate."
    ),
    "delete_payment_account": "Send it again when you are sure: an answer that the account is not found means done.",
    "update_user": (
        "Sending it again sets the same values and shows the user, unless somebody changed them meanwhile; look for a "
        "user.updated event first when the wallet, the email or isActive was changed."
    ),
    "update_ubo": "Look for the company's status or its events; sending it again may start a second review.",
    "update_dispute": (
        "A cancel may be sent again; text evidence would be added twice. Look at the dispute in the dashboard first."
    ),
    "create_user_application": (
        "Look for a user.updated event with this email and name. With an external id it may be sent again once: a "
        "conflict then means that the user exists."
    ),
}


def next_step(name: str) -> str:
    """Return what to do about an unknown outcome of this operation."""
    return _NEXT.get(name, "Look for its event or in the dashboard before it is sent again.")


def unknown_text(attempt: Attempt, known: str) -> str:
    """Describe a call with an unknown outcome: what was sent, when, what is known, and what to do next."""
    return (
        f"{attempt.what}: sent {attempt.started:%H:%M:%S} UTC, {known}. It may have been carried out. "
        f"It was not sent again.\n{next_step(attempt.operation)}\n"
        f"{Remedy('resolve', id=attempt.id)}"
    )


@attrs.frozen(kw_only=True)
class Resolution:
    """A person's decision on a call with an unknown outcome."""

    outcome: Outcome
    note: str
    by: str
    at: datetime

    def __str__(self) -> str:
        return f"{self.outcome.shown} by {self.by} at {self.at:%Y-%m-%d %H:%M:%S} UTC"


@attrs.frozen(kw_only=True, repr=False)
class Entry:
    """Journal entry of a call with an effect. Request and answer are masked."""

    id: str
    operation: str
    what: str
    environment: str
    started: datetime
    outcome: Outcome
    ended: datetime | None = None
    status: int | None = None
    error: str | None = None
    request: Mapping[str, Any] = attrs.field(factory=dict, repr=False)  # not shown, and no columns of a frame
    answer: object = attrs.field(default=None, repr=False)
    digest: str = attrs.field(default="", repr=False)
    process: str = attrs.field(default="", repr=False)
    resend_of: str | None = None
    idempotency_key: str | None = None  # as it was sent, the same for all attempts of a call
    resolution: Resolution | None = None

    @property
    def attempt(self) -> Attempt:
        """The call as an `Attempt`, which errors refer to."""
        return Attempt(
            id=self.id, operation=self.operation, what=self.what, started=self.started, environment=self.environment
        )

    @property
    def final_outcome(self) -> Outcome:
        """The outcome, or the one that a person recorded later."""
        return self.resolution.outcome if self.resolution else self.outcome

    @property
    def is_unknown(self) -> bool:
        """Whether the outcome is unknown and unresolved."""
        return self.outcome is Outcome.UNKNOWN and self.resolution is None

    @property
    def next_step(self) -> str | None:
        """Advice for this call while its outcome is unknown."""
        return next_step(self.operation) if self.is_unknown else None

    def __str__(self) -> str:
        resolved = f" (said by {self.resolution.by})" if self.resolution else ""
        return f"{self.started:%Y-%m-%d %H:%M:%S} {self.id} {self.final_outcome.shown}{resolved}: {self.what}"

    def __repr__(self) -> str:
        return f"<{self}>"


@attrs.frozen(kw_only=True)
class Note:
    """A journal note about the client, for example that it was armed."""

    at: datetime
    kind: str
    text: str


NEAR = timedelta(minutes=15)
"""Maximum time by which an event may precede a call and still be evidence of it, because clocks differ."""


def may_be_evidence(entry: Entry, event: Any, earliest: datetime) -> bool:
    """Return whether an event may be the effect of a call, judged by ids, amount or masked person, and time."""
    body = event.body
    if not is_record(body):
        return False
    at = event.event_received_at
    if isinstance(at, datetime) and at < earliest:
        return False
    seen, asked = masked(body), entry.request
    if any(name in asked and asked[name] == seen.get("id") for name in ("transactionId", "userId", "uboId")):
        return True
    spend = seen.get("spend")
    if entry.operation == "simulate_authorization" and isinstance(spend, Mapping):
        amount = spend.get("localAmount")
        return spend.get("cardId") == asked.get("cardId") and amount in (None, asked.get("amount"))
    if entry.operation == "simulate_refund" and isinstance(spend, Mapping):
        cents = spend.get("amount")  # a refund may have a separate id: refund_event_id
        return isinstance(cents, int) and cents < 0 and asked.get("amount") in (None, -cents)
    if entry.operation == "create_user_application" and event.kind == "user.updated":
        names = [name for name in ("email", "firstName", "lastName") if name in asked]
        return "email" in asked and all(asked[name] == seen.get(name) for name in names)
    return False
