"""Read the rows of JSON, NDJSON and Parquet files, in which each value has a column name."""

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.analysis.sheets.grid import CELL
from workbench.analysis.sheets.questions import BadSheet
from workbench.base.schema import strict_json
from workbench.base.system.limits import FileLimits, too_large

MAX_DEPTH = 20
"""Maximum depth of a row; a request is three levels deep."""
Records = Iterator[tuple[int, Mapping[str, Any]]]


def json_records(data: bytes, limits: FileLimits) -> Records:
    """Yield the objects of a JSON list."""
    try:
        rows = strict_json.loads(data, max_depth=MAX_DEPTH + 1, max_values=limits.size // CELL)
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


def ndjson_records(data: bytes, limits: FileLimits) -> Records:
    """Yield the objects of a file that has one JSON object per line."""
    left = limits.size // CELL
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
