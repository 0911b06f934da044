"""Convert the time and period arguments of reports."""

from datetime import UTC, date, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pandas as pd

from workbench.errors import UsageError, not_allowed, visible

Every = Literal["day", "week", "month"]
PERIODS: dict[str, str] = {"day": "D", "week": "W-SUN", "month": "M"}


def moment(value: Any, name: str, tz: str | None = None) -> datetime | None:
    """Return a time as an aware datetime.

    Args:
        value: A datetime, a date, ISO text such as "2025-12-01", or None. A date means its first moment.
        name: Name of the argument, for the error message.
        tz: Time zone of dates, and of times without a zone. With None, dates are UTC and times must have a zone.

    Raises:
        UsageError: The value is none of these.
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
        return datetime(value.year, value.month, value.day, tzinfo=ZoneInfo(tz or "UTC"))
    if value.tzinfo is None:
        if tz is None:
            raise UsageError(f"{name} must have a time zone")
        return value.replace(tzinfo=ZoneInfo(tz))
    return value


def steps(times: "pd.Series[Any]", freq: Every, tz: str) -> "pd.Series[Any]":
    """Return the first day of the day, week (from Monday) or month of each time, in a time zone.

    Raises:
        UsageError: `freq` is not "day", "week" or "month".
    """
    if freq not in PERIODS:
        raise UsageError([not_allowed("freq", freq, PERIODS)])
    periods = times.dt.tz_convert(tz).dt.tz_localize(None).dt.to_period(PERIODS[freq])
    return pd.Series(periods.dt.start_time.astype("datetime64[s]"), name=freq)


def end_of_month(first: Any, tz: str) -> datetime:
    """Return the end, in UTC, of the month that begins on a day in a time zone."""
    after = pd.Timestamp(first) + pd.DateOffset(months=1)
    return datetime(after.year, after.month, 1, tzinfo=ZoneInfo(tz)).astimezone(UTC)
