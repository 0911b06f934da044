"""Read the rows of a sheet in an untrusted XLSX file."""

import math
import re
import warnings
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from workbench.analysis.sheets.grid import Budget, Grid, Row, blank, head_of, trimmed
from workbench.analysis.sheets.questions import BadSheet, FileQuestion, UnclearTable
from workbench.base.errors import visible
from workbench.base.system.limits import MAX_RATIO, FileLimits, LimitExceeded, too_large, too_many_columns

SHEET_ROWS = 1_048_576
"""Maximum number of rows of a sheet."""
_ENCODING = re.compile(rb"""encoding\s*=\s*["']([^"']*)""")
_HIDDEN = re.compile(rb"<row\b[^>]*\bhidden=\"(?:1|true)\"")
_UNCOMPUTED = re.compile(rb"(?:</f>|<f\b[^>]*/>)\s*(?:<v\s*/>|<v></v>)?\s*</c>")
DIGITS = 15
"""Number of digits that spreadsheets store."""


def workbook_grid(path: Path, limits: FileLimits, *, sheet: str | None, head: int | None, values: bool) -> Grid:
    """Return the rows of a sheet: text as text, numbers as int or Decimal, dates as dates.

    Args:
        path: The file.
        limits: Limits on its content.
        sheet: Name of the sheet; None to use the only sheet that is a table.
        head: Line of the column names; None to detect it.
        values: Whether to read the stored values of formulas. Otherwise a formula is an error.

    Raises:
        UnclearTable: Several sheets are tables, or several rows may be the header row.
        BadSheet: The file is damaged, hostile or too large, or a cell cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as file:
            hidden, uncomputed = _check_parts(file, limits)
        if values and uncomputed:
            raise BadSheet("formulas have no stored values; open the workbook in a spreadsheet and save it")
        with warnings.catch_warnings(action="ignore"):
            rows = _rows(path, limits, sheet, values)
        notes = (f"{hidden:,} hidden or filtered rows of the workbook are read as well.",) if hidden else ()
        return Grid(rows, head_of(rows, head), notes=notes)
    except (LimitExceeded, UnclearTable):
        raise
    except Exception as error:  # noqa: BLE001 - a file that is not trusted can make the reader fail in any way
        raise BadSheet(f"not a readable XLSX file ({type(error).__name__})") from None


def _rows(path: Path, limits: FileLimits, wanted: str | None, values: bool) -> list[Row]:
    import openpyxl  # only files of this format need the import

    with path.open("rb") as data:
        book = openpyxl.load_workbook(data, read_only=True, data_only=values)
        sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"] or book.worksheets
        if wanted is not None:
            sheets = [sheet for sheet in book.worksheets if sheet.title == wanted]
            if not sheets:
                names = ", ".join(visible(sheet.title, 40) for sheet in book.worksheets)
                raise BadSheet(f"no such sheet (sheets: {names})")
        elif len(sheets) > 1:
            sheets = [sheet for sheet in sheets if _is_table(sheet)] or sheets[:1]
        if len(sheets) > 1:
            readings = {repr(sheet.title): f"{sheet.max_row or 0:,} rows" for sheet in sheets}
            raise UnclearTable([FileQuestion(argument="sheet", about="the workbook", readings=readings)])
        return list(_cells(sheets[0], limits))


def _is_table(sheet: Any) -> bool:
    """Return whether a sheet has at least two columns, unlike a sheet of notes."""
    rows = sheet.iter_rows(max_row=50, values_only=True)
    return any(len(trimmed(row)) > 1 for row in rows)


def _cells(sheet: Any, limits: FileLimits) -> Iterator[Row]:
    before, number, budget = None, 0, Budget(limits, rows=-1)
    try:
        for number, row in enumerate(sheet.iter_rows(max_row=SHEET_ROWS), 1):
            if row is before:  # the library repeats one empty row for missing rows, of which there may be a million
                continue
            before = row
            if len(row) > limits.columns:
                raise too_many_columns(len(row), limits)
            cells = [_value(cell, number) for cell in row]
            if not blank(cells):
                budget.count(number, cells)
                yield Row(number, cells)
    except LimitExceeded:
        raise
    except Exception as error:  # noqa: BLE001 - a file that is not trusted can make the reader fail in any way
        where = f"after row {number}: " if number else ""
        raise BadSheet(f"{where}not a readable XLSX file ({type(error).__name__})") from None


def _check_parts(file: zipfile.ZipFile, limits: FileLimits) -> tuple[int, int]:
    """Check the parts of an XLSX file for their unpacked size and for entity declarations.

    Return the number of hidden rows, and the number of formulas without a stored value.

    Raises:
        BadSheet: A part is not allowed; the message gives the reason.
    """
    infos = file.infolist()
    unpacked = sum(info.file_size for info in infos)
    hidden = uncomputed = 0
    if unpacked > limits.size:
        raise too_large(limits)
    if any(info.file_size > MAX_RATIO * max(info.compress_size, 5_000) for info in infos):
        raise BadSheet(f"unpacks to {unpacked:,} bytes, more than {MAX_RATIO} times its packed size")
    for info in infos:
        with file.open(info) as stream:
            end = b""
            while piece := stream.read(1_000_000):
                if not end:
                    declared = _ENCODING.search(piece[:200])
                    other = declared is not None and declared[1].lower() not in (b"utf-8", b"us-ascii")
                    if b"\0" in piece[:200] or piece[:2] in (b"\xfe\xff", b"\xff\xfe") or other:
                        # another encoding could hide entity declarations from the search below
                        raise BadSheet("a part of the file is not UTF-8")
                if b"<!DOCTYPE" in end + piece or b"<!ENTITY" in end + piece:
                    raise BadSheet("the file declares XML entities, which are not read")
                if info.filename == "xl/worksheets/sheet1.xml":
                    hidden += len(_HIDDEN.findall(piece))
                if info.filename.startswith("xl/worksheets/"):
                    uncomputed += len(_UNCOMPUTED.findall(end + piece))
                end = piece[-30:]
    return hidden, uncomputed


def _value(cell: Any, row: int) -> Any:
    value = cell.value
    if cell.data_type == "f":
        raise BadSheet(f"row {row}: a cell has a formula; replace it by its value")
    if isinstance(value, datetime) and (zone := _zone_of(cell.number_format)) is not None:
        return value.replace(tzinfo=zone)
    if isinstance(value, datetime) and value.time() == time():
        return value.date()
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BadSheet(f"row {row}: a cell has a number that is not finite")
        number = Decimal(format(value, f".{DIGITS}g"))  # rounded, so that 0.1 + 0.2 is 0.3 as in the spreadsheet
        whole = number == number.to_integral_value() and abs(value) < 1e30
        return int(number) if whole else number
    if isinstance(value, date | time | int | str | None):
        return value
    raise BadSheet(f"row {row}: a cell has a value of type {type(value).__name__}")


@lru_cache(maxsize=100)
def _zone_of(form: str) -> ZoneInfo | None:
    """Return the time zone in a number format. `to_file` writes such formats for times."""
    name = re.search(r'"([\w/+-]+)"', form)
    try:
        return ZoneInfo(name[1]) if name else None
    except (ValueError, OSError, LookupError):
        return None
