"""The sandbox as a transport of httpx: the whole client path is real, and no socket is opened."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import httpx

from workbench.sandbox.faults import Played
from workbench.sandbox.service import Request, Response

Handle = Callable[[Request], Response | Played]

_GONE = "Server disconnected without sending a response."
_ERRORS: Mapping[str, tuple[type[httpx.TransportError], str]] = {
    "refused": (httpx.ConnectError, "Connection refused"),
    "reset": (httpx.ReadError, "Connection reset by peer"),
    "closed": (httpx.RemoteProtocolError, _GONE),
    "lost": (httpx.RemoteProtocolError, _GONE),
}
"""Faults of the connection as the errors that httpx raises for them."""


class SandboxTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers requests of a sync or an async client by a sandbox."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of a sync client."""
        played = self._played(request, request.read())
        if played.seconds and played.manner != "drip":
            time.sleep(_patience(request, played))
        return _arrived(request, played)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of an async client."""
        played = self._played(request, await request.aread())
        if played.seconds and played.manner != "drip":
            await asyncio.sleep(_patience(request, played))
        return _arrived(request, played)

    def _played(self, request: httpx.Request, body: bytes) -> Played:
        path, _, query = request.url.raw_path.partition(b"?")
        made = self._handle(Request(request.method, path.decode("ascii"), query.decode("ascii"), request.headers, body))
        return made if isinstance(made, Played) else Played(response=made)


def _patience(request: httpx.Request, played: Played) -> float:
    """Return how long to wait for a late answer.

    Raises:
        ReadTimeout: Longer than the client would; nobody has to sit that out.
    """
    limit: Any = request.extensions.get("timeout", {}).get("read")
    if limit is not None and played.seconds >= limit:
        raise httpx.ReadTimeout("The read operation timed out", request=request)
    return played.seconds


def _arrived(request: httpx.Request, played: Played) -> httpx.Response:
    if played.manner in _ERRORS:
        kind, words = _ERRORS[played.manner]
        raise kind(words, request=request)
    answer = played.response
    # as bytes and a stream, as a connection gives them; made from text and content it costs more than the sandbox
    headers = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
    headers.append((b"content-length", b"%d" % len(answer.body)))
    whole = httpx.ByteStream(answer.body)
    stream = whole if played.manner == "whole" else _Broken(answer.body, played)
    return httpx.Response(answer.status, headers=headers, stream=stream, request=request)


class _Broken(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that is cut, or that drips."""

    def __init__(self, body: bytes, played: Played) -> None:
        self._cut = played.manner == "cut"
        self._body = body[: len(body) // 2] if self._cut else body
        self._pause = 0.0 if self._cut else played.seconds / max(len(body), 1)

    def __iter__(self) -> Iterator[bytes]:
        for i in range(len(self._body)):
            yield self._body[i : i + 1]
            time.sleep(self._pause)
        self._end()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for i in range(len(self._body)):
            yield self._body[i : i + 1]
            await asyncio.sleep(self._pause)
        self._end()

    def _end(self) -> None:
        if self._cut:
            raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")
