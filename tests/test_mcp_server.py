"""The Model Context Protocol server, used through the client of its SDK."""

import asyncio
import http.server
import json
import os
import random
import re
import site
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import mcp
import mcp.types as types
import pytest

import workbench as wb
from workbench.base.schema.walk import leaves, snake
from workbench.sandbox.control_records import private_members
from workbench.sandbox.controls.reading import RECORD_KINDS
from workbench.service.interface.events import EVENT_KINDS
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
    """Return the message of a refusal, which is JSON like any answer."""
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
        assert (await call(client, "control", "advance", hours=2))["now"]

    with wb.connect() as api:
        talk(api, conversation)


def test_an_unknown_outcome_comes_with_its_evidence() -> None:
    """The answer states what the events prove, and nothing if they prove nothing."""

    async def conversation(client: mcp.Client) -> None:
        guide = await call(client, "control", "guide")
        card = guide["cards"]["active"][0]
        for fault, verdict in (("lost", "done"), ("reset", "open")):
            await call(client, "control", "add_fault", kind=fault, times=1)
            answer = await client.call_tool(
                "call", {"name": "simulate_authorization", "arguments": {"cardId": card, **PURCHASE}}
            )
            assert answer.is_error
            assert json.loads(answer.content[0].text)["evidence"]["verdict"] == verdict

    with wb.connect() as api:
        talk(api, conversation)


def test_tools_are_few_and_their_definitions_small() -> None:
    async def conversation(client: mcp.Client) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {"describe", "call", "control"}
        assert len(json.dumps([tool.model_dump(mode="json") for tool in tools])) < 15_000

    with wb.connect() as api:
        talk(api, conversation)


def test_descriptions_are_made_from_the_declarations() -> None:
    async def conversation(client: mcp.Client) -> None:
        listed = await call(client, "describe")
        assert set(listed["operations"]) == set(OPERATIONS)
        for name in (*listed["operations"], *listed["controls"]):
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
        assert not [name for name in listed["controls"] if name.endswith("_endpoint")]

    with wb.connect() as api:
        talk(api, conversation)


def test_a_refusal_is_a_result_that_says_so() -> None:
    async def conversation(client: mcp.Client) -> None:
        purchase = {"cardId": "x", **PURCHASE}
        assert "card" in await refused(client, "call", {"name": "simulate_authorization", "arguments": purchase})
        assert "no tool" in await refused(client, "nothing", {})
        for name in ("wallet_sign", "create_key", "changed", "nothing"):
            assert "no control" in await refused(client, "control", {"name": name, "arguments": {}})
        message = await refused(client, "control", {"name": "events", "arguments": {"allTenants": True}})
        assert "allTenants is not an argument" in message

    with wb.connect() as api:
        talk(api, conversation)


def private_values(api: wb.Session) -> set[str]:
    """Return the longer texts of the sandbox's world that are private in a record of the interface."""
    held: set[str] = set()

    def collect(stored: Any, name: str) -> None:
        if isinstance(stored, dict):
            for inner, value in stored.items():
                collect(value, inner)
        elif isinstance(stored, list | tuple):
            for value in stored:
                collect(value, name)
        elif name in private_members() and len(str(stored)) > 5 and "SANDBOX" not in str(stored):
            held.add(str(stored))

    for kind in RECORD_KINDS:
        for stored in api.sandbox.records(kind, all_tenants=True):
            collect(dict(stored), kind)
    # the public address of a contract's bank contains the same texts
    return held - {"1 Example Street", "2 Example Street"}


@pytest.mark.slow
def test_no_private_value_reaches_an_agent() -> None:
    """Controls and reads with ids of every kind return no account number, name, birth date or address."""

    async def conversation(client: mcp.Client) -> None:
        guide = await call(client, "control", "guide")
        ids = re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", json.dumps(guide))
        answers = [json.dumps(guide)]
        for number, name in enumerate((await call(client, "describe"))["controls"]):
            described = await call_describe(client, name)
            required, choices = described["arguments"]["required"], described["arguments"]["properties"]
            for key in (*ids[number % 12 :: 12], *choices.get("kind", {}).get("enum", ())):
                if name in ("flush", "advance", "reset") or (name == "events" and key in ids):
                    continue
                given = {argument: choices[argument].get("enum", [key])[0] for argument in required}
                given |= {"kind": key} if key in choices.get("kind", {}).get("enum", ()) else {}
                answer = await client.call_tool("control", {"name": name, "arguments": given})
                answers.append(answer.content[0].text)
        listed = {"userId": guide["rewardsUsers"][0]["id"]}
        answers.append(json.dumps(await call(client, "call", "list_rewards_activity", **listed)))
        answers.append(json.dumps(await call(client, "call", "list_contracts")))
        text = "".join(answers)
        assert "•" in text
        assert [value for value in held if value in text] == []

    with wb.connect(seed=7) as api:
        held = private_values(api)
        assert "000408962227" in held
        assert len(held) > 50
        talk(api, conversation)


