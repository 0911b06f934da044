"""The interactive HTML file of a panel, report or run: its content, and hostile text in it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from tests.canaries.planted import PERSON, found
from tests.panel.test_engine import HOSTILE
from tests.panel.test_engine import data_of as rows_of
from workbench.analysis.tables.rows import UNKNOWN
from workbench.screens.panel.file import document
from workbench.screens.panel.listing import Listing


def data_of(page: str) -> Any:
    """Return the data in a page."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    return json.loads(match[1])


def test_the_selection_comes_back_as_a_frame() -> None:
    """The frame has the selected rows in the page's order, also after new rows arrived."""
    api = wb.connect()
    card = api.sandbox.guide()["cards"]["active"][0]
    purchase = {"card_id": card, "currency": "USD", "merchant_name": "Example Shop", "merchant_category_code": "5411"}
    for amount in (1_000, 2_000, 3_000):
        api.simulate_authorization(amount=amount, **purchase)
    panel = wb.browse(api)
    mark = panel.answer({"do": "rows", "list": "transactions"})["mark"]
    assert len(panel.selection) == 0

    amounts = panel.lists["transactions"].data.column("amount_cents")
    rows = [amounts.index(cents) for cents in (3_000, 1_000)]

    answer = panel.answer({"do": "select", "list": "transactions", "mark": mark, "rows": [*rows, 99]})
    api.simulate_authorization(amount=500, **purchase)
    panel.answer({"do": "rows", "list": "transactions", "mark": mark})

    assert answer["count"] == 2
    assert panel.selection["amount_cents"].tolist() == [3_000, 1_000]
    stale = panel.answer({"do": "select", "list": "transactions", "mark": "x", "rows": [0]})
    assert "changed meanwhile" in stale["error"]


# static page


@pytest.fixture(scope="module")
def program() -> wb.Session:
    return wb.connect(world="program")


def test_hostile_text_is_data() -> None:
    rows = rows_of([(1, "USD", HOSTILE, "settled", None, None, None)])
    page = document(HOSTILE, [Listing("rows", lambda: rows)], notes=[HOSTILE])
    assert not any(text in page for text in ("<img", "\u202e", "\x1b"))
    assert page.count("</script>") == 2
    assert "Content-Security-Policy" in page
    # the address of the XML namespace is not a link
    assert {*re.findall(r"https?://[^\"]*", page)} == {"http://www.w3.org/2000/svg"}


@pytest.mark.slow
def test_a_panel_is_written_with_what_was_read(program: wb.Session, tmp_path: Path) -> None:
    panel = wb.browse(program)
    panel.open("transactions")
    panel.open("users")
    rows = sum(len(listing.data.ids) for listing in panel.lists.values() if listing.is_read)

    saved = wb.to_file(panel, tmp_path / "june.html")

    page = saved.path.read_text(encoding="utf-8")
    data = data_of(page)
    assert {one["name"] for one in data["lists"]} >= {"transactions", "users"}
    assert [tile["label"] for tile in data["overview"]["tiles"]][:2] == ["Net spend", "Approval rate"]
    assert saved.rows == rows > 9_000
    assert saved.path.stat().st_size < 2_000_000
    with pytest.raises(FileExistsError, match="overwrite"):
        wb.to_file(panel, saved.path)


@pytest.mark.slow
def test_no_private_value_is_in_a_file(tmp_path: Path) -> None:
    """The file of a panel contains no private value of a new applicant. `tests/canaries` covers the other files."""
    api = wb.connect(seed=7)
    user = api.create_user_application(**PERSON)
    panel = wb.browse(api)
    for name in panel.lists:
        panel.open(name)

    page = wb.to_file(panel, tmp_path / "all.html").path.read_text(encoding="utf-8")

    assert user.id in page
    assert found(page) == []


def test_a_frame_keeps_notes_and_units(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"net_cents": pd.array([1_234, None], "Int64"), "status": ["settled", "x"], "share": [0.25, 0.5]}
    )
    frame.attrs["notes"] = ("Two rows were left out.",)
    frame.attrs["complete"] = False

    page = wb.to_file(frame, tmp_path / "report.html").path.read_text(encoding="utf-8")

    data = data_of(page)
    assert [column["kind"] for column in data["lists"][0]["columns"]] == ["money", "status", "number"]
    assert data["lists"][0]["notes"] == ["This table is not complete.", UNKNOWN, "Two rows were left out."]
    assert "12.34 USD" in page  # a browser without JavaScript shows this text


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda frame: frame,
        lambda frame: frame.head(0),
        lambda frame: frame["net_cents"],
        lambda frame: frame.groupby("status", observed=True)["net_cents"].sum(),
        lambda frame: wb.charts.spend_chart(frame),
    ],
    ids=["frame", "empty", "column", "groups", "chart"],
)
def test_tables_and_charts_are_written(program: wb.Session, tmp_path: Path, make: Callable[[Any], Any]) -> None:
    frame = wb.history(program.sandbox.records("transaction")).transactions()
    page = wb.to_file(make(frame), tmp_path / "x.html").path.read_text(encoding="utf-8")
    assert len(data_of(page)["lists"]) == 1
    assert "<title></title>" not in page


@pytest.mark.slow
def test_ten_thousand_rows_take_two_megabytes(program: wb.Session, tmp_path: Path) -> None:
    frame = wb.history(program.sandbox.records("transaction")).transactions()
    many = pd.concat([frame, frame], ignore_index=True).head(10_000)
    assert wb.to_file(many, tmp_path / "many.html").path.stat().st_size <= 2_000_000


def test_a_run_is_written_as_its_steps(tmp_path: Path) -> None:
    run = wb.sequences.run(wb.connect(), wb.sequences.catalogue["refund-full"], progress=False)

    saved = wb.to_file(run, tmp_path / "run.html")

    page = saved.path.read_text(encoding="utf-8")
    assert saved.rows == len(run.steps) == len(data_of(page)["lists"][0]["ids"]["of"])
    assert "Refund full</" in page


def test_a_report_has_its_name_its_time_and_days(tmp_path: Path) -> None:
    """The file shows the report's name and time, and each period as the date of its first day."""
    frame = pd.DataFrame({"week": pd.to_datetime(["2026-01-05", None]), "rate": [2 / 3, 1]})
    frame.attrs |= {"kind": "approvals", "until": "2026-02-26T00:52:42+00:00"}

    page = wb.to_file(frame, tmp_path / "june.html").path.read_text(encoding="utf-8")

    week, rate = data_of(page)["lists"][0]["columns"]
    assert (week["kind"], rate["kind"]) == ("text", "number")
    assert all(text in page for text in ("Approvals</", "As of 2026-02-26 00:52:42 UTC", "2026-01-05</"))


def test_a_table_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    page = wb.to_file(pd.DataFrame({"status": [], "net_cents": []}), tmp_path / "x.html").path.read_text("utf-8")
    assert [column["kind"] for column in data_of(page)["lists"][0]["columns"]] == ["status", "number"]
