"""An inbox of webhook events: each delivery is verified, each event stored once before it is acknowledged.

Example:
    inbox = wb.Inbox("events.db", keys=[key])
    inbox.receive(headers, body)                       # from any web framework, or
    with inbox.serve() as url: ...                     # its own receiver on loopback
    inbox.wait("user.updated", where={"application_status": "approved"}, within=30)

    @inbox.on("transaction.*")
    def post(event): ...
"""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any, Protocol

import attrs

from workbench.errors import EventTimeout, InvalidWebhook, hide_arguments
from workbench.interface.events import Event
from workbench.webhooks.handlers import RETRY_AFTER, Failure, Handlers
from workbench.webhooks.reading import MAX_BODY, TooLarge, Where, describe_mismatch, matches, read_delivery
from workbench.webhooks.store import Conflict, Receipt, Store, StoredEvent
from workbench.webhooks.verify import Headers, Scheme, SignatureRefused, as_key, hmac_signature, lower_headers

Source = Callable[[int], tuple[Iterable[tuple[int, Headers, bytes]], int]]
"""Returns the deliveries after a number, each with its own number, and the number to ask after next time."""

_POLL_INTERVAL = 0.05  # seconds between looks for events of another process or of a source
_WORK_INTERVAL = 0.5  # seconds between looks of a handler's thread for events that another process received
_PURGE_INTERVAL = 1000  # deliveries between purges of old events

log = logging.getLogger("workbench.webhooks")


class Clock(Protocol):
    """A clock that is moved explicitly."""

    def advance(self, *, seconds: float) -> Any:
        """Move the clock forward."""


@attrs.frozen(kw_only=True)
class Latest:
    """The newest event about a resource, by both orders. They differ if deliveries overtook each other."""

    by_arrival: Event | None
    by_event_time: Event | None  # None if no event has a time

    @property
    def differ(self) -> bool:
        """Whether the two orders disagree about the newest event."""
        if self.by_arrival is None or self.by_event_time is None:
            return False
        return self.by_arrival.id != self.by_event_time.id


@attrs.frozen(kw_only=True, repr=False)
class Replayed:
    """The result of a replay."""

    handled: int
    failures: tuple[tuple[Event, Exception], ...]

    def __repr__(self) -> str:
        return f"<replayed: {self.handled} handled, {len(self.failures)} failed>"


