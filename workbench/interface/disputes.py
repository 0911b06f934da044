"""Disputes. Source: Resources, "Dispute"; Endpoints 10."""

from datetime import datetime
from typing import ClassVar

from workbench.interface.fields import PERSONAL, WIDELY, Answer, Reason, about, record
from workbench.interface.rules import ID, MOMENT, TEXT_EVIDENCE, DisputeStatus, DisputeUpdateStatus

FIELDS = Reason("the fields of the dispute record are not shown", WIDELY)


@record
class UpdateDispute:
    """Cancel a dispute, or add text evidence to it. Source: Endpoints 10."""

    dispute_id: str = about("Dispute to update; the document gives no form of its id", min_length=1)
    status: DisputeUpdateStatus | str | None = about("The only status one can set is canceled", default=None)
    text_evidence: str | None = about(
        "Text evidence added to the dispute", TEXT_EVIDENCE, default=None, privacy=PERSONAL
    )


@record
class Dispute(Answer):
    """A dispute. The document shows no success body, so every member may be absent. Source: Resources, "Dispute"."""

    assumed: ClassVar = FIELDS

    id: str | None = about("Dispute's unique identifier", ID, default=None)
    transaction_id: str | None = about("Disputed transaction", ID, default=None)
    status: DisputeStatus | str | None = about("Status of the dispute", default=None)
    text_evidence: str | None = about("Text evidence", TEXT_EVIDENCE, default=None, privacy=PERSONAL)
    created_at: datetime | None = about("When it was opened", MOMENT, default=None)
    resolved_at: datetime | None = about("When it was resolved", MOMENT, default=None)
