"""Rows of cells, and detection of the header row from the cells below it."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any

import attrs

from workbench.analysis.sheets.dates import written_date
from workbench.analysis.sheets.numbers import written_number
from workbench.analysis.sheets.questions import BadSheet, FileQuestion, UnclearTable
from workbench.base.errors import visible
from workbench.base.system.limits import FileLimits, too_large, too_many_columns, too_many_rows

_SAMPLE = 200
_SEARCHED = 60
"""Maximum number of rows searched for the column names."""
_MOST = 0.8
CELL = 100
"""Bytes of memory that a cell takes in addition to its text."""
FIRST = -1
"""Value of `header` for the first line that is not blank."""
Cells = Sequence[Any]


@attrs.define
class Budget:
    """Count of a file's rows and memory, with limits. `rows` starts at -1 if the first row has the column names."""

    limits: FileLimits
    rows: int = 0
    size: int = 0

    def count(self, number: int, cells: Collection[object]) -> None:
        """Count a row and its cells.

        Raises:
            LimitExceeded: A limit is exceeded; the message names it.
        """
        self.rows += 1
        if self.rows > self.limits.rows:
            raise too_many_rows(self.rows, self.limits)
        if len(cells) > self.limits.columns:
            raise too_many_columns(len(cells), self.limits)
        lengths = [len(cell) for cell in cells if isinstance(cell, str)]
        if (longest := max(lengths, default=0)) > self.limits.cell:
            most = f"maximum max_cell={self.limits.cell:,}"
            raise BadSheet(f"row {number}: {longest:,} characters in a cell ({most})")
        self.size += sum(lengths) + CELL * len(cells)
        if self.size > self.limits.size:
            raise too_large(self.limits)


@attrs.frozen
class Row:
    """A row of a file: its line or row number, and its cells (text, numbers, flags and dates; None or "" if empty)."""

    number: int
    cells: list[Any]

    def has(self, column: int) -> bool:
        """Return whether the row has a cell in a column that is not empty."""
        return column < len(self.cells) and not is_empty(self.cells[column])


@attrs.frozen
class Grid:
    """Non-blank rows of a file, and the index of the header row, or -1 if there is no header row."""

    rows: list[Row]
    head: int
    notes: tuple[str, ...] = ()

    def names(self, limits: FileLimits) -> tuple[str, ...]:
        """Return the names of the columns. A column without a name is named by its position, such as "column 3".

        Raises:
            BadSheet: There are too many columns, or a column's name equals the position name of another column.
        """
        if self.head < 0:
            width = max((len(trimmed(row.cells)) for row in self.rows), default=0)
            return tuple(map(str, range(1, width + 1)))
        head = self.rows[self.head].cells
        widest = max((len(trimmed(row.cells)) for row in self.rows[self.head + 1 :]), default=0)
        width = max(len(trimmed(head)), min(len(head), widest))  # the last column may have no name
        names = ["" if cell is None else str(cell).strip() for cell in head[:width]]
        if len(names) > limits.columns:
            raise too_many_columns(len(names), limits)
        times = Counter(names)
        own = tuple(_own_name(name, place, times[name]) for place, name in enumerate(names, 1))
        if len({*own}) < len(own):
            twice = sorted(visible(name, 80) for name, count in Counter(own).items() if count > 1)
            raise BadSheet(f"duplicate column: {', '.join(twice)}")
        return own

    @property
    def body(self) -> list[Row]:
        """Return the rows after the header row, without rows that repeat the header."""
        names = self.rows[self.head].cells if self.head >= 0 else None
        return [row for row in self.rows[self.head + 1 :] if row.cells != names]


def _own_name(name: str, place: int, times: int) -> str:
    if not name:
        return f"column {place}"
    return name if times == 1 else f"{name} (column {place})"


def is_empty(cell: object) -> bool:
    """Return whether a cell has no value, or text without visible characters."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def blank(cells: Cells) -> bool:
    """Return whether all cells of a row are empty."""
    return all(map(is_empty, cells))


def trimmed(cells: Cells) -> list[Any]:
    """Return a row's cells without the empty cells at its end."""
    row = list(cells)
    while row and is_empty(row[-1]):
        row.pop()
    return row


