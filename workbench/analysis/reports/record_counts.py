"""Reports on applications, disputes and webhook deliveries."""

from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.reports.balances import status_history
from workbench.analysis.reports.scope import without_repeats
from workbench.analysis.reports.traces import Part, Trace, rows_of
from workbench.analysis.reports.transaction_rows import until_of
from workbench.analysis.tables.frames import to_frame
from workbench.analysis.tables.periods import (
    Every,
    every_period,
    moment,
    period_name,
    running,
    steps,
)
from workbench.analysis.tables.rows import TEXT, mark_report
from workbench.base.schema.walk import build
from workbench.client.session import sandbox_of
from workbench.service.interface.convert import read_time
from workbench.service.interface.transactions import Dispute
from workbench.service.interface.vocabulary import DisputeStatus

AGES = (0, 7, 30, 60, 90)
"""Lower bound of each age group, in days."""


def applications(events: object, freq: Every = "day", *, tz: str = "UTC") -> pd.DataFrame:
    """Return the number of applications in each status at the end of each day, week or month.

    Args:
        events: Events, or a result of `status_history`.
        freq: "day", "week", "month", "quarter", "year", or a fiscal "Q-JAN", "Y-JUN".
        tz: Time zone of the days.

    Returns:
        Columns: the first day of the period (named after `freq`), status, applications (Int64), and running (boolean:
        the period was not over when the data end).
    """
    history = events if isinstance(events, pd.DataFrame) else status_history(events)
    timed = history[history["at"].notna()]
    name = period_name(freq)
    data = pd.DataFrame({name: steps(timed["at"], freq, tz), "user": timed["user_id"], "status": timed["status"]})
    last = data.drop_duplicates([name, "user"], keep="last").pivot(index=name, columns="user", values="status")
    last = last.reindex(every_period(last.index, freq))
    counts = last.ffill().stack().groupby(level=0).value_counts()
    table = counts.rename_axis([name, "status"]).rename("applications").reset_index()
    table = table.astype({"status": TEXT, "applications": "Int64", name: "datetime64[s]"})
    table = table.sort_values([name, "status"], ignore_index=True)
    table["running"] = running(table[name], freq, tz, until_of(timed, "at"))
    notes = list(history.attrs.get("notes", ()))
    if len(timed) < len(history):
        notes.append(f"{len(history) - len(timed):,} changes without a time are left out.")
    shown = timed.assign(**{name: data[name]})

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        known = shown[shown[name] <= row[name]].drop_duplicates("user_id", keep="last")
        return Part(known[known["status"] == row["status"]]) if column == "applications" else None

    return mark_report(table, "applications", notes, history, trace=Trace(find), freq=freq, tz=tz)


def disputes(disputes: Any, *, at: str | datetime) -> pd.DataFrame:
    """Return the disputes that existed at a given time, by status and age.

    A dispute records only its current status. If it was resolved after `at`, its status at that time is "unknown". A
    dispute that is in review now may have been pending then; the notes count these.

    Args:
        disputes: Disputes, their frame, or the result of `sandbox.records("dispute")`.
        at: The time, such as "2026-03-31". The age of a dispute resolved by then is its time to resolution.

    Returns:
        Columns status, age ("0 to 6 days", … "90 days or more"), disputes (Int64), oldest_days (Float64).
    """
    disputes, repeated = without_repeats(_frame(disputes), "id")
    moment_of_report = pd.Timestamp(moment(at, "at", "UTC") or at)
    known = disputes[disputes["created_at"].notna()]
    table = known[known["created_at"] <= moment_of_report]
    resolved = table["resolved_at"].notna() & (table["resolved_at"] <= moment_of_report)
    is_open = table["status"].isin([str(DisputeStatus.PENDING), str(DisputeStatus.IN_REVIEW)])
    status = table["status"].astype(TEXT).where(resolved | is_open, "unknown")
    ended = table["resolved_at"].where(resolved, moment_of_report)
    days = (ended - table["created_at"]).dt.total_seconds() / 86_400
    names = [f"{low} to {high - 1} days" for low, high in pairwise(AGES)] + [f"{AGES[-1]} days or more"]
    age = pd.cut(days, [*AGES, np.inf], right=False, labels=names)
    groups = days.groupby([status, age], observed=True)
    counted = groups.agg(disputes="size", oldest_days="max").rename_axis(["status", "age"]).reset_index()
    counted = counted.astype({"disputes": "Int64", "oldest_days": "Float64"})
    notes = list(disputes.attrs.get("notes", ()))
    notes += [f"{repeated:,} disputes occur more than once, as after concat; each counts once."] * bool(repeated)
    for count, reason in ((len(disputes) - len(known), "without a time"), (len(known) - len(table), "opened later")):
        if count:
            notes.append(f"{count:,} disputes {reason} are left out.")
    if unknown := int((status == "unknown").sum()):
        notes.append(
            f"{unknown:,} disputes were resolved later, or have no time of it: their status then is not known."
        )
    if in_review := int((status == str(DisputeStatus.IN_REVIEW)).sum()):
        notes.append(f"{in_review:,} disputes that are in review may have been pending at that moment.")
    shown = table.assign(status=status, age=age.astype(TEXT), days=days)

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        rows = rows_of(shown, {"status": "status", "age": "age"}, row)
        return {"disputes": Part(rows), "oldest_days": Part(rows, rows["days"], "max")}.get(column)

    return mark_report(counted, "disputes", notes, disputes, trace=Trace(find), at=moment_of_report.isoformat())


