"""A form in JupyterLab: filled with a mistake, mended, sent; hostile text, other themes, narrow pages, a dead kernel."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import SLOW, Server, open_notebook, run_all, write_notebook

pytestmark = pytest.mark.browser

START = "import workbench as wb\napi = wb.connect(seed=7)\nguide = api.sandbox.guide()"
PURCHASE = """
made = wb.form(api.simulate_authorization, card_id=guide["cards"]["active"][0], currency="USD",
               merchant_name="Example Shop", merchant_category_code="5411")
made
"""


def test_a_form_is_filled_mended_and_sent(lab: Server, page: Page) -> None:
    """A mistake is named at its field, the mended form is sent once by a double click, answer and event appear."""
    open_notebook(page, lab, write_notebook(lab, "form.ipynb", START, PURCHASE))
    run_all(page)
    amount = page.locator(".wb-form .wb-amount")
    expect(amount.locator("input")).to_be_visible(timeout=SLOW)

    amount.locator("input").fill("12.50")
    expect(amount.locator(".wb-problem")).to_contain_text("must be a whole number of cents")
    amount.locator("input").fill("1250")
    expect(amount.locator(".wb-problem")).to_have_count(0)
    expect(amount.locator(".wb-words")).to_contain_text("12.50 USD")
    page.locator(".wb-send button, button.wb-send").first.dblclick()

    expect(page.locator(".wb-answer-card")).to_contain_text("authorized")
    expect(page.locator(".wb-events")).to_contain_text("transaction.created")
    expect(page.locator(".wb-answer")).to_contain_text("Journal:")
