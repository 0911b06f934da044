"""HTTP server for this machine, with limits on size, time and host names. One function answers all requests.

A response states how it is sent (delayed, truncated, slow, not at all), so that a sandbox can simulate faults.
"""

import asyncio
import errno
import logging
import os
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from workbench.base.arguments import check_host_names
from workbench.base.errors import Problem, UnusableFile, UsageError, WorkbenchError, advise, visible
from workbench.base.system.messages import BROKEN, LOOPBACK, Request, Response
from workbench.base.system.seconds import monotonic

MAX_HEAD = 16 * 1024  # maximum bytes of the request line and all headers
MAX_HEADERS = 100
MAX_BODIES = 32 * 2**20
"""Maximum total size of the bodies being received, in bytes. Further requests are refused with 503."""
HEAD_TIMEOUT = 10.0  # maximum seconds to receive the head of a request
BODY_TIMEOUT = 20.0  # maximum seconds to receive the body of a request
_PART = 2**18  # bytes per read of a file
# headers that offer another protocol; the `Connection` header lists them too
_OFFER = frozenset({b"upgrade", b"http2-settings"})
_MIN_SLEEP = 0.001  # shortest wait of an event loop, in seconds

log = logging.getLogger("workbench.http_server")
_SILENT = logging.NullHandler()


Handler = Callable[[Request], Response | Awaitable[Response]]
RefusalHandler = Callable[[int, str], Response]
"""Function that builds the response to a request that never reaches the handler, from status and reason."""


class PortTaken(WorkbenchError):
    """The port is in use, so no server was started."""


def bare(status: int, reason: str) -> Response:
    """Return a response with the standard phrase of its status as the body."""
    return Response(status=status, headers={"content-type": "text/plain"}, body=HTTPStatus(status).phrase.encode())


class _Refused(Exception):
    """Status and reason of a request that never reaches the handler."""


class _App:
    """The ASGI application around a handler."""

    def __init__(
        self,
        handler: Handler,
        refusal: RefusalHandler,
        hosts: frozenset[str],
        max_body: int,
        any_host: Collection[str] = (),
    ) -> None:
        self.refusal = refusal
        self._handler = handler
        self._hosts = hosts
        self._any_host = any_host
        self._max_body = max_body
        self._received = 0  # bytes of incomplete bodies in memory

    async def __call__(self, scope: Any, receive: Any, send: object) -> None:
        try:
            await self._answer(scope, receive, send)
        except asyncio.CancelledError:  # the server is stopping; the outcome is unknown, so no response is sent
            scope["extensions"]["transport"].abort()
            with suppress(asyncio.CancelledError):  # the event loop may have ended meanwhile
                while (await receive())["type"] != "http.disconnect":
                    pass

    async def _answer(self, scope: object, receive: object, send: object) -> None:
        early: Response | None = None
        try:
            request = await self._read(scope, receive)
            if request is None:
                return
            answer = self._handler(request)
            response = answer if isinstance(answer, Response) else await answer
        except _Refused as refused:
            early = self.refusal(*refused.args)
        except Exception as error:  # noqa: BLE001 - every request gets a response
            # A traceback is not logged, since it could contain parts of the request.
            log.error("a request failed with %s", type(error).__name__)
            response = self.refusal(500, "Internal server error")
        if early is not None:  # sent only after the exception is released, because its frames hold the received bytes
            await _send_early(early, receive, send)
            return
        await _send(response, scope, send)

    async def _read(self, scope: Any, receive: object) -> Request | None:
        """Return the request with its body, or None if the client closed the connection."""
        sent = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        size = len(scope["raw_path"]) + sum([len(name) + len(value) + 4 for name, value in sent])
        if len(sent) > MAX_HEADERS or size > MAX_HEAD:
            raise _Refused(431, "The headers are too large")
        headers: dict[str, str] = {}
        for name, value in sent:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        hosts = [host_name(value) for name, value in sent if name == "host"]
        if len(hosts) != 1:
            raise _Refused(400, "Exactly one Host header is required")
        target = scope["extensions"]["target"].decode("latin-1")
        if target[:1] != "/" and host_name(target.partition("://")[2].partition("/")[0]) != hosts[0]:
            raise _Refused(400, "The request target must be a path, or name the host of the Host header")
        path = scope["raw_path"].decode("latin-1")
        if hosts[0] not in self._hosts and path not in self._any_host:
            raise _Refused(421, f"{visible(hosts[0], 60) or 'An empty name'} is not a host name of this server")
        body = await self._read_body(headers, receive)
        if body is None:
            return None
        return Request(
            scope["method"],
            path,
            scope["query_string"].decode("latin-1"),
            headers,
            body,
            local=hosts[0] in LOOPBACK,
            peer=(scope.get("client") or ("",))[0],
        )

    async def _read_body(self, headers: Mapping[str, str], receive: Any) -> bytes | None:
        length = headers.get("content-length", "0")
        if length == "0" and "transfer-encoding" not in headers:
            return b""
        body, more = bytearray(), True
        try:
            while more:
                if int(length) > self._max_body or len(body) > self._max_body:
                    raise _Refused(413, f"The body is larger than {self._max_body:,} bytes")
                if self._received > MAX_BODIES:
                    raise _Refused(503, "Too many requests are being received")
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                body += message["body"]
                self._received += len(message["body"])
                more = message["more_body"]
                del message  # otherwise the message would stay in memory until the next message arrives
            if "transfer-encoding" not in headers and len(body) != int(length):
                raise _Refused(400, "The body is shorter than announced")
            return bytes(body)
        finally:
            self._received -= len(body)


