"""Strict JSON: unambiguous, with exact numbers. The repr of an object shows no private values."""

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from workbench.base.errors import UnusableFile
from workbench.base.text import NotText, decode

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")  # an unpaired surrogate, since Python joins pairs
_MAX_DIGITS = 400
MAX_DEPTH = 64
"""Maximum nesting of lists and objects. Documented bodies have six levels."""
MAX_VALUES = 1_000_000
"""Maximum number of items, members, lists and objects in one text. The largest answer has about a third as many."""
# matches a JSON string, even an unterminated string, without backtracking
_TEXT = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKET = re.compile(r"[\[{\]}]")


class NotJson(ValueError):
    """Invalid or ambiguous JSON. The message states the byte position if it is known."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        super().__init__(reason if offset is None else f"{reason} (at byte {offset})")


class TooManyValues(NotJson):
    """A JSON text with too many values."""


class JsonObject(dict[str, Any]):
    """A JSON object as received. The repr shows only the size, because values may be private."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} members>"

    def __rich_repr__(self) -> Iterator[str]:
        yield repr(self)  # otherwise rich would show the members


class Repaired(str):
    """A text in which an unpaired surrogate was replaced by U+FFFD."""

    __slots__ = ()


def _repaired(value: object) -> Any:
    """Replace unpaired surrogates in the texts of a parsed value."""
    if isinstance(value, str):
        text = _HALF.sub("\ufffd", value)
        return value if text == value else Repaired(text)
    if isinstance(value, list):
        return [_repaired(item) for item in value]
    if isinstance(value, dict):
        return _once([(_repaired(name), _repaired(item)) for name, item in value.items()])
    return value


def _once(pairs: list[tuple[str, Any]]) -> JsonObject:
    members = JsonObject(pairs)
    if len(members) != len(pairs):
        raise NotJson("duplicate member in an object")  # assumed: duplicate_members
    return members


def _constant(name: str) -> Any:
    raise NotJson(f"{name} is not a JSON number")


def _exact(digits: str) -> Decimal:
    if len(digits) > _MAX_DIGITS:
        raise NotJson(f"a number has {len(digits):,} digits")
    if "e" in digits or "E" in digits:
        exponent = digits.lower().partition("e")[2]
        if len(exponent) > 4 or abs(int(exponent)) > _MAX_DIGITS:  # written out, the number would fill the memory
            raise NotJson("a number is out of range")
    return Decimal(digits)


def _check_extent(text: str, max_depth: int, max_values: int) -> None:
    """Raise an error for a text that exceeds a limit, even if a library has increased Python's recursion limit."""
    brackets = text.count("[") + text.count("{")
    if brackets <= max_depth and brackets + text.count(",") < max_values:
        return
    text = _TEXT.sub("", text)
    brackets = text.count("[") + text.count("{")
    if brackets + text.count(",") >= max_values:
        raise TooManyValues(f"more than {max_values:,} values")
    depth = 0
    for match in _BRACKET.finditer(text) if brackets > max_depth else ():
        depth += 1 if match.group() in "[{" else -1
        if depth > max_depth:
            raise NotJson("nested too deeply")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_float=_exact, parse_constant=_constant, strict=True)


def loads(data: bytes, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES, repair: bool = False) -> Any:
    """Parse a JSON text, with or without a byte order mark, into `JsonObject`s, lists, texts, int and Decimal.

    Args:
        max_depth: Maximum nesting of lists and objects.
        max_values: Maximum number of items, members, lists and objects.
        repair: Whether to replace an unpaired surrogate, as in a text truncated inside an emoji, with U+FFFD, and to
            return this text as `Repaired`.

    Raises:
        NotJson: The text is not UTF-8 or not JSON, is nested too deeply, has too many values, or contains NaN,
            Infinity, a duplicate member, a lone surrogate, a fraction of more than 400 digits, or a whole number of
            more digits than Python accepts (4,300).
    """
    failure: NotJson
    text = ""
    try:
        text = decode(data)
        _check_extent(text, max_depth, max_values)
        decoded = _DECODER.decode(text)
        if b"\\" in data and _SURROGATE.search(data):
            if repair:
                return _repaired(decoded)
            json.dumps(decoded, ensure_ascii=False, default=str).encode()
        return decoded
    except NotJson as error:
        failure = error
    except NotText as error:
        failure = NotJson(error.reason, error.offset)
    except UnicodeEncodeError:
        failure = NotJson("half of a surrogate pair in a text")
    except RecursionError:
        failure = NotJson("nested too deeply")
    except json.JSONDecodeError as error:
        failure = NotJson(f"not JSON: {error.msg}", len(data) - len(text[error.pos :].encode()))
    except ValueError:
        failure = NotJson("a number has too many digits")
    data, text = b"", ""
    # raised outside the handlers, because the exception chain and its frames would contain the text
    raise failure from None


def _number(value: object) -> Any:
    if isinstance(value, Decimal):
        if not value.is_finite() or abs(value.adjusted()) > _MAX_DIGITS:
            raise ValueError("a decimal too large for a JSON number")
        if value == value.to_integral_value():
            return int(value)
        as_float = float(value)
        if Decimal(repr(as_float)) == value:
            return as_float
        raise ValueError("a decimal with more digits than a JSON number preserves")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON serializable")


encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_number).encode
"""Write compact JSON as text. Decimals become numbers if the conversion is exact."""


def printable(value: object) -> str:
    """Write compact JSON as text for people and agents, with escapes for unprintable characters such as U+202E."""
    text = encode(value)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\\u007f" if c == "\x7f" else json.dumps(c)[1:-1] for c in text)


def stored(text: str | bytes) -> Any:
    """Parse JSON that the workbench has stored, such as a cell of a database.

    Raises:
        UnusableFile: The text is damaged.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    raise UnusableFile("A stored value is damaged: it is not JSON.")


def dumps(value: object) -> bytes:
    """Write compact JSON as UTF-8 bytes."""
    return encode(value).encode()
