"""Applications, their statuses, users, companies and owners. Source: Endpoints 8, 9, 11; States and transitions."""

import pytest

import workbench as wb
from tests.each import each
from tests.sandbox.driver import PERSON, Api, state_of
from workbench.sandbox import Sandbox
from workbench.sandbox.control_records import ApplicationState
from workbench.sandbox.store import open_store
from workbench.service.interface.vocabulary import ApplicationStatus, EventApplicationStatus

NOBODY = "00000000-0000-4000-8000-000000000000"
WALLET = "0x000000000000000000000000000000000000dEaD"


def last_event(api):
    return api.sandbox.events("user.updated")[-1].payload


def test_an_application_goes_through_review_by_the_clock(api):
    """An application is pending for 60 seconds of sandbox time, then approved. Both send an event."""
    answer = api.apply()
    user = answer.body["id"]
    assert (answer.status, answer.body["applicationStatus"]) == (200, "pending")

    api.sandbox.clock.advance(seconds=59)
    assert api.update_user(user).body["applicationStatus"] == "pending"
    api.sandbox.clock.advance(seconds=1)

    assert api.update_user(user).body["applicationStatus"] == "approved"
    statuses = [one.payload["body"]["applicationStatus"] for one in api.sandbox.events("user.updated")]
    assert statuses == ["pending", "approved"]
    assert last_event(api)["eventReceivedAt"] == "2026-01-15T15:01:00.000Z"


@pytest.mark.parametrize("status", list(EventApplicationStatus))
def test_a_word_in_the_last_name_chooses_the_outcome_at_once(api, status):
    """A status word in the last name determines the outcome. The event has eleven statuses, the answer eight."""
    answer = api.apply(lastName=f"testing{status.upper()}x")

    assert status == last_event(api)["body"]["applicationStatus"]
    shown = {"notStarted": "pending", "tosNotAccepted": "pending", "exempt": "approved"}.get(status, status)
    assert shown == answer.body["applicationStatus"]
    assert shown in frozenset(ApplicationStatus)


def test_the_observed_behavior_shows_the_raw_word(observed):
    assert observed.apply(lastName="tosNotAccepted").body["applicationStatus"] == "tosNotAccepted"


@pytest.mark.parametrize("status", list(EventApplicationStatus))
def test_the_review_control_moves_a_user_to_any_status(api, status):
    user = api.user

    answer = api.sandbox.review(user, status, "LABEL_ONE, LABEL_TWO", "provider_initiated")

    assert ApplicationState(id=user, status=status, reason="LABEL_ONE, LABEL_TWO") == answer
    event = last_event(api)
    assert ("1.1.0", status, "LABEL_ONE, LABEL_TWO", "provider_initiated") == (
        event["version"],
        event["body"]["applicationStatus"],
        event["body"]["applicationReason"],
        event["body"]["statusChangeReason"],
    )


def test_a_review_without_a_cause_is_version_one(api):
    api.sandbox.review(api.user, "denied")

    event = last_event(api)
    assert event["version"] == "1.0.0"
    assert "statusChangeReason" not in event["body"]
    assert event["body"]["applicationReason"]


def test_terms_not_accepted_wait_and_are_then_approved(api):
    """tosNotAccepted has a completion link. After acceptance an event reports approved."""
    user = api.apply(lastName="Approved", isTermsOfServiceAccepted=False).body["id"]
    waiting = last_event(api)["body"]

    api.sandbox.accept_terms(user)

    assert (waiting["applicationStatus"], waiting["isTermsOfServiceAccepted"]) == ("tosNotAccepted", False)
    assert user == waiting["applicationCompletionLink"]["params"]["userId"]
    assert waiting["applicationCompletionLink"]["params"]["signature"]
    accepted = last_event(api)["body"]
    assert (accepted["applicationStatus"], accepted["isTermsOfServiceAccepted"]) == ("approved", True)
    assert "applicationCompletionLink" not in accepted


def test_a_review_by_control_is_taken_at_its_word(api):
    """A review by control to approved also accepts the terms."""
    user = api.guide["users"]["tosNotAccepted"][0]

    assert api.sandbox.review(user, "approved").status == "approved"
    assert last_event(api)["body"]["isTermsOfServiceAccepted"] is True


