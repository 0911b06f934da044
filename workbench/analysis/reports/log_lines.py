"""Parse the lines of an event log into columns.

DuckDB and Arrow parse regular lines in bulk. The strict JSON parser parses all other lines one by one.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.rewards.pages import times
from workbench.analysis.tables.columns import EXTRA, MOMENT_TYPE, Column, FrameLayout, form
from workbench.analysis.tables.event_frames import COMPUTED, envelope_of, events_layout, time_of, with_times
from workbench.analysis.tables.rows import WIDTHS, Notes, Table, arrow_table, merged
from workbench.base.errors import UsageError
from workbench.base.schema import strict_json
from workbench.base.schema.fields import DOTS
from workbench.base.schema.walk import Boolean, Choice, DateTime, DecimalNumber, Integer
from workbench.base.system.limits import LimitExceeded, check_ratio
from workbench.service.interface.convert import Converter, Unreadable
from workbench.service.interface.events import EVENT_KINDS, Event

BLOCK = 8_000_000
"""Approximate number of bytes read at a time."""
MAX_LINE = 4_000_000
"""Maximum bytes of one event."""
_MAX_SKIPPED = 100_000_000
_SAMPLE = 2_000
"""Number of lines that are sampled to find the usual members."""
_MEMORY = "150MB"
_CACHED = 500_000
_DELIVERED = "delivered"
_NOT_LOGS = {
    b"PK\x03\x04": "a ZIP archive or a spreadsheet",
    b"\xd0\xcf\x11\xe0": "a spreadsheet or document in an old format",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF document",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
}
"""First bytes of files that are not logs."""
Kinds = frozenset[str] | None  # None means all kinds, including unknown kinds


class Block(NamedTuple):
    """A block of log lines.

    Args:
        first: Number of the first line.
        data: The bytes of the lines.
        starts: Offset of each line, then the end of the last line.
        size: Size of the block in the file, in bytes.
        is_cut: Whether the last line has no line break, as in a log that is being written.
    """

    first: int
    data: bytes
    starts: Any
    size: int
    is_cut: bool

    def is_unfinished(self, number: int, size: int) -> bool:
        """Return whether a line is the unfinished last line of a log that is still being written.

        The first line of a log and a line longer than `MAX_LINE` do not count as unfinished.
        """
        return self.is_cut and number == self.first + len(self.starts) - 2 and 1 < number and size <= MAX_LINE


Lines = list[tuple[int, str]]
"""Numbers of lines that are not events, each with the reason."""
UNFINISHED, NO_EVENT, NEW_KIND = (
    "unfinished last line",
    "object without resource and action",
    "event of an unknown kind",
)
SKIPPED = (UNFINISHED, NO_EVENT, NEW_KIND)
"""Reasons to skip a line and list it in `rejects`. Such lines never raise an error."""


def duckdb() -> Any:
    """Import and return DuckDB.

    Raises:
        MissingExtra: DuckDB is not installed.
    """
    return import_module("duckdb")


@contextmanager
def log_engine() -> Iterator[Any]:
    config = {
        "memory_limit": _MEMORY,
        "autoinstall_known_extensions": False,
        "arrow_large_buffer_size": True,
        "threads": 1,
    }
    with duckdb().connect(config=config) as engine:
        engine.execute("SET enable_progress_bar=false")  # DuckDB shows its progress bar in notebooks by default
        yield engine


def log_blocks(path: Path) -> Iterator[Block]:
    """Yield the lines of a file in blocks of about `BLOCK` bytes.

    Raises:
        UsageError: The file is damaged, or is not a log.
    """
    with path.open("rb") as raw:
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        file: Any = gzip.GzipFile(fileobj=raw) if packed else raw
        if kind := next((name for magic, name in _NOT_LOGS.items() if raw.peek(8).startswith(magic)), ""):
            raise UsageError(f"{path.name} is {kind}, not a log", of="events.read_log")
        first, before = 1, 0
        try:
            while data := bytes(file.read(BLOCK) + file.readline(MAX_LINE + 1)):
                check_ratio(file.tell(), raw.tell())
                is_cut = not data.endswith(b"\n") and not _skip_line(file)
                data += b"" if data.endswith(b"\n") else b"\n"
                starts = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
                yield Block(first, data, np.concatenate([[0], starts]), raw.tell() - before, is_cut)
                first, before = first + len(starts), raw.tell()
        except LimitExceeded as error:
            problem = f"{path.name}: {error}"
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            problem = f"{path.name}, from line {first}: the file is damaged or incomplete ({type(error).__name__})"
        else:
            return
    raise UsageError(problem, of="events.read_log")


def _skip_line(file: Any) -> int:
    """Skip the rest of an overlong line; return its number of bytes.

    Raises:
        LimitExceeded: More than `_MAX_SKIPPED` bytes would be skipped.
    """
    skipped = 0
    while rest := file.readline(MAX_LINE):
        skipped += len(rest)
        if rest.endswith(b"\n"):
            break
        if skipped > _MAX_SKIPPED:
            raise LimitExceeded(f"a line is longer than {_MAX_SKIPPED:,} bytes")
    return skipped


def read_strictly(converter: Converter, line: bytes) -> tuple[str, Event | None, object]:
    """Parse a line strictly. Return an error text, or the event and the time that the line states.

    For a blank line, all results are empty.
    """
    if not line.strip():
        return "", None, None
    if len(line) > MAX_LINE:
        return f"longer than {MAX_LINE:,} bytes", None, None
    try:
        raw = strict_json.loads(line, repair=True)
        inner, at = envelope_of(raw) if isinstance(raw, Mapping) else (raw, None)
        return "", converter.structure(inner, Event), at
    except (strict_json.NotJson, Unreadable) as error:
        return str(error), None, None


# -- lines to columns


class BlockReader:
    """Reader of blocks of lines into columns. DuckDB and Arrow parse regular lines, the strict JSON parser all others.

    A regular line has exactly as many quotation marks as the members of its event kind need, so it has no unknown and
    no duplicate member. Its texts have no escapes, and its numbers, times and enum values convert exactly.

    Args:
        engine: DuckDB.
        layout: The columns.
        kinds: Event kinds to return; None for all kinds, including unknown kinds.
        shown: The masked columns to show.
        converter: Parses an event strictly.
        exact: Whether to parse every line strictly.
    """

    def __init__(
        self,
        engine: Any,
        layout: FrameLayout,
        kinds: Kinds,
        shown: Collection[str],
        converter: Converter,
        *,
        exact: bool,
    ) -> None:
        self._engine, self._layout, self._kinds, self._shown = engine, layout, kinds, shown
        self._converter, self._exact = converter, exact
        self._columns = tuple(column for column in layout.columns if column.name not in COMPUTED)
        self._usual: tuple[Column, ...] = ()  # members that occur in a sample of the first lines
        self._names = sorted(kinds or EVENT_KINDS)
        # Masking function of each private column, or None to show dots. Results are cached because values repeat.
        masks = {c.name: c.about.masker for c in layout.columns if c.private and c.name not in shown}
        self._masks = {name: mask and lru_cache(100_000)(mask) for name, mask in masks.items()}
        self._words = pa.array([*map(_quoted, self._names)], pa.large_string())
        # For each wire path, whether events of each kind can have it. The last entry (unknown kinds) is False.
        self._has: dict[str, Any] = {}
        for place, kind in enumerate(self._names):
            for path in _all_paths(events_layout({kind}).columns):
                self._has.setdefault(path, np.zeros(len(self._names) + 1, bool))[place] = True

    def read(self, block: Block) -> tuple[int, Lines, Table]:
        """Return the size of a block, its lines that are not events, and the columns of its events."""
        first, data, starts, size, _ = block
        sizes = np.diff(starts) - 1
        strict: Sequence[int] = range(len(sizes))
        tables: list[Table] = []
        texts = pa.LargeStringArray.from_buffers(len(sizes), pa.py_buffer(starts), pa.py_buffer(data))
        regular = False
        with suppress(pa.ArrowInvalid):
            texts.validate(full=True)  # raises an error unless the texts are valid UTF-8
            regular = not self._exact
        if regular:
            marks, unusual = _marks(data, starts)
            unusual |= sizes > MAX_LINE
            lines = pa.table({"line": texts, "place": np.arange(len(sizes)), "marks": marks})
            for columns in (self._usual_of(lines), self._columns):
                table, strict = self._regular(
                    lines.take(pa.array(strict)) if tables else lines, columns, unusual, escapes=b"\\" in data
                )
                tables.append(table)
                if not len(strict):
                    break
        events: list[Event] = []
        places: list[int] = []
        times: list[object] = []
        problems: Lines = []
        for place in strict:
            problem, event, at = read_strictly(self._converter, data[starts[place] : starts[place + 1] - 1])
            if problem and block.is_unfinished(first + int(place), int(sizes[place])):
                problem = UNFINISHED
            problem = problem or self._skipped(event)
            if problem:
                problems.append((first + int(place), problem))
            if event is not None and (self._kinds is None or event.kind in self._kinds):
                events.append(event)
                places.append(place)
                times.append(at)
        if events or not tables:
            table = arrow_table(self._layout, events, self._shown)
            read = [time_of(at, table.notes) for at in times]
            more = {"": pa.array(places, pa.int64()), _DELIVERED: pa.array(read, MOMENT_TYPE)}
            tables.append(Table({**table.columns, **more}, table.notes))
        for table in tables:
            if _DELIVERED not in table.columns:
                table.columns[_DELIVERED] = pa.nulls(len(table.columns[""]), MOMENT_TYPE)
        lines = _in_lines(tables)
        return size, problems, with_times(lines, lines.columns.pop(_DELIVERED))

    def _skipped(self, event: Event | None) -> str:
        """Return the reason to skip an event of an unknown kind if kinds were chosen; empty for all other events."""
        if event is None or self._kinds is None or event.kind in EVENT_KINDS:
            return ""
        if event.resource is None:
            return NO_EVENT
        return NEW_KIND if event.resource in {kind.partition(".")[0] for kind in self._kinds} else ""

    def _usual_of(self, lines: Any) -> tuple[Column, ...]:
        """Return the columns that have a value in a sample of the first lines."""
        if not self._usual:
            event = self._query(_select(self._columns, self._kinds), lines.slice(0, _SAMPLE)).column("event")
            self._usual = tuple(c for c in self._columns if _values(event, c.wire).null_count < len(event))
        return self._usual

    def _regular(self, lines: Any, members: Collection[Column], unusual: Any, *, escapes: bool) -> tuple[Table, Any]:
        """Return the columns and positions of the regular lines, and the positions of all other lines.

        Args:
            lines: The lines, with their positions and numbers of quotation marks.
            members: The members to look for; a line with any other member is not regular.
            unusual: Mask of the lines that are already known to be irregular.
            escapes: Whether any line contains an escape sequence.
        """
        table = self._query(_select(members, self._kinds), lines)
        event = table.column("event").combine_chunks()
        place = table.column("place").to_numpy()
        kind = pc.fill_null(pc.index_in(table.column("kind"), self._words), len(self._names)).to_numpy()
        objects = sorted({*_all_paths(members)} - {column.wire for column in members})
        present = {path: _valid(_values(event, path)) for path in objects}
        # for each object, a mask of the lines in which the object has a known member
        inside = dict.fromkeys(["", *objects], np.zeros(len(kind), bool))
        regular = (kind < len(self._names)) & ~unusual[place] & present.get("body", False)
        marks = np.zeros(len(kind), np.int64)
        for path, there in present.items():
            marks += 2 * (there & self._has[path][kind])
        columns: dict[str, Any] = {}
        for column in members:
            values = _values(event, column.wire)
            there = _valid(values)
            is_text = not isinstance(column.kind, Integer | Boolean)
            if is_text:
                regular &= ~there | _all_true(pc.starts_with(values, '"'))
                if escapes:
                    regular &= ~_true(pc.match_substring(values, "\\"))
                values = pc.utf8_slice_codeunits(values, 1, -1)
            marks += (4 if is_text else 2) * (there & self._has[column.wire][kind])
            inside[_parent(column.wire)] = inside[_parent(column.wire)] | there
            columns[column.name], fits = _converted(column, values)
            regular &= ~there | fits
            if column.name == "id":
                regular &= there
        for path in reversed(objects):  # inner objects first, since an inner object is a member of the outer one
            inside[_parent(path)] = inside[_parent(path)] | inside[path]
            regular &= ~present[path] | inside[path]
        given = table.column("marks").to_numpy()
        # null members, each with two quotation marks, may explain lines that have more marks than expected
        if (odd := regular & (given > marks)).any():
            rows = lines.filter(pc.is_in(lines.column("place"), pa.array(place[odd])))
            marks[odd] += 2 * self._query(_nulls(self._columns), rows).column(0).to_numpy()
        regular &= given == marks
        return self._table(columns, kind, place, regular), place[~regular]

    def _table(self, columns: Mapping[str, Any], kind: Any, place: Any, regular: Any) -> Table:
        """Return the layout's columns for regular lines. The columns of absent members are empty."""
        rows = int(regular.sum())
        filtered = (
            dict(columns) if rows == len(regular) else {n: v.filter(pa.array(regular)) for n, v in columns.items()}
        )
        filtered["kind"] = pa.array([*self._names, None], pa.large_string()).take(pa.array(kind[regular]))
        for column in self._layout.columns:
            hidden = column.name in self._masks
            if column.name not in filtered:
                is_text = hidden or column.name == "at_source"
                filtered[column.name] = pa.nulls(
                    rows, pa.large_string() if is_text else form(column).arrow or WIDTHS[0]
                )
            elif hidden:
                filtered[column.name] = _masked(self._masks[column.name], filtered[column.name])
        filtered |= {EXTRA: pa.nulls(rows, pa.large_string()), "": pa.array(place[regular])}
        return Table({name: filtered[name] for name in (*(c.name for c in self._layout.columns), EXTRA, "")}, Notes())

    def _query(self, query: str, lines: Any) -> Any:
        with self._engine.cursor() as cursor:
            cursor.register("lines", lines)
            return cursor.sql(query).to_arrow_table()


