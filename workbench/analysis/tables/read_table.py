"""Read a table from a file of any program: one reader for ledgers, rows and lists.

A value is taken only if every valid reading of the file gives the same one. Otherwise the error names the readings and
the argument that decides. Answers can be kept in a TOML file next to the tables of the same program.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

import attrs
import pandas as pd
import pyarrow as pa

from workbench.analysis.sheets.files import RECORDS, Layout, check_format, flattened, read_grid, read_records
from workbench.analysis.sheets.grid import Row, blank, trimmed
from workbench.analysis.sheets.numbers import MARKS, SIDES, written_number
from workbench.analysis.sheets.parquet import parquet_table
from workbench.analysis.sheets.questions import Question, UnclearTable
from workbench.analysis.tables.columns import AMOUNT
from workbench.analysis.tables.rows import TEXT, is_missing, mark_report, with_checked_marks
from workbench.analysis.tables.table_columns import CellProblem, Columns, as_text, times_array
from workbench.base.errors import Problem, UsageError, not_allowed, visible
from workbench.base.system import toml
from workbench.base.system.files import check_name, write_file
from workbench.base.system.limits import FRAMES, LimitExceeded, Limits, limits
from workbench.service.interface.formats import minor_digits

_SHOWN = 20
_TOTAL = re.compile(
    r"(?:grand |sub-?|sous-|zwischen|gesamt|end|schluss|anfangs)?"
    r"(?:total\w*|summe|sum|saldo|somme|solde|suma|soma|totaal|balance|合計|小計|итого)\b.{0,60}",
    re.IGNORECASE,
)
_CODE = re.compile(r"[(\[_ ]([A-Z]{3})[)\]]?$")
TARGETS = ("at", "amount", "debit", "credit", "side", "currency")
"""Columns that `read_table` converts; any other name given in `columns` keeps its text."""


@attrs.frozen(kw_only=True)
class Answers:
    """What is known of a file, as arguments of `read_table` or in a TOML file."""

    columns: Mapping[str, str] | None = None
    dates: str | None = None
    decimal: str | None = None
    tz: str | None = None
    unit: str | None = None
    currency: str | None = None
    credit: str | None = None
    totals: str | None = None
    encoding: str | None = None
    separator: str | None = None
    sheet: str | None = None
    header: int | None = None


_ALLOWED = {
    "dates": ("d/m/y", "m/d/y", "y/m/d", "d/m/y swapped", "m/d/y swapped"),
    "decimal": MARKS, "unit": ("cents", "main"), "credit": ("+", "-"), "totals": ("drop", "keep"),
}  # fmt: skip


def read_table(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    dates: str | None = None,
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
    """Read a table from a CSV, XLSX, JSON, NDJSON or Parquet file of any program.

    Encoding, separator, title rows, decimal marks and the order of dates are found where the file leaves one reading.
    Where it leaves several with different values, the error lists them with the argument that decides. Digits without
    a fraction stay text, as ids are, except in columns whose names end in `_cents`. A Parquet file written by `to_file`
    keeps its types and notes.

    Args:
        path: The file. Answers in a TOML file of the same name (`ledger.csv.toml`) are used if it exists.
        columns: Names to give to columns of the file, such as `{"at": "Buchungstag", "amount": "Betrag"}`. `at` becomes
            dates or times in UTC; `amount`, or `debit` and `credit`, the whole number `amount_cents`; `side` has the
            words credit and debit of amounts without sign; `currency` three letters. Others keep their text.
        dates: Order of dates: "d/m/y", "m/d/y" or "y/m/d".
        decimal: Decimal mark of numbers.
        tz: Time zone of times without one, such as "Europe/Berlin".
        unit: Unit of `amount`: "cents" (minor unit) or "main" (dollars).
        currency: Currency of `amount`, if the file does not state it.
        credit: Sign of credits where a file has credits and debits: "+" on an account of yours, "-" in a ledger of it.
        totals: "drop" or "keep" rows that may be totals.
        encoding: Encoding of a text file.
        separator: Separator of its cells.
        sheet: Name of the sheet of a workbook.
        header: Line with the names of the columns; 0 if there is none.
        mapping: TOML file with answers to use instead; written with those of this call if it does not exist.
        against: Frame of the other side: answers under which nine of ten values match it are proposed in the error.
        rejects: File for rows with problems (.csv); the other rows are returned. By default problems are an error.
        max_rows: Maximum number of rows; default 200,000, of Parquet 20 million.
        max_size: Approximate maximum size in memory, in bytes; default 500 MB, of Parquet 2 GB.

    Returns:
        The frame. `frame.attrs["left_out"]` lists rows that are not in it, with line, reason and cells.

    Raises:
        UnclearTable: The file has several valid readings; `questions` name the arguments that decide.
        UsageError: The file cannot be read, an argument is not allowed, or cells have problems.
    """
    check_name(path)
    path = Path(path)
    given = {
        name: value for name, value in locals().items() if name in attrs.fields_dict(Answers) and value is not None
    }
    answers, noted = _answers(path, given, mapping)
    suffix = check_format(path, FRAMES)
    sizes = limits(FRAMES if suffix == ".parquet" else Limits(), rows=max_rows, size=max_size)
    if suffix == ".parquet" and answers.columns is None:
        return _stored(path, sizes)
    table = _table(path, suffix, sizes, answers)
    reader = Columns(
        lines=[row.number for row in table.rows],
        answers={**attrs.asdict(answers), "exact": suffix in RECORDS},
        others=_values(against),
    )
    arrays = _arrays(table, reader, answers)
    if reader.questions:
        raise UnclearTable(reader.questions, path.name)
    frame = pd.DataFrame(arrays)
    bad = _rejected(table, reader.problems, path, rejects)
    frame = frame[[row.number not in bad for row in table.rows]].reset_index(drop=True) if bad else frame
    if mapping is not None and not Path(mapping).exists():
        _write_answers(Path(mapping), given)
    notes = [*noted, *table.notes, *reader.notes, *_left_out(table, bad)]
    left_out = [{"line": row.number, "reason": reason} for row, reason in table.left_out]
    left_out += [{"line": line, "reason": reason} for line, reason in bad.items()]
    return mark_report(frame, "table", notes, left_out=left_out)


# -- answers


def _answers(path: Path, given: Mapping[str, Any], mapping: str | Path | None) -> tuple[Answers, list[str]]:
    """Return the answers of a call and of its TOML file, and notes on them."""
    file = path.with_name(f"{path.name}.toml") if mapping is None else Path(mapping)
    check_name(file)
    kept: Mapping[str, Any] = {}
    if file.is_file():
        try:
            kept = toml.load(file)
        except toml.NotToml as error:
            raise UsageError([Problem(visible(file.name, 80), "toml", str(error))], of="read_table") from None
    known = attrs.fields_dict(Answers)
    problems = [not_allowed(visible(name, 60), name, known) for name in kept if name not in known]
    merged = {**kept, **given}
    for name, value in merged.items():
        problems += _answer_problems(name, value)
    if problems:
        raise UsageError(problems, of="read_table")
    notes = [f"Read with the answers of {visible(file.name, 80)}: {', '.join(kept)}."] if kept else []
    return Answers(**merged), notes


def _answer_problems(name: str, value: object) -> list[Problem]:
    if name in _ALLOWED and value not in _ALLOWED[name]:
        return [not_allowed(name, value, _ALLOWED[name])]
    if name == "columns":
        fits = isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair)
        return [] if fits else [Problem(name, "type", "must map names to columns of the file")]
    if name == "header":
        return [] if type(value) is int and value >= 0 else [Problem(name, "type", "must be a line number, or 0")]
    if not isinstance(value, str):
        return [Problem(name, "type", "must be text")]
    if name == "separator" and (len(value) != 1 or value in '"\r\n'):
        return [Problem(name, "type", "must be one character")]
    if name == "currency" and not re.fullmatch("[A-Za-z]{3}", value):
        return [Problem(name, "type", "must be a code of three letters")]
    if name == "tz":
        try:
            ZoneInfo(value)
        except (ValueError, OSError, LookupError):
            return [Problem(name, "tz", "is not a time zone; one is Europe/Berlin")]
    return []


def _write_answers(file: Path, given: Mapping[str, Any]) -> None:
    lines = [f"{name} = {toml.dumps(value)}" for name, value in given.items()]
    write_file(file, ("\n".join(lines) + "\n").encode())


# -- rows


@attrs.define(kw_only=True)
class _Table:
    names: tuple[str, ...]
    rows: list[Row]
    left_out: list[tuple[Row, str]] = attrs.field(factory=list)
    notes: list[str] = attrs.field(factory=list)


def _table(path: Path, suffix: str, sizes: Limits, answers: Answers) -> _Table:
    if suffix in RECORDS:
        rows = [(number, flattened(row)) for number, row in read_records(path, sizes)]
        names = tuple(dict.fromkeys(name for _, row in rows for name in row))
        return _Table(names=names, rows=[Row(number, [row.get(name) for name in names]) for number, row in rows])
    layout = Layout(encoding=answers.encoding, separator=answers.separator, sheet=answers.sheet, header=answers.header)
    try:
        grid = read_grid(path, sizes, layout)
        names = grid.names(sizes)
    except UnclearTable as error:
        raise UnclearTable(error.questions, path.name) from None
    except LimitExceeded as error:
        raise UsageError(f"{path.name}: {error}") from None
    table = _Table(names=names, rows=[], notes=list(grid.notes))
    table.left_out = [(row, "above the names") for row in grid.rows[: max(grid.head, 0)]]
    totals = _totals(names, grid.body, answers)
    for index, row in enumerate(grid.body):
        if index in totals:
            table.left_out.append((row, totals[index]))
        else:
            table.rows.append(row)
    return table


def _totals(names: Sequence[str], rows: Sequence[Row], answers: Answers) -> dict[int, str]:
    """Return the rows that are totals or remarks, with the reason.

    A total has a word that says so, lacks cells that all other rows have, and repeats the sum of rows above it.

    Raises:
        UnclearTable: A row may be a total.
    """
    if answers.totals == "keep" or len(rows) < 2:
        return {}
    claimed = {index for index, row in enumerate(rows) if _says_total(row)}
    suspects = claimed | {len(rows) - 1}
    others = [row for index, row in enumerate(rows) if index not in suspects] or [rows[0]]
    always = [c for c in range(len(names)) if sum(not blank(row.cells[c : c + 1]) for row in others) == len(others)]
    lacks = {index for index, row in enumerate(rows) if any(blank(row.cells[column : column + 1]) for column in always)}
    totals: dict[int, str] = {}
    unclear: list[int] = []
    for index in sorted(lacks):
        row = rows[index]
        filled = [cell for cell in row.cells if not blank([cell])]
        has_number = any(isinstance(cell, int | Decimal) or _number(cell) is not None for cell in filled)
        if not has_number and len(filled) == 1 < len(names) - 1:
            totals[index] = "remark"
        elif (index in suspects and _is_sum(rows, index, totals)) or (index in claimed and answers.totals == "drop"):
            totals[index] = "total"
        elif index in claimed:
            unclear.append(index)
    if unclear:
        line = rows[unclear[0]].number
        readings = {"'drop'": f"line {line} is a total or a balance", "'keep'": "it is a row like the others"}
        raise UnclearTable([Question(argument="totals", about=f"line {line}", readings=readings)])
    return totals


def _says_total(row: Row) -> bool:
    return any(isinstance(cell, str) and _TOTAL.fullmatch(cell.strip()) for cell in row.cells)


def _number(cell: object) -> Any:
    return written_number(cell) if isinstance(cell, str) else None


def _is_sum(rows: Sequence[Row], index: int, totals: Mapping[int, str]) -> bool:
    """Return whether a number of a row is the sum of its column above, from the start or since the last total."""
    starts = {0, max((total + 1 for total in totals if total < index), default=0)}
    for column, cell in enumerate(rows[index].cells):
        for mark in MARKS:
            total = _amount(cell, mark)
            if not total:
                continue
            for start in starts:
                above = [rows[i].cells[column : column + 1] for i in range(start, index) if i not in totals]
                values = [_amount(cells[0], mark) for cells in above if cells]
                if any(values) and sum(value for value in values if value is not None) == total:
                    return True
    return False


def _amount(cell: object, mark: str) -> Decimal | None:
    if isinstance(cell, int | Decimal):
        return Decimal(cell)
    number = _number(cell)
    return None if number is None else number.value(mark)


# -- columns


def _arrays(table: _Table, reader: Columns, answers: Answers) -> dict[str, Any]:
    """Return the columns of the frame: those named by the caller first, then the others of the file."""
    cells: dict[str, list[Any]] = {}
    for column, name in enumerate(table.names):
        values = [row.cells[column] if column < len(row.cells) else None for row in table.rows]
        cells[name] = reader.check_destroyed(name, values)
    for row, content in enumerate(table.rows):
        if len(trimmed(content.cells)) > len(table.names):
            reader.problem(row, "", f"has {len(trimmed(content.cells))} cells for {len(table.names)} columns")
    named = dict(answers.columns or {})
    plain = {name: column.removeprefix("-") if name == "amount" else column for name, column in named.items()}
    if missing := [column for name, column in named.items() if column not in cells and plain[name] not in cells]:
        raise UsageError([not_allowed("columns", missing[0], table.names)], of="read_table")
    arrays = _named_arrays(named, cells, reader, answers)
    taken = {column if column in cells else plain[name] for name, column in named.items()}
    rest = [name for name in table.names if name not in taken]
    if both := [name for name in rest if name in arrays]:
        problem = f"is a column of the file, too; name it in columns, such as {{'other': {both[0]!r}}}"
        raise UsageError([Problem(visible(both[0], 60), "name", problem)], of="read_table")
    return arrays | {name: reader.series(name, cells[name]) for name in rest}


def _named_arrays(
    named: Mapping[str, str], cells: Mapping[str, list[Any]], reader: Columns, answers: Answers
) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    if "at" in named:
        arrays["at"] = times_array(reader.dates(named["at"], cells[named["at"]], compact=True))
    codes = _codes(named, cells, reader, answers)
    if amounts := _amounts(named, cells, reader):
        arrays["amount_cents"] = pd.array(_cents(amounts, codes, named, cells, reader, answers), dtype="Int64")
    if codes is not None and ("currency" in named or amounts):
        arrays["currency"] = pd.array([code and code.lower() for code in codes], dtype=TEXT)
    for name, column in named.items():
        if name not in TARGETS:
            arrays[name] = pd.array([text and text.strip() for text in map(as_text, cells[column])], dtype=TEXT)
    return arrays


def _codes(
    named: Mapping[str, str], cells: Mapping[str, list[Any]], reader: Columns, answers: Answers
) -> list[str | None] | None:
    """Return the currency of each row, from a column, the cells or names of amounts, or the argument."""
    sources = [named[name] for name in ("amount", "debit", "credit") if name in named]
    sources = [name if name in cells else name.removeprefix("-") for name in sources]
    if "currency" in named:
        codes = [as_text(cell) for cell in cells[named["currency"]]]
        for row, code in enumerate(codes):
            if code is not None and not re.fullmatch(r"\s*[A-Za-z]{3}\s*", code):
                reader.problem(row, named["currency"], "is not a currency code of three letters")
                codes[row] = None
            elif code is None and sources:
                reader.problem(row, named["currency"], "is empty")
        return [code and code.strip().upper() for code in codes]
    if not sources:
        return None
    stated = set[str]().union(*(reader.currencies(name, cells[name]) for name in sources))
    stated |= {match[1] for name in sources if (match := _CODE.search(name))}
    if answers.currency is not None:
        stated.add(answers.currency.upper())
    if len(stated) > 1:
        listed = ", ".join(sorted(stated))
        raise UsageError([Problem("currency", "twice", f"amounts state several: {listed}")], of="read_table")
    if not stated and not any(question.argument == "currency" for question in reader.questions):
        reader.ask("currency", f"column {visible(sources[0], 60)}", {"EUR": "or another code, for all rows"})
    return [next(iter(stated), None)] * len(reader.lines)


def _amounts(named: Mapping[str, str], cells: Mapping[str, list[Any]], reader: Columns) -> list[Decimal | None]:
    if "amount" in named:
        column = named["amount"]
        turned = column not in cells  # "-Betrag"
        column = column.removeprefix("-") if turned else column
        values = reader.numbers(column, cells[column])
        if "side" in named:
            values = reader.by_side(column, values, _sides(named["side"], cells, reader))
        elif not any(value is not None and value < 0 for value in values):
            _ask_for_sides(named, cells, reader, values)
        return [-value if value is not None and turned else value for value in values]
    if "debit" not in named and "credit" not in named:
        return []
    both = {side: reader.numbers(named[side], cells[named[side]]) for side in ("debit", "credit") if side in named}
    values, sides = list[Decimal | None](), list[str | None]()
    for row in range(len(reader.lines)):
        filled = {side: column[row] for side, column in both.items() if column[row]}
        if len(filled) > 1:
            reader.problem(row, named["debit"], "has a debit and a credit in one row")
        side, value = next(iter(filled.items()), ("credit", Decimal(0)))
        values.append(value)
        sides.append(side)
    return reader.by_side(" and ".join(named[side] for side in both), _unsigned(both, values, sides, reader), sides)


def _unsigned(
    both: Mapping[str, Sequence[Decimal | None]],
    values: Sequence[Decimal | None],
    sides: Sequence[str | None],
    reader: Columns,
) -> list[Decimal | None]:
    """Return amounts of debit and credit columns without the minus that some programs write before each debit."""
    signs = {side: {value > 0 for value in column if value} for side, column in both.items()}
    for side, positive in signs.items():
        if len(positive) > 1:
            row = next(i for i, value in enumerate(values) if value and value < 0 and sides[i] == side)
            reader.problem(row, side, "is negative in a column with positive amounts; write it on the other side")
    return [None if value is None else abs(value) for value in values]


def _sides(column: str, cells: Mapping[str, list[Any]], reader: Columns) -> list[str | None]:
    side_of = {**SIDES, "+": "credit", "-": "debit"}
    sides = [side_of.get((as_text(cell) or "").strip().upper()) for cell in cells[column]]
    for row, side in enumerate(sides):
        if side is None:
            reader.problem(row, column, "says neither credit nor debit")
    return sides


def _ask_for_sides(
    named: Mapping[str, str], cells: Mapping[str, list[Any]], reader: Columns, values: Sequence[Decimal | None]
) -> None:
    """Ask for the column of sides, if amounts have no sign and another column says credit and debit."""
    side_of = {**SIDES, "+": "credit", "-": "debit"}
    for name, column in cells.items():
        texts = [(as_text(cell) or "").strip().upper() for cell in column]
        if name not in named.values() and any(values) and texts and all(word in side_of for word in texts):
            answer = {str({**named, "side": name}): "it has the sides of the amounts"}
            about = f"column {visible(name, 60)}"
            reader.questions.append(Question(argument="columns", about=about, readings=answer))


def _cents(
    amounts: Sequence[Decimal | None],
    codes: Sequence[str | None] | None,
    named: Mapping[str, str],
    cells: Mapping[str, list[Any]],
    reader: Columns,
    answers: Answers,
) -> list[int | None]:
    """Return amounts in the minor unit of their currency."""
    column = (named.get("amount") or named.get("credit") or named.get("debit") or "").removeprefix("-")
    digits = [minor_digits(code) for code in codes or [None] * len(amounts)]
    unit = answers.unit
    if unit is None:
        fractions = any(value is not None and value.as_tuple().exponent != 0 for value in amounts)
        same = all(not value or places == 0 for value, places in zip(amounts, digits, strict=True))
        unit = "main" if fractions or same else "cents" if column.endswith("_cents") else None
    scaled = {
        "main": [None if v is None else v.scaleb(n) for v, n in zip(amounts, digits, strict=True)],
        "cents": list(amounts),
    }
    if unit is None:
        row = next(index for index, value in enumerate(amounts) if value)
        shown = {"cents": f"line {reader.lines[row]} is {amounts[row]} cents", "main": f"it is {amounts[row]}.00"}
        reader.ask("unit", f"column {visible(column, 60)}", shown, scaled)
    cents: list[int | None] = []
    for row, value in enumerate(scaled[unit or "main"]):
        if value is None:
            reader.problem(row, column, "is empty")
        elif value != value.to_integral_value():
            reader.problem(row, column, "has more decimal places than its currency")
        cents.append(None if value is None or value != value.to_integral_value() else int(value))
    return cents


def _values(against: pd.DataFrame | None) -> frozenset[Any]:
    """Return the dates and numbers of a frame, amounts in cents in their main unit as well."""
    known: set[Any] = set()
    for name in [] if against is None else against:
        for value in against[name].tolist():  # type: ignore[index]
            if is_missing(value) or isinstance(value, str | bool | float):
                continue
            if isinstance(value, date):
                known.add(value.date() if isinstance(value, datetime) else value)
            elif isinstance(value, int | Decimal):
                known |= {Decimal(value), Decimal(value).scaleb(-2)} if AMOUNT.search(str(name)) else {Decimal(value)}
    return frozenset(known)


# -- rejected rows


def _rejected(table: _Table, problems: Sequence[CellProblem], path: Path, rejects: str | Path | None) -> dict[int, str]:
    """Return the lines with problems and their reasons, and write them to a file.

    Raises:
        UsageError: There are problems, and no file for them.
    """
    reasons: dict[int, list[str]] = {}
    for problem in problems:
        reasons.setdefault(problem.line, []).append(f"{problem.column} {problem.message}".strip())
    bad = {line: "; ".join(texts) for line, texts in sorted(reasons.items())}
    if bad and rejects is None:
        listed = [Problem(f"{path.name}, line {line}", "cell", text) for line, text in [*bad.items()][:_SHOWN]]
        more = len(bad) - len(listed)
        if more:
            listed.append(Problem("", "more", f"and {more:,} more lines; pass rejects=FILE to read the others"))
        raise UsageError(listed, of="read_table")
    if bad and rejects is not None:
        from workbench.analysis.tables.frames import to_file

        rows = [[row.number, bad[row.number], *map(as_text, row.cells)] for row in table.rows if row.number in bad]
        width = max(map(len, rows))
        names = ["line", "reasons", *table.names, *(f"column {i}" for i in range(len(table.names) + 3, width + 1))]
        to_file(pd.DataFrame([[*row, *[None] * (len(names) - len(row))] for row in rows], columns=names), rejects)
    return bad


def _left_out(table: _Table, bad: Mapping[int, str]) -> list[str]:
    """Return a sentence for each kind of rows that are not in the frame."""
    counts: dict[str, list[int]] = {}
    for row, reason in table.left_out:
        counts.setdefault(reason, []).append(row.number)
    if bad:
        counts["rejected"] = list(bad)
    return [
        f"{len(lines):,} rows left out ({reason}): line {', '.join(map(str, lines[:5]))}{' …' if lines[5:] else ''}."
        for reason, lines in counts.items()
    ]


def _stored(path: Path, sizes: Limits) -> pd.DataFrame:
    """Return the table of a Parquet file with its types; one written by `to_file` has its marks and notes."""
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
