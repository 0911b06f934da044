"""Applications behind HTTP, in any language, which are explored with real time, real concurrency and real crashes.

Simultaneous deliveries are sent in parallel. One command kills the process while it handles deliveries, and another
command starts the process again. A repeated universe may therefore run differently, so its story reports what was
tried.
"""

import json
import shlex
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

import attrs
import httpx

from workbench.base.errors import InvalidRequest, visible
from workbench.base.schema import strict_json
from workbench.base.system import http_server
from workbench.base.system.http_server import Handler
from workbench.base.system.messages import Request, Response
from workbench.base.system.seconds import monotonic
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals
from workbench.sandbox.server import refused
from workbench.sandbox.service import MAX_BODY
from workbench.testing.deliveries import KEY, Delivery
from workbench.testing.life import what
from workbench.testing.process import Process
from workbench.testing.universe import Books, Universe, unequal

_START_SECONDS = 30.0
_POLL_INTERVAL = 0.01
_GONE_SECONDS = 5.0
_READ_SECONDS = 10.0
MAX_BOOKS = 50_000_000  # maximum bytes of the response with the books
Command = str | Sequence[str] | Callable[[], object]
_TOGETHER = 0.5  # in simulated seconds; deliveries due within this time are sent in parallel
# seconds from the first delivery to the kill; the first entry stands for no kill
_KILLED_AFTER = (0.0, 0.0, 0.002, 0.005, 0.015, 0.05)
_CALLS = {
    "": "",
    "lost": "lost after it was carried out",
    "cut": "cut",
    "status": "answered 503",
    "closed": "lost before it was carried out",
    "reset": "reset before it was carried out",
}
"""Kinds of fault rules, and their effect on a call."""


