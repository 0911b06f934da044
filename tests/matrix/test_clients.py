"""Clients in other languages send all twelve operations and a signed delivery without loss, also behind proxies.

The sandbox's log of requests shows what arrived, byte for byte. The soak test writes clients.md with the programs that
are installed, and names the others.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs
import httpx
import pytest

import workbench as wb
from tests.openapi.calls import twelve_calls
from tests.openapi.requests import Sent, requests_of
from tests.ports import free_port
from workbench.service.interface.table import OPERATIONS, PREFIX

HERE = Path(__file__).parent
NODE_MODULES = HERE.parent / "openapi" / "node_modules"
KEY = "a-key-of-the-matrix"

pytestmark = pytest.mark.slow


@attrs.frozen
class Program:
    """A client program: its command, its arguments, and the Node package that it needs."""

    needs: str
    arguments: Sequence[str]
    files: str | None = None

    @property
    def missing(self) -> str:
        if shutil.which(self.needs) is None:
            return f"{self.needs} is not installed"
        return f"{self.files} is not installed" if self.files and not (NODE_MODULES / self.files).is_dir() else ""

    def statuses(self, sent: Sequence[Sent], folder: Path) -> list[int]:
        """Send requests in order, and return their statuses."""
        content = "\n".join(one.line for one in sent) + "\n"
        return [int(line) for line in run([self.needs, *self.arguments], folder, content).split()]


@attrs.frozen
class Curl(Program):
    """curl, which sends all requests in one process, and therefore over one connection if the server permits.

    Args:
        with_body: Further arguments of requests with a body.
    """

    with_body: Sequence[str] = ()

    def statuses(self, sent: Sequence[Sent], folder: Path) -> list[int]:
        command = [self.needs]
        for number, one in enumerate(sent):
            command += ["--next"] if number else []
            command += ["-sS", "-o", os.devnull, "-w", "%{http_code}\\n", "-X", one.method, *self.arguments]
            for name, value in one.headers.items():
                command += ["-H", f"{name}: {value}"]
            if one.body:
                command += self.with_body
                (folder / f"body{number}").write_bytes(one.body)
                command += ["--data-binary", f"@body{number}"]
            command.append(one.url)
        return [int(line) for line in run(command, folder, "").split()]


def run(command: Sequence[str], folder: Path, content: str) -> str:
    """Run a program and return its output."""
    done = subprocess.run(command, cwd=folder, input=content, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def script(name: str) -> str:
    return str(HERE / name)


CLIENTS: dict[str, Program] = {
    "curl": Curl("curl", ["--http1.1"]),
    "curl --http2": Curl("curl", ["--http2"]),
    "curl --http2, chunked": Curl("curl", ["--http2"], with_body=["-H", "Transfer-Encoding: chunked"]),
    "curl, Expect: 100-continue": Curl("curl", ["--http1.1"], with_body=["-H", "Expect: 100-continue"]),
    "curl --http2, Expect: 100-continue": Curl("curl", ["--http2"], with_body=["-H", "Expect: 100-continue"]),
    "curl --http1.0": Curl("curl", ["--http1.0"]),
    "Java": Program("java", [script("Calls.java")]),
    "Java, chunked": Program("java", [script("Calls.java"), "chunked"]),
    "Node fetch": Program("node", [script("calls.mjs"), "fetch"]),
    "Node http": Program("node", [script("calls.mjs"), "http"]),
    "Node http, chunked": Program("node", [script("calls.mjs"), "chunked"]),
    "Node axios": Program("node", [script("calls.mjs"), "axios"], "axios"),
    "Node undici": Program("node", [script("calls.mjs"), "undici"], "undici"),
    "Perl HTTP::Tiny": Program("perl", [script("calls.pl")]),
    "Perl HTTP::Tiny, chunked": Program("perl", [script("calls.pl"), "chunked"]),
    "Ruby Net::HTTP": Program("ruby", [script("calls.rb")]),
    "Ruby Net::HTTP, chunked": Program("ruby", [script("calls.rb"), "chunked"]),
    "PHP streams": Program("php", [script("calls.php")]),
    "Go net/http": Program("go", ["run", script("calls.go")]),
    "Go net/http, chunked": Program("go", ["run", script("calls.go"), "chunked"]),
}
QUICK = ("curl", "curl --http2", "curl --http2, chunked", "curl, Expect: 100-continue", "Java", "Java, chunked")


def lost(
    client: Program, sandbox: wb.Sandbox, base_url: str, inbox: wb.Inbox, receiver: str, folder: Path
) -> list[str]:
    """Send the twelve calls and a delivery, and return those that did not arrive unchanged."""
    sandbox.reset()
    calls = twelve_calls(sandbox)
    sandbox.requests()
    sample = wb.events.sample("user.updated", KEY)
    agent = f"matrix-{time.monotonic_ns()}"
    sent = requests_of(calls, base_url, sandbox.full_key, agent)
    delivery = Sent("POST", receiver, dict(sample.headers), sample.body)
    statuses = client.statuses([*sent, delivery], folder)
    entries = [entry for entry in sandbox.requests(reveal=True) if entry.headers.get("user-agent") == agent]
    wrong = []
    for number, call in enumerate(calls):
        arrived = entries[number] if number < len(entries) else None
        expected = OPERATIONS[call.operation].success
        if arrived is None or arrived.operation != call.operation:
            wrong.append(f"{call.operation}: arrived as {arrived and arrived.operation}")
        elif (statuses[number], arrived.status) != (expected, expected):
            wrong.append(f"{call.operation}: {statuses[number]} instead of {expected}: {arrived.answer}")
        elif call.body is not None and arrived.body != call.body:
            wrong.append(f"{call.operation}: another body arrived")
    if statuses[len(calls) :] != [204] or [stored.raw for stored in inbox.stored()][-1:] != [sample.body]:
        wrong.append(f"delivery: {statuses[len(calls) :]}")
    if len(entries) != len(calls):
        wrong.append(f"{len(entries)} requests arrived of {len(calls)}")
    return wrong


RESULTS = HERE / "clients.md"
PAGE = HERE.parents[1] / "docs" / "deployment.md"
UPGRADE = 'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade"; '
NGINX = """
worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log; daemon off; user root;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    {documented}
    location / {{ proxy_pass http://127.0.0.1:{receiver}; proxy_set_header Host $http_host; }}
  }}
}}
"""
HAPROXY = """
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend all
  bind 127.0.0.1:{port}
  use_backend sandbox if {{ path_beg /sandbox/ }}
  default_backend receiver
{documented}
backend receiver
  server receiver 127.0.0.1:{receiver}
