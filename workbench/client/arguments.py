"""What is wrong with the arguments of a call by their names, unknown and missing ones together; and with wire names."""

import difflib
import re
from collections.abc import Mapping
from typing import Any

from workbench.errors import Problem, visible
from workbench.interface import checks
from workbench.interface.convert import placeholders
from workbench.interface.events import EVENT_KINDS
from workbench.interface.operation import Operation
from workbench.interface.table import KEY_HEADER, OPERATIONS
from workbench.interface.walk import Array, Nested, build, members, records, snake


def argument_problems(operation: Operation[..., Any], arguments: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return every problem of a call with unknown names: those, and what the rules say of the rest."""
    unknown: list[Problem] = []
    known = _known(operation.request, arguments, "", unknown)
    # A member given by its wire name is named once, as unknown, and not as missing besides.
    spelled = {snake(problem.path) for problem in unknown}
    found = checks.problems(build(operation.request, known))
    return (*unknown, *(one for one in found if one.rule != "required" or snake(one.path) not in spelled))


def _known(cls: type[Any], values: Mapping[str, Any], prefix: str, unknown: list[Problem]) -> dict[str, Any]:
    fields = {one.name: one for one in members(cls)}
    kept: dict[str, Any] = {}
    for name, value in values.items():
        one = fields.get(name)
        if one is None:
            path = prefix + visible(str(name), 60)
            unknown.append(Problem(path, "unknown", f"is no argument here{_instead(str(name), fields)}"))
        elif isinstance(one.kind, Nested) and isinstance(value, Mapping):
            kept[name] = _known(one.kind.of, value, f"{prefix}{name}.", unknown)
        elif isinstance(one.kind, Array) and isinstance(one.kind.of, Nested) and isinstance(value, list | tuple):
            inner = one.kind.of.of
            kept[name] = [
                _known(inner, item, f"{prefix}{name}[{i}].", unknown) if isinstance(item, Mapping) else item
                for i, item in enumerate(value)
            ]
        else:
            kept[name] = value
    return kept


def _instead(name: str, fields: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(snake(name), fields, n=1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(fields)}" if fields else ""


def _renamable() -> dict[str, type[Any]]:
    """Return each field that has a wire name of its own, with its record. What stands in a path has none."""
    kinds = [cls for row in OPERATIONS.values() for cls in (row.request, row.answer)]
    in_paths = {(row.request, wire) for row in OPERATIONS.values() for wire in placeholders(row.path)}
    return {
        f"{snake(one.__name__)}.{field.name}": one
        for cls in [*kinds, *(kind.body for kind in EVENT_KINDS.values())]
        for one in records(cls)
        for field in members(one)
        if (one, field.wire) not in in_paths
    }


def wire_name_problems(names: Mapping[str, Any], where: str = "wire_names") -> list[Problem]:
    """Return what is wrong with a table of wire names."""
    known = _renamable() if names else {}
    found = []
    for name, wire in names.items():
        path = f'{where}."{visible(str(name), 80)}"'
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            found.append(Problem(path, "unknown", f"names no field{f'; did you mean {near[0]}?' if near else ''}"))
        elif not isinstance(wire, str) or not wire or not wire.isascii() or not wire.isidentifier():
            found.append(Problem(path, "type", "must be the name of a member, as declineReason"))
        elif wire in _others(known[name], name, names):
            found.append(Problem(path, "twice", f"is {wire!r}, as another member of the record is"))
    return found


def _others(cls: type[Any], name: str, names: Mapping[str, Any]) -> set[Any]:
    """Return the wire names of the other members of a record."""
    keys = {f"{snake(cls.__name__)}.{field.name}": field.wire for field in members(cls)}
    return {names.get(key, wire) for key, wire in keys.items() if key != name}


_OURS = frozenset({KEY_HEADER.lower(), "host", "accept", "accept-encoding", "content-type", "content-length"})


def header_problem(name: object) -> str | None:
    """Return what is wrong with the name of a header of one's own."""
    if not isinstance(name, str) or re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,63}", name) is None:
        return "must be the name of a header"
    return "is a header of the client's own" if name.lower() in _OURS else None
