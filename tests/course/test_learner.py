"""Hints, stored progress, and resets."""

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.course.lessons import SEED
from workbench import course
from workbench.base.errors import AdviceWarning, UsageError
from workbench.base.system.locks import FileLock
from workbench.course import stored
from workbench.course.stored import FILE
from workbench.course.task_files import EXERCISES


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Store progress in a folder of the test, and open a session."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    course.begin("01")
    wb.connect(seed=SEED).close()  # without this, the latest session could belong to the class of an earlier test
    return tmp_path


def coffee(api: Any) -> None:
    course.task("start-1", api)
    exec(EXERCISES["start-1"].answer, {"api": api, "guide": api.sandbox.guide()})


def test_check_uses_the_latest_session() -> None:
    """Without a session of the task, the check uses the latest session."""
    with wb.connect(seed=SEED), wb.connect(seed=SEED) as api:
        coffee(api)

        assert course.check("start-1").ok


def test_check_uses_the_session_of_the_task() -> None:
    """The check uses the session in which the task was shown, even if another is opened later."""
    with wb.connect(seed=SEED) as api:
        course.task("start-1")
        with wb.connect(seed=SEED):
            coffee(api)

            assert course.check("start-1").ok


@pytest.mark.slow
def test_check_reads_a_served_sandbox() -> None:
    """The check uses the controls of the served sandbox."""
    with wb.Sandbox(SEED).serve() as url, wb.connect(url) as api:
        course.task("start-1", api)
        before = course.check("start-1", api).ok
        coffee(api)

        assert not before
        assert course.check("start-1", api).ok


def test_a_check_counts_the_hints_that_remain_to_be_asked_for() -> None:
    """A task with one hint and a task with three are described by one sentence."""
    with wb.connect(seed=SEED) as api:
        course.task("unknown-refunds", api)
        text = str(course.check("unknown-refunds", api))

    assert "Hints: 1. The last one contains the code." in text


def test_hints_come_one_by_one() -> None:
    """Each call returns one more hint. After the last hint, further calls repeat it."""
    numbers = [len(course.hint("start-1").hints) for _ in range(4)]

    assert [1, 2, 3, 3] == numbers
    assert "simulate_authorization(card_id=" in str(course.hint("start-1"))
    assert "Hint 3 of 3" in str(course.hint("start-1"))
    assert "A cell" not in str(course.hint("start-1"))


def test_progress_outlives_the_kernel(folder: Path) -> None:
    """A file of the user stores tries, hints and minutes."""
    with wb.connect(seed=SEED) as api:
        coffee(api)
        course.check("start-1")
    course.hint("contracts-1")

    kept = json.loads((folder / FILE).read_text())
    assert {"result:start-1", "state:start-1", "result:contracts-1"} == kept.keys()
    assert (1, True, 0.0, 1) == (
        *(kept["result:start-1"][one] for one in ("tries", "done", "minutes")),
        kept["result:contracts-1"]["hints"],
    )
    assert ("start-1",) == course.progress().done
    assert f"1 of {len(EXERCISES)} exercises done" in str(course.progress())


def test_progress_has_a_name_tries_and_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress has the account's name, and counts tries until the exercise is done."""
    monkeypatch.setenv("LOGNAME", "ann")
    with wb.connect(seed=SEED) as api:
        course.task("start-1")
        course.check("start-1", api)
        coffee(api)
        course.check("start-1", api)
        course.check("start-1", api)
    shown = course.progress()

    assert "The course of ann" in str(shown)
    assert (1, True) == (shown.results["start-1"].tries, shown.results["start-1"].done)


