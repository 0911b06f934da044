"""EIP-712: the published example, the limits of each type, and values that are refused."""

import json

import pytest

from tests.each import each
from workbench.base.errors import UsageError
from workbench.service.chains import digest, keccak256, public_address, recover, sign
from workbench.service.chains.messages import encode_type

MAIL = {
    "types": {
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
            {"name": "verifyingContract", "type": "address"},
        ],
        "Person": [{"name": "name", "type": "string"}, {"name": "wallet", "type": "address"}],
        "Mail": [
            {"name": "from", "type": "Person"},
            {"name": "to", "type": "Person"},
            {"name": "contents", "type": "string"},
        ],
    },
    "primaryType": "Mail",
    "domain": {
        "name": "Ether Mail",
        "version": "1",
        "chainId": 1,
        "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
    },
    "message": {
        "from": {"name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"},
        "to": {"name": "Bob", "wallet": "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"},
        "contents": "Hello, Bob!",
    },
}
SIGNATURE = (
    "0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d"
    "07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b91562"
    "1c"
)


def test_the_published_type():
    """The type of the example is encoded and hashed as EIP-712 publishes it."""
    expected = "Mail(Person from,Person to,string contents)Person(string name,address wallet)"

    written = encode_type(
        "Mail", {name: {m["name"]: m["type"] for m in members} for name, members in MAIL["types"].items()}
    )

    assert expected == written
    assert keccak256(written.encode()).hex() == "a0cedeb2dc280ba39b857546d74f5549c3a1d7bdc2dd96bf881f76108e23dac2"


def test_the_published_digest():
    """The example has the published digest, also when read back from JSON."""
    expected = "be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2"

    assert expected == digest(MAIL).hex()
    assert expected == digest(json.loads(json.dumps(MAIL))).hex()


def test_the_published_signature():
    """The example's key (the hash of "cow") gives the published signature, which recovers to its address."""
    secret = keccak256(b"cow")

    assert public_address(secret) == "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"
    assert "0x" + sign(digest(MAIL), secret).hex() == SIGNATURE
    assert public_address(secret) == recover(digest(MAIL), SIGNATURE)


def test_the_domain_alone():
    """With the domain as primary type, only the domain is signed."""
    separator = bytes.fromhex("f2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f")

    assert keccak256(b"\x19\x01" + separator) == digest({**MAIL, "primaryType": "EIP712Domain", "message": {}})


def test_an_undeclared_domain_is_declared_by_its_members():
    """If the type of the domain is missing, it is derived from the members of the domain."""
    types = {name: members for name, members in MAIL["types"].items() if name != "EIP712Domain"}

    assert digest(MAIL) == digest({**MAIL, "types": types})


def one(kind, value, **types):
    return {
        "types": {"One": [{"name": "it", "type": kind}], **types},
        "primaryType": "One",
        "domain": {"name": "test"},
        "message": {"it": value},
    }


FITS = [
    ("uint8", 0),
    ("uint8", 255),
    ("uint256", (1 << 256) - 1),
    ("uint256", "0x10"),
    ("uint256", str((1 << 256) - 1)),
    ("int8", -128),
    ("int8", 127),
    ("int256", -(1 << 255)),
    ("int256", str(-(1 << 255))),
    ("bytes1", b"\0"),
    ("bytes32", "0x" + "00" * 32),
    ("bytes", "0x"),
    ("bytes", b"x" * 1000),
    ("string", ""),
    ("string", "zażółć 🦊" * 9),
    ("bool", True),
    ("address", "0x" + "ab" * 20),
    ("uint8[]", []),
    ("uint8[2]", [1, 2]),
    ("uint8[2][]", [[1, 2], (3, 4)]),
    ("string[]", ["a", "b"]),
]


@each("kind, value", FITS, ids=[f"{n}-{kind}" for n, (kind, _) in enumerate(FITS)])
def test_values_that_fit(kind, value):
    """Each type accepts its smallest and largest values."""
    assert len(digest(one(kind, value))) == 32


MISFITS = [
    ("uint8", 256, "range"),
    ("uint8", -1, "range"),
    ("uint256", 1 << 256, "range"),
    ("int8", 128, "range"),
    ("int8", -129, "range"),
    ("uint256", True, "type"),
    ("uint256", 1.0, "type"),
    ("uint256", float("nan"), "type"),
    ("uint256", "1e6", "type"),
    ("uint256", "1_000", "type"),
    ("uint256", " 1", "type"),
    ("uint256", "1\n", "type"),
    ("uint256", "١٠", "type"),
    ("uint256", "0x", "type"),
    ("uint256", "9" * 5000, "type"),
    ("uint256", None, "type"),
    ("bytes4", b"abc", "length"),
    ("bytes4", "0x0102030405", "length"),
    ("bytes4", "01020304", "type"),
    ("bytes", "0x0", "type"),
    ("bytes", "text", "type"),
    ("string", b"bytes", "type"),
    ("string", 7, "type"),
    ("string", "\ud800", "type"),
    ("bool", 1, "type"),
    ("bool", "true", "type"),
    ("address", "0x" + "ab" * 19, "type"),
    ("address", "0x" + "ab" * 20 + "\n", "type"),
    ("address", "0x" + " ab" * 13 + "0", "type"),
    ("address", 0, "type"),
    ("uint8[]", "12", "type"),
    ("uint8[]", {1: 2}, "type"),
    ("uint8[2]", [1], "length"),
    ("uint8[2]", [1, 2, 3], "length"),
    ("uint8[]", [1, 256], "range"),
    ("uint", 1, "type"),
    ("uint7", 1, "type"),
    ("uint264", 1, "type"),
    ("uint08", 1, "type"),
    ("bytes33", b"x" * 33, "type"),
    ("bytes0", b"", "type"),
    ("Unknown", {}, "type"),
    ("One", None, "type"),
    ("uint8[-1]", [], "type"),
    ("uint8[" + "9" * 20 + "]", [], "type"),
]


