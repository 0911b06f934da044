"""Tables computed from records: collateral, application statuses, and reward points over time."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from workbench.analysis.reports.scope import without_repeats
from workbench.analysis.reports.traces import Part, Trace, rows_of
from workbench.analysis.tables.event_frames import events_frame
from workbench.analysis.tables.frames import read_parquet, to_file, to_frame
from workbench.analysis.tables.periods import end_of, every_period, moment, running, steps
from workbench.analysis.tables.rows import EXACT, TEXT, cumsum, decimal_series, decimals, mark_report
from workbench.base.errors import Problem, UsageError, not_allowed
from workbench.client.calls.client import refuse_async
from workbench.client.session import sandbox_of
from workbench.service.chains.addresses import chain_of
from workbench.service.interface.events import EVENT_KINDS

USER_UPDATED = EVENT_KINDS["user.updated"].name

MICRO_DEPOSIT = EVENT_KINDS["microDeposit.received"].name

UNITS = "Assumed: balances are whole tokens, exchange rates USD a token, advance rates percentages."

ORDER = "Order: by time; events without one keep their place. Whether events arrive in order is not documented."

SYMBOLS = {
    "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48": "USDC",  # Ethereum
    "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913": "USDC",  # Base
    "0xaf88d065e77c8cc2239327c5edb3a432268e5831": "USDC",  # Arbitrum
    "0x0b2c639c533813f4aa9d7837caf62653d097ff85": "USDC",  # Optimism
    "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359": "USDC",  # Polygon
    "0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e": "USDC",  # Avalanche
    "0xdac17f958d2ee523a2206206994597c13d831ec7": "USDT",  # Ethereum
    "epjfwdd5aufqssqem2qn1xzybapc8g4wegggkzwytdt1v": "USDC",  # Solana
}
"""Token symbols by lower-case address, on main networks."""

_DECIMALS = ("tokens.balance", "tokens.exchange_rate", "tokens.advance_rate", "value_usd", "advance_usd")

_TOKEN = ("id", "chain_id", "tokens.address", "tokens.balance", "tokens.exchange_rate", "tokens.advance_rate")


def contract_values(contracts: Any, by: str | Collection[str] | None = None) -> pd.DataFrame:
    """Return one row per token: balance, rates, `value_usd` (balance × exchange rate) and `advance_usd` (× rate).

    Args:
        contracts: Contracts, their frame, or a result of this report. A token without a balance or rate has no value.
        by: Columns such as "chain_id", for the sums of each group; an empty list for the total.
    """
    known = isinstance(contracts, pd.DataFrame) and contracts.attrs.get("kind") == "contract_values"
    values = contracts if known else _token_values(contracts)
    return values if by is None else _totals(values, [by] if isinstance(by, str) else list(by))


def _token_values(contracts: object) -> pd.DataFrame:
    tokens = to_frame(contracts, of=None if isinstance(contracts, pd.DataFrame) else "list_contracts")
    table = tokens.loc[tokens["tokens.address"].notna(), list(_TOKEN)].reset_index(drop=True)
    with localcontext(EXACT):
        values = _products(decimals(table["tokens.balance"]), decimals(table["tokens.exchange_rate"]))
        advances = _products(values, decimals(table["tokens.advance_rate"]))
        table["value_usd"] = decimal_series(values)
        table["advance_usd"] = decimal_series([None if a is None else a / 100 for a in advances])
    notes = [UNITS, *tokens.attrs.get("notes", ())]
    if bare := int(tokens["tokens.address"].isna().sum()):
        notes.append(
            f"{bare:,} contracts have no token here: their list is empty or missing, and adds nothing to totals."
        )
    if missing := int(table["value_usd"].isna().sum()):
        notes.append(f"{missing:,} tokens without a balance or a rate have no value here.")
    return mark_report(table, "contract_values", notes)


def _products(left: list[Decimal | None], right: list[Decimal | None]) -> list[Decimal | None]:
    return [None if a is None or b is None else a * b for a, b in zip(left, right, strict=True)]


def _totals(values: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    numbers = {name: decimals(values[name]) for name in ("value_usd", "advance_usd")}
    totals = (
        values[keys].drop_duplicates().sort_values(keys, ignore_index=True) if keys else pd.DataFrame(index=range(1))
    )
    places = values.groupby(keys, dropna=False).ngroup().tolist() if keys else [0] * len(values)
    with localcontext(EXACT):
        for name, column in numbers.items():
            sums = [Decimal(0)] * len(totals)
            for place, number in zip(places, column, strict=True):
                sums[place] += number or 0
            totals[name] = decimal_series(sums)

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        rows = rows_of(values, {name: name for name in keys}, row)
        return Part(rows, rows[column]) if column in numbers else None

    return mark_report(totals, "contract_totals", values.attrs["notes"], trace=Trace(find))


def record_balances(api: Any, path: str | Path, *, symbols: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read the contracts, append the value of their tokens to a Parquet file, and return all its rows.

    The time of the rows is the sandbox's, or the system time without one.

    Args:
        api: A session or a client.
        path: The file; the first call creates it.
        symbols: Further token symbols by address, in addition to `SYMBOLS`.

    Returns:
        Columns at, id (of the contract), chain_id, chain, tokens.address, symbol (missing if unknown),
        tokens.balance, tokens.exchange_rate, tokens.advance_rate, value_usd and advance_usd (decimals); oldest first.
    """
    refuse_async(api, "reports.record_balances")
    path, sandbox = Path(path), sandbox_of(api)
    recorded = contract_values(api.list_contracts())
    now = datetime.now(UTC) if sandbox is None else sandbox.clock.now()
    if not all(isinstance(text, str) for pair in (symbols or {}).items() for text in pair):
        raise UsageError([Problem("symbols", "type", "must map addresses to symbols")], of="reports.record_balances")
    known = {**SYMBOLS, **{address.lower(): symbol for address, symbol in (symbols or {}).items()}}
    chains = {chain: chain_of(chain).name for chain in recorded["chain_id"].dropna().unique()}
    recorded.insert(0, "at", pd.Series([pd.Timestamp(now)] * len(recorded), dtype="datetime64[us, UTC]"))
    recorded.insert(3, "chain", recorded["chain_id"].map(chains).astype(TEXT))
    recorded.insert(5, "symbol", recorded["tokens.address"].str.lower().map(known).astype(TEXT))
    notes = recorded.attrs["notes"]
    if path.exists():
        recorded = pd.concat([read_parquet(path), recorded], ignore_index=True)
    for name in _DECIMALS:
        recorded[name] = decimal_series(decimals(recorded[name]))
    recorded = mark_report(recorded, "balances", notes)
    to_file(recorded, path, overwrite=True)
    return recorded


