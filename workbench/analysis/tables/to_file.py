"""Write frames to CSV, XLSX and Parquet files without loss, and several frames to a formatted workbook or page.

Files are written under a temporary name, synced and then renamed, so a crash leaves the old file intact. Text that a
spreadsheet would run as a formula stays text. Control characters become visible escapes and are counted.
"""

import json
import logging
import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.analysis.tables.columns import AMOUNT
from workbench.analysis.tables.packs import write_page, write_workbook
from workbench.analysis.tables.rows import TEXT, UNKNOWN, WIDTHS, is_missing, with_checked_marks, without_unit
from workbench.analysis.tables.workbooks import is_text, plain_text, write_book
from workbench.base.errors import Problem, UsageError, unsupported_file, visible
from workbench.base.system.files import write_files
from workbench.service.rendering.text import FORMULA, guarded

LOG = logging.getLogger("workbench.tables")
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""Control characters except tab and line feed, unpaired surrogates, and bidirectional controls."""


@attrs.frozen(kw_only=True)
class Saved:
    """Result of `to_file`: the file, its numbers of rows and columns, and its private columns."""

    path: Path
    rows: int
    columns: int
    cleaned: int  # number of cells with escaped control characters
    revealed: tuple[str, ...]  # private columns that the file shows

    def __str__(self) -> str:
        sentences = [f"{self.rows:,} rows in {self.path}"]
        if self.cleaned:
            sentences.append(f"control characters shown as escapes in {self.cleaned:,} cells")
        if self.revealed:
            sentences.append(f"contains private columns ({', '.join(self.revealed)}); only you can read the file")
        return "; ".join(sentences)


def is_tabular(x: object) -> bool:
    """Return whether an object is a frame or a column."""
    return isinstance(x, pd.DataFrame | pd.Series)


def to_file(
    frame: "pd.DataFrame | pd.Series[Any] | Mapping[str, pd.DataFrame]",
    path: str | Path,
    *,
    overwrite: bool = False,
    tz: str = "UTC",
) -> Saved:
    """Write a frame or a column to a .csv, .xlsx or .parquet file, with its notes; or several frames to one file.

    Values and column names are the same in each format: a column `net_cents` holds cents. If the unit of a renamed
    column is unknown, the column head says so. Notes are written to a second sheet (XLSX), the metadata (Parquet), or
    `….csv.notes.txt` (CSV). A file with revealed columns (`reveal=`) is readable only by its owner.

    A mapping of frames makes a workbook (.xlsx) or a page (.html) for people: a cover with time, currency and notes of
    each frame, tables with totals and charts, and definitions. Only in these files are amounts in cents written in the
    main unit of their currency, as the column heads say: `Net (USD)`. The same frames produce the same bytes.

    Args:
        frame: The frame or the column, or a mapping of sheet names to frames.
        path: The file to write. Its extension selects the format.
        overwrite: Whether to replace the file if it exists.
        tz: Time zone of times in XLSX files.

    Raises:
        FileExistsError: The file exists and `overwrite` is False.
        UsageError: The extension is unknown, or the frame is too large for the format.
    """
    if isinstance(path, bytes):
        raise UsageError([Problem("path", "type", "must be text or a path, not bytes")], of="to_file")
    path = Path(path)
    writers = _PACKS if isinstance(frame, Mapping) else _WRITERS
    if path.suffix.lower() not in writers:
        raise UsageError(unsupported_file(path.name, writers))
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; pass overwrite=True to replace it")
    frames = dict(frame) if isinstance(frame, Mapping) else {"data": frame}
    if not frames or not all(isinstance(table, pd.DataFrame | pd.Series) for table in frames.values()):
        problem = "must be a frame, a column, or a mapping with at least one frame"
        raise UsageError([Problem("frame", "type", problem)], of="to_file")
    tables = {name: _prepared(table) for name, table in frames.items()}
    sheets = {name: table for name, (table, _) in tables.items()}
    revealed = tuple(dict.fromkeys(name for table in sheets.values() for name in table.attrs.get("revealed", ())))
    files: dict[Path, Any] = {}
    if path.suffix.lower() == ".csv":
        lines = notes_of(sheets["data"])
        files[path.with_name(path.name + ".notes.txt")] = ("\n".join(lines) + "\n").encode() if lines else None
    files[path] = lambda file: writers[path.suffix.lower()](sheets, file, path.stem, tz)
    write_files(files, private=bool(revealed))
    if revealed:
        LOG.warning("private columns (%s) were written to %s", ", ".join(revealed), path)
    rows, columns = (sum(table.shape[axis] for table in sheets.values()) for axis in (0, 1))
    cleaned = sum(count for _, count in tables.values())
    return Saved(path=path, rows=rows, columns=columns, cleaned=cleaned, revealed=revealed)


def _prepared(table: "pd.DataFrame | pd.Series[Any]") -> tuple[pd.DataFrame, int]:
    """Return a frame that is ready to be written, and the number of cells with escaped control characters."""
    if isinstance(table, pd.Series) or any(name is not None for name in table.index.names):
        table = table.reset_index()  # turns the keys of groups into columns
    check_columns(table)
    return _cleaned(_with_units(with_checked_marks(table)))


def check_columns(frame: pd.DataFrame) -> None:
    """Raise UsageError for a frame with duplicate column names."""
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        names = ", ".join(dict.fromkeys(visible(str(name), 60) for name in repeated))
        raise UsageError(f"several columns have the name {names}", of="to_file")


def _with_units(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose column heads and notes mark amounts with an unknown unit."""
    lost = without_unit(frame)
    if not lost:
        return frame
    named = frame.rename(columns={name: f"{name} (unit unknown)" for name in lost})
    note = f"The unit of {', '.join(lost)} is unknown: amounts in cents have names that end in _cents."
    named.attrs = {**frame.attrs, "notes": [note, *frame.attrs.get("notes", ())]}
    return named


