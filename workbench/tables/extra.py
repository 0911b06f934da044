"""What the columns of a table cannot hold, kept as JSON text by wire path."""

import json
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from workbench.interface import masks
from workbench.interface.convert import converter
from workbench.interface.text import write_time
from workbench.interface.walk import is_record


def json_text(value: Any) -> str:
    """Write a value as compact JSON text, its decimals with all their digits."""
    return _clean(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain))


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format(value, "f")  # as text: a JSON number would be read as a float
    if isinstance(value, datetime):
        return write_time(value) if value.tzinfo is not None else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if is_record(value):
        return converter().unstructure(value)
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def _clean(text: str) -> str:
    """Return text that can be encoded: half of a surrogate pair becomes an escape."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def unknown(extra: Mapping[str, Any], prefix: str, *, reveal: bool) -> dict[str, Any]:
    """Return the unknown members of a record by wire path, those that are null left out, masked unless revealed."""
    return {
        f"{prefix}{name}": value if reveal else masks.DOTS for name, value in extra.items() if value is not None
    }  # fmt: skip
