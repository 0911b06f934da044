"""Cells, rows, sheets and grids, with formats of single values, plain-text rendering, and capabilities of a stream.

Money is formatted from cents, times are in UTC, and decimals are exact. Private values are masked. Columns are aligned.
Prose wraps, but ids and addresses never do.
"""

import codecs
import os
import re
import textwrap
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from itertools import repeat, zip_longest
from typing import Any, TextIO

import attrs

from workbench.base.errors import visible
from workbench.base.frozen import frozen
from workbench.base.remedies import Remedy, declare
from workbench.base.schema.fields import OPEN
from workbench.base.schema.rules import Full
from workbench.base.schema.walk import Member
from workbench.service.interface.formats import minor_digits
from workbench.service.rendering.design import look, paint, word

declare(
    "assumptions",
    python="see assumptions()",
    other="see the list of assumptions",
)

MAX_ROWS = 200
"""Default maximum number of rows shown. The other rows are only counted."""


def _line(text: str) -> str:
    """Escape the control and direction characters of a text, which a terminal or a page would interpret."""
    return text if text.isprintable() else visible(text)


def _each_line(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(_line, texts))


def _with_breaks(texts: Iterable[str]) -> tuple[str, ...]:
    """Escape the control characters of texts, except line breaks."""
    return tuple("\n".join(map(_line, text.split("\n"))) for text in texts)


@frozen
class Cell:
    """One value, with printable lines and a role ("text", "number", "private", "status:approved"…)."""

    lines: tuple[str, ...] = attrs.field(converter=_each_line)
    role: str = "text"

    @property
    def text(self) -> str:
        """Return the lines, joined with commas."""
        return ", ".join(self.lines)


@frozen
class Row:
    """A label and its value. `assumed` is the reason for an assumption; `warning` is a sentence next to the value."""

    label: str
    value: "Block"
    assumed: str | None = None
    warning: str | None = None


@frozen(kw_only=True)
class Sheet:
    """One object, with a title, an optional status, text, verbatim code lines, labeled rows and notes."""

    title: str = attrs.field(converter=_line)
    status: Cell | None = None
    words: tuple[str, ...] = attrs.field(default=(), converter=_with_breaks)
    code: tuple[str, ...] = attrs.field(default=(), converter=_with_breaks)
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = attrs.field(default=(), converter=_with_breaks)
    state: tuple[str, str] | None = None  # kind and current state of a record, which HTML shows as a diagram

    @property
    def all_assumed(self) -> bool:
        """Whether every row is assumed."""
        return bool(self.rows) and all(row.assumed for row in self.rows)


@frozen(kw_only=True)
class Grid:
    """A table with columns and rows of cells. `total` also counts the rows that are not shown."""

    title: str = attrs.field(converter=_line)
    columns: tuple[str, ...] = attrs.field(converter=_each_line)
    rows: tuple[tuple[Cell, ...], ...]
    total: int
    notes: tuple[str, ...] = attrs.field(default=(), converter=_with_breaks)

    @classmethod
    def of_texts(
        cls, title: str, columns: tuple[str, ...], rows: Iterable[Iterable[str]], notes: Iterable[str] = ()
    ) -> "Grid":
        """Return a grid with a cell for each text in the rows."""
        cells = tuple(tuple(Cell((text,)) for text in row) for row in rows)
        return cls(title=title, columns=columns, rows=cells, total=len(cells), notes=tuple(notes))


Block = Cell | Sheet | Grid


def is_assumed(block: Block) -> bool:
    """Return whether a block contains an assumed value."""
    return isinstance(block, Sheet) and any(row.assumed or is_assumed(row.value) for row in block.rows)


LONGEST = 2_000
"""Maximum number of characters shown for one value. Ids and addresses are far shorter."""

TEST_CHAINS = frozenset({11155111, 43113, 80002, 84532, 901, 902, 1501})
"""Test chains, on which deposits of real funds are lost. Source: Assumed behavior."""

NO_FUNDS = "SANDBOX, do not send funds"


_ABBREVIATIONS = r"\b(id|ip|mcc|ubo)\b"


