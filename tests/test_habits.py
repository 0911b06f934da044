"""Habits of the code that a linter does not hold: tables of data, types, names of variables."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[1] / "workbench").rglob("*.py"))
EMPTY_NAMES = {"one", "made", "words", "found"}
FIELDS = 16
"""Fields of records and parameters that have such a name since others use it."""


@cache
def trees() -> dict[Path, ast.Module]:
    """Parse the modules of the package."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def bound(tree: ast.AST) -> Counter[str]:
    """Count the names that are bound: variables and parameters."""
    names: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] += 1
        elif isinstance(node, ast.arg):
            names[node.arg] += 1
    return names


@pytest.mark.slow
def test_the_formatter_lays_out_all_but_tables_of_data() -> None:
    """`# fmt: skip` stands at most 60 times, and only behind an assignment of a display of data at the top of a module."""
    skipped = {
        (path, number): None
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "# fmt: skip" in line
    }
    tables = {
        (path, node.end_lineno)
        for path, tree in trees().items()
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Dict | ast.Tuple | ast.List | ast.Set | ast.Call)
    }

    assert len(skipped) <= 60
    assert skipped.keys() - tables == set()


def test_any_is_seldom() -> None:
    """`: Any` stands at most 485 times: `object` says more where nothing is read from a value."""
    count = sum(path.read_text(encoding="utf-8").count(": Any") for path in FILES)

    assert count <= 485


@pytest.mark.slow
def test_variables_are_called_after_what_they_hold() -> None:
    """None is called `one`, `made`, `words` or `found`, but for fields that others use."""
    names = {
        path.name: {name: count for name, count in bound(tree).items() if name in EMPTY_NAMES}
        for path, tree in trees().items()
    }

    assert sum(count for counts in names.values() for count in counts.values()) <= FIELDS, {
        k: v for k, v in names.items() if v
    }


def test_lines_end_at_120_columns() -> None:
    """No line is longer, but for a URL."""
    long_lines = [
        (path.name, number)
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120 and "://" not in line
    ]

    assert long_lines == []


def test_parameters_of_statements_have_no_numbers() -> None:
    """Python 3.12 warns of numbered ones that come in a sequence."""
    numbered = [
        path.name for path in FILES if re.search(r"(?:VALUES|SET|WHERE)\b[^\n]*\?\d", path.read_text(encoding="utf-8"))
    ]

    assert numbered == []
