"""Times in reports: texts and dates as moments, and the days, weeks and months of a time zone."""

from datetime import UTC, date, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from workbench.errors import InvalidRequest, visible

Every = Literal["day", "week", "month"]
_MONDAY, _WEEK = np.datetime64("1970-01-05"), np.timedelta64(7, "D")


def moment(value: Any, name: str, tz: str | None = None) -> datetime | None:
    """Return a time as an aware datetime.

    Args:
        value: A datetime, a date, ISO text such as "2025-12-01", or None. A day is its beginning.
        name: The argument, for the message.
        tz: Time zone of days, and of times without a zone; None: days are UTC, and times must have a zone.

    Raises:
        InvalidRequest: It is none of these.
    """
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value) if len(value) == len("2025-12-01") else datetime.fromisoformat(value)
        except ValueError:
            raise InvalidRequest(
                f"{name} must be a day or a time such as 2025-12-01, not {visible(value, 40)}"
            ) from None
    if value is None:
        return None
    if not isinstance(value, date):
        raise InvalidRequest(f"{name} must be a day or a time, not {type(value).__name__}")
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=ZoneInfo(tz or "UTC"))
    if value.tzinfo is None:
        if tz is None:
            raise InvalidRequest(f"{name} must have a time zone")
        return value.replace(tzinfo=ZoneInfo(tz))
    return value


def steps(times: "pd.Series[Any]", by: Every, tz: str) -> "pd.Series[Any]":
    """Return the first day of the day, week (from Monday) or month of each time, in a time zone.

    Raises:
        ValueError: `by` is none of these.
    """
    days = times.dt.tz_convert(tz).dt.tz_localize(None).to_numpy().astype("datetime64[D]")
    if by == "week":
        days = _MONDAY + (days - _MONDAY) // _WEEK * _WEEK
    elif by == "month":
        days = days.astype("datetime64[M]").astype("datetime64[D]")
    elif by != "day":
        raise ValueError("by must be day, week or month")
    return pd.Series(days.astype("datetime64[s]"), index=times.index, name=by)


def end_of_month(first: Any, tz: str) -> datetime:
    """Return when the month of a first day ends in a time zone, in UTC."""
    after = pd.Timestamp(first) + pd.DateOffset(months=1)
    return datetime(after.year, after.month, 1, tzinfo=ZoneInfo(tz)).astimezone(UTC)
