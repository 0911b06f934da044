"""Reads on more than one machine, with dask.distributed (the extra `cluster`).

Users are dealt out in tasks of at least a thousand pages. A worker gets the name of a profile, or the URL of a served
sandbox, and makes its own client from its own settings: no key is in the graph. What may be in flight in all, and the
rate of reads, are divided among the workers' threads; a 429 that one meets holds all of them back.

    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=4) as machines, Client(machines) as cluster:
        rewards = read_rewards("my-profile", users, cluster=cluster)
        rewards.frame().groupby("spend_category").transaction_amount_cents.sum().compute()
"""

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs

from workbench.client.client import Client
from workbench.client.guards import Limits
from workbench.errors import InvalidRequest, WorkbenchError
from workbench.tables.notes import Told, notes_of, summed_up
from workbench.tables.progress import Meter, Progress, meter
from workbench.tables.spool import SCHEMA, read_folder, uniform

TASK_PAGES = 1_000
LEAST_PAGES = 2
"""Pages that a user takes at least: one with rows, and an empty one that says it was the last."""
CONCURRENCY = 64
LOOK = 0.5
"""Seconds between two looks at whether another worker met a 429."""
Where = str | Callable[[], Client]


@attrs.frozen(kw_only=True)
class Share:
    """What one task may use of the budget of all."""

    concurrency: int
    reads_per_second: float | None
    pause: str  # name of the shared variable that says until when all wait


