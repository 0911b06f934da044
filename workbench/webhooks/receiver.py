"""An inbox over HTTP: accepts POSTs of JSON on one path, acknowledges what is stored, and reveals nothing."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from workbench import http_server
from workbench.errors import InvalidWebhook
from workbench.http_post import LOOPBACK, Request, Response

_MIN_SECRET_PATH = 24  # characters of a path that cannot be guessed


@contextmanager
def receiving(
    inbox: Any, note: Callable[[str], None], *, host: str, port: int, path: str, hosts: Sequence[str]
) -> Iterator[str]:
    """Pass deliveries to an inbox, and yield the URL to send to.

    Args:
        note: Called with the reason where a request is refused that is not a delivery.
    """
    local = host in LOOPBACK
    path = "/" + path.lstrip("/")
    if not (local or inbox.verifies):
        raise InvalidWebhook(
            f"An inbox that accepts unsigned deliveries cannot be served on {host}: anybody could send anything. "
            "Give it keys, or use 127.0.0.1."
        )
    if hosts and not inbox.verifies and len(path) < _MIN_SECRET_PATH:
        raise InvalidWebhook(
            "An inbox that accepts unsigned deliveries cannot be served to other hosts on a path that can be guessed: "
            f"give it keys, or a path of {_MIN_SECRET_PATH} characters or more."
        )

    def answer(request: Request) -> Response:
        refused = _refused(request, path)
        if refused is not None:
            return refusal(*refused)
        status = inbox.respond(request.headers, request.body)
        return Response(status=204) if status == 204 else http_server.bare(status, "")

    def refusal(status: int, reason: str) -> Response:
        note(f"{reason} ({status}).")
        return http_server.bare(status, reason)

    with http_server.running(
        answer, host=host, port=port, hosts=hosts, max_body=inbox.max_body, refusal=refusal
    ) as url:
        yield url + path


def _refused(request: Request, path: str) -> tuple[int, str] | None:
    """Return the status and the reason for a request that is not a delivery."""
    if request.method != "POST":
        return 405, "Not a POST"
    if request.path != path:
        return 404, "Another path than that of the inbox"
    if request.headers.get("origin") is not None:
        return 403, "A web page in a browser"  # senders of webhooks set no Origin
    kind = (request.headers.get("content-type") or "").partition(";")[0].strip().lower()
    if kind != "application/json" or request.headers.get("content-encoding") not in (None, "identity"):
        return 415, "Not declared as JSON"
    return None
