"""Pytest plugin with sandbox fixtures and `--workbench-assumptions`. pytest loads it through its entry point.

The plugin is a separate module, and its functions import the workbench when they need it. An installed workbench
therefore loads nothing into other projects' tests.
"""

from collections.abc import Iterator
from typing import Any

import pytest

_MARK = (
    'workbench(behavior="documented", seed=1, environment="sandbox", faults=(), world="small", universes=500): '
    "the sandbox of a test, and the number of universes that `explore` tries"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's command-line options."""
    group = parser.getgroup("workbench")
    flips = "Run tests that passed again with one assumption about the card service flipped at a time."
    group.addoption("--workbench-assumptions", action="store_true", help=flips)
    group.addoption("--universe", type=int, help="Run only this universe, as named by a failed test.")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin's marker."""
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
    with session(**given) as api:
        if flips is None:
            yield api
            return
        from workbench.testing.flips import touch

        settings = touch(api.sandbox, flips.flip)
        yield api
        if not flips.flip:
            flips.touched[request.node.nodeid] = dict(settings.touched)


@pytest.fixture
def explore(request: pytest.FixtureRequest) -> Any:
    """Function `workbench.testing.explore` with the marker's number of universes.

    It raises AssertionError with the story of a failure.
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
    if mark is None:
        return {}
    from workbench.base.errors import Problem, UsageError, unknown_name

    names = ("behavior", "seed", "environment", "faults", "world", "universes")
    problems = [unknown_name(name, names) for name in mark.kwargs if name not in names]
    if mark.args:
        problems.append(Problem("", "arguments", "arguments are given by keyword, such as behavior="))
    if problems:
        raise UsageError(problems, of="workbench")
    return dict(mark.kwargs)
