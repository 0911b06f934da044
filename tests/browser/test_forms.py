"""Forms in JupyterLab: mistakes, sending, keys, saved notebooks, themes, narrow pages, and a dead kernel."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Watch
from tests.browser.lab import SLOW, Desk, change_theme
from tests.browser.looks import look_at
from tests.browser.pictures import picture

pytestmark = pytest.mark.browser

START = "import workbench as wb\napi = wb.connect(seed=7)\nguide = api.sandbox.guide()"
PURCHASE = """
made = wb.form(api.simulate_authorization, card_id=guide["cards"]["active"][0], currency="USD",
               merchant_name="Example Shop", merchant_category_code="5411")
made
"""


def test_a_form_is_filled_corrected_and_sent(desk: Desk) -> None:
    """A card is found by its digits, a wrong amount gets a message and the focus, and a double click sends once.

    The answer offers next steps: Settle settles the purchase, and Open transaction shows it in a panel.
    """
    page = desk.show(START, PURCHASE)
    card = page.locator(".wb-form .wb-card-id")
    offered = card.locator("datalist option").evaluate_all("found => found.map(one => one.value)")
    words = next(one for one in offered if "✓ active" in one)
    card.locator("input").fill(words)
    expect(card.locator(".wb-ok")).to_contain_text("-")
    amount = page.locator(".wb-form .wb-amount")
    amount.locator("input").fill("1250")
    page.wait_for_timeout(300)
    expect(amount.locator(".wb-problem")).to_have_count(0)
    page.keyboard.press("Tab")
    expect(amount.locator(".wb-problem")).to_contain_text("write 1250.00, or 12.50 for 1,250 cents")
    page.locator("button.wb-send").click()
    expect(amount.locator("input")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("12.50")
    page.keyboard.press("Tab")
    expect(amount.locator(".wb-problem")).to_have_count(0)
    expect(amount.locator(".wb-ok")).to_contain_text("1,250 cents (12.50 USD)")
    page.locator("button.wb-send").dblclick()

    expect(page.locator(".wb-answer-card")).to_contain_text("authorized")
    expect(page.locator(".wb-events")).to_contain_text("transaction.created")
    expect(page.locator(".wb-answer")).to_contain_text("Journal:")
    assert words.startswith("•••• ")
    page.get_by_role("button", name="Settle", exact=True).click()
    expect(page.locator(".wb-events")).to_contain_text("transaction.completed")
    page.get_by_role("button", name="Open transaction").click()
    expect(page.locator(".wbp .drawer .facts")).to_contain_text("settled")


def test_a_press_comes_after_the_edit_before_it(desk: Desk) -> None:
    """A press of the button sends the value that was just typed, even if the kernel is busy.

    The form is also sent if the button moves from under the pointer before the mouse button is released.
    """
    slow = "import time\nmade.view.inputs.fields['merchant_name'].input.observe(lambda _: time.sleep(1), 'value')"
    page = desk.show(START, PURCHASE, slow)
    shop, amount = (page.locator(f".wb-form .wb-{name}") for name in ("merchant-name", "amount"))
    for name, value in (("First Shop", "12.50"), ("Second Shop", "13.75")):
        shop.locator("input").fill(name)
        amount.locator("input").fill(value)
        if value == "12.50":
            page.keyboard.press("Tab")
            expect(amount.locator(".wb-ok")).to_contain_text("12.50 USD")
    page.locator("button.wb-send").hover()
    page.mouse.down()
    page.evaluate("document.querySelector('.wb-fields').style.paddingTop = '200px'")
    page.mouse.up()

    expect(page.locator(".wb-answer-card")).to_contain_text("authorized")
    desk.show("print(api.sandbox.records('transaction')[-1]['authorized'])")
    expect(page.locator(".jp-OutputArea-output", has_text="1375")).to_be_visible()


SECRET = """
made = wb.form(api.create_payment_account, type="externalFiatAccount", user_id=guide["users"]["approved"][0],
               external_fiat_account={"beneficiary_type": "individual", "beneficiary_first_name": "Ada",
               "beneficiary_last_name": "Example", "currency": "usd", "bank_name": "Example Bank",
               "routing_number": "021000021", "beneficiary_address": {"address_line1": "1 Example Way",
               "city": "Springfield", "region": "NY", "postal_code": "10001", "country_code": "US"}})
