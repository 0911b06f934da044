"""Turn a file's cells into typed columns, if every valid reading gives the same values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import attrs
import pandas as pd
import pyarrow as pa

from workbench.analysis.sheets.dates import ORDERS, SERIALS, WrittenDate, serial_date, written_date
from workbench.analysis.sheets.grid import is_empty
from workbench.analysis.sheets.numbers import (
    MARKS,
    SHARED_SYMBOLS,
    SYMBOL_CODES,
    WrittenNumber,
    destroyed,
    number_in,
    written_number,
)
from workbench.analysis.sheets.questions import FileQuestion, distinct
from workbench.analysis.sheets.workbooks import DIGITS
from workbench.analysis.tables.columns import AMOUNT, json_text
from workbench.analysis.tables.rows import TEXT, packed, to_pandas
from workbench.base.errors import visible

_NOTHING = frozenset({"", "-", "–", "—"})
_FLAGS: Mapping[Any, bool | None] = {"True": True, "False": False, "true": True, "false": False, "TRUE": True,
    "FALSE": False, "": None}  # fmt: skip
_AGREED = Decimal("0.9")
"""Minimum share of values that must occur in the other table for a reading to be proposed."""
_SWAPPED = " swapped"
Cells = Sequence[Any]


@attrs.frozen(kw_only=True)
class CellProblem:
    """A cell that cannot be read: its line, its column and the problem, never the value."""

    line: int
    column: str
    message: str


@attrs.define(kw_only=True)
class Columns:
    """Reader of a file's columns.

    Args:
        lines: Line of each row.
        answers: Answers about the file, by the name of the `read_table` argument.
        others: Values of another table, from which answers are proposed.
    """

    lines: Sequence[int]
    answers: Mapping[str, Any]
    others: frozenset[Any] = frozenset()
    questions: list[FileQuestion] = attrs.field(factory=list)
    problems: list[CellProblem] = attrs.field(factory=list)
    notes: list[str] = attrs.field(factory=list)

    def problem(self, row: int, name: str, message: str) -> None:
        """Record a problem with a cell."""
        self.problems.append(CellProblem(line=self.lines[row], column=visible(name, 60), message=message))

    def ask(
        self, argument: str, about: str, meanings: Mapping[str, str], values: Mapping[str, Iterable[Any]] | None = None
    ) -> None:
        """Add a question. An answer is proposed if 90 % of its values occur in the other table."""
        proposed = [answer for answer in meanings if self._agrees((values or {}).get(answer, ()))]
        only = repr(proposed[0]) if len(proposed) == 1 else None
        readings = {repr(answer): meaning for answer, meaning in meanings.items()}
        self.questions.append(FileQuestion(argument=argument, about=about, readings=readings, proposed=only))

    def _agrees(self, values: Iterable[Any]) -> bool:
        present = [value for value in values if value is not None]
        return bool(present) and sum(value in self.others for value in present) >= _AGREED * len(present)

    def check_destroyed(self, name: str, cells: Cells) -> list[Any]:
        """Return a column's cells. Values that a spreadsheet destroyed are reported as problems and become empty."""
        checked = list(cells)
        for row, cell in enumerate(cells):
            long = isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) >= 10**DIGITS
            reason = "has more than 15 digits, of which a spreadsheet keeps 15" if long else destroyed(cell)
            if reason and not (long and self.answers.get("exact")):
                self.problem(row, name, reason)
                checked[row] = None
        return checked

    def series(self, name: str, cells: Cells) -> Any:
        """Return a column in the type that fits all cells, or as text if none does."""
        filled = [cell for cell in cells if not is_empty(cell)]
        if filled and all(isinstance(cell, bool) or (isinstance(cell, str) and cell in _FLAGS) for cell in filled):
            return pd.array([_FLAGS[cell] if isinstance(cell, str) else cell for cell in cells], dtype="boolean")
        before = len(self.problems)
        if filled and all(_date(cell) is not None for cell in filled):
            array = times_array(self.dates(name, cells))
        elif filled and (AMOUNT.search(name) or self._are_numbers(filled)):
            array = numbers_array(self.numbers(name, cells))
        else:
            self._note_others(name, filled)
            return pd.array([as_text(cell) for cell in cells], dtype=TEXT)
        if len(self.problems) == before:
            return array
        first = self.problems[before]
        del self.problems[before:]
        self.notes.append(f"{visible(name, 60)} stays text: line {first.line} {first.message}.")
        return pd.array([as_text(cell) for cell in cells], dtype=TEXT)

    def _note_others(self, name: str, filled: Cells) -> None:
        """Note that most cells of a text column are amounts or dates."""
        numbers = [number_in(cell) for cell in filled]
        kinds = {
            "amounts": [number is not None and _is_amount(number) for number in numbers],
            "dates": [_date(cell) is not None for cell in filled],
        }
        for kind, fits in kinds.items():
            if 2 * sum(fits) > len(fits):
                count = len(fits) - sum(fits)
                self.notes.append(f"{visible(name, 60)} stays text: {count:,} of {len(fits):,} cells are not {kind}.")

    @staticmethod
    def _are_numbers(filled: Cells) -> bool:
        """Return whether cells are numbers rather than ids.

        Every cell must be a number. If some are text, at least one must have a fraction or a currency.
        """
        if any(isinstance(cell, bool | date | time | list) for cell in filled):
            return False
        cells = [cell for cell in filled if cell not in _NOTHING]
        texts = [cell for cell in cells if isinstance(cell, str)]
        numbers = [number for cell in texts if (number := written_number(cell)) is not None]
        if len(numbers) < len(texts) or not cells:
            return False
        return not texts or any(map(_is_amount, numbers))

    # numbers

    def numbers(self, name: str, cells: Cells) -> list[Decimal | None]:
        """Return a column's numbers, and report all other cells as problems."""
        filled = [None if isinstance(cell, str) and cell.strip() in _NOTHING else cell for cell in cells]
        parts = [_number(cell) for cell in filled]
        self._check_parts(name, filled, parts, "is not a number")
        return self._signed(name, parts, self._marked(name, parts))

    def _check_parts(self, name: str, cells: Cells, parts: Sequence[object], wrong: str) -> None:
        """Record a problem with each cell that is neither empty nor readable."""
        for row, (cell, part) in enumerate(zip(cells, parts, strict=True)):
            if part is None and not is_empty(cell):
                self.problem(row, name, wrong)

    def _marked(self, name: str, parts: Sequence[Any]) -> list[Decimal | None]:
        """Return the numbers under the decimal mark that fits all of them."""
        answer = self.answers.get("decimal")
        values = {mark: [_value(part, mark) for part in parts] for mark in (MARKS if answer is None else (answer,))}
        wrong = f"is not a number with the decimal mark {answer!r}"
        return values[self._reading("decimal", name, parts, values, wrong, lambda row: _example(parts[row]))]

    def _reading(
        self,
        argument: str,
        name: str,
        parts: Sequence[Any],
        values: Mapping[str, Sequence[Any]],
        wrong: str,
        cell: Callable[[int], str],
    ) -> str:
        """Return the answer under which all cells of a column are valid. If several answers give different values, ask.

        Args:
            argument: Argument of `read_table` that the answers are for.
            name: The column.
            parts: The column's cells, with None for empty cells.
            values: The column's values by answer, with None for empty or invalid cells. If there is a single answer,
                the caller passed it.
            wrong: Problem to report for a cell that is invalid under the caller's answer.
            cell: Function that names the cell of a row.
        """
        count = sum(part is not None for part in parts)
        fits = {answer: sum(value is not None for value in column) for answer, column in values.items()}
        valid = distinct({answer: column for answer, column in values.items() if fits[answer] == count})
        first, *others = valid or values
        if len(values) == 1:
            self._check_parts(name, parts, values[first], wrong)
        elif valid and others:
            row = next(row for row, cells in enumerate(zip(*valid.values(), strict=True)) if len({*cells}) > 1)
            meanings = {answer: f"{cell(row)} is {_plain(column[row])}" for answer, column in valid.items()}
            self.ask(argument, _column(name), meanings, values)
        elif others:
            some = {answer: fit for answer, fit in fits.items() if fit} or fits
            counts = {answer: f"{fit:,} of {count:,} cells are valid" for answer, fit in some.items()}
            self.ask(argument, _column(name), counts, values)
        return first

    def _signed(self, name: str, parts: Sequence[Any], values: list[Decimal | None]) -> list[Decimal | None]:
        """Return numbers, with a sign for credit or debit if any cell states its side."""
        sides = [part.side if isinstance(part, WrittenNumber) else "" for part in parts]
        if not any(sides):
            return values
        return self.by_side([name], values, [side or None for side in sides])

    def by_side(
        self, names: Sequence[str], values: Sequence[Decimal | None], sides: Sequence[str | None]
    ) -> list[Decimal | None]:
        """Return amounts with a sign for their side, credit or debit.

        If the file marks only one side, unmarked amounts belong to the other side. A minus sign on all amounts of a
        side repeats the mark. A minus sign on some of them reverses these amounts.
        """
        positive = self.answers.get("credit")
        marked = {side for value, side in zip(values, sides, strict=True) if value and side}
        bare = [row for row, (value, side) in enumerate(zip(values, sides, strict=True)) if value and side is None]
        for row in bare if len(marked) > 1 else ():
            self.problem(row, names[0], "says neither credit nor debit")
        if bare and len(marked) == 1:
            other = "debit" if "credit" in marked else "credit"
            sides = [side or other for side in sides]
            self.notes.append(f"{_column(*names)}: amounts without a mark are read as {other}s.")
        signs_of: dict[str | None, set[bool]] = {}
        for value, side in zip(values, sides, strict=True):
            if value:
                signs_of.setdefault(side, set()).add(value < 0)
        if all(len(signs) == 1 for signs in signs_of.values()):
            values = [value if value is None else abs(value) for value in values]
        signs = {"+": {"credit": 1, "debit": -1}, "-": {"credit": -1, "debit": 1}}
        signed = {
            answer: [
                value if value is None or side is None else value * of[side]
                for value, side in zip(values, sides, strict=True)
            ]
            for answer, of in signs.items()
        }
        if positive is None and any(values):
            meanings = {"+": "credits are positive, debits negative", "-": "debits are positive, credits negative"}
            self.ask("credit", _column(*names), meanings, signed)
        return signed[positive or "+"]

    def currencies(self, name: str, cells: Cells) -> set[str]:
        """Return the currencies that are written with the numbers of a column."""
        parts = map(number_in, cells)
        marks = {part.currency for part in parts if part is not None and part.currency}
        answer = (self.answers.get("currency") or "").upper()
        for symbol in sorted(marks & {*SHARED_SYMBOLS}):
            codes = SHARED_SYMBOLS[symbol]
            if not answer:
                self.ask("currency", _column(name), {code: f"{symbol} is {code}" for code in codes})
            if answer in codes or answer not in SYMBOL_CODES:  # many other currencies share the dollar sign
                marks.discard(symbol)
        return marks

    # dates and times

    def dates(self, name: str, cells: Cells, *, compact: bool = False) -> list[date | None]:
        """Return a column's dates, or times in UTC, and report all other cells as problems."""
        parts = [_date(cell, compact) for cell in cells]
        self._check_parts(name, cells, parts, "is not a date")
        values = self._ordered(name, parts)
        if any(isinstance(part, WrittenDate) and part.has_time for part in parts) or any(
            isinstance(value, datetime) and (value.tzinfo is not None or value.time() != time()) for value in values
        ):
            return self._zoned(name, values)
        return [value.date() if isinstance(value, datetime) else value for value in values]

    def _ordered(self, name: str, parts: Sequence[Any]) -> list[date | None]:
        answer = self.answers.get("dates")
        swap = isinstance(answer, str) and answer.endswith(_SWAPPED)
        orders = (*ORDERS, *SERIALS) if answer is None else (answer.removesuffix(_SWAPPED),)
        values = {order: [_day(part, order, swap) for part in parts] for order in orders}
        wrong = f"is not a date in the order {orders[0]}"
        questions = len(self.questions)
        order = self._reading("dates", name, parts, values, wrong, lambda row: f"line {self.lines[row]}")
        texts = [part for part in parts if isinstance(part, WrittenDate)]
        cells = [part for part in parts if isinstance(part, date)]
        clear = answer is None and len(self.questions) == questions
        if clear and texts and cells and all(cell.day <= 12 for cell in cells) and _late(texts, order):
            swapped = [_day(part, order, swap=True) for part in parts]
            row = next(i for i, part in enumerate(parts) if isinstance(part, date))
            meanings = {
                order: f"line {self.lines[row]} is {parts[row]}",
                order + _SWAPPED: f"a spreadsheet exchanged day and month of date cells; the line is {swapped[row]}",
            }
            self.ask("dates", _column(name), meanings, {order: values[order], order + _SWAPPED: swapped})
        return list(values[order])

    def _zoned(self, name: str, values: Sequence[date | None]) -> list[date | None]:
        zone = self.answers.get("tz")
        times = [
            datetime.combine(value, time()) if value is not None and not isinstance(value, datetime) else value
            for value in values
        ]
        local = [value for value in times if isinstance(value, datetime) and value.tzinfo is None]
        if local and zone is None:
            meanings = {"UTC": f"{local[0]} is UTC", "Europe/Berlin": "or another zone, in which the times are local"}
            self.ask("tz", _column(name), meanings)
        place = ZoneInfo(zone) if zone else UTC
        zoned: list[date | None] = []
        for row, value in enumerate(times):
            if isinstance(value, datetime) and value.tzinfo is None:
                early, late = (value.replace(tzinfo=place, fold=fold) for fold in (0, 1))
                if early.utcoffset() != late.utcoffset():
                    self.problem(row, name, f"occurs twice or not at all in {zone}, because clocks change")
                value = early
            zoned.append(value.astimezone(UTC) if isinstance(value, datetime) else None)
        return zoned


