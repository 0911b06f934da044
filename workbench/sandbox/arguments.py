"""What an embedded sandbox can be made with, and what is wrong with it."""

import os
import re
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, get_args

from workbench.errors import Problem, visible
from workbench.interface.assumptions import settings as settings_of
from workbench.sandbox.context import START, milliseconds

ServiceEnvironment = Literal["sandbox", "production"]
BehaviorName = Literal["documented", "observed"]
WorldSize = Literal["small", "program", "large"]


def problems(given: Mapping[str, Any]) -> list[Problem]:
    """Return what is wrong with the arguments of a sandbox."""
    found = []
    if type(given.get("seed", 1)) is not int:
        found.append(Problem("seed", "type", "must be a whole number"))
    for name, kind in (("environment", ServiceEnvironment), ("behavior", BehaviorName), ("world", WorldSize)):
        choices = get_args(kind)
        if given.get(name, choices[0]) not in choices:
            found.append(Problem(name, "enum", f"must be {' or '.join(choices)}"))
    try:
        clock_settings(given.get("clock"))
    except ValueError as error:
        found.append(Problem("clock", "format", str(error).removeprefix("clock ")))
    if not isinstance(given.get("path", ""), str | os.PathLike):
        found.append(Problem("path", "type", "must be a path"))
    settings = given.get("settings", {})
    if not isinstance(settings, Mapping):
        return [*found, Problem("settings", "type", "must be a mapping of behaviors by their id")]
    unknown = [name for name in settings if name not in settings_of("documented")]
    words = "is not a setting of the sandbox; see assumptions()"
    return [*found, *(Problem(f"settings.{visible(str(name), 60)}", "unknown", words) for name in unknown)]


def clock_settings(clock: datetime | str | None) -> dict[str, Any]:
    """Return when the time of a new sandbox starts, and how fast it runs; it stands still where `speed` is None.

    Args:
        clock: "fixed" or None, "now", a time (also as text) from which it runs, or a speed, as "x60".

    Raises:
        ValueError: It is none of these.
    """
    wall = int(time.time() * 1000)
    text = "fixed" if clock is None else clock
    if isinstance(text, str):
        if text == "fixed":
            return {"start": milliseconds(START), "speed": None}
        if speed := re.fullmatch(r"[x×](\d{1,5}(?:\.\d{1,3})?)", text):
            return {"start": wall, "speed": float(speed[1])}
        if text == "now":
            return {"start": wall, "speed": 1.0}
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else text
        if moment.utcoffset() is not None:
            return {"start": milliseconds(moment), "speed": 1.0}
    except (ValueError, AttributeError):
        pass
    raise ValueError("clock must be fixed, now, a time with its zone as 2026-01-15T15:00:00Z, or a speed as x60")
