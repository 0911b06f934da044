"""Long work in JupyterLab: stopped by a button while a cell waits for it, and finished by another button."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import Desk
from tests.browser.test_forms import START

pytestmark = pytest.mark.browser

SLOWLY = """
users = [one["id"] for one in guide["rewards_users"]]
everything = wb.rewards.fetch(api, users, progress=False)
api.sandbox.add_fault("latency", of="list_rewards_activity", seconds=0.5)
work = wb.panel.rewards(api, users, concurrency=1)
work
"""
STOPPED = """
print("over", work.wait(60), work.state, 0 < work.result.rows < everything.rows)
api.sandbox.clear_faults()
"""
THEN = 'print("then", work.wait(60), work.state, everything.frame().equals(work.result.frame()))'


def run_cell(page: Page, number: int) -> None:
    """Run one cell of the notebook by the keyboard."""
    page.locator(".jp-Cell").nth(number).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")


def test_a_read_is_stopped_while_a_cell_waits_for_it_and_resumes(desk: Desk) -> None:
    """Stop ends it with what was read; Resume reads the rest, to the rows of an uninterrupted read."""
    page = desk.show(START, SLOWLY, STOPPED, THEN, run=2)
    run_cell(page, 2)
    work = page.locator(".wb-work")
    expect(work.locator(".wb-progress")).to_contain_text("left")
    expect(work.locator("button.wb-resume")).to_be_disabled()
    work.locator("button.wb-stop").click()

    expect(page.locator(".jp-OutputArea-output", has_text="over True stopped True")).to_be_visible()
    expect(work.locator(".wb-result")).to_contain_text("Resume reads the rest")
    work.locator("button.wb-resume").click()
    run_cell(page, 3)
    expect(page.locator(".jp-OutputArea-output", has_text="then True ended True")).to_be_visible()


BULK = """
import tempfile, pathlib
card = guide["cards"]["active"][0]
rows = [{"card_id": card, "amount": 100 + n, "currency": "USD", "merchant_name": f"Shop {n}",
         "merchant_category_code": "5411"} for n in range(60)]
api.sandbox.add_fault("latency", of="simulate_authorization", seconds=0.3)
work = wb.panel.bulk(api.simulate_authorization, rows, path=pathlib.Path(tempfile.mkdtemp()) / "run", workers=1)
work
"""
WAITED = """
print("over", work.wait(60), work.state, 0 < work.result.counts.get("planned", 0) < 60)
api.sandbox.clear_faults()
"""
LAST = 'print("last", work.wait(60), dict(work.result.counts))'


def test_bulk_work_is_stopped_while_another_cell_waits_for_it(desk: Desk) -> None:
    """Stop is received while a cell waits; Resume sends the rest, and each row once."""
    page = desk.show(START, BULK, WAITED, LAST, run=2)
    run_cell(page, 2)
    work = page.locator(".wb-work")
    expect(work.locator(".wb-progress")).to_contain_text("of 60")
    work.locator("button.wb-stop").click()

    expect(page.locator(".jp-OutputArea-output", has_text="over True stopped True")).to_be_visible()
    work.locator("button.wb-resume").click()
    run_cell(page, 3)
    expect(page.locator(".jp-OutputArea-output", has_text="last True {'done': 60}")).to_be_visible()
