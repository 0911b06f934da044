"""The page of the walk-through: chapters, calls, results and balances, written to a stream."""

import sys
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO, TypeVar

from workbench import rendering
from workbench.rendering.layout import Cell, Grid
from workbench.rendering.screen import Screen, screen_of
from workbench.rendering.text import write
from workbench.rendering.values import cell, status_cell

T = TypeVar("T")
_INSET = 3
_PROSE = 84


class Page:
    """The walk-through, written to a stream."""

    def __init__(self, out: TextIO | None = None, screen: Screen | None = None) -> None:
        self.out = out or sys.stdout
        self.screen = screen or screen_of(self.out)
        self._chapter = 0

    def _line(self, text: str = "", inset: int = _INSET) -> None:
        print((" " * inset + self.screen.fit(text)).rstrip(), file=self.out)

    def _paint(self, text: str, role: str) -> str:
        return self.screen.paint(text, role)

    def title(self, text: str, below: str) -> None:
        """Write the title and an introduction."""
        self._line()
        self._line(self._paint(text, "title"))
        for line in _lines(below, min(_PROSE, self.screen.width - _INSET)):
            self._line(self._paint(line, "muted"))

    def chapter(self, text: str) -> None:
        """Write the heading of the next chapter."""
        self._chapter += 1
        head = f"{self._chapter}  {text} "
        rule = "─" * max(0, min(_PROSE + _INSET, self.screen.width) - len(head) - 1)
        self._line()
        self._line(self._paint(head, "title") + self._paint(rule, "muted"), 1)

    def say(self, text: str) -> None:
        """Write a paragraph."""
        for line in _lines(text, min(_PROSE, self.screen.width - _INSET)):
            self._line(line)

    def call(self, text: str, *, follows: bool = False) -> None:
        """Write a call; one that follows another is written without a gap."""
        if not follows:
            self._line()
        first, *more = text.split("\n")
        self._line(self._paint(">>> ", "muted") + self._paint(first, "title"))
        for line in more:
            self._line(self._paint("... ", "muted") + self._paint(line, "title"))

    def show(self, x: Any) -> None:
        """Write a record, an error or a mapping."""
        text = rendering.plain(x, self.screen.width - _INSET, paint=self.screen.paint)
        for line in text.split("\n"):
            self._line(line)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Write a table of plain values; text that begins with `status:` is written as that status."""
        grid = Grid(
            title="", columns=tuple(columns), rows=tuple(tuple(map(_cell, row)) for row in rows), total=len(rows)
        )
        for line in write(grid, self.screen.width - _INSET, self.screen.paint).split("\n"):
            self._line(line)

    def advised(self, act: Callable[[], T]) -> T:
        """Call a function, and write the advice of the client as notes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            done = act()
        for one in caught:
            self.note(f"The client advises: {one.message}.")
        return done

    def facts(self, facts: Mapping[str, Any]) -> None:
        """Write labeled values, one per line."""
        self.show(dict(facts))

    def note(self, text: str) -> None:
        """Write a note."""
        for line in _lines(text, min(_PROSE, self.screen.width - _INSET) - 2):
            self._line("  " + self._paint(line, "muted"))

    def gap(self) -> None:
        """Write an empty line."""
        self._line()


class Money(int):
    """Cents, written as money."""


def _lines(text: str, width: int) -> list[str]:
    """Wrap a paragraph at its spaces; paths and ids are not broken."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _cell(value: Any) -> Cell:
    if isinstance(value, Cell):
        return value
    if isinstance(value, Money):
        return Cell((rendering.money(value),), "number")
    if isinstance(value, str) and value.startswith("status:"):
        return status_cell(value.removeprefix("status:"))
    return Cell(("",)) if value == "" else cell(value)
