"""The server of the Model Context Protocol, spoken to by the client of its own SDK."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import mcp
import mcp.types as types
import pytest

import workbench as wb
from workbench.interface.table import OPERATIONS
from workbench.testing.agent_tools import make_server

PURCHASE = {"amount": 420, "currency": "USD", "merchantName": "Example Coffee", "merchantCategoryCode": "5814"}


def talk(api: Any, conversation: Callable[[mcp.Client], Awaitable[None]], **client: Any) -> None:
    async def main() -> None:
        async with mcp.Client(make_server(api), **client) as session:
            await conversation(session)

    asyncio.run(main())


async def call(client: mcp.Client, tool: str, /, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content[0].text
    return json.loads(answer.content[0].text)


def test_an_agent_explores_and_simulates() -> None:
    async def conversation(client: mcp.Client) -> None:
        guide = await call(client, "sandbox_guide")
        assert "api_keys" not in guide
        card = guide["cards"]["active"][0]
        made = await call(client, "simulate_authorization", cardId=card, **PURCHASE)
        await call(client, "sandbox_settle", transaction_id=made["transactionId"])
        await call(client, "simulate_refund", transactionId=made["transactionId"], amount=120)
        state = await call(client, "sandbox_state", record_id=made["transactionId"])
        assert (state["settled"], state["refunded"]) == (420, 120)
        names = await call(client, "list_sequences")
        run = await call(client, "run_sequence", name="refund-full")
        assert "refund-full" in names
        assert run["steps"]

    with wb.connect() as api:
        talk(api, conversation)


def test_tools_are_made_from_the_declarations() -> None:
    async def conversation(client: mcp.Client) -> None:
        tools = {one.name: one for one in (await client.list_tools()).tools}
        assert set(OPERATIONS) <= set(tools)
        for name, row in OPERATIONS.items():
            assert tools[name].annotations.read_only_hint is not row.effect
            jsonschema.Draft202012Validator.check_schema(tools[name].input_schema)
        jsonschema.validate(
            {"cardId": "9b26cf74-10af-42ce-bea3-5d52ed4a93c6", **PURCHASE}, tools["simulate_authorization"].input_schema
        )
        assert "sandbox_wallet_sign" not in tools
        assert not any(
            "api_key" in json.dumps(one.input_schema) for one in tools.values() if one.name.startswith("sandbox_")
        )

    with wb.connect() as api:
        talk(api, conversation)


def test_a_refusal_is_a_result_that_says_so() -> None:
    async def conversation(client: mcp.Client) -> None:
        wrong = await client.call_tool("simulate_authorization", {"cardId": "x", **PURCHASE})
        assert wrong.is_error
        assert "card" in wrong.content[0].text
        for name in ("nothing", "sandbox_wallet_sign"):
            unknown = await client.call_tool(name, {})
            assert "there is no tool" in unknown.content[0].text

    with wb.connect() as api:
        talk(api, conversation)


def test_private_values_are_masked() -> None:
    async def conversation(client: mcp.Client) -> None:
        guide = await call(client, "sandbox_guide")
        user = guide["users"]["approved"][0]
        state = await call(client, "sandbox_state", record_id=user)
        events = await call(client, "sandbox_events")
        assert "•" in json.dumps(state, ensure_ascii=False)
        account = await call(client, "sandbox_state", record_id=guide["payment_accounts"][0])
        assert "000123450000" not in json.dumps([account, events])

    with wb.connect() as api:
        talk(api, conversation)


def test_rules_and_assumptions_are_resources() -> None:
    async def conversation(client: mcp.Client) -> None:
        listed = [str(one.uri) for one in (await client.list_resources()).resources]
        assert "workbench://operations/simulate_refund" in listed
        for uri in ("workbench://assumptions", "workbench://openapi", "workbench://events/user.updated"):
            found = (await client.read_resource(uri)).contents[0]
            assert json.loads(found.text)

    with wb.connect() as api:
        talk(api, conversation)


def production(sent: list[httpx.Request]) -> wb.Session:
    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"id": "9b26cf74-10af-42ce-bea3-5d52ed4a93c6"})

    return wb.Session(
        base_url="https://api.example.com/v1",
        api_key="k" * 20,
        environment="production",
        transport=httpx.MockTransport(answer),
        journal=wb.client.journal.Journal(),
    )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("answer", ["accept", "decline", "cannot be asked"])
def test_an_effect_in_production_needs_an_armed_session_and_the_person(answer: str, mode: str) -> None:
    sent: list[httpx.Request] = []
    asked: list[str] = []

    async def person(_: Any, question: Any) -> types.ElicitResult:
        asked.append(question.message)
        return types.ElicitResult(
            action="accept" if answer == "accept" else "decline",
            content={"confirm": True} if answer == "accept" else None,
        )

    async def conversation(client: mcp.Client) -> None:
        tools = {one.name for one in (await client.list_tools()).tools}
        assert not tools & {"simulate_refund", "sandbox_guide", "run_sequence"}
        arguments = {"userId": "9b26cf74-10af-42ce-bea3-5d52ed4a93c6", "lastName": "Example"}
        if (answer, mode) == ("cannot be asked", "auto"):  # the client itself refuses to go on
            with pytest.raises(mcp.MCPError, match="not supported"):
                await client.call_tool("update_user", arguments)
            return
        ended = await client.call_tool("update_user", arguments)
        assert ended.is_error is (answer != "accept"), ended.content[0].text
        assert len(sent) == (answer == "accept")

    api = production(sent)
    api.arm(operations={"update_user"}, minutes=5, reason="a test")
    how = {} if answer == "cannot be asked" else {"elicitation_callback": person}
    talk(api, conversation, mode=mode, **how)
    assert len(sent) == (answer == "accept")
    assert len(asked) == (answer != "cannot be asked")
    assert all("update_user in production at api.example.com" in one for one in asked)


def test_an_unarmed_session_sends_nothing_in_production() -> None:
    sent: list[httpx.Request] = []

    async def person(_: Any, __: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"confirm": True})

    async def conversation(client: mcp.Client) -> None:
        ended = await client.call_tool(
            "update_user", {"userId": "9b26cf74-10af-42ce-bea3-5d52ed4a93c6", "lastName": "Example"}
        )
        assert ended.is_error
        assert "arm" in ended.content[0].text

    talk(production(sent), conversation, elicitation_callback=person)
    assert not sent


@pytest.mark.slow
def test_the_command_serves_over_standard_input_and_output(tmp_path: Path) -> None:
    async def main() -> None:
        command = mcp.StdioServerParameters(
            command=sys.executable,
            args=["-m", "workbench", "mcp", "--fresh"],
            env={**os.environ, "WORKBENCH_STATE": str(tmp_path)},
        )
        async with mcp.Client(command) as client:
            assert (await call(client, "sandbox_guide"))["cards"]

    asyncio.run(main())
