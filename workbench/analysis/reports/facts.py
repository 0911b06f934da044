"""Facts of card transactions: one row for each request, hold, release, settlement and refund, with two times.

A fact has the time when it happened (`at`) and the time when it became known (`known_at`). It also names the clock of
`at`: "event" for a time inside the event, "delivery" for the time of its delivery, "arrival" for the clock of this
machine. If an event has no time, its neighbors in the source give bounds for it (`earliest`, `latest`).
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from workbench.analysis.tables.event_frames import ARRIVAL, DELIVERY
from workbench.analysis.tables.rows import TEXT
from workbench.service.rendering.text import counted

POSTINGS = ("request", "decline", "hold", "increase", "release", "settlement", "refund")
"""Kinds of facts, in the order of a transaction."""
PARTIES = ("card_id", "user_id", "merchant_name", "merchant_category", "merchant_category_code", "currency")
CENTS = ("requested_cents", "held_cents", "posted_cents", "refunded_cents", "net_cents")
STATUSES = ("requested", "authorized", "reversed", "declined", "settled", "refunded")
MONEY = ("authorized_cents", "held_cents", "posted_cents", "refunded_cents", "net_cents")
"""Amounts of a transaction, in the minor unit of its currency."""
TIME: Any = "datetime64[us, UTC]"
CODED = frozenset({*PARTIES, "declined_reason", "local_currency", "clock", "action"})
"""Text columns of facts, transactions and events that are stored as categories."""
NUMBER = "_number"
"""Column with the number of the row's transaction, for fast grouping of facts, transactions and events."""
_BOUNDS = ("at", "known_at", "earliest", "latest")
_KEPT = ("declined_reason", "local_amount_cents", "local_currency", "authorized_at")
DTYPES: Mapping[str, Any] = {
    "transaction_id": TEXT, "event_id": TEXT, "posting": pd.CategoricalDtype([*POSTINGS]), "at": TIME, "known_at": TIME,
    "clock": TEXT, "earliest": TIME, "latest": TIME, **dict.fromkeys(CENTS, "Int64"), **dict.fromkeys(PARTIES, TEXT),
    "declined_reason": TEXT, "local_amount_cents": "Int64", "local_currency": TEXT, "authorized_at": TIME,
}  # fmt: skip
"""Dtypes of the columns of facts."""
EVENTS: Mapping[str, Any] = {
    "id": TEXT, "action": TEXT, "transaction_id": TEXT, "status": TEXT, "amount": "Int64", "authorized_amount": "Int64",
    "change": "Int64", "clock": TEXT, **dict.fromkeys(_BOUNDS, TIME), **{name: DTYPES[name] for name in PARTIES},
    **{name: DTYPES[name] for name in _KEPT}, "posted_at": TIME,
}  # fmt: skip
"""Dtypes of the columns of the events from which facts are made."""
_CLOCKS = {"event_received_at": "event", DELIVERY: "delivery", ARRIVAL: "arrival"}
_MOST_LAG, _LEAST_LAG = pd.Timedelta(days=1), -pd.Timedelta(minutes=5)
_UNSORTED = 0.2  # if more than this share of rows are earlier than the row before, the source's order is not used


def coded(values: "pd.Series[Any]", write: Callable[[str], str] | None = None) -> "pd.Series[Any]":
    """Return texts as categories in order of appearance. If `write` is passed, it converts each distinct text."""
    codes, texts = pd.factorize(values)
    if write is not None:
        places, texts = pd.factorize(pd.Index([write(text) for text in texts], dtype=TEXT))
        codes = np.append(places, -1)[codes]
    categories = pd.Index(pd.array(texts, dtype=TEXT))
    return pd.Series(pd.Categorical.from_codes(codes, categories=categories, validate=False), index=values.index)


def repeated(values: "pd.Series[Any]") -> NDArray[np.bool_]:
    """Return a mask of the rows whose id also occurs in an earlier row."""
    words = byte_columns(values)
    if words:
        hashes = np.sort(hashes_of(words))
        if not (hashes[1:] == hashes[:-1]).any():
            return np.zeros(len(values), bool)
    again: NDArray[np.bool_] = values.duplicated().to_numpy() & mask(values.notna())
    return again


