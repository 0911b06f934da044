"""Construction of an operation's request, from arguments or from a wire body."""

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

import attrs

from workbench.base.errors import InvalidArguments, InvalidRequest, Problem, advise, unknown_name, visible
from workbench.base.schema import checks, strict_json
from workbench.base.schema.walk import UnknownMember, build, members, snake
from workbench.service.interface.convert import Converter, placeholders
from workbench.service.interface.table import OPERATIONS, Operation


def argument_problems(operation: Operation[..., Any], arguments: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return all problems of a call with unknown arguments, including broken rules of the other arguments."""
    strange: list[UnknownMember] = []
    problems = checks.problems(build(operation.request, arguments, strange))
    unknown = []
    for member in strange:
        names = [known.name for known in members(member.of)]
        problems_of = (_unknown(name, names) for name in member.names)
        unknown += [attrs.evolve(problem, path=member.prefix + problem.path) for problem in problems_of]
    # An argument with the wire name of a member is reported only as unknown; the member is not reported as missing.
    spelled = {snake(problem.path) for problem in unknown}
    return (
        *unknown,
        *(problem for problem in problems if problem.rule != "required" or snake(problem.path) not in spelled),
    )


def _unknown(name: str, names: Collection[str]) -> Problem:
    if name == "idempotency_key":
        message = 'is not an argument; to send an idempotency key, call inside `with api.idempotency("…"):`'
        return Problem(name, "unknown", message)
    return unknown_name(name, names)


def from_wire(
    operation: object,
    body: object,
    converter: Converter,
    path_arguments: Mapping[str, str],
    *,
    exact: bool = False,
) -> Any:
    """Parse a wire body as the request of an operation; see `Client.from_wire`.

    Args:
        exact: Whether undocumented members are problems. Otherwise undocumented members are omitted with a warning.
    """
    row = OPERATIONS.get(operation) if isinstance(operation, str) else getattr(operation, "operation", operation)
    if not isinstance(row, Operation):
        raise InvalidArguments(f"no operation {visible(str(operation), 60)!r} (known: {', '.join(OPERATIONS)})")
    raw = _object(body, row)
    of_path = {member.name: member.wire for member in members(row.request) if member.wire in placeholders(row.path)}
    strange = [name for name in path_arguments if name not in of_path]
    if strange:
        there = f"path parameters: {', '.join(of_path)}" if of_path else "this operation has none"
        message = f"is not a path parameter ({there})"
        raise InvalidArguments([Problem(visible(name, 60), "unknown", message) for name in strange], of=row.name)
    # A body from a log may contain the ids of the path.
    path = {wire: raw[wire] for wire in of_path.values() if wire in raw}
    path |= {of_path[name]: value for name, value in path_arguments.items()}
    rest = {name: _as_text(value) if row.in_query else value for name, value in raw.items() if name not in path}
    request, problems, unknown = converter.read_request(row, rest, path, from_query=row.in_query)
    if exact:
        problems += tuple(unknown_name(name, (), "a member of this operation") for name in unknown)
    if problems:
        raise InvalidRequest(problems, of=row.name)
    if unknown:
        shown = visible(", ".join(unknown), 200)
        advise(f"{row.name}: undocumented members, which are not sent: {shown}")
    return request


def _as_text(value: object) -> Any:
    """Return a query value as text; a query stored as JSON may contain numbers and booleans."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | Decimal) else value


def _object(body: object, row: Operation[..., Any]) -> Mapping[str, Any]:
    if body is None:
        return {}
    if isinstance(body, Mapping):
        return body
    wrong = "must be JSON text or an object"
    if isinstance(body, str | bytes):
        try:
            parsed = strict_json.loads(body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass"))
            if isinstance(parsed, Mapping):
                return parsed
            wrong = "must be a JSON object"
        except strict_json.NotJson as error:
            wrong = f"cannot be read: {error}"
    raise InvalidRequest([Problem("", "json", wrong)], of=row.name)
