"""The dashboard: its figures are those of the reports, its ways lead to the same rows, and its file needs nothing else."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.screens.panel.dashboard import PARTS, Dashboard, Filters, program_of
from workbench.service.rendering import money

pytestmark = pytest.mark.slow
HOSTILE = "<img src=x onerror=alert(1)>"
NOW = datetime(2026, 3, 10, 2, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def api() -> Iterator[Any]:
    """A session with purchases of some weeks, one of them at a merchant whose name is markup."""
    with wb.connect(seed=7) as made:
        wb.sequences.run(made, wb.testing.traffic(seed=4, cards=4, days=12, a_day=1), progress=False)
        card = made.sandbox.guide()["cards"]["active"][0]
        one = made.simulate_authorization(
            card_id=card, amount=1234, currency="USD", merchant_name=HOSTILE, merchant_category_code="5411"
        )
        made.sandbox.settle(one.transaction_id)
        yield made


@pytest.fixture(scope="module")
def made(api: Any) -> Dashboard:
    """A dashboard that read the rewards of a few users: one in the sandbox has ten thousand."""
    found: Dashboard = wb.dashboard(api)
    found.books.rewards = wb.rewards.fetch(api, found.books.members[:3], progress=False).frame()
    return found


@pytest.fixture
def shown(made: Dashboard) -> Dashboard:
    """A dashboard with its first filters; what it read is kept."""
    made.filters = Filters(tenant="primary")
    return made


def tile(html: str, label: str) -> tuple[str, str]:
    """Return the figure of a tile, and the filter that it leads to."""
    found = re.search(rf'data-list="\w+" data-filter="([^"]*)"><span class="quiet">{label}</span><b>(.*?)</b>', html)
    assert found is not None, label
    return found[2], found[1].replace("&quot;", '"').replace("&gt;", ">").replace("&lt;", "<")


def sent(shown: Dashboard, monkeypatch: pytest.MonkeyPatch, **asked: Any) -> list[dict[str, Any]]:
    """Return what a message of the page is answered with."""
    answers: list[dict[str, Any]] = []
    monkeypatch.setattr(shown.page, "send", answers.append)
    shown.answer(asked)
    return answers


def test_the_figures_are_those_of_the_reports(shown: Dashboard, api: Any) -> None:
    """A tile has what the report of the same rows says, and leads to as many rows in the panel."""
    shown.filters.range = "year"
    html = dict(shown.parts(live=True))["tiles"]
    labels = re.findall('<span class="quiet">([A-Z][^<]*)</span><b>', html)
    table = wb.history(api.sandbox.records("transaction")).transactions()
    asked = wb.history(table).approvals(freq="month")[["authorizations", "declined"]].sum()
    rate, way = tile(html, "Approval rate")

    assert labels == [
        "Approval rate", "Net spend", "Open holds", "Credit capacity", "Pending reviews", "Failed deliveries", "Unknown outcomes",
        "Points outstanding",
    ]  # fmt: skip
    assert f"{1 - asked['declined'] / asked['authorizations']:.1%}" == rate
    assert money(int(wb.history(table).spend()["net_cents"].sum())) == tile(html, "Net spend")[0]
    assert asked["declined"] == len(shown.books.panel.open("transactions", way))
    assert tile(html, "Open holds")[0] == money(int(table["held_cents"].sum()))


@pytest.mark.parametrize(
    "given, since, until",
    [
        ({"range": "today"}, "2026-03-10T00:00", "2026-03-11T00:00"),
        ({"range": "today", "zone": "America/New_York"}, "2026-03-09T04:00", "2026-03-10T04:00"),
        ({"range": "month", "zone": "America/New_York"}, "2026-03-01T05:00", "2026-03-10T04:00"),
        ({"range": "last"}, "2026-02-01T00:00", "2026-03-01T00:00"),
        ({"range": "week"}, "2026-03-04T00:00", "2026-03-11T00:00"),
        ({"range": "custom", "since": "2026-01-05", "until": "2026-01-06"}, "2026-01-05T00:00", "2026-01-07T00:00"),
    ],
)
def test_a_range_is_of_days_of_its_time_zone(given: dict[str, str], since: str, until: str) -> None:
    """Days begin at midnight of the zone, also where clocks were moved between the ends."""
    assert [f"{since}:00+00:00", f"{until}:00+00:00"] == [one.isoformat() for one in Filters(**given).period(NOW)]


def test_filters_change_what_is_shown(shown: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenant, a program and a range each show their own rows; the parts come one after the other, the tiles first."""
    first = sent(shown, monkeypatch, do="show", filters={}, number=1)
    names = [one["part"] for one in first if "part" in one]
    other = sent(shown, monkeypatch, do="show", filters={"tenant": "company team"}, number=2)
    shown.filters.tenant = "primary"
    some = sent(shown, monkeypatch, do="show", filters={"range": "year", "program": "nobody"}, number=3)

    assert "html" in first[0]
    assert names[0] == "tiles"
    assert set(names) == {"tiles", *PARTS}
    assert {one["number"] for one in first} == {1}
    assert "company team" in other[0]["html"]
    assert "0 of 0 declined" in other[1]["text"]
    assert "0 of 0 declined" in next(one["text"] for one in some if one.get("part") == "tiles")


