"""The server of the Model Context Protocol, spoken to by the client of its own SDK."""

import asyncio
import json
import os
import random
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
from workbench.service.interface.table import OPERATIONS
from workbench.testing.agent_tools import make_server

PURCHASE = {"amount": 420, "currency": "USD", "merchantName": "Example Coffee", "merchantCategoryCode": "5814"}
USER = "9b26cf74-10af-42ce-bea3-5d52ed4a93c6"


def talk(api: Any, conversation: Callable[[mcp.Client], Awaitable[None]], **client: Any) -> None:
    async def main() -> None:
        async with mcp.Client(make_server(api), **client) as session:
            await conversation(session)

    asyncio.run(main())


async def call(client: mcp.Client, tool: str, name: str | None = None, /, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, {} if name is None else {"name": name, "arguments": arguments})
    assert not answer.is_error, answer.content[0].text
    return json.loads(answer.content[0].text)


async def refused(client: mcp.Client, tool: str, arguments: dict[str, Any]) -> str:
    """Return the message of a refusal, which is JSON as any answer."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer.content[0].text
    return str(json.loads(answer.content[0].text)["message"])


def test_an_agent_explores_and_simulates() -> None:
    async def conversation(client: mcp.Client) -> None:
        guide = await call(client, "control", "guide")
        assert "api_keys" not in guide
        assert "apiKeys" not in guide
        card = guide["cards"]["active"][0]
        answer = await call(client, "call", "simulate_authorization", cardId=card, **PURCHASE)
        await call(client, "control", "settle", transactionId=answer["transactionId"])
        await call(client, "call", "simulate_refund", transactionId=answer["transactionId"], amount=120)
        state = await call(client, "control", "state", recordId=answer["transactionId"])
        assert (state["settled"], state["refunded"]) == (420, 120)
        names = (await call(client, "describe"))["sequences"]
        run = await call(client, "run_sequence", "refund-full", amount=2500)
        assert "refund-full" in names
        assert {step["outcome"] for step in run["steps"]} == {"done"}
        assert {2500} <= {step["amount"] for step in run["steps"]}
        assert "=" not in json.dumps(run)  # no Python repr
        assert (await call(client, "control", "advance", hours=2))["now"]

    with wb.connect() as api:
        talk(api, conversation)


def test_tools_are_few_and_their_definitions_small() -> None:
    async def conversation(client: mcp.Client) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {"describe", "call", "control", "run_sequence"}
        assert len(json.dumps([tool.model_dump(mode="json") for tool in tools])) < 15_000

    with wb.connect() as api:
        talk(api, conversation)


def test_descriptions_are_made_from_the_declarations() -> None:
    async def conversation(client: mcp.Client) -> None:
        listed = await call(client, "describe")
        assert set(listed["operations"]) == set(OPERATIONS)
        for name in (*listed["operations"], *listed["controls"], *listed["sequences"]):
            schema = (await call_describe(client, name))["arguments"]
            jsonschema.Draft202012Validator.check_schema(schema)
            assert not any("_" in argument for argument in schema["properties"]), name
            assert not {"apiKey", "signingKey", "reveal"} & set(schema["properties"]), name
        for name, row in OPERATIONS.items():
            assert (await call_describe(client, name))["effect"] is (row.effect is not None)
        schema = (await call_describe(client, "simulate_authorization"))["arguments"]
        jsonschema.validate({"cardId": USER, **PURCHASE}, schema)
        assert (await call_describe(client, "create_user_application"))["arguments"]["properties"]
        assert not {"wallet_sign", "create_key", "execute"} & set(listed["controls"])

    async def call_describe(client: mcp.Client, name: str) -> Any:
        answer = await client.call_tool("describe", {"name": name})
        assert not answer.is_error, answer.content[0].text
        return json.loads(answer.content[0].text)

    with wb.connect() as api:
        talk(api, conversation)


def test_a_refusal_is_a_result_that_says_so() -> None:
    async def conversation(client: mcp.Client) -> None:
        purchase = {"cardId": "x", **PURCHASE}
        assert "card" in await refused(client, "call", {"name": "simulate_authorization", "arguments": purchase})
        assert "no tool" in await refused(client, "nothing", {})
        for name in ("wallet_sign", "create_key", "nothing"):
            assert "no control" in await refused(client, "control", {"name": name, "arguments": {}})
        message = await refused(client, "control", {"name": "guide", "arguments": {"apiKey": "x"}})
        assert "no argument apiKey" in message

    with wb.connect() as api:
        talk(api, conversation)


def test_private_values_are_masked() -> None:
    async def conversation(client: mcp.Client) -> None:
        guide = await call(client, "control", "guide")
        user = guide["users"]["approved"][0]
        state = await call(client, "control", "state", recordId=user)
        events = await call(client, "control", "events")
        assert "•" in json.dumps(state, ensure_ascii=False)
        account = await call(client, "control", "state", recordId=guide["paymentAccounts"][0])
        assert "000123450000" not in json.dumps([account, events])

    with wb.connect() as api:
        talk(api, conversation)


def test_no_control_hands_a_key_to_an_agent() -> None:
    """Every control is called as far as its defaults and an id go; no answer holds a key of the sandbox."""

    async def conversation(client: mcp.Client) -> None:
        guide = await call(client, "control", "guide")
        ids = [guide["users"]["approved"][0], guide["cards"]["active"][0], guide["paymentAccounts"][0]]
        answers = []
        for name in (await call(client, "describe"))["controls"]:
            for value in (None, "another", *ids):
                described = json.loads((await client.call_tool("describe", {"name": name})).content[0].text)
                arguments = dict.fromkeys(described["arguments"]["required"], value)
                answer = await client.call_tool("control", {"name": name, "arguments": arguments})
                answers.append(answer.content[0].text)
        keys = [*api.sandbox.guide()["api_keys"].values(), api.sandbox.create.key("another one").api_key]
        assert len(keys) > 3
        assert not [key for key in keys if key in "".join(answers)]

    with wb.connect() as api:
        talk(api, conversation)


_PATHS = ("../escaped", "/tmp/escaped", "~/.ssh/escaped", "C:\\\\escaped", "file:///etc/passwd", "a\x00b", "x" * 5_000)
_VALUES = (*_PATHS, -1, 10**400, 1e308, True, None, [], {}, [["x"]] * 50, {"x": {"y": []}}, "2026-01-01", "=1+1")
_NAMES = (
    "path",
    "progress",
    "resolved",
    "api",
    "sequence",
    "values",
    "self",
    "api_key",
    "times",
    "workers",
    "__class__",
    "data",
)


def test_an_agent_reaches_no_file_process_or_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Arguments of every tool are fuzzed for paths, names and sizes; an audit hook sees what is opened, started and connected."""
    generator = random.Random(29)
    reached: list[str] = []
    watching = [False]

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching[0] and (
            (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            or event
            in {
                "os.mkdir",
                "os.rename",
                "os.remove",
                "subprocess.Popen",
                "os.system",
                "socket.connect",
                "sqlite3.connect",
            }
        ):
            reached.append(f"{event} {arguments[:1]}")

    async def conversation(client: mcp.Client) -> None:
        listed = await call(client, "describe")
        names = {
            "call": [*listed["operations"]],
            "control": [*listed["controls"]],
            "run_sequence": [*listed["sequences"]],
        }
        names["control"] = [name for name in names["control"] if name not in {"register_endpoint", "flush", "resend"}]
        watching[0] = True
        for _ in range(600):
            tool = generator.choice([*names, "describe"])
            name = generator.choice([*names.get(tool, ("guide",)), *_PATHS[:2], "__init__"])
            schema: dict[str, Any] = {}
            described = await client.call_tool("describe", {"name": name})
            if not described.is_error:
                schema = json.loads(described.content[0].text)["arguments"]["properties"]
            chosen = generator.sample([*schema, *_NAMES], min(3, len(schema) + len(_NAMES)))
            arguments: dict[str, Any] = {"name": name}
            if tool != "describe":
                arguments["arguments"] = {argument: generator.choice(_VALUES) for argument in chosen}
            if generator.random() < 0.1:
                arguments[generator.choice(_NAMES)] = generator.choice(_VALUES)
            try:
                answer = await client.call_tool(tool, arguments)
            except (ValueError, OverflowError):  # no JSON: the client itself cannot send it
                continue
            assert len(answer.content[0].text) < 1_100_000
        watching[0] = False

    monkeypatch.chdir(tmp_path)
    sys.addaudithook(watch)
    with wb.connect(seed=29) as api:
        talk(api, conversation)
    assert reached == []
    assert list(tmp_path.rglob("*")) == []


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
        journal=wb.Journal(),
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
        assert {tool.name for tool in (await client.list_tools()).tools} == {"describe", "call"}
        assert "simulate_refund" not in (await call(client, "describe"))["operations"]
        arguments = {"name": "update_user", "arguments": {"userId": USER, "lastName": "Example"}}
        if (answer, mode) == ("cannot be asked", "auto"):  # the client itself refuses to go on
            with pytest.raises(mcp.MCPError, match="not supported"):
                await client.call_tool("call", arguments)
            return
        ended = await client.call_tool("call", arguments)
        assert ended.is_error is (answer != "accept"), ended.content[0].text
        assert len(sent) == (answer == "accept")

    api = production(sent)
    api.arm(operations={"update_user"}, minutes=5, reason="a test")
    how = {} if answer == "cannot be asked" else {"elicitation_callback": person}
    talk(api, conversation, mode=mode, **how)
    assert len(sent) == (answer == "accept")
    assert len(asked) == (answer != "cannot be asked")
    assert all(one.startswith("PRODUCTION, api.example.com: update_user: ") for one in asked)


WALLET = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
ACCOUNT = {
    "type": "externalFiatAccount", "nickname": "N" * 64, "userId": USER,
    "externalFiatAccount": {
        "beneficiaryType": "individual", "beneficiaryFirstName": "Example", "beneficiaryLastName": "Person", "currency": "usd",
        "thirdParty": False, "bankName": "Example Bank", "accountNumber": "000123456789", "routingNumber": "011000015",
        "beneficiaryAddress": {"addressLine1": "1 Example St", "city": "Example", "region": "NY", "postalCode": "10001", "countryCode": "US"},
        "bankAddress": {"addressLine1": "2 Example St", "city": "Example", "region": "NY", "postalCode": "10001", "countryCode": "US"},
    },
}  # fmt: skip
SIGNATURE = {
    "chainId": 1, "token": WALLET, "amount": 2500, "adminAddress": WALLET, "recipientAddress": WALLET, "isAmountNative": False,
}  # fmt: skip


def ask(
    operation: str, arguments: dict[str, Any], content: Any = None, *, arm: bool = True
) -> tuple[list[str], int, str]:
    """Return what a person was asked, how many requests were sent, and the answer to the agent."""
    sent: list[httpx.Request] = []
    asked: list[str] = []
    answers: list[str] = []

    async def person(_: Any, question: Any) -> types.ElicitResult:
        asked.append(question.message)
        return types.ElicitResult(action="accept", content={"confirm": True} if content is None else content)

    async def conversation(client: mcp.Client) -> None:
        ended = await client.call_tool("call", {"name": operation, "arguments": arguments})
        answers.append(ended.content[0].text)

    api = production(sent)
    if arm:
        api.arm(operations={operation}, minutes=5, reason="a test")
    talk(api, conversation, elicitation_callback=person)
    return asked, len(sent), answers[0]


def test_a_confirmation_shows_destination_and_money_first_and_completely() -> None:
    (question,), sent, _ = ask(
        "update_user", {"lastName": "DRY RUN, nothing is changed", "userId": USER, "walletAddress": WALLET}
    )
    lines = question.split("\n")
    assert WALLET in lines[1]
    assert sent == 1
    assert USER in question
    (question,), sent, _ = ask("sign_withdrawal", SIGNATURE)
    lines = question.split("\n")
    assert "2500" in lines[1]
    assert WALLET in question
    assert question.count("\n") == len(SIGNATURE)
    (question,), sent, _ = ask("create_payment_account", ACCOUNT)
    assert "ends in 6789" in question.split("\n")[1]
    assert "000123456789" not in question
    assert "011000015" in question
    assert "Example Bank" in question


@pytest.mark.parametrize(
    "arguments",
    [
        {"DRY RUN: nothing is changed": "x" * 900, "userId": USER, "walletAddress": WALLET},
        {"userId": USER, "address": {"DRY RUN": "x"}, "walletAddress": WALLET},
        {"userId": USER, "walletAddress": "no wallet"},
    ],
    ids=["unknown member", "unknown nested member", "wrong value"],
)
def test_what_would_be_dropped_or_refused_is_not_asked(arguments: dict[str, Any]) -> None:
    asked, sent, answer = ask("update_user", arguments)
    assert (asked, sent) == ([], 0), answer
    assert json.loads(answer)["message"]


def test_what_cannot_be_shown_completely_is_refused() -> None:
    asked, sent, answer = ask("update_dispute", {"disputeId": USER, "status": "canceled", "textEvidence": "x" * 5_000})
    assert (asked, sent) == ([], 0)
    assert "too long to be shown" in answer


def test_prose_in_a_value_makes_no_line_of_its_own() -> None:
    for evidence in ("x\nstatus: none", "x\u202estatus: none", "x\u2028status: none", "x\u3164none", "x\u2800none"):
        asked, sent, answer = ask("update_dispute", {"textEvidence": evidence, "disputeId": USER})
        assert (asked, sent) == ([], 0)
        assert "invisible characters" in answer


@pytest.mark.parametrize(
    "content", [{"confirm": "false"}, {"confirm": "true"}, {"confirm": 1}, {"confirm": []}, {}, {"confirm": False}]
)
def test_only_true_confirms(content: Any) -> None:
    asked, sent, answer = ask("update_user", {"userId": USER, "lastName": "Example"}, content)
    assert (len(asked), sent) == (1, 0)
    assert "not confirmed" in answer or "refused" in answer.lower() or "invalid" in answer.lower()


def test_an_unarmed_session_asks_nobody() -> None:
    asked, sent, answer = ask("update_user", {"userId": USER, "lastName": "Example"}, arm=False)
    assert (asked, sent) == ([], 0)
    assert "arm" in answer


@pytest.mark.slow
def test_the_command_serves_over_standard_input_and_output(tmp_path: Path) -> None:
    async def main() -> None:
        command = mcp.StdioServerParameters(
            command=sys.executable,
            args=["-m", "workbench", "agent", "serve", "--fresh"],
            env={**os.environ, "WORKBENCH_STATE": str(tmp_path)},
        )
        async with mcp.Client(command) as client:
            assert (await call(client, "control", "guide"))["cards"]

    asyncio.run(main())
