"""All twelve operations through the complete client, synchronous and asynchronous, on the embedded sandbox."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from tests.each import each
from workbench.base.errors import NotFound
from workbench.base.schema.rules import FULL
from workbench.client.calls.client import AsyncClient, Client
from workbench.sandbox import Sandbox
from workbench.service.interface.table import OPERATIONS

ADDRESS = {
    "line1": "1 Example Street",
    "city": "Springfield",
    "region": "IL",
    "postal_code": "62701",
    "country_code": "US",
}
BANK_ADDRESS = {
    "address_line1": "1 Example Street", "city": "Springfield", "region": "IL", "postal_code": "62701",
    "country_code": "US",
}  # fmt: skip


@attrs.frozen
class Rig:
    """A client, its sandbox, and a method that calls an operation and awaits the answer if necessary."""

    client: Any
    sandbox: Sandbox
    guide: dict[str, Any]

    def call(self, name: str, **arguments: Any) -> Any:
        answer = getattr(self.client, name)(**arguments)
        return asyncio.run(answer) if inspect.isawaitable(answer) else answer


@pytest.fixture(params=[Client, AsyncClient], ids=["sync", "async"])
def rig(request: pytest.FixtureRequest) -> Rig:
    sandbox = Sandbox()
    guide = sandbox.guide()
    key = next(iter(guide["api_keys"].values()))
    return Rig(request.param(base_url=guide["base_url"], api_key=key, transport=sandbox.transport()), sandbox, guide)


def _authorized(rig: Rig) -> str:
    made = rig.call(
        "simulate_authorization", card_id=rig.guide["cards"]["active"][0], amount=1250, currency="USD",
        merchant_name="Corner Grocery", merchant_category_code="5411",
    )  # fmt: skip
    return str(made.transaction_id)


def _list_contracts(rig: Rig) -> None:
    # with documented behavior, the service does not list contracts on Stellar (chain 1501)
    listed = [one["id"] for one in rig.guide["contracts"] if one["chain_id"] != 1501]

    assert listed == [one.id for one in rig.call("list_contracts")]


def _sign_withdrawal(rig: Rig) -> None:
    contract = rig.call("list_contracts")[0]
    signed = rig.call(
        "sign_withdrawal", chain_id=contract.chain_id, token=contract.tokens[0].address, amount="2500",
        is_amount_native=False, admin_address=contract.admin_addresses[0],
        recipient_address=contract.admin_addresses[0],
    )  # fmt: skip

    assert signed.status == "ready"
    assert signed.signature.data not in repr(signed)


def _simulate_authorization(rig: Rig) -> None:
    assert _authorized(rig)


def _simulate_reversal(rig: Rig) -> None:
    assert rig.call("simulate_reversal", transaction_id=_authorized(rig), new_amount=1000).status == "authorized"


def _simulate_refund(rig: Rig) -> None:
    transaction = _authorized(rig)
    rig.sandbox.settle(transaction)

    assert rig.call("simulate_refund", transaction_id=transaction, amount=FULL).completion_reason == "REFUND"


def _account(rig: Rig) -> Any:
    return rig.call(
        "create_payment_account", type="externalFiatAccount", nickname="Savings",
        user_id=rig.guide["users"]["approved"][0],
        external_fiat_account={
            "beneficiary_type": "individual", "beneficiary_first_name": "Ada", "beneficiary_last_name": "Example",
            "currency": "usd", "beneficiary_address": BANK_ADDRESS, "bank_name": "Example Bank",
            "account_number": "000123456789", "routing_number": "000000000",
        },
    )  # fmt: skip


def _create_payment_account(rig: Rig) -> None:
    assert _account(rig).external_fiat_account.account_number == "000123456789"


def _delete_payment_account(rig: Rig) -> None:
    account = _account(rig).id
    rig.call("delete_payment_account", payment_account_id=account)

    with pytest.raises(NotFound, match="Payment account not found"):
        rig.call("delete_payment_account", payment_account_id=account)


def _update_user(rig: Rig) -> None:
    user = rig.guide["users"]["approved"][0]

    assert rig.call("update_user", user_id=user, first_name="Grace").first_name == "Grace"


def _update_ubo(rig: Rig) -> None:
    company = rig.guide["companies"][0]
    answer = rig.call("update_ubo", company_id=company["id"], ubo_id=company["owners"][0]["id"], first_name="Grace")

    assert answer.application_status == "pending"


def _update_dispute(rig: Rig) -> None:
    dispute = rig.guide["disputes"]["pending"][0]

    assert rig.call("update_dispute", dispute_id=dispute, status="canceled").status == "canceled"


def _create_user_application(rig: Rig) -> None:
    user = rig.call(
        "create_user_application", first_name="Ada", last_name="Example", birth_date="1990-02-01",
        national_id="900112233", country_of_issue="US", email="ada@example.com", address=ADDRESS,
        ip_address="203.0.113.5", occupation="Engineer", annual_salary="100000", account_purpose="Everyday",
        expected_monthly_volume="1000", wallet_address="0x" + "ab" * 20,
    )  # fmt: skip

    assert user.application_status == "pending"


def _list_rewards_activity(rig: Rig) -> None:
    page = rig.call("list_rewards_activity", user_id=rig.guide["rewards_users"][0]["id"], limit=2)

    assert len(page.items) == 2


CASES: dict[str, Callable[[Rig], None]] = {
    "list_contracts": _list_contracts,
    "sign_withdrawal": _sign_withdrawal,
    "simulate_authorization": _simulate_authorization,
    "simulate_reversal": _simulate_reversal,
    "simulate_refund": _simulate_refund,
    "create_payment_account": _create_payment_account,
    "delete_payment_account": _delete_payment_account,
    "update_user": _update_user,
    "update_ubo": _update_ubo,
    "update_dispute": _update_dispute,
    "create_user_application": _create_user_application,
    "list_rewards_activity": _list_rewards_activity,
}


def test_every_operation_is_tried() -> None:
    """The cases below are the operations of the table."""
    assert list(OPERATIONS) == list(CASES)


@each("name", CASES)
def test_operation(rig: Rig, name: str) -> None:
    """The sandbox carries out each operation, and the client returns its record."""
    CASES[name](rig)
