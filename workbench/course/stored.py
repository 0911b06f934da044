"""Progress of the learner in files of the user's state folder: facts by id of a task or quiz."""

import json
from collections.abc import Mapping
from typing import Any

from workbench.base.errors import CannotRecord
from workbench.base.system.files import write_file
from workbench.client.calls.keys import state_folder

FILE = "course.json"
QUIZZES = "quizzes.json"
Stored = dict[str, dict[str, Any]]


def read_stored(name: str) -> Stored:
    """Return the content of a file in the user's state folder; empty if it is missing or damaged."""
    try:
        stored = json.loads((state_folder() / name).read_text(encoding="utf-8"))
    except (CannotRecord, OSError, ValueError, RecursionError):
        return {}
    items = stored.items() if isinstance(stored, dict) else ()
    return {id_: facts for id_, facts in items if isinstance(facts, dict)}


def write_stored(name: str, stored: Mapping[str, Mapping[str, Any]]) -> None:
    """Replace a file in the user's state folder. If the folder is not writable, the course works without it."""
    try:
        write_file(state_folder() / name, f"{json.dumps(stored, indent=1, sort_keys=True)}\n".encode())
    except (CannotRecord, OSError):
        return


def update(name: str, id_: str, /, **values: object) -> None:
    """Add facts about a task or a quiz to a file."""
    stored = read_stored(name)
    write_stored(name, {**stored, id_: {**stored.get(id_, {}), **values}})
