"""What the numbers of a report are made of: a report keeps, in memory only, a function that returns the rows of a cell."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import attrs
import numpy as np
import pandas as pd

from workbench.tables.rows import is_missing


@attrs.frozen
class Part:
    """The rows of a number: what each contributes, and the statistic of the contributions that is the number.

    Args:
        rows: The rows.
        values: What each row contributes; default 1, as in a count.
        statistic: "sum", "median", "0.9 quantile" or "max".
        divisor: What a sum is divided by, in a rate or a share.
    """

    rows: pd.DataFrame
    values: Any = 1
    statistic: str = "sum"
    divisor: int | None = None

    def over(self, divisor: Any) -> Self:
        """Return the part of a rate or a share."""
        return attrs.evolve(self, divisor=int(divisor))


Find = Callable[[Mapping[str, Any], str], Part | None]
"""Returns the part of a column of a row; None for a column that is no number made of rows."""


class Trace(str):
    """A function that finds the rows of a cell, in `frame.attrs["trace"]`; in a file and in a copy elsewhere, empty text.

    Args:
        find: The function.
        source: Frame that the report was made from, whose events are known.
        events: The transaction events, and what they were read from.
    """

    __slots__ = ("events", "find")

    def __new__(cls, find: Find, source: pd.DataFrame | None = None, events: Any = None) -> Self:
        trace = super().__new__(cls)
        known = None if source is None else source.attrs.get("trace")
        trace.find = find
        trace.events = events if events is not None else getattr(known, "events", None)
        return trace

    def __deepcopy__(self, _: object) -> Self:
        return self  # pandas copies attrs for each frame that it makes

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, ("",)


def rows_of(data: pd.DataFrame, keys: Mapping[str, str], row: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of a group: those whose columns have the values of a row of the report.

    Args:
        data: The rows.
        keys: Column of the data for each column of the report.
        row: The row of the report.
    """
    chosen = np.ones(len(data), dtype=bool)
    for name, column in keys.items():
        values, key = data[column], row[name]
        same = values.isna() if is_missing(key) else values == key
        chosen &= same.to_numpy(dtype=bool, na_value=False)
    return data[chosen]
