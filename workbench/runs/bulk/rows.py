"""Read rows from untrusted CSV, JSON, NDJSON, XLSX or Parquet files, without type inference.

Text stays text, including leading zeros and `NA`. Empty cells are omitted. `FULL` means the full amount.
"""

import csv
import io
import math
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs

from workbench.base.errors import InvalidRequest, Problem, UsageError, not_allowed, visible
from workbench.base.schema import strict_json
from workbench.base.schema.readers import value_of
from workbench.base.schema.walk import Array, Boolean, Date, Integer, Member, Nested, Numeric, camel, members, snake
from workbench.base.system.limits import (
    MAX_RATIO,
    LimitExceeded,
    Limits,
    limits,
    too_large,
    too_many_columns,
    too_many_rows,
)
from workbench.runs.bulk.spreadsheets import damage
from workbench.service.interface.table import OPERATIONS, Operation

SHOWN = 20
"""Maximum number of problems listed."""
MAX_DEPTH = 20
"""Maximum number of dots in a column name; a request is three levels deep."""
_SHEET_ROWS = 1_048_576
_CELL = 100  # bytes of memory that a cell takes besides its text
_ENCODING = re.compile(rb"""encoding\s*=\s*["']([^"']*)""")
Rows = Iterator[tuple[int, Mapping[str, Any]]]
_GUARDED = re.compile(r"'(?= *[=+\-@\t\r\n＝＋－＠]|')")
"""Quote that `to_file` puts before text that a spreadsheet would run."""


class BadSheet(LimitExceeded):
    """A file that cannot be read as rows; `read_rows` raises it as InvalidRequest."""


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
        max_rows: Maximum number of rows; default 200,000.
        max_columns: Maximum number of columns; default 1,000.
        max_cell: Maximum characters of a cell; default 1,000,000.
        max_size: Approximate maximum size in memory, in bytes; default 500 MB. A small file can unpack to much more.

    Raises:
        InvalidRequest: The file cannot be read, or its cells do not fit; `problems` name rows and columns.
        FileNotFoundError: The file does not exist.
    """
    rows = raw_bodies(path, limits(Limits(), rows=max_rows, columns=max_columns, cell=max_cell, size=max_size))
    if operation is None:
        return [Body(_snaked(row), row.row) for row in rows]
    return typed(rows, operation)


def raw_bodies(path: str | Path, limits: Limits = Limits()) -> list[Body]:
    """Read the rows of a file with names and cells unchanged.

    Raises:
        UsageError: The file cannot be read.
        FileNotFoundError: The file does not exist.
    """
    path = Path(path)
    size = path.stat().st_size
    if size > limits.file:
        raise UsageError(f"{path.name} has {size:,} bytes (maximum {limits.file:,})")
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise UsageError(f"{path.name}: unsupported file extension (supported: {', '.join(_READERS)})")
    try:
        return [Body(nested(row), number) for number, row in limited(read(path, limits), limits)]
    except LimitExceeded as error:
        raise UsageError(f"{path.name}: {error}") from None


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


def _request(operation: Any) -> type[Any]:
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


# -- files


def limited(rows: Rows, limits: Limits) -> Rows:
    """Yield rows until a limit is exceeded.

    Raises:
        BadSheet: A limit is exceeded; the message names it.
    """
    size = 0
    for count, (number, row) in enumerate(rows, 1):
        if count > limits.rows:
            raise too_many_rows(count, limits)
        if len(row) > limits.columns:
            raise too_many_columns(len(row), limits)
        for value in row.values():
            length = len(value) if isinstance(value, str) else 0
            if length > limits.cell:
                raise BadSheet(f"row {number}: {length:,} characters in a cell (maximum max_cell={limits.cell:,})")
            size += length + _CELL
        if size > limits.size:
            raise too_large(limits)
        yield number, row


def csv_rows(path: Path, limits: Limits) -> Rows:
    """Yield the rows of a CSV file: UTF-8 with or without a byte order mark, separated by comma, semicolon or tab."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise BadSheet(f"line {line}: not UTF-8; save the file as UTF-8") from None
    if "\0" in text:
        raise BadSheet(f"line {text[: text.index(chr(0))].count(chr(10)) + 1}: holds a NUL character")
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    before = csv.field_size_limit(limits.cell)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names: list[str] | None = None
        start = 1
        for row in reader:
            line, start = start, reader.line_num + 1
            cells = [_GUARDED.sub("", cell, count=1) for cell in row]
            if not any(cells):
                continue
            if names is None:
                names = _names(cells, limits)
                continue
            if len(cells) > len(names):
                raise BadSheet(f"line {line}: {len(cells)} cells for {len(names)} columns")
            yield line, {name: cell for name, cell in zip(names, cells, strict=False) if cell != ""}
    except csv.Error as error:
        limit = f" (maximum max_cell={limits.cell:,})" if "field larger" in str(error) else ""
        raise BadSheet(f"line {reader.line_num}: {error}{limit}") from None
    finally:
        csv.field_size_limit(before)


def _names(cells: list[str], limits: Limits) -> list[str]:
    names = [cell.strip() for cell in cells]
    while names and not names[-1]:
        names.pop()
    if len(names) > limits.columns:
        raise too_many_columns(len(names), limits)
    if not all(names):
        raise BadSheet("a column of the first line has no name")
    twice = sorted(visible(name, 80) for name, count in Counter(names).items() if count > 1)
    if twice:
        raise BadSheet(f"duplicate column: {', '.join(twice)}")
    return names


