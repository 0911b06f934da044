"""Settings for behavior of live services: off in `documented`, on in `observed`."""

import pytest

from tests.sandbox.driver import Api
from workbench.sandbox import Sandbox
from workbench.service.interface.assumptions import settings


def on(behavior: str) -> Api:
    return Api(Sandbox(seed=7, behavior=behavior))


def test_users_show_their_terms():
    """`observed` answers have isTermsOfServiceAccepted, which the document's table does not have."""
    shown = on("observed").apply()
    assert shown.body["isTermsOfServiceAccepted"] is True
    assert "user_terms_shown" in shown.assumed
    assert on("observed").apply(isTermsOfServiceAccepted=False).body["isTermsOfServiceAccepted"] is False
    assert "isTermsOfServiceAccepted" not in on("documented").apply().body


def test_a_simulation_without_a_body():
    """`observed` refuses a reversal without a body, and accepts an empty object."""
    api, plain = on("observed"), on("documented")
    held = api.authorized()
    refused = api.call("POST", f"/simulate/transactions/{held}/reverse")

    assert (refused.status, refused.body["message"]) == (400, "body must be object")
    assert "empty_body" in refused.assumed
    assert api.reverse(held).status == 200
    assert plain.call("POST", f"/simulate/transactions/{plain.authorized()}/reverse").status == 200


def test_one_signature_for_a_contract():
    """While a signature is valid, a different request for the contract is refused, but not for another contract."""
    api = on("observed")

    assert api.sign(0, amount="1").status == 200
    assert api.sign(0, amount="2").status == 409
    assert api.sign(1, amount="1").status == 200


@pytest.mark.parametrize("behavior,lifetime", [("documented", 600), ("observed", 300)])
def test_the_life_of_a_signature(behavior: str, lifetime: int):
    """In `observed` signatures expire sooner, as in live services."""
    assert settings(behavior)["withdrawal_lifetime"] == lifetime


def test_an_inactive_card_declines_where_it_is_set():
    """With the setting an inactive card declines. Decline and refusal name the same assumption."""
    declining = Api(Sandbox(seed=7, behavior={"card_not_active": "declined"}))
    locked = declining.guide["cards"]["locked"][0]
    declined, refused = declining.authorize(locked), on("documented").authorize(locked)

    assert (declined.status, declined.body["status"]) == (200, "declined")
    assert refused.status == 400
    assert "card_not_active" in declined.assumed & refused.assumed


def test_lists_of_objects_are_reversed_where_it_is_set():
    """A setting reverses lists, whose order is not documented."""
    usual, reversed_ = (
        Api(Sandbox(behavior=behavior)).call("GET", "/issuing/tenants/contracts").body
        for behavior in ("documented", {"reversed_lists": True})
    )

    assert len(usual) > 1
    assert [contract["id"] for contract in reversed_] == [contract["id"] for contract in usual][::-1]
