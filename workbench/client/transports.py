"""The network below the clients, and the only file that imports httpx and httpcore; it is loaded by the first call that needs it.

httpcore's connections are transports of httpx, with deadlines and a trace of how far a request got. Nothing follows redirects,
reads the environment, keeps cookies or logs queries.
"""

import asyncio
import ssl
import threading
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

import httpcore
import httpx

from workbench.client.messages import CAP, WRITTEN, Broken, Request, Response
from workbench.client.options import HttpOptions
from workbench.errors import visible


class Trace:
    """Notes in a request when its head is being written, and when it was: until then it was not sent."""

    __slots__ = ("_connecting", "_request")

    def __init__(self, request: Request) -> None:
        self._request = request
        self._connecting = False  # to a proxy, which gets a request of its own

    def __call__(self, event: str, info: Any) -> None:
        if event.endswith("send_request_headers.started"):
            self._connecting = info["request"].method == b"CONNECT"
        if self._connecting:
            return
        if event.endswith("send_request_headers.started"):
            self._request.phase = 1
        elif event.endswith("send_request_headers.complete"):
            self._request.phase = WRITTEN

    async def awaited(self, event: str, info: Any) -> None:
        """Do the same for an asynchronous transport."""
        self(event, info)


class _Deadline(threading.local):
    """When the call of this thread has to be over, by the monotonic clock."""

    at: float = float("inf")

    def left(self, timeout: float | None) -> float | None:
        """Return the seconds left for one step.

        Raises:
            httpcore.ReadTimeout: There are none.
        """
        left = self.at - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout
        return left if timeout is None or left < timeout else timeout


class TimelyStream(httpcore.NetworkStream):
    """A stream whose every step ends at the call's deadline."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: _Deadline) -> None:
        self._inner, self._deadline = inner, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._deadline.left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, self._deadline.left(timeout))
        return TimelyStream(inner, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class TimelyBackend(httpcore.SyncBackend):
    """The network, where a whole call has one deadline.

    The usual time-outs are for one read each, so a server that sends a byte now and then would never end.
    """

    def __init__(self) -> None:
        self.deadline = _Deadline()

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:  # fmt: skip
        """Open a stream."""
        inner = super().connect_tcp(host, port, self.deadline.left(timeout), local_address, socket_options)
        return TimelyStream(inner, self.deadline)


_FAILURES = (
    httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)  # fmt: skip


def _as_httpx(failure: Exception) -> httpx.TransportError:
    """Return an error of httpcore as that of httpx, which has the same name."""
    kind: type[httpx.TransportError] = getattr(httpx, type(failure).__name__)
    return failure if isinstance(failure, httpx.TransportError) else kind(str(failure))


class TimelyTransport:
    """Connections of httpcore, used as a transport is, but for its errors; `request.extensions["deadline"]` is the deadline of the call."""

    def __init__(self, ssl_context: ssl.SSLContext, http: HttpOptions, proxy: str | None) -> None:
        self._backend = TimelyBackend()
        options: dict[str, Any] = {
            "ssl_context": ssl_context, "max_connections": http.max_connections, "http2": http.http2,
            "max_keepalive_connections": http.max_keepalive_connections, "keepalive_expiry": http.keepalive_expiry,
            "network_backend": self._backend,
        }  # fmt: skip
        if proxy is None:
            self._pool = httpcore.ConnectionPool(**options)
        else:
            through = httpx.Proxy(proxy)  # takes user and password out of the URL
            auth = through.raw_auth
            self._pool = httpcore.HTTPProxy(proxy_url=str(through.url), proxy_auth=auth, **options)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return the answer, its body still to be read."""
        self._backend.deadline.at = request.extensions.get("deadline", float("inf"))
        url = request.url
        wired = httpcore.Request(
            request.method,
            httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw, content=request.stream, extensions=request.extensions,
        )  # fmt: skip
        answer = self._pool.handle_request(wired)
        return httpx.Response(answer.status, headers=answer.headers, stream=answer.stream)  # type: ignore[arg-type]

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


# Raised before a byte of a request is written; anything else may have been acted on.
_NOT_SENT = (
    httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.LocalProtocolError,
    httpx.ProxyError,
)  # fmt: skip
# Their texts hold no header and no body.
_HARMLESS = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ReadTimeout, httpx.WriteTimeout)
_WORDS: dict[type[Exception], str] = {
    httpx.ConnectTimeout: "no connection in time",
    httpx.PoolTimeout: "no free connection in time",
    httpx.ReadTimeout: "no answer in time",
    httpx.WriteTimeout: "not written in time",
    httpx.RemoteProtocolError: "the connection ended before the end of the answer",
    httpx.ReadError: "the connection was lost while waiting for the answer",
    httpx.WriteError: "the connection was lost while sending",
    httpx.LocalProtocolError: "the request cannot be written",
}
_FOREVER = float("inf")


@lru_cache(1024)
def _url(base: str, target: str) -> httpx.URL:
    return httpx.URL(base + target)


def _described(failure: httpx.TransportError, clean: Callable[[str], str]) -> str:
    """Return what the transport met, without its text where that may hold a header."""
    connecting = isinstance(failure, httpx.ConnectError)
    words = _WORDS.get(type(failure)) or ("no connection" if connecting else "the connection failed")
    text = visible(clean(str(failure)), 200) if connecting else ""
    return f"{words}: {text}" if text else words


