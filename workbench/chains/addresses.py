"""Addresses: which family, and what slipped when one was typed or pasted.

A check sum finds a typing slip; it does not show that anybody holds the address. `assurance` says how much was checked.
"""

import re
import unicodedata

import attrs

from workbench.chains.base58 import base58_decode
from workbench.chains.byte_forms import invalid
from workbench.chains.families import Family, chain_of
from workbench.chains.hashes import keccak256
from workbench.chains.private_keys import looks_like_private_key
from workbench.chains.strkey import strkey_decode

_EVM = re.compile(r"0x[0-9a-fA-F]{40}")
_HEX_40 = re.compile(r"[0-9a-fA-F]{40}")
_STELLAR = re.compile(r"[GC][A-Z2-7]{55}|M[A-Z2-7]{68}")
_BASE58 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}")
_STELLAR_LENGTHS = (56, 69)
_NAME = re.compile(r"[^\s.]+(?:\.[^\s.]+)*\.[A-Za-z]{2,}")
_MISTYPED = "checksum does not fit: a character is probably mistyped"
_ARTICLE = {None: "no known", Family.EVM: "an EVM", Family.SOLANA: "a Solana", Family.STELLAR: "a Stellar"}


@attrs.frozen(kw_only=True)
class AddressProblem:
    """One thing that is wrong with an address; the message reads on from the words "the address"."""

    kind: str  # type, blank, private-key, whitespace, invisible, prefix, name, characters, length, checksum, family
    message: str

    def __str__(self) -> str:
        return self.message


def check(address: object, chain_id: int | None = None) -> tuple[AddressProblem, ...]:
    """Say what slipped in an address, for the chain where one is given; nothing when no slip was found.

    An EVM address in one case only and any Solana address carry no check sum, so a mistyped character passes there.
    """
    if chain_id is None:
        return slips(address, None)
    chain = chain_of(chain_id)
    return slips(address, chain.family, taker=str(chain))


def slips(address: object, family: Family | None, *, taker: str = "this place") -> tuple[AddressProblem, ...]:
    """Say what slipped in an address of a family, or of any; `taker` is what wants that family."""
    if not isinstance(address, str):
        return (AddressProblem(kind="type", message="is text"),)
    if looks_like_private_key(address):
        return (AddressProblem(kind="private-key", message="looks like a private key. Never paste a private key here"),)
    if hygiene := _hygiene(address):
        return hygiene
    found = family_of_address(address)
    if family is not None and found not in {None, family}:
        text = f"is {_ARTICLE[found]} address, and {taker} takes {_ARTICLE[family]} one"
        return (AddressProblem(kind="family", message=text),)
    written = family or found
    slip = _SHAPES[written](address) if written else _unknown(address)
    return () if slip is None else (slip,)


def sound(address: object, family: Family, path: str) -> str:
    """Return an address of a family back when nothing slipped, and raise when something did."""
    for slip in slips(address, family):
        raise invalid(path, slip.kind, slip.message)
    return str(address)


def family_of_address(address: str) -> Family | None:
    """Tell the family an address is written for, by its looks; None when it looks like none."""
    if re.match(r"0x", address, re.IGNORECASE):
        return Family.EVM
    if len(address) in _STELLAR_LENGTHS and address[:1].upper() in {"G", "C", "M"}:
        return Family.STELLAR
    if _BASE58.fullmatch(address) and not _HEX_40.fullmatch(address):
        return Family.SOLANA
    return None


def assurance(address: str) -> str:
    """Say in plain words how far a check can vouch for an address without slips, and no further."""
    family = family_of_address(address)
    if family is Family.STELLAR or (family is Family.EVM and _one_case(address) is None):
        return "its check sum fits, which rules out nearly every typing slip; it does not show whose address it is"
    if family is Family.EVM:
        return "it is written in one case and so carries no check sum: a mistyped character cannot be noticed"
    return "its length is right; this form carries no check sum, so a mistyped character can go unnoticed"


def evm_address(address: object, path: str) -> str:
    """Return an EVM address in which nothing slipped back, written with its check sum."""
    text = sound(address, Family.EVM, path)
    return text if _one_case(text) is None else eip55(text)


def eip55(address: str) -> str:
    """Write an EVM address with its check sum in the case of its letters.

    Raises:
        ValueError: It is not 0x and 40 hex digits.
    """
    if not _EVM.fullmatch(address):
        raise ValueError("an EVM address is 0x and 40 hex digits")
    return checksummed(address[2:].lower())


def checksummed(digits: str) -> str:
    """Write 40 lower-case hex digits as an EIP-55 address."""
    hashed = keccak256(digits.encode()).hex()
    return "0x" + "".join([d.upper() if h > "7" else d for d, h in zip(digits, hashed, strict=False)])


