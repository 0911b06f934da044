"""Whether an event fits what is asked for."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from workbench.interface.events import Event

Where = Callable[[Event], Any] | Mapping[str, Any]
"""A function of the event, or values by dotted attribute paths of the event or of its body."""

_NOTHING = object()


def fits(event: Event, kind: str | None, where: Where | None) -> bool:
    """Whether an event is of a kind and meets a condition."""
    if kind is not None and not fnmatchcase(event.kind, kind):
        return False
    if where is None:
        return True
    if not isinstance(where, Mapping):
        return bool(where(event))
    return all(_has(event, path, wanted) or _has(event.body, path, wanted) for path, wanted in where.items())


def _has(start: Any, path: str, wanted: Any) -> bool:
    value = start
    for name in path.split("."):
        value = value.get(name, _NOTHING) if isinstance(value, Mapping) else getattr(value, name, _NOTHING)
        if value is _NOTHING:
            return False
    return bool(wanted(value) if callable(wanted) else value == wanted)


def missed(events: list[Event], kind: str | None, where: Where | None) -> str:
    """Say what came instead: how many of the kind, and which of its conditions none of them met. Never a value."""
    of_kind = [event for event in events if fits(event, kind, None)]
    if not of_kind:
        kinds = sorted({event.kind for event in events})
        return f"Kept are {len(events)} events" + (f" ({', '.join(kinds[:8])})." if kinds else ".")
    words = f"{len(of_kind)} of that kind are kept, and none meets the condition"
    if isinstance(where, Mapping):
        unmet = [path for path, wanted in where.items() if not any(fits(one, kind, {path: wanted}) for one in of_kind)]
        if unmet:
            words += f"; no one has the value asked for {', '.join(unmet)}"
    return words + "."