def roll_forward_of_disputes(disputes: object, *, at: datetime, tz: str) -> pd.DataFrame:
    """Return open disputes rolled forward by month until a time; later changes of a dispute do not alter it.

    Args:
        disputes: As for `disputes`.
        at: Openings and resolutions after this time are left out.
        tz: Time zone of the months.

    Returns:
        Columns month, opening, opened, resolved, closing (Int64).
    """
    table, _ = without_repeats(_frame(disputes), "id")
    table = table[(table["created_at"] < pd.Timestamp(at)).fillna(False).to_numpy(dtype=bool)]
    resolved = table["resolved_at"].where(table["resolved_at"] < pd.Timestamp(at))
    months = {"opened": steps(table["created_at"], "month", tz), "resolved": steps(resolved, "month", tz)}
    every = every_period(pd.concat([*months.values()]).dropna(), "month")
    result = pd.DataFrame({name: first.value_counts().reindex(every, fill_value=0) for name, first in months.items()})
    closing = (result["opened"] - result["resolved"]).cumsum()
    result.insert(0, "opening", closing.shift(fill_value=0))
    result = result.assign(closing=closing).astype("Int64").rename_axis("month").reset_index()
    shown = table.assign(**months)

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        if column in months:
            return Part(shown[shown[column] == row["month"]])
        until = {"opening": shown["opened"] < row["month"], "closing": shown["opened"] <= row["month"]}
        over = shown["resolved"] < row["month"] if column == "opening" else shown["resolved"] <= row["month"]
        return Part(shown[until[column] & ~over]) if column in until else None

    notes = table.attrs.get("notes", ())
    return mark_report(result, "disputes_roll_forward", notes, disputes, trace=Trace(find), tz=tz, until=at.isoformat())


def _frame(disputes: Any) -> pd.DataFrame:
    if isinstance(disputes, pd.DataFrame):
        return disputes
    return to_frame([_dispute(dispute) for dispute in disputes], of=Dispute)


def _dispute(dispute: object) -> Any:
    """Convert a dispute from the sandbox's store to an interface record."""
    if not isinstance(dispute, dict) or "transaction" not in dispute:
        return dispute
    times = {
        name: dispute.get(name)
        and datetime.fromtimestamp(dispute[name] / 1000, tz=read_time("1970-01-01T00:00:00Z")[0].tzinfo)
        for name in ("created_at", "resolved_at")
    }
    return build(
        Dispute, {"id": dispute["id"], "transaction_id": dispute["transaction"], "status": dispute["status"], **times}
    )


def deliveries(api: Any) -> pd.DataFrame:
    """Return delivery counts and latencies of webhooks at each endpoint of a sandbox.

    Args:
        api: A session with a sandbox, or a sandbox.

    Returns:
        Columns endpoint, deliveries, delivered, waiting, failed, attempts (Int64), and median_seconds, p95_seconds,
        slowest_seconds (Float64): from the event to its delivery, by the sandbox's clock.
    """
    sandbox = sandbox_of(api) or api
    happened = {event.payload["id"]: event.at for event in sandbox.events()}
    rows = [
        (
            delivery.endpoint,
            delivery.state,
            len(delivery.attempts),
            (delivery.attempts[-1].at - happened[delivery.event_id]).total_seconds()
            if delivery.state == "delivered"
            else None,
        )
        for delivery in sandbox.deliveries()
    ]
    data = pd.DataFrame(rows, columns=["endpoint", "state", "attempts", "seconds"])
    states = {
        name: ("state", lambda states, name=name: (states == name).sum()) for name in ("delivered", "waiting", "failed")
    }
    table = (
        data.astype({"seconds": "Float64"})
        .groupby("endpoint")
        .agg(
            deliveries=("state", "size"),
            **states,
            attempts=("attempts", "sum"),
            median_seconds=("seconds", "median"),
            p95_seconds=("seconds", lambda seconds: seconds.quantile(0.95)),
            slowest_seconds=("seconds", "max"),
        )
        .reset_index()
    )
    dtypes = {name: "Float64" if name.endswith("_seconds") else "Int64" for name in table.columns[1:]}

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        rows = rows_of(data, {"endpoint": "endpoint"}, row)
        seconds = {"median_seconds": "median", "slowest_seconds": "max"}.get(column)
        if seconds:
            return Part(rows, rows["seconds"].astype("Float64"), seconds)
        counts = {"deliveries": 1, "attempts": rows["attempts"]}
        states = {name: (rows["state"] == name).astype("Int64") for name in ("delivered", "waiting", "failed")}
        return Part(rows, {**counts, **states}[column]) if column in {**counts, **states} else None

    return mark_report(table.astype({"endpoint": TEXT, **dtypes}), "deliveries", [], trace=Trace(find))
