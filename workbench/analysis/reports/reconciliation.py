"""Compare a ledger with the service's postings: each difference with its kind, probable cause and next step."""

from pathlib import Path

import numpy as np
import pandas as pd

from workbench.analysis.reports.posting_rows import postings
from workbench.analysis.tables.read_table import read_table
from workbench.analysis.tables.rows import TEXT, mark_report
from workbench.base.errors import UsageError, not_allowed

BREAKS = {
    "missing here": ("the event was not received or not booked", "book it; look for its event in the inbox"),
    "missing there": ("booked without a settlement or refund", "look for a hold booked as a purchase; reverse it"),
    "doubled here": ("an event was booked twice", "reverse one; store the ids of handled events"),
    "doubled there": ("settled or refunded twice", "ask the issuer; see reports.anomalies"),
    "sign reversed": ("a refund booked as a purchase, or the reverse", "book it with the other sign"),
    "hundredfold": ("dollars booked as cents, or the reverse", "multiply or divide by 100"),
    "amount differs": ("the hold was booked, not the settlement; or a part is missing", "book the difference"),
    "currency differs": ("another currency was booked", "book it in the currency of the settlement"),
    "late": ("booked in another month than it was made", "accrue it in the month in which it was made"),
    "orphan refund": ("a refund whose purchase is not on this side", "find the purchase in an earlier period"),
}
"""Kinds of differences, each with its probable cause and the next step."""
_MAX_ROWS = 2_000_000
_COLUMNS = ["break", "transaction_id", "mine_cents", "theirs_cents", "difference_cents", "mine_at", "theirs_at"]


def reconcile(
    mine: object, theirs: object, *, key: str = "transaction_id", amount: str = "net_cents", signed_by: str = ""
) -> pd.DataFrame:
    """Return the differences between a ledger and the postings of the service, each with its kind and probable cause.

    A row of a ledger is one settlement (above 0) or refund (below 0). Rows with the same key and amount match
    one-to-one; unmatched rows are differences. The differences add up to the difference of the totals.

    Args:
        mine: The ledger: a frame, such as from `wb.sql`, or the path of a CSV file, with the columns `key` and
            `amount`,
            and optionally `at` and `currency`.
        theirs: A frame with these columns, or anything that `postings` takes: a session, an inbox, a log of events.
        key: Column that identifies a transaction.
        amount: Column of whole amounts in the minor unit of the currency.
        signed_by: Name of the person who signs off, for the statement.

    Returns:
        Columns break (see below), `key`, mine_cents, theirs_cents, difference_cents (Int64, mine minus theirs),
        mine_at, theirs_at, cause, next_step. Kinds of breaks: missing here, missing there, doubled here, doubled there,
        sign reversed, hundredfold, amount differs, currency differs, late (another month, UTC), orphan refund.
        `attrs["statement"]` is the statement as lines of text: rows, totals, breaks by kind, and a remainder of zero.

    Raises:
        UsageError: A column is missing, or an amount is not a whole number.
    """
    ours = _side(mine, key, amount)
    table = (
        theirs
        if isinstance(theirs, str | Path | pd.DataFrame)
        else _booked(theirs).rename(columns={"transaction_id": key})
    )
    other = _side(table, key, amount)
    pairs = _matched(ours, other)
    parts = [_of_matched(pairs[pairs["_merge"] == "both"]), _of_unmatched(pairs, ours, other)]
    breaks = pd.concat(parts, ignore_index=True)
    breaks["difference_cents"] = breaks["mine_cents"].fillna(0) - breaks["theirs_cents"].fillna(0)
    breaks["difference_cents"] = breaks["difference_cents"].where(breaks["break"] != "late", 0)
    for place, name in enumerate(("cause", "next_step")):
        breaks[name] = breaks["break"].map({kind: texts[place] for kind, texts in BREAKS.items()}).astype(TEXT)
    order = pd.Categorical(breaks["break"], categories=list(BREAKS))
    breaks = breaks.assign(order=order).sort_values(["order", "key"], ignore_index=True).drop(columns="order")
    breaks = breaks.rename(columns={"key": key})
    statement = _statement(ours, other, breaks, signed_by)
    source = table if isinstance(table, pd.DataFrame) else None
    return mark_report(breaks, "reconciliation", statement[-1:], source, statement=statement)


def _booked(events: object) -> pd.DataFrame:
    table = postings(events)
    booked = table[table["net_cents"] != 0]
    booked.attrs = table.attrs
    return booked


