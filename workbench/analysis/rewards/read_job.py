"""Concurrent read of many users. Each worker pages through one user, and a gate limits the requests in flight."""

import asyncio
import math
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.rewards.folder import Folder
from workbench.analysis.rewards.pages import Key, PageCursor, PageReader, row_keys, with_user
from workbench.analysis.rewards.read_result import Rewards
from workbench.analysis.tables.rows import Table
from workbench.base.errors import Forbidden, RateLimited, Unauthorized, WorkbenchError
from workbench.base.schema.walk import build
from workbench.base.system.interrupts import uninterrupted
from workbench.base.system.progress import Progress, ProgressCallback
from workbench.client.calls.base import context_of
from workbench.client.calls.client import RawReader
from workbench.service.interface.transactions import MAX_LIMIT, ListRewardsActivity
from workbench.service.interface.vocabulary import RewardType

MAX_FAILED_USERS = 20
"""Consecutive failed users after which a read stops."""
MAX_RATE_LIMIT_RETRIES = 5
"""Maximum repeats of a page after the client's retries ended in 429."""
PART_PAGES = 256
"""Number of pages after which rows are written as a new part."""
_INTERRUPTED = "The read was interrupted; rows read so far are kept."


@attrs.frozen(kw_only=True)
class ReadFilter:
    """Filter for the rows to read for each user."""

    type: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the filter's values that are not None as JSON values."""
        values = attrs.asdict(self).items()
        return {name: value if name == "type" else value.isoformat() for name, value in values if value is not None}

    def of_type(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of the type. Rows without a type match."""
        return rows if self.type is None else rows.filter(pc.fill_null(pc.equal(rows["type"], self.type), True))

    def in_time(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows from `since` on and before `until`. Rows without a time match."""
        for bound, test in ((self.since, pc.greater_equal), (self.until, pc.less)):
            if bound is not None:
                when = pc.coalesce(rows["created_at"], rows["posted_at"], rows["minted_at"])
                rows = rows.filter(pc.fill_null(test(when, pa.scalar(bound, when.type)), True))
        return rows


def _newest_first(page: Table, last: float) -> float:
    """Return the time of a page's last row, in microseconds since 1970, if rows come newest first; NaN otherwise.

    `last` is the result for the previous page, or infinity while the order is not known.

    assumed: rewards_order. The order is undocumented, so it is inferred: every row has `created_at`, no row is newer
        than the previous one, and their times are not all equal.
    """
    times = page.columns["created_at"].cast(pa.int64()).to_numpy(zero_copy_only=False).astype(float)
    if not len(times):
        return last
    if not (np.diff(times, prepend=last) <= 0).all():  # a missing time is NaN, which is not <= 0
        return math.nan
    newest = times[0] if last == math.inf else last
    return float(times[-1]) if times[-1] < newest else last


class Gate:
    """Limit on requests in flight in one event loop. A 429 halves the limit, and successful answers raise it again.

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
        users: Ids of the users.
        wanted: Filter for the users' rows.
        concurrency: Maximum requests in flight.
        report: Function that is called with the progress.
        path: Folder to write rows to, instead of memory. Users in this folder are not read again.
        resume: Result of an earlier read. Users that it read completely are not read again.
    """

    def __init__(
        self,
        api: Any,
        users: Sequence[str],
        wanted: ReadFilter,
        *,
        concurrency: int,
        report: ProgressCallback,
        path: str | Path | None = None,
        resume: Rewards | None = None,
    ) -> None:
        self._wanted, self._report = wanted, report
        self.result = Rewards(users=users, filters=wanted.as_json(), reader=PageReader(api.converter.names))
        self._folder = None
        if path is not None:
            self._folder = Folder(Path(path), self.result.filters)
            self.result.path, self.result.cursors = self._folder.path, dict(self._folder.done)
        if resume is not None:
            self.result.cursors |= {user: cursor for user, cursor in resume.cursors.items() if cursor.end != "failed"}
            self.result.tables = dict(resume.tables)
        left = [user for user in users if user not in self.result.cursors]
        self._left = iter(left)
        self._failure: WorkbenchError | None = None
        self._any_read = False  # whether at least one user was read completely
        self._gate = Gate(concurrency)
        self._bodies = RawReader(api, on_rate_limit=self._gate.slower)
        self._progress = Progress(total=len(left), unit="users")
        self._unwritten: list[str] = []
        self._writing = asyncio.Lock()
        self._failed_in_a_row = 0
        self._first_pages: dict[tuple[Key, ...], str] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._workers: list[asyncio.Task[None]] = []
        self._batch: tuple[list[bytes], list[Table]] = [], []  # bodies that arrived together, and their pages

    def stop(self, reason: str) -> None:
        """Stop the read after the requests in flight, from any thread. The rows read so far stay in `result`."""
        self.result.stopped = self.result.stopped or reason  # each worker checks this before its next user
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop may have ended meanwhile
                self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        for worker in self._workers:
            worker.cancel()

    async def run(self) -> Rewards:
        """Read all users, or as many users as errors allow, and return the result."""
        self._loop = asyncio.get_running_loop()
        self._progress.on_stop = self.stop
        self._report(self._progress)
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._gate.limit)]
        try:
            await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
            self._cancel()
            for result in await asyncio.gather(*self._workers, return_exceptions=True):
                if isinstance(result, Exception):  # the cause is a bug, or a full disk
                    raise result
            await self._write()
        finally:
            self._progress.ended = True
            self._report(self._progress)
            await self._bodies.aclose()
        failure = self._failure
        if failure is not None and (not self._any_read or isinstance(failure, Unauthorized | Forbidden)):
            failure.partial = self.result  # type: ignore[attr-defined]
            failure.add_note(f"{self.result.rows:,} rows were read before; error.partial holds them.")
            raise failure
        return self.result

    async def _work(self) -> None:
        for user in self._left:
            if self.result.stopped:
                return
            cursor, pages = PageCursor(), list[Table]()
            try:
                await self._read(user, cursor, pages, self._wanted.type)
                if cursor.end == "reach" and self._wanted.type is None:
                    await self._read_types(user, cursor, pages)
                self._failed_in_a_row = 0
            except WorkbenchError as error:
                cursor.end, cursor.reason = "failed", str(error)
                self._failed(error)
            self._finish(user, cursor, pages)
            await self._write(PART_PAGES)

    def _failed(self, error: WorkbenchError) -> None:
        self._failed_in_a_row += 1
        self._failure = self._failure or error
        if isinstance(error, Unauthorized | Forbidden):
            self._failure = error
            self.stop("The service refused the key; the read was stopped.")
        elif isinstance(error, RateLimited):
            after = f" Try again after {error.retry_after:.0f} s." if error.retry_after else ""
            self.stop(f"Rate limit exceeded repeatedly (429); read stopped. Rows read so far are kept.{after}")
        elif self._failed_in_a_row >= MAX_FAILED_USERS:
            self.stop(f"{MAX_FAILED_USERS} users in a row could not be read; the read was stopped.")

    async def _read(self, user: str, cursor: PageCursor, pages: list[Table], kind: str | None) -> None:
        """Page through one user's rows."""
        offsets = cursor.offsets()
        offset = next(offsets)
        last, since = math.inf, self._wanted.since
        while True:
            page = await self._page(user, offset, len(pages), kind)
            keys = row_keys(page)
            pages.append(page)
            self._progress.rows += len(keys)
            self._report(self._progress)
            if len(pages) == 1 and any(key[1] for key in keys):
                other = self._first_pages.setdefault(tuple(keys[:20]), user)
                if other != user:
                    self.result.same_users |= {other, user}
            try:
                offset = offsets.send(keys)
            except StopIteration:
                return
            last = _newest_first(page, last)
            if since is not None and last < since.timestamp() * 1e6:
                cursor.end = "all"  # all rows after this page are too old for the filter
                cursor.back_to = datetime.fromtimestamp(last / 1e6, UTC).isoformat()
                return

    async def _read_types(self, user: str, cursor: PageCursor, pages: list[Table]) -> None:
        """Read each type separately, because the list is longer than the maximum offset. Add the rows that are new."""
        seen = set[Any]().union(*map(row_keys, pages))
        # The request cannot filter by unknown types, so their rows beyond the maximum offset stay unknown.
        ends = {"all" if key[0] in frozenset(RewardType) else "reach" for key in seen}
        cursor.by_type = True
        for kind in RewardType:
            position, more = PageCursor(), list[Table]()
            await self._read(user, position, more, kind)
            for keys in map(row_keys, more):
                cursor.kept.append([i for i, key in enumerate(keys) if key not in seen and key[0] == kind])
                seen.update(keys)
                ends.update("reach" for key in keys if key[0] != kind)
            pages += more
            ends.add(position.end)
            cursor.readings = max(cursor.readings, position.readings)
        cursor.end = next((end for end in ("offset ignored", "drift", "reach") if end in ends), "all")

    async def _page(self, user: str, offset: int, number: int, kind: str | None) -> Table:
        values = {"user_id": user, "type": kind, "limit": MAX_LIMIT, "offset": offset}
        request = build(ListRewardsActivity, values)
        attempt = 0
        while True:
            try:
                async with self._gate:
                    body = await self._bodies.fetch(request)
                return await self._parsed(body, number)
            except RateLimited as error:
                if attempt == MAX_RATE_LIMIT_RETRIES or (error.retry_after or 0) > 60:
                    raise
                await context_of(self._bodies).clock.asleep(error.retry_after or 0.1 * 2**attempt)
            attempt += 1

    async def _parsed(self, body: bytes, number: int) -> Table:
        """Parse a page. Pages that arrive together are parsed in one batch, which takes less than half the time."""
        batch = self._batch
        bodies, pages = batch
        index = len(bodies)
        bodies.append(body)
        await asyncio.sleep(0)  # let the other workers add the pages that have arrived
        if batch is self._batch:
            self._batch = [], []
            if bodies[1:]:
                pages += self.result.reader.fast(bodies)
        return pages[index] if pages else self.result.reader.read(body, number)

    def _finish(self, user: str, cursor: PageCursor, pages: list[Table]) -> None:
        """Store a user's matching rows, and the state of the user's read."""
        tables = []
        for page, kept in zip(pages, cursor.kept, strict=False):
            rows = pa.record_batch(page.columns).take(pa.array(kept, pa.int64()))
            of_type = self._wanted.of_type(rows)
            matching = self._wanted.in_time(of_type)
            cursor.other_type += len(rows) - len(of_type)
            cursor.rows += len(matching)
            columns = dict(zip(matching.schema.names, matching.columns, strict=True))
            tables.append(with_user(Table(columns, page.notes), user))
        cursor.kept, cursor.pages = [], len(pages)
        self._any_read |= cursor.end != "failed"
        self.result.tables[user], self.result.cursors[user] = tables, cursor
        self._unwritten.append(user)
        self._progress.done += 1
        self._report(self._progress)

    async def _write(self, least: int = 0) -> None:
        """Write the rows of completely read users to the folder, if these users have at least `least` pages in all."""
        if self._folder is None or sum(self.result.cursors[user].pages for user in self._unwritten) < least:
            return
        async with self._writing:
            users, self._unwritten, cursors = self._unwritten, [], self.result.cursors
            done = {user: cursors[user] for user in users if cursors[user].end != "failed"}
            pages = [page for user in users for page in self.result.tables.pop(user) if user in done]
            tables = [pa.table(page.columns) for page in pages]
            if done:
                await asyncio.to_thread(self._folder.write, tables, done)


def read_in_thread(reading: Reading) -> Rewards:
    """Run a read in an event loop in a new thread. This also works inside a running loop, as in notebooks.

    The threads share a plain list and a queue, which need no Python-level lock: an interrupt could leave a lock held,
    and the other thread would then wait forever.
    """
    ended: list[Rewards | BaseException] = []
    wakeup: SimpleQueue[None] = SimpleQueue()

    def work() -> None:
        try:
            ended.append(asyncio.run(reading.run()))
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

    thread = threading.Thread(target=work, name="workbench-read", daemon=True)
    try:
        with uninterrupted:  # after an interrupt during the start of a thread, the caller could wait forever
            thread.start()
        return result()
    except BaseException as error:
        reading.stop(_INTERRUPTED)
        if not isinstance(error, KeyboardInterrupt) or thread.ident is None:
            raise
        rewards = result()  # a second interrupt ends this wait
        rewards.stopped = _INTERRUPTED  # the interrupt is reported even if the read ended meanwhile
        return rewards
