"""Several reports in one file for people: a workbook or a page with a cover, totals, charts and definitions.

Amounts in cents are written in the main unit of their currency. The column head shows the currency, and the definitions
state the unit. Nothing in the file depends on when or where the file is written, so the same frames produce the same
bytes.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, BinaryIO
from zoneinfo import ZoneInfo

import attrs
import pandas as pd

from workbench.analysis.tables.columns import AMOUNT, currencies
from workbench.analysis.tables.periods import PERIODS, freq_of, label_of
from workbench.analysis.tables.rows import EXACT, UNKNOWN, is_missing, total
from workbench.analysis.tables.workbooks import PLACES, BookColumn, cell_values, close_book, open_book, write_table
from workbench.base.errors import UsageError, visible
from workbench.service.interface.formats import minor_digits
from workbench.service.rendering import design
from workbench.service.rendering.elements import Markup, element, html_page, table

if TYPE_CHECKING:
    from xlsxwriter.workbook import Workbook
    from xlsxwriter.worksheet import Worksheet

_ROWS = 100_000  # maximum number of rows on a sheet
_RESERVED = frozenset(
    {"cover", "definitions", "history"}
)  # names of a pack's other sheets, and "history", which Excel rejects
_DISTINCT = frozenset({"transactions", "users"})  # not summed over periods: an item can count in several periods
_CHART_BARS = 12
_EXACT_FLOATS = 10**13  # up to this limit, a spreadsheet's float keeps two decimal places
_STATES = {None: "unless a note says otherwise", False: "not complete: rows are missing", True: "yes"}
_PAGE = 200  # maximum length of a readable printed line, in characters
_SHORT = 40  # maximum number of rows that fit on a page with a chart
_NOT_ADDED = re.compile("^(opening|closing|outstanding)|^(month|version)$|(^|_)(year|code|id)$|unit unknown")
"""Pattern of columns whose sum over rows is meaningless."""
_DEFINITIONS = {
    "requested": "Amounts that merchants requested, approved or declined",
    "local_amount": "Amount that the merchant requested, in the merchant's currency",
    "authorized": "Requested amounts that were approved, by the time of the authorization",
    "held": "Open holds: approved, not settled or released",
    "released": "Holds that were reversed or expired, and the part of a hold above its settlement",
    "settled": "Holds that ended in a settlement",
    "posted": "Settled amounts",
    "refunded": "Amounts that merchants refunded",
    "net": "Posted minus refunded",
    "opening": "Balance at the beginning of the period: open holds, disputes or points",
    "closing": "Balance at the end: opening + authorized - released - settled, or + opened - resolved",
    "amount": "Amount of the row",
    "change": "Now minus before",
    "before": "Net amount of the previous period",
    "now": "Net amount of the period",
    "rate": "Approved divided by all authorizations",
    "share": "Share of the column's total",
    "running": "The period was not over when the data ended; its numbers will change",
    "earned": "Points earned in the period",
    "clawed_back": "Points taken back, for refunds and by adjustments",
    "opened": "Disputes opened in the period",
    "resolved": "Disputes accepted, rejected or canceled in the period",
    "redeemed": "Points redeemed in the period",
    "outstanding": "Points at the end: opening + earned - clawed back - redeemed",
    "difference": "Mine minus theirs",
}


@attrs.frozen
class _Sheet:
    name: str
    columns: list[BookColumn]
    rows: int
    facts: dict[str, str]
    notes: list[str]


def sheets_of(frames: Mapping[str, pd.DataFrame], tz: str) -> list[_Sheet]:
    """Return one sheet for each frame, with a unique sheet name.

    Raises:
        UsageError: A frame has more rows than a pack allows.
    """
    sheets: list[_Sheet] = []
    for title, frame in frames.items():
        if len(frame) > _ROWS:
            raise UsageError(f"{visible(title, 40)}: {len(frame):,} rows (maximum {_ROWS:,} in a pack)", of="to_file")
        name = base = re.sub(r"[\[\]:*?/\\']", " ", visible(title, 200))[:28].strip() or "table"
        taken, number = _RESERVED | {sheet.name.lower() for sheet in sheets}, 1
        while name.lower() in taken:
            number += 1
            name = f"{base[:24]} {number}"
        sheets.append(_sheet(name, frame, tz))
    return sheets


def _sheet(name: str, frame: pd.DataFrame, tz: str) -> _Sheet:
    about = frame.attrs
    notes = [visible(str(note)) for note in about.get("notes", ())]
    state = _STATES[about.get("complete")] if "kind" in about else UNKNOWN
    zone = str(about.get("tz") or tz)
    facts = {
        "Signed off by, on": visible(str(about.get("signed_by", "")), 100),
        "Data until": _moment(about.get("until") or about.get("at") or "not stated", zone),
        "Time zone": zone,
        "Complete": state,
    }
    if len(frame) and any(str(column).endswith("_cents") for column in frame):
        facts["Currency"] = _code(frame) or ("see each row" if "currency" in frame else "not stated")
    columns = [_column(frame, index, tz) for index in range(frame.shape[1])]
    return _Sheet(name, columns, len(frame), facts, notes)


def _moment(value: object, zone: str) -> str:
    """Return a time in a zone as `2026-02-26 00:52:42 UTC`. Other text is returned unchanged."""
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return str(value)
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S} {zone}" if at.tzinfo else str(value)


def _column(frame: pd.DataFrame, index: int, tz: str) -> BookColumn:
    column, name, about = frame.iloc[:, index], str(frame.columns[index]), frame.attrs
    values, form = cell_values(column, tz)
    places, unit = None, ""
    if name.endswith("_cents"):
        code = _code(frame, name)
        unit, places = code or "minor units", minor_digits(code) if code else None
    elif name.endswith("_usd"):
        unit, places = "USD", 2
    if form == "day" and (freq := freq_of(name, about)):
        values, form = [value and label_of(value, freq) for value in values], "text"
    elif pd.api.types.is_bool_dtype(column.dtype):
        values, form = [None if value is None else "yes" if value else "no" for value in values], "text"
    elif pd.api.types.is_numeric_dtype(column.dtype):
        values, form = _numbers(column, name, places)
    is_count = pd.api.types.is_integer_dtype(column.dtype) and not name.endswith("_cents")
    is_distinct = name in _DISTINCT and any(period in frame for period in PERIODS)
    adds = form in PLACES and (places is not None or is_count) and not is_distinct
    adds = adds and not _NOT_ADDED.search(name) and about.get("kind") != "spend_funnel"
    return BookColumn(
        name=name,
        head=_head(name, unit),
        values=values,
        form=form,
        is_amount=places is not None and form in PLACES,
        is_total=adds and len(values) > 1,
    )


def _numbers(column: "pd.Series[Any]", name: str, places: int | None) -> tuple[list[Any], str]:
    """Return numbers and their cell format, with cents in the main unit; as text if a spreadsheet would round one."""
    scale = -places if places is not None and name.endswith("_cents") else 0
    exact = [None if is_missing(value) else EXACT.scaleb(Decimal(str(value)), scale) for value in column.tolist()]
    present = [number for number in exact if number is not None]
    if name in ("rate", "share"):
        return exact, "rate"
    if places is None:
        places = 0 if all(number == number.to_integral_value() for number in present) else 2
    if any(abs(number) > _EXACT_FLOATS for number in present):
        return [None if number is None else f"{number:,.{places}f}" for number in exact], "text"
    return exact, str(places)


def _head(name: str, unit: str) -> str:
    """Return a column name for people, with its unit: `Net (USD)`."""
    words = re.sub(r"\bid\b", "ID", re.sub(r"[_.]", " ", AMOUNT.sub("", name)))
    return visible(f"{words[:1].upper()}{words[1:]}{f' ({unit})' if unit else ''}", 200)


def _code(frame: pd.DataFrame, amount: str = "") -> str:
    """Return the currency of an amount column, or of the frame's amounts; empty if there are none or several."""
    codes = currencies(frame, amount)
    return codes.pop() if len(codes) == 1 else ""


