"""`workbench course …`: tasks, and a class on one server, with its results."""

import sys
import webbrowser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from cyclopts import Parameter

from workbench import course
from workbench.base.errors import visible
from workbench.course import classroom
from workbench.course.task_files import TASKS
from workbench.terminal.binding import command
from workbench.terminal.exits import DONE, say, usage_error
from workbench.terminal.inputs import pairs
from workbench.terminal.output import Output, show
from workbench.terminal.sandbox import Listening, serve_until_stopped
from workbench.terminal.where import Setting, Text, Url

if TYPE_CHECKING:
    from workbench.client.session import Session

_Folder = Annotated[Path, Parameter(help="Folder of the class: sandboxes, codes and results.")]


def serve(
    *,
    folder: _Folder,
    learners: Text = "",
    trainer: Text = "",
    at: Listening = Listening(),
) -> None:
    """Serve a class: a sandbox for each learner, and a board for the trainer. Stop it with Ctrl-C; nothing is lost.

    Args:
        learners: CSV file with names in its first column, or a number of learners.
        trainer: Your name, for certificates.
    """
    if folder.is_file():
        raise usage_error(f"--folder: {str(folder)!r} is not a folder.")

    def make() -> Any:
        from workbench.course.classroom.class_results import read_roster

        server = classroom.ClassServer(read_roster(learners) if learners else (), folder)
        server.say = say
        if trainer:
            server.results.set("trainer", trainer)
        if not server.learners:
            server.close()
            raise usage_error("--learners: a new class requires a CSV file with names, or a number.")
        return server

    def introduce(server: Any, url: str) -> Iterator[str]:
        yield f"Trainer's board: {url}/board   trainer key: {server.trainer_key}"
        yield "Learners join by their link: workbench course join LINK, or wb.course.join('LINK') in a cell."
        rows = [{"learner": learner.name, "link": server.results.link(learner, url)} for learner in server.learners]
        show(rows, Output())

    note = f"Everything is stored in {folder}; run the same command to continue."
    serve_until_stopped(make, introduce, at, own_certificate=folder / "class-tls.crt", kept=note)


_System = Literal["windows", "macos", "linux", "linux-arm"]
_Python = Literal["3.11", "3.12", "3.13", "3.14"]


def results(*, folder: _Folder) -> None:
    """Print the results of a class as CSV. The class may be running."""
    from workbench.course.classroom.exports import results_table

    with _results(folder) as results:
        print(results_table(results), end="")


def board(*, folder: _Folder) -> None:
    """Open the trainer's board of a running class in this machine's browser."""
    with _results(folder) as results:
        url, key = results.get("url", ""), results.get("trainer_key")
    say(f"The board: {url}/board")
    webbrowser.open(f"{url}/board#{quote(key)}")


def prepare(
    *,
    folder: _Folder,
    notebooks: Path = Path("notebooks"),
    system: list[_System] | None = None,
    python: list[_Python] | None = None,
) -> None:
    """Download the packages that laptops without internet install from `/setup` of the class.

    pip downloads the workbench with the extra lab, 150 to 210 MB for each system and Python. The defaults are Windows,
    macOS and Linux, with the Python version of this command. Each run replaces the folder.

    Args:
        notebooks: Folder of the notebooks.
        system: Operating system of laptops.
        python: Version of Python on laptops.
    """
    from workbench.course.classroom import wheel_house

    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    systems = system or ("windows", "macos", "linux")
    for target, fetched in wheel_house.prepare(folder, notebooks, systems, python or (own,)):
        print(f"{target}: {fetched}")


def add(name: Annotated[str, Parameter(help="Name of the learner.")], /, *, folder: _Folder) -> None:
    """Add a learner to a class, even while it is running, and print the link to join."""
    with _results(folder) as results:
        late = results.enroll_late(name)
        print(results.link(late))


_Page = Literal[
    "sheets", "certificates", "answers", "handout", "two-hours", "three-hours", "product", "support", "developer", "day"
]


def print_(what: _Page, /, *, folder: Path | None = None, url: Url | None = None) -> None:
    """Print a page as HTML: sheets with each learner's link, certificates, the answer key, a handout, or a plan.

    Args:
        what: sheets or certificates (one for each learner), answers (the answer key), handout (for learners to keep),
            or the name of a course plan.
        folder: Folder of the class, for sheets and certificates.
        url: URL under which learners reach the class; default: the URL at the last start.
    """
    from workbench.course.classroom import exports

    if what in ("answers", "handout"):
        page = exports.answers() if what == "answers" else exports.handout()
    elif what not in ("sheets", "certificates"):
        page = exports.plan(what)
    elif folder is None:
        raise usage_error(f"--folder is required, since {what} belong to a class.")
    else:
        with _results(folder) as results:
            links = {learner.name: results.link(learner, url or "") for learner in results.learners()}
            page = exports.sheets(links) if what == "sheets" else exports.certificates(results)
    print(page, end="")


def join(
    link: Annotated[str, Parameter(help="Link printed on your class sheet.")],
    /,
    *,
    no_lab: Annotated[bool, Parameter(help="Do not open JupyterLab.")] = False,
) -> int:
    """Join a class by link and open JupyterLab. Notebooks and commands then use your sandbox in the class."""
    from workbench.terminal import shell

    print(course.join(link))
    return DONE if no_lab else shell.lab()


def leave() -> None:
    """Leave the class that was joined by link. Your progress is not lost."""
    from workbench.course.joining import leave as leave_class

    print(leave_class())


@contextmanager
def _results(folder: Path) -> Iterator["classroom.Results"]:
    """Yield the results of the class in a folder."""
    if not (folder / "class.db").is_file():
        raise usage_error(f"--folder: {visible(str(folder), 200)} does not contain a class.")
    with closing(classroom.Results(folder / "class.db")) as results:
        yield results


def _names(_: object) -> list[str]:
    return list(TASKS)


_Task = Annotated[str, Parameter(help="Name of the task.", completer=_names)]


@command
def list_tasks() -> Any:
    """List the exercises, quizzes and drills."""
    return [task.row for task in TASKS.values()]


@command
def start(api: "Session", name: _Task, /) -> Any:
    """Show a task and begin it in the sandbox. An active drill is shown again."""
    return course.task(name, api)


@command
def check(api: "Session", name: _Task, /) -> Any:
    """Show the unmet criteria of a task. Exit code 5 while the task is not done."""
    return course.check(name, api)


@command
def answer(
    api: "Session",
    name: _Task,
    /,
    *,
    set_: Annotated[list[Setting], Parameter(name="--set", help="Answer, such as items=120.")],
) -> Any:
    """Answer a question of a task."""
    return course.answer(name, api=api, **pairs("set", set_))


@command
def hint(api: "Session", name: _Task, /) -> Any:
    """Show the next hint of a task. The last hint contains the code."""
    return course.hint(name, api=api)
