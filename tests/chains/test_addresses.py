"""Addresses: published examples, and the problems of mistyped or badly pasted ones."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.each import each
from workbench.base.errors import UsageError
from workbench.service.chains import (
    Family,
    address_problems,
    checksum_note,
    eip55,
    is_zero_address,
    same_address,
    similar_addresses,
)
from workbench.service.chains.addresses import chain_of, family_of_address
from workbench.service.chains.values import base58_encode, strkey_encode

EIP_55 = (
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x27b1fdb04752bbc536007a920d24acb045561c26",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
)
EVM = EIP_55[4]
SOLANA = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
STELLAR = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
CONTRACT = "CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE"
MUXED = "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK"


@each("address", EIP_55)
def test_published_checksums(address):
    """The addresses that EIP-55 publishes get the published checksums."""
    expected = address

    assert expected == eip55(address.lower().replace("0X", "0x"))
    assert address_problems(address) == ()


@pytest.mark.parametrize(
    "chain_id, address", [(1, EVM), (900, SOLANA), (1500, STELLAR), (1501, CONTRACT), (1500, MUXED)]
)
def test_valid_addresses(chain_id, address):
    """A valid address passes, with and without its chain."""
    assert address_problems(address, chain_id) == ()
    assert address_problems(address) == ()


@each(
    "address, kind, words",
    [
        pytest.param("", "blank", "is empty", id="empty"),
        pytest.param("  ", "blank", "is empty", id="blank"),
        pytest.param(EVM + "\n", "whitespace", "line break", id="newline"),
        pytest.param(" " + EVM, "whitespace", "spaces before", id="leading blank"),
        pytest.param(EVM + "\u00a0", "whitespace", "spaces before", id="no-break space"),
        pytest.param(EVM[:10] + " " + EVM[10:], "whitespace", "position 11", id="inner blank"),
        pytest.param(EVM[:10] + "\u200b" + EVM[10:], "invisible", "U+200B", id="zero width"),
        pytest.param("\ufeff" + STELLAR, "invisible", "U+FEFF", id="byte order mark"),
        pytest.param(EVM.replace("A", "\u0410", 1), "characters", "not ASCII", id="cyrillic A"),
        pytest.param("0X" + EVM[2:], "prefix", "0X", id="0X"),
        pytest.param(EVM[2:], "prefix", "put 0x before it", id="no 0x"),
        pytest.param("ab" * 20, "prefix", "put 0x before it", id="no 0x, and base58 as well"),
        pytest.param("vitalik.eth", "name", "not looked up", id="ENS"),
        pytest.param("pay.example.com", "name", "not looked up", id="domain"),
        pytest.param(EVM[:-1], "length", "39 hex digits", id="too short"),
        pytest.param(EVM + "0", "length", "41 hex digits", id="too long"),
        pytest.param(EVM[:-1] + "g", "characters", "position 42", id="not hex"),
        pytest.param(EVM.replace("aAe", "aae"), "checksum", "probably mistyped", id="EIP-55"),
        pytest.param(STELLAR[:-1] + "A", "checksum", "probably mistyped", id="CRC-16"),
        pytest.param(STELLAR.lower(), "characters", "capitals", id="lower-case Stellar"),
        pytest.param("z" * 44, "length", "33 bytes", id="Solana, 33 bytes"),
        pytest.param("2" * 33, "length", "24 bytes", id="Solana, 24 bytes"),
        pytest.param("not an address", "whitespace", "position 4", id="words"),
        pytest.param("hello", "characters", "not a known form", id="a word"),
        pytest.param("ab" * 32, "private-key", "Never paste", id="private key"),
    ],
)
def test_problems_are_named(address, kind, words):
    """Each malformed address gives one problem with its kind and a message about the mistake."""
    (problem,) = address_problems(address)

    assert kind == problem.kind
    assert words in problem.message


@pytest.mark.parametrize("address", [None, 12, b"0x", True])
def test_only_text_is_an_address(address):
    """A value other than text is reported as a problem, not raised as a Python error."""
    assert [problem.kind for problem in address_problems(address)] == ["type"]


@pytest.mark.parametrize(
    "address, chain_id, words",
    [
        pytest.param(
            SOLANA, 84532, "is a Solana address, and Base Sepolia (chain 84532) takes an EVM one", id="Solana on EVM"
        ),
        pytest.param(EVM, 900, "is an EVM address, and Solana (chain 900) takes a Solana one", id="EVM on Solana"),
        pytest.param(EVM, 1501, "is an EVM address, and Stellar testnet (chain 1501) takes", id="EVM on Stellar"),
        pytest.param(STELLAR, 777, "is a Stellar address, and EVM chain 777 takes an EVM one", id="unknown chain"),
    ],
)
def test_the_wrong_family(address, chain_id, words):
    """The message about an address of another chain family names both families."""
    (problem,) = address_problems(address, chain_id)

    assert problem.kind == "family"
    assert words in problem.message


@each("chain_id", [True, "0x1", 0, -1, 1.0, None, 1 << 64])
def test_chain_numbers_are_exact(chain_id):
    """True, text, floats and numbers out of range are refused as chain ids."""
    with pytest.raises(UsageError):
        chain_of(chain_id)


def test_numpy_chain_numbers_pass():
    """A NumPy integer is accepted as a chain id."""
    numpy = pytest.importorskip("numpy")

    assert chain_of(numpy.int64(84532)).id == 84532


@given(st.binary(min_size=20, max_size=20), st.integers(2, 41), st.sampled_from(string.hexdigits))
def test_one_mistyped_character_is_caught(raw, position, character):
    """An EVM address with one wrong character is refused, except if it has no checksum or a correct one."""
    address = eip55("0x" + raw.hex())
    mistyped = address[:position] + character + address[position + 1 :]

    found = address_problems(mistyped)

    letters = mistyped[2:]
    without_checksum = letters in {letters.lower(), letters.upper()}
    assert found or mistyped == address or without_checksum or eip55(mistyped) == mistyped


@pytest.mark.soak
def test_how_often_a_mistyped_character_passes():
    """In 100 addresses, fewer than one in a hundred wrong digits is accepted."""
    from tests.chains.cases import chance

    draw = chance(55)
    passed = tried = 0
    for _ in range(100):
        address = draw.address()
        for position in range(2, 42):
            for character in "0123456789abcdefABCDEF":
                if character.lower() != address[position].lower():
                    tried += 1
                    passed += not address_problems(address[:position] + character + address[position + 1 :])

    assert passed < tried / 100
    assert pytest.approx(tried, abs=5_000) == 80_000


@given(
    st.binary(min_size=32, max_size=32), st.sampled_from("GC"), st.integers(1, 55), st.sampled_from(string.printable)
)
def test_one_mistyped_character_of_stellar_is_always_caught(payload, kind, position, character):
    """A single wrong character in a Stellar address is always reported."""
    address = strkey_encode(kind, payload)
    mistyped = address[:position] + character + address[position + 1 :]

    assert address_problems(mistyped) or mistyped == address


@given(st.binary(min_size=32, max_size=32))
def test_every_solana_key_is_an_address(raw):
    """Any 32 bytes in base58 are a valid Solana address, whose note says that it has no checksum."""
    address = base58_encode(raw)

    assert address_problems(address, 900) == ()
    assert "no checksum" in checksum_note(address)


@pytest.mark.parametrize(
    "address, claim",
    [
        (EVM, "its checksum is correct"),
        (EVM.lower(), "no checksum"),
        (STELLAR, "its checksum is correct"),
        (SOLANA, "no checksum"),
    ],
)
def test_the_note_on_the_checksum_claims_no_more_than_was_checked(address, claim):
    """The note says that the checksum is correct, or that the address has no checksum."""
    assert claim in checksum_note(address)


@pytest.mark.slow
@given(st.text(max_size=80))
def test_any_text_gets_an_answer(text):
    """No text raises an error, and a text without problems belongs to a chain family."""
    if not address_problems(text):
        assert family_of_address(text) in set(Family)


def test_the_zero_address():
    """The zero address of each family is recognized, and no other text."""
    zeros = ("0x" + "0" * 40, "1" * 32, strkey_encode("G", bytes(32)), strkey_encode("C", bytes(32)))

    assert all(is_zero_address(zero) for zero in zeros)
    assert not any(is_zero_address(address) for address in (EVM, SOLANA, STELLAR, "", "0x", "x", "G" + "A" * 55))


def test_same_address():
    """Addresses are compared without regard to letter case on EVM chains, and exactly on Solana."""
    assert same_address(EVM, EVM.lower())
    assert not same_address(SOLANA, SOLANA.lower())


@each(
    "a, b, expected",
    [
        pytest.param(EVM, EVM.lower(), False, id="the same"),
        pytest.param(EVM, EVM[:6].upper().replace("0X", "0x") + "0" * 32 + EVM[-4:], True, id="poisoned"),
        pytest.param(EVM, "0x" + "1" * 36 + EVM[-4:], False, id="only the end"),
        pytest.param(EVM, EVM[:6] + "1" * 36, False, id="only the beginning"),
        pytest.param(SOLANA, SOLANA[:4] + "1" * 35 + SOLANA[-4:], True, id="Solana"),
        pytest.param(STELLAR, STELLAR[:4] + "A" * 48 + STELLAR[-4:], True, id="Stellar"),
    ],
)
def test_similar_addresses(a, b, expected):
    """Different addresses with the same first and last four characters are similar."""
    assert expected is similar_addresses(a, b)
    assert expected is similar_addresses(b, a)
