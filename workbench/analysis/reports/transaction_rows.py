"""Build transactions from their events: one row each, with amounts, parties, status and times."""

import weakref
from collections.abc import Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from workbench.analysis.reports.scope import remember_unique
from workbench.analysis.reports.traces import EventsById, Part, Trace, rows_of
from workbench.analysis.tables.event_frames import DELIVERY, events_frame
from workbench.analysis.tables.periods import moment
from workbench.analysis.tables.rows import TEXT, check_in_memory, mark_report
from workbench.client.calls.base import BaseClient
from workbench.client.session import sandbox_of
from workbench.sandbox.rewards import CATEGORIES, OTHER
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.rendering.text import money

Codes = NDArray[np.intp]
PATTERN = "transaction.*"

KINDS = tuple(kind for kind in EVENT_KINDS if fnmatchcase(kind, PATTERN))

ASSUMED = "Assumed: the kinds and members of transaction events are not documented."

STATUSES = ("requested", "authorized", "reversed", "declined", "settled", "refunded")

MONEY = ("authorized_cents", "held_cents", "posted_cents", "refunded_cents", "net_cents")
"""Amount columns, in the minor unit of the row's currency."""

_PARTIES = ("card_id", "user_id", "merchant_name", "merchant_category", "merchant_category_code", "currency")

_SPEND = tuple(
    f"body.spend.{name}"
    for name in (
        *_PARTIES,
        "amount",
        "authorized_amount",
        "authorization_update_amount",
        "status",
        "declined_reason",
        "authorized_at",
        "posted_at",
        "local_amount",
        "local_currency",
    )
)


