"""Pages of rewards activity: which pages to request for a user, and how page bodies become one typed frame.

The service returns no total and no "more" flag; its order and parameter names are undocumented. Therefore full pages
overlap by one row, which shows whether rows moved between two requests. A short page is not taken as the end of the
list, because the service may have left hidden rows out of the page. The end is an empty page, or two empty pages if
rows seem to be hidden. No row is skipped: after a page of n rows, the next page starts at most n rows later, so it does
not matter whether the service counts hidden rows.

Page bodies are parsed by a fast route or by an exact route (strict JSON, then records). The fast route is used only
where its result equals the result of the exact route. Both routes return the same Arrow columns.
"""

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import attrs
import numpy as np
import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.tables.columns import EXTRA, MOMENT_TYPE, form, json_text, layout_of
from workbench.analysis.tables.rows import WIDTHS, Notes, Table, arrow_table, merged, table_frame
from workbench.base.errors import Problem, UnexpectedAnswer
from workbench.base.schema import masks, strict_json
from workbench.base.schema.walk import DateTime, DecimalNumber, member
from workbench.service.interface.convert import Names, Unreadable, converter
from workbench.service.interface.transactions import (
    MAX_LIMIT,
    MAX_OFFSET,
    ListRewardsActivity,
    RewardsActivity,
    RewardsItem,
)

DEFAULT_LIMIT = 20  # the interface document says "default 20"
OVERLAP = 1
MAX_READINGS = 3
"""Maximum reads of one user's list if it changes during the read."""


Key = tuple[str | None, str | None, str | None]
"""Identity of a row: type, id and text. Ids are unique within a type. A row without an id is identified by its text."""
Keys = list[Key]
End = Literal["all", "reach", "offset ignored", "drift", "failed"]


@attrs.define
class PageCursor:
    """Progress of one user's read, which `requests` updates."""

    kept: list[Sequence[int]] = attrs.field(factory=list)  # indices of the rows to keep, by page
    end: End = "failed"
    rows: int = 0  # number of kept rows
    pages: int = 0
    offset: int = 0  # offset at which the read ended
    readings: int = 1
    duplicates: int = 0
    without_id: int = 0
    hidden: bool = False  # whether the service seems to hide rows: a short page was followed by more rows
    limit_ignored: int | None = None  # rows per page, if the service ignores a larger limit
    by_type: bool = False  # whether each type was also read separately, to read beyond the maximum offset
    back_to: str | None = None  # time of the last row read, if older pages were not needed
    other_type: int = 0  # number of rows of a type that was not requested
    reason: str = ""  # reason why the read failed

    @property
    def complete(self) -> bool:
        """Whether all rows were read, as far as can be determined."""
        return self.end == "all" and not self.other_type

    def offsets(self) -> Generator[int, Keys, None]:
        """Yield the offset of each page to request. The caller sends back the row keys of the page."""
        pages = list[Keys]()
        while True:
            start = len(self.kept)
            has_changed = yield from self._reading(pages)
            if not has_changed:
                self.kept[:start] = [()] * start
                return
            if self.readings == MAX_READINGS:
                self.end = "drift"
                self.kept[:] = _newest(pages)
                return
            # Rows shifted during the read, so some may be missing. Read the list again from its start.
            self.readings += 1

    def _page(self, offset: int, pages: list[Keys]) -> Generator[int, Keys, Keys]:
        """Yield the offset of a page; append the page to `pages` and return it."""
        page = yield offset
        pages.append(page)
        self.kept.append(())
        return page

    def _reading(self, pages: list[Keys]) -> Generator[int, Keys, bool]:
        """Yield the offsets for reading the list once; return whether the list changed during the read."""
        seen, lengths = set[Key](), list[int]()
        self.duplicates = self.without_id = 0
        self.hidden = False
        before: Keys = []
        beyond = False  # whether the previous page was empty
        offset = before_at = 0

        while True:
            self.offset = offset
            page = yield from self._page(offset, pages)
            at = len(self.kept) - 1
            full_before = len(before) >= MAX_LIMIT
            overlap = before_at + len(before) - offset if full_before else 0
            # The same page at two offsets suggests that the service ignores the offset. If the page is short, hidden
            # rows may be the cause instead; then a third request, one full limit later, returns other rows.
            same = bool(before) and page == before
            if same and not full_before:
                third = before_at + MAX_LIMIT
                same = third <= MAX_OFFSET and (yield from self._page(third, pages)) == page
            if same:
                self.end = "offset ignored"
                return False
            if full_before and page[:overlap] != before[-overlap:]:
                return True
            if not page:
                # A page may be empty because all of its rows are hidden. If that is likely, request one more page.
                is_likely = self.hidden or (at and not self.kept[at - 1])
                if is_likely and not beyond and offset + MAX_LIMIT <= MAX_OFFSET:
                    before, beyond, offset = [], True, offset + MAX_LIMIT
                    continue
                self.end = "all"
                break
            self.hidden |= beyond
            beyond = False
            if before and not full_before:
                if any(key in seen for key in page if key[1] is not None):
                    # The page repeats earlier rows: either the service leaves hidden rows out of pages, or the list
                    # shifted. Requesting the short page again shows which.
                    again = yield from self._page(before_at, pages)
                    if again != before:
                        return True
                self.hidden = True
            self.kept[at] = self._new(page, overlap, seen)
            lengths.append(len(page))
            if offset >= MAX_OFFSET:
                self.end = "reach"
                break
            before, before_at = page, offset
            new_rows = len(page) - (OVERLAP if len(page) >= MAX_LIMIT else 0)
            offset = min(offset + max(new_rows, 1), MAX_OFFSET)
        usual = lengths[0] if lengths else MAX_LIMIT
        least = 2 if usual == DEFAULT_LIMIT else 3  # minimum number of pages that indicate a limit of the service
        if usual < MAX_LIMIT and len(lengths) >= least and all(n == usual for n in lengths[:-1]):
            self.limit_ignored, self.hidden = usual, False
        return False

    def _new(self, page: Keys, overlap: int, seen: set[Key]) -> list[int]:
        """Return the rows of a page outside the overlap that are not in `seen`. Rows without an id are always new."""
        new = []
        for i, key in enumerate(page[overlap:], overlap):
            if key[1] is None:
                self.without_id += 1
            elif key in seen:
                self.duplicates += 1
                continue
            new.append(i)
            seen.add(key)
        return new


