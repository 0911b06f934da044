"""Reports on transactions, applications, disputes and webhooks, with days and months in a chosen time zone; and SQL.

Amounts are in cents, the minor unit of one currency. Rows in other currencies and rows without a time are left out and
counted in the notes.
"""

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import UsageError, visible
from workbench.interface.convert import read_time
from workbench.interface.transactions import Dispute
from workbench.interface.vocabulary import DisputeStatus
from workbench.reports.balances import status_history
from workbench.reports.event_logs import duckdb
from workbench.reports.posting_rows import postings
from workbench.reports.scope import Columns, columns_of, grouped, in_scope, without_repeats
from workbench.reports.transaction_rows import MONEY, until_of
from workbench.reports.transaction_rows import transactions as transactions_frame
from workbench.rewards.folder import PART, read_folder
from workbench.rewards.reading import fetch
from workbench.sandbox.control_records import Delivery
from workbench.schema.walk import build
from workbench.session import sandbox_of
from workbench.tables.frames import read_parquet, to_frame
from workbench.tables.periods import (
    Every,
    end_of,
    every_period,
    is_period,
    moment,
    period_name,
    running,
    steps,
    zone,
)
from workbench.tables.rows import AMOUNT, TEXT, UNKNOWN, WIDTHS, mark_report, to_pandas

AGES = (0, 7, 30, 60, 90)
"""Lower bound of each age group, in days."""


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


def _marked(frame: pd.DataFrame, source: pd.DataFrame, kind: str, notes: Iterable[str], **more: object) -> pd.DataFrame:
    return mark_report(frame, kind, notes, source, **more)


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
    return _marked(frame, table, "approvals", notes, freq=freq, tz=tz, currency=currency)


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
    names = ["reason" if name == "declined_reason" else name for name in names]
    return _marked(_largest(counted, "declined", names), table, "declines", notes, currency=currency)


def spend_funnel(transactions: object, *, currency: str = "usd") -> pd.DataFrame:
    """Return the spend funnel: amounts requested, approved, posted, refunded and net.

    Transactions that began before the first event are left out, since what was requested of them is not known.

    Args:
        transactions: A frame of `transactions`, which for a past day is `transactions(…, at=)`, or anything it takes.
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
    frame["share"] = (frame["amount_cents"] / max(int(frame["amount_cents"][0]), 1)).astype("Float64")
    return _marked(frame, table, "spend_funnel", notes, currency=currency)


def spend(
    transactions: object, by: Columns = "merchant_category", *, tz: str = "UTC", currency: str = "usd"
) -> pd.DataFrame:
    """Return posted, refunded and net amounts by merchant, category, card, user or period, largest net first.

    Args:
        transactions: A frame of `transactions` or `postings`, or anything they take.
        by: One or more columns, also of your own, or periods such as "month", "quarter" or a fiscal "Q-JAN". In a
            period, settlements and refunds count at their own time, as in `postings`.
        tz: Time zone of the periods.
        currency: Transactions in other currencies are left out.

    Returns:
        Columns: the groups, transactions, posted_cents, refunded_cents, net_cents (Int64), and running (boolean: the
        period was not over when the data end) if `by` has a period. Rows of periods are in order of time.
    """
    periods = [name for name in columns_of(by) if is_period(name)]
    source = _movements(transactions) if periods else transactions
    table, notes = _table(source, currency, "at" if periods else "")
    data, names = grouped(table, by, "reports.spend", time="at", tz=tz)
    data = data[data["posted_cents"] + data["refunded_cents"] > 0]
    groups = data.groupby(names, dropna=False, observed=True)
    sums = groups[["posted_cents", "refunded_cents", "net_cents"]].sum()
    sums.insert(0, "transactions", (groups["transaction_id"].nunique() if periods else groups.size()).astype("Int64"))
    frame, until = sums.reset_index(), until_of(table, "at", "posted_at")
    if not periods:
        return _marked(_largest(frame, "net_cents", names), table, "spend", notes, by=by, currency=currency)
    name = period_name(periods[0])
    frame["running"] = running(frame[name], periods[0], tz, until)
    return _marked(frame, table, "spend", notes, by=by, tz=tz, currency=currency)


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
    return _marked(frame, table, "posting_times", notes, by=by)


def cohorts(transactions: object, *, tz: str = "UTC", currency: str = "usd") -> pd.DataFrame:
    """Return cohorts of users by month of first approved authorization, with the users active in each later month.

    Returns:
        Columns cohort (first day of the month), month (0 for the first one, Int64), users (Int64: active in it), share
        (Float64, of the cohort), net_cents (Int64, of what was authorized in the month), and running (boolean: the
        month was not over when the data end).
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
    return _marked(counted, table, "cohorts", notes, tz=tz, currency=currency)


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
    table, notes = _table(_movements(transactions), currency, "at")
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
    return _marked(compared, table, "monthly_changes", notes, by=by, tz=tz, **more)


