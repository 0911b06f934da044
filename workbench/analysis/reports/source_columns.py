"""Convert the columns of frames from any file or library to the types that facts need. Errors name the column."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from workbench.analysis.reports.facts import CODED, NUMBER, TIME, are_plain, coded, mask
from workbench.analysis.tables.rows import TEXT
from workbench.base.errors import UsageError, not_allowed, visible

OWN = "own:"
"""Prefix of the caller's columns in facts, which prevents conflicts with the workbench's columns."""


def check_columns(frame: pd.DataFrame, of: str) -> None:
    """Check that no two columns have the same name.

    Raises:
        UsageError: Two columns have the same name.
    """
    if not frame.columns.is_unique:
        name = visible(str(frame.columns[frame.columns.duplicated()][0]), 40)
        raise UsageError(f"two columns are named {name}: rename or drop one of them", of=of)


def words_of(values: "pd.Series[Any]", known: Collection[str]) -> "pd.Series[Any]":
    """Return the words of a column in lower case.

    Raises:
        UsageError: A word is not in `known`.
    """
    lowered = {word: str(word).strip().lower() for word in values.dropna().unique()}
    if unknown := sorted({*lowered.values()} - {*known}):
        raise UsageError([not_allowed(str(values.name), unknown[0], known)], of="history")
    is_lower = all(word == text for word, text in lowered.items())
    return values if is_lower else values.astype(object).map(lowered)


def cents_of(ledger: pd.DataFrame, name: str, of: str) -> "pd.Series[Any]":
    """Return a ledger's amounts as whole numbers.

    Raises:
        UsageError: An amount is missing or is not a whole number.
    """
    cents = converted(ledger[name], "Int64", name)
    if cents.isna().any():
        raise UsageError(f"{name} must be a whole number of minor units in each row", of=of)
    return cents


def typed(frame: pd.DataFrame, dtypes: Mapping[str, Any], given: Mapping[str, str] = {}) -> pd.DataFrame:
    """Convert columns to the types in `dtypes`, whatever file format or library the frame comes from.

    Args:
        frame: The frame.
        dtypes: The types by column.
        given: The caller's column names, for error messages.

    Raises:
        UsageError: A time cannot be read, or an amount has a fraction or is negative.
    """
    columns: dict[Any, Any] = {}
    for name, dtype in dtypes.items():
        values = frame[name] if name in frame else pd.Series(index=frame.index, dtype=dtype)
        columns[name] = values if values.dtype == dtype else converted(values, dtype, given.get(name, name))
        if dtype == "Int64" and values.dtype != dtype and _have_numbers(values[mask(columns[name].isna())]):
            raise UsageError(f"{given.get(name, name)} must be a whole number of minor units in each row", of="history")
        if name in _NOT_NEGATIVE and mask(columns[name] < 0).any():
            raise UsageError(f"{name} must be at least 0 in each row, including refunds", of="history")
        if name in CODED:
            write = _from_number if name == _CODE and values.dtype != dtype else _WRITTEN.get(name)
            columns[name] = coded(columns[name], write)
    columns |= {f"{OWN}{str(name).removeprefix(OWN)}": frame[name] for name in frame if name not in dtypes}
    table = pd.DataFrame(columns, copy=False).reset_index(drop=True)
    table[NUMBER] = pd.factorize(table["transaction_id"])[0]
    return table


_CODE = "merchant_category_code"
_NOT_NEGATIVE = frozenset({"authorized_cents", "posted_cents", "refunded_cents"})
_WRITTEN: Mapping[str, Callable[[str], str]] = {
    **dict.fromkeys(("currency", "local_currency"), lambda text: text.strip().lower()),
    "merchant_name": str.strip,
    "action": lambda kind: kind.removeprefix("transaction."),
}
"""Function that normalizes the texts of a column."""


def ids_of(frame: pd.DataFrame, names: Collection[str]) -> pd.DataFrame:
    """Return a frame whose ids have no spaces around them, and UUIDs in lower case, as in the events of the service."""
    columns = {}
    for name in names:
        if name in frame and not isinstance(frame[name].dtype, pd.CategoricalDtype) and not are_plain(frame[name]):
            texts = frame[name].astype(TEXT).str.strip()
            is_upper = mask(texts.str.fullmatch("[0-9A-F]{8}-(?:[0-9A-F]{4}-){3}[0-9A-F]{12}"))
            columns[name] = texts.where(~is_upper, texts.str.lower()) if is_upper.any() else texts
    return frame.assign(**columns)


def _from_number(text: str) -> str:
    """Restore a category code that was stored as a number: `742.0` becomes `0742`."""
    return text.removesuffix(".0").zfill(4)


def converted(values: "pd.Series[Any]", dtype: Any, name: str) -> "pd.Series[Any]":
    if isinstance(values.dtype, pd.CategoricalDtype):
        different = converted(pd.Series(values.cat.categories), dtype, name)
        return pd.Series(different.array.take(values.cat.codes.to_numpy(), allow_fill=True), values.index)
    if dtype == TIME:
        texts = values.astype(TEXT) if is_numeric_dtype(values) else values.astype(object)
        times = pd.to_datetime(texts, utc=True, errors="coerce", format="ISO8601").astype(TIME)
        if mask(times.isna() & values.notna() & (values.astype(TEXT).str.strip() != "")).any():
            problem = f"{name} must be empty or a time such as 2026-03-31T10:00:00Z in each row"
            raise UsageError(problem, of="history")
        return times
    if dtype == "Int64" and pd.api.types.is_integer_dtype(values.dtype):
        return values.astype("Int64")
    if dtype == "Int64":
        return values.map(_whole_number, na_action="ignore").astype("Int64")
    return values.astype(object).where(values.notna(), None).map(str, na_action="ignore").astype(dtype)


def _whole_number(value: Any) -> Any:
    """Return a 64-bit integer from any notation; NA for other values, and for floats that may have lost digits."""
    try:
        exact = Decimal(str(value))
        is_exact = exact == exact.to_integral_value() and abs(exact) < (2**53 if isinstance(value, float) else 2**63)
        return int(exact) if is_exact else pd.NA
    except (InvalidOperation, OverflowError, ValueError):
        return pd.NA


def _have_numbers(values: "pd.Series[Any]") -> bool:
    """Return whether a value is a number with a fraction, or a text with digits, such as "$5" or "5,000"."""
    for value in values.dropna():
        if isinstance(value, complex) or (isinstance(value, str) and any(map(str.isdigit, value))):
            return True
        with suppress(InvalidOperation, ValueError):
            exact = Decimal(str(value))
            if exact.is_finite() and exact != exact.to_integral_value():
                return True
    return False
