"""Measure small answers per second of the served sandbox, and the cost of durable writes in process.

A static mock and another service's sandbox are measured for comparison.

Run: python -m tests.benchmarks.bench_service

The comparisons are optional: `prism` (npm package @stoplight/prism-cli, on the path or in $PRISM) answers from the
workbench's OpenAPI document, `moto_server` (Python package moto[server], or $MOTO_SERVER) from its own state. Each server
is a separate process with one worker. The servers take turns, and the median of the rounds counts. On a busy machine, the
answers per second of the server's CPU time are more reliable than the answers per second by the clock.
"""

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.sandbox import Sandbox
from workbench.service.interface.openapi import document

ROUNDS = 7
SECONDS = 2.0
CONNECTIONS = 8
PURCHASE = {"currency": "USD", "merchant_name": "Corner Grocery", "merchant_category_code": "5411"}
SERVE = """
import sys, threading
from workbench.sandbox import Sandbox
with Sandbox(path=sys.argv[1]).serve(port=int(sys.argv[2])):
    threading.Event().wait()
"""


def free_port() -> int:
    """Return an unused port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def process(command: list[Any], port: int, path: str) -> Iterator[tuple[int, int]]:
    """Run a server within the block, and yield its port and process id once it answers."""
    made = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not _answers(port, path):
            if time.monotonic() > deadline or made.poll() is not None:
                raise RuntimeError(f"{Path(command[0]).name} did not start")
            time.sleep(0.1)
        yield port, made.pid
    finally:
        made.terminate()
        made.wait(20)


def _answers(port: int, path: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def get(path: str, **headers: str) -> bytes:
    """Return the bytes of a GET request."""
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def post(path: str, body: bytes, **headers: str) -> bytes:
    """Return the bytes of a POST request."""
    head = get(path, content_length=str(len(body)), **headers).replace(b"GET", b"POST", 1)
    return head + body


def processor(pid: int) -> float:
    """Return the CPU seconds that a process, its threads and its ended children have used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def rate(server: tuple[int, int], request: bytes) -> tuple[float, float]:
    """Return the answers per second of the clock, and per CPU second of the server, under load. All must have status 200."""
    port, pid = server
    command = [sys.executable, "-m", "tests.benchmarks.load", str(port), str(SECONDS), str(CONNECTIONS)]
    before = processor(pid)
    done = subprocess.run(command, input=request, capture_output=True, check=True)
    found, odd = done.stdout.split()
    assert int(odd) == 0, f"{int(odd)} answers were not 200"
    return float(found), float(found) * SECONDS / max(processor(pid) - before, 0.01)


def served() -> None:
    """Print the answers per second of each server."""
    sandbox = Sandbox()
    guide = sandbox.guide()
    key, user, card = sandbox.full_key, guide["rewards_users"][0]["id"], guide["cards"]["active"][0]
    few = min(guide["rewards_users"], key=lambda one: one["rows"])["id"]
    purchase = json.dumps(
        {"cardId": card, "amount": 1, "currency": "USD", "merchantName": "x", "merchantCategoryCode": "5411"}
    ).encode()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        enter = stack.enter_context
        port = free_port()
        ours = enter(process([sys.executable, "-c", SERVE, folder / "sandbox.db", port], port, "/_sandbox/guide"))
        reward = f"/issuing/rewards/activity?userId={few}&limit=1"
        calls: dict[str, Callable[[], tuple[float, float]]] = {
            "ours, a read": lambda: rate(ours, get(f"/v1{reward}", api_key=key)),
            "ours, a durable write": lambda: rate(
                ours,
                post("/v1/simulate/transactions/authorize", purchase, api_key=key, content_type="application/json"),
            ),
        }
        prism = os.environ.get("PRISM") or shutil.which("prism")
        if prism:
            described = folder / "openapi.json"
            described.write_text(json.dumps(document(server="http://127.0.0.1/v1")))
            port = free_port()
            mock = enter(process([prism, "mock", "-p", port, described], port, "/"))  # type: ignore[list-item]
            path = f"/issuing/rewards/activity?userId={user}&limit=1"
            calls["prism, a static mock"] = lambda: rate(mock, get(path, Api_Key=key))
        else:
            print("prism is missing (npm install @stoplight/prism-cli): no comparison with a static mock")
        moto = os.environ.get("MOTO_SERVER") or shutil.which("moto_server")
        if moto and _runs(moto):
            port = free_port()
            other = enter(process([moto, "-p", str(port)], port, "/"))
            body = b"Action=GetCallerIdentity&Version=2011-06-15"
            auth = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/sts/aws4_request, SignedHeaders=host, Signature=0"
            kind = "application/x-www-form-urlencoded"
            calls["moto_server"] = lambda: rate(other, post("/", body, authorization=auth, content_type=kind))
        else:
            print("moto_server is missing (pip install 'moto[server]'): no comparison with another sandbox")
        rounds = [{name: call() for name, call in calls.items()} for _ in range(ROUNDS)]
    for name in calls:
        by_clock, by_processor = zip(*(one[name] for one in rounds), strict=True)
        print(
            f"{name:24} {statistics.median(by_clock):>7,.0f} a second ({min(by_clock):,.0f} to {max(by_clock):,.0f}), "
            f"{statistics.median(by_processor):,.0f} a second of its processor"
        )
    for name in list(calls)[2:]:
        for mine in list(calls)[:2]:
            by = [statistics.median(one[mine][i] / one[name][i] for one in rounds) for i in (0, 1)]
            print(f"{mine} beside {name}: {by[0]:.1f} times by the clock, {by[1]:.1f} by the processor")


def _runs(command: str) -> bool:
    return subprocess.run([command, "--help"], capture_output=True, check=False).returncode == 0


def in_process() -> None:
    """Print the time of an authorization in process, with a sandbox in memory and with one in a file, which take turns."""
    with tempfile.TemporaryDirectory() as folder:
        sandboxes = {"in memory": Sandbox(), "in a file": Sandbox(path=Path(folder) / "sandbox.db")}
        calls = {name: _purchase(sandbox) for name, sandbox in sandboxes.items()}
        spent: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(60):
            for name, call in calls.items():
                began = time.perf_counter()
                for _ in range(50):
                    call()
                spent[name].append((time.perf_counter() - began) / 50 * 1e6)
        for sandbox in sandboxes.values():
            sandbox.close()
    # use the fastest round of each store, because load on the machine only adds time
    memory, file = (min(spent[name]) for name in calls)
    print(f"an authorization in process: {memory:.0f} µs in memory, {file:.0f} µs durable, {file / memory:.2f} times")


def _purchase(sandbox: Sandbox) -> Callable[[], object]:
    guide = sandbox.guide()
    client = wb.Client(
        base_url=guide["base_url"], api_key=sandbox.full_key, transport=sandbox.transport(), journal=False
    )
    card = guide["cards"]["active"][0]
    return lambda: client.simulate_authorization(card_id=card, amount=1, **PURCHASE)


def main() -> None:
    """Print the figures."""
    in_process()
    served()


if __name__ == "__main__":
    main()
