"""A sequence, its text as a TOML file, and how it looks in a notebook."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any

import attrs

from workbench import rendering
from workbench.errors import visible
from workbench.interface import masks, walk
from workbench.interface.fields import Privacy
from workbench.interface.rules import Full
from workbench.interface.table import OPERATIONS
from workbench.sequences.steps import NOTHING, ExpectedEvent, Guide, Param, Parameter, Ref, Step, duration_text

_MAX_SHOWN = 200  # characters of a value


@attrs.frozen(kw_only=True, repr=False)
class Sequence:
    """A script of steps over a card, an application, a dispute or a deposit. `wb.sequences.run(sequence, api)` runs it."""

    name: str
    steps: tuple[Step, ...]
    doc: str = ""
    parameters: tuple[Parameter, ...] = ()
    profile: str | None = None  # the behavior of the sandbox it is written for, where its expectations depend on it
    team: str | None = None  # "individual" or "company", where it needs a tenant with such teams

    def __getitem__(self, name: str) -> Step:
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(name)

    def to_toml(self) -> str:
        """Return the text of a TOML file that reads back as the same sequence."""
        return dumps(self)

    def __repr__(self) -> str:
        return f"<sequence {self.name}: {len(self.steps)} step{'s' if len(self.steps) != 1 else ''}>"

    def _repr_html_(self) -> str:
        about = {"sequence": self.name, "about": self.doc or "–", "steps": len(self.steps)}
        rows = [
            {
                "step": step.name,
                "do": step.do,
                "with": list(_arguments(step)) or "–",
                "expected": list(_expectations(step)) or "–",
            }
            for step in self.steps
        ]
        return rendering.html(about) + rendering.html_table(rows, limit=max(len(rows), 1))


def _arguments(step: Step) -> Iterator[str]:
    private = _private(OPERATIONS[step.do].request if step.do in OPERATIONS else None)
    for name, value in step.arguments.items():
        yield f"{name} = {_shown(value, name in private)}"


def _expectations(step: Step) -> Iterator[str]:
    private = _private(OPERATIONS[step.do].answer if step.do in OPERATIONS else None)
    for part in ("result", "error", "state", "money"):
        given: Mapping[str, Any] = getattr(step.expect, part)
        for path, value in given.items():
            hidden = part in {"result", "state"} and path.partition(".")[0] in private
            yield f"{part}.{path} = {_shown(value, hidden)}"
    for event in step.expect.events:
        yield f"event {event.kind}"


def _private(record: Any) -> frozenset[str]:
    """Return the members of a record that are private, or hold something private."""
    if not walk.is_record(record):
        return frozenset()
    leaves = walk.leaves(record)
    return frozenset(path.partition(".")[0] for path, one in leaves if one.about.privacy is not Privacy.OPEN)


def _shown(value: Any, hidden: bool) -> str:
    match value:
        case Ref(path=name) | Param(name=name) | Guide(path=name):
            return f"{type(value).__name__.lower()} {name}"
    return masks.DOTS if hidden or isinstance(value, Mapping | list | tuple) else visible(str(value), _MAX_SHOWN)


# TOML


def dumps(sequence: Sequence) -> str:
    """Write a sequence as the text of a TOML file that reads back as the same sequence."""
    lines = _members({"name": sequence.name, "doc": sequence.doc, "profile": sequence.profile, "team": sequence.team})
    for one in sequence.parameters:
        lines += ["", f"[params.{_key(one.name)}]"]
        lines += _members({"type": one.type, "doc": one.doc, "default": one.default})
    for step in sequence.steps:
        lines += ["", "[[steps]]", *_members({"name": step.name, "do": step.do, "doc": step.doc})]
        if step.arguments:
            lines += ["[steps.with]", *(f"{_key(key)} = {_toml(value)}" for key, value in step.arguments.items())]
        if step.expect != NOTHING:
            events = [_event(event) for event in step.expect.events]
            members = {key: getattr(step.expect, key) for key in ("result", "error", "state", "money")}
            lines += ["[steps.expect]", *_members({**members, "events": events})]
    return "\n".join(lines) + "\n"


def _members(members: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in members.items() if value not in (None, "", {}, [])]


def _event(event: ExpectedEvent) -> Any:
    members = {"kind": event.kind, "within": event.within, "where": event.where}
    return {name: value for name, value in members.items() if value} if event.within or event.where else event.kind


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    """Return text as TOML has it, which is as JSON has it but for DEL."""
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml(value: Any) -> str:
    match value:
        case Full():
            return '"FULL"'
        case Ref(path=name) | Param(name=name) | Guide(path=name):
            return f"{{ {type(value).__name__.lower()} = {_quoted(name)} }}"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return _quoted(value)
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return _quoted(duration_text(value))
        case Mapping():
            return "{ " + ", ".join(f"{_key(str(key))} = {_toml(one)}" for key, one in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(_toml(one) for one in value) + "]"
    raise TypeError(f"{type(value).__name__} has no form in a sequence file")
