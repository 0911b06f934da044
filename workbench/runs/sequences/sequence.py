"""Sequences as data: parameters, named steps, references, expectations and durations; TOML output and display."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import date, timedelta
from typing import Any, ClassVar

import attrs

from workbench.base.arguments import hide_arguments_of_methods
from workbench.base.errors import Problem, UsageError, WorkbenchError, first_problems, visible
from workbench.base.schema import masks, walk
from workbench.base.schema.fields import Privacy
from workbench.base.schema.rules import ISO_DAY, UUID, Full
from workbench.base.system import toml
from workbench.service import rendering
from workbench.service.interface.table import OPERATIONS


class InvalidSequence(WorkbenchError, ValueError):
    """A sequence cannot be run, so nothing was sent. `problems` lists all problems, with step and line."""

    def __init__(self, problems: tuple[Problem, ...], name: str = "") -> None:
        self.problems = problems
        listed = "".join(f"\n  - {problem}" for problem in first_problems(problems))
        count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
        super().__init__(f"the sequence {name + ' ' if name else ''}has {count}:{listed}\nNothing was sent.")


@attrs.frozen
class Reference:
    """A placeholder that is resolved when the sequence runs."""

    path: str
    keyword: ClassVar[str] = "ref"  # key that marks the reference in a file


class Ref(Reference):
    """Reference to the result of an earlier step: `ref("authorize.transaction_id")`."""

    @property
    def step(self) -> str:
        """Name of the step."""
        return self.path.partition(".")[0]

    @property
    def attribute(self) -> str:
        """Dotted path within the step's result; empty for the entire result."""
        return self.path.partition(".")[2]


class Param(Reference):
    """Reference to a parameter of the run: `param("amount")`."""

    keyword = "param"


class Guide(Reference):
    """Reference to an example in the sandbox's guide: `ref("guide.cards.active")` or `ref("guide.cards.active.2")`."""

    @property
    def example(self) -> str:
        """Dotted path in the guide."""
        return self.path.partition(".")[2]


param = Param
GUIDE = "guide"  # begins a reference to the guide, so no step may have this name


def ref(path: str) -> Reference:
    """Refer to the result of an earlier step, or to an example id of the sandbox's guide.

    Args:
        path: Step and dotted path in its result, such as "authorize.transaction_id"; or "guide" and a dotted path in
            `sandbox.guide()`, such as "guide.cards.active".
    """
    return (Guide if path.partition(".")[0] == GUIDE else Ref)(path)


def references(value: object) -> Iterator[Reference]:
    """Yield all references inside a value, at any depth."""
    if isinstance(value, Reference):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from references(item)


def replaced(value: Any, read: Callable[[Reference], Any]) -> Any:
    """Return a value in which `read` has replaced every reference, at any depth."""
    if isinstance(value, Reference):
        return read(value)
    if not any(True for _ in references(value)):
        return value
    if isinstance(value, Mapping):
        return {key: replaced(member, read) for key, member in value.items()}
    return [replaced(item, read) for item in value]


_DURATION = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)\s*([dhms])\s*")
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def duration(span: str | timedelta) -> timedelta:
    """Parse a duration such as `2d`, `1h 30m` or `2.5s`.

    Raises:
        ValueError: The text is not a duration.
    """
    if isinstance(span, timedelta):
        return span
    parts = _DURATION.findall(str(span))
    if not parts or _DURATION.sub("", str(span)).strip():
        raise ValueError("must be a duration such as 2d, 1h 30m or 2.5s")
    return sum((timedelta(seconds=float(number) * _SECONDS[unit]) for number, unit in parts), timedelta())


def duration_text(span: timedelta) -> str:
    """Format a duration so that `duration` can parse it."""
    seconds = span.total_seconds()
    parts = []
    for unit in "dhm":
        count, seconds = divmod(seconds, _SECONDS[unit])
        if count:
            parts.append(f"{count:.0f}{unit}")
    if seconds or not parts:
        parts.append(f"{seconds:.3f}".rstrip("0").rstrip(".") + "s")
    return " ".join(parts)


def is_duration(value: Any) -> bool:
    """Return whether a value is a timedelta, or text that `duration` parses."""
    try:
        duration(value)
    except ValueError:
        return False
    return True


