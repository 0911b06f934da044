"""A list of the panel: the kernel searches, filters, sorts and exports rows; the page shows a window of them."""

import gc
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, partial
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from workbench import rendering
from workbench.errors import UsageError, WorkbenchError, visible
from workbench.panel import lists as things
from workbench.panel.lists import Column, Rows
from workbench.renamed import former_members
from workbench.rendering.design import look, word
from workbench.rendering.text import minor_digits, status_cell

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

    if not TYPE_CHECKING:  # a type checker would accept any name
        __getattr__ = former_members("a", "listing")

    def __init__(self, name: str, load: Callable[[], Rows]) -> None:
        self.name = name
        self.text = ""
        """The filter."""
        self.sorted: tuple[str, ...] = ()
        """The columns of the order; a "-" before a name descends."""
        self.fresh: frozenset[str] = frozenset()
        """The ids that the last reading found for the first time."""
        self._load = load
        self._data: Rows | None = None
        self._currency: int | None = None  # the place of its column
        self._prepared = False  # whether the texts that are searched are made, or are being made

    @property
    def data(self) -> Rows:
        """All rows, read on first use."""
        return self._data or self.read()

    @property
    def is_read(self) -> bool:
        """Whether the rows were read."""
        return self._data is not None

    def read(self) -> Rows:
        """Read the rows again and return them; filter and order are unchanged."""
        with _uncollected():
            before, self._data = self._data, self._load()
        self._prepared = False
        self.fresh = frozenset() if before is None else frozenset(self._data.ids) - frozenset(before.ids)
        for name in ("searched", "order", "_columns"):
            self.__dict__.pop(name, None)
        self._currency = next(
            (index for index, column in enumerate(self._data.columns) if column.name == "currency"), None
        )
        return self._data

    def filter(self, text: str) -> None:
        """Show only rows that match every term of a filter.

        Args:
            text: Words to find in any column, and comparisons with one column, such as `status:declined amount>200`;
                quote text with spaces. Money is compared in dollars, times by their ISO text.
        """
        self.text = text
        self.__dict__.pop("order", None)

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
        names = [column.name for column in self.data.columns]
        wrong = [column for column in columns if column.lstrip("-") not in names]
        if wrong:
            raise UsageError(f"{wrong[0].lstrip('-')}: the columns are {', '.join(names)}", of="sort")
        self.sorted = columns
        self.__dict__.pop("order", None)

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def order(self) -> list[int]:
        """Positions of the rows that pass the filter, in sort order."""
        order = list(range(len(self.data.rows)))
        for term in terms(self.text):
            order = self._fitting(term, order)
        for name in reversed(self.sorted):
            if (index := self._place(name.lstrip("-"))) is not None:
                order = self._in_order(order, index, name.startswith("-"))
        return order

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Rows that pass the filter, in sort order."""
        return [self.data.rows[number] for number in self.order]

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
        names = self.data.names if self.data.columns[index].to else {}
        values = [names.get(row[index], row[index]) if names else row[index] for row in self.data.rows]
        given = [number for number in order if values[number] is not None]
        try:
            given.sort(key=values.__getitem__, reverse=descending)
        except TypeError:  # values of several types
            given.sort(key=lambda number: plain(values[number]), reverse=descending)
        return given + [number for number in order if values[number] is None]

    def _fitting(self, term: Term, numbers: Iterable[int]) -> list[int]:
        index = None if term.column is None else self._place(term.column)
        if index is None:
            text = term.value if term.column is None else f"{term.column}{term.compare}{term.value}".lower()
            searched = self.searched
            return [number for number in numbers if text in searched[number]]
        rows, column = self.data.rows, self.data.columns[index]
        if term.compare == ":":
            return [number for number in numbers if term.value in self._shown(rows[number], index).lower()]
        compare = _COMPARE[term.compare]
        if column.kind in ("money", "number"):
            wanted = _number(term.value)
            if wanted is None:
                return []
            if column.kind == "money":
                wanted *= 100
            values = ((number, _number(rows[number][index])) for number in numbers)
            return [number for number, value in values if value is not None and compare(value, wanted)]
        size = len(term.value) if column.kind in ("time", "wall") else None  # 2026-01 covers the month
        texts = ((number, plain(rows[number][index]).lower()[:size]) for number in numbers)
        return [number for number, value in texts if value and compare(value, term.value)]

    @cached_property
    def searched(self) -> list[str]:
        """Searchable text of each row."""
        places = range(len(self.data.columns))
        return ["\x1f".join([self._shown(row, index) for index in places]).lower() for row in self.data.rows]

    def prepare(self) -> None:
        """Compute the searchable texts of many rows in the background, before a person types."""
        if not self._prepared and len(self.data.rows) > _MANY:
            self._prepared = True
            threading.Thread(target=lambda: self.searched, daemon=True).start()

    def _shown(self, row: Sequence[Any], index: int) -> str:
        value = row[index]
        if type(value) is str:
            kind = self.data.columns[index].kind
            if kind == "status":
                return f"{value} {word(value)}"
            return f"{name} {value}" if kind == "id" and (name := self._name(value, index)) else value
        if self.data.columns[index].kind == "money" and isinstance(value, int):
            code = None if self._currency is None else row[self._currency]
            return rendering.money(value, str(code or "USD"))
        return plain(value)

    def _name(self, value: str, index: int) -> str | None:
        return self.data.names.get(value) if self.data.columns[index].to else None

    def words(self, row: Sequence[Any], index: int) -> str:
        """Return the readable text of a cell."""
        value, kind = row[index], self.data.columns[index].kind
        if isinstance(value, datetime):
            return value.astimezone(UTC).strftime("%d %b %Y").lstrip("0")
        if kind == "id" and value is not None:
            return self._name(value, index) or str(value)[:8]
        return word(str(value)) if kind == "status" and value is not None else self._shown(row, index)

    def window(self, first: int, count: int) -> list[dict[str, Any]]:
        """Return some rows as the page shows them: texts, with unprintable characters escaped."""
        numbers = self.order[max(first, 0) : max(first, 0) + count]
        return [
            {
                "id": self.data.ids[number],
                "new": self.data.ids[number] in self.fresh,
                "cells": [self.cell(self.data.rows[number], index) for index in range(len(self.data.columns))],
            }
            for number in numbers
        ]

    def cell(self, row: Sequence[Any], index: int) -> Any:
        """Return a cell as the page shows it: a text, a status with its color, or an id with its label."""
        value, column = row[index], self.data.columns[index]
        if value is None or value == "":
            return ""
        if column.kind == "status":
            return [status_cell(str(value)).text, look(str(value)).tone]
        if column.kind in ("time", "wall") and (text := things.iso(value)):
            return text
        if column.kind == "id" and (name := self._name(value, index)):
            return {"id": visible(value, _LONGEST), "name": visible(name, 80)}
        return visible(self._shown(row, index), _LONGEST)

    def frame(self, places: Sequence[int] | None = None) -> Any:
        """Return the rows that pass the filter as a DataFrame, in sort order, or only those at some positions."""
        import pandas as pd

        numbers = self.order if places is None else [self.order[place] for place in places]
        if self.data.frame is not None:
            return self.data.frame.iloc[numbers]
        rows = [self.data.rows[number] for number in numbers]
        return pd.DataFrame(rows, columns=[column.name for column in self.data.columns])

    def sums(self, places: Sequence[int] | None = None) -> list[list[str]]:
        """Return label and sum by currency of each amount column, over the filtered rows or those at some positions."""
        numbers = self.order if places is None else [self.order[place] for place in places]
        codes = self._cells(self._currency, numbers) if self._currency is not None else [None]
        several = set(codes)
        sums = []
        for place, column in enumerate(self.data.columns):
            if column.kind != "money":
                continue
            cells, totals = self._cells(place, numbers), Counter[str]()
            for code in several:
                amounts = cells if len(several) == 1 else [c for c, of in zip(cells, codes, strict=True) if of == code]
                if known := [cents for cents in amounts if type(cents) is int]:
                    totals[str(code or "USD").upper()] += sum(known)
            if totals:
                shown = (rendering.money(cents, code) for code, cents in sorted(totals.items()))
                sums.append([column.label, " + ".join(shown)])
        return sums

    def mean(self, places: Sequence[int]) -> str:
        """Return the mean of the first column of amounts of some rows; empty for several currencies or none."""
        first = next((place for place, column in enumerate(self.data.columns) if column.kind == "money"), None)
        rows = [self.data.rows[self.order[place]] for place in places]
        known = [(row[first], self._code(row)) for row in rows if first is not None and type(row[first]) is int]
        if len({code for _, code in known}) != 1:
            return ""
        total, count = sum(cents for cents, _ in known), len(known)
        return rendering.money((2 * total + count) // (2 * count), known[0][1])

    @cached_property
    def _columns(self) -> list[tuple[Any, ...]]:
        return list(zip(*self.data.rows, strict=True)) or [()] * len(self.data.columns)

    def _cells(self, place: int, numbers: Sequence[int]) -> Sequence[Any]:
        column = self._columns[place]
        return column if len(numbers) == len(column) else [column[number] for number in numbers]

    def _code(self, row: Sequence[Any]) -> str:
        return str((None if self._currency is None else row[self._currency]) or "USD").upper()

    def summary(self) -> dict[str, Any]:
        """Return the distribution of each column over the filtered rows: the number of missing values, and bars with
        label, count and filter terms.
        """
        columns: dict[str, Any] = {}
        for place, column in enumerate(self.data.columns):
            values = self._cells(place, self.order)
            known = [value for value in values if value is not None and value != ""]
            called = partial(self._called, place)
            columns[column.name] = {"missing": len(values) - len(known), "bars": bars(column, known, called)}
        return columns

    def _called(self, place: int, value: Any) -> str:
        name = self._name(value, place) if isinstance(value, str) else None
        return name or (word(value) if self.data.columns[place].kind == "status" else plain(value))

    def values(self, places: Sequence[int]) -> dict[str, Any]:
        """Return rows at some positions as values to copy; an amount as its minor units and number of decimal
        places.
        """
        shown = [(place, column) for place, column in enumerate(self.data.columns) if column.kind != "hidden"]

        def value(row: Sequence[Any], place: int, kind: str) -> Any:
            cell = row[place]
            if kind == "money" and type(cell) is int:
                return [cell, minor_digits(self._code(row))]
            if cell is None or cell == "":
                return None
            return things.iso(cell) or (cell if type(cell) is int else visible(plain(cell), _LONGEST))

        chosen = [self.data.rows[self.order[place]] for place in places]
        return {
            "columns": [{"name": column.name, "label": column.label, "kind": column.kind} for _, column in shown],
            "rows": [[value(row, place, column.kind) for place, column in shown] for row in chosen],
        }

    def to_file(self, path: str | Path, *, overwrite: bool = False) -> Any:
        """Write the rows that pass the filter, in their order, to a .csv, .xlsx or .parquet file.

        Raises:
            FileExistsError: The file exists, and `overwrite` is False.
            ValueError: The extension is unknown.
        """
        from workbench.tables.frames import to_file

        return to_file(self.frame(), path, overwrite=overwrite)

    def python(self) -> str:
        """Return the Python code that recreates this view."""
        lines = [f"rows = wb.browse(api).open({self.name!r})"]
        if self.text:
            lines.append(f"rows.filter({self.text!r})")
        if self.sorted:
            lines.append(f"rows.sort({', '.join(map(repr, self.sorted))})")
        return "\n".join([*lines, "frame = rows.frame()"])


_BINS = 8
_SAMPLE = 1_000  # values that decide where the last bin begins
_DIGITS = 6  # decimal places of the limits of bins
_COMMON = 6  # the most frequent texts
_MOST_PERIODS = 31
_PERIODS = (13, 10, 7, 4)  # hours, days, months, years, by the length of their text


def bars(column: Column, values: Sequence[Any], called: Callable[[Any], str]) -> list[dict[str, Any]]:
    """Return the distribution of a column's values: label, count, and filter terms of each bar."""
    if not values:
        return []
    name = column.name
    if column.kind in ("money", "number"):
        numbers = [value if type(value) is int else _number(value) for value in values]
        return _bins(name, [number for number in numbers if number is not None], column.kind)
    if column.kind in ("time", "wall"):
        counts = _hours(values)
        for size in _PERIODS:
            counts = _shorter(counts, size)
            if len(counts) <= _MOST_PERIODS:
                break
        return [{"label": text, "count": counts[text], "filter": [f'{name}="{text}"']} for text in sorted(counts)]
    common = Counter(values)
    if 1 < len(common) == len(values):
        return []
    ordered = sorted(common.items(), key=lambda item: (-item[1], plain(item[0])))[:_COMMON]
    return [
        {
            "label": visible(called(value), 80),
            "count": count,
            "filter": [] if '"' in plain(value) else [f'{name}="{plain(value)}"'],
        }
        for value, count in ordered
    ]


