"""Read rewards of many users through overlapping, verified pages. A stopped read returns the rows read so far."""

from collections.abc import Callable, Coroutine, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

import pandas as pd

from workbench.analysis.rewards.cluster import read_on_cluster
from workbench.analysis.rewards.read_job import ReadFilter, Reading, read_in_thread
from workbench.analysis.rewards.read_result import Rewards
from workbench.analysis.tables.periods import moment
from workbench.base.errors import InvalidRequest, Problem, UsageError, not_allowed
from workbench.base.schema import checks
from workbench.base.schema.walk import build
from workbench.base.system.progress import ProgressCallback, progress_callback
from workbench.client.calls.client import AsyncClient, Client
from workbench.service.interface.table import Async
from workbench.service.interface.transactions import ListRewardsActivity
from workbench.service.interface.vocabulary import RewardType, RewardTypeText

CONCURRENCY = 64
Moment = datetime | date | str | None


class Options(TypedDict, total=False):
    """Keyword arguments of `fetch`."""

    type: RewardType | RewardTypeText | None
    since: Moment
    until: Moment
    concurrency: int
    progress: bool | ProgressCallback
    path: str | Path | None
    resume: Rewards | None
    cluster: object


@overload
def fetch(api: AsyncClient, users: object, **options: Unpack[Options]) -> Coroutine[Any, Any, Rewards]: ...
@overload
def fetch(api: Client | str | Callable[[], Client], users: object, **options: Unpack[Options]) -> Rewards: ...
def fetch(
    api: object,
    users: object,
    *,
    type: RewardType | RewardTypeText | None = None,  # noqa: A002 - the interface's own word
    since: Moment = None,
    until: Moment = None,
    concurrency: int = CONCURRENCY,
    progress: bool | ProgressCallback = True,
    path: str | Path | None = None,
    resume: Rewards | None = None,
    cluster: object = None,
) -> Any:
    """Read the rewards activity of many users concurrently, including all pages of each user.

    The result has `frame()`, `complete` and `notes`; with an async client, await the call. Ctrl-C stops the read and
    keeps the rows read so far. The service returns no totals, so pages overlap, and `complete` and `notes` say whether
    rows may be missing.
    The service never lists redemptions for travel bookings that are PENDING or FAILED.

    Args:
        api: A session or a client. With `cluster`, the name of a profile, the URL of a served sandbox, or an importable
            function that returns a client.
        users: User ids, users, a column of ids, or a frame with a column `user_id` or `id`.
        type: "earned" or "redeemed"; both by default. At most 10,100 rows of each type can be reached by offset.
        since: Keep rows from this time or day on ("2025-12-01" begins at midnight UTC): `created_at`, else `posted_at`,
            else `minted_at`. Rows without a time stay. If rows come newest first, older pages are not requested.
        until: Keep rows before this time or day.
        concurrency: Maximum number of requests in flight, 1 to 1,000. All requests share the client's rate limits. A
            429 halves the number for a while.
        progress: Whether to show progress on a terminal or in a notebook; or a function that is called with `Progress`.
        path: A folder to write Parquet parts into while reading, in bounded memory. If the call is repeated, it resumes
            the read in this folder.
        resume: The result of an earlier call. Users that it read completely are not read again.
        cluster: A client of dask.distributed. Its workers share the users and write to separate folders under `path`.
            Needs the extra `cluster`. `frame()` then returns a Dask DataFrame.

    Raises:
        InvalidRequest: A user id is invalid; nothing was sent.
        UsageError: The type, a time or the concurrency is not allowed.
        Unauthorized: The key was refused. `error.partial` holds the rows read before.
        Forbidden: The key may not read rewards. `error.partial` holds the rows read before.
        WorkbenchError: No user could be read completely. `error.partial` holds the rows read so far.
    """
    wanted = ReadFilter(type=type and str(type), since=moment(since, "since"), until=moment(until, "until"))
    ids = _ids(users)
    if wanted.type not in (None, *RewardType):
        raise UsageError([not_allowed("type", type, RewardType)], of="rewards.fetch")
    if not 1 <= concurrency <= 1_000:
        raise UsageError("concurrency must be 1 to 1,000", of="rewards.fetch")
    how: Any = {"concurrency": concurrency, "report": progress_callback(progress)}
    if cluster is not None:
        if path is None:
            raise UsageError("cluster requires path, a folder that all workers can access", of="rewards.fetch")
        return read_on_cluster(api, ids, wanted, path=Path(path), cluster=cluster, **how)
    reading = Reading(api, ids, wanted, path=path, resume=resume, **how)
    return reading.run() if isinstance(api, Async) else read_in_thread(reading)


def _ids(users: Any) -> tuple[str, ...]:
    if isinstance(users, str):
        users = [users]
    elif isinstance(users, pd.DataFrame):
        users = users["user_id" if "user_id" in users else "id"]
    listed = [user.get("id", "") if isinstance(user, Mapping) else getattr(user, "id", user) for user in users]
    try:
        ids = tuple(dict.fromkeys(listed))
    except TypeError:
        raise UsageError([Problem("users", "type", "must be ids, or users with an id")], of="rewards.fetch") from None
    problems = [
        Problem(f"user {i}", problem.rule, problem.message)
        for i, user in enumerate(ids, 1)
        for problem in checks.problems(build(ListRewardsActivity, {"user_id": user}))
    ]
    if problems:
        raise InvalidRequest(problems[:20], of="rewards.fetch")
    return ids