@pytest.mark.slow
def test_progress_outlives_a_kill(folder: Path) -> None:
    """Progress is stored even if the kernel is killed in the next exercise."""
    code = (
        "import os, signal, workbench as wb\n"
        "from workbench.course.task_files import EXERCISES\n"
        "api = wb.connect(seed=7); guide = api.sandbox.guide()\n"
        "wb.course.task('start-1'); exec(EXERCISES['start-1'].answer); wb.course.check('start-1'); wb.course.hint('contracts-1')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "WORKBENCH_STATE": str(folder)}, check=False)

    assert -signal.SIGKILL == done.returncode
    assert ("start-1",) == course.progress().done
    assert 2 == len(course.hint("contracts-1").hints)


@pytest.mark.slow
def test_two_kernels_at_the_same_time_lose_no_try(folder: Path) -> None:
    """While one kernel reads and writes the file, the other waits."""
    code = "import workbench as wb; wb.course.answer; input('ready')\nfor _ in range(30): wb.course.answer('start-who', 'd')"
    start = partial(subprocess.Popen, [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    kernels = [start(env={**os.environ, "WORKBENCH_STATE": str(folder)}) for _ in range(2)]
    ready = [kernel.stdout.read(5) for kernel in kernels]
    for kernel in kernels:
        kernel.stdin.write(b"\n")
        kernel.stdin.flush()
    for kernel in kernels:
        kernel.communicate(timeout=120)

    assert [b"ready"] * 2 == ready
    assert [0, 0] == [kernel.returncode for kernel in kernels]
    assert 60 == json.loads((folder / FILE).read_text())["result:start-who"]["tries"]


def test_a_suspended_kernel_stops_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another process holds the lock for too long, the call continues with a warning."""
    monkeypatch.setattr(stored, "_MAX_WAIT", 0.1)
    with FileLock(folder / FILE), pytest.warns(AdviceWarning, match=r"holds course\.json: results .* can be lost"):
        assert 1 == len(course.hint("start-1").hints)


def test_reset_deletes_only_the_own_progress(folder: Path) -> None:
    """Another user's file and all sandboxes stay unchanged."""
    other = folder / "other" / FILE
    other.parent.mkdir()
    other.write_text('{"result:start-1": {"done": true}}')
    with wb.connect(seed=SEED) as api:
        coffee(api)
        course.check("start-1")
        before = len(api.sandbox.events())
        course.reset()

        assert () == course.progress().done
        assert before == len(api.sandbox.events())
        assert '{"result:start-1": {"done": true}}' == other.read_text()


def test_a_damaged_file_counts_as_empty(folder: Path) -> None:
    """Progress starts again, and hints work."""
    (folder / FILE).write_text("{")

    assert () == course.progress().done
    assert 1 == len(course.hint("start-1").hints)


def test_an_unwritable_folder_stops_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks, checks and hints work, and progress lasts as long as the process."""
    (folder / "file").touch()
    monkeypatch.setenv("WORKBENCH_STATE", str(folder / "file"))
    with wb.connect(seed=SEED) as api:
        coffee(api)

        assert course.check("start-1").ok
        assert ("start-1",) == course.progress().done


def test_an_unknown_exercise_is_refused_with_the_known_ones() -> None:
    """The error lists the known names and the nearest one."""
    with pytest.raises(UsageError, match=r"task must be one of start-1.*did you mean start-1"):
        course.check("start-9")


def test_every_learner_has_the_same_ids() -> None:
    """The seed of the notebooks determines the ids."""
    with wb.connect(seed=SEED) as one, wb.connect(seed=SEED) as other:
        coffee(one)
        coffee(other)

        assert one.sandbox.guide() == other.sandbox.guide()
        assert one.sandbox.events() == other.sandbox.events()


def test_html_is_static_and_escaped() -> None:
    """The HTML of tasks, checks, hints and progress contains no script."""
    with wb.connect(seed=SEED) as api:
        shown = [course.task("start-1"), course.check("start-1", api), course.hint("start-1"), course.progress()]

    assert all(
        one._repr_html_().startswith('<div class="wb-face"') and "<script" not in one._repr_html_() for one in shown
    )
    assert all(repr(one) == str(one) for one in shown)