def counted(count: int, noun: str) -> str:
    """Return a count and its noun, which is passed in the plural: `1 row`, `2 rows`."""
    return f"{count:,} {noun.removesuffix('s') if count == 1 else noun}"


def money(cents: int, currency: str | None = "USD") -> str:
    """Return an amount in the minor unit of its currency as text: `12.50 USD`, `1,250 JPY`."""
    code = visible(currency, 8).upper() if currency else "USD"
    return f"{Decimal(f'{cents}e-{minor_digits(currency)}'):,} {code}"


def moment(value: datetime) -> str:
    """Return a time in UTC in readable form: `2026-11-21 07:42:10 UTC`, with milliseconds if it has a fraction."""
    utc = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    fine = "milliseconds" if utc.microsecond else "seconds"
    return utc.replace(tzinfo=None).isoformat(sep=" ", timespec=fine) + " UTC"


def label(name: str) -> str:
    """Return an attribute, wire or class name as readable text: `card_id` and `cardId` become `card id`."""
    if "_" in name or name.islower() or not name.isidentifier():
        return visible(name.replace("_", " "), 80)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()


def sentence(text: str) -> str:
    """Capitalize the first letter and abbreviations of a text: `user id` becomes `User ID`."""
    text = re.sub(_ABBREVIATIONS, lambda match: match.group().upper(), text)
    return text[:1].upper() + text[1:]


def cell(value: object) -> Cell:
    """Return a single value as a cell; its text is never interpreted as markup."""
    match value:
        case None | "":
            return Cell(("–",), "muted")
        case bool():
            return Cell(("yes" if value else "no",))
        case Enum() if not isinstance(value, str):
            return Cell((str(value.value),))
        case str():
            return Cell((visible(str(value), LONGEST),))
        case int():
            return Cell((str(value),), "number")
        case Decimal():
            return Cell((format(value, "f"),), "number")
        case datetime():
            return Cell((moment(value),))
        case date():
            return Cell((value.isoformat(),))
        case bytes():
            return Cell((f"<{len(value):,} bytes>",), "muted")
    return Cell((visible(repr(value), LONGEST),))


def cell_text(value: object) -> str:
    """Return a value as the text of a table cell, escaped and on one line. All interfaces show the same text."""
    return ", ".join(map(cell_text, value)) if isinstance(value, list | tuple) and value else cell(value).text


def member_cell(member: Member, value: object, record: object, path: str, reveal: Collection[str]) -> Cell:
    """Return the value of a record's member as a cell, masked unless its name or path is in `reveal`."""
    about = member.about
    if about.privacy is not OPEN and member.name not in reveal and path not in reveal:
        return Cell((visible(about.mask(value), LONGEST),), "private")
    if isinstance(value, tuple | list):
        cells = [member_cell(member, item, record, path, reveal) for item in value]
        return Cell(tuple(line for each in cells for line in each.lines), cells[0].role if cells else "muted")
    if isinstance(value, Full):
        return Cell(("FULL (the full amount)",))
    if isinstance(value, Mapping):
        return Cell((f"<{len(value)} members>",), "muted")
    if member.name in ("status", "application_status") and isinstance(value, str):
        return status_cell(str(value))
    if type(value) is int and about.rule.unit == "cents":
        currency = getattr(record, "local_currency" if member.name.startswith("local_") else "currency", None)
        return Cell((money(value, currency if isinstance(currency, str) else None),), "number")
    shown = cell(value)
    unit = _unit(member, record, value)
    return Cell((f"{shown.lines[0]}{unit}",), shown.role) if unit else shown


def status_cell(status: str) -> Cell:
    """Return a status as a symbol and a word."""
    return Cell((f"{look(status).mark} {visible(word(status), 80)}",), f"status:{status}")


def _unit(member: Member, record: object, value: Any) -> str:
    unit = member.about.rule.unit or ""
    if unit == "percent":
        return "%"
    if "native token units" in unit:
        if getattr(record, "is_amount_native", None):
            return " native token units"
        digits = isinstance(value, str) and re.fullmatch("[0-9]{1,30}", value)
        return f" cents, {money(int(value))}" if digits else ""
    name = unit.partition(",")[0]
    return f" {name}" if name else ""


