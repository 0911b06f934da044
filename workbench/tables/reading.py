"""The read of many users: workers that page through one user each, a thread that parses what they bring."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import Any

import attrs
import orjson

from workbench.errors import Forbidden, RateLimited, Unauthorized, UnexpectedAnswer, WorkbenchError
from workbench.interface.rewards import ListRewardsActivity
from workbench.interface.walk import build
from workbench.tables.gate import Gate
from workbench.tables.notes import Told
from workbench.tables.paging import Key, Walk, walk
from workbench.tables.pieces import ReadFilter, split, with_user
from workbench.tables.progress import Meter, Progress
from workbench.tables.rewards_pages import BATCH, Pages, Part
from workbench.tables.spool import Spool

TIRED = 20
"""Users in a row that failed, after which a read stops: the service is not there."""
PATIENCE = 5
"""How often a page is asked for again after the usual tries ended in 429."""
PART_PAGES = 256
"""Pages of one part of a folder."""

Fetch = Callable[[ListRewardsActivity], Awaitable[bytes]]


@attrs.define
class User:
    """One user under way: bodies as they came, and what the walk says of them."""

    place: int
    id: str
    bodies: list[bytes] = attrs.field(factory=list)
    said: Walk = attrs.field(factory=Walk)
    why: str = ""


class Reading:
    """One read. `run` is awaited once; what it came to stands in `parts` and `told`, also when it was stopped."""

    def __init__(
        self, fetch: Fetch, users: Sequence[str], question: ReadFilter, *, pages: Pages, gate: Gate, show: Meter,
        pause: Callable[[float], Awaitable[None]], spool: Spool | None = None, begun: dict[str, list[bytes]] | None = None,
    ) -> None:  # fmt: skip
        self.users = users
        self.told: dict[str, Told] = {}
        self.parts: dict[int, list[Part]] = {}
        self.begun: dict[str, list[bytes]] = begun or {}  # bodies of users that an earlier read did not finish
        self.stopped = ""  # why it ended early
        self.failure: WorkbenchError | None = None
        self._fetch, self._question, self._pages, self._gate = fetch, question, pages, gate
        self._show, self._spool, self._pause = show, spool, pause
        self._broken: BaseException | None = None  # a mistake of our own, or a full disk
        self._progress = Progress(users=len(users))
        self._waiting: list[User] = []
        self._parsing: set[asyncio.Future[Any]] = set()
        self._failed_in_a_row = 0
        self._first_pages: dict[tuple[Key, ...], str] = {}
        self.same_users: set[str] = set()
        self._stop = asyncio.Event()
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="workbench-rewards")

    def stop(self, why: str) -> None:
        """End the read after what is in the air; what was read is kept."""
        self.stopped = self.stopped or why
        self._stop.set()

    async def run(self) -> None:
        """Read all users, or as many as can be."""
        loop = asyncio.get_running_loop()

        def ask(why: str) -> None:
            self.stopped = self.stopped or why  # seen by a worker that never waits
            loop.call_soon_threadsafe(self._stop.set)

        self._progress.stopper = ask
        self._show(self._progress)  # a service may be slow with its first page
        left = iter(enumerate(self.users))
        workers = [asyncio.create_task(self._worker(left)) for _ in range(min(self._gate.most, len(self.users)))]
        stopping: asyncio.Task[Any] = asyncio.create_task(self._stop.wait())
        try:
            going = set(workers)
            while going and not self._stop.is_set():
                ended, _ = await asyncio.wait({*going, stopping}, return_when=asyncio.FIRST_COMPLETED)
                going -= ended
                if any(task.exception() is not None for task in ended):
                    break  # a mistake of our own
            for worker in going:
                worker.cancel()
            for result in await asyncio.gather(*workers, return_exceptions=True):
                if isinstance(result, Exception):
                    raise result
        finally:
            stopping.cancel()
            self._hand_over()
            await asyncio.gather(*self._parsing, return_exceptions=True)
            self._threads.shutdown()
            self._progress.ended = True
            self._show(self._progress)
        if self._broken is not None:
            raise self._broken

    async def _worker(self, left: Any) -> None:
        for place, id_ in left:
            user = User(place, id_)
            try:
                await self._one(user)
                self._failed_in_a_row = 0
            except asyncio.CancelledError:
                self._keep_begun(user)
                raise
            except WorkbenchError as error:
                user.said.end, user.why = "failed", str(error)
                self._keep_begun(user)
                self._met(error)
            self._done(user)
            while len(self._parsing) > 4:  # memory stays bounded where parsing is slower than the network
                await asyncio.wait(self._parsing, return_when=asyncio.FIRST_COMPLETED)
            if self.stopped:
                return

    def _met(self, error: WorkbenchError) -> None:
        self._failed_in_a_row += 1
        self.failure = self.failure or error
        if isinstance(error, Unauthorized | Forbidden):
            self.failure = error
            self.stop("The service refused the key; the read was stopped.")
        elif isinstance(error, RateLimited):
            after = f", try again after {error.retry_after:.0f} s" if error.retry_after else ""
            self.stop(f"The service took no more calls (429){after}; the read was stopped.")
        elif self._failed_in_a_row >= TIRED:
            self.stop(f"{TIRED} users in a row could not be read; the read was stopped.")

    def _keep_begun(self, user: User) -> None:
        if user.bodies:
            self.begun[user.id] = user.bodies

    async def _one(self, user: User) -> None:
        """Page through one user. Bodies of an earlier read are taken first, so that it goes on where that stopped."""
        ready = self.begun.pop(user.id, [])
        steps = walk(user.said)
        ask = next(steps)
        while True:
            if ready:
                body = ready.pop(0)
            else:
                request = build(
                    ListRewardsActivity,
                    {"user_id": user.id, "type": self._question.type, "limit": ask.limit, "offset": ask.offset},
                )
                async with self._gate:
                    body = await self._page(request)
            keys = glimpse(body, self._pages, len(user.bodies))
            user.bodies.append(body)
            self._progress.pages += 1
            self._progress.rows += len(keys)
            self._show(self._progress)
            if len(user.bodies) == 1 and any(key[1] for key in keys):
                other = self._first_pages.setdefault(tuple(keys[:20]), user.id)
                if other != user.id:
                    self.same_users |= {other, user.id}
            try:
                ask = steps.send(keys)
            except StopIteration:
                return

    async def _page(self, request: ListRewardsActivity) -> bytes:
        for again in range(PATIENCE + 1):
            try:
                return await self._fetch(request)
            except RateLimited as error:
                if again == PATIENCE or (error.retry_after or 0) > 60:
                    raise
                await self._pause(error.retry_after or 0.1 * 2**again)
        raise AssertionError("unreachable")

    # what the workers bring

    def _done(self, user: User) -> None:
        self._waiting.append(user)
        self._progress.done += 1
        self._show(self._progress)
        enough = PART_PAGES if self._spool is not None else BATCH
        if sum(len(one.bodies) for one in self._waiting) >= enough:
            self._hand_over()

    def _hand_over(self) -> None:
        users, self._waiting = self._waiting, []
        if users:
            job = asyncio.get_running_loop().run_in_executor(self._threads, self._parse, users)
            self._parsing.add(job)
            job.add_done_callback(self._parsed)

    def _parsed(self, job: "asyncio.Future[Any]") -> None:
        self._parsing.discard(job)
        if not job.cancelled() and job.exception() is not None:
            self._broken = job.exception()
            self.stop("What was read could not be kept.")

    def _parse(self, users: list[User]) -> None:
        """Parse the pages of some users, in a thread; a page that cannot be read costs its user alone."""
        try:
            parts = self._pages.read([body for user in users for body in user.bodies])
        except UnexpectedAnswer as error:
            if len(users) > 1:
                for user in users:
                    self._parse([user])
                return
            users[0].said.end, users[0].why = "failed", str(error)
            self.failure = self.failure or error
            parts, users[0].bodies, users[0].said.kept = [], [], []
        kept = [keep for user in users for keep in user.said.kept[: len(user.bodies)]]
        owners = [user.place for user in users for _ in user.bodies]
        other_type: dict[int, int] = {}
        made = split(parts, owners, kept, self._question, other_type)
        for user in users:
            rows = sum(sum(part.rows) for part in made.get(user.place, ()))
            told = Told.of(user.said, rows=rows, other_type=other_type.get(user.place, 0), why=user.why)
            self.told[user.id] = told
        if self._spool is None:
            self.parts.update(made)
        else:
            whole = {user.id: attrs.asdict(self.told[user.id]) for user in users if self.told[user.id].end != "failed"}
            tables = [
                with_user(part, user.id) for user in users if user.id in whole for part in made.get(user.place, ())
            ]
            if whole:
                self._spool.write(tables, whole)


def glimpse(body: bytes, pages: Pages, number: int) -> list[Key]:
    """Return the keys of a page's rows: what paging needs to know of it, long before it is parsed.

    Raises:
        UnexpectedAnswer: It is no page.
    """
    try:
        items = orjson.loads(body)[pages.items]
        type_, id_ = pages.names["type"], pages.names["id"]
        ids = [item.get(id_) for item in items]
        if set(map(type, ids)) <= {str}:
            # Plain tuples equal Keys, and are made ten times as fast.
            return list(zip([item.get(type_) for item in items], ids, repeat(None)))  # type: ignore[arg-type]
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        pass
    page = pages.page(body, number)
    return [
        Key(item.type, item.id) if item.id is not None else Key(item.type, None, repr(item).encode())
        for item in page.items
    ]  # fmt: skip
