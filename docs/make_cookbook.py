"""Run docs/cookbook.md and write its outputs anew: `python docs/make_cookbook.py` (`--times` measures the table too).

Each Python block is run in the names of those before it; the value of its last line stands in the block of text below.
"""

import ast
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

PAGE = Path(__file__).parent / "cookbook.md"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
TABLE = "## All of them\n"
SECONDS = re.compile(r"\| ([0-9.]+) \|$", re.MULTILINE)


def shown(value: Any) -> str:
    """Return a value as the page shows it: a frame as text of at most eight rows."""
    if isinstance(value, pd.DataFrame):
        more = f"\n… {len(value) - 8:,} more rows" if len(value) > 8 else ""
        return value.head(8).to_string(index=False, float_format=lambda number: f"{number:.3f}") + more
    return str(value)


def run(code: str, names: dict[str, Any]) -> Any:
    """Run a block and return the value of its last line, if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cookbook", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cookbook", "eval"), names) if isinstance(last, ast.Expr) else None


def outputs(text: str) -> Iterator[tuple[str, str | None, float]]:
    """Yield the code of each block, what it shows, and its seconds; files are written into a folder of their own."""
    names: dict[str, Any] = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for found in BLOCK.finditer(text):
                began = time.perf_counter()
                value = run(found["code"], names)
                yield found["code"], None if value is None else shown(value), time.perf_counter() - began
        finally:
            os.chdir(before)


def page(*, times: bool = False) -> str:
    """Return the page with its outputs and its table; seconds stay as they are unless `times`."""
    text = PAGE.read_text(encoding="utf-8").partition(TABLE)[0]
    old = SECONDS.findall(PAGE.read_text(encoding="utf-8").partition(TABLE)[2])
    made = list(outputs(text))
    blocks = iter(made)

    def renewed(_: re.Match[str]) -> str:
        code, output, _seconds = next(blocks)
        return f"```python\n{code}```\n" + ("" if output is None else f"\n```text\n{output}\n```\n")

    jobs = [title for title in HEADING.findall(text) if title != "Data"]
    lines = ["| Job | Lines | Seconds |", "|---|---|---|"]
    rows = zip(jobs, made[-len(jobs) :], [*old, *["0.00"] * len(jobs)], strict=False)
    for job, (code, _, seconds), known in rows:
        lines.append(
            f"| {job} | {len(code.strip().splitlines())} | {f'{seconds:.2f}' if times or not old else known} |"
        )
    return (
        BLOCK.sub(renewed, text).rstrip()
        + "\n\n"
        + TABLE
        + "\nSeconds on two shared cores, of the data above.\n\n"
        + "\n".join(lines)
        + "\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page(times="--times" in sys.argv), encoding="utf-8")
    print(f"wrote {PAGE}")
