"""Write the public names into docs/reference.md: `python docs/make_api.py`. `--count` prints the number of names."""

import ast
import inspect
import sys
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import workbench as wb
from workbench.analysis.reports.history import History
from workbench.service.interface.table import OPERATIONS

PAGE = Path(__file__).parent / "reference.md"
MARK = "<!-- names: python docs/make_api.py writes this part -->\n"
END = "<!-- names: end -->\n"
GROUPS = {
    "Connect": ("connect", "connect_async", "Session", "AsyncSession", "Client", "AsyncClient", "Sandbox", "Inbox", "Journal", "Limits", "FULL"),
    "Work with data": ("form", "browse", "history", "to_frame", "read_table", "to_file", "sql", "learn", "assumptions"),
    "Common errors": ("WorkbenchError", "ApiError", "InvalidRequest", "NotFound", "NotSent", "OutcomeUnknown"),
}  # fmt: skip
OBJECTS = ("Session", "Sandbox", "Journal", "Inbox")
CONSTANTS = {
    "wb.sequences.catalogue": "The built-in sequences by name.",
    "wb.testing.MONEY": "Built-in invariants about money, for `explore`.",
}
"""Summaries of values whose type describes only itself."""


def summary(thing: Any) -> str:
    """Return the first sentence of an object's docstring, on one line."""
    if not callable(thing) and not isinstance(thing, ModuleType | property | cached_property):
        return "" if type(thing).__doc__ is None else _first(type(thing).__doc__)
    return _first(inspect.getdoc(thing) or "")


def _first(doc: str) -> str:
    paragraph = " ".join(doc.split("\n\n")[0].split())
    sentence = paragraph.partition(". ")[0]
    return sentence if sentence.endswith((".", ":")) or not sentence else f"{sentence}."


def row(name: str, thing: Any) -> str:
    """Return a line of a list. The name of a function has parentheses."""
    shown = f"{name}()" if callable(thing) and not isinstance(thing, type) else name
    return f"- `{shown}`: {CONSTANTS.get(name) or summary(thing)}".removesuffix(": ")


def table(rows: list[str]) -> str:
    """Return a list of names."""
    return "\n".join(rows) + "\n"


def members(cls: type) -> list[str]:
    """Return the rows of the public members of a class, except operations."""
    names = sorted(name for name in dir(cls) if not name.startswith("_") and name not in OPERATIONS)
    return [row(name, getattr(cls, name)) for name in names]


def counts() -> dict[str, int]:
    """Return the numbers of public names: of the package, each namespace, a session, and the session's objects."""
    found = {"wb": len(dir(wb))}
    found |= {
        f"wb.{name}": len(dir(getattr(wb, name))) for name in dir(wb) if isinstance(getattr(wb, name), ModuleType)
    }
    with wb.connect() as api:
        for name, thing in {
            "api": api,
            "api.sandbox": api.sandbox,
            "api.inbox": api.inbox,
            "api.journal": api.journal,
        }.items():
            found[name] = sum(not one.startswith("_") for one in dir(thing))
    return found


def page() -> str:
    """Return the page: the generated names between the two marks, and the hand-written text around them."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARK)
    after = rest.partition(END)[2]
    spaces = [name for name in dir(wb) if isinstance(getattr(wb, name), ModuleType)]
    listed = [name for group in GROUPS.values() for name in group]
    missing = sorted(set(dir(wb)) - set(listed) - set(spaces)) + sorted(set(listed) - set(dir(wb)))
    if missing:
        raise SystemExit(f"in no group, or no public name: {', '.join(missing)}")
    parts = [
        f"{before}{MARK}\n## The names\n",
        "`import workbench as wb` offers these names. Each is loaded when it is first used.\n",
    ]
    for title, names in GROUPS.items():
        parts += [f"### {title}\n", table([row(f"wb.{name}", getattr(wb, name)) for name in names])]
    parts += ["## Namespaces\n"]
    for space in spaces:
        module = getattr(wb, space)
        parts += [f"### wb.{space}\n", f"{summary(module)}\n"]
        parts += [table([row(f"wb.{space}.{name}", getattr(module, name)) for name in dir(module)])]
    parts += ["## Objects\n"]
    parts += ["### History\n", f"{summary(History)} From `wb.history(source)`.\n", table(members(History))]
    for name in OBJECTS:
        parts += [f"### {name}\n", f"{summary(getattr(wb, name))}\n"]
        if name == "Session":
            parts += [
                f"The operations are methods: {', '.join(f'`{one}`' for one in OPERATIONS)}. Each is described in [the interface](interface.md).\n"
            ]
        parts += [table(members(getattr(wb, name)))]
    return "\n".join(parts) + f"\n{END}{after}"


def nodes() -> dict[str, tuple[int, int]]:
    """Return the numbers of syntax tree nodes and files of each package."""
    sizes: dict[str, tuple[int, int]] = {}
    root = Path(wb.__file__).parent
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).parts[:-1]
        package = (
            "/".join(parts) if parts == ("course", "classroom") else parts[0] if parts else "modules of the top folder"
        )
        tree = ast.walk(ast.parse(path.read_bytes()))
        count, files = sizes.get(package, (0, 0))
        sizes[package] = count + sum(not isinstance(node, ast.Load | ast.Store | ast.Del) for node in tree), files + 1
    return dict(sorted(sizes.items(), key=lambda size: -size[1][0]))


if __name__ == "__main__" and "--count" in sys.argv:
    found = counts()
    print(
        *(f"{name}: {count}" for name, count in found.items()),
        f"all: {sum(found.values())}",
        *(f"nodes, files of {package}: {count:,}, {files}" for package, (count, files) in nodes().items()),
        f"nodes: {sum(count for count, _ in nodes().values()):,}",
        sep="\n",
    )
elif __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stderr.write("wrote docs/reference.md\n")
