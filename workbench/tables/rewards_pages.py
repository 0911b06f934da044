"""Page bodies of rewards activity to one typed frame: a fast route for ordinary pages, an exact one for the others.

The fast route lets Arrow parse pages with a fixed schema. It is taken only where it gives what the exact route gives
(strict JSON, then our records): anything that the two would read differently sends the page to the exact route. Both
end in the same Arrow columns.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from workbench.errors import Problem, UnexpectedAnswer
from workbench.interface import masks, strict_json
from workbench.interface.convert import Names, Unreadable, converter
from workbench.interface.transactions import RewardsActivity, RewardsItem
from workbench.interface.walk import DateTime, DecimalNumber, member
from workbench.tables.columns import EXTRA, MOMENT_TYPE, form, json_text, plan
from workbench.tables.paging import Key
from workbench.tables.rows import CHUNK, WIDTHS, Notes, Table, arrow_table, merged, table_frame

BATCH = 64
"""Pages parsed at once."""
MAX_BRACKETS = 1_000
"""Brackets in a page for the fast route: Arrow's reader does not limit their depth."""
_POOL = pa.system_memory_pool()  # the default pool spends a quarter of the time on returning pages to the kernel
_NO_NAMES: Names = {}
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONG_NUMBER = re.compile(rb"[0-9.eE+-]{300}")
_BLANK = b" \t\r\n"
_FIRST, _LAST = (pa.scalar(text).cast(MOMENT_TYPE) for text in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"))


@attrs.frozen
class Part:
    """The rows of some pages in Arrow, and how they were read."""

    table: Table
    rows: tuple[int, ...]  # of each page
    fast: bool

    def keys(self) -> list[Key]:
        """Return what identifies each row."""
        columns = self.table.columns
        types, ids = (columns[name].to_numpy(zero_copy_only=False).tolist() for name in ("type", "id"))
        keys = list(zip(types, ids, [None] * sum(self.rows), strict=True))
        if columns["id"].null_count:
            keys = [
                key if key[1] is not None else (key[0], None, repr([c[i].as_py() for c in columns.values()]).encode())  # type: ignore[misc]
                for i, key in enumerate(keys)
            ]
        return keys  # type: ignore[return-value]  # plain tuples equal Keys and are made ten times as fast


class PageReader:
    """Reads page bodies.

    Args:
        names: Wire names that differ, as in a profile.
        reveal: `{"extra"}` shows the values of unknown members; pages that have any then take the exact route.
    """

    def __init__(self, names: Names = _NO_NAMES, reveal: Collection[str] = ()) -> None:
        self.plan = plan(RewardsItem)
        self.shown = self.plan.shown(reveal)
        self._converter = converter(names)
        self._items = self._converter.wire_name(RewardsActivity, member(RewardsActivity, "items"))
        self._wire = {
            c.name: self._converter.wire_name(RewardsItem, member(RewardsItem, c.name)) for c in self.plan.columns
        }
        self._conversions = {
            c.name: cast if isinstance(c.kind, DecimalNumber) else times
            for c in self.plan.columns
            if isinstance(c.kind, DecimalNumber | DateTime)
        }
        types = [pa.large_string() if c.name in self._conversions else form(c).arrow for c in self.plan.columns]
        item = pa.struct(list(zip(self._wire.values(), types, strict=True)))
        self._options = pj.ParseOptions(
            explicit_schema=pa.schema([(self._items, pa.list_(item))]), unexpected_field_behavior="infer"
        )

    def read(self, bodies: Sequence[bytes], first: int = 0) -> list[Part]:
        """Read pages.

        Args:
            bodies: The bytes of each page.
            first: Number of the first page, for messages.

        Raises:
            UnexpectedAnswer: A body is not a page: an error body, broken JSON, a value of another type than agreed.
        """
        found: list[Part] = []
        for start in range(0, len(bodies), BATCH):
            batch = bodies[start : start + BATCH]
            part = self._fast(batch)
            if part is not None:
                found.append(part)
                continue
            for i, body in enumerate(batch, first + start):
                part = self._fast([body]) if len(batch) > 1 else None
                found.append(part or self._exact(body, i))
        return found

    def together(self, bodies: Sequence[bytes]) -> list[Part]:
        """Return the rows of each of some pages, read at once; nothing if they have to be read one by one."""
        part = self._fast(bodies) if 1 < len(bodies) <= BATCH else None
        if part is None or part.table.notes != Notes():
            return []
        found, start = [], 0
        for rows in part.rows:
            columns = {name: values.slice(start, rows) for name, values in part.table.columns.items()}
            found.append(Part(Table(columns, Notes()), (rows,), fast=True))
            start += rows
        return found

    def _fast(self, bodies: Sequence[bytes]) -> Part | None:
        """Return the rows of pages read by Arrow; None if that is not known to be exact."""
        joined = b"\n".join(body.strip(_BLANK) for body in bodies)
        if not all(map(_plain, bodies)) or (b"\\u" in joined and _SURROGATE.search(joined)):
            return None
        try:
            if not joined.isascii():
                joined.decode()  # Arrow's JSON reader takes any bytes
            table = pj.read_json(
                pa.BufferReader(joined),
                read_options=pj.ReadOptions(block_size=len(joined) + 1, use_threads=False),
                parse_options=self._options,
                memory_pool=_POOL,
            )
        except (pa.ArrowException, UnicodeDecodeError):
            return None
        if table.num_rows != len(bodies) or len(table.column(0).chunks) != 1:
            return None  # two pages in one body, or half a page in each of two
        items = table.column(self._items).chunk(0)
        rows = items.flatten()
        if items.null_count or rows.null_count:
            return None
        fields = {rows.type.field(i).name: rows.field(i) for i in range(rows.type.num_fields)}
        columns = {name: fields.pop(wire) for name, wire in self._wire.items()}
        unknown = {name: values for name, values in fields.items() if values.null_count < len(rows)}
        beside = {name: table.column(name) for name in table.column_names if name != self._items}
        if (unknown or beside) and (
            EXTRA in self.shown or not _same_numbers(joined, [*unknown.values(), *beside.values()])
        ):
            return None
        for name, convert in self._conversions.items():
            columns[name] = convert(columns[name])
            if columns[name] is None:
                return None
        columns[EXTRA] = _masked_members(unknown, len(rows))
        notes = Notes()
        for name, values in unknown.items():
            notes.unknown_members[name] = len(values) - values.null_count
        for name, values in beside.items():
            if values.null_count < len(values):
                notes.pages[name] = len(values) - values.null_count
        return Part(Table(columns, notes), tuple(pc.list_value_length(items).to_pylist()), fast=True)

    def _exact(self, body: bytes, number: int) -> Part:
        problems: tuple[Problem, ...] = ()
        try:
            raw = strict_json.loads(body)
            page: RewardsActivity = self._converter.structure(raw, RewardsActivity)
            if raw.get(self._items) is None:
                raise strict_json.NotJson(f"missing `{self._items}`")
        except strict_json.NotJson as error:
            problem = str(error)
        except Unreadable as error:
            problem, problems = "", error.problems
        else:
            table = arrow_table(self.plan, page.items, self.shown)
            table.notes.pages.update(name for name, value in page.extra.items() if value is not None)
            return Part(table, (len(page.items),), fast=False)
        raise UnexpectedAnswer(f"page {number} is not a page of rewards activity: {problem}", problems=problems)

    def unknown_members(self, extra: Any) -> Counter[str]:
        """Return how many rows have each unknown member, from a column `extra`."""
        found: Counter[str] = Counter()
        known = set(self._wire.values())
        if extra.null_count < len(extra):
            for cell in pc.value_counts(extra).to_pylist():
                for name in json.loads(cell["values"]) if cell["values"] is not None else ():
                    found[name] += 0 if name in known else cell["counts"]
        return +found


def _plain(body: bytes) -> bool:
    """Whether a body may be handed to Arrow at all: one object, not too deep."""
    body = body.strip(_BLANK)
    return body[:1] == b"{" and body[-1:] == b"}" and body.count(b"{") + body.count(b"[") <= MAX_BRACKETS


def _same_numbers(joined: bytes, values: Iterable[Any]) -> bool:
    """Whether strict JSON accepts the numbers among unknown members: no NaN, no endless digits."""
    if not any("double" in str(column.type) for column in values):
        return True
    return b"NaN" not in joined and b"Inf" not in joined and _LONG_NUMBER.search(joined) is None


def cast(texts: Any) -> Any:
    """Return an Arrow column of numbers as text in the first type that holds them all; None if that is not safe.

    Not safe are texts that Arrow reads in another way than `Decimal` does: signs, exponents, and more digits than it
    can hold, which it wraps around without an error.
    """
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > 38 or pc.any(pc.match_substring_regex(texts, "[+eE]")).as_py():
        return None
    for width in WIDTHS:
        try:
            return pc.cast(texts, width)
        except pa.ArrowInvalid:
            continue
    return None


def times(texts: Any) -> Any:
    """Return times in UTC; None if a text has no zone, or is beyond the years of a datetime."""
    try:
        made = pc.cast(texts, MOMENT_TYPE)  # refuses a text without a zone
    except pa.ArrowInvalid:
        return None
    ends = pc.min_max(made)
    if ends["min"].is_valid and (ends["min"].value < _FIRST.value or ends["max"].value > _LAST.value):
        return None
    return made


def _masked_members(unknown: dict[str, Any], rows: int) -> Any:
    """Return the column `extra` of masked unknown members, in the order of their names in each row."""
    if not unknown:
        return pa.nulls(rows, pa.large_string())
    names = sorted(unknown)
    # Which members a row has, as one number: rows with the same members share their text.
    there = sum(
        pc.is_valid(unknown[name]).to_numpy(zero_copy_only=False).astype(np.int64 if len(names) < 63 else object) << i
        for i, name in enumerate(names)
    )
    codes, where = np.unique(there, return_inverse=True)
    texts = [
        json_text({name: masks.DOTS for i, name in enumerate(names) if code >> i & 1}) if code else None
        for code in codes
    ]
    return pa.array(texts, type=pa.large_string()).take(pa.array(where))


def with_users(table: Table, users: Sequence[str], rows: Sequence[int]) -> Table:
    """Return a table with a first column `user_id`: each user as often as it has rows."""
    if len(users) == 1:
        ids = pa.repeat(pa.scalar(users[0], pa.large_string()), rows[0])
    else:
        ids = pa.array(users, pa.large_string()).take(pa.array(np.repeat(np.arange(len(users)), rows)))
    return Table({"user_id": ids, **table.columns}, table.notes)


def rewards_from_pages(
    bodies: Iterable[bytes],
    *,
    users: Sequence[str] | None = None,
    names: Names = _NO_NAMES,
    reveal: Collection[str] = (),
) -> pd.DataFrame:
    """Return the typed frame of rewards pages from their bodies, one row per item, in the order given.

    Args:
        bodies: The bytes of each answer. An iterator is consumed as it goes, in bounded memory.
        users: The user of each page, for a first column `user_id`.
        names: Wire names that differ, as in a profile.
        reveal: `{"extra"}` shows the values of unknown members.

    Returns:
        The frame of `to_frame(page)`. `attrs["routes"]` counts the pages that took each route.

    Raises:
        UnexpectedAnswer: A body is not a page: an error body, broken JSON, a value of another type than agreed.
        ValueError: The number of users is not the number of pages.
    """
    reader = PageReader(names, reveal)
    routes = {"fast": 0, "exact": 0}
    tables: list[Table] = []
    pages = iter(bodies)
    done = whole = 0  # pages read, and tables that are long enough
    while batch := list(islice(pages, BATCH)):
        for part in reader.read(batch, done):
            routes["fast" if part.fast else "exact"] += len(part.rows)
            owners = None if users is None else users[done : done + len(part.rows)]
            tables.append(part.table if owners is None else with_users(part.table, owners, part.rows[: len(owners)]))
            done += len(part.rows)
        if sum(len(table.columns[EXTRA]) for table in tables[whole:]) >= CHUNK:
            tables[whole:] = [merged(tables[whole:])]
            whole = len(tables)
    if users is not None and len(users) != done:
        raise ValueError(f"{len(users):,} users for {done:,} pages")
    if not tables:
        empty = arrow_table(reader.plan, [], reader.shown)
        tables.append(empty if users is None else with_users(empty, (), ()))
    return table_frame(reader.plan, tables, reader.shown, routes=routes)
