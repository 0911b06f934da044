"""Which URLs may receive an HTTP POST, and that no other address is reached."""

import contextlib
import http.server
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.each import each
from workbench.base.errors import UsageError
from workbench.base.system.http_post import THIS_MACHINE, ForbiddenUrl, check_url, post, send
from workbench.sandbox import Sandbox

NAMES = {
    "public.example": ["93.184.215.14"],
    "private.example": ["10.0.0.5"],
    "metadata.example": ["169.254.169.254"],
    "both.example": ["93.184.215.14", "127.0.0.2"],
    "mixed.example": ["93.184.215.14", "192.168.1.1"],
    "local.example": ["127.0.0.1", "::1"],
    "six.example": ["fd00::1"],
    "mapped.example": ["::ffff:169.254.169.254"],
    "mapped-local.example": ["::ffff:127.0.0.1"],
    "nothing.example": [],
}


def resolve(host: str, port: int) -> list[str]:
    """Resolve made-up names as declared above, and numbers as the system does."""
    if host in NAMES:
        return NAMES[host]
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=0)]


@each(
    "url",
    [
        "http://127.0.0.1:8080/hook",
        "http://127.0.0.1",
        "http://[::1]:8080/",
        "http://local.example/",
        "http://mapped-local.example/",
        "http://2130706433:8080/",
        "https://127.0.0.1/x?y=z",
    ],
)
def test_this_machine_is_reached(url: str) -> None:
    """Receivers on this machine are reached in every spelling of its address."""
    assert set(check_url(url, resolve=resolve).addresses) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


ELSEWHERE = [
    "http://169.254.169.254/latest/meta-data",
    "http://metadata.example/",
    "http://mapped.example/",
    "http://2852039166/",
    "http://0xA9FEA9FE/",
    "http://10.0.0.5/",
    "http://private.example/",
    "http://192.168.1.1/",
    "http://six.example/",
    "http://mixed.example/",
    "http://nothing.example/",
    "http://0.0.0.0/",
    "http://[::]/",
    "http://[fe80::1]/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "file:///etc/passwd",
    "gopher://127.0.0.1/",
    "ftp://127.0.0.1/",
    "//127.0.0.1/",
    "127.0.0.1:80",
    "http:///x",
    "",
    "http://user@127.0.0.1/",
    "http://user:word@127.0.0.1/",
    "http://127.0.0.1:99999/",
    "http://127.0.0.1:port/",
    "http://127.0.0.1/a b",
    "http://127.0.0.1/\r\nx: y",
    "http://127.0.0.1/é",
    "http://[::1/",
]


@each("reach", [THIS_MACHINE, {"loopback", "public"}])
@each("url", ELSEWHERE)
def test_inner_networks_are_never_reached(url: str, reach: Any) -> None:
    """Private, link-local and malformed addresses, other schemes and malformed URLs are refused."""
    with pytest.raises(ForbiddenUrl):
        check_url(url, reach=reach, resolve=resolve)


def test_public_addresses_need_permission() -> None:
    """A public address is reached only with permission, and at the address that was checked."""
    with pytest.raises(ForbiddenUrl, match="this machine"):
        check_url("https://public.example/hook", resolve=resolve)
    found = check_url("https://public.example/hook", reach={"loopback", "public"}, resolve=resolve)

    assert (found.addresses, found.port, found.host, found.secure) == (("93.184.215.14",), 443, "public.example", True)


def test_registration_refuses_them() -> None:
    """The control states why a URL is refused."""
    with pytest.raises(UsageError, match="only receivers on this machine"):
        Sandbox().register_endpoint("http://192.0.2.1/")


