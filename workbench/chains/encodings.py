"""Hashes, public keys and text encodings: Keccak-256, base58 (Solana), StrKey (Stellar). Wrong text is a plain ValueError."""

import base64
import binascii
import re
from functools import cache
from typing import Any

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGIT = {character: value for value, character in enumerate(_ALPHABET)}
_MAX_BASE58 = 256  # decoding is quadratic, and nothing read here is longer

# G account, C contract, M muxed account, S secret seed: the version byte and the length of the payload
_STRKEYS = {"G": (6 << 3, 32), "C": (2 << 3, 32), "M": (12 << 3, 40), "S": (18 << 3, 32)}
_BASE32 = re.compile(r"[A-Z2-7]*")


@cache
def _keccak() -> Any:
    from Crypto.Hash import keccak  # loaded when first used

    return keccak.new


def keccak256(data: bytes) -> bytes:
    """Return the Keccak-256 hash (the original padding, not SHA3-256)."""
    hashed: bytes = _keccak()(digest_bits=256, data=data).digest()
    return hashed


def ed25519_public_key(secret: bytes) -> bytes:
    """Return the 32-byte public key of a 32-byte Ed25519 seed."""
    from nacl.bindings import crypto_sign_seed_keypair  # loaded when first used

    public, _ = crypto_sign_seed_keypair(secret)
    return public


def base58_encode(data: bytes) -> str:
    """Return bytes as base58 (Bitcoin's alphabet, no checksum); each leading zero byte is a leading `1`."""
    number = int.from_bytes(data)
    digits = []
    while number:
        number, digit = divmod(number, 58)
        digits.append(_ALPHABET[digit])
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + "".join(reversed(digits))


def base58_decode(text: str) -> bytes:
    """Return the bytes of base58 text.

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
    """Return a payload as a StrKey: kind G (account), C (contract), M (muxed account) or S (secret seed)."""
    if kind not in _STRKEYS:
        raise ValueError("the kind must be one of " + ", ".join(_STRKEYS))
    version, length = _STRKEYS[kind]
    if len(payload) != length:
        raise ValueError(f"a StrKey of kind {kind} holds {length} bytes")
    body = bytes([version]) + payload
    return base64.b32encode(body + binascii.crc_hqx(body, 0).to_bytes(2, "little")).decode().rstrip("=")


def strkey_decode(text: str) -> tuple[str, bytes]:
    """Return the kind and the payload of a StrKey.

    Raises:
        ValueError: Wrong kind, length, characters, padding bits or checksum; the message says which.
    """
    kind = text[:1]
    if kind not in _STRKEYS:
        raise ValueError("does not begin with G, C or M")
    length = (8 * (_STRKEYS[kind][1] + 3) + 4) // 5
    if len(text) != length:
        raise ValueError(f"has {len(text)} characters; {length} are needed after this first letter")
    if not _BASE32.fullmatch(text):
        raise ValueError("has a character outside A to Z and 2 to 7")
    raw = base64.b32decode(text + "=" * (-len(text) % 8))
    if binascii.crc_hqx(raw[:-2], 0).to_bytes(2, "little") != raw[-2:]:
        raise ValueError("has a wrong checksum: a character is probably mistyped")
    if strkey_encode(kind, raw[1:-2]) != text:
        raise ValueError("has unused bits set, which no StrKey has")
    return kind, raw[1:-2]
