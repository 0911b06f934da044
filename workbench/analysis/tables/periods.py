"""Convert the time and period arguments of reports."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pandas as pd

from workbench.base.errors import Problem, UsageError, not_allowed, visible

Every = Literal["day", "week", "month", "quarter", "year"] | str
"""A period, or a quarter or year of a fiscal calendar, named after the month in which it ends: "Q-JAN", "Y-JUN"."""
PERIODS: dict[str, str] = {"day": "D", "week": "W-SUN", "month": "M", "quarter": "Q-DEC", "year": "Y-DEC"}
_FISCAL = re.compile("[QY]-(JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)")


def zone(tz: str) -> ZoneInfo:
    """Return the time zone with this name.

    Raises:
        UsageError: The name is not a time zone.
    """
    if is_zone(tz):
        return ZoneInfo(tz)
    problem = f"must be a time zone such as America/New_York, not {visible(str(tz), 60)}"
    raise UsageError([Problem("tz", "format", problem)])


def is_zone(value: object) -> bool:
    """Return whether a value is the name of a time zone."""
    try:
        return isinstance(value, str) and bool(ZoneInfo(value))
    except (ValueError, OSError, LookupError):
        return False


def is_period(name: str) -> bool:
    """Return whether a text is the name of a period."""
    return name in PERIODS or bool(_FISCAL.fullmatch(name))


def period_name(freq: str) -> str:
    """Return the column name for a period: `quarter` for "Q-JAN".

    Raises:
        UsageError: `freq` is not a period.
    """
    code_of(freq)
    return freq if freq in PERIODS else {"Q": "quarter", "Y": "year"}[freq[0]]


def freq_of(column: str, about: Mapping[Any, Any]) -> str:
    """Return the period of a report column from the frame's attributes; empty if the column is not a period."""
    freq = "month" if column == "cohort" else str(about.get("freq") or column)
    return freq if column == "cohort" or (is_period(freq) and period_name(freq) == column) else ""


def code_of(freq: str) -> str:
    """Return the pandas frequency of a period.

    Raises:
        UsageError: `freq` is not a period.
    """
    if not is_period(freq):
        raise UsageError([not_allowed("freq", freq, [*PERIODS, "Q-JAN", "Y-JUN"])])
    return PERIODS.get(freq, freq)


def moment(value: Any, name: str, tz: str | None = None) -> datetime | None:
    """Return a time as an aware datetime.

    Args:
        value: A datetime, a date, ISO text such as "2025-12-01", or None. A date means its first moment.
        name: Name of the argument, for the error message.
        tz: Time zone of dates and of times without a zone. With None, dates are in UTC and times must have a zone.

    Raises:
        UsageError: The value is not a time.
    """
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value) if len(value) == len("2025-12-01") else datetime.fromisoformat(value)
        except ValueError:
            raise UsageError(f"{name} must be a day or a time such as 2025-12-01, not {visible(value, 40)}") from None
    if value is None:
        return None
    if not isinstance(value, date):
        raise UsageError(f"{name} must be a day or a time, not {type(value).__name__}")
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=zone(tz or "UTC"))
    if value.tzinfo is None:
        if tz is None:
            raise UsageError(f"{name} must have a time zone")
        return value.replace(tzinfo=zone(tz))
    return value


_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_PERIOD = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)|(?P<month>\d{4}-\d\d)|(?P<week>\d{4}-W\d\d)|(?P<quarter>\d{4}-Q[1-4])|(?P<year>\d{4})"
    rf"|FY(?P<fiscal>\d{{4}})(-Q(?P<part>[1-4]))?(-(?P<end>{'|'.join(_MONTHS)}))?"
)


def bounds(period: str | tuple[Any, Any], tz: str) -> tuple[str, datetime, datetime]:
    """Return a period as text, with its start and its end in UTC.

    Args:
        period: A day, "2026-03", "2026-W14" (ISO), "2026-Q1", "2026", a fiscal "FY2026-SEP" or "FY2026-Q1-SEP" (the
            fiscal year 2026 ends in September), or a pair of first and last day.
        tz: Time zone of the days.

    Raises:
        UsageError: The period is invalid, or does not say when its fiscal year ends.
    """
    if isinstance(period, tuple | list):
        if len(period) != 2:
            raise UsageError([Problem("period", "format", "must be one period, or its first and last day")])
        (first, start, _), (last, _, end) = (bounds(str(day), tz) for day in period)
        if end <= start:
            raise UsageError([Problem("period", "format", f"ends before it starts: {first} to {last}")])
        return f"{first} to {last}", start, end
    match = _PERIOD.fullmatch(str(period))
    if match and match["fiscal"] and not match["end"]:
        ways = f"{period}-SEP, or {period}-DEC for calendar years"
        raise UsageError([Problem("period", "format", f"must say the month in which the fiscal year ends: {ways}")])
    try:
        parsed = _period_of(match) if match else None
    except ValueError:  # the calendar has no such day, month or week
        parsed = None
    if parsed is None:
        example = "2026-03, 2026-W14, 2026-Q1, 2026, FY2026-Q1-SEP, a day, or a first and last day"
        raise UsageError(
            [Problem("period", "format", f"must be a period such as {example}, not {visible(str(period), 40)}")]
        )
    return str(period), _start_of(parsed.start_time, tz), _start_of((parsed + 1).start_time, tz)


