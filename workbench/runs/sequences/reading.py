"""Read sequences from TOML files and validate them before the first call; problems name step and line.

Files are data only: never evaluated, expanded or resolved against the environment.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_origin

import attrs

from workbench.base.arguments import hide_arguments
from workbench.base.errors import Problem, UsageError, not_allowed, visible
from workbench.base.schema import checks, walk
from workbench.base.schema.rules import FULL
from workbench.base.system import toml
from workbench.runs.sequences.ledger import ACCOUNTS
from workbench.runs.sequences.sequence import (
    GUIDE,
    PARAMETER_TYPES,
    Expect,
    ExpectedEvent,
    Guide,
    InvalidSequence,
    Param,
    Parameter,
    Ref,
    Reference,
    Sequence,
    Step,
    duration,
    is_duration,
    ref,
    references,
)
from workbench.sandbox.controls import CONTROLS
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import OPERATIONS, Operation, Operations

T = TypeVar("T")
MAX_STEPS = 10_000
MAX_DEPTH = 20
_REFERENCES: Mapping[str, Callable[[str], Reference]] = {"ref": ref, "param": Param}
_NAMES = {"arguments": "with"}  # names in files by attribute name, where the two differ
_TABLES = {
    Parameter: "a table with type, doc and default",
    ExpectedEvent: "the kind of an event, or a table with kind, timeout and where",
}


@hide_arguments
def read_toml(path: str | Path) -> Sequence:
    """Read a sequence from a TOML file.

    Raises:
        InvalidSequence: The file is too large, is not TOML, or has invalid members. The error lists all problems with
            their step and line.
    """
    file = Path(path)
    try:
        text = toml.read_text(file)
    except toml.NotToml as error:
        raise _invalid("toml", f"the file {error}", file.name) from None
    return from_toml(text, name=file.stem)


@hide_arguments
def from_toml(text: str, *, name: str = "") -> Sequence:
    """Read a sequence from the text of a TOML file.

    Raises:
        InvalidSequence: See `read_toml`.
    """
    try:
        raw = toml.loads(text)
    except toml.NotToml as error:
        raise _invalid("toml", str(error), name) from None
    reader = _Reader(text)
    sequence = reader.sequence(raw, name)
    if reader.problems:
        raise InvalidSequence(tuple(reader.problems), visible(sequence.name, 80))
    return sequence


def _invalid(rule: str, message: str, name: str) -> InvalidSequence:
    return InvalidSequence((Problem("", rule, message),), name)


_Path = tuple[str | int, ...]
_TEXTS = re.compile(r"(\"\"\"|''').*?\1", re.DOTALL)
_STEP = re.compile(r"^\s*\[\[\s*steps\s*\]\]", re.MULTILINE)


class _Reader:
    """Parser that converts a file's tables to attrs classes, and collects all problems."""

    def __init__(self, text: str) -> None:
        self.problems: list[Problem] = []
        bare = _TEXTS.sub(lambda match: "\n" * match[0].count("\n"), text)
        self._lines: list[int] = []
        end, line = 0, 1
        for match in _STEP.finditer(bare):
            line, end = line + bare.count("\n", end, match.end()), match.end()
            self._lines.append(line)
        self._line: int | None = None  # line of the current step, which the TOML parser does not report

    def sequence(self, raw: Mapping[str, Any], name: str) -> Sequence:
        params = self._typed(dict, raw.get("params", {}), ("params",), "a table of parameters")
        steps = self._typed(list, raw.get("steps", []), ("steps",), "[[steps]] tables")
        if len(steps) > MAX_STEPS:
            self._add(("steps",), "maximum", f"must be at most {MAX_STEPS:,}, not {len(steps):,}")
            steps = []
        parameters = [self._record(Parameter, param, ("params", key), name=key) for key, param in params.items()]
        numbered = [self._step(index, step) for index, step in enumerate(steps)]
        self._line = None
        rest = {"name": name or "unnamed"} | {
            key: value for key, value in raw.items() if key not in ("params", "steps")
        }
        read: Sequence = self._record(Sequence, rest, (), parameters=tuple(parameters), steps=tuple(numbered))
        return read

    def _step(self, index: int, raw: object) -> Step:
        self._line = self._lines[index] if index < len(self._lines) else None
        raw = {"name": f"step {index + 1}", "do": ""} | self._typed(dict, raw, ("steps",), "[[steps]] tables")
        step: Step = self._record(Step, raw, (str(raw["name"]),), line=self._line)
        if not step.do:
            self._add((step.name, "do"), "required", "must name an operation, a control, advance or wait")
        return step

    def _record(self, cls: type[Any], raw: object, path: _Path, **given: object) -> Any:
        """Parse a table as an attrs class; `given` holds members that are not in the table."""
        fields = {_NAMES.get(field.name, field.name): field for field in attrs.fields(cls) if field.name not in given}
        for key, value in self._typed(dict, raw, path, _TABLES.get(cls, "a table")).items():
            if key in fields:
                given[fields[key].name] = self._member(fields[key].type, value, (*path, key))
            else:
                self._add((*path, key), "unknown", f"is not known here; allowed: {', '.join(fields)}")
        return cls(**given)

    def _member(self, kind: object, raw: object, path: _Path) -> Any:
        """Parse a member by the type of its attribute."""
        if kind is Any:
            return self._value(raw, path)
        if kind is Expect:
            return self._record(Expect, raw, path)
        if kind == tuple[ExpectedEvent, ...]:
            listed = self._typed(list, raw, path, "a list")
            tables = ({"kind": item} if isinstance(item, str) else item for item in listed)
            return tuple(self._record(ExpectedEvent, table, (*path, i)) for i, table in enumerate(tables))
        if get_origin(kind) is Mapping:
            return {
                key: self._value(value, (*path, key)) for key, value in self._typed(dict, raw, path, "a table").items()
            }
        text = self._typed(str, raw, path, "text")
        if kind is not timedelta:
            return text
        try:
            return duration(text)
        except ValueError as error:
            self._add(path, "duration", str(error))
            return timedelta(0)

    def _value(self, raw: object, path: _Path) -> Any:
        """Parse a value that may be or contain a reference."""
        if raw == "FULL":
            return FULL
        if len(path) > MAX_DEPTH:
            self._add(path[:3], "depth", f"is nested more than {MAX_DEPTH} levels deep")
            return None
        if isinstance(raw, dict):
            key = next(iter(raw), "")
            if len(raw) != 1 or key not in _REFERENCES:
                return {name: self._value(member, (*path, name)) for name, member in raw.items()}
            if isinstance(raw[key], str) and raw[key]:
                return _REFERENCES[key](raw[key])
            self._add(path, "reference", f"{key} must be followed by a path as text")
        elif isinstance(raw, list):
            return [self._value(item, (*path, i)) for i, item in enumerate(raw)]
        elif isinstance(raw, float):
            self._add(path, "type", "is a float; amounts are whole numbers, other numbers are text")
        else:
            return raw
        return None

    def _typed(self, kind: type[T], raw: object, path: _Path, description: str) -> T:
        if isinstance(raw, kind):
            return raw
        self._add(path, "type", f"must be {description}")
        return kind()

    def _add(self, path: _Path, rule: str, message: str) -> None:
        names = [part for part in path[:-1] if part != "with"] + [*path[-1:]]
        path_text = "".join(f"[{name}]" if isinstance(name, int) else f".{visible(name, 60)}" for name in names)
        line = f" (line {self._line})" if self._line else ""
        self.problems.append(Problem(path_text.removeprefix(".") + line, rule, message))