# All names in these queries come from the interface, never from a log, so no SQL can be injected.


def _select(columns: Iterable[Column], kinds: Kinds) -> str:
    """Return the SQL that parses `columns` as JSON, for lines of the given kinds (None: all) and of unknown kinds."""
    structure: dict[str, Any] = {"resource": "JSON", "action": "JSON"}
    for column in columns:
        *parents, last = column.wire.split(".")
        inside = structure
        for parent in parents:
            inside = inside.setdefault(parent, {})
        inside[last] = "JSON"
    other = ", ".join(f"'{_quoted(kind)}'" for kind in sorted({*EVENT_KINDS} - {*kinds})) if kinds else ""
    kept = f"kind is null or kind not in ({other})" if other else "true"
    return f"""
        select place, marks, event, kind from (select *, event.resource || '.' || event.action as kind from (
            select place, marks, try(json_transform(line, '{json.dumps(structure)}')) as event from lines)) where {kept}
    """


def _nulls(columns: Iterable[Column]) -> str:
    """Return the SQL that counts the members with the value null in each line, including objects."""
    paths = ", ".join(f"'$.{path}'" for path in sorted({*_all_paths(columns)}))
    return f"select len(list_filter(json_type(line, [{paths}]), lambda kind: kind = 'NULL')) from lines"


