"""A form in JupyterLab: filled with a mistake, corrected, sent; hostile text, other themes, narrow pages, a dead kernel."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Watch
from tests.browser.lab import SLOW, Server, open_notebook, run_all, run_in_turn, write_notebook

pytestmark = pytest.mark.browser

START = "import workbench as wb\napi = wb.connect(seed=7)\nguide = api.sandbox.guide()"
PURCHASE = """
made = wb.form(api.simulate_authorization, card_id=guide["cards"]["active"][0], currency="USD",
               merchant_name="Example Shop", merchant_category_code="5411")
made
"""


def test_a_form_is_filled_corrected_and_sent(lab: Server, page: Page) -> None:
    """A mistake is named at its field, the corrected form is sent once by a double click, answer and event appear."""
    open_notebook(page, lab, write_notebook(lab, "form.ipynb", START, PURCHASE))
    run_all(page)
    amount = page.locator(".wb-form .wb-amount")
    expect(amount.locator("input")).to_be_visible(timeout=SLOW)

    amount.locator("input").fill("1250")
    expect(amount.locator(".wb-problem")).to_contain_text("write 1250.00, or 12.50 for 1,250 cents")
    amount.locator("input").fill("12.50")
    expect(amount.locator(".wb-problem")).to_have_count(0)
    expect(amount.locator(".wb-ok")).to_contain_text("12.50 USD")
    page.locator(".wb-send button, button.wb-send").first.dblclick()

    expect(page.locator(".wb-answer-card")).to_contain_text("authorized")
    expect(page.locator(".wb-events")).to_contain_text("transaction.created")
    expect(page.locator(".wb-answer")).to_contain_text("Journal:")


SECRET = """
made = wb.form(api.create_payment_account, type="externalFiatAccount", user_id=guide["users"]["approved"][0],
               external_fiat_account={"beneficiary_type": "individual", "beneficiary_first_name": "Ada",
               "beneficiary_last_name": "Example", "currency": "usd", "bank_name": "Example Bank",
               "routing_number": "021000021", "beneficiary_address": {"address_line1": "1 Example Way",
               "city": "Springfield", "region": "NY", "postal_code": "10001", "country_code": "US"}})
made
"""


SAVE_STATE = "window.jupyterapp.commands.execute('@jupyter-widgets/jupyterlab-manager:saveWidgetState')"


def saved(page: Page, lab: Server, name: str) -> str:
    """Save the notebook, with its widgets' state too, and give the file's text."""
    page.evaluate(SAVE_STATE)
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty", timeout=SLOW)
    return (lab.root / name).read_text()


def test_a_saved_notebook_holds_no_secret_and_is_not_blank(lab: Server, page: Page) -> None:
    """What was typed is in no saved notebook, not even with its widgets' state; opened again, it shows the answer."""
    name = write_notebook(lab, "secret.ipynb", START, SECRET)
    open_notebook(page, lab, name)
    run_all(page)
    number = page.locator(".wb-account-number input")
    expect(number).to_be_visible(timeout=SLOW)
    assert number.get_attribute("type") == "password"
    number.fill("000123987654")
    page.locator("button.wb-send").click()
    expect(page.locator(".wb-answer-card")).to_contain_text("•••54")

    text = saved(page, lab, name)
    page.evaluate(SAVE_STATE)  # it is a switch
    page.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
    page.goto(lab.url(name))

    assert "000123987654" not in text
    assert "widget-state+json" in text
    expect(page.locator(".jp-OutputArea-output", has_text="The form was sent. Answer:").first).to_be_visible(
        timeout=SLOW
    )


def test_a_form_whose_kernel_is_gone_does_nothing(lab: Server, page: Page, watch: Watch) -> None:
    """After the kernel restarted, clicks on an old form send nothing."""
    count = "print('sent', len(api.sandbox.requests()))"
    open_notebook(page, lab, write_notebook(lab, "dead.ipynb", START, PURCHASE, count))
    run_all(page, "sent 0")
    page.locator(".wb-form .wb-amount input").fill("12.50")
    expect(page.locator(".wb-form .wb-amount .wb-ok")).to_contain_text("12.50 USD")
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'", timeout=SLOW
    )

    page.locator("button.wb-send").click(click_count=3)

    expect(page.locator(".wb-answer-card")).to_have_count(0)
    assert {"Cannot send"} >= set(watch.errors)  # what JupyterLab says of a widget without its kernel
    watch.errors.clear()
    run_all(page, "sent 0")


