"""Chains by id, and addresses: chain family, and checks that detect mistyped or mispasted addresses.

The service defines the chain ids of Solana and Stellar. They are widely known, but not in the interface document. Any
other id is treated as an EVM chain. A checksum detects typing errors, but does not prove that somebody owns the
address. `checksum_note` states what was checked.
"""

import re
import string
import unicodedata
from collections.abc import Iterator
from enum import StrEnum

from workbench.base.frozen import frozen
from workbench.service.chains.values import (
    EVM_ADDRESS,
    base58_decode,
    eip55,
    invalid,
    looks_like_private_key,
    read_unsigned,
    strkey_decode,
)


class Family(StrEnum):
    """Address format of a chain."""

    EVM = "EVM"
    SOLANA = "Solana"
    STELLAR = "Stellar"


@frozen(kw_only=True)
class Chain:
    """A chain: its id in the service, its name, its address family, and whether it is a test network.

    For an unknown chain, `test` is None.
    """

    id: int
    name: str
    family: Family
    test: bool | None

    def __str__(self) -> str:
        return f"{self.name} (chain {self.id})" if self.test is not None else self.name


_KNOWN = {
    number: Chain(id=number, name=name, family=family, test=test)
    for number, name, family, test in (
        (900, "Solana", Family.SOLANA, False),  # assumed: chain_numbers
        (
            901,
            "Solana devnet",
            Family.SOLANA,
            True,
        ),  # assumed: chain_numbers, and the assignment of 901 and 902
        (902, "Solana testnet", Family.SOLANA, True),  # assumed
        (1500, "Stellar", Family.STELLAR, False),  # assumed: the document does not list this chain
        (1501, "Stellar testnet", Family.STELLAR, True),  # assumed
        (1, "Ethereum", Family.EVM, False),
        (10, "OP Mainnet", Family.EVM, False),
        (56, "BNB Smart Chain", Family.EVM, False),
        (100, "Gnosis", Family.EVM, False),
        (137, "Polygon", Family.EVM, False),
        (8453, "Base", Family.EVM, False),
        (42161, "Arbitrum One", Family.EVM, False),
        (43114, "Avalanche C-Chain", Family.EVM, False),
        (43113, "Avalanche Fuji", Family.EVM, True),
        (80002, "Polygon Amoy", Family.EVM, True),
        (84532, "Base Sepolia", Family.EVM, True),
        (11155111, "Ethereum Sepolia", Family.EVM, True),
    )
}


def chain_of(chain_id: int) -> Chain:
    """Return the chain with this id. For an unknown id, return an EVM chain with the id in its name.

    Raises:
        UsageError: The id is not a positive int. Text, floats and booleans (True equals 1, Ethereum mainnet) are
            rejected.
    """
    number = read_unsigned(chain_id, "chainId", bits=64, minimum=1)
    return _KNOWN.get(number) or Chain(id=number, name=f"EVM chain {number}", family=Family.EVM, test=None)


def family_of(chain_id: int) -> Family:
    """Return the address family of a chain."""
    return chain_of(chain_id).family


_HEX_40 = r"[0-9a-fA-F]{40}"
_STELLAR = r"[GC][A-Z2-7]{55}|M[A-Z2-7]{68}"
_BASE58 = r"[1-9A-HJ-NP-Za-km-z]{32,44}"
_NAME = r"[^\s.]+(?:\.[^\s.]+)*\.[A-Za-z]{2,}"
_Found = tuple[str, str]  # kind and message of a problem
_ARTICLE = {None: "not a known", Family.EVM: "an EVM", Family.SOLANA: "a Solana", Family.STELLAR: "a Stellar"}


@frozen
class AddressProblem:
    """One problem of an address. `message` completes a sentence that starts with the name of the address's field.

    Attributes:
        kind: type, blank, private-key, whitespace, invisible, prefix, name, characters, length, checksum or family.
    """

    kind: str
    message: str

    def __str__(self) -> str:
        return self.message


def address_problems(address: object, chain_id: int | None = None) -> tuple[AddressProblem, ...]:
    """Return the problems of an address on a chain; without a chain id, on any chain. A valid address has no problems.

    Solana addresses, and EVM addresses in a single letter case, have no checksum. Mistyped characters in them cannot be
    detected.

    Raises:
        UsageError: The chain id is not a positive whole number.
    """
    chain = None if chain_id is None else chain_of(chain_id)
    return tuple(
        AddressProblem(*problem) for problem in _problems(address, chain.family if chain else None, str(chain))
    )


def _problems(address: object, family: Family | None, taker: str) -> Iterator[_Found]:
    """Yield the problems of an address.

    Args:
        family: Family that the address must have; None allows any family.
        taker: Name of the chain or field that takes the address, for messages.
    """
    if not isinstance(address, str):
        yield "type", "must be text"
    elif looks_like_private_key(address):
        yield "private-key", "looks like a private key. Never paste a private key here"
    elif unusual := [*_text_problems(address)]:
        yield from unusual
    elif family is not None and (actual := family_of_address(address)) not in {None, family}:
        yield "family", f"is {_ARTICLE[actual]} address, and {taker} takes {_ARTICLE[family]} one"
    else:
        yield from _FORMS[family or family_of_address(address)](address)


def require_address(address: object, family: Family, path: str) -> str:
    """Return a valid address of a family unchanged, or raise UsageError with the first problem."""
    for problem in _problems(address, family, "this field"):
        raise invalid(path, *problem)
    return str(address)


def require_evm_address(address: object, path: str) -> str:
    """Return a valid EVM address with checksum, or raise UsageError."""
    return eip55(require_address(address, Family.EVM, path))


