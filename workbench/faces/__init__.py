"""How things look: any record, list, error, problem list, event or plan as plain text and as static, escaped HTML.

Pure: no I/O, nothing beyond the standard library and `attrs`. Text of others is hostile: control, direction and
invisible characters are shown as escapes, and only our own tags and attributes stand in the HTML.
"""

from collections.abc import Collection, Sequence
from typing import Any

from workbench.faces import markup, text
from workbench.faces.describe import MAX_ROWS, describe, end_of
from workbench.faces.notebook import register
from workbench.faces.palette import LOOKS, Look, look, paint, word
from workbench.faces.text import Paint, unpainted
from workbench.faces.values import label, moment, money

__all__ = [
    "LOOKS", "MAX_ROWS", "Look", "describe", "end_of", "html", "html_table", "label", "look", "moment", "money",
    "paint", "plain", "register", "table", "word",
]  # fmt: skip


def plain(x: Any, width: int = 100, *, reveal: Collection[str] = (), paint: Paint = unpainted) -> str:
    """Give anything of this package as plain text.

    Args:
        width: Columns of the terminal; prose wraps, ids and addresses never do.
        reveal: Attribute names, or dotted paths, of private members that are shown as they are.
        paint: Colours, `palette.paint` for a terminal.
    """
    return text.write(describe(x, reveal=reveal), width, paint)


def html(x: Any, *, reveal: Collection[str] = ()) -> str:
    """Give anything of this package as static, escaped HTML that reads in light and dark themes."""
    return markup.write(describe(x, reveal=reveal))


def table(
    rows: Sequence[Any], columns: Sequence[str] | None = None, *, width: int = 100, limit: int = MAX_ROWS,
    reveal: Collection[str] = (), paint: Paint = unpainted,
) -> str:  # fmt: skip
    """Give many records, or mappings, as a table of plain text; the rows beyond `limit` are counted.

    Args:
        columns: Dotted attribute names, or keys, in the order wanted; all that have a value where left out.
    """
    return text.write(describe(list(rows), reveal=reveal, columns=columns, rows=limit), width, paint)


def html_table(
    rows: Sequence[Any], columns: Sequence[str] | None = None, *, limit: int = MAX_ROWS, reveal: Collection[str] = ()
) -> str:
    """Give many records, or mappings, as an HTML table; the rows beyond `limit` are counted."""
    return markup.write(describe(list(rows), reveal=reveal, columns=columns, rows=limit))