def status_history(events: object) -> pd.DataFrame:
    """Return one row per change of a user's application status, oldest first within a user.

    Repeated statuses and duplicate event ids are ignored.

    Args:
        events: Events, an inbox, or a session.

    Returns:
        Columns user_id, at, status, previous, reason, change_reason.
    """
    updates = events_frame(events, USER_UPDATED)
    history = pd.DataFrame({"user_id": updates["body.id"], "at": updates["at"]})
    history["status"] = updates["body.application_status"].astype(TEXT)
    history["previous"] = pd.Series(dtype=TEXT)
    history["reason"] = updates["body.application_reason"].where(updates["body.application_reason"] != "")
    history["change_reason"] = updates["body.status_change_reason"].astype(TEXT)
    in_order = (
        history["at"].ffill().sort_values(kind="stable", na_position="first").index
    )  # without a time: in order of arrival
    history = history[~updates["id"].duplicated() & history["status"].notna()]
    history = history.loc[in_order.intersection(history.index, sort=False)]
    history = history[history["status"] != history.groupby("user_id")["status"].shift()]
    history["previous"] = history.groupby("user_id")["status"].shift()
    return mark_report(history.sort_values("user_id", kind="stable", ignore_index=True), "status_history", [ORDER])


def _history(history: object) -> pd.DataFrame:
    return history if isinstance(history, pd.DataFrame) else status_history(history)


