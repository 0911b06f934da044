"""Rows for bulk work from CSV, JSON, NDJSON, XLSX or Parquet; no types are inferred.

Text stays text, so leading zeros are kept and `NA` is a word; an empty cell is left out; `FULL` is the full amount.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from workbench.errors import InvalidRequest, Problem, visible
from workbench.interface import strict_json
from workbench.interface.operation import Operation
from workbench.interface.table import OPERATIONS
from workbench.interface.text import value_of
from workbench.interface.walk import Array, Boolean, Date, Integer, Member, Nested, Numeric, camel, members, snake
from workbench.tables import sheets

SHOWN = 20
"""Problems listed at most."""


class Body(dict[str, Any]):
    """One row of a file as arguments, with nested records as dictionaries. `row` is its line or row number in the file.

    Its repr shows the names only, since the values may be private. `unread` holds the wire paths of cells that do not
    fit; their values are kept as they came.
    """

    row: int

    def __init__(self, values: Mapping[str, Any], row: int, unread: Iterable[str] = ()) -> None:
        super().__init__(values)
        self.row = row
        self.unread = frozenset(unread)

    def __repr__(self) -> str:
        return f"<row {self.row}: {', '.join(self)}>"


def load(
    path: str | Path, operation: Any = None, *, max_rows: int | None = None, max_columns: int | None = None,
    max_cell: int | None = None, max_size: int | None = None,
) -> list[Body]:  # fmt: skip
    """Read the rows of a file as arguments: dotted columns become nested records, empty cells are left out.

    Columns may have attribute names or wire names. CSV and XLSX cells are read as text whatever they look like; a number
    in the file (JSON, XLSX, Parquet) is refused for a text member, since its leading zeros may be lost.

    Args:
        path: The file; its extension is the format.
        operation: An operation, its name, or a request record: names are checked, and whole numbers, flags and `FULL`
            are read from text. Without it every cell stays as it is; see `typed`.
        max_rows: Rows at most; 200,000 without it.
        max_columns: Columns at most; 1,000 without it.
        max_cell: Characters of a cell at most; a million without it.
        max_size: Bytes in memory at most, about; 500 MB without it. A small file can unpack to much more.

    Raises:
        InvalidRequest: The file cannot be read, or its cells do not fit; `problems` name rows and columns.
        FileNotFoundError: There is no such file.
    """
    given = {"rows": max_rows, "columns": max_columns, "cell": max_cell, "size": max_size}
    rows = raw_bodies(path, sheets.Limits(**{name: limit for name, limit in given.items() if limit is not None}))
    if operation is None:
        return [Body(_snaked(row), row.row) for row in rows]
    return typed(rows, operation)


def raw_bodies(path: str | Path, limits: sheets.Limits = sheets.Limits()) -> list[Body]:
    """Read the rows of a file, names and cells unchanged.

    Raises:
        InvalidRequest: The file cannot be read.
        FileNotFoundError: There is no such file.
    """
    path = Path(path)
    size = path.stat().st_size
    if size > limits.file:
        raise InvalidRequest(f"{path.name} has {size:,} bytes (maximum {limits.file:,})")
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise InvalidRequest(f"{path.name}: unsupported file extension (supported: {', '.join(_READERS)})")
    try:
        return [Body(nested(row), number) for number, row in sheets.limited(read(path, limits), limits)]
    except sheets.BadSheet as error:
        raise InvalidRequest(f"{path.name}: {error}") from None


def typed(rows: Iterable[Mapping[str, Any]], operation: Any) -> list[Body]:
    """Convert rows of text to arguments of an operation: whole numbers, booleans and `FULL`.

    Args:
        rows: The rows, from `load` or as mappings.
        operation: An operation, its name, or a request record.

    Raises:
        InvalidRequest: Cells do not fit; `problems` name the row and column of each, never the value.
    """
    made, problems = read_cells(rows, operation)
    if problems:
        more = len(problems) - SHOWN
        if more > 0:
            problems[SHOWN:] = [Problem("", "more", f"and {more:,} more")]
        raise InvalidRequest(problems)
    return made


def read_cells(rows: Iterable[Mapping[str, Any]], operation: Any) -> tuple[list[Body], list[Problem]]:
    """Return rows of text as arguments, and the problems of cells that do not fit."""
    cls = _request(operation)
    problems: list[Problem] = []
    made = []
    for i, row in enumerate(rows, 1):
        number = getattr(row, "row", i)
        unread: list[str] = []
        made.append(Body(_typed(cls, row, _At(number, "", ""), problems, unread), number, unread))
    return made, problems


def _request(operation: Any) -> type[Any]:
    if isinstance(operation, str):
        if operation not in OPERATIONS:
            raise InvalidRequest(f"unknown operation {visible(operation, 80)} (known: {', '.join(OPERATIONS)})")
        operation = OPERATIONS[operation]
    operation = getattr(operation, "operation", operation)  # a bound method of a client
    return operation.request if isinstance(operation, Operation) else operation


@attrs.frozen
class _At:
    """A place in a row: the row's number, and the path of a member as the file and as the wire name it."""

    number: int
    column: str
    wire: str

    def problem(self, rule: str, message: str) -> Problem:
        return Problem(f"row {self.number}, {self.column}", rule, message)


