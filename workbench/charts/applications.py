"""Charts of applications: how many are or were in each status, and how long they stayed."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from workbench.charts.canvas import THICKNESS, Bar, Part, Size, canvas, filled, legend_key, outlined
from workbench.charts.data import duration_unit, notes_of, table, tally, texts
from workbench.charts.text import counted, label, left_out, percent
from workbench.interface.events import Event
from workbench.interface.rules import EventApplicationStatus
from workbench.rendering.palette import look, word
from workbench.tables.reports import status_history, time_in_status

_FIRST = ("notStarted", "tosNotAccepted", "pending", "needsInformation", "needsVerification", "manualReview")
_ORDER = [*_FIRST, *(str(one) for one in EventApplicationStatus if str(one) not in _FIRST)]
_MAX = 16  # statuses; the service may send others than the documented ones


def funnel_chart(applications: Any, *, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw applications by status: how many are in it now, and how many ever were.

    Args:
        applications: Events, the result of `tables.status_history`, or users and companies (their present status only).
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", or width and height in inches.
    """
    data = _history(applications)
    if history := "application_status" not in data:
        rows = data[data["status"].notna()]
        now = tally(texts(rows.drop_duplicates("user_id", keep="last")["status"]))
        ever = tally(texts(rows.drop_duplicates(["user_id", "status"])["status"]))
    else:
        now = ever = tally(texts(data["application_status"]))
    people, statuses = sum(now.values()), _sorted(ever)
    bars = [_funnel_bar(status, now.get(status, 0), ever[status], people, history) for status in statuses[:_MAX]]
    with canvas(ax, size, rows=max(len(bars), 4)) as on:
        on.title(
            f"{counted(people, 'application')}: present status" + (" and ever reached" if history else ""),
            labels=[bar.name for bar in bars], legend=history and bool(bars),
        )  # fmt: skip
        if bars:
            on.barh(bars, "applications", whole=True)
            if history:
                on.legend([legend_key("now", on.ink), Patch(**outlined(on.ink), label="ever")])
        else:
            on.empty("no application has a status")
        order = "The order of statuses is ours: their transitions are not documented."
        past = "Earlier statuses are not in this frame; draw events to see them."
        on.notes(notes_of(data, order if history else past, _more(statuses)))
    return on.axes


def _history(applications: Any) -> pd.DataFrame:
    if isinstance(applications, pd.DataFrame):
        return applications if "application_status" in applications else table(applications, "user_id", "status")
    listed = list(applications) if isinstance(applications, Iterable) else [applications]
    if not listed or isinstance(listed[0], Event):
        return status_history(listed)
    return table(listed, "application_status")


def _funnel_bar(status: str, now: int, ever: int, people: int, history: bool) -> Bar:
    style = look(status)
    text = f"{now:,} now ({percent(now, people)})" if now else "none now"
    inner = Part(length=now, style=filled(style.color, style.hatch), height=THICKNESS * (0.62 if history else 1))
    outer = [Part(length=ever, style=outlined(style.color))] if history else []
    return Bar(name=_name(status), label=text + (f", {ever:,} ever" if history else ""), parts=[*outer, inner])


def _sorted(statuses: Iterable[str]) -> list[str]:
    places = {status: place for place, status in enumerate(_ORDER)}
    return sorted(statuses, key=lambda status: (places.get(status, len(places)), status))


def _name(status: str) -> str:
    return f"{label(word(status))} {look(status).mark}"


def _more(statuses: list[str]) -> str:
    return f"{len(statuses) - _MAX:,} more statuses are left out." if len(statuses) > _MAX else ""


def status_time_chart(stays: Any, *, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw how long applications stayed in each status: the median, and the range from shortest to longest.

    Args:
        stays: The result of `tables.time_in_status` or `tables.status_history`, or events.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", or width and height in inches.
    """
    known = isinstance(stays, pd.DataFrame) and "days" in stays
    data = table(stays if known else time_in_status(stays), "status", "days")
    ended = data[data["days"].notna() & data["status"].notna()]
    groups = ended.groupby("status", observed=True)["days"]
    days = {str(status): np.sort(rows.to_numpy(dtype="float64")) for status, rows in groups}
    statuses = _sorted(days)
    shown = statuses[:_MAX]
    with canvas(ax, size, rows=max(len(shown), 4)) as on:
        on.title("Time in each status: median, shortest and longest stay", labels=[_name(one) for one in shown])
        if shown:
            unit, factor = duration_unit([float(days[status][-1]) for status in shown])
            bars = [_stay_bar(status, days[status] * factor, unit) for status in shown]
            scale = on.barh(bars, f"{unit} in the status")
            for place, status in enumerate(shown):
                ends = [scale(float(days[status][end]) * factor) for end in (0, -1)]
                on.axes.plot(
                    ends, [place + 0.24] * 2, color=on.ink, marker="|", markersize=on.base * 0.7, linewidth=1.2
                )
        else:
            on.empty("no stay in a status has ended")
        open_stays = left_out(len(data) - len(ended), "of stays without an end (now= ends them)")
        on.notes(notes_of(data, open_stays, _more(statuses)))
    return on.axes


def _stay_bar(status: str, lengths: Any, unit: str) -> Bar:
    style, median = look(status), float(np.median(lengths))
    part = Part(length=median, style=filled(style.color, style.hatch), height=0.44, down=-0.12)
    text = f"{median:,.3g} {unit} ({counted(len(lengths), 'stay')})"
    return Bar(name=_name(status), label=text, parts=[part], reach=float(lengths[-1]))
