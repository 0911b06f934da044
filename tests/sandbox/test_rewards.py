"""Rewards activity: pages, filters, hidden rows, and a user beyond the limits of paging. Source: Endpoints 12."""

import itertools

import pytest

from workbench.sandbox import Sandbox

NOBODY = "00000000-0000-4000-8000-000000000000"


def page(api, user=None, **query):
    return api.call("GET", "/issuing/rewards/activity", userId=user or api.guide["rewards_users"][0]["id"], **query)


def everything(api, user, limit=100, **query):
    items = []
    found = None
    for offset in itertools.count(0, limit):
        if found is not None and len(found) < limit:
            break
        found = page(api, user, limit=limit, offset=offset, **query).body["items"]
        items += found
    return items


@pytest.fixture
def items(api):
    return everything(api, api.guide["rewards_users"][5]["id"])


def test_a_page_has_20_items_where_nothing_is_said(api):
    """The default limit is 20 and the default offset 0, and there is no total, hasMore or cursor."""
    body = page(api).body

    assert {"items"} == set(body)
    assert len(body["items"]) == 20
    assert body["items"] == page(api, limit=20, offset=0).body["items"]


@pytest.mark.parametrize(
    "query, status",
    [
        ({"limit": 1}, 200), ({"limit": 100}, 200), ({"limit": 0}, 400), ({"limit": 101}, 400), ({"limit": "x"}, 400),
        ({"offset": 0}, 200), ({"offset": 10_000}, 200), ({"offset": 10_001}, 400), ({"offset": -1}, 400),
        ({"type": "earned"}, 200), ({"type": "redeemed"}, 200), ({"type": "lost"}, 400), ({"customer": 1}, 200),
        ({"limit": ""}, 400), ({"limit": "1.0"}, 400), ({"limit": "9" * 400}, 400),
    ],
    ids=repr,
)  # fmt: skip
def test_the_limits_of_the_query(api, query, status):
    assert status == page(api, **query).status


def test_pages_join_without_gap_or_overlap(api, items):
    user = api.guide["rewards_users"][5]["id"]

    assert items == everything(api, user, limit=7)
    assert len(items) == len({one["id"] for one in items})


def test_the_newest_come_first(items):
    created = [one["createdAt"] for one in items]

    assert sorted(created, reverse=True) == created
    assert "2025-01-2" > created[-1] > "2025-01-0"


def test_a_filter_leaves_out_the_other_type_before_paging(api, items):
    user = api.guide["rewards_users"][5]["id"]

    for type_ in ("earned", "redeemed"):
        assert [one for one in items if one["type"] == type_] == everything(api, user, type=type_)


def test_open_and_failed_travel_rows_are_hidden(items):
    """Redemption rows with status PENDING or FAILED are hidden from the list."""
    assert {"COMPLETED"} == {one["status"] for one in items if one["type"] == "redeemed"}


def test_earned_rows_all_read_card_spend(items):
    """All earned rows have CARD_SPEND, also adjustments, which have no merchant."""
    earned = [one for one in items if one["type"] == "earned"]
    adjustments = [one for one in earned if "merchantName" not in one]

    assert {"CARD_SPEND"} == {one["reason"] for one in earned}
    assert adjustments
    assert all(one["points"].startswith("-") for one in adjustments)


def test_some_merchant_names_are_padded_with_blanks(items):
    names = {one["merchantName"] for one in items if "merchantName" in one}

    assert any(name != name.strip() for name in names)


def test_one_user_is_beyond_the_reach_of_paging(api):
    """A user has more than 10,100 visible rows, so the last possible page is full and more rows exist."""
    user = next(one["id"] for one in api.guide["rewards_users"] if one["beyond_paging"])

    assert len(page(api, user, limit=100, offset=10_000).body["items"]) == 100
    assert next(one["rows"] for one in api.guide["rewards_users"] if one["id"] == user) > 10_100


def test_an_unknown_user_is_404_and_one_without_activity_has_no_items(api):
    assert page(api, NOBODY).body["message"] == "User not found"
    assert page(api, api.guide["users"]["denied"][0]).body["items"] == []


def test_the_same_seed_gives_the_same_rows(api, items):
    other = Sandbox()

    from tests.sandbox.driver import Api

    assert items == everything(Api(other), api.guide["rewards_users"][5]["id"])


