"""What was expected and what came: each miss says which, what, and what instead."""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from workbench.errors import ApiError, WorkbenchError, visible
from workbench.interface import masks
from workbench.sequences.steps import EventWanted, Expect


@attrs.frozen
class Mismatch:
    """One expectation that was not met."""

    what: str
    expected: str
    came: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, came {self.came}"


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return visible(str(value), 120)
    return visible(repr(value), 120)


def path_of(value: Any, path: str) -> Any:
    """Return a member of a record or mapping by its dotted attribute or wire path; None where there is none."""
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list | tuple) and part.isdigit():
            value = value[int(part)] if int(part) < len(value) else None
        else:
            value = getattr(value, part, None)
    return value


def missed_result(
    expect: Expect, end: str, answer: Any, error: WorkbenchError | None, result: Mapping[str, Any]
) -> list[Mismatch]:
    """Return what an answer or a refusal misses."""
    if not expect.refusal:
        if end != "done":
            return [Mismatch("end", "done", f"{end}: {error}")]
        return [
            Mismatch(f"result.{path}", _shown(wanted), _shown(came))
            for path, wanted in result.items()
            if (came := path_of(answer, path)) != wanted
        ]
    if not isinstance(error, ApiError):
        return [Mismatch("end", "a refusal", end if error is None else f"{end}: {error}")]
    missing = []
    for name, wanted in expect.error.items():
        came = getattr(error, name)
        fits = wanted in (came or "") if name == "message" else came == wanted
        if not fits:
            missing.append(Mismatch(f"error.{name}", _shown(wanted), _shown(came)))
    return missing


def fits(event: Mapping[str, Any], wanted: EventWanted) -> bool:
    """Whether an event, as wire members, is of the kind and carries the members wanted (wire paths in its body)."""
    if f"{event.get('resource')}.{event.get('action')}" != wanted.kind:
        return False
    return all(path_of(event.get("body"), path) == value for path, value in wanted.where.items())


def missed_events(wanted: Iterable[EventWanted], events: Iterable[Mapping[str, Any]]) -> list[Mismatch]:
    """Return the events that did not come; each event serves one expectation."""
    left = list(events)
    missing = []
    for one in wanted:
        for i, event in enumerate(left):
            if fits(event, one):
                del left[i]
                break
        else:
            came = ", ".join(f"{event.get('resource')}.{event.get('action')}" for event in left[:5]) or "no event"
            where = " with " + ", ".join(one.where) if one.where else ""
            missing.append(Mismatch("event", f"{one.kind}{where}", visible(came, 200)))
    return missing


def missed_state(record: Any, wanted: Mapping[str, Any], state: Mapping[str, Any] | None) -> list[Mismatch]:
    """Return the members of a record that differ, with what is private left masked."""
    if state is None:
        return [
            Mismatch("state", f"the record {_shown(record)}", "nothing of that id, or a service that does not show it")
        ]
    return [
        Mismatch(
            f"state.{path}", _shown(value), _shown(came) if isinstance(came, str | int | bool | None) else masks.DOTS
        )
        for path, value in wanted.items()
        if (came := path_of(state, path)) != value
    ]


def missed_money(wanted: Mapping[str, int], total: Mapping[str, int]) -> list[Mismatch]:
    """Return the accounts that moved otherwise, in cents since the run began."""
    return [
        Mismatch(f"money.{name}", f"{amount:+} cents", f"{total[name]:+} cents")
        for name, amount in wanted.items()
        if total[name] != amount
    ]
