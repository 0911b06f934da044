"""Frames to files that are safe to open and read back the same: CSV, XLSX, Parquet.

A file is written under a temporary name, synced, then renamed, so a crash leaves the old one intact. Text that a
spreadsheet would run as a formula stays text; control characters become visible escapes, and are counted.
"""

import json
import logging
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Literal

import attrs
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from workbench.errors import visible
from workbench.rendering.layout import FORMULA as FORMULA
from workbench.storage import write_file

LOG = logging.getLogger("workbench.tables")
EXCEL_ROWS = 1_048_576
EXCEL_COLUMNS = 16_384
EXCEL_CELL = 32_767
EXCEL_DIGITS = 15
_FORMS: dict[str, dict[str, Any]] = {
    "text": {"num_format": "@"}, "head": {"num_format": "@", "bold": True}, "wrapped": {"text_wrap": True}, "time": {},
    "day": {"num_format": "yyyy-mm-dd"}, "money": {"num_format": "#,##0.00"}, "number": {},
}  # fmt: skip
_MEASURED, _WIDEST = 1_000, 60  # rows that are measured for the width of a column, and the most it has
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and line feed, halves of surrogate pairs, and changes of direction."""


@attrs.frozen(kw_only=True)
class Saved:
    """What `export` wrote: the file, its rows and columns, and the private columns in it."""

    path: Path
    rows: int
    columns: int
    cleaned: int  # cells whose control characters became visible escapes
    revealed: tuple[str, ...]  # private columns in the file

    def __str__(self) -> str:
        words = [f"{self.rows:,} rows in {self.path}"]
        if self.cleaned:
            words.append(f"control characters shown as escapes in {self.cleaned:,} cells")
        if self.revealed:
            words.append(f"contains private columns ({', '.join(self.revealed)}); only you can read the file")
        return "; ".join(words)


def export(
    frame: "pd.DataFrame | pd.Series[Any]",
    path: str | Path,
    *,
    overwrite: bool = False,
    formulas: Literal["guard", "keep"] = "guard",
    tz: str = "UTC",
) -> Saved:
    """Write a frame or a column to a .csv, .xlsx or .parquet file, with its notes.

    Notes are written to a second sheet (XLSX), the metadata (Parquet), or `….csv.notes.txt` (CSV, if there are any).
    The file of a frame made with `reveal=` is readable by its owner only.

    Args:
        frame: The frame or the column.
        path: The file; its extension is the format.
        overwrite: Replace the file if it exists.
        formulas: In CSV files, put `'` before text that a spreadsheet would run ("guard"; `bulk.load` removes it), or
            leave it unchanged ("keep").
        tz: In XLSX files, the time zone of times. Dates there are dates, columns are as wide as their values, and the
            amounts of transactions and reports are dollars.

    Raises:
        FileExistsError: The file exists, and `overwrite` is False.
        ValueError: The extension is unknown, or the frame is too large for the format.
    """
    path = Path(path)
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        raise ValueError(f"{path.name}: unsupported file extension (supported: {', '.join(_WRITERS)})")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; pass overwrite=True to replace it")
    if isinstance(frame, pd.Series) or any(name is not None for name in frame.index.names):
        frame = frame.reset_index()  # the keys of groups become columns
    revealed = tuple(frame.attrs.get("revealed", ()))
    frame, cleaned = _cleaned(frame)
    write_file(path, lambda file: write(frame, file, formulas, tz), private=bool(revealed))
    if path.suffix.lower() == ".csv" and (words := _notes(frame)):
        notes = path.with_name(path.name + ".notes.txt")
        write_file(notes, ("\n".join(words) + "\n").encode(), private=bool(revealed))
    if revealed:
        LOG.warning("private columns (%s) were written to %s", ", ".join(revealed), path)
    return Saved(path=path, rows=len(frame), columns=frame.shape[1], cleaned=cleaned, revealed=revealed)


def _notes(frame: pd.DataFrame) -> list[str]:
    words = [visible(str(note)) for note in frame.attrs.get("notes", ())]
    if frame.attrs.get("complete") is False:
        words.insert(0, "This table is not complete.")
    if revealed := frame.attrs.get("revealed"):
        words.insert(0, f"Private columns in this file: {', '.join(revealed)}.")
    return words


def _is_text(column: "pd.Series[Any]") -> bool:
    return isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype) or column.dtype == object


def _clean(text: str) -> str:
    return _HIDDEN.sub(lambda found: visible(found[0]), text)


def _cleaned(frame: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return a frame with escapes for its control characters, and the number of cells that had any."""
    count, changed = 0, {}
    for name in frame.columns:
        column: pd.Series[Any] = frame[name]
        if not _is_text(column):
            continue
        words = {word: _clean(word) for word in column.unique() if isinstance(word, str) and _HIDDEN.search(word)}
        if words:
            found = [words.get(value, value) if isinstance(value, str) else value for value in column.tolist()]
            count += sum(isinstance(value, str) and value in words for value in column.tolist())
            changed[name] = pd.Series(found, frame.index, object if column.dtype == object else "str")
    made = frame.assign(**changed) if changed else frame
    made.attrs = frame.attrs
    return made.rename(columns=lambda name: _clean(name) if isinstance(name, str) else name), count


# CSV


def _csv(frame: pd.DataFrame, file: BinaryIO, formulas: str, _: str) -> None:
    guard = formulas == "guard"
    shown = {}
    for i, name in enumerate(frame.columns):
        column = frame.iloc[:, i]
        shown[_guarded(str(name)) if guard else str(name)] = [_cell(value, guard) for value in column.tolist()]
    pd.DataFrame(shown, dtype=object).to_csv(file, index=False, encoding="utf-8", lineterminator="\r\n")


