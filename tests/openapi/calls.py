"""The twelve calls that each generated client makes."""

import enum
import json
import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import workbench as wb

SAMPLES = Path(__file__).parents[1] / "samples"


class Call(NamedTuple):
    """A call: its operation, path and query parameters, and body (None without one), with wire names."""

    operation: str
    parameters: dict[str, Any]
    body: dict[str, Any] | None


def sample(operation: str) -> dict[str, Any]:
    """Return the stored sample request of an operation."""
    body: dict[str, Any] = json.loads((SAMPLES / f"{operation}.request.json").read_bytes())
    return body


def twelve_calls(sandbox: wb.Sandbox) -> list[Call]:
    """Create the records that the calls need in a sandbox, and return one call for each operation."""
    guide = sandbox.guide()
    user = guide["users"]["approved"][0]
    purchase = {"amount": 1250, "currency": "USD", "merchantName": "Corner Grocery", "merchantCategoryCode": "5411"}
    bought = {"cardId": guide["cards"]["active"][0], **purchase}
    account = sample("create_payment_account") | {"userId": user}
    with wb.Client(base_url=sandbox.base_url, api_key=sandbox.full_key, transport=sandbox.transport()) as api:
        contract = next(row for row in api.list_contracts() if row.chain_id == 84532)
        held, settled = (
            api.send(api.from_wire("simulate_authorization", bought)).transaction_id for _ in range(2)
        )  # fmt: skip
        sandbox.settle(settled)
        old_account = api.send(api.from_wire("create_payment_account", account)).id
    withdrawal = {
        "chainId": contract.chain_id, "token": contract.tokens[0].address, "amount": "2500",
        "adminAddress": contract.admin_addresses[0], "recipientAddress": contract.admin_addresses[0], "isAmountNative": False,
    }  # fmt: skip
    company, owner = next(
        (company["id"], owner["id"])
        for company in guide["companies"]
        for owner in company["owners"]
        if owner["status"] == "needsInformation"
    )
    return [
        Call("list_contracts", {}, None),
        Call("sign_withdrawal", withdrawal, None),
        Call("simulate_authorization", {}, bought),
        Call("simulate_reversal", {"transactionId": held}, {"newAmount": 500}),
        Call("simulate_refund", {"transactionId": settled}, {"amount": 200}),
        Call("create_payment_account", {}, account),
        Call("delete_payment_account", {"paymentAccountId": old_account}, None),
        Call("update_user", {"userId": user}, sample("update_user")),
        Call("update_ubo", {"companyId": company, "uboId": owner}, sample("update_ubo")),
        Call("update_dispute", {"disputeId": guide["disputes"]["pending"][0]}, sample("update_dispute")),
        Call("create_user_application", {}, sample("create_user_application")),
        Call("list_rewards_activity", {"userId": user, "type": "earned"}, None),
    ]


def plain(value: Any) -> Any:
    """Return JSON in a comparable form: without null, and with times without fraction and zone, which clients write differently."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Decimal):  # the sandbox logs JSON numbers as Decimal
        return float(value)
    if isinstance(value, date | UUID):
        value = str(value).replace(" ", "T")
    seconds = r"^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)\S*( UTC)?$"
    return re.sub(seconds, r"\1T\2", str(value)) if isinstance(value, str) else value