@attrs.frozen(kw_only=True)
class HttpApplication:
    """Addresses and commands of an application behind HTTP.

    Args:
        url: URL that receives deliveries.
        books: URL that returns a JSON object that maps transaction ids to cents.
        reset: URL that empties the books (POST). Without `reset`, the books accumulate over universes, and a failing
            universe is not made smaller.
        kill: Command or function that kills the process, such as "docker kill shop". Without `kill` there are no
            crashes. The command must exit with 0, and the port must then refuse connections.
        start: Command or function that starts the process and returns.
        key: Key with which the application verifies deliveries.
        api_port: Port at which the sandbox is served for the application's calls; None if the application makes no
            calls.
        unknown: URL that returns a JSON array of the calls with an unknown outcome, in any form.
        clock: File for libfaketime (FAKETIME_TIMESTAMP_FILE, with FAKETIME_NO_CACHE=1 and TZ=UTC), to which the
            universe's time is written before each delivery. Programs that do not ask the C library, such as Go
            programs, see the machine's time. Without `clock`, the machine's clock is not simulated.
        patience: Maximum time in seconds, at the end, for the books to agree and for unknown outcomes to be resolved.
            If a call failed and `unknown` is not given, the full time passes, because the application may retry the
            call.
    """

    url: str
    books: str
    reset: str | None = None
    kill: Command = ""
    start: Command = ""
    key: str = KEY
    api_port: int | None = None
    unknown: str | None = None
    clock: str | PathLike[str] | None = None
    patience: float = 5.0
    client: httpx.Client = attrs.field(
        factory=lambda: httpx.Client(timeout=10, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)),
        repr=False,
        eq=False,
    )

    def receive(self, delivery: Delivery) -> int:
        """Send a delivery and return the status of the response; 0 if there is no response."""
        try:
            return self.client.post(self.url, content=delivery.body, headers=delivery.headers).status_code
        except httpx.HTTPError:
            return 0

    def read_books(self) -> Books:
        """Return the books of the application.

        Raises:
            InvalidRequest: The response is not a JSON object of whole cents.
        """
        books = self._read("books", self.books)
        if not isinstance(books, dict) or not all(type(cents) is int for cents in books.values()):
            raise InvalidRequest("books: must be a JSON object that maps transaction ids to whole cents", of="explore")
        return books

    def read_unknown(self) -> list[object]:
        """Return the calls that the application reports as having an unknown outcome.

        Raises:
            InvalidRequest: The response is not a JSON array.
        """
        calls = [] if self.unknown is None else self._read("unknown", self.unknown)
        if not isinstance(calls, list):
            raise InvalidRequest("unknown: must be a JSON array", of="explore")
        return calls

    def _read(self, name: str, url: str) -> Any:
        try:
            return strict_json.loads(self._ask(name, "GET", url))
        except strict_json.NotJson:
            raise InvalidRequest(f"{name}: {visible(url, 200)} does not answer with JSON", of="explore") from None

    def _ask(self, name: str, method: str, url: str) -> bytes:
        """Return the body of a response, with a limit on its size and on the time."""
        data, deadline = bytearray(), monotonic() + _READ_SECONDS
        try:
            with self.client.stream(method, url) as answer:
                answer.raise_for_status()
                for chunk in answer.iter_bytes():
                    data += chunk
                    if len(data) > MAX_BOOKS or monotonic() > deadline:
                        raise InvalidRequest(f"{name}: over {MAX_BOOKS:,} bytes, or too slow to read", of="explore")
        except httpx.HTTPError as error:
            message = f"{name}: {visible(url, 200)} does not answer: {type(error).__name__}"
            raise InvalidRequest(message, of="explore") from None
        return bytes(data)

    def empty(self) -> None:
        """Empty the books, if `reset` is given.

        Raises:
            InvalidRequest: The application does not empty its books.
        """
        if self.reset is not None:
            self._ask("reset", "POST", self.reset)

    def tell_time(self, moment: datetime) -> None:
        """Write the time for libfaketime, if `clock` is given."""
        if self.clock is not None:
            Path(self.clock).write_text(f"@{moment:%Y-%m-%d %H:%M:%S}\n", encoding="utf-8")

    def crash(self) -> None:
        """Kill the process, and verify that it has ended.

        Raises:
            InvalidRequest: The command fails, or the port still answers.
        """
        _run("kill", self.kill)
        deadline = monotonic() + _GONE_SECONDS
        while self._answers():
            if monotonic() > deadline:
                raise InvalidRequest(f"kill: {visible(self.url, 200)} still answers after the command", of="explore")
            time.sleep(_POLL_INTERVAL)

    def _answers(self) -> bool:
        """Return whether the application's port accepts connections."""
        url = httpx.URL(self.url)
        with suppress(OSError), socket.create_connection((url.host, url.port or 80), timeout=1):
            return True
        return False

    def boot(self) -> None:
        """Start the process and wait until the books can be read.

        Raises:
            InvalidRequest: The command fails, or the application does not respond.
        """
        if self.start:
            _run("start", self.start)
        deadline = monotonic() + _START_SECONDS
        while True:
            try:
                self.read_books()
            except InvalidRequest:
                if monotonic() > deadline:
                    raise
                time.sleep(_POLL_INTERVAL)
            else:
                return


def _run(name: str, command: Command) -> None:
    """Run a command or call a function.

    Raises:
        InvalidRequest: The command cannot be run, or does not exit with 0.
    """
    if callable(command):
        command()
        return
    arguments = shlex.split(command) if isinstance(command, str) else list(command)
    try:
        code = subprocess.run(arguments, check=False, timeout=_START_SECONDS).returncode
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidRequest(f"{name}: {visible(arguments[0], 100)}: {type(error).__name__}", of="explore") from None
    if code:
        raise InvalidRequest(f"{name}: {visible(shlex.join(arguments), 200)} ended with {code}", of="explore")


