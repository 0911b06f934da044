"""Lock for short changes of shared state, and for replacing inherited connections and locks in a forked process.

A fork copies only the thread that forks. The lock is therefore acquired before each fork and released in both
processes, so that it is not held in the forked process by a thread that does not exist there.
"""

import os
import threading
from typing import Any
from weakref import WeakSet

from workbench.base.system.seconds import monotonic

INHERITING = threading.RLock()
WRITERS: WeakSet[Any] = WeakSet()
"""Objects whose `lock` a thread holds while it writes to a file. A fork waits for the end of the writes, at most 1 s.

A forked process inherits SQLite's table of locked files. It would find a file that was being written busy for ever.
"""
_LONGEST = 1.0  # seconds
_held: list[Any] = []


def _before() -> None:
    INHERITING.acquire()
    until = monotonic() + _LONGEST
    for writer in tuple(WRITERS):
        lock = writer.lock
        if lock.acquire(timeout=max(0.0, until - monotonic())):
            _held.append(lock)


def _after() -> None:
    while _held:
        _held.pop().release()
    INHERITING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