def test_a_form_is_used_by_the_keyboard_alone(lab: Server, page: Page) -> None:
    """Tab goes from field to field to the button, each with a name; Enter held down sends once, a rerun nothing."""
    count = "print('sent', len(api.journal))"
    open_notebook(page, lab, write_notebook(lab, "keys.ipynb", START, PURCHASE, count))
    run_all(page, "sent 0")
    amount = page.get_by_label("Amount", exact=True)
    amount.focus()
    page.keyboard.type("12.50")
    reached = []
    for _ in range(25):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.className + ' ' + document.activeElement.tagName"))
        if "wb-send" in reached[-1]:
            break

    assert "wb-send" in reached[-1]
    page.keyboard.down("Enter")
    for _ in range(10):
        page.keyboard.down("Enter")  # as a key that is held repeats
    page.keyboard.up("Enter")
    expect(page.locator(".wb-answer-card")).to_contain_text("authorized")
    page.locator(".jp-Cell").nth(1).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".wb-answer-card")).to_have_count(0)
    expect(page.locator(".wb-form .wb-amount input")).to_have_value("")
    page.locator(".jp-Cell").nth(2).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".jp-OutputArea-output", has_text="sent 1")).to_be_visible()


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_the_call_is_put_in_a_new_cell_at_once(lab: Server, page: Page, by: str) -> None:
    """The button makes a cell below the form's own, with the call as Python in it; running it makes the call."""
    hostile = PURCHASE.replace("Example Shop", "</button><img src=x onerror=alert(1)> a&b\\n\\'")
    open_notebook(page, lab, write_notebook(lab, f"put-{by}.ipynb", START, hostile, "print('last')"))
    run_all(page, "last")
    page.locator(".wb-form .wb-amount input").fill("12.50")
    expect(page.locator(".wb-form .wb-amount .wb-ok")).to_contain_text("12.50 USD")
    page.get_by_text("The same call in Python, terminal").click()
    expect(page.locator("button.wb-put")).to_be_hidden()
    button = page.get_by_role("button", name="Insert in a new cell below")
    wanted = page.locator(".wb-snippets pre").first.inner_text()
    assert "onerror" in wanted
    if by == "mouse":
        button.click()
    else:
        button.focus()
        page.keyboard.press("Enter")

    expect(page.locator(".jp-Cell")).to_have_count(4)
    expect(page.locator(".jp-Cell").nth(2).locator(".cm-content")).to_contain_text("api.simulate_authorization(")
    cells = "() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells.map(one => one.source)"
    assert page.evaluate(cells)[2] == wanted
    assert page.evaluate(cells)[3] == "print('last')"


FAINT = """() => {
  const parts = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const over = (top, under) => top.slice(0, 3).map((v, at) => v * (top[3] ?? 1) + under[at] * (1 - (top[3] ?? 1)));
  const ground = one => {
    const own = parts(getComputedStyle(one).backgroundColor);
    const under = () => one.parentElement ? ground(one.parentElement) : [255, 255, 255];
    return (own[3] ?? 1) >= 1 ? own : over(own, under());
  };
  const faint = new Set();
  for (const one of document.querySelectorAll(':is(.wb-root, .wbp) *')) {
    const words = [...one.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent.trim()).join('');
    const style = getComputedStyle(one), box = one.getBoundingClientRect();
    if (!words || one.closest('style, :disabled, option') || !box.width || style.visibility === 'hidden') continue;
    let opacity = 1;
    for (let up = one; up; up = up.parentElement) opacity *= Number(getComputedStyle(up).opacity);
    const under = ground(one), ink = parts(style.color);
    const [high, low] = [light(over([...ink.slice(0, 3), (ink[3] ?? 1) * opacity], under)), light(under)].sort((a, b) => b - a);
    if ((high + 0.05) / (low + 0.05) < 4.5) faint.add(`${one.className} ${words.slice(0, 30)}: ${((high + 0.05) / (low + 0.05)).toFixed(2)}`);
  }
  return [...faint];
}"""
SHOWN = (
    START,
    PURCHASE.replace("\nmade\n", ""),
    "panel = wb.browse(api)",
    'live = wb.connect(seed=7, environment="production")\ndelete = wb.form(live.delete_payment_account, payment_account_id="x")',
    'display(made, panel, delete, wb.bulk.panel(api.update_user, [], path="none.db"))',
)


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_all_words_can_be_read(lab: Server, page: Page, theme: str) -> None:
    """Every word of forms, panels and long work that is not of a dead control has a contrast of 4.5 to 1, as drawn."""
    open_notebook(page, lab, write_notebook(lab, f"words-{theme[-4:]}.ipynb", *SHOWN))
    page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", theme)
    wanted = "false" if "Dark" in theme else "true"
    page.wait_for_function("wanted => document.body.dataset.jpThemeLight === wanted", arg=wanted)
    run_in_turn(page, len(SHOWN))
    expect(page.locator(".wb-work .wb-head")).to_be_visible()
    page.locator(".wb-form .wb-amount input").first.fill("1250")
    expect(page.locator(".wb-form .wb-amount .wb-problem")).to_have_count(1)
    page.mouse.move(0, 0)

    faint = page.evaluate(FAINT)
    page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})")
    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'true'")
    assert faint == []


def test_a_form_fits_a_narrow_page_and_a_dark_theme(lab: Server, page: Page) -> None:
    """At 520 pixels nothing of a form is wider than the page; in the dark theme its own colors change."""
    open_notebook(page, lab, write_notebook(lab, "narrow.ipynb", START, "wb.form(api.create_payment_account)"))
    run_all(page)
    room = page.locator(".wb-root")
    expect(room).to_be_visible(timeout=SLOW)
    light = page.evaluate("getComputedStyle(document.querySelector('.wb-root')).getPropertyValue('--wb-bad')")

    page.set_viewport_size({"width": 520, "height": 900})
    page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})")
    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")

    dark = page.evaluate("getComputedStyle(document.querySelector('.wb-root')).getPropertyValue('--wb-bad')")
    page.wait_for_function(
        "() => { const r = document.querySelector('.wb-root'); return r.scrollWidth <= r.clientWidth + 1; }"
    )
    assert light != dark
    page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})")
    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'true'")
