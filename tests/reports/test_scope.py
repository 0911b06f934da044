"""What reports include: partial logs, past days, running periods, currencies, repeated rows, anomalies."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from tests.charts import samples
from tests.each import each
from workbench import charts
from workbench.analysis.tables.periods import steps
from workbench.base.errors import UsageError

START = datetime(2026, 1, 5, 12, tzinfo=UTC)


def event(kind: str, transaction: str, cents: int | None, day: float, /, **spend: Any) -> dict[str, Any]:
    """Return an event of a transaction, on a day after `START`, as a sandbox lists it."""
    at = (START + timedelta(days=day)).isoformat().replace("+00:00", "Z")
    body = {
        "amount": cents,
        "authorizedAmount": cents,
        "currency": "usd",
        "merchantName": "Shop",
        "merchantCategoryCode": "5411",
        "merchantCategory": "Grocery",
        "userId": str(uuid.UUID(int=1)),
        "cardId": str(uuid.UUID(int=2)),
        "status": "pending" if kind == "created" else "completed",
        "authorizedAt": (START + timedelta(days=spend.pop("authorized", day))).isoformat().replace("+00:00", "Z"),
        "postedAt": at if kind == "completed" else None,
        **spend,
    }
    inner = {"id": transaction, "type": "spend", "spend": {k: v for k, v in body.items() if v is not None}}
    name = kind if "." in kind else f"transaction.{kind}"
    resource, _, action = name.partition(".")
    about = {"id": str(uuid.uuid4()), "resource": resource, "action": action, "version": "1.0.0", "body": inner}
    return {"event": about, "at": at}


def bought(transaction: str, cents: int, day: float, settled: float = 1, **spend: Any) -> list[dict[str, Any]]:
    completed = event("completed", transaction, cents, day + settled, authorized=day, **spend)
    return [event("created", transaction, cents, day, **spend), completed]


@pytest.mark.slow
def test_a_partial_log_leaves_unknown_beginnings_out_of_rates() -> None:
    """Movements of purchases from before the log count in amounts, but not in rates."""
    log = [
        event("completed", "t-old", 9_000, 31, authorized=2),
        event("completed", "t-gone", -99_999, 32, authorized=1),
        *bought("t-new", 5_000, 31.5),
        event("created", "t-declined", 700, 33, status="declined", declinedReason="card locked"),
    ]
    table = wb.history(log).transactions()
    notes = " ".join(table.attrs["notes"])

    assert table["transaction_id"].tolist() == ["t-old", "t-gone", "t-new", "t-declined"]
    assert table["authorized_cents"].isna().tolist() == [True, True, False, False]
    assert "Without an authorization in the source: 2 transactions" in notes
    assert wb.history(table).approvals(freq=None)[["authorizations", "approved"]].values.tolist() == [[2, 1]]
    assert wb.history(table).funnel()["amount_cents"].tolist() == [5_700, 5_000, 5_000, 0, 5_000]
    assert wb.history(table).spend()["net_cents"].tolist() == [14_000 - 99_999]  # only movements in the log count
    assert wb.history(log).postings()["net_cents"].sum() == 14_000 - 99_999


@pytest.mark.slow
def test_a_past_day_is_what_was_known_then() -> None:
    """Events after the day do not change transactions and postings at that day."""
    early = [*bought("a", 1_000, 0), event("created", "b", 500, 2)]
    later = [event("completed", "b", 500, 9, authorized=2), event("completed", "a", -300, 9, authorized=0)]
    day = (START + timedelta(days=3)).date().isoformat()

    for report in ("transactions", "postings"):
        then, known = (getattr(wb.history(x).filter(at=day), report)() for x in ([*early, *later], early))
        pd.testing.assert_frame_equal(then, known)
    assert wb.history([*early, *later]).filter(at=day).transactions()["status"].tolist() == ["settled", "authorized"]


@pytest.mark.slow
def test_the_running_period_is_marked() -> None:
    """Reports mark the running period. A running month is compared with the same part of the previous month."""
    with wb.connect() as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        for _ in range(3):
            api.sandbox.advance(days=20)
            bought_now = api.simulate_authorization(
                card_id=card, amount=1_000, currency="USD", merchant_name="Shop", merchant_category_code="5411"
            )
            api.sandbox.settle(bought_now.transaction_id)
        table = wb.history(api).transactions()
        changes = wb.history(api).changes()
        made = [wb.history(table).approvals(freq="month"), wb.history(api).roll_forward(), wb.history(table).cohorts()]
        made.append(wb.history(api).spend("merchant_name", freq="month"))

    for frame in made:
        assert frame["running"].tolist() == [False] * (len(frame) - 1) + [True], frame
    assert changes.attrs["running"]
    assert changes[["before_cents", "now_cents"]].values.tolist() in ([[0, 1_000]], [[1_000, 1_000]])
    assert "is running: compared with the same part of" in " ".join(changes.attrs["notes"])


@pytest.mark.slow
def test_currencies_are_never_added() -> None:
    """Each currency has separate rows, or the filter selects one and a note states the others."""
    log = [*bought("a", 1_000, 0), *bought("b", 29_552, 0, currency="jpy"), *bought("c", 2_000, 1, currency="EUR")]
    table = wb.history(log).transactions()
    made = [
        wb.history(table).spend(),
        wb.history(table).declines(),
        wb.history(table).funnel(),
        wb.history(table).cohorts(),
    ]
    made += [
        wb.history(table).changes(),
        wb.history(log).roll_forward(),
        wb.history(table).filter(currency="usd").approvals(),
    ]

    for frame in made[:1] + made[2:-1]:
        assert {"usd", "eur", "jpy"} == set(frame["currency"]), frame.attrs["kind"]
    assert "Left out: 1 authorization in JPY" in " ".join(made[-1].attrs["notes"])
    assert wb.history(table).filter(currency="JPY").spend()["net_cents"].tolist() == [29_552]
    assert wb.history(table).filter(currency="eur").spend()["net_cents"].tolist() == [2_000]
    assert wb.history(table).approvals(freq=None)["authorizations"].tolist() == [3]
    with pytest.raises(UsageError, match="three letters"):
        wb.history(table).filter(currency="EURO")
    with pytest.raises(UsageError, match="must be one of eur, jpy, usd"):
        wb.history(table).filter(currency="gbp")


@pytest.mark.slow
def test_rows_doubled_by_concat_count_once() -> None:
    """Repeated transactions count once, and a note has their number and amounts."""
    table = wb.history([*bought("a", 1_000, 0), *bought("b", 500, 0)]).transactions()
    doubled = pd.concat([table, table])

    for frame in (wb.history(doubled).spend(), wb.history(doubled).spend(freq="month"), wb.history(doubled).changes()):
        assert (
            "Older rows of a transaction: 2 (authorized 15.00 USD, posted 15.00 USD); the newest row counts."
            in frame.attrs["notes"]
        )
    assert wb.history(doubled).spend()["net_cents"].tolist() == [1_500]
    assert wb.history(doubled).spend(freq="month")["net_cents"].tolist() == [1_500]


@pytest.mark.slow
def test_groups_are_any_columns_and_periods() -> None:
    """Reports group by any column, including the user's, and by periods."""
    log = [*bought("a", 1_000, 0), *bought("b", 500, 40), event("created", "c", 700, 41, status="declined")]
    table = wb.history(log).transactions().assign(team=["A", "B", "B"])

    assert wb.history(table).spend("team", freq="month")["net_cents"].tolist() == [1_000, 500]
    assert wb.history(table).spend(freq="Q-JAN")["quarter"].dt.month.tolist() == [11, 2]
    assert wb.history(table).spend(freq="quarter")["net_cents"].tolist() == [1_500]
    assert wb.history(table).approvals("team", freq=None)["rate"].tolist() == [1.0, 0.5]
    assert wb.history(table).approvals(["team"], freq="month")["declined"].tolist() == [0, 1]
    assert wb.history(table).declines("merchant_category_code")["declined"].tolist() == [1]
    assert wb.history(table).changes(["team", "currency"])["change_cents"].tolist() == [-1_000, 500]
    assert wb.history(table).posting_times(["team"])["transactions"].tolist() == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("call", [
    lambda table: wb.history(table).spend("shop"),
    lambda table: wb.history(table).spend("month"),
    lambda table: wb.history(table).declines("merchant"),
    lambda table: wb.history(table).approvals(freq="hour"),
    lambda table: wb.history(table).filter(tz="Mars/Base").approvals(freq="day"),
    lambda table: wb.history(table).filter(tz="").approvals(freq="day"),
    lambda table: wb.history(table).changes("month_name"),
    lambda table: wb.history([]).filter(at="yesterday").transactions(),
    lambda table: wb.history([]).filter(tz="New York").liability(),
], ids=range(9))  # fmt: skip
def test_what_cannot_be_done_is_said(call: Any) -> None:
    """An unknown column, period, time zone or time raises UsageError with the allowed values."""
    with pytest.raises(UsageError, match=r"must be|use freq="):
        call(wb.history(bought("a", 1_000, 0)).transactions())


