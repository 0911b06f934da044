"""Read card transactions from any source (events, logs, records or frames), with the source's metadata."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from workbench.analysis.reports.event_logs import Events, read_log
from workbench.analysis.reports.facts import (
    CODED,
    DTYPES,
    EVENTS,
    NUMBER,
    PARTIES,
    POSTINGS,
    STATUSES,
    TIME,
    coded,
    facts_of,
    known_by,
    mask,
    numbered,
    repeated,
    shown,
    timed,
)
from workbench.analysis.reports.log_lines import NEW_KIND, NO_EVENT
from workbench.analysis.tables.event_frames import UNREAD_TIME, events_frame
from workbench.analysis.tables.read_table import read_table
from workbench.analysis.tables.rows import TEXT, UNKNOWN, check_in_memory
from workbench.base.errors import UsageError, not_allowed, visible
from workbench.base.schema.fields import Answer
from workbench.base.system.files import check_name
from workbench.client.calls.base import BaseClient
from workbench.client.session import sandbox_of
from workbench.sandbox.internals import internals
from workbench.sandbox.rewards import CATEGORIES, OTHER
from workbench.service.interface.events import Event

PATTERN = "transaction.*"
OWN = "own:"
"""Prefix of the caller's columns in facts, which prevents conflicts with the workbench's columns."""
_KINDS = tuple(f"transaction.{action}" for action in ("requested", "created", "updated", "completed"))
_SPEND = {
    "status": "status", "amount": "amount", "authorized_amount": "authorized_amount",
    "change": "authorization_update_amount", **{name: name for name in PARTIES}, "declined_reason": "declined_reason",
    "local_amount_cents": "local_amount", "local_currency": "local_currency", "authorized_at": "authorized_at",
    "posted_at": "posted_at",
}  # fmt: skip
"""Member of an event's spend object for each column."""
_TRANSACTION = frozenset({"transaction_id", "authorized_cents", "posted_cents", "refunded_cents"})
_CATEGORIES = {code: category.description for code, category in CATEGORIES.items()}

_OTHER = (
    {"type", "points"},
    {"tokens.address"},
    {"id", "resolved_at"},
    {"status", "previous"},
    {"body.application_status"},
)
"""Columns of frames that hold no card transactions."""
_RECORD = frozenset({"kind", "id", "tenant"})
"""Members that each record of a sandbox has."""


@attrs.frozen
class Left:
    """Rows that a report leaves out, with the reason; or rows with another caveat, whose note is `sentence`."""

    reason: str
    rows: pd.DataFrame
    sentence: str = "Left out, {reason}: {rows}{amounts}."


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
        """Return the facts that were known at a time, and the rows for which this is unclear."""
        rows, rest = self.rows, self.rows.iloc[:0]
        if at is not None:
            rows, rest = known_by(rows, at)
        facts, left = (table if "posting" in table else facts_of(table) for table in (rows, rest))
        return facts, Left("unknown whether it was known then", left)


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
    """Return whether a source holds records for reports on something other than card transactions."""
    if isinstance(source, pd.DataFrame) and _RECORD <= set(source):
        source = source.iloc[:1].to_dict("records")
    if isinstance(source, pd.DataFrame):
        return any(columns <= set(source) for columns in _OTHER) and "body.spend.amount" not in source
    if hasattr(source, "filters"):  # the source is a read of rewards
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
    """Return the event log or the table in some files or folders."""
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
    rows = _typed(pd.concat([shown(facts_of(old.rows)), shown(facts)], ignore_index=True), DTYPES)
    return attrs.evolve(reading, rows=rows, caveats=old.caveats)


