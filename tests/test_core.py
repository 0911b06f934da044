"""`session.py` and the packages below it do not depend on or name the packages above."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "workbench"
CORE = ("base", "service", "client", "sandbox")
UPPER = re.compile(
    r"class_?(?:room|url|server)|in_class|learner|lesson|trainer|exercise|dashboard|panel|chart", re.IGNORECASE
)
RIGHT = {
    "chart": "a pattern of a status is for drawings of any kind",
    "dashboard": "the service has a dashboard of its own, where a person looks after an unknown outcome",
}


def names(tree: ast.AST) -> Iterator[str]:
    """Yield the names in code and types: variables, arguments, attributes, functions, classes and imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg | ast.keyword):
            yield node.arg or ""
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (alias.name for alias in node.names)


@pytest.mark.slow
@pytest.mark.parametrize("part", CORE)
def test_the_core_names_nothing_above_it(part: str) -> None:
    """No name in code or types, and no text except the listed ones, refers to a class, lesson, panel or chart."""
    files = sorted((ROOT / part).rglob("*.py"))
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    named = {f"{file.name}: {name}" for file, tree in trees.items() for name in names(tree) if UPPER.search(name)}
    texts = {
        f"{file.name}: {match[0].lower()}"
        for file, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for match in UPPER.finditer(node.value)
        if match[0].lower() not in RIGHT
    }

    assert files
    assert named == set()
    assert texts == set()


def test_waits_ask_one_clock() -> None:
    """A user's test may stop the clocks of `time`. Waits and durations use a clock that continues."""
    ours = {path for path in ROOT.rglob("*.py") if path.name not in {"seconds.py", "install.py", "machine.py"}}
    stopped = re.compile(r"\btime\.(monotonic|perf_counter)(_ns)?\b")

    assert [str(path) for path in sorted(ours) if stopped.search(path.read_text(encoding="utf-8"))] == []
