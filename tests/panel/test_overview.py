"""The overview: its figures equal the reports, its links lead to the same rows, and its filters are checked."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import workbench as wb
from tests.panel.script import listed
from workbench.analysis.tables.periods import bounds
from workbench.screens.panel.money import money_of
from workbench.screens.panel.overview import TILES, Filters
from workbench.screens.panel.panel import Panel
from workbench.service.rendering import money

pytestmark = pytest.mark.slow
HOSTILE = "<img src=x onerror=alert(1)>"
NOW = datetime(2026, 3, 10, 2, 30, tzinfo=UTC)
CHARTS = ["Approved, per cent", "Declines by reason", "Spend by category", "Applications and reviews", "Deliveries"]


@pytest.fixture(scope="module")
def api() -> Iterator[wb.Session]:
    """Yield a session with some weeks of purchases, one of them at a merchant whose name is markup."""
    with wb.connect(seed=7) as made:
        wb.sequences.run(made, wb.sequences.traffic(seed=4, cards=4, days=12, a_day=1), progress=False)
        card = made.sandbox.guide()["cards"]["active"][0]
        one = made.simulate_authorization(
            card_id=card, amount=1234, currency="USD", merchant_name=HOSTILE, merchant_category_code="5411"
        )
        made.sandbox.settle(one.transaction_id)
        yield made


@pytest.fixture
def panel(api: wb.Session) -> Panel:
    return wb.browse(api)


def part(panel: Panel, name: str, **filters: str) -> Any:
    answer = panel.answer({"ask": 1, "do": "overview", "part": name, "filters": filters})
    assert "error" not in answer, answer["error"]
    assert json.dumps(answer)
    return answer[name]


def tiles(panel: Panel, **filters: str) -> dict[str, dict[str, Any]]:
    return {tile["label"]: tile for tile in part(panel, "tiles", **filters)}


def test_panel_reports_and_sql_show_one_number(panel: Panel, api: wb.Session) -> None:
    """A tile equals the report and an SQL query, and its filter selects as many rows."""
    shown = tiles(panel, range="year")
    history = wb.history(api)
    table = history.transactions()
    asked = history.approvals(freq="month")[["authorizations", "declined"]].sum()
    postings = history.postings()
    of_sql = wb.sql("select sum(net_cents) net, sum(posted_cents) posted, sum(held_cents) held from t", t=table).iloc[0]

    assert len(postings) > len(table) > 0
    assert shown["Net spend"]["figure"] == money(int(history.spend()["net_cents"].sum())) == money(int(of_sql["net"]))
    assert shown["Posted"]["figure"] == money(int(of_sql["posted"]))
    assert shown["Open holds"]["figure"] == money(int(of_sql["held"]))
    assert shown["Approval rate"]["figure"] == f"{1 - asked['declined'] / asked['authorizations']:.1%}"
    assert len(listed(panel, "transactions", shown["Approval rate"]["filter"])) == asked["declined"]


def test_tiles_are_chosen(api: wb.Session) -> None:
    """Tiles are selected by name, or defined by a function of the history. An unknown name is refused."""

    def coffee_shops(history: Any) -> str:
        """Merchants with a name like Example."""
        return f"{history.transactions()['merchant_name'].nunique()} merchants"

    shown = wb.browse(api, tiles=["approval_rate", coffee_shops])

    assert list(tiles(shown)) == ["Approval rate", "Coffee shops"]
    assert re.fullmatch(r"\d+ merchants", tiles(shown)["Coffee shops"]["figure"])
    assert tiles(shown)["Coffee shops"]["note"] == "Merchants with a name like Example."
    with pytest.raises(wb.errors.UsageError, match=f"the tiles are {', '.join(TILES)}"):
        wb.browse(api, tiles=["approvals"])


def test_what_needs_a_person_is_said_in_words(panel: Panel, api: wb.Session) -> None:
    """Each sentence links to as many records as it counts. An endpoint that does not respond is reported."""
    with wb.connect(seed=7) as other:
        calm = [need["text"] for need in part(wb.browse(other), "attention")]
        other.sandbox.register_endpoint("http://127.0.0.1:9/none")
        card = other.sandbox.guide()["cards"]["active"][0]
        other.simulate_authorization(
            card_id=card, amount=1234, currency="USD", merchant_name="x", merchant_category_code="5411"
        )
        other.sandbox.advance(days=3)
        other.sandbox.flush()
        needs = part(wb.browse(other), "attention")
    counted = [need for need in part(panel, "attention") if need["list"] != "health"]

    assert any("did not answer" in need["text"] for need in needs if need["list"] == "health")
    assert len(needs) > len(calm)
    assert counted
    for need in counted:
        assert int(need["text"].split()[0]) == len(listed(panel, need["list"], need["filter"]))


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
    """Days begin at midnight in the time zone, also across a change of daylight saving time."""
    filters = Filters(**given)

    _, *ends = bounds(filters.days(NOW), filters.zone)

    assert [f"{since}:00+00:00", f"{until}:00+00:00"] == [end.isoformat() for end in ends]


@pytest.mark.parametrize(
    "filters, words",
    [
        ({"zone": "Mars/Base"}, "not Mars/Base"),
        ({"range": "custom", "since": "soon"}, "not soon"),
        ({"range": "custom", "since": "2026-02-01", "until": "2026-01-01"}, "ends before it starts"),
        ({"range": "another"}, "must be one of today, week"),
    ],
)
def test_a_wrong_filter_is_answered_and_changes_nothing(panel: Panel, filters: dict[str, str], words: str) -> None:
    answer = panel.answer({"ask": 1, "do": "overview", "part": "tiles", "filters": filters})

    assert words in answer["error"]
    assert Filters() == panel.filters


def test_a_range_without_purchases_says_what_to_press(panel: Panel) -> None:
    empty = tiles(panel, range="custom", since="2020-01-01", until="2020-01-02")

    assert empty["Net spend"]["figure"] == "0.00 USD"
    assert empty["Approval rate"]["figure"] == "–"
    assert "press" in empty["Approval rate"]["note"]


def test_charts_lead_to_lists_and_say_what_they_leave_out(panel: Panel, api: wb.Session) -> None:
    """A chart of the top six of more categories says so, and each chart links to a list."""
    charts = part(panel, "charts", range="year")
    since, until = panel.filters.days(api.sandbox.clock.now())
    kinds = len(wb.history(api).filter((str(since), str(until))).spend())

    titles = [chart["title"] for chart in charts]
    assert [title.partition(":")[0] for title in titles] == CHARTS
    assert ("Spend by category: top 6 of" in str(titles)) == (kinds > 6)
    for chart in charts:
        assert chart["list"] in panel.lists
        assert (chart["chart"][0], chart["chart"][1]["class"]) == ("svg", "wb-chart")


def test_points_are_shown_once_rewards_were_read(api: wb.Session) -> None:
    panel = wb.browse(api)
    before = tiles(panel)["Points outstanding"]
    panel.rewards.show(api.sandbox.guide()["rewards_users"][0]["id"])

    assert (before["figure"], before["note"]) == ("–", "press to read rewards")
    assert tiles(panel)["Points outstanding"]["note"] == "of 1 user read"
    assert part(panel, "charts")[-1]["title"] == "Points outstanding"


def test_the_file_needs_nothing_else_and_shows_the_same(panel: Panel, tmp_path: Path) -> None:
    """The file loads nothing, and has the page's figures and charts and their range."""
    shown = part(panel, "tiles", range="year")
    panel.open("transactions")
    text = wb.to_file(panel, tmp_path / "program.html").path.read_text(encoding="utf-8")

    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert match
    overview = json.loads(match[1])["overview"]
    assert not re.search(r"<link|<[^>]*\bsrc=|url\((?!#)|https?:(?!//www\.w3\.org/2000/svg\")", text)
    assert [tile["figure"] for tile in overview["tiles"]] == [tile["figure"] for tile in shown]
    assert len(overview["charts"]) == len(CHARTS)
    assert "Figures and charts: 2025-" in text
    assert "prefers-color-scheme: dark" in text


