"""What is shown, independent of text and HTML: cells, rows, sheets and grids."""

import attrs

MAX_ROWS = 200
"""Rows of a table that are shown unless more are requested; the rest is counted."""


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
    """A label and what stands beside it. `assumed` is the reason of an assumption; `warning` is a sentence of ours beside it."""

    label: str
    value: "Cell | Sheet | Grid"
    assumed: str | None = None
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
    state: tuple[str, str] | None = None  # the kind of thing and its present state, which HTML shows as a diagram

    @property
    def all_assumed(self) -> bool:
        """Whether all of it is assumed."""
        return bool(self.rows) and all(row.assumed for row in self.rows)


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


def is_assumed(block: Block) -> bool:
    """Whether a block shows something that is assumed."""
    if isinstance(block, Stack):
        return any(map(is_assumed, block.parts))
    return isinstance(block, Sheet) and any(row.assumed or is_assumed(row.value) for row in block.rows)
