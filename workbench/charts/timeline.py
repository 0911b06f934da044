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
from workbench.tables.frames import to_frame

_LANES = ("hold", "above the hold", "release", "settlement", "refund")
_MARKS = 20  # that stand side by side, by inches of width over points of the font: 14 in a notebook, 19 on a slide


def money_timeline_chart(run: Any, *, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw holds, releases, settlements and refunds in the order they came; of many, their running totals over time.

    Args:
        run: A run or several, a ledger, or a ledger's frame. Times are those of the run's steps, or of a column `at`.
        ax: An Axes to draw on; where left out, one in a figure of its own, of `size`.
    """
    data = _timed(run)
    lanes = [kind for kind in _LANES if (data["kind"] == kind).any()]
    known = data[data["kind"].isin(lanes)]
    with sheet(ax, size) as on:
        few = len(known) <= _MARKS * on.width / on.base
        named = True
        on.title(
            f"Hold, release, settle, refund: {counted(len(data), 'movement')} "
            f"of {counted(data['transaction_id'].nunique(), 'transaction')}" + ("" if few else ", running totals"),
            beside=["settlement"],
        )  # fmt: skip
        if not len(known):
            on.nothing("Nothing to show: no money moved.")
        elif few:
            named = _in_order(on, known, lanes)
        else:
            _totals(on, known, lanes)
        on.notes(
            notes_of(
                data,
                "Amounts in USD. One line is one transaction; movements are evenly spaced, in their order."
                if few and len(known)
                else "",
                "" if named else "A stroke below is another time; those too close to be read are not named.",
                "No times are known." if "at" not in data and len(known) else "",
            )
        )
    return on.axes


def _timed(run: Any) -> pd.DataFrame:
    data = ledger_of(run)
    table(data, "transaction_id", "kind", "amount")
    if isinstance(run, pd.DataFrame | Ledger):
        return data
    keys = ["step", "transaction_id"]
    steps = to_frame(run)[[*keys, "at"]].drop_duplicates(keys)
    made = data.merge(steps, on=keys, how="left")
    made.attrs.update(data.attrs)
    return made


def _in_order(on: Sheet, data: pd.DataFrame, lanes: list[str]) -> bool:
    """Draw each movement as a mark, and say whether every time has its name below."""
    letter = 0.6 * on.small * len(data) / (on.width * 0.84 * 72)  # in places
    at = list(data["at"]) if "at" in data else [None] * len(data)
    places = {kind: lane for lane, kind in enumerate(lanes)}
    ys = [places[says] for says in data["kind"]]
    for _, rows in data.reset_index(drop=True).groupby("transaction_id", sort=False):
        on.axes.plot(rows.index, [ys[i] for i in rows.index], color=on.ink, linewidth=1, alpha=0.55, zorder=1)
    taken: dict[str, float] = {}
    for x, (says, amount) in enumerate(zip(data["kind"], data["amount"], strict=True)):
        style, mark = LOOKS[says]
        text = dollars(int(amount))
        above = x >= taken.get(says, 0)  # else it would stand on the one before it
        taken[says] = x + len(text) * letter if above else 0
        on.axes.plot(
            [x], [ys[x]], marker=mark, markersize=on.base * 0.95, color=style.color, markeredgecolor=on.ink, linestyle="none"
        )  # fmt: skip
        on.text(
            x, ys[x], text, dx=on.base * 0.3, dy=on.base * (0.55 if above else -0.55), ha="left",
            va="bottom" if above else "top", gid="value",
        )  # fmt: skip
    moments = _moments(at)
    places_of, texts = _dates(at, moments, 6 * letter)
    on.axes.set_xticks(places_of, texts)
    for x in moments[1:]:
        on.axes.axvline(x - 0.5, ymax=0.06, color=on.ink, linewidth=0.8)
    on.axes.set_xlim(-0.6, len(data) - 0.4)
    on.axes.set_yticks(range(len(lanes)), lanes)
    on.axes.set_ylim(len(lanes) - 0.45, -0.75)
    on.labels("time (UTC)" if any(one == one and one is not None for one in at) else "order", "")
    return len(places_of) == len(moments)


def _moments(at: list[Any]) -> list[int]:
    """Return the places where a new moment begins, to the minute."""
    minutes = [None if one is None or one is pd.NaT else one.floor("min") for one in at]
    known = [place for place, one in enumerate(minutes) if one is not None]
    return [place for n, place in enumerate(known) if not n or minutes[known[n - 1]] != minutes[place]]


def _dates(at: list[Any], moments: list[int], least: float) -> tuple[list[int], list[str]]:
    """Return moments at `least` so many places apart, and their words: the day, the time, the year where it is another."""
    places: list[int] = []
    texts: list[str] = []
    last: Any = None
    for place in moments:
        one = at[place]
        if places and place - places[-1] < least:
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
    found = sums(zip(data["kind"], places, strict=True), amounts)
    shown = []
    for kind in lanes:
        values = running(usd(found.get((kind, step), Decimal(0))) for step in range(steps))
        style, mark = LOOKS[kind]
        says = f"{kind} {dollars(values[-1].scaleb(2))}"
        shown.append(Line(values=values, says=says, name=kind, color=style.color, dash=_DASHES[kind], mark=mark))
    scale = lines(on, xs, shown)
    if times is not None and timed:
        dated(on, times)
    else:
        on.numbers("x", whole=True)
    on.labels(
        f"{times.by} (UTC)" if times is not None and timed else "movements, in their order",
        scale.unit("USD, running total"),
    )
