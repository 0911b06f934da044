"""A list of the panel: searched, filtered and sorted in the kernel, 100,000 rows within a second."""

import random
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from workbench.base.errors import UsageError
from workbench.screens.panel.listing import Listing, Term, terms
from workbench.screens.panel.lists import Column, Rows

COLUMNS = (
    Column("type", "status"), Column("id", "id"), Column("points", "number"), Column("merchant_name"),
    Column("amount_cents", "money"), Column("posted_at", "time"),
)  # fmt: skip


def listing(rows: list[tuple[Any, ...]], columns: tuple[Column, ...] = COLUMNS) -> Listing:
    """Return a list of rows."""
    data = Rows(
        columns=columns,
        cells=tuple(zip(*rows, strict=True)) or ((),) * len(columns),
        things=(None,) * len(rows),
        ids=tuple(str(number) for number in range(len(rows))),
    )
    return Listing("rows", lambda: data)


def many_rows(count: int) -> list[tuple[Any, ...]]:
    """Return rows like rewards, the same each time."""
    chance, begun = random.Random(1), datetime(2026, 1, 1, tzinfo=UTC)
    return [
        (
            "earned" if number % 5 else "redeemed", f"{number:08x}-0000-4000-8000-{chance.getrandbits(48):012x}",
            Decimal(chance.randrange(1, 9999)), f"Shop {chance.randrange(1000)}", chance.randrange(1, 99999),
            begun + timedelta(seconds=chance.randrange(10**7)) if number % 7 else None,
        )
        for number in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text, found",
    [
        ("coffee", [Term(None, ":", "coffee")]),
        ("status:declined amount>200", [Term("status", ":", "declined"), Term("amount", ">", "200")]),
        ('merchant:"Coats and More" x', [Term("merchant", ":", "coats and more"), Term(None, ":", "x")]),
        ('"two words"', [Term(None, ":", "two words")]),
        ("posted_at>=2026-01-31", [Term("posted_at", ">=", "2026-01-31")]),
        ("12:30", [Term("12", ":", "30")]),
        ("", []),
        ('""', []),
    ],
)
def test_a_filter_is_read_as_terms(text: str, found: list[Term]) -> None:
    """Words, and comparisons with a column; quotation marks keep spaces."""
    assert found == terms(text)


ROWS = [
    ("approved", "a1", Decimal(5), "Coats and More", 20001, datetime(2026, 1, 31, 15, tzinfo=UTC)),
    ("manualReview", "b2", None, "Example Shop", 20000, datetime(2026, 2, 1, 9, tzinfo=UTC)),
    ("denied", "c3", Decimal("7.5"), "12:30 Lunch", None, None),
]


@pytest.mark.parametrize(
    "text, ids",
    [
        ("", "012"), ("example", "1"), ("shop review", "1"), ("status:approved", ""), ("type:approved", "0"),
        ('type:"manual review"', "1"), ("amount>200", "0"), ("amount>=200", "01"), ("amount=200.01", "0"), ("points<6", "0"),
        ("points!=5", "2"), ("posted>2026-01-31", "1"), ("posted>=2026-01-31", "01"), ("posted=2026-01", "0"),
        ("merchant:coats", "0"), ("12:30", "2"), ("200.01", "0"), ("amount>much", ""), ("nothing:there", ""),
    ],
)  # fmt: skip
def test_rows_fit_every_term(text: str, ids: str) -> None:
    """Money is compared in dollars, times by their days and months, text by what it contains."""
    shown = listing(ROWS)

    shown.filter(text)

    assert list(ids) == shown.ids


def test_columns_are_sorted_one_within_another() -> None:
    """The first column decides, then the next."""
    shown = listing([(kind, key, None, "", None, None) for kind, key in (("b", "1"), ("a", "2"), ("b", "3"))])

    shown.sort("type", "-id")

    assert [("a", "2"), ("b", "3"), ("b", "1")] == [row[:2] for row in shown.rows]
    with pytest.raises(UsageError, match="the columns are type, id"):
        shown.sort("nothing")


def test_empty_cells_come_last_either_way() -> None:
    """What has no value stands at the end, up and down."""
    shown = listing([(3,), (None,), (1,)], (Column("a", "number"),))

    shown.sort("a")
    up = shown.rows
    shown.sort("-a")

    assert [(1,), (3,), (None,)] == up
    assert [(3,), (1,), (None,)] == shown.rows


def test_sorting_and_filtering_agree_with_pandas() -> None:
    """The order and the choice of rows are those that pandas makes."""
    rows = many_rows(2_000)
    frame = pd.DataFrame(rows, columns=[one.name for one in COLUMNS])
    shown = listing(rows)

    shown.filter("merchant:shop type:redeemed amount>500")
    shown.sort("amount_cents")

    kept = frame[(frame["type"] == "redeemed") & (frame["amount_cents"] > 50_000)]
    assert kept.sort_values("amount_cents", kind="stable")["id"].tolist() == [row[1] for row in shown.rows]


def test_values_of_several_types_are_sorted_as_text() -> None:
    """A column of mixed values has an order, too."""
    shown = listing([("b",), (2,), ("a",)], (Column("a"),))

    shown.sort("a")

    assert [(2,), ("a",), ("b",)] == shown.rows


