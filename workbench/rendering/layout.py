"""What is to be shown, before anything decides how: cells, rows, sheets and grids."""

from collections.abc import Iterator

import attrs


@attrs.frozen
class Cell:
    """One value: its lines, already safe to print, and its role ("text", "number", "private", "status:approved"…)."""

    lines: tuple[str, ...]
    role: str = "text"

    @property
    def text(self) -> str:
        """Return the lines as one."""
        return ", ".join(self.lines)


@attrs.frozen
class Row:
    """A label and what stands beside it. `guess` is why it is assumed; `warning` is a sentence of ours beside it."""

    label: str
    value: "Cell | Sheet | Grid"
    guess: str | None = None
    warning: str | None = None


@attrs.frozen(kw_only=True)
class Sheet:
    """One thing: a title, perhaps a status, words, lines of code as they are, labeled rows, and notes under them."""

    title: str
    status: Cell | None = None
    words: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def guessed(self) -> bool:
        """Whether all of it is assumed."""
        return bool(self.rows) and all(row.guess for row in self.rows)


@attrs.frozen(kw_only=True)
class Grid:
    """Many alike: columns and rows of cells. `total` counts those not shown too."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: int
    notes: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Stack:
    """Several things, one under the other; `total` counts those not shown too."""

    title: str
    parts: tuple[Sheet, ...]
    total: int


Block = Cell | Sheet | Grid | Stack


def guesses(block: Block) -> Iterator[str]:
    """Yield the reasons of the guesses a block shows."""
    if isinstance(block, Stack):
        for part in block.parts:
            yield from guesses(part)
    if isinstance(block, Sheet):
        for row in block.rows:
            if row.guess:
                yield row.guess
            yield from guesses(row.value)