def _refunded(sandbox: Any) -> dict[str, str]:
    """Return the purchase id for each event about a refund with a separate transaction."""
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
    until = about.get("until") and datetime.fromisoformat(about["until"])
    if "posting" in frame and "transaction_id" in frame:
        frame = frame.assign(posting=_words(frame["posting"], POSTINGS))
        table, nameless = _identified(_with_net(_typed(frame, DTYPES)))
        keys = table[["event_id", "posting", "transaction_id"]]
        repeated = mask(keys.duplicated() & table["event_id"].notna())
        caveat = Left("", table[repeated], "Postings that occur more than once: {count:,}{amounts}; each counts once.")
        table = table[~repeated].reset_index(drop=True)
        caveats = (nameless, caveat, _equal(table, "event_id", DTYPES))
        notes += _unit(table)
        return Reading("frame of postings", table, until or _last(table), tuple(notes), caveats, **more)
    if "net_cents" in frame and "transaction_id" in frame and not _TRANSACTION <= set(frame):
        return attrs.evolve(_of_frame(_of_ledger(frame)), kind="ledger")
    if _TRANSACTION <= set(frame):
        if "status" in frame:
            frame = frame.assign(status=_words(frame["status"], STATUSES))
        newest, older = _newest(frame)
        table, nameless = _identified(newest)
        rows = _events_of_transactions(table, until)
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


def check_columns(frame: pd.DataFrame, of: str) -> None:
    """Check that no two columns have the same name.

    Raises:
        UsageError: Two columns have the same name.
    """
    if not frame.columns.is_unique:
        name = visible(str(frame.columns[frame.columns.duplicated()][0]), 40)
        raise UsageError(f"two columns are named {name}: rename or drop one of them", of=of)


def _words(values: "pd.Series[Any]", known: Collection[str]) -> "pd.Series[Any]":
    """Return the words of a column in lower case.

    Raises:
        UsageError: A word is not one of the known words.
    """
    lowered = {word: str(word).strip().lower() for word in values.dropna().unique()}
    if unknown := sorted({*lowered.values()} - {*known}):
        raise UsageError([not_allowed(str(values.name), unknown[0], known)], of="history")
    is_lower = all(word == text for word, text in lowered.items())
    return values if is_lower else values.astype(object).map(lowered)


def _with_net(table: pd.DataFrame) -> pd.DataFrame:
    """Return postings whose net amount is the posted amount minus the refunded amount.

    Raises:
        UsageError: A row has another net amount.
    """
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
    """Return rows with the amounts that a caveat states."""
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


def cents_of(ledger: pd.DataFrame, name: str, of: str) -> "pd.Series[Any]":
    """Return a ledger's amounts as whole numbers.

    Raises:
        UsageError: An amount is missing or is not a whole number.
    """
    cents = _converted(ledger[name], "Int64", name)
    if cents.isna().any():
        raise UsageError(f"{name} must be a whole number of minor units in each row", of=of)
    return cents


def _last(rows: pd.DataFrame) -> datetime | None:
    last = rows[["at", "known_at"]].max().max()
    return None if pd.isna(last) else last.to_pydatetime()


def _typed(frame: pd.DataFrame, dtypes: Mapping[str, Any], given: Mapping[str, str] = {}) -> pd.DataFrame:
    """Return a frame whose columns have known types, whichever file format or library the frame passed through.

    Args:
        frame: The frame.
        dtypes: The types by column.
        given: The caller's names of columns, for errors.

    Raises:
        UsageError: A time cannot be read, or an amount has a fraction or is negative.
    """
    columns: dict[Any, Any] = {}
    for name, dtype in dtypes.items():
        values = frame[name] if name in frame else pd.Series(index=frame.index, dtype=dtype)
        columns[name] = values if values.dtype == dtype else _converted(values, dtype, given.get(name, name))
        if dtype == "Int64" and values.dtype != dtype and _have_fraction(values[mask(columns[name].isna())]):
            raise UsageError(f"{given.get(name, name)} must be a whole number of minor units in each row", of="history")
        if name in _NOT_NEGATIVE and mask(columns[name] < 0).any():
            raise UsageError(f"{name} must be at least 0 in each row, of refunds too", of="history")
        if name in CODED:
            write = _from_number if name == _CODE and values.dtype != dtype else _WRITTEN.get(name)
            columns[name] = coded(columns[name], write)
    columns |= {f"{OWN}{str(name).removeprefix(OWN)}": frame[name] for name in frame if name not in dtypes}
    table = pd.DataFrame(columns, copy=False).reset_index(drop=True)
    table[NUMBER] = numbered(table["transaction_id"])
    return table


