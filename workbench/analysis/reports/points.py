"""Reports of points outstanding, at a time and at the end of each month: earned minus clawed back and redeemed."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import attrs
import pandas as pd

from workbench.analysis.reports.facts import mask
from workbench.analysis.reports.measures import Measure, Rows, caveats_of, report, sums
from workbench.analysis.reports.sources import Left
from workbench.analysis.reports.view import View
from workbench.analysis.rewards.reading import fetch
from workbench.analysis.tables.frames import to_frame
from workbench.analysis.tables.periods import end_of, steps
from workbench.analysis.tables.rows import EXACT, REPEATED, decimal_series, mark_report, once
from workbench.base.errors import UsageError, not_allowed
from workbench.client.session import sandbox_of

FLOWS = ("earned", "clawed_back", "redeemed")
_TIMES = ("created_at", "posted_at", "minted_at")
_IN = sums(*FLOWS)


class PointReports(View):
    """Reports of reward points."""

    def points(self, by: str | None = None, *, on: str = "created_at", opening: Decimal | None = None) -> pd.DataFrame:
        """Return the points outstanding at the filter's time: earned minus clawed back and redeemed points.

        Args:
            by: A column to group by, or "cohort": the month of a user's first row.
            on: The time at which points begin to count: "created_at", "posted_at" (of the purchase), or "minted_at".
            opening: Points outstanding before the first row. Required if earlier rows were not read.

        Returns:
            Columns: the group (named after `by`), earned, clawed_back, redeemed, outstanding (decimals), rows (Int64).
            `clawed_back` is the sum of the negative earned rows, without its sign. Redemptions count from `created_at`.
            The service reports no expiry of points.

        Raises:
            UsageError: Only a part of the rows was read and `opening` is not given, or a value is not allowed.
        """
        rewards = rewards_of(self.source)
        at, tz = self.scope.at, self.scope.tz
        data, marks = _activity(rewards, on, by, tz)
        before = _opening(rewards, opening, at)
        if by and before:
            raise UsageError("opening applies to all points; do not combine it with by", of="history.points")
        data = data if at is None else data[mask(data["at"] < pd.Timestamp(at))]
        data = _with_opening(data, before)
        measures = (*_IN, Measure("outstanding", "change"), Measure("rows", "counted"))
        frame = report(Rows(data, {by: data[by]} if by else {}, data), measures, tz=tz)
        return mark_report(frame, "points_outstanding", **marks, at=at and at.isoformat(), on=on, tz=tz)

    def liability(
        self, *, on: str = "created_at", usd_per_point: Decimal | None = None, opening: Decimal | None = None
    ) -> pd.DataFrame:
        """Return the points outstanding at the end of each month, from the first row's month to the last row's month.

        Args:
            on: The time at which points begin to count; see `points`.
            usd_per_point: Value of a point in USD, which adds the column `value_usd`. The service does not state this
                value.
            opening: Points outstanding before the first row. Required if earlier rows were not read.

        Returns:
            Columns month (its first day), end (when it ends), opening, earned, clawed_back, redeemed (in the month),
            outstanding (at its end, which is the opening of the next month), and value_usd if `usd_per_point` is given
            (all decimals), and running (boolean: the month is incomplete).

        Raises:
            UsageError: Only a part of the rows was read, and `opening` is not given.
        """
        rewards = rewards_of(self.source)
        data, marks = _activity(rewards, on, None, self.scope.tz)
        before = _opening(rewards, opening, None)
        until = _end_of_read(rewards, data)
        if self.scope.at is not None:
            data, until = data[mask(data["at"] < pd.Timestamp(self.scope.at))], self.scope.at
        month = steps(data["at"], "month", self.scope.tz)
        if before and len(data):  # the opening balance is a row in the month before the first month
            data = _with_opening(data, before)
            month = pd.concat([pd.Series([month.min() - pd.DateOffset(months=1)]), month], ignore_index=True)
            month = month.astype("datetime64[s]")
        measures = (Measure("opening", "change", span="before"), *_IN, Measure("outstanding", "change", span="through"))
        rows = Rows(data, {"month": month.rename("month")}, data)
        frame = report(rows, measures, freq="month", tz=self.scope.tz, until=until, every=True)
        if before and len(data):
            frame = frame.iloc[1:].reset_index(drop=True)
        ends = [end_of(first, "month", self.scope.tz) for first in frame["month"]]
        frame.insert(1, "end", pd.Series(pd.to_datetime(ends, utc=True)).astype("datetime64[us, UTC]"))
        if usd_per_point is not None:
            values = [EXACT.multiply(Decimal(str(points)), usd_per_point) for points in frame["outstanding"]]
            frame.insert(len(frame.columns) - 1, "value_usd", decimal_series(values))
        frame = frame[self.scope.has(frame["month"])].reset_index(drop=True)
        return mark_report(frame, "points_liability", **marks, on=on, tz=self.scope.tz)


def rewards_of(source: Any) -> Any:
    """Return the rewards activity in a source: a frame, a read, items, or a session with a sandbox."""
    if (sandbox := sandbox_of(source)) is not None:
        return fetch(source, sandbox.guide()["rewards_users"], progress=False)
    return source


def _with_opening(data: pd.DataFrame, before: Decimal) -> pd.DataFrame:
    """Return the rows, preceded by a row with the points that were outstanding before them."""
    if not before:
        return data
    row = pd.DataFrame({"reason": ["opening balance"]}).reindex(columns=data.columns)
    row = row.assign(
        change=decimal_series([before]), counted=0, **{name: decimal_series([Decimal(0)]) for name in FLOWS}
    )
    return pd.concat([row.astype(dict(data.dtypes)), data], ignore_index=True)


def _end_of_read(rewards: object, data: pd.DataFrame) -> datetime | None:
    """Return the time up to which rows were read: the end of the read's filter, or the time of the last row."""
    if end := _filters(rewards).get("until"):
        return datetime.fromisoformat(str(end))
    last = data["created_at"].max()
    return None if pd.isna(last) else last.to_pydatetime()


