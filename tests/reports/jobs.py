"""Jobs of an analyst, each compared with plain SQL over raw deliveries, the sandbox's records, or separate paging.

    python -m tests.reports.jobs            runs every job in every case, and prints the table
    python -m tests.reports.jobs NAME …     runs the jobs whose title contains a name
    python -m tests.reports.jobs SCOPE …    runs the cases of some scopes
    python -m tests.reports.jobs … --write  also writes the results into comparisons.md; other results are unchanged

A case is a seed, a time zone and a scope: the complete log, a past moment, a partial log, rows in three currencies, a
frame after `merge` and `concat`, a log with missing members, an inbox, or a plain log. The log ends within a month, so its last month is running in every case.
"""

import sqlite3
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from functools import cache
from itertools import product
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import openpyxl
import pandas as pd

import workbench as wb
from tests.reports.raw_log import (
    BEGIN,
    PAST,
    database,
    first_day,
    is_running,
    milliseconds,
    play,
    with_currencies,
    with_gaps,
)
from workbench.base.errors import UsageError

SEEDS, ZONES = (1, 2, 3), ("UTC", "America/New_York")
SCOPES = {
    "complete": "",
    "past": "",
    "partial": "Without an authorization in the source",
    "currencies": " in EUR",
    "merged": "ompleteness unknown",
    "gaps": "",
    "inbox": "",
    "plain": "",
}
"""Scopes, each with a text that the notes of a report must contain because the report leaves out rows; empty: none."""
UNTIMED = ("inbox", "plain")
"""Scopes whose deliveries lack times of the sandbox's clock, so times of refunds differ. sources.py compares their periods."""
TIMED = [scope for scope in SCOPES if scope not in UNTIMED]
HEADING = "## Reports compared with other code\n"
INTRODUCTION = """{} jobs are compared with plain SQL over raw deliveries (SQLite), the sandbox's own records, or own paging:
for three seeds, in UTC and New York time, on the complete log, at a past moment, on a partial log, with rows in USD, EUR
and JPY, on a frame after `merge` and `concat`, on a log in which each member that may be missing is missing once
in each of two months, on the inbox of the session, and on a plain log without times of delivery (without the reports by the
times of refunds, of which "One history in many sources" has those). The log ends within a month. `python -m tests.reports.jobs --write`
runs all of them and writes this table. "caveat" means that the notes of the report list what its number leaves out, which
is checked too; an empty cell means that the case does not apply.
"""
ONE_ID: Any = {"refund_event_id": "transaction", "refund_event_created": False}
"""Behavior of a service whose refunds have the ids and times of the purchases, which plain SQL can join."""
PAGE = Path(__file__).with_name("comparisons.md")


class World(NamedTuple):
    """A sandbox after a hundred days, and its deliveries."""

    api: Any
    rows: list[dict[str, Any]]


@cache
def world(seed: int) -> World:
    api = wb.connect(seed=seed, behavior=ONE_ID)
    return World(api, play(api, seed))