@pytest.mark.parametrize(
    "filters, words",
    [
        ({"zone": "Mars/Base"}, "Mars/Base is not a time zone"),
        ({"range": "custom", "since": "soon"}, "soon is not a date"),
        ({"range": "custom", "since": "2026-02-01", "until": "2026-01-01"}, "ends before it starts"),
        ({"tenant": "another"}, "no such tenant"),
    ],
)
def test_a_wrong_filter_is_shown_and_changes_nothing(
    shown: Dashboard, monkeypatch: pytest.MonkeyPatch, filters: dict[str, str], words: str
) -> None:
    (answer,) = sent(shown, monkeypatch, do="show", filters=filters, number=1)

    assert words in answer["say"]
    assert Filters(tenant="primary") == shown.filters


def test_the_file_needs_nothing_else_and_shows_the_same(shown: Dashboard, tmp_path: Path) -> None:
    """No address; each figure and each chart of the page is in it, and the lists behind them."""
    shown.filters.range = "year"
    live = dict(shown.parts(live=True))
    text = wb.to_file(shown, tmp_path / "program.html").path.read_text(encoding="utf-8")

    above = text[text.index('<div class="lead">') : text.index('<div id="panel">')]
    assert not re.search(r"<link|<[^>]*\bsrc=|url\((?!#)|https?:", text)
    assert not re.search(r"<script|<button|<select", above)
    assert re.findall("<b>(.*?)</b>", live["tiles"]) == re.findall("<b>(.*?)</b>", above)
    assert len(PARTS) == text.count('class="wb-chart"')
    assert "prefers-color-scheme: dark" in text
    with pytest.raises(FileExistsError):
        wb.to_file(shown, tmp_path / "program.html")


def test_text_of_others_is_text(shown: Dashboard) -> None:
    """A merchant's name that is markup makes no element."""
    shown.filters.range = "year"
    known = shown.books.history
    shown.books.history = wb.history(known.postings().assign(merchant_category=HOSTILE))
    text = shown.document()
    shown.books.history = known

    assert "<img" not in text
    assert "&lt;img" in text


def test_a_program_is_the_first_part_of_an_external_id() -> None:
    assert [program_of({"external_id": one}) for one in ("gold-0001", "gold", None, "")] == ["gold", "", "", ""]


def test_something_else_is_refused() -> None:
    with pytest.raises(wb.errors.UsageError, match="a Client or a session"):
        wb.dashboard("primary")
    with (
        wb.connect() as api,
        pytest.raises(wb.errors.UsageError, match="month must be a Client or a session; choose a period"),
    ):
        wb.dashboard(api, month="2026-03")


def test_the_head_follows_every_filter(shown: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zone or a program that is chosen stands in the head, not only in the figures; open holds are of now."""
    sent(shown, monkeypatch, do="show", number=1)
    program = shown.books.programs[0]
    messages = sent(shown, monkeypatch, do="show", number=2, filters={"zone": "America/New_York", "program": program})
    title = next(message["text"] for message in messages if message.get("part") == "title")
    tiles = [message["text"] for message in messages if message.get("part") == "tiles"][-1]

    assert "(America/New_York)" in title
    assert program in title
    assert " authorized now" in tiles


def test_figures_say_what_they_include(shown: Dashboard) -> None:
    """A chart of six of more groups says so, tiles of the present too, and net spend how refunds count."""
    shown.filters.range = "year"
    text = shown.document()
    since, until = (f"{moment:%Y-%m-%d}" for moment in shown.filters.period(NOW))
    kinds = len(shown.books.history.filter((since, until)).spend())

    assert f"Spend by category: top 6 of {kinds}" in text
    assert text.count(">now: ") == 4
    assert "refunds when they were made" in text


def net_spend(shown: Dashboard) -> str:
    tiles = next(html for name, html in shown.parts(live=False) if name == "tiles")
    (figure,) = re.findall("Net spend</span><b>(.*?)</b>", tiles)
    return figure


def test_a_closed_month_stays_closed() -> None:
    """A refund of a purchase of the month before counts in the month in which it is made."""
    program = wb.connect(seed=7)
    shown = wb.dashboard(program)
    card = program.sandbox.guide()["cards"]["active"][0]
    bought = program.simulate_authorization(
        card_id=card, amount=10_000, currency="USD", merchant_name="Example Books", merchant_category_code="5942"
    )
    program.sandbox.settle(bought.transaction_id)
    closed = net_spend(shown)
    program.sandbox.advance(days=31)
    before = net_spend(shown)
    program.simulate_refund(transaction_id=bought.transaction_id, amount=2_500)

    assert (before, net_spend(shown)) == ("0.00 USD", "-25.00 USD")
    shown.filters.range = "last"
    assert net_spend(shown) == closed
