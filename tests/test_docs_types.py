"""The Python blocks of README and docs pass strict mypy (with unannotated functions) and pyright unchanged."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
GIVEN = {
    "": """# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-redefinition
from pathlib import Path
from typing import Any
import os
import pandas as pd
import pytest
import workbench as wb
from workbench import testing
def given() -> Any: ...
api = wb.connect()
users = list[str]()
card = user_id = transaction_id = event_id = full_key = key = str()
headers, body = dict[str, str](), bytes()
my_application: Any = given()
""",
    "charts.md": "rewards = transactions = pd.DataFrame(); events = api.inbox; run: Any = given()\n",
    "testing.md": "MyHandler: Any = given()\n",
    "training.md": "c: Any = given()\n",
}
"""Names that the text introduces, on every page and on a single page."""
MEANT = {
    ("developers.md", "amount=10.99"),
    ("errors.md", "amount=10.99"),
    ("withdrawals.md", "wb.withdrawals.usd(wrong)"),
    ("withdrawals.md", "amount=2500,"),
}
"""Intentionally wrong calls on pages, by part of their line."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = re.compile(r"^```(python|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> str:
    """Return the Python of a page."""
    parts = []
    for language, code in CODE.findall(page.read_text(encoding="utf-8")):
        if code.startswith(" ") or re.search(
            r"\bshop(_1)?\b", code
        ):  # the block is a fragment, or a test of the reader's application
            continue
        lines = code.splitlines()
        if language == "pycon":
            lines = [line[4:] for line in lines if line.startswith((">>>", "... "))]
        parts += [*lines, ""]
    return "\n".join(parts)


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """A folder with a module for each page."""
    folder = tmp_path_factory.mktemp("pages")
    for page in PAGES:
        if code := blocks(page):
            (folder / f"{page.stem.replace('-', '_')}.py").write_text(GIVEN[""] + GIVEN.get(page.name, "") + code)
    return folder


def check(written: Path, found: list[tuple[str, int, str]]) -> None:
    """Compare the lines that a type checker reports with the lines that are intentionally wrong."""
    wrong = []
    for module, line, message in found:
        page, text = f"{Path(module).stem}.md", (written / module).read_text().splitlines()[line - 1]
        if "no-redef" in message or "obscured" in message:  # the page has alternative blocks that define the same name
            continue
        if not any(name == page and part in text for name, part in MEANT):
            wrong.append(f"{page}: {text.strip()}: {message}")

    assert not wrong, "\n".join(wrong)


@pytest.mark.soak
def test_mypy(written: Path) -> None:
    """mypy runs in strict mode with the package's options, so that it uses the cache of `make check`."""
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", *sorted(written.glob("*.py"))],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    found = re.findall(r"^\S*?(\w+\.py):(\d+): error: (.*)$", ended.stdout, re.MULTILINE)

    assert not ended.stderr
    check(written, [(module, int(line), message) for module, line, message in found])


@pytest.mark.soak
def test_pyright(written: Path) -> None:
    """pyright runs with its default rules."""
    ended = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "."],
        capture_output=True, text=True, cwd=written, check=False,
    )  # fmt: skip
    found = [one for one in json.loads(ended.stdout)["generalDiagnostics"] if one["severity"] == "error"]
    check(
        written,
        [
            (Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"])
            for one in found
            if one.get("rule") != "reportUnusedExpression"
        ],
    )