class Case:
    """A world in one scope and time zone, as frames of the workbench and as tables for plain SQL."""

    def __init__(self, seed: int, tz: str, scope: str) -> None:
        self.seed, self.tz, self.scope, self.at = seed, tz, scope, PAST if scope == "past" else None
        self.api, rows = world(seed)
        if scope == "partial":
            rows = [row for row in rows if datetime.fromisoformat(row["at"]) >= BEGIN]
        changed = {"currencies": with_currencies, "gaps": with_gaps}.get(scope)
        self.rows = rows if changed is None else changed(rows)
        self.sql: sqlite3.Connection = database(self.rows, self.at)
        ids = {row["event"]["id"] for row in rows}
        source: list[Any] = self.rows
        if scope == "inbox":
            source = [event for event in self.api.inbox.stored() if event.event.id in ids]
        elif scope == "plain":
            source = [row["event"] for row in rows]
        self.all = wb.history(source).filter(tz=tz, at=self.at)
        self.transactions, self.postings = self.all.transactions(), self.all.postings()
        last = max(milliseconds(row["at"]) or 0 for row in rows)
        self.until = round(PAST.timestamp() * 1000) if self.at else last
        users = sorted(self.transactions["user_id"].dropna().unique())
        self.teams = {user: f"team {place % 2}" for place, user in enumerate(users)}
        if scope == "merged":
            self.transactions, self.postings = map(self._merged, (self.transactions, self.postings))
        self.of_any = wb.history(self.postings).filter(tz=tz)
        self.of_transactions, self.of_postings = (
            wb.history(frame).filter(tz=tz, currency="usd") for frame in (self.transactions, self.postings)
        )

    def _merged(self, frame: pd.DataFrame) -> pd.DataFrame:
        teams = pd.DataFrame({"user_id": [*self.teams], "team": [*self.teams.values()]})
        joined = frame.merge(teams, on="user_id")
        return pd.concat([joined, joined.iloc[3:40]], ignore_index=True)

    def equal(
        self, frame: pd.DataFrame, columns: str, query: str | Iterable[tuple[Any, ...]], *, caveat: str | None = None
    ) -> str:
        """Compare columns of a report with the rows of a query, in any order, and return the caveat of the report.

        Raises:
            AssertionError: The rows differ, or the notes lack the caveat of the scope.
        """
        shown = Counter(_rows(frame[columns.split()].itertuples(index=False, name=None)))
        expected = Counter(_rows(self.sql.execute(query.format(tz=self.tz)) if isinstance(query, str) else query))
        assert shown == expected, (
            f"only reported: {[*(shown - expected)][:4]}; only in SQL: {[*(expected - shown)][:4]}"
        )
        phrase = SCOPES[self.scope] if caveat is None else caveat
        notes = " ".join(frame.attrs.get("notes", ()))
        assert phrase in notes, f"no caveat with {phrase!r}: {notes}"
        return phrase

    def periods(self, frame: pd.DataFrame, name: str, freq: str) -> None:
        """Check that the report marks the periods that are not over."""
        for first, marked in zip(frame[name], frame["running"], strict=True):
            running = is_running(f"{first:%Y-%m-%d}", freq, self.tz, self.until)
            assert bool(marked) == running or (marked and self.scope in UNTIMED), (first, marked)


