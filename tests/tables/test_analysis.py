"""Reports on transactions, disputes, points and balances agree with the sandbox's own records."""

from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

import workbench as wb
from workbench.base.errors import UsageError

pytestmark = pytest.mark.slow  # the tests use a seeded history

NEW_YORK = ZoneInfo("America/New_York")


@pytest.fixture(scope="module")
def world() -> Any:
    """Yield a session after forty days of purchases, its transactions, and the sandbox's records."""
    with wb.connect() as api:
        wb.sequences.run(api, wb.sequences.traffic(seed=3, cards=4, days=40, a_day=1.5), progress=False)
        books = api.sandbox.records("transaction")
        yield api, wb.history(api).transactions(), books


def local(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, NEW_YORK)


@pytest.mark.slow
def test_approvals_by_day(world: Any) -> None:
    """Each day has its authorizations and declines, in the report's time zone."""
    _, frame, books = world
    made = wb.history(frame).filter(tz="America/New_York").approvals(freq="day")
    expected = Counter(local(one["authorized_at"]).date() for one in books)
    declined = Counter(local(one["authorized_at"]).date() for one in books if one["status"] == "declined")

    assert dict(zip(made["day"].dt.date, made["authorizations"], strict=True)) == expected
    assert {day: count for day, count in zip(made["day"].dt.date, made["declined"], strict=True) if count} == declined
    assert made["rate"][0] == made["approved"][0] / made["authorizations"][0]
    assert made.attrs["tz"] == "America/New_York"


def test_weeks_begin_on_monday(world: Any) -> None:
    """Weeks begin on Monday, and their counts add up."""
    made = wb.history(world[1]).approvals(freq="week")

    assert set(made["week"].dt.day_of_week) == {0}
    assert made["authorizations"].sum() == len(world[2])
    with pytest.raises(ValueError, match="day, week, month"):
        wb.history(world[1]).approvals(freq="hour")


def test_declines_by_reason(world: Any) -> None:
    """Counts and amounts agree with the records, and the shares add up to one."""
    _, frame, books = world
    made = wb.history(frame).declines()
    declined = [one for one in books if one["status"] == "declined"]

    assert made["declined"].tolist() == sorted(
        Counter(one["declined_reason"] for one in declined).values(), reverse=True
    )
    assert made["amount_cents"].sum() == sum(one["authorized"] for one in declined)
    assert made["share"].sum() == pytest.approx(1)


def test_the_funnel(world: Any) -> None:
    """The stages have the records' amounts."""
    _, frame, books = world
    approved = sum(one["authorized"] for one in books if one["status"] != "declined")
    posted, refunded = (sum(one[name] for one in books) for name in ("settled", "refunded"))

    made = wb.history(frame).funnel()
    assert made["stage"].tolist() == ["requested", "approved", "posted", "refunded", "net"]
    assert made["amount_cents"].tolist()[1:] == [approved, posted, refunded, posted - refunded]


@pytest.mark.parametrize("by,key", [("merchant_name", "merchant_name"), ("card_id", "card"), ("user_id", "user")])
def test_spend_by_group(world: Any, by: Any, key: str) -> None:
    """Net spend by merchant, card or user agrees with the records."""
    _, frame, books = world
    expected: Counter[str] = Counter()
    for one in books:
        expected[one[key]] += one["settled"] - one["refunded"]

    made = wb.history(frame).spend(by)
    assert dict(zip(made[by], made["net_cents"], strict=True)) == {
        name: net for name, net in expected.items() if name in set(made[by])
    }
    assert made["net_cents"].is_monotonic_decreasing
    assert made["net_cents"].sum() == sum(expected.values())


