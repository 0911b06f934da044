"""The inbox over HTTP: it takes a POST of JSON on one path, acknowledges what is stored, and reveals nothing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from workbench import http_server
from workbench.errors import InvalidWebhook, UnusableFile
from workbench.webhooks.reading import TooLarge
from workbench.webhooks.verify import SignatureRefused

if TYPE_CHECKING:
    from workbench.webhooks.inbox import Inbox

_SECRET = 24  # characters of a path that nobody guesses
_ACCEPTED = http_server.Response(status=204)


@contextmanager
def receiving(inbox: "Inbox", *, host: str, port: int, path: str, hosts: Sequence[str]) -> Iterator[str]:
    """Serve an inbox, and give the URL to send to."""
    if host not in http_server.LOOPBACK and not inbox.verifies:
        raise InvalidWebhook(
            f"An inbox that takes unsigned deliveries is not opened on {host}: anybody could send anything. "
            "Give it keys, or stay on 127.0.0.1."
        )
    path = "/" + path.lstrip("/")
    if hosts and not inbox.verifies and len(path) < _SECRET:
        raise InvalidWebhook(
            "An inbox that takes unsigned deliveries is not opened to other hosts on a path that can be guessed: "
            f"give it keys, or a path of {_SECRET} characters or more."
        )
    public = {name.lower() for name in (*hosts, *(() if host in http_server.LOOPBACK else (host,)))}

    def answer(request: http_server.Request) -> http_server.Response:
        status = _status(inbox, request, path)
        return _ACCEPTED if status == 204 else http_server.bare(status, "")

    with http_server.running(answer, host=host, port=port, hosts=public, max_body=inbox.max_body) as url:
        yield url + path


def _status(inbox: "Inbox", request: http_server.Request, path: str) -> int:
    if request.method != "POST":
        return 405
    if request.target != path:
        return 404
    if request.header("origin") is not None:
        return 403  # a web page in a browser; no sender of webhooks says Origin
    kind = (request.header("content-type") or "").partition(";")[0].strip().lower()
    if kind != "application/json" or request.header("content-encoding") not in (None, "identity"):
        return 415
    try:
        inbox.receive(request.headers, request.body)
    except SignatureRefused:
        return 401
    except TooLarge:
        return 413
    except InvalidWebhook:
        return 400
    except UnusableFile:
        return 503  # not stored, so not acknowledged: the sender tries again
    return 204
