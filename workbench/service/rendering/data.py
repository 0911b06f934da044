"""Conversion of workbench objects to JSON values and CSV, with private values masked unless revealed."""

import io
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import attrs

from workbench.base.errors import visible
from workbench.base.schema import masks, strict_json
from workbench.base.schema.readers import write_time
from workbench.base.schema.walk import camel, flat, is_record
from workbench.service.interface.convert import converter
from workbench.service.rendering.text import guarded


def json_values(x: Any, *, reveal: bool = False) -> Any:
    """Convert a record, an attrs object, a mapping, or a list of them to JSON values. Records get wire names."""
    if is_record(x):
        x, reveal = converter().unstructure(x) if reveal else masks.masked(x), True
    elif isinstance(x, masks.MaskedDict) and not reveal:
        x, reveal = x.shown(), True
    elif isinstance(x, strict_json.JsonObject) and not reveal:
        x = dict.fromkeys(x, masks.DOTS)
    elif attrs.has(type(x)):
        x = {camel(name): value for name, value in attrs.asdict(x, recurse=False).items()}
    if isinstance(x, Mapping):
        return {str(name): json_values(value, reveal=reveal) for name, value in x.items()}
    if isinstance(x, list | tuple):
        return [json_values(item, reveal=reveal) for item in x]
    if isinstance(x, Enum):
        return x.value
    if isinstance(x, datetime):
        return write_time(x)
    return x if x is None or isinstance(x, str | int | float | Decimal) else str(x)


def csv_text(rows: list[Any]) -> str:
    """Return JSON values as CSV, with a column for each member of the rows."""
    import csv

    cells = [{path or "value": value for path, value in flat(row, items=True)} for row in rows]
    columns = list(dict.fromkeys(name for row in cells for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_cell, columns))
    writer.writerows([_cell(row.get(name)) for name in columns] for row in cells)
    return out.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, list):
        value = " ".join(map(_cell, value))
    if isinstance(value, bool):
        return str(value).lower()
    text = visible(format(value, "f") if isinstance(value, Decimal) else "" if value is None else str(value))
    return guarded(text) if isinstance(value, str) else text
