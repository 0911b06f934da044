"""Monthly close: reports as known at the end of the month, in one workbook, one page and a ledger."""

from pathlib import Path

import pandas as pd

from workbench.analysis.reports import activity
from workbench.analysis.reports.balances import liability
from workbench.analysis.reports.data_checks import anomalies
from workbench.analysis.reports.event_logs import Events
from workbench.analysis.reports.posting_rows import postings, roll_forward
from workbench.analysis.reports.reconciliation import reconcile
from workbench.analysis.reports.record_counts import roll_forward_of_disputes
from workbench.analysis.reports.transaction_rows import present, transactions, until_of
from workbench.analysis.tables.event_frames import events_frame
from workbench.analysis.tables.frames import to_file
from workbench.analysis.tables.periods import end_of, running, steps
from workbench.base.errors import UsageError, visible
from workbench.client.session import sandbox_of


def closing_frames(
    events: object,
    month: str,
    *,
    tz: str = "UTC",
    currency: str = "usd",
    ledger: object = None,
    signed_by: str = "",
    rewards: pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """Return the reports of a month by sheet name, from what was known when it ended.

    Args:
        events: As for `postings`; with a sandbox its disputes are rolled forward too.
        month: The month, such as "2026-06".
        tz: Time zone of the month.
        currency: Currency of the amounts.
        ledger: A ledger to reconcile with the postings of the month, as for `reconcile`.
        signed_by: Name of the person who signs off the reconciliation.
        rewards: All rows of rewards, to roll points forward.

    Raises:
        UsageError: The month is not over in the data, or not written as "2026-06".
    """
    first = activity.month_of(month, of="report close")
    end = end_of(first, "month", tz)
    source, until = _log(events), present(events)
    until = until or until_of(postings(source), "at")
    if until is None or until < end:
        reach = "no event has a time" if until is None else f"the data end {until.isoformat(timespec='seconds')}"
        raise UsageError(f"{month} is not over: {reach}", of="report close")
    booked = postings(source, at=end)
    known = transactions(source, at=end)
    of_month = _only(booked, "at", first, tz)
    asked = _only(known, "authorized_at", first, tz)
    frames = {
        "Roll-forward": roll_forward(booked, tz=tz, currency=currency),
        "Spend by category": activity.spend(of_month, tz=tz, currency=currency),
        "Spend by merchant": activity.spend(of_month, "merchant_name", tz=tz, currency=currency),
        "Approvals by day": activity.approvals(asked, tz=tz, currency=currency),
        "Declines": activity.declines(asked, currency=currency),
        "Changes": activity.monthly_changes(booked, month=month, tz=tz, currency=currency),
        "Anomalies": anomalies(source, at=end),
        "Postings": of_month,
    }
    if (sandbox := sandbox_of(events)) is not None:
        frames["Disputes"] = roll_forward_of_disputes(sandbox.records("dispute"), at=end, tz=tz)
    if rewards is not None:
        known_rows = rewards[(rewards["created_at"] < pd.Timestamp(end)).fillna(False).to_numpy(dtype=bool)]
        frames["Points"] = liability(known_rows, tz=tz)
        frames["Points"].attrs["until"] = end.isoformat()
        frames["Points"]["running"] = running(frames["Points"]["month"], "month", tz, end)
    if ledger is not None:
        frames["Reconciliation"] = reconcile(ledger, of_month[of_month["net_cents"] != 0], signed_by=signed_by)
    return frames


def _log(events: object) -> pd.DataFrame:
    """Return the events as a frame, so that a log is read only once."""
    if isinstance(events, pd.DataFrame):
        return events
    if isinstance(events, Events):
        return events.frame(of="transaction.*")
    return events_frame(events, "transaction.*")


def _only(table: pd.DataFrame, time: str, first: pd.Timestamp, tz: str) -> pd.DataFrame:
    rows = table[(steps(table[time], "month", tz) == first).fillna(False).to_numpy(dtype=bool)].reset_index(drop=True)
    rows.attrs = table.attrs
    return rows


def write_close(folder: str | Path, frames: dict[str, pd.DataFrame], month: str, *, tz: str) -> list[Path]:
    """Write a close into a folder, as a workbook, a page and the postings as CSV; return the files.

    Raises:
        FileExistsError: One of the files exists.
    """
    folder = Path(folder)
    paths = [folder / f"close-{month}{suffix}" for suffix in (".xlsx", ".html")] + [folder / f"postings-{month}.csv"]
    for path in paths:
        if path.exists():
            raise FileExistsError(f"{visible(str(path), 200)} exists")
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths[:2]:
        to_file(frames, path, tz=tz)
    to_file(frames["Postings"], paths[2])
    return paths
