"""Prepare the data of a chart: frame, notes, exact sums, time steps, and sanitized, shortened external text."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import groupby, islice
from typing import Any, Literal, TypeVar

import attrs
import pandas as pd

from workbench.analysis.reports.history import history
from workbench.analysis.reports.measures import caveats_of
from workbench.analysis.reports.sources import Left
from workbench.analysis.tables.frames import to_frame
from workbench.analysis.tables.periods import PERIODS, Every, code_of, every_period, freq_of, label_of, period_name
from workbench.analysis.tables.rows import EXACT, REPEATED, is_missing, once, with_checked_marks
from workbench.base.errors import UsageError, visible
from workbench.service.interface.formats import minor_digits
from workbench.service.rendering import text

MAX_LABEL = 30
"""Maximum length of a label, in characters."""
_MAX_READ = 400  # number of characters that `label` reads of a text; it ignores the rest
_MAX_MARKS = 2  # maximum combining marks per character; more would cover neighboring characters
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def label(text: object, limit: int = MAX_LABEL) -> str:
    """Return external text as a label: one line of at most `limit` characters, without hidden characters or TeX."""
    if is_missing(text):
        return "(none)"
    shown = visible(str(text)[:_MAX_READ].strip())
    if len(shown) > limit or len(str(text)) > _MAX_READ:
        shown = shown[: limit - 1].rstrip() + "…"
    return plain(shown) or "(empty)"


def plain(text: str) -> str:
    """Return text that matplotlib draws literally: dollar signs escaped, at most two combining marks per character."""
    if not text.isascii():
        runs = groupby(text, lambda character: unicodedata.category(character) in {"Mn", "Me"})
        text = "".join("".join(islice(run, _MAX_MARKS if is_mark else None)) for is_mark, run in runs)
    return text.replace("$", r"\$")


def wrapped(text: str, width: int) -> str:
    """Wrap sanitized text to at most three lines of at most `width` characters."""
    line = visible(re.sub(r"[ \t\r\n]+", " ", text[: width * 4]))
    return plain(textwrap.fill(line, max(width, 12), max_lines=3, placeholder="…"))


Number = Decimal | int | float
Rows = TypeVar("Rows", pd.DataFrame, list[Any])


def exact(value: Any) -> Decimal:
    """Convert a number from a frame, such as a numpy number, to Decimal."""
    return value if isinstance(value, Decimal) else Decimal(value.item() if hasattr(value, "item") else value)


@attrs.frozen
class Scale:
    """Power of ten that divides the numbers before they are drawn."""

    power: int = 0

    def __call__(self, value: Number) -> float:
        """Return a number as a float on this scale. Exactness is lost only here."""
        return float(EXACT.create_decimal(value).scaleb(-self.power, context=EXACT))

    def unit(self, unit: str) -> str:
        """Return a unit with the name of the scale: `points (millions)`."""
        return f"{unit} ({_name_of(self.power)[0]})" if self.power else unit


_POWERS = {6: ("millions", " M"), 9: ("billions", " bn"), 12: ("trillions", " tn")}
"""Names of powers of ten, for axes and for labels."""


def _name_of(power: int) -> tuple[str, str]:
    return _POWERS.get(power, (f"×10{str(power).translate(_RAISED)}",) * 2)


def scale_of(values: Iterable[Number]) -> Scale:
    """Return the scale that keeps the largest value readable."""
    largest = max((Decimal(value).copy_abs() for value in values), default=Decimal(0))
    exponent = largest.adjusted() if largest else 0
    return Scale(exponent // 3 * 3 if exponent >= 6 else 0)


def number(value: Number, places: int | None = None) -> str:
    """Format a number as a label: `1,234.5`; from ten million on with four digits and a scale, such as `12.35 M`.

    Args:
        places: Decimal places (default: as in the value, at most three).
    """
    exact = EXACT.create_decimal(value)
    if exact.copy_abs() < 10_000_000:
        exponent: Any = exact.normalize(EXACT).as_tuple().exponent
        text = f"{exact:,.{min(max(-exponent, 0), 3) if places is None else places}f}"
    else:
        power = exact.adjusted() // 3 * 3
        text = f"{exact.scaleb(-power, context=EXACT):.4g}{_name_of(power)[1]}"
    return text.replace("-", "−")


def usd(cents: Any, currency: str = "USD") -> Decimal:
    """Convert an amount exactly from a currency's minor to its main unit: cents to dollars; yen stay unchanged."""
    return exact(cents).scaleb(-minor_digits(currency), context=EXACT)


