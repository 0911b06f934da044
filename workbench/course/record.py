"""What one has done: a small file in this user's own folder, so that it outlives a kernel."""

import json
import os
from pathlib import Path
from typing import Any

from workbench.client.state import state_folder
from workbench.errors import CannotRecord

FILE = "course.json"
Kept = dict[str, dict[str, Any]]


def read() -> Kept:
    """Return what is kept of each exercise by its id: whether it is done, and how many hints were shown."""
    try:
        found = json.loads(_place().read_text(encoding="utf-8"))
    except (CannotRecord, OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: one for name, one in found.items() if isinstance(one, dict)}


def keep(exercise: str, **what: Any) -> None:
    """Keep something of an exercise; where the folder cannot be written, a learner goes on without."""
    kept = read()
    before = kept.get(exercise, {})
    kept[exercise] = {**before, **what}
    if kept[exercise] != before:
        _write(kept)


def forget(*exercises: str) -> None:
    """Forget exercises."""
    kept = read()
    _write({name: one for name, one in kept.items() if name not in exercises})


def _place() -> Path:
    return state_folder() / FILE


def _write(kept: Kept) -> None:
    try:
        place = _place()
        beside = place.with_name(f".{FILE}.{os.getpid()}")
        beside.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        beside.replace(place)
    except (CannotRecord, OSError):
        return