def _guarded(text: str) -> str:
    return f"'{text}" if text.lstrip(" ")[:1] in set(FORMULA) or text[:1] == "'" else text


def _cell(value: Any, guard: bool) -> Any:
    if isinstance(value, str):
        return _guarded(value) if guard else value
    if _is_missing(value):
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat().replace("+00:00", "Z")
    return format(value, "f") if isinstance(value, Decimal) else value


# XLSX


def _xlsx(frame: pd.DataFrame, file: BinaryIO, _: str, tz: str) -> None:
    import xlsxwriter  # only this format needs it

    if len(frame) >= EXCEL_ROWS or frame.shape[1] > EXCEL_COLUMNS:
        raise ValueError(
            f"an XLSX sheet has {EXCEL_ROWS - 1:,} rows and {EXCEL_COLUMNS:,} columns at most; write Parquet"
        )
    series = [frame.iloc[:, j] for j in range(frame.shape[1])]
    for column in filter(_is_text, series):
        if (longest := max((len(str(v)) for v in column.unique()), default=0)) > EXCEL_CELL:
            raise ValueError(
                f"{column.name} has a text of {longest:,} characters (maximum of an XLSX cell: {EXCEL_CELL:,})"
            )
    book = xlsxwriter.Workbook(
        file,
        {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False},
    )
    forms = {name: book.add_format(form) for name, form in _FORMS.items()}
    forms["time"].set_num_format(f'yyyy-mm-dd hh:mm:ss "{tz}"')
    sheet = book.add_worksheet("data")
    sheet.freeze_panes(1, 0)
    cents = set(frame.attrs.get("cents", ()))
    columns = []
    for j, column in enumerate(series):
        name, values, form = str(column.name), *_xlsx_values(column, tz)
        if column.name in cents:
            name, form = f"{name} ({str(frame.attrs.get('currency', 'usd')).upper()})", "money"
            values = [None if value is None else Decimal(value) / 100 for value in values]
        widest = max([len(name), *(len(str(value)) for value in values[:_MEASURED] if value is not None)])
        sheet.set_column(j, j, min(max(widest + 2, len(tz) + 22 if form == "time" else 12), _WIDEST))
        sheet.write_string(0, j, name[:EXCEL_CELL], forms["head"])
        columns.append((values, forms[form]))
    write = {  # rows come one by one: the sheet is written as it goes
        str: sheet.write_string, datetime: sheet.write_datetime, date: sheet.write_datetime, bool: sheet.write_boolean,
        int: sheet.write_number, float: sheet.write_number, Decimal: sheet.write_number,
    }  # fmt: skip
    for i in range(len(frame)):
        for j, (values, form) in enumerate(columns):
            if (value := values[i]) is not None:
                write[type(value)](i + 1, j, value, form)
    if words := _notes(frame):
        notes = book.add_worksheet("notes")
        notes.set_column(0, 0, 120)
        for i, word in enumerate(words):
            notes.write_string(i, 0, word[:EXCEL_CELL], forms["wrapped"])
    try:
        book.close()
    except xlsxwriter.exceptions.FileCreateError as error:
        raise error.args[0] from None  # the OSError that it hides


def _xlsx_values(column: "pd.Series[Any]", tz: str) -> tuple[list[Any], str]:
    """Return the values of a column, None where missing, and their format: numbers only if no digit is lost."""
    values = [None if _is_missing(value) else value for value in column.tolist()]
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, date) and 1901 <= value.year <= 9998 for value in known):
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            local = [value and value.tz_convert(tz).to_pydatetime(warn=False).replace(tzinfo=None) for value in values]
            return local, "time"
        return [value and date(value.year, value.month, value.day) for value in values], "day"
    if pd.api.types.is_bool_dtype(column.dtype):
        return [None if value is None else bool(value) for value in values], "number"
    if pd.api.types.is_float_dtype(column.dtype):
        return values, "number"
    if pd.api.types.is_numeric_dtype(column.dtype) and all(map(_is_short, known)):
        return values, "number"
    return [None if value is None else _plain_text(value) for value in values], "text"


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or value != value


def _plain_text(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _is_short(value: Any) -> bool:
    return len(Decimal(str(value)).normalize().as_tuple().digits) <= EXCEL_DIGITS


# Parquet


def _parquet(frame: pd.DataFrame, file: BinaryIO, *_: str) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    about = {name: value for name, value in frame.attrs.items() if _is_json(value)}
    metadata = {**(table.schema.metadata or {}), b"workbench": json.dumps(about).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), file, compression="zstd")


def load(path: str | Path) -> pd.DataFrame:
    """Return a frame that `export` wrote to Parquet, with its types, marks and notes; other Parquet files are read alike.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is not a Parquet file. CSV and XLSX files keep no types: `bulk.load` reads their rows.
    """
    path = Path(path)
    if path.suffix.lower() != ".parquet":
        raise ValueError(f"{path.name}: only a Parquet file keeps types and notes; bulk.load reads rows of other files")
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path.name}: not a readable Parquet file ({type(error).__name__})") from None
    frame: pd.DataFrame = table.to_pandas(types_mapper=_arrow_dtype)
    return frame


def _arrow_dtype(kind: Any) -> Any:
    return pd.ArrowDtype(kind) if pa.types.is_decimal(kind) or pa.types.is_date(kind) else None


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


_WRITERS: Mapping[str, Callable[[pd.DataFrame, BinaryIO, str, str], None]] = {
    ".csv": _csv, ".xlsx": _xlsx, ".parquet": _parquet,
}  # fmt: skip