def hashes_of(words: "list[NDArray[np.uint64]]") -> NDArray[np.uint64]:
    """Return a hash of each id from its `byte_columns`."""
    hashes = np.zeros(len(words[0]), "u8")
    for word in words:
        hashes = (hashes ^ word) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return hashes


def byte_columns(values: "pd.Series[Any]") -> list[NDArray[np.uint64]]:
    """Return ids as columns of 8 bytes each; empty if an id is missing or short, or if the lengths differ."""
    if values.dtype != TEXT or values.empty:
        return []
    return _words(pa.chunked_array(pa.array(values.array)).combine_chunks())


def _words(texts: Any) -> list[NDArray[np.uint64]]:
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, "int64", len(texts) + 1, 8 * texts.offset)
    start, width = int(ends[0]), int(ends[1] - ends[0])
    if width < 8 or (np.diff(ends) != width).any():
        return []
    places = [*range(0, width - 8, 8), width - 8]
    return [np.ndarray(len(texts), "u8", data, start + place, (width,)) for place in places]


def are_plain(values: "pd.Series[Any]") -> bool:
    """Return whether ids of one length have no capital letters and no spaces around them. False also means unknown."""
    chunks = pa.chunked_array(pa.array(values.array)).chunks if values.dtype == TEXT else []
    return bool(chunks) and all(_are_plain(chunk) for chunk in chunks if len(chunk))


def _are_plain(texts: Any) -> bool:
    words = _words(texts)
    if not words:
        return False
    common = np.bitwise_and.reduce([np.bitwise_and.reduce(word) for word in words])
    has_spaces = (words[0] & _BYTE == _SPACE).any() or (words[-1] >> np.uint64(56) == _SPACE).any()
    return bool(common & _LOWER == _LOWER) and not has_spaces


