"""Mocking tools see the calls of both clients, with their URLs. Without a mock, no test reaches a real service.

Where no tool answers, a test does not reach a real service.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.doubles import AUTHORIZED, KEY, PURCHASE
from workbench.base.errors import NotFound, NotSent, OutcomeUnknown
from workbench.client.calls.client import AsyncClient, Client
from workbench.sandbox import Sandbox

URL = "https://api.example.com/v1"
CONTRACTS = f"{URL}/issuing/tenants/contracts"


def both(**how: Any) -> list[Any]:
    """Call a service with the synchronous and the asynchronous client, and return both results."""

    async def awaited() -> Any:
        async with AsyncClient(base_url=URL, api_key=KEY, **how) as client:
            return await client.list_contracts()

    with Client(base_url=URL, api_key=KEY, **how) as client:
        return [client.list_contracts(), asyncio.run(awaited())]


def test_respx_sees_the_calls() -> None:
    respx = pytest.importorskip("respx")
    with respx.mock:
        route = respx.get(CONTRACTS).respond(json=[])

        assert [[], []] == both()
    assert [CONTRACTS, CONTRACTS] == [str(call.request.url) for call in route.calls]
    assert {KEY} == {call.request.headers["api-key"] for call in route.calls}


@pytest.mark.parametrize("transport", ["default", "given"])
def test_what_a_mock_raises_is_what_happened(transport: str) -> None:
    """A mocked connection error means not sent. A mocked timeout after an effect means an unknown outcome."""
    respx = pytest.importorskip("respx")
    how = {"transport": httpx.HTTPTransport()} if transport == "given" else {}
    with respx.mock, Client(base_url=URL, api_key=KEY, **how) as client:
        respx.post(url__startswith=URL).mock(side_effect=httpx.ConnectError("refused"))
        with pytest.raises(NotSent):
            client.simulate_authorization(**{**PURCHASE, "amount": 100})
        respx.post(url__startswith=URL).mock(side_effect=httpx.ReadTimeout("late"))
        with pytest.raises(OutcomeUnknown):
            client.simulate_authorization(**{**PURCHASE, "amount": 200})
        respx.post(url__startswith=URL).respond(json=AUTHORIZED)
        assert client.simulate_authorization(**{**PURCHASE, "amount": 300}).status == "authorized"
        respx.get(url__startswith=URL).respond(404, json={"message": "no"})
        with pytest.raises(NotFound):
            client.list_contracts()


@pytest.mark.parametrize("environment", ["sandbox", "production"])
def test_nothing_real_is_called_in_a_test(environment: Any) -> None:
    """A call to another host without a mock or transport is not sent, and the error says what to do."""
    with pytest.raises(NotSent, match=r"a pytest test would call api\.example\.com; give the client a transport"):
        both(environment=environment, journal=False if environment == "sandbox" else None)


def test_a_transport_or_this_machine_may_be_called() -> None:
    """A given transport, and a server on this machine, can be called."""
    sandbox = Sandbox(seed=7)
    with Client(base_url=URL, api_key=sandbox.full_key, transport=sandbox.transport()) as client:
        assert len(client.list_contracts()) > 0
    with sandbox.serve() as url, Client(base_url=f"{url}/v1", api_key=sandbox.full_key) as client:
        assert len(client.list_contracts()) > 0


TESTS = """
import asyncio, json
import httpx, pytest
from workbench.client.calls.client import AsyncClient, Client
URL = "https://api.example.com/v1"
how = {"base_url": URL, "api_key": "canary-key-3b1f9d77"}

def both():
    async def awaited():
        async with AsyncClient(**how) as client:
            return await client.list_contracts()
    with Client(**how) as client:
        return client.list_contracts(), asyncio.run(awaited())

def test_pytest_httpx(httpx_mock):
    httpx_mock.add_response(url=URL + "/issuing/tenants/contracts", json=[], is_reusable=True)
    assert both() == ([], [])
    assert len(httpx_mock.get_requests()) == 2

def test_vcrpy(tmp_path):
    import vcr
    tape = tmp_path / "tape.json"
    request = {"method": "GET", "uri": URL + "/issuing/tenants/contracts", "body": None, "headers": {}}
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "[]"}}
    tape.write_text(json.dumps({"version": 1, "interactions": [{"request": request, "response": response}] * 2}))
    with vcr.use_cassette(str(tape), serializer="json", record_mode="none") as cassette:
        assert both() == ([], [])
        assert cassette.play_count == 2
"""


@pytest.mark.slow
def test_pytest_httpx_and_vcrpy_see_the_calls(tmp_path: Path) -> None:
    """Both tools work in a separate project, because their plugins are off in this one."""
    pytest.importorskip("pytest_httpx")
    pytest.importorskip("vcr")
    (tmp_path / "test_mocks.py").write_text(TESTS, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-W",
            "error",
            "-p",
            "no:schemathesis",
            "-p",
            "no:asyncio",
            "-c",
            "/dev/null",
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        cwd=tmp_path,
        env=environment,
    )

    assert "2 passed" in done.stdout, done.stdout + done.stderr