def test_a_review_by_the_clock_waits_for_the_terms(api):
    user = api.apply(isTermsOfServiceAccepted=False).body["id"]

    api.sandbox.advance(minutes=1)

    assert api.sandbox.state(user)["status"] == "tosNotAccepted"


def test_terms_are_accepted_only_where_they_wait(api):
    from workbench.base.errors import BadRequest

    with pytest.raises(BadRequest, match="cannot accept terms"):
        api.sandbox.accept_terms(api.user)


def test_more_verification_brings_both_links(api):
    body = api.apply(lastName="needsVerification").body

    for link in ("applicationCompletionLink", "applicationExternalVerificationLink"):
        assert body["id"] == body[link]["params"]["userId"]
        assert body[link]["url"].startswith("https://sandbox.workbench.invalid/")


def test_an_application_is_answered_as_the_user(api):
    """The answer has the submitted members, but no national id, birth date, IP address or salary."""
    body = api.apply(externalId="mine-1", sourceKey="team", walletAddress=WALLET).body

    for name in ("firstName", "lastName", "email", "address"):
        assert PERSON[name] == body[name]
    assert (
        body["externalId"],
        body["sourceKey"],
        body["walletAddress"],
        body["isActive"],
    ) == ("mine-1", "team", WALLET, True)
    assert not {"nationalId", "birthDate", "ipAddress", "annualSalary"} & set(body)


def test_the_sandbox_keeps_no_national_id(api):
    user = api.apply(nationalId="900555123").body["id"]

    assert "900555123" not in repr(api.sandbox.state(user))


@pytest.mark.parametrize("token", ["sumsubShareToken", "personaShareToken"])
def test_a_share_token_stands_for_the_person(api, token):
    """A share token replaces the personal members."""
    personal = dict.fromkeys(("firstName", "lastName", "birthDate", "nationalId", "countryOfIssue", "email", "address"))

    answer = api.apply(**personal, **{token: "token-from-the-provider"})

    assert answer.status == 200
    assert answer.body["firstName"]


def test_a_share_token_and_personal_members_do_not_go_together(api):
    assert api.apply(sumsubShareToken="t").status == 400


@pytest.mark.parametrize("member", ["firstName", "nationalId", "address", "ipAddress", "occupation"])
def test_a_personal_application_is_whole(api, member):
    assert api.apply(**{member: None}).status == 400


@pytest.mark.parametrize(
    "members",
    [
        {"firstName": "x" * 51}, {"lastName": "x" * 51}, {"birthDate": "1.2.1990"}, {"nationalId": "12345678"},
        {"countryOfIssue": "USA"}, {"phoneCountryCode": "1234"}, {"phoneNumber": "5" * 16}, {"phoneNumber": "55-01"},
        {"walletAddress": "0x1"}, {"solanaAddress": "0" * 40}, {"stellarAddress": "G1"}, {"externalId": ""},
        {"externalId": "x" * 256}, {"sourceKey": "x" * 25}, {"contractAddress": "G" * 60}, {"chainId": "84532x"},
    ],
    ids=lambda members: next(f"{name} {str(value)[:5]} {len(value)}" for name, value in members.items()),
)  # fmt: skip
def test_the_limits_of_an_application(api, members):
    assert api.apply(**members).status == 400


def test_a_national_id_of_another_country_is_free(api):
    assert api.apply(countryOfIssue="DE", nationalId="L01X00T47").status == 200


def test_an_external_id_is_unique_within_the_tenant(api):
    """A second use gets 409, in applications and updates. Another tenant may use the id."""
    first = api.apply(externalId="mine").body["id"]

    for answer in (api.apply(externalId="mine"), api.update_user(api.user, externalId="mine")):
        assert (
            answer.status,
            answer.body["error"],
            answer.body["message"],
        ) == (409, "ConflictError", "External id already in use")
    assert api.update_user(first, externalId="mine").status == 200
    assert Api(api.sandbox, "company team").apply(externalId="mine").status == 200


def test_an_external_id_is_free_again_when_it_was_changed(api):
    first = api.apply(externalId="mine").body["id"]
    api.update_user(first, externalId="other")

    assert api.apply(externalId="mine").status == 200


def test_an_initiated_application_is_filed_by_its_id(api):
    """An initiated application keeps its user id. A completed one gets 409, and an unknown one 404."""
    user = api.guide["users"]["notStarted"][0]

    answer = api.apply(id=user)

    assert (200, user) == (answer.status, answer.body["id"])
    assert api.apply(id=user).status == 409
    assert api.apply(id=NOBODY).status == 404


