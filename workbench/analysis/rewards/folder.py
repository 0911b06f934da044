"""Rewards on disk: a folder of complete Parquet parts. Each part lists the users that it contains.

A stopped read can be resumed: the users in written parts are not read again. All parts share one schema, so any reader
can open the folder as one data set; points are `decimal256(37, 18)`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.analysis.rewards.pages import PageCursor
from workbench.analysis.sheets.parquet import parquet_table
from workbench.analysis.tables.columns import EXTRA, form, json_text, layout_of
from workbench.analysis.tables.rows import WIDTHS
from workbench.base.errors import UsageError
from workbench.base.schema import strict_json
from workbench.base.system.files import remove_temporary, write_file
from workbench.service.interface.transactions import RewardsItem

KEY = b"workbench"
PART = "part-*.parquet"
POINTS = WIDTHS[1]
_TYPES = {column.name: form(column).arrow or POINTS for column in layout_of(RewardsItem).columns}
SCHEMA = pa.schema([("user_id", pa.large_string()), *_TYPES.items(), (EXTRA, pa.large_string())])


class Folder:
    """Folder that a read writes its Parquet parts to.

    Args:
        path: The folder; it is created if it does not exist.
        query: Query of the read. A folder from another query is rejected.
    """

    def __init__(self, path: Path, query: Mapping[str, Any]) -> None:
        self.path = path
        self._query = query
        path.mkdir(parents=True, exist_ok=True)
        has_other_files = remove_temporary(path)  # removes the temporary files of a killed read
        self.done: dict[str, PageCursor] = {}  # cursor that an earlier read stored, by user
        self._next = 0
        for part in sorted(path.glob(PART)):
            about = _about(part)
            if about.get("asked") != self._query:
                raise UsageError(f"{path} contains a different read ({part.name}); choose another folder")
            self.done |= {user: PageCursor(**cursor) for user, cursor in about["users"].items()}
            self._next = int(part.stem.partition("-")[2]) + 1
        if not self.done and has_other_files:
            raise UsageError(f"{path} is not empty and does not contain a read")

    def write(self, tables: Iterable[Any], users: Mapping[str, PageCursor]) -> None:
        """Write rows to a new Parquet part, with the state of each user's read in its metadata."""
        metadata = {KEY: json.dumps({"asked": self._query, "users": users}, default=attrs.asdict).encode()}
        table = pa.concat_tables([SCHEMA.empty_table(), *map(uniform, tables)]).replace_schema_metadata(metadata)
        path = self.path / f"part-{self._next:06}.parquet"
        write_file(path, lambda file: pq.write_table(table, file, compression="zstd"), private=False)
        self._next += 1


def _about(path: Path) -> dict[str, Any]:
    """Return the metadata of a part; empty for a file that is not a part."""
    try:
        metadata = pq.read_schema(path).metadata or {}
        return dict(json.loads(metadata.get(KEY, b"{}")))
    except (pa.ArrowException, ValueError):
        return {}


def uniform(table: Any, points: object = POINTS) -> Any:
    """Return rows in the folder's schema. Values that do not fit the schema move to `extra`."""
    schema = SCHEMA.set(SCHEMA.get_field_index("points"), pa.field("points", points))
    columns = {name: table.column(name) for name in schema.names}
    values = columns["points"]
    try:
        if not pa.types.is_decimal(values.type):
            raise pa.ArrowInvalid("text, which Arrow would convert without a check")
        columns["points"] = pc.cast(values, points)
    except pa.ArrowInvalid:
        fitting, extras = values.to_pylist(), columns[EXTRA].to_pylist()
        for row, value in enumerate(fitting):
            try:
                fitting[row] = pa.scalar(value and Decimal(value), points).as_py()
            except (pa.ArrowInvalid, ValueError):
                fitting[row] = None
                extras[row] = json_text({**strict_json.stored(extras[row] or "{}"), "points": str(value)})
        columns |= {"points": pa.array(fitting, points), EXTRA: pa.array(extras, pa.large_string())}
    return pa.table(columns).cast(schema)


def in_order(table: pa.Table, users: Sequence[str]) -> dict[str, Any]:
    """Return a table's columns with rows in the order of `users`. The order within a user does not change."""
    positions = pc.index_in(table.column("user_id"), value_set=pa.array(users, pa.large_string()))
    rows = table.take(pc.array_sort_indices(positions.combine_chunks()))
    return {name: rows.column(name).combine_chunks() for name in rows.column_names}


def read_folder(path: Path) -> Any:
    """Return the rows of a folder as one Arrow table."""
    return pa.concat_tables([*map(parquet_table, sorted(path.glob(PART))), SCHEMA.empty_table()])
