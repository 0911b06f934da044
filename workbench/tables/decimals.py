"""Exact numbers in columns: the values choose the width of a column, and no digit is lost.

A decimal column is `decimal128(18, 6)`, which pandas can add, multiply and divide. Values with more digits make it
`decimal256(37, 18)`, then `decimal256(75, 18)`; a column that fits none of these, such as one with a balance of 78
digits, stays text.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal, InvalidOperation, localcontext
from typing import Any

import pandas as pd
import pyarrow as pa

WIDTHS = (pa.decimal128(18, 6), pa.decimal256(37, 18), pa.decimal256(75, 18))
"""The types of a decimal column, the usual one first."""
EXACT = Context(prec=1000, Emin=-10_000, Emax=10_000)


def packed(values: Sequence[Decimal | None], *, at_least: Any = None) -> Any:
    """Return decimals as an Arrow array of the first type that holds them all exactly; as text where none does.

    Args:
        values: The numbers, None where missing.
        at_least: The first of `WIDTHS` to try.
    """
    for width in WIDTHS[WIDTHS.index(at_least) if at_least in WIDTHS else 0 :]:
        try:
            return pa.array(values, type=width)
        except (pa.ArrowInvalid, ValueError, OverflowError):
            continue
    texts = [None if value is None else format(value.normalize(EXACT), "f") if value else "0" for value in values]
    return pa.array(texts, type=pa.large_string())


def decimals(column: pd.Series[Any]) -> list[Decimal | None]:
    """Return the values of a column as Decimals, None where missing.

    Raises:
        ValueError: A value is not an exact number: a float, a masked value, a word.
    """
    return [_decimal(value, column.name) for value in column.to_list()]


def _decimal(value: Any, name: Any) -> Decimal | None:
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    if isinstance(value, float | bool):
        raise ValueError(f"column {name} holds values of type {type(value).__name__}, not exact numbers")
    try:
        return EXACT.create_decimal(value if isinstance(value, Decimal | int | str) else int(value))
    except (InvalidOperation, ValueError, TypeError):
        pass
    raise ValueError(f"column {name} holds a value that is not a number; reveal a masked column first")


def decimal_series(values: Sequence[Decimal | None], *, like: pd.Series[Any] | None = None) -> pd.Series[Any]:
    """Return a column of decimals, with the index and the name of `like` and at least as wide."""
    width = getattr(like.dtype, "pyarrow_dtype", None) if like is not None else None
    made = packed(values, at_least=width)
    dtype = "str" if pa.types.is_large_string(made.type) else pd.ArrowDtype(made.type)
    about: dict[str, Any] = {} if like is None else {"index": like.index, "name": like.name}
    return pd.Series(pd.array(made.to_pylist(), dtype=dtype), **about)  # type: ignore[no-any-return]


def cumsum(column: pd.Series[Any], by: pd.Series[Any] | None = None) -> pd.Series[Any]:
    """Return the running sum of a decimal column, exactly: pandas has none. Missing values stay missing and add nothing.

    Args:
        column: A column of decimals or whole numbers.
        by: A column of the same length; the sum restarts for each of its values.
    """
    keys = [None] * len(column) if by is None else by.astype(object).where(by.notna(), None).to_list()
    sums: dict[Any, Decimal] = {}
    made: list[Decimal | None] = []
    with localcontext(EXACT):
        for key, value in zip(keys, decimals(column), strict=True):
            sums[key] = sums.get(key, Decimal(0)) + (value or 0)
            made.append(None if value is None else sums[key])
    return decimal_series(made, like=column)
