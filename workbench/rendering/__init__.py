"""How things look: any record, list, error, problem list, event or plan as plain text and as static, escaped HTML.

Pure: no I/O, nothing beyond the standard library and `attrs`. Text of others is hostile: control, direction and
invisible characters are shown as escapes, and only our own tags and attributes stand in the HTML.
"""

from collections.abc import Collection, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from workbench.rendering.text import Paint, unpainted

if TYPE_CHECKING:
    from workbench.rendering.describe import describe as describe
    from workbench.rendering.describe import end_of as end_of
    from workbench.rendering.notebook import register as register
    from workbench.rendering.palette import LOOKS as LOOKS
    from workbench.rendering.palette import Look as Look
    from workbench.rendering.palette import look as look
    from workbench.rendering.palette import paint as paint
    from workbench.rendering.palette import word as word
    from workbench.rendering.values import label as label
    from workbench.rendering.values import moment as moment
    from workbench.rendering.values import money as money

MAX_ROWS = 200
"""Rows of a table that are shown unless more are asked for; the rest is counted."""

_WHERE = {
    "LOOKS": "palette", "Look": "palette", "describe": "describe", "end_of": "describe", "label": "values",
    "look": "palette", "moment": "values", "money": "values", "paint": "palette", "register": "notebook", "word": "palette",
}  # fmt: skip

__all__ = ["MAX_ROWS", "html", "html_table", "plain", "table", *_WHERE]


if not TYPE_CHECKING:  # a checker sees the names above, and no others

    def __getattr__(name: str) -> Any:
        if name not in _WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
        return found


def _described(x: Any, **how: Any) -> Any:
    from workbench.rendering.describe import describe

    return describe(x, **how)


def _text(block: Any, width: int, paint: Paint) -> str:
    from workbench.rendering.text import write

    return write(block, width, paint)


def _html(block: Any) -> str:
    from workbench.rendering.markup import write

    return write(block)


def plain(x: Any, width: int = 100, *, reveal: Collection[str] = (), paint: Paint = unpainted) -> str:
    """Return anything of this package as plain text.

    Args:
        width: Columns of the terminal; prose wraps, ids and addresses never do.
        reveal: Attribute names, or dotted paths, of private members that are shown as they are.
        paint: Colors, `palette.paint` for a terminal.
    """
    return _text(_described(x, reveal=reveal), width, paint)


def html(x: Any, *, reveal: Collection[str] = ()) -> str:
    """Return anything of this package as static, escaped HTML that reads in light and dark themes."""
    return _html(_described(x, reveal=reveal))


def table(
    rows: Sequence[Any], columns: Sequence[str] | None = None, *, width: int = 100, limit: int = MAX_ROWS,
    reveal: Collection[str] = (), paint: Paint = unpainted,
) -> str:  # fmt: skip
    """Return many records, or mappings, as a table of plain text; the rows beyond `limit` are counted.

    Args:
        columns: Dotted attribute names, or keys, in the order wanted; all that have a value where left out.
    """
    return _text(_described(list(rows), reveal=reveal, columns=columns, rows=limit), width, paint)


def html_table(
    rows: Sequence[Any], columns: Sequence[str] | None = None, *, limit: int = MAX_ROWS, reveal: Collection[str] = ()
) -> str:
    """Return many records, or mappings, as an HTML table; the rows beyond `limit` are counted."""
    return _html(_described(list(rows), reveal=reveal, columns=columns, rows=limit))
