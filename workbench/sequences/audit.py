"""What is wrong with a sequence before its first call: names, types, references, limits; all of it, with step and line."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from workbench.errors import Problem, visible
from workbench.interface import checks, walk
from workbench.interface.events import EVENT_KINDS
from workbench.interface.operation import Operation
from workbench.interface.rules import UUID
from workbench.interface.table import OPERATIONS, SIGN_WITHDRAWAL
from workbench.sandbox.controls import CONTROLS
from workbench.sequences.sequence import Sequence
from workbench.sequences.steps import (
    PARAMETER_TYPES,
    Guide,
    Param,
    Parameter,
    Ref,
    Step,
    duration,
    references,
)

MONEY = ("available", "held", "posted", "refunded")
STEPS_OF_ITS_OWN = ("advance", "wait")
_LEFT_OUT = frozenset({"advance", "reset", "snapshot", "restore", "add_fault", "clear_faults", "register_endpoint"})
SCRIPTED = {name: row for name, row in OPERATIONS.items() if row is not SIGN_WITHDRAWAL}
"""The operations a step may do: all but the one that authorizes moving funds."""
CONTROLLED = {name: row for name, row in CONTROLS.items() if row.changes and name not in _LEFT_OUT}
"""The controls of the sandbox that a step may do: those that change a record, not the sandbox itself."""


def problems(sequence: Sequence, values: Mapping[str, Any] | None = None) -> tuple[Problem, ...]:
    """Return all that is wrong with a sequence; empty if nothing.

    Args:
        values: The parameters of a run, to be checked too; None leaves them out.
    """
    found = [*_named(sequence), *_parameters(sequence)]
    if values is not None:
        found += problems_of_values(sequence, values)
    names = frozenset(one.name for one in sequence.steps)
    earlier: dict[str, Step] = {}
    for one in sequence.steps:
        found += _step(one, names, earlier)
        earlier[one.name] = one
    return tuple(found)


def _named(sequence: Sequence) -> Iterator[Problem]:
    if not sequence.steps:
        yield Problem("steps", "required", "are missing; a sequence has at least one")
    if sequence.profile not in (None, "documented", "observed"):
        yield Problem("profile", "enum", "must be documented or observed")
    seen: set[str] = set()
    for one in sequence.steps:
        if not re.fullmatch(r"[A-Za-z][\w -]{0,79}", one.name):
            yield _at(
                one, "name", "pattern", "must begin with a letter and hold letters, digits, blanks, _ and - alone"
            )
        if one.name in seen:
            yield _at(one, "name", "unique", "stands for two steps")
        seen.add(one.name)


def _at(one: Step, member: str, rule: str, message: str) -> Problem:
    where = f"{visible(one.name, 60)}.{member}" if member else visible(one.name, 60)
    return Problem(where + (f" (line {one.line})" if one.line else ""), rule, message)


def _parameters(sequence: Sequence) -> Iterator[Problem]:
    declared = {one.name for one in sequence.parameters}
    for one in sequence.parameters:
        where = f"params.{visible(one.name, 60)}"
        if one.type not in PARAMETER_TYPES:
            yield Problem(f"{where}.type", "enum", f"must be one of {', '.join(PARAMETER_TYPES)}")
        elif one.default is not None and not isinstance(one.default, Guide) and (said := _mistyped(one, one.default)):
            yield Problem(f"{where}.default", "type", said)
    for each in sequence.steps:
        for reference in references((each.arguments, each.expect.state, each.expect.result, _wheres(each))):
            if isinstance(reference, Param) and reference.name not in declared:
                yield _at(
                    each,
                    "with",
                    "reference",
                    f"names the parameter {visible(reference.name, 60)}, which is not declared",
                )


def _wheres(one: Step) -> list[Any]:
    return [event.where for event in one.expect.events]


def _mistyped(one: Parameter, value: Any) -> str | None:
    fits: Mapping[str, Callable[[Any], bool]] = {
        "text": lambda v: isinstance(v, str),
        "whole": lambda v: type(v) is int,
        "flag": lambda v: type(v) is bool,
        "id": lambda v: isinstance(v, str) and UUID.fullmatch(v) is not None,
        "date": lambda v: type(v) is date,
        "duration": _is_duration,
    }
    words = {
        "whole": "a whole number",
        "flag": "true or false",
        "id": "a UUID",
        "duration": "a span of time as 2d or 1h 30m",
    }
    check = fits.get(one.type)
    return None if check is None or check(value) else f"must be {words.get(one.type, 'a ' + one.type)}"


def _is_duration(value: Any) -> bool:
    if isinstance(value, timedelta):
        return True
    try:
        duration(value)
    except (ValueError, TypeError):
        return False
    return True


def problems_of_values(sequence: Sequence, values: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with the parameters of a run."""
    declared = {one.name: one for one in sequence.parameters}
    for name in values:
        if name not in declared:
            known = f"declared are {', '.join(declared)}" if declared else "none is declared"
            yield Problem(visible(name, 60), "unknown", f"is no parameter of this sequence; {known}")
    for name, one in declared.items():
        value = values.get(name)
        if value is None:
            if one.default is None:
                yield Problem(
                    name, "required", f"is missing; {one.doc[:1].lower() + one.doc[1:] or 'it has no default'}"
                )
        elif said := _mistyped(one, value):
            yield Problem(name, "type", said)


