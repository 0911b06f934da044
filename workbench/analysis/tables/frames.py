"""Convert anything to a DataFrame (`to_frame`), and write frames losslessly (`to_file`).

An ordered list of (applies, build) selects the conversion. Files are written under a temporary name, synced, renamed;
a crash leaves the old file intact. Text that a spreadsheet would run as a formula stays text. Control characters
become visible escapes and are counted.
"""

import json
import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.analysis.tables.columns import AMOUNT, json_text, layout_of
from workbench.analysis.tables.event_frames import events_frame, has_events
from workbench.analysis.tables.packs import write_page, write_workbook
from workbench.analysis.tables.rows import (
    TEXT,
    UNKNOWN,
    WIDTHS,
    check_in_memory,
    is_missing,
    mark_report,
    records_frame,
    with_checked_marks,
    without_unit,
)
from workbench.base.errors import Problem, UsageError, visible
from workbench.base.schema.walk import flat, is_record
from workbench.base.system.files import write_file, write_files
from workbench.client.calls.journal import Entry, Journal
from workbench.service.interface.events import Event
from workbench.service.interface.table import OPERATIONS, Operation
from workbench.service.interface.transactions import RewardsActivity, RewardsItem
from workbench.service.rendering.text import FORMULA, guarded

if TYPE_CHECKING:
    from xlsxwriter.worksheet import Worksheet

Reveal = Collection[str]
Applies = Callable[[Any, Any], bool]  # of x and `of`
Build = Callable[[Any, Any, Reveal], pd.DataFrame]


def to_frame(x: object, *, of: object = None, reveal: Collection[str] = ()) -> pd.DataFrame:
    """Return a DataFrame of a record, a list of records, a page, events, or a result of this package.

    Columns are named after the attributes, with dots for nested ones; a contract makes one row per token. Dtypes do
    not depend on the data, so an empty frame has the same ones: `str` for text (with leading zeros), Int64 for cents,
    exact decimals, boolean flags, datetime64[us, UTC] for times, and categories for enums (unknown values included).

    Args:
        x: Object to convert.
        of: Type of the rows, needed if x may be empty: a record class, an operation or its name, or an event kind
            such as "user.updated" or "transaction.*".
        reveal: Names of masked columns to show. The frame is marked (`frame.attrs["revealed"]`), and so are its
            exports.

    Returns:
        The frame. `frame.attrs` holds `kind`, `notes` (caveats as sentences) and `unknown` (undocumented members, with
        the number of rows of each). The column `extra` holds the values of those members.

    Raises:
        UsageError: x cannot be converted, or its rows are of several kinds.
        UsageError: `reveal` names a column that is not masked, or x is a frame of a cluster.
    """
    check_in_memory(x)
    columns = [reveal] if isinstance(reveal, str) else list(reveal)
    if not all(isinstance(name, str) for name in columns):
        raise UsageError([Problem("reveal", "type", "must be names of columns")], of="to_frame")
    names = frozenset(columns)
    for applies, build in _ROUTES:
        if applies(x, of):
            return build(x, of, names)
    raise _no_frame(x)


def _no_frame(x: object) -> UsageError:
    item = next((item for item in x if not isinstance(item, Mapping)), None) if isinstance(x, list | tuple) else None
    name = x.__name__ if isinstance(x, type) else type(x).__name__
    of = f" of {type(item).__name__}" if item is not None else ""
    return UsageError(
        f"cannot convert {name}{of} to a DataFrame; it takes records, events, mappings, lists of these, and "
        "objects with frame() or rows()"
    )


def _of_records(x: Any, of: object, reveal: Reveal) -> pd.DataFrame:
    items: list[Any] = []
    several = isinstance(x, Iterable) and not isinstance(x, Mapping | str | bytes)
    for record in x if several else [x]:
        page = isinstance(record, RewardsActivity)
        items += record.items if page else [record]
        of = RewardsItem if page and of is None else of
    if items and has_events(items):
        return events_frame(items, None, reveal)
    classes = {type(item): None for item in items if not isinstance(item, Mapping)}
    cls = _class_of(of) if of is not None else next(iter(classes), None)
    if cls is None and not items:
        empty = pd.DataFrame()
        empty.attrs.update(kind="nothing", notes=["No rows; `of=` sets the columns of an empty table."])
        return empty
    if cls is None:
        return _of_mappings(items)
    if not isinstance(cls, type) or not (is_record(cls) or attrs.has(cls)):
        raise _no_frame(x if of is None else cls)
    others = [c.__name__ for c in classes if c is not cls]
    if others:
        raise UsageError(f"cannot convert rows of several kinds to one DataFrame: {', '.join([cls.__name__, *others])}")
    return records_frame(layout_of(cls), items, reveal)


