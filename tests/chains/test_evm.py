"""The two typed-data messages of a withdrawal on an EVM chain."""

import base64
import json
from datetime import UTC, datetime

import pytest

from tests.chains.cases import chance
from tests.each import each
from workbench.base.errors import UsageError
from workbench.service.chains import address_problems, coordinator_typed_data, digest, withdraw_typed_data
from workbench.service.chains.messages import encode_type

CASE = chance(712).withdrawal() | {"chain_id": 84532, "amount": 25_000_000, "nonce": 0}


def by_name(typed_data):
    return {name: {one["name"]: one["type"] for one in members} for name, members in typed_data["types"].items()}


def coordinator(**change):
    fields = {key: value for key, value in CASE.items() if key != "proxy"}
    fields |= {"controller": CASE["proxy"], "collateral": CASE["asset"], "expires_at": 1_775_596_665}
    return coordinator_typed_data(**fields | change)


def test_the_types_are_those_written_down():
    """Domain and type of both messages equal the expected texts."""
    admin, service = withdraw_typed_data(**CASE), coordinator()

    assert (admin["domain"]["name"], admin["domain"]["version"]) == ("Collateral", "2")
    assert (service["domain"]["name"], service["domain"]["version"]) == ("Coordinator", "2")
    assert (
        encode_type("Withdraw", by_name(admin))
        == "Withdraw(address user,address asset,uint256 amount,address recipient,uint256 nonce)"
    )
    assert encode_type("Withdraw", by_name(service)) == (
        "Withdraw(address user,address collateral,address asset,uint256 amount,address recipient,"
        "uint256 nonce,uint256 expiresAt)"
    )


def test_a_wallet_can_read_it():
    """A message can be written as JSON with large numbers as text, and keeps its digest when read back."""
    large = withdraw_typed_data(**CASE | {"amount": (1 << 256) - 1})

    assert str((1 << 256) - 1) == large["message"]["amount"]
    assert digest(large) == digest(json.loads(json.dumps(large)))


def test_addresses_get_their_check_sum():
    """A lower-case address is accepted, and written with its checksum."""
    lower = withdraw_typed_data(**CASE | {"recipient": CASE["recipient"].lower()})

    assert withdraw_typed_data(**CASE) == lower
    assert address_problems(lower["message"]["recipient"]) == ()


def test_salts_in_any_form():
    """Bytes, hex and base64 of a salt give the same message."""
    raw = CASE["salt"]
    forms = (raw, raw.hex(), "0x" + raw.hex(), base64.b64encode(raw).decode())

    assert len({digest(withdraw_typed_data(**CASE | {"salt": form})) for form in forms}) == 1


def test_times_in_both_forms():
    """Unix seconds and an aware datetime give the same message. Naive datetimes and milliseconds are refused."""
    moment = datetime(2026, 4, 7, 21, 17, 45, tzinfo=UTC)

    assert coordinator() == coordinator(expires_at=moment)
    with pytest.raises(UsageError, match="time zone"):
        coordinator(expires_at=moment.replace(tzinfo=None))
    with pytest.raises(UsageError, match="milliseconds"):
        coordinator(expires_at=1_775_596_665_000)


@each("field", ["chain_id", "proxy", "user", "asset", "amount", "recipient", "nonce", "salt"])
def test_everything_is_signed(field):
    """A change of any field changes the digest."""
    other = chance(713).withdrawal() | {"chain_id": 1, "amount": 1, "nonce": 1}

    assert digest(withdraw_typed_data(**CASE)) != digest(withdraw_typed_data(**CASE | {field: other[field]}))


@each(
    "change, path",
    [
        pytest.param({"chain_id": 900}, "chainId", id="Solana"),
        pytest.param({"chain_id": True}, "chainId", id="True"),
        pytest.param({"chain_id": "1"}, "chainId", id="text"),
        pytest.param({"proxy": CASE["proxy"][:-1]}, "proxy", id="short address"),
        pytest.param({"user": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"}, "user", id="Solana address"),
        pytest.param({"asset": CASE["asset"] + "\n"}, "asset", id="newline"),
        pytest.param({"recipient": None}, "recipient", id="no recipient"),
        pytest.param({"amount": 0}, "amount", id="zero"),
        pytest.param({"amount": -1}, "amount", id="negative"),
        pytest.param({"amount": 1 << 256}, "amount", id="too large"),
        pytest.param({"amount": 0.1 + 0.2}, "amount", id="float"),
        pytest.param({"amount": float("nan")}, "amount", id="NaN"),
        pytest.param({"amount": "1e6"}, "amount", id="text amount"),
        pytest.param({"amount": True}, "amount", id="boolean"),
        pytest.param({"nonce": -1}, "nonce", id="negative nonce"),
        pytest.param({"nonce": None}, "nonce", id="no nonce"),
        pytest.param({"salt": bytes(31)}, "salt", id="short salt"),
    ],
)
def test_what_is_not_signed(change, path):
    """An invalid argument gives one problem that names the argument."""
    with pytest.raises(UsageError) as caught:
        withdraw_typed_data(**CASE | change)

    assert [path] == [problem.path for problem in caught.value.problems]
