"""Read card transactions from any source (events, logs, records or frames), with the source's metadata."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from workbench.analysis.reports.event_logs import Events, read_log
from workbench.analysis.reports.facts import (
    DTYPES,
    EVENTS,
    PARTIES,
    POSTINGS,
    STATUSES,
    TIME,
    coded,
    facts_of,
    known_by,
    mask,
    repeated,
    shown,
    timed,
)
from workbench.analysis.reports.log_lines import NEW_KIND, NO_EVENT
from workbench.analysis.reports.source_columns import cents_of, check_columns, converted, ids_of, typed, words_of
from workbench.analysis.reports.transaction_rows import TIMES, events_of_transactions, newest_rows
from workbench.analysis.tables.event_frames import UNREAD_TIME, events_frame
from workbench.analysis.tables.read_table import read_table
from workbench.analysis.tables.rows import TEXT, UNKNOWN, check_in_memory
from workbench.base.errors import UsageError, visible
from workbench.base.schema.fields import Answer
from workbench.base.system.files import check_name
from workbench.client.calls.base import BaseClient
from workbench.client.session import sandbox_of
from workbench.sandbox.internals import internals
from workbench.sandbox.rewards import CATEGORIES, OTHER
from workbench.service.interface.events import Event

PATTERN = "transaction.*"
_KINDS = tuple(f"transaction.{action}" for action in ("requested", "created", "updated", "completed"))
_SPEND = {
    "status": "status", "amount": "amount", "authorized_amount": "authorized_amount",
    "change": "authorization_update_amount", **{name: name for name in PARTIES}, "declined_reason": "declined_reason",
    "local_amount_cents": "local_amount", "local_currency": "local_currency", "authorized_at": "authorized_at",
    "posted_at": "posted_at",
}  # fmt: skip
"""Member of an event's spend object for each column."""
_TRANSACTION = frozenset({"transaction_id", "authorized_cents", "posted_cents", "refunded_cents"})
_IDS = ("transaction_id", "event_id", "id", "body.id")
_CATEGORIES = {code: category.description for code, category in CATEGORIES.items()}

_OTHER = (
    {"type", "points"},
    {"tokens.address"},
    {"id", "resolved_at"},
    {"status", "previous"},
    {"body.application_status"},
)
"""Columns by which frames without card transactions are recognized."""
_RECORD = frozenset({"kind", "id", "tenant"})
"""Members that each record of a sandbox has."""


@attrs.frozen
class Left:
    """Rows with a caveat. The default caveat is that a report leaves out the rows. `sentence` is the note's template.

    `reason` follows the number of rows in the note, as in "Left out: 3 postings without a currency".
    """

    reason: str
    rows: pd.DataFrame
    sentence: str = "Left out: {rows} {reason}{amounts}."


@attrs.frozen(eq=False)
class Reading:
    """Facts from a source, with metadata.

    Args:
        kind: Kind of source, such as "log of events".
        rows: Events with times, or facts.
        until: The time up to which the source is complete; None if the source does not say.
        notes: Caveats that apply to all numbers.
        caveats: Caveats that apply to some rows.
        unread: Number of events that were not read, by reason.
    """

    kind: str
    rows: pd.DataFrame
    until: datetime | None = None
    notes: tuple[str, ...] = ()
    caveats: tuple[Left, ...] = ()
    unread: Mapping[str, int] = {}
    complete: bool | None = None
    odd: pd.DataFrame = attrs.field(factory=pd.DataFrame)
    """Events that `anomalies` lists."""

    def facts(self, at: datetime | None) -> tuple[pd.DataFrame, Left]:
        """Return the facts that were known at a time, and the facts that may have been known."""
        rows, rest = self.rows, self.rows.iloc[:0]
        if at is not None:
            rows, rest = known_by(rows, at)
        facts, left = (table if "posting" in table else facts_of(table) for table in (rows, rest))
        return facts, Left("that may have become known later", left)


