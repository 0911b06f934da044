"""Logs of webhook events, one JSON object a line, plain or gzip, larger than memory; read by DuckDB (extra `analysis`).

DuckDB parses the lines on all cores. A line whose members and values are exactly those of its kind becomes columns at
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
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.errors import InvalidRequest, missing_extra, visible
from workbench.interface import strict_json
from workbench.interface.convert import Names, Unreadable, converter, read_time
from workbench.interface.events import EVENT_KINDS, Event
from workbench.interface.walk import Boolean, Choice, DateTime, DecimalNumber, Integer
from workbench.tables.columns import EXTRA, MOMENT_TYPE, Column, Plan, form, masked
from workbench.tables.decimals import WIDTHS, cast
from workbench.tables.exports import write_file
from workbench.tables.frames import events_plan
from workbench.tables.rows import TEXT, Notes, Table, arrow_table, joined_chunks, table_frame

BLOCK = 8_000_000
"""Bytes of the lines read at once."""
MAX_LINE = 4_000_000
"""Bytes of one event at most."""
_MEMORY = "150MB"
_REPEATS = "An event that was delivered more than once counts each time."
_NO_NAMES: Names = {}


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
            for number, line in _lines(path):
                event = self._event(line)
                if isinstance(event, str):
                    del line  # a traceback that prints locals shows no private value
                    raise InvalidRequest(f"{path.name}, line {number}: {event}", of="events.read")
                yield event

    def _event(self, line: bytes) -> Event | str:
        """Return the event of a line read strictly, or what is wrong with it."""
        try:
            return self._converter.structure(strict_json.loads(line), Event)
        except (strict_json.NotJson, Unreadable) as error:
            return str(error)

    def frame(self, of: str | None = None, *, reveal: Collection[str] = ()) -> pd.DataFrame:
        """Return the events as a typed frame, as `to_frame(events)` does.

        Args:
            of: Keep the events of one kind, such as "user.updated"; other lines are then only checked to be JSON.
            reveal: Names of masked columns to show.

        Raises:
            InvalidRequest: `of` is not a kind of event, or a line is not an event; the message names file and line.
        """
        plan = _plan(of)
        shown = plan.shown(reveal)
        tables = list(self._tables(plan, of, shown))
        if of is None:  # the columns of the kinds that occur
            kinds = {kind for table in tables for kind in pc.unique(table.columns["kind"]).to_pylist()}
            plan = events_plan(kinds)
            names = [*(column.name for column in plan.columns), EXTRA]
            tables = [Table({name: table.columns[name] for name in names}, table.notes) for table in tables]
        return table_frame(plan, tables, shown & {*(c.name for c in plan.columns), EXTRA})

    def to_parquet(self, path: str | Path, of: str | None = None, *, reveal: Collection[str] = ()) -> Path:
        """Write the events to a typed Parquet file, in bounded memory. Its columns are those of all kinds, or of one.

        Raises:
            FileExistsError: The file exists.
            InvalidRequest: `of` is not a kind of event, or a line is not an event; the message names file and line.
        """
        path = Path(path)
        if path.exists():
            raise FileExistsError(f"{path} exists")
        plan = _plan(of)
        shown = plan.shown(reveal)
        types = {name: values.type for name, values in arrow_table(plan, [], shown).columns.items()}
        schema = pa.schema([(n, WIDTHS[1] if pa.types.is_decimal(kind) else kind) for n, kind in types.items()])

        def write(file: Any) -> None:
            with pq.ParquetWriter(file, schema, compression="zstd") as writer:
                for table in self._tables(plan, of, shown):
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

    def _tables(self, plan: Plan, of: str | None, shown: Collection[str]) -> Iterator[Table]:
        """Yield the events of each block of lines as columns, in the order of the lines."""
        with _engine() as engine:
            for path in self.paths:
                for numbers, lines in _blocks(path):
                    fast = None if self._own_names else _fast(engine, plan, of, shown, lines)
                    strict, columns = (range(len(lines)), {}) if fast is None else fast
                    events = []
                    for i in strict:
                        event = self._event(lines[i])
                        if isinstance(event, str):
                            del lines, columns, fast
                            raise InvalidRequest(f"{path.name}, line {numbers[i]}: {event}", of="events.read")
                        if of in (None, event.kind):
                            events.append((i, event))
                    yield _merged(plan, shown, columns, events)


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


def _plan(of: str | None) -> Plan:
    if of is not None and of not in EVENT_KINDS:
        raise InvalidRequest(
            f"unknown event kind {visible(of, 80)} (known: {', '.join(EVENT_KINDS)})", of="events.read"
        )
    return events_plan(set(EVENT_KINDS) if of is None else {of})


def _duckdb() -> Any:
    try:
        return import_module("duckdb")
    except ModuleNotFoundError as error:
        raise missing_extra(error) or error from None


@contextmanager
def _engine() -> Iterator[Any]:
    with _duckdb().connect(config={"memory_limit": _MEMORY, "autoinstall_known_extensions": False}) as engine:
        yield engine


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    with gzip.open(path) if packed else path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE):
            number += 1
            if len(line) == MAX_LINE:
                del line
                raise InvalidRequest(f"{path.name}, line {number}: longer than {MAX_LINE:,} bytes", of="events.read")
            if line.strip():
                yield number, line


def _blocks(path: Path) -> Iterator[tuple[list[int], list[bytes]]]:
    numbers: list[int] = []
    lines: list[bytes] = []
    size = 0
    for number, line in _lines(path):
        numbers.append(number)
        lines.append(line)
        size += len(line)
        if size >= BLOCK:
            yield numbers, lines
            numbers, lines, size = [], [], 0
    if lines:
        yield numbers, lines


# -- lines to columns


_MEMBERS = """
    select case when ok then concat(line->>'$.resource', '.', line->>'$.action') end as kind,
           case when ok then to_json(json_keys(line, {paths}))::varchar end as members
    from (select line, json_valid(line) and not contains(line, '\\u') as ok from lines)
