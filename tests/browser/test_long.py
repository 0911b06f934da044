"""Long work in JupyterLab: stopped by a button while its cell runs, what was done kept, finished by another button."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import Server, open_notebook, write_notebook
from tests.browser.test_forms import START

pytestmark = pytest.mark.browser

SLOWLY = """
users = [one["id"] for one in guide["rewards_users"]]
whole = wb.rewards.read(api, users, progress=False)
api.sandbox.add_fault("latency", of="list_rewards_activity", seconds=0.2)
"""
READ = """
rewards = wb.rewards.read(api, users, concurrency=1)
print("cell over", 0 < rewards.rows < whole.rows, rewards.complete, len(rewards.unfinished) > 0)
api.sandbox.clear_faults()
"""
THEN = """
print("then", rewards.rows == whole.rows, rewards.complete == whole.complete, rewards.frame().equals(whole.frame()))
"""


def run_cell(page: Page, number: int) -> None:
    """Run one cell of the notebook by the keyboard."""
    page.locator(".jp-Cell").nth(number).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")


def test_a_read_is_stopped_while_its_cell_runs_and_goes_on(lab: Server, page: Page) -> None:
    """Stop ends the cell with what was read; Go on fills the same rewards to the totals of an uninterrupted read."""
    open_notebook(page, lab, write_notebook(lab, "read.ipynb", START, SLOWLY, READ, THEN))
    for number in (0, 1):
        run_cell(page, number)
    run_cell(page, 2)
    work = page.locator(".wb-work")
    expect(work.locator(".wb-progress")).to_contain_text("rows a second")
    expect(work.locator(".wb-progress")).to_contain_text("left")
    expect(work.locator("button.wb-resume")).to_be_disabled()
    work.locator("button.wb-stop").click()

    expect(page.locator(".jp-OutputArea-output", has_text="cell over True False True")).to_be_visible()
    expect(work.locator(".wb-result")).to_contain_text("stopped by its button")
    work.locator("button.wb-resume").click()
    expect(work.locator("button.wb-resume")).to_be_hidden()
    run_cell(page, 3)
    expect(page.locator(".jp-OutputArea-output", has_text="then True True True")).to_be_visible()


BULK = """
import tempfile, pathlib
card = guide["cards"]["active"][0]
rows = [{"card_id": card, "amount": 100 + n, "currency": "USD", "merchant_name": f"Shop {n}",
         "merchant_category_code": "5411"} for n in range(60)]
api.sandbox.add_fault("latency", of="simulate_authorization", seconds=0.3)
work = wb.bulk.panel(api.simulate_authorization, rows, path=pathlib.Path(tempfile.mkdtemp()) / "run", workers=1)
work
"""
WAITED = """
print("over", work.wait(60), work.state, 0 < work.result.counts.get("planned", 0) < 60)
api.sandbox.clear_faults()
"""
LAST = 'print("last", work.wait(60), dict(work.result.counts))'


def test_bulk_work_is_stopped_while_another_cell_waits_for_it(lab: Server, page: Page) -> None:
    """Stop is heard while a cell waits; Go on sends the rest, and each row once."""
    open_notebook(page, lab, write_notebook(lab, "bulk.ipynb", START, BULK, WAITED, LAST))
    for number in (0, 1, 2):
        run_cell(page, number)
    work = page.locator(".wb-work")
    expect(work.locator(".wb-progress")).to_contain_text("of 60")
    work.locator("button.wb-stop").click()

    expect(page.locator(".jp-OutputArea-output", has_text="over True stopped True")).to_be_visible()
    work.locator("button.wb-resume").click()
    run_cell(page, 3)
    expect(page.locator(".jp-OutputArea-output", has_text="last True {'done': 60}")).to_be_visible()
