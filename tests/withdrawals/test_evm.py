"""From plan to transaction on EVM chains: the admin's message, the wallet's signature, the call, and the new balance.

Another library builds digests, signers and call data again, from the text of the document.
"""

import json
from datetime import UTC, datetime
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

import attrs
import pytest

import workbench as wb
from tests.chains.cases import ORDER, chance
from tests.chains.test_second_opinion import COUNTS
from tests.each import each
from tests.withdrawals.lessons import RECIPIENT, Service, answered, planned, transacted
from workbench.base.errors import UsageError
from workbench.client.withdrawals import explain
from workbench.sandbox.context import Seeds
from workbench.sandbox.contracts import secret_of
from workbench.service import chains

pytestmark = pytest.mark.skipif(find_spec("eth_account") is None, reason="eth-account is not installed")

ADMIN_TYPE = "address user,address asset,uint256 amount,address recipient,uint256 nonce"
SERVICE_TYPE = "address user,address collateral,address asset,uint256 amount,address recipient,uint256 nonce,uint256 expiresAt"  # fmt: skip
CALLS = {
    1: "withdrawAsset(address,address,uint256,address,uint256,bytes32,bytes)",
    2: "withdrawAsset(address,address,uint256,address,uint256,bytes32,bytes,bytes32[],bytes[],bool)",
}


def their_message(name: str, declared: str, chain_id: int, contract: str, salt: bytes, values: dict[str, Any]) -> Any:
    """Encode the message as `silences.md` describes it, with eth-account."""
    from eth_account.messages import encode_typed_data

    domain = {"name": name, "version": "2", "chainId": chain_id, "verifyingContract": contract, "salt": salt}
    members = [dict(zip(("type", "name"), part.split(), strict=True)) for part in declared.split(",")]
    return encode_typed_data(domain, {"Withdraw": members}, values)


def their_recovery(message: Any, signature: bytes) -> str:
    from eth_account import Account

    return str(Account.recover_message(message, signature=signature))


def their_call(version: int, values: list[Any]) -> str:
    from eth_abi import encode
    from eth_utils import keccak

    kinds = CALLS[version].partition("(")[2][:-1].split(",")
    return "0x" + (keccak(text=CALLS[version])[:4] + encode(kinds, values)).hex()


def draws(api: wb.Session, count: int):
    """Yield random withdrawals from a sandbox's EVM contracts: changes of the plan, and the number of the contract."""
    draw = chance(count)
    for _ in range(count):
        number = draw.source.randrange(2)
        contract = api.list_contracts()[number]
        held = int(Decimal(contract.tokens[0].balance))  # the balance in whole tokens
        changes = {
            "contract": contract,
            "token": contract.tokens[0].address,
            "admin": draw.source.choice(contract.admin_addresses),
            "to": draw.address(),
        }
        if draw.source.random() < 0.5:
            cents = draw.source.randrange(1, held * 100)
            yield number, {**changes, "amount": wb.withdrawals.usd(f"{cents // 100}.{cents % 100:02d}")}, cents * 10_000
        else:
            units = draw.source.randrange(1, held * 10**6)
            yield number, {**changes, "amount": wb.withdrawals.native_units(units)}, units


