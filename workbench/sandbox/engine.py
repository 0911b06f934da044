"""Engine of a sandbox, which combines state, clock, service, faults and webhook deliveries.

The engine logs the most recent requests with their response, duration and fault rule. The log is in memory, and in the
sandbox's file if there is a file. The file is written in batches, so a killed process may lose the last entries.
"""

import threading
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import starmap
from typing import Any
from urllib.parse import parse_qsl

import attrs

from workbench.base.errors import UnusableFile
from workbench.base.schema import strict_json
from workbench.base.schema.masks import DOTS, masked
from workbench.base.system.forks import INHERITING
from workbench.base.system.messages import Request, Response
from workbench.base.system.seconds import monotonic
from workbench.sandbox import cards, people
from workbench.sandbox.context import NEVER, Environment, RequestContext, SandboxClock, Seeds, due_by, moment_of
from workbench.sandbox.control_records import to_json
from workbench.sandbox.delivery import WebhookDispatcher
from workbench.sandbox.extensions import SettleTransaction
from workbench.sandbox.faults import FaultRules
from workbench.sandbox.service import Service
from workbench.sandbox.store import FileStore, Members, Record, Store
from workbench.service.interface import table
from workbench.service.interface.convert import Names, converter

_TICK = 0.25  # seconds between checks for changes by other processes, and of a running clock


class Engine:
    """A sandbox without its controls: state, clock, service, fault rules, deliveries and request log.

    Args:
        store: Store that contains a world.
        settings: Value of every sandbox setting, by assumption id.
        wire_names: Wire names that differ from the declared names, by `record.attribute`.
        reach: Kinds of addresses that webhooks may go to.
        webhook_hosts: Hosts that webhooks may go to, regardless of address.
    """

    def __init__(
        self,
        store: Store,
        settings: Members,
        wire_names: Names,
        reach: Collection[str],
        webhook_hosts: Collection[str],
    ) -> None:
        stored = store.get("meta", "made")
        self.store = store
        self.seeds = Seeds.of(stored)
        self.wire_names = wire_names
        self.clock = SandboxClock(store, self._move_clock)
        self.environment = Environment(store, self.clock, self.seeds, settings, converter(wire_names))
        self.service = Service(stored["environment"], self.environment)
        self.full_key = self.seeds.api_key("full")
        self.log = RequestLog(self.service, store)
        self.faults = FaultRules(store, self.seeds)
        self._ticking: threading.Thread | None = None
        self._closed = threading.Event()
        self.dispatcher = WebhookDispatcher(self.environment, self.faults, reach, webhook_hosts, self.keep_time)
        self.dispatcher.notify()

    def answer(self, request: Request, faults: bool = True) -> Response:
        """Answer a request, and apply the fault rules unless they are turned off."""
        began = monotonic()
        with self.catch_up():
            if faults and self.faults.count:
                answer = self.faults.apply(self.service, request)
            else:
                answer = self.service.handle(request)
            self.log.add(request, answer, self.clock.ms, monotonic() - began)
        self.dispatcher.notify()
        return answer

    def context(self, name: str, record: Members | None = None) -> RequestContext:
        """Return the context of a control, with the tenant of a record."""
        context = RequestContext(self.environment, name)
        if record is not None:
            context.tenant = self.store.get("tenant", record["tenant"])
        return context

    @property
    def last_event(self) -> int:
        """Number of the last event; 0 without events."""
        return self.store.get("counter", "event") or 0

    def events(self, after: int = 0) -> Iterator[Record]:
        """Iterate over the stored events after a sequence number. Events of a damaged transaction are skipped."""
        for kept in self.store.numbered("event", max(after, 0)):
            if "transaction" not in kept or self.store.readable("transaction", kept["transaction"]) is not None:
                yield kept

    def event_of(self, event_id: str) -> Record | None:
        """Return the stored event with this id, or None. The search starts at the newest event."""
        return next(
            (
                self.store.get("event", str(number))
                for number in range(self.last_event, 0, -1)
                if self.seeds.uuid(f"event:{number}") == event_id
            ),
            None,
        )

    def catch_up(self) -> AbstractContextManager[None]:
        """Apply the changes that are due on a running clock. The returned context fixes the time while it is open."""
        if not self.clock.runs:
            return nullcontext()
        at = self.clock.ms
        if self.store.get("meta", "next_due") <= at:
            with self.store:
                self._happen_until(at)
        return self.clock.showing(at)

    def keep_time(self) -> None:
        """Start a background thread that applies scheduled changes and follows other processes between requests."""
        if self._ticking is not None or not (self.clock.runs or (self.store.shared and self.dispatcher.active)):
            return

        def tick() -> None:
            seen: object = -1
            while not self._closed.wait(_TICK):
                with (
                    suppress(UnusableFile),
                    self.store,
                ):  # the store reads the changes of other processes; the next round tries a busy file again
                    self.catch_up()
                if self.clock.runs or self.store.version != seen:
                    seen = self.store.version
                    self.dispatcher.notify()

        with INHERITING:
            if self._ticking is None:
                self._ticking = threading.Thread(target=tick, name="workbench-clock", daemon=True)
                self._ticking.start()

    def _move_clock(self, by: int) -> None:
        """Advance the clock by milliseconds. Scheduled changes happen at their due times."""
        with self.store:
            end = self.clock.ms + by
            self._happen_until(end)
            if by:  # an advance by zero does not change the clock
                self.clock.set(end, self.clock.speed)
        self.dispatcher.notify()

    def _happen_until(self, end: int) -> None:
        while self.store.get("meta", "next_due") <= end:
            due = self.store.until("due", due_by(end))
            for key, row in due:
                if self.store.get("due", key) is not None:
                    with self.clock.showing(row["at"]):
                        self.store.delete("due", key)
                        self.store.delete("scheduled", row["name"])
                        self._run_due(*row["name"].split(":"))
            later = self.store.until("due", due_by(NEVER), 1)
            self.store.put("meta", "next_due", later[0][1]["at"] if later else NEVER)

    def _run_due(self, action: str, key: str) -> None:
        if action == "settle":
            transaction = self.store.get("transaction", key)
            request = SettleTransaction(transaction_id=key, amount=transaction["held"])
            cards.settle(self.context("clock", transaction), request)
        else:
            kind = "user" if self.store.get("user", key) is not None else "owner"
            context = self.context("clock", self.store.get(kind, key))
            people.decide(context, kind, key, "approved", action="conclude")

    def close(self) -> None:
        """Stop the deliveries and close the file."""
        self._closed.set()
        if self._ticking is not None:
            self._ticking.join(10)
        self.dispatcher.close()
        self.log.save()
        self.store.close()