"""
PROXIES: dict[str, tuple[str, Callable[[Path], list[str]]]] = {
    "nginx": (NGINX, lambda file: ["nginx", "-c", str(file)]),
    "haproxy": (HAPROXY, lambda file: ["haproxy", "-f", str(file)]),
}


def documented(name: str, sandbox: int) -> str:
    """Return the proxy configuration of docs/deployment.md; for nginx, extended by connection upgrades."""
    block = PAGE.read_text(encoding="utf-8").partition(f"```{name}\n")[2].partition("```")[0]
    assert "127.0.0.1:8080" in block
    block = block.replace("127.0.0.1:8080", f"127.0.0.1:{sandbox}")
    return block.replace("proxy_set_header Host", f"{UPGRADE}proxy_set_header Host") if name == "nginx" else block


@contextmanager
def proxy(name: str, folder: Path, sandbox: int, receiver: int) -> Iterator[str]:
    """Run a proxy in front of sandbox and receiver, and yield its URL."""
    text, command = PROXIES[name]
    port, file = free_port(), folder / f"{name}.conf"
    file.write_text(text.format(folder=folder, port=port, documented=documented(name, sandbox), receiver=receiver))
    with subprocess.Popen(
        command(file), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        url = f"http://127.0.0.1:{port}"
        for _ in range(100):
            try:
                httpx.get(url)
                break
            except httpx.HTTPError:
                time.sleep(0.05)
        try:
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.stderr is not None
            process.stderr.close()


@contextmanager
def served() -> Iterator[tuple[wb.Sandbox, str, wb.Inbox, str]]:
    """Yield a served sandbox with its URL, and a served inbox with its URL."""
    with (
        closing(wb.Sandbox(api_key="the-full-key-of-all")) as sandbox,
        wb.Inbox(keys=[KEY]) as inbox,
        sandbox.serve(forwarded=True) as url,
        inbox.serve() as receiver,
    ):
        yield sandbox, url, inbox, receiver


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[wb.Sandbox, str, wb.Inbox, str]]:
    with served() as made:
        yield made


@pytest.mark.parametrize("name", QUICK)
def test_nothing_is_lost(name: str, both: tuple[wb.Sandbox, str, wb.Inbox, str], tmp_path: Path) -> None:
    """Every call and a signed delivery arrive with their bodies, also from clients that offer HTTP/2."""
    sandbox, url, inbox, receiver = both
    if CLIENTS[name].missing:
        pytest.skip(CLIENTS[name].missing)

    assert lost(CLIENTS[name], sandbox, url + PREFIX, inbox, receiver, tmp_path) == []


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_the_matrix_of_clients_and_proxies(both: tuple[wb.Sandbox, str, wb.Inbox, str], tmp_path: Path) -> None:
    """All installed clients work, directly and behind each proxy. Behind a proxy, the guide has the proxy's URL."""
    sandbox, url, _, receiver = both
    table: dict[str, dict[str, Any]] = {name: {} for name in CLIENTS}
    place = urlsplit(receiver)
    row(table, "directly", (url + PREFIX, receiver), both, tmp_path)
    for front in PROXIES:
        if shutil.which(front) is None:
            continue
        with proxy(front, tmp_path, urlsplit(url).port or 0, place.port or 0) as outer:
            guide = httpx.get(f"{outer}/sandbox/_sandbox/guide", headers={"Api-Key": sandbox.full_key}).json()
            document = httpx.get(f"{outer}/sandbox/openapi.json").json()

            assert guide["base_url"] == f"{outer}/sandbox{PREFIX}"
            assert document["servers"] == [{"url": f"/sandbox{PREFIX}"}]
            row(table, front, (f"{outer}/sandbox{PREFIX}", outer + place.path), both, tmp_path)
    lines = [
        f"| {name} | {' | '.join(str(cells[where] or 13) for where in ('directly', *PROXIES) if where in cells)} |"
        for name, cells in table.items()
        if cells
    ]
    absent = [
        *(name for name in CLIENTS if CLIENTS[name].missing),
        *(name for name in PROXIES if not shutil.which(name)),
    ]
    head, _, _ = RESULTS.read_text(encoding="utf-8").partition("\n\n|")
    columns = ["Client", "directly", *(f"behind {name}" for name in PROXIES if shutil.which(name))]
    rows = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *lines]
    end = f"Not tried, as it is not installed: {', '.join(absent)}." if absent else "All programs were tried."
    RESULTS.write_text("\n".join([head.rstrip(), "", *rows, "", end, ""]), encoding="utf-8")

    assert {name: cells for name, cells in table.items() if any(cells.values())} == {}


def row(
    table: dict[str, dict[str, Any]],
    where: str,
    ends: tuple[str, str],
    both: tuple[wb.Sandbox, str, wb.Inbox, str],
    folder: Path,
) -> None:
    """Try every client at one URL."""
    for name, client in CLIENTS.items():
        if not client.missing:
            table[name][where] = lost(client, both[0], ends[0], both[2], ends[1], folder)
