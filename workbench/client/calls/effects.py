"""Calls with an effect: outcome, description, journal entry, and advice for an unknown outcome."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

import attrs

from workbench.base.errors import Attempt
from workbench.base.frozen import frozen
from workbench.base.remedies import Remedy, declare
from workbench.service.interface.table import OPERATIONS

declare(
    "resolve",
    python=(
        'api.journal.evidence("{id}") shows what the events prove. Then record the outcome, "done" or "not_sent", '
        'with api.journal.resolve("{id}", "done"), or send the call again with api.journal.resend("{id}", request), '
        "where request is a dict of its arguments."
    ),
    other="Then record in the journal how {id} ended: done, or not sent.",
)


class Outcome(StrEnum):
    """Outcome of a call with an effect. `SENDING`: the call is in flight, or its process ended during the call."""

    SENDING = "sending"
    DONE = "done"
    REFUSED = "refused"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"

    @property
    def shown(self) -> str:
        """The outcome as displayed, for example "not sent"."""
        return self.value.replace("_", " ")


def outcome_of(status: int) -> Outcome:
    """Return the outcome that an HTTP status proves for a call with an effect. 408 and 5xx prove no outcome."""
    if 200 <= status < 300:
        return Outcome.DONE
    return Outcome.REFUSED if 400 <= status < 500 and status != 408 else Outcome.UNKNOWN


def next_step(name: str) -> str:
    """Return advice about an unknown outcome of this operation."""
    effect = OPERATIONS[name].effect
    assert effect is not None
    return effect.next_step


def unknown_text(attempt: Attempt, known: str) -> str:
    """Describe a call with an unknown outcome: the call, its time, the known facts, and the next step."""
    return (
        f"{attempt.what}: sent {attempt.started:%H:%M:%S} UTC, {known}. It may have been carried out. "
        f"It was not sent again.\n{next_step(attempt.operation)}\n"
        f"{Remedy('resolve', id=attempt.id)}"
    )


RESEND = "resend"
"""Value of `Resolution.by` for a call whose resend succeeded."""


@frozen(kw_only=True)
class Resolution:
    """A person's decision on a call with an unknown outcome."""

    outcome: Outcome
    note: str
    by: str
    at: datetime

    def __str__(self) -> str:
        return f"{self.outcome.shown} by {self.by} at {self.at:%Y-%m-%d %H:%M:%S} UTC"


@frozen(kw_only=True)
class JournalEntry:
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
    request: Mapping[str, Any] = attrs.field(factory=dict, repr=False)  # omitted from the repr and from DataFrames
    answer: object = attrs.field(default=None, repr=False)
    digest: str = attrs.field(default="", repr=False)
    process: str = attrs.field(default="", repr=False)
    resend_of: str | None = None
    idempotency_key: str | None = None  # the key as sent, which is the same for all attempts of a call
    resolution: Resolution | None = None
    trace: str = attrs.field(default="", repr=False)  # keyed hash of the private values that the call's events show
    mark: str = attrs.field(default="", repr=False)  # position in the list of events when the call was sent

    @property
    def attempt(self) -> Attempt:
        """The call as an `Attempt`, which errors refer to."""
        return Attempt(
            id=self.id, operation=self.operation, what=self.what, started=self.started, environment=self.environment
        )

    @property
    def final_outcome(self) -> Outcome:
        """The outcome, or a person's later resolution."""
        return self.resolution.outcome if self.resolution else self.outcome

    @property
    def is_unknown(self) -> bool:
        """Whether the outcome is unknown and unresolved."""
        return self.outcome is Outcome.UNKNOWN and self.resolution is None

    @property
    def next_step(self) -> str | None:
        """Advice for this call while its outcome is unknown; otherwise None."""
        return next_step(self.operation) if self.is_unknown else None

    def __str__(self) -> str:
        resolved = f" (resolved by {self.resolution.by})" if self.resolution else ""
        return f"{self.started:%Y-%m-%d %H:%M:%S} {self.id} {self.final_outcome.shown}{resolved}: {self.what}"

    def __repr__(self) -> str:
        return f"<{self}>"


@frozen(kw_only=True)
class Note:
    """A journal note about the client, for example that it was armed."""

    at: datetime
    kind: str
    text: str
