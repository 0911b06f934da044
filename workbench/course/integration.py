"""Exercises about rewards, webhooks, failures and production."""

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.course.exercise import Check, SandboxEvidence
from workbench.interface import walk
from workbench.interface.rewards import ListRewardsActivity


def _third_page(seen: SandboxEvidence) -> Iterator[str]:
    user = seen.guide["rewards_users"][0]["id"]
    asked = seen.calls("list_rewards_activity", userId=user, limit="5")
    if not asked:
        yield "no request for a page of five items of the first rewards user."
    elif not any(one.body.get("offset") == "10" for one in asked):
        yield "the third page of five begins after ten items."
    elif not any(one.body.get("offset") == "10" and one.body.get("type") == "redeemed" for one in asked):
        yield "the request was not limited to redeemed items."


def _beyond(seen: SandboxEvidence) -> Iterator[str]:
    user = next(one["id"] for one in seen.guide["rewards_users"] if one["beyond_paging"])
    asked = [one.body for one in seen.calls("list_rewards_activity", userId=user)]
    for kind in ("earned", "redeemed"):
        pages = sorted(_page(body) for body in asked if body.get("type") == kind)
        if not pages:
            yield f"no page of {kind} items of the user whose activity goes beyond the largest offset."
            continue
        reached = 0
        for begin, end in pages:
            reached = max(reached, end) if begin <= reached else reached
        if seen.rewards_after(user, kind, reached):
            yield f"the {kind} items were read up to number {reached:,}, and there are more."


def _page(body: dict[str, Any]) -> tuple[int, int]:
    """Return where a page begins and ends, in items."""
    begin, items = (
        int(body.get(name, walk.member(ListRewardsActivity, name).about.otherwise)) for name in ("offset", "limit")
    )
    return begin, begin + items


def _small_deposit(seen: SandboxEvidence) -> Iterator[str]:
    arrived = [one for one in seen.events("microDeposit.received") if one["amount"] == "0.45"]
    if not arrived:
        yield "no micro deposit of 0.45 USD was made."
        return
    got = {event.body.id for event in seen.api.inbox.events("microDeposit.received")}
    if not got & {one["id"] for one in arrived}:
        yield "the deposit was made, but your inbox has not received its event."


def _bad_signature(seen: SandboxEvidence) -> Iterator[str]:
    rules = [one for one in seen.sandbox.list_faults() if one.kind == "bad_signature"]
    if not rules:
        yield "no fault rule for wrong signatures is active; run this check before you clear the fault."
    elif not any(one.applied for one in rules):
        yield "the fault rule is active, but no event was delivered since: cause one while the inbox is served."


def _unknown_refund(seen: SandboxEvidence) -> Iterator[str]:
    refunds = seen.api.journal.list(operation="simulate_refund")
    lost = [one for one in refunds if one.outcome == "unknown" and one.request.get("amount") == 500]
    if not lost:
        yield "the journal has no refund of 5.00 USD whose outcome was unknown."
        return
    if any(one.is_unknown for one in lost):
        yield "the outcome of a refund is still unknown: find out whether it was carried out, then resolve it."
    elif not any(one.resolution and one.resolution.outcome == "done" for one in lost):
        yield "the refund was resolved as not sent, but it was carried out: look at the events, and resolve it again."


def _armed_once(seen: SandboxEvidence) -> Iterator[str]:
    api = seen.api
    if api.environment != "production":
        yield 'this session is not for production; pass the right one: check("production-1", production).'
        return
    if not any(note.kind == "armed" for note in api.journal.notes):
        yield "no operation was armed."
    user = seen.guide["users"]["approved"][3]
    updates = [one.body or {} for one in seen.calls("update_user") if str(one.path).endswith(user)]
    if not any("phoneNumber" in body for body in updates):
        yield "the fourth approved user has no new phone number."
    if api.armed:
        yield "the session is still armed; disarm it when you are done."


CHECKS: Mapping[str, Check] = {
    "rewards-1": _third_page,
    "rewards-2": _beyond,
    "webhooks-1": _small_deposit,
    "webhooks-2": _bad_signature,
    "breaking-1": _unknown_refund,
    "production-1": _armed_once,
}