@pytest.fixture
def redirecting() -> Iterator[tuple[str, list[str]]]:
    """Yield a receiver that redirects all requests with a long answer, and the requested paths."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(307)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(b"x" * 100_000)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook", asked
        server.shutdown()
        thread.join()


def test_redirects_are_not_followed(redirecting: tuple[str, list[str]]) -> None:
    """A redirect is a failed attempt. At most a kilobyte of its body is stored."""
    url, asked = redirecting
    answered = post(check_url(url), {"content-type": "application/json"}, b"{}")

    assert (answered.status, answered.accepted, answered.length, asked) == (307, False, 1024, ["/hook"])


def test_receiver_without_http() -> None:
    """A receiver that does not answer in HTTP is a failed attempt."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        to = check_url(f"http://127.0.0.1:{listening.getsockname()[1]}/")

        def answer() -> None:
            with listening.accept()[0] as connection:
                connection.recv(10_000)
                connection.sendall(b"+OK\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        odd = post(to, {}, b"{}")
        thread.join()
        silent = post(to, {}, b"{}", seconds=0.1)
    refused = post(to, {}, b"{}")

    assert (odd.accepted, silent.error, refused.error) == (False, "no response in time", "connection refused")


@pytest.mark.parametrize("others", [["::1"], ["127.0.0.2"], ["::1", "127.0.0.3"]], ids=" ".join)
def test_every_address_of_a_host_is_tried(others: list[str], redirecting: tuple[str, list[str]]) -> None:
    """If only one of a host's addresses accepts connections, the application there gets the delivery once."""
    url, asked = redirecting
    target = check_url(url.replace("127.0.0.1", "localhost"), resolve=lambda *_: [*others, "127.0.0.1"])

    assert post(target, {}, b"{}").status == 307
    assert asked == ["/hook"]


STEPS = {
    "nothing": (b"", 1),
    "a byte of the status line": (b"HTTP/1.1 204 No Content\r\n", 1),
    "a byte of a header": (b"HTTP/1.1 204 No Content\r\nx: " + b"y" * 1_000, 30),
    "a header": (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 90, 30),
    "informational answers": (b"HTTP/1.1 100 Continue\r\n\r\n" * 90, 30),
    "a byte of the body": (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 900, 22),
}


@each("text, at_once", STEPS.values(), ids=STEPS)
def test_one_deadline_for_a_delivery(text: bytes, at_once: int) -> None:
    """An exchange that takes too long is ended, even if the receiver sends bytes before each socket timeout."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def send_slowly() -> None:
            with listening.accept()[0] as connection, contextlib.suppress(OSError):
                for start in range(0, len(text), at_once):
                    if start and stop.wait(0.02):
                        return
                    connection.sendall(text[start : start + at_once])
                stop.wait(5)

        thread = threading.Thread(target=send_slowly)
        thread.start()
        began = time.monotonic()
        result = post(check_url(f"http://127.0.0.1:{listening.getsockname()[1]}/"), {}, b"{}", seconds=0.15)
        took = time.monotonic() - began
        stop.set()
        thread.join()

    assert took < 3  # without a deadline, the exchange lasts five seconds
    assert (result.status, result.error) in {(None, "no response in time"), (200, None)}
    assert (result.status == 200) is text.startswith(b"HTTP/1.1 200 OK\r\n\r\n")


@pytest.mark.parametrize(
    "seconds, error", [(5.0, "not sent: the host name was not resolved"), (0.9, "no response in time")]
)
def test_resolving_a_name_counts(seconds: float, error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name resolution that hangs is ended at the deadline. A slow one leaves the remaining time to the exchange."""
    monkeypatch.setattr("workbench.base.system.http_post.TIMEOUT", 1.0)
    stop = threading.Event()

    def resolve_slowly(*_: object) -> list[str]:
        stop.wait(seconds)
        return ["127.0.0.1"]

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://slow.example:{silent.getsockname()[1]}/"
        began = time.monotonic()
        result = send(url, {}, b"{}", check=partial(check_url, resolve=resolve_slowly))
        took = time.monotonic() - began
        stop.set()

    assert result.status is None
    assert str(result.error).startswith(error)
    assert 1 <= took < 1.8  # a deadline that starts after the resolution would end at 1.9 seconds


def test_an_error_of_the_resolver_is_an_unknown_host() -> None:
    for failure in (socket.gaierror(-2, "unknown"), UnicodeError("label too long")):

        def fail(*_: object, failure: Exception = failure) -> list[str]:
            raise failure

        with pytest.raises(ForbiddenUrl, match=r"^unknown host$"):
            check_url("http://nowhere.example/", resolve=fail)


LEADS_HERE = (
    "64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b:1::7f00:1 2002:7f00:1:: 2002:a00:1:: ::ffff:7f00:1 ::127.0.0.1 "
    "::ffff:0:127.0.0.1 2001:0:7f00:1:: 192.0.0.8 fec0::1 5f00::1 100::1 :: ff02::1"
)


@each("address", LEADS_HERE.split())
def test_an_address_that_leads_here_is_not_public(address: str) -> None:
    """The IPv4 address inside a translated address counts. Only the global part of IPv6 is public."""
    with pytest.raises(ForbiddenUrl):
        check_url("https://example.com/", reach=("public",), resolve=lambda *_: [address])


@pytest.mark.parametrize("address", ["2606:4700::1111", "64:ff9b::808:808", "93.184.215.14"])
def test_a_public_address_is_public(address: str) -> None:
    target = check_url("https://example.com/", reach=("public",), resolve=lambda *_: [address])

    assert target.addresses == (address,)


@pytest.mark.parametrize("host", ["a..b", "x" * 300, "[v1.a]", "[::1%25lo]"])
def test_a_name_that_no_host_can_have_is_refused(host: str) -> None:
    with pytest.raises(ForbiddenUrl):
        check_url(f"http://{host}/")


@pytest.mark.parametrize("host", ["x.localhost", "a.b.localhost."])
def test_a_name_below_localhost_leads_here(host: str) -> None:
    """The resolver's answer does not matter."""
    target = check_url(f"http://{host}/", reach=("loopback",), resolve=lambda *_: ["203.0.113.5"])
    assert target.addresses == ("127.0.0.1", "::1")
    with pytest.raises(ForbiddenUrl):
        check_url(f"https://{host}/", reach=("public",), resolve=lambda *_: ["203.0.113.5"])
