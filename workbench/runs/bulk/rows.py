"""Read rows from untrusted CSV, JSON, NDJSON, XLSX or Parquet files, without type inference.

Text stays text, including leading zeros and `NA`. Empty cells are omitted. `FULL` means the full amount.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from workbench.analysis.sheets.files import Layout, read_records
from workbench.analysis.sheets.records import MAX_DEPTH
from workbench.base.errors import InvalidRequest, Problem, UsageError, not_allowed, visible
from workbench.base.schema.readers import value_of
from workbench.base.schema.walk import Array, Boolean, Date, Integer, Member, Nested, Numeric, camel, members, snake
from workbench.base.system.limits import Limits, limits
from workbench.runs.bulk.spreadsheets import damage
from workbench.service.interface.table import OPERATIONS, Operation

SHOWN = 20
"""Maximum number of problems listed."""


class Body(dict[str, Any]):
    """One row of a file as arguments, with nested records as dictionaries. `row` is its line or row number in the file.

    The repr shows only names, since values may be private. `problems` holds the problems of cells by column. `unread`
    holds the wire paths of cells that do not fit; their values are unconverted. `columns` holds the column of each wire
    path, as spelled in the file.
    """

    def __init__(self, values: Mapping[str, Any], row: int) -> None:
        super().__init__(values)
        self.row = row
        self.problems: list[Problem] = []
        self.unread: list[str] = []
        self.columns: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<row {self.row}: {', '.join(self)}>"


def read_rows(
    path: str | Path,
    operation: object = None,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    max_rows: int | None = None,
    max_columns: int | None = None,
    max_cell: int | None = None,
    max_size: int | None = None,
) -> list[Body]:
    """Read the rows of a file as arguments: dotted columns become nested records, empty cells are omitted.

    Columns may have attribute names or wire names. Text cells of CSV and XLSX files stay text. A number in the file
    (JSON, XLSX, Parquet) is rejected for a text member, because leading zeros may be lost.

    Args:
        path: The file. Its extension selects the format.
        operation: An operation, its name, or a request record: names are checked, and whole numbers, flags and `FULL`
            are converted from text. Without it, cells are not converted; see `typed`.
        encoding: Encoding of a text file; by default found in it.
        separator: Separator of its cells; by default found in it.
        sheet: Name of the sheet of a workbook with several tables.
        max_rows: Maximum number of rows; default 200,000.
        max_columns: Maximum number of columns; default 1,000.
        max_cell: Maximum characters of a cell; default 1,000,000.
        max_size: Approximate maximum size in memory, in bytes; default 500 MB. A small file can unpack to much more.

    Raises:
        InvalidRequest: The file cannot be read, or its cells do not fit; `problems` name rows and columns.
        UsageError: The file cannot be read.
    """
    allowed = limits(Limits(), rows=max_rows, columns=max_columns, cell=max_cell, size=max_size)
    rows = raw_bodies(path, allowed, Layout(encoding=encoding, separator=separator, sheet=sheet))
    if operation is None:
        return [Body(_snaked(row), row.row) for row in rows]
    return typed(rows, operation)


def raw_bodies(path: str | Path, limits: Limits = Limits(), layout: Layout = Layout()) -> list[Body]:
    """Read the rows of a file with names and cells unchanged.

    Raises:
        UsageError: The file cannot be read.
    """
    return [Body(nested(row), number) for number, row in read_records(Path(path), limits, layout)]


def typed(rows: Iterable[Mapping[str, Any]], operation: object) -> list[Body]:
    """Convert rows of text to arguments of an operation: whole numbers, booleans and `FULL`.

    Args:
        rows: The rows, from `read_rows` or as mappings.
        operation: An operation, its name, or a request record.

    Raises:
        InvalidRequest: Cells do not fit; `problems` name the row and column of each, never the value.
    """
    cells = read_cells(rows, operation)
    problems = [
        Problem(f"row {body.row}, {problem.path}", problem.rule, problem.message)
        for body in cells
        for problem in body.problems
    ]
    if problems:
        more = len(problems) - SHOWN
        if more > 0:
            problems[SHOWN:] = [Problem("", "more", f"and {more:,} more")]
        raise InvalidRequest(problems)
    return cells


def read_cells(rows: Iterable[Mapping[str, Any]], operation: object) -> list[Body]:
    """Convert rows of text to arguments; each row has the problems of cells that do not fit."""
    cls = _request(operation)
    bodies = []
    for i, row in enumerate(rows, 1):
        body = Body({}, getattr(row, "row", i))
        body.update(_typed(cls, row, body, "", ""))
        bodies.append(body)
    return bodies


def _request(operation: object) -> type[Any]:
    if isinstance(operation, str):
        if operation not in OPERATIONS:
            raise UsageError([not_allowed("operation", operation, OPERATIONS)], of="bulk.load_bodies")
        operation = OPERATIONS[operation]
    operation = getattr(operation, "operation", operation)  # a bound method of a client
    request = operation.request if isinstance(operation, Operation) else operation
    if not isinstance(request, type) or not attrs.has(request):
        raise UsageError([Problem("operation", "type", "must be an operation or a request record")], of="read_rows")
    return request


def _typed(cls: type[Any], row: Mapping[str, Any], body: Body, column: str, wire: str) -> dict[str, Any]:
    """Return the arguments of a row or a part of it, and add its problems; `column` and `wire` are name prefixes."""
    names = {member.name: member for member in members(cls)}
    wires = {member.wire: member for member in members(cls)}
    typed_members: dict[str, Any] = {}
    for key, value in row.items():
        member = names.get(key) or wires.get(key)
        here, path = f"{column}{visible(str(key), 80)}", f"{wire}{member.wire if member else key}"
        if member is None:
            message = f"is not a member of {cls.__name__} (members: {', '.join(names)})"
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
    """Return a row of dotted columns as nested dictionaries, without those that are None.

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


def _snaked(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        (snake(k) if camel(snake(k)) == k else k): _snaked(v) if isinstance(v, Mapping) else v for k, v in row.items()
    }
