"""The seeded world: records of every kind and state, and no data of real people."""

import json
import re
import time

import pytest

from tests.sandbox.driver import Api
from workbench.base.schema import checks
from workbench.sandbox import Sandbox
from workbench.sandbox.controls.reading import RECORD_KINDS
from workbench.service.chains import address_problems
from workbench.service.interface.convert import converter
from workbench.service.interface.table import OPERATIONS
from workbench.service.interface.vocabulary import DisputeStatus, EventApplicationStatus


def test_the_guide_is_plain_data_with_the_full_key_first(api):
    guide = api.guide

    assert guide == json.loads(json.dumps(guide))
    assert {
        "base_url", "api_keys", "cards", "users", "companies", "contracts", "disputes", "payment_accounts",
        "payment_routes", "rewards_users",
    } <= set(guide)  # fmt: skip
    assert list(guide["api_keys"]) == [
        "full", "read only", "contractsAndSignatures:read only", "rewards only", "team not found",
        "provider-managed", "company team", "no corporate cards",
    ]  # fmt: skip


def test_there_is_something_in_every_state(api):
    guide = api.guide

    assert set(EventApplicationStatus) == set(guide["users"])
    assert {"notActivated", "active", "locked", "canceled"} == set(guide["cards"])
    assert set(DisputeStatus) == set(guide["disputes"])
    assert [one["fiat_deposit"] for one in guide["payment_routes"]] == [True, False]
    assert len(guide["companies"][0]["owners"]) > 1
    assert {("EVM", 2), ("EVM", 1), ("Solana", 2), ("Stellar", 2)} == {
        ("EVM" if one["chain_id"] > 2000 else one["chain"].split()[0], one["contract_version"])
        for one in guide["contracts"]
    }
    assert len(guide["rewards_users"]) >= 20
    assert sum(one["beyond_paging"] for one in guide["rewards_users"]) == 1


def test_tenants_differ_as_their_keys_say(api):
    tenants = api.guide["tenants"]

    assert (
        tenants["provider-managed"]["management"],
        tenants["company team"]["team"],
        tenants["no corporate cards"]["corporate_cards"],
    ) == ("provider", "company", False)


def test_every_operation_works_with_the_full_key(api):
    """Every operation works with ids from the guide."""
    company = api.guide["companies"][0]
    settled = api.settled()
    answers = {
        "list_contracts": api.call("GET", "/issuing/tenants/contracts"),
        "sign_withdrawal": api.sign(),
        "simulate_authorization": api.authorize(),
        "simulate_reversal": api.reverse(api.authorized()),
        "simulate_refund": api.refund(settled),
        "create_payment_account": api.pay_to(userId=api.user),
        "delete_payment_account": api.call("DELETE", f"/payment-accounts/{api.guide['payment_accounts'][0]}"),
        "update_user": api.update_user(api.user, firstName="New"),
        "update_ubo": api.call(
            "PATCH",
            f"/issuing/applications/company/{company['id']}/ubo/{company['owners'][0]['id']}",
            {"firstName": "N"},
        ),
        "update_dispute": api.call(
            "PATCH", f"/issuing/disputes/{api.guide['disputes']['pending'][0]}", {"status": "canceled"}
        ),
        "create_user_application": api.apply(),
        "list_rewards_activity": api.call("GET", "/issuing/rewards/activity", userId=api.user),
    }

    assert list(OPERATIONS) == list(answers)
    for name, answer in answers.items():
        assert OPERATIONS[name].success == answer.status, name
        read = converter().read_answer(OPERATIONS[name], answer.body)
        for one in read if isinstance(read, list) else [read]:
            flagged = [p for p in checks.flags(one) if not (p.rule == "pattern" and name == "list_contracts")]
            assert [p for p in flagged if p.rule != "unknown"] == [], name


@pytest.mark.parametrize("behavior, flagged", [("documented", [False] * 3), ("observed", [False] * 3 + [True])])
def test_contracts_on_stellar_are_beside_their_pattern(behavior, flagged):
    """Stellar addresses do not match the documented pattern, so only `observed` lists their contracts."""
    body = Api(Sandbox(behavior=behavior)).call("GET", "/issuing/tenants/contracts").body
    contracts = converter().read_answer(OPERATIONS["list_contracts"], body)

    assert [bool(checks.flags(one)) for one in contracts] == flagged


def test_every_address_is_valid_by_its_check_sum(api):
    for one in api.guide["contracts"]:
        for address in (
            one["proxy_address"],
            one["controller_address"],
            *one["admin_addresses"],
            one["tokens"][0]["address"],
        ):
            assert address_problems(address, one["chain_id"]) == ()


def test_every_display_of_a_deposit_address_warns(api):
    """Every display of a deposit address has the warning not to send funds."""
    contracts = api.call("GET", "/issuing/tenants/contracts").body

    assert all("do not send funds" in one["deposit_address"] for one in api.guide["contracts"])
    onramps = [details for one in contracts for details in one.get("onramp", {}).values()]
    assert len(onramps) == 6
    assert {"SANDBOX, do not send funds"} == {one["beneficiaryName"] for one in onramps}
    assert "do not send funds" in json.dumps([one["fiat_deposit_address"] for one in api.guide["payment_routes"]])


def test_people_are_made_of_reserved_data(sandbox):
    """People have example.com addresses, 555-01xx numbers and no national id."""
    text = json.dumps([sandbox.records(kind) for kind in RECORD_KINDS])

    assert set(re.findall(r"@([a-z.]+)", text)) == {"example.com"}
    assert all(re.fullmatch(r"31255501\d\d", number) for number in re.findall(r'"phone_number": "(\d+)"', text))
    assert "national" not in text
    assert "birth" not in text


@pytest.mark.parametrize("seed", [0, -1, 2**70])
def test_any_seed_makes_a_world(seed):
    assert Api(Sandbox(seed)).sign().status == 200


def test_unknown_settings_are_refused():
    with pytest.raises(ValueError, match="rewiev_seconds"):
        Sandbox(behavior={"rewiev_seconds": 5})


def test_settings_change_behavior_without_code():
    api = Api(Sandbox(behavior={"review_seconds": 5, "currency": ("USD", "EUR")}))
    user = api.apply().body["id"]
    api.sandbox.clock.advance(seconds=5)

    assert api.sandbox.state(user)["status"] == "approved"
    assert api.authorize(currency="EUR").status == 200


@pytest.mark.slow
def test_a_sandbox_is_made_quickly():
    """A sandbox takes well under a second of processor time; the fastest of several attempts counts."""
    Sandbox()
    took = []
    for seed in range(5001, 5006):  # the initial state is cached by seed, so each try uses another seed
        start = time.thread_time()
        Sandbox(seed)
        took.append(time.thread_time() - start)

    assert min(took) < 0.15
