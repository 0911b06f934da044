"""Withdrawal parameters of the service on all chain families, and the messages that Ed25519 signatures cover."""

import json

import pytest

from tests.chains.cases import chance
from tests.conftest import RECORDED
from tests.each import each
from workbench.base.errors import UsageError
from workbench.service.chains import (
    Family,
    read_parameters,
    read_signature,
    sign,
    sign_ed25519,
    solana_message,
    stellar_message,
    verify_ed25519,
    withdraw_parameters,
    write_salt,
    write_signature,
)
from workbench.service.chains.addresses import family_of
from workbench.service.chains.curves import ed25519_public_key
from workbench.service.chains.values import base58_encode, derive_secret, strkey_encode

SECRET = derive_secret(b"tests", "parameters")
PUBLIC = ed25519_public_key(SECRET)


def address(chain_id, name):
    raw = derive_secret(b"tests", name)
    return {
        Family.EVM: chance(raw[0]).address(),
        Family.SOLANA: base58_encode(raw),
        Family.STELLAR: strkey_encode("C", raw),
    }[family_of(chain_id)]


def asked(chain_id):
    parties = {name: address(chain_id, name) for name in ("proxy", "asset", "recipient")}
    return {"chain_id": chain_id, "amount": 500_000, "expires_at": 1_775_596_665, "salt": bytes(range(32)), **parties}


MESSAGES = {901: solana_message, 1501: stellar_message}


@pytest.mark.parametrize("chain_id", [84532, 901, 1501])
def test_there_and_back(chain_id):
    """Parameters are equal after they were written as JSON and read back."""
    on_curve = chain_id in MESSAGES
    signature = sign_ed25519(b"", SECRET) if on_curve else sign(bytes(32), SECRET)
    given = asked(chain_id) | {"signature": signature, "public_key": PUBLIC if on_curve else None}

    written = withdraw_parameters(**given)
    read = read_parameters(chain_id, json.loads(json.dumps(written)))

    assert given == {name: getattr(read, name) for name in given}
    assert "•••" in repr(read)
    assert signature.hex() not in repr(read)


def test_the_order_and_the_forms():
    """Parameters for Stellar have the order and formats of the only known sample."""
    signature = sign_ed25519(b"", SECRET)
    given = asked(1501)

    written = withdraw_parameters(**given, signature=signature, public_key=PUBLIC)

    expected = [
        given["proxy"],
        given["asset"],
        "500000",
        given["recipient"],
        1_775_596_665,
        list(range(32)),
        signature.hex(),
        PUBLIC.hex(),
    ]
    assert expected == written


def test_a_recorded_response_is_read():
    """A recorded Stellar response is read, and its parameters agree with its other members."""
    answer = json.loads((RECORDED / "sign_withdrawal.200.ready.json").read_text())

    read = read_parameters(int(answer["chainId"], 16), answer["parameters"])

    assert (read.chain_id, read.amount) == (1501, 500_000)
    assert answer["signature"]["salt"] == write_salt(read.salt)
    assert answer["signature"]["data"] == write_signature(1501, read.signature)
    assert len(read.public_key) == 32


@pytest.mark.parametrize(
    "chain_id, text",
    [(84532, "0x" + "11" * 65), (901, "ERER" * 21 + "EQ=="), (1501, "11" * 64)],
    ids=["EVM", "Solana", "Stellar"],
)
def test_signatures_as_each_chain_writes_them(chain_id, text):
    """Signatures are written as 0x hex on EVM, base64 on Solana and plain hex on Stellar, and read back."""
    raw = b"\x11" * (65 if chain_id == 84532 else 64)

    assert text == write_signature(chain_id, raw)
    assert raw == read_signature(chain_id, text)


def question_on(chain_id):
    """Return the arguments of a chain's message."""
    question = asked(chain_id) | {"user": address(chain_id, "user")}
    return question | {"controller": address(chain_id, "controller"), "nonce": 7} if chain_id == 901 else question


@pytest.mark.parametrize("chain_id", list(MESSAGES))
def test_a_signature_over_the_assumed_message(chain_id):
    """A signature verifies only if every argument of the message is equal."""
    question = question_on(chain_id)
    message = MESSAGES[chain_id](**question)
    signature = sign_ed25519(message, SECRET)
    other = {name: address(chain_id, "other") for name in ("proxy", "user", "asset", "recipient")}
    other |= {"amount": 500_001, "expires_at": 1_775_596_666, "salt": bytes(32)}
    if chain_id == 901:  # on Solana, the message has a nonce, and the same chain id on all networks
        other |= {"controller": address(chain_id, "other"), "nonce": 8}
    else:
        other["chain_id"] = chain_id - 1

    assert verify_ed25519(PUBLIC, message, signature)
    for name, value in other.items():
        assert not verify_ed25519(PUBLIC, MESSAGES[chain_id](**question | {name: value}), signature), name


@each("chain_id", list(MESSAGES))
@each("change", [{"chain_id": 1}, {"amount": 1 << 130}, {"amount": 0}, {"recipient": "0x" + "1" * 40}])
def test_messages_that_are_not_made(chain_id, change):
    """Chains and addresses of another family, and amounts out of range, are refused."""
    question = question_on(chain_id)

    with pytest.raises(UsageError):
        MESSAGES[chain_id](**question | change)


def broken():
    good = withdraw_parameters(**asked(1501), signature=bytes(64), public_key=PUBLIC)
    for place, value in [
        (0, "x"),
        (1, None),
        (2, "5e5"),
        (2, "-1"),
        (2, "0"),
        (2, 0.5),
        (2, True),
        (3, good[3][:-1] + "A"),
        (4, "soon"),
        (4, 1_775_596_665_000),
        (5, [1, 2]),
        (5, [256] * 32),
        (6, "11" * 65),
        (7, "11" * 31),
    ]:
        yield pytest.param([*good[:place], value, *good[place + 1 :]], id=f"{place} {str(value)[:12]}")
    yield pytest.param(good[:6], id="six")
    yield pytest.param([*good, 1], id="nine")
    yield pytest.param("parameters", id="text")
    yield pytest.param(None, id="None")


@each("parameters", list(broken()))
def test_what_is_not_read(parameters):
    """A list with a wrong length, or with an invalid value at any position, is refused."""
    with pytest.raises(UsageError) as caught:
        read_parameters(1501, parameters)

    assert caught.value.problems[0].path.startswith("parameters")


def test_an_account_and_a_contract_differ():
    """On Stellar, an account and a contract with the same 32 bytes give different messages."""
    question = asked(1501) | {"user": strkey_encode("G", PUBLIC)}

    assert stellar_message(**question) != stellar_message(**question | {"user": strkey_encode("C", PUBLIC)})


def test_an_evm_answer_has_no_public_key():
    """A public key together with an EVM signature is refused, because the signer is recovered."""
    with pytest.raises(UsageError, match="recovers"):
        withdraw_parameters(**asked(1), signature=sign(bytes(32), SECRET), public_key=PUBLIC)
