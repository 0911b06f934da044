"""Fault rules: in this process as the errors of a connection, over HTTP as real connection faults."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from workbench.base.errors import UsageError
from workbench.sandbox import Request, Sandbox
from workbench.sandbox.faults import BODIES
from workbench.sandbox.internals import internals

PURCHASE = {"amount": 1250, "currency": "USD", "merchantName": "Corner Grocery", "merchantCategoryCode": "5411"}


@pytest.fixture
def sandbox() -> Sandbox:
    """Return a sandbox in memory."""
    return Sandbox()


@pytest.fixture(params=["in process", pytest.param("over HTTP", marks=pytest.mark.slow)])
def client(request: pytest.FixtureRequest, sandbox: Sandbox) -> Iterator[httpx.Client]:
    """Yield an HTTP client of the sandbox, in process or over HTTP."""
    key = sandbox.full_key
    if request.param == "in process":
        with httpx.Client(
            base_url=sandbox.base_url, headers={"Api-Key": key}, transport=sandbox.transport(), timeout=5
        ) as made:
            yield made
    else:
        with sandbox.serve() as url, httpx.Client(base_url=f"{url}/v1", headers={"Api-Key": key}, timeout=5) as made:
            yield made


def purchase(client: httpx.Client, sandbox: Sandbox) -> httpx.Response:
    """Authorize a purchase."""
    card = sandbox.guide()["cards"]["active"][0]
    return client.post("/simulate/transactions/authorize", json={"cardId": card, **PURCHASE})


def held(sandbox: Sandbox) -> int:
    """Return the amount held on the card."""
    return sandbox.balance(sandbox.guide()["cards"]["active"][0]).held


BREAKS: dict[str, tuple[type[Exception], bool]] = {
    "reset": (httpx.ReadError, False),
    "closed": (httpx.RemoteProtocolError, False),
    "lost": (httpx.RemoteProtocolError, True),
    "cut": (httpx.RemoteProtocolError, True),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BREAKS)
def test_broken_connection(client: httpx.Client, sandbox: Sandbox, kind: str) -> None:
    """The client gets a connection error, and the call takes effect if the rule says so."""
    error, carried_out = BREAKS[kind]
    before = held(sandbox)
    sandbox.add_fault(kind, of="simulate_authorization", times=1)

    with pytest.raises(error):
        purchase(client, sandbox)
    assert held(sandbox) - before == (1250 if carried_out else 0)
    assert purchase(client, sandbox).status_code == 200


def test_refused_connection(client: httpx.Client, sandbox: Sandbox) -> None:
    """A refused connection never reaches the service. Over HTTP an open connection is reset instead."""
    before = held(sandbox)
    sandbox.add_fault("refused")

    with pytest.raises((httpx.ConnectError, httpx.ReadError)):
        purchase(client, sandbox)
    assert held(sandbox) == before


@pytest.mark.parametrize("body", BODIES)
def test_status_with_each_body(client: httpx.Client, sandbox: Sandbox, body: str) -> None:
    """A chosen status comes with the chosen error body, and the call has no effect."""
    before = held(sandbox)
    sandbox.add_fault("status", status=429, body=body, retry_after=7)
    answer = purchase(client, sandbox)
    members = {"documented": "statusCode", "validation": "code", "msg": "msg", "correlation": "correlationId"}

    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
    assert answer.headers["workbench-fault"] == "1 active; status applied"
    assert held(sandbox) == before
    if body in members:
        assert members[body] in answer.json()
    else:
        assert answer.text in {"", "upstream connect error"} or answer.text.startswith("<html>")


def test_malformed_body(client: httpx.Client, sandbox: Sandbox) -> None:
    """A malformed response has the right length but is not JSON. The call takes effect."""
    before = held(sandbox)
    sandbox.add_fault("malformed")
    answer = purchase(client, sandbox)

    assert answer.status_code == 200
    with pytest.raises(ValueError, match=r"Expecting|delimiter|control|Unterminated|Invalid"):
        json.loads(answer.content)
    assert held(sandbox) == before + 1250


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["latency", "slow_body"])
def test_slow_answers(client: httpx.Client, sandbox: Sandbox, kind: str) -> None:
    """A late or slow response is complete and takes the given time."""
    sandbox.add_fault(kind, seconds=0.1)
    began = time.monotonic()
    answer = purchase(client, sandbox)

    assert answer.json()["status"] == "authorized"
    assert time.monotonic() - began >= 0.09


@pytest.mark.slow
def test_later_than_the_client_waits(client: httpx.Client, sandbox: Sandbox) -> None:
    """A response after the client's timeout raises ReadTimeout, and the call takes effect."""
    client.timeout = httpx.Timeout(0.2)
    before = held(sandbox)
    sandbox.add_fault("latency", seconds=0.4)

    with pytest.raises(httpx.ReadTimeout):
        purchase(client, sandbox)
    assert held(sandbox) == before + 1250


