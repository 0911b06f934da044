"""Explain a report number by the source rows from which it results exactly, with their events and requests."""

from collections.abc import Collection
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.reports.facts import POSTINGS, shown
from workbench.analysis.reports.measures import Part, Trace, statistic_of
from workbench.analysis.reports.source_columns import OWN
from workbench.analysis.reports.view import View
from workbench.analysis.tables.columns import AMOUNT
from workbench.analysis.tables.rows import EXACT, TEXT, decimals, is_missing, mark_report
from workbench.base.errors import Problem, UsageError, not_allowed
from workbench.client.session import sandbox_of

_OF = "history.explain"
_MAX_EVENTS = 10_000  # maximum number of rows whose events are listed
_RECORDS = frozenset(
    {
        "postings",
        "transactions",
        "status_history",
        "time_in_status",
        "contract_values",
        "balances",
        "anomalies",
        "reconciliation",
    }
)
"""Kinds of reports whose rows come from one record each."""


class Explanations(View):
    """Methods that list the rows behind the numbers of reports."""

    def explain(
        self,
        frame: pd.DataFrame,
        column: str,
        row: int | Collection[int] | None = None,
        *,
        minus: tuple[Any, ...] | None = None,
    ) -> pd.DataFrame:
        """Return the source rows that add up to a number in a report, with their events and requests.

        Args:
            frame: A report that this process computed.
            column: The column.
            row: Position of the row, or several positions. By default all rows, for the total of the column.
            minus: Another number as (frame, column, row). The result then lists the rows behind the difference.

        Returns:
            One row for each contribution. Columns: contribution (with the unit of the column), the columns of the
            source, and for transactions `event_ids` and `requests` (operation, status and answer), if they are known.
            `attrs["formula"]` states how the contributions make up `attrs["number"]`. The notes list the rows that are
            left out.

        Raises:
            UsageError: The frame is not a report that this process computed, the cell does not exist, or its value was
                changed.
        """
        parts, number = _parts(frame, column, row)
        table, formula = _added(parts)
        unit = AMOUNT.search(column)
        notes = list(frame.attrs.get("notes", ()))
        if minus is not None:
            other, other_number = _parts(minus[0], minus[1], *minus[2:])
            table = _difference(table, _added(other)[0])
            number = number - other_number
            formula = f"the sum of {len(table):,} rows that differ"
            if _sum(table["contribution"]) != Decimal(str(number)):
                raise UsageError("the two numbers come from rows of different kinds", of=_OF)
            notes += [f"Subtracted: {note}" for note in minus[0].attrs.get("notes", ()) if note not in notes]
        if "transaction_id" in table and len(table) <= _MAX_EVENTS:
            table = with_events(table, self.facts, self.source)
        table = table.rename(columns={"contribution": f"contribution{unit[0] if unit else ''}"})
        table = table.rename(columns={name: str(name).removeprefix(OWN) for name in table})
        listed = [f"{column}: {number} = {formula}.", *notes]
        if len(table) > _MAX_EVENTS:
            listed.append(f"{len(table):,} rows were read; events and requests are listed for at most {_MAX_EVENTS:,}.")
        left = frame.attrs.get("left_out", [])
        return mark_report(table, "explanation", listed, number=str(number), formula=formula, left_out=left)


def _parts(frame: pd.DataFrame, column: str, row: int | Collection[int] | None = None) -> tuple[list[Part], Any]:
    """Return the parts behind one or more cells of a column, and the number that the cells add up to.

    Raises:
        UsageError: The frame is not a report that this process computed, a cell does not exist, or its value was
            changed.
    """
    if column not in frame:
        raise UsageError([not_allowed("column", column, frame.columns)], of=_OF)
    rows = range(len(frame)) if row is None else [row] if isinstance(row, int | np.integer) else [*row]
    if not all(0 <= place < len(frame) for place in rows):
        raise UsageError([Problem("row", "range", f"must be a position from 0 to {len(frame) - 1}")], of=_OF)
    parts = [_part(frame, column, int(place)) for place in rows]
    if len(parts) == 1:
        return parts, frame[column].iloc[rows[0]]
    if any(part.statistic != "sum" or part.divisor is not None for part in parts):
        raise UsageError(f"{column} has no total over rows: explain one row", of=_OF)
    codes = frame["currency"].iloc[[*rows]].nunique(dropna=False) if "currency" in frame else 1
    if codes > 1 and AMOUNT.search(column):
        raise UsageError(f"{column} has no total over currencies: explain the rows of one currency", of=_OF)
    return parts, sum((_sum(part.values) for part in parts), Decimal(0))


def _part(frame: pd.DataFrame, column: str, row: int) -> Part:
    cells = {str(name): frame[name].iloc[row] for name in frame}
    trace = frame.attrs.get("trace")
    if isinstance(trace, Trace):
        part = trace.part_of(cells, column)
    elif frame.attrs.get("kind") in _RECORDS:
        values = pd.Series([cells[column]], dtype=frame[column].dtype)
        is_amount = AMOUNT.search(column)
        part = Part(frame.iloc[[row]], values.fillna(0) if is_amount else values, "sum" if is_amount else "record")
    else:
        raise UsageError(
            "the frame is not a report that this process computed; merging, concatenating or saving a report removes "
            "the links to its source rows",
            of=_OF,
        )
    if part is None:
        raise UsageError(f"{column} is not a number computed from rows", of=_OF)
    number, total = cells[column], _total(part)
    if is_missing(number) and (is_missing(total) or part.statistic == "sum"):
        return part
    if not _is_same(number, total):
        raise UsageError(f"{column} is {number} in the frame but {total} in the report: the frame was changed", of=_OF)
    return part


