"""Page bodies of rewards activity to one typed frame, by a fast route that steps aside wherever it could be wrong.

The fast route hands whole batches of bodies to Arrow with a fixed schema. It is taken only where it is known to give
what the exact route gives (our own strict JSON, then the records): guards look for everything that the two would read
differently, and what they stop, or what Arrow refuses, goes the exact way, page by page if need be. Both routes end in
the same Arrow columns and the same conversion.
"""

import io
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

import attrs
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from workbench.errors import UnexpectedAnswer
from workbench.interface import masks, strict_json
from workbench.interface.convert import Names, Unreadable, converter
from workbench.interface.rewards import RewardsActivity, RewardsItem
from workbench.interface.walk import DateTime, member
from workbench.tables.columns import EXTRA, MOMENT_TYPE, plan
from workbench.tables.decimals import cast
from workbench.tables.extra import json_text
from workbench.tables.rows import Notes, Table, arrow_table

BATCH = 64
"""Pages handed to Arrow at once."""
GROUP = 4
"""Pages of a stopped batch that share their fate: an odd page costs three others the fast route."""
OPENS = 1_000
"""Brackets in one page above which its depth is looked at: Arrow's reader has no limit, and the stack has."""
POOL = pa.system_memory_pool()
"""The default pool gives pages back to the kernel between batches, and spends a quarter of the time getting them again."""
_NO_NAMES: Names = {}
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


@attrs.frozen
class Part:
    """The rows of some pages, in Arrow, and how they were read."""

    table: Table
    rows: tuple[int, ...]  # of each page
    fast: bool
    pages: int = 0  # where several pages are one piece of rows; 0: as many as `rows` says


