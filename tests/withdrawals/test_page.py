"""The page about withdrawals runs as it stands, and prints what it says it prints."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "withdrawals.md"
BLOCKS = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def test_the_page_runs():
    """Each block prints what stands below it, or begins with it where the page shows the beginning alone."""
    names: dict[str, Any] = {}
    blocks = BLOCKS.findall(PAGE.read_text(encoding="utf-8"))
    for code, shown in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)

        assert shown
        assert printed.getvalue()[: len(shown)] == shown
    assert len(blocks) == 12
