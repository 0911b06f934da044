"""HTML files of a panel, report, chart and run stay interactive when opened from a folder without a network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

import workbench as wb
from tests.browser.conftest import Watch
from tests.browser.lab import environment
from tests.browser.looks import look_at
from tests.browser.pictures import contact_sheet, picture
from tests.panel.test_page import HOSTILE

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
KINDS = {
    "panel": "status:settled amount>500",
    "report": "status:settled authorized>500",
    "chart": "declined>1",
    "run": "step:refund",
}
"""The kinds of things that are written, each with a filter that keeps some of its rows."""
FOUND = "() => document.querySelector('.wbp .rows .row .cell').textContent"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a file of each kind, and one with hostile text."""
    folder = tmp_path_factory.mktemp("mail") / "attachments"
    folder.mkdir()
    api = wb.connect(world="program")
    panel = wb.browse(api)
    for name in ("contracts", "users", "cards", "transactions", "disputes"):
        panel.open(name)
    report = wb.history(api.sandbox.records("transaction")).transactions()
    chart = wb.charts.approvals_chart(wb.history(report).approvals(freq="month"), title="Approvals")
    run = wb.sequences.run(wb.connect(seed=7), wb.sequences.catalogue["refund-full"], progress=False)
    for name, each in zip(KINDS, (panel, report, chart, run), strict=True):
        wb.to_file(each, folder / f"{name}.html")
    (folder / "again.html").write_text(panel.document(every=2), encoding="utf-8")
    frame = wb.to_frame(api.list_contracts()).head(3).assign(memo=HOSTILE)
    frame.attrs["notes"] = (HOSTILE,)
    wb.to_file(frame, folder / "hostile.html")
    wb.to_file(frame.head(0), folder / "empty.html")
    return folder


def opened(page: Page, path: Path) -> None:
    page.context.set_offline(True)
    page.goto(path.as_uri())
    expect(page.locator(".wbp")).to_be_visible()


def listed(page: Page, path: Path) -> None:
    """Open a file, and its list of transactions if it has several lists."""
    opened(page, path)
    transactions = page.get_by_role("navigation").get_by_role("button", name="Transactions", exact=True)
    if transactions.count():
        transactions.click()
    expect(page.locator(".rows .row").first).to_be_visible()


def filtered(page: Page, files: Path, kind: str) -> int:
    """Open a file, filter its rows, and return the number of rows that remain."""
    listed(page, files / f"{kind}.html")
    page.locator(".search").fill(KINDS[kind])
    count = page.locator(".foot .count")
    expect(count).to_contain_text(" of ")
    return int(count.inner_text().split()[0].replace(",", ""))


