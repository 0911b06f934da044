"""Inbox of webhook events. It verifies each delivery, and stores each event once before it acknowledges the delivery.

Example:
    inbox = wb.Inbox("events.db", keys=[key])
    inbox.receive(headers, body)                       # from any web framework, or
    with inbox.serve() as url: ...                     # the built-in receiver on loopback
    inbox.wait("user.updated", where={"application_status": "approved"}, timeout=30)

    @inbox.on("transaction.*")
    def post(event): ...
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, Concatenate, TypedDict, TypeVar, Unpack, overload

import attrs

from workbench.base.arguments import hide_arguments, hide_arguments_of_methods
from workbench.base.errors import EventTimeout, InvalidWebhook, Problem, UnusableFile, UsageError, visible
from workbench.base.frozen import frozen
from workbench.base.keys import Key
from workbench.base.system.messages import LOOPBACK
from workbench.base.system.seconds import monotonic
from workbench.client.webhooks.handlers import POLL_INTERVAL, RETRY_AFTER, Failure, Handlers, OneAtATime
from workbench.client.webhooks.store import ConflictingDelivery, EventStore, Receipt, StoredEvent, UnreadableDelivery
from workbench.client.webhooks.verify import (
    MAX_BODY,
    Headers,
    Scheme,
    SignatureRefused,
    TooLarge,
    Where,
    check_kind,
    describe_mismatch,
    hmac_signature,
    lower_headers,
    matches,
    read_delivery,
)
from workbench.service.interface.events import (
    AnyEvent,
    CardEvent,
    CardKind,
    DepositEvent,
    DepositKind,
    KindPattern,
    TransactionEvent,
    TransactionKind,
    UserEvent,
    UserKind,
)

Since = datetime | int | None
UserHandler = TypeVar("UserHandler", bound=Callable[Concatenate[UserEvent, ...], Any])
DepositHandler = TypeVar("DepositHandler", bound=Callable[Concatenate[DepositEvent, ...], Any])
TransactionHandler = TypeVar("TransactionHandler", bound=Callable[Concatenate[TransactionEvent, ...], Any])
CardHandler = TypeVar("CardHandler", bound=Callable[Concatenate[CardEvent, ...], Any])
Handler = TypeVar("Handler", bound=Callable[Concatenate[AnyEvent, ...], Any])
"""Handler of events, called with the event, and with the database of the inbox if `atomic`."""
Source = Callable[[int], tuple[Iterable[tuple[int, Headers, bytes]], int]]
"""Function that returns the deliveries after a number, each with its number, and the number to pass next time."""

_MIN_SECRET_PATH = 24  # minimum length of a secret path, in characters
_RENEWAL_SECONDS = 30.0  # minimum seconds between fetches of keys after unknown signatures
SigningKey = str | bytes | Key | Callable[[], str]
_PURGE_INTERVAL = 1000  # number of deliveries between purges of old events


class WaitOptions(TypedDict, total=False):
    """Options of `Inbox.wait`."""

    since: Since
    clock: object


class HandlerOptions(TypedDict, total=False):
    """Options of `Inbox.on`."""

    name: str | None
    atomic: bool
    ordered: bool
    since: str
    retry_after: Sequence[float]


@frozen(kw_only=True)
class Latest:
    """The newest event about a resource by arrival, and by event time. After a late delivery, the two differ."""

    by_arrival: AnyEvent | None
    by_event_time: AnyEvent | None  # None if no event has a time

    @property
    def differ(self) -> bool:
        """Whether the two orders disagree about the newest event."""
        if self.by_arrival is None or self.by_event_time is None:
            return False
        return self.by_arrival.id != self.by_event_time.id


@frozen(kw_only=True)
class Replayed:
    """The result of a replay: the number of handled events, and the failures with their events."""

    handled: int
    failures: tuple[tuple[AnyEvent, Exception], ...] = attrs.field(repr=lambda failed: f"{len(failed)} events")


@frozen
class Refusal:
    """A delivery that was not stored as an event, with time and reason."""

    at: datetime
    reason: str
    repeated: bool = False  # whether an event with this id was already stored


def _utc_now() -> datetime:
    return datetime.now(UTC)


@hide_arguments_of_methods
class Inbox:
    """A store of received webhook events in memory or in a file. Each event is verified and stored once."""

    @hide_arguments
    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        keys: Sequence[SigningKey] | SigningKey = (),
        scheme: Scheme = hmac_signature,
        accept_unsigned: bool = False,
        source: Source | None = None,
        keep_for: timedelta | None = None,
        max_body: int = MAX_BODY,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        """Open the inbox.

        Args:
            path: File for the events, readable only by its owner, or None to store the events in memory.
            keys: Keys that sign deliveries, or functions that fetch them; two during a rotation. Required unless
                `accept_unsigned` is true.
            scheme: Function that verifies a signature.
            accept_unsigned: Accept unsigned deliveries and mark them unverified; the receiver accepts them only on
                loopback.
            source: Source of deliveries to pull before each read, such as an embedded sandbox.
            keep_for: Purge events that exceed this age, both by this machine's clock and by event time relative to
                the newest event.
            max_body: Maximum body size in bytes.
            now: Function that returns the current time.

        Raises:
            UsageError: No keys were given, so anyone could send events, or a key is invalid.
            UnusableFile: The file is not an inbox, or cannot be used.
        """
        listed = keys if isinstance(keys, Sequence) and not isinstance(keys, str | bytes) else (keys,)
        self._keys = tuple(Key.of(key, "keys") for key in listed)  # stored as Key objects, so that no dump shows them
        self._renewed = -_RENEWAL_SECONDS  # time of the last fetch of keys after an unknown signature
        if not self._keys and not accept_unsigned:
            raise UsageError(
                "An inbox needs the keys that sign deliveries: Inbox(keys=[…]). Without keys anyone could send "
                "events; accept_unsigned=True accepts such events, marked as unverified."
            )
        self._scheme = scheme
        self._accept_unsigned = accept_unsigned
        self._source = source
        self._pulled = 0
        self._pulling = OneAtATime()
        self._keep_for = keep_for
        self._since_purge = 0
        self._now = now
        self._max_body = max_body
        self._store = EventStore(path)
        self._closed = False
        self._changed = threading.Condition()
        self._handlers = Handlers(self._store, lambda: self._now().timestamp(), self._changed)
        self._refusals: deque[Refusal] = deque(maxlen=100)
        self._store.read_again()
        self._purge_old()

    # receiving

    @hide_arguments
    def receive(self, headers: Headers, body: bytes) -> Receipt:
        """Verify a delivery, and store its event once. The event is stored when this method returns.

        A signed delivery that cannot be read is stored too, and `unreadable()` returns it. A later version may be able
        to read the delivery when it opens the file. Only unsigned deliveries are refused because of their format.

        Handlers run afterwards: in separate threads during `serve()` or `running()`, otherwise in this thread, where
        failed runs are retried only at a later delivery.

        Raises:
            InvalidWebhook: The signature is wrong, the body too large, or an unsigned body cannot be read; nothing was
                stored.
            UnusableFile: The event could not be stored, so the delivery must not be acknowledged.
        """
        receipt = self._store_delivery(headers, body)
        with self._changed:
            self._changed.notify_all()
        self._handlers.run_here()
        return receipt

    def respond(self, headers: Headers, body: bytes) -> int:
        """Receive a delivery in a web framework, and return the HTTP status to respond with.

        204: the delivery is accepted; a signed delivery is stored even if it cannot be read.
        400: unsigned deliveries are accepted, but the body is not an event.
        401: the signature is missing or wrong.
        413: the body is too large.
        503: the delivery could not be stored; the sender should retry.
        """
        try:
            self.receive(headers, body)
        except SignatureRefused:
            return 401
        except TooLarge:
            return 413
        except InvalidWebhook:
            return 400
        except UnusableFile:
            return 503
        return 204

    def _store_delivery(self, headers: Headers, body: bytes) -> Receipt:
        signed: bool | None = None
        try:
            if len(body) > self._max_body:
                raise TooLarge(f"The body has {len(body):,} bytes; the limit is {self._max_body:,}.")
            versions = [key.version for key in self._keys]
            signed = self._is_signed(headers, body)
            if signed is False and self._renew_keys(versions):
                signed = self._is_signed(headers, body)
            if signed is False or (signed is None and not self._accept_unsigned):
                raise SignatureRefused
            event = read_delivery(body, self._max_body)
        except InvalidWebhook as refused:
            if signed:  # the delivery is genuine; if it were refused, the provider would resend the same bytes
                return self._store.keep_unreadable(bytes(body), str(refused), self._now())
            self._note(str(refused))
            raise
        self._since_purge += 1
        if self._since_purge >= _PURGE_INTERVAL:
            self._purge_old()
        receipt = self._store.keep(event, body, bool(signed), self._now())
        if receipt.duplicate:
            self._note(
                f"{'Other bytes with the id' if receipt.conflict else 'A duplicate'} of event {visible(event.id, 60)}.",
                repeated=True,
            )
        return receipt

    def _is_signed(self, headers: Headers, body: bytes) -> bool | None:
        keys = [key.header() for key in self._keys]
        return self._scheme(lower_headers(headers), body, keys) if keys else None

    def _renew_keys(self, versions: list[int]) -> bool:
        """Fetch keys from functions again, at most once in 30 seconds, and return whether a key has another version.

        If another thread is fetching the keys, wait for that fetch.
        """
        if monotonic() - self._renewed >= _RENEWAL_SECONDS:
            for key in self._keys:
                key.renew(key.version)
            self._renewed = monotonic()
        return versions != [key.version for key in self._keys]

    def _note(self, reason: str, *, repeated: bool = False) -> None:
        self._refusals.append(Refusal(self._now(), reason, repeated))

    def _pull(self) -> int:
        """Receive the deliveries of the source and return the number of new events. Called before each read."""
        new = self._pulling.run(self._receive_pulled) if self._source is not None else None
        if new is None:
            return 0
        self._handlers.run_here()
        return new

    def _receive_pulled(self) -> int:
        assert self._source is not None
        new, more = 0, True
        while more:  # deliveries arrive in batches, until a batch is empty
            deliveries, last = self._source(self._pulled)
            more = False
            for _, headers, body in deliveries:
                more = True
                try:
                    receipt = self._store_delivery(headers, body)
                    new += not (receipt.duplicate or receipt.unreadable)
                except InvalidWebhook:
                    continue  # `refusals` lists this delivery
            self._pulled = last
        return new

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Recent deliveries that were not stored, with the reason: rejected, or a duplicate."""
        return tuple(self._refusals)

    # reading

    def stored(self, kind: str | None = None, where: Where | None = None, since: Since = None) -> list[StoredEvent]:
        """Return the events in order of arrival, each with its raw bytes and delivery details.

        Args:
            kind: Kind of event, such as `user.updated`, or a pattern such as `user.*`.
            where: A function of the event, or values by attribute path: `{"body.id": …}`, `{"application_status": …}`.
            since: Only events after a time of arrival, or after the `sequence` of a stored event.
        """
        check_kind(kind, "inbox")
        self._pull()
        rows = self._store.events(
            kind,
            after=since if isinstance(since, int) else 0,
            since=since if isinstance(since, datetime) else None,
        )
        return [row for row in rows if matches(row.event, None, where)]

    @overload
    def events(self, kind: UserKind, where: Where | None = None, since: Since = None) -> list[UserEvent]: ...
    @overload
    def events(self, kind: DepositKind, where: Where | None = None, since: Since = None) -> list[DepositEvent]: ...
    @overload
    def events(
        self, kind: TransactionKind, where: Where | None = None, since: Since = None
    ) -> list[TransactionEvent]: ...
    @overload
    def events(self, kind: CardKind, where: Where | None = None, since: Since = None) -> list[CardEvent]: ...
    @overload
    def events(
        self, kind: KindPattern | None = None, where: Where | None = None, since: Since = None
    ) -> list[AnyEvent]: ...
    def events(self, kind: str | None = None, where: Where | None = None, since: Since = None) -> Any:
        """Return the events in order of arrival. The arguments are the same as for `stored`."""
        return [stored.event for stored in self.stored(kind, where, since)]

    def latest(self, resource_id: str, kind: str | None = None) -> Latest:
        """Return the newest event about a resource, by arrival and by event time."""
        check_kind(kind, "inbox.latest")
        self._pull()
        events = [event.event for event in self._store.events(kind, about=resource_id)]
        timed = [event for event in events if isinstance(event.event_received_at, datetime)]
        return Latest(
            by_arrival=events[-1] if events else None,
            # if events have the same time, take the last
            by_event_time=max(reversed(timed), key=attrgetter("event_received_at"), default=None),
        )

    def unreadable(self) -> list[UnreadableDelivery]:
        """Return the correctly signed deliveries that could not be read, each with its bytes and the reason."""
        self._pull()
        return self._store.unreadable()

    def conflicts(self, event_id: str | None = None) -> list[ConflictingDelivery]:
        """Return deliveries with a known id but different bytes. The first delivery remains the event."""
        return self._store.conflicts(event_id)

    def _last_event(self) -> int:
        self._pull()
        return self._store.last()

    @overload
    def wait(
        self,
        kind: UserKind,
        where: Where | None = None,
        timeout: float = 10.0,
        **options: Unpack[WaitOptions],
    ) -> UserEvent: ...
    @overload
    def wait(
        self,
        kind: DepositKind,
        where: Where | None = None,
        timeout: float = 10.0,
        **options: Unpack[WaitOptions],
    ) -> DepositEvent: ...
    @overload
    def wait(
        self,
        kind: TransactionKind,
        where: Where | None = None,
        timeout: float = 10.0,
        **options: Unpack[WaitOptions],
    ) -> TransactionEvent: ...
    @overload
    def wait(
        self,
        kind: CardKind,
        where: Where | None = None,
        timeout: float = 10.0,
        **options: Unpack[WaitOptions],
    ) -> CardEvent: ...
    @overload
    def wait(
        self,
        kind: KindPattern | None = None,
        where: Where | None = None,
        timeout: float = 10.0,
        **options: Unpack[WaitOptions],
    ) -> AnyEvent: ...
    def wait(
        self,
        kind: str | None = None,
        where: Where | None = None,
        timeout: float = 10.0,
        *,
        since: Since = None,
        clock: Any = None,
    ) -> Any:
        """Return the newest matching event, or wait for a matching event.

        Args:
            timeout: Seconds to wait, in real time or in the time of `clock`, which is then advanced second by second.
            where: As for `stored`.
            since: Only events that arrived after a time, or after the `sequence` of a stored event.
            clock: A clock that is advanced explicitly, such as `api.sandbox.clock`.

        Raises:
            EventTimeout: No matching event arrived in time.
        """
        return self._wait(kind, where, timeout, since, clock, threading.Event())

    def _wait(
        self, kind: str | None, where: Where | None, timeout: float, since: Since, clock: Any, ended: threading.Event
    ) -> Any:
        """Wait as `wait` does, or return None once `ended` is set."""
        if timeout != timeout:  # no time is later than NaN, so the wait would never end
            raise UsageError([Problem("timeout", "type", "must be a number of seconds, not NaN")], of="wait")
        deadline, advanced = monotonic() + timeout, 0.0
        unseen = since
        while not ended.is_set():
            newest = self._last_event()
            if stored := self.stored(kind, where, unseen):
                return stored[-1].event
            unseen = newest
            left = deadline - monotonic() if clock is None else timeout - advanced
            if left <= 0:
                why = describe_mismatch(self.events(since=since), kind, where)
                raise EventTimeout(f"No matching {kind or 'event'} within {timeout:g} s. {why}")
            if clock is not None:
                clock.advance(seconds=min(1.0, left))
                advanced += 1.0
            else:
                with self._changed:
                    self._changed.wait(min(POLL_INTERVAL, left))
        return None

    # handling

    @overload
    def on(
        self,
        kind: UserKind,
        **options: Unpack[HandlerOptions],
    ) -> Callable[[UserHandler], UserHandler]: ...
    @overload
    def on(
        self,
        kind: DepositKind,
        **options: Unpack[HandlerOptions],
    ) -> Callable[[DepositHandler], DepositHandler]: ...
    @overload
    def on(
        self,
        kind: TransactionKind,
        **options: Unpack[HandlerOptions],
    ) -> Callable[[TransactionHandler], TransactionHandler]: ...
    @overload
    def on(
        self,
        kind: CardKind,
        **options: Unpack[HandlerOptions],
    ) -> Callable[[CardHandler], CardHandler]: ...
    @overload
    def on(
        self,
        kind: KindPattern,
        **options: Unpack[HandlerOptions],
    ) -> Callable[[Handler], Handler]: ...
    def on(
        self,
        kind: str,
        *,
        name: str | None = None,
        atomic: bool = False,
        ordered: bool = False,
        since: str = "beginning",
        retry_after: Sequence[float] = RETRY_AFTER,
    ) -> Callable[[Any], Any]:
        """Return a decorator that registers an event handler for a kind such as `user.updated`, `user.*` or `*`.

        A function declared with `async def` is awaited. A failure is recorded and retried, and does not stop other
        handlers. A handler with a known name continues at its stored position, also in another process. If several
        processes share a file, only one at a time runs the handler. After a crash a handler may receive an event a
        second time.

        Args:
            name: Name of the handler in the store (default: its module and name).
            atomic: Call the function with the event and the inbox's database, inside the transaction that records the
                run, so that its writes happen exactly once.
            ordered: Preserve the order of arrival for each resource: while an event waits for a retry, later events
                about the same resource wait too.
            since: Start position of a handler whose name is new to the store: "beginning" for all stored events,
                "now" for later events only, or the id of an event for later events.
            retry_after: Seconds before each retry of a failed event, varied by 10 % at random (default: 8 retries in
                about a day). After the last retry the run is `given_up` in `failures()`.

        Raises:
            UsageError: No events of this kind exist. To handle undocumented kinds, pass a pattern.
            UsageError: The function cannot be called with these arguments, or is a generator.
            UsageError: No stored event has the id `since`.
        """
        check_kind(kind, "inbox.on")

        def register(call: Any) -> Any:
            self._handlers.register(call, kind, name, atomic, ordered, since, retry_after)
            return call

        return register

    def run_handlers(self) -> int:
        """Run the handlers on waiting events, as after a restart, and return the number of successful runs."""
        self._pull()
        return self._handlers.run()

    def failures(self) -> tuple[Failure, ...]:
        """Return the handler runs that failed and have not succeeded since, and handlers that wait for a busy store.

        A run whose retries all failed is `given_up`; `retry()` starts it again with a new series of retries.
        """
        return self._handlers.failures()

    def retry(self, handler: str | None = None, event_id: str | None = None) -> int:
        """Retry failed runs now, including runs that were given up, and return the number of successful runs."""
        self._handlers.make_due(handler, event_id)
        return self._handlers.run()

    def replay(
        self,
        handler: Callable[[AnyEvent], Any],
        kind: str | None = None,
        where: Where | None = None,
        since: Since = None,
    ) -> Replayed:
        """Call a function with each stored event in order of arrival. A failure does not stop the replay."""
        handled, failures = 0, []
        for stored in self.stored(kind, where, since):
            event = stored.event
            try:
                handler(event)
                handled += 1
            except Exception as error:  # noqa: BLE001 - a user's code may raise anything; it is returned
                failures.append((event, error))
        return Replayed(handled=handled, failures=tuple(failures))

    def running(self) -> AbstractContextManager[None]:
        """Run each handler in a thread while the context is open, so that a slow handler delays no other handler."""
        return self._handlers.running()

    # over HTTP

    @contextmanager
    def serve(
        self, *, host: str = "127.0.0.1", port: int = 0, path: str = "/webhooks", hosts: Sequence[str] = ()
    ) -> Iterator[str]:
        """Receive deliveries over HTTP and yield the URL. Handlers run in separate threads meanwhile.

        Args:
            host: Address to listen on. For addresses other than loopback, the inbox needs keys and must accept only
                signed deliveries.
            port: Port to listen on; 0 takes any free port.
            path: Path that accepts deliveries.
            hosts: Further host names of the receiver, such as a tunnel's; they require keys, or a path that
                cannot be guessed.

        Raises:
            InvalidWebhook: The arguments would let anyone send events.
        """
        from workbench.client.webhooks.receiver import serve  # imported late, since only serving needs it

        if not (host in LOOPBACK or self._verifies):
            raise InvalidWebhook(
                f"An inbox that accepts unsigned deliveries cannot be served on {host}: anyone could send events. "
                "Give it keys, or use 127.0.0.1."
            )
        path = "/" + path.lstrip("/")
        if hosts and not self._verifies and len(path) < _MIN_SECRET_PATH:
            raise InvalidWebhook(
                "An inbox that accepts unsigned deliveries cannot be served to other hosts on a path that can be "
                f"guessed: give it keys, or a path of {_MIN_SECRET_PATH} characters or more."
            )
        served = serve(self.respond, self._note, path, host=host, port=port, hosts=hosts, max_body=self._max_body)
        with self.running(), served as url:
            yield url

    @property
    def _verifies(self) -> bool:
        """Whether only signed deliveries are accepted."""
        return bool(self._keys) and not self._accept_unsigned

    # retention

    def purge(self, *naming: str, before: datetime | None = None) -> int:
        """Delete all events that contain one of the ids or arrived before a time; return the number deleted.

        Only their envelope ids remain in the file, so that a redelivery does not count as a new event.
        """
        if any(not row for row in naming):
            raise UsageError("An empty id would match every event.")
        return self._store.purge(naming, before)

    def _purge_old(self) -> None:
        self._since_purge = 0
        if self._keep_for is not None:
            self._store.purge_old(self._now(), self._keep_for)

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
        self._pull()
        return self._store.count()

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        where = "in memory" if self._store.file.path is None else f"in {self._store.file.path.name}"
        checks = f"{len(self._keys)} keys" if self._keys else "no keys: everything is unverified"
        many = "closed" if self._closed else f"{self._store.count()} events"
        return f"<inbox {where}: {many}, {checks}>"


def last_event(inbox: Inbox) -> int:
    """Return the number of the last event, to pass as `since`."""
    return inbox._last_event()
