"""Handlers of stored events: failures are recorded and retried, and a crash loses no event.

A handler runs at least once for each event: if the process is killed before the run is recorded, the handler runs again
with the same `event.id`. The store records the position of each handler by name, so one process can receive and another
can handle. An `atomic` handler writes to the inbox's file in the transaction that records the run, so its writes happen
exactly once. An `async def` handler is awaited in a separate event loop, one event after another.
"""

import inspect
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from random import SystemRandom
from typing import Any, TypeVar

import attrs

from workbench.base.errors import UsageError, not_allowed
from workbench.base.frozen import frozen
from workbench.base.system.forks import INHERITING
from workbench.client.webhooks.store import EventStore
from workbench.service.interface.events import Event

log = logging.getLogger("workbench.webhooks")
T = TypeVar("T")
RETRY_AFTER = (1.0, 10.0, 60.0, 300.0, 1800.0, 7200.0, 21600.0, 54000.0)
"""Seconds before each retry of a failed handler: about a day in total."""
JITTER = 0.1  # random variation of these intervals, as a fraction
POLL_INTERVAL = 0.05  # seconds between checks for changes by another process
_WORK_INTERVAL = 0.5  # seconds between a handler thread's checks for events received by another process
_FREE = (
    "NOT EXISTS (SELECT 1 FROM events AS earlier CROSS JOIN effects AS its ON its.sequence = earlier.sequence"
    " WHERE earlier.about = events.about AND earlier.sequence < events.sequence"
    " AND its.handler = run.handler AND its.state = 'waiting')"
)
"""True if no earlier event about the same resource waits for a retry by the handler."""
_STORED = {"beginning": "0", "now": "(SELECT coalesce(max(sequence), 0) FROM events)"}


class OneAtATime:
    """Lock that runs one call at a time. An interrupt cannot leave it locked."""

    def __init__(self) -> None:
        # process id and object of the running call; after a fork, a call of the parent process does not count
        self._holder: tuple[int, object] | None = None

    def run(self, work: Callable[[], T]) -> T | None:
        """Call a function and return its result; return None if a call is running, in another thread or in this one."""
        mine = os.getpid(), object()
        try:
            with INHERITING:
                if self._holder is not None and self._holder[0] == os.getpid():
                    return None
                self._holder = mine
            return work()
        finally:  # no interrupt can occur here, since no function is called
            if self._holder is mine:
                self._holder = None


@attrs.define
class Handler:
    """A function for events of a kind, with a name that is stable across processes."""

    name: str
    pattern: str
    call: Callable[..., Any]
    atomic: bool
    ordered: bool
    retry_after: Sequence[float]
    turn: OneAtATime
    loop: Any  # an asyncio.Runner
    looked_until: int = 0  # number of the last event that this handler has examined

    def beside_loop(self, run: Callable[[], T]) -> T:
        """Call a function that needs the handler's event loop, in a separate thread if this thread runs a loop."""
        if not (self.is_async and _in_event_loop()):
            return run()
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(run).result()

    @property
    def is_async(self) -> bool:
        """Whether the function must be awaited."""
        return inspect.iscoroutinefunction(self.call) or inspect.iscoroutinefunction(type(self.call).__call__)

    def run(self, *arguments: object) -> None:
        """Call the function, and await its result if it is awaitable."""
        result = self.call(*arguments)
        if inspect.isawaitable(result):
            self.loop.run(_wait_for(result))


async def _wait_for(awaitable: Any) -> None:
    await awaitable


def _in_event_loop() -> bool:
    asyncio = sys.modules.get("asyncio")  # imported late, since only async handlers need it
    try:
        return asyncio is not None and asyncio.get_running_loop() is not None
    except RuntimeError:
        return False


@frozen(kw_only=True)
class Failure:
    """A failed run of a handler, or a handler that cannot use the store and waits."""

    handler: str
    event_id: str | None  # None if the handler could not use the store, and will retry
    kind: str | None
    tries: int
    given_up: bool  # not retried automatically, but `inbox.retry()` retries it
    error: str = attrs.field(repr=False)  # message of the exception, which may contain private values


