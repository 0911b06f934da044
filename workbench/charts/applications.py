"""Where applications stand, how far they came, and how long they waited in each status."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from workbench.charts.bars import THICK, Bar, filled, key, named, open_bar, room_behind
from workbench.charts.canvas import Sheet, Size, sheet
from workbench.charts.facts import left_out, notes_of, table, words
from workbench.charts.times import unit_for
from workbench.charts.words import counted, label, share
from workbench.interface.events import Event
from workbench.interface.rules import EventApplicationStatus
from workbench.rendering.palette import look, word
from workbench.tables.reports import status_history, time_in_status

_FIRST = ("notStarted", "tosNotAccepted", "pending", "needsInformation", "needsVerification", "manualReview")
_ORDER = [*_FIRST, *(str(one) for one in EventApplicationStatus if str(one) not in _FIRST)]
_PLACES = {status: place for place, status in enumerate(_ORDER)}
_MOST = 16  # statuses; the service could send any word


def funnel_chart(applications: Any, *, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw applications by status: how many are there now, and how many ever were.

    Args:
        applications: Events, what `tables.status_history` gave, or users and companies (then only where they are now).
        ax: An Axes to draw on; where left out, one in a figure of its own, of `size`.
    """
    data = _history(applications)
    now, ever, people = _counted(data)
    statuses = _sorted(ever)
    shown = statuses[:_MOST]
    history = "status" in data.columns
    with sheet(ax, size, rows=max(len(shown), 4)) as on:
        on.title(
            f"{counted(people, 'application')}: status now" + (", and ever reached" if history else ""),
            beside=[_said(status) for status in shown],
            keyed=history and bool(shown),
        )  # fmt: skip
        if shown:
            _funnel(on, shown, now, ever, people, history)
        else:
            on.nothing("Nothing to show: no application has a status.")
        on.notes(
            notes_of(
                data,
                "" if history else "Where applications came through is not in this frame; draw events to see it.",
                "The order of statuses is ours: transitions between them are not shown." if history else "",
                f"{len(statuses) - _MOST:,} more statuses are left out." if len(statuses) > _MOST else "",
            )
        )
    return on.axes


def _history(applications: Any) -> pd.DataFrame:
    if isinstance(applications, pd.DataFrame):
        return applications if "application_status" in applications else table(applications, "user_id", "status")
    listed = list(applications) if isinstance(applications, Iterable) else [applications]
    if not listed or isinstance(listed[0], Event):
        return status_history(listed)
    return table(listed, "application_status")


def _counted(data: pd.DataFrame) -> tuple[dict[str, int], dict[str, int], int]:
    """Return the applications now in each status, those ever in it, and all."""
    if "application_status" in data:
        now = _tally(words(data["application_status"]))
        return now, now, sum(now.values())
    rows = data[data["status"].notna()]
    last = rows.drop_duplicates("user_id", keep="last")
    reached = rows.drop_duplicates(["user_id", "status"])
    return _tally(words(last["status"])), _tally(words(reached["status"])), len(last)


def _tally(names: Iterable[str | None]) -> dict[str, int]:
    made: dict[str, int] = {}
    for name in names:
        if name is not None:
            made[name] = made.get(name, 0) + 1
    return made


def _sorted(statuses: Iterable[str]) -> list[str]:
    return sorted(statuses, key=lambda status: (_PLACES.get(status, len(_PLACES)), status))


def _said(status: str) -> str:
    return f"{label(word(status))} {look(status).mark}"


def _funnel(
    on: Sheet, shown: list[str], now: Mapping[str, int], ever: Mapping[str, int], people: int, history: bool
) -> None:  # fmt: skip
    says = []
    for place, status in enumerate(shown):
        style = look(status)
        if history:
            on.axes.barh(place, ever[status], height=THICK, **open_bar(style.color))
        on.axes.barh(
            place, now.get(status, 0), height=THICK * (0.62 if history else 1), **filled(style.color, style.hatch)
        )
        here = now.get(status, 0)
        text = f"{here:,} now ({share(here, people)})" if here else "none now"
        says.append(text + (f", {ever[status]:,} ever" if history else ""))
        on.text(ever[status], place, says[-1], dx=4, va="center", gid="value")
    named(on, [_said(status) for status in shown])
    room_behind(on, [float(ever[status]) for status in shown], max(map(len, says)))
    on.numbers("x", whole=True)
    on.labels("applications", "")
    if history:
        on.legend([key("now", on.ink), Patch(**open_bar(on.ink), label="ever")])


def status_time_chart(stays: Any, *, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw how long applications stayed in each status: the median, and from the shortest to the longest stay.

    Args:
        stays: What `tables.time_in_status` or `tables.status_history` gave, or events.
        ax: An Axes to draw on; where left out, one in a figure of its own, of `size`.
    """
    known = isinstance(stays, pd.DataFrame) and "days" in stays
    data = table(stays if known else time_in_status(stays), "status", "days")
    ended = data[data["days"].notna() & data["status"].notna()]
    by_status = {
        str(status): np.sort(rows.to_numpy(dtype="float64")) for status, rows in ended.groupby("status", observed=True)["days"]
    }  # fmt: skip
    shown = _sorted(by_status)[:_MOST]
    with sheet(ax, size, rows=max(len(shown), 4)) as on:
        on.title("Time in each status: median, shortest and longest stay", beside=[_said(status) for status in shown])
        if shown:
            _stays(on, shown, by_status)
        else:
            on.nothing("Nothing to show: no stay in a status has an end.")
        on.notes(
            notes_of(
                data,
                left_out(len(data) - len(ended), "of stays without an end (now= gives them one)"),
                f"{len(by_status) - _MOST:,} more statuses are left out." if len(by_status) > _MOST else "",
            )
        )
    return on.axes


def _stays(on: Sheet, shown: list[str], stays: Mapping[str, Any]) -> None:
    unit, factor = unit_for([float(stays[status][-1]) for status in shown])
    bars = []
    longest = []
    for place, status in enumerate(shown):
        lengths = stays[status] * factor
        style = look(status)
        middle = float(np.median(lengths))
        on.axes.barh(place - 0.12, middle, height=0.44, **filled(style.color, style.hatch))
        on.axes.plot(
            [lengths[0], lengths[-1]],
            [place + 0.24] * 2,
            color=on.ink,
            marker="|",
            markersize=on.base * 0.7,
            linewidth=1.2,
        )
        says = f"{middle:,.3g} {unit} ({counted(len(lengths), 'stay')})"
        bars.append(Bar(name=_said(status), value=Decimal(0), says=says))
        longest.append(max(middle, float(lengths[-1])))
        on.text(longest[-1], place, says, dx=6, va="center", gid="value")
    named(on, [bar.name for bar in bars])
    room_behind(on, longest, max(len(bar.says) for bar in bars))
    on.numbers("x")
    on.labels(f"{unit} in the status", "")