@COUNTS
def test_another_library_agrees(api, count):
    """In random withdrawals another library recovers both signers and builds equal call data, which decodes again."""
    guide = api.sandbox.guide()["contracts"]
    for number, changes, units in draws(api, count):
        withdrawal = planned(api, number, **changes).sign()
        contract, shown, end = changes["contract"], withdrawal.reveal(), int(withdrawal.expires_at.timestamp())
        salt, signature = chains.read_bytes(shown.salt, 32, "salt"), bytes.fromhex(shown.data[2:])
        said = {"user": changes["admin"], "asset": changes["token"], "amount": units, "recipient": changes["to"], "nonce": 0}  # fmt: skip
        service = their_message(
            "Coordinator", SERVICE_TYPE, contract.chain_id, contract.controller_address, salt,
            {**said, "collateral": contract.proxy_address, "expiresAt": end},
        )  # fmt: skip
        assert guide[number]["signer"] == their_recovery(service, signature)
        assert withdrawal.verify(guide[number]["signer"], nonce=0)
        message = withdrawal.typed_data(nonce=0)
        theirs = their_message("Collateral", ADMIN_TYPE, contract.chain_id, contract.proxy_address, message.salt, said)
        admin = message.accept(api.sandbox.wallet(changes["admin"]).sign(message))
        assert changes["admin"] == their_recovery(theirs, admin.signature)
        values = [contract.proxy_address, changes["token"], units, changes["to"], end, salt, signature]
        if number == 0:
            data = withdrawal.transaction(admin, direct_transfer=True)["data"]
            values += [[message.salt], [admin.signature], True]
        else:
            data = withdrawal.transaction()["data"]
        assert their_call(contract.contract_version, values) == data
        read = withdrawal.explain(data)
        assert ((), units, changes["to"], end) == (read.differences, read.units.units, read.recipient, read.expires_at)


@COUNTS
def test_wrong_signatures_are_refused(contract, count):
    """A wallet's signature is refused if its key or message is wrong, or if it is malleable or damaged."""
    draw = chance(count)
    withdrawal = Service(contract, answered(contract)).plan().sign()
    secret = draw.secret()
    for _ in range(count):
        message = withdrawal.typed_data(nonce=draw.source.randrange(1 << 64), admin=chains.public_address(secret))
        good = chains.sign(message.digest, secret)
        twin = good[:32] + (ORDER - int.from_bytes(good[32:64])).to_bytes(32) + bytes([27 + 28 - good[64]])
        damaged = bytearray(good)
        damaged[draw.source.randrange(64)] ^= 1 << draw.source.randrange(8)
        wrong = [
            chains.sign(message.digest, draw.secret()),
            chains.sign(draw.source.randbytes(32), secret),
            twin, bytes(damaged), good[:-1], good + b"\0", good[:64] + b"\x1d", bytes(65),
        ]  # fmt: skip
        assert message.accept(good).signature == message.accept("0x" + good.hex()).signature
        for signature in wrong:
            with pytest.raises(wb.errors.UsageError):
                message.accept(signature)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["version 2", "version 1"])
def test_the_lesson(api, number):
    """Plan, sign, add the wallet's signature and execute; then the contract's balance is lower."""
    plan = planned(api, number)
    withdrawal = plan.sign()
    transaction = transacted(api, withdrawal)

    done = api.sandbox.execute(transaction)

    left = ("24975.50", "8095.00")[number]
    assert (left, RECIPIENT, 1) == (done.balance, done.recipient, done.nonce)
    assert left == api.list_contracts()[number].tokens[0].balance
    with pytest.raises(wb.errors.BadRequest, match=r"service.s signature is for nonce 0, which is used up: .* now 1"):
        api.sandbox.execute(transaction)
    if number == 0:
        stale = transacted(api, planned(api, number).sign(), nonce=0)
        with pytest.raises(wb.errors.BadRequest, match="an admin's signature is for nonce 0, which is used up"):
            api.sandbox.execute(stale)
    again = transacted(api, planned(api, number).sign(), nonce=1)
    assert ("24950.50", "8070.00")[number] == api.sandbox.execute(again).balance


def test_several_admins_in_order(api, contract):
    """Version 2 accepts several signatures, which the call contains in the given order with their salts."""
    withdrawal = planned(api).sign()
    halves = []
    for admin in reversed(contract.admin_addresses):
        message = withdrawal.typed_data(nonce=0, admin=admin)
        halves.append(message.accept(api.sandbox.wallet(admin).sign(message)))

    call = chains.read_call_data(withdrawal.transaction(*halves, direct_transfer=False)["data"])

    assert [half.signature for half in halves] == list(call.admin_signatures)
    assert [half.salt for half in halves] == list(call.admin_salts)
    assert "2 by admins" in str(withdrawal.explain(withdrawal.transaction(*halves, direct_transfer=False)))
    assert api.sandbox.execute(withdrawal.transaction(*halves, direct_transfer=False)).nonce == 1


