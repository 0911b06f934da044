"""The kinds of charts: horizontal bars, lines and columns over time, and a grid. Each kind draws columns of a frame."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import attrs
import numpy as np
import pandas as pd
from matplotlib.patches import Patch, Rectangle

from workbench.analysis.charts.canvas import LETTER, Canvas
from workbench.analysis.charts.data import Steps, exact, is_running, label, number, scale_of, total
from workbench.service.rendering.design import BLUE, GRAY, GREEN, RED, TEAL, Look

NAME, TEXT, LOOK = "name", "text", "look"
"""Columns for bars: name, label after the bar, and look; the column named by `by` stacks parts."""
_DASHES: Sequence[Any] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (3, 1)), (0, (1, 1)), (0, (8, 2)))
STYLES = tuple(zip((BLUE, GREEN, TEAL, RED, GRAY, BLUE, GREEN, TEAL), _DASHES, "osD^vPX*", strict=True))
"""Color, dash and marker of lines; more lines are left out."""
_MARKERS = 12  # maximum number of markers on a line
_THICKNESS = 0.66
_INNER = 0.62  # thickness of the inner bar, relative to the outer bar
_MAX_HATCHED = 130  # with more columns than this, each is too thin for a pattern
_DARK = 0.55  # minimum share for which the text in a grid cell is white


@attrs.frozen(kw_only=True)
class Picture:
    """Frame to draw, with its texts.

    Args:
        data: The caller's frame, whose notes and completeness are shown.
        rows: The rows to draw.
        subject: What is drawn. It is the title, or the subtitle if the caller passes a title.
        unit: Unit of the numbers.
        notes: Notes below the chart.
        steps: Time steps of the rows. If they are present, `x` is the index of a step.
        places: Decimal places of numbers in lines and columns (default: as in each number, at most three).
    """

    data: pd.DataFrame
    rows: pd.DataFrame
    subject: str
    unit: str = ""
    notes: Sequence[str] = ()
    steps: Steps | None = None
    places: int | None = None
    form: "Form | None" = None  # replaces the form that `@chart` declares


@attrs.frozen(kw_only=True)
class Form:
    """How a chart is drawn: its kind, the columns of its axes, and the column that groups its rows.

    Several columns in `y` (in `x` for bars) are drawn as several lines or columns, or as nested bars. A step without a
    row has the value 0, or no value in lines that show only known values.
    """

    kind: str
    x: str | tuple[str, ...]
    y: str | tuple[str, ...]
    by: str = ""
    empty: str = "there are no rows"
    whole: bool = False  # whether the axis has only whole numbers
    total: bool = False  # whether the legend shows the sum of each column
    most: float | None = None  # upper limit of the number axis
    known: bool = False  # whether a step without a row has no value instead of 0


def filled(look: Look | str, hatch: str = "") -> dict[str, Any]:
    """Return the style of a filled bar with a white pattern, from a look or a color."""
    color, hatch = (look, hatch) if isinstance(look, str) else (look.color, look.hatch)
    return {"facecolor": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def outlined(color: str) -> dict[str, Any]:
    """Return the style of an outlined bar."""
    return {"facecolor": "none", "edgecolor": color, "linewidth": 1.4}


def _key(text: str, look: Look | str) -> Patch:
    """Return the legend entry for filled bars. Its pattern is denser because the entry is small."""
    style = filled(look)
    return Patch(**{**style, "hatch": style["hatch"] * (1 if style["hatch"] in ("o", ".", "*") else 2)}, label=text)


def names_of(columns: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return one or several column names as a tuple."""
    return (columns,) if isinstance(columns, str) else columns


def bar_rows(name: Iterable[str], **columns: Iterable[Any]) -> pd.DataFrame:
    """Return bar rows with names, numbers, `text` and `look`. Numbers stay exact, in object columns."""
    return pd.DataFrame({"name": [*name], **{column: [*values] for column, values in columns.items()}}, dtype=object)


# -- horizontal bars


