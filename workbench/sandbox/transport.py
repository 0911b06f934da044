"""In-process httpx transport of the sandbox. Clients run their real code, and no socket is opened."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping

import httpx

from workbench.base.system.messages import Request, Response

_CLOSED = "Server disconnected without sending a response."
_ERRORS: Mapping[str, tuple[type[httpx.TransportError], str]] = {
    "refused": (httpx.ConnectError, "Connection refused"),
    "reset": (httpx.ReadError, "Connection reset by peer"),
    "closed": (httpx.RemoteProtocolError, _CLOSED),
    "lost": (httpx.RemoteProtocolError, _CLOSED),
}
"""Errors that httpx raises for connection faults, by kind of fault."""


class SandboxTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Transport that passes the requests of a sync or async client to a function.

    Args:
        handler: Function that answers a request.
    """

    is_embedded = True

    def __init__(self, handler: Callable[[Request], Response]) -> None:
        self._handler = handler

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of a sync client."""
        answer = self._ask(request, request.read())
        if delay := _delay(request, answer):
            time.sleep(delay)
        return _response(request, answer)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of an async client."""
        answer = self._ask(request, await request.aread())
        if delay := _delay(request, answer):
            await asyncio.sleep(delay)
        return _response(request, answer)

    def _ask(self, request: httpx.Request, body: bytes) -> Response:
        path, _, query = request.url.raw_path.partition(b"?")
        return self._handler(
            Request(request.method, path.decode("ascii"), query.decode("ascii"), request.headers, body)
        )


def _delay(request: httpx.Request, answer: Response) -> float:
    """Return the seconds to wait for a delayed response.

    Raises:
        ReadTimeout: The delay exceeds the client's timeout. The error is raised immediately, without waiting.
    """
    if answer.manner == "slow_body":
        return 0.0
    limit: float | None = request.extensions.get("timeout", {}).get("read")
    if limit is not None and answer.seconds and answer.seconds >= limit:
        raise httpx.ReadTimeout("The read operation timed out", request=request)
    return answer.seconds


def _response(request: httpx.Request, answer: Response) -> httpx.Response:
    if answer.manner in _ERRORS:
        error, message = _ERRORS[answer.manner]
        raise error(message, request=request)
    # The client gets headers as bytes and the body as a stream, as from a connection. Any other form would be
    # converted, which takes longer than the sandbox's response.
    headers = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
    headers.append((b"content-length", b"%d" % len(answer.body)))
    stream = httpx.ByteStream(answer.body) if answer.manner == "whole" else _FaultedBody(answer)
    return httpx.Response(answer.status, headers=headers, stream=stream, request=request)


class _FaultedBody(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A response body that is truncated or slow."""

    def __init__(self, answer: Response) -> None:
        body = answer.body
        self._cut = answer.manner == "cut"
        self._body = body[: len(body) // 2] if self._cut else body
        self._pause = 0.0 if self._cut else answer.seconds / max(len(body), 1)

    def _pieces(self) -> Iterator[bytes]:
        for i in range(len(self._body)):
            yield self._body[i : i + 1]
        if self._cut:
            raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces():
            yield piece
            time.sleep(self._pause)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces():
            yield piece
            await asyncio.sleep(self._pause)
