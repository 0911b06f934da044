"""Rows of records to a frame: each column's values taken, masked or set aside, then converted at once."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs
import pandas as pd
import pyarrow as pa

from workbench.interface.walk import DecimalNumber, Numeric
from workbench.tables import extra
from workbench.tables.arrays import to_pandas
from workbench.tables.columns import EXTRA, ODD, Column, Plan, form, joined, masked
from workbench.tables.decimals import packed


@attrs.define
class Notes:
    """What is said of a frame beside its columns: notes in words, and how often each unknown member was met."""

    notes: list[str] = attrs.field(factory=list)
    unknown: Counter[str] = attrs.field(factory=Counter)
    odd: Counter[tuple[str, str]] = attrs.field(factory=Counter)  # (wire path, what is odd)
    pages: Counter[str] = attrs.field(factory=Counter)  # unknown members beside the items of a page

    def add(self, other: "Notes") -> None:
        """Take what another says too."""
        self.notes += other.notes
        self.unknown.update(other.unknown)
        self.odd.update(other.odd)
        self.pages.update(other.pages)

    def words(self) -> list[str]:
        """Return the notes as sentences, the counts in them."""
        found = list(self.notes)
        for path, times in self.unknown.items():
            found.append(
                f"The member {path} is not in the interface document ({times:,} rows); see the column `{EXTRA}`."
            )
        for path, times in self.pages.items():
            found.append(f"The page member {path} is not in the interface document ({times:,} pages); it is left out.")
        for (path, message), times in self.odd.items():
            found.append(f"{path}: {times:,} × {message}.")
        return found


def with_attrs(frame: pd.DataFrame, kind: str, aside: Notes, shown: Collection[str], **more: Any) -> pd.DataFrame:
    """Mark a frame with its kind, its notes, the unknown members met, and the private columns that it shows."""
    frame.attrs.update(kind=kind, notes=aside.words(), unknown=dict(aside.unknown), revealed=sorted(shown), **more)
    return frame


def records_frame(plan: Plan, records: Iterable[Any], reveal: Collection[str] = ()) -> pd.DataFrame:
    """Make the frame of records (or mappings of the same names) by the plan of their class."""
    shown = plan.shown(reveal)
    table = arrow_table(plan, records, shown)
    open_to_all = {column.name: column for column in plan.columns if not column.private or column.name in shown}
    arrays = {name: to_pandas(values, open_to_all.get(name)) for name, values in table.columns.items()}
    return with_attrs(pd.DataFrame(arrays, copy=False), plan.kind, table.aside, shown)


@attrs.frozen
class Table:
    """Columns in Arrow, by name, and what is said beside them."""

    columns: dict[str, Any]
    aside: Notes


def arrow_table(plan: Plan, records: Iterable[Any], shown: Collection[str]) -> Table:
    """Make the Arrow columns of records; private ones are masked unless their names are `shown`."""
    rows = list(_opened(plan, records))
    aside = Notes()
    set_aside: list[dict[str, Any]] = [{} for _ in rows] if plan.has_extra else []
    columns = {}
    for column in plan.columns:
        values = list(map(_getter(column.name, plan.rows_of), rows))
        columns[column.name] = _array(column, values, column.name in shown, set_aside, aside)
    if plan.has_extra:
        columns[EXTRA] = _extra(plan, rows, set_aside, EXTRA in shown, aside)
    _count_marks(rows, aside)
    for name, column in (
        (c.name, c) for c in plan.columns if isinstance(c.kind, DecimalNumber | Numeric) and not c.many
    ):
        if pa.types.is_large_string(columns[name].type) and (not column.private or name in shown):
            aside.notes.append(f"{name} stays text: a value has more digits than a decimal column holds.")
    return Table(columns, aside)


Row = tuple[Any, Any]  # the record, and the one of its list that makes this row


def _opened(plan: Plan, records: Iterable[Any]) -> Iterable[Row]:
    for record in records:
        many = _member(record, plan.rows_of) if plan.rows_of else None
        if many:
            for item in many:
                yield record, item
        else:
            yield record, None


def _member(of: Any, name: str) -> Any:
    return of.get(name) if type(of) is dict else getattr(of, name, None)


def _getter(path: str, rows_of: str | None) -> Callable[[Row], Any]:
    parts = path.split(".") if path else []
    from_item = bool(parts) and parts[0] == rows_of
    if from_item:
        del parts[0]

    def get(row: Row) -> Any:
        value = row[1] if from_item else row[0]
        for part in parts:
            if value is None:
                return None
            value = _member(value, part)
        return value

    return get


def _array(
    column: Column, values: list[Any], shown: bool, set_aside: Sequence[dict[str, Any]], aside: Notes
) -> Any:  # fmt: skip
    """Return the Arrow column of values; those it cannot hold are put aside under its wire path."""
    if column.many and not (column.private and not shown):
        values = [None if value is None else joined(value, column.kind) for value in values]
    if column.private and not shown:
        return _texts([masked(column, value) for value in values])
    how = form(column)
    taken: list[Any] = []
    odd = 0
    for i, value in enumerate(values):
        made = None if value is None else how.take(value)
        if made is ODD:
            odd += 1
            if set_aside:
                set_aside[i][column.wire] = value
            made = None
        taken.append(made)
    if odd:
        aside.odd[column.wire, f"a value no column of its kind can hold; it stands in `{EXTRA}`"] += odd
    if isinstance(column.kind, Numeric) and all(v is None or (v == int(v) and abs(v) < 2**63) for v in taken):
        return pa.array([None if v is None else int(v) for v in taken], type=pa.int64())
    if isinstance(column.kind, DecimalNumber | Numeric) and not column.many:
        return packed(taken)
    return _texts(taken) if pa.types.is_large_string(how.arrow) else pa.array(taken, type=how.arrow)


def _texts(values: list[Any]) -> Any:
    try:
        return pa.array(values, type=pa.large_string())
    except UnicodeEncodeError:  # half of a surrogate pair: shown as its escape
        safe = [v if v is None else v.encode("utf-8", "backslashreplace").decode() for v in values]
        return pa.array(safe, type=pa.large_string())


def _extra(plan: Plan, rows: list[Row], set_aside: list[dict[str, Any]], reveal: bool, aside: Notes) -> Any:
    getters = [(_getter(path.rstrip("."), plan.rows_of), wire) for path, wire in plan.answers]
    texts = []
    for row, kept in zip(rows, set_aside, strict=True):
        for get, wire in getters:
            if more := _unnamed(get(row)):
                found = extra.unknown(more, wire, reveal=reveal)
                aside.unknown.update(found.keys())
                kept.update(found)
        texts.append(extra.json_text(dict(sorted(kept.items()))) if kept else None)
    return _texts(texts)


def _unnamed(value: Any) -> Mapping[str, Any]:
    """Return the unknown members of a record; where no record could be read, all members as they came."""
    found: Mapping[str, Any] = value if isinstance(value, Mapping) else getattr(value, "extra", None) or {}
    return found


def _count_marks(rows: list[Row], aside: Notes) -> None:
    for record, item in rows:
        for one in (record, item):
            for mark in getattr(one, "marks", ()):
                aside.odd[mark.path, mark.message] += 1
