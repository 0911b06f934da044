"""Related files appear together: the writers are listed, and are killed at each step and at random moments."""

import ast
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.file_sets import SETS

PACKAGE = Path(__file__).parents[1] / "workbench"
ATOMIC = {"write_file", "write_files", "new_folder"}
DIRECT = {"write_text", "write_bytes", "copyfile", "shutil.copy", "copytree", "symlink_to"}
AT_ONCE = {
    "analysis/reports/closing.py write": "new_folder",
    "analysis/tables/to_file.py to_file": "write_files",
    "course/classroom/wheel_house.py prepare": "new_folder",
    "testing/corpus.py add": "write_files, first the key of a new corpus",
}
"""Functions that write several files, with the mechanism by which these appear together."""
APART = {
    "sandbox/server.py self_signed": "a certificate that does not fit its key is made again",
    "course/joining.py join": "the certificate is there before the address that names it",
    "terminal/shell.py dashboard": "one page, again and again",
}
"""Functions that write files separately, with the reason why this is safe."""
ONE_BY_ONE = {
    "base/system/database.py": "a private copy of a database, removed afterwards",
    "base/system/locks.py": "the holder of a lock, in a file that is never replaced",
    "course/classroom/install.py": "wheels on a learner's machine, compared by checksum before use",
    "course/classroom/wheel_house.py": "inside a folder that appears at once",
    "analysis/reports/closing.py": "inside a folder that appears at once",
    "terminal/exits.py": "the null device",
    "testing/http_application.py": "the clock file of a process under test",
}
"""Modules that write files directly."""


@cache
def writes() -> list[tuple[str, str, str]]:
    """Return module, function and name of each call that writes a file."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).as_posix()
        if module == "base/system/files.py":
            continue
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                for call in ast.walk(function):
                    if isinstance(call, ast.Call):
                        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
                        name = f"shutil.{name}" if ast.unparse(call.func) == "shutil.copy" else name
                        opened = name == "open" and any(
                            isinstance(mode, ast.Constant) and mode.value in ("w", "wb", "a", "x") for mode in call.args
                        )
                        if name in ATOMIC or name in DIRECT or opened:
                            found.append((module, function.name, name))
    return found


@pytest.mark.slow
def test_writers_of_several_files_are_listed() -> None:
    """A function that writes several files makes them appear together, or is listed with a reason."""
    several: dict[str, list[str]] = {}
    for module, function, name in writes():
        several.setdefault(f"{module} {function}", []).append(name)
    repeated = {where for where, names in several.items() if len(names) > 1 or {"write_files", "new_folder"} & {*names}}

    assert set(AT_ONCE) | set(APART) == repeated


@pytest.mark.slow
def test_files_are_written_by_the_writers_of_the_storage() -> None:
    """No other module writes into a file that another process may be reading."""
    assert set(ONE_BY_ONE) == {module for module, _, name in writes() if name not in ATOMIC}


@pytest.mark.timeout(1200)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a fork")
@pytest.mark.parametrize(
    "names, stride, random_kills",
    [
        pytest.param([*SETS], 2, 2, marks=pytest.mark.slow, id="few"),
        *[pytest.param([name], 1, 500, marks=pytest.mark.soak, id=name) for name in SETS],
    ],
)
def test_kills(names: list[str], stride: int, random_kills: int, tmp_path: Path) -> None:
    """After a kill, the files are complete, absent or those before. The next write leaves no temporary file."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "tests.file_sets",
        str(tmp_path / "x"),
        *map(str, (stride, random_kills, 1)),
        *names,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stderr[-1000:]
    for name, line in zip(names, done.stdout.splitlines(), strict=True):
        steps, random_moments = map(int, line.split())
        print(f"{name}: {steps} steps, {random_moments} random moments")
        assert steps > 10, name