async def call_describe(client: mcp.Client, name: str) -> Any:
    answer = await client.call_tool("describe", {"name": name})
    assert not answer.is_error, answer.content[0].text
    return json.loads(answer.content[0].text)


def test_numbers_of_an_answer_are_numbers() -> None:
    """A number on the wire, such as an exchange rate, stays a number, and text stays text."""

    async def conversation(client: mcp.Client) -> None:
        answers = await call(client, "call", "list_contracts")
        assert [contract["tokens"] for contract in answers] == [contract["tokens"] for contract in sent]

    with wb.connect(seed=7) as api:
        key = api.sandbox.guide()["api_keys"]["full"]
        wire = httpx.Client(transport=api.sandbox.transport(), headers={"Api-Key": key})
        sent = wire.get(f"{api.base_url}/issuing/tenants/contracts").json()
        talk(api, conversation)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_refusal_names_members_as_the_agent_does(name: str) -> None:
    """Errors about missing and unknown members use wire names at any depth."""

    async def conversation(client: mcp.Client) -> None:
        for arguments in ({}, {"noSuchMember": 1}, {"address": {"noSuchMember": 1}}):
            answer = await client.call_tool("call", {"name": name, "arguments": arguments})
            if not answer.is_error:
                continue
            message = json.loads(answer.content[0].text)["message"]
            attributes = {path.rpartition(".")[2] for path, _ in leaves(OPERATIONS[name].request) if "_" in path}
            assert not [word for word in attributes if re.search(rf"\\b{word}\\b", message)], message
            assert "noSuchMember" in message or not arguments or "address" in message

    with wb.connect(seed=7) as api:
        talk(api, conversation)


def test_a_refusal_of_a_control_names_arguments_as_the_agent_does() -> None:
    async def conversation(client: mcp.Client) -> None:
        for name in (await call(client, "describe"))["controls"]:
            schema = (await call_describe(client, name))["arguments"]
            for value in (None, 10**12, [], "x"):
                arguments = dict.fromkeys(schema["properties"], value)
                answer = await client.call_tool("control", {"name": name, "arguments": arguments})
                if answer.is_error:
                    message = json.loads(answer.content[0].text)["message"]
                    assert not [word for word in map(snake, schema["properties"]) if "_" in word and word in message]

    with wb.connect(seed=7) as api:
        talk(api, conversation)


def test_no_control_hands_a_key_to_an_agent() -> None:
    """Each control is called with its defaults and an id. No answer contains a key of the sandbox."""

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
_URLS = (
    "http://127.0.0.1:{port}/admin/delete?x=1",
    "http://localhost:{port}/",
    "http://[::1]:{port}/",
    "http://example.com/",
)
_VALUES = (*_PATHS, -1, 10**400, 1e308, True, None, [], {}, [["x"]] * 50, {"x": {"y": []}}, "2026-01-01", "=1+1")
_NAMES = (
    "path",
    "progress",
    "api",
    "values",
    "self",
    "api_key",
    "times",
    "endpointUrl",
    "endpoint_url",
    "__class__",
    "data",
)
_REACHES = (
    "mkdir",
    "rename",
    "remove",
    "rmdir",
    "chmod",
    "symlink",
    "link",
    "listdir",
    "scandir",
    "system",
    "fork",
    "exec",
    "spawn",
)
_OWN = tuple({sys.prefix, sys.base_prefix, str(Path(wb.__file__).parent), *map(str, site.getsitepackages())})