def _newest(pages: Sequence[Keys]) -> list[Sequence[int]]:
    """Return the rows to keep from several reads of a changing list. Each key is kept once, from the last read."""
    seen, rows = set[Key](), list[Sequence[int]]()
    for page in reversed(pages):
        rows.append([i for i, key in enumerate(page) if key not in seen])
        seen.update(page)
    return rows[::-1]


# -- bodies


_PARAMETERS = ("user_id", "type", "limit", "offset")


def row_keys(table: Table) -> list[Key]:
    """Return the key of each row."""
    columns = table.columns
    types, ids = (columns[name].to_numpy(zero_copy_only=False).tolist() for name in ("type", "id"))
    texts: list[str | None] = [None] * len(ids)
    if columns["id"].null_count:
        rows = pa.record_batch(columns).to_pylist()
        texts = [repr(row) if row["id"] is None else None for row in rows]
    return list(zip(types, ids, texts, strict=True))


class PageReader:
    """Parser of page bodies.

    Args:
        names: Wire names that differ from the assumed names, in the form that profiles use.
    """

    def __init__(self, names: Names) -> None:
        self.layout = layout_of(RewardsItem)
        self._converter = converter(names)
        columns = self.layout.columns
        self.parameters = self._wire_names(ListRewardsActivity, _PARAMETERS)
        self._items = self._wire_names(RewardsActivity, ["items"])["items"]
        self._wire = self._wire_names(RewardsItem, [column.name for column in columns])
        self._conversions = {c.name: _CONVERSIONS[type(c.kind)] for c in columns if type(c.kind) in _CONVERSIONS}
        types = [pa.large_string() if c.name in self._conversions else form(c).arrow for c in columns]
        self._item = pa.struct(list(zip(self._wire.values(), types, strict=True)))
        self._numbers = [field.name for field in self._item if pa.types.is_integer(field.type)]

    def _wire_names(self, record: type[Any], members: Sequence[str]) -> dict[str, str]:
        return {name: self._converter.wire_name(record, member(record, name)) for name in members}

    def read(self, body: bytes, number: int = 0) -> Table:
        """Parse a page.

        Args:
            body: Bytes of the body.
            number: Number of the page, for messages.

        Raises:
            UnexpectedAnswer: The body is not a page: an error body, invalid JSON, or a value of the wrong type.
        """
        tables = self.fast([body])
        return tables[0] if tables else self._exact(body, number)

    def fast(self, bodies: Sequence[bytes]) -> list[Table]:
        """Return the rows of each page, parsed in one batch by the fast route; empty if the result may be inexact.

        Counting quotation marks detects duplicate members of an object.
        """
        try:
            pages: list[dict[str, Any]] = [orjson.loads(body) for body in bodies]
            items = [page.pop(self._items) for page in pages]
            rows: list[dict[str, Any]] = list(chain.from_iterable(items))
            parsed = pa.array(rows, self._item)
        except (TypeError, AttributeError, KeyError, ValueError, OverflowError):
            return []
        if {*map(type, items)} != {list} or not {*map(type, rows)} <= {dict}:
            return []
        names = sorted(set().union(*rows).difference(self._wire.values()))
        others = [row.get(name) for row in rows for name in names]
        kinds = Counter(map(type, chain(others, *map(dict.values, pages))))
        numbers = {type(row.get(name)) for name in self._numbers for row in rows}
        if not ({*kinds} <= {str, int, bool, type(None)} and numbers <= {int, type(None)}):
            return []
        texts = sum(len(values) - values.null_count for values in parsed.flatten() if values.type != pa.int64())
        marks = 2 * (texts + kinds[str] + sum(map(len, chain(rows, pages))) + len(pages))
        quotes = np.count_nonzero(np.frombuffer(b"".join(bodies), np.uint8) == ord('"'))  # quicker than bytes.count
        if quotes != marks or any(b"\\" in body and b'\\"' in body for body in bodies):
            return []
        columns = {name: parsed.field(wire) for name, wire in self._wire.items()}
        for name, convert in self._conversions.items():
            columns[name] = convert(columns[name])
            if columns[name] is None:
                return []
        columns[EXTRA] = _masked_members(rows, names)
        tables, start = [], 0
        for page, listed in zip(pages, items, strict=True):
            part = {name: values.slice(start, len(listed)) for name, values in columns.items()}
            tables.append(Table(part, Notes(pages=_present(page))))
            start += len(listed)
        return tables

    def _exact(self, body: bytes, number: int) -> Table:
        problems: tuple[Problem, ...] = ()
        try:
            raw = strict_json.loads(body, repair=True)
            page: RewardsActivity = self._converter.structure(raw, RewardsActivity)
            if raw.get(self._items) is None:
                raise strict_json.NotJson(f"missing `{self._items}`")
        except strict_json.NotJson as error:
            problem = str(error)
        except Unreadable as error:
            problem, problems = "", error.problems
        else:
            table = arrow_table(self.layout, page.items, ())
            table.notes.unknown_members.clear()  # `frame` counts them in the column `extra`
            table.notes.pages = _present(page.extra)
            return table
        raise UnexpectedAnswer(f"page {number} of the rewards activity cannot be read: {problem}", problems=problems)

    def frame(self, tables: Sequence[Table]) -> pd.DataFrame:
        """Return the rows of several tables as a frame, with counts of unknown members. The tables do not change."""
        table = merged(tables or [with_user(arrow_table(self.layout, [], ()), "")])
        for cell in pc.value_counts(table.columns[EXTRA].drop_null()).to_pylist():
            for name in strict_json.stored(cell["values"]).keys() - self._wire.values():
                table.notes.unknown_members[name] += cell["counts"]
        return table_frame(self.layout, [table], ())