def time_in_status(history: object, *, now: datetime | None = None) -> pd.DataFrame:
    """Return the time each user spent in each status, one row per stay.

    Args:
        history: Events, or a result of `status_history`.
        now: End of each user's last status; without it, the last status has no end and no duration.

    Returns:
        Columns user_id, status, since, until, days (Float64).
    """
    table = _history(history)
    timed = table[table["at"].notna()]
    until = timed.groupby("user_id")["at"].shift(-1)
    if now is not None:
        until = until.fillna(pd.Timestamp(now))
    frame = pd.DataFrame({"user_id": timed["user_id"], "status": timed["status"], "since": timed["at"], "until": until})
    frame["days"] = ((frame["until"] - frame["since"]).dt.total_seconds() / 86_400).astype("Float64")
    notes = list(table.attrs.get("notes", ()))
    if left := len(table) - len(timed):
        notes.append(f"{left:,} changes without a time are left out.")
    return mark_report(frame.reset_index(drop=True), "time_in_status", notes)


By = Literal["created_at", "posted_at", "minted_at"]

Group = Literal["user_id", "cohort", "spend_category", "merchant_name"]

_FLOWS = ("earned", "clawed_back", "redeemed")

REDEEMED = (
    "Redemptions count from created_at: they have no other time. Pending and failed travel redemptions are not listed."
)


def outstanding(
    rewards: object,
    *,
    at: object = None,
    on: By = "created_at",
    by: Group | None = None,
    tz: str = "UTC",
    opening: Decimal | None = None,
) -> pd.DataFrame:
    """Return the points outstanding at a date: earned minus clawed back and redeemed until then.

    Args:
        rewards: The result of `rewards.fetch`, its frame, or items.
        at: The date or time; a date means its first moment in `tz`. Default: after all rows.
        on: The time from which points count: "created_at" (of their row), "posted_at" (of the purchase), or
            "minted_at",
            which leaves out points not yet minted.
        by: A column to group by, or "cohort": the month of a user's first row.
        tz: Time zone of dates and months.
        opening: Points outstanding before the first row; required if earlier rows were not read.

    Returns:
        Columns: the group (named after `by`, if given), earned, clawed_back, redeemed, outstanding (decimals), rows
        (Int64). `clawed_back` sums the earned rows below 0: refunds and adjustments, which the service does not
        distinguish. The service reports no expiry.

    Raises:
        UsageError: `at` is not a time, or only a part of the rows was read and `opening` is not given.
        UsageError: `on` or `by` is not an allowed value, or not a column of the frame.
    """
    until = moment(at, "at", tz)
    data, notes = _activity(rewards, on, by, tz)
    before = _opening(rewards, opening, until)
    if by and before:
        raise UsageError("opening applies to all points; do not combine it with by", of="reports.outstanding")
    if until is not None:
        data = data[data["at"] < pd.Timestamp(until)]
    balances = _sums(data, [by] if by else [])
    changes = balances["earned"] - balances["clawed_back"] - balances["redeemed"]
    balances.insert(len(balances.columns) - 1, "outstanding", decimal_series([before + c for c in changes]))

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        return _points_part(rows_of(data, {by: by} if by else {}, row), column, before)

    about = {"at": until and until.isoformat(), "on": on, "tz": tz}
    return mark_report(balances, "points_outstanding", notes, rewards, trace=Trace(find), **about)


