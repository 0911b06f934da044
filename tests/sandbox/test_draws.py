"""Purchases are drawn from the lists of a program file."""

from collections import Counter
from pathlib import Path

from workbench.sandbox.draws import Dice, draw, read_lists

PROGRAM = """
settle_hours = [2, 4]

[outcomes]
declined = 0.25
settled = 0.75

[[categories]]
code = "5411"
share = 3
ticket = [100, 300]
merchants = ["Grocery"]

[[categories]]
code = "4111"
share = 1
ticket = [50, 50]
merchants = ["Bus", "Train"]
"""


def test_purchases_have_the_shares_and_limits_of_their_lists(tmp_path: Path) -> None:
    """The same seed draws the same purchases."""
    path = tmp_path / "lists.toml"
    path.write_text(PROGRAM)
    dice, again, lists = Dice(1), Dice(1), read_lists(path)
    purchases = [draw(dice, lists) for _ in range(2_000)]

    assert purchases == [draw(again, lists) for _ in range(2_000)]
    merchants = Counter(purchase.merchant["merchant_name"] for purchase in purchases)
    assert 1_400 < merchants["Grocery"] < 1_600
    assert 200 < merchants["Bus"] < 300
    assert 200 < merchants["Train"] < 300
    assert {purchase.amount for purchase in purchases if purchase.merchant["merchant_category_code"] == "4111"} == {50}
    assert all(100 <= p.amount <= 300 for p in purchases if p.merchant["merchant_category_code"] == "5411")
    assert all(2 <= purchase.settle_hours <= 4 for purchase in purchases)
    declined = [purchase for purchase in purchases if purchase.outcome == "declined"]
    assert 400 < len(declined) < 600
    assert {purchase.decline_reason is None for purchase in declined} == {False}
    assert len({purchase.decline_reason for purchase in declined}) == 11