def _cover(title: str, sheets: list[_Sheet]) -> list[tuple[str, str]]:
    """Return the lines of the cover as pairs of label and text: common facts and notes, then one line per sheet."""
    facts = {fact: None for sheet in sheets for fact in sheet.facts.items()}
    common = [(name, fact) for name, fact in facts if all(sheet.facts.get(name, fact) == fact for sheet in sheets)]
    lines = [("Report", title), ("Prepared by", ""), *common]
    lines += [("Note", note) for note in _common_notes(sheets)]
    for sheet in sheets:
        own = [f"{name.lower()} {fact}" for name, fact in sheet.facts.items() if (name, fact) not in common]
        lines.append((f"Sheet {sheet.name}", "; ".join([f"{sheet.rows:,} rows", *own])))
    return lines


def _common_notes(sheets: list[_Sheet]) -> list[str]:
    """Return the notes that all sheets share. The cover has these notes; other notes are below their table."""
    return [note for note in sheets[0].notes if all(note in sheet.notes for sheet in sheets)]


def _definitions(sheets: list[_Sheet]) -> list[tuple[str, str]]:
    columns = {column.head: column for sheet in sheets if sheet.rows for column in sheet.columns}
    lines = []
    for column in columns.values():
        name = column.name
        text = _DEFINITIONS.get(AMOUNT.sub("", name), "")
        if name.endswith("_cents") and column.is_amount:
            text = f"{text}; {name} divided by {10 ** int(column.form):,}".lstrip("; ")
        if text:
            lines.append((column.head, text))
    return [*lines, ("Times", "Each time is in the zone that the cover states; a period is named after its first day.")]


