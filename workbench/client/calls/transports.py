"""Network layer of the clients, imported by the first call. Only this file imports httpx and httpcore.

httpcore connections are used as httpx transports, with deadlines and a trace of the request's progress. Redirects,
environment variables, cookies and logged queries are never used.
"""

import asyncio
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import attrs
import httpcore
import httpx

from workbench.base.errors import visible
from workbench.client.calls.messages import CAP, WRITTEN, Broken, Request, Response
from workbench.client.calls.options import HttpOptions


class Trace:
    """Record in a request when its headers begin and end being written; before that it was not sent."""

    __slots__ = ("_connecting", "_request")

    def __init__(self, request: Request) -> None:
        self._request = request
        self._connecting = False  # to a proxy, which gets a separate request

    def __call__(self, event: str, info: Any) -> None:
        if "send_request_headers" not in event:
            return
        started = event.endswith("started")
        if started:
            self._connecting = info["request"].method == b"CONNECT"
        if not self._connecting and (started or event.endswith("complete")):
            self._request.phase = 1 if started else WRITTEN

    async def awaited(self, event: str, info: Any) -> None:
        """Asynchronous variant, for asynchronous transports."""
        self(event, info)


class _Seconds(float):
    """Timeout of one step, as passed through httpcore; `until` is the deadline of the call by the monotonic clock."""

    until: float

    def left(self) -> float:
        """Return the seconds left for the step.

        Raises:
            httpcore.ReadTimeout: No time is left.
        """
        left = self.until - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout
        return min(left, self)


def _left(timeout: float | None) -> float | None:
    return timeout.left() if isinstance(timeout, _Seconds) else timeout


