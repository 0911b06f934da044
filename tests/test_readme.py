"""The blocks of the README and of the pages it links to run as shown, and the counts of assumptions are current.

`python tests/test_readme.py` updates the counts.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from workbench.base.schema.fields import Confidence
from workbench.service.interface.assumptions import assumptions, settings
from workbench.service.interface.table import OPERATIONS

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
DEVELOPERS = ROOT / "docs" / "developers.md"
PAGES = (README, DEVELOPERS, ROOT / "docs" / "analysts.md", ROOT / "docs" / "trainers.md")
WRITES = "(python tests/test_readme.py writes this)"


def text() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text(), re.MULTILINE | re.DOTALL)


def assumed() -> str:
    """Return a row for each kind of assumption, with counts by confidence."""
    listed = assumptions()
    about = {
        "names and rules of members": [one for one in listed if "." in one.id and one.where not in OPERATIONS],
        "error responses": [one for one in listed if "." in one.id and one.where in OPERATIONS],
        "the sandbox's behavior, settable": [one for one in listed if one.id in settings("documented")],
    }
    counted_before = {one.id for held in about.values() for one in held}
    about["other behavior"] = [one for one in listed if one.id not in counted_before]
    lines = [f"| {len(listed)} assumptions about | {' | '.join(Confidence)} |", "|---|" + "---:|" * len(Confidence)]
    for name, held in about.items():
        counted = Counter(one.confidence for one in held)
        lines.append(f"| {name} | {' | '.join(str(counted[known]) for known in Confidence)} |")
    return "\n" + "\n".join(lines) + "\n\n"


WRITTEN = {"assumed": assumed}


def part(name: str) -> tuple[str, str, str]:
    """Return the developers' page before, in and after the part that this file generates."""
    before, rest = DEVELOPERS.read_text(encoding="utf-8").split(f"<!-- {name}: begin {WRITES} -->\n")
    held, after = rest.split(f"<!-- {name}: end -->")
    return before, held, after


def test_the_readme_is_short():
    """The README has at most a hundred lines and one picture."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 100
    assert README.read_text(encoding="utf-8").count("](docs/images/") == 1


def test_every_block_is_of_a_kind_that_is_run():
    """Each block is of a kind that a test below runs."""
    assert set(re.findall(r"^```(\w*)$", text(), re.MULTILINE)) - {""} <= {"pycon", "python", "console", "toml"}


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks("pycon"))
def test_python_says_what_it_says(block, tmp_path, monkeypatch):
    """Each Python session prints exactly the output shown."""
    monkeypatch.chdir(tmp_path)
    found = doctest.DocTestParser().get_doctest(block, {}, "README", str(README), 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(found, out=said.append)

    assert runner.failures == 0, "".join(said)


@pytest.mark.parametrize("block", blocks("python"))
def test_a_test_of_the_text_passes(block):
    """The pytest tests in a block pass."""
    names = {}
    exec(compile(block, "README", "exec"), names)
    tests = [names[name] for name in names if name.startswith("test_")]
    assert tests
    for test in tests:
        test()


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks("console"))
def test_terminal_says_what_it_says(block, tmp_path):
    """Each terminal session prints exactly the text shown, on stdout and stderr together. … stands for varying text."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("WORKBENCH_")}
    environ |= {
        "WORKBENCH_STATE": str(tmp_path),
        "WORKBENCH_CONFIG": str(tmp_path / "none.toml"),
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",  # the output has both streams in order, as in a terminal
    }
    steps = re.findall(r"^\$ (.*?)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    assert steps
    for command, expected in steps:
        assert shlex.split(command)[0] == "workbench"
        done = subprocess.run(
            ["bash", "-c", f'workbench() {{ {sys.executable} -m workbench "$@"; }}; {command}'],
            cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60,
        )  # fmt: skip
        pattern = ".*".join(re.escape(part) for part in expected.split("…"))
        assert re.fullmatch(pattern, done.stdout), f"$ {command}\n{done.stdout}"


def test_three_commands_lead_to_a_verified_webhook():
    """Three commands lead to a verified webhook, and a fourth command shows the events."""
    listening, shown = blocks("console")[0].split("$ workbench events list --kind")

    assert len(re.findall(r"^\$ ", listening, re.MULTILINE)) == 3
    assert "✓ verified" in listening
    assert "user,updated,approved" in shown


@pytest.mark.parametrize("block", blocks("toml"))
def test_profiles_are_valid(block, tmp_path, monkeypatch):
    """The example profiles can be opened unchanged."""
    from workbench.client.calls.profiles import open_profile, profile_names

    (tmp_path / "profiles.toml").write_text(block)
    monkeypatch.setenv("WORKBENCH_CONFIG", str(tmp_path / "profiles.toml"))

    assert [open_profile(name).environment for name in profile_names()] == ["sandbox", "production"]


@pytest.mark.slow
@pytest.mark.parametrize("target", re.findall(r"^    make (\w+)", text(), re.MULTILINE))
def test_make_commands_exist(target):
    """The `make` targets that the README names exist."""
    subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_every_command_it_names_exists():
    """Each word after `workbench` in the text is a command."""
    from workbench.terminal.application import make_app

    named = re.findall(r"`workbench ([a-z-]+)(?: ([a-z-]+))?", text())
    app = make_app()

    assert [name for name, _ in named if name not in app] == []
    groups = {"bulk", "sandbox", "sequences", "journal", "profiles"}
    assert [(name, word) for name, word in named if name in groups and word and word not in app[name]] == []


@pytest.mark.parametrize("name", WRITTEN)
def test_written_parts_are_as_of_now(name):
    """The generated counts of assumptions are current."""
    assert part(name)[1] == WRITTEN[name]()


if __name__ == "__main__":
    for name, write in WRITTEN.items():
        before, _, after = part(name)
        whole = f"{before}<!-- {name}: begin {WRITES} -->\n{write()}<!-- {name}: end -->{after}"
        DEVELOPERS.write_text(whole, encoding="utf-8")
