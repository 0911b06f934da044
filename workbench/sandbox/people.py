"""Users, companies and their owners, with applications, status changes and updates.

A new application is `pending` and gets its outcome after `review_seconds` of sandbox time. A status word in the last
name determines the outcome immediately. Until the terms are accepted, `approved` becomes `tosNotAccepted`.
"""

import re
from typing import Any

from workbench.base.schema.walk import members
from workbench.sandbox import contracts
from workbench.sandbox.context import RequestContext, plain, refuse_empty
from workbench.sandbox.control_records import from_json
from workbench.sandbox.store import Members, Record, Store, Texts
from workbench.service.interface import table
from workbench.service.interface.assumptions import BEHAVIORS
from workbench.service.interface.formats import SSN
from workbench.service.interface.people import CompanyApplication, CreateUserApplication, UpdateUbo, UpdateUser, User
from workbench.service.interface.transitions import APPLICATION
from workbench.service.interface.vocabulary import ApplicationStatus, EventApplicationStatus

LINKS = "https://sandbox.workbench.invalid/application"
_WORDS = sorted(((status.value.lower(), status.value) for status in EventApplicationStatus), key=lambda w: -len(w[0]))
REASONS: Texts = BEHAVIORS["status_reasons"].documented  # assumed: status_reasons, approved_with_reason
LATER_STATUSES = {"notStarted": "pending", "tosNotAccepted": "pending", "exempt": "approved"}
"""Statuses that the document shows only in events, with the status that responses show instead."""
HOLDER = ("first_name", "last_name", "email")
"""Members of a user that appear in transaction events."""
_KEPT = (*(member.name for member in members(UpdateUser)), "source_key")
"""Members of an application that the user's record keeps."""


def create_user_application(context: RequestContext, request: CreateUserApplication) -> User:
    """Create an application, or complete an initiated application."""
    tenant = context.tenant
    if tenant["management"] == "provider" and not any(getattr(request, name) for name in contracts.WALLETS):
        raise context.bad_request("one of walletAddress, solanaAddress, stellarAddress is required", "wallet_required")
    if request.id is None:
        user = new_user(context.new_id("user"), tenant["id"], context.clock.ms)
    else:
        user = context.get_for_tenant("user", request.id)
        if user["status"] != "notStarted":
            raise context.error(table.FILED_ALREADY, "initiated_application")
    _claim(context, user, request.external_id)
    filed = plain(request)
    changes = _from_provider(context, request) | {name: filed[name] for name in _KEPT if name in filed}
    changes["terms"] = (
        request.is_terms_of_service_accepted is not False
    )  # "when omitted it defaults to true on the server"
    if request.chain_id is not None and request.contract_address is not None:
        changes["external_contract"] = {"chain_id": request.chain_id, "address": request.contract_address}
    user = _change_user(context, user, changes)
    contracts.become_owner(context, user, request)
    return shown(context, submit(context, "user", user["id"], "file", user.get("last_name", "")))


def update_user(context: RequestContext, request: UpdateUser) -> User:
    """Update the members of a user that the request contains."""
    user = context.get_for_tenant("user", request.user_id)
    changes = plain(request)
    del changes["user_id"]
    contracts.check_changes(context, user, changes)
    _claim(context, user, request.external_id)
    refuse_empty(context, not changes)
    if changes:
        if "address" in changes:
            changes["address"] = _address(context, user, changes["address"])
        user = _change_user(context, user, changes)
    return shown(context, user)


def _address(context: RequestContext, of: Record, given: Record) -> Record:
    """Return the address after an update. The new members are merged into the address, or replace it."""
    context.assumed.append("partial_address")
    return {**(of.get("address") or {}), **given} if context.settings["partial_address"] == "merged" else given


def _change_user(context: RequestContext, user: Record, changes: Record) -> Record:
    """Store a changed user. If names change, also store the earlier names for earlier events."""
    names = {name: user.get(name) for name in HOLDER}
    if user["status"] and any(changes.get(name, value) != value for name, value in names.items()):
        number = user.get("names", 0)
        context.store.put("former", f"{user['id']}:{number}", names)
        changes = {**changes, "names": number + 1}
    return context.store.save("user", user, **changes, updated_at=context.clock.ms)


def holder_of(store: Store, user_id: str, names: int) -> Record:
    """Return a user with the names at the time of an event, when the names had changed `names` times."""
    user: Record = store.get("user", user_id)
    return user if user.get("names", 0) == names else {"id": user_id, **store.get("former", f"{user_id}:{names}")}


