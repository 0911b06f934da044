"""Charts of reward points: over time, by source, per dollar, and the time until they are minted."""

from decimal import Decimal
from functools import partial
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes

from workbench.analysis.charts.canvas import Bar, Canvas, LineSpec, Part, Size, bar_chart, chart, filled, legend_key
from workbench.analysis.charts.data import (
    By,
    Scale,
    Steps,
    counted,
    dollars,
    duration_unit,
    label,
    left_out,
    not_drawn,
    number,
    ratio,
    running,
    scale_of,
    steps_of,
    sums,
    table,
    texts,
    top_of,
    total,
    usd,
)
from workbench.analysis.tables.rows import decimals
from workbench.base.errors import UsageError
from workbench.service.interface.vocabulary import RewardType
from workbench.service.rendering.design import GRAY, GREEN, TEAL, look

Value = Literal["points", "spend"]
_COLUMNS: dict[Value, str] = {"points": "points", "spend": "transaction_amount_cents"}
_TYPES = tuple(str(kind) for kind in RewardType)
_MAX_HATCHED = 130  # more bars than this are too thin for a pattern


def points_chart(
    rewards: object,
    *,
    cumulative: bool = False,
    freq: By | None = None,
    on: str = "created_at",
    tz: str = "UTC",
    ax: Axes | None = None,
    size: Size = "notebook",
    title: str | None = None,
) -> Axes:
    """Draw points earned (above the axis) and redeemed (below it) over time.

    Args:
        rewards: A frame of rewards activity, the items, or the result of `rewards.fetch`.
        cumulative: Draw running totals and the remaining points instead.
        freq: "day", "week", "month" or "year"; by default what fits the period.
        on: The column of times.
        tz: Time zone of the days and months.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = table(rewards, "type", "points", on, of="list_rewards_activity")
    types = texts(data["type"])
    steps = steps_of(data[on], freq, tz)
    totals = sums(zip(types, steps.places.tolist(), strict=True), decimals(data["points"]))
    series = {kind: [totals.get((kind, index), Decimal(0)) for index in range(len(steps.starts))] for kind in _TYPES}
    subject = "Points earned and redeemed, " + ("cumulative" if cumulative else f"by {steps.by}")
    if known := len(steps.starts) > 0:
        subject += f", {steps.period} ({counted(len(data), 'row')})"
    undated, other = int((steps.places < 0).sum()), sum(kind not in _TYPES for kind in types)
    draw = partial(_running_points if cumulative else _points, series=series, steps=steps)
    return chart(
        data,
        draw if known else None,
        subject=subject,
        empty="no rewards activity with a time",
        ax=ax,
        size=size,
        title=title,
        legend=not cumulative,
        notes=(
            left_out(undated, f"without {on}"),
            left_out(other, "of another type"),
            left_out(int(data["points"].isna().sum()), "without points"),
        ),
    )


def _points(on: Canvas, series: dict[str, list[Decimal]], steps: Steps) -> None:
    drawn = {"earned": series["earned"], "redeemed": [value.copy_negate() for value in series["redeemed"]]}
    scale = scale_of(value for values in drawn.values() for value in values)
    for kind, values in drawn.items():
        style = look(kind)
        few = len(values) <= _MAX_HATCHED
        bars = {index: scale(value) for index, value in enumerate(values) if few or value}
        fill = filled(style.color, style.hatch if few else "")
        on.axes.bar(list(bars), list(bars.values()), width=0.76 if few else 1, label=kind, **fill)
    on.axes.axhline(0, color=on.ink, linewidth=0.8)
    on.numbers("y")
    on.labels(steps.unit, scale.unit("points"))
    on.say(*(f"{kind} {number(total(series[kind]))}" for kind in _TYPES))
    on.time_axis(steps)
    below = {"redeemed": " (below)"}
    on.legend([legend_key(f"{kind} {number(total(series[kind]))}{below.get(kind, '')}", look(kind)) for kind in _TYPES])


def _running_points(on: Canvas, series: dict[str, list[Decimal]], steps: Steps) -> None:
    totals = {kind: running(series[kind]) for kind in ("earned", "redeemed")}
    totals["remaining"] = [total((a, b.copy_negate())) for a, b in zip(*totals.values(), strict=True)]
    styles = ((look("earned").color, "-", "o"), (look("redeemed").color, "--", "s"), (TEAL, ":", "D"))
    shown = [
        LineSpec(values, kind, f"{kind} {number(values[-1])}", *style)
        for (kind, values), style in zip(totals.items(), styles, strict=True)
    ]
    scale = on.lines(range(len(steps.starts)), shown)
    on.time_axis(steps)
    on.labels(steps.unit, scale.unit("points, running total"))


def categories_chart(
    rewards: object,
    *,
    value: Value = "points",
    top: int = 12,
    ax: Axes | None = None,
    size: Size = "notebook",
    title: str | None = None,
) -> Axes:
    """Draw points earned, or dollars spent, by spend category.

    Args:
        rewards: A frame of rewards activity, the items, or the result of `rewards.fetch`.
        value: "points", or "spend" for the amounts of the transactions.
        top: Number of categories drawn; the others are summed up in a note.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    return _ranking(rewards, "spend_category", "spend category", value, top, ax, size, title)