def _broken(failure: httpx.TransportError, outgoing: Request) -> Broken:
    left = outgoing.phase >= WRITTEN if isinstance(failure, _NOT_SENT) else not outgoing.surely_not_sent
    cause: Exception | None = None
    if isinstance(failure, _HARMLESS):
        cause = type(failure)(
            outgoing.clean(str(failure))
        )  # a fresh one: the caught one holds the request with its key
    return Broken(
        _described(failure, outgoing.clean), left=left, timeout=isinstance(failure, httpx.TimeoutException), cause=cause
    )


class _TooLarge(Exception):
    """The body passed the cap; it is not read on."""


class _Incoming:
    """An answer while it arrives: its body is unpacked by ourselves, so that it never grows beyond the cap."""

    def __init__(self, outgoing: Request) -> None:
        self._outgoing = outgoing
        self._headers: dict[str, str] = {}
        self._unpack: Any = None
        self._parts: list[bytes] = []
        self._left = CAP
        self._broken: Broken | None = None

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """Note what breaks the answer off."""
        outgoing = self._outgoing
        try:
            yield
        except (httpx.TransportError, *_FAILURES) as failure:
            self._broken = _broken(_as_httpx(failure), outgoing)
        except TimeoutError:
            self._broken = Broken("no answer in time", left=not outgoing.surely_not_sent, timeout=True)
        except _TooLarge:
            self._broken = Broken("it is too large", left=True, too_large=True)
        except zlib.error:
            self._broken = Broken("it cannot be unpacked", left=True)

    def head(self, answer: httpx.Response) -> None:
        """Take the status and the headers."""
        self._outgoing.status = answer.status_code
        self._headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers.raw}
        # 47: gzip or zlib, by the first bytes. Others were not asked for and stay as they are.
        packed = self._headers.get("content-encoding", "").strip().lower() in {"gzip", "x-gzip", "deflate"}
        self._unpack = zlib.decompressobj(47) if packed else None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body."""
        if self._unpack is not None:
            chunk = self._unpack.decompress(chunk, self._left + 1)
        self._left -= len(chunk)
        if self._left < 0:
            raise _TooLarge
        self._parts.append(chunk)

    def result(self) -> Response | Broken:
        """Return the answer, or what broke it off."""
        status = self._outgoing.status
        if status is None:
            assert self._broken is not None
            return self._broken
        return Response(status, self._headers, b"".join(self._parts), self._broken)


def transmit(
    transport: Any, outgoing: Request, *, base: str, key: tuple[bytes, bytes], clock: Any, http: HttpOptions
) -> Response | Broken:
    """Send a request, and return its answer or what broke it off.

    Args:
        transport: A transport as httpx has them.
        base: The base URL.
        key: The header with the key.
        http: Options of the connections; here the hooks and the time for a connection.
    """
    incoming = _Incoming(outgoing)
    request, left = _wired(outgoing, base, key, clock, http)
    if outgoing.traced:
        request.extensions |= {"trace": Trace(outgoing), "deadline": time.monotonic() + max(left, 0.0)}
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
    """Do the same, awaited."""
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
    """Return a request for the transport, and the seconds it may take."""
    left = outgoing.deadline - clock.monotonic()
    seconds = None if left == _FOREVER else max(left, 0.001)
    connect = min(left, _FOREVER if http.connect_timeout is None else http.connect_timeout)
    request = httpx.Request(
        outgoing.method,
        _url(base, outgoing.target),
        headers=outgoing.headers if http.on_request else [*outgoing.headers, key],
        stream=httpx.ByteStream(outgoing.body or b""),
        extensions={
            "timeout": {
                "connect": None if connect == _FOREVER else max(connect, 0.001),
                "read": seconds,
                "write": seconds,
                "pool": seconds,
            }
        },
    )
    if http.on_request:
        http.on_request(request)
        request.headers[key[0].decode()] = key[1].decode()
    return request, left


def async_transport(context: ssl.SSLContext, http: HttpOptions, proxy: str | None) -> httpx.AsyncHTTPTransport:
    """Return connections of an asynchronous client."""
    limits = httpx.Limits(
        max_connections=http.max_connections, max_keepalive_connections=http.max_keepalive_connections,
        keepalive_expiry=http.keepalive_expiry,
    )  # fmt: skip
    return httpx.AsyncHTTPTransport(verify=context, trust_env=False, limits=limits, http2=http.http2, proxy=proxy)


class Pools(httpx.AsyncBaseTransport):
    """A connection pool for each request in flight, since a common one examines all its connections for each request."""

    def __init__(self, context: ssl.SSLContext, http: HttpOptions, proxy: str | None) -> None:
        self._make = partial(async_transport, context, http, proxy)
        self._pools: list[httpx.AsyncHTTPTransport] = []
        self._idle: list[httpx.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send through the pool that was used last, or through a new one."""
        if not self._idle:
            self._idle.append(self._make())
            self._pools += self._idle
        pool = self._idle.pop()
        try:
            answer = await pool.handle_async_request(request)
        except BaseException:
            self._idle.append(pool)
            raise
        answer.stream = _Stream(answer.stream, lambda: self._idle.append(pool))
        return answer

    async def aclose(self) -> None:
        for pool in self._pools:
            await pool.aclose()


class _Stream(httpx.AsyncByteStream):
    """The body of an answer; calls a function when it is closed."""

    def __init__(self, stream: Any, on_close: Callable[[], object]) -> None:
        self._stream, self._on_close = stream, on_close

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        await self._stream.aclose()
        self._on_close()
