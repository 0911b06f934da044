"""How plans, withdrawals and explanations are shown: one sheet, as plain text and as escaped HTML."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from workbench.errors import visible
from workbench.rendering import markup, text
from workbench.rendering.layout import Cell, Grid, Row, Sheet, status_cell

_MAX_LENGTH = 2_000


class Shown(ABC):
    """Base of objects with a sheet: printed as plain text, shown as HTML in notebooks."""

    __slots__ = ()

    @abstractmethod
    def sheet(self) -> Sheet | Grid:
        """Return the content to show."""

    def __str__(self) -> str:
        return text.write(self.sheet())

    def _repr_html_(self) -> str:
        return markup.write(self.sheet())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("…" if cycle else text.write(self.sheet(), printer.max_width))


def sheet_of(
    title: str, rows: Mapping[str, object], *, status: str | None = None, words: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> Sheet:  # fmt: skip
    """Return a sheet of labeled values; None is left out, and every text is escaped."""
    return Sheet(
        title=title,
        status=None if status is None else status_cell(status),
        words=tuple(map(_safe, words)),
        rows=tuple(Row(label, _cell(value)) for label, value in rows.items() if value is not None),
        notes=tuple(map(_safe, notes)),
    )


def grouped(address: str) -> str:
    """Return an address in groups of four characters, which are easier to compare."""
    head, body = (address[:2], address[2:]) if address[:2] == "0x" else ("", address)
    return " ".join(filter(None, (head, *re.findall(".{1,4}", body))))


def duration_text(span: timedelta) -> str:
    """Return a duration as text, such as `9 min 58 s`."""
    seconds = int(abs(span).total_seconds())
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, rest = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    while len(parts) > 1 and not parts[0][0]:
        parts.pop(0)
    return " ".join(f"{number} {unit}" for number, unit in parts[:2])


def _cell(value: object) -> Cell:
    if isinstance(value, Cell):
        return value
    lines = value if isinstance(value, tuple) else (value,)
    return Cell(tuple(_safe(str(line)) for line in lines) or ("–",))


def _safe(line: str) -> str:
    return visible(line, _MAX_LENGTH)
