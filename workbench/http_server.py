"""An HTTP door on this machine's own address: a well-kept server, with what a stranger may send kept small.

The application is one function from a request to an answer. Head, body, time and host are limited before it is asked;
how an answer is given (late, cut, dripping, not at all) is data of the answer, so that a sandbox can fail on purpose.
"""

import asyncio
import logging
import socket
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any

import attrs
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from workbench.errors import WorkbenchError

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})
_HEAD = 16 * 1024  # bytes of request line and headers
_FIELDS = 100  # headers
_LARGE = "The headers are too large"
_SECONDS_HEAD = 10.0
_SECONDS_BODY = 20.0
_SECONDS_LOOK = 0.002  # between looks at whether the last answers are given
_TICK = 0.001  # seconds: a loop may wait no shorter than that
_SECONDS_DRAIN = 3.0  # a sender that was answered early may still be sending

log = logging.getLogger("workbench.http_server")
_SILENT = logging.NullHandler()


@attrs.frozen(kw_only=True, repr=False)
class Heard:
    """A request, read whole. Header names are lower case."""

    method: str
    target: str  # path as it came, percent escapes and all
    query: bytes
    headers: tuple[tuple[str, str], ...]
    body: bytes
    local: bool  # whether it was addressed to this machine's own names
    alone: bool = True  # whether no other request was being answered when it was read

    def header(self, name: str) -> str | None:
        """Return the value of a header, None where it is absent."""
        return next((value for known, value in self.headers if known == name), None)

    def __repr__(self) -> str:
        return f"<{self.method} with {len(self.body):,} bytes>"


@attrs.frozen(kw_only=True)
class Said:
    """An answer, and how it is given."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    seconds: float = 0.0  # wait before answering, or while dripping
    manner: str = "whole"  # "reset", "closed": no answer; "cut": half the body; "drip": a byte at a time


Answer = Callable[[Heard], Said | Awaitable[Said]]
Refusal = Callable[[int, str], Said]
"""Gives the answer for what is refused before the application is asked: status and reason."""


class PortTaken(WorkbenchError):
    """The port is in use; nothing was started."""


def bare(status: int, reason: str) -> Said:
    """Return an answer that says no more than its status."""
    return Said(status=status, headers=(("content-type", "text/plain"),), body=HTTPStatus(status).phrase.encode())


class _Refused(Exception):
    """A request refused before the application is asked. It never leaves this module."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        self.reason = reason
        super().__init__(reason)


class _Door:
    """The ASGI application around an answering function."""

    def __init__(self, answer: Answer, refusal: Refusal, hosts: Collection[str], max_body: int) -> None:
        self.answer = answer
        self.refusal = refusal
        self.hosts = frozenset(hosts)
        self.max_body = max_body

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        try:
            heard = await self._hear(scope, receive)
            if heard is None:
                return
            made = self.answer(heard)
            said = made if isinstance(made, Said) else await made
        except _Refused as refused:
            said = self.refusal(refused.status, refused.reason)
        except Exception as error:  # noqa: BLE001 - whatever it was, the connection gets an answer
            # No traceback: it could hold what was sent.
            log.error("an answer failed with %s", type(error).__name__)
            said = self.refusal(500, "Internal server error")
        await _give(said, scope, send)

    async def _hear(self, scope: Any, receive: Any) -> Heard | None:
        headers = tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]])
        hosts = [value for name, value in headers if name == "host"]
        if len(hosts) != 1:
            raise _Refused(400, "One Host header is needed")
        local = host_name(hosts[0]) in LOOPBACK
        if not local and host_name(hosts[0]) not in self.hosts:
            raise _Refused(421, "This host is not served here")
        lengths = [value for name, value in headers if name == "content-length"]
        if lengths and lengths[0].isdigit() and int(lengths[0][:20]) > self.max_body:
            raise _Refused(413, f"The body is larger than {self.max_body:,} bytes")
        connection = scope["extensions"]["connection"]
        body = b""
        if lengths or any(name == "transfer-encoding" for name, _ in headers):
            taken = await (self._body if connection.whole else self._body_in_time)(receive)
            if taken is None:
                return None
            body = taken
        return Heard(
            method=scope["method"], target=scope["raw_path"].decode("latin-1"), query=scope["query_string"],
            headers=headers, body=body, local=local, alone=len(connection.tasks) <= 1,
        )  # fmt: skip

    async def _body_in_time(self, receive: Any) -> bytes | None:
        try:
            async with asyncio.timeout(_SECONDS_BODY):
                return await self._body(receive)
        except TimeoutError:
            raise _Refused(408, "The body did not come in time") from None

    async def _body(self, receive: Any) -> bytes | None:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self.max_body:
                raise _Refused(413, f"The body is larger than {self.max_body:,} bytes")
            if not message.get("more_body"):
                return bytes(body)