def notes_of(frame: pd.DataFrame) -> list[str]:
    """Return the caveats of a frame, as sentences."""
    notes = [visible(str(note)) for note in frame.attrs.get("notes", ())]
    if "kind" not in frame.attrs and any(AMOUNT.search(str(name)) for name in frame):
        notes.insert(0, UNKNOWN)
    if frame.attrs.get("complete") is False:
        notes.insert(0, "This table is not complete.")
    if revealed := frame.attrs.get("revealed"):
        notes.insert(0, f"Private columns in this file: {', '.join(revealed)}.")
    return notes


def _clean(text: str) -> str:
    return _HIDDEN.sub(lambda match: visible(match[0]), text)


def _cleaned(frame: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return a frame with control characters escaped, and the number of affected cells."""
    count, changed = 0, {}
    for name in frame.columns:
        column: pd.Series[Any] = frame[name]
        if not is_text(column):
            continue
        replacements = {
            word: _clean(word) for word in column.unique() if isinstance(word, str) and _HIDDEN.search(word)
        }
        if replacements:
            hidden = column.tolist()
            values = [replacements.get(value, value) if isinstance(value, str) else value for value in hidden]
            count += sum(value is not cell for value, cell in zip(values, hidden, strict=True))
            changed[name] = pd.Series(values, frame.index, object if column.dtype == object else "str")
    cleaned = frame.assign(**changed) if changed else frame
    cleaned.attrs = frame.attrs
    return cleaned.rename(columns=lambda name: _clean(name) if isinstance(name, str) else name), count


# CSV


def _csv(frames: Mapping[str, pd.DataFrame], file: BinaryIO, *_: str) -> None:
    (frame,) = frames.values()
    columns = {guarded(str(name)): _csv_column(frame.iloc[:, i]) for i, name in enumerate(frame.columns)}
    pd.DataFrame(columns).to_csv(file, index=False, encoding="utf-8", lineterminator="\r\n")


_GUARDED = f"^ *[{re.escape(FORMULA)}]|^'"


def _csv_column(column: "pd.Series[Any]") -> Any:
    """Return a column as it is written to CSV. Columns of the usual types are converted in one step.

    Text that a spreadsheet would run as a formula gets a leading `'`, which the readers of this package remove.
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
    """Return times in UTC as `plain_text` writes them. Microseconds are written only if they are not 0."""
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
    return None if is_missing(value) else plain_text(value) if isinstance(value, date | Decimal) else value


# Parquet


def _parquet(frames: Mapping[str, pd.DataFrame], file: BinaryIO, *_: str) -> None:
    (frame,) = frames.values()
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


def _xlsx(frames: Mapping[str, pd.DataFrame], file: BinaryIO, _: str, tz: str) -> None:
    (frame,) = frames.values()
    write_book(frame, notes_of(frame), file, tz)


_Write = Callable[[Mapping[str, pd.DataFrame], BinaryIO, str, str], None]
_WRITERS: Mapping[str, _Write] = {".csv": _csv, ".xlsx": _xlsx, ".parquet": _parquet}
_PACKS: Mapping[str, _Write] = {".xlsx": write_workbook, ".html": write_page}
