"""Pictures in the documents that no other browser test compares: forms, reports, and every part of the design."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import workbench as wb
from tests.browser.lab import SLOW, Desk, change_theme
from tests.browser.pictures import picture, specimen
from tests.browser.test_forms import PURCHASE, START

pytestmark = [pytest.mark.browser, pytest.mark.soak, pytest.mark.timeout(180)]
APPLICATION = """
wb.form(api.create_user_application, first_name="Ada", last_name="Example", birth_date="1990-02-01",
        national_id="12", country_of_issue="US", email="ada@example.com", ip_address="203.0.113.7",
        occupation="engineer", annual_salary="40000", account_purpose="everyday spending",
        expected_monthly_volume="500", wallet_address="0x" + "1" * 40,
        address={"line1": "1 Example Way", "city": "Springfield", "region": "NY", "postal_code": "10001",
                 "country_code": "US"})
"""
LIVE = """
live = wb.connect(seed=7, environment="production")
live.arm(operations={"delete_payment_account"}, minutes=10, reason="tidy up")
wb.form(live.delete_payment_account, payment_account_id=live.sandbox.guide()["payment_accounts"][0])
"""
MONTH = """
run = wb.sequences.run(api, wb.sequences.traffic(seed=7, cards=3, days=40), progress=False)
transactions = wb.history(api).transactions()
spend = wb.history(transactions).spend()
"""
SHOWN = {
    "frame": """transactions[["transaction_id", "merchant_name", "status", "currency", "authorized_cents", "net_cents",
                              "authorized_at"]].head(8)""",
    "explained": 'wb.history(api).explain(spend, "net_cents", 0)',
    "running": 'wb.charts.approvals_chart(wb.history(transactions).approvals(freq="week"), title="Approvals in June")',
}


def shown(desk: Desk, cell: str) -> Locator:
    """Return the form that a cell shows."""
    page = desk.show(START, cell)
    page.set_viewport_size({"width": 1280, "height": 1900})
    form = page.locator(".wb-root").first
    expect(form).to_be_visible(timeout=SLOW)
    return form


def test_pictures_of_a_purchase(desk: Desk) -> None:
    form = shown(desk, PURCHASE)
    amount = form.locator(".wb-amount")
    amount.locator("input").fill("1250")
    amount.locator("input").press("Tab")
    expect(amount.locator(".wb-problem")).to_have_count(1)
    form.locator(".wb-snippets .jupyter-widget-Collapse-header, .wb-snippets .widget-collapse-header").first.click()
    expect(form.locator(".wb-snippets")).to_contain_text('amount="1250"')
    picture(form, "form-mistake")
    amount.locator("input").fill("12.50")
    form.locator("button.wb-send").click()
    expect(form.locator(".wb-answer-card")).to_contain_text("authorized")
    picture(form, "form-answer")


def test_pictures_of_an_application(desk: Desk) -> None:
    form = shown(desk, APPLICATION)
    picture(form, "form-application")
    change_theme(desk.page, "dark")
    picture(form, "form-application-dark")
    change_theme(desk.page, "light")
    desk.page.set_viewport_size({"width": 560, "height": 3600})
    picture(form, "form-application-narrow")


def test_pictures_of_the_month(desk: Desk) -> None:
    """A report's frame, an explained number, and a chart with a running week, in light and dark."""
    page = desk.show(START, MONTH, *SHOWN.values())
    outputs = page.locator(".jp-OutputArea-executeResult .jp-OutputArea-output")
    expect(outputs).to_have_count(len(SHOWN), timeout=2 * SLOW)
    page.set_viewport_size({"width": 1280, "height": 2400})
    for ending in ("", "-dark"):
        if ending:
            change_theme(page, "dark")
        for place, name in enumerate(SHOWN):
            picture(outputs.nth(place), f"month-{name}{ending}")


def test_pictures_of_the_pack_of_a_month(page: Page, tmp_path: Path) -> None:
    with wb.connect(seed=7) as api:
        wb.sequences.run(api, wb.sequences.traffic(seed=7, cards=3, days=40), progress=False)
        transactions = wb.history(api).transactions()
        frames = {
            "Spend": wb.history(transactions).spend(),
            "Roll forward": wb.history(api).roll_forward(),
            "Approvals": wb.history(transactions).approvals(freq="month"),
        }
    wb.to_file(frames, tmp_path / "june.html")
    page.set_viewport_size({"width": 1280, "height": 1100})
    page.goto((tmp_path / "june.html").as_uri())
    for theme, ending in (("light", ""), ("dark", "-dark")):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        picture(page.locator("body"), f"month-pack{ending}")


def test_picture_of_a_form_for_production(desk: Desk) -> None:
    picture(shown(desk, LIVE), "form-production")


def test_picture_of_every_part_of_the_design(page: Page, tmp_path: Path) -> None:
    """The page with every part of the design, in light and dark."""
    file = tmp_path / "design.html"
    file.write_text(specimen(), encoding="utf-8")
    for theme, name in (("light", "design"), ("dark", "design-dark")):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.goto(file.as_uri())
        picture(page.locator("main"), name, colors=0)
