"""The learner's attempts and results in a file of the user's state folder, by name of the task."""

import json
from pathlib import Path
from typing import Any

import attrs

from workbench.base.errors import CannotRecord
from workbench.base.system.files import write_file
from workbench.client.calls.keys import state_folder, state_path
from workbench.course.desk import TaskResult

FILE = "course.json"
_unsaved: dict[Path, dict[str, dict[str, Any]]] = {}
"""What could not be written, for this process, by the state folder."""


def read_stored() -> dict[str, dict[str, Any]]:
    """Return what is stored; empty if the file is missing or damaged."""
    path = state_path() / FILE
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        stored = _unsaved.get(path)
    items = stored.items() if isinstance(stored, dict) else ()
    return {name: facts for name, facts in items if isinstance(facts, dict)}


def store(name: str, **values: object) -> None:
    """Add facts about a task. If the folder is not writable, they last as long as the process."""
    stored = read_stored()
    write({**stored, name: {**stored.get(name, {}), **values}})


def write(stored: dict[str, dict[str, Any]]) -> None:
    """Replace what is stored."""
    try:
        write_file(state_folder() / FILE, f"{json.dumps(stored, indent=1, sort_keys=True)}\n".encode())
    except (CannotRecord, OSError):
        _unsaved[state_path() / FILE] = stored


def stored_result(name: str) -> TaskResult | None:
    """Return the result of a task; None if nothing readable is stored."""
    return TaskResult.read(read_stored().get(name, {}).get("result"))


def store_result(result: TaskResult) -> None:
    """Store the result of a task."""
    store(result.task, result=attrs.asdict(result))
