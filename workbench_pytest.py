"""Pytest plugin, loaded by its entry point: sandbox fixtures and `--workbench-coverage`.

It is a module of its own, and imports the workbench inside of what uses it: having that installed loads nothing
into the tests of others.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

_COUNTS = pytest.StashKey[Counter[tuple[str, str]]]()
_MARK = (
    'workbench(behavior="documented", seed=1, environment="sandbox", faults=(), world="small", universes=500): '
    "the sandbox of a test, and the number of universes that `explore` tries"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("workbench")
    coverage = "Show which answers and events of the card service were touched."
    group.addoption("--workbench-coverage", action="store_true", help=coverage)
    flips = "Run tests that passed again with one assumption about the card service flipped at a time."
    group.addoption("--workbench-assumptions", action="store_true", help=flips)
    group.addoption("--universe", type=int, help="Run only this universe, as named by a failed test.")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARK)
    if config.getoption("--workbench-assumptions"):
        from workbench.testing.flips import FlipPlugin

        config.pluginmanager.register(FlipPlugin(), "workbench-flips")


@pytest.fixture
def workbench_session(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Session on a new sandbox for the test; configure it with `@pytest.mark.workbench(behavior=…, faults=…)`."""
    from workbench.testing.sessions import session

    given = {name: value for name, value in _marked(request).items() if name != "universes"}
    flips = request.config.pluginmanager.get_plugin("workbench-flips")
    if flips is None:
        with session(**given) as api:
            yield api
            _collect(request.config, api.sandbox)
        return
    from workbench.testing.flips import touch, with_flip

    with session(**{**given, "behavior": with_flip(given.get("behavior", "documented"), flips.flip)}) as api:
        settings = touch(api.sandbox)
        yield api
        _collect(request.config, api.sandbox)
        if not flips.flip:
            flips.touched[request.node.nodeid] = dict(settings.touched)


@pytest.fixture
def explore(request: pytest.FixtureRequest) -> Any:
    """Function `workbench.testing.explore` with the marker's number of universes; raises AssertionError with the
    story.
    """
    from workbench.sandbox import Sandbox
    from workbench.testing.exploring import explore

    given = _marked(request)
    sandbox = Sandbox(**{name: given[name] for name in ("behavior", "environment", "world") if name in given})
    chosen: dict[str, Any] = {"sandbox": sandbox, "universe": request.config.getoption("--universe")}
    chosen |= {name: given[name] for name in ("universes", "seed") if name in given}

    def run(application: Any, **options: Any) -> Any:
        result = explore(application, **{**chosen, **options})
        result.check()
        return result

    return run


@pytest.fixture
def sandbox(workbench_session: Any) -> Any:
    """Sandbox of `workbench_session`."""
    return workbench_session.sandbox


@pytest.fixture
def served_sandbox(sandbox: Any) -> Iterator[str]:
    """URL of the test's sandbox, served over HTTP on this machine."""
    with sandbox.serve() as url:
        yield url


@pytest.fixture
def inbox(workbench_session: Any) -> Any:
    """Inbox of `workbench_session`."""
    return workbench_session.inbox


def _marked(request: pytest.FixtureRequest) -> dict[str, Any]:
    mark = request.node.get_closest_marker("workbench")
    return {} if mark is None else dict(mark.kwargs)


def _collect(config: pytest.Config, sandbox: object) -> None:
    if config.getoption("--workbench-coverage"):
        from workbench.testing.sessions import touched

        config.stash[_COUNTS] = config.stash.get(_COUNTS, Counter()) + touched(sandbox)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the counts of a pytest-xdist worker to its controller."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["workbench"] = [[*item, count] for item, count in session.config.stash.get(_COUNTS, Counter()).items()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the counts of a worker."""
    counter = Counter(
        {(group, what): count for group, what, count in getattr(node, "workeroutput", {}).get("workbench", ())}
    )
    node.config.stash[_COUNTS] = node.config.stash.get(_COUNTS, Counter()) + counter


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the coverage."""
    if config.getoption("--workbench-coverage"):
        from workbench.testing.sessions import Coverage

        counts = config.stash.get(_COUNTS, Counter())
        terminalreporter.section("coverage of the card service")
        terminalreporter.write_line(str(Coverage(counts)))
