"""The panel and the pager in JupyterLab: 100,000 rows sorted, a row opened, hostile text harmless."""

import time

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import SLOW, Server, open_notebook, run_all, run_in_turn, write_notebook
from tests.browser.test_forms import PURCHASE, START
from workbench.forms.views import VIEWS

pytestmark = pytest.mark.browser

MANY = """
import random
import workbench as wb
from workbench.forms.pager import Pager
from workbench.forms.widgets import style_sheet
import ipywidgets
chance = random.Random(1)
rows = [(f"{n:06d}", chance.randrange(10**6), f"Shop {chance.randrange(1000)}") for n in range(100_000)]
pager = Pager(("id", "amount", "merchant"), rows, opened=lambda number: None)
ipywidgets.VBox([style_sheet(), pager.widget]).add_class("wb-root")
"""


def test_the_pager_sorts_a_hundred_thousand_rows(lab: Server, page: Page) -> None:
    """A click on a column's name sorts all rows within a second, one page of them travels."""
    open_notebook(page, lab, write_notebook(lab, "pager.ipynb", MANY))
    run_all(page)
    first = page.locator(".wb-grid-row .wb-cells").first
    expect(first).to_contain_text("000000", timeout=SLOW)
    least = page.locator(".wb-count")
    expect(least).to_contain_text("100,000 rows, page 1 of 8,334")

    began = time.perf_counter()
    page.locator("button.wb-sort-amount").click()
    expect(page.locator("button.wb-sort-amount")).to_contain_text("▲")
    up = time.perf_counter() - began
    page.locator("button.wb-sort-amount").click()
    expect(page.locator("button.wb-sort-amount")).to_contain_text("▼")
    expect(first).to_contain_text("9999")
    page.locator(".wb-filter input").fill("shop 77")
    page.locator(".wb-filter input").press("Enter")
    expect(page.locator(".wb-count")).to_contain_text("of 100,000")

    assert up < 1.0


def test_a_row_of_the_panel_opens(lab: Server, page: Page) -> None:
    """A tab is opened and its row shows card, events and request, by the keyboard alone."""
    calls = PURCHASE.rsplit("made", 1)[0] + "made.fill(amount=1250).submit()\nwb.browse(api)"
    open_notebook(page, lab, write_notebook(lab, "panel.ipynb", START, calls))
    run_all(page)
    expect(page.locator(".wb-browse .wb-tab-contracts .wb-grid-row").first).to_be_visible(timeout=SLOW)

    page.get_by_role("tab", name="Transactions").click()
    row = page.locator(".wb-tab-transactions button.wb-open").first
    expect(row).to_be_visible()
    row.focus()
    row.press("Enter")

    detail = page.locator(".wb-tab-transactions .wb-detail")
    expect(detail).to_contain_text("Example Shop")
    expect(detail).to_contain_text("Related requests: 1")
    expect(detail).to_contain_text("Related events: 2")


def test_a_user_is_changed_from_the_panel(lab: Server, page: Page) -> None:
    """A row offers its change as a form; sent, the answer stands there, the row stays open with its new request."""
    open_notebook(page, lab, write_notebook(lab, "change.ipynb", START, "wb.browse(api)"))
    run_all(page)
    page.get_by_role("tab", name="Users").click()
    tab = page.locator(".wb-tab-users")
    tab.locator(".wb-filter input").fill("approved user")
    tab.locator(".wb-filter input").press("Enter")
    expect(tab.locator(".wb-count")).to_contain_text("of ")
    row = tab.locator("button.wb-open").first
    row.focus()
    row.press("Enter")
    change = tab.get_by_role("button", name="Edit user", exact=True)
    change.focus()
    page.keyboard.press("Space")
    form = tab.locator(".wb-form-update-user")
    email = form.locator(".wb-email input")
    email.fill("nobody")
    expect(form.locator(".wb-email .wb-problem")).to_have_count(1)
    email.fill("ada@example.com")
    expect(form.locator(".wb-email .wb-problem")).to_have_count(0)
    form.locator("button.wb-send").click()

    expect(form.locator(".wb-answer-card")).to_be_visible()
    expect(tab.locator(".wb-detail")).to_contain_text("Related requests: 1")
    expect(tab.locator(".wb-count")).to_contain_text("of ")


