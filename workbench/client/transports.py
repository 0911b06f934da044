"""The network below the clients: httpcore's connections as transports of httpx, with deadlines and a trace of how far a request got."""

import ssl
import threading
import time
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

from workbench.client.messages import WRITTEN, Request

_CONNECTIONS, _KEPT, _KEPT_SECONDS = 100, 20, 5.0  # as httpx has them


class Trace:
    """Notes in a request when its head is being written, and when it was: until then it was not sent."""

    __slots__ = ("_request",)

    def __init__(self, request: Request) -> None:
        self._request = request

    def __call__(self, event: str, _: Any) -> None:
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


FAILURES = (
    httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)  # fmt: skip


def as_httpx(failure: Exception) -> httpx.TransportError:
    """Return an error of httpcore as that of httpx, which has the same name."""
    kind: type[httpx.TransportError] = getattr(httpx, type(failure).__name__)
    return failure if isinstance(failure, httpx.TransportError) else kind(str(failure))


class TimelyTransport:
    """Connections of httpcore, used as a transport is, but for its errors; `request.extensions["deadline"]` is the deadline of the call."""

    def __init__(self, ssl_context: ssl.SSLContext) -> None:
        self._backend = TimelyBackend()
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl_context, max_connections=_CONNECTIONS, max_keepalive_connections=_KEPT,
            keepalive_expiry=_KEPT_SECONDS, network_backend=self._backend,
        )  # fmt: skip

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
