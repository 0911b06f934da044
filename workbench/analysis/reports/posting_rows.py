"""Postings, one row for each hold, release, settlement and refund; and balances rolled forward over periods."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.reports.scope import in_scope
from workbench.analysis.reports.traces import Part, Trace, rows_of
from workbench.analysis.reports.transaction_rows import ASSUMED, events_by_id, transaction_events, until_of
from workbench.analysis.tables.event_frames import DELIVERY
from workbench.analysis.tables.periods import Every, every_period, period_name, running, steps
from workbench.analysis.tables.rows import TEXT, mark_report

POSTINGS = ("hold", "increase", "release", "settlement", "refund")
"""Kinds of postings, in chronological order."""
AMOUNTS = ("held_cents", "posted_cents", "refunded_cents", "net_cents")
_OWN_TIME = ("event_received_at", DELIVERY)
_PARTIES = ("card_id", "user_id", "merchant_name", "merchant_category", "merchant_category_code", "currency")


def postings(events: object, *, at: object = None) -> pd.DataFrame:
    """Return one row for each hold, increase, release, settlement and refund, with its time.

    A refund counts in the month in which it was made, so a later event never changes an earlier period. Duplicate
    events count once.

    Args:
        events: A session, an inbox, events, a log of events, a run of a sequence, or a frame of events.
        at: Use only what was known at a past day or time, as in `transactions`.

    Returns:
        Columns transaction_id, event_id, posting ("hold", "increase", "release", "settlement" or "refund"), at,
        held_cents, posted_cents, refunded_cents, net_cents (Int64; changes made by the row, in the minor unit of
        `currency`), card_id, user_id, merchant_name, merchant_category, merchant_category_code, currency. A settlement
        below or above its hold has a second row for the difference. `at` is missing if the event has no time, and
        `held_cents` if the hold began before the first event; the notes count both.
    """
    data, notes = transaction_events(events, at)
    known = events_by_id(data, events, at)
    spend = {str(name).removeprefix("body.spend."): data[name] for name in data if str(name).startswith("body.spend.")}
    amount = spend["amount"].fillna(0).to_numpy(dtype="int64")
    change = spend["authorization_update_amount"].fillna(0).to_numpy(dtype="int64")
    kind = data["kind"].astype(TEXT)
    accepted = (spend["status"] != "declined").fillna(True).to_numpy(dtype=bool)
    is_hold = ((kind == "transaction.created") & accepted & (amount > 0)).to_numpy(dtype=bool)
    is_update = ((kind == "transaction.updated") & (change != 0)).to_numpy(dtype=bool)
    completed = (kind == "transaction.completed").to_numpy(dtype=bool)
    is_settlement, is_refund = completed & (amount > 0), completed & (amount < 0)

    ids = data["body.id"]
    held_before = (
        pd.Series(np.where(is_hold, amount, np.where(is_update, change, 0))).groupby(ids.to_numpy()).transform("sum")
    )
    began = set(ids[kind == "transaction.created"])
    held_is_known = ids.isin(began).to_numpy()
    times = {
        "hold": spend["authorized_at"],
        "update": data["at"].where(data["at_source"].isin(_OWN_TIME)),
        "settlement": spend["posted_at"].fillna(data["at"]),
    }
    posted_at = times["settlement"].where(is_settlement).groupby(ids.to_numpy()).transform("max")
    own = data["at_source"].isin(_OWN_TIME) | (spend["posted_at"].notna() & (spend["posted_at"] != posted_at))
    times["refund"] = data["at"].where(own)

    parts = []
    for posting, rows, at, held, posted, refunded in (
        ("hold", is_hold, times["hold"], amount, 0, 0),
        ("increase", is_update & (change > 0), times["update"], change, 0, 0),
        ("release", is_update & (change < 0), times["update"], change, 0, 0),
        ("settlement", is_settlement, times["settlement"], -np.minimum(amount, held_before), amount, 0),
        ("release", is_settlement & (held_before > amount), times["settlement"], amount - held_before, 0, 0),
        ("refund", is_refund, times["refund"], 0, 0, -amount),
    ):
        part = pd.DataFrame({"transaction_id": ids, "event_id": data["id"], "posting": posting, "at": at})
        for column, cents in (("held_cents", held), ("posted_cents", posted), ("refunded_cents", refunded)):
            part[column] = cents
        if posting in ("increase", "release", "settlement"):
            part["held_cents"] = part["held_cents"].astype("Int64").where(held_is_known)
        part["net_cents"] = part["posted_cents"] - part["refunded_cents"]
        for party in _PARTIES:
            part[party] = spend[party].array
        parts.append(part[rows])
    result = pd.concat(parts)
    result["posting"] = pd.Categorical(result["posting"], categories=list(POSTINGS))
    result = result.astype({**dict.fromkeys(AMOUNTS, "Int64"), "transaction_id": TEXT})
    result = result.sort_values(["at", "posting"], kind="stable", na_position="last").reset_index(drop=True)
    untimed = result.loc[result["at"].isna(), "posting"]
    notes += [
        f"{count:,} postings of kind {name} have no time of their own."
        for name in POSTINGS
        if (count := int((untimed == name).sum()))
    ]
    if unknown := len(set(ids[completed | is_update]) - began - set(ids[is_refund & ~ids.isin(ids[is_settlement])])):
        notes.append(f"{unknown:,} transactions began before the first event: their holds are not known, and left out.")

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        rows = rows_of(result, _OF_POSTING, row)
        return Part(rows, rows[column]) if column in AMOUNTS else None

    trace = Trace(find, events=known)
    return mark_report(result, "postings", [ASSUMED, *notes], events, until=data.attrs["until"], trace=trace)


_OF_POSTING = {"event_id": "event_id", "posting": "posting"}


def roll_forward(events: object, freq: Every = "month", *, tz: str = "UTC", currency: str = "usd") -> pd.DataFrame:
    """Return open holds and posted amounts rolled forward: opening balance, changes and closing balance of each period.

    Opening + authorized - released - settled = closing, to the cent, and each opening is the previous closing. Holds
    that expire are released. Later events never change an earlier row.

    Args:
        events: A frame of `postings`, or anything it takes.
        freq: "day", "week", "month", "quarter", "year", or a fiscal "Q-JAN", "Y-JUN".
        tz: Time zone of the periods.
        currency: Currency of the rows to include; the notes count the others.

    Returns:
        Columns: the first day of the period (named after `freq`), opening_cents, authorized_cents, released_cents,
        settled_cents, closing_cents (of holds), posted_cents, refunded_cents, net_cents (in the period; Int64),
        and running (boolean: the period was not over when the data end).
    """
    table = events if isinstance(events, pd.DataFrame) and "posting" in events else postings(events)
    timed, notes = in_scope(table, "postings", currency=currency, time="at")
    name = period_name(freq)
    held = timed["held_cents"].astype("Int64").fillna(0)
    from_hold = timed["posting"] == "settlement"
    data = pd.DataFrame(
        {
            name: steps(timed["at"], freq, tz),
            "authorized_cents": held.where(held > 0, 0),
            "released_cents": -held.where((held < 0) & ~from_hold, 0),
            "settled_cents": -held.where(from_hold, 0),
            **{amount: timed[amount] for amount in AMOUNTS[1:]},
        }
    )
    result = data.groupby(name).sum()
    result = result.reindex(every_period(result.index, freq), fill_value=0)
    closing = (result["authorized_cents"] - result["released_cents"] - result["settled_cents"]).cumsum()
    result.insert(0, "opening_cents", closing.shift(fill_value=0))
    result.insert(4, "closing_cents", closing)
    result = result.astype("Int64").rename_axis(name).reset_index()
    result["running"] = running(result[name], freq, tz, until_of(table, "at"))
    changes = ["authorized_cents", "released_cents", "settled_cents"]
    shown = timed.drop(columns=list(AMOUNTS)).assign(**{str(column): data[column] for column in data})

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        if column == "opening_cents":
            rows = shown[shown[name] < row[name]]
        else:
            rows = shown[shown[name] <= row[name] if column == "closing_cents" else shown[name] == row[name]]
        if column in ("opening_cents", "closing_cents"):
            return Part(rows, rows[changes[0]] - rows[changes[1]] - rows[changes[2]])
        return Part(rows, rows[column]) if column in data and column != name else None

    trace = Trace(find, table)
    return mark_report(result, "roll_forward", notes, table, trace=trace, freq=freq, tz=tz, currency=currency)
