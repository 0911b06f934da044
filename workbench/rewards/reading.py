"""Rewards of many users, read at any size: pages overlap and are checked, and what was read is kept when stopped.

On a cluster (dask.distributed, the extra `cluster`) users are divided into tasks of about a thousand pages, or one for
each thread. A worker gets
the name of a profile, or the URL of a served sandbox, and makes its own client from its own settings: no key is in the
graph. The requests in
flight and the rate of reads are divided among the workers' threads; after a 429, each of them slows down by itself.
"""

import uuid
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from datetime import date, datetime, timedelta
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import Any, overload

import attrs
import pandas as pd

from workbench.client.client import AsyncClient, Client
from workbench.client.guards import Limits
from workbench.errors import InvalidRequest, Problem, UsageError, WorkbenchError, not_allowed
from workbench.interface.table import Async
from workbench.interface.transactions import ListRewardsActivity
from workbench.interface.vocabulary import RewardType, RewardTypeText
from workbench.rewards.pages import PageCursor
from workbench.rewards.read_job import ReadFilter, parameter_names, read_in_thread, read_users
from workbench.rewards.read_result import ClusterRewards, Rewards, partition
from workbench.schema import checks
from workbench.schema.walk import build
from workbench.session import connect
from workbench.system.progress import Progress, ProgressCallback, progress_callback
from workbench.tables.periods import moment

CONCURRENCY = 64
UNSETTLED = timedelta(days=30)
"""How long rows are taken as still changing. assumed: rewards_earning, which ends within two weeks."""


@overload
def read(
    api: Client, users: object, *, type: RewardType | RewardTypeText | None = None,
    since: datetime | date | str | None = None, until: datetime | date | str | None = None, concurrency: int = CONCURRENCY,
    progress: bool | ProgressCallback = True, path: str | Path | None = None, resume: Rewards | None = None,
    refresh: bool | timedelta = False, reveal: Collection[str] = (), cluster: None = None,
) -> Rewards: ...  # fmt: skip
@overload
def read(
    api: AsyncClient, users: object, *, type: RewardType | RewardTypeText | None = None,
    since: datetime | date | str | None = None, until: datetime | date | str | None = None, concurrency: int = CONCURRENCY,
    progress: bool | ProgressCallback = True, path: str | Path | None = None, resume: Rewards | None = None,
    refresh: bool | timedelta = False, reveal: Collection[str] = (), cluster: None = None,
) -> Coroutine[Any, Any, Rewards]: ...  # fmt: skip
@overload
def read(
    api: str | Callable[[], Client], users: object, *, type: RewardType | RewardTypeText | None = None,
    since: datetime | date | str | None = None, until: datetime | date | str | None = None, concurrency: int = CONCURRENCY,
    progress: bool | ProgressCallback = True, path: str | Path | None = None, resume: Rewards | None = None,
    refresh: bool | timedelta = False, reveal: Collection[str] = (), cluster: object,
) -> ClusterRewards: ...  # fmt: skip
def read(
    api: object,
    users: object,
    *,
    type: RewardType | RewardTypeText | None = None,  # noqa: A002 - the interface's own word
    since: datetime | date | str | None = None,
    until: datetime | date | str | None = None,
    concurrency: int = CONCURRENCY,
    progress: bool | ProgressCallback = True,
    path: str | Path | None = None,
    resume: Rewards | None = None,
    refresh: bool | timedelta = False,
    reveal: Collection[str] = (),
    cluster: object = None,
) -> Any:
    """Read the rewards activity of users, all pages of each, many at a time.

    Returns `Rewards`; with an async client it must be awaited. Ctrl-C stops the read and keeps what was read. The
    service gives no totals, so pages overlap and `complete` tells what can be known; see `notes`.

    Args:
        api: A session or a client. With `cluster`, the name of a profile, the URL of a served sandbox, or an importable
            function that returns a client.
        users: User ids, users, those of a sandbox's guide, a column, or a frame with a column `user_id` or `id`.
        type: "earned" or "redeemed"; both by default. The offset reaches 10,100 rows of each.
        since: Keep rows from this time or day on ("2025-12-01" begins at midnight UTC): `created_at`, else `posted_at`,
            else `minted_at`. Rows without a time stay. Where rows come newest first, older pages are not requested.
        until: Keep rows before this time or day.
        concurrency: Requests in flight at most, 1 to 1,000. All share the client's rates; a 429 halves it for a while.
        progress: Whether to show progress on a terminal or in a notebook; or a function that is called with `Progress`.
        path: A folder to write Parquet parts into while reading, in bounded memory. The same call resumes there.
        resume: The result of an earlier call; users that it finished are not read again.
        refresh: With `path`, read what is new there: from the newest row back to those that are known, unchanged and 30
            days
            (or this long) older than the newest one known. `changes` of the result says what is new, changed or gone.
        reveal: `{"extra"}` shows the values of unknown members.
        cluster: A client of dask.distributed; needs the extra `cluster`.

    Raises:
        InvalidRequest: A user id is invalid; nothing was sent.
        UsageError: The type, a time or the concurrency is not allowed.
        Unauthorized: The key was refused. `error.partial` holds what was read before.
        Forbidden: The key may not read rewards. `error.partial` holds what was read before.
        WorkbenchError: No user could be read to the end; `error.partial` holds what was read.
    """
    wanted = ReadFilter(
        type=None if type is None else str(type), since=moment(since, "since"), until=moment(until, "until")
    )
    ids = _ids(users)
    if wanted.type not in (None, *RewardType):
        raise UsageError([not_allowed("type", type, RewardType)], of="rewards.read")
    if not 1 <= concurrency <= 1_000:
        raise UsageError("concurrency must be 1 to 1,000", of="rewards.read")
    if refresh and (path is None or cluster is not None):
        raise UsageError("refresh needs path, the folder of an earlier read, and no cluster", of="rewards.read")
    if cluster is not None:
        return read_on_cluster(api, ids, wanted, concurrency=concurrency, path=path, cluster=cluster, progress=progress)
    how: dict[str, Any] = {
        "concurrency": concurrency,
        "report": progress_callback(progress),
        "path": path,
        "resume": resume,
        "reveal": reveal,
        "refresh": UNSETTLED if refresh is True else refresh or None,
    }
    if isinstance(api, Async):
        return read_users(api, ids, wanted, **how)
    return read_in_thread(api, ids, wanted, **how)


