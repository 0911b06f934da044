"""Read rows from untrusted CSV, JSON, NDJSON, XLSX or Parquet files, without type inference.

Text stays text, including leading zeros and `NA`. Empty cells are omitted. `FULL` means the full amount.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from workbench.analysis.sheets.files import read_records
from workbench.analysis.sheets.records import MAX_DEPTH
from workbench.base.errors import Problem, UsageError, visible
from workbench.base.schema.readers import value_of
from workbench.base.schema.walk import Array, Boolean, Date, Integer, Member, Nested, Numeric, members
from workbench.base.system.limits import FileLimits
from workbench.runs.bulk.spreadsheets import damage


class Body(dict[str, Any]):
    """One row of a file as arguments, with nested records as dictionaries. `row` is its line or row number in the file.

    The repr shows only names, since values may be private. `problems` lists the problems of cells, each with its
    column. `unread` lists the wire paths of cells that could not be converted and therefore have their original values.
    `columns` maps each wire path to its column, as spelled in the file.
    """

    def __init__(self, values: Mapping[str, Any], row: int) -> None:
        super().__init__(values)
        self.row = row
        self.problems: list[Problem] = []
        self.unread: list[str] = []
        self.columns: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<row {self.row}: {', '.join(self)}>"


def raw_bodies(path: Path, limits: FileLimits = FileLimits()) -> list[Body]:
    """Read the rows of a file with names and cells unchanged.

    Raises:
        UsageError: The file cannot be read.
    """
    return [Body(nested(row), number) for number, row in read_records(path, limits)]


def read_cells(rows: Iterable[Body], cls: type[Any]) -> list[Body]:
    """Convert text cells to arguments of a request record. A cell that does not fit becomes a problem of its row."""
    bodies = []
    for row in rows:
        body = Body({}, row.row)
        body.update(_typed(cls, row, body, "", ""))
        bodies.append(body)
    return bodies


def _typed(cls: type[Any], row: Mapping[str, Any], body: Body, column: str, wire: str) -> dict[str, Any]:
    """Return the arguments in a row or nested record, and add its problems to `body`.

    Args:
        column: Prefix of the record's column names, empty for a row.
        wire: Prefix of its wire paths, empty for a row.
    """
    names = {member.name: member for member in members(cls)}
    wires = {member.wire: member for member in members(cls)}
    typed_members: dict[str, Any] = {}
    for key, value in row.items():
        member = names.get(key) or wires.get(key)
        here, path = f"{column}{visible(str(key), 80)}", f"{wire}{member.wire if member else key}"
        if member is None:
            first = str(key).partition(" (column ")[0]  # a repeated column is named "NAME (column N)"
            message = (
                f"is one of several columns named {first}"
                if first in names or first in wires
                else f"is not a member of {cls.__name__} (members: {', '.join(names)})"
            )
            body.problems.append(Problem(here, "unknown", message))
        elif member.name in typed_members:
            body.problems.append(Problem(here, "twice", "is given both by its attribute name and by its wire name"))
        elif isinstance(member.kind, Nested) and isinstance(value, Mapping):
            typed_members[member.name] = _typed(member.kind.of, value, body, f"{here}.", f"{path}.")
        else:
            body.columns[path] = here
            typed_members[member.name] = value
            try:
                typed_members[member.name] = _cell(member, value)
            except ValueError as error:
                body.problems.append(Problem(here, "type", str(error)))
                body.unread.append(path)
    return typed_members


def _cell(member: Member, value: object) -> Any:
    """Return the value of a cell.

    Raises:
        ValueError: The text does not fit the type of the member.
    """
    kind = member.kind
    if isinstance(value, str):
        if (damaged := damage(member, value)) is not None:
            raise ValueError(damaged)
        return value_of(member, value) if isinstance(kind, Integer | Boolean) else value
    number = isinstance(value, int) or type(value).__name__ in {"float", "Decimal"}
    if number and not isinstance(kind, Integer | Boolean | Numeric | Array | Nested):
        what = "a date" if isinstance(kind, Date) else "a number in the file"
        raise ValueError(f"is {what}, not text; write it as text, or its leading zeros may be lost")
    return value


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with dotted columns as nested dictionaries, without None values.

    Raises:
        UsageError: Columns conflict (such as `address` and `address.city`), or a name is too deep.
    """
    body: dict[str, Any] = {}
    for key, value in flat.items():
        if value is None:
            continue
        *parents, last = key.split(".")
        if len(parents) > MAX_DEPTH:
            raise UsageError(f"column {visible(key, 80)} has more than {MAX_DEPTH} dots")
        into = body
        for parent in parents:
            inner = into.setdefault(parent, {})
            if not isinstance(inner, dict):
                raise UsageError(f"columns {visible(key, 80)} and {visible(parent, 80)} conflict")
            into = inner
        into[last] = nested(value) if isinstance(value, Mapping) else value
    return body
