"""The read of many users: each worker pages through one user at a time, and a gate limits what is in flight."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import Forbidden, RateLimited, Unauthorized, UnexpectedAnswer, WorkbenchError
from workbench.interface.rewards import ListRewardsActivity
from workbench.interface.walk import build
from workbench.progress import Progress, ProgressCallback
from workbench.tables.folder import Folder
from workbench.tables.paging import Key, PageCursor
from workbench.tables.rewards_pages import PageReader, Part, with_users
from workbench.tables.rows import Table

MAX_FAILED_USERS = 20
"""Users in a row that failed, after which a read stops."""
MAX_RATE_LIMIT_RETRIES = 5
"""How often a page is requested again after the client's own retries ended in 429."""
PARSE_DELAY = 0.002
"""Seconds in which pages that arrive are collected, to be parsed together."""
PART_PAGES = 256
"""Pages of one part of a folder."""

Fetch = Callable[[ListRewardsActivity], Awaitable[bytes]]
Pause = Callable[[float], Awaitable[None]]


@attrs.frozen(kw_only=True)
class ReadFilter:
    """Which rows of each user are wanted."""

    type: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        times = {"since": self.since, "until": self.until}
        return {"type": self.type, **{name: time and time.isoformat() for name, time in times.items()}}

    def rows(self, columns: Mapping[str, Any]) -> Any:
        """Return which rows are wanted, as an Arrow mask; None for all of them. Rows without a time stay."""
        tests = []
        if self.type is not None:
            tests.append(pc.fill_null(pc.equal(columns["type"], self.type), True))
        for bound, test in ((self.since, pc.greater_equal), (self.until, pc.less)):
            if bound is not None:
                when = pc.coalesce(columns["created_at"], columns["posted_at"], columns["minted_at"])
                tests.append(pc.fill_null(test(when, pa.scalar(bound, when.type)), True))
        mask = tests.pop() if tests else None
        for test in tests:
            mask = pc.and_(mask, test)
        return mask


@attrs.frozen(kw_only=True)
class ReadSummary:
    """The result of the read of one user."""

    end: str
    rows: int
    pages: int
    offset: int
    readings: int
    duplicates: int
    without_id: int
    hidden: bool
    limit_ignored: int | None
    other_type: int = 0  # rows of a type that was not requested
    reason: str = ""  # of a failure

    @property
    def complete(self) -> bool:
        """Whether all rows were read, as far as can be known."""
        return self.end == "all" and not self.other_type


class Gate:
    """Limits the requests in flight: a 429 halves their number, and answers raise it again. For one event loop.

    Args:
        limit: Requests in flight at most.
        per_second: Requests started per second at most; None for any number.
    """

    def __init__(self, limit: int, *, per_second: float | None = None) -> None:
        self.limit = limit
        self.allowed = float(limit)
        self.paused_until = 0.0  # by `time.monotonic`
        self._interval = 1 / per_second if per_second else 0.0
        self._start = 0.0
        self._inside = 0
        self._since_slower = 0
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._inside < int(self.allowed))
            self._inside += 1
        while (wait := max(self.paused_until, self._start) - time.monotonic()) > 0:  # noqa: ASYNC110 - it may be prolonged
            await asyncio.sleep(wait)
        self._start = max(time.monotonic(), self._start) + self._interval

    async def __aexit__(self, *_: object) -> None:
        self._inside -= 1
        self._since_slower += 1
        self.allowed = min(float(self.limit), self.allowed + 1 / self.allowed)
        async with self._changed:
            self._changed.notify(2)  # the place that is free now, and one that has grown

    def slower(self) -> None:
        """Halve the number after a 429. Those of one burst count once."""
        if self._since_slower >= self.allowed or self.allowed == self.limit:
            self.allowed = max(1.0, self.allowed / 2)
            self._since_slower = 0


@attrs.define
class _User:
    id: str
    parts: list[Part] = attrs.field(factory=list)  # a page each
    cursor: PageCursor = attrs.field(factory=PageCursor)
    reason: str = ""


