"""Values of a message or a call, read exactly: bytes in any common form, whole numbers, times.

Text that looks like a private key is refused before anything else reads it, and is never shown, stored or logged.
"""

import base64
import binascii
import json
import operator
import re
from collections.abc import Sequence
from datetime import datetime

from workbench.chains.encodings import base58_decode, ed25519_public_key
from workbench.errors import InvalidRequest, Problem, hide_arguments

BytesLike = bytes | bytearray | memoryview | str | Sequence[int]

_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})+)")
_HEX_KEY = re.compile(r"(?:0[xX])?[0-9a-fA-F]{64}")
_STELLAR_SEED = re.compile(r"S[A-Z2-7]{55}", re.IGNORECASE)
_EXTENDED_KEY = re.compile(r"[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100,112}")
_BASE58_64 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{80,90}")
_BYTE_LIST = re.compile(r"\[[\d\s,]+\]")
_WORD = re.compile(r"[a-z]{3,8}", re.IGNORECASE)  # every word of the BIP-39 English list matches
_PHRASE_LENGTHS = (12, 15, 18, 21, 24)
_MIN_KEY = 50  # an EVM or Solana address is shorter than any key without spaces
_MAX_KEY = 4096


def invalid(path: str, rule: str, message: str) -> InvalidRequest:
    """Return the error for one problem with one value."""
    return InvalidRequest([Problem(path, rule, message)])


@hide_arguments
def read_bytes(value: BytesLike, length: int, path: str) -> bytes:
    """Read exactly `length` bytes from bytes, hex with or without 0x, base64, or a list of numbers.

    The length decides which form a text has, so none is ambiguous. The error never shows the value.
    """
    raw: bytes | None = None
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
    elif isinstance(value, str):
        raw = _from_text(value, length)
    elif isinstance(value, Sequence):
        raw = _from_numbers(value)
    if raw is not None and len(raw) == length:
        return raw
    if isinstance(value, str):
        refuse_private_key(value, path)
    if raw is None:
        raise invalid(path, "type", f"must be {length} bytes, as bytes, hex or base64")
    raise invalid(path, "length", f"has {len(raw)} bytes; {length} are needed")


def _from_numbers(numbers: Sequence[object]) -> bytes | None:
    exact = [n for n in numbers if type(n) is int and 0 <= n <= 255]
    return bytes(exact) if len(exact) == len(numbers) else None


def _from_text(text: str, length: int) -> bytes | None:
    as_hex = _HEX.fullmatch(text)
    if as_hex and (text.startswith("0x") or len(as_hex[1]) == 2 * length):
        return bytes.fromhex(as_hex[1])
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) == length and base64.b64encode(raw).decode() == text:
        return raw
    return bytes.fromhex(as_hex[1]) if as_hex else None


def read_unsigned(value: object, path: str, *, bits: int = 256, minimum: int = 0) -> int:
    """Read a whole number of at most `bits` bits; NumPy integers pass, booleans, floats and text do not."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise invalid(path, "type", "must be an int")
    number = operator.index(value)
    if number < minimum:
        raise invalid(path, "minimum", f"must be at least {minimum}")
    if number >> bits:
        raise invalid(path, "maximum", f"does not fit into {bits} bits")
    return number


def read_unix_seconds(value: object, path: str) -> int:
    """Read a time as Unix seconds, from an int or an aware datetime; contracts count in seconds."""
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise invalid(path, "type", "has no time zone; times of the service are in UTC")
        value = int(value.timestamp())
    seconds = read_unsigned(value, path)
    if seconds >= 100_000_000_000:
        raise invalid(path, "maximum", "must be in seconds; this looks like milliseconds")
    return seconds


def looks_like_private_key(text: object, *, hash_expected: bool = False) -> bool:
    """Return whether text looks like a private key, a seed phrase or a secret seed.

    In doubt the result is True, except for 64 bytes in Solana's form, which may be a public signature: they count as a
    key only if the second half is the public key of the first.

    Args:
        hash_expected: The field takes 32 public bytes (a salt, a digest), so 64 hex digits are allowed.
    """
    if not isinstance(text, str) or len(text) > _MAX_KEY or (len(text) < _MIN_KEY and text.isalnum()):
        return False
    stripped = text.strip().strip("\"'")
    return (
        (not hash_expected and _HEX_KEY.fullmatch(stripped) is not None)
        or _STELLAR_SEED.fullmatch(stripped) is not None
        or _EXTENDED_KEY.fullmatch(stripped) is not None
        or "PRIVATE KEY-----" in text
        or _is_seed_phrase(stripped)
        or _is_solana_secret(stripped)
    )


def private_key_problem(text: object, path: str, *, hash_expected: bool = False) -> Problem | None:
    """Return the problem of text that looks like a private key; the message holds no part of the text."""
    if not looks_like_private_key(text, hash_expected=hash_expected):
        return None
    return Problem(
        path,
        "private-key",
        "looks like a private key or a seed phrase. Never paste a private key here. It was not stored; but if it belongs "
        "to a real wallet, treat it as exposed: it may remain in this notebook or shell history",
    )


@hide_arguments
def refuse_private_key(text: object, path: str, *, hash_expected: bool = False) -> None:
    """Raise InvalidRequest if text looks like a private key."""
    problem = private_key_problem(text, path, hash_expected=hash_expected)
    if problem is not None:
        raise InvalidRequest([problem])


def _is_seed_phrase(text: str) -> bool:
    if text.isalnum():  # one word, such as a Stellar address, which its digits would cut into words
        return False
    words = [word for word in re.split(r"[\s,;]+|\d+[.):]?", text) if word]
    return len(words) in _PHRASE_LENGTHS and all(_WORD.fullmatch(word) for word in words)


def _is_solana_secret(text: str) -> bool:
    raw = b""
    if _BASE58_64.fullmatch(text):
        raw = base58_decode(text)
    elif _BYTE_LIST.fullmatch(text):
        try:
            raw = bytes(json.loads(text))
        except ValueError:
            return False
    return len(raw) == 64 and ed25519_public_key(raw[:32]) == raw[32:]
