"""The problems of a sequence before its first call: names, types, references, limits; all of them, with step and line."""

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from workbench.errors import Problem, visible
from workbench.interface import checks, walk
from workbench.interface.events import EVENT_KINDS
from workbench.interface.operation import Operation
from workbench.interface.rules import UUID
from workbench.interface.table import OPERATIONS, SIGN_WITHDRAWAL
from workbench.sandbox.controls import CONTROLS
from workbench.sequences.ledger import ACCOUNTS
from workbench.sequences.sequence import Sequence
from workbench.sequences.steps import PARAMETER_TYPES, Guide, Param, Parameter, Ref, Step, duration, references

OWN_STEPS = {"advance": ("by",), "wait": ("kind", "within", "where")}
"""The steps that are neither operations nor controls, and their arguments."""
SCRIPTED = {name: operation for name, operation in OPERATIONS.items() if operation is not SIGN_WITHDRAWAL}
"""The operations a step may call: all but the one that authorizes moving funds."""
_NOT_SCRIPTED = frozenset({"advance", "reset", "snapshot", "restore", "add_fault", "clear_faults", "register_endpoint"})
CONTROLLED = {name: row for name, row in CONTROLS.items() if row.changes and name not in _NOT_SCRIPTED}
"""The controls of the sandbox a step may call: those that change a record, not the sandbox itself."""


def problems(sequence: Sequence, values: Mapping[str, Any] | None = None) -> tuple[Problem, ...]:
    """Return all problems of a sequence; empty if there are none.

    Args:
        sequence: The sequence.
        values: The parameters of a run, to be checked too; None leaves them out.
    """
    found = [*_header_problems(sequence), *_parameter_problems(sequence)]
    if values is not None:
        found += problems_of_values(sequence, values)
    names = frozenset(step.name for step in sequence.steps)
    earlier: dict[str, Step] = {}
    for step in sequence.steps:
        found += _step_problems(step, names, earlier)
        earlier[step.name] = step
    return tuple(found)


def _header_problems(sequence: Sequence) -> Iterator[Problem]:
    if not sequence.steps:
        yield Problem("steps", "required", "are missing; a sequence has at least one")
    if sequence.profile not in (None, "documented", "observed"):
        yield Problem("profile", "enum", "must be documented or observed")
    seen: set[str] = set()
    for step in sequence.steps:
        if not re.fullmatch(r"[A-Za-z][\w -]{0,79}", step.name):
            message = "must begin with a letter, and contain only letters, digits, spaces, _ and -"
            yield _at(step, "name", "pattern", message)
        if step.name in seen:
            yield _at(step, "name", "unique", "is the name of two steps")
        seen.add(step.name)


def _at(step: Step, member: str, rule: str, message: str) -> Problem:
    line = f" (line {step.line})" if step.line else ""
    return Problem(f"{visible(step.name, 60)}.{member}{line}", rule, message)


def _unknown_arguments(step: Step, known: Collection[str]) -> Iterator[Problem]:
    for name in step.arguments:
        if name not in known:
            message = f"is not an argument of {step.do}; its arguments are {', '.join(known)}"
            yield _at(step, visible(name, 60), "unknown", message)


def _parameter_problems(sequence: Sequence) -> Iterator[Problem]:
    declared = {one.name for one in sequence.parameters}
    for one in sequence.parameters:
        where = f"params.{visible(one.name, 60)}"
        if one.type not in PARAMETER_TYPES:
            yield Problem(f"{where}.type", "enum", f"must be one of {', '.join(PARAMETER_TYPES)}")
        elif one.default is not None and not isinstance(one.default, Guide):
            message = _type_problem(one, one.default)
            if message is not None:
                yield Problem(f"{where}.default", "type", message)
    for step in sequence.steps:
        for reference in references(_parts(step)):
            if isinstance(reference, Param) and reference.name not in declared:
                message = f"names the parameter {visible(reference.name, 60)}, which is not declared"
                yield _at(step, "with", "reference", message)


def _parts(step: Step) -> list[Any]:
    """Return the parts of a step that may hold references."""
    expect = step.expect
    return [step.arguments, expect.state, expect.result, *(event.where for event in expect.events)]


def _type_problem(parameter: Parameter, value: Any) -> str | None:
    match parameter.type:
        case "text":
            fits, name = isinstance(value, str), "text"
        case "whole":
            fits, name = type(value) is int, "a whole number"
        case "flag":
            fits, name = type(value) is bool, "true or false"
        case "id":
            fits, name = isinstance(value, str) and UUID.fullmatch(value) is not None, "a UUID"
        case "date":
            fits, name = type(value) is date, "a date"
        case "duration":
            fits, name = _is_duration(value), "a span of time such as 2d or 1h 30m"
        case _:
            return None
    return None if fits else f"must be {name}"


def _is_duration(value: Any) -> bool:
    if isinstance(value, timedelta):
        return True
    try:
        duration(value)
    except (ValueError, TypeError):
        return False
    return True


