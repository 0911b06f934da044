"""The event loop of a served sandbox is never blocked by a name lookup, a busy file, or a large write."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from workbench.base.system import http_post
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals
from workbench.sandbox.store import open_store

CONTRACTS = "/v1/issuing/tenants/contracts"


@contextmanager
def asking_without_a_pause(url: str, waits: list[float]) -> Iterator[None]:
    """Request a stateless path continuously, and note the processor time until each answer in seconds.

    Processor time of other programs does not count.
    """
    done = threading.Event()

    def run() -> None:
        with httpx.Client(base_url=url) as client:
            while not done.is_set():
                began = time.process_time()
                client.get("/nothing", headers={"origin": "http://elsewhere"}, timeout=60)
                waits.append(time.process_time() - began)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_a_slow_look_up_of_a_name_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are answered while an endpoint's host name is looked up."""
    looking, found = threading.Event(), threading.Event()

    def slowly(host: str, port: int) -> list[str]:
        looking.set()
        assert found.wait(20)
        return ["127.0.0.1"]

    monkeypatch.setattr(
        http_post.check_url, "__kwdefaults__", {**http_post.check_url.__kwdefaults__, "resolve": slowly}
    )
    sandbox = Sandbox()
    with sandbox.serve() as url:
        key = {"api-key": sandbox.full_key, "content-type": "application/json"}
        registering = threading.Thread(target=httpx.post, args=(url + "/_sandbox/register_endpoint",), kwargs={
            "headers": key, "content": b'{"endpoint_url": "http://slow.example/"}', "timeout": 60})  # fmt: skip
        registering.start()
        assert looking.wait(20)
        waits: list[float] = []
        with asking_without_a_pause(url, waits):
            status = httpx.get(url + CONTRACTS, headers=key).status_code
            while len(waits) < 20:
                time.sleep(0.01)
        found.set()
        registering.join()

    assert (status, len(sandbox.endpoints())) == (200, 1)
    sandbox.close()


def test_a_file_that_is_held_holds_up_its_own_requests_alone(tmp_path: Path) -> None:
    """While another program holds the file, stateless requests are answered, and the others wait."""
    sandbox = Sandbox(path=tmp_path / "s.db")
    key = {"api-key": sandbox.full_key}
    with sandbox.serve() as url, closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        statuses: list[int] = []
        asking = threading.Thread(
            target=lambda: statuses.append(httpx.get(url + CONTRACTS, headers=key, timeout=60).status_code)
        )
        asking.start()
        waits: list[float] = []
        with asking_without_a_pause(url, waits):
            while len(waits) < 20:
                time.sleep(0.01)
        assert statuses == []
        holder.execute("ROLLBACK")
        asking.join()

    assert statuses == [200]
    sandbox.close()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [20_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_no_row_of_the_file_holds_the_state(tmp_path: Path, rows: int) -> None:
    """Each row of the file contains one value, also after large writes, and another process reads the same state."""
    store = open_store(tmp_path / "s.db")
    with store:
        for i in range(rows):
            store.put("row", str(i), {"number": i})
    with store:
        store.copy_kind("row", "snapshot/a/row")
    with closing(sqlite3.connect(tmp_path / "s.db")) as file:
        count, largest = file.execute("SELECT count(*), max(length(data)) FROM value").fetchone()
    again = open_store(tmp_path / "s.db")
    with again:
        found = again.copy()

    assert count == 2 * rows + 1  # the additional row contains the number of changes
    assert largest < 100
    assert found == store.copy()
    assert [key for key, _ in again.items("row")] == [str(i) for i in range(rows)]
    assert found["snapshot/a/row"] == found["row"]
    again.close()
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [40_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_a_large_write_stalls_nothing(rows: int, tmp_path: Path) -> None:
    """While many rows are written and saved in a snapshot, no answer waits for a fifth of the work."""
    sandbox = Sandbox(path=tmp_path / "s.db")
    store = internals(sandbox).engine.store
    waits: list[float] = []
    with sandbox.serve() as url, asking_without_a_pause(url, waits):
        began = time.process_time()
        with store:
            for i in range(rows):
                store.put("row", str(i), {"number": -i, "text": "x" * 100})
        sandbox.snapshot("large")
        spent = time.process_time() - began
    print(f"\n{len(waits)} answers; the longest wait was {max(waits) / spent:.0%} of the work")
    sandbox.close()

    assert max(waits) < spent / 5
