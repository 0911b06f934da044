"""A late answer with this client and with a generated client: the number of effects of one call."""

import contextlib

import pytest

from tests.client.doubles import KEY, PURCHASE
from tests.client.test_network import silent
from workbench.base.errors import OutcomeUnknown
from workbench.client.calls.client import Client


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_effects_of_one_call_whose_answer_is_late() -> None:
    """After a late answer this client has one effect and an unknown outcome. A generated client repeats the effect."""
    lithic = pytest.importorskip("lithic")
    with silent() as server, Client(base_url=server.url, api_key=KEY, timeout=1) as ours:
        with pytest.raises(OutcomeUnknown):
            ours.simulate_authorization(**PURCHASE)
        effects = len(server.requests)
    with silent() as server:
        theirs = lithic.Lithic(api_key="any", base_url=server.url, timeout=1)
        with contextlib.closing(theirs), pytest.raises(lithic.APITimeoutError):
            theirs.cards.create(type="VIRTUAL")
        effects_of_generated = len(server.requests)
    print(f"effects of one call with a late answer: ours {effects}, a generated client {effects_of_generated}")

    assert effects == 1
    assert effects_of_generated == 3
