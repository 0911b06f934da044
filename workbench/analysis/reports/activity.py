"""Reports on transactions, applications, disputes and webhooks, with days and months in a chosen time zone; and SQL.

Amounts are in cents, the minor unit of one currency. Rows in other currencies and rows without a time are left out and
counted in the notes.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.reports.posting_rows import postings
from workbench.analysis.reports.scope import Columns, columns_of, grouped, in_scope, without_repeats
from workbench.analysis.reports.traces import Find, Part, Trace, rows_of
from workbench.analysis.reports.transaction_rows import MONEY, until_of
from workbench.analysis.reports.transaction_rows import transactions as transactions_frame
from workbench.analysis.tables.periods import (
    Every,
    end_of,
    period_name,
    running,
    steps,
    zone,
)
from workbench.analysis.tables.rows import TEXT, mark_report
from workbench.base.errors import UsageError, visible


def _table(
    transactions: Any, currency: str | None = None, time: str = "", *, begun: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    """Return the transactions that a report includes, and notes that count the others.

    Args:
        transactions: A frame of `transactions`, or anything it takes.
        currency: Keep transactions in this currency.
        time: Keep transactions with a time in this column.
        begun: Keep transactions whose authorization is known, since a partial log has no rates for the others.
    """
    known = isinstance(transactions, pd.DataFrame) and {"authorized_cents", "posting"} & set(transactions)
    table, notes = in_scope(
        transactions if known else transactions_frame(transactions), "transactions", currency=currency, time=time
    )
    return (table[table["authorized_cents"].notna()] if begun else table), notes


def _marked(
    frame: pd.DataFrame, source: pd.DataFrame, kind: str, notes: Iterable[str], find: Find, **more: object
) -> pd.DataFrame:
    return mark_report(frame, kind, notes, source, trace=Trace(find, source), **more)


def approvals(
    transactions: object,
    freq: Every | None = "day",
    *,
    by: Columns = (),
    tz: str = "UTC",
    currency: str | None = None,
) -> pd.DataFrame:
    """Return the number of authorizations approved and declined in each period, and by columns such as the merchant.

    Args:
        transactions: A frame of `transactions`, or anything it takes.
        freq: "day", "week", "month", "quarter", "year", a fiscal "Q-JAN" or "Y-JUN", or None for all times together.
        by: One or more columns to group by, such as "merchant_category_code".
        tz: Time zone of the periods, such as "America/New_York".
        currency: Keep authorizations in this currency; default all.

    Returns:
        Columns: the first day of the period (named after `freq`), those of `by`, authorizations, approved, declined
        (Int64), rate (Float64, approved divided by all), and running (boolean: the period was not over when the data
        end; only with `freq`).
    """
    table, notes = _table(transactions, currency, "authorized_at", begun=True)
    if freq is not None:
        period_name(freq)  # anything else is refused before it is taken for a column
    data, names = grouped(
        table, [*([freq] if freq else []), *columns_of(by)], "reports.approvals", time="authorized_at", tz=tz
    )
    data = data.assign(declined=(data["status"] == "declined").to_numpy(), all=0)
    groups = data.groupby(names or "all", dropna=False, observed=True)["declined"]
    frame = groups.agg(authorizations="size", declined="sum").reset_index()[[*names, "authorizations", "declined"]]
    frame.insert(len(names) + 1, "approved", frame["authorizations"] - frame["declined"])
    frame = frame.astype({"authorizations": "Int64", "approved": "Int64", "declined": "Int64"})
    frame["rate"] = (frame["approved"] / frame["authorizations"]).astype("Float64")
    if freq:
        frame["running"] = running(frame[names[0]], freq, tz, until_of(table, "authorized_at"))

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        rows = rows_of(data, dict(zip(names, names, strict=True)), row)
        declined = rows["declined"].astype("Int64")
        parts = {"authorizations": Part(rows), "declined": Part(rows, declined), "approved": Part(rows, 1 - declined)}
        return parts["approved"].over(len(rows)) if column == "rate" else parts.get(column)

    return _marked(frame, table, "approvals", notes, find, freq=freq, tz=tz, currency=currency)


def declines(transactions: object, by: Columns = "declined_reason", *, currency: str = "usd") -> pd.DataFrame:
    """Return declined authorizations by reason, most frequent first, or by other columns.

    Args:
        transactions: A frame of `transactions`, or anything it takes.
        by: One or more columns to group by; `approvals(by=…)` has the decline rate of each group.
        currency: Transactions in other currencies are left out.

    Returns:
        Columns: the groups (`reason` for "declined_reason"), declined, amount_cents (Int64), share (Float64, of all
        declined).
    """
    table, notes = _table(transactions, currency)
    data, names = grouped(table[table["status"] == "declined"], by, "reports.declines")
    groups = data.groupby(names, dropna=False, observed=True)["authorized_cents"]
    counted = groups.agg(declined="size", amount_cents="sum").reset_index()
    counted = counted.astype({"declined": "Int64", "amount_cents": "Int64"})
    counted = counted.rename(columns={"declined_reason": "reason"})
    counted["share"] = (counted["declined"] / counted["declined"].sum()).astype("Float64")
    keys = {"reason" if name == "declined_reason" else name: name for name in names}

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        rows = rows_of(data, keys, row)
        parts = {"declined": Part(rows), "amount_cents": Part(rows, rows["authorized_cents"])}
        return parts["declined"].over(len(data)) if column == "share" else parts.get(column)

    return _marked(_largest(counted, "declined", [*keys]), table, "declines", notes, find, currency=currency)


def spend_funnel(transactions: object, *, currency: str = "usd") -> pd.DataFrame:
    """Return the spend funnel: amounts requested, approved, posted, refunded and net.

    Transactions that began before the first event are left out, because their requested amount is unknown.

    Args:
        transactions: A frame of `transactions` (for a past day `transactions(…, at=)`), or anything it takes.
        currency: Transactions in other currencies are left out.

    Returns:
        Columns stage, transactions, amount_cents (Int64), share (Float64, of the requested amount).
    """
    table, notes = _table(transactions, currency, begun=True)
    columns = {name: table[name].to_numpy(dtype="int64", na_value=0) for name in MONEY if name != "held_cents"}
    requested = columns.pop("authorized_cents")
    approved = (table["status"] != "declined").to_numpy(dtype=bool)
    stages = {
        "requested": (len(table), int(requested.sum())),
        "approved": (int(approved.sum()), int(requested[approved].sum())),
        **{name.removesuffix("_cents"): (int((of > 0).sum()), int(of.sum())) for name, of in columns.items()},
    }
    frame = pd.DataFrame({"stage": pd.array(list(stages), dtype=TEXT)})
    frame["transactions"] = pd.array([count for count, _ in stages.values()], dtype="Int64")
    frame["amount_cents"] = pd.array([amount for _, amount in stages.values()], dtype="Int64")
    whole = max(int(frame["amount_cents"][0]), 1)
    frame["share"] = (frame["amount_cents"] / whole).astype("Float64")

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        stage, rows = row["stage"], table[approved] if row["stage"] == "approved" else table
        amounts = rows["authorized_cents" if stage in ("requested", "approved") else f"{stage}_cents"]
        amount = Part(rows, amounts)
        count = Part(rows) if stage in ("requested", "approved") else Part(rows, (amounts > 0).astype("Int64"))
        return {"transactions": count, "amount_cents": amount, "share": amount.over(whole)}.get(column)

    return _marked(frame, table, "spend_funnel", notes, find, currency=currency)


def spend(
    transactions: object,
    by: Columns | None = None,
    *,
    freq: Every | None = None,
    tz: str = "UTC",
    currency: str = "usd",
) -> pd.DataFrame:
    """Return posted, refunded and net amounts by merchant, category, card, user or period, largest net first.

    Args:
        transactions: A frame of `transactions` or `postings`, or anything they take.
        by: One or more columns, including your own; by default merchant_category, or none with `freq`.
        freq: Period such as "month", "quarter" or a fiscal "Q-JAN". Settlements and refunds then count at their own
            time, as in `postings`.
        tz: Time zone of the periods.
        currency: Transactions in other currencies are left out.

    Returns:
        Columns: the groups, transactions, posted_cents, refunded_cents, net_cents (Int64), and running (boolean: the
        period was not over when the data end) with `freq`. Rows of periods are in chronological order.
    """
    columns = columns_of(by if by is not None else () if freq else "merchant_category")
    if freq is not None:
        period_name(freq)  # anything else is refused before it is taken for a column
    source = movements(transactions) if freq else transactions
    table, notes = _table(source, currency, "at" if freq else "")
    data, names = grouped(
        table, [freq, *columns] if freq else columns, "reports.spend", time="at" if freq else "", tz=tz
    )
    given, data = data, data[data["posted_cents"] + data["refunded_cents"] > 0]
    groups = data.groupby(names, dropna=False, observed=True)
    sums = groups[["posted_cents", "refunded_cents", "net_cents"]].sum()
    sums.insert(0, "transactions", (groups["transaction_id"].nunique() if freq else groups.size()).astype("Int64"))
    frame, until = sums.reset_index(), until_of(table, "at", "posted_at")

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        rows = rows_of(given, dict(zip(names, names, strict=True)), row)
        rows = rows[rows["posted_cents"] + rows["refunded_cents"] > 0]
        if column == "transactions":
            return Part(rows.drop_duplicates("transaction_id") if freq else rows)
        return Part(rows, rows[column]) if column in ("posted_cents", "refunded_cents", "net_cents") else None

    if not freq:
        return _marked(_largest(frame, "net_cents", names), table, "spend", notes, find, by=columns, currency=currency)
    name = period_name(freq)
    frame["running"] = running(frame[name], freq, tz, until)
    return _marked(frame, table, "spend", notes, find, by=columns, freq=freq, tz=tz, currency=currency)


def _largest(frame: pd.DataFrame, column: str, names: list[str]) -> pd.DataFrame:
    return frame.sort_values([column, *names], ascending=[False, *(True for _ in names)], ignore_index=True)


def posting_times(transactions: object, by: Columns | None = None) -> pd.DataFrame:
    """Return the time from authorization to posting, over all transactions or by one or more columns.

    Returns:
        Columns: the groups (if `by` is given), transactions (Int64), and median_hours, p90_hours, longest_hours
        (Float64).
    """
    table, notes = _table(transactions, time="posted_at")
    data, names = grouped(table, by or (), "reports.posting_times")
    hours = (data["posted_at"] - data["authorized_at"]).dt.total_seconds() / 3_600
    groups = hours.groupby([data[name] for name in names] or np.zeros(len(hours)), dropna=False, observed=True)
    frame = pd.DataFrame(groups.agg(transactions="size", median_hours="median", longest_hours="max"))
    frame.insert(2, "p90_hours", groups.quantile(0.9))
    frame = frame.reset_index(drop=not names)
    frame = frame.astype(
        {"transactions": "Int64", **{name: "Float64" for name in frame if str(name).endswith("_hours")}}
    )

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        rows = rows_of(data.assign(hours=hours), dict(zip(names, names, strict=True)), row)
        statistics = {"median_hours": "median", "p90_hours": "0.9 quantile", "longest_hours": "max"}
        parts = {name: Part(rows, rows["hours"], statistic) for name, statistic in statistics.items()}
        return {"transactions": Part(rows), **parts}.get(column)

    return _marked(frame, table, "posting_times", notes, find, by=by)


def cohorts(transactions: object, *, tz: str = "UTC", currency: str = "usd") -> pd.DataFrame:
    """Return cohorts of users by month of first approved authorization, with the users active in each later month.

    Returns:
        Columns cohort (first day of the month), month (0 for the first one, Int64), users (Int64: active in it), share
        (Float64, of the cohort), net_cents (Int64, net amount of transactions authorized in the month), and running
        (boolean: the month was not over when the data end).
    """
    table, notes = _table(transactions, currency, "authorized_at", begun=True)
    until = until_of(table, "authorized_at")
    table = table[table["status"] != "declined"]
    month = steps(table["authorized_at"], "month", tz).to_numpy().astype("datetime64[M]").astype("int64")
    net = table["net_cents"].to_numpy()
    data = pd.DataFrame({"user": table["user_id"].to_numpy(), "month": month, "net_cents": net})
    data["cohort"] = data.groupby("user")["month"].transform("min")
    data["month"] -= data["cohort"]
    groups = data.groupby(["cohort", "month"])
    counted = pd.DataFrame({"users": groups["user"].nunique(), "net_cents": groups["net_cents"].sum()}).reset_index()
    sizes = counted[counted["month"] == 0].set_index("cohort")["users"]
    counted.insert(3, "share", (counted["users"] / counted["cohort"].map(sizes)).astype("Float64"))
    months = (counted["cohort"] + counted["month"]).to_numpy().astype("datetime64[M]").astype("datetime64[s]")
    counted["cohort"] = counted["cohort"].to_numpy().astype("datetime64[M]").astype("datetime64[s]")
    counted = counted.astype({"month": "Int64", "users": "Int64", "net_cents": "Int64"})
    counted["running"] = running(pd.Series(months), "month", tz, until)
    shown = table.assign(cohort=data["cohort"].to_numpy().astype("datetime64[M]"), month=data["month"].to_numpy())

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        rows = rows_of(shown, {"cohort": "cohort", "month": "month"}, row)
        users = Part(rows.drop_duplicates("user_id"))
        if column == "share":
            first = rows_of(shown, {"cohort": "cohort", "month": "month"}, {**row, "month": 0})
            return users.over(first["user_id"].nunique())
        return {"users": users, "net_cents": Part(rows, rows["net_cents"])}.get(column)

    return _marked(counted, table, "cohorts", notes, find, tz=tz, currency=currency)


def monthly_changes(
    transactions: object,
    by: Columns = "merchant_name",
    *,
    month: str | None = None,
    tz: str = "UTC",
    currency: str = "usd",
) -> pd.DataFrame:
    """Return the change of net spend from one month to the next by merchant, category, card or user, largest first.

    Settlements and refunds count in the month in which they were made, so a later refund does not change an earlier
    month. A month that was not over when the data end is compared with the same part of the month before.

    Args:
        transactions: A frame of `postings`, or anything it takes. A frame of `transactions` has one time for all
            refunds of a transaction; those without a time count in the month of the settlement, and the notes say so.
        by: One or more columns to group by.
        month: The later month, such as "2026-03"; default the last month in the data.
        tz: Time zone of the months.
        currency: Transactions in other currencies are left out.

    Returns:
        Columns: the groups, before_cents, now_cents, change_cents (Int64, posted minus refunded).
    """
    table, notes = _table(movements(transactions), currency, "at")
    until = until_of(table, "at")
    table, names = grouped(table[table["net_cents"] != 0], by, "reports.monthly_changes")
    months = steps(table["at"], "month", tz)
    now = months.max() if month is None else month_of(month)
    before = now - pd.DateOffset(months=1)
    in_before = months == before
    is_running = False
    if len(table) and until is not None and until < end_of(now, "month", tz):
        is_running = True
        local = pd.Timestamp(until).tz_convert(zone(tz)).tz_localize(None)
        in_before &= (table["at"].dt.tz_convert(zone(tz)).dt.tz_localize(None) - before) <= (local - now)
        notes.append(
            f"{now:%B %Y} is running: it is compared with the same part of {before:%B}, to {local:%d %B %H:%M}."
        )
    keys = [table[name].fillna("") if str(table[name].dtype) == "str" else table[name] for name in names]
    sums = [
        table["net_cents"][rows].groupby([key[rows] for key in keys], observed=True).sum()
        for rows in (in_before, months == now)
    ]
    compared = pd.DataFrame({"before_cents": sums[0], "now_cents": sums[1]}).fillna(0).astype("Int64")
    compared = compared.reset_index(names=names)
    compared["change_cents"] = compared["now_cents"] - compared["before_cents"]
    compared = compared.iloc[(-compared["change_cents"].abs()).argsort(kind="stable")].reset_index(drop=True)
    more = {"month": str(now)[:7], "currency": currency, "running": is_running}
    keyed = table.assign(**{f"key {name}": key for name, key in zip(names, keys, strict=True)})

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        changes = keyed["net_cents"].where(months == now, -keyed["net_cents"])
        chosen = {"before_cents": in_before, "now_cents": months == now, "change_cents": in_before | (months == now)}
        if column not in chosen:
            return None
        rows = rows_of(keyed[chosen[column]], {name: f"key {name}" for name in names}, row)
        rows = rows.drop(columns=[f"key {name}" for name in names])
        return Part(rows, changes[rows.index] if column == "change_cents" else rows["net_cents"])

    return _marked(compared, table, "monthly_changes", notes, find, by=by, tz=tz, **more)


def movements(transactions: object, events: object = None) -> pd.DataFrame:
    """Return rows with the time `at` and the net amount of each settlement and refund.

    Args:
        transactions: A frame of `transactions` or `postings`, or anything they take.
        events: Events that date refunds of which `transactions` knows the amount alone, as the records of a sandbox do.
    """
    if not isinstance(transactions, pd.DataFrame):
        records = isinstance(transactions, list) and transactions and isinstance(transactions[0], Mapping)
        return movements(transactions_frame(transactions)) if records else postings(transactions)
    if "authorized_cents" not in transactions:
        return transactions if "posting" in transactions else postings(transactions)
    transactions, repeated = without_repeats(transactions)
    dated = []
    if events is not None:
        refunds = postings(events)
        refunds = refunds[(refunds["posting"] == "refund") & refunds["at"].notna()]
        by_transaction = refunds.groupby("transaction_id")["refunded_cents"].sum()
        known = transactions["transaction_id"].map(by_transaction).fillna(0).astype("Int64")
        transactions = transactions.assign(refunded_cents=transactions["refunded_cents"] - known)
        columns = [name for name in transactions if name not in refunds]
        dated = [refunds.merge(transactions[["transaction_id", *columns]], on="transaction_id", how="left")]
    refund_times = transactions["refunded_at"].fillna(transactions["posted_at"])
    parts = [
        transactions.assign(at=transactions["posted_at"], net_cents=transactions["posted_cents"], refunded_cents=0),
        transactions.assign(at=refund_times, net_cents=-transactions["refunded_cents"], posted_cents=0),
    ]
    parts = [part[part["net_cents"] != 0] for part in parts]
    table = pd.concat([*parts, *dated], ignore_index=True).assign(posting="")
    undated = int(((transactions["refunded_cents"] > 0) & transactions["refunded_at"].isna()).sum())
    notes = [f"{undated:,} refunds without a time count in the month of their settlement."] if undated else []
    notes += [f"{repeated:,} transactions occur more than once, as after concat; each counts once."] * bool(repeated)
    table.attrs = {**transactions.attrs, "notes": [*transactions.attrs.get("notes", ()), *notes]}
    return table


def month_of(text: str, of: str = "reports.monthly_changes") -> pd.Timestamp:
    """Return the first day of a month written as "2026-03"."""
    if not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", str(text)):
        raise UsageError(f'month must be as "2026-03", not {visible(str(text), 40)}', of=of)
    return pd.Timestamp(text)
