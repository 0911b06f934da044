"""After a power cut at any moment, or a disk error at any step, completed operations are stored and none is partial."""

import errno
import gc
import itertools
import os
import random
import shutil
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.disk import Disk
from tests.durable import FILES, Files, InboxOf, JournalOf, ResultsOf, RunOf, SandboxOf, SequenceOf
from workbench.base.errors import WorkbenchError
from workbench.base.system.database import Database

pytestmark = pytest.mark.filterwarnings(  # an abandoned archive tries to complete its file when Python collects it
    "ignore::pytest.PytestUnraisableExceptionWarning"
)
SOAK = [pytest.mark.soak, pytest.mark.timeout(0)]
SUBJECTS = [JournalOf, InboxOf, RunOf, SequenceOf, ResultsOf, SandboxOf]
FAILURES = {"full": errno.ENOSPC, "input/output error": errno.EIO, "permission lost": errno.EACCES}


@pytest.fixture(autouse=True)
def nothing_left_over(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Collect objects that the operations abandoned in this test, not in a later test."""
    monkeypatch.setenv("WORKBENCH_STATE", os.environ["WORKBENCH_STATE"])
    yield
    gc.collect()


@pytest.mark.parametrize(
    "cuts, seed", [pytest.param(2, 1, marks=pytest.mark.slow), pytest.param(500, 2, marks=SOAK)], ids=["few", "many"]
)
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda one: one.__name__)
def test_power_cuts(tmp_path: Path, subject: Any, cuts: int, seed: int) -> None:
    """Operations that were reported as done before the cut are stored, whatever the disk had not synced."""
    disk = Disk(tmp_path / "first")
    disk.folder.mkdir()
    with disk.used():
        subject.work(disk.folder, disk)
    assert said_so(disk) == []
    failures = Failures()
    for number in range(cuts):
        chance = random.Random(f"{seed} {number}")
        at = chance.randrange(len(disk.steps) + 1)
        folder = tmp_path / str(number)
        disk.cut(at, chance, folder)
        folder.mkdir(exist_ok=True)
        more = {"power": True} if subject is SandboxOf else {}
        call = partial(subject.check, folder, disk.notes(at), **more)
        failures.note(f"cut {number} of seed {seed}, after step {at}", call)
        shutil.rmtree(folder)
    assert not failures.found, str(failures)
    print(
        f"\n{subject.__name__}: {cuts} cuts, seed {seed}, of {len(disk.steps)} steps: all completed writes are present"
    )


@pytest.mark.slow
@pytest.mark.parametrize("survives", [True, False])
def test_what_was_not_synced_is_forgotten(tmp_path: Path, survives: bool) -> None:
    """The simulated disk loses only data that a commit did not wait for, and the file stays consistent."""
    disk, lost = Disk(tmp_path / "first"), 0
    disk.folder.mkdir()
    with disk.used(), closing(opened(disk.folder, survives)) as file:
        for number in range(5):
            file.run("INSERT INTO one VALUES (?)", (number,))
            disk.note(number)
    for at in range(0, len(disk.steps) + 1, 2):
        folder = tmp_path / str(at)
        disk.cut(at, random.Random(at), folder)
        with closing(opened(folder, survives)) as file:
            found = [number for (number,) in file.run("SELECT a FROM one")]
            assert file.run("PRAGMA integrity_check") == [("ok",)]
        assert found == list(range(len(found)))
        lost += len(disk.notes(at)) > len(found)

    assert (lost == 0) is survives


def opened(folder: Path, survives: bool) -> Database:
    """Open a file with one table."""
    return Database(folder / "a.db", application=1, schema="CREATE TABLE one(a)", survives_power_loss=survives)


@pytest.mark.parametrize(
    "every", [pytest.param(701, marks=pytest.mark.slow), pytest.param(1, marks=SOAK)], ids=["few", "all"]
)
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda one: one.__name__)
def test_refused_steps(tmp_path: Path, subject: Any, every: int) -> None:
    """Whichever step the disk refuses, completed operations are stored and refused operations leave nothing partial."""
    plain = Disk(tmp_path / "first")
    plain.folder.mkdir()
    with plain.used():
        subject.work(plain.folder, plain)
    failures = Failures()
    points = refused = 0
    for name, error in FAILURES.items():
        for lasting in (False, True):
            for step in range(1 + points % every, plain.count + 1, every):
                points += 1
                disk = Disk(tmp_path / f"{points}", refuse=step, error=error, lasting=lasting)
                disk.folder.mkdir()
                said = f"{name} at step {step}" + (" and all later ones" if lasting else "")
                with disk.used():
                    failures.note(said, partial(subject.work, disk.folder, disk))
                refused += bool(said_so(disk))
                failures.note(said, partial(subject.check, disk.folder, disk.notes()))
                shutil.rmtree(disk.folder)
    assert not failures.found, str(failures)
    print(f"\n{subject.__name__}: {points} refusals at {plain.count} steps, {refused} of them said so: none by half")


@pytest.mark.parametrize(
    "every", [pytest.param(127, marks=pytest.mark.slow), pytest.param(1, marks=SOAK)], ids=["few", "all"]
)
@pytest.mark.parametrize("name", FILES)
def test_files_written_as_a_whole(tmp_path: Path, name: str, every: int) -> None:
    """After a refused step or a power cut, a file has its former or its new content."""
    files, failures = FILES[name], Failures()
    points = cuts = 0
    for version in range(1, files.versions + 1):
        plain = Disk(tmp_path / f"plain {version}")
        prepared(plain.folder, files, version)
        with plain.used():
            files.write(plain.folder, version)
        assert files.read(plain.folder) == version
        for at in range(points % every, len(plain.steps) + 1, every):
            cuts += 1
            folder = tmp_path / f"cut {version} {at}"
            plain.cut(at, random.Random(at), folder)
            there = [version] if at == len(plain.steps) else [version - 1 or None, version]
            failures.note(f"cut after step {at}", partial(one_of, files, folder, there))
        for error, lasting in itertools.product(FAILURES, (False, True)):
            for step in range(1 + points % every, plain.count + 1, every):
                points += 1
                disk = Disk(tmp_path / f"{points}", refuse=step, error=FAILURES[error], lasting=lasting)
                prepared(disk.folder, files, version)
                wrong: list[Exception] = []
                with disk.used():
                    try:
                        files.write(disk.folder, version)
                    except (OSError, WorkbenchError) as failure:
                        wrong.append(failure)
                there = [version] if not wrong and not files.silent else [version - 1 or None, version]
                said = f"{error} at step {step}" + (" and all later ones" if lasting else "")
                failures.note(said, partial(one_of, files, disk.folder, there))
                if not lasting and plain.steps[step - 1].kind != "remove":
                    failures.note(said, partial(nothing_left, disk.folder))
    assert not failures.found, str(failures)
    print(f"\n{name}: {points} refusals and {cuts} cuts, the file of before or the new one")


def prepared(folder: Path, files: Files, version: int) -> None:
    """Create a folder with the earlier version."""
    folder.mkdir()
    if version > 1:
        files.write(folder, version - 1)


def one_of(files: Files, folder: Path, versions: list[int | None]) -> None:
    """Check which version exists, and that it can be read and written again."""
    assert files.read(folder) in versions
    files.write(folder, files.versions)
    assert files.read(folder) == files.versions


def nothing_left(folder: Path) -> None:
    """Check that no temporary file remains."""
    assert [one.name for one in folder.rglob(".*")] == []


def said_so(disk: Disk) -> list[Any]:
    """Return the operations that were refused or done with a warning, except calls whose answer is lost."""
    return [note for note in disk.notes() if note[0] in ("refused", "warned") and "lost" not in note[1]]


class Failures:
    """Failures with the point at which they occurred. A campaign continues after a failure."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def note(self, point: str, call: Callable[[], None]) -> None:
        """Run a function and record its failure."""
        try:
            call()
        except Exception as error:  # noqa: BLE001 - whatever it is
            lines = "".join(traceback.format_exception(error, limit=-3))
            self.found.append(f"{point}\n{lines}")

    def __str__(self) -> str:
        return f"{len(self.found)} points:\n" + "\n".join(self.found[:10])
