"""Rows for bulk work from CSV, JSON, NDJSON, XLSX or Parquet, with nothing guessed.

Text stays text, so leading zeros live, and `NA` is a word; a cell that is empty was not given; `FULL` says so in a word.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from workbench.errors import InvalidRequest, Problem, visible
from workbench.interface import strict_json
from workbench.interface.operation import Operation
from workbench.interface.rules import FULL
from workbench.interface.table import OPERATIONS
from workbench.interface.walk import Array, Boolean, Date, Integer, Kind, Nested, Numeric, camel, members, snake
from workbench.tables import sheets

MAX_BYTES = 200_000_000
SHOWN = 20
"""How many problems are told of."""
MAX_ROWS = 1_000_000
_DIGITS = re.compile(r"-?[0-9]{1,400}")
_FLAGS = {"true": True, "false": False, "yes": True, "no": False}


class Body(dict[str, Any]):
    """One row: attribute names to values, nested ones as dictionaries. `row` is its line or row number in the file.

    It prints its names alone, since its values may be private. `unread` are the wire paths of cells that do not fit; they
    stand there as they came.
    """

    row: int

    def __init__(self, values: Mapping[str, Any], row: int, unread: Iterable[str] = ()) -> None:
        super().__init__(values)
        self.row = row
        self.unread = frozenset(unread)

    def __repr__(self) -> str:
        return f"<row {self.row}: {', '.join(self)}>"


def load_bodies(path: str | Path, operation: Any = None) -> list[Body]:
    """Read the rows of a file as arguments: dotted columns become nested ones, an empty cell is not given.

    Columns may have attribute names or wire names. CSV and XLSX cells are taken as text whatever they look like; a
    number that a file itself calls a number (JSON, XLSX, Parquet) is refused where the interface wants text, since its
    leading zeros may be gone.

    Args:
        operation: An operation, its name, or a request record: names are checked, whole numbers, flags and `FULL` are
            read from text. Without it every cell stays as it is; see `typed`.

    Raises:
        InvalidRequest: The file cannot be read, or its cells do not fit; `problems` name rows and columns.
        FileNotFoundError: There is no such file.
    """
    rows = raw_bodies(path)
    if operation is None:
        return [Body(_snaked(row), row.row) for row in rows]
    return typed(rows, operation)


def raw_bodies(path: str | Path) -> list[Body]:
    """Read the rows of a file, names and cells as they stand there.

    Raises:
        InvalidRequest: The file cannot be read.
        FileNotFoundError: There is no such file.
    """
    path = Path(path)
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise InvalidRequest(f"{path.name} has {size:,} bytes; at most {MAX_BYTES:,} are read")
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise InvalidRequest(f"{path.name}: the ending says the format: {', '.join(_READERS)}")
    try:
        rows = [Body(nested(row), number) for number, row in read(path)]
    except sheets.BadSheet as error:
        raise InvalidRequest(f"{path.name}: {error}") from None
    if len(rows) > MAX_ROWS:
        raise InvalidRequest(f"{path.name} has {len(rows):,} rows; at most {MAX_ROWS:,} are read")
    return rows


def typed(rows: Iterable[Mapping[str, Any]], operation: Any) -> list[Body]:
    """Return rows of text as arguments of an operation: names known, whole numbers, flags and `FULL` read.

    Args:
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
    """Return rows of text as arguments, and what does not fit, for whoever has more to say of the same rows."""
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
            raise InvalidRequest(f"no operation is called {visible(operation, 80)}; there are: {', '.join(OPERATIONS)}")
        operation = OPERATIONS[operation]
    operation = getattr(operation, "operation", operation)  # a bound method of a client
    return operation.request if isinstance(operation, Operation) else operation


@attrs.frozen
class _At:
    """A place in a row: its number, and the members on the way there as the file and as the wire name them."""

    number: int
    column: str
    wire: str

    def problem(self, rule: str, message: str) -> Problem:
        return Problem(f"row {self.number}, {self.column}", rule, message)


def _typed(
    cls: type[Any], row: Mapping[str, Any], at: _At, problems: list[Problem], unread: list[str]
) -> dict[str, Any]:  # fmt: skip
    names = {one.name: one for one in members(cls)}
    wires = {one.wire: one for one in members(cls)}
    made: dict[str, Any] = {}
    for key, value in row.items():
        one = names.get(key) or wires.get(key)
        here = _At(at.number, f"{at.column}{visible(str(key), 80)}", f"{at.wire}{one.wire if one else key}")
        if one is None:
            may = ", ".join(names)
            problems.append(here.problem("unknown", f"is no member of {cls.__name__}; there are: {may}"))
        elif one.name in made:
            problems.append(here.problem("twice", "is given twice, by its attribute name and its wire name"))
        elif isinstance(one.kind, Nested) and isinstance(value, Mapping):
            inside = _At(at.number, f"{here.column}.", f"{here.wire}.")
            made[one.name] = _typed(one.kind.of, value, inside, problems, unread)
        else:
            made[one.name], wrong = _cell(one.kind, value)
            if wrong is not None:
                problems.append(here.problem("type", wrong))
                unread.append(here.wire)
    return made


def _cell(kind: Kind, value: Any) -> tuple[Any, str | None]:
    """Return what a cell says, and what is wrong with it."""
    if isinstance(value, str):
        if isinstance(kind, Integer):
            if kind.full and value == "FULL":
                return FULL, None
            if _DIGITS.fullmatch(value):
                return int(value), None
            also = " or FULL" if kind.full else ""
            return value, f"is not a whole number{also} (digits alone; amounts are in cents)"
        if isinstance(kind, Boolean):
            if value.lower() in _FLAGS:
                return _FLAGS[value.lower()], None
            return value, f"must be one of {', '.join(_FLAGS)}"
        return value, None
    number = isinstance(value, int) or type(value).__name__ in {"float", "Decimal"}
    if number and not isinstance(kind, Integer | Boolean | Numeric | Array | Nested):
        what = "a date, not text" if isinstance(kind, Date) else "a number in the file, not text"
        return value, f"is {what}; write it as text, or its leading zeros may be lost"
    return value, None


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of dotted columns as nested dictionaries; what is None is left out.

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
                raise InvalidRequest(
                    f"the column {visible(key, 80)} and the column {visible(parent, 80)} cannot both be"
                )
            into = inner
        into[last] = nested(value) if isinstance(value, Mapping) else value
    return made


def _snaked(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        (snake(k) if camel(snake(k)) == k else k): _snaked(v) if isinstance(v, Mapping) else v for k, v in row.items()
    }  # fmt: skip


# JSON


def _json(path: Path) -> Iterable[tuple[int, Mapping[str, Any]]]:
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


def _ndjson(path: Path) -> Iterable[tuple[int, Mapping[str, Any]]]:
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
