"""Days, weeks, months and years as places on an axis, with as few labels as can be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import attrs
import numpy as np
import pandas as pd

from workbench.charts.canvas import Sheet

By = Literal["day", "week", "month", "year"]
MOST = 2_000
"""Places of an axis; a span that would need more is drawn by the next longer step."""
_STEPS: dict[By, float] = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}
_MONDAY = 3  # 1970-01-01 was a Thursday


@attrs.frozen(kw_only=True)
class Spans:
    """The steps of an axis in time, from the first to the last without a gap, and the place of each row (-1: none)."""

    by: By
    starts: Any  # datetime64[D], one a step
    places: Any

    def label(self, place: int, *, year: bool) -> str:
        """Return the label of a step, with its year where asked for."""
        day = pd.Timestamp(self.starts[place])
        if self.by == "year":
            return f"{day.year}"
        text = f"{day:%b}" if self.by == "month" else f"{day.day} {day:%b}"
        return f"{text}\n{day.year}" if year else text

    def whole(self) -> str:
        """Return the first and the last step in words: `Jan 2026 to Nov 2026`."""
        if not len(self.starts):
            return ""
        ends = [self.label(place, year=True).replace("\n", " ") for place in (0, len(self.starts) - 1)]
        return " to ".join(dict.fromkeys(ends))


def spans(times: pd.Series[Any], by: By | None = None) -> Spans:
    """Sort times into days, weeks (from Monday), months or years; by what fits their span where left out."""
    days = times.dt.tz_localize(None).to_numpy().astype("datetime64[D]")
    missing = np.isnat(days)
    known = days[~missing]
    if not len(known):
        return Spans(by=by or "day", starts=known, places=np.full(len(days), -1))
    length = int((known.max() - known.min()).astype(int)) + 1
    wanted = by or ("day" if length <= 35 else "week" if length <= 190 else "month" if length <= 1_900 else "year")
    if length / _STEPS[wanted] > MOST:
        wanted = next((step for step in _STEPS if length / _STEPS[step] <= MOST), "year")
    steps = _numbered(days, wanted)
    first, last = int(steps[~missing].min()), int(steps[~missing].max())
    numbers = np.arange(first, last + 1)
    return Spans(by=wanted, starts=_started(numbers, wanted), places=np.where(missing, -1, steps - first))


def _numbered(days: Any, by: By) -> Any:
    if by == "week":
        return (days.astype("int64") + _MONDAY) // 7
    return days.astype({"day": "datetime64[D]", "month": "datetime64[M]", "year": "datetime64[Y]"}[by]).astype("int64")


def _started(numbers: Any, by: By) -> Any:
    if by == "week":
        return (numbers * 7 - _MONDAY).astype("datetime64[D]")
    unit = {"day": "datetime64[D]", "month": "datetime64[M]", "year": "datetime64[Y]"}[by]
    return numbers.astype(unit).astype("datetime64[D]")


def dated(on: Sheet, shown: Spans) -> None:
    """Label the steps of an axis: few, and the year once."""
    count = len(shown.starts)
    most = max(2, int(on.width / 6.4 * (13 if shown.by == "month" else 8)))
    every = next((n for n in (1, 2, 3, 4, 6, 12) if count / n <= most), -(-count // most))
    places = range(0, count, every)
    texts: list[str] = []
    year = 0
    for place in places:
        now = pd.Timestamp(shown.starts[place]).year
        texts.append(shown.label(place, year=now != year))
        year = now
    on.axes.set_xticks(list(places), texts)
    on.axes.set_xlim(-0.7, max(count - 0.3, 0.7))


def days_of(delta: pd.Series[Any]) -> Any:
    """Return lengths of time in days."""
    return delta.dt.total_seconds().to_numpy(dtype="float64") / 86_400


def unit_for(days: Sequence[float]) -> tuple[str, float]:
    """Return the unit that lengths of time are read in, and how many of it make a day."""
    longest = max((abs(one) for one in days), default=0.0)
    units = (("days", 1.0, 2.0), ("hours", 24.0, 2 / 24), ("minutes", 1_440.0, 2 / 1_440), ("seconds", 86_400.0, 0.0))
    return next((name, factor) for name, factor, least in units if longest >= least)
