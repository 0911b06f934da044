"""Rewards read on a cluster: equal rows, no key in the task graph, and a shared rate."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from workbench.analysis.rewards import cluster as rewards
from workbench.analysis.rewards.reading import fetch
from workbench.base.errors import UsageError
from workbench.client.calls.guards import Limits
from workbench.client.session import connect
from workbench.sandbox import Sandbox

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def machines() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Sandbox(seed=5).serve() as served:
        yield served


def users(url: str) -> list[str]:
    with connect(url) as api:
        return [user["id"] for user in api.sandbox.guide()["rewards_users"]][:6]


def test_a_cluster_reads_the_same_rows(
    machines: Any, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two workers with separate clients read the same rows, which a Dask DataFrame provides."""
    monkeypatch.setattr(rewards, "TASK_PAGES", 4)
    wanted = users(url)
    with connect(url) as api:
        here = fetch(api, wanted, progress=False)
    there = fetch(url, wanted, progress=False, cluster=machines, path=tmp_path)
    frame: Any = there.frame().compute().reset_index(drop=True)

    assert there.frame().npartitions > 1
    assert there.complete == here.complete
    assert frame["id"].tolist() == here.frame()["id"].tolist()
    assert frame["points"].sum() == here.frame()["points"].sum()

    assert frame["points"].dtype == here.frame()["points"].dtype

    points, by_user = there.frame()["points"], there.frame().groupby("user_id")["points"]
    assert points.sum().compute() == here.frame()["points"].sum()
    assert round(points.mean().compute(), 6) == here.frame()["points"].mean()
    assert by_user.sum().compute().sum() == here.frame()["points"].sum()

    again = fetch(url, wanted, progress=False, cluster=machines, path=tmp_path)
    assert sorted(again.frame().compute()["id"]) == sorted(frame["id"])
    with pytest.raises(UsageError, match="cluster requires path"):
        fetch(url, wanted, progress=False, cluster=machines)


def test_no_key_is_in_the_graph(machines: Any, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Submitted tasks contain a profile name or URL. A client, which contains a key, is refused."""
    with connect(url) as api:
        key = api.sandbox.full_key
    sent: list[bytes] = []
    submit = machines.submit

    def spy(function: Any, *args: Any, **more: Any) -> Any:
        from distributed.protocol.pickle import dumps

        sent.append(dumps([a for a in args if isinstance(a, str | tuple | dict | Limits)]))
        return submit(function, *args, **more)

    monkeypatch.setattr(machines, "submit", spy)
    fetch(url, users(url)[:1], progress=False, cluster=machines, path=tmp_path)

    assert sent
    assert not any(key.encode() in one for one in sent)
    with connect(seed=1) as own, pytest.raises(UsageError, match="so that no key is sent"):
        fetch(own, users(url), progress=False, cluster=machines, path=tmp_path)


def test_every_worker_has_a_task(machines: Any, url: str, tmp_path: Path) -> None:
    """A read of few users uses all workers. A function creates each worker's client."""
    there: Any = fetch(partial(connect, url), users(url)[:2], progress=False, cluster=machines, path=tmp_path)

    assert there.frame().npartitions == 2


@pytest.mark.soak
def test_tasks_have_a_thousand_pages(machines: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each task has users for at least a thousand pages, and the workers share the rate."""
    seen: list[tuple[Any, ...]] = []

    class Stop(Exception):
        pass

    def spy(function: Any, *args: Any, **more: Any) -> Any:
        seen.append(args)
        if len(seen) == 3:
            raise Stop
        return machines.scatter(None)

    monkeypatch.setattr(machines, "submit", spy)
    many = [f"00000000-0000-4000-8000-{n:012}" for n in range(1_700)]
    with pytest.raises(Stop), Sandbox(seed=1).serve() as url:
        fetch(url, many, progress=False, cluster=machines, path=tmp_path)

    assert [len(args[1]) * rewards.MIN_USER_PAGES >= 1_000 for args in seen] == [True] * 3
    assert seen[0][4] == 64 // 2
