"""Read logs of webhook events that are larger than memory: one JSON object per line, plain or gzip.

DuckDB parses the lines that contain exactly the members and types of their event kind. The strict JSON parser for
events in memory parses all other lines. Both parsers give the same frame.
"""

import glob
import os
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workbench.analysis.reports.log_lines import (
    SKIPPED,
    UNFINISHED,
    BlockReader,
    Kinds,
    Lines,
    log_blocks,
    log_engine,
    read_strictly,
)
from workbench.analysis.tables.columns import EXTRA, FrameLayout
from workbench.analysis.tables.event_frames import events_layout, kinds_of
from workbench.analysis.tables.rows import TEXT, WIDTHS, Table, arrow_table, mark_report, table_frame
from workbench.base.errors import Problem, UsageError, not_allowed, visible
from workbench.base.system.files import write_file
from workbench.base.system.progress import Progress, ProgressCallback, progress_callback
from workbench.service.interface.convert import Names, converter
from workbench.service.interface.events import EVENT_KINDS, Event
from workbench.service.rendering.text import counted

WORKERS = 2
"""Threads that read blocks of lines."""
_REPEATS = "An event that was delivered more than once counts each time."
_NO_NAMES: Names = {}
_NOT_AN_EVENT = "line that is not an event"
_LISTED = 20  # maximum number of lines that an error lists
_STATUSES = ("body.application_status", "body.status", "body.spend.status")


class Reject(NamedTuple):
    """A line of a log that is not an event."""

    file: str
    line: int
    problem: str


