"""Logs of webhook events, one JSON object a line, plain or gzip, larger than memory; read by DuckDB (extra `analysis`).

DuckDB parses the lines on all cores. A line that holds exactly the members and types of its kind becomes columns at
once; any other line is read strictly, as one event in memory is, so that the frame is the same either way.
"""

import glob
import gzip
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache, reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.errors import InvalidRequest, missing_extra
from workbench.interface import strict_json
from workbench.interface.convert import Names, Unreadable, converter, read_time
from workbench.interface.events import EVENT_KINDS, Event
from workbench.interface.walk import Boolean, Choice, DateTime, DecimalNumber, Integer
from workbench.tables.columns import EXTRA, Column, Plan, form, masked
from workbench.tables.decimals import WIDTHS, cast
from workbench.tables.events import COMPUTED, events_plan, kinds_of, with_times
from workbench.tables.exports import write_file
from workbench.tables.rows import TEXT, Notes, Table, arrow_table, joined_chunks, table_frame

BLOCK = 32_000_000
"""Bytes of the lines read at once."""
MAX_LINE = 4_000_000
"""Bytes of one event at most."""
_MEMORY = "150MB"
_REPEATS = "An event that was delivered more than once counts each time."
_NO_NAMES: Names = {}
Block = tuple[int, list[bytes]]  # lines, and the number of the first
Kinds = frozenset[str] | None  # None: all of them, unknown ones too


class Events:
    """Event logs on disk: `summary()` of all events, `frame()` in memory, `to_parquet()` for more than fits there."""

    def __init__(self, paths: tuple[Path, ...], names: Names) -> None:
        self.paths = paths
        self._converter = converter(names)
        self._own_names = bool(names)  # then every line is read strictly

    def __iter__(self) -> Iterator[Event]:
        """Yield each event, read strictly.

        Raises:
            InvalidRequest: A line is not an event; the message names file and line.
        """
        for path in self.paths:
            for block in _blocks(path):
                for _, event in self._strict(path, block, range(len(block[1]))):
                    yield event

    def _strict(self, path: Path, block: Block, places: Iterable[int]) -> Iterator[tuple[int, Event]]:
        """Yield the events at some places of a block, read strictly."""
        first, lines = block
        for place in places:
            line = lines[place]
            if not line.strip():
                continue
            try:
                event = self._converter.structure(strict_json.loads(line), Event)
            except (strict_json.NotJson, Unreadable) as error:
                problem = str(error)
            else:
                yield place, event
                continue
            lines.clear()  # a traceback that prints locals shows no private value
            del line
            raise InvalidRequest(f"{path.name}, line {first + place}: {problem}", of="events.read")

    def frame(self, of: str | None = None, *, reveal: Collection[str] = ()) -> pd.DataFrame:
        """Return the events as a typed frame, as `to_frame(events)` does.

        Args:
            of: Keep the events of one kind, such as "user.updated", or of a pattern, such as "transaction.*"; other lines
                are then only checked to be JSON.
            reveal: Names of masked columns to show.

        Raises:
            InvalidRequest: `of` is not a kind of event, or a line is not an event; the message names file and line.
        """
        kinds = kinds_of(of)
        plan = events_plan(kinds or EVENT_KINDS)
        shown = plan.shown(reveal)
        tables = list(self._tables(plan, kinds, shown))
        if of is None:  # the columns of the kinds that occur
            plan = events_plan({kind for table in tables for kind in pc.unique(table.columns["kind"]).to_pylist()})
            names = [*(column.name for column in plan.columns), EXTRA]
            tables = [Table({name: table.columns[name] for name in names}, table.notes) for table in tables]
        return table_frame(plan, tables, shown & {*(c.name for c in plan.columns), EXTRA})

    def to_parquet(self, path: str | Path, of: str | None = None, *, reveal: Collection[str] = ()) -> Path:
        """Write the events to a typed Parquet file, in bounded memory. Its columns are those of all kinds, or of `of`.

        Raises:
            FileExistsError: The file exists.
            InvalidRequest: `of` is not a kind of event, or a line is not an event; the message names file and line.
        """
        path = Path(path)
        if path.exists():
            raise FileExistsError(f"{path} exists")
        kinds = kinds_of(of)
        plan = events_plan(kinds or EVENT_KINDS)
        shown = plan.shown(reveal)
        types = {name: values.type for name, values in arrow_table(plan, [], shown).columns.items()}
        schema = pa.schema([(n, WIDTHS[1] if pa.types.is_decimal(kind) else kind) for n, kind in types.items()])

        def write(file: Any) -> None:
            with pq.ParquetWriter(file, schema, compression="zstd") as writer:
                for table in self._tables(plan, kinds, shown):
                    writer.write_table(pa.table(table.columns).cast(schema))

        write_file(path, write, private=bool(shown))
        return path

    def summary(self) -> pd.DataFrame:
        """Count events by day (UTC), kind and status; the status is that of the application, the card or the transaction.

        Returns:
            Columns day (datetime64, missing if an event has no time), kind, status, events (Int64), in this order.

        Raises:
            InvalidRequest: A line is not JSON; the message names file and line.
        """
        counts: Counter[tuple[str, str, str]] = Counter()
        with _engine() as engine:
            for path in self.paths:
                for at, kind, status, count in _counts(engine, path):
                    counts[_day(at), kind or "", status or ""] += count
        rows = sorted(counts.items())
        made = pd.DataFrame(
            {
                "day": pd.Series([key[0] or None for key, _ in rows], dtype=object).astype("datetime64[s]"),
                "kind": pd.array([key[1] or None for key, _ in rows], dtype=TEXT),
                "status": pd.array([key[2] or None for key, _ in rows], dtype=TEXT),
                "events": pd.array([count for _, count in rows], dtype="Int64"),
            }
        )
        made.attrs.update(kind="event_summary", notes=[_REPEATS], revealed=[], unknown={})
        return made

    def _tables(self, plan: Plan, kinds: Kinds, shown: Collection[str]) -> Iterator[Table]:
        """Yield the events of each block of lines as columns, in the order of the lines."""
        with _engine() as engine:
            for path in self.paths:
                for block in _blocks(path):
                    fast = None if self._own_names else _regular(engine, plan, kinds, shown, block)
                    strict, columns = fast or (range(len(block[1])), {})
                    del fast
                    try:
                        events = list(self._strict(path, block, strict))
                    except InvalidRequest:
                        columns.clear()  # as private as the lines
                        raise
                    events = [(i, event) for i, event in events if kinds is None or event.kind in kinds]
                    yield with_times(_merged(plan, shown, columns, events))