def fiscal(period: object, known: object) -> Any:
    """Return a period. A fiscal period without a last month gets the last month of the fiscal period `known`."""
    match, other = _PERIOD.fullmatch(str(period)), _PERIOD.fullmatch(str(known))
    if match and other and match["fiscal"] and other["end"] and not match["end"]:
        return f"{period}-{other['end']}"
    return period


def period_before(period: str | tuple[Any, Any], tz: str) -> datetime:
    """Return the start of the previous period. A pair of days follows a period with the same number of days."""
    if isinstance(period, tuple | list):
        first, last = (pd.Timestamp(str(day)) for day in period)
        return _start_of(first - (last - first) - pd.Timedelta(days=1), tz)
    match = _PERIOD.fullmatch(str(period))
    assert match is not None  # the bounds of the period were computed earlier
    return _start_of((_period_of(match) - 1).start_time, tz)


def _period_of(match: "re.Match[str]") -> pd.Period:
    if match["week"]:
        monday = date.fromisocalendar(int(match["week"][:4]), int(match["week"][6:]), 1)
        return pd.Period(monday, freq="W-SUN")
    if match["fiscal"]:
        if match["part"]:
            return pd.Period(f"{match['fiscal']}Q{match['part']}", freq=f"Q-{match['end']}")
        return pd.Period(match["fiscal"], freq=f"Y-{match['end']}")
    return pd.Period(match[0], freq=next(freq for name, freq in PERIODS.items() if match[name]))


def _start_of(day: Any, tz: str) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone(tz)).astimezone(UTC)


def steps(times: "pd.Series[Any]", freq: Every, tz: str) -> "pd.Series[Any]":
    """Return the first day of each time's period, in a time zone. Weeks begin on Monday.

    Raises:
        UsageError: `freq` is not a period, or `tz` is not a time zone.
    """
    code = code_of(freq)
    local = times.dt.tz_convert(zone(tz)).dt.tz_localize(None)
    codes, days = pd.factorize(local.dt.floor("D"))  # there are far fewer days than times
    firsts = days.to_period(code).start_time.astype("datetime64[s]").array
    return pd.Series(firsts.take(codes, allow_fill=True), times.index, name=period_name(freq))


def every_period(firsts: Any, freq: Every) -> pd.DatetimeIndex:
    """Return the first days of all periods from the first period to the last, without gaps."""
    periods = pd.PeriodIndex(pd.DatetimeIndex(firsts), freq=code_of(freq))
    if not len(periods):
        return pd.DatetimeIndex([], dtype="datetime64[s]")
    return pd.DatetimeIndex(pd.period_range(periods.min(), periods.max()).start_time.astype("datetime64[s]"))


def end_of(first: Any, freq: Every, tz: str) -> datetime:
    """Return the end, in UTC, of the period that begins on a day in a time zone."""
    after = pd.Timestamp(first).to_period(code_of(freq)) + 1
    return _start_of(after.start_time, tz)


def label_of(first: Any, freq: Every) -> str:
    """Return a period's name from its first day: `2026-03-05`, `2026-W10`, `2026-03`, `2026-Q1` or `2026`."""
    formats = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}
    if freq in formats:
        return str(first.strftime(formats[freq]))
    period, fiscal_year = pd.Period(first, freq=code_of(freq)), "" if freq in PERIODS else "FY"
    quarter = f"-Q{period.quarter}" if period_name(freq) == "quarter" else ""
    return f"{fiscal_year}{period.qyear}{quarter}"


def running(firsts: "pd.Series[Any]", freq: Every, tz: str, until: datetime | None) -> "pd.Series[Any]":
    """Return whether each period was incomplete at `until`, the time up to which the data are complete."""
    ends = {first: end_of(first, freq, tz) for first in firsts.unique()}
    return firsts.map({first: until is None or end > until for first, end in ends.items()}).astype("boolean")
