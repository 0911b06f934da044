"""The modules that handle a value, and the number of passes over a request before it is sent."""

from typing import Any

import httpx
import pytest

import workbench as wb
from tests.benchmarks.bench_walks import modules, walks
from tests.client.doubles import KEY, URL
from workbench.base.schema import checks

MOST = {
    "a refund's amount to the wire": 9,
    "a webhook's body to its handler": 9,
    "an option of a command to the request": 12,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MOST)
def test_a_value_is_seen_by_few_modules(name: str) -> None:
    """`python -m tests.benchmarks.bench_walks` lists the modules."""
    seen, _ = modules(dict(walks())[name])

    assert len(seen) <= MOST[name], seen


def test_a_request_is_visited_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks, warnings, caps, key detection, addresses, the writer and the journal share the result of one pass."""
    passes: list[object] = []
    visit = checks.visit

    def counted(record: object, *rest: Any) -> None:
        passes.append(type(record).__name__)
        visit(record, *rest)

    transaction = "00000000-0000-4000-8000-000000000001"
    service = httpx.MockTransport(lambda _: httpx.Response(200, json={"id": transaction, "status": "completed"}))
    client = wb.Client(base_url=URL, api_key=KEY, transport=service, limits=wb.Limits(amount=1_000))
    monkeypatch.setattr(checks, "visit", counted)
    client.simulate_refund(transaction_id=transaction, amount=500)

    assert passes == ["SimulateRefund"]
    assert [entry.request["amount"] for entry in client.journal] == [500]
