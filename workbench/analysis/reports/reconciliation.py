"""Compare a ledger with the postings of a history. Each difference has its kind, probable cause and next step.

Rows match by id, currency and amount. The remaining rows match by their net amount per id. All other rows fall in
another period on the other side, exist on one side only, or form pairs with different amounts. These pairs are the
unexplained rest, which is computed from the totals of both sides.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_datetime64_any_dtype

from workbench.analysis.reports.facts import NUMBER, TIME, mask, whole
from workbench.analysis.reports.source_columns import cents_of, check_columns
from workbench.analysis.reports.view import View
from workbench.analysis.tables.read_table import read_table
from workbench.analysis.tables.rows import TEXT
from workbench.base.errors import UsageError, not_allowed, visible
from workbench.service.rendering.text import counted, money

BREAKS: Mapping[str, tuple[str, str]] = {
    "missing here": ("the event was not received or not booked", "book it; look for its event in the inbox"),
    "missing there": ("booked without a settlement or refund", "look for a hold booked as a purchase; reverse it"),
    "doubled here": ("an event was booked twice", "reverse one; store the ids of handled events"),
    "doubled there": (
        "settled or refunded above what was authorized or posted",
        "ask the issuer; see history.anomalies",
    ),
    "sign reversed": ("a refund booked as a purchase, or the reverse", "book it with the other sign"),
    "hundredfold": ("dollars booked as cents, or the reverse", "multiply or divide by 100"),
    "amount differs": ("the hold was booked, not the settlement; or a part is missing", "book the difference"),
    "currency differs": ("another currency was booked", "book it in the currency of the settlement"),
    "late": ("booked in a different period", "accrue it in the period in which it was made"),
    "orphan refund": ("a refund whose purchase is on neither side", "find the purchase in an earlier period"),
    "no id": ("the row names no transaction", "add the id; a row without one is never matched"),
}
"""Kinds of differences, each with its probable cause and the next step."""
_PAIRED = ("sign reversed", "hundredfold", "amount differs")
_GROUP = ["id", "currency"]
_OF = "history.reconcile"
_MAX_ROWS = 2_000_000


class Reconciliations(View):
    """Reports that compare the history with a ledger."""

    def reconcile(
        self, ledger: object, *, key: str = "transaction_id", amount: str = "net_cents", signed_by: str = ""
    ) -> pd.DataFrame:
        """Return the differences between a ledger and this history's postings, each with its kind and cause.

        The filter's period, time zone and currency apply to both sides.

        Args:
            ledger: A frame, or the path of a file, with the columns `key` and `amount`, and optionally `at` and
                `currency`. Each row is one settlement (above 0), one refund (below 0), or the net amount of a
                transaction.
            key: Column that identifies a transaction; case and hyphens do not matter.
            amount: Column of whole amounts in the minor unit of the currency.
            signed_by: Name of the person who signs off, for the statement.

        Returns:
            Columns break, `key`, currency, mine_cents, theirs_cents, difference_cents (Int64, mine minus theirs),
            mine_at, theirs_at, cause, next_step. `attrs["statement"]` holds the statement as lines of text.
            `attrs["unexplained"]` holds the amount in each currency that no break explains.

        Raises:
            UsageError: A column is missing, or an amount is not a whole number.
        """
        theirs, unknown = _theirs(self)
        mine, remark = _mine(self, ledger, key, amount, theirs)
        pairs, nets = _matched(mine, theirs)
        parts = [_timing(pd.concat([pairs, nets]), self), _unmatched(mine, theirs)]
        breaks = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
        order = pd.Categorical(breaks["break"], categories=[*BREAKS])
        breaks = (
            breaks.assign(order=order)
            .sort_values(["order", "currency", "key"], ignore_index=True)
            .drop(columns="order")
        )
        for place, name in enumerate(("cause", "next_step")):
            breaks[name] = breaks["break"].map({kind: texts[place] for kind, texts in BREAKS.items()}).astype(TEXT)
        statement, rest = _statement(mine, theirs, breaks, unknown, len(nets))
        sign = f"Signed off by {visible(signed_by, 100)}." if signed_by else "Not signed off."
        breaks = breaks.rename(columns={"key": key})
        lines = [*([remark] if remark else []), *statement, sign]
        return self._marked(breaks, "reconciliation", notes=lines, noun="rows", statement=lines, unexplained=rest)


def _theirs(history: View) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the settlements and refunds of all periods, and the postings whose period is unknown."""
    facts = history.facts
    moved = facts[mask((facts["posted_cents"] != 0) | (facts["refunded_cents"] != 0))]
    scope = history.scope
    if scope.currency is not None:
        moved = moved[mask(moved["currency"] == scope.currency)]
    inside, left, _ = history._rows(moved, "at")
    unknown = pd.concat([part.rows for part in left if part.reason == "with an unknown period"] or [moved.iloc[:0]])
    table = history._folded
    settled_above = mask((table["posted_cents"] > table["authorized_cents"]).fillna(True))
    refunded_above = mask((table["refunded_cents"] > table["posted_cents"]) & (table["posted_cents"] > 0))
    above = [moved[NUMBER].isin(table[NUMBER][rows]) for rows in (settled_above, refunded_above)]
    side = pd.DataFrame(
        {
            "key": moved["transaction_id"],
            "cents": moved["net_cents"].fillna(0).astype("int64"),
            "at": moved["at"],
            "currency": moved["currency"].astype(TEXT),
            "inside": moved.index.isin(inside.index),
            "above": above[0].where(mask(moved["net_cents"] > 0), above[1]),
        }
    )
    return _numbered(side[~moved.index.isin(unknown.index)]), unknown


