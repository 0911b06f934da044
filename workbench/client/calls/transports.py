"""Network layer of the clients, imported by the first call. Only this module of the clients imports httpx and httpcore.

httpx's transports get httpcore pools with deadlines, and trace the progress of each request. They follow no redirects,
read no environment variables, store no cookies and log no queries.
"""

import asyncio
import os
import re
import ssl
import weakref
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

import httpcore
import httpx

from workbench.base.errors import visible
from workbench.base.frozen import frozen
from workbench.base.system.private import replace_pool
from workbench.base.system.seconds import monotonic
from workbench.client.calls.messages import CAP, WRITTEN, Broken, HttpRequest, HttpResponse
from workbench.client.calls.options import HttpOptions
from workbench.client.calls.proxies import Proxy


class RequestTrace:
    """Trace hook that records when the writing of a request's headers begins and ends. Nothing is sent earlier."""

    __slots__ = ("_connecting", "_request")

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._connecting = False  # whether a CONNECT request to a proxy is in progress

    def __call__(self, event: str, info: Any) -> None:
        if "send_request_headers" not in event:
            return
        started = event.endswith("started")
        if started:
            self._connecting = info["request"].method == b"CONNECT"
        if not self._connecting and (started or event.endswith("complete")):
            self._request.phase = 1 if started else WRITTEN

    async def awaited(self, event: str, info: object) -> None:
        """Record an event of an asynchronous transport."""
        self(event, info)


class _Seconds(float):
    """Timeout of one step, as passed through httpcore. `until` is the call's deadline by the monotonic clock."""

    until: float

    def left(self) -> float:
        """Return the seconds left for the step.

        Raises:
            httpcore.ReadTimeout: No time is left.
        """
        left = self.until - monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout
        return min(left, self)


def _left(timeout: float | None) -> float | None:
    return timeout.left() if isinstance(timeout, _Seconds) else timeout


class TimelyStream(httpcore.NetworkStream):
    """Stream whose steps all time out at the call's deadline. The set `opened` contains the stream until it closes."""

    def __init__(self, inner: httpcore.NetworkStream, opened: "set[TimelyStream]") -> None:
        self._inner, self._opened = inner, opened
        self.get_extra_info = inner.get_extra_info  # type: ignore[method-assign]
        opened.add(self)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left(timeout))

    def close(self) -> None:
        self._opened.discard(self)
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        self._opened.discard(self)  # the inner stream now owns the socket, or has closed it
        return TimelyStream(self._inner.start_tls(ssl_context, server_hostname, _left(timeout)), self._opened)


class TimelyBackend(httpcore.SyncBackend):
    """Network backend with one deadline for the entire call.

    httpx applies timeouts to each read, so a server that sends single bytes would never time out.
    """

    def __init__(self) -> None:
        self.opened: set[TimelyStream] = set()

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *args: Any, **how: Any
    ) -> httpcore.NetworkStream:
        """Open a stream that times out at the call's deadline."""
        return TimelyStream(super().connect_tcp(host, port, _left(timeout), *args, **how), self.opened)


def is_replaced() -> bool:
    """Return whether a mocking tool, such as respx, pytest-httpx or vcrpy, answers in place of the network."""
    senders = (
        (httpx, httpx.HTTPTransport.handle_request),
        (httpx, httpx.AsyncHTTPTransport.handle_async_request),
        (httpcore, httpcore.ConnectionPool.handle_request),
        (httpcore, httpcore.AsyncConnectionPool.handle_async_request),
    )
    return any(not _is_of(library, send) for library, send in senders)


def _is_of(library: ModuleType, function: object) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and str(code.co_filename).startswith(os.path.dirname(str(library.__file__)))  # noqa: PTH120


def _close_all(opened: set[TimelyStream]) -> None:
    """Close streams without the pool, whose lock a thread may have held when the process forked."""
    while opened:
        opened.pop().close()


def _pool_options(context: ssl.SSLContext, http: HttpOptions, proxy: Proxy | None) -> dict[str, Any]:
    options = {"ssl_context": context, "http2": http.http2, "keepalive_expiry": http.keepalive_expiry}
    return options if proxy is None else {**options, "proxy_url": proxy.url, "proxy_auth": proxy.auth}


