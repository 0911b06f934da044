"""Points of rewards over time: how many are outstanding at a date, and at the end of each month."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.tables.decimals import EXACT, cumsum, decimal_series, decimals
from workbench.tables.frames import to_frame
from workbench.tables.periods import end_of_month, moment, steps
from workbench.tables.rows import TEXT

By = Literal["created_at", "posted_at", "minted_at"]
Group = Literal["user_id", "cohort", "spend_category", "merchant_name"]
REDEEMED = (
    "Redemptions count from created_at: they have no other time. Pending and failed travel redemptions are not listed."
)


def outstanding(
    rewards: Any, *, at: Any = None, by: By = "created_at", group: Group | None = None, tz: str = "UTC"
) -> pd.DataFrame:  # fmt: skip
    """Return the points that are outstanding at a date: earned until then, less redeemed until then.

    Args:
        rewards: The result of `rewards.read`, its frame, or items.
        at: The date or time; a date is its beginning in `tz`. By default after all rows.
        by: From when points count: "created_at", when their row was made; "posted_at", when the purchase posted;
            "minted_at", when they were minted, so that points on their way do not count.
        group: A column to group by, or "cohort": the month of a user's first row.
        tz: Time zone of dates and months.

    Returns:
        Columns named like `group` (if given), earned, redeemed, outstanding (decimals), rows (Int64).

    Raises:
        InvalidRequest: `at` is not a time.
        ValueError: `by` or `group` is not one of those allowed, or the frame does not have it.
    """
    until = moment(at, "at", tz)
    data, notes = _activity(rewards, by, group, tz)
    if until is not None:
        data = data[data["at"] < pd.Timestamp(until)]
    made = _sums(data, [group] if group else [])
    made["outstanding"] = decimal_series([e - r for e, r in zip(made["earned"], made["redeemed"], strict=True)])
    made = made[[*([group] if group else []), "earned", "redeemed", "outstanding", "rows"]]
    return _marked(made, rewards, "points_outstanding", notes, at=until and until.isoformat(), by=by, tz=tz)


def liability(
    rewards: Any, *, by: By = "created_at", usd_per_point: Decimal | None = None, tz: str = "UTC"
) -> pd.DataFrame:  # fmt: skip
    """Return the points outstanding at the end of each month, from the first row to the last.

    Args:
        rewards: The result of `rewards.read`, its frame, or items.
        by: From when points count; see `outstanding`.
        usd_per_point: What a point is worth, for a column `value`; the service does not state it.
        tz: Time zone of the months.

    Returns:
        Columns month (its first day), end (when it ends), earned, redeemed (in the month), outstanding (at its end), and
        value (USD) if `usd_per_point` is given; decimals.
    """
    data, notes = _activity(rewards, by, None, tz)
    data = data.assign(month=steps(data["at"], "month", tz))
    sums = _sums(data, ["month"]).set_index("month")[["earned", "redeemed"]]
    if len(sums):
        months = pd.date_range(sums.index.min(), sums.index.max(), freq="MS", unit="s")
        sums = sums.reindex(months).fillna(Decimal(0))  # type: ignore[arg-type]  # of decimals
    made = pd.DataFrame({"month": pd.Series(sums.index, dtype="datetime64[s]")})
    ends = [end_of_month(month, tz) for month in made["month"]]
    made["end"] = pd.Series(pd.to_datetime(ends, utc=True)).astype("datetime64[us, UTC]")
    made["earned"], made["redeemed"] = (decimal_series(decimals(sums[name])) for name in ("earned", "redeemed"))
    made["outstanding"] = cumsum(made["earned"] - made["redeemed"])
    if usd_per_point is not None:
        made["value"] = decimal_series([EXACT.multiply(points, usd_per_point) for points in made["outstanding"]])
    return _marked(made, rewards, "points_liability", notes, by=by, tz=tz)


def _activity(rewards: Any, by: str, group: str | None, tz: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows that count, each with when it counts from as `at`, and the notes."""
    frame = rewards if isinstance(rewards, pd.DataFrame) else to_frame(rewards, of="list_rewards_activity")
    if by not in {"created_at", "posted_at", "minted_at"}:
        raise ValueError("by must be created_at, posted_at or minted_at")
    needed = {"type", "points", "created_at", by, *({"user_id"} if group == "cohort" else {group} if group else ())}
    if missing := needed - set(frame):
        raise ValueError(f"the frame has no column {', '.join(sorted(missing))}")
    redeemed = (frame["type"] == "redeemed").to_numpy(dtype=bool, na_value=False)
    data = frame.assign(at=frame[by].where(~redeemed, frame["created_at"]), redeemed=redeemed)
    notes = [REDEEMED]
    if group == "cohort":
        first = data["created_at"].groupby(data["user_id"]).transform("min")
        data["cohort"] = steps(first, "month", tz)
    for name, column in ((by, "at"), ("points", "points")):
        known = data[data[column].notna()]
        notes += [f"{len(data) - len(known):,} rows without {name} are left out."] * (len(known) < len(data))
        data = known
    if negative := int((data["redeemed"] & (data["points"] < 0)).sum()):
        notes.append(f"{negative:,} redeemed rows have negative points; they are taken as redeemed too.")
    return data, [*notes, *frame.attrs.get("notes", ())]


def _sums(data: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return earned and redeemed points by keys, exactly."""
    points = pa.chunked_array(pa.array(data["points"])) if len(data) else pa.array([], pa.decimal128(18, 6))
    zero = pa.scalar(Decimal(0), points.type)
    redeemed = pa.array(data["redeemed"].to_numpy(dtype=bool))
    columns: dict[str, Any] = {
        "earned": pc.if_else(redeemed, zero, points), "redeemed": pc.if_else(redeemed, pc.abs(points), zero),
    }  # fmt: skip
    table = pa.table({**{key: pa.array(data[key]) for key in keys}, **columns})
    found = table.group_by(keys, use_threads=False).aggregate(
        [("earned", "sum"), ("redeemed", "sum"), ([], "count_all")]
    )
    if not keys and not len(data):
        found = pa.table({"earned_sum": [zero.as_py()], "redeemed_sum": [zero.as_py()], "count_all": [0]})
    made = pd.DataFrame({key: _key(found.column(key)) for key in keys})
    for name in ("earned", "redeemed"):
        made[name] = decimal_series(found.column(f"{name}_sum").to_pylist())
    made["rows"] = pd.array(found.column("count_all").to_pylist(), dtype="Int64")
    return made.sort_values(keys, ignore_index=True) if keys else made


def _key(column: Any) -> Any:
    if pa.types.is_timestamp(column.type):
        return pd.Series(column.to_pandas()).astype("datetime64[s]")
    return pd.array(column.cast(pa.large_string()).to_pylist(), dtype=TEXT)


def _marked(made: pd.DataFrame, rewards: Any, kind: str, notes: list[str], **more: Any) -> pd.DataFrame:
    source: Mapping[Any, Any] = getattr(rewards, "attrs", {"kind": kind})
    complete = getattr(rewards, "complete", source.get("complete"))
    if "kind" in source:
        made.attrs.update(kind=kind, notes=notes, revealed=[], unknown={}, **more)
    if complete is not None:
        made.attrs["complete"] = complete
    return made
