"""Postings: each movement has its own time, so closed periods keep their figures."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings

import workbench as wb
from tests.each import some
from tests.tables.test_transactions import ACTIONS, play
from workbench.base.errors import UsageError

SPEND = {"currency": "USD", "merchant_name": "Shop", "merchant_category_code": "5411"}


def bought(api: Any, cents: int) -> str:
    card = api.sandbox.guide()["cards"]["active"][0]
    return str(api.simulate_authorization(card_id=card, amount=cents, **SPEND).transaction_id)


@pytest.mark.slow
@pytest.mark.parametrize("behavior", some(2, ["documented", "observed"], start=1))
@settings(deadline=None)
@given(actions=ACTIONS)
def test_the_roll_forward_ties_to_the_books(behavior: Any, actions: list[tuple[str, int, int]]) -> None:
    """The last closing balance equals the cards' holds, and the sum of net amounts equals what they were charged."""
    with wb.connect(behavior=behavior) as api:
        cards = api.sandbox.guide()["cards"]["active"][:2]
        play(api, cards, actions)
        charged = {record["card"] for record in api.sandbox.records("transaction")}
        balances = [api.sandbox.balance(card) for card in charged]
        table = wb.history(api).roll_forward("day")

    moved = {name: sum(getattr(now, name) for now in balances) for name in ("held", "posted", "refunded")}
    # refunds of records without events have no posting
    moved["refunded"] -= sum(entry["refunded_cents"] for entry in table.attrs["left_out"])
    assert moved["held"] == (table["closing_cents"].iloc[-1] if len(table) else 0)
    assert moved["posted"] - moved["refunded"] == table["net_cents"].sum()
    assert (
        table["opening_cents"] + table["authorized_cents"] - table["released_cents"] - table["settled_cents"]
        == table["closing_cents"]
    ).all()
    assert (table["opening_cents"].iloc[1:].to_numpy() == table["closing_cents"].iloc[:-1].to_numpy()).all()


@pytest.mark.slow
@pytest.mark.parametrize("behavior", ["documented", "observed"])
def test_a_closed_month_stays_closed(behavior: Any) -> None:
    """A settlement, release or refund in a later month changes no figure of an earlier month."""
    with wb.connect(behavior=behavior) as api:
        kept, refunded = bought(api, 5_000), bought(api, 10_000)
        api.sandbox.settle(refunded)
        january = wb.history(api.sandbox.events()).roll_forward()
        api.sandbox.advance(days=31)
        api.simulate_refund(transaction_id=refunded, amount=4_000)
        february = wb.history(api.sandbox.events()).roll_forward()
        api.sandbox.advance(days=31)
        api.sandbox.settle(kept, 3_000)
        march = wb.history(api.sandbox.events()).roll_forward()

    figures = [column for column in march if column != "running"]
    pd.testing.assert_frame_equal(january[figures], february[figures].iloc[:1], check_like=True)
    pd.testing.assert_frame_equal(february[figures], march[figures].iloc[:2], check_like=True)
    assert [table["running"].tolist() for table in (january, march)] == [[True], [False, False, True]]
    assert [10_000, -4_000, 3_000] == march["net_cents"].tolist()
    assert [5_000, 5_000, 0] == march["closing_cents"].tolist()


@pytest.mark.slow
def test_monthly_changes_book_a_refund_in_its_month() -> None:
    """A refund counts in its own month, so the month of the purchase keeps its net amount."""
    with wb.connect() as api:
        transaction = bought(api, 10_000)
        api.sandbox.settle(transaction)
        api.sandbox.advance(days=31)
        api.simulate_refund(transaction_id=transaction, amount=4_000)
        table = wb.history(api).transactions()

        for source in (api, wb.history(api).postings(), table):
            moved = wb.history(source).filter("2026-02").changes().iloc[0]
            assert (10_000, -4_000, -14_000) == (moved["before_cents"], moved["now_cents"], moved["change_cents"])


