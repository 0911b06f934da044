"""Real sockets on this machine: servers that answer late, slowly or partly, redirect, or send decompression bombs."""

import asyncio
import contextlib
import gzip
import json
import multiprocessing
import re
import resource
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from tests.client.doubles import AUTHORIZED, KEY, PURCHASE, FakeClock, client_on
from tests.each import each
from tests.ports import free_port
from workbench.base.errors import (
    AdviceWarning,
    NoAnswer,
    NotSent,
    OutcomeUnknown,
    ResponseTooLarge,
    UnexpectedAnswer,
    UnexpectedRedirect,
    UsageError,
)
from workbench.client.calls import transports
from workbench.client.calls.client import AsyncClient, Client
from workbench.client.calls.effects import Outcome

Script = Callable[[socket.socket, bytes], bool]
"""Function that answers one request on a connection, and returns whether the connection stays open."""


class RawServer:
    """A small server that follows a script, and counts connections and requests."""

    def __init__(self, script: Script, context: ssl.SSLContext | None = None) -> None:
        self.script = script
        self.requests: list[bytes] = []
        self.connections = 0
        self.arrived = threading.Event()
        self.stopped = threading.Event()
        self._context = context
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._run(self._accept)

    @property
    def url(self) -> str:
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def _run(self, work: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=work, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            self._run(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(5)
        with contextlib.suppress(OSError), connection:
            wrapped = self._context.wrap_socket(connection, server_side=True) if self._context else connection
            with wrapped:
                while request := _request(wrapped):
                    self.requests.append(request)
                    self.arrived.set()
                    if not self.script(wrapped, request):
                        return

    def __enter__(self) -> "RawServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join()


def _request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return b""
        data += piece
    length = re.search(rb"content-length: (\d+)", data, re.IGNORECASE)
    wanted = data.index(b"\r\n\r\n") + 4 + int(length.group(1) if length else 0)
    while len(data) < wanted:
        data += connection.recv(65536)
    return data


def answer(body: Any, status: str = "200 OK", *headers: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def answering(body: Any, status: str = "200 OK", *headers: str) -> Script:
    def script(connection: socket.socket, _: bytes) -> bool:
        connection.sendall(answer(body, status, *headers))
        return True

    return script


def closing(data: bytes = b"") -> Script:
    def script(connection: socket.socket, _: bytes) -> bool:
        connection.sendall(data)
        return False

    return script


def resetting(connection: socket.socket, _: bytes) -> bool:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    return False


class _Silence:
    """Accepts a request and sends nothing until the server stops."""

    def __init__(self) -> None:
        self.server: RawServer | None = None

    def __call__(self, connection: socket.socket, _: bytes) -> bool:
        assert self.server is not None
        self.server.stopped.wait(5)
        return False


@contextlib.contextmanager
def silent() -> Iterator[RawServer]:
    silence = _Silence()
    with RawServer(silence) as server:
        silence.server = server
        yield server


@contextlib.contextmanager
def dripping(head: bytes) -> Iterator[RawServer]:
    """Send the head immediately, then single bytes at intervals, indefinitely."""
    silence = _Silence()

    def slow_bytes(connection: socket.socket, _: bytes) -> bool:
        connection.sendall(head)
        assert silence.server is not None
        while not silence.server.stopped.wait(0.02):
            connection.sendall(b"x")
        return False

    with RawServer(slow_bytes) as server:
        silence.server = server
        yield server


class Caller:
    """The synchronous or the asynchronous client, called in the same way."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __call__(self, url: str, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> Any:
        """Call once, and return the answer or error, and the client."""
        settings = {"base_url": url, "api_key": KEY, "clock": FakeClock(), **more}
        if self.kind is Client:
            with Client(**settings) as client:
                return self._tried(lambda: getattr(client, name)(**(arguments or {}))), client

        async def whole() -> Any:
            async with AsyncClient(**settings) as client:
                try:
                    return await getattr(client, name)(**(arguments or {})), client
                except Exception as error:  # noqa: BLE001 - returned to the test
                    return error, client

        return asyncio.run(whole())

    @staticmethod
    def _tried(work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - returned to the test
            return error


@pytest.fixture(params=[Client, AsyncClient], ids=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Caller:
    return Caller(request.param)


def ends(client: Any) -> list[Outcome]:
    return [entry.outcome for entry in client.journal]


def test_an_answer_comes_over_a_socket(call: Caller) -> None:
    """The complete client works over HTTP, with the key only in its header and not in the URL."""
    with RawServer(answering(AUTHORIZED)) as server:
        result, client = call(server.url, "simulate_authorization", PURCHASE)

    assert result.status == "authorized"
    assert ends(client) == [Outcome.DONE]
    assert f"\r\nApi-Key: {KEY}\r\n".encode() in server.requests[0]
    assert server.requests[0].startswith(b"POST /v1/simulate/transactions/authorize HTTP/1.1\r\nHost: 127.0.0.1:")


@pytest.mark.slow
def test_a_late_answer_leaves_the_end_unknown(call: Caller) -> None:
    """If the answer is late, the call is sent once and its outcome is unknown."""
    with silent() as server:
        result, client = call(server.url, "simulate_authorization", PURCHASE, timeout=2)

    assert isinstance(result, OutcomeUnknown)
    assert "no answer within 2 s" in str(result)
    assert len(server.requests) == 1
    assert ends(client) == [Outcome.UNKNOWN]


def test_a_closed_port_is_not_sent(call: Caller) -> None:
    """If no server listens, the call is tried three times and is not sent."""
    port = free_port()
    clock = FakeClock()
    result, client = call(f"http://127.0.0.1:{port}", "simulate_authorization", PURCHASE, clock=clock)

    assert isinstance(result, NotSent)
    assert ends(client) == [Outcome.NOT_SENT]
    assert clock.slept == [0.5, 1.0]


@pytest.mark.parametrize("script", [closing(), closing(b"HTTP/1."), resetting], ids=["closed", "cut", "reset"])
def test_a_connection_that_ends_leaves_the_end_unknown(call: Caller, script: Script) -> None:
    """If the connection ends before the status, an effect is unknown after one attempt, and a read is retried."""
    with RawServer(script) as server:
        result, client = call(server.url, "simulate_authorization", PURCHASE)
        written = len(server.requests)
        read, _ = call(server.url, "list_contracts")

    assert isinstance(result, OutcomeUnknown)
    assert ends(client) == [Outcome.UNKNOWN]
    assert (1, 4) == (written, len(server.requests))
    assert isinstance(read, NoAnswer)


def test_a_kept_connection_that_ends(call: Caller) -> None:
    """If an idle connection closes at the moment of its reuse, a read uses a new connection."""
    seen = []

    def script(connection: socket.socket, request: bytes) -> bool:
        seen.append(request)
        if len(seen) == 2:
            return False
        connection.sendall(answer([]))
        return True

    with RawServer(script) as server, Client(base_url=server.url, api_key=KEY, clock=FakeClock()) as client:
        client.list_contracts()
        assert client.list_contracts() == []

    assert (3, 2) == (len(seen), server.connections)


def test_a_cut_success_is_done(call: Caller) -> None:
    """After a success with a cut body, an effect is done with an unreadable result, and a read is retried."""
    cut = answer(AUTHORIZED)[:-9]
    with RawServer(closing(cut)) as server:
        result, client = call(server.url, "simulate_authorization", PURCHASE)
        written = len(server.requests)
        read, _ = call(server.url, "list_contracts")

    assert isinstance(result, UnexpectedAnswer)
    assert ends(client) == [Outcome.DONE]
    assert (1, 4) == (written, len(server.requests))
    assert isinstance(read, NoAnswer)


@pytest.mark.slow
@pytest.mark.parametrize(
    "head, error, end",
    [(b"HTTP/1.1 200 OK\r\nX-Drip: ", OutcomeUnknown, Outcome.UNKNOWN),
     (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", UnexpectedAnswer, Outcome.DONE)],
    ids=["head", "body"],
)  # fmt: skip
def test_slow_servers_meet_the_deadline(call: Caller, head: bytes, error: type[Exception], end: Outcome) -> None:
    """A call ends at its deadline even if single bytes keep arriving."""
    with dripping(head) as server:
        begun = time.monotonic()
        result, client = call(server.url, "simulate_authorization", PURCHASE, timeout=2)
        took = time.monotonic() - begun

    assert isinstance(result, error)
    assert ends(client) == [end]
    assert took < 20  # without a time limit the call would last an hour


@pytest.mark.parametrize("status", ["302 Found", "307 Temporary Redirect"])
def test_the_key_never_goes_elsewhere(call: Caller, status: str) -> None:
    """A redirect to another server sends nothing there."""
    with RawServer(answering([])) as other, RawServer(answering(b"", status, f"Location: {other.url}/x")) as server:
        result, _ = call(server.url, "list_contracts")

    assert isinstance(result, UnexpectedRedirect)
    assert (1, 0) == (len(server.requests), other.connections)


@pytest.mark.slow
@pytest.mark.parametrize("size", [20_000_000, 200_000_000])
def test_bombs_are_not_unpacked(call: Caller, size: int) -> None:
    """A compressed answer of 200 MB stops at the size limit, and memory does not grow with it."""
    packed = gzip.compress(bytes(size), 9)
    with RawServer(answering(packed, "200 OK", "Content-Encoding: gzip")) as server:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        result, _ = call(server.url, "list_contracts")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    assert isinstance(result, ResponseTooLarge)
    assert grown < 50_000  # kB


def packings(content: bytes) -> dict[str, tuple[str, bytes]]:
    """Return a content in the encodings that servers use, each with the encoding's name."""
    half = len(content) // 2
    members = gzip.compress(content[:half]) + gzip.compress(content[half:])
    raw = zlib.compressobj(9, zlib.DEFLATED, -15)
    return {
        "gzip": ("gzip", gzip.compress(content)),
        "another name": ("X-GZIP", gzip.compress(content)),
        "two members": ("gzip", members),
        "filled up": ("gzip", gzip.compress(content) + bytes(20)),
        "deflate": ("deflate", zlib.compress(content)),
        "raw deflate": ("deflate", raw.compress(content) + raw.flush()),
        "gzip as deflate": ("deflate", gzip.compress(content)),
    }


@pytest.mark.parametrize("packing", packings(b""))
def test_packed_answers_are_read(call: Caller, packing: str) -> None:
    """Compressed answers are read."""
    encoding, packed = packings(b"[ ]")[packing]
    with RawServer(answering(packed, "200 OK", f"Content-Encoding: {encoding}")) as server:
        result, _ = call(server.url, "list_contracts")

    assert result == []


@each("size", [1, 2, 3, 7, 1000])
@each("packing", packings(b""))
def test_packed_answers_are_read_in_any_pieces(packing: str, size: int, sample: Callable[[str], bytes]) -> None:
    """Compressed answers are read in chunks of any size."""
    content = sample("list_contracts.200")
    encoding, packed = packings(content)[packing]
    pieces = (packed[start : start + size] for start in range(0, len(packed), size))
    headers = {"content-encoding": encoding}

    with client_on(lambda _: httpx.Response(200, content=content)) as plain:
        expected = plain.list_contracts()
    with client_on(lambda _: httpx.Response(200, headers=headers, content=pieces)) as client:
        assert expected == client.list_contracts() != []


def test_wrongly_packed_answers_are_unreadable(call: Caller) -> None:
    """A body that does not match its encoding raises an error of this package."""
    with RawServer(answering(b"not gzip", "200 OK", "Content-Encoding: gzip")) as server:
        result, client = call(server.url, "simulate_authorization", PURCHASE)

    assert isinstance(result, UnexpectedAnswer)
    assert ends(client) == [Outcome.DONE]


# processes, threads, loops


def _echo(connection: socket.socket, request: bytes) -> bool:
    asked = re.search(rb"PATCH /v1/issuing/users/([0-9a-f-]+)", request)
    assert asked is not None
    connection.sendall(answer({"id": asked.group(1).decode()}))
    return True


def _user(i: int) -> str:
    return f"3f2a0b1c-0000-4000-8000-{i:012d}"


@pytest.mark.slow
def test_each_thread_gets_its_own_answer() -> None:
    """Of 64 threads on one client, each gets the answer to its own call."""
    with RawServer(_echo) as server, Client(base_url=server.url, api_key=KEY) as client, ThreadPoolExecutor(64) as pool:
        found = list(pool.map(lambda i: client.update_user(user_id=_user(i), first_name="A").id, range(256)))

    assert found == [_user(i) for i in range(256)]


def _in_child(client: Client, results: Any, start: int) -> None:
    results.put([client.update_user(user_id=_user(i), first_name="A").id for i in range(start, start + 20)])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_opens_its_own_connections() -> None:
    """Parent and children that share a client never read each other's answers."""
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    with RawServer(_echo) as server, Client(base_url=server.url, api_key=KEY) as client:
        client.update_user(user_id=_user(0), first_name="A")
        children = [context.Process(target=_in_child, args=(client, results, 100 * n)) for n in (1, 2)]
        for child in children:
            child.start()
        mine = [client.update_user(user_id=_user(i), first_name="A").id for i in range(20)]
        theirs = sorted(results.get(timeout=10) for _ in children)
        for child in children:
            child.join()

    assert mine == [_user(i) for i in range(20)]
    assert theirs == [[_user(i) for i in range(start, start + 20)] for start in (100, 200)]


def test_the_plain_client_works_inside_a_loop() -> None:
    """The synchronous client works while an event loop is running, as in every notebook."""

    async def cell(url: str) -> Any:
        with Client(base_url=url, api_key=KEY) as client:
            return client.list_contracts()

    with RawServer(answering([])) as server:
        assert asyncio.run(cell(server.url)) == []


def test_an_awaited_client_may_meet_several_loops() -> None:
    """One AsyncClient works in several event loops, one after another."""
    with RawServer(answering([])) as server:
        client = AsyncClient(base_url=server.url, api_key=KEY)

        async def ask() -> Any:
            found = await client.list_contracts()
            await client.aclose()
            return found

        assert [asyncio.run(ask()) for _ in range(2)] == [[], []]


def test_a_canceled_call_is_unknown() -> None:
    """A task that is canceled while its call is in flight leaves an unknown outcome."""

    async def whole(url: str, server: RawServer) -> Any:
        async with AsyncClient(base_url=url, api_key=KEY) as client:
            task = asyncio.ensure_future(client.simulate_authorization(**PURCHASE))
            await asyncio.to_thread(server.arrived.wait, 5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return ends(client)

    with silent() as server:
        assert asyncio.run(whole(server.url, server)) == [Outcome.UNKNOWN]


def test_an_interrupt_before_the_first_byte_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is interrupted while connecting is recorded as not sent."""

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(transports.TimelyBackend, "connect_tcp", interrupted)
    client = Client(base_url="http://127.0.0.1:9", api_key=KEY)
    with pytest.raises(KeyboardInterrupt) as caught:
        client.simulate_authorization(**PURCHASE)

    assert ends(client) == [Outcome.NOT_SENT]
    assert "never left this machine" in caught.value.__notes__[0]


# TLS and the environment


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def _tls(authority: trustme.CA, name: str, **more: Any) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, **more).configure_cert(context)
    return context


@pytest.mark.slow
def test_own_certificates_are_trusted_where_said(call: Caller, authority: trustme.CA, tmp_path: Path) -> None:
    """`ca_file` trusts a service whose certificate comes from a private authority."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with RawServer(answering([]), _tls(authority, "127.0.0.1")) as server:
        result, _ = call(server.url, "list_contracts", ca_file=tmp_path / "ca.pem")

    assert result == []


@pytest.mark.slow
@pytest.mark.parametrize("case", ["unknown authority", "other name", "expired"])
def test_certificates_are_always_checked(call: Caller, authority: trustme.CA, tmp_path: Path, case: str) -> None:
    """An invalid certificate ends the call before anything is sent."""
    from datetime import UTC, datetime

    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    more = {"not_after": datetime(2020, 1, 1, tzinfo=UTC)} if case == "expired" else {}
    context = _tls(authority, "127.0.0.1" if case != "other name" else "other.example.com", **more)
    trusted = {} if case == "unknown authority" else {"ca_file": tmp_path / "ca.pem"}
    with RawServer(answering([]), context) as server:
        result, client = call(server.url, "simulate_authorization", PURCHASE, **trusted)

    assert isinstance(result, NotSent)
    assert "CERTIFICATE_VERIFY_FAILED" in str(result)
    assert ends(client) == [Outcome.NOT_SENT]
    assert server.requests == []


@pytest.fixture
def mutual(authority: trustme.CA) -> ssl.SSLContext:
    """Return the TLS context of a server that requires a client certificate of its authority."""
    context = _tls(authority, "127.0.0.1")
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    return context


@pytest.mark.slow
@pytest.mark.parametrize("files", ["two files", "one file"])
def test_a_certificate_of_the_client(
    call: Caller, authority: trustme.CA, mutual: ssl.SSLContext, tmp_path: Path, files: str
) -> None:
    """A service that requires a client certificate gets the configured one, from one file or two."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    issued = authority.issue_cert("client.example.com")
    issued.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    issued.cert_chain_pems[0].write_to_path(str(tmp_path / "certificate.pem"))
    issued.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "both.pem"))
    http = {"client_cert_file": str(tmp_path / "both.pem")}
    if files == "two files":
        http = {"client_cert_file": str(tmp_path / "certificate.pem"), "client_key_file": str(tmp_path / "key.pem")}
    with RawServer(answering([]), mutual) as server:
        result, _ = call(server.url, "list_contracts", ca_file=tmp_path / "ca.pem", http=http)

    assert result == []


def test_without_a_certificate_of_the_client(
    call: Caller, authority: trustme.CA, mutual: ssl.SSLContext, tmp_path: Path
) -> None:
    """Without a client certificate the service refuses the connection, and no request reaches it."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with RawServer(answering([]), mutual) as server:
        result, _ = call(server.url, "list_contracts", ca_file=tmp_path / "ca.pem", http={"retries": 0})

    assert isinstance(result, NoAnswer | NotSent)
    assert server.requests == []


def test_an_alert_while_the_answer_is_awaited(
    call: Caller, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS 1.3 may refuse a client after the handshake. In any step the call then ends without an answer."""

    def alert(*_: Any, **__: Any) -> bytes:
        raise ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] certificate required")

    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    for step in ("read", "write"):
        with monkeypatch.context() as patch, RawServer(answering([]), _tls(authority, "127.0.0.1")) as server:
            patch.setattr(f"httpcore._backends.anyio.AnyIOStream.{step}", alert)
            patch.setattr(f"workbench.client.calls.transports.TimelyStream.{step}", alert)
            result, _ = call(server.url, "list_contracts", ca_file=tmp_path / "ca.pem", http={"retries": 0})
        assert isinstance(result, NoAnswer)


@pytest.mark.slow
def test_a_certificate_that_cannot_be_loaded(call: Caller, authority: trustme.CA, tmp_path: Path) -> None:
    """A file without a certificate, or with an encrypted key, is refused before anything is sent, without a prompt."""
    from cryptography.hazmat.primitives import serialization

    issued = authority.issue_cert("client.example.com")
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    encrypted = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    )
    for content in (b"no certificate", encrypted + issued.cert_chain_pems[0].bytes()):
        (tmp_path / "both.pem").write_bytes(content)
        with RawServer(answering([]), _tls(authority, "127.0.0.1")) as server:
            result, _ = call(server.url, "list_contracts", http={"client_cert_file": str(tmp_path / "both.pem")})

        assert isinstance(result, UsageError)
        assert "http.client_cert_file cannot be loaded" in str(result)
        assert server.connections == 0


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"])
def test_proxies_of_the_environment_are_not_used(call: Caller, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy from the environment gets no request."""
    with RawServer(answering([])) as proxy, RawServer(answering([])) as server:
        monkeypatch.setenv(variable, proxy.url)
        result, _ = call(server.url, "list_contracts")

    assert result == []
    assert proxy.connections == 0


def test_netrc_is_not_read(call: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A .netrc file adds no header."""
    (tmp_path / ".netrc").write_text("default login somebody password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HOME", str(tmp_path))
    with RawServer(answering([])) as server:
        call(server.url, "list_contracts")

    assert b"authorization" not in server.requests[0].lower()


def test_a_key_log_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A warning before the first connection says that TLS keys are written to a file."""
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys.log"))
    client = Client(base_url="https://localhost:9", api_key=KEY, clock=FakeClock())
    with pytest.warns(AdviceWarning, match="SSLKEYLOGFILE"), pytest.raises(NotSent):
        client.list_contracts()


def test_no_setting_turns_checks_off() -> None:
    """No argument disables certificate checks or follows redirects."""
    import inspect

    names = set(inspect.signature(Client.__init__).parameters)

    assert not names & {"verify", "insecure", "follow_redirects", "trust_env", "proxy", "proxies"}


@pytest.mark.parametrize(
    "data, words",
    [
        (b"SSH-2.0-OpenSSH_9.0\r\n\r\n", "the answer is not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000, "the answer is not valid HTTP"),
        (b"", "the connection ended before the end of the answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[", "the connection ended before the end of the answer"),
    ],
    ids=["another protocol", "large header", "nothing", "cut"],
)
def test_an_answer_of_another_protocol_differs_from_a_lost_connection(data: bytes, words: str) -> None:
    """The error says whether the connection ended or something else than HTTP arrived."""
    with (
        RawServer(closing(data)) as server,
        Client(base_url=server.url, api_key=KEY, clock=FakeClock()) as client,
        pytest.raises((NoAnswer, UnexpectedAnswer), match=words),
    ):
        client.list_contracts()
