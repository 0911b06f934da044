"""Actions of the trainer, from `actions.toml`. The board builds its inputs from them, and the server runs them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from workbench.base.errors import UsageError
from workbench.base.system import toml
from workbench.course.attempt import run
from workbench.course.evidence import Record, operator
from workbench.course.task_files import EXERCISES
from workbench.sandbox import Sandbox
from workbench.sandbox.faults import OF_ANSWERS, OF_DELIVERIES
from workbench.service.interface.table import OPERATIONS

MAX_NOTE = 2_000
_FILE = toml.load(Path(__file__).with_name("actions.toml"))
EVENTS: Mapping[str, Sequence[Record]] = _FILE["event"]
"""Steps of each event by its label."""
LESSONS = tuple(dict.fromkeys(exercise.notebook for exercise in EXERCISES.values()))
ACTIONS: Mapping[str, Record] = _FILE["action"]
"""Actions of the board by name; `act` accepts the sandbox's other controls as well."""
CHOICES: Mapping[str, Sequence[str]] = {
    "events": tuple(EVENTS),
    "lessons": LESSONS,
    "faults": tuple(dict.fromkeys((*OF_ANSWERS, *OF_DELIVERIES))),
    "operations": ("", *OPERATIONS),
}
"""Choices for the fields of actions."""


def push(sandbox: Sandbox, event: str) -> None:
    """Cause an event in a sandbox.

    Raises:
        UsageError: The sandbox has no record for the event.
    """
    names = dict(sandbox.guide())
    with operator(sandbox) as client:
        for step in EVENTS[event]:
            try:
                run(client, sandbox, names, step)
            except LookupError as error:
                raise UsageError(f"this sandbox no longer has a record for {error}", of="class") from None