def serious(page: Page, **options: list[str]) -> list[tuple[str, str]]:
    found = Axe().run(page, options={"resultTypes": ["violations"], **options}).response["violations"]
    return [(one["id"], one["help"]) for one in found if one["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_filters_sorts_and_opens(page: Page, files: Path, kind: str) -> None:
    """Rows can be filtered, sorted and opened. A reload keeps the filter, and axe-core finds nothing serious."""
    listed(page, files / f"{kind}.html")
    count = page.locator(".foot .count")
    everything = count.inner_text()
    page.locator(".search").fill(KINDS[kind])
    page.locator(".search").press("Enter")
    expect(count).to_have_text(re.compile(rf"^[\d,]+ of {everything}$"))
    page.locator(".heads .cell button").first.click()
    expect(page.locator(".heads .cell").first).to_have_attribute("aria-sort", "ascending")
    first = page.evaluate(FOUND)
    page.locator(".heads .cell button").first.click()
    expect(page.locator(".heads .cell").first).to_have_attribute("aria-sort", "descending")
    assert page.evaluate(FOUND) != first or count.inner_text().startswith("1 of")
    filtered = count.inner_text()
    page.reload()
    expect(count).to_have_text(filtered)

    page.locator(".rows .row").first.click()
    drawer = page.get_by_role("region", name="Details")
    expect(drawer.locator(".facts dd").first).not_to_be_empty()
    page.get_by_label("How times are shown").select_option("UTC")
    if kind != "chart":  # the weeks of a chart are dates without a time
        expect(drawer).to_contain_text(re.compile(r"202\d-\d\d-\d\d \d\d:\d\d:\d\d UTC"))
    color = "() => getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(color)
    assert serious(page) == []
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(color) != before
    assert serious(page, runOnly=["color-contrast"]) == []


def test_a_tile_leads_to_its_rows_and_an_id_to_its_record(page: Page, files: Path) -> None:
    opened(page, files / "panel.html")
    page.locator(".tile", has_text="Open holds").click()
    expect(page.locator(".foot")).to_contain_text(re.compile(r"^143 of 9,324 rows"))
    page.get_by_role("button", name="Remove filter held>0").click()
    page.locator(".rows .row").first.click()
    page.get_by_role("region", name="Details").locator(".facts .link").nth(1).click()
    expect(page.locator("nav [aria-current=page]")).to_have_text("Users")
    page.reload()
    expect(page.locator("nav [aria-current=page]")).to_have_text("Users")
    page.get_by_role("button", name="Back").click()


def test_a_reader_elsewhere_sees_the_same_amounts(browser: Browser, watch: Watch, files: Path) -> None:
    """A German browser in India shows amounts in the usual format, and times in its own zone if selected."""
    context = browser.new_context(locale="de-DE", timezone_id="Asia/Kolkata", offline=True)
    page = watch.attach(context)
    listed(page, files / "report.html")
    expect(page.locator(".foot .sums")).to_contain_text(re.compile(r"\d,\d{3}\.\d\d USD"))
    page.get_by_label("How times are shown").select_option("here")
    page.locator(".rows .row").first.click()
    expect(page.get_by_role("region", name="Details")).to_contain_text(
        re.compile(r"-\d\d \d\d:\d\d:\d\d Asia/(Kolkata|Calcutta)")
    )
    context.close()


def test_a_file_is_saved_as_rows(page: Page, files: Path) -> None:
    for kind in KINDS:
        count = filtered(page, files, kind)
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="CSV").click()
        assert len(download.value.path().read_text(encoding="utf-8").splitlines()) == count + 1 > 1


def test_a_dashboard_is_a_file(page: Page, tmp_path: Path) -> None:
    """`workbench report dashboard` writes a page with figures and charts. A tile opens its rows without a network."""
    path = tmp_path / "program.html"
    command = [sys.executable, "-m", "workbench", "report", "dashboard", "--fresh", "--out", str(path)]
    subprocess.run(command, check=True, env=environment(tmp_path), cwd=tmp_path)
    opened(page, path)
    expect(page.locator("svg.wb-chart")).to_have_count(6)
    page.set_viewport_size({"width": 1280, "height": 1000})
    picture(page.locator(".wbp"), "dashboard")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 700, "height": 1200})
    picture(page.locator(".wbp"), "dashboard-dark")
    tile = page.locator(".tile", has_text="Approval rate")
    declined = re.search(r"([\d,]+) of [\d,]+ declined", tile.inner_text())
    assert declined, tile.inner_text()
    tile.press("Enter")
    expect(page.locator(".foot")).to_contain_text(f"{declined[1]} of ")


def test_a_file_that_is_written_again_reloads_and_keeps_its_filter(page: Page, files: Path) -> None:
    """A file of `workbench report dashboard --every 2s` reloads itself and keeps its filter."""
    listed(page, files / "again.html")
    page.locator(".search").fill("status:declined")
    page.locator(".search").press("Enter")
    expect(page.get_by_role("button", name="Remove filter status:declined")).to_be_visible()
    with page.expect_event("load"):
        pass
    expect(page.get_by_role("button", name="Remove filter status:declined")).to_be_visible()


def test_hostile_text_stays_text(page: Page, files: Path) -> None:
    opened(page, files / "hostile.html")
    expect(page.locator(".notes")).to_contain_text("</script><img src=x")
    assert page.locator("img").count() == 0


def test_a_table_without_rows_says_so(page: Page, files: Path) -> None:
    opened(page, files / "empty.html")
    expect(page.locator(".foot .count")).to_have_text("0 rows")
    expect(page.locator(".heads .cell").first).to_be_visible()
    assert page.locator(".grid").evaluate("grid => getComputedStyle(grid, '::after').content") == '"No rows"'


