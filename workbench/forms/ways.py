"""The same call in four other ways: Python, the terminal, curl, and a step of a sequence. Private values are masked."""

import shlex
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from workbench.forms.draft import Draft
from workbench.interface import masks, strict_json
from workbench.interface.rules import Full
from workbench.rendering import curl as faces_curl
from workbench.sequences import Parameter, Sequence, Step, dumps, param

_ONE_LINE = 90


def python(draft: Draft) -> str:
    """Return the call as Python."""
    name = f"api.{draft.operation.name}"
    arguments = [f"{key}={_literal(value)}" for key, value in masked(draft).items()]
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= _ONE_LINE:
        return line
    return f"{name}(\n" + "".join(f"    {one},\n" for one in arguments) + ")"


def _literal(value: Any) -> str:
    match value:
        case Full():
            return "wb.FULL"
        case Mapping():
            return "{" + ", ".join(f'"{key}": {_literal(one)}' for key, one in value.items()) + "}"
        case str():
            return (
                strict_json.dumps(str(value)).decode() if value.isascii() and value.isprintable() else repr(str(value))
            )
        case date():
            return repr(value.isoformat())
    return repr(value)


def terminal(draft: Draft) -> str:
    """Return the call as a command."""
    words = ["workbench", draft.operation.name]
    for path, value in _flat(masked(draft)):
        words += [f"--{path.replace('_', '-')}", shlex.quote(_typed(value))]
    return " ".join(words)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _typed(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "FULL" if isinstance(value, Full) else value.isoformat() if isinstance(value, date) else str(value)


def curl(draft: Draft, api: Any) -> str:
    """Return the call as a curl command; the key is a variable of the shell."""
    return faces_curl.curl(draft.operation, draft.record(), base_url=api.base_url, converter=api.converter)


def step(draft: Draft) -> Sequence:
    """Return the call as a sequence of one step; private values are parameters of the run, so none is in its file."""
    private: list[Parameter] = []

    def taken(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, value in values.items():
            path = prefix + name
            if isinstance(value, Mapping):
                made[name] = taken(value, f"{path}.")
            elif draft.private(path):
                called = path.replace(".", "_")
                private.append(Parameter(name=called, doc=draft.leaves[path].member.about.doc))
                made[name] = param(called)
            else:
                made[name] = value
        return made

    name = draft.operation.name
    arguments = taken(draft.nested(), "")
    return Sequence(name=name, steps=(Step(name=name, do=name, arguments=arguments),), parameters=tuple(private))


def toml(draft: Draft) -> str:
    """Return the call as the text of a sequence file."""
    return dumps(step(draft))


def masked(draft: Draft, prefix: str = "", values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what is given, nested by attribute name, with dots for what is private."""
    made: dict[str, Any] = {}
    for name, value in (draft.nested() if values is None else values).items():
        if isinstance(value, Mapping):
            if value:
                made[name] = masked(draft, f"{prefix}{name}.", value)
        else:
            made[name] = masks.DOTS if draft.private(prefix + name) else value
    return made
