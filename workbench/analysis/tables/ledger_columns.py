"""Columns of a ledger that the caller names: times, amounts in cents, currencies. All other columns keep their text."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

import attrs
import pandas as pd

from workbench.analysis.sheets.numbers import SHARED_SYMBOLS, SIDES, SYMBOL_CODES, number_in
from workbench.analysis.sheets.questions import FileQuestion
from workbench.analysis.tables.rows import TEXT
from workbench.analysis.tables.table_columns import Columns, as_text, times_array
from workbench.base.errors import Problem, UsageError, not_allowed, visible
from workbench.service.interface.formats import minor_digits

TARGETS = ("at", "amount", "debit", "credit", "side", "currency")
"""Columns that are converted."""
_SIDE_OF = {**SIDES, "+": "credit", "-": "debit"}
_CODE = re.compile(r"[(\[_ ]([A-Z]{3})[)\]]?$")
_MINOR = re.compile(r"cents?(?![a-z])|céntimo|centime|grosz|minor", re.IGNORECASE)
_SCALED = re.compile(
    r"[千万億]円|(?<![^\W\d_])[Tk](?:EUR|USD|€|\$)|thousand|million|tausend|tsd|(?<![a-z])(?:mio|mln)(?![a-z])"
    r"|milliers|miles de|millones|tys\.|(?<!\d)000",
    re.IGNORECASE,
)
"""Name of a column of thousands or millions."""


@attrs.define(slots=False)
class Ledger:
    """Columns of a file that the caller named for the frame.

    Args:
        named: Column of the file for each column name of the frame; "-Betrag" means the negated column.
        cells: Cells by column.
        reader: Converter of the columns, with the answers about the file.
    """

    named: Mapping[str, str]
    cells: Mapping[str, list[Any]]
    reader: Columns
    turned: bool = False

    def __attrs_post_init__(self) -> None:
        """Check the names.

        Raises:
            UsageError: A column is missing.
        """
        amount = self.named.get("amount", "")
        if amount not in self.cells and amount.removeprefix("-") in self.cells:
            self.named, self.turned = {**self.named, "amount": amount.removeprefix("-")}, True
        if missing := [column for column in self.named.values() if column not in self.cells]:
            raise UsageError([not_allowed("columns", missing[0], self.cells)], of="read_table")

    def arrays(self) -> dict[str, Any]:
        """Return the columns under their names in the frame."""
        arrays: dict[str, Any] = {}
        if "at" in self.named:
            arrays["at"] = times_array(self.reader.dates(self.named["at"], self.cells[self.named["at"]], compact=True))
        if self._sources:
            arrays["amount_cents"] = pd.array(self._cents(), dtype="Int64")
        if self._sources or "currency" in self.named:
            arrays["currency"] = pd.array([code and code.lower() for code in self._codes], dtype=TEXT)
        for name in self.named:
            if name not in TARGETS:
                arrays[name] = pd.array([text and text.strip() for text in self._texts(name)], dtype=TEXT)
        return arrays

    @property
    def _sources(self) -> list[str]:
        """Return the names of the amount columns."""
        return [self.named[name] for name in ("amount", "debit", "credit") if name in self.named]

    def _texts(self, name: str) -> list[str | None]:
        return [as_text(cell) for cell in self.cells[self.named[name]]]

    @cached_property
    def _codes(self) -> list[str | None]:
        """Return the currency of each row: from a column, the cells or names of the amount columns, or the argument.

        Raises:
            UsageError: Two of these states different currencies.
        """
        stated = {match[1] for name in self._sources if (match := _CODE.search(name))}
        if answer := self.reader.answers.get("currency"):
            stated.add(answer.upper())
        if "currency" in self.named:
            codes = [self._code(row, text) for row, text in enumerate(self._texts("currency"))]
            self._check_cells(codes)
            _check_one({*codes} | stated if stated else ())
            return codes
        stated = stated.union(*(self.reader.currencies(name, self.cells[name]) for name in self._sources))
        _check_one(stated)
        self._ask_for("currency", lambda texts: _are_codes(texts) and texts != stated, "it states the currency")
        if not stated and not any(question.argument == "currency" for question in self.reader.questions):
            self.reader.ask("currency", f"column {visible(self._sources[0], 60)}", {"EUR": "or another, for all rows"})
        return [next(iter(stated), None)] * len(self.reader.lines)

    def _check_cells(self, codes: Sequence[str | None]) -> None:
        """Report cells that state another currency than the currency column."""
        for name in self._sources:
            for row, cell in enumerate(self.cells[name]):
                number = number_in(cell)
                stated = "" if number is None or number.currency in SHARED_SYMBOLS else number.currency
                if stated and codes[row] and stated != codes[row]:
                    self.reader.problem(row, name, "states another currency than the currency column")

    def _code(self, row: int, text: str | None) -> str | None:
        code = (text or "").strip().upper()
        if re.fullmatch("[A-Z]{3}", code):
            return code
        if text is not None or self._sources:
            self.reader.problem(row, self.named["currency"], "is not a currency code of three letters")
        return None

    def _amounts(self) -> Sequence[Decimal | None]:
        """Return the amounts with their signs, in the file's unit."""
        if "amount" in self.named:
            column = self.named["amount"]
            values = self.reader.numbers(column, self.cells[column])
            if "side" in self.named:
                values = self.reader.by_side([column], values, self._sides())
            elif any(values) and not any(value is not None and value < 0 for value in values):
                self._ask_for("side", lambda texts: texts <= _SIDE_OF.keys(), "it says credit or debit")
            return [-value if value is not None and self.turned else value for value in values]
        present = [side for side in ("debit", "credit") if side in self.named]
        both = {side: self.reader.numbers(self.named[side], self.cells[self.named[side]]) for side in present}
        rows = range(len(self.reader.lines))
        sides = [[side for side in present if both[side][row]] for row in rows]
        for row in rows:
            if len(sides[row]) > 1:
                self.reader.problem(row, self.named["debit"], "has a debit and a credit in one row")
        for side, numbers in both.items():
            negative = [row for row, number in enumerate(numbers) if number is not None and number < 0]
            # some programs write a minus sign before every debit, so a column of negative amounts is accepted
            if 0 < len(negative) < sum(map(bool, numbers)):
                self.reader.problem(negative[0], side, "is negative in a column of positive amounts")
        chosen = [(own or present)[0] for own in sides]
        unsigned = [abs(both[side][row] or Decimal(0)) for row, side in zip(rows, chosen, strict=True)]
        return self.reader.by_side(self._sources, unsigned, chosen)

    def _sides(self) -> list[str | None]:
        texts = [(text or "").strip().upper() for text in self._texts("side")]
        for row, text in enumerate(texts):
            if text and text not in _SIDE_OF:
                self.reader.problem(row, self.named["side"], "says neither credit nor debit")
        return [_SIDE_OF.get(text) for text in texts]

    def _ask_for(self, target: str, fits: Callable[[set[str]], bool], meaning: str) -> None:
        """Ask whether a column whose cells all fit has the sides or currencies of the amounts."""
        for name, column in self.cells.items():
            texts = {(as_text(cell) or "").strip().upper() for cell in column} - {""}
            if name not in self.named.values() and texts and fits(texts):
                ways = {target: f"{meaning} for each amount", "text": "it says something else"}
                readings = {str({**self.named, way: name}): said for way, said in ways.items()}
                about = f"column {visible(name, 60)}"
                self.reader.questions.append(FileQuestion(argument="columns", about=about, readings=readings))

    def _cents(self) -> list[int | None]:
        """Return the amounts in the minor unit of their currency."""
        amounts, column = self._amounts(), self._sources[0]
        digits = [minor_digits(code) for code in self._codes]
        main = [None if v is None else v.scaleb(places) for v, places in zip(amounts, digits, strict=True)]
        unit = self.reader.answers.get("unit")
        written = any(value is not None and value.as_tuple().exponent != 0 for value in amounts)
        fractions = any(value is not None and value != value.to_integral_value() for value in amounts)
        if unit is None and _SCALED.search(column):
            meanings = {"main": "not in thousands or millions, which its name states; otherwise, multiply them first"}
            self.reader.ask("unit", f"column {visible(column, 60)}", meanings)
        elif unit is None and column.endswith("_cents") and not fractions:
            unit = "cents"
        elif unit is None and main != amounts and not (fractions if _MINOR.search(column) else written):
            row = next(index for index, value in enumerate(amounts) if value != main[index])
            meanings = {
                "cents": f"line {self.reader.lines[row]} is {amounts[row]} cents",
                "main": f"line {self.reader.lines[row]} is {amounts[row]}.00",
            }
            self.reader.ask("unit", f"column {visible(column, 60)}", meanings, {"cents": amounts, "main": main})
        bad = {problem.line for problem in self.reader.problems}
        cents: list[int | None] = []
        for row, value in enumerate(amounts if unit == "cents" else main):
            is_whole = value is not None and value == value.to_integral_value()
            if not is_whole and self.reader.lines[row] not in bad:
                message = "is empty" if value is None else "has more decimal places than its currency"
                self.reader.problem(row, column, message)
            cents.append(int(value) if value is not None and is_whole else None)
        return cents


def _are_codes(texts: set[str]) -> bool:
    return all(len(text) == 3 and text.isalpha() for text in texts) and not texts.isdisjoint(SYMBOL_CODES)


def _check_one(codes: Iterable[str | None]) -> None:
    """Check that amounts are in one currency.

    Raises:
        UsageError: There are several currencies.
    """
    listed = sorted({code for code in codes if code})
    if len(listed) > 1:
        problem = f"amounts are in several currencies: {', '.join(listed)}"
        raise UsageError([Problem("currency", "twice", problem)], of="read_table")
