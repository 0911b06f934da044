"""Reports on records other than card transactions: applications, disputes, contracts and their tokens."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.reports.event_logs import Events
from workbench.analysis.reports.facts import mask
from workbench.analysis.reports.measures import Measure, Rows, caveats_of, columns_of, report, sums
from workbench.analysis.reports.sources import Left
from workbench.analysis.reports.view import Columns, View
from workbench.analysis.tables.event_frames import events_frame
from workbench.analysis.tables.frames import to_frame
from workbench.analysis.tables.periods import steps
from workbench.analysis.tables.read_table import read_table
from workbench.analysis.tables.rows import EXACT, REPEATED, TEXT, decimal_series, decimals, mark_report, once
from workbench.analysis.tables.to_file import to_file
from workbench.base.errors import UsageError, not_allowed
from workbench.base.schema.walk import build
from workbench.base.system.files import check_name
from workbench.client.calls.client import refuse_async
from workbench.client.session import sandbox_of
from workbench.service.chains.addresses import chain_of
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.transactions import Dispute
from workbench.service.interface.vocabulary import DisputeStatus
from workbench.service.rendering.text import counted

AGES = (0, 7, 30, 60, 90)
"""Lower bound of each age group of disputes, in days."""
_UPDATE = ("kind", "id", "at", "body.id", "body.application_status")
_REASONS = ("body.application_reason", "body.status_change_reason")
_DISPUTE = ("id", "status", "created_at", "resolved_at")
_DECIMALS = ("tokens.balance", "tokens.exchange_rate", "tokens.advance_rate", "value_usd", "advance_usd")
_TOKEN = ("id", "chain_id", "tokens.address", "tokens.balance", "tokens.exchange_rate", "tokens.advance_rate")


def _check_columns(frame: pd.DataFrame, needed: Collection[str], of: str) -> None:
    """Check that a frame has the columns that a report needs.

    Raises:
        UsageError: A column is missing or duplicated.
    """
    if missing := [name for name in needed if [*frame].count(name) != 1]:
        raise UsageError(f"the frame must have exactly one column {missing[0]}", of=of)


# -- applications


def _timed(history: "RecordReports") -> tuple[pd.DataFrame, list[str]]:
    """Return the status changes that have a time, and the notes."""
    changes = history.status_history()
    timed = changes[changes["at"].notna()]
    notes = list(changes.attrs.get("notes", ()))
    if untimed := len(changes) - len(timed):
        notes.append(f"Left out: {counted(untimed, 'changes')} without a time.")
    return timed, notes


# -- disputes


def roll_forward_of_disputes(source: object, *, at: datetime, tz: str) -> pd.DataFrame:
    """Return a monthly roll-forward of open disputes until a time. Later changes of disputes do not alter its rows."""
    table, notes = disputes_of(source)
    table = table[mask(table["created_at"] < pd.Timestamp(at))]
    resolved = table[mask(table["resolved_at"] < pd.Timestamp(at))]
    counts = {name: pd.Series(1, table.index) for name in ("opened", "change")}
    opened = table.assign(**counts, resolved=0, month=steps(table["created_at"], "month", tz))
    closed = resolved.assign(opened=0, change=-1, resolved=1, month=steps(resolved["resolved_at"], "month", tz))
    data = pd.concat([opened, closed], ignore_index=True)
    measures = [
        Measure("opening", "change", span="before"),
        *sums("opened", "resolved"),
        Measure("closing", "change", span="through"),
    ]
    frame = report(Rows(data, {"month": data["month"]}, data), measures, freq="month", tz=tz, until=at, every=True)
    return mark_report(frame, "disputes_roll_forward", notes, tz=tz, until=at.isoformat())


def disputes_of(source: Any) -> tuple[pd.DataFrame, list[str]]:
    """Return the disputes in a source without duplicates, and the notes."""
    sandbox = sandbox_of(source) or (source if hasattr(source, "records") else None)
    if sandbox is not None:
        source = sandbox.records("dispute")
    if not isinstance(source, pd.DataFrame):
        source = to_frame([_dispute(dispute) for dispute in source], of=Dispute)
    _check_columns(source, _DISPUTE, "history.disputes")
    disputes, repeated = once(source, "status")
    notes, _ = caveats_of([Left("", repeated[["id"]], REPEATED)], "disputes")
    return disputes, [*source.attrs.get("notes", ()), *notes]


def _dispute(dispute: object) -> Any:
    """Convert a stored dispute of the sandbox to an interface record."""
    if not isinstance(dispute, Mapping) or "transaction" not in dispute:
        return dispute
    times = {
        name: dispute[name] and datetime.fromtimestamp(dispute[name] / 1000, tz=UTC)
        for name in ("created_at", "resolved_at")
    }
    members = {"id": dispute["id"], "transaction_id": dispute["transaction"], "status": dispute["status"]}
    return build(Dispute, {**members, **times})


# -- contracts


def _token_values(contracts: object) -> pd.DataFrame:
    tokens = to_frame(contracts, of=None if isinstance(contracts, pd.DataFrame) else "list_contracts")
    _check_columns(tokens, _TOKEN, "history.contracts")
    table = tokens.loc[tokens["tokens.address"].notna(), list(_TOKEN)].reset_index(drop=True)
    with localcontext(EXACT):
        values = _products(decimals(table["tokens.balance"]), decimals(table["tokens.exchange_rate"]))
        advances = _products(values, decimals(table["tokens.advance_rate"]))
        table["value_usd"] = decimal_series(values)
        table["advance_usd"] = decimal_series([None if a is None else a / 100 for a in advances])
    notes = [*tokens.attrs.get("notes", ())]
    if bare := int(tokens["tokens.address"].isna().sum()):
        notes.append(f"{bare:,} contracts have an empty or missing list of tokens, and add nothing to totals.")
    if missing := int(table["value_usd"].isna().sum()):
        notes.append(f"{missing:,} tokens without a balance or a rate have no value in this report.")
    return mark_report(table, "contract_values", notes)


def _products(left: list[Decimal | None], right: list[Decimal | None]) -> list[Decimal | None]:
    return [None if a is None or b is None else a * b for a, b in zip(left, right, strict=True)]


class RecordReports(View):
    """Reports on records other than card transactions."""

    def status_history(self) -> pd.DataFrame:
        """Return one row per change of a user's application status, in chronological order for each user.

        Events without a time keep their position.

        Returns:
            Columns user_id, at, status, previous, reason, change_reason.
        """
        source: object = self.source
        if isinstance(source, pd.DataFrame) and {"status", "previous"} <= set(source):
            _check_columns(source, ("user_id", "at"), "history.status_history")
            return source
        kind = EVENT_KINDS["user.updated"].name
        if isinstance(source, pd.DataFrame):
            _check_columns(source, _UPDATE, "history.status_history")
            updates = source[mask(source["kind"] == kind)]
            updates = updates.reindex(columns=[*_UPDATE, *_REASONS])
        else:
            updates = (
                source.frame(of=kind, progress=False) if isinstance(source, Events) else events_frame(source, kind)
            )
        table = pd.DataFrame({"user_id": updates["body.id"], "at": updates["at"]})
        table["status"] = updates["body.application_status"].astype(TEXT)
        table["previous"] = pd.Series(dtype=TEXT)
        table["reason"] = updates["body.application_reason"].where(updates["body.application_reason"] != "")
        table["change_reason"] = updates["body.status_change_reason"].astype(TEXT)
        in_order = table["at"].ffill().sort_values(kind="stable", na_position="first").index
        table = table[~updates["id"].duplicated() & table["status"].notna()]
        table = table.loc[in_order.intersection(table.index, sort=False)]
        if self.scope.at is not None:
            table = table[mask(table["at"] < pd.Timestamp(self.scope.at))]
        table = table[table["status"] != table.groupby("user_id")["status"].shift()]
        table["previous"] = table.groupby("user_id")["status"].shift()
        return mark_report(table.sort_values("user_id", kind="stable", ignore_index=True), "status_history", [])

    def time_in_status(self) -> pd.DataFrame:
        """Return the time that each user spent in each status until the filter's time, one row per stay in a status.

        Returns:
            Columns user_id, status, since, until, days (Float64).
        """
        timed, notes = _timed(self)
        until = timed.groupby("user_id")["at"].shift(-1)
        if self.scope.at is not None:
            until = until.fillna(pd.Timestamp(self.scope.at))
        frame = pd.DataFrame(
            {"user_id": timed["user_id"], "status": timed["status"], "since": timed["at"], "until": until}
        )
        frame["days"] = ((frame["until"] - frame["since"]).dt.total_seconds() / 86_400).astype("Float64")
        return mark_report(frame.reset_index(drop=True), "time_in_status", notes)

    def disputes(self) -> pd.DataFrame:
        """Return the disputes that existed at the filter's time, by status and age.

        A dispute records only its current status. If it was resolved later, its status at that time is "unknown".

        Returns:
            Columns status, age ("0 to 6 days", … "90 days or more"), disputes (Int64), oldest_days (Float64).
        """
        table, notes = disputes_of(self.source)
        if self.scope.at is None:
            raise UsageError("the age of disputes needs a time: history.filter(at=…).disputes()", of="history.disputes")
        now = pd.Timestamp(self.scope.at)
        known = table[table["created_at"].notna()]
        data = known[mask(known["created_at"] < now)]
        resolved = mask(data["resolved_at"] < now)
        is_open = data["status"].isin([str(DisputeStatus.PENDING), str(DisputeStatus.IN_REVIEW)])
        status = data["status"].astype(TEXT).where(resolved | is_open, "unknown")
        days = (data["resolved_at"].where(resolved, now) - data["created_at"]).dt.total_seconds() / 86_400
        names = [f"{low} to {high - 1} days" for low, high in pairwise(AGES)] + [f"{AGES[-1]} days or more"]
        age = pd.cut(days, [*AGES, np.inf], right=False, labels=names)
        for count, reason in ((len(table) - len(known), "without a time"), (len(known) - len(data), "opened later")):
            notes += [f"Left out: {counted(count, 'disputes')} {reason}."] * bool(count)
        if unknown := int((status == "unknown").sum()):
            notes.append(
                f"{unknown:,} disputes were resolved later or at an unknown time, so their earlier status is unknown."
            )
        if in_review := int((status == str(DisputeStatus.IN_REVIEW)).sum()):
            notes.append(f"{in_review:,} disputes that are in review may have been pending at that moment.")
        shown = data.assign(status=status, age=age.astype(TEXT), days=days)
        measures = [Measure("disputes"), Measure("oldest_days", "days", "max")]
        frame = report(Rows(shown, {"status": status, "age": age}, shown), measures)
        return mark_report(frame, "disputes", notes, at=now.isoformat())

    def contracts(self, by: Columns | None = None) -> pd.DataFrame:
        """Return one row per token, with balance, rates, value and advance.

        `value_usd` is balance × exchange rate, and `advance_usd` is value × advance rate. Assumed: balances are in
        whole tokens, exchange rates are in USD per token, and advance rates are percentages.

        Args:
            by: Columns such as "chain_id", for the sum of each group. An empty list gives the total.
        """
        source: Any = self.source
        if callable(getattr(source, "list_contracts", None)):
            refuse_async(source, "history.contracts")
            source = source.list_contracts()
        is_report = isinstance(source, pd.DataFrame) and "value_usd" in source
        values = source if is_report else _token_values(source)
        _check_columns(values, ("value_usd", "advance_usd"), "history.contracts")
        if by is None:
            return values
        keys = columns_of(by)
        if missing := [key for key in keys if key not in values]:
            raise UsageError([not_allowed("by", missing[0], values.columns)], of="history.contracts")
        exact = {
            name: decimal_series([value or Decimal(0) for value in decimals(values[name])])
            for name in ("value_usd", "advance_usd")
        }
        data = values.assign(**exact).reset_index(drop=True)
        frame = report(Rows(data, {key: data[key] for key in keys}, data), sums(*exact))
        return mark_report(frame, "contract_totals", values.attrs.get("notes", ()))

    def record_balances(self, path: str | Path) -> pd.DataFrame:
        """Append the value of the contracts' tokens to a Parquet file, and return all rows of the file.

        Args:
            path: The file; the first call creates it.

        Returns:
            Columns at, id (of the contract), chain_id, chain, tokens.address, tokens.balance, tokens.exchange_rate,
            tokens.advance_rate, value_usd and advance_usd (decimals).
        """
        check_name(path)
        path, sandbox = Path(path), sandbox_of(self.source)
        recorded = self.contracts()
        now = datetime.now(UTC) if sandbox is None else sandbox.clock.now()
        chains = {chain: chain_of(chain).name for chain in recorded["chain_id"].dropna().unique()}
        recorded.insert(0, "at", pd.Series([pd.Timestamp(now)] * len(recorded), dtype="datetime64[us, UTC]"))
        recorded.insert(3, "chain", recorded["chain_id"].map(chains).astype(TEXT))
        notes = recorded.attrs["notes"]
        if path.exists():
            recorded = pd.concat([read_table(path), recorded], ignore_index=True)
        for name in _DECIMALS:
            recorded[name] = decimal_series(decimals(recorded[name]))
        recorded = mark_report(recorded, "balances", notes)
        to_file(recorded, path, overwrite=True)
        return recorded