def test_a_refused_application_leaves_nothing(api):
    before = state_of(api.sandbox)

    assert api.apply(externalId=api.sandbox.state(api.user)["external_id"]).status == 409
    assert before == state_of(api.sandbox)


def test_an_update_changes_what_is_given_and_is_seen_later(api):
    before = api.update_user(api.user).body

    answer = api.update_user(api.user, firstName="Zoe", phoneNumber="5550199", isActive=False)

    changed = {name for name in before if before[name] != answer.body.get(name)}
    assert {"firstName", "phoneNumber", "isActive"} == changed - {"updatedAt"}
    assert answer.body == api.update_user(api.user).body


def test_an_empty_update_changes_nothing(api):
    before = api.sandbox.state(api.user)

    assert api.update_user(api.user).status == 200
    assert before == api.sandbox.state(api.user)


def test_a_part_of_an_address_changes_that_part(api):
    before = api.update_user(api.user).body["address"]

    answer = api.update_user(api.user, address={"line1": "2 Example Street"})

    assert {**before, "line1": "2 Example Street"} == answer.body["address"]


def test_an_unknown_user_is_404(api):
    answer = api.update_user(NOBODY)

    assert (answer.status, answer.body["message"]) == (404, "User not found")


# owners of companies


def owner(api, status):
    company = api.guide["companies"][0]
    return company["id"], next(one["id"] for one in company["owners"] if one["status"] == status)


def update_owner(api, company, ubo, **members):
    return api.call("PATCH", f"/issuing/applications/company/{company}/ubo/{ubo}", members)


def status_of(answer, ubo):
    return next(o["applicationStatus"] for o in answer.body["ultimateBeneficialOwners"] if o["id"] == ubo)


def test_an_owner_reapplies(api):
    """After a reapplication owner and company are pending, then reviewed."""
    company, ubo = owner(api, "denied")

    answer = update_owner(api, company, ubo, nationalId="900123456", countryOfIssue="US")

    assert (answer.status, answer.body["applicationStatus"], status_of(answer, ubo)) == (200, "pending", "pending")
    api.sandbox.clock.advance(seconds=60)
    assert status_of(update_owner(api, company, ubo), ubo) == "approved"


def test_a_company_is_approved_when_all_its_owners_are(api):
    company, ubo = owner(api, "denied")
    _, other = owner(api, "needsInformation")

    for one in (ubo, other):
        answer = update_owner(api, company, one, lastName="Approved")

    assert answer.body["applicationStatus"] == "approved"


def test_an_owner_can_be_reviewed_by_control(api):
    company, ubo = owner(api, "approved")

    api.sandbox.review(ubo, "locked")

    assert status_of(update_owner(api, company, ubo), ubo) == "locked"
    assert ubo == last_event(api)["body"]["id"]
    assert company == last_event(api)["body"]["companyId"]


def test_an_empty_update_of_an_owner_changes_nothing(api):
    company, ubo = owner(api, "denied")

    assert status_of(update_owner(api, company, ubo), ubo) == "denied"
    assert api.kinds() == []


@pytest.mark.parametrize(
    "members", [{"firstName": "x" * 51}, {"birthDate": "today"}, {"countryOfIssue": "U"}, {"nationalId": "1", "countryOfIssue": "US"}]
)  # fmt: skip
def test_the_limits_of_an_owner(api, members):
    assert update_owner(api, *owner(api, "denied"), **members).status == 400


def test_unknown_companies_and_owners_are_404(api):
    company, ubo = owner(api, "denied")

    assert update_owner(api, NOBODY, ubo).body["message"] == "Company not found"
    assert update_owner(api, company, NOBODY).body["message"] == "Owner not found"


# wallets


def test_a_self_managed_user_with_collateral_on_evm_keeps_the_wallet(api):
    """A user with EVM collateral cannot change the wallet. The message has the chain family and the reason."""
    fixed = api.guide["users"]["approved"][1]

    answer = api.update_user(fixed, walletAddress=WALLET)

    assert answer.status == 400
    assert answer.body["message"] == "EVM wallet cannot be changed: the user has collateral contracts on EVM"
    assert api.update_user(api.user, walletAddress=WALLET).body["walletAddress"] == WALLET