@attrs.frozen
class Refusal:
    """A delivery that was refused: when, and why. Its content is not stored."""

    at: datetime
    reason: str


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Inbox:
    """A store of received webhook events: each is verified and stored once, in memory or in a file."""

    @hide_arguments
    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        keys: Sequence[str | bytes] = (),
        scheme: Scheme = hmac_signature,
        accept_unsigned: bool | None = None,
        source: Source | None = None,
        keep_for: timedelta | None = None,
        max_body: int = MAX_BODY,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        """Open the inbox.

        Args:
            path: A file, readable by its owner alone; None keeps events in memory.
            keys: Keys that deliveries are signed with; two while one is rotated.
            scheme: How a signature is checked.
            accept_unsigned: Accept unsigned deliveries and mark them unverified. By default only if there are no keys;
                the receiver accepts them on loopback alone.
            source: Deliveries to pull before each read, as those of an embedded sandbox.
            keep_for: Purge events that are older than this.
            max_body: Largest body in bytes.
            now: Returns the time.

        Raises:
            UnusableFile: The file is not an inbox, or cannot be used.
        """
        if isinstance(keys, str | bytes):
            keys = (keys,)
        self._keys = tuple(as_key(key) for key in keys)
        self._scheme = scheme
        self._accept_unsigned = not self._keys if accept_unsigned is None else accept_unsigned
        self._source = source
        self._pulled = 0
        self._pull_lock = threading.Lock()
        self._pulling: object = None  # the call that pulls now
        self._keep_for = keep_for
        self._since_purge = 0
        self._now = now
        self.max_body = max_body
        self._store = Store(path)
        self._closed = False
        self._handlers = Handlers(self._store, lambda: self._now().timestamp())
        self._changed = threading.Condition()
        self._workers: dict[str, threading.Thread] = {}
        self._running = 0
        self._taking_over = threading.Lock()
        self._waiting: dict[str, str] = {}  # why handlers cannot use the store at present
        self._refusals: deque[Refusal] = deque(maxlen=100)
        self._purge_old()

    # receiving

    def receive(self, headers: Headers, body: bytes) -> Receipt:
        """Verify a delivery and store it once; it is stored when this returns.

        Handlers run after that: in their own threads while `serve()` or `running()` is on, otherwise in this thread,
        where failed ones are tried again only at a later delivery.

        Raises:
            InvalidWebhook: The signature or the format is wrong; nothing was stored.
            UnusableFile: It could not be stored, so it must not be acknowledged.
        """
        held = [body]
        del body  # a traceback that prints locals would show it
        receipt = self._store_delivery(headers, held)
        with self._changed:
            self._changed.notify_all()
        self._run_here()
        return receipt

    def _store_delivery(self, headers: Headers, held: list[bytes]) -> Receipt:
        body = held.pop()
        try:
            if len(body) > self.max_body:
                raise TooLarge(f"The body has {len(body):,} bytes; the limit is {self.max_body:,}.")
            signed = self._scheme(lower_headers(headers), body, self._keys) if self._keys else None
            if signed is False or (signed is None and not self._accept_unsigned):
                raise SignatureRefused
            event = read_delivery(body, self.max_body)
        except InvalidWebhook as refused:
            body = b""
            self._refusals.append(Refusal(self._now(), str(refused)))
            raise
        self._since_purge += 1
        if self._since_purge >= _PURGE_INTERVAL:
            self._purge_old()
        return self._store.keep(event, body, bool(signed), self._now())

    def pull(self) -> int:
        """Receive the deliveries of the source and return the number of new events. Reads do this first."""
        if self._source is None:
            return 0
        new = 0
        mine = object()
        try:
            with self._pull_lock:
                if self._pulling is not None:
                    return 0
                self._pulling = mine
            deliveries, last = self._source(self._pulled)
            for _, headers, body in deliveries:
                try:
                    new += not self._store_delivery(headers, [body]).duplicate
                except InvalidWebhook:
                    continue  # listed in `refusals`
            self._pulled = last
        finally:  # without a call, an interrupt cannot come between
            if self._pulling is mine:
                self._pulling = None
        self._run_here()
        return new

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Recently rejected deliveries, with the reason."""
        return tuple(self._refusals)

    # reading

    def stored(
        self, kind: str | None = None, where: Where | None = None, since: "datetime | int | None" = None
    ) -> list[StoredEvent]:
        """Return the events in order of arrival, each with its raw bytes and how it arrived.

        Args:
            kind: Only this kind, as `user.updated`; `user.*` works too.
            where: A function of the event, or values by attribute path: `{"body.id": …}`, `{"application_status": …}`.
            since: Only events after a time of arrival, or after a number from `mark()`.
        """
        self.pull()
        rows = self._store.events(
            kind,
            after=since if isinstance(since, int) else 0,
            since=since if isinstance(since, datetime) else None,
        )
        return [one for one in rows if matches(one.event, None, where)]

    def events(
        self, kind: str | None = None, where: Where | None = None, since: "datetime | int | None" = None
    ) -> list[Event]:
        """Return the events, in order of arrival; arguments as for `stored`."""
        return [one.event for one in self.stored(kind, where, since)]

    def raw(self, event_id: str) -> bytes:
        """Return the bytes of an event exactly as they arrived.

        Raises:
            KeyError: No event has that id.
        """
        self.pull()
        found = self._store.events(event_id=event_id)
        if not found:
            raise KeyError(event_id)
        return found[0].raw

    def latest(self, resource_id: str, kind: str | None = None) -> Latest:
        """Return the newest event about a resource, by arrival and by the time in the events."""
        self.pull()
        found = [one.event for one in self._store.events(kind, about=resource_id)]
        timed = [(event.event_received_at, event) for event in found if isinstance(event.event_received_at, datetime)]
        return Latest(
            by_arrival=found[-1] if found else None,
            by_event_time=max(timed, key=itemgetter(0))[1] if timed else None,
        )

    def conflicts(self, event_id: str | None = None) -> list[Conflict]:
        """Return deliveries with a known id but other bytes. The first delivery remains the event."""
        return self._store.conflicts(event_id)

    def mark(self) -> int:
        """Return the current position of the inbox, for `since`."""
        self.pull()
        return self._store.last()

    def wait(
        self,
        kind: str | None = None,
        where: Where | None = None,
        within: float = 10.0,
        *,
        since: "datetime | int | None" = None,
        clock: Clock | None = None,
    ) -> Event:
        """Return the newest matching event, or wait for the next one.

        Args:
            within: Seconds to wait; of `clock` if given, which is then advanced second by second.
            where: As for `stored`.
            since: Only events that arrived after a time, or after a number from `mark()`.

        Raises:
            EventTimeout: No matching event arrived in time.
        """
        deadline = time.monotonic() + within
        left = within
        checked: datetime | int | None = since
        while True:
            newest = self.mark()
            for one in reversed(self.stored(kind, None, checked) if checked != newest else []):
                if matches(one.event, None, where):
                    return one.event
            checked = newest
            if clock is not None:
                if left <= 0:
                    break
                clock.advance(seconds=min(1.0, left))
                left -= 1.0
                continue
            pause = min(_POLL_INTERVAL, deadline - time.monotonic())
            if pause <= 0:
                break
            with self._changed:
                self._changed.wait(pause)
        wanted = kind or "event"
        why = describe_mismatch(self.events(since=since), kind, where)
        where = None  # a traceback that prints locals would show what was checked for
        raise EventTimeout(f"No matching {wanted} within {within:g} s. {why}")

    # handling

    def on(
        self,
        kind: str,
        *,
        name: str | None = None,
        atomic: bool = False,
        since: str = "beginning",
        retry_after: Sequence[float] = RETRY_AFTER,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that registers a handler of events of a kind; `user.*` and `*` work too.

        A function declared with `async def` is awaited. A failure is recorded and tried again, and does not stop other
        handlers. A handler of the same name, here or in another process, continues where it was, and of several
        processes on one file one at a time runs it; after a crash it may see an event a second time.

        Args:
            name: Name of the handler in the store; by default its module and name.
            atomic: Call it with the event and the inbox's database, inside the transaction that records it as done:
                what it writes there happens exactly once.
            since: Where a handler begins whose name is new to the store: "beginning" for all stored events, "now" for
                later ones only, or the id of an event for those after it.
            retry_after: Seconds before each further try of a failed event, varied by 10 % at random; by default
                8 further tries in about a day. After the last one it is in `dead_letters()`.

        Raises:
            TypeError: The function cannot be called that way, or is a generator.
            KeyError: `since` is the id of no stored event.
        """

        def register(call: Callable[..., Any]) -> Callable[..., Any]:
            self._handlers.register(call, kind, name, atomic, since, retry_after)
            if self._running:
                self._start_workers()
            return call

        return register

    def run_handlers(self) -> int:
        """Run the handlers on waiting events, as after a restart; return the number of successful runs."""
        self.pull()
        return self._handlers.run()

    def failures(self) -> tuple[Failure, ...]:
        """Return the handler runs that failed and have not succeeded since, and handlers that wait for a busy store."""
        waiting = [
            Failure(handler=name, event_id=None, kind=None, tries=0, given_up=False, error=error)
            for name, error in self._waiting.copy().items()
        ]
        return (*self._handlers.failures(), *waiting)

    def dead_letters(self) -> tuple[Failure, ...]:
        """Return the runs that failed at every try. `retry()` makes them due again, with all their tries."""
        return tuple(one for one in self._handlers.failures() if one.given_up)

    def retry(self, handler: str | None = None, event_id: str | None = None) -> int:
        """Try failed runs again now, dead letters too; return the number of successful runs."""
        self._handlers.make_due(handler, event_id)
        return self._handlers.run()

    def replay(
        self,
        handler: Callable[[Event], Any],
        kind: str | None = None,
        where: Where | None = None,
        since: "datetime | int | None" = None,
    ) -> Replayed:
        """Call a function with each stored event, in order of arrival; a failure does not stop the rest."""
        handled, failures = 0, []
        for event in self.events(kind, where, since):
            try:
                handler(event)
                handled += 1
            except Exception as error:  # noqa: BLE001 - a user's code may raise anything; it is returned
                failures.append((event, error))
        return Replayed(handled=handled, failures=tuple(failures))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run each handler in its own thread while the context is open, so that a slow one delays nothing else."""
        with self._changed:
            self._running += 1
        self._start_workers()
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()
            if not self._running:
                for thread in list(self._workers.values()):
                    thread.join(5)
                self._workers.clear()

    def _start_workers(self) -> None:
        for name in list(self._handlers.by_name):
            if name not in self._workers:
                self._workers[name] = threading.Thread(
                    target=self._work, args=(name,), name=f"inbox-{name}", daemon=True
                )
                self._workers[name].start()

    def _work(self, name: str) -> None:
        while self._running and not self._closed:
            due = self._try_to_run(name)
            with self._changed:
                if self._running:
                    self._changed.wait(_WORK_INTERVAL if due is None else min(_WORK_INTERVAL, max(due, 0.01)))

    def _try_to_run(self, name: str) -> float | None:
        """Run a handler and return the seconds until it has to run again; nothing that happens here ends its thread."""
        try:
            self._handlers.run(name)
            due = self._handlers.seconds_until_due(name)
        except BaseException as error:  # noqa: BLE001 - a store that is busy or full: the events are tried again
            if not self._closed:
                self._handlers.missed.add(name)
                self._waiting[name] = f"{type(error).__name__}: {error}"
                log.warning("handler %s cannot run at present: %s", name, type(error).__name__)
            return None
        self._waiting.pop(name, None)
        return due

    def _run_here(self) -> None:
        """Run the handlers in this thread, unless they have their own.

        Where another process runs one, that process also handles what arrived; a thread sees to it, should it end before.
        """
        if self._running:
            return
        self._handlers.run()
        if self._handlers.missed:
            threading.Thread(target=self._take_over, name="inbox-take-over", daemon=True).start()

    def _take_over(self) -> None:
        missed = self._handlers.missed
        while missed and not self._closed and not self._running and self._taking_over.acquire(blocking=False):
            try:
                time.sleep(_POLL_INTERVAL)
                for name in missed.copy():
                    self._try_to_run(name)
            finally:
                self._taking_over.release()

    # over HTTP

    @contextmanager
    def serve(
        self, *, host: str = "127.0.0.1", port: int = 0, path: str = "/webhooks", hosts: Sequence[str] = ()
    ) -> Iterator[str]:
        """Receive over HTTP and yield the URL to send to. Handlers run in their own threads meanwhile.

        Args:
            host: Address to listen on: loopback, unless the inbox has keys and accepts nothing unsigned.
            port: Port to listen on; 0 chooses a free one.
            path: Path that accepts deliveries.
            hosts: Further host names under which it is reached, as that of a tunnel; they require keys, or a path
                that cannot be guessed.

        Raises:
            InvalidWebhook: Anybody could send anything this way.
        """
        from workbench.webhooks.receiver import receiving

        with self.running(), receiving(self, host=host, port=port, path=path, hosts=hosts) as url:
            yield url

    @property
    def verifies(self) -> bool:
        """Whether only signed deliveries are accepted."""
        return bool(self._keys) and not self._accept_unsigned

    # keeping

    def purge(self, *naming: str, before: datetime | None = None) -> int:
        """Delete every event that contains one of the ids, or that arrived before a time; return the number deleted.

        Nothing of them remains in the file but their envelope ids, so that a redelivery is not taken for a new event.
        """
        if any(not one for one in naming):
            raise ValueError("An empty id would match every event.")
        return self._store.purge(naming, before)

    def _purge_old(self) -> None:
        self._since_purge = 0
        if self._keep_for is not None:
            self._store.purge((), self._now() - self._keep_for)

    def close(self) -> None:
        """Close the file."""
        self._closed = True
        self._handlers.close()
        self._store.file.close()

    def __enter__(self) -> "Inbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        self.pull()
        return self._store.count()

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        where = "in memory" if self._store.file.path is None else f"in {self._store.file.path.name}"
        checks = f"{len(self._keys)} keys" if self._keys else "no keys: everything is unverified"
        many = "closed" if self._closed else f"{self._store.count()} events"
        return f"<inbox {where}: {many}, {checks}>"
