"""Hints, progress that is stored, resets, and class mode."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.course.lessons import SEED
from workbench import course
from workbench.base.errors import UsageError
from workbench.course import learner
from workbench.course.stored import FILE
from workbench.course.task_files import EXERCISES


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep progress in a folder of the test's own, and no class on."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    monkeypatch.setenv("WORKBENCH_READONLY", "")  # so that what a test sets is undone
    monkeypatch.delenv("WORKBENCH_READONLY")
    learner._bound.clear()
    wb.connect(seed=SEED).close()  # so that the latest session is none of a class that another test has ended
    return tmp_path


def coffee(api: Any) -> None:
    exec(EXERCISES["start-1"].answer, {"api": api, "guide": api.sandbox.guide()})


def test_check_uses_the_latest_session() -> None:
    """If no other is given."""
    with wb.connect(seed=SEED), wb.connect(seed=SEED) as api:
        coffee(api)

        assert course.check("start-1").ok


def test_check_uses_the_session_of_the_task() -> None:
    """Even if others are opened later."""
    with wb.connect(seed=SEED) as api:
        course.task("start-1")
        with wb.connect(seed=SEED):
            coffee(api)

            assert course.check("start-1").ok


def test_check_reads_a_served_sandbox() -> None:
    """Through its controls."""
    with wb.Sandbox(SEED).serve() as url, wb.connect(url) as api:
        before = course.check("start-1", api).ok
        coffee(api)

        assert not before
        assert course.check("start-1", api).ok


def test_hints_come_one_by_one() -> None:
    """Each call returns the next hint; the last one says so, and is repeated."""
    numbers = [course.hint("start-1").number for _ in range(4)]

    assert [1, 2, 3, 3] == numbers
    assert "simulate_authorization(card_id=" in str(course.hint("start-1"))
    assert "This is the last hint" in str(course.hint("start-1"))
    assert 1 == course.hint("start-1", 1).number


def test_hints_unlock_one_after_another() -> None:
    with pytest.raises(UsageError, match="hint 3 follows hint 1"):
        course.hint("contracts-1", 3)
    with pytest.raises(UsageError, match="numbered from 1 to 3"):
        course.hint("contracts-1", 4)


def test_progress_outlives_the_kernel(folder: Path) -> None:
    """It is stored in a file of the user, with tries, hints and minutes, and without keys and ids."""
    with wb.connect(seed=SEED) as api:
        coffee(api)
        course.check("start-1")
    course.hint("contracts-1")

    kept = json.loads((folder / FILE).read_text())
    assert {"begun", "tries", "done", "minutes", "state"} == kept["start-1"].keys()
    assert {"begun", "hints"} == kept["contracts-1"].keys()
    assert (1, True, 0.0, 1) == (
        *(kept["start-1"][one] for one in ("tries", "done", "minutes")),
        kept["contracts-1"]["hints"],
    )
    assert ("start-1",) == course.progress().done
    assert f"1 of {len(EXERCISES)} exercises done" in str(course.progress())


def test_progress_has_a_name_tries_and_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries count until the exercise is done; the name is that of the account until another is given, and is kept."""
    monkeypatch.setenv("LOGNAME", "ann")
    assert "The course of ann" in str(course.progress())
    course.progress("Ann Example")
    with wb.connect(seed=SEED) as api:
        course.task("start-1")
        course.check("start-1", api)
        coffee(api)
        course.check("start-1", api)
        course.check("start-1", api)
    shown = course.progress()

    assert "Ann Example" == shown.name
    assert (1, True) == (shown.results["start-1"]["tries"], shown.results["start-1"]["done"])
    assert "< 1" in str(shown) or " 0" in str(shown)


