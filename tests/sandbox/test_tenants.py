"""Events, records, requests, examples and endpoints are limited to the tenant of the session's key."""

import pytest

import workbench as wb
from tests.sandbox.driver import Api
from workbench.base.errors import NotFound
from workbench.sandbox.internals import internals


@pytest.fixture
def two(sandbox):
    """Return a sandbox, and drivers of two tenants that each made a call."""
    drivers = Api(sandbox), Api(sandbox, "company team")
    for one in drivers:
        one.authorize()
    return sandbox, *drivers


def test_a_sandbox_shows_what_is_of_a_keys_tenant(two):
    """By default the full key's tenant is shown, and all tenants only on request."""
    sandbox, mine, other = two
    seen = internals(sandbox).for_key(other.key)

    assert {mine.card} == {one.payload["body"]["spend"]["cardId"] for one in sandbox.events()}
    assert {other.card} == {one.payload["body"]["spend"]["cardId"] for one in seen.events()}
    assert 4 == len(sandbox.events(all_tenants=True))
    for kind in ("card", "user", "contract", "transaction"):
        ours, theirs = ({one["id"] for one in box.records(kind)} for box in (sandbox, seen))
        assert ours
        assert theirs
        assert not ours & theirs
        assert {one["id"] for one in sandbox.records(kind, all_tenants=True)} >= ours | theirs
    assert seen.guide()["cards"] == other.examples["cards"]


def test_a_record_of_another_tenant_is_not_found(two):
    sandbox, mine, other = two

    with pytest.raises(NotFound):
        sandbox.state(other.card)
    with pytest.raises(NotFound):
        internals(sandbox).for_key(other.key).state(mine.card)
    assert sandbox.state(other.card, all_tenants=True) == internals(sandbox).for_key(other.key).state(other.card)


def test_requests_are_those_of_the_tenant():
    """A request without a known key belongs to no tenant."""
    sandbox = wb.Sandbox()
    mine, other = Api(sandbox), Api(sandbox, "company team")
    mine.authorize()
    other.call("GET", "/issuing/tenants/contracts")
    Api(sandbox, "nobody's key").call("GET", "/issuing/tenants/contracts")

    assert ["simulate_authorization"] == [one.operation for one in sandbox.requests()]
    assert ["list_contracts"] == [one.operation for one in internals(sandbox).for_key(other.key).requests()]
    assert [200, 200, 401] == [one.status for one in sandbox.requests(all_tenants=True)]
    assert [401] == [one.status for one in internals(sandbox).for_key("nobody's key").requests()]


@pytest.mark.parametrize("served", [False, True], ids=["embedded", "served"])
def test_the_controls_of_a_session_are_scoped_to_its_key(served):
    sandbox = wb.Sandbox()
    with sandbox.serve() as url:
        where = {"where": url} if served else {"seed": 1}
        with wb.connect(tenant="company team", **where) as api:
            card = api.sandbox.guide()["cards"]["active"][0]
            purchase = api.simulate_authorization(
                card_id=card, amount=5, currency="USD", merchant_name="x", merchant_category_code="5411"
            )

            assert [purchase.transaction_id] == [one["id"] for one in api.sandbox.records("transaction")]
            assert {card} == {one.payload["body"]["spend"]["cardId"] for one in api.sandbox.events()}
            assert api.sandbox.guide() == api.sandbox.guide()


def test_endpoints_and_deliveries_are_the_tenants(two):
    sandbox, _, other = two
    seen = internals(sandbox).for_key(other.key)
    endpoint = seen.register_endpoint("http://127.0.0.1:9/webhooks")
    other.authorize()
    sandbox.flush()

    assert ([endpoint.id], [endpoint.id] * 2) == (
        [one.id for one in seen.endpoints()], [one.endpoint for one in seen.deliveries()],
    )  # fmt: skip
    assert ([], []) == (sandbox.endpoints(), sandbox.deliveries())
    assert [endpoint.id] * 2 == [one.endpoint for one in sandbox.deliveries(all_tenants=True)]
