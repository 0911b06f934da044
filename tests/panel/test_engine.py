"""The list engine of the page, compared with a simple list in Python, and the rows that the kernel sends."""

import json
import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.each import each
from tests.panel.script import Engine, Naive, at, engine, terms
from workbench.screens.panel.cells import MOST, Column, Rows, milliseconds
from workbench.screens.panel.listing import Listing, packed
from workbench.service import rendering
from workbench.service.rendering.text import guarded

assert engine  # pytest finds this imported fixture by its name
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\x1b[31m"
COLUMNS = (
    Column("id", "id"), Column("amount_cents", "money"), Column("currency", "hidden"), Column("merchant_name"),
    Column("status", "status"), Column("created", "time"), Column("balance", "number"), Column("user_id", "id", "users"),
)  # fmt: skip
NAMES = {"u-1": "A. L.", "u-2": "Ada"}
MOMENT = datetime(2026, 1, 31, 23, 59, 58, tzinfo=UTC)
WORDS = ["Example Shop", "Coats and More", "coffee", "Ünïcode", '"quoted"', "=1+1", "12:30 Lunch"]
ROW = st.tuples(
    st.none() | st.integers(-(10**9), 10**12),
    st.sampled_from(["USD", "EUR", "JPY", None]),
    st.none() | st.sampled_from(WORDS),
    st.none() | st.sampled_from(["settled", "manualReview", "declined"]),
    st.none() | st.integers(0, 10**8).map(lambda seconds: MOMENT + timedelta(seconds=seconds)),
    st.none() | st.decimals(-1000, 1000, places=3),
    st.none() | st.sampled_from(["u-1", "u-2", "u-3"]),
)
ROWS = st.lists(ROW, max_size=30)
TERMS = st.lists(
    st.sampled_from(
        ["coffee", "status:settled", "amount>200", "amount<=0.5", "amount=12.50", "balance>=-3", "balance!=1", "created>=2026-02",
         "created=2026-01", 'merchant:"coats and"', "merchant=coffee", "user:ada", "user=u-2", "nothing:here", "eur", "amount>x", "jpy",
         '"review"', "created<2027-01-01", "12:30"]
    ),
    max_size=3,
)  # fmt: skip
ORDER = st.lists(st.sampled_from([f"{sign}{column.name}" for column in COLUMNS for sign in ("", "-")]), max_size=2)


def data_of(rows: list[tuple[Any, ...]], ids: list[str] | None = None) -> Rows:
    ids = ids or [f"id-{number}" for number in range(len(rows))]
    filled = [
        (key, *(milliseconds(cell) if isinstance(cell, datetime) else cell for cell in row))
        for key, row in zip(ids, rows, strict=True)
    ]
    cells = tuple(map(list, zip(*filled, strict=True))) or ([],) * len(COLUMNS)
    return Rows(columns=COLUMNS, cells=cells, things=(None,) * len(rows), ids=ids, names=NAMES)


def sent(data: Rows) -> dict[str, Any]:
    return packed("transactions", data)


@settings(deadline=None)
@given(rows=ROWS, filter=TERMS, order=ORDER)
def test_the_page_filters_sorts_and_sums(engine: Engine, rows: Any, filter: list[str], order: Any) -> None:
    data, text = data_of(rows), " ".join(filter)
    naive = Naive(data)

    shown = engine("table", sent(data), {"filter": text, "sort": order})

    expected = naive.order(terms(text), order)
    assert shown["rows"] == expected
    assert shown["sums"] == naive.sums(expected)
    assert [line["id"] for line in shown["lines"]] == [data.ids[row] for row in expected]


@settings(deadline=None)
@given(rows=ROWS, filter=TERMS, order=ORDER, data=st.data())
def test_the_page_groups(engine: Engine, rows: Any, filter: list[str], order: Any, data: st.DataObject) -> None:
    """Groups, counts, subtotals and lines are right, and so are the sums of selected lines."""
    kept, text = data_of(rows), " ".join(filter)
    naive = Naive(kept)
    column = data.draw(st.sampled_from(["merchant_name", "status", "created", "balance", "user_id", "currency"]))
    passing = naive.order(terms(text), order)
    groups = naive.groups(passing, column, order)
    unfolded = data.draw(st.lists(st.sampled_from([*groups, "x"]), unique=True))
    lines: list[list[int]] = []
    for key, of in groups.items():
        lines += [[]] if key in unfolded else [of]
        lines += [[row] for row in of] if key in unfolded else []
    places = data.draw(st.lists(st.integers(0, len(lines) - 1), unique=True)) if lines else []
    view = {"filter": text, "sort": order, "group": column, "unfolded": unfolded}

    shown, chosen = engine("table", sent(kept), view), engine("chosen", sent(kept), view, places)

    heads = [line for line in shown["lines"] if "group" in line]
    labels = {one.name: one.label for one in COLUMNS}
    assert [(line["group"], line["count"]) for line in heads] == [(key, len(of)) for key, of in groups.items()]
    for line, of in zip(heads, groups.values(), strict=True):
        assert [[labels[name], total] for name, total in line["sums"].items()] == naive.sums(of)
    assert shown["rows"] == [row for of in groups.values() for row in of]
    assert len(shown["lines"]) == len(lines)
    assert shown["sums"] == naive.sums(passing)
    assert chosen["rows"] == [row for place in places for row in lines[place]]
    assert chosen["sums"] == naive.sums(chosen["rows"])


@settings(deadline=None)
@given(rows=ROWS, filter=TERMS)
def test_each_bar_of_a_summary_shows_its_rows(engine: Engine, rows: Any, filter: list[str]) -> None:
    """A bar's filter shows as many rows as the bar counts. Bars of numbers and times include every value."""
    data, text = data_of(rows), " ".join(filter)
    passing = Naive(data).order(terms(text), [])

    summary = engine("summary", sent(data), {"filter": text})

    for column, cells in zip(COLUMNS, data.cells, strict=True):
        found = summary[column.name]
        assert found["missing"] == sum(cells[row] is None for row in passing), column.name
        if column.kind in ("money", "number", "time"):
            assert sum(bar["count"] for bar in found["bars"]) == len(passing) - found["missing"], column.name
        for bar in found["bars"]:
            if bar["filter"]:
                shown = engine("table", sent(data), {"filter": " ".join([*filter, *bar["filter"]])})
                assert len(shown["rows"]) == bar["count"], (column.name, bar)


@settings(deadline=None)
@given(before=ROWS, added=ROWS, newest=st.sampled_from([None, "", "created"]), data=st.data())
def test_changes_make_the_rows_of_now(
    engine: Engine, before: Any, added: Any, newest: str | None, data: st.DataObject
) -> None:
    """After changed and added rows, the page equals a newly opened page. Unchanged rows are not sent."""
    ids = [f"id-{number}" for number in range(len(before))]
    new = [f"new-{number}" for number in range(len(added))]
    rows = [row if data.draw(st.booleans()) else data.draw(ROW) for row in before]
    if newest == "created":  # a list in order of time has a time in each row
        before, rows, added = (
            [(*row[:4], row[4] or MOMENT, *row[5:]) for row in some] for some in (before, rows, added)
        )
    readings = [data_of(before, ids), data_of([*rows, *added], [*ids, *new])]
    for reading in readings:
        reading.newest = newest
    listing = Listing("transactions", lambda: readings.pop(0))
    first = listing.columns()
    listing.read()
    change = listing.rows_since(first["mark"])

    shown = engine("updated", first, [change], {})
    opened = engine("table", listing.columns(), {})

    assert [line["cells"] for line in shown["lines"]] == [line["cells"] for line in opened["lines"]]
    assert shown["sums"] == opened["sums"]
    assert shown["places"] == opened["rows"]
    assert {line["id"] for line in shown["lines"] if line["fresh"]} == {*new}
    same = sum(row == was for row, was in zip(rows, before, strict=True))
    assert len(change["at"]) == len(rows) + len(added) - same  # rows that did not change are not sent


@pytest.mark.parametrize("later", ["fewer", "in another order", "with another label"])
def test_rows_that_moved_are_sent_anew(later: str) -> None:
    """If rows moved, all are sent again. A selection by the earlier positions is refused."""
    rows = [(1, "USD", "x", "settled", None, None, "u-1"), (2, "USD", "x", "settled", None, None, "u-2")]
    data = data_of(rows)
    others = {
        "fewer": data.only([1]),
        "in another order": data.only([1, 0]),
        "with another label": attrs.evolve(data, names={"u-1": "B. M."}),
    }
    readings = [data, others[later]]
    listing = Listing("rows", lambda: readings.pop(0))
    mark = listing.columns()["mark"]
    assert listing.rows_since(mark)["at"] == []
    listing.read()

    assert len(listing.rows_since(mark)["columns"]) == len(COLUMNS)
    with pytest.raises(Exception, match="changed meanwhile"):
        listing.select(mark, [0])


def test_the_rows_of_a_page_are_those_it_names_in_a_later_reading() -> None:
    """A selection made before rows were added selects the same records."""
    rows = [(1, "USD", "x", None, None, None, None)] * 3
    readings = [data_of(rows), data_of([*rows, (9, "USD", "y", None, None, None, None)])]
    listing = Listing("rows", lambda: readings.pop(0))
    mark = listing.columns()["mark"]
    listing.read()

    assert listing.select(mark, [2, 0, 99]) == [2, 0]
    with pytest.raises(Exception, match="changed meanwhile"):
        listing.select("another", [0])


@given(seconds=st.lists(st.integers(0, 9)))
def test_the_newest_rows_are_first(engine: Engine, seconds: list[int]) -> None:
    """Of rows with the same time, the last one is first, as in the kernel."""
    times = [MOMENT + timedelta(seconds=second) for second in seconds]
    rows = [(1, "USD", None, None, time, None, None) for time in times]
    data = attrs.evolve(data_of(rows), newest="created")

    shown = engine("table", sent(data), {})

    assert shown["rows"] == [*data.order]
    assert [times[row] for row in shown["rows"]] == sorted(times, reverse=True)


@pytest.mark.slow
def test_a_long_list_is_sent_in_parts() -> None:
    """The newest rows are in the first part. Each part has its position and the total."""
    count = 2 * MOST + 5
    data = Rows(columns=(Column("n", "number"),), cells=(range(count),), things=(), ids=range(count))

    parts = [packed("rows", data, part) for part in range(4)]

    assert [part["first"] for part in parts] == [0, MOST, 2 * MOST, 2 * MOST]
    assert [part["count"] for part in parts] == [MOST, MOST, 5, 5]
    assert parts[2]["columns"][0]["of"] == [*range(2 * MOST, count)]
    assert {part["all"] for part in parts} == {count}


@each(
    "text, found",
    [
        ("coffee", [(None, ":", "coffee")]),
        ("status:declined amount>200", [("status", ":", "declined"), ("amount", ">", "200")]),
        ('merchant:"Coats and More" x', [("merchant", ":", "coats and more"), (None, ":", "x")]),
        ("coffee status:settled", [(None, ":", "coffee"), ("status", ":", "settled")]),
        ('"two words"', [(None, ":", "two words")]),
        ("posted_at>=2026-01-31", [("posted_at", ">=", "2026-01-31")]),
        ("12:30", [("12", ":", "30")]),
        ("", []),
        ('""', []),
    ],
)
def test_a_filter_is_read_as_terms(engine: Engine, text: str, found: list[tuple[str | None, str, str]]) -> None:
    """A filter consists of words and comparisons. Quotation marks preserve spaces."""
    assert [(term["column"], term["compare"], term["value"]) for term in engine("parsed", text)] == found == terms(text)


def test_an_unknown_column_of_a_filter_is_named(engine: Engine) -> None:
    """A time such as 12:30 is not taken for a column."""
    data = sent(data_of([(100, "USD", "coffee at 12:30", "settled", None, None, "u-1")]))
    assert engine("unknown", data, "statux:declined 12:30 amount>1") == ["statux"]


def test_cells_are_shown_for_people(engine: Engine) -> None:
    """Statuses have mark, words and color, amounts their currency, times UTC. Direction marks are escaped."""
    rows: list[tuple[Any, ...]] = [
        (-123_456, "eur", "\u202egnp.exe", "manualReview", MOMENT, Decimal("0.10"), "u-2"),
        (None, None, "x" * 900, None, None, None, "u-3"),
        (2**60 + 1, "jpy", HOSTILE, "settled", None, None, None),
    ]

    first, second, third = (line["cells"] for line in engine("table", sent(data_of(rows)), {})["lines"])

    assert first == [
        "id-0", "-1,234.56 EUR", "eur", "\\u202egnp.exe", ["⚑ manual review", "warn"], "2026-01-31T23:59:58.000Z", "0.1",
        {"id": "u-2", "name": "Ada"},
    ]  # fmt: skip
    assert (second[1], second[4:], len(second[3]) < 600) == ("", ["", "", "", "u-3"], True)
    assert third[1] == str(2**60 + 1)
    assert "\u202e" not in third[3]
    assert "\x1b" not in third[3]


def test_values_of_several_types_keep_their_kinds(engine: Engine) -> None:
    """True and 1, which are equal in Python, are displayed differently."""
    data = Rows(columns=(Column("x"),), cells=([True, 1, None, [1], 0.5],), things=(), ids=[*"abcde"])
    assert [line["cells"] for line in engine("table", packed("x", data), {})["lines"]] == [
        ["yes"],
        ["1"],
        [""],
        ["[1]"],
        ["0.5"],
    ]


def test_rows_are_copied_for_a_spreadsheet_and_for_code(engine: Engine) -> None:
    rows = [
        (-123_456, "USD", "=1+1 x", "settled", None, Decimal("0.5"), None),
        (250, "JPY", 'a": null', None, None, None, None),
    ]
    data = sent(data_of(rows))

    assert engine("copied", data, [0, 1], "tsv").splitlines()[1:] == [
        "id-0\t-1234.56\t'=1+1 x\tsettled\t\t0.5\t", "id-1\t250\ta\": null\t\t\t\t"
    ]  # fmt: skip
    assert json.loads(engine("copied", data, [0], "json"))[0]["amount_cents"] == -123_456
    scope: dict[str, Any] = {}
    exec(engine("copied", data, [0, 1], "python"), scope)
    assert scope["rows"][1] == {
        "id": "id-1", "amount_cents": 250, "merchant_name": 'a": null', "status": None, "created": None, "balance": None,
        "user_id": None,
    }  # fmt: skip


@given(cents=st.integers(-(2**52), 2**52), currency=st.sampled_from(["USD", "JPY", "KWD"]))
def test_amounts_are_written_as_in_python(engine: Engine, cents: int, currency: str) -> None:
    digits = {"USD": 2, "JPY": 0, "KWD": 3}[currency]
    assert engine("money", cents, currency, digits) == rendering.money(cents, currency)


@given(amounts=st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=20))
def test_sums_and_means_are_exact(engine: Engine, amounts: list[int]) -> None:
    """Sums are exact even beyond the integers that JavaScript numbers represent."""
    data = data_of([(cents, "USD", None, None, None, None, None) for cents in amounts])
    chosen = engine("chosen", sent(data), {}, [*range(len(amounts))])

    assert chosen["sums"] == [["Amount", rendering.money(sum(amounts))]]
    assert chosen["mean"] == rendering.money((2 * sum(amounts) + len(amounts)) // (2 * len(amounts)))


@given(text=st.text(max_size=8) | st.sampled_from(["=1", " +1", "'x", "@a", "-2", "\t=1", 'a"b', "a,b"]))
def test_a_spreadsheet_runs_no_text_of_a_file(engine: Engine, text: str) -> None:
    cell = engine("guarded", text.encode("utf-8", "replace").decode())
    content = cell[1:-1].replace('""', '"') if cell.startswith('"') else cell
    assert content == guarded(text.encode("utf-8", "replace").decode())


def test_a_time_is_shown_in_a_zone(engine: Engine) -> None:
    assert engine("exact", "2026-07-01T00:30:00Z", "America/New_York") == "2026-06-30 20:30:00 America/New_York"
    assert engine("exact", "not a time") == "not a time"


def test_times_are_grouped_by_periods(engine: Engine) -> None:
    """90 days are grouped by month."""
    days = [(1, "USD", None, None, at(2026, 1, 1) + timedelta(days=day), None, None) for day in range(90)]

    lines = engine("table", sent(data_of(days)), {"group": "created"})["lines"]

    assert [(line["group"], line["count"]) for line in lines] == [("2026-01", 31), ("2026-02", 28), ("2026-03", 31)]


@pytest.mark.slow
def test_a_hundred_thousand_rows_turn_at_once(engine: Engine) -> None:
    """Filter, order and groups of 100,000 rows each take less than half a second of processor time."""
    chance = random.Random(1)
    rows = [
        (chance.randrange(10**6), "USD", f"Shop {chance.randrange(1000)}", chance.choice(["settled", "declined"]),
         MOMENT + timedelta(seconds=chance.randrange(10**7)), None, chance.choice(["u-1", "u-2"]))
        for _ in range(100_000)
    ]  # fmt: skip
    data = sent(data_of(rows))
    views = [{"filter": "shop 77 amount>500"}, {"sort": ["-amount_cents"]}, {"group": "merchant_name"}]

    assert [view for view in views if engine("timed", data, view, False) > 500] == []