_BYTE, _SPACE = np.uint64(0xFF), np.uint64(0x20)
_LOWER = np.uint64(0x2020202020202020)  # bit that lower-case letters, digits and hyphens have, but capital letters lack


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return facts or transactions as users see them: texts instead of categories, no internal transaction numbers."""
    if NUMBER not in table:
        return table
    texts = {}
    for name in CODED.intersection(table):
        values = table[name].cat
        texts[name] = values.categories.array.take(values.codes.to_numpy(), allow_fill=True)
    return table.assign(**texts).drop(columns=NUMBER)


def mask(values: "pd.Series[Any]") -> Any:
    """Return a column of flags as an array, with False for missing values."""
    return values.to_numpy(dtype=bool, na_value=False)


def whole(values: "pd.Series[Any]") -> Any:
    """Return an integer column as an array, with 0 for missing values."""
    numbers = values.to_numpy(dtype="int64", na_value=0)
    return numbers.view("int64")  # with the dtype object of a pickled frame, NumPy adds thirty times slower


def timed(events: pd.DataFrame, source: "pd.Series[Any]") -> tuple[pd.DataFrame, list[str]]:
    """Return events with times and clocks, and notes on the clocks that are ignored.

    Args:
        events: The columns of `EVENTS`; `known_at` is the time that the source gives for the event.
        source: Origin of `known_at`, as in the column `at_source` of an event frame.
    """
    is_change, is_refund, is_settlement = _actions(events)
    clock: pd.Series[Any] = coded(source, lambda text: _CLOCKS.get(text, text)).cat.set_categories([*_CLOCKS.values()])
    given = events["known_at"].where(clock.notna())
    own = events["authorized_at"].where(~(is_change | is_refund))
    own = own.where(~is_settlement, events["posted_at"])
    notes = []
    for name in ("delivery", "arrival"):
        rows = mask(clock == name)
        lag = (given - own)[rows].median()
        if not pd.isna(lag) and not _LEAST_LAG <= lag <= _MOST_LAG:
            given = given.mask(rows)
            notes.append(
                f"The times of {name} come from a different clock than the events ({_lag(abs(lag))} apart) and are "
                "not used."
            )
    own = own.fillna(given.where(mask(clock == "event")))
    number = events[NUMBER].to_numpy()
    posted = _ticks(events["posted_at"])[is_settlement]
    last_posted = _times(_each(np.maximum, _MISSING, number[is_settlement], posted, number)[number])
    alone = np.isin(number, number[mask(events["amount"] < 0) & ~is_refund])
    differs = is_refund & (mask(last_posted.notna() & (events["posted_at"] != last_posted)) | alone)
    at = own.fillna(given)
    at = at.where(~(differs & mask(at.isna())), events["posted_at"])
    untimed = mask(at.isna())
    clock = clock.where(mask(own.isna() & given.notna()), "event").mask(untimed)
    frame = events.assign(at=at, known_at=given, clock=clock)
    earliest, latest = _neighbors(own, untimed)
    begun = last_posted.fillna(events["authorized_at"])[untimed].dt.tz_localize(None).to_numpy()
    earliest = np.fmax(earliest, begun)
    for name, values in (("earliest", earliest), ("latest", np.where(latest < earliest, np.datetime64("NaT"), latest))):
        column = np.full(len(events), np.datetime64("NaT", "us"))
        column[untimed] = values
        frame[name] = pd.Series(column, index=events.index).dt.tz_localize("UTC")
    return frame, notes


def _lag(span: pd.Timedelta) -> str:
    """Format a span of time in days, hours or minutes."""
    units = {"days": pd.Timedelta(days=1), "hours": pd.Timedelta(hours=1), "minutes": pd.Timedelta(minutes=1)}
    name = next((name for name, unit in units.items() if span >= 2 * unit), "minutes")
    return counted(round(span / units[name]), name)


def _actions(events: pd.DataFrame) -> tuple[Any, Any, Any]:
    """Return masks of the events that are updates, refunds and settlements."""
    completed = mask(events["action"] == "completed")
    negative = mask(events["amount"] < 0)
    return mask(events["action"] == "updated"), completed & negative, completed & ~negative


def _neighbors(own: "pd.Series[Any]", rows: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the earliest and latest possible time of each row without a time, from the timed rows around it."""
    times = _ticks(own)
    known = times != _MISSING
    steps = np.diff(times[known])
    if not known.any() or not rows.any() or (steps < 0).mean() > _UNSORTED:
        nothing = np.full(int(rows.sum()), np.datetime64("NaT", "us"))
        return nothing, nothing
    before = np.maximum.accumulate(times)[rows]  # as a number, a missing time is lower than all others
    after = np.minimum.accumulate(np.where(known, times, _HIGHEST)[::-1])[::-1][rows]
    ends = after == _HIGHEST
    low, high = np.minimum(before, after), np.where(ends, _MISSING, np.maximum(before, after))
    return low.astype("datetime64[us]"), high.astype("datetime64[us]")


_HIGHEST = np.iinfo("int64").max
_MISSING = np.iinfo("int64").min  # represents a missing time


def _ticks(times: "pd.Series[Any]") -> Any:
    """Return times as microseconds since 1970."""
    return times.to_numpy("datetime64[us]").view("int64")


def _times(ticks: NDArray[np.int64]) -> "pd.Series[Any]":
    """Return microseconds since 1970 as times."""
    return pd.Series(ticks.view("datetime64[us]")).dt.tz_localize("UTC")


def _each(how: np.ufunc, start: int, number: Any, values: Any, of: Any) -> NDArray[np.int64]:
    """Return the sum, minimum or maximum of values for each transaction.

    Args:
        how: Function that combines two values, such as `np.add`.
        start: Result for a transaction without values.
        number: Transaction number of each value.
        values: The values.
        of: Numbers of all transactions.
    """
    result = np.full(int(of.max(initial=-1)) + 1, start, "int64")
    how.at(result, number, values)
    return result


