"""Blocks as static HTML: every text escaped and isolated, our own tags and attributes alone, no script, no style sheet.

Borders and chips mix their color with that of the text around them, so they read in light and in dark themes; where a
notebook viewer drops the styles, mark and word remain.
"""

from abc import ABC, abstractmethod
from html import escape
from typing import Any

from workbench.rendering import palette, text
from workbench.rendering.layout import Block, Cell, Grid, Row, Sheet, Stack, is_assumed
from workbench.rendering.states import state_diagram
from workbench.rendering.text import ASSUMED, LEGEND

_LINE = "color-mix(in srgb, currentColor 18%, transparent)"
_CELL = f"padding:2px 10px 2px 0;text-align:left;vertical-align:top;border-top:1px solid {_LINE};font-weight:normal"
_MONO = "font-family:ui-monospace,monospace;white-space:nowrap"
_CODE = "font-family:ui-monospace,monospace;white-space:pre;overflow-x:auto;line-height:1.4;padding:4px 0"
_QUIET = "opacity:0.65"
_PROSE = 2  # spaces of a text that stays on its line


def write(block: Block) -> str:
    """Return a block as HTML."""
    legend = f'<div style="{_QUIET};font-size:85%">{escape(LEGEND)}</div>' if is_assumed(block) else ""
    return f'<div class="wb-face" style="overflow-x:auto;line-height:1.5">{_block(block)}{legend}</div>'


def isolated(text: str) -> str:
    """Return a text that is not ours, escaped and isolated from the direction of what stands around it."""
    return f"<bdi>{escape(text)}</bdi>"


def chip(text: str, status: str) -> str:
    """Return a status as a chip in its color; `text` has its mark and word."""
    color = palette.look(status).color
    return (
        f'<span class="wb-status" style="border:1px solid {color};border-radius:9px;padding:0 8px;white-space:nowrap;'
        f'background:color-mix(in srgb, {color} 18%, transparent)">{isolated(text)}</span>'
    )


def _block(block: Block) -> str:
    match block:
        case Cell():
            return f"<div>{_cell(block)}</div>"
        case Sheet():
            return _sheet(block)
        case Grid():
            return _grid(block)
        case Stack():
            more = block.total - len(block.parts)
            rest = f'<div style="{_QUIET}">… and {more:,} more</div>' if more > 0 else ""
            parts = "".join(f'<div style="margin:10px 0 0 0">{_sheet(part)}</div>' for part in block.parts)
            head = f"<div><strong>{escape(block.title)}</strong></div>" if block.total > 1 else ""
            return f"{head}{parts}{rest}"


def _cell(cell: Cell) -> str:
    kind, _, status = cell.role.partition(":")
    if kind == "status":
        return chip(cell.text, status)
    style = {"private": _QUIET, "muted": _QUIET}.get(kind, "")
    if not style and all(len(line) >= 20 and " " not in line for line in cell.lines):  # ids and addresses
        style = _MONO
    elif all(line.count(" ") <= _PROSE for line in cell.lines):
        style = f"{style};white-space:nowrap".lstrip(";")
    lines = "<br>".join(isolated(line) for line in cell.lines)
    return f'<span style="{style}">{lines}</span>' if style else lines


def _sheet(sheet: Sheet) -> str:
    made = []
    if sheet.title:
        title = sheet.title[:1].upper() + sheet.title[1:] + (f" {ASSUMED}" if sheet.all_assumed else "")
        status = f" {_cell(sheet.status)}" if sheet.status else ""
        made.append(f"<div><strong>{isolated(title)}</strong>{status}</div>")
    made += [f"<div>{isolated(words)}</div>" for words in sheet.words]
    if sheet.code:
        made.append(f'<div style="{_CODE}">{"<br>".join(escape(line) for line in sheet.code)}</div>')
    if sheet.rows:
        rows = "".join(_row(row, sheet.all_assumed) for row in sheet.rows)
        made.append(f'<table style="border-collapse:collapse"><tbody>{rows}</tbody></table>')
    made += [f'<div style="{_QUIET};font-size:85%">{isolated(note)}</div>' for note in sheet.notes]
    if sheet.state:
        made.append(_states(*sheet.state))
    return "".join(made)


def _states(kind: Any, state: str) -> str:
    """Return the diagram of states, folded where it is large."""
    opened = "" if kind == "application" else " open"
    return f'<details{opened}><summary style="{_QUIET}">States</summary>{state_diagram(kind, state)}</details>'


def _row(row: Row, quiet: bool) -> str:
    mark = f' <span title="{escape("assumed: " + row.assumed)}">{ASSUMED}</span>' if row.assumed and not quiet else ""
    value = _cell(row.value) if isinstance(row.value, Cell) else _block(row.value)
    warning = f" <strong>({escape(row.warning)})</strong>" if row.warning else ""
    head = f'<th scope="row" style="{_CELL};{_QUIET};white-space:nowrap">{isolated(row.label)}{mark}</th>'
    return f'<tr>{head}<td style="{_CELL}">{value}{warning}</td></tr>'


def _grid(grid: Grid) -> str:
    caption = f'<caption style="text-align:left"><strong>{escape(grid.title)}</strong></caption>' if grid.title else ""
    head = "".join(
        f'<th scope="col" style="{_CELL};{_QUIET};white-space:nowrap">{isolated(name)}</th>' for name in grid.columns
    )
    right = {"number": ";text-align:right;white-space:nowrap"}
    rows = (
        "".join(f'<td style="{_CELL}{right.get(one.role, "")}">{_cell(one)}</td>' for one in row) for row in grid.rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    notes = [f"… and {grid.total - len(grid.rows):,} more of {grid.total:,}"] if grid.total > len(grid.rows) else []
    notes += grid.notes
    table = (
        f'<table style="border-collapse:collapse">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    )
    return table + "".join(f'<div style="{_QUIET}">{isolated(note)}</div>' for note in notes)


class Shown(ABC):
    """Base of objects with a sheet: printed as plain text, shown as HTML in notebooks."""

    __slots__ = ()

    @abstractmethod
    def sheet(self) -> Sheet | Grid:
        """Return the content to show."""

    def __str__(self) -> str:
        return text.write(self.sheet())

    def _repr_html_(self) -> str:
        return write(self.sheet())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("…" if cycle else text.write(self.sheet(), printer.max_width))