def _bars(on: Canvas, picture: Picture, form: Form) -> None:
    """Draw horizontal bars from top to bottom: stacked by `by`, or nested if `x` has several columns."""
    rows, columns = picture.rows, names_of(form.x)
    firsts = rows.drop_duplicates("key") if form.by else rows
    sums = rows.groupby("key", sort=False)[columns[0]].sum() if form.by else rows[columns[0]]
    scale = scale_of([*map(exact, sums), *(exact(value) for column in columns for value in rows[column])])
    places = {key: place for place, key in enumerate(firsts["key"])} if form.by else {}
    ends = [0.0] * len(firsts)
    for number_of_row, row in enumerate(rows.to_dict("records")):
        place = places[row["key"]] if form.by else number_of_row
        left = ends[place] if form.by else 0.0
        for inner, column in enumerate(columns):
            style = filled(row[LOOK]) if inner == len(columns) - 1 else outlined(row[LOOK].color)
            height = _THICKNESS * (_INNER if inner else 1)
            length = scale(exact(row[column]))
            on.axes.barh(place, length, left=left, height=height, **style)
            ends[place] = left + length if form.by or not inner else max(ends[place], length)
    names, texts = ([*map(on.short, firsts[name])] for name in (NAME, TEXT))
    longest = sorted(range(len(ends)), key=lambda place: -abs(ends[place]))[:3]
    on.say(*(f"{[*firsts[NAME]][place]}: {[*firsts[TEXT]][place]}" for place in longest))
    for place, (end, text) in enumerate(zip(ends, texts, strict=True)):
        dx, side = (5, "left") if end >= 0 else (-5, "right")
        on.annotate(end, place, text, dx=dx, ha=side, va="center")
    _fit_bars(on, ends, names, texts)
    if not on.compact:
        on.numbers("x", whole=form.whole)
    on.labels(scale.unit(picture.unit), "")
    if form.by:
        looks: dict[str, set[Look]] = {}
        for part, look in zip(rows[form.by], rows[LOOK], strict=True):
            looks.setdefault(str(part), set()).add(look)
        # then the legend explains patterns only, since colors have another meaning
        plain = len(set[Look]().union(*looks.values())) > len(looks)
        keys = {part: next(iter(own)) for part, own in looks.items()}
        on.legend([_key(part, Look(GRAY, hatch=look.hatch) if plain else look) for part, look in keys.items()])
    elif len(columns) > 1:
        on.legend([Patch(**outlined(on.ink), label=columns[0]), _key(columns[1], on.ink)])


def _fit_bars(on: Canvas, ends: Sequence[float], names: Sequence[str], texts: Sequence[str]) -> None:
    """Label the bars, and reserve space for the values at their ends."""
    on.axes.set_yticks(range(len(ends)), names)
    on.axes.set_ylim(len(ends) - 0.4, -0.6)
    low, high = min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)
    span, before = (high - low) or 1.0, max(map(len, names)) * LETTER * on.base / 72
    room = max(map(len, texts)) * 0.6 * on.small / 72 / max(on.width - before - 0.3, 1)
    more = span * min(room / (1 - min(room, 0.8)), 4) + span * 0.02
    on.axes.set_xlim(low - (more * 1.6 if low < 0 else 0), high + (more if high > 0 or low == 0 else 0))
    if on.compact:  # the labels already show the numbers
        on.axes.set_xticks([])
        on.axes.spines["bottom"].set_visible(False)


# -- over time


def series_of(picture: Picture, form: Form) -> dict[str, dict[int, Decimal]]:
    """Return the values of each line or column by step."""
    rows, steps = picture.rows, picture.steps
    assert steps is not None
    columns = names_of(form.y)
    every = () if form.known else range(len(steps.starts))
    series: dict[str, dict[int, Decimal]] = {}
    groups: Iterable[Hashable] = rows[form.by] if form.by else columns
    for group in dict.fromkeys(groups):
        chosen = rows[rows[form.by] == group] if form.by else rows
        values = dict.fromkeys(every, Decimal(0))
        for place, value in zip(chosen[form.x], chosen[columns[0] if form.by else group], strict=True):
            values[int(place)] = values.get(int(place), 0) + exact(value)
        series[label(group)] = dict(sorted(values.items()))
    return series