def test_a_closed_month_stays_closed() -> None:
    """A refund counts in the month in which it is made, so the purchase's month is unchanged."""
    program = wb.connect(seed=7)
    panel = wb.browse(program)
    card = program.sandbox.guide()["cards"]["active"][0]
    bought = program.simulate_authorization(
        card_id=card, amount=10_000, currency="USD", merchant_name="Example Books", merchant_category_code="5942"
    )
    program.sandbox.settle(bought.transaction_id)
    closed = tiles(panel)["Net spend"]["figure"]
    program.sandbox.advance(days=31)
    before = tiles(panel)["Net spend"]["figure"]
    program.simulate_refund(transaction_id=bought.transaction_id, amount=2_500)
    now = tiles(panel)["Net spend"]

    assert (before, now["figure"]) == ("0.00 USD", "-25.00 USD")
    assert len(now["line"]) == 30
    assert now["line"][-1] == -2_500
    assert tiles(panel, range="last")["Net spend"]["figure"] == closed


def test_amounts_of_seventeen_digits_are_exact() -> None:
    """Amounts beyond the precision of a float are exact."""
    cents = 2**53 + 1
    columns: dict[str, list[Any]] = {
        "currency": ["usd", "usd", "eur"], "status": ["settled", "authorized", "settled"],
        "amount_cents": [cents, None, 1], "held_cents": [0, cents, 0], "posted_cents": [cents, 0, 1],
        "refunded_cents": [None, 0, 0], "authorized_at": [1.0, 1.0, 1.0], "posted_at": [2.0, None, 2.0],
    }  # fmt: skip
    rows: Any = SimpleNamespace(ids=["a", "b", "c"], column=columns.__getitem__)
    with wb.connect(seed=7) as api:
        amounts = money_of(api, rows, "usd", datetime(2026, 1, 1, tzinfo=UTC))

    assert [[cents]] * 3 == [amounts[name][-1].tolist() for name in ("posted", "held", "net")]
