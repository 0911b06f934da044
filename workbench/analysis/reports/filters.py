"""The filter of a history: period, time zone, currency, and the time at which facts must be known."""

from datetime import datetime
from typing import Any

import attrs
import pandas as pd

from workbench.analysis.reports.facts import mask
from workbench.analysis.reports.sources import Left
from workbench.analysis.tables.periods import bounds, fiscal, moment, zone
from workbench.base.errors import Problem, UsageError, visible

_UNSET: Any = object()


@attrs.frozen
class Filter:
    """Filter by period, by currency, and by the time at which facts were known."""

    period: str = ""
    since: datetime | None = None
    until: datetime | None = None
    tz: str = "UTC"
    currency: str | None = None
    at: datetime | None = None
    given: Any = None
    """The period as the caller passed it. It is parsed again if the time zone changes."""

    def changed(self, period: object, tz: str | None, currency: str | None, at: object) -> "Filter":
        """Return a copy of the filter with other values. An argument of None keeps the value.

        Raises:
            UsageError: A value is not a period, time zone, currency or time.
        """
        given = self.given if period is None else fiscal(period, self.given)
        new = attrs.evolve(self, tz=self.tz if tz is None else tz, given=given)
        zone(new.tz)
        if new.given is not None:
            text, since, until = bounds(new.given, new.tz)
            new = attrs.evolve(new, period=text, since=since, until=until)
        if currency is not None:
            code = str(currency).strip().lower()
            if len(code) != 3 or not code.isalpha():
                problem = f"must be a currency of three letters such as usd, not {visible(str(currency), 20)}"
                raise UsageError([Problem("currency", "format", problem)], of="history.filter")
            new = attrs.evolve(new, currency=code)
        return new if at is None else attrs.evolve(new, at=moment(at, "at", new.tz))

    def __str__(self) -> str:
        parts = [self.period or "all times", self.tz, (self.currency or "").upper()]
        parts += [f"as known at {self.at.astimezone(zone(self.tz)):%Y-%m-%d %H:%M:%S}"] if self.at else []
        return ", ".join(part for part in parts if part)

    def has(self, firsts: "pd.Series[Any]") -> Any:
        """Return a mask of the report periods whose first day, in `firsts`, is in the filter's period."""
        if self.since is None:
            return mask(firsts.notna())
        first, end = (moment.tz_convert(zone(self.tz)).tz_localize(None) for moment in self.ends)
        return mask((firsts >= first) & (firsts < end))

    @property
    def ends(self) -> tuple[pd.Timestamp, pd.Timestamp]:
        """Return the start and the end of the filter's period. The filter must have a period."""
        assert self.since is not None
        assert self.until is not None
        return pd.Timestamp(self.since), pd.Timestamp(self.until)

    def rows(self, table: pd.DataFrame, time: str) -> tuple[pd.DataFrame, list[Left]]:
        """Return the rows in the currency and period, and the rows in other currencies or with an unknown period."""
        left = []
        if self.currency is not None:
            own = mask(table["currency"] == self.currency)
            left += [
                Left(f"in {visible(str(code), 8).upper()}" if isinstance(code, str) else "without a currency", rows)
                for code, rows in table[~own].groupby("currency", dropna=False)
            ]
            table = table if own.all() else table[own]
        if self.since is None:
            return table, left
        since, until = self.ends
        first, last = table[time], table[time]
        if time == "at":
            first, last = first.fillna(table["earliest"]), last.fillna(table["latest"])
        inside = mask((first >= since) & (last < until))
        unknown = ~inside & ~mask(first >= until) & ~mask(last < since)
        return table[inside], [*left, Left("with an unknown period", table[unknown])]
