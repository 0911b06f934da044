"""A table in pages: the rows stay in the kernel, the browser holds one page, sorting and filtering cover all rows."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from types import NoneType
from typing import Any

import ipywidgets

from workbench import rendering
from workbench.errors import visible
from workbench.forms.widgets import button, row, sentence
from workbench.rendering.markup import chip, isolated
from workbench.rendering.palette import LOOKS, look, word

PAGE_SIZE = 12
_NOT_IN_CLASS = re.compile("[^A-Za-z0-9]+")  # characters that a CSS class cannot have
_MIN_ID, _MAX = 11, 38  # characters: least width of a column of ids, greatest of any column
_WORD = 14  # words up to this length are not broken
_DETAILS = "5em"  # width of the button


class Pager:
    """Rows of plain values in named columns.

    Args:
        opened: Called with the number of the row that a person opens; without it rows cannot be opened.
        page: Rows on a page.
    """

    def __init__(
        self, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, opened: Callable[[int], None] | None = None,
        page: int = PAGE_SIZE,
    ) -> None:  # fmt: skip
        self.columns = tuple(columns)
        self.rows = [tuple(row) for row in rows]
        self.order = list(range(len(self.rows)))
        self.page = 0
        self._size = page
        self._opened = opened
        self._sorted: tuple[int, bool] | None = None
        self._texts: list[str] | None = None
        self._build()
        self.show()

    @property
    def pages(self) -> int:
        """The number of pages."""
        return max(1, -(-len(self.order) // self._size))

    def sort(self, column: str, *, descending: bool = False) -> None:
        """Sort by a column; rows without a value come last."""
        self._sorted = (self.columns.index(column), descending)
        self._arrange()

    def filter(self, text: str) -> None:
        """Show only rows that contain every word of the text in some column."""
        if self.filter_box.value != text:
            self.filter_box.value = text  # its observer applies it
            return
        self._arrange()

    def like(self, other: "Pager") -> None:
        """Sort and filter as another pager, and show the same page."""
        if other._sorted is not None:
            name = other.columns[other._sorted[0]]
            self._sorted = (self.columns.index(name), other._sorted[1]) if name in self.columns else None
        page = other.page
        self.filter(other.filter_box.value)
        self.go(page)

    def go(self, page: int) -> None:
        """Show a page by its number, from 0."""
        self.page = min(max(page, 0), self.pages - 1)
        self.show()

    def view(self) -> list[tuple[Any, ...]]:
        """Return all rows that pass the filter, in the order shown."""
        return [self.rows[number] for number in self.order]

    def _arrange(self) -> None:
        words = self.filter_box.value.lower().split()
        numbers: Iterable[int] = range(len(self.rows))
        if words:
            texts = self._searched()
            for text in words:
                numbers = [number for number in numbers if text in texts[number]]
        self.order = list(numbers)
        if self._sorted is not None:
            place, descending = self._sorted
            given = [number for number in self.order if self.rows[number][place] is not None]
            empty = [number for number in self.order if self.rows[number][place] is None]
            try:
                given.sort(key=lambda number: self.rows[number][place], reverse=descending)
            except TypeError:  # values of several types
                given.sort(key=lambda number: plain(self.rows[number][place]), reverse=descending)
            self.order = given + empty
        self.go(0)

    def _searched(self) -> list[str]:
        if self._texts is None:
            self._texts = ["\x1f".join([plain(value) for value in row]).lower() for row in self.rows]
        return self._texts

    def _build(self) -> None:
        self.filter_box = ipywidgets.Text(
            description="Filter", placeholder="words in any column", continuous_update=False
        )
        self.filter_box.add_class("wb-filter").observe(lambda _: self._arrange(), "value")
        self.count = ipywidgets.HTML().add_class("wb-count")
        names = ("first", "previous", "next", "last")
        buttons = [button(sentence(name), partial(self._turn, name), f"wb-{name}") for name in names]
        self.column_widths = self._measured()
        """The grid template of a row."""
        self._heads = [self._head(name) for name in self.columns]
        head = ipywidgets.GridBox([ipywidgets.HTML(), *self._heads]).add_class("wb-grid-head")
        head.layout.grid_template_columns = f"{_DETAILS if self._opened else '0'} {self.column_widths}"
        self.lines = [self._line(place) for place in range(min(self._size, max(1, len(self.rows))))]
        body = ipywidgets.VBox([head, *(box for box, _ in self.lines)]).add_class("wb-scroll").add_class("wb-table")
        self.widget = ipywidgets.VBox([row(self.filter_box, *buttons, self.count), body]).add_class("wb-pager")

    def _turn(self, name: str) -> None:
        self.go({"first": 0, "previous": self.page - 1, "next": self.page + 1, "last": self.pages - 1}[name])

    def _measured(self) -> str:
        """Return the grid template: shares by content; ids are never cut, they wrap."""
        shares = []
        for place, name in enumerate(self.columns):
            texts = [rendering.label(name), *(plain(one[place]) for one in self.rows[:200])]
            words = [word for text in texts for word in text.split()]
            least = max([*(len(word) for word in words if len(word) <= _WORD), 3]) + 1
            if any(len(word) > _WORD for word in words):
                least = max(least, _MIN_ID)
            shares.append(f"minmax({least}ch, {min(max(map(len, texts)) + 2, _MAX)}fr)")
        return " ".join(shares)

    def _head(self, name: str) -> Any:
        place, label = self.columns.index(name), rendering.label(name)

        def clicked() -> None:
            self.sort(name, descending=self._sorted == (place, False))

        return button(label, clicked, f"wb-sort-{_NOT_IN_CLASS.sub('-', name)}", f"Sort by {label}")

    def _line(self, offset: int) -> tuple[Any, Any]:
        cells = ipywidgets.HTML().add_class("wb-line")
        parts = [button("Details", lambda: self.open(offset), "wb-open"), cells] if self._opened else [cells]
        box = ipywidgets.GridBox(parts).add_class("wb-grid-row")
        box.layout.grid_template_columns = f"{_DETAILS} minmax(0, 1fr)" if self._opened else "minmax(0, 1fr)"
        return box, cells

    def open(self, offset: int) -> None:
        """Open a row of the page in view, by its place on the page."""
        place = self.page * self._size + offset
        if self._opened is not None and place < len(self.order):
            self._opened(self.order[place])

    def show(self) -> None:
        """Put the page in view into the widgets."""
        first = self.page * self._size
        for place, (box, cells) in enumerate(self.lines, first):
            there = place < len(self.order)
            box.layout.display = None if there else "none"
            cells.value = self._cells(self.rows[self.order[place]]) if there else ""
        for place, head in enumerate(self._heads):
            down = self._sorted[1] if self._sorted is not None and self._sorted[0] == place else None
            mark = {None: "", True: " ▼", False: " ▲"}[down]
            head.description = sentence(rendering.label(self.columns[place])) + mark
        total = f"{len(self.order):,} rows" + (f" of {len(self.rows):,}" if len(self.order) != len(self.rows) else "")
        text = f"{total}, page {self.page + 1:,} of {self.pages:,}"
        self.count.value = f'<span class="wb-quiet" role="status">{text}</span>'

    def _cells(self, values: Sequence[Any]) -> str:
        cells = "".join(_cell(value, name) for value, name in zip(values, self.columns, strict=True))
        return f'<div class="wb-cells" role="row" style="grid-template-columns:{self.column_widths}">{cells}</div>'


def _moment(value: datetime) -> str:
    if value.tzinfo is UTC and not value.microsecond:
        return f"{str(value)[:19]} UTC"  # as rendering.moment, but ten times as fast
    return rendering.moment(value)


def _number(value: Decimal) -> str:
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


_PLAIN: Mapping[type[Any], Callable[[Any], str]] = {
    str: str, int: str, NoneType: lambda _: "", bool: lambda value: "yes" if value else "no",
    Decimal: _number, datetime: _moment, date: date.isoformat,
}  # fmt: skip


def plain(value: Any) -> str:
    """Return a value as the text that is searched and shown."""
    write = _PLAIN.get(type(value))
    if write is not None:
        return write(value)
    return _moment(value) if isinstance(value, datetime) else str(value)


def _cell(value: Any, name: str) -> str:
    text = visible(plain(value), 500)
    if name.rpartition(".")[2] in ("status", "application_status", "outcome", "confidence") and text in LOOKS:
        return f'<div role="cell">{chip(f"{look(text).mark} {word(text)}", text)}</div>'
    number = ' class="wb-number"' if isinstance(value, int | Decimal) and not isinstance(value, bool) else ""
    return f'<div role="cell"{number}>{isolated(text)}</div>'
