"""Frames, lists and logs that a person changed give the same amounts, a note on what is missing, or one clear error."""

import json
import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from tests.reports.test_history import bought, event
from workbench.base.errors import UsageError


def deliveries() -> list[dict[str, Any]]:
    """Return a purchase with a refund, a declined one in yen, and one in dinars, which have three decimals."""
    declined = event("created", "t2", 7_700, 3, currency="jpy", status="declined", declinedReason="card locked")
    refund = event("completed", "t1", -1_250, 9, authorized=0)
    return [*bought("t1", 5_000, 0), declined, *bought("t3", 12_345, 4, currency="kwd"), refund]


def source(kind: str) -> pd.DataFrame:
    """Return the frame of events, postings or transactions."""
    if kind == "events":
        return wb.to_frame(deliveries())
    frame: pd.DataFrame = getattr(wb.history(deliveries()), kind)()
    return frame


def totals(history: Any) -> list[Any]:
    """Return the rows of three reports that read different columns."""
    spend, rates, stages = history.spend("currency"), history.approvals(freq=None), history.funnel()
    columns = ["stage", "currency", "transactions", "amount_cents"]
    return [*spend.values.tolist(), *rates.values.tolist(), *stages[columns].values.tolist()]


Change = Callable[[pd.DataFrame], pd.DataFrame]
DOLLARS: Change = lambda frame: frame.assign(posted_cents=frame["posted_cents"] / 100)  # noqa: E731
REFUSED: dict[str, tuple[str, Change, str]] = {
    "dollars in postings": ("postings", DOLLARS, "posted_cents must be a whole number of minor units"),
    "dollars in transactions": ("transactions", DOLLARS, "posted_cents must be a whole number of minor units"),
    "dollars as text": (
        "postings",
        lambda frame: frame.assign(posted_cents=[*["0"] * (len(frame) - 1), "12.5"]),
        "posted_cents must be a whole number of minor units",
    ),
    "amounts with separators": (
        "postings",
        lambda frame: frame.assign(posted_cents=frame["posted_cents"].map("{:,}".format)),
        "posted_cents must be a whole number of minor units",
    ),
    "amounts with a symbol": (
        "transactions",
        lambda frame: frame.assign(posted_cents="$" + frame["posted_cents"].astype(str)),
        "posted_cents must be a whole number of minor units",
    ),
    "amounts with a currency": (
        "events",
        lambda frame: frame.assign(**{"body.spend.amount": frame["body.spend.amount"].astype(str) + " USD"}),
        r"body\.spend\.amount must be a whole number of minor units",
    ),
    "complex amounts": (
        "postings",
        lambda frame: frame.assign(posted_cents=frame["posted_cents"].astype(complex)),
        "posted_cents must be a whole number of minor units",
    ),
    "transactions without an amount": (
        "transactions",
        lambda frame: frame.drop(columns="posted_cents"),
        "the frame of transactions has no column posted_cents",
    ),
    "dollars in events": (
        "events",
        lambda frame: frame.assign(**{"body.spend.amount": [Decimal("12.5")] * len(frame)}),
        r"body\.spend\.amount must be a whole number of minor units",
    ),
    "negative refunds in postings": (
        "postings",
        lambda frame: frame.assign(refunded_cents=-frame["refunded_cents"]),
        "refunded_cents must be at least 0 in each row",
    ),
    "negative refunds in transactions": (
        "transactions",
        lambda frame: frame.assign(refunded_cents=-frame["refunded_cents"]),
        "refunded_cents must be at least 0 in each row",
    ),
    "another net": (
        "postings",
        lambda frame: frame.assign(net_cents=2 * frame["net_cents"]),
        "net_cents must be posted_cents minus refunded_cents",
    ),
    "translated postings": (
        "postings",
        lambda frame: frame.assign(posting=frame["posting"].astype(str).replace("refund", "Erstattung")),
        "posting must be one of request, decline",
    ),
    "translated status": (
        "transactions",
        lambda frame: frame.assign(status=frame["status"].astype(str).replace("declined", "abgelehnt")),
        "status must be one of requested, authorized",
    ),
    "a column twice in postings": (
        "postings",
        lambda frame: pd.concat([frame, frame[["net_cents"]]], axis=1),
        "two columns are named net_cents",
    ),
    "a column twice in events": (
        "events",
        lambda frame: pd.concat([frame, frame[["id"]]], axis=1),
        "two columns are named id",
    ),
    "times as dates of a country": (
        "postings",
        lambda frame: frame.assign(at=frame["at"].dt.strftime("%d.%m.%Y")),
        "at must be empty or a time such as",
    ),
    "times as numbers": (
        "events",
        lambda frame: frame.assign(at=frame["at"].astype("int64")),
        "at must be empty or a time such as",
    ),
    "a transaction in two currencies": (
        "transactions",
        lambda frame: pd.concat([frame, frame.assign(currency="eur")]),
        "different rows of the same updated_at",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_change_that_makes_amounts_uncertain_is_refused(case: str) -> None:
    """The error names the changed column."""
    kind, change, problem = REFUSED[case]
    with pytest.raises(UsageError, match=problem):
        wb.history(change(source(kind)))


@pytest.mark.parametrize(
    "text", ["5,000", "$50", "$50 MXN", "50 usd", "5 kr", "12,-", "1_000x", "５０円", "(5)", "12:30"]
)
def test_a_text_with_digits_in_a_frame_is_never_an_unknown_amount(text: str) -> None:
    """Words such as "n/a" are unknown amounts. A text with digits that is not a whole number is refused."""
    frame = source("postings")
    amounts = [str(cents) for cents in frame["posted_cents"][1:]]

    wb.history(frame.assign(posted_cents=["n/a", *amounts]))
    with pytest.raises(UsageError, match="posted_cents must be a whole number of minor units"):
        wb.history(frame.assign(posted_cents=[text, *amounts]))


SAME: dict[str, tuple[str, Change]] = {
    "postings in capitals": ("postings", lambda f: f.assign(posting=f["posting"].astype(str).str.upper() + " ")),
    "status in capitals": ("transactions", lambda f: f.assign(status=f["status"].astype(str).str.upper())),
    "no status": ("transactions", lambda f: f.drop(columns="status")),
    "no posted amount": ("postings", lambda f: f.drop(columns="posted_cents")),
    "no refunded amount": ("postings", lambda f: f.drop(columns="refunded_cents")),
    "no net": ("postings", lambda f: f.drop(columns="net_cents")),
    "status of events in capitals": (
        "events",
        lambda f: f.assign(**{"body.spend.status": f["body.spend.status"].astype(str).str.upper()}),
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_a_change_of_notation_changes_no_number(case: str) -> None:
    """Capital letters, or a missing column that can be derived, change no amount."""
    kind, change = SAME[case]

    assert totals(wb.history(change(source(kind)))) == totals(wb.history(deliveries()))


@pytest.mark.parametrize("kind", ["postings", "transactions", "events"])
@pytest.mark.parametrize("write", [str.upper, " {} ".format], ids=["capitals", "spaces"])
def test_ids_in_another_notation_are_the_same_ids(kind: str, write: Callable[[str], str]) -> None:
    """IDs in capitals or with spaces, as some databases write them, count no purchase twice after `concat`."""
    with wb.connect(seed=3) as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        for cents in (900, 1_200):
            bought = api.simulate_authorization(
                card_id=card, amount=cents, currency="USD", merchant_name="Shop", merchant_category_code="5411"
            )
            api.sandbox.settle(bought.transaction_id)
        history = wb.history(api.inbox.events())
        frame = wb.to_frame(api.inbox.events("transaction.*")) if kind == "events" else getattr(history, kind)()
    names = [name for name in ("transaction_id", "event_id", "id", "body.id") if name in frame]
    other = frame.assign(**{name: frame[name].map(write, na_action="ignore") for name in names})

    for parts in ([frame, other], [other, frame], [other]):
        read = wb.history(pd.concat(parts))
        assert read.spend(()).values.tolist() == history.spend(()).values.tolist()
        assert read.transactions()["transaction_id"].tolist() == history.transactions()["transaction_id"].tolist()


def test_a_row_of_postings_without_a_kind_is_stated() -> None:
    """A row without a kind, such as a total at the end, is stated in a note."""
    frame = source("postings")
    total = pd.DataFrame([{"transaction_id": "Total", "posted_cents": 17_345, "refunded_cents": 1_250}])
    notes = wb.history(pd.concat([frame, total])).spend().attrs["notes"]

    assert any(note.startswith("Rows without a posting: 1 (posted_cents 17,345") for note in notes)


def test_records_of_a_frame_in_a_list_are_its_rows() -> None:
    """`to_dict("records")` of postings and transactions, as in a JSON file, gives the same reports."""
    for kind in ("postings", "transactions"):
        assert totals(wb.history(source(kind).to_dict("records"))) == totals(wb.history(deliveries()))


@pytest.mark.parametrize("kind, key", [("postings", "event_id"), ("events", "id")])
def test_equal_rows_without_an_id_are_stated(kind: str, key: str) -> None:
    """Equal rows may be two purchases or one row twice. Both count, and a note has the amount."""
    frame = source(kind).assign(**{key: None})
    once, twice = (wb.history(rows).spend("currency").attrs["notes"] for rows in (frame, pd.concat([frame, frame])))

    assert not any("Equal rows" in note for note in once)
    assert sum("Equal rows without an event id: " in note for note in twice) == 3


NOTES: dict[str, tuple[list[Any], str]] = {
    "an unknown envelope": (
        [{"time": row["at"], "message": row["event"]} for row in deliveries()],
        "Left out: 6 (object without resource and action).",
    ),
    "another object": ([*deliveries(), {"level": "info"}], "Left out: 1 (object without resource and action)."),
    "an unknown kind": (
        [*deliveries(), {"event": deliveries()[0]["event"] | {"id": "new", "action": "captured"}}],
        "Left out: 1 (event of an unknown kind).",
    ),
    "nothing": ([], "The source has no card transactions."),
    "no currency": (
        bought("t1", 5_000, 0, currency=None),
        "The source states no currency: the unit of its amounts is unknown.",
    ),
}


@pytest.mark.parametrize("case", NOTES)
@pytest.mark.parametrize("kind", ["list", "log"])
def test_nothing_is_skipped_without_a_note(case: str, kind: str, tmp_path: Path) -> None:
    """A note of each report counts objects of a list or log that are not events."""
    rows, note = NOTES[case]
    log = tmp_path / "log.ndjson"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    history = wb.history(rows if kind == "list" else log)

    for report in (history.spend(), history.approvals(), history.postings(), history.roll_forward()):
        assert note in report.attrs["notes"]


def test_an_unfinished_last_line_is_counted(tmp_path: Path) -> None:
    """A note counts the last line of a truncated log, which is missing in the reports."""
    log = tmp_path / "log.ndjson"
    log.write_text("".join(json.dumps(row) + "\n" for row in deliveries())[:-80])
    read = wb.events.read_log(log)
    spend = wb.history(read).spend("currency")

    assert "Left out: 1 (unfinished last line)." in spend.attrs["notes"]
    assert [(reject.line, reject.problem) for reject in read.rejects] == [(6, "unfinished last line")]


LEDGERS: dict[str, tuple[Change, str]] = {
    "a column twice": (lambda f: pd.concat([f, f[["net_cents"]]], axis=1), "two columns are named net_cents"),
    "times as numbers": (
        lambda f: f.assign(at=f["at"].astype("int64")),
        "column `at` must contain a time or be empty in each row",
    ),
    "a symbol as a currency": (
        lambda f: f.assign(currency="$"),
        "the ledger's currencies must be codes of three letters",
    ),
    "a row without a currency": (
        lambda f: f.assign(currency=[None, *f["currency"].iloc[1:]]),
        "the ledger has rows without a currency",
    ),
}


@pytest.mark.parametrize("case", LEDGERS)
def test_a_ledger_with_uncertain_rows_is_refused(case: str) -> None:
    """A ledger with ambiguous columns, times or currencies is refused."""
    change, problem = LEDGERS[case]
    with pytest.raises(UsageError, match=problem):
        wb.history(deliveries()).reconcile(change(source("postings")))


def test_two_rows_for_one_posting_match_in_a_period() -> None:
    """A refund of March that the ledger splits into two rows is matched, although its purchase is of February."""
    rows = [*bought("t1", 5_000, 0, currency="kwd"), event("completed", "t1", -1_251, 60, authorized=0, currency="kwd")]
    march = wb.history(rows).filter("2026-03")
    refund = march.postings()
    halves = pd.concat([refund.assign(net_cents=-625), refund.assign(net_cents=-626)])[
        ["transaction_id", "net_cents", "currency", "at"]
    ]
    breaks = march.reconcile(halves)

    assert len(refund) == 1
    assert len(breaks) == 0
    assert breaks.attrs["unexplained"] == {"kwd": 0}


def test_days_of_a_calendar_are_times_of_a_ledger() -> None:
    """A ledger whose times are periods, dates or texts of days is matched too."""
    history, ledger = wb.history(deliveries()), source("postings")
    naive = ledger["at"].dt.tz_localize(None)

    for days in (naive.dt.to_period("D"), naive.dt.date, naive.dt.strftime("%Y-%m-%d")):
        assert history.reconcile(ledger.assign(at=days)).empty


@pytest.mark.parametrize(
    "write",
    [
        lambda at: int(at.timestamp()), lambda at: int(at.timestamp() * 1_000), lambda at: at.timestamp(),
        lambda at: at.replace(tzinfo=None), lambda at: at.isoformat(),
    ],
    ids=["seconds", "milliseconds", "fraction", "without a zone", "text"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["list", "log"])
def test_the_time_of_a_delivery_in_any_notation(kind: str, write: Callable[[Any], Any], tmp_path: Path) -> None:
    """Numbers are seconds or milliseconds since 1970, and times without a zone are in UTC."""
    expected = wb.history(deliveries()).spend(freq="month")
    rows = [{"at": write(datetime.fromisoformat(row["at"])), "event": row["event"]} for row in deliveries()]
    log = tmp_path / "log.ndjson"
    log.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))
    months = wb.history(rows if kind == "list" else log).spend(freq="month")

    pd.testing.assert_frame_equal(months, expected)


def test_the_distance_of_another_clock_has_a_unit_that_fits() -> None:
    """If deliveries have only a date, the note states their distance from the events in hours, not days."""
    rows = [{"at": row["at"][:10], "event": row["event"]} for row in deliveries()]
    notes = wb.history(rows).spend().attrs["notes"]

    assert any(re.search(r"a different clock than the events \([0-9]+ hours apart\)", note) for note in notes)


@pytest.mark.parametrize(
    "start, kind",
    [
        (b"PK\x03\x04", "a ZIP archive or a spreadsheet"),
        (b"BZh9", "compressed with bzip2"),
        (b"%PDF-1.7", "a PDF document"),
    ],
    ids=["zip", "bzip2", "pdf"],
)
def test_a_file_that_is_not_a_log_is_one_error(start: bytes, kind: str, tmp_path: Path) -> None:
    """One error names the format of the file, instead of twenty invalid lines."""
    (tmp_path / "book.ods").write_bytes(start + b"\n\xff\xfe\n" * 30)

    with pytest.raises(UsageError, match=rf"book\.ods is {kind}, not a log$"):
        wb.history(tmp_path / "book.ods")


@pytest.mark.parametrize("kind", ["list", "log", "frame"])
def test_events_that_contradict_another_of_their_id_are_stated(kind: str, tmp_path: Path) -> None:
    """The first event counts, and a note has the amount of the others. A retry at another time is ignored."""
    rows = deliveries()
    retry = {"at": "2026-05-01T00:00:00Z", "event": rows[1]["event"]}
    other = json.loads(json.dumps(rows[1]))
    other["event"]["body"]["spend"]["amount"] = 9_999
    log = tmp_path / "log.ndjson"
    stated = []
    for more in ([retry], [retry, other]):
        log.write_text("".join(json.dumps(row) + "\n" for row in rows + more))
        given: Any = {"list": rows + more, "log": log, "frame": wb.to_frame(rows + more)}[kind]
        notes = wb.history(given).spend().attrs["notes"]
        stated.append([note for note in notes if "the first is used" in note])

    assert stated == [
        [],
        ["Events that repeat an id with other content: 1 (moved 99.99 USD); the first is used."],
    ]


@pytest.mark.parametrize("currency", ["column missing", None, float("nan")])
def test_events_without_a_currency_that_contradict_are_stated(currency: Any) -> None:
    """If the frame has no currency, the note states the amount in minor units."""
    with wb.connect(seed=1) as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        api.simulate_authorization(
            card_id=card, amount=100, currency="USD", merchant_name="Shop", merchant_category_code="5411"
        )
        events = wb.to_frame(api.inbox.events("transaction.*"))
    other = events.assign(**{"body.spend.amount": 999})
    both = pd.concat([events, other], ignore_index=True).drop(columns="body.spend.currency")
    both = both if currency == "column missing" else both.assign(**{"body.spend.currency": currency})
    notes = wb.history(both).transactions().attrs["notes"]

    assert (
        f"Events that repeat an id with other content: {len(other)} (moved_cents {999 * len(other):,}); "
        in " ".join(notes)
    )


def test_a_query_with_the_keyword_at_says_how_to_write_the_column() -> None:
    """The column `at` is also a keyword of SQL, so the error says to quote it."""
    with pytest.raises(UsageError, match='write the column "at" in quotation marks'):
        wb.sql("select date_trunc('month', at) as month from p", p=source("postings"))


@pytest.mark.parametrize("text", ["31 23:30:00+00", "31T23:30:00.5+00:00", "31T18:30:00 -0500", "31 23:30:00+00 "])
def test_the_offset_of_a_time_of_a_ledger_is_read_in_any_notation(text: str, tmp_path: Path) -> None:
    """A database writes an offset of whole hours as +00: the time is not a time without a zone."""
    row = {"transaction_id": "a", "net_cents": 500, "at": f"2026-03-{text}", "currency": "usd"}
    (tmp_path / "a.csv").write_text(f"transaction_id,net_cents,at,currency\na,500,{row['at']},usd\n")
    march = wb.history(bought("b", 1, 0)).filter("2026-03", tz="Asia/Tokyo")

    for ledger in (pd.DataFrame([row]), tmp_path / "a.csv"):
        assert march.reconcile(ledger).empty


def test_a_question_about_a_file_names_the_function_that_answers_it(tmp_path: Path) -> None:
    """`history` and `reconcile` have no argument for the time zone of a file."""
    (tmp_path / "a.csv").write_text("transaction_id,net_cents,at,currency\na,500,2026-03-31 10:00:00,usd\n")
    history = wb.history(deliveries())

    for read in (wb.history, history.reconcile):
        with pytest.raises(UsageError, match=r"read_table: a\.csv, column at .* pass tz='UTC'"):
            read(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "report", ["spend", "funnel", "transactions", "postings", "roll_forward", "changes", "cohorts"]
)
def test_an_amount_that_is_not_known_is_stated_in_each_report(report: str) -> None:
    """A settlement without an amount adds nothing, which a reader of the total must know."""
    rows = deliveries()
    del rows[1]["event"]["body"]["spend"]["amount"]
    notes = " ".join(getattr(wb.history(rows), report)().attrs["notes"])

    assert re.search("with an unknown amount: 1|1 posting with an unknown amount", notes)


def test_a_frame_of_events_without_transactions_has_none() -> None:
    """The events of a frame without the columns of transactions are counted, not refused."""
    frame = pd.DataFrame({"id": ["a", "b"], "kind": ["user.updated", "transaction.new"]})
    history = wb.history(frame)

    assert history.transactions().empty
    assert history.reading.kind == "frame of events"
    assert sum(history.reading.unread.values()) == 1