def test_halves_that_do_not_go_together(api, contract):
    """A repeated admin, different nonces, a bare signature, and a signature over another withdrawal are refused."""
    withdrawal, other = planned(api).sign(), planned(api, amount=wb.withdrawals.usd("26.00")).sign()

    def half(source, admin, nonce):
        message = source.typed_data(nonce=nonce, admin=admin)
        return message.accept(api.sandbox.wallet(admin).sign(message))

    first, second = contract.admin_addresses
    mine = half(withdrawal, first, 0)
    for wrong, words in (
        ((mine, mine), "whose signature was passed already"),
        ((mine, half(withdrawal, second, 1)), "different nonces"),
        ((half(other, first, 0),), "is not by the admin"),
        (("0x" + mine.signature.hex(),), "not a wallet's bare signature"),
        ((), "at least one"),
    ):
        with pytest.raises(UsageError, match=words):
            withdrawal.transaction(*wrong, direct_transfer=True)
    with pytest.raises(UsageError, match="direct_transfer must be true or false"):
        withdrawal.transaction(mine)


def test_version_1_carries_no_half(api):
    """The call of version 1 takes no admin signature, and the contract's owner sends it."""
    withdrawal = planned(api, 1).sign()
    admin = withdrawal.plan.admin
    message = withdrawal.typed_data(nonce=0)
    half = message.accept(api.sandbox.wallet(admin).sign(message))

    assert admin == withdrawal.transaction()["from"]
    assert "the service's signature; the contract's owner sends it" in str(withdrawal.explain(withdrawal.transaction()))
    with pytest.raises(UsageError, match="whose call takes no admin"):
        withdrawal.transaction(half)


@pytest.mark.slow
def test_the_transaction_is_ready_to_send(api, contract):
    """The transaction has the members and formats of wallets, and another library accepts it unchanged."""
    from eth_account import Account

    withdrawal = planned(api).sign()
    transaction = transacted(api, withdrawal)
    ready = json.loads(transaction.to_json())

    assert {"to": contract.controller_address, "value": "0x0", "chainId": "0x14a34"} == {name: ready[name] for name in ("to", "value", "chainId")}  # fmt: skip
    assert ready["data"] == transaction["data"]
    more = {"gas": 200_000, "maxFeePerGas": 1, "maxPriorityFeePerGas": 1, "nonce": 0, "type": 2}
    assert Account.sign_transaction({**ready, **more}, secret_of(Seeds(1), "test")).raw_transaction


def test_the_message_is_json_for_any_wallet(api, tmp_path):
    """The message is written to a file and read back with the same digest. It contains no secret."""
    withdrawal = planned(api).sign()
    message = withdrawal.typed_data(nonce=3)
    path = tmp_path / "message.json"
    message.to_json(path)
    read = json.loads(path.read_text())

    assert message == read == json.loads(message.to_json())
    assert message.digest == chains.digest(read)
    assert ("Collateral", "2", 84532) == (read["domain"]["name"], read["domain"]["version"], read["domain"]["chainId"])
    shown = withdrawal.reveal()
    assert shown.data[2:] not in path.read_text()
    for face in (str(message), message._repr_html_()):
        assert "0x" + message.digest.hex() in face


@pytest.mark.parametrize("form", [bytes, bytes.hex, lambda raw: "0x" + raw.hex(), chains.write_salt], ids=["bytes", "hex", "0x", "base64"])  # fmt: skip
def test_salts_in_every_form(api, form):
    """The admin's salt as bytes, hex or base64 gives the same message."""
    salt = bytes(range(32))
    message = planned(api).sign().typed_data(nonce=0, salt=form(salt))

    assert "0x" + salt.hex() == message["domain"]["salt"]


def test_a_salt_is_drawn(api):
    """An omitted salt is 32 new random bytes."""
    withdrawal = planned(api).sign()

    assert 32 == len(withdrawal.typed_data(nonce=0).salt)
    assert withdrawal.typed_data(nonce=0).salt != withdrawal.typed_data(nonce=0).salt