KEPT = 1_000
_KEPT_BODY = 16 * 1024
_UNSAVED = 64  # number of unsaved requests after which the log is written to the file
_UNSAVED_SECONDS = 1.0
_OPEN_HEADERS = frozenset({"accept", "content-length", "content-type", "date", "retry-after", "user-agent"})


class RequestLog:
    """Log of the last thousand requests."""

    def __init__(self, service: Service, store: Store) -> None:
        self._service = service
        self._file = store if isinstance(store, FileStore) else None
        # Requests that have not been written to the file.
        self._entries: deque[tuple[Request, Response, int, float]] = deque(maxlen=KEPT)
        self._saved = monotonic()

    def add(self, request: Request, answer: Response, at: int, seconds: float) -> None:
        """Add a request and its response. Bodies of more than 16 kB are omitted."""
        if len(request.body) > _KEPT_BODY:
            request = attrs.evolve(request, body=b"")
        if len(answer.body) > _KEPT_BODY:
            answer = attrs.evolve(answer, body=b"")
        self._entries.append((request, answer, at, seconds))
        if self._file is not None and (len(self._entries) >= _UNSAVED or monotonic() - self._saved > _UNSAVED_SECONDS):
            self.save()

    def clear(self) -> None:
        """Delete all requests, within a transaction."""
        self._entries.clear()
        if self._file is not None:
            self._file.remove_requests()

    def save(self) -> None:
        """Write the requests to the file, if the sandbox has one."""
        if self._file is None or not self._entries:
            return
        with suppress(UnusableFile), self._file:  # if the file is busy, a later write saves these requests
            self._saved = monotonic()
            entries = tuple(self._entries)  # copied, since other threads may add entries meanwhile
            self._file.keep_requests(starmap(self._row, entries), KEPT)
            for _ in entries:
                self._entries.popleft()

    def entries(self, tenant: str | None, *, reveal: bool) -> list[Record]:
        """Return the requests, oldest first.

        Args:
            tenant: Id of the tenant; empty for requests without a known key, None for all requests.
            reveal: Whether private values of bodies are shown.
        """
        self.save()
        entries = list(starmap(self._row, tuple(self._entries))) if self._file is None else self._file.requests()
        return [self._shown(entry, reveal) for entry in entries if tenant in (None, entry["tenant"])]

    def _row(self, request: Request, response: Response, at: int, seconds: float) -> Record:
        """Return a request in its stored form, without its key."""
        context = response.context
        number = context.cause[0] if context is not None else 0
        answer = response.body
        operation = self._service.operation_of(request)
        if self._file is not None and operation is table.Operations.sign_withdrawal and response.status < 400:
            # The file never contains a signature.
            answer = strict_json.dumps(
                to_json(masked(_loaded(answer.decode("latin-1")), of=table.Operations.sign_withdrawal.answer))
            )
        return {
            "request_id": context.seeds.uuid(f"request:{number}") if context is not None and number else None,
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "status": response.status,
            "assumptions": [] if context is None else list(dict.fromkeys(context.assumed)),
            "at": at,
            "seconds": round(seconds, 6),
            "fault": response.fault,
            "tenant": self._service.tenant_of(request),
            "headers": {name: value if name in _OPEN_HEADERS else DOTS for name, value in request.headers.items()},
            "body": request.body.decode("latin-1"),
            "answer": answer.decode("latin-1"),
        }

    def _shown(self, row: Record, reveal: bool) -> Record:
        operation = self._service.operation_of(Request(row["method"], row["path"]))
        known = (None, None) if operation is None else (operation.request, operation.answer)
        query, body, answer = (row[name] for name in ("query", "body", "answer"))
        asked = _loaded(body) or dict(parse_qsl(query, keep_blank_values=True))
        answered = _loaded(answer)
        return {
            **{name: value for name, value in row.items() if name not in {"tenant", "query"}},
            "operation": None if operation is None else operation.name,
            "path": row["path"] if reveal or operation is not None else None,
            "at": moment_of(row["at"]),
            "body": to_json(asked if reveal else masked(asked, of=known[0])) if asked else None,
            "answer": to_json(answered if reveal or row["status"] >= 400 else masked(answered, of=known[1])),
        }


def _loaded(body: str) -> Any:
    try:
        return strict_json.loads(body.encode("latin-1")) if body else None
    except strict_json.NotJson:
        return None