def _column(*names: str) -> str:
    return f"column{'s' if len(names) > 1 else ''} {' and '.join(visible(name, 60) for name in names)}"


def _number(cell: object) -> WrittenNumber | Decimal | None:
    is_number = isinstance(cell, Decimal | int) and not isinstance(cell, bool)
    return Decimal(cell) if is_number else number_in(cell)  # type: ignore[arg-type]


def _date(cell: object, compact: bool = False) -> WrittenDate | date | None:
    if isinstance(cell, date):
        return cell
    written = written_date(cell, compact=compact) if isinstance(cell, str) else None
    return serial_date(cell) if compact and written is None else written


def _is_amount(number: WrittenNumber) -> bool:
    """Return whether a written number has a fraction or a currency, unlike an id."""
    has_fraction = any(number.value(mark) is not None and mark in number.digits for mark in MARKS)
    return has_fraction or bool(number.currency)


def _value(part: WrittenNumber | Decimal | None, mark: str) -> Decimal | None:
    return part.value(mark) if isinstance(part, WrittenNumber) else part


def _example(part: object) -> str:
    return part.digits if isinstance(part, WrittenNumber) else str(part)


def _plain(value: object) -> str:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _day(part: Any, order: str, swap: bool) -> date | None:
    if isinstance(part, WrittenDate):
        return part.value(order)
    if swap and part is not None and part.day <= 12:
        return part.replace(day=part.month, month=part.day)  # type: ignore[no-any-return]
    return part  # type: ignore[no-any-return]


def _late(texts: Sequence[WrittenDate], order: str) -> bool:
    """Return whether all dates have a day above 12. A spreadsheet that expects the month first leaves them as text."""
    return all(day.day > 12 for text in texts if (day := text.value(order)) is not None)


def as_text(cell: object) -> str | None:
    """Return a cell as text; None if it is empty."""
    if is_empty(cell):
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, Decimal):
        return format(cell, "f")
    return json_text(cell) if isinstance(cell, list | dict) else str(cell)


def numbers_array(values: Sequence[Decimal | None]) -> Any:
    """Return numbers as integers if all are whole, otherwise as exact decimals."""
    whole = [value is None or (value.as_tuple().exponent == 0 and abs(value) < 2**63) for value in values]
    if all(whole):
        return pd.array([None if value is None else int(value) for value in values], dtype="Int64")
    return to_pandas(packed(values))


def times_array(values: Sequence[date | None]) -> Any:
    """Return dates as a pandas array; as UTC times if any has a time of day."""
    kind = pa.timestamp("us", "UTC") if any(isinstance(value, datetime) for value in values) else pa.date32()
    return to_pandas(pa.array(values, type=kind))
