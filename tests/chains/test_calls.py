"""Call data of a withdrawal: encoded and decoded without loss, and refused if a byte is wrong."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chains.cases import chance
from tests.each import each
from workbench.base.errors import UsageError
from workbench.service.chains import WithdrawCall, read_call_data, withdraw_call_data
from workbench.service.chains.calls import abi_decode, abi_encode, function_signature, selector

ONE = chance(1).call(1)
TWO = chance(2).call(2)


def test_published_selectors():
    """Function selectors equal the published ones."""
    assert selector("transfer(address,uint256)").hex() == "a9059cbb"
    assert selector("sam(bytes,bool,uint256[])").hex() == "a5643bf2"


def test_published_encoding():
    """The example of the ABI specification is encoded as published, and decoded again."""
    words = ("60", "1", "a0", "4", "64617665".ljust(64, "0"), "3", "1", "2", "3")
    expected = "".join(word.rjust(64, "0") for word in words)
    kinds = ("bytes", "bool", "uint256[]")

    assert expected == abi_encode(kinds, [b"dave", True, [1, 2, 3]]).hex()
    assert abi_decode(kinds, bytes.fromhex(expected)) == [b"dave", True, [1, 2, 3]]


def test_the_two_functions():
    """Version 1 has the first seven arguments of version 2."""
    one = "withdrawAsset(address,address,uint256,address,uint256,bytes32,bytes)"
    two = "withdrawAsset(address,address,uint256,address,uint256,bytes32,bytes,bytes32[],bytes[],bool)"

    assert (one, two) == (function_signature(1), function_signature(2))


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 2])
def test_there_and_back(version):
    """Random calls are equal after encoding and decoding."""
    draw = chance(version)

    for _ in range(100):
        fields = draw.call(version)
        assert WithdrawCall(**fields) == read_call_data(withdraw_call_data(**fields))


def test_the_order_of_admins_is_kept():
    """Admin salts and signatures keep the given order."""
    fields = TWO | {
        "admin_salts": [bytes([n]) * 32 for n in (3, 1, 2)],
        "admin_signatures": [TWO["signature"], *chance(9).call(2)["admin_signatures"][:1], TWO["signature"]],
    }

    read = read_call_data(withdraw_call_data(**fields))

    assert tuple(salt[0] for salt in read.admin_salts) == (3, 1, 2)
    assert tuple(fields["admin_signatures"]) == read.admin_signatures


def test_v_is_written_as_contracts_take_it():
    """The v of a signature, which some wallets write as 0 or 1, is encoded as 27 or 28."""
    raw = ONE["signature"]
    other = raw[:64] + bytes([raw[64] - 27])

    assert withdraw_call_data(**ONE) == withdraw_call_data(**ONE | {"signature": other})


def test_a_version_may_read_as_2_0():
    """The service's contractVersion may be parsed as a float, so 2.0 is accepted as version 2."""
    assert withdraw_call_data(**TWO) == withdraw_call_data(**TWO | {"version": 2.0})


def test_signatures_print_masked():
    """The record's repr masks salts and signatures."""
    shown = repr(read_call_data(withdraw_call_data(**TWO)))

    assert TWO["recipient"] in shown
    assert "•••" in shown
    for secret in (TWO["salt"], TWO["signature"], *TWO["admin_salts"], *TWO["admin_signatures"]):
        assert repr(secret)[2:20] not in shown
        assert secret.hex()[:16] not in shown


@each(
    "change",
    [
        pytest.param({"version": 3}, id="version 3"),
        pytest.param({"version": True}, id="version True"),
        pytest.param({"version": "2"}, id="version as text"),
        pytest.param({"version": 1}, id="version 1 with admins"),
        pytest.param({"admin_salts": ()}, id="no admin salts"),
        pytest.param({"admin_salts": (), "admin_signatures": ()}, id="no admins"),
        pytest.param({"admin_salts": bytes(32)}, id="one salt for a list"),
        pytest.param({"admin_signatures": (bytes(65),) * len(TWO["admin_salts"])}, id="signatures of zeros"),
        pytest.param({"direct_transfer": None}, id="directTransfer left out"),
        pytest.param({"direct_transfer": 1}, id="directTransfer 1"),
        pytest.param({"signature": TWO["signature"][:64]}, id="short signature"),
        pytest.param({"amount": 25.0}, id="float"),
        pytest.param({"amount": 0}, id="zero"),
        pytest.param({"expires_at": "2026-04-07T21:17:45Z"}, id="time as text"),
        pytest.param({"proxy": TWO["proxy"].swapcase()}, id="address in wrong case"),
    ],
)
def test_what_is_not_written(change):
    """Arguments that would make the call fail or act differently are refused."""
    with pytest.raises(UsageError) as caught:
        withdraw_call_data(**TWO | change)

    assert TWO["signature"].hex() not in str(caught.value)


