"""Without a kernel, an editor shows completions by jedi and types by pyright."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jedi
import pytest

import workbench as wb
from tests.each import across
from workbench.analysis.reports.history import History
from workbench.base.schema import walk
from workbench.service.interface.table import OPERATIONS

pytestmark = pytest.mark.slow

SESSION = "import workbench as wb\napi = wb.connect()\n"


def completed(code: str) -> set[str]:
    """Return the public names that jedi offers at the end of some code."""
    lines = (SESSION + code).split("\n")
    offered = jedi.Script(SESSION + code).complete(len(lines), len(lines[-1]))
    return {name.name for name in offered if not name.name.startswith("_")}


@pytest.mark.parametrize(
    "code, expected",
    [
        ("wb.", set(dir(wb))),
        ("wb.rewards.", set(dir(wb.rewards))),
        ("wb.charts.", set(dir(wb.charts))),
        ("wb.history(api).", {name for name in dir(History) if not name.startswith("_")}),
        ("wb.records.", set(dir(wb.records))),
        ("wb.errors.", set(dir(wb.errors))),
        ("api.", {*OPERATIONS, "sandbox", "inbox", "journal", "allowing", "arm"}),
        ("api.sandbox.", {"settle", "advance", "fork", "serve", "records", "add_fault"}),
        ("api.inbox.", {"events", "wait", "on", "receive", "stored"}),
        ("api.journal.", {"list", "unknown", "resolve", "get"}),
        ("api.inbox.wait('user.updated').body.", {"application_status", "email", "id"}),
        ("async def f():\n    a = await wb.connect_async()\n    a.", {*OPERATIONS, "sandbox", "inbox", "journal"}),
    ],
)
def test_completion_offers_what_there_is(code, expected) -> None:
    """The completions contain everything that `dir()` lists in a kernel, and the most common names."""
    assert expected <= completed(code)


def test_completion_of_the_package_shows_no_inner_name() -> None:
    """Besides the public names, only packages and a flag for type checkers appear, which jedi cannot hide."""
    inner = completed("wb.") - set(dir(wb))
    packages = {path.name for path in Path(wb.__file__).parent.iterdir() if path.is_dir()}

    assert inner <= packages | {"TYPE_CHECKING"}


def test_a_function_shows_its_arguments() -> None:
    """The arguments and their documentation appear while a call is typed."""
    (signature,) = jedi.Script(f"{SESSION}wb.connect(").get_signatures(3, 11)

    assert {"where", "behavior", "seed", "timeout"} <= {parameter.name for parameter in signature.params}
    assert "Seconds per call" in signature.docstring()


TYPES = {
    "api": "Session",
    "api.sandbox": "Sandbox",
    "api.inbox": "Inbox",
    "api.journal": "Journal",
    "api.list_contracts()[0].chain_id": "int",
    "api.simulate_refund": "Call[(*, transaction_id: str, amount: int | Full), SimulatedTransaction]",
    "api.simulate_refund(transaction_id='', amount=wb.FULL).status": "TransactionStatus | str",
    "api.inbox.wait('user.updated').body": "UserUpdated",
    "api.inbox.events('transaction.created')[0].body.spend": "Spend | None",
    "wb.events.sample('user.updated').event.body": "UserUpdated",
    "wb.rewards.fetch(api, [])": "Rewards",
}


@pytest.mark.soak
def test_pyright_knows_the_types(tmp_path: Path) -> None:
    """Hovering shows the types of a session and its members."""
    (tmp_path / "shown.py").write_text(SESSION + "".join(f"reveal_type({code})\n" for code in TYPES))
    ended = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "shown.py"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    found = [
        one["message"] for one in json.loads(ended.stdout)["generalDiagnostics"] if one["severity"] == "information"
    ]

    assert [message.split(' is "', 1)[1].rstrip('"') for message in found] == list(TYPES.values())


def test_the_script_of_a_shell_needs_the_base_install_alone() -> None:
    """The completion script is created without pandas, matplotlib, IPython or uvicorn."""
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('pandas', 'matplotlib', 'IPython', 'ipywidgets', 'uvicorn', 'mcp', 'duckdb')))\n"
        "from workbench.terminal.application import make_app\n"
        "print(len(make_app().generate_completion(shell='bash')) > 1000)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("True\n", "")


KERNELS = ("session", "async session", "client")


@pytest.fixture(scope="module", params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> dict[str, object]:
    """Return the variables of a kernel with a client and the results of its calls."""
    session = wb.connect()
    api: Any = session
    if request.param == "async session":
        api = asyncio.run(wb.connect_async())
    elif request.param == "client":
        api = wb.Client(
            base_url=session.sandbox.base_url, api_key=session.sandbox.full_key, transport=session.sandbox.transport()
        )
    card = session.sandbox.guide()["cards"]["active"][0]
    return {"api": api, "contracts": session.list_contracts(), "card": card}


@pytest.mark.parametrize("kernel, name", across(KERNELS, OPERATIONS), indirect=["kernel"])
def test_a_kernel_shows_the_arguments_of_an_operation_with_their_units(kernel: dict[str, object], name: str) -> None:
    """jedi, as used by a notebook, shows each argument's name, and the documentation shows its unit."""
    code = f"api.{name}("
    (signature,) = jedi.Interpreter(code, [kernel]).get_signatures(1, len(code))
    shown = {parameter.name for parameter in signature.params}
    arguments = list(walk.members(OPERATIONS[name].request))

    assert {member.name for member in arguments} == shown
    for member in arguments:
        if member.about.rule.unit:
            assert member.about.rule.unit in signature.docstring()


def test_a_kernel_completes_the_members_of_an_answer(kernel: dict[str, object]) -> None:
    """Members of the first record of a list, and of a record nested in it, are completed."""
    for code, expected in (("contracts[0].", "chain_id"), ("contracts[0].tokens[0].", "balance")):
        assert expected in {name.name for name in jedi.Interpreter(code, [kernel]).complete(1, len(code))}
