"""HTTP server that receives deliveries for an inbox."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from workbench.base.system import http_server
from workbench.base.system.messages import Request, Response
from workbench.base.system.seconds import monotonic
from workbench.client.webhooks.verify import Headers


@contextmanager
def serve(
    respond: Callable[[Headers, bytes], int],
    note: Callable[[str], None],
    path: str,
    *,
    host: str,
    port: int,
    hosts: Sequence[str],
    max_body: int,
) -> Iterator[str]:
    """Receive deliveries at a path and yield the URL. A thread passes the deliveries to `respond`, one at a time.

    Args:
        respond: Function that returns the HTTP status for the headers and body of a delivery.
        note: Function that gets the reason for each refused request.
    """
    # a thread writes to the file, so that the event loop never waits for it
    writer, busy_at = ThreadPoolExecutor(1, "workbench-inbox"), 0.0

    async def answer(request: Request) -> Response:
        refused = _refused(request, path)
        if refused is not None:
            return refusal(*refused)
        status = await asyncio.get_running_loop().run_in_executor(writer, store, request, monotonic())
        return Response(status=204) if status == 204 else http_server.bare(status, "")

    def store(request: Request, arrived: float) -> int:
        nonlocal busy_at
        if arrived < busy_at:  # while this request waited, another delivery found the file busy
            return 503
        status = respond(request.headers, request.body)
        if status == 503:
            busy_at = monotonic()
        return status

    def refusal(status: int, reason: str) -> Response:
        remedy = ": allow it with hosts=[…], at a prompt with --allow-host" if status == 421 else ""
        note(f"{reason} ({status}){remedy}.")
        return http_server.bare(status, reason)

    served = http_server.running(answer, host=host, port=port, hosts=hosts, max_body=max_body, refusal=refusal)
    try:
        with served as url:
            yield url + path
    finally:
        writer.shutdown(wait=False, cancel_futures=True)


def _refused(request: Request, path: str) -> tuple[int, str] | None:
    """Return the status and the reason for a request that is not a delivery."""
    if request.method != "POST":
        return 405, "The method is not POST"
    if request.path != path:
        return 404, "The path is not the inbox's"
    if request.headers.get("origin") is not None:
        return 403, "The request comes from a web page"  # no webhook sender sets an Origin header
    kind = (request.headers.get("content-type") or "").partition(";")[0].strip().lower()
    if kind not in ("application/json", "") or request.headers.get("content-encoding") not in (None, "identity"):
        return 415, "The content type is not JSON"
    return None
