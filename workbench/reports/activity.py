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
from typing import Any, Literal

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
from workbench.reports.transaction_rows import transactions as transactions_frame
from workbench.rewards.folder import PART, read_folder
from workbench.rewards.reading import fetch
from workbench.sandbox.control_records import Delivery
from workbench.schema.walk import build
from workbench.session import sandbox_of
from workbench.tables.frames import read_parquet, to_frame
from workbench.tables.periods import Every, moment, steps
from workbench.tables.rows import AMOUNT, TEXT, UNKNOWN, WIDTHS, mark_report, to_pandas

Group = Literal["merchant_name", "merchant_category", "merchant_category_code", "card_id", "user_id"]
AGES = (0, 7, 30, 60, 90)
"""Lower bound of each age group, in days."""


def _table(transactions: Any, currency: str | None = None, time: str = "") -> tuple[pd.DataFrame, list[str]]:
    """Return the transactions in a currency that have a time, and notes that count the others."""
    known = isinstance(transactions, pd.DataFrame) and {"authorized_cents", "posting"} & set(transactions)
    table = transactions if known else transactions_frame(transactions)
    notes = list(table.attrs.get("notes", ()))
    for what, test in (
        ("in another currency", currency and table["currency"].str.lower() == currency.lower()),
        (f"without {time}", time and table[time].notna()),
    ):
        if not isinstance(test, str | None):
            kept = table[test.fillna(False).astype(bool)]
            notes += [f"{len(table) - len(kept):,} transactions {what} are left out."] * (len(kept) < len(table))
            table = kept
    return table, notes


def _marked(frame: pd.DataFrame, source: pd.DataFrame, kind: str, notes: Iterable[str], **more: object) -> pd.DataFrame:
    return mark_report(frame, kind, notes, source, **more)


def approvals(transactions: object, freq: Every = "day", *, tz: str = "UTC") -> pd.DataFrame:
    """Return the number of authorizations approved and declined in each day, week or month.

    Args:
        transactions: A frame of `transactions`, or anything it takes.
        freq: "day", "week" or "month".
        tz: Time zone of the days, such as "America/New_York".

    Returns:
        Columns: the first day of the period (named after `freq`), authorizations, approved, declined (Int64), rate
        (Float64, approved divided by all).
    """
    table, notes = _table(transactions, time="authorized_at")
    frame = pd.DataFrame({freq: steps(table["authorized_at"], freq, tz), "declined": table["status"] == "declined"})
    frame = frame.groupby(freq)["declined"].agg(authorizations="size", declined="sum").reset_index().convert_dtypes()
    frame.insert(2, "approved", frame["authorizations"] - frame["declined"])
    frame = frame.astype({"authorizations": "Int64", "approved": "Int64", "declined": "Int64"})
    frame["rate"] = (frame["approved"] / frame["authorizations"]).astype("Float64")
    return _marked(frame, table, "approvals", notes, freq=freq, tz=tz)


def declines(transactions: object) -> pd.DataFrame:
    """Return declined authorizations by reason, most frequent first.

    Returns:
        Columns reason, declined, amount_cents (Int64), share (Float64, of all declined).
    """
    table, notes = _table(transactions)
    groups = table[table["status"] == "declined"].groupby("declined_reason", dropna=False)["authorized_cents"]
    counted = (
        groups.agg(declined="size", amount_cents="sum").reset_index().rename(columns={"declined_reason": "reason"})
    )
    counted = counted.astype({"reason": TEXT, "declined": "Int64", "amount_cents": "Int64"})
    counted["share"] = (counted["declined"] / counted["declined"].sum()).astype("Float64")
    return _marked(_largest(counted, "declined", "reason"), table, "declines", notes)


def spend_funnel(transactions: object, *, currency: str = "usd") -> pd.DataFrame:
    """Return the spend funnel: amounts requested, approved, posted, refunded and net.

    Returns:
        Columns stage, transactions, amount_cents (Int64), share (Float64, of the requested amount).
    """
    table, notes = _table(transactions, currency)
    approved = table[table["status"] != "declined"]
    stages = {
        "requested": (len(table), table["authorized_cents"].sum()),
        "approved": (len(approved), approved["authorized_cents"].sum()),
        **{
            name: (int((table[f"{name}_cents"] > 0).sum()), table[f"{name}_cents"].sum())
            for name in ("posted", "refunded", "net")
        },
    }
    frame = pd.DataFrame({"stage": pd.array(list(stages), dtype=TEXT)})
    frame["transactions"] = pd.array([count for count, _ in stages.values()], dtype="Int64")
    frame["amount_cents"] = pd.array([int(amount) for _, amount in stages.values()], dtype="Int64")
    frame["share"] = (frame["amount_cents"] / max(int(frame["amount_cents"][0]), 1)).astype("Float64")
    return _marked(frame, table, "spend_funnel", notes, currency=currency)