class Catalogue(Mapping[str, Sequence]):
    """Sequences by name, from the TOML files of a folder. Files are read on first use."""

    def __init__(self, folder: Path) -> None:
        self._files = {file.stem: file for file in sorted(folder.glob("*.toml"))}
        self._load = cache(read_toml)

    def __getitem__(self, name: str) -> Sequence:
        if name not in self:
            raise UsageError([not_allowed("name", name, self)], of="sequences.catalogue")
        return self._load(self._files[name])

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def get(self, name: str, default: object = None) -> Any:
        """Return a sequence by its name, or the default."""
        return self._load(self._files[name]) if name in self._files else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        return f"<catalogue of {len(self)} sequences: {', '.join(self)}>"


catalogue = Catalogue(Path(__file__).with_name("catalogue"))
"""Built-in sequences: every documented transition, common refusals, and longer scenarios."""

OWN_STEPS = {"advance": ("by",), "wait": ("kind", "timeout", "where")}
"""Steps that are neither operations nor controls, with their arguments."""
SCRIPTED = {name: operation for name, operation in OPERATIONS.items() if operation is not Operations.sign_withdrawal}
"""Operations that a step may call: all except the signing of withdrawals."""
_NOT_SCRIPTED = frozenset(
    {
        "advance",
        "reset",
        "snapshot",
        "restore",
        "savepoint",
        "undo",
        "add_fault",
        "clear_faults",
        "register_endpoint",
    }
)
CONTROLLED = {name: row for name, row in CONTROLS.items() if row.changes and name not in _NOT_SCRIPTED}
"""Sandbox controls that a step may call: controls that change records, not the sandbox itself."""

