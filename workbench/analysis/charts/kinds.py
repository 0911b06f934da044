"""The kinds of charts: horizontal bars, lines over time, columns over time, and a grid."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import attrs
import numpy as np
import pandas as pd
from matplotlib.patches import Patch, Rectangle

from workbench.analysis.charts.canvas import LETTER, Canvas, figure_of
from workbench.analysis.charts.data import Scale, Steps, exact, is_running, label, number, scale_of, sums
from workbench.analysis.tables.rows import total
from workbench.service.rendering.design import BLUE, GRAY, GREEN, RED, TEAL, Look

_DASHES: Sequence[Any] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (3, 1)), (0, (1, 1)), (0, (8, 2)))
STYLES = tuple(zip((BLUE, GREEN, TEAL, RED, GRAY, BLUE, GREEN, TEAL), _DASHES, "osD^vPX*", strict=True))
"""Color, dash and marker of each line. A chart leaves out further lines."""
_MARKERS = 12  # maximum number of markers on a line
_THICKNESS = 0.66
_INNER = 0.62  # thickness of the inner bar, relative to the outer bar
_MAX_HATCHED = 130  # with more columns than this, each is too thin for a pattern
BELOW = " (below)"
"""Suffix of a legend for columns below the axis."""
_DARK = 0.55  # grid cells with a share above this have white text


@attrs.frozen
class Bar:
    """A horizontal bar of one or more parts, each with a length and a look.

    Args:
        name: Name before the bar.
        text: Label after the bar.
        lengths: Lengths of the parts, drawn one after another; in a nested chart, the second part inside the first.
        looks: Look of each part.
    """

    name: str
    text: str
    lengths: Sequence[Any]
    looks: Sequence[Look]


@attrs.frozen(kw_only=True)
class Picture:
    """Rows of one chart, with title, unit and notes.

    Args:
        data: The caller's frame. The chart shows the frame's notes, and whether the frame is complete.
        rows: The rows to draw: a frame, or bars.
        subject: What is drawn. It is the title, or the subtitle if the caller passes a title.
        unit: Unit of the numbers.
        notes: Notes below the chart.
        steps: Time steps of a chart over time. The column `x` of `rows` then holds the index of each row's step.
        places: Decimal places of numbers in lines and columns (default: as in each number, at most three).
        legend: Look of each part of a bar, or of each column, by the text in the legend.
        nested: Names of the outer and the inner bars, if each bar has an inner bar.
        form: Form of the chart, in place of the form that `@chart` declares.
    """

    data: pd.DataFrame
    rows: Any
    subject: str
    unit: str = ""
    notes: Sequence[str] = ()
    steps: Steps | None = None
    places: int | None = None
    legend: Mapping[str, Look] = {}
    nested: tuple[str, ...] = ()
    form: "Form | None" = None


@attrs.frozen(kw_only=True)
class Form:
    """How a chart is drawn: its kind, the columns of its axes, and the column that groups its rows.

    Each column in `y` is drawn as a line, or as vertical columns. A step without a row has the value 0, or no value if
    `known` is true.
    """

    kind: str
    x: str = ""
    y: tuple[str, ...] = ()
    by: str = ""
    empty: str = "there are no rows"
    whole: bool = False  # whether the axis has only whole numbers
    most: float | None = None  # upper limit of the number axis
    known: bool = False  # whether steps without rows stay empty; otherwise they are drawn as 0


def filled(look: Look) -> dict[str, Any]:
    """Return the style of a filled bar with a white pattern."""
    return {"facecolor": look.color, "hatch": look.hatch, "edgecolor": "white", "linewidth": 0}


def outlined(color: str) -> dict[str, Any]:
    """Return the style of an outlined bar."""
    return {"facecolor": "none", "edgecolor": color, "linewidth": 1.4}


def legend_key(text: str, look: Look) -> Patch:
    """Return the legend entry for filled bars. Its pattern is denser because the entry is small."""
    hatch = look.hatch * (1 if look.hatch in ("o", ".", "*") else 2)
    return Patch(**filled(Look(look.color, hatch=hatch)), label=text)


# -- horizontal bars


def _bars(on: Canvas, picture: Picture, form: Form) -> None:
    """Draw horizontal bars from top to bottom. The last length of a nested bar is drawn within the first."""
    bars: Sequence[Bar] = picture.rows
    is_nested, ends = bool(picture.nested), list[float]()
    scale = scale_of(length for bar in bars for length in (bar.lengths if is_nested else [total(bar.lengths)]))
    for row, bar in enumerate(bars):
        end = 0.0
        for part, (length, look) in enumerate(zip(map(scale, bar.lengths), bar.looks, strict=True)):
            is_inner = is_nested and part > 0
            style = outlined(look.color) if is_nested and not part else filled(look)
            left = 0.0 if is_nested else end
            on.axes.barh(row, length, left=left, height=_THICKNESS * (_INNER if is_inner else 1), **style)
            end = max(end, length) if is_inner else left + length
        dx, side = (5, "left") if end >= 0 else (-5, "right")
        on.annotate(end, row, on.short(bar.text), dx=dx, ha=side, va="center")
        ends.append(end)
    longest = sorted(zip(ends, bars, strict=True), key=lambda entry: -abs(entry[0]))[:3]
    on.say(*(f"{bar.name}: {bar.text}" for _, bar in longest))
    on.numbers("x", whole=form.whole)
    _fit_bars(on, ends, bars)
    on.labels(scale.unit(picture.unit), "")
    if is_nested:
        outer, inner = picture.nested
        on.legend([Patch(**outlined(on.ink), label=outer), legend_key(inner, Look(on.ink))])


def _fit_bars(on: Canvas, ends: Sequence[float], bars: Sequence[Bar]) -> None:
    """Label the bars, and leave space for the values at their ends."""
    names, longest = [on.short(bar.name) for bar in bars], max(len(on.short(bar.text)) for bar in bars)
    on.axes.set_yticks(range(len(ends)), names)
    on.axes.set_ylim(len(ends) - 0.4, -0.6)
    low, high = min(0.0, *ends), max(0.0, *ends)
    span, before = (high - low) or 1.0, max(map(len, names)) * LETTER * on.base / 72
    room = longest * 0.6 * on.small / 72 / max(on.width - before - 0.3, 1)
    more = span * min(room / (1 - min(room, 0.8)), 4) + span * 0.02
    on.axes.set_xlim(low - (more * 1.6 if low < 0 else 0), high + (more if high > 0 or low == 0 else 0))
    if on.compact:  # the labels already show the numbers
        on.axes.set_xticks([])
        on.axes.spines["bottom"].set_visible(False)


# -- over time


def series_of(picture: Picture, form: Form) -> tuple[dict[str, dict[int, Decimal]], Steps, Scale]:
    """Return the values of each line or column by step, the steps, and the scale of the values."""
    rows, steps = picture.rows.sort_values(form.x, kind="stable"), picture.steps
    assert steps is not None
    every = () if form.known else range(len(steps.starts))
    series: dict[str, dict[int, Decimal]] = {}
    for column in form.y:
        names = map(label, rows[form.by]) if form.by else [column] * len(rows)
        totals = sums(zip(names, map(int, rows[form.x]), strict=True), [*map(exact, rows[column])])
        for (name, step), value in totals.items():
            series.setdefault(name, dict.fromkeys(every, Decimal(0)))[step] = value
    scale = scale_of(value for values in series.values() for value in values.values())
    return series, steps, scale


def _lines(on: Canvas, picture: Picture, form: Form) -> list[str]:
    """Draw lines over time, labeled at their ends. The last segment is dashed if its period is still running."""
    series, steps, scale = series_of(picture, form)
    ranked, ends = [*series.items()], []
    if form.by:
        ranked.sort(key=lambda line: -[*line[1].values()][-1])
    for (name, of_steps), (color, dash, marker) in zip(ranked, STYLES, strict=False):
        positions, values = [*of_steps], [*of_steps.values()]
        heights = [*map(scale, values)]
        look: dict[str, Any] = {"color": color, "linewidth": on.base / 5, "marker": marker, "markersize": on.base / 2.2}
        look["markevery"] = max(1, len(heights) // _MARKERS)
        over = len(heights) - (is_running(picture.data) and len(heights) > 1)
        on.axes.plot(positions[:over], heights[:over], linestyle=dash, label=name, **look)
        if over < len(heights):
            on.axes.plot(positions[over - 1 :], heights[over - 1 :], linestyle="--", alpha=0.6, **look)
        ends.append((heights[-1], f"{name} {number(values[-1], picture.places)}"))
        on.say(_course(name, values, picture.places))
    on.time_axis(steps, scale.unit(picture.unit))
    if form.most:
        on.axes.set_ylim(0, form.most)
    _label_ends(on, len(steps.starts) - 1, ends)
    more = len(series) - len(STYLES)
    return [f"{more:,} more lines are left out."] if more > 0 else []


def _course(name: str, values: Sequence[Decimal], places: int | None) -> str:
    """Describe a series in one phrase: first, last and highest value."""
    first, last, most = (number(value, places) for value in (values[0], values[-1], max(values)))
    return f"{name} from {first} to {last}, highest {most}"


def _label_ends(on: Canvas, x: float, ends: Sequence[tuple[float, str]]) -> None:
    """Label the ends of lines without overlaps. A thin line connects a moved label with its line."""
    low, high = on.axes.get_ylim()
    height = on.axes.get_position().height * figure_of(on.axes).get_figheight() * 72 * 0.75
    point = (high - low) / max(height, 1)
    step = point * min(on.small * 1.5, height / len(ends))
    position = float("-inf")
    for above, (y, text) in enumerate(sorted(ends), 1 - len(ends)):
        position = min(max(y, position + step), high + above * step)
        moved = (position - y) / point
        lead = {"arrowstyle": "-", "color": on.ink, "alpha": 0.6, "relpos": (0, 0.5), "shrinkB": 3}
        look = {"va": "center", "fontweight": "bold", "arrowprops": lead if abs(moved) > on.small / 2 else None}
        on.annotate(x, y, text, dx=10, dy=moved * 9 / on.base, **look)


def _columns(on: Canvas, picture: Picture, form: Form) -> None:
    """Draw vertical columns over time. The last column is hatched if its period is still running."""
    series, steps, scale = series_of(picture, form)
    few = len(steps.starts) <= _MAX_HATCHED
    last = len(steps.starts) - 1 if is_running(picture.data) else None
    for (name, values), look in zip(series.items(), [*picture.legend.values()] or [Look(GREEN)], strict=True):
        lengths = {step: scale(value) for step, value in values.items() if few or value}
        style = filled(look if few else Look(look.color))
        bars = on.axes.bar([*lengths], [*lengths.values()], width=0.76 if few else 1, label=name, **style)
        if last in lengths:
            bars[-1].set_hatch("//")
        if not picture.legend:
            on.say(_course(name, [*values.values()], picture.places))
    on.time_axis(steps, scale.unit(picture.unit))
    on.say(*(name.removesuffix(BELOW) for name in picture.legend))


# -- a grid


def _grid(on: Canvas, picture: Picture, form: Form) -> None:
    """Draw shares as a colored grid, with one row for each group in `by`. Running periods are hatched."""
    x, (share_of,) = form.x, form.y
    rows = picture.rows.dropna(subset=share_of)
    grid = rows.pivot(index=form.by, columns=x, values=share_of)
    means = rows.groupby(x)[share_of].mean()
    on.say(*(f"month {month}: {means[month]:.0%} on average" for month in (1, 3, 6) if month in means))
    shares = grid.to_numpy(dtype="float64", na_value=np.nan)
    on.axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for group, step, share, is_open in rows[[form.by, x, share_of, "running"]].itertuples(index=False):
        row, column = grid.index.get_loc(group), grid.columns.get_loc(step)
        ink = "white" if share > _DARK else "black"
        on.annotate(column, row, f"{share:.0%}", ha="center", va="center", color=ink)
        if is_open:
            on.axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="//", alpha=0.35))
    on.axes.set_yticks(range(len(grid)), [*rows.groupby(form.by)["name"].first()])
    on.axes.set_xticks(range(grid.shape[1]), [*map(str, grid.columns)])
    on.labels(picture.unit, "")


Draw = Callable[[Canvas, Picture, Form], list[str] | None]
KINDS: Mapping[str, Draw] = {"bars": _bars, "lines": _lines, "columns": _columns, "grid": _grid}
