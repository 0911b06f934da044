"""Sources of a report's numbers: an in-memory function that returns the rows behind a cell."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import attrs
import numpy as np
import pandas as pd

from workbench.analysis.tables.rows import is_missing, mark_report
from workbench.base.errors import UsageError


@attrs.frozen
class Part:
    """The rows behind a number, their contributions, and the statistic that combines them.

    Args:
        rows: The rows.
        values: Contribution of each row; default 1, as in a count.
        statistic: "sum", "median", "0.9 quantile" or "max".
        divisor: Divisor of a sum, in a rate or a share.
    """

    rows: pd.DataFrame
    values: object = 1
    statistic: str = "sum"
    divisor: int | None = None

    def over(self, divisor: int) -> Self:
        """Return the part of a rate or a share."""
        return attrs.evolve(self, divisor=int(divisor))

    def contributions(self) -> "pd.Series[Any]":
        """Return the contribution of each row."""
        if isinstance(self.values, pd.Series):
            return self.values.reset_index(drop=True)
        return pd.Series([self.values] * len(self.rows), dtype="Int64" if isinstance(self.values, int) else None)

    def table(self) -> pd.DataFrame:
        """Return the rows with the column `contribution`; for a sum without rows that contribute nothing."""
        values = self.contributions()
        table = self.rows.drop(columns=["all", "contribution"], errors="ignore").reset_index(drop=True)
        table.attrs = {}
        table.insert(0, "contribution", values)
        if self.statistic != "sum":
            return table
        return table[(values != 0).to_numpy(dtype=bool, na_value=False)].reset_index(drop=True)


Find = Callable[[Mapping[str, Any], str], Part | None]
"""Function that returns the part of a row's column; None if the column is not a number computed from rows."""

EventsById = tuple[Callable[[list[str]], pd.DataFrame | None], object]
"""Function that returns the events of transactions by id (None if no longer in memory), and their source."""


class Trace(str):
    """A function that returns the rows behind a cell, in `frame.attrs["trace"]`; in a file it is empty text.

    Args:
        part_of: The function.
        source: Frame that the report was made from, whose events are known.
        events: The events of the transactions.
    """

    __slots__ = ("events", "part_of")
    part_of: Find
    events: EventsById | None

    def __new__(
        cls,
        part_of: Find,
        source: pd.DataFrame | None = None,
        events: EventsById | None = None,
    ) -> Self:
        trace = super().__new__(cls)
        known = None if source is None else source.attrs.get("trace")
        trace.part_of = part_of
        trace.events = events if events is not None else getattr(known, "events", None)
        return trace

    def audit(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the source rows of each number of a report, with its row (the first is 1) and column."""
        named = [
            part.table().assign(row=row + 1, column=str(column))
            for row in range(len(frame))
            for column in frame
            if (part := self.part_of(cells_of(frame, row), str(column))) is not None
        ]
        nothing = pd.DataFrame(columns=["row", "column", "contribution"])
        table = pd.concat(named, ignore_index=True) if named else nothing
        first = ["row", "column", "contribution"]
        return mark_report(table[[*first, *(name for name in table if name not in first)]], "audit", [])

    def __deepcopy__(self, _: object) -> Self:
        return self  # pandas copies attrs for each frame that it makes

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, ("",)


def cells_of(frame: pd.DataFrame, row: int) -> dict[str, Any]:
    """Return the values of a row by column."""
    return {str(name): frame[name].iloc[row] for name in frame}


def rows_of(data: pd.DataFrame, keys: Mapping[str, str], row: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of a group: those whose columns have the values of a row of the report.

    Args:
        data: The rows.
        keys: Column of the data for each column of the report.
        row: The row of the report.

    Raises:
        UsageError: The report lacks a column that identifies its rows.
    """
    if missing := keys.keys() - row.keys():
        raise UsageError(f"the column {min(missing)}, which identifies a row, is missing", of="reports.explain")
    chosen = np.ones(len(data), dtype=bool)
    for name, column in keys.items():
        values, key = data[column], row[name]
        same = values.isna() if is_missing(key) else values == key
        chosen &= same.to_numpy(dtype=bool, na_value=False)
    return data[chosen]
