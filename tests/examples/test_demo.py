"""`examples/demo.py` runs to the end, shows no private value, and makes the calls of the README and of notebook 01."""

import ast
import doctest
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "examples/demo.py").read_text(encoding="utf-8")
FIRST = TEXT.partition("# Buy, settle, refund")[2].partition("\ntry:")[0]


def normal(code: str) -> list[str]:
    """Return the statements of code, without comments and in standard formatting."""
    return [ast.unparse(statement) for statement in ast.parse(code).body]


def calls(code: str) -> set[str]:
    """Return the calls on a session in code."""
    found = (ast.unparse(node) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    return {call for call in found if call.startswith(("api.", "wb.connect"))}


def run(folder: Path) -> str:
    ended = subprocess.run(
        [sys.executable, ROOT / "examples/demo.py", "out"], capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


@pytest.mark.slow
def test_each_task_is_shown_and_nothing_private(tmp_path: Path) -> None:
    """The output has each statement with its result and the expected errors only. The chart is saved."""
    output = run(tmp_path)
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
    assert output.count("\nshow(") == TEXT.count("\nshow(")
    assert (tmp_path / "out" / "rewards.png").read_bytes().startswith(b"\x89PNG")
    assert [name for name in ("Ada", "ada@example.com", "900123456") if output.count(name) > TEXT.count(name)] == []
    assert run(tmp_path) == output


def test_readme_and_notebook_01_make_the_same_calls() -> None:
    """README's statements are those of the script, and the script's first calls are in the notebook."""
    own = {line.removeprefix("show(").removesuffix(")") if line.startswith("show(") else line for line in normal(TEXT)}
    readme = re.search(
        r"^```pycon\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    cells = json.loads((ROOT / "notebooks/01-start-here.ipynb").read_text(encoding="utf-8"))["cells"]
    lesson = {call for cell in cells if cell["cell_type"] == "code" for call in calls("".join(cell["source"]))}
    assert readme is not None

    for example in doctest.DocTestParser().get_examples(readme[1]):
        assert set(normal(example.source)) <= own, example.source
    assert calls(FIRST) <= lesson
