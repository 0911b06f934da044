"""Rewards on disk: a folder of complete Parquet parts, each listing the users it contains.

A stopped read resumes: users of a written part are not read again, unless the folder is refreshed. All parts share one
schema, so any reader can open the folder as one data set; points are `decimal256(37, 18)`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.analysis.rewards.pages import PageCursor
from workbench.analysis.sheets.parquet import parquet_table
from workbench.analysis.tables.columns import EXTRA, MOMENT_TYPE, form, json_text, layout_of
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


class StoredRows:
    """Rows of a user from an earlier read.

    Args:
        user: The user's id.
        rows: The rows, in the schema of folders.
        unsettled: Age before the newest row within which rows are assumed to change.
    """

    def __init__(self, user: str, rows: Any, unsettled: timedelta) -> None:
        self._user, self._rows, self._keys = user, rows, _keys(rows)
        self._places = {key: i for i, key in enumerate(self._keys)}
        newest = pc.max(rows.column("created_at")).as_py()
        self.settled = -1.0 if newest is None else (newest - unsettled).timestamp() * 1e6

    def unchanged(self, columns: Mapping[str, Any], keys: Iterable[Any]) -> bool:
        """Return whether all rows of a page are stored and unchanged."""
        places = [self._places.get(key[:2]) for key in keys]
        return None not in places and _values(self._rows.take(places)) == _values(_whole(columns))

    def compare(self, tables: Iterable[Any], back_to: str | None) -> tuple[Any, list[dict[str, Any]]]:
        """Return the current rows, and the new, changed and deleted ones.

        Args:
            tables: Rows read now.
            back_to: Time before which rows were not read; None if all were.
        """
        fresh = pa.concat_tables([*map(_whole, tables), SCHEMA.empty_table()])
        keys = _keys(fresh)
        before = _values(self._rows.take(pa.array([self._places.get(key) for key in keys], pa.int64())))
        changes = []
        for key, row, old in zip(keys, _values(fresh), before, strict=True):
            if key not in self._places:
                changes.append(self._change(key, "new"))
            elif row != old:
                changes.append(self._change(key, "changed", *(name for name in row if row[name] != old[name])))
        seen = set(keys)
        rest = self._rows.filter(pa.array([key not in seen for key in self._keys], pa.bool_()))
        limit = pa.scalar(back_to and datetime.fromisoformat(back_to), MOMENT_TYPE)
        older = pc.fill_null(pc.less_equal(rest.column("created_at"), limit), False)
        changes += [self._change(key, "gone") for key in _keys(rest.filter(pc.invert(older)))]
        return pa.concat_tables([fresh, rest.filter(older)]), changes

    def _change(self, key: tuple[Any, Any], change: str, *columns: str) -> dict[str, Any]:
        return {
            "user_id": self._user,
            "type": key[0],
            "id": key[1],
            "change": change,
            "columns": ", ".join(columns) or None,
        }


def _keys(table: Any) -> list[tuple[Any, Any]]:
    """Return the key of each row: type and id, or all values if it has no id."""
    ids, types = table.column("id").to_pylist(), table.column("type").to_pylist()
    rows = _values(table) if None in ids else []
    pairs = enumerate(zip(types, ids, strict=True))
    return [(kind, json_text(rows[i]) if name is None else name) for i, (kind, name) in pairs]


def _values(table: Any) -> list[dict[str, Any]]:
    return table.drop_columns("user_id").to_pylist()  # type: ignore[no-any-return]


def _whole(columns: Mapping[str, Any]) -> Any:
    return uniform(pa.table({"user_id": pa.nulls(len(columns["id"]), pa.large_string()), **columns}))


class Folder:
    """A folder that a read writes Parquet parts into.

    Args:
        path: The folder; created if missing.
        query: Query of the read; a folder with another query is rejected.
    """

    def __init__(self, path: Path, query: Mapping[str, Any]) -> None:
        self.path = path
        self._query = dict(query)
        path.mkdir(parents=True, exist_ok=True)
        others = remove_temporary(path)  # files of a killed read
        self.done: dict[str, PageCursor] = {}  # cursor of each stored user
        self._next = 0
        for part in sorted(path.glob(PART)):
            about = _about(part)
            if about.get("asked") != self._query:
                raise UsageError(f"{path} contains another read ({part.name}); choose another folder for this one")
            self.done.update({user: PageCursor(**cursor) for user, cursor in about["users"].items()})
            self._next = max(self._next, int(part.stem.partition("-")[2]) + 1)
        if not self.done and others:
            raise UsageError(f"{path} is not empty and does not contain a read")

    def known(self, unsettled: timedelta) -> dict[str, StoredRows]:
        """Return the stored rows of each user."""
        rows = read_folder(self.path).combine_chunks()
        stored = {user: StoredRows(user, rows.slice(0, 0), unsettled) for user in self.done}
        if len(rows):
            rows = rows.take(pc.sort_indices(rows, [("user_id", "ascending")]))  # stable: rows stay in their order
            ids = rows.column("user_id").combine_chunks().dictionary_encode()
            starts = [0, *(np.flatnonzero(np.diff(ids.indices.to_numpy())) + 1).tolist(), len(rows)]
            for user, start, end in zip(ids.dictionary.to_pylist(), starts, starts[1:], strict=False):
                stored[user] = StoredRows(user, rows.slice(start, end - start), unsettled)
        return stored

    def tidy(self) -> None:
        """Delete rows of users that a later part replaces."""
        for part, users in _superseded(self.path).items():
            about, table = _about(part), parquet_table(part)
            about["users"] = {user: how for user, how in about["users"].items() if user not in users}
            if not about["users"]:
                part.unlink()
                continue
            table = _without(table, users).replace_schema_metadata({KEY: json.dumps(about).encode()})
            write_file(part, partial(pq.write_table, table, compression="zstd"), private=False)

    def write(self, tables: Iterable[Any], users: Mapping[str, PageCursor]) -> None:
        """Write a part: the rows of these users, and how each read ended."""
        rows = [uniform(table) for table in tables]
        metadata = {KEY: json.dumps({"asked": self._query, "users": users}, default=attrs.asdict).encode()}
        table = pa.concat_tables(rows or [SCHEMA.empty_table()]).replace_schema_metadata(metadata)
        path = self.path / f"part-{self._next:06}.parquet"
        write_file(path, lambda file: pq.write_table(table, file, compression="zstd"), private=False)
        self._next += 1
        self.done.update(users)


def _about(path: Path) -> dict[str, Any]:
    """Return the metadata of a part; empty for a foreign file."""
    try:
        metadata = pq.read_schema(path).metadata or {}
        about: dict[str, Any] = json.loads(metadata.get(KEY, b"{}"))
    except (pa.ArrowException, ValueError):
        return {}
    return about


def uniform(table: Any, points: object = POINTS) -> Any:
    """Return rows in the schema of the folder; values that do not fit move to `extra`."""
    index = SCHEMA.get_field_index("points")
    schema = SCHEMA.set(index, pa.field("points", points))
    column = table.column("points")
    if pa.types.is_decimal(column.type):
        try:
            return _with(table, schema, points=pc.cast(column, points))
        except pa.ArrowInvalid:
            pass
    rest, extras = [], []
    for value, extra in zip(column.to_pylist(), table.column(EXTRA).to_pylist(), strict=True):
        try:
            rest.append(None if value is None else pa.scalar(Decimal(value), points).as_py())
        except (pa.ArrowInvalid, ValueError):
            rest.append(None)
            extra = json_text({**strict_json.stored(extra or "{}"), "points": str(value)})
        extras.append(extra)
    return _with(table, schema, points=pa.array(rest, points), extra=pa.array(extras, pa.large_string()))


def _with(table: Any, schema: Any, **columns: object) -> Any:
    for name, values in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, values)
    return table.select(schema.names).cast(schema)


def _superseded(path: Path) -> dict[Path, set[str]]:
    """Return the parts that contain users replaced by a later part, with these users."""
    later: set[str] = set()
    latest = {}
    for part in sorted(path.glob(PART), reverse=True):
        users = set(_about(part).get("users", ()))
        if users & later:
            latest[part] = users & later
        later |= users
    return latest


def _without(table: Any, users: Iterable[str]) -> Any:
    of_users = pc.is_in(table.column("user_id"), value_set=pa.array(users, pa.large_string()))
    return table.filter(pc.invert(of_users))


def in_order(table: pa.Table, users: Sequence[str]) -> pa.Table:
    """Return the rows of a table by user, in the order of `users`; the rows of one user keep theirs."""
    places = pc.index_in(table.column("user_id"), value_set=pa.array(users, pa.large_string()))
    return table.take(pc.array_sort_indices(places.combine_chunks())).combine_chunks()


def read_folder(path: Path) -> Any:
    """Return the rows of a folder as one Arrow table."""
    old = _superseded(path)
    tables = [(part, parquet_table(part)) for part in sorted(path.glob(PART))]
    return pa.concat_tables([*(_without(t, old[p]) if p in old else t for p, t in tables), SCHEMA.empty_table()])
