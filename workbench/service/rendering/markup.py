"""Render blocks as static HTML, without scripts and style sheets. All text is escaped and isolated.

Borders and chips blend their color with the color of the surrounding text, so that they are readable in light and dark
themes. If a notebook viewer removes the styles, mark and word remain.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any, Literal

from workbench.service.interface import transitions
from workbench.service.rendering import text
from workbench.service.rendering.design import DARK, LIGHT, look, word
from workbench.service.rendering.elements import Markup, element, isolated, joined, table
from workbench.service.rendering.text import ASSUMED, Block, Cell, Grid, Row, Sheet, is_assumed, legend

_LINE = "color-mix(in srgb, currentColor 18%, transparent)"
_CELL = f"padding:2px 10px 2px 0;text-align:left;vertical-align:top;border-top:1px solid {_LINE};font-weight:normal"
_MONO = "font-family:ui-monospace,monospace;white-space:nowrap"
_CODE = "font-family:ui-monospace,monospace;white-space:pre;overflow-x:auto;line-height:1.4;padding:4px 0"
_QUIET = "opacity:0.65"
_TABLE = "border-collapse:collapse"
_PROSE = 2  # maximum number of spaces in a text that is not wrapped


class Drawing(Markup):
    """An inline SVG in the color of the surrounding text. Notebooks display the SVG as a drawing."""

    __slots__ = ()

    def _repr_html_(self) -> "Drawing":
        return self

    def standalone(self) -> str:
        """Return the drawing as a standalone SVG file, in the colors of the reader's theme."""
        theme = (
            f"<style>svg{{color:{LIGHT['ink']}}}@media(prefers-color-scheme:dark){{svg{{color:{DARK['ink']}}}}}</style>"
        )
        return self.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1).replace(">", ">" + theme, 1)


def write(block: Block) -> Markup:
    """Return a block as HTML."""
    footnote = [element("div", legend(), style=f"{_QUIET};font-size:85%")] if is_assumed(block) else []
    return element("div", _block(block), *footnote, class_="wb-face", style="overflow-x:auto;line-height:1.5")


def chip(text: str, status: str) -> Markup:
    """Return a status as a chip in the status color. `text` has the mark and word of the status."""
    color = look(status).color
    border = f"border:1px solid {color};border-radius:9px;padding:0 8px;white-space:nowrap"
    style = f"{border};background:color-mix(in srgb, {color} 18%, transparent)"
    return element("span", isolated(text), class_="wb-status", style=style)


def _block(block: Block) -> Markup:
    match block:
        case Cell():
            return element("div", _cell(block))
        case Sheet():
            return _sheet(block)
        case Grid():
            return _grid(block)


def _cell(cell: Cell) -> Markup:
    kind, _, status = cell.role.partition(":")
    if kind == "status":
        return chip(cell.text, status)
    style = {"private": _QUIET, "muted": _QUIET}.get(kind, "")
    if not style and all(len(line) >= 20 and " " not in line for line in cell.lines):  # the lines are ids or addresses
        style = _MONO
    elif all(line.count(" ") <= _PROSE for line in cell.lines):
        style = f"{style};white-space:nowrap".lstrip(";")
    lines = joined(map(isolated, cell.lines), "<br>")
    return element("span", lines, style=style) if style else lines


def _sheet(sheet: Sheet) -> Markup:
    parts = []
    if sheet.title:
        title = sheet.title[:1].upper() + sheet.title[1:] + (f" {ASSUMED}" if sheet.all_assumed else "")
        status = (" ", _cell(sheet.status)) if sheet.status else ()
        parts.append(element("div", element("strong", isolated(title)), *status))
    parts += [element("div", isolated(line)) for line in sheet.words]
    if sheet.code:
        parts.append(element("div", joined(sheet.code, "<br>"), style=_CODE))
    if sheet.rows:
        rows = (_row(row, sheet.all_assumed) for row in sheet.rows)
        columns = ({"style": f"{_CELL};{_QUIET};white-space:nowrap"}, {"style": _CELL})
        parts.append(table(rows, columns=columns, row_heads=True, style=_TABLE))
    parts += [element("div", isolated(note), style=f"{_QUIET};font-size:85%") for note in sheet.notes]
    if sheet.state:
        kind: Any = sheet.state[0]
        opened = "" if kind == "application" else "open"  # this diagram is large, and is therefore collapsed at first
        drawn = state_diagram(kind, sheet.state[1])
        parts.append(element("details", element("summary", "States", style=_QUIET), drawn, open=opened))
    return joined(parts)


def _row(row: Row, quiet: bool) -> tuple[Markup, Markup]:
    """Return a row as HTML, with its head and its value."""
    mark = (" ", element("span", ASSUMED, title=f"assumed: {row.assumed}")) if row.assumed and not quiet else ()
    value = _cell(row.value) if isinstance(row.value, Cell) else _block(row.value)
    warning = (" ", element("strong", f"({row.warning})")) if row.warning else ()
    return joined((isolated(row.label), *mark)), joined((value, *warning))


