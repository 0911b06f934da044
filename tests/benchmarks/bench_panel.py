"""How long a panel with 100,000 rows makes one wait, in JupyterLab and Chromium, and how much it sends.

Run: python -m tests.benchmarks.bench_panel
"""

import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import workbench
from tests.browser.lab import CHROMIUM, FLAGS, SLOW, jupyter_lab
from tests.browser.test_panel import MANY, shown_panel

BARS = {"first rows": 300, "sort": 150, "search": 150 + 120, "scroll to the end": 150}
"""Milliseconds, at most. A search waits 120 ms for further keys."""
STORED = 300
"""Milliseconds of the first rows of a real session, at most."""
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


def opened() -> tuple[int, float]:
    """Return the number of stored transactions of a large world, and the milliseconds of processor time that the kernel
    takes to read them and to answer with the first rows: the least of five panels.
    """
    api = workbench.connect(world="large")
    times = []
    for _ in range(5):
        panel = workbench.browse(api)
        began = time.thread_time()
        answer = panel.answer({"do": "rows", "list": "transactions"})
        times.append((time.thread_time() - began) * 1000)
    return answer["all"], min(times)


def main() -> int:
    """Print a row for each figure; give 1 where a bar is missed."""
    with tempfile.TemporaryDirectory() as folder, jupyter_lab(Path(folder)) as lab, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(SLOW)
        shown_panel(page, lab, "panel", MANY)
        found = measured(page)
        browser.close()
    print("| Step | ms | bar, ms |\n|---|---|---|")
    for name, bar in BARS.items():
        print(f"| {name} | {found[name]:.0f} | {bar} |")
    count, milliseconds = opened()
    print(f"| first rows of {count:,} stored transactions, processor time | {milliseconds:.0f} | {STORED} |")
    size = (Path(workbench.__file__).parent / "panel" / "panel.js").stat().st_size
    print(f"\n{size / 1000:.1f} kB of JavaScript")
    return int(any(found[name] > bar for name, bar in BARS.items()) or milliseconds > STORED)


if __name__ == "__main__":
    sys.exit(main())