def read(source: object) -> Reading:
    """Read the facts of a source.

    Raises:
        UsageError: The source has no card transactions.
    """
    check_in_memory(source)
    if isinstance(source, str | os.PathLike) or _are_paths(source):
        source = _opened(source)
    sandbox = sandbox_of(source) if isinstance(source, BaseClient) else _sandbox(source)
    if sandbox is not None:
        return _of_sandbox(sandbox, "session" if isinstance(source, BaseClient) else "sandbox")
    if isinstance(source, pd.DataFrame):
        return _of_frame(source)
    if isinstance(source, Events):
        return _of_events(source.frame(of=PATTERN, progress=False), "log of events", unread=source.rejected)
    first = source[0] if isinstance(source, list) and source else None
    if isinstance(first, Mapping) and (first.get("kind") or "posted_cents" in first):
        assert isinstance(source, list)
        return _of_frame(pd.DataFrame([dict(record) for record in source]))
    inbox: object = getattr(source, "inbox", source)
    unreadable = getattr(inbox, "unreadable", None)
    unread = {"delivery that cannot be read": len(unreadable())} if callable(unreadable) else {}
    kind = "inbox" if inbox is not source or unread else "list of events"
    return _of_events(events_frame(inbox, PATTERN, nameless=True), kind, unread=unread)


def is_other(source: object) -> bool:
    """Return whether a source has records other than card transactions, such as rewards, for their own reports."""
    if isinstance(source, pd.DataFrame) and _RECORD <= set(source):
        source = source.iloc[:1].to_dict("records")
    if isinstance(source, pd.DataFrame):
        return any(columns <= set(source) for columns in _OTHER) and "body.spend.amount" not in source
    if hasattr(source, "filters"):  # `Rewards` or `ClusterRewards`
        return True
    first = source[0] if isinstance(source, list | tuple) and source else source
    if isinstance(first, Mapping) and set(first) >= _RECORD:
        return bool(first["kind"] != "transaction")
    return isinstance(first, Answer) and not isinstance(first, Event)


def _are_paths(source: object) -> bool:
    is_list = isinstance(source, list | tuple) and bool(source)
    return is_list and all(isinstance(path, str | os.PathLike) for path in source)  # type: ignore[attr-defined]


def _sandbox(source: object) -> Any:
    """Return the source if it is a sandbox, else None."""
    return (
        source if all(callable(getattr(source, name, None)) for name in ("records", "events", "deliveries")) else None
    )


_TABLES = frozenset({".csv", ".parquet", ".xlsx"})
_MAX_ROWS = 2_000_000


def _opened(paths: Any) -> Any:
    """Open files or folders as one event log or as one table."""
    given = [paths] if isinstance(paths, str | os.PathLike) else [*paths]
    files: list[Path] = []
    for path in map(Path, given):
        check_name(path)
        files += sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
    tables = [read_table(file, max_rows=_MAX_ROWS) for file in files if file.suffix.lower() in _TABLES]
    if tables and len(tables) < len(files):
        raise UsageError("logs and tables cannot be read together", of="history")
    return pd.concat(tables, ignore_index=True) if len(tables) > 1 else tables[0] if tables else read_log(files)


def _of_sandbox(sandbox: Any, kind: str) -> Reading:
    """Return a sandbox's events, and its records of transactions that began without an event."""
    reading = _of_events(events_frame(sandbox.events(), PATTERN), kind, now=sandbox.clock.now())
    events = reading.rows
    begun = set(events["transaction_id"][mask(events["action"].isin(["requested", "created"]))])
    stored = zip(_STORED, internals(sandbox).changed("transaction", " ".join(_STORED))[2:], strict=True)
    books = pd.DataFrame({name: pd.Series(values, dtype=_STORED[name]) for name, values in stored})
    books = books[~books["id"].isin(begun)].reset_index(drop=True)
    if books.empty:
        return reading
    later = ~mask(events["transaction_id"].isin(begun))
    facts = facts_of(events[~(later & mask(events["action"] == "updated"))].reset_index(drop=True))
    refunds = _refunded(sandbox) if books["refunded"].any() else {}
    purchases = facts["event_id"].map(refunds).astype(TEXT).fillna(facts["transaction_id"])
    moved = facts.groupby(purchases.to_numpy())[["posted_cents", "refunded_cents"]].sum()
    old = _of_records(books, sandbox.clock.now(), moved)
    rows = typed(pd.concat([shown(facts_of(old.rows)), shown(facts)], ignore_index=True), DTYPES)
    return attrs.evolve(reading, rows=rows, caveats=old.caveats)


def _refunded(sandbox: Any) -> dict[str, str]:
    """Return the id of the refunded purchase for each event that a refund request caused."""
    of_request = {
        entry.request_id: entry.path.split("/")[-2]
        for entry in sandbox.requests()
        if entry.operation == "simulate_refund"
    }
    events = ((event.payload["id"], of_request.get(event.request_id)) for event in sandbox.events())
    return {event: purchase for event, purchase in events if purchase is not None}


