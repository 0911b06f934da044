"""Handlers of events, run from what is stored: a failure is recorded and tried again, a crash loses no event.

A handler sees an event at least once: after a kill between its effect and the record that it is done, it runs again, and
`event.id` shows it. An `atomic` handler writes into the inbox's own file, in the transaction of that record: exactly once.
An `async def` handler is awaited in an event loop of its own, one event after another.
"""

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import attrs

from workbench.interface.events import Event
from workbench.webhooks.reading import read_delivery
from workbench.webhooks.store import Store

log = logging.getLogger("workbench.webhooks")
MAX_TRIES = 3
_DELAYS = (1.0, 10.0)  # seconds before the second and the third try


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
    runner: _Runner = attrs.field(factory=_Runner, repr=False)

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
    """A handler that failed with an event."""

    handler: str
    event_id: str
    kind: str
    tries: int
    given_up: bool  # not tried again by itself; `inbox.retry()` tries again
    error: str = attrs.field(repr=False)  # message of the exception; it may hold private values


class Handlers:
    """The handlers of an inbox, and the events each has still to see."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self.clock = clock
        self.by_name: dict[str, Handler] = {}

    def register(self, call: Callable[..., Any], pattern: str, name: str | None, atomic: bool) -> None:
        """Register a handler; one of the same name is replaced.

        Raises:
            TypeError: The function cannot be called with an event, or with an event and a database if `atomic`.
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
        handler = Handler(known, pattern, call, atomic)
        if known in self.by_name:
            handler.runner = self.by_name[known].runner
        self.by_name[known] = handler

    def enqueue(self, db: Any, sequence: int, kind: str) -> None:
        """Record in the storing transaction which handlers have to see an event."""
        for handler in tuple(self.by_name.values()):
            if fnmatchcase(kind, handler.pattern):
                db.execute(
                    "INSERT INTO effects(handler, sequence, state, tries, due) VALUES (?, ?, 'waiting', 0, 0)",
                    (handler.name, sequence),
                )

    def run(self, only: str | None = None) -> int:
        """Run each handler on the events that are due for it, in order; return the number of successful runs."""
        names = [only] if only is not None else list(self.by_name)
        return sum(self._run_handler(self.by_name[name]) for name in names)

    def _run_handler(self, handler: Handler) -> int:
        mine, runner = object(), handler.runner
        try:
            with runner.lock:
                if runner.holder is not None:
                    return 0  # it is running already, in another thread or further up this very call
                runner.holder = mine
            if not self.store.file.lease(handler.name):
                return 0
            if handler.is_async and _in_event_loop():
                with ThreadPoolExecutor(1) as pool:  # a second loop cannot run in the thread of a running one
                    return pool.submit(self._run_due, handler).result()
            return self._run_due(handler)
        finally:  # without a call, an interrupt cannot come between
            if runner.holder is mine:
                runner.holder = None

    def _run_due(self, handler: Handler) -> int:
        done = 0
        while True:
            rows = self.store.file.run(
                "SELECT sequence, body, tries FROM effects JOIN events USING(sequence)"
                " WHERE handler = ? AND effects.state = 'waiting' AND due <= ? ORDER BY sequence LIMIT 1",
                (handler.name, self.clock()),
            )
            if not rows:
                return done
            done += self._handle(handler, *rows[0])

    def _handle(self, handler: Handler, sequence: int, body: bytes, tries: int) -> int:
        event = read_delivery(body, len(body))
        done = "UPDATE effects SET state = 'done', tries = tries + 1, error = NULL WHERE handler = ? AND sequence = ?"
        try:
            if handler.atomic:
                with self.store.file.write() as db:
                    handler.run(event, db)
                    db.execute(done, (handler.name, sequence))
            else:
                handler.run(event)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's code may raise anything; it is recorded
            self._record_failure(handler, sequence, event, tries + 1, error)
            return 0
        if not handler.atomic:
            with self.store.file.write() as db:
                db.execute(done, (handler.name, sequence))
        return 1

    def _record_failure(self, handler: Handler, sequence: int, event: Event, tries: int, error: BaseException) -> None:
        # The message of the error stays in the store, which is private; a log may not hold it.
        name = type(error).__name__
        log.warning("handler %s failed with %s on %s %s (try %d)", handler.name, name, event.kind, event.id, tries)
        state = "failed" if tries >= MAX_TRIES else "waiting"
        due = self.clock() + (_DELAYS[tries - 1] if tries <= len(_DELAYS) else 0)
        with self.store.file.write() as db:
            db.execute(
                "UPDATE effects SET state = ?, tries = ?, due = ?, error = ? WHERE handler = ? AND sequence = ?",
                (state, tries, due, f"{name}: {error}"[:2000], handler.name, sequence),
            )

    def seconds_until_due(self, name: str) -> float | None:
        """Return the seconds until an event is due for a handler; None if no event waits for it."""
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
