"""`workbench course demo`: its one text runs to the end, shows each task and nothing private, and is that of README and notebook 01."""

import ast
import doctest
import json
import re
from pathlib import Path

import pytest

from workbench.terminal import tour

ROOT = Path(__file__).parents[2]
TEXT = tour.TEXT.read_text(encoding="utf-8")
BLOCKS = [[*tour.statements(block)] for block in TEXT.split("\n\n") if block.startswith(">>>")]


def normal(code: str) -> list[str]:
    """Return the statements of some code without comments and line breaks."""
    return [ast.unparse(one) for one in ast.parse(code).body]


def calls(code: str) -> set[str]:
    """Return the calls on a session in some code."""
    found = (ast.unparse(one) for one in ast.walk(ast.parse(code)) if isinstance(one, ast.Call))
    return {one for one in found if one.startswith(("api.", "wb.connect"))}


@pytest.fixture
def output(wb, tmp_path) -> str:
    ended = wb("course", "demo", "--out", str(tmp_path / "out"))
    assert (ended.code, ended.err) == (0, "")
    return ended.out


@pytest.mark.slow
def test_each_task_is_shown_and_nothing_private(output, tmp_path):
    """Each statement is there with what it returned; errors are those that the text announces; the chart is saved."""
    for shown in (
        "authorized",
        "REFUND",
        "✗ declined",
        "whole tokens",
        "✓ ready",
        "✓ approved",
        "complete",
        "widely seen",
    ):
        assert shown in output
    assert re.findall(r"^    (Invalid request|Not found|\w+Error)", output, re.MULTILINE) == [
        "Invalid request",
        "Not found",
    ]
    assert output.count(">>> ") == TEXT.count(">>> ")
    assert (tmp_path / "out" / "rewards.png").read_bytes().startswith(b"\x89PNG")
    assert [one for one in ("Ada", "ada@example.com", "900123456") if output.count(one) > TEXT.count(one)] == []


@pytest.mark.slow
def test_it_is_the_same_every_time(output, wb, tmp_path):
    assert wb("course", "demo", "--out", str(tmp_path / "out")).out == output


def test_readme_and_notebook_01_make_the_same_calls():
    """There is one walk-through: README's first statements are those of the text, and its first purchase is the notebook's."""
    output = {line for block in BLOCKS for one in block for line in normal(one)}
    readme = re.search(
        r"^```pycon\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    cells = json.loads((ROOT / "notebooks/01-start-here.ipynb").read_text(encoding="utf-8"))["cells"]
    lesson = {one for cell in cells if cell["cell_type"] == "code" for one in calls("".join(cell["source"]))}
    assert readme is not None

    for example in doctest.DocTestParser().get_examples(readme[1]):
        assert set(normal(example.source)) <= output, example.source
    assert calls("\n".join(BLOCKS[0])) <= lesson
