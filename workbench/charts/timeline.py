"""Holds, releases, settlements and refunds in the order they came."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from workbench.charts.canvas import Sheet, Size, sheet
from workbench.charts.facts import notes_of, running, sums, table
from workbench.charts.lines import Line, lines
from workbench.charts.money import LOOKS, ledger_of
from workbench.charts.times import dated, spans
from workbench.charts.words import counted, dollars, usd
from workbench.sequences.ledger import Ledger
from workbench.tables.frames import frame

_LANES = ("hold", "above the hold", "release", "settlement", "refund")
_MOST_MARKS = 26


def money_timeline_chart(run: Any, *, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw holds, releases, settlements and refunds in the order they came; of many, their running totals over time.

    Args:
        run: A run or several, a ledger, or a ledger's frame. Times are those of the run's steps, or of a column `at`.
        ax: An Axes to draw on; where left out, one in a figure of its own, of `size`.
    """
    data = _timed(run)
    lanes = [kind for kind in _LANES if (data["says"] == kind).any()]
    known = data[data["says"].isin(lanes)]
    few = len(known) <= _MOST_MARKS
    with sheet(ax, size) as on:
        on.title(
            f"Hold, release, settle, refund: {counted(len(data), 'movement')} "
            f"of {counted(data['transaction_id'].nunique(), 'transaction')}" + ("" if few else ", running totals"),
            beside=["settlement"],
        )  # fmt: skip
        if not len(known):
            on.nothing("Nothing to show: no money moved.")
        elif few:
            _in_order(on, known, lanes)
        else:
            _totals(on, known, lanes)
        on.notes(
            notes_of(
                data,
                "Amounts in USD. One line is one transaction; movements are evenly spaced, in their order."
                if few and len(known)
                else "",
                "No times are known." if "at" not in data and len(known) else "",
            )
        )
    return on.axes


def _timed(run: Any) -> pd.DataFrame:
    data = ledger_of(run)
    table(data, "transaction_id", "says", "amount")
    if isinstance(run, pd.DataFrame | Ledger):
        return data
    keys = ["step", "transaction_id"]
    steps = frame(run)[[*keys, "at"]].drop_duplicates(keys)
    made = data.merge(steps, on=keys, how="left")
    made.attrs.update(data.attrs)
    return made


def _in_order(on: Sheet, data: pd.DataFrame, lanes: list[str]) -> None:
    at = list(data["at"]) if "at" in data else [None] * len(data)
    places = {kind: lane for lane, kind in enumerate(lanes)}
    ys = [places[says] for says in data["says"]]
    for _, rows in data.reset_index(drop=True).groupby("transaction_id", sort=False):
        on.axes.plot(rows.index, [ys[i] for i in rows.index], color=on.ink, linewidth=1, alpha=0.55, zorder=1)
    for x, (says, amount) in enumerate(zip(data["says"], data["amount"], strict=True)):
        style, mark = LOOKS[says]
        on.axes.plot(
            [x], [ys[x]], marker=mark, markersize=on.base * 0.95, color=style.colour, markeredgecolor=on.ink, linestyle="none"
        )  # fmt: skip
        on.text(
            x, ys[x], dollars(int(amount)), dx=on.base * 0.3, dy=on.base * 0.55, ha="left", va="bottom", gid="value"
        )
    places_of, texts = _dates(at)
    on.axes.set_xticks(places_of, texts)
    for x in places_of[1:]:
        on.axes.axvline(x - 0.5, color=on.ink, linewidth=0.7, alpha=0.35)
    on.axes.set_xlim(-0.6, len(data) - 0.4)
    on.axes.set_yticks(range(len(lanes)), lanes)
    on.axes.set_ylim(len(lanes) - 0.45, -0.75)
    on.labels("time (UTC)" if any(one == one and one is not None for one in at) else "order", "")


def _dates(at: list[Any]) -> tuple[list[int], list[str]]:
    """Give the places where a new moment begins, and its words: the day, the time, the year where it is another."""
    places, texts = [], []
    last: Any = None
    for place, one in enumerate(at):
        if one is None or one is pd.NaT or (last is not None and one.floor("min") == last.floor("min")):
            continue
        text = f"{one.day} {one:%b}" if last is None or one.date() != last.date() else ""
        text += f"\n{one:%H:%M}"
        if last is None or one.year != last.year:
            text += f"\n{one.year}"
        places.append(place)
        texts.append(text)
        last = one
    return places, texts


_DASHES: Mapping[str, str | tuple[int, tuple[int, int]]] = {
    "hold": "-",
    "above the hold": "-.",
    "release": "--",
    "settlement": (0, (5, 1)),
    "refund": ":",
}
_MOST_POINTS = 200


def _totals(on: Sheet, data: pd.DataFrame, lanes: list[str]) -> None:
    """Draw the running total of each kind: by time where more than one moment is known, else in their order."""
    times = spans(data["at"]) if "at" in data else None
    timed = times is not None and len(times.starts) > 1
    if times is not None and timed:
        places, steps = times.places.tolist(), len(times.starts)
        xs = [float(step) for step in range(steps)]
    else:
        steps = min(len(data), _MOST_POINTS)
        places = [n * steps // len(data) for n in range(len(data))]
        xs = [(step + 1) * len(data) / steps for step in range(steps)]
    amounts = [Decimal(int(amount)) for amount in data["amount"]]
    found = sums(zip(data["says"], places, strict=True), amounts)
    shown = []
    for kind in lanes:
        values = running(usd(found.get((kind, step), Decimal(0))) for step in range(steps))
        style, mark = LOOKS[kind]
        says = f"{kind} {dollars(values[-1].scaleb(2))}"
        shown.append(Line(values=values, says=says, name=kind, colour=style.colour, dash=_DASHES[kind], mark=mark))
    scale = lines(on, xs, shown)
    if times is not None and timed:
        dated(on, times)
    else:
        on.numbers("x", whole=True)
    on.labels(
        f"{times.by} (UTC)" if times is not None and timed else "movements, in their order",
        scale.unit("USD, running total"),
    )
