"""Signatures of EVM accounts and Ed25519: what recovers, and what contracts would refuse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chains.cases import ORDER, chance
from workbench.base.errors import UsageError
from workbench.service.chains import public_address, recover, sign, sign_ed25519, verify_ed25519
from workbench.service.chains.values import derive_secret, ed25519_public_key

SECRET = derive_secret(b"tests", "signatures")
HASH = bytes(range(32))
GOOD = sign(HASH, SECRET)


def whole(r, s, v):
    return r.to_bytes(32) + s.to_bytes(32) + bytes([v])


R, LOW_S, V = int.from_bytes(GOOD[:32]), int.from_bytes(GOOD[32:64]), GOOD[64]


@pytest.mark.parametrize(
    "signature",
    [
        pytest.param(GOOD, id="bytes"),
        pytest.param(GOOD.hex(), id="hex"),
        pytest.param("0x" + GOOD.hex().upper(), id="0x hex"),
        pytest.param(whole(R, LOW_S, V - 27), id="v 0 or 1"),
        pytest.param(list(GOOD), id="numbers"),
    ],
)
def test_a_signature_in_all_its_forms(signature):
    """Whatever form the signature is written in, it recovers to its maker."""
    assert public_address(SECRET) == recover(HASH, signature)


@pytest.mark.parametrize(
    "signature, rule",
    [
        pytest.param(whole(R, ORDER - LOW_S, 55 - V), "malleable", id="high s"),
        pytest.param(whole(R, ORDER // 2 + 1, V), "malleable", id="s just above the half"),
        pytest.param(whole(0, LOW_S, V), "range", id="r zero"),
        pytest.param(whole(R, 0, V), "range", id="s zero"),
        pytest.param(whole(ORDER, LOW_S, V), "range", id="r the order"),
        pytest.param(whole(R, ORDER, V), "range", id="s the order"),
        pytest.param(whole((1 << 256) - 1, LOW_S, V), "range", id="r at most"),
        pytest.param(whole(R, LOW_S, 2), "v", id="v 2"),
        pytest.param(whole(R, LOW_S, 26), "v", id="v 26"),
        pytest.param(whole(R, LOW_S, 29), "v", id="v 29"),
        pytest.param(whole(R, LOW_S, 37), "v", id="v of a transaction"),
        pytest.param(GOOD[:64], "length", id="64 bytes"),
        pytest.param(GOOD + b"\0", "length", id="66 bytes"),
        pytest.param(b"", "length", id="empty"),
        pytest.param("0x", "type", id="0x"),
        pytest.param(GOOD.hex() + "\n", "type", id="newline"),
        pytest.param(None, "type", id="None"),
        # 5 is not an x coordinate of the curve, so no key fits
        pytest.param(whole(5, 1, 27), "signature", id="no key"),
    ],
)
def test_what_contracts_refuse(signature, rule):
    """Altered twins, numbers out of range and other lengths are refused, and the signature is not shown."""
    with pytest.raises(UsageError) as caught:
        recover(HASH, signature)

    assert [rule] == [problem.rule for problem in caught.value.problems]
    assert GOOD.hex()[:16] not in str(caught.value)


@pytest.mark.parametrize("digest", [b"", bytes(31), bytes(33), "00" * 32, None])
def test_what_is_not_a_digest(digest):
    """Only 32 bytes are recovered from or signed."""
    with pytest.raises(UsageError, match="32 bytes"):
        recover(digest, GOOD)
    with pytest.raises(UsageError, match="32 bytes"):
        sign(digest, SECRET)


@given(st.binary(min_size=65, max_size=65), st.sampled_from([0, 1, 27, 28]))
def test_any_65_bytes_recover_or_are_refused(raw, v):
    """Random bytes give some address or one error of ours, nothing else."""
    try:
        address = recover(HASH, raw[:64] + bytes([v]))
    except UsageError:
        return

    assert address != public_address(SECRET)
    assert len(address) == 42


@given(st.integers(0, 64 * 8 - 1))
def test_one_wrong_bit(bit):
    """A signature with one bit turned over never recovers to its maker."""
    raw = bytearray(GOOD)
    raw[bit // 8] ^= 1 << bit % 8

    try:
        found = recover(HASH, bytes(raw))
    except UsageError:
        return
    assert public_address(SECRET) != found


def test_secrets_of_a_seed():
    """The same seed and labels make the same key; labels cannot run into one another."""
    assert derive_secret(b"a", "b", "c") == derive_secret(b"a", "b", "c")
    assert len({derive_secret(b"a", *labels) for labels in [("b", "c"), ("bc",), ("b", "", "c"), ("c", "b")]}) == 4


def test_our_signatures_are_canonical():
    """What we sign we also accept: low s, v 27 or 28."""
    draw = chance(7)

    for _ in range(200):
        secret, digest = draw.secret(), draw.source.randbytes(32)
        signature = sign(digest, secret)

        assert public_address(secret) == recover(digest, signature)
        assert signature[64] in (27, 28)


RFC_8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
]


@pytest.mark.parametrize("secret, public, message, signature", RFC_8032, ids=["test 1", "test 2"])
def test_published_ed25519(secret, public, message, signature):
    """The vectors of RFC 8032 sign and verify."""
    assert public == ed25519_public_key(bytes.fromhex(secret)).hex()
    assert signature == sign_ed25519(bytes.fromhex(message), bytes.fromhex(secret)).hex()
    assert verify_ed25519(public, bytes.fromhex(message), signature)
    assert not verify_ed25519(public, b"another", signature)


def test_ed25519_refuses_twins_and_weak_keys():
    """A signature plus the group order, and a key of small order, do not verify."""
    _, public, message, signature = RFC_8032[1]
    order = (1 << 252) + 27742317777372353535851937790883648493
    raw = bytes.fromhex(signature)
    twin = raw[:32] + (int.from_bytes(raw[32:], "little") + order).to_bytes(32, "little")
    identity = b"\1" + bytes(31)

    assert not verify_ed25519(public, bytes.fromhex(message), twin)
    assert not verify_ed25519(identity, b"anything", identity + bytes(32))


@pytest.mark.parametrize("key, signature", [(bytes(31), bytes(64)), (bytes(32), bytes(65)), ("x", bytes(64))])
def test_ed25519_lengths(key, signature):
    """Keys have 32 bytes and signatures 64."""
    with pytest.raises(UsageError):
        verify_ed25519(key, b"", signature)
