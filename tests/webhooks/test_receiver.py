"""The receiver over HTTP refuses invalid requests and reveals no details."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.each import each
from workbench.base.errors import InvalidWebhook
from workbench.client.webhooks.inbox import Inbox
from workbench.client.webhooks.verify import Sample
from workbench.client.webhooks.verify import sample as sample_event

KEY = "the-key"


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Inbox, str]]:
    """Yield an inbox with a key, and its URL."""
    with Inbox(keys=[KEY]) as inbox, inbox.serve() as url:
        yield inbox, url


def exchange(url: str, raw: bytes, wait: float = 20.0) -> bytes:
    """Send bytes over a new socket, and return the complete response."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=wait) as connection:
        try:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            assert raw  # the receiver refused the rest of the body, and its response may still have arrived
        answer = b""
        try:
            while chunk := connection.recv(65536):
                answer += chunk
        except ConnectionResetError:
            pass
        return answer


def request(url: str, body: bytes, method: str = "POST", target: str | None = None, **headers: str | None) -> bytes:
    """Return the bytes of a request. A header of None is omitted."""
    parts = urlsplit(url)
    fields = {
        "host": parts.netloc,
        "content-type": "application/json",
        "content-length": str(len(body)),
        "connection": "close",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = [f"{method} {target or parts.path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def status(answer: bytes) -> int:
    """Return the status of a response."""
    return int(answer.split(b" ", 2)[1])


def signed(**changes: str) -> tuple[Sample, dict[str, str]]:
    """Return a sample event and its signature header."""
    sample = sample_event("user.updated", KEY, **changes)
    return sample, {"signature": sample.headers["Signature"]}


def test_delivery_is_stored_and_acknowledged(served: tuple[Inbox, str]) -> None:
    """A signed POST is acknowledged with an empty body, and the event is stored."""
    inbox, url = served
    sample, headers = signed()
    answers = [exchange(url, request(url, sample.body, **headers)) for _ in range(2)]

    assert [status(answer) for answer in answers] == [204, 204]
    assert inbox.stored()[-1].raw == sample.body
    assert b"server:" not in answers[0].lower()


REFUSED = {
    "GET": (405, {"method": "GET"}),
    "OPTIONS": (405, {"method": "OPTIONS"}),
    "PUT": (405, {"method": "PUT"}),
    "another path": (404, {"target": "/"}),
    "a deeper path": (404, {"target": "/webhooks/.."}),
    "absolute target": (400, {"target": "http://example.com/x"}),
    "a page's origin": (403, {"origin": "https://example.com"}),
    "own origin": (403, {"origin": "http://127.0.0.1"}),
    "another host": (421, {"host": "example.com"}),
    "rebound host": (421, {"host": "127.0.0.1.example.com"}),
    "no host": (400, {"host": None}),
    "a form": (415, {"content_type": "application/x-www-form-urlencoded"}),
    "text": (415, {"content_type": "text/plain"}),
    "gzip": (415, {"content_encoding": "gzip"}),
    "no signature": (401, {"signature": None}),
    "another signature": (401, {"signature": "0" * 64}),
    "declared as large": (413, {"content_length": "50000000"}),
    "a number beyond numbers": (400, {"content_length": "9" * 40}),
    "negative length": (400, {"content_length": "-1"}),
    "a head of 40 kB": (431, {"x_more": "x" * 40_000}),
    "a head of 300 kB": (431, {"x_more": "x" * 300_000}),
}


@each("case", REFUSED.values(), ids=REFUSED)
def test_everything_else_is_refused(served: tuple[Inbox, str], case: tuple[int, dict[str, str | None]]) -> None:
    """A request in another form gets only a status, and nothing is stored."""
    inbox, url = served
    expected, changes = case
    sample, headers = signed()
    before = len(inbox)
    answer = exchange(url, request(url, sample.body, **{**headers, **changes}))  # type: ignore[arg-type]

    assert status(answer) == expected
    assert len(answer.partition(b"\r\n\r\n")[2]) < 40
    assert len(inbox) == before


@pytest.mark.parametrize("kind", [None, "application/json", "Application/JSON; charset=utf-8"])
def test_a_delivery_without_a_content_type_is_read(served: tuple[Inbox, str], kind: str | None) -> None:
    """A missing content type is accepted. A content type other than JSON is refused."""
    inbox, url = served
    sample, headers = signed()
    answer = exchange(url, request(url, sample.body, **{**headers, "content_type": kind}))  # type: ignore[arg-type]

    assert status(answer) == 204
    assert inbox.stored()[-1].raw == sample.body


def test_too_many_headers(served: tuple[Inbox, str]) -> None:
    """Ten thousand headers are refused."""
    many = b"".join(b"x%d: y\r\n" % i for i in range(10_000))
    answer = exchange(served[1], b"POST /webhooks HTTP/1.1\r\nhost: 127.0.0.1\r\n" + many + b"\r\n")

    assert status(answer) == 431


def test_large_body_in_chunks(served: tuple[Inbox, str]) -> None:
    """A body without a length is refused at the size limit."""
    url = served[1]
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    head = request(url, b"", content_length=None, transfer_encoding="chunked")
    answer = exchange(url, head + chunk * 40)

    assert status(answer) == 413
    assert [status(exchange(url, request(url, b" " * size))) for size in (2**20, 2**20 + 1)] == [401, 413]


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b'{"id":1,"id":1}'], ids=["none", "cut", "deep", "twice"])
def test_broken_body_that_is_signed(served: tuple[Inbox, str], body: bytes) -> None:
    """A signed but meaningless body is stored and acknowledged."""
    from workbench.client.webhooks.verify import sign

    assert status(exchange(served[1], request(served[1], body, signature=sign(body, KEY)))) == 204
    assert body in [delivery.raw for delivery in served[0].unreadable()]