class HttpUniverse(Universe):
    """One run of an application behind HTTP."""

    def __init__(self, http: HttpApplication, sandbox: Sandbox, *given: object, **options: Any) -> None:
        super().__init__(lambda _: http, sandbox, *given, **options, key=http.key, fork=http.reset is not None)
        self._http = http
        self._batch: list[Delivery] = []
        self._failed_calls = 0
        self._unknown: list[object] = []

    def run(self) -> "HttpUniverse":
        """Run the universe to its end. Serve the sandbox if the application calls it."""
        with ExitStack() as stack:
            if self._http.api_port is not None:
                port = self._http.api_port
                stack.enter_context(http_server.serving(self._serve, port=port, max_body=MAX_BODY, refusal=refused))
                kind: Any = tuple(_CALLS)[self._decide("call of the application", len(_CALLS), 0.5)]
                if kind:
                    self.sandbox.add_fault(kind=kind, of="simulate_refund", times=1)
                    self.add_line("call", f"the first refund of the application will be {_CALLS[kind]}")
            self._http.empty()
            super().run()
        return self

    def _serve(self, url: str) -> Handler:
        """Return a handler that answers and records the application's calls."""
        handle = internals(self.sandbox).http_app(url).handle

        async def answer(request: Request) -> Response:
            response = await handle(request)
            operation = internals(self.sandbox).engine.service.operation_of(request)
            if operation is not None:
                fault = _CALLS[response.fault or ""]
                self.add_line("call", f"{operation.name}{what(request.body)}: {fault or f'answered {response.status}'}")
                self.counts[f"calls {fault}" if fault else "calls"] += 1
                self._count_call(operation.name, request.path, request.body, response.status, response.headers)
                self._failed_calls += bool(fault)
            return response

        return answer

    def _deliver(self, delivery: Delivery) -> None:
        """Add a delivery to the next batch."""
        delivery.attempts += 1
        if not self._batch:
            self.after(_TOGETHER, self._send)
        self._batch.append(delivery)

    def _send(self) -> None:
        """Send a batch of deliveries in parallel. If a decision says so, kill the process meanwhile."""
        batch, self._batch = self._batch, []
        self._http.tell_time(self.wall)
        if self._http.clock is None:
            self.counts["deliveries at the machine's time, which is not simulated"] += len(batch)
        crash = f"crash in delivery of {batch[0].name}"
        killed = self._decide(crash, len(_KILLED_AFTER), 0.25) if self._http.kill else 0
        with ThreadPoolExecutor(len(batch)) as pool:
            sent = [pool.submit(self._http.receive, delivery) for delivery in batch]
            if killed:
                time.sleep(_KILLED_AFTER[killed])
                self._http.crash()
            statuses = [delivery.result() for delivery in sent]
        together = f", {len(batch)} at the same time" if len(batch) > 1 else ""
        self.counts["deliveries at the same time" if together else "deliveries one at a time"] += len(batch)
        for delivery, status in zip(batch, statuses, strict=True):
            attempt = "" if delivery.attempts == 1 else f", attempt {delivery.attempts}"
            self.add_line("delivery", f"{delivery.text}{attempt}{together}")
            self._answered(self._process, delivery, status or "no response", attempt)
            if delivery.kind != "forged":
                self.after(0, lambda delivery=delivery: self._check(delivery))  # type: ignore[misc]
        if killed:
            self._restart("inside a delivery", f"{_KILLED_AFTER[killed] * 1000:g} ms after these deliveries were sent")

    def unknown_outcomes(self) -> list[str]:
        """Return the calls that the application reported as having an unknown outcome."""
        return [visible(json.dumps(call), 200) for call in self._unknown]

    def kill_between(self, what: str) -> None:
        """Kill the process between two deliveries and start it again, if a decision says so."""
        if self._http.kill and self._decide(f"crash {what}", 2, 0.1):
            self._http.crash()
            self._restart("between deliveries", what)

    def _restart(self, where: str, when: str) -> None:
        self.counts[f"crashes {where}"] += 1
        self.add_line("crash", f"the process was killed {when}")
        self._http.boot()

    def _books_at_start(self, process: Process) -> Books:
        """Return the books after the reset. Without a reset, the books may include earlier universes."""
        return self._http.read_books() if self._http.reset is not None else {}

    def _finish(self) -> None:
        """Read the books of this universe once they agree with the service, or after `patience` seconds."""
        deadline = monotonic() + self._http.patience
        while True:
            books, self._unknown = self._http.read_books(), self._http.read_unknown()
            # without a reset, the books may include transactions of earlier universes
            ours = {*books} if self._http.reset is not None else {*self.names, *self.service}
            self.books = {name: cents for name, cents in books.items() if cents and name in ours}
            agree = not [*unequal(self.books, self.service)]
            waiting = self._failed_calls and self._http.unknown is None  # the application may retry a call
            if (agree and not self._unknown and not waiting) or monotonic() > deadline:
                return
            time.sleep(_POLL_INTERVAL)
            self.collect()
            while self._agenda:  # send the deliveries that the latest calls caused
                self._next()
