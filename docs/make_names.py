"""Write docs/names.md: the public names before and after 0.3. Run: python docs/make_names.py"""

import json
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).parent / "names.md"
BEFORE = "2939b9e"  # before 0.3, as in architecture.md
LIST = """
import hashlib, inspect, json, sys, types, unittest.mock
sys.modules.setdefault("sha3", types.SimpleNamespace(keccak_256=hashlib.sha3_256))  # libraries that 0.2 needed;
sys.modules.setdefault("aiohttp", unittest.mock.MagicMock())  # its names do not depend on them
import workbench as wb
names = {"wb": dir(wb)}
names |= {f"wb.{name}": dir(getattr(wb, name)) for name in dir(wb) if inspect.ismodule(getattr(wb, name))}
with wb.connect() as api:
    objects = {"api": api, "api.sandbox": api.sandbox, "api.inbox": api.inbox, "api.journal": api.journal}
    names |= {name: dir(value) for name, value in objects.items()}
print(json.dumps({space: [name for name in listed if name[:1] != "_"] for space, listed in names.items()}))
"""


def names_in(folder: Path) -> dict[str, list[str]]:
    """Return what `dir()` shows of the package in a folder, by object."""
    run = subprocess.run([sys.executable, "-c", LIST], cwd=folder, capture_output=True, check=True, text=True)
    listed: dict[str, list[str]] = json.loads(run.stdout)
    return listed


def names_at(commit: str) -> dict[str, list[str]]:
    """Return the names of a commit."""
    archive = subprocess.run(["git", "archive", commit, "workbench"], cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
        return names_in(Path(folder))


def shown(names: set[str]) -> str:
    """Return names as a cell of a table."""
    return ", ".join(f"`{name}`" for name in sorted(names)) or "–"


def page() -> str:
    """Return the page: counts, and for each object what went, what came and what stays."""
    before, after = names_at(BEFORE), names_in(ROOT)
    counts = [sum(map(len, names.values())) for names in (before, after)]
    lines = [
        "# Public names before and after 0.3\n",
        f"What `dir()` shows at `{BEFORE}`, before 0.3, and now: {counts[0]} names before, {counts[1]} after.",
        "[CHANGELOG.md](../CHANGELOG.md) says what to write instead of a name that went.",
        "`python docs/make_names.py` writes this page.\n",
        "| Object | Names, before and after | Gone | New | Unchanged |",
        "|---|---:|---|---|---|",
    ]
    for space in sorted(before.keys() | after.keys()):
        old, new = set(before.get(space, ())), set(after.get(space, ()))
        lines.append(
            f"| `{space}` | {len(old)}, {len(new)} | {shown(old - new)} | {shown(new - old)} | {shown(old & new)} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stderr.write("wrote docs/names.md\n")
