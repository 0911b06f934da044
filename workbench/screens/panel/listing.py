"""A list of the panel, and the encoding of its rows for the page, which filters, sorts, groups and sums rows."""

from array import array
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count
from typing import Any

from workbench.base.errors import UsageError, visible
from workbench.screens.panel.cells import MOST, Column, Facts, Message, Rows, uncollected
from workbench.service import rendering
from workbench.service.interface.formats import minor_digits
from workbench.service.rendering.design import look, word
from workbench.service.rendering.elements import isolated, table
from workbench.service.rendering.text import sentence, status_cell

FIRST = 200
"""Number of rows that a page receives first."""
_LONGEST = 500  # maximum length of a cell, in characters
_LARGEST = 2**53  # largest integer that is exact in JavaScript
_TIMES = ("time", "wall")
_NUMBERS = ("money", "number", *_TIMES)  # kinds of columns whose values are compared as numbers


class Listing:
    """A list of rows. From code, use `data`, `ids` and `frame()`.

    Args:
        name: Name of the list.
        load: Function that reads the rows.
    """

    def __init__(self, name: str, load: Callable[[], Rows]) -> None:
        self.name = name
        self._load = load
        self._data: Rows | None = None
        self._version = 0

    @property
    def data(self) -> Rows:
        """Return all rows, which are read on first use."""
        return self.read() if self._data is None else self._data

    @property
    def is_read(self) -> bool:
        """Whether the rows were read."""
        return self._data is not None

    @property
    def ids(self) -> list[str]:
        """Return the ids of the rows in display order."""
        return [self.data.ids[number] for number in self.data.order]

    def __len__(self) -> int:
        return len(self.data.ids)

    def read(self) -> Rows:
        """Read the rows again and return them. Existing rows may be changed in place."""
        with uncollected():
            data = self._load()
        if self._data is None or not data.follows(self._data):
            self._version += 1
        self._data = data
        return data

    @property
    def mark(self) -> list[int]:
        """Version of the rows: the number of reads that moved rows, and the number of changes since the last move."""
        return [self._version, self.data.log.number]

    def frame(self, numbers: Sequence[int] | None = None) -> Any:
        """Return all rows, or the rows at some positions, as a DataFrame."""
        import pandas as pd

        numbers = self.data.order if numbers is None else numbers
        if self.data.frame is not None:
            return self.data.frame.iloc[numbers]
        columns: Facts = {}
        for column, cells in zip(self.data.columns, self.data.cells, strict=True):
            values: Any = [cells[number] for number in numbers]
            if column.kind in _TIMES:
                values = pd.to_datetime(pd.array(values, "Int64"), unit="ms", utc=True)
            columns[column.name] = values
        return pd.DataFrame(columns)

    def columns(self, part: int = 0, limit: int = MOST) -> Message:
        """Return the rows for a page as packed columns. A long list has several parts, newest rows first."""
        return packed(self.name, self.data, part, limit) | {"mark": self.mark}

    def rows_since(self, mark: Any) -> Message:
        """Return the rows that changed or were added since a page received its rows; all rows if rows moved.

        A message with changes lists the positions of its `rows` in `at`. New rows have the last positions. For a list
        with several parts, the message always has the first part.
        """
        data = self.data
        if not self._is_current(mark) or len(data.ids) > MOST:
            return self.columns()
        at = sorted(data.log.since(mark[1]))
        return {"list": self.name, "at": at, "rows": packed("", data.only(at)), "mark": self.mark}

    def _is_current(self, mark: Any) -> bool:
        """Return whether the rows that a page received still have the same positions."""
        return isinstance(mark, list) and mark[:1] == [self._version]

    def select(self, mark: Any, numbers: Iterable[Any]) -> list[int]:
        """Return the positions of the rows that a page names. Rows that do not exist are omitted.

        Raises:
            UsageError: Since the page received its rows, rows moved or were removed.
        """
        if not self._is_current(mark):
            raise UsageError(f"{self.name} changed meanwhile", of="browse")
        count = len(self)
        places = self.data.order if count > MOST else range(count)
        return [places[number] for number in map(int, numbers) if 0 <= number < count]


