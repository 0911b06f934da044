"""The HTTP server with slow senders, incomplete responses and ports in use."""

import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from workbench.base.errors import UsageError
from workbench.base.system import http_server
from workbench.base.system.http_server import PortTaken
from workbench.base.system.messages import Request, Response

pytestmark = pytest.mark.slow  # each test serves over HTTP

HEAD = b"GET /%s HTTP/1.1\r\nhost: localhost\r\n\r\n"
LAST = HEAD.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")


def answer(request: Request) -> Response:
    """Respond as the path requests."""
    if request.path == "/fails":
        raise LookupError("canary")
    if request.path == "/long":
        return Response(status=200, body=b"x" * 1_000, seconds=0.1, manner="slow_body")
    return Response(status=200, body=b"x" * 10, seconds=0.05, manner=request.path[1:] or "whole")


@pytest.fixture(scope="module", params=["asyncio", "uvloop"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield a served address for each event loop, because some platforms lack the faster loop."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "asyncio":
            patch.setitem(sys.modules, "uvloop", None)
        else:
            pytest.importorskip("uvloop")
        with http_server.running(answer) as made:
            with socket.create_connection((urlsplit(made).hostname, urlsplit(made).port)) as first:
                first.sendall(LAST % b"")
                rest(first)  # uvicorn must choose its loop before the modules are restored
            yield made


def connected(url: str) -> socket.socket:
    """Connect to a served address."""
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=20)


def rest(connection: socket.socket) -> bytes:
    """Return all bytes until the other side closes."""
    found = b""
    while chunk := connection.recv(65536):
        found += chunk
    return found


def test_slow_head(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unfinished head gets a 408, and other requests are answered meanwhile."""
    monkeypatch.setattr(http_server, "HEAD_TIMEOUT", 0.3)
    with connected(url) as slow, connected(url) as other:
        slow.sendall(HEAD[:20])
        other.sendall(HEAD % b"")
        quick = other.recv(100)

        assert quick.startswith(b"HTTP/1.1 200")
        assert rest(slow).startswith(b"HTTP/1.1 408")


def test_slow_second_head(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection is also closed if a later head does not end."""
    monkeypatch.setattr(http_server, "HEAD_TIMEOUT", 0.3)
    with connected(url) as slow:
        slow.sendall(HEAD % b"")
        slow.recv(1000)
        slow.sendall(HEAD[:20])

        assert b"HTTP/1.1 408" in rest(slow)


def test_silent_connection_is_closed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection without any data is closed."""
    monkeypatch.setattr(http_server, "HEAD_TIMEOUT", 0.1)
    with connected(url) as silent:
        assert rest(silent) == b""


def test_slow_body(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unfinished body gets a 408."""
    monkeypatch.setattr(http_server, "BODY_TIMEOUT", 0.1)
    with connected(url) as slow:
        slow.sendall(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nab")

        assert rest(slow).startswith(b"HTTP/1.1 408")


def test_pipelined_requests(url: str) -> None:
    """Requests sent without waiting are answered in order."""
    with connected(url) as connection:
        connection.sendall((HEAD % b"") * 2 + LAST % b"")
        found = rest(connection)

    assert found.count(b"\r\n\r\nxxxxxxxxxx") == 3


def test_failure_shows_nothing(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """A failing application gets a 500 without its error text, in the response and in the log."""
    with connected(url) as connection:
        connection.sendall(LAST % b"fails")
        found = rest(connection)

    assert found.startswith(b"HTTP/1.1 500")
    assert "canary" not in found.decode() + caplog.text


def test_answer_that_is_cut(url: str) -> None:
    """A truncated answer announces ten bytes and sends half of them."""
    with connected(url) as connection:
        connection.sendall(HEAD % b"cut")
        head, _, body = rest(connection).partition(b"\r\n\r\n")

    assert b"content-length: 10" in head
    assert body == b"x" * 5


@pytest.mark.parametrize("requests", [1, 2])
def test_client_that_ends_its_side_first(url: str, requests: int) -> None:
    """A client that closes its sending side gets its answers, and then the connection closes."""
    with connected(url) as connection:
        connection.sendall(HEAD % b"" * requests)
        connection.shutdown(socket.SHUT_WR)

        assert rest(connection).count(b"HTTP/1.1 200 OK") == requests


def test_slow_response_body(url: str) -> None:
    """A slow body arrives completely, byte by byte."""
    with connected(url) as connection:
        began = time.monotonic()
        connection.sendall(LAST % b"slow_body")
        body = rest(connection).partition(b"\r\n\r\n")[2]

    assert body == b"x" * 10
    assert time.monotonic() - began >= 0.04


def test_long_slow_body(url: str) -> None:
    """The body takes the requested time, although its bytes are closer together than the loop's clock resolution."""
    with connected(url) as connection:
        began = time.monotonic()
        connection.sendall(LAST % b"long")
        body = rest(connection).partition(b"\r\n\r\n")[2]

    assert body == b"x" * 1_000
    assert time.monotonic() - began >= 0.1


def test_no_answer(url: str) -> None:
    """A connection is reset or closed without a response, as the fault requires."""
    with connected(url) as connection:
        connection.sendall(HEAD % b"reset")
        with pytest.raises(ConnectionResetError):
            rest(connection)
    with connected(url) as connection:
        connection.sendall(HEAD % b"closed")

        assert rest(connection) == b""


def test_what_is_being_answered_at_the_end_is_answered() -> None:
    """A server that ends completes the current answer and does not wait for idle connections."""
    received = threading.Event()

    def slowly(_: Request) -> Response:
        received.set()
        return Response(status=200, body=b"x" * 10, seconds=0.05)

    with http_server.running(slowly) as url:
        idle, busy = connected(url), connected(url)
        busy.sendall(HEAD % b"")
        received.wait(10)

    assert rest(busy).endswith(b"x" * 10)
    assert rest(idle) == b""
    idle.close()
    busy.close()


def test_port_that_is_taken(url: str) -> None:
    """A port in use is refused with its number. Port 0 chooses a free port."""
    port = urlsplit(url).port or 0
    with pytest.raises(PortTaken, match=str(port)):
        http_server.bind("127.0.0.1", port)
    other = http_server.bind("127.0.0.1", 0)

    assert other.getsockname()[1] not in {0, port}
    other.close()


@pytest.mark.parametrize(
    "options, words",
    [
        ({"port": 65536}, "port must be a whole number from 0 to 65535"),
        ({"port": -1}, "port must be a whole number"),
        ({"port": "80"}, "port must be a whole number"),
        ({"host": "203.0.113.1"}, "Choose an address of this machine"),
        ({"hosts": ["sandbox.example:8443"]}, "without a port or path, such as localhost, not sandbox.example:8443"),
        ({"hosts": ["http://sandbox.example/", "a b"]}, "without a port or path"),
        ({"keyfile": "key.pem"}, "keyfile needs a certificate"),
    ],
    ids=str,
)
def test_an_address_that_cannot_be_served_is_named(options: dict[str, Any], words: str) -> None:
    """The error names the argument, and says what is allowed."""
    with (
        pytest.raises((UsageError, PortTaken), match=words),
        http_server.running(lambda request: http_server.Response(status=200), **options),
    ):
        pass


@pytest.mark.parametrize(
    "header,name",
    [
        ("127.0.0.1:80", "127.0.0.1"),
        ("LOCALHOST", "localhost"),
        ("[::1]:8080", "[::1]"),
        ("[::1]", "[::1]"),
        ("a:b", "a:b"),
    ],
)
def test_host_names(header: str, name: str) -> None:
    """The name in a Host header is separated from its port."""
    assert http_server.host_name(header) == name


@pytest.mark.parametrize(
    "target, status",
    [
        ("/", 200), ("http://localhost/", 200), ("http://localhost:8080/", 200), ("http://example.com/", 400),
        ("http://localhost@example.com/", 400), ("http://127.0.0.1/", 400), ("*", 400), ("example.com:80", 400),
    ],
)  # fmt: skip
def test_a_target_that_names_another_host_is_refused(target: str, status: int) -> None:
    """A request target in absolute form, as a proxy sends it, must name the host of the Host header."""
    with http_server.running(lambda request: http_server.Response(status=200)) as url:
        place = urlsplit(url)
        with socket.create_connection((place.hostname, place.port), timeout=20) as connection:
            connection.sendall(f"GET {target} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
            answer = connection.recv(1024)

    assert int(answer.split()[1]) == status
