"""The code on the page about withdrawals runs, and prints the shown output."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "withdrawals.md"
BLOCKS = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def test_the_page_runs():
    """Each code block prints the output below it, or begins with it."""
    names: dict[str, Any] = {}
    blocks = BLOCKS.findall(PAGE.read_text(encoding="utf-8"))
    for code, shown in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)

        assert shown
        assert printed.getvalue()[: len(shown)] == shown
    assert len(blocks) == 12
