"""Make the pictures of forms and panels in docs/images: `python -m tests.browser.pictures`."""

import tempfile
from pathlib import Path

from playwright.sync_api import Locator, Page, expect, sync_playwright

from tests.browser.lab import CHROMIUM, FLAGS, SLOW, Server, jupyter_lab, open_notebook, run_all, write_notebook
from tests.browser.test_forms import PURCHASE, START
from tests.browser.test_long import SLOWLY, run_cell
from tests.browser.test_panel import LIVED, go, open_row, shown_panel

IMAGES = Path(__file__).parents[2] / "docs" / "images"
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


def shown(page: Page, lab: Server, name: str, *cells: str) -> Locator:
    """Run cells in a notebook and give what they show."""
    open_notebook(page, lab, write_notebook(lab, f"{name}.ipynb", START, *cells))
    run_all(page)
    room = page.locator(".wb-root").first
    expect(room).to_be_visible(timeout=SLOW)
    return room


def take(room: Locator, name: str) -> None:
    """Take a picture."""
    room.page.mouse.move(0, 0)
    room.screenshot(path=IMAGES / f"{name}.png", animations="disabled")


def theme(page: Page, name: str) -> None:
    """Change JupyterLab's theme."""
    page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", name)
    wanted = "false" if "Dark" in name else "true"
    page.wait_for_function("wanted => document.body.dataset.jpThemeLight === wanted", arg=wanted)


def main() -> None:
    """Make all of them."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, jupyter_lab(Path(folder)) as lab, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 1900})
        page.set_default_timeout(SLOW)

        room = shown(page, lab, "purchase", PURCHASE)
        page.locator(".wb-amount input").fill("1250")
        expect(page.locator(".wb-amount .wb-problem")).to_have_count(1)
        page.locator(".wb-snippets .jupyter-widget-Collapse-header, .wb-snippets .widget-collapse-header").first.click()
        take(room, "form-mistake")
        page.locator(".wb-amount input").fill("12.50")
        page.locator("button.wb-send").click()
        expect(page.locator(".wb-answer-card")).to_contain_text("authorized")
        take(room, "form-answer")

        room = shown(page, lab, "application", APPLICATION)
        take(room, "form-application")
        theme(page, "JupyterLab Dark")
        take(room, "form-application-dark")
        theme(page, "JupyterLab Light")
        page.set_viewport_size({"width": 560, "height": 3600})
        take(room, "form-application-narrow")
        page.set_viewport_size({"width": 1280, "height": 1900})

        take(shown(page, lab, "production", LIVE), "form-production")

        page.set_viewport_size({"width": 1280, "height": 900})
        panel = shown_panel(page, lab, "panel", START, LIVED)
        take(panel, "panel-overview")
        go(panel, "Contracts")
        take(panel, "panel-contracts")
        go(panel, "Transactions")
        open_row(panel, 1)
        take(panel, "panel-transaction")
        theme(page, "JupyterLab Dark")
        take(panel, "panel-dark")
        theme(page, "JupyterLab Light")
        go(panel, "Users")
        open_row(panel).get_by_role("button", name="Edit user", exact=True).click()
        expect(page.locator(".wb-form-update-user .wb-email input")).to_be_visible()
        take(panel, "panel-user")
        page.set_viewport_size({"width": 700, "height": 900})
        go(panel, "Transactions")
        take(panel, "panel-narrow")
        page.set_viewport_size({"width": 1280, "height": 1900})

        open_notebook(page, lab, write_notebook(lab, "read.ipynb", START, SLOWLY))
        for number in range(2):
            run_cell(page, number)
        work = page.locator(".wb-work")
        expect(work.locator(".wb-progress")).to_contain_text("left")
        work.locator("button.wb-stop").click()
        expect(work.locator("button.wb-resume")).to_be_enabled()
        take(work, "read-stopped")
        browser.close()


if __name__ == "__main__":
    main()