class Pages:
    """Reads page bodies into parts. Made once for a read; `read` may run in several threads.

    Args:
        names: Wire names that differ, as in a profile.
        reveal: `{"extra"}` shows what unknown members hold; pages that have any then go the exact way.
    """

    def __init__(self, names: Names = _NO_NAMES, reveal: Collection[str] = ()) -> None:
        self.plan = plan(RewardsItem)
        self.shown = self.plan.shown(reveal)
        self.converter = converter(names)
        self.names = {
            one.name: self.converter.wire_name(RewardsItem, member(RewardsItem, one.name)) for one in self.plan.columns
        }
        self.items = self.converter.wire_name(RewardsActivity, member(RewardsActivity, "items"))
        self.times = tuple(c.name for c in self.plan.columns if isinstance(c.kind, DateTime))
        types = {"transaction_amount_cents": pa.int64()}
        item = pa.struct([(self.names[c.name], types.get(c.name, pa.large_string())) for c in self.plan.columns])
        self.schema = pa.schema([(self.items, pa.list_(item))])

    def read(self, bodies: Sequence[bytes], first: int = 0) -> list[Part]:
        """Read some pages, the fast way where it is safe.

        Args:
            first: Number of the first page, for messages.

        Raises:
            UnexpectedAnswer: A page is not of the agreed shape.
        """
        stripped = [body.strip(b" \t\r\n") for body in bodies]
        good = [self._plain(body) for body in stripped]
        found: list[Part] = []
        for start, end, plain in runs(good):
            for i in range(start, end, BATCH):
                batch = stripped[i : min(i + BATCH, end)]
                found += self._try(batch, first + i) if plain else [self._exact(batch, first + i)]
        return found

    def _try(self, bodies: Sequence[bytes], first: int) -> list[Part]:
        """Read a batch the fast way, pages that it cannot read so apart."""
        if not bodies:
            return []
        try:
            parts = self._fast(bodies, first)
        except pa.ArrowException as error:
            parts = None
            if row := _ROW.search(str(error)):  # Arrow says which page it is
                at = min(int(row[1]), len(bodies) - 1)
                alone = self._exact(bodies[at : at + 1], first + at)
                return [*self._try(bodies[:at], first), alone, *self._try(bodies[at + 1 :], first + at + 1)]
        if parts is not None:
            return parts
        if len(bodies) <= GROUP:
            return [self._exact(bodies, first)]
        groups = (self._try(bodies[i : i + GROUP], first + i) for i in range(0, len(bodies), GROUP))
        return [part for group in groups for part in group]

    def _plain(self, body: bytes) -> bool:
        """Whether one body may be handed to Arrow at all."""
        if not body.startswith(b"{") or not body.endswith(b"}"):
            return False
        opens = np.count_nonzero((np.frombuffer(body, np.uint8) | 0x20) == 0x7B)  # `[` and `{`, in one comparison
        if opens > OPENS:
            try:
                orjson.loads(body)  # it stops at a depth of 1,024
            except orjson.JSONDecodeError:
                return False
        return True

    def _fast(self, bodies: Sequence[bytes], first: int) -> list[Part] | None:
        """Read a batch through Arrow; None where something in it, nobody knows where, is for the exact route.

        Raises:
            ArrowException: Arrow does not take it.
        """
        joined = b"\n".join(bodies)
        if b"\\" in joined and _SURROGATE.search(joined):
            return None
        if not joined.isascii():
            _validate(joined)
        table = pj.read_json(
            io.BytesIO(joined),
            read_options=pj.ReadOptions(block_size=len(joined) + 1, use_threads=False),
            parse_options=pj.ParseOptions(explicit_schema=self.schema, unexpected_field_behavior="infer"),
            memory_pool=POOL,
        )
        if table.num_rows != len(bodies) or len(table.column(0).chunks) != 1:
            return None  # two pages in one body, or half a page in each of two
        items = table.column(self.items).chunk(0)
        rows = items.flatten()
        fields = {rows.type.field(i).name: rows.field(i) for i in range(rows.type.num_fields)}
        named = set(self.names.values())
        more = {name: values for name, values in fields.items() if name not in named and values.null_count < len(rows)}
        above = {n: table.column(n) for n in table.column_names if n != self.items}
        if len(fields) + len(above) > len(named) and not _same_numbers(joined, [*more.values(), *above.values()]):
            return None
        if more and EXTRA in self.shown:
            return None
        counts = pc.fill_null(pc.list_value_length(items), 0).to_pylist()
        ends = list(accumulate(counts, initial=0))
        exact = set(pc.indices_nonzero(pc.is_null(items)).to_pylist()) if items.null_count else set()
        if rows.null_count:
            exact |= {bisect_right(ends, row) - 1 for row in pc.indices_nonzero(pc.is_null(rows)).to_pylist()}
        columns: dict[str, Any] = {}
        for column in self.plan.columns:
            columns[column.name] = values = fields[self.names[column.name]]
            convert = cast if column.name == "points" else _moments if column.name in self.times else None
            if convert is None:
                continue
            columns[column.name] = convert(values)
            if columns[column.name] is None:  # some page is odd: which?
                spans = [(start, end - start) for start, end in pairwise(ends)]
                exact |= {i for i, span in enumerate(spans) if span[1] and convert(values.slice(*span)) is None}
        columns[EXTRA] = _dots(more, len(rows))
        parts = []
        for start, end, odd in runs([i in exact for i in range(len(bodies))]):
            if odd:
                parts.append(self._exact(bodies[start:end], first + start))
                continue
            span = (ends[start], ends[end] - ends[start])
            here = dict(columns)
            if exact:
                for name, values in columns.items():
                    if values is None:  # only the pages beside the odd one can be converted
                        values = (cast if name == "points" else _moments)(fields[self.names[name]].slice(*span))
                    else:
                        values = values.slice(*span)
                    here[name] = values
            parts.append(Part(Table(here, self._beside(above, start, end)), tuple(counts[start:end]), fast=True))
        return parts

    @staticmethod
    def _beside(above: dict[str, Any], start: int, end: int) -> Notes:
        """Count the unknown members of pages."""
        aside = Notes()
        for name, values in above.items():
            values = values.slice(start, end - start)
            if values.null_count < len(values):
                aside.pages[name] += len(values) - values.null_count
        return aside

    def _exact(self, bodies: Sequence[bytes], first: int) -> Part:
        items: list[RewardsItem] = []
        counts = []
        above: Counter[str] = Counter()
        for i, body in enumerate(bodies):
            page = self.page(body, first + i)
            items += page.items
            counts.append(len(page.items))
            above.update(name for name, value in page.extra.items() if value is not None)
        table = arrow_table(self.plan, items, self.shown)
        table.aside.pages.update(above)
        return Part(table, tuple(counts), fast=False)

    def page(self, body: bytes, number: int) -> RewardsActivity:
        """Read one page as records.

        Args:
            number: Its number, for the message.

        Raises:
            UnexpectedAnswer: It is not of the agreed shape.
        """
        try:
            raw = strict_json.loads(body)
            page: RewardsActivity = self.converter.structure(raw, RewardsActivity)
        except strict_json.NotJson as error:
            words: str | Unreadable = str(error)
        except Unreadable as error:
            words = error
        else:
            if raw.get(self.items) is not None:
                return page
            words = f"{self.items} is missing"
        told = words.problems if isinstance(words, Unreadable) else ()
        why = "" if told else str(words)
        raise UnexpectedAnswer(f"page {number} is no page of rewards activity: {why}", problems=told) from None


