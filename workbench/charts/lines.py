"""Running totals as lines, each with a mark, a dash and its name at its end."""

from collections.abc import Sequence
from decimal import Decimal

import attrs
from matplotlib.figure import Figure

from workbench.charts.canvas import Sheet
from workbench.charts.words import Scale, scale_of

_MARKS = 12  # along a line


@attrs.frozen(kw_only=True)
class Line:
    """One line: its values, what stands at its end, and how it looks."""

    values: Sequence[Decimal]
    says: str
    name: str
    color: str
    dash: str | tuple[int, tuple[int, int]]
    mark: str


def lines(on: Sheet, places: Sequence[float], shown: Sequence[Line]) -> Scale:
    """Draw lines over the same places, and give the scale they are drawn on."""
    scale = scale_of(value for line in shown for value in line.values)
    ends = []
    for line in shown:
        heights = [scale(value) for value in line.values]
        on.axes.plot(
            places, heights, color=line.color, linestyle=line.dash, linewidth=on.base / 5, marker=line.mark,
            markersize=on.base / 2.2, markevery=max(1, len(heights) // _MARKS), label=line.name,
        )  # fmt: skip
        ends.append((heights[-1], line.says, line.color))
    on.axes.axhline(0, color=on.ink, linewidth=0.8)
    on.numbers("y")
    _named(on, places[-1], ends)
    return scale


def _named(on: Sheet, x: float, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write the names behind the ends of lines, moved apart where the ends are close."""
    low, high = on.axes.get_ylim()
    figure = on.axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    height = on.axes.get_position().height * figure.get_figheight() * 72 * 0.75
    least = (high - low) * on.small * 1.5 / max(height, 1)
    place = float("-inf")
    for y, text, color in sorted(ends):
        place = max(y, place + least)
        on.axes.annotate(
            text, (x, place), (on.base * 0.75, 0), textcoords="offset points", va="center", fontsize=on.small,
            color=color, fontweight="bold", annotation_clip=False, gid="value",
        )  # fmt: skip
