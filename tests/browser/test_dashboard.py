"""The dashboard in JupyterLab and as a file: tiles and charts in both themes, wide and narrow, and the way into the panel."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.lab import SLOW, Desk, change_theme, environment
from tests.browser.pictures import picture
from workbench.screens.panel.dashboard import PARTS

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


def test_a_program_in_a_notebook(desk: Desk) -> None:
    """All parts come; both themes are right; a tile leads to its rows; a filter works; the dashboard can be downloaded."""
    page = desk.show("import workbench as wb\nwb.dashboard()")
    charts = page.locator(".wbd svg.wb-chart")
    expect(charts).to_have_count(len(PARTS), timeout=2 * SLOW)
    for theme in ("light", "dark"):
        change_theme(page, theme)
        looked_over(page, theme)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as HTML").press("Enter")
    assert download.value.suggested_filename.endswith(".html")

    tile = page.locator(".wbd .tile").first
    declined = re.search(r"([\d,]+) of [\d,]+ declined", tile.inner_text())
    assert declined is not None
    tile.press("Enter")
    expect(page.locator(".wbp .foot")).to_contain_text(f"{declined[1]} of ", timeout=SLOW)
    page.get_by_label("Range").select_option("today")
    expect(page.locator(".wbd header")).not_to_contain_text(" to ", timeout=SLOW)


def test_a_program_in_a_file(page: Page, context: BrowserContext, tmp_path: Path) -> None:
    """`workbench report dashboard` writes a page that shows everything offline, in both themes, wide and narrow."""
    path = tmp_path / "program.html"
    command = [sys.executable, "-m", "workbench", "report", "dashboard", "--fresh", "--out", str(path)]
    subprocess.run(command, check=True, env=environment(tmp_path), cwd=tmp_path)
    context.set_offline(True)
    page.goto(f"file://{path}")

    expect(page.locator("svg.wb-chart")).to_have_count(len(PARTS))
    page.set_viewport_size({"width": 1280, "height": 1000})
    picture(page.locator(".wbd"), "dashboard")
    looked_over(page, "light")
    page.emulate_media(color_scheme="dark")
    looked_over(page, "dark")
    page.set_viewport_size({"width": 700, "height": 2400})
    picture(page.locator(".wbd"), "dashboard-dark")
    context.set_offline(False)
