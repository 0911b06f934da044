"""A control returns the same object on a served sandbox as on an embedded one."""

from typing import Any

import pytest

import workbench as wb
from workbench.base.schema.walk import is_record, members
from workbench.sandbox import Sandbox
from workbench.sandbox.controls import CONTROLS, perform

WALLET = {"types": {"EIP712Domain": [], "Mail": [{"name": "a", "type": "uint256"}]}, "primaryType": "Mail",
          "domain": {}, "message": {"a": 1}}  # fmt: skip


def arguments(sandbox: Sandbox) -> dict[str, dict[str, Any]]:
    """Return valid arguments for each control, in an order in which all controls work."""
    guide = sandbox.guide()
    card, locked = guide["cards"]["active"][0], guide["cards"]["locked"][0]
    sold = {"currency": "USD", "merchant_name": "Example Shop", "merchant_category_code": "5411"}
    with wb.Client(base_url=sandbox.base_url, api_key=sandbox.full_key, transport=sandbox.transport()) as api:
        held, settled = [api.simulate_authorization(card_id=card, amount=500, **sold).transaction_id for _ in range(2)]
    sandbox.settle(settled)
    endpoint = sandbox.register_endpoint("http://127.0.0.1:9/hooks").id
    event = sandbox.events()[0].payload["id"]
    admin = next(contract for contract in guide["contracts"] if contract["chain_id"] == 84532)["admin_addresses"][0]
    return {
        "guide": {}, "events": {}, "last_event": {}, "world_id": {}, "requests": {}, "balance": {"card_id": card},
        "state": {"record_id": card}, "records": {"kind": "card"}, "changed": {"kind": "card", "names": "id limit"},
        "review": {"user_or_owner_id": guide["users"]["pending"][0], "status": "approved"},
        "accept_terms": {"user_id": guide["users"]["tosNotAccepted"][0]},
        "create_card": {"user_id": guide["users"]["approved"][0]}, "lock_card": {"card_id": card},
        "unlock_card": {"card_id": locked}, "activate_card": {"card_id": guide["cards"]["notActivated"][0]},
        "cancel_card": {"card_id": locked}, "settle": {"transaction_id": held}, "deposit": {},
        "open_dispute": {"transaction_id": settled}, "resolve_dispute": {"dispute_id": guide["disputes"]["pending"][0]},
        "redeem": {"user_id": guide["rewards_users"][0]["id"], "points": 1}, "pending_first": {},
        "wallet_address": {"admin": admin}, "wallet_sign": {"admin": admin, "typed_data": WALLET},
        "advance": {"seconds": 1}, "create_tenant": {"name": "new"}, "create_key": {"name": "new key"},
        "create_user": {}, "create_company": {}, "create_contract": {}, "create_payment_route": {"user_id": guide["users"]["approved"][1]}, "tenants": {},
        "register_endpoint": {"endpoint_url": "http://127.0.0.1:9/"}, "endpoints": {}, "deliveries": {},
        "update_endpoint": {"endpoint_id": endpoint, "enabled": True}, "resend": {"event_id": event},
        "flush": {"timeout": 0.0}, "remove_endpoint": {"endpoint_id": endpoint}, "add_fault": {"kind": "lost"},
        "list_faults": {}, "clear_faults": {}, "snapshot": {"name": "a"}, "restore": {"name": "a"}, "reset": {},
        "savepoint": {}, "changes": {},
    }  # fmt: skip


def shape(value: object) -> object:
    """Return the types of a value and its members, at any depth."""
    if is_record(value):
        return type(value), {member.name: shape(getattr(value, member.name)) for member in members(type(value))}
    if isinstance(value, list | tuple):
        return type(value), [shape(item) for item in value]
    return type(value)


def test_each_control_returns_the_same_objects_embedded_and_served() -> None:
    """Results have the same types in every member, enum values included."""
    one, other = Sandbox(seed=5), Sandbox(seed=5)
    given = arguments(one)
    assert given == arguments(other)
    tried = []
    with other.serve() as url, wb.connect(url) as api:
        for name, values in given.items():
            outcomes = []
            for sandbox in (one, api.sandbox):
                try:
                    outcomes.append(shape(perform(sandbox, name, values)))
                except wb.WorkbenchError as error:
                    outcomes.append((type(error), str(error)))
            assert outcomes[0] == outcomes[1], name
            assert "Error" not in str(outcomes[0]), outcomes[0]
            tried.append(name)

    # Two controls are not compared: `execute` needs a signed withdrawal, and `undo` needs a change and returns the same
    # type as `restore`.
    assert CONTROLS.keys() - set(tried) == {"execute", "undo"}


def test_settle_of_a_served_sandbox_returns_members_of_enums() -> None:
    """`settle` of a served sandbox returns enum members, which learners compare."""
    with Sandbox().serve() as url, wb.connect(url) as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        sold = api.simulate_authorization(
            card_id=card, amount=500, currency="USD", merchant_name="Shop", merchant_category_code="5411"
        )
        settled = api.sandbox.settle(sold.transaction_id)

    assert settled.status is wb.records.TransactionStatus.SETTLED
    assert isinstance(settled.completion_reason, wb.records.CompletionReason)
    with pytest.raises(wb.ApiError):
        perform(Sandbox(), "settle", {"transaction_id": card})
