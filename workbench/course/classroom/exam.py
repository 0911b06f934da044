"""Examine a program with drills: each in a new sandbox, with a time limit, graded by the sandbox's final state.

The program runs without the examiner's environment and HOME. Its exit code and output are ignored; of its files, only
the bookings and answers of the drill are read. A drill with a receiver is checked while the program runs, twice a
second: the receiver must answer then, and the program is ended once the drill is solved.
"""

import json
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from xml.etree import ElementTree as ET

import attrs

from workbench.base.errors import UsageError, WorkbenchError, visible
from workbench.client.session import Session, connect
from workbench.course.classroom.grading import run_alone
from workbench.course.classroom.server import ClassServer
from workbench.course.drill_run import FILE, begin, shown_facts
from workbench.course.drills import DRILLS, Drill
from workbench.course.incidents import Facts
from workbench.course.learner import named

_WITH_RECEIVER = ("rotated-key",)
_MAX_BYTES = 2**20
_MAX_BOOKINGS = 1_000


@attrs.frozen(kw_only=True)
class ExamResult:
    """Result of one drill: whether it was solved, what is missing, and the seconds it took."""

    drill: str
    passed: bool
    missing: tuple[str, ...]
    seconds: float


def examine(
    program: Sequence[str], drills: Sequence[str] | None = None, *, seconds: float = 300
) -> Iterator[ExamResult]:
    """Run a program once for each drill, and yield the results.

    Args:
        program: The command, with its arguments.
        drills: Names of drills; default: all.
        seconds: Time limit of each.

    Raises:
        UsageError: A drill does not exist, or the program cannot be started.
    """
    chosen = [named(DRILLS, name, "drill", "course.exam") for name in (drills or DRILLS)]
    for drill in chosen:
        yield _examine(drill, program, seconds)


def _examine(drill: Drill, program: Sequence[str], seconds: float) -> ExamResult:
    with ExitStack() as stack:
        own, folder = (Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2))
        server = stack.enter_context(closing(ClassServer(["candidate"], own)))
        url = f"{stack.enter_context(server.serve())}/{server.learners[0].code}"
        api = stack.enter_context(connect(url, journal=folder / "journal.db"))
        facts = begin(api, drill)
        (folder / "state").mkdir()
        (folder / "state" / FILE).write_text(json.dumps({drill.name: facts}), encoding="utf-8")
        task = {"drill": drill.name, "situation": drill.described(), "facts": shown_facts(facts)}
        (folder / "drill.json").write_text(json.dumps(task, indent=1), encoding="utf-8")
        began = time.monotonic()
        solved = False

        def look() -> bool:
            nonlocal solved
            solved = drill.name in _WITH_RECEIVER and not _missing(drill, api, facts)
            return solved

        try:
            code = run_alone(program, url, folder, seconds, ended=look, WORKBENCH_DRILL=drill.name)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise UsageError(f"program: {visible(str(program[0]), 200)}: {reason}", of="course.exam") from None
        took = round(time.monotonic() - began, 1)
        late = (f"the program was still running after {seconds:g} seconds.",) if code is None else ()
        api.sandbox.flush(timeout=5)
        missing = () if solved else (*late, *_missing(drill, api, _graded(facts, folder / "state" / FILE, drill.name)))
        return ExamResult(drill=drill.name, passed=not missing, missing=missing, seconds=took)


def _missing(drill: Drill, api: Session, facts: Facts) -> tuple[str, ...]:
    try:
        return tuple(visible(what) for what in drill.check(api, facts))
    except (ArithmeticError, LookupError, TypeError, ValueError, WorkbenchError) as error:
        return (f"the sandbox does not hold what the drill needs ({type(error).__name__}).",)


def _graded(facts: Facts, file: Path, name: str) -> Facts:
    """Return the facts with the program's bookings and answers, if its file contains valid ones.

    Bookings can only be added to a ledger, neither changed nor removed.
    """
    try:
        if file.is_symlink() or file.stat().st_size > _MAX_BYTES:
            return facts
        written = json.loads(file.read_text(encoding="utf-8"))[name]
        answers, ledger = written.get("answers", {}), written.get("ledger", [])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return facts
    changed = dict(facts)
    if "answers" in facts and isinstance(answers, Mapping):
        changed["answers"] = dict(answers)
    if "ledger" in facts and isinstance(ledger, list):
        before, added = facts["ledger"], ledger[len(facts["ledger"]) :]
        if ledger[: len(before)] == before and len(added) <= _MAX_BOOKINGS and all(map(_is_booking, added)):
            live = sum(row["event"] is not None for row in added)
            changed |= {"ledger": ledger, "bookings": facts["bookings"] + live}
    return changed


def _is_booking(row: object) -> bool:
    return (
        isinstance(row, dict)
        and row.keys() == {"event", "transaction", "cents"}
        and isinstance(row["transaction"], str)
        and type(row["cents"]) is int
    )


def to_junit(results: Iterable[ExamResult]) -> bytes:
    """Return results as a JUnit report."""
    graded = list(results)
    suite = ET.Element(
        "testsuite",
        name="workbench course exam",
        tests=str(len(graded)),
        failures=str(sum(not result.passed for result in graded)),
        time=f"{sum(result.seconds for result in graded):.1f}",
    )
    for result in graded:
        case = ET.SubElement(suite, "testcase", name=result.drill, time=str(result.seconds))
        if not result.passed:
            ET.SubElement(case, "failure", message="not solved").text = "\n".join(result.missing)
    report: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return report