def reach(event: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether an audit event concerns a process, an address, or a file outside of Python and this package."""
    if event == "open":
        return not isinstance(arguments[0], int) and not str(arguments[0]).startswith(_OWN)
    if event.startswith(("socket.connect", "socket.sendto", "socket.getaddrinfo", "subprocess.", "sqlite3.connect")):
        return True
    return event.partition(".")[0] in ("os", "shutil", "pty") and event.partition(".")[2] in _REACHES


@pytest.mark.slow
def test_an_agent_reaches_no_file_process_or_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Fuzzed arguments of tools and controls do not lead to a file, process or address.

    The arguments are paths, URLs, names and sizes. An audit hook records files, processes and connections, and a service on
    this machine counts requests.
    """
    generator = random.Random(29)
    reached: list[str] = []
    watching = [False]

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching[0] and reach(event, arguments):
            reached.append(f"{event} {arguments[:1]}")

    async def conversation(client: mcp.Client) -> None:
        listed = await call(client, "describe")
        names = {"call": [*listed["operations"]], "control": [*listed["controls"]]}
        called = set()
        values = (*_VALUES, *(url.format(port=server.server_port) for url in _URLS))
        watching[0] = True
        for number in range(600):
            tool = generator.choice([*names, "describe"])
            name = generator.choice([*names.get(tool, ("guide",)), *_PATHS[:2], "__init__", "register_endpoint"])
            if number < len(names["control"]):
                tool, name = "control", names["control"][number]
            described = await client.call_tool("describe", {"name": name})
            schema: dict[str, Any] = {}
            if not described.is_error:
                schema = json.loads(described.content[0].text)["arguments"]["properties"]
            chosen = generator.sample([*schema, *_NAMES], min(3, len(schema) + len(_NAMES)))
            arguments: dict[str, Any] = {"name": name}
            if tool != "describe":
                arguments["arguments"] = {argument: generator.choice(values) for argument in chosen}
            if generator.random() < 0.1:
                arguments[generator.choice(_NAMES)] = generator.choice(values)
            try:
                answer = await client.call_tool(tool, arguments)
            except (ValueError, OverflowError):  # the MCP client cannot encode the arguments as JSON
                continue
            called.add((tool, name))
            assert len(answer.content[0].text) < 1_100_000
        for name in ("flush", "resend", "deliveries"):
            await client.call_tool("control", {"name": name, "arguments": {}})
        watching[0] = False
        assert {("control", name) for name in names["control"]} <= called

    requests: list[str] = []

    class Service(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(self.path)

    monkeypatch.chdir(tmp_path)
    sys.addaudithook(watch)
    with http.server.HTTPServer(("127.0.0.1", 0), Service) as server, wb.connect(seed=29) as api:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        talk(api, conversation)
        server.shutdown()
    assert reached == []
    assert requests == []
    assert list(tmp_path.rglob("*")) == []


def test_an_agent_learns_of_a_receiver_its_status_and_length() -> None:
    """Deliveries go to a person's endpoints. The agent's answers contain no text from a receiver."""

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(500, "Secret reason")
            self.send_header("Content-Length", "13")
            self.send_header("X-Secret", "Secret")
            self.end_headers()
            self.wfile.write(b"Secret answer")

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    async def conversation(client: mcp.Client) -> None:
        card = (await call(client, "control", "guide"))["cards"]["active"][0]
        await call(client, "call", "simulate_authorization", cardId=card, **PURCHASE)
        await call(client, "control", "flush")
        names = (await call(client, "describe"))["controls"]
        answers = [await client.call_tool("control", {"name": name, "arguments": {}}) for name in names]
        (attempt, *_) = (await call(client, "control", "deliveries"))[0]["attempts"]
        assert (attempt["status"], attempt["length"]) == (500, 13)
        assert "Secret" not in "".join(answer.content[0].text for answer in answers)

    with http.server.HTTPServer(("127.0.0.1", 0), Receiver) as server, wb.connect(seed=7) as api:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        api.sandbox.register_endpoint(f"http://127.0.0.1:{server.server_port}/hook")
        talk(api, conversation)
        server.shutdown()


def test_events_and_assumptions_are_described() -> None:
    """Each description is JSON, and its schemas define their references."""

    async def conversation(client: mcp.Client) -> None:
        events = (await call(client, "describe"))["events"]
        assert set(events) == set(EVENT_KINDS)
        assert "refund_bounds" in await call_describe(client, "assumptions")
        for name in events:
            content = await call_describe(client, name)
            for reference in re.findall(r'"\$ref": ?"#/([^"]+)"', json.dumps(content)):
                place = content
                for part in reference.split("/"):
                    place = place[part]
                assert place

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
        if (answer, mode) == ("cannot be asked", "auto"):  # the MCP client raises an error instead of asking
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
    """Return the question to the person, the number of requests sent, and the agent's answer."""
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
    for evidence in (
        "x\nstatus: none",
        "x\u202estatus: none",
        "x\u2028status: none",
        "x\u3164none",
        "x\u2800none",
        "x\ufe0fnone",
        "x\U000e0100none",
    ):
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
            args=["-m", "workbench", "sandbox", "agent", "--fresh"],
            env={**os.environ, "WORKBENCH_STATE": str(tmp_path)},
        )
        async with mcp.Client(command) as client:
            assert (await call(client, "control", "guide"))["cards"]

    asyncio.run(main())


@pytest.mark.slow
def test_events_go_to_the_url_of_the_person_while_it_serves(tmp_path: Path) -> None:
    """`--forward-to` registers an endpoint in your own sandbox, and removes it when the input closes."""
    received: list[str] = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    async def main(url: str) -> None:
        environ = {**os.environ, "WORKBENCH_STATE": str(tmp_path)}
        words = ["-m", "workbench", "sandbox", "agent", "--forward-to", url]
        async with mcp.Client(mcp.StdioServerParameters(command=sys.executable, args=words, env=environ)) as client:
            card = (await call(client, "control", "guide"))["cards"]["active"][0]
            await call(client, "call", "simulate_authorization", cardId=card, **PURCHASE)
            assert (await call(client, "control", "flush"))["ok"]
            assert len(await call(client, "control", "endpoints")) == 1

    with http.server.HTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asyncio.run(main(f"http://127.0.0.1:{server.server_port}/hook"))
        server.shutdown()

    assert received
    assert set(received) == {"/hook"}
    with closing(wb.Sandbox(path=tmp_path / "sandbox.db")) as sandbox:
        assert sandbox.endpoints() == []
