"""Text and numbers as a chart shows them: text of others harmless and short, numbers exact until they are scaled."""

import re
import textwrap
import unicodedata
from collections.abc import Iterable
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

import attrs
from matplotlib import font_manager

from workbench.errors import visible

LONGEST = 30
"""Characters of a label that are shown."""
_READ = 400  # more of a text is never looked at
_NO_GLYPH = "\u25a1"
_STACKED = 2  # combining marks on one letter; more would be drawn over the neighbors
_EXACT = Context(prec=1000, Emin=-10_000, Emax=10_000)
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def label(text: Any, limit: int = LONGEST, *, none: str = "(none)") -> str:
    """Return a text of others as a label: one line, no hidden character, no mathematics, cut at `limit`."""
    if text is None or text != text:
        return none
    shown = visible(str(text)[:_READ].strip())
    if len(shown) > limit or len(str(text)) > _READ:
        shown = shown[: limit - 1].rstrip() + "…"
    return plain(shown) or "(empty)"


def plain(text: str) -> str:
    """Return text that matplotlib draws as it stands: a dollar opens no formula, a letter has a shape in the font."""
    return drawable(text).replace("$", r"\$")


def drawable(text: str) -> str:
    """Return text with a box for each character that the font has no shape for, and few marks on one letter."""
    if text.isascii():
        return text
    made: list[str] = []
    stacked = 0
    fonts = _fonts(tuple(font_manager.FontProperties().get_family()))
    for c in text:
        stacked = stacked + 1 if unicodedata.category(c) in {"Mn", "Me"} else 0
        if stacked <= _STACKED:
            made.append(c if any(font.get_char_index(ord(c)) for font in fonts) else _NO_GLYPH)
    return "".join(made)


@lru_cache(maxsize=8)
def _fonts(families: tuple[str, ...]) -> tuple[Any, ...]:
    paths = [font_manager.findfont(font_manager.FontProperties(family=[one])) for one in families]
    return tuple(font_manager.get_font(path) for path in dict.fromkeys(paths))


def wrapped(text: str, width: int, lines: int = 3) -> str:
    """Return text in lines of `width` characters at most, as many as `lines`, harmless."""
    made = textwrap.wrap(visible(re.sub(r"[ \t\r\n]+", " ", text[: width * (lines + 1)])), max(width, 12)) or [""]
    if len(made) > lines:
        made = [*made[: lines - 1], made[lines - 1][: width - 1] + "…"]
    return "\n".join(plain(line) for line in made)


@attrs.frozen
class Scale:
    """What numbers are divided by before they are drawn, and what an axis says of that."""

    power: int = 0

    @property
    def word(self) -> str:
        """`millions`, or `×10¹⁸`; nothing where numbers are drawn as they are."""
        return _POWERS.get(self.power, f"×10{str(self.power).translate(_RAISED)}")

    def __call__(self, value: Decimal | int) -> float:
        """Return a number as a float on this scale: the only place where exactness ends."""
        return float(_EXACT.create_decimal(value).scaleb(-self.power, context=_EXACT))

    def unit(self, unit: str) -> str:
        """Return a unit with the scale: `points (millions)`."""
        return f"{unit} ({self.word})" if self.word else unit


_POWERS = {0: "", 6: "millions", 9: "billions", 12: "trillions"}
_SIGNS = {6: " M", 9: " bn", 12: " tn"}


def scale_of(values: Iterable[Decimal | int]) -> Scale:
    """Return the scale on which the largest of the values stays readable."""
    largest = max((Decimal(value).copy_abs() for value in values), default=Decimal(0))
    exponent = largest.adjusted() if largest else 0
    return Scale(exponent // 3 * 3 if exponent >= 6 else 0)


def number(value: Decimal | int, places: int | None = None) -> str:
    """Return a number as a direct label: all digits where they are few, else four of them and the scale.

    Args:
        places: Decimal places; as many as the value has, three at most, where left out.
    """
    return _number(_EXACT.create_decimal(value), places).replace("-", "−")


def _number(exact: Decimal, places: int | None) -> str:
    if exact.copy_abs() < 10_000_000:
        if places is None:
            texts = (f"{exact:,.{p}f}" for p in range(4))
            return next((text for text in texts if Decimal(text.replace(",", "")) == exact), f"{exact:,.3f}")
        return f"{exact:,.{places}f}"
    power = exact.adjusted() // 3 * 3
    sign = _SIGNS.get(power, f"×10{str(power).translate(_RAISED)}")
    return f"{exact.scaleb(-power, context=_EXACT):.4g}{sign}"


def usd(cents: Decimal | int) -> Decimal:
    """Return cents as dollars, exactly."""
    return _EXACT.create_decimal(cents).scaleb(-2, context=_EXACT)


def dollars(cents: Decimal | int) -> str:
    """Return cents as dollars: `1,234.50`."""
    return number(usd(cents), 2)


def share(part: int, whole: int) -> str:
    """Return a part as a percentage of the whole."""
    return f"{100 * part / whole:.0f} %" if whole else "–"


def others(count: int, says: str) -> str:
    """Say what is beyond the top of a ranking: a bar of it would dwarf the others."""
    return f"Not drawn: {counted(count, 'other')}, together {says}."


def counted(count: int, noun: str) -> str:
    """Return a number of things that no line parts: `1 row`, `2 rows`."""
    return f"{count:,}\xa0{noun}{'' if count == 1 else 's'}"