def is_zero(address: str) -> bool:
    """Say whether an address is the one of zero bytes, from which nothing comes back."""
    family = family_of_address(address)
    if family is Family.EVM:
        return set(address[2:]) == {"0"}
    try:
        payload = strkey_decode(address)[1][:32] if family is Family.STELLAR else base58_decode(address)
    except ValueError:
        return False
    return bool(payload) and not any(payload)


def same_address(a: str, b: str) -> bool:
    """Say whether two texts are the same address; only EVM addresses may differ in case."""
    return _comparable(a) == _comparable(b)


def look_alike(a: str, b: str, *, ends: int = 4) -> bool:
    """Say whether two different addresses begin and end alike, which is how address poisoning works."""
    a, b = (_comparable(address).removeprefix("0x") for address in (a, b))
    return a != b and a[:ends] == b[:ends] and a[-ends:] == b[-ends:]


def _comparable(address: str) -> str:
    return address.lower() if _EVM.fullmatch(address) else address


def _hygiene(address: str) -> tuple[AddressProblem, ...]:
    """Find what cannot be seen, or not be told apart, before anything is said about the rest."""
    if address.isascii() and address.isalnum():
        return ()
    if not address.strip():
        return (AddressProblem(kind="blank", message="is empty"),)
    slips = []
    if "\n" in address or "\r" in address:
        slips.append(AddressProblem(kind="whitespace", message="has a line break in it"))
    if address != address.strip() and not slips:
        slips.append(AddressProblem(kind="whitespace", message="has blanks before or after it"))
    body = address.strip()
    start = len(address) - len(address.lstrip())
    for position, character in enumerate(body, start + 1):
        if character in "\r\n":
            continue
        if character.isspace():
            slips.append(AddressProblem(kind="whitespace", message=f"has a blank at position {position}"))
        elif unicodedata.category(character) in {"Cc", "Cf", "Cn", "Co", "Cs", "Mn"}:
            slips.append(
                AddressProblem(
                    kind="invisible",
                    message=f"has an invisible character (U+{ord(character):04X}) at position {position}",
                )
            )
        elif not character.isascii():
            text = f"has a character at position {position} that is not plain ASCII (U+{ord(character):04X}), even if it looks so"
            slips.append(AddressProblem(kind="characters", message=text))
        else:
            continue
        break
    if not slips and _NAME.fullmatch(body):
        slips.append(
            AddressProblem(
                kind="name", message="is a name; names such as those of ENS are not looked up, so paste the address"
            )
        )
    return tuple(slips)


def _evm(address: str) -> AddressProblem | None:
    if address[:2] == "0X":
        return AddressProblem(kind="prefix", message="begins with 0X; write 0x in lower case")
    if address[:2] != "0x":
        hint = ": put 0x before it" if _HEX_40.fullmatch(address) else ""
        return AddressProblem(kind="prefix", message=f"does not begin with 0x{hint}")
    for position, character in enumerate(address[2:], 3):
        if character not in "0123456789abcdefABCDEF":
            return AddressProblem(
                kind="characters", message=f"has a character at position {position} that is not a hex digit"
            )
    if len(address) != 42:
        return AddressProblem(kind="length", message=f"has {len(address) - 2} hex digits after 0x; 40 are needed")
    if _one_case(address) is None and eip55(address) != address:
        return AddressProblem(kind="checksum", message=_MISTYPED)
    return None


def _one_case(address: str) -> str | None:
    """Return the one case of an EVM address's letters, which then say nothing; None when it is mixed."""
    digits = address[2:]
    return "lower" if digits == digits.lower() else "upper" if digits == digits.upper() else None


def _solana(address: str) -> AddressProblem | None:
    try:
        size = len(base58_decode(address))
    except ValueError as error:
        return AddressProblem(kind="characters", message=f"is not base58: {error}")
    if size != 32:
        return AddressProblem(
            kind="length",
            message=f"decodes to {size} bytes; 32 are needed, so a character is missing, added or mistyped",
        )
    return None


def _stellar(address: str) -> AddressProblem | None:
    if _STELLAR.fullmatch(address.upper()) and not _STELLAR.fullmatch(address):
        return AddressProblem(
            kind="characters", message="has lower-case letters; Stellar addresses are written in capitals"
        )
    try:
        strkey_decode(address)
    except ValueError as error:
        text = str(error)
        kinds = {
            "checksum": "checksum",
            "has a character": "characters",
            "is not written": "characters",
            "does not": "prefix",
        }
        kind = next((kind for start, kind in kinds.items() if text.startswith(start)), "length")
        return AddressProblem(kind=kind, message=text)
    return None


_SHAPES = {Family.EVM: _evm, Family.SOLANA: _solana, Family.STELLAR: _stellar}


def _unknown(address: str) -> AddressProblem | None:
    if _HEX_40.fullmatch(address):
        return _evm(address)
    return AddressProblem(
        kind="characters",
        message="is not an address we know: 0x and 40 hex digits (EVM), 32 to 44 characters of base58 (Solana), "
        "or 56 capitals and digits beginning with G or C, 69 with M (Stellar)",
    )
