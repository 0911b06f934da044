"""Charts of simulated transactions: a waterfall of the ledger, and its entries over time."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from workbench.analysis.charts.canvas import Canvas, LineSpec, Size, chart, filled, legend_key, outlined
from workbench.analysis.charts.data import (
    Steps,
    counted,
    dollars,
    label,
    running,
    scale_of,
    signed,
    steps_of,
    sums,
    table,
    usd,
)
from workbench.analysis.tables.frames import to_frame
from workbench.runs.sequences.ledger import Ledger
from workbench.service.rendering.design import Look, look


class _Style(NamedTuple):
    look: Look
    marker: str
    dash: str | tuple[int, tuple[int, int]]


_KINDS: Mapping[str, _Style] = {
    "hold": _Style(look("authorized"), "o", "-"), "above the hold": _Style(look("declined"), "^", "-."),
    "release": _Style(look("reversed"), "s", "--"), "settlement": _Style(look("settled"), "D", (0, (5, 1))),
    "refund": _Style(look("refunded"), "v", ":"),
}  # fmt: skip
"""Kinds of entries, in the order of lanes and legends."""
_OTHER = _Style(look(""), "o", "-")
_MOVED = ("step", "source", "target", "amount", "kind")
_MAX_MOVEMENTS = 14
_MAX_MARKS = 20  # side by side, by inches of width over points of the font: 14 in a notebook, 19 on a slide
_MAX_POINTS = 200


def _ledger(ledger: Any) -> pd.DataFrame:
    if isinstance(ledger, pd.DataFrame):
        return table(ledger, *_MOVED)
    return to_frame(ledger if isinstance(ledger, Ledger) else ledger.ledger())


class _Movement(NamedTuple):
    name: str
    kind: str
    change: int  # of what is available, in cents
    amount: int


def waterfall_chart(
    ledger: object, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw a waterfall of the money available to a cardholder, one bar for each step of a transaction.

    Args:
        ledger: A ledger, its frame, or its run.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = _ledger(ledger)
    movements = [
        _Movement(str(name), str(kind), ((target == "available") - (source == "available")) * int(amount), int(amount))
        for name, source, target, amount, kind in zip(*(data[column].to_list() for column in _MOVED), strict=True)
    ]
    grouped = len(movements) > (3 if size == "compact" else _MAX_MOVEMENTS)
    shown = _by_kind(movements) if grouped else movements
    net = sum(movement.change for movement in movements)

    def draw(on: Canvas) -> None:
        _waterfall(on, shown, net)
        moved = (
            (group.name, signed(group.change) if group.change else dollars(group.amount))
            for group in _by_kind(movements)
        )
        on.say(*(f"{name}: {amount} USD" for name, amount in moved))

    return chart(
        data,
        draw if shown else None,
        ax=ax,
        size=size,
        title=title,
        empty="no money moved",
        legend=True,
        subject=f"{counted(len(movements), 'movement')}, change of available: {signed(net)} USD",
        notes=[f"{len(movements):,} movements are grouped by kind." if grouped else ""],
    )


def _by_kind(movements: Sequence[_Movement]) -> list[_Movement]:
    others = sorted({movement.kind for movement in movements} - _KINDS.keys())
    groups = {kind: [movement for movement in movements if movement.kind == kind] for kind in (*_KINDS, *others)}
    return [
        _Movement(
            f"{len(group):,} × {kind}",
            kind,
            sum(movement.change for movement in group),
            sum(movement.amount for movement in group),
        )
        for kind, group in groups.items()
        if group
    ][:_MAX_MOVEMENTS]


def _waterfall(on: Canvas, movements: Sequence[_Movement], net: int) -> None:
    levels = list(accumulate((movement.change for movement in movements), initial=0))
    scale = scale_of([usd(level) for level in levels] + [usd(movement.amount) for movement in movements])
    heights = [scale(usd(level)) for level in levels]
    count = len(movements)
    small = on.small * (0.86 if count > 1.4 * on.width else 1)

    def write(x: int, y: float, text: str, *, down: bool, **style: object) -> None:
        va = "top" if down else "bottom"
        on.annotate(x, y, text, dy=-3 if down else 3, ha="center", va=va, fontsize=small, **style)

    tops = list(heights)
    for index, current in enumerate(movements):
        style = _KINDS.get(current.kind, _OTHER).look
        low, high = sorted((heights[index], heights[index + 1]))
        if current.change:
            on.axes.bar(index, high - low, bottom=low, width=0.7, **filled(style))
            write(index, low if current.change < 0 else high, signed(current.change), down=current.change < 0)
        else:
            top = high + scale(usd(current.amount))
            on.axes.bar(index, top - high, bottom=high, width=0.7, **outlined(style.color))
            write(index, top, dollars(current.amount), down=False)
            tops.append(top)
        on.axes.plot([index - 0.35, index + 1.35], [heights[index + 1]] * 2, color=on.ink, linewidth=0.8, linestyle=":")
    on.axes.bar(count, heights[-1], width=0.7, **filled(on.ink, "xx"))
    write(count, heights[-1], signed(net), down=net < 0, fontweight="bold")
    on.axes.axhline(0, color=on.ink, linewidth=1)
    on.axes.set_xticks(
        range(count + 1), [*(label(movement.name, 22 if count < 5 else 18) for movement in movements), "total"]
    )
    if count > 5:
        on.axes.tick_params(axis="x", labelrotation=35)
        for text in on.axes.get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")
    margin = ((max(tops) - min(tops)) or 1.0) * 0.11
    on.axes.set_ylim(min(tops) - margin, max(tops) + margin)
    on.numbers("y")
    on.labels("", scale.unit("USD, change of available"))
    kinds = {movement.kind for movement in movements}
    keys = {kind: legend_key(kind, style.look) for kind, style in _KINDS.items()}
    keys["settlement"] = Patch(**outlined(_KINDS["settlement"].look.color), label="settlement (posted)")
    on.legend([key for kind, key in keys.items() if kind in kinds])
    on.axes.spines["bottom"].set_visible(False)


def money_timeline_chart(
    run: object, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw holds, releases, settlements and refunds in order, or their running totals over time if there are many.

    Args:
        run: A run or several, a ledger, or its frame. Times are those of the run's steps, or of a column `at`.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = table(_ledger(run), "transaction_id", "kind", "amount")
    lanes = [kind for kind in _KINDS if (data["kind"] == kind).any()]
    known = data[data["kind"].isin(lanes)]
    transactions = counted(data["transaction_id"].nunique(), "transaction")
    subject = f"Hold, release, settle, refund in USD: {counted(len(data), 'movement')} of {transactions}"

    def few(on: Canvas) -> bool:
        return len(known) <= _MAX_MARKS * on.width / on.base

    def draw(on: Canvas) -> list[str]:
        notes = []
        if few(on):
            on.say(*(f"{kind} {dollars(int(known.loc[known['kind'] == kind, 'amount'].sum()))}" for kind in lanes))
            if not _marks(on, known, lanes):
                notes.append("Each tick below starts a new time; times too close to be readable have no label.")
        else:
            _totals(on, known, lanes)
        return [*notes, "" if "at" in data else "No times are known."]

    return chart(
        data,
        draw if len(known) else None,
        subject=lambda on: subject + ("" if few(on) else ", running totals"),
        empty="no money moved",
        ax=ax,
        size=size,
        title=title,
        names=["settlement"],
    )


def _marks(on: Canvas, data: pd.DataFrame, lanes: list[str]) -> bool:
    """Draw each entry as a marker; return whether every time has a label."""
    data = data.reset_index(drop=True)
    letter = 0.6 * on.small * len(data) / (on.width * 0.84 * 72)  # its width in places
    ys = [lanes.index(kind) for kind in data["kind"]]
    for _, rows in data.groupby("transaction_id", sort=False):
        on.axes.plot(rows.index, [ys[index] for index in rows.index], color=on.ink, linewidth=1, alpha=0.55, zorder=1)
    taken: dict[str, float] = {}
    for x, (kind, amount) in enumerate(zip(data["kind"], data["amount"], strict=True)):
        style, text = _KINDS[kind], dollars(int(amount))
        above = x >= taken.get(kind, 0)  # otherwise it would cover the previous one
        taken[kind] = x + len(text) * letter if above else 0
        on.axes.plot(
            [x],
            [ys[x]],
            marker=style.marker,
            markersize=on.base * 0.95,
            color=style.look.color,
            markeredgecolor=on.ink,
            linestyle="none",
        )
        va, dy = ("bottom", 0.55) if above else ("top", -0.55)
        on.annotate(x, ys[x], text, dx=on.base * 0.3, dy=on.base * dy, ha="left", va=va)
    minutes = pd.to_datetime(data["at"]).dt.floor("min").dropna() if "at" in data else pd.Series(dtype="datetime64[us]")
    starts = minutes[minutes != minutes.shift()]
    places, texts = _time_labels(starts, 6 * letter)
    on.axes.set_xticks(places, texts)
    for x in starts.index[1:]:
        on.axes.axvline(x - 0.5, ymax=0.06, color=on.ink, linewidth=0.8)
    on.axes.set_xlim(-0.6, len(data) - 0.4)
    on.axes.set_yticks(range(len(lanes)), lanes)
    on.axes.set_ylim(len(lanes) - 0.45, -0.75)
    on.labels("time (UTC)" if len(starts) else "order", "")
    return len(places) == len(starts)


def _time_labels(starts: "pd.Series[Any]", least: float) -> tuple[list[int], list[str]]:
    """Return positions at least `least` apart, and their labels: the time, with the day and year where they change."""
    shown: list[tuple[int, Any]] = []
    texts: list[str] = []
    for index, start in zip(starts.index.tolist(), starts, strict=True):
        last = shown[-1][1] if shown else None
        if not shown or index - shown[-1][0] >= least:
            day = f"{start.day} {start:%b}" if last is None or start.date() != last.date() else ""
            year = f"\n{start.year}" if last is None or start.year != last.year else ""
            shown.append((index, start))
            texts.append(f"{day}\n{start:%H:%M}{year}")
    return [index for index, _ in shown], texts


def _totals(on: Canvas, data: pd.DataFrame, lanes: list[str]) -> None:
    """Draw the running total of each kind: over time if several times are known, otherwise in order."""
    times: Steps | None = steps_of(data["at"]) if "at" in data else None
    if times is None or len(times.starts) <= 1:
        times, count = None, min(len(data), _MAX_POINTS)
        places = [n * count // len(data) for n in range(len(data))]
        xs = [(step + 1) * len(data) / count for step in range(count)]
    else:
        places, count = times.places.tolist(), len(times.starts)
        xs = [float(step) for step in range(count)]
    amounts = [Decimal(int(amount)) for amount in data["amount"]]
    totals = sums(zip(data["kind"], places, strict=True), amounts)
    lines = []
    for kind in lanes:
        values = running(usd(totals.get((kind, step), Decimal(0))) for step in range(count))
        style, text = _KINDS[kind], f"{kind} {dollars(values[-1].scaleb(2))}"
        lines.append(LineSpec(values, kind, text, style.look.color, style.dash, style.marker))
    scale = on.lines(xs, lines)
    if times is not None:
        on.time_axis(times)
    else:
        on.numbers("x", whole=True)
    on.labels(f"{times.by} (UTC)" if times is not None else "movements, in order", scale.unit("USD, running total"))
