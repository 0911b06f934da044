"""Explain a number of a report: its source rows with their events and requests, adding up exactly to it."""

from decimal import Decimal, localcontext
from typing import Any

import pandas as pd

from workbench.analysis.reports.posting_rows import AMOUNTS, postings
from workbench.analysis.reports.traces import Part, Trace, cells_of
from workbench.analysis.tables.columns import AMOUNT
from workbench.analysis.tables.rows import EXACT, TEXT, decimals, is_missing, mark_report
from workbench.base.errors import Problem, UsageError, not_allowed
from workbench.client.session import sandbox_of

_MAX_EVENTS = 10_000  # rows whose events are listed
_RECORDS = frozenset({"postings", "status_history", "time_in_status", "contract_values", "balances", "anomalies"})
"""Kinds of reports whose rows come from one record each."""


def explain(frame: pd.DataFrame, row: int, column: str) -> pd.DataFrame:
    """Return the source rows of a number in a report (postings, transactions or records), which add up exactly to it.

    Args:
        frame: A report of this process, such as `reports.spend(api)`; a file contains no source rows.
        row: Position of the row, from 0.
        column: The column.

    Returns:
        One row for each contribution. Columns: contribution (Int64, a decimal, or Float64 of hours and days; an amount
        in cents is contribution_cents), the columns of the source, and for transactions `event_ids` and `requests`
        (operation, status and answer), where known. `attrs["number"]` is the number, `attrs["formula"]` states how the
        contributions make it, and the notes list what the report left out and why.

    Raises:
        UsageError: The frame is not a report of this process, the cell does not exist, or it has changed since.
    """
    if not 0 <= row < len(frame):
        raise UsageError([Problem("row", "range", f"must be a position from 0 to {len(frame) - 1}")], of=_OF)
    if column not in frame:
        raise UsageError([not_allowed("column", column, frame.columns)], of=_OF)
    cells = cells_of(frame, row)
    trace, kind = frame.attrs.get("trace"), str(frame.attrs.get("kind"))
    part: Part | None
    if isinstance(trace, Trace):
        part = trace.part_of(cells, column)
    elif kind in _RECORDS:
        part = Part(frame.iloc[[row]], None if is_missing(cells[column]) else cells[column], "record")
    else:
        raise UsageError(
            "the frame is not a report of this process: merge, concat and saving it remove its source rows",
            of=_OF,
        )
    if part is None:
        raise UsageError(f"{column} is not a number computed from rows", of=_OF)
    number, total, formula = cells[column], *_total(part)
    if not (is_missing(number) and total is None) and not _is_same(number, total):
        raise UsageError(f"{column} is {number} here and {total} in the report: it has changed since", of=_OF)
    unit = AMOUNT.search(column)
    result = with_events(part, trace).rename(columns={"contribution": f"contribution{unit[0] if unit else ''}"})
    notes = [f"{column}: {number} = {formula}.", *frame.attrs.get("notes", ())]
    if len(part.rows) > _MAX_EVENTS:
        notes.append(f"{len(part.rows):,} rows were read; events and requests are listed for at most {_MAX_EVENTS:,}.")
    if "transaction_id" in result and "event_id" not in result and "event_ids" not in result:
        notes.append("The events are not listed: they are no longer in memory, or too many.")
    return mark_report(result, "explanation", notes, number=str(number), formula=formula)


_OF = "reports.explain"


def _total(part: Part) -> tuple[Any, str]:
    """Return the number computed from the contributions, and its formula."""
    values = part.contributions()
    count = f"{len(values):,} contributions"
    if part.statistic == "record":
        return part.values, "the value of one record"
    if part.statistic == "median":
        return values.median(), f"the median of {count}"
    if part.statistic == "0.9 quantile":
        return values.quantile(0.9), f"the 0.9 quantile of {count}"
    if part.statistic == "max":
        return values.max(), f"the largest of {count}"
    with localcontext(EXACT):
        known = decimals(values)
        total = sum((value for value in known if value is not None), Decimal(0))
    if part.divisor is None:
        return total, f"the sum of {count}"
    return int(total) / part.divisor if part.divisor else None, f"{total:,} divided by {part.divisor:,}"


def _is_same(number: object, total: object) -> bool:
    if is_missing(number) or is_missing(total):
        return is_missing(number) and is_missing(total)
    if isinstance(total, float):
        return float(str(number)) == total
    if isinstance(total, str | pd.Timestamp):
        return bool(number == total)
    return Decimal(str(number)) == Decimal(str(total))


def with_events(part: Part, trace: object) -> pd.DataFrame:
    """Return the contributions with their events; transactions become postings if those add up to the same number."""
    table = part.table()
    known = getattr(trace, "events", None)
    if known is None or "transaction_id" not in table or len(table) > _MAX_EVENTS:
        return table
    events_of, source = known
    own = events_of(table["transaction_id"].dropna().unique().tolist())
    if own is None:
        return table
    if "event_id" not in table and part.statistic == "sum" and part.divisor is None:
        table = _as_postings(table, own)
    if "event_id" not in table:
        table["event_ids"] = table["transaction_id"].map(own.groupby("body.id")["id"].agg(", ".join)).astype(TEXT)
    else:
        table["event_ids"] = table["event_id"]
    requests = _requests(source)
    answered = [
        "; ".join(dict.fromkeys(requests[event] for event in str(ids).split(", ") if event in requests))
        for ids in table["event_ids"]
    ]
    table["requests"] = pd.array([text or None for text in answered], dtype=TEXT)
    return table


def _as_postings(table: pd.DataFrame, events: pd.DataFrame) -> pd.DataFrame:
    """Return the postings of transactions, if one of their amounts gives the same contributions."""
    rows = postings(events)
    contributed = table.groupby("transaction_id")["contribution"].sum()
    for amount in AMOUNTS:
        changes = rows[rows[amount] != 0]
        sums = changes.groupby("transaction_id")[amount].sum()
        if len(sums) == len(contributed) and bool((sums == contributed.reindex(sums.index)).all()):
            listed = changes.reset_index(drop=True)
            listed.attrs = {}
            listed.insert(0, "contribution", listed[amount])
            return listed
    return table


def _requests(source: object) -> dict[str, str]:
    """Return the operation and answer of the request behind each event, from a sandbox's log."""
    sandbox = sandbox_of(source)
    if sandbox is None:
        return {}
    entries = {entry.request_id: entry for entry in sandbox.requests() if entry.request_id}
    return {
        event.payload["id"]: f"{entry.operation} {entry.status} {dict(entry.answer or {})}"
        for event in sandbox.events()
        if (entry := entries.get(event.request_id)) is not None
    }
