"""Output of commands: a table for people, and JSON, NDJSON or CSV for programs. Private values are masked."""

import os
import re
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import compress
from typing import Annotated, Any, Literal

import attrs
from cyclopts import Group, Parameter

from workbench.base.errors import visible
from workbench.base.frozen import frozen
from workbench.base.schema import strict_json
from workbench.base.schema.walk import (
    Array,
    flat,
    get_path,
    is_record,
    leaves,
    members,
    records,
    snake,
)
from workbench.service import rendering
from workbench.service.interface.events import Event
from workbench.service.rendering.data import csv_text, json_values
from workbench.service.rendering.show import event_row, present_columns
from workbench.service.rendering.text import LIKENESS, Cell, Grid, screen_of, write
from workbench.terminal.exits import say, usage_error

Format = Literal["table", "json", "ndjson", "csv"]
_LONG_COLUMN = 26  # wider columns (in characters), such as ids and addresses, are shown last


@Parameter(name="*", group=Group("Output", sort_key=9))
@frozen(kw_only=True)
class Output:
    """Options for the output.

    Attributes:
        output: Output format.
        fields: Show only these members, separated by commas, such as id,address.city or tokens.balance.
        full: Show every member of each item in a list. The default is one row per item, at terminal width.
        reveal: Show private values unmasked.
    """

    output: Annotated[Format, Parameter(name=("--output", "-o", "--format"))] = "table"
    fields: Annotated[str | None, Parameter(metavar="NAMES")] = None
    full: bool = False
    reveal: bool = False


def show(x: Any, how: Output) -> None:
    """Print a record, a list of records, or plain data to stdout.

    Raises:
        Exit: A requested field does not exist.
    """
    fields = [name.strip().replace("-", "_") for name in (how.fields or "").split(",") if name.strip()]
    for field in fields:
        _require(x, field)
    if how.output == "table":
        page(_table(x, fields, how))
        return
    many = isinstance(x, list)
    rows = [_row(item, fields, how) for item in x] if many else [_row(x, fields, how)]
    match how.output:
        case "json":
            print(strict_json.printable(rows if many else rows[0]))
        case "ndjson":
            for row in rows:
                print(strict_json.printable(row))
        case "csv":
            sys.stdout.write(csv_text(rows))


def page(text: str) -> None:
    """Print text. Text that is taller than the terminal goes to the pager ($PAGER, or else less), as in git and gh."""
    if sys.stdout.isatty() and sys.stdin is not None and sys.stdin.isatty():
        import shutil  # imported late, since few commands use a pager
        import subprocess

        pager = shlex.split(os.environ.get("PAGER", "less"))
        if pager and text.count("\n") + 2 > shutil.get_terminal_size().lines and shutil.which(pager[0]):
            environ = {"LESS": "FRX", "LESSSECURE": "1", **os.environ}
            subprocess.run(pager, input=f"{text}\n", text=True, check=False, env=environ, errors=LIKENESS)
            return
    print(text)


def _table(x: object, fields: list[str], how: Output) -> str:
    screen = screen_of(sys.stdout)
    x = _opened(x) if how.reveal else x
    rows: list[Any] = x if isinstance(x, list) else [x]
    kinds = {type(row) for row in rows if is_record(row)}
    reveal = _private(kinds) if how.reveal else ()
    columns: list[str] | None = None
    is_one_kind = len(kinds) == 1 and all(map(is_record, rows))
    if fields:
        columns = [".".join(map(snake, field.split("."))) for field in fields]
        if not (is_one_kind and _single(*kinds).issuperset(columns)):
            rows, columns = [_row(row, fields, how) for row in rows], fields
        return rendering.table(rows, columns, limit=len(rows), width=screen.width, reveal=reveal, paint=screen.paint)
    if not isinstance(x, list):
        return rendering.plain(x, width=screen.width, reveal=reveal, paint=screen.paint)
    is_narrow = not how.full and (len(rows) > 1 or kinds == {Event})
    if is_narrow and kinds == {Event} and is_one_kind:
        rows = [event_row(row, reveal=bool(reveal)) for row in rows]
    elif is_narrow and is_one_kind:
        columns = [name for name in present_columns(type(rows[0]), rows) if "." not in name]
    else:
        is_narrow = is_narrow and all(isinstance(row, Mapping) and "id" in row for row in rows)
    block = rendering.describe(rows, reveal=reveal, columns=columns, rows=len(rows))
    narrowed = _narrowed(block, screen.width) if is_narrow and isinstance(block, Grid) else block
    return write(narrowed, screen.width, screen.paint)


