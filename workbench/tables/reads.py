"""Rewards of many users, read at any size: overlapped, checked, parsed while later pages arrive, kept when stopped."""

import asyncio
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.client.bodies import Bodies
from workbench.errors import Forbidden, InvalidRequest, Problem, Unauthorized, visible
from workbench.interface import checks
from workbench.interface.operation import Async
from workbench.interface.rewards import ListRewardsActivity
from workbench.interface.rules import RewardType
from workbench.interface.walk import build, member
from workbench.loops import new_loop
from workbench.tables.gate import Gate
from workbench.tables.notes import Told, notes_of, summed_up
from workbench.tables.pieces import ReadFilter, with_user
from workbench.tables.progress import Meter, meter
from workbench.tables.reading import Reading
from workbench.tables.rewards_frames import assembled
from workbench.tables.rewards_pages import Pages, Part
from workbench.tables.rows import Notes, Table
from workbench.tables.spool import SCHEMA, Spool, read_folder, uniform

CONCURRENCY = 64


class Rewards:
    """Rewards that were read: `frame()`, whether they are `complete`, and `notes` of what is to be known of them."""

    def __init__(self, reading: Reading, wanted: tuple[str, ...], pages: Pages, names: Mapping[str, str]) -> None:
        self.users = wanted
        self.told: dict[str, Told] = dict(reading.told)
        self.path: Path | None = None
        self.begun = dict(reading.begun)
        self._names = names
        self._same = frozenset(reading.same_users)
        self._stopped = reading.stopped
        self._pages = pages
        self._parts = reading.parts
        self._frame: pd.DataFrame | None = None

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Users that were not read, or not to their end; `read_rewards(…, resume=rewards)` reads on there."""
        return tuple(u for u in self.users if u not in self.told or self.told[u].end == "failed")

    @property
    def complete(self) -> bool:
        """Whether every row that the service shows is here, as far as can be told."""
        return not self._same and all(u in self.told and self.told[u].complete for u in self.users)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was read, where it was cut and why, in words."""
        words = notes_of(self.told, self.users, self._stopped, names=self._names)
        if self._same:
            words.insert(
                0,
                f"The service seems to ignore the user parameter (name: {self._names['user_id']}, assumed): "
                f"{len(self._same):,} users have the same first rows.",
            )
        return tuple(words)

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return sum(one.rows for one in self.told.values())

    def frame(self) -> pd.DataFrame:
        """Return the rows as one typed frame, users in the order asked for; `attrs` holds `complete` and `notes`."""
        if self._frame is None:
            self._frame = self._from_folder() if self.path is not None else self._from_parts()
        frame = self._frame.copy(deep=False)
        notes = [*self.notes, *(note for note in frame.attrs["notes"] if note not in self.notes)]
        frame.attrs.update(complete=self.complete, notes=notes)
        return frame

    def table(self) -> Any:
        """Return the rows as one Arrow table, with the user of each."""
        tables = [
            uniform(with_user(part, self.users[place])) for place in sorted(self._parts) for part in self._parts[place]
        ]
        return pa.concat_tables(tables or [SCHEMA.empty_table()])

    def _from_parts(self) -> pd.DataFrame:
        parts, users = [], []
        for place in sorted(self._parts):
            for part in self._parts[place]:
                parts.append(attrs.evolve(part, table=Table(dict(part.table.columns), part.table.aside)))
                users.append(self.users[place])
        if not self.unfinished:
            self._parts = {}  # the frame holds the rows now
        return assembled(self._pages, parts, users)

    def _from_folder(self) -> pd.DataFrame:
        assert self.path is not None
        table = read_folder(self.path)
        places = {user: i for i, user in enumerate(self.users)}
        order = pd.Series(
            [places.get(user, len(places)) for user in table.column("user_id").to_pylist()], dtype="int64"
        )
        table = table.take(order.sort_values(kind="stable").index.to_numpy()).combine_chunks()
        columns = {name: _one(table.column(name)) for name in table.column_names}
        users = columns.pop("user_id").to_pylist()
        columns["points"] = _narrow(columns["points"])
        part = Part(Table(columns, Notes()), (1,) * len(users), fast=True)
        frame = assembled(self._pages, [part], users)
        del frame.attrs["routes"]  # of a folder nobody knows any more
        return frame

    def take(self, later: "Rewards") -> None:
        """Become what a later read came to that went on from this one."""
        self.__dict__.update(later.__dict__)

    def __repr__(self) -> str:
        return f"<Rewards {summed_up(len(self.users), self.rows, self.complete, len(self.notes))}>"


