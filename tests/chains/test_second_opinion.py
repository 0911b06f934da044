"""Independent libraries agree with the package on random cases, in both directions.

The libraries are eth-account with its pure Python curve and pycryptodome, eth-abi, base58, stellar-sdk and solders.
"""

from importlib.util import find_spec
from typing import Any

import pytest

from tests.chains.cases import Chance, chance
from workbench.service.chains import (
    address_problems,
    coordinator_typed_data,
    digest,
    eip55,
    public_address,
    read_call_data,
    recover,
    sign,
    sign_ed25519,
    verify_ed25519,
    withdraw_call_data,
    withdraw_typed_data,
)
from workbench.service.chains.curves import ed25519_public_key
from workbench.service.chains.values import (
    base58_decode,
    base58_encode,
    strkey_decode,
    strkey_encode,
)

pytestmark = pytest.mark.skipif(find_spec("eth_account") is None, reason="eth-account is not installed")

COUNTS = pytest.mark.parametrize(
    "count",
    [
        pytest.param(12, id="12", marks=pytest.mark.slow),
        pytest.param(10_000, id="10000", marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
    ],
)


def their_digest(typed_data: dict[str, Any]) -> bytes:
    from eth_account.messages import encode_typed_data
    from eth_utils import keccak

    message = encode_typed_data(full_message=typed_data)
    return keccak(b"\x19" + message.version + message.header + message.body)


@COUNTS
def test_digests_of_withdrawals(count):
    """Both messages of random withdrawals have the digest that eth-account computes."""
    draw = chance(count)
    for _ in range(count):
        fields = draw.withdrawal()
        service = {name: value for name, value in fields.items() if name != "proxy"}
        for typed_data in (
            withdraw_typed_data(**fields),
            coordinator_typed_data(
                **service, controller=draw.address(), collateral=fields["proxy"], expires_at=draw.moment()
            ),
        ):
            assert their_digest(typed_data) == digest(typed_data)


def random_typed_data(draw: Chance) -> dict[str, Any]:
    """Create structs of atomic values, lists and other structs, with matching values."""
    source = draw.source
    bits, size = 8 * source.randrange(1, 33), source.randrange(1, 33)

    def value(kind: str) -> Any:
        base, bracket, rest = kind.rpartition("[")
        if bracket:
            return [value(base) for _ in range(int(rest[:-1] or source.randrange(4)))]
        if kind in types:
            return {member["name"]: value(member["type"]) for member in types[kind]}
        if kind.startswith("bytes"):
            return "0x" + source.randbytes(int(kind[5:] or source.randrange(70))).hex()
        if kind.startswith("uint"):
            return source.getrandbits(int(kind[4:]))
        if kind.startswith("int"):
            return source.getrandbits(int(kind[3:])) - (1 << int(kind[3:]) - 1)
        if kind == "string":
            return "".join(chr(source.choice([source.randrange(32, 127), 0x1F98A, 0xE9])) for _ in range(9))
        return draw.address() if kind == "address" else source.random() < 0.5

    atomic = [f"uint{bits}", f"int{bits}", f"bytes{size}", "bytes", "string", "address", "bool"]
    types: dict[str, list[dict[str, str]]] = {}
    for name in ("Leaf", "Branch", "Tree"):
        kinds = [source.choice([*atomic, *types]) for _ in range(source.randrange(1, 6))]
        members = [kind + source.choice(["", "", "[]", "[2]", "[2][]"]) for kind in kinds]
        types[name] = [{"name": f"m{number}", "type": kind} for number, kind in enumerate(members)]
    # the other library requires one primary type that no other type refers to
    types["Root"] = [
        {"name": "tree", "type": "Tree"},
        {"name": "branch", "type": "Branch"},
        {"name": "a", "type": "Leaf"},
    ]
    domain = {"name": "test", "chainId": source.randrange(1, 1 << 40), "salt": "0x" + source.randbytes(32).hex()}
    kept = sorted(domain, key=["name", "chainId", "salt"].index)[: source.randrange(1, 4)]
    kinds_of = {"name": "string", "chainId": "uint256", "salt": "bytes32"}
    return {
        "types": types | {"EIP712Domain": [{"name": name, "type": kinds_of[name]} for name in kept]},
        "primaryType": "Root",
        "domain": {name: domain[name] for name in kept},
        "message": value("Root"),
    }


@COUNTS
def test_digests_of_anything(count):
    """Random structs, nested and in lists, have the digest that eth-account computes."""
    draw = chance(count + 1)
    for _ in range(count):
        typed_data = random_typed_data(draw)
        assert their_digest(typed_data) == digest(typed_data)


@COUNTS
def test_recoveries(count):
    """The package and a pure Python curve recover the signer of each other's signatures."""
    from eth_keys import KeyAPI
    from eth_keys.backends import NativeECCBackend

    keys = KeyAPI(NativeECCBackend())
    draw = chance(count + 2)
    for _ in range(count):
        secret, hashed = draw.secret(), draw.source.randbytes(32)
        key = keys.PrivateKey(secret)
        theirs = keys.ecdsa_sign(hashed, key).to_bytes()
        ours = sign(hashed, secret)
        recovered = keys.ecdsa_recover(hashed, keys.Signature(ours[:64] + bytes([ours[64] - 27])))

        assert key.public_key.to_checksum_address() == recover(hashed, theirs)
        assert public_address(secret) == recovered.to_checksum_address()


@COUNTS
def test_a_wallet_signs(count):
    """A signature of the admin's message by eth-account recovers to the admin."""
    from eth_account import Account

    draw = chance(count + 3)
    for _ in range(count):
        secret = draw.secret()
        typed_data = withdraw_typed_data(**draw.withdrawal() | {"user": public_address(secret)})
        signed = Account.sign_typed_data(secret, full_message=typed_data)

        assert public_address(secret) == recover(digest(typed_data), bytes(signed.signature))


@COUNTS
@pytest.mark.parametrize("version", [1, 2])
def test_call_data(version, count):
    """eth-abi encodes the same call data, and each decodes the other's."""
    from eth_abi import decode, encode
    from eth_utils import function_signature_to_4byte_selector

    from workbench.service.chains.calls import function_signature

    signature = function_signature(version)
    kinds = signature.partition("(")[2].rstrip(")").split(",")
    draw = chance(count + version)
    for _ in range(count):
        fields = draw.call(version)
        values = tuple(fields.values())[1 : len(kinds) + 1]
        theirs = function_signature_to_4byte_selector(signature) + encode(kinds, values)
        ours = bytes.fromhex(withdraw_call_data(**fields)[2:])
        read = read_call_data(theirs)
        lower = tuple(value.lower() if isinstance(value, str) else value for value in values)

        assert theirs == ours
        assert lower == decode(kinds, ours[4:])
        assert fields == {name: getattr(read, name) for name in fields}


@COUNTS
def test_addresses(count):
    """eth-utils, base58, solders and stellar-sdk encode the same addresses, and each decodes the other's."""
    base58 = pytest.importorskip("base58")
    pubkey = pytest.importorskip("solders.pubkey")
    theirs = pytest.importorskip("stellar_sdk").StrKey
    from eth_utils import to_checksum_address

    draw = chance(count + 4)
    for _ in range(count):
        raw = draw.source.randbytes(32)
        longer = bytes(draw.source.randrange(4)) + draw.source.randbytes(draw.source.randrange(60))
        account, contract = strkey_encode("G", raw), strkey_encode("C", raw)

        assert to_checksum_address(raw[:20]) == eip55("0x" + raw[:20].hex())
        assert base58.b58encode(longer).decode() == base58_encode(longer)
        assert longer == base58_decode(base58.b58encode(longer).decode())
        assert str(pubkey.Pubkey(raw)) == base58_encode(raw)
        assert address_problems(str(pubkey.Pubkey(raw)), 900) == ()
        assert (theirs.encode_ed25519_public_key(raw), theirs.encode_contract(raw)) == (account, contract)
        assert raw == theirs.decode_ed25519_public_key(account)
        assert ("C", raw) == strkey_decode(theirs.encode_contract(raw))


@COUNTS
def test_muxed_accounts(count):
    """stellar-sdk encodes the same muxed accounts, which the package decodes."""
    sdk = pytest.importorskip("stellar_sdk")
    draw = chance(count + 5)
    for _ in range(count):
        raw, number = draw.source.randbytes(32), draw.source.getrandbits(64)
        muxed = sdk.MuxedAccount(strkey_encode("G", raw), number).account_muxed

        assert muxed == strkey_encode("M", raw + number.to_bytes(8))
        assert ("M", raw + number.to_bytes(8)) == strkey_decode(muxed)


@COUNTS
def test_ed25519(count):
    """solders and the package verify each other's signatures and no other message; stellar-sdk's are equal."""
    keypair = pytest.importorskip("solders.keypair")
    solders = pytest.importorskip("solders.signature")
    stellar = pytest.importorskip("stellar_sdk")
    draw = chance(count + 6)
    for _ in range(count):
        secret, message = draw.secret(), draw.source.randbytes(32)
        key = keypair.Keypair.from_seed(secret)
        ours = sign_ed25519(message, secret)
        other = draw.source.randbytes(32)
        account = stellar.Keypair.from_raw_ed25519_seed(secret)

        assert (account.raw_public_key(), account.sign(message)) == (ed25519_public_key(secret), ours)
        assert bytes(key.pubkey()) == ed25519_public_key(secret)
        assert verify_ed25519(bytes(key.pubkey()), message, bytes(key.sign_message(message)))
        assert solders.Signature(ours).verify(key.pubkey(), message)
        assert not verify_ed25519(ed25519_public_key(secret), other, ours)
        assert not solders.Signature(ours).verify(key.pubkey(), other)
