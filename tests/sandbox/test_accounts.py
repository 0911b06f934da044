"""Payment accounts, routes and deposits. Source: Endpoints 6 and 7, Events, Versioning."""

import pytest

from tests.sandbox.driver import BANK, Api
from workbench.base.errors import UsageError

NOBODY = "00000000-0000-4000-8000-000000000000"


def test_an_account_is_created_and_answered_with_what_was_sent(api):
    """The answer has the request's members, rail and bankAccountType. thirdParty is false by default."""
    answer = api.pay_to(userId=api.user, nickname="Rent", bank={"thirdParty": True})

    assert answer.status == 200
    assert answer.body["externalFiatAccount"] == {
        **BANK,
        "beneficiaryBusinessName": "",
        "thirdParty": True,
        "rail": "ach",
        "bankAccountType": "checking",
    }
    assert ("Rent", "externalFiatAccount", api.user) == (
        answer.body["nickname"],
        answer.body["type"],
        answer.body["userId"],
    )
    assert api.pay_to(userId=api.user).body["externalFiatAccount"]["thirdParty"] is False
    assert "companyId" not in answer.body
    assert answer.body["createdAt"]


def test_a_company_team_owns_by_company(sandbox):
    """A company team's account belongs to a company, and its answer omits userId."""
    api = Api(sandbox, "company team")
    company = api.examples["companies"][0]["id"]

    answer = api.pay_to(companyId=company)

    assert (200, company) == (answer.status, answer.body["companyId"])
    assert "userId" not in answer.body


@pytest.mark.parametrize("key, member", [("full", "companyId"), ("company team", "userId")])
def test_the_other_kind_of_owner_is_404(sandbox, key, member):
    api = Api(sandbox, key)

    answer = api.pay_to(**{member: api.user if member == "userId" else api.examples["companies"][0]["id"]})

    assert (answer.status, answer.body["message"]) == (404, "Team not found")
    assert "account_owner_kind" in answer.assumed


@pytest.mark.parametrize(
    "change",
    [
        {"userId": None},
        {"companyId": NOBODY},
        {"nickname": "x" * 65},
        {"type": "card"},
        {"bank": {"accountNumber": ""}},
        {"bank": {"beneficiaryType": "robot"}},
        {"bank": {"beneficiaryType": "business"}},
        {"bank": {"thirdParty": "no"}},
        {"bank": {"beneficiaryAddress": {}}},
        {"externalFiatAccount": None},
        {"bank": {"currency": "xyz"}},
        {"bank": {"currency": "USD"}},
        {"bank": {"currency": "usd "}},
        {"bank": {"currency": "eur"}},
        {"bank": {"routingNumber": "12"}},
        {"bank": {"routingNumber": "0110000150"}},
        {"bank": {"routingNumber": "01100001x"}},
    ],
    ids=repr,
)
def test_an_invalid_account_is_400_with_the_documented_words(api, change):
    """An invalid account gets 400 BadRequestError, Invalid request."""
    answer = api.pay_to(**{"userId": api.user, **change})

    assert answer.body == {"statusCode": 400, "error": "BadRequestError", "message": "Invalid request"}


def test_a_missing_owner_is_named_as_observed(observed):
    """With `observed` the documented message is followed by the problem, as an assumption says."""
    answer = observed.pay_to()

    assert answer.body["message"] == "Invalid request: Provide either userId or companyId; neither is given"
    assert "account_error_text" in answer.assumed


def test_the_nickname_may_have_64_characters(api):
    assert api.pay_to(userId=api.user, nickname="x" * 64).status == 200


def test_a_business_has_a_name_of_its_own(api):
    person = {"beneficiaryFirstName": None, "beneficiaryLastName": None}
    bank = {name: value for name, value in {**BANK, **person}.items() if value is not None}
    bank |= {"beneficiaryType": "business", "beneficiaryBusinessName": "Example Trading", "rail": "wire"}

    answer = api.call(
        "POST", "/payment-accounts", {"type": "externalFiatAccount", "externalFiatAccount": bank, "userId": api.user}
    )

    assert (answer.status, answer.body["externalFiatAccount"]["rail"]) == (200, "wire")


def test_an_owner_that_is_unknown_is_404(api):
    assert api.pay_to(userId=NOBODY).body["message"] == "User not found"


def test_an_account_is_deleted_once(api):
    """A deletion returns 204 without a body, and then 404 Payment account not found."""
    account = api.pay_to(userId=api.user).body["id"]

    first, second = (api.call("DELETE", f"/payment-accounts/{account}") for _ in range(2))

    assert (first.status, first.body) == (204, None)
    assert (
        second.status,
        second.body["error"],
        second.body["message"],
    ) == (404, "NotFoundError", "Payment account not found")


@pytest.mark.parametrize("path, headers", [("/payment-routes", set()), ("/automations", {"deprecation"})])
def test_routes_are_an_empty_list_also_by_the_old_name(api, path, headers):
    """Payment routes are an empty list, also at the alias, which is marked as deprecated."""
    answer = api.call("GET", path)

    assert (answer.status, answer.body) == (200, [])
    assert headers == {"deprecation"} & set(answer.headers)
    assert {"payment_routes"} == answer.assumed


def deposit_events(api):
    return [one.payload["body"] for one in api.sandbox.events("microDeposit.received")]


@pytest.mark.parametrize("amount, sent", [("0.01", 1), ("1.99", 1), ("2.00", 0), ("150.00", 0)])
def test_a_deposit_below_two_dollars_raises_an_event(api, amount, sent):
    """A deposit below 2.00 USD sends an event and creates no transaction. A deposit of 2.00 USD does not."""
    before = len(api.sandbox.records("transaction"))

    answer = api.sandbox.deposit(amount=amount)

    assert sent != answer.processed
    assert sent == len(deposit_events(api))
    assert before == len(api.sandbox.records("transaction"))


def test_the_event_of_a_deposit_says_what_the_document_says(api):
    route = next(one for one in api.guide["payment_routes"] if one["fiat_deposit"])

    api.sandbox.deposit(route["id"], amount="0.37", rail="wire", reference_id="IMAD-1")

    body = deposit_events(api)[0]
    assert {
        "paymentRouteId": route["id"],
        "userId": route["user_id"],
        "amount": "0.37",
        "currency": "usd",
        "rail": "wire",
        "description": "ACCTVERIFY",
        "originatorName": "Example Verification",
        "referenceId": "IMAD-1",
        "receivedAt": "2026-01-15T15:00:00.000Z",
    } == {name: value for name, value in body.items() if name != "id"}


def test_only_routes_with_a_fiat_deposit_address_get_events(api):
    route = next(one["id"] for one in api.guide["payment_routes"] if not one["fiat_deposit"])

    assert api.sandbox.deposit(route).event is None
    assert deposit_events(api) == []


@pytest.mark.parametrize("amount", ["0", "-1", "NaN", "1e400", "0.001", 0.37, None, "x", "Infinity"])
def test_a_deposit_is_dollars_and_cents(api, amount):

    with pytest.raises(UsageError):
        api.sandbox.deposit(amount=amount)
