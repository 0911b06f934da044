"""Anything of this package as plain text, as HTML, as a table; a request as a curl command."""

import shlex
from collections.abc import Collection, Sequence
from typing import Any

from workbench.interface import strict_json
from workbench.interface.convert import Converter
from workbench.interface.masks import masked
from workbench.interface.operation import Operation
from workbench.interface.table import KEY_HEADER
from workbench.rendering import text
from workbench.rendering.describe import describe
from workbench.rendering.layout import MAX_ROWS
from workbench.rendering.text import Paint, unpainted


def plain(x: Any, width: int = 100, *, reveal: Collection[str] = (), paint: Paint = unpainted) -> str:
    """Return anything of this package as plain text.

    Args:
        width: Columns of the terminal; prose wraps, ids and addresses never do.
        reveal: Attribute names, or dotted paths, of private members that are shown as they are.
        paint: Colors, `palette.paint` for a terminal.
    """
    return text.write(describe(x, reveal=reveal), width, paint)


def html(x: Any, *, reveal: Collection[str] = ()) -> str:
    """Return anything of this package as static, escaped HTML that reads in light and dark themes."""
    from workbench.rendering import markup  # not at a prompt

    return markup.write(describe(x, reveal=reveal))


def table(
    rows: Sequence[Any], columns: Sequence[str] | None = None, *, width: int = 100, limit: int = MAX_ROWS,
    reveal: Collection[str] = (), paint: Paint = unpainted,
) -> str:  # fmt: skip
    """Return many records, or mappings, as a table of plain text; the rows beyond `limit` are counted.

    Args:
        columns: Dotted attribute names, or keys, in display order; default: all that have a value.
    """
    return text.write(describe(list(rows), reveal=reveal, columns=columns, rows=limit), width, paint)


def html_table(
    rows: Sequence[Any], columns: Sequence[str] | None = None, *, limit: int = MAX_ROWS, reveal: Collection[str] = ()
) -> str:
    """Return many records, or mappings, as an HTML table; the rows beyond `limit` are counted."""
    from workbench.rendering import markup

    return markup.write(describe(list(rows), reveal=reveal, columns=columns, rows=limit))


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
    if not operation.in_query and operation.method != "DELETE":  # as the client sends it, empty or not
        data = shlex.quote(strict_json.dumps(body).decode())
        words += ["-H", shlex.quote("Content-Type: application/json"), "-d", data]
    return " ".join(words)