def update_ubo(context: RequestContext, request: UpdateUbo) -> CompanyApplication:
    """Update an owner's application, and review it again. The company's status follows. assumed: owner_reapplies"""
    company = context.get_for_tenant("company", request.company_id)
    owner = context.get_for_tenant("owner", request.ubo_id)
    if owner["company_id"] != company["id"]:
        raise context.error("Owner not found")
    changes = plain(request)
    kept: Record = {name: changes[name] for name in (*HOLDER, "country_of_issue") if name in changes}
    if "national_id" in changes:  # the number itself is never stored
        kept["nine_digits"] = re.fullmatch(SSN, changes["national_id"]) is not None
    filed = {**owner, **kept}
    if filed.get("country_of_issue") == "US" and not filed.get("nine_digits", True):
        raise context.bad_request("nationalId must be 9 digits, since the country of issue is US", "validation_errors")
    if "address" in changes:
        kept["address"] = _address(context, owner, changes["address"])
    is_empty = len(changes) == 2  # the request has only the two ids
    refuse_empty(context, is_empty)
    if not is_empty:
        owner = context.store.save("owner", owner, **kept)
        submit(context, "owner", owner["id"], "reapply", owner["last_name"])
    return shown_company(context, context.store.get("company", company["id"]))


def submit(context: RequestContext, kind: str, key: str, action: str, last_name: str) -> Record:
    """Start the review of an application. A status word in the last name determines the outcome immediately."""
    outcome = outcome_in(last_name) if context.settings["outcome_by_name"] else None
    if outcome is not None:
        context.assumed.append("outcome_by_name")
        return decide(context, kind, key, outcome, action=action)
    applicant = decide(context, kind, key, "pending", action=action)
    context.assumed.append("review_seconds")
    context.schedule(context.settings["review_seconds"], "review", key)
    return applicant


def outcome_in(last_name: str) -> str | None:
    """Return the status that a last name contains. The search is case-insensitive. assumed: outcome_by_name"""
    text = last_name.lower()
    return next((status for word, status in _WORDS if word in text), None)


def decide(
    context: RequestContext,
    kind: str,
    key: str,
    status: str,
    *,
    reason: str | None = None,
    cause: str | None = None,
    action: str = "review",
) -> Record:
    """Move an application to a status, and send the event.

    Args:
        kind: "user", "owner" or "company".
        key: Id of the user, owner or company.
        reason: Rejection labels; None for the usual labels of the status.
        cause: Value of the event's statusChangeReason.
        action: Action that changes the status, as in `transitions.APPLICATION`.
    """
    applicant: Record = context.store.get(kind, key)
    if action == "review" and status == applicant["status"] and reason in (None, applicant["reason"]) and cause is None:
        return applicant  # the status stays the same, so no event is sent. assumed: review_transitions
    step = APPLICATION.get((applicant["status"], action))
    if step is None:
        raise context.error(
            table.WRONG_STATE,
            "review_transitions",
            reason=f"an application that is {applicant['status']} cannot {action.replace('_', ' ')}",
        )
    if action == "accept_terms":
        status = step.to or status
        applicant = {**applicant, "terms": True}
    elif status == "approved" and not applicant.get("terms", True):  # assumed: terms_not_accepted
        if action == "review":  # the control `review` sets exactly the requested status, so the terms count as accepted
            applicant = {**applicant, "terms": True}
        else:
            status = context.settings["terms_not_accepted"]
    reason = context.settings["status_reasons"].get(status, "") if reason is None else reason
    context.cancel(f"review:{key}")
    applicant = context.store.save(kind, applicant, status=status, reason=reason, updated_at=context.clock.ms)
    if kind == "owner":
        _company_follows(context, applicant["company_id"])
    if kind == "user" or (kind == "owner" and context.settings["owner_events"]):  # assumed: owner_events
        assert step.emits is not None
        context.emit(step.emits, applicant["tenant"], applicant=applicant, why=cause)
    return applicant


def links(settings: Members, applicant: Record, sign: Any = None) -> Record:
    """Return the links to application pages that go with a person's status, by attribute name. assumed: status_links"""
    if applicant["status"] not in settings["status_links"]:
        return {}
    pages = {"application_completion_link": "complete"}
    if applicant["status"] == "needsVerification":
        pages["application_external_verification_link"] = "verify"
    return {
        name: {
            "url": f"{LINKS}/{page}",
            "params": {"user_id": applicant["id"]} | ({"signature": sign(page, applicant["id"])} if sign else {}),
        }
        for name, page in pages.items()
    }