def _sum(values: "pd.Series[Any]") -> Decimal:
    with localcontext(EXACT):
        return sum((value for value in decimals(values) if value is not None), Decimal(0))


def _total(part: Part) -> Any:
    """Return the number that results from the contributions."""
    if part.statistic == "record":
        return part.values.iloc[0]
    if part.statistic != "sum":
        return statistic_of(part.values.astype("Float64"), part.statistic)
    total = _sum(part.values)
    if part.divisor is None:
        return total
    return int(total) / part.divisor if part.divisor else None


def _added(parts: list[Part]) -> tuple[pd.DataFrame, str]:
    """Return the contributions of all parts in one table, and a phrase on how the number results from them."""
    tables = [part.table() for part in parts]
    table = pd.concat(tables, ignore_index=True) if len(tables) > 1 else tables[0]
    part, count = parts[0], f"{len(table):,} contributions"
    if part.statistic == "record":
        return table, "the value of one record"
    if part.statistic == "sum" and part.divisor is None:
        return table, f"the sum of {count}"
    if part.statistic == "sum":
        return table, f"{_sum(part.values):,} divided by {part.divisor:,}"
    return table, f"the {part.statistic.replace('max', 'largest')} of {count}"


def _is_same(number: object, total: object) -> bool:
    if is_missing(number) or is_missing(total):
        return is_missing(number) and is_missing(total)
    if isinstance(total, float):
        return bool(np.isclose(float(str(number)), total, rtol=1e-12, atol=0))
    if isinstance(total, str | pd.Timestamp):
        return bool(number == total)
    return Decimal(str(number)) == Decimal(str(total))


def _difference(table: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that contribute differently to two numbers, with the difference."""
    keys = [name for name in ("transaction_id", "event_id", "posting", "id") if name in table and name in other]
    if "event_id" not in keys and "transaction_id" in keys:
        keys = ["transaction_id"]
    if not keys:
        raise UsageError("the two numbers have no rows in common: neither has ids", of=_OF)
    both = pd.concat([table, other.assign(contribution=-other["contribution"])], ignore_index=True)
    groups = both.groupby(keys, dropna=False, observed=True, sort=False)
    first = groups.head(1).set_index(keys)
    first["contribution"] = groups["contribution"].sum()
    return first[(first["contribution"] != 0).to_numpy(dtype=bool, na_value=False)].reset_index()[[*both.columns]]


def with_events(table: pd.DataFrame, facts: pd.DataFrame, source: object) -> pd.DataFrame:
    """Add the events behind each contribution. Postings replace transactions if the postings give the same numbers.

    Args:
        table: Rows with the column `contribution`.
        facts: The facts of a history.
        source: Source of the history. If it has a sandbox, the request behind each event is known.
    """
    facts = shown(facts[facts["transaction_id"].isin(table["transaction_id"]).to_numpy(dtype=bool)])
    if "event_id" not in table:
        table = _as_postings(table, facts)
    if "event_id" not in table:
        known = facts[facts["event_id"].notna()].drop_duplicates("event_id")
        joined = known.groupby("transaction_id")["event_id"].agg(", ".join)
        table["event_ids"] = table["transaction_id"].map(joined).astype(TEXT)
    else:
        table["event_ids"] = table["event_id"]
    requests = _requests(source)
    answered = [
        "; ".join(dict.fromkeys(requests[event] for event in str(ids).split(", ") if event in requests))
        for ids in table["event_ids"]
    ]
    table["requests"] = pd.array([text or None for text in answered], dtype=TEXT)
    return table


def _as_postings(table: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """Return postings instead of transactions, if an amount column of the postings gives the same contributions."""
    contributed = table.groupby("transaction_id")["contribution"].sum()
    for amount in ("held_cents", "posted_cents", "refunded_cents", "net_cents"):
        changes = facts[(facts[amount] != 0).to_numpy(dtype=bool, na_value=False)]
        sums = changes.groupby("transaction_id")[amount].sum()
        if len(sums) == len(contributed) and bool((sums == contributed.reindex(sums.index)).all()):
            listed = changes[changes["posting"].isin(POSTINGS[2:])].reset_index(drop=True)
            listed.insert(0, "contribution", listed[amount])
            return listed
    return table


def _requests(source: object) -> dict[str, str]:
    """Return the operation and answer of the request behind each event, from a sandbox's request log."""
    sandbox = sandbox_of(source)
    if sandbox is None:
        return {}
    entries = {entry.request_id: entry for entry in sandbox.requests() if entry.request_id}
    return {
        event.payload["id"]: f"{entry.operation} {entry.status} {dict(entry.answer or {})}"
        for event in sandbox.events()
        if (entry := entries.get(event.request_id)) is not None
    }
