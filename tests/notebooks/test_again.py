"""Notebooks can be run again: in any order in one class sandbox, and twice in one folder."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from tests.notebooks.reading import COURSE, NOTEBOOKS, cells
from workbench.course.classroom import ClassServer

RUN = """
import contextlib, io, json, os, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for name, sources in json.load(sys.stdin):
    shell.reset(new_session=False)
    for source in sources:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            result = shell.run_cell(source, store_history=False)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            print(name, source.strip().splitlines()[0], type(error).__name__, error)
os._exit(0)
"""


def failures(notebooks: Sequence[tuple[str, list[str]]], folder: Path, **variables: str) -> str:
    """Run the cells of notebooks one after the other in one folder, and return the failed cells."""
    folder.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WORKBENCH_")}
    env = {**kept, "MPLBACKEND": "agg", "WORKBENCH_STATE": str(folder.with_name("state")), **variables}
    done = subprocess.run(
        [sys.executable, "-u", "-W", "ignore", "-c", RUN.replace("os._exit(0)", "sys.stdout.flush(); os._exit(0)")],
        input=json.dumps(notebooks), cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.timeout(600)
@pytest.mark.soak
def test_all_run_again_in_one_class_sandbox_in_any_order(tmp_path: Path) -> None:
    order = [path for number in range(3) for path in Random(number).sample(COURSE, len(COURSE))]
    with closing(ClassServer(["Ann"], tmp_path / "class")) as server, server.serve() as url:
        joined = f"{url}/{server.learners[0].code}"
        given = [(path.name, cells(path, "code")) for path in order]

        assert failures(given, tmp_path / "here", WORKBENCH_CLASS=joined) == ""


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_all_run_twice_in_one_folder_and_leave_nothing_in_it(tmp_path: Path) -> None:
    assert failures([(path.name, cells(path, "code")) for path in (*NOTEBOOKS, *NOTEBOOKS)], tmp_path / "here") == ""
    assert list((tmp_path / "here").iterdir()) == []
