"""Shared setup of all tests: sizes of campaigns, distribution over processes, and samples."""

import asyncio
import atexit
import functools
import gc
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import hypothesis
import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
_HELPERS = ("*.py", "[a-z]*/*.py")
pytest.register_assert_rewrite(  # so that failed assertions in helpers show their values
    *{
        ".".join(path.relative_to(HERE.parent).with_suffix("").parts)
        for pattern in _HELPERS
        for path in HERE.glob(pattern)
        if not path.name.startswith(("test_", "conftest", "__"))
    }
    - sys.modules.keys()
)
SAMPLES = HERE / "samples"
RECORDED = SAMPLES / "recorded"
"""Bodies with the structure of real answers, and with fictitious people, ids and addresses."""

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
"""With this module, jsonschema would spend a second on grammars of international addresses, which no test uses."""

_context = httpx.create_ssl_context
_shared = functools.cache(_context)
httpx._transports.default.create_ssl_context = (  # type: ignore[attr-defined]
    lambda verify=True, cert=None, trust_env=True: (_shared if verify is True else _context)(verify, cert, trust_env)
)
"""Shares the SSL context of all clients. Otherwise each `httpx.get` would read all certificates again, which takes 20 ms."""

hypothesis.core.function_digest = lambda function: (
    f"{function.__module__}.{function.__qualname__}".encode()
    + getattr(function, "_hypothesis_internal_add_digest", b"")
)
"""Replaces a function that tokenizes a test's source twice for each parameter, a quarter of the time of Hypothesis tests."""

CORES = min(os.cpu_count() or 1, 4)

OTHER_TIERS = re.compile(r"^pytestmark = .*\bmark\.(slow|browser|soak|notebook)\b", re.MULTILINE)

MEMORY = Path("/dev/shm")
ENOUGH_MEMORY = 4 << 30
"""Free bytes required to store test files in memory, because thousands of test databases would wait for syncs of a disk."""

RECURSION = sys.getrecursionlimit()

# Some images disable bytecode, and then each test process would compile all modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Tests start other pytest processes without pyproject.toml. The comment on this option there says why it is off.
os.environ.setdefault("PYTEST_ADDOPTS", "-p no:schemathesis")

settings.register_profile("fast", max_examples=5, deadline=None, derandomize=True)
settings.register_profile("default", max_examples=10, deadline=None, derandomize=True)
settings.register_profile(
    "soak", max_examples=1_000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)


KEPT: list[object] = []

UNUSED = "anyio", "playwright", "playwright-base-url"
"""Plugins that only browser tests use. Each plugin adds half a millisecond to each test."""


