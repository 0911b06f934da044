"""Rewards on disk while they are read: a folder of complete Parquet parts, each with the users it holds.

A read that was stopped or killed resumes: users of a written part are not read again. All parts have one schema, so any
reader can take the folder as one data set; points are `decimal256(37, 18)` there.
"""

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.errors import InvalidRequest
from workbench.tables.columns import EXTRA, MOMENT_TYPE, json_text
from workbench.tables.decimals import WIDTHS
from workbench.tables.exports import write_file
from workbench.tables.paging import PageCursor

KEY = b"workbench"
PART = "part-*.parquet"
POINTS = WIDTHS[1]
SCHEMA = pa.schema(
    [
        ("user_id", pa.large_string()), ("type", pa.large_string()), ("id", pa.large_string()), ("points", POINTS),
        ("reason", pa.large_string()), ("status", pa.large_string()), ("merchant_name", pa.large_string()),
        ("transaction_amount_cents", pa.int64()), ("spend_category", pa.large_string()), ("posted_at", MOMENT_TYPE),
        ("minted_at", MOMENT_TYPE), ("created_at", MOMENT_TYPE), (EXTRA, pa.large_string()),
    ]
)  # fmt: skip


class Folder:
    """A folder that a read writes into.

    Args:
        path: Where it is; it is created.
        query: What is read; a folder of another query is refused.
    """

    def __init__(self, path: Path, query: Mapping[str, Any]) -> None:
        self.path = path
        self._query = dict(query)
        path.mkdir(parents=True, exist_ok=True)
        self.done: dict[str, PageCursor] = {}  # of each user whose rows are there
        self._next = 0
        for part in sorted(path.glob(PART)):
            about = _about(part)
            if about.get("asked") != self._query:
                raise InvalidRequest(f"{path} holds another read ({part.name}); use a folder of its own for this one")
            self.done.update({user: PageCursor(**cursor) for user, cursor in about["users"].items()})
            self._next = max(self._next, int(part.stem.partition("-")[2]) + 1)
        if not self.done and any(path.iterdir()):
            raise InvalidRequest(f"{path} is not empty, and holds no read")

    def write(self, tables: Iterable[Any], users: Mapping[str, PageCursor]) -> None:
        """Write a part: the rows of these users, and how the read of each ended."""
        rows = [uniform(table) for table in tables]
        metadata = {KEY: json.dumps({"asked": self._query, "users": users}, default=attrs.asdict).encode()}
        table = pa.concat_tables(rows or [SCHEMA.empty_table()]).replace_schema_metadata(metadata)
        path = self.path / f"part-{self._next:06}.parquet"
        write_file(path, lambda file: pq.write_table(table, file, compression="zstd"), private=False)
        self._next += 1
        self.done.update(users)


def _about(path: Path) -> dict[str, Any]:
    """Return the metadata of a part; nothing if it is not one of ours."""
    try:
        metadata = pq.read_schema(path).metadata or {}
        about: dict[str, Any] = json.loads(metadata.get(KEY, b"{}"))
    except (pa.ArrowException, ValueError):
        return {}
    return about


def uniform(table: Any, points: Any = POINTS) -> Any:
    """Return rows in the schema of the folder, with points of a type. Those that do not fit it move to `extra`."""
    place = SCHEMA.get_field_index("points")
    schema = SCHEMA.set(place, pa.field("points", points))
    column = table.column("points")
    if pa.types.is_decimal(column.type):
        try:
            return _with(table, schema, points=pc.cast(column, points))
        except pa.ArrowInvalid:
            pass
    kept, extras = [], []
    for value, extra in zip(column.to_pylist(), table.column(EXTRA).to_pylist(), strict=True):
        try:
            kept.append(None if value is None else pa.scalar(Decimal(value), points).as_py())
        except (pa.ArrowInvalid, ValueError):
            kept.append(None)
            extra = json_text({**json.loads(extra or "{}"), "points": str(value)})
        extras.append(extra)
    return _with(table, schema, points=pa.array(kept, points), extra=pa.array(extras, pa.large_string()))


def _with(table: Any, schema: Any, **columns: Any) -> Any:
    for name, values in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, values)
    return table.select(schema.names).cast(schema)


def read_folder(path: Path) -> Any:
    """Return the rows of a folder as one Arrow table."""
    return pa.concat_tables([pq.read_table(part) for part in sorted(path.glob(PART))] or [SCHEMA.empty_table()])
