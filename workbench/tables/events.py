"""Frames of webhook events, with a time for each and where it is from; and of card transactions, one row each, made of their events."""

from collections.abc import Collection, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import UsageError, visible
from workbench.interface.convert import converter, read_time
from workbench.interface.events import EVENT_KINDS, Event
from workbench.interface.walk import DateTime, Text, snake
from workbench.session import sandbox_times
from workbench.tables.columns import MOMENT_TYPE, OPEN, Column, Plan, plan
from workbench.tables.rows import TEXT, Table, arrow_table, check_in_memory, mark_report, table_frame
from workbench.webhooks.inbox import Inbox
from workbench.webhooks.store import StoredEvent

DELIVERY = "delivery"
"""The source of a time that the event does not hold: when it was delivered, or happened in the sandbox."""
COMPUTED = ("kind", "at", "at_source")
"""Columns of events that are no members of them."""
_COMPLETED = EVENT_KINDS["transaction.completed"].name


def has_events(x: Any) -> bool:
    """Whether x is an event, an inbox, a session, or a list of events as inboxes, sandboxes or runs have them."""
    if isinstance(x, list | tuple):
        return bool(x) and all(map(_is_event, x))
    return isinstance(x, Inbox) or _is_event(x) or _is_session(x)


def _is_session(x: Any) -> bool:
    return isinstance(getattr(type(x), "inbox", None), property)


def _is_event(x: Any) -> bool:
    return isinstance(x, Event | StoredEvent) or (
        isinstance(x, Mapping) and _envelope(x).keys() >= {"resource", "action"}
    )


def _envelope(x: Mapping[str, Any]) -> Mapping[str, Any]:
    return x["event"] if isinstance(x.get("event"), Mapping) else x


def delivered_events(x: Any) -> tuple[list[Event], list[datetime | None]]:
    """Return events, and when each was delivered or happened, where that is known.

    Args:
        x: Events, an inbox, a session (with a sandbox its times are used), a run of a sequence, or what these list.
    """
    happened: dict[str, datetime] = {}
    if _is_session(x):
        happened, x = sandbox_times(x), x.inbox
    if isinstance(x, Inbox):
        x = x.stored()
    elif callable(getattr(x, "events", None)):
        x = x.events()
    events, times = [], []
    for one in [x] if _is_event(x) else x:
        event: Event = one
        at: Any = None
        if isinstance(one, StoredEvent):
            event, at = one.event, one.arrived
        elif isinstance(one, Mapping):
            event, at = converter().structure(_envelope(one), Event), one.get("at")
        elif not _is_event(one):
            raise UsageError(f"expected events, an inbox, a session or a run, not a {type(one).__name__}")
        events.append(event)
        times.append(happened.get(event.id) or (read_time(at)[0] if isinstance(at, str) else at))
    return events, times


def kinds_of(of: str | None) -> frozenset[str] | None:
    """Return the kinds of events that a name or a pattern such as "transaction.*" means; None for all, unknown ones too.

    Raises:
        UsageError: There is no such kind; the message lists those there are.
    """
    if of is None:
        return None
    found = frozenset(kind for kind in EVENT_KINDS if fnmatchcase(kind, of))
    if not found:
        known = ", ".join(EVENT_KINDS)
        raise UsageError(
            f"unknown event kind {visible(of, 80)} (known: {known}; patterns such as transaction.*)", of="events"
        )
    return found


def events_frame(x: Any, of: str | None = None, reveal: Collection[str] = ()) -> pd.DataFrame:
    """Return the frame of events: the envelope, `at`, then `body.…` columns for each kind that occurs.

    Args:
        x: The events; see `delivered_events`.
        of: Keep events of this kind, or of a pattern, only; its columns are there even without events.
        reveal: Names of masked columns to show.
    """
    kinds = kinds_of(of)
    kept = [(event, at) for event, at in zip(*delivered_events(x), strict=True) if kinds is None or event.kind in kinds]
    made = events_plan({event.kind for event, _ in kept} if kinds is None else kinds)
    shown = made.shown(reveal)
    table = arrow_table(made, [event for event, _ in kept], shown)
    return table_frame(made, [with_times(table, pa.array([at for _, at in kept], MOMENT_TYPE))], shown)


def with_times(table: Table, delivered: Any = None) -> Table:
    """Fill in when each event happened, and the column or `delivery` that says so; the rest of a table stays.

    That is `event_received_at`, else the delivery, else the time that the body has: of posting for a completed
    transaction, of its authorization for another one, of arrival for a micro deposit.
    """
    columns = table.columns
    completed = pc.equal(columns["kind"], _COMPLETED)
    sources = {"event_received_at": columns["event_received_at"], DELIVERY: delivered}
    for name in ("body.spend.posted_at", "body.spend.authorized_at", "body.received_at"):
        sources[name] = columns.get(name)
    if sources["body.spend.posted_at"] is not None:
        sources["body.spend.posted_at"] = pc.if_else(completed, sources["body.spend.posted_at"], None)
    known = {name: values for name, values in sources.items() if values is not None}
    names = [
        pc.if_else(pc.is_valid(values), pa.scalar(name, pa.large_string()), None) for name, values in known.items()
    ]
    return Table({**columns, "at": pc.coalesce(*known.values()), "at_source": pc.coalesce(*names)}, table.notes)


