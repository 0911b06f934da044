"""The sandbox as an httpx transport for sync and async clients."""

import asyncio

import httpx
import pytest

from workbench.sandbox import Sandbox


def test_a_sync_client_is_answered(sandbox):
    guide = sandbox.guide()

    with httpx.Client(
        transport=sandbox.transport(), base_url=guide["base_url"], headers={"Api-Key": guide["api_keys"]["full"]}
    ) as client:
        answer = client.post(
            "/simulate/transactions/authorize",
            json={
                "cardId": guide["cards"]["active"][0],
                "amount": 1,
                "currency": "USD",
                "merchantName": "x",
                "merchantCategoryCode": "5411",
            },
        )
        page = client.get("/issuing/rewards/activity", params={"userId": guide["rewards_users"][0]["id"], "limit": 3})

    assert (answer.status_code, answer.json()["status"]) == (200, "authorized")
    assert len(page.json()["items"]) == 3
    assert httpx.Client(transport=sandbox.transport()).get(guide["base_url"] + "/payment-routes").status_code == 401


def test_an_async_client_is_answered_by_the_same_object(sandbox):
    guide = sandbox.guide()
    transport = sandbox.transport()

    async def ask():
        async with httpx.AsyncClient(transport=transport, headers={"Api-Key": sandbox.full_key}) as client:
            return await client.get(guide["base_url"] + "/issuing/tenants/contracts")

    answer = asyncio.run(ask())

    with httpx.Client(transport=transport, headers={"Api-Key": sandbox.full_key}) as client:
        assert answer.content == client.get(guide["base_url"] + "/issuing/tenants/contracts").content


@pytest.mark.slow
def test_making_a_sandbox_loads_no_http_library():
    """Only the transport loads httpx."""
    import subprocess
    import sys

    code = "import sys; from workbench.sandbox import Sandbox; Sandbox().guide(); print([m for m in ('httpx', 'pandas', 'socket', 'threading') if m in sys.modules and m != 'threading'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]" or done.stdout.strip() == "['socket']"
    assert Sandbox().base_url.endswith("/v1")


def test_a_cut_answer_is_half_of_it():
    """A cut answer has half of its bytes, and then the connection ends."""
    sandbox, received = Sandbox(), []
    sandbox.add_fault("cut", of="list_contracts")
    url = sandbox.guide()["base_url"] + "/issuing/tenants/contracts"
    answer = sandbox.transport().handle_request(httpx.Request("GET", url, headers={"Api-Key": sandbox.full_key}))
    with pytest.raises(httpx.RemoteProtocolError, match="closed connection"):
        received.extend(answer.stream)

    assert len(b"".join(received)) == int(answer.headers["content-length"]) // 2


def test_a_shared_sandbox_is_served_until_it_is_closed():
    """After `close` the shared URL refuses connections."""
    sandbox = Sandbox()
    url = sandbox.share()
    assert httpx.get(f"{url}/openapi.json").status_code == 200

    sandbox.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/openapi.json")
