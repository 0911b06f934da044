"""Read the cells of the notebooks, and run notebooks in a new kernel."""

import json
import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from workbench.course.task_files import QUIZZES

HERE = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(HERE.glob("[0-9]*.ipynb"))
COURSE = [path for path in NOTEBOOKS if path.name < "2"]
"""The notebooks of the course. Notebooks from 21 on are reports."""
WIDGET = "application/vnd.jupyter.widget-view+json"
IDS = [path.stem for path in NOTEBOOKS]


def cells(path: Path, kind: str) -> list[str]:
    """Return the sources of the cells of a kind, "code" or "markdown"."""
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == kind]


OFFLINE = """
import os, sys

def only_here(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    else:
        return
    if host not in (None, "", "127.0.0.1", "localhost", "::1", b"127.0.0.1"):
        with open(os.environ["STRAYS"], "a") as file:
            file.write(f"{event} {host}\\n")
        raise OSError("no network in this test")

sys.addaudithook(only_here)
"""
"""Code that every Python process of a notebook runs first. It refuses and records connections to other machines."""


@attrs.frozen(kw_only=True)
class Executed:
    """The result of running all cells: the outputs as JSON text without ids of widgets, errors, and the seconds of each cell."""

    outputs: str
    errors: tuple[str, ...]
    seconds: tuple[float, ...]
    widgets: Any
    strays: str  # attempts to connect to another machine
    kept: str  # text of the files in the state folder
    history: bytes  # content of IPython's history
    bare: tuple[str, ...]  # source of each cell that displays a widget without static HTML
    sections: tuple[tuple[str, str], ...]  # for each heading, its text, and its code with outputs


def execute(path: Path, folder: Path, **variables: str) -> Executed:
    """Run all cells of a notebook in a new kernel and a new folder, with additional environment variables."""
    import nbformat  # the import takes a second, and only this function needs it
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    own, state = folder / "here", folder / "state"
    own.mkdir(parents=True)
    offline(folder)
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("WORKBENCH_", "PYTEST_"))},
        "WORKBENCH_STATE": str(state),
        "PYTHONPATH": str(folder),
        "STRAYS": str(folder / "strays"),
        "IPYTHONDIR": str(folder / "ipython"),
        "MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", str(folder.parent / "matplotlib")),
        **variables,
    }
    client = NotebookClient(
        notebook,
        timeout=60,
        kernel_name="python3",
        allow_errors=True,
        coalesce_streams=True,  # the kernel splits its output differently under load
        resources={"metadata": {"path": str(own)}},
    )
    client.execute(env=environ)
    ran = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in ran for output in cell.outputs]
    text = json.dumps(outputs, ensure_ascii=False, sort_keys=True)
    return Executed(
        outputs=re.sub(r'"model_id": "[0-9a-f]+"|wb-static-[0-9a-f]+', "…", text),
        errors=tuple(f"{one.ename}: {one.evalue}" for one in outputs if one.output_type == "error"),
        seconds=tuple(_seconds(cell.metadata["execution"]) for cell in ran if cell.source.strip()),
        widgets=notebook.metadata.get("widgets"),
        strays=(folder / "strays").read_text(),
        kept="".join(one.read_bytes().decode(errors="replace") for one in state.rglob("*") if one.is_file()),
        history=b"".join(one.read_bytes() for one in (folder / "ipython").rglob("history.sqlite*")),
        bare=tuple(cell.source for cell in ran if _shows(cell, WIDGET) and not _shows(cell, "text/html")),
        sections=tuple(_sections(notebook.cells)),
    )


def offline(folder: Path) -> None:
    """Write a `sitecustomize.py` that refuses connections to other machines, for Python processes with this folder on their path."""
    (folder / "sitecustomize.py").write_text(OFFLINE)
    (folder / "strays").touch()


def _shows(cell: Any, kind: str) -> bool:
    """Return whether an output of a cell has data of a MIME type."""
    return any(kind in one.get("data", {}) for one in cell.outputs)


def _sections(all_cells: list[Any]) -> Iterator[tuple[str, str]]:
    text = code = ""
    for cell in all_cells:
        if cell.cell_type == "markdown":
            if cell.source.startswith("#"):
                yield text, code
                text = code = ""
            text += f"{cell.source}\n"
        else:
            code += f"{cell.source}\n{json.dumps(cell.outputs)}\n"
    yield text, code


_NUMBER = re.compile(r"(?<![\w.,/#:-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w/:-])")
_NO_CLAIM = re.compile(r"\*Time\*.*|\]\([^)]*\)|[Nn]otebooks? \d+( (and|to) \d+)?|!\[[^\]]*")


def numbers_not_shown(text: str, code: str) -> list[str]:
    """Return the numbers in a text that neither the code nor its outputs contain, unchanged or converted to cents."""
    shown = re.sub(r"(?<=\d)[,_](?=\d)", "", code)
    missing = []
    for number in _NUMBER.findall(_NO_CLAIM.sub("", text)):
        plain = number.replace(",", "")
        forms = {plain, str(round(float(plain) * 100)) if "." in plain else plain}
        if not any(re.search(rf"(?<!\d){re.escape(form)}(?!\d)", shown) for form in forms):
            missing.append(number)
    return missing


def _seconds(times: Any) -> float:
    began, ended = times["iopub.execute_input"], times["shell.execute_reply"]
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()


def minutes(path: Path) -> int:
    """Return the estimated minutes for a notebook of the course, rounded to five.

    The estimate has one minute for 130 words, 0.6 for each code cell with its output, 1.5 for a quiz, and 6 for an exercise.
    """
    words = sum(len(re.sub(r"\(\S*\)", "", text).split()) for text in cells(path, "markdown"))
    code = cells(path, "code")
    asked = [name for source in code for name in re.findall(r'wb\.course\.task\("([a-z0-9-]+)"', source)]
    quizzes = sum(name in QUIZZES for name in asked)
    exercises = len(asked) - quizzes
    shown = len(code) - quizzes - 3 * exercises
    return 5 * round((words / 130 + 0.6 * shown + 1.5 * quizzes + 6 * exercises) / 5)
