"""`workbench class …` and `workbench course …`: a class on one server, its results, and drills."""

import sys
import webbrowser
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from cyclopts import App, Parameter

from workbench import course
from workbench.base.errors import visible
from workbench.course import classroom
from workbench.course.drills import DRILLS
from workbench.terminal.exits import DONE, PARTLY, say, usage_error
from workbench.terminal.output import Output, show
from workbench.terminal.sandbox import Listening, serve_until_stopped
from workbench.terminal.sequences import read_parameters
from workbench.terminal.where import Setting, Text, Url, Where, Whole, session

_Folder = Annotated[Path, Parameter(help="Folder of the class: sandboxes, codes and results.")]


def serve(
    *,
    folder: _Folder,
    learners: Text = "",
    notebook_seed: Whole | None = None,
    at: Listening = Listening(),
) -> None:
    """Serve a class: a sandbox for each learner, and a board for the trainer. Stop it with Ctrl-C; nothing is lost.

    Args:
        learners: CSV file with names in its first column, or a number of learners.
        notebook_seed: Random seed of all sandboxes; default: 7, as in the notebooks.
    """
    if folder.exists() and not folder.is_dir():
        raise usage_error(f"--folder: {visible(str(folder), 200)} is not a folder.")

    def make() -> Any:
        from workbench.course.classroom.class_results import read_roster

        server = classroom.ClassServer(read_roster(learners) if learners else (), folder, seed=notebook_seed)
        if not server.learners:
            server.close()
            raise usage_error("--learners: a new class requires a CSV file with names, or a number.")
        return server

    def introduce(server: Any, url: str) -> Iterator[str]:
        yield f"Trainer's board: {url}/board   trainer key: {server.trainer_key}"
        yield "Learners join by their link: workbench class join LINK, or wb.course.join('LINK') in a cell."
        rows = [{"learner": learner.name, "link": server.results.link(learner, url)} for learner in server.learners]
        show(rows, Output())

    kept = f"Everything is kept in {folder}; start it again to continue."
    serve_until_stopped(make, introduce, at, own_certificate=folder / "class-tls.crt", kept=kept)


_System = Literal["windows", "macos", "macos-intel", "linux", "linux-arm"]
_Python = Literal["3.11", "3.12", "3.13", "3.14"]
_Form = Annotated[
    Literal["csv", "nbgrader", "summary", "certificates"],
    Parameter(help="csv; grades for nbgrader; HTML pages to print: a summary, certificates."),
]


def results(*, folder: _Folder, form: _Form = "csv") -> None:
    """Print the results of a class; its server may be running."""
    from workbench.course.classroom.exports import export
    from workbench.course.classroom.server import inline_style

    with closing(classroom.Results(_existing(folder) / "class.db")) as kept:
        print(export(kept, form, inline_style()), end="")


def board(*, folder: _Folder) -> None:
    """Open the trainer's board of a served class in the browser of this machine."""
    with closing(classroom.Results(_existing(folder) / "class.db")) as kept:
        url, key = kept.get("url", ""), kept.get("trainer_key")
    say(f"The board: {url}/board")
    webbrowser.open(f"{url}/board#{quote(key)}")


def prepare(
    *,
    folder: _Folder,
    notebooks: Path = Path("notebooks"),
    system: list[_System] | None = None,
    python: list[_Python] | None = None,
    how: Output = Output(),
) -> int:
    """Fetch what laptops without internet install from `/setup` of the class. Exit code 5 if packages are missing.

    pip downloads the workbench with the extra lab, 150 to 210 MB for each system and Python. Without options these are
    Windows, macOS and Linux, with the Python of this command; systems fetched before stay.

    Args:
        notebooks: Folder of the notebooks.
        system: Operating system of laptops.
        python: Version of Python on laptops.
    """
    from workbench.course.classroom import wheel_house

    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    rows = []
    for target, fetched, special in wheel_house.prepare(
        folder, notebooks, system or ("windows", "macos", "linux"), python or (own,)
    ):
        say(f"{target}: {fetched}")
        rows.append({"target": target, "fetched": fetched, "specific to the system": special})
    show(rows, how)
    return DONE if all(row["specific to the system"] for row in rows) else PARTLY


def add(name: Annotated[str, Parameter(help="Name of the learner.")], /, *, folder: _Folder) -> None:
    """Add a learner to a class, even while it is served, and print the link to join."""
    with closing(classroom.Results(_existing(folder) / "class.db")) as kept:
        late = kept.enroll_late(name)
        print(kept.link(late))


_Page = Literal["sheets", "answers", "product", "support", "developer"]


