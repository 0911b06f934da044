"""Points earned and redeemed over time, and how long points take from posted to minted."""

from decimal import Decimal
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from workbench.charts.bars import filled, key
from workbench.charts.canvas import Sheet, Size, sheet
from workbench.charts.facts import exact, left_out, rewards_notes, running, sums, table, whole, words
from workbench.charts.lines import Line, lines
from workbench.charts.times import By, Spans, dated, days_of, spans, unit_for
from workbench.charts.words import counted, number, scale_of
from workbench.interface.operation import Operation
from workbench.interface.rules import RewardType
from workbench.interface.table import OPERATIONS
from workbench.rendering.palette import TEAL, look

REWARDS: Operation[Any, Any] = OPERATIONS["list_rewards_activity"]
KINDS = tuple(str(kind) for kind in RewardType)
_HATCHED = 130  # more bars than this are too thin for a pattern


def points_chart(
    rewards: Any, *, cumulated: bool = False, by: By | None = None, on: str = "created_at", ax: Axes | None = None,
    size: Size = "notebook",
) -> Axes:  # fmt: skip
    """Draw points earned and redeemed over time: earned above the line, redeemed below it.

    Args:
        rewards: A frame of rewards activity, the items themselves, or a result of `wb.rewards.read`.
        cumulated: Draw the running totals instead, and what remains of them.
        by: "day", "week", "month" or "year"; what fits the time covered where left out.
        on: The column of times that counts.
        ax: An Axes to draw on; where left out, one in a figure of its own, of `size`.
    """
    data = table(rewards, "type", "points", on, of=REWARDS)
    kinds, points = words(data["type"]), exact(data["points"])
    times = spans(data[on], by)
    found = sums(zip(kinds, times.places.tolist(), strict=True), points)
    series = {
        kind: [found.get((kind, place), Decimal(0)) for place in range(len(times.starts))] for kind in KINDS
    }  # fmt: skip
    other = sum(kind not in KINDS for kind in kinds)
    undated = int((times.places < 0).sum())
    with sheet(ax, size) as paper:
        head = "Points earned and redeemed, " + ("cumulated" if cumulated else f"by {times.by}")
        if not len(times.starts):
            paper.title(head)
            paper.nothing("Nothing to show: no rewards activity with a time.")
        else:
            (_running if cumulated else _columns)(paper, series, times)
            paper.title(f"{head}, {times.whole()} ({counted(len(data), 'row')})", keyed=not cumulated)
        paper.notes(rewards_notes(data, left_out(undated, f"without {on}"), left_out(other, "of another type")))
    return paper.axes


def _columns(on: Sheet, series: dict[str, list[Decimal]], times: Spans) -> None:
    earned, redeemed = series["earned"], [value.copy_negate() for value in series["redeemed"]]
    scale = scale_of([*earned, *redeemed])
    for kind, values in (("earned", earned), ("redeemed", redeemed)):
        style = look(kind)
        few = len(values) <= _HATCHED
        drawn = {place: scale(value) for place, value in enumerate(values) if few or value}
        on.axes.bar(
            list(drawn), list(drawn.values()), width=0.76 if few else 1, label=kind,
            **filled(style.color, style.hatch if few else ""),
        )  # fmt: skip
    on.axes.axhline(0, color=on.ink, linewidth=0.8)
    on.numbers("y")
    on.labels(f"{on_what(times)} (UTC)", scale.unit("points"))
    dated(on, times)
    down = {"redeemed": " (drawn down)"}
    on.legend(
        [
            key(f"{kind} {number(whole(series[kind]))}{down.get(kind, '')}", look(kind).color, look(kind).hatch)
            for kind in KINDS
        ]
    )


def on_what(times: Spans) -> str:
    """Return what a step of the axis is."""
    return "week from Monday" if times.by == "week" else times.by


def _running(on: Sheet, series: dict[str, list[Decimal]], times: Spans) -> None:
    totals = {kind: running(values) for kind, values in series.items()}
    totals["remaining"] = [
        whole((a, b.copy_negate())) for a, b in zip(totals["earned"], totals["redeemed"], strict=True)
    ]
    looks = {
        "earned": (look("earned").color, "-", "o"),
        "redeemed": (look("redeemed").color, "--", "s"),
        "remaining": (TEAL, ":", "D"),
    }
    shown = [
        Line(values=values, says=f"{kind} {number(values[-1])}", name=kind, color=color, dash=dash, mark=mark)
        for (kind, values), (color, dash, mark) in zip(totals.items(), looks.values(), strict=True)
    ]
    scale = lines(on, range(len(times.starts)), shown)
    on.labels(f"{on_what(times)} (UTC)", scale.unit("points, running total"))
    dated(on, times)


def posting_chart(rewards: Any, *, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw how long points take from posted to minted: rows by the time between, with the median.

    Args:
        rewards: A frame of rewards activity, the items themselves, or a result of `wb.rewards.read`.
        ax: An Axes to draw on; where left out, one in a figure of its own, of `size`.
    """
    data = table(rewards, "posted_at", "minted_at", of=REWARDS)
    between = days_of(data["minted_at"] - data["posted_at"])
    known = between[~np.isnan(between)]
    with sheet(ax, size) as paper:
        paper.title(f"Time from posted to minted ({counted(len(known), 'row')})")
        if len(known):
            _histogram(paper, known)
        else:
            paper.nothing("Nothing to show: no row has both a time of posting and one of minting.")
        unminted = int(data["minted_at"].isna().sum())
        backwards = int((known < 0).sum())
        paper.notes(
            rewards_notes(
                data,
                left_out(len(data) - len(known), f"without both times ({unminted:,} without minted_at)"),
                f"{counted(backwards, 'row')} minted before posted." if backwards else "",
            )
        )
    return paper.axes


def _histogram(on: Sheet, days: Any) -> None:
    unit, factor = unit_for(days)
    lengths = days * factor
    counts, edges = np.histogram(lengths, bins=_edges(lengths))
    style = look("earned")
    on.axes.bar(
        edges[:-1], counts, width=np.diff(edges) * 0.94, align="edge", **filled(style.color),
    )  # fmt: skip
    middle = float(np.median(lengths))
    on.axes.axvline(middle, color=look("redeemed").color, linestyle="--", linewidth=on.base / 6)
    on.axes.set_ylim(0, counts.max() * 1.16)
    on.text(
        middle, counts.max() * 1.16, f"median {middle:,.3g} {unit}", dx=5 if middle < edges.mean() else -5, dy=-2,
        ha="left" if middle < edges.mean() else "right", va="top", color=look("redeemed").color, fontweight="bold",
    )  # fmt: skip
    on.numbers("x")
    on.axes.grid(visible=False, axis="x")
    on.numbers("y", whole=True)
    on.labels(f"{unit} from posted to minted", "rows")


def _edges(lengths: Any) -> Any:
    """Return the edges of the columns: the axis begins at 0, so that a length can be seen as one."""
    low, high = min(0.0, float(lengths.min())), float(lengths.max())
    if high == low:
        return np.array([-0.5, 0.5])
    return np.linspace(low, high + (high - low) * 0.04, 26)
