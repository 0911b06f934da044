"""StrKey: base32 with a version byte and a CRC-16, as Stellar writes addresses."""

import base64
import binascii
import re

_VERSIONS = {"G": 6 << 3, "C": 2 << 3, "M": 12 << 3, "S": 18 << 3}  # account, contract, muxed account, secret seed
_PAYLOAD = {"G": 32, "C": 32, "M": 40, "S": 32}
_BASE32 = re.compile(r"[A-Z2-7]*")


def crc16(data: bytes) -> int:
    """Return the CRC-16/XMODEM of data."""
    return binascii.crc_hqx(data, 0)


def strkey_encode(kind: str, payload: bytes) -> str:
    """Write a payload as a StrKey of a kind: G account, C contract, M muxed account, S secret seed."""
    if kind not in _VERSIONS:
        raise ValueError("the kind is one of " + ", ".join(_VERSIONS))
    if len(payload) != _PAYLOAD[kind]:
        raise ValueError(f"a StrKey of kind {kind} holds {_PAYLOAD[kind]} bytes")
    body = bytes([_VERSIONS[kind]]) + payload
    return base64.b32encode(body + crc16(body).to_bytes(2, "little")).decode().rstrip("=")


def strkey_decode(text: str) -> tuple[str, bytes]:
    """Read a StrKey: its kind and its payload.

    Raises:
        ValueError: Wrong kind, length, characters, padding bits or check sum; the message says which.
    """
    kind = text[:1]
    if kind not in _VERSIONS:
        raise ValueError("does not begin with G, C or M")
    length = (8 * (_PAYLOAD[kind] + 3) + 4) // 5
    if len(text) != length:
        raise ValueError(f"has {len(text)} characters; {length} are needed after this first letter")
    if not _BASE32.fullmatch(text):
        raise ValueError("has a character outside A to Z and 2 to 7")
    raw = base64.b32decode(text + "=" * (-len(text) % 8))
    body, check_sum = raw[:-2], raw[-2:]
    if crc16(body).to_bytes(2, "little") != check_sum:
        raise ValueError("checksum does not fit: a character is probably mistyped")
    if strkey_encode(kind, body[1:]) != text:
        raise ValueError("is not written in the one way in which a StrKey is")
    return kind, body[1:]