def liability(
    rewards: object,
    *,
    on: By = "created_at",
    usd_per_point: Decimal | None = None,
    tz: str = "UTC",
    opening: Decimal | None = None,
) -> pd.DataFrame:
    """Return the points outstanding at the end of each month, from the first row to the last.

    Args:
        rewards: The result of `rewards.fetch`, its frame, or items.
        on: The time from which points count; see `outstanding`.
        usd_per_point: Value of a point in USD, for a column `value_usd`; the service does not state it.
        tz: Time zone of the months.
        opening: Points outstanding before the first row; required if only rows from a time on were read.

    Raises:
        UsageError: Only a part of the rows was read, and `opening` is not given.

    Returns:
        Columns month (its first day), end (when it ends), opening, earned, clawed_back, redeemed (in the month; see
        `outstanding`), outstanding (at its end, and the opening of the next), and value_usd if `usd_per_point` is
        given; decimals; and running (boolean: the month was not over when the data end).
    """
    data, notes = _activity(rewards, on, None, tz)
    before = _opening(rewards, opening, None)
    data = data.assign(month=steps(data["at"], "month", tz))
    sums = _sums(data, ["month"]).set_index("month")[[*_FLOWS]]
    if len(sums):
        months = every_period(sums.index, "month")
        sums = sums.reindex(months).fillna(Decimal(0))  # type: ignore[arg-type]  # of decimals
    frame = pd.DataFrame({"month": pd.Series(sums.index, dtype="datetime64[s]")})
    ends = [end_of(month, "month", tz) for month in frame["month"]]
    frame["end"] = pd.Series(pd.to_datetime(ends, utc=True)).astype("datetime64[us, UTC]")
    for name in _FLOWS:
        frame[name] = decimal_series(decimals(sums[name]))
    changes = cumsum(frame["earned"] - frame["clawed_back"] - frame["redeemed"])
    balances = [before, *(before + points for points in changes)]
    frame.insert(2, "opening", decimal_series(balances[:-1]))
    frame["outstanding"] = decimal_series(balances[1:])
    if usd_per_point is not None:
        frame["value_usd"] = decimal_series([EXACT.multiply(points, usd_per_point) for points in frame["outstanding"]])
    frame["running"] = running(frame["month"], "month", tz, _end_of_read(rewards, data))

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        if column in _FLOWS:
            return _points_part(rows_of(data, {"month": "month"}, row), column, before)
        until = data["month"] < row["month"] if column == "opening" else data["month"] <= row["month"]
        part = _points_part(data[until], "outstanding", before)
        if column == "value_usd" and part is not None and usd_per_point is not None:
            values = [None if v is None else EXACT.multiply(v, usd_per_point) for v in decimals(part.contributions())]
            return Part(part.rows, decimal_series(values))
        return part if column in ("opening", "outstanding") else None

    return mark_report(frame, "points_liability", notes, rewards, trace=Trace(find), on=on, tz=tz)


def _points_part(rows: pd.DataFrame, column: str, before: Decimal) -> Part | None:
    """Return the rows behind a number of points; a balance begins with the opening, as a row without an id."""
    if column not in (*_FLOWS, "outstanding"):
        return Part(rows) if column == "rows" else None
    flows = _flows(rows)
    total = flows["earned"] - flows["clawed_back"] - flows["redeemed"]
    values = decimals(total if column == "outstanding" else flows[column])
    if column == "outstanding" and before:
        opening = pd.DataFrame({"reason": ["opening balance"]}).reindex(columns=rows.columns).astype(dict(rows.dtypes))
        rows, values = pd.concat([opening, rows], ignore_index=True), [before, *values]
    return Part(rows, decimal_series(values))


def _end_of_read(rewards: object, data: pd.DataFrame) -> datetime | None:
    """Return the time up to which rows were read: the filter of the read, or the time of the last row."""
    attrs: Any = rewards.attrs if isinstance(rewards, pd.DataFrame) else {}
    filters = attrs.get("filters", getattr(rewards, "filters", {}))
    if filters.get("until"):
        return datetime.fromisoformat(str(filters["until"]))
    last = data["created_at"].max()
    return None if pd.isna(last) else last.to_pydatetime()


