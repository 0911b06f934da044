"""Share the tests among forked processes.

One process collects the tests and imports what they need. Its forks take one file after another until none is left.
"""

import itertools
import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that `make test` uses. Unlike `-n` of pytest-xdist, it collects the tests only once."""
    parser.addoption(
        "--processes", type=int, help="Share the files of the tests among this number of forked processes."
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in the number of processes that is asked for, and in this process if that is one."""
    count = min(session.config.option.processes or 1, len({item.path for item in session.items}))
    if count < 2 or session.testsfailed:
        return None
    run(session, count)
    return True


class Sender:
    """Sends what happens to each test to the first process, in place of the terminal."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self.config, self.connection = config, connection

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self.connection.send(("logstart", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.connection.send(("logreport", {"report": data}))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self.connection.send(("logfinish", {"nodeid": nodeid, "location": location}))


def _pairs(files: list[list[pytest.Item]], tasks: Any) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Yield each test with the next test of this process, and take a file from `tasks` when the last one ends."""
    place = tasks.get()
    while place is not None:
        items = files[place]
        yield from itertools.pairwise(items)
        place = tasks.get()
        yield items[-1], None if place is None else files[place][0]


def _run(
    session: pytest.Session, files: list[list[pytest.Item]], tasks: Any, connection: Connection, base: Path, name: str
) -> None:
    """Run the tests of one process, with folders that no other process uses."""
    config = session.config
    os.environ["PYTEST_XDIST_WORKER"] = name  # as under pytest-xdist; the conftest.py files check it
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(base)
    os.environ["WORKBENCH_STATE"] = str(base / name)
    os.environ["WORKBENCH_CONFIG"] = str(base / f"{name}.toml")
    capture = config.pluginmanager.get_plugin("capturemanager")
    capture.stop_global_capturing()  # its files are shared with the first process
    capture.start_global_capturing()
    writer = SimpleNamespace(_tw=config.get_terminal_writer())  # for stacks after a timeout
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(writer, "terminalreporter")
    config.pluginmanager.register(Sender(config, connection))
    try:
        for item, following in _pairs(files, tasks):
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop:
                break
    except (KeyboardInterrupt, pytest.exit.Exception):
        pass  # the first process knows which tests did not end
    finally:
        config.pluginmanager.get_plugin("runner").pytest_sessionfinish(session)  # ends the fixtures that are left
        capture.stop_global_capturing()


def run(session: pytest.Session, count: int) -> None:
    """Run all tests of a session in `count` processes. A test that a process did not end is a failure."""
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reporter.showfspath = False  # tests of several files alternate
    by_path: dict[Path, list[pytest.Item]] = {}
    for item in session.items:
        by_path.setdefault(item.path, []).append(item)
    files = list(by_path.values())
    fork = multiprocessing.get_context("fork")
    tasks = fork.SimpleQueue()
    for place in (*range(len(files)), *[None] * count):
        tasks.put(place)
    processes, readers = [], []
    missing = {item.nodeid: item.location for item in session.items}
    folder = tempfile.TemporaryDirectory(prefix="tests-", ignore_cleanup_errors=True)
    try:
        for number in range(count):
            reader, writer = fork.Pipe(duplex=False)
            given = (session, files, tasks, writer, Path(folder.name), f"gw{number}")
            processes.append(fork.Process(target=_run, args=given))
            processes[-1].start()
            writer.close()  # only the new process writes, so its end is the end of what is read
            readers.append(reader)
        while readers and not session.shouldfail and not session.shouldstop:
            for reader in wait(readers):
                try:
                    name, arguments = reader.recv()
                except EOFError:
                    readers.remove(reader)
                    continue
                if name == "logreport":
                    data = arguments["report"]
                    arguments["report"] = config.hook.pytest_report_from_serializable(config=config, data=data)
                elif name == "logfinish":
                    missing.pop(arguments["nodeid"], None)
                getattr(config.hook, f"pytest_runtest_{name}")(**arguments)
    finally:
        for process in processes:
            if readers and process.is_alive():
                os.kill(process.pid, 2)
            process.join()
        folder.cleanup()
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    codes = ", ".join(str(process.exitcode) for process in processes)
    for nodeid, location in missing.items():
        text = f"A process ended before this test did (exit codes of the processes: {codes})."
        report = pytest.TestReport(nodeid, location, {}, "failed", text, "call")
        config.hook.pytest_runtest_logreport(report=report)
    if any(process.exitcode for process in processes):
        raise session.Failed(f"a process of the tests failed (exit codes: {codes})")
