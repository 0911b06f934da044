"""A table of purchases in the file formats of banks, accounting programs and spreadsheets of several countries."""

import random
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import attrs

NAMES = {
    "en": ("Date", "Reference", "Description", "Amount"),
    "de": ("Buchungstag", "Referenz", "Empfänger", "Betrag"),
    "fr": ("Date d’opération", "Référence", "Libellé", "Montant"),
    "es": ("Fecha", "Referencia", "Concepto", "Importe"),
    "it": ("Data", "Riferimento", "Descrizione", "Importo"),
    "ja": ("日付", "番号", "摘要", "金額"),
}
TEXTS = {
    "en": ("Coffee", "Books, new", "Total Energies", 'The "Inn"; bar', "No. 12.50", "2 lines\nof text"),
    "de": ("Müller & Söhne", "Bäckerei Groß", "Zürich Köln", "Nr. 1.234,56", "Summe | Rest", "vom 04.03.2026"),
    "fr": ("Café de l’été", "Boulangerie à Orléans", "Hôtel où"), "es": ("Peñíscola", "Café Año", "Jamón"),
    "it": ("Caffè città", "Però più", "Perché"), "ja": ("東京駅 ①", "コンビニ", "書店 ※返品"),
}  # fmt: skip
TOTALS = {"en": "Total", "de": "Summe", "fr": "Total", "es": "Suma", "it": "Totale", "ja": "合計"}


@attrs.frozen
class Truth:
    """The rows of a table: days, references with leading zeros, texts and amounts."""

    rows: tuple[tuple[date, str, str, Decimal], ...]


@attrs.frozen(kw_only=True)
class Style:
    """The file format of a program."""

    language: str = "en"
    order: str = "y/m/d"
    mark: str = "-"
    decimal: str = "."
    thousands: str = ""
    negative: str = "minus"  # "minus", "trailing", "brackets" or "triangle"
    currency: str = ""
    separator: str = ","
    encoding: str = "utf-8"
    titles: int = 0
    blank: bool = False
    total: bool = False
    declared: bool = False  # whether the file begins with a line `sep=;`
    line: str = "\r\n"


def truth(seed: int, language: str, rows: int = 12, *, early: bool = False) -> Truth:
    """Return the rows of a random table. With `early`, days are at most 12, so that they could be months."""
    draw = random.Random(seed)
    found = []
    for number in range(rows):
        day = date(2026, 3, 1) + timedelta(days=draw.randrange(12 if early else 31))
        amount = Decimal(draw.choice([-1, 1]) * draw.randrange(1, 2_000_000)) / 100
        found.append((day, f"{draw.randrange(1000):06}{number:02}", draw.choice(TEXTS[language]), amount))
    return Truth(tuple(found))


def written_day(day: date, style: Style) -> str:
    parts = {"d": f"{day.day:02}", "m": f"{day.month:02}", "y": str(day.year)}
    return style.mark.join(parts[part] for part in style.order.split("/"))


def written_amount(amount: Decimal, style: Style) -> str:
    whole, _, fraction = f"{abs(amount):,.2f}".partition(".")
    text = whole.replace(",", style.thousands) + style.decimal + fraction
    if amount < 0:
        signed = {"minus": f"-{text}", "trailing": f"{text}-", "brackets": f"({text})", "triangle": f"▲{text}"}
        text = signed[style.negative]
    return f"{text} {style.currency}".strip()


def written_cells(table: Truth, style: Style) -> list[list[str]]:
    """Return the cells of all lines, including titles and totals."""
    width = 4
    lines: list[list[str]] = [[f"Export {number}", *[""] * (width - 1)] for number in range(style.titles)]
    if style.blank:
        lines.append([""] * width)
    lines.append([*NAMES[style.language]])
    for day, reference, text, amount in table.rows:
        lines.append([written_day(day, style), reference, text, written_amount(amount, style)])
    if style.total:
        total = sum((row[3] for row in table.rows), Decimal(0))
        lines.append(["", "", TOTALS[style.language], written_amount(total, style)])
    return lines


def quoted(cell: str, separator: str) -> str:
    needed = separator in cell or '"' in cell or "\n" in cell
    return '"' + cell.replace('"', '""') + '"' if needed else cell


def written(table: Truth, style: Style) -> bytes:
    """Return the table as bytes of a text file."""
    lines = [
        style.separator.join(quoted(cell, style.separator) for cell in line) for line in written_cells(table, style)
    ]
    if style.declared:
        lines.insert(0, f"sep={style.separator}")
    return (style.line.join(lines) + style.line).encode(style.encoding)


def answers(style: Style) -> dict[str, Any]:
    """Return the arguments of `read_table` that describe a style."""
    bom = style.encoding in ("utf-16", "utf-8-sig")
    return {
        "dates": style.order, "decimal": style.decimal, "separator": style.separator, "totals": "drop",
        **({} if bom else {"encoding": style.encoding}),
    }  # fmt: skip


def expected(table: Truth, style: Style) -> dict[str, Sequence[Any]]:
    """Return the columns of the expected frame: dates, references as text, texts, exact amounts."""
    return dict(zip(NAMES[style.language], zip(*table.rows, strict=True), strict=True))


US = Style(order="m/d/y", mark="/", thousands=",", encoding="utf-8")
GERMAN = Style(language="de", order="d/m/y", mark=".", decimal=",", thousands=".", separator=";", encoding="cp1252")
FRENCH = Style(language="fr", order="d/m/y", mark="/", decimal=",", thousands="\u202f", separator=";")
SPANISH = Style(language="es", order="d/m/y", mark="/", decimal=",", thousands=".", separator=";", encoding="cp1252")
ITALIAN = Style(language="it", order="d/m/y", mark="/", decimal=",", thousands=".", separator=";", encoding="utf-8")
JAPANESE = Style(language="ja", order="y/m/d", mark="/", thousands=",", encoding="cp932", negative="triangle")
COUNTRIES = {"us": US, "de": GERMAN, "fr": FRENCH, "es": SPANISH, "it": ITALIAN, "ja": JAPANESE}
CHANGES: dict[str, dict[str, Any]] = {
    "plain": {},
    "titles, blank rows and a total": {"titles": 2, "blank": True, "total": True},
    "UTF-16": {"encoding": "utf-16"},
    "a byte order mark and tabs": {"encoding": "utf-8-sig", "separator": "\t"},
    "sep= and brackets": {"declared": True, "negative": "brackets"},
    "minus at the end and the currency": {"negative": "trailing", "currency": "EUR"},
    "old line ends and bars": {"line": "\n", "separator": "|"},
    "spaces as thousands": {"thousands": " "},
}
FILES = {
    f"{country}, {name}": attrs.evolve(style, **change)
    for country, style in COUNTRIES.items()
    for name, change in CHANGES.items()
}
"""Styles of 48 text files. `test_read_table` creates files with LibreOffice."""
