"""Conventions of the code that no linter checks: tables of data, types, and names of variables."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[1] / "workbench").rglob("*.py"))
EMPTY_NAMES = {"one", "made", "words", "found"}
FIELDS = 16
"""Fields and parameters that keep such a name because other code uses it."""


@cache
def trees() -> dict[Path, ast.Module]:
    """Parse the modules of the package."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def bound(tree: ast.AST) -> Counter[str]:
    """Count the names of variables and parameters."""
    names: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] += 1
        elif isinstance(node, ast.arg):
            names[node.arg] += 1
    return names


@pytest.mark.slow
def test_the_formatter_lays_out_all_but_tables_of_data() -> None:
    """`# fmt: skip` occurs at most 60 times, only after the assignment of a data table at module level."""
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
    """`: Any` occurs at most 485 times, because `object` is clearer for values of which no attribute is read."""
    count = sum(path.read_text(encoding="utf-8").count(": Any") for path in FILES)

    assert count <= 485


@pytest.mark.slow
def test_variables_are_called_after_what_they_hold() -> None:
    """No variable is called `one`, `made`, `words` or `found`, except for fields that other code uses."""
    names = {
        path.name: {name: count for name, count in bound(tree).items() if name in EMPTY_NAMES}
        for path, tree in trees().items()
    }

    assert sum(count for counts in names.values() for count in counts.values()) <= FIELDS, {
        k: v for k, v in names.items() if v
    }


def test_lines_end_at_120_columns() -> None:
    """No line is longer than 120 columns, except for a URL."""
    long_lines = [
        (path.name, number)
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120 and "://" not in line
    ]

    assert long_lines == []


def test_parameters_of_statements_have_no_numbers() -> None:
    """SQL statements have no numbered parameters, because Python 3.12 warns if their values are a sequence."""
    numbered = [
        path.name for path in FILES if re.search(r"(?:VALUES|SET|WHERE)\b[^\n]*\?\d", path.read_text(encoding="utf-8"))
    ]

    assert numbered == []
