"""Hashes, text encodings (base58 for Solana, StrKey for Stellar), strict parsing of message values, and signatures.

Text that looks like a private key is rejected, unless it can be a salt or a digest, and errors never show it. Invalid
base58 or StrKey text raises a plain ValueError. Only the sandbox and its teaching wallets sign, with throw-away keys
derived from a seed. The workbench never asks for the key of a real wallet.
"""

import base64
import binascii
import hmac
import json
import operator
import re
from collections.abc import Sequence
from datetime import datetime

from workbench.base.arguments import hide_arguments
from workbench.base.errors import Problem, UsageError
from workbench.service.chains import curves
from workbench.service.chains.curves import HALF, ORDER, ed25519_public_key

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGIT = {character: value for value, character in enumerate(_ALPHABET)}
_MAX_BASE58 = 256  # in characters, since decoding is quadratic; all expected texts are shorter

# version byte and payload length of an account (G), contract (C), muxed account (M) and secret seed (S)
_STRKEYS = {"G": (6 << 3, 32), "C": (2 << 3, 32), "M": (12 << 3, 40), "S": (18 << 3, 32)}
_BASE32 = r"[A-Z2-7]*"


def keccak256(data: bytes) -> bytes:
    """Return the Keccak-256 hash, which differs from SHA3-256 in its padding."""
    from Crypto.Hash import keccak  # imported late, because few calls need it

    hashed: bytes = keccak.new(digest_bits=256, data=data).digest()
    return hashed


EVM_ADDRESS = r"0x[0-9a-fA-F]{40}"


def eip55(address: str) -> str:
    """Return an EVM address in EIP-55 format, whose letter case is the checksum.

    Raises:
        UsageError: The address is not 0x and 40 hex digits.
    """
    if not re.fullmatch(EVM_ADDRESS, address):
        raise UsageError("an EVM address is 0x and 40 hex digits", of="eip55")
    digits = address[2:].lower()
    hashed = keccak256(digits.encode()).hex()
    return "0x" + "".join([d.upper() if h > "7" else d for d, h in zip(digits, hashed, strict=False)])


def base58_encode(data: bytes) -> str:
    """Encode bytes as base58 with Bitcoin's alphabet and no checksum. Each leading zero byte becomes a leading `1`."""
    number = int.from_bytes(data)
    digits = []
    while number:
        number, digit = divmod(number, 58)
        digits.append(_ALPHABET[digit])
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + "".join(reversed(digits))