def spend(transactions: object, by: Group = "merchant_category", *, currency: str = "usd") -> pd.DataFrame:
    """Return posted, refunded and net amounts by merchant, category, card or user, largest net first.

    Returns:
        Columns: the group (named after `by`), transactions, posted_cents, refunded_cents, net_cents
        (Int64).
    """
    table, notes = _table(transactions, currency)
    table = table[table["posted_cents"] + table["refunded_cents"] > 0]
    groups = table.groupby(by, dropna=False)
    sums = groups[["posted_cents", "refunded_cents", "net_cents"]].sum()
    sums.insert(0, "transactions", groups.size().astype("Int64"))
    return _marked(_largest(sums.reset_index(), "net_cents", by), table, "spend", notes, by=by, currency=currency)


def _largest(frame: pd.DataFrame, column: str, name: str) -> pd.DataFrame:
    return frame.sort_values([column, name], ascending=[False, True], ignore_index=True)


def posting_times(transactions: object, by: Group | None = None) -> pd.DataFrame:
    """Return the time from authorization to posting, over all transactions or by a column.

    Returns:
        Columns: the group (named after `by`, if given), transactions (Int64), and median_hours, p90_hours,
        longest_hours (Float64).
    """
    table, notes = _table(transactions, time="posted_at")
    hours = (table["posted_at"] - table["authorized_at"]).dt.total_seconds() / 3_600
    groups = hours.groupby(table[by] if by else np.zeros(len(hours)), dropna=False)
    frame = pd.DataFrame(groups.agg(transactions="size", median_hours="median", longest_hours="max"))
    frame.insert(2, "p90_hours", groups.quantile(0.9))
    frame = frame.reset_index(drop=by is None)
    frame = frame.astype(
        {"transactions": "Int64", **{name: "Float64" for name in frame if str(name).endswith("_hours")}}
    )
    return _marked(frame, table, "posting_times", notes, by=by)


def cohorts(transactions: object, *, tz: str = "UTC", currency: str = "usd") -> pd.DataFrame:
    """Return cohorts of users by month of first approved authorization, with the users active in each later month.

    Returns:
        Columns cohort (first day of the month), month (0 for the first one, Int64), users (Int64: active in it), share
        (Float64, of the cohort), net_cents (Int64, of what was authorized in the month).
    """
    table, notes = _table(transactions, currency, "authorized_at")
    table = table[table["status"] != "declined"]
    month = steps(table["authorized_at"], "month", tz).to_numpy().astype("datetime64[M]").astype("int64")
    data = pd.DataFrame(
        {"user": table["user_id"].to_numpy(), "month": month, "net_cents": table["net_cents"].to_numpy()}
    )
    data["cohort"] = data.groupby("user")["month"].transform("min")
    data["month"] -= data["cohort"]
    groups = data.groupby(["cohort", "month"])
    counted = pd.DataFrame({"users": groups["user"].nunique(), "net_cents": groups["net_cents"].sum()}).reset_index()
    sizes = counted[counted["month"] == 0].set_index("cohort")["users"]
    counted.insert(3, "share", (counted["users"] / counted["cohort"].map(sizes)).astype("Float64"))
    counted["cohort"] = counted["cohort"].to_numpy().astype("datetime64[M]").astype("datetime64[s]")
    counted = counted.astype({"month": "Int64", "users": "Int64", "net_cents": "Int64"})
    return _marked(counted, table, "cohorts", notes, tz=tz, currency=currency)


