"""How long a panel with 100,000 rows makes one wait, in JupyterLab and Chromium, and how much it sends.

Run: python -m tests.benchmarks.bench_panel, or only the kernel's part: python -m tests.benchmarks.bench_panel session
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from playwright.sync_api import Page, sync_playwright

import workbench
from tests.browser.lab import CHROMIUM, FLAGS, SLOW, jupyter_lab
from tests.browser.test_panel import MANY, shown_panel
from workbench.sandbox.internals import internals
from workbench.screens.panel.listing import Listing

BARS = {"first rows": 300, "sort": 150, "search": 150 + 120, "scroll to the end": 150}
"""Milliseconds, at most. A search waits 120 ms for further keys."""
STORED = 300
"""Milliseconds of the first rows and of the overview of a session, at most."""
CHANGE = 150
FILTERS = ("status:declined", "status!=declined", "amount>200", "amount<100000", "authorized_at>=2026-01", "shop", "")
MEASURE = """([act, place, done]) => new Promise(resolve => {
  const root = document.querySelector('.wbp'), seen = new Function('root', `return ${done}`), began = performance.now();
  const watch = new MutationObserver(() => {
    if (seen(root)) { watch.disconnect(); requestAnimationFrame(() => resolve(performance.now() - began)); }
  });
  watch.observe(root, {subtree: true, childList: true, characterData: true});
  new Function('one', act)(root.querySelector(place));
})"""
NAV = "nav button:nth-child(6)"
TYPE = "one.value = '{}'; one.dispatchEvent(new Event('input'))"
COUNT = "root.querySelector('.count')?.textContent"


def measured(page: Page) -> dict[str, float]:
    """Return milliseconds from a press to what it shows."""

    def took(act: str, place: str, done: str) -> float:
        milliseconds: float = page.evaluate(MEASURE, [act, place, done])
        return milliseconds

    found = {"first rows": took("one.click()", NAV, f"{COUNT} === '100,000 rows'")}
    page.wait_for_timeout(3_000)  # until the texts that are searched are made
    head = ".sort-amount_cents"
    sorts = [took("one.click()", head, f"root.querySelector('{head}').textContent.includes('{mark}')") for mark in "▲▼"]
    found["sort"] = max(sorts)
    found["search"] = took(TYPE.format("shop 77"), "input.search", f"{COUNT}.includes('of 100,000')")
    took(TYPE.format(""), "input.search", f"{COUNT} === '100,000 rows'")
    end = "root.querySelector('[aria-rowindex=\"100001\"]')"
    found["scroll to the end"] = took("one.scrollTop = one.scrollHeight", ".grid", end)
    return found


def least(act: Callable[[], object], times: int = 5) -> float:
    """Return the milliseconds of processor time that an act takes in this thread, the least of some times."""
    took = []
    for _ in range(times):
        began = time.thread_time()
        act()
        took.append((time.thread_time() - began) * 1000)
    return min(took)


def session(folder: Path) -> int:
    """Print what the kernel takes over a sandbox of 100,000 transactions; give the number of bars that are missed."""
    (folder / "program.toml").write_text("size = 2600\n")  # users
    api = workbench.connect(world=folder / "program.toml")
    store = internals(api.sandbox).engine.store
    pd.DataFrame({})  # pandas is imported before anything is measured
    asked = {"list": "transactions", "sort": []}
    with mock.patch.object(Listing, "prepare"):  # what it does in the background would be counted in part
        first = least(lambda: workbench.browse(api).answer({"do": "rows", **asked}))
        overview = least(lambda: workbench.browse(api).answer({"do": "overview"}))
        panel = workbench.browse(api)
        count = panel.answer({"do": "rows", **asked})["all"]
        heads = least(lambda: panel.answer({"do": "summary", **asked, "filter": ""}), times=1)
    panel.lists["transactions"].searched  # noqa: B018 - computed in the background, before a person types
    stored = list(store.all("transaction"))
    frame = pd.DataFrame(stored)
    rows = [
        ("overview, which reads six lists", overview, STORED),
        ("first rows", first, STORED),
        (
            "for comparison: pandas makes a frame of the stored rows",
            least(lambda: pd.DataFrame(list(store.all("transaction")))),
            0,
        ),
        ("the first heads with distributions", heads, 0),
    ]
    for text in FILTERS:

        def change(text: str = text) -> None:
            panel.lists["transactions"].filter("x")  # another one before
            answer = panel.answer({"do": "rows", **asked, "filter": text})
            heads = panel.answer({"do": "summary", **asked, "filter": text})
            assert answer["shown"] >= 0
            assert "columns" in heads

        rows.append((f"filter `{text}`, with distributions", least(change), CHANGE))

    def regrouped() -> None:
        panel.lists["transactions"].group()
        assert panel.answer({"do": "rows", **asked, "group": "merchant_name"})["lines"] > 1

    rows.append(("groups by merchant, with subtotals by currency", least(regrouped), CHANGE))
    unfolded = {**asked, "group": "merchant_name", "unfolded": list(panel.lists["transactions"].groups)[:1]}
    rows.append(
        (
            "a group opened",
            least(
                lambda: [
                    panel.answer({"do": "rows", **asked, "group": "merchant_name"}),
                    panel.answer({"do": "rows", **unfolded}),
                ]
            )
            / 2,
            CHANGE,
        )
    )
    columns = ["authorized", "held", "settled", "refunded"]
    counted = [name for name in frame.columns if name not in (*columns, "id", "authorized_at", "posted_at")]

    def summarized() -> None:
        for name in counted:
            frame[name].value_counts().head(6)
        for name in columns:
            np.histogram(frame[name], bins=8)

    rows.append(("for comparison: pandas counts and bins 13 columns of that frame", least(summarized), 0))
    print(f"| {count:,} transactions of a session, processor time of the kernel | ms | bar, ms |\n|---|---|---|")
    for name, took, bar in rows:
        print(f"| {name} | {took:.0f} | {bar or ''} |")
    return sum(bool(bar) and took > bar for _, took, bar in rows)


def main() -> int:
    """Print a row for each figure; give 1 where a bar is missed."""
    if "session" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            return int(session(Path(folder)) > 0)
    with tempfile.TemporaryDirectory() as folder, jupyter_lab(Path(folder)) as lab, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(SLOW)
        shown_panel(page, lab, "panel", MANY)
        found = measured(page)
        browser.close()
        missed = session(Path(folder))
    print("| Step | ms | bar, ms |\n|---|---|---|")
    for name, bar in BARS.items():
        print(f"| {name} | {found[name]:.0f} | {bar} |")
    size = (Path(workbench.__file__).parent / "screens" / "panel" / "panel.js").stat().st_size
    print(f"\n{size / 1000:.1f} kB of JavaScript")
    return int(any(found[name] > bar for name, bar in BARS.items()) or missed > 0)


if __name__ == "__main__":
    sys.exit(main())
