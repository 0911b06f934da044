"""Read the rows of a file. The file's content and extension select the reader."""

from datetime import date, time
from pathlib import Path
from typing import Any

from workbench.analysis.sheets.encodings import decoded
from workbench.analysis.sheets.grid import FIRST, Budget, Grid, cells_by_name
from workbench.analysis.sheets.questions import BadSheet, UnclearTable
from workbench.analysis.sheets.records import Records, json_records, ndjson_records
from workbench.analysis.sheets.separated import separated_grid
from workbench.analysis.sheets.workbooks import workbook_grid
from workbench.base.errors import UsageError, advise, unsupported_file
from workbench.base.system.limits import FileLimits, LimitExceeded, read_bytes

TEXT = (".csv", ".txt", ".tsv")
WORKBOOK = (".xlsx", ".xlsm")
RECORDS = (".parquet", ".json", ".ndjson", ".jsonl")
FORMATS = (*TEXT, *WORKBOOK, *RECORDS)
_MARK = b"\xef\xbb\xbf"


def check_format(path: Path, limits: FileLimits) -> str:
    """Return the format of a file as an extension.

    Raises:
        UsageError: The file cannot be read, its extension is unknown, or it is too large.
    """
    size = path.stat().st_size
    if not path.is_file():
        raise UsageError(f"{path.name} is not a file")
    if size > limits.file:
        raise UsageError(f"{path.name} has {size:,} bytes (maximum {limits.file:,})")
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise UsageError(unsupported_file(path.name, FORMATS))
    return suffix


def read_grid(
    path: Path,
    limits: FileLimits,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    header: int | None = None,
    values: bool = True,
) -> tuple[tuple[str, ...], Grid]:
    """Return the column names and the rows of a text file or of a sheet. Arguments with None are detected.

    Args:
        path: The file.
        limits: Limits on its content.
        encoding: Encoding of a text file.
        separator: Separator of the cells in a text file.
        sheet: Name of a sheet.
        header: Line of the column names; 0 if the file has none.
        values: Whether to read the stored values of formulas. Otherwise a formula is an error.

    Raises:
        UnclearTable: The layout can be read in several ways.
        UsageError: The file cannot be read; the message says where.
    """
    try:
        if path.suffix.lower() in WORKBOOK:
            grid = workbook_grid(path, limits, sheet=sheet, head=header, values=values)
        else:
            data = read_bytes(path, limits)
            if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF")) or data.lstrip()[:1] == b"<":
                raise BadSheet("not a text file in spite of its extension; save it as CSV or XLSX")
            grid = separated_grid(decoded(data, encoding), limits, separator=separator, head=header)
        return grid.names(limits), grid
    except UnclearTable as error:
        raise UnclearTable(error.questions, path.name) from None
    except LimitExceeded as error:
        raise UsageError(f"{path.name}: {error}") from None


def read_records(path: Path, limits: FileLimits) -> Records:
    """Yield a file's rows as mappings, with line numbers. In text files and sheets, the first row has the column names.

    Raises:
        UsageError: The file cannot be read.
    """
    suffix = check_format(path, limits)
    budget = Budget(limits)
    try:
        for number, row in _records(path, suffix, limits):
            budget.count(number, row.values())
            yield number, row
    except LimitExceeded as error:
        raise UsageError(f"{path.name}: {error}") from None


def _records(path: Path, suffix: str, limits: FileLimits) -> Records:
    if suffix == ".parquet":
        from workbench.analysis.sheets.parquet import parquet_records

        return parquet_records(path, limits)
    if suffix in RECORDS:
        data = read_bytes(path, limits).removeprefix(_MARK)
        return json_records(data, limits) if suffix == ".json" else ndjson_records(data, limits)
    return _grid_records(path, limits)


def _grid_records(path: Path, limits: FileLimits) -> Records:
    names, grid = read_grid(path, limits, header=FIRST, values=False)
    for note in grid.notes:  # warn that hidden rows are read too, which the user may not expect
        advise(f"{path.name}: {note}")
    for row in grid.body:
        yield row.number, {name: _as_text(cell) for name, cell in cells_by_name(names, row).items()}


def _as_text(cell: object) -> Any:
    return cell.isoformat() if isinstance(cell, date | time) else cell