_Found = Iterator[tuple[str, str, str]]  # member of the step, broken rule, message


def problems(sequence: Sequence, values: Mapping[str, Any] | None = None) -> tuple[Problem, ...]:
    """Return all problems with a sequence; empty for a valid sequence.

    Args:
        sequence: The sequence.
        values: Parameters of a run, which are checked too; None skips this check.
    """
    problems_found = [*_header_problems(sequence), *problems_of_values(sequence, values)]
    declared = {parameter.name for parameter in sequence.parameters}
    names = [step.name for step in sequence.steps]
    earlier: dict[str, Step] = {}
    for step in sequence.steps:
        line = f" (line {step.line})" if step.line else ""
        problems_found += [
            Problem(f"{visible(step.name, 60)}.{member}{line}", rule, message)
            for member, rule, message in _step_problems(step, declared, names, earlier)
        ]
        earlier[step.name] = step
    return tuple(problems_found)


def check(sequence: Sequence, values: Mapping[str, Any] | None = None) -> None:
    """Raise InvalidSequence if a sequence or the parameters of a run have `problems`."""
    if problems_found := problems(sequence, values):
        raise InvalidSequence(problems_found, sequence.name)


def _header_problems(sequence: Sequence) -> Iterator[Problem]:
    if not sequence.steps:
        yield Problem("steps", "required", "must contain at least one step")
    if sequence.profile not in (None, "documented", "observed"):
        yield Problem("profile", "enum", "must be documented or observed")
    if sequence.team not in (None, "individual", "company"):
        yield Problem("team", "enum", "must be individual or company")
    for parameter in sequence.parameters:
        where = f"params.{visible(parameter.name, 60)}"
        if parameter.type not in PARAMETER_TYPES:
            yield Problem(f"{where}.type", "enum", f"must be one of {', '.join(PARAMETER_TYPES)}")
        elif not isinstance(parameter.default, Guide | None) and (message := parameter.problem(parameter.default)):
            yield Problem(f"{where}.default", "type", message)


def problems_of_values(sequence: Sequence, values: Mapping[str, Any] | None) -> Iterator[Problem]:
    """Yield the problems with a run's parameters; None skips the check."""
    if values is None:
        return
    declared: dict[str, Parameter] = {parameter.name: parameter for parameter in sequence.parameters}
    for name in values:
        if name not in declared:
            names = f"its parameters: {', '.join(declared)}" if declared else "it has no parameters"
            yield Problem(visible(name, 60), "unknown", f"is not a parameter of this sequence; {names}")
    for name, declared_parameter in declared.items():
        value = values.get(name, declared_parameter.default)
        if value is None:
            yield Problem(
                name,
                "required",
                f"is missing; {declared_parameter.doc[:1].lower() + declared_parameter.doc[1:] or 'no default'}",
            )
        elif (
            value is not declared_parameter.default
            and declared_parameter.type in PARAMETER_TYPES
            and (message := declared_parameter.problem(value))
        ):
            yield Problem(name, "type", message)


def _step_problems(step: Step, declared: Collection[str], names: list[str], earlier: Mapping[str, Step]) -> _Found:
    if not re.fullmatch(r"[A-Za-z][\w -]{0,79}", step.name):
        yield "name", "pattern", "must begin with a letter, and contain only letters, digits, spaces, _ and -"
    if step.name in earlier:
        yield "name", "unique", "is the name of two steps"
    if step.name == GUIDE:
        yield "name", "forbidden", "is reserved: a reference that begins with it names an example of the sandbox"
    if step.do == Operations.sign_withdrawal.name:
        yield "do", "forbidden", "sign_withdrawal authorizes moving funds and is never a step of a script"
        return
    yield from _reference_problems(step, declared, names, earlier)
    if step.do in SCRIPTED:
        yield from _request_problems(step, SCRIPTED[step.do])
    elif step.do in CONTROLLED:
        parameters = {
            name: parameter for name, parameter in CONTROLLED[step.do].signature.parameters.items() if name != "self"
        }
        yield from _unknown_arguments(step, parameters)
        for name, member in parameters.items():
            if member.default is member.empty and member.kind is not member.VAR_KEYWORD and name not in step.arguments:
                yield name, "required", "is missing"
    elif step.do in OWN_STEPS:
        yield from _own_step_problems(step)
    else:
        known_names = sorted((*SCRIPTED, *CONTROLLED, *OWN_STEPS))
        near = [name for name in known_names if name.split("_")[-1] == step.do.split("_")[-1]]
        hint = f"did you mean {' or '.join(near)}?" if near else f"allowed: {', '.join(known_names)}"
        yield "do", "unknown", f"{visible(step.do, 60)!r} is not an operation, control, advance or wait; {hint}"
    yield from _expectation_problems(step)