def problems_of_values(sequence: Sequence, values: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems of the parameters of a run."""
    declared = {one.name: one for one in sequence.parameters}
    for name in values:
        if name not in declared:
            known = f"declared are {', '.join(declared)}" if declared else "none is declared"
            yield Problem(visible(name, 60), "unknown", f"is not a parameter of this sequence; {known}")
    for name, one in declared.items():
        value = values.get(name)
        message = _type_problem(one, value)
        if value is None:
            if one.default is None:
                yield Problem(name, "required", f"is missing; {one.doc[:1].lower() + one.doc[1:] or 'no default'}")
        elif message is not None:
            yield Problem(name, "type", message)


def _step_problems(step: Step, names: Collection[str], earlier: Mapping[str, Step]) -> Iterator[Problem]:
    if step.do == SIGN_WITHDRAWAL.name:
        yield _at(step, "do", "forbidden", "sign_withdrawal authorizes moving funds and is never a step of a script")
        return
    yield from _reference_problems(step, names, earlier)
    if step.do in SCRIPTED:
        yield from _request_problems(step, SCRIPTED[step.do])
    elif step.do in CONTROLLED:
        yield from _control_problems(step)
    elif step.do in OWN_STEPS:
        yield from _own_step_problems(step)
    else:
        known = sorted((*SCRIPTED, *CONTROLLED, *OWN_STEPS))
        near = [name for name in known if name.split("_")[-1] == step.do.split("_")[-1]]
        hint = f"did you mean {' or '.join(near)}?" if near else f"allowed: {', '.join(known)}"
        message = f"{visible(step.do, 60)!r} is not an operation, control, advance or wait; {hint}"
        yield _at(step, "do", "unknown", message)
    yield from _expectation_problems(step)


def _request_problems(step: Step, operation: Operation[..., Any]) -> Iterator[Problem]:
    fields = {field.name: field for field in walk.members(operation.request)}
    yield from _unknown_arguments(step, fields)
    given = {name: value for name, value in step.arguments.items() if name in fields}
    literal = {name: value for name, value in given.items() if not any(True for _ in references(value))}
    unresolved = tuple(fields[name].wire for name in given if name not in literal)
    try:
        request = walk.build(operation.request, literal)
    except walk.UnknownMember as error:
        unknown = ", ".join(visible(str(name), 60) for name in error.names)
        yield _at(step, "with", "unknown", f"{error.of.__name__} has no {unknown}")
        return
    for problem in checks.problems(request):
        later = any(problem.path == wire or problem.path.startswith(f"{wire}.") for wire in unresolved)
        if not later and not (unresolved and problem.rule in {"one_of", "any_of"}):
            yield _at(step, problem.path or "with", problem.rule, problem.message)


def _control_problems(step: Step) -> Iterator[Problem]:
    known = {name: one for name, one in CONTROLLED[step.do].signature.parameters.items() if name != "self"}
    yield from _unknown_arguments(step, known)
    for name, one in known.items():
        required = one.default is one.empty and one.kind is not one.VAR_KEYWORD
        if required and name not in step.arguments:
            yield _at(step, name, "required", "is missing")


def _own_step_problems(step: Step) -> Iterator[Problem]:
    yield from _unknown_arguments(step, OWN_STEPS[step.do])
    name = "by" if step.do == "advance" else "within"
    span = step.arguments.get(name, None if step.do == "advance" else "0s")
    if span is None:
        yield _at(step, name, "required", "is missing; it is a span of time such as 2d")
    elif not isinstance(span, Param) and not _is_duration(span):
        yield _at(step, name, "duration", "must be a span of time such as 2d or 1h 30m")
    if step.do == "wait" and step.arguments.get("kind") not in EVENT_KINDS:
        yield _at(step, "kind", "enum", f"must be one of {', '.join(EVENT_KINDS)}")


def _reference_problems(step: Step, names: Collection[str], earlier: Mapping[str, Step]) -> Iterator[Problem]:
    for reference in references(_parts(step)):
        if not isinstance(reference, Ref):
            continue
        own = reference.step == step.name
        if own and reference not in references(step.arguments):
            continue  # an expectation may name the result of its own step
        if own:
            message: str | None = "refers to this very step"
        elif reference.step not in names:
            message = "names no step of this sequence"
        elif reference.step not in earlier:
            message = "names a later step; a step can only refer to earlier ones"
        else:
            message = _attribute_problem(earlier[reference.step], reference)
        if message is not None:
            yield _at(step, "with", "reference", f"{visible(reference.path, 80)} {message}")


def _attribute_problem(target: Step, reference: Ref) -> str | None:
    operation = SCRIPTED.get(target.do)
    if operation is None or not reference.attribute or operation.many:
        return None
    cls: type[Any] | None = operation.answer
    for part in reference.attribute.split("."):
        if part.isdigit():
            continue
        if cls is None:
            return f"goes deeper than the answer of {target.do}"
        fields = {field.name: field for field in walk.members(cls)}
        if part not in fields:
            return f"names {part}, which the answer of {target.do} does not have ({', '.join(fields)})"
        cls = walk.record_of(fields[part].kind)
    return None


def _expectation_problems(step: Step) -> Iterator[Problem]:
    expect = step.expect
    for name, value in expect.money.items():
        if name not in ACCOUNTS:
            yield _at(step, f"expect.money.{visible(name, 60)}", "unknown", f"must be one of {', '.join(ACCOUNTS)}")
        elif type(value) is not int:
            yield _at(step, f"expect.money.{name}", "type", "must be a whole number of cents")
    for event in expect.events:
        if event.kind not in EVENT_KINDS:
            message = f"{visible(event.kind, 60)!r} is not a kind of event; kinds are {', '.join(EVENT_KINDS)}"
            yield _at(step, "expect.events", "enum", message)
    for name in expect.error:
        if name not in ("status", "error", "message"):
            yield _at(step, f"expect.error.{visible(name, 60)}", "unknown", "must be status, error or message")
    if expect.state and "of" not in expect.state:
        yield _at(step, "expect.state", "required", "needs `of`, the id of the record to look at")
    operation = SCRIPTED.get(step.do)
    if operation is not None and not operation.many:
        fields = {field.name for field in walk.members(operation.answer)} | {"extra"}
        for name in expect.result:
            if name.partition(".")[0] not in fields:
                message = f"is not a member of the answer of {step.do}; they are {', '.join(sorted(fields))}"
                yield _at(step, f"expect.result.{visible(name, 60)}", "unknown", message)
