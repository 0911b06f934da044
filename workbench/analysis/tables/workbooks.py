"""Write tables to XLSX workbooks with typed cells and wide columns. Values that would lose digits are text."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, BinaryIO

import attrs
import pandas as pd

from workbench.analysis.sheets.workbooks import DIGITS, SHEET_ROWS
from workbench.analysis.tables.rows import is_missing
from workbench.base.errors import UsageError

if TYPE_CHECKING:
    from xlsxwriter.workbook import Workbook
    from xlsxwriter.worksheet import Worksheet

EXCEL_COLUMNS = 16_384
EXCEL_CELL = 32_767
PLACES = {str(places): f"#,##0.{'0' * places}".rstrip(".") for places in range(5)}
"""Number formats by number of decimal places."""
# number of rows measured to set the width of a column, and the limits of the width in characters
_MEASURED, _NARROWEST, _WIDEST = 1_000, 12, 60
_HEAD = {"num_format": "@", "bold": True, "bottom": 1, "text_wrap": True, "valign": "top"}
_FORMATS: Mapping[str, dict[str, Any]] = {
    "text": {"num_format": "@", "indent": 1},
    "number": {},
    "rate": {"num_format": "0.0%"},
    "day": {"num_format": "yyyy-mm-dd", "align": "left"},
    "head": {**_HEAD, "align": "left", "indent": 1},
    "number head": {**_HEAD, "align": "right"},
    "wrapped": {"text_wrap": True, "valign": "top"},
    "title": {"bold": True, "font_size": 16},
    "label": {"bold": True, "valign": "top"},
    **{form: {"num_format": text} for form, text in PLACES.items()},
    **{f"total {form}": {"num_format": text, "bold": True, "top": 1} for form, text in PLACES.items()},
}


@attrs.frozen(kw_only=True)
class BookColumn:
    """A column of a sheet: its head, its values (None if missing), and the format of its cells.

    `form` is "text", "number", "rate", "time", "day", or the number of decimal places.
    """

    name: str  # name of the column in the frame
    head: str
    values: Sequence[Any]
    form: str
    is_amount: bool = False
    is_total: bool = False  # whether a sum of the column is meaningful

    @property
    def is_number(self) -> bool:
        """Whether the cells of the column are numbers."""
        return self.form not in ("text", "time", "day")

    def text(self, value: Any) -> str:
        """Return a value as the spreadsheet shows it."""
        if value is None:
            return ""
        if self.form == "rate":
            return f"{value:.1%}"
        return f"{value:,.{self.form}f}" if self.form in PLACES else str(value)


def open_book(file: BinaryIO, tz: str) -> "tuple[Workbook, dict[str, Any]]":
    """Return a new workbook, and its cell formats by form. The format of times contains the name of their zone."""
    import xlsxwriter  # only files of this format need the import

    literally = dict.fromkeys(("strings_to_formulas", "strings_to_urls", "strings_to_numbers"), False)
    book = xlsxwriter.Workbook(file, {"constant_memory": True, **literally})
    formats = {**_FORMATS, "time": {"num_format": f'yyyy-mm-dd hh:mm:ss "{tz}"'}}
    return book, {form: book.add_format(about) for form, about in formats.items()}


def close_book(book: "Workbook") -> None:
    """Write a workbook to its file.

    Raises:
        OSError: The file cannot be written.
    """
    from xlsxwriter.exceptions import FileCreateError

    try:
        book.close()
    except FileCreateError as error:
        raise error.args[0] from None  # the library wraps the OSError


def write_table(page: "Worksheet", columns: Sequence[BookColumn], formats: Mapping[str, Any]) -> int:
    """Write columns to a sheet, each below its head. Return the total width in characters."""
    width = 0
    for j, column in enumerate(columns):
        texts = [column.head, *map(column.text, column.values[:_MEASURED])]
        # the number format of a time contains its zone
        widest = max(max(map(len, texts)) + 3, len(formats[column.form].num_format))
        letters = min(max(widest, _NARROWEST), _WIDEST)
        width += letters
        page.set_column(j, j, letters)
        page.write_string(0, j, column.head[:EXCEL_CELL], formats["number head" if column.is_number else "head"])
    rows = list(zip(*(column.values for column in columns), strict=True))
    for i, row in enumerate(rows, 1):  # the library writes each row before the next one, to save memory
        for j, value in enumerate(row):
            if value is not None:
                page.write(i, j, value, formats[columns[j].form])
    return width


def write_book(frame: pd.DataFrame, notes: Iterable[str], file: BinaryIO, tz: str) -> None:
    """Write a workbook with a sheet for the frame, with unchanged names and values, and a sheet for the notes.

    Raises:
        UsageError: The frame is too large for a sheet.
    """
    _check_sheet(frame)  # this check runs before temporary files are opened
    book, formats = open_book(file, tz)
    page = book.add_worksheet("data")
    page.freeze_panes(1, 0)
    columns = []
    for j, name in enumerate(map(str, frame.columns)):
        values, form = cell_values(frame.iloc[:, j], tz)
        columns.append(BookColumn(name=name, head=name, values=values, form=form))
    write_table(page, columns, formats)
    if lines := list(notes):
        page = book.add_worksheet("notes")
        page.set_column(0, 0, 120)
        for i, line in enumerate(lines):
            page.write_string(i, 0, line[:EXCEL_CELL], formats["wrapped"])
    close_book(book)


def _check_sheet(frame: pd.DataFrame) -> None:
    """Raise UsageError if a frame is too large for a sheet."""
    if len(frame) >= SHEET_ROWS or frame.shape[1] > EXCEL_COLUMNS:
        raise UsageError(
            f"an XLSX sheet has {SHEET_ROWS - 1:,} rows and {EXCEL_COLUMNS:,} columns at most; write Parquet"
        )
    for column in filter(is_text, (frame.iloc[:, j] for j in range(frame.shape[1]))):
        if (longest := max((len(str(v)) for v in column.unique()), default=0)) > EXCEL_CELL:
            raise UsageError(
                f"{column.name} has a text of {longest:,} characters (maximum of an XLSX cell: {EXCEL_CELL:,})"
            )


def cell_values(column: "pd.Series[Any]", tz: str) -> tuple[list[Any], str]:
    """Return a column's values (None if missing) and their format. Numbers that would lose digits become text."""
    values = [None if is_missing(value) else value for value in column.tolist()]
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, date) and 1901 <= value.year <= 9998 for value in present):
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            local = [value and value.tz_convert(tz).to_pydatetime(warn=False).replace(tzinfo=None) for value in values]
            return local, "time"
        # dates with a time of day but without a time zone
        if any(isinstance(value, datetime) and value.time() != time.min for value in present):
            return [value and value.isoformat(" ") for value in values], "text"
        return [value and date(value.year, value.month, value.day) for value in values], "day"
    if pd.api.types.is_bool_dtype(column.dtype):
        return [None if value is None else bool(value) for value in values], "number"
    if pd.api.types.is_float_dtype(column.dtype):
        return values, "number"
    if pd.api.types.is_numeric_dtype(column.dtype) and all(
        len(Decimal(str(value)).normalize().as_tuple().digits) <= DIGITS for value in present
    ):
        return values, "number"
    return [None if value is None else plain_text(value) for value in values], "text"


def plain_text(value: object) -> str:
    """Return a value as text. Times are in ISO 8601, and decimals have no exponent."""
    if isinstance(value, date):
        return value.isoformat().replace("+00:00", "Z")
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def is_text(column: "pd.Series[Any]") -> bool:
    """Return whether a column can hold text."""
    return isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype) or column.dtype == object