def test_rows_that_are_left_out_are_counted(world: Any) -> None:
    """Notes have number and amount of rows in another currency or without a time."""
    frame = world[1].copy()
    frame.attrs = world[1].attrs
    posted = frame.index[(frame["posted_cents"] > 0) & (frame["refunded_cents"] == 0)]
    frame.loc[posted[:3], "currency"] = "eur"
    frame.loc[posted[3:5], "posted_at"] = pd.NaT
    cents = int(frame.loc[posted[:3], "posted_cents"].sum())
    untimed = int(frame.loc[posted[3:5], "posted_cents"].sum())
    both, usd = (made.spend(()) for made in (wb.history(frame), wb.history(frame).filter(currency="usd")))
    entry = {"reason": "in EUR", "currency": "eur", "rows": 3, "posted_cents": cents, "refunded_cents": 0}

    assert dict(zip(both["currency"], both["net_cents"], strict=True))["eur"] == cents
    assert usd["net_cents"].sum() + cents == frame["net_cents"].sum()
    assert entry | {"net_cents": cents} in usd.attrs["left_out"]
    assert f"Left out: 3 postings in EUR (posted {cents / 100:,.2f} EUR" in "\n".join(usd.attrs["notes"])
    notes = "\n".join(wb.history(frame).posting_times().attrs["notes"])
    assert "Left out: 2 transactions without a time (" in notes
    assert f"posted {untimed / 100:,.2f} USD" in notes


def test_time_to_post(world: Any) -> None:
    """Median and longest time agree with the records."""
    _, frame, books = world
    hours = [(one["posted_at"] - one["authorized_at"]) / 3_600_000 for one in books if one["status"] == "settled"]

    made = wb.history(frame).posting_times()
    assert (made["median_hours"][0], made["longest_hours"][0]) == pytest.approx((median(hours), max(hours)))
    assert wb.history(frame).posting_times("merchant_name")["transactions"].sum() == len(hours)


def test_cohorts(world: Any) -> None:
    """In month 0 each cohort has a share of one, and the net amounts add up."""
    _, frame, _ = world
    made = wb.history(frame).cohorts()

    assert (made[made["month"] == 0]["share"] == 1).all()
    assert made["net_cents"].sum() == frame["net_cents"].sum()


def test_monthly_changes(world: Any) -> None:
    """The change of each merchant agrees with the records. A refund counts in its own month."""
    _, frame, books = world
    refunded_at = dict(zip(frame["transaction_id"], frame["refunded_at"], strict=True))
    sums: Counter[str] = Counter()
    for one in books:
        moves = [(one["posted_at"], one["settled"])] if one["settled"] else []
        if one["refunded"]:
            time = refunded_at[one["id"]]
            moves.append((one["posted_at"] if pd.isna(time) else time.timestamp() * 1000, -one["refunded"]))
        for time, cents in moves:
            if (month := local(time).month) in {1, 2}:
                sums[one["merchant_name"]] += cents * (1 if month == 2 else -1)

    over = frame.copy()
    # the running month is compared with the same part of the previous month
    over.attrs = {**frame.attrs, "until": "2026-03-10T00:00:00+00:00"}
    made = wb.history(over).filter("2026-02", tz="America/New_York").changes()
    assert {
        name: change for name, change in zip(made["merchant_name"], made["change_cents"], strict=True) if change
    } == {name: change for name, change in sums.items() if change}
    assert made["change_cents"].abs().is_monotonic_decreasing


def test_disputes_by_status_and_age() -> None:
    """Disputes are counted by status and age."""
    with wb.connect() as api:
        records = api.sandbox.records("dispute")
        now = api.sandbox.clock.now()
    made = wb.history(records).filter(at=now + timedelta(days=100)).disputes()

    assert made.groupby("status")["disputes"].sum().to_dict() == Counter(one["status"] for one in records)
    assert set(made[made["status"] == "pending"]["age"]) == {"90 days or more"}
    assert wb.history([]).filter(at="2026-01-01").disputes().columns.tolist() == [
        "status",
        "age",
        "disputes",
        "oldest_days",
    ]


# points


@pytest.fixture(scope="module")
def points() -> Any:
    with wb.connect() as api:
        users = [one["id"] for one in api.sandbox.guide()["rewards_users"]][:4]
        yield wb.rewards.fetch(api, users, progress=False).frame()


def total(frame: pd.DataFrame) -> Decimal:
    redeemed = frame["type"] == "redeemed"
    return sum(frame["points"][~redeemed], Decimal(0)) - sum(frame["points"][redeemed], Decimal(0))