def monthly_changes(
    transactions: object,
    by: Group = "merchant_name",
    *,
    month: str | None = None,
    tz: str = "UTC",
    currency: str = "usd",
) -> pd.DataFrame:
    """Return the change of net spend from one month to the next by merchant, category, card or user, largest first.

    Settlements and refunds count in the month in which they were made, so a later refund does not change an earlier
    month.

    Args:
        transactions: A frame of `postings`, or anything it takes. A frame of `transactions` has one time for all
            refunds of a transaction; those without a time count in the month of the settlement, and the notes say so.
        by: Column to group by.
        month: The later month, such as "2026-03"; default the last month in the data.
        tz: Time zone of the months.
        currency: Transactions in other currencies are left out.

    Returns:
        Columns: the group (named after `by`), before_cents, now_cents, change_cents (Int64, posted minus
        refunded).
    """
    table, notes = _table(_movements(transactions), currency, "at")
    table = table[table["net_cents"] != 0]
    months = steps(table["at"], "month", tz)
    now = months.max() if month is None else _month(month)
    before = now - pd.DateOffset(months=1)
    names = table[by].fillna("")
    sums = [table["net_cents"][months == at].groupby(names).sum() for at in (before, now)]
    compared = (
        pd.DataFrame({"before_cents": sums[0], "now_cents": sums[1]}).fillna(0).astype("Int64").reset_index(names=by)
    )
    compared["change_cents"] = compared["now_cents"] - compared["before_cents"]
    compared = compared.iloc[(-compared["change_cents"].abs()).argsort(kind="stable")].reset_index(drop=True)
    return _marked(compared, table, "monthly_changes", notes, by=by, tz=tz, month=str(now)[:7], currency=currency)


def _movements(transactions: object) -> pd.DataFrame:
    """Return rows with the time `at` and the net amount of each settlement and refund."""
    if not isinstance(transactions, pd.DataFrame) or "authorized_cents" not in transactions:
        return (
            transactions
            if isinstance(transactions, pd.DataFrame) and "posting" in transactions
            else postings(transactions)
        )
    refunds = transactions.assign(
        at=transactions["refunded_at"].fillna(transactions["posted_at"]), net_cents=-transactions["refunded_cents"]
    )
    table = pd.concat(
        [transactions.assign(at=transactions["posted_at"], net_cents=transactions["posted_cents"]), refunds],
        ignore_index=True,
    )
    table = table[table["net_cents"] != 0]
    undated = int(((transactions["refunded_cents"] > 0) & transactions["refunded_at"].isna()).sum())
    notes = [f"{undated:,} refunds without a time count in the month of their settlement."] if undated else []
    table.attrs = {**transactions.attrs, "notes": [*transactions.attrs.get("notes", ()), *notes]}
    return table


def _month(text: str) -> pd.Timestamp:
    if not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", str(text)):
        raise UsageError(f'month must be as "2026-03", not {visible(str(text), 40)}', of="reports.monthly_changes")
    return pd.Timestamp(text)


# -- applications, disputes, webhooks


def applications(events: object, freq: Every = "day", *, tz: str = "UTC") -> pd.DataFrame:
    """Return the number of applications in each status at the end of each day, week or month.

    Args:
        events: Events, or a result of `status_history`.
        freq: "day", "week" or "month".
        tz: Time zone of the days.

    Returns:
        Columns: the first day of the period (named after `freq`), status, applications (Int64).
    """
    history = events if isinstance(events, pd.DataFrame) else status_history(events)
    timed = history[history["at"].notna()]
    data = pd.DataFrame({freq: steps(timed["at"], freq, tz), "user": timed["user_id"], "status": timed["status"]})
    last = data.drop_duplicates([freq, "user"], keep="last").pivot(index=freq, columns="user", values="status")
    if len(last):
        last = last.reindex(
            pd.date_range(last.index.min(), last.index.max(), freq={"day": "D", "week": "7D"}.get(freq, "MS"))
        )
    counts = last.ffill().stack().groupby(level=0).value_counts()
    table = counts.rename_axis([freq, "status"]).rename("applications").reset_index()
    table = table.astype({"status": TEXT, "applications": "Int64", freq: "datetime64[s]"})
    table = table.sort_values([freq, "status"], ignore_index=True)
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
    happened = {event["event"]["id"]: read_time(event["at"])[0] for event in sandbox.events()}
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
        made = {name: make() for name, make in tables.items() if re.search(rf"\b{re.escape(name)}\b", query)}
        for name, given in made.items():
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
            return mark_report(frame, "sql", [*_completeness(made)], unit_unknown=unclear)
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


def _without_unit(parsed: Any) -> Iterator[str]:
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


def _query_problem(parsed: Any) -> str:
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