async def _give(said: Said, scope: Any, send: Any) -> None:
    if said.seconds and said.manner != "drip":
        await asyncio.sleep(said.seconds)
    transport = scope["extensions"]["connection"].transport
    if said.manner in {"reset", "closed"}:
        if said.manner == "reset":
            # A linger of nothing makes the close a reset.
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
        return
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in said.headers]
    if said.status not in (204, 304):
        headers.append((b"content-length", str(len(said.body)).encode()))
    if said.status == HTTPStatus.REQUEST_TIMEOUT:
        headers.append((b"connection", b"close"))
    if said.manner == "whole":
        transport.hold()
    await send({"type": "http.response.start", "status": said.status, "headers": headers})
    if said.manner == "cut":
        await send({"type": "http.response.body", "body": said.body[: len(said.body) // 2], "more_body": True})
        transport.close()
        return
    if said.manner == "drip":
        await _drip(said, send)
    await send({"type": "http.response.body", "body": b"" if said.manner == "drip" else said.body})
    transport.release()


async def _drip(said: Said, send: Any) -> None:
    """Send a byte at a time, each when its time has come: pauses shorter than a tick of the loop would be none."""
    began = time.monotonic()  # a loop's own clock may stand still between its turns
    for i in range(len(said.body)):
        await send({"type": "http.response.body", "body": said.body[i : i + 1], "more_body": True})
        ahead = began + said.seconds * (i + 1) / len(said.body) - time.monotonic()
        await asyncio.sleep(ahead if ahead >= _TICK else 0)
    left = began + said.seconds - time.monotonic()
    if left > 0:
        await asyncio.sleep(left + 2 * _TICK)  # it may end two ticks early


class _Joining:
    """A transport that sends what is held back in one piece: head and body apart cost both sides a turn each."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._held: list[bytes] | None = None

    def hold(self) -> None:
        """Hold back what is written from now on."""
        self._held = []

    def release(self) -> None:
        """Send what was held back."""
        held, self._held = self._held, None
        if held:
            self._transport.write(b"".join(held))

    def write(self, data: bytes) -> None:
        """Send, or hold back."""
        if self._held is None:
            self._transport.write(data)
        else:
            self._held.append(data)

    def close(self) -> None:
        """Send what was held back, and close."""
        self.release()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Guarded(HttpToolsProtocol):
    """A connection that gives up on heads that are too large or too slow."""

    refusal: Refusal = staticmethod(bare)
    _head = 0  # bytes of a head that has not ended yet
    _size = 0  # bytes of its headers
    _too_large = False
    _in_head = False
    whole = True  # whether the request has come to its end
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(_Joining(transport))  # type: ignore[arg-type]
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head += len(data)
            if self._head > _HEAD:
                self._refuse(431, _LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.whole = False
        self._in_head = True
        self._head = self._size = 0
        self.scope["extensions"] = {"connection": self}  # type: ignore[dict-item]
        if self._timer is None:
            self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._size += len(name) + len(value) + 4
        self._too_large = len(self.headers) > _FIELDS or self._size + len(self.url) > _HEAD
        if self._too_large:
            raise _Refused(431, _LARGE)  # the parser ends here, and asks for `send_400_response`

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.whole = True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.whole and not self.transport.is_closing():
            self.loop.call_later(_SECONDS_DRAIN, self._end_drain)  # a close now would lose the answer on its way

    def _end_drain(self) -> None:
        if not self.whole:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser could not take: headers that are too large, or no HTTP at all."""
        if self._too_large:
            self._refuse(431, _LARGE)
        else:
            self._refuse(400, "Not an HTTP request")

    def _refuse(self, status: int, reason: str) -> None:
        said = self.refusal(status, reason)
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"content-length: {len(said.body)}"]
        lines += [f"{name}: {value}" for name, value in said.headers]
        self.transport.write("\r\n".join([*lines, "connection: close", "", ""]).encode("latin-1") + said.body)
        self.transport.close()

    def _expect_head(self) -> None:
        self._timer = self.loop.call_later(_SECONDS_HEAD, self._too_slow)

    def _too_slow(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self._in_head:
            self._refuse(408, "The headers did not come in time")
        else:
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def host_name(header: str) -> str:
    """Return the name in a Host header, in lower case, without its port."""
    name, colon, port = header.strip().rpartition(":")
    return (name if colon and port.isdigit() else header.strip()).lower()


def bound(host: str, port: int, otherwise_free: bool = False) -> socket.socket:
    """Return a listening socket.

    Args:
        otherwise_free: Take any free port where this one is in use.

    Raises:
        PortTaken: The port is in use, or the address is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for attempt in (port, 0) if otherwise_free and port else (port,):
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # said, so that answers are not held back
        # Never SO_REUSEPORT: two servers on one port would share its requests.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host.strip("[]"), attempt))
            made.listen(512)
            return made
        except OSError as error:
            made.close()
            reason = error.strerror
    raise PortTaken(f"Port {port} of {host} cannot be used: {reason}.")


def url_of(listening: socket.socket) -> str:
    """Return the base URL of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """Ends as soon as it is told to and what it was answering is answered; uvicorn looks ten times a second."""

    _ending: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def end(self) -> None:
        """Tell it to end, from any thread."""
        self.should_exit = True
        if self._ending is not None:
            loop, told = self._ending
            with suppress(RuntimeError):  # it has ended, and its loop is closed
                loop.call_soon_threadsafe(told.set)

    async def main_loop(self) -> None:
        """Wait until it is told."""
        told = asyncio.Event()
        self._ending = asyncio.get_running_loop(), told
        if not await self.on_tick(0):
            await told.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close what is idle; give the rest its time."""
        for listening in self.servers:
            listening.close()
        state = self.server_state
        for connection in tuple(state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while state.connections or state.tasks:  # noqa: ASYNC110 - nobody is told when they are empty
                    await asyncio.sleep(_SECONDS_LOOK)
        except TimeoutError:
            for task in state.tasks:
                task.cancel()


def server(answer: Answer, *, hosts: Collection[str] = (), max_body: int = 2**20, refusal: Refusal = bare) -> _Server:
    """Return a server of an answering function; `run(sockets=[…])` blocks until `end` is called.

    Args:
        hosts: Names besides this machine's own under which it may be addressed.
    """
    logging.getLogger("uvicorn").addHandler(_SILENT)  # without a handler, its warnings would be printed
    protocol = type("_GuardedDoor", (_Guarded,), {"refusal": staticmethod(refusal)})
    config = uvicorn.Config(
        _Door(answer, refusal, hosts, max_body), http=protocol, ws="none", lifespan="off", loop="auto",
        log_config=None, access_log=False, server_header=False, date_header=False, proxy_headers=False,
        timeout_keep_alive=30, timeout_graceful_shutdown=2, interface="asgi3",
    )  # fmt: skip
    return _Server(config)


@contextmanager
def running(
    answer: Answer, *, host: str = "127.0.0.1", port: int = 0, listening: socket.socket | None = None, **how: Any
) -> Iterator[str]:
    """Serve in a thread, and give the base URL."""
    listening = listening or bound(host, port)
    url = url_of(listening)  # connections wait in the backlog until the thread is up, so none is refused
    made = server(answer, **how)
    thread = threading.Thread(target=made.run, kwargs={"sockets": [listening]}, name="workbench-loopback", daemon=True)
    thread.start()
    try:
        yield url
    finally:
        made.end()
        thread.join(10)
        listening.close()
