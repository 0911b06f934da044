"""A power cut at any moment, and a disk that refuses any step: what was said to be done is there, and nothing is there by half."""

import errno
import os
import random
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.disk import Disk
from tests.durable import InboxOf, JournalOf, ResultsOf, RunOf, SandboxOf

SOAK = [pytest.mark.soak, pytest.mark.timeout(0)]
SUBJECTS = [JournalOf, InboxOf, RunOf, ResultsOf, SandboxOf]
FAILURES = {"full": errno.ENOSPC, "input/output error": errno.EIO, "permission lost": errno.EACCES}


@pytest.fixture(autouse=True)
def state_of_this_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what the work sets be forgotten."""
    monkeypatch.setenv("WORKBENCH_STATE", os.environ["WORKBENCH_STATE"])


@pytest.mark.parametrize(
    "cuts, seed", [pytest.param(5, 1, marks=pytest.mark.slow), pytest.param(500, 2, marks=SOAK)], ids=["few", "many"]
)
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda one: one.__name__)
def test_power_cuts(tmp_path: Path, subject: Any, cuts: int, seed: int) -> None:
    """What was said to be done before the cut is there, whatever the disk had not synced."""
    disk = Disk(tmp_path / "first")
    disk.folder.mkdir()
    with disk.used():
        subject.work(disk.folder, disk)
    assert [note for note in disk.notes() if note[0] in ("refused", "warned") and "lost" not in note[1]] == []
    for number in range(cuts):
        chance = random.Random(f"{seed} {number}")
        at = chance.randrange(len(disk.steps) + 1)
        folder = tmp_path / str(number)
        disk.cut(at, chance, folder)
        folder.mkdir(exist_ok=True)
        checked(subject, folder, disk.notes(at), f"cut {number} of seed {seed}, after step {at}", cut=True)
    print(f"\n{subject.__name__}: {cuts} cuts, seed {seed}, of {len(disk.steps)} steps: all that was done is there")


@pytest.mark.parametrize(
    "every", [pytest.param(97, marks=pytest.mark.slow), pytest.param(1, marks=SOAK)], ids=["few", "all"]
)
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda one: one.__name__)
def test_refused_steps(tmp_path: Path, subject: Any, every: int) -> None:
    """Whichever step the disk refuses, and for whatever reason: what was done is there, what was refused is not there by half."""
    plain = Disk(tmp_path / "first")
    plain.folder.mkdir()
    with plain.used():
        subject.work(plain.folder, plain)
    points = refused = 0
    for name, error in FAILURES.items():
        for lasting in (False, True):
            for step in range(1 + points % every, plain.count + 1, every):
                points += 1
                disk = Disk(tmp_path / f"{points}", refuse=step, error=error, lasting=lasting)
                disk.folder.mkdir()
                said = f"{name} at step {step}" + (" and all later ones" if lasting else "")
                with disk.used():
                    done(lambda disk=disk: subject.work(disk.folder, disk), said)
                refused += any(note[0] in ("refused", "warned") for note in disk.notes())
                checked(subject, disk.folder, disk.notes(), said)
    print(f"\n{subject.__name__}: {points} refusals at {plain.count} steps, {refused} of them said so: none by half")


def checked(subject: Any, folder: Path, notes: list[Any], said: str, *, cut: bool = False) -> None:
    """Check what is there; say what happened where that fails."""
    more = {"power": True} if cut and subject is SandboxOf else {}
    done(lambda: subject.check(folder, notes, **more), said)


def done(call: Callable[[], None], said: str) -> None:
    """Do something; say what happened before where that fails."""
    try:
        call()
    except BaseException as error:
        error.add_note(said)
        if found := os.environ.get("KEEP_GOING"):
            with open(found, "a") as file:
                file.write(f"=== {said}\n{''.join(traceback.format_exception(error, limit=-4))}\n")
            return
        raise