@pytest.mark.slow
def test_anomalies_are_listed_and_counted() -> None:
    """Each planted anomaly is found with its kind, and none elsewhere."""
    plain = [one for number in range(30) for one in bought(f"p{number}", 100, number / 100)]
    twice = [*bought("twice", 900, 0), event("completed", "twice", 900, 2, authorized=0)]
    above = [event("created", "above", 500, 0), event("completed", "above", 800, 1, authorized=0)]
    refunded = [*bought("refunded", 400, 0), event("completed", "refunded", -450, 2, authorized=0)]
    missing = [event("created", "missing", None, 0.1)]
    other = [{**plain[0], "event": {**plain[0]["event"], "body": {**plain[0]["event"]["body"], "id": "p1"}}}]
    unknown = [event("transaction.archived", "p2", 100, 0.3)]
    log = [
        *plain,
        *twice,
        *above,
        *refunded,
        *missing,
        *other,
        *unknown,
        event("completed", "old", 70, 1, authorized=-9),
    ]
    found = wb.history(log).anomalies()

    assert sorted(zip(found["anomaly"], found["transaction_id"].fillna(""), strict=True)) == [
        ("amount missing", "missing"),
        ("began before the first event", "old"),
        ("duplicate id, other content", "p1"),
        ("posted above authorized", "above"),
        ("posted above authorized", "twice"),
        ("refunded above posted", "refunded"),
        ("settled twice", "twice"),
        ("unknown kind", "p2"),
    ]
    amounts = dict(zip(found["transaction_id"], found["amount_cents"], strict=True))
    assert (amounts["above"], amounts["refunded"], amounts["old"]) == (300, 50, 70)
    assert "Left out: 1 (event of an unknown kind)." in wb.history(log).transactions().attrs["notes"]
    assert len(wb.history(plain).anomalies()) == 0
    assert len(wb.history([*plain, *plain]).anomalies()) == 0  # the log contains duplicate deliveries
    busy = [*(one for number in range(60) for one in bought(f"q{number}", 1, number / 60)), *bought("z", 1, 4, 0)]
    assert wb.history(busy).anomalies()["anomaly"].tolist() == ["no event for days"]