def test_async_client(sandbox: Sandbox) -> None:
    """An async client gets the same faults."""
    sandbox.add_fault("latency", seconds=0.01, nth=1)
    sandbox.add_fault("cut", nth=2)
    sandbox.add_fault("slow_body", nth=3)

    async def calls() -> list[Any]:
        transport = sandbox.transport()
        async with httpx.AsyncClient(
            base_url=sandbox.base_url, headers={"Api-Key": sandbox.full_key}, transport=transport
        ) as client:
            return await asyncio.gather(
                *(client.get("/issuing/rewards/activity") for _ in range(3)), return_exceptions=True
            )

    kinds = [type(one).__name__ if isinstance(one, Exception) else one.status_code for one in asyncio.run(calls())]

    assert kinds == [400, "RemoteProtocolError", 400]


def test_which_call_a_rule_applies_to(sandbox: Sandbox) -> None:
    """A rule applies to its operation, to the nth call and up to its maximum, and counts matches."""
    sandbox.add_fault("status", of="list_contracts", nth=2)
    sandbox.add_fault("status", of="list_rewards_activity", times=1, status=502)
    ask = _asker(sandbox)

    assert [ask("/issuing/tenants/contracts") for _ in range(3)] == [200, 500, 200]
    assert [ask("/issuing/rewards/activity") for _ in range(2)] == [502, 400]
    assert [(one.matched, one.applied) for one in sandbox.list_faults()] == [(3, 1), (2, 1)]


def test_probability_comes_from_the_seed() -> None:
    """The share of failing calls is near the probability, and the same calls fail with the same seed."""

    def failed_calls(seed: int) -> list[int]:
        sandbox = Sandbox(seed=seed)
        sandbox.add_fault("status", probability=0.3)
        ask = _asker(sandbox)
        return [ask("/payment-routes") for _ in range(200)]

    first = failed_calls(1)

    assert first == failed_calls(1) != failed_calls(2)
    assert 40 <= first.count(500) <= 80


def test_faults_are_seen_and_cleared(sandbox: Sandbox) -> None:
    """While a rule exists, every response has a header. Without rules, and in other sandboxes, none has it."""
    sandbox.add_fault("status", of="simulate_refund")
    header = "workbench-fault"
    request = Request("GET", "/v1/payment-routes", headers={"api-key": sandbox.full_key})

    assert internals(sandbox).engine.answer(request).headers[header] == "1 active"
    assert header not in internals(sandbox.fork()).engine.answer(request).headers
    sandbox.clear_faults()
    assert header not in internals(sandbox).engine.answer(request).headers
    assert sandbox.list_faults() == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"kind": "earthquake"},
        {"kind": "status", "of": "user.updated"},
        {"kind": "swap", "of": "simulate_refund"},
        {"kind": "status", "nth": 0},
        {"kind": "status", "times": True},
        {"kind": "status", "probability": 1.5},
        {"kind": "latency", "seconds": -1},
        {"kind": "latency", "seconds": float("nan")},
        {"kind": "status", "status": 99},
        {"kind": "status", "status": 600},
        {"kind": "status", "body": "poem"},
        {"kind": "status", "retry_after": -1},
    ],
    ids=lambda arguments: " ".join(map(str, arguments.values())),
)
def test_rule_that_makes_no_sense(sandbox: Sandbox, arguments: dict[str, Any]) -> None:
    """A rule that could never apply is refused with the allowed values."""
    with pytest.raises(UsageError, match="must be"):
        sandbox.add_fault(**arguments)