def test_a_phone_can_use_it(page: Page, files: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for kind in KINDS:
        listed(page, files / f"{kind}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, kind
        page.locator(".rows .row").first.click()
        expect(page.get_by_role("region", name="Details")).to_be_visible()
        page.get_by_role("button", name="Close details").click()
        expect(page.get_by_role("region", name="Details")).to_be_hidden()
    assert serious(page) == []


def test_it_is_printed_as_a_table(page: Page, files: Path) -> None:
    for kind in KINDS:
        count = filtered(page, files, kind)
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        expect(page.locator(".print tbody tr")).to_have_count(count)
        expect(page.locator(".wbp")).to_be_hidden()
        page.emulate_media(media="screen")


def test_it_can_be_read_without_javascript(context: BrowserContext, watch: Watch, files: Path) -> None:
    assert context.browser
    plain = context.browser.new_context(java_script_enabled=False, offline=True)
    page = plain.new_page()
    for kind, text in zip(KINDS, ("USD", "USD", "Approved", "refund"), strict=True):
        page.goto((files / f"{kind}.html").as_uri())
        expect(page.locator(".static table").last).to_contain_text(text)
    plain.close()


SCREENS = (
    "Overview", "Health", "Contracts", "Users", "Companies", "Cards", "Transactions", "Payment accounts", "Disputes", "Events",
    "Sequences", "Requests", "Assumptions", "Details of a user", "Details of a transaction",
)  # fmt: skip
"""Screens of a panel; a report, a chart, a run and several reports on one page make nineteen."""


@pytest.fixture(scope="module")
def screens(files: Path) -> Path:
    """Write the panel of a session with some history, and a page of several reports."""
    api = wb.connect(seed=7)
    wb.sequences.run(api, wb.sequences.traffic(seed=7, cards=3, days=40), progress=False)
    with pytest.raises(wb.WorkbenchError):
        api.update_user(user_id="0" * 8 + "-0000-4000-8000-" + "0" * 12, external_id="gold-1")
    panel = wb.browse(api)
    for name in panel.lists:
        panel.open(name)
    wb.to_file(panel, files / "lived.html")
    transactions = wb.history(api).transactions()
    frames = {"Spend": wb.history(transactions).spend(), "Approvals": wb.history(transactions).approvals(freq="month")}
    wb.to_file(frames, files / "pack.html")
    return files


@pytest.mark.parametrize(
    "theme,width",
    [
        pytest.param("light", 1280, marks=pytest.mark.soak),
        ("light", 390),
        ("dark", 1280),
        pytest.param("dark", 390, marks=pytest.mark.soak),
    ],
)
def test_every_screen_of_a_file(page: Page, screens: Path, theme: str, width: int) -> None:
    """No box overlaps another or is cut off, and contrast is sufficient, in both themes, on laptop and phone."""
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 844})
    wrong: dict[str, list[str]] = {}
    shots: dict[str, bytes] = {}

    def look(name: str, place: str) -> None:
        if found := look_at(page, place, rules=["color-contrast"]):
            wrong[name] = found
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wrong.setdefault(name, []).append("wider than the page")
        shots[name] = page.screenshot(animations="disabled", caret="hide")

    page.set_default_timeout(20_000)
    opened(page, screens / "lived.html")
    for name in SCREENS:
        kind = {"Details of a user": "Users", "Details of a transaction": "Transactions"}.get(name, name)
        page.get_by_role("navigation").get_by_role("button", name=kind, exact=True).click()
        expect(page.locator(".tiles .tile, .rows .row").first).to_be_visible()
        if kind != name:
            page.locator(".rows .row").first.click()
            expect(page.get_by_role("region", name="Details").locator(".facts")).to_be_visible()
        look(name, ".wbp")
        if kind != name:
            page.get_by_role("button", name="Close details").click()
    for name in ("report", "chart", "run", "pack"):
        page.goto((screens / f"{name}.html").as_uri())
        expect(page.locator(".rows .row, table").first).to_be_visible()
        look(name.capitalize(), ".wbp" if name != "pack" else "body")

    assert len(shots) == 19
    contact_sheet(shots, f"screens-{theme}-{width}")
    assert wrong == {}


def test_a_pinned_column_stays_in_sight(browser: Browser, files: Path) -> None:
    """A pinned column moves to the front and stays there while the list scrolls, until it is unpinned."""
    page = browser.new_page(viewport={"width": 800, "height": 700})
    listed(page, files / "panel.html")
    heads, grid = page.get_by_role("columnheader"), page.locator(".grid")
    first = heads.first.inner_text()

    page.get_by_role("button", name="Columns and views").click()
    page.get_by_role("button", name="Pin Amount").click()

    expect(heads.first).to_contain_text("Amount")
    grid.evaluate("grid => { grid.scrollLeft = grid.scrollWidth }")
    for cell in (heads.first, page.locator(".rows .row").first.locator(".cell").first):
        box, frame = cell.bounding_box(), grid.bounding_box()
        assert box
        assert frame
        assert abs(box["x"] - frame["x"]) < 2
    page.get_by_role("button", name="Columns and views").click()
    page.get_by_role("button", name="Pin Amount").click()
    expect(heads.first).to_have_text(first)
    page.close()


