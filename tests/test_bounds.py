"""Bounds of time, rows, depth, values and bytes in flight, for hostile programs and for large states.

Each test prints its figure: python -m pytest -n 0 -s tests/test_bounds.py
"""

import itertools
import resource
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import urlsplit

import httpx
import pytest

import workbench as wb
from workbench.base.schema import strict_json
from workbench.base.system import database, http_server
from workbench.base.system.database import Database
from workbench.client.webhooks import store
from workbench.client.webhooks.inbox import Inbox
from workbench.client.webhooks.verify import sample
from workbench.sandbox.internals import internals

CONTRACTS = "/v1/issuing/tenants/contracts"
KILOBYTE = 1024


def times_of(call: Callable[[int], object], count: int) -> list[float]:
    """Call a function at the same time from some threads, and return the seconds of each call."""
    took: list[float] = []

    def run(number: int) -> None:
        began = time.monotonic()
        call(number)
        took.append(time.monotonic() - began)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def test_deliveries_beside_a_held_file_wait_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another program locks a receiver's file, all deliveries are refused within one common wait."""
    delivery = sample("user.updated", "key")
    monkeypatch.setattr(store, "Database", partial(Database, busy_seconds=1.0))
    with (
        Inbox(tmp_path / "events.db", accept_unsigned=True) as inbox,
        inbox.serve() as url,
        httpx.Client(timeout=60) as client,
    ):
        inbox.on("*", name="another thread that waits for the file")(lambda event: None)
        statuses: list[int] = []
        with closing(sqlite3.connect(tmp_path / "events.db", isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            took = times_of(
                lambda _: statuses.append(
                    client.post(url, content=delivery.body, headers=delivery.headers).status_code
                ),
                12,
            )
            holder.execute("ROLLBACK")
        after = client.post(url, content=delivery.body, headers=delivery.headers).status_code
    print(f"\n12 deliveries, each waits for at most 1 s: the last was answered after {max(took):.1f} s")

    assert ([503] * 12, 204) == (statuses, after)


def test_threads_beside_a_held_file_wait_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that waited while another thread gave up tries the file once, and does not wait again."""
    moments = itertools.count()
    monkeypatch.setattr(database, "monotonic", lambda: next(moments) / 10)
    file = Database(tmp_path / "a.db", application=1, schema="CREATE TABLE a(b)", busy_seconds=3)
    asked, looks = next(moments) / 10, []
    with closing(file), closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        for _ in range(10):
            began = next(moments)
            with pytest.raises(wb.errors.FileBusy), file.write(asked=asked):
                pass
            looks.append(next(moments) - began)

    assert looks[0] > 30  # number of reads of the clock, each of which advances it by 0.1 s
    assert max(looks[1:]) < 15


@pytest.mark.slow
@pytest.mark.parametrize("name, arguments", [("events", {}), ("records", {"kind": "card"}), ("deliveries", {})])
def test_a_long_list_holds_nobody_up(name: str, arguments: dict[str, str]) -> None:
    """Other requests are answered while a control lists thousands of rows."""
    sandbox = wb.Sandbox()
    store, rows = internals(sandbox).engine.store, 4_000
    sandbox.create.card(sandbox.records("user")[0]["id"])
    card = sandbox.records("card")[0]
    del card["kind"]
    with sandbox.serve() as url:
        key = {"api-key": sandbox.full_key, "content-type": "application/json"}
        endpoint = sandbox.register_endpoint(f"{url}/nothing", signing_key="x" * 32)
        sandbox.create.card(sandbox.records("user")[0]["id"])
        sandbox.flush(5)
        delivery = next(iter(store.all(f"delivery/{endpoint.id}")))
        event = store.get("event", "1")
        with store:
            for number in range(internals(sandbox).engine.last_event + 1, rows + 1):
                store.put("event", str(store.next("event")), {**event, "sequence": number})
                store.put("card", str(number), {**card, "id": str(number)})
                store.put(f"delivery/{endpoint.id}", str(number), {**delivery, "sequence": number})
        waits: list[float] = []
        listing = threading.Event()

        def ask() -> None:
            with httpx.Client(base_url=url, headers=key) as client:
                while not listing.is_set():
                    began = time.monotonic()
                    assert client.get(CONTRACTS).status_code == 200
                    waits.append(time.monotonic() - began)

        asking = threading.Thread(target=ask)
        asking.start()
        while len(waits) < 5:
            time.sleep(0.01)
        waits.clear()
        began = time.monotonic()
        listed = httpx.post(f"{url}/_sandbox/{name}", json=arguments, headers=key, timeout=60).json()
        took = time.monotonic() - began
        listing.set()
        asking.join()
    sandbox.close()
    print(
        f"\n{len(listed):,} {name} in {took:.2f} s, meanwhile {len(waits)} answers, the longest after {max(waits):.3f} s"
    )

    assert rows - 1 <= len(listed) < rows + 100
    assert len(waits) >= 3  # a single wait would mean that the listing held the lock throughout


def refused(body: bytes, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often the body of an answer that a client refuses is decoded, and print the processor time."""
    decoder = Mock(wraps=strict_json._DECODER)
    monkeypatch.setattr(strict_json, "_DECODER", decoder)
    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=body))
    began = time.process_time()
    with (
        wb.Client(base_url="http://127.0.0.1:1", api_key="k", transport=transport, timeout=4) as api,
        pytest.raises(wb.errors.UnexpectedAnswer),
    ):
        api.list_contracts()
    print(f"\n{len(body):,} bytes: {time.process_time() - began:.2f} s of processor time")
    return decoder.decode.call_count