@each("key, member, number", [("full", "solanaAddress", 2), ("full", "stellarAddress", 3), ("provider-managed", "solanaAddress", 2)])  # fmt: skip
def test_solana_and_stellar_wallets_with_collateral_cannot_change(sandbox, key, member, number):
    """In both kinds of tenants a Solana or Stellar wallet with collateral cannot change; without collateral it can."""
    api = Api(sandbox, key)
    users, other = api.examples["users"]["approved"], api.examples["contracts"][number]["admin_addresses"][1]

    assert api.update_user(users[number + 1], **{member: other}).status == 400
    assert api.update_user(users[0], **{member: other}).status == 200


def test_the_same_wallet_again_changes_nothing(api):
    user = api.guide["users"]["approved"][1]
    wallet = api.update_user(user).body["walletAddress"]

    assert api.update_user(user, walletAddress=wallet.lower()).status == 200


def test_a_provider_managed_wallet_has_to_be_an_admin_everywhere(tmp_path):
    """A new wallet must already be an on-chain admin on all of the team's EVM collateral contracts."""
    api = Api(Sandbox(path=tmp_path / "s.db"), "provider-managed")
    evm = [one for one in api.examples["contracts"] if one["chain_id"] > 2000]
    shared = evm[0]["admin_addresses"][0]

    assert api.update_user(api.user, walletAddress=shared).status == 400
    other = open_store(tmp_path / "s.db")
    with other:
        for one in evm[1:]:
            kept = other.get("contract", one["id"])
            other.put("contract", one["id"], {**kept, "admin_addresses": [shared]})
    assert api.update_user(api.user, walletAddress=shared).status == 200
    other.close()
    api.sandbox.close()


def test_a_provider_managed_application_needs_a_wallet_which_becomes_an_owner():
    """An application needs a wallet, which becomes an owner on the user's smart contract."""
    api = Api(Sandbox(), "provider-managed")
    refused = api.apply()
    assert refused.status == 400
    assert "wallet_required" in refused.assumed

    assert api.apply(walletAddress=WALLET).status == 200

    contracts = api.call("GET", "/issuing/tenants/contracts").body
    assert contracts[-1]["adminAddresses"][0] == WALLET
    assert len(contracts[-1]["adminAddresses"]) == 2  # "For V2 EVM contracts it holds several admin addresses"


def test_an_external_contract_fixes_the_wallet(api):
    """A self-managed application may name an external contract, which is then collateral on its chain."""
    proxy = api.guide["contracts"][0]["proxy_address"]
    user = api.apply(walletAddress=WALLET, chainId=84532, contractAddress=proxy).body["id"]

    assert api.update_user(user, walletAddress=proxy).status == 400


def test_a_review_to_the_same_status_sends_nothing(api):
    """Only a change sends an event."""
    user = api.guide["users"]["denied"][0]

    assert api.sandbox.review(user, "denied").status == "denied"
    assert api.kinds() == []
    api.sandbox.review(user, "denied", reason="OTHER")
    assert api.kinds() == ["user.updated"]


def test_events_keep_their_names_when_an_initiated_application_is_filed():
    """Earlier events keep the earlier names of a user, also in provider-managed tenants."""
    with wb.connect(tenant="provider-managed") as api:
        user = api.sandbox.create.user(first_name="Before", status="notStarted").id
        card = api.sandbox.create.card(user).id
        api.simulate_authorization(
            card_id=card, amount=100, currency="USD", merchant_name="A", merchant_category_code="5411"
        )
        filed = {**PERSON, "id": user, "walletAddress": "0x8ba1f109551bD432803012645Ac136ddd64DBA72"}
        assert api.send(api.from_wire("create_user_application", filed)).first_name == "Ada"

        (event,) = api.sandbox.events("transaction.created")
        assert event.payload["body"]["spend"]["userFirstName"] == "Before"


def test_an_owner_under_review_can_be_changed_again():
    """Each change of an owner is a new submission and, with owner events, sends an event."""
    api = Api(Sandbox(behavior={"owner_events": True}))
    company = api.guide["companies"][0]
    path = f"/issuing/applications/company/{company['id']}/ubo/{company['owners'][0]['id']}"
    sent = []
    for name in ("Grace", "Hedy"):
        before = len(api.sandbox.events())
        assert api.call("PATCH", path, {"firstName": name}).status == 200
        sent.append(len(api.sandbox.events()) - before)

    assert sent == [1, 1]
