"""Each number of a report has explaining rows, which add up exactly to it."""

import re
import runpy
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from workbench.base.errors import UsageError

COOKBOOK = Path(__file__).parents[2] / "docs" / "cookbook.md"
MAKE = runpy.run_path(str(COOKBOOK.with_name("make_cookbook.py")))
OF = re.compile(r"(?P<statistic>sum|median|0\.9 quantile|largest) of|divided by (?P<divisor>[0-9,]+)")


def by_other_code(number: Any, explained: pd.DataFrame) -> bool:
    """Return whether the contributions give the number by the formula's arithmetic."""
    values = [Decimal(str(value)) for value in explained.iloc[:, 0] if not pd.isna(value)]
    rule = OF.search(explained.attrs["formula"])
    if pd.isna(number):
        return not values or rule is None
    if rule is None:
        return str(number) == explained.attrs["number"]
    if rule["divisor"]:
        return float(number) == pytest.approx(float(sum(values)) / int(rule["divisor"].replace(",", "")), rel=1e-15)
    if rule["statistic"] == "sum":
        return Decimal(str(number)) == sum(values)
    if rule["statistic"] == "largest":
        return float(number) == float(max(values))
    return float(min(values)) <= float(number) <= float(max(values))


@pytest.fixture(scope="module")
def cookbook(tmp_path_factory: Any) -> dict[str, pd.DataFrame]:
    """Return the reports in the cookbook by heading."""
    names: dict[str, Any] = {}
    shown = {}
    text = COOKBOOK.read_text()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("cookbook"))
        for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
            for block in MAKE["BLOCK"].finditer(part):
                value = MAKE["run"](block["code"], names)
                if isinstance(value, pd.DataFrame):
                    shown[part.split("\n")[0]] = value
    return {**shown, "One row for each transaction": names["transactions"]}


def numbers(frame: pd.DataFrame) -> Iterator[tuple[int, str]]:
    """Yield the numeric cells of a report."""
    for column in frame:
        numeric = pd.api.types.is_numeric_dtype(frame[column]) and frame[column].dtype != "boolean"
        if numeric and column not in ("chain_id", "month", "version"):
            yield from ((row, str(column)) for row in range(len(frame)))


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_every_cell_of_the_cookbook(cookbook: dict[str, pd.DataFrame]) -> None:
    """Amounts, counts and rates of the cookbook's reports are recomputed from their explanations."""
    checked, without = {}, []
    records = {"time_in_status", "balances"}
    for heading, frame in cookbook.items():
        if "trace" not in frame.attrs and frame.attrs.get("kind") not in records:
            without.append(heading)
            continue
        chosen = [(row, column) for row, column in numbers(frame) if row < 40 and column != "local_amount_cents"]
        for row, column in chosen:
            explained = wb.history([]).explain(frame, column, row)
            assert by_other_code(frame[column].iloc[row], explained), (heading, row, column)
        checked[heading] = len(chosen)

    assert len(checked) == 17
    assert sum(checked.values()) > 400
    assert set(without) == {"Events by day and kind", "Any question, in SQL"}


