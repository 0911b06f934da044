"""Parsed pages to one frame: pieces put together so that memory holds each column once."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.interface.convert import Names
from workbench.tables.arrays import to_pandas
from workbench.tables.columns import EXTRA
from workbench.tables.decimals import WIDTHS, packed
from workbench.tables.rewards_pages import BATCH, POOL, Pages, Part, runs
from workbench.tables.rows import Notes, Table, arrow_table, with_attrs

CHUNK = 100_000
"""Rows of one piece of a column: few enough to be made in passing, and a million rows are ten of them."""
_USER = "user_id"
_NO_NAMES: Names = {}


def rewards_from_pages(
    bodies: Iterable[bytes],
    *,
    users: Sequence[str] | None = None,
    names: Names = _NO_NAMES,
    reveal: Collection[str] = (),
) -> pd.DataFrame:
    """Make the typed frame of rewards pages from their bodies, one row per item, in the order given.

    Args:
        bodies: The bytes of each answer. An iterator is read as it goes, in bounded memory.
        users: The user of each page, for a first column `user_id`.
        names: Wire names that differ, as in a profile.
        reveal: `{"extra"}` shows what unknown members hold.

    Returns:
        The frame of `frame(page)`. `attrs["routes"]` counts the pages that went each way.

    Raises:
        UnexpectedAnswer: A body is no page: an error body, broken JSON, a value of another type than agreed.
    """
    reader = Pages(names, reveal)
    parts: list[Part] = []
    settled = 0  # parts that are as large as they should be
    batch: list[bytes] = []
    done = 0
    for body in bodies:
        batch.append(body)
        if len(batch) == BATCH:
            parts += reader.read(batch, done)
            done += len(batch)
            batch = []
            if sum(len(part.table.columns[EXTRA]) for part in parts[settled:]) >= CHUNK:
                parts[settled:] = _merged(parts[settled:])
                settled = len(parts)
    if batch:
        parts += reader.read(batch, done)
    return assembled(reader, parts, users)


def _merged(parts: Sequence[Part]) -> list[Part]:
    """Return parts with neighbors of one kind made one: memory of small pieces is used again, not added to."""
    made: list[Part] = []
    for start, end, fast in runs([part.fast for part in parts]):
        run = parts[start:end]
        columns = {name: [part.table.columns[name] for part in run] for name in run[0].table.columns}
        if len(run) == 1 or any(len({chunk.type for chunk in chunks}) > 1 for chunks in columns.values()):
            made += run
            continue
        aside = Notes()
        for part in run:
            aside.add(part.table.aside)
        table = Table({name: pa.concat_arrays(chunks, memory_pool=POOL) for name, chunks in columns.items()}, aside)
        made.append(Part(table, tuple(rows for part in run for rows in part.rows), fast))
    return made


def assembled(reader: Pages, parts: list[Part], users: Sequence[str] | None = None) -> pd.DataFrame:
    """Make the frame of parts. The parts are used up, so that memory holds each column only once."""
    counts = [rows for part in parts for rows in part.rows]
    routes = {"fast": 0, "exact": 0}
    for part in parts:
        routes["fast" if part.fast else "exact"] += part.pages or len(part.rows)
    aside = Notes()
    for part in parts:
        aside.add(part.table.aside)
    tables = [part.table.columns for part in parts]
    parts.clear()
    arrays: dict[str, Any] = {}
    if users is not None:
        if len(users) != len(counts):
            raise ValueError(f"{len(users):,} users for {len(counts):,} pages")
        arrays[_USER] = to_pandas(_repeated(users, counts))
    empty = arrow_table(reader.plan, [], reader.shown).columns
    for column in reader.plan.columns:
        made = _joined([table.pop(column.name) for table in tables] or [empty[column.name]])
        if column.name == "points" and made.type not in WIDTHS:
            aside.notes.append("points stays text: a value has more digits than a decimal column holds.")
        arrays[column.name] = to_pandas(made, column)
        del made
    made = _joined([table.pop(EXTRA) for table in tables] or [empty[EXTRA]])
    aside.unknown = _unknown(made, set(reader.names.values()))
    arrays[EXTRA] = to_pandas(made)
    frame = pd.DataFrame(arrays, copy=False)
    return with_attrs(frame, reader.plan.kind, aside, reader.shown, routes=routes)


def _unknown(extra: Any, known: Collection[str]) -> Counter[str]:
    """Count the rows of each unknown member in a column `extra`."""
    found: Counter[str] = Counter()
    if extra.null_count < len(extra):
        for cell in pc.value_counts(extra).to_pylist():
            for name in json.loads(cell["values"]) if cell["values"] is not None else ():
                if name not in known:
                    found[name] += cell["counts"]
    return found


def _repeated(users: Sequence[str], counts: Sequence[int]) -> Any:
    values = pa.array(users, type=pa.large_string())
    return values.take(pa.array(np.repeat(np.arange(len(users)), counts)))


def _joined(chunks: Sequence[Any]) -> Any:
    """Return one column of many chunks, in pieces of at least `CHUNK` rows."""
    if len({chunk.type for chunk in chunks}) > 1:  # decimals of two widths, or text among them
        values = [None if v is None else Decimal(v) for chunk in chunks for v in chunk.to_pylist()]
        return packed(values)
    pieces, piece, rows = [], [], 0
    for chunk in chunks:
        piece.append(chunk)
        rows += len(chunk)
        if rows >= CHUNK:
            pieces.append(piece)
            piece, rows = [], 0
    if piece:
        pieces.append(piece)
    return pa.chunked_array([one[0] if len(one) == 1 else pa.concat_arrays(one, memory_pool=POOL) for one in pieces])
