"""A file that stays alive, opened from a disk without a network: sort, filter, details, zones, themes, phone, print."""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

import workbench as wb
from tests.browser.conftest import Watch
from tests.panel.test_page import HOSTILE

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a panel and a dashboard of a program, and a frame of hostile text."""
    folder = tmp_path_factory.mktemp("mail") / "attachments"
    folder.mkdir()
    api = wb.connect(world="program")
    panel = wb.browse(api)
    for name in ("contracts", "users", "cards", "transactions", "disputes"):
        panel.open(name)
    wb.to_file(panel, folder / "panel.html")
    wb.to_file(wb.dashboard(api), folder / "dashboard.html")
    frame = wb.to_frame(api.list_contracts()).head(3).assign(memo=HOSTILE)
    frame.attrs["notes"] = (HOSTILE,)
    wb.to_file(frame, folder / "hostile.html")
    return folder


def opened(page: Page, path: Path) -> None:
    page.context.set_offline(True)
    page.goto(path.as_uri())
    expect(page.locator(".wbp")).to_be_visible()


def serious(page: Page) -> list[tuple[str, str]]:
    found = Axe().run(page).response["violations"]
    return [(one["id"], one["help"]) for one in found if one["impact"] in ("serious", "critical")]


def test_a_file_filters_sorts_and_opens(page: Page, files: Path) -> None:
    opened(page, files / "panel.html")
    page.locator(".tile", has_text="Open holds").click()
    expect(page.locator(".foot")).to_contain_text(re.compile(r"^143 of 9,324 rows"))
    page.get_by_role("button", name="Remove filter held>0").click()
    page.locator(".search").fill("status:settled amount>500")
    page.locator(".sort-amount_cents").click()
    first = page.locator(".rows .row").first
    expect(first).to_contain_text(re.compile(r"50\d\.\d\d USD"))
    first.click()
    drawer = page.get_by_role("region", name="Details")
    expect(drawer.locator(".facts")).to_contain_text("Posted at")
    drawer.locator(".facts .link").nth(1).click()
    expect(page.locator(".drawer h2")).not_to_be_empty()
    assert serious(page) == []

    page.reload()
    expect(page.locator("nav [aria-current=page]")).to_have_text("Users")
    page.get_by_role("button", name="Back").click()


def test_a_file_changes_zone_and_theme(page: Page, files: Path) -> None:
    opened(page, files / "panel.html")
    page.get_by_role("navigation").get_by_role("button", name="Transactions", exact=True).click()
    page.get_by_label("How times are shown").select_option("UTC")
    expect(page.locator(".rows .row").first).to_contain_text(re.compile(r"2026-01-\d\d \d\d:\d\d:\d\d UTC"))
    color = "() => getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(color)
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(color) != before
    assert serious(page) == []


def test_a_file_is_saved_as_rows(page: Page, files: Path) -> None:
    opened(page, files / "panel.html")
    page.get_by_role("navigation").get_by_role("button", name="Users", exact=True).click()
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("name,id,kind")
    assert len(lines) > 200


def test_a_dashboard_is_a_file(page: Page, files: Path) -> None:
    opened(page, files / "dashboard.html")
    expect(page.locator(".lead svg.wb-chart")).to_have_count(6)
    expect(page.locator(".rows .row").first).to_be_visible()
    assert page.locator(".lead button").count() == 0
    assert serious(page) == []


def test_hostile_text_stays_text(page: Page, files: Path) -> None:
    opened(page, files / "hostile.html")
    expect(page.locator(".notes")).to_contain_text("</script><img src=x")
    assert page.locator("img").count() == 0


def test_a_phone_can_use_it(page: Page, files: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for name in ("panel", "dashboard"):
        opened(page, files / f"{name}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
    page.get_by_role("navigation").get_by_role("button", name="Transactions", exact=True).click()
    page.locator(".rows .row").first.click()
    expect(page.get_by_role("region", name="Details")).to_be_visible()
    page.get_by_role("button", name="Close details").click()
    expect(page.get_by_role("region", name="Details")).to_be_hidden()
    assert serious(page) == []


def test_it_is_printed_as_a_table(page: Page, files: Path) -> None:
    opened(page, files / "panel.html")
    page.get_by_role("navigation").get_by_role("button", name="Disputes", exact=True).click()
    expect(page.locator(".rows .row").first).to_be_visible()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".print tbody tr")).to_have_count(70)
    expect(page.locator(".wbp")).to_be_hidden()


def test_it_can_be_read_without_javascript(context: BrowserContext, watch: Watch, files: Path) -> None:
    assert context.browser
    plain = context.browser.new_context(java_script_enabled=False, offline=True)
    page = plain.new_page()
    page.goto((files / "panel.html").as_uri())
    expect(page.get_by_role("heading", name="Transactions")).to_be_visible()
    expect(page.locator(".static table").first).to_contain_text("USD")
    plain.close()
