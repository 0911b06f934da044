"""Notebooks of the course run in JupyterLab in a real browser, from its menu."""

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import SLOW, Server, course_lab, open_notebook, run_all

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
ERROR = '[data-mime-type="application/vnd.jupyter.error"]'


def run(page: Page, lab: Server, name: str) -> None:
    """Open a notebook of the course and run all its cells from the menu; no cell fails."""
    shutil.copy(NOTEBOOKS / f"{name}.ipynb", lab.root)
    open_notebook(page, lab, f"{name}.ipynb")
    run_all(page)

    expect(page.locator(ERROR)).to_have_count(0)


def output(page: Page, text: str) -> None:
    """Expect a text in an output, in the same letter case."""
    outputs = page.locator(".jp-OutputArea-output", has_text=re.compile(re.escape(text)))
    expect(outputs.first).to_be_visible(timeout=SLOW)


def test_start_here(lab: Server, page: Page) -> None:
    """The first notebook runs to the end: a purchase, a refund, and the course's progress."""
    run(page, lab, "01-start-here")

    output(page, "REFUND")
    output(page, "amount must be a whole number of cents, not a float")
    output(page, "of 21 exercises done")
    expect(page.locator(".wb-status", has_text="authorized").first).to_be_visible()


@pytest.mark.soak
def test_withdrawal_goes_from_plan_to_executed(lab: Server, page: Page) -> None:
    """The withdrawal notebook plans, signs and executes. The new balance and a refused repetition are shown."""
    run(page, lab, "12-withdraw-collateral")

    output(page, "Planned withdrawal")
    output(page, "10 min 0 s left")
    output(page, "24975.50")
    output(page, "execute: the service's signature is for nonce 0, which is used up")


def test_the_course_opens_without_pop_ups(page: Page, tmp_path: Path) -> None:
    """`workbench course lab` opens notebook 01 with its picture and without pop-ups. A term links to the glossary."""
    with course_lab(tmp_path / "lab") as address:
        page.goto(address)
        page.wait_for_selector(".jp-NotebookPanel .jp-Notebook", timeout=SLOW)
        picture = page.locator(".jp-MarkdownOutput img[alt^='Who is who']")
        expect(picture).to_be_visible(timeout=SLOW)
        page.wait_for_timeout(3_000)  # JupyterLab opens pop-ups some seconds after the page

        expect(page.locator(".Toastify__toast, .jp-Dialog")).to_have_count(0)
        assert picture.evaluate("image => image.naturalWidth") > 100

        page.locator(".jp-MarkdownOutput a", has_text="acquirer").first.click()
        expect(page.locator(".jp-MarkdownViewer").get_by_role("heading", name="Acquirer")).to_be_attached(timeout=SLOW)
