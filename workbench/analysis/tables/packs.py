"""Several reports in one file for people: a workbook or a page with cover, totals, charts and definitions.

Amounts in cents are written in the main unit of their currency, with the currency in the head, and the definitions say
so. Nothing in the file depends on when or where it is written, so the same frames make the same bytes.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal, localcontext
from html import escape
from typing import TYPE_CHECKING, Any, BinaryIO
from zoneinfo import ZoneInfo

import attrs
import pandas as pd

from workbench.analysis.tables.columns import AMOUNT
from workbench.analysis.tables.rows import EXACT, UNKNOWN, is_missing, without_unit
from workbench.base.errors import UsageError, visible
from workbench.service.interface.formats import minor_digits
from workbench.service.rendering import design
from workbench.service.rendering.elements import Markup, element, html_page, table

if TYPE_CHECKING:
    from xlsxwriter.workbook import Workbook
    from xlsxwriter.worksheet import Worksheet

Value = str | bool | int | float | Decimal | date | None
_ROWS = 100_000  # of one sheet
_WIDEST, _CHART_BARS = 44, 12
_EXACT_FLOATS = 10**13  # a number with two decimals up to this is exact as a float
_BALANCES = re.compile("^(opening|closing|outstanding|before|now)")
"""Columns whose sum over rows is meaningless."""
_DEFINITIONS = {
    "authorized": "What merchants asked for and was approved, by the time of the authorization",
    "held": "Open holds: approved, not settled or released",
    "released": "Holds that were reversed, expired, or were above their settlement",
    "settled": "Holds that ended in a settlement",
    "posted": "What settled",
    "refunded": "What merchants gave back",
    "net": "Posted minus refunded",
    "opening": "Balance at the beginning of the period: open holds, disputes or points",
    "closing": "Balance at the end: opening + authorized - released - settled, or + opened - resolved",
    "amount": "Amount of the row",
    "change": "Now minus before",
    "before": "Net in the period before",
    "now": "Net in the period",
    "rate": "Approved divided by all authorizations",
    "share": "Part of the total of the column",
    "running": "The period was not over when the data end; its figures will change",
    "earned": "Points earned in the period",
    "clawed_back": "Points taken back, for refunds and by adjustments",
    "opened": "Disputes opened in the period",
    "resolved": "Disputes accepted, rejected or canceled in the period",
    "redeemed": "Points redeemed in the period",
    "outstanding": "Points at the end: opening + earned - clawed back - redeemed",
    "difference": "Mine minus theirs",
}


@attrs.frozen
class _Column:
    """A displayed column: head, values, and decimal places (None: not an amount)."""

    name: str
    head: str
    values: list[Value]
    places: int | None
    is_total: bool


@attrs.frozen
class _Sheet:
    name: str
    columns: list[_Column]
    rows: int
    facts: dict[str, str]
    notes: list[str]


def sheets_of(frames: Mapping[str, pd.DataFrame], tz: str) -> list[_Sheet]:
    """Return the sheets of a pack.

    Raises:
        UsageError: A table has too many rows for a page that people read.
    """
    sheets: list[_Sheet] = []
    for title, given in frames.items():
        frame = given.reset_index() if any(name is not None for name in given.index.names) else given
        if len(frame) > _ROWS:
            raise UsageError(f"{visible(title, 40)}: {len(frame):,} rows (maximum {_ROWS:,} in a pack)", of="to_file")
        name = re.sub(r"[\[\]:*?/\\']", " ", visible(title, 200))[:28].strip() or "table"
        while any(sheet.name.lower() == name.lower() for sheet in sheets):
            name = f"{name[:25]} {len(sheets)}"
        sheets.append(_sheet(name, frame, tz))
    return sheets


def _sheet(name: str, frame: pd.DataFrame, tz: str) -> _Sheet:
    about = frame.attrs
    notes = [visible(str(note)) for note in about.get("notes", ())]
    complete = about.get("complete")
    state = UNKNOWN if "kind" not in about else "not complete: rows are missing" if complete is False else "yes"
    if complete is None and "kind" in about:
        state = "as far as the notes say"
    zone = str(about.get("tz") or tz)
    facts = {
        "Data until": _moment(about.get("until") or about.get("at") or "not stated", zone),
        "Time zone": zone,
        "Currency": str(about.get("currency") or _only(frame) or "").upper() or "not stated",
        "Complete": state,
    }
    lost = set(without_unit(frame))
    columns = [_column(frame, place, about.get("currency"), tz, lost) for place in range(frame.shape[1])]
    return _Sheet(name, columns, len(frame), facts, notes)


def _moment(value: object, zone: str) -> str:
    """Return a time as `2026-02-26 00:52:42 UTC`, in a zone; other text unchanged."""
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return str(value)
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S} {zone}" if at.tzinfo else str(value)


def _column(frame: pd.DataFrame, place: int, currency: str | None, tz: str, lost: set[str]) -> _Column:
    column, name, about = frame.iloc[:, place], str(frame.columns[place]), frame.attrs
    values = [None if is_missing(value) else _shown(value, tz) for value in column.tolist()]
    numeric = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
    places, head = None, name
    code = currency or _only(frame)
    if name.endswith("_cents") and code:
        places = minor_digits(code)
        values = [None if value is None else EXACT.scaleb(Decimal(str(value)), -places) for value in values]
        head = f"{name.removesuffix('_cents')} ({code.upper()})"
    elif name.endswith("_usd"):
        places, head = 2, f"{name.removesuffix('_usd')} (USD)"
    elif name in lost:
        head = f"{name} (unit unknown)"
    counts = pd.api.types.is_integer_dtype(column.dtype) and name not in ("month", "version", "chain_id")
    adds = numeric and (places is not None or counts) and not _BALANCES.match(name) and name not in lost
    adds = adds and not re.search(r"(^|_)(year|code|id)$", name) and about.get("kind") != "spend_funnel"
    adds = adds and (code is not None or not name.endswith("_cents"))
    return _Column(name, visible(head, 200), values, places, adds and len(values) > 1)


def _only(frame: pd.DataFrame) -> str | None:
    """Return the currency of all rows, if they have one."""
    codes = set(frame["currency"].dropna().str.upper()) if "currency" in frame else set[str]()
    return codes.pop() if len(codes) == 1 else None


def _shown(value: object, tz: str) -> Value:
    if isinstance(value, pd.Timestamp):
        local = value.tz_convert(tz).tz_localize(None) if value.tzinfo else value
        is_day = not value.tzinfo and local == local.normalize()
        return local.to_pydatetime().date() if is_day else local.to_pydatetime()
    return value if isinstance(value, int | float | Decimal | date | bool) else visible(str(value), 2_000)


def _total(column: _Column) -> Decimal:
    with localcontext(EXACT):
        return sum((Decimal(str(value)) for value in column.values if value is not None), Decimal(0))


def _cover(title: str, sheets: list[_Sheet]) -> list[tuple[str, str]]:
    """Return the lines of the cover as pairs of label and text: common facts first, then each sheet."""
    shared = {name: fact for name, fact in sheets[0].facts.items() if all(s.facts[name] == fact for s in sheets)}
    notes = [note for note in sheets[0].notes if all(note in sheet.notes for sheet in sheets)]
    lines = [("Report", title), ("Prepared by", ""), ("Signed off by, on", ""), *shared.items()]
    lines += [("Note", note) for note in notes]
    for sheet in sheets:
        own = {name: fact for name, fact in sheet.facts.items() if name not in shared}
        lines += [("", ""), ("Sheet", f"{sheet.name}: {sheet.rows:,} rows"), *own.items()]
        lines += [("Note", note) for note in sheet.notes if note not in notes]
    return lines


def _definitions(sheets: list[_Sheet]) -> list[tuple[str, str]]:
    shown = {column.name: column for sheet in sheets for column in sheet.columns}
    lines = []
    for name, column in shown.items():
        text = _DEFINITIONS.get(AMOUNT.sub("", name), "")
        if name.endswith("_cents") and column.places is not None:
            text = f"{text}; {name} divided by {10**column.places:,}".lstrip("; ")
        if text:
            lines.append((column.head, text))
    return [*lines, ("Times", "Each time is in the zone that the cover states; a period is named after its first day.")]


# -- XLSX

_NUMBERS = {0: "#,##0", **{places: f"#,##0.{'0' * places}" for places in range(1, 5)}}
"""Formats of numbers by their decimal places."""


def write_workbook(frames: Mapping[str, pd.DataFrame], title: str, file: BinaryIO, tz: str) -> None:
    """Write a workbook: cover, one sheet for each frame with totals and a chart, and definitions."""
    import xlsxwriter  # only this format needs it

    sheets = sheets_of(frames, tz)
    options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    book = xlsxwriter.Workbook(file, options)
    book.set_properties({"title": title, "created": datetime(2000, 1, 1)})  # noqa: DTZ001 - the same bytes each time
    forms = {
        "head": book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"}),
        "number head": book.add_format(
            {"bold": True, "bottom": 1, "text_wrap": True, "valign": "top", "align": "right"}
        ),
        "text": book.add_format({"num_format": "@"}),
        "wrapped": book.add_format({"text_wrap": True, "valign": "top"}),
        "title": book.add_format({"bold": True, "font_size": 16}),
        "label": book.add_format({"bold": True, "valign": "top"}),
        **{str(n): book.add_format({"num_format": text}) for n, text in _NUMBERS.items()},
        **{f"total {n}": book.add_format({"num_format": text, "bold": True, "top": 1}) for n, text in _NUMBERS.items()},
        "rate": book.add_format({"num_format": "0.0%"}),
        "day": book.add_format({"num_format": "yyyy-mm-dd", "align": "left"}),
        "time": book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
    }
    _lines(book.add_worksheet("Cover"), title, _cover(title, sheets), forms)
    for sheet in sheets:
        _table(book, sheet, forms)
    _lines(book.add_worksheet("Definitions"), "Definitions", _definitions(sheets), forms)
    book.close()


def _lines(page: "Worksheet", title: str, lines: list[tuple[str, str]], forms: Mapping[str, Any]) -> None:
    page.set_column(0, 0, 24)
    page.set_column(1, 1, 100)
    page.hide_gridlines(2)
    page.write_string(0, 0, title, forms["title"])
    for row, (label, text) in enumerate(lines, 2):
        page.write_string(row, 0, label, forms["label"])
        page.write_string(row, 1, text, forms["wrapped"])


def _table(book: "Workbook", sheet: _Sheet, forms: Mapping[str, Any]) -> None:
    page = book.add_worksheet(sheet.name)
    page.freeze_panes(1, 1)
    page.set_landscape()
    page.fit_to_pages(1, 0)
    page.repeat_rows(0)
    for j, column in enumerate(sheet.columns):
        page.write_string(0, j, column.head, forms["number head" if _is_number(column) else "head"])
        widest = max([len(column.head), *(len(_text(value, column)) for value in column.values[:1_000])])
        page.set_column(j, j, min(widest + 3, _WIDEST))
        for i, value in enumerate(column.values, 1):
            if value is not None:
                _write(page, i, j, value, column, forms)
        if column.is_total:
            letter = _letters(j)
            formula = f"=SUBTOTAL(109,{letter}2:{letter}{sheet.rows + 1})"  # of the rows that a filter shows
            page.write_formula(sheet.rows + 1, j, formula, forms[f"total {column.places or 0}"], float(_total(column)))
        elif j == 0 and any(other.is_total for other in sheet.columns):
            page.write_string(sheet.rows + 1, 0, "Total", forms["label"])
    if sheet.rows:
        page.autofilter(0, 0, sheet.rows, len(sheet.columns) - 1)
    _chart(book, page, sheet)


def _write(page: "Worksheet", row: int, place: int, value: Value, column: _Column, forms: Mapping[str, Any]) -> None:
    if isinstance(value, bool):
        page.write_string(row, place, _text(value, column), forms["text"])
    elif isinstance(value, datetime):
        page.write_datetime(row, place, value, forms["time"])
    elif isinstance(value, date):
        page.write_datetime(row, place, value, forms["day"])
    elif isinstance(value, str):
        page.write_string(row, place, value, forms["text"])
    elif value is not None and column.name in ("rate", "share"):
        page.write_number(row, place, float(value), forms["rate"])
    elif value is not None and abs(float(value)) > _EXACT_FLOATS:  # a spreadsheet would round it
        page.write_string(row, place, _text(value, column), forms["text"])
    elif value is not None:
        page.write_number(row, place, float(value), forms[str(_places(value, column))])


def _places(value: int | float | Decimal, column: _Column) -> int:
    return column.places if column.places is not None else 0 if value == int(value) else 2


def _letters(place: int) -> str:
    return ("" if place < 26 else _letters(place // 26 - 1)) + chr(ord("A") + place % 26)


def _charted(sheet: _Sheet) -> tuple[int, range]:
    """Return the position of the amount to draw, and its rows; none if the first column does not label rows."""
    amounts = [j for j, column in enumerate(sheet.columns) if column.places is not None]
    names = sheet.columns[0].values if sheet.columns else []
    if not amounts or sheet.rows < 2 or amounts[0] == 0 or len(set(names)) < sheet.rows or _is_id(sheet.columns[0]):
        return 0, range(0)
    over_time = isinstance(names[0], date)
    return amounts[-1], range(sheet.rows if over_time else min(sheet.rows, _CHART_BARS))


def _is_id(column: _Column) -> bool:
    return column.name.endswith("_id")


def _chart(book: "Workbook", page: "Worksheet", sheet: _Sheet) -> None:
    """Add a chart of the last amount: a line over time, or bars of the first rows."""
    amount, rows = _charted(sheet)
    if not rows:
        return
    over_time, last = isinstance(sheet.columns[0].values[0], date), len(rows)
    head = sheet.columns[amount].head
    drawing = book.add_chart({"type": "line" if over_time else "bar"})
    values = [sheet.name, 1, amount, last, amount]
    drawing.add_series({"name": head, "categories": [sheet.name, 1, 0, last, 0], "values": values})
    drawing.set_title({"name": f"{sheet.name}: {head}", "name_font": {"size": 12}})
    drawing.set_legend({"none": True})
    if not over_time:
        drawing.set_y_axis({"reverse": True})
    page.insert_chart(sheet.rows + 4, 0, drawing, {"x_scale": 1.4})


# -- HTML

_STYLE = f"""{design.variables("body", by_system=True)}
html{{color-scheme:light dark}}body{{background:var(--wb-page);color:var(--wb-ink);max-width:72rem}}
body{{font:var(--wb-text)/1.45 system-ui,sans-serif;margin:var(--wb-s6) auto;padding:0 var(--wb-s4)}}
h1{{font-size:var(--wb-title)}}h2{{font-size:var(--wb-large)}}.wide{{overflow-x:auto}}
table{{border-collapse:collapse;margin:var(--wb-s2) 0 var(--wb-s4)}}th{{background:var(--wb-raised)}}
th,td{{padding:var(--wb-s1) var(--wb-s3);border-bottom:1px solid var(--wb-line);text-align:left;vertical-align:top}}
td.number,th.number{{text-align:right;font-variant-numeric:tabular-nums}}td:first-child{{white-space:nowrap}}
tfoot td{{font-weight:600;border-top:2px solid var(--wb-ink)}}
svg{{width:100%;max-width:44rem;font:var(--wb-dense) system-ui,sans-serif}}svg text{{fill:var(--wb-ink)}}
svg rect{{fill:var(--wb-accent)}}svg rect.running{{fill:none;stroke:var(--wb-accent);stroke-dasharray:4 3}}
svg line{{stroke:var(--wb-ink)}}
"""


def write_page(frames: Mapping[str, pd.DataFrame], title: str, file: BinaryIO, tz: str) -> None:
    """Write one HTML page with cover, tables with totals, and definitions; it needs no script and no network."""
    sheets = sheets_of(frames, tz)
    parts = [element("h1", title), _pairs(_cover(title, sheets)[1:])]
    for sheet in sheets:
        parts += [element("h2", sheet.name), _svg(sheet), element("div", _html(sheet), class_="wide")]
    parts += [element("h2", "Definitions"), _pairs(_definitions(sheets))]
    file.write(html_page(title, *parts, style=_STYLE).encode())


def _svg(sheet: _Sheet) -> Markup:
    """Return a bar chart as SVG of the rows that a workbook would draw, at most the last `_CHART_BARS` periods."""
    amount, rows = _charted(sheet)
    rows = rows[-_CHART_BARS:]
    if not rows:
        return Markup()
    column, names = sheet.columns[amount], sheet.columns[0]
    running = next((c.values for c in sheet.columns if c.name == "running"), [False] * sheet.rows)
    sizes = [float(str(column.values[row] or 0)) for row in rows]
    low, high = min(0.0, *sizes), max(0.0, *sizes)
    scale = 330 / ((high - low) or 1)
    left = 190 - low * scale
    drawn = []
    for place, (row, size) in enumerate(zip(rows, sizes, strict=True)):
        y, start = 26 + 20 * place, left + min(size, 0) * scale
        mark = ' class="running"' if running[row] is True else ""
        name = _text(names.values[row], names)
        drawn.append(
            f'<text x="180" y="{y + 11}" text-anchor="end">{escape(name if len(name) < 28 else name[:26] + "…")}</text>'
            f'<rect x="{start:.1f}" y="{y}" width="{abs(size) * scale:.1f}" height="14"{mark}/>'
            f'<text x="{left + max(size, 0) * scale + 6:.1f}" y="{y + 11}">{_text(column.values[row], column)}</text>'
        )
    height = 30 + 20 * len(rows)
    of = f", {len(rows)} of {sheet.rows:,} rows" if len(rows) < sheet.rows else ""
    title = escape(f"{sheet.name}: {column.head}{of}{'; dashed: running' if True in running else ''}")
    axis = f'<line x1="{left:.1f}" x2="{left:.1f}" y1="22" y2="{height}"/>'
    return Markup(
        f'<svg viewBox="0 0 640 {height}" role="img" aria-label="{title}"><text x="0" y="12">{title}</text>'
        f"{''.join(drawn)}{axis}</svg>"
    )


def _pairs(lines: list[tuple[str, str]]) -> Markup:
    return table((line for line in lines if line[0]), row_heads=True)


def _html(sheet: _Sheet) -> Markup:
    heads = [column.head for column in sheet.columns]
    rows = ([_text(column.values[i], column) for column in sheet.columns] for i in range(sheet.rows))
    totals = [_text(_total(column), column) if column.is_total else "" for column in sheet.columns]
    foot = ["Total", *totals[1:]] if any(totals) else ()
    attributes = [{"class_": "number" if _is_number(column) else ""} for column in sheet.columns]
    return table(rows, heads, totals=foot, columns=attributes)


def _is_number(column: _Column) -> bool:
    return any(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in column.values)


def _text(value: Value, column: _Column) -> str:
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds")
    if isinstance(value, date):
        return value.isoformat()
    if column.name in ("rate", "share"):
        return f"{float(value):.1%}"
    return f"{Decimal(str(value)):,.{_places(value, column)}f}"