def packed(name: str, data: Rows, part: int = 0, limit: int | None = MOST) -> Message:
    """Return rows as dictionary-encoded columns: a column's distinct values, and each row's index into them.

    A column of mostly distinct values is not encoded, and has one value for each row.

    Args:
        part: Index of the part of a long list. The first part has the newest rows.
        limit: Maximum number of rows in a part; None returns all rows in one part.
    """
    total = len(data.ids)
    most = limit or max(total, 1)
    first = min(max(part, 0), max(0, total - 1) // most) * most
    rows = data if total <= most else data.only(data.order[first : first + most])
    own = next((at for at, column in enumerate(rows.columns) if column.kind == "id" and not column.to), None)
    return {
        "name": name,
        "label": sentence(name),
        "count": len(rows.ids),
        "first": first,
        "all": total,
        "most": most,
        "newest": rows.newest,
        "columns": [
            _column(column, cells, data.names, quick=limit is not None)
            for column, cells in zip(data.columns, rows.cells, strict=True)
        ],
        "ids": None if own is not None and rows.cells[own] == rows.ids else _column(Column("id"), rows.ids, {}),
        "digits": {code: minor_digits(code) for code in map(currency, {*data.column("currency")})},
        "notes": [visible(note, 400) for note in data.notes],
    }


def _column(column: Column, cells: Sequence[Any], names: Mapping[str, str], *, quick: bool = False) -> Message:
    """Return a column for a page: distinct values, labels of ids, styles of statuses, and each row's index or value.

    Args:
        quick: Whether numbers, times and record ids are sent for each row, because they are mostly distinct.
    """
    values, places, kind = _stored(cells, column.kind), None, column.kind
    if not (quick and (kind in _NUMBERS or (kind == "id" and not column.to))):
        known = defaultdict[Any, int](count().__next__)
        at = array("I", map(known.__getitem__, values))
        if 2 * len(known) <= len(cells):
            values, places = [*known], at
    shown: Sequence[Any] | None = None
    if kind == "status":
        shown = [value and [status_cell(value).text, look(value).tone, word(value)] for value in values]
    elif column.to and names:
        shown = [(name := names.get(value)) and visible(name, 80) for value in values]
    # code of the smallest array type for the indexes
    code = "B" if len(values) <= 2**8 else "H" if len(values) <= 2**16 else "I"
    return {
        "name": visible(column.name, 80),
        "label": visible(column.label, 80),
        "kind": kind,
        "to": column.to,
        "of": values,
        "shown": shown,
        "at": [code, b64encode(array(code, places).tobytes()).decode()] if places else None,
    }


def _stored(cells: Sequence[Any], kind: str) -> Sequence[Any]:
    """Return values in the form that a page stores. Short printable texts and small integers need no conversion."""
    known = [value for value in cells if value is not None]
    types = {*map(type, known)}
    if types == {str} and "".join(known).isprintable() and max(map(len, known)) < _LONGEST:
        return [value or None for value in cells]
    if types == {int} and kind in _NUMBERS and -_LARGEST < min(known) and max(known) < _LARGEST:
        return [*cells]
    return [stored(value, kind) for value in cells]


def stored(value: Any, kind: str) -> Any:
    """Return a value in the form that a page stores: a number, a time in milliseconds, or a text."""
    if kind in _NUMBERS and type(value) is int and abs(value) < _LARGEST:
        return value
    return visible(plain(value), _LONGEST) or None


def currency(code: object) -> str:
    """Return a currency code in upper case; USD if it is missing."""
    return str(code or "USD").upper()


def plain(value: object) -> str:
    """Return the text with which a value is searched and compared."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float | Decimal):
        text = format(Decimal(str(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return "" if value is None else str(value)


def static_table(listing: Listing, most: int) -> str:
    """Return the first rows of a list as HTML, for pages without scripts."""
    data = listing.data
    filled = (place for place, cells in enumerate(data.cells) if any(cell is not None for cell in cells))
    places = [place for place in filled if data.columns[place].kind != "hidden"]
    heads = [isolated(data.columns[place].label) for place in places]
    rows = ([isolated(text(data, number, place)) for place in places] for number in data.order[:most])
    count = f"{len(listing):,} row{'' if len(listing) == 1 else 's'}"
    rest = f", the first {most} are shown" if len(listing) > most else ""
    notes = "".join(f"<p>{isolated(visible(str(note), 400))}</p>" for note in data.notes)
    return f"<h2>{isolated(sentence(listing.name))}</h2><p>{count}{rest}</p>{notes}{table(rows, heads)}"


def text(data: Rows, number: int, place: int) -> str:
    """Return the readable text of a cell, without control characters."""
    value, column = data.cells[place][number], data.columns[place]
    if column.kind == "status" and value:
        return status_cell(str(value)).text
    if column.kind == "money" and type(value) is int:
        return rendering.money(value, currency(data.column("currency")[number]))
    if column.kind in _TIMES and type(value) is int:
        return rendering.moment(datetime.fromtimestamp(value / 1000, UTC))
    name = data.names.get(value) if column.to and isinstance(value, str) else None
    return visible(name or plain(value), _LONGEST)
