"""Values of a message or a call, read exactly: bytes in any common form, whole numbers, times."""

import base64
import binascii
import operator
import re
from collections.abc import Sequence
from datetime import datetime

from workbench.chains.private_keys import refuse_private_key
from workbench.errors import InvalidRequest, Problem, hide_arguments

BytesLike = bytes | bytearray | memoryview | str | Sequence[int]

_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})+)")


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