def _grid(grid: Grid) -> Markup:
    columns = [{"style": _CELL + _align(cells)} for cells in zip(*grid.rows, strict=True)]
    heads = [element("span", isolated(name), style=f"{_QUIET};white-space:nowrap") for name in grid.columns]
    caption = element("strong", grid.title) if grid.title else ""
    rows = (map(_cell, row) for row in grid.rows)
    notes = [f"… and {grid.total - len(grid.rows):,} more of {grid.total:,}"] if grid.total > len(grid.rows) else []
    below = (element("div", isolated(note), style=_QUIET) for note in (*notes, *grid.notes))
    return joined((table(rows, heads, caption=caption, columns=columns, style=_TABLE), *below))


def _align(cells: Iterable[Cell]) -> str:
    return ";text-align:right;white-space:nowrap" if any(cell.role == "number" for cell in cells) else ""


class Shown(ABC):
    """Base class of objects with a sheet, which are printed as plain text and shown as HTML in notebooks."""

    __slots__ = ()

    @abstractmethod
    def sheet(self) -> Sheet | Grid:
        """Return the sheet to show."""

    def __str__(self) -> str:
        return text.write(self.sheet())

    def _repr_html_(self) -> str:
        return write(self.sheet())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("…" if cycle else text.write(self.sheet(), printer.max_width))


Kind = Literal["transaction", "application", "card", "dispute"]
Place = tuple[float, float]

_TABLES: Mapping[Kind, transitions.Table] = {
    "transaction": transitions.TRANSACTION, "application": transitions.APPLICATION, "card": transitions.CARD,
    "dispute": transitions.DISPUTE,
}  # fmt: skip
_PLACES: Mapping[Kind, Mapping[str, Place]] = {
    "transaction": {"": (0, 0), "authorized": (1, 0), "settled": (2, 0), "reversed": (2, 1), "declined": (1, 2)},
    "application": {
        "notStarted": (0, 0),
        "pending": (1, 0),
        "needsInformation": (2, 0),
        "needsVerification": (0, 0.75),
        "manualReview": (1, 0.75),
        "denied": (2, 0.75),
        "tosNotAccepted": (0, 1.5),
        "approved": (1, 1.5),
        "exempt": (2, 1.5),
        "locked": (0, 2.25),
        "canceled": (1, 2.25),
    },
    "card": {"notActivated": (0, 0), "active": (1, 0), "locked": (2, 0), "canceled": (2, 1)},
    "dispute": {
        "": (0, 0),
        "pending": (1, 0),
        "inReview": (2, 0),
        "accepted": (3, 1),
        "rejected": (3, 2),
        "canceled": (3, 3),
    },
}
"""Column and row of each state in its state diagram."""
_SAME: Mapping[tuple[Kind, str], str] = {
    ("transaction", "pending"): "authorized",
    ("transaction", "completed"): "settled",
    ("transaction", "refunded"): "settled",
}
"""State in the diagram, by kind and the other name that events or lists use."""

_FONT, _LETTER, _HIGH, _GAP, _ROW, _EDGE, _TOP, _DOT = 13.5, 7.4, 30, 24, 62, 12, 32, 14  # pixels


def state_diagram(kind: Kind, state: str | None = None) -> Drawing:
    """Return the state diagram of a kind of record as SVG, with the current state marked.

    Most transitions are assumed. The interface page lists the documented transitions.

    Args:
        kind: "transaction", "application", "card" or "dispute".
        state: Current state, by its name in a record, an event or a list. An unknown state marks nothing.
    """
    return Drawing("".join(_Diagram(kind).svg(_SAME.get((kind, str(state)), str(state)))))