@each("kind, value, rule", MISFITS, ids=[f"{n}-{kind}" for n, (kind, *_) in enumerate(MISFITS)])
def test_values_that_do_not_fit(kind, value, rule):
    """A value of another type or out of range is refused with the rule."""
    with pytest.raises(UsageError) as caught:
        digest(one(kind, value))

    assert [rule] == [problem.rule for problem in caught.value.problems]


@each(
    "change, rule",
    [
        pytest.param({"types": None}, "type", id="no types"),
        pytest.param({"types": {"Mail": 5}}, "type", id="a type that is a number"),
        pytest.param({"types": {"Mail": [{"name": "a"}]}}, "type", id="a member without type"),
        pytest.param({"types": {"Mail": [{"name": "a", "type": []}]}}, "type", id="a type that is a list"),
        pytest.param({"types": {"Mail": [{"name": "a", "type": 5}]}}, "type", id="a type of a number"),
        pytest.param({"types": {"Mail": [{"name": "a b", "type": "bool"}]}}, "pattern", id="a name with a blank"),
        pytest.param({"types": {"Mail": [{"name": "a", "type": "bool"}] * 2}}, "unique", id="a member twice"),
        pytest.param({"types": {**MAIL["types"], "uint256": []}}, "unique", id="a type named like a number"),
        pytest.param({"types": {**MAIL["types"], "address": []}}, "unique", id="a type named like an atomic one"),
        pytest.param({"types": {**MAIL["types"], **{f"T{n}": [] for n in range(70)}}}, "maximum", id="70 types"),
        pytest.param(
            {"types": {**MAIL["types"], "EIP712Domain": [{"name": "name", "type": "bytes"}]}, "domain": {"name": "0x"}},
            "unknown",
            id="another domain type",
        ),
        pytest.param({"primaryType": "Nothing"}, "unknown", id="an unknown primary type"),
        pytest.param({"primaryType": ["Mail"]}, "type", id="a primary type that is a list"),
        pytest.param({"domain": {**MAIL["domain"], "extra": 1}}, "unknown", id="an unknown domain member"),
        pytest.param({"domain": {"name": "Ether Mail"}}, "required", id="a missing domain member"),
        pytest.param({"domain": []}, "type", id="a domain that is a list"),
        pytest.param({"message": None}, "type", id="no message"),
        pytest.param({"message": {**MAIL["message"], "extra": 1}}, "unknown", id="an unknown member"),
        pytest.param({"message": {"from": {}, "to": {}}}, "required", id="missing members"),
    ],
)
def test_shapes_that_are_refused(change, rule):
    """Invalid types, domains and messages are refused with the rule."""
    with pytest.raises(UsageError) as caught:
        digest({**MAIL, **change})

    assert [rule] == [problem.rule for problem in caught.value.problems]


@pytest.mark.parametrize("value", [None, "text", 5, [], {}])
def test_what_is_not_typed_data(value):
    """A value that is not typed data is refused."""
    with pytest.raises(UsageError, match="primaryType"):
        digest(value)


def test_types_that_refer_to_themselves():
    """A recursive type is accepted. A value that is nested 100 levels deep is refused."""
    types = {"One": [{"name": "it", "type": "One[]"}]}
    tree = {"it": [{"it": []}, {"it": []}]}
    deep = {"it": []}
    for _ in range(100):
        deep = {"it": [deep]}

    assert len(digest({"types": types, "primaryType": "One", "domain": {}, "message": tree})) == 32
    with pytest.raises(UsageError, match="levels deep"):
        digest({"types": types, "primaryType": "One", "domain": {}, "message": deep})


def test_private_values_stay_out_of_messages():
    """A problem names the path of a value, but not the value."""
    with pytest.raises(UsageError) as caught:
        digest(one("uint8", 987654321))

    assert caught.value.problems[0].path == "message.it"
    assert "987654321" not in str(caught.value)


def test_problems_name_the_members_of_the_json():
    """Problems name the JSON members, not arguments of Python."""
    types = {"Payment": [{"name": "someAmount", "type": "uint8"}]}
    with pytest.raises(UsageError, match=r"^message\.someAmount does not fit"):
        digest({"types": types, "primaryType": "Payment", "domain": {}, "message": {"someAmount": 300}})
    with pytest.raises(UsageError, match=r"^primaryType is not among"):
        digest({"types": types, "primaryType": "Other", "domain": {}, "message": {}})
