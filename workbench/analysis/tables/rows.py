"""Convert records to frames. Each value is converted, masked or moved to `extra`, then columns become arrays.

A decimal column is `decimal128(18, 6)`, which pandas can add, multiply and divide. Values with more digits widen it to
`decimal256(37, 18)`, then `decimal256(75, 18)`, so no digit is lost. A column that fits none of these types, such as
one with a balance of 78 digits, stays text.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Context, Decimal, InvalidOperation, localcontext
from typing import Any, Self

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.tables.columns import (
    AMOUNT,
    EXTRA,
    UNFIT,
    Column,
    FrameLayout,
    encodable,
    form,
    joined,
    json_text,
    masked,
)
from workbench.analysis.tables.periods import is_zone
from workbench.base.errors import UsageError
from workbench.base.schema import masks
from workbench.base.schema.walk import Choice, DecimalNumber, Numeric

WIDTHS = (pa.decimal128(18, 6), pa.decimal256(37, 18), pa.decimal256(75, 18))
"""Types of decimal columns, narrowest first."""
EXACT = Context(prec=1000, Emin=-10_000, Emax=10_000)


def packed(values: Sequence[Decimal | None], *, at_least: object = None) -> Any:
    """Return decimals as an Arrow array of the first type that holds all values exactly, or as text if no type does.

    Args:
        values: The numbers, with None for missing values.
        at_least: First type of `WIDTHS` to try.
    """
    for width in WIDTHS[WIDTHS.index(at_least) if at_least in WIDTHS else 0 :]:
        try:
            return pa.array(values, type=width)
        except (pa.ArrowInvalid, ValueError, OverflowError):
            continue
    texts = [None if value is None else format(value.normalize(EXACT), "f") if value else "0" for value in values]
    return pa.array(texts, type=pa.large_string())


def total(values: Iterable[Decimal | None]) -> Decimal:
    """Return the exact sum of values. Missing values are ignored."""
    with localcontext(EXACT):
        return sum(filter(None, values), Decimal(0))


def is_missing(value: object) -> bool:
    """Return whether a cell is missing, in any representation that pandas uses."""
    return value is None or value is pd.NA or value is pd.NaT or value != value


def decimals(column: pd.Series[Any]) -> list[Decimal | None]:
    """Return the values of a column as Decimals, with None for missing values.

    Raises:
        UsageError: A value is not an exact number, such as a float, a masked value or a word.
    """
    return [_decimal(value, column.name) for value in column.to_list()]


def _decimal(value: Any, name: object) -> Decimal | None:
    if is_missing(value):
        return None
    if isinstance(value, float | bool):
        raise UsageError(f"column {name} holds values of type {type(value).__name__}, not exact numbers")
    try:
        return EXACT.create_decimal(value if isinstance(value, Decimal | int | str) else int(value))
    except (InvalidOperation, ValueError, TypeError):
        pass
    raise UsageError(f"column {name} holds a value that is not a number; reveal a masked column first")


def decimal_series(values: Sequence[Decimal | None], *, like: pd.Series[Any] | None = None) -> pd.Series[Any]:
    """Return a decimal column with the index and name of `like`, and a type at least as wide as the type of `like`."""
    width = getattr(like.dtype, "pyarrow_dtype", None) if like is not None else None
    array = packed(values, at_least=width)
    about: dict[str, Any] = {} if like is None else {"index": like.index, "name": like.name}
    return pd.Series(to_pandas(array), **about)  # type: ignore[no-any-return]


TEXT: Any = pd.StringDtype("pyarrow", na_value=np.nan)


@attrs.define
class Notes:
    """The caveats of a frame: notes, and counts of unknown members and of unusual values."""

    notes: list[str] = attrs.field(factory=list)
    unknown_members: Counter[str] = attrs.field(factory=Counter)
    unusual: Counter[tuple[str, str]] = attrs.field(factory=Counter)  # counts by wire path and description
    pages: Counter[str] = attrs.field(factory=Counter)  # unknown members of the page itself, outside its items

    def add(self, other: Notes) -> None:
        """Add the notes and counts of another part of the frame."""
        self.notes += [note for note in other.notes if note not in self.notes]
        self.unknown_members.update(other.unknown_members)
        self.unusual.update(other.unusual)
        self.pages.update(other.pages)

    def sentences(self) -> list[str]:
        """Return the notes and the counts as sentences."""
        sentences = list(self.notes)
        for path, times in self.unknown_members.items():
            sentences.append(
                f"The member {path} is not in the interface document ({times:,} rows); see column `{EXTRA}`."
            )
        for path, times in self.pages.items():
            sentences.append(
                f"The page member {path} is not in the interface document ({times:,} pages); it is left out."
            )
        for (path, message), times in self.unusual.items():
            sentences.append(f"{path}: {times:,} × {message}.")
        return sentences


@attrs.frozen
class Table:
    """Arrow columns by name, with notes on them."""

    columns: dict[str, Any]
    notes: Notes


def check_in_memory(x: object) -> None:
    """Raise UsageError for a Dask DataFrame. The message says how to load or aggregate it."""
    if hasattr(x, "compute"):
        raise UsageError(
            "a Dask DataFrame is not accepted: pass frame.compute(), or aggregate first, such as "
            "frame.groupby(…).sum().compute()"
        )


UNKNOWN = "Completeness unknown: this frame does not say how it was read (pandas drops its marks in concat and merge)."


def mark_report(
    frame: pd.DataFrame, kind: str, notes: Iterable[str], source: object = None, **more: object
) -> pd.DataFrame:
    """Set a report's attributes: kind, notes and columns. A note is added if `source` has no attributes."""
    marks = getattr(source, "attrs", {"kind": kind})
    complete = marks.get("complete") if isinstance(source, pd.DataFrame) else getattr(source, "complete", None)
    lost = [] if "kind" in marks else [UNKNOWN]
    notes = list(dict.fromkeys([*lost, *notes]))
    more = {name: frame.attrs[name] for name in ("trace",) if name in frame.attrs} | more
    frame.attrs = {} if complete is None else {"complete": complete}
    until = {"until": marks["until"]} if "until" in marks else {}
    frame.attrs.update(kind=kind, notes=notes, revealed=[], unknown={}, columns=[*map(str, frame)], **{**until, **more})
    return displayed(frame)


