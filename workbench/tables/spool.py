"""Rewards on disk while they are read: a folder of Parquet parts, each whole, each naming the users it holds.

A read that was stopped or killed goes on where it was: users of a whole part are not read again. All parts have one
schema, so that the folder is one data set to any reader; points are `decimal128(38, 18)` there.
"""

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.errors import InvalidRequest
from workbench.tables.columns import EXTRA, MOMENT_TYPE
from workbench.tables.decimals import WIDTHS
from workbench.tables.exports import written_whole
from workbench.tables.extra import json_text

KEY = b"workbench"
PART = "part-*.parquet"
POINTS = WIDTHS[-1]
SCHEMA = pa.schema(
    [
        ("user_id", pa.large_string()), ("type", pa.large_string()), ("id", pa.large_string()), ("points", POINTS),
        ("reason", pa.large_string()), ("status", pa.large_string()), ("merchant_name", pa.large_string()),
        ("transaction_amount_cents", pa.int64()), ("spend_category", pa.large_string()), ("posted_at", MOMENT_TYPE),
        ("minted_at", MOMENT_TYPE), ("created_at", MOMENT_TYPE), (EXTRA, pa.large_string()),
    ]
)  # fmt: skip


class Spool:
    """A folder that a read writes into.

    Args:
        asked: What is asked for; a folder of another question is refused.
    """

    def __init__(self, folder: Path, asked: Mapping[str, Any]) -> None:
        self.folder = folder
        self.asked = dict(asked)
        folder.mkdir(parents=True, exist_ok=True)
        self.done: dict[str, dict[str, Any]] = {}  # what was said of each user that is there
        self._next = 0
        for path in sorted(folder.glob(PART)):
            said = about(path)
            if said.get("asked") != self.asked:
                raise InvalidRequest(
                    f"{folder} holds another read ({path.name}); take a folder of its own for this one"
                )
            self.done.update(said["users"])
            self._next = max(self._next, int(path.stem.partition("-")[2]) + 1)
        if not self.done and any(folder.iterdir()):
            raise InvalidRequest(f"{folder} is not empty, and holds no read")

    def write(self, tables: Iterable[Any], users: Mapping[str, Mapping[str, Any]]) -> None:
        """Write one part: the rows of these users, and what is said of them."""
        rows = [uniform(table) for table in tables]
        table = pa.concat_tables(rows) if rows else SCHEMA.empty_table()
        metadata = {KEY: json.dumps({"asked": self.asked, "users": dict(users)}).encode()}
        path = self.folder / f"part-{self._next:06}.parquet"
        table = table.replace_schema_metadata(metadata)
        written_whole(path, lambda file: pq.write_table(table, file, compression="zstd"), private=False)
        self._next += 1
        self.done.update({user: dict(said) for user, said in users.items()})


def about(path: Path) -> dict[str, Any]:
    """Return what a part says of itself; nothing where it is no part of ours."""
    try:
        metadata = pq.read_schema(path).metadata or {}
        said: dict[str, Any] = json.loads(metadata.get(KEY, b"{}"))
    except (pa.ArrowException, ValueError):
        return {}
    return said


def uniform(table: Any) -> Any:
    """Return rows in the schema of the folder. Points that its decimals cannot hold stand in `extra`."""
    points = table.column("points")
    if pa.types.is_decimal(points.type):
        try:
            return _with(table, points=pc.cast(points, POINTS))
        except pa.ArrowInvalid:
            pass
    kept, extras = [], []
    for value, extra in zip(points.to_pylist(), table.column(EXTRA).to_pylist(), strict=True):
        try:
            kept.append(None if value is None else pa.scalar(Decimal(value), POINTS).as_py())
        except (pa.ArrowInvalid, ValueError):
            kept.append(None)
            extra = json_text({**json.loads(extra or "{}"), "points": str(value)})
        extras.append(extra)
    return _with(table, points=pa.array(kept, POINTS), extra=pa.array(extras, pa.large_string()))


def _with(table: Any, **columns: Any) -> Any:
    for name, values in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, values)
    return table.select(SCHEMA.names).cast(SCHEMA)


def read_folder(folder: Path) -> Any:
    """Return the rows of a folder as one Arrow table."""
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob(PART))] or [SCHEMA.empty_table()])
