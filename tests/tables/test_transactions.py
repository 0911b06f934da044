"""Transactions from events: amounts equal the sandbox's own records, in any order of events."""

import random
from datetime import timedelta
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.each import some
from workbench.analysis.tables.frames import to_frame
from workbench.base.errors import ApiError
from workbench.base.schema.rules import FULL

MONEY = ["held_cents", "posted_cents", "refunded_cents"]
AMOUNTS = st.one_of(st.integers(1, 300_000), st.just(10**9))
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["buy", "buy", "decline", "settle", "settle all", "reduce", "reverse", "refund", "refund all", "wait"]),
        st.integers(0, 5), AMOUNTS,
    ),
    max_size=14,
)  # fmt: skip


def play(api: Any, cards: list[str], actions: list[tuple[str, int, int]]) -> None:
    """Apply the actions, and ignore refusals."""
    known: list[str] = []
    for action, number, amount in actions:
        spend = {"currency": "USD", "merchant_name": f"Shop {number}", "merchant_category_code": "5411"}
        transaction = known[number % len(known)] if known else "00000000-0000-4000-8000-000000000000"
        try:
            if action in {"buy", "decline"}:
                reason = {"decline_reason": "card_locked"} if action == "decline" else {}
                card = cards[number % len(cards)]
                known.append(api.simulate_authorization(card_id=card, amount=amount, **spend, **reason).transaction_id)
            elif action in {"settle", "settle all"}:
                api.sandbox.settle(transaction, *([amount] if action == "settle" else []))
            elif action in {"reduce", "reverse"}:
                api.simulate_reversal(transaction_id=transaction, new_amount=FULL if action == "reverse" else amount)
            elif action == "wait":
                api.sandbox.advance(hours=number + 1)
            else:
                api.simulate_refund(transaction_id=transaction, amount=FULL if action == "refund all" else amount)
        except ApiError:
            pass


@pytest.mark.slow
@pytest.mark.parametrize("behavior", some(2, ["documented", "observed"]))
@settings(deadline=None)
@given(actions=ACTIONS, seed=st.integers(0, 9))
def test_every_card_adds_up_to_its_balance(behavior: Any, actions: list[tuple[str, int, int]], seed: int) -> None:
    """Held, posted and refunded amounts equal the card balances, also with shuffled and repeated events."""
    with wb.connect(behavior=behavior) as api:
        cards = api.sandbox.guide()["cards"]["active"][:2]
        before = {card: api.sandbox.balance(card) for card in cards}
        play(api, cards, actions)
        shuffled = [*api.inbox.events(), *api.inbox.events()]
        random.Random(seed).shuffle(shuffled)

        # a session also has transactions from before `play`; the list has only newer events (start = 1)
        for source, start in ((api, 0), (shuffled, 1)):
            frame = wb.history(source).transactions()
            sums = frame.groupby("card_id")[MONEY].sum()
            for card in cards:
                now, made = api.sandbox.balance(card), sums.loc[card] if card in sums.index else dict.fromkeys(MONEY, 0)
                assert {
                    f"{name}_cents": getattr(now, name) - start * getattr(before[card], name)
                    for name in ("held", "posted", "refunded")
                } == dict(made)
            assert (frame["net_cents"] == frame["posted_cents"] - frame["refunded_cents"]).all()


@pytest.fixture(scope="module")
def api() -> Any:
    with wb.connect(behavior={"refund_event_id": "transaction", "refund_event_created": False}) as made:
        card = made.sandbox.guide()["cards"]["active"][0]
        play(made, [card], [
            ("buy", 0, 10_000), ("settle all", 0, 1), ("wait", 4, 1), ("refund", 0, 1_500), ("buy", 0, 5_000), ("reverse", 1, 1),
            ("decline", 0, 700), ("buy", 0, 900), ("buy", 0, 800), ("settle all", 4, 1), ("refund all", 4, 1),
        ])  # fmt: skip
        yield made


