"""Measure sequences on a sandbox, and the client alone for comparison.

Run: python -m tests.benchmarks.bench_sequences [--runs 10000] [--cards 200] [--days 30]
"""

import argparse
import json
import resource
import time
from typing import Any

import httpx

from workbench.analysis.tables.frames import to_frame
from workbench.client.calls.client import Client
from workbench.runs.sequences import Sequence, param, ref, run, run_many, step, traffic
from workbench.runs.sequences.sequence import Parameter
from workbench.sandbox import Sandbox

SCRIPT = Sequence(
    name="authorize, settle, refund",
    parameters=(Parameter(name="card_id", type="id", default=ref("guide.cards.active")),),
    steps=(
        step(
            "buy", "simulate_authorization", card_id=param("card_id"), amount=2500, currency="USD",
            merchant_name="Corner Grocery", merchant_category_code="5411",
        ),
        step("settle", "settle", transaction_id=ref("buy.transaction_id")),
        step("refund", "simulate_refund", transaction_id=ref("buy.transaction_id"), amount=2500),
    ),
)  # fmt: skip
CANNED = b'{"transactionId":"00000000-0000-4000-8000-000000000001","status":"authorized"}'


def timed(work: Any) -> tuple[float, Any]:
    """Return the seconds that a function takes, and its result."""
    start = time.perf_counter()
    made = work()
    return time.perf_counter() - start, made


def floor(runs: int) -> float:
    """Return the seconds of the same calls with canned answers instead of the sandbox."""
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=CANNED))
    api = Client(
        base_url="https://canned.invalid/v1", api_key="canned-key-0123456789", transport=transport, journal=False
    )
    card = "00000000-0000-4000-8000-000000000002"

    def calls() -> None:
        for _ in range(runs):
            made = api.simulate_authorization(
                card_id=card, amount=2500, currency="USD", merchant_name="Corner Grocery", merchant_category_code="5411"
            )
            api.simulate_refund(transaction_id=made.transaction_id, amount=2500)

    return timed(calls)[0]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--cards", type=int, default=200)
    parser.add_argument("--days", type=int, default=30)
    asked = parser.parse_args()
    runs = asked.runs

    through, came = timed(lambda: run_many(Sandbox(), SCRIPT, times=runs))
    assert came.ok
    least = floor(runs)
    print(f"{runs:,} x authorize, settle, refund")
    print(
        f"  on a sandbox             {through:6.2f} s   {through / runs / 3 * 1e6:6.1f} us a step   (budget 8 s for 10,000)"
    )
    print(
        f"  for comparison: prepared responses    {least:6.2f} s   {least / runs / 2 * 1e6:6.1f} us a call   (client alone; settle is not an operation)"
    )

    del came
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def traffic_story() -> tuple[int, int, dict[str, int]]:
        world = Sandbox()
        cards = [world.create.card(user_id=user).id for user in _users(world, asked.cards)]
        played = run(world, traffic(seed=1, cards=cards, days=asked.days))
        assert played.ok, played.verdict[:500]
        return len(played.steps), len(to_frame(played)), played.ledger().total()

    seconds, (steps, rows, total) = timed(traffic_story)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert total["available"] + total["held"] + total["posted"] - total["refunded"] == 0
    print(
        f"random traffic, {asked.cards} cards, {asked.days} sandbox days: {steps:,} steps, {rows:,} rows, {json.dumps(total)}"
    )
    print(
        f"  {seconds:6.2f} s (budget 30 s), peak memory {peak / 1024:,.0f} MB, {before / 1024:,.0f} MB before (budget 400 MB)"
    )


def _users(world: Sandbox, many: int) -> list[str]:
    approved = world.guide()["users"]["approved"]
    return [approved[i % len(approved)] for i in range(many)]


if __name__ == "__main__":
    main()