def _step(one: Step, names: Collection[str], earlier: Mapping[str, Step]) -> Iterator[Problem]:
    if one.do == SIGN_WITHDRAWAL.name:
        yield _at(one, "do", "forbidden", "sign_withdrawal authorizes moving funds and is never a step of a script")
        return
    yield from _references(one, names, earlier)
    if one.do in SCRIPTED:
        yield from _arguments(one, SCRIPTED[one.do])
    elif one.do in CONTROLLED:
        yield from _of_control(one)
    elif one.do in STEPS_OF_ITS_OWN:
        yield from _of_its_own(one)
    else:
        known = sorted((*SCRIPTED, *CONTROLLED, *STEPS_OF_ITS_OWN))
        near = [name for name in known if name.split("_")[-1] == one.do.split("_")[-1]]
        said = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
        yield _at(one, "do", "unknown", f"{visible(one.do, 60)!r} is no operation, control, advance or wait; {said}")
    yield from _expectations(one)


def _arguments(one: Step, operation: Operation[..., Any]) -> Iterator[Problem]:
    fields = {field.name: field for field in walk.members(operation.request)}
    for name in one.arguments:
        if name not in fields:
            yield _at(
                one, visible(name, 60), "unknown", f"is no argument of {one.do}; its arguments are {', '.join(fields)}"
            )
    literal = {name: value for name, value in one.arguments.items() if name in fields and not [*references(value)]}
    later = tuple(fields[name].wire for name in one.arguments if name in fields and name not in literal)
    try:
        request = walk.build(operation.request, literal)
    except walk.UnknownMember as error:
        yield _at(
            one, "with", "unknown", f"{error.of.__name__} has no {', '.join(visible(str(n), 60) for n in error.names)}"
        )
        return
    for problem in checks.problems(request):
        waits = any(problem.path == wire or problem.path.startswith(f"{wire}.") for wire in later)
        if not waits and not (later and problem.rule in {"one_of", "any_of"}):
            yield _at(one, problem.path or "with", problem.rule, problem.message)


def _of_control(one: Step) -> Iterator[Problem]:
    known = {name: p for name, p in CONTROLLED[one.do].signature.parameters.items() if name != "self"}
    for name in one.arguments:
        if name not in known:
            yield _at(
                one, visible(name, 60), "unknown", f"is no argument of {one.do}; its arguments are {', '.join(known)}"
            )
    for name, parameter in known.items():
        if (
            parameter.default is parameter.empty
            and parameter.kind is not parameter.VAR_KEYWORD
            and name not in one.arguments
        ):
            yield _at(one, name, "required", "is missing")


def _of_its_own(one: Step) -> Iterator[Problem]:
    allowed = {"advance": ("by",), "wait": ("kind", "within", "where")}[one.do]
    for name in one.arguments:
        if name not in allowed:
            yield _at(
                one, visible(name, 60), "unknown", f"is no argument of {one.do}; its arguments are {', '.join(allowed)}"
            )
    span = one.arguments.get("by" if one.do == "advance" else "within", None if one.do == "advance" else "0s")
    if span is None:
        yield _at(one, "by", "required", "is missing; it is a span of time as 2d")
    elif not isinstance(span, Param) and not _is_duration(span):
        yield _at(one, "by" if one.do == "advance" else "within", "duration", "must be a span of time as 2d or 1h 30m")
    if one.do == "wait":
        kind = one.arguments.get("kind")
        if kind not in EVENT_KINDS:
            yield _at(one, "kind", "enum", f"must be one of {', '.join(EVENT_KINDS)}")


def _references(one: Step, names: Collection[str], earlier: Mapping[str, Step]) -> Iterator[Problem]:
    for reference in references((one.arguments, one.expect.state, one.expect.result, _wheres(one))):
        if not isinstance(reference, Ref):
            continue
        shown = visible(reference.path, 80)
        own = reference.step == one.name
        if own and reference not in references(one.arguments):
            continue  # an expectation may name the result of its own step
        if own:
            yield _at(one, "with", "reference", f"{shown} refers to this very step")
        elif reference.step not in names:
            yield _at(one, "with", "reference", f"{shown} names no step of this sequence")
        elif reference.step not in earlier:
            yield _at(
                one,
                "with",
                "reference",
                f"{shown} names a later step; a step refers to earlier ones alone (no circles)",
            )
        elif said := _no_such_attribute(earlier[reference.step], reference):
            yield _at(one, "with", "reference", f"{shown} {said}")


def _no_such_attribute(target: Step, reference: Ref) -> str | None:
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


def _expectations(one: Step) -> Iterator[Problem]:
    for name, value in one.expect.money.items():
        if name not in MONEY:
            yield _at(one, f"expect.money.{visible(name, 60)}", "unknown", f"must be one of {', '.join(MONEY)}")
        elif type(value) is not int:
            yield _at(one, f"expect.money.{name}", "type", "must be a whole number of cents")
    for event in one.expect.events:
        if event.kind not in EVENT_KINDS:
            yield _at(
                one,
                "expect.events",
                "enum",
                f"{visible(event.kind, 60)!r} is no kind; kinds are {', '.join(EVENT_KINDS)}",
            )
    for name in one.expect.error:
        if name not in ("status", "error", "message"):
            yield _at(one, f"expect.error.{visible(name, 60)}", "unknown", "must be status, error or message")
    if one.expect.state and "of" not in one.expect.state:
        yield _at(one, "expect.state", "required", "needs `of`, the id of the record to look at")
    operation = SCRIPTED.get(one.do)
    if operation is not None and not operation.many:
        fields = {field.name for field in walk.members(operation.answer)} | {"extra"}
        for name in one.expect.result:
            if name.partition(".")[0] not in fields:
                said = f"is no member of the answer of {one.do}; they are {', '.join(sorted(fields))}"
                yield _at(one, f"expect.result.{visible(name, 60)}", "unknown", said)