def test_wire_names_of_a_profile_are_honored():
    """Wire names of a profile apply to the parameters and members."""
    from tests.sandbox.driver import Api

    names = {"list_rewards_activity.user_id": "user", "rewards_item.points": "pts", "rewards_activity.items": "rows"}
    api = Api(Sandbox(wire_names=names))

    answer = api.call("GET", "/issuing/rewards/activity", user=api.guide["rewards_users"][0]["id"])

    assert "pts" in answer.body["rows"][0]
    assert api.call("GET", "/issuing/rewards/activity", userId=NOBODY).status == 400


def rows(api, user):
    return page(api, user, limit=100).body["items"]


def test_a_settled_purchase_earns_points_that_are_posted_and_minted_later(api):
    """Points follow the category's rate: 3 per dollar in restaurants, 1 for unknown codes."""
    user = api.sandbox.create.user().id
    card = api.sandbox.create.card(user).id
    for code, cents in (("5812", 1_999), ("9999", 1_999)):
        bought = api.authorize(card, cents, merchantCategoryCode=code).body["transactionId"]
        assert api.settle(bought, amount=cents).status == 200

    other, dining = rows(api, user)
    assert ("19", "59") == (other["points"], dining["points"])
    assert ("other", "dining", 1_999) == (
        other["spendCategory"], dining["spendCategory"], dining["transactionAmountCents"],
    )  # fmt: skip
    assert "postedAt" not in dining
    api.sandbox.advance(days=3)
    assert "postedAt" in rows(api, user)[1]
    api.sandbox.advance(days=9)
    minted = rows(api, user)[1]
    assert minted["createdAt"] < minted["postedAt"] < minted["mintedAt"]
    assert api.sandbox.redeem(user, 78).left == 0


def test_a_refund_takes_points_back(api):
    """Partial refunds together take back exactly the points of a full refund."""
    user = api.sandbox.create.user().id
    card = api.sandbox.create.card(user).id
    bought = api.authorize(card, 1_999).body["transactionId"]
    api.settle(bought, amount=1_999)
    for part in (33, 500, 1_466):
        api.refund(bought, amount=part)

    assert [-1_466, -500, -33, 1_999] == [one["transactionAmountCents"] for one in rows(api, user)]
    assert 0 == sum(int(one["points"]) for one in rows(api, user))


@pytest.mark.slow
def test_nothing_lies_in_the_sandboxs_future(api):
    """The newest rows are posted and minted only when the clock reaches these times."""
    now = api.sandbox.clock.text()
    seen = [one for user in api.guide["rewards_users"] for one in rows(api, user["id"])]

    assert all(one.get(name, "") <= now for one in seen for name in ("createdAt", "postedAt", "mintedAt"))
    assert any("mintedAt" not in one for one in seen if one["type"] == "earned")
    api.sandbox.advance(days=30)
    later = [one for user in api.guide["rewards_users"] for one in rows(api, user["id"])]
    assert all("mintedAt" in one for one in later if one["type"] == "earned")


@pytest.mark.slow
@pytest.mark.parametrize("world", ["small", "program"])
def test_the_guide_counts_what_a_complete_read_has(world):
    """The guide's `rows` equals a complete read, and `hidden` counts pending and failed redemptions."""
    from tests.sandbox.driver import Api

    sandbox = Sandbox(world=world)
    api = Api(sandbox)
    sandbox.redeem(api.guide["rewards_users"][0]["id"], 25, "PENDING")
    users = [one for one in sandbox.guide()["rewards_users"][:40] if not one["beyond_paging"]]

    assert {one["id"]: one["rows"] for one in users} == {one["id"]: len(everything(api, one["id"])) for one in users}
    assert users[0]["hidden"] > 0


@pytest.mark.slow
def test_the_guide_counts_what_is_listed_and_what_is_hidden(api):
    """The guide counts the listed and hidden rows of each user with rows, and lists no other user."""
    for user in api.guide["rewards_users"]:
        if not user["beyond_paging"]:
            assert user["rows"] == len(everything(api, user["id"]))
            assert user["hidden"] >= 0
    total = sum(user["hidden"] for user in api.guide["rewards_users"])
    rows = sum(user["rows"] for user in api.guide["rewards_users"])
    assert 0 < total < rows / 10

    new = api.sandbox.create.user().id
    assert new not in {user["id"] for user in api.sandbox.guide()["rewards_users"]}