def events_plan(kinds: Collection[str]) -> Plan:
    """Return the columns of events of these kinds, in the order of the interface."""
    envelope = plan(Event)
    columns = [column for column in envelope.columns if column.name != "body"]
    for name in COMPUTED:
        kind = DateTime() if name == "at" else Text()
        columns.insert(3 if name == "kind" else len(columns), Column(name=name, wire="", kind=kind, about=OPEN))
    answers = [*envelope.answers, ("body.", "body.")]
    for row in EVENT_KINDS.values():
        if row.name in kinds:
            body = plan(row.body)  # type: ignore[arg-type]  # records are compared by value, their classes are not
            columns += [attrs.evolve(c, name=f"body.{c.name}", wire=f"body.{c.wire}") for c in body.columns]
            answers += [(f"body.{path}", f"body.{wire}") for path, wire in body.answers]
    return Plan(
        of=Event, kind=snake("Event"), columns=tuple({column.name: column for column in columns}.values()),
        answers=tuple(dict.fromkeys(answers)), rows_of=None, has_extra=True, seals_extra=False,
    )  # fmt: skip


PATTERN = "transaction.*"
KINDS = tuple(kind for kind in EVENT_KINDS if fnmatchcase(kind, PATTERN))
ASSUMED = "Assumed: the kinds and members of transaction events are not documented."
STATUSES = ("requested", "authorized", "reversed", "declined", "settled", "refunded")
MONEY = ("authorized", "held", "posted", "refunded", "net")
"""The columns of amounts, in cents."""
_PARTIES = ("card_id", "user_id", "merchant_name", "merchant_category", "merchant_category_code", "currency")
_SPEND = tuple(
    f"body.spend.{name}"
    for name in (
        *_PARTIES, "amount", "authorized_amount", "authorization_update_amount", "status", "declined_reason",
        "authorized_at", "posted_at",
    )
)  # fmt: skip


def transactions(events: Any) -> pd.DataFrame:
    """Return one row per card transaction: its amounts, parties, status and times, from its events in any order.

    An event that came twice counts once. Money is in cents: `authorized` is what was asked for, `held` what an open
    authorization holds, `posted` what settled, `refunded` what came back, and `net` is posted minus refunded.

    Args:
        events: A session, an inbox, events, a log of events, a run of a sequence, or a frame of events; or the books of a
            sandbox, `sandbox.records("transaction")`, which have no time of a refund and no words for categories.

    Returns:
        Columns transaction_id, card_id, user_id, merchant_name, merchant_category, merchant_category_code, currency,
        status (requested, authorized, reversed, declined, settled or refunded), declined_reason, authorized, held,
        posted, refunded, net (Int64), version, authorized_at, updated_at, posted_at, refunded_at; in the order in which
        the transactions first occur. `refunded_at` is known where the events have a time of delivery.
    """
    if (
        isinstance(events, list)
        and events
        and isinstance(events[0], Mapping)
        and events[0].get("kind") == "transaction"
    ):
        return _of_books(events)
    data, notes = _events(events)
    codes, ids = pd.factorize(data["body.id"])
    spend = {name.removeprefix("body.spend."): data[name] for name in _SPEND}
    amount, change = (
        spend[name].fillna(0).to_numpy(dtype="int64") for name in ("amount", "authorization_update_amount")
    )
    requested, created, updated, completed = (_mask(data["kind"] == kind) for kind in KINDS)
    places = np.arange(len(data))
    keys = pd.Series(pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(pd.RangeIndex(len(ids)))))

    def of_each(how: str, values: Any) -> Any:
        """Return the sum, or the like, of the rows of each transaction."""
        return pd.Series(values).groupby(keys, observed=False).agg(how)

    def last(values: "pd.Series[Any]") -> Any:
        """Return the last value of each transaction that is not missing."""
        return values.array.take(of_each("max", np.where(values.notna(), places, -1)).to_numpy(), allow_fill=True)

    # The first event of the best kind says what was asked for; later ones say it together with their own change.
    first = of_each("min", places + np.select([created, requested], [0, 1], 2) * len(data)).to_numpy() % max(
        len(data), 1
    )
    posted, refunded, changes, raised = (
        of_each("sum", values).to_numpy()
        for values in (
            np.where(completed, amount.clip(0), 0), np.where(completed, -amount.clip(max=0), 0),
            np.where(updated, change, 0), np.where(updated, change.clip(0), 0),
        )
    )  # fmt: skip
    declined, is_completed, is_created, is_updated = (
        of_each("any", test).to_numpy(dtype=bool)
        for test in (_mask(spend["status"] == "declined"), completed, created, updated)
    )
    base = spend["authorized_amount"].fillna(spend["amount"]).fillna(0).to_numpy(dtype="int64")[first] - change[first]
    open_now = ~declined & ~is_completed & (is_created | is_updated)
    reversed_ = ~declined & (posted == 0) & (refunded == 0) & (base + changes <= 0) & is_updated
    status = np.select(
        [declined, reversed_, is_completed & (refunded >= posted) & (refunded > 0), is_completed, open_now],
        [STATUSES.index(name) for name in ("declined", "reversed", "refunded", "settled", "authorized")], 0,
    )  # fmt: skip

    made = pd.DataFrame({"transaction_id": pd.array(ids, dtype=TEXT)})
    for name in _PARTIES:
        made[name] = spend[name].array.take(first)
    made["status"] = pd.Categorical.from_codes(status.astype("int8"), dtype=pd.CategoricalDtype(list(STATUSES)))
    made["declined_reason"] = last(spend["declined_reason"])
    held = np.where(open_now, np.maximum(base + changes, 0), 0)
    authorized = np.maximum(base + raised, 0)  # a refund may have a `created` of its amount
    for name, cents in zip(MONEY, (authorized, held, posted, refunded, posted - refunded), strict=True):
        made[name] = pd.array(cents, dtype="Int64")
    made["version"] = last(data["version"])
    made.insert(len(made.columns) - 1, "version", made.pop("version"))
    delivered = data["at_source"].isin(["event_received_at", DELIVERY]) & (amount < 0)
    times = {
        "authorized_at": spend["authorized_at"], "updated_at": data["at"],
        "posted_at": spend["posted_at"].where(completed & (amount >= 0)), "refunded_at": data["at"].where(delivered),
    }  # fmt: skip
    for name, moments in times.items():
        made[name] = of_each("min" if name == "authorized_at" else "max", moments).array
    made["posted_at"] = made["posted_at"].where(~reversed_)
    if unknown := int(((refunded > 0) & made["refunded_at"].isna().to_numpy()).sum()):
        notes.append(f"{unknown:,} refunded transactions have no time of the refund: their events hold none.")
    return mark_report(made, "transactions", [ASSUMED, *notes], cents=list(MONEY))


