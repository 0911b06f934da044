"""Read the rows of JSON and NDJSON files, in which each value has a column name."""

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
    rows = _parsed(data, limits, MAX_DEPTH + 1)
    if not isinstance(rows, list):
        raise BadSheet("must contain a list of objects")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise BadSheet(f"item {number} is not an object")
        yield number, row


def ndjson_records(data: bytes, limits: FileLimits) -> Records:
    """Yield the objects of a file that has one JSON object per line."""
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        row = _parsed(line, limits, MAX_DEPTH, f"line {number}: ")
        if not isinstance(row, Mapping):
            raise BadSheet(f"line {number} is not an object")
        yield number, row


def _parsed(data: bytes, limits: FileLimits, depth: int, place: str = "") -> Any:
    try:
        return strict_json.loads(data, max_depth=depth, max_values=limits.size // CELL)
    except strict_json.TooManyValues:
        raise too_large(limits) from None
    except strict_json.NotJson as error:
        raise BadSheet(f"{place}{error}") from None