def test_a_refund_without_a_time_is_counted_in_the_notes() -> None:
    """Events without delivery times do not date a refund, so a note has its amount."""
    with wb.connect(behavior={"refund_event_id": "transaction", "refund_event_created": False}) as api:
        transaction = bought(api, 100)
        api.sandbox.settle(transaction)
        api.simulate_refund(transaction_id=transaction, amount=40)
        events = [listed.payload for listed in api.sandbox.events()]

    table = wb.history([wb.connect().converter.structure(event, wb.records.Event) for event in events])

    assert table.postings().loc[table.postings()["posting"] == "refund", "at"].isna().all()
    assert (
        "Left out: 1 posting with an unknown period (refunded 0.40 USD, net -0.40 USD)."
        in table.spend(freq="month").attrs["notes"]
    )


@pytest.mark.parametrize("month", ["March", "2026-13", "2026-3", ""])
def test_a_month_is_written_as_year_and_month(month: str) -> None:
    """Any other text for a month is refused with an example."""
    with pytest.raises(UsageError, match="must be a period such as"):
        wb.history([]).filter(month).changes()


# reports at a past moment


def test_disputes_at_a_moment_are_those_that_existed() -> None:
    """Later disputes are left out. A status that was set later is shown as unknown."""
    with wb.connect() as api:
        transaction = bought(api, 100)
        api.sandbox.settle(transaction)
        before = api.sandbox.clock.now()
        api.sandbox.advance(days=1)
        dispute = api.sandbox.open_dispute(transaction)
        opened = api.sandbox.clock.now()
        api.sandbox.advance(days=10)
        api.update_dispute(dispute_id=dispute.id, status="canceled")
        record = [one for one in api.sandbox.records("dispute") if one["id"] == dispute.id]

        assert 0 == wb.history(record).filter(at=before).disputes()["disputes"].sum()
        assert ["unknown"] == wb.history(record).filter(at=opened + timedelta(days=1)).disputes()["status"].tolist()
        later = wb.history(record).filter(at=opened + timedelta(days=90)).disputes()
    assert [("canceled", 10.0)] == list(zip(later["status"], later["oldest_days"], strict=True))


# balances of a partial read


@pytest.mark.slow
def test_a_balance_of_a_partial_read_needs_its_opening() -> None:
    """A balance of rows since a time requires `opening=`, the points before that time."""
    with wb.connect() as api:
        users = api.sandbox.guide()["rewards_users"][:3]
        every = wb.rewards.fetch(api, users, progress=False).frame()
        since = every["created_at"].sort_values().iloc[len(every) // 2]
        part = wb.rewards.fetch(api, users, since=since.to_pydatetime(), progress=False).frame()

    for report in ((lambda x: wb.history(x).points()), (lambda x: wb.history(x).liability())):
        with pytest.raises(UsageError, match="opening="):
            report(part)
    opening = wb.history(every).filter(at=since.to_pydatetime()).points()["outstanding"].iloc[0]
    total = wb.history(every).points()["outstanding"].iloc[0]
    assert total == wb.history(part).points(opening=opening)["outstanding"].iloc[0]
    assert total == wb.history(part).liability(opening=Decimal(opening))["outstanding"].iloc[-1]
    with pytest.raises(UsageError, match="both types"):
        wb.history(wb.rewards.fetch(api, users, type="earned", progress=False)).points()


@pytest.mark.slow
def test_a_slice_of_rewards_says_what_its_balance_lacks() -> None:
    """A note says if earlier rows were read but are not in the frame. Complete slices have no such note."""
    with wb.connect(seed=7) as api:
        rows = wb.rewards.fetch(api, api.sandbox.guide()["users"]["approved"][:2], progress=False).frame()
    is_later = rows["created_at"] > rows["created_at"].median()
    note = f"{int((~is_later).sum()):,} earlier rows of these users were read but are not in this frame, so balances lack them."

    for report in ((lambda x: wb.history(x).points()), (lambda x: wb.history(x).liability())):
        assert note in report(rows[is_later]).attrs["notes"]
        for complete in (rows, rows[~is_later], rows[rows["user_id"] == rows["user_id"].iloc[0]], rows.iloc[:0]):
            assert not [text for text in report(complete).attrs["notes"] if "not in this frame" in text]
