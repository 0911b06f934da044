"""Write a call as Python code, as a terminal command, or as curl."""

import shlex
from collections.abc import Mapping
from datetime import date
from typing import Any

from workbench.base.schema import masks, strict_json, walk
from workbench.base.schema.readers import text_of
from workbench.base.schema.rules import Full
from workbench.service.interface.convert import Converter
from workbench.service.interface.naming import command_of
from workbench.service.interface.table import KEY_HEADER, Operation

_LINE_LENGTH = 90


def curl(
    operation: Operation[..., Any], request: object, *, base_url: str, converter: Converter, reveal: bool = False
) -> str:
    """Return a request as a curl command, with the key as a shell variable. Private values are masked unless revealed.

    An incomplete request shows only the members with values. A path parameter without a value shows its name.
    """
    path, body = converter.write_request(operation, request)
    if not reveal:
        body = masks.masked(body, of=operation.request)
    parts = ["curl", "-X", operation.method, shlex.quote(base_url + operation.target(path, body))]
    parts += ["-H", f'"{KEY_HEADER}: $WORKBENCH_API_KEY"']
    if not operation.in_query and operation.method != "DELETE":  # the client sends a body even if the body is empty
        data = shlex.quote(strict_json.dumps(body).decode())
        parts += ["-H", shlex.quote("Content-Type: application/json"), "-d", data]
    return " ".join(parts)


def python(operation: Operation[..., Any], arguments: Mapping[str, Any]) -> str:
    """Return a call as Python code, with nested records as dictionaries. A long call has one line per argument."""
    name = f"api.{operation.name}"
    written = [f"{argument}={_python(value)}" for argument, value in arguments.items()]
    call = f"{name}({', '.join(written)})"
    if len(call) <= _LINE_LENGTH:
        return call
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in written) + ")"


def command(operation: Operation[..., Any], values: Mapping[str, Any]) -> str:
    """Return a call as a terminal command.

    Args:
        values: Values by the dotted paths of the request's members.
    """
    of = dict(walk.leaves(operation.request))
    tokens = ["workbench", *command_of(operation)]
    for path, value in values.items():
        text = text_of(of[path], value)
        option, quoted = f"--{path.replace('_', '-')}", shlex.quote(text)
        tokens += [f"{option}={quoted}"] if text.startswith("-") else [option, quoted]
    return " ".join(tokens)


def _python(value: object) -> str:
    match walk.given(value) if walk.is_record(value) else value:
        case Full():
            return "wb.FULL"
        case Mapping() as members:
            return "{" + ", ".join(f'"{name}": {_python(member)}' for name, member in members.items()) + "}"
        case str() as text:
            plain = text.isascii() and text.isprintable()
            return strict_json.dumps(str(text)).decode() if plain else repr(str(text))
        case date() as day:
            return repr(day.isoformat())
    return repr(value)