def _ids(users: Any) -> tuple[str, ...]:
    if isinstance(users, str):
        users = [users]
    elif isinstance(users, pd.DataFrame):
        users = users["user_id" if "user_id" in users else "id"]
    elif isinstance(users, Mapping):  # of a guide: ids by status
        if not all(isinstance(group, list | tuple) for group in users.values()):
            raise UsageError(
                [Problem("users", "type", "must be ids, users, or lists of ids by status")], of="rewards.read"
            )
        users = [user for group in users.values() for user in group]
    ids = tuple(dict.fromkeys(user["id"] if isinstance(user, Mapping) else getattr(user, "id", user) for user in users))
    problems = []
    for i, user in enumerate(ids, 1):
        invalid = checks.problems(build(ListRewardsActivity, {"user_id": user}))
        problems += [Problem(f"user {i}", problem.rule, problem.message) for problem in invalid]
    if problems:
        raise InvalidRequest(problems[:20], of="rewards.read")
    return ids


TASK_PAGES = 1_000
MIN_USER_PAGES = 2
"""Pages of a user at least: one with rows, and an empty one that ends them."""
Target = str | Callable[[], Client]


def read_on_cluster(
    api: Any,
    users: Sequence[str],
    wanted: ReadFilter,
    *,
    concurrency: int,
    path: str | Path | None,
    cluster: Any,
    progress: bool | ProgressCallback,
) -> ClusterRewards:
    """Read on the workers of a cluster; `rewards.read(…, cluster=…)` calls it.

    Args:
        api: The name of a profile, the URL of a served sandbox, or an importable function that returns a client.
        users: Ids of the users.
        wanted: Which of their rows are kept.
        concurrency: Requests in flight at most, on all workers.
        path: A folder that all workers can access; each task writes a folder of parts into it.
        cluster: A client of dask.distributed.
        progress: As for `rewards.read`.
    """
    if not isinstance(api, str) and (isinstance(api, Client) or not callable(api)):
        raise UsageError(
            "with cluster=, pass the name of a profile, the URL of a served sandbox, or a function that returns a "
            "client: each worker makes its own, so that no key travels",
            of="rewards.read",
        )
    threads = sum(cluster.nthreads().values())
    if not threads:
        raise UsageError("the cluster has no workers", of="rewards.read")
    size = max(1, min(TASK_PAGES // MIN_USER_PAGES, -(-len(users) // threads)))  # every thread has a task
    tasks = [tuple(users[i : i + size]) for i in range(0, len(users), size)]
    if len(tasks) > 1 and len(tasks[-1]) < size:
        tasks[-2:] = [tasks[-2] + tasks[-1]]
    at_once = max(min(threads, len(tasks)), 1)
    with _client(api) as client:
        names, limits = parameter_names(client), client.limits
    if limits.reads_per_second is not None:
        limits = attrs.evolve(limits, reads_per_second=limits.reads_per_second / at_once)
    reads = [
        cluster.submit(
            _read,
            api,
            part,
            wanted,
            limits,
            max(concurrency // at_once, 1),
            None if path is None else str(Path(path) / f"task-{i:05}"),
            pure=False,
            key=f"read-rewards-{uuid.uuid4().hex}-{i}",
        )
        for i, part in enumerate(tasks)
    ]
    results, rows = ([cluster.submit(itemgetter(at), read, pure=False) for read in reads] for at in (0, 1))
    report, state = progress_callback(progress), Progress(total=len(users), unit="users")
    cursors: dict[str, PageCursor] = {}
    try:
        for done in import_module("distributed").as_completed(results):
            cursors |= done.result()
            state.done, state.rows = len(cursors), sum(cursor.rows for cursor in cursors.values())
            report(state)
    except KeyboardInterrupt:
        cluster.cancel([read for read in reads if not read.done()])
        rows = [row for row, read in zip(rows, reads, strict=True) if read.done()]
    finally:
        state.ended = True
        report(state)
    return ClusterRewards(
        users=tuple(users),
        names=names,
        path=None if path is None else Path(path),
        filters={name: value for name, value in wanted.as_json().items() if value is not None},
        cursors=cursors,
        parts=tuple(rows),
    )


def _client(target: Target, limits: Limits | None = None) -> Client:
    return target() if callable(target) else connect(target, limits=limits)


def _read(
    target: Target, users: Sequence[str], wanted: ReadFilter, limits: Limits, concurrency: int, path: str | None
) -> tuple[dict[str, PageCursor], pd.DataFrame | None]:
    """Read some users on a worker; return how their reads ended, and the rows unless they are in a folder."""
    try:
        with _client(target, limits) as client:
            rewards = read_in_thread(
                client, tuple(users), wanted, concurrency=concurrency, report=lambda _: None, path=path, resume=None
            )
    except WorkbenchError as error:
        if not hasattr(error, "partial"):
            raise
        rewards = error.partial
    return rewards.cursors, None if path is not None else partition(rewards.table())
