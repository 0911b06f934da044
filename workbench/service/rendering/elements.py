"""HTML elements, tables and pages. All text except `Markup` is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import repeat


class Markup(str):
    """HTML that is safe to insert, because all external text in it is escaped."""

    __slots__ = ()


def joined(contents: Iterable[str], between: str = "") -> Markup:
    """Join contents into one HTML text, and escape contents other than `Markup`."""
    return Markup(between.join(part if isinstance(part, Markup) else escape(part) for part in contents))


def element(tag: str, *contents: str, **attributes: str) -> Markup:
    """Return an element with its contents. Empty attributes are omitted, and `class_` becomes the attribute `class`."""
    named = ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items() if value)
    written = "".join(f' {name}="{escape(value)}"' for name, value in named)
    return Markup(f"<{tag}{written}>{joined(contents)}</{tag}>")


def isolated(text: str) -> Markup:
    """Return external text, escaped and isolated from the direction of the surrounding text."""
    return element("bdi", text)


def table(
    rows: Iterable[Iterable[str]],
    heads: Iterable[str] = (),
    *,
    totals: Iterable[str] = (),
    caption: str = "",
    columns: Sequence[Mapping[str, str]] = (),
    row_heads: bool = False,
    **attributes: str,
) -> Markup:
    """Return a table.

    Args:
        rows: Cells of each row.
        heads: Head of each column.
        totals: Cells of the last row.
        caption: Caption above the table.
        columns: Attributes of the cells of each column.
        row_heads: Whether the first cell of a row is its head.
        attributes: Attributes of the table.
    """

    def row(cells: Iterable[str], scope: str, heads: int | None) -> Markup:
        items = list(zip(cells, columns or repeat({}), strict=False))
        named = [element("th", cell, scope=scope, **column) for cell, column in items[:heads]]
        return element("tr", *named, *(element("td", cell, **column) for cell, column in items[len(named) :]))

    parts = [element("caption", caption, style="text-align:left")] if caption else []
    if heads:
        parts.append(element("thead", row(heads, "col", None)))
    parts.append(element("tbody", *(row(cells, "row", int(row_heads)) for cells in rows)))
    if totals:
        parts.append(element("tfoot", row(totals, "row", int(row_heads))))
    return element("table", *parts, **attributes)


def html_page(
    title: str, *body: Markup, style: str = "", head: Markup = Markup(), theme: str = "", **attributes: str
) -> str:
    """Return an HTML document.

    Args:
        title: Title of the document.
        body: Contents of the document's body.
        style: Style sheet, written into the page.
        head: Further elements of the document's head.
        theme: Attribute `data-theme` of the document, "light" or "dark". If empty, the reader's theme applies.
        attributes: Attributes of the body.
    """
    about = (
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", title),
        head,
        *([Markup(f"<style>{style}</style>")] if style else []),
    )
    parts = element("head", *about), element("body", *body, **attributes)
    return f"<!doctype html>{element('html', *parts, lang='en', data_theme=theme)}"
