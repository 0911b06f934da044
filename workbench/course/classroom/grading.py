"""Grade notebooks of learners by the requests that a class server receives from each.

Each notebook runs in a separate process, against a sandbox in this process that it reaches by HTTP only. The process
has
limits of time, memory and files, and neither the trainer's environment nor HOME; on Linux with Landlock it cannot read
the trainer's files. Its output and files are ignored.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from workbench.base.errors import UsageError, advise, visible
from workbench.course.classroom.class_results import MAX_NAME, Results
from workbench.course.classroom.notebook_process import NOTEBOOK
from workbench.course.classroom.server import ClassServer
from workbench.course.learner import EXERCISES

SECONDS = 300
MAX_BYTES = 50 * 2**20
_LOOK_SECONDS = 0.5
_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT", "LD_LIBRARY_PATH")


def grade(notebooks: Iterable[Path], *, seconds: int = SECONDS) -> Results:
    """Run notebooks, check the exercises that each contains, and return the results.

    A learner is named by the folder of the notebook, or by its file name if all are in one folder. A notebook that
    cannot be read or run has no result, and does not affect others.

    Args:
        notebooks: The files.
        seconds: Time limit of each notebook.

    Raises:
        UsageError: A file does not exist.
    """
    paths = [Path(notebook) for notebook in notebooks]
    missing = [visible(str(path), 200) for path in paths if not path.is_file()]
    if missing:
        raise UsageError(f"{', '.join(missing[:5])}: no such file", of="class")
    by_folder = len({path.resolve().parent for path in paths}) > 1
    results = Results()
    for path in paths:
        name = visible((path.resolve().parent.name if by_folder else path.stem) or "learner", MAX_NAME)
        results.enroll([name])
        try:
            sources = _cells(path)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            advise(f"{visible(str(path), 200)} is not a notebook; it has no results")
            continue
        _grade(name, sources, results, seconds)
    return results


def _cells(path: Path) -> list[str]:
    """Return the code cells of a notebook."""
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(path)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def _grade(name: str, sources: list[str], results: Results, seconds: int) -> None:
    """Add the results of one notebook: tries and hints that its server received, then a final check of each
    exercise.
    """
    text = "\n".join(sources)
    exercises = [exercise for exercise in EXERCISES if f'"{exercise}"' in text or f"'{exercise}'" in text]
    with ExitStack() as stack:
        own, folder = (Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2))
        server = stack.enter_context(closing(ClassServer([name], own)))
        url = stack.enter_context(server.serve())
        _run(sources, f"{url}/{server.learners[0].code}", folder, seconds)
        for exercise in exercises:
            server.results.add(name, "start", exercise)
            if not EXERCISES[exercise].reported:
                missing = server.check(name, exercise)
                server.results.add(name, "check", exercise, missing=missing, confirmed=not missing)
        results.adopt(server.results, name, exercises)


def _run(sources: list[str], class_url: str, folder: Path, seconds: int) -> None:
    """Run the cells in a separate process that joins the class, then end all processes it started."""
    (folder / NOTEBOOK).write_text(json.dumps(sources), encoding="utf-8")
    command = [sys.executable, "-m", "workbench.course.classroom.notebook_process", str(folder), str(seconds)]
    run_alone(command, class_url, folder, seconds)


def run_alone(
    command: Sequence[str],
    class_url: str,
    folder: Path,
    seconds: float,
    *,
    ended: Callable[[], bool] = lambda: False,
    **variables: str,
) -> int | None:
    """Run a command that joins a class, without this process's environment and HOME; return its exit code.

    All processes that it started are ended. The exit code is None if it exceeded the time limit.

    Args:
        command: The command, with its arguments.
        class_url: The learner's URL in the class.
        folder: Its current folder, and its HOME.
        seconds: Time limit.
        ended: Called twice a second; the command is ended when it returns True.
        variables: Further environment variables.

    Raises:
        OSError: It cannot be started.
    """
    env = {name: os.environ[name] for name in _INHERITED if name in os.environ} | {
        "HOME": str(folder),
        "USERPROFILE": str(folder),
        "TMPDIR": str(folder),
        "TEMP": str(folder),
        "MPLBACKEND": "agg",
        "IPYTHONDIR": str(folder / "ipython"),
        "MPLCONFIGDIR": str(folder),
        "WORKBENCH_STATE": str(folder / "state"),
        "WORKBENCH_CONFIG": str(folder / "profiles.toml"),
        "WORKBENCH_READONLY": "1",
        "WORKBENCH_CLASS": class_url,
        **variables,
    }
    with subprocess.Popen(
        command,
        cwd=folder,
        env=env,
        start_new_session=True,
        close_fds=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        limit = time.monotonic() + seconds
        try:
            while time.monotonic() < limit:
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(min(_LOOK_SECONDS, max(limit - time.monotonic(), 0)))
                if ended():
                    return 0
            return None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError, AttributeError):
                process.kill()