def xlsx_rows(path: Path, limits: Limits) -> Rows:
    """Yield the rows of the first sheet of an XLSX file: text as text, numbers as int or Decimal, dates as ISO text."""
    import openpyxl  # only this format needs it

    names: list[str] | None = None
    number, before = 0, None
    try:
        with zipfile.ZipFile(path) as file:
            _check_parts(file, limits)
        with warnings.catch_warnings(action="ignore"), path.open("rb") as data:
            sheet = openpyxl.load_workbook(data, read_only=True).worksheets[0]
            for number, row in enumerate(sheet.iter_rows(max_row=_SHEET_ROWS), 1):
                if row is before:  # an empty row that represents all missing ones; there may be a million
                    continue
                before = row
                if len(row) > limits.columns:
                    raise too_many_columns(len(row), limits)
                cells = [_sheet_value(cell, number) for cell in row]
                if all(value is None or value == "" for value in cells):
                    continue
                if names is None:
                    names = _names(["" if value is None else str(value) for value in cells], limits)
                    continue
                given = {at: value for at, value in enumerate(cells) if value is not None and value != ""}
                if max(given) >= len(names):
                    raise BadSheet(f"row {number}: a cell is in a column without a name")
                yield number, {names[at]: value for at, value in given.items()}
    except LimitExceeded:
        raise
    except Exception as error:  # noqa: BLE001 - a file that is not trusted can make the reader fail in any way
        where = f"after row {number}: " if number else ""
        raise BadSheet(f"{where}not a readable XLSX file ({type(error).__name__})") from None


def _check_parts(file: zipfile.ZipFile, limits: Limits) -> None:
    """Check the parts of an XLSX file for excessive unpacked size and for entity declarations.

    Raises:
        BadSheet: A part is not allowed; the message gives the reason.
    """
    infos = file.infolist()
    unpacked = sum(info.file_size for info in infos)
    if unpacked > limits.size:
        raise too_large(limits)
    if any(info.file_size > MAX_RATIO * max(info.compress_size, 5_000) for info in infos):
        raise BadSheet(f"unpacks to {unpacked:,} bytes, more than {MAX_RATIO} times its packed size")
    for info in infos:
        with file.open(info) as stream:
            end = b""
            while piece := stream.read(1_000_000):
                if not end:
                    declared = _ENCODING.search(piece[:200])
                    other = declared is not None and declared[1].lower() not in (b"utf-8", b"us-ascii")
                    if b"\0" in piece[:200] or piece[:2] in (b"\xfe\xff", b"\xff\xfe") or other:
                        raise BadSheet("a part of the file is not UTF-8")  # declarations could hide in another encoding
                if b"<!DOCTYPE" in end + piece or b"<!ENTITY" in end + piece:
                    raise BadSheet("entity declarations are not read")
                end = piece[-10:]


def _sheet_value(cell: Any, row: int) -> Any:
    value = cell.value
    if cell.data_type == "f":
        raise BadSheet(f"row {row}: a cell has a formula; replace it by its value")
    if cell.data_type == "e":
        raise BadSheet(f"row {row}: a cell has an error value")
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BadSheet(f"row {row}: a cell has a number out of range")
        return int(value) if value.is_integer() and abs(value) < 1e30 else Decimal(repr(value))
    return value


def parquet_rows(path: Path, limits: Limits) -> Rows:
    """Yield the rows of a Parquet file; numbers stay numbers, text stays text."""
    import pyarrow.parquet as pq

    from workbench.analysis.tables.parquet import check_parquet

    try:
        with pq.ParquetFile(path) as file:
            head = file.metadata
            check_parquet(file, limits)
            names = _names(file.schema_arrow.names, limits)
            leaves = [head.schema.column(j) for j in range(head.num_columns)]
            if lists := [visible(leaf.path, 80) for leaf in leaves if leaf.max_repetition_level]:
                raise BadSheet(f"column {lists[0]} contains lists; a cell holds one value")
            texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        number = 0
        # Repeated text is stored once in a dictionary, and once in memory.
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(max(1, min(10_000, 200_000 // max(1, len(names))))):
                for values in zip(*map(_column_values, batch.columns), strict=True):
                    number += 1
                    yield number, {n: v for n, v in zip(names, values, strict=True) if v is not None and v != ""}
    except LimitExceeded:
        raise
    except Exception as error:  # noqa: BLE001 - a file that is not trusted can make the reader fail in any way
        raise BadSheet(f"not a readable Parquet file ({type(error).__name__})") from None


def _column_values(column: Any) -> list[Any]:
    if not hasattr(column, "dictionary"):
        return column.to_pylist()  # type: ignore[no-any-return]
    dictionary = column.dictionary.to_pylist()
    return [None if at is None else dictionary[at] for at in column.indices.to_pylist()]


def _json(path: Path, limits: Limits) -> Rows:
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        rows = strict_json.loads(data, max_depth=MAX_DEPTH + 1, max_values=limits.size // _CELL)
    except strict_json.TooManyValues:
        raise too_large(limits) from None
    except strict_json.NotJson as error:
        raise BadSheet(str(error)) from None
    if not isinstance(rows, list):
        raise BadSheet("must contain a list of objects")
    for i, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise BadSheet(f"item {i} is not an object")
        yield i, row


def _ndjson(path: Path, _: Limits) -> Rows:
    for i, line in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = strict_json.loads(line, max_depth=MAX_DEPTH)
        except strict_json.NotJson as error:
            raise BadSheet(f"line {i}: {error}") from None
        if not isinstance(row, Mapping):
            raise BadSheet(f"line {i} is not an object")
        yield i, row


_READERS = {
    ".csv": csv_rows, ".xlsx": xlsx_rows, ".parquet": parquet_rows, ".json": _json,
    ".ndjson": _ndjson, ".jsonl": _ndjson,
}  # fmt: skip