def _opening(rewards: object, opening: Decimal | None, until: datetime | None) -> Decimal:
    """Return the balance before the first row; raise UsageError if a partial read has none."""
    frame = rewards if isinstance(rewards, pd.DataFrame) else None
    filters = frame.attrs.get("filters", {}) if frame is not None else getattr(rewards, "filters", {})
    if filters.get("type") is not None:
        raise UsageError(f"a read of {filters['type']} rows alone has no balance; read both types", of="reports")
    end = filters.get("until")
    if end is not None and until is not None and until > datetime.fromisoformat(end):
        raise UsageError(
            f"only rows until {end} were read, so the balance at {until.isoformat()} is not known", of="reports"
        )
    if filters.get("since") is not None and opening is None:
        raise UsageError(
            f"rows were read from {filters['since']} on, so the balance before is not known: give opening=, the points "
            "outstanding then, or read all rows",
            of="reports",
        )
    return Decimal(0) if opening is None else opening


def _activity(rewards: object, on: str, by: str | None, tz: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows that count, with their time as `at`, and the notes."""
    frame = rewards if isinstance(rewards, pd.DataFrame) else to_frame(rewards, of="list_rewards_activity")
    if on not in {"created_at", "posted_at", "minted_at"}:
        raise UsageError([not_allowed("on", on, ("created_at", "posted_at", "minted_at"))])
    needed = {"type", "points", "created_at", on, *({"user_id"} if by == "cohort" else {by} if by else ())}
    if missing := needed - set(frame):
        raise UsageError(f"the frame has no column {', '.join(sorted(missing))}")
    about = frame.attrs
    frame, repeated = without_repeats(frame, "id")
    redeemed = (frame["type"] == "redeemed").to_numpy(dtype=bool, na_value=False)
    data = frame.assign(at=frame[on].where(~redeemed, frame["created_at"]), redeemed=redeemed)
    notes = [REDEEMED]
    if (read := getattr(about.get("read"), "missing", None)) is not None and (missing := read(frame)) > 0:
        notes.append(f"{missing:,} earlier rows of these users were read and are not here: balances lack them.")
    notes += [f"{repeated:,} rows occur more than once, as after concat; each counts once."] * bool(repeated)
    if by == "cohort":
        first = data["created_at"].groupby(data["user_id"]).transform("min")
        data["cohort"] = steps(first, "month", tz)
    for name, column in ((on, "at"), ("points", "points")):
        known = data[data[column].notna()]
        notes += [f"{len(data) - len(known):,} rows without {name} are left out."] * (len(known) < len(data))
        data = known
    if negative := int((data["redeemed"] & (data["points"] < 0)).sum()):
        notes.append(f"{negative:,} redeemed rows have negative points; they are taken as redeemed too.")
    return data, [*notes, *about.get("notes", ())]


def _sums(data: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return exact sums of earned, clawed back and redeemed points by keys."""
    amounts = data[keys].assign(**_flows(data), rows=1)
    sums = amounts.groupby(keys, dropna=False).sum().reset_index() if keys else amounts.sum().to_frame().T
    for name in _FLOWS:
        sums[name] = decimal_series(decimals(sums[name]))
    return sums.astype({"rows": "Int64"})


def _flows(data: pd.DataFrame) -> "dict[str, pd.Series[Any]]":
    """Return what each row adds to the earned, clawed back and redeemed points."""
    points, redeemed = data["points"], data["redeemed"].astype(bool)
    earned, none = (points > 0).fillna(False).astype(bool), Decimal(0)
    return {
        "earned": points.where(~redeemed & earned, none),
        "clawed_back": (-points).where(~redeemed & ~earned, none),
        "redeemed": points.abs().where(redeemed, none),
    }
