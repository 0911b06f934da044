"""Checks of the exercises and the evidence they use: `start_1` checks the exercise `start-1`."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from typing import Any
from urllib.parse import urlsplit

from workbench.base.errors import ApiError
from workbench.base.schema import walk
from workbench.client import session
from workbench.client.calls.client import Client
from workbench.sandbox import Sandbox
from workbench.sandbox.control_records import RequestEntry
from workbench.service.interface.transactions import MAX_OFFSET, ListRewardsActivity
from workbench.service.rendering import money

_REFUSES_SIGNATURE = (401, 403)
_MAX_REQUESTS = 12  # the last requests for a signature that are looked at


class SandboxEvidence:
    """Evidence for checks: requests and records of the session's sandbox, and journal entries."""

    def __init__(self, api: Any) -> None:
        self.api = api
        self.sandbox = api.sandbox
        self.began = datetime.now(UTC)

    @property
    def where(self) -> str:
        """Describe the sandbox: address, and number of requests received."""
        if isinstance(self.sandbox, Sandbox):
            place = f"the embedded sandbox of this kernel (seed {self.sandbox.seed})"
        elif getattr(self.sandbox, "_hosted", False):
            place = "your sandbox in the class"
        else:
            place = f"the sandbox at {urlsplit(self.sandbox._url).netloc}"
        count = len(self.requests)
        return f"on {place}, which received {count} request{'' if count == 1 else 's'}"

    @cached_property
    def guide(self) -> Mapping[str, Any]:
        """Example ids of the sandbox in its initial state."""
        return dict((self._fresh or self.sandbox).guide())

    @cached_property
    def _fresh(self) -> Sandbox | None:
        """A new sandbox with the same seed; None if the seed is unknown."""
        seed = getattr(self.sandbox, "seed", None)
        return None if seed is None else Sandbox(seed)

    @cached_property
    def requests(self) -> list[RequestEntry]:
        """Requests that the service received, oldest first."""
        return list(self.sandbox.requests(all_tenants=True))

    def requests_of_latest(self) -> list[RequestEntry]:
        """Return the requests of the most recent session if it uses another embedded sandbox, as from
        `connect(tenant=)`.
        """
        newest = session.latest() if isinstance(self.api, Client) else None
        other = None if newest is None else session.sandbox_of(newest)
        return [] if other is None or other is self.sandbox else list(other.requests(all_tenants=True))

    def calls(self, operation: str, *, status: int = 200, **members: object) -> list[RequestEntry]:
        """Return the requests of an operation with a status and these wire members; text is compared ignoring case."""
        called = [call for call in self.requests if (call.operation, call.status) == (operation, status)]
        return [call for call in called if all(same((call.body or {}).get(name), members[name]) for name in members)]

    def calls_on(self, operation: str, record_id: str, **members: Any) -> list[RequestEntry]:
        """Return the accepted requests of an operation whose path contains a record's id."""
        return [call for call in self.calls(operation, **members) if record_id.lower() in str(call.path).lower()]

    def stored_before_the_check(self, kind: str) -> list[Any]:
        """Return the events of the session's inbox from before this check."""
        return [event for event in self.api.inbox.stored(kind) if event.arrived < self.began]

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the bodies of the events of a kind."""
        return [event.payload["body"] for event in self.sandbox.events(kind)]

    def state(self, record_id: str) -> dict[str, Any]:
        """Return a record as stored by the service; empty if it does not exist."""
        try:
            return dict(self.sandbox.state(record_id))
        except ApiError:
            return {}

    def transactions(self, **members: object) -> list[dict[str, Any]]:
        """Return the card transactions created in this sandbox with these members."""
        ids = dict.fromkeys(transaction["id"] for transaction in self.events("transaction.created"))
        return [transaction for transaction in map(self.state, ids) if fits(transaction, members)]

    def rewards_after(self, user: str, kind: str, read: int) -> bool:
        """Return whether a user has more items of a kind than were read, up to the maximum offset."""
        if read > MAX_OFFSET:
            return False
        asking = self.api
        if self._fresh is not None:  # a new sandbox, so that the log of this one stays the learner's
            guide = self._fresh.guide()
            key = guide["api_keys"]["full"]
            asking = Client(base_url=guide["base_url"], api_key=key, transport=self._fresh.transport(), journal=False)
        return bool(asking.list_rewards_activity(user_id=user, type=kind, limit=1, offset=read).items)

    def applicants(self, **members: object) -> list[dict[str, Any]]:
        """Return the users with these members whose application was created in this sandbox."""
        ids = dict.fromkeys(applicant["id"] for applicant in self.events("user.updated"))
        known = {user for users in self.guide["users"].values() for user in users}
        return [
            applicant
            for applicant in map(self.state, ids)
            if applicant and applicant["id"] not in known and fits(applicant, members)
        ]


def same(left: object, other: object) -> bool:
    """Return whether two values are equal; ids and addresses are compared ignoring case."""
    if isinstance(left, str) and isinstance(other, str):
        return left.lower() == other.lower()
    return bool(left == other)


def fits(record: Mapping[str, Any], members: Mapping[str, Any]) -> bool:
    """Return whether a record has all given members."""
    return bool(record) and all(record.get(name) == value for name, value in members.items())


Check = Callable[[SandboxEvidence], Iterator[str]]
"""Function that yields what is missing, as sentences; nothing if the exercise is done."""


def start_1(seen: SandboxEvidence) -> Iterator[str]:
    card = seen.guide["cards"]["active"][1]
    bought = seen.transactions(card=card, authorized=420)
    if not bought:
        yield f"no authorization of 4.20 USD on the second active card of the guide{_near(seen, card, 420)}."
    elif not any(_is_cafe(transaction) for transaction in bought):
        yield (
            f"4.20 USD was authorized at {bought[-1]['merchant_name']}, which is not a coffee shop (MCC 5812 or 5814)."
        )
    elif not any(
        _is_cafe(transaction) and fits(transaction, {"status": "settled", "settled": 420}) for transaction in bought
    ):
        waits = fits(bought[-1], {"status": "authorized", "held": 420})
        other = "the authorization was declined, reversed or settled in part; start with a new one."
        yield "the authorization is not settled yet." if waits else other


def _is_cafe(transaction: Mapping[str, Any]) -> bool:
    """Return whether a merchant may be a coffee shop, by category (eating places or fast food) or name."""
    name = str(transaction["merchant_name"]).lower()
    return transaction["merchant_category_code"] in ("5812", "5814") or any(
        word in name for word in ("coffee", "café", "cafe")
    )


def _near(seen: SandboxEvidence, card: str, cents: int) -> str:
    """Return a near miss: the amount on another card, or another amount on the card."""
    if seen.transactions(authorized=cents):
        return f"; there is one of {money(cents)} on another card"
    others = [transaction["authorized"] for transaction in seen.transactions(card=card)]
    return f"; there is one of {money(others[-1])}, not {money(cents)}" if others else ""


def _near_amount(seen: SandboxEvidence, cents: int) -> str:
    """Return an authorization with a misplaced decimal point, if there is one."""
    others = [transaction["authorized"] for transaction in seen.transactions() if transaction["status"] != "declined"]
    near = next(
        (other for other in others for power in (10, 100, 1_000) if cents in (other * power, other // power)), None
    )
    return "" if near is None else f"; there is one of {money(near)}, not {money(cents)}"


def contracts_1(seen: SandboxEvidence) -> Iterator[str]:
    tried = [
        request for request in [*seen.requests, *seen.requests_of_latest()] if request.operation == "list_contracts"
    ]
    refused = [call.status for call in tried if call.status >= 400 and call.fault is None]
    if not refused:
        injected = any(call.fault for call in tried)
        near = "; a fault that is injected is not the service's answer to a key" if injected else ""
        yield f"the service has not refused any request for contracts yet{near}."
    elif 403 not in refused:
        yield f"the service refused with {refused[-1]}; a tenant that issues no corporate cards gets 403."


def contracts_2(seen: SandboxEvidence) -> Iterator[str]:
    contract = seen.guide["contracts"][0]
    gold = contract["tokens"][1]
    asked = seen.calls("sign_withdrawal", token=gold["address"])
    if not asked:
        others = len(seen.calls("sign_withdrawal"))
        near = f"; {others} asked for another token" if others else ""
        yield f"no request for a signature over the second token of the first contract{near}."
        return
    native = [call for call in asked if call.body.get("isAmountNative") == "true"]
    if not native:
        yield "the amount was in cents; use the token's native units."
        return
    whole = [call.body for call in native if call.body.get("amount") == str(10 ** gold["decimals"])]
    first, second = contract["admin_addresses"][:2]
    if not whole:
        yield (
            f"the amount was {native[-1].body.get('amount')} native units; a token has 10 to the power of its decimals."
        )
    elif not any(same(call["adminAddress"], first) and same(call["recipientAddress"], second) for call in whole):
        yield "one whole token was requested, but not from the contract's first admin to its second."


def withdrawals_1(seen: SandboxEvidence) -> Iterator[str]:
    first = seen.guide["contracts"][0]
    token = first["tokens"][0]
    tokens = [tokens for _, tokens in _signatures(seen, token)]
    if 40 not in tokens:
        near = f"; there is one of {tokens[-1]:,.2f} USD" if tokens else ""
        yield f"no request for a signature over 40.00 USD of the first token{near}."
    held = seen.state(first["id"])
    moved = Decimal(token["balance"]) - Decimal(held["tokens"][0]["balance"])
    executed = combinations(tokens[-_MAX_REQUESTS:], held["nonce"] - first["nonce"])
    if not any(40 in amounts and sum(amounts) == moved for amounts in executed):
        yield f"the contract's balance decreased by {moved} tokens; the withdrawal of 40.00 USD has not been executed."


def _signatures(seen: SandboxEvidence, token: dict[str, Any]) -> list[tuple[RequestEntry, Decimal]]:
    """Return the signature requests for a token, with the number of tokens in each, in either unit."""
    units = {"true": 10 ** token["decimals"]}
    return [
        (call, Decimal(call.body["amount"]) / units.get(call.body.get("isAmountNative"), 100))
        for call in seen.calls("sign_withdrawal", token=token["address"])
    ]


def withdrawals_2(seen: SandboxEvidence) -> Iterator[str]:
    token = seen.guide["contracts"][0]["tokens"][0]
    others = _signatures(seen, token)
    asked = [contract for contract, tokens in others if tokens == 11]
    if not asked:
        near = f"; there is one of {others[-1][1]:,.2f} USD" if others else ""
        yield f"no request for a signature over 11.00 USD of the first token{near}."
        return
    waiting = ["withdrawal_pending" in call.assumptions for call in asked]
    same_request = [call.body == asked[-1].body for call in asked]
    if waiting[-1]:
        yield (
            "the service answered `pending`, and the request was not repeated until the signature was ready; let the "
            "plan wait."
        )
    elif waiting[-3:] != [True, True, False] or not all(same_request[-3:]):
        yield (
            f"the service answered `pending` {sum(waiting)} of two times before it signed one and the same request. "
            "It returns the "
            "same signature until it expires: advance the sandbox's clock by eleven minutes, set up two `pending` "
            "answers, and "
            "request it again."
        )


def purchases_1(seen: SandboxEvidence) -> Iterator[str]:
    stays = seen.transactions(authorized=20_000)
    if not stays:
        yield f"no authorization of 200.00 USD{_near_amount(seen, 20_000)}."
        return
    right = [
        transaction
        for transaction in stays
        if fits(transaction, {"status": "settled", "settled": 15_000, "refunded": 2_500})
    ]
    if any(seen.calls_on("simulate_reversal", transaction["id"], newAmount=15_000) for transaction in right):
        return
    last = stays[-1]
    if right:
        yield "the hold was not reversed to 150.00 USD before it was settled; start with a new authorization."
    elif last["status"] != "settled":
        if last["held"] != 15_000:
            yield f"the hold is {money(last['held'])}, not 150.00 USD: a reversal states the amount that remains."
        yield f"the transaction is {last['status']}, not settled yet."
    elif last["settled"] != 15_000:
        yield f"the settled amount is {money(last['settled'])}, not 150.00 USD; start with a new authorization."
    else:
        more = "" if last["refunded"] < 2_500 else "; start with a new authorization"
        yield f"{money(last['refunded'])} was refunded instead of 25.00 USD{more}."


def purchases_2(seen: SandboxEvidence) -> Iterator[str]:
    card = seen.guide["cards"]["active"][2]
    reasons = {transaction["declined_reason"] for transaction in seen.transactions(card=card, status="declined")}
    if len(reasons) < 3:
        elsewhere = len(seen.transactions(status="declined")) - len(seen.transactions(card=card, status="declined"))
        near = f" Declined on other cards: {elsewhere}." if elsewhere else ""
        yield (
            f"purchases on the third active card were declined for {len(reasons)} different reasons; three are "
            f"needed.{near}"
        )


def sequences_1(seen: SandboxEvidence) -> Iterator[str]:
    purchases = seen.transactions(authorized=3_000)
    back = [transaction["id"] for transaction in purchases if fits(transaction, {"settled": 3_000, "refunded": 2_000})]
    if not back:
        near = (
            f"; of the last one, {money(purchases[-1]['refunded'])} was refunded"
            if purchases
            else _near_amount(seen, 3_000)
        )
        yield f"no transaction of 30.00 USD of which 20.00 USD was refunded{near}."
    elif not any(len(seen.calls_on("simulate_refund", transaction, amount=1_000)) == 2 for transaction in back):
        yield "the 20.00 USD was not refunded in two parts of 10.00 USD."


def sequences_2(seen: SandboxEvidence) -> Iterator[str]:
    refused = [
        request for request in seen.requests if str(request.operation).startswith("simulate_") and request.status == 400
    ]
    if len(refused) < 2:
        yield (
            f"the service refused {len(refused)} simulations with 400 so far; the sequence `a-bad-day` causes at "
            "least two."
        )
    if not seen.transactions(status="declined"):
        yield "no purchase was declined."
    if not seen.calls("simulate_authorization", merchantName="Cars for a Day"):
        yield "no purchase was made at Cars for a Day; the sequence `a-bad-day` contains one."


def applications_1(seen: SandboxEvidence) -> Iterator[str]:
    first: dict[str, str] = {}
    for event in seen.events("user.updated"):
        first.setdefault(event["id"], event["applicationStatus"])
    filed = [applicant for applicant in seen.applicants() if first[applicant["id"]] == "needsVerification"]
    if not filed:
        others = ", ".join(dict.fromkeys(first[applicant["id"]] for applicant in seen.applicants()))
        near = f"; the first answers were: {others}" if others else ""
        yield f"no application that you filed had `needsVerification` as its first answer{near}."
    elif not any(applicant["status"] == "denied" for applicant in filed):
        yield "the application needs verification and is not denied yet."


def applications_2(seen: SandboxEvidence) -> Iterator[str]:
    filed = {call.request_id for call in seen.calls("create_user_application") if "sumsubShareToken" in call.body}
    if not filed:
        others = [call.body for call in seen.calls("create_user_application")]
        near = "; there is one with a Persona token" if any("personaShareToken" in other for other in others) else ""
        yield f"no application with a Sumsub share token was filed{near}."
        return
    statuses: dict[str, list[str]] = {}
    by_token = set()
    for event in seen.sandbox.events("user.updated"):
        body = event.payload["body"]
        statuses.setdefault(body["id"], []).append(body["applicationStatus"])
        if event.request_id in filed:
            by_token.add(body["id"])
    if not any("tosNotAccepted" in statuses[call][:-1] and statuses[call][-1] == "approved" for call in by_token):
        yield "the applicant with the token did not go from tosNotAccepted to approved."


def applications_3(seen: SandboxEvidence) -> Iterator[str]:
    filed: dict[str, str] = {}
    for call in seen.calls("create_user_application"):
        filed.setdefault(str(call.body.get("externalId")), call.answer["id"])
    missing = [external_id for external_id in ("desk-1", "desk-2", "desk-3") if external_id not in filed]
    if missing:
        yield f"no application with the external id {' and none with '.join(missing)} was accepted."
        return
    changed = [
        name
        for name, user in filed.items()
        if any("phoneNumber" in call.body for call in seen.calls_on("update_user", user))
    ]
    if "desk-2" not in changed:
        near = f"; that of {changed[0]} was changed" if changed else ""
        yield f"the phone number of the user with desk-2 was not changed{near}."


_NEW_ADDRESS = {
    "line1": "4 Example Street",
    "city": "Springfield",
    "region": "IL",
    "postal_code": "62704",
    "country_code": "US",
}


def people_1(seen: SandboxEvidence) -> Iterator[str]:
    company = seen.guide["companies"][0]
    owner = next(owner["id"] for owner in company["owners"] if owner["status"] == "denied")
    calls = seen.calls_on("update_ubo", owner)
    changed = set().union(*((call.body or {}).keys() for call in calls))
    if not calls:
        others = len(seen.calls("update_ubo"))
        near = "; another owner of the company has" if others else ""
        yield f"the denied owner has not applied again{near}."
    elif changed & {"firstName", "lastName"}:
        yield (
            "the owner's name was changed: a name is not changed to pass a review. Run the notebook's first cell "
            "again, and send "
            "what was wrong, the address."
        )
    elif "address" not in changed:
        yield "the owner's application was sent without the new address."
    elif not fits(seen.state(owner)["address"], _NEW_ADDRESS):
        yield "the owner has another address now, not 4 Example Street, Springfield, IL 62704, US."
    elif seen.state(owner)["status"] == "denied":
        yield "the owner has applied again, and was denied again."


def people_2(seen: SandboxEvidence) -> Iterator[str]:
    asked = [
        (account.body, account.body.get("externalFiatAccount") or {})
        for account in seen.calls("create_payment_account")
    ]
    business = [body for body, beneficiary in asked if beneficiary.get("beneficiaryType") == "business"]
    if not business:
        near = "; the beneficiary was an individual" if asked else ""
        yield f"no payment account with a business beneficiary was created{near}."
        return
    first = seen.guide["users"]["approved"][0]
    if not any(same(body.get("userId"), first) for body in business):
        yield "the account was created for a user other than the first approved one."
        return
    accounts = [seen.state(account)["members"] for account in seen.sandbox.guide()["payment_accounts"]]
    kept = [account for account in accounts if account["external_fiat_account"].get("beneficiary_type") == "business"]
    if not any(same(account.get("user_id"), first) for account in kept):
        yield "the account of the first approved user was deleted; the exercise asks you to keep it."


def disputes_1(seen: SandboxEvidence) -> Iterator[str]:
    second = seen.guide["disputes"]["pending"][1]
    held = seen.state(second)
    evidence = (held["text_evidence"] or "").strip()
    if held["status"] != "canceled":
        calls = seen.calls("update_dispute")
        near = "; another dispute is" if any("status" in (call.body or {}) for call in calls) else ""
        yield f"the second pending dispute of the guide is not canceled{near}."
        if not evidence:
            yield "it has no text evidence."
        return
    calls = seen.calls_on("update_dispute", second)
    if not evidence or not any({"status", "textEvidence"} <= (call.body or {}).keys() for call in calls):
        yield (
            "the dispute was canceled without evidence in the same call, and cannot be reopened. Run the notebook's "
            "first "
            "cell again to create a new sandbox, and send both in one call."
        )


def _page(body: dict[str, Any]) -> tuple[int, int]:
    """Return the first and last item position of a page."""
    usual = {name: walk.member(ListRewardsActivity, name).about.otherwise for name in ("offset", "limit")}
    begin, items = (int(body.get(name, value)) for name, value in usual.items())
    return begin, begin + items


def rewards_1(seen: SandboxEvidence) -> Iterator[str]:
    user = seen.guide["rewards_users"][0]["id"]
    asked = seen.calls("list_rewards_activity", userId=user, limit="5")
    if not asked:
        others = [call.body.get("limit", "20") for call in seen.calls("list_rewards_activity", userId=user)]
        near = f"; the last page of this user had a limit of {others[-1]}" if others else ""
        if not others and seen.calls("list_rewards_activity", limit="5"):
            near = "; there is one of another user"
        yield f"no request for a page of five items of the first rewards user{near}."
    elif not any(call.body.get("offset") == "10" for call in asked):
        yield f"the third page of five begins after ten items, not after {asked[-1].body.get('offset', '0')}."
    elif not any(call.body.get("offset") == "10" and call.body.get("type") == "redeemed" for call in asked):
        yield "the request was not limited to redeemed items."


def rewards_2(seen: SandboxEvidence) -> Iterator[str]:
    user = next(user["id"] for user in seen.guide["rewards_users"] if user["beyond_paging"])
    asked = [call.body for call in seen.calls("list_rewards_activity", userId=user)]
    for kind in ("earned", "redeemed"):
        pages = sorted(_page(body) for body in asked if body.get("type") == kind)
        if not pages:
            near = "; pages of both types together end at the largest offset" if asked else ""
            yield f"no page of {kind} items of the user whose activity goes beyond the largest offset{near}."
            continue
        reached = 0
        for begin, end in pages:
            reached = max(reached, end) if begin <= reached else reached
        if seen.rewards_after(user, kind, reached):
            yield f"the {kind} items were read up to number {reached:,}, and there are more."


def webhooks_1(seen: SandboxEvidence) -> Iterator[str]:
    arrived = [
        event for event in seen.sandbox.events("microDeposit.received") if event.payload["body"]["amount"] == "0.45"
    ]
    if not arrived:
        others = [event["amount"] for event in seen.events("microDeposit.received")]
        near = f"; there is one of {others[-1]} USD" if others else ""
        yield f"no micro deposit of 0.45 USD was made{near}."
        return
    ids = {event.payload["id"] for event in arrived}
    delivered = {delivery.event_id for delivery in seen.sandbox.deliveries(state="delivered")}
    inbox = {event.event.id for event in seen.stored_before_the_check("microDeposit.received")}
    if not ids & (delivered | inbox):
        yield "the deposit was made, but nothing has waited for its event: `api.inbox.wait(…)` does."


def webhooks_2(seen: SandboxEvidence) -> Iterator[str]:
    attempts = [attempt for delivery in seen.sandbox.deliveries() for attempt in delivery.attempts]
    refused = [attempt for attempt in attempts if attempt.status in _REFUSES_SIGNATURE]
    if any(attempt.fault == "bad_signature" for attempt in refused):
        return
    rules = [fault for fault in seen.sandbox.list_faults() if fault.kind == "bad_signature"]
    if not rules:
        near = "a delivery with a right signature was refused: does the inbox have the key of the sandbox?"
        nothing = "no delivery was refused for its signature, and no fault rule for wrong signatures is active."
        yield near if refused else nothing
    elif not any(rule.applied for rule in rules):
        yield "the fault rule is active, but no event was delivered since: cause one while the inbox is served."
    else:
        yield "a delivery with a wrong signature was made, but no inbox refused it: serve one that has keys."


def breaking_1(seen: SandboxEvidence) -> Iterator[str]:
    refunds = [call for call in seen.requests if call.operation == "simulate_refund" and call.fault is not None]
    lost = [call for call in refunds if (call.body or {}).get("amount") == 500]
    if not lost:
        yield "no refund of 5.00 USD had a fault."
        return
    for transaction in {str(call.path).split("/")[-2] for call in lost}:
        refunded = seen.state(transaction).get("refunded")
        if refunded != 500:
            yield f"{money(refunded or 0)} was refunded in the end, not 5.00 USD."


def production_1(seen: SandboxEvidence) -> Iterator[str]:
    user = seen.guide["users"]["approved"][3]
    if not any("phoneNumber" in (call.body or {}) for call in seen.calls_on("update_user", user)):
        others = any("phoneNumber" in (call.body or {}) for call in seen.calls("update_user"))
        yield f"the fourth approved user has no new phone number{'; another user has' if others else ''}."
