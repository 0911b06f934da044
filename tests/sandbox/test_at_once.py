"""Threads and processes that use one sandbox at the same time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from workbench.sandbox import Sandbox, delivery
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
    monkeypatch.setattr(delivery.threading, "Condition", Watched)
    yield uses


@pytest.mark.parametrize("stored", [False, True], ids=["memory", "file"])
def test_a_thread_in_a_transaction_never_waits_for_one_that_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    """A request is answered in a transaction and wakes the deliveries. They therefore use no data of the sandbox while
    they hold the lock that the request needs.
    """
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
