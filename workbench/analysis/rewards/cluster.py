"""Read rewards on a Dask cluster; each task reads some users and returns one partition.

Tasks hold about a thousand pages each, or one task per thread. Workers receive a profile name or the URL of a served
sandbox and build the client from their own settings, so the graph contains no key. The limits on requests in flight and
on rate are divided among the worker threads; after a 429 each thread slows down independently.
"""

import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import Any

import attrs
import pandas as pd

from workbench.analysis.rewards.folder import SCHEMA, read_folder, uniform
from workbench.analysis.rewards.pages import PageCursor
from workbench.analysis.rewards.read_job import ReadFilter, parameter_names, read_in_thread
from workbench.analysis.rewards.read_result import ReadResult
from workbench.analysis.tables.rows import WIDTHS, to_pandas
from workbench.base.errors import UsageError, WorkbenchError
from workbench.base.system.progress import Progress, ProgressCallback, progress_callback
from workbench.client.calls.client import Client
from workbench.client.calls.guards import Limits
from workbench.client.session import connect


@attrs.define(kw_only=True, slots=False, repr=False, eq=False)
class ClusterRewards(ReadResult):
    """Rewards read by a Dask cluster, in its memory or in a folder."""

    parts: tuple[Any, ...]  # futures of the rows of each task

    def frame(self) -> Any:
        """Return the rows as a Dask DataFrame, one partition per task."""
        dd = import_module("dask.dataframe")
        delayed = import_module("dask").delayed
        import_module("dask.dataframe.utils").make_scalar.register(Decimal)(
            lambda value: value
        )  # sums and means of points
        meta = partition(SCHEMA.empty_table())
        parts = list(self.parts)
        if self.path is not None:
            folders = sorted(self.path.glob("task-*"))
            parts = [delayed(partition)(delayed(read_folder)(folder)) for folder in folders]
        return dd.from_delayed(parts, meta=meta) if parts else dd.from_pandas(meta, npartitions=1)


def partition(table: Any) -> pd.DataFrame:
    """Return a partition with the dtypes that all partitions share: text types and decimal points."""
    table = uniform(table, WIDTHS[0])
    columns = {name: to_pandas(table.column(name).combine_chunks()) for name in table.column_names}
    return pd.DataFrame(columns, copy=False)


TASK_PAGES = 1_000
MIN_USER_PAGES = 2
"""Minimum pages of a user: one with rows, and the empty page that ends the list."""
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
    """Read on the workers of a cluster, for `rewards.fetch(…, cluster=…)`.

    Args:
        api: Name of a profile, URL of a served sandbox, or an importable function that returns a client.
        users: Ids of the users.
        wanted: Filter of the rows to return.
        concurrency: Maximum requests in flight over all workers.
        path: Folder that all workers can access; each task writes Parquet parts into a subfolder.
        cluster: Client of dask.distributed.
        progress: As for `rewards.fetch`.
    """
    if not isinstance(api, str) and (isinstance(api, Client) or not callable(api)):
        raise UsageError(
            "with cluster=, pass the name of a profile, the URL of a served sandbox, or a function that returns a "
            "client: each worker makes its own, so that no key travels",
            of="rewards.fetch",
        )
    threads = sum(cluster.nthreads().values())
    if not threads:
        raise UsageError("the cluster has no workers", of="rewards.fetch")
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
    """Read some users on a worker; return how each read ended, and the rows unless written to a folder."""
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
