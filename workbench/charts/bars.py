"""Bars that lie, one under another, each with its name before it and its number behind it."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import attrs
from matplotlib.patches import Patch

from workbench.charts.canvas import Sheet
from workbench.charts.words import Scale, scale_of
from workbench.rendering.palette import BLUE

THICK = 0.66


@attrs.frozen(kw_only=True)
class Bar:
    """One bar: what it is called, how long it is, and what stands behind it."""

    name: str
    value: Decimal
    says: str
    color: str = BLUE
    hatch: str = ""


def lying(on: Sheet, bars: Sequence[Bar], unit: str, *, axis: str = "") -> Scale:
    """Draw bars, the first on top, and give the scale they are drawn on."""
    scale = scale_of(bar.value for bar in bars)
    axes = on.axes
    lengths = [scale(bar.value) for bar in bars]
    for place, (bar, length) in enumerate(zip(bars, lengths, strict=True)):
        axes.barh(place, length, height=THICK, **filled(bar.color, bar.hatch))
        right = length >= 0
        on.text(
            length, place, bar.says, dx=5 if right else -5, ha="left" if right else "right", va="center", gid="value"
        )  # fmt: skip
    named(on, [bar.name for bar in bars])
    room_behind(on, lengths, max((len(bar.says) for bar in bars), default=0))
    on.numbers("x")
    on.labels(scale.unit(unit), axis)
    return scale


def named(on: Sheet, names: Sequence[str]) -> None:
    """Write the names of lying bars before them, the first on top."""
    on.axes.set_yticks(range(len(names)), list(names))
    on.axes.set_ylim(len(names) - 0.4, -0.6)


def room_behind(on: Sheet, lengths: Sequence[float], letters: int) -> None:
    """Leave as much room beside the longest bar as its label needs."""
    low, high = min(0.0, *lengths, 0.0), max(0.0, *lengths, 0.0)
    wide = letters * 0.6 * on.small / 72 / max(on.width * 0.62, 1)
    span = (high - low) or 1.0
    more = span * min(wide / (1 - min(wide, 0.6)), 1.2) + span * 0.02
    on.axes.set_xlim(low - (more if low < 0 else 0), high + (more if high > 0 or low == 0 else 0))


def filled(color: str, hatch: str = "") -> dict[str, Any]:
    """Return how a bar looks: its color, with its pattern in white."""
    return {"facecolor": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def key(label: str, color: str, hatch: str = "") -> Patch:
    """Return what a legend shows of filled bars; its pattern is denser, since it is small."""
    return Patch(**filled(color, hatch * 2), label=label)


def open_bar(color: str, hatch: str = "") -> dict[str, Any]:
    """Return how a bar looks that is only drawn around."""
    return {"facecolor": "none", "edgecolor": color, "hatch": hatch, "linewidth": 1.4}