def _movements(transactions: object) -> pd.DataFrame:
    """Return rows with the time `at` and the net amount of each settlement and refund."""
    if not isinstance(transactions, pd.DataFrame):
        known = isinstance(transactions, list) and transactions and isinstance(transactions[0], Mapping)
        return _movements(transactions_frame(transactions)) if known else postings(transactions)
    if "authorized_cents" not in transactions:
        return transactions if "posting" in transactions else postings(transactions)
    transactions, repeated = without_repeats(transactions)
    refund_times = transactions["refunded_at"].fillna(transactions["posted_at"])
    parts = [
        transactions.assign(at=transactions["posted_at"], net_cents=transactions["posted_cents"], refunded_cents=0),
        transactions.assign(at=refund_times, net_cents=-transactions["refunded_cents"], posted_cents=0),
    ]
    table = pd.concat([part[part["net_cents"] != 0] for part in parts], ignore_index=True).assign(posting="")
    undated = int(((transactions["refunded_cents"] > 0) & transactions["refunded_at"].isna()).sum())
    notes = [f"{undated:,} refunds without a time count in the month of their settlement."] if undated else []
    notes += [f"{repeated:,} transactions occur more than once, as after concat; each counts once."] * bool(repeated)
    table.attrs = {**transactions.attrs, "notes": [*transactions.attrs.get("notes", ()), *notes]}
    return table


def month_of(text: str, of: str = "reports.monthly_changes") -> pd.Timestamp:
    """Return the first day of a month that is written as "2026-03"."""
    if not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", str(text)):
        raise UsageError(f'month must be as "2026-03", not {visible(str(text), 40)}', of=of)
    return pd.Timestamp(text)


# -- applications, disputes, webhooks


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
    return _marked(table, history, "applications", notes, freq=freq, tz=tz)


def disputes(disputes: Any, *, at: str | datetime) -> pd.DataFrame:
    """Return the disputes that existed at a given time, by status and age.

    A dispute records only its present status. If it was resolved after `at`, its status at that time is "unknown". A
    dispute that is in review now may have been pending then; the notes count these.

    Args:
        disputes: Disputes, their frame, or what `sandbox.records("dispute")` returns.
        at: The time, such as "2026-03-31". The age of a dispute resolved by then is its time to resolution.

    Returns:
        Columns status, age ("0 to 6 days", … "90 days or more"), disputes (Int64), oldest_days (Float64).
    """
    if not isinstance(disputes, pd.DataFrame):
        disputes = to_frame([_dispute(dispute) for dispute in disputes], of=Dispute)
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
    for count, reason in ((len(disputes) - len(known), "without a time"), (len(known) - len(table), "opened later")):
        if count:
            notes.append(f"{count:,} disputes {reason} are left out.")
    if unknown := int((status == "unknown").sum()):
        notes.append(
            f"{unknown:,} disputes were resolved later, or have no time of it: their status then is not known."
        )
    if in_review := int((status == str(DisputeStatus.IN_REVIEW)).sum()):
        notes.append(f"{in_review:,} disputes that are in review may have been pending at that moment.")
    return _marked(counted, disputes, "disputes", notes, at=moment_of_report.isoformat())


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
    return mark_report(table.astype({"endpoint": TEXT, **dtypes}), "deliveries", [])


# -- SQL