HOSTILE = r"""
import workbench as wb
from html import escape
from decimal import Decimal
from workbench import rendering
from workbench.forms.pager import Pager
from workbench.forms.widgets import style_sheet
import ipywidgets
texts = [
    '<img src=x onerror=alert(1)>', '<svg onload=alert(1)>', '"><script>alert(1)</script>', '</style><script>alert(1)</script>',
    '<iframe src="https://example.com/{n}"></iframe>', '<img src="https://example.com/{n}.png">', '{{{{7*7}}}}',
    '[x](javascript:alert(1))', '$\\frac{{1}}$', "' onfocus=alert(1) autofocus '", '\u202egnp.exe', '</textarea><script>alert(1)</script>',
    '<a href="javascript:alert(1)">x</a>', '<style>@import "https://example.com/{n}.css";</style>', '<details open ontoggle=alert(1)>',
    '<math><mtext></table><mglyph><style><img src=x onerror=alert(1)>', '&lt;img src=x onerror=alert(1)&gt;', '<base href="https://example.com/">',
    '<link rel=stylesheet href="https://example.com/{n}.css">', '<marquee onstart=alert(1)>',
]
hostile = [text.format(n=n) + f" {n}" for n in range(10) for text in texts]
api = wb.connect(seed=7)
guide = api.sandbox.guide()
everything = [style_sheet()]
def purchase(n):
    made = wb.form(api.simulate_authorization, card_id=guide["cards"]["active"][0], amount=100 + n, currency="USD",
                   merchant_name=hostile[n], merchant_category_code="5411").allow("unusual_text")
    made.submit()
    everything.append(made.widget)
"""
OTHER_FORMS = (
    """
update = wb.form(api.update_user, user_id=guide["users"]["approved"][0], first_name=hostile[0][:50], external_id=hostile[4])
update.submit()
everything.append(update.widget)
""",
    """
refused = wb.form(api.update_user, user_id=hostile[2], first_name=hostile[1])
refused.view.button.click()
everything.append(refused.widget)
""",
    """
open_form = wb.form(api.create_payment_account, nickname=hostile[0], type=hostile[1])
everything.append(open_form.widget)
""",
)
BURSTS = (
    HOSTILE,
    *(f"purchase({n})" for n in range(20)),
    *OTHER_FORMS,
    *(
        f"rows = [(text, text) for text in hostile[{first}:{first + 40}]]\n"
        "everything.append(Pager([hostile[3], 'merchant'], rows, opened=lambda number: None, page=40).widget)"
        for first in range(0, 200, 40)
    ),
    "panel = wb.browse(api)\neverything.append(panel.widget)",
    *(f"panel.open({name!r})" for name in VIEWS),
    "panel.open('transactions').open(0)",
    'ipywidgets.VBox(everything).add_class("wb-root")',
)
"""Cells that are run one after the other has reached the page.

A kernel discards messages once 1,000 of them wait for the server, and a widget sends one for each of its models; a
page that misses a model shows a broken icon. People do not make 13,000 models in one cell, and neither does the test.
"""
FACES = """
display({"text/html": panel.html}, raw=True)
display({"text/html": rendering.html_table([{"x": text, text: 1} for text in hostile])}, raw=True)
print("shown", len(hostile))
"""


ADD = '.lm-TabBar > .lm-TabBar-addButton.lm-mod-hidden > svg[data-icon="ui-components:add"]'
"""JupyterLab's own icon, in the hidden button that every bar of tabs has; no text of ours ever stands there."""
FOREIGN = """own => [...document.querySelectorAll(
  '.wb-root :is(img, script, iframe, svg, link, base, math, marquee):not(.wb-picture), .wb-root [onerror], .wb-root [onload]'
)].filter(one => !one.matches(own)).map(one => (one.parentElement.className + ' > ' + one.outerHTML).slice(0, 300))"""


@pytest.mark.timeout(300)
def test_two_hundred_hostile_strings_do_nothing(lab: Server, page: Page) -> None:
    """Markup in any text opens no dialog, asks for nothing and stands as text; the page fixture checks."""
    open_notebook(page, lab, write_notebook(lab, "hostile.ipynb", *BURSTS, FACES))
    run_in_turn(page, len(BURSTS) + 1)
    expect(page.locator(".jp-OutputArea-output", has_text="shown 200")).to_be_visible()

    expect(page.get_by_text("<img src=x onerror=alert(1)> 0").first).to_be_attached()
    page.wait_for_function("() => document.readyState === 'complete'")
    assert page.evaluate(FOREIGN, ADD) == []
    assert page.locator(".jp-OutputArea-output a[href^=javascript]").count() == 0
