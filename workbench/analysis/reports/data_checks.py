"""Implausible transaction events, one row each: anomalies that the totals of reports contain or leave out."""

from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.reports.transaction_rows import ASSUMED, KINDS, PATTERN, transaction_events, transactions
from workbench.analysis.tables.event_frames import events_frame
from workbench.analysis.tables.periods import moment
from workbench.analysis.tables.rows import TEXT, mark_report

_BUSY = 20  # events a day from which a day without any is a gap
_GAP = 48  # hours
_COLUMNS = ("anomaly", "transaction_id", "event_id", "at", "amount_cents", "currency")


def anomalies(events: object, *, at: object = None) -> pd.DataFrame:
    """Return implausible transactions and events, one row each.

    Args:
        events: A session, an inbox, events, a log of events, a run of a sequence, or a frame of events.
        at: Use only what was known at a past day or time, as in `transactions`.

    Returns:
        Columns anomaly ("settled twice", "posted above authorized", "refunded above posted", "amount missing",
        "duplicate id, other content", "began before the first event", "unknown kind", "no event for days"),
        transaction_id, event_id, at, amount_cents (Int64: the amount, or the excess), currency.
    """
    frame = _frame(events)
    data, _ = transaction_events(frame, at)
    if (as_of := moment(at, "at", "UTC")) is not None:
        frame = frame[(frame["at"] < pd.Timestamp(as_of)).fillna(False).to_numpy(dtype=bool)]
    table = transactions(frame, at=at).rename(columns={"authorized_at": "at"})
    rows = [*_of_events(frame, data), *_of_transactions(table), *_gaps(data)]
    listed = pd.concat(rows) if rows else pd.DataFrame()
    listed = listed.reindex(columns=[*_COLUMNS]).astype({"amount_cents": "Int64", "at": "datetime64[us, UTC]"})
    listed = listed.astype(dict.fromkeys(("anomaly", "transaction_id", "event_id", "currency"), TEXT))
    listed = listed.sort_values(["anomaly", "at", "transaction_id"], ignore_index=True)
    return mark_report(listed, "anomalies", [ASSUMED], frame, until=data.attrs["until"])


def _frame(events: object) -> pd.DataFrame:
    if isinstance(events, pd.DataFrame):
        return events
    log: Any = getattr(events, "frame", None)
    frame: pd.DataFrame = log(of=PATTERN) if callable(log) else events_frame(events, PATTERN)
    return frame


def _of_events(frame: pd.DataFrame, data: pd.DataFrame) -> list[pd.DataFrame]:
    names = {"id": "event_id", "body.id": "transaction_id", "at": "at", "body.spend.amount": "amount_cents"}
    names["body.spend.currency"] = "currency"
    settlement = (data["kind"] == KINDS[3]) & (data["body.spend.amount"] > 0)
    settled = data[settlement.fillna(False).astype(bool)]
    given = frame.reindex(columns=["kind", *names])
    own = given["kind"].astype(TEXT).str.startswith("transaction.").fillna(False).astype(bool)
    contents = given[own].drop_duplicates()
    listed = {
        "settled twice": settled[settled["body.id"].duplicated()],
        "amount missing": data[data["body.spend.amount"].isna()],
        "duplicate id, other content": contents[contents["id"].duplicated()],
        "unknown kind": given[own & ~given["kind"].isin(KINDS)],
    }
    return [
        rows[[*names]].rename(columns=names).assign(anomaly=anomaly) for anomaly, rows in listed.items() if len(rows)
    ]


def _of_transactions(table: pd.DataFrame) -> list[pd.DataFrame]:
    above = (table["posted_cents"] - table["authorized_cents"]).fillna(0)
    beyond = (table["refunded_cents"] - table["posted_cents"]).where(table["posted_cents"] > 0, 0)
    earlier = table["posted_cents"].where(table["authorized_cents"].isna())
    amounts = {
        "posted above authorized": above.where(above > 0),
        "refunded above posted": beyond.where(beyond > 0),
        "began before the first event": earlier,
    }
    parts = []
    for anomaly, cents in amounts.items():
        rows = table.assign(anomaly=anomaly, amount_cents=cents)[cents.notna().to_numpy(dtype=bool)]
        parts += [rows[["anomaly", "transaction_id", "at", "amount_cents", "currency"]]] if len(rows) else []
    return parts


def _gaps(data: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the days after which a busy log has no event for a day or more."""
    times = data["at"].dropna().sort_values()
    if len(times) < 2:
        return []
    days = (times.iloc[-1] - times.iloc[0]).total_seconds() / 86_400
    hours = np.diff(times.to_numpy()).astype("timedelta64[s]").astype("int64") / 3_600
    wide = np.flatnonzero((hours >= _GAP) & (len(times) / max(days, 1) >= _BUSY))
    return [pd.DataFrame({"anomaly": "no event for days", "at": times.to_numpy()[wide]})] if len(wide) else []