def _rows(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        yield tuple(_plain(value) for value in row)


def _plain(value: Any) -> Any:
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    if isinstance(value, pd.Timestamp):
        return value.date().isoformat() if value.tzinfo is None else round(value.timestamp() * 1000)
    if isinstance(value, float | Decimal):
        return round(float(value), 9)
    return value if isinstance(value, str) else int(value)


Job = Callable[[Case], str | None]
JOBS: dict[str, Job] = {}


def job(title: str, scopes: Iterable[str] = SCOPES) -> Callable[[Job], Job]:
    """Register a job for some scopes. The job returns the caveat of its report, or None in other scopes."""

    def register(function: Job) -> Job:
        JOBS[title] = lambda case: function(case) if case.scope in scopes else None
        return function

    return register


USD = "from t where lower(currency) = 'usd'"
PARTIES = "card_id user_id merchant_name merchant_category merchant_category_code"
NO_CAVEAT = {"currencies": "", "merged": ""}


@job("One row for each transaction", ["complete", "past", "partial", "currencies"])
def _(case: Case) -> str:
    amounts = "authorized_cents held_cents posted_cents refunded_cents net_cents"
    columns = f"transaction_id {PARTIES} currency status {amounts}"
    query = f"select {', '.join(columns.split())} from t"
    return case.equal(case.transactions, columns, query, caveat=NO_CAVEAT.get(case.scope))


@job("Times and reasons of transactions", ["complete", "past", "partial", "currencies"])
def _(case: Case) -> str:
    columns = "transaction_id authorized_at posted_at refunded_at local_amount_cents local_currency"
    query = "select transaction_id, authorized_at, posted_at, refunded_at, local_amount, local_currency from t"
    reasons = case.transactions.loc[case.transactions["status"] == "declined", ["transaction_id", "declined_reason"]]
    declined = "select transaction_id, reason from t where status = 'declined'"
    case.equal(reasons, "transaction_id declined_reason", declined, caveat="")
    return case.equal(case.transactions, columns, query, caveat=NO_CAVEAT.get(case.scope))


@job("Agree with the sandbox's own records", ["complete"])
def _(case: Case) -> str:
    begun = case.transactions[case.transactions["authorized_cents"].notna()]
    ids = set(begun["transaction_id"])
    records = [r for r in case.api.sandbox.records("transaction") if r["id"] in ids]
    rows = ((r["id"], r["settled"], r["refunded"], r["held"], r["authorized_at"]) for r in records)
    return case.equal(begun, "transaction_id posted_cents refunded_cents held_cents authorized_at", rows, caveat="")


@job("Open holds by card")
def _(case: Case) -> str:
    table = case.transactions.drop_duplicates("transaction_id")
    held = table[table["held_cents"] > 0].groupby(["card_id", "currency"])["held_cents"].sum().reset_index()
    query = "select card_id, currency, sum(held_cents) from t where held_cents > 0 group by 1, 2"
    return case.equal(held, "card_id currency held_cents", query, caveat="")


def _approvals(freq: str | None, by: str = "") -> Job:
    def run(case: Case) -> str:
        frame = case.of_transactions.approvals(by or (), freq=freq)
        name = {"Q-JAN": "quarter"}.get(freq or "", freq or "")
        keys = [*([f"first_day(authorized_at, '{freq}', '{{tz}}')"] if freq else []), *([by] if by else [])]
        declined = "sum(status = 'declined')"
        figures = f"count(*), count(*) - {declined}, {declined}, 1.0 - {declined} * 1.0 / count(*)"
        by_keys = f"and authorized_cents is not null group by {', '.join(keys)}"
        query = f"select {', '.join(keys)}, {figures} {USD} {by_keys}"
        if freq:
            case.periods(frame, name, freq)
        return case.equal(frame, f"{name} {by} authorizations approved declined rate", query)

    return run


for _freq in ("day", "week", "month", "quarter", "Q-JAN"):
    job(f"Approval rate by {_freq}")(_approvals(_freq))
job("Decline rate by category code")(_approvals(None, "merchant_category_code"))
job("Decline rate by merchant")(_approvals(None, "merchant_name"))
job("Decline rate by merchant and month")(_approvals("month", "merchant_name"))


def _declines(by: str, column: str) -> Job:
    def run(case: Case) -> str:
        frame = case.of_transactions.declines(by)
        of = f"{USD} and status = 'declined'"
        share = f"count(*) * 1.0 / (select count(*) {of})"
        query = f"select {column}, count(*), sum(authorized_cents), {share} {of} group by 1"
        return case.equal(frame, f"{'reason' if column == 'reason' else by} declined amount_cents share", query)

    return run


job("Declines by reason")(_declines("declined_reason", "reason"))
job("Declines by merchant")(_declines("merchant_name", "merchant_name"))


@job("From authorization to net spend")
def _(case: Case) -> str:
    of = f"{USD} and authorized_cents is not null"
    stages = {"requested": "authorized_cents", "approved": "case when status <> 'declined' then authorized_cents end"}
    stages |= {name: f"{name}_cents" for name in ("posted", "refunded", "net")}
    count = {"requested": "count(*)", "approved": "sum(status <> 'declined')"}
    rows = []
    for stage, amount in stages.items():
        counted = count.get(stage, f"sum({amount} > 0)")
        share = f"sum({amount}) * 1.0 / sum(authorized_cents)"
        rows += case.sql.execute(f"select '{stage}', {counted}, sum({amount}), {share} {of}")
    return case.equal(case.of_transactions.funnel(), "stage transactions amount_cents share", rows)


FIGURES = "transactions posted_cents refunded_cents net_cents"
SUMS = "count(*), sum(posted_cents), sum(refunded_cents), sum(net_cents)"
BY_MERCHANT = f"select merchant_name, {SUMS} {USD} and posted_cents + refunded_cents > 0 group by 1"


def _spend(by: str) -> Job:
    def run(case: Case) -> str:
        query = f"select {by}, {SUMS} {USD} and posted_cents + refunded_cents > 0 group by 1"
        frame = case.of_transactions.spend(by)
        return case.equal(frame, f"{by} {FIGURES}", query)

    return run


for _by in PARTIES.split():
    job(f"Spend by {_by.removesuffix('_id').replace('_', ' ')}")(_spend(_by))


@job("Spend by a column of your own", ["merged"])
def _(case: Case) -> str:
    case.sql.create_function("team", 1, case.teams.get)
    query = f"select team(user_id), {SUMS} {USD} and posted_cents + refunded_cents > 0 group by 1"
    return case.equal(case.of_transactions.spend("team"), f"team {FIGURES}", query)


MOVED = "count(distinct transaction_id), sum(posted), sum(refunded), sum(posted) - sum(refunded)"
MOVES = "from p where lower(currency) = 'usd' and posted + refunded > 0"


def _spend_by_period(freq: str, by: str = "") -> Job:
    def run(case: Case) -> str:
        name = {"Q-JAN": "quarter", "Y-JUN": "year"}.get(freq, freq)
        keys = ", ".join([f"first_day(at, '{freq}', '{{tz}}')", *([by] if by else [])])
        frame = case.of_postings.spend(by or (), freq=freq)
        case.periods(frame, name, freq)
        query = f"select {keys}, {MOVED} {MOVES} group by {keys}"
        return case.equal(frame, f"{name} {by} {FIGURES}", query)

    return run


for _freq in ("month", "quarter", "Q-JAN", "Y-JUN"):
    job(f"Spend by {_freq}, each refund in its own", TIMED)(_spend_by_period(_freq))
job("Spend by month and category", TIMED)(_spend_by_period("month", "merchant_category"))
job("Spend by week and card", TIMED)(_spend_by_period("week", "card_id"))


def _posting_times(by: str) -> Job:
    def run(case: Case) -> str:
        hours = defaultdict(list)
        query = f"select {by or 1}, (posted_at - authorized_at) / 3600000.0 from t where posted_at is not null"
        for group, hour in case.sql.execute(query):
            hours[group].append(hour)
        rows = []
        for group, values in hours.items():
            p90 = quantiles(values, n=10, method="inclusive")[8] if len(values) > 1 else values[0]
            rows.append((*([group] if by else []), len(values), median(values), p90, max(values)))
        frame = wb.history(case.transactions).posting_times(by or ())
        columns = f"{by} transactions median_hours p90_hours longest_hours"
        return case.equal(frame, columns, rows, caveat="" if case.scope == "currencies" else None)

    return run


job("Time from authorization to posting")(_posting_times(""))
job("Time to posting by category")(_posting_times("merchant_category"))


@job("Cohorts of users")
def _(case: Case) -> str:
    query = f"""
        with a as (select user_id, first_day(authorized_at, 'month', '{{tz}}') m, net_cents {USD}
                   and status <> 'declined' and authorized_cents is not null and user_id is not null),
             c as (select user_id, min(m) c from a group by 1)
        select c, m, count(distinct a.user_id), sum(net_cents),
               count(distinct a.user_id) * 1.0 / (select count(*) from c d where d.c = c.c)
        from a join c on c.user_id = a.user_id group by c, m"""
    rows = []
    for cohort, month, *figures in case.sql.execute(query.format(tz=case.tz)):
        later = (int(month[:4]) - int(cohort[:4])) * 12 + int(month[5:7]) - int(cohort[5:7])
        rows.append((cohort, later, *figures, is_running(month, "month", case.tz, case.until)))
    frame = case.of_transactions.cohorts()
    return case.equal(frame, "cohort month users net_cents share running", rows)


def _changes(month: str, by: str) -> Job:
    def run(case: Case) -> str:
        before = f"{month[:5]}{int(month[5:]) - 1:02}"
        local = datetime.fromtimestamp(case.until / 1000, ZoneInfo(case.tz)).replace(tzinfo=None)
        begin, earlier = (datetime.fromisoformat(f"{text}-01") for text in (month, before))
        sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for group, at, net in case.sql.execute(f"select {by}, at, posted - refunded {MOVES}"):
            moment = datetime.fromtimestamp(at / 1000, ZoneInfo(case.tz)).replace(tzinfo=None)
            if f"{moment:%Y-%m}" == month:
                sums[group][1] += net
            elif f"{moment:%Y-%m}" == before:
                within = f"{local:%Y-%m}" != month or moment - earlier <= local - begin
                sums[group][0] += net * within
                sums[group][1] += 0
        rows = [(group, was, now, now - was) for group, (was, now) in sums.items() if was or now]
        frame = case.of_postings.filter(month).changes(by)
        shown = frame[(frame["before_cents"] != 0) | (frame["now_cents"] != 0)]
        shown.attrs = frame.attrs
        return case.equal(shown, f"{by} before_cents now_cents change_cents", rows)

    return run


job("Largest changes of a closed month, by merchant", TIMED)(_changes("2026-02", "merchant_name"))
job("Largest changes of a month that may run, by merchant", TIMED)(_changes("2026-03", "merchant_name"))
EXCEPT_PAST = [scope for scope in TIMED if scope != "past"]
job("Changes of the last month, by category", EXCEPT_PAST)(_changes("2026-04", "merchant_category"))


@job("One row for each posting", ["complete", "past", "partial", "currencies"])
def _(case: Case) -> str:
    columns = "transaction_id event_id posting at held_cents posted_cents refunded_cents net_cents currency card_id"
    query = (
        "select transaction_id, id, posting, at, held, posted, refunded, posted - refunded, currency, card_id from p"
    )
    moved = case.postings[~case.postings["posting"].isin(["request", "decline"])]
    moved.attrs = case.postings.attrs
    return case.equal(moved, columns, query, caveat=NO_CAVEAT.get(case.scope))


ROLLED = "opening_cents authorized_cents released_cents settled_cents closing_cents"


def _roll_forward(freq: str, currency: str = "usd") -> Job:
    def run(case: Case) -> str:
        query = f"""select first_day(at, '{freq}', '{{tz}}'), sum(max(held, 0)),
            sum(case when posting <> 'settlement' then -min(held, 0) else 0 end),
            sum(case when posting = 'settlement' then -held else 0 end), sum(posted), sum(refunded)
            from p where lower(currency) = '{currency}' and transaction_id in (select tx from e where kind = 'created')
            group by 1 order by 1"""
        flows = case.sql.execute(query.format(tz=case.tz)).fetchall()
        early = f"""select first_day(at, '{freq}', '{{tz}}'), sum(posted), sum(refunded) from p
            where lower(currency) = '{currency}' and transaction_id not in (select tx from e where kind = 'created')
            group by 1"""
        others = {row[0]: row[1:] for row in case.sql.execute(early.format(tz=case.tz))}
        frame = case.of_any.filter(currency=currency).roll_forward(freq)
        closing, rows = 0, []
        known = {row[0]: row[1:] for row in flows}
        for first in frame[freq].dt.date.astype("str"):
            a, r, s, p, f = known.get(first, (0, 0, 0, 0, 0))
            extra = others.get(first, (0, 0))
            rows.append((first, closing, a, r, s, closing + a - r - s, p + extra[0], f + extra[1]))
            closing += a - r - s
        assert set(known) | set(others) <= {row[0] for row in rows}
        case.periods(frame, freq, freq)
        assert (frame["closing_cents"] >= 0).all()
        caveat = " in JPY" if case.scope == "currencies" else None
        return case.equal(frame, f"{freq} {ROLLED} posted_cents refunded_cents", rows, caveat=caveat)

    return run


job("Roll-forward of holds by month", TIMED)(_roll_forward("month"))
job("Roll-forward of holds by week", TIMED)(_roll_forward("week"))
job("Roll-forward of holds in EUR", ["currencies"])(_roll_forward("month", "eur"))


@job("Spend in EUR by merchant", ["currencies"])
def _(case: Case) -> str:
    frame = case.all.filter(currency="eur").spend("merchant_name")
    return case.equal(frame, f"merchant_name {FIGURES}", BY_MERCHANT.replace("usd", "eur"), caveat=" in JPY")


@job("Spend in JPY, exported in yen", ["currencies"])
def _(case: Case) -> str:
    with tempfile.TemporaryDirectory() as folder:
        wb.to_file(case.transactions[case.transactions["currency"] == "jpy"], Path(folder, "yen.csv"))
        read = pd.read_csv(Path(folder, "yen.csv"))
    name = next(column for column in read if str(column).startswith("net"))
    (total,) = case.sql.execute("select sum(net_cents) from t where currency = 'jpy'").fetchone()
    assert read[name].sum() == total, (name, read[name].sum(), total)
    return ""


@job("Export to XLSX, in dollars", ["complete", "partial"])
def _(case: Case) -> str:
    frame = case.of_transactions.spend("merchant_name")
    with tempfile.TemporaryDirectory() as folder:
        wb.to_file({"spend": frame}, Path(folder, "spend.xlsx"))
        sheet = openpyxl.load_workbook(Path(folder, "spend.xlsx"), read_only=False)["spend"]
    rows = [[cell.value for cell in row] for row in sheet.iter_rows()]
    head = next(place for place, row in enumerate(rows) if "Merchant name" in row)
    column = next(place for place, name in enumerate(rows[head]) if str(name).startswith("Net"))
    place = rows[head].index("Merchant name")
    shown = {row[place]: row[column] for row in rows[head + 1 :] if row[place] and isinstance(row[column], int | float)}
    scale = 100 if "USD" in str(rows[head][column]) else 1
    query = f"select merchant_name, sum(net_cents) {USD} and posted_cents + refunded_cents > 0 group by 1"
    names = set(frame["merchant_name"])
    assert {k: round(v * scale) for k, v in shown.items() if k in names} == dict(case.sql.execute(query))
    return ""


@job("Save as Parquet, and report on it")
def _(case: Case) -> str:
    with tempfile.TemporaryDirectory() as folder:
        wb.to_file(case.transactions, Path(folder, "t.parquet"))
        again = wb.read_table(Path(folder, "t.parquet"))
    return case.equal(
        wb.history(again).filter(currency="usd").spend("merchant_name"), f"merchant_name {FIGURES}", BY_MERCHANT
    )


@job("SQL over a frame, and a report on its result", ["complete", "past", "partial", "currencies"])
def _(case: Case) -> str:
    found = wb.sql("select * from mine where merchant_category_code <> '7011'", mine=case.transactions)
    query = BY_MERCHANT.replace("group by", "and merchant_category_code <> '7011' group by")
    return case.equal(
        wb.history(found).filter(currency="usd").spend("merchant_name"), f"merchant_name {FIGURES}", query
    )


@job("Everything implausible", ["complete", "past", "partial", "currencies"])
def _(case: Case) -> str:
    query = """
        select 'posted above authorized', transaction_id, posted_cents - authorized_cents from t
          where posted_cents > authorized_cents
        union all select 'refunded above posted', transaction_id, refunded_cents - posted_cents from t
          where posted_cents > 0 and refunded_cents > posted_cents
        union all select 'began before the first event', transaction_id, posted_cents from t
          where authorized_cents is null
        union all select 'settled twice', tx, amount
          from (select *, row_number() over (partition by tx order by n) place
            from e where kind = 'completed' and amount > 0) where place > 1"""
    frame = case.all.anomalies()
    return case.equal(frame, "anomaly transaction_id amount_cents", query, caveat="")


@job("Reconcile a ledger with planted breaks", ["complete", "partial", "currencies"])
def _(case: Case) -> str:
    booked = case.postings[case.postings["net_cents"] != 0].reset_index(drop=True)
    mine = booked[["transaction_id", "net_cents", "at", "currency"]].copy()
    once = mine["transaction_id"].map(mine["transaction_id"].value_counts()) == 1
    places = mine.index[once & (mine["net_cents"] > 500)][:5]
    mine.loc[places[0], "net_cents"] += 7
    mine.loc[places[1], "net_cents"] *= 100
    mine.loc[places[2], "at"] -= pd.Timedelta(days=62)
    mine = pd.concat([mine.drop(places[3]), mine.loc[[places[4]]]], ignore_index=True)
    found = case.all.reconcile(mine)
    planted = ["amount differs", "hundredfold", "late", "missing here", "doubled here"]
    rows = [(kind, booked["transaction_id"][place]) for kind, place in zip(planted, places, strict=True)]
    rest = Counter({booked["currency"][places[0]]: 7})
    rest[booked["currency"][places[1]]] += 99 * int(booked["net_cents"][places[1]])
    assert {code: cents for code, cents in found.attrs["unexplained"].items() if cents} == rest
    return case.equal(found, "break transaction_id", rows, caveat="")


@job("Every number of a report from its explanation", ["complete", "past", "partial", "currencies"])
def _(case: Case) -> str:
    for frame, columns in (
        (case.of_transactions.spend("merchant_name"), FIGURES),
        (case.of_postings.roll_forward(), ROLLED),
        (case.of_transactions.approvals(freq="month"), "authorizations approved declined"),
    ):
        for place, column in product(range(len(frame)), columns.split()):
            explained = case.all.explain(frame, column, place)
            assert explained.iloc[:, 0].sum() == frame[column].iloc[place], (place, column, explained)
    return ""


# Rewards: the pages are read with `list_rewards_activity`, and summed as Decimal.


@cache
def activity(seed: int) -> tuple[list[tuple[str, Any]], Any]:
    """Return the rewards of some users, read page by page here, and as `rewards.fetch` reads them."""
    api, items = world(seed).api, []
    users = [user["id"] for user in api.sandbox.guide()["rewards_users"] if not user["beyond_paging"]][:5]
    for user in users:
        for type_ in ("earned", "redeemed"):
            offset = 0
            while page := api.list_rewards_activity(user_id=user, type=type_, limit=50, offset=offset).items:
                items += [(user, item) for item in page]
                offset += len(page)
    unique = {item.id: (user, item) for user, item in items}
    return [*unique.values()], wb.rewards.fetch(api, users, progress=False).frame()


def _points(case: Case, until: datetime | None, name: str = "", on: str = "created_at") -> list[tuple[Any, ...]]:
    sums: dict[Any, list[Any]] = defaultdict(lambda: [Decimal(0), Decimal(0), Decimal(0), 0])
    for user, item in activity(case.seed)[0]:
        time = item.created_at if item.type == "redeemed" else getattr(item, on)
        if time is None or item.points is None or (until is not None and time >= until):
            continue
        row = sums[user if name == "user_id" else getattr(item, name) if name else ""]
        row[2 if item.type == "redeemed" else item.points < 0] += abs(item.points)
        row[3] += 1
    return [(*([key] if name else []), e, c, r, e - c - r, n) for key, (e, c, r, n) in sums.items()]


def _outstanding(by: str, on: str = "created_at") -> Job:
    def run(case: Case) -> str:
        at = PAST if case.scope == "past" else None
        choice: dict[str, Any] = {"by": by or None, "on": on}
        frame = wb.history(activity(case.seed)[1]).filter(at=at, tz=case.tz).points(**choice)
        return case.equal(frame, f"{by} earned clawed_back redeemed outstanding rows", _points(case, at, by, on))

    return run


TWO = ("complete", "past")
job("Points outstanding", TWO)(_outstanding(""))
job("Points outstanding by category", TWO)(_outstanding("spend_category"))
job("Points outstanding by user", TWO)(_outstanding("user_id"))
job("Points outstanding by the time of their minting", TWO)(_outstanding("", "minted_at"))


@job("Liability at month's end, partial with an opening balance", ["complete", "partial"])
def _(case: Case) -> str:
    items, frame = activity(case.seed)
    months: Counter[str] = Counter()
    first = first_day(milliseconds(BEGIN.isoformat()), "month", case.tz)
    opening = Decimal(0)
    for _, item in items:
        points = item.points if item.type == "earned" else -abs(item.points or 0)
        month = first_day(milliseconds(item.created_at and item.created_at.isoformat()), "month", case.tz)
        if points is None or month is None:
            continue
        if case.scope == "partial" and item.created_at < BEGIN:
            opening += points
        else:
            months[month] += points
    about: dict[str, Any] = {}
    if case.scope == "partial":
        users = sorted({user for user, _ in items})
        frame = wb.rewards.fetch(case.api, users, since=BEGIN, progress=False).frame()
        about = {"opening": opening}
        assert first is not None
        try:
            wb.history(frame).filter(tz=case.tz).liability()
        except UsageError:
            pass
        else:
            raise AssertionError("a balance of a part of the rows was not refused")
    found = wb.history(frame).filter(tz=case.tz).liability(**about)
    balance, rows = opening, []
    for month in found["month"].dt.date.astype("str"):
        rows.append((month, balance, balance + months[month]))
        balance += months[month]
    assert set(months) <= {month for month, *_ in rows}
    return case.equal(found, "month opening outstanding", rows, caveat="")


@job("Disputes by status and age, at a past moment", TWO)
def _(case: Case) -> str:
    moment = PAST if case.scope == "past" else datetime.fromisoformat("2026-06-30T00:00:00+00:00")
    records, at = case.api.sandbox.records("dispute"), moment.timestamp() * 1000
    counts: Counter[tuple[str, str]] = Counter()
    for record in records:
        if record["created_at"] > at:
            continue
        over = record["resolved_at"] is not None and record["resolved_at"] <= at
        known = over or record["status"] in ("pending", "inReview")
        days = ((record["resolved_at"] if over else at) - record["created_at"]) / 86_400_000
        low = max(bound for bound in (0, 7, 30, 60, 90) if days >= bound)
        high = {0: "6 days", 7: "29 days", 30: "59 days", 60: "89 days"}.get(low)
        counts[record["status"] if known else "unknown", f"{low} to {high}" if high else "90 days or more"] += 1
    frame = wb.history(records).filter(at=moment).disputes()
    return case.equal(frame, "status age disputes", [(*key, n) for key, n in counts.items()], caveat="")


@job("Collateral and credit by chain", ["complete"])
def _(case: Case) -> str:
    sums: dict[Any, list[Decimal]] = defaultdict(lambda: [Decimal(0), Decimal(0)])
    for contract in case.api.list_contracts():
        for token in contract.tokens or ():
            if None not in (token.balance, token.exchange_rate, token.advance_rate):
                value = Decimal(str(token.balance)) * Decimal(str(token.exchange_rate))
                sums[contract.chain_id][0] += value
                sums[contract.chain_id][1] += value * Decimal(str(token.advance_rate)) / 100
    frame = wb.history(case.api).contracts("chain_id")
    return case.equal(frame, "chain_id value_usd advance_usd", [(k, *v) for k, v in sums.items()])


@job("Events by day and kind", ["complete", "partial"])
def _(case: Case) -> str:
    events = wb.to_frame(case.rows)
    once = events.drop_duplicates("id")
    days = once["at"].dt.tz_convert(case.tz).dt.strftime("%Y-%m-%d")
    counted = once.groupby([days, "kind"]).size().rename("events").reset_index()
    query = "select first_day(at, 'day', '{tz}'), 'transaction.' || kind, count(*) from e group by 1, 2"
    return case.equal(counted, "at kind events", query, caveat="")


def run(title: str, cases: Iterable[Case]) -> dict[str, str]:
    """Return the result of a job for each scope: "right", "right, caveat", or the first difference."""
    results: dict[str, str] = {}
    for case in cases:
        try:
            caveat = JOBS[title](case)
        except Exception as error:  # noqa: BLE001 - a job that fails is a line of the table
            results[case.scope] = f"**wrong** (seed {case.seed}, {case.tz}): {type(error).__name__}: {str(error)[:700]}"
            continue
        if caveat is not None and "wrong" not in results.get(case.scope, ""):
            results[case.scope] = "right, caveat" if caveat else "right"
    return results


def main(arguments: list[str]) -> int:
    """Run jobs in all cases and print the table; return 1 if a number is wrong."""
    scopes = [scope for scope in SCOPES if scope in arguments] or [*SCOPES]
    names = [name for name in arguments if name not in ("--write", *SCOPES)]
    cases = [Case(*about) for about in product(SEEDS, ZONES, scopes)]
    table = {title: _written(title) for title in JOBS}
    failed = 0
    for title in JOBS:
        if names and not any(name in title for name in names):
            continue
        results = run(title, cases)
        failed += any("wrong" in result for result in results.values())
        table[title] |= {scope: results.get(scope, "") for scope in scopes}
        print(title, results, flush=True)
    print(f"{len(table)} jobs, {failed} wrong")
    if "--write" in arguments and not names:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(HEADING)
        after = rest[rest.index("\n## ") + 1 :] if "\n## " in rest else ""
        lines = [f"| Job | {' | '.join(SCOPES)} |", "|---|" + "---|" * len(SCOPES)]
        lines += [f"| {title} | {' | '.join(table[title].get(scope, '') for scope in SCOPES)} |" for title in JOBS]
        section = "\n".join([HEADING, INTRODUCTION.format(len(JOBS)), *lines, ""])
        PAGE.write_text("\n".join([before.rstrip(), "", section, after]).rstrip() + "\n", encoding="utf-8")
    return int(failed > 0)


def _written(title: str) -> dict[str, str]:
    """Return the stored results of a job in the page, by scope."""
    lines = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").partition(HEADING)[2].splitlines()]
    head = next(line for line in lines if line[0] == "| Job")
    row = next((line for line in lines if line[0] == f"| {title}"), [])
    cells = zip((name.strip(" |") for name in head[1:]), (cell.strip(" |") for cell in row[1:]), strict=False)
    return dict(cells)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