def merchants_chart(
    rewards: object,
    *,
    value: Value = "points",
    top: int = 10,
    ax: Axes | None = None,
    size: Size = "notebook",
    title: str | None = None,
) -> Axes:
    """Draw the merchants with the most points earned, or dollars spent.

    Args:
        rewards: A frame of rewards activity, the items, or the result of `rewards.fetch`.
        value: "points", or "spend" for the amounts of the transactions.
        top: Number of merchants drawn; the others are summed up in a note.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    return _ranking(rewards, "merchant_name", "merchant", value, top, ax, size, title)


def _ranking(
    rewards: object,
    column: str,
    noun: str,
    value: Value,
    top: int,
    ax: Axes | None,
    size: Size,
    title: str | None,
) -> Axes:
    if value not in _COLUMNS:
        raise UsageError(f"value must be one of {', '.join(_COLUMNS)}")
    data, earned = _earned(rewards, column, _COLUMNS[value])
    groups = sums(texts(earned[column]), decimals(earned[_COLUMNS[value]]))
    named = {name: amount for name, amount in groups.items() if name is not None}
    shown, rest = top_of(named, top)
    points = value == "points"
    fractions = points and any(amount != amount.to_integral_value() for amount in groups.values())
    text = partial(number, places=2 if fractions else 0) if points else dollars

    def bar(name: str | None) -> Bar:
        amount = groups[name]
        style = filled(GREEN if points else TEAL) if name is not None else filled(GRAY, ".")
        shown_name = f"no {noun} given" if name is None else label(name)
        return Bar(shown_name, text(amount), [Part(amount if points else usd(amount), style)])

    what, unit = ("Points earned", "points") if points else ("Spend that earned points", "USD")
    limit = f", the top {len(shown)} of {len(named):,}" if rest else ""
    in_total = f"{counted(len(earned), 'earned row')}; total {text(total(groups.values()))} {unit}."
    others = not_drawn(len(rest), f"{text(total(groups[name] for name in rest))} {unit}")
    return bar_chart(
        data,
        [bar(name) for name in (*shown, *([None] if None in groups else []))],
        unit,
        ax=ax,
        size=size,
        title=title,
        subject=f"{what} by {noun}{limit}",
        empty="no earned rows",
        notes=[
            in_total,
            others,
            left_out(len(data) - len(earned), "not earned"),
            left_out(int(earned[_COLUMNS[value]].isna().sum()), f"without {'points' if points else 'an amount'}"),
        ],
    )


def _earned(rewards: object, *columns: str) -> tuple[Any, Any]:
    data = table(rewards, "type", *columns, of="list_rewards_activity")
    return data, data[(data["type"] == "earned").to_numpy(dtype=bool, na_value=False)]


def points_per_dollar_chart(
    rewards: object,
    *,
    by: Literal["spend_category", "merchant_name"] = "spend_category",
    top: int = 12,
    ax: Axes | None = None,
    size: Size = "notebook",
    title: str | None = None,
) -> Axes:
    """Draw points earned per dollar (sum of points divided by sum of dollars) by spend category or merchant.

    Args:
        rewards: A frame of rewards activity, the items, or the result of `rewards.fetch`.
        by: The column by which rows are grouped.
        top: Number of groups drawn, by spend.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data, earned = _earned(rewards, by, "points", "transaction_amount_cents")
    points, cents = decimals(earned["points"]), decimals(earned["transaction_amount_cents"])
    both = [a is not None and b is not None and b != 0 for a, b in zip(points, cents, strict=True)]
    names = texts(earned[by])
    spent = sums(names, [b if ok else None for b, ok in zip(cents, both, strict=True)])
    got = sums(names, [a if ok else None for a, ok in zip(points, both, strict=True)])
    rates = {name: ratio(got[name], usd(spent[name])) for name in spent if spent[name] > 0}
    shown, _ = top_of({name: spent[name] for name in rates}, top)
    shown.sort(key=lambda name: (rates[name].copy_negate(), name or ""))
    named = [(f"{label(name, 20)} · {dollars(spent[name])} USD", rates[name]) for name in shown]
    bars = [Bar(name, number(rate, 3), [Part(rate, filled(GREEN))]) for name, rate in named]

    def mean_line(on: Canvas, scale: Scale) -> None:
        """Draw the overall rate as a line across the bars, interrupted at bar labels."""
        mean = ratio(total(got[name] for name in rates), usd(total(spent[name] for name in rates)))
        x, color, (low, high) = scale(mean), look("redeemed").color, on.axes.get_xlim()
        label_width = 6.5 * 0.6 * on.small / 72 / (on.width * 0.62) * (high - low)
        style: dict[str, Any] = {
            "color": color,
            "linestyle": "--",
            "linewidth": on.base / 9,
            "alpha": 0.7,
            "zorder": 0.9,
        }
        for index, length in enumerate(scale(rates[name]) for name in shown):
            if not length <= x <= length + label_width:
                on.axes.plot([x, x], [index - 0.5, index + 0.5], **style)
        on.axes.plot(
            [x],
            [0],
            color=color,
            marker="^",
            markersize=on.base * 0.8,
            linestyle="none",
            clip_on=False,
            label=f"all: {number(mean, 3)} points per USD",
            transform=on.axes.get_xaxis_transform(),
        )
        on.legend()

    return bar_chart(
        data,
        bars,
        "points per USD",
        ax=ax,
        size=size,
        title=title,
        legend=(),
        more=mean_line,
        subject=f"Points earned per dollar, by {'spend category' if by == 'spend_category' else 'merchant'}",
        empty="no earned row with points and an amount",
        notes=(
            left_out(len(data) - len(earned), "not earned"),
            left_out(len(both) - sum(both), "without an amount (as adjustments)"),
            f"The {len(shown)} with most dollars of {len(rates):,}." if len(rates) > len(shown) else "",
        ),
    )


