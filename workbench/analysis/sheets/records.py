"""Read the rows of JSON, NDJSON and Parquet files, which name the columns of each value."""

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.analysis.sheets.questions import BadSheet
from workbench.base.schema import strict_json
from workbench.base.system.limits import Limits, too_large, too_many_columns, too_many_rows

MAX_DEPTH = 20
"""Maximum depth of a row; a request is three levels deep."""
_CELL = 100
Records = Iterator[tuple[int, Mapping[str, Any]]]


def limited(rows: Records, limits: Limits) -> Records:
    """Yield rows until a limit is exceeded.

    Raises:
        LimitExceeded: A limit is exceeded; the message names it.
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


def json_records(data: bytes, limits: Limits) -> Records:
    """Yield the objects of a JSON list."""
    try:
        rows = strict_json.loads(data, max_depth=MAX_DEPTH + 1, max_values=limits.size // _CELL)
    except strict_json.TooManyValues:
        raise too_large(limits) from None
    except strict_json.NotJson as error:
        raise BadSheet(str(error)) from None
    if not isinstance(rows, list):
        raise BadSheet("must contain a list of objects")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise BadSheet(f"item {number} is not an object")
        yield number, row


def ndjson_records(data: bytes, limits: Limits) -> Records:
    """Yield the objects of a file with one in each line."""
    left = limits.size // _CELL
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = strict_json.loads(line, max_depth=MAX_DEPTH, max_values=left)
        except strict_json.TooManyValues:
            raise too_large(limits) from None
        except strict_json.NotJson as error:
            raise BadSheet(f"line {number}: {error}") from None
        if not isinstance(row, Mapping):
            raise BadSheet(f"line {number} is not an object")
        yield number, row
