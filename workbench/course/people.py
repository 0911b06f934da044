"""Exercises about applications, users, owners, payment accounts and disputes."""

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.course.exercise import Check, SandboxEvidence
from workbench.sandbox.results import RequestEntry


def _verify_first(seen: SandboxEvidence) -> Iterator[str]:
    asked = {one["id"] for one in seen.events("user.updated") if one["applicationStatus"] == "needsVerification"}
    filed = [one for one in seen.applicants() if one["id"] in asked]
    if not filed:
        yield "no application that you filed needs verification."
    elif not any(one["status"] == "denied" for one in filed):
        yield "the application needs verification and is not denied yet."


def _terms(seen: SandboxEvidence) -> Iterator[str]:
    filed = {one.request_id for one in seen.calls("create_user_application") if "sumsubShareToken" in one.body}
    if not filed:
        yield "no application with a Sumsub share token was filed."
        return
    statuses: dict[str, list[str]] = {}
    by_token = set()
    for one in seen.sandbox.events("user.updated"):
        body = one["event"]["body"]
        statuses.setdefault(body["id"], []).append(body["applicationStatus"])
        if one["request_id"] in filed:
            by_token.add(body["id"])
    if not any("tosNotAccepted" in statuses[one][:-1] and statuses[one][-1] == "approved" for one in by_token):
        yield "the applicant with the token did not go from tosNotAccepted to approved."


def _reapply(seen: SandboxEvidence) -> Iterator[str]:
    company = seen.guide["companies"][0]
    owner = next(one["id"] for one in company["owners"] if one["status"] == "denied")
    calls = [one for one in seen.calls("update_ubo") if str(one.path).endswith(owner)]
    if not calls:
        yield "the denied owner has not applied again."
    elif not any(one.body for one in calls):
        yield "the owner's application was sent without any change."
    elif seen.state(owner)["status"] == "denied":
        yield "the owner has applied again, and was denied again."


def _business(seen: SandboxEvidence) -> Iterator[str]:
    made = [
        one for one in seen.calls("create_payment_account") if _beneficiary(one).get("beneficiaryType") == "business"
    ]
    if not made:
        yield "no payment account with a business beneficiary was created."
        return
    first = seen.guide["users"]["approved"][0]
    if not any((one.body or {}).get("userId") == first for one in made):
        yield "the account was created for a user other than the first approved one."
        return
    accounts = [_account(seen, one) for one in seen.sandbox.guide()["payment_accounts"]]
    if not any(one.get("beneficiary_type") == "business" for one in accounts):
        yield "the account was deleted; the exercise asks you to keep it."


def _beneficiary(request: RequestEntry) -> dict[str, Any]:
    found: dict[str, Any] = (request.body or {}).get("externalFiatAccount") or {}
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
            yield "it has no text evidence."
        return
    calls = [one.body or {} for one in seen.calls("update_dispute") if str(one.path).endswith(second)]
    if not any({"status", "textEvidence"} <= body.keys() for body in calls):
        yield (
            "the dispute was canceled without evidence in the same call, and cannot be reopened. Run the notebook's first "
            "cell again to create a new sandbox, and send both in one call."
        )


CHECKS: Mapping[str, Check] = {
    "applications-1": _verify_first,
    "applications-2": _terms,
    "people-1": _reapply,
    "people-2": _business,
    "disputes-1": _with_evidence,
}
