"""The page of the walk-through: chapters, calls, results and balances, written to a stream."""

import sys
import textwrap
from collections.abc import Sequence
from typing import Any, TextIO

from workbench import rendering
from workbench.rendering.screen import Screen, screen_of

_INSET = 3
_PROSE = 84


class Page:
    """The walk-through, written to a stream."""

    def __init__(self, out: TextIO | None = None, screen: Screen | None = None) -> None:
        self.out = out or sys.stdout
        self.screen = screen or screen_of(self.out)
        self.width = self.screen.width - _INSET
        self._chapter = 0

    def _line(self, text: str = "", inset: int = _INSET) -> None:
        print((" " * inset + self.screen.fit(text)).rstrip(), file=self.out)

    def title(self, text: str, below: str) -> None:
        """Write the title and an introduction."""
        self.gap()
        self._line(self.screen.paint(text, "title"))
        self.say(below, "muted")

    def chapter(self, text: str, below: str) -> None:
        """Write the heading of the next chapter, and its introduction."""
        self._chapter += 1
        head = f"{self._chapter}  {text} "
        rule = "─" * max(0, min(_PROSE, self.width) + _INSET - len(head) - 1)
        self.gap()
        self._line(self.screen.paint(head, "title") + self.screen.paint(rule, "muted"), 1)
        self.say(below)

    def say(self, text: str, role: str = "", inset: str = "") -> None:
        """Write a paragraph, wrapped at its spaces; paths and ids are not broken."""
        width = min(_PROSE, self.width) - len(inset)
        for line in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
            self._line(inset + self.screen.paint(line, role))

    def note(self, text: str) -> None:
        """Write a note."""
        self.say(text, "muted", "  ")

    def call(self, text: str, *, follows: bool = False) -> None:
        """Write a call; one that follows another is written without a gap."""
        if not follows:
            self.gap()
        for number, line in enumerate(text.split("\n")):
            self._line(self.screen.paint("... " if number else ">>> ", "muted") + self.screen.paint(line, "title"))

    def show(self, x: Any) -> None:
        """Write a record, an error or a mapping."""
        self._block(rendering.plain(x, self.width, paint=self.screen.paint))

    def table(self, rows: Sequence[Any], columns: Sequence[str] | None = None) -> None:
        """Write a table of records or mappings."""
        self._block(rendering.table(rows, columns, width=self.width, paint=self.screen.paint))

    def _block(self, text: str) -> None:
        for line in text.split("\n"):
            self._line(line)

    def gap(self) -> None:
        """Write an empty line."""
        self._line()
