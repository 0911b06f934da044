"""HTTP server that receives deliveries for an inbox."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from workbench.system import http_server
from workbench.system.messages import Request, Response
from workbench.webhooks.verify import Headers


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
    """Pass the deliveries to a path on, and yield the URL.

    Args:
        respond: Returns the HTTP status for the headers and the body of a delivery.
        note: Called with the reason for which a request was refused.
    """

    def answer(request: Request) -> Response:
        refused = _refused(request, path)
        if refused is not None:
            return refusal(*refused)
        status = respond(request.headers, request.body)
        return Response(status=204) if status == 204 else http_server.bare(status, "")

    def refusal(status: int, reason: str) -> Response:
        note(f"{reason} ({status}).")
        return http_server.bare(status, reason)

    served = http_server.running(answer, host=host, port=port, hosts=hosts, max_body=max_body, refusal=refusal)
    with served as url:
        yield url + path


def _refused(request: Request, path: str) -> tuple[int, str] | None:
    """Return the status and the reason for a request that is not a delivery."""
    if request.method != "POST":
        return 405, "Not a POST"
    if request.path != path:
        return 404, "Another path than that of the inbox"
    if request.headers.get("origin") is not None:
        return 403, "A web page in a browser"  # webhook senders set no Origin header
    kind = (request.headers.get("content-type") or "").partition(";")[0].strip().lower()
    if kind not in ("application/json", "") or request.headers.get("content-encoding") not in (None, "identity"):
        return 415, "Declared as something else than JSON"
    return None
