"""Find the assumptions that tests rely on, by rerunning the tests with one changed assumption at a time.

An assumption is tried if a test's calls or events touch it, and if a sandbox setting can change it. If the rerun
fails, the test relies on the assumption. If the rerun passes, the test would not notice the difference.
"""

import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import attrs
import pytest

from workbench.base.schema.walk import leaves, record_of
from workbench.base.system.private import run_test_again
from workbench.sandbox.internals import internals
from workbench.service.interface.assumptions import BEHAVIORS
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import OPERATIONS
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Grid
from workbench.testing.proposals import alternatives
from workbench.testing.twin import Settings

UNKNOWN_VALUES = ("status", "applicationStatus", "completionReason", "declinedReason")
"""Members that get a value of a later release when `unknown_values` is changed."""


@cache
def optional_members() -> tuple[str, ...]:
    """Return the optional members of answers and events, which are null if `null_values` is changed."""
    tops = {*(row.answer for row in OPERATIONS.values()), *(kind.body for kind in EVENT_KINDS.values())}
    members = [member for top in tops for _, member in leaves(top) if record_of(member.kind) is None]
    required = {member.wire for member in members if member.required}
    return tuple(sorted({member.wire for member in members} - required))


def touch(sandbox: Any, flip: Mapping[str, Any]) -> Settings:
    """Change settings of a sandbox. Return its settings, which record each name that the sandbox reads."""
    environment = internals(sandbox).engine.environment
    environment.settings = settings = Settings({**environment.settings, **flip})
    return settings


def flipped(name: str, value: object) -> Any:
    """Return an alternative value of a setting, or `...` if the setting has no alternative."""
    if name == "tightened_roles":
        return ...  # with fewer roles, every test that makes the call would fail
    if name == "unknown_values":
        return () if value else UNKNOWN_VALUES
    if name == "null_values":
        return () if value else optional_members()
    return next((other for other in alternatives(name, value) if other is not None), ...)


@attrs.frozen(kw_only=True)
class Flip:
    """An assumption that was changed for a test. `failure` is empty if the test passed."""

    assumption: str
    value: Any
    test: str
    failure: str = ""


@attrs.frozen(repr=False)
class Flips(Shown):
    """Assumptions that a test suite relies on, each with a test that shows it, and assumptions that no test noticed."""

    rows: list[Flip]

    @property
    def rests_on(self) -> dict[str, Flip]:
        """Return the assumptions that the suite relies on, each with the first test that shows it.

        Ask the provider about these assumptions.
        """
        return {row.assumption: row for row in reversed(self.rows) if row.failure}

    @property
    def unnoticed(self) -> tuple[str, ...]:
        """Return the assumptions whose change made no test fail."""
        return tuple(sorted({row.assumption for row in self.rows} - self.rests_on.keys()))

    def sheet(self) -> Grid:
        """Return a sheet of the assumptions that the suite relies on."""
        flips = sorted(self.rests_on.items())
        rows = [(name, BEHAVIORS[name].says, row.test, row.failure) for name, row in flips]
        notes = [f"{len(self.rows)} changes tried"]
        if self.unnoticed:
            notes.append(f"assumptions whose change no test noticed: {', '.join(self.unnoticed)}")
        title = (
            "The tests rely on these assumptions; ask the provider"
            if flips
            else "No test relies on an assumption that was changed"
        )
        columns = ("assumption", "assumption", "test", "failure after the change")
        return Grid.of_texts(title, columns, rows, notes)


class FlipPlugin:
    """Pytest plugin that reruns the passed tests, once for each assumption that a test touched."""

    def __init__(self) -> None:
        self.flip: dict[str, Any] = {}
        self.touched: dict[str, dict[str, Any]] = {}
        self.passed: set[str] = set()
        self.rows: list[Flip] = []

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the tests that passed."""
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        """Run the tests, then rerun them with each changed assumption."""
        result = yield
        for item in session.items:
            if item.nodeid in self.passed:
                for name, value in sorted(self.touched.get(item.nodeid, {}).items()):
                    if (other := flipped(name, value)) is not ...:
                        self.flip = {name: other}
                        self.rows.append(Flip(assumption=name, value=other, test=item.nodeid, failure=_failure(item)))
        self.flip = {}
        return result

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the result after pytest's summary."""
        terminalreporter.section("assumptions of the card service")
        terminalreporter.write_line(str(Flips(self.rows)))


def _failure(item: pytest.Item) -> str:
    """Rerun a test and return its failure; empty if the test passes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the changed setting may make the sandbox warn
        reports = run_test_again(item)
    for report in reports:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            return str(getattr(crash, "message", report.longrepr)).splitlines()[0][:120] or "failed"
    return ""