def _lines(on: Canvas, picture: Picture, form: Form) -> list[str]:
    """Draw lines over time, labeled at their ends. The last segment is dashed if its period is still running."""
    series, steps = series_of(picture, form), picture.steps
    assert steps is not None
    ranked = sorted(series, key=lambda name: -[*series[name].values()][-1]) if form.by else [*series]
    shown = {name: series[name] for name in ranked[: len(STYLES)]}
    scale = scale_of(value for values in shown.values() for value in values.values())
    ends = []
    for (name, of_steps), (color, dash, marker) in zip(shown.items(), STYLES, strict=False):
        places, values = [*of_steps], [*of_steps.values()]
        heights = [*map(scale, values)]
        look: dict[str, Any] = {"color": color, "linewidth": on.base / 5, "marker": marker, "markersize": on.base / 2.2}
        every = max(1, len(heights) // _MARKERS)
        over = len(heights) - 1 if is_running(picture.data) and len(heights) > 1 else len(heights)
        on.axes.plot(places[:over], heights[:over], linestyle=dash, label=name, markevery=every, **look)
        if over < len(heights):
            on.axes.plot(places[over - 1 :], heights[over - 1 :], linestyle="--", alpha=0.6, markevery=every, **look)
        ends.append((heights[-1], f"{name} {number(values[-1], picture.places)}"))
        on.say(_course(name, values, picture.places))
    on.axes.axhline(0, color=on.ink, linewidth=0.8)
    on.numbers("y", whole=form.whole)
    if form.most:
        on.axes.set_ylim(0, form.most)
    _label_ends(on, len(steps.starts) - 1, ends)
    on.time_axis(steps)
    on.labels(steps.unit, scale.unit(picture.unit))
    return [f"{len(series) - len(shown):,} more lines are left out."] if len(series) > len(shown) else []


def _course(name: str, values: Sequence[Decimal], places: int | None) -> str:
    """Describe a series in one phrase: first, last and highest value."""
    first, last, most = (number(value, places) for value in (values[0], values[-1], max(values)))
    return f"{name} from {first} to {last}, highest {most}"


def _label_ends(on: Canvas, x: float, ends: Sequence[tuple[float, str]]) -> None:
    """Label the ends of lines without overlaps. A thin line connects a moved label with its line."""
    low, high = on.axes.get_ylim()
    height = on.axes.get_position().height * on.figure.get_figheight() * 72 * 0.75
    point = (high - low) / max(height, 1)
    step = point * min(on.small * 1.5, height / len(ends))
    position = float("-inf")
    for above, (y, text) in enumerate(sorted(ends), 1 - len(ends)):
        position = min(max(y, position + step), high + above * step)
        moved = (position - y) / point
        lead: dict[str, Any] = {"arrowstyle": "-", "color": on.ink, "alpha": 0.6, "relpos": (0, 0.5), "shrinkB": 3}
        more = {"arrowprops": lead} if abs(moved) > on.small / 2 else {}
        on.annotate(x, y, text, dx=10, dy=moved * 9 / on.base, va="center", fontweight="bold", **more)


def _columns(on: Canvas, picture: Picture, form: Form) -> None:
    """Draw vertical columns over time. The last column is hatched if its period is still running."""
    series, steps = series_of(picture, form), picture.steps
    assert steps is not None
    scale = scale_of(value for values in series.values() for value in values.values())
    few = len(steps.starts) <= _MAX_HATCHED
    colors = {"earned": Look(GREEN), "redeemed": Look(BLUE, hatch="//")}
    last = len(steps.starts) - 1 if is_running(picture.data) else None
    for name, values in series.items():
        look = colors.get(name, Look(GREEN))
        lengths = {place: scale(value) for place, value in values.items() if few or value}
        style = filled(look if few else look.color)
        bars = on.axes.bar([*lengths], [*lengths.values()], width=0.76 if few else 1, label=name, **style)
        if last in lengths:
            bars[[*lengths].index(last)].set_hatch("//")
    on.axes.axhline(0, color=on.ink, linewidth=0.8)
    on.numbers("y", whole=form.whole)
    on.time_axis(steps)
    on.labels(steps.unit, scale.unit(picture.unit))
    if not form.total:
        on.say(*(_course(name, [*values.values()], picture.places) for name, values in series.items()))
    else:
        sums = {name: number(total(values.values()).copy_abs()) for name, values in series.items()}
        on.say(*(f"{name} {amount}" for name, amount in sums.items()))
        below = {name: " (below)" if min(values.values()) < 0 else "" for name, values in series.items()}
        on.legend([_key(f"{name} {sums[name]}{below[name]}", colors[name]) for name in series])


# -- a grid


def _grid(on: Canvas, picture: Picture, form: Form) -> None:
    """Draw shares as a colored grid, with one row for each group in `by`. Running periods are hatched."""
    rows, (x, y) = picture.rows, (str(form.x), str(form.y))
    grid = rows.pivot(index=form.by, columns=x, values=y)
    names = dict(zip(rows[form.by], rows[NAME], strict=True))
    is_open = {(row[form.by], row[x]) for row in rows.to_dict("records") if "running" in row and row["running"] is True}
    shares = grid.to_numpy(dtype="float64", na_value=np.nan)
    means = {int(column): float(np.nanmean(shares[:, place])) for place, column in enumerate(grid.columns)}
    on.say(*(f"month {month}: {means[month]:.0%} on average" for month in (1, 3, 6) if month in means))
    on.axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        if np.isnan(share):
            continue
        ink = "white" if share > _DARK else "black"
        on.annotate(column, row, f"{share:.0%}", ha="center", va="center", color=ink)
        if (grid.index[row], grid.columns[column]) in is_open:
            on.axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="//", alpha=0.35))
    on.axes.set_yticks(range(len(grid)), [names[key] for key in grid.index])
    on.axes.set_xticks(range(grid.shape[1]), [str(column) for column in grid.columns])
    on.labels(picture.unit, "")


Draw = Callable[[Canvas, Picture, Form], list[str] | None]
KINDS: Mapping[str, Draw] = {"bars": _bars, "lines": _lines, "columns": _columns, "grid": _grid}


def heading_rows(picture: Picture, form: Form) -> tuple[list[str], int]:
    """Return the names of the bars, which take width beside the title, and the number of rows."""
    if form.kind == "bars":
        firsts = picture.rows.drop_duplicates("key") if form.by else picture.rows
        return [*map(str, firsts[NAME])], max(len(firsts), 4)
    if form.kind == "grid":
        return [], max(picture.rows[form.by].nunique(), 4)
    return [], 0