class Handlers:
    """The handlers of an inbox, their pending events and their threads.

    Args:
        store: Store of the events.
        clock: Function that returns the time in seconds since 1970.
        changed: Condition that is notified when an event arrives.
    """

    def __init__(self, store: EventStore, clock: Callable[[], float], changed: threading.Condition) -> None:
        self._store = store
        self._clock = clock
        self._changed = changed
        self._by_name: dict[str, Handler] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._running = 0  # number of open contexts of `running`
        self._closed = False
        self._missed: set[str] = set()  # handlers to run again, because another process ran them or the store failed
        self._taking_over = OneAtATime()
        self._waiting: dict[str, str] = {}  # reason why a handler cannot use the store, by handler

    def register(
        self,
        call: Callable[..., Any],
        pattern: str,
        name: str | None,
        atomic: bool,
        ordered: bool,
        since: str,
        retry_after: Sequence[float],
    ) -> None:
        """Register a handler. It replaces a handler of the same name and continues at its position.

        Raises:
            UsageError: The function cannot be called with an event, or with an event and a database if `atomic`.
            UsageError: No stored event has the id `since`.
        """
        arguments = ("event", "db") if atomic else ("event",)
        if not callable(call):
            raise UsageError(f"a handler must be a function of {' and '.join(arguments)}, not {type(call).__name__}")
        if inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
            raise UsageError("a handler must not be a generator: its body would never run")
        try:
            inspect.signature(call).bind(*arguments)
        except TypeError as error:
            raise UsageError(
                f"a handler is called with {' and '.join(arguments)}, which this function does not accept ({error})"
            ) from None
        except ValueError:  # a built-in function may have no signature
            log.debug("the signature of a handler is unknown")
        import asyncio

        stable_name = name or f"{call.__module__}.{getattr(call, '__qualname__', type(call).__qualname__)}"
        before = self._by_name.get(stable_name)
        turn, loop = (before.turn, before.loop) if before else (OneAtATime(), asyncio.Runner())
        self._store_position(stable_name, since)
        self._by_name[stable_name] = Handler(
            stable_name, pattern, call, atomic, ordered, tuple(retry_after), turn, loop
        )
        if self._running:
            self._start_threads()

    def _store_position(self, name: str, since: str) -> None:
        """Store the start position of a new handler, unless the store has a position for its name."""
        start = _STORED.get(since, "(SELECT sequence FROM events WHERE id = ?)")
        with self._store.file.write() as db:
            if db.execute("SELECT 1 FROM handlers WHERE name = ?", (name,)).fetchone():
                return
            position = db.execute(f"SELECT {start}", () if since in _STORED else (since,)).fetchone()[0]
            if position is None:
                raise UsageError([not_allowed("since", since, (*_STORED, "the id of a stored event"))], of="inbox.on")
            db.execute("INSERT INTO handlers(name, position) VALUES (?, ?)", (name, position))

    def run(self) -> int:
        """Run each handler on its due events in order, and return the number of successful runs."""
        return sum(self._run_handler(handler) for handler in tuple(self._by_name.values()))

    def run_here(self) -> None:
        """Run the handlers in this thread, unless they run in other threads.

        If another process runs a handler, a thread takes over when that process ends.
        """
        if self._running:
            return
        self.run()
        if self._missed:
            threading.Thread(target=self._take_over, name="inbox-take-over", daemon=True).start()

    def _take_over(self) -> None:
        while self._missed and not self._closed and not self._running and self._taking_over.run(self._run_missed):
            pass

    def _run_missed(self) -> bool:
        time.sleep(POLL_INTERVAL)
        for name in self._missed.copy():
            self._try_to_run(name)
        return True

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run each handler in its own thread while the context is open."""
        with self._changed:
            self._running += 1
        self._start_threads()
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                ended = () if self._running else tuple(self._threads.values())
                self._changed.notify_all()
            for thread in ended:
                thread.join(5)

    def _start_threads(self) -> None:
        with self._changed:
            for name in self._by_name.keys() - self._threads.keys():
                thread = threading.Thread(target=self._work, args=(name,), name=f"inbox-{name}", daemon=True)
                self._threads[name] = thread
                thread.start()

    def _work(self, name: str) -> None:
        while True:
            due = self._try_to_run(name)
            with self._changed:
                if self._running:
                    self._changed.wait(_WORK_INTERVAL if due is None else min(_WORK_INTERVAL, max(due, 0.01)))
                if not self._running or self._closed:
                    del self._threads[name]  # under the lock, so that another `running` starts a new thread
                    return

    def _try_to_run(self, name: str) -> float | None:
        """Run a handler and return the seconds until its next run. No error ends the handler's thread."""
        try:
            self._run_handler(self._by_name[name])
            due = self._store.file.run(
                "SELECT min(due) FROM effects WHERE handler = ? AND state = 'waiting' AND tries > 0", (name,)
            )[0][0]
        except BaseException as error:  # noqa: BLE001 - a store that is busy or full: the events are tried again
            if not self._closed:
                self._missed.add(name)
                self._waiting[name] = f"{type(error).__name__}: {error}"
                log.warning("handler %s cannot run at present: %s", name, type(error).__name__)
            return None
        self._waiting.pop(name, None)
        return None if due is None else due - self._clock()

    def _run_handler(self, handler: Handler) -> int:
        """Run a handler on its due events, then check again: an event may arrive just before the lock is released."""
        done = 0
        while (ran := handler.turn.run(lambda: self._run_leased(handler))) is not None:
            done += ran
            if self._next(handler) is None:
                break
        return done

    def _run_leased(self, handler: Handler) -> int | None:
        """Run a handler on its due events, or return None if another process runs the handler."""
        if not self._store.file.lease(handler.name):
            self._missed.add(handler.name)
            return None
        try:
            self._missed.discard(handler.name)
            return handler.beside_loop(lambda: self._run_due(handler))
        finally:
            self._store.file.end_lease(handler.name)

    def _run_due(self, handler: Handler) -> int:
        return sum(self._handle(handler, *row) for row in iter(lambda: self._next(handler), None))

    def _next(self, handler: Handler) -> tuple[int, int] | None:
        """Return number and tries of a handler's next due event: an event to retry, or the first unhandled event."""
        free = _FREE if handler.ordered else "1"
        undamaged = self._store.file.undamaged("events")
        now, pauses = self._clock(), json.dumps([pause * (1 + JITTER) for pause in handler.retry_after])
        again = self._store.file.run(
            "SELECT sequence, tries FROM effects AS run JOIN events USING(sequence)"
            # If the time until a retry exceeds its interval, the clock was set back, and the retry is due now.
            " WHERE handler = ? AND run.state = 'waiting'"
            " AND NOT (due > ? AND due <= ? + coalesce(json_extract(?, '$[' || (tries - 1) || ']'), 0))"
            f" AND {free} AND {undamaged} ORDER BY sequence LIMIT 1",
            (handler.name, now, now, pauses),
        )
        if again:
            return again[0]
        while True:
            last = self._store.last()
            unseen = self._store.file.run(
                f"SELECT sequence, 0, {free}"
                " FROM events JOIN (SELECT ? AS handler, max(?, position) AS seen FROM handlers WHERE name = ?) AS run"
                f" WHERE sequence > seen AND kind GLOB ? AND {undamaged} ORDER BY sequence LIMIT 1",
                (handler.name, handler.looked_until, handler.name, handler.pattern),
            )
            if not unseen:
                handler.looked_until = last
                return None
            sequence, tries, is_free = unseen[0]
            if is_free:
                return sequence, tries
            with self._store.file.write() as db:
                self._record(db, handler, sequence, "waiting", tries)

    def _handle(self, handler: Handler, sequence: int, tries: int) -> int:
        event = self._store.event(sequence)
        if event is None:
            return 0
        try:
            if handler.atomic:
                with self._store.file.write() as db:
                    handler.run(event, db)
                    self._record(db, handler, sequence, "done", tries + 1)
                return 1
            handler.run(event)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a user's code may raise anything; it is recorded
            self._record_failure(handler, sequence, event, tries + 1, error)
            return 0
        with self._store.file.write() as db:
            self._record(db, handler, sequence, "done", tries + 1)
        return 1

    @staticmethod
    def _record(
        db: Any, handler: Handler, sequence: int, state: str, tries: int, due: float = 0, error: str | None = None
    ) -> None:
        """Record the outcome of a run. Nothing is recorded if the event was purged meanwhile."""
        db.execute(
            "INSERT OR REPLACE INTO effects(handler, sequence, state, tries, due, error)"
            " SELECT ?, sequence, ?, ?, ?, ? FROM events WHERE sequence = ?",
            (handler.name, state, tries, due, error, sequence),
        )
        db.execute("UPDATE handlers SET position = max(position, ?) WHERE name = ?", (sequence, handler.name))

    def _record_failure(self, handler: Handler, sequence: int, event: Event, tries: int, error: BaseException) -> None:
        # Only the error's class is logged. Its message may contain private data, so only the store has it.
        name = type(error).__name__
        log.warning("handler %s failed with %s on %s %s (try %d)", handler.name, name, event.kind, event.id, tries)
        state, due = "failed", 0.0
        if tries <= len(handler.retry_after):
            pause = handler.retry_after[tries - 1] * SystemRandom().uniform(1 - JITTER, 1 + JITTER)
            state, due = "waiting", self._clock() + pause
        with self._store.file.write() as db:
            self._record(db, handler, sequence, state, tries, due, f"{name}: {error}"[:2000])

    def failures(self) -> tuple[Failure, ...]:
        """Return the runs that failed and have not succeeded since, and the handlers that wait for the store."""
        rows = self._store.file.run(
            "SELECT handler, id, kind, tries, effects.state = 'failed', error FROM effects JOIN events USING(sequence)"
            " WHERE effects.state != 'done' AND error IS NOT NULL ORDER BY sequence, handler"
        )
        waiting = [(name, None, None, 0, False, error) for name, error in self._waiting.copy().items()]
        return tuple(
            Failure(handler=handler, event_id=event_id, kind=kind, tries=tries, given_up=bool(failed), error=error)
            for handler, event_id, kind, tries, failed, error in (*rows, *waiting)
        )

    def make_due(self, handler: str | None, event_id: str | None) -> None:
        """Make failed runs due now, with a new series of retries."""
        with self._store.file.write() as db:
            db.execute(
                "UPDATE effects SET state = 'waiting', tries = 0, due = 0 WHERE state != 'done'"
                " AND (? IS NULL OR handler = ?)"
                " AND (? IS NULL OR sequence IN (SELECT sequence FROM events WHERE id = ?))",
                (handler, handler, event_id, event_id),
            )

    def close(self) -> None:
        """Close the event loops of async handlers that are not running."""
        self._closed = True
        for handler in self._by_name.values():
            handler.turn.run(partial(handler.beside_loop, handler.loop.close))