def _limits(http: HttpOptions) -> dict[str, int]:
    return {"max_connections": http.max_connections, "max_keepalive_connections": http.max_keepalive_connections}


class TimelyTransport(httpx.HTTPTransport):
    """Connections of a synchronous client. They are closed when the transport is garbage-collected.

    Only the pool differs from httpx's transport, so tools that replace httpx's transport see the calls.
    """

    def __init__(self, context: ssl.SSLContext, http: HttpOptions, proxy: Proxy | None) -> None:
        backend = TimelyBackend()
        options = {**_pool_options(context, http, proxy), **_limits(http), "network_backend": backend}
        replace_pool(self, httpcore.ConnectionPool(**options) if proxy is None else httpcore.HTTPProxy(**options))
        weakref.finalize(self, _close_all, backend.opened)


class AsyncTransport(httpx.AsyncHTTPTransport):
    """Connections of an asynchronous client. They are closed when it is garbage-collected or its event loop ends."""

    def __init__(self, context: ssl.SSLContext, http: HttpOptions, proxy: Proxy | None) -> None:
        options = {**_pool_options(context, http, proxy), **_limits(http)}
        pool = httpcore.AsyncConnectionPool(**options) if proxy is None else httpcore.AsyncHTTPProxy(**options)
        replace_pool(self, pool)
        _closed_with(self, pool)


async def _lifetime(pool: Any) -> AsyncGenerator[None, None]:
    """Close a pool when this generator is garbage-collected, or when its event loop ends and runs the cleanup."""
    try:
        yield
    finally:
        await pool.aclose()


def _closed_with(owner: object, pool: Any) -> None:
    held = [_lifetime(pool)]
    with suppress(StopIteration):
        anext(held[0]).send(None)  # registers the generator with the running event loop
    weakref.finalize(owner, held.clear).atexit = False  # at exit no event loop runs


@frozen
class _Meaning:
    """Meaning of a transport error: its text, and what it shows about the request."""

    text: str = "the connection failed"
    sent: bool = True  # whether the service may have received a byte of the request
    harmless: bool = False  # whether the error's own text is safe to show, because it has no header or body


_FAILURES: Mapping[str, _Meaning] = {
    "ConnectError": _Meaning("no connection", sent=False, harmless=True),
    "ConnectTimeout": _Meaning("no connection in time", sent=False, harmless=True),
    "PoolTimeout": _Meaning("no free connection in time", sent=False, harmless=True),
    "LocalProtocolError": _Meaning("the request cannot be written", sent=False),
    "UnsupportedProtocol": _Meaning(sent=False),
    "ProxyError": _Meaning("the proxy failed", sent=False),
    "ReadTimeout": _Meaning("no answer in time", harmless=True),
    "WriteTimeout": _Meaning("not written in time", harmless=True),
    "RemoteProtocolError": _Meaning("the connection ended before the end of the answer"),
    "ReadError": _Meaning("the connection was lost while waiting for the answer"),
    "WriteError": _Meaning("the connection was lost while sending"),
}
"""Transport errors by their class name, which httpx and httpcore share."""
_ERRORS = (
    httpx.TransportError, httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)  # fmt: skip
_FOREVER = float("inf")
_PACKED = 47  # value of `wbits` with which zlib detects the formats gzip and zlib


def _broken(failure: Exception, outgoing: HttpRequest) -> Broken:
    name = next((cls.__name__ for cls in type(failure).__mro__ if cls.__name__ in _FAILURES), "")
    meaning = _FAILURES.get(name, _Meaning())
    text = outgoing.clean(str(failure))
    message = f"{meaning.text}: {visible(text, 200)}" if name == "ConnectError" and text else meaning.text
    if name == "RemoteProtocolError" and not re.search("closed|disconnect|terminat|stream", text, re.IGNORECASE):
        message = "the answer is not valid HTTP"
    if name == "ProxyError" and (status := re.match(r"\d{3}\b", text)):
        advice = ": check its user and password" if status[0] == "407" else ""
        message = f"the proxy answered {status[0]}{advice}"
    return Broken(
        message,
        final=name == "ProxyError",  # more attempts could lock the proxy account
        left=not outgoing.surely_not_sent if meaning.sent else outgoing.phase >= WRITTEN,
        timeout="Timeout" in name,
        # a copy, because the original error refers to the request with its API key
        cause=getattr(httpx, name)(text) if meaning.harmless else None,
    )


