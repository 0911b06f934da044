"""The sandbox as a transport of httpx: the whole client path is real, and no socket is opened."""

from collections.abc import Callable

import httpx

from workbench.sandbox.service import Request, Response

Handle = Callable[[Request], Response]


class SandboxTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers requests of a sync or an async client by a sandbox's `handle`."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of a sync client."""
        return self._answer(request, request.read())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of an async client."""
        return self._answer(request, await request.aread())

    def _answer(self, request: httpx.Request, body: bytes) -> httpx.Response:
        path, _, query = request.url.raw_path.partition(b"?")
        answer = self._handle(
            Request(request.method, path.decode("ascii"), query.decode("ascii"), request.headers, body)
        )
        return httpx.Response(answer.status, headers=dict(answer.headers), content=answer.body, request=request)
