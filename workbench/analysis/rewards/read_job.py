"""Concurrent read of many users. Each worker pages through one user, and a gate limits the requests in flight."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.rewards.folder import Folder
from workbench.analysis.rewards.pages import Key, PageCursor, PageReader, PageRequest, Part, with_user
from workbench.analysis.rewards.read_result import Rewards
from workbench.analysis.tables.rows import Table
from workbench.base.errors import Forbidden, RateLimited, Unauthorized, WorkbenchError
from workbench.base.schema.walk import build, member
from workbench.base.system.interrupts import uninterrupted
from workbench.base.system.progress import Progress, ProgressCallback
from workbench.client.calls.base import context_of
from workbench.client.calls.client import RawReader
from workbench.service.interface.transactions import ListRewardsActivity
from workbench.service.interface.vocabulary import RewardType

MAX_FAILED_USERS = 20
"""Consecutive failed users after which a read stops."""
MAX_RATE_LIMIT_RETRIES = 5
"""Maximum repeats of a page after the client's retries ended in 429."""
MIXED = -1
PART_PAGES = 256
"""Pages per part of a folder."""
_PARAMETERS = ("user_id", "type", "limit", "offset")
_INTERRUPTED = "The read was interrupted; rows read so far are kept."


@attrs.frozen(kw_only=True)
class ReadFilter:
    """Filter for the rows to read for each user."""

    type: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the filter's values that are not None as JSON values."""
        times = {"since": self.since, "until": self.until}
        values = {"type": self.type, **{name: time and time.isoformat() for name, time in times.items()}}
        return {name: value for name, value in values.items() if value is not None}

    def rows(self, columns: Mapping[str, Any]) -> Any:
        """Return an Arrow mask of the matching rows; None if all match. Rows without a time match."""
        tests = []
        if self.type is not None:
            tests.append(pc.fill_null(pc.equal(columns["type"], self.type), True))
        for bound, test in ((self.since, pc.greater_equal), (self.until, pc.less)):
            if bound is not None:
                when = pc.coalesce(columns["created_at"], columns["posted_at"], columns["minted_at"])
                tests.append(pc.fill_null(test(when, pa.scalar(bound, when.type)), True))
        return reduce(pc.and_, tests) if tests else None


def _newest_first(part: Part, last: int | None) -> int | None:
    """Return the time of a page's last row, in microseconds since 1970, if rows come newest first; `MIXED` otherwise.

    assumed: rewards_order. The order is undocumented, so it is inferred: every row has `created_at`, no row is newer
        than the previous one, and their times are not all equal.
    """
    times = part.table.columns["created_at"]
    if last == MIXED or not len(times):
        return last
    if times.null_count:
        return MIXED
    values = times.cast(pa.int64()).to_numpy()
    if (last is not None and values[0] > last) or (values[1:] > values[:-1]).any():
        return MIXED
    return int(values[-1]) if values[-1] < (values[0] if last is None else last) else last