_CODE = "merchant_category_code"
_NOT_NEGATIVE = frozenset({"authorized_cents", "posted_cents", "refunded_cents"})
_WRITTEN: Mapping[str, Callable[[str], str]] = {
    **dict.fromkeys(("currency", "local_currency"), lambda text: text.strip().lower()),
    "merchant_name": str.strip,
    "action": lambda kind: kind.removeprefix("transaction."),
}
"""Function that normalizes the texts of a column."""


def _from_number(text: str) -> str:
    """Return a code that was stored as a number."""
    return text.removesuffix(".0").zfill(4)


def _converted(values: "pd.Series[Any]", dtype: Any, name: str) -> "pd.Series[Any]":
    if isinstance(values.dtype, pd.CategoricalDtype):
        different = _converted(pd.Series(values.cat.categories), dtype, name)
        return pd.Series(different.array.take(values.cat.codes.to_numpy(), allow_fill=True), values.index)
    if dtype == TIME:
        texts = values.astype(TEXT) if is_numeric_dtype(values) else values.astype(object)
        times = pd.to_datetime(texts, utc=True, errors="coerce", format="ISO8601").astype(TIME)
        if mask(times.isna() & values.notna() & (values.astype(TEXT).str.strip() != "")).any():
            problem = f"{name} must be empty or a time such as 2026-03-31T10:00:00Z in each row"
            raise UsageError(problem, of="history")
        return times
    if dtype == "Int64" and pd.api.types.is_integer_dtype(values.dtype):
        return values.astype("Int64")
    if dtype == "Int64":
        return values.map(_whole_number, na_action="ignore").astype("Int64")
    return values.astype(object).where(values.notna(), None).map(str, na_action="ignore").astype(dtype)


def _whole_number(value: Any) -> Any:
    """Return a 64-bit integer from any notation. Other values are missing, as are floats that may have lost digits."""
    try:
        exact = Decimal(str(value))
        is_exact = exact == exact.to_integral_value() and abs(exact) < (2**53 if isinstance(value, float) else 2**63)
        return int(exact) if is_exact else pd.NA
    except (InvalidOperation, OverflowError, ValueError):
        return pd.NA


def _have_fraction(values: "pd.Series[Any]") -> bool:
    """Return whether a value is a number with a fraction, such as an amount in dollars."""
    for value in values.dropna():
        with suppress(InvalidOperation, ValueError):
            exact = Decimal(str(value))
            if exact.is_finite() and exact != exact.to_integral_value():
                return True
    return False


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
    events = _typed(pd.DataFrame(columns, copy=False, index=chosen.index), EVENTS, names)
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
    """Return the events that contradict an earlier event of their id."""
    rows = odd[odd["anomaly"] == _OTHER_CONTENT] if len(odd) else odd
    rows = rows.reindex(columns=["currency", "amount_cents"]).astype({"currency": TEXT})
    rows = pd.DataFrame({"currency": rows["currency"].str.lower(), "moved_cents": rows["amount_cents"].abs()})
    return Left("", rows, "Events with the id of another event: {count:,}{amounts}; the first event of each id counts.")


