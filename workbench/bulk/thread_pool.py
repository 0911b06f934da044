"""Threads that share one work, and a wait for them that may be interrupted."""

import threading
import time
from collections.abc import Callable

_LOOK = 0.2  # seconds: a wait without end cannot be interrupted everywhere


class ThreadPool:
    """Threads that all do the same until there is no more of it.

    They are never joined: an interrupt there may leave a thread that works on taken for one that has ended.
    """

    def __init__(self, work: Callable[[], object], workers: int, name: str) -> None:
        self._ended = [threading.Event() for _ in range(workers)]
        self._threads = [
            threading.Thread(target=self._do, args=(work, ended), name=f"{name}-{number}", daemon=True)
            for number, ended in enumerate(self._ended)
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def wait(self, seconds: float = float("inf")) -> bool:
        """Wait until all have ended, or that long; give whether they have. One that was never started has."""
        until = time.monotonic() + seconds
        for thread, ended in zip(self._threads, self._ended, strict=True):
            while thread.ident is not None and not ended.is_set():
                left = until - time.monotonic()
                if left <= 0:
                    return False
                ended.wait(min(left, _LOOK))
        return True

    @staticmethod
    def _do(work: Callable[[], object], ended: threading.Event) -> None:
        try:
            work()
        finally:
            ended.set()
