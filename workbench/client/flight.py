"""How far a request got, and how long it may still take: what the network is asked besides moving bytes."""

import threading
import time
from collections.abc import Callable
from typing import Any

from workbench.client.messages import WRITTEN, Request


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
        """The same for the asynchronous transport."""
        self(event, info)


class _Deadline(threading.local):
    """When the call of this thread has to be over, by the monotonic clock."""

    at: float = float("inf")


DEADLINE = _Deadline()


class Timely:
    """A network backend or a stream of it whose every step ends at the call's deadline.

    The transport's own time-outs are for one read each, so a server that sends a byte now and then would never end.
    """

    def __init__(self, inner: Any, late: Callable[[], Exception]) -> None:
        self._inner = inner
        self._late = late

    def _left(self, timeout: float | None) -> float | None:
        left = DEADLINE.at - time.monotonic()
        if left <= 0:
            raise self._late()
        return left if timeout is None or left < timeout else timeout

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *args: Any, **more: Any) -> "Timely":
        """Open a stream."""
        return Timely(self._inner.connect_tcp(host, port, self._left(timeout), *args, **more), self._late)

    def start_tls(self, ssl_context: Any, server_hostname: Any = None, timeout: float | None = None) -> "Timely":
        """Return the stream with TLS."""
        return Timely(self._inner.start_tls(ssl_context, server_hostname, self._left(timeout)), self._late)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what there is."""
        data: bytes = self._inner.read(max_bytes, self._left(timeout))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all."""
        self._inner.write(buffer, self._left(timeout))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