def _odd(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the events that contradict other events, or whose kind no report reads."""
    names = {"id": "event_id", "body.id": "transaction_id", "at": "at", "body.spend.amount": "amount_cents"}
    names["body.spend.currency"] = "currency"
    given = frame.reindex(columns=["kind", *names])
    given = given[mask(given["kind"].astype(TEXT).str.startswith("transaction."))]
    is_known = mask(given["kind"].isin(_KINDS))
    doubled = given.drop_duplicates([name for name in given if name != "at"])  # a retry has another time
    listed = {
        _OTHER_CONTENT: doubled[mask(doubled["id"].duplicated())],
        "unknown kind": given[~is_known],
    }
    parts = [rows[[*names]].rename(columns=names).assign(anomaly=name) for name, rows in listed.items() if len(rows)]
    return pd.concat(parts) if parts else pd.DataFrame()


_NAMELESS = "None.None"
"""Kind of an object without resource and action."""
_ENVELOPE = frozenset({"id", "kind", "resource", "action", "version", "event_received_at", "at", "at_source"})


def _newest(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the newest row of each transaction, and the older rows.

    Raises:
        UsageError: Two rows of a transaction differ and have the same update time.
    """
    frame = frame.drop(columns="net_cents", errors="ignore")  # net_cents is posted minus refunded
    table = _typed(frame, {**_COLUMNS, **{name: DTYPES[name] for name in (*PARTIES, *_TEXTS)}})
    if not mask(table["transaction_id"].notna() & table[NUMBER].duplicated()).any():
        return table, table.iloc[:0]
    newest = table.sort_values("updated_at", kind="stable", na_position="first")
    repeated = mask(newest["transaction_id"].duplicated(keep="last") & newest["transaction_id"].notna())
    if repeated.any():
        rows = newest[mask(newest["transaction_id"].duplicated(keep=False) & newest["transaction_id"].notna())]
        amounts = ["transaction_id", "updated_at", "currency", *_AMOUNTS]
        differing = rows[amounts].drop_duplicates()
        same_time = differing[differing.duplicated(["transaction_id", "updated_at"])]
        if len(same_time):
            first = visible(str(same_time["transaction_id"].iloc[0]), 80)
            raise UsageError(
                f"two rows of {len(same_time):,} transactions differ and have the same updated_at (first: {first}); "
                "keep one of them",
                of="history",
            )
    return newest[~repeated].sort_index().reset_index(drop=True), newest[repeated]


_AMOUNTS = ("authorized_cents", "held_cents", "posted_cents", "refunded_cents")
_COUNTS = ("increases", "settlements", "refunds")
_TIMES = ("authorized_at", "updated_at", "posted_at", "refunded_at")
_TEXTS = ("declined_reason", "local_currency", "local_amount_cents")
_COLUMNS: Mapping[str, Any] = {
    "transaction_id": TEXT,
    "status": TEXT,
    **dict.fromkeys((*_AMOUNTS, *_COUNTS), "Int64"),
    **dict.fromkeys(_TIMES, TIME),
}


def _events_of_transactions(table: pd.DataFrame, now: datetime | None) -> pd.DataFrame:
    """Return events that produce these transactions. If one event replaces several, only bounds of its time are set."""
    authorized, held, posted, refunded = (table[name] for name in _AMOUNTS)
    begun = mask(authorized.notna())
    declined = mask(table["status"] == "declined") | mask(table["status"].isna() & table["declined_reason"].notna())
    only_requested = mask(table["status"] == "requested")
    settled = mask(posted > 0) | mask(table["settlements"] > 0)
    kept = posted.where(settled, held).fillna(0)
    change = (kept - authorized).clip(upper=0).where(begun & ~declined & ~only_requested, 0)
    change = change.mask(~settled & mask(refunded > 0), 0)
    end = table["updated_at"] if now is None else table["updated_at"].fillna(pd.Timestamp(now))
    several = {name: mask(table[name] > 1) for name in ("settlements", "refunds")}
    refund_known = mask(table["refunds"].fillna(2) <= 1)
    raised = mask(table["increases"].fillna(0) > 0)
    zero, never = pd.Series(0, table.index, dtype="Int64"), pd.Series(pd.NaT, table.index, dtype=TIME)
    at, posted_at, refunded_at = table["authorized_at"], table["posted_at"], table["refunded_at"]
    parts: tuple[tuple[Any, ...], ...] = (  # action, rows, amount, change, time, earliest time and latest time
        ("requested", begun & only_requested, authorized, zero, at, never, never),
        ("created", begun & ~only_requested, authorized, zero, at.mask(raised), at, end),
        (
            "updated",
            mask(change < 0) | (~begun & ~settled & ~mask(refunded > 0)),
            zero,
            change,
            never,
            at,
            posted_at.fillna(end),
        ),
        ("completed", settled, posted, zero, posted_at.mask(several["settlements"]), at, posted_at),
        (
            "completed",
            mask(refunded > 0),
            -refunded,
            zero,
            refunded_at.where(refund_known),
            posted_at.fillna(at),
            refunded_at.fillna(end),
        ),
    )
    places = [np.flatnonzero(part[1]) for part in parts]
    order = np.concatenate(places).argsort(kind="stable")
    places_of = np.concatenate(places)[order]
    actions = np.repeat(np.arange(len(parts)), [*map(len, places)])[order]
    events = pd.DataFrame({name: table[name].array.take(places_of) for name in table if name not in _MADE}, copy=False)
    for place, name in enumerate(("amount", "change", "at", "earliest", "latest"), 2):
        values = [part[place].array[rows] for part, rows in zip(parts, places, strict=True)]
        events[name] = pd.concat(map(pd.Series, values), ignore_index=True).array.take(order)
    untimed = events["at"].isna()
    return events.assign(
        action=pd.Categorical.from_codes(np.minimum(actions, 3), pd.Index([part[0] for part in parts[:4]])),
        status=pd.Categorical.from_codes(declined.astype("int8")[places_of], pd.Index(["", "declined"])),
        known_at=events["at"],
        clock=pd.Categorical.from_codes(np.zeros(len(events), "int8"), pd.Index(["event"])),
        earliest=events["earliest"].where(untimed),
        latest=events["latest"].where(untimed),
        authorized_amount=pd.Series(index=events.index, dtype="Int64"),
        id=pd.Series(index=events.index, dtype=TEXT),
    )


_MADE = frozenset({*_AMOUNTS, *_COUNTS, "updated_at", "refunded_at", "status"})
"""Columns of transactions that are computed from events, and so do not occur in events."""


_STORED: Mapping[str, Any] = {
    **dict.fromkeys(("id", "card", "user", "merchant_name", "merchant_category_code", "currency", "status"), TEXT),
    "declined_reason": TEXT, **dict.fromkeys(("authorized", "held", "settled", "refunded"), "int64"),
    "authorized_at": "Int64", "posted_at": "Int64",
}  # fmt: skip
"""Members of a stored transaction, with the types of their columns."""


def _transactions(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of stored transactions. Records of another kind or without an amount raise an error."""
    kinds = {visible(str(kind), 40) for kind in frame["kind"].unique()} - {"transaction"}
    if kinds or not set(_STORED) <= set(frame):
        found = ", ".join(sorted(kinds)) or "transaction, without some of their members"
        raise UsageError(f"expected records of the kind transaction, found {found}", of="history")
    amounts = {name: cents_of(frame, name, "history") for name, dtype in _STORED.items() if dtype == "int64"}
    return frame.assign(**amounts).reset_index(drop=True)


def _time_of(values: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return the times of records. Numbers are milliseconds since 1970."""
    return _converted(pd.to_datetime(values, unit="ms") if is_numeric_dtype(values) else values, TIME, str(values.name))


def _of_records(books: pd.DataFrame, now: datetime | None, moved: pd.DataFrame | None = None) -> Reading:
    """Return events for a sandbox's stored transactions, without the amounts that other events account for."""
    if moved is not None:
        known = moved.reindex(books["id"]).fillna(0).astype("int64").reset_index(drop=True)
        books = books.assign(
            settled=books["settled"] - known["posted_cents"], refunded=books["refunded"] - known["refunded_cents"]
        )
    times = {name: _time_of(books[name]) for name in _TIMES[::2]}
    codes = books["merchant_category_code"]
    is_one = (books["authorized"] == books["settled"]) | (books["authorized"] == books["held"])
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
    table, nameless = _identified(_newest(table)[0])
    rows = _events_of_transactions(table, moment)
    refunded = table.loc[table["refunded_cents"] > 0, ["currency", "refunded_cents"]]
    note = "Transactions that are records without events: {count:,}{amounts}; their refunds have no time."
    return Reading("records of a sandbox", rows, now or _last(rows), caveats=(nameless, Left("", refunded, note)))