def _of_mappings(items: list[Any]) -> pd.DataFrame:
    """Return mappings, from a guide or a sandbox, as rows with dotted columns and masked private members."""
    shown = [item.shown() if hasattr(item, "shown") else item for item in items]
    rows = [
        {path: json_text(value) if isinstance(value, list | tuple) else value for path, value in flat(mapping)}
        for mapping in shown
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    frame = pd.DataFrame({name: pd.Series([row.get(name) for row in rows]) for name in names})
    frame = frame.convert_dtypes() if len(frame) else frame
    return mark_report(frame, "mapping", [])


def guide_rows(guide: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the kind, status and id of each record in a sandbox's guide, without keys."""
    rows: list[dict[str, Any]] = []
    for kind, listed in guide.items():
        groups = listed if isinstance(listed, Mapping) else {None: listed}
        for status, ids in groups.items():
            for id_ in ids if isinstance(ids, list | tuple) else ():
                of = id_ if isinstance(id_, Mapping) else {"id": id_}
                rows.append({"kind": kind, "status": status, **of})
    return [row for row in rows if "id" in row]


def _class_of(of: Any) -> Any:
    if isinstance(of, str):
        of = OPERATIONS.get(of, of)
    if isinstance(of, Operation) or hasattr(of, "operation"):
        of = getattr(of, "operation", of).answer
    return RewardsItem if of is RewardsActivity else of


_ROUTES: tuple[tuple[Applies, Build], ...] = (
    (lambda x, _: isinstance(x, pd.DataFrame), lambda x, *_: x),
    (lambda x, _: callable(getattr(x, "frame", None)), lambda x, *_: x.frame()),
    (
        lambda x, _: hasattr(x, "rows") and hasattr(x, "row_type"),
        lambda x, _, reveal: records_frame(layout_of(x.row_type), x.rows(), reveal),
    ),
    (lambda x, _: isinstance(x, Mapping) and "base_url" in x, lambda x, *_: _of_mappings(guide_rows(x))),
    (lambda x, _: isinstance(x, pd.Series), lambda x, *_: x.to_frame()),
    (
        lambda x, _: isinstance(x, list | tuple) and bool(x) and all(hasattr(item, "row_type") for item in x),
        lambda x, *_: pd.concat([to_frame(run).assign(run=i) for i, run in enumerate(x)], ignore_index=True),
    ),
    (lambda x, _: isinstance(x, Journal), lambda x, _, reveal: records_frame(layout_of(Entry), x, reveal)),
    (
        lambda x, of: of is Event or (isinstance(of, str) and "." in of) or has_events(x),
        lambda x, of, reveal: events_frame(x, of if isinstance(of, str) else None, reveal),
    ),
    (lambda x, _: is_record(x) or attrs.has(type(x)) or isinstance(x, Iterable), _of_records),
)


# -- files


LOG = logging.getLogger("workbench.tables")
EXCEL_ROWS = 1_048_576
EXCEL_COLUMNS = 16_384
EXCEL_CELL = 32_767
EXCEL_DIGITS = 15
_FORMS: dict[str, dict[str, Any]] = {
    "text": {"num_format": "@"}, "head": {"num_format": "@", "bold": True}, "wrapped": {"text_wrap": True}, "time": {},
    "day": {"num_format": "yyyy-mm-dd"}, "number": {},
}  # fmt: skip
_MEASURED, _WIDEST = 1_000, 60  # number of rows measured for the width of a column, and the maximum width
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""Control characters except tab and line feed, unpaired surrogates, and bidirectional controls."""


@attrs.frozen(kw_only=True)
class Saved:
    """Result of `to_file`: the file, its rows and columns, and its private columns."""

    path: Path
    rows: int
    columns: int
    cleaned: int  # cells whose control characters became visible escapes
    revealed: tuple[str, ...]  # private columns in the file

    def __str__(self) -> str:
        sentences = [f"{self.rows:,} rows in {self.path}"]
        if self.cleaned:
            sentences.append(f"control characters shown as escapes in {self.cleaned:,} cells")
        if self.revealed:
            sentences.append(f"contains private columns ({', '.join(self.revealed)}); only you can read the file")
        return "; ".join(sentences)


def is_tabular(x: object) -> bool:
    """Whether an object is a frame or a column."""
    return isinstance(x, pd.DataFrame | pd.Series)


def to_file(
    frame: "pd.DataFrame | pd.Series[Any] | Mapping[str, pd.DataFrame]",
    path: str | Path,
    *,
    overwrite: bool = False,
    tz: str = "UTC",
    audit: bool = False,
) -> Saved:
    """Write a frame or a column to a .csv, .xlsx or .parquet file, with its notes; or several frames to one file.

    Values and column names are the same in each format: a column `net_cents` holds cents. If the unit of a renamed
    column is unknown, its head says so. Notes are written to a second sheet (XLSX), the metadata (Parquet), or
    `….csv.notes.txt` (CSV). A file with revealed columns (`reveal=`) is readable only by its owner.

    A mapping of frames makes a workbook (.xlsx) or a page (.html) for people: a cover with time, currency and notes of
    each frame, tables with totals and charts, and definitions. Only there amounts in cents are written in the main unit
    of their currency, as the heads say: `net (USD)`. The same frames make the same bytes.

    Args:
        frame: The frame or the column, or a mapping of sheet names to frames.
        path: The file to write. Its extension selects the format.
        overwrite: Replace the file if it exists.
        tz: In XLSX files, the time zone of times.
        audit: Add a sheet with the source rows of each number, as in `history.explain` (XLSX only).

    Raises:
        FileExistsError: The file exists and `overwrite` is False.
        UsageError: The extension is unknown, or the frame is too large for the format.
    """
    if isinstance(path, bytes):
        raise UsageError([Problem("path", "type", "must be text or a path, not bytes")], of="to_file")
    path = Path(path)
    writers = _PACKS if isinstance(frame, Mapping) else _WRITERS
    if path.suffix.lower() not in writers:
        raise UsageError(f"{path.name}: unsupported file extension (supported: {', '.join(writers)})")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; pass overwrite=True to replace it")
    if audit and path.suffix.lower() != ".xlsx":
        raise UsageError("audit=True adds a sheet, so the file must be .xlsx", of="to_file")
    if isinstance(frame, Mapping):
        if any(not isinstance(table, pd.DataFrame) for table in frame.values()):
            raise UsageError([Problem("frame", "type", "must be frames by name")], of="to_file")
        frame = {name: with_checked_marks(table) for name, table in frame.items()}
        sheets = {f"Audit {name}": _audit(frame[name]) for name in frame if audit and "trace" in frame[name].attrs}
        return _write_pack({**frame, **sheets}, path, tz)
    write = partial(_xlsx, audit=_audit(frame)) if audit else _WRITERS[path.suffix.lower()]
    if isinstance(frame, pd.Series) or any(name is not None for name in frame.index.names):
        frame = frame.reset_index()  # the keys of groups become columns
    check_columns(frame)
    frame = with_checked_marks(frame)
    revealed = tuple(frame.attrs.get("revealed", ()))
    frame, cleaned = _cleaned(_with_units(frame))
    files: dict[Path, Any] = {}
    if path.suffix.lower() == ".csv":
        lines = _notes(frame)
        files[path.with_name(path.name + ".notes.txt")] = ("\n".join(lines) + "\n").encode() if lines else None
    files[path] = lambda file: write(frame, file, tz)
    write_files(files, private=bool(revealed))
    if revealed:
        LOG.warning("private columns (%s) were written to %s", ", ".join(revealed), path)
    return Saved(path=path, rows=len(frame), columns=frame.shape[1], cleaned=cleaned, revealed=revealed)


def check_columns(frame: pd.DataFrame) -> None:
    """Raise UsageError for a frame with duplicate column names."""
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        names = ", ".join(dict.fromkeys(visible(str(name), 60) for name in repeated))
        raise UsageError(f"several columns have the name {names}", of="to_file")


def _audit(frame: "pd.DataFrame | pd.Series[Any]") -> pd.DataFrame:
    """Return the source rows of each number of a report."""
    audit = getattr(frame.attrs.get("trace"), "audit", None)
    if audit is None:
        raise UsageError("audit=True takes a report of this process, such as history.spend()", of="to_file")
    table: pd.DataFrame = audit(frame)
    return table


def _write_pack(frames: Mapping[str, pd.DataFrame], path: Path, tz: str) -> Saved:
    if not frames:
        raise UsageError([Problem("frame", "type", "must be frames by name, at least one")], of="to_file")
    revealed = tuple(dict.fromkeys(name for frame in frames.values() for name in frame.attrs.get("revealed", ())))
    write = _PACKS[path.suffix.lower()]
    write_file(path, lambda file: write(frames, path.stem, file, tz), private=bool(revealed))
    rows, columns = (sum(frame.shape[axis] for frame in frames.values()) for axis in (0, 1))
    return Saved(path=path, rows=rows, columns=columns, cleaned=0, revealed=revealed)


def _with_units(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose heads and notes mark amounts without a known unit."""
    lost = without_unit(frame)
    if not lost:
        return frame
    named = frame.rename(columns={name: f"{name} (unit unknown)" for name in lost})
    note = f"The unit of {', '.join(lost)} is not known: amounts in cents have names that end in _cents."
    named.attrs = {**frame.attrs, "notes": [note, *frame.attrs.get("notes", ())]}
    return named


def _notes(frame: pd.DataFrame) -> list[str]:
    notes = [visible(str(note)) for note in frame.attrs.get("notes", ())]
    if "kind" not in frame.attrs and any(AMOUNT.search(str(name)) for name in frame):
        notes.insert(0, UNKNOWN)
    if frame.attrs.get("complete") is False:
        notes.insert(0, "This table is not complete.")
    if revealed := frame.attrs.get("revealed"):
        notes.insert(0, f"Private columns in this file: {', '.join(revealed)}.")
    return notes


def _is_text(column: "pd.Series[Any]") -> bool:
    return isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype) or column.dtype == object


def _clean(text: str) -> str:
    return _HIDDEN.sub(lambda match: visible(match[0]), text)


def _cleaned(frame: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return a frame with control characters escaped, and the number of affected cells."""
    count, changed = 0, {}
    for name in frame.columns:
        column: pd.Series[Any] = frame[name]
        if not _is_text(column):
            continue
        replacements = {
            word: _clean(word) for word in column.unique() if isinstance(word, str) and _HIDDEN.search(word)
        }
        if replacements:
            values = [replacements.get(value, value) if isinstance(value, str) else value for value in column.tolist()]
            count += sum(isinstance(value, str) and value in replacements for value in column.tolist())
            changed[name] = pd.Series(values, frame.index, object if column.dtype == object else "str")
    cleaned = frame.assign(**changed) if changed else frame
    cleaned.attrs = frame.attrs
    return cleaned.rename(columns=lambda name: _clean(name) if isinstance(name, str) else name), count


# CSV


def _csv(frame: pd.DataFrame, file: BinaryIO, _: str) -> None:
    shown = {guarded(str(name)): _csv_column(frame.iloc[:, i]) for i, name in enumerate(frame.columns)}
    pd.DataFrame(shown).to_csv(file, index=False, encoding="utf-8", lineterminator="\r\n")


_GUARDED = f"^ *[{re.escape(FORMULA)}]|^'"


def _csv_column(column: "pd.Series[Any]") -> Any:
    """Return a column as written to CSV; columns of the usual types are converted in one step.

    Text that a spreadsheet would run has `'` before it, which `read_table` and `bulk.read_rows` remove.
    """
    values = pa.array(column.array) if isinstance(column.dtype, pd.StringDtype) else None
    if values is not None and not pc.any(pc.match_substring_regex(values, _GUARDED)).as_py():
        return column.array
    if isinstance(column.dtype, pd.DatetimeTZDtype) and str(column.dtype.tz) == "UTC":
        return _iso_texts(column)
    if str(column.dtype) == "Int64":
        return column.array
    if getattr(column.dtype, "pyarrow_dtype", None) == WIDTHS[0]:
        return pd.array(pc.cast(pa.array(column.array), pa.large_string()), dtype=TEXT)
    return np.array([_cell(value) for value in column.tolist()], dtype=object)


def _iso_texts(column: "pd.Series[Any]") -> Any:
    """Return times in UTC as `_plain` writes them: with microseconds only where they are not 0."""
    times = column.astype("datetime64[us, UTC]").dt.tz_localize(None).to_numpy()
    texts = np.datetime_as_string(times, unit="s")
    fractions = times.astype("int64") % 1_000_000 != 0
    longer = np.datetime_as_string(times[fractions], unit="us")
    result = np.char.add(texts, "Z").astype(object)
    result[fractions] = np.char.add(longer, "Z").astype(object)
    result[np.isnat(times)] = None
    return result


def _cell(value: object) -> Any:
    if isinstance(value, str):
        return guarded(value)
    return None if is_missing(value) else _plain(value) if isinstance(value, date | Decimal) else value


# XLSX


def _xlsx(frame: pd.DataFrame, file: BinaryIO, tz: str, audit: pd.DataFrame | None = None) -> None:
    import xlsxwriter  # only this format needs it

    tables = {"data": frame} if audit is None else {"data": frame, "audit": audit}
    for table in tables.values():
        _check_sheet(table)  # before temporary files are opened
    book = xlsxwriter.Workbook(
        file,
        {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False},
    )
    forms = {name: book.add_format(form) for name, form in _FORMS.items()}
    forms["time"].set_num_format(f'yyyy-mm-dd hh:mm:ss "{tz}"')
    for title, table in tables.items():
        _xlsx_sheet(book.add_worksheet(title), table, tz, forms)
    if note := _notes(frame):
        notes = book.add_worksheet("notes")
        notes.set_column(0, 0, 120)
        for i, word in enumerate(note):
            notes.write_string(i, 0, word[:EXCEL_CELL], forms["wrapped"])
    try:
        book.close()
    except xlsxwriter.exceptions.FileCreateError as error:
        raise error.args[0] from None  # the OSError that it hides


def _check_sheet(frame: pd.DataFrame) -> None:
    """Raise UsageError if a frame is too large for a sheet."""
    if len(frame) >= EXCEL_ROWS or frame.shape[1] > EXCEL_COLUMNS:
        raise UsageError(
            f"an XLSX sheet has {EXCEL_ROWS - 1:,} rows and {EXCEL_COLUMNS:,} columns at most; write Parquet"
        )
    for column in filter(_is_text, (frame.iloc[:, j] for j in range(frame.shape[1]))):
        if (longest := max((len(str(v)) for v in column.unique()), default=0)) > EXCEL_CELL:
            raise UsageError(
                f"{column.name} has a text of {longest:,} characters (maximum of an XLSX cell: {EXCEL_CELL:,})"
            )


def _xlsx_sheet(sheet: "Worksheet", frame: pd.DataFrame, tz: str, forms: Mapping[str, Any]) -> None:
    sheet.freeze_panes(1, 0)
    columns = []
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j]
        name, values, form = str(column.name), *_xlsx_values(column, tz)
        widest = max([len(name), *(len(str(value)) for value in values[:_MEASURED] if value is not None)])
        sheet.set_column(j, j, min(max(widest + 2, len(tz) + 22 if form == "time" else 12), _WIDEST))
        sheet.write_string(0, j, name[:EXCEL_CELL], forms["head"])
        columns.append((values, forms[form]))
    for i in range(len(frame)):  # rows are written one at a time
        for j, (values, form) in enumerate(columns):
            if (value := values[i]) is not None:
                sheet.write(i + 1, j, value, form)


def _xlsx_values(column: "pd.Series[Any]", tz: str) -> tuple[list[Any], str]:
    """Return the values of a column (None where missing) and their format; numbers that would lose digits stay text."""
    values = [None if is_missing(value) else value for value in column.tolist()]
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, date) and 1901 <= value.year <= 9998 for value in known):
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            local = [value and value.tz_convert(tz).to_pydatetime(warn=False).replace(tzinfo=None) for value in values]
            return local, "time"
        if any(isinstance(value, datetime) and value.time() != time.min for value in known):  # hours without a zone
            return [value and value.isoformat(" ") for value in values], "text"
        return [value and date(value.year, value.month, value.day) for value in values], "day"
    if pd.api.types.is_bool_dtype(column.dtype):
        return [None if value is None else bool(value) for value in values], "number"
    if pd.api.types.is_float_dtype(column.dtype):
        return values, "number"
    if pd.api.types.is_numeric_dtype(column.dtype) and all(
        len(Decimal(str(value)).normalize().as_tuple().digits) <= EXCEL_DIGITS for value in known
    ):
        return values, "number"
    return [None if value is None else _plain(value) for value in values], "text"


def _plain(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat().replace("+00:00", "Z")
    return format(value, "f") if isinstance(value, Decimal) else str(value)


# Parquet


def _parquet(frame: pd.DataFrame, file: BinaryIO, _: str) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    about = {name: value for name, value in frame.attrs.items() if _is_json(value)}
    metadata = {**(table.schema.metadata or {}), b"workbench": json.dumps(about).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), file, compression="zstd")


def _is_json(value: object) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


_WRITERS: Mapping[str, Callable[[pd.DataFrame, BinaryIO, str], None]] = {
    ".csv": _csv,
    ".xlsx": _xlsx,
    ".parquet": _parquet,
}
_PACKS: Mapping[str, Callable[[Mapping[str, pd.DataFrame], str, BinaryIO, str], None]] = {
    ".xlsx": write_workbook,
    ".html": write_page,
}