def read(paths: Any, *, names: Names = _NO_NAMES) -> Events:
    """Return the events of log files, one JSON object per line, plain or gzip; they are read lazily.

    Args:
        paths: A file, a pattern such as "logs/*.ndjson.gz", or several of them.
        names: Wire names that differ, as in a profile.

    Raises:
        FileNotFoundError: A file does not exist, or no file matches a pattern.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    found: list[Path] = []
    for path in given:
        matches = sorted(glob.glob(str(path))) if glob.has_magic(str(path)) else [str(path)]  # noqa: PTH207 - a pattern may be absolute
        if not matches or not all(Path(match).is_file() for match in matches):
            raise FileNotFoundError(f"no event log at {path}")
        found += map(Path, matches)
    return Events(tuple(found), names)


def duckdb() -> Any:
    """Return the library DuckDB.

    Raises:
        ModuleNotFoundError: It is not installed; the message says how.
    """
    try:
        return import_module("duckdb")
    except ModuleNotFoundError as error:
        raise missing_extra(error) or error from None


@contextmanager
def _engine() -> Iterator[Any]:
    config = {"memory_limit": _MEMORY, "autoinstall_known_extensions": False, "arrow_large_buffer_size": True}
    with duckdb().connect(config=config) as engine:
        yield engine


def _blocks(path: Path) -> Iterator[Block]:
    """Yield the lines of a file with their numbers, about `BLOCK` bytes at a time."""
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    with gzip.open(path) if packed else path.open("rb") as file:
        first = 1
        while data := file.read(BLOCK) + file.readline(MAX_LINE):
            lines = data.replace(b"\r\n", b"\n").split(b"\n")
            too_long = next((place for place, line in enumerate(lines) if len(line) >= MAX_LINE), None)
            if too_long is not None:
                del data, lines
                raise InvalidRequest(
                    f"{path.name}, line {first + too_long}: longer than {MAX_LINE:,} bytes", of="events.read"
                )
            yield first, lines
            first += data.count(b"\n")


# -- lines to columns

_TIME = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
    r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
)
_YEARS = "between timestamptz '0001-01-01 00:00:00Z' and timestamptz '9999-12-31 23:59:59.999999Z'"
_UNUSUAL = r"[\\\[\x00-\x1f]|,\s*\}"
"""Escapes, lists, control characters, and the commas at an end that DuckDB takes: such lines are read strictly."""
_COMPUTED = {"at": "null::timestamptz", "at_source": "null::varchar"}  # see `with_times`
_THREAD = 4_096  # lines that one thread of DuckDB parses


@cache
def _query(plan: Plan) -> str:
    """Return the SQL that reads lines as columns of a plan, and whether a line is regular.

    Without escapes and lists, the quotation marks of a line tell how many members and how many texts it has. If the
    members and texts of its kind are as many, then none is unknown, none stands twice, and none has another type.
    """
    structure: dict[str, Any] = {}
    fits, values, texts = ["event.id is not null"], [], set()
    for column in plan.columns:
        if column.name in COMPUTED:
            values.append(f'{_COMPUTED.get(column.name, "kind")} as "{column.name}"')
            continue
        leaf, inside = _leaf(column.wire), structure
        *parents, last = column.wire.split(".")
        for parent in parents:
            inside = inside.setdefault(parent, {})
        inside[last] = "JSON" if isinstance(column.kind, Integer | Boolean) else "VARCHAR"
        if inside[last] == "VARCHAR":
            texts.add(column.wire)
        condition, value = _conversion(column, leaf)
        fits.append(f"({leaf} is null or {condition})")
        values.append(f'{value} as "{column.name}"')
    kinds = {kind: paths for kind, paths in _PATHS.items() if paths <= set(_all_paths(plan))}
    members, strings = (
        " ".join(f"when '{kind}' then {_present(paths & among)}" for kind, paths in kinds.items())
        for among in (set(_all_paths(plan)), texts)
    )
    # The names are those of the interface, and none comes from a log.
    return f"""
        select coalesce(members = case kind {members} end and strings = case kind {strings} end and {" and ".join(fits)},
                        false) as regular, {", ".join(values)}
        from (select *, event.resource || '.' || event.action as kind
              from (select *, try(json_transform(line, '{json.dumps(structure)}')) as event from lines))
    """  # noqa: S608


def _conversion(column: Column, leaf: str) -> tuple[str, str]:
    """Return the SQL condition under which the text of a value can be taken as it is, and its value."""
    match column.kind:
        case Integer():
            return f"regexp_full_match({leaf}::varchar, '-?[0-9]{{1,18}}')", f"try_cast({leaf}::varchar as bigint)"
        case Boolean():
            return f"{leaf}::varchar in ('true', 'false')", f"try_cast({leaf}::varchar as boolean)"
        case DateTime():
            moment = f"try_cast({leaf} as timestamptz)"
            return f"(regexp_full_match({leaf}, '{_TIME}') and coalesce({moment} {_YEARS}, false))", moment
        case Choice(of=choices):
            return f"{leaf} in ({', '.join(repr(str(choice.value)) for choice in choices)})", leaf
        case _:
            return "true", leaf


def _leaf(path: str) -> str:
    return "event." + ".".join(f'"{part}"' for part in path.split("."))


def _present(paths: Collection[str]) -> str:
    """Return the SQL of how many of some paths have a value."""
    return " + ".join(f"({_leaf(path)} is not null)::int" for path in sorted(paths))


def _all_paths(plan: Plan) -> Iterator[str]:
    """Yield the wire paths of the columns of events, and of the objects they stand in."""
    for column in plan.columns:
        path = column.wire
        while path:
            yield path
            path = path.rpartition(".")[0]


_PATHS = {kind: frozenset(_all_paths(events_plan({kind}))) for kind in EVENT_KINDS}

Fast = tuple[list[int], dict[str, Any]]  # places of lines to be read strictly; columns of the others, with their places


def _regular(engine: Any, plan: Plan, kinds: Kinds, shown: Collection[str], block: Block) -> Fast | None:
    """Return the columns of regular lines; None if the block has to be read strictly."""
    try:
        texts = pa.array(block[1], pa.large_binary()).cast(pa.large_string())  # refuses what is not UTF-8
    except pa.ArrowInvalid:
        return None
    places = pa.array(range(len(texts)), pa.int64())
    invalid: list[int] = []
    if kinds is not None:  # a line without the word of a resource, and without escapes, is of another kind
        tests = [pc.match_substring(texts, word) for word in ("\\", *{kind.partition(".")[0] for kind in kinds})]
        maybe = reduce(pc.or_, tests)
        rest = pa.table({"line": texts.filter(pc.invert(maybe)), "place": places.filter(pc.invert(maybe))})
        query = "select place from lines where not json_valid(line)"
        invalid = engine.from_arrow(rest).query("lines", query).to_arrow_table().column(0).to_pylist()
        texts, places = texts.filter(maybe), places.filter(maybe)
    marks, names, *nulls = (pc.count_substring(texts, mark) for mark in ('"', '":', '":null', '": null'))
    members = pc.subtract(pc.subtract(names, nulls[0]), nulls[1])
    members = pc.if_else(pc.match_substring_regex(texts, _UNUSUAL), -1, members)
    given = pa.table({"line": texts, "members": members, "strings": pc.subtract(pc.divide(marks, 2), names)})
    given = pa.Table.from_batches(given.to_batches(max_chunksize=_THREAD), given.schema)
    table = engine.from_arrow(given).query("lines", _query(plan)).to_arrow_table()
    table = table.append_column("", places)
    if kinds is not None:
        wanted = pc.is_in(table.column("kind"), pa.array(kinds, table.column("kind").type))
        table = table.filter(pc.or_(wanted, pc.is_null(table.column("kind"))))
    strict = [*invalid, *table.filter(pc.invert(table.column("regular"))).column("").to_pylist()]
    table = table.filter(table.column("regular")).combine_chunks()
    columns: dict[str, Any] = {"": table.column("").to_pylist()}
    for column in plan.columns:
        columns[column.name] = _converted(column, table.column(column.name).combine_chunks(), column.name in shown)
        if columns[column.name] is None:
            return None
    columns[EXTRA] = pa.nulls(table.num_rows, pa.large_string())
    return sorted(strict), columns


def _converted(column: Column, values: Any, shown: bool) -> Any:
    """Return the Arrow column of a column's values, as `arrow_table` makes it; None if one does not fit."""
    if column.private and not shown:
        words = values.dictionary_encode()
        convert = form(column).convert
        masks = [masked(column, convert(word)) for word in words.dictionary.to_pylist()]
        return pa.array(masks, pa.large_string()).take(words.indices)
    return cast(values) if isinstance(column.kind, DecimalNumber) else values.cast(form(column).arrow)


