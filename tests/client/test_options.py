"""Options of the connections: proxies, certificates from the environment, limits and hooks."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.client.doubles import KEY, FakeClock
from tests.each import each
from workbench.base.errors import AdviceWarning, NotFound, UsageError
from workbench.client.calls.client import AsyncClient, Client


def test_a_proxy_that_is_not_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning names a proxy variable that is not used. With `trust_env`, NO_PROXY is respected."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with pytest.warns(AdviceWarning, match="HTTPS_PROXY is set but not used"):
        Client(base_url="https://api.example.com", api_key=KEY)
    monkeypatch.setenv("NO_PROXY", "example.com")
    client = Client(base_url="https://api.example.com", api_key=KEY, http={"trust_env": True})

    assert client.info()["proxies_and_netrc"] == "not used"
    monkeypatch.delenv("NO_PROXY")
    client = Client(base_url="https://api.example.com", api_key=KEY, http={"trust_env": True})
    assert client.info()["proxies_and_netrc"] == "proxy used"


@each(
    "options, words",
    [
        ({"proxies": "x"}, "http.proxies is not known"), ({"proxy": "ftp://10.0.0.1"}, "must be the address"),
        ({"max_connections": 0}, "must be a whole number"), ({"trust_env": "yes"}, "true or false"),
        ({"on_request": 7}, "must be a function"), ([], "must be a mapping"),
    ],
)  # fmt: skip
def test_wrong_options_are_named(options: Any, words: str) -> None:
    """Wrong options are named with their paths before anything is sent."""
    with pytest.raises(UsageError, match=words):
        Client(base_url="https://api.example.com", api_key=KEY, http=options)


def test_hooks_see_requests_and_responses() -> None:
    """A request hook may add headers and sees no key. A response hook sees status and headers."""
    seen: list[httpx.Request] = []
    statuses: list[int] = []
    keys: list[bool] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=[], headers={"x-request-id": "r-1"})

    def add(request: httpx.Request) -> None:
        keys.append("api-key" in request.headers)
        request.headers["traceparent"] = "00-1"

    client = Client(
        base_url="https://api.example.com", api_key=KEY, transport=httpx.MockTransport(answer),
        http={"on_request": add, "on_response": lambda response: statuses.append(response.status_code)},
    )  # fmt: skip

    assert client.list_contracts() == []
    assert (keys, statuses) == ([False], [200])
    assert (seen[0].headers["traceparent"], seen[0].headers["api-key"]) == ("00-1", KEY)


def test_answers_can_be_collected_as_they_came() -> None:
    """A block collects status, headers, request id and body of each response, retries included. Reprs show no body."""
    answers = iter([httpx.Response(503), httpx.Response(200, json=[], headers={"X-Request-Id": "r-7"})])
    other = Client(
        base_url="https://api.example.com",
        api_key=KEY,
        transport=httpx.MockTransport(lambda _: httpx.Response(200, json=[])),
    )
    client = Client(
        base_url="https://api.example.com", api_key=KEY, transport=httpx.MockTransport(lambda _: next(answers)),
        clock=FakeClock(),
    )  # fmt: skip
    with client.responses() as seen:
        client.list_contracts()
        other.list_contracts()
    other.list_contracts()

    assert [(one.status, one.request_id, one.body) for one in seen] == [(503, None, b""), (200, "r-7", b"[]")]
    assert repr(seen[1]) == "<response to list_contracts: 200, 2 bytes>"


def test_each_try_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Each attempt is logged with operation, status, time, number and request id, without private values."""
    answers = iter([httpx.ConnectError("x"), httpx.Response(200, json={"id": "x"}, headers={"x-request-id": "r-8"})])

    def answer(_: httpx.Request) -> httpx.Response:
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return found

    client = Client(
        base_url="https://api.example.com", api_key=KEY, transport=httpx.MockTransport(answer), clock=FakeClock()
    )
    with caplog.at_level("INFO", logger="workbench"):
        client.update_user(user_id="3f2a0b1c-0000-4000-8000-000000000001", first_name="Canary")
    first, second = [record.call for record in caplog.records if hasattr(record, "call")]

    assert (first["status"], first["try"], second["status"], second["try"]) == (None, 1, 200, 2)
    assert (second["operation"], second["path"], second["request_id"]) == (
        "update_user",
        "/issuing/users/{userId}",
        "r-8",
    )
    assert second["attempt"] == next(iter(client.journal)).id
    assert "Canary" not in caplog.text + repr([first, second])


def test_each_try_is_a_span(monkeypatch: pytest.MonkeyPatch) -> None:
    """With OpenTelemetry each attempt is a span below the program's span, without private values."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import SpanKind

    collected, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(collected))
    # replaced for this test only: a process can set its provider once
    monkeypatch.setattr("opentelemetry.trace.get_tracer", provider.get_tracer)
    client = Client(base_url="https://api.example.com", api_key=KEY, clock=FakeClock(), transport=httpx.MockTransport(
        lambda _: httpx.Response(404, json={"statusCode": 404, "error": "NotFoundError", "message": "User not found"})
    ))  # fmt: skip
    with provider.get_tracer("application").start_as_current_span("onboarding") as outer, pytest.raises(NotFound):
        client.update_user(user_id="3f2a0b1c-0000-4000-8000-000000000001", first_name="Canary")
    span = next(one for one in collected.get_finished_spans() if one.name == "update_user")

    assert (span.kind, span.status.is_ok, span.parent) == (SpanKind.CLIENT, False, outer.get_span_context())
    assert dict(span.attributes or {}) == {
        "http.request.method": "PATCH", "url.template": "/issuing/users/{userId}", "server.address": "api.example.com",
        "server.port": 443, "error.type": "404",
        "http.response.status_code": 404, "workbench.try": 1, "workbench.operation": "update_user",
        "workbench.environment": "sandbox", "workbench.attempt": next(iter(client.journal)).id,
    }  # fmt: skip
    assert "Canary" not in span.to_json()


def test_hooks_of_the_asynchronous_client_see_responses() -> None:
    """Response hooks also work with the asynchronous client."""
    statuses: list[int] = []

    async def call() -> object:
        async with AsyncClient(
            base_url="https://api.example.com", api_key=KEY,
            transport=httpx.MockTransport(lambda _: httpx.Response(200, json=[])),
            http={"on_response": lambda response: statuses.append(response.status_code)},
        ) as client:  # fmt: skip
            return await client.list_contracts()

    assert asyncio.run(call()) == []
    assert statuses == [200]