def print_pages(what: _Page, /, *, folder: Path | None = None, url: Url | None = None) -> None:
    """Print a page as HTML: sheets with each learner's link, the answer key, or the half-day plan of a role.

    Args:
        what: sheets (one for each learner), answers (the key), or the role of the plan.
        folder: Folder of the class, for sheets.
        url: URL under which learners reach the class; default: that of its last start.
    """
    from workbench.course.classroom.exports import answers, handout, sheets
    from workbench.course.classroom.server import inline_style

    if what not in ("sheets", "answers"):
        print(handout(what, inline_style()), end="")
        return
    if what == "answers":
        print(answers(inline_style()), end="")
        return
    if folder is None:
        raise usage_error("--folder is required, since sheets belong to a class.")
    with closing(classroom.Results(_existing(folder) / "class.db")) as kept:
        links = {learner.name: kept.link(learner, url or "") for learner in kept.learners()}
        print(sheets(links, inline_style()), end="")


def join(
    link: Annotated[str, Parameter(help="Link of your sheet.")],
    /,
    *,
    no_lab: Annotated[bool, Parameter(help="Do not open JupyterLab.")] = False,
) -> int:
    """Join a class by link and open JupyterLab; notebooks and commands then use your sandbox there."""
    from workbench.terminal import shell

    print(course.join(link))
    return DONE if no_lab else shell.lab()


def leave() -> None:
    """Leave the class that was joined by link. Your progress is not lost."""
    from workbench.course.joining import leave as leave_class

    print(leave_class())


def _existing(folder: Path) -> Path:
    if not (folder / "class.db").is_file():
        raise usage_error(f"--folder: {visible(str(folder), 200)} holds no class.")
    return folder


class_app = App(name="class", help="Serve or join a class, show its board, and export its results.")
class_app.command(serve)
class_app.command(join)
class_app.command(leave)
class_app.command(board)
class_app.command(results)
class_app.command(add)
class_app.command(prepare)
class_app.command(print_pages, name="print")


# drills


def _names(_: object) -> list[str]:
    return list(DRILLS)


_Drill = Annotated[str, Parameter(help="Name of the drill.", completer=_names)]


_Cents = Annotated[Whole, Parameter(help="Amount in cents; negative for a refund.", allow_leading_hyphen=True)]


def list_drills(*, how: Output = Output()) -> None:
    """List the drills."""
    show([{"drill": drill.name, "minutes": drill.minutes, "title": drill.title} for drill in DRILLS.values()], how)


def _run(name: str, where: Where, do: Any) -> Any:
    with session(where) as api:
        shown = do(course.drill(api, name))
    if shown is not None:
        print(str(shown))
    return shown


def start(name: _Drill, /, *, where: Where = Where()) -> None:
    """Set up a drill in the sandbox, and show the situation. An active drill is shown again."""
    _run(name, where, repr)


def check(name: _Drill, /, *, where: Where = Where()) -> int:
    """Show what is missing in a drill. Exit code 5 while it is not solved."""
    return DONE if _run(name, where, lambda run: run.check()).solved else PARTLY


def answer(
    name: _Drill,
    /,
    *,
    set_: Annotated[list[Setting], Parameter(name="--set", help="Answer, such as earned=120.")],
    where: Where = Where(),
) -> None:
    """Submit an answer to a drill's question."""
    _run(name, where, lambda run: run.answer(**read_parameters(set_)))


def book(
    name: _Drill,
    transaction: Annotated[str, Parameter(help="Id of the transaction.")],
    cents: _Cents,
    /,
    *,
    where: Where = Where(),
) -> None:
    """Add a booking to the ledger of a drill."""
    _run(name, where, lambda run: run.book(transaction, cents))


def ledger(name: _Drill, /, *, where: Where = Where(), how: Output = Output()) -> None:
    """List the bookings of a drill."""
    with session(where) as api:
        show(course.drill(api, name).ledger, how)


def debrief(name: _Drill, /, *, where: Where = Where()) -> None:
    """Show what the service received since a drill began, and a good answer."""
    _run(name, where, lambda run: run.debrief())


def stop(name: _Drill, /, *, where: Where = Where()) -> None:
    """End a drill: remove its fault rules and endpoints. Its records stay in the sandbox."""
    _run(name, where, lambda run: run.stop())


course_app = App(name="course", help="Open the course; solve incidents in the sandbox, judged by its final state.")
course_app.command("workbench.terminal.shell:lab", help="Open JupyterLab on the course, or on a folder.")
course_app.command(
    "workbench.terminal.tour:demo", name="demo", help="Walk through the main tasks on an embedded sandbox."
)
course_app.command(list_drills, name="drills")
for _command in (start, check, answer, book, ledger, debrief, stop):
    course_app.command(_command)