def _counted(number: Any, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the rows of each transaction that the mask `rows` selects."""
    return np.bincount(number[rows], minlength=int(number.max(initial=-1)) + 1)


def begun_earlier(facts: pd.DataFrame) -> pd.DataFrame:
    """Return the facts of the transactions whose request is not among the facts."""
    number, kinds = facts[NUMBER].to_numpy(), facts["posting"].cat.codes.to_numpy()
    has_no_request: NDArray[np.bool_] = _counted(number, kinds <= POSTINGS.index("hold"))[number] == 0
    return facts[has_no_request]


def known_by(rows: pd.DataFrame, moment: datetime) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows that were known at a time, and the rows that may have been known."""
    at = pd.Timestamp(moment)
    known_at = rows["known_at"].fillna(rows["at"])
    known = mask(known_at < at) | mask(known_at.isna() & (rows["latest"] <= at))
    open_rows = mask(known_at.isna()) & ~known & ~mask(rows["earliest"] >= at)
    return rows[known].reset_index(drop=True), rows[open_rows]


_Part = tuple[Any, NDArray[np.int64], dict[str, Any]]
"""Kinds of some facts, the positions of their events, and their amounts that are not 0."""


def _parts(events: pd.DataFrame) -> tuple[NDArray[np.bool_], tuple[_Part, ...]]:
    """Return a mask of the events whose request is in the source, and the facts of all events."""
    codes = pd.factorize(events[NUMBER])[0]
    updated, is_refund, settled = _actions(events)
    created, requested = (mask(events["action"] == name) for name in ("created", "requested"))
    amount, change = whole(events["amount"]), whole(events["change"])

    def has(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return _counted(codes, rows) > 0

    count = len(events)
    rank = np.arange(count) + np.select([created, requested], [0, count], 2 * count)
    first = _each(np.minimum, _HIGHEST, codes, rank, codes) % max(count, 1)
    declined = has(mask(events["status"] == "declined"))
    begun, moved = has(created | requested), has(updated | settled | is_refund)
    requested_amount = events["authorized_amount"].fillna(events["amount"])
    base = np.maximum(whole(requested_amount)[first] - change[first], 0)
    opens = begun & ~declined & ((created[first] & (amount[first] >= 0)) | (requested[first] & moved))
    opened = np.where(created[first], amount[first], base)
    change = np.where(declined[codes], 0, change)
    total = np.where(opens, opened, 0) + _each(np.add, 0, codes, np.where(updated, change, 0), codes)
    settlements = np.flatnonzero(settled)
    is_first = ~pd.Series(codes[settlements]).duplicated().to_numpy()
    held = np.where(is_first, total[codes[settlements]], 0)
    taken = np.minimum(amount[settlements], held)
    counts = (amount[settlements] > 0) | mask(events["amount"].isna())[settlements]
    rest = held > taken
    changes, refunds = np.flatnonzero(updated), np.flatnonzero(is_refund)
    moves = change[changes]
    starts = np.select([declined, opens], [1, 2], 0)
    return begun[codes], (
        (
            starts[begun],
            first[begun],
            {"requested_cents": base[begun], "held_cents": np.where(opens, opened, 0)[begun]},
        ),
        (np.where(moves > 0, 3, 4), changes, {"requested_cents": moves.clip(0), "held_cents": moves}),
        (5, settlements[counts], {"held_cents": -taken[counts], "posted_cents": amount[settlements[counts]]}),
        (4, settlements[rest], {"held_cents": taken[rest] - held[rest]}),
        (6, refunds, {"refunded_cents": -amount[refunds]}),
    )


def facts_of(events: pd.DataFrame) -> pd.DataFrame:
    """Return the facts of events in event order, with the caller's own columns."""
    begun, parts = _parts(events)
    kinds = np.concatenate([np.broadcast_to(np.asarray(kind, "int8"), len(where)) for kind, where, _ in parts])
    places = np.concatenate([where for _, where, _ in parts])
    order = np.lexsort((kinds, places))
    kinds, places = kinds[order], places[order]
    rows = np.empty(len(order), "int64")
    rows[order] = np.arange(len(order))
    cents = {name: np.zeros(len(order), "int64") for name in CENTS}
    for _, where, amounts in parts:
        own, rows = rows[: len(where)], rows[len(where) :]
        for name, values in amounts.items():
            cents[name][own] = values
    cents["net_cents"] = cents["posted_cents"] - cents["refunded_cents"]
    is_same = np.array_equal(places, np.arange(len(events)))

    def column(name: str) -> Any:
        return events[name].array if is_same else events[name].array.take(places)

    no_amount = mask(events["amount"].isna())[places] & ((kinds == 2) | (kinds == 5))
    unknown = no_amount | (~begun[places] & (kinds >= 3) & (kinds <= 5))
    missing = {"requested_cents": unknown, "held_cents": unknown, "posted_cents": no_amount}
    never = np.zeros(len(kinds), bool)
    columns_of: dict[str, Any] = {
        "transaction_id": column("transaction_id"),
        "event_id": column("id"),
        "posting": pd.Categorical.from_codes(kinds, dtype=DTYPES["posting"]),
        **{name: column(name) for name in ("at", "known_at", "clock", "earliest", "latest")},
        **{name: pd.arrays.IntegerArray(values, missing.get(name, never)) for name, values in cents.items()},
        **{name: column(name) for name in (*PARTIES, *_KEPT, *(str(name) for name in events if name not in EVENTS))},
    }
    return pd.DataFrame(columns_of, copy=False)


def transactions_of(facts: pd.DataFrame) -> pd.DataFrame:
    """Return transactions summed up from their facts, in the order of their first facts."""
    codes = pd.factorize(facts[NUMBER])[0]
    kinds, place = facts["posting"].cat.codes.to_numpy(), np.arange(len(facts))

    def each(how: np.ufunc, start: int, values: Any) -> NDArray[np.int64]:
        return _each(how, start, codes, values, codes)

    first = each(np.minimum, _HIGHEST, place + np.where(kinds > 2, len(facts), 0)) % max(len(facts), 1)
    of_kind = (_counted(codes, kinds == kind) for kind in range(len(POSTINGS)))
    requests, declines, holds, increases, released, settlements, refunds = of_kind
    begun = requests + declines + holds > 0
    sums = {name: each(np.add, 0, whole(facts[name])) for name in CENTS}
    is_open = (settlements == 0) & (declines == 0)
    held = np.where(is_open, np.maximum(sums["held_cents"], 0), 0)
    posted, refunded = sums["posted_cents"], sums["refunded_cents"]
    status = np.select(
        [
            declines > 0,
            (refunded >= posted) & (refunded > 0),
            settlements + refunds > 0,
            (released > 0) & (held <= 0) & begun,
            holds + increases + released > 0,
        ],
        [STATUSES.index(name) for name in ("declined", "refunded", "settled", "reversed", "authorized")],
        0,
    )
    reasons = each(np.maximum, -1, np.where(facts["declined_reason"].notna(), place, -1))
    unknown = ~begun
    missing = (unknown, unknown & is_open & (refunds == 0), *[np.zeros(len(begun), bool)] * 3)
    amounts = zip(MONEY, (sums["requested_cents"], held, posted, refunded, posted - refunded), missing, strict=True)
    counts = {"increases": increases, "settlements": settlements, "refunds": refunds}
    authorized, at = _ticks(facts["authorized_at"]), _ticks(facts["at"])
    lowest = each(np.minimum, _HIGHEST, np.where(authorized == _MISSING, _HIGHEST, authorized))
    settled_at, refunded_at = (
        each(np.maximum, _MISSING, np.where(kinds == POSTINGS.index(kind), at, _MISSING))
        for kind in ("settlement", "refund")
    )
    own = facts.columns.difference([*DTYPES], sort=False)
    columns: dict[str, Any] = {
        **{name: facts[name].array.take(first) for name in ("transaction_id", *PARTIES)},
        "status": pd.Categorical.from_codes(status.astype("int8"), dtype=pd.CategoricalDtype([*STATUSES])),
        "declined_reason": facts["declined_reason"].array.take(reasons, allow_fill=True),
        **{name: pd.arrays.IntegerArray(cents, rows) for name, cents, rows in amounts},
        **{name: facts[name].array.take(first) for name in ("local_amount_cents", "local_currency")},
        **{name: pd.array(counted, dtype="Int64") for name, counted in counts.items()},
        "authorized_at": _times(np.where(lowest == _HIGHEST, _MISSING, lowest)),
        "updated_at": _times(each(np.maximum, _MISSING, _ticks(facts["known_at"].fillna(facts["at"])))),
        "posted_at": _times(settled_at),
        "refunded_at": _times(refunded_at),
        **{name: facts[name].array.take(first) for name in own},
    }
    return pd.DataFrame(columns, copy=False)