@pytest.fixture(scope="module")
def spend() -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield a session and its spend report: two purchases, one of them refunded, and one in yen."""
    with wb.connect(behavior={"refund_event_id": "transaction", "refund_event_created": False}) as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        for amount, back in ((1_000, 0), (2_500, 700), (400, 0)):
            bought = api.simulate_authorization(
                card_id=card, amount=amount, currency="USD", merchant_name="Shop", merchant_category_code="5411",
            )  # fmt: skip
            api.sandbox.settle(bought.transaction_id)
            if back:
                api.simulate_refund(transaction_id=bought.transaction_id, amount=back)
        transactions = wb.history(api.sandbox.events()).postings()
        transactions.loc[transactions["requested_cents"] == 400, "currency"] = "jpy"
        last = transactions["transaction_id"][transactions["requested_cents"] == 400].iloc[0]
        transactions.loc[transactions["transaction_id"] == last, "currency"] = "jpy"
        yield api, wb.history(transactions).filter(currency="usd").spend("merchant_name")


@pytest.mark.slow
def test_postings_events_and_requests(spend: Any) -> None:
    """A net amount is the sum of its postings. Each has its event and, if known, its request."""
    api, frame = spend
    explained = wb.history(api).explain(frame, "net_cents", 0)
    events = {event.payload["id"] for event in api.sandbox.events()}

    assert explained["contribution_cents"].tolist() == [1_000, 2_500, -700]
    assert explained["posting"].tolist() == ["settlement", "settlement", "refund"]
    assert set(explained["event_id"]) <= events
    assert explained["requests"].iloc[2].startswith("simulate_refund 200")

    bought = wb.history(api).transactions()
    net = wb.history(api).explain(bought, "net_cents", bought["refunded_cents"].tolist().index(700))
    assert net[["posting", "contribution_cents"]].to_numpy().tolist() == [["settlement", 2_500], ["refund", -700]]
    assert explained.attrs["number"] == "2800"
    assert any("Left out: 1 posting in JPY (posted 400 JPY, net 400 JPY)." in note for note in explained.attrs["notes"])


@pytest.mark.slow
def test_each_number_of_each_report(spend: Any) -> None:
    """The contributions to a number give the number by the formula's arithmetic."""
    api, _ = spend
    booked, known = wb.history(api).postings(), wb.history(api).transactions()
    frames = [
        booked,
        known,
        wb.history(booked).roll_forward(),
        wb.history(booked).changes(),
        wb.history(booked).spend(freq="month"),
        wb.history(known).spend(),
        wb.history(known).approvals(freq="month"),
        wb.history(known).funnel(),
        wb.history(known).cohorts(),
        wb.history(known).posting_times(),
    ]
    for number, frame in enumerate(frames):
        for row, column in numbers(frame):
            if row == (3 if number % 2 and len(frame) > 3 else 0) and column != "local_amount_cents":
                explained = wb.history([]).explain(frame, column, row)

                assert by_other_code(frame[column].iloc[row], explained), (frame.attrs["kind"], row, column)
                assert "index" not in explained


@pytest.mark.slow
@pytest.mark.parametrize("column", ["opening_cents", "closing_cents"])
def test_a_balance_is_the_sum_of_all_periods_until_it(column: str) -> None:
    """Contributions to opening and closing balances add up to the balance."""
    with wb.connect() as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        for amount in (1_000, 500, 250):
            api.simulate_authorization(
                card_id=card, amount=amount, currency="USD", merchant_name="Shop", merchant_category_code="5411"
            )
            api.sandbox.advance(days=2)
        frame = wb.history(api).roll_forward("day")
    for row in range(len(frame) - 5, len(frame)):
        explained = wb.history([]).explain(frame, column, row)
        assert explained["contribution_cents"].sum() == frame[column][row]
    assert frame[column].iloc[-1] >= 1_500


@pytest.mark.slow
def test_the_difference_of_two_numbers(spend: Any) -> None:
    """The rows that are in only one of two numbers add up to their difference."""
    api, frame = spend
    history = wb.history(api).filter(currency="usd")
    whole, before = history.spend("merchant_name"), history.filter(at=api.sandbox.clock.now()).spend("merchant_name")
    row = whole.index[whole["merchant_name"] == "Shop"][0]
    explained = history.explain(whole, "net_cents", row, minus=(frame, "net_cents", 0))

    assert len(before)
    assert explained["contribution_cents"].sum() == whole["net_cents"][row] - frame["net_cents"][0] == 400
    assert len(explained) == 1


def test_a_total_and_several_rows(spend: Any) -> None:
    """The total of a column, or of some of its rows, is explained."""
    api, _ = spend
    history = wb.history(api)
    months = history.spend(freq="month")
    total = history.explain(months, "net_cents")

    assert total["contribution_cents"].sum() == months["net_cents"].sum()
    assert history.explain(months, "net_cents", [0, 1])["contribution_cents"].sum() == months["net_cents"][:2].sum()


def test_what_cannot_be_explained_is_refused(spend: Any) -> None:
    """Changed numbers, frames without a trace, texts and missing cells are refused."""
    _, frame = spend
    changed = frame.assign(net_cents=frame["net_cents"] + 1)
    bare = pd.DataFrame(frame)
    bare.attrs = {}
    for given, row, column, problem in (
        (changed, 0, "net_cents", "the frame was changed"),
        (bare, 0, "net_cents", "not a report that this process computed"),
        (frame, 0, "merchant_name", "not a number computed from rows"),
        (frame.drop(columns="merchant_name"), 0, "net_cents", "which identifies a row"),
        (frame, 9, "net_cents", "position from 0"),
        (frame, 0, "nett", "net_cents"),
    ):
        with pytest.raises(UsageError, match=problem):
            wb.history([]).explain(given, column, row)
