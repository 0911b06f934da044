"""Larger worlds: a card program with seasons, cohorts, churn, many merchants, and every decline reason."""

from collections import Counter

import pytest

from tests.sandbox.driver import Api
from workbench.sandbox import Sandbox
from workbench.service.interface.vocabulary import DeclineReason, DisputeStatus


@pytest.fixture(scope="module")
def program() -> Sandbox:
    return Sandbox(world="program")


def test_the_ids_of_the_small_world_are_in_every_world(program):
    small, large = Sandbox().guide(), program.guide()

    for kind in ("cards", "users", "disputes"):
        for state, ids in small[kind].items():
            assert ids == large[kind][state][: len(ids)]
    assert small["rewards_users"] == large["rewards_users"][: len(small["rewards_users"])]
    assert small["contracts"] == large["contracts"]


@pytest.mark.slow
def test_one_seed_makes_one_world(program):
    assert program.records("transaction") == Sandbox(world="program").records("transaction")
    assert program.records("transaction") != Sandbox(2, world="program").records("transaction")


def test_at_least_200_people_buy(program):
    bought = Counter(one["user"] for one in program.records("transaction"))

    assert sum(count > 1 for count in bought.values()) >= 200
    assert max(bought.values()) > 20 * min(bought.values())
    assert len(program.guide()["rewards_users"]) >= 200


def test_every_card_adds_up_within_its_limit(program):
    held: Counter[str] = Counter()
    for one in program.records("transaction"):
        held[one["card"]] += one["settled"] - one["refunded"] + one["held"]

    for card in program.records("card"):
        assert card["limit"] == card["available"] + card["held"] + card["posted"] - card["refunded"]
        assert card["limit"] - card["available"] == held[card["id"]]
        assert card["available"] >= 0


def test_everything_occurs_and_nothing_lies_ahead(program):
    """Every decline reason and dispute status occurs, and no time is later than the clock."""
    spent = program.records("transaction")
    now = program.clock.ms

    assert {one["declined_reason"] for one in spent} == {None, *DeclineReason}
    assert {"authorized", "declined", "reversed", "settled"} == {one["status"] for one in spent}
    assert {one["status"] for one in program.records("dispute")} == set(DisputeStatus)
    assert any(0 < one["refunded"] < one["settled"] for one in spent)
    assert all(max(one["authorized_at"], one["posted_at"] or 0) <= now for one in spent)
    assert all((one["resolved_at"] or 0) <= now for one in program.records("dispute"))


def test_people_join_each_month_and_some_leave(program):
    members = [one for one in program.records("user") if one["last_name"] == "Example"]
    joined = Counter((one["created_at"] // 86_400_000 * 12) // 365 for one in members)

    assert len(joined) >= 11
    assert 20 < sum(not one["is_active"] for one in members) < 100
    merchants = Counter(one["merchant_name"] for one in program.records("transaction"))
    assert len(merchants) > 150
    assert merchants.most_common(1)[0][1] > 20 * min(merchants.values())


@pytest.mark.slow
def test_the_points_are_those_of_the_purchases(program):
    """Each settled purchase earned points for its amount, and each refund took points back."""
    api = Api(program)
    members = [one["id"] for one in program.records("user") if one["last_name"] == "Example"]
    for user in members[::40]:
        spent = [one for one in program.records("transaction") if one["user"] == user and one["settled"]]
        items = []
        while len(items) % 100 == 0:
            page = api.call(
                "GET", "/issuing/rewards/activity", userId=user, limit=100, offset=len(items), type="earned"
            )
            items += page.body["items"]
            if not page.body["items"]:
                break
        amounts = Counter(one["transactionAmountCents"] for one in items)
        wanted = Counter(one["settled"] for one in spent) + Counter(
            -one["refunded"] for one in spent if one["refunded"]
        )

        assert amounts == wanted
