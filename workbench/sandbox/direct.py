"""The sandbox as the transport of a session in the same process: HTTP libraries are loaded only to play a fault."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.sandbox.faults import FaultedResponse
from workbench.sandbox.service import Request, Response

if TYPE_CHECKING:
    from workbench.sandbox.transport import SandboxTransport


class DirectTransport:
    """Answers calls without httpx, and is a transport of httpx where one is needed.

    Args:
        handler: Answers a request, as `Sandbox.handle` does.
    """

    def __init__(self, handler: Callable[[Request], FaultedResponse]) -> None:
        self._handler = handler

    def respond(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> "Response | SandboxTransport":
        """Return the response, or a transport that plays it where a fault delays it or breaks the connection."""
        path, _, query = target.partition("?")
        answer = self._handler(Request(method, path, query, headers, body))
        if answer.manner == "whole" and not answer.seconds:
            return answer.response
        return _transport(lambda _: answer)

    def handle_request(self, request: Any) -> Any:
        """Answer a request of `httpx.Client`."""
        return _transport(self._handler).handle_request(request)

    async def handle_async_request(self, request: Any) -> Any:
        """Answer a request of `httpx.AsyncClient`."""
        return await _transport(self._handler).handle_async_request(request)


def _transport(handler: Callable[[Request], FaultedResponse]) -> "SandboxTransport":
    from workbench.sandbox.transport import SandboxTransport

    return SandboxTransport(handler)
