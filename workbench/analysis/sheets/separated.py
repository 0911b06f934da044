"""Split text into cells by the only separator that yields a table. Several such separators are an error."""

import csv
import io
import re

import attrs

from workbench.analysis.sheets.grid import Budget, Grid, Row, blank, head_of, heads_of, trimmed, typed_columns
from workbench.analysis.sheets.questions import BadSheet, FileQuestion, UnclearTable
from workbench.base.system.limits import FileLimits, LimitExceeded

SEPARATORS = (",", ";", "\t", "|")
_SAMPLE = 100_000  # number of characters from which the separator is detected
_GUARDED = re.compile(r"'(?= *[=+\-@\t\r\n＝＋－＠]|')")
"""Quote that `to_file` puts before text that a spreadsheet would run."""
_MOST = 0.5
"""Minimum share of rows that a separator splits into at least two cells, but no more cells than the header row has."""


def separated_grid(text: str, limits: FileLimits, *, separator: str | None, head: int | None) -> Grid:
    """Return the rows of a text file.

    Raises:
        UnclearTable: Several separators or several header rows are possible.
        BadSheet: The text is not a table, or exceeds a limit.
    """
    first, _, rest = text.partition("\n")
    if declared := re.fullmatch(r'"?sep=(.)"?\s*', first, re.IGNORECASE):
        # the first line declares the separator; an empty line replaces it, so that line numbers do not change
        separator, text = separator or declared[1], f"\n{rest}"
    separator = separator or _separator(text, limits, head)
    rows = _split(text, separator, limits)
    return Grid(rows, head_of(rows, head))


def _separator(text: str, limits: FileLimits, head: int | None) -> str:
    sample = text[:_SAMPLE] if len(text) <= _SAMPLE else text[: text.rfind("\n", 0, _SAMPLE) + 1 or _SAMPLE]
    fits: dict[str, float] = {}
    widths: dict[str, int] = {}
    typed: dict[str, int] = {}
    even: set[str] = set()  # separators that split all rows into the same number of cells
    for separator in SEPARATORS:
        if separator not in sample:
            continue
        try:
            rows = _split(sample, separator, attrs.evolve(limits, columns=max(limits.columns, len(sample))))
            at = _first_head(rows, head)
        except LimitExceeded:
            continue
        body = rows[at + 1 :]
        width = len(rows[at].cells) if rows else 0
        if width > 1:
            widths[separator] = width
            fits[separator] = sum(1 < len(trimmed(row.cells)) <= width for row in body) / len(body) if body else 1.0
            typed[separator] = typed_columns(rows, at)
            even |= {separator} if any(len({*map(count, rows)}) == 1 for count in (_cells, _filled)) else set()
    good = [separator for separator, share in fits.items() if share >= _MOST and (not even or separator in even)]
    good = [separator for separator in good if typed[separator]] or good
    if len(good) > 1:
        readings = {repr(separator): f"{widths[separator]} columns" for separator in good}
        raise UnclearTable([FileQuestion(argument="separator", about="the file", readings=readings)])
    return good[0] if good else max(fits, key=lambda s: fits[s], default=",")


def _cells(row: Row) -> int:
    return len(row.cells)


def _filled(row: Row) -> int:
    return len(trimmed(row.cells))


def _first_head(rows: list[Row], head: int | None) -> int:
    """Return the index of the first possible header row, or -1. Only the chosen separator needs exactly one."""
    try:
        return heads_of(rows, head)[0]
    except BadSheet:
        return -1


def _split(text: str, separator: str, limits: FileLimits) -> list[Row]:
    before = csv.field_size_limit(len(text))  # the limit is global, so it is restored below
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows, start, budget = list[Row](), 1, Budget(limits, rows=-1)
    try:
        for parts in reader:
            line, start = start, reader.line_num + 1
            if blank(parts):
                continue
            if len(parts) > limits.columns and not "".join(parts[limits.columns :]).strip():
                parts = parts[: limits.columns]
            budget.count(line, parts)
            rows.append(Row(line, [_GUARDED.sub("", part, count=1) for part in parts]))
    except csv.Error as error:
        raise BadSheet(f"line {reader.line_num}: {error}") from None
    finally:
        csv.field_size_limit(before)
    return rows