@pytest.mark.slow
def test_progress_outlives_a_kill(folder: Path) -> None:
    """What is done stays done when the kernel is killed in the next exercise."""
    code = (
        "import os, signal, workbench as wb\n"
        "from workbench.course.task_files import EXERCISES\n"
        "api = wb.connect(seed=7); guide = api.sandbox.guide()\n"
        "exec(EXERCISES['start-1'].answer); wb.course.check('start-1'); wb.course.hint('contracts-1')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "WORKBENCH_STATE": str(folder)}, check=False)

    assert -signal.SIGKILL == done.returncode
    assert ("start-1",) == course.progress().done
    assert 2 == course.hint("contracts-1").number


def test_reset_deletes_only_the_own_progress(folder: Path) -> None:
    """Another user's file and all sandboxes stay unchanged."""
    other = folder / "other" / FILE
    other.parent.mkdir()
    other.write_text('{"start-1": {"done": true}}')
    with wb.connect(seed=SEED) as api:
        coffee(api)
        course.check("start-1")
        before = len(api.sandbox.events())
        course.reset()

        assert () == course.progress().done
        assert before == len(api.sandbox.events())
        assert '{"start-1": {"done": true}}' == other.read_text()


def test_reset_of_one_exercise() -> None:
    """The others keep their progress."""
    course.hint("start-1")
    course.hint("contracts-1")
    course.reset("start-1")

    assert 1 == course.hint("start-1").number
    assert 2 == course.hint("contracts-1").number


def test_a_damaged_file_counts_as_empty(folder: Path) -> None:
    """Nobody is stopped by it."""
    (folder / FILE).write_text("{")

    assert () == course.progress().done
    assert 1 == course.hint("start-1").number


def test_an_unwritable_folder_stops_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks and hints work without stored progress."""
    (folder / "file").touch()
    monkeypatch.setenv("WORKBENCH_STATE", str(folder / "file"))
    with wb.connect(seed=SEED) as api:
        coffee(api)

        assert course.check("start-1").ok
        assert () == course.progress().done


def test_an_unknown_exercise_is_refused_with_the_known_ones() -> None:
    """A name that is none gets the list of those there are."""
    with pytest.raises(UsageError, match=r"task must be one of start-1.*did you mean start-1"):
        course.check("start-9")


def test_every_learner_has_the_same_ids() -> None:
    """The seed of the notebooks makes them."""
    with wb.connect(seed=SEED) as one, wb.connect(seed=SEED) as other:
        coffee(one)
        coffee(other)

        assert one.sandbox.guide() == other.sandbox.guide()
        assert one.sandbox.events() == other.sandbox.events()


def test_class_mode_refuses_effects(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Production cannot be armed, a real service receives only reads, and a banner says so."""
    monkeypatch.setenv("WORKBENCH_READONLY", "0")
    banner = str(course.in_class())
    real = wb.Client(
        base_url="https://api.example.com/v1", api_key="k" * 20, environment="production", journal=folder / "journal.db"
    )

    with pytest.raises(UsageError, match="nothing can be armed"):
        real.arm(operations={"update_user"}, minutes=1, reason="a lesson")
    with pytest.raises(wb.errors.NotArmed, match="WORKBENCH_READONLY"):
        real.update_user(user_id="00000000-0000-4000-8000-000000000000", is_active=True)
    assert "CLASS" in banner
    assert "reads only" in banner


@pytest.mark.slow
@pytest.mark.parametrize(
    "variable, value, said",
    [
        ("WORKBENCH_READONLY", "1", "WORKBENCH_READONLY=1 was set before this kernel began"),
        ("WORKBENCH_CLASS", "http://127.0.0.1:9/olive-42", "you are in a class"),
    ],
)
def test_a_lock_from_outside_is_not_lifted(variable: str, value: str, said: str) -> None:
    """Turning class mode off says who locked it, and it stays on."""
    code = "import workbench as wb; print(wb.course.in_class(False)); from workbench.client.calls.guards import readonly; print(readonly())"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, variable: value}, capture_output=True, text=True, check=True
    )

    assert said in " ".join(done.stdout.split())
    assert "no cell can lift that" in " ".join(done.stdout.split())
    assert variable != "WORKBENCH_READONLY" or done.stdout.endswith("True\n")


def test_html_is_static_and_escaped() -> None:
    """For tasks, checks, hints and progress."""
    with wb.connect(seed=SEED) as api:
        shown = [course.task("start-1"), course.check("start-1", api), course.hint("start-1"), course.progress()]

    assert all(
        one._repr_html_().startswith('<div class="wb-face"') and "<script" not in one._repr_html_() for one in shown
    )
    assert all(repr(one) == str(one) for one in shown)