class TimelyStream(httpcore.NetworkStream):
    """A stream whose every step ends at the call's deadline."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner
        self.close, self.get_extra_info = inner.close, inner.get_extra_info  # type: ignore[method-assign]

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left(timeout))

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return TimelyStream(self._inner.start_tls(ssl_context, server_hostname, _left(timeout)))


class TimelyBackend(httpcore.SyncBackend):
    """Network backend with one deadline for the entire call.

    httpx applies timeouts to each read, so a server that sends single bytes would never time out.
    """

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *args: Any, **how: Any
    ) -> httpcore.NetworkStream:
        """Open a stream."""
        return TimelyStream(super().connect_tcp(host, port, _left(timeout), *args, **how))


def _through(proxy: str) -> dict[str, Any]:
    """Return the proxy arguments, with user and password removed from the URL."""
    through = httpx.Proxy(proxy)
    return {"proxy_url": str(through.url), "proxy_auth": through.raw_auth}


def _for_httpcore(request: httpx.Request) -> httpcore.Request:
    url = request.url
    return httpcore.Request(
        request.method,
        httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )


class TimelyTransport:
    """Transport over httpcore connections that raises httpcore's errors."""

    def __init__(self, ssl_context: ssl.SSLContext, http: HttpOptions, proxy: str | None) -> None:
        options: dict[str, Any] = {
            "ssl_context": ssl_context,
            "max_connections": http.max_connections,
            "http2": http.http2,
            "max_keepalive_connections": http.max_keepalive_connections,
            "keepalive_expiry": http.keepalive_expiry,
            "network_backend": TimelyBackend(),
        }
        if proxy is None:
            self._pool = httpcore.ConnectionPool(**options)
        else:
            self._pool = httpcore.HTTPProxy(**_through(proxy), **options)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return the response with its body unread."""
        answer = self._pool.handle_request(_for_httpcore(request))
        return httpx.Response(answer.status, headers=answer.headers, stream=answer.stream)  # type: ignore[arg-type]

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


@attrs.frozen
class _Met:
    """Classification of a transport error."""

    words: str = "the connection failed"
    sent: bool = True  # whether a byte of the request may have been written
    harmless: bool = False  # whether its text holds no header and no body


_FAILURES: Mapping[str, _Met] = {
    "ConnectError": _Met("no connection", sent=False, harmless=True),
    "ConnectTimeout": _Met("no connection in time", sent=False, harmless=True),
    "PoolTimeout": _Met("no free connection in time", sent=False, harmless=True),
    "LocalProtocolError": _Met("the request cannot be written", sent=False),
    "UnsupportedProtocol": _Met(sent=False),
    "ProxyError": _Met(sent=False),
    "ReadTimeout": _Met("no answer in time", harmless=True),
    "WriteTimeout": _Met("not written in time", harmless=True),
    "RemoteProtocolError": _Met("the connection ended before the end of the answer"),
    "ReadError": _Met("the connection was lost while waiting for the answer"),
    "WriteError": _Met("the connection was lost while sending"),
}
"""Transport errors by their class name, which httpx and httpcore share."""
_ERRORS = (
    httpx.TransportError, httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)  # fmt: skip
_FOREVER = float("inf")


@lru_cache(16)
def _url(base: str) -> httpx.URL:
    return httpx.URL(base)


def _broken(failure: Exception, outgoing: Request) -> Broken:
    name = next((cls.__name__ for cls in type(failure).__mro__ if cls.__name__ in _FAILURES), "")
    met = _FAILURES.get(name, _Met())
    text = outgoing.clean(str(failure))
    message = f"{met.words}: {visible(text, 200)}" if name == "ConnectError" and text else met.words
    return Broken(
        message,
        left=not outgoing.surely_not_sent if met.sent else outgoing.phase >= WRITTEN,
        timeout="Timeout" in name,
        cause=getattr(httpx, name)(text) if met.harmless else None,  # the caught one holds the request with its key
    )


class _TooLarge(Exception):
    """The body exceeded the size limit; reading stopped."""


class _Incoming:
    """A response being received. The body is decompressed here, so that it never exceeds the size limit."""

    def __init__(self, outgoing: Request) -> None:
        self._outgoing = outgoing
        self._headers: dict[str, str] = {}
        self._unpack: Any = None
        self._parts: list[bytes] = []
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
        except ssl.SSLError:  # an alert after the handshake, which httpcore's asynchronous streams pass on
            self._broken = Broken(_FAILURES["ReadError"].words, left=not outgoing.surely_not_sent)
        except TimeoutError:
            self._broken = Broken("no answer in time", left=not outgoing.surely_not_sent, timeout=True)
        except _TooLarge:
            self._broken = Broken("it is too large", left=True, too_large=True)
        except zlib.error:
            self._broken = Broken("it cannot be unpacked", left=True)

    def head(self, answer: httpx.Response) -> None:
        """Set the status and the headers."""
        self._outgoing.status = answer.status_code
        self._headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers.raw}
        # 47: gzip or zlib, by the first bytes. Others were not asked for and stay as they are.
        packed = self._headers.get("content-encoding", "").strip().lower() in {"gzip", "x-gzip", "deflate"}
        self._unpack = zlib.decompressobj(47) if packed else None

    def feed(self, chunk: bytes) -> None:
        """Add the next bytes of the body."""
        if self._unpack is not None:
            chunk = self._unpack.decompress(chunk, self._left + 1)
        self._left -= len(chunk)
        if self._left < 0:
            raise _TooLarge
        self._parts.append(chunk)

    def result(self) -> Response | Broken:
        """Return the response, or the error that interrupted it."""
        status = self._outgoing.status
        if status is None:
            assert self._broken is not None
            return self._broken
        return Response(self._outgoing, status, self._headers, b"".join(self._parts), self._broken)


def transmit(
    transport: Any, outgoing: Request, *, base: str, key: tuple[bytes, bytes], clock: Any, http: HttpOptions
) -> Response | Broken:
    """Send a request and return its response, or the error that interrupted it.

    Args:
        transport: An httpx transport.
        base: The base URL.
        key: The header with the key.
        http: Connection options, used for hooks and the connect timeout.
    """
    incoming = _Incoming(outgoing)
    request, _ = _wired(outgoing, base, key, clock, http)
    if outgoing.traced:
        request.extensions["trace"] = Trace(outgoing)
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
    transport: Any, outgoing: Request, *, base: str, key: tuple[bytes, bytes], clock: Any, http: HttpOptions
) -> Response | Broken:
    """Asynchronous variant of `transmit`."""
    incoming = _Incoming(outgoing)
    request, left = _wired(outgoing, base, key, clock, http)
    if outgoing.traced:
        request.extensions["trace"] = Trace(outgoing).awaited
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
    outgoing: Request, base: str, key: tuple[bytes, bytes], clock: Any, http: HttpOptions
) -> tuple[httpx.Request, float]:
    """Return the httpx request and its timeout in seconds."""
    left = outgoing.deadline - clock.monotonic()
    seconds = None if left == _FOREVER else _Seconds(max(left, 0.001))
    if seconds is not None:
        seconds.until = time.monotonic() + left
    connect = seconds if http.connect_timeout is None else max(min(left, http.connect_timeout), 0.001)
    extensions: dict[str, Any] = {"timeout": {"connect": connect, "read": seconds, "write": seconds, "pool": seconds}}
    if outgoing.traced and not (http.on_request or http.proxy or http.trust_env):
        # read once, since httpx takes long to; a hook reads the URL, and a proxy gets another target
        url = _url(base)
        extensions["target"] = url.raw_path.rstrip(b"/") + outgoing.target.encode()
    else:
        url = httpx.URL(base + outgoing.target)
    request = httpx.Request(
        outgoing.operation.method,
        url,
        headers=outgoing.headers if http.on_request else [*outgoing.headers, key],
        stream=httpx.ByteStream(outgoing.body or b""),
        extensions=extensions,
    )
    if http.on_request:
        http.on_request(request)
        request.headers[key[0].decode()] = key[1].decode()
    return request, left


def async_transport(context: ssl.SSLContext, http: HttpOptions, proxy: str | None) -> httpx.AsyncHTTPTransport:
    """Return connections of an asynchronous client."""
    limits = httpx.Limits(
        max_connections=http.max_connections,
        max_keepalive_connections=http.max_keepalive_connections,
        keepalive_expiry=http.keepalive_expiry,
    )
    return httpx.AsyncHTTPTransport(verify=context, trust_env=False, limits=limits, http2=http.http2, proxy=proxy)


class SeparateConnections(httpx.AsyncBaseTransport):
    """Transport with one connection per request in flight; a shared pool scans all connections for each request."""

    def __init__(self, context: ssl.SSLContext, http: HttpOptions, proxy: str | None) -> None:
        self._options: dict[str, Any] = {
            "ssl_context": context,
            "http2": http.http2,
            "keepalive_expiry": http.keepalive_expiry,
        }
        self._proxy = proxy
        self._idle: list[Any] = []
        self._open: set[Any] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send through the most recently used idle connection, or a new one."""
        wired = _for_httpcore(request)
        while self._idle:
            connection = self._idle.pop()
            if self._proxy is not None or not (connection.is_closed() or connection.has_expired()):
                break
            self._open.discard(connection)
            await connection.aclose()
        else:
            connection = self._connection(wired.url.origin)
            self._open.add(connection)
        try:
            answer = await connection.handle_async_request(wired)
        except BaseException:
            self._idle.append(connection)
            raise
        stream = _Stream(answer.stream, lambda: self._idle.append(connection))
        return httpx.Response(answer.status, headers=answer.headers, stream=stream)

    def _connection(self, origin: httpcore.Origin) -> Any:
        if self._proxy is None:
            return httpcore.AsyncHTTPConnection(origin, **self._options)
        return httpcore.AsyncHTTPProxy(**_through(self._proxy), **self._options)

    async def aclose(self) -> None:
        for connection in self._open:
            await connection.aclose()


class _Stream(httpx.AsyncByteStream):
    """Response body that calls a function when closed."""

    def __init__(self, stream: Any, on_close: Callable[[], object]) -> None:
        self._stream, self._on_close = stream, on_close

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        await self._stream.aclose()
        self._on_close()