def _filters(rewards: object) -> dict[str, Any]:
    filters: dict[str, Any] = (
        rewards.attrs.get("filters", {}) if isinstance(rewards, pd.DataFrame) else getattr(rewards, "filters", {})
    )
    return filters


def _opening(rewards: object, opening: Decimal | None, until: datetime | None) -> Decimal:
    """Return the balance before the first row. Raise UsageError if a partial read has no opening balance."""
    filters = _filters(rewards)
    if filters.get("type") is not None:
        raise UsageError(f"a read of {filters['type']} rows alone has no balance; read both types", of="history")
    end = filters.get("until")
    if end is not None and until is not None and until > datetime.fromisoformat(end):
        raise UsageError(
            f"only rows until {end} were read, so the balance at {until.isoformat()} is unknown", of="history"
        )
    if filters.get("since") is not None and opening is None:
        raise UsageError(
            f"rows were read from {filters['since']} on, so the earlier balance is unknown: pass opening=, the "
            "points outstanding then, or read all rows",
            of="history",
        )
    return Decimal(0) if opening is None else opening


def _activity(rewards: object, on: str, by: str | None, tz: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the rewards rows of a report with their time as `at`, and the attributes of the report, such as notes."""
    frame = rewards if isinstance(rewards, pd.DataFrame) else to_frame(rewards, of="list_rewards_activity")
    if on not in _TIMES:
        raise UsageError([not_allowed("on", on, _TIMES)])
    needed = {"type", "points", "created_at", on, *({"user_id"} if by == "cohort" else {by} if by else ())}
    if missing := needed - set(frame):
        raise UsageError(f"the frame has no column {', '.join(sorted(missing))}")
    about = frame.attrs
    frame, repeated = once(frame, "points")
    left, notes = [Left("", repeated, REPEATED)], []
    redeemed = (frame["type"] == "redeemed").to_numpy(dtype=bool, na_value=False)
    data = frame.assign(at=frame[on].where(~redeemed, frame["created_at"]), redeemed=redeemed)
    if (read := getattr(about.get("read"), "missing", None)) is not None and (missing_rows := read(frame)) > 0:
        notes.append(
            f"{missing_rows:,} earlier rows of these users were read but are not in this frame, so balances lack them."
        )
    if by == "cohort":
        first = data["created_at"].groupby(data["user_id"]).transform("min")
        data["cohort"] = steps(first, "month", tz)
    for name, column in ((on, "at"), ("points", "points")):
        unknown = mask(data[column].isna())
        left.append(Left(f"without {name}", data[unknown]))
        data = data[~unknown]
    negative = data[mask(data["redeemed"] & (data["points"] < 0))]
    left.append(Left("", negative, "Redeemed rows with negative points: {count:,}{amounts}; they count as redeemed."))
    sentences, entries = caveats_of((attrs.evolve(part, rows=part.rows[["points"]]) for part in left), "rows")
    marks = {"notes": [*notes, *sentences, *about.get("notes", ())], "source": rewards, "left_out": entries}
    return _flows(data).reset_index(drop=True), marks


def _flows(data: pd.DataFrame) -> pd.DataFrame:
    """Add columns with each row's contribution to earned, clawed back and redeemed points, and to the balance."""
    points, redeemed = data["points"], data["redeemed"].astype(bool)
    earned, none = (points > 0).fillna(False).astype(bool), Decimal(0)
    return data.assign(
        earned=points.where(~redeemed & earned, none),
        clawed_back=(-points).where(~redeemed & ~earned, none),
        redeemed=points.abs().where(redeemed, none),
        change=points.where(~redeemed, -points.abs()),
        counted=pd.array([1] * len(data), dtype="Int64"),
    )
