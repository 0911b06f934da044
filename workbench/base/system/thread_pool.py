"""Thread pool that stops all threads before an exception reaches its caller."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from workbench.base.system.seconds import monotonic

T = TypeVar("T")

POLL_INTERVAL = 0.05  # seconds between two progress reports
_MAX_WAIT = 0.2  # in seconds; on some systems an unlimited wait cannot be interrupted
_END: Any = object()


class Interrupted(KeyboardInterrupt):
    """A run was interrupted by Ctrl-C. No new call was started, and the run waited for the calls in flight.

    `result` holds the results so far.
    """

    def __init__(self, result: Any) -> None:
        self.result = result
        super().__init__(result.verdict)


class ThreadPool(Generic[T]):
    """Threads that call `work` for each item until all items are done or the pool is stopped.

    Threads are never joined, because an interrupt inside `join` may mark a running thread as ended. Events are not used
    either, because an interrupt may leave their lock released. The threads only wake the caller through a queue, and
    the caller reads plain attributes.

    Args:
        work: Function that processes one item.
        items: Items to process, in order.
        workers: Number of threads.
        name: Prefix of the threads' names.
        halt: Function that ends work in progress early. It is called for an exception other than Ctrl-C, or for a
            second exception.
    """

    def __init__(
        self,
        work: Callable[[T], object],
        items: Iterable[T],
        workers: int,
        name: str,
        *,
        halt: Callable[[], object] = lambda: None,
    ) -> None:
        self._work = work
        self._items = iter(items)
        self._lock = threading.Lock()
        self._halt = halt
        self.stopping = False  # whether no further items are started
        self._error: BaseException | None = None
        self._ended = [False] * workers
        self._wakeup: SimpleQueue[None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=copy_context().run, args=(self._loop, number), name=f"{name}-{number}", daemon=True)
            for number in range(workers)
        ]

    def stop(self) -> None:
        """Start no further items. Items in progress are completed."""
        self.stopping = True

    def run(self, poll: Callable[[], object]) -> None:
        """Run until all threads have ended, calling `poll` meanwhile.

        Any exception (from Ctrl-C, a signal handler, `poll` or a worker) stops the pool and propagates after the work
        in progress has ended. A second exception ends the wait. SIGTERM raises SystemExit(143) here unless the process
        handles the signal, instead of ending the process immediately.
        """
        with _terminable():
            self._run(poll)

    def _run(self, poll: Callable[[], object]) -> None:
        try:
            for thread in self._threads:
                thread.start()
            while not self._wait(POLL_INTERVAL):
                poll()
        except BaseException as error:
            self._stop_for(error)
            try:
                self._wait()
            except BaseException:  # noqa: BLE001 - the first one is raised
                self._halt()
            raise
        if self._error is not None:
            raise self._error

    def _wait(self, seconds: float = float("inf")) -> bool:
        """Wait until all threads have ended or the time is over, and return whether all have ended.

        A thread that was never started counts as ended.
        """
        until = monotonic() + seconds
        while any(thread.ident is not None and not self._ended[n] for n, thread in enumerate(self._threads)):
            left = until - monotonic()
            if left <= 0:
                return False
            with suppress(Empty):
                self._wakeup.get(timeout=min(left, _MAX_WAIT))
        return True

    def _left(self) -> Iterator[T]:
        while True:
            with self._lock:
                if self.stopping or (item := next(self._items, _END)) is _END:
                    return
            yield item

    def _loop(self, number: int) -> None:
        try:
            for item in self._left():
                self._work(item)
        except BaseException as error:  # noqa: BLE001 - `run` raises it
            self._error = error
            self._stop_for(error)
        finally:
            self._ended[number] = True
            self._wakeup.put(None)

    def _stop_for(self, error: BaseException) -> None:
        self.stop()
        if not isinstance(error, KeyboardInterrupt):
            self._halt()


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM raise SystemExit in the main thread, unless the process handles or ignores it."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _exit(number: int, _: object) -> None:
    raise SystemExit(128 + number)