def _side(given: object, key: str, amount: str) -> pd.DataFrame:
    """Return one side as key, cents, at, currency and position, with a running number among equal rows."""
    if isinstance(given, str | Path):
        given = read_table(given, max_rows=_MAX_ROWS)
    if not isinstance(given, pd.DataFrame):
        raise UsageError("mine must be a frame or the path of a CSV file", of="reports.reconcile")
    for name in (key, amount):
        if name not in given:
            raise UsageError(
                [not_allowed("key" if name == key else "amount", name, given.columns)], of="reports.reconcile"
            )
    cents = pd.to_numeric(given[amount], errors="coerce")
    if cents.isna().any() or (cents % 1 != 0).any() or (cents.abs() > 2**53).any():
        raise UsageError(f"{amount} must be a whole number of minor units in each row", of="reports.reconcile")
    side = pd.DataFrame({"key": given[key].astype(TEXT).str.strip().array, "cents": cents.astype("int64").array})
    times = pd.Series(pd.NaT, index=given.index, dtype="datetime64[us, UTC]")
    if "at" in given:
        times = pd.to_datetime(given["at"], utc=True, errors="coerce")
        if (times.isna() & given["at"].notna()).any():
            raise UsageError("at must be a time or empty in each row", of="reports.reconcile")
    side["at"] = times.astype("datetime64[us, UTC]").array
    side["currency"] = given["currency"].astype(TEXT).str.lower().array if "currency" in given else pd.NA
    return side.assign(turn=side.groupby(["key", "cents"]).cumcount())


def _matched(ours: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return rows of both sides joined by key, amount and running number among equal rows."""
    return ours.merge(other, on=["key", "cents", "turn"], how="outer", suffixes=("_mine", "_theirs"), indicator=True)


def _rows(*columns: object) -> pd.DataFrame:
    """Return breaks from their kinds, keys, amounts of both sides, and times of both sides."""
    values = (*columns[:4], None, *columns[4:])
    frame = pd.DataFrame(dict(zip(["break", "key", *_COLUMNS[2:]], values, strict=True)))
    return frame.astype({"break": TEXT, "mine_cents": "Int64", "theirs_cents": "Int64", "difference_cents": "Int64"})


def _of_matched(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return pairs of equal amount that differ in currency or month."""
    mine, theirs = pairs["currency_mine"], pairs["currency_theirs"]
    currency = (mine.notna() & theirs.notna() & (mine != theirs)).fillna(False).to_numpy(dtype=bool)
    months = [pairs[f"at_{side}"].dt.tz_localize(None).dt.to_period("M") for side in ("mine", "theirs")]
    late = (months[0].notna() & months[1].notna() & (months[0] != months[1])).to_numpy(dtype=bool) & ~currency
    rows = pairs[currency | late]
    kind = np.where(currency[currency | late], "currency differs", "late")
    return _rows(
        kind,
        rows["key"].array,
        rows["cents"].array,
        rows["cents"].array,
        rows["at_mine"].array,
        rows["at_theirs"].array,
    )


def _of_unmatched(pairs: pd.DataFrame, ours: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return the unmatched rows of both sides, paired by key where each side has one left."""
    sides = {}
    for side, name in (("left_only", "mine"), ("right_only", "theirs")):
        rest = pairs.loc[pairs["_merge"] == side, ["key", "cents", "turn", f"at_{name}"]].rename(
            columns={f"at_{name}": "at"}
        )
        sides[name] = rest.assign(place=rest.groupby("key").cumcount())
    both = sides["mine"].merge(
        sides["theirs"], on=["key", "place"], how="outer", suffixes=("_mine", "_theirs"), indicator="_pair"
    )
    mine, theirs = both["cents_mine"], both["cents_theirs"]
    alone, here = both["_pair"] != "both", both["_pair"] == "left_only"
    cents = mine.where(here, theirs)
    positive = {name: set(side.loc[side["cents"] > 0, "key"]) for name, side in (("mine", ours), ("theirs", other))}
    turns = both["turn_mine"].where(here, both["turn_theirs"])
    repeated = alone & (turns > 0)
    purchase = np.where(here, both["key"].isin(positive["mine"]), both["key"].isin(positive["theirs"]))
    orphan = alone & (cents < 0) & ~purchase
    kind = np.select(
        [
            repeated & here,
            repeated,
            orphan,
            alone & here,
            alone,
            mine == -theirs,
            (mine == theirs * 100) | (mine * 100 == theirs),
        ],
        [
            "doubled here",
            "doubled there",
            "orphan refund",
            "missing there",
            "missing here",
            "sign reversed",
            "hundredfold",
        ],
        "amount differs",
    )
    return _rows(kind, both["key"].array, mine.array, theirs.array, both["at_mine"].array, both["at_theirs"].array)


def _statement(ours: pd.DataFrame, other: pd.DataFrame, breaks: pd.DataFrame, signed_by: str) -> list[str]:
    totals = [int(side["cents"].sum()) for side in (ours, other)]
    explained = int(breaks["difference_cents"].sum())
    rest = totals[0] - totals[1] - explained
    counts = breaks.groupby("break", sort=False)["difference_cents"].agg(["size", "sum"])
    difference = totals[0] - totals[1]
    return [
        f"Mine: {len(ours):,} rows, {totals[0]:,} cents",
        f"Theirs: {len(other):,} rows, {totals[1]:,} cents",
        f"Difference: {difference:,} cents",
        *(
            f"{kind}: {size:,} rows, {total:,} cents"
            for kind, (size, total) in zip(counts.index, counts.to_numpy(), strict=True)
        ),
        f"Not explained: {rest:,} cents",
        f"Signed off by {signed_by}" if signed_by else "Not signed off",
        f"{len(breaks):,} breaks explain the difference of {difference:,} cents; {rest:,} are not explained.",
    ]
