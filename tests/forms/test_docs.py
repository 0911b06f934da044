"""The code on the page about forms works."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "forms.md"


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of the page run in order."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    text = PAGE.read_text(encoding="utf-8")

    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block, names)

    assert "authorized" == names["answer"].status  # type: ignore[attr-defined]
    assert [
        PAGE.parent / one for one in re.findall(r"\]\((.*?\.png)\)", text) if not (PAGE.parent / one).exists()
    ] == []
    assert (tmp_path / "users.csv").exists()
