"""What the embedded sandbox costs: making one, copying it, one authorization, and what it adds to a canned answer.

Run: python -m tests.benchmarks.bench_sandbox
"""

import json
import time
from collections.abc import Callable

import httpx

from workbench.sandbox import Request, Sandbox

_ROUNDS = 9


def fastest(*works: Callable[[], object], per_round: int) -> list[float]:
    """Return microseconds a call, the best round of each; they take turns, so a busy machine slows all alike."""
    best = [float("inf")] * len(works)
    for _ in range(_ROUNDS):
        for number, work in enumerate(works):
            start = time.perf_counter()
            for _ in range(per_round):
                work()
            best[number] = min(best[number], (time.perf_counter() - start) / per_round * 1e6)
    return best


def authorization() -> tuple[float, float, float]:
    """Return microseconds: by `handle`, by httpx and the sandbox, by httpx and a canned answer."""
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
    answer = sandbox.handle(request).body
    canned = httpx.MockTransport(
        lambda _: httpx.Response(200, content=answer, headers={"content-type": "application/json"})
    )
    by_sandbox, by_canned = (
        httpx.Client(transport=transport, base_url=guide["base_url"], headers=headers)
        for transport in (sandbox.transport(), canned)
    )
    handled, sent, plain = fastest(
        lambda: sandbox.handle(request),
        lambda: by_sandbox.post(path, content=body),
        lambda: by_canned.post(path, content=body),
        per_round=500,
    )
    return handled, sent, plain


def main() -> None:
    """Print the figures."""
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
