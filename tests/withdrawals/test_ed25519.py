"""Solana and Stellar: order and encoding of the parameters, and signatures that a second library verifies too."""

import base64
import hashlib
import json
import struct
from decimal import Decimal

import pytest

import workbench as wb
from tests.chains.cases import chance
from tests.chains.test_second_opinion import COUNTS
from tests.withdrawals.lessons import Service, answered, planned
from workbench.base.errors import UsageError
from workbench.service.chains.curves import ed25519_public_key
from workbench.service.chains.values import base58_encode, strkey_encode

FAMILIES = pytest.mark.parametrize("number", [2, 3], ids=["Solana", "Stellar"])


def their_key(number: int, address: str) -> bytes:
    """Decode an address with a second library."""
    if number == 2:
        base58 = pytest.importorskip("base58")
        return bytes(base58.b58decode(address))
    stellar = pytest.importorskip("stellar_sdk")
    decode = stellar.StrKey.decode_contract if address[0] == "C" else stellar.StrKey.decode_ed25519_public_key
    return address[0].encode() + bytes(decode(address))


NONCE = {2: {"nonce": 0}, 3: {}}
WITHDRAW = b"Withdraw(address user,address collateral,address asset,uint256 amount,address recipient,uint256 nonce,uint256 expiresAt)"
DOMAIN = b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract,bytes32 salt)"


def their_hash(number: int, said: dict, salt: bytes, end: int) -> bytes:
    """Build the assumed message independently, from its description."""
    proxy, admin, token, recipient = (their_key(number, said[name]) for name in ("proxy", "admin", "token", "to"))
    if number == 2:
        keccak = pytest.importorskip("eth_utils").keccak
        controller = their_key(number, said["controller"])
        # public examples use chain id 900 on the test network as well
        domain = [keccak(DOMAIN), keccak(b"Coordinator"), keccak(b"2"), (900).to_bytes(8), controller, salt]
        amount, nonce = said["units"].to_bytes(8), (0).to_bytes(4)
        message = [keccak(WITHDRAW), admin, proxy, token, amount, recipient, nonce, end.to_bytes(8)]
        return keccak(b"\x19\x01" + keccak(b"".join(domain)) + keccak(b"".join(message)))
    numbers = [said["units"].to_bytes(16), end.to_bytes(8)]
    keys = proxy + admin + token
    body = b"Coordinator:Withdraw" + (1501).to_bytes(8) + keys + numbers[0] + recipient + numbers[1] + salt
    return hashlib.sha256(body).digest()


def they_verify(key: bytes, message: bytes, signature: bytes) -> bool:
    solders = pytest.importorskip("solders.pubkey"), pytest.importorskip("solders.signature")
    return bool(solders[1].Signature.from_bytes(signature).verify(solders[0].Pubkey(key), message))


@COUNTS
@FAMILIES
def test_another_library_verifies(api, number, count):
    """In random withdrawals another library verifies the sandbox's signature over an independently built message."""
    draw = chance(count)
    contract = api.list_contracts()[number]
    key = bytes.fromhex(api.sandbox.guide()["contracts"][number]["signer"])
    held = int(Decimal(contract.tokens[0].balance)) * 10**6
    for _ in range(count):
        raw, units = draw.source.randbytes(32), draw.source.randrange(1, held)
        to = base58_encode(raw) if number == 2 else strkey_encode(draw.source.choice("GC"), raw)
        admin = draw.source.choice(contract.admin_addresses)
        withdrawal = planned(
            api, number, contract=contract, admin=admin, to=to, amount=wb.withdrawals.native_units(units)
        ).sign()
        parameters = withdrawal.parameters()
        said = {"controller": contract.controller_address, "proxy": contract.proxy_address, "admin": admin, "token": contract.tokens[0].address, "to": to, "units": units}  # fmt: skip
        salt, end = bytes(parameters[5]), parameters[4]
        signature = base64.b64decode(parameters[6]) if number == 2 else bytes.fromhex(parameters[6])

        assert they_verify(key, their_hash(number, said, salt, end), signature)
        assert [contract.proxy_address, contract.tokens[0].address, str(units), to] == parameters[:4]
        nonce = NONCE[number]
        assert withdrawal.verify(**nonce)
        assert withdrawal.verify(key, **nonce)
        assert withdrawal.verify(key.hex(), **nonce)
        assert number == 3 or not withdrawal.verify(key, nonce=1)


@FAMILIES
def test_another_key_does_not_fit(api, number):
    """A signature matches only the key it was made with."""
    withdrawal = planned(api, number).sign()
    other = ed25519_public_key(chance(7).secret())

    assert not withdrawal.verify(other, **NONCE[number])


@FAMILIES
def test_the_parameters(api, number):
    """The parameters have the service's order and encoding and the public key. They print masked and export as JSON."""
    contract = api.list_contracts()[number]
    withdrawal = planned(api, number).sign()
    parameters = withdrawal.parameters()
    shown = withdrawal.reveal()
    signer = api.sandbox.guide()["contracts"][number]["signer"]

    assert [shown.data, signer] == parameters[6:]
    assert 32 == len(parameters[5])
    assert contract.proxy_address == json.loads(parameters.to_json())[0]
    for face in (repr(parameters), str(parameters), parameters._repr_html_()):
        assert shown.data not in face
        assert contract.proxy_address in face
    assert "parameters() returns the arguments" in str(withdrawal)


