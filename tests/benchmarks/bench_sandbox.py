"""Measure the embedded sandbox: creating one, copying it, and an authorization compared with a canned answer.

Run: python -m tests.benchmarks.bench_sandbox
     python -m tests.benchmarks.bench_sandbox --transactions 1000000

The second command makes purchases in a served sandbox with a file. Every second purchase is settled, and every twentieth is
refunded. After 10,000, 100,000 and so on, it prints the memory of the process, the size of the file, and the time in which
another process starts from the file.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from workbench.sandbox import Request, Sandbox
from workbench.sandbox.internals import internals

_ROUNDS = 9


def fastest(*works: Callable[[], object], per_round: int) -> list[float]:
    """Return microseconds per call, in the best round of each function. They take turns, so a busy machine slows all alike."""
    best = [float("inf")] * len(works)
    for _ in range(_ROUNDS):
        for number, work in enumerate(works):
            start = time.perf_counter()
            for _ in range(per_round):
                work()
            best[number] = min(best[number], (time.perf_counter() - start) / per_round * 1e6)
    return best


def authorization() -> tuple[float, float, float]:
    """Return the microseconds of an authorization: by the engine, by httpx and the sandbox, by httpx and a canned answer."""
    sandbox = Sandbox()
    guide = sandbox.guide()
    path, key = "/simulate/transactions/authorize", guide["api_keys"]["full"]
    body = json.dumps(
        {
            "cardId": guide["cards"]["active"][0],
            "amount": 1,
            "currency": "USD",
            "merchantName": "Corner Grocery",
            "merchantCategoryCode": "5411",
        }
    ).encode()
    headers = {"api-key": key, "content-type": "application/json"}
    request = Request("POST", "/v1" + path, "", headers, body)
    answer = internals(sandbox).engine.answer(request).body
    canned = httpx.MockTransport(
        lambda _: httpx.Response(200, content=answer, headers={"content-type": "application/json"})
    )
    by_sandbox, by_canned = (
        httpx.Client(transport=transport, base_url=guide["base_url"], headers=headers)
        for transport in (sandbox.transport(), canned)
    )
    handled, sent, plain = fastest(
        lambda: internals(sandbox).engine.answer(request),
        lambda: by_sandbox.post(path, content=body),
        lambda: by_canned.post(path, content=body),
        per_round=500,
    )
    return handled, sent, plain


RESTART = """
import sys, time
from workbench.sandbox import Request, Sandbox
from workbench.sandbox.internals import internals
began = time.perf_counter(), time.process_time()
sandbox = Sandbox(path=sys.argv[1])
headers = {"api-key": sandbox.full_key, "content-type": "application/json"}
path = f"/v1/simulate/transactions/{sys.argv[2]}/settle"
assert internals(sandbox).engine.answer(Request("POST", path, "", headers, b'{"amount": 1}')).status == 200
print(f"{time.perf_counter() - began[0]:.2f} s, {time.process_time() - began[1]:.2f} s of processor time")
"""


def history(total: int) -> None:
    """Make N purchases, and print the time, file size, memory and restart time on the way."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sandbox.db"
        sandbox = Sandbox(path=path)
        headers = {"api-key": sandbox.full_key, "content-type": "application/json"}
        users = sandbox.guide()["users"]["approved"]
        cards = [sandbox.create.card(user, limit=10**11).id for user in users * 5]

        def call(path: str, **body: object) -> str:
            answer = internals(sandbox).engine.answer(
                Request("POST", f"/v1/simulate/transactions{path}", "", headers, json.dumps(body).encode())
            )
            assert answer.status == 200, answer
            return str(json.loads(answer.body)["transactionId"])

        with sandbox.serve():
            spent = time.process_time()
            for number in range(1, total + 1):
                made = call(
                    "/authorize", cardId=cards[number % len(cards)], amount=100 + number % 9_000, currency="USD",
                    merchantName=f"Shop {number % 500}", merchantCategoryCode="5411",
                )  # fmt: skip
                if number % 2:
                    call(f"/{made}/settle", amount=100)
                if number % 20 == 1:
                    call(f"/{made}/refund", amount=50)
                if number == total or (number >= 10_000 and str(number).strip("0") == "1"):
                    made = call(
                        "/authorize",
                        cardId=cards[0],
                        amount=1,
                        currency="USD",
                        merchantName="x",
                        merchantCategoryCode="5411",
                    )
                    _print_history(path, number, made, internals(sandbox).last_event(), time.process_time() - spent)
        sandbox.close()


def _print_history(path: Path, number: int, transaction: str, events: int, seconds: float) -> None:
    memory = dict(
        line.split(":") for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Vm")
    )
    size = sum(file.stat().st_size for file in path.parent.glob("sandbox.db*")) / 1e6
    restart = subprocess.run(
        [sys.executable, "-c", RESTART, path, transaction], capture_output=True, check=True, text=True
    ).stdout.strip()
    print(
        f"{number:,} transactions, {events:,} events: {seconds:,.0f} s of processor time, {size:,.0f} MB of file, "
        f"{int(memory['VmRSS'].split()[0]) / 1024:.0f} MB of memory (at most {int(memory['VmHWM'].split()[0]) / 1024:.0f}); "
        f"a restart: {restart}",
        flush=True,
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--transactions", type=int)
    total = parser.parse_args().transactions
    if total is not None:
        history(total)
        return
    start = time.perf_counter()
    world = Sandbox()
    print(f"the first sandbox of a process: {(time.perf_counter() - start) * 1e3:.0f} ms")
    made, forked = fastest(Sandbox, world.fork, per_round=10)
    print(f"another one: {made / 1e3:.1f} ms; a fork: {forked / 1e3:.2f} ms")
    handled, sent, plain = authorization()
    print(f"an authorization by handle: {handled:.0f} µs")
    print(f"  through httpx: {sent:.0f} µs; the same with a canned answer: {plain:.0f} µs, ratio {sent / plain:.2f}")


if __name__ == "__main__":
    main()
