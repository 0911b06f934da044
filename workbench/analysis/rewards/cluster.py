"""Read rewards on a Dask cluster. Each task reads some of the users into a separate folder, as `rewards.fetch` does.

A task reads about a thousand pages, or fewer if some threads would otherwise have no task. Workers receive a profile
name or the URL of a served sandbox and build the client from their own settings, so the graph contains no key. The
limits on requests in flight and on rate are divided among the worker threads; after a 429 each thread slows down
independently.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import pandas as pd

from workbench.analysis.rewards.folder import in_order, read_folder, uniform
from workbench.analysis.rewards.pages import PageCursor, PageReader
from workbench.analysis.rewards.read_job import ReadFilter, Reading, read_in_thread
from workbench.analysis.rewards.read_result import Rewards
from workbench.analysis.tables.rows import WIDTHS, to_pandas
from workbench.base.errors import UsageError, WorkbenchError
from workbench.base.system.progress import Progress, ProgressCallback
from workbench.client.calls.client import Client
from workbench.client.calls.guards import Limits
from workbench.client.session import connect

TASK_PAGES = 1_000
MIN_USER_PAGES = 2
"""Minimum pages of a user: one with rows, and the empty page that ends the list."""
Target = str | Callable[[], Client]


class ClusterRewards(Rewards):
    """Rewards that the tasks of a cluster wrote into folders."""

    def frame(self) -> Any:
        """Return the rows as a Dask DataFrame, one partition per task, users in the order requested."""
        dd, scalars = (import_module(f"dask.dataframe{name}") for name in ("", ".utils"))
        scalars.make_scalar.register(Decimal)(lambda value: value)  # Dask can then compute sums and means of points
        assert self.path is not None
        folders, nothing = sorted(self.path.glob("task-*")), _partition(self.path / "none", ())
        return dd.from_map(_partition, folders, users=self.users, meta=nothing)


def _partition(folder: Path, users: Sequence[str]) -> pd.DataFrame:
    """Return a task's rows with the dtypes that all partitions share, such as text types and decimal scales."""
    columns = in_order(uniform(read_folder(folder), WIDTHS[0]), users)
    return pd.DataFrame({name: to_pandas(values) for name, values in columns.items()}, copy=False)


def read_on_cluster(
    api: object,
    users: Sequence[str],
    wanted: ReadFilter,
    *,
    concurrency: int,
    path: Path,
    cluster: Any,
    report: ProgressCallback,
) -> ClusterRewards:
    """Read rewards on the workers of a cluster, for `rewards.fetch(…, cluster=…)`.

    Args:
        api: Name of a profile, URL of a served sandbox, or an importable function that returns a client.
        users: Ids of the users.
        wanted: Filter of the rows to return.
        concurrency: Maximum number of requests in flight, over all workers.
        path: Folder that all workers can access.
        cluster: Client of dask.distributed.
        report: Function that is called with the progress.
    """
    if not (isinstance(api, str) or callable(api)):
        raise UsageError(
            "with cluster=, pass the name of a profile, the URL of a served sandbox, or a function that returns a "
            "client: each worker creates its own client, so that no key is sent",
            of="rewards.fetch",
        )
    threads = sum(cluster.nthreads().values())
    if not threads:
        raise UsageError("the cluster has no workers", of="rewards.fetch")
    # There is at least one task for each thread, if there are enough users.
    count = max(len(users) * MIN_USER_PAGES // TASK_PAGES, threads)
    size = max(-(-len(users) // count), 1)
    tasks = [tuple(users[i : i + size]) for i in range(0, len(users), size)]
    at_once = max(min(threads, len(tasks)), 1)
    with _client(api) as client:
        limits, reader = client.limits, PageReader(client.converter.names)
    if limits.reads_per_second is not None:
        limits = attrs.evolve(limits, reads_per_second=limits.reads_per_second / at_once)
    share = max(concurrency // at_once, 1)
    reads = []
    for i, part in enumerate(tasks):
        folder = path / f"task-{i:05}"
        reads.append(cluster.submit(_read, api, part, wanted, limits, share, folder, pure=False))
    rewards = ClusterRewards(users=tuple(users), path=path, filters=wanted.as_json(), reader=reader)
    state = Progress(total=len(users), unit="users")
    try:
        for done in import_module("distributed").as_completed(reads):
            rewards.cursors |= done.result()
            state.done, state.rows = len(rewards.cursors), rewards.rows
            report(state)
    except KeyboardInterrupt:
        cluster.cancel([read for read in reads if not read.done()])
    finally:
        state.ended = True
        report(state)
    return rewards


def _client(target: Target, limits: Limits | None = None) -> Client:
    return target() if callable(target) else connect(target, limits=limits)


def _read(
    target: Target, users: Sequence[str], wanted: ReadFilter, limits: Limits, concurrency: int, path: Path
) -> dict[str, PageCursor]:
    """Read some of the users on a worker into a folder. Return the state of each user's read."""
    try:
        with _client(target, limits) as client:
            reading = Reading(client, users, wanted, concurrency=concurrency, report=lambda _: None, path=path)
            return read_in_thread(reading).cursors
    except WorkbenchError as error:
        if not hasattr(error, "partial"):
            raise
        return error.partial.cursors  # type: ignore[no-any-return]