class Events:
    """Event logs on disk: count events (`summary()`), load them (`frame()`), or convert large logs (`to_parquet()`)."""

    def __init__(self, paths: tuple[Path, ...], names: Names, *, reject: bool) -> None:
        self.paths = paths
        self.rejects: list[Reject] = []
        self._reject_lines = reject
        self._converter = converter(names)
        self._own_names = bool(names)  # DuckDB looks for documented names, so other names need the strict parser

    def __repr__(self) -> str:
        return (
            f"<event log: {', '.join(visible(path.name, 60) for path in self.paths[:3])}{'…' * (len(self.paths) > 3)}>"
        )

    def __iter__(self) -> Iterator[Event]:
        """Yield each event, parsed strictly.

        Raises:
            UsageError: A line is not an event; the message names file and line.
        """
        for path in self.paths:
            problems: Lines = []
            for event in self._events(path, problems):
                if problems:  # raise an error here, before the events of later lines are yielded
                    self._reject(path, problems)
                yield event
            self._reject(path, problems)

    def _events(self, path: Path, problems: Lines) -> Iterator[Event]:
        """Yield the events of a file, and record the lines that are not events."""
        for block in log_blocks(path):
            for number, line in enumerate(block.data.split(b"\n")[:-1], block.first):
                problem, event, _ = read_strictly(self._converter, line)
                if problem:
                    is_unfinished = block.is_unfinished(number, len(line))
                    problems.append((number, UNFINISHED if is_unfinished else problem))
                if event is not None:
                    yield event

    def _reject(self, path: Path, problems: Lines) -> None:
        """Add problem lines to `rejects`. If problem lines are errors, raise one error that lists them."""
        wrong = [] if self._reject_lines else [line for line in problems if line[1] not in SKIPPED]
        if wrong:
            listed = "; ".join(f"line {number}: {problem}" for number, problem in wrong[:_LISTED])
            more = f"; and {len(wrong) - _LISTED:,} more" if len(wrong) > _LISTED else ""
            way = '. Pass invalid="reject" to skip such lines'
            raise UsageError(f"{path.name}, {listed}{more}{way}", of="events.read_log")
        known = {(reject.file, reject.line) for reject in self.rejects} if problems else set()
        self.rejects += [Reject(path.name, *line) for line in problems if (path.name, line[0]) not in known]

    @property
    def rejected(self) -> dict[str, int]:
        """Return the number of skipped lines by reason."""
        reasons = (reject.problem if reject.problem in SKIPPED else _NOT_AN_EVENT for reject in self.rejects)
        return dict(Counter(reasons))

    def write_rejects(self, path: str | Path) -> Path:
        """Write the skipped lines to a CSV file (file, line, problem), and return its path."""
        path = Path(path)
        table = pd.DataFrame([reject._asdict() for reject in self.rejects], columns=list(Reject._fields))
        write_file(path, table.to_csv(index=False).encode())
        return path

    def frame(
        self, of: str | None = None, *, reveal: Collection[str] = (), progress: bool | ProgressCallback = True
    ) -> pd.DataFrame:
        """Return the events as a typed frame, as `to_frame(events)` does.

        Args:
            of: Keep only events of one kind, such as "user.updated", or of kinds that match a pattern, such as
                "transaction.*". For other kinds, only the JSON syntax of the line is checked.
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
        if of is None:  # keep only the columns of event kinds that the log contains
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
        """Write the events to a typed Parquet file in bounded memory. The file has the columns of the kinds in `of`.

        Args:
            path: The file.
            of: Keep only events of one kind or pattern, as in `frame`; default all kinds.
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

        def write(file: object) -> None:
            # Without dictionaries, zstd compresses texts better and faster: each row group would repeat the dictionary.
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
            UsageError: A line is not an event; the message names file and line.
        """
        layout = events_layout(EVENT_KINDS)
        counts: Counter[tuple[Any, ...]] = Counter()
        for table in self._tables(layout, None, (), progress):
            status = pc.coalesce(*(pc.cast(table.columns[name], pa.large_string()) for name in _STATUSES))
            day = pc.cast(pc.floor_temporal(table.columns["at"], unit="day"), pa.timestamp("s"))
            rows = pa.table([day, table.columns["kind"], status], ["day", "kind", "status"])
            grouped = rows.group_by(rows.column_names).aggregate([([], "count_all")]).to_pydict()
            of_group = grouped.pop("count_all")
            counts.update(dict(zip(zip(*grouped.values(), strict=True), of_group, strict=True)))
        listed = [(*group, count) for group, count in counts.items()]
        frame = pd.DataFrame(listed, columns=["day", "kind", "status", "events"])
        frame = frame.astype({"day": "datetime64[s]", "kind": TEXT, "status": TEXT, "events": "Int64"})
        frame = frame.sort_values(["day", "kind", "status"], na_position="first", ignore_index=True)
        return mark_report(frame, "event_summary", [_REPEATS, *self._notes()])

    def _notes(self) -> list[str]:
        count = len(self.rejects)
        return [f"Left out: {counted(count, 'lines')} without an event; see rejects."] * bool(count)

    def _tables(
        self, layout: FrameLayout, kinds: Kinds, shown: Collection[str], progress: bool | ProgressCallback
    ) -> Iterator[Table]:
        """Yield the events of each block as columns, in the order of the lines."""
        with self._progress(progress) as advance, log_engine() as engine, ThreadPoolExecutor(WORKERS) as pool:
            reader = BlockReader(engine, layout, kinds, shown, self._converter, exact=self._own_names)
            for path in self.paths:
                # results of blocks that were read ahead; at most one per thread waits here
                ahead: deque[Future[tuple[int, Lines, Table]]] = deque()
                for block in chain(log_blocks(path), repeat(None, WORKERS)):
                    if block is not None:
                        ahead.append(pool.submit(reader.read, block))
                    if ahead and (block is None or len(ahead) > WORKERS):
                        size, problems, table = ahead.popleft().result()
                        self._reject(path, problems)
                        advance(size, len(table.columns[EXTRA]))
                        yield table

    @contextmanager
    def _progress(self, progress: bool | ProgressCallback) -> Iterator[Callable[..., None]]:
        """Yield a function that reports the progress: the bytes and rows that were read."""
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


def read_log(paths: Any, *, names: Names = _NO_NAMES, invalid: Literal["raise", "reject"] = "raise") -> Events:
    """Open event logs (one JSON object per line, plain or gzip). The events are read lazily.

    Args:
        paths: A file, a pattern such as "logs/*.ndjson.gz", or several of them.
        names: Wire names that differ from the documented names, in the form that profiles use.
        invalid: Whether to raise an error for lines that are not events, or to skip the lines and list them in
            `rejects`.

    Raises:
        UsageError: A file does not exist, or no file matches a pattern.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    files: list[Path] = []
    if not all(isinstance(path, str | os.PathLike) for path in given):
        raise UsageError([Problem("paths", "type", "each must be text or a path")], of="read_log")
    for path in given:
        pattern = str(path)  # the pattern may be absolute, which Path.glob refuses
        is_pattern = glob.has_magic(pattern) and not os.path.lexists(pattern)
        matches = sorted(glob.glob(pattern)) if is_pattern else [pattern]  # noqa: PTH207
        if not matches or not all(Path(match).is_file() for match in matches):
            raise UsageError([Problem("paths", "file", f"no such event log: {visible(str(path), 200)}")], of="read_log")
        files += map(Path, matches)
    if invalid not in ("raise", "reject"):
        raise UsageError([not_allowed("invalid", invalid, ("raise", "reject"))], of="read_log")
    return Events(tuple(files), names, reject=invalid == "reject")
