"""What the numbers of a frame are like, in one table: counts, sums, means, quartiles, all of them exact or rounded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal, localcontext
from typing import Any

import pandas as pd
import pyarrow as pa

from workbench.tables.decimals import EXACT, QUOTIENT, decimals, quantile_of, rounded, series

PLACES = 6
"""Digits after the point of a mean and of a standard deviation."""
_ROOT = Context(prec=2 * QUOTIENT)
_MEASURES: dict[str, Callable[[Sequence[Decimal]], Decimal | None]] = {
    "sum": lambda values: _sum(values),
    "mean": lambda values: rounded(_sum(values) / len(values), PLACES) if values else None,
    "std": lambda values: _deviation(values),
    "min": lambda values: quantile_of(values, Decimal(0)),
    "25%": lambda values: quantile_of(values, Decimal("0.25")),
    "50%": lambda values: quantile_of(values, Decimal("0.5")),
    "75%": lambda values: quantile_of(values, Decimal("0.75")),
    "max": lambda values: quantile_of(values, Decimal(1)),
}
"""What is told of a column; the values come in order."""


def describe(frame: pd.DataFrame) -> pd.DataFrame:
    """Describe each column of decimals or whole numbers, as `frame.describe()` does for floats.

    Returns:
        One row for each such column, by its name: `count` and `missing` (Int64), then `sum`, `mean` and `std` (of a
        sample) to 6 places, `min`, `25%`, `50%`, `75%` and `max`, as decimals. Sum, extremes and quartiles are exact.
        Of the other columns, `attrs["notes"]` says that they are left out.
    """
    columns = [name for name in frame.columns if _is_exact(frame[name].dtype)]
    read = {name: decimals(frame[name]) for name in columns}
    values = {name: sorted(value for value in column if value is not None) for name, column in read.items()}
    made = pd.DataFrame(index=pd.Index(columns, dtype="str", name="column"))
    made["count"] = _whole(len(values[name]) for name in columns)
    made["missing"] = _whole(len(read[name]) - len(values[name]) for name in columns)
    with localcontext(EXACT):
        for measure, tell in _MEASURES.items():
            made[measure] = series([tell(values[name]) for name in columns], index=made.index)
    others = len(frame.columns) - len(columns)
    notes = [f"{others:,} columns that hold no exact numbers are left out."] if others else []
    made.attrs.update(kind="description", notes=notes, revealed=list(frame.attrs.get("revealed", ())), unknown={})
    return made


def _is_exact(dtype: Any) -> bool:
    if isinstance(dtype, pd.ArrowDtype):
        kind = dtype.pyarrow_dtype
        return bool(pa.types.is_decimal(kind) or pa.types.is_integer(kind))
    return bool(pd.api.types.is_integer_dtype(dtype))


def _whole(counts: Any) -> Any:
    return pd.array(list(counts), dtype="Int64")


def _sum(values: Sequence[Decimal]) -> Decimal:
    return sum(values, Decimal(0))


def _deviation(values: Sequence[Decimal]) -> Decimal | None:
    """Return the standard deviation of a sample; None of fewer than two values."""
    n = len(values)
    if n < 2:
        return None
    squares = n * _sum([value * value for value in values]) - _sum(values) ** 2
    return rounded(_ROOT.sqrt(squares / (n * (n - 1))), PLACES)
