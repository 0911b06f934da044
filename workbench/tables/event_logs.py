"""Logs of webhook events, one JSON object a line, plain or gzip, larger than memory.

A summary goes through DuckDB where it is installed (it comes with the extra `dev`): it reads the few members it needs,
on all cores, in bounded memory. Without it the same is counted line by line.
"""

import glob
import gzip
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from workbench.errors import InvalidRequest, hide_arguments
from workbench.interface import strict_json
from workbench.interface.convert import Names, Unreadable, converter, read_time
from workbench.interface.events import EVENT_KINDS, Event
from workbench.tables.arrays import TEXT
from workbench.tables.decimals import WIDTHS
from workbench.tables.exports import written_whole
from workbench.tables.frames import events_frame, events_plan
from workbench.tables.rows import arrow_table

BATCH = 5_000
"""Events parsed at once on the way to Parquet."""
MEMORY = "150MB"
LINE = 4_000_000
"""Bytes of one event at most."""
REPEATS = "An event that was delivered more than once counts each time."
_NO_NAMES: Names = {}
Counted = Counter[tuple[str | None, str | None, str | None]]  # time as text, kind, status


class Events:
    """Event logs on disk: `summary()` of all, `frame()` in memory, `to_parquet()` for what is larger."""

    def __init__(self, paths: tuple[Path, ...], names: Names) -> None:
        self.paths = paths
        self._converter = converter(names)

    def __iter__(self) -> Iterator[Event]:
        """Yield each event, read strictly.

        Raises:
            InvalidRequest: A line is no event; it names file and line.
        """
        for path in self.paths:
            for number, line in _lines(path):
                try:
                    yield self._converter.structure(strict_json.loads(line), Event)
                except (strict_json.NotJson, Unreadable) as error:
                    problem = str(error)
                else:
                    continue
                del line  # a traceback that prints locals shows no private value
                raise InvalidRequest(f"{path.name}, line {number}: {problem}", of="read")

    def frame(self, of: str | None = None, *, reveal: Collection[str] = ()) -> pd.DataFrame:
        """Return the events as a typed frame, as `frame(events)` does.

        Args:
            of: Keep one kind, as "user.updated".
        """
        return events_frame(self, of, reveal)

    def to_parquet(self, path: str | Path, of: str | None = None, *, reveal: Collection[str] = ()) -> Path:
        """Write the events as a typed Parquet file, in bounded memory. Its columns are those of all kinds, or of one.

        Raises:
            FileExistsError: The file exists.
        """
        path = Path(path)
        if path.exists():
            raise FileExistsError(f"{path} exists")
        plan = events_plan({of} if of else set(EVENT_KINDS))
        shown = plan.shown(reveal)
        schema = _schema(arrow_table(plan, [], shown).columns)

        def write(file: Any) -> None:
            with pq.ParquetWriter(file, schema, compression="zstd") as writer:
                for batch in _batches(event for event in self if of in (None, event.kind)):
                    columns = arrow_table(plan, batch, shown).columns
                    writer.write_table(pa.table(columns).cast(schema))

        written_whole(path, write, private=bool(shown))
        return path

    def summary(self) -> pd.DataFrame:
        """Count events by day (UTC), kind and status; the status is that of the application, the card or the spend.

        Returns:
            Columns day (datetime64, missing where an event has no time), kind, status, events (Int64), in this order.
        """
        engine = _engine()
        counted = _counted_by_line(self.paths) if engine is None else _counted_by_engine(engine, self.paths)
        return _summary(counted)