made
"""
PANEL = """
panel = wb.browse(api)
panel.open("users")
panel
"""
SAVE_STATE = "window.jupyterapp.commands.execute('@jupyter-widgets/jupyterlab-manager:saveWidgetState')"


def test_a_saved_notebook_holds_no_secret_and_is_not_blank(desk: Desk) -> None:
    """A saved notebook contains no typed secret, even with widget state. Reopened, it shows the answer and the rows.

    A line says that the panel is live again after its cell runs.
    """
    page = desk.show(START, PANEL)
    expect(page.locator(".wbp .rows .row").first).to_be_visible()
    assert "widget-state+json" not in desk.save()
    desk.reopen()
    expect(page.get_by_text("Run the cell for a live panel.")).to_be_visible(timeout=SLOW)
    expect(page.locator(".wb-read td", has_text="manual review")).to_be_visible()
    expect(page.get_by_text("model not found")).to_be_attached()
    expect(page.get_by_text("model not found")).to_be_hidden()
    assert [] == look_at(page, ".wb-read")

    desk.clear()
    desk.show(START, SECRET, PANEL)
    number = page.locator(".wb-account-number input")
    assert number.get_attribute("type") == "password"
    number.fill("000123987654")
    page.locator("button.wb-send").click()
    expect(page.locator(".wb-answer-card")).to_contain_text("•••54")
    page.evaluate(SAVE_STATE)
    text = desk.save()
    page.evaluate(SAVE_STATE)  # switch the setting back, because the command toggles it
    desk.reopen()

    assert "000123987654" not in text
    assert "widget-state+json" in text
    expect(page.get_by_text("The form was sent. Answer:")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("Run the cell for a live panel.")).to_be_visible()
    expect(page.locator(".wbp")).to_be_hidden()
    for one in page.locator(".jupyter-widgets-error-widget").all():
        expect(one).to_be_hidden()


def test_widgets_whose_kernel_is_gone_do_nothing(desk: Desk, watch: Watch) -> None:
    """After a kernel restart, clicks on an old form send nothing, and the panel says that its rows are old."""
    page = desk.show(START, PURCHASE, PANEL)
    page.locator(".wb-form .wb-amount input").fill("12.50")
    page.keyboard.press("Tab")
    expect(page.locator(".wb-form .wb-amount .wb-ok")).to_contain_text("12.50 USD")
    expect(page.locator(".wbp .rows .row").first).to_be_visible()
    desk.restart()

    page.locator("button.wb-send").click(click_count=3)
    panel = page.locator(".wbp")
    expect(panel.locator(".say")).to_contain_text("this shows what was read before")
    panel.get_by_role("navigation").get_by_role("button", name="Cards", exact=True).click()
    panel.locator(".rows .row").first.click()
    expect(panel).to_have_count(1)
    expect(page.locator(".wb-read")).to_be_hidden()

    expect(page.locator(".wb-answer-card")).to_have_count(0)
    expect(page.locator(".jupyter-widgets-error-widget")).to_have_count(0)
    assert {"Cannot send"} >= set(watch.errors)  # JupyterLab reports this error for a widget without a kernel
    watch.errors.clear()
    desk.show(START, PURCHASE, "print('sent', len(api.sandbox.requests()))")
    expect(page.locator(".jp-OutputArea-output", has_text="sent 0")).to_be_visible()


def test_a_panel_continues_after_its_kernel_restarted(desk: Desk, watch: Watch) -> None:
    """The panel stays on the page once, with its old rows. One press runs its cell again, and the panel is live."""
    page = desk.show("import workbench as wb\nwb.browse(wb.connect(seed=7))")
    panel = page.locator(".wbp")
    expect(panel.locator(".tile").first).to_be_visible(timeout=SLOW)
    desk.restart()
    expect(panel.locator(".say")).to_contain_text("this shows what was read before")
    expect(panel).to_have_count(1)
    panel.get_by_role("button", name="Run the cell again").click()
    expect(page.locator(".wbp:not(.dead) .tile").first).to_be_visible(timeout=SLOW)
    panel.get_by_role("navigation").get_by_role("button", name="Cards", exact=True).click()

    expect(panel.locator(".rows .row").first).to_be_visible()
    expect(panel).to_have_count(1)
    watch.errors.clear()  # JupyterLab reports errors for a widget whose kernel was shut down


def test_a_form_is_used_by_the_keyboard_alone(desk: Desk) -> None:
    """Tab leads from a field to the button. Enter held down sends once, and running the cell again sends nothing."""
    page = desk.show(START, PURCHASE, "print('sent', len(api.journal))")
    page.get_by_label("Amount", exact=True).focus()
    page.keyboard.type("12.50")
    reached = []
    for _ in range(25):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.className + ' ' + document.activeElement.tagName"))
        if "wb-send" in reached[-1]:
            break

    assert "wb-send" in reached[-1]
    expect(page.locator(".wb-form .wb-amount .wb-ok")).to_contain_text("12.50 USD")
    page.keyboard.down("Enter")
    for _ in range(10):
        page.keyboard.down("Enter")  # a key that is held down repeats this event
    page.keyboard.up("Enter")
    expect(page.locator(".wb-answer-card")).to_contain_text("authorized")
    expect(page.locator(".wb-answer-card")).to_be_focused()
    page.get_by_role("button", name="Settle", exact=True).press("Enter")
    expect(page.locator(".wb-events")).to_contain_text("transaction.completed")
    expect(page.locator(".wb-answer-card")).to_be_focused()
    page.get_by_role("button", name="Refund", exact=True).press("Enter")
    expect(page.locator(".wb-answer .wb-form")).to_be_focused()
    page.locator(".jp-Cell").nth(1).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".wb-answer-card")).to_have_count(0)
    expect(page.locator(".wb-form .wb-amount input")).to_have_value("")
    page.locator(".jp-Cell").nth(2).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".jp-OutputArea-output", has_text="sent 1")).to_be_visible()


def test_an_application_is_filed_in_steps(desk: Desk, tmp_path: Path) -> None:
    """A link leads to its input. A sandbox person or a JSON file fills in the form, with private values not shown."""
    page = desk.show(START, "wb.form(api.create_user_application)")
    form = page.locator(".wb-form")
    tabs = form.locator(".wb-step")
    form.get_by_role("button", name="Annual salary").click()
    expect(form.locator(".wb-annual-salary input")).to_be_focused()
    expect(form.locator(".wb-step-title")).to_contain_text("Step 3 of 6: Occupation and spending")
    page.keyboard.type("50000")
    page.keyboard.press("Tab")
    expect(tabs.nth(2)).to_have_text("3. Occupation and spending – 3 to do")
    tabs.nth(0).focus()
    page.keyboard.press("Enter")
    form.locator(".wb-alternative select").select_option(index=3)
    birth = form.locator(".wb-birth-date")
    birth.locator("input").fill("1990-02-30")
    page.wait_for_timeout(300)
    expect(birth.locator(".wb-problem")).to_have_count(0)
    page.keyboard.press("Tab")
    expect(birth.locator(".wb-problem")).to_contain_text("is not a day of the calendar")
    expect(form.get_by_role("button", name="✗ Birth date")).to_be_visible()

    form.locator(".wb-people select").select_option(index=5)
    expect(form.locator(".wb-filling .wb-message")).to_contain_text("Filled in from the sandbox, except")
    expect(form.locator(".wb-link")).to_have_text(["Terms of service accepted"])
    expect(birth.locator("input")).to_have_value("")
    assert "filled in: •••" == birth.locator("input").get_attribute("placeholder")

    (tmp_path / "person.json").write_text('{"firstName": "Kanarienvogel", "occupation": "teacher"}')
    with page.expect_file_chooser() as chooser:
        form.get_by_role("button", name="Fill in from a JSON file").click()
    chooser.value.set_files(tmp_path / "person.json")
    expect(form.locator(".wb-filling .wb-message")).to_contain_text("Filled in from person.json.")
    assert "Kanarienvogel" not in page.content()
    form.get_by_role("button", name="Terms of service accepted").click()
    terms = form.locator(".wb-is-terms-of-service-accepted select")
    expect(terms).to_be_focused()
    terms.select_option(label="Yes")
    expect(form.locator(".wb-progress")).to_contain_text("6 of 6 steps complete, ready to send")
    form.locator("button.wb-send").click()
    expect(page.locator(".wb-answer-card")).to_contain_text("pending")


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_the_call_is_put_in_a_new_cell_at_once(desk: Desk, by: str) -> None:
    """The button inserts a cell with the call in Python below the form's cell. Hostile text stays part of the code."""
    hostile = PURCHASE.replace("Example Shop", "</button><img src=x onerror=alert(1)> a&b\\n\\'")
    page = desk.show(START, hostile, "print('last')")
    page.locator(".wb-form .wb-amount input").fill("12.50")
    page.keyboard.press("Tab")
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
    "application = wb.form(api.create_user_application, first_name='Ada', birth_date='1990-02-30')",
    'live = wb.connect(seed=7, environment="production")\ndelete = wb.form(live.delete_payment_account, payment_account_id="x")',
    "sent = wb.form(api.simulate_refund, transaction_id=api.sandbox.records('transaction')[0]['id'], amount=100)\nanswer = sent.submit()",
    "display(made, application, delete, sent)",
)


