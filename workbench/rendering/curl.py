"""How a request looks as a curl command."""

import shlex
from typing import Any

from workbench.interface import strict_json
from workbench.interface.convert import Converter
from workbench.interface.masks import masked
from workbench.interface.operation import Operation
from workbench.interface.table import KEY_HEADER


def curl(
    operation: Operation[..., Any], request: Any, *, base_url: str, converter: Converter, reveal: bool = False
) -> str:
    """Return a request as a curl command: the key is a variable of the shell, private values masked unless revealed.

    A request that is not whole yet is shown as far as it goes; a place of the path that has no value keeps its name.
    """
    path, body = converter.write_request(operation, request)
    if not reveal:
        body = masked(body, of=operation.request)
    words = ["curl", "-X", operation.method, shlex.quote(base_url + operation.target(path, body))]
    words += ["-H", f'"{KEY_HEADER}: $WORKBENCH_API_KEY"']
    if body and not operation.in_query:
        data = shlex.quote(strict_json.dumps(body).decode())
        words += ["-H", shlex.quote("Content-Type: application/json"), "-d", data]
    return " ".join(words)