PARAMETER_TYPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "text": (lambda value: isinstance(value, str), "text"),
    "whole": (lambda value: type(value) is int, "a whole number"),
    "flag": (lambda value: type(value) is bool, "true or false"),
    "id": (lambda value: isinstance(value, str) and UUID.fullmatch(value) is not None, "a UUID"),
    "date": (lambda value: type(value) is date, "a date"),
    "duration": (is_duration, "a span of time such as 2d or 1h 30m"),
}
"""Types of parameters: a check of the value, and its description."""


@attrs.frozen(kw_only=True)
class Parameter:
    """A parameter that a sequence declares, with its type and default."""

    name: str
    type: str = "text"  # one of the keys of PARAMETER_TYPES
    doc: str = ""
    default: Any = None  # a value or a Guide, or None if the parameter is required

    def problem(self, value: object) -> str | None:
        """Return why a value does not fit, or None if it does."""
        fits, description = PARAMETER_TYPES[self.type]
        return None if fits(value) else f"must be {description}"

    def read(self, text: object) -> Any:
        """Return a cell of a file as a value of the type; text that cannot be converted is returned unchanged."""
        if not isinstance(text, str):
            return text
        if self.type == "whole" and re.fullmatch(r"-?[0-9]{1,18}", text):
            return int(text)
        if self.type == "date" and ISO_DAY.fullmatch(text):
            with suppress(ValueError):
                return date.fromisoformat(text)
        return {"true": True, "false": False}.get(text, text) if self.type == "flag" else text


@hide_arguments_of_methods
@attrs.frozen(kw_only=True)
class ExpectedEvent:
    """An event expected after a step: kind, members of its body, and deadline in sandbox time."""

    kind: str = ""
    timeout: timedelta = timedelta(0)
    where: Mapping[str, Any] = attrs.field(factory=dict)


@hide_arguments_of_methods
@attrs.frozen(kw_only=True)
class Expect:
    """The expected result of a step. Omitted members are not checked."""

    result: Mapping[str, Any] = attrs.field(factory=dict)  # values in the response, by attribute path
    error: Mapping[str, Any] = attrs.field(factory=dict)  # expected status, error, and part of the message
    # `of` is the id of a record in the sandbox, and the other keys are members of this record
    state: Mapping[str, Any] = attrs.field(factory=dict)
    money: Mapping[str, int] = attrs.field(factory=dict)  # change in cents since the run started, by account
    events: tuple[ExpectedEvent, ...] = ()


NOTHING = Expect()


@attrs.frozen(kw_only=True, repr=False)
class Step:
    """One step: an operation, a control of the sandbox, `advance` or `wait`, with its arguments and expectations."""

    name: str
    do: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict)
    expect: Expect = NOTHING
    doc: str = ""
    line: int | None = attrs.field(default=None, eq=False)  # line of the step in its file

    def references(self) -> Iterator[Reference]:
        """Yield the references in the step's arguments and expectations."""
        expect = self.expect
        yield from references([self.arguments, expect.state, expect.result, *(event.where for event in expect.events)])

    def __repr__(self) -> str:
        return f"<step {self.name}: {self.do}>"


def step(
    name: str, do: str, *, expect: Expect | Mapping[str, Any] | None = None, doc: str = "", **arguments: object
) -> Step:
    """Return a step: `step("refund", "simulate_refund", transaction_id=ref("buy.transaction_id"), amount=500)`.

    Args:
        name: Name of the step, for references and reports.
        do: An operation, a control of the sandbox, `advance` or `wait`.
        expect: An `Expect`, or a mapping of its members.
        doc: One-sentence description of the step.
        arguments: Arguments of the call; values may be references.
    """
    if not isinstance(expect, Expect):
        members = {str(name): value for name, value in (expect or {}).items()}
        events = members.pop("events", ())
        if not isinstance(events, list | tuple) or not all(isinstance(x, ExpectedEvent | Mapping) for x in events):
            raise UsageError([Problem("expect", "type", "events must be a list of mappings")], of="step")
        events = (event if isinstance(event, ExpectedEvent) else ExpectedEvent(**event) for event in events)
        expect = Expect(events=tuple(events), **members)
    return Step(name=name, do=do, arguments=arguments, expect=expect, doc=doc)


_MAX_SHOWN = 200  # maximum length of a value, in characters