@pytest.mark.parametrize("rules", ["what differs", pytest.param("all rules", marks=pytest.mark.soak)])
def test_every_form_is_in_order(desk: Desk, rules: str) -> None:
    """In both themes, nothing of a form overlaps or is cut off, and axe-core reports no serious problem.

    Text of enabled controls has a contrast of at least 4.5 to 1, as drawn. A narrow page does not scroll sideways.
    """
    page = desk.show(*SHOWN)
    page.locator(".wb-form .wb-amount input").first.fill("1250")
    page.keyboard.press("Tab")
    expect(page.locator(".wb-form .wb-amount .wb-problem")).to_have_count(1)
    found: dict[str, list[str]] = {}
    for theme in ("light", "dark"):
        change_theme(page, theme)
        for width in (1280, 700):
            page.set_viewport_size({"width": width, "height": 900})
            new = None if theme == "light" else ["color-contrast"] if width == 1280 else []
            wrong = look_at(page, ".wb-root", rules=None if rules == "all rules" else new)
            if wrong := wrong + (page.evaluate(FAINT) if width == 1280 else []):
                found[f"{theme} {width}"] = wrong
    page.set_viewport_size({"width": 520, "height": 900})
    page.wait_for_function(
        "() => [...document.querySelectorAll('.wb-root')].every(r => r.scrollWidth <= r.clientWidth + 1)"
    )

    assert {} == found


def test_a_quiz_is_answered_by_keys(desk: Desk) -> None:
    """Questions are answered with Enter on an option's button. A text that is not an amount gets a message."""
    names = ("start-who", "purchases-order", "start-held")
    page = desk.show(START, *(f'wb.course.task("{name}")' for name in names))
    choice, order, amount = (page.locator(".wb-ask").nth(place) for place in range(3))
    expect(page.locator(".wb-ask")).to_have_count(3, timeout=SLOW)
    choice.get_by_role("button", name="a", exact=True).focus()
    page.keyboard.press("Enter")
    expect(choice.locator("[role=status]")).to_contain_text("try again")
    choice.get_by_role("button", name="c", exact=True).press("Enter")
    expect(choice.locator("[role=status]")).to_contain_text("right")
    amount.locator("input").fill("many")
    amount.get_by_role("button", name="Check").click()
    expect(amount.locator("[role=status]")).to_contain_text("must be an amount")

    order.get_by_role("button", name="c", exact=True).press("Enter")
    expect(order.locator("[role=status]")).to_contain_text("right")

    assert look_at(page, ".wb-ask") == []
    picture(choice, "quiz")
