"""Every operation has a command, a form, a page and a line in a notebook. Every command has help and an exit code."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import workbench
from workbench.base.schema.walk import members
from workbench.service.interface.naming import command_of
from workbench.service.interface.table import OPERATIONS
from workbench.terminal import commands
from workbench.terminal.application import make_app

ROOT = Path(__file__).parents[2]
ENDLESS = {
    ("events", "listen"),
    ("sandbox", "shell"),
    ("course", "lab"),
    ("events", "tail"),
    ("sandbox", "serve"),
    ("course", "serve"),
    ("report", "dashboard"),
}  # these commands run until they are stopped, or take several seconds; other tests cover them
APP = make_app()
COMMANDS = [
    *((noun,) for noun, verbs in commands.COMMANDS.items() if "" in verbs),
    *((noun, verb) for noun in commands.COMMANDS for verb in APP[noun] if not verb.startswith("-")),
]
PAGE = ROOT / "docs/interface.md"


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_a_command(name):
    """An operation is available as a command with a noun and a verb."""
    assert command_of(OPERATIONS[name]) in COMMANDS


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_a_page(name):
    """The documentation has a section about each operation."""
    assert f"\n`{name}`: `" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name, row in OPERATIONS.items() if members(row.request)])
def test_every_operation_with_arguments_has_a_form(name):
    """A form exists for each operation with arguments."""
    with workbench.connect() as api:
        form = workbench.form(getattr(api, name))

    assert form.problems is not None


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_a_line_in_a_notebook(name):
    """A notebook calls each operation."""
    cells = [cell for path in (ROOT / "notebooks").glob("*.ipynb") for cell in json.loads(path.read_text())["cells"]]
    code = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")

    assert re.search(rf"\b{name}\b", code)


ENDING = [path for path in COMMANDS if path not in ENDLESS]
FORKS = """
import importlib, json, os, pkgutil, sys
import workbench.__main__
for package in ("client", "sandbox", "terminal", "tables"):
    for module in pkgutil.walk_packages([f"workbench/{package}"], f"workbench.{package}."):
        importlib.import_module(module.name)
ends, BROKEN = [], sys.argv[1:] == ["broken"]
os.chdir(os.environ["WORKBENCH_STATE"])  # what a command writes goes there
for words in json.load(sys.stdin):
    reader, writer = os.pipe()
    unread, output = os.pipe() if BROKEN else (None, writer)
    if not (child := os.fork()):
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        if BROKEN:
            os.close(unread)
            os.close(output)
        os.dup2(writer, 2)
        os.close(reader)
        sys.argv = ["workbench", *words]
        try:
            workbench.__main__.run()
        except SystemExit as end:
            os._exit(end.code)
        finally:
            sys.excepthook(*sys.exc_info())
            os._exit(99)
    os.close(writer)
    if BROKEN:
        os.close(unread)
        os.close(output)
    with open(reader, "rb") as file:
        printed = file.read().decode(errors="replace")
    ends.append([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), printed])
print(json.dumps(ends))
"""
"""Run command lines, each in a fork with all modules loaded, in a fifth of the time that starting Python takes."""


def run_all(tmp_path_factory, *arguments: str):
    folder = tmp_path_factory.mktemp("state")
    environ = {**os.environ, "WORKBENCH_STATE": str(folder), "WORKBENCH_CONFIG": str(folder / "profiles.toml")}
    ran = subprocess.run(
        [sys.executable, "-c", FORKS, *arguments], input=json.dumps(ENDING), capture_output=True, text=True, cwd=ROOT, env=environ,
        timeout=580,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return dict(zip(ENDING, json.loads(ran.stdout), strict=True))


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """Exit code and output of each command without arguments, in a pipe."""
    return run_all(tmp_path_factory)


@pytest.mark.soak
def test_a_reader_that_has_gone_changes_no_code(ends, tmp_path_factory):
    """With a closed pipe as output, each command ends with its usual exit code and no traceback."""
    broken = run_all(tmp_path_factory, "broken")

    assert {path: code for path, (code, _) in broken.items()} == {path: code for path, (code, _) in ends.items()}
    assert [path for path, (_, printed) in broken.items() if "Traceback" in printed or "BrokenPipe" in printed] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", ENDING, ids=" ".join)
def test_every_command_ends_without_a_trace(ends, path):
    """Without arguments and in a pipe, each command ends with a documented exit code and no traceback."""
    code, printed = ends[path]

    assert code in {0, 2, 3, 5, 6}
    assert "Traceback" not in printed
    assert "Internal error" not in printed
