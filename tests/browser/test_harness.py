"""The harness itself: a notebook runs by menu in JupyterLab and by itself in Voila, and strays are noticed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Watch
from tests.browser.lab import SLOW, Server, open_notebook, run_all, write_notebook

pytestmark = pytest.mark.browser
HELLO = "print('marker', 6 * 7)"


def test_lab_runs_a_notebook_by_menu(lab: Server, page: Page) -> None:
    """Run All runs every cell of a notebook."""
    open_notebook(page, lab, write_notebook(lab, "hello.ipynb", HELLO))

    run_all(page, "marker 42")


def test_voila_shows_a_notebook(voila: Callable[[Path], str], lab: Server, page: Page) -> None:
    """A notebook opens as a dashboard, without its code."""
    page.goto(voila(lab.root / write_notebook(lab, "dashboard.ipynb", HELLO)))

    expect(page.locator("#loading")).to_be_hidden(timeout=SLOW)
    expect(page.get_by_text("marker 42")).to_be_visible()


def test_a_request_that_leaves_this_machine_is_noticed(page: Page, watch: Watch) -> None:
    """A page that asks another host is caught, and does not get there."""
    page.set_content('<img src="https://example.com/x.png">')
    page.wait_for_function("() => document.images[0].complete")

    assert watch.strays == ["https://example.com/x.png"]
    watch.strays.clear()
