"""Read logs of webhook events that are larger than memory: one JSON object per line, plain or gzip.

DuckDB parses lines that contain exactly the members and types of their kind. All other lines are parsed strictly, like
events in memory. The resulting frame is the same either way.
"""

import glob
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import datetime
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.analysis.reports.log_lines import BlockReader, Kinds, duckdb, log_blocks, log_engine, read_strictly
from workbench.analysis.tables.columns import EXTRA, FrameLayout
from workbench.analysis.tables.event_frames import events_layout, kinds_of
from workbench.analysis.tables.rows import TEXT, WIDTHS, Table, arrow_table, mark_report, table_frame
from workbench.base.errors import Problem, UsageError, visible
from workbench.base.system.files import write_file
from workbench.base.system.progress import INTERVAL, Progress, ProgressCallback, progress_callback
from workbench.service.interface.convert import Names, converter, read_time
from workbench.service.interface.events import EVENT_KINDS, Event

WORKERS = 2
"""Threads that read blocks of lines."""
_REPEATS = "An event that was delivered more than once counts each time."
_NO_NAMES: Names = {}


class Events:
    """Event logs on disk: count events (`summary()`), load them (`frame()`), or convert large logs (`to_parquet()`)."""

    def __init__(self, paths: tuple[Path, ...], names: Names) -> None:
        self.paths = paths
        self._converter = converter(names)
        self._own_names = bool(names)  # then every line is read strictly

    def __iter__(self) -> Iterator[Event]:
        """Yield each event, parsed strictly.

        Raises:
            UsageError: A line is not an event; the message names file and line.
        """
        for path in self.paths:
            for first, data, *_ in log_blocks(path):
                for number, line in enumerate(data.split(b"\n"), first):
                    problem, event = read_strictly(self._converter, line)
                    if problem:
                        del data, line  # a traceback that prints locals shows no private value
                        raise UsageError(f"{path.name}, line {number}: {problem}", of="events.read_log")
                    if event is not None:
                        yield event

    def frame(
        self, of: str | None = None, *, reveal: Collection[str] = (), progress: bool | ProgressCallback = True
    ) -> pd.DataFrame:
        """Return the events as a typed frame, as `to_frame(events)` does.

        Args:
            of: Keep only events of one kind, such as "user.updated", or of a pattern, such as "transaction.*". Other
                lines are then only checked to be JSON.
            reveal: Names of masked columns to show.
            progress: Whether to show progress on a terminal or in a notebook; or a function that is called with
                `Progress`.

        Raises:
            UsageError: `of` is not a kind of event, or a line is not an event; the message names file and line.
        """
        kinds = kinds_of(of)
        layout = events_layout(kinds or EVENT_KINDS)
        shown = layout.shown(reveal)
        tables = list(self._tables(layout, kinds, shown, progress))
        if of is None:  # the columns of the kinds that occur
            layout = events_layout({kind for table in tables for kind in pc.unique(table.columns["kind"]).to_pylist()})
            names = [*(column.name for column in layout.columns), EXTRA]
            tables = [Table({name: table.columns[name] for name in names}, table.notes) for table in tables]
        return table_frame(layout, tables, shown & {*(c.name for c in layout.columns), EXTRA})

    def to_parquet(
        self,
        path: str | Path,
        of: str | None = None,
        *,
        reveal: Collection[str] = (),
        progress: bool | ProgressCallback = True,
    ) -> Path:
        """Write the events to a typed Parquet file in bounded memory, with the columns of all kinds or of `of`.

        Args:
            path: The file.
            of: Keep only events of one kind or pattern, as in `frame`.
            reveal: Names of masked columns to show.
            progress: As for `frame`.

        Raises:
            FileExistsError: The file exists.
            UsageError: `of` is not a kind of event, or a line is not an event; the message names file and line.
        """
        path = Path(path)
        if path.exists():
            raise FileExistsError(f"{path} exists")
        kinds = kinds_of(of)
        layout = events_layout(kinds or EVENT_KINDS)
        shown = layout.shown(reveal)
        types = {name: values.type for name, values in arrow_table(layout, [], shown).columns.items()}
        schema = pa.schema([(n, WIDTHS[1] if pa.types.is_decimal(kind) else kind) for n, kind in types.items()])

        def write(file: Any) -> None:
            # zstd without dictionaries compresses texts better and faster: each part would repeat the dictionary.
            with pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=False) as writer:
                for table in self._tables(layout, kinds, shown, progress):
                    writer.write_table(pa.table(table.columns).cast(schema))

        write_file(path, write, private=bool(shown))
        return path

    def summary(self, *, progress: bool | ProgressCallback = True) -> pd.DataFrame:
        """Count events by day (UTC), kind and status of the application, card or transaction.

        Args:
            progress: As for `frame`.

        Returns:
            Columns day (datetime64, missing if an event has no time), kind, status, events (Int64), in this order.

        Raises:
            UsageError: A line is not JSON; the message names file and line.
        """
        counts: Counter[tuple[str, str, str]] = Counter()
        with self._progress(progress) as advance, log_engine() as engine, ThreadPoolExecutor(1) as pool:
            engine.execute(
                "set threads to default; set enable_progress_bar = true; set enable_progress_bar_print = false"
            )
            for path in self.paths:
                counting, size, read = pool.submit(_counts, engine, path), path.stat().st_size, 0.0
                while wait([counting], timeout=INTERVAL).not_done:
                    now = max(engine.query_progress() / 100 * size, read)
                    advance(now - read)
                    read = now
                for at, kind, status, count in counting.result():
                    counts[_day(at), kind or "", status or ""] += count
                    advance(0, count)
                advance(size - read)
        rows = sorted(counts.items())
        frame = pd.DataFrame(
            {
                "day": pd.Series([key[0] or None for key, _ in rows], dtype=object).astype("datetime64[s]"),
                "kind": pd.array([key[1] or None for key, _ in rows], dtype=TEXT),
                "status": pd.array([key[2] or None for key, _ in rows], dtype=TEXT),
                "events": pd.array([count for _, count in rows], dtype="Int64"),
            }
        )
        return mark_report(frame, "event_summary", [_REPEATS])

    def _tables(
        self, layout: FrameLayout, kinds: Kinds, shown: Collection[str], progress: bool | ProgressCallback
    ) -> Iterator[Table]:
        """Yield the events of each block as columns, in line order."""
        with self._progress(progress) as advance, log_engine() as engine, ThreadPoolExecutor(WORKERS) as pool:
            reader = BlockReader(engine, layout, kinds, shown, self._converter, exact=self._own_names)
            for path in self.paths:
                ahead: deque[Future[tuple[int, str, Table | None]]] = (
                    deque()
                )  # of the caller, by as many as there are threads
                for block in chain(log_blocks(path), repeat(None, WORKERS)):
                    if block is not None:
                        ahead.append(pool.submit(reader.read, block))
                    if ahead and (block is None or len(ahead) > WORKERS):
                        size, problem, table = ahead.popleft().result()
                        if table is None:
                            raise UsageError(f"{path.name}, {problem}", of="events.read_log")
                        advance(size, len(table.columns[EXTRA]))
                        yield table

    @contextmanager
    def _progress(self, progress: bool | ProgressCallback) -> Iterator[Callable[..., None]]:
        """Report progress in bytes read and rows found."""
        report = progress_callback(progress)
        state = Progress(total=max(sum(path.stat().st_size for path in self.paths) // 1_000_000, 1), unit="MB")
        read = 0.0

        def advance(size: float, rows: int = 0) -> None:
            nonlocal read
            read += size / 1e6
            state.done, state.rows = min(int(read), state.total), state.rows + rows
            report(state)

        report(state)
        try:
            yield advance
            state.done = state.total
        finally:
            state.ended = True
            report(state)


def read_log(paths: Any, *, names: Names = _NO_NAMES) -> Events:
    """Open event logs (one JSON object per line, plain or gzip); the events are read lazily.

    Args:
        paths: A file, a pattern such as "logs/*.ndjson.gz", or several of them.
        names: Wire names that differ from the documented ones, as in a profile.

    Raises:
        UsageError: A file does not exist, or no file matches a pattern.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    files: list[Path] = []
    if not all(isinstance(path, str | os.PathLike) for path in given):
        raise UsageError([Problem("paths", "type", "each must be text or a path")], of="read_log")
    for path in given:
        pattern = str(path)  # may be absolute, which Path.glob does not take
        is_pattern = glob.has_magic(pattern) and not os.path.lexists(pattern)
        matches = sorted(glob.glob(pattern)) if is_pattern else [pattern]  # noqa: PTH207
        if not matches or not all(Path(match).is_file() for match in matches):
            raise UsageError([Problem("paths", "file", f"no event log at {visible(str(path), 200)}")], of="read_log")
        files += map(Path, matches)
    return Events(tuple(files), names)


_COUNTS = """
    select case when ends_with(moment, 'Z') then substr(moment, 1, 10) else moment end,
        resource || '.' || action, status, count(*)
    from (
        select resource, action, coalesce(eventReceivedAt, case when action = 'completed' then body.spend.postedAt end,
                        body.spend.authorizedAt, body.receivedAt) as moment,
               coalesce(body.applicationStatus, body.status, body.spend.status) as status
        from read_json(?, format = 'newline_delimited', maximum_object_size = 4000000, columns = {
            resource: 'VARCHAR', action: 'VARCHAR', eventReceivedAt: 'VARCHAR', body:
            'STRUCT(applicationStatus VARCHAR, status VARCHAR, receivedAt VARCHAR,
                spend STRUCT(status VARCHAR, authorizedAt VARCHAR, postedAt VARCHAR))'})
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
    except duckdb().IOException as error:
        problem = f"{path.name}: the file is damaged or incomplete ({type(error).__name__})"
    else:
        return rows
    raise UsageError(problem, of="events.read_log")  # outside the block: the engine's message quotes the line


def _day(text: str | None) -> str:
    """Return the UTC day of a time; empty if the time is invalid."""
    if text is None:
        return ""
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        text += "T00:00:00Z"
    moment = read_time(text)[0]
    return moment.date().isoformat() if isinstance(moment, datetime) else ""