# -- XLSX


def write_workbook(frames: Mapping[str, pd.DataFrame], file: BinaryIO, title: str, tz: str) -> None:
    """Write a workbook: a cover, one sheet per frame with totals and a chart, and definitions."""
    sheets = sheets_of(frames, tz)
    book, formats = open_book(file, tz)
    book.set_properties({"title": title, "created": datetime(2000, 1, 1)})  # noqa: DTZ001 - the same bytes each time
    _lines(book.add_worksheet("Cover"), title, _cover(title, sheets), formats)
    common = _common_notes(sheets)
    for sheet in sheets:
        _table(book, sheet, [note for note in sheet.notes if note not in common], formats)
    _lines(book.add_worksheet("Definitions"), "Definitions", _definitions(sheets), formats)
    close_book(book)


def _lines(page: "Worksheet", title: str, lines: list[tuple[str, str]], formats: Mapping[str, Any]) -> None:
    page.set_column(0, 0, 28)
    page.set_column(1, 1, 100)
    page.hide_gridlines(2)
    page.set_landscape()
    page.fit_to_pages(1, 1)
    page.write_string(0, 0, title, formats["title"])
    for row, (label, text) in enumerate(lines, 2):
        page.write_string(row, 0, label, formats["label"])
        page.write_string(row, 1, text, formats["wrapped"])


