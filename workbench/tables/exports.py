"""Frames to files that are safe to open and read back the same: CSV, XLSX, Parquet.

A file is written under a temporary name, synced, then renamed, so a crash leaves the old one intact. Text that a
spreadsheet would run as a formula stays text; control characters become visible escapes, and are counted.
"""

import json
import logging
import os
import re
import tempfile
import unicodedata
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Literal

import attrs
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from workbench.errors import hidden_characters, visible

LOG = logging.getLogger("workbench.tables")
FORMULA = "=+-@\t\r\n＝＋－＠"
"""Characters at the start of a cell that a spreadsheet may take for a formula, with their full-width forms."""
EXCEL_ROWS = 1_048_576
EXCEL_COLUMNS = 16_384
EXCEL_CELL = 32_767
EXCEL_DIGITS = 15
_ALLOWED = "\n\t"
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")


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
    write_file(path, lambda file: write(frame, file, formulas), private=bool(revealed))
    if path.suffix.lower() == ".csv" and (words := _notes(frame)):
        notes = path.with_name(path.name + ".notes.txt")
        write_file(notes, lambda file: file.write(("\n".join(words) + "\n").encode()), private=bool(revealed))
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


def write_file(path: Path, write: Callable[[BinaryIO], Any], *, private: bool) -> None:
    """Write a file completely or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=path.suffix)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            if not private:
                mask = os.umask(0)
                os.umask(mask)
                os.fchmod(file.fileno(), 0o666 & ~mask)
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _is_text(column: "pd.Series[Any]") -> bool:
    return isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype) or column.dtype == object


def _clean(value: Any) -> Any:
    if not isinstance(value, str) or (value.isascii() and value.isprintable()):
        return value
    shown = "".join(
        c if c in _ALLOWED or (unicodedata.category(c) not in {"Cc", "Cs"} and not _BIDI.match(c)) else visible(c)
        for c in value
    )
    return shown if shown != value else value


def _cleaned(frame: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    count, changed = 0, {}
    for name in frame.columns:
        column = frame[name]
        if not _is_text(column) or not any(isinstance(v, str) and hidden_characters(v) for v in column.unique()):
            continue
        before = column.tolist()
        values = [_clean(value) for value in before]
        changes = sum(a is not b for a, b in zip(values, before, strict=True))
        if changes:
            count += changes
            changed[name] = pd.Series(
                values, index=frame.index, dtype=column.dtype if column.dtype == object else "str"
            )
    if changed:
        marks = frame.attrs
        frame = frame.assign(**changed)
        frame.attrs.update(marks)
    return frame.rename(columns={name: _clean(name) for name in frame.columns}), count


# CSV


def _csv(frame: pd.DataFrame, file: BinaryIO, formulas: str) -> None:
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
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat().replace("+00:00", "Z")
    return format(value, "f") if isinstance(value, Decimal) else value


# XLSX


def _xlsx(frame: pd.DataFrame, file: BinaryIO, _: str) -> None:
    import xlsxwriter  # only this format needs it

    if len(frame) >= EXCEL_ROWS or frame.shape[1] > EXCEL_COLUMNS:
        raise ValueError(
            f"an XLSX sheet has {EXCEL_ROWS - 1:,} rows and {EXCEL_COLUMNS:,} columns at most; write Parquet"
        )
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j]
        if _is_text(column) and (longest := max((len(str(v)) for v in column.unique()), default=0)) > EXCEL_CELL:
            raise ValueError(
                f"{column.name} has a text of {longest:,} characters (maximum of an XLSX cell: {EXCEL_CELL:,})"
            )
    book = xlsxwriter.Workbook(
        file,
        {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False},
    )
    forms = {
        "text": book.add_format({"num_format": "@"}),
        "head": book.add_format({"num_format": "@", "bold": True}),
        "time": book.add_format({"num_format": 'yyyy-mm-dd hh:mm:ss "UTC"'}),
        "day": book.add_format({"num_format": "yyyy-mm-dd"}),
    }
    sheet = book.add_worksheet("data")
    sheet.freeze_panes(1, 0)
    for j, name in enumerate(frame.columns):
        sheet.set_column(j, j, min(max(len(str(name)) + 2, 12), 40))
        _write_text(sheet, 0, j, str(name), forms["head"])
    writers = [_xlsx_column(frame.iloc[:, j]) for j in range(frame.shape[1])]
    columns = [frame.iloc[:, j].tolist() for j in range(frame.shape[1])]
    for i in range(len(frame)):
        for j, write in enumerate(writers):
            value = columns[j][i]
            if not (value is None or value is pd.NA or value is pd.NaT or value != value):
                write(sheet, i + 1, j, value, forms)
    if words := _notes(frame):
        notes = book.add_worksheet("notes")
        for i, text in enumerate(words):
            _write_text(notes, i, 0, text, forms["text"])
    book.close()


def _write_text(sheet: Any, i: int, j: int, text: str, form: Any) -> None:
    sheet.write_string(i, j, text[:EXCEL_CELL], form)  # the cells were measured before; a note may be cut


def _xlsx_column(column: "pd.Series[Any]") -> Callable[[Any, int, int, Any, Mapping[str, Any]], None]:
    """Return the writer of a column: as numbers only if a spreadsheet keeps all their digits."""
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        if column.notna().any() and (column.min().year < 1901 or column.max().year > 9998):
            return lambda s, i, j, v, f: _write_text(s, i, j, v.isoformat(), f["text"])
        return lambda s, i, j, v, f: s.write_datetime(i, j, v.to_pydatetime(warn=False).replace(tzinfo=None), f["time"])
    if pd.api.types.is_bool_dtype(column.dtype):
        return lambda s, i, j, v, f: s.write_boolean(i, j, bool(v))
    if pd.api.types.is_float_dtype(column.dtype) or (
        pd.api.types.is_numeric_dtype(column.dtype) and _short(column.dropna().tolist())
    ):
        return lambda s, i, j, v, f: s.write_number(i, j, v)
    if isinstance(column.dtype, pd.ArrowDtype) and pa.types.is_date(column.dtype.pyarrow_dtype):
        return lambda s, i, j, v, f: _write_text(s, i, j, v.isoformat(), f["day"])
    return lambda s, i, j, v, f: _write_text(s, i, j, format(v, "f") if isinstance(v, Decimal) else str(v), f["text"])


def _short(values: list[Any]) -> bool:
    return all(len(Decimal(str(value)).normalize().as_tuple().digits) <= EXCEL_DIGITS for value in values)


# Parquet


def _parquet(frame: pd.DataFrame, file: BinaryIO, _: str) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    about = {k: v for k, v in frame.attrs.items() if _plain(v)}
    metadata = {**(table.schema.metadata or {}), b"workbench": json.dumps(about).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), file, compression="zstd")


def _plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


_WRITERS: Mapping[str, Callable[[pd.DataFrame, BinaryIO, str], None]] = {
    ".csv": _csv, ".xlsx": _xlsx, ".parquet": _parquet,
}  # fmt: skip

_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)", re.IGNORECASE)


def file_name(text: str, suffix: str) -> str:
    """Return a safe file name for text such as a nickname: at most 80 letters, digits and dashes, not a reserved name."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^A-Za-z0-9]+", "-", ascii_text).strip("-").lower()[:80].strip("-") or "table"
    return f"{'x-' if _RESERVED.match(slug) else ''}{slug}{suffix}"