def _hours(values: Sequence[Any]) -> Counter[str]:
    """Return the number of times in each hour, by its text."""
    times = (at if at.tzinfo is UTC else at.astimezone(UTC) for at in values if isinstance(at, datetime))
    hours: Counter[str] = Counter()
    for (year, month, day, hour), count in Counter((at.year, at.month, at.day, at.hour) for at in times).items():
        hours[f"{year:04d}-{month:02d}-{day:02d} {hour:02d}"] += count
    return hours


def _shorter(counts: Counter[str], size: int) -> Counter[str]:
    shorter: Counter[str] = Counter()
    for text, count in counts.items():
        shorter[text[:size]] += count
    return shorter


def _bins(name: str, numbers: Sequence[int | Decimal], kind: str) -> list[dict[str, Any]]:
    """Return numbers in bins of equal width; amounts are in cents, bin limits in dollars."""
    if not numbers:
        return []
    digits = 2 if kind == "money" else min(_DIGITS, max(_decimals(number) for number in numbers))
    units = numbers if kind == "money" else [int(number * 10**digits) for number in numbers]
    sample = sorted(int(unit) for unit in units[:: max(1, len(units) // _SAMPLE)])
    low, high = int(min(units)), sample[(len(sample) * 19) // 20]  # the last bin has the largest twentieth, too
    step = max(1, -(-(high - low + 1) // _BINS))
    counts = Counter(min(_BINS - 1, int(unit - low) // step) for unit in units)
    limits = [plain(Decimal(low + place * step).scaleb(-digits)) for place in range(_BINS)]
    ends: list[str | None] = [*limits[1:], None]
    return [
        {
            "label": f"{start} to {end}" if end else f"{start} and more",
            "count": counts[place],
            "filter": [f"{name}>={start}", *([f"{name}<{end}"] if end else ())],
        }
        for place, (start, end) in enumerate(zip(limits, ends, strict=True))
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
        for row, key in zip(listing.rows[:_MOST], listing.ids, strict=False):
            text = ", ".join(filter(None, (listing.words(row, index) for index in places)))
            options[visible(f"{text} ({key[:8]})", 160)] = key
        return options
    except WorkbenchError:  # a sandbox in another process that is gone; the form says so when it sends
        return {}
