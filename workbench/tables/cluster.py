"""Reads on more than one machine, with dask.distributed (the extra `cluster`).

Users are divided into tasks of at least a thousand pages. A worker gets the name of a profile, or the URL of a served
sandbox, and makes its own client from its own settings: no key is in the graph. The requests in flight and the rate of
reads are divided among the workers' threads; a 429 that one of them receives pauses all of them.

    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=4) as machines, Client(machines) as cluster:
        rewards = wb.rewards.read("my-profile", users, cluster=cluster)
        rewards.frame().groupby("spend_category").transaction_amount_cents.sum().compute()
"""

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import pandas as pd

from workbench.client.client import Client
from workbench.errors import InvalidRequest, WorkbenchError
from workbench.progress import Progress, ProgressCallback, progress_callback
from workbench.session import connect
from workbench.tables.folder import SCHEMA, read_folder, uniform
from workbench.tables.read_job import ReadJob, parameter_names, read_notes, summary_line
from workbench.tables.reading import Gate, ReadFilter, ReadSummary
from workbench.tables.rows import to_pandas

TASK_PAGES = 1_000
MIN_USER_PAGES = 2
"""Pages of a user at least: one with rows, and an empty one that ends them."""
POLL_INTERVAL = 0.5
"""Seconds between two checks whether another worker received a 429."""
RATE_LIMIT_PAUSE = 1.0
"""Seconds that all workers wait after a 429."""
Target = str | Callable[[], Client]


@attrs.frozen(kw_only=True)
class Share:
    """What one task may use of the limits of all."""

    concurrency: int
    reads_per_second: float | None
    pause: str  # name of the shared variable that holds until when all wait


def read_on_cluster(
    api: Any, users: Sequence[str], wanted: ReadFilter, *, concurrency: int, path: str | Path | None, cluster: Any,
    progress: bool | ProgressCallback,
) -> "ClusterRewards":  # fmt: skip
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
        raise InvalidRequest(
            "with cluster=, pass the name of a profile, the URL of a served sandbox, or a function that returns a "
            "client: each worker makes its own, so that no key travels",
            of="rewards.read",
        )
    threads = sum(cluster.nthreads().values())
    if not threads:
        raise InvalidRequest("the cluster has no workers", of="rewards.read")
    size = TASK_PAGES // MIN_USER_PAGES
    tasks = [tuple(users[i : i + size]) for i in range(0, len(users), size)]
    if len(tasks) > 1 and len(tasks[-1]) < size:
        tasks[-2:] = [tasks[-2] + tasks[-1]]
    at_once = max(min(threads, len(tasks)), 1)
    with _client(api) as client:
        names, rate = parameter_names(client), client.limits.reads_per_second
    share = Share(
        concurrency=max(concurrency // at_once, 1),
        reads_per_second=None if rate is None else rate / at_once,
        pause=f"workbench-pause-{uuid.uuid4().hex}",
    )
    paused = _distributed().Variable(share.pause, client=cluster)
    paused.set(0.0)
    reads = [
        cluster.submit(
            _read, api, part, wanted, share, None if path is None else str(Path(path) / f"task-{i:05}"), pure=False,
            key=f"read-rewards-{uuid.uuid4().hex}-{i}",
        )
        for i, part in enumerate(tasks)
    ]  # fmt: skip
    results = [cluster.submit(_summaries, read, pure=False) for read in reads]
    rows = [cluster.submit(_rows, read, pure=False) for read in reads]
    report, state = progress_callback(progress), Progress(total=len(users), unit="users")
    summaries: dict[str, ReadSummary] = {}
    try:
        for done in _distributed().as_completed(results):
            summaries |= done.result()
            state.done, state.rows = len(summaries), sum(summary.rows for summary in summaries.values())
            report(state)
    except KeyboardInterrupt:
        cluster.cancel([read for read in reads if not read.done()])
        rows = [row for row, read in zip(rows, reads, strict=True) if read.done()]
    finally:
        paused.delete()
        state.ended = True
        report(state)
    return ClusterRewards(tuple(users), summaries, names, tuple(rows), None if path is None else Path(path))


def _distributed() -> Any:
    return import_module("distributed")  # the extra `cluster`


def _client(target: Target) -> Client:
    return target() if callable(target) else connect(target)


Result = tuple[dict[str, ReadSummary], Any]  # the summaries, and the rows as an Arrow table unless they are in a folder


def _read(target: Target, users: Sequence[str], wanted: ReadFilter, share: Share, path: str | None) -> Result:
    """Read some users on a worker."""
    distributed = _distributed()
    paused = distributed.Variable(share.pause, client=distributed.get_client())
    gate = Gate(share.concurrency, per_second=share.reads_per_second)
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(gate, paused, over), daemon=True)
    watch.start()
    try:
        with _client(target) as client:
            job = ReadJob(
                client, tuple(users), wanted, gate=gate, report=lambda _: None, path=path,
                on_rate_limit=lambda: paused.set(time.time() + RATE_LIMIT_PAUSE),
            )  # fmt: skip
            rewards = job.read_in_thread()
    except WorkbenchError as error:
        if not hasattr(error, "partial"):
            raise
        rewards = error.partial
    finally:
        over.set()
        watch.join()
    return rewards.summaries, None if path is not None else rewards.table()


def _watch(gate: Gate, paused: Any, over: threading.Event) -> None:
    """Pause this worker's requests while another one is rate-limited."""
    while not over.wait(POLL_INTERVAL):
        gate.paused_until = time.monotonic() + paused.get() - time.time()


def _summaries(result: Result) -> dict[str, ReadSummary]:
    return result[0]


def _rows(result: Result) -> pd.DataFrame | None:
    return None if result[1] is None else _partition(uniform(result[1]))


def _partition(table: Any) -> pd.DataFrame:
    """Return a partition; the dtypes are the same in each, so the type is text and points have 18 places."""
    columns = {name: to_pandas(table.column(name).combine_chunks()) for name in table.column_names}
    return pd.DataFrame(columns, copy=False)


class ClusterRewards:
    """Rewards read by a Dask cluster, in its memory or in the folder it wrote."""

    def __init__(
        self, users: tuple[str, ...], summaries: dict[str, ReadSummary], names: Mapping[str, str],
        rows: tuple[Any, ...], path: Path | None,
    ) -> None:  # fmt: skip
        self.users, self.summaries, self.path = users, summaries, path
        self._names, self._rows = names, rows

    @property
    def complete(self) -> bool:
        """Whether every row that the service shows was read, as far as can be known."""
        return all(user in self.summaries and self.summaries[user].complete for user in self.users)

    @property
    def notes(self) -> tuple[str, ...]:
        """The caveats: what was not read and why, and parameters that the service seems to ignore."""
        return tuple(read_notes(self.summaries, self.users, self._names))

    def frame(self) -> Any:
        """Return the rows as a Dask DataFrame; each task is a partition."""
        dd: Any = import_module("dask.dataframe")
        delayed: Any = import_module("dask").delayed
        meta = _partition(SCHEMA.empty_table())
        parts = list(self._rows)
        if self.path is not None:
            folders = sorted(self.path.glob("task-*"))
            parts = [delayed(_partition)(delayed(read_folder)(folder)) for folder in folders]
        return dd.from_delayed(parts, meta=meta) if parts else dd.from_pandas(meta, npartitions=1)

    def __repr__(self) -> str:
        rows = sum(summary.rows for summary in self.summaries.values())
        return f"<ClusterRewards {summary_line(len(self.users), rows, self.complete, len(self.notes))}>"