def _of_frame(frame: pd.DataFrame) -> Reading:
    check_columns(frame, "history")
    about: Any = frame.attrs
    notes = [] if "kind" in about else [UNKNOWN]
    more: dict[str, Any] = {"complete": about.get("complete")}
    frame = ids_of(frame, _IDS)
    until = about.get("until") and datetime.fromisoformat(about["until"])
    if "posting" in frame and "transaction_id" in frame:
        frame = frame.assign(posting=words_of(frame["posting"], POSTINGS))
        table, nameless = _identified(_with_net(typed(frame, DTYPES)))
        keys = table[["event_id", "posting", "transaction_id"]]
        repeated = mask(keys.duplicated() & table["event_id"].notna())
        caveat = Left("", table[repeated], "Postings that occur more than once: {count:,}{amounts}; each counts once.")
        table = table[~repeated].reset_index(drop=True)
        kindless = Left(
            "", table[mask(table["posting"].isna())], "Rows without a posting: {count:,}{amounts}; each counts."
        )
        caveats = (nameless, caveat, kindless, _equal(table, "event_id", DTYPES))
        notes += _unit(table)
        return Reading("frame of postings", table, until or _last(table), tuple(notes), caveats, **more)
    absent = _TRANSACTION - set(frame)
    if "authorized_cents" in frame and len(absent) == 1:
        raise UsageError(f"the frame of transactions has no column {min(absent)}", of="history")
    if "net_cents" in frame and "transaction_id" in frame and absent:
        return attrs.evolve(_of_frame(_of_ledger(frame)), kind="ledger")
    if not absent:
        if "status" in frame:
            frame = frame.assign(status=words_of(frame["status"], STATUSES))
        newest, older = newest_rows(frame)
        table, nameless = _identified(newest)
        rows = events_of_transactions(table, until)
        summed = rows[mask(rows["at"].isna() & rows["earliest"].notna())]
        moved = summed["amount"].where(summed["action"] != "updated", summed["change"])
        is_open = mask(table["status"].isna() & table["declined_reason"].isna()) & ~mask(table["posted_cents"] > 0)
        of_rows = (
            nameless,
            Left("", table[is_open], "Without a status: {transactions}{amounts}; each counts as approved."),
            Left("", older, "Older rows of a transaction: {count:,}{amounts}; the newest row counts."),
            Left(
                "",
                pd.DataFrame({"currency": summed["currency"], "moved_cents": moved.abs()}),
                "Changes, settlements or refunds that are summed: {count:,}{amounts}; each lies between the "
                "first and the last time of its transaction.",
            ),
        )
        return Reading("frame of transactions", rows, until or _last(rows), (*notes, *_unit(table)), of_rows, **more)
    if _RECORD <= set(frame):
        return _of_records(_transactions(frame), until)
    if "body.id" in frame or {"kind", "id"} <= set(frame):
        return _of_events(frame, "frame of events", notes=notes, until=until)
    raise UsageError(
        "the frame has no events, postings or transactions (expected the columns body.id, posting or authorized_cents)",
        of="history",
    )


def _with_net(table: pd.DataFrame) -> pd.DataFrame:
    """Fill missing amounts of postings: the net amount is the posted amount minus the refunded amount.

    Raises:
        UsageError: A row has another net amount.
    """
    table = table.assign(
        posted_cents=table["posted_cents"].fillna(table["net_cents"] + table["refunded_cents"]),
        refunded_cents=table["refunded_cents"].fillna(table["posted_cents"] - table["net_cents"]),
    )
    net = table["posted_cents"] - table["refunded_cents"]
    if mask(table["net_cents"] != net).any():
        raise UsageError("net_cents must be posted_cents minus refunded_cents in each row", of="history")
    return table.assign(net_cents=table["net_cents"].fillna(net))


def _equal(table: pd.DataFrame, key: str, columns: Iterable[str]) -> Left:
    """Return the rows without an id that equal an earlier row."""
    nameless = table[mask(table[key].isna())]
    rows = nameless[mask(nameless[[*columns]].duplicated())]
    return Left("", _amounts_of(rows), "Equal rows without an event id: {count:,}{amounts}; each counts.")