def _unknown_arguments(step: Step, known: Collection[str]) -> _Found:
    for name in step.arguments:
        if name not in known:
            yield visible(name, 60), "unknown", f"is not an argument of {step.do}; its arguments are {', '.join(known)}"


def _request_problems(step: Step, operation: Operation[..., Any]) -> _Found:
    wires = {field.name: field.wire for field in walk.members(operation.request)}
    yield from _unknown_arguments(step, wires)
    arguments = {name: value for name, value in step.arguments.items() if name in wires}
    later = [wires[name] for name, value in arguments.items() if any(True for _ in references(value))]
    try:
        request = walk.build(
            operation.request, {name: value for name, value in arguments.items() if wires[name] not in later}
        )
    except walk.UnknownMember as error:
        unknown = ", ".join(visible(str(name), 60) for name in error.names)
        yield "with", "unknown", f"{error.of.__name__} has no {unknown}"
        return
    for problem in checks.problems(request):
        if problem.path.partition(".")[0] not in later and not (later and problem.rule in {"one_of", "any_of"}):
            yield problem.path or "with", problem.rule, problem.message


def _own_step_problems(step: Step) -> _Found:
    yield from _unknown_arguments(step, OWN_STEPS[step.do])
    name = "by" if step.do == "advance" else "timeout"
    span = step.arguments.get(name, None if step.do == "advance" else "0s")
    if span is None:
        yield name, "required", "is missing; it is a span of time such as 2d"
    elif not isinstance(span, Param) and not is_duration(span):
        yield name, "duration", "must be a duration such as 2d or 1h 30m"
    if step.do == "wait" and step.arguments.get("kind") not in EVENT_KINDS:
        yield "kind", "enum", f"must be one of {', '.join(EVENT_KINDS)}"


def _reference_problems(step: Step, declared: Collection[str], names: list[str], earlier: Mapping[str, Step]) -> _Found:
    for reference in step.references():
        message = None
        if isinstance(reference, Param) and reference.path not in declared:
            message = f"names the parameter {visible(reference.path, 60)}, which is not declared"
        elif isinstance(reference, Ref):
            if reference.step == step.name:  # an expectation may refer to the result of its own step
                message = "refers to the step itself" if reference in references(step.arguments) else None
            elif reference.step not in names:
                message = "names no step of this sequence"
            elif reference.step not in earlier:
                message = "names a later step; a step can only refer to earlier ones"
            else:
                message = _attribute_problem(earlier[reference.step], reference)
            message = message and f"{visible(reference.path, 80)} {message}"
        if message is not None:
            yield "with", "reference", message


def _attribute_problem(target: Step, reference: Ref) -> str | None:
    operation = SCRIPTED.get(target.do)
    if operation is None or not reference.attribute or operation.many:
        return None
    path = ".".join(part for part in reference.attribute.split(".") if not part.isdigit())
    if path in dict(walk.leaves(operation.answer)):
        return None
    names = ", ".join(field.name for field in walk.members(operation.answer))
    return f"names {visible(path, 80)}, which the answer of {target.do} does not have ({names})"


def _expectation_problems(step: Step) -> _Found:
    expect = step.expect
    for name, value in expect.money.items():
        if name not in ACCOUNTS:
            yield f"expect.money.{visible(name, 60)}", "unknown", f"must be one of {', '.join(ACCOUNTS)}"
        elif type(value) is not int:
            yield f"expect.money.{name}", "type", "must be a whole number of cents"
    for event in expect.events:
        if event.kind not in EVENT_KINDS:
            kinds = ", ".join(EVENT_KINDS)
            yield "expect.events", "enum", f"{visible(event.kind, 60)!r} is not a kind of event; kinds are {kinds}"
    for name in expect.error:
        if name not in ("status", "error", "message"):
            yield f"expect.error.{visible(name, 60)}", "unknown", "must be status, error or message"
    if expect.state and "of" not in expect.state:
        yield "expect.state", "required", "needs `of`, the id of the record to look at"
    operation = SCRIPTED.get(step.do)
    if operation is not None and not operation.many:
        fields = {field.name for field in walk.members(operation.answer)} | {"extra"}
        for name in expect.result:
            if name.partition(".")[0] not in fields:
                message = f"is not a member of the answer of {step.do}; they are {', '.join(sorted(fields))}"
                yield f"expect.result.{visible(name, 60)}", "unknown", message