class _Diagram:
    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.places = places = _PLACES[kind]
        # actions that lead from one state to another, by pair of states
        self.edges: dict[tuple[str, str], list[str]] = {}
        self.loops: dict[str, list[str]] = {}  # actions that do not change the state, by state
        self.free: dict[str, list[str]] = {}  # start states of actions that may lead to any state, by action
        # left edge, middle and width of each state's box, in pixels
        self.boxes: dict[str, tuple[float, float, float]] = {}
        for (start, action), transition in _TABLES[kind].items():
            name, to = word(action), transition.to
            if to is None:
                self.free.setdefault(name, []).append(start)
            elif to == start:
                self.loops.setdefault(start, []).append(name)
            else:
                self.edges.setdefault((str(start), str(to)), []).append(name)
        x = 4.0
        for column in range(1 + int(max(column for column, _ in places.values()))):
            held = [state for state, place in places.items() if place[0] == column]
            incoming = [", ".join(names) for (_, to), names in self.edges.items() if to in held]
            x += (max(map(len, incoming), default=0) * _LETTER + _GAP) if column else 2
            wide = max(len(word(state)) * _LETTER + 40 if state else _DOT for state in held)
            for state in held:
                self.boxes[state] = x, _TOP + places[state][1] * _ROW + _HIGH / 2, wide if state else _DOT
            x += wide
        self.width = x + 6

    def svg(self, present: str) -> Iterator[str]:
        notes = list(self._notes())
        rows = 1 + max(row for _, row in self.places.values())
        width = max([self.width, *(len(note) * _LETTER * 0.9 for note in notes)])
        height = _TOP + rows * _ROW - (_ROW - _HIGH) + 24 + 20 * len(notes)
        known = present in self.places and present != ""
        sentence = f"States of {'an' if self.kind[0] in 'aeiou' else 'a'} {self.kind}: {'; '.join(self._sentences())}."
        sentence += f" Present state: {word(present)}." if known else ""
        yield (
            f'<svg class="wb-states" role="img" aria-label="{escape(sentence)}" width="{width:.0f}" '
            f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" font-family="system-ui, sans-serif" '
            f'font-size="{_FONT}" fill="currentColor">'
        )
        for start, to in self.edges:
            yield from self._edge(start, to)
        for state in self.places:
            yield from self._node(state, known and state == present)
        for line, sentence in enumerate(notes):
            yield f'<text x="4" y="{height - 20 * (len(notes) - line) + 8:.0f}">{escape(sentence)}</text>'
        yield "</svg>"

    def _node(self, state: str, present: bool) -> Iterator[str]:
        x, y, width = self.boxes[state]
        if not state:
            yield f'<circle cx="{x + 7:.0f}" cy="{y:.0f}" r="7"/>'
            return
        seen = look(state)
        if present:
            yield (
                f'<rect class="wb-present" x="{x - 4:.0f}" y="{y - _HIGH / 2 - 4:.0f}" width="{width + 8:.0f}" '
                f'height="{_HIGH + 8}" '
                'rx="10" fill="none" stroke="currentColor" stroke-width="1.5"/>'
            )
        yield (
            f'<rect x="{x:.0f}" y="{y - _HIGH / 2:.0f}" width="{width:.0f}" height="{_HIGH}" rx="7" '
            f'fill="{seen.color}" '
            f'fill-opacity="{0.28 if present else 0}" stroke="currentColor" stroke-opacity="{1 if present else 0.62}" '
            f'stroke-width="{2.5 if present else 1}"/>'
        )
        bold = ' font-weight="bold"' if present else ""
        yield (
            f'<text x="{x + width / 2:.0f}" y="{y + 5:.0f}" text-anchor="middle"{bold}>{seen.mark} '
            f"{escape(word(state))}</text>"
        )
        if kept := self.loops.get(state):
            yield (
                f'<text x="{x + width / 2:.0f}" y="{y - _HIGH / 2 - 8:.0f}" text-anchor="middle">↻ '
                f"{escape(', '.join(kept))}</text>"
            )

    def _edge(self, start: str, to: str) -> Iterator[str]:
        (x, y, wide), (left, middle, width) = self.boxes[start], self.boxes[to]
        (column, row), (last, below) = self.places[start], self.places[to]
        a, low = x + wide / 2, middle - _HIGH / 2
        label: tuple[float, float, str] = (left - _EDGE, middle - 6, "end")
        tip: tuple[float, float, int] = (left, middle, 0)
        if row == below and column < last:
            path = f"M{x + wide:.0f} {y:.0f}H{left - 4:.0f}"
        elif row == below:  # a backward arrow is drawn above both states
            b = left + width / 2
            path, tip = f"M{a:.0f} {low:.0f}v-4q0 -8 -8 -8H{b + 8:.0f}q-8 0 -8 8v2", (b, low, 90)
            label = (b + 14, low - 16, "start")
        elif column == last:
            path, tip = f"M{a:.0f} {y + _HIGH / 2:.0f}V{low - 4:.0f}", (a, low, 90)
            label = (a + 7, low - 9, "start")
        else:
            path = f"M{a:.0f} {y + (_HIGH / 2 if start else 7):.0f}V{middle - 8:.0f}q0 8 8 8H{left - 4:.0f}"
        yield f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity=".62"/>'
        yield f'<path d="M 0 0l-9 -4.5v9z" transform="translate({tip[0]:.0f} {tip[1]:.0f}) rotate({tip[2]})"/>'
        names = self.edges[start, to]
        if (start, to) == next(
            edge for edge, others in self.edges.items() if edge[1] == to and others == names
        ):  # only the first edge with this target and label carries the label
            yield (
                f'<text x="{label[0]:.0f}" y="{label[1]:.0f}" '
                f'text-anchor="{label[2]}">{escape(", ".join(names))}</text>'
            )

    def _notes(self) -> Iterator[str]:
        """Yield notes about actions that can lead to any state, by start state."""
        starts: dict[str, list[str]] = {}
        for name, held in self.free.items():
            every = set(held) >= set(self.places)
            where = "any state" if every else " or ".join(word(state) or "the start" for state in held)
            starts.setdefault(where, []).append(name)
        for where, names in starts.items():
            yield f"{', '.join(names)}: from {where} to any other"

    def _sentences(self) -> Iterator[str]:
        for (start, to), names in self.edges.items():
            yield f"{word(start) or 'start'} to {word(to)} ({', '.join(names)})"
        yield from self._notes()