def _unit(table: pd.DataFrame) -> list[str]:
    """Return a note if no row has a currency."""
    is_unknown = len(table) and table["currency"].isna().all()
    return ["The source states no currency: the unit of its amounts is unknown."] * bool(is_unknown)


def _amounts_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the currency and the unsigned amount of each row, for a caveat."""
    if "amount" not in rows:
        return rows
    return pd.DataFrame({"currency": rows["currency"], "moved_cents": rows["amount"].abs()})


def _identified(table: pd.DataFrame) -> tuple[pd.DataFrame, Left]:
    """Return the rows that have a transaction id, and all other rows."""
    nameless = mask(table["transaction_id"].isna())
    named = table[~nameless].reset_index(drop=True) if nameless.any() else table
    return named, Left("without a transaction", table[nameless])


def _of_ledger(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a ledger's rows as settlements and refunds."""
    net = cents_of(frame, "net_cents", "history")
    kinds = np.where(mask(net < 0), "refund", "settlement")
    amounts = {"posted_cents": net.clip(lower=0), "refunded_cents": -net.clip(upper=0), "net_cents": net}
    return frame.assign(posting=kinds, requested_cents=0, held_cents=0, **amounts)


def _last(rows: pd.DataFrame) -> datetime | None:
    last = rows[["at", "known_at"]].max().max()
    return None if pd.isna(last) else last.to_pydatetime()


def _of_events(
    frame: pd.DataFrame,
    kind: str,
    *,
    now: datetime | None = None,
    unread: Mapping[str, int] | None = None,
    notes: Iterable[str] = (),
    until: datetime | None = None,
) -> Reading:
    """Return the transaction events of an event frame, without duplicates."""
    own = [name for name in frame if not str(name).startswith(("body.", "extra")) and name not in _ENVELOPE]
    names = {"id": "id", "transaction_id": "body.id", "known_at": "at"}
    names |= {name: f"body.spend.{member}" for name, member in _SPEND.items()}
    is_repeated = repeated(frame["id"])
    is_known = mask(frame["kind"].astype(TEXT).isin(_KINDS))
    has_id = mask(frame["body.id"].notna()) if "body.id" in frame else np.zeros(len(frame), bool)
    kept = is_known & has_id & ~is_repeated
    chosen = frame if kept.all() else frame[kept]
    columns = {name: chosen[member] for name, member in names.items() if member in chosen}
    columns |= {"action": chosen["kind"].astype(TEXT), **{str(name): chosen[name] for name in own}}
    events = typed(pd.DataFrame(columns, copy=False, index=chosen.index), EVENTS, names)
    events["status"] = coded(events["status"], lambda status: status.strip().lower())
    source = chosen["at_source"] if "at_source" in chosen else pd.Series("delivery", chosen.index)
    events, clocks = timed(events, source.astype(TEXT).reset_index(drop=True))
    is_odd = ~is_known | (frame["id"].isin(frame["id"][is_repeated]).to_numpy() if is_repeated.any() else False)
    odd = _odd(frame[is_odd])
    others = nameless = ~is_known
    if others.any():
        others = others & mask(frame["kind"].astype(TEXT).str.strip().str.lower().str.startswith("transaction."))
        nameless = nameless & mask(frame["kind"].fillna(_NAMELESS).eq(_NAMELESS))
    counts = Counter(unread)
    counts[NO_EVENT] += int(nameless.sum())
    counts[NEW_KIND] += int(others.sum())
    counts["event without a transaction"] += int((is_known & ~has_id & ~is_repeated).sum())
    unread_times = [note for note in frame.attrs.get("notes", ()) if UNREAD_TIME in note]
    complete = frame.attrs.get("complete")
    return Reading(
        kind,
        events,
        now or until or _last(events),
        (*notes, *unread_times, *clocks, *_unit(events)),
        (_equal(events, "id", EVENTS), _contradicting(odd)),
        +counts,
        complete,
        odd,
    )


_OTHER_CONTENT = "duplicate id, other content"


def _contradicting(odd: pd.DataFrame) -> Left:
    """Return the events that contradict an earlier event with the same id."""
    rows = odd[odd["anomaly"] == _OTHER_CONTENT] if len(odd) else odd
    rows = rows.reindex(columns=["currency", "amount_cents"]).astype({"currency": TEXT})
    rows = pd.DataFrame({"currency": rows["currency"].str.lower(), "moved_cents": rows["amount_cents"].abs()})
    return Left("", rows, "Events that repeat an id with other content: {count:,}{amounts}; the first is used.")


