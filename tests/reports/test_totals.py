"""Totals of reports: net is posted minus refunded in each row, and the sums equal the sandbox's transactions."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from workbench.analysis.reports.history import History

MONEY = ["posted_cents", "refunded_cents", "net_cents"]
REPORTS: dict[str, Callable[[History], pd.DataFrame]] = {
    "transactions": History.transactions,
    "postings": History.postings,
    "spend by category": History.spend,
    "spend by card": lambda history: history.spend("card_id"),
}
PERIODS: dict[str, Callable[[History], pd.DataFrame]] = {
    "spend by month and merchant": lambda history: history.spend("merchant_name", freq="month"),
    "months rolled forward": History.roll_forward,
}


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wb.Sandbox]:
    """Yield a sandbox with the purchases of 60 users, some of them refunded."""
    path: Path = tmp_path_factory.mktemp("totals") / "program.toml"
    path.write_text("size = 60\nrefunded = 0.2\n")
    with wb.Sandbox(seed=3, world=path) as made:
        yield made


@pytest.fixture(scope="module")
def history(sandbox: wb.Sandbox) -> History:
    return wb.history(sandbox)


@pytest.mark.parametrize("name", [*REPORTS, *PERIODS])
def test_net_is_posted_less_refunded(history: History, name: str) -> None:
    """In each row of each report, net equals posted minus refunded."""
    rows = {**REPORTS, **PERIODS}[name](history)[MONEY].fillna(0)

    assert rows["refunded_cents"].any()
    assert (rows["net_cents"] == rows["posted_cents"] - rows["refunded_cents"]).all()


@pytest.mark.parametrize("name", REPORTS)
def test_the_rows_are_all_that_was_settled_and_refunded(sandbox: wb.Sandbox, history: History, name: str) -> None:
    """Reports without a period include all transactions."""
    stored = sandbox.records("transaction")
    settled, refunded = (sum(row.get(amount, 0) for row in stored) for amount in ("settled", "refunded"))
    rows = REPORTS[name](history)

    assert [settled, refunded, settled - refunded] == [int(rows[column].sum()) for column in MONEY]
