"""Base58, StrKey, Keccak and byte strings: published examples, and values that are refused."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.each import each
from workbench.base.errors import UsageError
from workbench.service.chains import keccak256, read_bytes
from workbench.service.chains.values import base58_decode, base58_encode, strkey_decode, strkey_encode


@pytest.mark.parametrize(
    "text, data",
    [
        ("2NEpo7TZRRrLZSi2U", b"Hello World!"),
        (
            "USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z",
            b"The quick brown fox jumps over the lazy dog.",
        ),
        ("11233QC4", bytes.fromhex("0000287fb4cd")),
        ("", b""),
    ],
)
def test_published_base58(text, data):
    """The examples of the base58 draft are encoded and decoded."""
    assert text == base58_encode(data)
    assert data == base58_decode(text)


@each("text", ["0", "O", "I", "l", "abc ", "1" * 257, "ä"])
def test_what_is_not_base58(text):
    """Characters outside the base58 alphabet, and texts that are too long, are refused."""
    with pytest.raises(ValueError, match=r"character|longer"):
        base58_decode(text)


PAYLOAD = bytes.fromhex("3f0c34bf93ad0d9971d04ccc90f705511c838aad9734a4a2fb0d7a03fc7fe89a")


@pytest.mark.parametrize(
    "text, kind, payload",
    [
        ("GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ", "G", PAYLOAD),
        ("MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ", "M", PAYLOAD + bytes(8)),
        (
            "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK",
            "M",
            PAYLOAD + (1 << 63).to_bytes(8),
        ),
        (
            "CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE",
            "C",
            bytes.fromhex("363eaa3867841fbad0f4ed88c779e4fe66e56a2470dc98c0ec9c073d05c7b103"),
        ),
    ],
)
def test_published_strkeys(text, kind, payload):
    """The examples of SEP-23 are encoded and decoded."""
    assert text == strkey_encode(kind, payload)
    assert (kind, payload) == strkey_decode(text)


@each(
    "text",
    [
        "GAAAAAAAACGC6",
        "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZA",
        "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUACUSI",
        "G47QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVP2I",
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUR",
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLKA",
        "",
        "XBU2RRGLXH3E5CQHTD3ODLDF2BWDCYUSSBLLZ5GNW7JXHDIYKXZWGTOG",
    ],
)
def test_invalid_strkeys(text):
    """The invalid examples of SEP-23 are refused."""
    with pytest.raises(ValueError, match=r"."):
        strkey_decode(text)


@given(st.binary(min_size=40, max_size=40))
def test_spare_bits_are_refused(payload):
    """A last character that differs only in the unused bits of base32 is refused."""
    text = strkey_encode("M", payload)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    other = text[:-1] + alphabet[alphabet.index(text[-1]) ^ 1]

    with pytest.raises(ValueError, match="unused bits"):
        strkey_decode(other)


@pytest.mark.parametrize("kind, payload", [("T", bytes(32)), ("G", bytes(31)), ("M", bytes(32))])
def test_what_no_strkey_holds(kind, payload):
    """An unknown kind and a wrong length cannot be encoded."""
    with pytest.raises(ValueError, match="kind"):
        strkey_encode(kind, payload)


@pytest.mark.parametrize(
    "data, expected",
    [
        (b"", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"),
        (b"transfer(address,uint256)", "a9059cbb2ab09eb219583f4a59a5d0623ade346d962bcd4e46b11da047c9049b"),
    ],
)
def test_published_hashes(data, expected):
    """Keccak-256 is the original function, not SHA3-256."""
    assert expected == keccak256(data).hex()


@given(st.binary(min_size=32, max_size=32))
def test_one_salt_in_all_its_forms(raw):
    """Bytes, hex with and without 0x, base64 and a list of numbers are read as the same salt."""
    forms = (raw, bytearray(raw), raw.hex(), "0x" + raw.hex().upper(), base64.b64encode(raw).decode(), list(raw))

    assert {raw} == {read_bytes(form, 32, "salt") for form in forms}


@each(
    "value",
    [
        pytest.param("", id="empty"),
        pytest.param(b"", id="no bytes"),
        pytest.param("0x" + "ab" * 31, id="hex too short"),
        pytest.param("0x" + "ab" * 33, id="hex too long"),
        pytest.param("0x" + "ab" * 31 + "a", id="half a byte of hex"),
        pytest.param("0X" + "ab" * 32, id="0X"),
        pytest.param("ab" * 32 + "\n", id="hex with newline"),
        pytest.param(base64.b64encode(bytes(32)).decode() + "\n", id="base64 with newline"),
        pytest.param(base64.b64encode(bytes(32)).decode().rstrip("="), id="base64 without padding"),
        pytest.param("A" * 42 + "B=", id="base64 with spare bits"),
        pytest.param(base64.urlsafe_b64encode(b"\xff" * 32).decode(), id="another alphabet"),
        pytest.param("é" * 44, id="not ASCII"),
        pytest.param([256] * 32, id="numbers too large"),
        pytest.param([True] * 32, id="booleans"),
        pytest.param(7, id="a number"),
        pytest.param(None, id="None"),
    ],
)
def test_what_is_not_a_salt(value):
    """Any value other than 32 bytes is refused, and the message does not quote it."""
    with pytest.raises(UsageError) as caught:
        read_bytes(value, 32, "salt")

    assert caught.value.problems[0].path == "salt"
    assert not (isinstance(value, str) and len(value) > 20 and value.strip() in str(caught.value))