def _odd(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the events that contradict other events, or whose kind no report reads."""
    names = {"id": "event_id", "body.id": "transaction_id", "at": "at", "body.spend.amount": "amount_cents"}
    names["body.spend.currency"] = "currency"
    given = frame.reindex(columns=["kind", *names])
    given = given[mask(given["kind"].astype(TEXT).str.startswith("transaction."))]
    is_known = mask(given["kind"].isin(_KINDS))
    doubled = given.drop_duplicates([name for name in given if name != "at"])  # retries of an event differ only in time
    listed = {
        _OTHER_CONTENT: doubled[mask(doubled["id"].duplicated())],
        "unknown kind": given[~is_known],
    }
    parts = [rows[[*names]].rename(columns=names).assign(anomaly=name) for name, rows in listed.items() if len(rows)]
    return pd.concat(parts) if parts else pd.DataFrame()


_NAMELESS = "None.None"
"""Kind of an object without resource and action."""
_ENVELOPE = frozenset({"id", "kind", "resource", "action", "version", "event_received_at", "at", "at_source"})


_STORED: Mapping[str, Any] = {
    **dict.fromkeys(("id", "card", "user", "merchant_name", "merchant_category_code", "currency", "status"), TEXT),
    "declined_reason": TEXT, **dict.fromkeys(("authorized", "held", "settled", "refunded"), "int64"),
    "authorized_at": "Int64", "posted_at": "Int64",
}  # fmt: skip
"""Members of a stored transaction, with the types of their columns."""


def _transactions(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of stored transactions, with amounts as integers.

    Raises:
        UsageError: A record is not a transaction, lacks a member, or has an amount that is not a whole number.
    """
    kinds = {visible(str(kind), 40) for kind in frame["kind"].unique()} - {"transaction"}
    if kinds or not set(_STORED) <= set(frame):
        found = ", ".join(sorted(kinds)) or "transactions that lack members"
        raise UsageError(f"expected records of the kind transaction, found {found}", of="history")
    amounts = {name: cents_of(frame, name, "history") for name, dtype in _STORED.items() if dtype == "int64"}
    return frame.assign(**amounts).reset_index(drop=True)


def _time_of(values: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return the times of records. Numbers are milliseconds since 1970."""
    return converted(pd.to_datetime(values, unit="ms") if is_numeric_dtype(values) else values, TIME, str(values.name))


def _of_records(books: pd.DataFrame, now: datetime | None, moved: pd.DataFrame | None = None) -> Reading:
    """Return events for a sandbox's stored transactions, without the amounts that other events account for."""
    if moved is not None:
        known = moved.reindex(books["id"]).fillna(0).astype("int64").reset_index(drop=True)
        books = books.assign(
            settled=books["settled"] - known["posted_cents"], refunded=books["refunded"] - known["refunded_cents"]
        )
    times = {name: _time_of(books[name]) for name in TIMES[::2]}
    codes = books["merchant_category_code"]
    is_one = (books["authorized"] == books["settled"]) | (books["authorized"] == books["held"])
    is_one |= books["status"] == "declined"  # a declined transaction never changes again
    table = pd.DataFrame(
        {
            "transaction_id": books["id"],
            "card_id": books["card"],
            "user_id": books["user"],
            "merchant_name": books["merchant_name"],
            "merchant_category": codes.map(_CATEGORIES).fillna(OTHER.description),
            "merchant_category_code": codes,
            "currency": books["currency"],
            "status": books["status"],
            "declined_reason": books["declined_reason"].str.replace("_", " "),
            "authorized_cents": books["authorized"],
            "held_cents": books["held"],
            "posted_cents": books["settled"],
            "refunded_cents": books["refunded"],
            "increases": (~is_one).astype("int64"),
            "settlements": (books["settled"] > 0).astype("int64"),
            **times,
        }
    )
    moment = now or datetime.now(UTC)
    table["updated_at"] = pd.Timestamp(moment)
    table, nameless = _identified(newest_rows(table)[0])
    rows = events_of_transactions(table, moment)
    refunded = table.loc[table["refunded_cents"] > 0, ["currency", "refunded_cents"]]
    note = "Refunded transactions that are records without events: {count:,}{amounts}; their refunds have no time."
    return Reading("records of a sandbox", rows, now or _last(rows), caveats=(nameless, Left("", refunded, note)))