def base58_decode(text: str) -> bytes:
    """Decode base58 text.

    Raises:
        ValueError: A character is not in the alphabet, or the text is longer than 256 characters.
    """
    if len(text) > _MAX_BASE58:
        raise ValueError(f"longer than {_MAX_BASE58} characters")
    number = 0
    for position, character in enumerate(text, 1):
        if character not in _DIGIT:
            raise ValueError(f"character {position} is not in the base58 alphabet")
        number = number * 58 + _DIGIT[character]
    return b"\0" * (len(text) - len(text.lstrip("1"))) + number.to_bytes((number.bit_length() + 7) // 8)


def strkey_encode(kind: str, payload: bytes) -> str:
    """Encode a payload as a StrKey of kind G (account), C (contract), M (muxed account) or S (secret seed)."""
    if kind not in _STRKEYS:
        raise ValueError("the kind must be one of " + ", ".join(_STRKEYS))
    version, length = _STRKEYS[kind]
    if len(payload) != length:
        raise ValueError(f"the payload of a StrKey of kind {kind} must have {length} bytes, not {len(payload)}")
    body = bytes([version]) + payload
    return base64.b32encode(body + binascii.crc_hqx(body, 0).to_bytes(2, "little")).decode().rstrip("=")


def strkey_decode(text: str) -> tuple[str, bytes]:
    """Return the kind and payload of a StrKey.

    Raises:
        ValueError: Kind, length, characters, padding bits or checksum are wrong. The message says which.
    """
    kind = text[:1]
    if kind not in _STRKEYS:
        raise ValueError("does not begin with G, C or M")
    length = (8 * (_STRKEYS[kind][1] + 3) + 4) // 5
    if len(text) != length:
        raise ValueError(f"has {len(text)} characters; {length} are needed if the first is {kind}")
    if not re.fullmatch(_BASE32, text):
        raise ValueError("has a character outside A to Z and 2 to 7")
    raw = base64.b32decode(text + "=" * (-len(text) % 8))
    if binascii.crc_hqx(raw[:-2], 0).to_bytes(2, "little") != raw[-2:]:
        raise ValueError("has a wrong checksum: a character is probably mistyped")
    if strkey_encode(kind, raw[1:-2]) != text:
        raise ValueError("has unused bits set, which StrKey does not allow")
    return kind, raw[1:-2]


BytesLike = bytes | bytearray | memoryview | str | Sequence[int]

_HEX = r"(?:0x)?((?:[0-9a-fA-F]{2})+)"
_HEX_KEY = r"(?:0[xX])?[0-9a-fA-F]{64}"
_STELLAR_SEED = r"(?i)S[A-Z2-7]{55}"
_EXTENDED_KEY = r"[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100,112}"
_BASE58_64 = r"[1-9A-HJ-NP-Za-km-z]{80,90}"
_BYTE_LIST = r"\[[\d\s,]+\]"
_WORD = r"(?i)[a-z]{3,8}"  # matches every word of the English BIP-39 list
_PHRASE_LENGTHS = (12, 15, 18, 21, 24)
_MIN_KEY = 50  # shortest private key (other than a recovery phrase); EVM and Solana addresses are shorter
_MAX_KEY = 4096


def invalid(path: str, rule: str, message: str) -> UsageError:
    """Return an error with one problem: the rule that a value at a path breaks, and a message."""
    return UsageError([Problem(path, rule, message)])


def read_bytes(value: BytesLike, length: int, path: str) -> bytes:
    """Parse exactly `length` bytes from bytes, hex with or without 0x, base64, or a list of numbers.

    The length of a text determines its format unambiguously. The error never shows the value.
    """
    raw: bytes | None = None
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
    elif isinstance(value, str):
        raw = _from_text(value, length)
    elif isinstance(value, Sequence):
        exact = [n for n in value if type(n) is int and 0 <= n <= 255]
        raw = bytes(exact) if len(exact) == len(value) else None
    if raw is not None and len(raw) == length:
        return raw
    if isinstance(value, str):
        refuse_private_key(value, path)
    if raw is None:
        raise invalid(path, "type", f"must be {length} bytes, as bytes, hex or base64")
    raise invalid(path, "length", f"has {len(raw)} bytes; {length} are needed")


def _from_text(text: str, length: int) -> bytes | None:
    as_hex = re.fullmatch(_HEX, text)
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
    """Validate a whole number of at most `bits` bits. NumPy integers are accepted, but no bool, float or text."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise invalid(path, "type", "must be an int")
    number = operator.index(value)
    if number < minimum:
        raise invalid(path, "minimum", f"must be at least {minimum}")
    if number >> bits:
        raise invalid(path, "maximum", f"does not fit into {bits} bits")
    return number


def read_unix_seconds(value: object, path: str) -> int:
    """Convert an int or an aware datetime to Unix seconds, the unit that contracts use."""
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

    In doubtful cases the result is True. The exception is 64 bytes in Solana's format, which may be a public signature:
    such bytes count as a private key only if their second half is the public key of their first half.

    Args:
        hash_expected: Whether the field takes 32 public bytes (a salt or a digest). Then 64 hex digits are allowed.
    """
    if not isinstance(text, str) or len(text) > _MAX_KEY or (len(text) < _MIN_KEY and text.isalnum()):
        return False
    stripped = text.strip().strip("\"'")
    return (
        (not hash_expected and re.fullmatch(_HEX_KEY, stripped) is not None)
        or re.fullmatch(_STELLAR_SEED, stripped) is not None
        or re.fullmatch(_EXTENDED_KEY, stripped) is not None
        or "PRIVATE KEY-----" in text
        or _is_seed_phrase(stripped)
        or _is_solana_secret(stripped)
    )


def private_key_problem(text: object, path: str, *, hash_expected: bool = False) -> Problem | None:
    """Return a problem if text looks like a private key. The problem's message contains no part of the text."""
    if not looks_like_private_key(text, hash_expected=hash_expected):
        return None
    return Problem(
        path,
        "private-key",
        "looks like a private key or a seed phrase. Never paste a private key here. It was not stored; but if it "
        "belongs "
        "to a real wallet, treat it as exposed: it may remain in this notebook or shell history",
    )


@hide_arguments
def refuse_private_key(text: object, path: str, *, hash_expected: bool = False) -> None:
    """Raise UsageError if text looks like a private key."""
    problem = private_key_problem(text, path, hash_expected=hash_expected)
    if problem is not None:
        raise UsageError([problem])


def _is_seed_phrase(text: str) -> bool:
    if text.isalnum():  # a single word, such as a Stellar address, must not be split at its digits
        return False
    phrase = [word for word in re.split(r"[\s,;]+|\d+[.):]?", text) if word]
    return len(phrase) in _PHRASE_LENGTHS and all(re.fullmatch(_WORD, word) for word in phrase)


def _is_solana_secret(text: str) -> bool:
    raw = b""
    if re.fullmatch(_BASE58_64, text):
        raw = base58_decode(text)
    elif re.fullmatch(_BYTE_LIST, text):
        try:
            raw = bytes(json.loads(text))
        except ValueError:
            return False
    return len(raw) == 64 and ed25519_public_key(raw[:32]) == raw[32:]


# Signatures: secp256k1 (EVM, recoverable, 65 bytes r, s, v) and Ed25519 (Solana and Stellar, 64 bytes)

ED25519_PROGRAM = "Ed25519SigVerify111111111111111111111111111"
_PARITIES = {0: 0, 1: 1, 27: 0, 28: 1}  # parity of y, by value of v


def recover(digest: bytes, signature: BytesLike) -> str:
    """Return the address (EIP-55) whose key signed a 32-byte digest.

    Any well-formed signature recovers to some address. Compare the result with the expected address.

    Raises:
        UsageError: The signature does not have 65 bytes, v is not 0, 1, 27 or 28, r or s is out of range, s is in the
            upper half of its range (contracts reject this second form of a signature), or no key fits.
    """
    hashed, raw = _digest(digest), canonical_signature(signature)
    r, s = int.from_bytes(raw[:32]), int.from_bytes(raw[32:64])
    key = curves.recovered(hashed, r, s, _PARITIES[raw[64]])
    if key is None:
        raise invalid("signature", "signature", "fits no key: it was not made over this message")
    return _address(key)


def canonical_signature(signature: BytesLike, path: str = "signature") -> bytes:
    """Validate a signature, and return 65 bytes with v 27 or 28. Forms that contracts reject raise an error.

    For a `SignedMessage` of eth-account, its signature is used.
    """
    raw = read_bytes(getattr(signature, "signature", signature), 65, path)
    if raw[64] not in _PARITIES:
        raise invalid(path, "v", "ends in a v other than 27 and 28 (or 0 and 1)")
    r, s = int.from_bytes(raw[:32]), int.from_bytes(raw[32:64])
    if not 0 < r < ORDER or not 0 < s < ORDER:
        raise invalid(path, "range", "has an r or s out of range")
    if s > HALF:
        raise invalid(
            path, "malleable", "is malleable: its s is in the upper half of the range, which contracts refuse"
        )
    return raw if raw[64] > 1 else raw[:64] + bytes([27 + raw[64]])


def sign(digest: bytes, secret: bytes) -> bytes:
    """Sign a digest with a throw-away key (sandbox only), and return 65 bytes with v 27 or 28."""
    public_address(secret)  # raises an error if the key is invalid
    r, s, is_odd = curves.signed(_digest(digest), secret)
    return r.to_bytes(32) + s.to_bytes(32) + bytes([27 + is_odd])


def public_address(secret: bytes) -> str:
    """Return the EVM address (EIP-55) of a throw-away key."""
    key = curves.public_point(secret) if len(secret) == 32 else None
    if key is None:
        raise invalid("secret", "range", "must be 32 bytes, above 0 and below the order of the curve")
    return _address(key)


def derive_secret(seed: bytes, *labels: str) -> bytes:
    """Derive a throw-away 32-byte key from a seed and labels. The key is deterministic and valid on every chain."""
    label = "".join(f"{len(text)}:{text}" for text in labels).encode()
    hashes = (hmac.digest(seed, label + bytes([attempt]), "sha256") for attempt in range(256))
    # the first attempt nearly always succeeds
    return next(hash_ for hash_ in hashes if 0 < int.from_bytes(hash_) < ORDER)


def sign_ed25519(message: bytes, secret: bytes) -> bytes:
    """Sign a message with a throw-away Ed25519 seed (sandbox only), and return 64 bytes."""
    if len(secret) != 32:
        raise UsageError([Problem("secret", "length", "must be 32 bytes")], of="sign_ed25519")
    return curves.ed25519_signed(message, secret)


def verify_ed25519(public_key: BytesLike, message: bytes, signature: BytesLike) -> bool:
    """Return whether a signature is valid. Small-order keys and non-canonical signatures are never valid.

    Raises:
        UsageError: The key does not have 32 bytes, or the signature does not have 64.
    """
    key = read_bytes(public_key, 32, "publicKey")
    raw = read_bytes(signature, 64, "signature")
    return curves.ed25519_verifies(key, message, raw)


def ed25519_instruction(public_key: BytesLike, message: bytes, signature: BytesLike) -> bytes:
    """Return the data of Solana's built-in instruction that verifies an Ed25519 signature (program `ED25519_PROGRAM`).

    The data has a count, padding, and the offsets of signature, key and message within the instruction, as Solana
    documents.
    """
    key, raw = read_bytes(public_key, 32, "publicKey"), read_bytes(signature, 64, "signature")
    here, start = 0xFFFF, 16  # index 0xFFFF refers to the same instruction
    offsets = (start + 32, here, start, here, start + 96, len(message), here)
    return bytes([1, 0]) + b"".join(number.to_bytes(2, "little") for number in offsets) + key + raw + message


def _digest(digest: object) -> bytes:
    if not isinstance(digest, bytes) or len(digest) != 32:
        raise invalid("digest", "length", "must be 32 bytes")
    return digest


def _address(key: tuple[int, int]) -> str:
    x, y = key
    return eip55("0x" + keccak256(x.to_bytes(32) + y.to_bytes(32))[12:].hex())
