"""Generated pages are current, and the pages' links and citations have targets."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs import make_assumptions, make_events, make_interface
from tests.each import each
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import OPERATIONS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ELSEWHERE = ("EIP-712",)
"""Citations of other documents."""
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def text(path: Path) -> str:
    """Return the text of a page, or of a notebook's Markdown cells."""
    raw = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        return "\n".join(
            "".join(cell["source"]) for cell in json.loads(raw)["cells"] if cell["cell_type"] == "markdown"
        )
    return raw


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    plain = re.sub(r"^```.*?^```", "", text(path), flags=re.MULTILINE | re.DOTALL)
    return {make_interface.slug(heading) for heading in re.findall(r"^#+ +(.+?) *$", plain, re.MULTILINE)}


def links(path: Path) -> Iterator[str]:
    """Yield the link targets of a page inside the repository."""
    plain = re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text(path), flags=re.MULTILINE | re.DOTALL))
    yield from (target for target in re.findall(r"\]\(([^)\s]+)\)", plain) if not re.match(r"[a-z]+:", target))


def broken(path: Path) -> Iterator[str]:
    """Yield the links without a target file or heading."""
    for target in links(path):
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            yield target


def citations() -> Iterator[tuple[str, str]]:
    """Yield file and text of every citation of the interface: "Source: …" in docstrings, `source=…` in declarations."""
    for path in sorted((ROOT / "workbench").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "source" and isinstance(node.value, ast.Constant):
                yield str(path), str(node.value.value)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                for found in re.finditer(r"\bSource: ([^{\n]+?)(?:\. |\.?$)", node.value, re.MULTILINE):
                    yield str(path), found[1]


def test_interface_is_written_from_the_declarations() -> None:
    """`python docs/make_interface.py` does not change docs/interface.md."""
    assert make_interface.PAGE.read_text(encoding="utf-8") == make_interface.page()


def test_events_are_written_from_the_declarations() -> None:
    """`python -m docs.make_events` does not change docs/events.md."""
    assert make_events.PAGE.read_text(encoding="utf-8") == make_events.page()


def test_the_texts_for_agents_are_current() -> None:
    """SKILL.md and llms.txt list each operation and kind of event with the text of its declaration."""
    skill = (ROOT / "workbench/testing/SKILL.md").read_text(encoding="utf-8")
    index = (ROOT / "docs/llms.txt").read_text(encoding="utf-8")
    for name, row in OPERATIONS.items():
        assert f"| `{name}` | `{row.method} {row.path}` |" in skill
        assert row.doc in skill
        assert f"[{name}](interface.html#{name.replace('_', '-')}): {row.doc}" in index
    for name, kind in EVENT_KINDS.items():
        assert f"- `{name}`: {kind.doc}" in skill
        assert f"- [{name}](events.html): {kind.doc}" in index


def test_assumptions_are_written_from_the_declarations() -> None:
    """`python docs/make_assumptions.py` does not change docs/assumptions.md."""
    assert make_assumptions.PAGE.read_text(encoding="utf-8") == make_assumptions.page()


@pytest.mark.slow
def test_every_citation_leads_to_a_section() -> None:
    """Each section that a docstring or a declaration cites is on the page."""
    there, lost = anchors(make_interface.PAGE), []
    for path, source in citations():
        if source in ELSEWHERE:
            continue
        try:
            lost += [f"{path}: {source}: #{name}" for name in make_interface.anchors(source) if name not in there]
        except ValueError as error:
            lost.append(f"{path}: {error}")

    assert lost == []


@each("path", [*PAGES, *NOTEBOOKS], ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """Each link leads to a file of the repository and, if it has an anchor, to a heading of the file."""
    assert list(broken(path)) == []


@pytest.mark.parametrize("path", [*PAGES, *NOTEBOOKS], ids=lambda path: path.name)
def test_rows_stand_under_their_head(path: Path) -> None:
    """Each table has a head and a rule, and its rows have the same number of cells."""
    plain = re.sub(r"^```.*?^```", "", text(path), flags=re.MULTILINE | re.DOTALL)
    for table in re.findall(r"(?:^\|.*\n?)+", plain, re.MULTILINE):
        head, *rest = [len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", row))) for row in table.splitlines()]
        assert re.match(r".*\n\|[\s:|-]+\|", table), table.splitlines()[0]
        assert {*rest} == {head}, table.splitlines()[0]


def test_every_term_is_linked() -> None:
    """Each entry of the glossary is linked at least once."""
    glossary = ROOT / "docs" / "glossary.md"
    linked = {target.rpartition("#")[2] for path in [*PAGES, *NOTEBOOKS] for target in links(path) if "#" in target}
    terms = set(re.findall(r"^### +(.+?) *$", text(glossary), re.MULTILINE))

    assert {term for term in terms if make_interface.slug(term) not in linked} == set()