def test_one_row_for_each_transaction(api: Any) -> None:
    """Each transaction has its amounts, status, reason and times. Delivery times date refunds."""
    frame = wb.history(api.sandbox.events()).transactions()

    assert frame["status"].tolist() == ["settled", "reversed", "declined", "authorized", "refunded"]
    assert frame["authorized_cents"].tolist() == [10_000, 5_000, 700, 900, 800]
    assert frame["net_cents"].tolist() == [8_500, 0, 0, 0, 0]
    assert frame["declined_reason"].tolist()[2] == "card locked"
    assert frame["refunded_at"][0] - frame["posted_at"][0] == timedelta(hours=5)
    assert frame["posted_at"].isna().tolist() == [False, True, True, True, False]
    assert set(frame[["authorized_cents", *MONEY, "net_cents"]].dtypes.astype(str)) == {"Int64"}


def test_events_alone_say_what_they_cannot_know(api: Any) -> None:
    """Without delivery times refunds have no time, and a note counts them."""
    frame = wb.history(api.inbox.events()).transactions()

    assert frame["refunded_at"].isna().all()
    assert "Refunded transactions without a refund time: 2 (refunded 23.00 USD)." in frame.attrs["notes"]


@pytest.mark.slow
def test_inbox_frame_run_and_log_give_the_same(api: Any, tmp_path: Any) -> None:
    """Every source of the same events gives the same transactions."""
    log = tmp_path / "events.ndjson"
    log.write_bytes(b"\n".join(one.raw for one in api.inbox.stored()))
    expected = wb.history(api.inbox.events()).transactions().drop(columns=["updated_at", "refunded_at"])

    for given_ in (api.inbox, to_frame(api.inbox), wb.events.read_log(log), api.sandbox.events()):
        made = wb.history(given_).transactions().drop(columns=["updated_at", "refunded_at"])
        pd.testing.assert_frame_equal(expected, made[made["card_id"].isin(expected["card_id"])].reset_index(drop=True))
    run = wb.sequences.run(api, wb.sequences.catalogue["refund-partial"])
    made = wb.history(run).transactions()

    assert (len(made), made["refunded_cents"].sum()) == (1, run.ledger().entries[-1].amount)


def test_no_events_have_the_same_columns(api: Any) -> None:
    """Without events the columns and types are the same."""
    pd.testing.assert_series_equal(wb.history([]).transactions().dtypes, wb.history(api).transactions().dtypes)


def test_each_event_has_a_time_that_says_where_it_is_from(api: Any) -> None:
    """`at_source` names the origin of a time: the delivery, or a member of the event."""
    assert set(to_frame(api)["at_source"]) == {"delivery"}
    assert to_frame(api)["at"].dt.year.unique().tolist() == [2026]
    own = to_frame(api.inbox.events())

    assert set(own["at_source"]) == {"body.spend.authorized_at", "body.spend.posted_at"}
    assert own["at"].notna().all()


def test_patterns_of_kinds(api: Any) -> None:
    """`transaction.*` selects the four kinds of transaction events."""
    frame = to_frame(api.inbox.events(), of="transaction.*")

    assert set(frame["kind"]) == {
        f"transaction.{action}" for action in ("requested", "created", "updated", "completed")
    }


def test_the_books_of_a_sandbox_give_the_same(api: Any) -> None:
    """Stored transactions have the amounts of their events, and add up to the card balances."""
    from_events = wb.history(api.sandbox.events()).transactions().set_index("transaction_id")
    books = wb.history(api.sandbox.records("transaction")).transactions()
    same = books.set_index("transaction_id").loc[from_events.index]

    assert list(books.columns) == [from_events.index.name, *from_events.columns]
    assert (
        same[["status", "authorized_cents", *MONEY]]
        .astype(object)
        .equals(from_events[["status", "authorized_cents", *MONEY]].astype(object))
    )
    for card, sums in books.groupby("card_id")[MONEY].sum().iterrows():
        balance = api.sandbox.balance(card)
        assert [balance.held, balance.posted, balance.refunded] == sums.tolist()
