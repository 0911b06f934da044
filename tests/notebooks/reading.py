"""The notebooks of the course: their cells as stored, and their outputs as executed in a kernel of their own."""

import json
import os
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(HERE.glob("*.ipynb"))
IDS = [path.stem for path in NOTEBOOKS]


def cells(path: Path, kind: str) -> list[str]:
    """Give the sources of the cells of a kind, "code" or "markdown"."""
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == kind]


@attrs.frozen(kw_only=True)
class Executed:
    """What came of running all cells: the outputs as JSON text without the ids of widgets, and the seconds of each cell."""

    outputs: str
    errors: tuple[str, ...]
    seconds: tuple[float, ...]
    widgets: Any


def execute(path: Path, folder: Path) -> Executed:
    """Run all cells of a notebook in a clean kernel, in a folder of its own."""
    notebook = nbformat.read(path, as_version=4)
    own = folder / "here"
    own.mkdir(parents=True)
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("WORKBENCH_", "PYTEST_"))},
        "WORKBENCH_STATE": str(folder / "state"),
        "IPYTHONDIR": str(folder / "ipython"),
        "MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", str(folder.parent / "matplotlib")),
    }
    client = NotebookClient(
        notebook, timeout=60, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": str(own)}}
    )
    client.execute(env=environ)
    ran = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in ran for output in cell.outputs]
    text = json.dumps(outputs, ensure_ascii=False, sort_keys=True)
    return Executed(
        outputs=re.sub(r'"model_id": "[0-9a-f]+"|wb-still-[0-9a-f]+', "…", text),
        errors=tuple(f"{one.ename}: {one.evalue}" for one in outputs if one.output_type == "error"),
        seconds=tuple(_seconds(cell.metadata["execution"]) for cell in ran if cell.source.strip()),
        widgets=notebook.metadata.get("widgets"),
    )


def _seconds(times: Any) -> float:
    began, ended = times["iopub.execute_input"], times["shell.execute_reply"]
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
