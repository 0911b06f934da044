"""Exact numbers in columns: how wide they are kept, and sums that never pass through a float.

A decimal column is `decimal128(38, 6)`; values with more places make it `decimal128(38, 18)`; values that fit neither,
such as a balance of 78 digits, stay text. The functions here take all three, Int64, and plain Decimals alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation, localcontext
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

WIDTHS = (pa.decimal128(38, 6), pa.decimal128(38, 18))
"""The types of a decimal column, the usual one first."""
EXACT = Context(prec=1000, Emin=-10_000, Emax=10_000)
QUOTIENT = 38  # significant digits of a mean
How = Literal["sum", "mean", "median", "min", "max", "count"]
_HALF = Decimal("0.5")


def packed(values: Sequence[Decimal | None], *, at_least: Any = None) -> Any:
    """Put decimals into the narrowest Arrow type that holds them all exactly; text where none does."""
    for width in WIDTHS:
        if at_least is not None and width.scale < at_least.scale:
            continue
        try:
            return pa.array(values, type=width)
        except (pa.ArrowInvalid, ValueError, OverflowError):
            continue
    texts = [None if value is None else plain(value.normalize(EXACT)) if value else "0" for value in values]
    return pa.array(texts, type=pa.large_string())


def cast(texts: Any) -> Any:
    """Put an Arrow column of decimal numbers as text into the narrowest type that holds them all.

    Gives None where Arrow would read a text that we do not, or not as we do: signs and exponents are left to `Decimal`,
    and so are more digits than 128 bits hold, which Arrow wraps around without a word.
    """
    longest = pc.max(pc.binary_length(texts)).as_py()
    raw = _letters(texts)
    if (longest or 0) > 38 or any(sign in raw for sign in (b"+", b"e", b"E")):
        return None
    for width in WIDTHS:
        try:
            return pc.cast(texts, width)
        except pa.ArrowInvalid:
            continue
    return None


def _letters(texts: Any) -> bytes:
    """Return all the bytes of a large_string column."""
    _, ends, data = texts.buffers()
    if data is None or not len(texts):
        return b""
    ends = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return bytes(data[int(ends[0]) : int(ends[-1])])


def plain(value: Decimal) -> str:
    """Write a decimal with all its digits and without an exponent."""
    return format(value, "f")


def decimals(column: pd.Series[Any]) -> list[Decimal | None]:
    """Return a column's values as Decimals, None where missing.

    Raises:
        ValueError: A value is no exact number: a float, a masked value, a word.
    """
    return [_decimal(value, column.name) for value in column.to_list()]


def _decimal(value: Any, name: Any) -> Decimal | None:
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float):
        if value != value:
            return None
        raise ValueError(f"{name} holds floats, which are not exact")
    if isinstance(value, bool):
        raise ValueError(f"{name} holds True and False, not numbers")
    try:
        return EXACT.create_decimal(value if isinstance(value, Decimal | int | str) else int(value))
    except (InvalidOperation, ValueError, TypeError):
        pass
    raise ValueError(f"{name} holds a value that is no number; a masked column has to be revealed first")


def series(values: Sequence[Decimal | None], *, like: pd.Series[Any] | None = None, **about: Any) -> pd.Series[Any]:
    """Make a column of decimals, as wide as `like` at least.

    Args:
        about: `index` and `name` of the column; those of `like` where they are left out.
    """
    width = getattr(like.dtype, "pyarrow_dtype", None) if like is not None else None
    made = packed(values, at_least=width if width in WIDTHS else None)
    if like is not None:
        about = {"index": like.index, "name": like.name, **about}
    dtype = "str" if pa.types.is_large_string(made.type) else pd.ArrowDtype(made.type)
    return pd.Series(pd.array(made.to_pylist(), dtype=dtype), **about)  # type: ignore[no-any-return]


def total(column: pd.Series[Any]) -> Decimal:
    """Return the exact sum of a column; what is missing is left out, and the sum of nothing is 0."""
    return _sum(value for value in decimals(column) if value is not None)


def _sum(values: Iterable[Decimal]) -> Decimal:
    with localcontext(EXACT):
        return sum(values, Decimal(0))


def mean(column: pd.Series[Any]) -> Decimal | None:
    """Return the mean of a column to 38 digits; what is missing is left out, and the mean of nothing is None."""
    return _mean([value for value in decimals(column) if value is not None])


def _mean(values: Sequence[Decimal]) -> Decimal | None:
    return Context(prec=QUOTIENT).divide(_sum(values), Decimal(len(values))) if values else None


def quantile(column: pd.Series[Any], q: Decimal | float | str) -> Decimal | None:
    """Return what a share `q` of a column is below, exactly; between two values by their distance, as pandas does.

    Args:
        q: From 0 to 1; 0.5 is the median.
    """
    share = Decimal(str(q))
    if not 0 <= share <= 1:
        raise ValueError(f"q goes from 0 to 1, not to {share}")
    return quantile_of(sorted(value for value in decimals(column) if value is not None), share)


def quantile_of(values: Sequence[Decimal], share: Decimal) -> Decimal | None:
    """Return the quantile of values that are in order; None where there are none."""
    if not values:
        return None
    with localcontext(EXACT):
        place = (len(values) - 1) * share
        below = int(place.to_integral_value(ROUND_FLOOR))
        lower, upper = values[below], values[min(below + 1, len(values) - 1)]
        return lower + (upper - lower) * (place - below)


_WAYS: dict[str, Callable[[list[Decimal]], Any]] = {
    "sum": _sum,
    "mean": lambda values: None if (made := _mean(values)) is None else rounded(made, WIDTHS[-1].scale),
    "median": lambda values: quantile_of(sorted(values), _HALF),
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
    "count": lambda values: Decimal(len(values)),
}


def rounded(value: Decimal, places: int) -> Decimal:
    """Round a number to places after the point, half to even."""
    return value.quantize(Decimal(1).scaleb(-places), context=EXACT)


def _gathered(groups: Any, like: pd.Series[Any], how: How) -> pd.Series[Any]:
    way = _WAYS[how]
    made = groups.agg(lambda part: (way([value for value in part if value is not None]),))
    values = [cell[0] if isinstance(cell, tuple) else way([]) for cell in made.to_list()]
    if how == "count":
        return pd.Series(pd.array([int(v) for v in values], dtype="Int64"), index=made.index, name=like.name)
    return series(values, like=like, index=made.index, name=like.name)


def _objects(frame: pd.DataFrame, column: str) -> pd.Series[Any]:
    return pd.Series(pd.array(decimals(frame[column]), dtype=object), index=frame.index, name=column)


def grouped(frame: pd.DataFrame, by: str | list[str], column: str, how: How = "sum") -> pd.Series[Any]:
    """Sum a column by group, exactly; also its mean (to 18 places), median, min, max or count.

    Args:
        by: Column or columns to group by; a missing key is a group too, and categories that do not occur are left out.
    """
    keys = [frame[name] for name in ([by] if isinstance(by, str) else by)]
    values = _objects(frame, column)
    return _gathered(values.groupby(keys, dropna=False, observed=True), frame[column], how)


def resampled(frame: pd.DataFrame, rule: str, column: str, *, on: str, how: How = "sum") -> pd.Series[Any]:
    """Sum a column by day, week or month, exactly; also its mean, median, min, max or count. Rows without a time are left out.

    Args:
        rule: A frequency of pandas, as "D", "W" or "MS".
        on: The column of times.
    """
    timed = frame[frame[on].notna()]
    values = pd.Series(_objects(timed, column).to_numpy(), index=pd.DatetimeIndex(timed[on]), name=column)
    return _gathered(values.sort_index(kind="stable").resample(rule), frame[column], how)


def cumulated(column: pd.Series[Any], by: pd.Series[Any] | None = None) -> pd.Series[Any]:
    """Return the running sum of a column, exactly; a missing value adds nothing, and stays missing.

    Args:
        by: A column as long as this one; the sum starts anew for each of its values.
    """
    keys = [None] * len(column) if by is None else by.astype(object).where(by.notna(), None).to_list()
    sums: dict[Any, Decimal] = {}
    made: list[Decimal | None] = []
    with localcontext(EXACT):
        for key, value in zip(keys, decimals(column), strict=True):
            sums[key] = sums.get(key, Decimal(0)) + (value or 0)
            made.append(None if value is None else sums[key])
    return series(made, like=column)


def multiplied(column: pd.Series[Any], by: pd.Series[Any] | Decimal | int) -> pd.Series[Any]:
    """Return the product of two columns, or of a column and a number, exactly."""
    return _paired(column, by, lambda a, b: a * b)


def added(column: pd.Series[Any], to: pd.Series[Any] | Decimal | int) -> pd.Series[Any]:
    """Return the sum of two columns, row by row, or of a column and a number, exactly."""
    return _paired(column, to, lambda a, b: a + b)


def subtracted(column: pd.Series[Any], what: pd.Series[Any] | Decimal | int) -> pd.Series[Any]:
    """Return a column less another, row by row, or less a number, exactly."""
    return _paired(column, what, lambda a, b: a - b)


def divided(column: pd.Series[Any], by: pd.Series[Any] | Decimal | int, *, places: int = 6) -> pd.Series[Any]:
    """Return the quotient of two columns, or of a column and a number, rounded half to even; missing where `by` is 0.

    Args:
        places: Digits after the point, at most 18.
    """
    return _paired(column, by, lambda a, b: _ratio(a, b, places) if b else None)


def _ratio(a: Decimal, b: Decimal, places: int) -> Decimal:
    """Round a ratio of whole numbers, so that no quotient of many digits is rounded twice."""
    (above, below), (above_by, below_by) = a.as_integer_ratio(), b.as_integer_ratio()
    over, under = above * below_by * 10**places, below * above_by
    if under < 0:
        over, under = -over, -under
    whole, rest = divmod(over, under)
    whole += 2 * rest > under or (2 * rest == under and whole % 2 == 1)
    return EXACT.scaleb(Decimal(whole), -places)


def _paired(
    column: pd.Series[Any], other: pd.Series[Any] | Decimal | int, way: Callable[[Decimal, Decimal], Decimal | None]
) -> pd.Series[Any]:
    """Combine row by row: with a number, with a column of the same rows. What is missing on one side stays missing."""
    if isinstance(other, pd.Series) and not other.index.equals(column.index):
        raise ValueError(f"{column.name} and {other.name} have other rows; bring them into one frame first")
    left = decimals(column)
    right = decimals(other) if isinstance(other, pd.Series) else [_number(other)] * len(left)
    with localcontext(EXACT):
        made = [None if a is None or b is None else way(a, b) for a, b in zip(left, right, strict=True)]
    return series(made, like=column)


def _number(other: Any) -> Decimal:
    found = _decimal(other, "the number")
    if found is None:
        raise ValueError("the number is missing")
    return found


def floats(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column as floats, for drawing; sums belong before this."""
    values = [float("nan") if value is None else float(value) for value in decimals(column)]
    return pd.Series(values, index=column.index, name=column.name, dtype="float64")
