"""Draw random texts that a person reads: messages, help, pages, notebooks and docstrings.

Run: python -m tests.words.draw --seed 7 [--count 30] [--kind docstrings]
"""

import argparse
import ast
import json
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
KINDS = ("messages", "help", "docs", "notebooks", "docstrings")
_HELP = ("help", "doc")
_HELPERS = ("__init__", "commands", "exits", "operations", "output", "where")
"""Modules of the terminal package that define no commands."""
_RAISED = re.compile(r"[A-Z]\w*|(?:\w*_)?(?:error|problem|say|refuse|refused|bad_request|not_found|mismatch)s?")


def listed(*patterns: str) -> list[Path]:
    """Return the tracked files that match a pattern."""
    names = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [ROOT / name for name in names.splitlines()]


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "{}" for part in node.values)
    return ""


def python_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the docstrings, messages and lines of help of a module, each with its kind."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if doc := ast.get_docstring(node):
                command = path.parent.name == "terminal" and path.stem not in _HELPERS
                public = isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
                yield ("help" if command and public else "docstrings"), doc
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name == "about":
                yield from (("help", text) for text in map(_text, node.args[:1]) if text)
            elif _RAISED.fullmatch(name) and name not in {"Assumption", "Reason"}:
                yield from (("messages", text) for text in map(_text, node.args) if text)
        elif isinstance(node, ast.keyword) and node.arg in _HELP and _text(node.value):
            yield "help", _text(node.value)


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and rows of a page, without its code."""
    for part in re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).split("\n\n"):
        items = re.sub(r"\n +(?!-)", " ", part)  # a list item can continue on indented lines
        yield from items.splitlines() if part.lstrip().startswith(("|", "-")) else [part]


def texts() -> dict[str, list[tuple[str, str]]]:
    """Return all texts of at least three words, by kind, each with its file."""
    found: dict[str, list[tuple[str, str]]] = {kind: [] for kind in KINDS}
    for path in listed("workbench/*.py"):
        for kind, text in python_texts(path):
            found[kind].append((str(path.relative_to(ROOT)), text))
    for path in listed("docs/*.md", "README.md", "CHANGELOG.md"):
        found["docs"] += [(path.name, text) for text in paragraphs(path.read_text(encoding="utf-8"))]
    for path in listed("notebooks/*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                found["notebooks"] += [(path.name, text) for text in paragraphs("".join(cell["source"]))]
    return {
        kind: [row for row in rows if len(re.findall(r"[a-z]{2,}", row[1])) > 2 and " " in row[1].strip()]
        for kind, rows in found.items()
    }


def draw(seed: int, count: int, kinds: tuple[str, ...] = KINDS) -> Iterator[tuple[str, str, str]]:
    """Yield random texts of each kind, with their file."""
    every = texts()
    for kind in kinds:
        rows = every[kind]
        for path, text in random.Random(f"{seed} {kind}").sample(rows, min(count, len(rows))):
            yield kind, path, text


def main() -> None:
    """Print the requested texts, numbered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=30, help="texts of each kind; 30 are 150 in all")
    parser.add_argument("--kind", choices=KINDS, action="append")
    asked = parser.parse_args()
    for number, (kind, path, text) in enumerate(draw(asked.seed, asked.count, tuple(asked.kind or KINDS)), 1):
        print(f"{number} [{kind}] {path}: {' '.join(text.split())}\n")


if __name__ == "__main__":
    main()
