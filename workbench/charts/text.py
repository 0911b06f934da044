"""Text and numbers in charts: foreign text harmless and short, numbers exact until they are scaled."""

import re
import textwrap
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import attrs
from matplotlib import font_manager

from workbench.errors import visible
from workbench.tables.decimals import EXACT

MAX_LABEL = 30
"""Characters of a label that are shown."""
_MAX_READ = 400  # characters of a text that are read at all
_NO_GLYPH = "\u25a1"
_MAX_MARKS = 2  # combining marks on one letter; more would cover the neighbors
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def label(text: Any, limit: int = MAX_LABEL, *, none: str = "(none)") -> str:
    """Return foreign text as a label: one line, no hidden characters, no formula, at most `limit` characters."""
    if text is None or text != text:
        return none
    shown = visible(str(text)[:_MAX_READ].strip())
    if len(shown) > limit or len(str(text)) > _MAX_READ:
        shown = shown[: limit - 1].rstrip() + "…"
    return plain(shown) or "(empty)"


def plain(text: str) -> str:
    """Return text that matplotlib draws literally: no dollar opens a formula, each character has a glyph."""
    if text.isascii():
        return text.replace("$", r"\$")
    made: list[str] = []
    marks = 0
    fonts = _fonts(tuple(font_manager.FontProperties().get_family()))
    for c in text:
        marks = marks + 1 if unicodedata.category(c) in {"Mn", "Me"} else 0
        if marks <= _MAX_MARKS:
            made.append(c if any(font.get_char_index(ord(c)) for font in fonts) else _NO_GLYPH)
    return "".join(made).replace("$", r"\$")


@lru_cache(maxsize=8)
def _fonts(families: tuple[str, ...]) -> tuple[Any, ...]:
    paths = [font_manager.findfont(font_manager.FontProperties(family=[one])) for one in families]
    return tuple(font_manager.get_font(path) for path in dict.fromkeys(paths))


def wrapped(text: str, width: int, lines: int = 3) -> str:
    """Return harmless text in at most `lines` lines of at most `width` characters."""
    made = textwrap.wrap(visible(re.sub(r"[ \t\r\n]+", " ", text[: width * (lines + 1)])), max(width, 12)) or [""]
    if len(made) > lines:
        made = [*made[: lines - 1], made[lines - 1][: width - 1] + "…"]
    return "\n".join(plain(line) for line in made)


Number = Decimal | int | float


@attrs.frozen
class Scale:
    """The power of ten by which numbers are divided before they are drawn."""

    power: int = 0

    @property
    def word(self) -> str:
        """`millions`, or `×10¹⁸`; empty if numbers are not divided."""
        return _POWERS.get(self.power, f"×10{str(self.power).translate(_RAISED)}")

    def __call__(self, value: Number) -> float:
        """Return a number as a float on this scale; the only place where exactness is lost."""
        return float(EXACT.create_decimal(value).scaleb(-self.power, context=EXACT))

    def unit(self, unit: str) -> str:
        """Return a unit with the scale: `points (millions)`."""
        return f"{unit} ({self.word})" if self.word else unit


_POWERS = {0: "", 6: "millions", 9: "billions", 12: "trillions"}
_SIGNS = {6: " M", 9: " bn", 12: " tn"}


def scale_of(values: Iterable[Number]) -> Scale:
    """Return the scale that keeps the largest of the values readable."""
    largest = max((Decimal(value).copy_abs() for value in values), default=Decimal(0))
    exponent = largest.adjusted() if largest else 0
    return Scale(exponent // 3 * 3 if exponent >= 6 else 0)


def number(value: Number, places: int | None = None) -> str:
    """Return a number as a label: all digits up to ten million, then four digits and the scale.

    Args:
        places: Decimal places; by default those that the value has, at most three.
    """
    return _number(EXACT.create_decimal(value), places).replace("-", "−")


def _number(exact: Decimal, places: int | None) -> str:
    if exact.copy_abs() < 10_000_000:
        if places is None:
            texts = (f"{exact:,.{p}f}" for p in range(4))
            return next((text for text in texts if Decimal(text.replace(",", "")) == exact), f"{exact:,.3f}")
        return f"{exact:,.{places}f}"
    power = exact.adjusted() // 3 * 3
    sign = _SIGNS.get(power, f"×10{str(power).translate(_RAISED)}")
    return f"{exact.scaleb(-power, context=EXACT):.4g}{sign}"


def usd(cents: Number) -> Decimal:
    """Return cents as dollars, exactly."""
    return EXACT.create_decimal(cents).scaleb(-2, context=EXACT)


def dollars(cents: Number) -> str:
    """Return cents as dollars: `1,234.50`."""
    return number(usd(cents), 2)


def percent(part: int, total: int) -> str:
    """Return a part of a total as a percentage."""
    return f"{100 * part / total:.0f} %" if total else "–"


def not_drawn(count: int, total: str) -> str:
    """Return a note on what is beyond the top of a ranking; empty if nothing is."""
    return f"Not drawn: {counted(count, 'other')}, together {total}." if count else ""


def counted(count: int, noun: str) -> str:
    """Return a number of things, not broken over lines: `1 row`, `2 rows`."""
    return f"{count:,}\xa0{noun}{'' if count == 1 else 's'}"


def left_out(count: int, reason: str) -> str:
    """Return a note on rows that are not in the chart; empty if all are."""
    return f"{counted(count, 'row')} {reason} {'is' if count == 1 else 'are'} left out." if count else ""
