"""Behavior of a sandbox in cases that the interface document leaves open. It is a name, a TOML file, or a mapping.

behavior = "observed"       # base behavior; "documented" if omitted
settle_route = false        # single settings, by the id of their assumption
rate_limit = 100
"""

import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

import attrs

from workbench.base.errors import Problem, UsageError, not_allowed, unknown_name
from workbench.base.system import toml
from workbench.sandbox.store import Members, Record
from workbench.service.interface.assumptions import ANY, BEHAVIORS, MAX_SETTING, STATUS, settings
from workbench.service.interface.assumptions import Behavior as BehaviorRow
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import OPERATIONS

BehaviorName = Literal["documented", "observed"]
Behavior = BehaviorName | str | os.PathLike[str] | Members
"""Accepted values of `behavior=`: a behavior name, the path of a TOML file, or a mapping of settings."""


_NAMES = frozenset(OPERATIONS) | frozenset(EVENT_KINDS)
_MAX_UNKNOWN = 20  # maximum number of unknown names to report


def _by_name(row: BehaviorRow) -> bool:
    """Return whether the values of a setting are mappings by the name of an operation or event."""
    return any(isinstance(choice, Mapping) and not _NAMES.isdisjoint(choice) for choice in row.others)


def read_behavior(behavior: Behavior | None) -> tuple[BehaviorName | None, Record]:
    """Return the name of the base behavior (None if omitted) and the settings that override it.

    Raises:
        UsageError: The value is neither a behavior nor a file, or a setting is unknown. The message lists all problems.
    """
    if behavior is None or behavior in get_args(BehaviorName):
        return behavior, {}  # type: ignore[return-value]
    if isinstance(behavior, Mapping):
        table = dict(behavior)
    elif str(behavior).endswith(".toml"):
        table = toml.read(Path(str(behavior)), "behavior")
    else:
        allowed = (*get_args(BehaviorName), "the path of a .toml file", "a mapping of settings")
        raise UsageError([not_allowed("behavior", behavior, allowed)])
    known = settings("documented")
    unknown = (name for name in table if name not in (*known, "behavior"))
    problems = [unknown_name(name, known, "a setting of the sandbox") for name in islice(unknown, _MAX_UNKNOWN)]
    problems = [attrs.evolve(problem, path=f"behavior.{problem.path}") for problem in problems]
    name = table.pop("behavior", None)
    if name not in (None, *get_args(BehaviorName)):
        problems.append(not_allowed("behavior.behavior", name, get_args(BehaviorName)))
    set_values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    for key, value in set_values.items():
        row = BEHAVIORS.get(key)
        if row is not None and row.settable and not row.accepts(value):
            choices = [*dict.fromkeys(repr(choice) for choice in (row.documented, row.observed, *row.others))]
            limits = f" from 0 to {MAX_SETTING:,}" if isinstance(value, (int, float)) else ""
            text = f"must be one of {', '.join(choices)}".replace(repr(ANY), f"or another value of this type{limits}")
            problems.append(Problem(f"behavior.{key}", "value", text.replace(repr(STATUS), "a status such as '422'")))
        elif row is not None and isinstance(value, Mapping) and _by_name(row):
            problems += [
                attrs.evolve(unknown_name(name, sorted(_NAMES), "an operation or event"), path=f"behavior.{key}.{name}")
                for name in value
                if str(name).partition("/")[0] not in _NAMES
            ]
    if problems:
        raise UsageError(problems)
    return name, set_values
