"""Describe a card program by its numbers, for a sandbox with a program of that kind (`Sandbox(world=…)`).

Only aggregates are kept: counts, shares, and quantiles averaged over at least 20 values. Groups with fewer than 20
users are left out. No id, name or time of the source is read into the result.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd

from workbench.analysis.reports.history import history
from workbench.base.errors import UsageError
from workbench.base.system import toml
from workbench.base.system.files import write_file
from workbench.sandbox.programs import MAX_PURCHASES, STAYED
from workbench.sandbox.rewards import CATEGORIES
from workbench.service.interface.vocabulary import DeclineReason

GROUP = 20
"""Users, or values, below which a group is left out."""
_MAX_KNOTS = 40
_MAX_PERIODS = 4
_MAX_MERCHANTS = 256
_DAY = pd.Timedelta(days=1)


@attrs.frozen
class ProgramNumbers:
    """Parameters of a card program, as in a file for `Sandbox(world=…)`."""

    table: Mapping[str, Any]
    notes: tuple[str, ...]

    def to_toml(self) -> str:
        """Return the text of the file."""
        lines = ["# A card program in numbers, for Sandbox(world=…). What is not here is as in the built-in program."]
        lines += [f"# {note}" for note in self.notes]
        lines += ["", *(f"{key} = {toml.dumps(value)}" for key, value in self.table.items() if not _is_rows(value))]
        for key, rows in self.table.items():
            for row in rows if _is_rows(rows) else ():
                lines += ["", f"[[{key}]]", *(f"{name} = {toml.dumps(value)}" for name, value in row.items())]
        return "\n".join([*lines, ""])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file."""
        write_file(Path(path), self.to_toml().encode(), private=False)

    def __str__(self) -> str:
        return self.to_toml()


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and isinstance(value[0], dict)


def world_from(events: object, *, rewards: pd.DataFrame | None = None) -> ProgramNumbers:
    """Return the numbers of a card program for `Sandbox(world=…)`: aggregates without ids, names or times.

    They are users by cohort, the mix of merchant categories, ticket sizes, declines, settlements, refunds and points.
    Groups with fewer than 20 users are left out; so are transactions in other currencies than the most common one.

    Args:
        events: Paths of event logs, or anything that `wb.history` takes.
        rewards: Frame of rewards activity, for the points per dollar; the usual ones if omitted.

    Raises:
        UsageError: There are fewer than 20 users, or no times.
    """
    frame = _transactions(events)
    total = len(frame)
    frame = frame[frame["authorized_at"].notna() & frame["user_id"].notna() & (frame["authorized_cents"] > 0)]
    if len(frame):
        frame = frame[frame["currency"] == frame["currency"].mode().iloc[0]]
    users = frame.groupby("user_id")["authorized_at"].agg(["min", "max", "size"])
    if len(users) < GROUP:
        raise UsageError(f"at least {GROUP} users with purchases are needed, not {len(users)}", of="world_from")
    until = frame.attrs.get("until")
    until = max(pd.Timestamp(until) if until else users["max"].max(), users["max"].max())
    settled = frame[frame["posted_at"].notna() & (frame["posted_cents"] > 0)]
    refunded = settled[settled["refunded_cents"] > 0]
    categories = _categories(frame, rewards)
    if not categories:
        raise UsageError(f"no merchant category has at least {GROUP} users", of="world_from")
    table: dict[str, Any] = {
        "size": len(users),
        "merchants": min(_MAX_MERCHANTS, max(1, frame["merchant_name"].nunique())),
        "habit": _habit(frame),
        "months": _months(frame, users),
        "weekdays": _weights(frame, frame["authorized_at"].dt.day_of_week, 7),
        "hours": _weights(frame, frame["authorized_at"].dt.hour, 24),
        "declined": _share(frame["status"] == "declined"),
        "reversed": _share(frame["status"] == "reversed"),
        "refunded": _share(settled["refunded_cents"] > 0),
        "settle_hours": _quantiles(24 * _days(settled["posted_at"] - settled["authorized_at"]), 2),
        "refund_parts": _quantiles(refunded["refunded_cents"] / refunded["posted_cents"], 3, 1),
        "refund_days": _quantiles(_days(refunded["refunded_at"] - refunded["posted_at"]), 2),
        "cohorts": _cohorts(users, until),
        "categories": categories,
        "declines": _declines(frame),
    }
    table = {name: value for name, value in table.items() if value is not None and value != []}
    notes = [
        f"From {len(frame):,} transactions of {len(users):,} users; {total - len(frame):,} left out.",
        f"Groups with fewer than {GROUP} users are left out.",
        *([f"A sandbox has at most {MAX_PURCHASES:,} purchases: reduce size."] * (len(frame) > MAX_PURCHASES)),
    ]
    return ProgramNumbers(table, tuple(notes))