@attrs.frozen(kw_only=True, repr=False)
class Sequence:
    """A script of steps for a card, an application, a dispute or a deposit. `wb.sequences.run` runs it."""

    name: str
    steps: tuple[Step, ...]
    doc: str = ""
    parameters: tuple[Parameter, ...] = ()
    profile: str | None = None  # behavior that the sandbox needs, if an expectation depends on it
    team: str | None = None  # kind of team that the sequence needs: "individual" or "company"

    def __getitem__(self, name: str) -> Step:
        return {step.name: step for step in reversed(self.steps)}[name]

    def to_toml(self) -> str:
        """Return the sequence as TOML text that parses to an equal sequence."""
        return dumps(self)

    def __repr__(self) -> str:
        return f"<sequence {self.name}: {len(self.steps)} step{'s' if len(self.steps) != 1 else ''}>"

    def _repr_html_(self) -> str:
        about = {"sequence": self.name, "about": self.doc or "–", "steps": len(self.steps)}
        parts = ((step, list(_arguments(step)) or "–", list(_expectations(step)) or "–") for step in self.steps)
        rows = [
            {"step": step.name, "do": step.do, "with": arguments, "expected": due} for step, arguments, due in parts
        ]
        return rendering.html(about) + rendering.html_table(rows, limit=max(len(rows), 1))


def _arguments(step: Step) -> Iterator[str]:
    private = _private(OPERATIONS[step.do].request if step.do in OPERATIONS else None)
    for name, value in step.arguments.items():
        yield f"{name} = {_shown(value, name in private)}"


def _expectations(step: Step) -> Iterator[str]:
    private = _private(OPERATIONS[step.do].answer if step.do in OPERATIONS else None)
    for part in ("result", "error", "state", "money"):
        values: Mapping[str, Any] = getattr(step.expect, part)
        for path, value in values.items():
            hidden = part in {"result", "state"} and path.partition(".")[0] in private
            yield f"{part}.{path} = {_shown(value, hidden)}"
    for event in step.expect.events:
        yield f"event {event.kind}"


def _private(record: Any) -> frozenset[str]:
    """Return the members of a record that are private, or contain a private member."""
    if not walk.is_record(record):
        return frozenset()
    leaves = walk.leaves(record)
    return frozenset(path.partition(".")[0] for path, leaf in leaves if leaf.about.privacy is not Privacy.OPEN)


def _shown(value: object, hidden: bool) -> str:
    if isinstance(value, Reference):
        return f"{value.keyword} {value.path}"
    return masks.DOTS if hidden or isinstance(value, Mapping | list | tuple) else visible(str(value), _MAX_SHOWN)


def dumps(sequence: Sequence) -> str:
    """Return a sequence as TOML text that parses to an equal sequence."""
    lines = _members({"name": sequence.name, "doc": sequence.doc, "profile": sequence.profile, "team": sequence.team})
    for parameter in sequence.parameters:
        lines += ["", f"[params.{toml.key(parameter.name)}]"]
        lines += _members({"type": parameter.type, "doc": parameter.doc, "default": parameter.default})
    for step in sequence.steps:
        lines += ["", "[[steps]]", *_members({"name": step.name, "do": step.do, "doc": step.doc})]
        if step.arguments:
            lines += ["[steps.with]", *(f"{toml.key(key)} = {_toml(value)}" for key, value in step.arguments.items())]
        if step.expect != NOTHING:
            events = [_event(event) for event in step.expect.events]
            members = {key: getattr(step.expect, key) for key in ("result", "error", "state", "money")}
            lines += ["[steps.expect]", *_members({**members, "events": events})]
    return "\n".join(lines) + "\n"


def _members(members: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in members.items() if value not in (None, "", {}, [])]


def _event(event: ExpectedEvent) -> Any:
    members = {"kind": event.kind, "timeout": event.timeout, "where": event.where}
    return {name: value for name, value in members.items() if value} if event.timeout or event.where else event.kind


def _toml(value: object) -> str:
    return toml.dumps(value, _as_read)


def _as_read(value: object) -> Any:
    """Convert a value without a TOML type to the value that a sequence file has in its place."""
    match value:
        case Full():
            return "FULL"
        case Reference(path=path):
            return {value.keyword: path}
        case timedelta():
            return duration_text(value)
    raise TypeError(f"{type(value).__name__} cannot be written to a sequence file")