"""
_VALUES = "select {fits} as fits, {values} from (select json_transform(line, '{structure}') as event from lines)"
_TIME = r'"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})"'


@attrs.frozen
class _Queries:
    """The SQL that reads events of a plan."""

    members: str  # the kind of each line, and the names of its members by path
    values: str
    paths: tuple[str, ...]  # of the objects in an event


@cache
def _queries(plan: Plan) -> _Queries:
    columns = [column for column in plan.columns if column.name != "kind"]
    paths = tuple(dict.fromkeys(_parent(path) for path in _with_parents(columns)))
    structure: dict[str, Any] = {}
    for column in columns:
        inside = structure
        *parents, last = column.wire.split(".")
        for parent in parents:
            inside = inside.setdefault(parent, {})
        inside[last] = "JSON"
    leaves = {column.name: "event." + ".".join(f'"{part}"' for part in column.wire.split(".")) for column in columns}
    fits = [f"({leaf} is null or {_fits(column, leaf)})" for column, leaf in zip(columns, leaves.values(), strict=True)]
    values = [
        f"""{leaf if isinstance(column.kind, Integer | Boolean) else f"({leaf}->>'$')"}::varchar as "{column.name}\""""
        for column, leaf in zip(columns, leaves.values(), strict=True)
    ]
    values.append("concat(event.resource->>'$', '.', event.action->>'$') as kind")
    return _Queries(
        _MEMBERS.format(paths=[f"$.{path}" if path else "$" for path in paths]),
        _VALUES.format(fits=" and ".join(fits), values=", ".join(values), structure=json.dumps(structure)),
        paths,
    )


def _parent(path: str) -> str:
    return path.rpartition(".")[0]


def _with_parents(columns: Iterable[Column]) -> Iterator[str]:
    for column in columns:
        path = column.wire
        while path:
            yield path
            path = _parent(path)


def _fits(column: Column, leaf: str) -> str:
    """Return the condition under which a JSON value can be taken as it is."""
    text = f"{leaf}::varchar"
    match column.kind:
        case Integer():
            return f"regexp_full_match({text}, '-?[0-9]{{1,18}}')"
        case Boolean():
            return f"{text} in ('true', 'false')"
        case DateTime():
            return f"regexp_full_match({text}, '{_TIME}')"
        case Choice(of=choices):
            return f"{text} in ({', '.join(repr(json.dumps(str(choice.value))) for choice in choices)})"
        case _:
            return f"starts_with({text}, '\"')"


@cache
def _members_of(kind: str) -> dict[str, frozenset[str]]:
    """Return the members of each object in an event of a kind, by path."""
    found: dict[str, set[str]] = {}
    for path in _with_parents(column for column in events_plan({kind}).columns if column.name != "kind"):
        found.setdefault(_parent(path), set()).add(path.rpartition(".")[2])
    return {path: frozenset(names) for path, names in found.items()}