def _plain(config: pytest.Config) -> bool:
    return str(config.option.markexpr).startswith("not slow")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Distribute the files of the entire plain tier over the cores. `-n 0` and a part of the tier use one process.

    Each process collects and imports only its files, because collecting all files takes ten seconds.
    """
    if hasattr(config, "workerinput") or "PYTEST_XDIST_WORKER" in os.environ:
        return  # neither a worker nor a pytest that a test started distributes tests further
    if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH_MEMORY:
        files = tempfile.TemporaryDirectory(prefix="workbench-tests-", dir=MEMORY, ignore_cleanup_errors=True)
        atexit.register(files.cleanup)  # runs after the exit handler of multiprocessing, which is registered later
        KEPT.append(files)  # a forked process drops exit handlers; without this reference, it would delete the folder
        os.environ["TMPDIR"] = tempfile.tempdir = files.name
    asked = config.option
    plain = _plain(config) and not asked.keyword
    whole = [config.invocation_params.dir / one for one in config.args] == [HERE]
    watched = asked.usepdb or asked.collectonly or asked.capture == "no"
    if plain and whole and not watched and getattr(asked, "numprocesses", 0) is None and CORES > 1:
        asked.numprocesses = asked.parts = CORES
        asked.dist = "each"  # each process collects only its part of the tests, and runs all of it
        asked.maxworkerrestart = "0"


def pytest_configure(config: pytest.Config) -> None:
    """Set the size of campaigns from `HYPOTHESIS_PROFILE`, else soak with `-m soak`, else the default."""
    tier = config.getoption("markexpr")
    wanted = "soak" if tier == "soak" else "fast" if tier.startswith("not slow") else "default"
    for plugin in UNUSED if "not browser" in tier else ():
        config.pluginmanager.unregister(name=plugin)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", wanted))
    # Tests use temporary files, so that the user's journals, pins and profiles stay unchanged.
    folder = tempfile.TemporaryDirectory(prefix="workbench-tests-")
    config.add_cleanup(folder.cleanup)
    os.environ["WORKBENCH_STATE"] = str(Path(folder.name) / "state")
    os.environ["WORKBENCH_CONFIG"] = str(Path(folder.name) / "profiles.toml")
    # `nohup pytest &` in a script ignores SIGINT and SIGHUP, but tests interrupt themselves and their child processes
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # a child process inherits an ignored signal but not a Python handler, so with this handler a hangup ends it
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


@functools.cache
def _is_of_other_tiers(path: Path) -> bool:
    return OTHER_TIERS.search(path.read_text(encoding="utf-8")) is not None


@functools.cache
def _parts(count: int) -> list[set[Path]]:
    """Distribute test files over processes so that each process has about the same amount of text."""
    sizes = {path: path.stat().st_size for pattern in ("test_*.py", "*/test_*.py") for path in HERE.glob(pattern)}
    parts: list[set[Path]] = [set() for _ in range(count)]
    for path in sorted(sizes, key=lambda path: (-sizes[path], path)):
        if not _is_of_other_tiers(path):
            min(parts, key=lambda part: sum(sizes[other] for other in part)).add(path)
    return parts


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore, before import, the files of other processes, and files whose tests all belong to other tiers."""
    if not _plain(config) or collection_path.suffix != ".py":
        return None
    own: list[str] | None = getattr(config, "workerinput", {}).get("part")
    if own is not None and collection_path.name.startswith("test_"):
        return None if str(collection_path) in own else True
    return True if _is_of_other_tiers(collection_path) else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass a process its part of the files."""
    if count := getattr(node.config.option, "parts", 0):
        node.workerinput["part"] = sorted(map(str, _parts(count)[int(node.gateway.id[2:])]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let each process run its part, and count the tests of all parts for the progress."""
    if not getattr(config.option, "parts", 0):
        return None
    from xdist.scheduler import EachScheduling

    class Parts(EachScheduling):
        def schedule(self) -> None:
            super().schedule()
            session = config.pluginmanager.get_plugin("session")
            session.testscollected = sum(map(len, self.node2collection.values()))

    return Parts(config, log)


def pytest_collection_finish() -> None:
    """Keep the garbage collector from rescanning thousands of collected tests."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup() -> None:
    """Restore a user's initial state: the recursion limit, which py_ecc of eth-account changes, and no joined class."""
    sys.setrecursionlimit(RECURSION)
    if process := sys.modules.get("workbench.base.system.process"):
        process.HOSTED.clear()  # without this, later tests could not reach a service


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the traffic of drills, and close the widgets of a test file.

    ipywidgets keeps a reference to each widget, and other tests count these references.
    """
    if learner := sys.modules.get("workbench.course.learner"):
        learner._ended.set()
    if "ipywidgets" in sys.modules and (nextitem is None or item.path != nextitem.path):
        sys.modules["ipywidgets"].Widget.close_all()


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clients wait a hundredth of their usual time between attempts."""

    async def asleep(clock: object, seconds: float) -> None:
        await asyncio.sleep(seconds / 100)

    monkeypatch.setattr("workbench.client.calls.pace.Clock.sleep", lambda clock, seconds: time.sleep(seconds / 100))
    monkeypatch.setattr("workbench.client.calls.pace.Clock.asleep", asleep)


@pytest.fixture(scope="session")
def sample() -> Callable[[str], bytes]:
    """Return a sample of the project by name, such as `sample("list_contracts.200")`."""
    return lambda name: (SAMPLES / f"{name}.json").read_bytes()
