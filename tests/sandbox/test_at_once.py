"""Threads and processes that use one sandbox at the same time."""

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import httpx
import pytest

from workbench.base.system import http_server
from workbench.client.session import connect
from workbench.sandbox import Sandbox
from workbench.sandbox.engine import RequestLog
from workbench.sandbox.internals import internals
from workbench.sandbox.store import FileStore, Store

RECEIVER = "http://127.0.0.1:9/closed"


class Watched(threading.Condition):
    """Condition that records which threads hold it."""

    held = threading.local()

    def __enter__(self) -> bool:
        self.held.depth = getattr(self.held, "depth", 0) + 1
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.held.depth -= 1


@contextmanager
def uses_under_lock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collect the uses of a store by threads that hold the dispatcher's condition."""
    uses: list[str] = []

    def watch(cls: type[Store], name: str) -> None:
        method = getattr(cls, name)

        def watched(*arguments: Any, **options: Any) -> Any:
            if getattr(Watched.held, "depth", 0):
                uses.append(name)
            return method(*arguments, **options)

        monkeypatch.setattr(cls, name, watched)

    for cls in (Store, FileStore):
        for name in {"get", "items", "count", "enter", "lease"} & vars(cls).keys():
            watch(cls, name)
    monkeypatch.setattr(threading, "Condition", Watched)
    yield uses


@pytest.mark.parametrize("stored", [False, True], ids=["memory", "file"])
def test_a_thread_in_a_transaction_never_waits_for_one_that_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    """Delivery threads use no sandbox data while they hold the lock that a request in a transaction needs."""
    with uses_under_lock(monkeypatch) as uses, Sandbox(path=tmp_path / "sandbox.db" if stored else None) as sandbox:
        first, second = (sandbox.register_endpoint(RECEIVER) for _ in range(2))
        sandbox.advance(minutes=1)
        flushed = sandbox.flush(5)
        sandbox.remove_endpoint(first.id)
        assert sandbox.flush(5).ok
        sandbox.remove_endpoint(second.id)
        assert sandbox.flush(5).ok

    assert flushed.ok
    assert uses == []


def test_a_request_is_logged_while_earlier_ones_are_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that another thread logs while the log is written to the file neither fails nor disappears."""
    add, save, keep = RequestLog.add, RequestLog.save, FileStore.keep_requests
    answered, saving, added = threading.Event(), threading.Event(), threading.Event()

    def add_during_save(log: RequestLog, *entry: Any) -> None:
        if threading.current_thread() is other:
            answered.set()
            saving.wait(20)
        add(log, *entry)

    def save_after_add(log: RequestLog) -> None:
        if threading.current_thread() is other:
            added.set()
        save(log)

    def keep_slowly(store: FileStore, entries: Iterable[Any], most: int) -> None:
        rest = iter(entries)
        first = next(rest)
        saving.set()
        added.wait(20)
        keep(store, chain([first], rest), most)

    monkeypatch.setattr(RequestLog, "add", add_during_save)
    monkeypatch.setattr(RequestLog, "save", save_after_add)
    monkeypatch.setattr(FileStore, "keep_requests", keep_slowly)
    with connect(path=tmp_path / "sandbox.db", journal=False) as api:
        other = threading.Thread(target=api.list_contracts)
        other.start()
        assert answered.wait(20)
        for _ in range(70):
            api.list_contracts()
        other.join(20)
        assert added.is_set()
        assert len(api.sandbox.requests()) == 71


def test_threads_that_share_at_once_get_one_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """One server is started, and answers at the URL that each thread got."""
    started, urls, serving = threading.Barrier(4), list[str](), http_server.serving

    def serve_slowly(*arguments: Any, **options: Any) -> Any:
        with suppress(threading.BrokenBarrierError):
            started.wait(0.5)  # without a lock, the other threads would start servers, too
        return serving(*arguments, **options)

    monkeypatch.setattr(http_server, "serving", serve_slowly)
    with Sandbox() as sandbox:
        threads = [threading.Thread(target=lambda: urls.append(sandbox.share())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert urls == [sandbox.share()] * 4
        assert httpx.get(f"{urls[0]}/_sandbox/health", trust_env=False).status_code == 200


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_processes_that_fork_from_one_count_together(tmp_path: Path) -> None:
    """A forked process reads what other processes stored since the fork, so no number is assigned twice."""
    path = tmp_path / "sandbox.db"
    with Sandbox(path=path) as sandbox:
        store = internals(sandbox).engine.store

        def count() -> int:
            with store:
                return store.next("walk")

        def in_child() -> int:
            process = os.fork()
            if not process:
                try:
                    os._exit(count())
                finally:
                    os._exit(99)
            return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

        assert count() == 1
        assert [in_child(), in_child(), count()] == [2, 3, 4]
