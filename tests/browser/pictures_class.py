"""Make the pictures of a class and of drills in docs/images: `python -m tests.browser.pictures_class`."""

import os
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

import workbench as wb
from tests.browser.lab import CHROMIUM, FLAGS
from tests.course.test_drills import correct_one, lock_release_refund, update_each
from workbench.course import debrief
from workbench.course.classroom import ClassServer
from workbench.course.learner import EXERCISES

IMAGES = Path(__file__).parents[2] / "docs" / "images"
STYLE = """body { margin: 16px; font: 13px/1.5 system-ui, sans-serif; } table { border-collapse: collapse; font-size: 12px; margin: 8px 0; }
th, td { padding: 4px 12px; text-align: left; } tbody tr:nth-child(2n + 1) { background: #f5f5f5; } th { border-bottom: 1px solid #bdbdbd; }"""
"""As JupyterLab shows the output of a cell."""
NAMES = ("Ada", "Ben", "Chen", "Dana", "Elif", "Femi", "Gita", "Hugo")
PROBLEMS = (
    "no authorization of 4.20 USD on the second active card of the guide; there is one of 42.00 USD, not 4.20 USD.",
    "the hold is not 150.00 USD: a reversal states the amount that remains.",
    "the amount was in cents; use the token's native units.",
)


def lesson(server: ClassServer) -> None:
    """Let a class have worked for an hour."""
    add = server.results.add
    for place, exercise in enumerate(EXERCISES):
        for number, name in enumerate(NAMES[:7]):
            reached = 12 - number % 5
            if place >= reached:
                continue
            add(name, "start", exercise)
            for hint in range((number + place) % 4):
                add(name, "hint", exercise, number=hint + 1, last=hint == 2)
            for _ in range((number * place) % 3 if place < reached - 1 else 3 * (number in (2, 5))):
                add(name, "check", exercise, missing=[PROBLEMS[place % 3]])
            if place < reached - 1:
                add(name, "check", exercise, missing=[], confirmed=True)
    for name, missing in (("Ada", []), ("Dana", ["the card can still be used."])):
        add(name, "start", "drill-fraud-burst")
        add(name, "check", "drill-fraud-burst", missing=missing)
    server.act(["Hugo"], "lock", lesson=EXERCISES["production-1"].notebook)
    for learner in server.learners[:7]:
        server._connected[learner.name] = datetime.now(UTC).timestamp()
    server.results._progress, server.results._read = {}, 0  # read again, with other times
    with server.results._file.write() as run:  # over two hours
        run.execute("UPDATE entry SET at = at - 7200 * (1.0 - id * 1.0 / (SELECT max(id) FROM entry))")


def board(page: Page, folder: Path) -> None:
    """Take the board, with the details of a learner, light and dark."""
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


def drill(page: Page, name: str, attempts: tuple[Callable[[Any, Any], None], ...]) -> None:
    """Take a drill: the situation, and the debrief after attempts, some minutes apart."""
    clock = datetime.now(UTC)
    real = debrief.now
    with wb.connect(seed=7) as api:
        try:
            debrief.now = clock.isoformat
            run = wb.course.drill(api, name)
            shown = [run._repr_html_()]
            for attempt in attempts:
                clock += timedelta(seconds=95)
                debrief.now = clock.isoformat
                run.check()
                attempt(api, run)
            clock += timedelta(seconds=40)
            debrief.now = clock.isoformat
            run.check()
            shown.append(run.debrief()._repr_html_())
            run.stop()
        finally:
            debrief.now = real
    page.set_viewport_size({"width": 980, "height": 600})
    page.set_content(f"<!doctype html><style>{STYLE}</style>{'<br>'.join(shown)}")
    page.screenshot(path=IMAGES / f"drill-{name}.png", full_page=True, animations="disabled")


def main() -> None:
    """Make all of them."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.environ["WORKBENCH_STATE"] = f"{folder}/state"
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1500, "height": 700})
        page.set_default_timeout(60_000)
        board(page, Path(folder))
        page = browser.new_page()  # the board's page forbids styles of others
        drill(page, "fraud-burst", (lock_release_refund,))
        drill(
            page,
            "duplicate-bookings",
            (correct_one, lambda api, run: None if run.check().solved else correct_rest(run)),
        )
        drill(page, "rate-limits", (update_each,))
        browser.close()


def correct_rest(run: Any) -> None:
    """Correct the repetition that `correct_one` left."""
    seen: set[str] = set()
    twice = [row for row in run.ledger if row["event"] and (row["event"] in seen or seen.add(row["event"]))]
    run.book(twice[-1]["transaction"], -twice[-1]["cents"])


if __name__ == "__main__":
    main()
