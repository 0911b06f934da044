"""Masking of private values that a service repeats in its answers."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any
from urllib.parse import quote

from workbench.base.schema import walk
from workbench.base.schema.fields import OPEN
from workbench.base.schema.masks import DOTS
from workbench.base.schema.strict_json import JsonObject
from workbench.base.schema.walk import is_record
from workbench.service.interface.table import Operation


class Cleaner:
    """Function that masks private values repeated in text or nested JSON, also in another letter case or grouping.

    The messages of a refusal or a failed connection are cleaned before they enter an error, the journal or a log.

    Args:
        operation: The operation. Members that the operation's records declare private are masked regardless of value.
        request: The request whose private values are masked.
        key: Function that returns the API key, which is masked too.
    """

    def __init__(self, operation: Operation[..., Any], request: object, key: Callable[[], bytes]) -> None:
        self._operation, self._request, self._key = operation, request, key

    def __call__(self, value: object) -> Any:
        """Return a text or JSON value with private values masked, also in member names. Masked numbers become text."""
        if isinstance(value, str):
            return self._text(value) if self._is_near(value) else value
        if isinstance(value, Mapping):
            return JsonObject({self(str(name)): self._member(str(name), inner) for name, inner in value.items()})
        if isinstance(value, list | tuple):
            return [self(inner) for inner in value]
        if isinstance(value, bool | None) or not self._is_near(str(value)) or not self._pattern.search(str(value)):
            return value
        return DOTS

    def _text(self, text: str) -> str:
        cleaned = self._pattern.sub(DOTS, text)
        if cleaned.isascii():
            return cleaned
        # also search the text with plain characters in place of variants such as mathematical digits
        compatible = unicodedata.normalize("NFKC", cleaned)
        again = self._pattern.sub(DOTS, compatible)
        return cleaned if again == compatible else again

    def _is_near(self, text: str) -> bool:
        """Return whether a text may repeat a private value. If not, the pattern (50 ms to build) is not needed."""
        folded = _letters(text)
        return any(map(text.__contains__, self._marks)) or any(form in folded for form in self._folded)

    @cached_property
    def _marks(self) -> frozenset[str]:
        """Substrings of texts that must be checked with the pattern: starts of escapes, and short private values."""
        short = [text for text in self._texts if len(_letters(text)) <= 3]
        return frozenset(["%", "\\", "&", *short, *map(str.upper, short)])

    @cached_property
    def _folded(self) -> frozenset[str]:
        folded = map(_letters, self._texts)
        return frozenset(form.lstrip("0") or form for form in folded if len(form) > 3)

    def _member(self, name: str, value: object) -> Any:
        is_private = _letters(name) in self._private_names and not isinstance(value, bool | Mapping | None)
        return DOTS if is_private else self(value)

    @cached_property
    def _private_names(self) -> frozenset[str]:
        records = (self._operation.request, self._operation.answer)
        leaves = (leaf for cls in records if is_record(cls) for _, leaf in walk.leaves(cls))
        return frozenset(_letters(leaf.wire) for leaf in leaves if leaf.about.privacy is not OPEN)

    def _private(self) -> Iterator[Any]:
        for _, member, value, _ in walk.values(self._request):
            if member.about.privacy is not OPEN:
                yield from _plain(value)

    @cached_property
    def _texts(self) -> frozenset[str]:
        texts = {form for value in self._private() for form in _forms(value)} | {self._key().decode("ascii")}
        return frozenset(text for text in texts if len(text) > 1)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        patterns = (_grouped(text) for text in sorted(self._texts, key=len, reverse=True))
        return re.compile("|".join(filter(None, patterns)) or r"(?!)")


def _plain(value: object) -> Iterator[Any]:
    """Yield the scalar values within a value. Unchecked requests may contain mappings."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _plain(inner)
    elif not isinstance(value, bool | None):
        yield value


def _letters(text: str) -> str:
    """Return the letters and digits of a text, without case and accents."""
    plain = text if text.isascii() else unicodedata.normalize("NFKD", text)
    return re.sub(r"[\W_]", "", plain).casefold()


def _forms(value: object) -> Iterator[str]:
    """Yield a value as text, and a date also in other national formats."""
    text = str(value)
    yield text
    date = re.fullmatch(r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)", text)
    if date is None:
        return
    parts: dict[str, str] = date.groupdict()
    name = _MONTHS.get(parts["month"], parts["month"])
    numbers = {"m": int(parts["month"]), "d": int(parts["day"]), "name": name, "short": name[:3]}
    yield from (form.format(**parts, **numbers) for form in _DATES)


_DATES = (
    "{day}.{month}.{year}", "{month}/{day}/{year}", "{year}{month}{day}", "{m}/{d}/{year}", "{d}.{m}.{year}",
    "{name} {day}, {year}", "{name} {d}, {year}", "{d} {name} {year}", "{day} {name} {year}", "{short} {d}, {year}",
    "{d} {short} {year}",
)  # fmt: skip
_NAMES = "January February March April May June July August September October November December"
_MONTHS = {f"{number:02}": name for number, name in enumerate(re.findall(r"\w+", _NAMES), 1)}
_SEPARATOR = r"(?:[\W_]|%[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|&#?\w{1,6};){0,6}?"


@cache
def _character(character: str) -> str:
    """Return a pattern for a letter or digit in either case, with or without accent, full-width, or escaped."""
    plain = unicodedata.normalize("NFD", character)[0]
    forms = {form for c in (character, plain) for form in (c, c.upper(), c.lower())}
    forms |= {chr(ord(form) + 0xFEE0) for form in forms if len(form) == 1 and form.isascii()}
    forms |= {unicodedata.normalize("NFD", character), f"\\u{ord(character):04x}", f"\\u{ord(character):04X}"}
    forms |= {quote(character), quote(character).lower(), f"&#{ord(character)};"}
    return "(?:" + "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)) + ")"


def _grouped(text: str) -> str:
    """Return a pattern for a private text with any grouping of digits or separation of words."""
    letter_groups = ["".join(map(_character, word)) for word in re.findall(r"[^\W_]+", text)]
    letters = "".join(re.findall(r"[^\W_]", text))
    if not letters:
        return re.escape(text)
    if len(letters) <= 3:  # a short value is masked only as a separate word
        forms = "|".join(sorted({re.escape(text), re.escape(text.upper())}))
        return rf"(?<![^\W_])(?:{forms})(?![^\W_])"
    if any(map(str.isdigit, letters)):
        letter_groups = [_character(c) for c in (letters.lstrip("0") if len(letters.lstrip("0")) > 3 else letters)]
        return "0*" + _SEPARATOR.join(letter_groups)
    # alternative with separators between all letters, as in text decoded with a wrong encoding
    apart = _SEPARATOR.replace("{0,", "{1,").join(map(_character, letters))
    return f"{_SEPARATOR.join(letter_groups)}|{apart}"