def test_true_is_not_a_version():
    """True is refused as a version, although it equals 1 in Python."""
    with pytest.raises(UsageError, match="1 or 2"):
        withdraw_call_data(**ONE | {"version": True})


DATA = {version: bytes.fromhex(withdraw_call_data(**fields)[2:]) for version, fields in ((1, ONE), (2, TWO))}


@each(
    "data",
    [
        pytest.param("", id="empty"),
        pytest.param("0x", id="0x"),
        pytest.param(DATA[1].hex(), id="no 0x"),
        pytest.param("0x" + DATA[1].hex() + "\n", id="newline"),
        pytest.param("0x" + DATA[1].hex()[:-1], id="half a byte short"),
        pytest.param(DATA[1][:-1], id="a byte short"),
        pytest.param(DATA[1][:4], id="only the selector"),
        pytest.param(DATA[1] + b"\0", id="a byte more"),
        pytest.param(DATA[2] + bytes(32), id="a word more"),
        pytest.param(bytes.fromhex("a9059cbb") + DATA[1][4:], id="another function"),
        pytest.param(DATA[1][:4] + DATA[2][4:], id="version 2 as version 1"),
        pytest.param(DATA[2][:4] + DATA[1][4:], id="version 1 as version 2"),
    ],
)
def test_what_is_not_read(data):
    """Another function's call data, and damaged call data, are refused."""
    with pytest.raises(UsageError):
        read_call_data(data)


@given(st.sampled_from([1, 2]), st.data())
def test_no_two_ways_to_write_one_call(version, data):
    """Call data with changed bytes is refused, or is the only encoding of the call that it decodes to."""
    raw = bytearray(DATA[version])
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))

    try:
        call = read_call_data(bytes(raw))
    except UsageError:
        return

    again = selector(function_signature(call.version)) + abi_encode(*arguments(call))
    assert bytes(raw) == again


def arguments(call):
    kinds = function_signature(call.version).partition("(")[2].rstrip(")").split(",")
    values = [call.proxy, call.asset, call.amount, call.recipient, call.expires_at, call.salt, call.signature]
    return kinds, [*values, call.admin_salts, call.admin_signatures, call.direct_transfer][: len(kinds)]


@pytest.mark.parametrize("version", [1, 2])
def test_every_cut_and_every_word_turned(version):
    """Call data that is cut at any byte, or has a wrong offset, is refused."""
    raw = DATA[version]
    draw = random.Random(3)
    offsets = [4 + 32 * index for index in ((6,) if version == 1 else (6, 7, 8))]

    for size in range(len(raw)):
        with pytest.raises(UsageError, match=r"selector|exceeds the size|longer than|not encoded|is not a call"):
            read_call_data(raw[:size])
    for at in offsets:
        for value in (0, 31, 32, len(raw), 1 << 64, (1 << 256) - 1, draw.getrandbits(16)):
            with pytest.raises(UsageError):
                read_call_data(raw[:at] + value.to_bytes(32) + raw[at + 32 :])


def test_a_length_beyond_the_end():
    """A length beyond the end of the call data is refused with this reason."""
    raw = DATA[1]
    at = 4 + 7 * 32

    with pytest.raises(UsageError, match="exceeds the size"):
        read_call_data(raw[:at] + (1 << 40).to_bytes(32) + raw[at + 32 :])


def test_a_list_that_claims_to_be_huge():
    """A list length of 2**255 is refused before memory is allocated for it."""
    raw = bytearray(DATA[2])
    at = 4 + int.from_bytes(raw[4 + 7 * 32 : 4 + 8 * 32])
    raw[at : at + 32] = (1 << 255).to_bytes(32)

    with pytest.raises(UsageError, match="exceeds the size of the call data"):
        read_call_data(bytes(raw))
