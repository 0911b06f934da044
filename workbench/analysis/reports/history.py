"""A history of card transactions from any source, with one filter and one method for each report."""

from typing import Any

import attrs
import numpy as np
import pandas as pd

from workbench.analysis.reports.closing import Closes
from workbench.analysis.reports.data_checks import Anomalies
from workbench.analysis.reports.explanations import Explanations
from workbench.analysis.reports.facts import NUMBER, POSTINGS, mask, whole
from workbench.analysis.reports.filters import Filter
from workbench.analysis.reports.measures import Measure, Rows, Share, columns_of, sums
from workbench.analysis.reports.points import PointReports
from workbench.analysis.reports.record_reports import RecordReports
from workbench.analysis.reports.source_columns import OWN
from workbench.analysis.reports.sources import Left, is_other
from workbench.analysis.reports.view import UNKNOWN_AMOUNT, Columns
from workbench.analysis.tables.periods import Every, period_before, period_name, running, zone
from workbench.analysis.tables.rows import TEXT
from workbench.base.errors import UsageError

_SPEND = (
    Measure("transactions", NUMBER, "distinct"),
    *sums("posted_cents", "refunded_cents", "net_cents"),
)
_APPROVALS = (
    Measure("authorizations"),
    Measure("approved", "is_approved"),
    Measure("declined", "is_declined"),
    Share("rate", "approved", "authorizations"),
)
_DECLINES = (
    Measure("declined"),
    Measure("amount_cents", "authorized_cents"),
    Share("share", "declined", "declined", at=None),
)
_FUNNEL = (
    Measure("transactions", "is_in"),
    Measure("amount_cents", "amount_cents"),
    Share("share", "amount_cents", "amount_cents", at={"stage": "requested"}),
)
_POSTING_TIMES = (
    Measure("transactions"),
    *(
        Measure(name, "hours", how)
        for name, how in (("median_hours", "median"), ("p90_hours", "p90"), ("longest_hours", "max"))
    ),
)
_COHORTS = (
    Measure("users", "user_id", "distinct"),
    Share("share", "users", "users", at={"month": 0}),
    Measure("net_cents", "net_cents"),
)
_CHANGES = sums("before_cents", "now_cents", "change_cents")
_ROLL_FORWARD = (
    Measure("opening_cents", "held_cents", span="before"),
    *sums("authorized_cents", "released_cents", "settled_cents"),
    Measure("closing_cents", "held_cents", span="through"),
    *sums("posted_cents", "refunded_cents", "net_cents"),
)
_MOVED = frozenset({NUMBER, "currency", "at", "earliest", "latest", "posted_cents", "refunded_cents", "net_cents"})
"""Columns of facts that `spend` reads in addition to its groups."""
_STAGES = ("requested", "approved", "posted", "refunded", "net")


def _is_refund(table: pd.DataFrame) -> Any:
    """Return a mask of the transactions that consist of a refund alone."""
    return mask((table["authorized_cents"] == 0) & (table["refunds"] > 0) & (table["settlements"] == 0))


def history(source: object) -> "History":
    """Return the history of card transactions from a session, log, frame or other source. Its methods are the reports.

    Args:
        source: A session, a sandbox, an inbox, a log (`events.read_log`, a file, or a folder of overlapping files),
            events, payloads or deliveries in a list, a sandbox's stored records, or a frame of events, postings or
            transactions, which may have been saved as CSV, XLSX or Parquet. Rewards, contracts and disputes are sources
            too, for their own reports.

    Raises:
        UsageError: The source has no card transactions.
    """
    opened = source if isinstance(source, History) else History(source)
    if not is_other(opened.source):
        _ = opened.reading  # an unusable source raises its error here, not in the first report
    return opened