class _TooLarge(Exception):
    """The body exceeded the size limit, so reading stopped."""


class _Incoming:
    """A response being received. The body is decompressed here, so that it never exceeds the size limit."""

    def __init__(self, outgoing: HttpRequest) -> None:
        self._outgoing = outgoing
        self._headers: dict[str, str] = {}
        self._unpack: Any = None
        self._parts: list[bytes] = []
        self._begun = b""  # compressed bytes received before the decompressor produced output
        self._left = CAP
        self._broken: Broken | None = None

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """Record the error that interrupts the response within a `with` block."""
        outgoing = self._outgoing
        try:
            yield
        except _ERRORS as failure:
            self._broken = _broken(failure, outgoing)
        except ssl.SSLError:  # a TLS alert after the handshake, which httpcore's async streams do not wrap
            self._broken = Broken(_FAILURES["ReadError"].text, left=not outgoing.surely_not_sent)
        except TimeoutError:
            self._broken = Broken("no answer in time", left=not outgoing.surely_not_sent, timeout=True)
        except _TooLarge:
            self._broken = Broken("it is too large", left=True, too_large=True)
        except zlib.error:
            self._broken = Broken("it cannot be unpacked", left=True)

    def head(self, answer: httpx.Response) -> None:
        """Store the response's status and headers, and prepare to decompress its body."""
        self._outgoing.status = answer.status_code
        self._headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers.raw}
        # Other encodings were not requested, so their bodies stay unchanged.
        packed = self._headers.get("content-encoding", "").strip().lower() in {"gzip", "x-gzip", "deflate"}
        self._unpack = zlib.decompressobj(_PACKED) if packed else None

    def feed(self, chunk: bytes) -> None:
        """Add the next bytes of the body."""
        while self._unpack is not None and chunk:
            if self._unpack.eof:
                if chunk[:1] != b"\x1f":  # some servers add padding, which is not another gzip member
                    return
                self._unpack = zlib.decompressobj(_PACKED)
            self._keep(self._unpacked(chunk))
            chunk = self._unpack.unused_data
        if self._unpack is None:
            self._keep(chunk)

    def _unpacked(self, chunk: bytes) -> bytes:
        if self._parts:
            return bytes(self._unpack.decompress(chunk, self._left + 1))
        self._begun += chunk
        try:
            return bytes(self._unpack.decompress(chunk, self._left + 1))
        except zlib.error:
            if self._headers["content-encoding"].strip().lower() != "deflate":
                raise
            self._unpack = zlib.decompressobj(-15)  # some servers omit the zlib header
            return bytes(self._unpack.decompress(self._begun, self._left + 1))

    def _keep(self, part: bytes) -> None:
        self._left -= len(part)
        if self._left < 0:
            raise _TooLarge
        if part:
            self._parts.append(part)

    def result(self) -> HttpResponse | Broken:
        """Return the response, which may be incomplete, or the error if no status arrived."""
        status = self._outgoing.status
        if status is None:
            assert self._broken is not None
            return self._broken
        return HttpResponse(self._outgoing, status, self._headers, b"".join(self._parts), self._broken)


def transmit(
    transport: Any, outgoing: HttpRequest, *, base: str, key: tuple[bytes, bytes], clock: Any, http: HttpOptions
) -> HttpResponse | Broken:
    """Send a request. Return the response, which may be incomplete, or the error if no status arrived.

    Args:
        transport: An httpx transport.
        base: The base URL.
        key: The header with the key.
        http: Connection options, used for hooks and the connect timeout.
    """
    incoming = _Incoming(outgoing)
    request, _ = _wired(outgoing, base, key, clock, http)
    if outgoing.traced:
        request.extensions["trace"] = RequestTrace(outgoing)
    with incoming.arriving():
        answer = transport.handle_request(request)
        try:
            incoming.head(answer)
            if http.on_response:
                http.on_response(answer)
            for chunk in answer.stream:
                incoming.feed(chunk)
                if clock.monotonic() > outgoing.deadline:
                    raise httpx.ReadTimeout("")
        finally:
            answer.stream.close()
    return incoming.result()