def _transactions(events: object) -> pd.DataFrame:
    if isinstance(events, pd.DataFrame) and "authorized_cents" in events:
        return events
    return history(events).transactions()


def _days(times: "pd.Series[Any]") -> Any:
    return times.dt.total_seconds() / 86_400


def _share(which: "pd.Series[bool]") -> float:
    """Return the share of rows, 0 if they are too few to be a group."""
    count = int(which.fillna(False).sum())
    return round(count / len(which), 4) if count >= GROUP else 0.0


def _quantiles(values: Iterable[Any], digits: int = 0, highest: float = np.inf) -> list[float] | None:
    """Return evenly spaced quantiles, each averaged over 20 values; None of fewer than 20.

    The outermost ones are chosen so that the means of the lowest and of the highest part hold.
    """
    numbers = np.sort(pd.to_numeric(pd.Series(values)).dropna().clip(0).to_numpy(dtype=float))
    count = min(_MAX_KNOTS, len(numbers) // GROUP)
    if not count:
        return None
    edges = [round(i * len(numbers) / count) for i in range(count + 1)]
    inner = [numbers[edge - GROUP // 2 : edge + GROUP // 2].mean() for edge in edges[1:-1]]
    low, high = numbers[: edges[1]].mean(), numbers[edges[-2] :].mean()
    knots = [max(2 * low - inner[0], 0), *inner, 2 * high - inner[-1]] if inner else [low]
    ascending = np.maximum.accumulate(np.minimum(knots, highest))
    return [round(float(knot), digits) if digits else round(knot) for knot in ascending]


def _weights(frame: pd.DataFrame, groups: "pd.Series[Any]", count: int) -> list[float] | None:
    """Return the weight of each group, 0 for groups under 20 users; None if all groups are."""
    rows = frame.groupby(groups)["user_id"].agg(["size", "nunique"]).reindex(range(count), fill_value=0)
    sizes = rows["size"].where(rows["nunique"] >= GROUP, 0)
    return None if not sizes.sum() else [round(float(size), 3) for size in sizes * count / sizes.sum()]


def _months(frame: pd.DataFrame, users: pd.DataFrame) -> list[float] | None:
    """Return purchases by calendar month, as a multiple of what even purchases of the same users would be.

    A user's first and last purchase bound the time that counts, so they do not count. Months without users are 1.
    """
    low, high = (frame["user_id"].map(users[name]) for name in ("min", "max"))
    inner = frame[(frame["authorized_at"] > low) & (frame["authorized_at"] < high)]
    months = inner.groupby(inner["authorized_at"].dt.month)["user_id"].agg(["size", "nunique"])
    first, last = (users[name].dt.tz_localize(None).dt.floor("D") for name in ("min", "max"))
    days = pd.date_range(first.min(), last.max() + _DAY, freq="D")
    a_day = (users["size"] - 2).clip(0) / (_days(last - first) + 1)
    steps = [a_day.groupby(at).sum().reindex(days, fill_value=0) for at in (first, last + _DAY)]
    even = (steps[0] - steps[1]).cumsum().groupby(days.month).sum()
    rates = (months["size"] / even.reindex(months.index))[months["nunique"] >= GROUP]
    return None if rates.empty else [round(float(rate), 3) for rate in rates.reindex(range(1, 13), fill_value=1.0)]


def _habit(frame: pd.DataFrame) -> float:
    """Return how far users keep to three categories: 0 if they buy as all others do, 1 if nowhere else."""
    counts = frame.groupby(["user_id", "merchant_category_code"]).size()
    totals = counts.groupby(level=0).sum()
    frequent = totals[totals >= GROUP].index
    if len(frequent) < GROUP:
        return 0.0
    counts = counts[counts.index.get_level_values(0).isin(frequent)]
    squares = (counts.groupby(level=0).apply(lambda row: ((row / row.sum()) ** 2).sum()) - 1 / totals[frequent]).mean()
    usual = float((frame["merchant_category_code"].value_counts(normalize=True) ** 2).sum())
    # with three favorites drawn by the same shares, repetition adds habit² / 3 of the remaining share
    return round(float(np.sqrt(np.clip(3 * (squares - usual) / max(1 - usual, 1e-9), 0, 1))), 2)


def _cohorts(users: pd.DataFrame, until: pd.Timestamp) -> list[dict[str, Any]]:
    """Return users by the time when they joined, those who left apart."""
    joined = _days(until - users["min"])
    active = (_days(users["max"] - users["min"]) / joined.clip(lower=1e-9)).clip(0, 1)
    data = pd.DataFrame({"joined": joined, "active": active, "purchases": users["size"]}).sort_values("joined")
    count = int(np.clip(len(data) // (5 * GROUP), 1, _MAX_PERIODS))
    rows: list[dict[str, Any]] = []
    for period in range(count):
        part = data.iloc[period * len(data) // count : (period + 1) * len(data) // count]
        stayed = part["active"] >= STAYED
        apart = GROUP <= stayed.sum() <= len(part) - GROUP
        rows += [
            {
                "share": round(len(group) / len(data), 4),
                "joined": _quantiles(group["joined"], 2),
                "active": _quantiles(group["active"], 3, 1),
                "purchases": _quantiles(group["purchases"], 1),
            }
            for group in ((part[stayed], part[~stayed]) if apart else (part,))
        ]
    return rows


def _categories(frame: pd.DataFrame, rewards: pd.DataFrame | None) -> list[dict[str, Any]]:
    rates = _points(rewards)
    names = set(frame["merchant_name"].dropna().str.strip().str.casefold())
    rows = []
    for code, part in frame.groupby("merchant_category_code"):
        if part["user_id"].nunique() < GROUP or not (isinstance(code, str) and len(code) == 4 and code.isdecimal()):
            continue
        row = {"code": code, "share": round(len(part) / len(frame), 4), "ticket": _quantiles(part["authorized_cents"])}
        descriptions = part["merchant_category"].dropna().str.strip().unique()
        if code not in CATEGORIES and len(descriptions) == 1 and descriptions[0].casefold() not in names:
            row["description"] = descriptions[0][:60]
        if code in CATEGORIES and CATEGORIES[code].spending in rates:
            row["points"] = rates[CATEGORIES[code].spending]
        rows.append(row)
    return sorted(rows, key=lambda row: -row["share"])


def _points(rewards: pd.DataFrame | None) -> dict[str, int]:
    """Return points per dollar by spending category, for categories with at least 20 rows."""
    if rewards is None:
        return {}
    earned = rewards[(rewards["type"] == "earned") & (rewards["transaction_amount_cents"] > 0)]
    rows = earned.assign(points=earned["points"].astype(float)).groupby("spend_category")
    sums = rows[["points", "transaction_amount_cents"]].sum()[rows.size() >= GROUP]
    return {str(name): round(100 * points / cents) for name, points, cents in sums.itertuples() if points >= 0}


def _declines(frame: pd.DataFrame) -> list[dict[str, Any]]:
    declined = frame[frame["status"] == "declined"]
    reasons = declined["declined_reason"].str.strip().str.lower().str.replace(" ", "_")
    rows = declined.groupby(reasons)["user_id"].agg(["size", "nunique"])
    rows = rows[(rows["nunique"] >= GROUP) & rows.index.isin([reason.value for reason in DeclineReason])]
    return [
        {"reason": str(reason), "share": round(float(size / rows["size"].sum()), 4)}
        for reason, size, _ in rows.itertuples()
    ]