def _mine(history: View, ledger: object, key: str, amount: str, theirs: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the rows of a ledger, and a remark on its currency.

    Raises:
        UsageError: A column is missing, or an amount or time cannot be read.
    """
    if isinstance(ledger, str | Path):
        ledger = read_table(ledger, max_rows=_MAX_ROWS)
    if not isinstance(ledger, pd.DataFrame):
        raise UsageError("ledger must be a frame or the path of a file", of=_OF)
    check_columns(ledger, _OF)
    for name in (key, amount):
        if name not in ledger:
            raise UsageError([not_allowed("key" if name == key else "amount", name, ledger.columns)], of=_OF)
    cents = cents_of(ledger, amount, _OF)
    side = pd.DataFrame({"key": ledger[key].astype(TEXT).str.strip().array, "cents": cents.astype("int64").array})
    side["at"] = _times(ledger, history.scope.tz).array
    side["above"] = False
    remark = ""
    stated = pd.Series(None, ledger.index, dtype=TEXT)
    if "currency" in ledger:
        stated = ledger["currency"].astype(TEXT).str.strip().str.lower().replace("", None)
    if stated.notna().any() or ("currency" in ledger and ledger.empty):
        if stated.isna().any():
            raise UsageError("the ledger has rows without a currency: fill them, or drop the column", of=_OF)
        if not stated.str.fullmatch("[a-z]{3}").all():
            raise UsageError("the ledger's currencies must be codes of three letters, such as USD", of=_OF)
        side["currency"] = stated.array
    else:
        codes = [history.scope.currency] if history.scope.currency else [*theirs["currency"].dropna().unique()]
        if len(codes) > 1:
            listed = ", ".join(sorted(map(str, codes)))
            raise UsageError(f"the ledger states no currency, and the history has {listed}: filter one", of=_OF)
        side["currency"] = pd.Series([codes[0] if codes else None] * len(side), dtype=TEXT)
        remark = f"The ledger states no currency; it is compared as {codes[0].upper()}." if codes else ""
    scope = history.scope
    if scope.currency is not None:
        side = side[mask(side["currency"] == scope.currency)]
    side["inside"] = True
    if scope.since is not None:
        since, until = scope.ends
        inside = (side["at"] >= since) & (side["at"] < until)
        side["inside"] = mask(inside | side["at"].isna())
    side = side[side["cents"] != 0]
    return _numbered(side), remark


def _times(ledger: pd.DataFrame, tz: str) -> Any:
    """Return the ledger's times. Times without a zone are in the filter's zone."""
    if "at" not in ledger:
        return pd.Series(pd.NaT, index=ledger.index, dtype=TIME)
    given: pd.Series[Any] = ledger["at"]
    if not is_datetime64_any_dtype(given.dtype):
        texts = given.astype(TEXT).str.strip()
        naive = ~texts.str.contains(r"(?:Z|[+-]\d\d:?\d\d|:\d\d(?:\.\d+)? ?[+-]\d\d)$", regex=True, na=False)
        times = pd.to_datetime(texts.astype(object), utc=True, errors="coerce", format="ISO8601").astype(TIME)
        local = times.dt.tz_localize(None).dt.tz_localize(tz, ambiguous=True, nonexistent="shift_forward")
        times = times.where(~mask(naive), local.dt.tz_convert("UTC").astype(TIME))
    else:
        times = pd.to_datetime(given)
        zoned = times.dt.tz_localize(tz, ambiguous=True, nonexistent="shift_forward") if times.dt.tz is None else times
        times = zoned.dt.tz_convert("UTC").astype(TIME)
    if (times.isna() & given.notna() & (given.astype(TEXT).str.strip() != "")).any():
        raise UsageError("column `at` must contain a time or be empty in each row", of=_OF)
    return times


def _numbered(side: pd.DataFrame) -> pd.DataFrame:
    """Return one side with normalized ids, and an occurrence number among equal rows."""
    ids = side["key"].str.lower().str.replace(r"[-\s]", "", regex=True)
    side = side.assign(id=ids.where(ids != "")).reset_index(drop=True)
    side["matched"] = False
    return side.assign(turn=side.groupby([*_GROUP, "cents"], dropna=False).cumcount())


def _matched(mine: pd.DataFrame, theirs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Mark the rows that match. Return the pairs with equal amounts, and the pairs matched by their net per id."""
    pairs = _pairs(mine, theirs)
    for side, name in ((mine, "mine"), (theirs, "theirs")):
        side.loc[pairs[f"row_{name}"].to_numpy(), "matched"] = True
    # an id first matches by all its rows, then by its rows in the period
    return pairs, pd.concat([_equal_nets(mine, theirs, is_all=is_all) for is_all in (True, False)])


def _equal_nets(mine: pd.DataFrame, theirs: pd.DataFrame, *, is_all: bool) -> pd.DataFrame:
    """Mark the rows of ids with equal nets on both sides, in the period or over all rows; return the pairs of nets."""
    nets = []
    for side in (mine, theirs):
        rest = side[~side["matched"] & side["id"].notna() & (side["inside"] | is_all)]
        rows = rest.assign(net=rest["cents"], cents=rest["cents"].where(rest["inside"], 0))
        how = {"key": "first", "net": "sum", "cents": "sum", "at": "first"}
        nets.append(rows.groupby(_GROUP, dropna=False).agg(how).reset_index())
    equal = nets[0].merge(nets[1], on=[*_GROUP, "net"], suffixes=("_mine", "_theirs"))
    groups = pd.MultiIndex.from_frame(equal[_GROUP])
    for side in (mine, theirs):
        side["matched"] |= pd.MultiIndex.from_frame(side[_GROUP]).isin(groups) & (side["inside"] | is_all)
    return equal


def _pairs(mine: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of rows that share id, currency and amount, with the amount that each side has in the period."""
    sides = [side[side["id"].notna()].assign(row=lambda s: s.index) for side in (mine, theirs)]
    pairs = sides[0].merge(sides[1], on=[*_GROUP, "cents", "turn"], suffixes=("_mine", "_theirs"))
    for name in ("mine", "theirs"):
        pairs[f"cents_{name}"] = pairs["cents"].where(pairs[f"inside_{name}"], 0)
    return pairs


def _timing(pairs: pd.DataFrame, history: View) -> pd.DataFrame:
    """Return a break for each matched pair in different periods, with each side's amount in the filter's period."""
    times = [pairs[f"at_{name}"].dt.tz_convert(history.scope.tz).dt.tz_localize(None) for name in ("mine", "theirs")]
    months = [moments.dt.to_period("M") for moments in times]
    late = mask(months[0].notna() & months[1].notna() & (months[0] != months[1]))
    if history.scope.since is not None:
        late = mask(pairs["cents_mine"] != pairs["cents_theirs"])
    rows = pairs[late]
    sides = [rows[f"cents_{name}"].astype("Int64").replace(0, pd.NA) for name in ("mine", "theirs")]
    return _rows("late", rows["key_mine"], rows["currency"], *sides, rows["at_mine"], rows["at_theirs"])


def _rows(kind: object, keys: Any, currency: object, *columns: Any) -> pd.DataFrame:
    """Return a frame of breaks. `columns` are the amounts and then the times of both sides."""
    names = ("mine_cents", "theirs_cents", "mine_at", "theirs_at")
    frame = pd.DataFrame({"break": kind, "key": keys, "currency": currency}, index=keys.index)
    for name, values in zip(names, columns, strict=True):
        frame[name] = values
    frame = frame.astype({"break": TEXT, "mine_cents": "Int64", "theirs_cents": "Int64"})
    for name in ("mine_at", "theirs_at"):
        frame[name] = pd.to_datetime(frame[name], utc=True).astype(TIME)
    frame.insert(5, "difference_cents", frame["mine_cents"].fillna(0) - frame["theirs_cents"].fillna(0))
    return frame.reset_index(drop=True)


def _unmatched(mine: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return the breaks of unmatched rows. Rows of both sides are paired by id and occurrence."""
    rest = []
    for side in (mine, theirs):
        part = side[~side["matched"] & side["inside"]]
        rest.append(part.assign(place=part.groupby("id", dropna=False).cumcount()))
    named = [part[part["id"].notna()] for part in rest]
    both = named[0].merge(named[1], on=["id", "place"], how="outer", suffixes=("_mine", "_theirs"), indicator="side")
    cents = [both["cents_mine"].astype("Int64"), both["cents_theirs"].astype("Int64")]
    alone, here = mask(both["side"] != "both"), mask(both["side"] == "left_only")
    amount = whole(cents[0].where(here, cents[1]))
    bought, given_back = (
        [set(side["id"][side["cents"] * sign > 0].dropna()) for side in (mine, theirs)] for sign in (1, -1)
    )
    # If refunds have separate ids on both sides, a refund id without a purchase is not an error.
    is_shared = any(purchases & refunds for purchases, refunds in zip(bought, given_back, strict=True))
    orphan = alone & (amount < 0) & ~both["id"].isin(bought[0] | bought[1]).to_numpy() & is_shared
    doubled = alone & here & (both["turn_mine"].fillna(0) > 0).to_numpy()
    above = (
        alone & ~here & mask(both["above_theirs"].astype("boolean")) & (both["turn_theirs"].fillna(0) > 0).to_numpy()
    )
    other = ~alone & mask(both["currency_mine"] != both["currency_theirs"])
    kind = np.select(
        [
            doubled,
            above,
            orphan,
            alone & here,
            alone,
            other,
            mask(cents[0] == -cents[1]),
            mask((cents[0] == cents[1] * 100) | (cents[0] * 100 == cents[1])),
        ],
        [
            "doubled here",
            "doubled there",
            "orphan refund",
            "missing there",
            "missing here",
            "currency differs",
            *_PAIRED[:2],
        ],
        _PAIRED[2],
    )
    keys = both["key_mine"].fillna(both["key_theirs"])
    code = both["currency_mine"].fillna(both["currency_theirs"])
    breaks = _rows(kind, keys, code, cents[0], cents[1].mask(other), both["at_mine"], both["at_theirs"])
    swapped = both[other]
    swapped_breaks = _rows(
        "currency differs",
        keys[other],
        swapped["currency_theirs"],
        pd.NA,
        cents[1][other],
        swapped["at_mine"],
        swapped["at_theirs"],
    )
    parts = [breaks, swapped_breaks]
    for side, is_mine in zip(rest, (True, False), strict=True):
        bare = side[side["id"].isna()]
        amounts, times = (bare["cents"], pd.NA), (bare["at"], pd.NaT)
        parts.append(
            _rows(
                "no id",
                bare["key"],
                bare["currency"],
                *(amounts if is_mine else amounts[::-1]),
                *(times if is_mine else times[::-1]),
            )
        )
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def _statement(
    mine: pd.DataFrame, theirs: pd.DataFrame, breaks: pd.DataFrame, unknown: pd.DataFrame, many: int
) -> tuple[list[str], dict[str, int | None]]:
    """Return the statement as lines for each currency, and the unexplained rest (None if it cannot be determined)."""
    lines: list[str] = []
    rest: dict[str, int | None] = {}
    codes = pd.concat([mine["currency"], theirs["currency"], unknown["currency"]]).dropna().unique()
    for code in sorted(codes):
        sides = [side[mask(side["currency"] == code) & side["inside"]] for side in (mine, theirs)]
        totals = [int(side["cents"].sum()) for side in sides]
        own = breaks[mask(breaks["currency"] == code)]
        explained = own[~own["break"].isin(_PAIRED)]
        left = totals[0] - totals[1] - int(explained["difference_cents"].sum())
        undated = unknown[mask(unknown["currency"] == code)]
        lines += [
            f"{name}: {counted(len(side), 'rows')}, {money(total, code)}."
            for name, side, total in zip(("Mine", "Theirs"), sides, totals, strict=True)
        ]
        lines.append(f"Difference: {money(totals[0] - totals[1], code)}.")
        counts = explained.groupby("break", sort=False)["difference_cents"].agg(["size", "sum"])
        lines += [
            f"Explained ({kind}): {counted(size, 'rows')}, {money(int(total), code)}."
            for kind, size, total in counts.itertuples()
        ]
        pairs = int(own["break"].isin(_PAIRED).sum())
        rest[str(code)] = None if len(undated) else left
        if len(undated):
            total = money(int(undated["net_cents"].sum()), code)
            postings = counted(len(undated), "postings")
            lines.append(f"Not explained: unknown, because the period of {postings} ({total} net) is not known.")
        else:
            lines.append(f"Not explained: {money(left, code)}, in {counted(pairs, 'pairs')} of different amounts.")
    lines += [f"Matched by net amount, not row by row: {counted(many, 'ids')}."] * bool(many)
    return lines, rest
