"""Private keys are refused in any input, and never quoted."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.each import each
from workbench.base.errors import UsageError
from workbench.service.chains import address_problems, eip55, read_bytes, read_call_data, recover, withdraw_typed_data
from workbench.service.chains.curves import ed25519_public_key
from workbench.service.chains.values import (
    base58_encode,
    derive_secret,
    looks_like_private_key,
    refuse_private_key,
    strkey_encode,
)

HEX = derive_secret(b"never use me", "hex").hex()
SEED = derive_secret(b"never use me", "seed")
PHRASE = " ".join(["abandon"] * 11 + ["about"])
KEYS = {
    "hex": HEX,
    "0x hex": "0x" + HEX,
    "capital hex": "0X" + HEX.upper(),
    "hex with blanks": f"  {HEX}\n",
    "quoted hex": f'"{HEX}"',
    "12 words": PHRASE,
    "12 short words": "act add age aim air all any arm art ask bag bar",
    "24 words": " ".join(["abandon"] * 23 + ["art"]),
    "words with commas": PHRASE.replace(" ", ", "),
    "numbered words": " ".join(f"{n}. {word}" for n, word in enumerate(PHRASE.split(), 1)),
    "Solana base58": base58_encode(SEED + ed25519_public_key(SEED)),
    "Solana list": json.dumps(list(SEED + ed25519_public_key(SEED))),
    "Stellar seed": strkey_encode("S", SEED),
    "Stellar seed mistyped": strkey_encode("S", SEED)[:-1] + "A",
    "extended key": "xprv9s21ZrQH143K" + "3" * 95,
    "PEM": "-----BEGIN EC PRIVATE KEY-----\nMHQCAQEE\n-----END EC PRIVATE KEY-----",
}


@each("text", KEYS.values(), ids=KEYS)
def test_keys_are_recognized(text):
    """Keys and seed phrases are refused with the advice never to paste them, and not quoted."""
    with pytest.raises(UsageError, match="Never paste a private key here") as caught:
        refuse_private_key(text, "to")

    assert text.strip() not in str(caught.value)
    assert HEX[:8] not in str(caught.value)


@each("text", KEYS.values(), ids=KEYS)
def test_keys_are_not_addresses(text):
    """A key in place of an address is reported only as a private key."""
    assert [problem.kind for problem in address_problems(text)] == ["private-key"]
    assert [problem.kind for problem in address_problems(text, 900)] == ["private-key"]


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda key: recover(bytes(32), key), id="signature"),
        pytest.param(lambda key: read_bytes(key, 64, "signature"), id="read_bytes"),
        pytest.param(lambda key: read_call_data("0x" + key), id="call data"),
        pytest.param(
            lambda key: withdraw_typed_data(
                chain_id=1,
                proxy=eip55("0x" + "12" * 20),
                user=key,
                asset=eip55("0x" + "34" * 20),
                amount=1,
                recipient=eip55("0x" + "56" * 20),
                nonce=0,
                salt=bytes(32),
            ),
            id="address",
        ),
    ],
)
def test_a_key_in_the_wrong_place(use):
    """A key in place of a signature, call data or address is refused. The error and its causes do not contain it."""
    with pytest.raises(UsageError, match="private key") as caught:
        use(HEX)

    assert HEX not in str(caught.value)
    assert HEX not in repr(caught.value.problems)
    assert caught.value.__cause__ is None


def test_a_salt_is_not_a_key():
    """64 hex digits are accepted in a member that expects a hash. A seed phrase is not."""
    assert not looks_like_private_key("0x" + HEX, hash_expected=True)
    assert looks_like_private_key(PHRASE, hash_expected=True)


@each(
    "text",
    [
        pytest.param("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", id="EVM address"),
        pytest.param("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", id="Solana address"),
        pytest.param("GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ", id="Stellar address"),
        pytest.param(
            "CBF5VXQ2FUQ5JUUO3PLNQ3SPO4JDDUNJC3PKSB6QUQW4LQS2HJE3ACQX", id="Stellar address cut by its digits"
        ),
        pytest.param(base58_encode(bytes(range(1, 65))), id="Solana signature"),
        pytest.param("[300, 1]", id="a list"),
        pytest.param("[1,,2]", id="a broken list"),
        pytest.param("11 words are no phrase " * 2, id="words"),
        pytest.param("Refund for the second card of the team in March, see ticket", id="a sentence of 12 words"),
        pytest.param("", id="empty"),
        pytest.param(None, id="None"),
        pytest.param(12, id="a number"),
    ],
)
def test_what_is_not_a_key(text):
    """Addresses, signatures, lists and ordinary text are not taken for keys."""
    assert not looks_like_private_key(text)


@given(st.binary(min_size=64, max_size=64).filter(lambda raw: raw[0]))
def test_signatures_are_not_keys(raw):
    """64 random bytes in base58 are not taken for a key."""
    assert not looks_like_private_key(base58_encode(raw))
