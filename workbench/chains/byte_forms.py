"""Bytes in any of the forms in which wallets, the service and chains write them."""

import base64
import binascii
import re
from collections.abc import Sequence

from workbench.chains.private_keys import refuse_private_key
from workbench.errors import InvalidRequest, Problem, hide_arguments

Octets = bytes | bytearray | memoryview | str | Sequence[int]

_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})+)")


@hide_arguments
def octets(value: Octets, length: int, path: str) -> bytes:
    """Read exactly `length` bytes from bytes, hex with or without 0x, base64, or a list of numbers.

    No form can be taken for another: the length decides. A message never shows the value.
    """
    raw = _raw(value, length)
    if raw is None:
        if isinstance(value, str):
            refuse_private_key(value, path)
        raise invalid(path, "type", f"is {length} bytes as bytes, as hex or as base64; this is none of them")
    if len(raw) != length:
        if isinstance(value, str):
            refuse_private_key(value, path)
        raise invalid(path, "length", f"has {len(raw)} bytes; {length} are needed")
    return raw


def invalid(path: str, rule: str, message: str) -> InvalidRequest:
    """Make the error for one problem with one value."""
    return InvalidRequest([Problem(path, rule, message)])


def _raw(value: object, length: int) -> bytes | None:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return _raw_from_text(value, length)
    if isinstance(value, Sequence) and all(type(n) is int and 0 <= n <= 255 for n in value):
        return bytes(value)
    return None


def _raw_from_text(text: str, length: int) -> bytes | None:
    as_hex = _HEX.fullmatch(text)
    if as_hex and (text.startswith("0x") or len(as_hex[1]) == 2 * length):
        return bytes.fromhex(as_hex[1])
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raw = None
    if raw is not None and len(raw) == length and base64.b64encode(raw).decode() == text:
        return raw
    return bytes.fromhex(as_hex[1]) if as_hex else None