def test_a_key_that_has_to_be_given(api):
    """Verifying needs signer and nonce on EVM chains and the nonce on Solana. An invalid key is refused."""
    evm, solana = planned(api).sign(), planned(api, 2).sign()

    with pytest.raises(UsageError, match="signs for the service"):
        evm.verify(nonce=0)
    with pytest.raises(UsageError, match="nonce is required"):
        evm.verify(evm.plan.admin)
    with pytest.raises(UsageError, match="nonce is required"):
        solana.verify()
    with pytest.raises(UsageError, match="32 are needed"):
        solana.verify(b"short", nonce=0)
    assert not evm.verify(evm.plan.admin, nonce=0)
    assert evm.verify(api.sandbox.guide()["contracts"][0]["signer"], nonce=0) is True


@FAMILIES
def test_the_transaction_as_far_as_it_is_public(api, number):
    """The partial transaction goes from the admin to the controller, says what is missing, and shows no signature."""
    withdrawal = planned(api, number).sign()
    transaction, shown = withdrawal.transaction(**NONCE[number]), withdrawal.reveal()

    assert (transaction["from"], transaction["to"]) == (
        withdrawal.plan.admin,
        withdrawal.plan.contract.controller_address,
    )
    assert transaction["parameters"] == withdrawal.parameters()
    assert ("instructions" in transaction) == (number == 2)
    assert json.loads(transaction.to_json())["parameters"][6] == shown.data
    assert "in public examples" in str(transaction)
    for face in (repr(transaction), str(transaction), transaction._repr_html_(), repr(list(transaction.items()))):
        assert shown.data not in face


def test_the_instruction_that_checks_the_signature(api):
    """On Solana the instruction's offsets point to signature, key and message, which verify."""
    withdrawal = planned(api, 2).sign()
    (instruction,) = withdrawal.transaction(nonce=0)["instructions"]
    data = bytes.fromhex(instruction["data"][2:])
    count, _, *numbers = struct.unpack("<BBHHHHHHH", data[:16])
    at_signature, here, at_key, there, at_message, size, last = numbers

    assert (count, {here, there, last}) == (1, {0xFFFF})
    assert len(data) == at_message + size
    assert they_verify(data[at_key : at_key + 32], data[at_message:], data[at_signature : at_signature + 64])
    with pytest.raises(UsageError, match="nonce is required"):
        withdrawal.transaction()


@FAMILIES
def test_the_sandbox_executes_it_once(api, number):
    """The balance decreases once. A used signature, another sender or another amount is refused."""
    withdrawal = planned(api, number).sign()
    transaction = dict(withdrawal.transaction(**NONCE[number]))
    parameters = list(transaction["parameters"])
    stranger = withdrawal.plan.contract.proxy_address
    for changed, words in (
        ({**transaction, "from": stranger}, "from must be an admin of the contract"),
        ({**transaction, "to": stranger}, "controller"),
        (
            {**transaction, "parameters": [*parameters[:2], "1", *parameters[3:]]},
            "the service's signature does not match",
        ),
        ({**transaction, "parameters": []}, "parameters must be a list"),
    ):
        with pytest.raises(wb.errors.BadRequest, match=words):
            api.sandbox.execute(changed)
    before = api.list_contracts()[number].tokens[0].balance
    done = api.sandbox.execute(transaction)

    assert Decimal(before) - Decimal(done.balance) == 25
    assert api.list_contracts()[number].tokens[0].balance == done.balance
    assert done.nonce == 1
    with pytest.raises(wb.errors.BadRequest, match="used up"):
        api.sandbox.execute(transaction)


@FAMILIES
def test_a_late_one_is_refused(api, number):
    """An expired signature is not executed."""
    transaction = planned(api, number).sign().transaction(**NONCE[number])
    api.sandbox.advance(minutes=11)

    with pytest.raises(wb.errors.BadRequest, match="expired"):
        api.sandbox.execute(transaction)


def test_verifying_needs_a_key(api):
    """Without a public key in the answer, and on EVM chains, `verify` requires the signer."""
    contract = api.list_contracts()[2]
    data, salt = base64.b64encode(b"d" * 64).decode(), base64.b64encode(b"s" * 32).decode()
    answer = answered(contract, signature={"data": data, "salt": salt}, parameters=None)
    units = wb.withdrawals.native_units(25_000_000)
    withdrawal = Service(contract, answer).plan(2, contract=contract, amount=units).sign()
    assert planned(api, 2).sign().verify(nonce=0)

    with pytest.raises(wb.errors.UsageError, match="signer is required: the public key of the service"):
        withdrawal.verify(nonce=0)
    with pytest.raises(wb.errors.UsageError, match="signer is required: the address that signs"):
        planned(api).sign().verify(nonce=0)