def _private(kinds: Collection[type[Any]]) -> set[str]:
    """Return the names of all members of record classes and their nested records, to show all values unmasked."""
    names = {"extra"}
    for kind in kinds:
        for record in records(kind):
            names.update(member.name for member in members(record))
    return names


_IDS = frozenset({"id", "about"})
"""Columns that identify a row, or the record that an event is about."""


def _length(head: str, cells: Sequence[Cell]) -> int:
    """Return the width of a column. A cell with several lines makes the column too wide for any terminal."""
    return max(len(head), *(len(cell.text) if len(cell.lines) == 1 else sys.maxsize for cell in cells))


def _narrowed(grid: Grid, width: int) -> Grid:
    """Return a grid with the columns that fit a line: the id always, and then short columns."""
    columns = zip(grid.columns, zip(*grid.rows, strict=True), strict=True)
    lengths = {head: _length(head, cells) for head, cells in columns}
    chosen: set[str] = set()
    left = width
    for head in sorted(lengths, key=lambda head: (head not in _IDS, lengths[head] > _LONG_COLUMN)):
        if not chosen or lengths[head] <= left:
            chosen.add(head)
            left -= lengths[head] + 2
    if hidden := [head for head in grid.columns if head not in chosen]:
        say(f"Not shown: {', '.join(hidden)}. Use --full or --fields NAMES.")
    is_shown = [head in chosen for head in grid.columns]
    rows = tuple(tuple(compress(row, is_shown)) for row in grid.rows)
    return attrs.evolve(grid, columns=tuple(compress(grid.columns, is_shown)), rows=rows)


def _single(kind: type[Any]) -> set[str]:
    """Return the dotted paths of a record's members outside lists."""
    fields = dict(leaves(kind))
    lists = tuple(f"{path}." for path, field in fields.items() if isinstance(field.kind, Array))
    return {path for path in fields if not path.startswith(lists)}


def _opened(x: object) -> Any:
    """Return the plain mappings that a masked object wraps."""
    if isinstance(x, list):
        return [_opened(item) for item in x]
    if isinstance(x, Mapping):
        return {name: _opened(value) for name, value in x.items()}
    return x


def _require(x: object, field: str) -> None:
    """Raise Exit if neither x nor any nested value can have the field."""
    paths = dict.fromkeys(path for item in (x if isinstance(x, list) else [x]) for path in _paths(item))
    name = ".".join(snake(part) for part in field.split(".") if not part.isdecimal())
    if paths and not any(f"{path}.".startswith(f"{name}.") for path in paths):
        allowed = ", ".join(dict.fromkeys(path.partition(".")[0] for path in paths))
        raise usage_error(f"--fields {visible(field, 100)}: no such member; allowed: {allowed}.")


def _paths(item: object) -> Iterator[str]:
    """Yield the dotted paths of a value's actual and possible members, without indexes."""
    if is_record(item):
        yield from (path for path, _ in leaves(type(item)))
    for path, _ in flat(json_values(item, reveal=True), items=True):
        yield ".".join(map(snake, re.sub(r"\[\d+\]", "", path).lstrip(".").split(".")))


def _row(item: object, fields: list[str], how: Output) -> Any:
    data = json_values(item, reveal=how.reveal)
    return {field: pick(data, field.split(".")) for field in fields} if fields else data


def pick(x: object, way: list[str]) -> Any:
    """Return the value at a path of names. For a list without an index, return the values of all items."""
    if not way:
        return x
    if isinstance(x, list) and not way[0].isdecimal():
        return [pick(item, way) for item in x]
    return pick(get_path(x, way[0]), way[1:])
