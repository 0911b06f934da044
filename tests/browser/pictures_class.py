"""Create the pictures of a class and of drills in docs/images: `python -m tests.browser.pictures_class`."""

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

import workbench as wb
from tests.browser.lab import CHROMIUM, FLAGS
from tests.classroom.recorded import record
from workbench.course.classroom import ClassServer, exports
from workbench.course.task_files import DRILLS, EXERCISES
from workbench.course.task_result import TaskResult

IMAGES = Path(__file__).parents[2] / "docs" / "images"
STYLE = """body { margin: 16px; font: 13px/1.5 system-ui, sans-serif; } table { border-collapse: collapse; font-size: 12px; margin: 8px 0; }
th, td { padding: 4px 12px; text-align: left; } tbody tr:nth-child(2n + 1) { background: #f5f5f5; } th { border-bottom: 1px solid #bdbdbd; }"""
"""Style of a cell's output in JupyterLab."""
NAMES = ("Ada", "Ben", "Chen", "Dana", "Elif", "Femi", "Gita", "Hugo")
PROBLEMS = (
    "no authorization of 4.20 USD on the second active card of the guide; there is one of 42.00 USD, not 4.20 USD.",
    "the hold is not 150.00 USD: a reversal states the amount that remains.",
    "the amount was in cents; use the token's native units.",
)


def lesson(server: ClassServer) -> None:
    """Create the results of a class that has worked for an hour."""
    for place, task in enumerate(EXERCISES):
        for number, name in enumerate(NAMES[:7]):
            reached = 12 - number % 5
            if place >= reached:
                continue
            done = place < reached - 1
            wrong = (number * place) % 3 if done else 3 * (number in (2, 5))
            hints = (number + place) % 4
            result = TaskResult(
                task=task,
                done=done,
                tries=wrong + done,
                hints=hints,
                last_hint=hints == 3,
                minutes=3.3 if done else None,
                last_problem="" if done or not wrong else PROBLEMS[place % 3],
                begun_active=300.0 * place,
            )
            record(server.results, name, result)
    for name, missing in (
        ("Ada", []),
        ("Dana", ["not there yet: the card, locked or canceled; in the closest match, status is active."]),
    ):
        last = missing[0] if missing else ""
        record(server.results, name, TaskResult(task="fraud-burst", tries=1, done=not missing, last_problem=last))
    server.act([], "lock", lesson=EXERCISES["purchases-1"].notebook)
    for learner in server.learners[:7]:
        server._by_code[learner.code].used = datetime.now(UTC).timestamp()


def board(page: Page, folder: Path) -> None:
    """Take pictures of the board with a learner's details, light and dark."""
    server = ClassServer(NAMES, folder / "class")
    lesson(server)
    with server.serve() as url:
        page.set_viewport_size({"width": 1500, "height": 640})
        page.goto(f"{url}/board#{server.trainer_key}")
        expect(page.get_by_role("row", name="Ada")).to_be_visible()
        page.screenshot(path=IMAGES / "board.png", animations="disabled")
        page.get_by_role("button", name="Chen").click()
        expect(page.get_by_role("heading", name="Chen")).to_be_visible()
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=IMAGES / "board-learner-dark.png", animations="disabled")
    server.close()


def drill(page: Page, name: str) -> None:
    """Take a picture of a drill: its situation, and the check after its correct answer."""
    with wb.connect(seed=7) as api:
        begun = wb.course.task(name, api)
        shown = [begun._repr_html_()]
        exec(DRILLS[name].answer, {"wb": wb, "api": api, "facts": begun.facts})
        shown += [wb.course.check(name, api)._repr_html_()]
    page.set_viewport_size({"width": 980, "height": 600})
    page.set_content(f"<!doctype html><style>{STYLE}</style>{'<br>'.join(shown)}")
    page.screenshot(path=IMAGES / f"drill-{name}.png", full_page=True, animations="disabled")


def paper(page: Page, folder: Path) -> None:
    """Take pictures of the printed pages: a sheet, a certificate, the handout and a plan."""
    server = ClassServer(NAMES, folder / "printed")
    lesson(server)
    server.results.set("trainer", "Grace Example")
    link = "https://class.example:8700/olive-4f7m-qjxa#9f86d081884c7d659a2feaa0c55ad015"
    pages = {
        "sheet": exports.sheets({"Ada": link}),
        "certificate": exports.certificates(server.results),
        "handout": exports.handout(),
        "plan": exports.plan("two-hours"),
    }
    server.close()
    page.set_viewport_size({"width": 794, "height": 560})  # a printed page is 794 pixels wide
    for name, html in pages.items():
        page.set_content(html)
        page.screenshot(path=IMAGES / f"paper-{name}.png", animations="disabled")


def main() -> None:
    """Create all pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.environ["WORKBENCH_STATE"] = f"{folder}/state"
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1500, "height": 700})
        page.set_default_timeout(60_000)
        board(page, Path(folder))
        page = browser.new_page()  # a new page, because the board's Content-Security-Policy blocks STYLE
        for name in ("fraud-burst", "duplicate-bookings", "rate-limits"):
            drill(page, name)
        paper(page, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
