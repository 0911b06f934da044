"""Tenants of one sandbox: a session sees only the records of its key's tenant."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.base.errors import BadRequest, Forbidden, NotFound, UsageError

pytestmark = pytest.mark.slow  # the tests serve over HTTP, and some wait

PURCHASE: dict[str, Any] = {
    "amount": 100,
    "currency": "USD",
    "merchant_name": "Corner Grocery",
    "merchant_category_code": "5411",
}
Connect = Callable[..., wb.Session]


@pytest.fixture(params=["embedded", "served"])
def connect(request: pytest.FixtureRequest, tmp_path: Path, url: str) -> Iterator[Connect]:
    """Yield a function that connects to one sandbox, in process or over HTTP, with a tenant's key."""
    opened: list[wb.Session] = []

    def made(**settings: Any) -> wb.Session:
        if request.param == "served":
            opened.append(wb.connect(url, **settings))
        else:
            opened.append(wb.connect(path=tmp_path / "sandbox.db", **settings))
        return opened[-1]

    yield made
    for api in opened:
        api.close()


def purchase(api: wb.Session) -> str:
    """Authorize a purchase on the tenant's first card; return the transaction."""
    return api.simulate_authorization(card_id=api.sandbox.guide()["cards"]["active"][0], **PURCHASE).transaction_id


def seen(api: wb.Session) -> set[str]:
    """Return the ids in the events of a session."""
    return {event.body.id for event in api.inbox.events()}


@pytest.mark.parametrize("by", ["key", "name"])
def test_session_receives_the_events_of_its_tenant_alone(connect: Connect, by: str) -> None:
    """With another tenant's key a session receives that tenant's events, and none of the first tenant's."""
    one = connect(tenant="primary")
    keys = one.sandbox.guide()["api_keys"]
    other = connect(**({"api_key": keys["provider-managed"]} if by == "key" else {"tenant": "provider-managed"}))
    first, second = purchase(one), purchase(other)

    assert seen(one) == {first}
    assert seen(other) == {second}
    assert all(event.verified for event in other.inbox.stored())


def test_guide_of_a_session_lists_its_tenant(connect: Connect) -> None:
    """The examples in a session's guide are records that its key may use."""
    one, other = connect(), connect(tenant="company team")

    assert one.sandbox.guide()["cards"]["active"] != other.sandbox.guide()["cards"]["active"]
    # with documented behavior, the service does not list contracts on Stellar (chain 1501)
    listed = {item["id"] for item in other.sandbox.guide()["contracts"] if item["chain_id"] != 1501}
    assert {contract.id for contract in other.list_contracts()} == listed
    with pytest.raises(NotFound):
        one.simulate_authorization(card_id=other.sandbox.guide()["cards"]["active"][0], **PURCHASE)


def test_controls_of_a_session_act_on_its_tenant_alone(connect: Connect) -> None:
    """A tenant's session cannot access other tenants' records. The full key can."""
    operator, tenant = connect(), connect(tenant="company team")
    theirs = operator.sandbox.guide()
    held = purchase(operator)
    event = operator.sandbox.events()[-1].event.id
    endpoint = operator.sandbox.register_endpoint("http://127.0.0.1:9/hook").id
    card, user = theirs["cards"]["active"][0], theirs["users"]["approved"][0]
    acts: list[Callable[[Any], object]] = [
        lambda sandbox: sandbox.settle(held),
        lambda sandbox: sandbox.balance(card),
        lambda sandbox: sandbox.cards.lock(card),
        lambda sandbox: sandbox.review(user, "locked"),
        lambda sandbox: sandbox.state(user),
        lambda sandbox: sandbox.resolve_dispute(theirs["disputes"]["pending"][0], "accepted"),
        lambda sandbox: sandbox.create.card(user),
        lambda sandbox: sandbox.create.contract(84532, user_id=user),
        lambda sandbox: sandbox.resend(event),
        lambda sandbox: sandbox.update_endpoint(endpoint, enabled=False),
        lambda sandbox: sandbox.remove_endpoint(endpoint),
    ]
    for act in acts:
        with pytest.raises((NotFound, UsageError), match=r"not found|not a|no record|unknown"):
            act(tenant.sandbox)

    assert operator.sandbox.settle(held).status == "settled"
    assert operator.sandbox.balance(tenant.sandbox.guide()["cards"]["active"][0]).limit > 0


def test_tenants_are_listed(connect: Connect) -> None:
    """Each tenant is listed with its kind and its keys."""
    tenants = {tenant.name: tenant for tenant in connect().sandbox.tenants()}

    assert list(tenants) == ["primary", "provider-managed", "company team", "no corporate cards"]
    assert tenants["primary"].keys[:2] == ("full", "read only")
    assert tenants["provider-managed"].management == "provider"
    assert tenants["company team"].team == "company"
    assert not tenants["no corporate cards"].corporate_cards


def test_tenant_is_made(connect: Connect) -> None:
    """A new tenant has a key with its name, users, cards and contracts. A name is used only once."""
    one = connect()
    made = one.sandbox.create.tenant("acme", management="provider")
    acme = connect(tenant="acme")
    transaction = purchase(acme)

    assert (made.name, made.management, made.keys) == ("acme", "provider", ("acme",))
    assert seen(acme) == {transaction}
    assert seen(one) == set()
    assert len(acme.list_contracts()) == 3
    with pytest.raises(BadRequest, match="already"):
        one.sandbox.create.tenant("acme")
    with pytest.raises(UsageError, match="team must be"):
        one.sandbox.create.tenant("other", team="family")


def test_key_with_chosen_roles_is_made(connect: Connect) -> None:
    """A new key has the permissions of its roles, in its tenant."""
    one = connect()
    made = one.sandbox.create.key("reporting", "provider-managed", roles="contractsAndSignatures:read")
    reader = connect(api_key=made.api_key)

    assert made.roles == ("contractsAndSignatures:read",)
    assert reader.list_contracts() == connect(tenant="provider-managed").list_contracts()
    with pytest.raises(Forbidden):
        reader.list_rewards_activity(user_id=reader.sandbox.guide()["users"]["approved"][0])
    with pytest.raises(BadRequest, match="already"):
        one.sandbox.create.key("reporting")
    with pytest.raises(UsageError, match="roles must be"):
        one.sandbox.create.key("x", roles="all")
    with pytest.raises(NotFound):
        one.sandbox.create.key("x", "nobody")
