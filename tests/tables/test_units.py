"""Units of amounts are in column names, equal in each file format, and marked as unknown after a rename."""

from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

import workbench as wb
from workbench import charts
from workbench.analysis.tables.rows import UNKNOWN
from workbench.service.rendering.text import money


@pytest.fixture(scope="module")
def transactions() -> Any:
    with wb.connect() as api:
        wb.sequences.run(api, wb.sequences.catalogue["a-cardholders-month"], progress=False)
        return wb.history(api).transactions()


def heads(path: Path) -> list[Any]:
    if path.suffix == ".csv":
        return [*pd.read_csv(path)]
    if path.suffix == ".parquet":
        return [*wb.read_table(path)]
    return [cell.value for cell in openpyxl.load_workbook(path)["data"][1]]


@pytest.mark.slow
def test_amounts_have_their_unit_in_the_name(transactions: pd.DataFrame) -> None:
    """In money reports, each column of whole numbers is a count or ends with `_cents`."""
    postings = wb.history([]).postings()
    made = [transactions, postings, wb.history(transactions).spend(), wb.history(transactions).funnel()]
    made += [
        wb.history(transactions).declines(),
        wb.history(transactions).cohorts(),
        wb.history(transactions).changes(),
    ]
    counts = {"transactions", "declined", "month", "users", "increases", "settlements", "refunds"}

    for frame in [*made, wb.history(postings).roll_forward()]:
        whole = {str(name) for name in frame if str(frame[name].dtype) == "Int64"} - counts
        assert whole == {name for name in frame if str(name).endswith("_cents")}, frame.attrs["kind"]


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_files_agree(transactions: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    """Each format has the same column names and numbers."""
    path = tmp_path / f"a{suffix}"
    wb.to_file(transactions, path)
    read = {".csv": pd.read_csv, ".xlsx": pd.read_excel, ".parquet": wb.read_table}[suffix](path)

    assert heads(path) == [*transactions]
    assert read["net_cents"].tolist() == transactions["net_cents"].tolist()


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_a_renamed_amount_has_no_known_unit(transactions: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    wb.to_file(transactions.rename(columns={"net_cents": "Net spend"}), path)
    notes = (
        (tmp_path / "a.csv.notes.txt").read_text()
        if suffix == ".csv"
        else openpyxl.load_workbook(path)["notes"].cell(1, 1).value
    )

    assert "Net spend (unit unknown)" in heads(path)
    assert "posted_cents" in heads(path)
    assert "The unit of Net spend is unknown" in notes


def test_a_merge_says_that_completeness_is_unknown(transactions: pd.DataFrame, tmp_path: Path) -> None:
    """After a merge, reports and files note that completeness is unknown."""
    merged = transactions.merge(pd.DataFrame({"card_id": transactions["card_id"].unique(), "team": "A"}), on="card_id")
    wb.to_file(merged, tmp_path / "a.csv")

    assert UNKNOWN in (tmp_path / "a.csv.notes.txt").read_text()
    assert UNKNOWN in wb.history(merged).spend().attrs["notes"]
    assert UNKNOWN in wb.history(merged).changes().attrs["notes"]
    assert "net_cents" in merged
    wb.to_file(pd.DataFrame({"a": [1]}), tmp_path / "b.csv")
    assert not (tmp_path / "b.csv.notes.txt").exists()  # a frame that the workbench did not create has no notes


@pytest.mark.slow
def test_a_query_keeps_notes_and_says_which_unit_is_lost(transactions: pd.DataFrame, tmp_path: Path) -> None:
    query = (
        "select card_id, sum(net_cents) as net, sum(net_cents) as net_cents, count(net_cents) as n from t group by all"
    )
    made = wb.sql(query, t=transactions)
    partly = transactions.copy()
    partly.attrs = {**transactions.attrs, "complete": False, "notes": ["Rows of May are missing."]}
    wb.to_file(made, tmp_path / "a.csv")

    assert heads(tmp_path / "a.csv") == ["card_id", "net (unit unknown)", "net_cents", "n"]
    assert wb.sql("select count(*) as n from t", t=partly).attrs["notes"] == [
        "t: not complete, rows are missing.",
        "t: Rows of May are missing.",
    ]
    assert wb.sql("select a from t", t=pd.DataFrame({"a": [1]})).attrs["notes"] == [f"t: {UNKNOWN}"]


def test_minor_units_follow_iso_4217() -> None:
    """Yen have no decimals, and Kuwaiti dinars have three."""
    assert [money(29_552, "jpy"), money(-29_552, "USD"), money(1_234, "KWD"), money(5, "kwd")] == [
        "29,552 JPY",
        "-295.52 USD",
        "1.234 KWD",
        "0.005 KWD",
    ]


def test_a_chart_of_yen(transactions: pd.DataFrame) -> None:
    """A chart of yen is labeled and scaled in yen."""
    yen = transactions.assign(currency="jpy")
    yen.attrs = transactions.attrs
    funnel = wb.history(yen).filter(currency="jpy").funnel()
    axes = charts.spend_chart(funnel)

    assert axes.get_xlabel() == "JPY"
    assert max(patch.get_width() for patch in axes.patches) == funnel["amount_cents"].max()
