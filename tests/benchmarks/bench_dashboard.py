"""How long the dashboard takes to its first figures and to its last chart: python -m tests.benchmarks.bench_dashboard.

A page of Voila with one word is measured beside it. The limit is 3 s from the kernel to the first figures, on a quiet machine.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from playwright.sync_api import Page, sync_playwright

from tests.browser.lab import CHROMIUM, FLAGS, SLOW, voila_of
from workbench.forms.dashboard import PARTS, notebook

KERNEL = """
import time
from workbench.forms.dashboard import dashboard
parts = dashboard().parts(live=True)
next(parts)
print(f"processor time of a kernel: {time.process_time():.1f} s to the tiles of a year, imports among it")
list(parts)
print(f"processor time of a kernel: {time.process_time():.1f} s to the last chart")
"""


@contextmanager
def opened(file: Path) -> Iterator[tuple[Page, float]]:
    """Yield a page of Voila, and when it was asked for."""
    with (
        tempfile.TemporaryDirectory() as folder,
        voila_of(file, Path(folder), "workbench") as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page()
        page.set_default_timeout(2 * SLOW)
        began = time.perf_counter()
        page.goto(url, wait_until="commit")
        yield page, began
        browser.close()


def main() -> None:
    """Print the figures."""
    print(f"load {os.getloadavg()[0]:.0f}")
    subprocess.run([sys.executable, "-c", KERNEL], check=True)
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print('base')")]), empty)
        with opened(empty) as (page, start):
            page.get_by_text("base", exact=True).wait_for()
            print(f"beside it, a page with one word: {time.perf_counter() - start:.1f} s")
    with opened(notebook()) as (page, start):
        page.locator(".wbd .tile b").first.wait_for()
        print(f"dashboard: {time.perf_counter() - start:.1f} s to the tiles")
        page.wait_for_function(f"() => document.querySelectorAll('.wbd svg.wb-chart').length === {len(PARTS)}")
        print(f"dashboard: {time.perf_counter() - start:.1f} s to the last chart")


if __name__ == "__main__":
    main()
