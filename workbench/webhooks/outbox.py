"""Handlers of events, run from what is stored: a failure is recorded and tried again, a crash loses none.

A handler sees an event at least once: a kill between its effect and the note that it is done runs it again, and
`event.id` tells. An `atomic` handler writes into the inbox's own file, in the transaction of that note: exactly once.
"""

import logging
import threading
import time
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import attrs

from workbench.interface.events import Event
from workbench.webhooks.reading import read_delivery
from workbench.webhooks.store import Store

log = logging.getLogger("workbench.webhooks")
TRIES = 3
_PAUSES = (1.0, 10.0)  # seconds before the second and the third try


@attrs.frozen
class Handler:
    """A function for events of a kind, known by a name that outlives the process."""

    name: str
    pattern: str
    call: Callable[..., Any]
    atomic: bool


@attrs.frozen(kw_only=True)
class Failure:
    """A handler that failed with an event."""

    handler: str
    event_id: str
    kind: str
    tries: int
    given_up: bool  # no further try by itself; `inbox.retry()` asks for one
    error: str = attrs.field(repr=False)  # the exception's own words; they may hold private values


class Outbox:
    """Which handlers there are, and what each has still to see."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self.clock = clock
        self.handlers: dict[str, Handler] = {}
        self._running: dict[str, threading.Lock] = {}

    def on(self, pattern: str, name: str | None, atomic: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that registers a handler; one of the same name takes its place."""

        def register(call: Callable[..., Any]) -> Callable[..., Any]:
            known = name or f"{call.__module__}.{getattr(call, '__qualname__', type(call).__qualname__)}"
            self._running.setdefault(known, threading.Lock())
            self.handlers[known] = Handler(known, pattern, call, atomic)
            return call

        return register

    def enlist(self, db: Any, sequence: int, kind: str) -> None:
        """Note in the storing transaction who has to see an event."""
        for handler in tuple(self.handlers.values()):
            if fnmatchcase(kind, handler.pattern):
                db.execute(
                    "INSERT INTO effects(handler, sequence, state, tries, due) VALUES (?, ?, 'waiting', 0, 0)",
                    (handler.name, sequence),
                )

    def run(self, only: str | None = None) -> int:
        """Run each handler on what is due for it, in order; give how many runs went well."""
        names = [only] if only is not None else list(self.handlers)
        return sum(self._drain(name) for name in names)

    def _drain(self, name: str) -> int:
        lock = self._running[name]
        if not lock.acquire(blocking=False):
            return 0  # it is running already, here or further up this very call
        try:
            if not self.store.file.lease(name):
                return 0
            done = 0
            while (found := self._next(name)) is not None:
                done += self._handle(self.handlers[name], *found)
            return done
        finally:
            lock.release()

    def _next(self, name: str) -> tuple[int, bytes, int] | None:
        rows = self.store.file.run(
            "SELECT sequence, body, tries FROM effects JOIN events USING(sequence)"
            " WHERE handler = ? AND effects.state = 'waiting' AND due <= ? ORDER BY sequence LIMIT 1",
            (name, self.clock()),
        )
        return rows[0] if rows else None

    def _handle(self, handler: Handler, sequence: int, body: bytes, tries: int) -> int:
        event = read_delivery(body, len(body))
        done = "UPDATE effects SET state = 'done', tries = tries + 1, error = NULL WHERE handler = ? AND sequence = ?"
        try:
            if handler.atomic:
                with self.store.file.write() as db:
                    handler.call(event, db)
                    db.execute(done, (handler.name, sequence))
            else:
                handler.call(event)
        except Exception as error:  # noqa: BLE001 - a user's code may raise anything; it is recorded
            self._failed(handler, sequence, event, tries + 1, error)
            return 0
        if not handler.atomic:
            with self.store.file.write() as db:
                db.execute(done, (handler.name, sequence))
        return 1

    def _failed(self, handler: Handler, sequence: int, event: Event, tries: int, error: Exception) -> None:
        # The words of the error stay in the store, which is private; a log may not hold them.
        log.warning(
            "handler %s failed with %s on %s %s (try %d)",
            handler.name,
            type(error).__name__,
            event.kind,
            event.id,
            tries,
        )
        state = "failed" if tries >= TRIES else "waiting"
        due = self.clock() + (_PAUSES[tries - 1] if tries <= len(_PAUSES) else 0)
        with self.store.file.write() as db:
            db.execute(
                "UPDATE effects SET state = ?, tries = ?, due = ?, error = ? WHERE handler = ? AND sequence = ?",
                (state, tries, due, f"{type(error).__name__}: {error}"[:2000], handler.name, sequence),
            )

    def due_in(self, name: str) -> float | None:
        """Return the seconds until a handler has something to do; None where nothing waits for it."""
        rows = self.store.file.run("SELECT min(due) FROM effects WHERE handler = ? AND state = 'waiting'", (name,))
        return None if rows[0][0] is None else max(0.0, rows[0][0] - self.clock())

    def failures(self) -> tuple[Failure, ...]:
        """Return what failed and has not gone well since."""
        rows = self.store.file.run(
            "SELECT handler, id, kind, tries, effects.state, error FROM effects JOIN events USING(sequence)"
            " WHERE effects.state != 'done' AND error IS NOT NULL ORDER BY sequence, handler"
        )
        return tuple(
            Failure(handler=handler, event_id=event_id, kind=kind, tries=tries, given_up=state == "failed", error=error)
            for handler, event_id, kind, tries, state, error in rows
        )

    def again(self, handler: str | None, event_id: str | None) -> None:
        """Make failures due now, with all their tries."""
        with self.store.file.write() as db:
            db.execute(
                "UPDATE effects SET state = 'waiting', tries = 0, due = 0 WHERE state != 'done'"
                " AND (? IS NULL OR handler = ?)"
                " AND (? IS NULL OR sequence IN (SELECT sequence FROM events WHERE id = ?))",
                (handler, handler, event_id, event_id),
            )
