"""What is shown, independent of text and HTML: cells, rows, sheets and grids; and how one value looks.

Money from cents, times in UTC, decimals exact, private values masked.
"""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import attrs

from workbench.errors import visible
from workbench.interface import masks
from workbench.interface.fields import OPEN
from workbench.interface.rules import Full
from workbench.interface.walk import Member
from workbench.rendering import design

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
    value: "Block"
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


Block = Cell | Sheet | Grid


def is_assumed(block: Block) -> bool:
    """Whether a block shows something that is assumed."""
    return isinstance(block, Sheet) and any(row.assumed or is_assumed(row.value) for row in block.rows)


LONGEST = 2_000
"""Characters of one value that are shown; ids and addresses never come near it."""

TEST_CHAINS = frozenset({11155111, 43113, 80002, 84532, 901, 902, 1501})
"""Chains without money: what is deposited there is lost. Source: Assumed behavior."""

NO_FUNDS = "SANDBOX, do not send funds"


def money(cents: int, currency: str | None = "USD") -> str:
    """Return an amount of cents in its currency: `12.50 USD`."""
    whole, part = divmod(abs(cents), 100)
    sign = "-" if cents < 0 else ""
    code = visible(currency, 8).upper() if currency else "USD"
    return f"{sign}{whole:,}.{part:02d} {code}"


def moment(value: datetime) -> str:
    """Return a time in UTC as a person reads it: `2026-11-21 07:42:10 UTC`, with milliseconds where it has them."""
    utc = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    fine = "milliseconds" if utc.microsecond else "seconds"
    return utc.replace(tzinfo=None).isoformat(sep=" ", timespec=fine) + " UTC"


def label(name: str) -> str:
    """Return an attribute, wire or class name as words: `card_id` and `cardId` become `card id`."""
    if "_" in name or name.islower() or not name.isidentifier():
        return visible(name.replace("_", " "), 80)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()


def cell(value: Any) -> Cell:
    """Return any single value as a cell: nothing in it is taken as markup."""
    match value:
        case None:
            return Cell(("–",), "muted")
        case bool():
            return Cell(("yes" if value else "no",))
        case Enum() if not isinstance(value, str):
            return Cell((str(value.value),))
        case str():
            return Cell((visible(str(value), LONGEST),)) if value else Cell(("–",), "muted")
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


def cell_text(value: Any) -> str:
    """Return any value as the text of a table cell: escaped, on one line, as each interface shows it."""
    return ", ".join(map(cell_text, value)) if isinstance(value, list | tuple) and value else cell(value).text


def member_cell(one: Member, value: Any, record: Any, path: str, reveal: Collection[str]) -> Cell:
    """Return the value of a record's member as a cell, masked unless its name or path is in `reveal`."""
    about = one.about
    private = about.privacy is not OPEN and one.name not in reveal and path not in reveal
    if isinstance(value, tuple | list):
        if private:
            return Cell((masks.DOTS,), "private")
        cells = [member_cell(one, item, record, path, reveal) for item in value]
        return Cell(tuple(line for each in cells for line in each.lines), cells[0].role if cells else "muted")
    if private:
        shown = about.mask(value)
        return Cell((visible(shown, LONGEST),), "private")
    if isinstance(value, Full):
        return Cell(("FULL (the full amount)",))
    if isinstance(value, Mapping):
        return Cell((f"<{len(value)} members>",), "muted")
    if one.name in ("status", "application_status") and isinstance(value, str):
        return status_cell(str(value))
    if type(value) is int and about.rule.unit == "cents":
        return Cell((money(value, _currency(one, record)),), "number")
    made = cell(value)
    unit = _unit(one, record, value)
    return Cell((f"{made.lines[0]}{unit}",), made.role) if unit else made


def status_cell(status: str) -> Cell:
    """Return a status with its mark and word."""
    return Cell((f"{design.look(status).mark} {visible(design.word(status), 80)}",), f"status:{status}")


def _currency(one: Member, record: Any) -> str | None:
    name = "local_currency" if one.name.startswith("local_") else "currency"
    found = getattr(record, name, None)
    return found if isinstance(found, str) and found else "USD"


def _unit(one: Member, record: Any, value: Any) -> str:
    unit = one.about.rule.unit or ""
    if unit == "percent":
        return "%"
    if "native token units" in unit:
        if getattr(record, "is_amount_native", None):
            return " native token units"
        digits = isinstance(value, str) and re.fullmatch("[0-9]{1,30}", value)
        return f" cents, {money(int(value))}" if digits else ""
    words = unit.partition(",")[0]
    return f" {words}" if words else ""


FORMULA = "=+-@\t\r\n＝＋－＠"
"""Characters at the start of a cell that a spreadsheet may take for a formula, with their full-width forms."""


def guarded(text: str) -> str:
    """Return a text for a cell of CSV: one that a spreadsheet would run as a formula stays text."""
    return f"'{text}" if text and text[0] in FORMULA else text