def transactions(events: object, *, at: object = None) -> pd.DataFrame:
    """Return one row per card transaction with its amounts, parties, status and times, from its events in any order.

    Duplicate events count once. `authorized_cents` is the requested amount, `held_cents` the open hold, `posted_cents`
    the settled amount, `refunded_cents` the refunds, and `net_cents` is posted minus refunded. Cents are the minor unit
    of the row's `currency`: yen have none, so an amount in JPY is in yen.

    Args:
        events: A session, an inbox, events, a log of events, a run of a sequence, or a frame of events; or the stored
            transactions of a sandbox, `sandbox.records("transaction")`, which have no refund times.
        at: Use only what was known at a past day or time; later events and events without a time are left out. A date
            means its first moment in UTC.

    Returns:
        Columns transaction_id, card_id, user_id, merchant_name, merchant_category, merchant_category_code, currency,
        status (requested, authorized, reversed, declined, settled or refunded), declined_reason, authorized_cents,
        held_cents, posted_cents, refunded_cents, net_cents (Int64), local_amount_cents (Int64, the requested amount in
        `local_currency`, the merchant's), version, authorized_at, updated_at, posted_at, refunded_at. Rows are in order
        of first occurrence. `refunded_at` is known only if the events have a delivery time. `authorized_cents` is
        missing if the transaction began before the first event; refunds of such transactions are left out.
    """
    if (
        isinstance(events, list)
        and events
        and isinstance(events[0], Mapping)
        and events[0].get("kind") == "transaction"
    ):
        return _of_books(events)
    data, notes = transaction_events(events, at)
    codes, ids = pd.factorize(data["body.id"])
    spend = {name.removeprefix("body.spend."): data[name] for name in _SPEND}
    amount, change = (
        spend[name].fillna(0).to_numpy(dtype="int64") for name in ("amount", "authorization_update_amount")
    )
    requested, created, updated, completed = (_mask(data["kind"] == kind) for kind in KINDS)
    places = np.arange(len(data))
    keys = pd.Series(pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(pd.RangeIndex(len(ids)))))

    def of_each(how: str, values: object) -> Any:
        """Return an aggregate, such as the sum, of the rows of each transaction."""
        return pd.Series(values).groupby(keys, observed=False).agg(how)

    def last(values: "pd.Series[Any]") -> Any:
        """Return the last non-missing value of each transaction."""
        return values.array.take(of_each("max", np.where(values.notna(), places, -1)).to_numpy(), allow_fill=True)

    # The first event of the best kind has the requested amount; later ones include their own changes.
    first = of_each("min", places + np.select([created, requested], [0, 1], 2) * len(data)).to_numpy() % max(
        len(data), 1
    )
    posted, refunded, changes, raised = (
        of_each("sum", values).to_numpy()
        for values in (
            np.where(completed, amount.clip(0), 0),
            np.where(completed, -amount.clip(max=0), 0),
            np.where(updated, change, 0),
            np.where(updated, change.clip(0), 0),
        )
    )
    declined, is_completed, is_created, is_updated = (
        of_each("any", test).to_numpy(dtype=bool)
        for test in (_mask(spend["status"] == "declined"), completed, created, updated)
    )
    base = spend["authorized_amount"].fillna(spend["amount"]).fillna(0).to_numpy(dtype="int64")[first] - change[first]
    open_now = ~declined & ~is_completed & (is_created | is_updated)
    reversed_ = ~declined & (posted == 0) & (refunded == 0) & (base + changes <= 0) & is_updated
    status = np.select(
        [declined, reversed_, is_completed & (refunded >= posted) & (refunded > 0), is_completed, open_now],
        [STATUSES.index(name) for name in ("declined", "reversed", "refunded", "settled", "authorized")],
        0,
    )

    frame = pd.DataFrame({"transaction_id": pd.array(ids, dtype=TEXT)})
    for name in _PARTIES:
        frame[name] = spend[name].array.take(first)
    frame["status"] = pd.Categorical.from_codes(status.astype("int8"), dtype=pd.CategoricalDtype(list(STATUSES)))
    frame["declined_reason"] = last(spend["declined_reason"])
    held = np.where(open_now, np.maximum(base + changes, 0), 0)
    authorized = np.maximum(base + raised, 0)  # a refund may have a `created` of its amount
    for name, cents in zip(MONEY, (authorized, held, posted, refunded, posted - refunded), strict=True):
        frame[name] = pd.array(cents, dtype="Int64")
    begun_here = of_each("any", created | requested).to_numpy(dtype=bool)
    frame["local_amount_cents"] = spend["local_amount"].array.take(first)
    frame["local_currency"] = spend["local_currency"].array.take(first)
    frame["version"] = last(data["version"])
    delivered = data["at_source"].isin(["event_received_at", DELIVERY]) & (amount < 0)
    times = {
        "authorized_at": spend["authorized_at"],
        "updated_at": data["at"],
        "posted_at": spend["posted_at"].where(completed & (amount >= 0)),
        "refunded_at": data["at"].where(delivered),
    }
    for name, moments in times.items():
        frame[name] = of_each("min" if name == "authorized_at" else "max", moments).array
    frame["posted_at"] = frame["posted_at"].where(~reversed_)
    begun_earlier = ~begun_here & ~_mask(frame["authorized_at"] >= data["at"].min())
    if begun_earlier.any():
        frame["authorized_cents"] = frame["authorized_cents"].mask(begun_earlier)
        alone = begun_earlier & (posted == 0) & (refunded > 0)
        sums = frame.loc[alone].groupby("currency", dropna=False)["refunded_cents"].sum()
        total = ", ".join(money(int(cents), name if isinstance(name, str) else None) for name, cents in sums.items())
        notes += [f"{int(alone.sum()):,} refunds of transactions before the first event are left out: {total}."] * bool(
            alone.any()
        )
        notes += [BEGUN_EARLIER.format(int((begun_earlier & ~alone).sum()))] * bool((begun_earlier & ~alone).any())
        frame, refunded = frame[~alone].reset_index(drop=True), refunded[~alone]
    notes += implausible(frame, data, codes)
    if unknown := int(((refunded > 0) & frame["refunded_at"].isna().to_numpy()).sum()):
        notes.append(f"{unknown:,} refunded transactions have no time of the refund: their events hold none.")

    def find(row: Mapping[str, Any], column: str) -> Part | None:
        rows = rows_of(frame, {"transaction_id": "transaction_id"}, row)
        return Part(rows, rows[column]) if column in MONEY else None

    trace = Trace(find, events=events_by_id(data, events, at))
    remember_unique(frame["transaction_id"])
    pa.default_memory_pool().release_unused()
    return mark_report(frame, "transactions", [ASSUMED, *notes], events, until=data.attrs["until"], trace=trace)


