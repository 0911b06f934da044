"""The pages on tables agree with the code."""

import re
import sqlite3
from contextlib import closing
from decimal import Decimal
from importlib import import_module
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

import workbench as wb
from docs import make_cookbook
from tests.tables.listing import HEAD, PAGE, listing

DOC = Path(__file__).parents[2] / "docs" / "tables.md"


@pytest.mark.slow
def test_the_list_of_frames_is_that_of_the_code() -> None:
    """`python -m tests.tables.listing` does not change the list of frames."""
    assert [*HEAD, *listing()] == PAGE.read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
def test_other_libraries_take_a_frame_as_the_page_says(tmp_path: Path) -> None:
    """Each expression in the page's table of other libraries works, with exact sums."""
    with wb.connect(seed=1) as api, closing(sqlite3.connect(tmp_path / "rewards.db")) as connection:
        frame = wb.rewards.fetch(api, api.sandbox.guide()["rewards_users"][0]["id"], progress=False).frame()
        listed = DOC.read_text().split("| Tested code |")[1].split("\n\n")[0]
        ways = re.findall(r"^\|[^|]*\| `(.*)` \|$", listed, re.MULTILINE)
        names = {"frame": frame, "connection": connection, "path": tmp_path / "rewards.xlsx"}
        import_module("plotly.express")
        libraries = {name: import_module(name) for name in ("duckdb", "polars", "plotly")}
        found = [eval(way, names | libraries) for way in ways]
        total = found[0].fetchall()
        stored = connection.execute("select points from rewards").fetchall()

    assert total == [(frame["points"].sum(),)]
    assert found[1]["points"].sum() == frame["points"].sum()
    assert sum(len(line.y) for line in found[2].data) == len(frame)
    assert str(found[3]["points"].dtype) == "decimal128(18, 6)[pyarrow]"
    assert sum(Decimal(points) for (points,) in stored) == frame["points"].sum()
    assert len(pd.read_excel(names["path"])) == len(frame) == openpyxl.load_workbook(names["path"]).active.max_row - 1
    assert len(found) == 6


@pytest.mark.slow
def test_the_cookbook_shows_what_its_code_gives() -> None:
    """`python docs/make_cookbook.py` does not change the cookbook."""
    assert make_cookbook.page() == make_cookbook.PAGE.read_text(encoding="utf-8")
