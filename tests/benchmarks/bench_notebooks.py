"""Measure how long a user of the course's notebooks waits for the first result, and for each cell.

Run: python -m tests.benchmarks.bench_notebooks
"""

import sys
import tempfile
import time
from pathlib import Path

from jupyter_client.manager import KernelManager, start_new_kernel

from tests.notebooks.reading import NOTEBOOKS, cells, execute

FIRST = 60  # maximum seconds from a kernel's start to its first result
SLOW = 1  # seconds; the benchmark fails if more than half of the cells take this long


def first_result() -> tuple[float, float]:
    """Return the seconds from a kernel's start until it is ready, and until the first cell of the course shows its result."""
    began = time.monotonic()
    manager, client = start_new_kernel(kernel_name="python3")
    ready = time.monotonic() - began
    try:
        client.execute(cells(NOTEBOOKS[0], "code")[0])
        while client.get_iopub_msg(timeout=FIRST)["header"]["msg_type"] != "execute_result":
            pass
        return ready, time.monotonic() - began
    finally:
        _end(manager, client)


def _end(manager: KernelManager, client: object) -> None:
    client.stop_channels()  # type: ignore[attr-defined]
    manager.shutdown_kernel(now=True)


def main() -> int:
    """Print a row for each notebook, and return 1 if a limit is exceeded."""
    ready, shown = first_result()
    print(f"a kernel's start, ready after {ready:.1f} s, first result of 01 after {shown:.1f} s (bar: {FIRST} s)\n")
    print("| Notebook | Cells | Run All, s | First cell, s | Slowest other, s | Cells of a second or more |")
    print("|---|---|---|---|---|---|")
    slow = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in NOTEBOOKS:
            first, *others = seconds = execute(path, Path(folder) / path.stem).seconds
            long = sum(one >= SLOW for one in seconds)
            print(
                f"| {path.stem[:2]} | {len(seconds)} | {sum(seconds):.1f} | {first:.1f} | {max(others):.1f} | {long} |",
                flush=True,
            )
            slow, total = slow + long, total + len(seconds)
    print(f"\n{total - slow} of {total} cells take less than a second")
    return int(shown > FIRST or slow > total / 2)


if __name__ == "__main__":
    sys.exit(main())
