"""An inbox of webhook events: each delivery verified, each event stored once before it is acknowledged.

Example:
    inbox = wb.Inbox("events.db", keys=[key])
    inbox.receive(headers, body)                       # from any web framework, or
    with inbox.serve() as url: ...                     # its own receiver on loopback
    inbox.wait("user.updated", where={"application_status": "approved"}, within=30)

    @inbox.on("transaction.*")
    def post(event): ...
"""

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
from workbench.webhooks.matching import Where, fits, missed
from workbench.webhooks.outbox import Failure, Outbox
from workbench.webhooks.reading import MAX_BODY, TooLarge, read_delivery
from workbench.webhooks.store import Conflict, Kept, Receipt, Store
from workbench.webhooks.verify import Headers, Scheme, SignatureRefused, as_key, hmac_signature, lowered

Source = Callable[[int], tuple[Iterable[tuple[int, Headers, bytes]], int]]
"""Gives the deliveries after a number, each with its own number, and the number to ask after next."""

_LOOK = 0.05  # seconds between looks, for what another process or a source brings
_SWEEP = 1000  # deliveries between looks for what is past its time


class Clock(Protocol):
    """A clock that moves when told."""

    def advance(self, *, seconds: float) -> Any:
        """Move it on."""


@attrs.frozen(kw_only=True)
class Latest:
    """The newest report about a resource, by both orders. They differ where deliveries overtook each other."""

    by_arrival: Event | None
    by_event_time: Event | None  # None where no event says its time

    @property
    def differ(self) -> bool:
        """Whether the two orders disagree about which report is the newest."""
        return (
            None not in (self.by_arrival, self.by_event_time) and self.by_arrival.id != self.by_event_time.id  # type: ignore[union-attr]
        )


@attrs.frozen(kw_only=True, repr=False)
class Replayed:
    """How a replay went."""

    handled: int
    failures: tuple[tuple[Event, Exception], ...]

    def __repr__(self) -> str:
        return f"<replayed: {self.handled} handled, {len(self.failures)} failed>"