def _present(members: Mapping[str, Any]) -> Counter[str]:
    """Count members that have a value."""
    return Counter(name for name, value in members.items() if value is not None)


def cast(texts: object) -> Any:
    """Return an Arrow column of numeric texts in the first type that fits all; None if the result may be inexact.

    Arrow and `Decimal` differ on signs and exponents, and Arrow silently wraps numbers with too many digits.
    """
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > 38 or pc.any(pc.match_substring_regex(texts, "[+eE]")).as_py():
        return None
    for width in WIDTHS:
        try:
            return pc.cast(texts, width)
        except pa.ArrowInvalid:
            continue
    return None


_FIRST, _LAST = (
    pa.scalar(text).cast(MOMENT_TYPE).value for text in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z")
)


def times(texts: object) -> Any:
    """Return times in UTC; None if a text has no zone or is outside the range of datetime."""
    try:
        moments = pc.cast(texts, MOMENT_TYPE)  # raises an error for a text without a time zone
    except pa.ArrowInvalid:
        return None
    ends = pc.min_max(moments)
    if ends["min"].is_valid and not _FIRST <= ends["min"].value <= ends["max"].value <= _LAST:
        return None
    return moments


_CONVERSIONS: Mapping[type, Callable[[object], Any]] = {DecimalNumber: cast, DateTime: times}
"""Conversions of texts, by kind of column."""


def _masked_members(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Any:
    """Return the column `extra`, with the masked unknown members of each row."""
    texts = []
    for row in rows:
        members = {name: masks.DOTS for name in names if row.get(name) is not None}
        texts.append(json_text(members) if members else None)
    return pa.array(texts, type=pa.large_string())


def with_user(table: Table, user: str) -> Table:
    """Return a table with the user's id as first column, `user_id`."""
    ids = pa.repeat(pa.scalar(user, pa.large_string()), len(table.columns["id"]))
    return Table({"user_id": ids, **table.columns}, table.notes)