SESSION: dict[str, Callable[[Any], Any]] = {
    "transactions": transactions_frame,
    "events": to_frame,
    "journal": lambda api: to_frame(api.journal),
    "contracts": lambda api: to_frame(api.list_contracts()),
    "rewards": lambda api: fetch(api, api.sandbox.guide()["rewards_users"], progress=False).frame(),
    "deliveries": lambda api: to_frame(api.sandbox.deliveries(), of=Delivery),
}
"""The tables of a session; each is built only if a query names it."""
_WIDEST = pa.decimal128(38, 18)


def sql(query: str, source: object = None, **frames: object) -> pd.DataFrame:
    """Run a SQL query over frames in DuckDB and return a frame. The query can read only the given tables.

    Args:
        query: A DuckDB query, such as "select card_id, sum(net_cents) as net_cents from transactions group by all".
            Quote dotted columns, as in "body.spend.amount".
        source: A session or a folder. A session has the tables `transactions`, `events`, `journal` and `contracts`;
            with a sandbox also `deliveries` and `rewards` (of the users in its guide). In a folder, each Parquet file
            and each folder of rewards is a table with its name.
        frames: Further tables as keyword arguments, such as rewards=frame; anything that `to_frame` takes.

    Raises:
        UsageError: The query is not one SELECT statement, reads a file or an address, calls a function with an effect,
            exceeds two minutes or 2 GB, or cannot be run; the message lists the tables.
    """
    tables: dict[str, Callable[[], Any]] = {name: partial(to_frame, x) for name, x in frames.items()}
    if isinstance(source, str | Path):
        folder = Path(source)
        tables |= {path.stem: partial(read_parquet, path) for path in sorted(folder.glob("*.parquet"))}
        tables |= {path.parent.name: partial(read_folder, path.parent) for path in folder.glob(f"*/{PART}")}
    elif source is not None:
        tables |= {name: partial(make, source) for name, make in SESSION.items() if name not in tables}
    if len(query) > _MAX_QUERY or re.search(r"[\0\ud800-\udfff]", query):
        raise UsageError(
            f"query must be text of at most {_MAX_QUERY:,} characters, without NUL and surrogates", of="sql"
        )
    with duckdb().connect(config=_CLOSED) as engine:
        named_tables = {name: make() for name, make in tables.items() if re.search(rf"\b{re.escape(name)}\b", query)}
        for name, given in named_tables.items():
            engine.register(name, _arrow(given))
        engine.execute("SET lock_configuration=true")
        table = None
        watch = threading.Timer(_MAX_SECONDS, engine.interrupt)
        watch.start()
        try:
            parsed = _parsed(engine, query)
            problem = parsed if isinstance(parsed, str) else _query_problem(parsed)
            table = None if problem else _bounded(engine.sql(query))
        except (duckdb().Error, pa.ArrowException, OSError, MemoryError, UnicodeError) as error:
            problem = visible((str(error) or type(error).__name__).splitlines()[0], 500)
        finally:
            watch.cancel()
        if table is not None:
            frame = pd.DataFrame({name: to_pandas(_usual(table.column(name))) for name in table.column_names})
            unclear = [name for name in _without_unit(parsed) if name in frame]
            return mark_report(frame, "sql", [*_completeness(named_tables)], unit_unknown=unclear)
    raise UsageError(f"the query cannot be run: {problem} (tables: {', '.join(tables) or 'none'})")


_MAX_QUERY = 100_000
_MAX_RESULT = 2**30  # maximum bytes of a result
_MAX_SECONDS = 120.0
_CLOSED = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "memory_limit": "2GB",
    "temp_directory": "",
}
"""Settings that limit a query to the given tables: no files, network, extensions or Python variables."""
_TABLE_FUNCTIONS = frozenset({"range", "generate_series", "unnest", "json_each", "json_tree"})
_REFUSED_FUNCTIONS = re.compile(
    r"write_log|getenv|nextval|currval|current_setting|.*sleep.*|.*checkpoint.*"
    r"|repeat|lpad|rpad|(list|array)_resize|printf|format|bar"  # their memory is not limited
)
_MAX_DEPTH = 200  # brackets in each other