def dollars(cents: Any, currency: str = "USD") -> str:
    """Format an amount in its main unit with the currency's decimal places: `1,234.50`."""
    return number(usd(cents, currency), minor_digits(currency))


def percent(part: int, total: int) -> str:
    """Format a part of a total as a percentage; a dash if the total is 0."""
    return f"{part / total:.1%}" if total else "–"


def not_drawn(count: int, total: str) -> str:
    """Return a note on the groups that a ranking omits; empty if all are drawn."""
    return f"Not drawn: {counted(count, 'other')}, together {total}." if count else ""


def counted(count: int, noun: str) -> str:
    """Format a count and its noun, joined by a non-breaking space: `1 row`, `2 rows`."""
    return text.counted(count, f"{noun}s").replace(" ", "\xa0")


def left_out(count: int, reason: str) -> str:
    """Return a note on the rows that a chart leaves out; empty if all are drawn."""
    return f"{counted(count, 'row')} {reason} {'is' if count == 1 else 'are'} left out." if count else ""


By = Literal["day", "week", "month", "year"]
"""Steps of a time axis, shortest first."""
MAX_STEPS = 10_000
"""Maximum number of steps of an axis."""
_FITTING = {"day": 35, "week": 190, "month": 1_900}
"""Longest time range, in days, that is drawn with each step. Longer ranges are drawn by year."""


def table(data: Any, *columns: str, of: object = None) -> pd.DataFrame:
    """Return a chart's data as a frame. The data are a frame, records, or a result with a `frame` method.

    Raises:
        UsageError: One of `columns` is missing, or the frame is a Dask DataFrame.
    """
    frame = with_checked_marks(to_frame(data, of=of))
    if not len(frame.columns):
        return frame.reindex(columns=[*columns])
    if missing := [name for name in columns if name not in frame]:
        raise UsageError(f"the chart needs the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}")
    if "points" in columns:
        rows, repeated = once(frame, "points")
        notes, _ = caveats_of([Left("", repeated[["points"]], REPEATED)], "rows")
        rows.attrs = {**frame.attrs, "notes": [*notes, *frame.attrs.get("notes", ())]}
        return rows
    return frame


def source_table(data: object, method: str, *columns: str) -> pd.DataFrame:
    """Return `data` if it is a frame with the columns; otherwise compute the report with `method` of `wb.history`."""
    known = isinstance(data, pd.DataFrame) and set(columns) <= set(data)
    return table(data if known else getattr(history(data), method)(), *columns)


def report(data: object, method: str, *columns: str) -> pd.DataFrame:
    """Return a report as `source_table` does, without its column `currency`.

    Raises:
        UsageError: Amounts are in several currencies.
    """
    frame = source_table(data, method, *columns)
    if "currency" in frame and frame["currency"].nunique(dropna=False) > 1:
        raise UsageError("a chart can show only one currency: use history.filter(currency=…)", of="charts")
    return frame.drop(columns="currency", errors="ignore")


def period_of(data: pd.DataFrame) -> str:
    """Return the name of a report's period column; empty if the report has none."""
    return next((name for name in data.columns if name in PERIODS), "")


def group_of(data: pd.DataFrame, *others: str) -> str:
    """Return a report's grouping column, the first column that is not in `others`; empty if there is none."""
    return next((name for name in data.columns if name not in others), "")