@pytest.mark.parametrize(
    "begin, value, count, end",
    [(b"[", b"{},", 3_000_000, b"{}]"), (b'{"items":[', b"{},", 3_000_000, b"{}]}"), (b"[", b"1e1,", 2_000_000, b"1]"), (b"[", b"[],", 3_000_000, b"1]")],
    ids=["objects", "items", "numbers", "lists"],
)  # fmt: skip
def test_answers_of_many_values_are_refused_unread(
    begin: bytes, value: bytes, count: int, end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer with too many values, of any kind, is refused without being decoded."""
    assert refused(begin + value * count + end, monkeypatch) == 0


@pytest.mark.soak
@pytest.mark.parametrize(
    "body",
    [
        b"[" + b",".join([b"{}"] * (strict_json.MAX_VALUES // 2 - 2)) + b"]",
        b'{"a":"' + b'\\"[{,' * 1_900_000 + b'"}',
    ],
    ids=["values", "text"],
)
def test_the_largest_answers_are_read_once(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer has the maximum number of small values, and the other has text that looks like values."""
    assert refused(body, monkeypatch) == 1


@pytest.mark.parametrize("status", [200, 400, 404, 500])
def test_deep_answers_raise_no_error_of_python(status: int) -> None:
    """An answer nested more deeply than any documented answer is unreadable, as a success and as a refusal."""
    body = b'{"message":' + b"[" * 900 + b"]" * 900 + b"}"
    transport = httpx.MockTransport(lambda request: httpx.Response(status, content=body))
    with (
        wb.Client(base_url="http://127.0.0.1:1", api_key="k", transport=transport, timeout=1) as api,
        pytest.raises(wb.WorkbenchError),
    ):
        api.delete_payment_account(payment_account_id="7b1f9bc4-7b54-4b0e-9d52-6a0d4e7f8a10")


def test_bodies_in_flight_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies being received have one common limit. Beyond the limit a request is refused and its bytes are freed."""
    monkeypatch.setattr(http_server, "MAX_BODIES", 300 * KILOBYTE)
    with wb.Sandbox().serve() as url, ExitStack() as connections:
        place = urlsplit(url)
        head = f"POST /v1/x HTTP/1.1\r\nhost: {place.netloc}\r\ncontent-length: {100 * KILOBYTE}\r\n\r\n".encode()
        opened = []
        for _ in range(8):
            connection = connections.enter_context(socket.create_connection((place.hostname, place.port), timeout=20))
            connection.sendall(head + b"x" * 60 * KILOBYTE)
            opened.append(connection)
        answers = [opened[-1].recv(KILOBYTE)]
        for connection in opened[:5]:
            connection.sendall(b"x" * 40 * KILOBYTE)
            answers.append(connection.recv(KILOBYTE))
        connections.close()
        after = httpx.post(f"{url}/v1/x", content=b"{}").status_code

    assert [503, 404, 404, 404, 404, 404] == [int(answer.split()[1]) for answer in answers]
    assert after == 404


@pytest.mark.slow
def test_memory_of_many_bodies() -> None:
    """2,000 connections that each send part of a body use memory for the connections and for 32 MB of bodies."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < 5_000:
        pytest.skip("this process may not open 5,000 files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (5_000, most))
    serve = (
        "import time\nfrom workbench.sandbox import Sandbox\nwith Sandbox().serve() as url:\n"
        "    print(url, flush=True); time.sleep(60)"
    )
    try:
        with subprocess.Popen([sys.executable, "-c", serve], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            place = urlsplit(server.stdout.readline().strip())

            def memory() -> float:
                lines = Path(f"/proc/{server.pid}/status").read_text().splitlines()
                return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / KILOBYTE

            began = memory()
            head = f"POST /v1/x HTTP/1.1\r\nhost: {place.netloc}\r\ncontent-length: 61000\r\n\r\n".encode()
            with ExitStack() as connections:
                for _ in range(2_000):
                    connection = connections.enter_context(socket.create_connection((place.hostname, place.port)))
                    connection.sendall(head + b"x" * 60_000)
                time.sleep(0.5)
                grown = memory() - began
            server.kill()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    print(f"\n2,000 connections with 60 kB each: {began:.0f} MB at first, {grown:.0f} MB more")

    assert grown < 130