BEGUN_EARLIER = "{:,} transactions began before the first event: what was authorized is not known, and rates omit them."


def implausible(frame: pd.DataFrame, data: pd.DataFrame, codes: Codes) -> list[str]:
    """Return notes that count implausible transactions; `reports.anomalies` lists them.

    Args:
        frame: The transactions.
        data: Their events.
        codes: Number of the transaction of each event.
    """
    above = (frame["posted_cents"] - frame["authorized_cents"]).fillna(0).clip(0)
    beyond = (frame["refunded_cents"] - frame["posted_cents"]).where(frame["posted_cents"] > 0, 0).clip(0)
    settlements = codes[_mask((data["kind"] == KINDS[3]) & (data["body.spend.amount"] > 0))]
    counts = {
        "were settled more than once": int(_repeated(settlements).sum()),
        f"posted more than was authorized, {int(above.sum()):,} cents in all": int((above > 0).sum()),
        f"were refunded by more than was posted, {int(beyond.sum()):,} cents in all": int((beyond > 0).sum()),
        "have an event without an amount": len(np.unique(codes[_mask(data["body.spend.amount"].isna())])),
    }
    return [f"{count:,} transactions {what}; see reports.anomalies." for what, count in counts.items() if count]


_CATEGORIES = {code: category.description for code, category in CATEGORIES.items()}


def _of_books(records: list[Any]) -> pd.DataFrame:
    """Return the transactions stored in a sandbox."""
    frame = transactions([])
    books = pd.DataFrame([dict(record) for record in records])
    settled, refunded = books["settled"], books["refunded"]
    whole = (books["status"] == "settled") & (settled > 0) & (refunded >= settled)
    columns: dict[str, Any] = {
        "transaction_id": books["id"],
        "card_id": books["card"],
        "user_id": books["user"],
        "merchant_name": books["merchant_name"],
        "merchant_category": books["merchant_category_code"].map(_CATEGORIES).fillna(OTHER.description),
        "merchant_category_code": books["merchant_category_code"],
        "currency": books["currency"].str.lower(),
        "status": books["status"].where(~whole, "refunded"),
        "declined_reason": books["declined_reason"].str.replace("_", " "),
        "authorized_cents": books["authorized"],
        "held_cents": books["held"],
        "posted_cents": settled,
        "refunded_cents": refunded,
        "net_cents": settled - refunded,
        "authorized_at": pd.to_datetime(books["authorized_at"], unit="ms", utc=True),
        "posted_at": pd.to_datetime(books["posted_at"], unit="ms", utc=True),
    }
    columns["updated_at"] = columns["posted_at"].fillna(columns["authorized_at"])
    marks = frame.attrs
    dtypes: dict[Any, Any] = frame.dtypes.to_dict()
    missing = {name: pd.Series(index=books.index, dtype=dtype) for name, dtype in dtypes.items() if name not in columns}
    frame = pd.DataFrame({**columns, **missing})[list(dtypes)].astype(dtypes)
    frame.attrs = {
        **marks,
        "notes": ["The transactions are the sandbox's own records, not its events: refunds have no time."],
    }
    return frame


