"""Notebooks that are handed in: only what a class server saw counts, and one notebook changes no other."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import workbench as wb
from workbench.course.classroom.class_results import ExerciseResult
from workbench.course.classroom.exports import export
from workbench.course.classroom.grading import grade
from workbench.course.classroom.notebook_process import keeps_signals
from workbench.course.learner import EXERCISES

pytestmark = pytest.mark.slow  # each notebook runs in a process

ROOT = Path(__file__).parents[2]
FIRST = "import workbench as wb\napi = wb.connect(seed=7); guide = api.sandbox.guide()"
CHECK = 'wb.course.check("start-1")'
SOLUTION = EXERCISES["start-1"].hints[-1]
FORGERIES = {
    "ends the process": ["import os; os._exit(0)", CHECK],
    "prints what a grader might read": [
        'print("GRADED" + \'{"start-1": []}\'); import sys; print("GRADED{}", file=sys.__stdout__)', CHECK,
    ],
    "writes a state of wrong types": [
        "import os, json; from pathlib import Path",
        'folder = Path(os.environ["WORKBENCH_STATE"]); folder.mkdir(exist_ok=True, parents=True)',
        '(folder / "course.json").write_text(json.dumps({"start-1": {"done": True, "tries": "x", "hints": 300000}}))',
        CHECK,
    ],
    "replaces the check": [
        "wb.course.check = lambda *_, **__: type('Done', (), {'missing': (), 'done': True})()",
        "from workbench.course import checks, learner\nlearner.check = wb.course.check\nchecks.start_1 = lambda seen: iter(())",
        CHECK,
    ],
    "reports by itself": [
        "import httpx, os",
        ("for body in ({'missing': []}, {'missing': [], 'confirmed': True}):\n"
        "    httpx.post(os.environ['WORKBENCH_CLASS'] + '/_class', json={'kind': 'check', 'exercise': 'start-1', **body})"),
        CHECK,
    ],
    "asks for 300,000 hints": [
        "import httpx, os, json",
        "body = {'kind': 'hint', 'exercise': 'start-1', 'number': 3}",
        "client = httpx.Client(base_url=os.environ['WORKBENCH_CLASS'])",
        "for _ in range(100): client.post('/_class', json=body)",
        "client.post('/_class', json=body | {'number': 300_000})",
        CHECK,
    ],
    "takes memory": ["held = [bytearray(2**33) for _ in range(64)]", CHECK],
    "never ends": [CHECK, "while True: pass"],
}  # fmt: skip


def hand_in(folder: Path, name: str, *sources: str) -> Path:
    """Write a notebook into a folder of the learner."""
    cells = [
        {"cell_type": "code", "source": one, "metadata": {}, "outputs": [], "execution_count": None} for one in sources
    ]
    file = folder / name / "01.ipynb"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}), encoding="utf-8")
    return file


def graded(*notebooks: Path, seconds: int = 60) -> dict[str, ExerciseResult]:
    """Return the result of start-1 of each learner."""
    with closing(grade(notebooks, seconds=seconds)) as results:
        return {name: row["start-1"] for name, row in results.progress().items() if "start-1" in row}


def test_a_notebook_that_cheats_has_no_score_and_changes_no_other(tmp_path: Path) -> None:
    """All of them in a row, and a learner who solved the exercise before and after them."""
    names = dict(zip(FORGERIES, "bcdefghijklm", strict=False))
    honest = ("a", "z")
    cells = {names[what]: [FIRST, *sources] for what, sources in FORGERIES.items()}
    cells |= {name: [FIRST, SOLUTION, CHECK] for name in honest}

    endless = names["never ends"]
    files = {name: hand_in(tmp_path, name, *cells[name]) for name in sorted(cells)}
    results = graded(*(file for name, file in files.items() if name != endless))
    for result in graded(files[endless], seconds=3).values():
        results[endless] = result

    assert [name for name, result in results.items() if result.done] == [*honest]
    cheats = {what: results[name] for what, name in names.items() if name in results}
    assert [what for what, result in cheats.items() if result.reported] == []
    assert [what for what, result in cheats.items() if result.hints > 3] == []


@pytest.mark.skipif(not keeps_signals(), reason="signals are confined by Linux 6.12 or later with Landlock")
def test_a_notebook_that_kills_the_grading_process_changes_nothing(tmp_path: Path) -> None:
    """It cannot: the next notebook is graded."""
    cheat = hand_in(tmp_path, "b", FIRST, "import os, signal; os.kill(os.getppid(), signal.SIGKILL)", CHECK)
    honest = hand_in(tmp_path, "z", FIRST, SOLUTION, CHECK)
    code = f"from tests.classroom.test_grading import *; print(graded(Path({str(cheat)!r}), Path({str(honest)!r}))['z'].done)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)

    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr[-2000:]


def test_what_was_done_before_the_process_ended_counts(tmp_path: Path) -> None:
    notebook = hand_in(tmp_path, "ann", FIRST, SOLUTION, "import os; os._exit(3)", CHECK)

    assert graded(notebook)["01"].done


def test_something_that_is_not_a_notebook_stops_no_other(tmp_path: Path) -> None:
    broken = hand_in(tmp_path, "eve", FIRST)
    broken.write_text('{"cells": [1, {}], ', encoding="utf-8")
    right = hand_in(tmp_path, "ann", FIRST, SOLUTION, CHECK)

    with pytest.warns(UserWarning, match="is not a notebook"):
        results = graded(broken, right)

    assert [name for name, one in results.items() if one.done] == ["ann"]


def test_a_missing_file_is_named_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(wb.WorkbenchError, match="no such file"):
        grade([tmp_path / "nothing.ipynb"])


def test_a_notebook_sees_neither_home_nor_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SECRET_OF_THE_TRAINER", "x")
    settled = "\n".join(f"    {line}" for line in SOLUTION.strip().split("\n"))
    condition = (
        f'import os\nif os.environ["HOME"] != {str(tmp_path / "home")!r} and "SECRET_OF_THE_TRAINER" not in os.environ:'
    )
    notebook = hand_in(tmp_path, "ann", FIRST, f"{condition}\n{settled}", CHECK)

    assert graded(notebook)["01"].done


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")
def test_a_notebook_reads_no_file_of_the_trainer(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("x")
    settled = "\n".join(f"    {line}" for line in SOLUTION.strip().split("\n"))
    tried = f"try:\n    open({str(secret)!r}, {{mode!r}})\nexcept PermissionError:\n{settled}"
    reads = hand_in(tmp_path, "ann", FIRST, tried.format(mode="r"), CHECK)
    writes = hand_in(tmp_path, "bob", FIRST, tried.format(mode="a"), CHECK)

    assert [one.done for one in graded(reads, writes).values()] == [True, True]


def test_a_reported_exercise_is_in_no_grade(tmp_path: Path) -> None:
    """Only the learner's journal shows it."""
    notebook = hand_in(tmp_path, "ann", FIRST, 'wb.course.check("breaking-1")', CHECK)

    with closing(grade([notebook], seconds=60)) as results:
        assert "breaking-1" not in export(results, "nbgrader", 7)
        assert "breaking-1" not in export(results, "otter", 7)
