"""Exercises about applications, users, owners, payment accounts and disputes."""

from collections.abc import Iterator
from typing import Any

from workbench.course.exercise import Exercise, SandboxEvidence


def _verify_first(seen: SandboxEvidence) -> Iterator[str]:
    asked = {one["id"] for one in seen.events("user.updated") if one["applicationStatus"] == "needsVerification"}
    filed = [one for one in seen.applicants() if one["id"] in asked]
    if not filed:
        yield "no application that you filed needs verification."
    elif not any(one["status"] == "denied" for one in filed):
        yield "it needs verification; now deny it."


def _terms(seen: SandboxEvidence) -> Iterator[str]:
    filed = {one["request_id"] for one in seen.calls("create_user_application") if "sumsubShareToken" in one["body"]}
    if not filed:
        yield "no application with a share token of Sumsub."
        return
    told: dict[str, list[str]] = {}
    by_token = set()
    for one in seen.sandbox.events("user.updated"):
        body = one["event"]["body"]
        told.setdefault(body["id"], []).append(body["applicationStatus"])
        if one["request_id"] in filed:
            by_token.add(body["id"])
    if not any("tosNotAccepted" in told[one][:-1] and told[one][-1] == "approved" for one in by_token):
        yield "the applicant with the token did not go from tosNotAccepted to approved."


def _reapply(seen: SandboxEvidence) -> Iterator[str]:
    company = seen.guide["companies"][0]
    owner = next(one["id"] for one in company["owners"] if one["status"] == "denied")
    calls = [one for one in seen.calls("update_ubo") if str(one["path"]).endswith(owner)]
    if not calls:
        yield "the denied owner has not applied again."
    elif not any(one["body"] for one in calls):
        yield "the owner's application was sent without any change."
    elif seen.state(owner)["status"] == "denied":
        yield "the owner has applied again, and was denied again."


def _business(seen: SandboxEvidence) -> Iterator[str]:
    made = [
        one for one in seen.calls("create_payment_account") if _beneficiary(one).get("beneficiaryType") == "business"
    ]
    if not made:
        yield "no payment account of a business was created."
        return
    first = seen.guide["users"]["approved"][0]
    if not any((one["body"] or {}).get("userId") == first for one in made):
        yield "it was created for another user than the first approved one."
        return
    accounts = [_account(seen, one) for one in seen.sandbox.guide()["payment_accounts"]]
    if not any(one.get("beneficiary_type") == "business" for one in accounts):
        yield "it was created and deleted again: keep it."


def _beneficiary(request: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (request["body"] or {}).get("externalFiatAccount") or {}
    return found


def _account(seen: SandboxEvidence, account_id: str) -> dict[str, Any]:
    found: dict[str, Any] = seen.state(account_id)["members"]["external_fiat_account"]
    return found


def _with_evidence(seen: SandboxEvidence) -> Iterator[str]:
    second = seen.guide["disputes"]["pending"][1]
    held = seen.state(second)
    if held["status"] != "canceled":
        yield "the second pending dispute of the guide is not canceled."
        if not held["text_evidence"]:
            yield "it holds no text evidence."
        return
    calls = [one["body"] or {} for one in seen.calls("update_dispute") if str(one["path"]).endswith(second)]
    if not any({"status", "textEvidence"} <= body.keys() for body in calls):
        yield (
            "it was canceled without evidence in the same call, and cannot be reopened. Run the notebook's first cell "
            "again, which makes a new sandbox, and send both in one call."
        )


_PROFILE = (
    'ip_address="203.0.113.9", occupation="Engineer", annual_salary="60000",\n'
    '    account_purpose="Everyday spending", expected_monthly_volume="1000"'
)

EXERCISES = (
    Exercise(
        id="applications-1",
        notebook="04-file-an-application",
        title="Verify, then deny",
        task="File an application whose first answer is `needsVerification`, then deny it.",
        hints=(
            "A status word inside the last name decides the outcome: `testingNeedsVerification`.",
            'A review is a control of the sandbox: `api.sandbox.review(user.id, "denied")`.',
            (
                'user = api.create_user_application(**{**ada, "last_name": "testingNeedsVerification"})\n'
                'api.sandbox.review(user.id, "denied")'
            ),
        ),
        check=_verify_first,
    ),
    Exercise(
        id="applications-2",
        notebook="04-file-an-application",
        title="Terms first",
        task="File an application with a share token of Sumsub, and bring it through tosNotAccepted to approved.",
        hints=(
            "With `sumsub_share_token` no personal members are needed, only the profile: ip_address, occupation and so on.",
            '`api.sandbox.review(user.id, "tosNotAccepted")`, then `api.sandbox.accept_terms(user.id)`.',
            (
                f'user = api.create_user_application(sumsub_share_token="token-0001", {_PROFILE})\n'
                'api.sandbox.review(user.id, "tosNotAccepted")\n'
                "api.sandbox.accept_terms(user.id)"
            ),
        ),
        check=_terms,
    ),
    Exercise(
        id="people-1",
        notebook="05-change-users-and-accounts",
        title="A second chance",
        task="Let the denied owner of the company apply again.",
        hints=(
            'The guide lists the company\'s owners with their statuses: `guide["companies"][0]["owners"]`.',
            "`api.update_ubo` takes company_id, ubo_id and what has changed.",
            (
                'denied = next(one for one in guide["companies"][0]["owners"] if one["status"] == "denied")\n'
                'api.update_ubo(company_id=guide["companies"][0]["id"], ubo_id=denied["id"], first_name="Dara")'
            ),
        ),
        check=_reapply,
    ),
    Exercise(
        id="people-2",
        notebook="05-change-users-and-accounts",
        title="Pay a business",
        task="Make a payment account of a business beneficiary for the first approved user, and keep it.",
        hints=(
            'The variant is chosen by `beneficiary_type="business"`; it has one name instead of a first and a last one.',
            "The name goes into `beneficiary_business_name`; leave beneficiary_first_name and beneficiary_last_name out.",
            (
                "business = {name: value for name, value in beneficiary.items()\n"
                '    if name not in ("beneficiary_first_name", "beneficiary_last_name")}\n'
                'api.create_payment_account(type="externalFiatAccount", user_id=guide["users"]["approved"][0],\n'
                '    external_fiat_account={**business, "beneficiary_type": "business", "beneficiary_business_name": "Example Books"})'
            ),
        ),
        check=_business,
    ),
    Exercise(
        id="disputes-1",
        notebook="06-handle-disputes",
        title="Cancel with evidence",
        task="Add text evidence to the second pending dispute of the guide and cancel it, both in one call.",
        hints=(
            'Its id is `guide["disputes"]["pending"][1]`.',
            "`api.update_dispute` takes status and text_evidence, one of them or both.",
            (
                'api.update_dispute(dispute_id=guide["disputes"]["pending"][1], status="canceled",\n'
                '    text_evidence="The merchant refunded it.")'
            ),
        ),
        check=_with_evidence,
    ),
)