def posting_chart(
    rewards: object, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw the time from posted to minted as a histogram of rows, with the median.

    Args:
        rewards: A frame of rewards activity, the items, or the result of `rewards.fetch`.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = table(rewards, "posted_at", "minted_at", of="list_rewards_activity")
    days = (data["minted_at"] - data["posted_at"]).dt.total_seconds().to_numpy(dtype="float64") / 86_400
    known = days[~np.isnan(days)]
    unminted, backwards = int(data["minted_at"].isna().sum()), int((known < 0).sum())
    return chart(
        data,
        partial(_histogram, days=known) if len(known) else None,
        ax=ax,
        size=size,
        title=title,
        subject=f"Time from posted to minted ({counted(len(known), 'row')})",
        empty="no row has both times",
        notes=(
            left_out(len(data) - len(known), f"without both times ({unminted:,} without minted_at)"),
            f"{counted(backwards, 'row')} minted before posted." if backwards else "",
        ),
    )


def _histogram(on: Canvas, days: Any) -> None:
    unit, factor = duration_unit(days)
    lengths = days * factor
    low, high = min(0.0, float(lengths.min())), float(lengths.max())  # from 0, so that a length is seen as one
    bins = np.linspace(low, high + (high - low) * 0.04, 26) if high > low else np.array([-0.5, 0.5])
    counts, edges = np.histogram(lengths, bins=bins)
    on.axes.bar(edges[:-1], counts, width=np.diff(edges) * 0.94, align="edge", **filled(look("earned").color))
    median, top, color = float(np.median(lengths)), counts.max() * 1.16, look("redeemed").color
    on.axes.axvline(median, color=color, linestyle="--", linewidth=on.base / 6)
    on.axes.set_ylim(0, top)
    left = median < edges.mean()
    on.annotate(
        median,
        top,
        f"median {median:,.3g} {unit}",
        dx=5 if left else -5,
        dy=-2,
        ha="left" if left else "right",
        va="top",
        fontweight="bold",
    )
    on.say(f"Median {median:,.3g} {unit}")
    on.numbers("x")
    on.axes.grid(visible=False, axis="x")
    on.numbers("y", whole=True)
    on.labels(f"{unit} from posted to minted", "rows")
