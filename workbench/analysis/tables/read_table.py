"""Read a table from a file that any program wrote, such as a ledger.

A value is accepted only if every valid reading of the file gives the same value. Otherwise the error names the readings
and the argument that decides between them. Answers can be stored in a TOML file next to the tables of the same program.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any, Literal

import attrs
import pandas as pd
import pyarrow as pa

from workbench.analysis.sheets.files import RECORDS, check_format, read_grid, read_records
from workbench.analysis.sheets.grid import Row, trimmed
from workbench.analysis.sheets.parquet import parquet_table
from workbench.analysis.sheets.questions import UnclearTable
from workbench.analysis.tables.answers import Answers, Dates, write_answers
from workbench.analysis.tables.columns import AMOUNT
from workbench.analysis.tables.ledger_columns import Ledger
from workbench.analysis.tables.rows import EXACT, is_missing, mark_report, with_checked_marks
from workbench.analysis.tables.table_columns import CellProblem, Columns, as_text
from workbench.analysis.tables.total_rows import total_rows
from workbench.base.errors import Problem, UsageError, visible
from workbench.base.schema.walk import flat
from workbench.base.system.files import check_name
from workbench.base.system.limits import FRAMES, FileLimits, limits

_SHOWN = 20


def read_table(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    dates: Dates | None = None,
    decimal: Literal[".", ","] | None = None,
    tz: str | None = None,
    unit: Literal["cents", "main"] | None = None,
    currency: str | None = None,
    credit: Literal["+", "-"] | None = None,
    totals: Literal["drop", "keep"] | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    header: int | None = None,
    mapping: str | Path | None = None,
    against: pd.DataFrame | None = None,
    rejects: str | Path | None = None,
    max_rows: int | None = None,
    max_size: int | None = None,
) -> pd.DataFrame:
    """Read a table from a CSV, XLSX, JSON, NDJSON or Parquet file that any program wrote.

    Encoding, separator, title rows, decimal marks and the order of dates are detected if the file has a single valid
    reading. If it has several readings with different values, the error lists the readings with the argument that
    decides between them. Digits without a fraction stay text, because they may be ids, except in columns whose names
    end in `_cents`. A Parquet file written by `to_file` keeps its types and notes.

    Args:
        path: The file. Answers in a TOML file of the same name (`ledger.csv.toml`) are used if it exists.
        columns: Names to give to columns of the file, such as `{"at": "Buchungstag", "amount": "Betrag"}`. `at` becomes
            dates or times in UTC; `amount`, or `debit` and `credit`, the integer `amount_cents`; `side` has the words
            credit and debit for amounts without a sign; `currency` has codes of three letters. All other columns keep
            their text.
        dates: Order of dates: "d/m/y", "m/d/y" or "y/m/d"; "excel" or "excel 1904" if dates are day numbers.
        decimal: Decimal mark of numbers.
        tz: Time zone of times without a zone, such as "Europe/Berlin".
        unit: Unit of `amount`: "cents" (minor unit) or "main" (dollars).
        currency: Currency of `amount`, if the file does not state it.
        credit: Sign of credits, if the file has credits and debits: "+" in a statement of your account, "-" in your own
            ledger for the account.
        totals: "drop" or "keep" the rows that may be totals.
        encoding: Encoding of a text file.
        separator: Separator of the cells in a text file.
        sheet: Name of the sheet of a workbook.
        header: Line of the column names; 0 if the file has no column names.
        mapping: TOML file with answers, instead of the file next to `path`. If it does not exist, it is written with
            the answers of this call.
        against: Frame to compare with, such as the ledger of the other party. If the file has several readings, the
            error proposes the reading of which 90 % of the values occur in this frame.
        rejects: CSV file for rows with problems. The other rows are returned. By default, problems raise an error.
        max_rows: Maximum number of rows; default 200,000, for Parquet 20 million.
        max_size: Approximate maximum size in memory, in bytes; default 500 MB, for Parquet 2 GB.

    Returns:
        The frame. `frame.attrs["left_out"]` lists the rows that are not in the frame, with line, reason and cells.

    Raises:
        UnclearTable: The file has several valid readings. `questions` name the arguments that decide between them.
        UsageError: The file cannot be read, an argument is not allowed, or cells have problems.
    """
    check_name(path)
    path = Path(path)
    fields = attrs.fields_dict(Answers)
    arguments = {name: value for name, value in locals().items() if name in fields and value is not None}
    answers, noted = Answers.read(path, arguments, mapping)
    suffix = check_format(path, FRAMES)
    sizes = limits(FRAMES if suffix == ".parquet" else FileLimits(), rows=max_rows, size=max_size)
    if suffix == ".parquet" and answers.columns is None:
        return _stored(path, sizes)
    table = _table(path, suffix, sizes, answers)
    reader = Columns(
        lines=[row.number for row in table.rows],
        answers={**attrs.asdict(answers), "exact": suffix in RECORDS},
        others=_values(against),
    )
    with localcontext(EXACT):
        arrays = _arrays(table, reader, answers)
    if reader.questions:
        raise UnclearTable(reader.questions, path.name)
    frame = pd.DataFrame(arrays)
    bad = _rejected(table, reader.problems, path, rejects)
    frame = frame[[row.number not in bad for row in table.rows]].reset_index(drop=True) if bad else frame
    if mapping is not None and not Path(mapping).exists():
        write_answers(Path(mapping), arguments)
    notes = [*noted, *table.notes, *reader.notes, *_left_out(table, bad)]
    left_out = [{"line": row.number, "reason": reason} for row, reason in table.left_out]
    left_out += [{"line": line, "reason": reason} for line, reason in bad.items()]
    return mark_report(frame, "table", notes, left_out=left_out)


# -- rows


@attrs.define(kw_only=True)
class _Table:
    names: tuple[str, ...]
    rows: list[Row]
    left_out: list[tuple[Row, str]] = attrs.field(factory=list)
    notes: list[str] = attrs.field(factory=list)


def _table(path: Path, suffix: str, sizes: FileLimits, answers: Answers) -> _Table:
    if suffix in RECORDS:
        rows = [(number, dict(flat(row))) for number, row in read_records(path, sizes)]
        names = tuple(dict.fromkeys(name for _, row in rows for name in row))
        return _Table(names=names, rows=[Row(number, [row.get(name) for name in names]) for number, row in rows])
    names, grid = read_grid(
        path,
        sizes,
        encoding=answers.encoding,
        separator=answers.separator,
        sheet=answers.sheet,
        header=answers.header,
    )
    table = _Table(names=names, rows=[], notes=list(grid.notes))
    table.left_out = [(row, "above the header") for row in grid.rows[: max(grid.head, 0)]]
    with localcontext(EXACT):
        totals = total_rows(names, grid.body, answers.totals, (answers.columns or {}).get("at"))
    for index, row in enumerate(grid.body):
        if index in totals:
            table.left_out.append((row, totals[index]))
        else:
            table.rows.append(row)
    return table


# -- columns


def _arrays(table: _Table, reader: Columns, answers: Answers) -> dict[str, Any]:
    """Return the columns of the frame: first the columns that the caller named, then the rest of the file."""
    cells: dict[str, list[Any]] = {}
    for column, name in enumerate(table.names):
        values = [row.cells[column] if column < len(row.cells) else None for row in table.rows]
        cells[name] = reader.check_destroyed(name, values)
    for row, content in enumerate(table.rows):
        if len(trimmed(content.cells)) > len(table.names):
            reader.problem(row, "", f"has {len(trimmed(content.cells))} cells for {len(table.names)} columns")
    ledger = Ledger(answers.columns or {}, cells, reader)
    arrays = ledger.arrays()
    rest = [name for name in table.names if name not in ledger.named.values()]
    if both := [name for name in rest if name in arrays]:
        problem = f"is also a column of the file; rename that column, such as columns={{'other': {both[0]!r}}}"
        raise UsageError([Problem(visible(both[0], 60), "name", problem)], of="read_table")
    return arrays | {name: reader.series(name, cells[name]) for name in rest}


def _values(against: pd.DataFrame | None) -> frozenset[Any]:
    """Return the dates and numbers of a frame. Amounts in cents are also returned in their main unit."""
    values: set[Any] = set()
    for name in [] if against is None else against:
        for value in against[name].tolist():  # type: ignore[index]
            if is_missing(value) or isinstance(value, str | bool | float):
                continue
            if isinstance(value, date):
                values.add(value.date() if isinstance(value, datetime) else value)
            elif isinstance(value, int | Decimal):
                values |= {Decimal(value), Decimal(value).scaleb(-2)} if AMOUNT.search(str(name)) else {Decimal(value)}
    return frozenset(values)


# -- rejected rows


def _rejected(table: _Table, problems: Sequence[CellProblem], path: Path, rejects: str | Path | None) -> dict[int, str]:
    """Return the lines that have problems, with their reasons, and write these lines to `rejects`.

    Raises:
        UsageError: Rows have problems, and `rejects` is not given.
    """
    reasons: dict[int, list[str]] = {}
    for problem in problems:
        reasons.setdefault(problem.line, []).append(f"{problem.column} {problem.message}".strip())
    bad = {line: "; ".join(texts) for line, texts in sorted(reasons.items())}
    if not bad:
        return bad
    if rejects is None:
        listed = [Problem(f"{path.name}, line {line}", "cell", text) for line, text in [*bad.items()][:_SHOWN]]
        more = len(bad) - len(listed)
        if more:
            way = "pass rejects=FILE to write all of them to a file and read the valid rows"
            listed.append(Problem("", "more", f"and {more:,} more lines with problems; {way}"))
        raise UsageError(listed, of="read_table")
    from workbench.analysis.tables.to_file import to_file

    rows = [[row.number, bad[row.number], *map(as_text, row.cells)] for row in table.rows if row.number in bad]
    names = ["line", "reasons", *table.names]
    names += (f"column {i}" for i in range(len(names) + 1, max(map(len, rows)) + 1))
    to_file(pd.DataFrame([[*row, *[None] * (len(names) - len(row))] for row in rows], columns=names), rejects)
    return bad


def _left_out(table: _Table, bad: Mapping[int, str]) -> list[str]:
    """Return a sentence for each kind of row that is not in the frame."""
    counts: dict[str, list[int]] = {}
    for row, reason in table.left_out:
        counts.setdefault(reason, []).append(row.number)
    if bad:
        counts["rejected"] = list(bad)
    notes = []
    for reason, lines in counts.items():
        several = "s" if lines[1:] else ""
        places = f"{', '.join(map(str, lines[:5]))}{' …' if lines[5:] else ''}"
        notes.append(f"{len(lines):,} row{several} left out ({reason}): line{several} {places}.")
    return notes


def _stored(path: Path, sizes: FileLimits) -> pd.DataFrame:
    """Return a Parquet file's table with its types. If `to_file` wrote the file, the table has its marks and notes."""
    table = parquet_table(path, sizes)
    kinds = [kind for kind in table.schema.types if pa.types.is_decimal(kind) or pa.types.is_date(kind)]
    exact = {kind: pd.ArrowDtype(kind) for kind in kinds}
    try:
        frame: pd.DataFrame = table.to_pandas(types_mapper=exact.get)
    except Exception as error:  # noqa: BLE001 - untrusted metadata can raise anything in pandas
        problem = f"its metadata cannot be used ({type(error).__name__})"
    else:
        return with_checked_marks(frame)
    raise UsageError(f"{path.name}: {problem}")
