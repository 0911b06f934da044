"""Each page's examples run with only the extra that the page names, installed from the built wheel."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import environments

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = environments.ROOT
NEEDS = re.compile(
    r"^(?:The|This|These) (?:page|examples?) needs? (?:only the base installation|the extra `(\w+)`)\.", re.MULTILINE
)
PAGES = {
    str(path.relative_to(ROOT)): found[1] or ""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if (found := NEEDS.search(path.read_text(encoding="utf-8")))
}
READ_FIRST = {
    "README.md",
    "docs/api.md",
    "docs/withdrawals.md",
    "docs/bulk.md",
    "docs/sequences.md",
    "docs/connections.md",
}
SAMPLE = ROOT / "tests" / "samples" / "create_user_application.request.json"
RUNNER = """
import doctest, json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
names = {}
count = 0
for language, code in re.findall(r"^```(python|pycon)\\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
    count += 1
    if language == "python":
        exec(compile(code, sys.argv[1], "exec"), names)
        continue
    test = doctest.DocTestParser().get_doctest(code, {}, "page", None, 0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test)
    assert runner.failures == 0
print("examples run:", count)
"""


def commands(page: str) -> list[str]:
    """Return the commands in a page's console blocks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [command for block in blocks for command in re.findall(r"^\$ (.+)$", block, re.MULTILINE)]


def run_commands(python: Path, page: str, folder: Path) -> None:
    """Run the commands of a page in a folder, one after the other."""
    folder.mkdir(exist_ok=True)
    state = {"WORKBENCH_STATE": str(folder / "state"), "HOME": str(folder), "WORKBENCH_CONFIG": str(folder / "none")}
    path = f"{python.parent}:{os.environ['PATH']}"
    for command in commands(page):
        environments.run("bash", "-c", command, cwd=folder, PATH=path, **state)


def test_the_pages_name_what_they_need() -> None:
    """The pages for beginners name the extra that they need."""
    assert set(PAGES) >= READ_FIRST


def run_page(python: Path, written: str, folder: Path) -> str:
    """Run all examples of a page in a folder that has a file of people; return the output."""
    folder.mkdir(exist_ok=True)
    person = json.loads(SAMPLE.read_bytes())
    columns = {name: value for name, value in person.items() if not isinstance(value, dict)}
    columns |= {f"address.{name}": value for name, value in person["address"].items()}
    rows = [columns | {"email": f"ada{i}@example.com", "externalId": f"page-{i}"} for i in range(100)]
    lines = [",".join(columns), *(",".join(f'"{row[name]}"' for name in columns) for row in rows)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for number, content in enumerate(
        re.findall(r"^```toml\n(.*?)^```$", (ROOT / written).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    ):
        (folder / ("coat.toml" if not number else f"{number}.toml")).write_text(content, encoding="utf-8")
    state = {
        "WORKBENCH_STATE": str(folder / "state"),
        "HOME": str(folder),
        "WORKBENCH_CONFIG": str(folder / "none.toml"),
    }
    return environments.run(python, "-c", RUNNER, ROOT / written, cwd=folder, **state)


@pytest.mark.parametrize(
    "written", [pytest.param(page, marks=() if page in READ_FIRST else pytest.mark.soak) for page in PAGES]
)
def test_examples_run_with_the_extra_of_the_page(
    written: str, environment: Callable[[str], Path], tmp_path: Path
) -> None:
    """All examples of a page run in order, in a new folder."""
    printed = run_page(environment(PAGES[written]), written, tmp_path)

    assert re.search(r"^examples run: [1-9]", printed, re.MULTILINE)


def test_the_commands_of_the_readme_run(environment: Callable[[str], Path], tmp_path: Path) -> None:
    """The README's four commands run with the extra that the README names."""
    named = re.search(r"need the extra `(server)`", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert named is not None
    run_commands(environment(named[1]), "README.md", tmp_path)

    assert len(commands("README.md")) == 4
