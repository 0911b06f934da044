"""An installed workbench does not change the test results of another project, and is not imported there."""

import json
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from tests import environments
from tests.each import some

FILES = {
    "conftest.py": """
import json, os, sys

def pytest_sessionfinish(session):
    names = sorted(name for name in sys.modules if name.partition(".")[0] in {"workbench", "pandas", "cattrs", "attrs"})
    with open(f"loaded-{os.getpid()}.json", "w") as file:
        json.dump(names, file)
""",
    "orders.py": '''
"""Orders.

>>> total([1, 2])
3
"""

def total(items):
    """
    >>> total([])
    0
    """
    return sum(items)
''',
    "test_orders.py": """
import asyncio, datetime, time
import httpx, pytest
from freezegun import freeze_time
import respx, time_machine
from orders import total

def test_total(): assert total([1, 2, 3]) == 6

@freeze_time("2026-01-02")
def test_frozen(): assert datetime.date.today().day == 2 and time.time() == 1767312000

@time_machine.travel("2026-01-03T00:00Z", tick=False)
def test_travel(): assert datetime.datetime.now(datetime.UTC).day == 3

def test_httpx(httpx_mock):
    httpx_mock.add_response(url="https://example.com/", text="hello")
    assert httpx.get("https://example.com/").text == "hello"

@respx.mock
def test_respx():
    respx.get("https://example.com/").respond(204)
    assert httpx.get("https://example.com/").status_code == 204

@pytest.mark.asyncio
async def test_awaited():
    await asyncio.sleep(0)

async def test_awaited_without_a_mark():
    await asyncio.sleep(0)

def test_fails(): assert total([1]) == 2

@pytest.fixture
def sandbox(): return "mine"

def test_own_fixture_of_the_same_name(sandbox): assert sandbox == "mine"
""",
}
WAYS = {
    "two processes": ["-n", "2"],
    "doctests, and asyncio by itself": ["--doctest-modules", "-o", "asyncio_mode=auto", "-W", "error"],
}


TOOLS = ("pytest", "freezegun", "time-machine", "pytest-httpx", "respx", "pytest-xdist", "pytest-asyncio")


@pytest.fixture(scope="module")
def pythons(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the Pythons of two environments with the same packages; only the second has the workbench."""
    folder = tmp_path_factory.mktemp("pythons")
    packages = environments.closure().union(*map(environments.closure_of, TOOLS))
    without, beside = (environments.make(folder / name, packages) for name in ("without", "beside"))
    environments.install(beside, environments.wheel(folder / "wheel"))
    return without, beside


def results(python: Path, folder: Path, *more: str) -> tuple[list[str], list[str]]:
    """Return the outcome of each test of the project, and the loaded modules."""
    command = [str(python), "-m", "pytest", "-rA", "-q", "--tb=no", "-c", "/dev/null"]
    done = subprocess.run(
        [*command, "--rootdir", str(folder), "-o", "asyncio_default_fixture_loop_scope=function", *more, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=folder,
        env=environments.clean(),
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    loaded = [name for file in folder.glob("loaded-*.json") for name in json.loads(file.read_text())]
    for file in folder.glob("loaded-*.json"):
        file.unlink()
    return sorted(re.findall(r"^(?:PASSED|FAILED|ERROR|SKIPPED|XFAIL) \S+", done.stdout, re.MULTILINE)), loaded


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=[pytest.mark.soak] * (way == "two processes")) for way in WAYS]
)
def test_the_results_are_the_same(way: str, pythons: tuple[Path, Path], tmp_path: Path) -> None:
    """Each test has the same outcome with and without the workbench, which is not loaded."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (without, loaded_without), (beside, loaded) = (results(python, tmp_path, *WAYS[way]) for python in pythons)

    assert len(without) >= 9
    assert without == beside
    assert loaded == loaded_without
    assert not any(name.startswith("workbench") for name in loaded)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_plugin_is_loaded_from_the_wheel(pythons: tuple[Path, Path], tmp_path: Path) -> None:
    """The environment with the wheel has the workbench's pytest fixtures."""
    listed = environments.run(pythons[1], "-m", "pytest", "--fixtures", "-q", "-c", "/dev/null", tmp_path, cwd=tmp_path)

    assert "workbench_session" in listed


WAITS = {
    "an event": """
with pytest.raises(wb.errors.EventTimeout):
    wb.Inbox(accept_unsigned=True).wait(timeout=0.2)
""",
    "a busy file": """
from workbench.base.system.database import Database
file = Database(folder + "/a.db", application=1, schema="CREATE TABLE a(b)", busy_seconds=0.2)
holder = sqlite3.connect(folder + "/a.db", isolation_level=None)
holder.execute("BEGIN IMMEDIATE")
with pytest.raises(wb.errors.FileBusy), file.write():
    pass
holder.close()
""",
    "an answer": """
import httpx
from workbench.client.calls.client import Client
with socket.create_server(("127.0.0.1", 0)) as server:
    def send_slowly():
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\\r\\n")
            for number in range(1000):
                connection.sendall(b"x: y\\r\\n")
                slept.wait(0.02)
    slept = threading.Event()
    thread = threading.Thread(target=send_slowly, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    with Client(base_url=url, api_key="k" * 20, timeout=1, http={"retries": 0}) as client:
        with pytest.raises(wb.errors.NoAnswer):
            client.list_contracts()
    slept.set()
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("stopped, wait", some(2, product(["freezegun", "time_machine"], WAITS)))
def test_waits_end_where_a_test_has_stopped_time(stopped: str, wait: str, tmp_path: Path) -> None:
    """Waits of the workbench end even if freezegun or time-machine stops all clocks."""
    pytest.importorskip(stopped)
    begin = {
        "freezegun": "import freezegun; stopped = freezegun.freeze_time('2026-01-02')",
        "time_machine": "import time_machine; stopped = time_machine.travel('2026-01-02T00:00Z', tick=False)",
    }
    body = "\n".join(f"    {line}" for line in WAITS[wait].splitlines())
    script = (
        "import contextlib, socket, sqlite3, sys, threading\nimport pytest\nimport workbench as wb\n"
        f"folder = {str(tmp_path)!r}\n{begin[stopped]}\nwith stopped:\n{body}\n"
        "assert 'pandas' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=30)

    assert (done.returncode, done.stderr) == (0, "")
