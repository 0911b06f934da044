"""Grade notebooks that learners hand in: each runs in a kernel, a folder and a state of its own, away from the trainer's."""

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from workbench.classroom.results import Results
from workbench.course.learner import EXERCISES, FILE
from workbench.errors import InvalidRequest, visible

CELL_SECONDS = 120
_CHECKS = """
import json as _json
import workbench as _wb
def _check(exercise):
    try:
        return list(_wb.course.check(exercise).missing)
    except _wb.WorkbenchError as error:
        return [str(error)]
print("GRADED" + _json.dumps({{one: _check(one) for one in {exercises!r}}}))
"""


def grade(notebooks: Iterable[Path]) -> Results:
    """Run notebooks, check the exercises that stand in each, and return the results; nothing of the trainer's is changed.

    A notebook is the learner's code: it runs with this account's permissions, without profiles, keys or a class. The learner is named
    by the folder of the notebook, or by its file where all lie in one folder.

    Raises:
        InvalidRequest: A file is not a notebook, or nbclient is not installed.
    """
    paths = [Path(one) for one in notebooks]
    by_folder = len({one.resolve().parent for one in paths}) > 1
    results = Results()
    for path in paths:
        name = path.resolve().parent.name if by_folder else path.stem
        results.enroll([name])
        for exercise, (facts, missing) in _run(path).items():
            done = facts.get("done") is True or not missing
            results.add(name, "start", exercise)
            for number in range(facts.get("hints", 0)):
                last = number + 1 == len(EXERCISES[exercise].hints)
                results.add(name, "hint", exercise, number=number + 1, last=last)
            for _ in range(facts.get("tries", 1) - 1 - (not done)):  # the last check is the grader's
                results.add(name, "check", exercise, missing=missing or ["tried before"])
            results.add(name, "check", exercise, missing=[] if done else missing, confirmed=not missing)
    return results


def _run(path: Path) -> dict[str, tuple[dict[str, Any], list[str]]]:
    """Run a notebook, and return for each of its exercises what its state keeps and what a last check misses."""
    try:
        import nbformat
        from nbclient import NotebookClient
    except ImportError:
        raise InvalidRequest(
            "grading runs notebooks, and needs nbclient: install the extra `lab`", of="class"
        ) from None
    try:
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, AttributeError) as error:
        raise InvalidRequest(
            f"{visible(str(path), 200)} is not a notebook: {type(error).__name__}", of="class"
        ) from None
    source = "\n".join(cell.source for cell in notebook.cells)
    exercises = [one for one in EXERCISES if f'"{one}"' in source or f"'{one}'" in source]
    last = nbformat.v4.new_code_cell(_CHECKS.format(exercises=exercises))  # type: ignore[no-untyped-call]
    notebook.cells.append(last)
    with tempfile.TemporaryDirectory(prefix="workbench-grading-") as folder:
        own = Path(folder)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("WORKBENCH_")}
        env = kept | {
            "WORKBENCH_STATE": str(own / "state"), "WORKBENCH_CONFIG": str(own / "profiles.toml"), "WORKBENCH_READONLY": "1",
            "IPYTHONDIR": str(own / "ipython"),
        }  # fmt: skip
        NotebookClient(
            notebook, timeout=CELL_SECONDS, kernel_name="python3", allow_errors=True, extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": folder}},
        ).execute(env=env)  # fmt: skip
        try:
            state = json.loads((own / "state" / FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            state = {}
    printed = "".join(one.get("text", "") for one in last.outputs)
    missing = json.loads(printed.rpartition("GRADED")[2]) if "GRADED" in printed else {}
    return {one: (state.get(one, {}), missing.get(one, ["the notebook did not run to its end"])) for one in exercises}
