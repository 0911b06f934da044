"""The dashboard in Voila: tiles and charts in both themes, wide and narrow, the way into the panel, and the file that it leaves."""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.lab import SLOW, environment, serving
from tests.browser.pictures import picture
from tests.ports import free_port
from workbench.forms.dashboard import PARTS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
BOXES = """root => {
  const seen = [...root.querySelectorAll(".tile, .card, label, .far button, h1, h2, header .quiet")].filter((one) => one.offsetParent);
  const boxes = seen.map((one) => [one, one.getBoundingClientRect()]);
  const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const name = (one) => `${one.className || one.tagName}: ${one.textContent.slice(0, 20)}`;
  const wrong = [];
  for (const [one, box] of boxes) {
    if (box.right > innerWidth + 1 || box.left < -1) wrong.push(`${name(one)} leaves the page`);
    if (one.scrollWidth > one.clientWidth + 1) wrong.push(`${name(one)} is cut`);
    for (const [other, its] of boxes)
      if (one !== other && !one.contains(other) && !other.contains(one) && over(box, its)) wrong.push(`${name(one)} on ${name(other)}`);
  }
  for (const text of root.querySelectorAll("svg text")) {
    const box = text.getBoundingClientRect(), its = text.ownerSVGElement.getBoundingClientRect();
    if (box.width && (box.left < its.left - 4 || box.right > its.right + 4)) wrong.push(`text ${text.textContent} leaves its chart`);
  }
  return wrong;
}"""


def looked_over(page: Page, theme: str) -> None:
    """Measure the boxes at two widths, and let axe find what is serious."""
    for width in (1280, 700):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator(".wbd").evaluate(BOXES) == [], (theme, width)
        found = Axe().run(page, context=".wbd").response["violations"]
        serious = [(one["id"], one["help"]) for one in found if one["impact"] in ("serious", "critical")]
        assert serious == [], (theme, width)
    page.set_viewport_size({"width": 1280, "height": 900})


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Yield where `workbench dashboard` serves a year of a program."""
    port, token = free_port(), secrets.token_hex(16)
    command = ["workbench", "dashboard", "--fresh", "--no-browser", "--port", str(port)]
    alive = f"http://127.0.0.1:{port}/voila/static/voila.js?token={token}"
    with serving(command, alive=alive, env={**environment(tmp_path), "JUPYTER_TOKEN": token}, cwd=tmp_path):
        yield f"http://127.0.0.1:{port}/?token={token}"


def test_a_program_in_a_page(address: str, page: Page, context: BrowserContext, tmp_path: Path) -> None:
    """All parts come; themes change on the page; a tile leads to its rows; a filter works; the file shows the same offline."""
    page.goto(address, timeout=2 * SLOW)
    tiles, charts = page.locator(".wbd .tile"), page.locator(".wbd svg.wb-chart")
    expect(charts).to_have_count(len(PARTS), timeout=2 * SLOW)
    expect(page.get_by_text("import workbench")).to_have_count(0)
    looked_over(page, "first")
    page.set_viewport_size({"width": 1280, "height": 1000})
    picture(page.locator(".wbd"), "dashboard")
    page.get_by_role("button", name="Light or dark").press("Enter")
    expect(page.locator("body.theme-dark, body.theme-light")).to_have_attribute("data-jp-theme-light", "false")
    looked_over(page, "dark")
    page.set_viewport_size({"width": 700, "height": 2400})
    picture(page.locator(".wbd"), "dashboard-dark")
    page.set_viewport_size({"width": 1280, "height": 900})

    with page.expect_download() as download:
        page.get_by_role("button", name="Export as HTML").press("Enter")
    download.value.save_as(tmp_path / "program.html")
    alone = context.new_page()
    context.set_offline(True)
    alone.goto(f"file://{tmp_path / 'program.html'}")
    assert alone.locator(".tile b").all_inner_texts() == tiles.locator("b").all_inner_texts()
    assert [one.get_attribute("aria-label") for one in alone.locator("svg").all()] == [
        one.get_attribute("aria-label") for one in charts.all()
    ]
    looked_over(alone, "file")
    alone.close()
    context.set_offline(False)

    declined = re.search(r"([\d,]+) of [\d,]+ declined", tiles.first.inner_text())
    assert declined is not None
    tiles.first.press("Enter")
    expect(page.locator(".wbp .foot")).to_contain_text(f"{declined[1]} of ", timeout=SLOW)
    page.get_by_label("Range").select_option("today")
    expect(page.locator(".wbd header")).not_to_contain_text(" to ", timeout=SLOW)