def _typed(
    cls: type[Any], row: Mapping[str, Any], at: _At, problems: list[Problem], unread: list[str]
) -> dict[str, Any]:  # fmt: skip
    names = {member.name: member for member in members(cls)}
    wires = {member.wire: member for member in members(cls)}
    made: dict[str, Any] = {}
    for key, value in row.items():
        member = names.get(key) or wires.get(key)
        here = _At(at.number, f"{at.column}{visible(str(key), 80)}", f"{at.wire}{member.wire if member else key}")
        if member is None:
            may = ", ".join(names)
            problems.append(here.problem("unknown", f"is not a member of {cls.__name__} (members: {may})"))
        elif member.name in made:
            problems.append(here.problem("twice", "is given twice, by its attribute name and its wire name"))
        elif isinstance(member.kind, Nested) and isinstance(value, Mapping):
            inside = _At(at.number, f"{here.column}.", f"{here.wire}.")
            made[member.name] = _typed(member.kind.of, value, inside, problems, unread)
        else:
            made[member.name] = value
            try:
                made[member.name] = _cell(member, value)
            except ValueError as error:
                problems.append(here.problem("type", str(error)))
                unread.append(here.wire)
    return made


def _cell(member: Member, value: Any) -> Any:
    """Return the value of a cell.

    Raises:
        ValueError: It does not fit.
    """
    kind = member.kind
    if isinstance(value, str):
        return value_of(member, value) if isinstance(kind, Integer | Boolean) else value
    number = isinstance(value, int) or type(value).__name__ in {"float", "Decimal"}
    if number and not isinstance(kind, Integer | Boolean | Numeric | Array | Nested):
        what = "a date" if isinstance(kind, Date) else "a number in the file"
        raise ValueError(f"is {what}, not text; write it as text, or its leading zeros may be lost")
    return value


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of dotted columns as nested dictionaries, without those that are None.

    Raises:
        InvalidRequest: A column and a part of it are both given.
    """
    made: dict[str, Any] = {}
    for key, value in flat.items():
        if value is None:
            continue
        *parents, last = key.split(".")
        into = made
        for parent in parents:
            inner = into.setdefault(parent, {})
            if not isinstance(inner, dict):
                raise InvalidRequest(f"columns {visible(key, 80)} and {visible(parent, 80)} conflict")
            into = inner
        into[last] = nested(value) if isinstance(value, Mapping) else value
    return made


def _snaked(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        (snake(k) if camel(snake(k)) == k else k): _snaked(v) if isinstance(v, Mapping) else v for k, v in row.items()
    }  # fmt: skip


# JSON


def _json(path: Path, _: sheets.Limits) -> sheets.Rows:
    try:
        rows = strict_json.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except strict_json.NotJson as error:
        raise sheets.BadSheet(str(error)) from None
    if not isinstance(rows, list):
        raise sheets.BadSheet("must hold a list of objects")
    for i, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise sheets.BadSheet(f"item {i} is not an object")
        yield i, row


def _ndjson(path: Path, _: sheets.Limits) -> sheets.Rows:
    for i, line in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = strict_json.loads(line)
        except strict_json.NotJson as error:
            raise sheets.BadSheet(f"line {i}: {error}") from None
        if not isinstance(row, Mapping):
            raise sheets.BadSheet(f"line {i} is not an object")
        yield i, row


_READERS = {
    ".csv": sheets.csv_rows, ".xlsx": sheets.xlsx_rows, ".parquet": sheets.parquet_rows, ".json": _json,
    ".ndjson": _ndjson, ".jsonl": _ndjson,
}  # fmt: skip
