"""Details of the interface document in which reviews found deviations, each as a test."""

import json
from contextlib import suppress

import pytest

import workbench as wb
from tests.sandbox.driver import Api
from workbench.base.schema.checks import flags
from workbench.sandbox import Sandbox
from workbench.service import chains
from workbench.service.interface.convert import converter
from workbench.service.interface.events import Event
from workbench.service.interface.examples import example
from workbench.service.interface.openapi import document
from workbench.service.interface.table import OPERATIONS
from workbench.service.interface.transactions import UpdateDispute

CONTRACT = {
    "id": "00000000-0000-4000-8000-000000000001",
    "chainId": 84532,
    "controllerAddress": "0x" + "1" * 40,
    "proxyAddress": "0x" + "2" * 40,
    "contractVersion": 2,
}


def test_missing_tokens_are_marked_and_totals_say_so():
    """A missing required list is marked, and totals mention it."""
    (contract,) = converter().read_answer(OPERATIONS["list_contracts"], [CONTRACT])

    assert [(flag.path, flag.rule) for flag in flags(contract)] == [("tokens", "required")]
    totals = wb.history([contract]).contracts(())
    assert "1 contracts have an empty or missing list of tokens, and add nothing to totals." in (totals.attrs["notes"])


def test_empty_tokens_are_not_marked():
    (contract,) = converter().read_answer(OPERATIONS["list_contracts"], [CONTRACT | {"tokens": []}])

    assert flags(contract) == ()


@pytest.mark.parametrize(
    "first, second, status",
    [
        ({"countryOfIssue": "US"}, {"nationalId": "12"}, 400),
        ({"countryOfIssue": "GB", "nationalId": "12"}, {"nationalId": "34"}, 200),
        ({"countryOfIssue": "GB", "nationalId": "12"}, {"countryOfIssue": "US"}, 400),
        ({"countryOfIssue": "GB", "nationalId": "900123456"}, {"countryOfIssue": "US"}, 200),
    ],
)
def test_a_national_id_is_checked_with_what_is_on_file(first, second, status):
    with wb.connect(tenant="company team", check=False) as api:
        company = api.sandbox.guide()["companies"][0]
        ids = {"companyId": company["id"], "uboId": company["owners"][0]["id"]}
        for given, expected in ((first, 200), (second, status)):
            with api.responses() as responses, suppress(wb.errors.ApiError):
                api.send(api.from_wire("update_ubo", json.dumps(given | ids)))
            assert responses[-1].status == expected


@pytest.mark.parametrize("setting, expected", [(True, ""), (False, None)])
def test_an_individual_account_is_answered_with_the_business_name(setting, expected):
    api = Api(Sandbox(behavior={"account_business_name": setting}))
    answer = api.pay_to(userId=api.user)

    assert answer.body["externalFiatAccount"].get("beneficiaryBusinessName") == expected


def test_an_id_of_an_event_is_any_text():
    body = {"id": "user-1", "firstName": "Ada", "email": "a@example.com", "isActive": True}
    body |= {"isTermsOfServiceAccepted": True, "applicationStatus": "approved", "applicationReason": ""}
    envelope = {"id": "e", "resource": "user", "action": "updated", "version": "1.0.0", "body": body}

    assert flags(converter().structure(envelope, Event).body) == ()


def test_openapi_marks_the_country_of_a_requested_address():
    schemas = document()["components"]["schemas"]

    assert "x-assumed" in schemas["AddressInput"]["properties"]["country"]
    assert "x-assumed" not in schemas["Address"]["properties"]["country"]


def test_the_example_of_updating_a_dispute_says_something():
    assert converter().write_request(OPERATIONS["update_dispute"], example(UpdateDispute))[1]


def test_a_deposit_names_the_rails_that_it_takes():
    assert "rtp" not in (Sandbox.deposit.__doc__ or "")
    for rail in ("ach", "wire"):
        Sandbox().deposit(rail=rail)


def test_the_guide_of_another_tenant_shows_that_tenant_alone():
    with wb.connect() as first, wb.connect(tenant="provider-managed") as second:
        every, own = first.sandbox.guide(), second.sandbox.guide()

        assert own["tenants"] == {}
        assert list(own["api_keys"]) == ["provider-managed"]
        others = {"companies", "contracts", "cards", "users"}
        theirs = json.dumps({name: every[name] for name in others}, default=str)
        ids = [contract["id"] for contract in own["contracts"]] + own["users"]["approved"]
        assert ids
        assert not any(key in theirs for key in ids)
        assert every["tenants"].keys() >= {"provider-managed"}


def test_typed_data_with_a_hexadecimal_chain_id():
    """`chainId` as hex text is accepted, because wallet libraries write it so."""
    typed = {
        "types": {"Note": [{"name": "text", "type": "string"}]},
        "primaryType": "Note",
        "domain": {"name": "Example", "chainId": 84532},
        "message": {"text": "hello"},
    }
    hexadecimal = typed | {"domain": {"name": "Example", "chainId": "0x14a34"}}

    assert chains.digest(hexadecimal) == chains.digest(typed)
    with pytest.raises(wb.errors.UsageError):
        chains.digest(typed | {"domain": {"name": "Example", "chainId": "0xzz"}})


@pytest.mark.parametrize("setting, expected", [("list", []), ("object", {"paymentRoutes": []})])
def test_payment_routes_are_a_list_or_an_object(setting, expected):
    sandbox = Sandbox(behavior={"payment_routes": setting})

    for path in ("/payment-routes", "/automations"):
        assert Api(sandbox).call("GET", path).body == expected
