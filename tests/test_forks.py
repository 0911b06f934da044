"""A process that is forked while other threads of its parent hold locks."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.base.keys import Key
from workbench.base.system.database import Database
from workbench.base.system.interrupts import uninterrupted
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]
FAILED = 99


def in_child(work: Callable[[], int]) -> int:
    """Return the result of a function in a forked process, or the negative number of the signal that ended it."""
    process = os.fork()
    if not process:
        status = FAILED
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(20)
            status = work()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def test_a_key_that_another_thread_fetches_at_the_fork() -> None:
    """The forked process fetches the key itself."""
    asked, release, begun = [], threading.Event(), threading.Event()

    def vault() -> str:
        asked.append(1)
        if len(asked) == 2:
            begun.set()
            release.wait(20)
        return f"key-{len(asked)}"

    key = Key.of(vault)
    thread = threading.Thread(target=key.renew, args=(0,))
    thread.start()
    assert begun.wait(20)
    status = in_child(lambda: 7 if key.renew(0) and key.header() == b"key-3" else 0)
    release.set()
    thread.join(20)

    assert status == 7


def test_signals_while_the_main_thread_defers_them_at_the_fork() -> None:
    """A process that another thread forks does not inherit the deferral of signals."""
    statuses: list[int] = []

    def terminate() -> int:
        signal.raise_signal(signal.SIGTERM)
        return 0

    def fork() -> None:
        statuses.append(in_child(terminate))

    before = signal.signal(signal.SIGTERM, lambda number, frame: os._exit(7))
    try:
        with uninterrupted:
            thread = threading.Thread(target=fork)
            thread.start()
            thread.join(30)
    finally:
        signal.signal(signal.SIGTERM, before)

    assert statuses == [7]


@pytest.mark.parametrize("stored", [False, True], ids=["memory", "file"])
def test_a_sandbox_that_another_thread_changes_at_the_fork(tmp_path: Path, stored: bool) -> None:
    """The forked process does not see the open transaction of another thread, and can write."""
    release, begun = threading.Event(), threading.Event()
    with Sandbox(path=tmp_path / "sandbox.db" if stored else None) as sandbox:
        store = internals(sandbox).engine.store
        with store:
            store.put("meta", "probe", 1)

        def change() -> None:
            with store, store:
                store.put("meta", "probe", 2)
                begun.set()
                release.wait(20)

        def change_here() -> int:
            if stored:
                return 7 if store.get("meta", "probe") == 1 and not store.enter(wait=False) else 0
            with store:
                store.put("meta", "other", store.get("meta", "probe"))
            return 7 if (store.get("meta", "other"), store.changes) == (1, changes + 1) else 0

        changes = store.changes
        thread = threading.Thread(target=change)
        thread.start()
        assert begun.wait(20)
        status = in_child(change_here)
        release.set()
        thread.join(20)
        after = in_child(lambda: store.next("probe") if store.enter(wait=True) else 0)

        assert status == 7
        assert after == 1
        with store:
            assert store.get("meta", "probe") == 2


def test_a_file_that_another_thread_writes_at_the_fork(tmp_path: Path) -> None:
    """The fork waits for the write to end. Otherwise the file would stay busy in the child."""
    database = Database(tmp_path / "rows.db", application=1, schema="CREATE TABLE rows(number INTEGER)")
    begun = threading.Event()

    def write() -> None:
        with database.write() as db:
            db.execute("INSERT INTO rows VALUES (1)")
            begun.set()
            time.sleep(0.2)

    def write_here() -> int:
        database.run("INSERT INTO rows VALUES (2)")
        return database.run("SELECT count(*) FROM rows")[0][0] + 5

    thread = threading.Thread(target=write)
    thread.start()
    assert begun.wait(20)
    status = in_child(write_here)
    thread.join(20)

    assert status == 7
    assert database.run("SELECT number FROM rows ORDER BY 1") == [(1,), (2,)]
