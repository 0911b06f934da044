"""Properties of a history: equal numbers from every source, and stated amounts for everything that is left out."""

import functools
import json
import random
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.each import across
from tests.reports.sources import REPORTS, Sources, sums, verdicts
from tests.reports.test_scope import START, bought, event
from workbench.analysis.tables.event_frames import UNREAD_TIME
from workbench.base.errors import UsageError

ALLOWED = {"same", "stated"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: Any) -> Sources:
    """Return the sources of a short history."""
    made = Sources(3, tmp_path_factory.mktemp("sources"))
    begun = {row["event"]["body"]["id"] for row in made.rows[:160]}
    made.rows = [row for row in made.rows if row["event"]["body"]["id"] in begun]
    made.payloads = [row["event"] for row in made.rows]
    made.reference = wb.history(made.rows)
    return made


@pytest.mark.slow
def test_every_source_gives_the_same_number(small: Sources) -> None:
    """Every source of a short history gives the same three reports."""
    reports = ("transactions", "spend by month", "roll-forward")
    results = {name: verdicts(small, source, reports) for name, source in small.all().items()}

    assert {name: result for name, result in results.items() if not ALLOWED >= {*result.values()}} == {}


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("half", [False, True], ids=["complete", "half"])
def test_every_source_gives_the_same_number_in_every_report(half: bool, tmp_path: Path) -> None:
    """Every source gives the same rows in every report, or `left_out` states the difference."""
    sources = Sources(1, tmp_path, half=half)
    results = {
        (source, name): result
        for source, data in sources.all().items()
        for name, result in verdicts(sources, data).items()
    }

    assert {key: result for key, result in results.items() if result not in ALLOWED} == {}
    assert len(results) >= 14 * 14


