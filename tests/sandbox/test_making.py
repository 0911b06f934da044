"""Controls that create people, contracts, routes, disputes and redemptions for examples."""

import pytest

from tests.sandbox.driver import Api
from workbench.base.errors import BadRequest, UsageError
from workbench.base.schema.checks import flags
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals


def test_users_and_companies_are_made_in_any_state(api):
    user = api.sandbox.create.user(last_name="Denied", status="needsInformation")
    company = api.sandbox.create.company("New Company", owners=3, status="denied")

    assert ("needsInformation", ["user.updated"]) == (user.status, api.kinds())
    assert api.update_user(user.id, firstName="Other").body["applicationStatus"] == "needsInformation"
    assert (3, "denied") == (len(company.owners), company.status)
    path = f"/issuing/applications/company/{company.id}/ubo/{company.owners[0]}"
    assert api.call("PATCH", path, {"firstName": "N"}).body["applicationStatus"] == "pending"
    member = api.sandbox.create.user(company_id=company.id)
    assert api.sandbox.state(member.id)["company_id"] == company.id


@pytest.mark.parametrize("chain, version", [(84532, 2), (84532, 1), (901, 2)])
def test_contracts_are_made_on_any_chain(api, chain, version):
    """A created contract is listed, and a withdrawal from it can be signed."""
    made = api.sandbox.create.contract(chain, version, "77.50", user_id=api.guide["users"]["approved"][6])

    assert api.call("GET", "/issuing/tenants/contracts").body[-1]["id"] == made.id
    assert () == flags(made)
    assert ("77.50", version) == (made.tokens[0].balance, made.contract_version)
    answer = api.sign(
        token=made.tokens[0].address, adminAddress=made.admin_addresses[0], chainId=chain,
        recipientAddress=made.admin_addresses[-1], collateralContractId=None, rainCollateralContractId=made.id,
    )  # fmt: skip
    assert (200, "ready") == (answer.status, answer.body["status"])


def test_payment_routes_are_made_for_users_and_companies(api):
    user = api.sandbox.create.user()
    company = api.guide["companies"][0]["id"]
    with_address = api.sandbox.create.payment_route(user_id=user.id)
    without = api.sandbox.create.payment_route(company_id=company, fiat_deposit=False)

    assert api.sandbox.deposit(with_address.id, "0.11").event == "microDeposit.received"
    assert api.sandbox.deposit(without.id, "0.11").event is None
    with pytest.raises(UsageError, match="either user_id or company_id"):
        api.sandbox.create.payment_route()


def test_what_is_made_belongs_to_the_sessions_tenant():
    sandbox = Sandbox()
    other = Api(sandbox, "provider-managed")
    seen = internals(sandbox).for_key(other.key)
    user = seen.create.user()

    assert user.id in {one["id"] for one in seen.records("user")}
    assert user.id not in {one["id"] for one in sandbox.records("user")}
    assert sandbox.create.card(user.id).status == "active"


def test_a_settled_purchase_is_disputed_and_the_dispute_is_resolved(api):
    """A client can add evidence to an open dispute, and cannot cancel a resolved one."""
    purchase = api.settled()
    dispute = api.sandbox.open_dispute(purchase, "Not mine.")

    assert ("pending", purchase, "Not mine.") == (dispute.status, dispute.transaction_id, dispute.text_evidence)
    assert api.sandbox.resolve_dispute(dispute.id, "inReview").status == "inReview"
    assert api.call("PATCH", f"/issuing/disputes/{dispute.id}", {"textEvidence": "Receipt"}).status == 200
    done = api.sandbox.resolve_dispute(dispute.id, "rejected")
    assert ("rejected", api.sandbox.clock.now()) == (done.status, done.resolved_at)
    assert api.call("PATCH", f"/issuing/disputes/{dispute.id}", {"status": "canceled"}).status == 400
    for wrong in (purchase, api.authorized()):
        with pytest.raises(BadRequest, match="disputed"):
            api.sandbox.open_dispute(wrong)


def test_points_are_redeemed_as_far_as_they_are_minted(api):
    user = api.guide["rewards_users"][0]["id"]
    left = api.sandbox.redeem(user, 10).left

    assert api.sandbox.redeem(user, 25, "PENDING").left == left - 25
    assert api.sandbox.redeem(user, 25, "FAILED").left == left - 25
    items = api.call("GET", "/issuing/rewards/activity", userId=user, type="redeemed").body["items"]
    assert ("10", "COMPLETED") == (items[0]["points"], items[0]["status"])  # the list hides the other two redemptions
    with pytest.raises(BadRequest, match="minted points"):
        api.sandbox.redeem(user, left)


@pytest.mark.parametrize("setting, amount", [("original", 1_000), ("reduced", 600)])
def test_the_authorized_amount_after_a_reduction_is_settable(setting, amount):
    """A setting chooses the original or the reduced authorizedAmount, because sources disagree."""
    api = Api(Sandbox(behavior={"event_authorized_amount": setting}))
    transaction = api.authorized(1_000)
    api.reverse(transaction, newAmount=600)
    api.settle(transaction, amount=500)

    assert amount == api.sandbox.events()[-1].payload["body"]["spend"]["authorizedAmount"]