def shown(context: RequestContext, user: Record) -> User:
    """Return a user as responses show it."""
    record = from_json(User, user | _application(context, user))
    if context.settings["user_terms_shown"]:
        context.assumed.append("user_terms_shown")
        record.extra["isTermsOfServiceAccepted"] = user.get("terms", True)
    return record


def shown_company(context: RequestContext, company: Record) -> CompanyApplication:
    """Return a company with its owners as responses show it."""
    owners = [_application(context, context.store.get("owner", key)) for key in company["owners"]]
    shown = company | _application(context, company) | {"ultimate_beneficial_owners": owners}
    return from_json(CompanyApplication, shown)


def _application(context: RequestContext, applicant: Record) -> Record:
    status = applicant["status"]
    if (
        status in LATER_STATUSES and context.settings["event_statuses_shown"] == "mapped"
    ):  # assumed: event_statuses_shown
        context.assumed.append("event_statuses_shown")
        status = LATER_STATUSES[status]
    shown = {"id": applicant["id"], "application_status": status, "application_reason": applicant["reason"]}
    return shown | links(context.settings, applicant)


def new_user(key: str, tenant: str, at: int, status: str = "", **members: object) -> Record:
    """Return the stored form of a new user, with the usual reason, terms and activity of the status."""
    state = {
        "status": status,
        "reason": REASONS.get(status, ""),
        "terms": status not in {"tosNotAccepted", "notStarted"},
        "is_active": status not in {"locked", "canceled", "denied"},
    }
    return {"id": key, "tenant": tenant, **state, "created_at": at, "updated_at": at, **members}


def new_owner(key: str, tenant: str, company: str, status: str, **members: object) -> Record:
    """Return the stored form of a company's new owner."""
    of = {"id": key, "tenant": tenant, "company_id": company}
    on_file = {"country_of_issue": "US", "nine_digits": True}
    return {**of, **on_file, "status": status, "reason": REASONS.get(status, ""), **members}


def new_company(key: str, tenant: str, name: str, owners: list[Record], **members: object) -> Record:
    """Return the stored form of a new company, whose status follows from its owners."""
    keys, address = [owner["id"] for owner in owners], owners[0].get("address")
    return {"id": key, "tenant": tenant, "name": name, "address": address, "owners": keys, **_common(owners), **members}


def _common(owners: list[Record]) -> Record:
    """Return the application status and reason of a company. assumed: company_outcome

    The status is approved if all owners are approved, and pending while an owner is pending. Otherwise it is the status
    of the first owner who is not approved.
    """
    open_ = [owner for owner in owners if owner["status"] != ApplicationStatus.APPROVED]
    if any(owner["status"] == "pending" for owner in open_):
        return {"status": "pending", "reason": ""}
    return {name: open_[0][name] for name in ("status", "reason")} if open_ else {"status": "approved", "reason": ""}


def _from_provider(context: RequestContext, request: CreateUserApplication) -> Record:
    """Return the personal data behind a share token; empty without a token. assumed: share_token_person"""
    if request.first_name is not None:
        return {}
    number = context.store.next("shared person")
    return {"first_name": "Shared", "last_name": f"Person {number}", "email": f"shared.{number}@example.com"}


def _claim(context: RequestContext, user: Record, external_id: str | None) -> None:
    """Reserve an external id, which must be unique in the tenant. assumed: duplicate_external_id"""
    if external_id is None or user.get("external_id") == external_id:
        return
    tenant = user["tenant"]
    holder = context.store.get("external_id", f"{tenant}:{external_id}")
    if context.settings["duplicate_external_id"] == "accepted":
        context.assumed.append("duplicate_external_id")
        return
    if holder is not None and holder != user["id"]:
        raise context.error(table.DUPLICATE_EXTERNAL_ID, "duplicate_external_id")
    if user.get("external_id") is not None:
        context.store.delete("external_id", f"{tenant}:{user['external_id']}")
    context.store.put("external_id", f"{tenant}:{external_id}", user["id"])


def _company_follows(context: RequestContext, key: str) -> None:
    """Update the status of a company after an owner's status changes. assumed: owner_reapplies"""
    company = context.store.get("company", key)
    common = _common([context.store.get("owner", owner) for owner in company["owners"]])
    if common["status"] != company["status"]:
        context.store.save("company", company, **common, updated_at=context.clock.ms)
