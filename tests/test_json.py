"""Untrusted JSON is parsed only inside a `try` that catches the parser's errors."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.base.errors import UnusableFile
from workbench.base.schema import strict_json

PACKAGE = Path(__file__).parents[1] / "workbench"
# MALFORMED is a tuple of exceptions
CAUGHT = {"ValueError", "JSONDecodeError", "Exception", "BaseException", "MALFORMED"}
LIBRARIES = {"json", "orjson"}
ALONE = {"analysis/reports/query_process.py"}
"""Scripts that run without the package and read text from their parent process and from DuckDB."""


def names(node: ast.AST | None) -> set[str]:
    """Return the names in a part of code. A bare `except` stands for all errors."""
    if node is None:
        return CAUGHT
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} | {
        part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)
    }


def is_parse(node: ast.AST) -> bool:
    """Return whether code parses JSON with a library: `json.loads(…)`, `orjson.loads(…)` or `answer.json()`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = node.func.value
    by_library = node.func.attr == "loads" and isinstance(owner, ast.Name) and owner.id in LIBRARIES
    return by_library or (node.func.attr == "json" and not node.args and not node.keywords)


def bare(node: ast.AST, safe: bool = False) -> Iterator[int]:
    """Yield the lines that parse JSON outside a `try` in the same function that catches the error."""
    if is_parse(node) and not safe:
        yield node.lineno  # type: ignore[attr-defined]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        safe = False
    if isinstance(node, ast.Try):
        caught = any(names(handler.type) & CAUGHT for handler in node.handlers)
        for statement in node.body:
            yield from bare(statement, safe or caught)
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            yield from bare(part, safe)
        return
    if isinstance(node, ast.With) and any(
        "suppress" in names(item.context_expr) and names(item.context_expr) & CAUGHT for item in node.items
    ):
        safe = True
    for child in ast.iter_child_nodes(node):
        yield from bare(child, safe)


@pytest.mark.slow
def test_no_module_parses_json_bare() -> None:
    found = {
        str(path.relative_to(PACKAGE)): lines
        for path in sorted(PACKAGE.rglob("*.py"))
        if str(path.relative_to(PACKAGE)) not in ALONE
        and re.search(r"\.\s*(?:loads|json)\b", text := path.read_text(encoding="utf-8"))
        and (lines := [*bare(ast.parse(text))])
    }

    assert found == {}


@pytest.mark.parametrize("text", ["", "{", b"\xff", "[" * 100_000, "9" * 5_000])
def test_a_damaged_stored_value_is_an_unusable_file(text: str | bytes) -> None:
    with pytest.raises(UnusableFile, match="damaged"):
        strict_json.stored(text)


def addresses() -> Iterator[tuple[str, int]]:
    """Yield the places that open SQLite with a URI that was not escaped by a path function."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            if "file:{" in line or ("?mode=" in line and "as_uri" not in line):
                yield str(path.relative_to(PACKAGE)), number


def test_every_address_of_sqlite_is_escaped() -> None:
    """Otherwise `C#`, `?` or `%` in a name would open or create another file."""
    assert [*addresses()] == []
