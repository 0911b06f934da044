"""Run the examples of docs/cookbook.md and update their outputs: `python docs/make_cookbook.py`.

All Python blocks share one namespace. The text block below a Python block shows the value of its last line.
"""

import ast
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

PAGE = Path(__file__).parent / "cookbook.md"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)
ROWS = 5


def shown(value: Any) -> str:
    """Return the text of a value for the page. A frame becomes a table of its first rows."""
    if isinstance(value, pd.DataFrame):
        more = f"\n… {len(value) - ROWS:,} more rows" if len(value) > ROWS else ""
        return value.head(ROWS).to_string(index=False, float_format=lambda number: f"{number:.3f}") + more
    return str(value)


def run(code: str, names: dict[str, Any]) -> Any:
    """Run a block and return the value of its last line, if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cookbook", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cookbook", "eval"), names) if isinstance(last, ast.Expr) else None


def outputs(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the code of each block, and its output. The blocks write their files into a temporary folder."""
    names: dict[str, Any] = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for found in BLOCK.finditer(text):
                value = run(found["code"], names)
                yield found["code"], None if value is None else shown(value)
        finally:
            os.chdir(before)


def page() -> str:
    """Return the page with updated outputs."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = outputs(text)

    def renewed(_: re.Match[str]) -> str:
        code, output = next(blocks)
        return f"```python\n{code}```\n" + ("" if output is None else f"\n```text\n{output}\n```\n")

    return BLOCK.sub(renewed, text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