def head_of(rows: Sequence[Row], head: int | None) -> int:
    """Return the index of the header row; -1 if there is none.

    Args:
        rows: The rows.
        head: Line of the header row, if known; 0 if the file has no header row.

    Raises:
        UnclearTable: Several rows may be the header row.
        BadSheet: No row can be the header row.
    """
    heads = heads_of(rows, head)
    if len(heads) > 1:
        names = {i: ", ".join(visible(str(cell), 20) for cell in rows[i].cells[:4]) for i in heads}
        readings = {str(rows[i].number): text for i, text in names.items()}
        raise UnclearTable([FileQuestion(argument="header", about="the line with the column names", readings=readings)])
    return heads[0]


def heads_of(rows: Sequence[Row], head: int | None) -> list[int]:
    """Return the indices of the rows that may be the header row, of equal width; [-1] if there is no header row.

    Raises:
        BadSheet: No row can be the header row.
    """
    if head == 0 or not rows:
        return [-1]
    if head == FIRST:
        return [0]
    if head is not None:
        index = next((index for index, row in enumerate(rows) if row.number == head), None)
        if index is None:
            raise BadSheet(f"line {head} is empty or missing")
        return [index]
    kinds = [[_kind(cell) for cell in trimmed(row.cells)] for row in rows[:_SAMPLE]]
    scores = {index: _typed_columns(rows, kinds, index) for index in range(min(len(kinds), _SEARCHED))}
    named = {index: score for index, score in scores.items() if score is not None}
    if not named:
        return [_first_of_names(rows, kinds[0])]
    best = max(named, key=lambda index: (named[index], -index))
    rivals = [i for i in named if len(kinds[i]) == len(kinds[best]) and (i < best or named[i] == named[best])]
    return rivals if named[best] else [best]


def typed_columns(rows: Sequence[Row], head: int) -> int:
    """Return the number of columns that contain only numbers or only dates below the header row."""
    kinds = [[_kind(cell) for cell in trimmed(row.cells)] for row in rows[: head + _SAMPLE]]
    return _typed_below(kinds[head + 1 :], len(rows[head].cells)) if rows else 0


def _first_of_names(rows: Sequence[Row], kinds: Sequence[str]) -> int:
    """Return 0 if the first row looks like a header row although some names are empty or repeated.

    Raises:
        BadSheet: The first row is not a header row.
    """
    if "text" in kinds and not {"number", "date"} & {*kinds} and not _stands_below(rows, 0):
        return 0
    raise BadSheet("no line has column names; pass header=LINE, or header=0 if the file has no column names")


def _typed_columns(rows: Sequence[Row], kinds: Sequence[Sequence[str]], index: int) -> int | None:
    """Return the number of columns with only numbers or only dates below a row; None if the row is not a header."""
    names = kinds[index]
    same = [other for other in range(index) if rows[other].cells == rows[index].cells]
    below = kinds[index + 1 :]
    if not names or set(names) != {"text"} or same or _stands_below(rows, index):
        return None
    if sum(len(row) <= len(names) for row in below) < 0.9 * len(below):
        return None
    return _typed_below(below, len(names))


def _typed_below(kinds: Sequence[Sequence[str]], width: int) -> int:
    count = 0
    for column in range(width):
        kinds_found = [row[column] for row in kinds if column < len(row) and row[column]]
        kind, times = Counter(kinds_found).most_common(1)[0] if kinds_found else ("text", 0)
        count += kind != "text" and times >= _MOST * len(kinds_found)
    return count


def _stands_below(rows: Sequence[Row], index: int) -> bool:
    """Return whether a later row repeats a cell of this row in the same column, which is unlikely for a header row."""
    cells = trimmed(rows[index].cells)
    others = [row.cells for row in rows[index + 1 : _SAMPLE] if row.cells[: len(cells)] != cells]
    return any(row[column] == cell for row in others for column, cell in enumerate(cells) if column < len(row))


def _kind(cell: object) -> str:
    """Return "text", "number", "date", or "" for an empty cell."""
    if isinstance(cell, date | time):
        return "date"
    if isinstance(cell, bool | int | float | Decimal):
        return "number"
    if not isinstance(cell, str) or is_empty(cell):
        return ""
    if written_date(cell) is not None:
        return "date"
    return "number" if written_number(cell) is not None else "text"


def cells_by_name(names: Sequence[str], row: Row) -> Mapping[str, Any]:
    """Return a row's non-empty cells by column name.

    Raises:
        BadSheet: A cell lies outside all columns.
    """
    cells = trimmed(row.cells)
    if len(cells) > len(names):
        raise BadSheet(f"line {row.number}: {len(cells)} cells for {len(names)} columns")
    return {name: cell for name, cell in zip(names, cells, strict=False) if cell is not None and cell != ""}
