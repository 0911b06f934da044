"""State transitions of records, and the event that each transition sends."""

from collections.abc import Mapping

from workbench.base.frozen import frozen
from workbench.service.interface.vocabulary import DisputeStatus, EventApplicationStatus


@frozen
class Transition:
    """Target status and event of an action. If the action itself determines the status, `to` is None."""

    to: str | None
    emits: str | None = None


Table = Mapping[tuple[str, str], Transition]
"""All possible transitions, by status and action.

Documented: A transaction is authorized, declined or settled. An open authorization can be reversed, and a settled
transaction refunded. `tosNotAccepted` becomes `approved` when the terms are accepted. An application is reviewed after
its creation. A client can set a dispute only to `canceled`.

Everything else is assumed, because the document shows no transitions. Inside the sandbox, a fully reversed
authorization has the separate status `reversed`. A review may move an application from any status to any other. Cards
and disputes have the states that public clients of the interface know.
"""
TRANSACTION: Table = {
    ("", "authorize"): Transition("authorized", "transaction.created"),
    ("", "decline"): Transition("declined", "transaction.created"),
    ("authorized", "reduce"): Transition("authorized", "transaction.updated"),
    ("authorized", "reverse"): Transition("reversed", "transaction.updated"),
    ("authorized", "settle"): Transition("settled", "transaction.completed"),
    ("settled", "refund"): Transition("settled", "transaction.completed"),
}
_EVERY = tuple(EventApplicationStatus)
APPLICATION: Table = {
    # The new status is `pending`, or the status that the applicant's last name spells.
    ("", "file"): Transition(None, "user.updated"),
    ("notStarted", "file"): Transition(None, "user.updated"),
    ("pending", "conclude"): Transition(None, "user.updated"),
    ("tosNotAccepted", "accept_terms"): Transition("approved", "user.updated"),
    **{(status, "review"): Transition(None, "user.updated") for status in ("", *_EVERY)},
    **{(status, "reapply"): Transition(None, "user.updated") for status in _EVERY},
}
CARD: Table = {
    ("notActivated", "activate"): Transition("active", "card.updated"),
    ("active", "lock"): Transition("locked", "card.updated"),
    ("locked", "unlock"): Transition("active", "card.updated"),
    **{(status, "cancel"): Transition("canceled", "card.updated") for status in ("notActivated", "active", "locked")},
}
_OPEN = (DisputeStatus.PENDING, DisputeStatus.IN_REVIEW)
DISPUTE: Table = {
    ("", "open"): Transition("pending"),
    ("pending", "review"): Transition("inReview"),
    **{(status, "accept"): Transition("accepted") for status in _OPEN},
    **{(status, "reject"): Transition("rejected") for status in _OPEN},
    **{(status, "cancel"): Transition("canceled") for status in _OPEN},
    **{(status, "add_evidence"): Transition(status) for status in _OPEN},
}