def both_themes(page: Page, name: str) -> None:
    """Compare the panel with its pictures in light and dark, and leave the page in dark."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        picture(page.locator(".wbp"), name + "-dark" * (theme == "dark"))


def save_view(page: Page, name: str, text: str) -> None:
    page.locator(".search").fill(text)
    page.locator(".search").press("Enter")
    page.get_by_role("button", name="Columns and views").click()
    page.get_by_label("Name of the view").fill(name)
    page.get_by_role("button", name="Save view").click()
    page.get_by_role("button", name=f"Remove filter {text}").click()


def test_rows_are_grouped_and_two_views_are_side_by_side(page: Page, files: Path) -> None:
    """Keys open, close and select a group. A row opens by a click even if it is redrawn meanwhile."""
    page.set_viewport_size({"width": 1280, "height": 844})
    page.emulate_media(color_scheme="dark")
    listed(page, files / "panel.html")
    everything = page.locator(".foot").inner_text()
    drawer, second = page.get_by_role("region", name="Details"), page.locator(".second")
    assert page.locator(".rows .row:is(.opened, .chosen)").count() == 0
    page.locator(".rows .row").nth(12).hover()
    page.mouse.down()
    page.locator(".grid").evaluate(
        "grid => { grid.dispatchEvent(new Event('scroll')); return new Promise(done => setTimeout(done, 100)) }"
    )
    page.mouse.up()
    expect(drawer.locator(".facts")).to_be_visible()
    expect(page.locator(".rows .row").nth(12)).to_have_class(re.compile("opened"))
    page.keyboard.press("Escape")

    page.get_by_role("button", name="Columns and views").press("Enter")
    page.get_by_label("Group by").select_option(label="Merchant name")
    page.keyboard.press("Escape")
    groups = page.locator(".rows [aria-expanded]")
    expect(groups.first).to_contain_text(re.compile(r"[\d,]+ rows.*[\d,]+\.\d\d USD"))
    assert page.locator(".foot").inner_text() == everything
    page.locator(".heads .sort-amount_cents").click()
    page.locator(".grid").focus()
    count = int(groups.first.locator(".quiet").inner_text().split()[0])
    for key, lines in (("Enter", count), ("ArrowLeft", 0), ("ArrowRight", count)):
        page.keyboard.press(key)
        expect(page.locator(".rows [aria-level='2']")).to_have_count(lines)
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    expect(page.locator(".foot .chosen")).to_contain_text(f"{count} selected")
    page.keyboard.press("Space")
    assert look_at(page, ".wbp") == []
    page.keyboard.press("Enter")
    both_themes(page, "panel-groups")
    page.get_by_role("button", name="Remove the groups").click()

    for name in ("declined", "settled"):
        save_view(page, name, f"status:{name}")
    page.get_by_role("button", name="Columns and views").click()
    page.get_by_role("button", name="declined", exact=True).click()
    page.get_by_role("button", name="Columns and views").click()
    page.get_by_role("button", name="Show view settled beside").click()
    expect(second.locator(".rows .row").first).to_contain_text("settled")
    expect(page.locator(".main-part .rows .row").first).to_contain_text("declined")
    assert look_at(page, ".wbp") == []
    both_themes(page, "panel-beside")
    for width, axis in ((1280, "x"), (390, "y")):
        page.set_viewport_size({"width": width, "height": 844})
        left, right = page.locator(".main-part").first.bounding_box(), second.bounding_box()
        assert left
        assert right
        extent = {"x": "width", "y": "height"}[axis]
        assert right[axis] >= left[axis] + left[extent] - 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1280, "height": 844})
    second.locator(".heads .sort-amount_cents").click()
    expect(second.get_by_role("columnheader", name="Amount")).to_have_attribute("aria-sort", "descending")
    expect(page.get_by_role("columnheader", name="Amount").first).to_have_attribute("aria-sort", "ascending")
    second.locator(".rows .row").nth(3).click()
    expect(drawer.locator(".facts")).to_contain_text("settled")
    page.get_by_role("button", name="Close details").click()
    page.get_by_role("button", name="Close the second view").click()
    expect(second).to_have_count(0)