FORMULA = "=+-@\t\r\n＝＋－＠"
"""Characters that start a formula in spreadsheets, including full-width forms."""


def guarded(value: object) -> Any:
    """Return a value for a CSV cell. Text that a spreadsheet would run gets a leading `'`; file readers remove it."""
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.lstrip(" ")[:1] in set(FORMULA) or value[:1] == "'" else value


Paint = Callable[[str, str], str]
"""Function that colors text by role, such as `design.paint`."""

ASSUMED = "~"


def legend() -> str:
    """Return the explanation of the assumption mark."""
    return f"{ASSUMED} assumed: not shown in the interface document; {Remedy('assumptions')}"


_NARROWEST = 12


def unpainted(text: str, _: str) -> str:
    """Return the text without colors."""
    return text


def cells(text: str) -> int:
    """Return the width of a text in terminal columns."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(c) or unicodedata.category(c) in {"Mn", "Me"}
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )


def write(block: Block, width: int = 100, paint: Paint = unpainted) -> str:
    """Return a block as plain text without a trailing line break."""
    lines = list(_lines(block, width, paint))
    if is_assumed(block):
        lines += [paint(line, "muted") for line in wrapped(legend(), width)]
    return "\n".join(line.rstrip() for line in lines)


def _lines(block: Block, width: int, paint: Paint) -> Iterator[str]:
    match block:
        case Cell():
            for line in block.lines:
                yield paint(line, block.role)
        case Sheet():
            yield from _sheet(block, width, paint)
        case Grid():
            yield from _grid(block, width, paint)


def _sheet(sheet: Sheet, width: int, paint: Paint) -> Iterator[str]:
    mark = f" {ASSUMED}" if sheet.all_assumed else ""
    if sheet.title:
        head = paint(sheet.title[:1].upper() + sheet.title[1:] + mark, "title")
        yield head + (f"  {paint(sheet.status.text, sheet.status.role)}" if sheet.status else "")
    inset = "  " if sheet.title else ""
    inner = width - len(inset)
    lines = [*(line for paragraph in sheet.words for line in wrapped(paragraph, inner)), *sheet.code]
    lines += _rows(sheet.rows, inner, paint, sheet.all_assumed)
    lines += [paint(line, "muted") for note in sheet.notes for line in wrapped(note, inner)]
    yield from (inset + line for line in lines)


def _rows(rows: tuple[Row, ...], width: int, paint: Paint, quiet: bool) -> Iterator[str]:
    names = [row.label + (f" {ASSUMED}" if row.assumed and not quiet else "") for row in rows]
    column = max((cells(name) for name, row in zip(names, rows, strict=True) if isinstance(row.value, Cell)), default=0)
    for name, row in zip(names, rows, strict=True):
        aside = f"  ({row.warning})" if row.warning else ""
        if isinstance(row.value, Cell):
            lines = [line for each in row.value.lines for line in wrapped(each, width - column - 2)] or [""]
            before = paint(_pad(name, column), "label") + "  "
            for i, line in enumerate(lines, 1):
                yield before + paint(line, row.value.role) + (aside if i == len(lines) else "")
                before = " " * (column + 2)
        else:
            inset = "  " if name else ""  # a block without a label follows an empty line, and is not indented
            yield paint(name, "label") + aside
            yield from (inset + line for line in _lines(row.value, width - len(inset), paint))


def _grid(grid: Grid, width: int, paint: Paint) -> Iterator[str]:
    if grid.title:
        yield paint(grid.title, "title")
    widths = _fit(grid, width)
    if widths is None:
        for n, row in enumerate(grid.rows):
            if n:
                yield paint("·", "muted")
            filled = (Row(name, cell) for name, cell in zip(grid.columns, row, strict=True) if cell.text)
            yield from _rows(tuple(filled), width, paint, True)
    else:
        right = [any(row[i].role == "number" for row in grid.rows) for i in range(len(widths))]

        def line(texts: Iterable[str], roles: Iterable[str]) -> str:
            columns = zip(texts, widths, right, roles)  # noqa: B905 - `roles` may be infinite
            return "  ".join(paint(_pad(text, wide, aligned), role) for text, wide, aligned, role in columns)

        if any(grid.columns):
            yield line(grid.columns, repeat("head"))
            yield "  ".join("─" * w for w in widths)
        for row in grid.rows:
            columns = (
                [part for each in cell.lines for part in wrapped(each, w)] or [""]
                for cell, w in zip(row, widths, strict=True)
            )
            for texts in zip_longest(*columns, fillvalue=""):
                yield line(texts, [cell.role for cell in row])
    if grid.total > len(grid.rows):
        yield paint(f"… and {grid.total - len(grid.rows):,} more of {grid.total:,}", "muted")
    for note in grid.notes:
        yield paint(note, "muted")


def _fit(grid: Grid, width: int) -> list[int] | None:
    """Return the width of each column, with wrapped words if needed, or None if the table is still too wide."""
    columns = [[line for row in grid.rows for line in row[i].lines] for i in range(len(grid.columns))]
    whole = [max(map(cells, [name, *lines])) for name, lines in zip(grid.columns, columns, strict=True)]
    longest_words = [max((cells(word) for line in lines for word in _words(line)), default=0) for lines in columns]
    widths = [
        min(full, max(cells(name), longest, _NARROWEST))
        for name, full, longest in zip(grid.columns, whole, longest_words, strict=True)
    ]
    spare = width - 2 * (len(whole) - 1) - sum(widths)
    while spare > 0 and widths != whole:
        for i, full in enumerate(whole):
            if widths[i] < full and spare > 0:
                widths[i] += 1
                spare -= 1
    return None if spare < 0 else widths


def _words(line: str) -> list[str]:
    """Split a line at its spaces. A line of at most three words, such as an amount with its unit, is not split."""
    return line.split(" ") if line.count(" ") > 2 else [line]


def wrapped(text: str, width: int) -> list[str]:
    """Wrap a text at spaces to fit a width. Parts without spaces, such as ids and addresses, are never broken."""
    if cells(text) <= width or len(_words(text)) == 1:
        return [text]
    return textwrap.wrap(text, max(width, _NARROWEST), break_long_words=False, break_on_hyphens=False) or [text]


def _pad(text: str, width: int, right: bool = False) -> str:
    space = " " * max(0, width - cells(text))
    return space + text if right else text + space


IN_PIPES = 100
NARROWEST, WIDEST = 40, 140

_IN_ASCII = {
    "─": "-", "━": "=", "│": "|", "█": "#", "▏": "|", "•": "*", "·": "-", "…": "...", "–": "-", "—": "-", "→": "->",
    "×": "x", "“": '"', "”": '"', "’": "'", "✓": "v", "✗": "x", "●": "o", "◔": "~", "◎": "@", "⚑": "!", "■": "#",
    "○": "o", "◇": "*", "✎": "!", "↩": "<", "−": "-", "‽": "?",
}  # fmt: skip


@frozen(kw_only=True)
class Screen:
    """Output settings of a stream: its width, and whether it shows colors."""

    width: int = IN_PIPES
    color: bool = False

    @property
    def paint(self) -> Paint:
        """Function that colors text for this stream, or returns the text unchanged."""
        return paint if self.color else unpainted


def _like(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(_IN_ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in characters), error.end


LIKENESS = "workbench-likeness"
"""Name of a codec error handler for streams. It replaces known symbols with ASCII equivalents, and other characters
with escapes.
"""
codecs.register_error(LIKENESS, _like)


def screen_of(stream: TextIO) -> Screen:
    """Return the settings of a stream: the width, and colors if the stream is a terminal that supports colors."""
    terminal, columns = stream.isatty(), IN_PIPES
    if terminal:
        import shutil  # imported late, since the import loads five compression libraries

        columns = shutil.get_terminal_size((IN_PIPES, 24)).columns
    return Screen(
        width=max(NARROWEST, min(WIDEST, columns)),
        color=terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
    )