def test_periods_of_a_fiscal_calendar() -> None:
    times = pd.Series(pd.to_datetime(["2026-01-31T23:00Z", "2026-02-01T06:00Z"]))

    assert steps(times, "Y-JAN", "America/New_York").dt.strftime("%Y-%m-%d").tolist() == ["2025-02-01", "2026-02-01"]
    assert steps(times, "quarter", "UTC").dt.strftime("%Y-%m-%d").tolist() == ["2026-01-01"] * 2


@pytest.mark.slow
def test_charts_mark_the_running_period() -> None:
    """The line is dashed in the running period, which the title mentions."""
    table = wb.history([one for day in range(0, 70, 5) for one in bought(f"t{day}", 100, day)]).transactions()
    axes = charts.approvals_chart(wb.history(table).approvals(freq="month"))

    assert axes.get_title().replace("\n", " ").endswith("(the last one is running)")
    assert [line.get_linestyle() for line in axes.lines[:2]] == ["-", "--"]


@pytest.mark.slow
def test_postings_after_concat_count_once() -> None:
    """Repeated postings count once in reports by period, and a note has their amounts."""
    table = wb.history([*bought("t-1", 5_000, 0), event("completed", "t-1", -1_000, 2, authorized=0)]).postings()
    doubled = pd.concat([table, table], ignore_index=True)

    for report in (
        (lambda x: wb.history(x).roll_forward()),
        lambda frame: wb.history(frame).spend(freq="month"),
        (lambda x: wb.history(x).changes()),
    ):
        figures = [name for name in report(table) if name != "running"]
        pd.testing.assert_frame_equal(report(table)[figures], report(doubled)[figures])
    amounts = "posted 50.00 USD, refunded 10.00 USD, net 40.00 USD, requested 50.00 USD"
    note = f"Postings that occur more than once: 3 ({amounts}); each counts once."
    assert note in wb.history(doubled).roll_forward().attrs["notes"]