def family_of_address(address: str) -> Family | None:
    """Return the family that an address resembles, even if the address is invalid; None if the format is unknown."""
    if re.match(r"0x", address, re.IGNORECASE):
        return Family.EVM
    if len(address) in {56, 69} and address[:1].upper() in {"G", "C", "M"}:
        return Family.STELLAR
    if re.fullmatch(_BASE58, address) and not re.fullmatch(_HEX_40, address):
        return Family.SOLANA
    return None


def has_checksum(address: str) -> bool:
    """Return whether an address has a checksum, as Stellar addresses and EVM addresses in mixed case do."""
    family = family_of_address(address)
    return family is Family.STELLAR or (family is Family.EVM and _mixed_case(address))


def checksum_note(address: str) -> str:
    """Describe the checks that a valid address passed, and the limits of these checks."""
    if has_checksum(address):
        return (
            "its checksum is correct, which rules out nearly every typing error; it does not show whose address it is"
        )
    if family_of_address(address) is Family.EVM:
        return "it is written in one case and so has no checksum: a mistyped character cannot be detected"
    return "its length is correct; this form has no checksum, so a mistyped character can go unnoticed"


def is_zero_address(address: str) -> bool:
    """Return whether an address is all zero bytes. Nobody holds its key, so funds sent to this address are lost."""
    family = family_of_address(address)
    if family is Family.EVM:
        return set(address[2:]) == {"0"}
    try:
        payload = strkey_decode(address)[1][:32] if family is Family.STELLAR else base58_decode(address)
    except ValueError:
        return False
    return bool(payload) and not any(payload)


def same_address(a: object, b: object) -> bool:
    """Return whether two values are texts of the same address. Only EVM addresses may differ in case."""
    return isinstance(a, str) and isinstance(b, str) and _comparable(a) == _comparable(b)


def similar_addresses(a: str, b: str) -> bool:
    """Return whether different addresses have equal first four and last four characters, as in address poisoning."""
    a, b = (_comparable(address).removeprefix("0x") for address in (a, b))
    return a != b and a[:4] == b[:4] and a[-4:] == b[-4:]


def _comparable(address: str) -> str:
    return address.lower() if re.fullmatch(EVM_ADDRESS, address) else address


def _mixed_case(address: str) -> bool:
    return address[2:] not in {address[2:].lower(), address[2:].upper()}


def _text_problems(address: str) -> Iterator[_Found]:
    """Yield problems with invisible or misleading characters, before the address format is checked."""
    if address.isascii() and address.isalnum():
        return
    body = address.strip()
    if not body:
        yield "blank", "is empty"
    elif "\n" in address or "\r" in address:
        yield "whitespace", "contains a line break"
    elif address != body:
        yield "whitespace", "has spaces before or after it"
    elif re.fullmatch(_NAME, body):
        yield "name", "is a name; ENS and similar names are not looked up, so paste the address"
    for position, c in enumerate(body, len(address) - len(address.lstrip()) + 1):
        if c in "\r\n" or (c.isascii() and c.isprintable() and c != " "):
            continue
        code = f"U+{ord(c):04X}"
        if c.isspace():
            yield "whitespace", f"has a space at position {position}"
        elif unicodedata.category(c) in {"Cc", "Cf", "Cn", "Co", "Cs", "Mn"}:
            yield "invisible", f"has an invisible character ({code}) at position {position}"
        else:
            yield "characters", f"has a character at position {position} that is not ASCII ({code})"
        return


def _evm(address: str) -> Iterator[_Found]:
    wrong = next((index for index, digit in enumerate(address, 1) if index > 2 and digit not in string.hexdigits), None)
    if address[:2] == "0X":
        yield "prefix", "begins with 0X; write 0x in lower case"
    elif address[:2] != "0x":
        yield "prefix", f"does not begin with 0x{': put 0x before it' if re.fullmatch(_HEX_40, address) else ''}"
    elif wrong is not None:
        yield "characters", f"has a character at position {wrong} that is not a hex digit"
    elif len(address) != 42:
        yield "length", f"has {len(address) - 2} hex digits after 0x; 40 are needed"
    elif _mixed_case(address) and eip55(address) != address:
        yield "checksum", "has a wrong checksum: a character is probably mistyped"


def _solana(address: str) -> Iterator[_Found]:
    try:
        size = len(base58_decode(address))
    except ValueError as error:
        yield "characters", f"is not base58: {error}"
        return
    if size != 32:
        yield "length", f"decodes to {size} bytes; 32 are needed, so a character is missing, added or mistyped"


def _stellar(address: str) -> Iterator[_Found]:
    if re.fullmatch(_STELLAR, address.upper()) and not re.fullmatch(_STELLAR, address):
        yield "characters", "has lower-case letters; Stellar addresses are written in capitals"
        return
    try:
        strkey_decode(address)
    except ValueError as error:
        text = str(error)
        kinds = {"wrong checksum": "checksum", "a char": "characters", "unused": "characters", "begin": "prefix"}
        yield next((kind for phrase, kind in kinds.items() if phrase in text), "length"), text


def _unknown(address: str) -> Iterator[_Found]:
    if re.fullmatch(_HEX_40, address):
        yield from _evm(address)
    else:
        yield (
            "characters",
            (
                "is not a known form of address: 0x and 40 hex digits (EVM), 32 to 44 characters of base58 (Solana), "
                "or 56 capitals and digits beginning with G or C, or 69 beginning with M (Stellar)"
            ),
        )


_FORMS = {Family.EVM: _evm, Family.SOLANA: _solana, Family.STELLAR: _stellar, None: _unknown}
