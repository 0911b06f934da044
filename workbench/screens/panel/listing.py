"""A list of the panel: the kernel searches, filters, sorts and exports rows; the page shows a window of them."""

import gc
import re
import threading
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property, lru_cache, partial
from itertools import chain, compress, repeat
from operator import and_, eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import Any

import attrs

from workbench.base.errors import UsageError, WorkbenchError, visible
from workbench.screens.panel import lists as things
from workbench.screens.panel.lists import Column, Rows, Times
from workbench.service import rendering
from workbench.service.interface.formats import minor_digits
from workbench.service.rendering.design import look, word
from workbench.service.rendering.text import status_cell

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - its hours are those of UTC
_LONGEST = 500  # characters of a cell
_MANY = 2_000  # rows whose texts take a noticeable time
_TERM = re.compile(r'(?:([\w.]*\w)(:|>=|<=|!=|=|>|<))?(?:"([^"]*)"|(\S+))')
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {"=": eq, "!=": ne, ">": gt, "<": lt, ">=": ge, "<=": le}


@attrs.frozen
class Term:
    """A term of a filter: a word to find in any column, or a comparison with one column."""

    column: str | None
    compare: str
    value: str


def terms(text: str) -> list[Term]:
    """Return the terms of a filter: `status:declined amount>200 merchant:"Coats and More" coffee`."""
    parsed = []
    for name, compare, quoted, bare in (match.groups() for match in _TERM.finditer(text)):
        parsed.append(Term(name or None, compare or ":", (quoted or bare or "").lower()))
    return [term for term in parsed if term.value]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the garbage collector: while many rows are made it looks at all of them again and again, for nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Listing:
    """Rows with a filter and a sort order. From code: `filter`, `sort`, `rows`, `frame()`, `to_file(path)`.

    Args:
        name: Name of the list.
        load: Reads the rows.
    """

    def __init__(self, name: str, load: Callable[[], Rows]) -> None:
        self.name = name
        self.text = ""
        """The filter."""
        self.sorted: tuple[str, ...] = ()
        """The columns of the order; a "-" before a name descends."""
        self.grouped = ""
        """The column whose values group the rows; empty without groups."""
        self.unfolded: frozenset[str] = frozenset()
        """The groups whose rows are shown."""
        self.fresh: frozenset[str] = frozenset()
        """The ids that the last reading found for the first time."""
        self._load = load
        self._data: Rows | None = None
        self._codes: Sequence[str | None] = ()  # the currency of each row
        self._prepared = False  # whether the texts that are searched are made, or are being made
        self._reading = threading.Lock()  # of the rows and what is computed from them

    @property
    def data(self) -> Rows:
        """All rows, read on first use."""
        return self.read() if self._data is None else self._data

    @property
    def is_read(self) -> bool:
        """Whether the rows were read."""
        return self._data is not None

    def read(self) -> Rows:
        """Read the rows again and return them; filter and order are unchanged."""
        with _uncollected():
            data = self._load()
        with self._reading:
            before, self._data = self._data, data
            self._prepared = False
            self._forget("searched", "_coded", "_passing", "_counted", "_only_currency", "_integers")
        self.fresh = frozenset() if before is None else frozenset(data.ids) - frozenset(before.ids)
        self._codes = data.column("currency")
        if self.grouped not in [column.name for column in data.columns]:  # it has no values any more
            self.group()
        return data

    def filter(self, text: str) -> None:
        """Show only rows that match every term of a filter.

        Args:
            text: Words to find in any column, and comparisons with one column, such as `status:declined amount>200`;
                quote text with spaces. Money is compared in dollars, times by their ISO text.
        """
        self.text = text
        self._forget("_passing", "_counted")

    def _forget(self, *names: str) -> None:
        """Forget what was computed from the rows, the filter and the order."""
        for name in (*names, "order", "groups", "lines", "_subtotals"):
            self.__dict__.pop(name, None)

    @property
    def notes(self) -> list[str]:
        """The notes of the rows, and the names in the filter that no column has."""
        names = dict.fromkeys(term.column for term in terms(self.text) if term.column and term.column[0].isalpha())
        unknown = [name for name in names if self._place(name) is None]
        return [*self.data.notes, *(f"No column is called {name}: it is searched as text." for name in unknown)]

    def sort(self, *columns: str) -> None:
        """Sort by columns; a "-" before a name sorts descending. Rows without a value come last.

        Raises:
            UsageError: The column does not exist.
        """
        self._check_columns(*columns)
        self.sorted = columns
        self._forget()

    def group(self, column: str = "", unfolded: Iterable[str] = ()) -> None:
        """Group the rows by a column, times by their hour, day, month or year. Without a column, remove the groups.

        Groups are in the order of their first rows, or of their subtotals if the first column of the order has amounts
        of one currency.

        Args:
            column: The column whose values make the groups.
            unfolded: Keys of the groups whose rows are shown below them; each key is the text of the value.

        Raises:
            UsageError: The column does not exist.
        """
        if column:
            self._check_columns(column)
        if column != self.grouped:
            self._forget()
        self.grouped, self.unfolded = column, frozenset(unfolded)
        self.__dict__.pop("lines", None)

    def _check_columns(self, *columns: str) -> None:
        names = [column.name for column in self.data.columns]
        wrong = [column for column in columns if column.lstrip("-") not in names]
        if wrong:
            raise UsageError(f"{wrong[0].lstrip('-')}: the columns are {', '.join(names)}", of="sort")

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def _passing(self) -> bytearray:
        """Whether each row passes the filter."""
        count = len(self.data.ids)
        numbers: Sequence[int] = range(count)
        for term in terms(self.text):
            numbers = self._fitting(term, numbers)
        return _marked(numbers, count)

    @cached_property
    def order(self) -> list[int]:
        """Positions of the rows that pass the filter, in sort order; those of a group follow each other."""
        return [*chain(*self.groups.values())] if self.grouped else self._ordered()

    def _ordered(self) -> list[int]:
        passing = self._passing
        order = [number for number in self.data.order if passing[number]]
        for name in reversed(self.sorted):
            if (index := self._place(name.lstrip("-"))) is not None:
                order = self._in_order(order, index, name.startswith("-"))
        return order

    @cached_property
    def groups(self) -> dict[str, list[int]]:
        """Positions of the rows of each group that pass the filter, by the key of the group."""
        groups = defaultdict[str, list[int]](list)
        if (index := self._place(self.grouped)) is None:
            return groups
        cells: Sequence[Any] = self.data.cells[index]
        if self.data.columns[index].kind in ("time", "wall"):
            times = milliseconds(cells)
            size = _period(at // _HOUR for at in set(compress(times, self._passing)) if at is not None)
            keys = ["" if at is None else _hour(at // _HOUR)[:size] for at in times]
        else:
            texts = {value: visible(plain(value), _LONGEST) for value in set(cells)}
            keys = [texts[value] for value in cells]
        for number in self._ordered():
            groups[keys[number]].append(number)
        first = self.sorted[0] if self.sorted else ""
        by = self._place(first.lstrip("-")) if first else None
        one_currency = (
            self._only_currency or len({_code(code) for code in set(compress(self._codes, self._passing))}) == 1
        )
        if by is not None and self.data.columns[by].kind == "money" and one_currency:
            amounts = self.data.cells[by]
            totals = {
                key: sum(_cents(amounts[number]) for number in self._moving(numbers)) for key, numbers in groups.items()
            }
            return {key: groups[key] for key in sorted(groups, key=totals.__getitem__, reverse=first[0] == "-")}
        return dict(groups)

    @cached_property
    def lines(self) -> list[int]:
        """What the page shows from top to bottom: positions of rows, and for each group -1 minus its number."""
        if not self.grouped:
            return self.order
        lines = []
        for place, (key, numbers) in enumerate(self.groups.items()):
            lines += [-1 - place, *(numbers if key in self.unfolded else ())]
        return lines

    def numbers(self, places: Iterable[int]) -> list[int]:
        """Return the positions of the rows at some lines; a folded group has all of its rows."""
        groups = [*self.groups.items()] if self.grouped else []
        numbers = list[int]()
        for line in (self.lines[place] for place in places):
            if line >= 0:
                numbers.append(line)
            elif groups[-1 - line][0] not in self.unfolded:
                numbers += groups[-1 - line][1]
        return numbers

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Rows that pass the filter, in sort order."""
        cells = self.data.cells
        return [tuple(column[number] for column in cells) for number in self.order]

    @property
    def ids(self) -> list[str]:
        """Ids of the rows that pass the filter."""
        return [self.data.ids[number] for number in self.order]

    def _place(self, name: str) -> int | None:
        wanted = name.lower().replace(" ", "_")
        for test in (str.__eq__, str.startswith, str.__contains__):
            for index, column in enumerate(self.data.columns):
                if test(column.name, wanted) or test(column.label.lower().replace(" ", "_"), wanted):
                    return index
        return None

    def _in_order(self, order: list[int], index: int, descending: bool) -> list[int]:
        cells: Sequence[Any] = self.data.cells[index]
        values: Sequence[Any] = cells.stored if isinstance(cells, Times) else cells
        if self.data.columns[index].to and (names := self.data.names):
            values = [names.get(value, value) for value in values]
        given = [number for number in order if values[number] is not None]
        try:
            given.sort(key=values.__getitem__, reverse=descending)
        except TypeError:  # values of several types
            given.sort(key=lambda number: plain(values[number]), reverse=descending)
        return given + [number for number in order if values[number] is None]

    def _fitting(self, term: Term, numbers: Sequence[int]) -> list[int]:
        index = None if term.column is None else self._place(term.column)
        if index is None:
            text = term.value if term.column is None else f"{term.column}{term.compare}{term.value}".lower()
            searched = self.searched
            return [number for number in numbers if text in searched[number]]
        cells: Sequence[Any] = self.data.cells[index]
        kind = self.data.columns[index].kind
        if term.compare == ":":
            shown = self._texts(index)
            return [number for number in numbers if term.value in shown[number]]
        compare, wanted = _COMPARE[term.compare], _number(term.value)
        if kind in ("time", "wall"):
            return _fitting_times(milliseconds(cells), numbers, compare, term.value)
        if kind not in ("money", "number"):
            texts = {value: plain(value).lower() for value in set(cells)}
            fitting = {value for value, text in texts.items() if text and compare(text, term.value)}
        elif wanted is None:
            return []
        else:
            wanted *= 100 if kind == "money" else 1
            limit = int(wanted) if wanted == int(wanted) else wanted  # integers compare fast
            known = ((value, value if type(value) is int else _number(value)) for value in set(cells))
            fitting = {value for value, amount in known if amount is not None and compare(amount, limit)}
        return [number for number in numbers if cells[number] in fitting]

    def _texts(self, index: int) -> list[str]:
        """Return the searchable text of each cell of a column; cells that are equal are written once."""
        cells: Sequence[Any] = self.data.cells[index]
        kind, texts = self.data.columns[index].kind, dict[Any, str]()
        if kind == "money":
            pairs = list(zip(cells, self._codes, strict=True))
            texts = {pair: self._shown(*pair, index).lower() for pair in set(pairs)}
            return [texts[pair] for pair in pairs]
        if isinstance(cells, Times):
            return ["" if at is None else f"{_hour(at // _HOUR)}{_minutes(at)} utc" for at in cells.stored]
        texts = {value: self._shown(value, None, index).lower() for value in set(cells)}
        return [texts[value] for value in cells]

    @cached_property
    def searched(self) -> list[str]:
        """Searchable text of each row."""
        return ["\x1f".join(texts) for texts in zip(*map(self._texts, range(len(self.data.columns))), strict=True)]

    def prepare(self) -> None:
        """Compute what searches and summaries of many rows need in the background, before a person types."""
        data = self.data
        if self._prepared or len(data.ids) <= _MANY:
            return
        self._prepared = True

        def compute() -> None:
            of_data = Listing(self.name, lambda: data)
            derived = {"searched": of_data.searched, "_coded": of_data._coded}
            of_data.summary()
            with self._reading:
                if self._data is data:  # it was not read again meanwhile
                    self.__dict__.update(derived)

        threading.Thread(target=compute, daemon=True).start()

    def _shown(self, value: object, code: str | None, index: int) -> str:
        """Return the text of a value as it is searched; an amount with its currency."""
        kind = self.data.columns[index].kind
        if type(value) is str:
            if kind == "status":
                return f"{value} {word(value)}"
            return f"{name} {value}" if kind == "id" and (name := self._name(value, index)) else value
        if kind == "money" and isinstance(value, int):
            return rendering.money(value, str(code or "USD"))
        return plain(value)

    def _name(self, value: str, index: int) -> str | None:
        return self.data.names.get(value) if self.data.columns[index].to else None

    def words(self, number: int, index: int) -> str:
        """Return the readable text of a cell."""
        value, kind = self.data.cells[index][number], self.data.columns[index].kind
        if isinstance(value, datetime):
            return value.astimezone(UTC).strftime("%d %b %Y").lstrip("0")
        if kind == "id" and value is not None:
            return self._name(value, index) or str(value)[:8]
        status = kind == "status" and value is not None
        return word(str(value)) if status else self._shown(value, self._codes[number], index)

    def window(self, first: int, count: int) -> list[dict[str, Any]]:
        """Return some rows as the page shows them: texts, with unprintable characters escaped."""
        numbers = self.lines[max(first, 0) : max(first, 0) + count]
        groups = [*self.groups.items()] if self.grouped else []
        return [
            {
                "id": self.data.ids[number],
                "new": self.data.ids[number] in self.fresh,
                "cells": [self.cell(number, index) for index in range(len(self.data.columns))],
            }
            if number >= 0
            else self._group_row(*groups[-1 - number])
            for number in numbers
        ]

    def _group_row(self, key: str, numbers: list[int]) -> dict[str, Any]:
        """Return a group as the page shows it: its value as a cell, the count and the subtotals by column."""
        index = self._place(self.grouped) or 0
        is_time = self.data.columns[index].kind in ("time", "wall")
        if key not in self._subtotals:
            self._subtotals[key] = {column.name: text for column, text in self._sums(numbers)}
        return {
            "group": key,
            "value": key if is_time else self.cell(numbers[0], index),
            "count": len(numbers),
            "sums": self._subtotals[key],
        }

    @cached_property
    def _subtotals(self) -> dict[str, dict[str, str]]:
        """The sums by column of the groups that were shown."""
        return {}

    def cell(self, number: int, index: int) -> Any:
        """Return a cell as the page shows it: a text, a status with its color, or an id with its label."""
        value, column = self.data.cells[index][number], self.data.columns[index]
        if value is None or value == "":
            return ""
        if column.kind == "status":
            return [status_cell(str(value)).text, look(str(value)).tone]
        if column.kind in ("time", "wall") and (text := things.iso(value)):
            return text
        if column.kind == "id" and (name := self._name(value, index)):
            return {"id": visible(value, _LONGEST), "name": visible(name, 80)}
        return visible(self._shown(value, self._codes[number], index), _LONGEST)

    def frame(self, numbers: Sequence[int] | None = None) -> Any:
        """Return the rows that pass the filter as a DataFrame, in sort order, or only those with some positions."""
        import pandas as pd

        numbers = self.order if numbers is None else numbers
        if self.data.frame is not None:
            return self.data.frame.iloc[numbers]
        columns = zip(self.data.columns, self.data.cells, strict=True)
        return pd.DataFrame({column.name: [cells[number] for number in numbers] for column, cells in columns})

    def shown(self) -> "Listing":
        """Return a list of the rows that pass the filter, in their order."""
        order, data = self.order, self.data
        cells = tuple([column[number] for number in order] for column in data.cells)
        ids, records = [data.ids[number] for number in order], [None] * len(order)
        part = attrs.evolve(data, cells=cells, ids=ids, things=records, times=(), frame=None)
        return Listing(self.name, lambda: part)

    def sums(self, places: Sequence[int] | None = None) -> list[list[str]]:
        """Return label and sum by currency of each amount column, over the filtered rows or those at some lines."""
        numbers = None if places is None else self.numbers(places)
        return [[column.label, text] for column, text in self._sums(numbers)]

    def _sums(self, numbers: Sequence[int] | None) -> Iterator[tuple[Column, str]]:
        """Yield each column of amounts with the sum by currency of some rows, or of those that pass the filter."""
        data, only = self.data, self._only_currency  # read on first use

        numbers = None if numbers is None else self._moving(numbers)

        def chosen(cells: Sequence[Any]) -> Iterator[Any]:
            return compress(cells, self._counted) if numbers is None else map(cells.__getitem__, numbers)

        if not (any(self._counted) if numbers is None else numbers):
            return
        codes = [] if only else list(chosen(self._codes))
        for place, column in enumerate(data.columns):
            if column.kind != "money":
                continue
            totals = Counter[str]()
            if only and place in self._integers:
                totals[only] = sum(chosen(data.cells[place]))
            else:
                by_code = Counter[str | None]()
                for code, cents in zip(codes or repeat(only), chosen(data.cells[place]), strict=False):
                    if type(cents) is int:
                        by_code[code] += cents
                for code, cents in by_code.items():
                    totals[_code(code)] += cents
            if totals:
                yield column, " + ".join(rendering.money(cents, code) for code, cents in sorted(totals.items()))

    def _moving(self, numbers: Sequence[int]) -> Sequence[int]:
        """Return the rows that are not declined: an amount that was declined is in no sum."""
        statuses = self.data.column("status")
        return [number for number in numbers if statuses[number] != "declined"]

    @cached_property
    def _counted(self) -> bytearray:
        """A byte for each row, which is 1 for those that pass the filter and were not declined."""
        if "declined" not in (statuses := self.data.column("status")):
            return self._passing
        return bytearray(map(and_, self._passing, (status != "declined" for status in statuses)))

    @cached_property
    def _only_currency(self) -> str:
        """The currency of all rows; empty if there are several."""
        codes = {_code(code) for code in set(self.data.column("currency"))}
        return codes.pop() if len(codes) == 1 else ""

    @cached_property
    def _integers(self) -> frozenset[int]:
        """Positions of the columns of amounts without a missing value."""
        columns = enumerate(zip(self.data.columns, self.data.cells, strict=True))
        return frozenset(
            at for at, (column, cells) in columns if column.kind == "money" and set(map(type, cells)) == {int}
        )

    def mean(self, places: Sequence[int]) -> str:
        """Return the mean of the first column of amounts of some rows; empty for several currencies or none."""
        amounts = next((at for at, column in enumerate(self.data.columns) if column.kind == "money"), None)
        if amounts is None:
            return ""
        counted = self._moving(self.numbers(places))
        known = [number for number in counted if type(self.data.cells[amounts][number]) is int]
        codes = {_code(self._codes[number]) for number in known}
        if len(codes) != 1:
            return ""
        total, count = sum(self.data.cells[amounts][number] for number in known), len(known)
        return rendering.money((2 * total + count) // (2 * count), codes.pop())

    def summary(self) -> dict[str, Any]:
        """Return the distribution of each column over the filtered rows: the number of missing values, and bars with
        label, count and filter terms.
        """
        import numpy as np

        columns: dict[str, Any] = {}
        passing = np.frombuffer(self._passing, dtype=np.bool_)
        for place, column in enumerate(self.data.columns):
            if place not in self._coded:
                self._coded[place] = _code_of(self.data.cells[place], column.kind)
            of, distinct = self._coded[place]
            counts = np.bincount(of[passing], minlength=len(distinct) + 1)
            missing, given = int(counts[-1]), counts[:-1]
            called = partial(self._called, place)
            columns[column.name] = {"missing": missing, "bars": bars(column, distinct, given, called)}
        return columns

    @cached_property
    def _coded(self) -> dict[int, tuple[Any, list[Any]]]:
        """The distinct values of columns that were summarized, and the position of each row's value among them."""
        return {}

    def _called(self, place: int, value: Any) -> str:
        name = self._name(value, place) if isinstance(value, str) else None
        return name or (word(value) if self.data.columns[place].kind == "status" else plain(value))

    def values(self, places: Sequence[int]) -> dict[str, Any]:
        """Return rows at some positions as values to copy; an amount as its minor units and number of decimal
        places.
        """
        shown = [(place, column) for place, column in enumerate(self.data.columns) if column.kind != "hidden"]

        def value(number: int, place: int, kind: str) -> Any:
            cell = self.data.cells[place][number]
            if kind == "money" and type(cell) is int:
                return [cell, minor_digits(_code(self._codes[number]))]
            if cell is None or cell == "":
                return None
            return things.iso(cell) or (cell if type(cell) is int else visible(plain(cell), _LONGEST))

        chosen = self.numbers(places)
        return {
            "columns": [{"name": column.name, "label": column.label, "kind": column.kind} for _, column in shown],
            "rows": [[value(number, place, column.kind) for place, column in shown] for number in chosen],
        }

    def to_file(self, path: str | Path, *, overwrite: bool = False) -> Any:
        """Write the rows that pass the filter, in their order, to a .csv, .xlsx or .parquet file.

        Raises:
            FileExistsError: The file exists, and `overwrite` is False.
            ValueError: The extension is unknown.
        """
        from workbench.analysis.tables.to_file import to_file

        return to_file(self.frame(), path, overwrite=overwrite)

    def python(self) -> str:
        """Return the Python code that recreates this view."""
        lines = [f"rows = wb.browse(api).open({self.name!r})"]
        if self.text:
            lines.append(f"rows.filter({self.text!r})")
        if self.sorted:
            lines.append(f"rows.sort({', '.join(map(repr, self.sorted))})")
        if self.grouped:
            lines.append(f"rows.group({self.grouped!r})")
        return "\n".join([*lines, "frame = rows.frame()"])


def _code(code: str | None) -> str:
    return str(code or "USD").upper()


def _cents(value: object) -> int:
    return value if type(value) is int else 0


def _marked(numbers: Sequence[int], count: int) -> bytearray:
    """Return a byte for each row, which is 1 for the rows with some numbers."""
    if isinstance(numbers, range):  # all of them
        return bytearray(b"\1") * count
    marked = bytearray(count)
    for number in numbers:
        marked[number] = 1
    return marked


_HOUR = 3_600_000  # milliseconds


@lru_cache(maxsize=20_000)
def _hour(number: int) -> str:
    """Return the text of an hour, by its number since 1970: `2026-01-31 23`."""
    return str(_EPOCH + timedelta(hours=number))[:13]


def _minutes(at: int) -> str:
    """Return minutes and seconds of a time in milliseconds: `:59:58`."""
    minute, second = divmod(at % _HOUR // 1000, 60)
    return f":{minute:02d}:{second:02d}"


def milliseconds(cells: Sequence[Any]) -> Sequence[int | None]:
    """Return times as milliseconds since 1970; None for what is not a time."""
    if isinstance(cells, Times):
        return cells.stored
    return [int(at.timestamp() * 1000) if isinstance(at, datetime) else None for at in cells]


def _fitting_times(
    times: Sequence[int | None], numbers: Iterable[int], compare: Callable[[Any, Any], Any], wanted: str
) -> list[int]:
    """Return the rows whose times compare with a text: `2026-01` covers the month. Texts sort as the times do."""
    known = [at for at in times if at is not None]
    if not known:
        return []
    span = range(min(known), max(known) + 1)

    def text(at: int) -> str:
        return f"{_hour(at // _HOUR)}{_minutes(at)} utc"[: len(wanted)]

    first = span.start + bisect_left(span, wanted, key=text)
    after = span.start + bisect_right(span, wanted, key=text)
    fits = [compare(side, 0) for side in (-1, 0, 1)]  # before, within and after the text
    return [
        number
        for number in numbers
        if (at := times[number]) is not None and fits[0 if at < first else 1 if at < after else 2]
    ]


_BINS = 8
_DIGITS = 6  # decimal places of the limits of bins
_COMMON = 6  # the most frequent texts
_MOST_PERIODS = 31
_PERIODS = (13, 10, 7, 4)  # hours, days, months, years, by the length of their text


def _code_of(cells: Sequence[Any], kind: str) -> tuple[Any, list[Any]]:
    """Return the position of each cell among the distinct values, which are hours of times and numbers in order.

    Cells without a value have the position after the last one.
    """
    import numpy as np

    values: Sequence[Any] = cells
    if kind in ("time", "wall"):
        values = [None if at is None else at // _HOUR for at in milliseconds(cells)]
    elif kind in ("money", "number"):
        values = [value if type(value) is int else _number(value) for value in cells]
    given = dict.fromkeys(values)
    given.pop(None, None)
    given.pop("", None)
    distinct = sorted(given) if values is not cells else list(given)
    position = {value: place for place, value in enumerate(distinct)} | {None: len(distinct), "": len(distinct)}
    return np.fromiter(map(position.__getitem__, values), dtype=np.int32, count=len(values)), distinct


def bars(column: Column, distinct: Sequence[Any], counts: Any, called: Callable[[Any], str]) -> list[dict[str, Any]]:
    """Return the distribution of a column: label, count, and filter terms of each bar.

    Args:
        distinct: The distinct values: hours of times since 1970, numbers in order.
        counts: How often each occurs.
    """
    present = counts.nonzero()[0]
    if not len(present):
        return []
    if column.kind in ("money", "number"):
        return _bins(column.name, [distinct[place] for place in present], counts[present], column.kind)
    if 1 < len(present) == counts.sum() and column.kind not in ("time", "wall"):
        return []
    common = {distinct[place]: int(counts[place]) for place in present}
    if column.kind in ("time", "wall"):
        size = _period(common)
        periods = Counter[str]()
        for hour, count in common.items():
            periods[_hour(hour)[:size]] += count
        return [
            {"label": text, "count": periods[text], "filter": [f'{column.name}="{text}"']} for text in sorted(periods)
        ]
    ordered = sorted(common.items(), key=lambda item: (-item[1], plain(item[0])))[:_COMMON]
    return [
        {
            "label": visible(called(value), 80),
            "count": count,
            "filter": [] if '"' in plain(value) else [f'{column.name}="{plain(value)}"'],
        }
        for value, count in ordered
    ]


def _period(hours: Iterable[int]) -> int:
    """Return the length of the text of the periods of some hours: hours, days or months if they are few, or years."""
    texts = set(map(_hour, hours))
    return next((size for size in _PERIODS if len({text[:size] for text in texts}) <= _MOST_PERIODS), _PERIODS[-1])


def _bins(name: str, numbers: Sequence[int | Decimal], counts: Any, kind: str) -> list[dict[str, Any]]:
    """Return numbers, given in order, in bins of equal width; amounts are in cents, bin limits in dollars."""
    digits = 2 if kind == "money" else min(_DIGITS, max(_decimals(number) for number in numbers))
    units = numbers if kind == "money" else [int(number * 10**digits) for number in numbers]
    upto = counts.cumsum()
    high = int(units[upto.searchsorted(int(upto[-1]) * 19 // 20, side="right")])  # the last bin has the rest, too
    low = int(units[0])
    step = max(1, -(-(high - low + 1) // _BINS))
    ends = [bisect_left(units, low + place * step) for place in range(_BINS)]
    before = [int(upto[end - 1]) if end else 0 for end in ends] + [int(upto[-1])]
    limits = [plain(Decimal(low + place * step).scaleb(-digits)) for place in range(_BINS)]
    return [
        {
            "label": f"{start} to {end}" if end else f"{start} and more",
            "count": before[place + 1] - before[place],
            "filter": [f"{name}>={start}", *([f"{name}<{end}"] if end else ())],
        }
        for place, (start, end) in enumerate(zip(limits, [*limits[1:], None], strict=True))
    ]


def _decimals(number: int | Decimal) -> int:
    return 0 if isinstance(number, int) else max(0, -int(number.normalize().as_tuple().exponent))


def _number(value: object) -> Decimal | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = Decimal(str(value).replace(",", ""))
    except ArithmeticError:
        return None
    return number if number.is_finite() else None


def plain(value: object) -> str:
    """Return the text by which a value is searched and compared."""
    if isinstance(value, datetime):
        return f"{str(value.astimezone(UTC))[:19]} UTC"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return "" if value is None else str(value)


_PICKED: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "card_id": ("cards", "", ("card", "user_id", "status")),
    "transaction_id": ("transactions", "", ("merchant_name", "amount_cents", "status", "authorized_at")),
    "user_id": ("users", "kind=user", ("name", "application_status", "external_id")),
    "ubo_id": ("users", "kind=owner", ("name", "application_status", "company_id")),
    "company_id": ("companies", "", ("name", "application_status")),
    "payment_account_id": ("payment accounts", "", ("nickname", "type", "user_id")),
    "dispute_id": ("disputes", "", ("transaction_id", "status", "created")),
}  # argument → list, filter, columns
_MOST = 1_000  # choices of an argument, the newest


def choices(api: object, member: str) -> dict[str, Any]:
    """Return the known values of an argument, newest first, by label: "J. M., approved (00faad0d)".

    They come from the sandbox, the journal and the inbox; nothing is sent to the service.
    """
    try:
        if member in ("token", "chain_id"):
            return {label: token if member == "token" else chain for label, token, chain in things.tokens(api, member)}
        kind, wanted, names = _PICKED.get(member, ("", "", ()))
        if not kind:
            return {}
        listing = Listing(kind, lambda: things.KINDS[kind](api))
        listing.filter(wanted)
        columns = [column.name for column in listing.data.columns]
        places = [columns.index(name) for name in names if name in columns]
        options = {}
        for number, key in zip(listing.order[:_MOST], listing.ids, strict=False):
            text = ", ".join(filter(None, (listing.words(number, index) for index in places)))
            options[visible(f"{text} ({key[:8]})", 160)] = key
        return options
    except WorkbenchError:  # a sandbox in another process that is gone; the form says so when it sends
        return {}