def _one(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _narrow(points: Any) -> Any:
    from workbench.tables.decimals import WIDTHS

    try:
        return pc.cast(points, WIDTHS[0])
    except ValueError:  # pyarrow's own errors are ValueErrors
        return points


def read_rewards(
    api: Any,
    users: Any,
    *,
    type: RewardType | str | None = None,  # noqa: A002 - the interface's own word
    since: datetime | None = None,
    until: datetime | None = None,
    concurrency: int | None = None,
    progress: bool | Meter = True,
    path: str | Path | None = None,
    resume: Rewards | None = None,
    reveal: Collection[str] = (),
    cluster: Any = None,
) -> Any:
    """Read the rewards activity of users, all pages of each, many at a time.

    Of a sync client it gives Rewards, in notebooks too; of an async one it is awaited. Ctrl-C ends it and keeps what
    was read. The service gives no totals, so pages overlap and `complete` says what can be known; see `notes`.

    Args:
        users: Ids, users, or anything with a column `user_id` or `id`.
        type: "earned" or "redeemed" alone; the offset reaches 10,100 rows of each.
        since: Keep rows from this time on: `created_at`, else `posted_at`, else `minted_at`. Rows without a time stay.
        until: Keep rows before this time.
        concurrency: How many requests may be in flight: 64 unless said otherwise. All share the client's rates; a 429
            halves it for a while, and more than keep the reading thread busy are not sent.
        progress: Whether to show a line where somebody looks; or a function that is called with a `Progress`.
        path: A folder to write Parquet parts into while reading, in bounded memory. The same call goes on there.
        resume: What an earlier call came to; users that it finished are not read again.
        reveal: `{"extra"}` shows what unknown members hold.
        cluster: A client of dask.distributed; see `workbench.tables.cluster`.

    Raises:
        InvalidRequest: A user id or the type breaks a rule; nothing was sent.
        Unauthorized, Forbidden: The key may not read rewards. `error.partial` holds what was read before.
        WorkbenchError: No user could be read to the end; `error.partial` holds what was read.
    """
    if cluster is not None:
        from workbench.tables.cluster import read_on_cluster

        return read_on_cluster(
            api, _ids(users), type=type, since=since, until=until, concurrency=concurrency, path=path, cluster=cluster,
            progress=progress,
        )  # fmt: skip
    job = Job(
        api, _ids(users), ReadFilter(type=None if type is None else str(type), since=since, until=until),
        concurrency=concurrency, progress=progress, path=path, resume=resume, reveal=reveal,
    )  # fmt: skip
    return job.read() if isinstance(api, Async) else in_background(job)


def _ids(users: Any) -> tuple[str, ...]:
    if isinstance(users, str):
        users = [users]
    if isinstance(users, pd.DataFrame):
        users = users["user_id" if "user_id" in users else "id"].tolist()
    ids = tuple(dict.fromkeys(user if isinstance(user, str) else getattr(user, "id", user) for user in users))
    problems = []
    for i, user in enumerate(ids, 1):
        request = build(ListRewardsActivity, {"user_id": user})
        problems += [Problem(f"user {i}", one.rule, one.message) for one in checks.problems(request)]
    if problems:
        raise InvalidRequest(problems[:20], of="read_rewards")
    return ids


class Job:
    """One call of `read_rewards`, for either kind of client."""

    def __init__(
        self, api: Any, users: tuple[str, ...], question: ReadFilter, *, concurrency: int | None,
        progress: bool | Meter, path: str | Path | None, resume: Rewards | None = None, reveal: Collection[str] = (),
    ) -> None:  # fmt: skip
        if question.type is not None and question.type not in frozenset(RewardType):
            raise InvalidRequest(
                f"type must be earned or redeemed, not {visible(question.type, 40)}", of="read_rewards"
            )
        for name, bound in (("since", question.since), ("until", question.until)):
            if bound is not None and bound.tzinfo is None:
                raise InvalidRequest(f"{name} needs a time zone", of="read_rewards")
        most = CONCURRENCY if concurrency is None else concurrency
        if not 1 <= most <= 1_000:
            raise InvalidRequest("concurrency must be 1 to 1,000", of="read_rewards")
        self.pages = Pages(api.converter.names, reveal)
        self.users = users
        self.question = question
        self.gate = Gate(most)
        self.limited: Callable[[], None] = lambda: None  # called for each 429, besides the gate
        self.bodies = Bodies(api, connections=most, limited=self._slower)
        self.spool = None if path is None else Spool(Path(path), question.asked())
        self.resume = resume
        self.show = meter(progress)
        self.reading: Reading | None = None
        self.names = {
            one: api.converter.wire_name(ListRewardsActivity, member(ListRewardsActivity, one))
            for one in ("user_id", "type", "limit", "offset")
        }

    def _slower(self) -> None:
        self.gate.slower()
        self.limited()

    async def read(self) -> Rewards:
        """Read, and give what came of it."""
        finished: dict[str, Told] = {}
        begun: dict[str, list[bytes]] = {}
        if self.spool is not None:
            finished = {user: Told(**said) for user, said in self.spool.done.items()}
        if self.resume is not None:
            finished |= {user: one for user, one in self.resume.told.items() if one.end != "failed"}
            begun = {user: list(bodies) for user, bodies in self.resume.begun.items()}
        left = tuple(user for user in self.users if user not in finished)
        reading = self.reading = Reading(
            self.bodies.fetch, left, self.question, pause=self.bodies.pause, pages=self.pages, gate=self.gate, show=self.show,
            spool=self.spool, begun=begun,
        )  # fmt: skip
        try:
            await reading.run()
        finally:
            await self.bodies.aclose()
        return self._rewards(reading, left, finished)

    def _rewards(self, reading: Reading, left: tuple[str, ...], finished: dict[str, Told]) -> Rewards:
        places = {user: i for i, user in enumerate(self.users)}
        reading.parts = {places[left[place]]: parts for place, parts in reading.parts.items()}
        if self.resume is not None and self.spool is None:
            reading.parts.update(_parts_again(self.resume, places, reading.parts))
        reading.told = {user: told for user in self.users if (told := reading.told.get(user) or finished.get(user))}
        rewards = Rewards(reading, self.users, self.pages, self.names)
        rewards.path = None if self.spool is None else self.spool.folder
        failure = reading.failure
        nobody = bool(left) and not any(one.end != "failed" for user, one in rewards.told.items() if user in left)
        if failure is not None and (nobody or isinstance(failure, Unauthorized | Forbidden)):
            failure.partial = rewards  # type: ignore[attr-defined]
            failure.add_note(f"{rewards.rows:,} rows were read before; error.partial holds them.")
            raise failure
        return rewards


def _parts_again(rewards: Rewards, places: Mapping[str, int], new: Mapping[int, Any]) -> dict[int, list[Part]]:
    """Return the parts of an earlier read that no new ones replace."""
    here = {place: places.get(rewards.users[place]) for place in rewards._parts}
    return {at: rewards._parts[place] for place, at in here.items() if at is not None and at not in new}


def in_background(job: Job) -> Rewards:
    """Read over an event loop of its own thread, so that it works where a loop runs already, as in every notebook."""
    future: Future[Rewards] = Future()
    loop = new_loop()

    def work() -> None:
        try:
            asyncio.set_event_loop(loop)
            future.set_result(loop.run_until_complete(job.read()))
        except BaseException as error:  # noqa: BLE001 - it is raised in the caller's thread
            future.set_exception(error)
        finally:
            loop.close()

    thread = threading.Thread(target=work, name="workbench-read", daemon=True)
    try:
        thread.start()
        _wait(future)
    except KeyboardInterrupt:
        if job.reading is None:
            raise
        if not future.done():
            loop.call_soon_threadsafe(job.reading.stop, "The read was interrupted; what was read until then is here.")
        _wait(future)  # a second interrupt leaves at once
    thread.join()
    return future.result()


def _wait(future: "Future[Rewards]") -> None:
    while not future.done():
        wait([future], timeout=0.2)  # a wait without end cannot be interrupted everywhere