def test_changes_of_holds_before_the_first_event_are_not_known() -> None:
    """Releases of holds from before the log do not reduce the balance of open holds."""
    log = [
        event("updated", "t-old", 0, 31, authorized=2, authorizationUpdateAmount=-5_000, status="reversed"),
        event("updated", "t-part", 7_000, 31, authorized=2, authorizationUpdateAmount=-2_000),
        event("completed", "t-part", 7_000, 32, authorized=2),
        *bought("t-new", 5_000, 31.5),
    ]
    rolled = wb.history(log).roll_forward().iloc[0]
    table = wb.history(log).postings().set_index("transaction_id")

    assert table["held_cents"].isna().groupby(level=0).all().to_dict() == {
        "t-old": True,
        "t-part": True,
        "t-new": False,
    }
    assert (rolled["authorized_cents"], rolled["released_cents"], rolled["settled_cents"]) == (5_000, 0, 5_000)
    assert (rolled["closing_cents"], rolled["posted_cents"]) == (0, 12_000)
    assert "Left out: 3 postings with a hold that began before the source." in table.attrs["notes"]


def test_a_cent_at_the_first_moment_of_a_month() -> None:
    """A posting at midnight on the first day of a month counts in that month."""
    history = wb.history(bought("a", 1, 20.5, settled=6))
    changes = history.filter("2026-02").changes()

    assert changes[["before_cents", "now_cents"]].values.tolist() == [[0, 1]]
    assert history.funnel()["transactions"].tolist() == [1, 1, 1, 0, 1]
    assert "2 postings until 2026-02-01 00:00:00+00:00; all times, UTC>" in repr(history)
    assert "0 postings until an unknown time; " in repr(wb.history([]))


def test_no_group_is_a_column_of_the_workbench_alone() -> None:
    """The internal column `_number` cannot be a group. A user's column with this name can."""
    with wb.connect(seed=1) as api:
        history = wb.history(api)
        with pytest.raises(UsageError, match="by must be one of transaction_id"):
            history.spend("_number")
        own = history.transactions().assign(_number="a")

    assert wb.history(own).spend("_number")["_number"].tolist() == ["a"]
    assert wb.history(own).transactions()["_number"].eq("a").all()


BY_PERIOD: dict[str, Any] = {
    "spend": lambda history: history.spend(freq="month"),
    "approvals": lambda history: history.approvals(freq="month"),
    "roll_forward": lambda history: history.roll_forward("month"),
    "cohorts": lambda history: history.cohorts(),
    "liability": lambda history: history.liability(),
}


@each("name", BY_PERIOD)
def test_a_report_of_a_period_has_the_rows_of_the_period(name: str) -> None:
    """A report filtered to a month has the same rows for the month as the unfiltered report."""
    days = (0, 20, 30, 50, 60, 62, 95)
    log = [row for day in days for row in bought(f"t{day}", 1_000 + day, day, userId=str(uuid.UUID(int=1 + day // 40)))]
    log += [
        event("created", f"d{day}", 700 + day, day, status="declined", declinedReason="card locked") for day in days
    ]
    report = BY_PERIOD[name]
    source = samples.rewards() if name == "liability" else log
    whole = report(wb.history(source))
    first = "cohort" if name == "cohorts" else "month"
    months = sorted(whole[first].unique())

    assert len(months) > 1
    for month in months:
        part = report(wb.history(source).filter(f"{month:%Y-%m}"))
        pd.testing.assert_frame_equal(part, whole[whole[first] == month].reset_index(drop=True), check_like=True)
    assert report(wb.history(source).filter("2024-01")).empty