class MemoryMark(str):
    """Attribute of a frame that holds objects in memory. In a file, it is empty text."""

    __slots__ = ()

    def __deepcopy__(self, _: object) -> Self:
        return self  # pandas copies attrs for every frame that it derives

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, ("",)


def displayed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same frame. If IPython is loaded, register the readable display of its amounts and ids."""
    if "IPython" in sys.modules:
        from workbench.analysis.tables import display

        display.register()
    return frame


REPEATED = "Rows that occur more than once, as after concat: {count:,}{amounts}; each counts once."


def once(frame: pd.DataFrame, value: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a new frame with one row for each id, and the repeated rows.

    Raises:
        UsageError: Rows with one id have different values.
    """
    if "id" not in frame:
        return frame.copy(deep=False), frame.iloc[:0]
    repeated = (frame["id"].duplicated() & frame["id"].notna()).to_numpy(dtype=bool)
    if not repeated.any():
        return frame.copy(deep=False), frame.iloc[:0]
    ids = frame.loc[frame["id"].notna(), ["id", value]].drop_duplicates()["id"]
    if differing := ids[ids.duplicated()].nunique():
        raise UsageError(f"ids whose rows differ in {value}: {differing:,}; keep one row per id", of="history")
    return frame[~repeated], frame[repeated]


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, datetime) or (isinstance(value, str) and bool(datetime.fromisoformat(value)))
    except ValueError:
        return False


def _texts_alone(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


_BOUNDS, _NOW = ("since", "until"), datetime(2000, 1, 1, tzinfo=UTC)
_WORDS = ("kind", "currency", "month", "trace", "read", "freq", "signed_by")
_MARKS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("notes", "revealed", "columns", "unit_unknown", "statement"), _texts_alone),
    **{name: lambda value: isinstance(value, str) for name in _WORDS},
    "unknown": lambda value: isinstance(value, Mapping),
    "filters": lambda value: isinstance(value, Mapping) and all(_is_time(value.get(n) or _NOW) for n in _BOUNDS),
    **{name: lambda value: isinstance(value, bool) for name in ("complete", "running")},
    "by": lambda value: isinstance(value, str) or _texts_alone(value),
    "left_out": lambda value: isinstance(value, list), "until": _is_time, "tz": is_zone,
}  # fmt: skip
"""Attributes of frames, each with the check of its type."""