@attrs.frozen
class Refusal:
    """A delivery that was not taken: when, and why. Nothing of it is kept."""

    at: datetime
    reason: str


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Inbox:
    """Events received, each kept once, in memory or in a file that survives a kill."""

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
            path: A file for its owner alone; None keeps everything in memory.
            keys: What deliveries are signed with; two of them while one is rotated.
            scheme: How a signature is checked.
            accept_unsigned: Take deliveries without a signature and mark them unverified. By default only where there
                are no keys; the receiver takes them on loopback alone.
            source: Where to pull deliveries from before each read, as an embedded sandbox.
            keep_for: Events older than this are purged.

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
        self._pulling = threading.Lock()
        self._keep_for = keep_for
        self._since_sweep = 0
        self._now = now
        self.max_body = max_body
        self._store = Store(path)
        self._closed = False
        self._outbox = Outbox(self._store)
        self._news = threading.Condition()
        self._workers: dict[str, threading.Thread] = {}
        self._working = 0
        self._refusals: deque[Refusal] = deque(maxlen=100)
        self._sweep()

    # receiving

    def receive(self, headers: Headers, body: bytes) -> Receipt:
        """Verify a delivery and store it once; when this returns, it is stored.

        Handlers run after that, in this thread, or in threads of their own while `serve()` is on.

        Raises:
            InvalidWebhook: The signature or the form is wrong; nothing was stored.
            UnusableFile: It could not be stored, so it must not be acknowledged.
        """
        held = [body]
        del body  # a traceback that prints locals would show it
        receipt = self._take(headers, held)
        with self._news:
            self._news.notify_all()
        if not self._working:
            self._outbox.run()
        return receipt

    def _take(self, headers: Headers, held: list[bytes]) -> Receipt:
        body = held.pop()
        try:
            if len(body) > self.max_body:
                raise TooLarge(f"The body has {len(body):,} bytes; at most {self.max_body:,} are taken.")
            signed = self._scheme(lowered(headers), body, self._keys) if self._keys else None
            if signed is False or (signed is None and not self._accept_unsigned):
                raise SignatureRefused
            event = read_delivery(body, self.max_body)
        except InvalidWebhook as refused:
            body = b""
            self._refusals.append(Refusal(self._now(), str(refused)))
            raise
        self._since_sweep += 1
        if self._since_sweep >= _SWEEP:
            self._sweep()
        return self._store.keep(event, body, bool(signed), self._now(), self._outbox.enlist)

    def pull(self) -> int:
        """Take what the source has; give how many events were new. Reads do it first."""
        if self._source is None or not self._pulling.acquire(blocking=False):
            return 0
        new = 0
        try:
            deliveries, last = self._source(self._pulled)
            for _, headers, body in deliveries:
                try:
                    new += not self._take(headers, [body]).duplicate
                except InvalidWebhook:
                    continue  # it stands in `refusals`, and the next one is not held up by it
            self._pulled = last
        finally:
            self._pulling.release()
        if not self._working:
            self._outbox.run()
        return new

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """What was not taken lately, and why."""
        return tuple(self._refusals)

    # reading

    def kept(
        self, kind: str | None = None, where: Where | None = None, since: "datetime | int | None" = None
    ) -> list[Kept]:
        """Return what is kept, in order of arrival, each with its raw bytes and marks.

        Args:
            kind: As `user.updated`.
            where: A function of the event, or values by attribute path: `{"body.id": …}`, `{"application_status": …}`.
            since: A time of arrival, or a number from `mark()`.
        """
        self.pull()
        rows = self._store.kept(
            kind,
            after=since if isinstance(since, int) else 0,
            since=since if isinstance(since, datetime) else None,
        )
        return [one for one in rows if fits(one.event, None, where)]

    def events(
        self, kind: str | None = None, where: Where | None = None, since: "datetime | int | None" = None
    ) -> list[Event]:
        """Return the events, in order of arrival; arguments as for `kept`."""
        return [one.event for one in self.kept(kind, where, since)]

    def raw(self, event_id: str) -> bytes:
        """Return the bytes of an event exactly as they came.

        Raises:
            KeyError: No event has that id.
        """
        self.pull()
        found = self._store.kept(event_id=event_id)
        if not found:
            raise KeyError(event_id)
        return found[0].raw

    def latest(self, resource_id: str, kind: str | None = None) -> Latest:
        """Return the newest report about a resource, by arrival and by the time that events carry."""
        self.pull()
        found = [one.event for one in self._store.kept(kind, about=resource_id)]
        timed = [(event.event_received_at, event) for event in found if isinstance(event.event_received_at, datetime)]
        return Latest(
            by_arrival=found[-1] if found else None,
            by_event_time=max(timed, key=itemgetter(0))[1] if timed else None,
        )

    def conflicts(self, event_id: str | None = None) -> list[Conflict]:
        """Return deliveries that came under a known id with other bytes. The first ones are kept as the event."""
        return self._store.conflicts(event_id)

    def mark(self) -> int:
        """Return where the inbox stands now, for `since`."""
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
        """Return the newest event that fits, or the next one that comes.

        Args:
            within: Seconds; of `clock` where one is given, which is then moved on second by second.
            since: Only what arrived after a time, or after a number from `mark()`.

        Raises:
            EventTimeout: None came in time.
        """
        deadline = time.monotonic() + within
        left = within
        looked: datetime | int | None = since
        while True:
            newest = self.mark()
            for one in reversed(self.kept(kind, None, looked) if looked != newest else []):
                if fits(one.event, None, where):
                    return one.event
            looked = newest
            if clock is not None:
                if left <= 0:
                    break
                clock.advance(seconds=min(1.0, left))
                left -= 1.0
                continue
            pause = min(_LOOK, deadline - time.monotonic())
            if pause <= 0:
                break
            with self._news:
                self._news.wait(pause)
        wanted = kind or "event"
        why = missed(self.events(since=since), kind, where)
        where = None  # a traceback that prints locals would show what was looked for
        raise EventTimeout(f"No {wanted} that fits came within {within:g} s. {why}")

    # handling

    def on(
        self, kind: str, *, name: str | None = None, atomic: bool = False
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that registers a handler of events of a kind from now on; `user.*` and `*` work too.

        A failure is recorded and tried again (3 times), and stops nothing else. After a crash the handler of the same
        name goes on where it was; it may then see an event a second time.

        Args:
            name: What the store knows it by; by default its module and name.
            atomic: Call it with the event and the inbox's database, inside the transaction that notes it as done:
                what it writes there happens exactly once.
        """

        def register(call: Callable[..., Any]) -> Callable[..., Any]:
            self._outbox.on(kind, name, atomic)(call)
            if self._working:
                self._employ()
            return call

        return register

    def run_handlers(self) -> int:
        """Run the handlers on what waits for them, as after a restart; give how many runs went well."""
        self.pull()
        return self._outbox.run()

    def failures(self) -> tuple[Failure, ...]:
        """Return the handler runs that failed and have not gone well since."""
        return self._outbox.failures()

    def retry(self, handler: str | None = None, event_id: str | None = None) -> int:
        """Try failures again now; give how many runs went well."""
        self._outbox.again(handler, event_id)
        return self._outbox.run()

    def replay(
        self,
        handler: Callable[[Event], Any],
        kind: str | None = None,
        where: Where | None = None,
        since: "datetime | int | None" = None,
    ) -> Replayed:
        """Call a function with each kept event, in order of arrival; a failure does not stop the rest."""
        handled, failures = 0, []
        for event in self.events(kind, where, since):
            try:
                handler(event)
                handled += 1
            except Exception as error:  # noqa: BLE001 - a user's code may raise anything; it is given back
                failures.append((event, error))
        return Replayed(handled=handled, failures=tuple(failures))

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Run each handler in a thread of its own, so that neither acknowledgements nor other handlers wait for it."""
        with self._news:
            self._working += 1
        self._employ()
        try:
            yield
        finally:
            with self._news:
                self._working -= 1
                self._news.notify_all()
            if not self._working:
                for thread in list(self._workers.values()):
                    thread.join(5)
                self._workers.clear()

    def _employ(self) -> None:
        for name in list(self._outbox.handlers):
            if name not in self._workers:
                self._workers[name] = threading.Thread(
                    target=self._work, args=(name,), name=f"inbox-{name}", daemon=True
                )
                self._workers[name].start()

    def _work(self, name: str) -> None:
        while self._working:
            self._outbox.run(name)
            due = self._outbox.due_in(name)
            with self._news:
                if self._working:
                    self._news.wait(1.0 if due is None else min(1.0, max(due, 0.01)))

    # over HTTP

    @contextmanager
    def serve(
        self, *, host: str = "127.0.0.1", port: int = 0, path: str = "/webhooks", hosts: Sequence[str] = ()
    ) -> Iterator[str]:
        """Receive over HTTP, and give the URL to send to. Handlers run in threads of their own meanwhile.

        Args:
            host: Only loopback, unless the inbox has keys and takes nothing unsigned.
            hosts: Names besides this machine's own under which it is reached, as that of a tunnel; they need keys, or
                a path that cannot be guessed.

        Raises:
            InvalidWebhook: Anybody could send anything this way.
        """
        from workbench.webhooks.receiver import receiving

        with self.at_work(), receiving(self, host=host, port=port, path=path, hosts=hosts) as url:
            yield url

    @property
    def verifies(self) -> bool:
        """Whether it takes signed deliveries only."""
        return bool(self._keys) and not self._accept_unsigned

    # keeping

    def purge(self, *naming: str, before: datetime | None = None) -> int:
        """Delete every event that names one of the ids, or that arrived before a time; give how many.

        Nothing of them is left in the file. Their envelope ids are, so that a redelivery is not taken for a new event.
        """
        if any(not one for one in naming):
            raise ValueError("An empty id would name everything.")
        return self._store.purge(naming, before)

    def _sweep(self) -> None:
        self._since_sweep = 0
        if self._keep_for is not None:
            self._store.purge((), self._now() - self._keep_for)

    def close(self) -> None:
        """Close the file."""
        self._closed = True
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