class Reading:
    """One read. `run` is awaited once; the attributes hold its results, also if it was stopped.

    Args:
        fetch: Returns the body of a page.
        users: Ids of the users to read.
        wanted: Which of their rows are kept.
        reader: Reads the bodies.
        gate: Limits what is in flight.
        pause: Waits, by the client's clock.
        report: Is called with the progress.
        folder: Where rows are written instead of being kept in memory.
        started: Pages of users that an earlier read did not finish.
    """

    def __init__(
        self, fetch: Fetch, users: Sequence[str], wanted: ReadFilter, *, reader: PageReader, gate: Gate, pause: Pause,
        report: ProgressCallback, folder: Folder | None = None, started: Mapping[str, list[Part]] | None = None,
    ) -> None:  # fmt: skip
        self.summaries: dict[str, ReadSummary] = {}
        self.tables: dict[str, list[Table]] = {}
        self.started: dict[str, list[Part]] = dict(started or {})
        self.routes = {"fast": 0, "exact": 0}
        self.stopped = ""  # why it ended early
        self.failure: WorkbenchError | None = None
        self.same_users: set[str] = set()  # users with the same first page
        self._fetch, self._users, self._wanted, self._reader, self._gate = fetch, users, wanted, reader, gate
        self._pause, self._report, self._folder = pause, report, folder
        self._progress = Progress(total=len(users), unit="users")
        self._arrived: list[tuple[bytes, int, asyncio.Future[Part]]] = []  # pages to be parsed
        self._unwritten: list[str] = []
        self._writing = asyncio.Lock()
        self._failed_in_a_row = 0
        self._first_pages: dict[tuple[Key, ...], str] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()

    def stop(self, reason: str) -> None:
        """End the read after what is in flight, from any thread; what was read is kept."""
        self.stopped = self.stopped or reason  # seen by a worker that never waits
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)

    async def run(self) -> None:
        """Read all users, or as many as possible."""
        self._loop = asyncio.get_running_loop()
        self._progress.on_stop = self.stop
        self._report(self._progress)
        left = iter(self._users)
        workers = [asyncio.create_task(self._work(left)) for _ in range(min(self._gate.limit, len(self._users)))]
        stopping = asyncio.create_task(self._stop.wait())
        try:
            going: set[asyncio.Task[Any]] = set(workers)
            while going and not self._stop.is_set():
                ended, _ = await asyncio.wait({*going, stopping}, return_when=asyncio.FIRST_COMPLETED)
                going -= ended
                if any(task.exception() is not None for task in ended):
                    break  # a bug of ours, or a full disk
            for worker in going:
                worker.cancel()
            for result in await asyncio.gather(*workers, return_exceptions=True):
                if isinstance(result, Exception):
                    raise result
            await self._write()
        finally:
            stopping.cancel()
            self._progress.ended = True
            self._report(self._progress)

    async def _work(self, left: Iterator[str]) -> None:
        for id_ in left:
            user = _User(id_)
            try:
                await self._read(user)
                self._failed_in_a_row = 0
            except asyncio.CancelledError:
                self._keep(user)
                raise
            except WorkbenchError as error:
                user.cursor.end, user.reason = "failed", str(error)
                self._keep(user)
                self._failed(error)
            self._finish(user)
            if self._folder is not None and sum(self.summaries[u].pages for u in self._unwritten) >= PART_PAGES:
                await self._write()
            if self.stopped:
                return

    def _keep(self, user: _User) -> None:
        if user.parts:
            self.started[user.id] = user.parts

    def _failed(self, error: WorkbenchError) -> None:
        self._failed_in_a_row += 1
        self.failure = self.failure or error
        if isinstance(error, Unauthorized | Forbidden):
            self.failure = error
            self.stop("The service refused the key; the read was stopped.")
        elif isinstance(error, RateLimited):
            after = f" Try again after {error.retry_after:.0f} s." if error.retry_after else ""
            self.stop(f"Rate limit exceeded repeatedly (429); read stopped. Rows read so far are kept.{after}")
        elif self._failed_in_a_row >= MAX_FAILED_USERS:
            self.stop(f"{MAX_FAILED_USERS} users in a row could not be read; the read was stopped.")

    async def _read(self, user: _User) -> None:
        """Page through one user. Pages of an earlier read come first, so that it resumes where that stopped."""
        ready = self.started.pop(user.id, [])
        steps = user.cursor.requests()
        page = next(steps)
        while True:
            if ready:
                part = ready.pop(0)
            else:
                values = {"user_id": user.id, "type": self._wanted.type, "limit": page.limit, "offset": page.offset}
                async with self._gate:
                    body = await self._body(build(ListRewardsActivity, values))
                part = await self._parsed(body, len(user.parts))
            keys = part.keys()
            user.parts.append(part)
            self._progress.rows += len(keys)
            self._report(self._progress)
            if len(user.parts) == 1 and any(key[1] for key in keys):
                other = self._first_pages.setdefault(tuple(keys[:20]), user.id)
                if other != user.id:
                    self.same_users |= {other, user.id}
            try:
                page = steps.send(keys)
            except StopIteration:
                return

    async def _body(self, request: ListRewardsActivity) -> bytes:
        for attempt in range(MAX_RATE_LIMIT_RETRIES + 1):
            try:
                return await self._fetch(request)
            except RateLimited as error:
                if attempt == MAX_RATE_LIMIT_RETRIES or (error.retry_after or 0) > 60:
                    raise
                await self._pause(error.retry_after or 0.1 * 2**attempt)
        raise AssertionError("unreachable")

    async def _parsed(self, body: bytes, number: int) -> Part:
        """Return a page, parsed together with those that arrive at the same time."""
        loop = asyncio.get_running_loop()
        if not self._arrived:
            loop.call_later(PARSE_DELAY, self._parse)
        future: asyncio.Future[Part] = loop.create_future()
        self._arrived.append((body, number, future))
        return await future

    def _parse(self) -> None:
        arrived, self._arrived = self._arrived, []
        parts: list[Part | UnexpectedAnswer]
        try:
            parts = [page for part in self._reader.read([body for body, _, _ in arrived]) for page in part.pages()]
        except UnexpectedAnswer:
            parts = [self._parsed_alone(body, number) for body, number, _ in arrived]
        for part, (_, _, future) in zip(parts, arrived, strict=True):
            if not future.cancelled():
                if isinstance(part, Part):
                    future.set_result(part)
                else:
                    future.set_exception(part)

    def _parsed_alone(self, body: bytes, number: int) -> Part | UnexpectedAnswer:
        try:
            return self._reader.read([body], number)[0]
        except UnexpectedAnswer as error:
            return error

    def _finish(self, user: _User) -> None:
        """Keep the wanted rows of a user, and the summary."""
        tables, other_type = [], 0
        for part, kept in zip(user.parts, user.cursor.kept, strict=False):
            table, other = self._trimmed(part, kept)
            other_type += other
            tables.append(with_users(table, [user.id], [len(table.columns["type"])]))
            self.routes["fast" if part.fast else "exact"] += 1
        self.tables[user.id] = tables
        cursor = user.cursor
        self.summaries[user.id] = ReadSummary(
            end=cursor.end, rows=sum(len(table.columns["type"]) for table in tables), pages=cursor.requested,
            offset=cursor.offset, readings=cursor.readings, duplicates=cursor.duplicates, without_id=cursor.without_id,
            hidden=cursor.hidden, limit_ignored=cursor.limit_ignored, other_type=other_type, reason=user.reason,
        )  # fmt: skip
        self._unwritten.append(user.id)
        self._progress.done += 1
        self._report(self._progress)

    def _trimmed(self, part: Part, kept: tuple[int, ...] | None) -> tuple[Table, int]:
        """Return the rows of a page that paging kept and that are wanted, and how many were of another type."""
        columns, other_type = part.table.columns, 0
        if kept is not None:
            first = kept[0] if kept else 0
            if kept == tuple(range(first, first + len(kept))):  # usually all but the row that overlaps
                columns = {name: values.slice(first, len(kept)) for name, values in columns.items()}
            else:
                columns = {name: values.take(pa.array(kept, pa.int64())) for name, values in columns.items()}
        mask = self._wanted.rows(columns)
        if mask is not None:
            if self._wanted.type is not None:
                other_type = pc.sum(pc.not_equal(columns["type"], self._wanted.type)).as_py() or 0
            columns = {name: values.filter(mask) for name, values in columns.items()}
        notes = part.table.notes
        if columns is not part.table.columns and notes.unknown_members:
            notes = attrs.evolve(notes, unknown_members=self._reader.unknown_members(columns["extra"]))
        return Table(columns, notes), other_type

    async def _write(self) -> None:
        """Write the rows of users that were read to their end into the folder."""
        if self._folder is None:
            return
        async with self._writing:
            users, self._unwritten = self._unwritten, []
            done = {id_: attrs.asdict(self.summaries[id_]) for id_ in users if self.summaries[id_].end != "failed"}
            tables = [pa.table(table.columns) for id_ in users for table in self.tables.pop(id_) if id_ in done]
            if done:
                await asyncio.to_thread(self._folder.write, tables, done)