def test_points_outstanding_at_a_date(points: pd.DataFrame) -> None:
    """Points at a date are those earned minus those redeemed before the date."""
    before = points[points["created_at"] < pd.Timestamp("2025-09-01", tz="UTC")]
    made = wb.history(points).filter(at="2025-09-01").points()

    assert made["outstanding"].tolist() == [total(before)]
    assert made["rows"].tolist() == [len(before)]
    assert wb.history(points).points()["outstanding"].tolist() == [total(points)]


@pytest.mark.parametrize("group", ["user_id", "cohort", "spend_category"])
def test_groups_of_points_add_up(points: pd.DataFrame, group: Any) -> None:
    """Points by user, cohort or category add up to the same total."""
    assert wb.history(points).points(group)["outstanding"].sum() == total(points)


def test_the_time_that_counts_is_chosen(points: pd.DataFrame) -> None:
    """By `minted_at`, points that are not yet minted do not count."""
    minted = wb.history(points).filter(at="2025-09-01").points(on="minted_at")["earned"][0]
    made = wb.history(points).filter(at="2025-09-01").points()["earned"][0]

    assert minted < made
    assert wb.history(points).filter(tz="Pacific/Honolulu", at="2025-09-01").points()["rows"][0] > 0
    with pytest.raises(ValueError, match="on must be"):
        wb.history(points).points(on="when")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="at must be a day or a time"):
        wb.history(points).filter(at="soon").points()


def test_the_liability_at_each_end_of_month(points: pd.DataFrame) -> None:
    """Each month's balance equals the points outstanding at its end."""
    made = wb.history(points).filter(tz="America/New_York").liability(usd_per_point=Decimal("0.01"))

    for end, outstanding in zip(made["end"], made["outstanding"], strict=True):
        assert outstanding == wb.history(points).filter(at=end.to_pydatetime()).points()["outstanding"][0]
    assert made["value_usd"].iloc[-1] == total(points) / 100
    assert made.attrs["complete"] is True


def test_rows_without_points_or_a_time_are_counted(points: pd.DataFrame) -> None:
    """Reported points and those left out add up to all points. Repeated rows are stated with their points."""
    frame = pd.concat([points, points.iloc[-3:]], ignore_index=True)
    frame.attrs = points.attrs
    frame.loc[0, "points"] = None
    frame.loc[[1, 4], "created_at"] = pd.NaT
    signed = frame["points"].where(frame["type"] != "redeemed", -frame["points"].abs())

    for report, column in ((wb.history(frame).points(), "outstanding"), (wb.history(frame).liability(), "outstanding")):
        left = {entry["reason"]: entry for entry in report.attrs["left_out"]}
        without = left["without created_at"]
        assert (without["rows"], without["points"]) == (2, frame["points"].iloc[[1, 4]].sum())
        assert report[column].iloc[-1] == signed.iloc[:-3].sum() - signed.iloc[[1, 4]].sum()
        notes = report.attrs["notes"]
        assert f"Left out: 2 rows without created_at (points {without['points'].normalize():,f})." in notes
        assert "Left out: 1 row without points." in notes
        repeated = f"Rows that occur more than once, as after concat: 3 (points {points['points'].iloc[-3:].sum().normalize():,f}); each counts once."
        assert repeated in notes


# balances and files


def test_balances_are_recorded_over_time(tmp_path: Path) -> None:
    """Each call appends the contracts' balances at the sandbox's time."""
    path = tmp_path / "balances.parquet"
    with wb.connect() as api:
        contracts = api.list_contracts()
        wb.history(api).record_balances(path)
        wb.history(api).record_balances(tmp_path / "other.parquet")
        api.sandbox.advance(days=1)
        made = wb.history(api).record_balances(path)
        value = wb.history(contracts).contracts(())["value_usd"][0]

    assert made["at"].drop_duplicates().diff().iloc[1] == timedelta(days=1)
    assert [sum(rows) for _, rows in made.groupby("at")["value_usd"]] == [value, value]
    assert made["chain"].notna().all()
    pd.testing.assert_frame_equal(made, wb.read_table(path))


