"""The trainer's board in a browser shows learners' results, sends actions, and displays hostile text as text."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pictures import picture
from tests.classroom.recorded import record
from workbench.course.classroom import ClassServer
from workbench.course.task_result import TaskResult

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>\u202e"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ClassServer]:
    made = ClassServer(["Ann", "Bob <b>"], tmp_path)
    yield made
    made.close()


def test_the_board_shows_the_class_and_acts(server: ClassServer, page: Page) -> None:
    with server.serve() as url:
        page.goto(f"{url}/board")
        page.get_by_label("Trainer key").fill(server.trainer_key)
        page.get_by_role("button", name="Open the board").click()
        expect(page.get_by_role("row", name="Ann")).to_be_visible()
        expect(page.get_by_text("Bob <b>").first).to_be_attached()
        for theme in ("light", "dark", "light"):
            page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            picture(page.locator("body"), f"board-{theme}")

        record(server.results, "Ann", TaskResult(task="breaking-1", tries=1, last_problem=HOSTILE))
        expect(page.get_by_text("onerror=alert(1)")).to_be_visible(timeout=5_000)
        assert page.locator("img").count() == 0

        page.get_by_role("button", name="Ann").click()
        expect(page.get_by_role("heading", name="Ann")).to_be_visible()
        expect(page.locator("#drawer").get_by_text("onerror=alert(1)")).to_be_visible()
        page.get_by_role("button", name="Show the link").click()
        address = f"{url}/{server.learners[0].code}"
        expect(page.get_by_role("img", name=f"QR code of {address}")).to_be_visible()
        expect(page.locator("#drawer").get_by_text(address)).to_be_visible()
        expect(page.locator("#who")).to_have_value("Ann")
        record(server.results, "Bob <b>", TaskResult(task="start-1"))  # redraws the board, and must not move the focus
        expect(page.get_by_role("row", name="Bob").get_by_label("begun", exact=True)).to_be_visible()
        page.get_by_role("button", name="Close").focus()
        record(server.results, "Bob <b>", TaskResult(task="purchases-1"))
        expect(page.get_by_role("row", name="Bob").get_by_label("begun", exact=True)).to_have_count(2)
        expect(page.get_by_role("button", name="Close")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("heading", name="Ann")).to_be_hidden()
        expect(page.locator("#who")).to_have_value("all")
        expect(page.get_by_role("button", name="Ann")).to_be_focused()
        page.get_by_role("textbox", name="Note").fill("Look at the guide")
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_text("Send a note: done for everyone at ")).to_be_visible()
        page.evaluate("window.confirm = () => false")  # the trainer cancels the confirmation
        page.locator("#what").select_option("reset")
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_text("Canceled; nothing was done.")).to_be_visible()
        assert server.results.notes("Ann") == ["Look at the guide"]


def test_certificates_open_in_a_tab_and_print(server: ClassServer, page: Page) -> None:
    record(server.results, "Ann", TaskResult(task="start-1", tries=1, done=True))
    server.results.set("trainer", HOSTILE)
    with server.serve() as url:
        page.goto(f"{url}/board#{server.trainer_key}")
        with page.context.expect_page() as opened:
            page.get_by_role("button", name="Certificates").click()
        certificates = opened.value
        expect(certificates.get_by_role("heading", name="Certificate")).to_be_visible()
        expect(certificates.get_by_text("onerror=alert(1)")).to_be_visible()
        assert certificates.locator("img").count() == 0
        # this padding comes from the style sheet, so the style sheet was loaded
        assert certificates.evaluate("getComputedStyle(document.body).paddingTop") == "24px"
        assert certificates.pdf().startswith(b"%PDF")
        certificates.close()


def test_a_wrong_key_opens_nothing(server: ClassServer, page: Page) -> None:
    with server.serve() as url:
        page.goto(f"{url}/board#wrong")
        expect(page.get_by_text("not the trainer’s key")).to_be_visible()
        expect(page.locator("#board")).to_be_hidden()