def is_running(data: pd.DataFrame) -> bool:
    """Return whether the last period of a report is incomplete."""
    return "running" in data and bool(data["running"].iloc[-1:].any())


def sums(keys: Iterable[Hashable], values: Sequence[Decimal | None]) -> dict[Any, Decimal]:
    """Return the exact sum of the values of each key. Missing values are ignored."""
    totals: dict[Any, Decimal] = {}
    for key, value in zip(keys, values, strict=True):
        if value is not None:
            totals[key] = EXACT.add(totals.get(key, Decimal(0)), value)
    return totals


def split(rows: Rows, top: int) -> tuple[Rows, Rows]:
    """Return the first `top` rows, at least one, and the remaining rows."""
    first = max(top, 1)
    return rows[:first], rows[first:]


def top_of(groups: Mapping[Any, Any], top: int) -> tuple[list[Any], list[Any]]:
    """Return the keys of the `top` largest groups and the keys of the remaining groups, largest first."""
    return split(sorted(groups, key=lambda key: (-groups[key], str(key))), top)


def texts(column: pd.Series[Any]) -> list[str | None]:
    """Return a column as stripped text, with None for missing values."""
    return [None if is_missing(value) else str(value).strip() for value in column.to_list()]


@attrs.frozen(kw_only=True)
class Steps:
    """Time axis without gaps between its steps, and the position of each row's step (-1 if the row has no time)."""

    by: Every
    starts: pd.DatetimeIndex  # one per step
    positions: Any  # step index of each row, or -1
    tz: str = "UTC"

    def label(self, index: int) -> str:
        """Return the name of a step, such as `2026-W10`."""
        return label_of(self.starts[index], self.by)

    def during(self, data: pd.DataFrame) -> str:
        """Return the period for a title, with a remark if the last step is still running; empty without steps."""
        if not len(self.starts):
            return ""
        period = " to ".join(dict.fromkeys(map(self.label, (0, len(self.starts) - 1))))
        return f", {period}{' (the last one is running)' if is_running(data) else ''}"

    @property
    def unit(self) -> str:
        """Return the label of the time axis."""
        return f"{'ISO week' if self.by == 'week' else period_name(self.by)} ({self.tz})"

    def ticks(self, letters: int) -> tuple[Sequence[int], list[str]]:
        """Return tick positions and labels that fit an axis with space for `letters` characters."""
        count = len(self.starts)
        most = max(2, letters // (len(self.label(0)) + 2))
        positions = range(0, count, max(1, -(-count // most)))
        return positions, [*map(self.label, positions)]


def report_steps(data: pd.DataFrame) -> Steps:
    """Return a report's periods as time steps."""
    period = period_of(data)
    times = data[period] if period else pd.Series([], dtype="datetime64[s]")
    return steps_of(times, freq_of(period, data.attrs), data.attrs.get("tz", "UTC"))


def steps_of(times: pd.Series[Any], by: Any = None, tz: str = "UTC") -> Steps:
    """Return the time steps that cover the times. The default step length fits the range of the times.

    Raises:
        UsageError: The times have too many steps.
    """
    local = times if times.dt.tz is None else times.dt.tz_convert(tz).dt.tz_localize(None)
    days = local.dt.normalize()
    length = (days.max() - days.min()).days + 1  # not a number without times
    wanted: Every = by or next((step for step, most in _FITTING.items() if not length > most), "year")
    firsts = local.dt.to_period(code_of(wanted)).dt.start_time
    every = every_period(firsts.dropna(), wanted)
    if len(every) > MAX_STEPS:
        raise UsageError(f"the times have {len(every):,} steps (maximum {MAX_STEPS:,}): use a longer freq", of="charts")
    return Steps(by=wanted, starts=every, positions=every.get_indexer(firsts), tz=tz)