def transaction_events(events: Any, at: object = None) -> tuple[pd.DataFrame, list[str]]:
    """Return the transaction events without duplicates, reduced to the columns used, and the notes.

    `attrs["until"]` is the time up to which they reach: `at`, the current time of a session, or the last event.
    """
    check_in_memory(events)
    as_of, now = moment(at, "at", "UTC"), present(events)
    if isinstance(events, pd.DataFrame):
        frame = events
    elif callable(getattr(events, "frame", None)):
        frame = events.frame(of=PATTERN)  # a log
    else:
        frame = events_frame(events, PATTERN)
    empty = events_frame([], PATTERN)
    if "body.id" not in frame:  # of events of other kinds
        frame = frame.assign(**{"body.id": pd.Series(index=frame.index, dtype=TEXT)})
    repeated = _repeated(pd.factorize(frame["id"])[0])
    kept = _mask(frame["kind"].isin(KINDS)) & _mask(frame["body.id"].notna()) & ~repeated
    rows = np.flatnonzero(kept)
    columns: dict[str, Any] = {}
    for name in ("id", "kind", "version", "at", "at_source", "body.id", *_SPEND):
        if name not in frame:
            columns[name] = pd.Series(index=range(len(rows)), dtype=empty[name].dtype)
        else:  # a million transactions are not copied where every event counts
            columns[name] = frame[name].array if len(rows) == len(frame) else frame[name].array.take(rows)
    notes = [] if frame.attrs.get("complete", True) else ["Not complete: events are missing."]
    others = _mask(frame["kind"].str.startswith("transaction.") & ~frame["kind"].isin(KINDS))
    notes += [f"{int(others.sum()):,} events of unknown kinds are left out; see reports.anomalies."] * bool(
        others.any()
    )
    data = pd.DataFrame(columns, copy=False)
    if as_of is not None:
        happened = data["at"].where(~_without_own_time(data))
        untimed = int(happened.isna().sum())
        data = data[_mask(happened < pd.Timestamp(as_of))].reset_index(drop=True)
        notes += [f"{untimed:,} events without a time of their own are left out."] * bool(untimed)
    last = data["at"].max()
    until = as_of or now or (None if pd.isna(last) else last.to_pydatetime())
    data.attrs["until"] = until and until.isoformat()
    return data, notes


KEPT = 100_000
"""Maximum number of events that a report stores to explain its numbers; beyond it, the caller's frame is used."""


def events_by_id(data: pd.DataFrame, events: object, at: object) -> EventsById:
    """Return a function that returns the events of some transactions, if they are in memory; and their source."""
    few = len(data) <= KEPT
    frame = weakref.ref(events) if isinstance(events, pd.DataFrame) else None

    def chosen(ids: list[str]) -> pd.DataFrame | None:
        known = data_or_none if few or frame is None else frame()
        return None if known is None else transaction_events(known[known["body.id"].isin(ids)], at)[0]

    data_or_none = data if few else None
    return chosen, events if few else None


def _without_own_time(data: pd.DataFrame) -> Any:
    """Return a mask of refunds and changes whose `at` is the time of the purchase, not their own."""
    changed = (data["kind"] == KINDS[2]) | ((data["kind"] == KINDS[3]) & (data["body.spend.amount"] < 0))
    return _mask(changed & ~data["at_source"].isin(["event_received_at", DELIVERY]))


def present(events: object) -> datetime | None:
    """Return the current time of a session, by its sandbox's clock if it has one; None for other sources."""
    if not isinstance(events, BaseClient):
        return None
    sandbox = sandbox_of(events)
    return datetime.now(UTC) if sandbox is None else sandbox.clock.now()


def until_of(table: pd.DataFrame, *times: str) -> datetime | None:
    """Return the time up to which a table's data reach: its mark, or its last time."""
    if text := table.attrs.get("until"):
        return datetime.fromisoformat(text)
    last = max((table[name].max() for name in times if name in table and table[name].notna().any()), default=None)
    return None if last is None else last.to_pydatetime()


def _mask(values: "pd.Series[Any]") -> Any:
    return values.to_numpy(dtype=bool, na_value=False)


def _repeated(codes: Codes) -> NDArray[np.bool_]:
    """Return a mask of codes that occurred before; text is hashed as codes, in a fifth of the memory."""
    return pd.Series(codes).duplicated().to_numpy()
