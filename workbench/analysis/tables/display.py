"""How IPython and notebooks show frames: amounts with separators, short ids, decimals without trailing zeros.

Only the display changes: values, dtypes, attributes and `print(frame)` stay the same. Frames that are not from the
workbench are displayed by pandas.
"""

import re
from collections.abc import Callable, Hashable
from decimal import Decimal
from functools import partial
from html import escape
from typing import Any

import pandas as pd

from workbench.analysis.tables.columns import AMOUNT, currencies
from workbench.analysis.tables.periods import freq_of, label_of
from workbench.base.schema.rules import UUID
from workbench.base.system.progress import ipython_shell
from workbench.service.rendering.text import money

_LETTERS = 8  # number of characters to show of an id
_NOTES = 6  # maximum number of notes below a frame
Writer = Callable[[object], str]


def register() -> None:
    """Register the display of frames once, in the IPython shell that runs this code, if there is one."""
    formatters = getattr(getattr(ipython_shell(), "display_formatter", None), "formatters", None)
    if formatters is None or pd.DataFrame in formatters["text/html"].type_printers:
        return
    formatters["text/html"].for_type(pd.DataFrame, html)
    formatters["text/plain"].for_type(pd.DataFrame, lambda frame, printer, _: printer.text(text(frame)))


def html(frame: pd.DataFrame) -> str | None:
    """Return a frame as HTML; None if pandas is set to display text."""
    if not _is_ours(frame) or not pd.get_option("display.notebook_repr_html"):
        markup: str | None = frame._repr_html_()  # type: ignore[operator]
        return markup
    most, some = pd.get_option("display.max_rows"), pd.get_option("display.min_rows")
    table = frame.to_html(
        classes="dataframe",
        border=0,
        escape=False,  # each formatter escapes its own text
        formatters=_formatters(frame),
        max_cols=pd.get_option("display.max_columns") or None,
        max_rows=some if most and some and len(frame) > most else most or None,
    )
    notes = [*map(str, frame.attrs.get("notes", ()))]
    lines = [f"{len(frame):,} rows × {frame.shape[1]:,} columns", *notes[:_NOTES]]
    lines += [f'… and {len(notes) - _NOTES} more: frame.attrs["notes"]'] * (len(notes) > _NOTES)
    return f"{table}<p>{'<br>'.join(map(escape, lines))}</p>"


def _formatters(frame: pd.DataFrame) -> dict[Hashable, Writer]:
    """Return the function that formats the cells of each column as HTML."""
    writers = _writers(frame)
    plain = _or_missing(partial(_plain, pd.get_option("display.max_colwidth")))
    return {name: _id if _holds_ids(frame, name) else _cell(frame[name], writers.get(name, plain)) for name in frame}


def _cell(column: "pd.Series[Any]", write: Writer) -> Writer:
    style = "text-align:left" if _is_text(column) else "text-align:right;white-space:nowrap"
    return lambda value: f'<div style="{style}">{escape(write(value))}</div>'


def _plain(most: int | None, value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if most is None or len(text) <= most else f"{text[: most - 3]}..."


def _id(value: object) -> str:
    """Return the first characters of an id as HTML. The full id appears on hover and can be copied."""
    text = _or_missing(str)(value)
    style = f"display:inline-block;width:{_LETTERS + 1}ch;overflow:hidden;white-space:nowrap"
    style = f"{style};text-overflow:ellipsis;vertical-align:bottom;text-align:left"
    return f'<span title="{escape(text)}" style="{style}">{escape(text)}</span>'


def text(frame: pd.DataFrame) -> str:
    """Return a frame as text."""
    from pandas.io.formats import format as pandas_format

    if not _is_ours(frame):
        return repr(frame)
    # pandas exports this function, but its stubs lack it
    options = dict(pandas_format.get_dataframe_repr_params())  # type: ignore[attr-defined]
    ids = {name: _or_missing(_short) for name in frame if _holds_ids(frame, name)}
    options["formatters"] = {**_writers(frame), **ids}
    written = frame.to_string(**options, na_rep="–")
    return str(written)


def _is_ours(frame: pd.DataFrame) -> bool:
    """Return whether a frame has columns of the workbench, and names that need no escaping in HTML."""
    names: list[str] = [name if type(name) is str else "<" for name in frame.columns]
    plain = isinstance(frame.index, pd.RangeIndex) or pd.api.types.is_integer_dtype(frame.index.dtype)
    ours = "kind" in frame.attrs or any(AMOUNT.search(name) for name in names)
    return ours and plain and frame.columns.is_unique and all(name == escape(name) for name in names)


def _writers(frame: pd.DataFrame) -> dict[Hashable, Writer]:
    """Return the function that formats the numbers of each column.

    Visible amounts in several currencies stay in cents.
    """
    most = pd.get_option("display.max_rows") or len(frame)
    seen = frame if len(frame) <= 2 * most else frame.iloc[[*range(most), *range(-most, 0)]]
    writers: dict[Hashable, Writer] = {}
    for name in frame:
        kind = str(frame[name].dtype)
        unit = AMOUNT.search(str(name))
        if unit is not None and unit[1] == "cents" and kind == "Int64":
            codes = currencies(seen, str(name))
            writers[name] = partial(_money, codes.pop()) if len(codes) == 1 else _number
        elif unit is not None and unit[1] == "usd":
            writers[name] = lambda value: f"{value:,.2f}"
        elif kind.startswith("datetime64") and "," not in kind and (freq := freq_of(str(name), frame.attrs)):
            writers[name] = partial(label_of, freq=freq)
        elif kind == "Int64" or kind.startswith("decimal128"):
            writers[name] = str if re.search(r"(^|[._])(id|version|code)$", str(name)) else _number
    return {name: _or_missing(write) for name, write in writers.items()}


def _money(code: str, cents: object) -> str:
    return money(int(str(cents)), code)


def _number(value: object) -> str:
    written = f"{value:,f}" if isinstance(value, Decimal) else f"{value:,}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def _or_missing(write: Writer) -> Writer:
    def written(value: object) -> str:
        return "–" if value is None or value is pd.NA or value is pd.NaT or value != value else write(value)

    return written


def _short(value: object) -> str:
    return str(value)[:_LETTERS] if UUID.fullmatch(str(value)) else str(value)


def _is_text(column: "pd.Series[Any]") -> bool:
    return not (pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(column.dtype))


def _holds_ids(frame: pd.DataFrame, name: Hashable) -> bool:
    """Return whether a text column holds UUIDs, judged by its first value."""
    column = frame[name]
    first = column.first_valid_index() if pd.api.types.is_string_dtype(column.dtype) else None
    return first is not None and UUID.fullmatch(str(column.loc[first])) is not None
