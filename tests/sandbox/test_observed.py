"""What live services were seen to do, each a setting: off in `documented`, on in `observed`."""

import pytest

from tests.sandbox.driver import Api
from workbench.interface.assumptions import settings
from workbench.sandbox import Sandbox


def on(behavior: str) -> Api:
    return Api(Sandbox(seed=7, behavior=behavior))


def test_users_show_their_terms():
    """The document's table has no such member, live answers have."""
    assert on("observed").apply().body["isTermsOfServiceAccepted"] is True
    assert on("observed").apply(isTermsOfServiceAccepted=False).body["isTermsOfServiceAccepted"] is False
    assert "isTermsOfServiceAccepted" not in on("documented").apply().body


def test_a_simulation_without_a_body():
    """Without any body a reversal is refused; an empty object is a body."""
    api, plain = on("observed"), on("documented")
    held = api.authorized()
    refused = api.call("POST", f"/simulate/transactions/{held}/reverse")

    assert (refused.status, refused.body["message"]) == (400, "body must be object")
    assert "empty_body" in refused.assumed
    assert api.reverse(held).status == 200
    assert plain.call("POST", f"/simulate/transactions/{plain.authorized()}/reverse").status == 200


def test_one_signature_for_a_contract():
    """While a signature lives, another one for the same contract is refused, and one for another contract is made."""
    api = on("observed")

    assert api.sign(0, amount="1").status == 200
    assert api.sign(0, amount="2").status == 409
    assert api.sign(1, amount="1").status == 200


@pytest.mark.parametrize("behavior,lifetime", [("documented", 600), ("observed", 300)])
def test_the_life_of_a_signature(behavior: str, lifetime: int):
    """Live signatures were seen to end sooner."""
    assert settings(behavior)["withdrawal_lifetime"] == lifetime
