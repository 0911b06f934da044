"""Rows of a table that are totals or remarks rather than data."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from workbench.analysis.sheets.grid import Row, is_empty
from workbench.analysis.sheets.numbers import MARKS, number_in
from workbench.analysis.sheets.questions import FileQuestion, UnclearTable

_TOTAL = re.compile(
    r"(?:[^\W\d_]+[ -])?(?:sub|zwischen|gesamt|end|schluss|anfangs)?"
    r"(?:total\w*|summe|sum|saldo|somme|solde|suma|soma|totaal|balance|razem|合計|小計|итого)\b.{0,60}",
    re.IGNORECASE,
)
_BALANCE = re.compile(
    r"(?:(?:opening|closing|beginning|ending|starting|previous) balance|balance (?:brought|carried) forward|kontostand"
    r"|(?:anfangs|schluss|end)(?:saldo|bestand)|(?:ancien|nouveau) solde|solde (?:initial|final|précédent)"
    r"|saldo (?:inicial|final|anterior|iniziale|finale|początkowe|końcowe)|stan (?:początkowy|końcowy)"
    r"|残高|(?:前|次|翌)[月期年]?繰越)\b.{0,60}",
    re.IGNORECASE,
)
"""Text of a balance, which no purchase has."""


def total_rows(names: Sequence[str], rows: Sequence[Row], answer: str | None, at: str | None = None) -> dict[int, str]:
    """Return the rows that are totals or remarks, with the reason for each.

    A total row has the sum of the rows above it. It also contains a word such as "total", or it is the last row and
    lacks cells that all other rows have. If a row has such a word but another number, the caller is asked, unless the
    row may be a purchase at a shop of that name. A row with a number but no date in column `at` may also be a total, if
    most rows have a date.

    Raises:
        UnclearTable: A row may be a total.
    """
    if answer == "keep" or len(rows) < 2:
        return {}
    balances = {index for index, row in enumerate(rows) if _words(row, _BALANCE)}
    claimed = balances | {index for index, row in enumerate(rows) if _words(row)}
    balances |= _undated(names, rows, at)
    suspects = claimed | {len(rows) - 1}
    others = [row for index, row in enumerate(rows) if index not in suspects] or [rows[0]]
    always = [column for column in range(len(names)) if all(row.has(column) for row in others)]
    lacks = {index for index, row in enumerate(rows) if not all(map(row.has, always))}
    totals: dict[int, str] = {}
    unclear: list[int] = []
    for index in sorted(lacks | claimed | balances):
        row = rows[index]
        filled = [cell for cell in row.cells if not is_empty(cell)]
        has_number = any(isinstance(cell, int | Decimal) or number_in(cell) is not None for cell in filled)
        if not has_number and len(filled) == 1 < len(names) - 1:
            totals[index] = "remark"
        elif has_number and index in suspects | balances:
            is_sum, is_marked = _is_sum(rows, index, totals), index in lacks or _is_among_numbers(rows, index)
            is_claimed = index in balances or (index in claimed and (is_sum or is_marked))
            if (is_sum and is_marked) or (answer == "drop" and (is_sum or is_claimed)):
                totals[index] = "total"
            elif is_claimed:
                unclear.append(index)
    if unclear:
        line = rows[unclear[0]].number
        readings = {"'drop'": f"line {line} is a total or a balance", "'keep'": "it is a row like the others"}
        raise UnclearTable([FileQuestion(argument="totals", about=f"line {line}", readings=readings)])
    return totals


def _words(row: Row, pattern: re.Pattern[str] = _TOTAL) -> list[int]:
    """Return the columns in which a row has a word for total, or text that matches `pattern`."""
    cells = enumerate(row.cells)
    return [column for column, cell in cells if isinstance(cell, str) and pattern.fullmatch(cell.strip())]


def _undated(names: Sequence[str], rows: Sequence[Row], at: str | None) -> set[int]:
    """Return the rows without a date in the column `at`, unless most rows have none."""
    if at not in names:
        return set()
    column = names.index(at)
    empty = {index for index, row in enumerate(rows) if not row.has(column)}
    return empty if 2 * len(empty) <= len(rows) else set()


def _is_among_numbers(rows: Sequence[Row], index: int) -> bool:
    """Return whether a row has a word for total in a column of dates or numbers."""
    for column in _words(rows[index]):
        others = [row.cells[column] for row in rows if row is not rows[index] and row.has(column)]
        if not any(str(cell).strip()[:1].isalpha() for cell in others):
            return True
    return False


def _is_sum(rows: Sequence[Row], index: int, totals: Mapping[int, str]) -> bool:
    """Return whether a number in a row is the sum of the cells above it, from the start or from the last total."""
    starts = {0, max((total + 1 for total in totals if total < index), default=0)}
    for column, cell in enumerate(rows[index].cells):
        for mark in MARKS:
            total = _amount(cell, mark)
            if not total:
                continue
            for start in starts:
                above = [rows[i] for i in range(start, index) if i not in totals and rows[i].has(column)]
                values = [_amount(row.cells[column], mark) or Decimal(0) for row in above]
                if any(values) and sum(values) == total:
                    return True
    return False


def _amount(cell: object, mark: str) -> Decimal | None:
    if isinstance(cell, int | Decimal):
        return Decimal(cell)
    number = number_in(cell)
    return None if number is None else number.value(mark)
