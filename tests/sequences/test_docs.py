"""The code on the pages about sequences and bulk runs works."""

import re
from pathlib import Path

import pytest

import workbench as wb

PAGE = Path(__file__).parents[2] / "docs" / "sequences.md"


@pytest.mark.slow
def test_the_page_on_sequences_runs_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page's file and Python code run in order, and the page states the right number of sequences."""
    text = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coat.toml").write_text(re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[0], encoding="utf-8")
    space: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), space)
    printed = capsys.readouterr().out

    assert "return a coat: 4 steps, all as expected" in printed
    assert f"contains {len(wb.sequences.catalogue)} named sequences" in text


def test_the_page_on_bulk_runs_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page's code blocks run in order."""
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.with_name("bulk.md").read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, "bulk.md", "exec"), space)

    assert "Payout 2" in capsys.readouterr().out
