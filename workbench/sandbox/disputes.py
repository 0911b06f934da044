"""Disputes: a client can cancel them and add evidence, and no more."""

from workbench.interface import table
from workbench.interface.disputes import Dispute, UpdateDispute
from workbench.interface.rules import TEXT_EVIDENCE
from workbench.sandbox.clock import moment_of
from workbench.sandbox.context import RequestContext
from workbench.sandbox.lifecycle import DISPUTE


def update_dispute(context: RequestContext, request: UpdateDispute) -> Dispute:
    """Cancel a dispute, add evidence to it, or both. assumed: dispute_both"""
    dispute = context.get_for_tenant("dispute", request.dispute_id.lower(), "Dispute")
    if request.text_evidence is not None:
        dispute = {**dispute, "status": _next(context, dispute["status"], "add_evidence", "given evidence")}
        # that it is appended is assumed: evidence_appended
        text = "\n".join(filter(None, (dispute["text_evidence"], request.text_evidence)))
        if len(text) > (TEXT_EVIDENCE.max_length or 0):
            raise context.bad_request("textEvidence is too long together with the evidence that is there")
        dispute["text_evidence"] = text
    if request.status is not None:
        to = _next(context, dispute["status"], "cancel", "canceled")
        dispute = {**dispute, "status": to, "resolved_at": context.clock.at}
    context.store.put("dispute", dispute["id"], dispute)
    return Dispute(
        id=dispute["id"],
        transaction_id=dispute["transaction"],
        status=dispute["status"],
        text_evidence=dispute["text_evidence"],
        created_at=moment_of(dispute["created_at"]),
        resolved_at=None if dispute["resolved_at"] is None else moment_of(dispute["resolved_at"]),
    )


def _next(context: RequestContext, status: str, action: str, done: str) -> str:
    step = DISPUTE.get((status, action))
    if step is None or step.to is None:  # assumed: dispute_cancel_twice
        reason = (
            f"the dispute is already {status}" if status == done else f"a dispute that is {status} cannot be {done}"
        )
        raise context.error(table.WRONG_STATE, reason=reason)
    return step.to
