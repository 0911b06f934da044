"""What events tell over time: statuses and how long they lasted, reasons one by one, micro deposits."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import pandas as pd

from workbench.interface.events import EVENT_KINDS, Event, UserUpdated
from workbench.tables.arrays import TEXT
from workbench.tables.frames import to_frame

USER_UPDATED = EVENT_KINDS["user.updated"].name
MICRO_DEPOSIT = EVENT_KINDS["microDeposit.received"].name
ORDER = "Order: by eventReceivedAt, those without it in the order given; whether events arrive in order is not shown."


def status_history(events: Iterable[Event]) -> pd.DataFrame:
    """Return one row per change of a user's application status, oldest first within a user.

    A repeated status is no change, and neither is an event with an id that came before.

    Returns:
        Columns user_id, at, status, previous, reason, change_reason.
    """
    rows = []
    seen: set[str] = set()
    last: dict[str, Any] = {}
    notes = [ORDER]
    told = [event for event in events if event.kind == USER_UPDATED and isinstance(event.body, UserUpdated)]
    for event in _in_order(told):
        body: UserUpdated = event.body
        if event.id in seen or body.application_status is None:
            continue
        seen.add(event.id)
        status = str(body.application_status)
        if last.get(body.id) == status:
            continue
        rows.append(
            {
                "user_id": body.id,
                "at": event.event_received_at if isinstance(event.event_received_at, datetime) else None,
                "status": status,
                "previous": last.get(body.id),
                "reason": body.application_reason or None,
                "change_reason": None if body.status_change_reason is None else str(body.status_change_reason),
            }
        )
        last[body.id] = status
    made = _texts(rows, ("user_id", "status", "previous", "reason", "change_reason"))
    made.insert(1, "at", _times([row["at"] for row in rows]))
    made = made.sort_values("user_id", kind="stable", ignore_index=True)
    made.attrs.update(kind="status_history", notes=notes, revealed=[], unknown={})
    return made


def _in_order(events: list[Event]) -> list[Event]:
    """Sort by time where there is one; an event without one keeps its place after its neighbor before."""
    at: list[tuple[float, int, Event]] = []
    latest = float("-inf")
    for i, event in enumerate(events):
        when = event.event_received_at
        latest = when.timestamp() if isinstance(when, datetime) else latest
        at.append((latest, i, event))
    return [event for _, _, event in sorted(at, key=lambda one: one[:2])]


def _texts(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.array([row[name] for row in rows], dtype=TEXT) for name in columns})


def _times(values: list[Any]) -> Any:
    return pd.Series(pd.to_datetime(values, utc=True)).astype("datetime64[us, UTC]")


def time_in_status(history: Any, *, now: datetime | None = None) -> pd.DataFrame:
    """Return how long each user stayed in each status, one row per stay.

    Args:
        history: Events, or what `status_history` gave.
        now: Until when the last status of each user counts; without it the last one has no end and no length.

    Returns:
        Columns user_id, status, since, until, days (Float64).
    """
    known = isinstance(history, pd.DataFrame)
    table = history if known else status_history(history)
    timed = table[table["at"].notna()]
    until = timed.groupby("user_id")["at"].shift(-1)
    if now is not None:
        until = until.fillna(pd.Timestamp(now))
    made = pd.DataFrame({"user_id": timed["user_id"], "status": timed["status"], "since": timed["at"], "until": until})
    made["days"] = ((made["until"] - made["since"]).dt.total_seconds() / 86_400).astype("Float64")
    made = made.reset_index(drop=True)
    notes = list(table.attrs.get("notes", ()))
    if left := len(table) - len(timed):
        notes.append(f"{left:,} changes without a time are left out.")
    made.attrs.update(kind="time_in_status", notes=notes, revealed=[], unknown={})
    return made


def reasons(history: Any) -> pd.DataFrame:
    """Return one row per reason of each status change; the service sends them parted by commas.

    Args:
        history: Events, or what `status_history` gave.

    Returns:
        Columns user_id, at, status, reason.
    """
    table = history if isinstance(history, pd.DataFrame) else status_history(history)
    made = table.loc[table["reason"].notna(), ["user_id", "at", "status", "reason"]]
    made = made.assign(reason=made["reason"].str.split(",")).explode("reason")
    made["reason"] = made["reason"].astype(TEXT).str.strip()
    made = made[made["reason"] != ""].reset_index(drop=True)
    made.attrs.update(kind="reasons", notes=list(table.attrs.get("notes", ())), revealed=[], unknown={})
    return made


def micro_deposits(events: Iterable[Event]) -> pd.DataFrame:
    """Return one row per micro deposit, its amount in USD exact and shown: the frame is marked as one with secrets.

    A micro deposit can prove who owns an account; see `frame(events, of="microDeposit.received")` for the masked form.
    """
    made = to_frame(list(events), of=MICRO_DEPOSIT, reveal={"amount"})
    keep = {name: name.removeprefix("body.") for name in made.columns if name.startswith("body.")}
    marks = {**made.attrs, "kind": "micro_deposits", "revealed": ["amount"]}
    made = made[list(keep)].rename(columns=keep)
    made.attrs = marks
    return made