def test_a_saved_frame_comes_back(tmp_path: Path, points: pd.DataFrame, world: Any) -> None:
    """A saved frame has the same types, attributes and notes when read back."""
    for frame in (points, world[1], wb.history(world[1]).approvals().drop(columns="day")):
        path = wb.to_file(frame, tmp_path / "frame.parquet", overwrite=True).path

        made = wb.read_table(path)
        pd.testing.assert_frame_equal(frame, made)
        assert made.attrs == frame.attrs
    (tmp_path / "a.parquet").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not a readable Parquet"):
        wb.read_table(tmp_path / "a.parquet")


def test_empty_data_makes_empty_reports() -> None:
    """Reports without data have no rows."""
    nothing = wb.history([]).transactions()
    for report in (
        (lambda x: wb.history(x).approvals()),
        (lambda x: wb.history(x).declines()),
        (lambda x: wb.history(x).spend()),
        (lambda x: wb.history(x).cohorts()),
        (lambda x: wb.history(x).changes()),
    ):
        assert len(report(nothing)) == 0
    assert wb.history(nothing).funnel()["amount_cents"].tolist() == [0] * 5


def test_points_taken_back_have_their_own_column(points: Any) -> None:
    """Negative earned rows are clawbacks. Earned, clawed back and redeemed give the balance."""
    earned = points[points["type"] == "earned"]["points"]
    total = wb.history(points).points().iloc[0]
    months = wb.history(points).liability()

    assert total["earned"] == sum(value for value in earned if value > 0)
    assert total["clawed_back"] == -sum(value for value in earned if value < 0) > 0
    assert total["earned"] - total["clawed_back"] - total["redeemed"] == total["outstanding"]
    for row, column in product((0, len(months) - 1), ("opening", "earned", "clawed_back", "redeemed", "outstanding")):
        assert sum(wb.history([]).explain(months, column, row)["contribution"], Decimal(0)) == months[column][row], (
            column
        )
    assert months["opening"].tolist() == [Decimal(0), *months["outstanding"].tolist()[:-1]]
    for name in ("earned", "clawed_back", "redeemed"):
        assert months[name].sum() == total[name]


def test_records_without_a_category_are_other(world: Any) -> None:
    """Stored records have the same merchant categories as the events."""
    _, frame, books = world
    own = wb.history(books).transactions().set_index("transaction_id")["merchant_category"]
    events = frame[frame["transaction_id"].isin(own.index)]
    refunds = frame[~frame["transaction_id"].isin(own.index)]  # the events show refunds as separate transactions

    assert own.to_dict() == events.set_index("transaction_id")["merchant_category"].to_dict()
    assert refunds["refunded_cents"].sum() == refunds["refunded_cents"].abs().sum() == -refunds["net_cents"].sum()


def test_rows_of_points_and_disputes_after_concat_count_once(points: Any) -> None:
    """Repeated rows of rewards and disputes count once, and a note has their number."""
    doubled = pd.concat([points, points.iloc[50:]], ignore_index=True)
    with wb.connect() as api:
        disputes = api.sandbox.records("dispute")
    twice = wb.history([*disputes, *disputes[:3]]).filter(at="2026-06-30").disputes()

    assert wb.history(doubled).points()["outstanding"].tolist() == wb.history(points).points()["outstanding"].tolist()
    assert (
        wb.history(doubled).liability()["outstanding"].tolist()
        == wb.history(points).liability()["outstanding"].tolist()
    )
    repeated = f"Rows that occur more than once, as after concat: {len(points) - 50:,} (points {points['points'].iloc[50:].sum().normalize():,f})"
    assert any(note.startswith(repeated) for note in wb.history(doubled).points().attrs["notes"])
    assert not any("more than once" in note for note in wb.history(points.drop(columns="id")).points().attrs["notes"])
    assert twice["disputes"].sum() == len(disputes)
    assert "Rows that occur more than once, as after concat: 3; each counts once." in twice.attrs["notes"]
    resolved = [{**record, "status": "canceled"} for record in disputes[:1]]
    for reads in ([*disputes, *resolved], [*resolved, *disputes]):
        with pytest.raises(UsageError, match="ids whose rows differ in status: 1; keep one row per id"):
            wb.history(reads).disputes()