@pytest.mark.parametrize("raw", [b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"\0" * 100], ids=["tls", "short", "nul"])
def test_what_is_not_http(served: tuple[Inbox, str], raw: bytes) -> None:
    """Bytes that are not HTTP get a 400."""
    assert status(exchange(served[1], raw)) == 400


def test_store_that_fails_is_not_acknowledged(tmp_path: Path, fill_disk: Callable[[bool], None]) -> None:
    """On a full disk the sender gets a 503. A retry is stored later."""
    with Inbox(tmp_path / "inbox.db", keys=[KEY]) as inbox, inbox.serve() as url:
        fill_disk(True)
        sample, headers = signed(application_reason="x" * 100_000)
        full = status(exchange(url, request(url, sample.body, **headers)))
        fill_disk(False)
        again = status(exchange(url, request(url, sample.body, **headers)))

        assert (full, again, len(inbox)) == (503, 204, 1)


@pytest.mark.parametrize(
    "arguments",
    [{"host": "0.0.0.0"}, {"hosts": ("tunnel.example",)}, {"host": "0.0.0.0", "path": "/" + "x" * 40}],
    ids=["public address", "tunnel", "public address and secret path"],
)
def test_public_without_keys_is_refused(arguments: dict[str, str]) -> None:
    """An inbox without keys cannot be opened to other machines."""
    with pytest.raises(InvalidWebhook, match="keys"), Inbox(accept_unsigned=True).serve(**arguments):  # type: ignore[arg-type]
        pass


@pytest.mark.parametrize("how", [{"keys": [KEY]}, {"path": "/" + "0123456789abcdef" * 2}], ids=["keys", "secret path"])
def test_tunnel(how: dict[str, object]) -> None:
    """An inbox is reachable through a tunnel's host name, with keys or on a path that cannot be predicted."""
    sample, headers = signed()
    with Inbox(keys=how.get("keys", ()), accept_unsigned="keys" not in how) as inbox:  # type: ignore[arg-type]
        with inbox.serve(hosts=("Tunnel.example",), path=str(how.get("path", "/webhooks"))) as url:
            answer = exchange(url, request(url, sample.body, host="tunnel.example", **headers))

        assert (status(answer), len(inbox)) == (204, 1)


def test_unsigned_on_loopback_is_marked() -> None:
    """Without keys the receiver accepts deliveries from this machine, and marks them."""
    sample = sample_event("user.updated")
    with Inbox(accept_unsigned=True) as inbox, inbox.serve() as url:
        answer = exchange(url, request(url, sample.body))

        assert (status(answer), [one.verified for one in inbox.stored()]) == (204, [False])


def test_handlers_run_while_serving(served: tuple[Inbox, str]) -> None:
    """An event received over HTTP reaches handlers and waits."""
    inbox, url = served
    seen: list[str] = []
    inbox.on("card.updated", name="seen")(lambda event: seen.append(event.id))
    sample = sample_event("card.updated", KEY)
    exchange(url, request(url, sample.body, signature=sample.headers["Signature"]))
    found = inbox.wait("card.updated", where={"id": sample.event.id}, timeout=10)
    while not seen:
        inbox.run_handlers()

    assert (found.id, seen) == (sample.event.id, [sample.event.id])
    assert inbox.stored()[-1].raw == sample.body


def test_what_was_not_stored_is_listed(served: tuple[Inbox, str]) -> None:
    """`refusals` lists the reason for each refused delivery: wrong key, duplicate, other host, path or content type."""
    inbox, url = served
    sample, headers = signed()
    exchange(url, request(url, sample.body, **headers))
    before = len(inbox.refusals)
    exchange(url, request(url, sample.body, **headers))
    exchange(url, request(url, sample.body, signature="0" * 64))
    exchange(url, request(url, sample.body, host="tunnel.example", **headers))
    exchange(url, request(url, sample.body, target="/", **headers))
    exchange(url, request(url, sample.body, content_type="text/plain", **headers))

    assert [one.reason for one in inbox.refusals[before:]] == [
        f"A duplicate of event {sample.event.id}.",
        "Missing or wrong signature.",
        "tunnel.example is not a host name of this server (421): allow it with hosts=[…], at a prompt with --allow-host.",
        "The path is not the inbox's (404).",
        "The content type is not JSON (415).",
    ]