def read(paths: Any, *, names: Names = _NO_NAMES) -> Events:
    """Return the events of logs, one JSON object a line, plain or gzip; nothing is read before it is asked for.

    Args:
        paths: A file, a pattern such as "logs/*.ndjson.gz", or several.
        names: Wire names that differ, as in a profile.

    Raises:
        FileNotFoundError: A file is not there, or nothing fits a pattern.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    found: list[Path] = []
    for one in given:
        fits = sorted(glob.glob(str(one))) if glob.has_magic(str(one)) else [str(one)]  # noqa: PTH207 - a pattern may be absolute
        if not fits or not all(Path(path).is_file() for path in fits):
            raise FileNotFoundError(f"no event log at {one}")
        found += map(Path, fits)
    return Events(tuple(found), names)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    with gzip.open(path) if packed else path.open("rb") as file:
        number = 0
        while line := file.readline(LINE):
            number += 1
            if len(line) == LINE:
                del line
                raise InvalidRequest(f"{path.name}, line {number}: longer than {LINE:,} bytes", of="read")
            if line.strip():
                yield number, line


def _batches(events: Iterable[Event]) -> Iterator[list[Event]]:
    batch: list[Event] = []
    for event in events:
        batch.append(event)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _schema(columns: dict[str, Any]) -> Any:
    types = {name: values.type for name, values in columns.items()}
    return pa.schema([(name, WIDTHS[-1] if pa.types.is_decimal(kind) else kind) for name, kind in types.items()])


# counting


def _engine() -> Any:
    try:
        return import_module("duckdb")
    except ImportError:
        return None


_QUERY = """
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


def _counted_by_engine(duckdb: Any, paths: Iterable[Path]) -> Counted:
    settings = {"memory_limit": MEMORY, "autoinstall_known_extensions": False, "preserve_insertion_order": False}
    counted: Counted = Counter()
    with duckdb.connect(config=settings) as engine:
        for path in paths:
            try:
                rows = engine.execute(_QUERY, [glob.escape(str(path))]).fetchall()
            except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
                line = _WHERE.search(str(error))
                where = f"line {line[1]}" if line else "somewhere"
                problem = f"{path.name}, {where}: not one JSON object a line ({type(error).__name__})"
            else:
                for at, kind, status, count in rows:
                    counted[at, kind, status] += count
                continue
            raise InvalidRequest(problem, of="read")  # outside the block: the engine's words hold the line
    return counted


@hide_arguments
def _counted_by_line(paths: Iterable[Path]) -> Counted:
    counted: Counted = Counter()
    for path in paths:
        for number, line in _lines(path):
            try:
                raw = orjson.loads(line)
                body = raw.get("body") or {}
                spend = body.get("spend") or {}
                at = raw.get("eventReceivedAt") or body.get("receivedAt")
                status = body.get("applicationStatus") or body.get("status") or spend.get("status")
                kind = f"{raw['resource']}.{raw['action']}" if raw.get("resource") and raw.get("action") else None
            except (orjson.JSONDecodeError, AttributeError, TypeError):
                problem = f"{path.name}, line {number}: not one JSON object a line"
            else:
                counted[at[:10] if isinstance(at, str) and at.endswith("Z") else at, kind, status] += 1
                continue
            raise InvalidRequest(problem, of="read")
    return counted


def _day(text: str | None) -> str | None:
    """Return the day of a time, in UTC; one that cannot be read has none."""
    if text is None or re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return text
    moment = read_time(text)[0]
    return moment.date().isoformat() if isinstance(moment, datetime) else None


def _summary(counted: Counted) -> pd.DataFrame:
    days: Counted = Counter()
    for (at, kind, status), count in counted.items():
        days[_day(at), kind, status] += count
    rows = sorted(days.items(), key=lambda one: tuple(part or "" for part in one[0]))
    made = pd.DataFrame(
        {
            "day": pd.Series([key[0] for key, _ in rows], dtype=object).astype("datetime64[s]"),
            "kind": pd.array([key[1] for key, _ in rows], dtype=TEXT),
            "status": pd.array([key[2] for key, _ in rows], dtype=TEXT),
            "events": pd.array([count for _, count in rows], dtype="Int64"),
        }
    )
    made.attrs.update(kind="event_summary", notes=[REPEATS], revealed=[], unknown={})
    return made
