"""Whole numbers, exactly: what may stand in a message or a call."""

import operator
from datetime import datetime

from workbench.chains.byte_forms import invalid


def unsigned(value: object, path: str, *, bits: int = 256, minimum: int = 0) -> int:
    """Read a whole number of at most `bits` bits; numpy's integers pass, booleans, floats and text do not."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise invalid(path, "type", "is a whole number, written as an int")
    number = operator.index(value)
    if number < minimum:
        raise invalid(path, "minimum", f"is at least {minimum}")
    if number >> bits:
        raise invalid(path, "maximum", f"does not fit into {bits} bits")
    return number


def unix_seconds(value: object, path: str) -> int:
    """Read a moment as unix seconds, from an int or an aware datetime; the contract counts whole seconds."""
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise invalid(path, "type", "is a time without a time zone; give it one, UTC for the service's own times")
        value = int(value.timestamp())
    seconds = unsigned(value, path)
    if seconds >= 100_000_000_000:
        raise invalid(path, "maximum", "is in seconds; this looks like milliseconds")
    return seconds