class History(RecordReports, PointReports, Anomalies, Explanations, Closes):
    """Card transactions from one source: what happened, when, by which clock, and how far the source reaches."""

    def postings(self) -> pd.DataFrame:
        """Return the postings, one row for each request, decline, hold, increase, release, settlement and refund.

        A refund counts in the period in which it was made, so a later event never changes an earlier period. Duplicate
        events count once.

        Returns:
            Columns transaction_id, event_id, posting, at, known_at, clock ("event", "delivery" or "arrival"), earliest
            and latest (bounds, if `at` is missing), requested_cents, held_cents, posted_cents, refunded_cents,
            net_cents (Int64; the changes that the row makes, in the minor unit of `currency`), card, user, merchant,
            declined_reason, local_amount_cents, local_currency, authorized_at, and your own columns. A settlement below
            its hold has a second row that releases the difference. `held_cents` is missing if the hold is not in the
            source.
        """
        rows, left, _ = self._rows(self.facts, "at")
        table = self._own(rows.sort_values(["at", "posting"], kind="stable", na_position="last", ignore_index=True))
        unheld = rows.loc[mask(rows["held_cents"].isna()), ["currency"]]
        begun = Left("with a hold that began before the source", unheld)
        return self._marked(table, "postings", [*left, begun], "postings", currency=self._currency_of(rows))

    def transactions(self) -> pd.DataFrame:
        """Return one row per card transaction with its amounts, card, user, merchant, status and times.

        Cents are the minor unit of the row's `currency`. The yen has no minor unit, so an amount in JPY is in yen.

        Returns:
            Columns transaction_id, card_id, user_id, merchant_name, merchant_category, merchant_category_code,
            currency, status (requested, authorized, reversed, declined, settled or refunded), declined_reason,
            authorized_cents (requested), held_cents (open hold), posted_cents, refunded_cents, net_cents (Int64),
            local_amount_cents (in `local_currency`, the merchant's), increases, settlements, refunds (counts),
            authorized_at, updated_at, posted_at, refunded_at, and your own columns. `authorized_cents` is missing if
            the request is not in the source.
        """
        rows, left, _ = self._rows(self._folded, "authorized_at")
        untimed = mask(rows["refunded_cents"] > 0) & mask(rows["refunded_at"].isna())
        refunded = rows.loc[untimed, ["currency", "refunded_cents"]]
        left.append(Left("", refunded, "Refunded transactions without a refund time: {count:,}{amounts}."))
        table = self._own(rows.reset_index(drop=True))
        return self._marked(table, "transactions", left, currency=self._currency_of(rows))

    def spend(self, by: Columns | None = None, *, freq: Every | None = None) -> pd.DataFrame:
        """Return posted, refunded and net amounts by merchant, category, card, user or period, largest net first.

        Each settlement and refund counts in the period in which it occurs.

        Args:
            by: One or more columns, including your own. The default is merchant_category, or no column with `freq`.
            freq: Period such as "month", "quarter" or a fiscal "Q-JAN". Rows are then in chronological order.

        Returns:
            Columns: the groups, currency (if there are several), transactions, posted_cents, refunded_cents, net_cents
            (Int64), and, with `freq`, running (boolean: the period is incomplete).
        """
        groups = columns_of(by if by is not None else () if freq else "merchant_category")
        facts = self.facts
        is_moved = ~mask((facts["posted_cents"] == 0) & (facts["refunded_cents"] == 0))
        moved = facts.loc[is_moved, [name for name in facts if name in _MOVED or str(name).removeprefix(OWN) in groups]]
        moved, left, period = self._rows(moved, "at", freq)
        unknown = mask(moved["posted_cents"].isna())
        left.append(Left(UNKNOWN_AMOUNT, moved[unknown]))
        moved = moved[~unknown]
        keys = self._keys(moved, groups, period, _SPEND, "history.spend")
        rows = Rows(moved, keys, facts, moved.index.to_numpy())
        options = {} if freq else {"largest": "net_cents"}
        return self._report("spend", rows, _SPEND, left, "postings", freq, by=groups, **options)

    def _begun(
        self, freq: Every | None = None, scope: Filter | None = None, table: pd.DataFrame | None = None
    ) -> tuple[pd.DataFrame, list[Left], Any]:
        """Return the transactions whose request is in the source. Only they count in rates."""
        rows, left, period = self._rows(self._folded if table is None else table, "authorized_at", freq, scope)
        begun = mask(rows["authorized_cents"].notna())
        left.append(Left("without a request in the source", rows[~begun]))
        return rows[begun], left, period

    def _asked(self, freq: Every | None = None) -> tuple[pd.DataFrame, list[Left], Any]:
        """Return the authorizations: transactions with a request in the source. Separate refunds are left out."""
        rows, left, period = self._begun(freq)
        return rows[~_is_refund(rows)], left, period

    def approvals(self, by: Columns = (), *, freq: Every | None = "day") -> pd.DataFrame:
        """Count approved and declined authorizations by period and other columns.

        Args:
            by: One or more columns to group by, such as "merchant_category_code".
            freq: "day", "week", "month", "quarter", "year", a fiscal "Q-JAN" or "Y-JUN", or None for a single total
                over all times.

        Returns:
            Columns: the first day of the period (named after `freq`), the columns of `by`, authorizations, approved,
            declined (Int64), rate (Float64, approved divided by all), and running (boolean: the period was not over
            when the data end; only with `freq`).
        """
        table, left, period = self._asked(freq)
        declined = (table["status"] == "declined").astype("Int64")
        keys = self._keys(table, by, period, _APPROVALS, "history.approvals")
        values = pd.DataFrame({"is_declined": declined, "is_approved": 1 - declined})
        return self._report("approvals", Rows(values, keys, table), _APPROVALS, left, "authorizations", freq)

    def declines(self, by: Columns = "declined_reason") -> pd.DataFrame:
        """Return declined authorizations by reason or by other columns, most frequent first.

        Args:
            by: One or more columns to group by; `approvals(by=…)` has the decline rate of each group.

        Returns:
            Columns: the groups (`reason` for "declined_reason"), currency (if there are several), declined,
            amount_cents (Int64), share (Float64, of all declined).
        """
        table, left, _ = self._begun(table=self._folded[mask(self._folded["status"] == "declined")])
        keys = self._keys(table, by, None, _DECLINES, "history.declines")
        keys = {"reason" if name == "declined_reason" else name: values for name, values in keys.items()}
        rows = Rows(table, keys, table)
        return self._report("declines", rows, _DECLINES, left, "authorizations", largest="declined")

    def funnel(self) -> pd.DataFrame:
        """Return the funnel of the amounts requested, approved, posted and refunded, and the net amount.

        Returns:
            Columns stage, currency (if there are several), transactions, amount_cents (Int64), share (Float64, of the
            requested amount).
        """
        table, left, _ = self._begun()
        count, stages = len(table), len(_STAGES)
        requested = whole(table["authorized_cents"])
        asked = ~_is_refund(table)
        approved = asked & mask(table["status"] != "declined")
        amounts = [requested, np.where(approved, requested, 0)]
        amounts += [whole(table[f"{name}_cents"]) for name in _STAGES[2:]]
        is_in = [asked, approved, *(cents > 0 for cents in amounts[2:])]
        places, codes = np.tile(np.arange(count), stages), np.repeat(np.arange(stages), count)
        values = pd.DataFrame({"amount_cents": np.concatenate(amounts), "is_in": np.concatenate(is_in)})
        values["currency"] = table["currency"].array.take(places)
        values["stage"] = pd.Categorical.from_codes(codes, categories=pd.Index(_STAGES))
        values["is_in"] = values["is_in"].astype("int64")
        keys = {"stage": values["stage"], **self._keys(values, (), None, _FUNNEL, "history.funnel")}
        rows = Rows(values, keys, table, places)
        frame = self._report("spend_funnel", rows, _FUNNEL, left)
        frame["stage"] = frame["stage"].astype(TEXT)
        if not count:
            frame = frame.reindex(range(stages)).fillna({"transactions": 0, "amount_cents": 0})
            frame["stage"] = pd.array(_STAGES, dtype=TEXT)
        return frame

    def posting_times(self, by: Columns = ()) -> pd.DataFrame:
        """Return the time from authorization to posting, for all transactions or by one or more columns.

        Returns:
            Columns: the groups (if `by` is given), transactions (Int64), and median_hours, p90_hours, longest_hours
            (Float64).
        """
        table, left, _ = self._rows(self._folded, "posted_at")
        timed = mask(table["posted_at"].notna() & table["authorized_at"].notna())
        settled = mask(table["settlements"] > 0)
        left.append(Left("without a time", table[~timed & settled]))
        table = table[timed]
        hours = (table["posted_at"] - table["authorized_at"]).dt.total_seconds() / 3_600
        keys = self._keys(table, by, None, _POSTING_TIMES, "history.posting_times")
        rows = Rows(pd.DataFrame({"hours": hours}), keys, table.assign(hours=hours))
        return self._report("posting_times", rows, _POSTING_TIMES, left)

    def cohorts(self) -> pd.DataFrame:
        """Return cohorts of users by month of their first approved authorization, and their activity in later months.

        A filter with a period keeps the cohorts that begin in the period.

        Returns:
            Columns cohort (first day of the month), month (0 for the first month, Int64), users (Int64: active in the
            month), share (Float64, of the cohort), net_cents (Int64, net amount of transactions authorized in the
            month), and running (boolean: the month is incomplete).
        """
        table, left, period = self._begun("month", attrs.evolve(self.scope, since=None))
        table = table[mask(table["status"] != "declined")]
        number = period[table.index].to_numpy().astype("datetime64[M]").astype("int64")
        asked = ~_is_refund(table)
        first_month = pd.Series(number).where(asked).groupby(table["user_id"].array).transform("min")
        without = mask(table["user_id"].isna()) | mask(first_month.isna())
        cohort = first_month.fillna(0).to_numpy("int64")
        left.append(Left("without an authorization of a known user", table[without]))
        active = table.assign(user_id=table["user_id"].where(asked))
        first = pd.Series(cohort.astype("datetime64[M]").astype("datetime64[s]"), index=table.index)
        month = pd.Series(pd.array(number - cohort, dtype="Int64"), index=table.index)
        chosen = ~without & self.scope.has(first)
        table, active = table[chosen], active[chosen]
        keys = {"cohort": first[chosen], "month": month[chosen]}
        keys |= self._keys(table, (), None, _COHORTS, "history.cohorts")
        frame = self._report("cohorts", Rows(active, keys, active), _COHORTS, left)
        later = (frame["cohort"].to_numpy().astype("datetime64[M]") + frame["month"].to_numpy("int64")).astype(
            "datetime64[s]"
        )
        frame["running"] = running(pd.Series(later), "month", self.scope.tz, self.until)
        return frame

    def changes(self, by: Columns = "merchant_name") -> pd.DataFrame:
        """Return the change in net spend from one period to the next, by merchant, card or other columns.

        The period comes from the filter (default: the last month of the data) and is compared with the previous period.
        An incomplete period is compared with the same part of the previous period.

        Args:
            by: One or more columns to group by.

        Returns:
            Columns: the groups, currency (if there are several), before_cents, now_cents, change_cents (Int64, posted
            minus refunded).
        """
        scope = self.scope
        if scope.since is None:
            last = self.facts["at"].max()
            local = pd.Timestamp.now("UTC") if pd.isna(last) else last.tz_convert(zone(scope.tz))
            scope = scope.changed(f"{local:%Y-%m}", None, None, None)
        since, end = scope.ends
        if self.until is not None and since > self.until:
            raise UsageError(f"{scope.period} has not begun: the data end {self.until:%Y-%m-%d}", of="history.changes")
        start = pd.Timestamp(period_before(scope.given, scope.tz))
        moved = self.facts[mask(self.facts["net_cents"] != 0)]
        table, left, _ = self._rows(moved, "at", scope=attrs.evolve(scope, since=start.to_pydatetime()))
        first, last = table["at"].fillna(table["earliest"]), table["at"].fillna(table["latest"])
        is_now, is_before = mask(first >= since), mask(last < since)
        left.append(Left("with an unknown period", table[~is_now & ~is_before]))
        notes: list[str] = []
        until = None if self.until is None else pd.Timestamp(self.until)
        is_running = until is not None and until < end
        if until is not None and is_running:
            local_zone = zone(scope.tz)
            naive = [moment.tz_convert(local_zone).tz_localize(None) for moment in (until, since, start)]
            same_part = naive[2] + max(naive[0] - naive[1], pd.Timedelta(0))
            same = same_part.tz_localize(local_zone, ambiguous=True, nonexistent="shift_forward")
            is_before = is_before & mask(last <= same)
            notes.append(
                f"{scope.period} is running: compared with the same part of the previous period, until "
                f"{same:%d %B %H:%M}."
            )
        chosen = is_now | is_before
        table = table[chosen]
        net, now = table["net_cents"], pd.Series(is_now[chosen], index=table.index)
        values = pd.DataFrame({"now_cents": net.where(now, 0), "before_cents": net.where(~now, 0)})
        values["change_cents"] = values["now_cents"] - values["before_cents"]
        keys = self._keys(table, by, None, _CHANGES, "history.changes")
        values["currency"] = table["currency"]
        frame = self._report("monthly_changes", Rows(values, keys, table), _CHANGES, left, "postings", notes=notes)
        order = (-frame["change_cents"].abs()).argsort(kind="stable")
        about = frame.attrs
        frame = frame.iloc[order].reset_index(drop=True)
        frame.attrs = about | {"month": scope.period, "running": is_running, "by": columns_of(by)}
        return frame

    def roll_forward(self, freq: Every = "month") -> pd.DataFrame:
        """Roll open holds and posted amounts forward: opening balance, changes and closing balance of each period.

        Opening + authorized - released - settled = closing, to the cent, and each opening balance equals the previous
        closing balance. Expired holds count as released. Later events never change an earlier row.

        Args:
            freq: "day", "week", "month", "quarter", "year", or a fiscal "Q-JAN", "Y-JUN".

        Returns:
            Columns: the first day of the period (named after `freq`), currency (if there are several), opening_cents,
            authorized_cents, released_cents, settled_cents, closing_cents (of holds), posted_cents, refunded_cents,
            net_cents (in the period; Int64), and running (boolean: the period is incomplete).
        """
        is_money = ~mask(self.facts["posting"].isin(POSTINGS[:2]))
        columns = [name for name in self.facts if name in {*_MOVED, "posting", "requested_cents", "held_cents"}]
        facts, left, period = self._rows(
            self.facts.loc[is_money, columns], "at", freq, attrs.evolve(self.scope, since=None)
        )
        begun = mask(facts["held_cents"].isna())
        left.append(Left("with a hold that began before the source", facts.loc[begun, ["currency"]]))
        held, is_settlement = whole(facts["held_cents"]), mask(facts["posting"] == "settlement")
        amounts = {
            "held_cents": held,
            "authorized_cents": held.clip(0),
            "released_cents": np.where(is_settlement, 0, -held.clip(max=0)),
            "settled_cents": np.where(is_settlement, -held, 0),
        }
        values = facts.assign(**{name: pd.array(cents, dtype="Int64") for name, cents in amounts.items()})
        keys = self._keys(facts, (), period, _ROLL_FORWARD, "history.roll_forward")
        rows = Rows(values, keys, self.facts, values.index.to_numpy())
        frame = self._report("roll_forward", rows, _ROLL_FORWARD, left, "postings", freq, every=True)
        if frame.empty:
            return frame
        shown: pd.DataFrame = frame[self.scope.has(frame[period_name(freq)])].reset_index(drop=True)
        shown.attrs = frame.attrs
        return shown
