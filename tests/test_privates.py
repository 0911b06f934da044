"""Packages read few private attributes of other packages."""

import ast
import copy
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.sandbox import Sandbox
from workbench.sandbox.internals import Internals, internals
from workbench.sandbox.remote import RemoteSandbox

ROOT = Path(__file__).parent.parent
PROTOCOLS = {
    "_asdict", "_fields", "_replace",  # documented parts of named tuples
    "_exit", "_getframe",  # documented functions of the standard library
    "_ipython_display_", "_repr_html_", "_repr_mimebundle_",  # hooks of IPython
}  # fmt: skip
OF_ANOTHER = re.compile(r"(?<!\bself)(?<!\bcls)(?<!\bsuper\(\))\._(?!_)")
"""A private attribute of something else; a module without one needs no closer look."""
SERVED_ONLY = {"hosted", "http"}


def is_named(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def defined(tree: ast.AST) -> set[str]:
    """Return the functions, classes, variables and attributes of `self` that a module defines."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_named(node.value, {"self"}):
            names.add(node.attr)
    return names


def reads(folder: Path) -> Iterator[str]:
    """Yield each use of a private attribute that no module in the package's folder defines."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    if not any(map(OF_ANOTHER.search, texts.values())):
        return
    trees = {path: ast.parse(text) for path, text in texts.items()}
    known = PROTOCOLS.union(*map(defined, trees.values()))
    for path, tree in trees.items():
        for node in ast.walk(tree) if OF_ANOTHER.search(texts[path]) else ():
            if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
                continue
            if node.attr not in known and ast.unparse(node.value) not in {"self", "cls", "super()"}:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}"


def all_reads(name: str) -> list[str]:
    folders = sorted({path.parent for path in (ROOT / name).rglob("*.py")})
    return [read for folder in folders for read in reads(folder)]


@pytest.mark.slow
@pytest.mark.parametrize("name, limit", [("workbench", 7), ("tests", 17)], ids=["package", "tests"])
def test_few_private_attributes_of_other_packages_are_read(name: str, limit: int) -> None:
    """Other packages use public names, functions next to a class, or `internals` of a sandbox."""
    found = all_reads(name)

    assert len(found) <= limit, "\n".join(found)


def test_a_read_of_a_private_name_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Private attributes of other packages count. Those of the same package and of protocols do not."""
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (tmp_path / "one.py").write_text(
        "class One:\n    _mine = 1\n\ndef f(x):\n    return x._mine, x._theirs, x._asdict()\n"
    )

    assert list(reads(tmp_path)) == ["one.py:5 x._theirs"]


def test_every_internal_member_exists() -> None:
    """Each member of the protocol exists on an embedded sandbox or on the client of a served sandbox."""
    names = {name for name in vars(Internals) if not name.startswith("_")}
    sandbox = Sandbox()

    assert copy.copy(internals(sandbox)).world_id() == internals(sandbox).world_id()
    assert names >= {"engine", "drain", "world_id"}
    for name in names - SERVED_ONLY:
        assert getattr(internals(sandbox), name) is not None
    with sandbox.serve() as url:
        served = RemoteSandbox(url)
        for name in SERVED_ONLY | {"drain", "last_event", "url", "world_id"}:
            assert getattr(internals(served), name) is not None
    with pytest.raises(AttributeError):
        internals(sandbox).nothing_of_this  # type: ignore[attr-defined]  # noqa: B018