def test_a_window_is_what_a_page_shows() -> None:
    """Statuses with glyph, word and color; money in its currency; times in UTC; what turns text around as an escape."""
    columns = (
        Column("status", "status"),
        Column("cents", "money"),
        Column("currency", "hidden"),
        Column("at", "time"),
        Column("name"),
    )
    at = datetime(2026, 1, 31, 15, tzinfo=UTC)
    shown = listing(
        [("manualReview", -123456, "eur", at, "\u202egnp.exe"), (None, None, None, None, "x" * 900)], columns
    )

    first, second = shown.window(0, 10)

    assert ["⚑ manual review", "warn"] == first["cells"][0]
    assert ["-1,234.56 EUR", "eur", "2026-01-31T15:00:00.000+00:00", "\\u202egnp.exe"] == first["cells"][1:]
    assert ["", "", "", ""] == second["cells"][:4]
    assert len(second["cells"][4]) < 600


GROUPED = (
    ("a", 1_000, "usd", "settled", datetime(2026, 1, 31, 15, tzinfo=UTC)),
    ("b", 250, "jpy", "declined", datetime(2026, 2, 1, tzinfo=UTC)),
    ("a", -(10**15), "eur", None, datetime(2026, 3, 1, tzinfo=UTC)),
    ("a", 3_050, "usd", "settled", datetime(2026, 1, 1, tzinfo=UTC)),
    (None, None, "usd", "settled", None),
)
GROUPED_COLUMNS = (
    Column("name"), Column("cents", "money"), Column("currency", "hidden"), Column("status", "status"), Column("at", "time"),
)  # fmt: skip


def test_groups_have_counts_and_subtotals_by_currency() -> None:
    """They are in the order of their first rows; filter, sort, sums, frame and selected lines are those of the rows."""
    shown = listing(list(GROUPED), GROUPED_COLUMNS)
    everything = shown.sums()

    shown.group("name", ["a"])

    rows = [(row.get("group"), row.get("count"), row.get("sums")) for row in shown.window(0, 10) if "group" in row]
    total = {"cents": "-10,000,000,000,000.00 EUR + 40.50 USD"}
    assert [("a", 3, total), ("b", 1, {}), ("", 1, {})] == rows  # declined
    assert [-1, 0, 2, 3, -2, -3] == shown.lines
    assert [2, 1] == shown.numbers([0, 2, 4])  # an unfolded group is its rows, a folded one has them all
    assert [1_000, -(10**15), 3_050, 250] == shown.frame()["cents"].tolist()[:4]
    assert everything == shown.sums()
    assert "rows.group('name')" in shown.python()
    shown.filter("status:settled")
    shown.sort("-cents")
    assert ({"a": [3, 0], "": [4]}, 3) == (shown.groups, len(shown))
    shown.sort("cents")  # of one currency: by the subtotals
    assert ["", "a"] == list(shown.groups)
    shown.group()
    assert [0, 3, 4] == shown.lines
    with pytest.raises(UsageError, match="the columns are"):
        shown.group("nothing")


def test_times_are_grouped_by_periods() -> None:
    shown = listing(list(GROUPED), GROUPED_COLUMNS)

    shown.group("at")

    assert ["2026-01-31 15", "2026-02-01 00", "2026-03-01 00", "2026-01-01 00", ""] == list(shown.groups)
    days: list[tuple[Any, ...]] = [
        ("x", 1, "usd", "settled", datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)) for day in range(90)
    ]
    many = listing(days, GROUPED_COLUMNS)
    many.group("at")
    assert {"2026-01": 31, "2026-02": 28, "2026-03": 31} == {key: len(rows) for key, rows in many.groups.items()}


@pytest.mark.slow
def test_a_hundred_thousand_rows_turn_within_a_second() -> None:
    """Sorting and filtering 100,000 rows take less than a second a step."""
    shown = listing(many_rows(100_000))
    steps = {
        "read": shown.read,
        "sort": lambda: shown.sort("-points"),
        "sort by time": lambda: shown.sort("posted_at"),
        "filter": lambda: shown.filter("merchant:77 amount>500"),
        "clear": lambda: shown.filter(""),
        "group": lambda: [shown.group("merchant_name"), shown.window(0, 100), shown.group()],
        "last window": lambda: shown.window(99_900, 100),
    }
    took = {}
    for name, step in steps.items():
        began = time.process_time()
        step()
        took[name] = time.process_time() - began

    assert {name: seconds for name, seconds in took.items() if seconds >= 1} == {}


def test_a_word_before_a_comparison_is_a_word() -> None:
    """It was lost: "coffee status:settled" showed everything that is settled."""
    assert [(term.column, term.value) for term in terms("coffee status:settled")] == [
        (None, "coffee"),
        ("status", "settled"),
    ]


def test_texts_of_former_rows_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows may be read again while what is searched is computed in the background: those texts are discarded."""
    data = [listing([(name,)] * 3_000, (Column("name"),)).data for name in ("former", "present")]
    computed = []
    monkeypatch.setattr(
        "threading.Thread", lambda target, daemon: SimpleNamespace(start=lambda: computed.append(target))
    )
    shown = Listing("rows", lambda: data[0])

    shown.prepare()
    data.reverse()
    shown.read()
    computed[0]()
    shown.filter("present")

    assert len(shown) == 3_000
    shown.prepare()
    computed[1]()
    assert "searched" in shown.__dict__
