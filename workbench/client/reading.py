"""A wire body as the request record of an operation: from a file, a log, another program."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from workbench.client.advice import advise
from workbench.errors import InvalidArguments, InvalidRequest, Problem, visible
from workbench.interface import strict_json
from workbench.interface.convert import Converter, placeholders
from workbench.interface.operation import Operation
from workbench.interface.table import OPERATIONS
from workbench.interface.walk import members


def from_wire(operation: Any, body: Any, converter: Converter, path_arguments: Mapping[str, str]) -> Any:
    """Read a wire body as the request of an operation; see `Client.from_wire`."""
    row = _row(operation)
    raw = _object(body, row)
    of_path = {one.name: one.wire for one in members(row.request) if one.wire in placeholders(row.path)}
    strange = [name for name in path_arguments if name not in of_path]
    if strange:
        there = f"; there are {', '.join(of_path)}" if of_path else "; there is none"
        raise InvalidArguments(
            [Problem(visible(name, 60), "unknown", f"is no part of the path{there}") for name in strange], of=row.name
        )
    path = {of_path[name]: value for name, value in path_arguments.items()}
    # An id may also stand in the body, as in a journal of one's own; it is taken from there.
    path = {**{wire: raw[wire] for wire in of_path.values() if wire in raw}, **path}
    rest = {name: value for name, value in raw.items() if name not in path}
    if row.in_query:
        rest = {name: _as_text(value) for name, value in rest.items()}
    request, problems, unknown = converter.read_request(row, rest, path, from_query=row.in_query)
    if problems:
        raise InvalidRequest(problems, of=row.name)
    if unknown:
        shown = visible(", ".join(unknown), 200)
        advise(f"{row.name}: the interface does not know {shown}; it is left out")
    return request


def _row(operation: Any) -> Operation[..., Any]:
    row = OPERATIONS.get(operation) if isinstance(operation, str) else getattr(operation, "operation", operation)
    if not isinstance(row, Operation):
        raise InvalidArguments(f"no operation {visible(str(operation), 60)!r} (known: {', '.join(OPERATIONS)})")
    return row


def _as_text(value: Any) -> Any:
    """A query holds text; where it is kept as JSON, its numbers and flags are of their own types."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | Decimal) else value


def _object(body: Any, row: Operation[..., Any]) -> Mapping[str, Any]:
    __tracebackhide__ = True
    if body is None:
        return {}
    if isinstance(body, Mapping):
        return body
    wrong = "must be JSON text or an object"
    if isinstance(body, str | bytes):
        try:
            found = strict_json.loads(body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass"))
            if isinstance(found, Mapping):
                return found
            wrong = "must be a JSON object"
        except strict_json.NotJson as error:
            wrong = f"cannot be read: {error}"
    raise InvalidRequest([Problem("", "json", wrong)], of=row.name)
