"""Each promise on the pages names the test that shows it.

A row of a table with a column `Test` in docs/how-it-is-tested.md names existing files. A sentence with "never", "always",
"every" or "exactly" on a hand-written page is listed in tests/promises.toml with its test. tests/broken.toml has changes of
the source that break these promises, after which their tests must fail.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from tests.mutants import copy_tree

ROOT = Path(__file__).parent.parent
TESTED = ROOT / "docs" / "how-it-is-tested.md"
GENERATED = {"assumptions.md", "events.md", "interface.md"}
"""Generated pages, whose texts are checked in the declarations."""
GENERATED_PARTS = r"<!-- (?:names|assumed)\b.*?<!-- [\w: ]*\bend\b[^>]*-->"
ABSOLUTE = re.compile(r"\b(?:never|always|every|exactly)\b", re.IGNORECASE)
CODE = r"^```.*?^```|^ {4,}\S[^\n]*|`[^`\n]*`"


@attrs.frozen
class Promise:
    """A sentence of a page, or part of a sentence, with its test files."""

    page: str
    says: str
    tests: list[str]


def listed() -> list[Promise]:
    """Return the promises in tests/promises.toml."""
    return [Promise(**entry) for entry in tomllib.loads((ROOT / "tests/promises.toml").read_text("utf-8"))["promise"]]


def pages() -> list[Path]:
    """Return the hand-written pages."""
    return [ROOT / "README.md", *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in GENERATED)]


def prose(path: Path) -> str:
    """Return a page without code and generated parts, with line numbers unchanged."""
    text = path.read_text(encoding="utf-8")
    for pattern in (GENERATED_PARTS, CODE):
        text = re.sub(pattern, lambda part: "\n" * part[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    return text


def unlisted(page: str, text: str, promises: list[Promise]) -> Iterator[str]:
    """Yield the lines with an absolute word that no promise of the page contains."""
    for says in (promise.says for promise in promises if promise.page == page):
        text = text.replace(says, re.sub(r"\w", "·", says))
    for number, line in enumerate(text.splitlines(), 1):
        if word := ABSOLUTE.search(line):
            yield f"{page}:{number}: “{word[0]}” in “{line.strip()}”"


def rows_with_tests(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield promise and test files of each row in the tables with a column `Test`."""
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = ([cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines())
        if "Test" in head:
            yield from ((row[0], re.findall(r"`(tests/[^`]+)`", row[head.index("Test")])) for row in rows)


def test_each_row_names_its_tests() -> None:
    """Each promise on the page names at least one existing test."""
    rows = list(rows_with_tests(TESTED.read_text(encoding="utf-8")))

    assert rows
    assert [] == [promise for promise, files in rows if not files]
    assert [] == [name for _, files in rows for name in files if not (ROOT / name).exists()]


def test_each_absolute_sentence_is_listed() -> None:
    """A line with an absolute word is listed with its test, or has to be reworded."""
    promises = listed()

    assert [] == [line for path in pages() for line in unlisted(path.name, prose(path), promises)]


def test_each_entry_stands_on_its_page() -> None:
    """Each entry has an absolute word, is on its page, and names existing tests."""
    texts = {path.name: prose(path) for path in pages()}

    assert [] == [entry for entry in listed() if not ABSOLUTE.search(entry.says)]
    assert [] == [entry for entry in listed() if entry.says not in texts.get(entry.page, "")]
    assert [] == [entry for entry in listed() if not entry.tests]
    assert [] == [name for entry in listed() for name in entry.tests if not (ROOT / name).is_file()]


def test_an_unlisted_sentence_is_found() -> None:
    """A listed sentence does not hide an unlisted sentence, even on the same line."""
    promise = Promise("a.md", "It is never sent twice", ["tests/test_promises.py"])
    text = "It is never sent twice.\nIt is never sent twice, and always read.\n"

    assert ["a.md:2"] == [found.partition(": ")[0] for found in unlisted("a.md", text, [promise])]
    assert 2 == len(list(unlisted("b.md", text, [promise])))


def test_code_and_generated_parts_are_left_out() -> None:
    """Options, outputs and lists of names are not sentences."""
    assert not ABSOLUTE.search(prose(ROOT / "docs" / "reference.md").partition("## Docstrings")[2])
    assert "--every" not in prose(ROOT / "docs" / "notebooks.md")


@attrs.frozen
class Broken:
    """A promise, a change of the source that breaks it, and the test that must then fail."""

    promise: str
    file: str
    find: str
    put: str
    test: str

    def __str__(self) -> str:
        return re.sub(r"\W+", "-", self.promise).strip("-")


BROKEN = [Broken(**entry) for entry in tomllib.loads((ROOT / "tests/broken.toml").read_text("utf-8"))["broken"]]


def test_each_promise_has_a_change_that_breaks_it() -> None:
    """Each promise has a change that applies to the current source and breaks the promise."""
    sentences = [promise for promise, _ in rows_with_tests(TESTED.read_text("utf-8"))]
    sentences += [entry.says for entry in listed()]

    assert [] == [says for says in sentences if not any(says.startswith(entry.promise) for entry in BROKEN)]
    assert [] == [entry.promise for entry in BROKEN if not any(says.startswith(entry.promise) for says in sentences)]
    assert [] == [str(entry) for entry in BROKEN if 1 != (ROOT / entry.file).read_text("utf-8").count(entry.find)]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout."""
    return copy_tree(tmp_path_factory.mktemp("broken"))


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("entry", BROKEN, ids=str)
def test_a_broken_promise_fails_its_test(entry: Broken, tree: Path) -> None:
    """The test passes on the current source and fails after the change."""
    file = tree / entry.file
    source = file.read_text("utf-8")
    file.write_text(source.replace(entry.find, entry.put), "utf-8")
    try:
        assert 1 == ended(tree, entry.test)
    finally:
        file.write_text(source, "utf-8")
    assert 0 == ended(tree, entry.test)


def ended(tree: Path, test: str) -> int:
    """Return pytest's exit status for a test in a tree: 0 if the test passes, 1 if it fails."""
    options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-m", "not soak", *test.split()]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options], cwd=tree, env=environment, capture_output=True, check=False
    )
    return run.returncode