def runs(good: Sequence[bool]) -> Iterator[tuple[int, int, bool]]:
    """Yield start, end and value of each run of equal values."""
    start = 0
    for i in range(1, len(good) + 1):
        if i == len(good) or good[i] != good[start]:
            yield start, i, good[start]
            start = i


def _validate(joined: bytes) -> None:
    """Raise ArrowInvalid where bytes are not UTF-8: Arrow's JSON reader would take them. Nine times as fast as decode."""
    ends = pa.array([0, len(joined)], type=pa.int64()).buffers()[1]
    pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(joined)]).validate(full=True)


def _same_numbers(joined: bytes, more: Iterable[Any]) -> bool:
    """Whether the strict reader takes the numbers among unknown members too: no NaN, no endless digits."""
    if not any("double" in str(values.type) for values in more):
        return True
    return not any(word in joined for word in (b"NaN", b"Inf")) and _LONG.search(joined) is None


_ROW = re.compile(r"in row (\d+)$")
_LONG = re.compile(rb"[0-9.eE+-]{300}")


_FIRST, _LAST = (pa.scalar(text).cast(MOMENT_TYPE) for text in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"))


def _moments(texts: Any) -> Any:
    """Return times in UTC; a text without a zone, or beyond the years of a datetime, is left to the exact route."""
    try:
        made = pc.cast(texts, MOMENT_TYPE)  # refuses a text without a zone
    except pa.ArrowInvalid:
        return None
    ends = pc.min_max(made)
    if ends["min"].is_valid and (ends["min"].value < _FIRST.value or ends["max"].value > _LAST.value):
        return None
    return made


def _dots(more: dict[str, Any], rows: int) -> Any:
    """Return the column of unknown members, each masked, in the order of their names in each row."""
    if not more:
        return pa.nulls(rows, pa.large_string())
    names = sorted(more)
    # Which members a row has, as one number: rows with the same ones share their text.
    there = sum(
        pc.is_valid(more[name]).to_numpy(zero_copy_only=False).astype(np.int64 if len(names) < 63 else object) << i
        for i, name in enumerate(names)
    )
    codes, where = np.unique(there, return_inverse=True)
    texts = [
        json_text({name: masks.DOTS for i, name in enumerate(names) if code >> i & 1}) if code else None
        for code in codes
    ]
    return pa.array(texts, type=pa.large_string()).take(pa.array(where))
