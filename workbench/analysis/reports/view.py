"""Filtered view of a source: its facts and transactions, and the reports that group them."""

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Self

import pandas as pd

from workbench.analysis.reports.facts import MONEY, NUMBER, begun_earlier, mask, shown, transactions_of
from workbench.analysis.reports.filters import Filter
from workbench.analysis.reports.measures import Measures, Rows, caveats_of, columns_of
from workbench.analysis.reports.measures import report as grouped
from workbench.analysis.reports.source_columns import OWN
from workbench.analysis.reports.sources import Left, Reading, is_other, read
from workbench.analysis.tables.periods import Every, is_period, steps
from workbench.analysis.tables.rows import mark_report, with_checked_marks
from workbench.base.errors import UsageError, not_allowed, visible

Columns = str | Collection[str]
UNKNOWN_AMOUNT = "with an unknown amount"
"""Reason to leave out a posting."""
_AS_KNOWN = {"facts", "_known", "_folded", "_begun_earlier", "_unknown"}
"""Cached values that change only if a filter has another `at`."""


class View:
    """The rows of a source that pass a filter."""

    def __init__(self, source: object, scope: Filter | None = None, known: Mapping[str, Any] | None = None) -> None:
        """Create a history. Call `wb.history(source)` instead."""
        self.source = with_checked_marks(source) if isinstance(source, pd.DataFrame) else source
        self.scope = scope or Filter()
        self.__dict__.update(known or {})  # cached values that do not depend on the filter

    @cached_property
    def reading(self) -> Reading:
        """Return the source with its kind, end, notes and unread events."""
        return read(self.source)

    @cached_property
    def facts(self) -> pd.DataFrame:
        """Return the facts that were known at the filter's time, from which `postings` is made."""
        return self._known[0]

    @cached_property
    def _known(self) -> tuple[pd.DataFrame, Left]:
        return self.reading.facts(self.scope.at)

    @cached_property
    def _folded(self) -> pd.DataFrame:
        """Return the transactions summed up from the facts."""
        return transactions_of(self.facts)

    @cached_property
    def _begun_earlier(self) -> Left:
        """Return the transactions whose authorization is not in the source."""
        rows = transactions_of(begun_earlier(self.facts))[["currency", *MONEY[2:]]]
        return Left("", rows, "Without an authorization in the source: {transactions}{amounts}.")

    @cached_property
    def _unknown(self) -> Left:
        """Return the postings without a readable amount."""
        rows = self.facts.loc[mask(self.facts["posted_cents"].isna()), ["currency"]]
        return Left("", rows, f"Postings {UNKNOWN_AMOUNT}: {{count:,}}; no sum has them.")

    @property
    def until(self) -> datetime | None:
        """Return the time up to which the history is complete, or None if its source does not state it."""
        end = self.reading.until
        return end if self.scope.at is None else self.scope.at if end is None else min(end, self.scope.at)

    def __repr__(self) -> str:
        reach = self.until.isoformat(sep=" ", timespec="seconds") if self.until else "an unknown time"
        return f"<history from {self.reading.kind}: {len(self.facts):,} postings until {reach}; {self.scope}>"

    def filter(
        self,
        period: str | tuple[Any, Any] | None = None,
        *,
        tz: str | None = None,
        currency: str | None = None,
        at: object = None,
    ) -> Self:
        """Return the history filtered by period, by currency, or up to a time. Each report then states the filter.

        Args:
            period: "2026-03", "2026-W14" (ISO), "2026-Q1", "2026", a day, a fiscal "FY2026-Q1-SEP" (the fiscal year
                ends in September; a later filter may omit the month), or a pair of first and last day.
            tz: Time zone of periods, such as "America/New_York"; default UTC.
            currency: Currency code such as "usd". By default all currencies are shown, in separate rows.
            at: Day or time. Later events are ignored.

        Raises:
            UsageError: A value is invalid, or the history has no such currency.
        """
        scope = self.scope.changed(period, tz, currency, at)
        if scope.at == self.scope.at and not is_other(self.source):
            _ = self._begun_earlier  # computed here once, since every report needs it, whatever the filter
        same = {"reading"} | (_AS_KNOWN if scope.at == self.scope.at else set())
        known = {name: value for name, value in self.__dict__.items() if name in same}
        filtered = type(self)(self.source, scope, known)
        if currency is not None and not is_other(self.source):
            codes = sorted(filtered.facts["currency"].dropna().unique())
            if codes and scope.currency not in codes:
                raise UsageError([not_allowed("currency", scope.currency, codes)], of="history.filter")
        return filtered

    def _rows(
        self, table: pd.DataFrame, time: str, freq: Every | None = None, scope: Filter | None = None
    ) -> tuple[pd.DataFrame, list[Left], Any]:
        """Return the filtered rows, the rows left out, and the first day of each row's period, by row index."""
        scope = scope or self.scope
        rows, left = scope.rows(table, time)
        if freq is None:
            return rows, left, None
        periods = steps(rows[time], freq, scope.tz)
        if time == "at" and (untimed := mask(rows["at"].isna())).any():
            first, last = (steps(rows.loc[untimed, name], freq, scope.tz) for name in ("earliest", "latest"))
            periods[untimed] = first.where(mask(first == last))
        unknown = mask(periods.isna())
        left.append(Left("with an unknown period", rows[unknown]))
        return rows[~unknown], left, periods[~unknown]

    def _keys(self, rows: pd.DataFrame, by: Columns | None, period: Any, measures: Measures, of: str) -> dict[str, Any]:
        """Return the grouping columns: the period, the columns in `by`, and the currency if the rows have several."""
        keys: dict[str, Any] = {} if period is None else {str(period.name): period[rows.index]}
        names = columns_of(by)
        for name in names:
            column = OWN + name if OWN + name in rows else name
            if name in keys or name in {measure.name for measure in measures} | {"running"}:
                raise UsageError(
                    f"by={visible(name, 40)!r} and a column of the report have the same name: rename your column, or "
                    "group without it",
                    of=of,
                )
            if column not in rows or column == NUMBER:
                if is_period(name):
                    raise UsageError(f"{name} is a period, not a column: use freq={name!r}", of=of)
                of_rows = self._folded if "status" in rows else self.facts
                known = [str(column).removeprefix(OWN) for column in of_rows if column != NUMBER]
                raise UsageError([not_allowed("by", name, known)], of=of)
            keys[name] = rows[column]
        is_money = any(measure.name.endswith("_cents") for measure in measures)
        if is_money and "currency" not in keys and rows["currency"].nunique(dropna=False) > 1:
            keys["currency"] = rows["currency"]
        return keys

    def _report(
        self,
        kind: str,
        rows: Rows,
        measures: Measures,
        left: Collection[Left],
        noun: str = "transactions",
        freq: Every | None = None,
        notes: Collection[str] = (),
        by: Columns | None = (),
        **options: Any,
    ) -> pd.DataFrame:
        tz = self.scope.tz
        frame = grouped(rows, measures, freq=freq, tz=tz, until=self.until, **options)
        more = {"tz": tz, "by": columns_of(by)} | ({"freq": freq} if freq else {})
        return self._marked(frame, kind, left, noun, notes, currency=self._currency_of(rows.values), **more)

    def _currency_of(self, rows: pd.DataFrame) -> str | None:
        """Return the currency that all rows share, or None."""
        if self.scope.currency or "currency" not in rows:
            return self.scope.currency
        codes = rows["currency"].dropna().unique()
        return codes[0] if len(codes) == 1 else None

    def _marked(
        self,
        frame: pd.DataFrame,
        kind: str,
        left: Collection[Left] = (),
        noun: str = "transactions",
        notes: Collection[str] = (),
        **more: object,
    ) -> pd.DataFrame:
        """Return a frame with attributes: its filter, notes on its numbers, and caveats on rows by amount."""
        general = [self._known[1], self._begun_earlier, *self.reading.caveats]
        general += [] if any(part.reason == UNKNOWN_AMOUNT for part in left) else [self._unknown]
        sentences, entries = caveats_of([*left, *general], noun)
        for reason, count in self.reading.unread.items():
            entries.append({"reason": reason, "currency": None, "rows": count})
            sentences.append(f"Left out: {count:,} ({reason}).")
        meaning = [*notes, *self.reading.notes]
        if self.reading.rows.empty:
            meaning.insert(0, "The source has no card transactions.")
        if self.until is not None and self.scope.since is not None and self.scope.since > self.until:
            meaning.insert(0, f"No data for {self.scope.period}: the data end {self.until:%Y-%m-%d}.")
        notes = [f"Shown: {self.scope}.", *meaning, *sentences]
        more |= {} if self.reading.complete is None else {"complete": self.reading.complete}
        until = self.until and self.until.isoformat()
        return mark_report(frame, kind, notes, until=until, filter=str(self.scope), left_out=entries, **more)

    def _own(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table in which the caller's columns have their original names.

        Raises:
            UsageError: One of the caller's columns has the same name as a column of the table.
        """
        table = shown(table)
        names = {name: str(name).removeprefix(OWN) for name in table if str(name).startswith(OWN)}
        if both := sorted(set(names.values()) & set(table)):
            raise UsageError(
                f"your column {visible(both[0], 40)} and a column of the table have the same name: rename yours, "
                "or drop it",
                of="history",
            )
        return table.rename(columns=names)