def with_checked_marks(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame without attributes of wrong types, which files of other programs can have. A note names them."""
    odd = [name for name, fits in _MARKS.items() if frame.attrs.get(name) is not None and not fits(frame.attrs[name])]
    if not odd:
        return frame
    checked = frame.copy(deep=False)
    checked.attrs = {name: value for name, value in frame.attrs.items() if name not in odd}
    checked.attrs["notes"] = [
        *checked.attrs.get("notes", ()),
        f"Attributes of a wrong type are left out: {', '.join(odd)}.",
    ]
    return checked


def without_unit(frame: pd.DataFrame) -> list[str]:
    """Return numeric columns without a unit, which may be renamed amounts of a report."""
    renamed = set(frame.attrs.get("columns", ())) - {*map(str, frame)}
    lost = {str(name) for name in frame.attrs.get("unit_unknown", ())}
    if any(AMOUNT.search(name) for name in renamed):
        lost |= {str(name) for name in frame if _is_amount(frame[name])} - set(frame.attrs["columns"])
    return [str(name) for name in frame if str(name) in lost and not AMOUNT.search(str(name))]


def _is_amount(column: object) -> bool:
    return isinstance(column, pd.Series) and pd.api.types.is_numeric_dtype(column.dtype) and column.dtype != bool


def records_frame(layout: FrameLayout, records: Iterable[Any], reveal: Collection[str] = ()) -> pd.DataFrame:
    """Return a frame of records, or of mappings with the same names. The record class determines the columns."""
    revealed = layout.shown(reveal)
    return table_frame(layout, [arrow_table(layout, records, revealed)], revealed)


def table_frame(layout: FrameLayout, tables: list[Table], shown: Collection[str]) -> pd.DataFrame:
    """Return a frame of tables with the columns of a layout. The tables are emptied to save memory."""
    tables = tables or [arrow_table(layout, [], shown)]
    notes = Notes()
    for table in tables:
        notes.add(table.notes)
    visible = {column.name: column for column in layout.columns if not column.private or column.name in shown}
    arrays: dict[str, Any] = {}
    for name in list(tables[0].columns):
        values = joined_chunks([table.columns.pop(name) for table in tables])
        column = visible.get(name)
        if column is not None and _is_decimal(column) and pa.types.is_large_string(values.type):
            notes.notes.append(f"{name} stays text: a value has more digits than a decimal column holds.")
        arrays[name] = to_pandas(values, column)
    frame = pd.DataFrame(arrays, copy=False)
    marks = {"notes": notes.sentences(), "unknown": dict(notes.unknown_members), "revealed": sorted(shown)}
    frame.attrs.update(kind=layout.kind, **marks)
    return displayed(frame)


def _is_decimal(column: Column) -> bool:
    return isinstance(column.kind, DecimalNumber | Numeric) and not column.many


def joined_chunks(chunks: Sequence[Any]) -> Any:
    """Concatenate the chunks of a column. Decimals get a type that holds all values."""
    if len({chunk.type for chunk in chunks}) > 1:  # the values have several decimal types, or some are texts
        values = [None if v is None else Decimal(v) for chunk in chunks for v in chunk.to_pylist()]
        return packed(values)
    return pa.chunked_array(chunks).combine_chunks()


def merged(tables: Sequence[Table]) -> Table:
    """Concatenate tables into one table, and release the memory of the parts."""
    notes = Notes()
    for table in tables:
        notes.add(table.notes)
    names = tables[0].columns
    return Table({name: joined_chunks([t.columns[name] for t in tables]) for name in names}, notes)


_DTYPES: Mapping[Any, Any] = {
    **dict.fromkeys((pa.string(), pa.large_string()), TEXT),
    pa.int64(): pd.Int64Dtype(),
    pa.float64(): pd.Float64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}
"""pandas type by Arrow type. Columns of any other type keep their Arrow type (`ArrowDtype`)."""


def to_pandas(values: Any, column: Column | None = None) -> Any:
    """Return the pandas array of an Arrow column.

    Text is `str`, whole numbers Int64, flags boolean, times datetime64[us, UTC]. Dates and decimals have Arrow types.
    An enum is a category. Its known values come first, in the order of the enum.
    """
    kind = values.type
    if column is not None and isinstance(column.kind, Choice) and not column.many:
        choices = [str(choice.value) for choice in column.kind.of]
        categories = [*dict.fromkeys([*choices, *pc.unique(values).drop_null().to_pylist()])]
        codes = pc.fill_null(pc.index_in(values, value_set=pa.array(categories, type=values.type)), -1)
        return pd.Categorical.from_codes(np.asarray(codes), dtype=pd.CategoricalDtype(categories))
    if pa.types.is_timestamp(kind) and kind.tz is None:  # times without a zone stay without one
        return pd.Series(values.to_pandas()).astype("datetime64[us]")
    if pa.types.is_timestamp(kind):
        return pd.DatetimeTZDtype("us", "UTC").__from_arrow__(values)
    return _DTYPES.get(kind, pd.ArrowDtype(kind)).__from_arrow__(values)


Row = tuple[Any, Any]  # a record, and one item of its list (None without a list or items)


def arrow_table(layout: FrameLayout, records: Iterable[Any], shown: Collection[str]) -> Table:
    """Return the Arrow columns of records. Private columns are masked unless `shown` contains their names."""
    rows: list[Row] = []
    for record in records:
        items = _attribute(record, layout.rows_of) if layout.rows_of else None
        rows += ((record, item) for item in items or (None,))
    notes = Notes()
    extras: list[dict[str, Any]] = [{} for _ in rows] if layout.has_extra else []
    columns = {}
    for column in layout.columns:
        values = list(map(_getter(column.name, layout.rows_of), rows))
        columns[column.name] = _array(column, values, column.name in shown, extras, notes)
    if layout.has_extra:
        columns[EXTRA] = _extra(layout, rows, extras, EXTRA in shown, notes)
    for record, item in rows:
        for reader in (record, item):
            for mark in getattr(reader, "marks", ()):
                notes.unusual[mark.path, mark.message] += 1
    return Table(columns, notes)


def _attribute(of: object, name: str) -> Any:
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
            value = _attribute(value, part)
        return value

    return get


def _array(column: Column, values: list[Any], shown: bool, extras: Sequence[dict[str, Any]], notes: Notes) -> Any:
    """Return a column's values as an Arrow array. A value that does not fit is moved to `extras` by wire path."""
    if column.private and not shown:
        return _texts([masked(column, value) for value in values])
    if column.many:
        values = [None if value is None else joined(value, column.kind) for value in values]
    how = form(column)
    converted = [None if value is None else how.convert(value) for value in values]
    for i, value in enumerate(values):
        if converted[i] is UNFIT:
            converted[i] = None
            notes.unusual[column.wire, f"a value that does not fit its column; see column `{EXTRA}`"] += 1
            if extras:
                extras[i][column.wire] = value
    if isinstance(column.kind, Numeric) and all(v is None or (v == int(v) and abs(v) < 2**63) for v in converted):
        return pa.array([None if v is None else int(v) for v in converted], type=pa.int64())
    if _is_decimal(column):
        return packed(converted)
    return _texts(converted) if pa.types.is_large_string(how.arrow) else pa.array(converted, type=how.arrow)


def _texts(values: list[str | None]) -> Any:
    try:
        return pa.array(values, type=pa.large_string())
    except UnicodeEncodeError:
        return pa.array([v if v is None else encodable(v) for v in values], type=pa.large_string())


def _extra(layout: FrameLayout, rows: list[Row], extras: list[dict[str, Any]], reveal: bool, notes: Notes) -> Any:
    getters = [(_getter(path.rstrip("."), layout.rows_of), wire) for path, wire in layout.answers]
    texts = []
    for row, members in zip(rows, extras, strict=True):
        for get, wire in getters:
            extra = get(row)  # a mapping if the object could not be converted to a record
            for name, value in (extra if isinstance(extra, Mapping) else getattr(extra, "extra", None) or {}).items():
                if value is not None:
                    members[f"{wire}{name}"] = value if reveal else masks.DOTS
                    notes.unknown_members[f"{wire}{name}"] += 1
        texts.append(json_text(dict(sorted(members.items()))) if members else None)
    return _texts(texts)
