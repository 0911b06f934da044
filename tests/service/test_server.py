"""The HTTP server refuses invalid requests in the documented format, and continues to work."""

import asyncio
import inspect
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.each import each
from tests.interrupts import start_of_python
from tests.service.plain import Plain
from workbench.base.system import http_server
from workbench.base.system.http_server import PortTaken
from workbench.base.system.messages import Request
from workbench.sandbox import Sandbox
from workbench.sandbox.controls import CONTROLS
from workbench.sandbox.extensions import ROWS
from workbench.sandbox.internals import internals
from workbench.sandbox.server import introduction, refused
from workbench.service.interface.assumptions import settings
from workbench.service.interface.openapi import document

CONTRACTS = "/v1/issuing/tenants/contracts"
AUTHORIZE = "/v1/simulate/transactions/authorize"
NOBODY = "00000000-0000-4000-8000-000000000000"

REFUSED: dict[str, tuple[int, str, str, Any, dict[str, str]]] = {
    "no key": (401, "GET", CONTRACTS, None, {"Api-Key": ""}),
    "wrong key": (401, "GET", CONTRACTS, None, {"Api-Key": "nobody's"}),
    "unknown path": (404, "GET", "/v1/cards", None, {}),
    "root": (404, "GET", "/", None, {}),
    "no prefix": (404, "GET", "/issuing/tenants/contracts", None, {}),
    "two slashes": (404, "GET", "//v1/issuing/tenants/contracts", None, {}),
    "dots": (404, "GET", "/v1/../_sandbox/guide", None, {}),
    "escaped slash": (404, "GET", "/_sandbox%2fguide", None, {}),
    "another method": (405, "PUT", CONTRACTS, None, {}),
    "preflight": (405, "OPTIONS", CONTRACTS, None, {}),
    "trace": (405, "TRACE", CONTRACTS, None, {}),
    "a page's origin": (403, "GET", CONTRACTS, None, {"Origin": "https://example.com"}),
    "no origin at all": (403, "POST", AUTHORIZE, b"{}", {"Origin": "null"}),
    "origin of another port": (403, "GET", "/_sandbox/guide", None, {"Origin": "http://127.0.0.1:1"}),
    "another host": (421, "GET", "/_sandbox/guide", None, {"Host": "example.com"}),
    "rebound host": (421, "GET", CONTRACTS, None, {"Host": "127.0.0.1.example.com:80"}),
    "a form": (400, "POST", AUTHORIZE, b"a=b", {"Content-Type": "application/x-www-form-urlencoded"}),
    "text": (400, "POST", AUTHORIZE, b"{}", {"Content-Type": "text/plain"}),
    "cut JSON": (400, "POST", AUTHORIZE, b'{"cardId":', {}),
    "a list": (400, "POST", AUTHORIZE, b"[]", {}),
    "deep JSON": (400, "POST", AUTHORIZE, b"[" * 200_000, {}),
    "NaN": (400, "POST", AUTHORIZE, b'{"amount":NaN}', {}),
    "not UTF-8": (400, "POST", AUTHORIZE, b'{"cardId":"\xff"}', {}),
    "amount beyond 64 bits": (400, "POST", AUTHORIZE, {"cardId": NOBODY, "amount": 2**63, "currency": "USD", "merchantName": "x", "merchantCategoryCode": "5411"}, {}),
    "NUL": (400, "POST", AUTHORIZE, {"cardId": NOBODY, "amount": 1, "currency": "USD", "merchantName": "\0", "merchantCategoryCode": "5411"}, {}),
    "half a surrogate": (400, "POST", AUTHORIZE, b'{"cardId":"\\ud800"}', {}),
    "1.2 MB": (413, "POST", AUTHORIZE, b" " * 1_200_000, {}),
    "query with everything": (400, "GET", "/v1/issuing/rewards/activity?limit=%00%ff&userId=%F0%9F&&=&limit", None, {}),
    "control without a key": (401, "POST", "/_sandbox/reset", {}, {"Api-Key": ""}),
    "unknown control": (404, "POST", "/_sandbox/fork", {}, {}),
    "inner control": (404, "POST", "/_sandbox/_replace", {}, {}),
    "control by GET": (405, "GET", "/_sandbox/reset", None, {}),
    "control as a form": (415, "POST", "/_sandbox/reset", b"{}", {"Content-Type": "text/plain"}),
    "control with broken JSON": (400, "POST", "/_sandbox/reset", b"{", {}),
    "control with a list": (400, "POST", "/_sandbox/reset", b"[]", {}),
    "control with an unknown argument": (400, "POST", "/_sandbox/reset", {"hard": True}, {}),
    "control with a wrong type": (400, "POST", "/_sandbox/state", {"record_id": 7}, {}),
    "drain with a wrong type": (400, "POST", "/_sandbox/drain", {"after": "x"}, {}),
    "endpoint elsewhere": (400, "POST", "/_sandbox/register_endpoint", {"endpoint_url": "http://192.0.2.1/"}, {}),
    "fault of no kind": (400, "POST", "/_sandbox/add_fault", {"kind": "earthquake"}, {}),
    "openapi by POST": (405, "POST", "/openapi.json", {}, {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plain]:
    """Yield a client of one served sandbox, for requests that change nothing."""
    sandbox = Sandbox(path=tmp_path_factory.mktemp("door") / "sandbox.db")
    with sandbox.serve() as url, Plain(url) as made:
        yield made
    sandbox.close()


@each("case", REFUSED.values(), ids=REFUSED)
def test_refused_in_the_documented_shape(door: Plain, case: tuple[int, str, str, Any, dict[str, str]]) -> None:
    """A wrong request gets its status and the documented error body, and the next request is answered."""
    expected, method, path, body, headers = case
    status, said, found = door.send(method, path, body, headers)

    assert status == expected
    assert set(said) == {"statusCode", "error", "message"}
    assert (said["statusCode"], found["content-type"]) == (expected, "application/json")
    assert not re.search(r"Traceback|\.py|/home|object at", json.dumps(said))
    assert not any(name.startswith("access-control") for name in found)
    door.connection.close()
    assert door.send("GET", CONTRACTS)[0] == 200


def test_key_of_another_role_controls_nothing(door: Plain) -> None:
    """A key with limited roles cannot use the controls."""
    limited = door.guide["api_keys"]["read only"]
    status, said, _ = door.send("POST", "/_sandbox/reset", {}, {"Api-Key": limited})
    unknown, also_said, _ = door.send("POST", "/_sandbox/reset", {}, {"Api-Key": "a key of nobody"})

    assert (status, said["message"]) == (403, "Controls need the full key")
    assert (unknown, also_said["message"]) == (401, "Invalid or missing API key")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["api-key", "API-KEY", "aPi-KeY"])
def test_header_names_in_any_case(plain: Plain, name: str) -> None:
    """The key header is accepted in any letter case."""
    key, plain.key = plain.key, None

    assert plain.send("GET", CONTRACTS, headers={name: key or ""})[0] == 200


def test_another_host_is_named(door: Plain) -> None:
    """A refused host name is quoted without control characters, with the option that allows it."""
    _, said, _ = door.send("GET", CONTRACTS, headers={"Host": "sandbox.example:80"})
    _, odd, _ = door.send("GET", CONTRACTS, headers={"Host": "a\xad\x85b"})

    assert said["message"].startswith(
        "sandbox.example is not a host name of this server: start the server with --host-name"
    )
    assert odd["message"].isprintable()


@pytest.mark.parametrize("host", ["10.1.2.3:8080", "sandbox.example", "[fe80::1]"])
def test_health_answers_to_any_host(door: Plain, host: str) -> None:
    """The health path answers to any host name, as load balancers need. No other path does."""
    assert door.send("GET", "/_sandbox/health", headers={"Host": host})[:2] == (200, {"status": "ok"})
    for path in ("/_sandbox/guide", "/_sandbox/health/", "/_sandbox//health", "/openapi.json", CONTRACTS):
        assert door.send("GET", path, headers={"Host": host})[0] == 421


READ = ("/_sandbox/health", "/_sandbox/openapi.json", "/_sandbox/guide", "/openapi.json", "/docs/")


@pytest.mark.parametrize("path", READ)
def test_what_is_read_answers_head(door: Plain, path: str) -> None:
    """HEAD returns the headers of GET without a body. Other methods get 405 with the allowed methods."""
    status, body, headers = door.send_raw("HEAD", path)
    _, content, of_get = door.send_raw("GET", path)
    refused_status, _, of_refusal = door.send("PUT", path)

    assert (status, body) == (200, b"")
    assert headers == of_get
    assert int(headers["content-length"]) == len(content)
    assert refused_status == 405
    assert of_refusal["allow"] == ("GET, HEAD, POST" if path.endswith("guide") else "GET, HEAD")


@pytest.mark.parametrize("forwarded", [False, True])
@pytest.mark.parametrize("prefix", ["/team", "/a/b", "team", "//evil.example", "/a?b", "/", "", "/team/"])
def test_addresses_follow_the_caller(forwarded: bool, prefix: str) -> None:
    """Guide and documents use the request's host. A proxy's headers count only with `forwarded`."""
    sandbox = Sandbox(api_key="a-key-of-sixteen")
    app = internals(sandbox).http_app("http://127.0.0.1:1", forwarded=forwarded)
    sent = {"host": "sandbox.example", "x-forwarded-prefix": prefix, "x-forwarded-proto": "HTTPS, http"}

    def get(path: str, **headers: str) -> Any:
        answer = asyncio.run(app.handle(Request("GET", path, headers=sent | headers, local=True)))
        return json.loads(answer.body)

    outer = prefix.rstrip("/") if forwarded and prefix in {"/team", "/team/", "/a/b"} else ""
    scheme = "https" if forwarded else "http"
    key = {"api-key": sandbox.full_key}
    assert get("/_sandbox/guide", **key)["base_url"] == f"{scheme}://sandbox.example{outer}/v1"
    assert get("/openapi.json")["servers"] == [{"url": f"{outer}/v1"}]
    assert get("/openapi.json")["externalDocs"]["url"] == f"{scheme}://sandbox.example{outer}/_sandbox/openapi.json"
    assert get("/_sandbox/openapi.json")["servers"] == [{"url": f"{outer}/_sandbox"}]
    # only a local client gets the keys without a key, and a client of a proxy is not local
    assert ("api_keys" in get("/_sandbox/guide")) is not forwarded


@pytest.mark.slow
def test_guide_needs_no_key_here(plain: Plain) -> None:
    """On this machine the guide needs no key, and contains the URL that was called."""
    plain.key = None
    status, guide, _ = plain.send("GET", "/_sandbox/guide")

    assert status == 200
    assert guide["base_url"] == f"{plain.url}/v1"


def test_the_document_is_a_page(door: Plain) -> None:
    """The page shows each operation with its fields, errors and a command, and loads nothing else."""
    status, page, headers = door.send_raw("GET", "/docs/")
    text = page.decode()
    _, described, _ = door.send("GET", "/openapi.json")

    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    for path, methods in described["paths"].items():
        for method, row in methods.items():
            assert f"<code>{method.upper()} {path}</code>" in text
            assert f'id="{row["operationId"]}"' in text
    assert f"curl -X POST {door.url}/v1/simulate/transactions/authorize" in text
    assert re.findall(r"<script|<link rel=\"(?!icon)|src=", text) == []
    assert door.send("POST", "/docs/")[0] == 405
    assert door.send("GET", "/docs/../core.py")[0] == door.send("GET", "/docs/index.html")[0] == 404


def test_openapi_document(door: Plain) -> None:
    """The served OpenAPI document equals the generated one, with this server's address."""
    status, described, _ = door.send("GET", "/openapi.json")

    expected = document(server="/v1", more=ROWS.values(), settings=settings("documented"))
    linked = described.pop("externalDocs")
    assert (status, described) == (200, json.loads(json.dumps(expected)))
    assert linked["url"] == f"{door.url}/_sandbox/openapi.json"
    assert described["servers"] == [{"url": "/v1"}]
    assert {op["operationId"] for path in described["paths"].values() for op in path.values() if "operationId" in op}


@pytest.mark.slow
def test_openapi_document_of_the_controls(door: Plain) -> None:
    """The document has each control with its Python name and arguments, and the server enforces its types."""
    embedded = Sandbox()
    from openapi_spec_validator import OpenAPIV31SpecValidator

    status, described, _ = door.send("GET", "/_sandbox/openapi.json")
    bodies = described["components"]["schemas"]
    rows = {path[1:]: row["post"] for path, row in described["paths"].items() if "post" in row}
    bodies = {name: bodies[_body_schema(row)] for name, row in rows.items()}

    assert (status, described["servers"]) == (200, [{"url": "/_sandbox"}])
    assert list(OpenAPIV31SpecValidator(described).iter_errors()) == []
    assert {path for path, row in described["paths"].items() if "get" in row} == {"/guide", "/health"}
    assert {name: [*body["properties"]] for name, body in bodies.items()} == {
        name: [parameter for parameter in row.signature.parameters if parameter != "self"]
        for name, row in CONTROLS.items()
    }
    for name, body in bodies.items():
        python = rows[name]["x-python"].removeprefix("sandbox.")
        assert callable(attrgetter(python)(embedded)), python
        assert door.send("POST", f"/_sandbox/{name}", {"unknown": 1})[0] == 400, name
        for argument, schema in body["properties"].items():
            given = dict.fromkeys(body.get("required", ())) | {argument: ["neither"]}
            assert door.send("POST", f"/_sandbox/{name}", given)[0] == 400, (name, argument, schema)


def _body_schema(operation: dict[str, Any]) -> str:
    content = operation["requestBody"]["content"]["application/json"]
    return content["schema"]["$ref"].rpartition("/")[2]


@pytest.mark.slow
def test_settle_route_is_marked(plain: Plain) -> None:
    """Settling is not in the document, and its response is marked as assumed."""
    card = plain.guide["cards"]["active"][0]
    purchase = {"cardId": card, "amount": 500, "currency": "USD", "merchantName": "x", "merchantCategoryCode": "5411"}
    held = plain.call("POST", "/simulate/transactions/authorize", purchase)
    status, said, found = plain.send(
        "POST", f"/v1/simulate/transactions/{held['transactionId']}/settle", {"amount": 500}
    )

    assert (status, said["status"]) == (200, "settled")
    assert "settle_route" in found["workbench-assumed"]


@pytest.mark.slow
def test_slow_client_disturbs_nobody(plain: Plain) -> None:
    """Requests are answered while other connections are silent or send half a request."""
    parts = urlsplit(plain.url)
    idle = [socket.create_connection((parts.hostname, parts.port)) for _ in range(50)]
    for one in idle[::2]:
        one.sendall(b"POST /v1/payment-accounts HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
    answers = {plain.send("GET", CONTRACTS)[0] for _ in range(20)}
    for one in idle:
        one.close()

    assert answers == {200}


def test_smuggled_request(door: Plain) -> None:
    """A request with two lengths, or with a length and chunks, is refused."""
    parts = urlsplit(door.url)
    for headers in (b"content-length: 3\r\ncontent-length: 5", b"content-length: 3\r\ntransfer-encoding: chunked"):
        with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
            connection.sendall(
                b"POST /v1/x HTTP/1.1\r\nhost: localhost\r\n" + headers + b"\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"
            )

            assert connection.recv(100).startswith(b"HTTP/1.1 400")


@pytest.mark.slow
def test_session_on_a_served_sandbox(url: str) -> None:
    """`connect(url)` opens a session with the same controls, and its inbox receives the sandbox's events."""
    import workbench as wb

    with wb.connect(url) as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        made = api.simulate_authorization(
            card_id=card, amount=700, currency="USD", merchant_name="x", merchant_category_code="5411"
        )
        api.sandbox.settle(made.transaction_id)
        event = api.inbox.wait("transaction.completed", where={"body.id": made.transaction_id}, timeout=10)
        before = api.sandbox.clock.now()

        assert event.body.spend.amount == 700
        assert (api.sandbox.advance(minutes=2).now - before).total_seconds() == 120
        assert set(dir(api.sandbox)) >= {"settle", "advance", "review", "create", "cards", "clock"}
        assert list(inspect.signature(api.sandbox.settle).parameters) == ["transaction_id", "amount"]
        with pytest.raises(wb.NotFound, match="Transaction not found"):
            api.sandbox.settle(NOBODY)
        with pytest.raises(wb.errors.UsageError):
            api.sandbox.settle()
        with pytest.raises(AttributeError, match="has no control"):
            api.sandbox.no_such_thing  # noqa: B018


@pytest.mark.slow
def test_no_control_of_a_real_service(tmp_path: Path) -> None:
    """A service that is not a sandbox is recognized, and nothing is sent to unexpected paths."""
    import http.server
    import threading

    import workbench as wb
    from workbench.sandbox.remote import RemoteSandbox

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        server.RequestHandlerClass.log_message = lambda *_: None  # type: ignore[assignment,method-assign]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        with pytest.raises(wb.errors.WrongEnvironment, match="controls"):
            RemoteSandbox(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()
    with pytest.raises(wb.errors.WrongEnvironment, match="TLS"):
        RemoteSandbox("http://192.0.2.1:8080")
    with pytest.raises(wb.errors.WrongEnvironment):
        RemoteSandbox("ftp://127.0.0.1")


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_real_service_is_not_connected_to_by_its_url(status: int) -> None:
    """The error says what answered at the URL, and how to connect to a service or a sandbox."""
    import workbench as wb

    with (
        http_server.running(lambda _: refused(status, "No such route"), refusal=refused) as url,
        pytest.raises(wb.errors.WrongEnvironment) as caught,
    ):
        wb.connect(url, api_key="a-key-of-the-service")

    assert f'127.0.0.1 answered {status} "No such route" for /_sandbox/guide.' in str(caught.value)
    assert all(
        way in str(caught.value)
        for way in ("with a profile", "wb.Client(base_url=…", "api_key=FULL_KEY", "its complete URL")
    )


@pytest.mark.slow
def test_a_key_opens_a_published_sandbox() -> None:
    """A sandbox behind a published port is opened with its key."""
    import workbench as wb

    sandbox = Sandbox(api_key="a-key-that-was-given")
    with (
        http_server.serving(lambda url: internals(sandbox).http_app(url, local=False).handle, refusal=refused) as url,
        wb.connect(url, api_key="a-key-that-was-given") as api,
    ):
        assert api.sandbox.guide()["api_keys"]["full"] == "a-key-that-was-given"
        with pytest.raises(wb.errors.WrongEnvironment, match="401"):
            wb.connect(url, api_key="another-key-altogether")
        with pytest.raises(wb.errors.WrongEnvironment, match="api_key=FULL_KEY"):
            wb.connect(url)


@pytest.mark.slow
def test_another_sandbox_on_the_same_port(tmp_path: Path) -> None:
    """A control notices that another sandbox now answers at the URL."""
    import workbench as wb
    from workbench.sandbox.remote import RemoteSandbox

    with Sandbox(seed=1).serve() as url:
        remote = RemoteSandbox(url)
    with (
        Sandbox(seed=2).serve(port=urlsplit(url).port or 0),
        pytest.raises((wb.errors.WrongEnvironment, wb.errors.Unauthorized)),
    ):
        remote.reset()


def test_introduction_says_what_matters(sandbox: Sandbox) -> None:
    """The introduction shows the base URL, every key with its permissions, and a warning about the addresses."""
    said = "\n".join(introduction(sandbox, "http://127.0.0.1:1"))

    assert "http://127.0.0.1:1/v1" in said
    assert all(name in said and key in said for name, key in sandbox.guide()["api_keys"].items())
    assert "do not send funds" in said


@pytest.mark.slow
def test_served_until_interrupted(tmp_path: Path) -> None:
    """The command serves, prints keys and limits, and ends at Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", "sandbox", "serve", "--db", tmp_path / "sandbox.db"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    with Plain(url) as plain:
        key = plain.key
        assert plain.send("GET", CONTRACTS)[0] == 200
    os.kill(process.pid, signal.SIGINT)
    _, printed = process.communicate(timeout=20)

    assert (process.returncode, "Traceback" in printed) == (130, False)
    assert f"{url}/v1" in printed
    assert str(key) in printed
    assert "do not send funds" in printed
    assert str(tmp_path / "sandbox.db") in printed.splitlines()[-1]


@pytest.mark.parametrize("command", [("sandbox", "serve"), ("events", "listen", "--fresh")], ids=["serve", "listen"])
@pytest.mark.parametrize(
    "count",
    [
        pytest.param(1, id="1", marks=pytest.mark.slow),
        pytest.param(500, id="500", marks=[pytest.mark.soak, pytest.mark.timeout(7_200)]),
    ],
)
def test_the_command_ends_at_sigterm_at_any_moment(command: tuple[str, ...], count: int) -> None:
    """SIGTERM ends the command within 3 s, 0 to 50 ms after it is ready."""
    took = []
    for i in range(count):
        words = [sys.executable, "-m", "workbench", *command]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            ready = process.stdout if command[0] == "sandbox" else process.stderr
            assert ready is not None
            assert ready.readline()
            time.sleep(i % 11 * 0.005)
            process.terminate()
            began = time.monotonic()
            process.communicate(timeout=20)
            took.append(time.monotonic() - began)

        assert process.returncode == 143
    print(f"{' '.join(command)}: {count:,} times ended by SIGTERM, slowest {max(took):.2f} s")
    assert max(took) < 3 or max(took) < 20 * start_of_python()


@pytest.mark.slow
def test_the_command_serves_others_with_tls(tmp_path: Path) -> None:
    """On every address the command needs a host name, uses random keys, and prints the certificate's fingerprint."""
    command = [sys.executable, "-m", "workbench", "sandbox", "serve", "--host", "0.0.0.0", "--db", tmp_path / "s.db"]
    nameless = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    command += ["--host-name", "localhost", "--self-signed"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        process.terminate()
        _, printed = process.communicate(timeout=20)

    assert (nameless.returncode, "--host-name" in nameless.stderr) == (2, True)
    assert url.startswith("https://localhost:")
    assert re.search(r"SHA-256 fingerprint: ([0-9A-F]{2}:){31}[0-9A-F]{2}\n", printed)
    assert (tmp_path / "sandbox-tls.crt").exists()
    assert Sandbox().full_key not in printed


@pytest.mark.slow
def test_the_command_refuses_a_port_that_is_taken(tmp_path: Path) -> None:
    """`sandbox serve --port N` names a port in use and ends; it never takes another port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "workbench", "sandbox", "serve", "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode != 0
    assert port in done.stderr
    assert "http://" not in done.stdout


@pytest.mark.slow
def test_port_that_is_taken(sandbox: Sandbox, url: str) -> None:
    """A second sandbox on the same port is refused with the port's number."""
    port = urlsplit(url).port or 0

    with pytest.raises(PortTaken, match=f"Port {port} "), Sandbox().serve(port=port):
        pass