class Gate:
    """Limit on requests in flight: a 429 halves the limit, and successful answers raise it again. For one event loop.

    Args:
        limit: Maximum number of requests in flight.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.allowed = float(limit)
        self._inside = 0
        self._since_slower = 0
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._inside < int(self.allowed))
            self._inside += 1

    async def __aexit__(self, *_: object) -> None:
        self._inside -= 1
        self._since_slower += 1
        self.allowed = min(float(self.limit), self.allowed + 1 / self.allowed)
        async with self._changed:
            self._changed.notify(2)  # wakes one task for the free slot, and one for the larger limit

    def slower(self) -> None:
        """Halve the limit after a 429. Several 429s in a burst count once."""
        if self._since_slower >= self.allowed or self.allowed == self.limit:
            self.allowed = max(1.0, self.allowed / 2)
            self._since_slower = 0


class Reading:
    """A read of many users. Await `run` once; `result` then holds the rows, even if the read was stopped.

    Args:
        api: The client, synchronous or asynchronous.
        users: Ids of the users to read.
        wanted: Filter for their rows.
        result: Result that the read adds to. Pages of users in `started` are not requested again.
        concurrency: Maximum requests in flight.
        report: Function that is called with the progress.
        folder: Folder to write rows to, instead of memory.
    """

    def __init__(
        self,
        api: Any,
        users: Sequence[str],
        wanted: ReadFilter,
        result: Rewards,
        *,
        concurrency: int,
        report: ProgressCallback,
        folder: Folder | None = None,
    ) -> None:
        self.result = result
        self.failure: WorkbenchError | None = None
        self.any_read = False  # whether at least one user was read completely
        self._gate = Gate(concurrency)
        self._bodies = RawReader(api, on_rate_limit=self._gate.slower)
        self._users, self._wanted, self._report, self._folder = users, wanted, report, folder
        self._progress = Progress(total=len(users), unit="users")
        self._unwritten: list[str] = []
        self._writing = asyncio.Lock()
        self._failed_in_a_row = 0
        self._first_pages: dict[tuple[Key, ...], str] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._unread: list[tuple[bytes, int, asyncio.Future[Part]]] = []

    def stop(self, reason: str) -> None:
        """Stop the read after the requests in flight, from any thread. The rows read so far stay in `result`."""
        self.result.stopped = self.result.stopped or reason  # workers that are not waiting check this
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop may have ended meanwhile
                self._loop.call_soon_threadsafe(self._stop.set)

    async def run(self) -> None:
        """Read all users, or as many users as errors allow."""
        self._loop = asyncio.get_running_loop()
        if self.result.stopped:  # the read was stopped before it began
            self._stop.set()
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
                    break  # the cause is a bug, or a full disk
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
            await self._bodies.aclose()

    async def _work(self, left: Iterator[str]) -> None:
        for user in left:
            cursor, parts = PageCursor(), list[Part]()
            try:
                await self._read(user, cursor, parts, self._wanted.type)
                if cursor.end == "reach" and self._wanted.type is None:
                    await self._read_types(user, cursor, parts)
                self._failed_in_a_row = 0
            except asyncio.CancelledError:
                self.result.started[user] = parts
                raise
            except WorkbenchError as error:
                cursor.end, cursor.reason = "failed", str(error)
                self.result.started[user] = parts
                self._failed(error)
            self._finish(user, cursor, parts)
            if (
                self._folder is not None
                and sum(self.result.cursors[user].pages for user in self._unwritten) >= PART_PAGES
            ):
                await self._write()
            if self.result.stopped:
                return

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

    async def _read(self, user: str, cursor: PageCursor, parts: list[Part], kind: str | None) -> None:
        """Page through one user's rows, resuming where an earlier read stopped."""
        ready = self.result.started.pop(user, [])
        steps = cursor.requests()
        page = next(steps)
        last: int | None = None
        while True:
            part = ready.pop(0) if ready else await self._page(user, page, len(parts), kind)
            keys = part.keys()
            parts.append(part)
            self._progress.rows += len(keys)
            self._report(self._progress)
            if len(parts) == 1 and any(key[1] for key in keys):
                other = self._first_pages.setdefault(tuple(keys[:20]), user)
                if other != user:
                    self.result.same_users |= {other, user}
            try:
                page = steps.send(keys)
            except StopIteration:
                return
            last = _newest_first(part, last)
            since = self._wanted.since
            if since is not None and last is not None and last != MIXED and last < since.timestamp() * 1e6:
                cursor.end = "all"  # all rows after this page are too old for the filter
                cursor.back_to = datetime.fromtimestamp(last / 1e6, UTC).isoformat()
                return

    async def _read_types(self, user: str, cursor: PageCursor, parts: list[Part]) -> None:
        """Read each type separately, because the list is longer than the maximum offset. Add the rows that are new."""
        seen = set[Any]().union(*(part.keys() for part in parts))
        # The request cannot filter by unknown types, so their rows beyond the maximum offset stay unknown.
        ends = {"all" if key[0] in frozenset(RewardType) else "reach" for key in seen}
        cursor.by_type = True
        for kind in RewardType:
            position, more = PageCursor(), list[Part]()
            await self._read(user, position, more, kind)
            for part in more:
                keys = part.keys()
                cursor.kept.append(tuple(i for i, key in enumerate(keys) if key not in seen and key[0] == kind))
                seen.update(keys)
                ends.update("reach" for key in keys if key[0] != kind)
            parts += more
            ends.add(position.end)
            cursor.pages += position.pages
            cursor.readings = max(cursor.readings, position.readings)
        cursor.end = next((end for end in ("offset ignored", "drift", "reach") if end in ends), "all")

    async def _page(self, user: str, page: PageRequest, number: int, kind: str | None) -> Part:
        values = {"user_id": user, "type": kind, "limit": page.limit, "offset": page.offset}
        request = build(ListRewardsActivity, values)
        for attempt in range(MAX_RATE_LIMIT_RETRIES + 1):
            try:
                async with self._gate:
                    body = await self._bodies.fetch(request)
                return await self._parsed(body, number)
            except RateLimited as error:
                if attempt == MAX_RATE_LIMIT_RETRIES or (error.retry_after or 0) > 60:
                    raise
                await context_of(self._bodies).clock.asleep(error.retry_after or 0.1 * 2**attempt)
        raise AssertionError("unreachable")

    def _parsed(self, body: bytes, number: int) -> "asyncio.Future[Part]":
        """Parse a page. Pages that arrive together are parsed in one batch, which takes less than half the time."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Part] = loop.create_future()
        if not self._unread:
            loop.call_soon(self._parse)
        self._unread.append((body, number, done))
        return done

    def _parse(self) -> None:
        unread, self._unread = [page for page in self._unread if not page[2].cancelled()], []
        parts: list[Part] = []
        for index, (body, number, done) in enumerate(unread):
            try:  # every exception is passed to the caller, which would otherwise wait forever
                if index == 0 and unread[1:]:
                    parts = self.result.reader.fast([body for body, _, _ in unread])
                done.set_result(parts[index] if parts else self.result.reader.read(body, number))
            except Exception as error:  # noqa: BLE001
                done.set_exception(error)

    def _finish(self, user: str, cursor: PageCursor, parts: list[Part]) -> None:
        """Store a user's matching rows, and how the user's read ended."""
        tables = []
        for part, selection in zip(parts, cursor.kept, strict=False):
            table, other_type = self._trimmed(part.table, selection)
            cursor.other_type += other_type
            cursor.rows += len(table.columns["type"])
            tables.append(with_user(table, user))
        cursor.kept = []
        self.any_read |= cursor.end != "failed"
        self.result.tables[user], self.result.cursors[user] = tables, cursor
        self._unwritten.append(user)
        self._progress.done += 1
        self._report(self._progress)

    def _trimmed(self, table: Table, kept: tuple[int, ...] | None) -> tuple[Table, int]:
        """Return the selected rows of a page that match the filter, and the number of rows of the other type."""
        columns, other_type = table.columns, 0
        if kept is not None:
            columns = {name: values.take(pa.array(kept, pa.int64())) for name, values in columns.items()}
        mask = self._wanted.rows(columns)
        if mask is not None:
            if self._wanted.type is not None:
                other_type = pc.sum(pc.not_equal(columns["type"], self._wanted.type)).as_py() or 0
            columns = {name: values.filter(mask) for name, values in columns.items()}
        notes = table.notes
        if columns is not table.columns and notes.unknown_members:
            notes = attrs.evolve(notes, unknown_members=self.result.reader.unknown_members(columns["extra"]))
        return Table(columns, notes), other_type

    async def _write(self) -> None:
        """Write the rows of users whose read is complete to the folder."""
        if self._folder is None:
            return
        async with self._writing:
            users, self._unwritten = self._unwritten, []
            done = {user: self.result.cursors[user] for user in users if self.result.cursors[user].end != "failed"}
            tables = [
                pa.table(table.columns) for user in users for table in self.result.tables.pop(user) if user in done
            ]
            if done:
                await asyncio.to_thread(self._folder.write, tables, done)


# -- calls


def parameter_names(api: Any) -> dict[str, str]:
    """Return the wire names of the query parameters, which are assumed."""
    return {
        name: api.converter.wire_name(ListRewardsActivity, member(ListRewardsActivity, name)) for name in _PARAMETERS
    }


async def read_users(
    api: Any,
    users: tuple[str, ...],
    wanted: ReadFilter,
    *,
    path: str | Path | None,
    resume: Rewards | None,
    running: Callable[[Reading], None] | None = None,
    **how: Any,
) -> Rewards:
    """Read the rewards of users and return the result.

    Args:
        api: The client, synchronous or asynchronous.
        users: Ids of the users.
        wanted: Filter for their rows.
        path: Folder for the rows.
        resume: Result of an earlier read.
        running: Function that is called with the read before the read begins, so that another thread can stop the read.
        how: Further arguments for `Reading`.
    """
    folder = None if path is None else Folder(Path(path), wanted.as_json())
    reader, names = PageReader(api.converter.names), parameter_names(api)
    result = Rewards(users=users, names=names, filters=wanted.as_json(), reader=reader)
    if folder is not None:
        result.path, result.cursors = folder.path, dict(folder.done)
    if resume is not None:
        result.cursors |= {user: cursor for user, cursor in resume.cursors.items() if cursor.end != "failed"}
        result.tables, result.started = dict(resume.tables), dict(resume.started)
    left = [user for user in users if user not in result.cursors]
    reading = Reading(api, left, wanted, result, folder=folder, **how)
    if running is not None:
        running(reading)
    await reading.run()
    failure = reading.failure
    if failure is not None and (not reading.any_read or isinstance(failure, Unauthorized | Forbidden)):
        failure.partial = result  # type: ignore[attr-defined]
        failure.add_note(f"{result.rows:,} rows were read before; error.partial holds them.")
        raise failure
    return result


def read_in_thread(api: object, users: tuple[str, ...], wanted: ReadFilter, **how: Any) -> Rewards:
    """Read in an event loop in a new thread. This also works inside a running loop, as in notebooks.

    The threads share plain lists and a queue, which need no Python-level lock: an interrupt could leave a lock held,
    and the other thread would then wait forever.
    """
    ended: list[Rewards | BaseException] = []
    begun: list[Reading] = []
    wakeup: SimpleQueue[None] = SimpleQueue()
    interrupted = False

    def begin(reading: Reading) -> None:
        begun.append(reading)
        if interrupted:
            reading.stop(_INTERRUPTED)

    def work() -> None:
        try:
            ended.append(asyncio.run(read_users(api, users, wanted, running=begin, **how)))
        except BaseException as error:  # noqa: BLE001 - it is raised in the caller's thread
            ended.append(error)
        wakeup.put(None)

    def result() -> Rewards:
        while not ended:
            with suppress(Empty):
                wakeup.get(timeout=0.2)  # on some platforms, an endless wait cannot be interrupted
        if isinstance(ended[0], BaseException):
            raise ended[0]
        return ended[0]

    try:
        with uninterrupted:  # if an interrupt hits the start of a thread, a wait for it could last forever
            threading.Thread(target=work, name="workbench-read", daemon=True).start()
        return result()
    except BaseException as error:
        interrupted = True
        for reading in begun:
            reading.stop(_INTERRUPTED)
        if not isinstance(error, KeyboardInterrupt) or not begun:
            raise
        rewards = result()  # a second interrupt exits at once
        rewards.stopped = _INTERRUPTED  # this holds even if the read has ended meanwhile
        return rewards