def _of_books(records: list[Any]) -> pd.DataFrame:
    """Return the transactions that a sandbox stores."""
    made = transactions([])
    books = pd.DataFrame([dict(record) for record in records])
    settled, refunded = books["settled"], books["refunded"]
    whole = (books["status"] == "settled") & (settled > 0) & (refunded >= settled)
    columns: dict[str, Any] = {
        "transaction_id": books["id"], "card_id": books["card"], "user_id": books["user"],
        "merchant_name": books["merchant_name"], "merchant_category_code": books["merchant_category_code"],
        "currency": books["currency"].str.lower(), "status": books["status"].where(~whole, "refunded"),
        "declined_reason": books["declined_reason"].str.replace("_", " "), "authorized": books["authorized"],
        "held": books["held"], "posted": settled, "refunded": refunded, "net": settled - refunded,
        "authorized_at": pd.to_datetime(books["authorized_at"], unit="ms", utc=True),
        "posted_at": pd.to_datetime(books["posted_at"], unit="ms", utc=True),
    }  # fmt: skip
    columns["updated_at"] = columns["posted_at"].fillna(columns["authorized_at"])
    marks = made.attrs
    dtypes: dict[Any, Any] = made.dtypes.to_dict()
    missing = {name: pd.Series(index=books.index, dtype=dtype) for name, dtype in dtypes.items() if name not in columns}
    made = pd.DataFrame({**columns, **missing})[list(dtypes)].astype(dtypes)
    made.attrs = {**marks, "notes": ["The transactions are the sandbox's own records, not its events."]}
    return made


def _events(events: Any) -> tuple[pd.DataFrame, list[str]]:
    """Return the transaction events, each once, with the columns that are used, and the notes on them."""
    check_in_memory(events)
    if isinstance(events, pd.DataFrame):
        frame = events
    elif callable(getattr(events, "frame", None)):
        frame = events.frame(of=PATTERN)  # a log
    else:
        frame = events_frame(events, PATTERN)
    empty = events_frame([], PATTERN)
    kept = _mask(frame["kind"].isin(KINDS)) & _mask(frame["body.id"].notna()) & ~_mask(frame["id"].duplicated())
    rows = np.flatnonzero(kept)
    columns: dict[str, Any] = {}
    for name in ("kind", "version", "at", "at_source", "body.id", *_SPEND):
        if name not in frame:
            columns[name] = pd.Series(index=range(len(rows)), dtype=empty[name].dtype)
        else:  # a million transactions are not copied where every event counts
            columns[name] = frame[name].array if len(rows) == len(frame) else frame[name].array.take(rows)
    complete = frame.attrs.get("complete", True)
    data = pd.DataFrame(columns, copy=False)
    return data, [] if complete else ["Not complete: events are missing."]


def _mask(values: "pd.Series[Any]") -> Any:
    return values.to_numpy(dtype=bool, na_value=False)
