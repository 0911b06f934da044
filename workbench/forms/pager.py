"""A table on pages, kept in the kernel: the browser holds one page, and sorting and filtering go over all rows."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from types import NoneType
from typing import Any

import ipywidgets

from workbench import rendering
from workbench.errors import visible
from workbench.rendering.markup import chip, isolated
from workbench.rendering.palette import LOOKS, look, word

PAGE = 12
_NO_CLASS = re.compile("[^A-Za-z0-9]+")  # what stands in a column's name and not in the name of a class
_LEAST, _MOST = 11, 38  # characters a column of ids is given at least, and any at most
_WORD = 14  # a word of so many characters is not broken
_OPEN = "4em"


class Pager:
    """Rows of plain values in named columns; `opened` is called with the number of the row that a person opens."""

    def __init__(
        self, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, opened: Callable[[int], None] | None = None,
        page: int = PAGE,
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

    # what is seen of the rows

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return max(1, -(-len(self.order) // self._size))

    def sort(self, column: str, *, descending: bool = False) -> None:
        """Put the rows in the order of a column; empty ones come last."""
        place = self.columns.index(column)
        self._sorted = (place, descending)
        self._arrange()

    def filter(self, text: str) -> None:
        """Show only rows in which every word of the text stands somewhere."""
        if self.filter_box.value != text:
            self.filter_box.value = text  # its observer arranges
            return
        self._arrange()

    def like(self, other: "Pager") -> None:
        """Sort and filter as another pager does, and show the same page."""
        if other._sorted is not None:
            name = other.columns[other._sorted[0]]
            self._sorted = (self.columns.index(name), other._sorted[1]) if name in self.columns else None
        page = other.page
        self.filter(other.filter_box.value)
        self.go(page)

    def go(self, page: int) -> None:
        """Show a page, by its number from 0."""
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
            except TypeError:  # values of several kinds have no order of their own
                given.sort(key=lambda number: plain(self.rows[number][place]), reverse=descending)
            self.order = given + empty
        self.go(0)

    def _searched(self) -> list[str]:
        if self._texts is None:
            self._texts = ["\x1f".join([plain(value) for value in row]).lower() for row in self.rows]
        return self._texts

    # widgets

    def _build(self) -> None:
        self.filter_box = ipywidgets.Text(placeholder="filter: words in any column", continuous_update=False)
        self.filter_box.description = "Filter"
        self.filter_box.add_class("wb-filter").observe(lambda _: self._arrange(), "value")
        self.count = ipywidgets.HTML().add_class("wb-count")
        moves = (("first", lambda: 0), ("previous", lambda: self.page - 1), ("next", lambda: self.page + 1),
                 ("last", lambda: self.pages - 1))  # fmt: skip
        buttons = [self._move(name, to) for name, to in moves]
        template = self._template()
        self._heads = [self._head(place, name) for place, name in enumerate(self.columns)]
        spacer = ipywidgets.HTML("")
        head = ipywidgets.GridBox([spacer, *self._heads]).add_class("wb-grid-head")
        head.layout.grid_template_columns = template
        self._lines = [self._line() for _ in range(min(self._size, max(1, len(self.rows))))]
        body = ipywidgets.VBox([head, *(box for box, _, _ in self._lines)]).add_class("wb-scroll").add_class("wb-table")
        bar = ipywidgets.HBox([self.filter_box, *buttons, self.count]).add_class("wb-row-actions")
        self.widget = ipywidgets.VBox([bar, body]).add_class("wb-pager")

    def _template(self) -> str:
        """Return each column a share by what stands in it; ids are never cut, they wrap."""
        sample = self.rows[:200]
        shares = []
        for place, name in enumerate(self.columns):
            texts = [rendering.label(name), *(plain(row[place]) for row in sample)]
            longest = max(len(text) for text in texts) + 2
            words = [len(word) for text in texts for word in text.split() if len(word) <= _WORD]
            least = max([*words, 3]) + 1
            if any(len(word) > _WORD for text in texts for word in text.split()):
                least = max(least, _LEAST)
            shares.append(f"minmax({least}ch, {min(longest, _MOST)}fr)")
        return " ".join([(_OPEN if self._opened else "0"), *shares])

    def _move(self, name: str, to: Callable[[], int]) -> Any:
        button = ipywidgets.Button(description=name)
        button.add_class(f"wb-{name}").on_click(lambda _: self.go(to()))
        return button

    def _head(self, place: int, name: str) -> Any:
        button = ipywidgets.Button(description=rendering.label(name), tooltip=f"Sort by {rendering.label(name)}")

        def clicked(_: Any) -> None:
            down = self._sorted == (place, False)
            self.sort(name, descending=down)

        button.add_class(f"wb-sort-{_NO_CLASS.sub('-', name)}").on_click(clicked)
        return button

    def _line(self) -> tuple[Any, Any, Any]:
        button = ipywidgets.Button(description="open").add_class("wb-open")
        cells = ipywidgets.HTML().add_class("wb-line")
        parts = [button, cells] if self._opened else [cells]
        box = ipywidgets.GridBox(parts).add_class("wb-grid-row")
        box.layout.grid_template_columns = f"{_OPEN} minmax(0, 1fr)" if self._opened else "minmax(0, 1fr)"
        line = (box, button, cells)
        button.on_click(lambda _: self._open(line))
        return line

    def _open(self, line: tuple[Any, Any, Any]) -> None:
        shown = self.page * self._size + [one[0] for one in self._lines].index(line[0])
        if self._opened is not None and shown < len(self.order):
            self._opened(self.order[shown])

    def show(self) -> None:
        """Put the page into the widgets."""
        begin = self.page * self._size
        template = self._template_cells()
        for offset, (box, _, cells) in enumerate(self._lines):
            place = begin + offset
            there = place < len(self.order)
            box.layout.display = None if there else "none"
            cells.value = self._cells(self.rows[self.order[place]], template) if there else ""
        for place, head in enumerate(self._heads):
            mark = ""
            if self._sorted is not None and self._sorted[0] == place:
                mark = " ▼" if self._sorted[1] else " ▲"
            head.description = rendering.label(self.columns[place]) + mark
        total = f"{len(self.order):,} rows" + (f" of {len(self.rows):,}" if len(self.order) != len(self.rows) else "")
        self.count.value = (
            f'<span class="wb-quiet" role="status">{total}, page {self.page + 1:,} of {self.pages:,}</span>'
        )

    def _template_cells(self) -> str:
        return self._template().partition(" ")[2]

    def _cells(self, row: Sequence[Any], template: str) -> str:
        cells = "".join(_cell(value, name) for value, name in zip(row, self.columns, strict=True))
        return f'<div class="wb-cells" role="row" style="grid-template-columns:{template}">{cells}</div>'

    def close(self) -> None:
        """Close the widgets."""
        from workbench.forms.still import below

        for widget in below(self.widget):
            widget.close()


def _moment(value: datetime) -> str:
    if value.tzinfo is UTC and not value.microsecond:
        return f"{str(value)[:19]} UTC"  # what faces.moment gives, ten times as fast
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
    say = _PLAIN.get(type(value))
    if say is not None:
        return say(value)
    return _moment(value) if isinstance(value, datetime) else str(value)


def _cell(value: Any, name: str) -> str:
    text = visible(plain(value), 500)
    if name.rpartition(".")[2] in ("status", "application_status", "end", "outcome", "confidence") and text in LOOKS:
        return f'<div role="cell">{chip(f"{look(text).mark} {word(text)}", text)}</div>'
    number = ' class="wb-number"' if isinstance(value, int | Decimal) and not isinstance(value, bool) else ""
    return f'<div role="cell"{number}>{isolated(text)}</div>'
