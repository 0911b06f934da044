"""A sequence of one call whose private members are parameters, so that its file contains no private value."""

from collections.abc import Mapping
from typing import Any

from workbench.base.schema import walk
from workbench.base.schema.fields import OPEN
from workbench.runs.sequences.sequence import Param, Parameter, Sequence, Step
from workbench.service.interface.table import OPERATIONS


def application(person: Mapping[str, Any]) -> Sequence:
    """Return a sequence that sends a person's application."""
    parameters: list[Parameter] = []
    arguments = _arguments(OPERATIONS["create_user_application"].request, person, parameters)
    step = Step(name="apply", do="create_user_application", arguments=arguments)
    return Sequence(name="application", doc="", parameters=tuple(parameters), steps=(step,))


def _arguments(cls: type[Any], values: Mapping[str, Any], parameters: list[Parameter]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for member in walk.members(cls):
        value = values.get(member.name)
        inner = walk.record_of(member.kind)
        if inner is not None and isinstance(value, Mapping):
            arguments[member.name] = _arguments(inner, value, parameters)
        elif value is not None and member.about.privacy is not OPEN:
            kind: Any = "date" if isinstance(member.kind, walk.Date) else "text"
            parameters.append(Parameter(name=member.name, type=kind, doc=member.about.doc))
            arguments[member.name] = Param(member.name)
        elif value is not None:
            arguments[member.name] = value
    return arguments