def read_on_cluster(
    api: Any, users: Sequence[str], *, type: str | None, since: datetime | None, until: datetime | None,  # noqa: A002
    concurrency: int | None, path: str | Path | None, cluster: Any, progress: bool | Meter,
) -> "ClusterRewards":  # fmt: skip
    """Read on the workers of a cluster; `read_rewards(…, cluster=…)` calls it.

    Args:
        api: The name of a profile, the URL of a served sandbox, or an importable function that makes a client.
        path: A folder that all workers see; each task writes a folder of parts into it.
    """
    where = _where(api)
    slots = sum(cluster.nthreads().values())
    if not slots:
        raise InvalidRequest("the cluster has no workers", of="read_rewards")
    size = TASK_PAGES // LEAST_PAGES
    tasks = [tuple(users[i : i + size]) for i in range(0, len(users), size)]
    if len(tasks) > 1 and len(tasks[-1]) < size:
        tasks[-2:] = [tasks[-2] + tasks[-1]]
    at_once = max(min(slots, len(tasks)), 1)
    with _made(where) as client:
        names = _parameter_names(client)
        rate = client.limits.reads_per_second
    share = Share(
        concurrency=max((concurrency or CONCURRENCY) // at_once, 1),
        reads_per_second=None if rate is None else rate / at_once,
        pause=f"workbench-pause-{uuid.uuid4().hex}",
    )
    held = _distributed().Variable(share.pause, client=cluster)
    held.set(0.0)
    how = {"type": None if type is None else str(type), "since": since, "until": until}
    whole = [
        cluster.submit(
            _task, where, part, how, share, None if path is None else str(Path(path) / f"task-{i:05}"), pure=False,
            key=f"read-rewards-{uuid.uuid4().hex}-{i}",
        )
        for i, part in enumerate(tasks)
    ]  # fmt: skip
    told = [cluster.submit(_told, one, pure=False) for one in whole]
    rows = [cluster.submit(_rows, one, pure=False) for one in whole]
    show, shown = meter(progress), Progress(users=len(users))
    found: dict[str, Told] = {}
    try:
        for done in _distributed().as_completed(told):
            part = {user: Told(**said) for user, said in done.result().items()}
            found |= part
            shown.done, shown.rows = len(found), shown.rows + sum(one.rows for one in part.values())
            show(shown)
    except KeyboardInterrupt:
        cluster.cancel([one for one in whole if not one.done()])
        rows = [row for row, one in zip(rows, whole, strict=True) if one.done()]
    finally:
        held.delete()
        shown.ended = True
        show(shown)
    return ClusterRewards(
        users=tuple(users), told=found, names=names, rows=tuple(rows), path=None if path is None else Path(path)
    )


def _distributed() -> Any:
    return import_module("distributed")  # the extra `cluster`


def _where(api: Any) -> Where:
    """Return what a worker makes its client of; never a client, which holds a key."""
    if isinstance(api, str) or (callable(api) and not isinstance(api, Client)):
        where: Where = api
        return where
    name: str = getattr(api, "_name", "")
    if name and getattr(api, "_given", None) is None:
        return name
    raise InvalidRequest(
        "with cluster=, give the name of a profile, the URL of a served sandbox, or a function that makes a client: "
        "each worker makes its own, so that no key travels",
        of="read_rewards",
    )


def _made(where: Where) -> Client:
    if callable(where):
        return where()
    from workbench.session import connect

    return connect(where)


def _parameter_names(client: Client) -> dict[str, str]:
    from workbench.interface.rewards import ListRewardsActivity
    from workbench.interface.walk import member

    names = ("user_id", "type", "limit", "offset")
    return {one: client.converter.wire_name(ListRewardsActivity, member(ListRewardsActivity, one)) for one in names}


def _task(
    where: Where, users: Sequence[str], how: Mapping[str, Any], share: Share, path: str | None
) -> tuple[dict[str, Any], Any]:  # fmt: skip
    """Read some users on a worker: what is told of each, and their rows."""
    from workbench.tables import reads
    from workbench.tables.pieces import ReadFilter

    with _made(where) as client:
        _pace(client, share)
        held = _distributed().Variable(share.pause, client=_distributed().get_client())
        over = threading.Event()
        watch = threading.Thread(target=_watch, args=(client, held, over), daemon=True)
        watch.start()
        try:
            job = reads.Job(
                client, tuple(users), ReadFilter(**how), concurrency=share.concurrency, progress=False, path=path,
            )  # fmt: skip
            job.limited = lambda: held.set(time.time() + 1.0)
            rewards = reads.in_background(job)
        except WorkbenchError as error:
            if not hasattr(error, "partial"):
                raise
            rewards = error.partial
        finally:
            over.set()
            watch.join()
    told = {user: attrs.asdict(one) for user, one in rewards.told.items()}
    return told, None if path is not None else rewards.table()


def _pace(client: Client, share: Share) -> None:
    from workbench.client.pace import Pace

    limits: Limits = client.limits
    client._context.pace = Pace(reads=share.reads_per_second, writes=limits.writes_per_second)


def _watch(client: Client, held: Any, over: threading.Event) -> None:
    """Hold this worker's calls back while another one was told to slow down."""
    while not over.wait(LOOK):
        until = held.get()
        wait = until - time.time()
        if wait > 0:
            clock = client._context.clock
            client.pace.hold(clock.monotonic() + wait)


def _told(result: tuple[dict[str, Any], Any]) -> dict[str, Any]:
    return result[0]


def _rows(result: tuple[dict[str, Any], Any]) -> Any:
    table = result[1]
    return None if table is None else _pandas(uniform(table))


def _pandas(table: Any) -> Any:
    """Return a partition: the same dtypes in each, whatever is in it, so the type is text and points have 18 places."""
    import pandas as pd

    from workbench.tables.arrays import to_pandas

    columns = {name: to_pandas(table.column(name).combine_chunks()) for name in table.column_names}
    return pd.DataFrame(columns, copy=False)


class ClusterRewards:
    """Rewards that a cluster holds, or that it wrote to a folder."""

    def __init__(
        self, *, users: tuple[str, ...], told: Mapping[str, Told], names: Mapping[str, str], rows: tuple[Any, ...],
        path: Path | None,
    ) -> None:  # fmt: skip
        self.users = users
        self.told = dict(told)
        self.path = path
        self._names = names
        self._rows = rows

    @property
    def complete(self) -> bool:
        """Whether every row that the service shows is here, as far as can be told."""
        return all(user in self.told and self.told[user].complete for user in self.users)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was read, where it was cut and why, in words."""
        return tuple(notes_of(self.told, self.users, names=self._names))

    def frame(self) -> Any:
        """Return the rows as a Dask DataFrame; each task is a partition."""
        dd: Any = import_module("dask.dataframe")
        delayed: Any = import_module("dask").delayed
        meta = _pandas(SCHEMA.empty_table())
        if self.path is not None:
            folders = sorted(self.path.glob("task-*"))
            parts = [delayed(_pandas)(delayed(read_folder)(folder)) for folder in folders]
            return dd.from_delayed(parts, meta=meta) if parts else dd.from_pandas(meta, npartitions=1)
        if not self._rows:
            return dd.from_pandas(meta, npartitions=1)
        return dd.from_delayed(list(self._rows), meta=meta)

    def __repr__(self) -> str:
        rows = sum(one.rows for one in self.told.values())
        return f"<ClusterRewards {summed_up(len(self.users), rows, self.complete, len(self.notes))}>"