def _merged(plan: Plan, shown: Collection[str], columns: dict[str, Any], events: list[tuple[int, Event]]) -> Table:
    """Return the columns of a block: those of regular lines, and those of events read strictly, in their order."""
    if not events and columns:
        return Table({name: values for name, values in columns.items() if name}, Notes())
    table = arrow_table(plan, [event for _, event in events], shown)
    if not columns:
        return table
    order = pc.sort_indices(pa.array([*columns[""], *(i for i, _ in events)], pa.int64()))
    merged = {
        name: joined_chunks([columns[name], values]).combine_chunks().take(order)
        for name, values in table.columns.items()
    }
    return Table(merged, table.notes)


# -- counts


_COUNTS = """
    select case when ends_with(moment, 'Z') then substr(moment, 1, 10) else moment end, resource || '.' || action, status, count(*)
    from (
        select resource, action, coalesce(eventReceivedAt, case when action = 'completed' then body.spend.postedAt end,
                        body.spend.authorizedAt, body.receivedAt) as moment,
               coalesce(body.applicationStatus, body.status, body.spend.status) as status
        from read_json(?, format = 'newline_delimited', maximum_object_size = 4000000, columns = {
            resource: 'VARCHAR', action: 'VARCHAR', eventReceivedAt: 'VARCHAR', body:
            'STRUCT(applicationStatus VARCHAR, status VARCHAR, receivedAt VARCHAR, spend STRUCT(status VARCHAR, authorizedAt VARCHAR, postedAt VARCHAR))'})
    ) group by all
"""
_WHERE = re.compile(r"in line (\d+)")


def _counts(engine: Any, path: Path) -> list[tuple[Any, ...]]:
    try:
        rows: list[tuple[Any, ...]] = engine.execute(_COUNTS, [glob.escape(str(path))]).fetchall()
    except (duckdb().InvalidInputException, duckdb().ConversionException) as error:
        line = _WHERE.search(str(error))
        where = f"line {line[1]}: " if line else ""
        problem = f"{path.name}, {where}not one JSON object a line ({type(error).__name__})"
    else:
        return rows
    raise InvalidRequest(problem, of="events.read")  # outside the block: the engine's message quotes the line


def _day(text: str | None) -> str:
    """Return the day of a time, in UTC; empty if it cannot be read."""
    if text is None or re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return text or ""
    moment = read_time(text)[0]
    return moment.date().isoformat() if isinstance(moment, datetime) else ""