def _completeness(tables: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the notes of the tables say of their completeness, each with the name of its table."""
    for name, table in tables.items():
        if isinstance(table, pd.DataFrame) and "kind" not in table.attrs:
            yield f"{name}: {UNKNOWN}"
        elif isinstance(table, pd.DataFrame):
            yield from ([f"{name}: not complete, rows are missing."] if table.attrs.get("complete") is False else [])
            yield from (f"{name}: {note}" for note in table.attrs.get("notes", ()) if not note.startswith("Assumed:"))


def _without_unit(parsed: object) -> Iterator[str]:
    """Yield the names that a query gives to amounts in cents, and that do not say so."""
    for select in (node for node in _nodes(parsed) if "select_list" in node):
        for item in select["select_list"]:
            alias = str(item.get("alias") or "")
            names = [node["column_names"][-1] for node in _nodes(item) if node.get("type") == "COLUMN_REF"]
            counted = str(item.get("function_name", "")).startswith("count")
            if alias and not counted and any(AMOUNT.search(str(n)) for n in names) and not AMOUNT.search(alias):
                yield alias


def _parsed(engine: Any, query: str) -> Any:
    """Return the syntax tree of a query, or as text why it is rejected: it is one SELECT statement."""
    depths = accumulate((character in "([") - (character in ")]") for character in query)
    if max(depths, default=0) > _MAX_DEPTH:
        return "it is nested too deeply"
    statements = engine.extract_statements(query)
    if [statement.type.name for statement in statements] != ["SELECT"]:
        return "it must be one SELECT statement"
    ((tree,),) = engine.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    parsed = json.loads(tree)
    return str(parsed["error_message"]) if parsed["error"] else parsed


def _query_problem(parsed: object) -> str:
    """Return why a query is rejected; empty if it calls no function with a side effect."""
    for kind, name in _functions(parsed):
        if _REFUSED_FUNCTIONS.fullmatch(name) or (kind == "TABLE_FUNCTION" and name not in _TABLE_FUNCTIONS):
            return f"the function {name} is not available"
    return ""


def _functions(tree: object) -> Iterator[tuple[str, str]]:
    """Yield each function of a parsed query: whether it is a table function, and its name."""
    for node in _nodes(tree):
        if node.get("type") == "TABLE_FUNCTION":
            yield "TABLE_FUNCTION", str(node["function"]["function_name"]).lower()
        elif "function_name" in node:
            yield "FUNCTION", str(node["function_name"]).lower()


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    """Yield each object of a JSON tree."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            yield node
            left += node.values()
        elif isinstance(node, list):
            left += node


def _bounded(result: Any) -> Any:
    """Return the rows of a result as one Arrow table.

    Raises:
        UsageError: The result exceeds the maximum size.
    """
    reader = result.to_arrow_reader(100_000)
    batches, size = [], 0
    for batch in reader:
        size += batch.nbytes
        if size > _MAX_RESULT:
            raise UsageError(f"the result is larger than {_MAX_RESULT:,} bytes; select less", of="sql")
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def _arrow(frame: object) -> Any:
    """Return a frame as Arrow, with decimals narrowed to the widest type of DuckDB."""
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    for place, field in enumerate(table.schema):
        if pa.types.is_decimal256(field.type):
            try:
                column = pc.cast(table.column(place), _WIDEST)
            except pa.ArrowInvalid:
                column = pc.cast(table.column(place), pa.string())  # more digits than DuckDB has
            table = table.set_column(place, field.name, column)
    return table


def _usual(column: Any) -> Any:
    """Cast a column to the usual type if its values fit: int64 for integers, `decimal128(18, 6)` for decimals."""
    if pa.types.is_decimal(column.type):
        for kind in (pa.int64(),) if column.type.scale == 0 else WIDTHS:
            try:
                return pc.cast(column, kind)
            except pa.ArrowInvalid:
                continue
    if pa.types.is_integer(column.type):
        return pc.cast(column, pa.int64())
    return pc.cast(column, pa.timestamp("us", "UTC")) if getattr(column.type, "tz", None) else column