def _quoted(kind: str) -> str:
    return json.dumps(kind).replace(".", '"."')


def _values(event: object, path: str) -> Any:
    return pc.struct_field(event, path.split("."))


def _valid(values: object) -> Any:
    return pc.is_valid(values).to_numpy(zero_copy_only=False)


def _all_paths(columns: Iterable[Column]) -> Iterator[str]:
    """Yield the wire paths of event columns and of the objects that contain them."""
    for column in columns:
        path = column.wire
        while path:
            yield path
            path = _parent(path)


def _parent(path: str) -> str:
    return path.rpartition(".")[0]


def _true(flags: object) -> Any:
    return pc.fill_null(flags, False).to_numpy(zero_copy_only=False)


def _all_true(flags: object) -> Any:
    """Return True if every value is true (the usual case, which is quick to check), else the mask."""
    return pc.all(flags, min_count=0).as_py() or _true(flags)


def _marks(data: bytes, starts: Any) -> tuple[Any, Any]:
    """Return each line's number of quotation marks, and a mask of the irregular lines.

    A line is irregular if it has an escaped quotation mark, or a comma or space before `}`.
    """
    octets, escapes = np.frombuffer(data, np.uint8), b"\\" in data
    counts, unusual = np.zeros(len(starts) - 1, np.int64), np.zeros(len(starts) - 1, bool)
    lines = max(1, len(counts) * _CACHED // len(data))  # lines per step, so that the data fits into the processor cache
    for first in range(0, len(counts), lines):
        begins = starts[first : first + lines + 1]
        piece, begins = octets[begins[0] : begins[-1]], begins - begins[0]
        counts[first : first + lines] = np.add.reduceat(
            (piece == ord('"')).view(np.uint8), begins[:-1], dtype=np.uint32
        )
        ends = np.flatnonzero(piece == ord("}")) - 1
        places = ends[(piece[ends] == ord(",")) | (piece[ends] <= ord(" "))]
        if escapes:
            escaped = np.flatnonzero((piece[:-1] == ord("\\")) & (piece[1:] == ord('"')))
            places = np.concatenate([places, escaped])
        unusual[first + np.searchsorted(begins, places, side="right") - 1] = True
    return counts, unusual


def _converted(column: Column, values: Any) -> tuple[Any, Any]:
    """Convert texts to an Arrow column. Also return a mask of the texts that have the column's type."""
    kind = type(column.kind)
    if isinstance(column.kind, Choice):
        known = pa.array([*(str(c.value) for c in column.kind.of), None], values.type)
        return values, _all_true(pc.is_in(values, known))
    if kind not in _CONVERSIONS or values.null_count == len(values):
        return values if kind not in _CONVERSIONS else pa.nulls(len(values), form(column).arrow or WIDTHS[0]), True
    convert = _CONVERSIONS[kind]
    converted = convert(values)
    if converted is not None:
        return converted, True
    readable = [
        word for word in pc.unique(values).drop_null() if convert(pa.array([word.as_py()], values.type)) is not None
    ]
    fits = pc.is_in(values, pa.array([word.as_py() for word in readable], values.type))
    return convert(pc.if_else(fits, values, None)), _true(fits)


def _whole(texts: object) -> Any:
    try:
        return pc.cast(texts, pa.int64())
    except pa.ArrowInvalid:
        return None


def _flags(texts: Any) -> Any:
    known = pc.is_in(texts, pa.array(["true", "false", None], texts.type))
    return pc.equal(texts, "true") if pc.all(known).as_py() else None


def _amounts(texts: object) -> Any:
    """Return decimals of the usual width; None if any text has more digits or another notation."""
    usual = pc.match_substring_regex(texts, r"^-?[0-9]{1,12}(\.[0-9]{1,6})?$")
    return pc.cast(texts, WIDTHS[0]) if pc.all(usual).as_py() is not False else None


_CONVERSIONS: Mapping[type[Any], Callable[[Any], Any]] = {
    Integer: _whole,
    Boolean: _flags,
    DateTime: times,
    DecimalNumber: _amounts,
}


def _masked(of_format: Callable[[str], str] | None, values: Any) -> Any:
    """Mask values: texts with the function of their format, if there is one, and all other values as dots."""
    if of_format is None or not pa.types.is_large_string(values.type):
        return pc.if_else(pc.is_valid(values), pa.scalar(DOTS, pa.large_string()), None)
    encoded = values.dictionary_encode()
    return pa.array(map(of_format, encoded.dictionary.to_pylist()), pa.large_string()).take(encoded.indices)


def _in_lines(tables: Sequence[Table]) -> Table:
    """Concatenate tables, with the rows in line order and without the position column."""
    if len(tables) == 1:
        return Table({name: values for name, values in tables[0].columns.items() if name}, tables[0].notes)
    columns = merged(tables).columns
    order = pc.sort_indices(columns.pop(""))
    return Table({name: values.take(order) for name, values in columns.items()}, tables[-1].notes)
