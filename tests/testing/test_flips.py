"""`pytest --workbench-assumptions` names the seventeen applications that rest on an assumption, and not five others."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
ASSUMING = Path(__file__).parent / "guesses.py"
NAMES = re.findall(r"def test_(\w+)", ASSUMING.read_text(encoding="utf-8"))
PLANTED = tuple(name for name in NAMES if not name.startswith("none_"))


def run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@cache
def shown() -> str:
    return run(str(ASSUMING), "--workbench-assumptions").stdout


def test_there_are_seventeen_assumptions_and_five_that_are_none() -> None:
    assert (len(PLANTED), len(NAMES) - len(PLANTED)) == (17, 5)


@pytest.mark.slow
def test_each_assumption_is_named() -> None:
    assert [name for name in PLANTED if not re.search(rf"^assumption +{name}\b", shown(), re.MULTILINE)] == []


@pytest.mark.slow
def test_what_rests_on_no_assumption_is_not_named() -> None:
    assert "22 passed" in shown()
    assert "test_none_" not in shown()


@pytest.mark.slow
def test_many_flips_are_tried() -> None:
    assert int(re.findall(r"(\d+) changes tried", shown())[0]) > 50


@pytest.mark.soak
def test_without_the_option_each_test_runs_once() -> None:
    ended = run(str(ASSUMING))

    assert ended.returncode == 0
    assert "assumptions of the card service" not in ended.stdout
