"""Exercises about rewards, webhooks, failures and production."""

from collections.abc import Iterator
from typing import Any

from workbench.course.exercise import Exercise, SandboxEvidence
from workbench.interface import walk
from workbench.interface.rewards import ListRewardsActivity


def _third_page(seen: SandboxEvidence) -> Iterator[str]:
    user = seen.guide["rewards_users"][0]["id"]
    asked = seen.calls("list_rewards_activity", userId=user, limit="5")
    if not asked:
        yield "no request for pages of five items of the first rewards user."
    elif not any(one["body"].get("offset") == "10" for one in asked):
        yield "the third page of five begins after ten items."
    elif not any(one["body"].get("offset") == "10" and one["body"].get("type") == "redeemed" for one in asked):
        yield "request redeemed items only."


def _beyond(seen: SandboxEvidence) -> Iterator[str]:
    user = next(one["id"] for one in seen.guide["rewards_users"] if one["beyond_paging"])
    asked = [one["body"] for one in seen.calls("list_rewards_activity", userId=user)]
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
        yield "no micro deposit of 0.45 USD has arrived."
        return
    got = {event.body.id for event in seen.api.inbox.events("microDeposit.received")}
    if not got & {one["id"] for one in arrived}:
        yield "it has arrived, but your inbox has not received the event."


def _bad_signature(seen: SandboxEvidence) -> Iterator[str]:
    rules = [one for one in seen.sandbox.list_faults() if one["kind"] == "bad_signature"]
    if not rules:
        yield "no fault rule for wrong signatures is active; it has to be when you check."
    elif not any(one["applied"] for one in rules):
        yield "the rule is active, but no event was delivered since: cause one for the served inbox."


def _unknown_refund(seen: SandboxEvidence) -> Iterator[str]:
    refunds = seen.api.journal.list(operation="simulate_refund")
    lost = [one for one in refunds if one.outcome == "unknown" and one.request.get("amount") == 500]
    if not lost:
        yield "the journal has no refund of 5.00 USD whose outcome was unknown."
        return
    if any(one.is_unknown for one in lost):
        yield "a refund is still unknown in the journal: look, then resolve it."
    elif not any(one.resolution and one.resolution.outcome == "done" for one in lost):
        yield "it was resolved as not sent, but it was carried out: look at the events, and resolve it again."


def _armed_once(seen: SandboxEvidence) -> Iterator[str]:
    api = seen.api
    if api.environment != "production":
        yield 'this session is not for production; pass the right one: check("production-1", production).'
        return
    if not any(note.kind == "armed" for note in api.journal.notes):
        yield "nothing was armed."
    user = seen.guide["users"]["approved"][3]
    updates = [one["body"] or {} for one in seen.calls("update_user") if str(one["path"]).endswith(user)]
    if not any("phoneNumber" in body for body in updates):
        yield "the fourth approved user has no new phone number."
    if api.armed:
        yield "it is still armed: disarm it when you are done."


EXERCISES = (
    Exercise(
        id="rewards-1",
        notebook="07-report-rewards",
        title="The third page",
        task="Ask for the third page of five redeemed items of the first rewards user.",
        hints=(
            'The first rewards user is `guide["rewards_users"][0]["id"]`.',
            "`limit` is the number of items, `offset` the number to skip: two pages of five.",
            'api.list_rewards_activity(user_id=guide["rewards_users"][0]["id"], type="redeemed", limit=5, offset=10)',
        ),
        check=_third_page,
    ),
    Exercise(
        id="rewards-2",
        notebook="07-report-rewards",
        title="Beyond the offset",
        task="Read all activity of the user whose activity goes beyond the largest offset.",
        hints=(
            'The guide says who it is: `one["beyond_paging"]` in `guide["rewards_users"]`.',
            "The largest offset is 10,000 for each type, so reading earned and redeemed items separately goes twice as far.",
            (
                'user = next(one["id"] for one in guide["rewards_users"] if one["beyond_paging"])\n'
                'wb.rewards.read(api, [user], type="earned")\n'
                'wb.rewards.read(api, [user], type="redeemed")'
            ),
        ),
        check=_beyond,
    ),
    Exercise(
        id="webhooks-1",
        notebook="10-receive-webhooks",
        title="A small deposit",
        task="Send a micro deposit of 0.45 USD, and wait for its event in the inbox.",
        hints=(
            "A deposit is a control of the sandbox: `api.sandbox.deposit(amount=...)`, with the amount as text.",
            '`api.inbox.wait("microDeposit.received", within=1)` returns the event.',
            'api.sandbox.deposit(amount="0.45")\napi.inbox.wait("microDeposit.received", within=1)',
        ),
        check=_small_deposit,
    ),
    Exercise(
        id="webhooks-2",
        notebook="10-receive-webhooks",
        title="Forged",
        task="Get one delivery with a wrong signature, and see that the inbox refuses it. Check before clearing the fault.",
        hints=(
            "`api.sandbox.add_fault` takes the kind of fault; those of deliveries are in its help.",
            "Serve an inbox, register its URL as an endpoint, set the fault, and cause an event. `inbox.refusals` says why.",
            (
                "with inbox.serve() as url:\n"
                "    api.sandbox.register_endpoint(url)\n"
                '    api.sandbox.add_fault("bad_signature", times=1)\n'
                '    api.sandbox.deposit(amount="0.11")\n'
                "    api.sandbox.flush(within=2)\n"
                "inbox.refusals"
            ),
        ),
        check=_bad_signature,
    ),
    Exercise(
        id="breaking-1",
        notebook="11-survive-failures",
        title="A refund with an unknown outcome",
        task=(
            "Refund 5.00 USD of a settled transaction while the answer is lost. Find out whether it was carried out, and resolve "
            "it in the journal."
        ),
        hints=(
            '`api.sandbox.add_fault("lost", of="simulate_refund", times=1)` drops the answer; `OutcomeUnknown` is raised.',
            "The events and `api.sandbox.balance(card)` show it. Then `api.journal.resolve(error.attempt.id, ...)`.",
            (
                'api.sandbox.add_fault("lost", of="simulate_refund", times=1)\n'
                "try:\n"
                "    api.simulate_refund(transaction_id=shop.transaction_id, amount=500)\n"
                "except wb.OutcomeUnknown as error:\n"
                '    api.journal.resolve(error.attempt.id, "done", note="its event arrived")'
            ),
        ),
        check=_unknown_refund,
    ),
    Exercise(
        id="production-1",
        notebook="12-go-to-production",
        title="Armed, once",
        task="In the production session, arm update_user, give the fourth approved user a phone number, and disarm again.",
        hints=(
            "`production.arm` takes operations, minutes and a reason.",
            "Between arming and `production.disarm()` one call is enough: update_user with phone_country_code and phone_number.",
            (
                'production.arm(operations={"update_user"}, minutes=5, reason="a new phone")\n'
                'production.update_user(user_id=guide["users"]["approved"][3], phone_country_code="1", phone_number="5550142")\n'
                "production.disarm()"
            ),
        ),
        check=_armed_once,
    ),
)
