"""Rows that a report includes, and notes on the others: currency, time, duplicates, groups."""

import weakref
from collections.abc import Collection
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.tables.periods import is_period, steps
from workbench.base.errors import UsageError, not_allowed, visible

Columns = str | Collection[str]


def in_scope(
    table: pd.DataFrame, noun: str, *, currency: str | None = None, time: str = ""
) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of one currency that have a time, each transaction once, and notes that count the others.

    Args:
        table: Transactions or postings.
        noun: Noun for a row in the notes.
        currency: Keep rows in this currency; None for all.
        time: Keep rows with a value in this column.
    """
    notes = list(table.attrs.get("notes", ()))
    table, repeated = without_repeats(table)
    notes += [f"{repeated:,} {noun} occur more than once, as after concat; each counts once."] * bool(repeated)
    if currency is not None:
        own = is_currency(table, currency)
        if not own.all():
            others = table["currency"][~own].fillna("(none)").str.upper().value_counts()
            listed = ", ".join(f"{count:,} in {visible(str(name), 8)}" for name, count in others.items())
            notes.append(f"{int((~own).sum()):,} {noun} in another currency are left out: {listed}.")
            table = table[own]
    if time:
        known = table[time].notna()
        if not known.all():
            notes.append(f"{int((~known).sum()):,} {noun} without {time} are left out.")
            table = table[known]
    return table, notes


def is_currency(table: pd.DataFrame, currency: str) -> Any:
    """Return a mask of the rows in a currency."""
    values = pa.array(table["currency"].array)
    known = pc.unique(values).to_pylist()
    same = [value for value in known if isinstance(value, str) and value.lower() == currency.lower()]
    if len(same) == len(known) == 1:
        return pd.Series(True, index=table.index)
    return table["currency"].isin(same)


_WITHOUT_REPEATS: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()
"""Columns of ids known to have no duplicates, by identity, because Arrow arrays are immutable."""


def without_repeats(table: pd.DataFrame, name: str = "transaction_id") -> tuple[pd.DataFrame, int]:
    """Return a table without duplicate rows, as `concat` makes them, and the number left out.

    Args:
        table: Transactions, postings (which repeat where an event has two rows of one kind) or other records.
        name: Column of ids; rows without one are never duplicates.
    """
    name = "event_id" if "posting" in table else name
    if name not in table:
        return table, 0
    column = _arrow(table[name])
    if column is not None and _WITHOUT_REPEATS.get(id(column)) is column:
        return table, 0
    codes, _ = pd.factorize(table[name])
    known = codes >= 0
    if "posting" in table:  # an event has one row of each kind
        kinds, names = pd.factorize(table["posting"])
        codes = codes * len(names) + kinds
    repeated = pd.Series(codes).duplicated().to_numpy() & known
    if repeated.any():
        return table[~repeated], int(repeated.sum())
    remember_unique(table[name])
    return table, 0


def remember_unique(ids: "pd.Series[Any]") -> None:
    """Remember that ids occur once each, so that no report has to look for duplicates."""
    if (column := _arrow(ids)) is not None:
        _WITHOUT_REPEATS[id(column)] = column


def _arrow(column: "pd.Series[Any]") -> object:
    """Return the Arrow array of a column, the same object at each call; None for a column without one."""
    return getattr(column.array, "__arrow_array__", lambda: None)()


def columns_of(by: Columns) -> list[str]:
    """Return `by`, a name or a list of names, as a list."""
    return [by] if isinstance(by, str) else list(by)


def grouped(
    table: pd.DataFrame, by: Columns, of: str, *, time: str = "", tz: str = "UTC"
) -> tuple[pd.DataFrame, list[str]]:
    """Return a table that has each column of `by`, periods such as "month" computed from its times, and their names.

    Args:
        table: The rows.
        by: Columns, including your own, or periods.
        of: Name of the report, for errors.
        time: Column from which periods are computed.
        tz: Time zone of periods.

    Raises:
        UsageError: The table has no such column.
    """
    names = []
    for name in columns_of(by):
        if name not in table and is_period(name) and time:
            period = steps(table[time], name, tz)
            table, name = table.assign(**{str(period.name): period}), str(period.name)
        if name not in table:
            raise UsageError([not_allowed("by", name, table.columns)], of=of)
        names.append(name)
    return table, names
