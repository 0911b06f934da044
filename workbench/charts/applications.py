"""Charts of applications: how many are or were in each status, and how long they stayed."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from workbench.charts.canvas import THICKNESS, Bar, Canvas, Part, Size, bar_chart, filled, ink_of, legend_key, outlined
from workbench.charts.data import duration_unit, table, tally, texts
from workbench.charts.text import Scale, counted, label, left_out, percent
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
        size: "notebook", "slide", "compact", or width and height in inches.
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
    past = "Earlier statuses are not in this frame; draw events to see them."
    ink = ink_of()
    return bar_chart(
        data, bars, "applications", ax=ax, size=size, whole=True, least_rows=4, empty="no application has a status",
        title=f"{counted(people, 'application')}: present status" + (" and ever reached" if history else ""),
        legend=[legend_key("now", ink), Patch(**outlined(ink), label="ever")] if history else None,
        notes=("" if history else past, _more(statuses)),
    )  # fmt: skip


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
        size: "notebook", "slide", "compact", or width and height in inches.
    """
    known = isinstance(stays, pd.DataFrame) and "days" in stays
    data = table(stays if known else time_in_status(stays), "status", "days")
    ended = data[data["days"].notna() & data["status"].notna()]
    groups = ended.groupby("status", observed=True)["days"]
    days = {str(status): np.sort(rows.to_numpy(dtype="float64")) for status, rows in groups}
    statuses = _sorted(days)
    shown = statuses[:_MAX]
    unit, factor = duration_unit([float(days[status][-1]) for status in shown])

    def ranges(on: Canvas, scale: Scale) -> None:
        for place, status in enumerate(shown):
            ends = [scale(float(days[status][end]) * factor) for end in (0, -1)]
            on.axes.plot(ends, [place + 0.24] * 2, color=on.ink, marker="|", markersize=on.base * 0.7, linewidth=1.2)

    open_stays = left_out(len(data) - len(ended), "of stays without an end (now= ends them)")
    return bar_chart(
        data, [_stay_bar(status, days[status] * factor, unit) for status in shown], f"{unit} in the status",
        title="Time in each status: median, shortest and longest stay", empty="no stay in a status has ended",
        ax=ax, size=size, least_rows=4, more=ranges, notes=(open_stays, _more(statuses)),
    )  # fmt: skip


def _stay_bar(status: str, lengths: Any, unit: str) -> Bar:
    style, median = look(status), float(np.median(lengths))
    part = Part(length=median, style=filled(style.color, style.hatch), height=0.44, down=-0.12)
    text = f"{median:,.3g} {unit} ({counted(len(lengths), 'stay')})"
    return Bar(name=_name(status), label=text, parts=[part], reach=float(lengths[-1]))
