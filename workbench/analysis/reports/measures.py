"""Reports from declared measures. One engine groups rows, sums them, marks running periods and counts omitted rows.

A report holds the ids of the rows behind each number, in memory only, so that `history.explain` can list the rows.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal, localcontext
from functools import cached_property
from itertools import accumulate
from typing import Any, Self

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from workbench.analysis.reports.facts import CODED, MONEY, NUMBER, shown, whole
from workbench.analysis.reports.sources import Left
from workbench.analysis.tables.periods import Every, every_period, period_name, running
from workbench.analysis.tables.rows import (
    EXACT,
    TEXT,
    MemoryMark,
    decimal_series,
    decimals,
    is_missing,
    packed,
    to_pandas,
)
from workbench.base.errors import UsageError
from workbench.service.interface.formats import minor_digits
from workbench.service.rendering.text import counted, money

STATISTICS = {"median": "median", "p90": "0.9 quantile", "max": "max"}
"""Statistic for each `how` of a measure that is neither a sum nor a count."""


@attrs.frozen
class Measure:
    """A report column: a count of rows, or a statistic of a column of the rows.

    Args:
        name: Name of the column.
        column: Column of the rows; empty to count the rows.
        how: "sum", "distinct" (count of distinct values), "median", "p90" or "max".
        span: Periods that the measure covers: the period of the row ("in"), all earlier periods ("before"), or both
            ("through").
    """

    name: str
    column: str = ""
    how: str = "sum"
    span: str = "in"


def sums(*names: str) -> tuple[Measure, ...]:
    """Return a sum measure for each column. The measure has the name of the column."""
    return tuple(Measure(name, name) for name in names)


@attrs.frozen
class Share:
    """A measure divided by another measure of the same row, of another row, or summed over all rows.

    Args:
        name: Name of the column.
        part: The dividend.
        of: The divisor.
        at: Cells of the divisor's row that differ from the cells of this row; None for the sum over all rows.
    """

    name: str
    part: str
    of: str
    at: Mapping[str, Any] | None = {}


Measures = Sequence[Measure | Share]


@attrs.frozen
class Part:
    """The rows behind a number, the contribution of each row, and how the contributions make up the number."""

    rows: pd.DataFrame
    values: "pd.Series[Any]"
    statistic: str = "sum"
    divisor: int | None = None

    def table(self) -> pd.DataFrame:
        """Return the rows with the column `contribution`; a sum omits rows that contribute zero."""
        values = self.values.reset_index(drop=True)
        table = shown(self.rows).drop(columns="contribution", errors="ignore").reset_index(drop=True)
        table.attrs = {}
        table.insert(0, "contribution", values)
        kept = (values != 0).to_numpy(dtype=bool, na_value=False)
        return table[kept].reset_index(drop=True) if self.statistic == "sum" else table


@attrs.frozen(eq=False)
class Rows:
    """The source rows of a report.

    Args:
        values: The columns that measures use.
        keys: The columns that group the rows, by their names in the report.
        source: The table whose rows explain the numbers.
        places: Position of each row in `source`; None if `source` has the same rows.
    """

    values: pd.DataFrame
    keys: Mapping[str, Any]
    source: pd.DataFrame
    places: NDArray[np.int64] | None = None

    @cached_property
    def groups(self) -> tuple[NDArray[np.int64], pd.DataFrame]:
        """Return the group number of each row, and the keys of each group."""
        codes = np.zeros(len(self.values), "int64")
        if not self.keys:
            return codes, pd.DataFrame(index=range(1))
        for values in self.keys.values():
            own, different = pd.factorize(values, use_na_sentinel=False)
            codes = codes * max(len(different), 1) + own
        codes, different = pd.factorize(codes)
        first = np.zeros(len(different), "int64")
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        groups = pd.DataFrame({name: pd.Series(values).array.take(first) for name, values in self.keys.items()})
        coded = CODED.union({"reason"}).intersection(groups) if NUMBER in self.source else ()
        return codes, groups.astype(dict.fromkeys(coded, TEXT))

    def contributions(self, measure: Measure) -> "pd.Series[Any]":
        """Return the contribution of each row to a measure."""
        if not measure.column or measure.how == "distinct":
            return pd.Series(1, index=self.values.index, dtype="Int64")
        return self.values[measure.column]

    def measured(self, measure: Measure) -> Any:
        """Return the value of a measure for each group."""
        codes, groups = self.groups
        values = self.contributions(measure)
        if measure.how == "distinct":
            own, different = pd.factorize(self.values[measure.column])
            pairs = pd.unique((codes * len(different) + own)[own >= 0])
            return pd.array(np.bincount(pairs // max(len(different), 1), minlength=len(groups)), dtype="Int64")
        if measure.how != "sum":
            by_group = values.astype("Float64").groupby(codes)
            result = statistic_of(by_group, STATISTICS[measure.how])
            return result.reindex(range(len(groups))).astype("Float64").array
        if pd.api.types.is_numeric_dtype(values.dtype) and "decimal" not in str(values.dtype):
            sums = np.zeros(len(groups), "int64")
            np.add.at(sums, codes, whole(values))
            return pd.array(sums, dtype="Int64")
        table = pa.table({"group": codes, "value": pa.array(values.array)})
        by_group = table.group_by("group", use_threads=False)  # with threads, the order of groups varies
        sums = by_group.aggregate([("value", "sum")])["value_sum"].combine_chunks()
        known = pc.coalesce(sums, pa.scalar(Decimal(0), sums.type))
        return to_pandas(packed(known if len(known) else [Decimal(0)] * len(groups)))

    def part(self, measure: Measure, cells: Mapping[str, Any], period: str) -> Part:
        """Return the rows behind a measure in the report row that has these cells."""
        chosen = np.ones(len(self.values), bool)
        for name, values in self.keys.items():
            if name not in cells:
                raise UsageError(f"the column {name}, which identifies a row, is missing", of="history.explain")
            column, key = pd.Series(values), cells[name]
            if name == period and measure.span != "in":
                same = column < key if measure.span == "before" else column <= key
            else:
                same = column.isna() if is_missing(key) else column == key
            chosen &= same.to_numpy(dtype=bool, na_value=False)
        values = self.contributions(measure)[chosen]
        places = np.flatnonzero(chosen) if self.places is None else self.places[chosen]
        rows = self.source.iloc[places]
        if measure.how == "distinct":
            once = ~rows[measure.column].duplicated().to_numpy() & rows[measure.column].notna().to_numpy()
            rows, values = rows[once], values[once]
        return Part(rows, values, STATISTICS.get(measure.how, "sum"))


def statistic_of(values: Any, statistic: str) -> Any:
    """Compute a statistic of values or groups: "median", "max" or a quantile such as "0.9 quantile"."""
    share, _, quantile = statistic.partition(" ")
    return values.quantile(float(share)) if quantile else values.agg(statistic)


class Trace(MemoryMark):
    """Link from each number of a report to its rows, stored in `frame.attrs["trace"]`."""

    __slots__ = ("measures", "period", "rows")
    rows: Rows
    measures: dict[str, Measure | Share]
    period: str

    @classmethod
    def of(cls, rows: Rows, measures: Measures, period: str) -> Self:
        """Return the trace of a report."""
        trace = cls()
        trace.rows, trace.period = rows, period
        trace.measures = {measure.name: measure for measure in measures}
        return trace

    def part_of(self, cells: Mapping[str, Any], column: str) -> Part | None:
        """Return the rows behind a report cell; None if the column is not a measure."""
        measure = self.measures.get(column)
        if isinstance(measure, Share):
            part = self.part_of(cells, measure.part)
            other = dict.fromkeys(self.rows.keys, _ALL) if measure.at is None else {**cells, **measure.at}
            divisor = self._total(measure.of, other)
            return part and attrs.evolve(part, divisor=divisor)
        return None if measure is None else self.rows.part(measure, cells, self.period)

    def _total(self, name: str, cells: Mapping[str, Any]) -> int:
        measure: Any = self.measures[name]
        if _ALL in cells.values():
            return int(self.rows.contributions(measure).sum())
        return int(self.rows.part(measure, cells, self.period).values.sum())


_ALL = object()


def report(
    rows: Rows,
    measures: Measures,
    *,
    largest: str = "",
    freq: Every | None = None,
    tz: str = "UTC",
    until: datetime | None = None,
    every: bool = False,
) -> pd.DataFrame:
    """Return a report with one row for each group, and one column for each measure.

    Args:
        rows: Source rows with their grouping columns.
        measures: Columns of the report, after the grouping columns.
        largest: Measure that sorts the rows in descending order. By default the rows are in the order of their groups.
        freq: Period of the first grouping column. The report then has the column `running`.
        tz: Time zone of periods.
        until: Time up to which the data are complete.
        every: Whether to add rows for periods without data.
    """
    period = period_name(freq) if freq else ""
    frame = rows.groups[1].copy()
    keys = [str(name) for name in frame]
    own = [measure for measure in measures if isinstance(measure, Measure)]
    for measure in own:
        frame[measure.name] = rows.measured(measure)
    if every and freq and len(frame):
        frame = _filled(frame, period, [key for key in keys if key != period], freq)
    frame = frame.sort_values(keys, ignore_index=True) if keys else frame
    for measure in own:
        if measure.span != "in":
            frame[measure.name] = _cumulated(frame, measure, [key for key in keys if key != period])
    for share in measures:
        if isinstance(share, Share):
            frame[share.name] = _shares(frame, share, keys)
    frame = frame[[*keys, *(measure.name for measure in measures)]]
    if largest:
        frame = frame.sort_values([largest, *keys], ascending=[False, *(True for _ in keys)], ignore_index=True)
    if freq:
        frame["running"] = running(frame[period], freq, tz, until)
    frame.attrs["trace"] = Trace.of(rows, measures, period)
    return frame


def _filled(frame: pd.DataFrame, period: str, others: list[str], freq: Every) -> pd.DataFrame:
    """Add a row of zeros for each missing period between the first and the last, for each combination of `others`."""
    periods = pd.DataFrame({period: every_period(frame[period], freq)})
    grid = periods.merge(frame[others].drop_duplicates(), how="cross") if others else periods
    filled = grid.merge(frame, on=[period, *others], how="left")
    for name in filled:
        if name not in {period, *others}:
            zero: Any = Decimal(0) if "decimal" in str(filled[name].dtype) else 0
            filled[name] = filled[name].fillna(zero)
    return filled


def _cumulated(frame: pd.DataFrame, measure: Measure, others: list[str]) -> Any:
    values = frame[measure.name]
    if "decimal" in str(values.dtype):
        with localcontext(EXACT):
            sums = decimal_series([*accumulate(value or Decimal(0) for value in decimals(values))], like=values)
    else:
        sums = values.groupby([frame[name] for name in others], dropna=False).cumsum() if others else values.cumsum()
    return sums - values if measure.span == "before" else sums


def _shares(frame: pd.DataFrame, share: Share, keys: list[str]) -> Any:
    of: Any = frame[share.of].astype("Float64")
    if share.at is None:
        of = of.sum()
    elif share.at:
        chosen = frame
        for name, value in share.at.items():
            chosen = chosen[chosen[name] == value]
        same = [key for key in keys if key not in share.at]
        values = frame[same].merge(chosen[[*same, share.of]], on=same, how="left") if same else chosen
        of = values[share.of].astype("Float64").to_numpy(na_value=np.nan) if same else float(chosen[share.of].sum())
    result = frame[share.part].astype("Float64") / of
    return result.where(np.isfinite(result.to_numpy(dtype="float64", na_value=np.nan))).astype("Float64")


def caveats_of(left: Iterable[Left], noun: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Return a note for each caveat and currency, largest amount first, and the numbers in the notes as data."""
    entries: list[tuple[float, str, dict[str, Any]]] = []
    for part in left:
        names = [name for name in (*MONEY, *_OTHER_AMOUNTS) if name in part.rows]
        codes = part.rows["currency"] if "currency" in part.rows else pd.Series(None, part.rows.index, dtype=TEXT)
        for code, rows in part.rows.groupby(codes, dropna=False):
            currency = code if isinstance(code, str) else None
            amounts = {name: rows[name].sum() if name == "points" else int(rows[name].sum()) for name in names}
            entry = {"reason": part.reason, "currency": currency, "rows": len(rows), **amounts}
            largest = max(map(abs, amounts.values()), default=0)
            stake = float(largest) / 10 ** (minor_digits(currency or "usd") if "points" not in amounts else 0)
            written = ", ".join(_written(name, amount, currency) for name, amount in amounts.items() if amount)
            nouns = {"rows": counted(len(rows), noun), "transactions": counted(len(rows), "transactions")}
            about = {"reason": part.reason, "count": len(rows), **nouns}
            note = part.sentence.format(**about, amounts=f" ({written})" if written else "")
            entries.append((stake, note, entry))
    entries.sort(key=lambda entry: entry[0], reverse=True)
    return [note for _, note, _ in entries], [entry for _, _, entry in entries if entry["reason"]]


_OTHER_AMOUNTS = ("requested_cents", "moved_cents", "points")


def _written(name: str, amount: Any, currency: str | None) -> str:
    if name == "points":
        return f"points {amount.normalize():,f}"
    return f"{name.removesuffix('_cents')} {money(amount, currency)}" if currency else f"{name} {amount:,}"


def columns_of(by: str | Collection[str] | None) -> list[str]:
    """Return the column names in `by` as a list. `by` is one name, several names, or None."""
    return [by] if isinstance(by, str) else list(by or ())
