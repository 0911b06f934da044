"""The documentation as a site: built without a warning, searchable, and with nothing from other hosts."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")],
        capture_output=True, text=True, check=False, timeout=110, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip

    assert (ended.returncode, ended.stderr) == (0, "")
    index = json.loads((tmp_path / "site/search/search_index.json").read_text(encoding="utf-8"))
    found = " ".join(page["text"] for page in index["docs"])
    assert "EIP-712" in found
    assert "wb.rewards.fetch" in found
    for page in (tmp_path / "site").glob("*.html"):
        assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://', page.read_text(encoding="utf-8")), (
            page.name
        )


def test_every_page_is_in_the_navigation() -> None:
    named = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")

    assert not [page.name for page in (ROOT / "docs").glob("*.md") if page.name not in named]
