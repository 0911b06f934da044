"""The course without code, by mouse and keyboard: an exercise in the panel, and a drill with typed answers."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import SLOW, Desk
from tests.browser.pictures import picture
from tests.browser.test_panel import go, overview_of

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
FIRST = 'import workbench as wb\nwb.course.begin("01")\napi = wb.connect(seed=7)\nwb.browse(api)'
CARD = 'print(api.sandbox.guide()["cards"]["active"][1])'


def test_an_exercise_is_done_in_the_panel(desk: Desk) -> None:
    """The purchase form takes dollars. The check names what is missing, and then says that the exercise is done."""
    page = desk.show(FIRST, 'wb.course.task("start-1")', CARD)
    panel, asked = overview_of(page), page.locator(".wb-ask")
    card = page.locator(".jp-OutputArea-output pre").last.inner_text(timeout=SLOW).strip()
    asked.get_by_role("button", name="Check").click()
    expect(asked.locator("[role=status]")).to_contain_text("Missing: not there yet: a purchase of 4.20 USD")
    go(panel, "Transactions")
    panel.get_by_role("button", name="Simulate purchase", exact=True).click()
    form = page.locator(".wb-form")
    for name, value in {"card-id": card, "amount": "4.20", "merchant-category-code": "5814"}.items():
        field = form.locator(f".wb-{name} input").first
        field.fill(value)
        field.press("Tab")
    picture(panel, "no-code-purchase")
    panel.locator("button.wb-send").press("Enter")
    expect(panel.locator(".say")).to_contain_text("Purchase authorized.")
    asked.get_by_role("button", name="Check").click()
    expect(asked.locator("[role=status]")).to_contain_text("settled")
    panel.locator(".rows .row", has_text="authorized").first.click()
    panel.get_by_role("button", name="Settle", exact=True).first.click()
    panel.locator(".ask .run").click()
    expect(panel.locator(".say")).to_contain_text("Purchase settled.")
    asked.get_by_role("button", name="Check").press("Enter")
    expect(asked.locator("[role=status]")).to_contain_text("✓ done")

    picture(asked, "no-code-exercise")


RIGHT = ("110.00", "$15", "20,290.40")


def started(tasks: Locator) -> Locator:
    """Start a drill from the list of tasks, and return its fields."""
    tasks.locator("select").select_option(label="read-a-card: What is on my card?")
    tasks.get_by_role("button", name="Start").press("Enter")
    asked = tasks.locator(".wb-ask")
    expect(asked).to_contain_text("Drill read-a-card", timeout=SLOW)
    return asked


def answer(asked: Locator, values: tuple[str, ...], verdict: str) -> None:
    """Type values into the fields of a drill, check them by the keyboard, and expect a verdict."""
    for number, value in enumerate(values):
        asked.locator("input").nth(number).fill(value)
    asked.page.keyboard.press("Tab")
    asked.get_by_role("button", name="Check").press("Enter")
    expect(asked.locator("[role=status]")).to_contain_text(verdict)


def test_a_drill_is_started_from_the_list_and_answered(desk: Desk) -> None:
    """The answer fields take dollars. The check names a wrong amount, and then accepts the right ones."""
    page = desk.show(FIRST, "wb.course.task()")
    overview_of(page)
    tasks = page.locator(".wb-tasks")
    asked = started(tasks)
    answer(asked, ("1.00", "2.00", "3.00"), "held is not 1.00 USD")
    answer(asked, RIGHT, "A good answer")
    page.set_viewport_size({"width": 1280, "height": 1500})

    picture(tasks, "no-code-drill")


def test_a_drill_is_done_from_the_panel_alone(desk: Desk) -> None:
    """The Tasks button of a list opens the drills. A drill is answered and checked there, then closed."""
    page = desk.show(FIRST)
    panel = overview_of(page)
    go(panel, "Transactions")
    panel.get_by_role("button", name="Tasks", exact=True).press("Enter")
    tasks = panel.locator(".wb-tasks")
    answer(started(tasks), RIGHT, "A good answer")
    panel.locator(".close-form").press("Enter")
    expect(tasks).to_have_count(0)