async def _send(response: Response, scope: Any, send: Any) -> None:
    if response.seconds and response.manner != "slow_body":
        await asyncio.sleep(response.seconds)
    if response.manner in BROKEN:
        transport = scope["extensions"]["transport"]
        if response.manner in {"refused", "reset"}:  # with zero linger time, closing the socket resets the connection
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
        return
    await send(_start(response))
    if response.manner == "cut":  # if the application returns in the middle of a body, uvicorn closes the connection
        await send({"type": "http.response.body", "body": response.body[: len(response.body) // 2], "more_body": True})
    elif response.manner == "slow_body":
        await _send_slowly(response, send)
    elif response.file is not None:
        await _send_file(response.file, scope, send)
    else:
        await send({"type": "http.response.body", "body": response.body})


def _start(response: Response, *more: tuple[bytes, bytes]) -> dict[str, Any]:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers.items()]
    if response.status not in (204, 304):
        size = len(response.body) if response.file is None else response.file.stat().st_size
        headers.append((b"content-length", b"%d" % size))
    return {"type": "http.response.start", "status": response.status, "headers": [*headers, *more]}


async def _send_file(file: Path, scope: Any, send: Any) -> None:
    """Send a file in parts. Close the connection if the client does not accept a part in time."""
    with file.open("rb") as content:
        try:
            while part := await asyncio.to_thread(content.read, _PART):
                async with asyncio.timeout(BODY_TIMEOUT):
                    await send({"type": "http.response.body", "body": part, "more_body": True})
        except TimeoutError:
            scope["extensions"]["transport"].abort()
            return
    await send({"type": "http.response.body", "body": b""})


async def _send_early(response: Response, receive: Any, send: Any) -> None:
    """Send a response before the request is complete. Close the connection only after the request has ended.

    If the connection were closed earlier, the response could be lost.
    """
    await send(_start(response, (b"connection", b"close")))
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.body"})


async def _send_slowly(response: Response, send: Any) -> None:
    """Send the body byte by byte on a schedule, because pauses below the event loop's resolution would be lost."""
    began = monotonic()
    for i in range(len(response.body)):
        await send({"type": "http.response.body", "body": response.body[i : i + 1], "more_body": True})
        ahead = began + response.seconds * (i + 1) / len(response.body) - monotonic()
        await asyncio.sleep(ahead if ahead >= _MIN_SLEEP else 0)
    left = began + response.seconds - monotonic()
    if left > 0:
        await asyncio.sleep(left + 2 * _MIN_SLEEP)  # a sleep may end up to two clock ticks early
    await send({"type": "http.response.body", "body": b""})


class _Parser:
    """Parser of requests that ignores an offer to change the protocol (`Upgrade: h2c`), as RFC 9110 section 7.8 allows.

    httptools ends a request with such an offer after its head. The body would be lost, or read as the next request.
    This parser therefore parses the head again without the offer.
    """

    def __init__(self, protocol: HttpToolsProtocol) -> None:
        self._protocol = protocol
        self._begin()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def _begin(self) -> None:
        self._parser = httptools.HttpRequestParser(self._protocol)
        # As in uvicorn, data after the last request of a connection is accepted.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)

    def feed_data(self, data: bytes) -> None:
        """Parse received bytes.

        Raises:
            httptools.HttpParserError: The bytes are not a request, or ask for a tunnel.
        """
        while data:
            try:
                self._parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as offer:
                data = self._head_without_offer() + data[offer.args[0] :]
                self._begin()

    def _head_without_offer(self) -> bytes:
        method = self._parser.get_method()
        if method == b"CONNECT":
            raise httptools.HttpParserError("a request for a tunnel")
        version = self._parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (method, self._protocol.url, version)]
        for name, value in self._protocol.headers:
            if name == b"connection":
                options = [option for option in value.split(b",") if option.strip().lower() not in _OFFER]
                lines.append(b"connection: " + b",".join(options))
            elif name not in _OFFER:
                lines.append(name + b": " + value)
        return b"\r\n".join([*lines, b"", b""])


class _LimitedProtocol(HttpToolsProtocol):
    """HTTP protocol with limits that uvicorn lacks: on the time of a request and the size of its headers."""

    _part: str | None = "head"  # the part of a request that is being received
    _timed: str | None = None  # the part whose timer runs
    _timer: asyncio.TimerHandle | None = None
    _head = 0  # lower bound of the number of head bytes received so far
    _chunk = 0  # number of bytes in the latest chunk
    _ended = False  # whether the client closed its side
    # refusal of a pipelined request; it waits until the earlier request is answered
    _refusal: tuple[int, str] | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.logger = log
        self.parser = _Parser(self)  # type: ignore[assignment]
        self._set_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._part = None
        self._set_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            return
        self._chunk = len(data)
        super().data_received(data)
        if self._part == "head":
            self._head += len(data)
            if self._head > MAX_HEAD:
                self._refuse(431, "The headers are too large")
        if self._part != self._timed:
            self._set_timer()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return True if a client that closed its side still gets a response, because its request is complete."""
        self._ended = True
        answered = getattr(self.cycle, "response_complete", True)  # before the first request, the protocol has no cycle
        return self._part is None and not answered and self.scheme == "http"

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {"transport": self.transport}  # type: ignore[dict-item]
        self._part = "head"
        # The head may start at any byte of this chunk: count one byte. `data_received` adds the chunk's length.
        self._head = 1 - self._chunk

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():  # the head is parsed again without the offer to upgrade
            return
        self.scope["extensions"]["target"] = self.url  # type: ignore[assignment]
        super().on_headers_complete()
        self._part = "body"

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        super().on_message_complete()
        self._part = None

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._refusal is not None:
            self._refuse(*self._refusal)
        if self._ended and self.cycle.response_complete:
            self.transport.close()  # the client can send no more requests

    def shutdown(self) -> None:
        super().shutdown()
        if self.scheme == "https" and self.transport.is_closing():
            self.transport.abort()  # an idle client may not answer the TLS shutdown

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "Not an HTTP request")

    def _refuse(self, status: int, reason: str) -> None:
        """Refuse the request that is being received, after the responses to earlier requests."""
        app: Any = self.app
        if self.transport.is_closing():
            return
        # before the first request, the protocol has no cycle
        answering = not getattr(self.cycle, "response_complete", True)
        if self.pipeline or (answering and self._part != "body"):
            self._refusal = status, reason
            return
        response = app.refusal(status, reason)
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"content-length: {len(response.body)}"]
        lines += [f"{name}: {value}" for name, value in response.headers.items()]
        self.transport.write("\r\n".join([*lines, "connection: close", "", ""]).encode("latin-1") + response.body)
        self.transport.close()

    def _set_timer(self) -> None:
        """Restart the timer for the part of the request that is being received."""
        if self._timer is not None:
            self._timer.cancel()
        seconds = HEAD_TIMEOUT if self._part == "head" else BODY_TIMEOUT
        self._timer = self.loop.call_later(seconds, self._on_timeout) if self._part else None
        self._timed = self._part

    def _on_timeout(self) -> None:
        silent = self._part == "head" and not self._head
        if silent or (self._part == "body" and self.cycle.response_started):
            self.transport.close()
        else:
            self._refuse(408, f"The {self._part} of the request was not received in time")


def host_name(header: str) -> str:
    """Return the name in a Host header, in lower case and without the port."""
    name, colon, port = header.strip().rpartition(":")
    return (name if colon and port.isascii() and port.isdigit() else header.strip()).lower()


def served_names(host: str, hosts: Collection[str]) -> frozenset[str]:
    """Return the host names that a server at an address accepts: the names in `hosts` and the address.

    Raises:
        UsageError: The address is a wildcard, and no name is given. Or a name in `hosts` is not a host name.
    """
    check_host_names("hosts", hosts)
    if host in {"0.0.0.0", "::", "[::]"}:  # noqa: S104 - compared
        if not hosts:
            raise UsageError(f"{host} means every address of this machine: pass the host names that clients use.")
        host = ""
    own = LOOPBACK if host in LOOPBACK else {host} - {""}
    return frozenset(name.lower() for name in (*own, *hosts))


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket. Port 0 takes any free port.

    Raises:
        PortTaken: The port is in use, or the address does not belong to this machine.
        UsageError: The port is not a port number.
    """
    if type(port) is not int or not 0 <= port <= 65535:
        raise UsageError([Problem("port", "maximum", "must be a whole number from 0 to 65535")])
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the protocol is explicitly IPPROTO_TCP
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # SO_REUSEPORT is not set, because two servers on one port would share its requests.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
        listening.listen(512)
    except OSError as error:
        listening.close()
        is_port = error.errno in {errno.EADDRINUSE, errno.EACCES}
        choice = "another port, or 0 for any free one" if is_port else "an address of this machine, such as 127.0.0.1"
        raise PortTaken(f"Port {port} on {host} cannot be used: {error.strerror}. Choose {choice}.") from None
    return listening


def running(handler: Handler, **options: Any) -> AbstractContextManager[str]:
    """Serve a handler that does not need its URL. The arguments are the same as for `serving`."""
    return serving(lambda _: handler, **options)


@contextmanager
def serving(
    make_handler: Callable[[str], Handler],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    hosts: Collection[str] = (),
    any_host: Collection[str] = (),
    max_body: int = 2**20,
    refusal: RefusalHandler = bare,
    certfile: str | os.PathLike[str] | None = None,
    keyfile: str | os.PathLike[str] | None = None,
    private: str = "",
) -> Iterator[str]:
    """Serve a handler in a thread within a `with` block, and yield the base URL.

    Args:
        make_handler: Function that returns the handler for the base URL.
        host: Address to listen on.
        hosts: Further accepted host names. The base URL contains the first, unless `host` is a loopback address.
        any_host: Paths that are answered for any host name.
        max_body: Maximum request body in bytes.
        refusal: Function that builds the response to a request that exceeds a limit.
        certfile: Certificate for TLS.
        keyfile: Private key of the certificate, if `certfile` does not contain it.
        private: Data that could be read in transit without TLS, as text for a warning; default: no warning.

    Raises:
        PortTaken: The port is in use.
        UnusableFile: The certificate or its key cannot be used.
        UsageError: The address is a wildcard, and no host name is given.
    """
    if keyfile is not None and certfile is None:
        raise UsageError([Problem("keyfile", "required", "needs a certificate, certfile")])
    names = served_names(host, hosts)
    logging.getLogger("uvicorn").addHandler(_SILENT)  # without a handler, Python would print uvicorn's warnings
    with closing(bind(host, port)) as listening:
        address, port = listening.getsockname()[:2]
        named = address if host in LOOPBACK else next(iter(hosts), address)
        named = f"[{named}]" if ":" in named else named
        url = f"{'http' if certfile is None else 'https'}://{named}:{port}"
        if private and certfile is None and host not in LOOPBACK:
            advise(
                f"{url} is open to other machines without TLS: {private} can be read in transit. Pass a certificate."
            )
        config = uvicorn.Config(
            _App(make_handler(url), refusal, names, max_body, any_host),
            http=_LimitedProtocol,
            ws="none",
            lifespan="off",
            loop="auto",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=1,
            interface="asgi3",
            ssl_certfile=certfile,
            ssl_keyfile=keyfile,
        )
        try:
            config.load()
        except OSError as error:
            why = error.strerror or error
            raise UnusableFile(f"cannot use certificate {certfile} with key {keyfile or certfile}: {why}") from None
        server = uvicorn.Server(config)
        # The backlog holds connections until the thread runs, so no connection is refused.
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listening]}, name="workbench-http-server", daemon=True
        )
        thread.start()
        try:
            yield url
        finally:
            server.should_exit = True
            thread.join(10)