def raw_sums(rows: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    """Return the amounts of completed events by currency, computed without the workbench."""
    amounts: dict[tuple[str, str], int] = {}
    for row in {row["event"]["id"]: row for row in rows}.values():
        spend = row["event"]["body"]["spend"]
        if row["event"]["action"] != "completed":
            continue
        cents, code = spend["amount"], (spend.get("currency") or "").lower()
        for name, value in (("posted_cents", max(cents, 0)), ("refunded_cents", max(-cents, 0)), ("net_cents", cents)):
            amounts[code, name] = amounts.get((code, name), 0) + value
    return {key: cents for key, cents in amounts.items() if cents}


PURCHASES = st.lists(
    st.tuples(
        st.sampled_from(["usd", "EUR", "jpy", None]), st.integers(1, 10_000), st.integers(0, 80), st.integers(0, 9_000),
        st.booleans(), st.booleans(), st.sampled_from(["Shop", None]),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@pytest.mark.slow
@settings(deadline=None, max_examples=6)
@given(purchases=PURCHASES, seed=st.integers(0, 5), timed=st.booleans())
def test_nothing_is_left_out_without_its_amount(purchases: list[Any], seed: int, timed: bool) -> None:
    """Rows and `left_out` add up to the events' amounts, even if members are null or events late or missing."""
    rows: list[dict[str, Any]] = []
    for number, (code, cents, day, back, begun, refunded, shop) in enumerate(purchases):
        spend = {"currency": code, "merchantName": shop, "merchantCategory": shop}
        made = bought(f"t{number}", cents, day, **spend)
        rows += made if begun else made[1:]
        if refunded:
            rows.append(event("completed", f"t{number}", -min(back + 1, cents), day + 20, authorized=day, **spend))
    random.Random(seed).shuffle(rows)
    history = wb.history(rows if timed else [row["event"] for row in rows])
    expected = raw_sums(rows)

    for report in (
        history.spend(), history.spend("merchant_name"), history.spend(freq="month"), history.spend("user_id", freq="week"),
        history.roll_forward(), history.filter(tz="Asia/Tokyo").roll_forward("quarter"), history.transactions(), history.postings(),
    ):  # fmt: skip
        assert sums(report) == expected, report.attrs["kind"]
    for code in {code.lower() for code, *_ in purchases if code}:
        assert sums(history.filter(currency=code).spend(freq="month")) == expected
    net = {key: cents for key, cents in expected.items() if key[1] == "net_cents"}
    funnel, year = history.funnel(), history.filter(("2026-01-01", "2026-12-31"))
    assert sums(history.cohorts(), {"net_cents": "net_cents"}) == net
    assert sums(funnel[funnel["stage"] == "net"], {"amount_cents": "net_cents"}) == net
    assert sums(year.changes("merchant_name"), {"now_cents": "net_cents"}) == net


@pytest.mark.slow
@settings(deadline=None, max_examples=6)
@given(
    asked=st.lists(
        st.tuples(
            st.sampled_from(["usd", "EUR", "jpy", None]), st.integers(1, 10_000), st.integers(0, 80), st.booleans(),
            st.sampled_from(["card locked", None]),
        ),
        min_size=1, max_size=8,
    )
)  # fmt: skip
def test_no_declined_amount_is_left_out_without_a_word(asked: list[Any]) -> None:
    """Rows and `left_out` of declines, and of the funnel's first stage, add up to the requested amounts."""
    rows, declined, requested, of_month = [], Counter[str](), Counter[str](), Counter[str]()
    for number, (code, cents, day, is_declined, reason) in enumerate(asked):
        about = {"status": "declined", "declinedReason": reason} if is_declined else {}
        rows.append(event("created", f"t{number}", cents, day, currency=code, **about))
        declined[(code or "").lower()] += cents * is_declined
        requested[(code or "").lower()] += cents
        of_month[(code or "").lower()] += cents * (27 <= day <= 54)
    history, amount = wb.history(rows), {"amount_cents": "authorized_cents"}
    code = next((code.lower() for code, *_ in asked if code), None)

    for shown in (history, history.filter(currency=code)):
        funnel = shown.funnel()
        first = sums(funnel[funnel["stage"] == "requested"], amount)
        assert {code: cents for (code, _), cents in first.items()} == +requested
        assert {code: cents for (code, _), cents in sums(shown.declines(), amount).items()} == +declined
    funnel = history.filter("2026-02").funnel()
    first = sums(funnel[funnel["stage"] == "requested"], amount)
    assert {code: cents for (code, _), cents in first.items()} == +of_month


def test_what_is_left_out_is_in_the_order_of_its_money() -> None:
    """Notes are ordered by amount in the main unit. Those without an amount come last."""
    rows = [*bought("a", 100, 0), *bought("b", 29_552, 0, currency="jpy"), *bought("c", 90_000, 0, currency="eur")]
    rows += [*bought("d", 50, 0, currency="gbp"), event("transaction.archived", "a", 1, 0)]
    notes = wb.history(rows).filter(currency="usd").spend().attrs["notes"]

    assert notes == [
        "Shown: all times, UTC, USD.",
        "Left out: 1 posting in JPY (posted 29,552 JPY, net 29,552 JPY).",
        "Left out: 1 posting in EUR (posted 900.00 EUR, net 900.00 EUR).",
        "Left out: 1 posting in GBP (posted 0.50 GBP, net 0.50 GBP).",
        "Left out: 1 (event of an unknown kind).",
    ]


AMOUNT = re.compile(r"([\d,.]+) [A-Z]{3}\b")
COUNTED = re.compile(r": \d[\d,]*( \w+)*( \(|[.;])")


def of_many_flaws(kind: str) -> Any:
    """Return a source with every caveat of its kind, with the smallest amounts first."""
    untimed = event("completed", "t1", -150, 2, authorized=0)
    untimed["event"]["body"]["spend"]["postedAt"] = "2026-01-06T00:00:00Z"
    rows = [*bought("t1", 200, 0), untimed, *bought("t2", 50_000, 20)[1:], *bought("t3", 900_000, 30, currency="eur")]
    rows += [*bought("t4", 500, 60, currency=None), *bought("t5", 5_000, 80)[1:]]
    if kind == "payloads":
        return [row["event"] for row in rows]
    if kind == "records":
        with wb.connect(seed=1) as api:
            days = [{"authorized_at": 90, "posted_at": 90}, *[{}] * 99]
            records = zip(api.sandbox.records("transaction"), days, strict=False)
        return [
            record | {name: record[name] + day * 86_400_000 for name, day in more.items()} for record, more in records
        ]
    frames = [getattr(wb.history(part), kind)() for part in (rows[:4], rows)]
    return pd.concat([*frames, frames[1].iloc[:3]] if kind == "postings" else frames, ignore_index=True)


@pytest.mark.parametrize("kind", ["payloads", "postings", "transactions", "records"])
def test_every_note_on_rows_has_its_amount_and_they_are_in_its_order(kind: str) -> None:
    """Notes that count rows come last, ordered by amount."""
    history = wb.history(of_many_flaws(kind))
    for name, report in REPORTS.items():
        notes = report(history).attrs["notes"]
        counted = [note for note in notes if COUNTED.search(note)]
        amounts = [
            max((float(text.replace(",", "")) for text in AMOUNT.findall(note)), default=0.0) for note in counted
        ]
        silent = [note for note, amount in zip(counted, amounts, strict=True) if not amount]

        assert notes[0].startswith("Shown: "), name
        assert counted == notes[len(notes) - len(counted) :], name
        assert amounts == sorted(amounts, reverse=True), name
        assert [note for note in silent if "a hold that began before the source" not in note] == [], name


def test_a_refund_without_a_time_counts_where_its_neighbors_lie() -> None:
    """A refund between two events of a month is in that month; between two months its period is unknown."""
    inside = event("completed", "t1", -300, 12, authorized=0)
    between = event("completed", "t2", -200, 26.5, authorized=1)
    rows = [*bought("t1", 1_000, 0), *bought("t2", 900, 1), *bought("t3", 50, 10), inside, *bought("t4", 60, 14)]
    payloads = [row["event"] for row in [*rows, between, *bought("t5", 70, 30)]]
    for payload, settled in ((payloads[6], 1), (payloads[9], 2)):
        payload["body"]["spend"]["postedAt"] = (START + timedelta(days=settled)).isoformat().replace("+00:00", "Z")
    months = wb.history(payloads).spend(freq="month")

    assert months["refunded_cents"].tolist() == [300, 0]
    assert [(entry["reason"], entry["refunded_cents"]) for entry in months.attrs["left_out"]] == [
        ("with an unknown period", 200)
    ]


def test_clocks_are_not_mixed_without_a_word() -> None:
    """Delivery times by another clock than the events' date no posting, which a note says."""
    rows = [*bought("t1", 1_000, 0), event("completed", "t1", -300, 2, authorized=0), *bought("t2", 60, 4)]
    rows[2]["event"]["body"]["spend"]["postedAt"] = rows[1]["event"]["body"]["spend"]["postedAt"]
    later = [{"at": "2026-11-27T00:00:00+00:00", "event": row["event"]} for row in rows]
    right, wrong = wb.history(rows), wb.history(later)

    assert right.postings()["clock"].value_counts().to_dict() == {"event": 4, "delivery": 1}
    assert wrong.spend(freq="month")["month"].dt.month.unique().tolist() == [1]
    assert any("from a different clock than the events" in note for note in wrong.spend(freq="month").attrs["notes"])


def test_the_callers_columns_are_the_callers() -> None:
    """Columns of any name can be groups. If a name conflicts with a column of the report, the error says what to do."""
    table = wb.history([*bought("a", 1_000, 0), *bought("b", 500, 40)]).transactions()
    own = table.assign(month=["x", "y"], amount=["p", "q"], clock=["u", "v"], net=["n", "m"])
    history = wb.history(own)

    for name in ("month", "amount", "clock", "net"):
        assert set(history.spend(name)[name]) == set(own[name])
    assert set(history.transactions()["month"]) == {"x", "y"}
    with pytest.raises(UsageError, match="rename your column, or group without it"):
        history.spend("month", freq="month")
    with pytest.raises(UsageError, match="rename yours, or drop it"):
        history.postings()


@pytest.mark.slow
def test_the_newer_of_two_reads_counts() -> None:
    """The newer row counts in either order. Different rows of the same time are refused."""
    rows = bought("a", 1_000, 0)
    old, new = wb.history(rows[:1]).transactions(), wb.history(rows).transactions()
    same = new.assign(posted_cents=new["posted_cents"] + 1)

    for frames in ([old, new], [new, old]):
        assert wb.history(pd.concat(frames)).spend()["net_cents"].tolist() == [1_000]
    with pytest.raises(UsageError, match="different rows of the same updated_at"):
        wb.history(pd.concat([new, same])).spend()


@pytest.mark.parametrize(
    "period, first, end",
    [
        ("2026-03", "2026-03-01", "2026-04-01"), ("2026", "2026-01-01", "2027-01-01"), ("2026-Q1", "2026-01-01", "2026-04-01"),
        ("2026-W14", "2026-03-30", "2026-04-06"), ("2026-03-05", "2026-03-05", "2026-03-06"),
        (("2026-01-01", "2026-03-31"), "2026-01-01", "2026-04-01"), ("FY2026-Q1-SEP", "2025-10-01", "2026-01-01"),
        ("FY2026-JUN", "2025-07-01", "2026-07-01"),
    ],
    ids=str,
)  # fmt: skip
def test_periods(period: Any, first: str, end: str) -> None:
    """A period begins and ends at midnight in its time zone."""
    scope = wb.history([]).filter(period, tz="America/New_York").scope
    days = [pd.Timestamp(moment).tz_convert("America/New_York") for moment in scope.ends]

    assert [f"{day:%Y-%m-%d %H:%M}" for day in days] == [f"{first} 00:00", f"{end} 00:00"]


def test_the_end_of_a_fiscal_year_is_asked_for_once() -> None:
    """A later filter may omit the end of the fiscal year. If no filter has it, the error shows how to write it."""
    year = wb.history([]).filter("FY2026-SEP")

    assert year.filter("FY2026-Q2").scope.ends == wb.history([]).filter("FY2026-Q2-SEP").scope.ends
    assert str(year.filter("FY2026-Q2").scope) == "FY2026-Q2-SEP, UTC"
    assert year.filter("FY2026-Q2-JUN").scope.period == "FY2026-Q2-JUN"
    with pytest.raises(UsageError, match="FY2026-Q1-SEP, or FY2026-Q1-DEC for calendar years"):
        wb.history([]).filter("FY2026-Q1")


@pytest.mark.parametrize(
    "period", ["March", "2026-13", "2026-W54", "2026-02-30", "FY2026-Q1", ("2026-02-01", "2026-01-01")], ids=str
)
def test_what_is_not_a_period_is_refused(period: Any) -> None:
    """An invalid period, or a fiscal quarter without the year's end, is refused."""
    with pytest.raises(UsageError, match="period"):
        wb.history([]).filter(period)


@pytest.mark.slow
def test_lines_that_are_not_events_are_listed_and_the_rest_is_read(tmp_path: Path) -> None:
    """Invalid lines are listed in one error, or as rejects while the valid lines are read."""
    lines = [json.dumps(row) for row in bought("a", 1_000, 0)]
    log = tmp_path / "log.ndjson"
    log.write_text("\n".join([lines[0], "not json", lines[1], "[1]", lines[0][:40]]))
    with pytest.raises(UsageError, match=r"line 2: .*; line 4: .*invalid=.reject."):
        wb.history(log)
    many = tmp_path / "many.ndjson"
    many.write_text("x\n" * 22)
    with pytest.raises(UsageError, match=r"line 20: [^;]*; and 2 more\. Pass"):
        wb.history(many)
    read = wb.events.read_log(log, invalid="reject")
    spend = wb.history(read).spend()

    assert [reject.line for reject in read.rejects] == [2, 4, 5]
    assert read.write_rejects(tmp_path / "r.csv").read_text().splitlines()[0] == "file,line,problem"
    assert spend["net_cents"].tolist() == [1_000]
    assert {"reason": "line that is not an event", "currency": None, "rows": 2} in spend.attrs["left_out"]
    assert read.summary()["events"].sum() == len(read.frame()) == 2


UNUSUAL = {
    "a number for a code": ("merchantCategoryCode", 5411, ("merchant_category_code", "5411")),
    "a text for an amount": ("amount", "1000", ("posted_cents", 1_000)),
    "a list for a name": ("merchantName", ["Shop"], ("posted_cents", 1_000)),
}


@pytest.mark.parametrize("case, kind", across(UNUSUAL, ["payloads", "log", "records"]))
def test_an_event_with_an_unexpected_member_counts(case: str, kind: str, tmp_path: Path) -> None:
    """An event with a value of another type is marked and counts."""
    member, value, (column, expected) = UNUSUAL[case]
    rows = bought("a", 1_000, 0)
    for row in rows:
        row["event"]["body"]["spend"][member] = value
    payloads: Any = [row["event"] for row in rows]
    log = tmp_path / "log.ndjson"
    log.write_text("\n".join(json.dumps(payload) for payload in payloads))
    events = [wb.connect().converter.structure(payload, wb.records.Event) for payload in payloads]
    table = wb.history({"payloads": payloads, "log": log, "records": events}[kind]).transactions()

    assert table[["net_cents", column]].values.tolist() == [[1_000, expected]]
    assert all(event.marks for event in events)


@functools.cache
def postings_of_a_purchase() -> pd.DataFrame:
    return wb.history(bought("a", 1_000, 0)).postings()


@pytest.mark.parametrize(
    "value, cents",
    [
        (5, 5), ("5", 5), ("5.0", 5), ("1e3", 1_000), (5.0, 5), (Decimal(7), 7), ("123456789012345679.0", 123456789012345679),
        (float("inf"), None), ("abc", None), ("", None), (10**20, None), (1e17, None),
    ],
    ids=repr,
)  # fmt: skip
def test_a_number_of_cents_is_read_exactly_or_is_missing(value: Any, cents: int | None) -> None:
    """Numbers are read exactly in any type. A value that is not a number is left out as unknown."""
    table = postings_of_a_purchase()
    amounts = pd.Series([0, value], dtype=object)
    history = wb.history(table.assign(posted_cents=amounts, net_cents=amounts))

    assert history.spend()["posted_cents"].tolist() == ([] if cents is None else [cents])
    assert [entry["reason"] for entry in history.spend().attrs["left_out"]] == ["with an unknown amount"] * (
        cents is None
    )


def test_records_without_events_have_reports() -> None:
    """If seeded transactions have no events, the report is computed from the stored records."""
    with wb.connect(seed=1) as api:
        records = api.sandbox.records("transaction")
        spend = wb.history(api).spend()

    assert sums(spend)["usd", "net_cents"] == sum(record["settled"] - record["refunded"] for record in records)


def test_nothing_depends_on_the_decimal_context_of_the_caller() -> None:
    """Amounts are exact even with a decimal precision of six digits."""
    import decimal

    rows = bought("a", 1_234_567_890, 0)
    with decimal.localcontext(prec=6):
        history = wb.history(rows)
        spend = history.spend()

        assert spend["net_cents"].tolist() == [1_234_567_890]
        assert history.explain(spend, "net_cents", 0).attrs["number"] == "1234567890"
    assert datetime.now(UTC) > START


NOTATIONS: dict[str, Callable[[datetime], object]] = {
    "ISO 8601": datetime.isoformat,
    "Unix seconds": lambda at: int(at.timestamp()),
    "Unix milliseconds": lambda at: int(at.timestamp()) * 10**3,
    "Unix microseconds": lambda at: str(int(at.timestamp()) * 10**6),
    "Unix nanoseconds": lambda at: int(at.timestamp()) * 10**9,
    "nginx": lambda at: f"{at:%d}/Mar/{at:%Y:%H:%M:%S} +0000",
    "month first": lambda at: f"{at:%m/%d/%Y %I:%M %p}",
    "a list": lambda at: [at.year, at.month, at.day],
    "empty": lambda at: "",
    "missing": lambda at: None,
}


@pytest.mark.parametrize("notation, kind", across(NOTATIONS, ["list", "log", "frame"]))
def test_a_delivery_time_is_read_or_its_problem_is_stated(
    notation: str, kind: str, small: Sources, tmp_path: Path
) -> None:
    """Refunds have the time of their delivery, or a note says that delivery times cannot be read."""
    rows: list[Any] = [
        {**row, "at": NOTATIONS[notation](datetime.fromisoformat(row["at"]).replace(microsecond=0))}
        for row in small.rows
    ]
    path = tmp_path / f"{notation}.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = {"list": lambda: rows, "log": lambda: path, "frame": lambda: wb.to_frame(rows)}[kind]()
    postings = wb.history(source).postings()
    is_read = notation.startswith(("ISO", "Unix"))
    known, expected = (
        table["at"].dt.floor("s")[table["clock"] == "delivery"].tolist()
        for table in (postings, small.reference.postings())
    )
    assert expected
    assert known == (expected if is_read else [])
    notes = [note for note in postings.attrs["notes"] if UNREAD_TIME in note]
    is_stated = not is_read and notation not in ("empty", "missing")
    assert notes == ([f"at: {len(rows):,} × {UNREAD_TIME}."] if is_stated else [])