def _table(book: "Workbook", sheet: _Sheet, notes: list[str], formats: Mapping[str, Any]) -> None:
    from xlsxwriter.utility import xl_col_to_name

    page = book.add_worksheet(sheet.name)
    page.set_landscape()
    last = 0
    if sheet.rows:
        width = write_table(page, sheet.columns, formats)
        page.fit_to_pages(-(-width // _PAGE), int(sheet.rows <= _SHORT))
        page.freeze_panes(1, 1)
        page.repeat_rows(0)
        page.repeat_columns(0)
        page.autofilter(0, 0, sheet.rows, len(sheet.columns) - 1)
        last = sheet.rows + 1
    for j, column in enumerate(sheet.columns):
        if column.is_total:
            letter = xl_col_to_name(j)
            formula = f"=SUBTOTAL(109,{letter}2:{letter}{last})"  # sum of the rows that a filter leaves visible
            page.write_formula(last, j, formula, formats[f"total {column.form}"], float(total(column.values)))
        elif j == 0 and any(other.is_total for other in sheet.columns):
            page.write_string(last, 0, "Total", formats["label"])
    for row, note in enumerate(notes if sheet.rows else ["No rows.", *notes], last and last + 2):
        page.write_string(row, 0, note)
    _chart(book, page, sheet, last + len(notes) + 4)


def _charted(sheet: _Sheet) -> int:
    """Return the index of the last amount column, which is drawn; 0 without amounts or row labels."""
    amounts = [j for j, column in enumerate(sheet.columns) if column.is_amount]
    if not amounts or sheet.rows < 2 or amounts[0] == 0:
        return 0
    labels = sheet.columns[0]
    return 0 if labels.name.endswith("_id") or len({*labels.values}) < sheet.rows else amounts[-1]


def _chart(book: "Workbook", page: "Worksheet", sheet: _Sheet, row: int) -> None:
    """Add a chart of the last amount column: a line over time, or bars for the first rows."""
    amount = _charted(sheet)
    if not amount:
        return
    over_time = sheet.columns[0].name in PERIODS
    last = sheet.rows if over_time else min(sheet.rows, _CHART_BARS)
    head = sheet.columns[amount].head
    drawing = book.add_chart({"type": "line" if over_time else "bar"})
    values = [sheet.name, 1, amount, last, amount]
    drawing.add_series({"name": head, "categories": [sheet.name, 1, 0, last, 0], "values": values})
    drawing.set_title({"name": f"{sheet.name}: {head}", "name_font": {"size": 12}})
    drawing.set_legend({"none": True})
    amounts, names = {"num_format": "#,##0"}, {"label_position": "low", "reverse": not over_time, "interval_unit": 1}
    drawing.set_x_axis({"label_position": "low"} if over_time else amounts)
    drawing.set_y_axis(amounts if over_time else names)
    page.insert_chart(row, 0, drawing, {"x_scale": 1.4, "y_scale": 1 if over_time else 0.4 + 0.12 * last})


# -- HTML

_STYLE = f"""{design.variables("body", by_system=True)}
html{{color-scheme:light dark}}body{{background:var(--wb-page);color:var(--wb-ink);max-width:72rem}}
body{{font:var(--wb-text)/1.45 system-ui,sans-serif;margin:var(--wb-s6) auto;padding:0 var(--wb-s4)}}
h1{{font-size:var(--wb-title)}}h2{{font-size:var(--wb-large)}}.wide{{overflow-x:auto}}
table{{border-collapse:collapse;margin:var(--wb-s2) 0 var(--wb-s4)}}th{{background:var(--wb-raised)}}
th,td{{padding:var(--wb-s1) var(--wb-s3);border-bottom:1px solid var(--wb-line);text-align:left;vertical-align:top}}
td.number,th.number{{text-align:right;font-variant-numeric:tabular-nums}}td:first-child{{white-space:nowrap}}
tfoot td{{font-weight:600;border-top:2px solid var(--wb-ink)}}
td span{{display:block;min-width:12rem;--bar:color-mix(in srgb,var(--wb-accent) 35%,transparent)}}
td span{{background:linear-gradient(90deg,var(--bar) var(--length),transparent 0)}}
td span.running{{--bar:color-mix(in srgb,var(--wb-accent) 12%,transparent)}}
"""


def write_page(frames: Mapping[str, pd.DataFrame], file: BinaryIO, title: str, tz: str) -> None:
    """Write one HTML page with a cover, tables with bars and totals, and definitions.

    The page has no scripts and loads nothing from the network.
    """
    sheets = sheets_of(frames, tz)
    parts = [element("h1", title), _pairs(_cover(title, sheets)[1:])]
    common = _common_notes(sheets)
    for sheet in sheets:
        notes = (element("p", note) for note in sheet.notes if note not in common)
        parts += [element("h2", sheet.name), _html(sheet), *notes]
    parts += [element("h2", "Definitions"), _pairs(_definitions(sheets))]
    file.write(html_page(title, *parts, style=_STYLE).encode())


def _pairs(lines: list[tuple[str, str]]) -> Markup:
    return table((line for line in lines if line[0]), row_heads=True)


def _html(sheet: _Sheet) -> Markup:
    """Return a sheet as an HTML table that the keyboard can scroll.

    Bars are drawn behind the amounts that a workbook shows as a chart.
    """
    if not sheet.rows:
        return element("p", "No rows.")
    amount = _charted(sheet)
    running = next((column.values for column in sheet.columns if column.name == "running"), ["no"] * sheet.rows)
    sizes = [abs(value or 0) for value in sheet.columns[amount].values] if amount else []
    rows: list[list[str]] = []
    for i in range(sheet.rows):
        cells = [column.text(column.values[i]) for column in sheet.columns]
        if amount:
            state = "running" if running[i] == "yes" else ""
            length = f"--length:{100 * sizes[i] / (max(sizes) or 1):.1f}%"
            cells[amount] = element("span", cells[amount], class_=state, style=length)
        rows.append(cells)
    heads = [column.head for column in sheet.columns]
    totals = [column.text(total(column.values)) if column.is_total else "" for column in sheet.columns]
    columns = [{"class_": "number" if column.is_number else ""} for column in sheet.columns]
    body = table(rows, heads, totals=["Total", *totals[1:]] if any(totals) else (), columns=columns)
    return element("div", body, class_="wide", tabindex="0", role="region", aria_label=sheet.name)
