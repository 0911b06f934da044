"""Tests that processes share are the same tests, and none is lost."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = {
    "fails": "def test_fails(tmp_path): assert tmp_path == 1\n",
    "fixture": "def test_errs(unknown): pass\n",
    "teardown": "from pytest import fixture\n@fixture(scope='module')\ndef left():\n    yield\n    raise OSError('left')\ndef test_it(left): pass\n",
    "exits": "import os\ndef test_exits(): os._exit(3)\ndef test_next(): pass\n",
    "killed": "import os\ndef test_dies(): os.kill(os.getpid(), 9)\n",
    "left": "import pytest\ndef test_leaves(): pytest.exit('enough')\n",
    "waits": "import time\ndef test_waits(): time.sleep(60)\n",
    **{f"passes_{number}": "def test_passes(): pass\n" for number in range(9)},
}
FAILURES = {
    "test_fails.py::test_fails": "AssertionError",
    "test_fixture.py::test_errs": "fixture 'unknown' not found",
    "test_teardown.py::test_it": "OSError: left",
    "test_exits.py::test_exits": "A process ended before",
    "test_exits.py::test_next": "A process ended before",
    "test_killed.py::test_dies": "A process ended before",
    "test_left.py::test_leaves": "A process ended before",
    "test_waits.py::test_waits": "Timeout",
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux"),
]


def shared(folder: Path, files: dict[str, str], *options: str) -> tuple[int, str]:
    """Run test files in six processes, and return the exit status and the output."""
    (folder / "conftest.py").write_text("from tests.sharing import pytest_addoption, pytest_runtestloop\n")
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    plugins = ("cacheprovider", "asyncio", "pytest_httpx", "respx", "time_machine", "schemathesis")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-c", "/dev/null", "--rootdir", str(folder), "--processes", "6",
         *(f"-pno:{name}" for name in plugins), "--timeout", "3", *options, str(folder)],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_no_failure_and_no_test_is_lost(tmp_path: Path) -> None:
    """Whatever happens in one process, its tests fail, and the tests of the other processes run."""
    status, output = shared(tmp_path, FILES)
    ended = dict(re.findall(r"^(?:FAILED|ERROR) (\S+)(?: - (.*))?$", output, re.MULTILINE))
    passed = re.findall(r"^PASSED (\S+)", output, re.MULTILINE)
    count = sum(text.count("def test_") for text in FILES.values())

    assert status == 1
    assert [] == [name for name, text in FAILURES.items() if text not in ended[name] and text not in output]
    assert all(
        "A process ended" in ended[name] for name in ended.keys() - FAILURES.keys()
    )  # files that they took before
    assert count == len(ended.keys() | set(passed))
    assert len(passed) == len(set(passed)) > 1


def test_the_first_failure_ends_the_run(tmp_path: Path) -> None:
    """With `-x`, the tests of other processes are interrupted, and have no result."""
    files = {"fails": FILES["fails"], "waits": FILES["waits"]}
    status, output = shared(tmp_path, files, "-x", "--timeout", "60")

    assert status == 1
    assert "stopping after 1 failures" in output
    assert "1 failed" in output