async def atransmit(
    transport: Any, outgoing: HttpRequest, *, base: str, key: tuple[bytes, bytes], clock: object, http: HttpOptions
) -> HttpResponse | Broken:
    """Asynchronous variant of `transmit`."""
    incoming = _Incoming(outgoing)
    request, left = _wired(outgoing, base, key, clock, http)
    if outgoing.traced:
        request.extensions["trace"] = RequestTrace(outgoing).awaited
    with incoming.arriving():
        async with asyncio.timeout(None if left == _FOREVER else left):
            answer = await transport.handle_async_request(request)
            try:
                incoming.head(answer)
                if http.on_response:
                    http.on_response(answer)
                async for chunk in answer.stream:
                    incoming.feed(chunk)
            finally:
                await answer.stream.aclose()
    return incoming.result()


def _wired(
    outgoing: HttpRequest, base: str, key: tuple[bytes, bytes], clock: Any, http: HttpOptions
) -> tuple[httpx.Request, float]:
    """Return the httpx request and its timeout in seconds."""
    left = outgoing.deadline - clock.monotonic()
    seconds = None if left == _FOREVER else _Seconds(max(left, 0.001))
    if seconds is not None:
        seconds.until = monotonic() + left
    connect = seconds if http.connect_timeout is None else max(min(left, http.connect_timeout), 0.001)
    extensions: dict[str, Any] = {"timeout": {"connect": connect, "read": seconds, "write": seconds, "pool": seconds}}
    request = httpx.Request(
        outgoing.operation.method,
        base + outgoing.target,
        headers=outgoing.headers if http.on_request else [*outgoing.headers, key],
        stream=httpx.ByteStream(outgoing.body or b""),
        extensions=extensions,
    )
    if http.on_request:
        http.on_request(request)
        request.headers[key[0].decode()] = key[1].decode()
    return request, left


def _for_httpcore(request: httpx.Request) -> httpcore.Request:
    url = request.url
    return httpcore.Request(
        request.method,
        httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )


class SeparateConnections(httpx.AsyncBaseTransport):
    """Transport with one connection per request in flight. A pool would scan all connections for each request."""

    def __init__(self, context: ssl.SSLContext, http: HttpOptions, proxy: Proxy | None) -> None:
        self._options = _pool_options(context, http, proxy)
        self._is_direct = proxy is None
        self._connections = _Separate()
        _closed_with(self, self._connections)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send through the most recently used idle connection, or a new one."""
        wired = _for_httpcore(request)
        idle, opened = self._connections.idle, self._connections.opened
        while idle:
            connection = idle.pop()
            if not (self._is_direct and (connection.is_closed() or connection.has_expired())):
                break
            opened.discard(connection)
            await connection.aclose()
        else:
            connection = self._connection(wired.url.origin)
            opened.add(connection)
        try:
            answer = await connection.handle_async_request(wired)
        except BaseException:
            idle.append(connection)
            raise
        stream = _Stream(answer.stream, lambda: idle.append(connection))
        return httpx.Response(answer.status, headers=answer.headers, stream=stream)

    def _connection(self, origin: httpcore.Origin) -> Any:
        if self._is_direct:
            return httpcore.AsyncHTTPConnection(origin, **self._options)
        return httpcore.AsyncHTTPProxy(**self._options)

    async def aclose(self) -> None:
        await self._connections.aclose()


class _Separate:
    """Open connections, and the idle connections among them."""

    def __init__(self) -> None:
        self.idle: list[Any] = []
        self.opened: set[Any] = set()

    async def aclose(self) -> None:
        while self.opened:
            await self.opened.pop().aclose()


class _Stream(httpx.AsyncByteStream):
    """Response body that calls a function when closed."""

    def __init__(self, stream: Any, on_close: Callable[[], object]) -> None:
        self._stream, self._on_close = stream, on_close

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        await self._stream.aclose()
        self._on_close()