def test_the_admin_s_key_is_not_a_salt(contract):
    """The admin's private key as salt is refused, because the call would publish it."""
    secret = chance(1).secret()
    api = Service(contract, answered(contract))
    withdrawal = api.plan().sign()

    with pytest.raises(UsageError, match="Never paste a private key here") as caught:
        withdrawal.typed_data(nonce=0, salt=secret, admin=chains.public_address(secret))
    assert secret.hex() not in str(caught.value)


@pytest.mark.parametrize("key", ["5a" * 32, "0x" + "5a" * 32, " ".join(["abandon"] * 12)], ids=["hex", "0x", "words"])
def test_a_private_key_is_not_a_signature(api, key):
    """A private key in place of a signature or call data is refused and not quoted."""
    message = planned(api).sign().typed_data(nonce=0)
    for use in (message.accept, explain):
        with pytest.raises(UsageError, match="Never paste a private key here") as caught:
            use(key)
        assert key[:12] not in str(caught.value)


@pytest.mark.parametrize("nonce", [-1, 1.0, "0", True, None, 1 << 256])
def test_nonces(api, nonce):
    """A nonce is a whole number from 0."""
    with pytest.raises(UsageError, match="nonce"):
        planned(api).sign().typed_data(nonce=nonce)


def test_explaining_names_what_differs(api, contract):
    """`explain` names each difference from the withdrawal as a reason not to send the call."""
    mine, other = (
        planned(api).sign(),
        planned(api, amount=wb.withdrawals.usd("26.00"), to=contract.admin_addresses[1]).sign(),
    )
    explanation = mine.explain({**transacted(api, other), "to": RECIPIENT, "value": "0x1", "chainId": 1})

    assert explanation.differences == (
        "the recipient differs from this withdrawal's",
        "the amount differs from this withdrawal's",
        "it is not sent to the contract's controller",
        "it is for another chain",
        "it also sends coins of the chain (value)",
    )
    assert "Do not send it: the recipient differs" in str(explanation)
    assert "It matches this withdrawal in every value." in str(mine.explain(transacted(api, mine)))


def test_explaining_alone(api):
    """Without a withdrawal `explain` describes the call in the known units."""
    transaction = transacted(api, planned(api).sign())
    read = explain(transaction, decimals=6)

    assert read.summary == (
        f"Takes 25,000,000 native units of the token {read.token} out of the contract {read.proxy} and sends them to "
        f"{RECIPIENT}, if executed before 2026-01-15 15:10:00 UTC."
    )
    assert "25,000,000 units of a token with 6 decimals = 25 tokens" in read.amount_text
    assert "25,000,000 native units" == explain(transaction["data"]).amount_text
    assert ("Base Sepolia (chain 84532)", None) == (read.chain, read.differences)


@each(
    "data",
    ["0x", "0x12345678", "not hex", 5, None, {}, {"data": 5}, "0x" + "00" * 900],
    ids=["empty", "another call", "no hex", "a number", "nothing", "no data", "a number as data", "zeros"],
)
def test_what_cannot_be_explained(data):
    """Other data raises UsageError."""
    with pytest.raises(UsageError, match="data"):
        explain(data)


def test_far_ends_are_read(api):
    """An expiry beyond the calendar can be described."""
    read = attrs.evolve(explain(transacted(api, planned(api).sign())), expires_at=1 << 200)

    assert "of Unix time" in read.summary


def test_only_for_evm(api):
    """On other chains typed data and admin signatures are refused with the alternative."""
    withdrawal, evm = planned(api, 2).sign(), planned(api).sign()
    message = evm.typed_data(nonce=0)
    half = message.accept(api.sandbox.wallet(evm.plan.admin).sign(message))

    with pytest.raises(UsageError, match=r"Solana devnet \(chain 901\).*parameters\(\)"):
        withdrawal.typed_data(nonce=0)
    with pytest.raises(UsageError, match="are for EVM chains"):
        withdrawal.transaction(half, nonce=0)


def test_times_are_the_service_s(api):
    """The call contains the expiry that the service signed."""
    withdrawal = planned(api).sign()
    call = chains.read_call_data(transacted(api, withdrawal)["data"])

    assert withdrawal.expires_at == datetime.fromtimestamp(call.expires_at, UTC)
