"""A thirteenth operation, added in a copy: a record, a row, a handler, and no other change."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WORKBENCH = Path(__file__).parents[2] / "workbench"

RECORD = '''

@record
class ReadDispute:
    """Ask for one dispute. Source: none, a trial."""

    dispute_id: str = about("Dispute to read", ID)
'''
ROW = """
    read_dispute = Operation(
        doc="Read a dispute.",
        method="GET",
        path="/issuing/disputes/{disputeId}",
        takes=ReadDispute,
        returns=Dispute,
        effect=False,
        failures=(_bad(), UNAUTHORIZED, _unknown("Dispute")),
        source="Endpoints 13",
    )
    list_contracts = Operation("""
HANDLER = """    "read_dispute": lambda context, asked: cards.Dispute(
        id=context.get_for_tenant("dispute", asked.dispute_id)["id"], status="pending"
    ),
    "settle":"""
PROGRAM = """
import asyncio, contextlib, inspect, io, sys
from workbench.client.client import AsyncClient, Client
from workbench.errors import InvalidRequest, NotFound
from workbench.interface.openapi import document
from workbench.sandbox import Sandbox
from workbench.terminal import main

assert sys.argv[1] in sys.modules["workbench"].__file__
sandbox = Sandbox()
guide = sandbox.guide()
key, dispute = guide["api_keys"]["full"], guide["disputes"]["pending"][0]
how = {"base_url": sandbox.base_url, "api_key": key, "transport": sandbox.transport()}

with Client(**how) as api:
    assert dispute == api.read_dispute(dispute_id=dispute).id
    assert ["dispute_id"] == list(inspect.signature(api.read_dispute).parameters)
    assert "Dispute to read" in api.read_dispute.__doc__
    try:
        api.read_dispute(dispute_id="../../x")
    except InvalidRequest as error:
        assert "uuid" == error.problems[0].rule
    else:
        raise AssertionError("a bad id was sent")
    try:
        api.read_dispute(dispute_id="00000000-0000-4000-8000-000000000000")
    except NotFound as error:
        assert "Dispute not found" == error.message
    else:
        raise AssertionError("an unknown dispute was found")

async def both():
    async with AsyncClient(**how) as api:
        return await api.read_dispute(dispute_id=dispute)

assert dispute == asyncio.run(both()).id
assert "read_dispute" == document()["paths"]["/issuing/disputes/{disputeId}"]["get"]["operationId"]
with contextlib.redirect_stdout(io.StringIO()) as printed:
    assert 0 == main(["disputes", "read", "--help"])
    assert 0 == main(["disputes", "read", dispute, "--fresh", "-o", "json"])
assert "Dispute to read" in printed.getvalue() and dispute in printed.getvalue()
print("thirteen")
"""


@pytest.mark.slow
def test_a_thirteenth_operation(tmp_path: Path) -> None:
    """A record, a row and a handler give a method of both clients, a route, a path in OpenAPI, help, checks and a command."""
    copy = tmp_path / "workbench"
    shutil.copytree(WORKBENCH, copy, ignore=shutil.ignore_patterns("__pycache__"))
    transactions, table, handlers = (
        copy / "interface/transactions.py",
        copy / "interface/table.py",
        copy / "sandbox/service.py",
    )
    transactions.write_text(transactions.read_text() + RECORD)
    text = table.read_text().replace("    Dispute,\n", "    Dispute,\n    ReadDispute,\n")
    table.write_text(text.replace("\n    list_contracts = Operation(", ROW))
    handlers.write_text(handlers.read_text().replace('    "settle":', HANDLER))

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ("thirteen\n", "") == (done.stdout, done.stderr)
