"""Rows for bulk work from CSV, JSON, NDJSON, XLSX or Parquet; no types are inferred.

Text stays text, so leading zeros are kept and `NA` is a word; an empty cell is left out; `FULL` is the full amount.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from workbench.errors import InvalidRequest, Problem, visible
from workbench.interface import strict_json
from workbench.interface.readers import value_of
from workbench.interface.table import OPERATIONS, Operation
from workbench.interface.walk import Array, Boolean, Date, Integer, Member, Nested, Numeric, camel, members, snake
from workbench.tables import sheets

SHOWN = 20
"""Problems listed at most."""
MAX_DEPTH = 20
"""Dots in the name of a column at most; a request is three levels deep."""


class Body(dict[str, Any]):
    """One row of a file as arguments, with nested records as dictionaries. `row` is its line or row number in the file.

    Its repr shows the names only, since the values may be private. `problems` are those of its cells, by column, and
    `unread` holds the wire paths of cells that do not fit; their values are kept as they came. `columns` holds the
    column of each wire path, in the file's own spelling.
    """

    row: int
    problems: Sequence[Problem] = ()
    unread: frozenset[str] = frozenset()
    columns: Mapping[str, str] = MappingProxyType({})

    def __init__(self, values: Mapping[str, Any], row: int) -> None:
        super().__init__(values)
        self.row = row

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
    made = read_cells(rows, operation)
    problems = [Problem(f"row {body.row}, {one.path}", one.rule, one.message) for body in made for one in body.problems]
    if problems:
        more = len(problems) - SHOWN
        if more > 0:
            problems[SHOWN:] = [Problem("", "more", f"and {more:,} more")]
        raise InvalidRequest(problems)
    return made


def read_cells(rows: Iterable[Mapping[str, Any]], operation: Any) -> list[Body]:
    """Return rows of text as arguments, each with the problems of its cells that do not fit."""
    cls = _request(operation)
    made = []
    for i, row in enumerate(rows, 1):
        found = _Found()
        body = Body(_typed(cls, row, found, "", ""), getattr(row, "row", i))
        body.problems, body.unread, body.columns = found.problems, frozenset(found.unread), found.columns
        made.append(body)
    return made


def _request(operation: Any) -> type[Any]:
    if isinstance(operation, str):
        if operation not in OPERATIONS:
            raise InvalidRequest(f"unknown operation {visible(operation, 80)} (known: {', '.join(OPERATIONS)})")
        operation = OPERATIONS[operation]
    operation = getattr(operation, "operation", operation)  # a bound method of a client
    return operation.request if isinstance(operation, Operation) else operation


class _Found:
    """What is found while one row is read; see `Body`."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.unread: list[str] = []
        self.columns: dict[str, str] = {}


def _typed(cls: type[Any], row: Mapping[str, Any], found: _Found, column: str, wire: str) -> dict[str, Any]:
    """Return the arguments of a row, or of a part of it; `column` and `wire` are in front of its names."""
    names = {member.name: member for member in members(cls)}
    wires = {member.wire: member for member in members(cls)}
    made: dict[str, Any] = {}
    for key, value in row.items():
        member = names.get(key) or wires.get(key)
        here, path = f"{column}{visible(str(key), 80)}", f"{wire}{member.wire if member else key}"
        if member is None:
            message = f"is not a member of {cls.__name__} (members: {', '.join(names)})"
            found.problems.append(Problem(here, "unknown", message))
        elif member.name in made:
            found.problems.append(Problem(here, "twice", "is given twice, by its attribute name and its wire name"))
        elif isinstance(member.kind, Nested) and isinstance(value, Mapping):
            made[member.name] = _typed(member.kind.of, value, found, f"{here}.", f"{path}.")
        else:
            found.columns[path] = here
            made[member.name] = value
            try:
                made[member.name] = _cell(member, value)
            except ValueError as error:
                found.problems.append(Problem(here, "type", str(error)))
                found.unread.append(path)
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
        InvalidRequest: A column and a part of it are both given, or a name is too deep.
    """
    made: dict[str, Any] = {}
    for key, value in flat.items():
        if value is None:
            continue
        *parents, last = key.split(".")
        if len(parents) > MAX_DEPTH:
            raise InvalidRequest(f"column {visible(key, 80)} has more than {MAX_DEPTH} dots")
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
        rows = strict_json.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"), MAX_DEPTH + 1)
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
            row = strict_json.loads(line, MAX_DEPTH)
        except strict_json.NotJson as error:
            raise sheets.BadSheet(f"line {i}: {error}") from None
        if not isinstance(row, Mapping):
            raise sheets.BadSheet(f"line {i} is not an object")
        yield i, row


_READERS = {
    ".csv": sheets.csv_rows, ".xlsx": sheets.xlsx_rows, ".parquet": sheets.parquet_rows, ".json": _json,
    ".ndjson": _ndjson, ".jsonl": _ndjson,
}  # fmt: skip
