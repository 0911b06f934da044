"""Measure the client: a call compared with plain httpx, its journal, `connect()`, and the import of the package.

Run: python -m tests.benchmarks.bench_client
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

import workbench as wb
from workbench.client.calls.client import Client
from workbench.client.calls.journal import Journal

_ROUNDS = 15
_CALL = {"currency": "USD", "merchant_name": "Corner Grocery", "merchant_category_code": "5411", "amount": 1}


def fastest(
    *works: Callable[[], object], per_round: int, rounds: int = _ROUNDS, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Return microseconds per call, in the best round of each function. They take turns, so a busy machine slows all alike."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for number, work in enumerate(works):
            start = clock()
            for _ in range(per_round):
                work()
            best[number] = min(best[number], (clock() - start) / per_round * 1e6)
    return best


class Canned(httpx.BaseTransport):
    """A transport that gives every request the same answer."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def handle_request(self, _: httpx.Request) -> httpx.Response:
        """Return the answer."""
        return httpx.Response(200, headers={"content-type": "application/json"}, content=self._content)


def authorization() -> dict[str, float]:
    """Return the CPU microseconds of an authorization, by client, transport and journal."""
    sandbox = wb.Sandbox()
    guide = sandbox.guide()
    card, key, base = guide["cards"]["active"][0], guide["api_keys"]["full"], guide["base_url"]
    path = "/simulate/transactions/authorize"
    body = {
        "cardId": card, "amount": 1, "currency": "USD", "merchantName": "Corner Grocery", "merchantCategoryCode": "5411",
    }  # fmt: skip
    canned = Canned(json.dumps({"transactionId": card, "status": "authorized"}).encode())
    plain = httpx.Client(transport=canned, base_url=base, headers={"Api-Key": key})
    settings: dict[str, Any] = {"base_url": base, "api_key": key}
    on_canned, on_canned_unrecorded = (
        Client(**settings, transport=canned, journal=journal) for journal in (None, False)
    )
    embedded, unrecorded = wb.connect(), wb.connect(journal=False)
    ways: dict[str, Callable[[], object]] = {
        "httpx, canned answer": lambda: plain.post(path, json=body).json(),
        "client, canned answer, no journal": lambda: on_canned_unrecorded.simulate_authorization(card_id=card, **_CALL),
        "client, canned answer": lambda: on_canned.simulate_authorization(card_id=card, **_CALL),
        "client and sandbox, no journal": lambda: unrecorded.simulate_authorization(card_id=card, **_CALL),
        "client and sandbox": lambda: embedded.simulate_authorization(card_id=card, **_CALL),
    }
    return dict(zip(ways, fastest(*ways.values(), per_round=200), strict=True))


def journal_file() -> float:
    """Return the microseconds of a call whose journal entry is synced to disk before the call is sent and after it ended."""
    canned = Canned(b'{"id": "3f2a0b1c-0000-4000-8000-000000000001"}')
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.db")
        client = Client(base_url="https://api.example.com", api_key="a-key", transport=canned, journal=journal)
        (cost,) = fastest(
            lambda: client.update_user(user_id="3f2a0b1c-0000-4000-8000-000000000001", first_name="Grace"),
            per_round=50, rounds=5, clock=time.perf_counter,
        )  # fmt: skip
        journal.close()
    return cost


def connecting() -> tuple[float, float]:
    """Return the seconds of the first `connect()` in a process, without imports, and of a second one."""
    code = (
        "import time, workbench.client.session, workbench.sandbox.embedded, workbench.sandbox.transport\n"
        "start = time.perf_counter(); workbench.client.session.connect(); first = time.perf_counter() - start\n"
        "start = time.perf_counter(); workbench.client.session.connect(); print(first, time.perf_counter() - start)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True) for _ in range(5)]
    firsts, seconds = zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
    return min(firsts), min(seconds)


def importing() -> tuple[float, float]:
    """Return the milliseconds to start Python without imports, and with `import workbench`."""
    best = [float("inf")] * 2
    for _ in range(15):
        for number, code in enumerate(("pass", "import workbench")):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            best[number] = min(best[number], (time.perf_counter() - start) * 1e3)
    return best[0], best[1]


def main() -> None:
    """Print the figures."""
    ways = authorization()
    for name, cost in ways.items():
        print(f"an authorization, {name}: {cost:.0f} µs")
    print(
        f"  client and sandbox / httpx with a canned answer: {ways['client and sandbox'] / ways['httpx, canned answer']:.2f}"
    )
    print(
        f"  journal in memory, on the sandbox: {ways['client and sandbox'] / ways['client and sandbox, no journal']:.2f}"
    )
    print(f"a call recorded in a file: {journal_file():.0f} µs")
    first, later = connecting()
    print(f"connect(), beyond its imports: {first * 1e3:.0f} ms at first, {later * 1e3:.1f} ms later")
    bare, whole = importing()
    print(f"import workbench: {whole - bare:.1f} ms over bare Python ({bare:.0f} ms)")


if __name__ == "__main__":
    main()
