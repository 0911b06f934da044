"""A thirteenth operation in a copy needs two records, a row and a handler in three files, and no other change."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WORKBENCH = Path(__file__).parents[2] / "workbench"

RECORDS = '''

@record
class ReopenDispute:
    """Ask for a dispute to be reopened. Source: none, a trial."""

    dispute_id: str = about("Dispute to reopen", ID)
    reason: str = about("Why it is reopened", TEXT_EVIDENCE)
    notify_user_id: str | None = about("User to notify", ID, default=None)


@record
class ReopenedDispute(Answer):
    """A dispute that was reopened. Source: none, a trial."""

    id: str = about("Dispute id", ID)
    times: int = about("How often it was reopened")
'''
ROW = """
    reopen_dispute = Operation(
        doc="Reopen a dispute.",
        method="POST",
        path="/issuing/disputes/{disputeId}/reopen",
        takes=ReopenDispute,
        returns=ReopenedDispute,
        effect=Effect(
            label=lambda r: f"POST reopening of dispute {r.dispute_id} for user {r.notify_user_id}",
            confirm=effects.reversible,
            next_step="Look at the dispute.",
            evidence=None,
        ),
        failures=(_bad(), UNAUTHORIZED, _unknown("Dispute")),
        source="Endpoints 13",
    )
    list_contracts = Operation("""
HANDLER = """    "reopen_dispute": lambda context, asked: cards.ReopenedDispute(
        id=context.get_for_tenant("dispute", asked.dispute_id)["id"], times=1
    ),
    "settle":"""
PROGRAM = """
import asyncio, contextlib, inspect, io, json, sys
import mcp
import workbench as wb
from workbench.client.calls.client import AsyncClient, Client
from workbench.base.errors import InvalidRequest, NotFound
from workbench.service.interface.openapi import document
from workbench.sandbox import Sandbox
from workbench.terminal import main
from workbench.testing.agent_tools import make_server

assert sys.argv[1] in sys.modules["workbench"].__file__
sandbox = Sandbox()
guide = sandbox.guide()
key, dispute = guide["api_keys"]["full"], guide["disputes"]["pending"][0]
user = guide["users"]["approved"][0]
how = {"base_url": sandbox.base_url, "api_key": key, "transport": sandbox.transport()}
reason = "The parcel came back."

# client, checks, the sandbox's route and its refusals, the journal's line
with Client(**how) as api:
    reopened = api.reopen_dispute(dispute_id=dispute, reason=reason, notify_user_id=user)
    assert (dispute, 1) == (reopened.id, reopened.times)
    assert isinstance(reopened, wb.records.ReopenedDispute)
    assert ["dispute_id", "reason", "notify_user_id"] == list(inspect.signature(api.reopen_dispute).parameters)
    assert "Dispute to reopen" in api.reopen_dispute.__doc__
    assert dispute in api.journal.list()[0].what and user in api.journal.list()[0].what
    for arguments, rule in (({"dispute_id": "../../x", "reason": reason}, "uuid"), ({"dispute_id": dispute}, "required")):
        try:
            api.reopen_dispute(**arguments)
        except InvalidRequest as error:
            assert rule == error.problems[0].rule
        else:
            raise AssertionError("a wrong request was sent")
    try:
        api.reopen_dispute(dispute_id="00000000-0000-4000-8000-000000000000", reason=reason)
    except NotFound as error:
        assert "Dispute not found" == error.message
    else:
        raise AssertionError("an unknown dispute was found")

    # a table
    frame = wb.to_frame([reopened])
    assert {"id": "str", "times": "Int64"}.items() <= frame.dtypes.astype(str).to_dict().items()

# the async client
async def reopen():
    async with AsyncClient(**how) as api:
        return await api.reopen_dispute(dispute_id=dispute, reason=reason)

assert dispute == asyncio.run(reopen()).id

# OpenAPI
described = document()
row = described["paths"]["/issuing/disputes/{disputeId}/reopen"]["post"]
assert "reopen_dispute" == row["operationId"]
assert {"ReopenDispute", "ReopenedDispute"} <= set(described["components"]["schemas"])

# the command, its help and its completion
def printed(*tokens):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        assert 0 == main(list(tokens)), tokens
    return text.getvalue()

assert "Dispute to reopen" in printed("disputes", "reopen", "--help")
assert dispute in printed("disputes", "reopen", dispute, "--reason", reason, "--fresh", "-o", "json")
assert "reopen" in printed("disputes", "--help") and "Reopen" in printed("--help")
assert "reopen_dispute" in printed("docs", "reopen-dispute").replace("-", "_")
assert "reopen" in printed("docs", "completion", "bash")

with wb.connect() as api:
    # a form
    form = wb.form(api.reopen_dispute)
    assert {"dispute_id", "reason", "notify_user_id"} == set(form.view.inputs.fields)

    # an agent's tools
    async def talk():
        async with mcp.Client(make_server(api)) as client:
            described = await client.call_tool("describe", {"name": "reopen_dispute"})
            assert "Dispute to reopen" in described.content[0].text
            called = {"name": "reopen_dispute", "arguments": {"disputeId": dispute, "reason": reason}}
            return json.loads((await client.call_tool("call", called)).content[0].text)

    assert {"id": dispute, "times": 1} == asyncio.run(talk())
print("thirteen")
"""
TYPED = """
from typing import assert_type

import workbench as wb


async def reopen(api: wb.AsyncClient, client: wb.Client) -> None:
    assert_type(client.reopen_dispute(dispute_id="x", reason="y"), wb.records.ReopenedDispute)
    assert_type(await api.reopen_dispute(dispute_id="x", reason="y"), wb.records.ReopenedDispute)
    client.reopen_dispute(dispute_id=1, reason="y")
    client.reopen_dispute(reason="y")
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package with the changes in three files."""
    folder = tmp_path_factory.mktemp("thirteenth")
    package = folder / "workbench"
    shutil.copytree(WORKBENCH, package, ignore=shutil.ignore_patterns("__pycache__"))
    changes = {
        "service/interface/transactions.py": [('    "Dispute",\n', '    "Dispute",\n    "ReopenedDispute",\n')],
        "service/interface/table.py": [
            ("    Dispute,\n", "    Dispute,\n    ReopenDispute,\n    ReopenedDispute,\n"),
            ("\n    list_contracts = Operation(", ROW),
        ],
        "sandbox/service.py": [
            ('    "settle":', HANDLER.replace("cards.", "transactions.")),
            ("from workbench.service.interface import ", "from workbench.service.interface import transactions, "),
        ],
    }
    for name, edits in changes.items():
        text = (package / name).read_text(encoding="utf-8")
        for before, after in edits:
            assert text.count(before) == 1, (name, before)
            text = text.replace(before, after)
        (package / name).write_text(text + (RECORDS if name.endswith("transactions.py") else ""), encoding="utf-8")
    return folder


def run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(copy), "MYPYPATH": str(copy), "WORKBENCH_STATE": str(copy / "state")}
    return subprocess.run(
        [sys.executable, *arguments], env=environ, cwd=copy, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_thirteenth_operation(copy: Path) -> None:
    """The operation has a method of both clients, checks, a route, a command, a form, a table, OpenAPI and a tool."""
    done = run(copy, "-c", PROGRAM, str(copy))

    assert ("thirteen\n", "") == (done.stdout, done.stderr)


@pytest.mark.slow
def test_its_types(copy: Path) -> None:
    """A type checker knows the operation's arguments and answer, in both clients."""
    (copy / "typed.py").write_text(TYPED, encoding="utf-8")
    (copy / "pyrightconfig.json").write_text('{"include": ["typed.py"], "typeCheckingMode": "basic"}')
    done = run(copy, "-m", "pyright", "--pythonpath", sys.executable, "-p", ".", "--outputjson")
    found = json.loads(done.stdout)["generalDiagnostics"]

    assert [row["rule"] for row in found] == ["reportArgumentType", "reportCallIssue"], done.stdout + done.stderr
    assert all("dispute_id" in row["message"] for row in found)