def _asker(sandbox: Sandbox) -> Callable[[str], int]:
    headers = {"api-key": sandbox.full_key}
    return lambda path: internals(sandbox).engine.answer(Request("GET", f"/v1{path}", headers=headers)).status


def test_a_rule_for_some_arguments(client: httpx.Client, sandbox: Sandbox) -> None:
    """A rule for a card and an amount matches only those calls, and answers with the given body."""
    first, second = sandbox.guide()["cards"]["active"][:2]
    answer = {"statusCode": 503, "error": "Maintenance", "message": "back at noon", "until": "12:00"}
    sandbox.add_fault("status", matching={"card_id": first, "amount": 700}, nth=2, status=503, answer=answer)
    asked = [(first, 700), (second, 700), (first, 701), (first, 700), (first, 700)]
    path = "/simulate/transactions/authorize"
    answers = [client.post(path, json={**PURCHASE, "cardId": card, "amount": cents}) for card, cents in asked]

    assert [one.status_code for one in answers] == [200, 200, 200, 503, 200]
    assert answers[3].json() == answer
    assert [(one.matched, one.applied) for one in sandbox.list_faults()] == [(3, 1)]


def test_a_rule_for_a_path_or_a_query(client: httpx.Client, sandbox: Sandbox) -> None:
    """A rule can match ids in the path and values in the query."""
    user, other = (one["id"] for one in sandbox.guide()["rewards_users"][:2])
    sandbox.add_fault("status", of="list_rewards_activity", matching={"user_id": user, "limit": 1}, status=500)
    sandbox.add_fault("status", of="update_user", matching={"userId": user}, status=502)

    def rewards(asked: str) -> int:
        return client.get("/issuing/rewards/activity", params={"userId": asked, "limit": "1"}).status_code

    assert (rewards(other), rewards(user)) == (200, 500)
    assert client.patch(f"/issuing/users/{user}", json={"isActive": True}).status_code == 502


def test_the_request_log_shows_what_happened(client: httpx.Client, sandbox: Sandbox) -> None:
    """The request log shows an application's three attempts, including calls that a fault stopped."""
    sandbox.add_fault("status", times=1, status=503)
    sandbox.add_fault("lost", nth=2)
    statuses = [purchase(client, sandbox).status_code]
    with pytest.raises(httpx.RemoteProtocolError):
        purchase(client, sandbox)
    statuses.append(purchase(client, sandbox).status_code)
    client.get("/cards?since=noon", headers={"X-Secret": "s3cret"})
    *tries, hidden = sandbox.requests()
    unknown = sandbox.requests(reveal=True)[-1]
    shown = repr(sandbox.requests(reveal=True))

    assert statuses == [503, 200]
    assert [(one.operation, one.fault, one.status) for one in tries] == [
        ("simulate_authorization", "status", 503),
        ("simulate_authorization", "lost", 200),
        ("simulate_authorization", None, 200),
    ]
    assert all(one.at == sandbox.clock.now() and one.seconds > 0 for one in tries)
    assert tries[2].answer["status"] == "authorized"
    assert tries[0].answer["statusCode"] == 503
    assert (hidden.path, unknown.path, unknown.operation, unknown.status) == (None, "/v1/cards", None, 404)
    assert "GET /v1/issuing/tenants/contracts" in unknown.answer["message"]
    assert unknown.headers["user-agent"].startswith("python-httpx")
    assert sandbox.full_key not in shown


def test_private_values_of_the_log_are_shown_if_asked(client: httpx.Client, sandbox: Sandbox) -> None:
    """Bodies and responses are masked unless revealed, and keys are never shown."""
    user = sandbox.guide()["users"]["approved"][0]
    client.patch(f"/issuing/users/{user}", json={"email": "canary@example.com"})
    (masked,), (whole,) = sandbox.requests(), sandbox.requests(reveal=True)

    assert "canary@example.com" not in repr(masked)
    assert (whole.body["email"], whole.answer["email"]) == ("canary@example.com",) * 2
    assert sandbox.full_key not in repr(whole)
