"""Handlers of events, run from what is stored: a failure is recorded and tried again, a crash loses no event.

A handler sees an event at least once: after a kill between its effect and the record that it is done, it runs again, and
`event.id` shows it. The store knows how far each handler came, by its name: any process on the file can receive, and any
other can handle. An `atomic` handler writes into the inbox's own file, in the transaction of that record: exactly once.
An `async def` handler is awaited in an event loop of its own, one event after another.
"""

import asyncio
import inspect
import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import attrs

from workbench.interface.events import Event
from workbench.webhooks.reading import read_delivery
from workbench.webhooks.store import Store

log = logging.getLogger("workbench.webhooks")
RETRY_AFTER = (1.0, 10.0, 60.0, 300.0, 1800.0, 7200.0, 21600.0, 54000.0)
"""Seconds before each further try of a failed handler: about a day in all."""
JITTER = 0.1  # part by which these vary at random
_STORED = {"beginning": "0", "now": "(SELECT coalesce(max(sequence), 0) FROM events)"}


@attrs.define
class _Runner:
    """Which call runs a handler now, if any."""

    lock: threading.Lock = attrs.field(factory=threading.Lock)
    holder: object = None


@attrs.define(slots=False)
class Handler:
    """A function for events of a kind, known by a name that outlives the process."""

    name: str
    pattern: str
    call: Callable[..., Any]
    atomic: bool
    retry_after: Sequence[float] = RETRY_AFTER
    runner: _Runner = attrs.field(factory=_Runner, repr=False)
    looked_until: int = 0  # nothing up to this event is unseen

    @property
    def is_async(self) -> bool:
        """Whether the function has to be awaited."""
        return inspect.iscoroutinefunction(self.call) or inspect.iscoroutinefunction(type(self.call).__call__)

    @cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop in which an async function runs."""
        return asyncio.new_event_loop()

    def run(self, *arguments: Any) -> None:
        """Call the function, and await what it returns if it can be awaited."""
        result = self.call(*arguments)
        if inspect.isawaitable(result):
            self.loop.run_until_complete(_wait_for(result))

    def close(self) -> None:
        """Close the event loop, if there is one that does not run."""
        loop = self.__dict__.pop("loop", None)
        if loop is not None and not loop.is_running():
            loop.close()


async def _wait_for(awaitable: Any) -> None:
    await awaitable


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@attrs.frozen(kw_only=True)
class Failure:
    """A handler that failed with an event, or that waits for the store."""

    handler: str
    event_id: str | None  # None: the handler cannot use the store at present, and tries again
    kind: str | None
    tries: int
    given_up: bool  # not tried again by itself; `inbox.retry()` tries again
    error: str = attrs.field(repr=False)  # message of the exception; it may hold private values


class Handlers:
    """The handlers of an inbox, and the events each has still to see."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self.clock = clock
        self.by_name: dict[str, Handler] = {}
        self.missed: set[str] = set()  # handlers with events that another process was running

    def register(
        self, call: Callable[..., Any], pattern: str, name: str | None, atomic: bool, since: str,
        retry_after: Sequence[float],
    ) -> None:  # fmt: skip
        """Register a handler; one of the same name is replaced, and continues where that was.

        Raises:
            TypeError: The function cannot be called with an event, or with an event and a database if `atomic`.
            KeyError: `since` is the id of no stored event.
        """
        arguments = ("event", "db") if atomic else ("event",)
        if not callable(call):
            raise TypeError(f"a handler must be a function of {' and '.join(arguments)}, not {type(call).__name__}")
        if inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
            raise TypeError("a handler must not be a generator: its body would never run")
        try:
            inspect.signature(call).bind(*arguments)
        except TypeError as error:
            raise TypeError(f"a handler is called with {' and '.join(arguments)}: {error}") from None
        except ValueError:  # a built-in function without a signature
            log.debug("the signature of a handler is not known")
        known = name or f"{call.__module__}.{getattr(call, '__qualname__', type(call).__qualname__)}"
        handler = Handler(known, pattern, call, atomic, tuple(retry_after))
        if known in self.by_name:
            handler.runner = self.by_name[known].runner
        self._store_position(known, since)
        self.by_name[known] = handler

    def _store_position(self, name: str, since: str) -> None:
        """Store the event after which a new handler begins."""
        start = _STORED.get(since, "(SELECT sequence FROM events WHERE id = ?)")
        with self.store.file.write() as db:
            if db.execute("SELECT 1 FROM handlers WHERE name = ?", (name,)).fetchone():
                return
            # A file of an earlier version has no positions, only what each handler had to see.
            old = db.execute("SELECT max(sequence) FROM effects WHERE handler = ?", (name,)).fetchone()[0]
            found = db.execute(f"SELECT {start}", () if since in _STORED else (since,)).fetchone()[0]
            if found is None:
                raise KeyError(since)
            db.execute("INSERT INTO handlers(name, position) VALUES (?, ?)", (name, found if old is None else old))

    def run(self, only: str | None = None) -> int:
        """Run each handler on the events that are due for it, in order; return the number of successful runs."""
        names = [only] if only is not None else list(self.by_name)
        return sum(self._run_handler(self.by_name[name]) for name in names)

    def _run_handler(self, handler: Handler) -> int:
        """Run a handler on what is due, and look again afterwards: an event may arrive just before the lock is free."""
        done = 0
        while (ran := self._run_once(handler)) is not None:
            done += ran
            if self._next(handler) is None:
                break
        return done

    def _run_once(self, handler: Handler) -> int | None:
        """Run a handler on what is due; return None if it runs already, here or in another process."""
        mine, runner = object(), handler.runner
        try:
            with runner.lock:
                if runner.holder is not None:
                    return None  # in another thread, or further up this very call
                runner.holder = mine
            if not self.store.file.lease(handler.name):
                self.missed.add(handler.name)
                return None
            try:
                self.missed.discard(handler.name)
                if handler.is_async and _in_event_loop():
                    with ThreadPoolExecutor(1) as pool:  # a second loop cannot run in the thread of a running one
                        return pool.submit(self._run_due, handler).result()
                return self._run_due(handler)
            finally:
                self.store.file.end_lease(handler.name)
        finally:  # without a call, an interrupt cannot come between
            if runner.holder is mine:
                runner.holder = None

    def _run_due(self, handler: Handler) -> int:
        done = 0
        while (row := self._next(handler)) is not None:
            done += self._handle(handler, *row)
        return done

    def _next(self, handler: Handler) -> tuple[int, bytes, int] | None:
        """Return the next event that is due for a handler: one to try again, or the first one that it has not seen."""
        run = self.store.file.run
        rows = run(
            "SELECT sequence, body, tries FROM effects JOIN events USING(sequence)"
            " WHERE handler = ? AND effects.state = 'waiting' AND due <= ? ORDER BY sequence LIMIT 1",
            (handler.name, self.clock()),
        )
        if not rows:
            last = self.store.last()
            rows = run(
                "SELECT sequence, body, 0 FROM events"
                " WHERE sequence > max(?, (SELECT position FROM handlers WHERE name = ?)) AND kind GLOB ?"
                " ORDER BY sequence LIMIT 1",
                (handler.looked_until, handler.name, handler.pattern),
            )
            if not rows:
                handler.looked_until = last
        return (rows[0][0], rows[0][1], rows[0][2]) if rows else None

    def _handle(self, handler: Handler, sequence: int, body: bytes, tries: int) -> int:
        event = read_delivery(body, len(body))
        try:
            if handler.atomic:
                with self.store.file.write() as db:
                    handler.run(event, db)
                    self._record(db, handler, sequence, "done", tries + 1)
            else:
                handler.run(event)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a user's code may raise anything; it is recorded
            self._record_failure(handler, sequence, event, tries + 1, error)
            return 0
        if not handler.atomic:
            with self.store.file.write() as db:
                self._record(db, handler, sequence, "done", tries + 1)
        return 1

    @staticmethod
    def _record(
        db: Any, handler: Handler, sequence: int, state: str, tries: int, due: float = 0, error: str | None = None
    ) -> None:
        """Record how a run ended; nothing is recorded of an event that was purged meanwhile."""
        db.execute(
            "INSERT OR REPLACE INTO effects(handler, sequence, state, tries, due, error)"
            " SELECT ?, sequence, ?, ?, ?, ? FROM events WHERE sequence = ?",
            (handler.name, state, tries, due, error, sequence),
        )
        db.execute("UPDATE handlers SET position = max(position, ?) WHERE name = ?", (sequence, handler.name))

    def _record_failure(self, handler: Handler, sequence: int, event: Event, tries: int, error: BaseException) -> None:
        # The message of the error stays in the store, which is private; a log may not hold it.
        name = type(error).__name__
        log.warning("handler %s failed with %s on %s %s (try %d)", handler.name, name, event.kind, event.id, tries)
        state, due = "failed", 0.0
        if tries <= len(handler.retry_after):
            pause = handler.retry_after[tries - 1] * random.uniform(1 - JITTER, 1 + JITTER)
            state, due = "waiting", self.clock() + pause
        with self.store.file.write() as db:
            self._record(db, handler, sequence, state, tries, due, f"{name}: {error}"[:2000])

    def seconds_until_due(self, name: str) -> float | None:
        """Return the seconds until a failed event is due for a handler; None if none waits for it."""
        rows = self.store.file.run("SELECT min(due) FROM effects WHERE handler = ? AND state = 'waiting'", (name,))
        return None if rows[0][0] is None else max(0.0, rows[0][0] - self.clock())

    def failures(self) -> tuple[Failure, ...]:
        """Return the runs that failed and have not succeeded since."""
        rows = self.store.file.run(
            "SELECT handler, id, kind, tries, effects.state, error FROM effects JOIN events USING(sequence)"
            " WHERE effects.state != 'done' AND error IS NOT NULL ORDER BY sequence, handler"
        )
        return tuple(
            Failure(handler=handler, event_id=event_id, kind=kind, tries=tries, given_up=state == "failed", error=error)
            for handler, event_id, kind, tries, state, error in rows
        )

    def make_due(self, handler: str | None, event_id: str | None) -> None:
        """Make failed runs due now, with all their tries."""
        with self.store.file.write() as db:
            db.execute(
                "UPDATE effects SET state = 'waiting', tries = 0, due = 0 WHERE state != 'done'"
                " AND (? IS NULL OR handler = ?)"
                " AND (? IS NULL OR sequence IN (SELECT sequence FROM events WHERE id = ?))",
                (handler, handler, event_id, event_id),
            )

    def close(self) -> None:
        """Close the event loops of async handlers."""
        for handler in self.by_name.values():
            handler.close()