def _regular(kind: str | None, members: str | None, paths: tuple[str, ...]) -> bool:
    """Whether an event has known members only, each once, and objects where objects belong."""
    if kind not in EVENT_KINDS or members is None:
        return False
    known = _members_of(kind)
    found = dict(zip(paths, json.loads(members), strict=True))
    for path, names in found.items():
        if path not in known:
            continue  # an object of other kinds; its parent has it as an unknown member
        here = _parent(path) not in found or path.rpartition(".")[2] in (found[_parent(path)] or ())
        if path and not here:
            continue
        if not names or len(set(names)) < len(names) or not known[path].issuperset(names):
            return False
    return {"id", "resource", "action"} <= set(found[""])


Fast = tuple[list[int], dict[str, Any]]  # places of lines to be read strictly; columns of the others, with their places


def _fast(engine: Any, plan: Plan, of: str | None, shown: Collection[str], lines: list[bytes]) -> Fast | None:
    """Return the columns of regular lines; None if the block has to be read strictly."""
    queries = _queries(plan)
    try:
        texts = pa.array(lines, pa.large_binary()).cast(pa.large_string())  # refuses what is not UTF-8
    except pa.ArrowInvalid:
        return None
    found = engine.from_arrow(pa.table({"line": texts})).query("lines", queries.members).to_arrow_table()
    kinds, members = (found.column(name).combine_chunks().dictionary_encode() for name in ("kind", "members"))
    kind_names, member_names = kinds.dictionary.to_pylist(), members.dictionary.to_pylist()
    verdicts: dict[tuple[int | None, int | None], bool] = {}
    regular: list[int] = []
    strict: list[int] = []
    for i, key in enumerate(zip(kinds.indices.to_pylist(), members.indices.to_pylist(), strict=True)):
        if key not in verdicts:
            kind, names = (
                None if at is None else of_[at] for at, of_ in zip(key, (kind_names, member_names), strict=True)
            )
            verdicts[key] = _regular(kind, names, queries.paths)
        other = of is not None and key[0] is not None and kind_names[key[0]] != of
        if not other:
            (regular if verdicts[key] else strict).append(i)
    values = engine.from_arrow(pa.table({"line": texts.take(pa.array(regular, pa.int64()))})).query(
        "lines", queries.values
    )
    table = values.to_arrow_table().combine_chunks()
    fits = table.column("fits").to_pylist()
    strict += [i for i, fit in zip(regular, fits, strict=True) if not fit]
    table = table.filter(table.column("fits")).combine_chunks()
    columns: dict[str, Any] = {"": [i for i, fit in zip(regular, fits, strict=True) if fit]}
    for column in plan.columns:
        texts = table.column(column.name).cast(pa.large_string()).combine_chunks()
        columns[column.name] = _converted(column, texts, column.name in shown)
        if columns[column.name] is None:
            return None
    columns[EXTRA] = pa.nulls(table.num_rows, pa.large_string())
    return sorted(strict), columns


def _converted(column: Column, texts: Any, shown: bool) -> Any:
    """Return the Arrow column of a column's values as text, as `arrow_table` makes it; None if one does not fit."""
    if column.private and not shown:
        words = texts.dictionary_encode()
        convert = form(column).convert
        masks = [masked(column, convert(word)) for word in words.dictionary.to_pylist()]
        return pa.array(masks, pa.large_string()).take(words.indices)
    if isinstance(column.kind, DecimalNumber):
        return cast(texts)
    if isinstance(column.kind, DateTime):
        texts = pc.replace_substring_regex(texts, r"^(0000.*)$", "")  # the year 0 does not exist
    try:
        return pc.cast(texts, MOMENT_TYPE if isinstance(column.kind, DateTime) else form(column).arrow)
    except pa.ArrowInvalid:
        return None


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
        select resource, action, coalesce(eventReceivedAt, body.receivedAt) as moment,
               coalesce(body.applicationStatus, body.status, body.spend.status) as status
        from read_json(?, format = 'newline_delimited', maximum_object_size = 4000000, columns = {
            resource: 'VARCHAR', action: 'VARCHAR', eventReceivedAt: 'VARCHAR', body:
            'STRUCT(applicationStatus VARCHAR, status VARCHAR, receivedAt VARCHAR, spend STRUCT(status VARCHAR))'})
    ) group by all
"""
_WHERE = re.compile(r"in line (\d+)")


def _counts(engine: Any, path: Path) -> list[tuple[Any, ...]]:
    duckdb = _duckdb()
    try:
        rows: list[tuple[Any, ...]] = engine.execute(_COUNTS, [glob.escape(str(path))]).fetchall()
    except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
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
